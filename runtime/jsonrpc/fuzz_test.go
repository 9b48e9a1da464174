package jsonrpc_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// fuzzExchange holds what a connection owes to a frame.
type fuzzExchange struct {
	t        *testing.T
	replies  atomic.Int32
	detached atomic.Bool
}

func (e *fuzzExchange) Notify(_ context.Context, f jsonrpc.Frame) error {
	e.check(f)
	return nil
}

func (e *fuzzExchange) Reply(_ context.Context, f jsonrpc.Frame) error {
	e.replies.Add(1)
	if len(f.Data) > 0 {
		e.check(f)
	}
	return nil
}

func (e *fuzzExchange) Detach() { e.detached.Store(true) }

func (e *fuzzExchange) check(f jsonrpc.Frame) {
	if _, err := wire.ParseRaw(f.Data); err != nil {
		e.t.Errorf("sent %q: %v", f.Data, err)
	}
}

// What one execution of FuzzReceive may cost.
const (
	maxFuzzed   = 8 << 10
	maxPrefixes = 200
)

// FuzzReceive: whatever comes in, a server and a client of either era answer
// at most once, with JSON, and finish every exchange that they do not keep.
func FuzzReceive(f *testing.F) {
	for _, s := range []string{
		sayInit[2:], sayReady[2:], request("7", "ping", ""), request(`"x"`, "tools/call", `{"name":"x","arguments":{"a":[1,2]},"_meta":{"progressToken":1}}`),
		request("8", "tools/call", modern(`"name":"x"`)), request("9", "subscriptions/listen", modern(`"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}`)),
		request("9", "tools/list", ""), request("1e2", "nonesuch", `{}`), `{"jsonrpc":"2.0","id":1,"result":{"text":"x"}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"m","data":[]}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"reason":"r"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"total":null}}`, `[{"jsonrpc":"2.0","id":1,"method":"ping"},5]`, `[]`, `{`, `"`, `nul`, ``,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, msg []byte, prepared bool) {
		if len(msg) > maxFuzzed {
			return
		}
		quiet := jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}
		batches := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: "2025-03-26", Options: quiet})
		jsonrpc.HandleRequest(batches, "initialize", func(context.Context, *oldParams) (*raw, error) { return rawOf(`{}`), nil })
		for _, c := range []struct {
			b    jsonrpc.Binder
			side jsonrpc.Side
		}{
			{oldServer{CallTool: echoTool, Options: quiet}, jsonrpc.ServerSide}, {newServer{CallTool: newEcho, Options: quiet, Listen: jsonrpc.ListenOptions{ToolsListChanged: true}}, jsonrpc.ServerSide},
			{batches, jsonrpc.ServerSide}, {oldClient{Options: quiet}, jsonrpc.ClientSide}, {newClient{Options: quiet}, jsonrpc.ClientSide},
		} {
			ch, err := c.b.Bind()
			require.NoError(t, err)
			conn := jsonrpc.NewConn(nil, ch, c.side)
			ctx := t.Context()
			if prepared && c.side == jsonrpc.ServerSide {
				conn.Receive(ctx, &fuzzExchange{t: t}, jsonrpc.Frame{Data: []byte(sayInit[2:])})
			}
			if prepared && c.side == jsonrpc.ClientSide {
				_ = conn.Ready()
			}
			ex := &fuzzExchange{t: t}
			conn.Receive(ctx, ex, jsonrpc.Frame{Data: msg})
			if n := ex.replies.Load(); n > 1 || n == 0 && !ex.detached.Load() {
				t.Errorf("%d replies to %q", n, msg)
			}
			// Every prefix of a short text, and some all over a long one: the work
			// must not grow with the square of the length.
			for n := 0; n < len(msg); n += 1 + len(msg)/maxPrefixes {
				conn.Receive(ctx, &fuzzExchange{t: t}, jsonrpc.Frame{Data: msg[:n], Err: jsonrpc.ErrTruncated})
			}
			if err := conn.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzID: an id that is read is written byte for byte.
func FuzzID(f *testing.F) {
	for _, s := range []string{`1`, `-0`, `1.0`, `1e5`, `1.50e1`, `0.1e1`, `"a"`, `"\u0061"`, `""`, `1e-1`, `10e-1`, `9223372036854775808`, `1e99999999999999999999`, `0e99999999999999999999`, `"\ud800"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, err := wire.ParseRaw(b)
		var id jsonrpc.ID
		derr := wire.Decode(b, wire.Options{}, &id)
		if err != nil {
			if derr == nil {
				t.Errorf("%q is no JSON, and an id", b)
			}
			return
		}
		if derr != nil {
			return
		}
		require.Equal(t, string(raw), string(id.AppendJSON(nil)))
		require.Equal(t, string(raw), id.String())
		require.False(t, id.IsZero())
		var again jsonrpc.ID
		require.NoError(t, again.UnmarshalJSON(raw))
		require.True(t, id == again)
	})
}
