package mcp_test

import (
	"context"
	"fmt"
	"log"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// A client connects to a server that it starts, with
// jsonl.Command("path/to/server") in the place of the stream that this example
// has, and asks it for all of its tools, page by page.
func ExampleConnect() {
	here, there := jsonl.InMemory()
	go func() {
		server := mcp.Server{
			Info: mcp.Implementation{Name: "harbour", Version: "1.0.0"},
			ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
				if p.Cursor == nil {
					return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "tides"}}, NextCursor: new("more")}, nil
				}
				return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "berths"}}}, nil
			},
			CallTool: func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			},
		}
		if err := jsonrpc.Serve(context.Background(), there, server); err != nil {
			log.Print(err)
		}
	}()
	ctx := context.Background()
	harbour, err := mcp.Connect(ctx, here, mcp.Client{Info: mcp.Implementation{Name: "example", Version: "1.0.0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = harbour.Close() }()
	fmt.Println(harbour.Revision())
	for tool, err := range harbour.Tools(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name)
	}
	// Output:
	// 2025-11-25
	// tides
	// berths
}
