// Command mcpgo is github.com/mark3labs/mcp-go in the matrix.
package main

import (
	"context"
	"net/http"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

func main() {
	script.Main(script.Server{
		Stdio: func(string) error { return server.ServeStdio(newServer()) },
		HTTP:  func(string) (http.Handler, error) { return server.NewStreamableHTTPServer(newServer()), nil },
		SSE:   func(string) (http.Handler, error) { return server.NewSSEServer(newServer()), nil },
	}, dial)
}

func newServer() *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1.2.1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true))
	for _, name := range script.Tools {
		s.AddTool(mcp.NewTool(name), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name == script.ToolAsk {
				answer, ok := r.Params.InputResponses["roots"]
				if !ok {
					return server.NewInputRequestBuilder("").Roots("roots").ToolResult(), nil
				}
				if err := answer.DecodeFor(mcp.MethodListRoots); err != nil {
					return nil, err
				}
				return mcp.NewToolResultText(answer.Roots.Roots[0].URI), nil
			}
			text, err := script.Run(ctx, name, func(done float64) error {
				if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
					return nil
				}
				return s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": done})
			}, func() error {
				s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": script.NoteURI})
				return nil
			})
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(text), nil
		})
	}
	s.AddResource(mcp.NewResource(script.NoteURI, "note"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: script.NoteURI, Text: script.NoteText}}, nil
	})
	return s
}

type roots struct{}

func (roots) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: script.RootURI}}}, nil
}

func dial(ctx context.Context, t script.Target) (*script.Client, error) {
	var carrier transport.Interface
	var err error
	switch t.Carrier {
	case "stdio":
		carrier = transport.NewStdio(t.Command[0], nil, t.Command[1:]...)
	case "http":
		var o []transport.StreamableHTTPCOption
		if t.Revision != mcp.ProtocolVersion20260728 && !t.Detect {
			//lint:ignore SA1019 without it there are no notifications outside of calls in the older revisions
			o = append(o, transport.WithContinuousListening())
		}
		carrier, err = transport.NewStreamableHTTP(t.URL, o...)
	case "sse":
		carrier, err = transport.NewSSE(t.URL)
	}
	if err != nil {
		return nil, err
	}
	c := client.NewClient(carrier, client.WithRootsHandler(roots{}))
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var progress func(float64)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		fields := n.Params.AdditionalFields
		switch n.Method {
		case "notifications/progress":
			mu.Lock()
			f := progress
			mu.Unlock()
			if v, ok := fields["progress"].(float64); ok && f != nil {
				f(v)
			}
		case "notifications/resources/updated":
			if uri, ok := fields["uri"].(string); ok {
				t.Updated(uri)
			}
		}
	})
	var hello mcp.InitializeRequest
	if !t.Detect {
		hello.Params.ProtocolVersion = t.Revision
	}
	hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1.2.1"}
	res, err := c.Initialize(ctx, hello)
	if err != nil {
		return nil, err
	}
	return &script.Client{
		Revision: res.ProtocolVersion,
		ListTools: func(ctx context.Context) (names []string, err error) {
			r, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			if err != nil {
				return nil, err
			}
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, tool string, f func(float64)) (string, error) {
			mu.Lock()
			progress = f
			mu.Unlock()
			var q mcp.CallToolRequest
			q.Params.Name = tool
			q.Params.Meta = &mcp.Meta{ProgressToken: "token-" + tool}
			r, err := c.CallTool(ctx, q)
			if err != nil {
				return "", err
			}
			return r.Content[0].(mcp.TextContent).Text, nil
		},
		Read: func(ctx context.Context, uri string) (string, error) {
			var q mcp.ReadResourceRequest
			q.Params.URI = uri
			r, err := c.ReadResource(ctx, q)
			if err != nil {
				return "", err
			}
			return r.Contents[0].(mcp.TextResourceContents).Text, nil
		},
		Subscribe: func(ctx context.Context, uri string) error {
			if c.ProtocolVersion() == mcp.ProtocolVersion20260728 {
				_, err := c.ListenAsync(context.Background(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}, nil)
				return err
			}
			var q mcp.SubscribeRequest
			q.Params.URI = uri
			//lint:ignore SA1019 the older revisions have nothing else
			return c.Subscribe(ctx, q)
		},
		Close: c.Close,
	}, nil
}
