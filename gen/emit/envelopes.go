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
	docf(f, "Message is a whole message: a Request, a Notification or an Answer.")
	f.Type().Id("Message").InterfaceFunc(func(b *jen.Group) {
		b.Add(wire("Appender"))
		docf(b, "MessageID is the id: of the request, or of the one that is answered; zero in a notification, and in an error about a request that could not be read.")
		b.Id("MessageID").Params().Add(jsonrpc("ID"))
		docf(b, "MessageMethod is the method of a request or notification, empty in an answer.")
		b.Id("MessageMethod").Params().String()
		b.Id("isMessage").Params()
	})
	docf(f, "Request is a Message that wants an answer: one of this revision, or an *UnknownRequest.")
	f.Type().Id("Request").InterfaceFunc(func(b *jen.Group) {
		b.Id("Message")
		docf(b, "DecodeResponse reads the answer to this very request: one with another id is an error, unless the request has none. A result that breaks its schema "+
			"is read as far as it can be, and Problems of the answer says what was passed over.")
		b.Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error())
		docf(b, "DecodeResponseStrict is DecodeResponse, but a result that breaks its schema is a *wire.Error that says where.")
		b.Id("DecodeResponseStrict").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error())
	})
	docf(f, "Notification is a Message that wants no answer: one of this revision, or an *UnknownNotification.")
	f.Type().Id("Notification").Interface(jen.Id("Message"), jen.Id("isNotification").Params())
	docf(f, "Answer is a Message that answers a request: with its type when the request is known, else a *Response.")
	f.Type().Id("Answer").InterfaceFunc(func(b *jen.Group) {
		b.Id("Message")
		docf(b, "Failure is the error that the request was answered with, nil if there is a result.")
		b.Id("Failure").Params().Op("*").Add(jsonrpc("Error"))
		docf(b, "Problems are what was passed over when the result was read: elements of lists that could not be read, members that were missing and are written as "+
			"what they were taken for. At most wire.DefaultMaxSkipped are kept; paths begin with \"result\".")
		b.Id("Problems").Params().Index().Add(wire("Problem"))
	})
	for _, u := range []struct{ name, what string }{
		{"UnknownRequest", "a request of a method that this revision does not name"},
		{"UnknownNotification", "a notification of a method that this revision does not name"},
		{"Response", "an answer whose request is not known"},
	} {
		docf(f, "%s is %s, as it came.", u.name, u.what)
		f.Type().Id(u.name).Struct(jsonrpc("Envelope"))
		g.accessors(f, u.name, x().Dot("ID"), x().Dot("Method"))
	}
	f.Line()
	f.Func().Params(jen.Op("*").Id("UnknownNotification")).Id("isNotification").Params().Block()
	g.answerMethods(f, "Response", jen.Nil())
	docf(f, "DecodeResponse reads an answer as it came.")
	f.Func().Params(ptrRecv("UnknownRequest")).Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error()).Block(
		jen.List(jen.Id("e"), jen.Err()).Op(":=").Add(jsonrpc("ParseAnswer")).Call(jen.Id("f").Dot("Data"), x().Dot("ID")),
		ifErr(jen.Nil()),
		jen.Return(jen.Op("&").Id("Response").Values(jen.Op("*").Id("e")), jen.Nil()),
	)
	docf(f, "DecodeResponseStrict is DecodeResponse: nothing is known of the result.")
	f.Func().Params(ptrRecv("UnknownRequest")).Id("DecodeResponseStrict").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error()).Block(
		jen.Return(x().Dot("DecodeResponse").Call(jen.Id("f"))),
	)
	doc(f, "appenderOf keeps a nil pointer from becoming an Appender that is not nil.")
	f.Func().Id("appenderOf").Types(jen.Id("T").Any(), jen.Id("P").Interface(jen.Op("*").Id("T"), wire("Appender"))).Params(jen.Id("p").Id("P")).Add(wire("Appender")).Block(
		jen.If(jen.Id("p").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("p")),
	)
}

// accessors prints what every message has: its id and its method, nil for none.
func (g *printer) accessors(f *jen.File, name string, id, method jen.Code) {
	if id == nil {
		id = jsonrpc("ID").Values()
	}
	if method == nil {
		method = jen.Lit("")
	}
	f.Line()
	f.Func().Params(jen.Op("*").Id(name)).Id("isMessage").Params().Block()
	docf(f, "MessageID is the id, zero for none.")
	f.Func().Params(ptrRecv(name)).Id("MessageID").Params().Add(jsonrpc("ID")).Block(jen.Return(id))
	docf(f, "MessageMethod is the method, empty for none.")
	f.Func().Params(ptrRecv(name)).Id("MessageMethod").Params().String().Block(jen.Return(method))
}

// answerMethods prints what every answer has.
func (g *printer) answerMethods(f *jen.File, name string, problems jen.Code) {
	docf(f, "Failure is the error, nil if there is a result.")
	f.Func().Params(ptrRecv(name)).Id("Failure").Params().Op("*").Add(jsonrpc("Error")).Block(jen.Return(x().Dot("Error")))
	docf(f, "Problems are what was passed over when the result was read.")
	f.Func().Params(ptrRecv(name)).Id("Problems").Params().Index().Add(wire("Problem")).Block(jen.Return(problems))
}

// withExtra is an expression of a message with its unknown members.
func withExtra(call jen.Code) jen.Code { return jsonrpc("AppendExtra").Call(call, x().Dot("Extra")) }

const extraComment = "// members that JSON-RPC does not name"

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
	f.Type().Id(name).Struct(jen.Id("ID").Add(jsonrpc("ID")).Comment("// the client's or server's choice, unique while the request runs"), jen.Id("Params").Add(g.paramsType(m)).Comment(comment(requiredWord(m))), jen.Id("Extra").Add(wire("Members")).Comment(extraComment))
	g.accessors(f, name, x().Dot("ID"), jen.Id(m.Const))
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(withExtra(jsonrpc("AppendRequest").Call(buf(), x().Dot("ID"), jen.Id(m.Const), g.paramsArg(m)))),
	)
	docf(f, "DecodeResponse reads the answer, a *%s.", answer)
	f.Func().Params(ptrRecv(name)).Id("DecodeResponse").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error()).Block(
		jen.Return(x().Dot("answer").Call(jen.Id("f"), jen.False())),
	)
	docf(f, "DecodeResponseStrict reads the answer, a *%s; a result that breaks its schema is an error.", answer)
	f.Func().Params(ptrRecv(name)).Id("DecodeResponseStrict").Params(jen.Id("f").Add(jsonrpc("Frame"))).Params(jen.Id("Answer"), jen.Error()).Block(
		jen.Return(x().Dot("answer").Call(jen.Id("f"), jen.True())),
	)
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("answer").Params(jen.Id("f").Add(jsonrpc("Frame")), jen.Id("strict").Bool()).Params(jen.Id("Answer"), jen.Error()).BlockFunc(func(b *jen.Group) {
		b.List(jen.Id("e"), jen.Err()).Op(":=").Add(jsonrpc("ParseAnswer")).Call(jen.Id("f").Dot("Data"), x().Dot("ID"))
		b.Add(ifErr(jen.Nil()))
		b.Id("r").Op(":=").Op("&").Id(answer).Values(jen.Id("ID").Op(":").Id("e").Dot("ID"), jen.Id("Error").Op(":").Id("e").Dot("Error"), jen.Id("Extra").Op(":").Id("e").Dot("Extra"))
		read := func(to, typ string) jen.Code {
			return jen.List(jen.Id("r").Dot(to), jen.Id("r").Dot("problems"), jen.Err()).Op("=").Add(jsonrpc("DecodeResult")).Index(jen.Id(typ)).Call(jen.Id("e"), jen.Id("strict"))
		}
		complete := read("Result", m.Result)
		switch {
		case has(m, ir.InputRequired), has(m, ir.TaskByType):
			b.Switch(jen.List(jen.Id("t"), jen.Id("_")).Op(":=").Id("e").Dot("Result").Dot("Get").Call(jen.Lit("resultType")).Dot("Str").Call(), jen.Id("t")).BlockFunc(func(b *jen.Group) {
				if has(m, ir.InputRequired) {
					b.Case(jen.Lit("input_required")).Block(read("InputRequired", "InputRequiredResult"))
				}
				if has(m, ir.TaskByType) {
					b.Case(jen.Lit("task")).Block(read("Task", "CreateTaskResult"))
				}
				b.Case(jen.Lit(""), jen.Lit("complete")).Block(complete)
				b.Default().Block(jen.Err().Op("=").Op("&").Add(jsonrpc("ResultTypeError")).Values(jen.Id("Type").Op(":").Id("t"), jen.Id("Raw").Op(":").Id("e").Dot("Result").Dot("Clone").Call()))
			})
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
	doc(f, deprecated(append(wrap(answer+" is a whole answer to "+m.Name+": besides ID and Extra one member is set."), "", anchor), m.Deprec)...)
	f.Type().Id(answer).StructFunc(func(b *jen.Group) {
		b.Id("ID").Add(jsonrpc("ID")).Comment("// of the request, zero or jsonrpc.NullID if that could not be read")
		b.Id("Result").Op("*").Id(m.Result).Comment("// when the request was answered in full")
		if has(m, ir.InputRequired) {
			b.Id("InputRequired").Op("*").Id("InputRequiredResult").Comment("// when input is needed first")
		}
		if has(m, ir.TaskCreated) {
			b.Id("Task").Op("*").Id("CreateTaskResult").Comment("// when the request asked for a task")
		}
		if has(m, ir.TaskByType) {
			b.Id("Task").Op("*").Id("CreateTaskResult").Comment("// when the server goes on with it as a task")
		}
		b.Id("Error").Op("*").Add(jsonrpc("Error")).Comment("// when it failed")
		b.Id("Extra").Add(wire("Members")).Comment(extraComment)
		b.Line()
		b.Id("problems").Index().Add(wire("Problem"))
	})
	g.accessors(f, answer, x().Dot("ID"), nil)
	g.answerMethods(f, answer, x().Dot("problems"))
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(answer)).Id("AppendJSON").Params(bytesParam()).Index().Byte().BlockFunc(func(b *jen.Group) {
		b.If(x().Dot("Error").Op("!=").Nil()).Block(jen.Return(withExtra(jsonrpc("AppendError").Call(buf(), x().Dot("ID"), jen.True(), x().Dot("Error")))))
		for _, o := range m.Outcomes {
			member := map[ir.Outcome]string{ir.InputRequired: "InputRequired", ir.TaskCreated: "Task", ir.TaskByType: "Task"}[o]
			b.If(x().Dot(member).Op("!=").Nil()).Block(jen.Return(withExtra(jsonrpc("AppendResult").Call(buf(), x().Dot("ID"), x().Dot(member)))))
		}
		b.Return(withExtra(jsonrpc("AppendResult").Call(buf(), x().Dot("ID"), x().Dot("Result"))))
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
	f.Type().Id(name).Struct(jen.Id("Params").Add(g.paramsType(m)).Comment(comment(requiredWord(m))), jen.Id("Extra").Add(wire("Members")).Comment(extraComment))
	g.accessors(f, name, nil, jen.Id(m.Const))
	f.Line()
	f.Func().Params(jen.Op("*").Id(name)).Id("isNotification").Params().Block()
	docf(f, "AppendJSON appends the message.")
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(withExtra(jsonrpc("AppendNotification").Call(buf(), jen.Id(m.Const), g.paramsArg(m)))),
	)
}

// decodeFunc prints Decode, which goes by the method.
func (g *printer) decodeFunc(f *jen.File, requests, notes []*ir.Method) {
	docf(f, "Decode reads one message by the table of methods: params strictly. A method of the table with an id where it has none, or the other way round, "+
		"is unknown. An answer is a *Response: Request.DecodeResponse reads it with its type. Members beside those of JSON-RPC are kept, so that "+
		"AppendJSON writes the same message.")
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
			b.Return(jen.Op("&").Id(m.Go+kind).Values(append(values, jen.Id("Params").Op(":").Add(p), jen.Id("Extra").Op(":").Id("e").Dot("Extra"))...), jen.Nil())
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
