package compat_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

var discard = jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

// httpClients speak every revision.
func httpClients() []jsonrpc.Binder {
	return []jsonrpc.Binder{
		v20260728.Client{Options: discard}, v20251125.Client{Options: discard}, v20250618.Client{Options: discard},
		v20250326.Client{Options: discard}, v20241105.Client{Options: discard},
	}
}

// probed serves a script over HTTP: how server/discover is answered, and
// whether initialize is. $id stands for the request's.
type probed struct {
	status    int
	kind      string
	body      string
	stateful  string // the revision that initialize is answered with; "" refuses it
	mu        sync.Mutex
	heard     []string
	behindGet http.Handler // may be nil
}

func (p *probed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m := wire.Raw(body)
	method, _ := m.Get("method").Str()
	p.mu.Lock()
	p.heard = append(p.heard, strings.TrimSpace(r.Method+" "+method))
	p.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && p.behindGet != nil || r.URL.RawQuery != "":
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		p.behindGet.ServeHTTP(w, r)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case method == "server/discover" || method == "initialize" && p.stateful == "":
		w.Header().Set("Content-Type", p.kind)
		w.WriteHeader(p.status)
		_, _ = io.WriteString(w, strings.ReplaceAll(p.body, "$id", string(m.Get("id"))))
	case method == "initialize":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, m.Get("id"), p.stateful)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (p *probed) posts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, h := range p.heard {
		if h != "GET" && h != "DELETE" {
			out = append(out, strings.TrimPrefix(h, "POST "))
		}
	}
	return out
}

func (p *probed) start(t *testing.T) *streamhttp.Endpoint {
	srv := httptest.NewServer(p)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return &streamhttp.Endpoint{URL: srv.URL, Logger: discard.Logger}
}

const (
	discovered = `{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{}}}`
	anError    = `{"jsonrpc":"2.0","id":$id,"error":{"code":%d,"message":"no"%s}}`
)

// TestDialOverHTTPFindsTheEra holds the table of how a client tells the eras
// apart over HTTP (2026-07-28, basic/transports/streamable-http, backward
// compatibility).
func TestDialOverHTTPFindsTheEra(t *testing.T) {
	rpc := func(code int) string { return fmt.Sprintf(anError, code, "") }
	for _, c := range []struct {
		rule   string
		server *probed
		want   string // the revision, "" for failure
		asked  []string
		err    string
	}{
		{"a result", &probed{status: 200, kind: "application/json", body: discovered}, "2026-07-28", []string{"server/discover"}, ""},
		{"a result as a stream", &probed{status: 200, kind: "text/event-stream", body: "data: " + discovered + "\n\n"}, "2026-07-28", []string{"server/discover"}, ""},
		{"a result that lists stateful revisions alone", &probed{status: 200, kind: "application/json", body: strings.Replace(discovered, `"2026-07-28"`, `"2025-11-25","2025-06-18"`, 1), stateful: "2025-11-25"}, "2025-11-25", []string{"server/discover", "initialize", "notifications/initialized"}, ""},
		{"a result that lists none of ours", &probed{status: 200, kind: "application/json", body: strings.Replace(discovered, "2026-07-28", "2027-01-01", 1), stateful: "2025-11-25"}, "", []string{"server/discover"}, "2027-01-01"},
		{"400 with -32020", &probed{status: 400, kind: "application/json", body: rpc(-32020), stateful: "2025-11-25"}, "", []string{"server/discover"}, "-32020"},
		{"400 with -32021", &probed{status: 400, kind: "application/json", body: rpc(-32021), stateful: "2025-11-25"}, "", []string{"server/discover"}, "-32021"},
		{"400 with -32022", &probed{status: 400, kind: "application/json", body: fmt.Sprintf(anError, -32022, `,"data":{"supported":["2027-01-01"],"requested":"2026-07-28"}`), stateful: "2025-11-25"}, "", []string{"server/discover"}, "2027-01-01"},
		{"400 with -32022 that lists a stateful revision", &probed{status: 400, kind: "application/json", body: fmt.Sprintf(anError, -32022, `,"data":{"supported":["2025-11-25","2025-06-18"],"requested":"2026-07-28"}`), stateful: "2025-11-25"}, "2025-11-25", []string{"server/discover", "initialize", "notifications/initialized"}, ""},
		{"400 with -32022 that lists none of ours", &probed{status: 400, kind: "application/json", body: fmt.Sprintf(anError, -32022, `,"data":{"supported":["2024-01-01"],"requested":"2026-07-28"}`), stateful: "2025-11-25"}, "", []string{"server/discover"}, "2024-01-01"},
		{"404 with -32601: every stateless server knows the method", &probed{status: 404, kind: "application/json", body: rpc(-32601), stateful: "2025-11-25"}, "2025-11-25", []string{"server/discover", "initialize", "notifications/initialized"}, ""},
		{"404 with -32601 to everything", &probed{status: 404, kind: "application/json", body: rpc(-32601)}, "", []string{"server/discover", "initialize"}, "-32601"},
		{"400, empty", &probed{status: 400, stateful: "2025-11-25"}, "2025-11-25", []string{"server/discover", "initialize", "notifications/initialized"}, ""},
		{"400 with a page", &probed{status: 400, kind: "text/html", body: "<html>", stateful: "2025-06-18"}, "2025-06-18", []string{"server/discover", "initialize", "notifications/initialized"}, ""},
		{"discover-fallback-only-on-32601: 400 with another code", &probed{status: 400, kind: "application/json", body: rpc(-32602), stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"discover-legacy-sdk-answers-32602", &probed{status: 200, kind: "application/json", body: rpc(-32602), stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"200 with -32601", &probed{status: 200, kind: "application/json", body: rpc(-32601), stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"discover-error-with-null-id", &probed{status: 400, kind: "application/json", body: `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Missing ID field"}}`, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"400 with the code of a missing session", &probed{status: 400, kind: "application/json", body: `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"404 without such a code", &probed{status: 404, stateful: "2025-03-26"}, "2025-03-26", nil, ""},
		{"405", &probed{status: 405, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"406", &probed{status: 406, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"500", &probed{status: 500, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"202", &probed{status: 202, stateful: "2025-11-25"}, "2025-11-25", nil, ""},
		{"401 says nothing", &probed{status: 401, stateful: "2025-11-25"}, "", []string{"server/discover"}, "401"},
		{"403 says nothing", &probed{status: 403, stateful: "2025-11-25"}, "", []string{"server/discover"}, "403"},
		{"429 says nothing", &probed{status: 429, stateful: "2025-11-25"}, "", []string{"server/discover"}, "429"},
		{"503 says nothing", &probed{status: 503, stateful: "2025-11-25"}, "", []string{"server/discover"}, "503"},
		{"400 to everything, and no stream", &probed{status: 400}, "", []string{"server/discover", "initialize"}, "400"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			conn, err := compat.DialRevisions(t.Context(), c.server.start(t), httpClients()...)
			if c.asked != nil {
				require.Equal(t, c.asked, c.server.posts())
			}
			if c.want == "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, conn.Session().Revision)
			require.NoError(t, conn.Close(t.Context()))
		})
	}
}

func TestDialOverHTTPFallsBackOnHTTPAndSSE(t *testing.T) {
	old := ssehttp.NewHandler(v20241105.Server{Info: v20241105.Implementation{Name: "s", Version: "1"}, Options: discard})
	for _, status := range []int{400, 404, 405} {
		p := &probed{status: status, behindGet: old}
		conn, err := compat.DialRevisions(t.Context(), p.start(t), httpClients()...)
		require.NoError(t, err)
		require.Equal(t, "2024-11-05", conn.Session().Revision)
		require.NoError(t, conn.Ping(t.Context()))
		require.NoError(t, conn.Close(t.Context()))
	}
}

func TestDialOverHTTPRemembersTheEndpoint(t *testing.T) {
	p := &probed{status: 400, stateful: "2025-11-25"}
	e := p.start(t)
	for range 2 {
		conn, err := compat.DialRevisions(t.Context(), e, httpClients()...)
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
	require.Equal(t, []string{"server/discover", "initialize", "notifications/initialized", "initialize", "notifications/initialized"}, p.posts())
	p.mu.Lock()
	p.status, p.kind, p.body, p.stateful, p.heard = 200, "application/json", discovered, "", nil
	p.mu.Unlock()
	conn, err := compat.DialRevisions(t.Context(), e, httpClients()...)
	require.NoError(t, err, "what is remembered does not fit any more")
	require.Equal(t, "2026-07-28", conn.Session().Revision)
	require.NoError(t, conn.Close(t.Context()))
}

// TestDialOverHTTPRemembersClearAnswers: 400, 404 and 405 without a word of a
// stateless revision are remembered, and so is an error of the server's own;
// another status, even one that a proxy made up, is not.
func TestDialOverHTTPRemembersClearAnswers(t *testing.T) {
	for _, c := range []struct {
		rule       string
		status     int
		kind, body string
		then       string // the revision of the next dial, of a server that speaks both by then
	}{
		{"400", 400, "", "", "2025-11-25"},
		{"404", 404, "text/html", "<html>", "2025-11-25"},
		{"404 with -32601", 404, "application/json", fmt.Sprintf(anError, -32601, ""), "2025-11-25"},
		{"405", 405, "", "", "2025-11-25"},
		{"an error with 200", 200, "application/json", fmt.Sprintf(anError, -32601, ""), "2025-11-25"},
		{"500", 500, "", "", "2026-07-28"},
		{"500 with an error", 500, "application/json", fmt.Sprintf(anError, -32600, ""), "2026-07-28"},
		{"406", 406, "", "", "2026-07-28"},
		{"200 with an internal error", 200, "application/json", fmt.Sprintf(anError, -32603, ""), "2026-07-28"},
		{"200 with a page", 200, "text/html", "<html>", "2026-07-28"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			p := &probed{status: c.status, kind: c.kind, body: c.body, stateful: "2025-11-25"}
			e := p.start(t)
			dial := func() string {
				conn, err := compat.DialRevisions(t.Context(), e, httpClients()...)
				require.NoError(t, err)
				defer conn.Close(t.Context())
				return conn.Session().Revision
			}
			require.Equal(t, "2025-11-25", dial())
			p.mu.Lock()
			p.status, p.kind, p.body = 200, "application/json", discovered // what only failed works again
			p.mu.Unlock()
			require.Equal(t, c.then, dial())
		})
	}
}

func TestDialOfNobody(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	url := srv.URL
	srv.Close()
	_, err := compat.DialRevisions(t.Context(), streamhttp.URL(url), httpClients()...)
	var re *streamhttp.RequestError
	require.ErrorAs(t, err, &re)
	require.False(t, re.Sent)
}
