package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// post is one POST that is being answered: the way back of its message, and
// the context of whoever handles it. The message is handled on the goroutine
// of the HTTP request, or, where a call may outlive that, on one of its own.
type post struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	ctx  context.Context // of r
	conn *jsonrpc.Conn
	s    *serverSession // nil in stateless revisions
	data []byte         // the message, until a stream stays open
	hd   *head          // of data, nil until somebody asks: see head
	held int            // bytes of Handler.buffered

	headers [2]string // of an answer that is one JSON text

	phase    atomic.Uint32 // how far it is, for whoever watches
	refused  uint16        // the status when its headers refuse it
	want     acceptance
	fresh    bool // it begins the session
	apart    bool // it is handled on a goroutine of its own
	listen   bool
	unheld   bool // no header has been held against the message, of a stateless revision
	valid    bool // a request which has come so far that it is registered
	complete bool // then: its _meta has all that it needs in a stateless revision
	patient  bool // it becomes a stream when it takes long
	late     bool // the time that the HTTP server gives the answer may be over

	live atomic.Pointer[jsonrpc.Conn] // conn, of a stateless request, for whoever ends it

	// Guarded by Handler.mu.
	prev, next *post
	began      time.Duration // reading, and then handling; by Handler.now

	mu     sync.Mutex
	done   bool // replied
	gone   bool // the HTTP request has ended without an answer
	out    *outlet
	stream *eventStream
	wake   chan struct{} // of the request's goroutine, which waits for out or done
}

// The phases of a post.
const (
	reading  uint32 = iota // its body
	handling               // for as long as it takes
	patient                // until it has taken so long that it becomes a stream
	tooLate                // its body is not waited for any longer
)

type postKey struct{}

// Deadline is none.
func (p *post) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done is closed when the client goes away, where that cancels its request
// (2026-07-28). Where it does not there is none; nor is there for a
// subscription, whose end wait sees to.
func (p *post) Done() <-chan struct{} {
	if p.s != nil || p.listen {
		return nil
	}
	return p.ctx.Done()
}

// Err says that the client has gone away, where that matters.
func (p *post) Err() error {
	if p.s != nil || p.listen {
		return nil
	}
	return p.ctx.Err()
}

// Value finds the HTTP request's values.
func (p *post) Value(key any) any {
	if _, ok := key.(postKey); ok {
		return p
	}
	return p.ctx.Value(key)
}

// servePost answers a POST: it reads the message, finds out which era it
// belongs to, and lets a connection handle it. It returns the response that
// stays open.
func (h *Handler) servePost(w http.ResponseWriter, r *http.Request) (o *outlet) {
	p := &post{h: h, w: w, r: r, ctx: r.Context()}
	h.enlist(p)
	defer func() {
		if o == nil {
			p.release()
		}
	}()
	data, ok := p.read()
	if !ok || !p.route(data) {
		return nil
	}
	p.handle(data)
	p.wait()
	switch o = p.out; {
	case o == nil:
		if p.listen { // see Done: it may have been nobody's before anything was sent
			_ = p.conn.Close(context.Background())
		}
		return nil
	case o.stay(p.ctx, p.finish):
		p.hd, p.data = nil, nil // they hold the message, and the stream may last
		return o
	}
	out := o
	o = nil // for who tells the end by it, should this be one
	out.close()
	p.settle()
	out.abort()
	return nil
}

// read reads the message. It answers the request itself, and returns false,
// when there is none.
func (p *post) read() ([]byte, bool) {
	if !isJSON(p.r.Header) {
		unread(p.w, p.r)
		p.h.refuse(p.w, p.r, http.StatusUnsupportedMediaType, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Content-Type: want application/json"))
		return nil, false
	}
	data, err := p.readBody()
	if err != nil {
		p.h.refuseBody(p.w, p.r, data, err)
		return nil, false
	}
	return data, true
}

// route finds the connection that a message belongs to. It answers the request
// itself, and returns false, when there is none.
func (p *post) route(data []byte) bool {
	p.want = accepts(p.r.Header)
	if p.data = data; p.h.plainlyLegacy(p.r.Header, data) {
		if p.s = p.h.sessionOf(p.w, p.r, p); p.s == nil {
			return false
		}
		p.conn = p.s.conn
		return true
	}
	if p.h.plainlyModern(p.r.Header, data) {
		p.conn, p.unheld = p.h.stateless.Fork(nil), true
		return true
	}
	switch hd := p.head(); {
	case !hd.valid && !hd.batch && len(p.r.Header[HeaderSessionID]) == 0:
		// What is wrong with it does not depend on the era.
		p.conn = p.h.refusing.Fork(nil)
	case p.h.isModern(p.r.Header, hd):
		if !p.routeModern() {
			return false
		}
		if p.conn = p.h.stateless; !hd.valid { // no header was held against it
			p.conn = p.h.refusing
		}
		p.conn = p.conn.Fork(nil)
	case !p.routeLegacy():
		return false
	}
	return true
}

// head is what the carrier has to know of the message.
func (p *post) head() *head {
	if p.hd == nil {
		p.hd = new(head)
		*p.hd = readHead(p.data)
	}
	return p.hd
}

// id is that of the message, for who refuses it; none for a nil p.
func (p *post) id() jsonrpc.ID {
	if p == nil {
		return jsonrpc.ID{}
	}
	return p.head().id
}

// plainlyLegacy reports whether a message belongs to a session whatever it is:
// then the connection is the only one that has to read it.
func (h *Handler) plainlyLegacy(hdr http.Header, data []byte) bool {
	if len(hdr[HeaderSessionID]) == 0 || len(h.legacy) == 0 || h.o.Polling || len(data) == 0 || data[0] != '{' {
		return false
	}
	if h.latest == nil {
		return true
	}
	if v := hdr[HeaderProtocolVersion]; len(v) > 0 && h.legacy[v[0]] == nil {
		return false
	}
	return !(&jsonrpc.Peek{Data: data}).MaySayItAll()
}

// plainlyModern reports the same of a message of a stateless revision. Its
// headers are held against it when the connection has read it.
func (h *Handler) plainlyModern(hdr http.Header, data []byte) bool {
	v := hdr[HeaderProtocolVersion]
	return len(v) == 1 && h.speaks(v[0]) && len(data) > 0 && data[0] == '{'
}

// release forgets the request.
func (p *post) release() {
	h, s := p.h, p.s
	h.mu.Lock()
	if p.next != nil {
		p.next.prev = p.prev
	}
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		h.posts = p.next
	}
	h.buffered.Add(-int64(p.held))
	unknown := false
	if s != nil {
		if s.active--; h.sessions[s.id] == s {
			h.touch(s)
		}
		unknown = p.fresh && !s.known
	}
	h.mu.Unlock()
	if unknown {
		s.end()
	}
}

// enlist lets somebody watch how long a request takes.
func (h *Handler) enlist(p *post) {
	h.mu.Lock()
	p.began = h.now()
	if p.next = h.posts; p.next != nil {
		p.next.prev = p
	}
	h.posts = p
	if every := h.watchEvery(); !h.watching && every > 0 {
		h.watching = true
		if h.watch == nil {
			h.watch = time.AfterFunc(every, h.look)
		} else {
			h.watch.Reset(every)
		}
	}
	h.mu.Unlock()
}

// watchEvery is how often the posts are looked at, 0 for never: so that
// nothing is late by more than a quarter of its time.
func (h *Handler) watchEvery() time.Duration {
	every := h.o.KeepAlive
	if every == 0 || h.o.BodyTimeout > 0 && h.o.BodyTimeout < every {
		every = h.o.BodyTimeout
	}
	return every / 4
}

// look looks for bodies that do not come and answers that take long. One timer
// for all costs a request less than one of its own.
func (h *Handler) look() {
	now := h.now()
	var late, slow []*post
	h.mu.Lock()
	for p := h.posts; p != nil; p = p.next {
		took := now - p.began
		switch p.phase.Load() {
		case reading:
			if h.o.BodyTimeout > 0 && took >= h.o.BodyTimeout && p.phase.CompareAndSwap(reading, tooLate) {
				late = append(late, p)
			}
		case patient:
			if took >= h.o.KeepAlive*3/4 && p.phase.CompareAndSwap(patient, handling) {
				slow = append(slow, p)
			}
		}
	}
	if h.watching = h.posts != nil; h.watching {
		h.watch.Reset(h.watchEvery())
	}
	for _, p := range late { // while the requests cannot end
		_ = http.NewResponseController(p.w).SetReadDeadline(time.Now())
	}
	h.mu.Unlock()
	for _, p := range slow {
		if !p.keepOpen() {
			p.phase.CompareAndSwap(handling, patient) // the next look finds it
		}
	}
}

// refuseBody answers a body that could not be read in full.
func (h *Handler) refuseBody(w http.ResponseWriter, r *http.Request, start []byte, err error) {
	w.Header()["Connection"] = []string{"close"}
	rc := http.NewResponseController(w)
	if h.o.WriteTimeout > 0 { // the HTTP server counts from the request's start
		_ = rc.SetWriteDeadline(time.Now().Add(h.o.WriteTimeout))
	} else {
		_ = rc.SetWriteDeadline(time.Time{})
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		unread(w, r)
	}
	var tooLong *http.MaxBytesError
	switch {
	case errors.Is(err, errBodyTooLong), errors.As(err, &tooLong):
		hd := readHead(start[:min(len(start), 4<<10)]) // its id may stand at the start
		h.refuse(w, r, http.StatusRequestEntityTooLarge, hd.id, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%w: the bound is %d bytes", jsonrpc.ErrTooLong, h.o.MaxMessage))
	case errors.Is(err, errNoMemory):
		h.refuse(w, r, http.StatusServiceUnavailable, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeOverloaded, "%w", err))
	case errors.Is(err, os.ErrDeadlineExceeded) && h.draining.Load():
		h.refuse(w, r, http.StatusServiceUnavailable, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeShuttingDown, "shutting down"))
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.refuse(w, r, http.StatusRequestTimeout, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "the body did not come in time"))
	default:
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeParseError, "the body could not be read"))
	}
}

// isModern decides the era of a POST: a message that states a version or
// capabilities of its own belongs to a stateless revision, and so does a
// header that names one. What is left belongs to a session, unless there are
// none here, or the header names no revision at all and no session is named.
func (h *Handler) isModern(hdr http.Header, hd *head) bool {
	version := first(hdr[HeaderProtocolVersion])
	switch {
	case h.latest == nil:
		return false
	case len(h.legacy) == 0 || hd.stated || h.isStateless(version):
		return true
	case hd.method == methodInitialize || len(hdr[HeaderSessionID]) > 0 || version == "":
		return false
	}
	return h.legacy[version] == nil
}

// routeModern holds a message of a stateless revision against what that
// asks of it over HTTP.
func (p *post) routeModern() bool {
	hd := p.head()
	var e *jsonrpc.Error
	switch {
	case hd.batch:
		e = jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "one message at a time: there are no batches")
	case hd.valid && hd.answer:
		e = errNothingAsked()
	case hd.request():
		e = p.h.checkHeaders(p.ctx, p.r.Header, hd)
	}
	if e != nil {
		id := hd.id
		if hd.answer {
			id = jsonrpc.ID{}
		}
		p.h.refuse(p.w, p.r, refusalStatus(e), id, e)
		return false
	}
	p.listen = hd.method == methodListen
	return true
}

func errNothingAsked() *jsonrpc.Error {
	return jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "an answer to nothing that was asked")
}

// refusalStatus is that of a request which checkHeaders refuses.
func refusalStatus(e *jsonrpc.Error) int {
	if e.Code == jsonrpc.CodeInternalError || e.Code > -32000 { // the server cannot say; it may do better soon
		return http.StatusServiceUnavailable
	}
	return http.StatusBadRequest
}

// routeLegacy finds the session of a message, or makes the one that it begins.
func (p *post) routeLegacy() bool {
	h, hd := p.h, p.head()
	if len(p.r.Header[HeaderSessionID]) == 0 {
		version := first(p.r.Header[HeaderProtocolVersion])
		switch {
		case len(h.legacy) > 0 && hd.request() && hd.method == methodInitialize:
			p.s, p.fresh = h.newSession(p.ctx), true
			p.conn = p.s.conn
			return true
		case version != "" && h.legacy[version] == nil:
			h.refuse(p.w, p.r, http.StatusBadRequest, hd.id, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: not supported here, but %s", HeaderProtocolVersion, strings.Join(h.versions(), ", ")))
			return false
		}
	}
	if p.s = h.sessionOf(p.w, p.r, p); p.s == nil {
		return false
	}
	p.conn = p.s.conn
	p.apart = h.o.Polling && hd.request() && p.s.rules().HTTP.Priming && p.want.events && !p.want.lines
	return true
}

// handle lets the connection handle the message.
func (p *post) handle(data []byte) {
	f := jsonrpc.Frame{Data: data, Owned: true, Header: p.r.Header}
	if p.hd != nil && p.hd.batch || p.apart && p.h.o.KeepAlive <= 0 || p.h.now()-p.began > slowBody {
		p.mayBeLate()
	}
	// The wait for the body may have been bounded just as its end came.
	if before := p.phase.Swap(handling); before == tooLate || p.h.draining.Load() {
		p.h.mu.Lock()
		_ = http.NewResponseController(p.w).SetReadDeadline(time.Time{})
		p.h.mu.Unlock()
	}
	if p.s == nil {
		if p.live.Store(p.conn); p.h.closed.Load() {
			_ = p.conn.Close(p.ctx)
		}
	}
	if p.apart {
		go p.conn.Receive(p, p, f)
		return
	}
	p.conn.Receive(p, p, f)
	if p.s == nil && p.h.draining.Load() { // Shutdown may have looked before conn was live
		_ = p.conn.Drain(p.ctx)
	}
}

// mayBeLate: body and handler may take longer than the HTTP server gives an
// answer.
func (p *post) mayBeLate() {
	p.late = true
	_ = http.NewResponseController(p.w).SetWriteDeadline(time.Time{})
}

// Expect is called by the connection before the request is handled: its headers
// are held against it, and then the answer may take its time.
func (p *post) Expect(method string, params any) *jsonrpc.Error {
	p.valid = true
	if p.unheld {
		p.unheld, p.listen = false, method == methodListen
		var hd head
		if x, ok := params.(interface{ Metadata() jsonrpc.Metadata }); ok {
			hd = head{valid: true, method: method, stated: true, complete: true, version: x.Metadata().ProtocolVersion, message: p.data}
		} else {
			hd = readHead(p.data)
		}
		p.complete = hd.complete
		if e := p.h.checkHeaders(p.ctx, p.r.Header, &hd); e != nil {
			p.refused = uint16(refusalStatus(e))
			p.h.log.Debug("request refused", "method", p.r.Method, "status", p.refused, "reason", e.Message)
			return e
		}
	}
	p.patient = p.h.o.KeepAlive > 0 && !p.fresh && (p.want.events || p.want.lines)
	if p.patient {
		p.phase.CompareAndSwap(handling, patient)
	} else if !p.late && !p.apart { // there may be no response any more
		p.mayBeLate()
	}
	return nil
}

// wait returns when the message is answered, a stream is open, or the client
// has gone away.
func (p *post) wait() {
	p.mu.Lock()
	if p.out == nil && !p.done {
		p.wake = make(chan struct{}, 1)
		p.mu.Unlock()
		select {
		case <-p.wake:
		case <-p.ctx.Done():
		}
		p.mu.Lock()
		p.gone = p.out == nil && !p.done
	}
	p.mu.Unlock()
}

// finish is called when a response that stayed open is over.
func (p *post) finish() {
	p.settle()
	p.release()
	p.h.done()
}

// settle is called when a response that is a stream is over.
func (p *post) settle() {
	if p.stream != nil {
		p.stream.detach(p.out)
	}
	if p.listen { // see Done
		_ = p.conn.Close(context.Background())
	}
}

// keepOpen turns an answer that takes long into a stream. It is false when
// somebody is busy with the post: who answers it may have to wait for a client that
// does not read, which is no affair of the others.
func (p *post) keepOpen() bool {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	if p.done || p.gone || p.out != nil || p.stream != nil || p.open() != nil {
		return true
	}
	out := p.out
	out.mu.Lock()
	out.appendSign()
	out.mu.Unlock()
	_ = out.flush(false)
	return true
}

var errNoStream = errors.New("the client accepts no stream")

// open begins a streaming response. p.mu is held. Where the client has gone
// away but may come back, the stream has no response.
func (p *post) open() error {
	switch {
	case p.fresh || !p.want.events && !p.want.lines && !p.listen:
		return errNoStream
	case p.gone && (p.s == nil || p.want.lines):
		return errGone
	case p.s == nil || p.want.lines: // lines have no ids to come back with
		p.out = p.h.newOutlet(p.w, p.r, p.want.stream())
		p.wakeUp()
		return nil
	}
	if p.stream = p.s.newStream(); p.stream == nil {
		return jsonrpc.ErrClosed
	}
	if !p.gone {
		p.out = p.h.newOutlet(p.w, p.r, formEvents)
	}
	st := p.stream
	st.mu.Lock()
	if st.done { // the session ended meanwhile, and the stream with it
		if p.out != nil {
			p.out.finish()
		}
	} else {
		if p.out != nil {
			st.outs = append(st.outs, p.out)
		}
		if p.s.rules().HTTP.Priming {
			st.send(p.ctx, part{prime: true})
		}
	}
	st.mu.Unlock()
	if p.out != nil && p.apart && p.h.o.StreamTime > 0 {
		time.AfterFunc(p.h.o.StreamTime, func() { st.pause(p.h.o.RetryTime) })
	}
	p.wakeUp()
	return nil
}

// wakeUp tells the request's goroutine that there is something to do.
func (p *post) wakeUp() {
	if p.wake != nil {
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

// Notify sends what precedes the answer: the response becomes a stream.
func (p *post) Notify(ctx context.Context, f jsonrpc.Frame) error {
	p.mu.Lock()
	if p.done {
		p.mu.Unlock()
		return errStreamOver
	}
	if p.out == nil && p.stream == nil {
		if err := p.open(); err != nil {
			p.mu.Unlock()
			if err == errNoStream {
				if hd := readHead(f.Data); !hd.request() {
					return nil // nobody would miss it
				}
			}
			return err
		}
	}
	out, st := p.out, p.stream
	p.mu.Unlock()
	if st != nil {
		return st.put(ctx, part{data: f.Data})
	}
	return out.put(ctx, part{data: f.Data})
}

// Reply sends the answer: as the last message of the stream where there is
// one, else as the body.
func (p *post) Reply(ctx context.Context, f jsonrpc.Frame) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return errStreamOver
	}
	p.done = true
	defer p.wakeUp()
	if p.out == nil && p.stream == nil {
		if p.gone {
			return errGone
		}
		status := p.status(f)
		if p.want.json || status != http.StatusOK || p.open() != nil {
			p.answer(status, f)
			return nil
		}
	}
	last := part{data: f.Data, last: true}
	if p.stream != nil {
		return p.stream.put(ctx, last)
	}
	return p.out.put(ctx, last)
}

// Detach has nothing to do: the goroutine belongs to this request alone.
func (p *post) Detach() {}

// answer writes a body that is one JSON text, or none. p.mu is held.
func (p *post) answer(status int, f jsonrpc.Frame) {
	if len(f.Data) == 0 {
		if p.unheld && p.head().valid && p.head().answer {
			p.h.refuse(p.w, p.r, http.StatusBadRequest, jsonrpc.ID{}, errNothingAsked())
			return
		}
		p.w.WriteHeader(status)
		return
	}
	if p.fresh && f.Code == 0 {
		if !p.h.admit(p.s) {
			p.h.refuse(p.w, p.r, http.StatusServiceUnavailable, p.id(), &jsonrpc.Error{Code: jsonrpc.CodeOverloaded, Message: "too many sessions"})
			return
		}
		p.w.Header()[HeaderSessionID] = []string{p.s.id}
	}
	if len(f.Data) < largeAnswer && !p.late || p.h.o.WriteTimeout <= 0 {
		p.writeJSON(status, f.Data)
		return
	}
	rc := http.NewResponseController(p.w)
	_ = rc.SetWriteDeadline(time.Now().Add(writeTime(p.h.o.WriteTimeout, len(f.Data))))
	p.writeJSON(status, f.Data)
	_ = rc.Flush()
	_ = rc.SetWriteDeadline(time.Time{})
}

// writeJSON writes an answer. A large one is counted for as long as that takes.
func (p *post) writeJSON(status int, data []byte) {
	if len(data) > firstRead {
		p.h.buffered.Add(int64(len(data)))
		defer p.h.buffered.Add(-int64(len(data)))
	}
	writeJSON(p.w, &p.headers, status, data)
}

// slowBody is how long a body may take without the answer being given a time of
// its own.
const slowBody = 5 * time.Second

// largeAnswer is more than a socket takes at once.
const largeAnswer = 32 << 10

// status is the HTTP status of an answer.
func (p *post) status(f jsonrpc.Frame) int {
	if len(f.Data) == 0 {
		if p.valid || p.head().valid || p.head().batch {
			return http.StatusAccepted
		}
		return http.StatusBadRequest // nothing that could be answered
	}
	if p.refused != 0 {
		return int(p.refused)
	}
	switch f.Code {
	case 0:
		return http.StatusOK
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest:
		return http.StatusBadRequest
	case jsonrpc.CodeOverloaded, jsonrpc.CodeShuttingDown:
		return http.StatusServiceUnavailable
	}
	if p.s != nil || p.h.latest == nil {
		return http.StatusOK
	}
	switch f.Code {
	case jsonrpc.CodeMethodNotFound:
		return p.h.stated(p.r.Header).svc.Rules().HTTP.UnknownMethodStatus
	case jsonrpc.CodeHeaderMismatch, jsonrpc.CodeMissingClientCapability, jsonrpc.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	case jsonrpc.CodeInvalidParams:
		if !p.complete && !p.head().complete {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// Errors of CloseStream.
var (
	ErrNotHTTP    = errors.New("the context does not come from a handler of a request over HTTP")
	ErrNotPolling = errors.New("the client cannot poll for the answer, or HandlerOptions.Polling is off")
)

// CloseStream ends the HTTP response to the request whose handler ctx belongs
// to, while the handler goes on. The client comes back for the rest after
// retry; 0 means HandlerOptions.RetryTime. It is for handlers that take long,
// in revisions that have polling (2025-11-25: basic/transports, sending
// messages to the server); elsewhere it is ErrNotPolling, and nothing changes.
func CloseStream(ctx context.Context, retry time.Duration) error {
	p, ok := ctx.Value(postKey{}).(*post)
	if !ok {
		return ErrNotHTTP
	}
	if !p.apart {
		return ErrNotPolling
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return errStreamOver
	}
	if p.stream == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	if retry <= 0 {
		retry = p.h.o.RetryTime
	}
	p.stream.pause(retry)
	return nil
}
