package main

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of the older revisions")

// TestSiblings holds that the code for revisions with a handshake differs in
// its dates only.
func TestSiblings(t *testing.T) {
	newest, err := os.ReadFile("v20251125.go")
	require.NoError(t, err)
	for _, date := range []string{"20241105", "20250326", "20250618"} {
		want := bytes.ReplaceAll(newest, []byte("20251125"), []byte(date))
		name := "v" + date + ".go"
		if *update {
			require.NoError(t, os.WriteFile(name, want, 0o666))
		}
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "go test ./matrix/goldwire -update writes it")
	}
}
