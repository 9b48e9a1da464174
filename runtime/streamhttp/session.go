package streamhttp

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// serverSession is a session of a stateful revision: one connection, and its link,
// which is the stream of messages that belong to no request. An idle one is
// small: streams exist only once something was sent on them.
type serverSession struct {
	h         *Handler
	id        string
	principal string
	conn      *jsonrpc.Conn

	// Guarded by Handler.mu.
	known        bool          // a client has been told of it
	active       int           // HTTP requests in progress
	used         time.Duration // last, by Handler.now
	older, newer *serverSession

	mu       sync.Mutex
	standing *eventStream // stream 0
	streams  []*eventStream
	streamNo uint64
	ended    bool
	doneC    chan struct{} // made when somebody asks
}

// maxStreams bounds the streams of POSTs that a session remembers after they
// are over.
const maxStreams = 64

// newSession makes a session that nobody knows yet.
func (h *Handler) newSession(ctx context.Context) *serverSession {
	s := &serverSession{h: h, id: newSessionID(), principal: jsonrpc.Principal(ctx), active: 1}
	s.conn = h.root.Fork(s)
	return s
}

// rules are those of the revision that the session speaks.
func (s *serverSession) rules() *revision.Rules {
	if svc := s.conn.Service(); svc != nil {
		return svc.Rules()
	}
	rules, _ := revision.For(revision.LatestStateful())
	return rules
}

// admit lets clients use the session. Beyond the bound, the one that was idle
// for longest ends.
func (h *Handler) admit(s *serverSession) bool {
	h.mu.Lock()
	var gone *serverSession
	if h.o.MaxSessions > 0 && len(h.sessions) >= h.o.MaxSessions {
		for gone = h.oldest; gone != nil && gone.active > 0; gone = gone.newer {
		}
		if gone == nil {
			h.mu.Unlock()
			return false
		}
		h.forget(gone)
	}
	if h.draining.Load() {
		h.mu.Unlock()
		return false
	}
	s.known = true
	h.sessions[s.id] = s
	h.touch(s)
	h.arm()
	h.mu.Unlock()
	if gone != nil {
		gone.end()
	}
	return true
}

// touch marks a session as used now. h.mu is held.
func (h *Handler) touch(s *serverSession) {
	s.used = h.now()
	if h.newest == s {
		return
	}
	h.unlink(s)
	s.older = h.newest
	if h.newest != nil {
		h.newest.newer = s
	} else {
		h.oldest = s
	}
	h.newest = s
}

// unlink takes a session out of the order of use. h.mu is held.
func (h *Handler) unlink(s *serverSession) {
	if s.older != nil {
		s.older.newer = s.newer
	} else if h.oldest == s {
		h.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else if h.newest == s {
		h.newest = s.older
	}
	s.older, s.newer = nil, nil
}

// forget takes a session out of the table. h.mu is held.
func (h *Handler) forget(s *serverSession) {
	if h.sessions[s.id] == s {
		delete(h.sessions, s.id)
		h.unlink(s)
	}
}

// arm sees that idle sessions are looked for. h.mu is held.
func (h *Handler) arm() {
	if h.o.SessionTimeout <= 0 || h.oldest == nil || h.draining.Load() {
		return
	}
	wait := max(h.oldest.used+h.o.SessionTimeout-h.now(), h.o.SessionTimeout/100)
	if h.sweep == nil {
		h.sweep = time.AfterFunc(wait, h.endIdle)
		return
	}
	h.sweep.Reset(wait)
}

// endIdle ends the sessions that nobody used for too long.
func (h *Handler) endIdle() {
	h.mu.Lock()
	limit := h.now() - h.o.SessionTimeout
	var gone []*serverSession
	for s := h.oldest; s != nil && s.used <= limit; {
		next := s.newer
		if s.active > 0 {
			h.touch(s)
		} else {
			h.forget(s)
			gone = append(gone, s)
		}
		s = next
	}
	h.arm()
	h.mu.Unlock()
	for _, s := range gone {
		s.end()
	}
}

// enter finds a session for a request and keeps it from idling out until
// leave. A session of somebody else does not exist.
func (h *Handler) enter(ctx context.Context, id string) *serverSession {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.principal != jsonrpc.Principal(ctx) {
		return nil
	}
	s.active++ // until leave or release says when it was used last
	return s
}

func (h *Handler) leave(s *serverSession) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.active--
	if s.known && h.sessions[s.id] == s {
		h.touch(s)
	}
}

// end ends the session: its handlers are cancelled, its streams closed, its
// events forgotten.
func (s *serverSession) end() { _ = s.conn.Close(context.Background()) }

// Start is called by the connection.
func (s *serverSession) Start(jsonrpc.Receiver) error { return nil }

// Send sends a message that belongs to no request.
func (s *serverSession) Send(ctx context.Context, f jsonrpc.Frame) error {
	st := s.stand()
	if st == nil {
		return jsonrpc.ErrClosed
	}
	return st.put(ctx, part{data: f.Data})
}

// Call sends a request that belongs to none of the client's.
func (s *serverSession) Call(ctx context.Context, f jsonrpc.Frame, _ jsonrpc.Waiter) error {
	return s.Send(ctx, f)
}

// Carrier says what HTTP is like: a client's connection comes and goes.
func (s *serverSession) Carrier() jsonrpc.CarrierRules { return jsonrpc.CarrierRules{Outlives: true} }

// Close is called by the connection, once.
func (s *serverSession) Close(context.Context) error {
	s.h.mu.Lock()
	s.h.forget(s)
	s.h.mu.Unlock()
	s.mu.Lock()
	s.ended = true
	streams := s.streams
	if s.standing != nil {
		streams = append(streams, s.standing)
	}
	s.streams, s.standing = nil, nil
	if s.doneC != nil {
		close(s.doneC)
	}
	s.mu.Unlock()
	for _, st := range streams {
		st.end()
	}
	if len(streams) > 0 {
		if err := s.h.o.EventStore.Forget(context.Background(), s.id); err != nil {
			s.h.log.Warn("events could not be forgotten", "err", err)
		}
	}
	return nil
}

// Done is closed when the session has ended.
func (s *serverSession) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doneC == nil {
		s.doneC = make(chan struct{})
		if s.ended {
			close(s.doneC)
		}
	}
	return s.doneC
}

// Err is nil: a session ends in good order.
func (s *serverSession) Err() error { return nil }

// stand is the stream of messages that belong to no request, nil when the
// session has ended.
func (s *serverSession) stand() *eventStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standing == nil && !s.ended {
		s.standing = &eventStream{s: s}
	}
	return s.standing
}

// newStream makes the stream of a POST, nil when the session has ended.
func (s *serverSession) newStream() *eventStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	if len(s.streams) >= maxStreams {
		for i, st := range s.streams {
			if st.over() {
				s.streams = append(s.streams[:i], s.streams[i+1:]...)
				break
			}
		}
	}
	s.streamNo++
	st := &eventStream{s: s, n: s.streamNo}
	s.streams = append(s.streams, st)
	return st
}

func (st *eventStream) over() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.done
}

// stream finds a stream by its number.
func (s *serverSession) stream(n uint64) *eventStream {
	if n == 0 {
		return s.stand()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.n == n {
			return st
		}
	}
	return nil
}

// sessionOf finds the session that a request names, and holds what its
// revision asks of the headers. It answers the request itself, and returns
// nil, when there is none. p is nil for what is no POST.
func (h *Handler) sessionOf(w http.ResponseWriter, r *http.Request, p *post) *serverSession {
	name, err := oneValue(r.Header, HeaderSessionID)
	if err != nil {
		h.refuse(w, r, http.StatusBadRequest, p.id(), jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%w (initialize begins a session)", err))
		return nil
	}
	s := h.enter(r.Context(), name)
	if s == nil {
		h.refuse(w, r, http.StatusNotFound, p.id(), jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: no such session", HeaderSessionID))
		return nil
	}
	if versions := r.Header[HeaderProtocolVersion]; s.rules().HTTP.VersionHeader {
		why := ""
		switch {
		case len(versions) > 1: // another one on the way may have gone by another one of them
			why = "given more than once"
		case len(versions) == 1 && versions[0] != "" && h.legacy[versions[0]] == nil:
			why = "not supported here"
		}
		if why != "" {
			h.leave(s)
			h.refuse(w, r, http.StatusBadRequest, p.id(), jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: %s", HeaderProtocolVersion, why))
			return nil
		}
	}
	return s
}

// serveGet opens a stream of a session: the one of messages that belong to no
// request, or one that broke. Specification: basic/transports, listening for
// messages from the server.
func (h *Handler) serveGet(w http.ResponseWriter, r *http.Request) (o *outlet) {
	if h.statelessOnly(r) {
		h.notAllowed(w, r)
		return nil
	}
	want := accepts(r.Header)
	if !want.events && !want.lines {
		h.refuse(w, r, http.StatusNotAcceptable, jsonrpc.ID{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "Accept: want text/event-stream"))
		return nil
	}
	s := h.sessionOf(w, r, nil)
	if s == nil {
		return nil
	}
	defer func() {
		if o == nil {
			h.leave(s)
		}
	}()
	n, seq, resume := uint64(0), int64(-1), false
	if last := r.Header.Get(HeaderLastEventID); last != "" {
		if n, seq, resume = parseEventID(last); !resume {
			h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: no event of this session", HeaderLastEventID))
			return nil
		}
	}
	st := s.stream(n)
	if st == nil {
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: its stream is not kept any more", HeaderLastEventID))
		return nil
	}
	if resume && st.lost(r.Context(), seq) {
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: what followed is not kept any more", HeaderLastEventID))
		return nil
	}
	o = h.newOutlet(w, r, want.stream())
	o.mu.Lock()
	o.appendSign() // so that whatever is in between passes the headers on
	o.mu.Unlock()
	st.attach(r.Context(), o, seq)
	if !o.stay(r.Context(), func() {
		st.detach(o)
		h.leave(s)
		h.done()
	}) {
		st.detach(o)
		out := o
		o = nil // for who tells the end by it, should this be one
		out.close()
		out.abort()
		return nil
	}
	return o
}

// serveDelete ends a session, as its client asks.
func (h *Handler) serveDelete(w http.ResponseWriter, r *http.Request) {
	if h.statelessOnly(r) {
		h.notAllowed(w, r)
		return
	}
	s := h.sessionOf(w, r, nil)
	if s == nil {
		return
	}
	s.end()
	h.leave(s)
	w.WriteHeader(http.StatusNoContent)
}
