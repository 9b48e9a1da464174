//go:build e2e

package proxy

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// replica serves a tool that asks for a first name, then for a last name, and
// remembers what it heard in nothing but a sealed state.
func replica(t *testing.T, key []byte, called func()) (address string) {
	sealer, err := compat.NewSealer(0, key)
	require.NoError(t, err)
	ask := func(what string, state *string) error {
		return modern.NewInputRequiredError(modern.InputRequests{what: &modern.ElicitRequest{Params: &modern.ElicitFormParams{
			Message:         what,
			RequestedSchema: modern.ElicitSchema{Properties: map[string]modern.PrimitiveSchemaDefinition{"name": &modern.StringSchema{}}},
		}}}, state)
	}
	h := streamhttp.NewHandler(compat.Server(modern.Server{
		Info: modern.Implementation{Name: "replica", Version: "1.0.0"},
		ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
			return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "greet"}}, CacheScope: modern.CacheScopePublic}, nil
		},
		CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
			called()
			first := ""
			if p.RequestState != nil {
				b, err := sealer.Open(ctx, *p.RequestState)
				if err != nil {
					return nil, err
				}
				first = string(b)
			}
			what := "first"
			if first != "" {
				what = "last"
			}
			r, err := p.InputResponses.Elicit(what)
			switch {
			case err != nil:
				return nil, err
			case r == nil:
				return nil, ask(what, p.RequestState)
			}
			name, _ := r.Content["name"].Str()
			if first == "" {
				state, err := sealer.Seal(ctx, []byte(name))
				if err != nil {
					return nil, err
				}
				return nil, ask("last", &state)
			}
			return &modern.CallToolResult{Content: []modern.ContentBlock{&modern.TextContent{Text: "Hello, " + first + " " + name + "!"}}}, nil
		},
	}))
	require.NoError(t, h.Err())
	s := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); s.Close() })
	return strings.TrimPrefix(s.URL, "http://")
}

// TestE2EProxyTakesRoundsToReplicas: nginx takes each round of a call to another
// replica, and the call comes to its end all the same; with a key that they do
// not share it does not.
func TestE2EProxyTakesRoundsToReplicas(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][2]string{
		"one key":  {strings.Repeat("k", 32), strings.Repeat("k", 32)},
		"two keys": {strings.Repeat("k", 32), strings.Repeat("l", 32)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var calls []string
			called := func(name string) func() {
				return func() {
					mu.Lock()
					defer mu.Unlock()
					calls = append(calls, name)
				}
			}
			a := replica(t, []byte(keys[0]), called("a"))
			b := replica(t, []byte(keys[1]), called("b"))
			e := streamhttp.URL("http://" + nginx(t, "", a, b) + "/mcp")
			e.Logger = slog.New(slog.DiscardHandler)
			client, err := modern.Connect(t.Context(), e, modern.Client{
				Info: modern.Implementation{Name: "client", Version: "1.0.0"},
				Elicit: func(_ context.Context, p modern.ElicitParams) (*modern.ElicitResult, error) {
					return &modern.ElicitResult{Action: modern.ElicitActionAccept, Content: map[string]modern.ElicitValue{"name": modern.ElicitValueString(p.(*modern.ElicitFormParams).Message)}}, nil
				},
			})
			require.NoError(t, err)
			t.Cleanup(func() { _ = client.Close() })
			r, err := client.CallTool(t.Context(), &modern.CallToolParams{Name: "greet", Arguments: wire.Raw("{}")})
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, calls, 3)
			require.NotEqual(t, calls[0], calls[1])
			require.NotEqual(t, calls[1], calls[2])
			if name == "two keys" {
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
				return
			}
			require.NoError(t, err)
			require.Equal(t, "Hello, first last!", r.Content[0].(*modern.TextContent).Text)
		})
	}
}
