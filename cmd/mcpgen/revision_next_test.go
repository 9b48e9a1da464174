package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen"
	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

// exports are the compiled packages that printed code may import: path to file.
var exports = sync.OnceValues(func() (map[string]string, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./runtime/wire", "./runtime/jsonrpc", "./runtime/revision",
		"context", "encoding/base64", "errors", "fmt", "iter", "maps", "math", "slices", "strings", "bytes", "strconv")
	cmd.Dir = "../.."
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, errs.String())
	}
	all := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all[p.ImportPath] = p.Export
	}
})

// checker type checks printed packages. The compiler accepts what it accepts.
type checker struct {
	fset *token.FileSet
	conf types.Config
	made map[string]*types.Package // by import path
}

func newChecker(t testing.TB) *checker {
	t.Helper()
	files, err := exports()
	require.NoError(t, err)
	c := &checker{fset: token.NewFileSet(), made: map[string]*types.Package{}}
	compiled := importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("printed code imports %s", path)
		}
		return os.Open(files[path])
	})
	c.conf = types.Config{GoVersion: "go1.26", Importer: importing(func(path string) (*types.Package, error) {
		if p := c.made[path]; p != nil {
			return p, nil
		}
		return compiled.Import(path)
	})}
	return c
}

// importing is a function that imports packages.
type importing func(path string) (*types.Package, error)

func (f importing) Import(path string) (*types.Package, error) { return f(path) }

// check says what is wrong with a package.
func (c *checker) check(files map[string][]byte) (*types.Package, error) {
	var parsed []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := parser.ParseFile(c.fset, name, files[name], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	return c.conf.Check("mcp", c.fset, parsed, nil)
}

// step prints the conversions between two packages, holds that they compile
// once a person has written what is asked for, and lists that.
func (c *checker) step(t *testing.T, older, newer side) string {
	t.Helper()
	plan, err := delta.Step(older.p, newer.p)
	require.NoError(t, err)
	files, err := emit.Step(plan)
	require.NoError(t, err)
	o, n := emit.Module+"/generated/"+older.p.Dir, emit.Module+"/generated/"+newer.p.Dir
	c.made[o], c.made[n] = older.code, newer.code
	var list, hand strings.Builder
	fmt.Fprintf(&hand, "package %s\n\nimport (\n\tolder %q\n\tnewer %q\n\t%q\n)\n\nvar (\n\t_ older.Server\n\t_ newer.Server\n\t_ wire.Raw\n)\n", plan.Name, o, n, emit.Module+"/runtime/wire")
	for _, h := range plan.Hand {
		fmt.Fprintf(&list, "%s // %s\n", emit.HandStub(h), h.Why)
		fmt.Fprintf(&hand, "\n%s { panic(0) }\n", emit.HandStub(h))
	}
	files["hand.go"] = []byte(hand.String())
	_, err = c.check(files)
	require.NoError(t, err, "the step does not compile")
	return list.String()
}

var update = flag.Bool("update", false, "write the golden files anew")

// next is the name of the revision that the cases make up.
const next = "2027-01-15"

// nextSchema lays the changes of a case over the newest schema that the cases know. A case says
// what its definitions hold instead: null takes a member away; a list is
// replaced, or with "+" before its name lengthened, with "-" shortened; and
// "->" before the name of a definition renames it everywhere.
func nextSchema(t *testing.T, changes string) []byte {
	t.Helper()
	base, err := fs.ReadFile(spectest.Files(), spectest.Newest+"/schema.json")
	require.NoError(t, err)
	var file, change map[string]any
	require.NoError(t, json.Unmarshal(base, &file))
	require.NoError(t, json.Unmarshal([]byte(changes), &change))
	defs := file["$defs"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(change)) {
		older, ok := strings.CutPrefix(name, "->")
		if !ok {
			continue
		}
		newer := change[name].(string)
		require.NotNil(t, defs[older], older)
		text, err := json.Marshal(defs)
		require.NoError(t, err)
		defs = map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"#/$defs/`+older+`"`, `"#/$defs/`+newer+`"`)), &defs))
		defs[newer] = defs[older]
		delete(defs, older)
		delete(change, name)
	}
	file["$defs"] = overlaid(defs, change)
	data, err := json.MarshalIndent(file, "", "  ")
	require.NoError(t, err)
	return data
}

func overlaid(have, change map[string]any) map[string]any {
	if have == nil {
		have = map[string]any{}
	}
	for k, v := range change {
		if name, ok := strings.CutPrefix(k, "+"); ok {
			list, _ := have[name].([]any)
			have[name] = append(list, v.([]any)...)
			continue
		}
		if name, ok := strings.CutPrefix(k, "-"); ok {
			list, _ := have[name].([]any)
			have[name] = slices.DeleteFunc(list, func(x any) bool {
				return slices.ContainsFunc(v.([]any), func(y any) bool { return fmt.Sprint(x) == fmt.Sprint(y) })
			})
			continue
		}
		switch v := v.(type) {
		case nil:
			delete(have, k)
		case map[string]any:
			inner, _ := have[k].(map[string]any)
			have[k] = overlaid(inner, v)
		default:
			have[k] = v
		}
	}
	return have
}

// TestNextRevisions goes over made-up next revisions: what changed in the
// schema, and what is said of it, or why it is refused. A package that is made
// compiles, what is said of old code is so, and it is the same package whether
// general rules decided or the overlay that they wrote.
func TestNextRevisions(t *testing.T) {
	files, err := filepath.Glob("../../testdata/gen/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	c := newChecker(t)
	older, err := build.Build(spectest.Files(), spectest.Newest)
	require.NoError(t, err)
	olderSide := c.side(t, older)
	done := map[string]bool{} // sets of decisions that an overlay was written of
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			require.NoError(t, err)
			part := func(name string) string {
				for _, f := range ar.Files {
					if f.Name == name {
						return string(f.Data)
					}
				}
				return ""
			}
			schema := nextSchema(t, part("change.json"))
			dir := t.TempDir()
			path := filepath.Join(dir, "next.json")
			require.NoError(t, os.WriteFile(path, schema, 0o644))
			got := txtar.Archive{Comment: ar.Comment, Files: []txtar.File{{Name: "change.json", Data: []byte(part("change.json"))}}}
			add := func(name, text string) {
				text = strings.ReplaceAll(text, filepath.ToSlash(dir)+"/", "")
				got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(text)})
			}

			newer, decisions, err := build.FileDecisions(spectest.Files(), "next.json", schema, next, nil)
			if err != nil {
				add("refused", err.Error()+"\n")
				golden(t, file, &got)
				return
			}
			d, err := delta.Compare(older, newer)
			require.NoError(t, err)
			newer.Changes = d.Summary()
			printed, err := emit.Package(newer)
			require.NoError(t, err)
			pkg, err := c.check(printed)
			require.NoError(t, err, "the package does not compile")
			require.Equal(t, next, constant(pkg, "Revision"))

			text, _, found := strings.Cut(d.Text(), "\ncode    whether") // the legend is always the same
			require.True(t, found)
			add("diff", text)
			var notes strings.Builder
			for _, d := range decisions {
				if !d.Sure {
					fmt.Fprintf(&notes, "%s: %s\n", d.Pointer, d.What)
				}
			}
			if notes.Len() > 0 {
				add("decided", notes.String())
			}
			add("summary", strings.Join(d.Summary(), "\n")+"\n")
			if hand := c.step(t, olderSide, side{p: newer, code: pkg}); hand != "" {
				add("hand", hand)
			}
			golden(t, file, &got)

			c.asSaid(t, olderSide, side{p: newer, code: pkg})
			var key strings.Builder // what the overlay will hold
			for _, d := range decisions {
				fmt.Fprintf(&key, "%s %s %v\n", d.Pointer, d.What, d.Sure)
			}
			if !done[key.String()] {
				done[key.String()] = true
				walked(t, path, newer)
			}
		})
	}
}

func golden(t *testing.T, file string, got *txtar.Archive) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, txtar.Format(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(txtar.Format(got)), "run: go test ./cmd/mcpgen -update")
}

func constant(p *types.Package, name string) string {
	c, ok := p.Scope().Lookup(name).(*types.Const)
	if !ok {
		return ""
	}
	return strings.Trim(c.Val().String(), `"`)
}

// walked adds the revision to a copy of spec/ and holds that the overlay which
// is scaffolded says what general rules said.
func walked(t *testing.T, schema string, rules *ir.Package) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "spec"), spectest.Files()))
	tr := tree{dir, next}
	var out, errs testWriter
	s := streams{strings.NewReader(""), &out, &errs}
	require.NoError(t, importSchema(s, tr.path("spec"), next, schema))
	require.NoError(t, tr.scaffold(s, spectest.Newest))
	strict, err := build.Build(os.DirFS(tr.path("spec")), next)
	require.NoError(t, err, "the scaffolded overlay does not do")
	d, err := delta.Compare(rules, strict)
	require.NoError(t, err)
	require.Empty(t, d.Changes, "the overlay says something else than the rules")
	if !strings.Contains(string(out), "ended with") {
		return // the common facts were not touched
	}
	changed, err := spec.Open(os.DirFS(tr.path("spec")))
	require.NoError(t, err)
	before, err := spec.Open(spectest.Files())
	require.NoError(t, err)
	for _, older := range spectest.Revisions() { // for which the same facts must hold as before
		require.Equal(t, facts(t, before, older), facts(t, changed, older), older)
	}
}

// TestNextRevisionAddsOneStep holds that a sixth revision adds its package and
// one step, and changes no other printed file but the list that tests go over.
func TestNextRevisionAddsOneStep(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "spec"), spectest.Files()))
	tr := tree{dir, next}
	ar, err := txtar.ParseFile("../../testdata/gen/new_arm.txtar")
	require.NoError(t, err)
	schema := filepath.Join(dir, "next.json")
	require.NoError(t, os.WriteFile(schema, nextSchema(t, string(ar.Files[0].Data)), 0o644))
	var out, errs testWriter
	s := streams{strings.NewReader(""), &out, &errs}
	require.NoError(t, importSchema(s, tr.path("spec"), next, schema))
	require.NoError(t, tr.scaffold(s, spectest.Newest))

	before, err := gen.Generate(spectest.Files())
	require.NoError(t, err)
	after, err := gen.Generate(os.DirFS(tr.path("spec")))
	require.NoError(t, err)
	came := map[string]bool{}
	for name, data := range after {
		switch was, ok := before[name]; {
		case !ok:
			came[filepath.ToSlash(filepath.Dir(name))] = true
		case string(was) != string(data):
			require.Equal(t, "mcp/registry_gen_test.go", name)
		}
	}
	require.Equal(t, map[string]bool{"mcp/v20270115": true, "mcp/step20270115": true}, came)
	for name := range before {
		require.Contains(t, after, name)
	}

	open, err := tr.hand("step20270115")
	require.NoError(t, err)
	require.Len(t, open, 4, "%v", open) // of the arms of two unions, and of two raw values that may hold them
	require.Contains(t, open[0], "func downgradeContentBlockVideoContent(in *newer.VideoContent, e *wire.Env) (older.ContentBlock, error) // ")
	require.NoError(t, os.MkdirAll(tr.path("generated", "mcp", "step20270115"), 0o755))
	require.NoError(t, os.WriteFile(tr.path("generated", "mcp", "step20270115", "hand.go"), []byte("package step20270115\n\nfunc downgradeContentBlockVideoContent() {}\n"), 0o644))
	open, err = tr.hand("step20270115")
	require.NoError(t, err)
	require.Len(t, open, 3, "%v", open)
}

// facts are the entries that hold for a revision, less the revision that ends
// them.
func facts(t *testing.T, set *spec.Set, revision string) string {
	t.Helper()
	o, err := set.Overlay(revision)
	require.NoError(t, err)
	data, err := json.Marshal(o)
	require.NoError(t, err)
	var v map[string]any
	require.NoError(t, json.Unmarshal(data, &v))
	for _, list := range v {
		for _, e := range list.([]any) {
			delete(e.(map[string]any), "to")
		}
	}
	data, err = json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// TestNothingIsUndecided holds that no known revision has an overlay entry that
// a person still has to confirm.
func TestNothingIsUndecided(t *testing.T) {
	for _, r := range spec.Revisions() {
		open, err := openDecisions(spec.Files(), r)
		require.NoError(t, err)
		require.Empty(t, open, "spec/%s/overlay.json: decide these, and write the reason in place of %q", r, undecided)
	}
}
