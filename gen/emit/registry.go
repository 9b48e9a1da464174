package emit

import (
	"bytes"
	"fmt"
	"path"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// Registry prints a test file for the folder that the packages are in: all
// types by revision and name, so that one test can go over all of them. It is
// built on functions that a hand-written file of that folder has.
func Registry(pkgs []*ir.Package, steps []*ir.StepPackage) (name string, data []byte, err error) {
	if len(pkgs) == 0 {
		return "", nil, fmt.Errorf("no packages")
	}
	dir := path.Dir(pkgs[0].Dir)
	f := jen.NewFilePathName(Module+"/generated/"+dir+"_test", "mcp_test")
	f.HeaderComment(Header + " spec/. DO NOT EDIT.")
	f.Comment("//lint:file-ignore SA1019 deprecated types are tested too")
	f.Line()
	f.Comment("// types are the types of all packages, by revision and name.")
	f.Var().Id("types").Op("=").Map(jen.String()).Map(jen.String()).Id("entry").ValuesFunc(func(b *jen.Group) {
		for _, p := range pkgs {
			pkgPath := Module + "/generated/" + p.Dir
			f.ImportAlias(pkgPath, path.Base(p.Dir))
			b.Line().Lit(p.Revision).Op(":").ValuesFunc(func(b *jen.Group) {
				for _, t := range p.Types {
					q := jen.Qual(pkgPath, t.Name)
					var v *jen.Statement
					switch t.Kind {
					case ir.Struct, ir.RawUnion, ir.KeyedRaw, ir.OneOrMany:
						v = jen.Id("typ").Index(q).Call()
					case ir.MapOf:
						v = jen.Id("named").Index(q).Call()
					case ir.Union:
						v = jen.Id("union").Call(jen.Qual(pkgPath, decodeName(t)))
					default:
						continue
					}
					b.Line().Lit(t.Name).Op(":").Add(v)
				}
				b.Line()
			})
		}
		b.Line()
	})
	f.Comment("// methodTables are the tables of all packages.")
	f.Var().Id("methodTables").Op("=").Map(jen.String()).Index().Add(jsonrpc("Method")).ValuesFunc(func(b *jen.Group) {
		for _, p := range pkgs {
			if len(p.Methods) > 0 {
				b.Line().Lit(p.Revision).Op(":").Qual(Module+"/generated/"+p.Dir, "Methods")
			}
		}
		b.Line()
	})
	whole := func(name, doc, method string) {
		f.Comment("// " + name + " " + doc)
		f.Var().Id(name).Op("=").Map(jen.String()).Id("wholeDecoder").ValuesFunc(func(b *jen.Group) {
			for _, p := range pkgs {
				if len(p.Methods) > 0 {
					pkgPath := Module + "/generated/" + p.Dir
					b.Line().Lit(p.Revision).Op(":").Id("whole").Call(jen.Qual(pkgPath, "Decode"), jen.Qual(pkgPath, "Request").Dot(method))
				}
			}
			b.Line()
		})
	}
	whole("decoders", "read whole messages, and answers as far as they can be read.", "DecodeResponse")
	whole("strictDecoders", "read whole messages, and answers strictly.", "DecodeResponseStrict")
	f.Comment("// servers are the smallest servers of all packages.")
	f.Var().Id("servers").Op("=").Map(jen.String()).Add(jsonrpc("Binder")).ValuesFunc(func(b *jen.Group) {
		for _, p := range pkgs {
			if len(p.Methods) > 0 {
				pkgPath := Module + "/generated/" + p.Dir
				b.Line().Lit(p.Revision).Op(":").Qual(pkgPath, "Server").Values(jen.Id("Info").Op(":").Qual(pkgPath, "Implementation").Values(jen.Id("Name").Op(":").Lit("s")))
			}
		}
		b.Line()
	})
	f.Comment("// conversions are the conversions of all steps, by the step and by the name of the type in the newer revision.")
	f.Var().Id("conversions").Op("=").Map(jen.String()).Map(jen.String()).Id("conversion").ValuesFunc(func(b *jen.Group) {
		for _, s := range steps {
			stepPath := Module + "/generated/" + s.Dir
			o, n := Module+"/generated/"+s.Older.Dir, Module+"/generated/"+s.Newer.Dir
			f.ImportName(stepPath, s.Name)
			b.Line().Lit(s.Name).Op(":").ValuesFunc(func(b *jen.Group) {
				for _, w := range s.Up {
					up, down := jen.Qual(stepPath, "Upgrade"+w.To.Name), jen.Qual(stepPath, "Downgrade"+w.To.Name)
					switch w.Kind {
					case ir.CastEnum:
						continue
					case ir.ByArm:
						b.Line().Lit(w.To.Name).Op(":").Id("unionPair").Call(jen.Qual(o, decodeName(w.From)), jen.Qual(n, decodeName(w.To)), up, down)
					case ir.EachElem:
						b.Line().Lit(w.To.Name).Op(":").Id("mapPair").Call(up, down)
					default:
						b.Line().Lit(w.To.Name).Op(":").Id("typePair").Call(up, down)
					}
				}
				b.Line()
			})
		}
		b.Line()
	})
	f.ImportName(jsonrpcPath, "jsonrpc")
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		return "", nil, err
	}
	return path.Join(dir, "registry_gen_test.go"), out.Bytes(), nil
}
