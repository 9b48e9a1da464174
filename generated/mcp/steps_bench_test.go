package mcp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/generated/mcp/step20251125"
	"github.com/goldwire/goldwire/generated/mcp/step20260728"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/wire"
)

// BenchmarkSteps is what a tools/call costs when its server is of the revision
// after its client's: the func itself, and wrapped.
func BenchmarkSteps(b *testing.B) {
	ctx := context.Background()
	text := func(s string) v20251125.ContentBlock { return &v20251125.TextContent{Text: s} }
	result := &v20251125.CallToolResult{Content: []v20251125.ContentBlock{text("one"), text("two"), text("three")}, StructuredContent: wire.Raw(`{"n":1}`)}
	args := wire.Raw(`{"city":"Berlin","days":3}`)

	b.Run("2025-11-25 for 2025-06-18", func(b *testing.B) {
		s := v20251125.Server{CallTool: func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			return result, nil
		}}
		old := step20251125.DowngradeServer(s)
		p := &v20250618.CallToolParams{Name: "forecast", Arguments: args}
		b.ReportAllocs()
		for b.Loop() {
			_, err := old.CallTool(ctx, p)
			require.NoError(b, err)
		}
	})
	newest := &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "one"}, &v20260728.TextContent{Text: "two"}, &v20260728.TextContent{Text: "three"}}, StructuredContent: wire.Raw(`{"n":1}`)}
	b.Run("2026-07-28 for 2025-11-25", func(b *testing.B) {
		s := v20260728.Server{CallTool: func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			return newest, nil
		}}
		old := step20260728.DowngradeServer(s)
		p := &v20251125.CallToolParams{Name: "forecast", Arguments: args}
		ctx := wire.WithEnv(ctx, &wire.Env{Meta: &v20260728.RequestMeta{ProtocolVersion: v20260728.Revision}})
		b.ReportAllocs()
		for b.Loop() {
			_, err := old.CallTool(ctx, p)
			require.NoError(b, err)
		}
	})
	b.Run("2025-11-25 for 2026-07-28", func(b *testing.B) {
		s := v20251125.Server{CallTool: func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			return result, nil
		}}
		young := step20260728.UpgradeServer(s)
		p := &v20260728.CallToolParams{Name: "forecast", Arguments: args}
		b.ReportAllocs()
		for b.Loop() {
			_, err := young.CallTool(ctx, p)
			require.NoError(b, err)
		}
	})
}
