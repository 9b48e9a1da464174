package bridge

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// BenchmarkCall is one tools/call after the other, with a small text each way: to
// the server itself, through a bridge that passes messages on, and through one that
// converts them. Each connection is a pair of streams in memory.
func BenchmarkCall(b *testing.B) {
	for _, size := range []struct {
		name string
		text string
	}{{"small", "hello"}, {"64KiB", strings.Repeat("x", 64<<10)}} {
		result := &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: size.text}}}
		server := v20251125.Server{
			ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
				return &v20251125.ListToolsResult{}, nil
			},
			CallTool: func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
				return result, nil
			},
		}
		args := wire.Raw(`{"text":` + string(wire.Quote(size.text)) + `}`)
		serve := func(binder jsonrpc.Binder) *jsonl.Streams {
			client, s := jsonl.InMemory()
			go func() { _ = jsonrpc.Serve(context.Background(), s, binder) }()
			return client
		}
		old := func(b *testing.B, d jsonrpc.Dialer) {
			r, err := v20251125.Connect(b.Context(), d, v20251125.Client{})
			require.NoError(b, err)
			p := &v20251125.CallToolParams{Name: "echo", Arguments: args}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.CallTool(b.Context(), p); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, r.Close())
		}
		b.Run(size.name+"/direct", func(b *testing.B) { old(b, serve(server)) })
		b.Run(size.name+"/passed", func(b *testing.B) {
			bridge := New(&serving{b: server}, Options{Logger: quietLog()})
			old(b, serve(bridge))
			require.NoError(b, bridge.Close(context.Background()))
		})
		b.Run(size.name+"/converted", func(b *testing.B) {
			bridge := New(&serving{b: server}, Options{Logger: quietLog()})
			r, err := v20260728.Connect(b.Context(), serve(bridge), v20260728.Client{})
			require.NoError(b, err)
			p := &v20260728.CallToolParams{Name: "echo", Arguments: args}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.CallTool(b.Context(), p); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, r.Close())
			require.NoError(b, bridge.Close(context.Background()))
		})
	}
}
