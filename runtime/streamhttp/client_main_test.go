package streamhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

// script is an MCP endpoint whose answers the test writes by itself. What the
// test does not say is answered as a good server does.
type script struct {
	t  testing.TB
	on map[string]func(w http.ResponseWriter, r *http.Request, m *msg) // by RPC method, or "GET", "DELETE", "answer"

	mu  sync.Mutex
	log []*msg
}

// msg is one request that came in.
type msg struct {
	HTTP   string
	Header http.Header
	ID     wire.Raw
	Method string
	Params wire.Raw
	Body   []byte
	Host   string
	Path   string
	n      int // how often this method came before
}

func (m *msg) String() string {
	s := m.HTTP
	if m.Method != "" {
		s += " " + m.Method
	}
	if id := m.Header.Get("Mcp-Session-Id"); id != "" {
		s += " session=" + id
	}
	if id := m.Header.Get("Last-Event-Id"); id != "" {
		s += " after=" + id
	}
	return s
}

func newScript(t testing.TB) *script {
	return &script{t: t, on: map[string]func(http.ResponseWriter, *http.Request, *msg){}}
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m := &msg{HTTP: r.Method, Header: r.Header.Clone(), Body: body, Host: r.Host, Path: r.URL.Path}
	raw := wire.Raw(body)
	m.ID = raw.Get("id")
	m.Method, _ = raw.Get("method").Str()
	m.Params = raw.Get("params")
	key := m.Method
	switch {
	case r.Method != http.MethodPost:
		key = r.Method
	case key == "":
		key = "answer"
	}
	s.mu.Lock()
	for _, old := range s.log {
		if old.HTTP == m.HTTP && old.Method == m.Method {
			m.n++
		}
	}
	s.log = append(s.log, m)
	f := s.on[key]
	s.mu.Unlock()
	if f == nil {
		f = goodServer
	}
	f(w, r, m)
}

// seen are the requests so far, as lines.
func (s *script) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, m := range s.log {
		lines = append(lines, m.String())
	}
	return lines
}

// all are the requests so far.
func (s *script) all() []*msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*msg(nil), s.log...)
}

// of are the requests of a method.
func (s *script) of(method string) []*msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*msg
	for _, m := range s.log {
		if m.Method == method || m.Method == "" && m.HTTP == method {
			all = append(all, m)
		}
	}
	return all
}

const capabilities = `"capabilities":{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"completions":{},"logging":{}}`

// goodServer answers as a good server of both eras does.
func goodServer(w http.ResponseWriter, r *http.Request, m *msg) {
	switch {
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusOK)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", m.n+1))
		version, _ := m.Params.Get("protocolVersion").Str()
		answer(w, m.ID, `{"protocolVersion":"`+version+`",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)
	case m.Method == "server/discover":
		answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],`+capabilities+`}`)
	case m.Method == "tools/list":
		answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+
			`{"name":"plain","inputSchema":{"type":"object"}},`+
			`{"name":"reads","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},`+
			`{"name":"again","inputSchema":{"type":"object"},"annotations":{"idempotentHint":true}},`+
			`{"name":"region","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`)
	case m.Method == "tools/call":
		answer(w, m.ID, toolResult)
	default:
		answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
	}
}

const toolResult = `{"resultType":"complete","content":[{"type":"text","text":"ok"}]}`

func rpcResult(id wire.Raw, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(id) + `,"result":` + result + `}`
}

func rpcError(id wire.Raw, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
}

func answer(w http.ResponseWriter, id wire.Raw, result string) {
	reply(w, http.StatusOK, mediaJSON, rpcResult(id, result))
}

func reply(w http.ResponseWriter, status int, contentType, body string) {
	if contentType != "" {
		w.Header().Set("Content-Type", contentType)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// stream begins an event stream.
func stream(w http.ResponseWriter) func(text string) {
	w.Header().Set("Content-Type", mediaEvents)
	w.WriteHeader(http.StatusOK)
	f := w.(http.Flusher)
	f.Flush()
	return func(text string) {
		_, _ = io.WriteString(w, text)
		f.Flush()
	}
}

func event(data string) string {
	b, _ := sse.Append(nil, sse.Event{Data: []byte(data)})
	return string(b)
}

func eventID(id, data string) string {
	b, _ := sse.Append(nil, sse.Event{ID: []byte(id), HasID: true, Data: []byte(data)})
	return string(b)
}

// pipes is a listener in memory.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-p.done:
		return nil, fmt.Errorf("dial: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memory serves a handler in memory and returns an endpoint that leads there.
func memory(t *testing.T, h http.Handler) *Endpoint {
	ln := newPipes()
	var running atomic.Int64
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Add(-1)
		h.ServeHTTP(w, r)
	})
	srv := &http.Server{Handler: counted, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(ln)
	}()
	pool := newPool()
	pool.DialContext = ln.dial
	pool.Proxy = nil
	t.Cleanup(func() {
		pool.CloseIdleConnections()
		_ = srv.Close()
		<-served
		for running.Load() > 0 { // in a bubble's time
			time.Sleep(time.Millisecond)
		}
	})
	return &Endpoint{URL: "http://server.example/mcp", RoundTripper: pool, Logger: slog.New(slog.DiscardHandler)}
}

// connect makes a session of 2025-11-25.
func connect(t *testing.T, e *Endpoint, c legacy.Client) *legacy.RemoteServer {
	t.Helper()
	if c.Options.Logger == nil {
		c.Options.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := legacy.Connect(t.Context(), e, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// connectModern makes a connection of 2026-07-28.
func connectModern(t *testing.T, e *Endpoint, c modern.Client) *modern.RemoteServer {
	t.Helper()
	if c.Options.Logger == nil {
		c.Options.Logger = slog.New(slog.DiscardHandler)
	}
	r, err := modern.Connect(t.Context(), e, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func link(c *jsonrpc.Conn) *Link { return c.Link().(*Link) }

func call(r *legacy.RemoteServer) error {
	_, err := r.CallTool(context.Background(), &legacy.CallToolParams{Name: "plain"})
	return err
}

func callModern(r *modern.RemoteServer, tool, args string) error {
	p := &modern.CallToolParams{Name: tool}
	if args != "" {
		p.Arguments = wire.Raw(args)
	}
	_, err := r.CallTool(context.Background(), p)
	return err
}

// bubble runs a test of time and of leaks: what still runs at its end fails it.
func bubble(t *testing.T, name string, f func(t *testing.T, s *script, e *Endpoint)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newScript(t)
			f(t, s, memory(t, s))
		})
	})
}

func compact(t *testing.T, raw []byte) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, raw))
	return b.String()
}

func without(lines []string, part string) []string {
	var out []string
	for _, line := range lines {
		if !strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	return out
}

func rulesOf(t *testing.T, name string) *revision.Rules {
	t.Helper()
	rules, ok := revision.For(name)
	require.True(t, ok)
	return rules
}
