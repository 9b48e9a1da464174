package jsonrpc

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// inbound is a request or notification of the peer that is being handled. It
// is the context of its handler: made once a message, without the allocations
// of the standard ones unless somebody waits for it to end.
type inbound struct {
	parent context.Context
	c      *Conn
	svc    *Service
	ex     Exchange // nil for a notification taken from the queue
	id     ID
	method string
	header map[string][]string
	data   []byte
	params any // decoded, or wire.Raw

	// sending is held while something is handed to the exchange, so that
	// nothing follows the answer and progress keeps its order. It comes
	// before mu.
	sending sync.Mutex

	mu       sync.Mutex
	done     chan struct{} // made when somebody asks
	err      error
	token    ID
	progress float64
	listen   *listenStream // set before it is known to others
	stream   *TextStream   // the answer, where it is one
	seldom   *seldom       // made by who needs it
	finished bool          // answered or given up: nothing more may be sent
	canceled bool          // by the peer: no answer
	tokenSet bool
	reported bool // progress
	inline   bool // a client answers it while it reads: it waits for nobody
}

// seldom is what few messages need. It is guarded by inbound.mu.
type seldom struct {
	carried Waiter // the call of ours on whose stream a relayed notification came
	cause   error  // why err
	after   []*afterFunc
	stop    func() bool // of the watch on the parent
	told    []*Error    // what the peer answered to calls that the handler made to it
	refused *Error      // why Subscribe did not keep a resource
}

// more makes what is needed seldom. in.mu is held.
func (in *inbound) more() *seldom {
	if in.seldom == nil {
		in.seldom = new(seldom)
	}
	return in.seldom
}

type afterFunc struct {
	f func()
}

type inboundKey struct{}

// inboundOf finds the message that a context belongs to, nil for none.
func inboundOf(ctx context.Context) *inbound {
	switch x := ctx.Value(inboundKey{}).(type) {
	case *inbound:
		return x
	case *seen:
		return x.request()
	}
	return nil
}

// Deadline is the parent's.
func (in *inbound) Deadline() (time.Time, bool) { return in.parent.Deadline() }

// Value finds the message itself, and the parent's values.
func (in *inbound) Value(key any) any {
	if _, ok := key.(inboundKey); ok {
		return in
	}
	if v := in.parent.Value(key); v != nil {
		return v
	}
	return in.c.base.Value(key)
}

// Err says why the handler should stop, nil while it should not.
func (in *inbound) Err() error {
	in.mu.Lock()
	err := in.err
	in.mu.Unlock()
	if err == nil {
		err = in.parent.Err()
	}
	return err
}

// Done is closed when the handler should stop.
func (in *inbound) Done() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.done == nil {
		in.done = make(chan struct{})
		if in.err != nil {
			close(in.done)
		}
		in.watchParent()
	}
	return in.done
}

// AfterFunc lets the standard contexts derive from this one without a
// goroutine each.
func (in *inbound) AfterFunc(f func()) func() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		go f()
		return func() bool { return false }
	}
	a := &afterFunc{f: f}
	m := in.more()
	m.after = append(m.after, a)
	in.watchParent()
	return func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		if i := slices.Index(m.after, a); i >= 0 {
			m.after = slices.Delete(m.after, i, i+1)
			return true
		}
		return false
	}
}

// watchParent passes the parent's end on, once somebody waits for ours.
func (in *inbound) watchParent() {
	if in.err == nil && in.parent.Done() != nil && in.more().stop == nil {
		in.seldom.stop = context.AfterFunc(in.parent, func() { in.end(in.parent.Err(), context.Cause(in.parent)) })
	}
}

// end ends the context. Later calls do nothing.
func (in *inbound) end(err, cause error) {
	in.mu.Lock()
	if in.err != nil {
		in.mu.Unlock()
		return
	}
	m := in.more()
	in.err, m.cause = err, cause
	if in.done != nil {
		close(in.done)
	}
	after, stop := m.after, m.stop
	m.after, m.stop = nil, nil
	in.mu.Unlock()
	if stop != nil {
		stop()
	}
	for _, a := range after {
		go a.f()
	}
}

// CanceledError is why a handler's context ended when the peer cancelled its
// request: Peer.Cause returns it.
type CanceledError struct {
	Reason string // the peer's words, may be empty
}

// Error says that the peer cancelled, and its reason.
func (e *CanceledError) Error() string {
	if e.Reason == "" {
		return "canceled by the peer"
	}
	return fmt.Sprintf("canceled by the peer: %s", e.Reason)
}

// Is reports whether target is context.Canceled.
func (e *CanceledError) Is(target error) bool { return target == context.Canceled }

// cancel is the peer's notifications/cancelled.
func (in *inbound) cancel(reason string) {
	in.mu.Lock()
	if in.finished {
		in.mu.Unlock()
		return
	}
	in.canceled = true
	in.mu.Unlock()
	in.end(context.Canceled, &CanceledError{Reason: reason})
}

// finish marks that the answer is due. It reports whether one may be sent.
// From here on nothing else is sent for the message.
func (in *inbound) finish() bool {
	in.sending.Lock()
	in.mu.Lock()
	may := !in.finished && !in.canceled
	in.finished = true
	in.mu.Unlock()
	in.sending.Unlock()
	return may
}

// tell remembers an error that the peer itself answered with.
func (in *inbound) tell(e *Error) {
	in.mu.Lock()
	m := in.more()
	m.told = append(m.told, e)
	in.mu.Unlock()
}

// refusal is why what the handler of a subscription did cannot be kept.
func (in *inbound) refusal() error {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.seldom == nil || in.seldom.refused == nil {
		return nil
	}
	return in.seldom.refused
}

// wasTold reports whether an error is the peer's own.
func (in *inbound) wasTold(e *Error) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.seldom != nil && slices.Contains(in.seldom.told, e)
}

// closed reports whether nothing more may be sent for the message.
func (in *inbound) closed() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.finished || in.canceled
}

// release ends the context after the answer, for whoever still holds it.
func (in *inbound) release() {
	in.mu.Lock()
	m := in.seldom
	idle := in.done == nil && (m == nil || m.after == nil && m.stop == nil)
	if idle && in.err == nil {
		in.err = context.Canceled
	}
	in.mu.Unlock()
	if !idle {
		in.end(context.Canceled, context.Canceled)
	}
}

// metadata reads what the _meta of the params said.
func (in *inbound) metadata() Metadata {
	if m, ok := in.params.(interface{ Metadata() Metadata }); ok {
		return m.Metadata()
	}
	if raw, ok := in.params.(wire.Raw); ok {
		return rawMetadata(raw)
	}
	return Metadata{}
}

// rawMetadata reads _meta from params that were not decoded.
func rawMetadata(params wire.Raw) (m Metadata) {
	meta := params.Get("_meta")
	if meta == nil {
		return m
	}
	if t := meta.Get("progressToken"); t != nil {
		m.ProgressToken, _ = idOf(t)
	}
	m.ProtocolVersion, _ = meta.Get(metaVersion).Str()
	m.LogLevel, _ = meta.Get(metaLogLevel).Str()
	if s := meta.Get(metaSubscriptionID); s != nil {
		m.SubscriptionID, _ = idOf(s)
	}
	if r := meta.Get(metaPrefix + "clientInfo"); r != nil {
		m.ClientInfo = rawAppender(r)
	}
	if r := meta.Get(metaCapabilities); r != nil {
		m.ClientCapabilities = rawAppender(r)
	}
	return m
}

// rawAppender makes a raw value an Appender; nil is an empty object.
type rawAppender wire.Raw

func (r rawAppender) AppendJSON(b []byte) []byte {
	if r == nil {
		return append(b, "{}"...)
	}
	return wire.AppendRaw(b, wire.Raw(r))
}

// requests is a set of requests that are being handled. Most connections have
// one at a time, and that needs no map.
type requests struct {
	one  *inbound
	more map[ID]*inbound
}

func (r *requests) empty() bool { return r.one == nil && r.more == nil }

func (r *requests) get(id ID) *inbound {
	if r.one != nil && r.one.id == id {
		return r.one
	}
	return r.more[id]
}

func (r *requests) add(in *inbound) {
	if r.one == nil {
		r.one = in
		return
	}
	if r.more == nil {
		r.more = make(map[ID]*inbound)
	}
	r.more[in.id] = in
}

func (r *requests) remove(in *inbound) {
	if r.one == in {
		r.one = nil
		return
	}
	if delete(r.more, in.id); len(r.more) == 0 {
		r.more = nil
	}
}

func (r *requests) all() iter.Seq[*inbound] {
	return func(yield func(*inbound) bool) {
		if r.one != nil && !yield(r.one) {
			return
		}
		for _, in := range r.more {
			if !yield(in) {
				return
			}
		}
	}
}
