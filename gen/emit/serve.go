package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// serve prints the conversions of whole servers and clients: each func that
// both sides have is wrapped.
func (p *stepPrinter) serve(f *jen.File) {
	type one struct {
		name    string
		answers ir.Direction // who sends what it does not answer
		peered  bool         // its handlers see a peer of their own revision
		o, n    *side
	}
	requests, notes := false, false
	for _, x := range []one{{name: "Server", answers: ir.ServerToClient, peered: !p.flows()}, {name: "Client", answers: ir.ClientToServer}} {
		x.o, x.n = p.o.side(x.name, x.answers), p.n.side(x.name, x.answers)
		if x.o == nil || x.n == nil {
			continue
		}
		for _, up := range []bool{true, false} {
			p.up = up
			from, to := x.o, x.n
			if !up {
				from, to = to, from
			}
			r, n := p.convertSide(f, from, to, x.peered)
			requests, notes = requests || r, notes || n
		}
	}
	if requests {
		p.callFunc(f)
	}
	if notes {
		p.tellFunc(f)
	}
}

// flows says whether how the two revisions converse is another: then a person
// joins them, and the wrapped funcs are a part of that.
func (p *stepPrinter) flows() bool { return p.s.Older.Stateless != p.s.Newer.Stateless }

// method finds the request or notification of the same name.
func method(list []*ir.Method, name string) *ir.Method {
	for _, m := range list {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// converters names the functions for a type in both directions, "" if it is
// not converted: what comes in goes the other way than the side itself.
func (p *stepPrinter) converter(up bool, g *printer, name string) *ir.Way {
	ways, t := p.s.Down, g.typ(name)
	if up {
		ways = p.s.Up
	}
	for _, w := range ways {
		if w.From == t {
			return w
		}
	}
	return nil
}

// convertSide prints UpgradeServer and its like.
func (p *stepPrinter) convertSide(f *jen.File, from, to *side, peered bool) (requests, notes bool) {
	exported, _, hand := p.verb()
	fg, tg := p.sides()
	name := exported + from.name
	from_, to_ := fg.p.Revision, tg.p.Revision
	what := map[string]string{"Server": "server", "Client": "client"}[from.name]
	text := fmt.Sprintf("%s makes a %s of revision %s of one of %s: it has the funcs that both revisions have, and they convert what they are given and what they give. ", name, what, to_, from_)
	if p.flows() {
		text += "What only one of the two has is not joined to anything here, and what the other side is asked while a func runs is not converted. "
	} else if peered {
		text += fmt.Sprintf("Inside of them Peer(ctx) is that of %s. ", from_)
	}
	text += "How is up to the wire.Env of the context."
	docf(f, "%s", text)
	as := "as" + map[bool]string{true: "Newer", false: "Older"}[p.up]
	peer := jen.Code(jen.Nil())
	if peered {
		peer = jen.Op("&").Id(as)
	}
	f.Func().Id(name).Params(jen.Id("in").Add(p.src(from.name))).Add(p.dst(to.name)).BlockFunc(func(b *jen.Group) {
		b.Id("out").Op(":=").Add(p.dst(to.name)).ValuesFunc(func(v *jen.Group) {
			if from.name == "Server" {
				v.Line().Id("Instructions").Op(":").Add(in("Instructions"))
			}
			for _, n := range from.flags {
				if slices.ContainsFunc(to.flags, func(m *capNode) bool { return m.flag == n.flag }) {
					v.Line().Id(n.flag).Op(":").Add(in(n.flag))
				}
			}
			for _, n := range from.tree {
				if n.extras && slices.ContainsFunc(to.tree, func(m *capNode) bool { return m.extras && m.path == n.path }) {
					v.Line().Id(n.field.Name).Op(":").Add(in(n.field.Name))
				}
			}
			if p.unknownHere(from, to, false) == nil {
				v.Line().Id("Unknown").Op(":").Add(in("Unknown"))
			}
			if p.unknownHere(from, to, true) == nil {
				v.Line().Id("UnknownNotification").Op(":").Add(in("UnknownNotification"))
			}
			v.Line().Id("Options").Op(":").Add(in("Options"))
			if from.name == "Server" {
				v.Line().Id("Hub").Op(":").Add(in("Hub"))
			}
			v.Line()
		})
		if w := p.converter(p.up, fg, "Implementation"); w != nil {
			b.If(
				jen.List(jen.Id("info"), jen.Err()).Op(":=").Id(p.exported(w)).Call(jen.Op("&").Add(in("Info")), jen.Nil()), jen.Err().Op("==").Nil(),
			).Block(out("Info").Op("=").Op("*").Id("info"))
		}
		for _, m := range from.reqs {
			t := method(to.reqs, m.Name)
			if t == nil {
				continue
			}
			pw, rw := p.converter(!p.up, tg, t.Params), p.converter(p.up, fg, m.Result)
			if pw == nil || rw == nil || pw.To != fg.typ(m.Params) || rw.To != tg.typ(t.Result) {
				continue // a rule keeps the types apart, or a person joins them
			}
			requests = true
			p.up = !p.up
			params := p.exported(pw)
			p.up = !p.up
			b.If(jen.Id("f").Op(":=").Add(in(m.Go)), jen.Id("f").Op("!=").Nil()).Block(
				out(t.Go).Op("=").Func().Params(ctx(), jen.Id("p").Add(p.paramsType(tg, t))).Params(jen.Op("*").Qual(p.path(tg), t.Result), jen.Error()).BlockFunc(func(b *jen.Group) {
					args := []jen.Code{jen.Id("ctx"), peer, jen.Qual(p.path(fg), m.Const), jen.Id("p"), jen.Id(params), jen.Id("f"), jen.Id(p.exported(rw))}
					if p.flows() {
						args = append(args, jen.Id(exported+"Error"))
					}
					b.Return(jen.Id("call").Call(args...))
				}),
			)
		}
		for _, m := range from.notes {
			t := method(to.notes, m.Name)
			if t == nil {
				continue
			}
			pw := p.converter(!p.up, tg, t.Params)
			if pw == nil || pw.To != fg.typ(m.Params) {
				continue
			}
			notes = true
			p.up = !p.up
			params := p.exported(pw)
			p.up = !p.up
			b.If(jen.Id("f").Op(":=").Add(in(m.Go)), jen.Id("f").Op("!=").Nil()).Block(
				out(t.Go).Op("=").Func().Params(ctx(), jen.Id("p").Add(p.paramsType(tg, t))).Error().Block(
					jen.Return(jen.Id("tell").Call(jen.Id("ctx"), peer, jen.Qual(p.path(fg), m.Const), jen.Id("p"), jen.Id(params), jen.Id("f"))),
				),
			)
		}
		for _, notes := range []bool{false, true} {
			p.guard(b, from, to, notes)
		}
		for _, h := range p.s.Hand {
			if h.Side == from.name && h.Up == p.up {
				b.Id(hand+from.name).Call(jen.Op("&").Id("in"), jen.Op("&").Id("out"))
			}
		}
		b.Return(jen.Id("out"))
	})
	if !peered {
		return requests, notes
	}
	// the handlers are of the revision from, their client speaks to
	client := "UpgradeClient"
	if p.up {
		client = "DowngradeClient"
	}
	f.Line()
	f.Comment(comment(fmt.Sprintf("%s is how a handler of revision %s sees a client of %s.", as, from_, to_)))
	if tg.p.Stateless { // nobody asks a client while a request is handled
		f.Var().Id(as).Op("=").Add(jsonrpc("As")).Values(jen.Id("Revision").Op(":").Qual(p.path(fg), "Revision"))
		return requests, notes
	}
	f.Var().Id(as).Op("=").Add(jsonrpc("As")).Values(
		jen.Line().Id("Revision").Op(":").Qual(p.path(fg), "Revision"),
		jen.Line().Id("Client").Op(":").Func().Params(ctx()).Add(jsonrpc("Binder")).Block(
			jen.Return(jen.Id(client).Call(jen.Qual(p.path(tg), "Peer").Call(jen.Id("ctx")).Dot("Client").Call())),
		),
		jen.Line(),
	)
	return requests, notes
}

func (p *stepPrinter) paramsType(g *printer, m *ir.Method) jen.Code {
	if g.unionParams(m) {
		return jen.Qual(p.path(g), m.Params)
	}
	return jen.Op("*").Qual(p.path(g), m.Params)
}

// unknownHere are the messages that the revision of from names, and that are
// unknown to the one of to: they never reached the func for unknown ones.
func (p *stepPrinter) unknownHere(from, to *side, notes bool) []*ir.Method {
	fg, tg := p.sides()
	var out []*ir.Method
	for _, m := range fg.p.Methods {
		if m.Notification == notes && m.Direction != from.from && tg.methods[m.Name] == nil {
			out = append(out, m)
		}
	}
	return out
}

// guard keeps such messages away from that func.
func (p *stepPrinter) guard(b *jen.Group, from, to *side, notes bool) {
	fg, _ := p.sides()
	known := p.unknownHere(from, to, notes)
	if known == nil {
		return
	}
	field := "Unknown"
	results := []jen.Code{wire("Raw"), jen.Error()}
	refuse := jen.Return(jen.Nil(), jsonrpc("NewError").Call(jsonrpc("CodeMethodNotFound"), jen.Lit("method not found: ").Op("+").Id("method")))
	pass := jen.Return(jen.Id("f").Call(jen.Id("ctx"), jen.Id("method"), jen.Id("params")))
	if notes {
		field, results, refuse = "UnknownNotification", nil, jen.Return()
		pass = jen.Id("f").Call(jen.Id("ctx"), jen.Id("method"), jen.Id("params"))
	}
	b.If(jen.Id("f").Op(":=").Add(in(field)), jen.Id("f").Op("!=").Nil()).Block(
		out(field).Op("=").Func().Params(ctx(), jen.Id("method").String(), jen.Id("params").Add(wire("Raw"))).Params(results...).Block(
			jen.Switch(jen.Id("method")).Block(jen.CaseFunc(func(c *jen.Group) {
				for _, m := range known {
					c.Qual(p.path(fg), m.Const)
				}
			}).Block(jen.Comment("// "+fg.p.Revision+" knows it, so it is not unknown there"), refuse)),
			pass,
		),
	)
}

// callFunc prints what all wrapped requests call.
func (p *stepPrinter) callFunc(f *jen.File) {
	types := []jen.Code{jen.List(jen.Id("P"), jen.Id("R"), jen.Id("Q"), jen.Id("S")).Any()}
	params := []jen.Code{
		jen.Line().Add(ctx()), jen.Id("as").Op("*").Add(jsonrpc("As")), jen.Id("method").String(), jen.Id("p").Id("P"),
		jen.Line().Id("params").Func().Params(jen.Id("P"), jen.Op("*").Add(wire("Env"))).Params(jen.Id("Q"), jen.Error()),
		jen.Line().Id("f").Func().Params(jen.Qual("context", "Context"), jen.Id("Q")).Params(jen.Id("S"), jen.Error()),
		jen.Line().Id("result").Func().Params(jen.Id("S"), jen.Op("*").Add(wire("Env"))).Params(jen.Id("R"), jen.Error()),
	}
	failed := jen.Return(jen.Id("none"), jen.Err())
	if p.flows() {
		params = append(params, jen.Line().Id("failure").Func().Params(jen.String(), jen.Error()).Error())
		failed = jen.Return(jen.Id("none"), jen.Id("failure").Call(jen.Id("method"), jen.Err()))
	}
	doc(f, wrap("call calls a handler of one revision with the params of the other, and converts its result back. The handler sees its client by as, if that is not nil.")...)
	f.Func().Id("call").Types(types...).Params(append(params, jen.Line())...).Params(jen.Id("none").Id("R"), jen.Err().Error()).Block(
		jen.Id("e").Op(":=").Add(wire("EnvFor")).Call(jen.Id("ctx")),
		jen.List(jen.Id("q"), jen.Err()).Op(":=").Id("params").Call(jen.Id("p"), jen.Id("e")),
		jen.Id("e").Dot("Report").Call(jen.Id("method"), jen.Lit("params")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("none"), jsonrpc("Errorf").Call(jsonrpc("CodeInvalidParams"), jen.Lit("%w"), wire("Under").Call(jen.Lit("params"), jen.Err())))),
		jen.If(jen.Id("as").Op("!=").Nil()).Block(jen.Id("ctx").Op("=").Add(jsonrpc("WithPeer")).Call(jen.Id("ctx"), jen.Id("as"), jen.Id("q"))),
		jen.List(jen.Id("s"), jen.Err()).Op(":=").Id("f").Call(jen.Id("ctx"), jen.Id("q")),
		jen.If(jen.Err().Op("!=").Nil()).Block(failed),
		jen.List(jen.Id("r"), jen.Err()).Op(":=").Id("result").Call(jen.Id("s"), jen.Id("e")),
		jen.Id("e").Dot("Report").Call(jen.Id("method"), jen.Lit("result")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Id("none"), jsonrpc("Errorf").Call(jsonrpc("CodeInternalError"), jen.Lit("%w"), wire("Under").Call(jen.Lit("result"), jen.Err())))),
		jen.Return(jen.Id("r"), jen.Nil()),
	)
}

// tellFunc prints what all wrapped notifications call.
func (p *stepPrinter) tellFunc(f *jen.File) {
	doc(f, wrap("tell is call for a notification.")...)
	f.Func().Id("tell").Types(jen.List(jen.Id("P"), jen.Id("Q")).Any()).Params(
		jen.Line().Add(ctx()), jen.Id("as").Op("*").Add(jsonrpc("As")), jen.Id("method").String(), jen.Id("p").Id("P"),
		jen.Line().Id("params").Func().Params(jen.Id("P"), jen.Op("*").Add(wire("Env"))).Params(jen.Id("Q"), jen.Error()),
		jen.Line().Id("f").Func().Params(jen.Qual("context", "Context"), jen.Id("Q")).Error(),
		jen.Line(),
	).Error().Block(
		jen.Id("e").Op(":=").Add(wire("EnvFor")).Call(jen.Id("ctx")),
		jen.List(jen.Id("q"), jen.Err()).Op(":=").Id("params").Call(jen.Id("p"), jen.Id("e")),
		jen.Id("e").Dot("Report").Call(jen.Id("method"), jen.Lit("params")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jsonrpc("Errorf").Call(jsonrpc("CodeInvalidParams"), jen.Lit("%w"), wire("Under").Call(jen.Lit("params"), jen.Err())))),
		jen.If(jen.Id("as").Op("!=").Nil()).Block(jen.Id("ctx").Op("=").Add(jsonrpc("WithPeer")).Call(jen.Id("ctx"), jen.Id("as"), jen.Id("q"))),
		jen.Return(jen.Id("f").Call(jen.Id("ctx"), jen.Id("q"))),
	)
}
