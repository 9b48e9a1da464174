// Command goldwire is this repository: the generated servers of both eras,
// and their clients. With -mode stream the text of a large result comes from a
// reader.
package main

import (
	"context"
	"net/http"
	"strings"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
	"github.com/goldwire/goldwire/testdata/peers/transport/program"
)

func main() { program.Main(program.Toolkit{Stdio: stdio, HTTP: handler, Dial: dial}) }

type echoArguments struct {
	Message string `json:"message"`
}

type bigArguments struct {
	Size int `json:"size"`
}

// call is what the tools answer.
func call(ctx context.Context, tool string, arguments wire.Raw) (string, error) {
	switch tool {
	case "echo":
		a, err := args.Decode[echoArguments](arguments)
		return a.Message, err
	case "tell":
		a, err := args.Decode[echoArguments](arguments)
		if err == nil {
			err = jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "")
		}
		return a.Message, err
	case "big":
		a, err := args.Decode[bigArguments](arguments)
		if err == nil && streamed {
			return "", &jsonrpc.TextStream{Reader: strings.NewReader(load.Big(a.Size))}
		}
		return load.Big(a.Size), err
	}
	return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such tool"}
}

var schema = wire.Raw(`{"type":"object"}`)

func server() jsonrpc.Binder {
	return compat.Revisions(
		legacy.Server{
			Info: legacy.Implementation{Name: "bench", Version: "1.0.0"},
			ListTools: func(context.Context, *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
				return &legacy.ListToolsResult{Tools: []legacy.Tool{{Name: "echo", InputSchema: schema}, {Name: "big", InputSchema: schema}}}, nil
			},
			CallTool: func(ctx context.Context, p *legacy.CallToolParams) (*legacy.CallToolResult, error) {
				text, err := call(ctx, p.Name, p.Arguments)
				if err != nil {
					return nil, err
				}
				return &legacy.CallToolResult{Content: []legacy.ContentBlock{&legacy.TextContent{Text: text}}}, nil
			},
			ToolsListChanged: true,
		},
		modern.Server{
			Info: modern.Implementation{Name: "bench", Version: "1.0.0"},
			ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
				return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "echo", InputSchema: schema}, {Name: "big", InputSchema: schema}}, CacheScope: modern.CacheScopePublic}, nil
			},
			CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
				text, err := call(ctx, p.Name, p.Arguments)
				if err != nil {
					return nil, err
				}
				return &modern.CallToolResult{Content: []modern.ContentBlock{&modern.TextContent{Text: text}}}, nil
			},
			ToolsListChanged: true,
		},
	)
}

var streamed bool // set before anything is served

func stdio(mode string) error {
	streamed = mode == "stream"
	return jsonrpc.Serve(context.Background(), jsonl.Stdio(), server())
}

func handler(mode string) (http.Handler, error) {
	streamed = mode == "stream"
	h := streamhttp.NewHandler(server())
	return h, h.Err()
}

func dial(ctx context.Context, t program.Target) (*program.Client, error) {
	var d jsonrpc.Dialer
	if t.URL != "" {
		d = streamhttp.URL(t.URL)
	} else {
		d = jsonl.Command(t.Command[0], t.Command[1:]...)
	}
	if t.Revision == modern.Revision {
		s, err := modern.Connect(ctx, d, modern.Client{Info: modern.Implementation{Name: "bench", Version: "1.0.0"}})
		if err != nil {
			return nil, err
		}
		return client(s.Revision(), s.Close, func(ctx context.Context, tool string, arguments wire.Raw) (string, error) {
			r, err := s.CallTool(ctx, &modern.CallToolParams{Name: tool, Arguments: arguments})
			if err != nil {
				return "", err
			}
			return r.Content[0].(*modern.TextContent).Text, nil
		}), nil
	}
	s, err := legacy.Connect(ctx, d, legacy.Client{Info: legacy.Implementation{Name: "bench", Version: "1.0.0"}})
	if err != nil {
		return nil, err
	}
	return client(s.Revision(), s.Close, func(ctx context.Context, tool string, arguments wire.Raw) (string, error) {
		r, err := s.CallTool(ctx, &legacy.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return "", err
		}
		return r.Content[0].(*legacy.TextContent).Text, nil
	}), nil
}

func client(revision string, close func() error, call func(context.Context, string, wire.Raw) (string, error)) *program.Client {
	return &program.Client{
		Echo: func(ctx context.Context, m string) (string, error) {
			a, err := args.Encode(echoArguments{m})
			if err != nil {
				return "", err
			}
			return call(ctx, "echo", a)
		},
		Big: func(ctx context.Context, n int) (int, error) {
			a, err := args.Encode(bigArguments{n})
			if err != nil {
				return 0, err
			}
			s, err := call(ctx, "big", a)
			return len(s), err
		},
		Revision: revision,
		Close:    func() { _ = close() },
	}
}
