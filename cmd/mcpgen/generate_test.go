package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mcpgen runs the command and returns its exit code and output.
func mcpgen(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// TestGenerateBringsAFolderUpToDate writes a folder, breaks it in every way,
// and holds that check sees it, that generate mends it, and that files of
// others stay as they are.
func TestGenerateBringsAFolderUpToDate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "generated")
	code, _, stderr := mcpgen("generate", "--check", "--dir", dir)
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "types_gen.go: missing")
	require.NoDirExists(t, dir, "check writes nothing")

	code, stdout, stderr := mcpgen("generate", "--dir", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "changed")
	code, stdout, stderr = mcpgen("generate", "--check", "--dir", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Empty(t, stdout+stderr)

	pkg := filepath.Join(dir, "mcp", "v20251125")
	types := filepath.Join(pkg, "types_gen.go")
	good, err := os.ReadFile(types)
	require.NoError(t, err)
	stale := filepath.Join(pkg, "retired_gen.go")
	hand := filepath.Join(pkg, "hand_test.go")
	require.NoError(t, os.WriteFile(types, append(bytes.Clone(good), "// edited\n"...), 0o666))
	require.NoError(t, os.WriteFile(stale, good, 0o666))
	require.NoError(t, os.WriteFile(hand, []byte("package mcp\n"), 0o666))
	require.NoError(t, os.Remove(filepath.Join(pkg, "enums_gen.go")))

	code, _, stderr = mcpgen("generate", "--check", "--dir", dir)
	require.Equal(t, exitFailure, code)
	for _, want := range []string{"types_gen.go: differs", "retired_gen.go: stale", "enums_gen.go: missing", "not up to date in 3 files", "go run ./cmd/mcpgen generate"} {
		require.Contains(t, stderr, want)
	}
	require.FileExists(t, stale)

	code, stdout, stderr = mcpgen("generate", "--dir", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "3 changed")
	require.NoFileExists(t, stale)
	require.FileExists(t, hand)
	got, err := os.ReadFile(types)
	require.NoError(t, err)
	require.Equal(t, string(good), string(got))
}

// TestGenerateRefusesAFileInTheWay holds that a file without the header is
// never overwritten, and that nothing else is written then.
func TestGenerateRefusesAFileInTheWay(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mcp", "v20251125", "types_gen.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o777))
	require.NoError(t, os.WriteFile(mine, []byte("package mine\n"), 0o666))
	code, _, stderr := mcpgen("generate", "--dir", dir)
	require.Equal(t, exitFailure, code)
	require.Contains(t, stderr, "is in the way")
	got, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "package mine\n", string(got))
	require.NoFileExists(t, filepath.Join(dir, "mcp", "v20251125", "codec_gen.go"))
}
