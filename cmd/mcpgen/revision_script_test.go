package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

// TestRevisionScripts runs what takes in a new revision as a user does, in
// folders of their own. Nothing of it may touch this tree.
func TestRevisionScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	require.NoError(t, err)
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT").Output()
	require.NoError(t, err)
	env := strings.Split(strings.TrimSpace(string(out)), "\n")
	before := listing(t, repo)
	t.Run("scripts", func(t *testing.T) { // ends when all of them have
		testscript.Run(t, testscript.Params{
			Dir: "testdata/revision",
			Setup: func(e *testscript.Env) error {
				if err := os.CopyFS(filepath.Join(e.WorkDir, "known", "spec"), spectest.Files()); err != nil {
					return err
				}
				for k, v := range map[string]string{
					"REPO": repo, "SPEC": filepath.Join(e.WorkDir, "known", "spec"), "GOCACHE": env[0], "GOMODCACHE": env[1], "GOPATH": env[2], "GOROOT": env[3],
					"GOPROXY": "off", "GOFLAGS": "-mod=mod -trimpath", "GOTOOLCHAIN": "local", "HOME": e.WorkDir, "LATEST": spectest.Newest, "NEXT": next,
				} {
					e.Setenv(k, v)
				}
				if e.Getenv("PATH") == "" {
					e.Setenv("PATH", os.Getenv("PATH"))
				}
				return withCommand(e)
			},
			Condition: func(cond string) (bool, error) {
				return cond == "known" && spec.Latest() == spectest.Newest, nil // what the command embeds is what the scripts know
			},
			Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
				"next":    makeNext(t),
				"copydir": copyDir,
				"official": func(ts *testscript.TestScript, _ bool, args []string) {
					if len(args) != 2 {
						ts.Fatalf("usage: official revision file")
					}
					official(ts, args[0], args[1])
				},
				"isdelta": isDelta,
			},
			RequireExplicitExec: true,
			RequireUniqueNames:  true,
		})
	})
	require.Equal(t, before, listing(t, repo), "the scripts changed the tree")
}

// makeNext is: next change.json next.json.
func makeNext(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: next change.json next.json")
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), nextSchema(t, ts.ReadFile(args[0])), 0o666))
	}
}

// copyDir is: copydir from to. Only files that make a tree build are copied.
func copyDir(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: copydir from to")
	}
	from, to := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	ts.Check(filepath.WalkDir(from, func(p string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == "testdata" || revisionName.MatchString(e.Name()) && e.Name() > spectest.Newest {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		if strings.HasSuffix(rel, "_test.go") || !strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, ".json") && !strings.HasSuffix(rel, ".yaml") {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o666)
	}))
}

// official copies an official schema file, or skips the script where it is not at hand.
func official(ts *testscript.TestScript, revision, file string) {
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = filepath.Join(ts.Getenv("REPO"), "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(shared, "spec", revision, "schema.json"))
	if err != nil {
		ts.Logf("the official schema files are not at hand (set GOLDWIRE_SHARED)")
		data, err = os.ReadFile(filepath.Join(ts.Getenv("SPEC"), revision, "schema.json")) // the same without its texts
	}
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(file), data, 0o666))
}

// isDelta is: isdelta file subject kind. The file holds the JSON form of a
// delta, and nothing that the form does not name.
func isDelta(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: isdelta file subject kind")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.DisallowUnknownFields()
	var got delta.Delta
	ts.Check(d.Decode(&got))
	found := false
	for _, c := range got.Changes {
		found = found || c.Subject == args[1] && string(c.Kind) == args[2]
	}
	if found == neg {
		ts.Fatalf("%s %s: found %v", args[1], args[2], found)
	}
}

// listing gives the names of all files that the scripts could have touched.
func listing(t *testing.T, repo string) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{"spec", "generated/mcp"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(repo, filepath.FromSlash(dir)), func(p string, e os.DirEntry, err error) error {
			if err == nil && strings.Contains(p, "2027") {
				out = append(out, p)
			}
			return err
		}))
	}
	return out
}
