package streamhttp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	november "github.com/goldwire/goldwire/generated/mcp/v20241105"
	march "github.com/goldwire/goldwire/generated/mcp/v20250326"
	june "github.com/goldwire/goldwire/generated/mcp/v20250618"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestSession holds the life of a session (basic/transports, session
// management): its id cannot be guessed, it is needed, it ends for good.
func TestSession(t *testing.T) {
	s := serve(t, both())
	a, b := s.begin(), s.begin()
	require.NotEqual(t, a[0], b[0])
	require.Regexp(t, regexp.MustCompile(`^Mcp-Session-Id: [!-~]{22,}$`), a[0])
	require.Equal(t, 2, s.h.Stats().Sessions)

	require.Equal(t, 200, s.post(list, a...).StatusCode)
	require.Equal(t, 200, s.post(list, a[0]).StatusCode, "the version header may be missing")
	require.Equal(t, 400, s.post(list, legacyVersion).StatusCode, "the id is missing")
	require.Equal(t, 400, s.post(list, a[0], b[0]).StatusCode, "two ids")

	r := s.post(initialize, a...)
	require.Equal(t, 400, r.StatusCode, "a session begins once")
	require.Equal(t, jsonrpc.CodeInvalidRequest, r.code())

	require.Equal(t, 204, s.do("DELETE", "", a...).StatusCode)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		body := ""
		if method == "POST" {
			body = list
		}
		require.Equal(t, 404, s.do(method, body, a...).StatusCode, method)
	}
	require.Equal(t, 200, s.post(list, b...).StatusCode, "the other one goes on")
	require.Equal(t, 1, s.h.Stats().Sessions)
}

// TestRefusedInitializeBeginsNoSession holds that a session exists only for
// who was told of it.
func TestRefusedInitializeBeginsNoSession(t *testing.T) {
	s := serve(t, both())
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`,
	} {
		r := s.post(body)
		require.Equal(t, jsonrpc.CodeInvalidParams, r.code(), r.body)
		require.Empty(t, r.Header.Get("Mcp-Session-Id"))
	}
	require.Zero(t, s.h.Stats().Sessions)
}

// TestVersionHeader holds what the version header of a session may say
// (2025-06-18: basic/transports, protocol version header).
func TestVersionHeader(t *testing.T) {
	l, m := servers(nil)
	s := serve(t, compat.Revisions(november.Server{Info: november.Implementation{Name: "t", Version: "1"}}, march.Server{Info: march.Implementation{Name: "t", Version: "1"}}, june.Server{Info: june.Implementation{Name: "t", Version: "1"}}, l, m))
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, tt := range []struct {
		session, header string
		want            int
	}{
		{"2025-11-25", "2025-11-25", 200},
		{"2025-11-25", "", 200},           // then 2025-03-26 is assumed, or what was agreed
		{"2025-11-25", "2025-06-18", 200}, // the client SHOULD send what was agreed
		{"2025-11-25", "1999-01-01-nonsense", 400},
		{"2025-11-25", "2025-11-26", 400},
		{"2025-06-18", "2025-06-18", 200},
		{"2025-06-18", "2025-13-45", 400},
		{"2025-03-26", "", 200},
		{"2025-03-26", "2025-03-26", 200},
		{"2024-11-05", "", 200}, // clients that are so old have another transport, but some ask
	} {
		hs := s.beginWith(strings.Replace(initialize, "2025-11-25", tt.session, 1), tt.session)
		r := s.post(ping, hs[0], "MCP-Protocol-Version: "+tt.header)
		require.Equal(t, tt.want, r.StatusCode, "%+v: %s", tt, r.body)
	}
}

// TestPrincipal holds that a session belongs to whoever began it.
func TestPrincipal(t *testing.T) {
	s := serve(t, both())
	s.srv.Config.Handler = asPrincipal(s.h)
	ann := s.begin("X-User: ann")
	require.Equal(t, 200, s.post(list, ann...).StatusCode)
	for _, other := range []string{"X-User: bob", "X-User:"} {
		hs := []string{ann[0], ann[1], other}
		require.Equal(t, 404, s.post(list, hs...).StatusCode)
		require.Equal(t, 404, s.do("GET", "", hs...).StatusCode)
		require.Equal(t, 404, s.do("DELETE", "", hs...).StatusCode)
	}
	require.Equal(t, 200, s.post(list, ann...).StatusCode)
}

// TestPrimingAndEventIDs holds what a stream of each stateful revision begins
// with: an event id to come back with from 2025-11-25 on.
func TestPrimingAndEventIDs(t *testing.T) {
	steps := func(ctx context.Context) error { return jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "") }
	ms := march.Server{
		ListTools: func(context.Context, *march.ListToolsParams) (*march.ListToolsResult, error) {
			return &march.ListToolsResult{}, nil
		},
		CallTool: func(ctx context.Context, _ *march.CallToolParams) (*march.CallToolResult, error) {
			return &march.CallToolResult{}, steps(ctx)
		},
	}
	js := june.Server{
		ListTools: func(context.Context, *june.ListToolsParams) (*june.ListToolsResult, error) {
			return &june.ListToolsResult{}, nil
		},
		CallTool: func(ctx context.Context, _ *june.CallToolParams) (*june.CallToolResult, error) {
			return &june.CallToolResult{}, steps(ctx)
		},
	}
	ls, _ := servers(map[string]tool{"steps": func(ctx context.Context, _ peer) (string, error) { return "", steps(ctx) }})
	s := serve(t, compat.Revisions(ms, js, ls))
	for _, tt := range []struct {
		revision string
		priming  bool
	}{{"2025-03-26", false}, {"2025-06-18", false}, {"2025-11-25", true}} {
		hs := s.beginWith(strings.Replace(initialize, "2025-11-25", tt.revision, 1), tt.revision)
		st := s.open("POST", legacyCall("1", "steps"), hs...)
		ids := map[string]bool{}
		e, ok := st.next()
		require.True(t, ok)
		if tt.priming {
			require.Empty(t, e.data)
			require.NotEmpty(t, e.id)
			ids[e.id] = true
			e, ok = st.next()
			require.True(t, ok)
		}
		require.Contains(t, e.data, "progress", tt.revision)
		require.NotEmpty(t, e.id)
		ids[e.id] = true
		e, ok = st.next()
		require.True(t, ok)
		require.Contains(t, e.data, `"id":1`)
		require.NotEmpty(t, e.id, "the answer can be replayed too")
		require.False(t, ids[e.id], "ids are unique")
		_, ok = st.next()
		require.False(t, ok, "the stream ends with the answer")
	}
}

// TestBatches holds that arrays of messages are handled in 2025-03-26, and
// nowhere else (basic/transports, sending messages to the server).
func TestBatches(t *testing.T) {
	ms := march.Server{
		ListTools: func(context.Context, *march.ListToolsParams) (*march.ListToolsResult, error) {
			return &march.ListToolsResult{}, nil
		},
		CallTool: func(ctx context.Context, _ *march.CallToolParams) (*march.CallToolResult, error) {
			return &march.CallToolResult{}, jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "")
		},
	}
	s := serve(t, ms)
	hs := s.beginWith(strings.Replace(initialize, "2025-11-25", "2025-03-26", 1), "2025-03-26")
	ping := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }
	note := `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`

	r := s.post("["+ping("1")+","+note+","+ping("2")+"]", hs...)
	require.Equal(t, 200, r.StatusCode)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	n := 0
	for e := range wire.Raw(r.body).Elems() {
		require.JSONEq(t, `{}`, e.Get("result").String())
		n++
	}
	require.Equal(t, 2, n, r.body)

	r = s.post("["+note+","+note+"]", hs...)
	require.Equal(t, 202, r.StatusCode)
	require.Empty(t, r.body)

	r = s.post("["+ping("1")+","+legacyCall("2", "x")+"]", hs...)
	require.Equal(t, "text/event-stream", r.Header.Get("Content-Type"))
	frames := r.frames()
	require.Len(t, frames, 2, r.body)
	require.Contains(t, frames[0], "progress")
	require.Equal(t, wire.KindArray, wire.Raw(frames[1]).Kind())

	r = s.post("[]", hs...)
	require.Equal(t, 400, r.StatusCode)
	require.Equal(t, jsonrpc.CodeInvalidRequest, r.code())
	r = s.post("["+initialize+"]", hs...)
	require.Contains(t, r.body, "-32600")
	require.Equal(t, 400, s.post("["+initialize+"]").StatusCode, "initialize is never part of one")
}

// TestServerAsksOnTheRightStream holds that what belongs to a request is sent
// on its stream, and what belongs to none on that of a GET.
func TestServerAsksOnTheRightStream(t *testing.T) {
	l, _ := servers(map[string]tool{"ask": func(ctx context.Context, p peer) (string, error) { return p.elicit(ctx) }})
	l.Hub = new(jsonrpc.Hub)
	var conn *jsonrpc.Conn
	l.ListTools = func(ctx context.Context, _ *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
		conn = jsonrpc.PeerOf(ctx).Conn()
		return &legacy.ListToolsResult{}, nil
	}
	s := serve(t, l)
	hs := s.begin()
	s.post(list, hs...)

	post := s.open("POST", legacyCall("1", "ask"), hs...)
	question := wire.Raw(post.message().data)
	require.Equal(t, `"elicitation/create"`, question.Get("method").String())

	get := s.open("GET", "", hs...)
	require.Equal(t, 200, get.res.StatusCode)
	require.Equal(t, "text/event-stream", get.res.Header.Get("Content-Type"))
	require.Equal(t, "no", get.res.Header.Get("X-Accel-Buffering"))
	l.Hub.ToolsListChanged(t.Context())
	require.Contains(t, get.message().data, "tools/list_changed")
	pinged := make(chan error)
	go func() { pinged <- conn.Ping(context.Background()) }()
	ping := wire.Raw(get.message().data)
	require.Equal(t, `"ping"`, ping.Get("method").String())

	for id, result := range map[string]string{
		question.Get("id").String(): `{"action":"accept","content":{}}`,
		ping.Get("id").String():     `{}`,
	} {
		r := s.post(`{"jsonrpc":"2.0","id":`+id+`,"result":`+result+`}`, hs...)
		require.Equal(t, 202, r.StatusCode)
		require.Empty(t, r.body)
	}
	require.NoError(t, <-pinged)
	require.Contains(t, post.message().data, "accept")
	_, more := post.next()
	require.False(t, more)
}

// TestServerCannotAskWithoutAStream holds that a handler hears at once when its
// client accepts no stream to be asked on.
func TestServerCannotAskWithoutAStream(t *testing.T) {
	s := serve(t, both())
	r := s.post(legacyCall("1", "ask"), append(s.begin(), "Accept: application/json")...)
	require.Equal(t, 200, r.StatusCode)
	require.Equal(t, jsonrpc.CodeInternalError, r.code(), r.body)
}

// TestStandingStreamKeepsWhatWasMissed holds that messages of no request wait
// for a GET, and that one stream gets each of them.
func TestStandingStreamKeepsWhatWasMissed(t *testing.T) {
	l, _ := servers(nil)
	l.Hub = new(jsonrpc.Hub)
	s := serve(t, l)
	hs := s.begin()
	l.Hub.ToolsListChanged(t.Context())
	first := s.open("GET", "", hs...)
	e := first.message()
	require.Contains(t, e.data, "list_changed")

	second := s.open("GET", "", hs...)
	l.Hub.ToolsListChanged(t.Context())
	e2 := second.message()
	require.NotEqual(t, e.id, e2.id)
	second.close()

	// The first is still there; what the second has missed, if anything, comes
	// with its Last-Event-ID.
	again := s.open("GET", "", append(hs, "Last-Event-ID: "+e.id)...)
	require.Equal(t, e2, again.message())
	require.Equal(t, 204, s.do("DELETE", "", hs...).StatusCode)
	for _, st := range []*stream{first, again} {
		_, more := st.next()
		require.False(t, more, "the end of a session ends its streams")
	}
}

// TestResume holds that a stream of a POST that broke is taken up again where
// the client was, with nothing of other streams, while its handler goes on
// (basic/transports, resumability and redelivery).
func TestResume(t *testing.T) {
	goOn := make(chan struct{})
	l, _ := servers(map[string]tool{
		"long": func(ctx context.Context, p peer) (string, error) {
			for i := range 4 {
				if err := p.Progress(ctx, float64(i+1), nil, ""); err != nil {
					return "", err
				}
				<-goOn
			}
			return "done", ctx.Err()
		},
		"steps": func(ctx context.Context, p peer) (string, error) { return "other", p.Progress(ctx, 1, nil, "") },
	})
	s := serve(t, l)
	hs := s.begin()
	st := s.open("POST", legacyCall("1", "long"), hs...)
	e := st.message()
	require.Contains(t, e.data, `"progress":1`)
	st.close() // which is no cancellation
	goOn <- struct{}{}
	require.Contains(t, s.post(legacyCall("2", "steps"), hs...).body, "other")
	goOn <- struct{}{}

	get := s.open("GET", "", append(hs, "Last-Event-ID: "+e.id)...)
	require.Equal(t, 200, get.res.StatusCode)
	for _, want := range []string{`"progress":2`, `"progress":3`} {
		require.Contains(t, get.message().data, want)
	}
	goOn <- struct{}{}
	last := get.message()
	require.Contains(t, last.data, `"progress":4`)
	goOn <- struct{}{}
	require.Contains(t, get.message().data, "done")
	_, more := get.next()
	require.False(t, more, "the stream ends with the answer")

	// It is over, and can be read again all the same.
	r := s.do("GET", "", append(hs, "Last-Event-ID: "+last.id)...)
	require.Len(t, r.frames(), 1)
	require.Contains(t, r.body, "done")
	require.NotContains(t, r.body, "other")

	for _, bad := range []string{"nonsense", "99-1", "1", "-1", "1--1"} {
		require.Equal(t, 400, s.do("GET", "", append(hs, "Last-Event-ID: "+bad)...).StatusCode, bad)
	}
	other := s.begin()
	require.Equal(t, 400, s.do("GET", "", append(other, "Last-Event-ID: "+last.id)...).StatusCode, "another session has no such event")
}

// TestPolling holds that a call may outlive its connection on purpose: the
// client is told when to come back, and gets the rest (2025-11-25).
func TestPolling(t *testing.T) {
	goOn := make(chan struct{})
	var refused error
	l, m := servers(map[string]tool{"poll": func(ctx context.Context, _ peer) (string, error) {
		if refused = streamhttp.CloseStream(ctx, 0); refused != nil {
			return "", refused
		}
		<-goOn
		return "done", nil
	}})
	s := serve(t, compat.Revisions(l, m), streamhttp.HandlerOptions{Polling: true, RetryTime: 5e8})
	hs := s.begin()
	st := s.open("POST", legacyCall("1", "poll"), hs...)
	prime, ok := st.next()
	require.True(t, ok)
	require.NotEmpty(t, prime.id)
	require.Empty(t, prime.data)
	retry, ok := st.next()
	require.True(t, ok)
	require.Equal(t, "500", retry.retry)
	_, ok = st.next()
	require.False(t, ok, "the server ended the stream")

	get := s.open("GET", "", append(hs, "Last-Event-ID: "+prime.id)...)
	goOn <- struct{}{}
	require.Contains(t, get.message().data, "done")
	_, ok = get.next()
	require.False(t, ok)

	b, headers := call("1", "poll", `{}`)
	s.post(b, headers...)
	require.ErrorIs(t, refused, streamhttp.ErrNotPolling, "the stateless revision has no such thing")
	require.ErrorIs(t, streamhttp.CloseStream(t.Context(), 0), streamhttp.ErrNotHTTP)
}

// TestCancelledRequestIsNotAnswered holds that a request that its client
// cancelled gets no answer, and its POST ends.
func TestCancelledRequestIsNotAnswered(t *testing.T) {
	running := make(chan struct{})
	l, _ := servers(map[string]tool{"wait": func(ctx context.Context, _ peer) (string, error) {
		close(running)
		<-ctx.Done()
		return "", ctx.Err()
	}})
	s := serve(t, l)
	hs := s.begin()
	got := make(chan reply)
	go func() {
		res, err := s.srv.Client().Do(s.request(t.Context(), "POST", legacyCall("9", "wait"), hs...))
		if err != nil {
			close(got)
			return
		}
		b, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		got <- reply{res, string(b)}
	}()
	<-running
	require.Equal(t, 202, s.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}`, hs...).StatusCode)
	r, ok := <-got
	require.True(t, ok)
	require.Equal(t, 202, r.StatusCode)
	require.Empty(t, r.body)
}

// TestEventStoreOfTheUser holds what a store of the user's is asked for, and
// that its failures cost no answer.
func TestEventStoreOfTheUser(t *testing.T) {
	store := &brokenStore{}
	s := serve(t, both(), streamhttp.HandlerOptions{EventStore: store, Logger: slog.New(slog.DiscardHandler)})
	hs := s.begin()
	r := s.post(legacyCall("1", "steps"), hs...)
	require.Len(t, r.frames(), 4)
	require.Equal(t, 204, s.do("DELETE", "", hs...).StatusCode)
	store.mu.Lock()
	defer store.mu.Unlock()
	require.Equal(t, 5, store.appended)
	require.Equal(t, 1, store.forgotten)
}

type brokenStore struct {
	mu                  sync.Mutex
	appended, forgotten int
}

var errStore = errors.New("out of order")

func (b *brokenStore) Append(context.Context, streamhttp.StreamKey, streamhttp.StoredEvent) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.appended++
	return errStore
}

func (b *brokenStore) After(context.Context, streamhttp.StreamKey, int64) ([]streamhttp.StoredEvent, error) {
	return nil, errStore
}

func (b *brokenStore) Forget(context.Context, string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forgotten++
	return errStore
}

// TestMemoryStore holds the bounds of the store in memory.
func TestMemoryStore(t *testing.T) {
	ctx := t.Context()
	st := streamhttp.NewMemoryStore(streamhttp.MemoryStoreOptions{MaxEvents: 3, MaxSessionBytes: 2000, MaxBytes: 3000})
	a, b := streamhttp.StreamKey{Session: "a", Stream: 1}, streamhttp.StreamKey{Session: "b", Stream: 1}
	seqs := func(k streamhttp.StreamKey, after int64) (out []int64, err error) {
		events, err := st.After(ctx, k, after)
		for _, e := range events {
			out = append(out, e.Seq)
		}
		return out, err
	}
	data := []byte("x")
	for i := range 4 {
		require.NoError(t, st.Append(ctx, a, streamhttp.StoredEvent{Seq: int64(i + 1), Data: data}))
	}
	data[0] = 'y' // it is the caller's again
	got, err := seqs(a, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{2, 3, 4}, got)
	events, _ := st.After(ctx, a, 3)
	require.Equal(t, "x", string(events[0].Data))
	_, err = seqs(a, 0)
	require.ErrorIs(t, err, streamhttp.ErrEventsLost, "the first one is gone")
	got, err = seqs(streamhttp.StreamKey{Session: "a", Stream: 2}, 0)
	require.NoError(t, err)
	require.Empty(t, got, "another stream")

	require.NoError(t, st.Append(ctx, b, streamhttp.StoredEvent{Seq: 1, Data: make([]byte, 1700)}))
	require.NoError(t, st.Append(ctx, b, streamhttp.StoredEvent{Seq: 2, Data: make([]byte, 1700)}))
	got, err = seqs(b, 0)
	require.ErrorIs(t, err, streamhttp.ErrEventsLost)
	require.Equal(t, []int64{2}, got, "the bytes of a session are bounded")
	require.NoError(t, st.Append(ctx, b, streamhttp.StoredEvent{Seq: 3, Data: make([]byte, 5000)}))
	got, _ = seqs(b, 0)
	require.Equal(t, []int64{2}, got, "what is too large for the store is not kept, and costs nothing else")
	require.NoError(t, st.Forget(ctx, "a"))
	require.NoError(t, st.Forget(ctx, "nobody"))
	got, err = seqs(a, 0)
	require.NoError(t, err)
	require.Empty(t, got)
}

// TestResumeWhatIsLost holds that a client which comes for an answer that is
// not kept any more hears that, rather than nothing for ever.
func TestResumeWhatIsLost(t *testing.T) {
	large := strings.Repeat("x", 5000)
	l, _ := servers(map[string]tool{"large": func(ctx context.Context, p peer) (string, error) { return large, p.Progress(ctx, 1, nil, "") }})
	s := serve(t, l, streamhttp.HandlerOptions{EventStore: streamhttp.NewMemoryStore(streamhttp.MemoryStoreOptions{MaxSessionBytes: 4000})})
	hs := s.begin()
	st := s.open("POST", legacyCall("1", "large"), hs...)
	e := st.message()
	last := st.message()
	require.Contains(t, last.data, large)
	require.Equal(t, 400, s.do("GET", "", append(hs, "Last-Event-ID: "+e.id)...).StatusCode)
	r := s.do("GET", "", append(hs, "Last-Event-ID: "+last.id)...)
	require.Equal(t, 200, r.StatusCode, "there is nothing more, and the client has it all")
	require.Empty(t, r.frames())
}

// TestGetNeedsToAcceptStreams holds that a GET which cannot take a stream is
// refused.
func TestGetNeedsToAcceptStreams(t *testing.T) {
	s := serve(t, both())
	hs := s.begin()
	require.Equal(t, http.StatusNotAcceptable, s.do("GET", "", append(hs, "Accept: application/json")...).StatusCode)
	require.Equal(t, 200, s.open("GET", "", append(hs, "Accept: */*")...).res.StatusCode)
}

// TestManyGetsOfOneSession holds that a client may open GET streams as often
// as it likes: the oldest give way, and the newest is told.
func TestManyGetsOfOneSession(t *testing.T) {
	l, _ := servers(nil)
	l.Hub = new(jsonrpc.Hub)
	s := serve(t, l)
	hs := s.begin()
	var streams []*stream
	for range 6 {
		streams = append(streams, s.open("GET", "", hs...))
	}
	for _, st := range streams[:2] {
		_, more := st.next()
		require.False(t, more)
	}
	l.Hub.ToolsListChanged(t.Context())
	require.Contains(t, streams[5].message().data, "list_changed")
	require.Equal(t, 204, s.do("DELETE", "", hs...).StatusCode)
	for _, st := range streams[2:] {
		e, more := st.next()
		require.False(t, more, e.data)
	}
}

// TestShutdownWaitsForACallWithoutConnection holds that a call which its client
// polls for is drained like any other.
func TestShutdownWaitsForACallWithoutConnection(t *testing.T) {
	goOn, ended := make(chan struct{}), make(chan error, 1)
	l, _ := servers(map[string]tool{"poll": func(ctx context.Context, _ peer) (string, error) {
		if err := streamhttp.CloseStream(ctx, 0); err != nil {
			return "", err
		}
		<-goOn
		ended <- ctx.Err()
		return "done", nil
	}})
	s := serve(t, l, streamhttp.HandlerOptions{Polling: true})
	hs := s.begin()
	r := s.post(legacyCall("1", "poll"), hs...)
	require.Contains(t, r.body, "retry: 1000")
	down := make(chan error)
	go func() { down <- s.h.Shutdown(t.Context()) }()
	for s.post(list, hs...).StatusCode != 503 {
		runtime.Gosched()
	}
	close(goOn)
	require.NoError(t, <-down)
	require.NoError(t, <-ended)
}

// TestStreamTime holds that a response which lasts is ended by the server, where
// the client can poll for the rest.
func TestStreamTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := servers(map[string]tool{"long": func(ctx context.Context, p peer) (string, error) {
			err := p.Progress(ctx, 1, nil, "")
			time.Sleep(time.Minute)
			return "done", err
		}})
		s, _ := inMemory(t, l, streamhttp.HandlerOptions{Polling: true, StreamTime: 10 * time.Second, RetryTime: 2 * time.Second})
		hs := s.begin()
		start := time.Now()
		r := s.post(legacyCall("1", "long"), hs...)
		require.Equal(t, 10*time.Second, time.Since(start))
		require.Contains(t, r.body, "retry: 2000")
		require.Contains(t, r.body, `"progress":1`)
		r = s.do("GET", "", append(hs, "Last-Event-ID: 1-1")...)
		require.Equal(t, time.Minute, time.Since(start))
		require.Len(t, r.frames(), 2)
		require.Contains(t, r.body, "done")
	})
}

// TestCounts holds that what the connections survive is counted, whatever they
// were.
func TestCounts(t *testing.T) {
	s := serve(t, both())
	s.post(`{`)
	s.post(`{`, s.begin()...)
	require.EqualValues(t, 2, s.h.Count(jsonrpc.BadJSON))
	require.Zero(t, s.h.Count(jsonrpc.HandlerPanic))
}

// TestVersionHeaderTwice: a request of a session that names two versions is
// refused, whichever comes first: what is in between may go by the other.
func TestVersionHeaderTwice(t *testing.T) {
	s := serve(t, both())
	hs := s.begin()
	for _, second := range []string{"2025-11-25", "2026-07-28", "nonsense"} {
		r := s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, append(hs[:len(hs):len(hs)], "MCP-Protocol-Version: "+second)...)
		require.Equal(t, 400, r.StatusCode, second)
	}
	require.Equal(t, 200, s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, hs...).StatusCode)
}
