package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// session is a client of a stateful revision.
type session struct {
	down  *jsonrpc.Conn
	route route
}

// opening is a session whose initialize is not answered.
type opening struct {
	service *jsonrpc.Service // that answers the client
	over    chan struct{}    // closed when initialize is answered

	mu    sync.Mutex
	queue []func(route) // notifications that came meanwhile
	ended bool
}

// maxEarly bounds the notifications that wait for the session that they belong to;
// the others are dropped.
const maxEarly = 64

// put keeps a notification; false when the session has begun.
func (o *opening) put(f func(route)) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return false
	}
	if len(o.queue) < maxEarly {
		o.queue = append(o.queue, f)
	}
	return true
}

// end passes on what waited; r is nil where there is no session.
func (o *opening) end(r route) {
	for {
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		o.ended = len(queue) == 0
		ended := o.ended
		o.mu.Unlock()
		if ended {
			close(o.over)
			return
		}
		for _, f := range queue {
			if r != nil {
				f(r)
			}
		}
	}
}

// session is that of a client, or the one that it is about to have; nil for none.
func (b *Bridge) session(down *jsonrpc.Conn) (*session, *opening) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[down], b.opening[down]
}

// open begins a session: it finds the server for it and answers initialize. A
// server that agrees to the client's revision is passed what the client says from
// the first message on; any other is spoken to through a conversion.
func (b *Bridge) open(ctx context.Context) (jsonrpc.Answer, error) {
	if !b.begin() {
		return jsonrpc.Answer{}, errClosed
	}
	defer b.work.Done()
	p := jsonrpc.PeerOf(ctx)
	down := p.Conn()
	o := b.reserve(down, p.Service())
	if o == nil {
		return jsonrpc.Answer{}, &jsonrpc.Error{Code: jsonrpc.CodeOverloaded, Message: "too many sessions", Data: wire.Raw(`{"retryAfterMs":1000}`)}
	}
	open, watch := b.openRoute, b.watch
	if b.o.Shared {
		open, watch = b.openShared, b.watchShared
	}
	r, a, err := open(ctx)
	b.mu.Lock()
	delete(b.opening, down)
	if r != nil {
		b.sessions[down] = &session{down: down, route: r}
		b.work.Add(1)
		go watch(down, r)
	}
	b.mu.Unlock()
	o.end(r)
	return a, err
}

// reserve counts a session that is about to begin, nil if there are too many.
func (b *Bridge) reserve(down *jsonrpc.Conn, service *jsonrpc.Service) *opening {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.o.Shared && len(b.sessions)+len(b.opening) >= b.o.MaxSessions+slack {
		return nil
	}
	o := &opening{service: service, over: make(chan struct{})}
	b.opening[down] = o
	return o
}

// openRoute makes the route of a session and the answer to its initialize. The
// route is nil when there is none.
func (b *Bridge) openRoute(ctx context.Context) (route, jsonrpc.Answer, error) {
	// A client that goes away does not end its initialize, which must not be
	// cancelled: nothing but time and the bridge do.
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	defer context.AfterFunc(b.ctx, cancel)()
	r, a, err := b.findRoute(ctx)
	if err != nil && ctx.Err() != nil {
		if b.ctx.Err() != nil {
			err = errClosed
		} else {
			err = gone(err)
		}
	}
	return r, a, err
}

func (b *Bridge) findRoute(ctx context.Context) (route, jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	version, _ := wire.Raw(p.Message()).Get("params").Get("protocolVersion").Str()
	if b.converting(version) {
		c, a, err := b.openConverter(ctx)
		if err != nil || a.Code != 0 {
			return nil, a, err
		}
		return c, a, nil
	}
	raw, a, err := b.openPipe(ctx)
	switch {
	case err == nil && a.Code == 0 && b.agreed(version, a):
		return raw, a, nil
	case err != nil && !refused(err):
		return nil, a, err
	case raw != nil:
		b.end(raw.up)
	}
	c, converted, cerr := b.openConverter(ctx)
	switch {
	case cerr == nil && converted.Code == 0:
		if said := err == nil && a.Code == 0; c.speaks() != version && (said || denies(codeOf(a, err))) {
			b.convert(version)
		}
		return c, converted, nil
	case err != nil || a.Code != 0:
		return nil, a, err
	}
	// It cannot be converted. The client has to see what it can do with the
	// revision that the server offers.
	raw, a, err = b.openPipe(ctx)
	switch {
	case err == nil && a.Code == 0:
		return raw, a, nil
	case raw != nil:
		b.end(raw.up)
	}
	return nil, a, err
}

// openPipe passes initialize to a server as it is. The pipe is nil when that gave
// an error.
func (b *Bridge) openPipe(ctx context.Context) (*pipe, jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	raw, err := b.dial(ctx, p.Service().Revision(), p.Conn(), nil)
	if err != nil {
		return nil, jsonrpc.Answer{}, gone(err)
	}
	a, err := raw.request(ctx)
	if err != nil {
		b.end(raw.up)
		return nil, a, err
	}
	return raw, a, nil
}

// refused reports whether an error is an answer of the server's.
func refused(err error) bool {
	e, ok := err.(*jsonrpc.Error)
	return ok && e.Remote
}

// codeOf is the code of the error that a server answered with, 0 for none.
func codeOf(a jsonrpc.Answer, err error) int64 {
	if refused(err) {
		return err.(*jsonrpc.Error).Code
	}
	return a.Code
}

// denies reports whether the code of an error says that the server does not speak
// a revision, and not only that it cannot answer at the moment.
func denies(code int64) bool {
	return code != 0 && !(&jsonrpc.Error{Code: code}).Temporary()
}

// agreed reports whether the answer to initialize names the client's revision,
// or the client named none that is known.
func (b *Bridge) agreed(version string, a jsonrpc.Answer) bool {
	got, _ := wire.Raw(a.Data).Get("result").Get("protocolVersion").Str()
	return got == version || b.services[version] == nil
}

// converting reports whether the server is known to speak something else than
// the client of a revision.
func (b *Bridge) converting(version string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, known := b.converts[version]
	return known && time.Since(since) < remembered
}

func (b *Bridge) convert(version string) {
	if b.services[version] == nil {
		return
	}
	b.mu.Lock()
	b.converts[version] = time.Now()
	b.mu.Unlock()
}

// watch ends a session with its server, and the server with the session.
func (b *Bridge) watch(down *jsonrpc.Conn, r route) {
	defer b.work.Done()
	up := r.upstream()
	select {
	case <-down.Done():
	case <-b.ctx.Done():
	case <-up.Done():
		b.ended(up)
		b.mu.Lock()
		if b.err = up.Err(); b.err == nil {
			b.err = jsonrpc.ErrClosed
		}
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		_ = down.Drain(ctx) // what waits is answered by now, or about to be
		cancel()
	}
	b.mu.Lock()
	delete(b.sessions, down)
	b.mu.Unlock()
	b.end(up)
	_ = down.Close(context.Background())
}

// ended logs how a server ended.
func (b *Bridge) ended(up *jsonrpc.Conn) {
	if err := up.Err(); err != nil {
		b.log.Warn("the server has ended", "err", err)
		return
	}
	b.log.Info("the server has ended")
}

// end ends a server and waits until nothing of it is left.
func (b *Bridge) end(up *jsonrpc.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // a carrier bounds its own end
	defer cancel()
	_ = up.Close(ctx)
}
