package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/validate"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// seat makes a client of one revision.
type seat struct {
	revision string
	// connect connects in that revision alone, or with compat.Dial.
	connect func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error)
}

// session is a client in any revision. Results are as they would be written.
type session struct {
	name    string
	conn    *jsonrpc.Conn
	close   func() error
	tools   func(ctx context.Context) (wire.Raw, error)
	call    func(ctx context.Context, tool string) (wire.Raw, error)
	read    func(ctx context.Context, uri string) error
	logFrom func(ctx context.Context, level string) error
	watch   func(ctx context.Context, uri string) (stop func() error, err error)
}

// ear is what a client hears beside answers.
type ear struct{ heard chan string }

func newEar() *ear { return &ear{make(chan string, 1024)} }

func (e *ear) hear(s string) error {
	e.heard <- s
	return nil
}

// next waits for what is heard next.
func (e *ear) next(t *testing.T) string {
	t.Helper()
	select {
	case s := <-e.heard:
		return s
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing is heard")
		return ""
	}
}

const (
	elicited = `{"action":"accept","content":{"name":"Ada"}}`
	sampled  = `{"role":"assistant","model":"m","content":{"type":"text","text":"a joke"}}`
	roots    = `{"roots":[{"uri":"file:///a","name":"A"}]}`
)

func decoded[T any, P interface {
	*T
	wire.Decoder
}](s string) (P, error) {
	v := P(new(T))
	return v, wire.Decode([]byte(s), wire.Options{}, v)
}

func encoded[T any, P interface {
	*T
	wire.Appender
}](v P, err error) (wire.Raw, error) {
	if err != nil {
		return nil, err
	}
	return v.AppendJSON(nil), nil
}

// work is what the servers of the matrix do, in any revision.
type work struct {
	hub   *jsonrpc.Hub
	ended chan error // why the calls of slow ended
}

func newWork() *work { return &work{hub: new(jsonrpc.Hub), ended: make(chan error, 16)} }

// host is what a handler can do within a call.
type host struct {
	elicit, sample, roots func() (string, error)
	log                   func(level, text string) error
	changed               func() error
	updated               func(uri string) error
}

const watched = "test://watched"

func (w *work) call(ctx context.Context, tool string, h host) (string, error) {
	peer := jsonrpc.PeerOf(ctx)
	switch tool {
	case "elicit":
		return h.elicit()
	case "sample":
		return h.sample()
	case "roots":
		return h.roots()
	case "progress":
		for i := range 3 {
			if err := peer.Progress(ctx, float64(i+1), new(3.0), fmt.Sprint("step ", i+1)); err != nil {
				return "", err
			}
		}
		return "done", nil
	case "log":
		for _, level := range []string{"info", "warning", "error"} {
			if err := h.log(level, "about "+level); err != nil {
				return "", err
			}
		}
		return "logged", nil
	case "slow":
		if err := peer.Progress(ctx, 1, nil, "begun"); err != nil {
			return "", err
		}
		peer.Detach()
		<-ctx.Done()
		w.ended <- context.Cause(ctx)
		return "", ctx.Err()
	case "change":
		return "changed", errors.Join(h.changed(), h.updated(watched), h.updated("test://other"))
	}
	return "", jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no tool "+tool)
}

var toolNames = []string{"elicit", "sample", "roots", "progress", "log", "slow", "change"}

// modern is the server written for 2026-07-28.
func (w *work) modern() v20260728.Server {
	ask := func(p *v20260728.CallToolParams, q v20260728.InputRequest, answer func() (string, bool, error)) func() (string, error) {
		return func() (string, error) {
			s, ok, err := answer()
			if err != nil || ok {
				return s, err
			}
			return "", v20260728.NewInputRequiredError(v20260728.InputRequests{"q": q}, new("state of "+p.Name))
		}
	}
	return v20260728.Server{
		Info: v20260728.Implementation{Name: "modern", Version: "1", Title: new("Modern"), Icons: []v20260728.Icon{{Src: "https://example.com/i.png"}}},
		Hub:  w.hub, Options: discard, Logging: true, ToolsListChanged: true, ResourcesSubscribe: true, Instructions: "use me",
		ListResources: func(context.Context, *v20260728.ListResourcesParams) (*v20260728.ListResourcesResult, error) {
			return &v20260728.ListResourcesResult{Resources: []v20260728.Resource{{URI: watched, Name: "w", Title: new("W")}}}, nil
		},
		ReadResource: func(_ context.Context, p *v20260728.ReadResourceParams) (*v20260728.ReadResourceResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such resource", Data: append(wire.AppendString([]byte(`{"uri":`), p.URI), '}')}
		},
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			r := &v20260728.ListToolsResult{TTLMs: 1000, CacheScope: v20260728.CacheScopePublic}
			for _, name := range append([]string{"rich"}, toolNames...) {
				r.Tools = append(r.Tools, v20260728.Tool{
					Name: name, Title: new("Tool"), InputSchema: wire.Raw(`{"type":"object"}`), OutputSchema: wire.Raw(`{"type":"object"}`),
					Icons: []v20260728.Icon{{Src: "https://example.com/i.png"}}, Annotations: &v20260728.ToolAnnotations{ReadOnlyHint: new(true)},
				})
			}
			return r, nil
		},
		CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			peer := v20260728.Peer(ctx)
			if peer.Info() == nil || peer.Info().Name != "client" || peer.Capabilities() == nil || peer.Capabilities().Roots == nil {
				return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the handler does not see its client")
			}
			if p.Name == "rich" {
				return &v20260728.CallToolResult{
					Content: []v20260728.ContentBlock{
						&v20260728.TextContent{Text: "t"},
						&v20260728.AudioContent{Data: "UklGRg==", MIMEType: "audio/wav"},
						&v20260728.ResourceLink{URI: "x:y", Name: "n"},
					},
					StructuredContent: wire.Raw(`{"a":1}`),
				}, nil
			}
			if p.RequestState != nil && *p.RequestState != "state of "+p.Name {
				return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "the state is another one")
			}
			in := p.InputResponses
			text, err := w.call(ctx, p.Name, host{
				elicit: ask(p, form("name?"), func() (string, bool, error) {
					r, err := in.Elicit("q")
					if r == nil {
						return "", false, err
					}
					name, _ := r.Content["name"].Str()
					return "Hello, " + name, true, err
				}),
				sample: ask(p, &v20260728.CreateMessageRequest{Params: v20260728.CreateMessageParams{MaxTokens: 10, Messages: []v20260728.SamplingMessage{}}}, func() (string, bool, error) {
					r, err := in.Sampling("q")
					if r == nil {
						return "", false, err
					}
					return "Heard from " + r.Model, true, err
				}),
				roots: ask(p, &v20260728.ListRootsRequest{}, func() (string, bool, error) {
					r, err := in.Roots("q")
					if r == nil {
						return "", false, err
					}
					return r.Roots[0].URI, true, err
				}),
				log:     func(level, text string) error { return peer.Log(ctx, v20260728.LoggingLevel(level), text) },
				changed: func() error { return peer.ToolListChanged(ctx) },
				updated: func(uri string) error { return peer.ResourceUpdated(ctx, uri) },
			})
			if err != nil {
				return nil, err
			}
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: text}}}, nil
		},
	}
}

// calling is the server written for 2025-11-25, which calls its client in the
// middle.
func (w *work) calling() v20251125.Server {
	return v20251125.Server{
		Info: v20251125.Implementation{Name: "calling", Version: "1"},
		Hub:  w.hub, Options: discard, ToolsListChanged: true,
		SetLevel: func(context.Context, *v20251125.SetLevelParams) (*v20251125.EmptyResult, error) { return nil, nil },
		ListResources: func(context.Context, *v20251125.ListResourcesParams) (*v20251125.ListResourcesResult, error) {
			return &v20251125.ListResourcesResult{}, nil
		},
		ReadResource: func(_ context.Context, p *v20251125.ReadResourceParams) (*v20251125.ReadResourceResult, error) {
			return nil, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, "no such resource")
		},
		Subscribe: func(context.Context, *v20251125.SubscribeParams) (*v20251125.EmptyResult, error) { return nil, nil },
		Unsubscribe: func(context.Context, *v20251125.UnsubscribeParams) (*v20251125.EmptyResult, error) {
			return nil, nil
		},
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			r := &v20251125.ListToolsResult{}
			for _, name := range toolNames {
				r.Tools = append(r.Tools, v20251125.Tool{Name: name, InputSchema: wire.Raw(`{"type":"object"}`)})
			}
			return r, nil
		},
		CallTool: func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			peer := v20251125.Peer(ctx)
			text, err := w.call(ctx, p.Name, host{
				elicit: func() (string, error) {
					r, err := peer.Elicit(ctx, &v20251125.ElicitFormParams{Message: "name?", RequestedSchema: v20251125.ElicitSchema{Properties: map[string]v20251125.PrimitiveSchemaDefinition{"name": &v20251125.StringSchema{}}}})
					if err != nil {
						return "", told(err)
					}
					name, _ := r.Content["name"].Str()
					return "Hello, " + name, nil
				},
				sample: func() (string, error) {
					r, err := peer.CreateMessage(ctx, &v20251125.CreateMessageParams{MaxTokens: 10, Messages: []v20251125.SamplingMessage{}})
					if err != nil {
						return "", told(err)
					}
					return "Heard from " + r.Model, nil
				},
				roots: func() (string, error) {
					r, err := peer.ListRoots(ctx, nil)
					if err != nil {
						return "", told(err)
					}
					return r.Roots[0].URI, nil
				},
				log:     func(level, text string) error { return peer.Log(ctx, v20251125.LoggingLevel(level), text) },
				changed: func() error { return peer.ToolListChanged(ctx) },
				updated: func(uri string) error { return peer.ResourceUpdated(ctx, uri) },
			})
			if err != nil {
				return nil, err
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: text}}}, nil
		},
	}
}

// oldest is the server written for 2024-11-05.
func (w *work) oldest() v20241105.Server {
	return v20241105.Server{
		Info: v20241105.Implementation{Name: "oldest", Version: "1"},
		Hub:  w.hub, Options: discard, ToolsListChanged: true,
		SetLevel: func(context.Context, *v20241105.SetLevelParams) (*v20241105.EmptyResult, error) { return nil, nil },
		ListResources: func(context.Context, *v20241105.ListResourcesParams) (*v20241105.ListResourcesResult, error) {
			return &v20241105.ListResourcesResult{}, nil
		},
		ReadResource: func(_ context.Context, p *v20241105.ReadResourceParams) (*v20241105.ReadResourceResult, error) {
			return nil, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, "no such resource")
		},
		Subscribe: func(context.Context, *v20241105.SubscribeParams) (*v20241105.EmptyResult, error) { return nil, nil },
		Unsubscribe: func(context.Context, *v20241105.UnsubscribeParams) (*v20241105.EmptyResult, error) {
			return nil, nil
		},
		ListTools: func(context.Context, *v20241105.ListToolsParams) (*v20241105.ListToolsResult, error) {
			r := &v20241105.ListToolsResult{}
			for _, name := range toolNames {
				r.Tools = append(r.Tools, v20241105.Tool{Name: name, InputSchema: wire.Raw(`{"type":"object"}`)})
			}
			return r, nil
		},
		CallTool: func(ctx context.Context, p *v20241105.CallToolParams) (*v20241105.CallToolResult, error) {
			peer := v20241105.Peer(ctx)
			text, err := w.call(ctx, p.Name, host{
				elicit: func() (string, error) {
					return "", jsonrpc.NewError(jsonrpc.CodeInternalError, "this revision asks no user")
				},
				sample: func() (string, error) {
					r, err := peer.CreateMessage(ctx, &v20241105.CreateMessageParams{MaxTokens: 10, Messages: []v20241105.SamplingMessage{}})
					if err != nil {
						return "", told(err)
					}
					return "Heard from " + r.Model, nil
				},
				roots: func() (string, error) {
					r, err := peer.ListRoots(ctx, nil)
					if err != nil {
						return "", told(err)
					}
					return r.Roots[0].URI, nil
				},
				log:     func(level, text string) error { return peer.Log(ctx, v20241105.LoggingLevel(level), text) },
				changed: func() error { return peer.ToolListChanged(ctx) },
				updated: func(uri string) error { return peer.ResourceUpdated(ctx, uri) },
			})
			if err != nil {
				return nil, err
			}
			return &v20241105.CallToolResult{Content: []v20241105.ContentBlock{&v20241105.TextContent{Text: text}}}, nil
		},
	}
}

// told makes what a call to the client failed with the answer.
func told(err error) error {
	return jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "asking failed: %w", err)
}

// ways are the transports that a client of a revision knows.
func ways(rev string) []string {
	switch rev {
	case v20241105.Revision:
		return []string{"pipe", "HTTP+SSE"}
	}
	return []string{"pipe", "HTTP"}
}

// dialer serves a server over a transport until the test ends.
func dialer(t *testing.T, way string, b jsonrpc.Binder) jsonrpc.Dialer {
	switch way {
	case "HTTP":
		h := streamhttp.NewHandler(b, streamhttp.HandlerOptions{Logger: discard.Logger})
		require.NoError(t, h.Err())
		srv := httptest.NewServer(h)
		t.Cleanup(func() {
			h.Close()
			srv.CloseClientConnections()
			srv.Close()
		})
		return &streamhttp.Endpoint{URL: srv.URL, Logger: discard.Logger}
	case "HTTP+SSE":
		h := ssehttp.NewHandler(b, ssehttp.HandlerOptions{Logger: discard.Logger})
		require.NoError(t, h.Err())
		srv := httptest.NewServer(h)
		t.Cleanup(func() {
			srv.CloseClientConnections()
			srv.Close()
		})
		e := ssehttp.URL(srv.URL)
		e.Logger = discard.Logger
		return e
	}
	return served(t, b)
}

// TestEveryClientSeesWhatItsRevisionCanSay is the matrix: servers of three
// revisions, clients of all, over each transport.
func TestEveryClientSeesWhatItsRevisionCanSay(t *testing.T) {
	for _, server := range []struct {
		revision string
		make     func(w *work) jsonrpc.Binder
	}{
		{v20241105.Revision, func(w *work) jsonrpc.Binder { return w.oldest() }},
		{v20251125.Revision, func(w *work) jsonrpc.Binder { return w.calling() }},
		{v20260728.Revision, func(w *work) jsonrpc.Binder { return w.modern() }},
	} {
		for _, seat := range seats {
			for _, way := range ways(seat.revision) {
				t.Run(server.revision+" asked in "+seat.revision+" over "+way, func(t *testing.T) {
					t.Parallel()
					w := newWork()
					tap := &tap{d: dialer(t, way, compat.Server(server.make(w)))}
					play(t, w, seat, tap, false, server.revision)
					tap.check(t, seat.revision)
				})
			}
			for _, way := range ways(server.revision) {
				t.Run(server.revision+" dialled by "+seat.revision+" over "+way, func(t *testing.T) {
					t.Parallel()
					w := newWork()
					tap := &tap{d: dialer(t, way, server.make(w))}
					play(t, w, seat, tap, true, server.revision)
					tap.check(t, server.revision)
				})
			}
		}
	}
}

// play plays the client's part of the matrix. It holds what is seen against what
// both revisions can say.
func play(t *testing.T, w *work, seat seat, d jsonrpc.Dialer, dial bool, server string) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	e := newEar()
	s, err := seat.connect(ctx, d, dial, e)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.close()) }()
	older := min(seat.revision, server) // the order of the names is theirs

	list, err := s.tools(ctx)
	require.NoError(t, err)
	for _, member := range []struct{ name, since string }{{"annotations", "2025-03-26"}, {"title", "2025-06-18"}, {"outputSchema", "2025-06-18"}, {"icons", "2025-11-25"}} {
		has := bytes.Contains(list.Get("tools"), []byte(`"`+member.name+`"`))
		require.Equal(t, server == v20260728.Revision && older >= member.since, has, "%s in %s", member.name, list)
	}

	call := func(tool string) string {
		t.Helper()
		r, err := s.call(ctx, tool)
		if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
			return fmt.Sprint(e.Code, " ", e.Message)
		}
		require.NoError(t, err, tool)
		text, _ := firstOf(r.Get("content")).Get("text").Str()
		return text
	}
	switch {
	case server == v20241105.Revision:
		require.Equal(t, "-32603 this revision asks no user", call("elicit"))
	case seat.revision < "2025-06-18" && server == v20260728.Revision:
		if dial {
			_, err := s.call(ctx, "elicit")
			require.Error(t, err)
		} else {
			require.Equal(t, "-32600 the request needs what the client does not declare: elicitation, elicitation.form", call("elicit"))
		}
	case seat.revision < "2025-06-18":
		require.Equal(t, "-32600 asking failed: elicitation/create: the peer does not advertise elicitation.form", call("elicit"))
	default:
		require.Equal(t, "Hello, Ada", call("elicit"))
	}
	require.Equal(t, "Heard from m", call("sample"))
	require.Equal(t, "file:///a", call("roots"))

	var steps []string
	pctx := jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) {
		steps = append(steps, fmt.Sprintf("%v/%v %s", p.Progress, *p.Total, p.Message))
	}})
	_, err = s.call(pctx, "progress")
	require.NoError(t, err)
	want := []string{"1/3 step 1", "2/3 step 2", "3/3 step 3"}
	if spoken := map[bool]string{false: seat.revision, true: server}[dial]; spoken < "2025-03-26" {
		want = []string{"1/3 ", "2/3 ", "3/3 "}
	}
	require.Equal(t, want, steps)

	require.NoError(t, s.logFrom(ctx, "warning"))
	require.Equal(t, "logged", call("log"))
	require.Equal(t, `log warning "about warning"`, e.next(t))
	require.Equal(t, `log error "about error"`, e.next(t))

	stop, err := s.watch(ctx, watched)
	require.NoError(t, err)
	require.Equal(t, "changed", call("change"))
	heard := []string{e.next(t), e.next(t)}
	slices.Sort(heard)
	require.Equal(t, []string{watched + " updated", "tools changed"}, heard)
	require.NoError(t, stop())

	sctx, giveUp := context.WithCancel(ctx)
	begun := jsonrpc.WithCallOptions(sctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { giveUp() }})
	_, err = s.call(begun, "slow")
	require.ErrorIs(t, err, context.Canceled)
	select {
	case err := <-w.ended:
		require.Error(t, err)
	case <-ctx.Done():
		require.FailNow(t, "the handler is not cancelled")
	}

	err = s.read(ctx, "test://nothing")
	code := jsonrpc.CodeResourceNotFound
	if seat.revision == v20260728.Revision {
		code = jsonrpc.CodeInvalidParams
	}
	require.ErrorIs(t, err, jsonrpc.NewError(code, ""))

	if server != v20260728.Revision {
		return
	}
	r, err := s.call(ctx, "rich")
	require.NoError(t, err)
	var kinds []string
	for c := range r.Get("content").Elems() {
		kind, _ := c.Get("type").Str()
		kinds = append(kinds, kind)
	}
	switch {
	case seat.revision < "2025-03-26":
		require.Equal(t, []string{"text", "text", "text"}, kinds)
	case seat.revision < "2025-06-18":
		require.Equal(t, []string{"text", "audio", "text"}, kinds)
	default:
		require.Equal(t, []string{"text", "audio", "resource_link"}, kinds)
	}
	require.Equal(t, seat.revision >= "2025-06-18", r.Get("structuredContent") != nil)
}

func firstOf(list wire.Raw) wire.Raw {
	for v := range list.Elems() {
		return v
	}
	return nil
}

// tap notes the frames of the connections of a dialer.
type tap struct {
	d      jsonrpc.Dialer
	mu     sync.Mutex
	frames []tapped
}

type tapped struct {
	sent bool
	data wire.Raw
}

func (x *tap) note(sent bool, data []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.frames = append(x.frames, tapped{sent, bytes.Clone(data)})
}

func (x *tap) Dial(ctx context.Context) (jsonrpc.Link, error) {
	l, err := x.d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	t := &tappedLink{Link: l, tap: x}
	t.waker, _ = l.(jsonrpc.Waker)
	return t, nil
}

type tappedLink struct {
	jsonrpc.Link
	tap   *tap
	waker jsonrpc.Waker
}

func (l *tappedLink) Start(r jsonrpc.Receiver) error {
	return l.Link.Start(&tappedReceiver{r.(*jsonrpc.Conn), l.tap})
}

func (l *tappedLink) Send(ctx context.Context, f jsonrpc.Frame) error {
	l.tap.note(true, f.Data)
	return l.Link.Send(ctx, f)
}

func (l *tappedLink) Call(ctx context.Context, f jsonrpc.Frame, w jsonrpc.Waiter) error {
	l.tap.note(true, f.Data)
	return l.Link.Call(ctx, f, w)
}

func (l *tappedLink) Wake(w jsonrpc.Waiter) {
	if l.waker != nil {
		l.waker.Wake(w)
	}
}

func (l *tappedLink) Carrier() jsonrpc.CarrierRules {
	if c, ok := l.Link.(jsonrpc.Carrier); ok {
		return c.Carrier()
	}
	return jsonrpc.CarrierRules{}
}

type tappedReceiver struct {
	*jsonrpc.Conn
	tap *tap
}

func (r *tappedReceiver) Receive(ctx context.Context, ex jsonrpc.Exchange, f jsonrpc.Frame) {
	r.tap.note(false, f.Data)
	r.Conn.Receive(ctx, &tappedExchange{ex, r.tap}, f)
}

type tappedExchange struct {
	jsonrpc.Exchange
	tap *tap
}

func (x *tappedExchange) Reply(ctx context.Context, f jsonrpc.Frame) error {
	if f.Data != nil {
		x.tap.note(true, f.Data)
	}
	return x.Exchange.Reply(ctx, f)
}

// since is the revision that a member of any message came with. Older frames do
// not have it.
var since = map[string]string{
	`"resultType"`: "2026-07-28", `"ttlMs"`: "2026-07-28", `"cacheScope"`: "2026-07-28", `"requestState"`: "2026-07-28", `"io.modelcontextprotocol/`: "2026-07-28",
	`"icons"`: "2025-11-25", `"structuredContent"`: "2025-06-18", `"title"`: "2025-06-18", `"outputSchema"`: "2025-06-18", `"annotations"`: "2025-03-26",
}

// check holds each frame against the schema of a revision. Probes of the other
// era, and their answers, are not in it.
func (x *tap) check(t *testing.T, rev string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p, err := validate.For(rev)
	require.NoError(t, err)
	require.NotEmpty(t, x.frames)
	calls := map[bool]map[string]string{true: {}, false: {}} // by who sent them, by id
	for _, f := range x.frames {
		for member, first := range since {
			method, _ := f.data.Get("method").Str()
			if rev < first && method != "server/discover" {
				require.NotContains(t, string(f.data), member, "in %s", rev)
			}
		}
		id := string(f.data.Get("id"))
		if method, ok := f.data.Get("method").Str(); ok {
			if id != "" {
				calls[f.sent][id] = method
			}
			if method == "server/discover" && rev != v20260728.Revision {
				continue
			}
			require.True(t, p.Knows(method), "%s has no %s: %s", rev, method, f.data)
			require.NoError(t, p.Message(method, f.data), "%s", f.data)
			continue
		}
		method := calls[!f.sent][id]
		require.NotEmpty(t, method, "an answer to nothing: %s", f.data)
		if r := f.data.Get("result"); r != nil {
			require.NoError(t, p.Result(method, r), "%s: %s", method, f.data)
		} else {
			require.True(t, strings.HasPrefix(string(f.data.Get("error").Get("code")), "-"), "%s", f.data)
		}
	}
}
