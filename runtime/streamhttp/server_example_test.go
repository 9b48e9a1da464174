package streamhttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// A server at http://127.0.0.1:8080/mcp, until it is interrupted. Middleware
// names who is behind a request.
func ExampleListenAndServe() {
	server := mcp.Server{
		Info: mcp.Implementation{Name: "greeter", Version: "1.0.0"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "greet", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			text := fmt.Sprintf("Hello %s", jsonrpc.Principal(ctx))
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: text}}}, nil
		},
	}
	authorized := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, ok := userOf(r.Header.Get("Authorization"))
			if !ok {
				w.Header().Set("WWW-Authenticate", "Bearer")
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r.WithContext(jsonrpc.WithPrincipal(r.Context(), user)))
		})
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := streamhttp.ListenAndServe(ctx, ":8080", streamhttp.NewHandler(server), func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/mcp", authorized(h))
		return mux
	})
	if err != nil {
		log.Print(err)
	}
}

// userOf is whatever the user knows of tokens.
func userOf(authorization string) (string, bool) {
	token, ok := strings.CutPrefix(authorization, "Bearer ")
	return "somebody", ok && token != ""
}

// Pages of https://app.example may use the server: CORS stands in front of what
// asks for a token, since a browser's preflight has none.
func ExampleCORS() {
	origins := []string{"https://app.example"}
	h := streamhttp.NewHandler(mcp.Server{Info: mcp.Implementation{Name: "s", Version: "1"}}, streamhttp.HandlerOptions{AllowedOrigins: origins})
	defer h.Close()
	authorized := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := userOf(r.Header.Get("Authorization")); !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(streamhttp.CORS(authorized, origins))
	defer srv.Close()

	preflight, _ := http.NewRequest(http.MethodOptions, srv.URL, nil)
	preflight.Header.Set("Origin", "https://app.example")
	preflight.Header.Set("Access-Control-Request-Method", "POST")
	preflight.Header.Set("Access-Control-Request-Headers", "authorization, content-type, mcp-method")
	res, err := http.DefaultClient.Do(preflight)
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	fmt.Println(res.Status)
	fmt.Println(res.Header.Get("Access-Control-Allow-Origin"))
	fmt.Println(res.Header.Get("Access-Control-Allow-Headers"))
	// Output:
	// 204 No Content
	// https://app.example
	// authorization, content-type, mcp-method
}
