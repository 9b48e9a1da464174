package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestManyClientsAtOnce holds that calls of many clients which share a server, some
// of them given up, get their own answers and their own progress, whether they are
// passed on or converted.
func TestManyClientsAtOnce(t *testing.T) {
	modern := v20260728.Server{
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{}, nil
		},
		CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			if p.Name == "wait" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			_ = v20260728.Peer(ctx).Progress(ctx, 1, nil, p.Name)
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: p.Name}}}, nil
		},
	}
	old := v20251125.Server{
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{}, nil
		},
		CallTool: func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			if p.Name == "wait" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			_ = v20251125.Peer(ctx).Progress(ctx, 1, nil, p.Name)
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: p.Name}}}, nil
		},
	}
	for name, server := range map[string]jsonrpc.Binder{"passed": modern, "converted": old} {
		t.Run(name, func(t *testing.T) {
			s := &serving{b: server}
			b := New(s, Options{Logger: quietLog()})
			var wg sync.WaitGroup
			for i := range 16 {
				client, down := jsonl.InMemory()
				wg.Go(func() { _ = jsonrpc.Serve(context.Background(), down, b) })
				wg.Go(func() {
					r, err := v20260728.Connect(t.Context(), client, v20260728.Client{})
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = r.Close() }()
					for k := range 60 {
						ctx, cancel := context.WithCancel(t.Context())
						if k%5 == 4 {
							go cancel()
							if _, err := r.CallTool(ctx, &v20260728.CallToolParams{Name: "wait"}); !errors.Is(err, context.Canceled) {
								t.Errorf("a call that was given up: %v", err)
							}
							continue
						}
						want := fmt.Sprint(i, " ", k)
						ctx = jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) {
							if p.Message != want { // none at all where the answer has overtaken it
								t.Errorf("progress on %s at %s", p.Message, want)
							}
						}})
						res, err := r.CallTool(ctx, &v20260728.CallToolParams{Name: want})
						cancel()
						if err != nil {
							t.Error(err)
							continue
						}
						if text := res.Content[0].(*v20260728.TextContent).Text; text != want {
							t.Errorf("want %s, got %s", want, text)
						}
					}
				})
			}
			wg.Wait()
			require.Equal(t, 1, map[string]int{"passed": s.dials, "converted": s.dials - 1}[name])
			require.NoError(t, b.Close(context.Background()))
			s.wg.Wait()
		})
	}
}
