package build

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// relied refuses what the runtime and the printed stubs cannot work with: they
// know some members by name (the _meta of requests, what a handshake answers,
// what a request for input holds, capabilities), and each has to be what it was.
func (b *builder) relied(pkg *ir.Package) error {
	r := &relied{b: b, pkg: pkg}
	for _, t := range pkg.Types {
		if slices.ContainsFunc(pkg.Types, func(p *ir.Type) bool { return p.Params && p.MetaOf == t.Name }) {
			r.meta(t)
		}
	}
	for _, t := range pkg.Types {
		if f := fieldOf(t, "_meta"); f != nil && f.Type.Kind == ir.Named && (t.Params || t.Result) {
			r.want(t, "_meta", isStructIn, true, "the runtime reads and writes it")
		}
	}
	for _, m := range pkg.Methods {
		r.outcomes(m)
		r.feature(m)
		r.metadata(m)
	}
	server, client := b.types["ServerCapabilities"], b.types["ClientCapabilities"]
	info := b.types["Implementation"]
	if isStruct(server) && isStruct(info) {
		r.capabilities(server, "server", server, "", 0)
		r.names("Server", server, ir.ServerToClient, "Info", "Instructions", "AllowURI", "Unknown", "UnknownNotification", "Options", "Hub", "Capabilities", "Bind")
	}
	if isStruct(client) && isStruct(info) {
		r.capabilities(client, "client", client, "", 0)
		r.names("Client", client, ir.ClientToServer, "Info", "Unknown", "UnknownNotification", "Options", "Capabilities", "Bind")
	}
	if server != nil || client != nil || info != nil || !b.strict() { // a whole protocol, not a piece of one
		r.handshake()
	}
	return r.err
}

func isStruct(t *ir.Type) bool { return t != nil && t.Kind == ir.Struct }

// relied checks; the first error stays.
type relied struct {
	b   *builder
	pkg *ir.Package
	err error
}

func (r *relied) fail(kind ErrorKind, ptr, format string, args ...any) {
	if r.err == nil {
		r.err = r.b.err(kind, ptr, format, args...)
	}
}

// shape is what a member has to be.
type shape struct {
	kinds    []ir.RefKind
	named    []ir.Kind // of what kind the named type may be
	types    []string  // its names, any if empty
	required *bool     // nil: either
	text     string
}

var (
	yes, no = true, false

	isID       = shape{kinds: []ir.RefKind{ir.ID}, text: "an id"}
	isText     = shape{kinds: []ir.RefKind{ir.String}, named: []ir.Kind{ir.Enum}, text: "a string"}
	isString   = shape{kinds: []ir.RefKind{ir.String}, text: "a string"}
	isInfo     = shape{named: []ir.Kind{ir.Struct}, types: []string{"Implementation"}, text: "an Implementation"}
	isCaps     = shape{named: []ir.Kind{ir.Struct}, types: []string{"ClientCapabilities"}, text: "ClientCapabilities"}
	isServer   = shape{named: []ir.Kind{ir.Struct}, types: []string{"ServerCapabilities"}, text: "ServerCapabilities"}
	isLevel    = shape{named: []ir.Kind{ir.Enum}, types: []string{"LoggingLevel"}, text: "a LoggingLevel"}
	isAny      = shape{kinds: []ir.RefKind{ir.RawAny}, text: "any value"}
	isNamedMap = shape{named: []ir.Kind{ir.MapOf}, text: "a defined map"}
	isStructIn = shape{named: []ir.Kind{ir.Struct}, text: "an object with members"}
)

func (s shape) must(required *bool) shape {
	s.required = required
	if required != nil {
		s.text = map[bool]string{true: "required, and ", false: "optional, and "}[*required] + s.text
	}
	return s
}

// want holds that a member is of a shape. A member that is missing is an error
// only when it has to be there.
func (r *relied) want(t *ir.Type, json string, s shape, there bool, why string) {
	if t == nil {
		return
	}
	ptr := r.b.where[t.Name]
	f := fieldOf(t, json)
	if f == nil {
		if there {
			r.fail(Unsupported, ptr, "%s has no member %q: %s", t.Name, json, why)
		}
		return
	}
	ok := slices.Contains(s.kinds, f.Type.Kind)
	if f.Type.Kind == ir.Named {
		n := r.b.types[f.Type.Name]
		ok = n != nil && slices.Contains(s.named, n.Kind) && (s.types == nil || slices.Contains(s.types, n.Name))
	}
	if s.required != nil && f.Required != *s.required || f.Const != "" {
		ok = false
	}
	if !ok {
		hint := ""
		if n := r.b.types[f.Type.Name]; f.Type.Kind == ir.Named && len(s.types) == 1 && n != nil && n.Name != s.types[0] && r.b.types[s.types[0]] == nil {
			hint = fmt.Sprintf("; if it only has another name, add {\"definition\": %q, \"go\": %q} to \"names\" in the overlay", n.Schema, s.types[0])
		}
		r.fail(Unsupported, ptr+"/properties/"+escape(json), "the member %q has to be %s: %s%s", json, s.text, why, hint)
	}
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

func fieldOf(t *ir.Type, json string) *ir.Field {
	for _, f := range t.Fields {
		if f.JSON == json {
			return f
		}
	}
	return nil
}

// meta checks a type of _meta of params.
func (r *relied) meta(t *ir.Type) {
	const prefix, why = "io.modelcontextprotocol/", "the runtime reads and writes it in the _meta of requests"
	r.want(t, "progressToken", isID, false, why)
	r.want(t, prefix+"subscriptionId", isID, false, why)
	r.want(t, prefix+"protocolVersion", isString, false, why)
	r.want(t, prefix+"logLevel", isText, false, why)
	r.want(t, prefix+"clientInfo", isInfo, false, why)
	r.want(t, prefix+"clientCapabilities", isCaps, false, why)
	for _, f := range t.Fields {
		n := r.b.types[f.Type.Name]
		if !f.Required || f.Type.Kind != ir.Named || !isStruct(n) {
			continue
		}
		for _, inner := range n.Fields {
			if inner.Required {
				r.fail(Unsupported, r.b.where[n.Name], "the member %q of %s is required, so the required member %q of %s has no empty value", inner.JSON, n.Name, f.JSON, t.Name)
			}
		}
	}
}

// metadata refuses members called like the method Metadata, where no wrapper
// can have the method in place of the params.
func (r *relied) metadata(m *ir.Method) {
	p := r.b.types[m.Params]
	if p == nil {
		return
	}
	var types []*ir.Type
	switch {
	case p.Kind == ir.Union:
		for _, a := range p.Arms {
			types = append(types, r.b.types[a.Type])
		}
	case !m.Notification && (m.Lifecycle || slices.Contains(m.Outcomes, ir.InputRequired)):
		types = append(types, p)
	}
	for _, t := range types {
		for _, f := range t.Fields {
			if f.Name == "Metadata" {
				r.fail(Unsupported, r.b.where[t.Name]+"/properties/"+escape(f.JSON), "the member %q takes the name of a method that the runtime calls for %q", f.JSON, m.Name)
			}
		}
	}
}

// outcomes checks what a request may give besides its result.
func (r *relied) outcomes(m *ir.Method) {
	for _, o := range m.Outcomes {
		switch o {
		case ir.InputRequired:
			const why = "it is how a server asks for input"
			t := r.b.types[r.b.goName(inputRequired)]
			r.want(t, "inputRequests", isNamedMap.must(&no), true, why)
			r.want(t, "requestState", isString.must(&no), true, why)
			p := r.b.types[m.Params]
			if p == nil || p.Kind != ir.Struct {
				r.fail(Unsupported, r.b.where[m.Params], "the params of %q cannot be a union: it may ask for input", m.Name)
				return
			}
			const back = "the client answers a request for input with it"
			r.want(p, "inputResponses", isNamedMap.must(&no), true, back)
			r.want(p, "requestState", isString.must(&no), true, back)
			if r.err != nil {
				return
			}
			answers := r.b.types[fieldOf(p, "inputResponses").Type.Name]
			if n := r.b.types[answers.Elem]; n == nil || n.Kind != ir.KeyedRaw {
				r.fail(Unsupported, r.b.where[answers.Name], "an answer to a request for input has to be a union whose members the reader knows by the key: "+
					"add {\"go\": %q, \"keyed\": {accessor: definition}} to \"unions\" in the overlay", answers.Elem)
			}
		case ir.TaskCreated:
			const why = "it is how a server says that it made a task"
			t := r.b.types[r.b.goName(taskCreated)]
			r.want(t, "task", isStructIn.must(&yes), true, why)
			if t != nil && r.err == nil {
				r.want(r.b.types[fieldOf(t, "task").Type.Name], "taskId", isString.must(&yes), true, why)
			}
		case ir.TaskByType:
			const why = "it is how a server says that it made a task"
			t, task := r.b.types[r.b.goName(taskCreated)], r.b.types["Task"]
			if !isStruct(t) || !isStruct(task) {
				r.fail(Unsupported, r.b.where[t.Name], "%s and Task have to be objects: %s", taskCreated, why)
				return
			}
			r.want(task, "taskId", isString.must(&yes), true, why)
			for _, f := range task.Fields {
				if have := fieldOf(t, f.JSON); have == nil || have.Required != f.Required || spell(&have.Type) != spell(&f.Type) {
					r.fail(Unsupported, r.b.where[t.Name], "%s has to have the member %q as Task has it: %s", taskCreated, f.JSON, why)
				}
			}
		}
	}
}

// feature checks the members that stubs of single methods use.
func (r *relied) feature(m *ir.Method) {
	p := r.b.types[m.Params]
	if res := r.b.types[m.Result]; !m.Notification {
		for i := 0; res != nil && res.Kind == ir.Alias && i < 16; i++ {
			res = r.b.types[res.Target]
		}
		if res == nil || res.Kind != ir.Struct && res.Kind != ir.KeyedRaw {
			r.fail(Unsupported, r.b.where[m.Result], "the result of %q has to be an object, or a union whose members the reader knows from the request", m.Name)
		}
	}
	switch m.Name {
	case "logging/setLevel":
		r.want(p, "level", isText.must(&yes), true, "the runtime keeps the level")
	case "resources/subscribe", "resources/unsubscribe":
		r.want(p, "uri", isString.must(&yes), true, "the runtime keeps the subscriptions")
	case "notifications/message":
		if m.Direction != ir.ClientToServer {
			r.want(p, "level", isLevel.must(&yes), true, "Log sets it")
			r.want(p, "data", isAny.must(&yes), true, "Log sets it")
		}
	}
	if m.Paginated {
		const why = "the iterator over all pages moves it"
		r.want(p, "cursor", isString.must(&no), true, why)
		r.want(r.b.types[m.Result], "nextCursor", isString.must(&no), true, why)
	}
}

// handshake checks initialize and server/discover.
func (r *relied) handshake() {
	for _, m := range r.pkg.Methods {
		if m.Name != "initialize" && m.Name != "server/discover" || m.Direction != ir.ClientToServer {
			continue
		}
		const why = "a connection begins with it"
		p, res := r.b.types[m.Params], r.b.types[m.Result]
		if !isStruct(p) || !isStruct(res) {
			r.fail(Unsupported, r.b.where[m.Params], "params and result of %q have to be objects: %s", m.Name, why)
			return
		}
		r.want(res, "capabilities", isServer.must(&yes), true, why)
		r.want(res, "protocolVersion", isString.must(&yes), false, why)
		r.want(res, "instructions", isString.must(&no), false, why)
		r.want(res, "serverInfo", isInfo.must(&yes), false, why)
		if f := fieldOf(res, "supportedVersions"); f != nil && (f.Type.Kind != ir.Slice || f.Type.Elem.Kind != ir.String) {
			r.fail(Unsupported, r.b.where[res.Name]+"/properties/supportedVersions", "the member %q has to be a list of strings: %s", f.JSON, why)
		}
		if f := fieldOf(res, "_meta"); f != nil && f.Type.Kind == ir.Named {
			r.want(r.b.types[f.Type.Name], "io.modelcontextprotocol/serverInfo", isInfo.must(&no), false, why)
		}
		if m.Name == "initialize" {
			r.want(p, "protocolVersion", isString.must(&yes), true, why)
			r.want(p, "capabilities", isCaps.must(&yes), true, why)
			r.want(p, "clientInfo", isInfo.must(&yes), true, why)
		}
	}
}

// capabilities checks that every capability can be advertised by a flag, a
// func, or a map of names, and be absent.
func (r *relied) capabilities(root *ir.Type, side string, t *ir.Type, prefix string, depth int) {
	for _, f := range t.Fields {
		if f.Const != "" {
			continue
		}
		ptr := r.b.where[t.Name] + "/properties/" + escape(f.JSON)
		path := prefix + f.JSON
		n := r.b.types[f.Type.Name]
		switch {
		case depth > 8:
			r.fail(Unsupported, ptr, "the %s capability %s is nested too deep", side, path)
			return
		case f.Required:
			r.fail(Unsupported, ptr, "the %s capability %s is required: what is advertised must be able to be absent", side, path)
		case f.Type.Kind == ir.Named && isStruct(n):
			r.capabilities(root, side, n, path+".", depth+1)
		case f.Type.Kind == ir.Bool || f.Type.Kind == ir.RawObject || f.Type.Kind == ir.Map && prefix == "":
		default:
			r.fail(Unsupported, ptr, "there is no rule for a capability of this form: it is an object, a boolean, or at the top a map of names to objects")
		}
	}
}

// names refuses capabilities and methods that want one name in the struct of a side.
func (r *relied) names(side string, caps *ir.Type, from ir.Direction, taken ...string) {
	names := map[string]string{}
	for _, n := range taken {
		names[n] = "the struct itself"
	}
	claim := func(name, what, ptr string) {
		if have := names[name]; have != "" {
			r.fail(Collision, ptr, "the name %s is wanted in %s by %s and by %s: add {\"at\": %q, \"go\": …} to \"names\" in the overlay to give the capability another", name, side, have, what, side+"Capabilities.…")
		}
		names[name] = what
	}
	pages := map[string]string{}
	for _, m := range r.pkg.Methods {
		if m.Direction == from || m.Lifecycle {
			continue
		}
		def := r.b.file.Definitions[m.Definition]
		claim(m.Go, fmt.Sprintf("the method %q", m.Name), def.Pointer)
		if m.Paginated {
			if have := pages[m.Items]; have != "" {
				r.fail(Collision, def.Pointer, "the iterator %s is wanted by %q and by %q", m.Items, have, m.Name)
			}
			pages[m.Items] = m.Name
		}
	}
	needed := func(path string) bool {
		return slices.ContainsFunc(r.pkg.Methods, func(m *ir.Method) bool {
			needs := m.Server
			if side == "Client" {
				needs = m.Client
			}
			return !m.Notification && !m.Lifecycle && m.Direction != from && slices.Contains(needs, path)
		})
	}
	var walk func(t *ir.Type, path, name string, depth int)
	walk = func(t *ir.Type, path, name string, depth int) {
		for _, f := range t.Fields {
			if f.Const != "" || depth > 8 {
				continue
			}
			switch {
			case f.Type.Kind == ir.Named && isStruct(r.b.types[f.Type.Name]):
				walk(r.b.types[f.Type.Name], path+f.JSON+".", name+f.Name, depth+1)
			case f.Type.Kind == ir.Map || !needed(path+f.JSON):
				claim(name+f.Name, "the capability "+path+f.JSON, r.b.where[t.Name]+"/properties/"+escape(f.JSON))
			}
		}
	}
	walk(caps, "", "", 0)
}
