// Command trpc is trpc.group/trpc-go/trpc-mcp-go. Its modes over HTTP are sse
// and json.
package main

import (
	"context"
	"net/http"
	"time"

	mcp "trpc.group/trpc-go/trpc-mcp-go"

	"github.com/goldwire/goldwire/testdata/peers/transport/load"
	"github.com/goldwire/goldwire/testdata/peers/transport/program"
)

func main() { program.Main(program.Toolkit{Stdio: stdio, HTTP: handler, Dial: dial}) }

// silent keeps the log, which goes to stdout, out of the way.
type silent struct{}

func (silent) Debug(...any)          {}
func (silent) Debugf(string, ...any) {}
func (silent) Info(...any)           {}
func (silent) Infof(string, ...any)  {}
func (silent) Warn(...any)           {}
func (silent) Warnf(string, ...any)  {}
func (silent) Error(...any)          {}
func (silent) Errorf(string, ...any) {}
func (silent) Fatal(...any)          {}
func (silent) Fatalf(string, ...any) {}

func register(add func(*mcp.Tool, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error))) {
	add(mcp.NewTool("echo", mcp.WithString("message", mcp.Required())), func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m, _ := r.Params.Arguments["message"].(string)
		return mcp.NewTextResult(m), nil
	})
	add(mcp.NewTool("big", mcp.WithInteger("size", mcp.Required())), func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n, _ := r.Params.Arguments["size"].(float64)
		return mcp.NewTextResult(load.Big(int(n))), nil
	})
}

func stdio(string) error {
	s := mcp.NewStdioServer("bench", "1.0.0", mcp.WithStdioServerLogger(silent{}))
	register(func(t *mcp.Tool, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.RegisterTool(t, h)
	})
	return s.Start()
}

func handler(mode string) (http.Handler, error) {
	s := mcp.NewServer("bench", "1.0.0", mcp.WithServerLogger(silent{}), mcp.WithServerPath("/mcp"), mcp.WithPostSSEEnabled(mode == "sse"))
	register(func(t *mcp.Tool, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.RegisterTool(t, h)
	})
	return s.Handler(), nil
}

func dial(ctx context.Context, t program.Target) (*program.Client, error) {
	info := mcp.Implementation{Name: "bench", Version: "1.0.0"}
	var c interface {
		Initialize(context.Context, *mcp.InitializeRequest) (*mcp.InitializeResult, error)
		CallTool(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
		Close() error
	}
	var err error
	if t.URL != "" {
		c, err = mcp.NewClient(t.URL, info, mcp.WithClientLogger(silent{}))
	} else {
		c, err = mcp.NewStdioClient(mcp.StdioTransportConfig{
			ServerParams: mcp.StdioServerParameters{Command: t.Command[0], Args: t.Command[1:]}, Timeout: time.Minute,
		}, info, mcp.WithStdioLogger(silent{}))
	}
	if err != nil {
		return nil, err
	}
	res, err := c.Initialize(ctx, &mcp.InitializeRequest{})
	if err != nil {
		return nil, err
	}
	call := func(ctx context.Context, tool string, arguments map[string]any) (string, error) {
		var q mcp.CallToolRequest
		q.Params.Name, q.Params.Arguments = tool, arguments
		r, err := c.CallTool(ctx, &q)
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
