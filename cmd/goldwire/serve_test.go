package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServeHTTP holds that the reference server is reached over HTTP in both
// eras, where it says, until it is told to stop.
func TestServeHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	served := make(chan error)
	go func() { served <- serveHTTP(ctx, ":0", w) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url := strings.TrimSpace(strings.TrimPrefix(line, "serving at "))
	require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+/mcp$`, url)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	post := func(body string, headers ...string) string {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		require.NoError(t, err)
		defer func() { _ = res.Body.Close() }()
		b, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, res.StatusCode, string(b))
		return string(b)
	}
	require.Contains(t, post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`),
		`"protocolVersion":"2025-11-25"`)
	require.Contains(t, post(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "server/discover"), `"supportedVersions":["2026-07-28"]`)
	cancel()
	require.NoError(t, <-served)
	require.Error(t, serveHTTP(t.Context(), "nonsense", io.Discard))
}
