package checktest_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check/checktest"
)

// serving runs h in memory and gives a client of it.
func serving(t *testing.T, h *checktest.HTTP) *http.Client {
	t.Helper()
	s := h.Start()
	tr := &http.Transport{DialContext: s.Dial}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		s.Close()
	})
	return &http.Client{Transport: tr}
}

// send makes a request; head is "name: value" lines.
func send(t *testing.T, c *http.Client, method, path, body string, head ...string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "http://mcp.test"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range head {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	res, err := c.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func text(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func modern(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`
}

func TestHTTPKeepsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serving(t, &checktest.HTTP{})
		r := send(t, c, "POST", "/mcp", hello)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, text(t, r), "data: \n\nid: s2-1\ndata: {")
		id := "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
		require.Equal(t, 202, send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id).StatusCode)
		r = send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, id, "Mcp-Protocol-Version: 2025-11-25")
		require.Equal(t, "id: s4-0\ndata: \n\nid: s4-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n", text(t, r))
		require.Equal(t, 400, send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, id, "Mcp-Protocol-Version: nonsense").StatusCode)
		require.Equal(t, 400, send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`).StatusCode)
		require.Equal(t, 403, send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, id, "Origin: http://evil.example").StatusCode)

		get := send(t, c, "GET", "/mcp", "", id)
		require.Equal(t, 200, get.StatusCode)
		r = send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":7}}}`, id)
		require.Equal(t, 3, strings.Count(text(t, r), "notifications/progress"))
		in := bufio.NewReader(get.Body)
		for {
			line, err := in.ReadString('\n')
			require.NoError(t, err)
			if strings.Contains(line, "list_changed") {
				break
			}
		}
		r = send(t, c, "GET", "/mcp", "", id, "Last-Event-ID: s4-0")
		require.Equal(t, "id: s4-1\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n", text(t, r))
		require.Equal(t, 204, send(t, c, "DELETE", "/mcp", "", id).StatusCode)
		require.Equal(t, 404, send(t, c, "POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"ping"}`, id).StatusCode)
	})
}

func TestHTTPServesStatelessRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serving(t, &checktest.HTTP{Server: checktest.Server{Versions: []string{"2026-07-28"}}})
		version := "Mcp-Protocol-Version: 2026-07-28"
		r := send(t, c, "POST", "/mcp", modern("1", "server/discover", ""), version, "Mcp-Method: server/discover")
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, text(t, r), "supportedVersions")
		for name, tt := range map[string]struct {
			body   string
			head   []string
			status int
			code   string
		}{
			"no version":    {modern("1", "tools/list", ""), []string{"Mcp-Method: tools/list"}, 400, "-32020"},
			"no meta":       {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, []string{version, "Mcp-Method: tools/list"}, 400, "-32602"},
			"other version": {modern("1", "tools/list", ""), []string{"Mcp-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list"}, 400, "-32020"},
			"no method":     {modern("1", "tools/list", ""), []string{version}, 400, "-32020"},
			"no name":       {modern("1", "tools/call", `,"name":"hello"`), []string{version, "Mcp-Method: tools/call"}, 400, "-32020"},
			"coded name":    {modern("1", "tools/call", `,"name":"hello"`), []string{version, "Mcp-Method: tools/call", "Mcp-Name: =?base64?aGVsbG8=?="}, 200, "hello"},
			"unknown":       {modern("1", "zz/zz", ""), []string{version, "Mcp-Method: zz/zz"}, 404, "-32601"},
			"handshake":     {hello, nil, 400, "2026-07-28"},
			"notification":  {`{"jsonrpc":"2.0","method":"notifications/x"}`, []string{version}, 202, ""},
			"array":         {`[]`, []string{version}, 400, "-32600"},
		} {
			r := send(t, c, "POST", "/mcp", tt.body, tt.head...)
			require.Equal(t, tt.status, r.StatusCode, name)
			require.Contains(t, text(t, r), tt.code, name)
		}
		for _, method := range []string{"GET", "DELETE"} {
			require.Equal(t, 405, send(t, c, method, "/mcp", "", version).StatusCode)
		}
		r = send(t, c, "POST", "/mcp", modern(`"l"`, "subscriptions/listen", `,"notifications":{"toolsListChanged":true}`), version, "Mcp-Method: subscriptions/listen")
		line, err := bufio.NewReader(r.Body).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "acknowledged")
	})
}

func TestHTTPServesTheOldTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serving(t, &checktest.HTTP{})
		r := send(t, c, "GET", "/sse", "")
		in := bufio.NewReader(r.Body)
		read := func() string {
			s := ""
			for {
				line, err := in.ReadString('\n')
				require.NoError(t, err)
				if line == "\n" {
					return s
				}
				s += line
			}
		}
		first := read()
		require.True(t, strings.HasPrefix(first, "event: endpoint\ndata: /messages?session="), first)
		to := strings.TrimSpace(strings.TrimPrefix(first, "event: endpoint\ndata: "))
		require.Equal(t, 202, send(t, c, "POST", to, hello).StatusCode)
		answer := read()
		require.True(t, strings.HasPrefix(answer, "event: message\ndata: {"), answer)
		require.Contains(t, answer, `"protocolVersion":"2024-11-05"`)
		require.Equal(t, 403, send(t, c, "POST", to, hello, "Origin: http://evil.example").StatusCode)
	})
}

func TestHTTPWantsTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serving(t, &checktest.HTTP{Tokens: map[string]string{"good": "read tools", "narrow": "read"}})
		for auth, want := range map[string]int{"": 401, "Bearer zz": 401, "Bearer": 400, "Bearer good zz": 400, "Bearer good": 200, "Basic Zzo=": 401} {
			var head []string
			if auth != "" {
				head = []string{"Authorization: " + auth}
			}
			require.Equal(t, want, send(t, c, "POST", "/mcp", hello, head...).StatusCode, auth)
		}
		r := send(t, c, "POST", "/mcp", modern("1", "tools/call", `,"name":"hello"`), "Authorization: Bearer narrow", "Mcp-Method: tools/call")
		require.Equal(t, 403, r.StatusCode)
		require.Contains(t, r.Header.Get("WWW-Authenticate"), "insufficient_scope")
		require.Contains(t, text(t, send(t, c, "GET", "/.well-known/oauth-protected-resource/mcp", "")), `"resource":"http://mcp.test/mcp"`)
	})
}
