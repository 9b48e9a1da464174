package ssehttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	old "github.com/goldwire/goldwire/generated/mcp/v20241105"
	newer "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

var quiet = slog.New(slog.DiscardHandler)

// server has the tools echo, ask (it samples) and wait (it ends when it is
// cancelled).
func server(cancelled chan<- string) old.Server {
	return old.Server{
		Info: old.Implementation{Name: "s", Version: "1"}, Options: jsonrpc.Options{Logger: quiet},
		ListTools: func(context.Context, *old.ListToolsParams) (*old.ListToolsResult, error) {
			return &old.ListToolsResult{Tools: []old.Tool{{Name: "echo", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(ctx context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
			text := string(wire.Raw(p.Arguments).Get("text"))
			switch p.Name {
			case "ask":
				r, err := old.Peer(ctx).CreateMessage(ctx, &old.CreateMessageParams{MaxTokens: 1, Messages: []old.SamplingMessage{}})
				if err != nil {
					return nil, err
				}
				text = r.Model
			case "wait":
				<-ctx.Done()
				cancelled <- p.Name
				return nil, ctx.Err()
			}
			return &old.CallToolResult{Content: []old.ContentBlock{&old.TextContent{Text: text}}}, nil
		},
	}
}

func client() old.Client {
	return old.Client{
		Info: old.Implementation{Name: "c", Version: "1"}, Options: jsonrpc.Options{Logger: quiet},
		CreateMessage: func(context.Context, *old.CreateMessageParams) (*old.CreateMessageResult, error) {
			return &old.CreateMessageResult{Role: "assistant", Model: "m", Content: &old.TextContent{Text: "x"}}, nil
		},
	}
}

func serve(t *testing.T, h http.Handler) string {
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

func endpoint(url string) *streamhttp.Endpoint {
	e := ssehttp.URL(url)
	e.Logger = quiet
	return e
}

func echo(t *testing.T, r *old.RemoteServer, tool, text string) string {
	res, err := r.CallTool(t.Context(), &old.CallToolParams{Name: tool, Arguments: wire.Raw(`{"text":` + string(wire.Quote(text)) + `}`)})
	require.NoError(t, err)
	return res.Content[0].(*old.TextContent).Text
}

func TestBothSides(t *testing.T) {
	for _, path := range []string{"", "/messages", "messages?a=b"} {
		t.Run("posting to "+path, func(t *testing.T) {
			cancelled := make(chan string, 1)
			h := ssehttp.NewHandler(server(cancelled), ssehttp.HandlerOptions{MessagePath: path, Logger: quiet})
			require.NoError(t, h.Err())
			mux := http.NewServeMux()
			mux.Handle("/sse", h)
			mux.Handle("/messages", h)
			url := serve(t, mux)
			r, err := old.Connect(t.Context(), endpoint(url+"/sse"), client())
			require.NoError(t, err)
			require.Equal(t, `"hi"`, echo(t, r, "echo", "hi"))
			require.Equal(t, "m", echo(t, r, "ask", ""), "the server asks the client within a call")
			require.NoError(t, r.Conn().Ping(t.Context()))

			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for h.Sessions() != 1 {
					runtime.Gosched()
				}
				time.AfterFunc(20*time.Millisecond, cancel)
			}()
			_, err = r.CallTool(ctx, &old.CallToolParams{Name: "wait"})
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, "wait", <-cancelled, "a call is cancelled by a notification")

			st := r.Conn().Link().(*streamhttp.Link).Status()
			require.Equal(t, streamhttp.StreamOpen, st.Stream)
			require.NoError(t, r.Close())
			require.Eventually(t, func() bool { return h.Sessions() == 0 }, 5*time.Second, time.Millisecond)
		})
	}
}

func TestManyClientsEachSeeTheirOwnAnswers(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet})
	url := serve(t, h)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			r, err := old.Connect(t.Context(), endpoint(url), client())
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = r.Close() }()
			for k := range 20 {
				want := fmt.Sprint(i, k)
				res, err := r.CallTool(t.Context(), &old.CallToolParams{Name: "echo", Arguments: wire.Raw(`{"text":"` + want + `"}`)})
				if err != nil || res.Content[0].(*old.TextContent).Text != `"`+want+`"` {
					t.Error(res, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// open opens a stream by hand and reads its endpoint.
func open(t *testing.T, url string, header http.Header) (*http.Response, *sse.Reader, string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	req.Header = header
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		return resp, nil, ""
	}
	rd := sse.NewReader(resp.Body, 0)
	ev, err := rd.Next()
	require.NoError(t, err)
	require.Equal(t, "endpoint", ev.Type)
	return resp, rd, string(ev.Data)
}

func post(t *testing.T, url, body string, header http.Header) *http.Response {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	if header != nil {
		req.Header = header
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}

func TestServerOnTheWire(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, MaxMessage: 1000})
	url := serve(t, h)
	resp, rd, where := open(t, url, nil)
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	require.Equal(t, "no", resp.Header.Get("X-Accel-Buffering"))
	require.Equal(t, "no-cache, no-transform", resp.Header.Get("Cache-Control"))

	for _, c := range []struct {
		rule, body string
		want       string // on the stream
	}{
		{"initialize", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `"id":0,"result"`},
		{"a request", `{"jsonrpc":"2.0","id":"a","method":"ping"}`, `"id":"a","result":{}`},
		{"no JSON", `{`, `"id":null,"error":{"code":-32700`},
		{"a null id", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `"code":-32600`},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{"an unknown method", `{"jsonrpc":"2.0","id":7,"method":"no/such"}`, `"id":7,"error":{"code":-32601`},
	} {
		require.Equal(t, http.StatusAccepted, post(t, url+where, c.body, nil).StatusCode, c.rule)
		ev, err := rd.Next()
		require.NoError(t, err, c.rule)
		require.Equal(t, "message", ev.Type)
		require.Contains(t, string(ev.Data), c.want, c.rule)
	}
	require.Equal(t, http.StatusAccepted, post(t, url+where, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil).StatusCode)
	require.Equal(t, http.StatusBadRequest, post(t, url, `{}`, nil).StatusCode, "no session")
	require.Equal(t, http.StatusNotFound, post(t, url+"?sessionId=other", `{}`, nil).StatusCode, "an unknown session")
	require.Equal(t, http.StatusRequestEntityTooLarge, post(t, url+where, strings.Repeat(" ", 1001), nil).StatusCode)
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, url, nil)
	put, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_ = put.Body.Close()
	require.Equal(t, http.StatusMethodNotAllowed, put.StatusCode)
	require.Equal(t, "GET, POST", put.Header.Get("Allow"))

	_ = resp.Body.Close()
	require.Eventually(t, func() bool { return h.Sessions() == 0 }, 5*time.Second, time.Millisecond)
	require.Equal(t, http.StatusNotFound, post(t, url+where, `{}`, nil).StatusCode, "the session ends with its stream")
}

func TestServerChecksOriginAndHostOnBothEndpoints(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, AllowedOrigins: []string{"https://app.example"}})
	url := serve(t, h)
	_, _, where := open(t, url, http.Header{"Origin": {"https://app.example"}})
	for origin, ok := range map[string]bool{"https://app.example": true, "https://evil.example": false, "http://localhost": false, "null": false} {
		resp, _, _ := open(t, url, http.Header{"Origin": {origin}})
		require.Equal(t, ok, resp.StatusCode == http.StatusOK, origin)
		status := post(t, url+where, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.Header{"Origin": {origin}}).StatusCode
		if ok {
			require.Equal(t, http.StatusAccepted, status, origin)
		} else {
			require.Equal(t, http.StatusForbidden, resp.StatusCode, origin)
			require.Equal(t, http.StatusForbidden, status, origin)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	req.Host = "evil.example"
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Equal(t, http.StatusForbidden, resp.StatusCode)
}

func TestServerBindsSessionsToTheirPrincipal(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet})
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(jsonrpc.WithPrincipal(r.Context(), r.Header.Get("X-User"))))
	}))
	_, _, where := open(t, url, http.Header{"X-User": {"ann"}})
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	require.Equal(t, http.StatusAccepted, post(t, url+where, ping, http.Header{"X-User": {"ann"}}).StatusCode)
	require.Equal(t, http.StatusNotFound, post(t, url+where, ping, http.Header{"X-User": {"bob"}}).StatusCode)
}

func TestServerBounds(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, MaxSessions: 1, KeepAlive: time.Millisecond})
	url := serve(t, h)
	resp, _, _ := open(t, url, nil)
	second, _, _ := open(t, url, nil)
	require.Equal(t, http.StatusServiceUnavailable, second.StatusCode)
	require.Equal(t, "1", second.Header.Get("Retry-After"))
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, ": keep-alive\n", line)

	require.NoError(t, h.Shutdown(t.Context()))
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err, "the stream ends in good order")
	third, _, _ := open(t, url, nil)
	require.Equal(t, http.StatusServiceUnavailable, third.StatusCode)

	below := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, MaxSessions: -1, MaxMessage: -1, MaxBuffered: -1, MaxOutgoing: -1})
	resp, _, _ = open(t, serve(t, below), nil)
	require.Equal(t, http.StatusOK, resp.StatusCode, "a bound below nothing is the default")
	require.NoError(t, below.Shutdown(t.Context()))
}

// TestBadBinder holds that a binder that fails, or is none, is told of, and
// answered with 500.
func TestBadBinder(t *testing.T) {
	for name, b := range map[string]jsonrpc.Binder{"fails": failing{}, "none": nil, "no service": (*jsonrpc.Service)(nil), "binds nothing": empty{}} {
		t.Run(name, func(t *testing.T) {
			h := ssehttp.NewHandler(b, ssehttp.HandlerOptions{Logger: quiet})
			require.Error(t, h.Err())
			broken, _, _ := open(t, serve(t, h), nil)
			require.Equal(t, http.StatusInternalServerError, broken.StatusCode)
		})
	}
}

type empty struct{}

func (empty) Bind() (jsonrpc.Chooser, error) { return nil, nil }

type failing struct{}

func (failing) Bind() (jsonrpc.Chooser, error) { return nil, io.ErrUnexpectedEOF }

// script serves a stream by hand: what it begins with, and what is done with
// what is posted.
func script(first string, posted func(body []byte, send func(string))) http.Handler {
	var mu sync.Mutex
	var send func(string)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			w.WriteHeader(http.StatusAccepted)
			mu.Lock()
			defer mu.Unlock()
			if posted != nil && send != nil {
				posted(body, send)
			}
			return
		}
		over := make(chan struct{})
		mu.Lock()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, first)
		w.(http.Flusher).Flush()
		send = func(text string) {
			if text == "" {
				close(over)
				return
			}
			_, _ = io.WriteString(w, text)
			w.(http.Flusher).Flush()
		}
		mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-over:
		}
		mu.Lock()
		send = nil
		mu.Unlock()
	})
}

func answering(body []byte, send func(string)) {
	m := wire.Raw(body)
	switch method, _ := m.Get("method").Str(); method {
	case "initialize":
		send("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + string(m.Get("id")) + ",\"result\":{\"protocolVersion\":\"2024-11-05\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}\n\n")
	case "tools/list":
		send("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":" + string(m.Get("id")) + ",\"result\":{\"tools\":[]}}\n\n")
	case "ping":
		send("") // ends
	}
}

func TestClientFindsTheEndpoint(t *testing.T) {
	for _, c := range []struct{ rule, data, want string }{
		{"an absolute path", "/messages?s=1", ""},
		{"a relative path", "messages/x", ""},
		{"a path from above", "../up", ""},
		{"a query alone", "?s=1", ""},
		{"the whole URL", "$url/any/where?x=y", ""},
		{"with white space", " /messages ", ""},
		{"another host", "http://evil.example/messages", "legacy SSE endpoint origin mismatch"},
		{"another host without scheme", "//evil.example/messages", "legacy SSE endpoint origin mismatch"},
		{"another port", "http://127.0.0.1:1/messages", "legacy SSE endpoint origin mismatch"},
		{"another scheme", "https://$host/messages", "legacy SSE endpoint origin mismatch"},
		{"a file", "file:///etc/passwd", "legacy SSE endpoint origin mismatch"},
		{"no URL", "http://%zz", "legacy SSE endpoint is no URL"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var h http.Handler
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
			data := strings.NewReplacer("$url", url, "$host", strings.TrimPrefix(url, "http://")).Replace(c.data)
			h = script("event: endpoint\r\ndata: "+data+"\r\n\r\n", answering)
			r, err := old.Connect(t.Context(), endpoint(url+"/a/sse"), client())
			if c.want != "" {
				var ee *streamhttp.EndpointError
				require.ErrorAs(t, err, &ee)
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			_, err = r.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, r.Close())
		})
	}
}

func TestClientOfBadServers(t *testing.T) {
	for rule, h := range map[string]http.Handler{
		"legacy SSE endpoint event not received: the first event is of type \"message\"": script("data: {}\n\n", nil),
		"legacy SSE endpoint event not received: HTTP 404":                               http.NotFoundHandler(),
		"legacy SSE endpoint event not received: EOF":                                    http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/event-stream") }),
		"but \"text/html\"": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Content-Type", "text/html") }),
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := endpoint(serve(t, h)).Dial(t.Context())
			require.ErrorContains(t, err, rule)
		})
	}
	t.Run("never an endpoint", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := endpoint(serve(t, script(": hi\n\n", nil))).Dial(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	t.Run("the end of the stream is the end of the connection", func(t *testing.T) {
		r, err := old.Connect(t.Context(), endpoint(serve(t, script("event: endpoint\ndata: /m\n\n", answering))), client())
		require.NoError(t, err)
		err = r.Conn().Ping(t.Context())
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
		require.ErrorIs(t, err, io.EOF)
		<-r.Conn().Done()
		require.ErrorIs(t, r.Conn().Link().Err(), io.EOF)
	})
	t.Run("a message that is refused", func(t *testing.T) {
		h := script("event: endpoint\ndata: /m\n\n", answering)
		r, err := old.Connect(t.Context(), endpoint(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				body, _ := io.ReadAll(r.Body)
				if strings.Contains(string(body), "tools/list") {
					w.WriteHeader(http.StatusTooManyRequests)
					return
				}
				r.Body = io.NopCloser(strings.NewReader(string(body)))
			}
			h.ServeHTTP(w, r)
		}))), client())
		require.NoError(t, err)
		_, err = r.ListTools(t.Context(), nil)
		var se *streamhttp.StatusError
		require.ErrorAs(t, err, &se)
		require.Equal(t, 429, se.Status)
		require.NoError(t, r.Close())
	})
	t.Run("dialled and not used", func(t *testing.T) {
		l, err := endpoint(serve(t, script("event: endpoint\ndata: /m\n\n", nil))).Dial(t.Context())
		require.NoError(t, err)
		require.NoError(t, l.Close(t.Context()))
	})
}

// TestFallback dials servers of the old transport as if they were of the new
// one.
func TestFallback(t *testing.T) {
	oldServer := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet})
	for _, status := range []int{400, 404, 405} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.RawQuery == "" {
					w.WriteHeader(status)
					return
				}
				oldServer.ServeHTTP(w, r)
			}))
			e := &streamhttp.Endpoint{URL: url, Logger: quiet}
			r, err := old.Connect(t.Context(), e, client())
			require.NoError(t, err)
			require.Equal(t, `"hi"`, echo(t, r, "echo", "hi"))
			require.NoError(t, r.Close())

			e.Kind = streamhttp.Streamable
			_, err = old.Connect(t.Context(), e, client())
			var se *streamhttp.StatusError
			require.ErrorAs(t, err, &se)
			require.Equal(t, status, se.Status)
		})
	}
	for _, c := range []struct {
		status int
		old    bool // of the revision offered
		want   int  // GETs
	}{{401, true, 0}, {403, true, 0}, {429, true, 0}, {500, true, 0}, {503, true, 0}, {406, true, 1}, {406, false, 0}, {415, false, 0}, {404, false, 1}} {
		t.Run(fmt.Sprintf("%d, offered the old revision %v", c.status, c.old), func(t *testing.T) {
			gets := 0
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					gets++
				}
				w.WriteHeader(c.status)
			}))
			var err error
			e := &streamhttp.Endpoint{URL: url, Logger: quiet}
			if c.old {
				_, err = old.Connect(t.Context(), e, client())
			} else {
				_, err = newer.Connect(t.Context(), e, newer.Client{Options: jsonrpc.Options{Logger: quiet}})
			}
			var se *streamhttp.StatusError
			require.ErrorAs(t, err, &se, "the first refusal is what is reported")
			require.Equal(t, c.status, se.Status)
			require.Equal(t, c.want, gets)
		})
	}
}

func TestNothingIsLeft(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet})
	srv := httptest.NewServer(h)
	defer srv.Close()
	before := runtime.NumGoroutine()
	for range 100 {
		r, err := old.Connect(t.Context(), endpoint(srv.URL), client())
		require.NoError(t, err)
		require.Equal(t, `"x"`, echo(t, r, "echo", "x"))
		require.NoError(t, r.Close())
	}
	srv.CloseClientConnections()
	require.Eventually(t, func() bool { return h.Sessions() == 0 && runtime.NumGoroutine() <= before+3 }, 5*time.Second, 10*time.Millisecond)
}

// TestPostThatIsNeverAnswered: what counts is the answer on the stream; a server
// that leaves the POST itself open holds up nobody.
func TestPostThatIsNeverAnswered(t *testing.T) {
	lines := make(chan string, 16)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: endpoint\ndata: ?a\n\n")
			for {
				_ = http.NewResponseController(w).Flush()
				select {
				case line := <-lines:
					_, _ = io.WriteString(w, "data: "+line+"\n\n")
				case <-r.Context().Done():
					return
				}
			}
		}
		b, _ := io.ReadAll(r.Body)
		m := wire.Raw(b)
		switch method, _ := m.Get("method").Str(); method {
		case "initialize":
			lines <- `{"jsonrpc":"2.0","id":` + m.Get("id").String() + `,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
		case "tools/call":
			lines <- `{"jsonrpc":"2.0","id":` + m.Get("id").String() + `,"result":{"content":[]}}`
			<-r.Context().Done()
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	r, err := old.Connect(t.Context(), endpoint(url), client())
	require.NoError(t, err)
	begun := time.Now()
	for range 3 {
		_, err = r.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
		require.NoError(t, err)
	}
	require.NoError(t, r.Close())
	require.Less(t, time.Since(begun), 10*time.Second)
}
