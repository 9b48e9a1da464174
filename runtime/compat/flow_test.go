package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// served serves a server on an in-memory pipe for the rest of the test.
func served(t *testing.T, b jsonrpc.Binder) jsonrpc.Dialer {
	here, there := jsonl.InMemory()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = jsonrpc.Serve(ctx, there, b)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return here
}

func textOf(r *v20260728.CallToolResult) string { return r.Content[0].(*v20260728.TextContent).Text }

func oldText(r *v20251125.CallToolResult) string { return r.Content[0].(*v20251125.TextContent).Text }

// form asks for a name.
func form(message string) *v20260728.ElicitRequest {
	return &v20260728.ElicitRequest{Params: &v20260728.ElicitFormParams{
		Message:         message,
		RequestedSchema: v20260728.ElicitSchema{Properties: map[string]v20260728.PrimitiveSchemaDefinition{"name": &v20260728.StringSchema{}}},
	}}
}

// roundsServer is one of 2026-07-28 whose tool needs three rounds.
func roundsServer(sealer *compat.Sealer) v20260728.Server {
	return v20260728.Server{
		Info: v20260728.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{Tools: []v20260728.Tool{{Name: "greet"}}}, nil
		},
		CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			first := ""
			if p.RequestState != nil {
				b, err := sealer.Open(ctx, *p.RequestState)
				if err != nil {
					return nil, err
				}
				first = string(b)
			}
			answer, err := p.InputResponses.Elicit("name")
			if err != nil {
				return nil, err
			}
			name := ""
			if answer != nil {
				name, _ = answer.Content["name"].Str()
			}
			switch {
			case name == "":
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"name": form("first name?")}, nil)
			case first == "":
				state, err := sealer.Seal(ctx, []byte(name))
				if err != nil {
					return nil, err
				}
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"name": form("last name?")}, &state)
			}
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "Hello, " + first + " " + name + "!"}}}, nil
		},
	}
}

// TestOldClientIsAskedForInput: a handler that returns what it needs to know is
// called again with what a client of a stateful revision answers.
func TestOldClientIsAskedForInput(t *testing.T) {
	sealer, err := compat.NewSealer(0, make([]byte, 32))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		client := v20251125.Client{
			Info: v20251125.Implementation{Name: "c", Version: "1"},
			Elicit: func(_ context.Context, p v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				message := p.(*v20251125.ElicitFormParams).Message
				asked = append(asked, message)
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept, Content: map[string]v20251125.ElicitValue{"name": v20251125.ElicitValueString(strings.Fields(message)[0])}}, nil
			},
		}
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(roundsServer(sealer))), client)
		require.NoError(t, err)
		r, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, "Hello, first last!", oldText(r))
		require.Equal(t, []string{"first name?", "last name?"}, asked)
		require.NoError(t, server.Close())
	})
}

// TestOldClientThatCannotBeAsked: what the client does not declare it is not
// asked for, and the older code stands for the newer.
func TestOldClientThatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(roundsServer(nil))), v20251125.Client{})
		require.NoError(t, err)
		_, err = server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, jsonrpc.CodeInvalidRequest, e.Code)
		require.JSONEq(t, `{"requiredCapabilities":{"elicitation":{"form":{}}}}`, string(e.Data))
		require.NoError(t, server.Close())
	})
}

// TestOldClientThatRefusesToAnswer: a tool that does not get what it asked for
// has failed, and its result says so.
func TestOldClientThatRefusesToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := v20251125.Client{
			Info: v20251125.Implementation{Name: "c", Version: "1"},
			Elicit: func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no such form")
			},
		}
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(roundsServer(nil))), client)
		require.NoError(t, err)
		r, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		require.NoError(t, err)
		require.True(t, *r.IsError)
		require.Equal(t, "elicitation/create: the client answered: no such form (-32602)", oldText(r))
		require.NoError(t, server.Close())
	})
}

// callingServer is one of 2025-11-25 whose tool calls its client in the middle.
func callingServer() v20251125.Server {
	return v20251125.Server{
		Info: v20251125.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{{Name: "greet"}}}, nil
		},
		CallTool: func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			peer := v20251125.Peer(ctx)
			var got []string
			for i, what := range []string{"first", "last"} {
				if err := peer.Progress(ctx, float64(i+1), nil, what); err != nil {
					return nil, err
				}
				r, err := peer.Elicit(ctx, &v20251125.ElicitFormParams{Message: what + " name?", RequestedSchema: v20251125.ElicitSchema{Properties: map[string]v20251125.PrimitiveSchemaDefinition{"name": &v20251125.StringSchema{}}}})
				if err != nil {
					return nil, err
				}
				name, _ := r.Content["name"].Str()
				got = append(got, name)
			}
			roots, err := peer.ListRoots(ctx, nil)
			if err != nil {
				return nil, err
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: fmt.Sprintf("Hello, %s! (%d roots, %s)", strings.Join(got, " "), len(roots.Roots), peer.Info().Name)}}}, nil
		},
	}
}

// TestNewClientAnswersAnOldHandler: a handler that calls its client in the middle
// goes on when a client of 2026-07-28 comes back with the answer.
func TestNewClientAnswersAnOldHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		client := v20260728.Client{
			Info: v20260728.Implementation{Name: "c", Version: "1"},
			Elicit: func(_ context.Context, p v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				message := p.(*v20260728.ElicitFormParams).Message
				asked = append(asked, message)
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"name": v20260728.ElicitValueString(strings.Fields(message)[0])}}, nil
			},
			ListRoots: func(context.Context, *v20260728.ListRootsParams) (*v20260728.ListRootsResult, error) {
				return &v20260728.ListRootsResult{Roots: []v20260728.Root{{URI: "file:///a"}}}, nil
			},
		}
		server, err := v20260728.Connect(t.Context(), served(t, compat.Server(callingServer())), client)
		require.NoError(t, err)
		var progress []string
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { progress = append(progress, p.Message) }})
		r, err := server.CallTool(ctx, &v20260728.CallToolParams{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, "Hello, first last! (1 roots, c)", textOf(r))
		require.Equal(t, []string{"first name?", "last name?"}, asked)
		require.Equal(t, []string{"first", "last"}, progress)
		require.NoError(t, server.Close())
	})
}

// TestPagesToVisit: what 2025-11-25 says with an error of its own is a request
// for input in 2026-07-28, and a request for input of this kind is one to a client
// of 2025-11-25.
func TestPagesToVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		visits := 0
		old := callingServer()
		old.CallTool = func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			if visits == 0 {
				return nil, v20251125.NewURLElicitationRequiredError(&v20251125.URLElicitationRequiredData{Elicitations: []v20251125.ElicitURLParams{{ElicitationID: "e1", Message: "sign in", URL: "https://example.com/"}}})
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: "in"}}}, nil
		}
		client := v20260728.Client{
			ElicitationURL: true,
			Elicit: func(_ context.Context, p v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				require.Equal(t, "https://example.com/", p.(*v20260728.ElicitURLParams).URL)
				visits++
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept}, nil
			},
		}
		server, err := v20260728.Connect(t.Context(), served(t, compat.Server(old)), client)
		require.NoError(t, err)
		r, err := server.CallTool(t.Context(), &v20260728.CallToolParams{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, "in", textOf(r))
		require.NoError(t, server.Close())

		modern := roundsServer(nil)
		modern.CallTool = func(_ context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			if p.InputResponses == nil {
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"page": &v20260728.ElicitRequest{Params: &v20260728.ElicitURLParams{Message: "sign in", URL: "https://example.com/"}}}, nil)
			}
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "in"}}}, nil
		}
		ids := map[string]bool{}
		oldClient := v20251125.Client{
			ElicitationURL: true, ElicitationForm: true,
			Elicit: func(_ context.Context, p v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				ids[p.(*v20251125.ElicitURLParams).ElicitationID] = true
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept}, nil
			},
		}
		oldServer, err := v20251125.Connect(t.Context(), served(t, compat.Server(modern)), oldClient)
		require.NoError(t, err)
		for range 2 {
			r, err := oldServer.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, "in", oldText(r))
		}
		require.Len(t, ids, 2)
		require.NotContains(t, ids, "")
		require.NoError(t, oldServer.Close())
	})
}

// TestCodesOfErrors: one that the other revision does not have is another there.
func TestCodesOfErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var code int64
		modern := roundsServer(nil)
		modern.CallTool = func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: code, Message: "m", Data: []byte(`{"d":1}`)}
		}
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(modern)), v20251125.Client{})
		require.NoError(t, err)
		for from, to := range map[int64]int64{-32020: -32600, -32021: -32600, -32022: -32600, -32602: -32602, -32601: -32601, -7: -7} {
			code = from
			_, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
			e, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok)
			require.Equal(t, to, e.Code)
			require.Equal(t, "m", e.Message)
			require.JSONEq(t, `{"d":1}`, string(e.Data))
		}
		require.NoError(t, server.Close())
	})
}

// TestMethodsOfAnotherRevisionAreNotFound: what the revision of a server has and
// that of its client has not is no method there, and nothing for the handler of
// unknown methods.
func TestMethodsOfAnotherRevisionAreNotFound(t *testing.T) {
	only := func(methods, others []jsonrpc.Method) (out []string) {
		for _, m := range methods {
			if !m.Notification && m.FromClient && !slices.ContainsFunc(others, func(o jsonrpc.Method) bool { return o.Name == m.Name }) {
				out = append(out, m.Name)
			}
		}
		return out
	}
	notFound := jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "")
	for _, c := range []struct {
		name    string
		methods []string // of the server's revision only
		meta    string
		server  func(unknown func(context.Context, string, wire.Raw) (wire.Raw, error)) jsonrpc.Binder
		connect func(ctx context.Context, d jsonrpc.Dialer) (*jsonrpc.Conn, error)
	}{
		{"older", only(v20251125.Methods, v20260728.Methods), askable, func(f func(context.Context, string, wire.Raw) (wire.Raw, error)) jsonrpc.Binder {
			s := callingServer()
			s.Unknown = f
			return s
		}, func(ctx context.Context, d jsonrpc.Dialer) (*jsonrpc.Conn, error) {
			s, err := v20260728.Connect(ctx, d, v20260728.Client{})
			return s.Conn(), err
		}},
		{"newer", only(v20260728.Methods, v20251125.Methods), `"_meta":{}`, func(f func(context.Context, string, wire.Raw) (wire.Raw, error)) jsonrpc.Binder {
			s := roundsServer(nil)
			s.Unknown = f
			return s
		}, func(ctx context.Context, d jsonrpc.Dialer) (*jsonrpc.Conn, error) {
			s, err := v20251125.Connect(ctx, d, v20251125.Client{})
			return s.Conn(), err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var heard notes
				conn, err := c.connect(t.Context(), served(t, compat.Server(c.server(func(_ context.Context, method string, _ wire.Raw) (wire.Raw, error) {
					heard.add(method)
					return wire.Raw("{}"), nil
				}))))
				require.NoError(t, err)
				require.NotEmpty(t, c.methods)
				for _, method := range c.methods {
					_, err := jsonrpc.CallRaw(t.Context(), conn, method, wire.Raw(`{`+c.meta+`}`))
					require.ErrorIs(t, err, notFound, method)
				}
				_, err = jsonrpc.CallRaw(t.Context(), conn, "x/y", wire.Raw(`{`+c.meta+`}`))
				require.NoError(t, err)
				require.Equal(t, []string{"x/y"}, heard.all())
				require.NoError(t, conn.Close(t.Context()))
			})
		})
	}
}
