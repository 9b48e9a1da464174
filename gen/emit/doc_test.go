package emit_test

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// printed gives types_gen.go of a model.
func printed(t *testing.T, p *ir.Package) string {
	t.Helper()
	files, err := emit.Package(p)
	require.NoError(t, err)
	return string(files["types_gen.go"])
}

// TestCommentsAreWrapped holds that paragraphs and items of lists are wrapped
// at 80 columns, wherever their lines end, and that nothing else is touched.
func TestCommentsAreWrapped(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	thing := object("Thing", required("a", "A", kind(ir.String)))
	thing.Doc = []string{
		"Thing has " + long + ".", "",
		"It is cut", "where " + long, "somebody else cut it.", "",
		"Short lines", "stay.", "",
		"- item " + long, "- short", "",
		"    preformatted " + long,
	}
	thing.Fields[0].Doc = []string{"A is " + long + "."}
	out := printed(t, pkg(thing))
	require.Contains(t, out, "// Thing has word word word word word word word word word word word word word\n// word word")
	require.Contains(t, out, "// It is cut where word word word word word word word word word word word word\n")
	require.Contains(t, out, "// Short lines\n// stay.\n")
	require.Regexp(t, `\n//   - item( word)+\n//     word`, out)
	require.Contains(t, out, "\n//   - short\n")
	require.Contains(t, out, "preformatted "+long+"\n")
	require.Contains(t, out, "\t// A is word word word word word word word word word word word word word\n\t// word")
	for line := range strings.Lines(out) {
		if strings.HasPrefix(strings.TrimSpace(line), "//") && !strings.Contains(line, "preformatted") && !strings.Contains(line, "DO NOT EDIT") {
			require.LessOrEqual(t, columns(line), 80, line)
		}
	}
}

// TestCommentsOfAnyText holds that no description, and no name of a member, can
// make the file another than it is: one that does not compile, or compiles only
// under some build constraint.
func TestCommentsOfAnyText(t *testing.T) {
	var all strings.Builder
	for r := range rune(0xa0) {
		all.WriteRune(r)
	}
	thing := object("Thing", required("a", "A", kind(ir.String)), required("+build ignore", "B", kind(ir.String)))
	thing.Doc = []string{"Thing is.", "+build ignore", "\t +build linux,!cgo", "+build", "+builds are fine", all.String(), "\ufeff\u2028\xff",
		"//go:build ignore", "go:build ignore", "//line x.go:1", "*/ func init() {}", "+build\x00ignore"}
	thing.Fields[0].Doc = thing.Doc
	p := pkg(thing)
	p.Doc, p.Changes = thing.Doc, thing.Doc
	files, err := emit.Package(p)
	require.NoError(t, err)
	for name, src := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		require.NoError(t, err)
		for _, g := range f.Comments {
			for _, c := range g.List {
				require.False(t, constraint.IsPlusBuild(c.Text) || constraint.IsGoBuild(c.Text), "%s: %s", name, c.Text)
			}
		}
	}
	require.Contains(t, string(files["types_gen.go"]), `// \+build ignore`)
}

// TestPackageComment holds what is said of a package.
func TestPackageComment(t *testing.T) {
	p := pkg(object("Thing"))
	require.Contains(t, printed(t, p), "\n\n// Package mcp holds the Model Context Protocol of revision 2099-01-01: its\n// types")
	p.Doc = []string{"Package mcp is " + strings.Repeat("word ", 20) + "good.", "", "Use it."}
	p.Changes = []string{"Since 2098-01-01:", "- " + strings.Repeat("word ", 20) + "came", "- one went", "Nothing else."}
	out := printed(t, p)
	require.Regexp(t, `\n\n// Package mcp is( word)+\n// word[ a-z]+\.\n//\n// Use it\.\n//\n// # Members\n//\n// A required`, out)
	require.Regexp(t, `\n// # Changes\n//\n// Since 2098-01-01:\n//   - word( word)+\n//     word[ a-z]+ came\n//   - one went\n//\n// Nothing else\.\npackage mcp`, out)
}

// columns is how wide a line is, with tabs of four.
func columns(line string) int {
	return utf8.RuneCountInString(strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    "))
}

// TestOrigins holds what is said of a type beside its own text: who sends it,
// since when, where the specification has it.
func TestOrigins(t *testing.T) {
	params := object("ListThingsParams", required("a", "A", kind(ir.String)))
	params.Schema, params.Params, params.Role, params.Since = "PagedRequestParams", true, ir.FromClient, "2098-01-01"
	params.Doc = []string{"ListThingsParams are what they are."}
	inline := object("Inner", optional("b", "B", kind(ir.String)))
	inline.Schema, inline.Role = "/$defs/Outer/properties/inner", ir.FromServer
	inline.Fields[0].Since = "2098-02-02"
	level := &ir.Type{Name: "Level", Schema: "Level", Kind: ir.Enum, Since: "2099-01-01", Doc: []string{"Level is how much."}, Values: []*ir.EnumValue{{Name: "LevelLow", Value: "low"}}}
	p := pkg(params, inline, level)
	p.Methods = []*ir.Method{{Name: "things/list", Definition: "ListThingsRequest", Go: "ListThings", Const: "MethodThingsList", Params: "ListThingsParams", Result: "Inner"}}
	p.Place = "https://example.com/schema#{anchor}"
	files, err := emit.Package(p)
	require.NoError(t, err)
	out := string(files["types_gen.go"])
	require.Contains(t, out, "// ListThingsParams are what they are.\n//\n// Sent by the client; in the protocol since 2098-01-01.\n"+
		"// See https://example.com/schema#listthingsrequest\ntype ListThingsParams")
	require.Contains(t, out, "// Sent by the server.\n// See https://example.com/schema#outer\ntype Inner")
	require.Contains(t, out, "// b; since 2098-02-02\n")
	require.Contains(t, string(files["enums_gen.go"]), "// Level is how much. Values that are not among the constants are kept.\n//\n// In the protocol since 2099-01-01.\n")

	p.Place = "https://example.com/schema.ts"
	require.Contains(t, printed(t, p), "// See Outer in https://example.com/schema.ts\ntype Inner")
	p.Place = ""
	require.NotContains(t, printed(t, p), "See ")
}

// declared are the exported names of a package, with those of fields and
// methods as "Type.Name", and the comment of each.
func declared(t *testing.T, files map[string][]byte) (names map[string]string, comments []*ast.Comment) {
	t.Helper()
	names = map[string]string{}
	embedded := map[string][]string{}
	add := func(name string, docs ...*ast.CommentGroup) {
		last := name[strings.LastIndexByte(name, '.')+1:]
		if !ast.IsExported(last) || !ast.IsExported(name) {
			return
		}
		text := ""
		for _, d := range docs {
			text += d.Text()
		}
		names[name] = text
	}
	fields := func(owner string, list *ast.FieldList) {
		for _, f := range list.List {
			for _, n := range f.Names {
				add(owner+"."+n.Name, f.Doc, f.Comment)
			}
			if id, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
				embedded[owner] = append(embedded[owner], id.Name)
			}
		}
	}
	for name, data := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments)
		require.NoError(t, err)
		for _, g := range f.Comments {
			comments = append(comments, g.List...)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					r := d.Recv.List[0].Type
					if s, ok := r.(*ast.StarExpr); ok {
						r = s.X
					}
					name = r.(*ast.Ident).Name + "." + name
				}
				add(name, d.Doc)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						add(s.Names[0].Name, d.Doc, s.Doc, s.Comment)
					case *ast.TypeSpec:
						add(s.Name.Name, d.Doc, s.Doc)
						switch typ := s.Type.(type) {
						case *ast.StructType:
							fields(s.Name.Name, typ.Fields)
						case *ast.InterfaceType:
							fields(s.Name.Name, typ.Methods)
						}
					}
				}
			}
		}
	}
	for owner, list := range embedded {
		for _, e := range list {
			for n, text := range names {
				if rest, ok := strings.CutPrefix(n, e+"."); ok && names[owner+"."+rest] == "" {
					names[owner+"."+rest] = text
				}
			}
		}
	}
	return names, comments
}

var docLink = regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// TestPackageDocs holds that all that the packages of all revisions declare is
// documented, that types of the schema name their place in the specification,
// that links lead to something, and that comments are wrapped.
func TestPackageDocs(t *testing.T) {
	pkgs, err := build.All(spec.Files())
	require.NoError(t, err)
	for _, p := range pkgs {
		files, err := emit.Package(p)
		require.NoError(t, err)
		names, comments := declared(t, files)
		require.Greater(t, len(names), 700)
		for n, text := range names {
			if text == "" {
				t.Errorf("%s: %s has no comment", p.Revision, n)
			}
		}
		for _, typ := range p.Types {
			place := regexp.MustCompile(`\bSee\s+(\w+\s+in\s+)?https://\S*` + regexp.QuoteMeta(p.Revision) + `\S*`)
			for _, e := range p.Extensions {
				if e.ID == typ.Extension {
					place = regexp.MustCompile(`\bSee\s+` + regexp.QuoteMeta(e.Place))
				}
			}
			if !place.MatchString(names[typ.Name]) {
				t.Errorf("%s: %s does not say where the specification has it: %s", p.Revision, typ.Name, names[typ.Name])
			}
		}
		links := 0
		for _, c := range comments {
			for _, m := range docLink.FindAllStringSubmatch(c.Text, -1) {
				links++
				if names[m[1]] == "" {
					t.Errorf("%s: the link %s leads nowhere: %s", p.Revision, m[0], c.Text)
				}
			}
			if utf8.RuneCountInString(c.Text) > 80 && !strings.Contains(c.Text, "https://") && !strings.Contains(c.Text, emit.Header) {
				t.Errorf("%s: the comment is too wide: %s", p.Revision, c.Text)
			}
		}
		require.Greater(t, links, 10)
	}
}
