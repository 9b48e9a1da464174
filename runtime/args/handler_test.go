package args_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestWrongArgumentsAreInvalidParams holds what a client hears when a handler
// returns the error of Decode as it is: the code and the path.
func TestWrongArgumentsAreInvalidParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := jsonl.InMemory()
		done := make(chan error, 1)
		go func() {
			done <- jsonrpc.Serve(context.Background(), there, v20250618.Server{
				Info: v20250618.Implementation{Name: "s", Version: "1"},
				ListTools: func(context.Context, *v20250618.ListToolsParams) (*v20250618.ListToolsResult, error) {
					return &v20250618.ListToolsResult{Tools: []v20250618.Tool{{Name: "weather", InputSchema: args.MustSchema[weather]()}}}, nil
				},
				CallTool: func(_ context.Context, p *v20250618.CallToolParams) (*v20250618.CallToolResult, error) {
					_, err := args.Decode[weather](p.Arguments)
					return &v20250618.CallToolResult{}, err
				},
			})
		}()
		c, err := v20250618.Connect(t.Context(), here, v20250618.Client{Info: v20250618.Implementation{Name: "c", Version: "1"}})
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), &v20250618.CallToolParams{Name: "weather", Arguments: wire.Raw(`{"place":{"city":"x","tags":["a",1]}}`)})
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
		require.Equal(t, "arguments.place.tags[1]: want a string, got a number", e.Message)
		_, err = c.CallTool(t.Context(), &v20250618.CallToolParams{Name: "weather", Arguments: wire.Raw(`{"place":{"city":"x"}}`)})
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, <-done)
	})
}

// TestWrongArgumentsAsAFailedResult holds what a client hears of the same error
// in newer revisions: a result that the model reads, however it is wrapped,
// unless the handler decided otherwise.
func TestWrongArgumentsAsAFailedResult(t *testing.T) {
	_, bad := args.Decode[weather](wire.Raw(`{"place":{"city":"x"},"stops":[{"city":"y"},{}]}`))
	require.ErrorIs(t, bad, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
	const text = "stops[1].city: missing"
	for name, err := range map[string]error{"as it is": bad, "wrapped": fmt.Errorf("weather: %w", bad), "decided": jsonrpc.Errorf(-7, "no: %w", bad), "other": errors.New("secret")} {
		t.Run(name, func(t *testing.T) {
			check := func(isError *bool, got string, callErr error) {
				t.Helper()
				switch name {
				case "decided":
					require.ErrorIs(t, callErr, jsonrpc.NewError(-7, ""))
				case "other":
					require.ErrorIs(t, callErr, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
					require.NotContains(t, callErr.Error(), "secret")
				default:
					require.NoError(t, callErr)
					require.Equal(t, new(true), isError)
					require.Equal(t, text, got)
				}
			}
			synctest.Test(t, func(t *testing.T) {
				s := v20251125.Server{
					Options:   quiet,
					ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) { return nil, nil },
					CallTool: func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
						return nil, err
					},
				}
				c, stop := serve(t, s, v20251125.Connect, v20251125.Client{})
				defer stop()
				res, err := c.CallTool(t.Context(), &v20251125.CallToolParams{Name: "weather"})
				if err != nil {
					check(nil, "", err)
				} else {
					check(res.IsError, res.Content[0].(*v20251125.TextContent).Text, nil)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				s := v20260728.Server{
					Info: v20260728.Implementation{Name: "s", Version: "1"}, Options: quiet,
					ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) { return nil, nil },
					CallTool: func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
						return nil, err
					},
				}
				c, stop := serve(t, s, v20260728.Connect, v20260728.Client{})
				defer stop()
				res, err := c.CallTool(t.Context(), &v20260728.CallToolParams{Name: "weather"})
				if err != nil {
					check(nil, "", err)
				} else {
					check(res.IsError, res.Content[0].(*v20260728.TextContent).Text, nil)
					require.Equal(t, "s", res.Meta.ServerInfo.Name)
				}
			})
		})
	}
}

var quiet = jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

// serve connects a client to a server in memory.
func serve[C any, R interface{ Close() error }](t *testing.T, s jsonrpc.Binder, connect func(context.Context, jsonrpc.Dialer, C) (R, error), c C) (R, func()) {
	here, there := jsonl.InMemory()
	done := make(chan error, 1)
	go func() { done <- jsonrpc.Serve(context.Background(), there, s) }()
	r, err := connect(t.Context(), here, c)
	require.NoError(t, err)
	return r, func() {
		require.NoError(t, r.Close())
		require.NoError(t, <-done)
	}
}

// TestSchemaSaysNullOnlyWhereItMustBe holds that null stands beside a type
// only for a pointer that has to be there.
func TestSchemaSaysNullOnlyWhereItMustBe(t *testing.T) {
	s, err := args.Schema[struct {
		Must   *string           `json:"must"`
		May    *int              `json:"may,omitempty"`
		List   []string          `json:"list"`
		Deep   []place           `json:"deep,omitempty"`
		ByName map[string]*place `json:"byName,omitzero"`
	}]()
	require.NoError(t, err)
	p := s.Get("properties")
	require.Equal(t, `["null","string"]`, p.Get("must").Get("type").String())
	require.Equal(t, `"integer"`, p.Get("may").Get("type").String())
	require.Equal(t, `"array"`, p.Get("list").Get("type").String())
	require.Equal(t, `"array"`, p.Get("deep").Get("items").Get("properties").Get("tags").Get("type").String())
	require.Equal(t, `["must","list"]`, s.Get("required").String())
}

// FuzzDecode feeds any text. It never panics; what is read is written as JSON
// that is read as the same again, and what is no JSON is never read.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `[]`, `{"place":{"city":"Hu\u1ebf","tags":["a",""]},"days":3.0,"deep":false,"count":2}`,
		`{"place":{"city":"x"},"extra":{"k":{"city":"y"}},"stops":[{"city":"z","tags":[]}]}`,
		`{"place":{"city":"\ud83d"}}`, `{"place":{"city":"x"},"days":1e1000001}`, `{"place":{"city":"x"},"count":9223372036854775808}`,
		`{"place":{"city":"x"},"place":{"city":"y"}}`, `{"Place":{"city":"x"}}`, "{\"place\":{\"city\":\"\xff\"}}", `{"place":`, "\ufeff{}", `{"place":{"city":null}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, decodeErr := args.Decode[weather](wire.Raw(text))
		if decodeErr != nil {
			if e, ok := errors.AsType[*args.Error](decodeErr); !ok || e.Msg == "" {
				t.Fatalf("%T: %v", decodeErr, decodeErr)
			}
			return
		}
		if len(text) > 0 && !json.Valid(text) {
			t.Fatalf("read what is no JSON: %q", text)
		}
		out, encodeErr := args.Encode(v)
		if encodeErr != nil {
			t.Fatal(encodeErr)
		}
		again, decodeErr := args.Decode[weather](out)
		if decodeErr != nil {
			t.Fatalf("%v: %s", decodeErr, out)
		}
		if second, err := args.Encode(again); err != nil || string(second) != string(out) {
			t.Fatalf("%v: %s\n%s", err, out, second)
		}
	})
}
