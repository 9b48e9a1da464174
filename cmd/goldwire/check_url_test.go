package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// atURL serves the reference server over both transports, to whoever has the
// token: "" is everybody.
func atURL(t *testing.T, token string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/mcp", streamhttp.NewHandler(everything.Server()))
	mux.Handle("/sse", ssehttp.NewHandler(everything.Server()))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// checked runs goldwire check.
func checked(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(append([]string{"check"}, args...), nil, &out, &errs)
	return code, out.String(), errs.String()
}

// TestCheckURL holds that a server at a URL is judged over the transport that it
// speaks, from the command line or from a configuration.
func TestCheckURL(t *testing.T) {
	url := atURL(t, "")
	config := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"mcpServers":{
		"plain":{"url":"`+url+`/mcp"},
		"typed":{"type":"streamable-http","url":"`+url+`/mcp","headers":{"X-Anything":"not-to-be-seen"}},
		"old":{"type":"sse","url":"`+url+`/sse"}
	}}`), 0o666))
	for name, tt := range map[string]struct {
		args []string
		over string
	}{
		"at the endpoint":       {[]string{url + "/mcp"}, "http"},
		"told the transport":    {[]string{"--transport", "http", url + "/mcp"}, "http"},
		"of the old transport":  {[]string{"--transport", "sse", url + "/sse"}, "sse"},
		"found to be old":       {[]string{url + "/sse"}, "sse"},
		"configured":            {[]string{"--config", config, "--server", "plain"}, "http"},
		"configured with more":  {[]string{"--config", config, "--server", "typed"}, "http"},
		"configured to be old":  {[]string{"--config", config, "--server", "old"}, "sse"},
		"with a header that is": {[]string{"--header", "X-Anything: not-to-be-seen", url + "/mcp"}, "http"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saved := t.TempDir()
			args := append([]string{"--format", "json", "--revision", "2025-11-25", "--only", "unknown-method", "--save", saved}, tt.args...)
			code, stdout, stderr := checked(args...)
			require.Equal(t, exitOK, code, "%s", stderr)
			rep, err := report.ParseJSON([]byte(stdout))
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(rep.Target.URL, url), rep.Target.URL)
			require.Equal(t, "goldwire-everything", rep.Target.Name)
			require.Len(t, rep.Results, 1)
			require.Equal(t, tt.over, rep.Results[0].Transport)
			files, err := filepath.Glob(filepath.Join(saved, "*.wire"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, f := range files {
				text, err := os.ReadFile(f)
				require.NoError(t, err)
				require.NotContains(t, string(text), "not-to-be-seen")
				require.Contains(t, string(text), "\ntransport: "+tt.over+"\n")
			}
		})
	}
}

// TestCheckURLWithAToken holds that a token opens the server and shows nowhere,
// and that without one the report says what keeps it from more.
func TestCheckURLWithAToken(t *testing.T) {
	const token = "s3cr3t-t0ken-of-somebody"
	url := atURL(t, token) + "/mcp"
	t.Setenv("TOKEN_OF_TEST", token)
	for _, arg := range []string{token, "${TOKEN_OF_TEST}"} {
		saved := t.TempDir()
		code, stdout, stderr := checked("--format", "json", "--revision", "2026-07-28", "--only", "unknown-method", "--bearer", arg, "--save", saved, url)
		require.Equal(t, exitOK, code, "%s", stderr)
		require.NotContains(t, stdout, token)
		files, err := filepath.Glob(filepath.Join(saved, "*.wire"))
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			require.NotContains(t, string(text), token)
		}
	}
	code, stdout, _ := checked("--revision", "2026-07-28", "--only", "unknown-method", url)
	require.Equal(t, exitNoResult, code)
	require.Contains(t, stdout, "credentials")
}

func TestCheckURLThatIsNone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + l.Addr().String() + "/mcp"
	require.NoError(t, l.Close())
	code, stdout, stderr := checked("--format", "json", nobody)
	require.Equal(t, exitTarget, code)
	require.Contains(t, stderr, nobody+" could not be reached")
	require.Contains(t, stdout, `"kind": "start"`)

	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	code, _, stderr = checked(page.URL)
	require.Equal(t, exitTarget, code)
	require.Contains(t, stderr, "HTTP status 404")

	for _, args := range [][]string{
		{"--transport", "stdio", page.URL}, {"--transport", "smoke", page.URL}, {"--env", "A=b", page.URL}, {"--header", "no colon", page.URL},
		{"--bearer", "a", "--header", "Authorization: b", page.URL},
		{"--header", "A: b", "--", "cmd"}, {"--bearer", "b", "--", "cmd"}, {"--transport", "http", "--", "cmd"}, {page.URL, page.URL}, {"http://"}, {"--profile", "other", page.URL},
	} {
		code, _, stderr := checked(args...)
		require.Equal(t, exitUsage, code, "%v: %s", args, stderr)
	}
	// The flag is named that was given.
	for flag, value := range map[string]string{"--bearer": "${NO_SUCH_VARIABLE}", "--header": "X-Key: ${NO_SUCH_VARIABLE}"} {
		code, _, stderr := checked(flag, value, page.URL)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, "goldwire: "+flag)
		require.Contains(t, stderr, ": the variable ${NO_SUCH_VARIABLE} is not set")
	}
}

// TestCheckListByTransport holds that the list knows what is judged over what.
func TestCheckListByTransport(t *testing.T) {
	for over, want := range map[string][2]string{"http": {"http-origin-refused", "stdout-messages-only"}, "stdio": {"stdout-messages-only", "http-origin-refused"}} {
		code, stdout, stderr := checked("--list", "--transport", over)
		require.Equal(t, exitOK, code, "%s", stderr)
		require.Contains(t, stdout, "\n"+want[0])
		require.NotContains(t, stdout, "\n"+want[1])
	}
	_, stdout, _ := checked("--list", "--only", "unknown-method", "--format", "json")
	require.Contains(t, strings.Join(strings.Fields(stdout), ""), `"transports":["stdio","http","sse"]`)
}
