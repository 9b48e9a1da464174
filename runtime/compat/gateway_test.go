package compat_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestUnknownMethodThroughAGateway holds that a method which nobody knows is not
// found, whatever the client of a server speaks that is served again, and whether or
// not a header can carry its name.
func TestUnknownMethodThroughAGateway(t *testing.T) {
	h := streamhttp.NewHandler(compat.Server(newWork().modern()), streamhttp.HandlerOptions{Logger: discard.Logger})
	behind := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		behind.Close()
	})
	const meta = `{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, client := range httpClients() {
		upstream, err := v20260728.Connect(t.Context(), streamhttp.URL(behind.URL), v20260728.Client{Options: discard})
		require.NoError(t, err)
		conn, err := compat.DialRevisions(t.Context(), served(t, compat.Server(upstream.Server)), client)
		require.NoError(t, err)
		said := []wire.Raw{nil, wire.Raw(`{"a":1}`), wire.Raw(`{"_meta":{"progressToken":1}}`)}
		if conn.Session().Revision == v20260728.Revision {
			said = []wire.Raw{wire.Raw(meta)}
		}
		for _, method := range []string{"x/y", "x/\né", " x"} {
			for _, params := range said {
				_, err = jsonrpc.CallRaw(t.Context(), conn, method, params)
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""), "%T %q %s", client, method, params)
			}
		}
		require.NoError(t, conn.Close(t.Context()))
		require.NoError(t, upstream.Close())
	}
}

// TestGatewayHearsForItsClients holds that what clients of a server that is served
// again want to hear of is asked of it, once for all of them, and no longer than
// they want it.
func TestGatewayHearsForItsClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWork()
		var asked notes // of the server, beyond its lists
		server := w.modern()
		server.AllowURI = func(_ context.Context, uri string) bool {
			asked.add(uri)
			return uri != "secret:"
		}
		upstream, err := v20260728.Connect(t.Context(), served(t, server), v20260728.Client{Options: discard})
		require.NoError(t, err)
		front := compat.Server(upstream.Server)
		var heard [2]notes
		older := func(to *notes) *v20250618.RemoteServer {
			r, err := v20250618.Connect(t.Context(), served(t, front), v20250618.Client{Options: discard,
				ResourceUpdated: func(_ context.Context, p *v20250618.ResourceUpdatedParams) error {
					to.add(p.URI)
					return nil
				},
				ToolListChanged: func(context.Context, *v20250618.ToolListChangedParams) error {
					to.add("tools")
					return nil
				}})
			require.NoError(t, err)
			return r
		}
		first, second := older(&heard[0]), older(&heard[1])
		var listened notes
		newer, err := v20260728.Connect(t.Context(), served(t, front), v20260728.Client{Options: discard,
			ResourceUpdated: func(_ context.Context, p *v20260728.ResourceUpdatedParams) error {
				listened.add(p.URI)
				return nil
			},
			ToolListChanged: func(context.Context, *v20260728.ToolListChangedParams) error {
				listened.add("tools")
				return nil
			}})
		require.NoError(t, err)
		sub, err := newer.Listen(t.Context(), &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{
			ToolsListChanged: new(true), ResourceSubscriptions: []string{watched, "secret:"}}})
		require.NoError(t, err)
		require.JSONEq(t, `{"toolsListChanged":true,"resourceSubscriptions":["`+watched+`"]}`, string(sub.Honoured()))
		for _, r := range []*v20250618.RemoteServer{first, second, first} {
			_, err = r.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
			require.NoError(t, err)
		}
		_, err = first.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: "secret:"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, ""))
		require.Equal(t, []string{watched, "secret:", "secret:"}, asked.all())

		change := func() {
			w.hub.ResourceUpdated(t.Context(), watched)
			time.Sleep(time.Second) // until what is not urgent is written, too
			w.hub.ToolsListChanged(t.Context())
			time.Sleep(time.Second)
		}
		change()
		for _, n := range []*notes{&heard[0], &heard[1], &listened} {
			require.Equal(t, []string{watched, "tools"}, n.all())
		}
		_, err = first.Unsubscribe(t.Context(), &v20250618.UnsubscribeParams{URI: watched})
		require.NoError(t, err)
		sub.Close()
		time.Sleep(time.Second)
		change()
		require.Equal(t, []string{watched, "tools", "tools"}, heard[0].all())
		require.Equal(t, []string{watched, "tools", watched, "tools"}, heard[1].all())
		require.Equal(t, []string{watched, "tools"}, listened.all())
		require.NoError(t, second.Close()) // the last that wanted it
		time.Sleep(time.Minute)
		before := len(asked.all())
		_, err = first.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
		require.NoError(t, err)
		require.Equal(t, []string{watched}, asked.all()[before:], "nobody listened any more")
		require.NoError(t, first.Close())
		require.NoError(t, newer.Close())
		require.NoError(t, upstream.Close())
	})
}

// TestGatewayLeavesRoomForCalls holds that one client which subscribes to very many
// resources of a server that is served again is told of a bound, and takes nothing
// from the calls of others.
func TestGatewayLeavesRoomForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := discard
		o.MaxInFlight = 40
		upstream, err := v20260728.Connect(t.Context(), served(t, newWork().modern()), v20260728.Client{Options: o})
		require.NoError(t, err)
		front := compat.Server(upstream.Server)
		greedy, err := v20250618.Connect(t.Context(), served(t, front), v20250618.Client{Options: discard})
		require.NoError(t, err)
		other, err := v20250618.Connect(t.Context(), served(t, front), v20250618.Client{Options: discard})
		require.NoError(t, err)
		listens, err := v20260728.Connect(t.Context(), served(t, front), v20260728.Client{Options: discard})
		require.NoError(t, err)
		subscribe := func(i int) error {
			_, err := greedy.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: fmt.Sprint("r:", i)})
			return err
		}
		const bound = 10 // a quarter
		for i := range bound {
			require.NoError(t, subscribe(i))
		}
		require.ErrorContains(t, subscribe(bound), "subscribed to 10 resources already")
		require.NoError(t, subscribe(0), "what is listened to takes no more room")
		sub, err := listens.Listen(t.Context(), &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ResourceSubscriptions: []string{"r:0", "more:"}}})
		require.NoError(t, err)
		require.JSONEq(t, `{"resourceSubscriptions":["r:0"]}`, string(sub.Honoured()))
		_, err = other.ListTools(t.Context(), new(v20250618.ListToolsParams))
		require.NoError(t, err)
		_, err = greedy.Unsubscribe(t.Context(), &v20250618.UnsubscribeParams{URI: "r:1"})
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, subscribe(bound), "there is room again")
		require.NoError(t, greedy.Close())
		require.NoError(t, other.Close())
		require.NoError(t, listens.Close())
		require.NoError(t, upstream.Close())
	})
}

// TestGatewayHearsARestartedServer holds that a server which ended its
// subscriptions in good order, since it is started again, is listened to again.
func TestGatewayHearsARestartedServer(t *testing.T) {
	var current atomic.Pointer[streamhttp.Handler]
	w := newWork()
	start := func() *streamhttp.Handler {
		h := streamhttp.NewHandler(w.modern(), streamhttp.HandlerOptions{Logger: discard.Logger})
		current.Store(h)
		return h
	}
	h := start()
	behind := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(rw, r) }))
	t.Cleanup(func() {
		current.Load().Close()
		behind.Close()
	})
	upstream, err := v20260728.Connect(t.Context(), streamhttp.URL(behind.URL), v20260728.Client{Options: discard})
	require.NoError(t, err)
	tools, updates := make(chan struct{}, 1), make(chan struct{}, 1)
	tell := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	client, err := v20250618.Connect(t.Context(), served(t, compat.Server(upstream.Server)), v20250618.Client{Options: discard,
		ResourceUpdated: func(context.Context, *v20250618.ResourceUpdatedParams) error { tell(updates); return nil },
		ToolListChanged: func(context.Context, *v20250618.ToolListChangedParams) error { tell(tools); return nil }})
	require.NoError(t, err)
	_, err = client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
	require.NoError(t, err)
	hears := func(c chan struct{}, change func()) {
		t.Helper()
		require.Eventually(t, func() bool {
			change()
			select {
			case <-c:
				return true
			default:
				return false
			}
		}, 20*time.Second, 20*time.Millisecond)
	}
	updated := func() { w.hub.ResourceUpdated(t.Context(), watched) }
	changed := func() { w.hub.ToolsListChanged(t.Context()) }
	hears(updates, updated)
	hears(tools, changed)
	_ = h.Shutdown(t.Context())
	h = start()
	for _, c := range []chan struct{}{updates, tools} { // of before
		select {
		case <-c:
		default:
		}
	}
	hears(updates, updated)
	hears(tools, changed)

	_ = h.Shutdown(t.Context())
	start()
	_, err = client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
	require.NoError(t, err)
	hears(updates, updated)
	require.NoError(t, client.Close())
	require.NoError(t, upstream.Close())
}
