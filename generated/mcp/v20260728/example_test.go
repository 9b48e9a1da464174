package mcp_test

import (
	"context"
	"fmt"
	"log"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// A handler asks for input by returning an *InputRequiredError, and is called
// again with the answers. Connect answers from the funcs of the Client.
func ExampleInputRequiredError() {
	server := mcp.Server{
		Info: mcp.Implementation{Name: "greeter", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "greet"}}}, nil
		},
		CallTool: func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			answer, err := p.InputResponses.Elicit("who")
			if err != nil {
				return nil, err
			}
			if answer == nil {
				return nil, mcp.NewInputRequiredError(mcp.InputRequests{
					"who": &mcp.ElicitRequest{Params: &mcp.ElicitFormParams{
						Message:         "Who is there?",
						RequestedSchema: mcp.ElicitSchema{Properties: map[string]mcp.PrimitiveSchemaDefinition{"name": &mcp.StringSchema{}}},
					}},
				}, nil)
			}
			name, _ := answer.Content["name"].Str()
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "Hello, " + name + "!"}}}, nil
		},
	}
	client := mcp.Client{
		Info: mcp.Implementation{Name: "example", Version: "1.0.0"},
		Elicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(p.(*mcp.ElicitFormParams).Message)
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]mcp.ElicitValue{"name": mcp.ElicitValueString("Ada")}}, nil
		},
	}

	ctx := context.Background()
	here, there := jsonl.InMemory()
	go func() {
		if err := jsonrpc.Serve(ctx, there, server); err != nil {
			log.Print(err)
		}
	}()
	greeter, err := mcp.Connect(ctx, here, client)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = greeter.Close() }()
	res, err := greeter.CallTool(ctx, &mcp.CallToolParams{Name: "greet"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// Who is there?
	// Hello, Ada!
}
