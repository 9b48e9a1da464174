package args_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
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

// TestWrongArgumentsAsAFailedResult holds the text that goes into a result
// with isError, which newer revisions prefer: the path, as the model spells it.
func TestWrongArgumentsAsAFailedResult(t *testing.T) {
	_, err := args.Decode[weather](wire.Raw(`{"place":{"city":"x"},"stops":[{"city":"y"},{}]}`))
	e, ok := errors.AsType[*args.Error](err)
	require.True(t, ok)
	res := &v20251125.CallToolResult{IsError: new(true), Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: e.Error()}}}
	require.Equal(t, `{"content":[{"type":"text","text":"stops[1].city: missing"}],"isError":true}`, string(res.AppendJSON(nil)))
	require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
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
