package jsonl_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	old "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestLargeResultIsNotCopiedOften: a result of 16 MiB works with default limits,
// and neither side allocates more than three times its size a call.
func TestLargeResultIsNotCopiedOften(t *testing.T) {
	if raced {
		t.Skip("the race detector empties pools")
	}
	text := strings.Repeat("all the text of a large result, ", largeText/32)
	allocated := func(f func()) float64 {
		f() // pools fill
		var before, after runtime.MemStats
		const rounds = 3
		runtime.ReadMemStats(&before)
		for range rounds {
			f()
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / rounds / largeText
	}
	s := oldServer(func(string) string { return text })

	ch, err := s.Bind()
	require.NoError(t, err)
	conn := jsonrpc.NewConn(nil, ch, jsonrpc.ServerSide)
	defer func() { _ = conn.Close(context.Background()) }()
	sink := &counted{}
	conn.Receive(t.Context(), sink, jsonrpc.Frame{Data: []byte(helloOld)})
	server := allocated(func() { conn.Receive(t.Context(), sink, jsonrpc.Frame{Data: []byte(callOf("1", "x"))}) })
	require.Greater(t, sink.n, 4*largeText)
	require.LessOrEqual(t, server, 3.0, "payloads that the server allocates, without its carrier")

	upR, upW, err := os.Pipe()
	require.NoError(t, err)
	downR, downW, err := os.Pipe()
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), jsonl.Pipe(upR, downW), s) }()
	c, err := old.Connect(t.Context(), jsonl.Pipe(downR, upW), old.Client{})
	require.NoError(t, err)
	both := allocated(func() {
		res, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
		require.NoError(t, err)
		require.Len(t, res.Content[0].(*old.TextContent).Text, largeText)
	})
	require.NoError(t, c.Close())
	require.NoError(t, <-served)
	t.Logf("payloads a call: server %.2f, server, client and carrier %.2f", server, both)
	require.LessOrEqual(t, both, server+3.2, "and so do the client and the carrier") // a copy more would be 1
}

const largeText = 16 << 20

// counted is an exchange whose answers go nowhere.
type counted struct{ n int }

func (d *counted) Notify(context.Context, jsonrpc.Frame) error { return nil }
func (d *counted) Reply(_ context.Context, f jsonrpc.Frame) error {
	d.n += len(f.Data)
	return nil
}
func (d *counted) Detach() {}
