package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	"github.com/goldwire/goldwire/runtime/ssehttp"
)

// TestServeHTTP holds that the reference server is reached over HTTP in both
// eras and over HTTP+SSE, where it says, until it is told to stop.
func TestServeHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	served := make(chan error)
	go func() { served <- serveHTTP(ctx, everything.Server(), serveOptions{addr: ":0", sse: true}, w) }()
	said := bufio.NewReader(out)
	line, err := said.ReadString('\n')
	require.NoError(t, err)
	url := strings.TrimSpace(strings.TrimPrefix(line, "serving at "))
	require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+/mcp$`, url)
	line, err = said.ReadString('\n')
	require.NoError(t, err)
	sse := strings.TrimSpace(strings.TrimPrefix(line, "serving HTTP+SSE at "))
	require.Regexp(t, `^http://127\.0\.0\.1:[0-9]+/sse$`, sse)

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
	old, err := v20241105.Connect(t.Context(), ssehttp.URL(sse), v20241105.Client{Info: v20241105.Implementation{Name: "c", Version: "1"}})
	require.NoError(t, err)
	_, err = old.ListTools(t.Context(), nil)
	require.NoError(t, err)
	cancel() // while a client of HTTP+SSE is there
	require.NoError(t, <-served)
	<-old.Conn().Done()
	require.Error(t, serveHTTP(t.Context(), everything.Server(), serveOptions{addr: "nonsense"}, io.Discard))
}

// TestStateKey holds which files are no keys.
func TestStateKey(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	require.NoError(t, os.WriteFile(short, []byte("0123456789"), 0o600))
	for _, file := range []string{short, short + "er"} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, run([]string{"serve", "--state-key", file}, nil, io.Discard, &stderr))
		require.Contains(t, stderr.String(), file)
	}
	s, err := sealerOf("")
	require.NoError(t, err)
	require.Nil(t, s)
}
