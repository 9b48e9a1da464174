package dial_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What generated servers and clients do that the sample bindings do not.

// servedOld serves a server of 2025-11-25 in memory.
func servedOld(t *testing.T, s v20251125.Server, c v20251125.Client) *v20251125.RemoteServer {
	t.Helper()
	near, far := jsonl.InMemory()
	done := make(chan error, 1)
	go func() { done <- jsonrpc.Serve(context.Background(), far, s) }()
	remote, err := v20251125.Connect(t.Context(), near, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, remote.Close())
		require.NoError(t, <-done)
	})
	return remote
}

func servedNew(t *testing.T, s v20260728.Server, c v20260728.Client) *v20260728.RemoteServer {
	t.Helper()
	near, far := jsonl.InMemory()
	done := make(chan error, 1)
	go func() { done <- jsonrpc.Serve(context.Background(), far, s) }()
	remote, err := v20260728.Connect(t.Context(), near, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, remote.Close())
		require.NoError(t, <-done)
	})
	return remote
}

func oldTools(call func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error)) v20251125.Server {
	return v20251125.Server{
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{}}, nil
		},
		CallTool: call,
		Options:  quiet,
	}
}

func newTools(call func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error)) v20260728.Server {
	return v20260728.Server{
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{Tools: []v20260728.Tool{}}, nil
		},
		CallTool: call,
		Options:  quiet,
	}
}

// TestTasksThatAreNotDeclared: the member task is passed over by whoever does not
// declare tasks for the request, on either side, and reaches the handler of whoever
// does (basic/utilities/tasks, task support and handling).
func TestTasksThatAreNotDeclared(t *testing.T) {
	for _, declared := range []bool{false, true} {
		got := map[string]bool{}
		s := oldTools(func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			got["tools/call"] = p.Task != nil
			conn := jsonrpc.PeerOf(ctx).Conn()
			for method, params := range map[string]string{
				"elicitation/create":     `{"message":"m","requestedSchema":{"type":"object","properties":{}},"task":{}}`,
				"sampling/createMessage": `{"messages":[],"maxTokens":1,"task":{}}`,
			} {
				if _, err := jsonrpc.CallRaw(ctx, conn, method, wire.Raw(params)); err != nil {
					return nil, err
				}
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{}}, nil
		})
		c := v20251125.Client{
			Elicit: func(_ context.Context, p v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				got["elicitation/create"] = p.(*v20251125.ElicitFormParams).Task != nil
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionDecline}, nil
			},
			CreateMessage: func(_ context.Context, p *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
				got["sampling/createMessage"] = p.Task != nil
				return &v20251125.CreateMessageResult{Model: "m", Role: "assistant", Content: v20251125.SamplingContent{Items: []v20251125.SamplingMessageContentBlock{&v20251125.TextContent{}}}}, nil
			},
		}
		if declared {
			tasks(&s, &c)
		}
		remote := servedOld(t, s, c)
		_, err := jsonrpc.CallRaw(t.Context(), remote.Conn(), "tools/call", wire.Raw(`{"name":"x","task":{"ttl":1}}`))
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"tools/call": declared, "elicitation/create": declared, "sampling/createMessage": declared}, got)
	}
}

// tasks makes both sides declare tasks.
func tasks(s *v20251125.Server, c *v20251125.Client) {
	no := errors.New("no")
	s.GetTask = func(context.Context, *v20251125.GetTaskParams) (*v20251125.GetTaskResult, error) { return nil, no }
	s.GetTaskPayload = func(context.Context, *v20251125.GetTaskPayloadParams) (*v20251125.GetTaskPayloadResult, error) {
		return nil, no
	}
	s.TasksRequestsToolsCall = true
	c.GetTask, c.GetTaskPayload = s.GetTask, s.GetTaskPayload
	c.TasksRequestsElicitationCreate, c.TasksRequestsSamplingCreateMessage = true, true
}

// TestCursorsNobodyGave: a list that the runtime answers itself has one page, so no
// cursor fits.
func TestCursorsNobodyGave(t *testing.T) {
	old := v20251125.Server{
		ListResources: func(context.Context, *v20251125.ListResourcesParams) (*v20251125.ListResourcesResult, error) {
			return &v20251125.ListResourcesResult{Resources: []v20251125.Resource{}}, nil
		},
		ReadResource: func(context.Context, *v20251125.ReadResourceParams) (*v20251125.ReadResourceResult, error) {
			return nil, errors.New("no")
		},
	}
	was := servedOld(t, old, v20251125.Client{})
	none, err := was.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none.ResourceTemplates)
	_, err = was.ListResourceTemplates(t.Context(), &v20251125.ListResourceTemplatesParams{Cursor: new("x")})
	require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))

	is := servedNew(t, v20260728.Server{
		ListResources: func(context.Context, *v20260728.ListResourcesParams) (*v20260728.ListResourcesResult, error) {
			return &v20260728.ListResourcesResult{Resources: []v20260728.Resource{}}, nil
		},
		ReadResource: func(context.Context, *v20260728.ReadResourceParams) (*v20260728.ReadResourceResult, error) {
			return nil, errors.New("no")
		},
	}, v20260728.Client{})
	_, err = is.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	_, err = is.ListResourceTemplates(t.Context(), &v20260728.ListResourceTemplatesParams{Cursor: new("")})
	require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
}

// TestInputNeedsItsMode: a client is asked only in the ways that it declared with
// the request (client/elicitation, capabilities; client/sampling, tools).
func TestInputNeedsItsMode(t *testing.T) {
	const (
		form  = `{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`
		named = `{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}`
		url   = `{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a/","elicitationId":"1"}}`
		plain = `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`
		tools = `{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}`
	)
	for _, c := range []struct{ name, capabilities, request, lacks string }{
		{"a form for nobody", `{}`, form, `{"elicitation":{"form":{}}}`},
		{"a form for who declared elicitation", `{"elicitation":{}}`, form, ""},
		{"a named form for who declared elicitation", `{"elicitation":{}}`, named, ""},
		{"a form for who declared form", `{"elicitation":{"form":{}}}`, form, ""},
		{"a form for who declared url", `{"elicitation":{"url":{}}}`, form, `{"elicitation":{"form":{}}}`},
		{"a named form for who declared url", `{"elicitation":{"url":{}}}`, named, `{"elicitation":{"form":{}}}`},
		{"a url for who declared url", `{"elicitation":{"url":{}}}`, url, ""},
		{"a url for who declared elicitation", `{"elicitation":{}}`, url, `{"elicitation":{"url":{}}}`},
		{"sampling", `{"sampling":{}}`, plain, ""},
		{"sampling with tools for who declared none", `{"sampling":{}}`, tools, `{"sampling":{"tools":{}}}`},
		{"sampling with tools", `{"sampling":{"tools":{}}}`, tools, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newTools(func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
				var requests v20260728.InputRequests
				if err := json.Unmarshal([]byte(`{"k":`+c.request+`}`), &requests); err != nil {
					return nil, err
				}
				return nil, v20260728.NewInputRequiredError(requests, nil)
			})
			remote := servedNew(t, s, v20260728.Client{})
			res, err := jsonrpc.CallRaw(t.Context(), remote.Conn(), "tools/call", wire.Raw(`{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
				`"io.modelcontextprotocol/clientCapabilities":`+c.capabilities+`}}`))
			if c.lacks == "" {
				require.NoError(t, err)
				require.Equal(t, `"input_required"`, string(res.Get("resultType")))
				return
			}
			var e *jsonrpc.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, jsonrpc.CodeMissingClientCapability, e.Code)
			require.JSONEq(t, `{"requiredCapabilities":`+c.lacks+`}`, string(e.Data))
			path := strings.Join(regexp.MustCompile(`\w+`).FindAllString(c.lacks, -1), ".")
			require.True(t, strings.HasSuffix(e.Message, path), "the message names it as well: %s", e.Message)
		})
	}
}

// TestServedAgain: a server that is served by its client answers as it does
// itself what the revision does not name, or names for the other side.
func TestServedAgain(t *testing.T) {
	t.Run("2026-07-28", func(t *testing.T) {
		behind := newTools(func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			if p.Name == "ask" {
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"k": &v20260728.ElicitRequest{Params: &v20260728.ElicitFormParams{Message: "m"}}}, new("s"))
			}
			return nil, jsonrpc.NewError(-4, "no such tool")
		})
		behind.Unknown = func(_ context.Context, method string, params wire.Raw) (wire.Raw, error) {
			if method != "x/own" {
				return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "none")
			}
			return wire.Raw(`{"resultType":"complete"}`), nil
		}
		asked := 0
		proxy := servedNew(t, behind, v20260728.Client{})
		remote := servedNew(t, proxy.Server, v20260728.Client{
			Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				asked++
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionCancel}, nil
			},
			Options: jsonrpc.Options{},
		})
		const meta = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
		for method, code := range map[string]int64{
			"roots/list": jsonrpc.CodeMethodNotFound, "sampling/createMessage": jsonrpc.CodeMethodNotFound, "elicitation/create": jsonrpc.CodeMethodNotFound,
			"resources/list": jsonrpc.CodeMethodNotFound, "notifications/progress": jsonrpc.CodeMethodNotFound, "x/none": jsonrpc.CodeMethodNotFound,
			"ping": jsonrpc.CodeMethodNotFound, "x/own": 0,
		} {
			near, far := jsonl.InMemory() // a client that holds nothing back
			done := make(chan error, 1)
			go func() { done <- jsonrpc.Serve(context.Background(), far, proxy.Server) }()
			conn, err := jsonrpc.Dial(t.Context(), near, jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: v20260728.Revision, Side: jsonrpc.ClientSide}))
			require.NoError(t, err)
			require.NoError(t, conn.Ready())
			_, err = jsonrpc.CallRaw(t.Context(), conn, method, wire.Raw(meta))
			if code == 0 {
				require.NoError(t, err, method)
			} else {
				require.ErrorIs(t, err, jsonrpc.NewError(code, ""), method)
			}
			require.NoError(t, conn.Close(t.Context()))
			require.NoError(t, <-done)
		}
		_, err := remote.CallTool(t.Context(), &v20260728.CallToolParams{Name: "x"})
		require.ErrorIs(t, err, jsonrpc.NewError(-4, ""), "as the server made it")
		_, err = remote.CallTool(t.Context(), &v20260728.CallToolParams{Name: "ask"})
		var need *v20260728.InputRequiredError
		require.ErrorAs(t, err, &need, "asked ten times, each time the client at the far end")
		require.Equal(t, 9, asked)
	})
	t.Run("2025-11-25", func(t *testing.T) {
		behind := oldTools(func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			if p.Task != nil {
				return nil, errors.New("a task")
			}
			v20251125.Peer(ctx).ToolListChanged(ctx)
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: p.Name}}}, nil
		})
		behind.ToolsListChanged = true
		behind.SetLevel = func(context.Context, *v20251125.SetLevelParams) (*v20251125.EmptyResult, error) { return nil, nil }
		behind.Hub = new(jsonrpc.Hub)
		heard := make(chan string, 2)
		proxy := servedOld(t, behind, v20251125.Client{})
		remote := servedOld(t, proxy.Server, v20251125.Client{
			ToolListChanged: func(context.Context, *v20251125.ToolListChangedParams) error { heard <- "tools"; return nil },
			LoggingMessage: func(_ context.Context, p *v20251125.LoggingMessageParams) error {
				heard <- string(p.Data)
				return nil
			},
		})
		_, err := jsonrpc.CallRaw(t.Context(), remote.Conn(), "tools/call", wire.Raw(`{"name":"x","task":{}}`))
		require.NoError(t, err)
		require.Equal(t, "tools", <-heard)
		behind.Hub.Log(t.Context(), &v20251125.LoggingMessageParams{Level: "error", Data: wire.Raw(`"d"`)})
		require.Equal(t, `"d"`, <-heard)
		_, err = jsonrpc.CallRaw(t.Context(), remote.Conn(), "x/none", nil)
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""))
	})
}

// TestServedAgainAsks: what the server behind asks is passed on to the client of
// the request that made it ask, in the way that the text of RemoteServer tells.
func TestServedAgainAsks(t *testing.T) {
	behind := oldTools(func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
		res, err := v20251125.Peer(ctx).Elicit(ctx, &v20251125.ElicitFormParams{Message: "sure?"})
		if err != nil {
			return nil, err
		}
		return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: string(res.Action)}}}, nil
	})
	var call atomic.Value // context of the request that is passed on
	proxy := servedOld(t, behind, v20251125.Client{
		Elicit: func(_ context.Context, p v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
			ctx := call.Load().(context.Context)
			return v20251125.Peer(ctx).Elicit(ctx, p)
		},
	})
	front := proxy.Server
	front.CallTool = func(ctx context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
		call.Store(ctx)
		return proxy.CallTool(ctx, p)
	}
	remote := servedOld(t, front, v20251125.Client{
		Elicit: func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
			return &v20251125.ElicitResult{Action: v20251125.ElicitActionDecline}, nil
		},
	})
	res, err := remote.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x"})
	require.NoError(t, err)
	require.Equal(t, "decline", res.Content[0].(*v20251125.TextContent).Text)
}

// TestNobodyListens: what a client has no func for is counted, though it could be
// passed on.
func TestNobodyListens(t *testing.T) {
	s := oldTools(func(ctx context.Context, _ *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
		return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{}}, v20251125.Peer(ctx).ToolListChanged(ctx)
	})
	s.ToolsListChanged = true
	remote := servedOld(t, s, v20251125.Client{})
	_, err := remote.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x"})
	require.NoError(t, err)
	stats := remote.Conn().Stats()
	require.EqualValues(t, 1, stats.Count(jsonrpc.UnknownNotification))
}

// TestServeThatCannotBind: whoever is at the other end hears at once that nobody
// serves.
func TestServeThatCannotBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := jsonl.InMemory()
		served := make(chan error, 1)
		go func() {
			served <- jsonrpc.Serve(t.Context(), far, v20251125.Server{CallTool: oldTools(nil).CallTool, ToolsListChanged: true})
		}()
		start := time.Now()
		_, err := v20251125.Connect(t.Context(), near, v20251125.Client{})
		require.Error(t, err)
		require.NotErrorIs(t, err, jsonrpc.ErrTimeout)
		require.Less(t, time.Since(start), time.Second)
		var fe *jsonrpc.FeatureError
		require.ErrorAs(t, <-served, &fe)
	})
}

// TestRawThatBreaksOut: a raw value that ends what is around it and begins
// something else is refused, though the message as a whole would be JSON.
func TestRawThatBreaksOut(t *testing.T) {
	for name, more := range map[string]string{"short": "", "long": strings.Repeat("x", 100_000)} {
		t.Run(name, func(t *testing.T) {
			for _, missing := range []bool{false, true} { // and whatever else is wrong
				content := []v20251125.ContentBlock{&v20251125.TextContent{Text: more}}
				if missing {
					content = append(content, nil)
				}
				var answer error
				events := make(chan jsonrpc.Event, 8)
				s := oldTools(func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
					if answer != nil {
						return nil, answer
					}
					return &v20251125.CallToolResult{Content: content, StructuredContent: wire.Raw(`{}},"x":{"a":{}`)}, nil
				})
				s.Options.Events = []func(jsonrpc.Event){func(e jsonrpc.Event) { events <- e }}
				remote := servedOld(t, s, v20251125.Client{})
				_, err := remote.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x"})
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
				e := <-events
				require.Equal(t, jsonrpc.InvalidOutput, e.Kind)
				if !missing {
					require.ErrorContains(t, e.Err, "result.structuredContent")
				}

				answer = &jsonrpc.Error{Code: 5, Message: "no" + more, Data: wire.Raw(`1},"x":{"a":2`)}
				_, err = remote.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x"})
				require.ErrorIs(t, err, jsonrpc.NewError(5, ""), "without the data")
				require.ErrorContains(t, (<-events).Err, "error.data")

				_, err = remote.CallTool(t.Context(), &v20251125.CallToolParams{Name: "x" + more, Arguments: wire.Raw(`{}},"x":{"a":{}`)})
				var ce *jsonrpc.CallError
				require.ErrorAs(t, err, &ce)
				require.Equal(t, jsonrpc.StageEncode, ce.Stage)
				require.ErrorContains(t, err, "params.arguments")
				_, err = jsonrpc.CallRaw(t.Context(), remote.Conn(), "tools/call", wire.Raw(`{"name":"x`+more+`"},"x":{"a":{}}`))
				require.ErrorAs(t, err, &ce)
				require.ErrorContains(t, err, "params")
			}
		})
	}
}
