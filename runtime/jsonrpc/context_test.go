package jsonrpc_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

type testKey struct{}

// TestHandlerContext: the context of a handler is a context like any other.
func TestHandlerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan context.Context, 1)
		free := make(chan struct{})
		p := oldTap(t, oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			hold <- ctx
			<-free
			return &result{}, nil
		}})
		parent, cancelParent := context.WithCancelCause(context.WithValue(t.Context(), testKey{}, "v"))
		parent, cancelDeadline := context.WithTimeout(parent, time.Hour)
		defer cancelDeadline()
		start := func(id string) context.Context {
			go p.r.Receive(parent, &tapExchange{p: p}, jsonrpc.Frame{Data: []byte(request(id, "tools/call", `{"name":"x"}`)), Header: map[string][]string{"A": {"b"}}})
			return <-hold
		}
		cancel := func(id string) {
			p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			synctest.Wait()
		}
		ctx := start("2")
		peer := jsonrpc.PeerOf(ctx)
		require.Equal(t, "v", ctx.Value(testKey{}))
		require.Equal(t, p.conn, peer.Conn())
		require.Equal(t, "tools/call", peer.Method())
		require.Equal(t, jsonrpc.NewID(2), peer.ID())
		require.Equal(t, oldRevision, peer.Service().Revision())
		require.Equal(t, "b", peer.Header()["A"][0])
		require.Equal(t, request("2", "tools/call", `{"name":"x"}`), string(peer.Message()))
		require.NoError(t, peer.Cause())
		require.False(t, peer.WantsProgress())
		require.True(t, peer.Logs("debug"))
		deadline, ok := ctx.Deadline()
		require.True(t, ok)
		require.Equal(t, time.Hour, time.Until(deadline))

		derived, stopDerived := context.WithTimeout(ctx, time.Minute)
		defer stopDerived()
		ran, never := 0, 0
		stopNever := context.AfterFunc(ctx, func() { never++ })
		context.AfterFunc(ctx, func() { ran++ })
		require.True(t, stopNever())
		require.False(t, stopNever())
		require.NoError(t, ctx.Err())
		cancel("2")
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, derived.Err(), context.Canceled)
		require.ErrorIs(t, peer.Cause(), context.Canceled)
		require.Equal(t, "canceled by the peer", peer.Cause().Error())
		<-ctx.Done()
		<-derived.Done()
		require.Equal(t, 1, ran)
		require.Zero(t, never)
		context.AfterFunc(ctx, func() { ran++ }) // of one that has ended
		synctest.Wait()
		require.Equal(t, 2, ran)

		// The parent's end is ours, with its cause.
		ctx = start("3")
		done := ctx.Done()
		gone := errors.New("gone")
		cancelParent(gone)
		<-done
		require.ErrorIs(t, ctx.Err(), context.Canceled)
		require.ErrorIs(t, jsonrpc.PeerOf(ctx).Cause(), gone)

		// And the answer ends it for whoever holds on to it.
		parent = t.Context()
		ctx = start("4")
		derived, stop := context.WithCancel(ctx)
		defer stop()
		ctx2 := start("5")
		close(free)
		<-derived.Done()
		synctest.Wait()
		require.ErrorIs(t, ctx2.Err(), context.Canceled)
		for range 2 { // the other two were not cancelled
			require.Contains(t, p.next(), `"result"`)
		}
		require.Contains(t, p.next(), `"id":`)
		p.none()
	})
}

// TestServeValues: handlers see the values of Serve's context, not its end.
func TestServeValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, sv := jsonl.InMemory()
		ctx := jsonrpc.WithPrincipal(context.WithValue(t.Context(), testKey{}, "from serve"), "ada")
		served := make(chan error, 1)
		go func() {
			served <- jsonrpc.Serve(ctx, sv, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
				v, _ := ctx.Value(testKey{}).(string)
				return &result{Text: v + jsonrpc.Principal(ctx)}, nil
			}})
		}()
		r, err := connectOld(t.Context(), cl, oldClient{})
		require.NoError(t, err)
		res, err := r.CallTool(t.Context(), &callToolParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, "from serveada", res.Text)
		require.Equal(t, jsonrpc.ClientSide, r.conn.Side())
		require.NotNil(t, r.conn.Link())
		require.NoError(t, r.conn.Close(t.Context()))
		require.NoError(t, <-served)
	})
}

// TestNoPeer: outside of a handler a Peer does nothing.
func TestNoPeer(t *testing.T) {
	ctx := t.Context()
	p := jsonrpc.PeerOf(ctx)
	require.Nil(t, p.Conn())
	require.Nil(t, p.Service())
	require.True(t, p.ID().IsZero())
	require.Empty(t, p.Method())
	require.Equal(t, jsonrpc.Metadata{}, p.Metadata())
	require.Nil(t, p.Header())
	require.Nil(t, p.Message())
	require.NoError(t, p.Cause())
	require.False(t, p.WantsProgress())
	require.False(t, p.Logs("error"))
	p.Detach()
	p.SetLogLevel("error")
	p.Subscribe("x")
	p.Unsubscribe("x")
	for _, err := range []error{
		p.Notify(ctx, "x", nil), p.Progress(ctx, 1, nil, ""), p.Log(ctx, "error", nil), p.ToolsListChanged(ctx), p.PromptsListChanged(ctx),
		p.ResourcesListChanged(ctx), p.ResourceUpdated(ctx, "x"),
	} {
		require.ErrorIs(t, err, jsonrpc.ErrNoPeer)
	}
	require.Empty(t, jsonrpc.Principal(ctx))

	var c *jsonrpc.Conn // of a RemoteServer that nobody connected
	require.NoError(t, c.Close(ctx))
	require.NoError(t, c.Drain(ctx))
	<-c.Done()
	require.Equal(t, jsonrpc.Closed, c.State())
	require.Equal(t, jsonrpc.Stats{State: jsonrpc.Closed}, c.Stats())
	require.Equal(t, jsonrpc.Session{}, c.Session())
	require.Nil(t, c.Service())
	require.Nil(t, c.Link())
	require.Nil(t, c.Hub())
	require.Equal(t, jsonrpc.ClientSide, c.Side())
	require.False(t, c.Advertised("x"))
	require.False(t, c.Subscribed("x"))
	require.Zero(t, c.WaitingCalls())
	c.SetMetadata(jsonrpc.Metadata{})
	_, call := jsonrpc.CallRaw(ctx, c, "x", nil)
	_, initialize := jsonrpc.Initialize[raw](ctx, c, &oldParams{})
	_, discover := jsonrpc.Discover[raw](ctx, c, &newParams{})
	_, listen := jsonrpc.Listen(ctx, c, &newParams{}, nil)
	for _, err := range []error{c.Err(), c.Ready(), c.Ping(ctx), call, initialize, discover, listen, jsonrpc.Notify(ctx, c, "x", nil), jsonrpc.RequireCapability(c, "x", "y", false)} {
		require.ErrorIs(t, err, jsonrpc.ErrNoPeer)
	}
}

// TestNotificationHandlerCalls: a notification's handler may call the peer;
// its answer does not wait for the handler.
func TestNotificationHandlerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		var c *jsonrpc.Conn
		p := newTap(t, oldClient{ToolsChanged: func(ctx context.Context, _ *empty) error {
			start := time.Now()
			res, err := jsonrpc.CallTyped[result](ctx, jsonrpc.PeerOf(ctx).Conn(), "tools/list", &oldParams{})
			if err != nil {
				return err
			}
			got <- res.Text + time.Since(start).String()
			return nil
		}}, jsonrpc.ClientSide)
		c = p.conn
		go func() {
			_, _ = jsonrpc.InitializeRaw(t.Context(), c, rawOf(`{"protocolVersion":"2025-11-25"}`))
		}()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"do"}}`,
			`< {"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		require.Equal(t, "do", c.Session().Instructions)
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`,
			`> {"jsonrpc":"2.0","id":2,"result":{"text":"new"}}`)
		require.Equal(t, "new0s", <-got)
		synctest.Wait()
		require.Zero(t, count(c, jsonrpc.OvertakenNotification))
	})
}

// TestGatewayHearsProgress: progress with a token that is not ours goes to a
// handler of the method, if there is one.
func TestGatewayHearsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Side: jsonrpc.ClientSide, UnknownNotification: func(_ context.Context, method string, params wire.Raw) {
			got = append(got, method+params.Get("progressToken").String())
		}})
		p := newTap(t, svc, jsonrpc.ClientSide)
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs","progress":1}}`,
			`> {"jsonrpc":"2.0","method":"x/y","params":{"progressToken":2}}`)
		synctest.Wait()
		require.Equal(t, []string{`notifications/progress"theirs"`, "x/y2"}, got)
	})
}
