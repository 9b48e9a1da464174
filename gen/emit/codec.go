package emit

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

func splitPath(p string) []string { return strings.Split(p, ".") }

// codecFile prints how structs, named maps, slices and maps are read and
// written.
func (g *printer) codecFile(f *jen.File) {
	for _, t := range g.p.Types {
		switch t.Kind {
		case ir.Struct:
			g.decodeStruct(f, t)
			g.appendStruct(f, t)
			g.jsonMethods(f, t)
			g.known(f, t)
		case ir.MapOf:
			g.mapOfCodec(f, t)
		}
	}
	g.listCodecs(f)
	for _, name := range sorted(g.armsFuncs) {
		g.armsFuncs[name](f)
	}
}

// --- reading ---

// decodeTo is the statement that reads the next value into lhs and sets err.
// lhs has the type of a slice element or required field.
func (g *printer) decodeTo(r *ir.Ref, lhs *jen.Statement) jen.Code {
	two := func(call jen.Code) jen.Code { return jen.List(lhs, jen.Err()).Op("=").Add(call) }
	switch r.Kind {
	case ir.String, ir.Base64:
		return two(d().Dot("Str").Call())
	case ir.Bool:
		return two(d().Dot("Bool").Call())
	case ir.Int:
		return two(d().Dot("Int").Call())
	case ir.Float:
		return two(d().Dot("Float").Call())
	case ir.NullInt:
		return two(d().Dot("IntPtr").Call())
	case ir.RawAny:
		return two(d().Dot("Raw").Call())
	case ir.RawObject:
		return two(d().Dot("RawObject").Call())
	case ir.ID:
		return jen.Err().Op("=").Add(lhs).Dot("DecodeJSON").Call(d())
	case ir.Named:
		t := g.typ(r.Name)
		switch t.Kind {
		case ir.Enum:
			return two(g.helper("decodeEnum").Index(jen.Id(r.Name)).Call(d()))
		case ir.Union:
			return two(jen.Id(decodeName(t)).Call(d()))
		}
		return jen.Err().Op("=").Add(lhs).Dot("DecodeJSON").Call(d())
	case ir.Slice, ir.Map:
		if isStrings(r) {
			return two(d().Dot("Strs").Call())
		}
		return two(g.decodeCall(r))
	}
	g.fail("unknown kind of reference %d", r.Kind)
	return jen.Null()
}

func isStrings(r *ir.Ref) bool { return r.Kind == ir.Slice && r.Elem.Kind == ir.String }

// scalar says whether a pointer to the type comes from a slab of the decoder.
func (g *printer) scalar(r *ir.Ref) bool {
	return r.Kind != ir.Named || g.typ(r.Name).Kind == ir.Enum
}

// decodeOptional is decodeTo for a field that is a pointer.
func (g *printer) decodeOptional(f *ir.Field) jen.Code {
	lhs := x().Dot(f.Name)
	ptr := func(method string) jen.Code {
		return jen.List(lhs, jen.Err()).Op("=").Add(d()).Dot(method).Call()
	}
	switch f.Type.Kind {
	case ir.String, ir.Base64:
		return ptr("StrPtr")
	case ir.Bool:
		return ptr("BoolPtr")
	case ir.Int:
		return ptr("IntPtr")
	case ir.Float:
		return ptr("FloatPtr")
	}
	if g.typ(f.Type.Name).Kind == ir.Enum {
		return jen.Add(
			jen.Var().Id("s").Op("*").String(), jen.Line(),
			jen.List(jen.Id("s"), jen.Err()).Op("=").Add(d()).Dot("StrPtr").Call(), jen.Line(),
			lhs.Clone().Op("=").Parens(jen.Op("*").Id(f.Type.Name)).Call(jen.Id("s")),
		)
	}
	return jen.Add(
		lhs.Clone().Op("=").New(jen.Id(f.Type.Name)),
		jen.Line(),
		jen.Err().Op("=").Add(lhs).Dot("DecodeJSON").Call(d()),
	)
}

func (g *printer) decodeStruct(f *jen.File, t *ir.Type) {
	required, names, bits := bitsOf(t)
	hard := jen.Code(jen.Return(jen.Nil()))
	needs := uint64(1)<<required - 1
	if required > 0 {
		hard = jen.Return(d().Dot("Require").Call(jen.Id("seen"), mask(needs), jen.Id(requiredVar(t))))
		f.Var().Id(requiredVar(t)).Op("=").Index().String().ValuesFunc(func(v *jen.Group) {
			for _, n := range names[:required] {
				v.Lit(n)
			}
		})
	}
	docf(f, "DecodeJSON reads the next value of d into x, which should be the zero value: members that are absent leave their fields as they are.")
	f.Func().Params(ptrRecv(t.Name)).Id("DecodeJSON").Params(dec()).Error().BlockFunc(func(b *jen.Group) {
		b.Add(try(d().Dot("ObjBegin").Call()))
		b.Var().Id("seen").Uint64()
		b.For().BlockFunc(func(b *jen.Group) {
			b.List(jen.Id("k"), jen.Id("done"), jen.Err()).Op(":=").Add(d()).Dot("Key").Call()
			b.Add(ifErr())
			b.If(jen.Id("done")).Block(jen.Break())
			b.Var().Id("bit").Uint64()
			b.Switch(jen.String().Call(jen.Id("k"))).BlockFunc(func(b *jen.Group) {
				for _, fl := range t.Fields {
					b.Case(jen.Lit(fl.JSON)).BlockFunc(func(b *jen.Group) {
						b.Id("bit").Op("=").Add(mask(1 << bits[fl.JSON]))
						g.decodeField(b, fl)
					})
				}
				b.Default().BlockFunc(func(b *jen.Group) {
					if t.Closed {
						b.Err().Op("=").Add(d()).Dot("Fail").Call(wire("ErrValue"), jen.Lit("no such member"))
						return
					}
					b.Err().Op("=").Add(x()).Dot("Extra").Dot("Take").Call(d(), jen.Id("k"))
				})
			})
			b.Add(ifErr())
			b.If(jen.Id("seen").Op("&").Id("bit").Op("!=").Lit(0)).Block(jen.Return(d().Dot("Dup").Call()))
			b.Id("seen").Op("|=").Id("bit")
		})
		g.forgive(b, t, bits)
		b.Add(hard)
	})
}

// bitsOf gives each member its bit: required ones first, so that the required
// ones are all below one mask.
func bitsOf(t *ir.Type) (required int, names []string, bits map[string]int) {
	bits = map[string]int{}
	for _, want := range []bool{true, false} {
		for _, f := range t.Fields {
			if f.Required == want {
				bits[f.JSON] = len(names)
				names = append(names, f.JSON)
			}
		}
		if want {
			required = len(names)
		}
	}
	return required, names, bits
}

func requiredVar(t *ir.Type) string { return "required" + t.Name }

func mask(m uint64) jen.Code {
	if m < 10 {
		return jen.Lit(int(m))
	}
	return jen.Op("0x" + strconv.FormatUint(m, 16))
}

// decodeField prints what a case of the member switch does.
func (g *printer) decodeField(b *jen.Group, f *ir.Field) {
	lhs := x().Dot(f.Name)
	switch {
	case f.Const != "":
		b.Err().Op("=").Add(d()).Dot("Const").Call(jen.Lit(f.Const))
	case f.Default != nil && f.Type.Kind != ir.NullInt: // there null is a value
		b.If(d().Dot("Lenient").Call().Op("&&").Add(d()).Dot("Null").Call()).Block(
			lhs.Clone().Op("=").Add(g.literal(f)),
			d().Dot("Forgive").Call(jen.Lit("null, taken as "+f.Default.JSON), jen.Lit("")),
		).Else().Block(g.decodeTo(&f.Type, lhs))
		if f.Default.Negative {
			g.forgiveIf(b, f, jen.Op("<").Lit(0), "negative")
		}
		if f.Default.Empty {
			g.forgiveIf(b, f, jen.Op("==").Lit(""), "empty")
		}
	case f.Required:
		b.Add(g.decodeTo(&f.Type, lhs))
	case f.Type.Kind == ir.RawAny:
		b.Add(g.decodeTo(&f.Type, lhs)) // a null is a value here
	case f.Type.Kind == ir.RawObject:
		b.List(lhs, jen.Err()).Op("=").Add(d()).Dot("RawObjectOpt").Call()
	case isStrings(&f.Type):
		b.List(lhs, jen.Err()).Op("=").Add(d()).Dot("StrsOpt").Call()
	case g.pointer(f) && g.scalar(&f.Type):
		b.Add(g.decodeOptional(f)) // reads null as nil
	case g.pointer(f):
		b.If(jen.Op("!").Add(d()).Dot("Null").Call()).Block(g.decodeOptional(f))
	default:
		b.If(jen.Op("!").Add(d()).Dot("Null").Call()).Block(g.decodeTo(&f.Type, lhs))
	}
}

func (g *printer) forgiveIf(b *jen.Group, f *ir.Field, cond jen.Code, what string) {
	b.If(jen.Err().Op("==").Nil().Op("&&").Add(x()).Dot(f.Name).Add(cond).Op("&&").Add(d()).Dot("Lenient").Call()).Block(
		x().Dot(f.Name).Op("=").Add(g.literal(f)),
		d().Dot("Forgive").Call(jen.Lit(what+", taken as "+f.Default.JSON), jen.Lit("")),
	)
}

// forgive prints what a lenient decoder takes for required members that are
// missing.
func (g *printer) forgive(b *jen.Group, t *ir.Type, bits map[string]int) {
	var all uint64
	for _, f := range t.Fields {
		if f.Default != nil && f.Required {
			all |= 1 << bits[f.JSON]
		}
	}
	if all == 0 {
		return
	}
	b.If(jen.Id("seen").Op("&").Add(mask(all)).Op("!=").Add(mask(all)).Op("&&").Add(d()).Dot("Lenient").Call()).BlockFunc(func(b *jen.Group) {
		for _, f := range t.Fields {
			if f.Default == nil || !f.Required {
				continue
			}
			b.If(jen.Id("seen").Op("&").Add(mask(1<<bits[f.JSON])).Op("==").Lit(0)).Block(
				x().Dot(f.Name).Op("=").Add(g.literal(f)),
				d().Dot("Forgive").Call(jen.Lit("missing, taken as "+f.Default.JSON), jen.Lit(f.JSON)),
			)
		}
		b.Id("seen").Op("|=").Add(mask(all))
	})
}

// literal is the Go value of a field's lenient default.
func (g *printer) literal(f *ir.Field) jen.Code {
	text := f.Default.JSON
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		g.fail("the default of %s: %v", f.JSON, err)
		return jen.Nil()
	}
	switch f.Type.Kind {
	case ir.NullInt:
		if v == nil {
			return jen.Nil()
		}
	case ir.RawAny, ir.RawObject:
		return wire("Raw").Call(jen.Op(goString(text)))
	case ir.Slice, ir.Map:
		if text == "[]" || text == "{}" {
			return g.goType(&f.Type).Values()
		}
	case ir.Int, ir.Float:
		if n, ok := v.(float64); ok && n == float64(int64(n)) {
			return jen.Lit(int(n))
		}
	case ir.String:
		if s, ok := v.(string); ok {
			return jen.Lit(s)
		}
	case ir.Bool:
		if s, ok := v.(bool); ok {
			return jen.Lit(s)
		}
	case ir.Named:
		t := g.typ(f.Type.Name)
		if s, ok := v.(string); ok && t.Kind == ir.Enum {
			for _, e := range t.Values {
				if e.Value == s {
					return jen.Id(e.Name)
				}
			}
			return jen.Lit(s)
		}
		if text == "{}" && t.Kind == ir.Struct {
			return jen.Id(t.Name).Values()
		}
	}
	g.fail("no Go value for the default %s of %s", text, f.JSON)
	return jen.Nil()
}

// --- writing ---

// appendCall is an expression of type []byte: into with the value v appended.
// v has the type of a slice element or required field.
func (g *printer) appendCall(into jen.Code, r *ir.Ref, v *jen.Statement) *jen.Statement {
	switch r.Kind {
	case ir.String, ir.Base64:
		return wire("AppendString").Call(into, v)
	case ir.Bool:
		return wire("AppendBool").Call(into, v)
	case ir.Int:
		return wire("AppendInt").Call(into, v)
	case ir.Float:
		return wire("AppendFloat").Call(into, v)
	case ir.NullInt:
		return g.helper("appendNullInt").Call(into, v)
	case ir.RawAny:
		return wire("AppendRaw").Call(into, v)
	case ir.RawObject:
		return wire("AppendRawObject").Call(into, v)
	case ir.ID:
		return v.Clone().Dot("AppendJSON").Call(into)
	case ir.Named:
		t := g.typ(r.Name)
		switch t.Kind {
		case ir.Enum:
			return wire("AppendString").Call(into, jen.String().Call(v))
		case ir.Union:
			return g.helper("appendUnion").Call(into, v)
		}
		return v.Clone().Dot("AppendJSON").Call(into)
	case ir.Slice, ir.Map:
		if isStrings(r) {
			return wire("AppendStrings").Call(into, v)
		}
		return g.listCall("append", r, into, v)
	}
	g.fail("unknown kind of reference %d", r.Kind)
	return jen.Nil()
}

func (g *printer) appendStruct(f *jen.File, t *ir.Type) {
	docf(f, "AppendJSON appends x as compact JSON: constants and required members, optional ones that are there, then Extra. A nil x is %s.", map[bool]string{true: "{}", false: "null"}[t.Result && !anyRequired(t)])
	f.Func().Params(ptrRecv(t.Name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().BlockFunc(func(b *jen.Group) {
		if t.Result && !anyRequired(t) {
			b.If(x().Op("==").Nil()).Block(jen.Return(appendLit("{}"))) // a result is never null
		} else {
			b.If(x().Op("==").Nil()).Block(jen.Return(appendLit("null")))
		}
		open := len(t.Fields) == 0 || !t.Fields[0].Required // the first member may be absent
		text := ""
		if open {
			b.Id("n").Op(":=").Len(buf())
		} else {
			text = "{"
		}
		for i, fl := range t.Fields {
			key := quoteJSON(fl.JSON) + ":"
			if open || i > 0 {
				key = "," + key
			}
			switch {
			case fl.Const != "":
				text += key + quoteJSON(fl.Const)
			case fl.Required:
				g.appendRequired(b, fl, text+key)
				text = ""
			default:
				if text != "" {
					b.Add(lit(text))
					text = ""
				}
				b.If(g.present(fl)).Block(set(g.appendCall(appendLit(key), &fl.Type, g.appendable(fl))))
			}
		}
		if text != "" {
			b.Add(lit(text))
		}
		if !t.Closed {
			b.If(jen.Len(x().Dot("Extra")).Op(">").Lit(0)).Block(
				set(wire("AppendMembers").Call(buf(), x().Dot("Extra"), jen.Id(knownFunc(t)))),
			)
		}
		if open {
			b.Return(wire("CloseObject").Call(buf(), jen.Id("n")))
		} else {
			b.Return(appendLit("}"))
		}
	})
}

func anyRequired(t *ir.Type) bool {
	for _, f := range t.Fields {
		if f.Required {
			return true
		}
	}
	return false
}

func (g *printer) appendRequired(b *jen.Group, f *ir.Field, text string) {
	if f.Default != nil && f.Default.Zero {
		zero := jen.Lit("")
		switch f.Type.Kind {
		case ir.Int, ir.Float:
			zero = jen.Lit(0)
		case ir.RawAny, ir.RawObject, ir.Slice, ir.Map:
			zero = jen.Nil()
		}
		b.If(x().Dot(f.Name).Op("==").Add(zero)).Block(lit(text + f.Default.JSON)).Else().Block(
			set(g.appendCall(appendLit(text), &f.Type, x().Dot(f.Name))),
		)
		return
	}
	b.Add(set(g.appendCall(appendLit(text), &f.Type, x().Dot(f.Name))))
}

// appendable is the value of an optional field that is there, in a form that
// appendCall takes: methods are called on pointers as they are.
func (g *printer) appendable(f *ir.Field) *jen.Statement {
	if g.pointer(f) && f.Type.Kind == ir.Named && g.typ(f.Type.Name).Kind != ir.Enum {
		return x().Dot(f.Name)
	}
	return g.deref(f)
}

// jsonMethods prints the methods that encoding/json and its like call.
func (g *printer) jsonMethods(f *jen.File, t *ir.Type) {
	docf(f, "MarshalJSON is AppendJSON.")
	f.Func().Params(valRecv(t.Name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Return(x().Dot("AppendJSON").Call(jen.Nil()), jen.Nil()),
	)
	docf(f, "UnmarshalJSON reads a copy of data strictly into x, which is cleared before.")
	f.Func().Params(ptrRecv(t.Name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().BlockFunc(func(b *jen.Group) {
		if t.Kind == ir.MapOf {
			b.Op("*").Add(x()).Op("=").Nil()
		} else {
			b.Op("*").Add(x()).Op("=").Id(t.Name).Values()
		}
		b.Return(wire("Decode").Call(jen.Qual("bytes", "Clone").Call(jen.Id("data")), wire("Options").Values(), x()))
	})
}

// known prints the function that knows a struct's members.
func (g *printer) known(f *jen.File, t *ir.Type) {
	if t.Closed {
		return
	}
	f.Line()
	f.Func().Id(knownFunc(t)).Params(jen.Id("name").String()).Bool().BlockFunc(func(b *jen.Group) {
		if len(t.Fields) > 0 {
			b.Switch(jen.Id("name")).Block(jen.CaseFunc(func(c *jen.Group) {
				for _, fl := range t.Fields {
					c.Lit(fl.JSON)
				}
			}).Block(jen.Return(jen.True())))
		}
		b.Return(jen.False())
	})
}

func (g *printer) mapOfCodec(f *jen.File, t *ir.Type) {
	ref := &ir.Ref{Kind: ir.Map, Elem: &ir.Ref{Kind: ir.Named, Name: t.Elem}}
	docf(f, "DecodeJSON reads an object; a name that comes twice is an error.")
	f.Func().Params(ptrRecv(t.Name)).Id("DecodeJSON").Params(dec()).Params(jen.Err().Error()).Block(
		jen.List(jen.Op("*").Add(x()), jen.Err()).Op("=").Add(g.decodeCall(ref)),
		jen.Return(jen.Err()),
	)
	docf(f, "AppendJSON appends an object with sorted names, {} for nil.")
	f.Func().Params(valRecv(t.Name)).Id("AppendJSON").Params(bytesParam()).Index().Byte().Block(
		jen.Return(g.appendCall(buf(), ref, x())),
	)
	g.jsonMethods(f, t)
}

// --- slices and maps ---

// listName names the functions of a slice or map type: ToolList, StringMap.
func (g *printer) listName(r *ir.Ref) string {
	switch r.Kind {
	case ir.String, ir.Base64:
		return "String"
	case ir.Bool:
		return "Bool"
	case ir.Int:
		return "Int"
	case ir.Float:
		return "Float"
	case ir.NullInt:
		return "NullInt"
	case ir.RawAny:
		return "Raw"
	case ir.RawObject:
		return "Object"
	case ir.ID:
		return "ID"
	case ir.Named:
		return r.Name
	case ir.Slice:
		return g.listName(r.Elem) + "List"
	case ir.Map:
		return g.listName(r.Elem) + "Map"
	}
	return "?"
}

func (g *printer) listCall(verb string, r *ir.Ref, args ...jen.Code) *jen.Statement {
	g.lists[g.listName(r)] = r
	return jen.Id(verb + g.listName(r)).Call(args...)
}

func (g *printer) decodeCall(r *ir.Ref) *jen.Statement { return g.listCall("decode", r, d()) }

// listCodecs prints the functions of all slices and maps that were met; they
// may ask for further ones.
func (g *printer) listCodecs(f *jen.File) {
	done := map[string]bool{}
	for len(done) < len(g.lists) {
		for _, name := range sorted(g.lists) {
			if done[name] {
				continue
			}
			done[name] = true
			if r := g.lists[name]; r.Kind == ir.Slice {
				g.sliceCodec(f, name, r)
			} else {
				g.mapCodec(f, name, r)
			}
		}
	}
	g.helpers(f)
}

func (g *printer) sliceCodec(f *jen.File, name string, r *ir.Ref) {
	xs := jen.Id("xs")
	last := jen.Id("xs").Index(jen.Len(xs).Op("-").Lit(1))
	f.Line()
	f.Func().Id("decode"+name).Params(dec()).Params(g.goType(r), jen.Error()).Block(
		try(d().Dot("ArrBegin").Call(), jen.Nil()),
		jen.Id("start").Op(":=").Add(d()).Dot("Mark").Call(),
		jen.Id("xs").Op(":=").Add(g.goType(r)).Values(),
		jen.For().Block(
			jen.List(jen.Id("done"), jen.Err()).Op(":=").Add(d()).Dot("Elem").Call(),
			ifErr(jen.Nil()),
			jen.If(jen.Id("done")).Block(jen.Return(xs, jen.Nil())),
			jen.If(jen.Len(xs).Op("==").Cap(xs)).Block(xs.Clone().Op("=").Add(wire("Grow")).Call(d(), xs, jen.Id("start"))),
			jen.Id("at").Op(":=").Add(d()).Dot("Mark").Call(),
			xs.Clone().Op("=").Add(xs).Index(jen.Op(":").Len(xs).Op("+").Lit(1)),
			g.decodeTo(r.Elem, last),
			jen.If(jen.Err().Op("!=").Nil()).Block(
				jen.If(jen.Err().Op("=").Add(d()).Dot("Skip").Call(jen.Id("at"), jen.Err()), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
				jen.Clear(xs.Clone().Index(jen.Len(xs).Op("-").Lit(1).Op(":"))),
				xs.Clone().Op("=").Add(xs).Index(jen.Op(":").Len(xs).Op("-").Lit(1)),
			),
		),
	)
	if g.isUnion(r.Elem) {
		doc(f, "append"+name+" leaves nil items out: no peer could read a null.")
		f.Func().Id("append"+name).Params(bytesParam(), jen.Id("xs").Add(g.goType(r))).Index().Byte().Block(
			lit("["),
			jen.Id("start").Op(":=").Len(buf()),
			jen.For(jen.List(jen.Id("_"), jen.Id("v")).Op(":=").Range().Add(xs)).Block(
				jen.Id("n").Op(":=").Len(buf()),
				jen.If(jen.Id("n").Op(">").Id("start")).Block(lit(",")),
				set(g.appendCall(buf(), r.Elem, jen.Id("v"))),
				g.dropNull(),
			),
			jen.Return(appendLit("]")),
		)
		return
	}
	f.Line()
	f.Func().Id("append"+name).Params(bytesParam(), jen.Id("xs").Add(g.goType(r))).Index().Byte().Block(
		lit("["),
		jen.For(jen.Id("i").Op(":=").Range().Add(xs)).Block(
			jen.If(jen.Id("i").Op(">").Lit(0)).Block(lit(",")),
			set(g.appendCall(buf(), r.Elem, jen.Id("xs").Index(jen.Id("i")))),
		),
		jen.Return(appendLit("]")),
	)
}

func (g *printer) mapCodec(f *jen.File, name string, r *ir.Ref) {
	m := jen.Id("m")
	f.Line()
	f.Func().Id("decode"+name).Params(dec()).Params(g.goType(r), jen.Error()).Block(
		try(d().Dot("ObjBegin").Call(), jen.Nil()),
		m.Clone().Op(":=").Add(g.goType(r)).Values(),
		jen.For().Block(
			jen.List(jen.Id("k"), jen.Id("done"), jen.Err()).Op(":=").Add(d()).Dot("Key").Call(),
			ifErr(jen.Nil()),
			jen.If(jen.Id("done")).Block(jen.Return(m, jen.Nil())),
			jen.If(jen.List(jen.Id("_"), jen.Id("dup")).Op(":=").Add(m).Index(jen.String().Call(jen.Id("k"))), jen.Id("dup")).Block(
				jen.Return(jen.Nil(), d().Dot("Dup").Call()),
			),
			jen.Id("key").Op(":=").Add(d()).Dot("KeyString").Call(jen.Id("k")),
			jen.Id("at").Op(":=").Add(d()).Dot("Mark").Call(),
			jen.Var().Id("v").Add(g.goType(r.Elem)),
			g.decodeTo(r.Elem, jen.Id("v")),
			jen.If(jen.Err().Op("!=").Nil()).Block(
				jen.If(jen.Err().Op("=").Add(d()).Dot("Skip").Call(jen.Id("at"), jen.Err()), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Nil(), jen.Err())),
				jen.Continue(),
			),
			m.Clone().Index(jen.Id("key")).Op("=").Id("v"),
		),
	)
	f.Line()
	if g.isUnion(r.Elem) {
		doc(f, "append"+name+" leaves nil values out: no peer could read a null.")
	}
	f.Func().Id("append"+name).Params(bytesParam(), jen.Id("m").Add(g.goType(r))).Index().Byte().BlockFunc(func(b *jen.Group) {
		b.Add(lit("{"))
		b.Id("start").Op(":=").Len(buf())
		b.For(jen.List(jen.Id("_"), jen.Id("k")).Op(":=").Range().Add(wire("Keys")).Call(m)).BlockFunc(func(b *jen.Group) {
			if g.isUnion(r.Elem) {
				b.Id("n").Op(":=").Len(buf())
			}
			b.If(jen.Len(buf()).Op(">").Id("start")).Block(lit(","))
			b.Add(set(jen.Append(wire("AppendString").Call(buf(), jen.Id("k")), jen.LitRune(':'))))
			b.Id("v").Op(":=").Add(m).Index(jen.Id("k"))
			b.Add(set(g.appendCall(buf(), r.Elem, jen.Id("v"))))
			if g.isUnion(r.Elem) {
				b.Add(g.dropNull())
			}
		})
		b.Return(appendLit("}"))
	})
}

// isUnion says whether values are members of a union: what they are written as
// is an object, or null for nil.
func (g *printer) isUnion(r *ir.Ref) bool {
	return r.Kind == ir.Named && g.typ(r.Name).Kind == ir.Union
}

// dropNull takes back what was appended from n on if a nil was.
func (g *printer) dropNull() jen.Code {
	return jen.If(jen.Qual("bytes", "HasSuffix").Call(buf(), jen.Index().Byte().Parens(jen.Lit("null")))).Block(set(buf().Index(jen.Op(":").Id("n"))))
}

// helper is the name of a small function, which is printed when it is used.
func (g *printer) helper(name string) *jen.Statement {
	g.uses[name] = true
	return jen.Id(name)
}

// helpers prints the small functions that codecs share.
func (g *printer) helpers(f *jen.File) {
	str := jen.Id("T").Op("~").String()
	if g.uses["decodeEnum"] {
		doc(f, "decodeEnum reads a string.")
		f.Func().Id("decodeEnum").Types(str).Params(dec()).Params(jen.Id("T"), jen.Error()).Block(
			jen.List(jen.Id("s"), jen.Err()).Op(":=").Add(d()).Dot("Str").Call(),
			jen.Return(jen.Id("T").Call(jen.Id("s")), jen.Err()),
		)
	}
	if g.uses["appendUnion"] {
		doc(f, "appendUnion appends a member of a union, null for nil.")
		f.Func().Id("appendUnion").Params(bytesParam(), jen.Id("v").Add(wire("Appender"))).Index().Byte().Block(
			jen.If(jen.Id("v").Op("==").Nil()).Block(jen.Return(appendLit("null"))),
			jen.Return(jen.Id("v").Dot("AppendJSON").Call(buf())),
		)
	}
	if g.uses["appendNullInt"] {
		doc(f, "appendNullInt appends an integer, null for nil.")
		f.Func().Id("appendNullInt").Params(bytesParam(), jen.Id("v").Op("*").Int64()).Index().Byte().Block(
			jen.If(jen.Id("v").Op("==").Nil()).Block(jen.Return(appendLit("null"))),
			jen.Return(wire("AppendInt").Call(buf(), jen.Op("*").Id("v"))),
		)
	}
}
