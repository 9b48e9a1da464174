package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// typesFile prints structs, named maps, aliases and interfaces.
func (g *printer) typesFile(f *jen.File) {
	for _, t := range g.p.Types {
		switch t.Kind {
		case ir.Struct:
			g.structType(f, t)
		case ir.Alias:
			doc(f, g.typeDoc(t)...)
			f.Type().Id(t.Name).Op("=").Id(t.Target)
		case ir.MapOf:
			doc(f, g.typeDoc(t)...)
			f.Type().Id(t.Name).Map(jen.String()).Id(t.Elem)
		case ir.Interface:
			g.interfaceType(f, t)
		}
	}
}

func (g *printer) structType(f *jen.File, t *ir.Type) {
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).StructFunc(func(s *jen.Group) {
		for i, fl := range fields(t) {
			if lines := g.fieldDoc(fl); len(lines) > 0 {
				if i > 0 {
					s.Line()
				}
				doc(s, lines...)
			}
			s.Id(fl.Name).Add(g.fieldType(fl)).Comment(comment(g.fieldFacts(fl)))
		}
		if !t.Closed {
			s.Id("Extra").Add(wire("Members")).Comment("// members that this revision does not name")
		}
	})
	for _, fl := range fields(t) {
		if fl.Type.Kind == ir.Base64 {
			g.bytesMethods(f, t, fl)
		}
	}
	for _, fl := range fields(t) {
		if fl.MaxItems != nil && fl.Type.Kind == ir.Slice {
			g.cut(f, t, fl)
		}
	}
	if !t.Closed {
		g.setExtra(f, t)
	}
}

// cut prints the way to keep a list within its bound.
func (g *printer) cut(f *jen.File, t *ir.Type, fl *ir.Field) {
	v := x().Dot(fl.Name)
	docf(f, "Cut%s keeps at most the first %d of %s, which is what the specification allows, and reports whether there were more.", fl.Name, *fl.MaxItems, fl.Name)
	f.Func().Params(ptrRecv(t.Name)).Id("Cut"+fl.Name).Params().Bool().Block(
		jen.If(jen.Len(v).Op("<=").Lit(*fl.MaxItems)).Block(jen.Return(jen.False())),
		v.Clone().Op("=").Add(v).Index(jen.Empty(), jen.Lit(*fl.MaxItems), jen.Lit(*fl.MaxItems)),
		jen.Return(jen.True()),
	)
}

// bytesMethods gives base64 members, which stay text, a way in and out. The
// first one of a struct takes the short name.
func (g *printer) bytesMethods(f *jen.File, t *ir.Type, fl *ir.Field) {
	name := "Bytes"
	for _, other := range fields(t) {
		if other.Type.Kind == ir.Base64 && other != fl {
			name = fl.Name + "Bytes"
		}
	}
	std := jen.Qual("encoding/base64", "StdEncoding")
	docf(f, "%s decodes %s. Line breaks in it are skipped.", name, fl.Name)
	f.Func().Params(ptrRecv(t.Name)).Id(name).Params().Params(jen.Index().Byte(), jen.Error()).BlockFunc(func(b *jen.Group) {
		if g.pointer(fl) {
			b.If(x().Dot(fl.Name).Op("==").Nil()).Block(jen.Return(jen.Nil(), jen.Nil()))
		}
		b.Return(std.Clone().Dot("DecodeString").Call(g.deref(fl)))
	})
	docf(f, "Set%s encodes p into %s.", name, fl.Name)
	f.Func().Params(ptrRecv(t.Name)).Id("Set" + name).Params(jen.Id("p").Index().Byte()).BlockFunc(func(b *jen.Group) {
		enc := wire("Base64").Call(jen.Id("p"))
		if g.pointer(fl) {
			enc = jen.New(enc)
		}
		b.Add(x().Dot(fl.Name).Op("=").Add(enc))
	})
}

// setExtra prints the way to add an unknown member that cannot collide.
func (g *printer) setExtra(f *jen.File, t *ir.Type) {
	docf(f, "SetExtra sets a member that this revision does not name; a nil value removes it. It refuses names that the type has.")
	f.Func().Params(ptrRecv(t.Name)).Id("SetExtra").Params(jen.Id("name").String(), jen.Id("value").Add(wire("Raw"))).Error().Block(
		jen.If(jen.Id(knownFunc(t)).Call(jen.Id("name"))).Block(jen.Return(jen.Op("&").Add(wire("Error")).Values(
			jen.Id("Kind").Op(":").Add(wire("ErrDuplicate")), jen.Id("Path").Op(":").Id("name"),
			jen.Id("Msg").Op(":").Lit(t.Name+" has a member of this name"),
		))),
		x().Dot("Extra").Dot("Set").Call(jen.Id("name"), jen.Id("value")),
		jen.Return(jen.Nil()),
	)
}

func knownFunc(t *ir.Type) string { return "known" + t.Name }

func (g *printer) interfaceType(f *jen.File, t *ir.Type) {
	doc(f, g.typeDoc(t)...)
	f.Type().Id(t.Name).InterfaceFunc(func(s *jen.Group) {
		for _, fl := range t.Fields {
			s.Id(fl.Name).Params().Add(g.fieldType(fl)).Comment(comment("the member " + fl.JSON))
		}
	})
	for _, a := range t.Arms {
		arm := g.typ(a.Type)
		for _, getter := range t.Fields {
			fl := field(arm, getter.JSON)
			if fl == nil {
				g.fail("%s has no member %s, which %s needs", a.Type, getter.JSON, t.Name)
				return
			}
			if g.gets[a.Type+"."+getter.Name] {
				continue
			}
			g.gets[a.Type+"."+getter.Name] = true
			docf(f, "%s returns %s, as %s asks for.", getter.Name, fl.Name, t.Name)
			f.Func().Params(ptrRecv(a.Type)).Id(getter.Name).Params().Add(g.fieldType(getter)).Block(jen.Return(x().Dot(fl.Name)))
		}
	}
}
