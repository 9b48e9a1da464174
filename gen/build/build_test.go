package build_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var known = sync.OnceValues(func() ([]*ir.Package, error) { return build.All(spectest.Files()) })

// all gives the packages of the revisions that the tests were written for, made
// once; nothing may write to them.
func all(t testing.TB) []*ir.Package {
	t.Helper()
	pkgs, err := known()
	require.NoError(t, err)
	return pkgs
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run: go test ./gen/build -update")
}

// TestTypesGolden pins every type, field and union plan of all revisions.
// A letter stands for a revision: A is the oldest.
func TestTypesGolden(t *testing.T) {
	golden(t, "testdata/types.golden", matrix(all(t), func(p *ir.Package) (out []string) {
		for _, typ := range p.Types {
			out = append(out, showType(typ)...)
		}
		return out
	}))
}

// TestMethodsGolden pins the method tables.
func TestMethodsGolden(t *testing.T) {
	golden(t, "testdata/methods.golden", matrix(all(t), func(p *ir.Package) (out []string) {
		for _, m := range p.Methods {
			out = append(out, showMethod(m)...)
		}
		return out
	}))
}

// TestRestGolden pins errors and constants.
func TestRestGolden(t *testing.T) {
	golden(t, "testdata/rest.golden", matrix(all(t), showRest))
}

// TestCounts holds the numbers of messages that the specification has.
func TestCounts(t *testing.T) {
	var requests, notifications []int
	methods := map[bool]map[string]bool{true: {}, false: {}}
	for _, p := range all(t) {
		n := map[bool]int{}
		for _, m := range p.Methods {
			n[m.Notification]++
			methods[m.Notification][m.Name] = true
		}
		requests = append(requests, n[false])
		notifications = append(notifications, n[true])
	}
	require.Equal(t, []int{15, 15, 16, 20, 13 + 3}, requests, "those of the tasks extension apart")
	require.Equal(t, []int{9, 9, 9, 11, 8 + 1}, notifications)
	require.Len(t, methods[false], 22+1)
	require.Len(t, methods[true], 12+1)
}

// TestRequiredArrays holds the number of members that must be written as [].
// A member of a shared definition counts once.
func TestRequiredArrays(t *testing.T) {
	var got []int
	for _, p := range all(t) {
		n := 0
		for _, typ := range p.Types {
			for _, f := range typ.Fields {
				if f.Required && f.Type.Kind == ir.Slice && typ.Kind == ir.Struct {
					n++
				}
			}
		}
		got = append(got, n)
	}
	require.Equal(t, []int{10, 10, 11, 18, 18}, got)
}

// every gives the packages of all revisions, later ones included.
func every(t testing.TB) []*ir.Package {
	t.Helper()
	pkgs, err := models()
	require.NoError(t, err)
	return pkgs
}

// TestLargestStruct keeps the sets of seen members within one word.
func TestLargestStruct(t *testing.T) {
	for _, p := range every(t) {
		for _, typ := range p.Types {
			require.LessOrEqual(t, len(typ.Fields), 64, typ.Name)
		}
	}
}

// TestDeterministic holds that the same input gives the same model, whichever way it is asked for.
func TestDeterministic(t *testing.T) {
	want := all(t)
	for range 2 {
		again, err := build.All(spectest.Files())
		require.NoError(t, err)
		require.Equal(t, want, again)
	}
	for _, p := range want {
		one, err := build.Build(spectest.Files(), p.Revision)
		require.NoError(t, err)
		require.Equal(t, p, one)
	}
	_, err := build.Build(spec.Files(), "2030-01-01")
	require.ErrorContains(t, err, `"2030-01-01" is not known`)
	_, err = build.Build(spec.Files(), "")
	require.Error(t, err)
}

// TestOrder holds what the printer relies on: everything is in order.
func TestOrder(t *testing.T) {
	for _, p := range every(t) {
		require.True(t, slices.IsSortedFunc(p.Types, func(x, y *ir.Type) int { return strings.Compare(x.Name, y.Name) }))
		require.True(t, slices.IsSortedFunc(p.Methods, func(x, y *ir.Method) int { return strings.Compare(x.Name, y.Name) }))
		require.True(t, slices.IsSortedFunc(p.Consts, func(x, y *ir.Const) int { return strings.Compare(x.Name, y.Name) }))
		require.True(t, slices.IsSortedFunc(p.Errors, func(x, y *ir.Error) int { return int(y.Code - x.Code) }))
		for _, typ := range p.Types {
			group := func(f *ir.Field) int {
				switch {
				case f.Const != "":
					return 0
				case f.JSON == "_meta":
					return 3
				case f.Required:
					return 1
				}
				return 2
			}
			require.True(t, slices.IsSortedFunc(typ.Fields, func(x, y *ir.Field) int { return group(x) - group(y) }), typ.Name)
			if typ.Kind == ir.Struct {
				require.NotEmpty(t, typ.Since)
			}
		}
	}
}

// TestReferencesResolve holds that every name leads to a type of the package.
func TestReferencesResolve(t *testing.T) {
	for _, p := range every(t) {
		types := map[string]*ir.Type{}
		for _, typ := range p.Types {
			types[typ.Name] = typ
		}
		has := func(name, from string) {
			require.NotNil(t, types[name], "%s: %s names %q", p.Revision, from, name)
		}
		for _, typ := range p.Types {
			for _, f := range typ.Fields {
				for r := &f.Type; r != nil; r = r.Elem {
					if r.Kind == ir.Named {
						has(r.Name, typ.Name)
					}
				}
			}
			for _, a := range typ.Arms {
				has(a.Type, typ.Name)
			}
			for _, n := range []string{typ.Target, typ.Elem, typ.MetaOf} {
				if n != "" {
					has(n, typ.Name)
				}
			}
			if typ.Plan != nil {
				var named []string
				for _, c := range typ.Plan.Cases {
					require.True(t, (c.Type == "") != (c.Steps == nil), "one of type and steps")
					named = append(named, c.Type)
					for _, s := range c.Steps {
						named = append(named, s.Type)
					}
				}
				for _, a := range typ.Arms {
					require.Contains(t, named, a.Type, "every member of %s can be met", typ.Name)
				}
			}
		}
		for _, m := range p.Methods {
			has(m.Params, m.Name)
			require.True(t, types[m.Params].Params)
			if !m.Notification {
				has(m.Result, m.Name)
				require.True(t, types[m.Result].Result)
			}
			if m.Item != "" {
				has(m.Item, m.Name)
			}
		}
		for _, e := range p.Errors {
			if e.Data != "" {
				has(e.Data, e.Name)
			}
		}
	}
}

// TestGatesNameMembers holds that every conditional capability looks at members
// that the params have, and that every capability path exists.
func TestGatesNameMembers(t *testing.T) {
	for _, p := range every(t) {
		types := map[string]*ir.Type{}
		for _, typ := range p.Types {
			types[typ.Name] = typ
		}
		find := func(typ *ir.Type, path string) bool {
			var walk func(typ *ir.Type, parts []string) bool
			walk = func(typ *ir.Type, parts []string) bool {
				if len(parts) == 0 {
					return true
				}
				if typ == nil {
					return false
				}
				for _, f := range typ.Fields {
					if f.JSON == parts[0] && (len(parts) == 1 || walk(types[f.Type.Name], parts[1:])) {
						return true
					}
				}
				return slices.ContainsFunc(typ.Arms, func(a *ir.Arm) bool { return walk(types[a.Type], parts) })
			}
			if id, ok := strings.CutPrefix(path, "extensions."); ok && slices.ContainsFunc(p.Extensions, func(e *ir.Extension) bool { return e.ID == id }) {
				path = "extensions"
			}
			return walk(typ, strings.Split(path, "."))
		}
		for _, m := range p.Methods {
			for _, s := range m.Server {
				require.True(t, find(types["ServerCapabilities"], s), "%s %s", m.Name, s)
			}
			for _, c := range m.Client {
				require.True(t, find(types["ClientCapabilities"], c), "%s %s", m.Name, c)
			}
			for _, g := range m.Gates {
				side := "ClientCapabilities"
				if g.Server {
					side = "ServerCapabilities"
				}
				require.True(t, find(types[side], g.Path), "%s %s", m.Name, g.Path)
				for _, member := range g.Members {
					require.True(t, find(types[m.Params], member), "%s %s", m.Name, member)
				}
			}
		}
	}
}

// TestEveryEntryDecides takes away each overlay entry in turn, from the newest
// revision that it holds for: either the schema can no longer be lowered, or the
// model is another.
func TestEveryEntryDecides(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	tried := map[string]bool{} // places of entries
	for _, revision := range slices.Backward(set.Revisions()) {
		t.Run(revision, func(t *testing.T) {
			pristine, err := set.Schema(revision)
			require.NoError(t, err)
			pristine, err = set.Extend(revision, pristine)
			require.NoError(t, err)
			patched := map[int][]byte{} // by number of errata: few entries are some
			lower := func(o *spec.Overlay) (string, error) {
				data := patched[len(o.Errata)]
				if data == nil {
					var err error
					if data, err = spec.Patch(pristine, o.Errata, spec.Generator); err != nil {
						return "", err
					}
				}
				p, err := build.Lower(build.Input{Revision: revision, File: "f", Schema: data, Overlay: o})
				if err != nil {
					return "", err
				}
				return show(p), nil
			}
			o, err := set.Overlay(revision)
			require.NoError(t, err)
			want, err := lower(o)
			require.NoError(t, err)
			patched[len(o.Errata)], err = spec.Patch(pristine, o.Errata, spec.Generator)
			require.NoError(t, err)
			for i, e := range o.Entries() {
				if tried[e.Place] {
					continue
				}
				tried[e.Place] = true
				fresh, err := set.Overlay(revision)
				require.NoError(t, err)
				if without(fresh, i) {
					continue // an erratum for validators only
				}
				got, err := lower(fresh)
				if err == nil {
					require.NotEqual(t, want, got, "the entry at %s changes nothing", e.Place)
				}
			}
		})
	}
}

// without removes the i-th entry. It reports whether that was an erratum that
// the generator does not see.
func without(o *spec.Overlay, i int) bool {
	gone := o.Entries()[i]
	for _, e := range o.Errata {
		if &e.Entry == gone {
			if e.Only == spec.Validators || e.At == "/JSONValue/anyOf/2/type" { // raw JSON either way
				return true
			}
		}
	}
	o.Errata = slices.DeleteFunc(o.Errata, func(e *spec.Erratum) bool { return &e.Entry == gone })
	o.Names = slices.DeleteFunc(o.Names, func(e *spec.Name) bool { return &e.Entry == gone })
	o.Inline = slices.DeleteFunc(o.Inline, func(e *spec.Inline) bool { return &e.Entry == gone })
	o.Raw = slices.DeleteFunc(o.Raw, func(e *spec.Raw) bool { return &e.Entry == gone })
	o.Unions = slices.DeleteFunc(o.Unions, func(e *spec.Union) bool { return &e.Entry == gone })
	o.Enums = slices.DeleteFunc(o.Enums, func(e *spec.Enum) bool { return &e.Entry == gone })
	o.Implied = slices.DeleteFunc(o.Implied, func(e *spec.Implied) bool { return &e.Entry == gone })
	o.Lenient = slices.DeleteFunc(o.Lenient, func(e *spec.Lenient) bool { return &e.Entry == gone })
	o.Keep = slices.DeleteFunc(o.Keep, func(e *spec.Keep) bool { return &e.Entry == gone })
	o.Interfaces = slices.DeleteFunc(o.Interfaces, func(e *spec.Interface) bool { return &e.Entry == gone })
	o.Methods = slices.DeleteFunc(o.Methods, func(e *spec.Method) bool { return &e.Entry == gone })
	o.Constants = slices.DeleteFunc(o.Constants, func(e *spec.Constant) bool { return &e.Entry == gone })
	o.Deprecated = slices.DeleteFunc(o.Deprecated, func(e *spec.Deprecation) bool { return &e.Entry == gone })
	return false
}

// TestUnusedEntries adds to a good overlay an entry that matches nothing, in each of its lists.
func TestUnusedEntries(t *testing.T) {
	const revision = "2025-11-25"
	for name, entry := range map[string]string{
		"errata":           `{"at":"/Nowhere/type","now":"string","why":"x"}`,
		"names":            `{"definition":"Nowhere","go":"Somewhere","why":"x"}`,
		"inline":           `{"at":"Tool.nowhere","go":"Somewhere","why":"x"}`,
		"inline values":    `{"at":"Tool.nowhere","go":"Somewhere","values":["a"],"why":"x"}`,
		"raw":              `{"at":"Tool.nowhere","why":"x"}`,
		"unions":           `{"go":"Nowhere","keyed":{"A":"Tool"},"why":"x"}`,
		"unions wrap":      `{"go":"NowhereParams","wrap":"X","key":"mode","case":"a","why":"x"}`,
		"enums":            `{"go":"Nowhere","order":["a"],"why":"x"}`,
		"enums order":      `{"go":"Role","order":["user"],"why":"x"}`,
		"implied":          `{"at":"Tool.nowhere","value":1,"why":"x"}`,
		"implied required": `{"at":"Tool.name","value":"x","why":"x"}`,
		"lenient":          `{"at":"Tool.nowhere","value":1,"why":"x"}`,
		"lenient optional": `{"at":"Tool.title","value":"x","why":"x"}`,
		"keep":             `{"definition":"Nowhere","why":"x"}`,
		"keep reached":     `{"definition":"Tool","why":"x"}`,
		"interfaces":       `{"definition":"Nowhere","why":"x"}`,
		"interfaces alone": `{"definition":"Result","why":"x"}`,
		"methods":          `{"method":"nowhere","why":"x"}`,
		"deprecated":       `{"text":"X.","types":["Nowhere"],"why":"x"}`,
		"deprecated more":  `{"text":"X.","members":["Tool.nowhere"],"why":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			list, _, _ := strings.Cut(name, " ")
			files := embedded(t)
			own := string(files[revision+"/overlay.json"].Data)
			o, err := spec.ParseOverlay("own", []byte(own))
			require.NoError(t, err)
			place := list + "/0"
			if list == "errata" {
				place = list + "/2"
				require.Len(t, o.Errata, 2)
				own = strings.Replace(own, `"errata": [`, `"errata": [`, 1)
				i := strings.LastIndex(own, "]\n}")
				require.Positive(t, i)
				own = own[:i] + "," + entry + own[i:]
			} else {
				own = strings.Replace(own, "{", `{"`+list+`":[`+entry+`],`, 1)
			}
			files[revision+"/overlay.json"] = &fstest.MapFile{Data: []byte(own)}
			_, err = build.Build(files, revision)
			require.Error(t, err)
			require.Contains(t, err.Error(), "spec/"+revision+"/overlay.json#/"+place+": ")
			var e *build.Error
			var entryErr *spec.EntryError
			require.True(t, errors.As(err, &e) && e.Kind == build.Unused || errors.As(err, &entryErr), "%T", err)
		})
	}
}

// embedded copies the data of the module, to be changed.
func embedded(t testing.TB) fstest.MapFS {
	t.Helper()
	return spectest.Files()
}

// shared is the folder of the official files, or skips the test.
func shared(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GOLDWIRE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	if _, err := os.Stat(filepath.Join(dir, "spec")); err != nil {
		t.Skip("the official schema files are not at hand (set GOLDWIRE_SHARED)")
	}
	return filepath.Join(dir, "spec")
}

// TestOfficialFiles holds that an official file as it is gives the same model
// as our structure of it, with its texts as docs.
func TestOfficialFiles(t *testing.T) {
	dir := shared(t)
	for _, p := range all(t) {
		name := filepath.Join(dir, p.Revision, "schema.json")
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := build.File(name, data, p.Revision)
		require.NoError(t, err)
		require.Equal(t, show(p), show(got))
		require.Equal(t, schema.Hash(data), got.SourceHash)
		require.Equal(t, name, got.Source)
		docs := 0
		for _, typ := range got.Types {
			for _, l := range typ.Doc {
				docs++
				require.NotContains(t, l, "{@link", typ.Name)
				require.NotContains(t, l, "\n")
			}
			for _, f := range typ.Fields {
				for _, l := range f.Doc {
					require.NotContains(t, l, "{@link", typ.Name)
				}
			}
		}
		require.Greater(t, docs, 50)
	}
}

// TestUnseenRevision holds that each file can be lowered by general rules and
// hints alone; the newest loses nothing by it.
func TestUnseenRevision(t *testing.T) {
	for i, p := range all(t) {
		data, err := spec.Schema(p.Revision)
		require.NoError(t, err)
		got, err := build.File("draft.json", data, "draft")
		require.NoError(t, err, p.Revision)
		require.Equal(t, "mcp/vdraft", got.Dir)
		require.Equal(t, p.Stateless, got.Stateless)
		require.Len(t, got.Methods, len(p.Methods))
		for j, m := range got.Methods {
			want := p.Methods[j]
			require.Equal(t, [5]any{want.Name, want.Direction, want.Params, want.Result, want.Outcomes}, [5]any{m.Name, m.Direction, m.Params, m.Result, m.Outcomes})
		}
		if i < 4 {
			continue
		}
		var names, want []string
		for _, typ := range got.Types {
			names = append(names, typ.Name)
		}
		for _, typ := range p.Types {
			want = append(want, typ.Name)
		}
		require.Equal(t, want, names)
	}
}
