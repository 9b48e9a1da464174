package compat

import (
	"context"
	"errors"

	"github.com/goldwire/goldwire/generated/mcp/step20250326"
	"github.com/goldwire/goldwire/generated/mcp/step20250618"
	"github.com/goldwire/goldwire/generated/mcp/step20251125"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Client is what every generated Client is. R is the *RemoteServer of its
// package.
type Client[R any] interface {
	jsonrpc.Binder
	// Join makes the handshake on a connection that was made with the client.
	Join(ctx context.Context, conn *jsonrpc.Conn) (R, error)
}

// Dial connects to a server of any revision with a client of any: it finds out
// what the server speaks, as [DialRevisions] does, and returns a server that is
// called as one of the client's revision. Where the server speaks another, what
// goes to and fro is converted: the server's requests reach the funcs of the
// client, whether they come as requests or in a result that asks for input;
// Listen is resources/subscribe, and the reverse; the log level of a request is
// logging/setLevel, and the reverse; and Ping is server/discover. What a
// revision cannot say fails with CodeInvalidParams or CodeInternalError, or
// becomes something near it, or is left out: a ctx of wire.WithEnv says which,
// and hears of it. The RemoteServer is one of the client's revision; what the
// server speaks is RemoteServer.Conn().Below().Session().Revision.
func Dial[R any, C Client[R]](ctx context.Context, d jsonrpc.Dialer, client C) (R, error) {
	r, err := dial(ctx, d, client)
	if err != nil {
		var none R
		return none, err
	}
	return client.Join(ctx, r)
}

// dial returns the connection that the client joins.
func dial(ctx context.Context, d jsonrpc.Dialer, client jsonrpc.Binder) (*jsonrpc.Conn, error) {
	var c clients
	if err := c.take(client); err != nil {
		return nil, err
	}
	own := c.revision()
	open := c.spread()
	conn, err := DialRevisions(ctx, d, c.binders()...)
	if err != nil || conn.Session().Revision == own {
		return conn, err
	}
	o, err := c.bridge(ctx, conn, own, open)
	if err == nil {
		var local *jsonrpc.Conn
		if local, err = jsonrpc.Local(client, o); err == nil {
			return local, nil
		}
	}
	_ = conn.Close(ctx)
	return nil, err
}

// bridge joins the connection in the server's revision, and makes what a client
// of the revision own calls.
func (c *clients) bridge(ctx context.Context, conn *jsonrpc.Conn, own string, open *listening) (o jsonrpc.LocalOptions, err error) {
	var server jsonrpc.Binder
	var r *remote
	switch conn.Session().Revision {
	case v20241105.Revision:
		server, err = v20241105.Join(ctx, conn, *c.v20241105)
	case v20250326.Revision:
		server, err = v20250326.Join(ctx, conn, *c.v20250326)
	case v20250618.Revision:
		server, err = v20250618.Join(ctx, conn, *c.v20250618)
	case v20251125.Revision:
		server, err = v20251125.Join(ctx, conn, *c.v20251125)
	default:
		r = &remote{client: *c.v20260728, watched: map[string]*resource{}}
		r.server, err = v20260728.Join(ctx, conn, *c.v20260728)
		server = r.server
	}
	if err != nil {
		return o, err
	}
	var s servers
	if err := s.take(server); err != nil {
		return o, err
	}
	u := s.spread(spreading{remote: r, knowsTasks: c.v20260728.Tasks && own == v20260728.Revision})
	ch, err := jsonrpc.Bind(s.of(own))
	if err != nil {
		return o, err
	}
	o = jsonrpc.LocalOptions{Server: ch.(*jsonrpc.Service), Below: conn}
	if r != nil {
		r.conn, r.offers = conn, &r.server.Server
		if r.server.Server.GetTask == nil { // it has no tasks, and need not hear with each request that we know them
			r.client.Tasks = false
			capabilities := r.client.Capabilities()
			conn.SetMetadata(jsonrpc.Metadata{ProtocolVersion: v20260728.Revision, ClientInfo: &r.client.Info, ClientCapabilities: &capabilities})
		}
		o.Ping = func(ctx context.Context) error {
			_, err := r.server.Discover(ctx, new(v20260728.DiscoverParams))
			return err
		}
		r.listen(ctx)
	}
	if open != nil && u != nil {
		open.server, open.conn = u, conn
		o.Listen = open.listen
	}
	return o, nil
}

// clients are one client in each revision, nil where it is not made.
type clients struct {
	v20241105 *v20241105.Client
	v20250326 *v20250326.Client
	v20250618 *v20250618.Client
	v20251125 *v20251125.Client
	v20260728 *v20260728.Client
}

// take takes the client of whatever revision it is.
func (c *clients) take(b jsonrpc.Binder) error {
	switch x := b.(type) {
	case v20241105.Client:
		c.v20241105 = &x
	case v20250326.Client:
		c.v20250326 = &x
	case v20250618.Client:
		c.v20250618 = &x
	case v20251125.Client:
		c.v20251125 = &x
	case v20260728.Client:
		c.v20260728 = &x
	case *v20241105.Client:
		c.v20241105 = x
	case *v20250326.Client:
		c.v20250326 = x
	case *v20250618.Client:
		c.v20250618 = x
	case *v20251125.Client:
		c.v20251125 = x
	case *v20260728.Client:
		c.v20260728 = x
	default:
		return foreign(b, jsonrpc.ClientSide)
	}
	if c.revision() == "" {
		return errors.New("no client to dial with")
	}
	return nil
}

// revision is that of the client that was taken.
func (c *clients) revision() string {
	switch {
	case c.v20241105 != nil:
		return v20241105.Revision
	case c.v20250326 != nil:
		return v20250326.Revision
	case c.v20250618 != nil:
		return v20250618.Revision
	case c.v20251125 != nil:
		return v20251125.Revision
	case c.v20260728 != nil:
		return v20260728.Revision
	}
	return ""
}

// spread makes the clients that are missing, from that of the revision beside
// it. It returns what a client of 2026-07-28 listens to on older servers.
func (c *clients) spread() (open *listening) {
	if c.v20251125 == nil && c.v20260728 != nil {
		open = &listening{client: *c.v20260728, subs: map[*jsonrpc.Subscription]*listened{}}
		c.v20251125 = new(downClient(open))
	}
	if c.v20250618 == nil && c.v20251125 != nil {
		c.v20250618 = new(step20251125.DowngradeClient(*c.v20251125))
	}
	if c.v20250326 == nil && c.v20250618 != nil {
		c.v20250326 = new(step20250618.DowngradeClient(*c.v20250618))
	}
	if c.v20241105 == nil && c.v20250326 != nil {
		c.v20241105 = new(step20250326.DowngradeClient(*c.v20250326))
	}
	if c.v20250326 == nil {
		c.v20250326 = new(step20250326.UpgradeClient(*c.v20241105))
	}
	if c.v20250618 == nil {
		c.v20250618 = new(step20250618.UpgradeClient(*c.v20250326))
	}
	if c.v20251125 == nil {
		c.v20251125 = new(step20251125.UpgradeClient(*c.v20250618))
	}
	if c.v20260728 == nil {
		c.v20260728 = new(upClient(*c.v20251125))
	}
	return open
}

// binders are all of them, the newest first.
func (c *clients) binders() []jsonrpc.Binder {
	return []jsonrpc.Binder{c.v20260728, c.v20251125, c.v20250618, c.v20250326, c.v20241105}
}
