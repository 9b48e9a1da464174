package jsonrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// answers keeps what was replied.
type answers struct{ got []string }

func (a *answers) Notify(context.Context, jsonrpc.Frame) error { return nil }
func (a *answers) Detach()                                     {}
func (a *answers) Reply(_ context.Context, f jsonrpc.Frame) error {
	a.got = append(a.got, string(f.Data))
	return nil
}

// TestForkStandsAlone holds that forks share what is counted, and nothing of
// what is going on: not the ids in use, not the end.
func TestForkStandsAlone(t *testing.T) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: revision.V20251125})
	root := jsonrpc.NewConn(nil, svc, jsonrpc.ServerSide)
	a, b := root.Fork(nil), root.Fork(nil)
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, a.Close(t.Context()))
	require.Equal(t, jsonrpc.Closed, a.State())
	require.Equal(t, jsonrpc.Connecting, b.State())
	ex := &answers{}
	b.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}, false)
	b.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(`{`)}, false)
	require.Len(t, ex.got, 2)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, ex.got[0])
	require.Contains(t, ex.got[1], "-32700")
	stats := root.Stats()
	require.EqualValues(t, 1, stats.Count(jsonrpc.BadJSON))
	require.Zero(t, stats.Received)
}
