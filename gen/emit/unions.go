package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// unionsFile prints everything that can be one of several things.
func (g *printer) unionsFile(f *jen.File) {
	for _, t := range g.p.Types {
		switch t.Kind {
		case ir.Union:
			g.union(f, t)
		case ir.RawUnion:
			g.rawUnion(f, t)
		case ir.KeyedRaw:
			g.keyedRaw(f, t)
		case ir.OneOrMany:
			g.oneOrMany(f, t)
		case ir.MapOf:
			if g.typ(t.Elem).Kind == ir.KeyedRaw {
				g.keyedMap(f, t, g.typ(t.Elem))
			}
		}
	}
}

func unknownName(t *ir.Type) string { return "Unknown" + t.Name }
func markName(t *ir.Type) string    { return "is" + t.Name }
func decodeName(t *ir.Type) string  { return "Decode" + t.Name }

// union prints a sealed interface, its unknown arm, and the function that
// reads it by the plan.
func (g *printer) union(f *jen.File, t *ir.Type) {
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).Interface(
		jen.Comment("// In lists and maps nil is left out when they are written; Validate reports it."),
		wire("Appender"),
		jen.Comment("// Validate reports what the specification does not allow."),
		jen.Id("Validate").Params().Error(),
		jen.Id(markName(t)).Params(),
	)
	f.Line()
	for _, a := range t.Arms {
		f.Func().Params(jen.Op("*").Id(a.Type)).Id(markName(t)).Params().Block()
	}
	u := unknownName(t)
	f.Func().Params(jen.Op("*").Id(u)).Id(markName(t)).Params().Block()
	docf(f, "%s is a %s that this revision does not know, kept as it came.", u, t.Name)
	f.Type().Id(u).Struct(
		jen.Id("Tag").String().Comment("// what it was told apart by; empty if that is missing"),
		jen.Id("Raw").Add(wire("Raw")).Comment("// the whole value"),
	)
	g.rawMethods(f, u, "AppendRaw", false)
	g.decodeUnion(f, t)
}

// rawMethods prints the methods that every type around a Raw has.
func (g *printer) rawMethods(f *jen.File, name, write string, decode bool) {
	docf(f, "AppendJSON appends the value as it is.")
	f.Func().Params(ptrRecv(name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.If(x().Op("==").Nil()).Block(jen.Return(appendLit("null"))),
		jen.Return(wire(write).Call(buf(), x().Dot("Raw"))),
	)
	docf(f, "MarshalJSON returns the value as it is.")
	f.Func().Params(valRecv(name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(x().Dot("Raw").Dot("MarshalJSON").Call()),
	)
	if decode {
		docf(f, "DecodeJSON reads any value.")
		f.Func().Params(ptrRecv(name)).Id("DecodeJSON").Params(dec()).Params(jen.Err().Error()).Block(
			jen.List(x().Dot("Raw"), jen.Err()).Op("=").Add(d().Dot("Raw").Call()),
			jen.Return(jen.Err()),
		)
	}
	docf(f, "UnmarshalJSON keeps a copy of data.")
	f.Func().Params(ptrRecv(name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Return(x().Dot("Raw").Dot("UnmarshalJSON").Call(jen.Id("data"))),
	)
	docf(f, "Validate reports a value that is missing or not JSON.")
	f.Func().Params(ptrRecv(name)).Id("Validate").Params().Error().Block(
		jen.If(x().Op("==").Nil().Op("||").Add(x().Dot("Raw")).Op("==").Nil()).Block(jen.Return(missing(""))),
		jen.Return(x().Dot("Raw").Dot("Check").Call()),
	)
}

// missing is a *wire.Error at a path.
func missing(path string) jen.Code { return problem("ErrMissing", path, "missing") }

func problem(kind, path, msg string) jen.Code {
	return jen.Op("&").Add(wire("Error")).ValuesFunc(func(v *jen.Group) {
		v.Id("Kind").Op(":").Add(wire(kind))
		if path != "" {
			v.Id("Path").Op(":").Lit(path)
		}
		v.Id("Msg").Op(":").Lit(msg)
	})
}

// decodeUnion prints the function that reads a union by its plan. It never
// reads an arm to see whether it fits.
func (g *printer) decodeUnion(f *jen.File, t *ir.Type) {
	plan := t.Plan
	if plan == nil {
		g.fail("the union %s has no plan", t.Name)
		return
	}
	how := ""
	switch plan.Kind {
	case ir.ByTag, ir.ByRule:
		how = "the member " + plan.Key + " tells which"
	case ir.ByPresence:
		how = "the members that are there tell which"
	}
	docf(f, "%s reads the next value as a %s: %s. One that this revision does not know is an *%s.", decodeName(t), t.Name, how, unknownName(t))
	f.Func().Id(decodeName(t)).Params(dec()).Params(jen.Id(t.Name), jen.Error()).BlockFunc(func(b *jen.Group) {
		tag := jen.Code(jen.Lit(""))
		switch plan.Kind {
		case ir.ByTag, ir.ByRule:
			tag = d().Dot("Own").Call(jen.Id("tag"))
			ok := jen.Code(jen.Id("_"))
			if plan.Absent != "" {
				ok = jen.Id("ok")
			}
			b.List(jen.Id("tag"), ok, jen.Err()).Op(":=").Add(d().Dot("Disc").Call(jen.Lit(plan.Key)))
			b.Add(ifErr(jen.Nil()))
			if plan.Absent != "" {
				b.If(jen.Op("!").Id("ok")).BlockFunc(func(b *jen.Group) { g.arm(b, plan.Absent) })
			}
			b.Switch(jen.Id("tag")).BlockFunc(func(b *jen.Group) {
				for _, c := range plan.Cases {
					b.Case(jen.Lit(c.Value)).BlockFunc(func(b *jen.Group) { g.planCase(b, c) })
				}
			})
		case ir.ByPresence:
			for _, c := range plan.Cases {
				g.ifHas(b, []string{c.Key}, c.Type)
			}
		default:
			g.fail("the union %s has a plan of kind %d", t.Name, plan.Kind)
		}
		b.List(jen.Id("raw"), jen.Err()).Op(":=").Add(d().Dot("Raw").Call())
		b.Add(ifErr(jen.Nil()))
		b.Return(jen.Op("&").Id(unknownName(t)).Values(jen.Id("Tag").Op(":").Add(tag), jen.Id("Raw").Op(":").Id("raw")), jen.Nil())
	})
}

func (g *printer) planCase(b *jen.Group, c *ir.Case) {
	if len(c.Steps) == 0 {
		g.arm(b, c.Type)
		return
	}
	for _, s := range c.Steps {
		if s.Has == "" {
			g.arm(b, s.Type)
			return
		}
		g.ifHas(b, splitPath(s.Has), s.Type)
	}
}

// arm reads the next value as a struct and returns it.
func (g *printer) arm(b *jen.Group, name string) {
	b.Add(x().Op(":=").New(jen.Id(name)))
	b.Return(x(), x().Dot("DecodeJSON").Call(d()))
}

// ifHas reads an arm if the member path is there.
func (g *printer) ifHas(b *jen.Group, path []string, name string) {
	b.If(
		jen.List(jen.Id("has"), jen.Err()).Op(":=").Add(d().Dot("Has").CallFunc(func(c *jen.Group) {
			for _, p := range path {
				c.Lit(p)
			}
		})),
		jen.Err().Op("!=").Nil(),
	).Block(jen.Return(jen.Nil(), jen.Err())).Else().If(jen.Id("has")).BlockFunc(func(b *jen.Group) { g.arm(b, name) })
}

// rawUnion prints a raw value with constructors and accessors.
func (g *printer) rawUnion(f *jen.File, t *ir.Type) {
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).Struct(jen.Id("Raw").Add(wire("Raw")).Comment("// the value"))
	g.rawMethods(f, t.Name, "AppendRaw", true)
	docf(f, "String is the value for people: a string as it is, without quotes and escapes, anything else as JSON.")
	f.Func().Params(valRecv(t.Name)).Id("String").Params().String().Block(
		jen.If(jen.List(jen.Id("s"), jen.Id("ok")).Op(":=").Add(x()).Dot("Raw").Dot("Str").Call(), jen.Id("ok")).Block(jen.Return(jen.Id("s"))),
		jen.Return(x().Dot("Raw").Dot("String").Call()),
	)
	for _, k := range t.Raws {
		var suffix, accessor, what string
		var typ, value jen.Code
		v := jen.Id("v")
		switch k {
		case ir.RawString:
			suffix, accessor, what, typ, value = "String", "Str", "a string", jen.String(), wire("AppendString").Call(jen.Nil(), v)
		case ir.RawInt:
			suffix, accessor, what, typ, value = "Int", "Int", "an integer", jen.Int64(), wire("AppendInt").Call(jen.Nil(), v)
		case ir.RawFloat:
			suffix, accessor, what, typ, value = "Float", "Float", "a number", jen.Float64(), wire("AppendFloat").Call(jen.Nil(), v)
		case ir.RawBool:
			suffix, accessor, what, typ, value = "Bool", "Bool", "a boolean", jen.Bool(), wire("AppendBool").Call(jen.Nil(), v)
		case ir.RawStrings:
			suffix, accessor, what, typ, value = "Strings", "Strings", "a list of strings", jen.Index().String(), wire("AppendStrings").Call(jen.Nil(), v)
		}
		docf(f, "%s%s is a %s that is %s.", t.Name, suffix, t.Name, what)
		f.Func().Id(t.Name + suffix).Params(jen.Id("v").Add(typ)).Id(t.Name).Block(
			jen.Return(jen.Id(t.Name).Values(jen.Id("Raw").Op(":").Add(value))),
		)
		docf(f, "%s returns the value if it is %s.", accessor, what)
		fn := f.Func().Params(valRecv(t.Name)).Id(accessor).Params().Params(typ, jen.Bool())
		if k != ir.RawStrings {
			fn.Block(jen.Return(x().Dot("Raw").Dot(accessor).Call()))
			continue
		}
		fn.Block(
			jen.If(x().Dot("Raw").Dot("Kind").Call().Op("!=").Add(wire("KindArray"))).Block(jen.Return(jen.Nil(), jen.False())),
			jen.Id("out").Op(":=").Index().String().Values(),
			jen.For(jen.Id("e").Op(":=").Range().Add(x()).Dot("Raw").Dot("Elems").Call()).Block(
				jen.List(jen.Id("s"), jen.Id("ok")).Op(":=").Id("e").Dot("Str").Call(),
				jen.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Nil(), jen.False())),
				jen.Id("out").Op("=").Append(jen.Id("out"), jen.Id("s")),
			),
			jen.Return(jen.Id("out"), jen.True()),
		)
	}
}

// keyedRaw prints a raw value that is read as the type the reader knows.
func (g *printer) keyedRaw(f *jen.File, t *ir.Type) {
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).Struct(jen.Id("Raw").Add(wire("Raw")).Comment("// the value"))
	write := "AppendRaw"
	if t.Result {
		write = "AppendRawObject" // a result is never null
	}
	g.rawMethods(f, t.Name, write, true)
	for _, a := range t.Arms {
		docf(f, "%s%s is a %s that holds r.", t.Name, a.Tag, t.Name)
		f.Func().Id(t.Name + a.Tag).Params(jen.Id("r").Op("*").Id(a.Type)).Id(t.Name).Block(
			jen.Return(jen.Id(t.Name).Values(jen.Id("Raw").Op(":").Id("r").Dot("AppendJSON").Call(jen.Nil()))),
		)
		docf(f, "%s reads the value, leniently, as a %s. Only who knows what was asked for can know that it is one.", a.Tag, a.Type)
		f.Func().Params(valRecv(t.Name)).Id(a.Tag).Params().Params(jen.Op("*").Id(a.Type), jen.Error()).Block(
			jen.Id("r").Op(":=").New(jen.Id(a.Type)),
			try(wire("Decode").Call(x().Dot("Raw"), wire("Options").Values(jen.Id("Lenient").Op(":").True()), jen.Id("r")), jen.Nil()),
			jen.Return(jen.Id("r"), jen.Nil()),
		)
	}
	g.guess(f, t)
}

// guess prints a function for logs: which arms the members would allow.
func (g *printer) guess(f *jen.File, t *ir.Type) {
	type arm struct {
		tag  string
		need []string
	}
	var arms []arm
	for _, a := range t.Arms {
		var need []string
		for _, fl := range g.typ(a.Type).Fields {
			if fl.Required && fl.JSON != "resultType" {
				need = append(need, fl.JSON)
			}
		}
		if len(need) == 0 {
			return // any object would do, so nothing can be told
		}
		arms = append(arms, arm{a.Tag, need})
	}
	docf(f, "Guess names the accessors whose required members are there. It is for logs: the answer may be none or several, and a single one may be wrong.")
	f.Func().Params(valRecv(t.Name)).Id("Guess").Params().Index().String().BlockFunc(func(b *jen.Group) {
		b.Var().Id("out").Index().String()
		for _, a := range arms {
			cond := jen.Null()
			for i, n := range a.need {
				if i > 0 {
					cond.Op("&&")
				}
				cond.Add(x().Dot("Raw").Dot("Get").Call(jen.Lit(n)).Op("!=").Nil())
			}
			b.If(cond).Block(jen.Id("out").Op("=").Append(jen.Id("out"), jen.Lit(a.tag)))
		}
		b.Return(jen.Id("out"))
	})
}

// keyedMap gives a map of keyed values accessors by key.
func (g *printer) keyedMap(f *jen.File, t, elem *ir.Type) {
	for _, a := range elem.Arms {
		docf(f, "%s reads the value of key as a %s; nil if there is none. A value that is not one is an error with code -32602.", a.Tag, a.Type)
		f.Func().Params(valRecv(t.Name)).Id(a.Tag).Params(jen.Id("key").String()).Params(jen.Op("*").Id(a.Type), jen.Error()).Block(
			jen.List(jen.Id("v"), jen.Id("ok")).Op(":=").Add(x().Index(jen.Id("key"))),
			jen.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Nil(), jen.Nil())),
			jen.List(jen.Id("r"), jen.Err()).Op(":=").Id("v").Dot(a.Tag).Call(),
			jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jsonrpc("Errorf").Call(
				jsonrpc("CodeInvalidParams"), jen.Lit("%q: %w"), jen.Id("key"), jen.Err(),
			))),
			jen.Return(jen.Id("r"), jen.Nil()),
		)
	}
}

// oneOrMany prints a value that is one element or an array of them.
func (g *printer) oneOrMany(f *jen.File, t *ir.Type) {
	elem := &ir.Ref{Kind: ir.Named, Name: t.Elem}
	list := &ir.Ref{Kind: ir.Slice, Elem: elem}
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).Struct(
		jen.Id("Items").Add(g.goType(list)).Comment("// in order"),
		jen.Comment("// Array writes an array even of one item. Reading sets it to what came;"),
		jen.Comment("// without it a single item is written alone, which older peers can read."),
		jen.Id("Array").Bool(),
	)
	docf(f, "New%s holds the items.", t.Name)
	f.Func().Id("New" + t.Name).Params(jen.Id("items").Op("...").Add(g.goType(elem))).Id(t.Name).Block(
		jen.Return(jen.Id(t.Name).Values(jen.Id("Items").Op(":").Id("items"))),
	)
	docf(f, "DecodeJSON reads an array or a single item.")
	f.Func().Params(ptrRecv(t.Name)).Id("DecodeJSON").Params(dec()).Params(jen.Err().Error()).Block(
		jen.If(d().Dot("Kind").Call().Op("==").Add(wire("KindArray"))).Block(
			x().Dot("Array").Op("=").True(),
			jen.List(x().Dot("Items"), jen.Err()).Op("=").Add(g.decodeCall(list)),
			jen.Return(jen.Err()),
		),
		x().Dot("Array").Op("=").False(),
		x().Dot("Items").Op("=").Make(g.goType(list), jen.Lit(1)),
		g.decodeTo(elem, x().Dot("Items").Index(jen.Lit(0))),
		jen.Return(jen.Err()),
	)
	docf(f, "AppendJSON appends a single item alone, unless x.Array is set, and anything else as an array. Items that are nil are left out.")
	f.Func().Params(ptrRecv(t.Name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.If(x().Op("==").Nil()).Block(jen.Return(appendLit("null"))),
		jen.If(jen.Op("!").Add(x()).Dot("Array").Op("&&").Len(x().Dot("Items")).Op("==").Lit(1).Op("&&").Add(x()).Dot("Items").Index(jen.Lit(0)).Op("!=").Nil()).Block(
			jen.Return(g.appendCall(buf(), elem, x().Dot("Items").Index(jen.Lit(0)))),
		),
		jen.Return(g.appendCall(buf(), list, x().Dot("Items"))),
	)
	g.jsonMethods(f, t)
}
