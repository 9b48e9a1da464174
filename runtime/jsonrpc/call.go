package jsonrpc

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// CallOptions are set for the calls made with a context, by WithCallOptions.
type CallOptions struct {
	// Timeout and MaxTimeout replace the connection's; nil keeps it, 0 is
	// none.
	Timeout, MaxTimeout *time.Duration
	// Progress gets the peer's progress, in order, on the goroutine that
	// handles notifications, before the call returns. It also makes the call
	// ask for progress.
	Progress func(Progress)
	// Problems gets what was passed over in the result, when that broke its
	// schema and was read all the same: elements of lists that could not be
	// read, members that were missing. At most wire.DefaultMaxSkipped are
	// kept; paths begin with "result". It is called before the call returns,
	// on the caller's goroutine, and only when there is something to tell.
	Problems func([]wire.Problem)
	// StrictResult makes a result that breaks its schema an error, a
	// *CallError (StageDecode) around a *StrictError, where it would
	// otherwise be read as far as it can be.
	StrictResult bool
	// Header is handed to the carrier with the request's frame.
	Header map[string][]string

	trace   Trace // of WithTrace
	message *MessageCall
}

type callOptionsKey struct{}

// WithCallOptions returns a context for calls with options of their own. They
// replace those that ctx had: see CallOptionsOf.
func WithCallOptions(ctx context.Context, o CallOptions) context.Context {
	return context.WithValue(ctx, callOptionsKey{}, &o)
}

// CallOptionsOf is what WithCallOptions set, the zero value for nothing: what to
// begin with where only some of it is to change.
func CallOptionsOf(ctx context.Context) CallOptions { return *callOptions(ctx) }

var noCallOptions CallOptions

func callOptions(ctx context.Context) *CallOptions {
	if o, ok := ctx.Value(callOptionsKey{}).(*CallOptions); ok {
		return o
	}
	return &noCallOptions
}

// Progress is one notifications/progress.
type Progress struct {
	Progress float64  // how far it is; grows
	Total    *float64 // nil if unknown
	Message  string   // for people, may be empty
	Params   wire.Raw // the whole params
}

// call is one request of ours that waits for its answer. It is a Waiter.
// Whoever takes it out of Conn.calls completes it, once.
type call struct {
	id       int64
	method   string
	result   wire.Decoder // decodes the result; nil keeps it raw
	raw      wire.Raw
	code     int64 // of the error in raw, where that is a whole message
	err      error // a *StrictError while the caller has not decided what to make of it
	done     atomic.Bool
	sent     atomic.Bool
	heard    atomic.Bool // MessageCall.Taken
	ch       chan struct{}
	timeout  time.Duration // 0: none
	deadline time.Time     // zero: none; guarded by Conn.mu
	wrongID  ID            // of an answer that may have been meant for it; guarded by Conn.mu
	hard     time.Time     // zero: none
	started  time.Time
	progress func(Progress)
	sub      *Subscription
	o        *CallOptions
	in       *inbound // the request that it is made for
	relayed  *inbound // the request of another connection that it is made for
	turn     *Turn    // of the handler of that, nil for none
	quiet    bool     // a subscription: nobody waits for its answer
	direct   bool     // made by a notification's handler: its answer cannot wait for that
}

// Done reports whether the answer is there, or none will come.
func (w *call) Done() bool { return w.done.Load() }

// C receives a value when Done becomes true.
func (w *call) C() <-chan struct{} { return w.ch }

// Taken says that the carrier has the request.
func (w *call) Taken() {
	w.sent.Store(true)
	if m := w.o.message; m != nil {
		m.hear(w)
	}
}

func (w *call) stageNow() Stage {
	if w.sent.Load() {
		return StageReceive
	}
	return StageSend
}

// begin makes a call: it checks that it may be made, waits for a place among
// those in flight, and starts its clock.
func (c *Conn) begin(ctx context.Context, method string, result wire.Decoder) (*call, error) {
	return c.beginFor(ctx, method, result, nil)
}

// beginFor is begin for a subscription, if sub is one.
func (c *Conn) beginFor(ctx context.Context, method string, result wire.Decoder, sub *Subscription) (*call, error) {
	if c == nil {
		return nil, ErrNoPeer
	}
	o := callOptions(ctx)
	w := &call{method: method, result: result, ch: make(chan struct{}, 1), progress: o.Progress, o: o, quiet: sub != nil, sub: sub}
	switch in := inboundOf(ctx); {
	case in == nil:
	case in.c != c:
		if in.ex != nil && o.message == nil {
			w.relayed, w.turn = in, turnOf(ctx)
			Peer{in: in}.Detach()
		}
	case in.ex != nil:
		w.in = in
	default:
		w.direct = true
	}
	w.timeout = pick(o.Timeout, c.o.Timeout, defaultTimeout)
	hard := pick(o.MaxTimeout, c.o.MaxTimeout, defaultMaxTimeout)
	w.started = time.Now()
	if hard > 0 {
		w.hard = w.started.Add(hard)
	}
	if err := ctx.Err(); err != nil {
		return nil, &CallError{Method: method, Stage: StageQueue, Err: ContextError(ctx)}
	}
	limit := c.o.maxInFlight()
	var expired <-chan time.Time
	for waited := false; ; waited = true {
		c.mu.Lock()
		if err := c.mayCall(method); err != nil && (o.message == nil || c.State() >= Draining) {
			c.mu.Unlock()
			return nil, err
		}
		if c.own == nil {
			c.own = new(calling)
		}
		if len(c.calls) < limit && (waited || len(c.own.slots) == 0) {
			break
		}
		slot := make(chan struct{})
		if waited { // it was woken for a place that somebody else took: stay first
			c.own.slots = append([]chan struct{}{slot}, c.own.slots...)
		} else {
			c.own.slots = append(c.own.slots, slot)
		}
		c.mu.Unlock()
		if expired == nil && w.timeout > 0 {
			t := time.NewTimer(w.timeout)
			defer t.Stop()
			expired = t.C
		}
		var cause error
		select {
		case <-slot:
			continue
		case <-ctx.Done():
			cause = ContextError(ctx)
		case <-expired:
			cause = &TimeoutError{Method: method, After: w.timeout}
		}
		c.mu.Lock()
		c.leaveQueue(slot)
		c.mu.Unlock()
		return nil, &CallError{Method: method, Stage: StageQueue, Err: &OverloadError{What: "calls in flight", Limit: limit, Cause: cause}}
	}
	c.nextID++
	w.id = c.nextID
	if sub != nil {
		sub.w, sub.id = w, NewID(w.id)
	}
	if c.calls == nil {
		c.calls = make(map[int64]*call)
	}
	c.calls[w.id] = w
	if !w.quiet {
		c.waiting.Add(1)
	}
	if w.timeout > 0 {
		w.deadline = w.started.Add(w.timeout)
		if !w.hard.IsZero() && w.hard.Before(w.deadline) {
			w.deadline = w.hard
		}
	} else {
		w.deadline = w.hard
	}
	c.armTimer(w.deadline)
	c.mu.Unlock()
	return w, nil
}

// pick is the first duration that is set.
func pick(a, b *time.Duration, otherwise time.Duration) time.Duration {
	switch {
	case a != nil:
		return max(0, *a)
	case b != nil:
		return max(0, *b)
	}
	return otherwise
}

// leaveQueue gives up a place in the queue, or passes it on. c.mu is held.
func (c *Conn) leaveQueue(slot chan struct{}) {
	for i, s := range c.own.slots {
		if s == slot {
			c.own.slots = slices.Delete(c.own.slots, i, i+1)
			return
		}
	}
	c.wakeSlot() // it was woken meanwhile
}

// wakeSlot lets the first caller that waits try again. c.mu is held.
func (c *Conn) wakeSlot() {
	if own := c.own; len(own.slots) > 0 {
		close(own.slots[0])
		own.slots = own.slots[1:]
	}
}

// mayCall holds state, direction and capabilities. c.mu is held.
func (c *Conn) mayCall(method string) error {
	svc := c.Service()
	state := c.State()
	switch {
	case state == Closed:
		return &CallError{Method: method, Stage: StageQueue, Err: &ClosedError{Cause: c.err}}
	case state == Draining:
		return &StateError{Op: method, From: state, To: state}
	case svc == nil:
		if method != methodInitialize && method != methodDiscover && method != methodPing {
			return &StateError{Op: method, From: state, To: state}
		}
		return nil
	case method == methodInitialize || method == methodDiscover:
		return nil
	}
	if m := svc.methods[method]; m != nil {
		if m.Embedded || c.side == ClientSide && !m.FromClient || c.side == ServerSide && !m.FromServer {
			return &DirectionError{Method: method, Revision: svc.o.Revision, Side: c.side}
		}
	} else if c.side == ServerSide && !svc.rules.ServerRequests {
		return &DirectionError{Method: method, Revision: svc.o.Revision, Side: c.side}
	}
	if method == methodPing {
		return nil // allowed before the handshake is over
	}
	if !svc.rules.Stateless && state != Ready && !(c.side == ServerSide && state == Initializing && c.opened.Load()) {
		return &StateError{Op: method, From: state, To: state}
	}
	return c.gate.check(method)
}

// take removes the call that an id belongs to from the pending ones.
func (c *Conn) take(id ID) *call {
	if id.kind != idInt {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.takeLocked(id.num)
}

func (c *Conn) takeLocked(id int64) *call {
	w := c.calls[id]
	if w != nil {
		delete(c.calls, id)
		if !w.quiet {
			c.waiting.Add(-1)
		}
		c.wakeSlot()
	}
	return w
}

// complete ends the wait of a call that was taken. inline says that this is
// the goroutine that read the answer.
func (c *Conn) complete(w *call, err error, inline bool) {
	w.err = err
	w.done.Store(true)
	if w.sub != nil { // it may still be on its way
		w.sub.finish(err)
		w.sub.cancel()
	}
	select {
	case w.ch <- struct{}{}:
	default:
	}
	if !inline && c.waker != nil {
		c.waker.Wake(w)
	}
	if c.State() == Draining {
		c.checkIdle()
	}
}

// roundTrip sends a call's request and waits for its answer.
func (c *Conn) roundTrip(ctx context.Context, w *call, params wire.Appender) error {
	err := c.sendCall(ctx, w, params)
	if err == nil {
		err = c.wait(ctx, w)
	}
	switch e := err.(type) {
	case *StrictError:
		err = w.judge(e)
	case *Error:
		if w.in != nil {
			w.in.tell(e)
		}
	}
	return err
}

// judge refuses a result for its problems, or tells of them.
func (w *call) judge(s *StrictError) error {
	if w.o.StrictResult {
		return &CallError{Method: w.method, ID: NewID(w.id), Stage: StageDecode, Err: s}
	}
	if w.o.Problems != nil {
		w.o.Problems(slices.Clone(s.Problems)) // listeners of events have them too
	}
	return nil
}

// sendCall sends the request. The carrier may have read the answer when it
// returns.
func (c *Conn) sendCall(ctx context.Context, w *call, params wire.Appender) error {
	buf := getBuf()
	b := buf.b
	if m := w.o.message; m != nil {
		b = m.Append(b, NewID(w.id))
		return c.handOver(ctx, w, buf, b, StageSend, nil)
	}
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, w.id, 10)
	b = append(b, `,"method":`...)
	b = wire.AppendString(b, w.method)
	stage := StageSend
	var err error
	traced := w.o.trace != (Trace{})
	if params == nil && traced {
		params = rawAppender(nil)
	}
	if params != nil {
		b = append(b, `,"params":`...)
		n := len(b)
		b = params.AppendJSON(b)
		if traced {
			b = addTrace(b, n, &w.o.trace)
		}
	}
	b = append(b, '}')
	if params != nil {
		err = checkOutput(b, "params", params)
	}
	return c.handOver(ctx, w, buf, b, stage, err)
}

// handOver gives the request b, which is in buf, to the carrier. err is what is
// wrong with it already.
func (c *Conn) handOver(ctx context.Context, w *call, buf *buffer, b []byte, stage Stage, err error) error {
	f := Frame{Data: b, Header: w.o.Header}
	if err != nil {
		stage = StageEncode
	} else {
		c.sent.Add(1)
	}
	switch {
	case err != nil:
	case w.in != nil && !c.rules.CallStreams:
		w.in.sending.Lock()
		if w.in.closed() {
			err = &StateError{Op: w.method + " for a request that is over", From: c.State(), To: c.State()}
		} else {
			w.in.ex.Detach()
			err = w.in.ex.Notify(ctx, f)
		}
		w.in.sending.Unlock()
	case c.link == nil:
		err = errNoLink
	case w.quiet && c.waker != nil && !c.rules.CallStreams: // nobody is to read for it
		err = c.link.Send(ctx, f)
	default:
		err = c.link.Call(ctx, f, w)
	}
	buf.b = b
	putBuf(buf)
	if err == nil {
		w.Taken()
		return nil
	}
	if c.take(NewID(w.id)) == nil { // it was completed meanwhile
		if !w.Done() {
			<-w.ch
		}
		if oe, ok := errors.AsType[*OverloadError](err); ok && errors.Is(w.err, ErrTimeout) {
			// Its deadline passed in the queue.
			oe.Cause = w.err
			return &CallError{Method: w.method, ID: NewID(w.id), Stage: StageQueue, Err: oe}
		}
		return w.err
	}
	if e, ok := err.(*Error); ok && e.Remote {
		w.err = e
		w.done.Store(true)
		return e
	}
	switch {
	case stage == StageEncode:
	case errors.Is(err, ErrOverloaded):
		stage = StageQueue
	case w.sent.Load():
		stage = StageReceive
	case ctx.Err() != nil:
		err = ContextError(ctx)
	}
	w.err = &CallError{Method: w.method, ID: NewID(w.id), Stage: stage, Err: err}
	w.done.Store(true)
	return w.err
}

var errNoLink = errors.New("the carrier has no way to send outside of an exchange")

// wait waits for the answer of a call that was sent.
func (c *Conn) wait(ctx context.Context, w *call) error {
	if !w.Done() {
		select {
		case <-w.ch:
		case <-ctx.Done():
			if c.giveUp(w) {
				cause := ContextError(ctx)
				c.sendCancelled(w, reasonOf(cause))
				return &CallError{Method: w.method, ID: NewID(w.id), Stage: StageReceive, Err: cause}
			}
			if !w.Done() { // it is being completed this moment
				<-w.ch
			}
		}
	}
	return w.err
}

// reasonOf is what the peer hears of why a call was given up.
func reasonOf(err error) string {
	switch e := err.(type) {
	case *contextError:
		return e.cause.Error()
	case *CanceledError: // of the request that the call was made for
		if e.Reason != "" {
			return e.Reason
		}
	}
	if errors.Is(err, context.Canceled) {
		return "the caller gave up"
	}
	return err.Error()
}

// ContextError says why a context has ended, nil if it has not: errors.Is finds
// ctx.Err() in it, context.Canceled or context.DeadlineExceeded, and so it finds
// the cause that was given to context.WithCancelCause or WithTimeoutCause. In a
// handler's context the cause is that of Peer.Cause.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if cause == nil || cause == err {
		if cause = PeerOf(ctx).Cause(); cause == nil {
			return err
		}
	}
	if errors.Is(cause, err) {
		return cause
	}
	return &contextError{err: err, cause: cause}
}

// contextError is a context that ended for a reason of its own.
type contextError struct{ err, cause error }

func (e *contextError) Error() string   { return e.cause.Error() + " (" + e.err.Error() + ")" }
func (e *contextError) Unwrap() []error { return []error{e.cause, e.err} }

// giveUp takes a call out of the pending ones and remembers that an answer may
// still come.
func (c *Conn) giveUp(w *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.giveUpLocked(w)
}

func (c *Conn) giveUpLocked(w *call) bool {
	if c.takeLocked(w.id) == nil {
		return false
	}
	own := c.own
	if own.gaveUp == nil {
		own.gaveUp = make(map[int64]struct{})
	}
	if len(own.gaveUpQ) >= rememberedGiveUps {
		delete(own.gaveUp, own.gaveUpQ[0])
		own.gaveUpQ = own.gaveUpQ[1:]
	}
	own.gaveUp[w.id] = struct{}{}
	own.gaveUpQ = append(own.gaveUpQ, w.id)
	return true
}

// sendCancelled tells the peer that a call was given up. Specification:
// basic/utilities/cancellation, basic/patterns/cancellation (2026-07-28).
func (c *Conn) sendCancelled(w *call, reason string) {
	if w.method == methodInitialize || !w.sent.Load() {
		return
	}
	if m := w.o.message; m != nil && m.Cancelled != nil && m.Cancelled() {
		return
	}
	if c.side == ServerSide {
		if svc := c.Service(); svc != nil && !svc.rules.ServerRequests {
			return
		}
	}
	b := AppendNotification(nil, methodCancelled, cancelledParams{NewID(w.id), reason})
	var ex Exchange
	if w.in != nil {
		w.in.sending.Lock()
		defer w.in.sending.Unlock()
		if !w.in.closed() {
			ex = w.in.ex
		}
	}
	if err := c.sendFrame(endedContext, ex, b); errors.Is(err, context.Canceled) && ex == nil {
		go func() { // a carrier that has to wait; the caller does not
			ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
			defer cancel()
			_ = c.sendFrame(ctx, nil, b)
		}()
	}
}

type cancelledParams struct {
	id     ID
	reason string
}

func (p cancelledParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"requestId":`...)
	b = p.id.AppendJSON(b)
	if p.reason != "" {
		b = append(b, `,"reason":`...)
		b = wire.AppendString(b, p.reason)
	}
	return append(b, '}')
}

// armTimer makes sure that the timer fires at t. c.mu is held.
func (c *Conn) armTimer(t time.Time) {
	own := c.own
	if t.IsZero() || !own.timerAt.IsZero() && !t.Before(own.timerAt) {
		return
	}
	own.timerAt = t
	if own.timer == nil {
		own.timer = time.AfterFunc(time.Until(t), c.expire)
	} else {
		own.timer.Reset(time.Until(t))
	}
}

// expire gives up the calls whose deadline has passed.
func (c *Conn) expire() {
	now := time.Now()
	var over []*call
	c.mu.Lock()
	c.own.timerAt = time.Time{}
	var next time.Time
	for _, w := range c.calls {
		switch {
		case w.deadline.IsZero():
		case !w.deadline.After(now):
			over = append(over, w)
		case next.IsZero() || w.deadline.Before(next):
			next = w.deadline
		}
	}
	for _, w := range over {
		c.giveUpLocked(w)
	}
	if c.State() != Closed {
		c.armTimer(next)
	}
	c.mu.Unlock()
	for _, w := range over {
		e := &TimeoutError{Method: w.method, ID: NewID(w.id), After: w.timeout, WrongID: w.wrongID}
		if !w.hard.IsZero() && !w.hard.After(now) {
			e.Hard, e.After = true, w.hard.Sub(w.started)
		}
		c.sendCancelled(w, e.Error())
		c.complete(w, e, false)
	}
}

// response hands an answer to the call that waits for it. wrong says what is
// the matter with the message, nil if nothing is.
func (c *Conn) response(env *envelope, wrong error) {
	w := env.call
	if w == nil {
		if w = c.take(env.id); w == nil {
			c.stray(env, wrong)
			return
		}
	}
	var err error
	switch {
	case w.o.message != nil && wrong == nil:
		w.raw, w.code = env.data, 0
		if env.rpcErr != nil {
			w.code = env.rpcErr.Code
		}
	case wrong != nil:
		c.ev.note(Event{Kind: InvalidAnswer, Method: w.method, ID: env.id, Err: wrong}, env.data)
		err = &CallError{Method: w.method, ID: env.id, Stage: StageDecode, Err: wrong}
	case env.rpcErr != nil:
		err = env.rpcErr
	case env.has&hasDecoded != 0:
	case w.result != nil:
		var derr error
		if env.problems, derr = c.decodeResult(env.result, w.result); derr != nil {
			c.ev.note(Event{Kind: InvalidAnswer, Method: w.method, ID: env.id, Err: derr}, env.data)
			err = &CallError{Method: w.method, ID: env.id, Stage: StageDecode, Err: derr}
		}
	default:
		w.raw = env.result
	}
	if len(env.problems) > 0 && wrong == nil {
		c.notePassedOver(w, env.id, env.problems, env.data)
		if err == nil {
			err = &StrictError{Problems: env.problems}
		}
	}
	c.notes().answer(w, err)
}

// notePassedOver tells of a result that broke its schema: forgiven, or refused
// where the call asks for a strict one.
func (c *Conn) notePassedOver(w *call, id ID, problems []wire.Problem, data []byte) {
	e := Event{Kind: ForgivenAnswer, Method: w.method, ID: id, Problems: problems}
	if w.o.StrictResult {
		e.Kind, e.Err = InvalidAnswer, &StrictError{Problems: problems}
	}
	c.ev.note(e, data)
}

// decodeResult reads a result leniently and says what was passed over.
func (c *Conn) decodeResult(raw wire.Raw, v wire.Decoder) ([]wire.Problem, error) {
	return decodeResult(raw, v, wire.Options{Lenient: true, Alias: true, MaxDepth: c.o.MaxDepth})
}

// decodeResult reads a result. Its errors and problems have paths that begin
// with "result".
func decodeResult(raw wire.Raw, v wire.Decoder, o wire.Options) ([]wire.Problem, error) {
	d := decs.Get().(*wire.Dec)
	defer func() {
		d.Reset(nil, wire.Options{})
		decs.Put(d)
	}()
	d.Reset(raw, o)
	if err := v.DecodeJSON(d); err != nil {
		return nil, wire.Under("result", err)
	}
	problems := d.Skipped()
	for i, p := range problems {
		problems[i].Path = wire.Under("result", &wire.Error{Path: p.Path}).(*wire.Error).Path
	}
	return problems, nil
}

// stray counts an answer that nobody waits for.
func (c *Conn) stray(env *envelope, wrong error) {
	kind := UnknownAnswer
	c.mu.Lock()
	if n, exact := env.id.Int(); exact {
		if n < 1 || n > c.nextID {
		} else if _, late := c.own.gaveUp[n]; late {
			kind = LateAnswer
			delete(c.own.gaveUp, n) // a second one is a duplicate
		} else {
			kind = DuplicateAnswer
		}
	} else if n, err := strconv.ParseFloat(looseNumber(env.id), 64); err == nil && n >= 1 && n <= float64(c.nextID) {
		kind = WrongIDAnswer
		if w := c.calls[int64(n)]; w != nil && n == float64(w.id) && w.wrongID.IsZero() {
			w.wrongID = env.id
		}
	}
	c.mu.Unlock()
	c.ev.note(Event{Kind: kind, ID: env.id, Err: wrong}, env.data)
}

// looseNumber is what an id would be as a number: of "1", 1.0.
func looseNumber(id ID) string {
	if s, ok := id.Str(); ok {
		return s
	}
	return id.String()
}

// progressed is the peer's notifications/progress: it starts the call's clock
// again and goes to the call's handler. It is false for progress on nothing of
// ours, which a handler of the method may know more about (a gateway's).
// Specification: basic/utilities/progress, basic/patterns/progress (2026-07-28).
func (c *Conn) progressed(env *envelope) bool {
	token, _ := idOf(env.params.Get("progressToken"))
	value, ok := env.params.Get("progress").Float()
	n, exact := token.Int()
	c.mu.Lock()
	w := c.calls[n]
	if !exact || !ok || w == nil || w.progress == nil {
		c.mu.Unlock()
		return false
	}
	if w.timeout > 0 {
		w.deadline = time.Now().Add(w.timeout)
		if !w.hard.IsZero() && w.hard.Before(w.deadline) {
			w.deadline = w.hard
		}
		c.armTimer(w.deadline)
	}
	f := w.progress
	c.mu.Unlock()
	method := env.method
	p := Progress{Progress: value, Params: env.params}
	if t, ok := env.params.Get("total").Float(); ok {
		p.Total = &t
	}
	p.Message, _ = env.params.Get("message").Str()
	c.notes().put(env.method, len(env.data), func() {
		defer func() {
			if v := recover(); v != nil {
				_ = c.panicked(&inbound{method: method}, v)
			}
		}()
		f(p)
	})
	return true
}

// sendFrame hands a frame over: to an exchange, or to the link.
func (c *Conn) sendFrame(ctx context.Context, ex Exchange, data []byte) error {
	c.sent.Add(1)
	switch {
	case ex != nil:
		return ex.Notify(ctx, Frame{Data: data})
	case c.link == nil:
		return errNoLink
	}
	return c.link.Send(ctx, Frame{Data: data})
}

// notify sends a notification, for the request in where there is one.
func (c *Conn) notify(ctx context.Context, in *inbound, method string, params wire.Appender) error {
	c.mu.Lock()
	svc := c.Service()
	if in != nil {
		svc = in.svc
	}
	state := c.State()
	var err error
	switch {
	case state == Closed:
		err = &ClosedError{Cause: c.err}
	case svc == nil, c.side == ClientSide && !svc.rules.Stateless && state < Ready:
		err = &StateError{Op: method, From: state, To: state}
	default:
		if m := svc.methods[method]; m != nil && (c.side == ClientSide && !m.FromClient || c.side == ServerSide && !m.FromServer) {
			err = &DirectionError{Method: method, Revision: svc.o.Revision, Side: c.side}
		} else if svc == c.svc.Load() && c.gate != nil {
			err = c.gate.check(method)
		} else {
			err = svc.own().check(method)
		}
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if c.local != nil {
		return c.notifyLocal(ctx, method, params)
	}
	if svc.rules.Listen && c.side == ServerSide {
		if t, ok := topicOf(method); ok { // these travel on listen streams only
			var raw wire.Raw
			if params != nil {
				raw = params.AppendJSON(nil)
			}
			svc.hub.publish(ctx, changeOf(t, raw))
			return nil
		}
	}
	buf := getBuf()
	defer putBuf(buf)
	buf.b = AppendNotification(buf.b, method, params)
	if method == methodMessage && c.side == ServerSide {
		level, _ := wire.Raw(buf.b).Get("params").Get("level").Str()
		if rank := levelRank(level); rank >= 0 && !c.logs(in, svc, rank) {
			return nil
		}
	}
	if params != nil {
		if err := checkOutput(buf.b, "params", params); err != nil {
			return &CallError{Method: method, Stage: StageEncode, Err: err}
		}
	}
	if in == nil || in.ex == nil {
		return c.sendFrame(ctx, nil, buf.b)
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if in.closed() {
		return &StateError{Op: method + " for a request that is over", From: state, To: state}
	}
	return c.sendFrame(ctx, in.ex, buf.b)
}

// Notify sends a notification. params may be nil. Within a handler of the same
// connection it belongs to the request being handled and is sent before the
// answer; after the answer it is dropped with a *StateError.
func Notify(ctx context.Context, c *Conn, method string, params wire.Appender) error {
	if c == nil {
		return ErrNoPeer
	}
	in := inboundOf(ctx)
	if in != nil && in.c != c {
		in = nil
	}
	return c.notify(ctx, in, method, params)
}

// withMetadata returns the params that a call sends: a copy with the
// connection's _meta, or the caller's own where nothing has to be added.
func withMetadata[P any, PP Params[P]](c *Conn, w *call, params PP) wire.Appender {
	if w.relayed != nil && params != nil {
		c.relayProgress(w, params.Metadata().ProgressToken)
	}
	m := c.metadata()
	if w.progress != nil {
		m.ProgressToken = NewID(w.id)
	}
	if m == (Metadata{}) {
		if params == nil {
			return nil
		}
		return params
	}
	if w.relayed != nil && params != nil && params.Metadata().ClientCapabilities != nil && declaresNothing(m.ClientCapabilities) {
		// A request that is passed on by a client that can be asked nothing:
		// whoever made it can perhaps, and gets what is asked.
		m.ClientCapabilities = nil
	}
	m.PassedOn = params != nil && passedOn(w.relayed, params.Metadata())
	q := PP(new(P))
	if params != nil {
		*q = *params
	}
	q.SetMetadata(m)
	return q
}

// passedOn reports whether params are those of the request that is handled, with
// what its client declares.
func passedOn(in *inbound, own Metadata) bool {
	return in != nil && in.ex != nil && in.svc.rules.Stateless && in.svc.o.Side == ServerSide && own.ProtocolVersion != ""
}

// declaresNothing reports whether capabilities are empty.
func declaresNothing(capabilities wire.Appender) bool {
	return capabilities != nil && emptyObject(capabilities.AppendJSON(nil))
}

// relayProgress makes a call pass its progress on, if it was made with the token
// of the request of another connection that it is made for: then whoever made
// that request wants to hear of it.
func (c *Conn) relayProgress(w *call, token ID) bool {
	if token.IsZero() || w.progress != nil || token != w.relayed.progressToken() {
		return false
	}
	if s := w.relayed.svc; w.relayed.c.side == ClientSide && !s.rules.ClientProgress {
		return false
	}
	relay := w.relayed.relay
	if w.turn != nil {
		relay = w.turn.relay
	}
	c.mu.Lock()
	w.progress = relay
	c.mu.Unlock()
	return true
}

// CallTyped calls a method of the peer and decodes its result. params may be
// nil for a method that needs none. Within a handler of the same connection
// the call belongs to the request being handled. Within a handler of another
// connection it may be that request passed on: with the request's progress token
// in params the peer's progress goes to whoever made the request, and when that
// is cancelled so is the call.
//
// Errors: ErrNoPeer when c is nil, *Error (Remote) when the peer answered with one,
// *NotAdvertisedError, *DirectionError, *StateError, *TimeoutError, and *CallError
// for all that is about the carrier, the answer's shape, a bound (wrapping
// *OverloadError) or the caller's context.
func CallTyped[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	if c != nil && c.local != nil {
		return localResult[R, PR](ctx, c, method, params)
	}
	r := PR(new(R))
	if err := callInto(ctx, c, method, r, params); err != nil {
		return nil, err
	}
	return r, nil
}

// callInto makes a call, through the middleware, and decodes its result into r.
func callInto[P any, PP Params[P]](ctx context.Context, c *Conn, method string, r wire.Decoder, params PP) error {
	if c.wrapped() {
		return c.leave(ctx, method, func(ctx context.Context) error { return callPlain(ctx, c, method, r, params) })
	}
	return callPlain(ctx, c, method, r, params)
}

func callPlain[P any, PP Params[P]](ctx context.Context, c *Conn, method string, r wire.Decoder, params PP) error {
	w, err := c.begin(ctx, method, r)
	if err != nil {
		return err
	}
	return c.roundTrip(ctx, w, withMetadata(c, w, params))
}

// CallRaw calls a method with raw params (nil: none) and returns the raw
// result, which is the caller's. The connection's _meta is not added; a progress
// token is replaced as CallTyped does it.
func CallRaw(ctx context.Context, c *Conn, method string, params wire.Raw) (wire.Raw, error) {
	if c != nil && c.local != nil {
		var p any
		if params != nil {
			p = rawAppender(params)
		}
		r, err := c.callLocal(ctx, method, p)
		if err != nil {
			return nil, err
		}
		return wire.ParseRaw(r.AppendJSON(nil))
	}
	if c.wrapped() {
		return callRawWrapped(ctx, c, method, params)
	}
	return callRaw(ctx, c, method, params)
}

func callRawWrapped(ctx context.Context, c *Conn, method string, params wire.Raw) (r wire.Raw, err error) {
	err = c.leave(ctx, method, func(ctx context.Context) (err error) {
		r, err = callRaw(ctx, c, method, params)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func callRaw(ctx context.Context, c *Conn, method string, params wire.Raw) (wire.Raw, error) {
	w, err := c.begin(ctx, method, nil)
	if err != nil {
		return nil, err
	}
	var p wire.Appender
	if params != nil {
		p = rawAppender(params)
		if w.relayed != nil && c.relayProgress(w, rawMetadata(params).ProgressToken) {
			p = tokenParams{params, NewID(w.id)}
		}
	}
	if err := c.roundTrip(ctx, w, p); err != nil {
		return nil, err
	}
	return w.raw, nil
}

// Ping asks the peer for a sign of life (basic/utilities/ping). Revisions without
// ping fail with a *DirectionError.
func (c *Conn) Ping(ctx context.Context) error {
	if svc := c.Service(); svc != nil && !svc.rules.Ping {
		return &DirectionError{Method: methodPing, Revision: svc.o.Revision, Side: c.side}
	}
	if c != nil && c.local != nil {
		_, err := c.callLocal(ctx, methodPing, nil)
		return err
	}
	_, err := callRaw(ctx, c, methodPing, nil)
	return err
}
