package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSiblings holds that the code for revisions with a handshake differs in
// its dates only.
func TestSiblings(t *testing.T) {
	newest, err := os.ReadFile("v20251125.go")
	require.NoError(t, err)
	for _, date := range []string{"20241105", "20250326", "20250618"} {
		got, err := os.ReadFile("v" + date + ".go")
		require.NoError(t, err)
		want := bytes.ReplaceAll(newest, []byte("20251125"), []byte(date))
		require.Equal(t, string(want), string(got), "go generate ./matrix/goldwire writes it")
	}
}
