package jsonrpc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// topic is something that a client can listen for.
type topic uint8

const (
	topicTools topic = iota
	topicPrompts
	topicResources
	topicUpdated
	topics
)

var topicMethods = [topics]string{
	"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
}

// The members of params.notifications of subscriptions/listen.
var topicMembers = [topics]string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"}

func topicOf(method string) (topic, bool) {
	for t, m := range topicMethods {
		if m == method {
			return topic(t), true
		}
	}
	return 0, false
}

// watches reports whether a set of resources holds uri or one above it.
func watches(set map[string]struct{}, uri string) bool {
	if _, ok := set[uri]; ok {
		return true
	}
	for w := range set {
		if rest, ok := strings.CutPrefix(uri, w); ok && (strings.HasSuffix(w, "/") || strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	return false
}

// Hub spreads change notifications to all connections that want them: plain
// ones in stateful revisions (resources/updated only to those that
// subscribed), on the subscriptions/listen streams that asked for them in
// stateless ones. The zero value is ready; one hub may serve several services.
// Nothing waits for a slow peer: what its carrier cannot take is dropped and
// counted on its connection.
type Hub struct {
	mu      sync.Mutex
	conns   map[*Conn]struct{}
	listens map[*listenStream]struct{}
}

// ToolsListChanged says that the list of tools changed.
func (h *Hub) ToolsListChanged(ctx context.Context) { h.publish(ctx, topicTools, "") }

// PromptsListChanged says that the list of prompts changed.
func (h *Hub) PromptsListChanged(ctx context.Context) { h.publish(ctx, topicPrompts, "") }

// ResourcesListChanged says that the list of resources changed.
func (h *Hub) ResourcesListChanged(ctx context.Context) { h.publish(ctx, topicResources, "") }

// ResourceUpdated says that a resource changed.
func (h *Hub) ResourceUpdated(ctx context.Context, uri string) { h.publish(ctx, topicUpdated, uri) }

// Log sends notifications/message to the connections of stateful revisions whose
// clients want messages of that level. In stateless ones messages belong to a
// request: see Peer.Log. params are those of the notification.
func (h *Hub) Log(ctx context.Context, params wire.Appender) { h.message(ctx, params) }

// message reports whether there is anybody to send it to.
func (h *Hub) message(_ context.Context, params wire.Appender) bool {
	h.mu.Lock()
	conns := make([]*Conn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	h.mu.Unlock()
	for _, c := range conns {
		if err := c.notify(endedContext, nil, methodMessage, params); err != nil {
			c.ev.note(Event{Kind: DroppedAnswer, Method: methodMessage, Err: err}, nil)
		}
	}
	return len(conns) > 0
}

// publish reports whether there is anybody who could want to know.
func (h *Hub) publish(_ context.Context, t topic, uri string) bool {
	h.mu.Lock()
	conns := make([]*Conn, 0, len(h.conns))
	for c := range h.conns {
		conns = append(conns, c)
	}
	listens := make([]*listenStream, 0, len(h.listens))
	for l := range h.listens {
		listens = append(listens, l)
	}
	h.mu.Unlock()
	for _, c := range conns {
		_ = c.changed(endedContext, t, uri)
	}
	for _, l := range listens {
		l.publish(t, uri)
	}
	return len(conns)+len(listens) > 0
}

func (h *Hub) add(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conns == nil {
		h.conns = make(map[*Conn]struct{})
	}
	h.conns[c] = struct{}{}
	if c.State() == Closed { // it closed meanwhile, and has left already
		delete(h.conns, c)
	}
}

func (h *Hub) remove(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}

func (h *Hub) addListen(l *listenStream, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !on {
		delete(h.listens, l)
		return
	}
	if h.listens == nil {
		h.listens = make(map[*listenStream]struct{})
	}
	h.listens[l] = struct{}{}
}

// changed sends a change notification of a stateful revision.
func (c *Conn) changed(ctx context.Context, t topic, uri string) error {
	if t == topicUpdated && !c.Subscribed(uri) {
		return nil
	}
	err := c.notify(ctx, nil, topicMethods[t], changeParams{uri: uri})
	if err != nil {
		c.ev.note(Event{Kind: DroppedAnswer, Method: topicMethods[t], Err: err}, nil)
	}
	return err
}

// changeParams are the params of a change notification.
type changeParams struct {
	uri string
	sub ID
}

func (p changeParams) AppendJSON(b []byte) []byte {
	b = append(b, '{')
	if p.uri != "" {
		b = append(b, `"uri":`...)
		b = wire.AppendString(b, p.uri)
	}
	if !p.sub.IsZero() {
		if p.uri != "" {
			b = append(b, ',')
		}
		b = appendSubscription(b, p.sub)
	}
	return append(b, '}')
}

// appendSubscription appends a _meta member that names a subscription.
func appendSubscription(b []byte, id ID) []byte {
	b = append(b, `"_meta":{"`+metaSubscriptionID+`":`...)
	b = id.AppendJSON(b)
	return append(b, '}')
}

// listenStream is one subscriptions/listen of the peer. It is made with the
// request, and once it is acknowledged it needs no goroutine: it is there until
// it is ended. Nothing waits while mu is held. Specification:
// basic/patterns/subscriptions (2026-07-28).
type listenStream struct {
	in    *inbound
	wants [topics]bool
	uris  map[string]struct{}
	asked []string // the resources, in order

	mu     sync.Mutex
	state  listenState
	ends   listenEnd // asked for while it was pending
	missed []change  // what changed while it was pending
	stop   func() bool
	watch  func() // ends what Service.Watch began, nil for nothing
}

// listenState is how far a subscription has come.
type listenState uint8

const (
	listenPending listenState = iota // not acknowledged yet; only start may use its exchange
	listenOpen
	listenOver
)

// listenEnd is how a subscription is to end.
type listenEnd uint8

const (
	endNot    listenEnd = iota
	endResult           // with its result: the server wants it to end
	endQuiet            // with nothing: the client does, or the connection is gone
)

type change struct {
	t   topic
	uri string
}

const (
	maxListenURIs  = 10_000  // resources of one subscription; see ListenOptions
	maxListenBytes = 1 << 20 // of their URIs
	maxMissed      = 256     // changes that wait for an acknowledgement to be taken
)

// prepareListen reads the params of subscriptions/listen and keeps what this
// server honours.
func (c *Conn) prepareListen(in *inbound, params wire.Raw) *Error {
	svc := in.svc
	n := params.Get("notifications")
	if n.Kind() != wire.KindObject {
		return Errorf(CodeInvalidParams, "%s: params.notifications: want an object", methodListen)
	}
	o := &svc.o.Listen
	offered := [topics]bool{o.ToolsListChanged, o.PromptsListChanged, o.ResourcesListChanged, o.ResourceUpdates}
	l := in.listen
	for t := range topicUpdated {
		switch v := n.Get(topicMembers[t]); v.Kind() {
		case wire.KindNone:
		case wire.KindBool:
			on, _ := v.Bool()
			l.wants[t] = on && offered[t]
		default:
			return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want a boolean", methodListen, topicMembers[t])
		}
	}
	switch v := n.Get(topicMembers[topicUpdated]); v.Kind() {
	case wire.KindNone:
	case wire.KindArray:
		count, size := 0, 0
		for u := range v.Elems() {
			if count++; count > maxListenURIs {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: more than %d", methodListen, topicMembers[topicUpdated], maxListenURIs)
			}
			uri, ok := u.Str()
			if !ok {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want strings", methodListen, topicMembers[topicUpdated])
			}
			if !offered[topicUpdated] || o.AllowURI != nil && !o.AllowURI(in, uri) {
				continue
			}
			if _, twice := l.uris[uri]; twice {
				continue
			}
			if size += len(uri); size > maxListenBytes {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: more than %d bytes of URIs", methodListen, topicMembers[topicUpdated], maxListenBytes)
			}
			uri = strings.Clone(uri) // it may be part of something longer
			if l.uris == nil {
				l.uris = make(map[string]struct{})
			}
			l.uris[uri] = struct{}{}
			l.asked = append(l.asked, uri)
		}
		l.wants[topicUpdated] = len(l.uris) > 0
	default:
		return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want an array", methodListen, topicMembers[topicUpdated])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.o.MaxInFlight
	if limit <= 0 {
		limit = defaultInFlight
	}
	if c.streams >= limit {
		return &Error{Code: CodeOverloaded, Message: "too many subscriptions", Data: overloadData}
	}
	c.streams++
	in.data, in.params, in.header = nil, nil, nil // all that is needed of them is in l, which may last
	return nil
}

// start acknowledges the subscription, as its first frame, and keeps it. One
// that nothing can come of ends at once. Until then it counts as a request that
// is handled.
func (l *listenStream) start() {
	in, c := l.in, l.in.c
	in.ex.Detach()
	if w := in.svc.watch; w != nil && l.wants[topicUpdated] {
		l.asked, l.watch = w(in, l.asked)
		clear(l.uris)
		for _, u := range l.asked {
			l.uris[u] = struct{}{}
		}
		l.wants[topicUpdated] = len(l.asked) > 0
	}
	in.svc.hub.addListen(l, true)
	defer c.handled() // an open subscription keeps no drain waiting
	var err error
	if !l.abandoned() {
		// The wait for room ends with the request: when it is cancelled, when
		// the connection closes, and by the carrier's own bound.
		err = c.sendFrame(in, in.ex, appendNotification(nil, methodAcknowledged, l))
	}
	l.mu.Lock()
	how := l.ends
	if how == endNot && err == nil {
		if l.wants != [topics]bool{} && c.State() < Draining {
			l.state = listenOpen
			for _, m := range l.missed {
				l.send(m)
			}
			l.missed = nil
			if in.parent.Done() != nil {
				l.stop = context.AfterFunc(in.parent, func() { l.end(endedContext, endQuiet) })
			}
			l.mu.Unlock()
			return
		}
		how = endResult
	}
	l.state = listenOver
	l.mu.Unlock()
	switch {
	case err == nil:
		l.finish(c.ctx, how, nil)
	case how == endQuiet || in.Err() != nil:
		l.finish(c.ctx, endQuiet, nil)
	default:
		// The peer did not take the acknowledgement in time. It is told if
		// that can be done at once; if not, the carrier knows what to do with
		// a peer that does not take answers.
		l.finish(endedContext, endResult, &Error{Code: CodeOverloaded, Message: "the acknowledgement could not be sent", Data: overloadData, Cause: err})
	}
}

// abandoned reports whether the subscription ended before it began.
func (l *listenStream) abandoned() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends == endQuiet
}

// AppendJSON appends the params of the acknowledgement.
func (l *listenStream) AppendJSON(b []byte) []byte {
	b = append(b, `{"notifications":{`...)
	n := len(b)
	for t, on := range l.wants {
		if !on {
			continue
		}
		if len(b) > n {
			b = append(b, ',')
		}
		b = wire.AppendString(b, topicMembers[t])
		b = append(b, ':')
		if topic(t) != topicUpdated {
			b = append(b, "true"...)
			continue
		}
		for i, u := range l.asked {
			b = append(b, "[,"[min(i, 1)])
			b = wire.AppendString(b, u)
		}
		b = append(b, ']')
	}
	b = append(b, `},`...)
	b = appendSubscription(b, l.in.id)
	return append(b, '}')
}

func (l *listenStream) publish(t topic, uri string) {
	if !l.wants[t] || t == topicUpdated && !watches(l.uris, uri) {
		return
	}
	m := change{t, uri}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state == listenOpen:
		l.send(m)
	case l.state == listenOver || slices.Contains(l.missed, m):
	case len(l.missed) < maxMissed:
		l.missed = append(l.missed, m)
	default:
		l.in.c.ev.note(Event{Kind: DroppedAnswer, Method: topicMethods[t], ID: l.in.id, Err: errMissed}, nil)
	}
}

var errMissed = errors.New("the subscription is not acknowledged yet")

// send tells of a change, unless that has to wait. l.mu is held, so that
// nothing follows the end.
func (l *listenStream) send(m change) {
	c := l.in.c
	if err := c.sendFrame(endedContext, l.in.ex, appendNotification(nil, topicMethods[m.t], changeParams{uri: m.uri, sub: l.in.id})); err != nil {
		c.ev.note(Event{Kind: DroppedAnswer, Method: topicMethods[m.t], ID: l.in.id, Err: err}, nil)
	}
}

// end ends the subscription. A result may have to wait for room, as long as
// ctx.
func (l *listenStream) end(ctx context.Context, how listenEnd) {
	l.mu.Lock()
	switch l.state {
	case listenOver:
		l.mu.Unlock()
		return
	case listenPending: // start sees to it
		l.ends = max(l.ends, how)
		l.mu.Unlock()
		return
	}
	l.state = listenOver
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	l.finish(ctx, how, nil)
}

// finish answers the request and forgets it: with e, or as how says.
func (l *listenStream) finish(ctx context.Context, how listenEnd, e *Error) {
	in, c := l.in, l.in.c
	in.svc.hub.addListen(l, false)
	if l.watch != nil {
		l.watch()
	}
	c.mu.Lock()
	c.inflight.remove(in.id)
	c.streams--
	c.mu.Unlock()
	f := Frame{}
	if in.finish() && how != endQuiet {
		if e != nil {
			f.Data, f.Code = appendError(nil, in.id, false, e), e.Code
		} else {
			f.Data = l.result()
		}
		c.sent.Add(1)
	}
	if err := in.ex.Reply(ctx, f); err != nil && f.Data != nil {
		c.ev.note(Event{Kind: DroppedAnswer, Method: methodListen, ID: in.id, Err: err}, nil)
	}
	in.release()
}

// result is the answer that ends a subscription in good order.
func (l *listenStream) result() []byte {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":`...)
	b = l.in.id.AppendJSON(b)
	b = append(b, `,"result":`...)
	n := len(b)
	b = append(b, `{"resultType":"complete",`...)
	b = append(appendSubscription(b, l.in.id), '}')
	if l.in.svc.info != nil {
		b = addMeta(b, n, metaServerInfo, l.in.svc.info, false)
	}
	return append(b, '}')
}

// Subscription is an open subscriptions/listen of ours.
type Subscription struct {
	c      *Conn  // nil where there is no listen request
	w      *call  // nil where there is no listen request
	id     ID     // of the request
	end    func() // tells who feeds it, where there is no listen request
	f      func(method string, params wire.Raw)
	ack    chan struct{}
	cancel context.CancelFunc // of the sending
	closed atomic.Bool        // by Close
	told   atomic.Bool        // the server, that it was closed

	mu      sync.Mutex
	honours wire.Raw
	acked   bool
	done    chan struct{}
	ended   bool
	err     error
}

// Listen opens a subscriptions/listen stream (2026-07-28) and returns when the
// server has acknowledged it, or failed to within ctx and the request timeout.
// f gets each notification of the stream, in order, on the goroutine that
// handles notifications; it may be nil, as the service's own handlers get them
// too. The subscription outlives ctx, but not the connection. Specification:
// basic/patterns/subscriptions.
func Listen[P any, PP Params[P]](ctx context.Context, c *Conn, params PP, f func(method string, params wire.Raw)) (*Subscription, error) {
	if c == nil {
		return nil, ErrNoPeer
	}
	if c.local != nil {
		if c.local.Listen == nil {
			return nil, methodNotFound(methodListen)
		}
		return c.local.Listen(ctx, params)
	}
	o := *callOptions(ctx)
	timeout := pick(o.Timeout, c.o.Timeout, defaultTimeout)
	o.Timeout, o.MaxTimeout, o.Progress = new(time.Duration), new(time.Duration), nil
	ctx = WithCallOptions(ctx, o)
	wait, late := ctx, &TimeoutError{Method: methodListen, After: timeout}
	if timeout > 0 {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeoutCause(ctx, timeout, late)
		defer cancel()
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Subscription{c: c, f: f, ack: make(chan struct{}), done: make(chan struct{}), cancel: cancel}
	w, err := c.beginFor(wait, methodListen, nil, s)
	if err != nil {
		cancel()
		return nil, err
	}
	late.ID = NewID(w.id)
	var p wire.Appender
	if a := withMetadata(c, w, params); a != nil { // written now: the caller may change it once we have returned
		p = rawAppender(a.AppendJSON(nil))
	}
	// The call outlives ctx, so it is sent and waited for apart.
	go func() {
		defer cancel()
		err := c.sendCall(sending, w, p)
		if err == nil {
			s.tell()
			err = c.wait(sending, w)
		}
		s.finish(err)
	}()
	select {
	case <-s.ack:
		return s, nil
	case <-s.done:
		select {
		case <-s.ack: // acknowledged and ended at once
			return s, nil
		default:
		}
		if err := s.Err(); err != nil {
			return nil, err
		}
		return nil, &CallError{Method: methodListen, ID: NewID(w.id), Stage: StageReceive, Err: errNoAck}
	case <-wait.Done():
		s.Close()
		return nil, ContextError(wait)
	}
}

var errNoAck = NewError(CodeInternalError, "the server ended the subscription without acknowledging it")

// ID is the id of the listen request, which its notifications name.
func (s *Subscription) ID() ID { return s.id }

// Honoured is what the server acknowledged: the notifications object.
func (s *Subscription) Honoured() wire.Raw {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.honours
}

// Done is closed when the subscription has ended.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err says why it ended: nil while it is open, after Close and when the server
// ended it in good order.
func (s *Subscription) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends the subscription and tells the server. It does not wait for
// either.
func (s *Subscription) Close() {
	if s.w == nil {
		if s.finish(nil) && s.end != nil {
			s.end()
		}
		return
	}
	if s.c.giveUp(s.w) {
		s.closed.Store(true)
		s.tell()
		s.c.complete(s.w, nil, false)
	}
}

// tell tells the server that the subscription was closed, if it was and the
// server knows it: whichever of the two comes last.
func (s *Subscription) tell() {
	if s.closed.Load() && s.w.sent.Load() && s.told.CompareAndSwap(false, true) {
		s.c.sendCancelled(s.w, "the client stopped listening")
	}
}

// finish reports whether it was not over yet.
func (s *Subscription) finish(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false
	}
	s.ended, s.err = true, err
	close(s.done)
	return true
}

// NewSubscription makes a subscription that stands for no listen request but for
// what an older server is asked in its stead: honours is the notifications object
// that is acknowledged, end is called once when the subscription is closed.
func NewSubscription(id ID, honours wire.Raw, end func()) *Subscription {
	s := &Subscription{id: id, honours: honours, acked: true, end: end, ack: make(chan struct{}), done: make(chan struct{}), cancel: func() {}}
	close(s.ack)
	return s
}

// End ends a subscription of NewSubscription from the server's side; err is what
// Err returns.
func (s *Subscription) End(err error) {
	if s.finish(err) && s.end != nil {
		s.end()
	}
}

// routeSubscription hands a notification to the subscription that it names.
func (c *Conn) routeSubscription(env *envelope) bool {
	id, ok := idOf(env.params.Get("_meta").Get(metaSubscriptionID))
	n, exact := id.Int()
	if !ok || !exact {
		return false
	}
	c.mu.Lock()
	var s *Subscription
	if w := c.calls[n]; w != nil {
		s = w.sub
	}
	c.mu.Unlock()
	if s == nil {
		return false
	}
	method, params := env.method, env.params
	c.queue.put(method, len(env.data), func() {
		if method == methodAcknowledged {
			s.mu.Lock()
			if !s.acked {
				s.acked, s.honours = true, params.Get("notifications").Clone()
				close(s.ack)
			}
			s.mu.Unlock()
			return
		}
		if s.f == nil {
			return
		}
		defer func() {
			if v := recover(); v != nil {
				_ = c.panicked(&inbound{method: method}, v)
			}
		}()
		s.f(method, params)
	})
	return true
}

// endSubscription is the server's cancellation of a listen of ours.
func (c *Conn) endSubscription(id ID, reason string) bool {
	n, exact := id.Int()
	if !exact {
		return false
	}
	c.mu.Lock()
	w := c.calls[n]
	if w == nil || w.sub == nil {
		c.mu.Unlock()
		return false
	}
	c.giveUpLocked(w)
	c.mu.Unlock()
	c.queue.answer(w, &CanceledError{Reason: reason})
	return true
}
