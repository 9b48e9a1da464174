package streamhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

func ExampleEndpoint() {
	handler := streamhttp.NewHandler(mcp.Server{
		Info: mcp.Implementation{Name: "echo", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "echo", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: string(p.Arguments)}}}, nil
		},
	})
	srv := httptest.NewServer(handler)
	defer srv.Close()

	ctx := context.Background()
	endpoint := &streamhttp.Endpoint{
		URL:    srv.URL,
		Header: http.Header{"Authorization": {"Bearer token"}},
		Notices: []func(streamhttp.Notice){func(n streamhttp.Notice) {
			fmt.Println("noticed:", n.Kind)
		}},
	}
	server, err := mcp.Connect(ctx, endpoint, mcp.Client{Info: mcp.Implementation{Name: "me", Version: "1.0.0"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	res, err := server.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: wire.Raw(`{"text":"hi"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// {"text":"hi"}
}

func ExampleStatusError() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer scope="tools"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	_, err := mcp.Connect(context.Background(), streamhttp.URL(srv.URL), mcp.Client{Options: jsonrpc.Options{}})
	var refused *streamhttp.StatusError
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.WWWAuthenticate)
	}
	// Output:
	// 401 [Bearer scope="tools"]
}
