package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	// What printed code imports is compiled by a go command that these tests
	// start, which the cache of test results does not see. So it is a part of
	// this binary: when it changes, they run again.
	_ "github.com/goldwire/goldwire/runtime/jsonrpc"
	_ "github.com/goldwire/goldwire/runtime/revision"
	_ "github.com/goldwire/goldwire/runtime/wire"
	"github.com/goldwire/goldwire/spec/spectest"
)

// binDir is the folder of the command, built as a user has it. Paths are trimmed,
// so that what is compiled for one folder serves for its copies.
var binDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mcpgen-")
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "mcpgen")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	out, err := exec.Command("go", "build", "-trimpath", "-o", name, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // much is made and thrown away, and little of it kept
	code := m.Run()
	if dir, _ := binDir(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// withCommand puts the command in front of a script's PATH.
func withCommand(e *testscript.Env) error {
	dir, err := binDir()
	e.Setenv("PATH", dir+string(os.PathListSeparator)+e.Getenv("PATH"))
	return err
}

// TestScripts runs the command as a user does.
func TestScripts(t *testing.T) {
	repo, err := filepath.Abs("../..")
	require.NoError(t, err)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("REPO", repo)
			e.Setenv("SPEC", filepath.Join(e.WorkDir, "known"))
			if err := os.CopyFS(e.Getenv("SPEC"), spectest.Files()); err != nil {
				return err
			}
			return withCommand(e)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// TestVerifyOfficialFiles holds the committed structures equal to the official
// files, where those are at hand.
func TestVerifyOfficialFiles(t *testing.T) {
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	if _, err := os.Stat(filepath.Join(shared, "spec")); err != nil {
		t.Skip("the official schema files are not at hand (set GOLDWIRE_SHARED)")
	}
	revisions, err := os.ReadDir("../../spec")
	require.NoError(t, err)
	n := 0
	for _, r := range revisions {
		if !revisionName.MatchString(r.Name()) {
			continue
		}
		n++
		t.Run(r.Name(), func(t *testing.T) {
			var out, errs testWriter
			code := run([]string{"verify", filepath.Join(shared, "spec", r.Name(), "schema.json"), "--revision", r.Name(), "--spec", "../../spec"}, nil, &out, &errs)
			require.Zero(t, code, "%s%s", out, errs)
			require.Contains(t, string(out), "the very file that was imported")
		})
	}
	require.GreaterOrEqual(t, n, len(spectest.Revisions()))
}

type testWriter []byte

func (w *testWriter) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// TestExitCodes holds the difference between a wrong command line and a refusal.
func TestExitCodes(t *testing.T) {
	known := filepath.Join(t.TempDir(), "spec")
	require.NoError(t, os.CopyFS(known, spectest.Files()))
	for _, c := range []struct {
		args []string
		want int
	}{
		{nil, exitOK},
		{[]string{"help"}, exitOK},
		{[]string{"verify", "--spec", "../../spec"}, exitOK},
		{[]string{"verify", "--spec", t.TempDir()}, exitFailure},
		{[]string{"import", "missing.json", "--revision", "2030-01-02"}, exitFailure},
		{[]string{"import", "missing.json"}, exitUsage},
		{[]string{"import", "--revision", "2030-01-02"}, exitUsage},
		{[]string{"verify", "a"}, exitUsage},
		{[]string{"verify", "--what"}, exitUsage},
		{[]string{"docs", "--spec", known}, exitOK},
		{[]string{"docs", "--spec", t.TempDir()}, exitFailure},
		{[]string{"docs", "--revision", "tomorrow"}, exitUsage},
		{[]string{"docs", "a"}, exitUsage},
		{[]string{"frobnicate"}, exitUsage},
	} {
		var out, errs testWriter
		require.Equal(t, c.want, run(c.args, nil, &out, &errs), "mcpgen %v: %s", c.args, errs)
	}
}
