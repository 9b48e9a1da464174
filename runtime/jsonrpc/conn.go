package jsonrpc

import (
	"context"
	"errors"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// State is a state of a connection.
type State uint8

// The states. Closed can be reached from every other.
const (
	Connecting   State = iota // open, nothing agreed yet
	Initializing              // the initialize handshake runs (stateful revisions)
	Ready                     // calls may be made
	Draining                  // running calls may end, no new ones begin
	Closed
)

var stateNames = [...]string{"CONNECTING", "INITIALIZING", "READY", "DRAINING", "CLOSED"}

// String is the state's name in capitals.
func (s State) String() string { return stateNames[s] }

// transitions is the whole state machine.
var transitions = [...][]State{
	Connecting:   {Initializing, Ready, Draining, Closed}, // Ready at once where only a stateless revision is served
	Initializing: {Connecting, Ready, Draining, Closed},   // back when initialize was refused
	Ready:        {Draining, Closed},
	Draining:     {Closed},
	Closed:       {},
}

// What Options leave open.
const (
	defaultTimeout      = 30 * time.Second
	defaultMaxTimeout   = time.Hour
	defaultInFlight     = 1024
	defaultQueued       = 1024
	defaultDrain        = 10 * time.Second
	maxAsked            = 64 << 20    // bytes of a server's requests that are being handled, one alone excepted
	eofGrace            = time.Second // for running handlers, once the peer's input has ended
	rememberedGiveUps   = 4096        // ids whose late answers are told from duplicates
	overloadRetryMillis = 1000
)

// Conn is one connection: it correlates calls with answers, keeps deadlines,
// routes cancellation and progress, owns the session's state machine and
// counts. All methods may be called from any goroutine. A nil *Conn, which a
// RemoteServer that nobody connected has, is like one that is closed; calls on
// it fail with ErrNoPeer.
type Conn struct {
	*kin
	link   Link
	waker  Waker
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc

	received, sent atomic.Uint64
	handling       atomic.Int64
	waiting        atomic.Int64 // calls that somebody waits for; no subscriptions
	logLevel       atomic.Int32
	state          atomic.Uint32           // State; written under mu only
	svc            atomic.Pointer[Service] // of the handshake; written under mu only
	opened         atomic.Bool             // stateful: initialize is answered

	once  atomic.Pointer[sync.Map] // of Peer.Once; made by the first
	queue atomic.Pointer[queue]    // of notes; made by the first

	mu       sync.Mutex
	rules    CarrierRules
	joinable bool     // the handshake is made, and nobody has decoded its result
	closing  bool     // the link is being closed
	over     bool     // the link has ended
	session  *Session // nil before
	relay    *Hub     // of Hub
	gate     *gate
	meta     *Metadata // nil for nothing; not to be changed
	inflight requests  // of the peer, listens included
	streams  int       // listens among them
	nextID   int64
	calls    map[int64]*call
	own      *calling      // made by the first call
	early    *earlyCancels // nil for none
	subs     map[string]struct{}
	subBytes int           // of the texts in it
	idle     chan struct{} // made by a drain, closed when nothing runs
	err      error
	done     chan struct{} // made when somebody asks
}

// kin is what a connection has in common with its forks. It is not changed once
// there are any.
type kin struct {
	ch     Chooser
	single *Service // the chooser, when it always chooses itself
	side   Side
	o      *Options // not to be changed
	ev     *events
	base   context.Context // values for the handlers, never nil
	local  *LocalOptions   // what is called instead of a link; nil for none
}

// calling is what a connection that makes calls keeps beside them. It is
// guarded by Conn.mu.
type calling struct {
	slots   []chan struct{} // callers that wait for a place among the calls
	gaveUp  map[int64]struct{}
	gaveUpQ []int64
	timer   *time.Timer
	timerAt time.Time // zero while the timer is not set
	asked   int       // bytes of the requests of a server that are being handled
}

// NewConn makes a connection over a link that is not started. side is ours.
// A nil link is for carriers whose exchanges are all there is: nothing can be
// sent outside of one.
func NewConn(l Link, ch Chooser, side Side) *Conn {
	c := &Conn{kin: &kin{ch: ch, side: side, base: context.Background()}, link: l}
	c.single, _ = ch.(*Service)
	switch x := ch.(type) {
	case *Service:
		c.o = &x.o.Options
	case interface{ Options() Options }:
		o := x.Options()
		c.o = &o
	}
	c.waker, _ = l.(Waker)
	if k, ok := l.(Carrier); ok {
		c.rules = k.Carrier()
	}
	if c.o == nil {
		c.o = new(Options)
	}
	c.ev = newEvents(c.o)
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// notes is where notifications wait for their handlers.
func (c *Conn) notes() *queue {
	if q := c.queue.Load(); q != nil {
		return q
	}
	c.queue.CompareAndSwap(nil, &queue{c: c})
	return c.queue.Load()
}

// Start starts the link.
func (c *Conn) Start() error {
	if c.link == nil {
		return nil
	}
	return c.link.Start(c)
}

// Dial dials and starts a client's connection. The handshake is the caller's:
// Initialize, Discover or Ready.
func Dial(ctx context.Context, d Dialer, b Binder) (*Conn, error) {
	ch, err := Bind(b)
	if err != nil {
		return nil, err
	}
	if isNil(d) {
		return nil, errNoDialer
	}
	l, err := d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	c := NewConn(l, ch, ClientSide)
	if err := c.Start(); err != nil {
		_ = l.Close(ctx)
		return nil, err
	}
	return c, nil
}

var (
	errNoDialer    = errors.New("no dialer")
	errNoTransport = errors.New("no transport")
)

// Serve serves each peer that comes, until the transport has no more, ctx ends,
// or the process gets a signal that the transport names (Signalled; SIGTERM on
// stdio). Then it drains the connections, bounded by Options.DrainTimeout, and
// closes them; a second signal ends the process as it would without this.
// Handlers see ctx's values. It returns nil after an orderly end, ctx's error
// and cause when ctx ended it, context.DeadlineExceeded when a signal did and
// what ran had to be cancelled, and otherwise why the transport (or its only
// connection) failed.
func Serve(ctx context.Context, t Transport, b Binder) error {
	if isNil(t) {
		return errNoTransport
	}
	ch, err := Bind(b)
	if err != nil {
		// Whoever waits at the other end of a transport that is one peer's is
		// not to wait for nothing. Any other has nobody yet.
		if l, aerr := t.Accept(endedContext); aerr == nil {
			_ = l.Close(context.WithoutCancel(ctx))
		}
		return err
	}
	outer := ctx
	if s, ok := t.(Signalled); ok {
		if signals := s.EndSignals(); len(signals) > 0 {
			var stop context.CancelFunc
			ctx, stop = signal.NotifyContext(ctx, signals...)
			defer stop()
			context.AfterFunc(ctx, stop)
		}
	}
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		last    error
		drained error
		count   int
	)
	for {
		l, err := t.Accept(ctx)
		if err != nil {
			wg.Wait()
			switch {
			case outer.Err() != nil:
				return ContextError(outer)
			case ctx.Err() != nil: // a signal
				return drained
			case !errors.Is(err, io.EOF):
				return err
			case count == 1:
				return last
			}
			return nil
		}
		count++
		c := NewConn(l, ch, ServerSide)
		c.base = context.WithoutCancel(ctx)
		if err := c.Start(); err != nil {
			_ = l.Close(ctx)
			wg.Wait()
			return err
		}
		wg.Go(func() {
			var err error
			select {
			case <-c.Done():
			case <-ctx.Done():
				err = c.Drain(context.WithoutCancel(ctx))
			}
			<-c.Done()
			mu.Lock()
			if drained == nil {
				drained = err
			}
			last = c.Err()
			mu.Unlock()
		})
	}
}

// Service is the service that the handshake chose. Before one, it is the
// chooser itself when that is a *Service, else nil.
func (c *Conn) Service() *Service {
	if c == nil {
		return nil
	}
	if s := c.svc.Load(); s != nil {
		return s
	}
	return c.single
}

// Side is ours.
func (c *Conn) Side() Side {
	if c == nil {
		return ClientSide
	}
	return c.side
}

// State is the present state.
func (c *Conn) State() State {
	if c == nil {
		return Closed
	}
	return State(c.state.Load())
}

// transition changes the state, as the table allows. c.mu is held.
func (c *Conn) transition(op string, to State) error {
	from := c.State()
	if !slices.Contains(transitions[from], to) {
		err := &StateError{Op: op, From: from, To: to}
		if from == Closed {
			err.Cause = &ClosedError{Cause: c.err}
		}
		return err
	}
	c.state.Store(uint32(to))
	for _, l := range c.ev.states {
		l.put(StateChange{Conn: c, From: from, To: to, Err: c.err}, 0)
	}
	return nil
}

// Stats is a snapshot of state and counters.
func (c *Conn) Stats() Stats {
	if c == nil {
		return Stats{State: Closed}
	}
	s := Stats{Received: c.received.Load(), Sent: c.sent.Load(), Handling: int(c.handling.Load())}
	if q := c.queue.Load(); q != nil {
		s.Notifications = q.length()
	}
	for k := range s.Counts {
		s.Counts[k] = c.ev.counts[k].Load()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.State = c.State()
	s.Calls = len(c.calls)
	s.Subscriptions = c.streams
	return s
}

// WaitingCalls is the number of calls that wait for their answer, without
// subscriptions.
func (c *Conn) WaitingCalls() int {
	if c == nil {
		return 0
	}
	return int(c.waiting.Load())
}

// Done is closed when the connection is and its link has ended.
func (c *Conn) Done() <-chan struct{} {
	if c == nil {
		return endedContext.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.over {
			return endedContext.Done()
		}
		c.done = make(chan struct{})
	}
	return c.done
}

// Err says why the connection ended: nil while it is open and when this side
// closed it, or when a client ended its input to a server.
func (c *Conn) Err() error {
	if c == nil {
		return ErrNoPeer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Link is the connection's link, nil if it has none.
func (c *Conn) Link() Link {
	if c == nil {
		return nil
	}
	return c.link
}

// Closed takes the carrier's end. A server's running handlers get a second to
// answer after an orderly end of input; a client's calls fail at once.
func (c *Conn) Closed(err error) {
	if err == nil && c.side == ServerSide {
		if c.rules.Outlives {
			return
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), eofGrace)
			defer cancel()
			_ = c.Drain(ctx)
		}()
		return
	}
	if err == nil {
		err = io.EOF
	}
	c.shut(err)
	go func() { _ = c.finishClose(context.Background()) }()
}

// Drain lets running calls and handlers end, refuses new ones, and then closes
// the connection. Subscriptions are ended, those of the peer with their result.
// It waits at most as long as ctx and Options.DrainTimeout allow, then cancels what
// runs and returns the context's error.
func (c *Conn) Drain(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	if err := c.transition("drain", Draining); err != nil {
		closed := c.State() == Closed
		c.mu.Unlock()
		if closed {
			return c.Close(ctx)
		}
		return err
	}
	idle := make(chan struct{})
	c.idle = idle
	var listens []*inbound
	for in := range c.inflight.all() {
		if in.listen != nil {
			listens = append(listens, in)
		}
	}
	var subs []*Subscription
	for _, w := range c.calls {
		if w.sub != nil {
			subs = append(subs, w.sub)
		}
	}
	c.mu.Unlock()
	limit := defaultDrain
	if c.o.DrainTimeout != nil {
		limit = *c.o.DrainTimeout
	}
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for _, s := range subs {
		s.Close()
	}
	c.endListens()
	for _, in := range listens {
		in.listen.end(wait, endResult)
	}
	c.checkIdle()

	var err error
	select {
	case <-idle:
	case <-c.Done():
	case <-wait.Done():
		select {
		case <-idle: // both at once
		default:
			err = wait.Err()
		}
	}
	if cerr := c.Close(context.WithoutCancel(ctx)); err == nil {
		err = cerr
	}
	return err
}

// checkIdle tells a drain that nothing runs any more.
func (c *Conn) checkIdle() {
	if c.State() != Draining || c.handling.Load() != 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil && len(c.calls) == 0 && c.handling.Load() == 0 {
		close(c.idle)
		c.idle = nil
	}
}

// Close closes the connection and its link. Calls that wait fail with a
// *ClosedError, handlers that run are cancelled. It is idempotent.
func (c *Conn) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.shut(nil)
	return c.finishClose(ctx)
}

// shut makes the connection unusable. cause is nil when this side does it.
func (c *Conn) shut(cause error) {
	c.mu.Lock()
	if c.State() == Closed {
		c.mu.Unlock()
		return
	}
	c.err = cause
	_ = c.transition("close", Closed)
	calls := make([]*call, 0, len(c.calls))
	for id := range c.calls {
		calls = append(calls, c.takeLocked(id))
	}
	var running []*inbound
	for in := range c.inflight.all() {
		running = append(running, in)
	}
	var slots []chan struct{}
	if c.own != nil {
		slots, c.own.slots = c.own.slots, nil
		if c.own.timer != nil {
			c.own.timer.Stop()
		}
	}
	if c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
	svc := c.Service()
	c.mu.Unlock()

	if c.cancel != nil { // a fork for one exchange has none
		c.cancel() // first, so that nothing here waits for a peer that does not read
	}
	if cause == nil && c.side == ClientSide && c.link != nil && !c.rules.CallStreams {
		// A server that still hears of it need not finish what nobody waits for
		// before it ends.
		for _, w := range calls {
			if w.in == nil {
				c.sendCancelled(w, "the connection is closed")
			}
		}
	}
	closed := &ClosedError{Cause: cause}
	for _, w := range calls {
		c.complete(w, &CallError{Method: w.method, ID: NewID(w.id), Stage: w.stageNow(), Err: closed}, false)
	}
	for _, in := range running {
		in.end(context.Canceled, closed)
		if in.listen != nil {
			in.listen.end(endedContext, endQuiet)
		}
	}
	for _, s := range slots {
		close(s)
	}
	if svc != nil {
		svc.hub.remove(c)
	}
	c.notes().close()
}

// finishClose closes the link once, and waits for it.
func (c *Conn) finishClose(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closing
	c.closing = true
	c.mu.Unlock()
	if !first {
		done := c.Done()
		select {
		case <-done:
			return nil
		default:
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return ContextError(ctx)
		}
	}
	var err error
	if c.link != nil {
		err = c.link.Close(ctx)
	}
	c.mu.Lock()
	c.over = true
	if c.done != nil {
		close(c.done)
	}
	c.mu.Unlock()
	return err
}

// Ready declares that no handshake is needed (stateless revisions).
func (c *Conn) Ready() error {
	if c == nil {
		return ErrNoPeer
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transition("ready", Ready)
}

// Session is what the handshake said. Raw values are the connection's own
// copies.
type Session struct {
	Revision     string   // what both speak
	Info         wire.Raw // the peer's implementation: serverInfo or clientInfo
	Capabilities wire.Raw // the peer's; nil while unknown
	Instructions string   // the server's
	Supported    []string // the versions that discover named
	Params       wire.Raw // server: the initialize params, at most 64 KiB
	Result       wire.Raw // client: the initialize or discover result
}

// Session returns what the handshake said, the zero value before.
func (c *Conn) Session() Session {
	if c == nil {
		return Session{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == nil {
		return Session{}
	}
	return *c.session
}

// setSession remembers a handshake, and what may be sent after it. c.mu is
// held.
func (c *Conn) setSession(svc *Service, s Session) {
	c.svc.Store(svc)
	c.session = &s
	if svc != nil {
		c.gate = svc.gateFor(c.side, s.Capabilities)
	}
}

// Advertised reports whether the peer advertises what a method needs. It is
// true for all while nothing is known (a stateless peer that was not asked).
func (c *Conn) Advertised(method string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	g := c.gate
	c.mu.Unlock()
	return g.check(method) == nil
}

// SetMetadata sets what calls carry in their _meta: version, info and
// capabilities of the client in stateless revisions. It is set before the
// first call.
func (c *Conn) SetMetadata(m Metadata) {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.meta = &m
	c.mu.Unlock()
}

// metadata is what SetMetadata set.
func (c *Conn) metadata() (m Metadata) {
	c.mu.Lock()
	if c.meta != nil {
		m = *c.meta
	}
	c.mu.Unlock()
	return m
}

// Hub is where a client's connection publishes what its server tells of its own
// accord: changes of lists, updates of resources, log messages. A server that
// passes that on to its own clients, as a RemoteServer that is served again, has
// it as its Hub. The notifications reach the client's handlers all the same.
func (c *Conn) Hub() *Hub {
	if c == nil {
		return nil
	}
	if c.local != nil && c.local.Below != nil {
		h := c.local.Below.Hub()
		h.source.Store(c)
		return h
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relay == nil {
		c.relay = new(Hub)
		c.relay.source.Store(c)
	}
	return c.relay
}

// relayed publishes a notification of the server's in the Hub, and reports
// whether that has anybody to tell. It waits for nobody.
func (c *Conn) relayed(env *envelope) bool {
	c.mu.Lock()
	h := c.relay
	c.mu.Unlock()
	if h == nil {
		return false
	}
	if t, ok := topicOf(env.method); ok {
		return h.publish(endedContext, changeOf(t, env.params))
	}
	if env.method == methodMessage {
		return h.message(endedContext, rawAppender(env.params))
	}
	return false
}

// subscribable reports whether there is room for a resource among those that
// the peer subscribed to.
func (c *Conn) subscribable(uri string) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subscribableLocked(uri)
}

func (c *Conn) subscribableLocked(uri string) *Error {
	if _, twice := c.subs[uri]; !twice && (len(c.subs) >= maxListenURIs || c.subBytes+len(uri) > maxListenBytes) {
		return &Error{Code: CodeOverloaded, Message: "too many subscriptions", Data: overloadData}
	}
	return nil
}

// subscribe remembers that the peer subscribed to a resource, within the bounds
// of one subscriptions/listen.
func (c *Conn) subscribe(uri string) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.subscribableLocked(uri); err != nil {
		return err
	}
	if _, twice := c.subs[uri]; twice {
		return nil
	}
	if c.subs == nil {
		c.subs = map[string]struct{}{}
	}
	c.subs[strings.Clone(uri)] = struct{}{} // it may alias a message
	c.subBytes += len(uri)
	return nil
}

func (c *Conn) unsubscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.subs[uri]; ok {
		delete(c.subs, uri)
		c.subBytes -= len(uri)
	}
}

// Subscribed reports whether the peer subscribed to a resource, or to one
// above it (stateful revisions).
func (c *Conn) Subscribed(uri string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return watches(c.subs, uri)
}
