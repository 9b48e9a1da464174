package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeShowsDiff holds that what the README shows of mcpgen diff is what
// it prints.
func TestReadmeShowsDiff(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	m := regexp.MustCompile(`(?s)\$ go run ./cmd/mcpgen (diff [0-9-]+ [0-9-]+)\n(.*?)` + "```").FindSubmatch(readme)
	require.NotNil(t, m, "the README shows no diff")
	var out, errs testWriter
	require.Zero(t, run(strings.Fields(string(m[1])), nil, &out, &errs), "%s", errs)
	n := 0
	for line := range strings.Lines(string(m[2])) {
		if line = strings.TrimRight(line, "\n"); line != "" && line != "…" {
			require.Contains(t, "\n"+string(out), "\n"+line+"\n")
			n++
		}
	}
	require.Greater(t, n, 3)
}
