package bridge

import (
	"context"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// session is a client of a stateful revision.
type session struct {
	down  *jsonrpc.Conn
	route route
}

func (b *Bridge) session(down *jsonrpc.Conn) *session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[down]
}

// open begins a session: it finds the server for it and answers initialize. A
// server that agrees to the client's revision is passed what the client says from
// the first message on; any other is spoken to through a conversion.
func (b *Bridge) open(ctx context.Context) (jsonrpc.Answer, error) {
	if b.o.Shared {
		return b.openShared(ctx)
	}
	if !b.begin() {
		return jsonrpc.Answer{}, errClosed
	}
	defer b.work.Done()
	if !b.reserve() {
		return jsonrpc.Answer{}, &jsonrpc.Error{Code: jsonrpc.CodeOverloaded, Message: "too many sessions", Data: wire.Raw(`{"retryAfterMs":1000}`)}
	}
	r, a, err := b.openRoute(ctx)
	down := jsonrpc.PeerOf(ctx).Conn()
	b.mu.Lock()
	b.opening--
	if r != nil {
		b.sessions[down] = &session{down: down, route: r}
		b.work.Add(1)
	}
	b.mu.Unlock()
	if r != nil {
		go b.watch(down, r)
	}
	return a, err
}

// reserve counts a session that is about to begin.
func (b *Bridge) reserve() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sessions)+b.opening >= b.o.MaxSessions+slack {
		return false
	}
	b.opening++
	return true
}

// openRoute makes the route of a session and the answer to its initialize. The
// route is nil when there is none.
func (b *Bridge) openRoute(ctx context.Context) (route, jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	version, _ := wire.Raw(p.Message()).Get("params").Get("protocolVersion").Str()
	if b.converting(version) {
		return b.openConverter(ctx)
	}
	raw, err := b.dial(ctx, p.Service().Revision(), p.Conn())
	if err != nil {
		return nil, jsonrpc.Answer{}, gone(err)
	}
	a, err := raw.request(ctx)
	switch {
	case err == nil && a.Code == 0 && b.agreed(version, a):
		return raw, a, nil
	case err != nil && !refused(err):
		b.end(raw.up)
		return nil, a, err
	}
	b.end(raw.up)
	c, converted, cerr := b.openConverter(ctx)
	switch {
	case cerr == nil && converted.Code == 0:
		b.convert(version)
		return c, converted, nil
	case c != nil:
		b.end(c.upstream())
	}
	if err == nil && a.Code == 0 { // the client has to see what it can do with this
		return nil, converted, cerr
	}
	return nil, a, err
}

// refused reports whether an error is an answer of the server's.
func refused(err error) bool {
	e, ok := err.(*jsonrpc.Error)
	return ok && e.Remote
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
	return b.converts[version]
}

func (b *Bridge) convert(version string) {
	if b.services[version] == nil {
		return
	}
	b.mu.Lock()
	b.converts[version] = true
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
