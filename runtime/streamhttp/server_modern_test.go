package streamhttp_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestHeaders holds each header of a stateless request against its body, and
// what is looked at first (2026-07-28: basic/transports/streamable-http,
// server validation).
func TestHeaders(t *testing.T) {
	s := serve(t, both())
	echo := func(args string) string { b, _ := call("7", "echo", args); return b }
	region := func(args string) string { b, _ := call("7", "region", args); return b }
	usual := func(name string, more ...string) []string {
		return append([]string{modernVersion, "Mcp-Method: tools/call", "Mcp-Name: " + name}, more...)
	}
	for _, tt := range []struct {
		name    string
		body    string
		headers []string
		want    string
	}{
		{"as they should be", echo(`{}`), usual("echo"), "200"},
		{"names of headers in any case", echo(`{}`), []string{"mcp-protocol-version: 2026-07-28", "MCP-METHOD: tools/call", "mcp-name: echo"}, "200"},
		{"blanks around values", echo(`{}`), []string{"MCP-Protocol-Version:  2026-07-28 ", "Mcp-Method:  tools/call ", "Mcp-Name:  echo "}, "200"},
		{"method missing", echo(`{}`), []string{modernVersion, "Mcp-Name: echo"}, "400 -32020"},
		{"method in another case", echo(`{}`), []string{modernVersion, "Mcp-Method: Tools/Call", "Mcp-Name: echo"}, "400 -32020"},
		{"method of something else", echo(`{}`), []string{modernVersion, "Mcp-Method: tools/list", "Mcp-Name: echo"}, "400 -32020"},
		{"method twice", echo(`{}`), usual("echo", "Mcp-Method: tools/call"), "400 -32020"},
		{"method missing, method unknown", strings.Replace(echo(`{}`), "tools/call", "tools/x", 1), []string{modernVersion}, "400 -32020"},
		{"method encoded, and unknown", strings.Replace(echo(`{}`), "tools/call", "x/é", 1), []string{modernVersion, "Mcp-Method: =?base64?eC/DqQ==?="}, "404 -32601"},
		{"name missing, method unknown", strings.Replace(echo(`{}`), "tools/call", "tools/x", 1), []string{modernVersion, "Mcp-Method: tools/x"}, "404 -32601"},
		{"name missing, method not served", strings.Replace(echo(`{}`), "tools/call", "prompts/get", 1), []string{modernVersion, "Mcp-Method: prompts/get"}, "404 -32601"},
		{"name missing", echo(`{}`), []string{modernVersion, "Mcp-Method: tools/call"}, "400 -32020"},
		{"name differs", echo(`{}`), usual("other"), "400 -32020"},
		{"name in another case", echo(`{}`), usual("Echo"), "400 -32020"},
		{"name encoded", echo(`{}`), usual("=?base64?ZWNobw==?="), "200"},
		{"name encoded, wrong alphabet", echo(`{}`), usual("=?base64?@@?="), "400 -32020"},
		{"name encoded, padding left out", echo(`{}`), usual("=?base64?ZWNobw?="), "400 -32020"},
		{"no name in the body", strings.Replace(echo(`{}`), `"name":"echo",`, "", 1), []string{modernVersion, "Mcp-Method: tools/call"}, "200 -32602"},
		{"unknown tool", strings.Replace(echo(`{}`), `"echo"`, `"nope"`, 1), usual("nope"), "200 -32602"},
		{"param", region(`{"region":"eu"}`), usual("region", "Mcp-Param-Region: eu"), "200"},
		{"param in another case of the header", region(`{"region":"eu"}`), usual("region", "mcp-param-region: eu"), "200"},
		{"param encoded", region(`{"region":"é"}`), usual("region", "Mcp-Param-Region: =?base64?w6k=?="), "200"},
		{"param, name of the tool with an escape", strings.Replace(region(`{"region":"eu"}`), `"region","arg`, `"r\u0065gion","arg`, 1), usual("region"), "400 -32020"},
		{"param missing", region(`{"region":"eu"}`), usual("region"), "400 -32020"},
		{"param differs", region(`{"region":"eu"}`), usual("region", "Mcp-Param-Region: us"), "400 -32020"},
		{"param whose argument comes twice", region(`{"region":"eu","region":"us"}`), usual("region", "Mcp-Param-Region: eu"), "400 -32020"},
		{"param whose argument comes twice, the same", region(`{"region":"eu","region":"eu"}`), usual("region", "Mcp-Param-Region: eu"), "400 -32020"},
		{"param whose argument comes twice, with an escape", region(`{"region":"eu","re\u0067ion":"us"}`), usual("region", "Mcp-Param-Region: eu"), "400 -32020"},
		{"param whose argument comes twice, first without a value", region(`{"region":null,"region":"us"}`), usual("region"), "400 -32020"},
		{"another argument that comes twice", region(`{"x":1,"x":2,"region":"eu"}`), usual("region", "Mcp-Param-Region: eu"), "200"},
		{"param not given", region(`{}`), usual("region"), "200"},
		{"param null", region(`{"region":null}`), usual("region"), "200"},
		{"param without an argument", region(`{}`), usual("region", "Mcp-Param-Region: eu"), "400 -32020"},
		{"param that nobody declared", echo(`{}`), usual("echo", "Mcp-Param-Region: eu"), "200"},
		{"version missing comes before a method that is unknown", strings.Replace(echo(`{}`), "tools/call", "tools/x", 1), nil, "400 -32020"},
		{"version unsupported comes before the method", strings.Replace(echo(`{}`), "2026-07-28", "2099-01-01", 1), []string{"MCP-Protocol-Version: 2099-01-01"}, "400 -32022"},
		{"meta incomplete comes before the method", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`, []string{modernVersion}, "400 -32602"},
		{"no envelope comes before the headers", `{"jsonrpc":"2.0","id":7}`, nil, "400 -32600"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			r := s.post(tt.body, tt.headers...)
			got := r.Status[:3]
			if c := r.code(); c != 0 {
				got += " " + jsonInt(c)
			}
			require.Equal(t, tt.want, got, r.body)
			if r.StatusCode != 200 && strings.Contains(tt.body, `"method"`) {
				require.Equal(t, "7", wire.Raw(r.body).Get("id").String(), "the id is repeated")
			}
		})
	}
}

// TestParamHeadersFollowTheList holds that a table which speaks against a call
// is made again before the call is refused, and that lists are read to their
// end, as the caller.
func TestParamHeadersFollowTheList(t *testing.T) {
	annotation := "Old"
	listed := 0
	_, m := servers(map[string]tool{"t": func(context.Context, peer) (string, error) { return "", nil }})
	m.ListTools = func(ctx context.Context, p *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		listed++
		if p.Cursor == nil {
			return &modern.ListToolsResult{TTLMs: 3600_000, CacheScope: "public", NextCursor: new("2")}, nil
		}
		schema := wire.Raw(`{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"` + annotation + `"}}}`)
		return &modern.ListToolsResult{TTLMs: 3600_000, CacheScope: "public", Tools: []modern.Tool{{Name: "t", InputSchema: schema}}}, nil
	}
	s := serve(t, m)
	b, hs := call("1", "t", `{"a":42}`)
	require.Equal(t, 200, s.post(b, append(hs, "Mcp-Param-Old: 42")...).StatusCode)
	require.Equal(t, 200, s.post(b, append(hs, "Mcp-Param-Old: 42.0")...).StatusCode, "integers are compared as numbers")
	require.Equal(t, 2, listed, "two pages, once")
	annotation = "New"
	require.Equal(t, 200, s.post(b, append(hs, "Mcp-Param-New: 42")...).StatusCode)
	require.Equal(t, 4, listed)
	require.Equal(t, 400, s.post(b, append(hs, "Mcp-Param-Old: 42")...).StatusCode)

	s = serve(t, m, streamhttp.HandlerOptions{Logger: slog.New(slog.DiscardHandler), ParamHeaders: func(_ context.Context, tool string) (streamhttp.ParamHeaders, error) {
		require.Equal(t, "t", tool)
		return nil, errors.New("not now")
	}})
	r := s.post(b, hs...)
	require.Equal(t, 503, r.StatusCode, "what could not be held against its headers is not executed")
	require.Equal(t, jsonrpc.CodeInternalError, r.code())
}

// TestCallBeforeToolsAreKnown holds that a call whose headers nothing is known to
// hold against is not executed: the tools are listed first, and when that fails
// the call is refused for the moment. What was listed before is good enough.
func TestCallBeforeToolsAreKnown(t *testing.T) {
	var fails atomic.Bool
	executed := 0
	_, m := servers(map[string]tool{"region": func(context.Context, peer) (string, error) { executed++; return "", nil }})
	m.Options.Logger = slog.New(slog.DiscardHandler)
	list := m.ListTools
	m.ListTools = func(ctx context.Context, p *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		if fails.Load() {
			return nil, errors.New("not now")
		}
		return list(ctx, p)
	}
	fails.Store(true)
	s := serve(t, m, streamhttp.HandlerOptions{Logger: slog.New(slog.DiscardHandler)})
	b, hs := call("1", "region", `{"region":"eu"}`)
	wrong, right := append(hs[:3:3], "Mcp-Param-Region: us"), append(hs[:3:3], "Mcp-Param-Region: eu")
	for _, hs := range [][]string{hs, wrong, right} {
		r := s.post(b, hs...)
		require.Equal(t, 503, r.StatusCode)
		require.Equal(t, "1", r.Header.Get("Retry-After"))
		require.Equal(t, jsonrpc.CodeInternalError, r.code())
		require.Contains(t, r.body, `"id":1`)
	}
	require.Zero(t, executed)
	fails.Store(false)
	require.Equal(t, 400, s.post(b, wrong...).StatusCode)
	require.Equal(t, 200, s.post(b, right...).StatusCode)
	fails.Store(true)
	require.Equal(t, 400, s.post(b, wrong...).StatusCode)
	require.Equal(t, 200, s.post(b, right...).StatusCode)
	require.Equal(t, 2, executed)
}

// TestParamHeadersAreKeptByPrincipal holds that a list which is private is not
// used for another caller.
func TestParamHeadersAreKeptByPrincipal(t *testing.T) {
	_, m := servers(map[string]tool{"t": func(context.Context, peer) (string, error) { return "", nil }})
	m.ListTools = func(ctx context.Context, _ *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		schema := wire.Raw(`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"` + jsonrpc.Principal(ctx) + `"}}}`)
		return &modern.ListToolsResult{TTLMs: 3600_000, CacheScope: "private", Tools: []modern.Tool{{Name: "t", InputSchema: schema}}}, nil
	}
	s := serve(t, m)
	s.srv.Config.Handler = asPrincipal(s.h)
	b, hs := call("1", "t", `{"a":"x"}`)
	for _, who := range []string{"ann", "bob", "ann"} {
		r := s.post(b, append(hs, "X-User: "+who, "Mcp-Param-"+who+": x")...)
		require.Equal(t, 200, r.StatusCode, r.body)
	}
}

// asPrincipal is a user's middleware.
func asPrincipal(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(jsonrpc.WithPrincipal(r.Context(), r.Header.Get("X-User"))))
	})
}

// TestModernStatuses holds the HTTP status of what handlers answer.
func TestModernStatuses(t *testing.T) {
	codes := map[string]struct {
		code   int64
		status int
	}{
		"invalid params":     {-32602, 200},
		"internal":           {-32603, 200},
		"method not found":   {-32601, 404},
		"header mismatch":    {-32020, 400},
		"missing capability": {-32021, 400},
		"version":            {-32022, 400},
		"own":                {42, 200},
		"overloaded":         {jsonrpc.CodeOverloaded, 503},
	}
	tools := map[string]tool{}
	for name, c := range codes {
		tools[name] = func(context.Context, peer) (string, error) { return "", jsonrpc.NewError(c.code, "no") }
	}
	_, m := servers(tools)
	s := serve(t, m)
	for name, c := range codes {
		b, hs := call("1", name, `{}`)
		r := s.post(b, hs...)
		require.Equal(t, c.status, r.StatusCode, name)
		require.Equal(t, c.code, r.code(), name)
		if c.status == 503 {
			require.Equal(t, "1", r.Header.Get("Retry-After"))
		}
	}
}

const withToken = `"_meta":{"progressToken":"t",`

// TestJSONOrStream holds which form an answer takes: one JSON text, unless
// something precedes it or the client wants no such.
func TestJSONOrStream(t *testing.T) {
	s := serve(t, both())
	for _, tt := range []struct {
		name   string
		accept string
		tool   string
		kind   string
		frames int
	}{
		{"nothing precedes the answer", acceptBoth, "echo", "application/json", 1},
		{"progress precedes it", acceptBoth, "steps", "text/event-stream", 4},
		{"any order", "text/event-stream;q=0.9, application/json", "steps", "text/event-stream", 4},
		{"anything", "*/*", "steps", "text/event-stream", 4},
		{"anything, one answer", "*/*", "echo", "application/json", 1},
		{"nothing said", "", "steps", "text/event-stream", 4},
		{"nothing of ours", "text/html", "steps", "text/event-stream", 4},
		{"streams only", "text/event-stream", "echo", "text/event-stream", 1},
		{"JSON refused", "application/json;q=0, text/event-stream", "echo", "text/event-stream", 1},
		{"JSON only", "application/json", "echo", "application/json", 1},
		{"JSON only, with progress", "application/json", "quiet", "application/json", 1},
		{"lines", "application/x-ndjson", "steps", "application/x-ndjson", 4},
		{"lines, one answer", "application/x-ndjson", "echo", "application/x-ndjson", 1},
		{"lines beside the others", acceptBoth + ", application/x-ndjson", "steps", "application/x-ndjson", 4},
		{"lines beside the others, one answer", acceptBoth + ", application/x-ndjson", "echo", "application/json", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.t = t
			name := tt.tool
			if name == "quiet" {
				name = "steps"
			}
			b, hs := call("1", name, `{}`)
			b = strings.Replace(b, `"_meta":{`, withToken, 1)
			r := s.post(b, append(hs, "Accept: "+tt.accept)...)
			require.Equal(t, 200, r.StatusCode)
			require.Equal(t, tt.kind, r.Header.Get("Content-Type"))
			frames := r.frames()
			require.Len(t, frames, tt.frames, r.body)
			for _, f := range frames {
				compact(t, f)
			}
			require.Equal(t, "1", wire.Raw(frames[len(frames)-1]).Get("id").String())
			require.Zero(t, r.code(), r.body)
			if tt.kind == "application/json" {
				require.EqualValues(t, len(r.body), r.ContentLength)
				return
			}
			require.Equal(t, "no-cache, no-transform", r.Header.Get("Cache-Control"))
			require.Equal(t, "no", r.Header.Get("X-Accel-Buffering"))
			require.Empty(t, r.Header.Get("Connection"))
			require.NotContains(t, r.body, "id: ", "no event ids in the stateless revision")
		})
	}
}

// TestFirstNotificationIsFlushed holds that what precedes an answer arrives
// before it.
func TestFirstNotificationIsFlushed(t *testing.T) {
	goOn := make(chan struct{})
	_, m := servers(map[string]tool{"slow": func(ctx context.Context, p peer) (string, error) {
		if err := p.Progress(ctx, 1, nil, ""); err != nil {
			return "", err
		}
		<-goOn
		return "done", nil
	}})
	for _, accept := range []string{"text/event-stream", "application/x-ndjson"} {
		s := serve(t, m)
		b, hs := call("1", "slow", `{}`)
		st := s.open("POST", strings.Replace(b, `"_meta":{`, withToken, 1), append(hs, "Accept: "+accept)...)
		line, err := st.r.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, "notifications/progress")
		goOn <- struct{}{}
		rest, err := io.ReadAll(st.r)
		require.NoError(t, err)
		require.Contains(t, string(rest), "done")
	}
}

// TestGoingAwayCancels holds that the end of the connection is the
// cancellation of a stateless request (2026-07-28: basic/patterns/cancellation),
// whether something was sent already or not.
func TestGoingAwayCancels(t *testing.T) {
	running, cancelled := make(chan struct{}), make(chan error)
	wait := func(ctx context.Context) (string, error) {
		running <- struct{}{}
		<-ctx.Done()
		cancelled <- ctx.Err()
		return "", ctx.Err()
	}
	_, m := servers(map[string]tool{
		"silent": func(ctx context.Context, _ peer) (string, error) { return wait(ctx) },
		"talking": func(ctx context.Context, p peer) (string, error) {
			_ = p.Progress(ctx, 1, nil, "")
			return wait(ctx)
		},
	})
	s := serve(t, m)
	for _, name := range []string{"silent", "talking"} {
		ctx, cancel := context.WithCancel(t.Context())
		b, hs := call("1", name, `{}`)
		got := make(chan struct{})
		go func() {
			defer close(got)
			res, err := s.srv.Client().Do(s.request(ctx, "POST", strings.Replace(b, `"_meta":{`, withToken, 1), hs...))
			if err == nil {
				_, _ = io.ReadAll(res.Body)
				_ = res.Body.Close()
			}
		}()
		<-running
		cancel()
		require.ErrorIs(t, <-cancelled, context.Canceled, name)
		<-got
	}
}

const listenBody = `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},` + meta + `}}`

var listenHeaders = []string{modernVersion, "Mcp-Method: subscriptions/listen"}

// TestListen holds that a subscription is a stream: acknowledged first, with
// what is honoured, then told of changes, until one side ends it.
func TestListen(t *testing.T) {
	_, m := servers(nil)
	m.Hub = new(jsonrpc.Hub)
	s := serve(t, m)

	st := s.open("POST", listenBody, listenHeaders...)
	require.Equal(t, "text/event-stream", st.res.Header.Get("Content-Type"))
	ack := wire.Raw(st.message().data)
	require.Equal(t, `"notifications/subscriptions/acknowledged"`, ack.Get("method").String())
	require.JSONEq(t, `{"toolsListChanged":true}`, ack.Get("params").Get("notifications").String())
	other := s.open("POST", listenBody, append(listenHeaders, "Accept: application/json")...)
	require.Equal(t, "text/event-stream", other.res.Header.Get("Content-Type"), "a subscription is always a stream")
	other.message()

	m.Hub.PromptsListChanged(t.Context())
	m.Hub.ToolsListChanged(t.Context())
	for _, st := range []*stream{st, other} {
		n := wire.Raw(st.message().data)
		require.Equal(t, `"notifications/tools/list_changed"`, n.Get("method").String())
		require.Equal(t, `"s"`, n.Get("params").Get("_meta").Get("io.modelcontextprotocol/subscriptionId").String())
	}
	other.close()

	done := make(chan error)
	go func() { done <- s.h.Shutdown(t.Context()) }()
	end := wire.Raw(st.message().data)
	require.Equal(t, `"s"`, end.Get("id").String())
	require.Equal(t, `"complete"`, end.Get("result").Get("resultType").String())
	_, more := st.next()
	require.False(t, more)
	require.NoError(t, <-done)
	r := s.post(listenBody, listenHeaders...)
	require.Equal(t, 503, r.StatusCode)
	require.Equal(t, jsonrpc.CodeShuttingDown, r.code())
	require.Zero(t, s.h.Stats().Requests)
}

// TestListenLines holds that a subscription takes the form of lines for who
// asks for them.
func TestListenLines(t *testing.T) {
	_, m := servers(nil)
	s := serve(t, m)
	st := s.open("POST", listenBody, append(listenHeaders, "Accept: application/x-ndjson")...)
	require.Equal(t, "application/x-ndjson", st.res.Header.Get("Content-Type"))
	line, err := st.r.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "acknowledged")
	compact(t, line)
}

// TestListenToNothing holds that a subscription that nothing can come of is
// acknowledged and over.
func TestListenToNothing(t *testing.T) {
	_, m := servers(nil)
	s := serve(t, m)
	r := s.post(strings.Replace(listenBody, "toolsListChanged", "resourcesListChanged", 1), listenHeaders...)
	require.Equal(t, 200, r.StatusCode)
	require.Len(t, r.frames(), 2)
	require.Contains(t, r.frames()[1], `"result"`)
}

// TestModernNotificationIsHandled holds that a notification which an extension
// knows reaches its handler, though nothing waits for that.
func TestModernNotificationIsHandled(t *testing.T) {
	got := make(chan string, 1)
	_, m := servers(nil)
	m.UnknownNotification = func(_ context.Context, method string, _ wire.Raw) { got <- method }
	s := serve(t, m)
	r := s.post(`{"jsonrpc":"2.0","method":"notifications/x"}`, modernVersion)
	require.Equal(t, 202, r.StatusCode)
	require.Empty(t, r.body)
	require.Equal(t, "notifications/x", <-got)
}

// TestConcurrentRequestsWithOneID holds that stateless requests have nothing
// to do with each other: the same id may be in use twice.
func TestConcurrentRequestsWithOneID(t *testing.T) {
	both := make(chan struct{})
	_, m := servers(map[string]tool{"meet": func(ctx context.Context, _ peer) (string, error) {
		select {
		case both <- struct{}{}:
		case <-both:
		case <-ctx.Done():
		}
		return "met", ctx.Err()
	}})
	s := serve(t, m)
	answers := make(chan string)
	for range 2 {
		go func() {
			b, hs := call("1", "meet", `{}`)
			res, err := s.srv.Client().Do(s.request(t.Context(), "POST", b, hs...))
			if err != nil {
				answers <- err.Error()
				return
			}
			line, _ := bufio.NewReader(res.Body).ReadString(0)
			_ = res.Body.Close()
			answers <- line
		}()
	}
	require.Contains(t, <-answers, "met")
	require.Contains(t, <-answers, "met")
}

// TestPanicSaysNothing holds that a handler that panics is answered without
// what it panicked with.
func TestPanicSaysNothing(t *testing.T) {
	s := serve(t, both())
	b, hs := call("1", "panic", `{}`)
	r := s.post(b, hs...)
	require.Equal(t, jsonrpc.CodeInternalError, r.code())
	require.NotContains(t, r.body, "secret")
}
