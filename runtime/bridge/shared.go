package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// shared is a server that several clients use, started when one needs it. After
// starts that failed in a row it is left alone for a while, so that a server that
// cannot live is not started for every request.
type shared struct {
	b     *Bridge
	start func(ctx context.Context) (route, error)

	mu     sync.Mutex
	cur    *starting // nil for none
	failed int       // starts in a row
	until  time.Time // no start before
}

// starting is one start of a server, and what came of it.
type starting struct {
	ready chan struct{} // closed when route or err is set
	route route
	err   error
	began time.Time
}

// get returns the route to the server, which it starts if need be. Errors are
// answers to the request of ctx.
func (s *shared) get(ctx context.Context) (route, error) {
	s.mu.Lock()
	if s.cur != nil && s.cur.ended() {
		s.overLocked(s.cur)
	}
	cur := s.cur
	if cur == nil {
		if wait := time.Until(s.until); wait > 0 {
			n := s.failed
			s.mu.Unlock()
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeCircuitOpen, Message: fmt.Sprintf("the server has failed %d times in a row", n),
				Data: wire.Raw(fmt.Sprintf(`{"retryAfterMs":%d}`, wait.Milliseconds()+1))}
		}
		if !s.b.begin() {
			s.mu.Unlock()
			return nil, errClosed
		}
		cur = &starting{ready: make(chan struct{}), began: time.Now()}
		s.cur = cur
		go s.run(cur)
	}
	s.mu.Unlock()
	select {
	case <-cur.ready:
		return cur.route, cur.err
	default:
	}
	jsonrpc.PeerOf(ctx).Detach()
	select {
	case <-cur.ready:
		return cur.route, cur.err
	case <-ctx.Done():
		return nil, jsonrpc.ContextError(ctx)
	}
}

// peek is the route to a server that runs, nil for none.
func (s *shared) peek() route {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cur == nil {
		return nil
	}
	select {
	case <-s.cur.ready:
		return s.cur.route
	default:
		return nil
	}
}

func (s *shared) running() bool { return s.peek() != nil }

// run is the life of a server.
func (s *shared) run(cur *starting) {
	defer s.b.work.Done()
	r, err := s.start(s.b.ctx)
	if err != nil {
		cur.err = gone(err)
		s.b.log.Warn("the server could not be reached", "err", err)
		s.over(cur)
		close(cur.ready)
		return
	}
	cur.route = r
	close(cur.ready)
	select {
	case <-r.upstream().Done():
		s.b.ended(r.upstream())
	case <-s.b.ctx.Done():
	}
	s.over(cur)
	s.b.end(r.upstream())
}

// ended reports whether a server has ended, which may not have been dealt with.
func (c *starting) ended() bool {
	select {
	case <-c.ready:
		return c.route != nil && c.route.upstream().State() == jsonrpc.Closed
	default:
		return false
	}
}

// over lets the next request start a server anew. cur is ready, or its err set by
// who calls.
func (s *shared) over(cur *starting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overLocked(cur)
}

func (s *shared) overLocked(cur *starting) {
	if s.cur != cur {
		return
	}
	s.cur = nil
	if cur.err == nil && time.Since(cur.began) >= quick {
		s.failed = 0
		return
	}
	if s.failed++; s.failed > freeStarts {
		s.until = time.Now().Add(min(firstPause<<min(s.failed-freeStarts-1, 10), maxPause))
	}
}

// startStateless starts the server of the requests of a stateless revision: as it
// is, if it speaks that, else behind a conversion. One that was too slow to say so
// is recognised by the conversion, which waits for longer.
func (b *Bridge) startStateless(ctx context.Context, rev string) (route, error) {
	if b.converting(rev) {
		return routed(b.startConverter(ctx))
	}
	p, err := b.dial(ctx, rev, nil, nil)
	if err != nil {
		return nil, err
	}
	ok, denied, err := p.speaks(ctx, rev)
	if ok {
		return p, nil
	}
	b.end(p.up)
	if ctx.Err() != nil {
		return nil, err
	}
	c, cerr := b.startConverter(ctx)
	if cerr != nil {
		if err != nil {
			return nil, errors.Join(cerr, err)
		}
		return nil, cerr
	}
	switch {
	case c.speaks() == rev:
		b.end(c.upstream())
		if p, err = b.dial(ctx, rev, nil, nil); err != nil {
			return nil, err
		}
		p.info = c.upstream().Session().Info
		return p, nil
	case denied:
		b.convert(rev)
	}
	return c, nil
}

// speaks asks a server whether it is one of the stateless revision; denied says
// that it answered that it is none. One that says so and wants another version
// gets the requests too, and refuses them itself. Specification: basic/versioning
// (2026-07-28).
func (p *pipe) speaks(ctx context.Context, rev string) (ok, denied bool, err error) {
	ctx = jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Timeout: new(probeTimeout)})
	params := wire.AppendString([]byte(`{"_meta":{"`+metaVersion+`":`), rev)
	params = append(append(params, `,"`+metaCapabilities+`":{},"`+metaPrefix+`clientInfo":`...), p.b.info()...)
	params = append(params, "}}"...)
	a, err := jsonrpc.CallMessage(ctx, p.up, &jsonrpc.MessageCall{Method: methodDiscover, Append: func(b []byte, id jsonrpc.ID) []byte {
		return jsonrpc.AppendRequest(b, id, methodDiscover, appender(params))
	}})
	switch code := codeOf(a, err); code {
	case 0:
		r := wire.Raw(a.Data).Get("result")
		ok = err == nil && r.Get("supportedVersions") != nil
		if info := r.Get("_meta").Get(metaServerInfo); ok && info != nil {
			p.info = info.Clone()
		}
		return ok, err == nil && !ok, err
	case jsonrpc.CodeUnsupportedProtocolVersion, jsonrpc.CodeMissingClientCapability, jsonrpc.CodeHeaderMismatch:
		return true, false, nil
	default:
		return false, denies(code), nil
	}
}

// info is the bridge as a handshake of its own names it.
func (b *Bridge) info() []byte {
	out := wire.AppendString([]byte(`{"name":`), b.o.Name)
	return append(wire.AppendString(append(out, `,"version":`...), b.o.Version), '}')
}

// party is a server that sessions of stateful revisions share. The bridge made
// the handshake, and each client gets the server's answer to it.
type party struct {
	*pipe
	b       *Bridge
	answer  jsonrpc.Answer // to initialize
	version string         // that it names

	mu      sync.Mutex
	members map[*jsonrpc.Conn]map[string]bool // clients, with the resources that they subscribed to
}

// startShared starts a server that sessions share.
func (b *Bridge) startShared(ctx context.Context) (route, error) {
	rev := revision.LatestStateful()
	y := &party{b: b, members: map[*jsonrpc.Conn]map[string]bool{}}
	p, err := b.dial(ctx, rev, nil, y.tell)
	if err != nil {
		return nil, err
	}
	y.pipe = p
	params := wire.AppendString([]byte(`{"protocolVersion":`), rev)
	params = append(append(append(params, `,"capabilities":{},"clientInfo":`...), b.info()...), '}')
	y.answer, err = jsonrpc.CallMessage(jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Timeout: new(handshakeTimeout)}), p.up, &jsonrpc.MessageCall{
		Method: methodInitialize,
		Append: func(b []byte, id jsonrpc.ID) []byte {
			return jsonrpc.AppendRequest(b, id, methodInitialize, appender(params))
		},
	})
	switch {
	case err == nil && y.answer.Code == 0:
		err = jsonrpc.SendMessage(ctx, p.up, jsonrpc.AppendNotification(nil, methodInitialized, nil))
	case err == nil || refused(err): // it knows no initialize
		b.end(p.up)
		return routed(b.startConverter(ctx))
	}
	if err != nil {
		b.end(p.up)
		return nil, err
	}
	y.version, _ = wire.Raw(y.answer.Data).Get("result").Get("protocolVersion").Str()
	return y, nil
}

// openShared begins a session with the server that all share. A client of another
// revision than that server's gets a conversion of a second one.
func (b *Bridge) openShared(ctx context.Context) (route, jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	version, _ := wire.Raw(p.Message()).Get("params").Get("protocolVersion").Str()
	r, err := b.stateful.get(ctx)
	if err != nil {
		return nil, jsonrpc.Answer{}, err
	}
	if y, ok := r.(*party); ok {
		if version == y.version || b.services[version] == nil {
			a, err := answerTo(y.answer, methodInitialize, p.ID())
			if err != nil {
				return nil, a, err
			}
			y.mu.Lock()
			y.members[p.Conn()] = map[string]bool{}
			y.mu.Unlock()
			return y, a, nil
		}
		if r, err = b.converted.get(ctx); err != nil {
			return nil, jsonrpc.Answer{}, err
		}
	}
	a, err := r.request(ctx)
	if err != nil || a.Code != 0 {
		return nil, a, err
	}
	return r, a, nil
}

// watchShared ends a session with the server that it shares.
func (b *Bridge) watchShared(down *jsonrpc.Conn, r route) {
	defer b.work.Done()
	select {
	case <-down.Done():
	case <-b.ctx.Done():
	case <-r.upstream().Done():
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		_ = down.Drain(ctx)
		cancel()
	}
	b.mu.Lock()
	delete(b.sessions, down)
	b.mu.Unlock()
	if y, ok := r.(*party); ok {
		y.leave(down)
	}
	_ = down.Close(context.Background())
}

// request passes a client's request up, and keeps account of subscriptions: the
// server sees one client.
func (y *party) request(ctx context.Context) (jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	var uri string
	switch p.Method() {
	case "resources/subscribe", "resources/unsubscribe":
		uri, _ = wire.Raw(p.Message()).Get("params").Get("uri").Str()
	}
	if p.Method() == "resources/unsubscribe" && y.subscribed(p.Conn(), uri, false) {
		return result(p.ID(), wire.Raw("{}")), nil // somebody else still wants it
	}
	a, err := y.pipe.request(ctx)
	if p.Method() == "resources/subscribe" && err == nil && a.Code == 0 {
		y.subscribed(p.Conn(), uri, true)
	}
	return a, err
}

// subscribed notes whether a client subscribes to a resource, and reports whether
// another one does.
func (y *party) subscribed(down *jsonrpc.Conn, uri string, on bool) (others bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for c, uris := range y.members {
		others = others || c != down && uris[uri]
	}
	switch uris := y.members[down]; {
	case uris == nil:
	case on:
		uris[uri] = true
	default:
		delete(uris, uri)
	}
	return others
}

// leave ends the subscriptions of a client that has gone and that no other has.
func (y *party) leave(down *jsonrpc.Conn) {
	y.mu.Lock()
	uris := y.members[down]
	delete(y.members, down)
	var last []string
	for uri := range uris {
		wanted := false
		for _, other := range y.members {
			wanted = wanted || other[uri]
		}
		if !wanted {
			last = append(last, uri)
		}
	}
	y.mu.Unlock()
	slices.Sort(last)
	ctx, cancel := context.WithTimeout(y.b.ctx, probeTimeout)
	defer cancel()
	for _, uri := range last {
		params := append(wire.AppendString([]byte(`{"uri":`), uri), '}')
		_, err := jsonrpc.CallMessage(ctx, y.up, &jsonrpc.MessageCall{Method: "resources/unsubscribe", Append: func(b []byte, id jsonrpc.ID) []byte {
			return jsonrpc.AppendRequest(b, id, "resources/unsubscribe", appender(params))
		}})
		if err != nil {
			return
		}
	}
}

// notification passes a client's notification up, unless it is about what the
// bridge is to the server.
func (y *party) notification(ctx context.Context) {
	switch jsonrpc.PeerOf(ctx).Method() {
	case methodInitialized, "notifications/roots/list_changed":
		return
	}
	y.pipe.notification(ctx)
}

// tell tells all clients what the server says of its own accord, and of resources
// those who subscribed.
func (y *party) tell(method string, msg []byte) {
	var uri string
	if method == "notifications/resources/updated" {
		uri, _ = wire.Raw(msg).Get("params").Get("uri").Str()
	}
	y.mu.Lock()
	var to []*jsonrpc.Conn
	for c, uris := range y.members {
		if method != "notifications/resources/updated" || watches(uris, uri) {
			to = append(to, c)
		}
	}
	y.mu.Unlock()
	for _, c := range to {
		y.b.lost(method, jsonrpc.SendMessage(overContext, c, msg))
	}
}

// watches reports whether a set of resources holds uri or one above it.
func watches(set map[string]bool, uri string) bool {
	for w := range set {
		if rest, ok := strings.CutPrefix(uri, w); ok && (rest == "" || strings.HasSuffix(w, "/") || strings.HasPrefix(rest, "/")) {
			return true
		}
	}
	return false
}
