package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/emit"
)

const header = "// " + emit.Header + " spec/ (sha256 0). DO NOT EDIT.\n"

func files() map[string][]byte {
	return map[string][]byte{
		"mcp/v1/types_gen.go": []byte(header + "package mcp\n"),
		"mcp/v1/enums_gen.go": []byte(header + "package mcp // enums\n"),
		"mcp/v2/types_gen.go": []byte(header + "package mcp // two\n"),
	}
}

// TestGenerateBringsAFolderUpToDate writes a folder, breaks it in every way,
// and holds that check sees it, that generate mends it, and that files of
// others stay as they are.
func TestGenerateBringsAFolderUpToDate(t *testing.T) {
	var out, errs bytes.Buffer
	s := streams{strings.NewReader(""), &out, &errs}
	dir := filepath.Join(t.TempDir(), "generated")
	require.ErrorContains(t, checkGenerated(s, dir, files()), "not up to date in 3 files; mend it with: "+mend)
	require.NoDirExists(t, dir, "check writes nothing")

	require.NoError(t, writeGenerated(s, dir, files()))
	require.Contains(t, out.String(), "3 files, 3 changed")
	require.NoError(t, checkGenerated(s, dir, files()))

	types := filepath.Join(dir, "mcp", "v1", "types_gen.go")
	stale := filepath.Join(dir, "mcp", "v1", "retired_gen.go")
	hand := filepath.Join(dir, "mcp", "v1", "hand_test.go")
	require.NoError(t, os.WriteFile(types, []byte(header+"package edited\n"), 0o666))
	require.NoError(t, os.WriteFile(stale, []byte(header), 0o666))
	require.NoError(t, os.WriteFile(hand, []byte("package mcp\n"), 0o666))
	require.NoError(t, os.Remove(filepath.Join(dir, "mcp", "v1", "enums_gen.go")))

	errs.Reset()
	require.ErrorContains(t, checkGenerated(s, dir, files()), "3 files")
	require.Equal(t, "mcp/v1/enums_gen.go: missing\nmcp/v1/retired_gen.go: stale\nmcp/v1/types_gen.go: differs\n", errs.String())
	require.FileExists(t, stale)

	out.Reset()
	require.NoError(t, writeGenerated(s, dir, files()))
	require.Contains(t, out.String(), "3 changed")
	require.NoFileExists(t, stale)
	require.FileExists(t, hand)
	require.NoError(t, checkGenerated(s, dir, files()))
}

// TestGenerateSeesStrayFiles holds that a file which is named like a generated
// one, and is none, is told, and stays for its owner to move.
func TestGenerateSeesStrayFiles(t *testing.T) {
	var out, errs bytes.Buffer
	s := streams{strings.NewReader(""), &out, &errs}
	dir := t.TempDir()
	require.NoError(t, writeGenerated(s, dir, files()))
	mine := filepath.Join(dir, "mcp", "v1", "mine_gen.go")
	require.NoError(t, os.WriteFile(mine, []byte("package mcp\n"), 0o666))
	require.ErrorContains(t, checkGenerated(s, dir, files()), "1 files")
	require.Equal(t, "mcp/v1/mine_gen.go: stray\n", errs.String())
	require.ErrorContains(t, writeGenerated(s, dir, files()), "rename or delete it")
	require.FileExists(t, mine)
}

// TestGenerateRefusesAFileInTheWay holds that a file without the header is
// never overwritten, and that nothing else is written then.
func TestGenerateRefusesAFileInTheWay(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "mcp", "v2", "types_gen.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(mine), 0o777))
	require.NoError(t, os.WriteFile(mine, []byte("package mine\n"), 0o666))
	require.ErrorContains(t, writeGenerated(streams{}, dir, files()), "is in the way")
	got, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "package mine\n", string(got))
	require.NoDirExists(t, filepath.Join(dir, "mcp", "v1"))
}

// TestGenerateCheck runs the command on the committed folder, and on one that
// is not there.
func TestGenerateCheck(t *testing.T) {
	var out, errs bytes.Buffer
	code := run([]string{"generate", "--check", "--dir", filepath.Join("..", "..", "generated")}, strings.NewReader(""), &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	require.Empty(t, out.String()+errs.String())
	code = run([]string{"generate", "--check", "--dir", filepath.Join(t.TempDir(), "none")}, strings.NewReader(""), &out, &errs)
	require.Equal(t, exitFailure, code)
	require.Contains(t, errs.String(), mend)
}
