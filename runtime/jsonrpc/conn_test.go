package jsonrpc_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

func TestSmoke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		cl, sv := jsonl.InMemory()
		served := make(chan error, 1)
		go func() {
			served <- jsonrpc.Serve(ctx, sv, oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
				return &result{Text: "hello " + p.Name}, nil
			}})
		}()
		r, err := connectOld(ctx, cl, oldClient{})
		require.NoError(t, err)
		for range 10 {
			res, err := r.CallTool(ctx, &callToolParams{Name: "x"})
			require.NoError(t, err)
			require.Equal(t, "hello x", res.Text)
		}
		require.NoError(t, r.conn.Close(ctx))
		require.NoError(t, <-served)
	})
}
