package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// joined is a client of a proxy of a server, all in memory.
func joined(t *testing.T, s oldServer, c oldClient, proxy func(*oldRemote) oldServer) (*oldRemote, func()) {
	t.Helper()
	upClient, upServer := jsonl.InMemory()
	downClient, downServer := jsonl.InMemory()
	done := make(chan error, 2)
	go func() { done <- jsonrpc.Serve(context.Background(), upServer, s) }()
	remote, err := connectOld(t.Context(), upClient, oldClient{})
	require.NoError(t, err)
	go func() { done <- jsonrpc.Serve(context.Background(), downServer, proxy(remote)) }()
	client, err := connectOld(t.Context(), downClient, c)
	require.NoError(t, err)
	return client, func() {
		require.NoError(t, client.conn.Close(context.Background()))
		require.NoError(t, <-done)
		require.NoError(t, remote.conn.Close(context.Background()))
		require.NoError(t, <-done)
	}
}

// TestProxyPassesProgressOn: who serves what it calls passes progress on, in
// order, before the answer, with the token of its own client.
func TestProxyPassesProgressOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tokens := make(chan jsonrpc.ID, 8)
		s := oldServer{
			CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
				tokens <- p.Meta.ProgressToken
				for i := range 50 {
					_ = jsonrpc.PeerOf(ctx).Progress(ctx, float64(i+1), new(50.0), fmt.Sprint("step ", i+1))
				}
				return &result{Text: p.Name}, nil
			},
			Unknown: func(ctx context.Context, _ string, params wire.Raw) (wire.Raw, error) {
				_ = jsonrpc.PeerOf(ctx).Progress(ctx, 7, nil, "")
				return params, nil
			},
		}
		proxy := func(r *oldRemote) oldServer {
			return oldServer{
				CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
					if p.Name == "own" { // a call of the handler's own
						return r.CallTool(ctx, &callToolParams{Name: p.Name})
					}
					return r.CallTool(ctx, p)
				},
				Unknown: func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error) {
					return jsonrpc.CallRaw(ctx, r.conn, method, params)
				},
			}
		}
		client, stop := joined(t, s, oldClient{}, proxy)
		defer stop()
		var got []string
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) {
			got = append(got, fmt.Sprint(p.Progress, " of ", *p.Total, ": ", p.Message))
		}})
		_, err := client.CallTool(t.Context(), &callToolParams{Name: "unused ids"}) // so that the two ids differ
		require.NoError(t, err)
		require.True(t, (<-tokens).IsZero(), "nobody asked")
		res, err := client.CallTool(ctx, &callToolParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, "x", res.Text)
		require.Len(t, got, 50)
		for i, s := range got {
			require.Equal(t, fmt.Sprintf("%d of 50: step %d", i+1, i+1), s)
		}
		require.False(t, (<-tokens).IsZero())

		got = nil
		_, err = client.CallTool(ctx, &callToolParams{Name: "own"})
		require.NoError(t, err)
		require.Empty(t, got, "a handler's own calls are its own affair")
		require.True(t, (<-tokens).IsZero())

		// Raw calls that are passed on keep all but the token.
		raws := make(chan wire.Raw, 1)
		ctx = jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { raws <- p.Params }})
		r, err := jsonrpc.CallTyped[raw](ctx, client.conn, "x/any", &oldParams{Fields: map[string]wire.Raw{"a": wire.Raw("1.0")}})
		require.NoError(t, err)
		require.Equal(t, "1.0", string(r.Raw.Get("a")))
		require.Equal(t, "7", string((<-raws).Get("progress")))
	})
}

// TestProxyPassesCancellationOn: with the reason of the client at the far end.
func TestProxyPassesCancellationOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, ended := make(chan struct{}), make(chan error, 1)
		s := oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
			close(started)
			<-ctx.Done()
			ended <- jsonrpc.PeerOf(ctx).Cause()
			return nil, ctx.Err()
		}}
		client, stop := joined(t, s, oldClient{}, func(r *oldRemote) oldServer { return oldServer{CallTool: r.CallTool} })
		defer stop()
		ctx, cancel := context.WithCancelCause(t.Context())
		call := client.goCall(ctx, "x")
		<-started
		bored := errors.New("bored")
		cancel(bored)
		err := (<-call).err
		require.ErrorIs(t, err, bored)
		require.ErrorIs(t, err, context.Canceled)
		var ce *jsonrpc.CanceledError
		require.ErrorAs(t, <-ended, &ce)
		require.Equal(t, "bored", ce.Reason)
	})
}

// TestProxyPassesOnWhatItHears: changes of lists and log messages reach the
// clients of a proxy whose Hub is that of its connection.
func TestProxyPassesOnWhatItHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(chan string, 8)
		s := oldServer{
			Hub:      new(jsonrpc.Hub),
			SetLevel: func(context.Context, *oldParams) (*empty, error) { return &empty{}, nil },
			CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
				peer := jsonrpc.PeerOf(ctx)
				for _, level := range []string{"debug", "error"} {
					if err := peer.Log(ctx, level, &oldParams{Fields: map[string]wire.Raw{"level": wire.Quote(level), "data": wire.Raw(`"d"`)}}); err != nil {
						return nil, err
					}
				}
				return &result{}, peer.ToolsListChanged(ctx)
			},
			Subscribe: func(context.Context, *oldParams) (*empty, error) { return &empty{}, nil },
		}
		c := oldClient{
			ToolsChanged: func(context.Context, *empty) error { heard <- "tools"; return nil },
			Updated:      func(_ context.Context, p *oldParams) error { heard <- "updated " + p.text("uri"); return nil },
			Message:      func(_ context.Context, p *oldParams) error { heard <- p.text("level"); return nil },
		}
		client, stop := joined(t, s, c, func(r *oldRemote) oldServer {
			return oldServer{
				Hub: r.conn.Hub(), CallTool: r.CallTool,
				SetLevel:  func(ctx context.Context, p *oldParams) (*empty, error) { return r.SetLevel(ctx, p.text("level")) },
				Subscribe: func(ctx context.Context, p *oldParams) (*empty, error) { return r.Subscribe(ctx, p.text("uri")) },
			}
		})
		defer stop()
		_, err := client.CallTool(t.Context(), &callToolParams{Name: "x"})
		require.NoError(t, err)
		for _, want := range []string{"debug", "error", "tools"} {
			require.Equal(t, want, <-heard)
		}
		_, err = client.SetLevel(t.Context(), "warning")
		require.NoError(t, err)
		_, err = client.CallTool(t.Context(), &callToolParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, "error", <-heard)
		require.Equal(t, "tools", <-heard)
		s.Hub.ResourceUpdated(t.Context(), "file:///a")
		_, err = client.Subscribe(t.Context(), "file:///a")
		require.NoError(t, err)
		s.Hub.ResourceUpdated(t.Context(), "file:///a")
		require.Equal(t, "updated file:///a", <-heard)
		synctest.Wait()
		require.Empty(t, heard)
	})
}
