package compat

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestKeptCallEndsWhileItsAnswerIsRead: a bad answer does not keep a call whose
// handler has ended meanwhile.
func TestKeptCallEndsWhileItsAnswerIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(Options{})
		var parked int
		var refused error
		call := func(ctx context.Context, p *newer.CallToolParams) (*newer.CallToolResult, error) {
			c := k.start(ctx, p, func(ctx context.Context) (any, error) {
				c := ctx.Value(keptKey{k}).(*kept)
				go func() {
					_ = c.ask(ctx, "elicitation", &newer.ElicitRequest{Params: &newer.ElicitFormParams{Message: "?"}}, func(wire.Raw) error {
						c.turn.Cancel(errGivenUp)
						<-c.done
						return errors.New("no answer")
					})
				}()
				<-ctx.Done()
				return nil, ctx.Err()
			})
			need, err := c.wait(ctx)
			if err != nil {
				return nil, err
			}
			parked = len(k.parked)
			answers := newer.InputResponses{}
			for key := range need.InputRequests {
				answers[key] = newer.InputResponse{Raw: wire.Raw(`{}`)}
			}
			_, refused = k.resume(ctx, *need.RequestState, answers)
			return &newer.CallToolResult{}, nil
		}
		here, there := jsonl.InMemory()
		done := make(chan error, 1)
		go func() {
			done <- jsonrpc.Serve(jsonrpc.WithPrincipal(context.Background(), "ada"), there, newer.Server{
				Info:      newer.Implementation{Name: "s", Version: "1"},
				ListTools: func(context.Context, *newer.ListToolsParams) (*newer.ListToolsResult, error) { return nil, nil },
				CallTool:  call,
			})
		}()
		s, err := newer.Connect(t.Context(), here, newer.Client{})
		require.NoError(t, err)
		_, err = s.CallTool(t.Context(), &newer.CallToolParams{Name: "t"})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
		require.Equal(t, 1, parked)
		e, ok := errors.AsType[*jsonrpc.Error](refused)
		require.True(t, ok, "%v", refused)
		require.ErrorContains(t, e.Cause, "its call is over")
		require.Empty(t, k.parked)
		require.Empty(t, k.shares)
	})
}
