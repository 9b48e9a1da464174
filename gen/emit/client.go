package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// clientFile prints Client, Connect, and the server as a client sees it.
func (g *printer) clientFile(f *jen.File) {
	s := g.side("Client", ir.ClientToServer)
	server := g.side("Server", ir.ServerToClient)
	if s == nil || server == nil {
		return
	}
	docf(f, "Client is the client's side of revision %s: a struct of funcs for what the server may ask and tell. The zero value is a client that "+
		"can be asked nothing. Funcs may be called from several goroutines at once.", g.p.Revision)
	f.Type().Id("Client").StructFunc(func(b *jen.Group) {
		b.Id("Info").Id("Implementation").Comment("// what this client is")
		b.Line()
		g.funcFields(b, s)
		b.Line()
		g.flagFields(b, s)
		b.Line()
		g.commonFields(b)
	})
	g.capabilitiesFunc(f, s)
	g.checkFunc(f, s)
	docf(f, "Bind makes the service of this client. It refuses flags whose funcs are missing.")
	f.Func().Params(s.recvParam()).Id("Bind").Params().Params(jsonrpc("Chooser"), jen.Error()).BlockFunc(func(b *jen.Group) {
		g.bindStart(b, s)
		g.register(b, s)
	})
	if server.life != nil {
		g.connect(f, s, server)
	}
}

func (g *printer) connect(f *jen.File, s, server *side) {
	m := server.life
	how := "makes the initialize handshake"
	if g.p.Stateless {
		how = "asks what the server offers (server/discover)"
	}
	docf(f, "Connect dials a server, %s and returns the server. It fails with a *jsonrpc.VersionError when the server does not speak revision %s. "+
		"In the end the server has to be closed.", how, g.p.Revision)
	f.Func().Id("Connect").Params(ctx(), jen.Id("d").Add(jsonrpc("Dialer")), s.recvParam()).Params(jen.Op("*").Id("RemoteServer"), jen.Error()).BlockFunc(func(b *jen.Group) {
		b.List(jen.Id("conn"), jen.Err()).Op(":=").Add(jsonrpc("Dial")).Call(jen.Id("ctx"), jen.Id("d"), s.recv())
		b.Add(ifErr(jen.Nil()))
		b.Return(jen.Id("Join").Call(jen.Id("ctx"), jen.Id("conn"), s.recv()))
	})
	docf(f, "Join is Connect over a connection that is open and has made no handshake yet; %s must be what it was made with.", s.recv().GoString())
	f.Func().Id("Join").Params(ctx(), jen.Id("conn").Op("*").Add(jsonrpc("Conn")), s.recvParam()).Params(jen.Op("*").Id("RemoteServer"), jen.Error()).BlockFunc(func(b *jen.Group) {
		call := "Initialize"
		params := jen.Op("&").Id(m.Params).ValuesFunc(func(v *jen.Group) {
			if !g.p.Stateless {
				v.Id("ProtocolVersion").Op(":").Id("Revision")
				v.Id("Capabilities").Op(":").Add(s.recv()).Dot("Capabilities").Call()
				v.Id("ClientInfo").Op(":").Add(s.recv()).Dot("Info")
			}
		})
		if g.p.Stateless {
			call = "Discover"
			b.Id("capabilities").Op(":=").Add(s.recv()).Dot("Capabilities").Call()
			b.Id("conn").Dot("SetMetadata").Call(jsonrpc("Metadata").Values(
				jen.Id("ProtocolVersion").Op(":").Id("Revision"),
				jen.Id("ClientInfo").Op(":").Op("&").Add(s.recv()).Dot("Info"),
				jen.Id("ClientCapabilities").Op(":").Op("&").Id("capabilities"),
			))
		}
		b.List(jen.Id("res"), jen.Err()).Op(":=").Add(jsonrpc(call)).Index(jen.Id(m.Result)).Call(jen.Id("ctx"), jen.Id("conn"), params)
		b.Add(ifErr(jen.Nil()))
		b.Id("r").Op(":=").Op("&").Id("RemoteServer").Values(jen.Id("Capabilities").Op(":").Id("res").Dot("Capabilities"), jen.Id("conn").Op(":").Id("conn"))
		b.Id("r").Dot("fill").Call(jen.Id("res"))
		b.Return(jen.Id("r"), jen.Nil())
	})
	docf(f, "Join is the function Join with c as the client.")
	f.Func().Params(s.recvParam()).Id("Join").Params(ctx(), jen.Id("conn").Op("*").Add(jsonrpc("Conn"))).Params(jen.Op("*").Id("RemoteServer"), jen.Error()).Block(
		jen.Return(jen.Id("Join").Call(jen.Id("ctx"), jen.Id("conn"), s.recv())),
	)
	g.remoteServer(f, server)
}

// remoteServer prints the server as a client sees it.
func (g *printer) remoteServer(f *jen.File, s *side) {
	const name = "RemoteServer"
	recv := jen.Id("r").Op("*").Id(name)
	r := jen.Id("r")
	m := s.life
	res := g.typ(m.Result)
	docf(f, "%s is a server on the other end of a connection. Its methods call it; a method that the server does not advertise fails with "+
		"jsonrpc.ErrNotAdvertised. All methods may be called from several goroutines at once.", name)
	again := "Server holds what the server said of itself, and funcs only for what it advertises, so that it can be served again as it is: progress and " +
		"cancellation go through, and errors as the server made them. "
	if g.p.Stateless {
		again += "Changes go through while a Listen for them is open; compat.Server opens what its clients ask for. A request for input that the Client has no func for goes to the client that is served."
	} else {
		again += "Its Hub passes changes and log messages on. What the server asks reaches the funcs of the Client, which cannot know for which of several " +
			"clients it is. To ask the client that is served, connect a RemoteServer for each, wrap the funcs that may lead to questions so that they keep " +
			"their ctx, and let the Client's funcs ask Peer(ctx)."
	}
	f.Type().Id(name).StructFunc(func(b *jen.Group) {
		doc(b, wrap(again)...)
		b.Id("Server")
		b.Comment("// Capabilities is what the server advertises.")
		b.Id("Capabilities").Id(s.caps)
		b.Id("conn").Op("*").Add(jsonrpc("Conn"))
	})
	docf(f, "fill sets the embedded Server to what the server offers.")
	f.Func().Params(recv).Id("fill").Params(jen.Id("res").Op("*").Id(m.Result)).BlockFunc(func(b *jen.Group) {
		srv := r.Clone().Dot("Server")
		if field(res, "serverInfo") != nil {
			b.Add(srv.Clone().Dot("Info").Op("=").Id("res").Dot("ServerInfo"))
		} else if meta := field(res, "_meta"); meta != nil && res.MetaOf != "" && field(g.typ(res.MetaOf), "io.modelcontextprotocol/serverInfo") != nil {
			said := jen.Id("res").Dot(meta.Name).Dot("ServerInfo").Op("!=").Nil()
			if !meta.Required {
				said = jen.Id("res").Dot(meta.Name).Op("!=").Nil().Op("&&").Add(said)
			}
			b.If(said).Block(
				srv.Clone().Dot("Info").Op("=").Op("*").Id("res").Dot(meta.Name).Dot("ServerInfo"),
			)
		}
		if field(res, "instructions") != nil {
			b.If(jen.Id("res").Dot("Instructions").Op("!=").Nil()).Block(srv.Clone().Dot("Instructions").Op("=").Op("*").Id("res").Dot("Instructions"))
		}
		for _, n := range s.tree {
			if n.extras {
				b.Add(srv.Clone().Dot(n.field.Name).Op("=").Id("res").Dot("Capabilities").Dot(n.field.Name))
			}
		}
		for _, n := range s.flags {
			b.Add(srv.Clone().Dot(n.flag).Op("=").Add(g.capGiven(n, jen.Id("res").Dot("Capabilities"))))
		}
		for _, req := range s.reqs {
			b.If(r.Clone().Dot("conn").Dot("Advertised").Call(jen.Id(req.Const))).Block(srv.Clone().Dot(req.Go).Op("=").Add(r).Dot(req.Go))
		}
		for _, e := range s.exts {
			if e.flag == "" { // what the client does not declare cannot be passed on
				b.If(srv.Clone().Dot(e.funcs[0].Go).Op("==").Nil()).Block(
					srv.Clone().Dot("Extensions").Op("=").Add(jsonrpc("WithoutExtension")).Call(srv.Clone().Dot("Extensions"), jen.Lit(e.ID)),
				)
			}
		}
		for _, n := range s.notes {
			b.Add(srv.Clone().Dot(n.Go).Op("=").Add(r).Dot(n.Go))
		}
		b.Add(srv.Clone().Dot("Hub").Op("=").Add(r).Dot("conn").Dot("Hub").Call())
		b.Add(srv.Clone().Dot("Unknown").Op("=").Func().Params(ctx(), jen.Id("method").String(), jen.Id("params").Add(wire("Raw"))).Params(wire("Raw"), jen.Error()).Block(
			jen.Return(jsonrpc("CallRaw").Call(jen.Id("ctx"), r.Clone().Dot("conn"), jen.Id("method"), jen.Id("params"))),
		))
	})
	docf(f, "Conn is the connection to the server.")
	f.Func().Params(recv).Id("Conn").Params().Op("*").Add(jsonrpc("Conn")).Block(jen.Return(r.Clone().Dot("conn")))
	docf(f, "Revision is what both sides speak.")
	f.Func().Params(recv).Id("Revision").Params().String().Block(jen.Return(r.Clone().Dot("conn").Dot("Session").Call().Dot("Revision")))
	docf(f, "Close closes the connection in good order, bounded in time. Calls that wait fail.")
	f.Func().Params(recv).Id("Close").Params().Error().Block(jen.Return(r.Clone().Dot("conn").Dot("Close").Call(jen.Qual("context", "Background").Call())))
	for _, m := range g.p.Methods {
		if m.Direction == ir.ServerToClient || m == s.life && !g.p.Stateless || m.Name == "subscriptions/listen" || m.Notification && m.Lifecycle {
			continue
		}
		if m.Notification {
			doc(f, deprecated(methodDoc(m, m.Go+" sends "+m.Name+"."), m.Deprec)...)
			f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Error().Block(
				jen.Return(jsonrpc("Notify").Call(jen.Id("ctx"), r.Clone().Dot("conn"), jen.Id(m.Const), g.appender(m, jen.Id("p")))),
			)
			continue
		}
		g.callStub(f, recv, r.Clone().Dot("conn"), m)
		if m.Paginated {
			g.pages(f, recv, r, m)
		}
	}
	if m := g.methods["subscriptions/listen"]; m != nil {
		g.listen(f, recv, r, m)
	}
}

// capGiven is the condition that capabilities hold a node.
func (g *printer) capGiven(n *capNode, caps *jen.Statement) *jen.Statement {
	v := caps.Clone()
	out := jen.Null()
	var chain []*capNode
	for p := n; p != nil; p = p.parent {
		chain = append([]*capNode{p}, chain...)
	}
	for i, p := range chain {
		v = v.Clone().Dot(p.field.Name)
		if i > 0 {
			out.Op("&&")
		}
		out.Add(v.Clone().Op("!=").Nil())
	}
	if n.field.Type.Kind == ir.Bool {
		out.Op("&&").Op("*").Add(v)
	}
	return out
}

// callStub prints a method that makes one request.
func (g *printer) callStub(f *jen.File, recv, conn *jen.Statement, m *ir.Method) {
	doc(f, deprecated(g.callDoc(m), m.Deprec)...)
	f.Func().Params(recv).Id(m.Go).Params(ctx(), jen.Id("p").Add(g.paramsType(m))).Params(jen.Op("*").Id(m.Result), jen.Error()).BlockFunc(func(b *jen.Group) {
		g.gates(b, conn, m)
		p := jen.Code(jen.Id("p"))
		if g.wrapped(m) {
			p = jen.Id(wrapName(g.typ(m.Params))).Call(jen.Id("p"))
		}
		call := func(fn string, types ...jen.Code) *jen.Statement {
			return jsonrpc(fn).Index(jen.List(types...)).Call(jen.Id("ctx"), conn, jen.Id(m.Const), p)
		}
		switch {
		case has(m, ir.InputRequired) && has(m, ir.TaskByType):
			b.Return(call("CallRoundsTask", jen.Id(m.Result), jen.Id("InputRequiredError"), jen.Id("TaskCreated")))
		case has(m, ir.InputRequired):
			b.Return(call("CallRounds", jen.Id(m.Result), jen.Id("InputRequiredError")))
		case has(m, ir.TaskCreated):
			b.If(g.memberSet(m, "task")).Block(jen.Return(call("CallTask", jen.Id(m.Result), jen.Id("TaskCreated"))))
			b.Return(call("CallTyped", jen.Id(m.Result)))
		default:
			b.Return(call("CallTyped", jen.Id(m.Result)))
		}
	})
}

// methodDoc is a method's own text, or the fact if there is none.
func methodDoc(m *ir.Method, fact string) []string {
	if len(m.Doc) > 0 {
		return append([]string(nil), m.Doc...)
	}
	return wrap(fact)
}

// callDoc is the comment of a method that makes a request.
func (g *printer) callDoc(m *ir.Method) []string {
	lines := methodDoc(m, m.Go+" calls "+m.Name+".")
	switch {
	case has(m, ir.InputRequired):
		lines = append(append(lines, ""), wrap("What the server asks for meanwhile is answered by the funcs of the Client; when there is none for it, the error is an *InputRequiredError.")...)
		if has(m, ir.TaskByType) {
			lines = append(append(lines, ""), wrap("When the Client declares tasks the error may be a *TaskCreated: the server goes on with the call as a task.")...)
		}
	case has(m, ir.TaskCreated):
		lines = append(append(lines, ""), wrap("When the params ask for a task the error may be a *TaskCreated.")...)
	}
	return lines
}

// memberSet is the condition that an optional member of params is there: of
// any arm when the params are a union.
func (g *printer) memberSet(m *ir.Method, member string) *jen.Statement {
	t := g.typ(m.Params)
	if t.Kind != ir.Union {
		fl := field(t, member)
		if fl == nil || fl.Required {
			g.fail("%s has no optional member %s", t.Name, member)
			return jen.False()
		}
		cond := jen.Id("p").Dot(fl.Name).Op("!=").Nil()
		if fl.Type.Kind == ir.ID {
			cond = jen.Op("!").Id("p").Dot(fl.Name).Dot("IsZero").Call()
		}
		return jen.Id("p").Op("!=").Nil().Op("&&").Add(cond)
	}
	return g.hasMember(t, member).Call(jen.Id("p"))
}

// hasMember names the function that says whether any arm of a union has an
// optional member; it is printed when it is used.
func (g *printer) hasMember(t *ir.Type, member string) *jen.Statement {
	g.armsFuncs[hasName(t, member)] = func(f *jen.File) { g.hasFunc(f, t, member) }
	return jen.Id(hasName(t, member))
}

func hasName(t *ir.Type, member string) string { return "has" + t.Name + capital(member) }

// gates prints the checks of capabilities that only some params need.
func (g *printer) gates(b *jen.Group, conn *jen.Statement, m *ir.Method) {
	if m.Lifecycle || m.Direction == ir.ClientToServer && g.p.Stateless {
		return
	}
	for _, gate := range m.Gates {
		if gate.Advice || gate.Server != (m.Direction == ir.ClientToServer) {
			continue
		}
		b.If(g.asks(m, gate, jen.Id("p"))).Block(try(jsonrpc("RequireCapability").Call(conn, jen.Id(m.Const), jen.Lit(gate.Path), jen.Lit(gate.OrEmpty)), jen.Nil()))
	}
}

// asks is the condition that params need the capability of a gate; union is what
// holds them where they are a union.
func (g *printer) asks(m *ir.Method, gate *ir.Gate, union jen.Code) (cond *jen.Statement) {
	t := g.typ(m.Params)
	switch {
	case len(gate.Values) > 0 && t.Kind == ir.Union && t.Plan.Key == gate.Members[0]:
		return g.isArm(t, gateArms(t, gate)).Call(union)
	case len(gate.Values) > 0:
		g.fail("%s: no rule for the gate %s", m.Name, gate.Path)
		return jen.False()
	}
	for _, member := range gate.Members {
		one := g.memberSet(m, member)
		if cond == nil {
			cond = one
		} else {
			cond = cond.Op("||").Add(one)
		}
	}
	return cond
}

// refuses says whether a client refuses what needs a capability that it did not
// declare. A task is passed over instead, and what stateless revisions embed is
// checked by the runtime.
func (g *printer) refuses(s *side, m *ir.Method, gate *ir.Gate) bool {
	return s.from == ir.ClientToServer && !m.Embedded && !gate.Advice && !gate.Server && !slices.Equal(gate.Members, []string{"task"})
}

// declared prints the checks that a client declared what the params of a request
// ask for, before its func is called.
func (g *printer) declared(s *side, m *ir.Method) (checks []jen.Code) {
	for _, gate := range m.Gates {
		if !g.refuses(s, m, gate) {
			continue
		}
		checks = append(checks, jen.If(g.asks(m, gate, g.unwrapped(m))).Block(
			try(jen.Id("svc").Dot("RequireDeclared").Call(jen.Lit(gate.Path), jen.Lit(gate.OrEmpty)), jen.Nil())))
	}
	return checks
}

// gateArms are the arms of params that a gate means.
func gateArms(t *ir.Type, gate *ir.Gate) []string {
	want := map[string]bool{}
	for _, c := range t.Plan.Cases {
		if slices.Contains(gate.Values, c.Value) {
			want[c.Type] = true
		}
	}
	if gate.Absent && t.Plan.Absent != "" {
		want[t.Plan.Absent] = true
	}
	return sorted(want)
}

// isArm names the function that says whether params are one of the arms; it is
// printed when it is used.
func (g *printer) isArm(t *ir.Type, arms []string) *jen.Statement {
	name := "is" + strings.Join(arms, "Or")
	g.armsFuncs[name] = func(f *jen.File) {
		f.Line()
		f.Func().Id(name).Params(jen.Id("p").Id(t.Name)).Bool().Block(
			jen.Switch(jen.Id("p").Assert(jen.Type())).Block(
				jen.CaseFunc(func(c *jen.Group) {
					for _, n := range arms {
						c.Op("*").Id(n)
					}
				}).Block(jen.Return(jen.True())),
			),
			jen.Return(jen.False()),
		)
	}
	return jen.Id(name)
}

// hasFunc prints whether any arm of params has an optional member.
func (g *printer) hasFunc(f *jen.File, t *ir.Type, member string) {
	f.Line()
	f.Func().Id(hasName(t, member)).Params(jen.Id("p").Id(t.Name)).Bool().Block(
		jen.Switch(jen.Id("p").Op(":=").Id("p").Assert(jen.Type())).BlockFunc(func(b *jen.Group) {
			for _, a := range t.Arms {
				fl := field(g.typ(a.Type), member)
				if fl == nil || fl.Required || fl.Type.Kind == ir.ID {
					continue
				}
				b.Case(jen.Op("*").Id(a.Type)).Block(jen.Return(jen.Id("p").Op("!=").Nil().Op("&&").Id("p").Dot(fl.Name).Op("!=").Nil()))
			}
		}),
		jen.Return(jen.False()),
	)
}

// pages prints the iterator over all items of a paginated list.
func (g *printer) pages(f *jen.File, recv, r *jen.Statement, m *ir.Method) {
	next, cursor := field(g.typ(m.Result), "nextCursor"), field(g.typ(m.Params), "cursor")
	if next == nil || cursor == nil {
		g.fail("%s is paginated, but nextCursor or cursor is missing", m.Name)
		return
	}
	doc(f, deprecated(wrap(m.Items+" goes over all items of "+m.Name+", page by page from p's cursor on; p may be nil. It ends with an error when a call fails, "+
		"when a cursor comes twice, and at the bounds of jsonrpc.Pages."), m.Deprec)...)
	f.Func().Params(recv).Id(m.Items).Params(ctx(), jen.Id("p").Op("*").Id(m.Params)).Qual("iter", "Seq2").Index(jen.List(jen.Op("*").Id(m.Item), jen.Error())).Block(
		jen.Return(jsonrpc("Pages").Call(
			jen.Id("ctx"), jen.Id("p"), r.Clone().Dot(m.Go),
			jen.Line().Func().Params(jen.Id("res").Op("*").Id(m.Result)).Index().Id(m.Item).Block(jen.Return(jen.Id("res").Dot(m.Items))),
			jen.Line().Func().Params(jen.Id("res").Op("*").Id(m.Result)).Op("*").String().Block(jen.Return(jen.Id("res").Dot(next.Name))),
			jen.Line().Func().Params(jen.Id("p").Op("*").Id(m.Params), jen.Id("cursor").Op("*").String()).Block(jen.Id("p").Dot(cursor.Name).Op("=").Id("cursor")),
		)),
	)
}

// listen prints the subscription to change notifications.
func (g *printer) listen(f *jen.File, recv, r *jen.Statement, m *ir.Method) {
	docf(f, "Listen opens a subscription (%s): the funcs of the Client get what the server tells. p.Notifications says what is asked for; what the server "+
		"honours stands in the stream. Close it to end the subscription.", m.Name)
	f.Func().Params(recv).Id("Listen").Params(ctx(), jen.Id("p").Op("*").Id(m.Params)).Params(jen.Op("*").Add(jsonrpc("Subscription")), jen.Error()).Block(
		jen.Return(jsonrpc("Listen").Index(jen.Id(m.Params)).Call(jen.Id("ctx"), r.Clone().Dot("conn"), jen.Id("p"), jen.Nil())),
	)
}
