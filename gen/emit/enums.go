package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// enumsFile prints enums: open string types with constants.
func (g *printer) enumsFile(f *jen.File) {
	for _, t := range g.kind(ir.Enum) {
		doc(f, g.typeDoc(t)...)
		f.Type().Id(t.Name).String()
		docf(f, "The known values of %s.", t.Name)
		f.Const().DefsFunc(func(b *jen.Group) {
			for _, v := range t.Values {
				doc(b, v.Doc...)
				b.Id(v.Name).Id(t.Name).Op("=").Lit(v.Value)
			}
		})
		docf(f, "Known reports whether x is one of the constants.")
		f.Func().Params(valRecv(t.Name)).Id("Known").Params().Bool().Block(
			jen.Switch(x()).Block(jen.CaseFunc(func(c *jen.Group) {
				for _, v := range t.Values {
					c.Id(v.Name)
				}
			}).Block(jen.Return(jen.True()))),
			jen.Return(jen.False()),
		)
		docf(f, "Values are the constants, in the order of their meaning.")
		f.Func().Params(jen.Id(t.Name)).Id("Values").Params().Index().Id(t.Name).Block(
			jen.Return(jen.Index().Id(t.Name).ValuesFunc(func(b *jen.Group) {
				for _, v := range t.Values {
					b.Id(v.Name)
				}
			})),
		)
		if ranked(t) {
			g.severity(f, t)
		}
	}
}

// ranked says that the order of an enum's values means something.
func ranked(t *ir.Type) bool { return t.Name == "LoggingLevel" }

func (g *printer) severity(f *jen.File, t *ir.Type) {
	last := t.Values[len(t.Values)-1]
	docf(f, "Severity is the place of x among the levels: 0 for %s, %d for %s, -1 for a level that is not known.", t.Values[0].Value, last.Rank, last.Value)
	f.Func().Params(valRecv(t.Name)).Id("Severity").Params().Int().Block(
		jen.Switch(x()).BlockFunc(func(b *jen.Group) {
			for _, v := range t.Values {
				b.Case(jen.Id(v.Name)).Block(jen.Return(jen.Lit(v.Rank)))
			}
		}),
		jen.Return(jen.Lit(-1)),
	)
}
