package jsonrpc

import (
	"context"
	"errors"
	"math/rand/v2"
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
	topicTasks
	topics
)

// The topics from topicUpdated on are about single things: a client names those
// that it wants to hear of.
const topicLists = topicUpdated

var topicMethods = [topics]string{
	"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed", "notifications/resources/updated",
	"notifications/tasks",
}

// The members of params.notifications of subscriptions/listen.
var topicMembers = [topics]string{"toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions", "taskIds"}

// topicKeys are the members of the notifications' params that name the thing.
var topicKeys = [topics]string{topicUpdated: "uri", topicTasks: "taskId"}

// tasksCapability is what a client declares to listen for tasks.
const tasksCapability = extensionPath + "io.modelcontextprotocol/tasks"

// changeOf is the change that a notification tells of.
func changeOf(t topic, params wire.Raw) change {
	m := change{t: t}
	if topicKeys[t] != "" {
		m.key, _ = params.Get(topicKeys[t]).Str()
	}
	if t == topicTasks {
		m.params = params
	}
	return m
}

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
	source  atomic.Pointer[Conn]
}

// Source is the connection whose Hub this is (Conn.Hub), nil for one that a program
// fills itself.
func (h *Hub) Source() *Conn {
	if h == nil {
		return nil
	}
	return h.source.Load()
}

// ToolsListChanged says that the list of tools changed.
func (h *Hub) ToolsListChanged(ctx context.Context) { h.publish(ctx, change{t: topicTools}) }

// PromptsListChanged says that the list of prompts changed.
func (h *Hub) PromptsListChanged(ctx context.Context) { h.publish(ctx, change{t: topicPrompts}) }

// ResourcesListChanged says that the list of resources changed.
func (h *Hub) ResourcesListChanged(ctx context.Context) { h.publish(ctx, change{t: topicResources}) }

// ResourceUpdated says that a resource changed.
func (h *Hub) ResourceUpdated(ctx context.Context, uri string) {
	h.publish(ctx, change{t: topicUpdated, key: uri})
}

// TaskStatus says how a task of the tasks extension stands now, to those that
// listen for it: params are those of notifications/tasks, and are read before it
// returns. Connections of stateful revisions hear nothing.
func (h *Hub) TaskStatus(ctx context.Context, taskID string, params wire.Appender) {
	h.publish(ctx, change{t: topicTasks, key: taskID, params: params.AppendJSON(nil)})
}

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
func (h *Hub) publish(_ context.Context, m change) bool {
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
		_ = c.changed(endedContext, m)
	}
	for _, l := range listens {
		l.publish(m)
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
func (c *Conn) changed(ctx context.Context, m change) error {
	if m.t == topicTasks || m.t == topicUpdated && !c.Subscribed(m.key) {
		return nil
	}
	err := c.notify(ctx, nil, topicMethods[m.t], changeParams{change: m})
	if err != nil {
		c.ev.note(Event{Kind: DroppedAnswer, Method: topicMethods[m.t], Err: err}, nil)
	}
	return err
}

// changeParams are the params of a change notification.
type changeParams struct {
	change
	sub ID
}

func (p changeParams) AppendJSON(b []byte) []byte {
	if p.params != nil {
		n := len(b)
		b = wire.AppendRaw(b, p.params)
		member := p.sub.AppendJSON(append(wire.AppendString(nil, metaSubscriptionID), ':'))
		return addMeta(b, n, metaSubscriptionID, member, false)
	}
	b = append(b, '{')
	if p.key != "" {
		b = append(wire.AppendString(b, topicKeys[p.t]), ':')
		b = wire.AppendString(b, p.key)
	}
	if !p.sub.IsZero() {
		if p.key != "" {
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
	named [topics]named // of the topics about single things

	mu     sync.Mutex
	state  listenState
	ends   listenEnd // asked for while it was pending
	missed []change  // what changed while it was pending
	stop   func() bool
	watch  func() // ends what Service.Watch began, nil for nothing
}

// named are the things that a client wants to hear of.
type named struct {
	set  map[string]struct{}
	list []string // in the order they were asked for
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
	t      topic
	key    string   // what changed, where it is a single thing
	params wire.Raw // of the notification, where they are more than the key
}

const (
	maxListenURIs  = 10_000  // resources of one subscription, and tasks; see ListenOptions
	maxListenBytes = 1 << 20 // of their URIs, and of the tasks' ids
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
	offered := [topics]bool{o.ToolsListChanged, o.PromptsListChanged, o.ResourcesListChanged, o.ResourceUpdates, o.AllowTask != nil}
	allow := [topics]func(context.Context, string) bool{topicUpdated: o.AllowURI, topicTasks: o.AllowTask}
	l := in.listen
	for t := range topicLists {
		switch v := n.Get(topicMembers[t]); v.Kind() {
		case wire.KindNone:
		case wire.KindBool:
			on, _ := v.Bool()
			l.wants[t] = on && offered[t]
		default:
			return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want a boolean", methodListen, topicMembers[t])
		}
	}
	for t := topicLists; t < topics; t++ {
		v := n.Get(topicMembers[t])
		switch v.Kind() {
		case wire.KindNone:
			continue
		case wire.KindArray:
		default:
			return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want an array", methodListen, topicMembers[t])
		}
		if t == topicTasks && svc.methods[topicMethods[t]] != nil {
			if err := in.mustDeclare(tasksCapability); err != nil {
				return err
			}
		}
		count, size := 0, 0
		for u := range v.Elems() {
			if count++; count > maxListenURIs {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: more than %d", methodListen, topicMembers[t], maxListenURIs)
			}
			key, ok := u.Str()
			if !ok {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: want strings", methodListen, topicMembers[t])
			}
			if !offered[t] || allow[t] != nil && !allow[t](in, key) {
				continue
			}
			if _, twice := l.named[t].set[key]; twice {
				continue
			}
			if size += len(key); size > maxListenBytes {
				return Errorf(CodeInvalidParams, "%s: params.notifications.%s: more than %d bytes", methodListen, topicMembers[t], maxListenBytes)
			}
			key = strings.Clone(key) // it may be part of something longer
			if l.named[t].set == nil {
				l.named[t].set = make(map[string]struct{})
			}
			l.named[t].set[key] = struct{}{}
			l.named[t].list = append(l.named[t].list, key)
		}
		l.wants[t] = len(l.named[t].set) > 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.o.maxInFlight()
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
		asked := &l.named[topicUpdated]
		asked.list, l.watch = w(in, asked.list)
		clear(asked.set)
		for _, u := range asked.list {
			asked.set[u] = struct{}{}
		}
		l.wants[topicUpdated] = len(asked.list) > 0
	}
	in.svc.hub.addListen(l, true)
	defer c.handled() // an open subscription keeps no drain waiting
	var err error
	if !l.abandoned() {
		// The wait for room ends with the request: when it is cancelled, when
		// the connection closes, and by the carrier's own bound.
		err = c.sendFrame(in, in.ex, AppendNotification(nil, methodAcknowledged, l))
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
		if topic(t) < topicLists {
			b = append(b, "true"...)
			continue
		}
		for i, u := range l.named[t].list {
			b = append(b, "[,"[min(i, 1)])
			b = wire.AppendString(b, u)
		}
		b = append(b, ']')
	}
	b = append(b, `},`...)
	b = appendSubscription(b, l.in.id)
	return append(b, '}')
}

// hears reports whether the subscription is for a change.
func (l *listenStream) hears(m change) bool {
	switch m.t {
	case topicUpdated:
		return watches(l.named[m.t].set, m.key)
	case topicTasks:
		_, ok := l.named[m.t].set[m.key]
		return ok
	}
	return l.wants[m.t]
}

func (l *listenStream) publish(m change) {
	if !l.hears(m) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Of what waits for the acknowledgement only the last state is of interest.
	at := slices.IndexFunc(l.missed, func(o change) bool { return o.t == m.t && o.key == m.key })
	switch {
	case l.state == listenOpen:
		l.send(m)
	case l.state == listenOver:
	case at >= 0:
		l.missed[at] = m
	case len(l.missed) < maxMissed:
		l.missed = append(l.missed, m)
	default:
		l.in.c.ev.note(Event{Kind: DroppedAnswer, Method: topicMethods[m.t], ID: l.in.id, Err: errMissed}, nil)
	}
}

var errMissed = errors.New("the subscription is not acknowledged yet")

// send tells of a change, unless that has to wait. l.mu is held, so that
// nothing follows the end.
func (l *listenStream) send(m change) {
	c := l.in.c
	if err := c.sendFrame(endedContext, l.in.ex, AppendNotification(nil, topicMethods[m.t], changeParams{change: m, sub: l.in.id})); err != nil {
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
	c.inflight.remove(in)
	c.streams--
	c.mu.Unlock()
	f := Frame{}
	if in.finish() && how != endQuiet {
		if e != nil {
			f.Data, f.Code = AppendError(nil, in.id, false, e), e.Code
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
	w      *call  // the latest request, nil where there is none; guarded by Conn.mu
	id     ID     // of the request; guarded by Conn.mu
	end    func() // tells who feeds it, where there is no listen request
	f      func(method string, params wire.Raw)
	ack    chan struct{}      // closed by the first acknowledgement
	cancel context.CancelFunc // of the sending
	closed atomic.Bool        // by Close
	told   atomic.Int64       // the id of the request that the server was told is closed

	mu      sync.Mutex
	honours wire.Raw
	acked   int64 // the id of the request that was acknowledged last, 0 for none
	done    chan struct{}
	ended   bool
	err     error
}

// Listen opens a subscriptions/listen stream (2026-07-28) and returns when the
// server has acknowledged it, or failed to within ctx and the request timeout.
// f gets each notification of the stream, in order, on the goroutine that
// handles notifications; it may be nil, as the service's own handlers get them
// too. The subscription outlives ctx, but not the connection.
//
// Where it has a stream of its own that may break alone, over HTTP, a broken one
// is opened again, after half a second at first and half a minute at most, until
// the server answers or refuses it. What changed meanwhile is not told: that there
// was a gap the connection's listeners hear (BrokenSubscription, and
// ReopenedSubscription once it is acknowledged), and whoever keeps copies reads
// them again. Specification: basic/patterns/subscriptions.
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
		s.finish(s.run(sending, w, p, timeout))
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

// How a subscription is opened again.
const (
	firstReopen = 500 * time.Millisecond
	maxReopen   = 30 * time.Second
	// steady is how long it has to last for its next loss to count as the
	// first one.
	steady = 10 * time.Second
)

// run sends the request, again when its stream breaks, and waits for the end.
func (s *Subscription) run(ctx context.Context, w *call, params wire.Appender, timeout time.Duration) error {
	for try := 1; ; try++ {
		began := time.Now()
		err := s.attempt(ctx, w, params, try > 1, timeout)
		after, again := s.again(err)
		if !again {
			return err
		}
		open := s.isOpen(w)
		if open && time.Since(began) >= steady {
			try = 1
		}
		if open {
			s.c.ev.note(Event{Kind: BrokenSubscription, Method: methodListen, ID: NewID(w.id), Err: err}, nil)
		}
		wait := maxReopen
		if try <= 6 {
			wait = firstReopen << (try - 1)
		}
		wait = max(after, wait-rand.N(wait/2)) // clients that lost a server together do not come back together
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
		case <-s.c.ctx.Done():
		}
		t.Stop()
		if w, err = s.c.beginFor(ctx, methodListen, nil, s); err != nil {
			return err
		}
	}
}

// attempt sends the request once. An attempt to open the stream again that is
// not acknowledged in time is given up.
func (s *Subscription) attempt(ctx context.Context, w *call, params wire.Appender, again bool, timeout time.Duration) error {
	if again && timeout > 0 {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		t := time.AfterFunc(timeout, func() {
			if !s.isOpen(w) {
				cancel(&TimeoutError{Method: methodListen, ID: NewID(w.id), After: timeout})
			}
		})
		defer t.Stop()
		defer cancel(nil)
	}
	err := s.c.sendCall(ctx, w, params)
	if err == nil {
		s.tell(w)
		err = s.c.wait(ctx, w)
	}
	return err
}

// isOpen reports whether a request is the one that was acknowledged last.
func (s *Subscription) isOpen(w *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked == w.id
}

// again reports whether it makes sense to open the stream again after an error,
// and when at the earliest.
func (s *Subscription) again(err error) (after time.Duration, ok bool) {
	s.mu.Lock()
	acked := s.acked != 0
	s.mu.Unlock()
	if err == nil || !acked || s.closed.Load() || !s.c.rules.CallStreams || s.c.State() >= Draining {
		return 0, false
	}
	if _, late := errors.AsType[*TimeoutError](err); late {
		return 0, true
	}
	var p Passing
	if !errors.As(err, &p) {
		return 0, false
	}
	return p.Passes()
}

var errNoAck = NewError(CodeInternalError, "the server ended the subscription without acknowledging it")

// ID is the id of the listen request, which its notifications name: another one
// when the stream was opened again.
func (s *Subscription) ID() ID {
	if s.c == nil {
		return s.id
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.id
}

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
	if s.c == nil {
		if s.finish(nil) && s.end != nil {
			s.end()
		}
		return
	}
	s.closed.Store(true)
	s.c.mu.Lock()
	w := s.w
	s.c.mu.Unlock()
	if s.c.giveUp(w) {
		s.tell(w)
		s.c.complete(w, nil, false)
		return
	}
	s.finish(nil) // where it has not ended it is being opened again
	s.cancel()
}

// tell tells the server that the subscription was closed, if it was and the
// server knows it: whichever of the two comes last.
func (s *Subscription) tell(w *call) {
	if s.closed.Load() && w.sent.Load() && s.told.Swap(w.id) != w.id {
		s.c.sendCancelled(w, "the client stopped listening")
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
	s := &Subscription{id: id, honours: honours, end: end, ack: make(chan struct{}), done: make(chan struct{}), cancel: func() {}}
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
	if method == methodAcknowledged { // at once: the stream may break behind it
		s.acknowledged(n, params.Get("notifications"))
		return true
	}
	c.notes().put(method, len(env.data), func() {
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

// acknowledged takes the acknowledgement of a request. A second one is ignored.
func (s *Subscription) acknowledged(id int64, honours wire.Raw) {
	s.mu.Lock()
	before := s.acked
	if before != id {
		s.acked, s.honours = id, honours.Clone()
	}
	s.mu.Unlock()
	switch before {
	case 0:
		close(s.ack)
	case id:
	default:
		s.c.ev.note(Event{Kind: ReopenedSubscription, Method: methodListen, ID: NewID(id)}, nil)
	}
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
	c.notes().answer(w, &CanceledError{Reason: reason})
	return true
}
