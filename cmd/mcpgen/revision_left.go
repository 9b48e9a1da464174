package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/emit"
)

// task is something that only a person can write.
type task struct {
	what  string
	place string                   // below the module's folder
	open  func() ([]string, error) // what is missing, nil when it is done
}

// tasks are what adding a revision asks of a person, in the order in which it is best done.
func (t tree) tasks() []task {
	pkg := "v" + strings.ReplaceAll(t.revision, "-", "")
	step := "step" + strings.TrimPrefix(pkg, "v")
	there := func(place string) func() ([]string, error) {
		return func() ([]string, error) {
			if _, err := os.Stat(t.path(filepath.FromSlash(place))); err != nil {
				return []string{"not there yet"}, nil
			}
			return nil, nil
		}
	}
	out := []task{
		{"decide what general rules decided for now, and write the reasons", "spec/" + t.revision + "/overlay.json", func() ([]string, error) {
			return openDecisions(os.DirFS(t.path("spec")), t.revision)
		}},
		{"say in our own words what is new (mcpgen docs lists it)", "spec/docs.yaml", t.gaps},
		{"give the runtime the rules of the revision: a constant, a row, Latest", "runtime/revision/revision.go", t.row},
		// Without these the tests of generated/mcp, which draft the examples, do not build.
		{"write the conversions that no rule makes, or a rule for them in gen/delta/rules.go", "generated/mcp/" + step + "/hand.go", func() ([]string, error) { return t.hand(step) }},
		{"draft an example of each type by go test ./generated/mcp -run TestOwnExamples -update, and make them say something", "testdata/examples/" + t.revision, there("testdata/examples/" + t.revision)},
		{"test a whole session", "generated/mcp/" + pkg + "/session_test.go", there("generated/mcp/" + pkg + "/session_test.go")},
	}
	return append(out,
		task{"serve and dial it together with the others", "runtime/compat", t.mentioned("runtime/compat", pkg)},
		task{"let the reference server and client speak it", "conformance/everything", t.mentioned("conformance/everything", pkg)},
		task{"say which requirements hold for it, and add the new ones", "conformance/catalogue", t.mentioned("conformance/catalogue", t.revision)},
		task{"add golden transcripts", "testdata/transcripts/" + t.revision, there("testdata/transcripts/" + t.revision)},
	)
}

// left lists the tasks, done or not.
func (t tree) left(s streams) error {
	if _, err := t.before(); err != nil {
		return err
	}
	if err := t.takenIn(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "left for a person to write, for %s:\n", t.revision)
	for _, task := range t.tasks() {
		open, err := task.open()
		if err != nil {
			return err
		}
		mark := "x"
		if len(open) > 0 {
			mark = " "
		}
		fmt.Fprintf(s.out, "  [%s] %s: %s\n", mark, task.place, task.what)
		const most = 20
		for i, o := range open {
			if i == most {
				fmt.Fprintf(s.out, "        … and %d more\n", len(open)-i)
				break
			}
			fmt.Fprintf(s.out, "        %s\n", o)
		}
	}
	return nil
}

// hand lists the functions that the printed conversions call and that are not
// written yet.
func (t tree) hand(step string) ([]string, error) {
	before, err := t.before()
	if err != nil {
		return nil, err
	}
	older, err := build.Build(os.DirFS(t.path("spec")), before)
	if err != nil {
		return nil, err
	}
	newer, err := build.Build(os.DirFS(t.path("spec")), t.revision)
	if err != nil {
		return []string{err.Error()}, nil // the overlay is not finished
	}
	plan, err := delta.Step(older, newer)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(t.path("generated", "mcp", step, "*.go"))
	if err != nil {
		return nil, err
	}
	written := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_gen.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return []string{err.Error()}, nil
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				written[fn.Name.Name] = true
			}
		}
	}
	var out []string
	for _, h := range plan.Hand {
		if !written[h.Func] {
			out = append(out, emit.HandStub(h)+" // "+h.Why)
		}
	}
	return out, nil
}

// gaps lists what has no text of our own yet.
func (t tree) gaps() ([]string, error) {
	all, err := build.Gaps(os.DirFS(t.path("spec")))
	if err != nil {
		return []string{err.Error()}, nil // the overlay is not finished
	}
	var out []string
	for _, g := range all {
		if g.Revision == t.revision {
			out = append(out, g.Name)
		}
	}
	return out, nil
}

// row says whether the table of wire rules has a row of the revision.
func (t tree) row() ([]string, error) {
	name := t.path("runtime", "revision", "revision.go")
	if _, err := os.Stat(name); err != nil {
		return []string{"not there"}, nil
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		return nil, err
	}
	consts := map[string]string{}
	text := func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, _ := strconv.Unquote(e.Value)
			return s
		case *ast.Ident:
			return consts[e.Name]
		}
		return ""
	}
	row := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if i < len(n.Values) {
					consts[id.Name] = text(n.Values[i])
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Revision" && text(n.Value) == t.revision {
				row = true
			}
		}
		return true
	})
	var out []string
	if !row {
		out = append(out, "no row; start from that of the revision before, and look for what the text of the specification changed")
	}
	if consts["Latest"] != t.revision {
		out = append(out, "Latest is "+consts["Latest"])
	}
	return out, nil
}

// mentioned says whether any file of a folder holds a word.
func (t tree) mentioned(dir, word string) func() ([]string, error) {
	return func() ([]string, error) {
		found := false
		root := t.path(filepath.FromSlash(dir))
		if _, err := os.Stat(root); err != nil {
			return []string{"not there"}, nil
		}
		err := fs.WalkDir(os.DirFS(root), ".", func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || found {
				return err
			}
			switch filepath.Ext(p) {
			case ".go", ".yaml", ".json":
				data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p)))
				found = found || bytes.Contains(data, []byte(word))
				return err
			}
			return nil
		})
		if err != nil || found {
			return nil, err
		}
		return []string{"nothing there names " + word}, nil
	}
}
