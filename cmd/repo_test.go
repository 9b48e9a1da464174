// Package cmd_test holds the rules of the repository itself.
package cmd_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/goldwire/goldwire"

// rule says what a package may import directly. Patterns are path.Match
// patterns relative to the module; the first rule that matches a package holds.
type rule struct {
	pkg     string
	inside  []string // packages of this module
	outside []string // modules and packages from elsewhere, by prefix
}

// Imports point one way. A package that no rule names may import nothing
// but the standard library.
var rules = []rule{
	{"spec", nil, []string{"github.com/goccy/go-yaml"}},
	{"spec/spectest", []string{"spec"}, nil},
	{"gen/schema", []string{"spec"}, nil},
	{"gen/ir", nil, nil},
	{"gen/build", []string{"spec", "gen/schema", "gen/ir"}, nil},
	{"gen/delta", []string{"spec", "gen/schema", "gen/ir"}, nil},
	{"gen/emit", []string{"spec", "gen/ir"}, []string{"github.com/dave/jennifer"}},
	{"gen", []string{"spec", "gen/*"}, nil},

	{"runtime/wire", nil, nil},
	{"runtime/revision", []string{"runtime/wire"}, nil},
	{"runtime/jsonrpc", []string{"runtime/wire", "runtime/revision"}, nil},
	{"runtime/sse", nil, nil},
	{"runtime/jsonl", []string{"runtime/wire", "runtime/revision", "runtime/jsonrpc"}, nil},
	{"runtime/streamhttp", []string{"runtime/wire", "runtime/revision", "runtime/jsonrpc", "runtime/sse"}, nil},
	{"runtime/ssehttp", []string{"runtime/wire", "runtime/revision", "runtime/jsonrpc", "runtime/sse", "runtime/streamhttp"}, nil},
	{"runtime/dial", []string{"runtime/jsonrpc", "runtime/jsonl", "runtime/streamhttp", "runtime/ssehttp"}, nil},
	{"runtime/args", []string{"runtime/wire", "runtime/jsonrpc"}, []string{"github.com/goccy/go-json", "github.com/google/jsonschema-go"}},
	{"runtime/compat", []string{"runtime/*", "generated/mcp/*"}, nil},
	{"runtime/bridge", []string{"runtime/*", "generated/mcp/*"}, nil},
	{"generated/mcp/v*", []string{"runtime/wire", "runtime/jsonrpc", "runtime/revision"}, nil},
	{"generated/mcp/step*", []string{"generated/mcp/v*", "runtime/wire", "runtime/jsonrpc"}, nil},

	{"conformance/validate", []string{"spec", "runtime/wire"}, []string{"github.com/santhosh-tekuri/jsonschema/v5"}},
	{"conformance/catalogue", []string{"spec", "runtime/revision"}, []string{"github.com/goccy/go-yaml"}},
	{"conformance", []string{"spec", "runtime/*", "generated/mcp/*", "conformance/*"}, []string{"github.com/goccy/go-yaml"}},
	{"conformance/report", []string{"conformance/*"}, []string{"github.com/jstemmer/go-junit-report/v2/junit"}},
	{"conformance/check/checktest", []string{"runtime/wire", "conformance/*"}, nil},
	{"conformance/broken", []string{"runtime/*", "generated/mcp/*", "conformance", "conformance/*", "conformance/check/checktest"}, nil},
	{"conformance/*", []string{"spec", "runtime/*", "generated/mcp/*", "conformance", "conformance/*"}, nil},

	{"cmd/mcpgen", []string{"spec", "gen", "gen/*"}, []string{"github.com/spf13/cobra"}},
	{"cmd/goldwire", []string{"spec", "runtime/*", "generated/mcp/*", "conformance", "conformance/*"}, []string{"github.com/spf13/cobra", "golang.org/x/term"}},
}

// Tests may also use these.
var testLibraries = []string{
	"github.com/stretchr/testify/require", "github.com/google/go-cmp/cmp", "github.com/rogpeppe/go-internal",
	"pgregory.net/rapid",
}

// TestRepoImports holds that imports point one way and that each library has
// its home.
func TestRepoImports(t *testing.T) {
	for _, p := range packages(t) {
		rel := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		r, found := ruleFor(rel)
		if !found && len(p.GoFiles) == 0 {
			continue // a package of tests only
		}
		require.True(t, found, "package %s has no rule in this test: add one", rel)
		for _, imp := range p.Imports {
			require.True(t, allowed(r, imp), "package %s imports %s, which its rule does not allow", rel, imp)
		}
	}
}

// TestRepoTestImports holds which libraries tests may use.
func TestRepoTestImports(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			if isStd(imp) || imp == module || strings.HasPrefix(imp, module+"/") {
				continue
			}
			r, _ := ruleFor(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/"))
			ok := allowed(r, imp)
			for _, lib := range append(testLibraries, "github.com/goccy/go-json", "github.com/santhosh-tekuri/jsonschema/v5", "github.com/goccy/go-yaml") {
				ok = ok || imp == lib || strings.HasPrefix(imp, lib+"/")
			}
			require.True(t, ok, "tests of %s import %s", p.ImportPath, imp)
		}
	}
}

// TestRepoTopLevel holds the fixed top level.
func TestRepoTopLevel(t *testing.T) {
	fixed := regexp.MustCompile(`^(\..*|go\.mod|go\.sum|README\.md|Makefile|LICENSE|spec|gen|generated|runtime|cmd|conformance|testdata|bin)$`)
	entries, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, e := range entries {
		require.Regexp(t, fixed, e.Name(), "nothing else belongs to the top level")
	}
}

// TestRepoSequential holds that what make test leaves without the race detector
// starts no goroutine, and shares nothing but what is made once.
func TestRepoSequential(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	list := regexp.MustCompile(`(?m)^SEQUENTIAL := ((?:.*\\\n)*.*)$`).FindSubmatch(makefile)
	require.NotNil(t, list)
	var patterns []string
	for _, p := range strings.Fields(strings.ReplaceAll(string(list[1]), "\\\n", " ")) {
		patterns = append(patterns, "."+p) // seen from this folder
	}
	out, err := exec.Command("go", append([]string{"list", "-f", `{{range .GoFiles}}{{$.Dir}}/{{.}}{{"\n"}}{{end}}`}, patterns...)...).Output()
	require.NoError(t, err)
	files := strings.Fields(string(out))
	require.Greater(t, len(files), 40)
	for _, file := range files {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt, *ast.ChanType:
				t.Errorf("%s: goroutines are for the race detector to see: take the package out of SEQUENTIAL", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" || x.Name == "atomic") {
					require.True(t, strings.HasPrefix(n.Sel.Name, "Once"), "%s: %s.%s is for the race detector to see: take the package out of SEQUENTIAL", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

type pkg struct {
	ImportPath                         string
	GoFiles                            []string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		all = append(all, p)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].ImportPath < all[j].ImportPath })
	return all
}

func ruleFor(rel string) (rule, bool) {
	for _, r := range rules {
		if ok, _ := path.Match(r.pkg, rel); ok {
			return r, true
		}
	}
	return rule{}, false
}

func allowed(r rule, imp string) bool {
	if isStd(imp) {
		return true
	}
	if rel, ok := strings.CutPrefix(imp, module+"/"); ok {
		for _, pat := range r.inside {
			if ok, _ := path.Match(pat, rel); ok {
				return true
			}
		}
		return false
	}
	for _, lib := range r.outside {
		if imp == lib || strings.HasPrefix(imp, lib+"/") {
			return true
		}
	}
	return false
}

func isStd(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}
