// Command gosdk is github.com/modelcontextprotocol/go-sdk. Its modes over
// HTTP are stateful or stateless, each with json or sse.
package main

import (
	"context"
	"net/http"
	"os/exec"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

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

func server() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, a echoArguments) (*mcp.CallToolResult, any, error) {
		return text(a.Message), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "tell"}, func(ctx context.Context, r *mcp.CallToolRequest, a echoArguments) (*mcp.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		return text(a.Message), nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "big"}, func(_ context.Context, _ *mcp.CallToolRequest, a bigArguments) (*mcp.CallToolResult, any, error) {
		return text(load.Big(a.Size)), nil, nil
	})
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func stdio(string) error { return server().Run(context.Background(), &mcp.StdioTransport{}) }

func handler(mode string) (http.Handler, error) {
	s := server()
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless:    strings.HasPrefix(mode, "stateless"),
		JSONResponse: strings.HasSuffix(mode, "json"),
	}), nil
}

func dial(ctx context.Context, t program.Target) (*program.Client, error) {
	var transport mcp.Transport
	if t.URL != "" {
		transport = &mcp.StreamableClientTransport{Endpoint: t.URL, MaxEventSize: -1} // a large result is refused otherwise
	} else {
		cmd := exec.Command(t.Command[0], t.Command[1:]...)
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		transport = &mcp.IOTransport{Reader: out, Writer: in, MaxLineLength: -1} // CommandTransport has no way to allow a large result
	}
	var o *mcp.ClientSessionOptions
	if t.Revision != "" {
		o = &mcp.ClientSessionOptions{ProtocolVersion: t.Revision}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1.0.0"}, nil).Connect(ctx, transport, o)
	if err != nil {
		return nil, err
	}
	call := func(ctx context.Context, tool string, arguments any) (string, error) {
		r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return "", err
		}
		return r.Content[0].(*mcp.TextContent).Text, nil
	}
	return &program.Client{
		Echo: func(ctx context.Context, m string) (string, error) {
			return call(ctx, "echo", echoArguments{m})
		},
		Big: func(ctx context.Context, n int) (int, error) {
			s, err := call(ctx, "big", bigArguments{n})
			return len(s), err
		},
		Revision: s.InitializeResult().ProtocolVersion,
		Close:    func() { _ = s.Close() },
	}, nil
}
