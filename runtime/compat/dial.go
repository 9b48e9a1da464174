package compat

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// probeTimeout is how long a server may be silent before it is taken for one of
// a stateful revision.
const probeTimeout = 5 * time.Second

// DialRevisions connects to a server in the newest revision that both sides speak, and
// makes the handshake. clients are generated Clients, one a revision. What the
// server speaks is the connection's Session().Revision, and the Join of that
// revision's package makes a RemoteServer of the connection:
//
//	conn, err := compat.DialRevisions(ctx, dialer, newer, older)
//	…
//	switch conn.Session().Revision {
//	case v20260728.Revision:
//		server, err := v20260728.Join(ctx, conn, newer)
//	case v20251125.Revision:
//		server, err := v20251125.Join(ctx, conn, older)
//	}
//
// The newest stateless revision is tried first, by server/discover. A server that
// answers with other versions is asked again in the newest stateless one of ours
// that it lists. One that lists none of them, in the error of an unsupported version, or
// of a missing capability, is stateless all the same and fails the dial
// (*jsonrpc.VersionError), unless it lists a stateful revision of ours; after
// any other error, and after five seconds of
// silence, the server gets initialize. That offers the newest stateful revision;
// the server answers with the one it likes, and without a client for that the
// dial fails with a *jsonrpc.VersionError. A server that refused server/discover
// in so many words, with an error of its own or over HTTP with 400, 404 or 405,
// is remembered for ten minutes where the dialer can say what it dials
// (jsonrpc.Identified): it gets initialize at once, and is asked again when that
// fails. What only broke, fell silent or failed (500) says nothing of the next time.
//
// The limits and listeners of the connection are the Options of the first client
// that sets any. Specification: basic/versioning, and basic/transports, backward
// compatibility (2026-07-28).
func DialRevisions(ctx context.Context, d jsonrpc.Dialer, clients ...jsonrpc.Binder) (*jsonrpc.Conn, error) {
	e, err := bindAll(clients)
	if err != nil {
		return nil, err
	}
	a := &attempt{d: d, c: &callers{eras: e}}
	a.c.asks.Store(e.latest)
	identity := ""
	if i, ok := d.(jsonrpc.Identified); ok {
		identity = i.Identity()
	}
	if e.newest != nil && e.latest != nil && known.stateful(identity) {
		if conn, err := a.initialize(ctx, nil); err == nil || ctx.Err() != nil {
			return conn, err
		}
		known.forget(identity)
	}
	conn, err := a.dial(ctx)
	if err == nil && a.refused {
		known.add(identity)
	}
	return conn, err
}

// attempt is one dial.
type attempt struct {
	d       jsonrpc.Dialer
	c       *callers
	refused bool // the server said that it is not of a stateless revision
}

func (a *attempt) open(ctx context.Context) (*jsonrpc.Conn, error) {
	return jsonrpc.Dial(ctx, a.d, a.c)
}

// dial finds out what the server speaks.
func (a *attempt) dial(ctx context.Context) (*jsonrpc.Conn, error) {
	if a.c.latest == nil {
		return a.initialize(ctx, nil)
	}
	conn, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	probing := ctx
	if a.c.newest != nil {
		if o := jsonrpc.CallOptionsOf(ctx); o.Timeout == nil || *o.Timeout == 0 || *o.Timeout > probeTimeout {
			o.Timeout = new(probeTimeout)
			probing = jsonrpc.WithCallOptions(ctx, o)
		}
	}
	err = a.discover(probing, conn)
	for a.c.askOlder(err) {
		if conn.State() == jsonrpc.Closed {
			if conn, err = a.open(ctx); err != nil {
				return nil, err
			}
		}
		err = a.discover(probing, conn)
	}
	switch e, answered := errors.AsType[*jsonrpc.Error](err); {
	case err == nil:
		return conn, nil
	case answered && (e.Code == jsonrpc.CodeUnsupportedProtocolVersion || e.Code == jsonrpc.CodeMissingClientCapability):
		theirs := listOf(e.Data.Get("supported"))
		if a.c.joinsOne(theirs) {
			// It knows of the stateless form and lists revisions that have
			// none: those begin with initialize, whoever lists them.
			break
		}
		_ = conn.Close(ctx)
		if theirs != nil && a.c.shared(theirs) == nil {
			return nil, &jsonrpc.VersionError{Ours: a.c.Revisions(), Theirs: theirs, Cause: e}
		}
		return nil, err
	case settled(err), ctx.Err() != nil, a.c.newest == nil, listsOthers(err) && !a.c.joinsOne(theirsOf(err)):
		_ = conn.Close(ctx)
		return nil, err
	}
	a.refused = refuses(err)
	silent := errors.Is(err, jsonrpc.ErrTimeout)
	over := conn
	if conn.State() == jsonrpc.Closed { // it did not survive the question
		over = nil
	}
	joined, ierr := a.initialize(ctx, over)
	if ierr == nil {
		return joined, nil
	}
	// It was slow to start, or it says that it is stateless after all.
	stateless := a.c.shared(theirsOf(ierr))
	if stateless != nil {
		a.c.asks.Store(stateless)
	}
	if stateless != nil || silent && conn.State() != jsonrpc.Closed {
		if conn.State() == jsonrpc.Closed {
			if conn, err = a.open(ctx); err != nil {
				return nil, errors.Join(ierr, err)
			}
		}
		if again := a.discover(ctx, conn); again == nil {
			return conn, nil
		} else if stateless != nil {
			err = again
		}
	}
	_ = conn.Close(ctx)
	if _, refused := ierr.(*jsonrpc.Error); !refused {
		return nil, ierr
	}
	return nil, errors.Join(ierr, err)
}

// discover asks a server as one of a stateless revision.
func (a *attempt) discover(ctx context.Context, conn *jsonrpc.Conn) error {
	s := a.c.asks.Load()
	meta := append(wire.AppendString([]byte(`{"_meta":{`), v20260728.MetaKeyProtocolVersion), ':')
	meta = wire.AppendString(meta, s.Revision())
	meta = append(wire.AppendString(append(meta, ','), v20260728.MetaKeyClientCapabilities), ':')
	meta = wire.AppendRawObject(meta, s.Capabilities())
	if info := s.Info(); info != nil {
		meta = append(wire.AppendString(append(meta, ','), v20260728.MetaKeyClientInfo), ':')
		meta = wire.AppendRaw(meta, info)
	}
	_, err := jsonrpc.DiscoverRaw(ctx, conn, raw(append(meta, "}}"...)))
	return err
}

// initialize makes the handshake of the stateful revisions, on conn, or on a
// connection of its own when that is nil. conn stays open when the server
// refuses.
func (a *attempt) initialize(ctx context.Context, conn *jsonrpc.Conn) (*jsonrpc.Conn, error) {
	own := conn == nil
	if own {
		var err error
		if conn, err = a.open(ctx); err != nil {
			return nil, err
		}
	}
	s := a.c.newest
	params := wire.AppendString([]byte(`{"protocolVersion":`), s.Revision())
	params = wire.AppendRawObject(append(params, `,"capabilities":`...), s.Capabilities())
	params = wire.AppendRawObject(append(params, `,"clientInfo":`...), s.Info())
	if _, err := jsonrpc.InitializeRaw(ctx, conn, raw(append(params, '}'))); err != nil {
		if own {
			_ = conn.Close(ctx)
		}
		return nil, err
	}
	return conn, nil
}

// raw is an Appender of a value.
type raw wire.Raw

func (r raw) AppendJSON(b []byte) []byte { return wire.AppendRaw(b, wire.Raw(r)) }

// listsOthers reports whether a server answered server/discover with versions
// that are not ours. A result that lists none is no answer to that method: it
// comes from servers that give one to whatever they are asked, and they may be
// of a stateful revision.
func listsOthers(err error) bool { return len(theirsOf(err)) > 0 }

// theirsOf lists what a server that answered server/discover speaks, when that
// is no stateless revision of ours.
func theirsOf(err error) []string {
	if e, ok := errors.AsType[*jsonrpc.VersionError](err); ok {
		return e.Theirs
	}
	return nil
}

func listOf(list wire.Raw) (out []string) {
	for v := range list.Elems() {
		if s, ok := v.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// callers are the clients of one connection.
type callers struct {
	*eras
	asks atomic.Pointer[jsonrpc.Service] // whose server/discover is sent; of the latest first
}

// Bind returns the callers themselves.
func (c *callers) Bind() (jsonrpc.Chooser, error) { return c, nil }

// Choose picks the client that the handshake made the connection's.
func (c *callers) Choose(conn *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if s := conn.Service(); s != nil {
		return s
	}
	if f.Method == v20260728.MethodServerDiscover {
		return c.asks.Load()
	}
	return c.stateful[conn.Session().Revision]
}

// shared is the client of the newest stateless revision among a server's
// versions, nil for none.
func (c *callers) shared(versions []string) *jsonrpc.Service {
	for _, rev := range newestFirst(c.stateless) {
		if slices.Contains(versions, rev) {
			return c.stateless[rev]
		}
	}
	return nil
}

// askOlder reports whether what came of server/discover lists an older stateless
// revision of ours than the one that asked, and lets that ask. Specification:
// basic/versioning, protocol version errors (2026-07-28).
func (c *callers) askOlder(err error) bool {
	theirs := theirsOf(err)
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code == jsonrpc.CodeUnsupportedProtocolVersion {
		theirs = listOf(e.Data.Get("supported"))
	}
	all := newestFirst(c.stateless)
	next := c.shared(theirs)
	if next == nil || slices.Index(all, next.Revision()) <= slices.Index(all, c.asks.Load().Revision()) {
		return false
	}
	c.asks.Store(next)
	return true
}

// joinsOne reports whether one of a server's versions is of a stateful client.
func (c *callers) joinsOne(versions []string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return c.stateful[v] != nil })
}

// refuses reports whether what came of server/discover says that the server is of
// a stateful revision, so that it can be relied on for a while.
func refuses(err error) bool {
	if listsOthers(err) {
		return true
	}
	if says, ok := statusSays(err); ok {
		return says
	}
	e, ok := errors.AsType[*jsonrpc.Error](err)
	return ok && e.Remote && !e.Temporary() // it may do better next time
}

// known is what is remembered of servers: those that are not here get asked.
var known memory

const (
	maxKnown  = 1024
	knowsLong = 10 * time.Minute // a server may be updated behind the same name
)

// memory holds the servers that are of stateful revisions, bounded in number and
// time.
type memory struct {
	mu    sync.Mutex
	until map[string]time.Time // by identity
	order []string             // of identities, the oldest first
}

func (m *memory) stateful(identity string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Now().Before(m.until[identity])
}

// add remembers a server from now on; "" is none.
func (m *memory) add(identity string) {
	if identity == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(identity)
	if m.until == nil {
		m.until = map[string]time.Time{}
	}
	if len(m.order) >= maxKnown {
		m.drop(m.order[0])
	}
	m.until[identity] = time.Now().Add(knowsLong)
	m.order = append(m.order, identity)
}

func (m *memory) forget(identity string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(identity)
}

// drop forgets a server. m.mu is held.
func (m *memory) drop(identity string) {
	if _, ok := m.until[identity]; ok {
		delete(m.until, identity)
		m.order = slices.DeleteFunc(m.order, func(s string) bool { return s == identity })
	}
}
