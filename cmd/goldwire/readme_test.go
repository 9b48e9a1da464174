package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(b)
}

func blocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestReadmeProgramsTalk builds the programs of the README, lets the client
// call the server, judges the server, and reads what the others print.
func TestReadmeProgramsTalk(t *testing.T) {
	if raced {
		t.Skip("make test runs these programs without the race detector, which is not in them")
	}
	t.Setenv("GORACE", "atexit_sleep_ms=0")
	programs := blocks(readme(t), "go")
	require.Len(t, programs, 4)
	dir := t.TempDir()
	var bins []string
	for i, name := range []string{"server", "client", "both", "asks"} {
		src := filepath.Join(dir, name+".go")
		require.NoError(t, os.WriteFile(src, []byte(programs[i]), 0o666))
		bin := filepath.Join(dir, name)
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, src) // nobody debugs it
		cmd.Dir = "../.."
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		bins = append(bins, bin)
	}
	out, err := exec.Command(bins[1], bins[0]).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "echo\nhello\n", string(out))

	for _, bin := range bins[2:] {
		out, err = exec.Command(bin).Output()
		require.NoError(t, err)
		require.True(t, strings.Contains(readme(t), "It prints\n\n```\n"+string(out)+"```\n"), "the README shows what %s prints:\n%s", bin, out)
	}

	var stdout, stderr bytes.Buffer
	code := run([]string{"check", "--", bins[0]}, nil, &stdout, &stderr)
	require.Zero(t, code, "the README's server is judged conformant:\n%s%s", &stdout, &stderr)
}

var only = regexp.MustCompile(` --only \S+`)

// TestReadmeCommandsAreRun holds that each command of the README is run by a
// test or by the CI script: here are those that are, and who runs them.
func TestReadmeCommandsAreRun(t *testing.T) {
	ci, err := os.ReadFile("../../.ci/run")
	require.NoError(t, err)
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	scripts, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	more, err := filepath.Glob("testdata/*/*.txtar")
	require.NoError(t, err)
	scripts = append(scripts, more...)
	var script strings.Builder
	for _, f := range scripts {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		script.Write(b)
		script.Write(only.ReplaceAll(b, nil)) // a script may look at less than the README's reader
	}
	// What stands in the scripts for what only the reader has.
	stand := strings.NewReplacer("./my-server", "goldwire serve", "./my-client", "goldwire call", "http://localhost:8080", "$S", "127.0.0.1:8081", "127.0.0.1:0", `"$TOKEN"`, "$TOKEN")
	for _, block := range blocks(readme(t), "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			line = strings.TrimSpace(line)
			words := strings.Fields(line)
			switch {
			case line == "":
			case words[0] == "make":
				require.Contains(t, string(makefile), "\n"+words[1]+":", line)
				require.Contains(t, string(ci), "make "+words[1], "%s is run by .ci/run", line)
			case strings.HasPrefix(line, "go run ./cmd/mcpgen"):
				require.Contains(t, string(ci), line, "%s is run by .ci/run", line)
			case strings.HasPrefix(line, "go install"):
				require.DirExists(t, "../../cmd/goldwire")
			case strings.Contains(line, "npx"):
				require.Equal(t, "goldwire check -- npx -y @modelcontextprotocol/server-everything@2026.8.31", line, "the e2e tests judge this server")
			case words[0] == "goldwire":
				require.Contains(t, script.String(), stand.Replace(line), "%s is run by a script in testdata", line)
			default:
				t.Errorf("nobody runs %q", line)
			}
		}
	}
}
