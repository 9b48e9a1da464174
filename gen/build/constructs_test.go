package build_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

// world is a revision's schema beside its model.
type world struct {
	file  *schema.File
	pkg   *ir.Package
	types map[string]*ir.Type   // by Go name
	byDef map[string][]*ir.Type // by definition
}

func worlds(t *testing.T) []*world {
	t.Helper()
	set, err := spec.Open(spectest.Files())
	require.NoError(t, err)
	var out []*world
	for _, p := range all(t) {
		data, err := set.Patched(p.Revision, spec.Generator)
		require.NoError(t, err)
		f, err := schema.Parse(p.Revision, data)
		require.NoError(t, err)
		w := &world{f, p, map[string]*ir.Type{}, map[string][]*ir.Type{}}
		for _, typ := range p.Types {
			w.types[typ.Name] = typ
			w.byDef[typ.Schema] = append(w.byDef[typ.Schema], typ)
		}
		out = append(out, w)
	}
	return out
}

func (w *world) def(s *schema.Schema) (*schema.Schema, string) {
	name := ""
	for s.Ref != "" {
		name = s.Ref
		s = w.file.Definitions[name]
	}
	return s, name
}

// TestEveryMember holds the rules of fields for every member of every
// definition that is a struct, by a second reading of the schema.
func TestEveryMember(t *testing.T) {
	for _, w := range worlds(t) {
		structs := 0
		for _, name := range w.file.Names() {
			s := w.file.Definitions[name]
			for _, typ := range w.byDef[name] {
				if typ.Kind != ir.Struct || s.AllOf != nil {
					continue
				}
				structs++
				w.object(t, s, typ)
			}
		}
		require.GreaterOrEqual(t, structs, 32)
	}
}

func (w *world) object(t *testing.T, s *schema.Schema, typ *ir.Type) {
	require.Len(t, typ.Fields, len(s.Properties), typ.Name)
	for i, f := range typ.Fields {
		p := s.Properties[f.JSON]
		require.NotNil(t, p, "%s.%s", typ.Name, f.JSON)
		require.Equal(t, s.IsRequired(f.JSON), f.Required, "%s.%s", typ.Name, f.JSON)
		require.Equal(t, f.JSON == "_meta", f.JSON == "_meta" && i == len(typ.Fields)-1, "_meta comes last")
		w.member(t, p, f, typ.Name+"."+f.JSON)
	}
}

// raws are the members that stay raw whatever the schema says of them.
var raws = []string{"Tool.inputSchema", "Tool.outputSchema"}

func (w *world) member(t *testing.T, p *schema.Schema, f *ir.Field, at string) {
	d, def := w.def(p)
	require.Equal(t, d.Minimum, f.Min, at)
	require.Equal(t, d.Maximum, f.Max, at)
	require.Equal(t, d.MaxItems, f.MaxItems, at)
	require.Equal(t, d.Format, f.Format, at)
	if slices.Contains(raws, at) {
		require.Equal(t, ir.RawObject, f.Type.Kind, at)
		return
	}
	if c, ok := d.Const.(string); ok {
		require.Equal(t, ir.String, f.Type.Kind, at)
		if f.Required {
			require.Equal(t, c, f.Const, "%s: a required constant is no Go field", at)
		} else {
			require.Empty(t, f.Const, "%s: a constant that may be missing is a plain string", at)
		}
		return
	}
	w.value(t, p, f.Type, def, at, f.Required)
}

func (w *world) value(t *testing.T, p *schema.Schema, r ir.Ref, def, at string, required bool) {
	d, _ := w.def(p)
	kind := func(want ir.RefKind) { require.Equal(t, want, r.Kind, at) }
	named := func(want ir.Kind) *ir.Type {
		kind(ir.Named)
		require.Equal(t, want, w.types[r.Name].Kind, at)
		return w.types[r.Name]
	}
	types := slices.Sorted(slices.Values(d.Types))
	switch {
	case d.Any():
		kind(ir.RawAny)
	case d.Enum != nil:
		var values []string
		for _, v := range named(ir.Enum).Values {
			values = append(values, v.Value)
		}
		require.ElementsMatch(t, d.Enum, values, at)
	case d.AnyOf != nil:
		w.union(t, d, r, def, at)
	case slices.Equal(types, []string{"integer", "string"}):
		kind(ir.ID)
	case slices.Equal(types, []string{"integer", "null"}):
		kind(ir.NullInt)
		require.True(t, required, at)
	case len(types) > 1:
		named(ir.RawUnion)
	case d.Is("integer"):
		kind(ir.Int)
	case d.Is("number"):
		kind(ir.Float)
	case d.Is("boolean"):
		kind(ir.Bool)
	case d.Is("string") && d.Format == "byte":
		kind(ir.Base64)
	case d.Is("string") && r.Kind == ir.Named:
		require.Contains(t, []string{"StopReason", "ResultType"}, named(ir.Enum).Name, "%s: an open enum", at)
	case d.Is("string"):
		kind(ir.String)
	case d.Is("array"):
		kind(ir.Slice)
		w.value(t, d.Items, *r.Elem, d.Items.Ref, at+"[]", true)
	case d.Is("object") && len(d.Properties) > 0 || d.AllOf != nil:
		typ := named(ir.Struct)
		if def == "" {
			w.object(t, d, typ)
		}
	case d.Is("object") && d.Additional != nil && !d.Additional.Any():
		switch r.Kind {
		case ir.RawObject: // a map to any JSON value
			require.Equal(t, "JSONObject", def, at)
		case ir.Map:
			w.value(t, d.Additional, *r.Elem, d.Additional.Ref, at+"{}", true)
		default:
			require.Equal(t, w.types[named(ir.MapOf).Elem].Name, d.Additional.Ref, at)
		}
	case d.Is("object"):
		kind(ir.RawObject)
	default:
		require.Fail(t, "a construct that no rule of this test names", "%s", at)
	}
}

// union checks that every member of an anyOf can be met, and that nothing else can.
func (w *world) union(t *testing.T, d *schema.Schema, r ir.Ref, def, at string) {
	if r.Kind == ir.RawAny {
		require.Equal(t, "JSONValue", def, at)
		return
	}
	typ := w.types[r.Name]
	var want, got []string
	arrays := 0
	var flatten func(d *schema.Schema)
	flatten = func(d *schema.Schema) {
		for _, a := range d.AnyOf {
			m, name := w.def(a)
			switch {
			case m.AnyOf != nil:
				flatten(m)
			case m.Is("array"):
				arrays++
			case name != "":
				want = append(want, w.byDef[name][0].Name)
			}
		}
	}
	flatten(d)
	switch typ.Kind {
	case ir.RawUnion:
		require.Empty(t, want, at)
		return
	case ir.OneOrMany:
		require.Equal(t, 1, arrays, at)
		typ = w.types[typ.Elem]
	default:
		require.Contains(t, []ir.Kind{ir.Union, ir.KeyedRaw}, typ.Kind, at)
		require.Zero(t, arrays, at)
	}
	for _, a := range typ.Arms {
		got = append(got, a.Type)
	}
	require.ElementsMatch(t, want, got, at)
}

// TestUnionPlans says for each union how it is told apart, and why that is safe.
func TestUnionPlans(t *testing.T) {
	ws := worlds(t)
	for _, c := range []struct {
		revisions, union string
		kind             ir.PlanKind
		key              string
	}{
		{"ABCDE", "ContentBlock", ir.ByTag, "type"},
		{"ABCDE", "SamplingMessageContentBlock", ir.ByTag, "type"},
		{"ABCDE", "CompleteReference", ir.ByTag, "type"},
		{"ABCDE", "ResourceContents", ir.ByPresence, ""},
		{"CDE", "PrimitiveSchemaDefinition", ir.ByRule, "type"},
		{"CDE", "ElicitParams", ir.ByTag, "mode"},
		{"E", "InputRequest", ir.ByTag, "method"},
	} {
		for i, w := range ws {
			typ := w.types[c.union]
			if !strings.ContainsRune(c.revisions, rune('A'+i)) {
				require.Nil(t, typ)
				continue
			}
			require.Equal(t, ir.Union, typ.Kind, c.union)
			require.Equal(t, c.kind, typ.Plan.Kind, c.union)
			require.Equal(t, c.key, typ.Plan.Key, c.union)
			seen := map[string]bool{}
			for _, k := range typ.Plan.Cases {
				require.False(t, seen[k.Value+k.Key], "each case once")
				seen[k.Value+k.Key] = true
				if c.kind == ir.ByTag && len(typ.Arms) > 1 {
					// The member that is looked at is a constant of the type, or absent by default.
					f := w.field(k.Type, c.key)
					require.True(t, f.Const == k.Value || !f.Required && typ.Plan.Absent == k.Type, "%s %s", c.union, k.Value)
				}
				if c.kind == ir.ByPresence {
					require.True(t, w.field(k.Type, k.Key).Required)
				}
			}
		}
	}
	// No other union is sealed.
	for i, w := range ws {
		n := 0
		for _, typ := range w.pkg.Types {
			if typ.Kind == ir.Union {
				n++
			}
		}
		require.Equal(t, []int{4, 4, 6, 6, 7}[i], n)
	}
}

func (w *world) field(typ, json string) *ir.Field {
	for _, f := range w.types[typ].Fields {
		if f.JSON == json {
			return f
		}
	}
	return &ir.Field{}
}

// TestPrimitiveSchemas walks real form members through the plan, as a decoder does.
func TestPrimitiveSchemas(t *testing.T) {
	ws := worlds(t)
	for _, c := range []struct{ value, c, de string }{
		{`{"type":"string"}`, "StringSchema", "StringSchema"},
		{`{"type":"string","format":"email","minLength":1}`, "StringSchema", "StringSchema"},
		{`{"type":"string","enum":["a"]}`, "LegacyTitledEnumSchema", "UntitledSingleSelectEnumSchema"},
		{`{"type":"string","enum":["a"],"enumNames":["A"]}`, "LegacyTitledEnumSchema", "LegacyTitledEnumSchema"},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, "StringSchema", "TitledSingleSelectEnumSchema"},
		{`{"type":"string","oneOf":[{"const":"a","title":"A"}],"enum":["a"]}`, "LegacyTitledEnumSchema", "TitledSingleSelectEnumSchema"},
		{`{"type":"number"}`, "NumberSchema", "NumberSchema"},
		{`{"type":"integer","minimum":0}`, "NumberSchema", "NumberSchema"},
		{`{"type":"boolean","default":false}`, "BooleanSchema", "BooleanSchema"},
		{`{"type":"array","items":{"type":"string","enum":["a"]}}`, "", "UntitledMultiSelectEnumSchema"},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, "", "TitledMultiSelectEnumSchema"},
		{`{"type":"array","items":{"anyOf":[],"enum":[]}}`, "", "TitledMultiSelectEnumSchema"},
		{`{"type":"array"}`, "", ""},
		{`{"type":"array","items":"no"}`, "", ""},
		{`{"type":"object"}`, "", ""},
		{`{}`, "", ""},
	} {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.value), &v))
		for i, want := range map[int]string{2: c.c, 3: c.de, 4: c.de} {
			require.Equal(t, want, pick(ws[i].types["PrimitiveSchemaDefinition"].Plan, v), "%s %s", ws[i].pkg.Revision, c.value)
		}
	}
}

// pick follows a plan to the type of a value, "" if it is unknown.
func pick(p *ir.Plan, v map[string]any) string {
	tag, there := v[p.Key].(string)
	if !there && p.Kind != ir.ByPresence {
		return p.Absent
	}
	for _, c := range p.Cases {
		switch {
		case p.Kind == ir.ByPresence:
			if _, ok := v[c.Key]; ok {
				return c.Type
			}
		case c.Value == tag && c.Type != "":
			return c.Type
		case c.Value == tag:
			for _, s := range c.Steps {
				if s.Has == "" || has(v, strings.Split(s.Has, ".")) {
					return s.Type
				}
			}
		}
	}
	return ""
}

func has(v any, path []string) bool {
	m, _ := v.(map[string]any)
	e, ok := m[path[0]]
	return ok && (len(path) == 1 || has(e, path[1:]))
}

// TestFlattened says of each allOf what it became.
func TestFlattened(t *testing.T) {
	ws := worlds(t)
	d, e := ws[3], ws[4]
	for _, name := range []string{"GetTaskResult", "CancelTaskResult", "TaskStatusParams"} {
		var members []string
		for _, f := range d.types[name].Fields {
			members = append(members, f.JSON)
		}
		require.ElementsMatch(t, []string{"_meta", "createdAt", "lastUpdatedAt", "pollInterval", "status", "statusMessage", "taskId", "ttl"}, members, name)
	}
	require.Len(t, d.pkg.Errors, 1)
	require.Equal(t, ir.Error{Name: "URLElicitationRequired", Code: -32042, Data: "URLElicitationRequiredData", Doc: d.pkg.Errors[0].Doc}, *d.pkg.Errors[0])
	require.Equal(t, "ElicitURLParams", d.field("URLElicitationRequiredData", "elicitations").Type.Elem.Name)
	data := map[string]string{}
	for _, x := range e.pkg.Errors {
		data[x.Name] = x.Data
	}
	require.Equal(t, map[string]string{
		"HeaderMismatch": "", "MissingRequiredClientCapability": "MissingRequiredClientCapabilityData", "UnsupportedProtocolVersion": "UnsupportedProtocolVersionData",
		"Parse": "", "InvalidRequest": "", "MethodNotFound": "", "InvalidParams": "", "Internal": "",
	}, data)
	for _, w := range ws[:3] {
		require.Empty(t, w.pkg.Errors)
	}
}

// TestNotEmitted holds which definitions are no types: what messages are made
// of, what others repeat, and the table of who sends what.
func TestNotEmitted(t *testing.T) {
	sorts := map[string]*regexp.Regexp{
		"messages, which are envelopes":                   regexp.MustCompile(`^.+(Request|Notification|ResultResponse)$`),
		"JSON-RPC itself":                                 regexp.MustCompile(`^(JSONRPC.*|Error|RequestId|ProgressToken)$`),
		"the table of directions":                         regexp.MustCompile(`^(Client|Server)(Request|Notification|Result)$`),
		"bases, flattened into what extends them":         regexp.MustCompile(`^(Annotated|BaseMetadata|Icons|ResourceContents|Request|Notification|RequestParams|NotificationParams|PaginatedRequestParams|ResourceRequestParams|TaskAugmentedRequestParams|InputResponseRequestParams|DetailedTask)$`),
		"errors, which have a code and data":              regexp.MustCompile(`^.+Error$`),
		"parts of a bigger union":                         regexp.MustCompile(`^(EnumSchema|SingleSelectEnumSchema|MultiSelectEnumSchema)$`),
		"scalars and raw JSON":                            regexp.MustCompile(`^(Cursor|JSONValue|JSONObject|JSONArray|MetaObject)$`),
		"results that no message has (newest: no alias)":  regexp.MustCompile(`^(Result|EmptyResult)$`),
		"definitions that another name took the place of": regexp.MustCompile(`^(ResourceReference)$`),
	}
	for _, w := range worlds(t) {
		for _, name := range w.file.Names() {
			if len(w.byDef[name]) > 0 {
				continue
			}
			found := false
			for _, re := range sorts {
				found = found || re.MatchString(name)
			}
			require.True(t, found, "%s: %s is no type, and no rule says why", w.pkg.Revision, name)
		}
	}
}

// TestImplied holds the defaults that only the text has.
func TestImplied(t *testing.T) {
	got := map[string]string{}
	for i, w := range worlds(t) {
		for _, typ := range w.pkg.Types {
			for _, f := range typ.Fields {
				if f.Implied != "" {
					require.False(t, f.Required)
					require.True(t, json.Valid([]byte(f.Implied)))
					got[typ.Name+"."+f.JSON+" "+f.Implied] += string(rune('A' + i))
				}
			}
		}
	}
	require.Equal(t, map[string]string{
		"ToolAnnotations.readOnlyHint false": "BCDE", "ToolAnnotations.destructiveHint true": "BCDE", "ToolAnnotations.idempotentHint false": "BCDE",
		"ToolAnnotations.openWorldHint true": "BCDE", "CallToolResult.isError false": "ABCDE", "ToolResultContent.isError false": "DE",
		`CreateMessageParams.includeContext "none"`: "DE", `CreateMessageParams.toolChoice {"mode":"auto"}`: "DE", `ToolChoice.mode "auto"`: "DE",
		`ElicitFormParams.mode "form"`: "DE", `ToolExecution.taskSupport "forbidden"`: "D",
		`ElicitSchema.$schema "https://json-schema.org/draft/2020-12/schema"`: "DE",
	}, got)
}

// TestLenient holds what lenient decoding of results forgives.
func TestLenient(t *testing.T) {
	for i, w := range worlds(t) {
		for _, m := range w.pkg.Methods {
			if m.Notification {
				continue
			}
			typ := w.types[m.Result]
			for _, f := range typ.Fields {
				if f.Type.Kind == ir.Slice && f.Required {
					require.Equal(t, "[]", f.Default.JSON, "%s.%s", typ.Name, f.JSON)
				}
				if f.JSON == "resultType" {
					require.Equal(t, &ir.Lenient{JSON: `"complete"`, Empty: true, Zero: true}, f.Default)
				}
				if f.JSON == "ttlMs" && f.Type.Kind == ir.NullInt { // of a task, not of a cache
					require.Equal(t, &ir.Lenient{JSON: `null`}, f.Default)
				} else if f.JSON == "ttlMs" {
					require.Equal(t, &ir.Lenient{JSON: `0`, Negative: true}, f.Default)
				}
				if f.JSON == "cacheScope" {
					require.Equal(t, &ir.Lenient{JSON: `"private"`, Empty: true, Zero: true}, f.Default)
				}
			}
		}
		require.Equal(t, `{"type":"object"}`, w.field("Tool", "inputSchema").Default.JSON)
		require.Nil(t, w.field("CallToolParams", "name").Default, "params are strict")
		require.Nil(t, w.field("Tool", "name").Default)
		require.Equal(t, i == 4, w.types["CacheableResult"] != nil)
	}
}

// row is one place of constructs.md and what is said of it.
type row struct {
	section, revisions, path, rest string
}

// rows reads the table of all constructs, where it is at hand.
func rows(t *testing.T) []row {
	data, err := os.ReadFile(filepath.Join(shared(t), "constructs.md"))
	require.NoError(t, err)
	item := regexp.MustCompile("`([^`]+)`([^`]*)")
	group := regexp.MustCompile(`^- \*\*([A-E]+)\*\*: (.*)$`)
	section := ""
	var out []row
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if s, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(s, " (")
			continue
		}
		g := group.FindStringSubmatch(line)
		if g == nil {
			continue
		}
		for _, m := range item.FindAllStringSubmatch(g[2], -1) {
			out = append(out, row{section, g[1], m[1], strings.Trim(m[2], "; ")})
		}
	}
	require.Greater(t, len(out), 800)
	return out
}

// find follows a path of constructs.md to the member that it means. It gives
// false when the definition is no type (TestNotEmitted says which) or when the
// place is inside raw JSON.
func (w *world) find(t *testing.T, path string) (typ *ir.Type, f *ir.Field, r ir.Ref, ok bool) {
	// The one member name with a dot.
	path = strings.ReplaceAll(path, "io.modelcontextprotocol/", "io\x00modelcontextprotocol/")
	path, _, _ = strings.Cut(path, "|")
	parts := strings.Split(path, ".")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", ".")
	}
	var at []*ir.Type
	for _, m := range w.pkg.Methods {
		if m.Definition == parts[0] && len(parts) > 1 && parts[1] == "params" {
			params := w.types[m.Params]
			if params.Kind == ir.Union { // ElicitParams where it wraps one struct
				params = w.types[params.Arms[0].Type]
			}
			at, parts = []*ir.Type{params}, parts[1:]
		}
	}
	if at == nil {
		at = w.byDef[parts[0]]
	}
	if len(at) == 0 || at[0].Kind == ir.Interface { // a base, emitted as its getters only
		return nil, nil, r, false
	}
	typ = at[0]
	if len(parts) == 1 {
		return typ, nil, ir.Ref{Kind: ir.Named, Name: typ.Name}, true
	}
	for i, part := range parts[1:] {
		name := strings.TrimRight(part, "[]{}")
		f = w.field(typ.Name, name)
		require.NotEmpty(t, f.JSON, "%s: %s has no member %s", path, typ.Name, name)
		r = f.Type
		for suffix := part[len(name):]; suffix != ""; suffix = suffix[2:] {
			require.NotNil(t, r.Elem, "%s: %s", path, part)
			r = *r.Elem
		}
		if i == len(parts)-2 {
			return typ, f, r, true
		}
		if r.Kind == ir.RawObject || r.Kind == ir.RawAny {
			return typ, f, r, false
		}
		typ = w.types[r.Name]
	}
	return typ, f, r, true
}

// TestConstructs goes through every place of constructs.md and holds that the
// rule of its construct was followed there.
func TestConstructs(t *testing.T) {
	ws := worlds(t)
	is := func(kinds ...ir.RefKind) func(*world, row, *ir.Field, ir.Ref) bool {
		return func(_ *world, _ row, _ *ir.Field, r ir.Ref) bool { return slices.Contains(kinds, r.Kind) }
	}
	req := func(want bool, f func(*world, row, *ir.Field, ir.Ref) bool) func(*world, row, *ir.Field, ir.Ref) bool {
		return func(w *world, x row, field *ir.Field, r ir.Ref) bool {
			return field.Required == want && f(w, x, field, r)
		}
	}
	kind := func(kinds ...ir.Kind) func(*world, row, *ir.Field, ir.Ref) bool {
		return func(w *world, _ row, _ *ir.Field, r ir.Ref) bool {
			return r.Kind == ir.Named && slices.Contains(kinds, w.types[r.Name].Kind)
		}
	}
	or := func(fs ...func(*world, row, *ir.Field, ir.Ref) bool) func(*world, row, *ir.Field, ir.Ref) bool {
		return func(w *world, x row, f *ir.Field, r ir.Ref) bool {
			return slices.ContainsFunc(fs, func(g func(*world, row, *ir.Field, ir.Ref) bool) bool { return g(w, x, f, r) })
		}
	}
	anyway := func(*world, row, *ir.Field, ir.Ref) bool { return true }
	rules := map[string]func(*world, row, *ir.Field, ir.Ref) bool{
		"anyOf, classified": or(kind(ir.Union, ir.RawUnion, ir.OneOrMany, ir.KeyedRaw), is(ir.RawAny)),
		"allOf":             kind(ir.Struct),
		"type arrays":       or(is(ir.ID, ir.NullInt), kind(ir.RawUnion)),
		"const": func(_ *world, x row, f *ir.Field, _ ir.Ref) bool {
			return f.Type.Kind == ir.RawObject || f.Const == strings.TrimPrefix(x.rest, "=") || f.Const == "" && !f.Required
		},
		"enum": kind(ir.Enum),
		// Message params of no own definition are XParams; raw members stay raw.
		"inline anonymous objects with properties":              or(kind(ir.Struct), is(ir.RawObject)),
		"objects with properties and open additionalProperties": or(kind(ir.Struct, ir.KeyedRaw, ir.Alias), is(ir.RawObject)),
		"typed maps":   or(is(ir.Map, ir.RawObject), kind(ir.MapOf)),
		"free objects": is(ir.RawObject),
		"empty schemas {} used as a field or value": is(ir.RawAny),
		"format": func(_ *world, x row, f *ir.Field, r ir.Ref) bool {
			return f.Format == x.rest && (r.Kind == ir.Base64) == (x.rest == "byte") && (r.Kind == ir.String) == (x.rest != "byte")
		},
		"integer / number": func(w *world, x row, f *ir.Field, r ir.Ref) bool {
			switch x.rest {
			case "number":
				return r.Kind == ir.Float
			case "integer":
				return r.Kind == ir.Int
			}
			return r.Kind == ir.ID || r.Kind == ir.NullInt || kind(ir.RawUnion)(w, x, f, r)
		},
		"bounds": func(w *world, _ row, f *ir.Field, _ ir.Ref) bool {
			return f.Min != nil || f.Max != nil || f.MaxItems != nil
		},
		"aliases":                      anyway, // TestEveryMember, TestNotEmitted
		"scalar and array definitions": anyway,
		"definitions referenced by no other definition":     anyway, // TestNotEmitted
		"definitions not reachable from the message unions": anyway,
		"recursive groups": anyway, // TestEveryMember: JSONValue is raw
		"base definitions": anyway,
		"_meta typing":     anyway, // TestMeta
		"REQUIRED fields whose legal value can be a Go zero value: numbers": req(true, is(ir.Int, ir.Float, ir.NullInt)),
		"REQUIRED: arrays":                req(true, is(ir.Slice)),
		"REQUIRED: maps and free objects": req(true, is(ir.Map, ir.RawObject)),
		"REQUIRED: any JSON":              req(true, is(ir.RawAny)),
		"REQUIRED: strings":               req(true, or(is(ir.String, ir.Base64), kind(ir.Enum))),
		"OPTIONAL numbers":                req(false, is(ir.Int, ir.Float)),
		"OPTIONAL booleans":               req(false, is(ir.Bool)),
		"OPTIONAL any JSON":               req(false, is(ir.RawAny)),
		"OPTIONAL arrays":                 req(false, is(ir.Slice)),
	}
	checked := map[string]int{}
	for _, x := range rows(t) {
		rule := rules[x.section]
		require.NotNil(t, rule, "a section that this test does not know: %s", x.section)
		for i, w := range ws {
			if !strings.ContainsRune(x.revisions, rune('A'+i)) {
				continue
			}
			if strings.Contains(x.path, "|allOf") {
				continue // an error: TestFlattened
			}
			if x.section == "_meta typing" || strings.Contains(x.section, "definition") || x.section == "aliases" || x.section == "recursive groups" {
				continue
			}
			_, f, r, ok := w.find(t, x.path)
			if !ok {
				continue
			}
			if f == nil {
				f = &ir.Field{}
			}
			require.True(t, rule(w, x, f, r), "%s: %s %s (%s): %s required %v", w.pkg.Revision, x.path, x.rest, x.section, showRef(r), f.Required)
			checked[x.section]++
		}
	}
	for section, n := range map[string]int{
		"const": 60, "enum": 35, "format": 70, "integer / number": 90, "REQUIRED: strings": 200, "OPTIONAL arrays": 50, "anyOf, classified": 40,
		"typed maps": 25, "free objects": 35, "bounds": 30,
	} {
		require.Greater(t, checked[section], n, "%s: %v", section, checked)
	}
	require.Len(t, slices.Collect(maps.Keys(rules)), 29)
}

// TestMeta holds the type of each _meta member of constructs.md.
func TestMeta(t *testing.T) {
	ws := worlds(t)
	want := map[string]string{
		"open map": "object", "{progressToken}": "RequestMeta", "{progressToken,...}": "RequestMeta", "MetaObject": "object",
		"RequestMetaObject!": "RequestMeta!", "NotificationMetaObject": "NotificationMeta", "ResultMetaObject": "ResultMeta",
		"SubscriptionsListenResultMetaObject!": "SubscriptionsListenResultMeta!",
	}
	n := 0
	for _, x := range rows(t) {
		if x.section != "_meta typing" {
			continue
		}
		typing := strings.TrimPrefix(x.rest, ":")
		require.NotEmpty(t, want[typing], typing)
		for i, w := range ws {
			if !strings.ContainsRune(x.revisions, rune('A'+i)) {
				continue
			}
			_, _, r, ok := w.find(t, x.path)
			if !ok || w.types[r.Name] == nil || w.types[r.Name].Kind == ir.KeyedRaw || w.types[r.Name].Kind == ir.Union {
				continue
			}
			f := w.field(r.Name, "_meta")
			got := showRef(f.Type)
			if f.Required {
				got += "!"
			}
			require.Equal(t, want[typing], got, "%s %s", w.pkg.Revision, x.path)
			n++
		}
	}
	require.Greater(t, n, 150)
}

// TestEveryMessageHasMeta holds what the errata give back: params of every
// message carry _meta, but for those that travel inside another message.
func TestEveryMessageHasMeta(t *testing.T) {
	for _, w := range worlds(t) {
		for _, m := range w.pkg.Methods {
			types := []*ir.Type{w.types[m.Params]}
			if types[0].Kind == ir.Union {
				types = nil
				for _, a := range w.types[m.Params].Arms {
					types = append(types, w.types[a.Type])
				}
			}
			for _, typ := range types {
				require.True(t, typ.Params)
				f := w.field(typ.Name, "_meta")
				if m.Embedded {
					require.Equal(t, m.Name == "roots/list", f.JSON == "_meta")
					continue
				}
				require.Equal(t, "_meta", f.JSON, "%s %s", w.pkg.Revision, typ.Name)
				require.Equal(t, w.pkg.Stateless && !m.Notification, f.Required)
				want := "RequestMeta"
				if m.Notification {
					want = "object"
					if w.pkg.Stateless {
						want = "NotificationMeta"
					}
				}
				require.Equal(t, want, showRef(f.Type), "%s %s", w.pkg.Revision, typ.Name)
			}
		}
	}
}

// TestMethodsFile compares the method tables with methods.json, where it is at hand.
func TestMethodsFile(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shared(t), "methods.json"))
	require.NoError(t, err)
	type capability struct{ Side, Path, When, Level string }
	type entry struct {
		Method, Definition, Direction, Via, ParamsType string
		ParamsRequired, Paginated                      bool
		Results                                        []string
		Capabilities                                   []capability
	}
	var file struct {
		Revisions []struct {
			Revision, Handshake     string
			Requests, Notifications []entry
		}
	}
	require.NoError(t, json.Unmarshal(data, &file))
	for i, w := range worlds(t) {
		r := file.Revisions[i]
		require.Equal(t, r.Revision, w.pkg.Revision)
		require.Equal(t, r.Handshake != "initialize", w.pkg.Stateless)
		got := map[string]*ir.Method{}
		for _, m := range w.pkg.Methods {
			if m.Extension == "" {
				got[m.Name] = m
			}
		}
		require.Len(t, got, len(r.Requests)+len(r.Notifications))
		for _, e := range append(slices.Clone(r.Requests), r.Notifications...) {
			m := got[e.Method]
			require.NotNil(t, m, e.Method)
			at := r.Revision + " " + e.Method
			require.Equal(t, e.Definition, m.Definition, at)
			require.Equal(t, e.Direction, []string{"client->server", "server->client", "both"}[m.Direction], at)
			require.Equal(t, e.ParamsRequired, m.ParamsReq, at)
			require.Equal(t, e.Paginated, m.Paginated, at)
			require.Equal(t, strings.HasPrefix(e.Via, "inputRequests"), m.Embedded, at)
			require.Equal(t, len(e.Results) == 0, m.Notification, at)
			if !m.Notification {
				results := []string{m.Result}
				for _, o := range m.Outcomes {
					switch o {
					case ir.InputRequired:
						results = append(results, "InputRequiredResult")
					case ir.TaskCreated:
						results = append(results, "CreateTaskResult")
					case ir.TaskByType: // of the tasks extension, which the file leaves out
						require.Equal(t, "tools/call", m.Name)
					}
				}
				require.Equal(t, e.Results, results, at)
			}
			// Capabilities: unconditional ones in the lists, conditional ones as gates.
			var want, have []string
			for _, c := range e.Capabilities {
				sides := []string{c.Side}
				if c.Side == "receiver" || c.Side == "sender" {
					sides = []string{"server", "client"}
				}
				if c.Side == "request" {
					continue // the level a request asks for: the runtime's business
				}
				for _, s := range sides {
					text := s + " " + c.Path
					if c.When != "" && c.Path == "elicitation" {
						want = append(want, text) // and elicitation.form when the mode is form
						text, c.Path = s+" elicitation.form", "elicitation.form"
					}
					if c.When != "" {
						text += " sometimes"
					}
					if c.Level == "SHOULD" {
						text += " advice"
					}
					want = append(want, text)
				}
			}
			for _, s := range m.Server {
				have = append(have, "server "+s)
			}
			for _, c := range m.Client {
				have = append(have, "client "+c)
			}
			for _, g := range m.Gates {
				text := map[bool]string{true: "server ", false: "client "}[g.Server] + g.Path + " sometimes"
				if g.Advice {
					text += " advice"
				}
				have = append(have, text)
			}
			require.ElementsMatch(t, want, have, at)
		}
	}
}

// TestTypeHistory compares which types come and go with schema-diff.md, where
// it is at hand. Its names are upstream's long ones, and it counts shared
// params once.
func TestTypeHistory(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shared(t), "schema-diff.md"))
	require.NoError(t, err)
	ws := worlds(t)
	line := regexp.MustCompile("^Types (added|removed): (.*)$")
	name := regexp.MustCompile("`([^`]+)`")
	step := 0
	for l := range strings.Lines(string(data)) {
		if strings.HasPrefix(l, "## 20") {
			step++
			continue
		}
		m := line.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil || step == 0 {
			continue
		}
		from, to := ws[step-1], ws[step]
		if m[1] == "removed" {
			from, to = to, from
		}
		want := map[string]bool{}
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			n := n[1]
			if strings.HasSuffix(n, "Error") || strings.HasSuffix(n, "Outcome") {
				continue // a code, and a set of results: no types here
			}
			n = regexp.MustCompile(`^(.+)(Request|Notification)(|Form|URL)Params$`).ReplaceAllString(n, "$1${3}Params")
			want[n] = true
		}
		got := map[string]bool{}
		own := func(typ *ir.Type) bool { return typ != nil && typ.Extension == "" }
		for _, typ := range to.pkg.Types {
			if own(typ) && !own(from.types[typ.Name]) {
				got[typ.Name] = true
			}
		}
		for n := range got {
			if want[n] {
				continue
			}
			// What that file does not count: a params type for each method, the
			// messages inside inputRequests, the interface, the alias, an open enum.
			typ := to.types[n]
			base, isParams := strings.CutSuffix(n, "Params")
			shares := isParams && slices.ContainsFunc(to.pkg.Methods, func(m *ir.Method) bool {
				return m.Go == base && slices.Contains([]string{"RequestParams", "NotificationParams", "PaginatedRequestParams"}, typ.Schema)
			})
			require.True(t, shares || slices.Contains([]string{"CreateMessageRequest", "ElicitRequest", "ListRootsRequest", "InputRequest", "CacheableResult", "ResultType", "SamplingContent", "EmptyResult", "Result",
				"Error"}, n), // the last is a type because an extension needs it as one
				fmt.Sprintf("%s: %s is %s and not expected", to.pkg.Revision, n, m[1]))
		}
		for n := range want {
			require.True(t, got[n] || n == "ListRootsParams", "%s: %s should be %s", to.pkg.Revision, n, m[1])
		}
	}
	require.Equal(t, 4, step)
}
