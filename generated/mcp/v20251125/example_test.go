package mcp_test

import (
	"context"
	"fmt"
	"log"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// A server is a literal. Over stdio it is served with
// jsonrpc.Serve(ctx, jsonl.Stdio(), server), and a client starts it with
// mcp.Connect(ctx, jsonl.Command("path/to/it"), client).
func ExampleServer() {
	server := mcp.Server{
		Info: mcp.Implementation{Name: "greeter", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{
				Name: "greet", Description: new("Greets someone."),
				InputSchema: wire.Raw(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
			}}}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			name, ok := p.Arguments.Get("name").Str()
			if !ok {
				return &mcp.CallToolResult{IsError: new(true), Content: []mcp.ContentBlock{&mcp.TextContent{Text: "Whom?"}}}, nil
			}
			if err := mcp.Peer(ctx).Progress(ctx, 1, new(1.0), "greeting"); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "Hello, " + name + "!"}}}, nil
		},
	}

	ctx := context.Background()
	here, there := jsonl.InMemory()
	go func() {
		if err := jsonrpc.Serve(ctx, there, server); err != nil {
			log.Print(err)
		}
	}()
	greeter, err := mcp.Connect(ctx, here, mcp.Client{Info: mcp.Implementation{Name: "example", Version: "1.0.0"}})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = greeter.Close() }()
	for tool, err := range greeter.Tools(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name+":", *tool.Description)
	}
	res, err := greeter.CallTool(ctx, &mcp.CallToolParams{Name: "greet", Arguments: wire.Raw(`{"name":"Ada"}`)})
	if err != nil {
		log.Fatal(err)
	}
	for _, block := range res.Content {
		switch block := block.(type) {
		case *mcp.TextContent:
			fmt.Println(block.Text)
		default:
			fmt.Println("something else")
		}
	}
	// Output:
	// greet: Greets someone.
	// Hello, Ada!
}

// A gateway reads messages by the table of methods and writes them again as
// they came, unknown members included.
func ExampleDecode() {
	m, err := mcp.Decode(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet","x-trace":"abc"}}`)})
	if err != nil {
		log.Fatal(err)
	}
	if call, ok := m.(*mcp.CallToolRequest); ok {
		call.Params.Name = "greet_politely"
		fmt.Println(string(call.AppendJSON(nil)))
	}
	// Output: {"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet_politely","x-trace":"abc"}}
}
