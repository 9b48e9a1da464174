package streamhttp

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// HandlerOptions are the limits and policies of a Handler. The zero value
// works, on a machine of its own as well as behind middleware.
type HandlerOptions struct {
	// AllowedOrigins are the origins that browsers may send from, spelled
	// like "https://app.example"; "*" allows all, "null" that of sandboxed
	// pages. A request with another Origin is answered with 403, whatever
	// its Host says; one without an Origin does not come from a page. nil
	// allows those of this machine: localhost, 127.0.0.0/8 and [::1] with any
	// scheme and port. (basic/transports/streamable-http, security warning)
	AllowedOrigins []string
	// AllowedHosts are the names, without port, that Host may hold when a
	// request comes in at a loopback address, beside the loopback names
	// themselves; "*" allows all. Without this check a page whose name was
	// made to resolve to this machine could talk to the server. A proxy on
	// the same machine that passes the public Host on needs that name here.
	AllowedHosts []string
	// MaxMessage bounds a request's body in bytes; a longer one is answered
	// with 413 and not read to its end. 0 means 64 MiB.
	MaxMessage int
	// MaxBuffered bounds the bytes of messages that all requests in progress
	// hold: bodies above 64 KiB, what waits to be written on streams where it
	// is more than 16 KiB, and answers above 64 KiB that are being written. A
	// body that would go beyond it is answered with 503, and a stream takes at
	// most an eighth of what is left of it, as if that were MaxOutgoing. Answers
	// that are made already are not refused: one for each request may pass it.
	// 0 means 512 MiB.
	//
	// The process needs more than this: a message is decoded, which takes about
	// its length again, as does an answer that repeats it, and the garbage
	// collector lets the heap grow to twice what is in use (GOGC). Between one
	// and a half times and 2.3 times MaxBuffered was measured with clients that
	// read nothing; expect five times with large messages that are decoded at
	// once, or set GOMEMLIMIT. Beside it there are up to 80 KiB for each of
	// MaxRequests, and what handlers use.
	MaxBuffered int
	// MaxOutgoing bounds the bytes that wait to be written on one stream; one
	// message more may pass it. At the bound who sends waits; on a stream of a
	// session, whose client can come back for what it missed, nobody waits but
	// the response is ended. 0 means 16 MiB.
	MaxOutgoing int
	// BodyTimeout is how long a request's body may take to come in. 0 means
	// one minute, negative none.
	BodyTimeout time.Duration
	// WriteTimeout is how long one write may wait for a client that does not
	// read; then its stream is cut. 0 means 30 s, negative none.
	WriteTimeout time.Duration
	// KeepAlive is the time between two comments on a stream, so that
	// proxies keep it open; a request whose answer takes longer becomes a
	// stream by then. 0 means 15 s, negative none.
	KeepAlive time.Duration
	// MaxRequests bounds the requests that are in progress at once, open
	// streams included; further ones are answered with 503 and Retry-After.
	// 0 means 16,384.
	MaxRequests int
	// SessionTimeout ends a session of a stateful revision that has neither
	// a request in progress nor a stream for so long. 0 means one hour,
	// negative none.
	SessionTimeout time.Duration
	// MaxSessions bounds the sessions. Beyond it the one that was idle for
	// longest gives way; if none is idle, the new one is refused with 503.
	// 0 means 100,000.
	MaxSessions int
	// EventStore keeps what was sent on the streams of sessions, so that a
	// client whose connection broke can go on with Last-Event-ID. nil means
	// NewMemoryStore with its defaults. An answer above 64 KiB that is streamed
	// (jsonrpc.TextStream) is not kept: who comes back for it is told so (400).
	// It is made as a whole, and kept, when the client is away to poll.
	EventStore EventStore
	// Polling lets a call of a revision that has it (2025-11-25) outlive its
	// HTTP connection: CloseStream ends the response, and StreamTime ends
	// those that last; the client fetches the rest with a GET. Its price is a
	// goroutine for each such call.
	Polling bool
	// StreamTime is how long the response to a call stays open before the
	// client has to poll. 0 does not end it. It needs Polling.
	StreamTime time.Duration
	// RetryTime is how long a client is asked to wait before it polls. 0
	// means one second.
	RetryTime time.Duration
	// ParamHeaders names the arguments of a tool that the Mcp-Param-*
	// headers of its calls repeat (2026-07-28). nil asks the server's own
	// tools/list, as the client whose call it is, and keeps what that says
	// for as long as it allows, at least a second. A call is answered with 503
	// when this fails, or the first list does.
	ParamHeaders func(ctx context.Context, tool string) (ParamHeaders, error)
	// Logger gets what goes wrong here and what is refused, the latter at
	// debug level; no ids of sessions, no headers and no bodies. nil is
	// slog.Default().
	Logger *slog.Logger
}

// What HandlerOptions leave open.
const (
	defaultMaxMessage     = 64 << 20
	defaultMaxBuffered    = 512 << 20
	defaultMaxOutgoing    = 16 << 20
	defaultBodyTimeout    = time.Minute
	defaultWriteTimeout   = 30 * time.Second
	defaultKeepAlive      = 15 * time.Second
	defaultMaxRequests    = 16 << 10
	defaultSessionTimeout = time.Hour
	defaultMaxSessions    = 100_000
	defaultRetry          = time.Second
)

// orDefault is v, its default when 0, and 0 (none) when negative.
func orDefault[T int | time.Duration](v, otherwise T) T {
	switch {
	case v == 0:
		return otherwise
	case v < 0:
		return 0
	}
	return v
}

// Handler serves Streamable HTTP: every revision that its binder serves, the
// era chosen request by request. It serves any path. All methods may be called
// from any goroutine.
//
// A request of a stateless revision (2026-07-28) stands alone: its headers are
// held against its body, the end of its connection cancels it. Stateful
// revisions get sessions. An answer is one JSON text unless something precedes
// it; then it is an event stream, or newline-delimited JSON for a client whose
// Accept lists application/x-ndjson. A jsonrpc.TextStream above 64 KiB is written
// as it is read, whichever of these it is; one that cannot be written to its end
// ends in a panic with http.ErrAbortHandler, so that the client notices, which
// middleware has to let pass. What pages of other origins need beside
// AllowedOrigins is for CORS, and authorization is for middleware, which names who
// is behind a request with jsonrpc.WithPrincipal.
//
// Specification: basic/transports (stateful revisions),
// basic/transports/streamable-http (2026-07-28).
type Handler struct {
	o      HandlerOptions
	ch     jsonrpc.Chooser
	modern map[string]*era             // the stateless revisions
	latest *era                        // of them, nil if there are none
	legacy map[string]*jsonrpc.Service // of the stateful ones, by revision
	err    error                       // of the binder
	born   time.Time
	log    *slog.Logger
	guard  *Guard

	draining atomic.Bool
	closed   atomic.Bool
	requests atomic.Int64 // in progress
	buffered atomic.Int64 // bytes of large bodies, of what waits to be written

	// The connections that answer are forks of one of these.
	root      *jsonrpc.Conn // of sessions
	stateless *jsonrpc.Conn // of stateless requests, nil if they are not served
	refusing  *jsonrpc.Conn // of what readHead could not read: it says what is wrong, and runs nothing

	mu       sync.Mutex
	posts    *post       // in progress, a list in both directions
	watch    *time.Timer // of the posts
	watching bool
	sessions map[string]*serverSession
	oldest   *serverSession // of the list in order of use
	newest   *serverSession
	sweep    *time.Timer
	idle     chan struct{} // made by a shutdown, closed when nothing is in progress
}

// era is a stateless revision that is served.
type era struct {
	svc    *jsonrpc.Service
	params paramTables // of its tools
}

// NewHandler makes a handler of what a binder serves: the generated Server of
// one revision, or what compat joins. A revision that package revision has no rules
// of is served beside others where the jsonrpc.Chooser has a method Revisions() []string
// that names it. There is at most one HandlerOptions. A
// binder that fails makes a handler that answers 500; Err says why.
func NewHandler(b jsonrpc.Binder, o ...HandlerOptions) *Handler {
	h := &Handler{born: time.Now(), sessions: map[string]*serverSession{}, modern: map[string]*era{}, legacy: map[string]*jsonrpc.Service{}}
	if len(o) > 0 {
		h.o = o[0]
	}
	h.o.MaxMessage = orDefault(max(h.o.MaxMessage, 0), defaultMaxMessage)
	h.o.MaxBuffered = orDefault(max(h.o.MaxBuffered, 0), defaultMaxBuffered)
	h.o.MaxOutgoing = orDefault(max(h.o.MaxOutgoing, 0), defaultMaxOutgoing)
	h.o.BodyTimeout = orDefault(h.o.BodyTimeout, defaultBodyTimeout)
	h.o.WriteTimeout = orDefault(h.o.WriteTimeout, defaultWriteTimeout)
	h.o.KeepAlive = orDefault(h.o.KeepAlive, defaultKeepAlive)
	h.o.MaxRequests = orDefault(h.o.MaxRequests, defaultMaxRequests)
	h.o.SessionTimeout = orDefault(h.o.SessionTimeout, defaultSessionTimeout)
	h.o.MaxSessions = orDefault(h.o.MaxSessions, defaultMaxSessions)
	h.o.RetryTime = orDefault(h.o.RetryTime, defaultRetry)
	if h.o.EventStore == nil {
		h.o.EventStore = NewMemoryStore(MemoryStoreOptions{})
	}
	if h.log = h.o.Logger; h.log == nil {
		h.log = slog.Default()
	}
	h.guard = NewGuard(h.o.AllowedOrigins, h.o.AllowedHosts)
	if h.ch, h.err = jsonrpc.Bind(b); h.err == nil {
		h.probe()
	}
	if h.err != nil {
		h.log.Error("the server cannot be served", "err", h.err)
	}
	return h
}

// probe finds out which revisions the chooser serves, by asking what it would
// choose for each. One that the runtime has no rules of (a draft's) is found as
// that which its kind falls back on, or named by the chooser; its service knows its
// rules.
func (h *Handler) probe() {
	c := jsonrpc.NewConn(nil, h.ch, jsonrpc.ServerSide)
	all := revision.All()
	if x, ok := h.ch.(interface{ Revisions() []string }); ok {
		for _, rev := range x.Revisions() {
			if !revision.Known(rev) {
				all = append(all, rev)
			}
		}
	}
	var other *jsonrpc.Service // a stateless one that was not asked for
	for _, rev := range all {
		named := string(wire.AppendString(nil, rev))
		for _, f := range []*jsonrpc.Peek{
			{Method: methodInitialize, Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + named + `,"capabilities":{},"clientInfo":{"name":"","version":""}}}`)},
			{Method: methodToolsList, Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"` + metaVersion + `":` + named + `,"` + metaCapabilities + `":{}}}}`)},
		} {
			switch svc := h.ch.Choose(c, f); {
			case svc == nil:
			case !svc.Rules().Stateless:
				h.legacy[svc.Revision()] = svc
			case svc.Revision() == rev && f.Method == methodToolsList:
				h.serve(svc) // the newest comes last
			default:
				other = svc
			}
		}
	}
	if h.latest == nil && other != nil {
		h.serve(other)
	}
	if h.latest == nil && len(h.legacy) == 0 {
		h.err = errors.New("no revision to serve")
	}
	h.root = jsonrpc.NewConn(nil, sessionChooser{h.ch}, jsonrpc.ServerSide)
	h.refusing = jsonrpc.NewConn(nil, noChooser{h.ch}, jsonrpc.ServerSide)
	switch {
	case len(h.modern) == 1:
		h.stateless = jsonrpc.NewConn(nil, h.latest.svc, jsonrpc.ServerSide)
	case len(h.modern) > 1:
		judge := h.ch.Choose(c, &jsonrpc.Peek{Method: methodInitialize, Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"` + metaCapabilities + `":{}}}}`)})
		if judge == nil || !judge.Rules().Stateless {
			judge = h.latest.svc
		}
		h.stateless = jsonrpc.NewConn(nil, statelessChooser{h.ch, h, judge}, jsonrpc.ServerSide)
	}
}

// serve notes a stateless revision, the latest of those that are noted.
func (h *Handler) serve(svc *jsonrpc.Service) {
	h.latest = &era{svc: svc}
	h.modern[svc.Revision()] = h.latest
}

// speaks reports whether a version is that of a stateless revision that is served.
func (h *Handler) speaks(version string) bool {
	return h.latest != nil && (version == h.latest.svc.Revision() || len(h.modern) > 1 && h.modern[version] != nil)
}

// stated is the stateless revision that a header names, the latest where it names
// none that is served; there has to be one.
func (h *Handler) stated(header map[string][]string) *era {
	if m := h.modern[first(header[HeaderProtocolVersion])]; m != nil {
		return m
	}
	return h.latest
}

// now is the time since the handler was made. Of what is looked at with each
// request one clock is read, not two.
func (h *Handler) now() time.Duration { return time.Since(h.born) }

// Err says why the binder could not be bound, nil if it was.
func (h *Handler) Err() error { return h.err }

// HandlerStats is a snapshot of a handler.
type HandlerStats struct {
	Requests int // in progress, open streams included
	Sessions int // of stateful revisions
	Buffered int // bytes that count for HandlerOptions.MaxBuffered
}

// Stats is the present state.
func (h *Handler) Stats() HandlerStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return HandlerStats{Requests: int(h.requests.Load()), Sessions: len(h.sessions), Buffered: int(h.buffered.Load())}
}

// conns are those that others are forks of.
func (h *Handler) conns() (all []*jsonrpc.Conn) {
	for _, c := range []*jsonrpc.Conn{h.root, h.stateless, h.refusing} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// A sessionChooser keeps stateless requests out of sessions. One that stands
// alone never gets there; one inside a batch, or spelled so that only the
// connection sees what it is, would be handled without its headers having been
// looked at.
type sessionChooser struct{ jsonrpc.Chooser }

func (s sessionChooser) Options() jsonrpc.Options { return optionsOf(s.Chooser) }

func (s sessionChooser) Choose(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if svc := s.Chooser.Choose(c, f); svc == nil || !svc.Rules().Stateless {
		return svc
	}
	return c.Service()
}

// A statelessChooser keeps to the stateless revisions where there are several: what
// says no version of its own belongs to that of its header.
type statelessChooser struct {
	jsonrpc.Chooser
	h     *Handler
	judge *jsonrpc.Service // of a handshake, which no stateless revision has
}

func (s statelessChooser) Options() jsonrpc.Options { return optionsOf(s.Chooser) }

func (s statelessChooser) Choose(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if f.SaysItAll() {
		if svc := s.Chooser.Choose(c, f); svc == nil || svc.Rules().Stateless {
			return svc
		}
	}
	if f.Method == methodInitialize {
		return s.judge
	}
	return s.h.stated(f.Header).svc
}

// A noChooser has nobody to handle anything.
type noChooser struct{ jsonrpc.Chooser }

func (n noChooser) Options() jsonrpc.Options { return optionsOf(n.Chooser) }

func (noChooser) Choose(*jsonrpc.Conn, *jsonrpc.Peek) *jsonrpc.Service { return nil }

func optionsOf(ch jsonrpc.Chooser) (o jsonrpc.Options) {
	if x, ok := ch.(interface{ Options() jsonrpc.Options }); ok {
		o = x.Options()
	}
	return o
}

// Count is how often a kind of event happened on the connections that the
// handler made.
func (h *Handler) Count(k jsonrpc.EventKind) uint64 {
	var n uint64
	for _, c := range h.conns() {
		s := c.Stats()
		n += s.Count(k)
	}
	return n
}

// ServeHTTP answers one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// There are as many of these goroutines as open streams: while one waits
	// there is little on its stack, and it waits for one channel, since a
	// select takes more.
	if o := h.begin(w, r); o != nil {
		for o.turn() {
			<-o.wake
		}
		o.end()
		o.abort()
	}
}

// begin does all that can be done without waiting for more to send. It returns
// the response that stays open, nil if there is none.
func (h *Handler) begin(w http.ResponseWriter, r *http.Request) (o *outlet) {
	h.requests.Add(1)
	defer func() {
		if o == nil {
			h.done()
		}
	}()
	if !h.admitted(w, r) {
		return nil
	}
	switch r.Method {
	case http.MethodPost:
		return h.servePost(w, r)
	case http.MethodGet:
		if h.skipBody(w, r) {
			return h.serveGet(w, r)
		}
	case http.MethodDelete:
		unread(w, r)
		h.serveDelete(w, r)
	default:
		unread(w, r)
		h.notAllowed(w, r)
	}
	return nil
}

// admitted refuses what must not be looked at any further.
func (h *Handler) admitted(w http.ResponseWriter, r *http.Request) bool {
	var status int
	var e *jsonrpc.Error
	foreign := h.guard.Check(r)
	switch {
	case h.o.MaxRequests > 0 && h.requests.Load() > int64(h.o.MaxRequests):
		status, e = http.StatusServiceUnavailable, jsonrpc.NewError(jsonrpc.CodeOverloaded, "too many requests in progress")
	case foreign != nil:
		status, e = http.StatusForbidden, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, foreign.Error())
	case h.err != nil:
		status, e = http.StatusInternalServerError, jsonrpc.NewError(jsonrpc.CodeInternalError, "internal error")
	case h.draining.Load() && r.Method != http.MethodDelete:
		w.Header()["Connection"] = []string{"close"}
		status, e = http.StatusServiceUnavailable, jsonrpc.NewError(jsonrpc.CodeShuttingDown, "shutting down")
	default:
		return true
	}
	unread(w, r)
	h.refuse(w, r, status, jsonrpc.ID{}, e)
	return false
}

// done counts a request out.
func (h *Handler) done() {
	if h.requests.Add(-1) == 0 && h.draining.Load() {
		h.mu.Lock()
		if h.idle != nil && h.requests.Load() == 0 {
			close(h.idle)
			h.idle = nil
		}
		h.mu.Unlock()
	}
}

// Shutdown lets the requests in progress end and refuses new ones with 503, and
// those whose body does not come within two seconds. It ends subscriptions with
// their result, sessions and their streams. When ctx ends first it cancels what
// runs and returns its error. The HTTP server in front is shut down after it,
// since it would wait for the streams.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.draining.Store(true)
	h.mu.Lock()
	var idle chan struct{}
	if h.requests.Load() > 0 {
		if h.idle == nil {
			h.idle = make(chan struct{})
		}
		idle = h.idle
	}
	var conns []*jsonrpc.Conn
	for p := h.posts; p != nil; p = p.next {
		if c := p.live.Load(); c != nil {
			conns = append(conns, c)
		} else if p.phase.Load() == reading {
			_ = http.NewResponseController(p.w).SetReadDeadline(time.Now().Add(linger))
		}
	}
	var resting []*serverSession
	for _, s := range h.sessions {
		if s.active == 0 && s.conn.Stats().Handling == 0 {
			resting = append(resting, s)
		} else {
			conns = append(conns, s.conn)
		}
	}
	h.mu.Unlock()
	for _, s := range resting {
		s.end()
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { _ = c.Drain(ctx) })
	}
	wg.Wait()
	if idle != nil {
		select {
		case <-idle:
		case <-ctx.Done():
			h.Close()
			return context.Cause(ctx)
		}
	}
	h.Close()
	return ctx.Err()
}

// Close cancels what runs and ends all sessions and streams, without waiting.
func (h *Handler) Close() {
	h.draining.Store(true)
	h.closed.Store(true)
	h.mu.Lock()
	var conns []*jsonrpc.Conn
	for p := h.posts; p != nil; p = p.next {
		if c := p.live.Load(); c != nil {
			conns = append(conns, c)
		}
	}
	all := make([]*serverSession, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	if h.sweep != nil {
		h.sweep.Stop()
	}
	h.mu.Unlock()
	for _, c := range conns {
		_ = c.Close(context.Background())
	}
	for _, s := range all {
		s.end()
	}
	for _, c := range h.conns() {
		_ = c.Close(context.Background())
	}
}

// newSessionID is a name that cannot be guessed: 128 random bits, in visible
// ASCII. (basic/transports, session management)
func newSessionID() string { return rand.Text() }
