package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

func TestMain(m *testing.M) {
	// The tests mostly wait for servers.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"goldwire": main,
		"proxy":    proxy,
	})
}

// scripts are the files of the scripts of a folder: under the race detector
// those that are named, and otherwise all.
func scripts(t *testing.T, dir string, sample ...string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	if !raced {
		return files
	}
	var out []string
	for _, name := range sample {
		file := filepath.Join(dir, name+".txtar")
		require.Contains(t, files, file)
		out = append(out, file)
	}
	return out
}

// TestScripts runs the command as its user does.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Files: scripts(t, "testdata", "client"),
		Setup: func(env *testscript.Env) error {
			// Under the race detector each of the many servers that a script
			// starts would sleep for a second at its end.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			root, err := filepath.Abs("../..")
			env.Setenv("ROOT", root)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": wantStatus,
			"report": wantReport,
		},
	})
}

// wantStatus runs goldwire and wants the exit status that is its first word.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE goldwire args...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = err.Error()
		if n := len("exit status "); len(got) > n {
			got = got[n:]
		}
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// wantReport reads a JSON report, compares its summary with what the results
// say, and wants at least so many distinct checks of each era at pass, fail or
// warn.
func wantReport(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: report FILE at-least")
	}
	var want int
	ts.Check(json.Unmarshal([]byte(args[1]), &want))
	b, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	rep, err := report.ParseJSON(b)
	ts.Check(err)
	seen := map[string]bool{}
	eras := map[string]int{}
	for _, r := range rep.Results {
		switch r.Verdict {
		case result.Pass, result.Fail, result.Warn:
			eras[r.Revision]++
			seen[r.ID] = true
		}
	}
	for _, rev := range rep.Revisions {
		if eras[rev] < 25 {
			ts.Fatalf("%d checks judged in %s", eras[rev], rev)
		}
	}
	if len(seen) < want {
		ts.Fatalf("%d distinct checks judged, want %d", len(seen), want)
	}
}
