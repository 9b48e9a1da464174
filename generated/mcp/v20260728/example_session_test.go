package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// A server is a literal. Over stdio it is served with
// jsonrpc.Serve(ctx, jsonl.Stdio(), server).
func ExampleServer() {
	server := mcp.Server{
		Info: mcp.Implementation{Name: "harbour", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "tides", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			port, ok := p.Arguments.Get("port").Str()
			if !ok {
				return nil, jsonrpc.NewError(mcp.CodeInvalidParams, "arguments.port: missing")
			}
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: port + ": high water at 04:12."}}}, nil
		},
	}
	here, there := jsonl.InMemory()
	go func() {
		if err := jsonrpc.Serve(context.Background(), there, server); err != nil {
			log.Print(err)
		}
	}()
	harbour, err := mcp.Connect(context.Background(), here, mcp.Client{Info: mcp.Implementation{Name: "example", Version: "1.0.0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = harbour.Close() }()
	for _, arguments := range []string{`{"port":"Ness"}`, `{}`} {
		res, err := harbour.CallTool(context.Background(), &mcp.CallToolParams{Name: "tides", Arguments: wire.Raw(arguments)})
		if failed, ok := errors.AsType[*jsonrpc.Error](err); ok {
			fmt.Println(failed.Code, failed.Message)
			continue
		}
		fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	}
	// Output:
	// Ness: high water at 04:12.
	// -32602 arguments.port: missing
}

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
	// 2026-07-28
	// tides
	// berths
}
