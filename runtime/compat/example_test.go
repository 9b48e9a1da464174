package compat_test

//lint:file-ignore SA1019 what is deprecated works all the same

import (
	"context"
	"fmt"
	"log"

	older "github.com/goldwire/goldwire/generated/mcp/v20241105"
	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// A server that is written for one revision serves clients of all.
func ExampleServer() {
	server := mcp.Server{
		Info: mcp.Implementation{Name: "echo", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "echo", Title: new("Echo")}}}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			text, _ := p.Arguments.Get("text").Str()
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: text}}}, nil
		},
	}
	ctx := context.Background()
	here, there := jsonl.InMemory()
	go func() {
		if err := jsonrpc.Serve(ctx, there, compat.Server(server)); err != nil {
			log.Print(err)
		}
	}()
	client, err := older.Connect(ctx, here, older.Client{Info: older.Implementation{Name: "old", Version: "1.0.0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	res, err := client.CallTool(ctx, &older.CallToolParams{Name: "echo", Arguments: []byte(`{"text":"hello"}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Revision(), res.Content[0].(*older.TextContent).Text)
	// Output:
	// 2024-11-05 hello
}

// A client that is written for one revision calls servers of all.
func ExampleDial() {
	server := older.Server{
		Info: older.Implementation{Name: "old", Version: "1.0.0"},
		ListTools: func(context.Context, *older.ListToolsParams) (*older.ListToolsResult, error) {
			return &older.ListToolsResult{Tools: []older.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(ctx context.Context, p *older.CallToolParams) (*older.CallToolResult, error) {
			roots, err := older.Peer(ctx).ListRoots(ctx, nil)
			if err != nil {
				return nil, err
			}
			return &older.CallToolResult{Content: []older.ContentBlock{&older.TextContent{Text: "I may look at " + roots.Roots[0].URI}}}, nil
		},
	}
	ctx := context.Background()
	here, there := jsonl.InMemory()
	go func() {
		if err := jsonrpc.Serve(ctx, there, server); err != nil {
			log.Print(err)
		}
	}()
	client, err := compat.Dial(ctx, here, mcp.Client{
		Info: mcp.Implementation{Name: "new", Version: "1.0.0"},
		ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
			return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Revision(), res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// 2026-07-28 I may look at file:///work
}
