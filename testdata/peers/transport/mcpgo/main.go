// Command mcpgo is github.com/mark3labs/mcp-go.
package main

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
	"github.com/goldwire/goldwire/testdata/peers/transport/program"
)

func main() { program.Main(program.Toolkit{Stdio: stdio, HTTP: handler, Dial: dial}) }

func newServer() *server.MCPServer {
	s := server.NewMCPServer("bench", "1.0.0", server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("message", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m, err := r.RequireString("message")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(m), nil
	})
	s.AddTool(mcp.NewTool("tell", mcp.WithString("message", mcp.Required())), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m, err := r.RequireString("message")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		err = s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": 1})
		return mcp.NewToolResultText(m), err
	})
	s.AddTool(mcp.NewTool("big", mcp.WithNumber("size", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n, err := r.RequireInt("size")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(load.Big(n)), nil
	})
	return s
}

func stdio(string) error { return server.ServeStdio(newServer()) }

func handler(string) (http.Handler, error) { return server.NewStreamableHTTPServer(newServer()), nil }

func dial(ctx context.Context, t program.Target) (*program.Client, error) {
	var c *client.Client
	var err error
	if t.URL != "" {
		if c, err = client.NewStreamableHttpClient(t.URL); err == nil {
			err = c.Start(ctx)
		}
	} else {
		c, err = client.NewStdioMCPClient(t.Command[0], nil, t.Command[1:]...)
	}
	if err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if t.Revision != "" {
		hello.Params.ProtocolVersion = t.Revision
	}
	hello.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1.0.0"}
	res, err := c.Initialize(ctx, hello)
	if err != nil {
		return nil, err
	}
	call := func(ctx context.Context, tool string, arguments any) (string, error) {
		var q mcp.CallToolRequest
		q.Params.Name, q.Params.Arguments = tool, arguments
		r, err := c.CallTool(ctx, q)
		if err != nil {
			return "", err
		}
		return r.Content[0].(mcp.TextContent).Text, nil
	}
	return &program.Client{
		Echo: func(ctx context.Context, m string) (string, error) {
			return call(ctx, "echo", map[string]any{"message": m})
		},
		Big: func(ctx context.Context, n int) (int, error) {
			s, err := call(ctx, "big", map[string]any{"size": n})
			return len(s), err
		},
		Revision: res.ProtocolVersion,
		Close:    func() { _ = c.Close() },
	}, nil
}
