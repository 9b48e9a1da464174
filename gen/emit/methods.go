package emit

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// The members of _meta that the runtime reads and writes.
const (
	metaProgress     = "progressToken"
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaClientCaps   = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// methodsFile prints the revision, its constants and methods, and what the
// runtime asks of params, results and errors.
func (g *printer) methodsFile(f *jen.File) {
	docf(f, "Revision is the protocol revision of this package.")
	f.Const().Id("Revision").Op("=").Lit(g.p.Revision)
	if len(g.p.Consts) > 0 {
		docf(f, "Constants of the specification.")
		f.Const().DefsFunc(func(b *jen.Group) {
			for _, c := range g.p.Consts {
				doc(b, c.Doc...)
				b.Id(c.Name).Op("=").Op(c.Value)
			}
		})
	}
	if len(g.p.Methods) == 0 {
		return
	}
	docf(f, "The methods.")
	f.Const().DefsFunc(func(b *jen.Group) {
		for _, m := range g.p.Methods {
			b.Id(m.Const).Op("=").Lit(m.Name)
		}
	})
	g.methodTable(f)
	for _, t := range g.p.Types {
		if t.Kind == ir.Struct && g.isMeta(t) {
			g.metaMethods(f, t)
		}
		if t.Kind == ir.Struct && t.Params {
			g.paramsMethods(f, t)
		}
		if t.Kind == ir.Struct && t.Result && g.p.Stateless {
			g.hasMeta(f, t)
		}
	}
	for _, m := range g.p.Methods {
		if m.Params != "" && g.wrapped(m) {
			g.wrapper(f, g.typ(m.Params))
		}
	}
	g.outcomes(f)
	for _, e := range g.p.Errors {
		g.errorFuncs(f, e)
	}
}

func (g *printer) methodTable(f *jen.File) {
	docf(f, "Methods is the table of the methods: who sends them, and what has to be advertised for it. It must not be changed.")
	f.Var().Id("Methods").Op("=").Index().Add(jsonrpc("Method")).ValuesFunc(func(rows *jen.Group) {
		for _, m := range g.p.Methods {
			rows.Line().ValuesFunc(func(v *jen.Group) {
				v.Id("Name").Op(":").Id(m.Const)
				v.Id("Definition").Op(":").Lit(m.Definition)
				flag := func(name string, on bool) {
					if on {
						v.Id(name).Op(":").True()
					}
				}
				flag("Notification", m.Notification)
				flag("FromClient", m.Direction != ir.ServerToClient)
				flag("FromServer", m.Direction != ir.ClientToServer)
				if caps := capabilities(m); len(caps) > 0 {
					v.Id("Capabilities").Op(":").Index().String().ValuesFunc(func(l *jen.Group) {
						for _, c := range caps {
							l.Lit(c)
						}
					})
				}
				flag("ParamsRequired", m.ParamsReq)
				flag("Paginated", m.Paginated)
				flag("InputRequired", has(m, ir.InputRequired))
				flag("Embedded", m.Embedded)
				if gates := embeddedGates(m); m.Embedded && len(gates) > 0 {
					v.Id("Gates").Op(":").Index().Add(jsonrpc("Gate")).Values(gates...)
				}
			})
		}
		rows.Line()
	})
}

// embeddedGates are the capabilities that only some params of a method need.
// Those of other methods are held where the call is made.
func embeddedGates(m *ir.Method) (out []jen.Code) {
	for _, gate := range m.Gates {
		if gate.Server || gate.Advice {
			continue
		}
		strs := func(list []string) jen.Code {
			return jen.Index().String().ValuesFunc(func(l *jen.Group) {
				for _, s := range list {
					l.Lit(s)
				}
			})
		}
		out = append(out, jen.ValuesFunc(func(v *jen.Group) {
			v.Id("Capability").Op(":").Lit(gate.Path)
			v.Id("Members").Op(":").Add(strs(gate.Members))
			if len(gate.Values) > 0 {
				v.Id("Values").Op(":").Add(strs(gate.Values))
			}
			if gate.Absent {
				v.Id("Absent").Op(":").True()
			}
			if gate.OrEmpty {
				v.Id("OrEmpty").Op(":").True()
			}
		}))
	}
	return out
}

func has(m *ir.Method, o ir.Outcome) bool {
	for _, have := range m.Outcomes {
		if have == o {
			return true
		}
	}
	return false
}

// capabilities writes a method's capabilities as the method table has them: a
// path alone belongs to the side that answers a request or sends a
// notification, another one names its side.
func capabilities(m *ir.Method) []string {
	var out []string
	if m.Direction == ir.EitherWay {
		return m.Server // of both sides the same
	}
	own, other, prefix := m.Server, m.Client, "client:"
	if (m.Direction == ir.ServerToClient) != m.Notification {
		own, other, prefix = m.Client, m.Server, "server:"
	}
	out = append(out, own...)
	for _, c := range other {
		out = append(out, prefix+c)
	}
	return out
}

// isMeta says whether a struct is the type of a _meta member of params.
func (g *printer) isMeta(t *ir.Type) bool {
	for _, o := range g.p.Types {
		if o.Params && o.MetaOf == t.Name {
			return true
		}
	}
	return false
}

// metaMethods prints how a _meta type and the runtime's Metadata turn into one
// another.
func (g *printer) metaMethods(f *jen.File, t *ir.Type) {
	m := jen.Id("m")
	str := func(fl *ir.Field, v *jen.Statement) jen.Code { // the value as a string
		if fl.Type.Kind == ir.Named {
			return jen.String().Call(v)
		}
		return v
	}
	doc(f, "metadata is what the runtime wants to know of x.")
	f.Func().Params(ptrRecv(t.Name)).Id("metadata").Params().Params(jen.Id("m").Add(jsonrpc("Metadata"))).BlockFunc(func(b *jen.Group) {
		for _, fl := range fields(t) {
			set := func(to string) {
				if fl.Required || fl.Type.Kind == ir.ID {
					b.Add(m.Clone().Dot(to).Op("=").Add(str(fl, x().Dot(fl.Name))))
					return
				}
				b.If(g.present(fl)).Block(m.Clone().Dot(to).Op("=").Add(str(fl, g.deref(fl))))
			}
			ptr := func(to string) {
				if fl.Required {
					b.Add(m.Clone().Dot(to).Op("=").Op("&").Add(x()).Dot(fl.Name))
					return
				}
				b.If(g.present(fl)).Block(m.Clone().Dot(to).Op("=").Add(x()).Dot(fl.Name))
			}
			switch fl.JSON {
			case metaProgress:
				set("ProgressToken")
			case metaVersion:
				set("ProtocolVersion")
			case metaLevel:
				set("LogLevel")
			case metaSubscription:
				set("SubscriptionID")
			case metaClientInfo:
				ptr("ClientInfo")
			case metaClientCaps:
				ptr("ClientCapabilities")
			}
		}
		b.Return(m)
	})
	doc(f, "setMetadata writes what m holds; version, info and capabilities only where x says nothing.")
	f.Func().Params(ptrRecv(t.Name)).Id("setMetadata").Params(jen.Id("m").Add(jsonrpc("Metadata"))).BlockFunc(func(b *jen.Group) {
		for _, fl := range fields(t) {
			v := x().Dot(fl.Name)
			switch fl.JSON {
			case metaProgress, metaSubscription:
				from := map[string]string{metaProgress: "ProgressToken", metaSubscription: "SubscriptionID"}[fl.JSON]
				b.If(jen.Op("!").Add(m).Dot(from).Dot("IsZero").Call()).Block(v.Clone().Op("=").Add(m).Dot(from))
			case metaVersion:
				if fl.Required {
					b.If(v.Clone().Op("==").Lit("")).Block(v.Clone().Op("=").Add(m).Dot("ProtocolVersion"))
				}
			case metaClientInfo, metaClientCaps:
				from := map[string]string{metaClientInfo: "ClientInfo", metaClientCaps: "ClientCapabilities"}[fl.JSON]
				got := jen.Id("v")
				cond := g.zero(fl)
				value := jen.Code(got)
				if fl.Required {
					value = jen.Op("*").Add(got)
				}
				b.If(
					jen.List(got, jen.Id("ok")).Op(":=").Add(m).Dot(from).Assert(jen.Op("*").Id(fl.Type.Name)),
					jen.Id("ok").Op("&&").Add(got).Op("!=").Nil().Op("&&").Add(cond),
				).BlockFunc(func(b *jen.Group) {
					b.Add(v.Clone().Op("=").Add(value))
					if ext := field(g.typ(fl.Type.Name), "extensions"); fl.JSON == metaClientCaps && len(g.p.Extensions) > 0 && ext != nil {
						b.If(m.Clone().Dot("PassedOn")).Block(v.Clone().Dot(ext.Name).Op("=").Nil())
					}
				})
			}
		}
	})
	for _, fl := range fields(t) {
		if fl.Required && fl.Type.Kind == ir.Named && g.typ(fl.Type.Name).Kind == ir.Struct && !g.gets[fl.Type.Name+".isZero"] {
			g.gets[fl.Type.Name+".isZero"] = true
			g.isZero(f, g.typ(fl.Type.Name))
		}
	}
}

// zero is the condition that a field says nothing.
func (g *printer) zero(fl *ir.Field) jen.Code {
	if fl.Required {
		return x().Dot(fl.Name).Dot("isZero").Call()
	}
	return x().Dot(fl.Name).Op("==").Nil()
}

// isZero prints the test that a struct of optional members has none of them.
func (g *printer) isZero(f *jen.File, t *ir.Type) {
	cond := jen.Len(x().Dot("Extra")).Op("==").Lit(0)
	for _, fl := range fields(t) {
		if fl.Required {
			g.fail("%s has required members, so it has no empty value", t.Name)
			return
		}
		if fl.Type.Kind == ir.ID {
			cond.Op("&&").Add(x()).Dot(fl.Name).Dot("IsZero").Call()
			continue
		}
		cond.Op("&&").Add(x()).Dot(fl.Name).Op("==").Nil()
	}
	f.Line()
	f.Func().Params(ptrRecv(t.Name)).Id("isZero").Params().Bool().Block(jen.Return(cond))
}

// paramsMethods prints Metadata, SetMetadata and, where the params answer
// requests for input, SetInputs.
func (g *printer) paramsMethods(f *jen.File, t *ir.Type) {
	if !ownMetadata(t) {
		g.metadataMethods(f, t.Name, t)
	}
	responses, state := field(t, "inputResponses"), field(t, "requestState")
	if responses == nil || state == nil || responses.Type.Kind != ir.Named || g.typ(responses.Type.Name).Kind != ir.MapOf {
		return
	}
	docf(f, "SetInputs replaces the answers to the server's requests for input, bare results, and the state to give back; nil leaves it out.")
	f.Func().Params(ptrRecv(t.Name)).Id("SetInputs").Params(jen.Id("responses").Map(jen.String()).Add(wire("Raw")), jen.Id("state").Op("*").String()).Block(
		x().Dot(state.Name).Op("=").Id("state"),
		x().Dot(responses.Name).Op("=").Nil(),
		jen.If(jen.Id("responses").Op("==").Nil()).Block(jen.Return()),
		x().Dot(responses.Name).Op("=").Make(jen.Id(responses.Type.Name), jen.Len(jen.Id("responses"))),
		jen.For(jen.List(jen.Id("k"), jen.Id("r")).Op(":=").Range().Id("responses")).Block(
			x().Dot(responses.Name).Index(jen.Id("k")).Op("=").Id(g.typ(responses.Type.Name).Elem).Values(jen.Id("Raw").Op(":").Id("r")),
		),
	)
}

// ownMetadata says whether a params type has a field that takes the name of
// the method: then a wrapper has the method.
func ownMetadata(t *ir.Type) bool {
	for _, f := range fields(t) {
		if f.Name == "Metadata" || f.Name == "SetMetadata" {
			return true
		}
	}
	return false
}

// metadataMethods prints Metadata and SetMetadata of params of type t.
func (g *printer) metadataMethods(f *jen.File, recv string, t *ir.Type) {
	meta := field(t, "_meta")
	typed := meta != nil && t.MetaOf != ""
	docf(f, "Metadata is what the _meta of x says to the runtime.")
	f.Func().Params(ptrRecv(recv)).Id("Metadata").Params().Add(jsonrpc("Metadata")).BlockFunc(func(b *jen.Group) {
		switch {
		case !typed:
			b.Return(jsonrpc("Metadata").Values())
		case meta.Required:
			b.If(x().Op("==").Nil()).Block(jen.Return(jsonrpc("Metadata").Values()))
			b.Return(x().Dot(meta.Name).Dot("metadata").Call())
		default:
			b.If(x().Op("==").Nil().Op("||").Add(x()).Dot(meta.Name).Op("==").Nil()).Block(jen.Return(jsonrpc("Metadata").Values()))
			b.Return(x().Dot(meta.Name).Dot("metadata").Call())
		}
	})
	docf(f, "SetMetadata writes what m holds into the _meta of x. Values that x points to are not changed but replaced.")
	f.Func().Params(ptrRecv(recv)).Id("SetMetadata").Params(jen.Id("m").Add(jsonrpc("Metadata"))).BlockFunc(func(b *jen.Group) {
		switch {
		case !typed:
		case meta.Required:
			b.Add(x().Dot(meta.Name).Dot("setMetadata").Call(jen.Id("m")))
		default:
			b.Id("meta").Op(":=").New(jen.Id(t.MetaOf))
			b.If(x().Dot(meta.Name).Op("!=").Nil()).Block(jen.Op("*").Id("meta").Op("=").Op("*").Add(x()).Dot(meta.Name))
			b.Id("meta").Dot("setMetadata").Call(jen.Id("m"))
			cond := x().Dot(meta.Name).Op("!=").Nil()
			for _, fl := range fields(g.typ(t.MetaOf)) {
				if fl.Type.Kind == ir.ID {
					cond.Op("||").Op("!").Id("meta").Dot(fl.Name).Dot("IsZero").Call()
				}
			}
			b.If(cond).Block(x().Dot(meta.Name).Op("=").Id("meta"))
		}
	})
}

func (g *printer) hasMeta(f *jen.File, t *ir.Type) {
	meta := field(t, "_meta")
	docf(f, "HasMeta reports whether _meta is going to be written.")
	f.Func().Params(ptrRecv(t.Name)).Id("HasMeta").Params().Bool().BlockFunc(func(b *jen.Group) {
		switch {
		case meta == nil:
			b.Return(x().Dot("Extra").Dot("Has").Call(jen.Lit("_meta")))
		case meta.Required:
			b.Return(jen.True())
		default:
			b.Return(g.present(meta))
		}
	})
}

func wrapperName(t *ir.Type) string { return unexported(t.Name) }

// wrapped says whether the runtime gets a method's params in a wrapper: those
// that are a union, and those with a field called Metadata.
func (g *printer) wrapped(m *ir.Method) bool {
	t := g.typ(m.Params)
	return t.Kind == ir.Union || t.Kind == ir.Struct && ownMetadata(t)
}

// wrapper prints the struct around params that the runtime cannot take as they
// are, and the function that makes it.
func (g *printer) wrapper(f *jen.File, t *ir.Type) {
	name := wrapperName(t)
	if t.Kind == ir.Struct {
		docf(f, "%s is %s with the methods that the runtime calls: the field Metadata takes the name of one.", name, t.Name)
		f.Type().Id(name).Struct(jen.Id(t.Name))
		f.Line()
		f.Func().Id(wrapName(t)).Params(jen.Id("p").Op("*").Id(t.Name)).Op("*").Id(name).Block(
			jen.If(jen.Id("p").Op("==").Nil()).Block(jen.Return(jen.Nil())),
			jen.Return(jen.Op("&").Id(name).Values(jen.Op("*").Id("p"))),
		)
		g.metadataMethods(f, name, t)
		return
	}
	docf(f, "%s holds a %s, which the runtime cannot point to.", name, t.Name)
	f.Type().Id(name).Struct(jen.Id(t.Name))
	f.Line()
	f.Func().Id(wrapName(t)).Params(jen.Id("p").Id(t.Name)).Op("*").Id(name).Block(
		jen.If(jen.Id("p").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Op("&").Id(name).Values(jen.Id("p"))),
	)
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("DecodeJSON").Params(dec()).Params(jen.Err().Error()).Block(
		jen.List(x().Dot(t.Name), jen.Err()).Op("=").Id(decodeName(t)).Call(d()),
		jen.Return(jen.Err()),
	)
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(g.appendCall(buf(), &ir.Ref{Kind: ir.Named, Name: t.Name}, x().Dot(t.Name))),
	)
	v := jen.Id("v")
	arms := func(do func(b *jen.Group, a *ir.Arm)) jen.Code {
		return jen.Switch(jen.Id("v").Op(":=").Add(x()).Dot(t.Name).Assert(jen.Type())).BlockFunc(func(b *jen.Group) {
			for _, a := range t.Arms {
				b.Case(jen.Op("*").Id(a.Type)).BlockFunc(func(b *jen.Group) { do(b, a) })
			}
		})
	}
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("Metadata").Params().Add(jsonrpc("Metadata")).Block(
		arms(func(b *jen.Group, _ *ir.Arm) { b.Return(v.Clone().Dot("Metadata").Call()) }),
		jen.Return(jsonrpc("Metadata").Values()),
	)
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("SetMetadata").Params(jen.Id("m").Add(jsonrpc("Metadata"))).Block(
		arms(func(b *jen.Group, _ *ir.Arm) {
			b.Id("c").Op(":=").Op("*").Add(v)
			b.Id("c").Dot("SetMetadata").Call(jen.Id("m"))
			b.Add(x().Dot(t.Name).Op("=").Op("&").Id("c"))
		}),
	)
}

func wrapName(t *ir.Type) string { return "wrap" + t.Name }

// unwrapped is what a handler gets of the wrapper p.
func (g *printer) unwrapped(m *ir.Method) jen.Code {
	if g.unionParams(m) {
		return jen.Id("p").Dot(m.Params)
	}
	return jen.Op("&").Id("p").Dot(m.Params)
}

// outcomes prints the results that are errors: a request for input, a task.
func (g *printer) outcomes(f *jen.File) {
	var input, task, byType bool
	for _, m := range g.p.Methods {
		byType = byType || has(m, ir.TaskByType)
		input = input || has(m, ir.InputRequired)
		task = task || has(m, ir.TaskCreated)
	}
	if input {
		g.inputRequired(f)
	}
	if task {
		g.taskCreated(f)
	}
	if byType {
		g.taskByType(f)
	}
}

func (g *printer) inputRequired(f *jen.File) {
	t := g.typ("InputRequiredResult")
	requests, state := field(t, "inputRequests"), field(t, "requestState")
	if requests == nil || state == nil {
		g.fail("InputRequiredResult lacks inputRequests or requestState")
		return
	}
	const name = "InputRequiredError"
	docf(f, "%s is a result that asks for input before the request can be answered. A handler returns one as its error; a call returns one "+
		"when the Client has no func for what is asked, or when ten rounds were not enough.", name)
	f.Type().Id(name).Struct(jen.Id(t.Name))
	docf(f, "New%s asks for input: requests by a key of the server's choice, and a state that the client gives back as it is, or nil. "+
		"At least one of the two has to be there. A client may be asked only for what it declared with the request: for anything else, such as a form when it "+
		"declared elicitation.url alone, the request is answered with jsonrpc.CodeMissingClientCapability. The state passes through the client's hands: sign it.", name)
	f.Func().Id("New"+name).Params(jen.Id("requests").Id(requests.Type.Name), jen.Id("state").Op("*").String()).Op("*").Id(name).Block(
		jen.Return(jen.Op("&").Id(name).Values(jen.Id(t.Name).Values(
			jen.Id(requests.Name).Op(":").Id("requests"), jen.Id(state.Name).Op(":").Id("state"),
		))),
	)
	docf(f, "Error names the keys that wait for input.")
	f.Func().Params(ptrRecv(name)).Id("Error").Params().String().Block(
		jen.Return(jen.Qual("fmt", "Sprintf").Call(jen.Lit("input required: %q"),
			jen.Qual("slices", "Sorted").Call(jen.Qual("maps", "Keys").Call(x().Dot(requests.Name))))),
	)
	docf(f, "IsResult marks the error as a result.")
	f.Func().Params(jen.Op("*").Id(name)).Id("IsResult").Params().Block()
	docf(f, "Inputs yields what is asked for, by key, in the order of the keys.")
	f.Func().Params(ptrRecv(name)).Id("Inputs").Params().Qual("iter", "Seq2").Index(jen.List(jen.String(), jsonrpc("InputRequest"))).Block(
		jen.Return(jen.Func().Params(jen.Id("yield").Func().Params(jen.String(), jsonrpc("InputRequest")).Bool()).Block(
			jen.For(jen.List(jen.Id("_"), jen.Id("k")).Op(":=").Range().Qual("slices", "Sorted").Call(jen.Qual("maps", "Keys").Call(x().Dot(requests.Name)))).Block(
				jen.Id("raw").Op(":=").Add(wire("Raw")).Call(g.appendCall(jen.Nil(), &ir.Ref{Kind: ir.Named, Name: g.typ(requests.Type.Name).Elem}, x().Dot(requests.Name).Index(jen.Id("k")))),
				jen.List(jen.Id("method"), jen.Id("_")).Op(":=").Id("raw").Dot("Get").Call(jen.Lit("method")).Dot("Str").Call(),
				jen.If(jen.Op("!").Id("yield").Call(jen.Id("k"), jsonrpc("InputRequest").Values(
					jen.Id("Method").Op(":").Id("method"), jen.Id("Params").Op(":").Id("raw").Dot("Get").Call(jen.Lit("params")),
				))).Block(jen.Return()),
			),
		)),
	)
	docf(f, "State returns the state to give back and whether there is one.")
	f.Func().Params(ptrRecv(name)).Id("State").Params().Params(jen.String(), jen.Bool()).Block(
		jen.If(x().Dot(state.Name).Op("==").Nil()).Block(jen.Return(jen.Lit(""), jen.False())),
		jen.Return(jen.Op("*").Add(x()).Dot(state.Name), jen.True()),
	)
}

func (g *printer) taskCreated(f *jen.File) {
	t := g.typ("CreateTaskResult")
	task := field(t, "task")
	if task == nil || task.Type.Kind != ir.Named {
		g.fail("CreateTaskResult lacks task")
		return
	}
	id := field(g.typ(task.Type.Name), "taskId")
	if id == nil {
		g.fail("%s lacks taskId", task.Type.Name)
		return
	}
	const name = "TaskCreated"
	docf(f, "%s is a result that stands for another one that will come later: the request asked for a task. A handler returns one as its "+
		"error, and so does a call.", name)
	f.Type().Id(name).Struct(jen.Id(t.Name))
	docf(f, "New%s says that a task was made.", name)
	f.Func().Id("New" + name).Params(jen.Id("task").Id(task.Type.Name)).Op("*").Id(name).Block(
		jen.Return(jen.Op("&").Id(name).Values(jen.Id(t.Name).Values(jen.Id(task.Name).Op(":").Id("task")))),
	)
	docf(f, "Error names the task.")
	f.Func().Params(ptrRecv(name)).Id("Error").Params().String().Block(
		jen.Return(jen.Qual("fmt", "Sprintf").Call(jen.Lit("task created: %q"), x().Dot(task.Name).Dot(id.Name))),
	)
	docf(f, "IsResult marks the error as a result.")
	f.Func().Params(jen.Op("*").Id(name)).Id("IsResult").Params().Block()
}

// taskByType prints the result that is a task itself.
func (g *printer) taskByType(f *jen.File) {
	t, task := g.typ("CreateTaskResult"), g.typ("Task")
	const name = "TaskCreated"
	docf(f, "%s is a result that stands for another one that will come later: the server goes on with the call as a task. A handler returns one as its "+
		"error, and so does a call. Only a client that declared the extension %s with the request is given one; for any other "+
		"the request is answered with jsonrpc.CodeMissingClientCapability, so ask Peer(ctx) before the task begins.", name, t.Extension)
	f.Type().Id(name).Struct(jen.Id(t.Name))
	docf(f, "New%s says that a task was made. It has to be found by its id already.", name)
	f.Func().Id("New" + name).Params(jen.Id("task").Id(task.Name)).Op("*").Id(name).Block(
		jen.Return(jen.Op("&").Id(name).Values(jen.Id(t.Name).ValuesFunc(func(v *jen.Group) {
			for _, fl := range fields(task) {
				v.Line().Id(field(t, fl.JSON).Name).Op(":").Id("task").Dot(fl.Name)
			}
			v.Line().Id("Extra").Op(":").Id("task").Dot("Extra")
			v.Line()
		}))),
	)
	docf(f, "Task is the task as it was made.")
	f.Func().Params(ptrRecv(name)).Id("Task").Params().Id(task.Name).Block(
		jen.Return(jen.Id(task.Name).ValuesFunc(func(v *jen.Group) {
			for _, fl := range fields(task) {
				v.Line().Id(fl.Name).Op(":").Add(x()).Dot(field(t, fl.JSON).Name)
			}
			v.Line().Id("Extra").Op(":").Add(x()).Dot("Extra")
			v.Line()
		})),
	)
	docf(f, "Error names the task.")
	f.Func().Params(ptrRecv(name)).Id("Error").Params().String().Block(
		jen.Return(jen.Qual("fmt", "Sprintf").Call(jen.Lit("task created: %q"), x().Dot(field(t, "taskId").Name))),
	)
	docf(f, "IsResult marks the error as a result.")
	f.Func().Params(jen.Op("*").Id(name)).Id("IsResult").Params().Block()
	docf(f, "ClientCapability is what a client has to declare to be given one.")
	f.Func().Params(jen.Op("*").Id(name)).Id("ClientCapability").Params().String().Block(jen.Return(jen.Lit("extensions." + t.Extension)))
}

// errorFuncs prints how an error of the specification is made and read.
func (g *printer) errorFuncs(f *jen.File, e *ir.Error) {
	message := strings.ToLower(strings.Join(words(e.Name), " "))
	name := e.Name + "Error"
	if len(e.Doc) > 0 {
		doc(f, append(append([]string(nil), e.Doc...), "", fmt.Sprintf("Its code is %d.", e.Code))...)
	} else {
		docf(f, "New%s makes the error with code %d.", name, e.Code)
	}
	if e.Data == "" {
		f.Func().Id("New" + name).Params(jen.Id("message").String()).Op("*").Add(jsonrpc("Error")).Block(
			jen.Return(jsonrpc("NewError").Call(jen.Lit(int(e.Code)), jen.Id("message"))),
		)
		return
	}
	docf(f, "New%s makes the error with code %d.", name, e.Code)
	f.Func().Id("New"+name).Params(jen.Id("data").Op("*").Id(e.Data)).Op("*").Add(jsonrpc("Error")).Block(
		jen.Id("e").Op(":=").Add(jsonrpc("NewError")).Call(jen.Lit(int(e.Code)), jen.Lit(message)),
		jen.Id("e").Dot("Data").Op("=").Id("data").Dot("AppendJSON").Call(jen.Nil()),
		jen.Return(jen.Id("e")),
	)
	docf(f, "%s returns the data of an error with code %d, and false for any other error and for data of another shape.", e.Data+"Of", e.Code)
	f.Func().Id(e.Data+"Of").Params(jen.Err().Error()).Params(jen.Op("*").Id(e.Data), jen.Bool()).Block(
		jen.List(jen.Id("e"), jen.Id("ok")).Op(":=").Qual("errors", "AsType").Index(jen.Op("*").Add(jsonrpc("Error"))).Call(jen.Err()),
		jen.If(jen.Op("!").Id("ok").Op("||").Id("e").Dot("Code").Op("!=").Lit(int(e.Code))).Block(jen.Return(jen.Nil(), jen.False())),
		jen.Id("data").Op(":=").New(jen.Id(e.Data)),
		jen.If(jen.Err().Op(":=").Add(wire("Decode")).Call(jen.Id("e").Dot("Data"), wire("Options").Values(jen.Id("Lenient").Op(":").True()), jen.Id("data")), jen.Err().Op("!=").Nil()).Block(
			jen.Return(jen.Nil(), jen.False()),
		),
		jen.Return(jen.Id("data"), jen.True()),
	)
}

// words cuts a Go name into its words.
func words(name string) []string {
	var out []string
	start := 0
	up := func(i int) bool { return name[i] >= 'A' && name[i] <= 'Z' }
	for i := 1; i < len(name); i++ {
		if up(i) && (!up(i-1) || i+1 < len(name) && !up(i+1)) {
			out = append(out, name[start:i])
			start = i
		}
	}
	return append(out, name[start:])
}

// receiver says who answers a request or gets a notification.
func receiver(m *ir.Method) string {
	switch m.Direction {
	case ir.ClientToServer:
		return "the server"
	case ir.ServerToClient:
		return "the client"
	}
	return "either side"
}

// stubDoc is the comment of a func field or a method that belongs to a method.
func (g *printer) stubDoc(name string, m *ir.Method) []string {
	lines := m.Doc
	if len(lines) == 0 {
		verb := "answers"
		if m.Notification {
			verb = "gets"
		}
		lines = wrap(fmt.Sprintf("%s is %s, which %s %s.", name, m.Name, receiver(m), verb))
	}
	return deprecated(append([]string(nil), lines...), m.Deprec)
}
