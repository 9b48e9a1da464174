package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// envelopesFile prints whole messages as types, for programs that look at
// messages without being a party to them.
func (g *printer) envelopesFile(f *jen.File) {
	var requests, notes []*ir.Method
	for _, m := range g.p.Methods {
		switch {
		case m.Embedded || m.Params == "":
		case m.Notification:
			notes = append(notes, m)
		default:
			requests = append(requests, m)
		}
	}
	if len(requests)+len(notes) == 0 {
		return
	}
	g.messageTypes(f)
	for _, m := range requests {
		g.requestEnvelope(f, m)
	}
	for _, m := range notes {
		g.noteEnvelope(f, m)
	}
	g.decodeFunc(f, requests, notes)
}

func (g *printer) messageTypes(f *jen.File) {
	docf(f, "Message is a whole message: a request or notification of this revision, *UnknownRequest, *UnknownNotification, or an answer.")
	f.Type().Id("Message").Interface(wire("Appender"), jen.Id("isMessage").Params())
	docf(f, "Request is a Message that wants an answer.")
	f.Type().Id("Request").Interface(
		jen.Id("Message"),
		jen.Comment("// DecodeResponse reads the answer to this very request."),
		jen.Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Message"), jen.Error()),
	)
	for _, u := range []struct{ name, what string }{
		{"UnknownRequest", "a request of a method that this revision does not name"},
		{"UnknownNotification", "a notification of a method that this revision does not name"},
		{"Response", "an answer whose request is not known"},
	} {
		docf(f, "%s is %s, as it came.", u.name, u.what)
		f.Type().Id(u.name).Struct(jsonrpc("Envelope"))
		f.Line()
		f.Func().Params(jen.Op("*").Id(u.name)).Id("isMessage").Params().Block()
	}
	docf(f, "DecodeResponse reads an answer as it came.")
	f.Func().Params(jen.Op("*").Id("UnknownRequest")).Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Message"), jen.Error()).Block(
		jen.List(jen.Id("e"), jen.Err()).Op(":=").Id("responseEnvelope").Call(jen.Id("f")),
		ifErr(jen.Nil()),
		jen.Return(jen.Op("&").Id("Response").Values(jen.Op("*").Id("e")), jen.Nil()),
	)
	doc(f, "responseEnvelope takes an answer apart.")
	f.Func().Id("responseEnvelope").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Op("*").Add(jsonrpc("Envelope")), jen.Error()).Block(
		jen.List(jen.Id("e"), jen.Err()).Op(":=").Add(jsonrpc("ParseEnvelope")).Call(jen.Id("f").Dot("Data")),
		jen.If(jen.Err().Op("==").Nil().Op("&&").Op("!").Id("e").Dot("IsResponse").Call()).Block(
			jen.Err().Op("=").Op("&").Add(wire("Error")).Values(jen.Id("Kind").Op(":").Add(wire("ErrValue")), jen.Id("Path").Op(":").Lit("method"), jen.Id("Msg").Op(":").Lit("not an answer")),
		),
		jen.Return(jen.Id("e"), jen.Err()),
	)
	doc(f, "appenderOf keeps a nil pointer from becoming an Appender that is not nil.")
	f.Func().Id("appenderOf").Types(jen.Id("T").Any(), jen.Id("P").Interface(jen.Op("*").Id("T"), wire("Appender"))).Params(jen.Id("p").Id("P")).Add(wire("Appender")).Block(
		jen.If(jen.Id("p").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("p")),
	)
}

// paramsArg is x.Params as an Appender that is nil when they are absent.
func (g *printer) paramsArg(m *ir.Method) jen.Code { return g.appender(m, x().Dot("Params")) }

// appender is a method's params p as an Appender that is nil when they are absent.
func (g *printer) appender(m *ir.Method, p *jen.Statement) jen.Code {
	if g.unionParams(m) {
		return p
	}
	return jen.Id("appenderOf").Call(p)
}

func (g *printer) requestEnvelope(f *jen.File, m *ir.Method) {
	name, answer := m.Go+"Request", m.Go+"Response"
	anchor := g.place(m.Definition)
	doc(f, envelopeDoc(m, name+" is a whole request of "+m.Name+".", anchor)...)
	f.Type().Id(name).Struct(jen.Id("ID").Add(jsonrpc("ID")).Comment("// the client's or server's choice, unique while the request runs"), jen.Id("Params").Add(g.paramsType(m)).Comment(comment(requiredWord(m))))
	f.Line()
	f.Func().Params(jen.Op("*").Id(name)).Id("isMessage").Params().Block()
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(jsonrpc("AppendRequest").Call(buf(), x().Dot("ID"), jen.Id(m.Const), g.paramsArg(m))),
	)
	docf(f, "DecodeResponse reads the answer, a *%s. Its id is not compared.", answer)
	f.Func().Params(ptrRecv(name)).Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Message"), jen.Error()).BlockFunc(func(b *jen.Group) {
		b.List(jen.Id("e"), jen.Err()).Op(":=").Id("responseEnvelope").Call(jen.Id("f"))
		b.Add(ifErr(jen.Nil()))
		b.Id("r").Op(":=").Op("&").Id(answer).Values(jen.Id("ID").Op(":").Id("e").Dot("ID"), jen.Id("Error").Op(":").Id("e").Dot("Error"))
		read := func(to, typ string) jen.Code {
			return jen.List(jen.Id("r").Dot(to), jen.Err()).Op("=").Add(jsonrpc("DecodeResult")).Index(jen.Id(typ)).Call(jen.Id("e"))
		}
		complete := read("Result", m.Result)
		switch {
		case has(m, ir.InputRequired):
			b.Switch(jen.List(jen.Id("t"), jen.Id("_")).Op(":=").Id("e").Dot("Result").Dot("Get").Call(jen.Lit("resultType")).Dot("Str").Call(), jen.Id("t")).Block(
				jen.Case(jen.Lit("input_required")).Block(read("InputRequired", "InputRequiredResult")),
				jen.Case(jen.Lit(""), jen.Lit("complete")).Block(complete),
				jen.Default().Block(jen.Err().Op("=").Op("&").Add(jsonrpc("ResultTypeError")).Values(jen.Id("Type").Op(":").Id("t"))),
			)
		case has(m, ir.TaskCreated):
			asked := x().Dot("Params").Op("!=").Nil().Op("&&").Add(x()).Dot("Params").Dot("Task").Op("!=").Nil()
			if g.unionParams(m) {
				asked = g.hasMember(g.typ(m.Params), "task").Call(x().Dot("Params"))
			}
			b.If(asked.Op("&&").Id("e").Dot("Result").Dot("Get").Call(jen.Lit("task")).Op("!=").Nil()).Block(read("Task", "CreateTaskResult")).Else().Block(complete)
		default:
			b.Add(complete)
		}
		b.Add(ifErr(jen.Nil()))
		b.Return(jen.Id("r"), jen.Nil())
	})
	doc(f, deprecated(append(wrap(answer+" is a whole answer to "+m.Name+": one member besides ID is set."), "", anchor), m.Deprec)...)
	f.Type().Id(answer).StructFunc(func(b *jen.Group) {
		b.Id("ID").Add(jsonrpc("ID")).Comment("// of the request; zero in an error about one that could not be read")
		b.Id("Result").Op("*").Id(m.Result).Comment("// when the request was answered in full")
		if has(m, ir.InputRequired) {
			b.Id("InputRequired").Op("*").Id("InputRequiredResult").Comment("// when input is needed first")
		}
		if has(m, ir.TaskCreated) {
			b.Id("Task").Op("*").Id("CreateTaskResult").Comment("// when the request asked for a task")
		}
		b.Id("Error").Op("*").Add(jsonrpc("Error")).Comment("// when it failed")
	})
	f.Line()
	f.Func().Params(jen.Op("*").Id(answer)).Id("isMessage").Params().Block()
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(answer)).Id("AppendJSON").Params(bytesParam()).Index().Byte().BlockFunc(func(b *jen.Group) {
		b.If(x().Dot("Error").Op("!=").Nil()).Block(jen.Return(jsonrpc("AppendError").Call(buf(), x().Dot("ID"), jen.True(), x().Dot("Error"))))
		for _, o := range m.Outcomes {
			member := map[ir.Outcome]string{ir.InputRequired: "InputRequired", ir.TaskCreated: "Task"}[o]
			b.If(x().Dot(member).Op("!=").Nil()).Block(jen.Return(jsonrpc("AppendResult").Call(buf(), x().Dot("ID"), x().Dot(member))))
		}
		b.Return(jsonrpc("AppendResult").Call(buf(), x().Dot("ID"), x().Dot("Result")))
	})
}

// envelopeDoc is the comment of a request or notification: it is the only
// place where a method that the runtime answers has its text.
func envelopeDoc(m *ir.Method, fact, place string) []string {
	lines := wrap(fact)
	if len(m.Doc) > 0 {
		lines = append(append(lines, ""), m.Doc...)
	}
	if place != "" {
		lines = append(lines, "", place)
	}
	return deprecated(lines, m.Deprec)
}

func requiredWord(m *ir.Method) string {
	if m.ParamsReq {
		return "always there"
	}
	return "nil if absent"
}

func (g *printer) noteEnvelope(f *jen.File, m *ir.Method) {
	name := m.Go + "Notification"
	doc(f, envelopeDoc(m, name+" is a whole notification of "+m.Name+".", g.place(m.Definition))...)
	f.Type().Id(name).Struct(jen.Id("Params").Add(g.paramsType(m)).Comment(comment(requiredWord(m))))
	f.Line()
	f.Func().Params(jen.Op("*").Id(name)).Id("isMessage").Params().Block()
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(jsonrpc("AppendNotification").Call(buf(), jen.Id(m.Const), g.paramsArg(m))),
	)
}

// decodeFunc prints Decode, which goes by the method.
func (g *printer) decodeFunc(f *jen.File, requests, notes []*ir.Method) {
	docf(f, "Decode reads one message by the table of methods: params strictly. A method of the table with an id where it has none, or the other way round, "+
		"is unknown. An answer is a *Response: Request.DecodeResponse reads it with its type.")
	f.Func().Id("Decode").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Message"), jen.Error()).Block(
		jen.List(jen.Id("e"), jen.Err()).Op(":=").Add(jsonrpc("ParseEnvelope")).Call(jen.Id("f").Dot("Data")),
		ifErr(jen.Nil()),
		jen.Switch().Block(
			jen.Case(jen.Id("e").Dot("IsResponse").Call()).Block(jen.Return(jen.Op("&").Id("Response").Values(jen.Op("*").Id("e")), jen.Nil())),
			jen.Case(jen.Id("e").Dot("IsRequest").Call()).Block(jen.Return(jen.Id("decodeRequest").Call(jen.Id("e")))),
		),
		jen.Return(jen.Id("decodeNotification").Call(jen.Id("e"))),
	)
	branch := func(b *jen.Group, m *ir.Method, kind string, values ...jen.Code) {
		b.Case(jen.Id(m.Const)).BlockFunc(func(b *jen.Group) {
			typ := m.Params
			if g.unionParams(m) {
				typ = wrapperName(g.typ(m.Params))
			}
			b.List(jen.Id("p"), jen.Err()).Op(":=").Add(jsonrpc("DecodeParams")).Index(jen.Id(typ)).Call(jen.Id("e"), jen.Lit(m.ParamsReq))
			b.Add(ifErr(jen.Nil()))
			p := jen.Id("p")
			if g.unionParams(m) {
				p = p.Dot(m.Params)
			}
			b.Return(jen.Op("&").Id(m.Go+kind).Values(append(values, jen.Id("Params").Op(":").Add(p))...), jen.Nil())
		})
	}
	env := jen.Id("e").Op("*").Add(jsonrpc("Envelope"))
	f.Line()
	f.Func().Id("decodeRequest").Params(env).Params(jen.Id("Message"), jen.Error()).Block(
		jen.Switch(jen.Id("e").Dot("Method")).BlockFunc(func(b *jen.Group) {
			for _, m := range requests {
				branch(b, m, "Request", jen.Id("ID").Op(":").Id("e").Dot("ID"))
			}
		}),
		jen.Return(jen.Op("&").Id("UnknownRequest").Values(jen.Op("*").Id("e")), jen.Nil()),
	)
	f.Line()
	f.Func().Id("decodeNotification").Params(env).Params(jen.Id("Message"), jen.Error()).Block(
		jen.Switch(jen.Id("e").Dot("Method")).BlockFunc(func(b *jen.Group) {
			for _, m := range notes {
				branch(b, m, "Notification")
			}
		}),
		jen.Return(jen.Op("&").Id("UnknownNotification").Values(jen.Op("*").Id("e")), jen.Nil()),
	)
}

// capital makes a member name or value part of a Go name.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
