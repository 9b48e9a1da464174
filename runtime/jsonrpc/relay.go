package jsonrpc

import (
	"context"
	"errors"
)

// Relay takes what comes in on the connections of a service as whole messages,
// byte for byte, in place of handlers (ServiceOptions.Relay): for a program that
// passes messages on without being a party to what they say. PeerOf(ctx) has the
// message, its id and the connection. The connection still keeps its envelope
// rules and limits, its states, and ids apart; whatever a message says is up to
// the relay, ping, subscriptions/listen and progress included. So is what comes
// while initialize is not answered.
type Relay interface {
	// Request answers a request, on the goroutine that read it (a client's on
	// one of its own). ctx ends when the request is cancelled; that of a
	// subscriptions/listen also when the connection drains, and then it may
	// still be answered. An error is answered as a handler's.
	Request(ctx context.Context) (Answer, error)
	// Notification takes a notification, on the goroutine that read it and in
	// order with what was read before and after: it should not wait for long.
	// notifications/cancelled comes here before the context of what it cancels
	// ends.
	Notification(ctx context.Context)
}

// Answer is a whole answer.
type Answer struct {
	Data []byte // the message; whoever gets it may keep and change it
	Code int64  // of the error that it holds, 0 for a result
}

var relayEntry = new(entry)

// relayRequest writes the relay's answer into buf, and returns its code.
func (c *Conn) relayRequest(in *inbound, buf *buffer) int64 {
	a, err := in.svc.o.Relay.Request(in)
	if err != nil {
		return c.fail(in, buf, err)
	}
	buf.b = a.Data
	switch {
	case !in.opens():
	case a.Code == 0:
		c.initialized(in)
	default:
		c.uninitialized(in)
	}
	return a.Code
}

func (c *Conn) relayNotification(ex Exchange, svc *Service, env *envelope) {
	in := &inbound{parent: c.ctx, c: c, svc: svc, method: env.method, header: env.header, data: env.data}
	if w := waiterOf(ex); w != nil {
		in.seldom = &seldom{carried: w}
	}
	defer in.release()
	defer func() {
		if v := recover(); v != nil {
			_ = c.panicked(in, v)
		}
	}()
	svc.o.Relay.Notification(in)
}

// Carried is an Exchange of what comes on the stream of one of our calls.
type Carried interface {
	// Waiter is the call, nil for none.
	Waiter() Waiter
}

func waiterOf(ex Exchange) Waiter {
	if x, ok := ex.(Carried); ok {
		return x.Waiter()
	}
	return nil
}

// CallID is the id of the call of ours on whose stream the message came, where
// the carrier has such streams (Carried); zero for none.
func (p Peer) CallID() ID {
	if w := p.carried(); w != nil {
		return NewID(w.id)
	}
	return ID{}
}

// CallContext is the context of the handler, of another connection, that made
// that call; nil for none.
func (p Peer) CallContext() context.Context {
	if w := p.carried(); w != nil && w.relayed != nil {
		return w.relayed
	}
	return nil
}

func (p Peer) carried() *call {
	in := p.request()
	if in == nil {
		return nil
	}
	var w Waiter
	if in.ex != nil {
		w = waiterOf(in.ex)
	} else {
		in.mu.Lock()
		if in.seldom != nil {
			w = in.seldom.carried
		}
		in.mu.Unlock()
	}
	c, _ := w.(*call)
	return c
}

// MessageCall is a call as CallMessage makes it.
type MessageCall struct {
	// Method is the request's.
	Method string
	// Append appends the request with the id that the connection has chosen. It
	// is called once, unless no request is made.
	Append func(b []byte, id ID) []byte
	// Taken, if set, is called once when the carrier has the request, from
	// whichever goroutine sees that.
	Taken func()
	// Cancelled, if set, is asked when the call is given up: true means that the
	// peer has been told, so that no notifications/cancelled is sent.
	Cancelled func() bool
}

// hear tells that the request has left.
func (m *MessageCall) hear(w *call) {
	if m.Taken != nil && w.heard.CompareAndSwap(false, true) {
		m.Taken()
	}
}

// CallMessage makes a call with a message of the caller's own and returns the
// answer as it came, an error too. Neither the state of the connection nor what
// the peer advertises is held against it, unless the connection drains or is
// closed. Deadlines and cancellation are those of any call, and so are the
// errors, an *Error excepted: with Remote it is an answer that the carrier read as
// part of a failure of its own. Within a handler of the same connection the call
// belongs to the request being handled.
func CallMessage(ctx context.Context, c *Conn, m *MessageCall) (Answer, error) {
	if c == nil {
		return Answer{}, ErrNoPeer
	}
	o := CallOptionsOf(ctx)
	o.message = m
	ctx = WithCallOptions(ctx, o)
	w, err := c.begin(ctx, m.Method, nil)
	if err != nil {
		return Answer{}, err
	}
	err = c.roundTrip(ctx, w, nil)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Data: w.raw, Code: w.code}, nil
}

// SendMessage sends a notification as a whole message. Within a handler of the
// same connection it belongs to the request being handled, and fails with a
// *StateError once that is answered. As with Link.Send, what can be taken without
// waiting is taken even when ctx has ended.
func SendMessage(ctx context.Context, c *Conn, msg []byte) error {
	if c == nil {
		return ErrNoPeer
	}
	if c.State() == Closed {
		return &ClosedError{Cause: c.Err()}
	}
	in := inboundOf(ctx)
	if in == nil || in.c != c || in.ex == nil {
		return c.sendFrame(ctx, nil, msg)
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if in.closed() {
		return &StateError{Op: "a notification for a request that is over", From: c.State(), To: c.State()}
	}
	return c.sendFrame(ctx, in.ex, msg)
}

// endListens ends the contexts of the subscriptions that a relay answers, as the
// connection drains.
func (c *Conn) endListens() {
	var listens []*inbound
	c.mu.Lock()
	for in := range c.inflight.all() {
		if in.listen == nil && in.method == methodListen && in.svc.o.Relay != nil {
			listens = append(listens, in)
		}
	}
	c.mu.Unlock()
	for _, in := range listens {
		in.end(context.Canceled, errDrains)
	}
}

var errDrains = errors.New("the connection drains")
