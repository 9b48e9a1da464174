package emit

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// valuesFile prints Clone and Validate.
func (g *printer) valuesFile(f *jen.File) {
	for _, t := range g.p.Types {
		switch t.Kind {
		case ir.Struct:
			g.clone(f, t.Name)
			f.Line()
			f.Func().Params(ptrRecv(t.Name)).Id("detach").Params().BlockFunc(func(b *jen.Group) {
				for _, fl := range fields(t) {
					g.detachField(b, fl)
				}
				if !t.Closed {
					b.Add(x().Dot("Extra").Op("=").Add(x()).Dot("Extra").Dot("Clone").Call())
				}
			})
			docf(f, "Validate reports the first thing in x that the specification does not allow or that cannot be written as it is: a bound, a union or id "+
				"that is missing, an empty string for a required one of a set, a raw value that is not JSON. Decoding does not ask for it.")
			f.Func().Params(ptrRecv(t.Name)).Id("Validate").Params().Error().BlockFunc(func(b *jen.Group) {
				b.If(x().Op("==").Nil()).Block(jen.Return(missing("")))
				for _, fl := range fields(t) {
					g.validateField(b, fl)
				}
				if t.Closed {
					b.Return(jen.Nil())
					return
				}
				b.Return(x().Dot("Extra").Dot("Check").Call(jen.Id(knownFunc(t))))
			})
		case ir.OneOrMany:
			list := &ir.Ref{Kind: ir.Slice, Elem: &ir.Ref{Kind: ir.Named, Name: t.Elem}}
			g.clone(f, t.Name)
			f.Line()
			f.Func().Params(ptrRecv(t.Name)).Id("detach").Params().BlockFunc(func(b *jen.Group) {
				g.detach(b, list, x().Dot("Items"), 0)
			})
			docf(f, "Validate reports the first item that the specification does not allow.")
			f.Func().Params(ptrRecv(t.Name)).Id("Validate").Params().Error().BlockFunc(func(b *jen.Group) {
				g.validate(b, list, x().Dot("Items"), nil, 0)
				b.Return(jen.Nil())
			})
		case ir.RawUnion, ir.KeyedRaw:
			g.cloneRaw(f, t.Name)
		case ir.Union:
			g.cloneRaw(f, unknownName(t))
			g.cloneUnion(f, t)
		case ir.MapOf:
			ref := &ir.Ref{Kind: ir.Map, Elem: &ir.Ref{Kind: ir.Named, Name: t.Elem}}
			docf(f, "Clone returns a copy that shares nothing with x; nil stays nil.")
			f.Func().Params(valRecv(t.Name)).Id("Clone").Params().Id(t.Name).BlockFunc(func(b *jen.Group) {
				g.detach(b, ref, x(), 0)
				b.Return(x())
			})
			docf(f, "Validate reports the first value that the specification does not allow.")
			f.Func().Params(valRecv(t.Name)).Id("Validate").Params().Error().BlockFunc(func(b *jen.Group) {
				g.validate(b, ref, x(), nil, 0)
				b.Return(jen.Nil())
			})
		}
	}
}

// clone prints Clone on top of detach, which replaces in place what x shares.
func (g *printer) clone(f *jen.File, name string) {
	docf(f, "Clone returns a copy that shares nothing with x, nor with the message that x came from; nil stays nil.")
	f.Func().Params(ptrRecv(name)).Id("Clone").Params().Op("*").Id(name).Block(
		jen.If(x().Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Id("c").Op(":=").Op("*").Add(x()),
		jen.Id("c").Dot("detach").Call(),
		jen.Return(jen.Op("&").Id("c")),
	)
}

func (g *printer) cloneRaw(f *jen.File, name string) {
	g.clone(f, name)
	f.Line()
	f.Func().Params(ptrRecv(name)).Id("detach").Params().BlockFunc(func(b *jen.Group) {
		if len(name) > 7 && name[:7] == "Unknown" && g.types[name] == nil {
			b.Add(x().Dot("Tag").Op("=").Qual("strings", "Clone").Call(x().Dot("Tag")))
		}
		b.Add(x().Dot("Raw").Op("=").Add(x()).Dot("Raw").Dot("Clone").Call())
	})
}

func (g *printer) cloneUnion(f *jen.File, t *ir.Type) {
	v := jen.Id("v")
	f.Line()
	f.Func().Id("clone"+t.Name).Params(jen.Id("v").Id(t.Name)).Id(t.Name).Block(
		jen.Switch(jen.Id("v").Op(":=").Id("v").Assert(jen.Type())).BlockFunc(func(b *jen.Group) {
			for _, n := range append(armNames(t), "*"+unknownName(t)) {
				b.Case(jen.Op("*").Id(n[1:])).Block(jen.Return(v.Clone().Dot("Clone").Call()))
			}
		}),
		jen.Return(v),
	)
}

func index(depth int) *jen.Statement {
	if depth == 0 {
		return jen.Id("i")
	}
	return jen.Id("i" + strconv.Itoa(depth+1))
}

func key(depth int) *jen.Statement {
	if depth == 0 {
		return jen.Id("k")
	}
	return jen.Id("k" + strconv.Itoa(depth+1))
}

// detachField replaces what a field shares by a copy.
func (g *printer) detachField(b *jen.Group, f *ir.Field) {
	v := x().Dot(f.Name)
	if !g.pointer(f) {
		g.detach(b, &f.Type, v, 0)
		return
	}
	switch f.Type.Kind {
	case ir.String, ir.Base64:
		b.If(v.Clone().Op("!=").Nil()).Block(v.Clone().Op("=").New(jen.Qual("strings", "Clone").Call(jen.Op("*").Add(v))))
	case ir.Named:
		if g.typ(f.Type.Name).Kind == ir.Enum {
			b.If(v.Clone().Op("!=").Nil()).Block(v.Clone().Op("=").New(g.cloneEnum(f.Type.Name, jen.Op("*").Add(v))))
			return
		}
		b.Add(v.Clone().Op("=").Add(v).Dot("Clone").Call())
	default:
		b.If(v.Clone().Op("!=").Nil()).Block(v.Clone().Op("=").New(jen.Op("*").Add(v)))
	}
}

func (g *printer) cloneEnum(name string, v jen.Code) *jen.Statement {
	return jen.Id(name).Call(jen.Qual("strings", "Clone").Call(jen.String().Call(v)))
}

// detach replaces what v shares by a copy. v is an lvalue.
func (g *printer) detach(b *jen.Group, r *ir.Ref, v *jen.Statement, depth int) {
	assign := func(value jen.Code) { b.Add(v.Clone().Op("=").Add(value)) }
	switch r.Kind {
	case ir.String, ir.Base64:
		assign(jen.Qual("strings", "Clone").Call(v))
	case ir.NullInt:
		b.If(v.Clone().Op("!=").Nil()).Block(v.Clone().Op("=").New(jen.Op("*").Add(v)))
	case ir.RawAny, ir.RawObject:
		assign(v.Clone().Dot("Clone").Call())
	case ir.Named:
		t := g.typ(r.Name)
		switch t.Kind {
		case ir.Enum:
			assign(g.cloneEnum(r.Name, v))
		case ir.Union:
			assign(jen.Id("clone" + t.Name).Call(v))
		case ir.MapOf:
			assign(v.Clone().Dot("Clone").Call())
		default:
			b.Add(v.Clone().Dot("detach").Call())
		}
	case ir.Slice:
		assign(jen.Qual("slices", "Clone").Call(v))
		if !g.flat(r.Elem) {
			i := index(depth)
			b.For(i.Clone().Op(":=").Range().Add(v)).BlockFunc(func(b *jen.Group) {
				g.detach(b, r.Elem, v.Clone().Index(i), depth+1)
			})
		}
	case ir.Map:
		// Keys alias the message too when strings do.
		k := key(depth)
		e := jen.Id("e")
		if depth > 0 {
			e = jen.Id("e" + strconv.Itoa(depth+1))
		}
		m := jen.Id("m")
		if depth > 0 {
			m = jen.Id("m" + strconv.Itoa(depth+1))
		}
		b.If(v.Clone().Op("!=").Nil()).BlockFunc(func(b *jen.Group) {
			b.Add(m.Clone().Op(":=").Make(g.goType(r), jen.Len(v)))
			b.For(jen.List(k, e).Op(":=").Range().Add(v)).BlockFunc(func(b *jen.Group) {
				g.detach(b, r.Elem, e, depth+1)
				b.Add(m.Clone().Index(jen.Qual("strings", "Clone").Call(k)).Op("=").Add(e))
			})
			b.Add(v.Clone().Op("=").Add(m))
		})
	}
}

// flat says that a value shares nothing.
func (g *printer) flat(r *ir.Ref) bool {
	return r.Kind == ir.Bool || r.Kind == ir.Int || r.Kind == ir.Float || r.Kind == ir.ID // an id owns its text
}

// --- Validate ---

// step is one step of the path of a problem: a member, an index, a key.
type step struct {
	member string
	index  *jen.Statement
	key    *jen.Statement
}

// pathExpr is the Go expression of a path.
func pathExpr(steps []step) *jen.Statement {
	expr := jen.Null()
	text := ""
	plus := false
	add := func(code jen.Code) {
		if plus {
			expr.Op("+")
		}
		expr.Add(code)
		plus = true
	}
	for _, s := range steps {
		switch {
		case s.member != "":
			if text != "" || plus {
				text += "."
			}
			text += s.member
		case s.index != nil:
			add(jen.Lit(text + "["))
			add(jen.Qual("strconv", "Itoa").Call(s.index))
			text = "]"
		case s.key != nil:
			add(jen.Lit(text + "["))
			add(jen.Qual("strconv", "Quote").Call(s.key))
			text = "]"
		}
	}
	if text != "" || !plus {
		add(jen.Lit(text))
	}
	return expr
}

func problemAt(kind string, path []step, msg string) jen.Code {
	return jen.Op("&").Add(wire("Error")).ValuesFunc(func(v *jen.Group) {
		v.Id("Kind").Op(":").Add(wire(kind))
		if len(path) > 0 {
			v.Id("Path").Op(":").Add(pathExpr(path))
		}
		v.Id("Msg").Op(":").Lit(msg)
	})
}

func (g *printer) validateField(b *jen.Group, f *ir.Field) {
	path := []step{{member: f.JSON}}
	v := x().Dot(f.Name)
	val := g.deref(f)
	bound := func(cond jen.Code, msg string) {
		c := jen.Add(cond)
		if g.pointer(f) {
			c = v.Clone().Op("!=").Nil().Op("&&").Add(cond)
		}
		b.If(c).Block(jen.Return(problemAt("ErrRange", path, msg)))
	}
	if f.Min != nil {
		bound(jen.Add(val).Op("<").Add(number(*f.Min)), "less than "+text(*f.Min))
	}
	if f.Max != nil {
		bound(jen.Add(val).Op(">").Add(number(*f.Max)), "more than "+text(*f.Max))
	}
	if f.MaxItems != nil {
		b.If(jen.Len(v).Op(">").Lit(*f.MaxItems)).Block(jen.Return(problemAt("ErrRange", path, "more than "+strconv.Itoa(*f.MaxItems)+" items")))
	}
	if f.Required && f.Default != nil && f.Default.Zero && g.flatNamed(&f.Type) {
		return // the encoder writes a value
	}
	if !f.Required && !g.validates(&f.Type) {
		return
	}
	if !f.Required {
		cond := g.present(f)
		if f.Type.Kind == ir.ID || g.flatNamed(&f.Type) {
			return
		}
		b.If(cond).BlockFunc(func(b *jen.Group) { g.validate(b, &f.Type, v, path, 0) })
		return
	}
	g.validate(b, &f.Type, v, path, 0)
}

// flatNamed says that an optional value has nothing below it to look at: an
// optional enum may be anything.
func (g *printer) flatNamed(r *ir.Ref) bool {
	return r.Kind == ir.Named && g.typ(r.Name).Kind == ir.Enum
}

func number(v float64) jen.Code {
	if v == float64(int64(v)) {
		return jen.Lit(int(v))
	}
	return jen.Lit(v)
}

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// validate prints the checks of a required value at a path.
func (g *printer) validate(b *jen.Group, r *ir.Ref, v *jen.Statement, path []step, depth int) {
	if !g.validates(r) {
		return
	}
	under := func(call *jen.Statement) {
		if len(path) == 0 {
			b.Add(try(call))
			return
		}
		b.If(jen.Err().Op(":=").Add(call), jen.Err().Op("!=").Nil()).Block(jen.Return(wire("Under").Call(pathExpr(path), jen.Err())))
	}
	switch r.Kind {
	case ir.RawAny:
		under(v.Clone().Dot("Check").Call())
	case ir.RawObject:
		under(v.Clone().Dot("CheckObject").Call())
	case ir.ID:
		b.If(v.Clone().Dot("IsZero").Call()).Block(jen.Return(problemAt("ErrMissing", path, "missing")))
	case ir.Named:
		t := g.typ(r.Name)
		switch t.Kind {
		case ir.Enum:
			b.If(v.Clone().Op("==").Lit("")).Block(jen.Return(problemAt("ErrValue", path, "empty")))
			return
		case ir.Union:
			b.If(v.Clone().Op("==").Nil()).Block(jen.Return(problemAt("ErrMissing", path, "missing")))
		}
		under(v.Clone().Dot("Validate").Call())
	case ir.Slice:
		i := index(depth)
		b.For(i.Clone().Op(":=").Range().Add(v)).BlockFunc(func(b *jen.Group) {
			g.validate(b, r.Elem, v.Clone().Index(i), append(path[:len(path):len(path)], step{index: i}), depth+1)
		})
	case ir.Map:
		k := key(depth)
		e := jen.Id("e" + strconv.Itoa(depth+1))
		under(wire("CheckKeys").Call(v))
		if !g.validates(r.Elem) {
			return
		}
		b.For(jen.List(k, e).Op(":=").Range().Add(v)).BlockFunc(func(b *jen.Group) {
			g.validate(b, r.Elem, e, append(path[:len(path):len(path)], step{key: k}), depth+1)
		})
	}
}

// validates says whether there is anything to look at in a value.
func (g *printer) validates(r *ir.Ref) bool {
	switch r.Kind {
	case ir.ID, ir.RawAny, ir.RawObject, ir.Map, ir.Named:
		return true
	case ir.Slice:
		return g.validates(r.Elem)
	}
	return false
}
