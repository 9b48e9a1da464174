package jsonrpc

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/goldwire/goldwire/runtime/revision"
)

// As is how the handler of one revision sees a client that speaks another. One
// value serves all requests; see [WithPeer].
type As struct {
	// Revision is the one that the handler is written for.
	Revision string
	// Client makes the client that the handler calls: a Client of the handler's
	// revision whose funcs ask the real one. ctx is the one that WithPeer was
	// given. It is called when the handler first wants it, at most once a
	// request; nil where no client can be called.
	Client func(ctx context.Context) Binder
}

// WithPeer returns the context for a handler that is written for another
// revision than the one that its client speaks: PeerOf finds the client as that
// handler's revision has it. Progress, log messages and changes of lists go to
// the client of ctx, calls and other notifications to as.Client. params are the
// params that the handler gets; they say what Peer.Metadata returns.
func WithPeer(ctx context.Context, as *As, params any) context.Context {
	return &seen{Context: ctx, as: as, params: params}
}

// seen is the context of a handler that sees its client as another revision has
// it.
type seen struct {
	context.Context // of the handler below
	as              *As
	params          any
	turn            *Turn // nil: the request is that of the context below
	once            sync.Once
	conn            *Conn
}

// Value finds the handler's peer, and the values of the context below.
func (s *seen) Value(key any) any {
	if _, ok := key.(inboundKey); ok {
		return s
	}
	return s.Context.Value(key)
}

// AfterFunc lets the standard contexts derive from this one without a goroutine
// each.
func (s *seen) AfterFunc(f func()) func() bool {
	if c, ok := s.Context.(interface{ AfterFunc(func()) func() bool }); ok {
		return c.AfterFunc(f)
	}
	return context.AfterFunc(s.Context, f)
}

// request is the request that is being handled, nil for none.
func (s *seen) request() *inbound {
	if s.turn != nil {
		return s.turn.in.Load()
	}
	return inboundOf(s.Context)
}

// client is the connection on which the handler calls its client.
func (s *seen) client() *Conn {
	s.once.Do(func() {
		if s.as.Client == nil {
			return
		}
		ch, err := Bind(s.as.Client(s.Context))
		if svc, ok := ch.(*Service); ok && err == nil {
			s.conn = localClient(s.as.Revision, svc)
		} else if in := s.request(); in != nil {
			in.c.ev.log.Error("the client cannot be shown to a handler of another revision", "revision", s.as.Revision, "err", err)
		}
	})
	return s.conn
}

// listens reports whether a change that the handler tells of goes to all that
// listen, as in its revision, and not to the one client.
func (s *seen) listens() bool {
	return revision.Like(s.as.Revision, s.as.Client == nil).Listen
}

// Turn is a handler call that goes on when the request that began it has been
// answered: another request takes its place. Which one it is at the moment
// decides where progress and log messages go.
type Turn struct {
	in     atomic.Pointer[inbound]
	cancel context.CancelCauseFunc
	conn   context.Context // of the connection, nil for none

	mu   sync.Mutex
	stop func() bool // of the watch on conn
}

// Lasting is [WithPeer] for a handler that may outlive the request of ctx. The
// context keeps the values of ctx and ends by Turn.Cancel, and with the
// connection while no request is being handled. The turn begins as that of ctx.
func Lasting(ctx context.Context, as *As, params any) (context.Context, *Turn) {
	t := new(Turn)
	lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t.cancel = cancel
	if in := inboundOf(ctx); in != nil {
		t.in.Store(in)
		t.conn = in.c.ctx
	}
	return &seen{Context: lasting, as: as, params: params, turn: t}, t
}

// Begin makes the request of ctx the one that is being handled.
func (t *Turn) Begin(ctx context.Context) {
	t.in.Store(inboundOf(ctx))
	t.unwatch()
}

// End says that no request is being handled until the next Begin: what is sent
// meanwhile fails with ErrNoPeer.
func (t *Turn) End() {
	t.in.Store(nil)
	if t.conn == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stop = context.AfterFunc(t.conn, func() { t.cancel(&ClosedError{}) })
}

// Cancel ends the handler's context for a reason. It has to be called in the
// end.
func (t *Turn) Cancel(cause error) {
	t.unwatch()
	t.cancel(cause)
}

func (t *Turn) unwatch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// turnOf is the turn of the handler that ctx belongs to, nil for none.
func turnOf(ctx context.Context) *Turn {
	for {
		s, ok := ctx.Value(inboundKey{}).(*seen)
		if !ok {
			return nil
		}
		if s.turn != nil {
			return s.turn
		}
		ctx = s.Context
	}
}

// relay passes on progress on a call that the handler made with the token of its
// request: to the one that is being handled now, if that wants to hear of it.
func (t *Turn) relay(p Progress) {
	if in := t.in.Load(); in != nil && !in.progressToken().IsZero() {
		in.relay(p)
	}
}
