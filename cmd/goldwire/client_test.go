package main

import (
	"bytes"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestClient holds what the client command does in the environment of the official
// suite and outside of it.
func TestClient(t *testing.T) {
	h := streamhttp.NewHandler(everything.Server())
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer h.Close()
	for _, c := range []struct {
		name, scenario, context string
		args                    []string
		code                    int
		stdout, stderr          string // parts
	}{
		{"outside of the suite", "", "", []string{srv.URL}, exitOK, everything.Name + " " + everything.Version + ", ", ""},
		{"a scenario", "initialize", "", []string{srv.URL}, exitOK, "", ""},
		{"a scenario with a context", "http-custom-headers", `{"toolCalls":[{"name":"test_x_mcp_header","arguments":{"region":"ä"}}]}`, []string{srv.URL}, exitOK, "", ""},
		{"a tool that is not there", "tools_call", "", []string{srv.URL}, exitTarget, "", "add_numbers"},
		{"a scenario that nobody knows", "auth/dpop", "", []string{srv.URL}, exitUsage, "", `no scenario is called "auth/dpop"`},
		{"a context that is not JSON", "initialize", "{", []string{srv.URL}, exitUsage, "", envContext},
		{"no server", "", "", []string{"http://127.0.0.1:1/mcp"}, exitTarget, "", "127.0.0.1:1"},
		{"no URL", "", "", nil, exitUsage, "", "no server is named"},
		{"two URLs", "", "", []string{srv.URL, srv.URL}, exitUsage, "", "one URL"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(envScenario, c.scenario)
			t.Setenv(envContext, c.context)
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, run(append([]string{"client"}, c.args...), nil, &stdout, &stderr), "%s", &stderr)
			require.Contains(t, stdout.String(), c.stdout)
			require.Contains(t, stderr.String(), c.stderr)
		})
	}
}
