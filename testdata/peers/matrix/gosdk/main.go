// Command gosdk is github.com/modelcontextprotocol/go-sdk in the matrix.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

func main() {
	script.Main(script.Server{
		Stdio: func(revision string) error { return server(revision).Run(context.Background(), &mcp.StdioTransport{}) },
		HTTP: func(revision string) (http.Handler, error) {
			s := server(revision)
			get := func(*http.Request) *mcp.Server { return s }
			stateful := mcp.NewStreamableHTTPHandler(get, nil)
			// With sessions it does not speak the revision that has none.
			stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
					stateless.ServeHTTP(w, r)
				} else {
					stateful.ServeHTTP(w, r)
				}
			}), nil
		},
		SSE: func(revision string) (http.Handler, error) {
			s := server(revision)
			return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil), nil
		},
	}, dial)
}

func server(revision string) *mcp.Server {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	var revisions []string // all
	if revision != "" {
		revisions = []string{revision}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, &mcp.ServerOptions{
		SupportedProtocolVersions: revisions,
		SubscribeHandler:          nothing,
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for _, name := range script.Tools {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name == script.ToolAsk {
				r, ok := r.Params.InputResponses["roots"].(*mcp.ListRootsResult)
				if !ok {
					return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
				}
				return text(r.Roots[0].URI), nil
			}
			said, err := script.Run(ctx, name, func(done float64) error {
				token := r.Params.GetProgressToken()
				if token == nil {
					return nil
				}
				return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done})
			}, func() error {
				return s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: script.NoteURI})
			})
			if err != nil {
				return nil, err
			}
			return text(said), nil
		})
	}
	s.AddResource(&mcp.Resource{URI: script.NoteURI, Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: script.NoteURI, Text: script.NoteText}}}, nil
	})
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func dial(ctx context.Context, t script.Target) (*script.Client, error) {
	var transport mcp.Transport
	switch t.Carrier {
	case "stdio":
		transport = &mcp.CommandTransport{Command: exec.Command(t.Command[0], t.Command[1:]...)}
	case "http":
		transport = &mcp.StreamableClientTransport{Endpoint: t.URL}
	case "sse":
		transport = &mcp.SSEClientTransport{Endpoint: t.URL}
	}
	var mu sync.Mutex
	var progress func(float64)
	c := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1.8.0"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { t.Updated(r.Params.URI) },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			mu.Lock()
			f := progress
			mu.Unlock()
			if f != nil {
				f(r.Params.Progress)
			}
		},
	})
	c.AddRoots(&mcp.Root{URI: script.RootURI})
	var o mcp.ClientSessionOptions
	if !t.Detect {
		o.ProtocolVersion = t.Revision
	}
	s, err := c.Connect(ctx, transport, &o)
	if err != nil {
		return nil, err
	}
	return &script.Client{
		Revision: s.InitializeResult().ProtocolVersion,
		ListTools: func(ctx context.Context) (names []string, err error) {
			for tool, err := range s.Tools(ctx, nil) {
				if err != nil {
					return nil, err
				}
				names = append(names, tool.Name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, tool string, f func(float64)) (string, error) {
			mu.Lock()
			progress = f
			mu.Unlock()
			p := &mcp.CallToolParams{Name: tool}
			p.SetProgressToken("token-" + tool)
			r, err := s.CallTool(ctx, p)
			if err != nil {
				return "", err
			}
			return r.Content[0].(*mcp.TextContent).Text, nil
		},
		Read: func(ctx context.Context, uri string) (string, error) {
			r, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				return "", err
			}
			return r.Contents[0].Text, nil
		},
		Subscribe: func(_ context.Context, uri string) error {
			// The context of a listen stream is that of the call.
			return s.Subscribe(context.Background(), &mcp.SubscribeParams{URI: uri})
		},
		Close: s.Close,
	}, nil
}
