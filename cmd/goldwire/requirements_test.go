package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeStatesCoverage holds that the README says how much the checks judge.
func TestReadmeStatesCoverage(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"requirements", "--summary"}, nil, &out, &errs), "%s", &errs)
	table, _, _ := strings.Cut(out.String(), "\n\n")
	require.True(t, strings.Contains(readme(t), "```\n"+table+"\n```\n"), "put the table that `go run ./cmd/goldwire requirements --summary` prints into the README:\n%s", table)
}
