package jsonrpc

import (
	"context"
	"fmt"
	"sync"

	"github.com/goldwire/goldwire/runtime/wire"
)

// LocalOptions describe what is on the other end of a local connection.
type LocalOptions struct {
	// Server answers the calls: the service of a Server.
	Server *Service
	// Below is the connection that the server's funcs call in the end. The local
	// one ends with it, and closes it.
	Below *Conn
	// Ping answers Conn.Ping; nil asks Below.
	Ping func(ctx context.Context) error
	// Listen opens a subscription; nil says that there is no such method.
	Listen func(ctx context.Context, params any) (*Subscription, error)
}

// Local makes the connection of a client to a server in the same process:
// nothing is encoded, the server's funcs are called with the caller's context.
// The handshake is the caller's, as after Dial. It is what a client written for
// one revision calls that is connected to a server of another.
func Local(client Binder, o LocalOptions) (*Conn, error) {
	ch, err := Bind(client)
	if err != nil {
		return nil, err
	}
	var l Link
	if o.Below != nil {
		l = &belowLink{c: o.Below}
	}
	c := NewConn(l, ch, ClientSide)
	c.o, c.local = new(Options), &o
	c.ev = newEvents(c.o)
	if err := c.Start(); err != nil {
		return nil, err
	}
	return c, nil
}

// localClient is the connection of a handler to its client in another revision.
func localClient(rev string, client *Service) *Conn {
	svc := NewService(ServiceOptions{Revision: rev, Side: ServerSide, Methods: client.o.Methods})
	c := NewConn(nil, svc, ServerSide)
	c.local = &LocalOptions{Server: client}
	s := Session{Revision: rev, Info: client.Info(), Capabilities: client.caps}
	if s.Capabilities == nil {
		s.Capabilities = wire.Raw("{}")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setSession(svc, s)
	_ = c.transition("local", Ready)
	c.gate = svc.peerGate(s.Capabilities)
	return c
}

// Below is the connection that a local one stands on; for any other it is the
// connection itself.
func (c *Conn) Below() *Conn {
	if c != nil && c.local != nil && c.local.Below != nil {
		return c.local.Below
	}
	return c
}

// peerGate refuses what a client does not advertise, and nothing for want of
// capabilities of ours.
func (s *Service) peerGate(capabilities wire.Raw) *gate {
	return newGate(s.o.Methods, ServerSide, nil, capabilities)
}

// belowLink is the carrier of a local connection: another connection.
type belowLink struct{ c *Conn }

func (l *belowLink) Start(r Receiver) error {
	go func() {
		<-l.c.Done()
		r.Closed(l.c.Err())
	}()
	return nil
}

func (l *belowLink) Send(context.Context, Frame) error         { return errNoLink }
func (l *belowLink) Call(context.Context, Frame, Waiter) error { return errNoLink }
func (l *belowLink) Close(ctx context.Context) error           { return l.c.Close(ctx) }
func (l *belowLink) Done() <-chan struct{}                     { return l.c.Done() }
func (l *belowLink) Err() error                                { return l.c.Err() }

// callLocal calls the func behind a method, and returns what that returned.
func (c *Conn) callLocal(ctx context.Context, method string, params any) (r wire.Appender, err error) {
	c.mu.Lock()
	err = c.mayCall(method)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, &CallError{Method: method, Stage: StageQueue, Err: ContextError(ctx)}
	}
	s := c.local.Server
	e := s.entries[method]
	switch {
	case e != nil && e.invoke != nil:
		defer func() {
			if v := recover(); v != nil {
				r, err = nil, c.panicked(&inbound{method: method}, v)
			}
		}()
		return e.invoke(ctx, params)
	case method == methodPing && c.local.Ping != nil:
		return rawAppender(nil), c.local.Ping(ctx)
	case method == methodPing && c.local.Below != nil:
		return rawAppender(nil), c.local.Below.Ping(ctx)
	case s.o.Unknown != nil && s.methods[method] == nil:
		raw, err := rawParams(params)
		if err != nil {
			return nil, err
		}
		res, err := s.o.Unknown(ctx, method, raw)
		return rawAppender(res), err
	}
	err = methodNotFound(method)
	err.(*Error).Remote = true
	return nil, err
}

// notifyLocal is callLocal for a notification.
func (c *Conn) notifyLocal(ctx context.Context, method string, params any) error {
	s := c.local.Server
	if e := s.entries[method]; e != nil && e.notify != nil {
		return e.notify(ctx, params)
	}
	if s.o.UnknownNotification != nil && s.methods[method] == nil {
		raw, err := rawParams(params)
		if err != nil {
			return err
		}
		s.o.UnknownNotification(ctx, method, raw)
	}
	return nil
}

func rawParams(params any) (wire.Raw, error) {
	a, ok := params.(wire.Appender)
	if !ok || isNil(a) {
		return nil, nil
	}
	return wire.ParseRaw(a.AppendJSON(nil))
}

// localResult makes what a func returned the result of a call.
func localResult[R any, PR interface {
	*R
	wire.Decoder
}](ctx context.Context, c *Conn, method string, params any) (PR, error) {
	v, err := c.callLocal(ctx, method, params)
	if err != nil {
		return nil, err
	}
	if r, ok := v.(PR); ok {
		return r, nil
	}
	r := PR(new(R))
	if _, err := c.decodeResult(v.AppendJSON(nil), r); err != nil {
		return nil, &CallError{Method: method, Stage: StageDecode, Err: err}
	}
	return r, nil
}

// localHandshake asks the server what it is.
func localHandshake[R any, PR interface {
	*R
	wire.Decoder
}](ctx context.Context, c *Conn, method string, params any) (PR, error) {
	e := c.local.Server.entries[method]
	if e == nil || e.call == nil {
		return nil, c.abandon(ctx, methodNotFound(method))
	}
	out, err := e.call(ctx, params, nil) // as on the wire, with what that adds
	if err != nil {
		return nil, c.abandon(ctx, err)
	}
	raw, r := wire.Raw(out), PR(new(R))
	if _, err := c.decodeResult(raw, r); err != nil {
		return nil, c.abandon(ctx, err)
	}
	svc, to := c.local.Server, Initializing
	s := Session{Revision: svc.o.Revision, Info: svc.Info(), Capabilities: capabilitiesOf(raw), Result: raw}
	s.Instructions, _ = raw.Get("instructions").Str()
	if method == methodDiscover {
		s.Supported, to = versionsIn(raw.Get("supportedVersions")), Ready
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.State() == Closed {
		return nil, &CallError{Method: method, Stage: StageQueue, Err: &ClosedError{Cause: c.err}}
	}
	c.setSession(c.Service(), s)
	_ = c.transition(method, to)
	if to != Ready {
		_ = c.transition(method, Ready)
	}
	return r, nil
}

// paramsAs is what a handler gets: its own type, never nil. Params of another
// type, as raw ones, are decoded.
func paramsAs[P any, PP interface {
	*P
	wire.Decoder
}](params any) (PP, error) {
	switch p := params.(type) {
	case PP:
		if p != nil {
			return p, nil
		}
	case nil:
	case wire.Appender:
		if isNil(p) {
			break
		}
		q := PP(new(P))
		if err := wire.Decode(p.AppendJSON(nil), wire.Options{}, q); err != nil {
			return nil, wire.Under("params", err)
		}
		return q, nil
	default:
		return nil, fmt.Errorf("params of type %T", params)
	}
	return new(P), nil
}

// Once returns what f makes, and keeps it under key for as long as the client's
// connection lasts: for what a session says once and many requests need. Where a
// connection is one request, as in the stateless revisions over HTTP, it is made
// for each. f may be called twice at the same time, and one value is kept. Outside of a handler nothing is kept.
func (p Peer) Once(key any, f func() any) any {
	in := p.request()
	if in == nil {
		return f()
	}
	return in.c.Once(key, f)
}

// Connection is the connection that the request came on, also where Conn is that of
// a handler of another revision; nil outside of a handler.
func (p Peer) Connection() *Conn {
	if in := p.request(); in != nil {
		return in.c
	}
	return nil
}

// Once returns what f makes, and keeps it under key for as long as the connection
// is kept. f may be called twice at the same time, and one value is kept.
func (c *Conn) Once(key any, f func() any) any {
	kept := c.once.Load()
	if kept == nil {
		c.once.CompareAndSwap(nil, new(sync.Map))
		kept = c.once.Load()
	}
	if v, ok := kept.Load(key); ok {
		return v
	}
	v, _ := kept.LoadOrStore(key, f())
	return v
}
