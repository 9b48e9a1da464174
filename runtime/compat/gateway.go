package compat

import (
	"context"
	"sync"

	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// gateway listens to a server of 2026-07-28 that is another peer's, for all clients
// that it is served to: it tells of changes only who listens, and its Hub passes
// them on. There is one for each connection to such a server.
type gateway struct {
	remote *remote // opens subscriptions
	up     *up     // counts who wants which resource
	lists  sync.Once
}

type gatewayKey struct{}

// gatewayTo is that of a server, nil for one that is no other peer's.
func gatewayTo(s *newer.Server) *gateway {
	conn := s.Hub.Source()
	if conn.Session().Revision != newer.Revision {
		return nil
	}
	return conn.Once(gatewayKey{}, func() any {
		offers := *s
		r := &remote{conn: conn, offers: &offers, watched: map[string]*resource{}, client: newer.Client{
			ToolListChanged:     func(context.Context, *newer.ToolListChangedParams) error { return nil },
			PromptListChanged:   func(context.Context, *newer.PromptListChangedParams) error { return nil },
			ResourceListChanged: func(context.Context, *newer.ResourceListChangedParams) error { return nil },
		}}
		return &gateway{remote: r, up: &up{again: true, server: older.Server{Subscribe: r.subscribe, Unsubscribe: r.unsubscribe}, uris: map[string]*watched{}}}
	}).(*gateway)
}

// hearLists listens for changes of the server's lists until its connection ends.
func (g *gateway) hearLists() {
	g.lists.Do(func() { go g.remote.listen(context.Background()) })
}

// followed is what one client of a stateful revision subscribed to.
type followed struct {
	mu   sync.Mutex
	uris map[string]bool
	over bool // the client is gone
}

// follow listens to a resource for the client of a request, until that unsubscribes
// or goes. A nil gateway has nothing to listen to.
func (g *gateway) follow(ctx context.Context, uri string) error {
	if g == nil {
		return nil
	}
	conn := jsonrpc.PeerOf(ctx).Connection()
	if conn == nil {
		return jsonrpc.ErrNoPeer
	}
	f := conn.Once(g, func() any { return new(followed) }).(*followed)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return jsonrpc.ErrClosed
	}
	within, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if f.uris[uri] { // what has ended meanwhile is opened again
		_, err := g.remote.subscribe(within, &older.SubscribeParams{URI: uri})
		return err
	}
	if err := g.up.watchOne(within, uri); err != nil {
		return err
	}
	if f.uris == nil {
		f.uris = map[string]bool{}
		go g.unfollowAll(conn, f)
	}
	f.uris[uri] = true
	return nil
}

func (g *gateway) unfollow(ctx context.Context, uri string) {
	conn := jsonrpc.PeerOf(ctx).Connection()
	if g == nil || conn == nil {
		return
	}
	f := conn.Once(g, func() any { return new(followed) }).(*followed)
	f.mu.Lock()
	was := f.uris[uri]
	delete(f.uris, uri)
	f.mu.Unlock()
	if was {
		g.up.unwatch(context.WithoutCancel(ctx), []string{uri})
	}
}

// unfollowAll ends what a client subscribed to once it has gone, or the server has.
func (g *gateway) unfollowAll(conn *jsonrpc.Conn, f *followed) {
	select {
	case <-conn.Done():
	case <-g.remote.conn.Done():
	}
	f.mu.Lock()
	f.over = true
	uris := f.uris
	f.uris = nil
	f.mu.Unlock()
	for uri := range uris {
		g.up.unwatch(context.Background(), []string{uri})
	}
}
