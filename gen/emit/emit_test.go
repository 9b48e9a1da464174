package emit_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
)

var update = flag.Bool("update", false, "write the golden files")

func named(name string) ir.Ref { return ir.Ref{Kind: ir.Named, Name: name} }
func slice(r ir.Ref) ir.Ref    { return ir.Ref{Kind: ir.Slice, Elem: &r} }
func mapOf(r ir.Ref) ir.Ref    { return ir.Ref{Kind: ir.Map, Elem: &r} }
func kind(k ir.RefKind) ir.Ref { return ir.Ref{Kind: k} }

func required(json, name string, r ir.Ref) *ir.Field {
	return &ir.Field{JSON: json, Name: name, Type: r, Required: true}
}

func optional(json, name string, r ir.Ref) *ir.Field {
	return &ir.Field{JSON: json, Name: name, Type: r}
}

func constant(json, value string) *ir.Field {
	return &ir.Field{JSON: json, Name: strings.ToUpper(json[:1]) + json[1:], Type: kind(ir.String), Required: true, Const: value}
}

func object(name string, fields ...*ir.Field) *ir.Type {
	return &ir.Type{Name: name, Schema: name, Kind: ir.Struct, Fields: fields}
}

func pkg(types ...*ir.Type) *ir.Package {
	return &ir.Package{Revision: "2099-01-01", Name: "mcp", Dir: "mcp/v20990101", Source: "spec/2099-01-01/schema.json", SourceHash: "00", Types: types}
}

// cases are small models, one for each thing that the printer does.
func cases() map[string]*ir.Package {
	half, hundred := 0.5, 100
	fields := pkg(
		object("Every",
			constant("type", "every"),
			required("s", "S", kind(ir.String)), required("b64", "Data", kind(ir.Base64)), required("flag", "Flag", kind(ir.Bool)),
			required("n", "N", kind(ir.Int)), required("f", "F", kind(ir.Float)), required("ttl", "TTL", kind(ir.NullInt)),
			required("any", "Any", kind(ir.RawAny)), required("obj", "Obj", kind(ir.RawObject)), required("id", "ID", kind(ir.ID)),
			required("sub", "Sub", named("Sub")), required("level", "Level", named("Level")),
			required("list", "List", slice(kind(ir.String))), required("subs", "Subs", slice(named("Sub"))), required("map", "Map", mapOf(kind(ir.Int))),
		),
		object("Maybe",
			optional("s", "S", kind(ir.String)), optional("flag", "Flag", kind(ir.Bool)), optional("n", "N", kind(ir.Int)), optional("f", "F", kind(ir.Float)),
			optional("any", "Any", kind(ir.RawAny)), optional("obj", "Obj", kind(ir.RawObject)), optional("id", "ID", kind(ir.ID)),
			optional("sub", "Sub", named("Sub")), optional("level", "Level", named("Level")), optional("list", "List", slice(kind(ir.String))),
			optional("deep", "Deep", slice(slice(named("Sub")))), optional("map", "Map", mapOf(slice(named("Level")))), optional(`odd "name"`, "Odd", kind(ir.String)),
		),
		object("Sub"),
		&ir.Type{Name: "Level", Schema: "Level", Kind: ir.Enum, Doc: []string{"Level is how much.", "", "Two paragraphs."},
			Values: []*ir.EnumValue{{Name: "LevelLow", Value: "low"}, {Name: "LevelHigh", Value: "high", Rank: 1}}},
		&ir.Type{Name: "Other", Schema: "Other", Kind: ir.Alias, Target: "Sub", Deprec: "Use Sub."},
	)
	fields.Types[0].Fields[1].Doc = []string{"S is documented.", "On two lines."}
	fields.Types[0].Fields[2].Deprec = "Nobody needs it."

	forgiven := pkg(
		object("Forgiving",
			&ir.Field{JSON: "kind", Name: "Kind", Type: named("Kind"), Required: true, Default: &ir.Lenient{JSON: `"plain"`, Empty: true, Zero: true}},
			&ir.Field{JSON: "items", Name: "Items", Type: slice(kind(ir.RawObject)), Required: true, Default: &ir.Lenient{JSON: "[]"}},
			&ir.Field{JSON: "ms", Name: "MS", Type: kind(ir.Int), Required: true, Default: &ir.Lenient{JSON: "0", Negative: true}},
			&ir.Field{JSON: "schema", Name: "Schema", Type: kind(ir.RawObject), Required: true, Default: &ir.Lenient{JSON: `{"type":"object"}`, Zero: true}},
			required("name", "Name", kind(ir.String)),
			&ir.Field{JSON: "share", Name: "Share", Type: kind(ir.Float), Min: new(0.0), Max: &half},
			&ir.Field{JSON: "few", Name: "Few", Type: slice(kind(ir.String)), MaxItems: &hundred},
		),
		&ir.Type{Name: "Kind", Schema: "Kind", Kind: ir.Enum, Values: []*ir.EnumValue{{Name: "KindPlain", Value: "plain"}}},
	)

	unions := pkg(
		object("A", constant("type", "a"), required("u", "U", named("ByTag"))),
		object("B", constant("type", "b"), optional("list", "List", slice(named("ByTag")))),
		object("C", required("text", "Text", kind(ir.String))),
		&ir.Type{Name: "ByTag", Schema: "ByTag", Kind: ir.Union, Arms: []*ir.Arm{{Type: "A"}, {Type: "B"}},
			Plan: &ir.Plan{Kind: ir.ByTag, Key: "type", Absent: "B", Cases: []*ir.Case{{Value: "a", Type: "A"}, {Value: "b", Type: "B"}}}},
		&ir.Type{Name: "ByPresence", Schema: "ByPresence", Kind: ir.Union, Arms: []*ir.Arm{{Type: "C"}, {Type: "B"}},
			Plan: &ir.Plan{Kind: ir.ByPresence, Cases: []*ir.Case{{Key: "text", Type: "C"}, {Key: "list", Type: "B"}}}},
		&ir.Type{Name: "ByRule", Schema: "ByRule", Kind: ir.Union, Arms: []*ir.Arm{{Type: "A"}, {Type: "B"}, {Type: "C"}},
			Plan: &ir.Plan{Kind: ir.ByRule, Key: "type", Cases: []*ir.Case{
				{Value: "x", Steps: []*ir.Step{{Has: "items.anyOf", Type: "A"}, {Has: "enum", Type: "B"}}},
				{Value: "y", Steps: []*ir.Step{{Has: "enum", Type: "A"}, {Type: "C"}}},
				{Value: "z", Type: "C"},
			}}},
		&ir.Type{Name: "OneOf", Schema: "OneOf", Kind: ir.OneOrMany, Elem: "ByTag"},
		&ir.Type{Name: "Value", Schema: "Value", Kind: ir.RawUnion, Raws: []ir.RawKind{ir.RawString, ir.RawInt, ir.RawFloat, ir.RawBool, ir.RawStrings}},
		&ir.Type{Name: "Choice", Schema: "Choice", Kind: ir.KeyedRaw, Arms: []*ir.Arm{{Type: "C", Tag: "Sea"}}},
		&ir.Type{Name: "Choices", Schema: "Choices", Kind: ir.MapOf, Elem: "Choice"},
		&ir.Type{Name: "Texts", Schema: "Texts", Kind: ir.Interface, Arms: []*ir.Arm{{Type: "C"}}, Fields: []*ir.Field{required("text", "TextValue", kind(ir.String))}},
	)

	return map[string]*ir.Package{"fields": fields, "lenient": forgiven, "unions": unions, "stateful": session(false), "stateless": session(true)}
}

// session is a model with a method of each sort.
func session(stateless bool) *ir.Package {
	params := func(name string, more ...*ir.Field) *ir.Type {
		t := object(name, append(more, optional("_meta", "Meta", named("RequestMeta")))...)
		t.Params, t.MetaOf = true, "RequestMeta"
		return t
	}
	result := func(name string, more ...*ir.Field) *ir.Type {
		t := object(name, more...)
		t.Result = true
		return t
	}
	p := pkg(
		object("Implementation", required("name", "Name", kind(ir.String)), required("version", "Version", kind(ir.String))),
		object("ServerCapabilities", optional("experimental", "Experimental", mapOf(kind(ir.RawObject))), optional("tools", "Tools", named("ServerCapabilitiesTools"))),
		object("ServerCapabilitiesTools", optional("listChanged", "ListChanged", kind(ir.Bool))),
		object("ClientCapabilities", optional("roots", "Roots", kind(ir.RawObject)), optional("asking", "Asking", kind(ir.RawObject))),
		object("RequestMeta", optional("progressToken", "ProgressToken", kind(ir.ID))),
		params("CallToolParams", required("name", "Name", kind(ir.String))), result("CallToolResult", optional("text", "Text", kind(ir.String))),
		params("ListToolsParams", optional("cursor", "Cursor", kind(ir.String))),
		result("ListToolsResult", required("tools", "Tools", slice(named("Tool"))), optional("nextCursor", "NextCursor", kind(ir.String))),
		object("Tool", required("name", "Name", kind(ir.String))),
		params("ListRootsParams", optional("deep", "Deep", kind(ir.Bool))), result("ListRootsResult", required("roots", "Roots", slice(kind(ir.String)))),
		params("ToolListChangedParams"),
		object("NeedRootsData", required("why", "Why", kind(ir.String))),
	)
	p.Stateless = stateless
	p.Methods = []*ir.Method{
		{Name: "notifications/tools/list_changed", Definition: "ToolListChangedNotification", Go: "ToolListChanged", Const: "MethodNotificationsToolsListChanged", Notification: true,
			Direction: ir.ServerToClient, Params: "ToolListChangedParams", Server: []string{"tools.listChanged"}},
		{Name: "roots/list", Definition: "ListRootsRequest", Go: "ListRoots", Const: "MethodRootsList", Direction: ir.ServerToClient, Params: "ListRootsParams", Result: "ListRootsResult",
			Client: []string{"roots"}, Gates: []*ir.Gate{{Path: "asking", Members: []string{"deep"}}}, Embedded: stateless},
		{Name: "tools/call", Definition: "CallToolRequest", Go: "CallTool", Const: "MethodToolsCall", Direction: ir.ClientToServer, Params: "CallToolParams", ParamsReq: true,
			Result: "CallToolResult", Server: []string{"tools"}, Deprec: "Use it no more."},
		{Name: "tools/list", Definition: "ListToolsRequest", Go: "ListTools", Const: "MethodToolsList", Direction: ir.ClientToServer, Params: "ListToolsParams", Result: "ListToolsResult",
			Server: []string{"tools"}, Paginated: true, Items: "Tools", Item: "Tool"},
	}
	p.Errors = []*ir.Error{{Name: "NeedRoots", Code: -32050, Data: "NeedRootsData"}, {Name: "Parse", Code: -32700}}
	p.Consts = []*ir.Const{{Name: "CodeNeedRoots", Value: "-32050"}, {Name: "MetaKeyTrace", Value: `"trace"`, Doc: []string{"MetaKeyTrace is a key."}}}
	handshake := &ir.Method{Name: "initialize", Definition: "InitializeRequest", Go: "Initialize", Const: "MethodInitialize", Direction: ir.ClientToServer, Lifecycle: true,
		Params: "InitializeParams", ParamsReq: true, Result: "InitializeResult"}
	start := params("InitializeParams", required("protocolVersion", "ProtocolVersion", kind(ir.String)), required("capabilities", "Capabilities", named("ClientCapabilities")),
		required("clientInfo", "ClientInfo", named("Implementation")))
	started := result("InitializeResult", required("protocolVersion", "ProtocolVersion", kind(ir.String)), required("capabilities", "Capabilities", named("ServerCapabilities")),
		required("serverInfo", "ServerInfo", named("Implementation")), optional("instructions", "Instructions", kind(ir.String)))
	if stateless {
		handshake = &ir.Method{Name: "server/discover", Definition: "DiscoverRequest", Go: "Discover", Const: "MethodServerDiscover", Direction: ir.ClientToServer, Lifecycle: true,
			Params: "DiscoverParams", ParamsReq: true, Result: "DiscoverResult"}
		start = params("DiscoverParams")
		started = result("DiscoverResult", required("supportedVersions", "SupportedVersions", slice(kind(ir.String))), required("capabilities", "Capabilities", named("ServerCapabilities")),
			optional("instructions", "Instructions", kind(ir.String)))
		p.Methods[2].Outcomes = []ir.Outcome{ir.InputRequired}
		p.Types[5].Fields = slices.Insert(p.Types[5].Fields, 1, optional("inputResponses", "InputResponses", named("InputResponses")), optional("requestState", "RequestState", kind(ir.String)))
		p.Types = append(p.Types,
			&ir.Type{Name: "InputRequest", Schema: "InputRequest", Kind: ir.Union, Arms: []*ir.Arm{{Type: "ListRootsRequest"}},
				Plan: &ir.Plan{Kind: ir.ByTag, Key: "method", Cases: []*ir.Case{{Value: "roots/list", Type: "ListRootsRequest"}}}},
			object("ListRootsRequest", constant("method", "roots/list"), optional("params", "Params", named("ListRootsParams"))),
			&ir.Type{Name: "InputRequests", Schema: "InputRequests", Kind: ir.MapOf, Elem: "InputRequest"},
			&ir.Type{Name: "InputResponse", Schema: "InputResponse", Kind: ir.KeyedRaw, Arms: []*ir.Arm{{Type: "ListRootsResult", Tag: "Roots"}}},
			&ir.Type{Name: "InputResponses", Schema: "InputResponses", Kind: ir.MapOf, Elem: "InputResponse"},
			result("InputRequiredResult", constant("resultType", "input_required"), optional("inputRequests", "InputRequests", named("InputRequests")), optional("requestState", "RequestState", kind(ir.String))),
		)
	}
	p.Methods = append(p.Methods, handshake)
	p.Types = append(p.Types, start, started)
	slices.SortFunc(p.Types, func(a, b *ir.Type) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Methods, func(a, b *ir.Method) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// TestGolden compares what the models print with the golden files; -update
// writes them.
func TestGolden(t *testing.T) {
	for name, p := range cases() {
		t.Run(name, func(t *testing.T) {
			files, err := emit.Package(p)
			require.NoError(t, err)
			var b strings.Builder
			for _, f := range slices.Sorted(maps.Keys(files)) {
				fmt.Fprintf(&b, "-- %s --\n%s", f, files[f])
			}
			golden := filepath.Join("testdata", name+".txtar")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String(), "write it anew with: go test ./gen/emit -update")
		})
	}
}

// TestBadModels holds that a model that cannot be printed is an error.
func TestBadModels(t *testing.T) {
	for want, p := range map[string]*ir.Package{
		"two types are called A":             pkg(object("A"), object("A")),
		"no type is called Gone":             pkg(object("A", required("x", "X", named("Gone")))),
		"an arm of U, is not a struct":       pkg(&ir.Type{Name: "U", Kind: ir.Union, Arms: []*ir.Arm{{Type: "Gone"}}}),
		"the union U has no plan":            pkg(&ir.Type{Name: "U", Kind: ir.Union}),
		"no Go value for the default [1]":    pkg(object("A", &ir.Field{JSON: "x", Name: "X", Type: slice(kind(ir.Int)), Required: true, Default: &ir.Lenient{JSON: "[1]"}})),
		"has no member text, which I needs":  pkg(object("A"), &ir.Type{Name: "I", Kind: ir.Interface, Arms: []*ir.Arm{{Type: "A"}}, Fields: []*ir.Field{required("text", "TextValue", kind(ir.String))}}),
		"unknown kind of reference":          pkg(object("A", required("x", "X", kind(99)))),
		"the name Join is the package's own": pkg(object("Join")),
		"takes more than 64 members":         pkg(object("A", many(65)...)),
	} {
		_, err := emit.Package(p)
		require.ErrorContains(t, err, want)
	}
}

func many(n int) []*ir.Field {
	var out []*ir.Field
	for i := range n {
		out = append(out, optional(fmt.Sprintf("m%d", i), fmt.Sprintf("M%d", i), kind(ir.Bool)))
	}
	return out
}
