package streamhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// tool is what a tool of the test servers does; it may send through notify
// before it answers.
type tool func(ctx context.Context, p peer) (string, error)

// peer is what a tool may do, in either era.
type peer struct {
	jsonrpc.Peer
	elicit func(ctx context.Context) (string, error) // nil in the stateless era
	args   wire.Raw
}

// servers makes a server of 2025-11-25 and one of 2026-07-28 with these tools.
// The tool "region" has an argument that a header repeats.
func servers(tools map[string]tool) (legacy.Server, modern.Server) {
	schema := wire.Raw(`{"type":"object"}`)
	region := wire.Raw(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	quiet := jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}
	l := legacy.Server{
		Options:          quiet,
		Info:             legacy.Implementation{Name: "test", Version: "1"},
		ToolsListChanged: true,
		ListTools: func(context.Context, *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
			return &legacy.ListToolsResult{Tools: []legacy.Tool{{Name: "echo", InputSchema: schema}}}, nil
		},
		CallTool: func(ctx context.Context, p *legacy.CallToolParams) (*legacy.CallToolResult, error) {
			f, ok := tools[p.Name]
			if !ok {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "unknown tool %q", p.Name)
			}
			s, err := f(ctx, peer{Peer: jsonrpc.PeerOf(ctx), args: p.Arguments, elicit: func(ctx context.Context) (string, error) {
				r, err := legacy.Peer(ctx).Elicit(ctx, &legacy.ElicitFormParams{Message: "who?", RequestedSchema: legacy.ElicitSchema{
					Properties: map[string]legacy.PrimitiveSchemaDefinition{"answer": &legacy.StringSchema{}},
				}})
				if err != nil {
					return "", err
				}
				return string(r.Action), nil
			}})
			if err != nil {
				return nil, err
			}
			return &legacy.CallToolResult{Content: []legacy.ContentBlock{&legacy.TextContent{Text: s}}}, nil
		},
	}
	m := modern.Server{
		Options:          quiet,
		Info:             modern.Implementation{Name: "test", Version: "1"},
		ToolsListChanged: true,
		ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
			return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "echo", InputSchema: schema}, {Name: "region", InputSchema: region}}}, nil
		},
		CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
			f, ok := tools[p.Name]
			if !ok {
				return nil, jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "unknown tool %q", p.Name)
			}
			s, err := f(ctx, peer{Peer: jsonrpc.PeerOf(ctx), args: p.Arguments})
			if err != nil {
				return nil, err
			}
			return &modern.CallToolResult{Content: []modern.ContentBlock{&modern.TextContent{Text: s}}}, nil
		},
	}
	return l, m
}

// both is a server of both eras with some tools that most tests use.
func both() jsonrpc.Binder {
	l, m := servers(map[string]tool{
		"echo":   func(_ context.Context, p peer) (string, error) { return string(p.args), nil },
		"region": func(_ context.Context, p peer) (string, error) { return string(p.args), nil },
		"steps": func(ctx context.Context, p peer) (string, error) {
			for i := range 3 {
				if err := p.Progress(ctx, float64(i+1), nil, ""); err != nil {
					return "", err
				}
			}
			return "done", nil
		},
		"ask":   func(ctx context.Context, p peer) (string, error) { return p.elicit(ctx) },
		"panic": func(context.Context, peer) (string, error) { panic("secret") },
	})
	return bothOf(l, m)
}

func bothOf(l legacy.Server, m modern.Server) jsonrpc.Binder { return compat.Revisions(l, m) }

// site is a handler behind a real socket.
type site struct {
	t      *testing.T
	h      *streamhttp.Handler
	srv    *httptest.Server
	client *http.Client // nil: that of srv
}

func (s *site) http() *http.Client {
	if s.client != nil {
		return s.client
	}
	return s.srv.Client()
}

func serve(t *testing.T, b jsonrpc.Binder, o ...streamhttp.HandlerOptions) *site {
	t.Helper()
	h := streamhttp.NewHandler(b, o...)
	require.NoError(t, h.Err())
	s := &site{t: t, h: h, srv: httptest.NewServer(h)}
	t.Cleanup(func() {
		h.Close()
		s.srv.Close()
	})
	return s
}

// reply is an answer that was read to its end.
type reply struct {
	*http.Response
	body string
}

// frames are the messages in a reply, whatever carried them.
func (r reply) frames() (out []string) {
	switch kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); kind {
	case "text/event-stream":
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: "); ok && data != "" {
				out = append(out, data)
			}
		}
	case "application/x-ndjson":
		for line := range strings.Lines(r.body) {
			if line != "\n" {
				out = append(out, strings.TrimSuffix(line, "\n"))
			}
		}
	default:
		if r.body != "" {
			out = append(out, r.body)
		}
	}
	return out
}

// code is the code of the error in the answer, 0 for none.
func (r reply) code() int64 {
	fs := r.frames()
	if len(fs) == 0 {
		return 0
	}
	n, _ := wire.Raw(fs[len(fs)-1]).Get("error").Get("code").Int()
	return n
}

const acceptBoth = "application/json, text/event-stream"

// request makes a request. Headers are "Name: value"; an empty value takes a
// usual one away.
func (s *site) request(ctx context.Context, method, body string, headers ...string) *http.Request {
	s.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.srv.URL+"/mcp", strings.NewReader(body))
	require.NoError(s.t, err)
	req.Header.Set("Accept", acceptBoth)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		if value = strings.TrimSpace(value); value == "" {
			req.Header.Del(name)
		} else if name == "Host" {
			req.Host = value
		} else {
			req.Header.Add(name, value)
			if n := http.CanonicalHeaderKey(name); n == "Accept" || n == "Content-Type" {
				req.Header.Set(name, value)
			}
		}
	}
	return req
}

func (s *site) do(method, body string, headers ...string) reply {
	s.t.Helper()
	res, err := s.http().Do(s.request(s.t.Context(), method, body, headers...))
	require.NoError(s.t, err)
	b, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	return reply{res, string(b)}
}

func (s *site) post(body string, headers ...string) reply {
	s.t.Helper()
	return s.do(http.MethodPost, body, headers...)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`

// begin begins a session, and returns the headers of its requests.
func (s *site) begin(headers ...string) []string {
	s.t.Helper()
	return s.beginWith(initialize, "2025-11-25", headers...)
}

func (s *site) beginWith(initialize, version string, headers ...string) []string {
	s.t.Helper()
	r := s.post(initialize, headers...)
	require.Equal(s.t, 200, r.StatusCode, r.body)
	id := r.Header.Get("Mcp-Session-Id")
	require.NotEmpty(s.t, id)
	hs := append([]string{"Mcp-Session-Id: " + id, "MCP-Protocol-Version: " + version}, headers...)
	r = s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, hs...)
	require.Equal(s.t, 202, r.StatusCode, r.body)
	require.Empty(s.t, r.body)
	return hs
}

// meta is the _meta of a stateless request.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

const modernVersion = "MCP-Protocol-Version: 2026-07-28"

// call is a tools/call in the stateless era, with its headers.
func call(id, name, args string) (string, []string) {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":` + args + `,` + meta + `}}`,
		[]string{modernVersion, "Mcp-Method: tools/call", "Mcp-Name: " + name}
}

// legacyCall is a tools/call of a session.
func legacyCall(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `","arguments":{},"_meta":{"progressToken":"t"}}}`
}

// stream is a response that is still open.
type stream struct {
	t      *testing.T
	res    *http.Response
	r      *bufio.Reader
	cancel context.CancelFunc
}

func (s *site) open(method, body string, headers ...string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	res, err := s.http().Do(s.request(ctx, method, body, headers...))
	require.NoError(s.t, err)
	st := &stream{t: s.t, res: res, r: bufio.NewReader(res.Body), cancel: cancel}
	s.t.Cleanup(st.close)
	return st
}

func (st *stream) close() {
	st.cancel()
	_ = st.res.Body.Close()
}

// drain reads to the end.
func (st *stream) drain() { _, _ = io.Copy(io.Discard, st.r) }

// event is one event as it was sent.
type event struct{ id, data, retry string }

// next reads the next event. It is false at the end.
func (st *stream) next() (e event, ok bool) {
	st.t.Helper()
	for {
		line, err := st.r.ReadString('\n')
		if err != nil {
			return e, false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" && (ok || e.retry != "") {
			return e, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			e.id = value
		case "data":
			e.data, ok = value, true
		case "retry":
			e.retry = value
		}
	}
}

// message reads the next event that holds a message.
func (st *stream) message() event {
	st.t.Helper()
	for {
		e, ok := st.next()
		require.True(st.t, ok, "the stream is over")
		if e.data != "" {
			return e
		}
	}
}

func compact(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, []byte(s)), s)
	return b.String()
}

func jsonInt(n int64) string { return fmt.Sprint(n) }
