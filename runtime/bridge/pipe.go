package bridge

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// pipe passes messages to a server that speaks what its clients do, and back, as
// they are. It is also the relay of what the server sends.
type pipe struct {
	b    *Bridge
	up   *jsonrpc.Conn
	down *jsonrpc.Conn // the one client; nil where several share the server
	asks *lane         // requests of clients
	back *lane         // requests of the server; of one client only
	// order is held while the server is told that the client is initialized, which
	// no request of the client's may overtake.
	order sync.RWMutex
	// info is what a server of a stateless revision says of itself, nil for nothing.
	info wire.Raw
	// tell gets what a shared server says of its own accord; nil drops it.
	tell func(method string, msg []byte)
}

// dial opens a pipe for clients of a revision: for the one that down is, or for
// several; tell is that of pipe.
func (b *Bridge) dial(ctx context.Context, rev string, down *jsonrpc.Conn, tell func(method string, msg []byte)) (*pipe, error) {
	l, err := b.d.Dial(ctx)
	if err != nil {
		return nil, err
	}
	p := &pipe{b: b, down: down, tell: tell}
	o := b.options()
	if down == nil {
		o.MaxInFlight = manyInFlight // subscriptions are among them
	}
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Side: jsonrpc.ClientSide, Relay: p, Options: o})
	p.up = jsonrpc.NewConn(l, svc, jsonrpc.ClientSide)
	p.asks = newLane(!streams(l))
	if down != nil {
		p.back = newLane(!streams(down.Link()))
	} else {
		p.back = newLane(false)
	}
	if err := p.up.Start(); err != nil {
		_ = l.Close(ctx)
		return nil, err
	}
	return p, nil
}

// streams reports whether a carrier is HTTP, where messages need not be lines.
func streams(l jsonrpc.Link) bool {
	c, ok := l.(jsonrpc.Carrier)
	if !ok {
		return false
	}
	rules := c.Carrier()
	return rules.CallStreams || rules.Outlives
}

func (p *pipe) upstream() *jsonrpc.Conn { return p.up }

// request passes a client's request up.
func (p *pipe) request(ctx context.Context) (jsonrpc.Answer, error) {
	p.initialized()
	r := handled(ctx)
	call := ctx
	if r.method == methodListen {
		// A client that nothing can be sent to any more has gone: see send.
		var cancel context.CancelCauseFunc
		call, cancel = context.WithCancelCause(ctx)
		defer cancel(nil)
		r.ctx = &listening{Context: ctx, cancel: cancel}
	}
	a, err := p.asks.pass(call, p.up, r)
	if err != nil && r.method == methodListen && r.conn.State() == jsonrpc.Draining {
		return ended(r.id, p.info), nil
	}
	return a, gone(err)
}

// initialized waits while the server is being told that the client is.
func (p *pipe) initialized() {
	p.order.RLock()
	defer p.order.RUnlock()
}

// listening is the context of a subscription.
type listening struct {
	context.Context
	cancel context.CancelCauseFunc
}

// ended is the result of a subscription that the bridge ends. Like the server's
// own results it holds what that says of itself; info is nil for nothing.
func ended(id jsonrpc.ID, info wire.Raw) jsonrpc.Answer {
	b := append([]byte(nil), `{"resultType":"complete","_meta":{`...)
	if info != nil {
		b = append(b, `"`+metaServerInfo+`":`...)
		b = append(wire.AppendRaw(b, info), ',')
	}
	b = id.AppendJSON(append(b, `"`+metaSubscription+`":`...))
	return result(id, append(b, "}}"...))
}

// notification passes a client's notification up.
func (p *pipe) notification(ctx context.Context) {
	peer := jsonrpc.PeerOf(ctx)
	msg := peer.Message()
	var err error
	switch peer.Method() {
	case methodCancelled:
		err = p.asks.cancelled(ctx, p.up, peer.Conn(), msg)
	case methodProgress:
		err = p.progress(ctx, p.back, p.asks, msg)
	default:
		if peer.Method() == methodInitialized {
			p.order.Lock()
			defer p.order.Unlock()
		}
		if p.asks.lines {
			msg = oneLine(bytes.Clone(msg))
		}
		err = jsonrpc.SendMessage(ctx, p.up, msg)
	}
	p.b.lost(peer.Method(), err)
}

// progress passes progress on a request of lane l on to who made it; along is the
// lane of requests the same way.
func (p *pipe) progress(ctx context.Context, l, along *lane, msg []byte) error {
	m, err := mark(msg, methodProgress, false)
	if err != nil {
		return err
	}
	x, last := l.token(m.id(memberToken))
	to, token := last.conn, last.token
	switch {
	case x != nil && !x.token.IsZero():
		to, token = x.origin.conn, x.token
	case !token.IsZero():
		x = nil
	default:
		return errNobody
	}
	b := along.notice(m, func(what member) jsonrpc.ID {
		if what == memberToken {
			return token
		}
		return jsonrpc.ID{}
	})
	return p.send(ctx, to, x, b)
}

var errNobody = errors.New("it is about nothing that is under way")

// send sends a notification to a client, or for a client's request where x is
// one. Where clients share the server none of them can hold the others up.
func (p *pipe) send(ctx context.Context, to *jsonrpc.Conn, x *passing, msg []byte) error {
	if p.down == nil && to != p.up {
		ctx = overContext
	}
	if x == nil {
		return jsonrpc.SendMessage(ctx, to, msg)
	}
	err := jsonrpc.SendMessage(joined{ctx, x.ctx}, to, msg)
	if l, ok := x.ctx.(*listening); ok && err != nil {
		l.cancel(err)
	}
	return err
}

// overContext has ended: what is sent with it is taken only if nobody has to
// wait.
var overContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// joined is a context that ends as the first does and belongs to the message that
// the second is the handler's of.
type joined struct {
	context.Context
	values context.Context
}

// Value finds what the second has before what the first has.
func (j joined) Value(key any) any {
	if v := j.values.Value(key); v != nil {
		return v
	}
	return j.Context.Value(key)
}

// Request passes a request of the server down.
func (p *pipe) Request(ctx context.Context) (jsonrpc.Answer, error) {
	r := handled(ctx)
	r.detach = nil
	if p.down == nil || r.method == methodPing && p.idle() {
		// Whom it would be meant for cannot be told, or it may be that nobody
		// hears of it.
		if r.method == methodPing {
			return result(r.id, wire.Raw("{}")), nil
		}
		return jsonrpc.Answer{}, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "method not found: %s", r.method)
	}
	if x := p.about(jsonrpc.PeerOf(ctx).CallID(), r.method); x != nil {
		a, err := p.back.pass(joined{ctx, x.ctx}, p.down, r)
		// It may have been answered meanwhile, or its client takes nothing but the
		// answer: then it is asked outside of it.
		if e, ok := errors.AsType[*jsonrpc.CallError](err); !ok || e.Stage != jsonrpc.StageSend || ctx.Err() != nil || p.down.State() >= jsonrpc.Draining {
			return a, gone(err)
		}
	}
	a, err := p.back.pass(ctx, p.down, r)
	return a, gone(err)
}

// idle reports whether nothing of a client's is under way that comes and goes.
func (p *pipe) idle() bool {
	x, _ := p.asks.newest(func(*passing) bool { return true })
	return x == nil && streams(p.down.Link())
}

// about is the request of the client that a message of the server belongs to: the
// one on whose stream it came, or else the newest, since the client is sure to
// hear what is sent for a request. It is nil for a message that is about none.
func (p *pipe) about(call jsonrpc.ID, method string) *passing {
	if !call.IsZero() {
		return p.asks.at(call)
	}
	switch method {
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated", "notifications/tasks/status":
		return nil
	}
	x, _ := p.asks.newest(func(x *passing) bool { return x.method != methodInitialize && !x.wasTold() })
	return x
}

// Notification passes a notification of the server down.
func (p *pipe) Notification(ctx context.Context) {
	peer := jsonrpc.PeerOf(ctx)
	p.b.lost(peer.Method(), p.notify(ctx, peer))
}

func (p *pipe) notify(ctx context.Context, peer jsonrpc.Peer) error {
	msg, method := peer.Message(), peer.Method()
	switch method {
	case methodProgress:
		return p.progress(ctx, p.asks, p.back, msg)
	case methodCancelled:
		return p.cancelled(ctx, msg)
	}
	m, err := mark(msg, method, false)
	if err != nil {
		return err
	}
	if id := m.id(memberSubscription); !id.IsZero() {
		x := p.asks.at(id)
		if x == nil {
			return errNobody
		}
		return p.send(ctx, x.origin.conn, x, p.subscribed(m, x))
	}
	b := p.back.notice(m, func(member) jsonrpc.ID { return jsonrpc.ID{} })
	if p.down == nil {
		if x := p.logged(peer.CallID(), method); x != nil {
			return p.send(ctx, x.origin.conn, x, b)
		}
		if p.tell == nil {
			return errNobody
		}
		p.tell(method, b)
		return nil
	}
	if x := p.about(peer.CallID(), method); x != nil {
		err := p.send(ctx, p.down, x, b)
		if _, over := errors.AsType[*jsonrpc.StateError](err); !over {
			return err
		}
	}
	return p.send(ctx, p.down, nil, b)
}

// subscribed is a message of a subscription as the client has to see it.
func (p *pipe) subscribed(m *marks, x *passing) []byte {
	return p.back.notice(m, func(what member) jsonrpc.ID {
		switch what {
		case memberSubscription, memberRequest:
			return x.origin.id
		}
		return jsonrpc.ID{}
	})
}

// logged is the request that a log message of a server without sessions is for.
// On a carrier that does not tell, it is the only one that asks for any: what one
// client does is not to be told to another.
func (p *pipe) logged(call jsonrpc.ID, method string) *passing {
	if !call.IsZero() {
		return p.asks.at(call)
	}
	if method != methodMessage {
		return nil
	}
	x, only := p.asks.newest(func(x *passing) bool { return x.logs })
	if !only && x != nil {
		one := x.origin.conn
		if other, _ := p.asks.newest(func(y *passing) bool { return y.logs && y.origin.conn != one }); other != nil {
			return nil
		}
	}
	return x
}

// cancelled passes on that the server gives up a request of its own, or, without
// sessions, that it ends a subscription.
func (p *pipe) cancelled(ctx context.Context, msg []byte) error {
	m, err := mark(msg, methodCancelled, false)
	if err != nil {
		return err
	}
	if x := p.asks.at(m.id(memberRequest)); x != nil && x.method == methodListen {
		return p.send(ctx, x.origin.conn, x, p.subscribed(m, x))
	}
	if p.down == nil {
		return nil
	}
	return p.back.cancelled(ctx, p.down, p.up, msg)
}

// lost says that a notification could not be passed on.
func (b *Bridge) lost(method string, err error) {
	if err != nil {
		b.log.Debug("a notification was not passed on", "method", method, "err", err)
	}
}

// asksForLogs reports whether a request of the stateless revision wants to hear
// log messages.
func asksForLogs(msg []byte) bool {
	if !bytes.Contains(msg, []byte(metaLogLevel)) && bytes.IndexByte(msg, '\\') < 0 { // a name may be spelled with escapes
		return false
	}
	return wire.Raw(msg).Get("params").Get("_meta").Get(metaLogLevel) != nil
}

// lasts reports whether a request asks for a task, which goes on when it is
// answered (2025-11-25, basic/utilities/tasks).
func lasts(msg []byte) bool {
	if !bytes.Contains(msg, []byte(`"task"`)) && bytes.IndexByte(msg, '\\') < 0 {
		return false
	}
	return wire.Raw(msg).Get("params").Get("task") != nil
}
