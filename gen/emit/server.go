package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// side is one end of the wire, as its struct of funcs is printed.
type side struct {
	name  string // "Server"
	from  ir.Direction
	caps  string // type of its capabilities
	tree  []*capNode
	flags []*capNode // leaves that no func stands for
	reqs  []*ir.Method
	notes []*ir.Method
	life  *ir.Method // initialize or server/discover
	exts  []*extNode
}

// extNode is an extension, as a side declares it: by the funcs that it brings,
// or by a flag where it brings none.
type extNode struct {
	*ir.Extension
	funcs []*ir.Method
	flag  string
}

// path is its capability.
func (e *extNode) path() string { return "extensions." + e.ID }

// capNode is one member of a capabilities type, at any depth.
type capNode struct {
	path   string // "tools.listChanged"
	field  *ir.Field
	typ    string       // Go type of the node when it is a struct
	funcs  []*ir.Method // requests that stand for it
	flag   string       // Go name of the field that says so, when no func does
	gated  []*ir.Method // methods that need it for some params
	kids   []*capNode   // members
	parent *capNode     // nil at the top
	extras bool         // a map that the user fills: experimental, extensions
}

// side collects what one side's struct holds. It is nil when the revision has
// no capabilities type for it.
func (g *printer) side(name string, sends ir.Direction) *side {
	s := &side{name: name, from: sends, caps: name + "Capabilities"}
	t := g.types[s.caps]
	if t == nil || t.Kind != ir.Struct || g.types["Implementation"] == nil {
		return nil
	}
	for _, m := range g.p.Methods {
		if m.Direction == sends { // what this side sends it does not answer
			continue
		}
		switch {
		case m.Lifecycle:
		case m.Notification:
			s.notes = append(s.notes, m)
		default:
			s.reqs = append(s.reqs, m)
		}
	}
	for _, m := range []string{"initialize", "server/discover"} {
		if s.life == nil && sends == ir.ServerToClient {
			s.life = g.methods[m]
		}
	}
	s.tree = g.capTree(s, t, nil)
	for _, e := range g.p.Extensions {
		n := &extNode{Extension: e}
		for _, m := range s.reqs {
			if m.Extension == e.ID {
				n.funcs = append(n.funcs, m)
			}
		}
		if len(n.funcs) == 0 {
			n.flag = e.Name
		}
		s.exts = append(s.exts, n)
	}
	return s
}

// outcomesOf are the methods that may give something of an extension.
func (g *printer) outcomesOf(e *ir.Extension) []*ir.Method {
	var out []*ir.Method
	for _, m := range g.p.Methods {
		if has(m, ir.TaskByType) && g.typ("CreateTaskResult").Extension == e.ID {
			out = append(out, m)
		}
	}
	return out
}

// tasksBy is the notification of tasks that clients listen for, nil if there is none.
func (g *printer) tasksBy() *ir.Method {
	if m := g.methods["notifications/tasks"]; m != nil && m.Extension != "" && g.methods["subscriptions/listen"] != nil {
		return m
	}
	return nil
}

func (g *printer) capTree(s *side, t *ir.Type, parent *capNode) []*capNode {
	var out []*capNode
	for _, f := range fields(t) {
		n := &capNode{path: f.JSON, field: f, parent: parent}
		if parent != nil {
			n.path = parent.path + "." + f.JSON
		}
		for _, m := range s.reqs {
			for _, p := range s.needs(m) {
				if p == n.path {
					n.funcs = append(n.funcs, m)
				}
			}
			for _, gate := range m.Gates {
				if gate.Path == n.path && gate.Server == (s.from == ir.ServerToClient) {
					n.gated = append(n.gated, m)
				}
			}
		}
		switch f.Type.Kind {
		case ir.Named:
			n.typ = f.Type.Name
			n.kids = g.capTree(s, g.typ(f.Type.Name), n)
		case ir.Map:
			n.extras = true
		case ir.Bool, ir.RawObject:
			if len(n.funcs) == 0 {
				n.flag = flagName(n)
				s.flags = append(s.flags, n)
			}
		default:
			g.fail("%s.%s: no rule for a capability of this type", t.Name, f.Name)
		}
		out = append(out, n)
	}
	return out
}

// needs are the capabilities of this side that a request needs.
func (s *side) needs(m *ir.Method) []string {
	if s.from == ir.ServerToClient {
		return m.Server
	}
	return m.Client
}

func flagName(n *capNode) string {
	if n.parent == nil {
		return n.field.Name
	}
	return flagName(n.parent) + n.field.Name
}

// serverFile prints Server, what is known of the client inside its handlers,
// and the server's end of the handshake.
func (g *printer) serverFile(f *jen.File) {
	s := g.side("Server", ir.ServerToClient)
	if s == nil {
		return
	}
	docf(f, "Server is the server's side of revision %s as a struct of funcs, one for each request and notification. To be a server, fill it and "+
		"serve it. A nil func means that the method is not found and its capability is not advertised. Funcs may be called from several "+
		"goroutines at once.", g.p.Revision)
	f.Type().Id("Server").StructFunc(func(b *jen.Group) {
		b.Id("Info").Id("Implementation").Comment("// what this server is")
		b.Id("Instructions").String().Comment("// how to use it, for the client's model; \"\" for none")
		b.Line()
		g.funcFields(b, s)
		b.Line()
		g.flagFields(b, s)
		if g.methods["subscriptions/listen"] != nil {
			b.Line()
			doc(b, wrap("AllowURI may refuse a resource that a client wants to hear of; nil allows all.")...)
			b.Id("AllowURI").Func().Params(ctx(), jen.Id("uri").String()).Bool()
		}
		if m := g.tasksBy(); m != nil {
			doc(b, wrap("AllowTask says whether a client may hear of a task by "+m.Name+", which Hub and Peer send; nil: there are no such notifications.")...)
			b.Id("AllowTask").Func().Params(ctx(), jen.Id("taskID").String()).Bool()
		}
		b.Line()
		g.commonFields(b)
		doc(b, wrap("Hub tells clients of changes from outside of handlers; nil makes one of its own for each Bind.")...)
		b.Id("Hub").Op("*").Add(jsonrpc("Hub"))
	})
	g.capabilitiesFunc(f, s)
	g.checkFunc(f, s)
	g.serverBind(f, s)
	g.peer(f, s)
}

// funcFields prints the func fields of a side.
func (g *printer) funcFields(b *jen.Group, s *side) {
	for i, m := range s.reqs {
		if i > 0 {
			b.Line()
		}
		doc(b, g.stubDoc(m.Go, m)...)
		if s.emptyList(m) {
			doc(b, wrap("While the funcs of its capability are set, nil answers an empty list.")...)
		}
		b.Id(m.Go).Add(g.requestFunc(m))
	}
	for _, m := range s.notes {
		b.Line()
		doc(b, g.stubDoc(m.Go, m)...)
		b.Id(m.Go).Func().Params(jen.Qual("context", "Context"), g.paramsType(m)).Error()
	}
}

// requestFunc is the type of a request's func.
func (g *printer) requestFunc(m *ir.Method) jen.Code {
	return jen.Func().Params(jen.Qual("context", "Context"), g.paramsType(m)).Params(jen.Op("*").Id(m.Result), jen.Error())
}

// paramsType is how params are passed: a pointer to a struct, or a union.
func (g *printer) paramsType(m *ir.Method) jen.Code {
	if g.unionParams(m) {
		return jen.Id(m.Params)
	}
	return jen.Op("*").Id(m.Params)
}

func (g *printer) unionParams(m *ir.Method) bool {
	return g.typ(m.Params).Kind == ir.Union
}

func (g *printer) flagFields(b *jen.Group, s *side) {
	for _, n := range s.flags {
		text := n.flag + " advertises the capability " + n.path + "."
		for _, m := range n.gated {
			for _, gate := range m.Gates {
				switch {
				case gate.Path != n.path || !g.refuses(s, m, gate):
				case gate.OrEmpty:
					text += " So does " + n.parent.path + " without any members."
				default:
					text += " Without it, " + m.Name + " that needs it is refused."
				}
			}
		}
		doc(b, deprecated(wrap(text), n.field.Deprec)...)
		b.Id(n.flag).Bool()
	}
	for _, n := range s.tree {
		if n.extras {
			doc(b, wrap(n.field.Name+" is advertised as it is, by name; values are objects.")...)
			b.Id(n.field.Name).Add(g.goType(&n.field.Type))
		}
	}
	for _, e := range s.exts {
		if e.flag == "" {
			continue
		}
		text := e.flag + " declares the extension " + e.ID + " with every request."
		for _, m := range g.outcomesOf(e.Extension) {
			text += " " + m.Go + " may then give a *TaskCreated in place of the result."
		}
		doc(b, wrap(text)...)
		b.Id(e.flag).Bool()
	}
}

// declared is the condition that a side declares an extension.
func (s *side) declared(e *extNode) *jen.Statement {
	if e.flag != "" {
		return s.recv().Dot(e.flag)
	}
	return s.isSet(e.funcs[0]) // the check holds that all or none are set
}

func (g *printer) commonFields(b *jen.Group) {
	doc(b, wrap("Unknown answers requests of methods that this revision does not name; nil answers that there is no such method.")...)
	b.Id("Unknown").Func().Params(ctx(), jen.Id("method").String(), jen.Id("params").Add(wire("Raw"))).Params(wire("Raw"), jen.Error())
	doc(b, wrap("UnknownNotification gets notifications that this revision does not name; nil drops them.")...)
	b.Id("UnknownNotification").Func().Params(ctx(), jen.Id("method").String(), jen.Id("params").Add(wire("Raw")))
	doc(b, wrap("Options are the limits of the connections.")...)
	b.Id("Options").Add(jsonrpc("Options"))
}

// emptyList says whether a list of a capability that has another list may do
// without a func: resources without templates.
func (s *side) emptyList(m *ir.Method) bool {
	if !m.Paginated || len(s.needs(m)) != 1 {
		return false
	}
	for _, o := range s.reqs {
		if o != m && o.Paginated && len(s.needs(o)) == 1 && s.needs(o)[0] == s.needs(m)[0] && len(o.Name) < len(m.Name) {
			return true
		}
	}
	return false
}

func (s *side) recv() *jen.Statement { return jen.Id(strings.ToLower(s.name[:1])) }

func (s *side) recvParam() jen.Code { return s.recv().Id(s.name) }

func (s *side) isSet(m *ir.Method) *jen.Statement { return s.recv().Dot(m.Go).Op("!=").Nil() }

// given is the condition that a node is advertised.
func (s *side) given(n *capNode) *jen.Statement {
	var conds []*jen.Statement
	for _, m := range n.funcs {
		if !s.emptyList(m) {
			conds = append(conds, s.isSet(m))
			break // the check holds that all or none are set
		}
	}
	if n.flag != "" {
		conds = append(conds, s.recv().Dot(n.flag))
	}
	if len(n.funcs) == 0 {
		for _, k := range n.kids {
			conds = append(conds, s.given(k))
		}
	}
	if len(conds) == 0 {
		return jen.False()
	}
	out := conds[0]
	for _, c := range conds[1:] {
		out = out.Op("||").Add(c)
	}
	return out
}

// capabilitiesFunc prints what a side advertises, derived from its funcs and
// flags.
func (g *printer) capabilitiesFunc(f *jen.File, s *side) {
	docf(f, "Capabilities is what Bind advertises: it follows from the funcs and flags that are set.")
	f.Func().Params(s.recvParam()).Id("Capabilities").Params().Id(s.caps).BlockFunc(func(b *jen.Group) {
		b.Var().Id("out").Id(s.caps)
		for _, n := range s.tree {
			g.fillCap(b, s, n, jen.Id("out"), "")
		}
		b.Return(jen.Id("out"))
	})
}

// fillCap prints how one node is advertised. known is the condition that holds
// already.
func (g *printer) fillCap(b *jen.Group, s *side, n *capNode, in *jen.Statement, known string) {
	target := in.Clone().Dot(n.field.Name)
	if n.extras {
		b.Add(target.Clone().Op("=").Add(s.recv()).Dot(n.field.Name))
		if n.path == "extensions" {
			for _, e := range s.exts {
				b.If(s.declared(e)).Block(target.Clone().Op("=").Add(jsonrpc("WithExtension")).Call(target, jen.Lit(e.ID)))
			}
		}
		return
	}
	cond := s.given(n)
	fill := func(b *jen.Group) {
		switch {
		case n.typ != "":
			b.Add(target.Clone().Op("=").New(jen.Id(n.typ)))
			for _, k := range n.kids {
				g.fillCap(b, s, k, target, cond.GoString())
			}
		case n.field.Type.Kind == ir.Bool:
			b.Add(target.Clone().Op("=").New(jen.True()))
		default:
			b.Add(target.Clone().Op("=").Add(wire("Raw")).Call(jen.Lit("{}")))
		}
	}
	if cond.GoString() == known {
		fill(b)
		return
	}
	b.If(cond).BlockFunc(fill)
}

// checkFunc prints what Bind refuses: half a capability, flags without funcs.
func (g *printer) checkFunc(f *jen.File, s *side) {
	fn := func(name string, set jen.Code) jen.Code {
		return jen.Values(jen.Id("Name").Op(":").Lit(name), jen.Id("Set").Op(":").Add(set))
	}
	funcs := func(ms []*ir.Method, empty bool) []jen.Code {
		var out []jen.Code
		for _, m := range ms {
			if s.emptyList(m) == empty {
				out = append(out, fn(m.Go, s.isSet(m)))
			}
		}
		return out
	}
	var rows []jen.Code
	var walk func(nodes []*capNode)
	walk = func(nodes []*capNode) {
		for _, n := range nodes {
			all := funcs(n.funcs, false)
			ask := funcs(n.funcs, true)
			if n.flag != "" {
				ask = append(ask, fn(n.flag, s.recv().Dot(n.flag)))
			}
			var need []jen.Code
			if len(all)+len(ask) > 0 {
				for p := n.parent; p != nil; p = p.parent {
					need = append(need, funcs(p.funcs, false)...)
				}
				for _, m := range n.gated {
					if !contains(n.parent, m) {
						need = append(need, fn(m.Go, s.isSet(m)))
					}
				}
			}
			if len(all) > 1 || len(need) > 0 || len(all) > 0 && len(ask) > 0 {
				rows = append(rows, jen.Line().Add(jsonrpc("Feature")).ValuesFunc(func(v *jen.Group) {
					v.Id("Capability").Op(":").Lit(n.path)
					list := func(name string, l []jen.Code) {
						if len(l) > 0 {
							v.Id(name).Op(":").Index().Add(jsonrpc("Part")).Values(l...)
						}
					}
					list("All", all)
					list("Asks", ask)
					list("Needs", need)
				}))
			}
			walk(n.kids)
		}
	}
	walk(s.tree)
	for _, e := range s.exts {
		if e.flag != "" {
			continue
		}
		asks := []jen.Code{fn(fmt.Sprintf("Extensions[%q]", e.ID), s.recv().Dot("Extensions").Index(jen.Lit(e.ID)).Op("!=").Nil())}
		if m := g.tasksBy(); m != nil && m.Extension == e.ID {
			asks = append(asks, fn("AllowTask", s.recv().Dot("AllowTask").Op("!=").Nil()))
		}
		rows = append(rows, jen.Line().Add(jsonrpc("Feature")).ValuesFunc(func(v *jen.Group) {
			v.Id("Capability").Op(":").Lit(e.path())
			v.Id("All").Op(":").Index().Add(jsonrpc("Part")).Values(funcs(e.funcs, false)...)
			v.Id("Asks").Op(":").Index().Add(jsonrpc("Part")).Values(asks...)
			if by := funcs(g.outcomesOf(e.Extension), false); len(by) > 0 {
				v.Id("Needs").Op(":").Index().Add(jsonrpc("Part")).Values(by...)
			}
		}))
	}
	docf(f, "check refuses half a capability, and flags whose funcs are missing.")
	f.Func().Params(s.recvParam()).Id("check").Params().Error().BlockFunc(func(b *jen.Group) {
		if len(rows) == 0 {
			b.Return(jen.Nil())
			return
		}
		b.Return(jsonrpc("CheckFeatures").Call(append(append([]jen.Code{jen.Lit(s.name)}, rows...), jen.Line())...))
	})
}

// contains says whether a node or one above it has the func.
func contains(n *capNode, m *ir.Method) bool {
	for ; n != nil; n = n.parent {
		for _, f := range n.funcs {
			if f == m {
				return true
			}
		}
	}
	return false
}

// bindStart prints the beginning of Bind: check, service.
func (g *printer) bindStart(b *jen.Group, s *side, more ...jen.Code) {
	b.Add(try(s.recv().Dot("check").Call(), jen.Nil()))
	b.Id("capabilities").Op(":=").Add(s.recv()).Dot("Capabilities").Call()
	side := "ServerSide"
	if s.from == ir.ClientToServer {
		side = "ClientSide"
	}
	options := []jen.Code{
		jen.Line().Id("Revision").Op(":").Id("Revision"),
	}
	if g.p.Stateless {
		options = append(options, jen.Line().Id("Stateless").Op(":").True())
	}
	options = append(options,
		jen.Line().Id("Side").Op(":").Add(jsonrpc(side)),
		jen.Line().Id("Methods").Op(":").Id("Methods"),
		jen.Line().Id("Capabilities").Op(":").Op("&").Id("capabilities"),
		jen.Line().Id("Info").Op(":").Op("&").Add(s.recv()).Dot("Info"),
		jen.Line().Id("Unknown").Op(":").Add(s.recv()).Dot("Unknown"),
		jen.Line().Id("UnknownNotification").Op(":").Add(s.recv()).Dot("UnknownNotification"),
		jen.Line().Id("Options").Op(":").Add(s.recv()).Dot("Options"),
	)
	options = append(options, more...)
	b.Id("svc").Op(":=").Add(jsonrpc("NewService")).Call(jsonrpc("ServiceOptions").Values(append(options, jen.Line())...))
}

// register prints the registration of every func.
func (g *printer) register(b *jen.Group, s *side) {
	handle := func(m *ir.Method, fn jen.Code) jen.Code {
		return jsonrpc("HandleRequest").Call(jen.Id("svc"), jen.Id(m.Const), fn)
	}
	for _, m := range s.reqs {
		fn := s.recv().Dot(m.Go)
		first := append(g.declared(s, m), g.dropTask(s, m)...)
		allowNil := func(fn *jen.Statement) *jen.Statement {
			if res := g.typ(m.Result); res.Kind == ir.Struct && acknowledges(res) {
				return jsonrpc("AllowNil").Call(fn)
			}
			return fn
		}
		wrapped := g.wrapped(m)
		if !wrapped { // AllowNil takes params that are structs
			fn = allowNil(fn)
		}
		switch {
		case wrapped:
			b.If(s.isSet(m)).Block(handle(m, allowNil(jen.Func().Params(ctx(), jen.Id("p").Op("*").Id(wrapperName(g.typ(m.Params)))).
				Params(jen.Op("*").Id(m.Result), jen.Error()).Block(
				append(first, jen.Return(fn.Clone().Call(jen.Id("ctx"), g.unwrapped(m))))...,
			))))
		case len(first) > 0:
			b.If(s.isSet(m)).Block(handle(m, jen.Func().Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Params(jen.Op("*").Id(m.Result), jen.Error()).Block(
				append(first, jen.Return(fn.Clone().Call(jen.Id("ctx"), jen.Id("p"))))...,
			)))
		case s.emptyList(m):
			b.If(fn.Clone().Op("==").Nil().Op("&&").Add(s.isSet(s.mainList(m)))).Block(
				fn.Clone().Op("=").Func().Params(jen.Id("_").Qual("context", "Context"), jen.Id("p").Add(g.paramsType(m))).Params(jen.Op("*").Id(m.Result), jen.Error()).BlockFunc(func(b *jen.Group) {
					if cursor := field(g.typ(m.Params), "cursor"); cursor != nil {
						b.If(jen.Id("p").Dot(cursor.Name).Op("!=").Nil()).Block( // nobody was given one
							jen.Return(jen.Nil(), jsonrpc("NewError").Call(jsonrpc("CodeInvalidParams"), jen.Lit("params.cursor: no such cursor"))),
						)
					}
					b.Return(jen.New(jen.Id(m.Result)), jen.Nil())
				}),
			)
			b.Add(handle(m, fn))
		case after[m.Name] != nil:
			b.Add(handle(m, jsonrpc("Then").Call(fn, jen.Func().Params(ctx(), jen.Id("p").Op("*").Id(m.Params)).Block(
				after[m.Name](jsonrpc("PeerOf").Call(jen.Id("ctx")), jen.Id("p")),
			))))
		default:
			b.Add(handle(m, fn))
		}
	}
	for _, m := range s.notes {
		fn := s.recv().Dot(m.Go)
		if g.wrapped(m) {
			b.If(s.isSet(m)).Block(jsonrpc("HandleNotification").Call(jen.Id("svc"), jen.Id(m.Const),
				jen.Func().Params(ctx(), jen.Id("p").Op("*").Id(wrapperName(g.typ(m.Params)))).Error().Block(
					jen.Return(fn.Call(jen.Id("ctx"), g.unwrapped(m))),
				)))
			continue
		}
		b.Add(jsonrpc("HandleNotification").Call(jen.Id("svc"), jen.Id(m.Const), fn))
	}
	b.Return(jen.Id("svc"), jen.Nil())
}

// dropTask is what passes over the task member of params where the side does
// not declare tasks for the method; nil for methods that know no tasks. The
// params are the handler's own, so they may be changed.
func (g *printer) dropTask(s *side, m *ir.Method) []jen.Code {
	if !has(m, ir.TaskCreated) {
		return nil
	}
	for _, gate := range m.Gates {
		if gate.Server != (s.from == ir.ServerToClient) || !slices.Equal(gate.Members, []string{"task"}) {
			continue
		}
		for _, n := range s.flags {
			if n.path != gate.Path {
				continue
			}
			t := g.typ(m.Params)
			drop := jen.Id("p").Dot(capital("task")).Op("=").Nil()
			if t.Kind == ir.Union {
				name := "drop" + t.Name + "Task"
				g.armsFuncs[name] = func(f *jen.File) { g.dropFunc(f, name, t, "task") }
				drop = jen.Id(name).Call(g.unwrapped(m))
			}
			return []jen.Code{jen.If(jen.Op("!").Add(s.recv()).Dot(n.flag)).Block(
				jen.Comment("a task is passed over where none is declared"),
				drop,
			)}
		}
	}
	return nil
}

// dropFunc prints what clears an optional member of any arm of params.
func (g *printer) dropFunc(f *jen.File, name string, t *ir.Type, member string) {
	f.Line()
	f.Func().Id(name).Params(jen.Id("p").Id(t.Name)).Block(
		jen.Switch(jen.Id("p").Op(":=").Id("p").Assert(jen.Type())).BlockFunc(func(b *jen.Group) {
			for _, a := range t.Arms {
				if fl := field(g.typ(a.Type), member); fl != nil && !fl.Required {
					b.Case(jen.Op("*").Id(a.Type)).Block(jen.Id("p").Dot(fl.Name).Op("=").Nil())
				}
			}
		}),
	)
}

// acknowledges says whether a result has nothing in it but that it is one: no
// required member, or none that the encoder does not fill in.
func acknowledges(t *ir.Type) bool {
	return !slices.ContainsFunc(t.Fields, func(f *ir.Field) bool { return f.Required && (f.Default == nil || !f.Default.Zero) })
}

// mainList is the list that a capability has besides m.
func (s *side) mainList(m *ir.Method) *ir.Method {
	for _, o := range s.reqs {
		if o != m && o.Paginated && len(s.needs(o)) == 1 && s.needs(o)[0] == s.needs(m)[0] && !s.emptyList(o) {
			return o
		}
	}
	return m
}

// after is what the runtime has to hear of when a request has succeeded.
var after = map[string]func(peer *jen.Statement, p *jen.Statement) jen.Code{
	"logging/setLevel": func(peer, p *jen.Statement) jen.Code {
		return peer.Dot("SetLogLevel").Call(jen.String().Call(p.Dot("Level")))
	},
	"resources/subscribe": func(peer, p *jen.Statement) jen.Code {
		return peer.Dot("Subscribe").Call(p.Dot("URI"))
	},
	"resources/unsubscribe": func(peer, p *jen.Statement) jen.Code {
		return peer.Dot("Unsubscribe").Call(p.Dot("URI"))
	},
}

func (g *printer) serverBind(f *jen.File, s *side) {
	docf(f, "Bind makes the service of this server. It refuses half a capability (CallTool without ListTools) and flags whose funcs are missing. "+
		"What it returns does not see later changes of s.")
	f.Func().Params(s.recvParam()).Id("Bind").Params().Params(jsonrpc("Chooser"), jen.Error()).BlockFunc(func(b *jen.Group) {
		more := []jen.Code{jen.Line().Id("Hub").Op(":").Add(s.recv()).Dot("Hub")}
		if g.methods["subscriptions/listen"] != nil {
			more = append(more, jen.Line().Id("Listen").Op(":").Add(jsonrpc("ListenOptions")).ValuesFunc(func(v *jen.Group) {
				for _, l := range [][2]string{
					{"ToolsListChanged", "tools.listChanged"}, {"PromptsListChanged", "prompts.listChanged"},
					{"ResourcesListChanged", "resources.listChanged"}, {"ResourceUpdates", "resources.subscribe"},
				} {
					for _, n := range s.flags {
						if n.path == l[1] {
							v.Line().Id(l[0]).Op(":").Add(s.recv()).Dot(n.flag)
						}
					}
				}
				v.Line().Id("AllowURI").Op(":").Add(s.recv()).Dot("AllowURI")
				if g.tasksBy() != nil {
					v.Line().Id("AllowTask").Op(":").Add(s.recv()).Dot("AllowTask")
				}
				v.Line()
			}))
		}
		g.bindStart(b, s, more...)
		if s.life != nil {
			g.handshake(b, s)
		}
		g.register(b, s)
	})
}

// handshake prints the answer to initialize or server/discover.
func (g *printer) handshake(b *jen.Group, s *side) {
	m := s.life
	res := g.typ(m.Result)
	b.Add(jsonrpc("HandleRequest").Call(jen.Id("svc"), jen.Id(m.Const),
		jen.Func().Params(jen.Qual("context", "Context"), g.paramsType(m)).Params(jen.Op("*").Id(m.Result), jen.Error()).BlockFunc(func(b *jen.Group) {
			b.Id("r").Op(":=").Op("&").Id(m.Result).ValuesFunc(func(v *jen.Group) {
				v.Id("Capabilities").Op(":").Id("capabilities")
				if field(res, "supportedVersions") != nil {
					v.Id("SupportedVersions").Op(":").Index().String().Values(jen.Id("Revision"))
				}
				if field(res, "protocolVersion") != nil {
					v.Id("ProtocolVersion").Op(":").Id("Revision")
				}
				if field(res, "serverInfo") != nil {
					v.Id("ServerInfo").Op(":").Add(s.recv()).Dot("Info")
				}
			})
			if field(res, "instructions") != nil {
				b.If(s.recv().Dot("Instructions").Op("!=").Lit("")).Block(
					jen.Id("r").Dot("Instructions").Op("=").Op("&").Add(s.recv()).Dot("Instructions"),
				)
			}
			b.Return(jen.Id("r"), jen.Nil())
		})))
}

// hubMethods are the notifications that go to all who want them.
var hubMethods = map[string]string{
	"notifications/tools/list_changed":     "ToolsListChanged",
	"notifications/prompts/list_changed":   "PromptsListChanged",
	"notifications/resources/list_changed": "ResourcesListChanged",
	"notifications/resources/updated":      "ResourceUpdated",
}

// peer prints the client as a server's handlers see it.
func (g *printer) peer(f *jen.File, s *side) {
	const name = "RemoteClient"
	recv := jen.Id("c").Id(name)
	c := jen.Id("c")
	docf(f, "%s is the client whose request or notification is being handled: the embedded value reports progress and knows what the message said, "+
		"the methods send what belongs to that message. Outside of a handler they fail with jsonrpc.ErrNoPeer.", name)
	f.Type().Id(name).Struct(jsonrpc("Peer"))
	docf(f, "Peer is the client whose message the handler that ctx belongs to is handling.")
	f.Func().Id("Peer").Params(ctx()).Id(name).Block(jen.Return(jen.Id(name).Values(jsonrpc("PeerOf").Call(jen.Id("ctx")))))
	g.peerFacts(f, recv, c)
	g.peerClient(f, recv, c)
	for _, e := range g.p.Extensions {
		docf(f, "%s reports whether the client declared the extension %s with the message: only then it may be answered with what belongs to it.", e.Name, e.ID)
		f.Func().Params(recv).Id(e.Name).Params().Bool().Block(
			jen.Id("v").Op(":=").Add(c).Dot("Capabilities").Call(),
			jen.Return(jen.Id("v").Op("!=").Nil().Op("&&").Id("v").Dot("Extensions").Index(jen.Lit(e.ID)).Op("!=").Nil()),
		)
	}
	for _, m := range g.p.Methods {
		if m.Direction == ir.ClientToServer || m.Embedded || m.Notification && m.Lifecycle {
			continue
		}
		if m.Notification {
			g.peerNotify(f, recv, c, m)
			continue
		}
		g.callStub(f, recv, c.Clone().Dot("Conn").Call(), m)
		if m.Paginated {
			g.pages(f, recv, c, m)
		}
	}
}

// peerClient prints the client as a struct of funcs.
func (g *printer) peerClient(f *jen.File, recv, c *jen.Statement) {
	client := g.side("Client", ir.ClientToServer)
	if client == nil || g.p.Stateless { // there a client is asked by other means
		return
	}
	docf(f, "Client is the client as a Client: what it said of itself, and funcs for what it advertises that call it. Progress, log messages and changes of lists are not "+
		"among them, as they belong to the message being handled.")
	f.Func().Params(recv).Id("Client").Params().Id("Client").BlockFunc(func(b *jen.Group) {
		out := jen.Id("out")
		b.Var().Add(out).Id("Client")
		b.If(jen.Id("info").Op(":=").Add(c).Dot("Info").Call(), jen.Id("info").Op("!=").Nil()).Block(out.Clone().Dot("Info").Op("=").Op("*").Id("info"))
		b.Id("conn").Op(":=").Add(c).Dot("Conn").Call()
		b.Id("caps").Op(":=").Add(c).Dot("Capabilities").Call()
		b.If(jen.Id("conn").Op("==").Nil().Op("||").Id("caps").Op("==").Nil()).Block(jen.Return(out))
		for _, n := range client.flags {
			b.Add(out.Clone().Dot(n.flag).Op("=").Add(g.capGiven(n, jen.Id("caps"))))
		}
		for _, n := range client.tree {
			if n.extras {
				b.Add(out.Clone().Dot(n.field.Name).Op("=").Id("caps").Dot(n.field.Name))
			}
		}
		for _, m := range client.reqs {
			b.If(jen.Id("conn").Dot("Advertised").Call(jen.Id(m.Const))).Block(out.Clone().Dot(m.Go).Op("=").Add(c).Dot(m.Go))
		}
		for _, m := range client.notes {
			if hubMethods[m.Name] == "" && m.Name != "notifications/message" {
				b.Add(out.Clone().Dot(m.Go).Op("=").Add(c).Dot(m.Go))
			}
		}
		b.Add(out.Clone().Dot("Unknown").Op("=").Func().Params(ctx(), jen.Id("method").String(), jen.Id("params").Add(wire("Raw"))).Params(wire("Raw"), jen.Error()).Block(
			jen.Return(jsonrpc("CallRaw").Call(jen.Id("ctx"), jen.Id("conn"), jen.Id("method"), jen.Id("params"))),
		))
		b.Return(out)
	})
}

// peerFacts prints what is known of the client.
func (g *printer) peerFacts(f *jen.File, recv, c *jen.Statement) {
	for _, fact := range []struct{ name, typ, meta, session string }{
		{"Info", "Implementation", "ClientInfo", "Info"},
		{"Capabilities", "ClientCapabilities", "ClientCapabilities", "Capabilities"},
	} {
		what := map[string]string{"Info": "the client is", "Capabilities": "the client can do"}[fact.name]
		docf(f, "%s is what %s by its own word, nil if it did not say.", fact.name, what)
		f.Func().Params(recv).Id(fact.name).Params().Op("*").Id(fact.typ).BlockFunc(func(b *jen.Group) {
			if g.p.Stateless {
				b.List(jen.Id("v"), jen.Id("_")).Op(":=").Add(c).Dot("Metadata").Call().Dot(fact.meta).Assert(jen.Op("*").Id(fact.typ))
				b.Return(jen.Id("v"))
				return
			}
			b.Id("conn").Op(":=").Add(c).Dot("Conn").Call()
			b.If(jen.Id("conn").Op("==").Nil()).Block(jen.Return(jen.Nil()))
			b.Id("raw").Op(":=").Id("conn").Dot("Session").Call().Dot(fact.session)
			b.Id("v").Op(":=").New(jen.Id(fact.typ))
			b.If(jen.Id("raw").Op("==").Nil().Op("||").Add(wire("Decode")).Call(jen.Id("raw"), wire("Options").Values(jen.Id("Lenient").Op(":").True()), jen.Id("v")).Op("!=").Nil()).Block(jen.Return(jen.Nil()))
			b.Return(jen.Id("v"))
		})
	}
}

func (g *printer) peerNotify(f *jen.File, recv, c *jen.Statement, m *ir.Method) {
	peer := c.Clone().Dot("Peer")
	dep := m.Deprec
	switch hub := hubMethods[m.Name]; {
	case m == g.tasksBy():
		doc(f, deprecated(wrap(m.Go+" sends "+m.Name+" to all that listen for the task."), dep)...)
		f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Error().Block(
			jen.Return(peer.Dot("TaskStatus").Call(jen.Id("ctx"), jen.Id("p").Dot(field(g.typ(m.Params), "taskId").Name), jen.Id("p"))),
		)
	case hub == "ResourceUpdated":
		doc(f, deprecated(wrap(m.Go+" says that a resource changed, to whoever asked to hear of it."), dep)...)
		f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("uri").String()).Error().Block(jen.Return(peer.Dot(hub).Call(jen.Id("ctx"), jen.Id("uri"))))
	case hub != "":
		doc(f, deprecated(wrap(m.Go+" sends "+m.Name+", in stateless revisions to all that listen for it."), dep)...)
		f.Func().Params(recv).Id(m.Go).Params(ctx()).Error().Block(jen.Return(peer.Dot(hub).Call(jen.Id("ctx"))))
	case m.Name == "notifications/message":
		doc(f, deprecated(wrap(m.Go+" sends "+m.Name+" if the client asked for messages of this level."), dep)...)
		f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Error().Block(
			jen.Return(peer.Clone().Dot("Log").Call(jen.Id("ctx"), jen.String().Call(jen.Id("p").Dot("Level")), jen.Id("p"))),
		)
		doc(f, deprecated(wrap("Log sends a text as "+m.Name+" if the client asked for messages of this level."), dep)...)
		f.Func().Params(recv).Id("Log").Params(ctx(), jen.Id("level").Id("LoggingLevel"), jen.Id("text").String()).Error().Block(
			jen.Return(c.Clone().Dot(m.Go).Call(jen.Id("ctx"), jen.Op("&").Id(m.Params).Values(
				jen.Id("Level").Op(":").Id("level"), jen.Id("Data").Op(":").Add(wire("Quote")).Call(jen.Id("text")),
			))),
		)
	default:
		doc(f, deprecated(methodDoc(m, m.Go+" sends "+m.Name+"."), dep)...)
		f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Error().Block(
			jen.Return(peer.Clone().Dot("Notify").Call(jen.Id("ctx"), jen.Id(m.Const), g.appender(m, jen.Id("p")))),
		)
	}
}
