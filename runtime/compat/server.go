package compat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/generated/mcp/step20250326"
	"github.com/goldwire/goldwire/generated/mcp/step20250618"
	"github.com/goldwire/goldwire/generated/mcp/step20251125"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Options say how a server of one revision is served in the others. The zero
// value works.
type Options struct {
	// Sealer seals the requestState that names a call which is kept open for a
	// client of 2026-07-28; nil makes one of a random key. Handlers that seal
	// states of their own do it with the same one or another, as they like.
	Sealer *Sealer
	// MaxKept bounds the calls that are kept open for their clients; a call
	// beyond it is answered with jsonrpc.CodeOverloaded when it asks something.
	// One principal can have a quarter of them, and who has none all. 0 means
	// 1,024.
	MaxKept int
	// KeptTimeout is how long the client may take for a round before a kept call
	// is cancelled. 0 means five minutes.
	KeptTimeout time.Duration
	// Tasks keeps the tasks that a revision has in another form than the server;
	// nil is NewMemoryTasks(10_000).
	Tasks TaskStore
	// Policy is for values that the client's revision cannot say.
	Policy wire.Policy
	// OnLoss is told what a conversion left out or changed. It is called from
	// several goroutines.
	OnLoss func(wire.Loss)
}

// Server serves a server of any revision in every revision: server is a
// generated Server, or a RemoteServer. Its handlers stay as they are: whatever
// the client speaks, they get params of their own revision, see the client as
// their own Peer(ctx), and return results of their own; what the client's
// revision cannot say is left out or becomes something near it.
//
//   - A handler of 2026-07-28 that asks for input (*InputRequiredError) works
//     for a client of a stateful revision: that is sent the requests, and the
//     handler is called again with the answers and its state.
//   - A handler of a stateful revision that calls its client in the middle of a
//     request works for a client of 2026-07-28: the call stays open in this
//     process, the client is told what is asked, with a sealed state that names
//     the call, and the call goes on when it comes back. A client behind a load
//     balancer has to reach the same process again, and only once for each round.
//   - resources/subscribe and changes of lists are subscriptions/listen, and
//     logging/setLevel the log level in _meta.
//
// A RemoteServer of 2026-07-28, or the Server in it, is listened to for as long as
// its connection lasts: for changes of its lists, and for the resources that clients
// subscribe to, 256 of them or a quarter of its MaxInFlight, whichever is less; who
// asks for more is refused, so that calls keep their room. With a MaxInFlight below 4
// that leaves nothing to listen to. What the server ends is listened to again after a
// rest, unless it refuses.
//
// All revisions share the server's Hub and Options. It is Options{}.Server.
func Server(server jsonrpc.Binder) jsonrpc.Binder { return Options{}.Server(server) }

// Server is the func of that name with options. Bind fails for anything but a
// Server or RemoteServer of the packages generated/mcp/v… of this module, which are
// all that can be converted, and where the Bind of that fails.
func (o Options) Server(server jsonrpc.Binder) jsonrpc.Binder { return &every{o, server} }

// every is a server in every revision.
type every struct {
	o      Options
	server jsonrpc.Binder
}

// Bind makes the servers of the other revisions, and joins them.
func (e *every) Bind() (jsonrpc.Chooser, error) {
	var s servers
	if err := s.take(e.server); err != nil {
		return nil, err
	}
	o, _ := s.settings()
	own := *o
	if e.o.Policy != 0 || e.o.OnLoss != nil {
		o.Incoming = append([]jsonrpc.Middleware{e.o.converting}, own.Incoming...)
	}
	var g *gateway
	if s.v20260728 != nil {
		g = gatewayTo(s.v20260728)
	}
	u := s.spread(spreading{keeper: newKeeper(e.o), store: e.o.Tasks, gateway: g})
	*o = own // its own requests are not converted
	joined, err := bindAll(s.binders())
	if err != nil {
		return nil, err
	}
	joined.options = own
	if err := joined.speakAsOne(); err != nil {
		return nil, err
	}
	switch svc := joined.stateless[v20260728.Revision]; {
	case u != nil:
		svc.Watch(u.watch)
	case g != nil:
		svc.Watch(g.up.watch)
	}
	if g != nil {
		g.hearLists()
	}
	return joined, nil
}

// converting lets the conversions of a request keep to the options.
func (o Options) converting(ctx context.Context, _ jsonrpc.Op, next func(context.Context) error) error {
	e := wire.EnvOf(ctx)
	e.Policy, e.OnLoss = o.Policy, o.OnLoss
	return next(wire.WithEnv(ctx, &e))
}

// servers are one server in each revision, nil where it is not made.
type servers struct {
	v20241105 *v20241105.Server
	v20250326 *v20250326.Server
	v20250618 *v20250618.Server
	v20251125 *v20251125.Server
	v20260728 *v20260728.Server
}

// take takes the server of whatever revision it is. It gets a Hub if it has none,
// for the others to share.
func (s *servers) take(b jsonrpc.Binder) error {
	switch x := b.(type) {
	case v20241105.Server:
		s.v20241105 = &x
	case v20250326.Server:
		s.v20250326 = &x
	case v20250618.Server:
		s.v20250618 = &x
	case v20251125.Server:
		s.v20251125 = &x
	case v20260728.Server:
		s.v20260728 = &x
	case *v20241105.Server:
		s.v20241105 = copied(x)
	case *v20250326.Server:
		s.v20250326 = copied(x)
	case *v20250618.Server:
		s.v20250618 = copied(x)
	case *v20251125.Server:
		s.v20251125 = copied(x)
	case *v20260728.Server:
		s.v20260728 = copied(x)
	case *v20241105.RemoteServer:
		if x != nil {
			s.v20241105 = copied(&x.Server)
		}
	case *v20250326.RemoteServer:
		if x != nil {
			s.v20250326 = copied(&x.Server)
		}
	case *v20250618.RemoteServer:
		if x != nil {
			s.v20250618 = copied(&x.Server)
		}
	case *v20251125.RemoteServer:
		if x != nil {
			s.v20251125 = copied(&x.Server)
		}
	case *v20260728.RemoteServer:
		if x != nil {
			s.v20260728 = copied(&x.Server)
		}
	default:
		return foreign(b, jsonrpc.ServerSide)
	}
	o, hub := s.settings()
	if o == nil {
		return errors.New("no server to serve")
	}
	if *hub == nil {
		*hub = new(jsonrpc.Hub)
	}
	return nil
}

// foreign says what is wrong with what is none of the servers or clients that can be
// converted.
func foreign(b jsonrpc.Binder, side jsonrpc.Side) error {
	name, alone := "server", "serve it as it is, or with Revisions beside servers of other revisions"
	if side == jsonrpc.ClientSide {
		name, alone = "client", "connect it with the Connect of its own package"
	}
	var s *jsonrpc.Service
	if ch, err := jsonrpc.Bind(b); err == nil {
		s, _ = ch.(*jsonrpc.Service)
	}
	if s == nil || s.Side() != side {
		return fmt.Errorf("%T is no %s of one revision", b, name)
	}
	if known := revision.All(); !slices.Contains(known, s.Revision()) {
		return fmt.Errorf("%T is a %s of %s, which package compat cannot convert (it knows %s): %s", b, name, s.Revision(), strings.Join(known, ", "), alone)
	}
	return fmt.Errorf("%T is no %s of the packages generated/mcp/v… for %s, which alone can be converted: %s", b, name, s.Revision(), alone)
}

func copied[T any](x *T) *T {
	if x == nil {
		return nil
	}
	c := *x
	return &c
}

// settings are those of the first server that is there.
func (s *servers) settings() (*jsonrpc.Options, **jsonrpc.Hub) {
	switch {
	case s.v20241105 != nil:
		return &s.v20241105.Options, &s.v20241105.Hub
	case s.v20250326 != nil:
		return &s.v20250326.Options, &s.v20250326.Hub
	case s.v20250618 != nil:
		return &s.v20250618.Options, &s.v20250618.Hub
	case s.v20251125 != nil:
		return &s.v20251125.Options, &s.v20251125.Hub
	case s.v20260728 != nil:
		return &s.v20260728.Options, &s.v20260728.Hub
	}
	return nil, nil
}

// spreading is what is to be known for making servers of others.
type spreading struct {
	keeper     *keeper   // nil where the server is another peer
	remote     *remote   // that peer, where it is one of 2026-07-28
	knowsTasks bool      // our client does, where the server is another peer
	store      TaskStore // for tasks
	gateway    *gateway  // where a server of 2026-07-28 is another peer's and served again
}

// spread makes the servers that are missing, from that of the revision beside
// it. It returns how the one of 2026-07-28 was made, if it was.
func (s *servers) spread(o spreading) *up {
	if s.v20251125 == nil && s.v20260728 != nil {
		s.v20251125 = new((&down{server: *s.v20260728, remote: o.remote, store: o.store, gateway: o.gateway}).serve())
	}
	if s.v20250618 == nil && s.v20251125 != nil {
		s.v20250618 = new(step20251125.DowngradeServer(*s.v20251125))
	}
	if s.v20250326 == nil && s.v20250618 != nil {
		s.v20250326 = new(step20250618.DowngradeServer(*s.v20250618))
	}
	if s.v20241105 == nil && s.v20250326 != nil {
		s.v20241105 = new(step20250326.DowngradeServer(*s.v20250326))
	}
	if s.v20250326 == nil {
		s.v20250326 = new(step20250326.UpgradeServer(*s.v20241105))
	}
	if s.v20250618 == nil {
		s.v20250618 = new(step20250618.UpgradeServer(*s.v20250326))
	}
	if s.v20251125 == nil {
		s.v20251125 = new(step20251125.UpgradeServer(*s.v20250618))
	}
	if s.v20260728 == nil {
		u := &up{server: *s.v20251125, keeper: o.keeper, knowsTasks: o.knowsTasks, store: o.store}
		s.v20260728 = new(u.serve())
		return u
	}
	return nil
}

// of is the server of one revision.
func (s *servers) of(rev string) jsonrpc.Binder {
	switch rev {
	case v20241105.Revision:
		return s.v20241105
	case v20250326.Revision:
		return s.v20250326
	case v20250618.Revision:
		return s.v20250618
	case v20251125.Revision:
		return s.v20251125
	}
	return s.v20260728
}

// binders are all of them.
func (s *servers) binders() []jsonrpc.Binder {
	return []jsonrpc.Binder{s.v20241105, s.v20250326, s.v20250618, s.v20251125, s.v20260728}
}
