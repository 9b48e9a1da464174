//go:build unix

package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// seen is a request as an HTTP server of the test got it.
type seen struct {
	method, body string
	header       http.Header
}

// recorded is an HTTP server of the test: answer makes the response to a body.
func recorded(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string)) (url string, got func() []seen) {
	var mu sync.Mutex
	var all []seen
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		all = append(all, seen{r.Method, string(b), r.Header.Clone()})
		mu.Unlock()
		answer(w, r, string(b))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return append([]seen(nil), all...)
	}
}

// TestStdioToHTTP holds that a client on stdin and stdout reaches a server over
// HTTP byte for byte, with the headers of the session and those of the user.
func TestStdioToHTTP(t *testing.T) {
	var initialized, early atomic.Bool
	url, got := recorded(t, func(w http.ResponseWriter, r *http.Request, body string) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case strings.Contains(body, `"initialize"`):
			w.Header().Set("Mcp-Session-Id", "sess")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
		case strings.Contains(body, `"tools/call"`):
			early.Store(!initialized.Load())
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1.0}}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"roots/list\"}\n\n")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\", \"id\":2,\"result\":{\"n\":1.50},\"x\":0}\n\n")
		case strings.Contains(body, `"notifications/initialized"`):
			<-time.After(20 * time.Millisecond) // longer than a stdio link waits for a handler
			w.WriteHeader(http.StatusAccepted)
			initialized.Store(true)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	b := New(&streamhttp.Endpoint{URL: url, Header: http.Header{"Authorization": {"Bearer secret"}}, Logger: quietLog()}, Options{Logger: quietLog()})
	client := connect(t, b)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	client.send(strings.Replace(initialize, "2025-11-25", "2025-06-18", 1))
	require.Equal(t, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, client.recv())
	client.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	client.send(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"_meta":{"progressToken":"t"},"n":1e2}}`)
	require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.0}}`, client.recv())
	lines := []string{client.recv(), client.recv()} // the question, beside the answer
	require.ElementsMatch(t, []string{`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `{"jsonrpc":"2.0", "id":"c","result":{"n":1.50},"x":0}`}, lines)
	client.send(`{"jsonrpc":"2.0","id":1,"result":{"roots":[], "k":1.0}}`)
	require.Eventually(t, func() bool {
		for _, s := range got() {
			if s.body == `{"jsonrpc":"2.0","id":"s","result":{"roots":[], "k":1.0}}` {
				return true
			}
		}
		return false
	}, 5*time.Second, time.Millisecond)
	require.False(t, early.Load(), "no request overtakes notifications/initialized")
	for _, s := range got() {
		require.Equal(t, "Bearer secret", s.header.Get("Authorization"))
		if !strings.Contains(s.body, `"initialize"`) {
			require.Equal(t, "sess", s.header.Get("Mcp-Session-Id"))
			require.Equal(t, "2025-06-18", s.header.Get("Mcp-Protocol-Version"), "a bridge has to know what was agreed on")
		}
		if strings.Contains(s.body, `"tools/call"`) {
			require.Equal(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":2},"n":1e2}}`, s.body)
		}
	}
}

// TestFailuresOfHTTPReachTheClient holds that a client hears of a server that
// cannot be reached or refuses, without what is secret.
func TestFailuresOfHTTPReachTheClient(t *testing.T) {
	url, _ := recorded(t, func(w http.ResponseWriter, _ *http.Request, _ string) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	})
	for _, c := range []struct{ url, want string }{
		{url, `{"status":401}`},
		{"http://127.0.0.1:1/mcp", ``},
	} {
		b := New(&streamhttp.Endpoint{URL: c.url, Header: http.Header{"Authorization": {"Bearer hush-hush"}}, Logger: quietLog()}, Options{Logger: quietLog()})
		client := connect(t, b)
		for _, msg := range []string{initialize, `{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{` + meta + `}}`} {
			client.send(msg)
			e, err := jsonrpc.ParseEnvelope([]byte(client.recv()))
			require.NoError(t, err)
			require.Equal(t, CodeUnreachable, e.Error.Code)
			require.Equal(t, c.want, string(e.Error.Data))
			require.NotContains(t, e.Error.Message, "hush")
		}
		require.NoError(t, b.Close(context.Background()))
	}
}

// TestCursorOfALostSession holds that a client hears that the next page of a list
// cannot be had since the server's session has ended, and that this is nothing that
// another try mends: invalid params, as of any cursor that is not good (2025-11-25,
// server/utilities/pagination).
func TestCursorOfALostSession(t *testing.T) {
	for name, rev := range map[string]string{"passed": "2025-11-25", "converted": "2025-06-18"} {
		t.Run(name, func(t *testing.T) {
			var sessions atomic.Int64
			var lost atomic.Value // the session of the first list
			url, _ := recorded(t, func(w http.ResponseWriter, r *http.Request, body string) {
				w.Header().Set("Content-Type", "application/json")
				id, session := wire.Raw(body).Get("id"), r.Header.Get("Mcp-Session-Id")
				switch {
				case r.Method != http.MethodPost:
					w.WriteHeader(http.StatusMethodNotAllowed)
				case strings.Contains(body, `"initialize"`):
					w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, id, rev)
				case session != "" && session == lost.Load():
					w.WriteHeader(http.StatusNotFound)
				case strings.Contains(body, `"tools/list"`):
					lost.CompareAndSwap(nil, session)
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"nextCursor":"next"}}`, id)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			})
			b := New(&streamhttp.Endpoint{URL: url, Logger: quietLog()}, Options{Logger: quietLog()})
			client := connect(t, b)
			t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
			client.send(initialize)
			require.Contains(t, client.recv(), `"protocolVersion":"2025-11-25"`)
			client.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			require.Contains(t, client.recv(), `"nextCursor":"next"`)
			client.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"next"}}`)
			require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"error":{"code":%d,"message":%q}}`, jsonrpc.CodeInvalidParams, streamhttp.ErrStaleCursor), client.recv())
		})
	}
}

// TestQuestionsOverHTTP holds that what a server asks and tells, in a call and
// outside of one, reaches a client over HTTP that speaks the same revision.
func TestQuestionsOverHTTP(t *testing.T) {
	s := newServers(t)
	_, url, _ := overHTTP(t, s, Options{})
	changed := make(chan struct{}, 1)
	type joined struct {
		r   *v20251125.RemoteServer
		err error
	}
	made := make(chan joined)
	go func() {
		r, err := v20251125.Connect(t.Context(), streamhttp.URL(url+"/mcp"), v20251125.Client{
			ListRoots: func(context.Context, *v20251125.ListRootsParams) (*v20251125.ListRootsResult, error) {
				return &v20251125.ListRootsResult{Roots: []v20251125.Root{{URI: "file:///r"}}}, nil
			},
			ToolListChanged: func(context.Context, *v20251125.ToolListChangedParams) error {
				changed <- struct{}{}
				return nil
			},
		})
		made <- joined{r, err}
	}()
	server := <-s.next
	server.recv()
	server.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`)
	require.Contains(t, server.recv(), "notifications/initialized")
	m := <-made
	require.NoError(t, m.err)
	defer func() {
		go func() { _, _ = io.Copy(io.Discard, server.r) }()
		require.NoError(t, m.r.Close())
	}()
	server.send(`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`) // outside of a call
	require.Equal(t, `{"jsonrpc":"2.0","id":"a","result":{"roots":[{"uri":"file:///r"}]}}`, server.recv())
	server.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	<-changed
	result := make(chan error, 1)
	go func() {
		_, err := m.r.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x"})
		result <- err
	}()
	require.Contains(t, server.recv(), `"id":2,"method":"tools/call"`)
	server.send(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":7,"result":{}}`, server.recv())
	server.send(`{"jsonrpc":"2.0","id":"b","method":"roots/list"}`)
	require.Equal(t, `{"jsonrpc":"2.0","id":"b","result":{"roots":[{"uri":"file:///r"}]}}`, server.recv())
	server.send(`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	require.NoError(t, <-result)
}

// TestListenOverHTTP holds that a subscription passes, and that its end does,
// whether the client closes it after or before it heard anything.
func TestListenOverHTTP(t *testing.T) {
	s := newServers(t)
	_, url, _ := overHTTP(t, s, Options{})
	listen := func(ctx context.Context) *http.Response {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{`+meta+`,"notifications":{"toolsListChanged":true}}}`))
		require.NoError(t, err)
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": v20260728.Revision, "Mcp-Method": "subscriptions/listen"} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if ctx.Err() != nil {
			return nil
		}
		require.NoError(t, err)
		return res
	}
	got := make(chan *http.Response, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { got <- listen(ctx) }()
	server := <-s.next
	discovered(t, server)
	idOf := func(line string) string {
		id := wire.Raw(line).Get("id")
		require.NotNil(t, id, line)
		return string(id)
	}
	id := idOf(server.recv())
	server.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `},"notifications":{}}}`)
	res := <-got
	line := make([]byte, 512)
	n := 0
	for !strings.Contains(string(line[:n]), "\n\n") {
		k, err := res.Body.Read(line[n:])
		require.NoError(t, err)
		n += k
	}
	require.Contains(t, string(line[:n]), `"io.modelcontextprotocol/subscriptionId":"L"`)
	cancel()
	require.Contains(t, server.recv(), `"method":"notifications/cancelled","params":{"requestId":`+id)
	_ = res.Body.Close()

	ctx, cancel = context.WithCancel(t.Context())
	go func() { got <- listen(ctx) }()
	id = idOf(server.recv())
	cancel()
	require.Nil(t, <-got)
	require.Contains(t, server.recv(), `"method":"notifications/cancelled","params":{"requestId":`+id)
}
