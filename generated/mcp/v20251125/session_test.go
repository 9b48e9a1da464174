package mcp_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// connect serves s and connects c to it, within the test's bubble.
func connect(t *testing.T, s mcp.Server, c mcp.Client) *mcp.RemoteServer {
	t.Helper()
	client, server := jsonl.InMemory()
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), server, s) }()
	r, err := mcp.Connect(t.Context(), client, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		require.NoError(t, <-served)
	})
	return r
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: s}}}
}

// everything is a server that has a func for all there is.
func everything() mcp.Server {
	return mcp.Server{
		Info:         mcp.Implementation{Name: "everything", Version: "1"},
		Instructions: "be kind",
		ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			page := 0
			if p.Cursor != nil {
				page, _ = strconv.Atoi(*p.Cursor)
			}
			r := &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "tool" + strconv.Itoa(page), InputSchema: wire.Raw(`{"type":"object"}`)}}}
			if page < 2 {
				r.NextCursor = new(strconv.Itoa(page + 1))
			}
			return r, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			peer := mcp.Peer(ctx)
			switch p.Name {
			case "echo":
				return text(string(p.Arguments)), nil
			case "progress":
				for i := range 3 {
					if err := peer.Progress(ctx, float64(i+1), new(3.0), "step"); err != nil {
						return nil, err
					}
				}
				return text("done"), nil
			case "block":
				peer.Detach()
				<-ctx.Done()
				return nil, context.Cause(ctx)
			case "log":
				if err := peer.Log(ctx, mcp.LoggingLevelDebug, "quiet"); err != nil {
					return nil, err
				}
				return text("logged"), peer.Log(ctx, mcp.LoggingLevelError, "loud")
			case "ask":
				e, err := peer.Elicit(ctx, &mcp.ElicitFormParams{Message: "who?", RequestedSchema: mcp.ElicitSchema{
					Properties: map[string]mcp.PrimitiveSchemaDefinition{"name": &mcp.StringSchema{}}, Required: []string{"name"},
				}})
				if err != nil {
					return nil, err
				}
				name, _ := e.Content["name"].Str()
				return text(name), nil
			case "sample":
				m, err := peer.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 5, Messages: []mcp.SamplingMessage{
					{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(&mcp.TextContent{Text: "hi"})},
				}})
				if err != nil {
					return nil, err
				}
				return text(m.Content.Items[0].(*mcp.TextContent).Text), nil
			case "sample with tools":
				_, err := peer.CreateMessage(ctx, &mcp.CreateMessageParams{Tools: []mcp.Tool{}})
				return text("?"), err
			case "open a page":
				_, err := peer.Elicit(ctx, &mcp.ElicitURLParams{URL: "https://example.com", ElicitationID: "e"})
				return text("?"), err
			case "roots":
				l, err := peer.ListRoots(ctx, nil)
				if err != nil {
					return nil, err
				}
				return text(l.Roots[0].URI), nil
			case "who":
				return text(peer.Info().Name), nil
			case "ping":
				_, err := peer.Ping(ctx, nil)
				return text("pong"), err
			case "change":
				err := errors.Join(peer.ToolListChanged(ctx), peer.PromptListChanged(ctx), peer.ResourceListChanged(ctx),
					peer.ResourceUpdated(ctx, "file:///a"), peer.ResourceUpdated(ctx, "file:///b"))
				return text("changed"), err
			case "task":
				if p.Task == nil {
					return text("now"), nil
				}
				return nil, mcp.NewTaskCreated(mcp.Task{TaskID: "t1", Status: mcp.TaskStatusWorking, TTL: p.Task.TTL})
			case "panic":
				panic("boom")
			}
			return nil, mcp.NewURLElicitationRequiredError(&mcp.URLElicitationRequiredData{
				Elicitations: []mcp.ElicitURLParams{{ElicitationID: "e1", URL: "https://example.com", Message: "look"}},
			})
		},
		ListPrompts: func(context.Context, *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			return &mcp.ListPromptsResult{Prompts: []mcp.Prompt{{Name: "greet"}}}, nil
		},
		GetPrompt: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Hello " + p.Arguments["name"]}}}}, nil
		},
		ListResources: func(context.Context, *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			return &mcp.ListResourcesResult{Resources: []mcp.Resource{{Name: "a", URI: "file:///a"}}}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			blob := &mcp.BlobResourceContents{URI: p.URI}
			blob.SetBytes([]byte{0, 1, 2, 3})
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: p.URI, Text: "A"}, blob}}, nil
		},
		Subscribe: func(context.Context, *mcp.SubscribeParams) (*mcp.EmptyResult, error) { return nil, nil },
		Unsubscribe: func(context.Context, *mcp.UnsubscribeParams) (*mcp.EmptyResult, error) {
			return &mcp.EmptyResult{}, nil
		},
		SetLevel: func(context.Context, *mcp.SetLevelParams) (*mcp.EmptyResult, error) { return nil, nil },
		Complete: func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{p.Argument.Value + "!", p.Ref.(*mcp.PromptReference).Name}}}, nil
		},
		GetTask: func(_ context.Context, p *mcp.GetTaskParams) (*mcp.GetTaskResult, error) {
			return &mcp.GetTaskResult{TaskID: p.TaskID, Status: mcp.TaskStatusCompleted}, nil
		},
		GetTaskPayload: func(context.Context, *mcp.GetTaskPayloadParams) (*mcp.GetTaskPayloadResult, error) {
			return new(mcp.GetTaskPayloadResultCallTool(text("later"))), nil
		},
		ListTasks: func(context.Context, *mcp.ListTasksParams) (*mcp.ListTasksResult, error) {
			return &mcp.ListTasksResult{Tasks: []mcp.Task{{TaskID: "t1", Status: mcp.TaskStatusWorking}}}, nil
		},
		CancelTask: func(_ context.Context, p *mcp.CancelTaskParams) (*mcp.CancelTaskResult, error) {
			return &mcp.CancelTaskResult{TaskID: p.TaskID, Status: mcp.TaskStatusCancelled}, nil
		},
		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, TasksRequestsToolsCall: true,
		Options: jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)},
	}
}

func call(t *testing.T, r *mcp.RemoteServer, name string) string {
	t.Helper()
	res, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: wire.Raw(`{"a":1}`)})
	require.NoError(t, err)
	return res.Content[0].(*mcp.TextContent).Text
}

func TestHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		require.Equal(t, mcp.Revision, r.Revision())
		require.Equal(t, "everything", r.Info.Name)
		require.Equal(t, "be kind", r.Instructions)
		require.Equal(t, `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},`+
			`"tasks":{"cancel":{},"list":{},"requests":{"tools":{"call":{}}}},"tools":{"listChanged":true}}`, string(r.Capabilities.AppendJSON(nil)))
		_, err := r.Ping(t.Context(), nil)
		require.NoError(t, err)
	})
}

func TestServerFeatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		ctx := t.Context()
		require.Equal(t, `{"a":1}`, call(t, r, "echo"))

		res, err := r.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
		require.NoError(t, err)
		require.Equal(t, "Hello Ada", res.Messages[0].Content.(*mcp.TextContent).Text)

		read, err := r.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///a"})
		require.NoError(t, err)
		require.Equal(t, "A", read.Contents[0].(*mcp.TextResourceContents).Text)
		b, err := read.Contents[1].(*mcp.BlobResourceContents).Bytes()
		require.NoError(t, err)
		require.Equal(t, []byte{0, 1, 2, 3}, b)

		done, err := r.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.PromptReference{Name: "greet"}, Argument: mcp.CompleteArgument{Name: "name", Value: "A"}})
		require.NoError(t, err)
		require.Equal(t, []string{"A!", "greet"}, done.Completion.Values)

		// Resources without templates answer an empty list of them.
		templates, err := r.ListResourceTemplates(ctx, nil)
		require.NoError(t, err)
		require.NotNil(t, templates.ResourceTemplates)
		require.Empty(t, templates.ResourceTemplates)
	})
}

func TestIteratorGoesOverAllPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		var names []string
		for tool, err := range r.Tools(t.Context(), nil) {
			require.NoError(t, err)
			names = append(names, tool.Name)
		}
		require.Equal(t, []string{"tool0", "tool1", "tool2"}, names)
	})
}

func TestIteratorStopsOnARepeatedCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything()
		s.ListTools = func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "again"}}, NextCursor: new("same")}, nil
		}
		n := 0
		var last error
		for _, err := range connect(t, s, mcp.Client{}).Tools(t.Context(), nil) {
			if last = err; err == nil {
				n++
			}
		}
		require.Error(t, last)
		require.Equal(t, 2, n)
	})
}

func TestProgressReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		var got []float64
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { got = append(got, p.Progress) }})
		params := &mcp.CallToolParams{Name: "progress"}
		_, err := r.CallTool(ctx, params)
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2, 3}, got)
		require.Nil(t, params.Meta, "the caller's params are never written")
	})
}

func TestCancelReachesTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything()
		ended := make(chan error, 1)
		inner := s.CallTool
		s.CallTool = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			r, err := inner(ctx, p)
			ended <- err
			return r, err
		}
		r := connect(t, s, mcp.Client{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err := r.CallTool(ctx, &mcp.CallToolParams{Name: "block"})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Equal(t, `{"a":1}`, call(t, r, "echo"), "the connection lives on")
	})
}

func TestLoggingHonoursTheLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		r := connect(t, everything(), mcp.Client{LoggingMessage: func(_ context.Context, p *mcp.LoggingMessageParams) error {
			mu.Lock()
			defer mu.Unlock()
			s, _ := p.Data.Str()
			got = append(got, string(p.Level)+" "+s)
			return nil
		}})
		_, err := r.SetLevel(t.Context(), &mcp.SetLevelParams{Level: mcp.LoggingLevelWarning})
		require.NoError(t, err)
		call(t, r, "log")
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{"error loud"}, got)
	})
}

func TestChangesReachTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 10)
		r := connect(t, everything(), mcp.Client{
			ToolListChanged:     func(context.Context, *mcp.ToolListChangedParams) error { got <- "tools"; return nil },
			PromptListChanged:   func(context.Context, *mcp.PromptListChangedParams) error { got <- "prompts"; return nil },
			ResourceListChanged: func(context.Context, *mcp.ResourceListChangedParams) error { got <- "resources"; return nil },
			ResourceUpdated: func(_ context.Context, p *mcp.ResourceUpdatedParams) error {
				got <- p.URI
				return nil
			},
		})
		_, err := r.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"})
		require.NoError(t, err)
		call(t, r, "change")
		synctest.Wait()
		close(got)
		var all []string
		for s := range got {
			all = append(all, s)
		}
		require.Equal(t, []string{"tools", "prompts", "resources", "file:///a"}, all)
	})
}

func TestServerAsksTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{
			Info: mcp.Implementation{Name: "me"},
			Elicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
				form := p.(*mcp.ElicitFormParams)
				return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]mcp.ElicitValue{form.RequestedSchema.Required[0]: mcp.ElicitValueString("Ada")}}, nil
			},
			CreateMessage: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.NewSamplingContent(&mcp.TextContent{
					Text: p.Messages[0].Content.Items[0].(*mcp.TextContent).Text + "!",
				})}, nil
			},
			ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
				return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
			},
		})
		require.Equal(t, "Ada", call(t, r, "ask"))
		require.Equal(t, "hi!", call(t, r, "sample"))
		require.Equal(t, "file:///work", call(t, r, "roots"))
		require.Equal(t, "pong", call(t, r, "ping"))
		require.Equal(t, "me", call(t, r, "who"))
	})
}

// TestUndeclaredCapabilities holds that neither side asks the other for what
// it does not declare.
func TestUndeclaredCapabilities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything()
		callTool := s.CallTool
		var failed error
		s.CallTool = func(ctx context.Context, p *mcp.CallToolParams) (res *mcp.CallToolResult, err error) {
			res, failed = callTool(ctx, p)
			return res, failed
		}
		r := connect(t, s, mcp.Client{
			Elicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return nil, errors.New("unreachable")
			},
			CreateMessage: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return nil, errors.New("unreachable")
			},
		})
		for _, name := range []string{"roots", "sample with tools", "open a page"} {
			_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.ErrorIs(t, failed, jsonrpc.ErrNotAdvertised, name)
			require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""), "what the handler met is not the answer")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, mcp.Server{}, mcp.Client{})
		require.Nil(t, r.Server.CallTool)
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
		require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)
		for _, err := range r.Prompts(t.Context(), nil) {
			require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)
		}
	})
}

func TestTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		ctx := t.Context()
		require.Equal(t, "now", call(t, r, "task"))
		_, err := r.CallTool(ctx, &mcp.CallToolParams{Name: "task", Task: &mcp.TaskMetadata{TTL: new(int64(0))}})
		created, ok := errors.AsType[*mcp.TaskCreated](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "t1", created.Task.TaskID)
		require.Equal(t, new(int64(0)), created.Task.TTL)
		got, err := r.GetTask(ctx, &mcp.GetTaskParams{TaskID: "t1"})
		require.NoError(t, err)
		require.Equal(t, mcp.TaskStatusCompleted, got.Status)
		require.Nil(t, got.TTL)
		payload, err := r.GetTaskPayload(ctx, &mcp.GetTaskPayloadParams{TaskID: "t1"})
		require.NoError(t, err)
		res, err := payload.CallTool()
		require.NoError(t, err)
		require.Equal(t, "later", res.Content[0].(*mcp.TextContent).Text)
		for task, err := range r.Tasks(ctx, nil) {
			require.NoError(t, err)
			require.Equal(t, "t1", task.TaskID)
		}
		cancelled, err := r.CancelTask(ctx, &mcp.CancelTaskParams{TaskID: "t1"})
		require.NoError(t, err)
		require.Equal(t, mcp.TaskStatusCancelled, cancelled.Status)
	})
}

func TestErrorsCarryTheirData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "nothing like it"})
		data, ok := mcp.URLElicitationRequiredDataOf(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "e1", data.Elicitations[0].ElicitationID)
		_, ok = mcp.URLElicitationRequiredDataOf(jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no"))
		require.False(t, ok)

		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "panic"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
	})
}

// TestRemoteServerCanBeServedAgain puts a proxy between client and server.
func TestRemoteServerCanBeServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := connect(t, everything(), mcp.Client{})
		front := connect(t, behind.Server, mcp.Client{})
		require.Equal(t, "everything", front.Info.Name)
		require.Equal(t, string(behind.Capabilities.AppendJSON(nil)), string(front.Capabilities.AppendJSON(nil)))
		require.Equal(t, `{"a":1}`, call(t, front, "echo"))
		_, err := front.CallTool(t.Context(), &mcp.CallToolParams{Name: "task", Task: &mcp.TaskMetadata{}})
		_, ok := errors.AsType[*mcp.TaskCreated](err)
		require.True(t, ok, "%v", err)
		n := 0
		for _, err := range front.Tools(t.Context(), nil) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 3, n)
	})
}

func TestUnknownMethods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := everything()
		s.Unknown = func(_ context.Context, method string, params wire.Raw) (wire.Raw, error) {
			return wire.Raw(`{"method":"` + method + `","params":` + string(params) + `}`), nil
		}
		r := connect(t, s, mcp.Client{})
		raw, err := r.Server.Unknown(t.Context(), "ext/hello", wire.Raw(`{"a":[1]}`))
		require.NoError(t, err)
		require.Equal(t, `{"method":"ext/hello","params":{"a":[1]}}`, string(raw))
	})
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		_, err := r.Server.Unknown(t.Context(), "ext/hello", nil)
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""))
	})
}

func TestBindRefusesHalfACapability(t *testing.T) {
	tool := func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil }
	for _, c := range []struct {
		name string
		b    jsonrpc.Binder
		want string
	}{
		{"call without list", mcp.Server{CallTool: tool}, "Server: CallTool is set and ListTools is not: the capability tools needs both"},
		{"flag without funcs", mcp.Server{ToolsListChanged: true}, "Server: ToolsListChanged is set and CallTool is not: the capability tools.listChanged needs both"},
		{"templates alone", mcp.Server{ListResourceTemplates: everythingTemplates}, "Server: ListResourceTemplates is set and ListResources is not"},
		{"subscribe without resources", mcp.Server{Subscribe: everything().Subscribe, Unsubscribe: everything().Unsubscribe}, "Server: Subscribe is set and ListResources is not"},
		{"list of tasks alone", mcp.Server{ListTasks: everything().ListTasks}, "Server: ListTasks is set and GetTask is not"},
		{"client flag", mcp.Client{SamplingTools: true}, "Client: SamplingTools is set and CreateMessage is not"},
		{"roots flag", mcp.Client{RootsListChanged: true}, "Client: RootsListChanged is set and ListRoots is not"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.b.Bind()
			require.ErrorContains(t, err, c.want)
			_, ok := errors.AsType[*jsonrpc.FeatureError](err)
			require.True(t, ok)
		})
	}
	for _, b := range []jsonrpc.Binder{mcp.Server{}, mcp.Client{}, everything()} {
		_, err := b.Bind()
		require.NoError(t, err)
	}
}

func everythingTemplates(context.Context, *mcp.ListResourceTemplatesParams) (*mcp.ListResourceTemplatesResult, error) {
	return nil, nil
}

// TestClientCapabilitiesFollowFromFuncs holds what a client declares.
func TestClientCapabilitiesFollowFromFuncs(t *testing.T) {
	elicit := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil }
	roots := func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) { return nil, nil }
	for _, c := range []struct {
		c    mcp.Client
		want string
	}{
		{mcp.Client{}, `{}`},
		{mcp.Client{Elicit: elicit}, `{"elicitation":{}}`},
		{mcp.Client{Elicit: elicit, ElicitationURL: true}, `{"elicitation":{"url":{}}}`},
		{mcp.Client{Elicit: elicit, ElicitationURL: true, ElicitationForm: true}, `{"elicitation":{"form":{},"url":{}}}`},
		{mcp.Client{ListRoots: roots, RootsListChanged: true}, `{"roots":{"listChanged":true}}`},
		{mcp.Client{Experimental: map[string]wire.Raw{"x": wire.Raw(`{"a":1}`)}}, `{"experimental":{"x":{"a":1}}}`},
	} {
		caps := c.c.Capabilities()
		require.Equal(t, c.want, string(caps.AppendJSON(nil)))
	}
}

// TestClientKeepsToWhatItDeclared holds that a client answers nothing that needs a
// capability which it does not declare, whoever asks.
func TestClientKeepsToWhatItDeclared(t *testing.T) {
	elicit := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
	}
	sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.NewSamplingContent(&mcp.TextContent{Text: "x"})}, nil
	}
	const (
		form  = `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`
		url   = `{"mode":"url","elicitationId":"e","message":"m","url":"https://example.com/"}`
		plain = `{"messages":[],"maxTokens":1}`
		tools = `{"messages":[],"maxTokens":1,"tools":[]}`
	)
	for _, c := range []struct {
		c              mcp.Client
		method, params string
		refused        bool
	}{
		{mcp.Client{Elicit: elicit}, mcp.MethodElicitationCreate, form, false},
		{mcp.Client{Elicit: elicit}, mcp.MethodElicitationCreate, url, true},
		{mcp.Client{Elicit: elicit, ElicitationURL: true}, mcp.MethodElicitationCreate, url, false},
		{mcp.Client{Elicit: elicit, ElicitationURL: true}, mcp.MethodElicitationCreate, form, true},
		{mcp.Client{Elicit: elicit, ElicitationURL: true, ElicitationForm: true}, mcp.MethodElicitationCreate, form, false},
		{mcp.Client{CreateMessage: sample}, mcp.MethodSamplingCreateMessage, plain, false},
		{mcp.Client{CreateMessage: sample}, mcp.MethodSamplingCreateMessage, tools, true},
		{mcp.Client{CreateMessage: sample, SamplingTools: true}, mcp.MethodSamplingCreateMessage, tools, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := everything()
			var err error
			s.CallTool = func(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				_, err = jsonrpc.CallRaw(ctx, mcp.Peer(ctx).Conn(), c.method, wire.Raw(c.params))
				return text(""), nil
			}
			r := connect(t, s, c.c)
			_, callErr := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "x"})
			require.NoError(t, callErr)
			if e, ok := errors.AsType[*jsonrpc.Error](err); c.refused {
				require.True(t, ok, "%s %s: %v", c.method, c.params, err)
				require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
			} else {
				require.NoError(t, err, "%s %s", c.method, c.params)
			}
		})
	}
}

func TestPeerOutsideOfAHandler(t *testing.T) {
	peer := mcp.Peer(t.Context())
	require.Nil(t, peer.Info())
	require.Nil(t, peer.Capabilities())
	require.ErrorIs(t, peer.Progress(t.Context(), 1, nil, ""), jsonrpc.ErrNoPeer)
	require.ErrorIs(t, peer.ToolListChanged(t.Context()), jsonrpc.ErrNoPeer)
	require.ErrorIs(t, peer.Log(t.Context(), mcp.LoggingLevelInfo, "x"), jsonrpc.ErrNoPeer)
	_, err := peer.Elicit(t.Context(), &mcp.ElicitFormParams{})
	require.ErrorIs(t, err, jsonrpc.ErrNoPeer)
}
