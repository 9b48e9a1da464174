package jsonrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestStrayAnswersNoCall holds that an answer on the stream of another request
// is counted by its kind and completes nothing.
func TestStrayAnswersNoCall(t *testing.T) {
	p := newTap(t, newClient{}, jsonrpc.ClientSide)
	require.NoError(t, p.conn.Ready())
	count := func(k jsonrpc.EventKind) uint64 {
		s := p.conn.Stats()
		return s.Count(k)
	}
	done := make(chan error, 1)
	go func() {
		_, err := jsonrpc.CallRaw(context.Background(), p.conn, "tools/list", nil)
		done <- err
	}()
	p.talk(`< {"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.conn.Stray(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	require.EqualValues(t, 1, count(jsonrpc.UnknownAnswer))
	p.talk(`> {"jsonrpc":"2.0","id":1,"result":{}}`)
	require.NoError(t, <-done)
	p.conn.Stray(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
	require.EqualValues(t, 1, count(jsonrpc.DuplicateAnswer))
	p.conn.Stray(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":"1","result":{}}`)})
	require.EqualValues(t, 1, count(jsonrpc.WrongIDAnswer))
	p.conn.Stray(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":99,"result":{}}`)})
	p.conn.Stray(jsonrpc.Frame{Data: []byte(`{`)})
	require.EqualValues(t, 3, count(jsonrpc.UnknownAnswer))
}
