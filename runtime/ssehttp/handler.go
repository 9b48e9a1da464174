package ssehttp

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// HandlerOptions are the limits and policies of a Handler. The zero value
// works.
type HandlerOptions struct {
	// AllowedOrigins and AllowedHosts are those of
	// streamhttp.HandlerOptions, for both endpoints.
	AllowedOrigins, AllowedHosts []string
	// MessagePath is where clients are told to post: a URL, relative to that
	// of the stream or absolute, at which this handler is served too. "" is
	// the URL of the stream itself.
	MessagePath string
	// MaxMessage bounds a message in bytes; 0 means 64 MiB.
	MaxMessage int
	// MaxBuffered bounds the bytes of all messages together: bodies above
	// 64 KiB that are handled, and what waits to be written to clients where it
	// is more than 16 KiB. A body that would go beyond it is answered with 503,
	// and for a client waits at most an eighth of what is left of it, as if that
	// were MaxOutgoing; one message may pass it, so that a large one finds its
	// way. 0 means 512 MiB. What the process needs is several times as much: see
	// streamhttp.HandlerOptions.
	MaxBuffered int
	// MaxOutgoing bounds the bytes that wait to be written to a client; 0
	// means 16 MiB. At the bound who sends waits. The messages of a client that has taken nothing for a
	// second while the bound is reached are answered with 503, and so are
	// those beyond twice Options.MaxInFlight that wait for their answers.
	MaxOutgoing int
	// MaxSessions bounds the clients; further ones get 503. 0 means 16,384.
	MaxSessions int
	// BodyTimeout is how long a message may take to come in. 0 means one
	// minute, negative none.
	BodyTimeout time.Duration
	// WriteTimeout is how long one write may wait for a client that does not
	// read; then its stream is cut. 0 means 30 s, negative none.
	WriteTimeout time.Duration
	// KeepAlive is the time between two comments on a stream. 0 means 15 s,
	// negative none.
	KeepAlive time.Duration
	// Logger gets what is refused, at debug level; nil is slog.Default().
	Logger *slog.Logger
}

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

// Handler serves HTTP+SSE: a GET opens a client's stream, a POST with the
// session that the stream named brings a message. It serves any path. All
// methods may be called from any goroutine.
//
// A session lasts as long as its stream, is found by an id that cannot be
// guessed, and belongs to the principal that opened it
// (jsonrpc.WithPrincipal).
type Handler struct {
	o     HandlerOptions
	guard *streamhttp.Guard
	ch    jsonrpc.Chooser
	err   error
	log   *slog.Logger

	maxMessages int64        // of a session, that wait for their answers
	buffered    atomic.Int64 // bytes of bodies, and of what waits to be written

	mu       sync.Mutex
	closed   bool
	sessions map[string]*session
	work     sync.WaitGroup
}

// NewHandler makes a handler of what a binder serves. There is at most one
// HandlerOptions. A binder that fails makes a handler that answers 500; Err
// says why.
func NewHandler(b jsonrpc.Binder, o ...HandlerOptions) *Handler {
	h := &Handler{sessions: map[string]*session{}}
	if len(o) > 0 {
		h.o = o[0]
	}
	h.o.MaxMessage = orDefault(max(h.o.MaxMessage, 0), 64<<20)
	h.o.MaxBuffered = orDefault(max(h.o.MaxBuffered, 0), 512<<20)
	h.o.MaxOutgoing = orDefault(max(h.o.MaxOutgoing, 0), 16<<20)
	h.o.MaxSessions = orDefault(max(h.o.MaxSessions, 0), 16<<10)
	h.o.BodyTimeout = orDefault(h.o.BodyTimeout, time.Minute)
	h.o.WriteTimeout = orDefault(h.o.WriteTimeout, 30*time.Second)
	h.o.KeepAlive = orDefault(h.o.KeepAlive, 15*time.Second)
	if h.log = h.o.Logger; h.log == nil {
		h.log = slog.Default()
	}
	h.guard = streamhttp.NewGuard(h.o.AllowedOrigins, h.o.AllowedHosts)
	h.maxMessages = 2 * defaultInFlight
	if h.ch, h.err = jsonrpc.Bind(b); h.err == nil {
		if o, ok := h.ch.(interface{ Options() jsonrpc.Options }); ok && o.Options().MaxInFlight > 0 {
			h.maxMessages = 2 * int64(o.Options().MaxInFlight)
		}
		_, h.err = url.Parse(h.o.MessagePath)
	}
	if h.err != nil {
		h.log.Error("the server cannot be served", "err", h.err)
	}
	return h
}

// Err says why nothing can be served, nil if it can.
func (h *Handler) Err() error { return h.err }

// Buffered is the number of bytes that count for HandlerOptions.MaxBuffered.
func (h *Handler) Buffered() int { return int(h.buffered.Load()) }

// Sessions is the number of clients.
func (h *Handler) Sessions() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.sessions)
}

const (
	defaultInFlight = 1024                   // of jsonrpc.Options.MaxInFlight
	freeBody        = 64 << 10               // a body of so many bytes is not counted
	freeOut         = 16 << 10               // what may wait for a client without being counted
	shareOut        = 8                      // a client has at most this part of what is left for all
	stuckAfter      = time.Second            // a client whose queue is full so long does not read
	cutGrace        = 250 * time.Millisecond // for the last of what is pending
)

// Shutdown refuses new clients, lets what runs end within ctx, and then ends
// all streams. Those that have not ended shortly after ctx are cut, and the
// error is that of ctx.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	all := make([]*session, 0, len(h.sessions))
	for _, s := range h.sessions {
		all = append(all, s)
	}
	h.mu.Unlock()
	errs := make([]error, len(all))
	ended := make(chan struct{})
	go func() { // ends with the streams
		defer close(ended)
		var wg sync.WaitGroup
		for i, s := range all {
			wg.Go(func() { errs[i] = s.conn.Drain(ctx) })
		}
		wg.Wait()
		h.work.Wait()
	}()
	select {
	case <-ended:
		return errors.Join(errs...)
	case <-ctx.Done():
	}
	t := time.NewTimer(cutGrace)
	defer t.Stop()
	select {
	case <-ended:
		return errors.Join(errs...)
	case <-t.C:
	}
	for _, s := range all {
		s.cut()
	}
	return context.Cause(ctx)
}

const sessionParam = "sessionId"

// ServeHTTP answers one HTTP request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.o.BodyTimeout > 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.BodyTimeout)) // middleware may not know how
	}
	if err := h.guard.Check(r); err != nil {
		h.refuse(w, r, http.StatusForbidden, err.Error())
		return
	}
	if h.err != nil {
		h.refuse(w, r, http.StatusInternalServerError, "internal error")
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.serveStream(w, r)
	case http.MethodPost:
		h.serveMessage(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		h.refuse(w, r, http.StatusMethodNotAllowed, "a stream is a GET, a message a POST")
	}
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	h.log.Debug("request refused", "method", r.Method, "status", status, "why", why)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, why+"\n")
}

// serveStream is the life of a session.
func (h *Handler) serveStream(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 { // before anything is sent net/http would wait for it
		if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, freeBody)); err != nil {
			w.Header().Set("Connection", "close")
			h.refuse(w, r, http.StatusBadRequest, "the body of a GET did not come in full, or is too long")
			return
		}
	}
	s := &session{h: h, id: rand.Text(), principal: jsonrpc.Principal(r.Context()), rc: http.NewResponseController(w), wake: make(chan struct{}, 1), done: make(chan struct{})}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	s.end = end
	s.conn = jsonrpc.NewConn(s, h.ch, jsonrpc.ServerSide)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(r.Context()))
	h.mu.Lock()
	switch {
	case h.closed:
		h.mu.Unlock()
		h.refuse(w, r, http.StatusServiceUnavailable, "shutting down")
		return
	case len(h.sessions) >= h.o.MaxSessions:
		h.mu.Unlock()
		w.Header().Set("Retry-After", "1")
		h.refuse(w, r, http.StatusServiceUnavailable, "too many clients")
		return
	}
	h.sessions[s.id] = s
	h.work.Add(1)
	h.mu.Unlock()
	defer h.work.Done()
	_ = s.conn.Start()
	var err error = http.ErrAbortHandler
	defer func() { // also when w, which may be a middleware's, panics
		h.mu.Lock()
		delete(h.sessions, s.id)
		h.mu.Unlock()
		s.over(err)
		s.cancel()
		_ = s.conn.Close(context.Background())
	}()

	hd := w.Header()
	hd.Set("Content-Type", "text/event-stream")
	hd.Set("Cache-Control", "no-cache, no-transform")
	hd.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	s.pending, _ = sse.Append(nil, sse.Event{Type: "endpoint", Data: []byte(h.endpoint(s.id))})
	err = s.write(ctx, w)
}

// endpoint is where a session's messages go, as a reference.
func (h *Handler) endpoint(id string) string {
	sep := "?"
	if strings.Contains(h.o.MessagePath, "?") {
		sep = "&"
	}
	return h.o.MessagePath + sep + sessionParam + "=" + id
}

// serveMessage takes one message. The answer comes on the stream.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get(sessionParam)
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	switch {
	case id == "":
		h.refuse(w, r, http.StatusBadRequest, sessionParam+" is missing: the stream's endpoint event says where to post")
		return
	case s == nil || s.principal != jsonrpc.Principal(r.Context()):
		h.refuse(w, r, http.StatusNotFound, "no such session")
		return
	}
	if s.messages.Add(1) > h.maxMessages || s.stuck() {
		s.messages.Add(-1)
		h.overloaded(w, r, "the answers are not read")
		return
	}
	taken, held := false, int64(0)
	free := func() {
		s.messages.Add(-1)
		h.buffered.Add(-held)
	}
	defer func() {
		if !taken {
			free()
		}
	}()
	if r.ContentLength > int64(h.o.MaxMessage) {
		h.refuse(w, r, http.StatusRequestEntityTooLarge, "message too long")
		return
	}
	body, err := h.read(w, r, &held)
	if err != nil {
		if err == errNoMemory {
			h.overloaded(w, r, err.Error())
		} else if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			h.refuse(w, r, http.StatusRequestEntityTooLarge, "message too long")
		} else {
			h.refuse(w, r, http.StatusBadRequest, "the body did not come in full")
		}
		return
	}
	if taken = s.receive(r, body, free); !taken {
		h.refuse(w, r, http.StatusNotFound, "no such session")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (h *Handler) overloaded(w http.ResponseWriter, r *http.Request, why string) {
	w.Header().Set("Retry-After", "1")
	h.refuse(w, r, http.StatusServiceUnavailable, why)
}

var errNoMemory = errors.New("too many long messages at once")

// read reads a body. What it takes of the memory for all of them is added to
// held, and grows with what has come, not with what is announced.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, held *int64) ([]byte, error) {
	from := http.MaxBytesReader(w, r.Body, int64(h.o.MaxMessage))
	buf := make([]byte, 0, 4<<10)
	for {
		n, err := from.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if len(buf) < cap(buf) {
			continue
		}
		room := 4 * cap(buf)
		if size := int(r.ContentLength); size >= len(buf) {
			room = min(room, size+1) // and one to see the end
		}
		if room > freeBody {
			more := int64(room) - *held
			*held += more
			if h.buffered.Add(more) > int64(h.o.MaxBuffered) {
				return nil, errNoMemory
			}
		}
		buf = append(make([]byte, 0, room), buf...)
	}
}

// session is one client: the jsonrpc.Link of its connection.
type session struct {
	h         *Handler
	id        string
	principal string
	conn      *jsonrpc.Conn
	ctx       context.Context // of its handlers
	cancel    context.CancelFunc
	r         jsonrpc.Receiver
	rc        *http.ResponseController // of the stream
	end       context.CancelCauseFunc  // of the stream
	messages  atomic.Int64             // that wait for their answers

	mu      sync.Mutex
	off     bool          // it is cut
	since   time.Time     // when room was made
	pending []byte        // events to be written
	flight  int           // bytes that are being written
	held    int           // bytes of Handler.buffered
	room    chan struct{} // closed when pending was taken; made by who waits
	turn    chan struct{} // of an answer that is streamed: closed when it has ended
	// streamed is how much of pending, at its end, is of that answer.
	streamed int
	ending   bool // write what is pending, and end
	ended    bool
	err      error
	wake     chan struct{} // of the goroutine that writes
	done     chan struct{}
}

// Start takes the receiver.
func (s *session) Start(r jsonrpc.Receiver) error {
	s.r = r
	return nil
}

// receive hands a message to the connection, and returns when it is registered,
// so that a cancellation that follows finds it. It does not wait for handlers.
// free is called when the message is answered, unless it is not taken.
func (s *session) receive(r *http.Request, body []byte, free func()) bool {
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	if ended {
		return false
	}
	ex := &exchange{s: s, busy: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(s.ctx, cancel)
	ex.release = sync.OnceFunc(func() { stop(); cancel(); free() })
	header := r.Header
	go func() {
		defer ex.Detach()
		s.r.Receive(ctx, ex, jsonrpc.Frame{Data: body, Owned: true, Header: header})
	}()
	select {
	case <-ex.busy:
	case <-s.done: // a relay may take its time with a notification
	case <-r.Context().Done():
	}
	return true
}

// exchange is the way back of one message.
type exchange struct {
	s       *session
	once    sync.Once
	busy    chan struct{} // closed when what follows may overtake it
	release func()
}

// Expect is called when the message is a request and about to be handled.
func (e *exchange) Expect(string, any) *jsonrpc.Error {
	e.Detach()
	return nil
}

func (e *exchange) Notify(ctx context.Context, f jsonrpc.Frame) error { return e.s.Send(ctx, f) }

func (e *exchange) Reply(ctx context.Context, f jsonrpc.Frame) error {
	defer e.release()
	e.Detach()
	if len(f.Data) == 0 {
		return nil
	}
	return e.s.Send(ctx, f)
}

// ReplyStream puts an answer on the stream piece by piece. The messages that
// follow wait until it has ended. One that cannot be written to its end ends the
// stream, since there is no other way to take back half a message.
func (e *exchange) ReplyStream(ctx context.Context, write func(io.Writer) error) error {
	defer e.release()
	e.Detach()
	if err := e.s.beginStream(ctx); err != nil {
		return err
	}
	whole := false
	defer func() {
		e.s.endStream()
		if !whole {
			e.s.cut()
		}
	}()
	w := &pieces{s: e.s, ctx: ctx}
	_, err := io.WriteString(w, "event: "+sse.TypeMessage+"\ndata: ")
	if err != nil {
		return err
	}
	w.line = true
	if err = write(w); err == nil {
		w.line = false
		_, err = io.WriteString(w, "\n\n")
	}
	whole = err == nil
	return err
}

func (e *exchange) Detach() { e.once.Do(func() { close(e.busy) }) }

const (
	maxAhead = 256 << 10 // of an answer that is streamed, ahead of the client
	// signs is what is held back of an answer that is being streamed: a comment
	// cannot be put into the middle of an event, so that one byte more of it goes
	// as a sign of life when its reader pauses.
	signs = 256
)

// pieces is a writer of one message.
type pieces struct {
	s    *session
	ctx  context.Context
	line bool // a line end would end the line: it is white space of JSON
}

// Write puts a piece behind what is pending, and waits for room.
func (p *pieces) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k, err := p.s.takePiece(p.ctx, b, p.line)
		n += k
		if err != nil {
			return n, err
		}
		b = b[k:]
	}
	return n, nil
}

// beginStream waits until nobody else streams, as long as ctx.
func (s *session) beginStream(ctx context.Context) error {
	for {
		s.mu.Lock()
		if s.ended || s.ending {
			s.mu.Unlock()
			return jsonrpc.ErrClosed
		}
		turn := s.turn
		if turn == nil {
			s.turn, s.streamed = make(chan struct{}), 0
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-turn:
		case <-s.done:
		case <-ctx.Done():
			return jsonrpc.ContextError(ctx)
		}
	}
}

// endStream lets others send again.
func (s *session) endStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.turn)
	s.turn, s.streamed = nil, 0
	s.signal()
}

// takePiece takes some of a message that is streamed, and waits for room.
func (s *session) takePiece(ctx context.Context, b []byte, line bool) (int, error) {
	most := min(maxAhead, max(s.h.o.MaxOutgoing, signs))
	for {
		s.mu.Lock()
		if s.ended || s.ending {
			s.mu.Unlock()
			return 0, jsonrpc.ErrClosed
		}
		if ahead := len(s.pending) - signs; ahead < most && !s.beyond(ahead) {
			n := len(s.pending)
			b = b[:min(len(b), most)]
			s.pending = append(s.pending, b...)
			if line {
				for i, c := range s.pending[n:] {
					if c == '\n' || c == '\r' {
						s.pending[n+i] = ' '
					}
				}
			}
			s.streamed += len(b)
			s.count()
			s.mu.Unlock()
			s.signal()
			return len(b), nil
		}
		room := s.full()
		s.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return 0, jsonrpc.ContextError(ctx)
		}
	}
}

// beyond reports whether n bytes are more than what may wait for one of all
// clients. What is left is shared out, so that those who came earlier and do not
// read do not leave nothing for the others.
func (s *session) beyond(n int) bool {
	return n >= freeOut && int64(n) >= (int64(s.h.o.MaxBuffered)-s.h.buffered.Load())/shareOut
}

// count counts what waits, and is being written, into what all hold. s.mu is
// held.
func (s *session) count() {
	n := cap(s.pending) + s.flight
	if n <= freeOut {
		n = 0
	}
	if n != s.held {
		s.h.buffered.Add(int64(n - s.held))
		s.held = n
	}
}

// full is the channel that is closed when there is room. s.mu is held.
func (s *session) full() chan struct{} {
	if s.room == nil {
		s.room, s.since = make(chan struct{}), time.Now()
	}
	return s.room
}

// Send puts a message on the stream. It waits for room as long as ctx.
func (s *session) Send(ctx context.Context, f jsonrpc.Frame) error { return s.send(ctx, f, nil) }

var errOver = errors.New("nobody waits for the answer any more")

// send is Send, where stop ends the wait for room like ctx.
func (s *session) send(ctx context.Context, f jsonrpc.Frame, stop <-chan struct{}) error {
	for {
		s.mu.Lock()
		room := s.turn // of an answer that is streamed
		switch {
		case s.ended || s.ending:
			s.mu.Unlock()
			return jsonrpc.ErrClosed
		case room != nil:
		case len(s.pending) == 0 || len(s.pending)+len(f.Data) <= s.h.o.MaxOutgoing && !s.beyond(len(s.pending)):
			s.pending, _ = sse.Append(s.pending, sse.Event{Type: sse.TypeMessage, Data: f.Data})
			s.count()
			s.mu.Unlock()
			s.signal()
			return nil
		default:
			room = s.full()
		}
		s.mu.Unlock()
		var cause error
		select {
		case <-room:
			continue
		case <-s.done:
			continue
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case <-stop:
			cause = errOver
		}
		return &jsonrpc.OverloadError{What: "outgoing bytes", Limit: s.h.o.MaxOutgoing, Cause: cause}
	}
}

// stuck reports whether the client does not take what waits for it.
func (s *session) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room != nil && time.Since(s.since) > stuckAfter
}

// cut ends the stream, whatever it waits for.
func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off = true; !s.ended {
		s.end(jsonrpc.ErrClosed)
		_ = s.rc.SetWriteDeadline(time.Now())
	}
}

// writeBy sets the time by which the next write has to be done.
func (s *session) writeBy(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.off {
		_ = s.rc.SetWriteDeadline(t)
	}
}

// Call sends a request of the server.
func (s *session) Call(ctx context.Context, f jsonrpc.Frame, w jsonrpc.Waiter) error {
	err := s.send(ctx, f, w.C()) // whose time may end before ctx
	if t, ok := w.(jsonrpc.Taken); ok && err == nil {
		t.Taken()
	}
	return err
}

func (s *session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// write writes what comes, until the client goes away or the session is ended.
func (s *session) write(ctx context.Context, w http.ResponseWriter) error {
	_ = s.rc.SetReadDeadline(time.Time{}) // a stream outlives the server's timeouts
	s.writeBy(time.Time{})
	var alive *time.Timer
	var tick <-chan time.Time
	if s.h.o.KeepAlive > 0 {
		alive = time.NewTimer(s.h.o.KeepAlive)
		defer alive.Stop()
		tick = alive.C
	}
	var spare []byte
	silent := false // for long enough to give a sign of life
	for {
		s.mu.Lock()
		b, ending := s.pending, s.ending
		streaming := s.turn != nil
		held := min(s.streamed, signs)
		if silent && held == len(b) {
			held = max(held-1, 0)
		}
		if len(b) > held || held == 0 {
			s.pending, spare = append(spare[:0], b[len(b)-held:]...), nil
			s.streamed = held
		}
		if b = b[:len(b)-held]; len(b) > 0 {
			s.flight = cap(b)
			if s.room != nil {
				close(s.room)
				s.room = nil
			}
		}
		s.mu.Unlock()
		if len(b) == 0 && silent && !streaming {
			b = append(sse.AppendComment(b, "keep-alive"), '\n')
		}
		if silent = false; len(b) > 0 {
			if s.h.o.WriteTimeout > 0 {
				s.writeBy(time.Now().Add(s.h.o.WriteTimeout))
			}
			_, err := w.Write(b)
			if err == nil {
				if err = s.rc.Flush(); errors.Is(err, http.ErrNotSupported) {
					err = nil
				}
			}
			s.mu.Lock()
			s.flight = 0
			s.count()
			s.mu.Unlock()
			if err != nil {
				return err
			}
			if alive != nil {
				alive.Reset(s.h.o.KeepAlive)
			}
			if cap(b) <= maxSpare {
				spare = b
			}
			continue // more may have come meanwhile
		}
		if ending {
			return nil
		}
		select {
		case <-s.wake:
		case <-tick:
			silent = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const maxSpare = 4 << 10 // of the buffer that a stream keeps between two messages

// over says that the stream has ended.
func (s *session) over(err error) {
	s.mu.Lock()
	s.ended, s.err, s.pending = true, err, nil
	s.count()
	if s.room != nil {
		close(s.room)
		s.room = nil
	}
	s.mu.Unlock()
	s.r.Closed(err)
	close(s.done)
}

// Close ends the stream when what is pending is written.
func (s *session) Close(ctx context.Context) error {
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	s.signal()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Done is closed when the stream has ended.
func (s *session) Done() <-chan struct{} { return s.done }

// Err says why.
func (s *session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
