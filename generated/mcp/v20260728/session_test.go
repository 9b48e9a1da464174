package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
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

func form(question string) *mcp.ElicitRequest {
	return &mcp.ElicitRequest{Params: &mcp.ElicitFormParams{Message: question, RequestedSchema: mcp.ElicitSchema{
		Properties: map[string]mcp.PrimitiveSchemaDefinition{"answer": &mcp.StringSchema{}},
	}}}
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
		CallTool: callTool,
		ListPrompts: func(context.Context, *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			return &mcp.ListPromptsResult{Prompts: []mcp.Prompt{{Name: "greet"}}}, nil
		},
		GetPrompt: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			e, err := p.InputResponses.Elicit("name")
			if err != nil {
				return nil, err
			}
			if e == nil {
				return nil, mcp.NewInputRequiredError(mcp.InputRequests{"name": form("name?")}, nil)
			}
			name, _ := e.Content["answer"].Str()
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: "Hello " + name}}}}, nil
		},
		ListResources: func(context.Context, *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			return &mcp.ListResourcesResult{Resources: []mcp.Resource{{Name: "a", URI: "file:///a"}}, TTLMs: 5000, CacheScope: mcp.CacheScopePublic}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: p.URI, Text: "A"}}}, nil
		},
		Complete: func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{p.Argument.Value + "!"}}}, nil
		},
		ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourcesSubscribe: true, Logging: true,
		AllowURI: func(_ context.Context, uri string) bool { return uri != "file:///secret" },
	}
}

func callTool(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	peer := mcp.Peer(ctx)
	switch p.Name {
	case "echo":
		return text(string(p.Arguments)), nil
	case "meta":
		return text(string(p.Meta.AppendJSON(nil))), nil
	case "who":
		return text(peer.Info().Name + " " + string(peer.Capabilities().AppendJSON(nil))), nil
	case "progress":
		for i := range 3 {
			if err := peer.Progress(ctx, float64(i+1), nil, ""); err != nil {
				return nil, err
			}
		}
		return text("done"), nil
	case "block":
		peer.Detach()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case "log":
		err := errors.Join(peer.Log(ctx, mcp.LoggingLevelDebug, "quiet"), peer.Log(ctx, mcp.LoggingLevelError, "loud"))
		return text("logged"), err
	case "change":
		err := errors.Join(peer.ToolListChanged(ctx), peer.PromptListChanged(ctx), peer.ResourceUpdated(ctx, "file:///a"), peer.ResourceUpdated(ctx, "file:///secret"))
		return text("changed"), err
	case "ask everything":
		in := p.InputResponses
		e, err1 := in.Elicit("who")
		s, err2 := in.Sampling("what")
		r, err3 := in.Roots("where")
		if err := errors.Join(err1, err2, err3); err != nil {
			return nil, err
		}
		if e == nil || s == nil || r == nil {
			return nil, mcp.NewInputRequiredError(mcp.InputRequests{
				"who":   form("who?"),
				"what":  &mcp.CreateMessageRequest{Params: mcp.CreateMessageParams{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewSamplingContent(&mcp.TextContent{Text: "what?"})}}}},
				"where": &mcp.ListRootsRequest{},
			}, new("state 1"))
		}
		who, _ := e.Content["answer"].Str()
		return text(who + " " + s.Content.Items[0].(*mcp.TextContent).Text + " " + r.Roots[0].URI + " " + *p.RequestState), nil
	case "ask twice":
		switch {
		case p.RequestState == nil:
			return nil, mcp.NewInputRequiredError(mcp.InputRequests{"a": form("first?")}, new("1"))
		case *p.RequestState == "1":
			return nil, mcp.NewInputRequiredError(mcp.InputRequests{"b": form("second?")}, new("2"))
		}
		_, again := p.InputResponses["a"]
		return text(strconv.FormatBool(again)), nil
	case "ask for ever":
		return nil, mcp.NewInputRequiredError(mcp.InputRequests{"a": form("again?")}, nil)
	case "strange result":
		return &mcp.CallToolResult{ResultType: "later"}, nil
	}
	return nil, mcp.NewMissingRequiredClientCapabilityError(&mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: mcp.ClientCapabilities{Roots: wire.Raw("{}")}})
}

func answers() mcp.Client {
	return mcp.Client{
		Info: mcp.Implementation{Name: "me", Version: "2"},
		Elicit: func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]mcp.ElicitValue{"answer": mcp.ElicitValueString("Ada")}}, nil
		},
		CreateMessage: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.NewSamplingContent(&mcp.TextContent{
				Text: "re: " + p.Messages[0].Content.Items[0].(*mcp.TextContent).Text,
			})}, nil
		},
		ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
			return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
		},
	}
}

func call(t *testing.T, r *mcp.RemoteServer, name string) string {
	t.Helper()
	res, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: wire.Raw(`{"a":1}`)})
	require.NoError(t, err)
	return res.Content[0].(*mcp.TextContent).Text
}

func TestDiscover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		require.Equal(t, mcp.Revision, r.Revision())
		require.Equal(t, "everything", r.Info.Name)
		require.Equal(t, "be kind", r.Instructions)
		require.True(t, r.ToolsListChanged && r.ResourcesSubscribe && r.Logging)
		res, err := r.Discover(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, []string{mcp.Revision}, res.SupportedVersions)
		require.Equal(t, mcp.ResultTypeComplete, res.ResultType)
		require.Equal(t, mcp.CacheScopePrivate, res.CacheScope)
		require.Equal(t, "everything", res.Meta.ServerInfo.Name)
	})
}

// TestRequestsCarryTheirMeta holds that stubs fill _meta where the caller left
// it out, and never write to what the caller gave them.
func TestRequestsCarryTheirMeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), answers())
		want := `{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{},"sampling":{}},` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"me","version":"2"}}`
		got := call(t, r, "meta")
		require.JSONEq(t, want, got)
		require.Equal(t, `me {"elicitation":{},"roots":{},"sampling":{}}`, call(t, r, "who"))

		params := &mcp.CallToolParams{Name: "meta", Meta: mcp.RequestMeta{
			ClientInfo: &mcp.Implementation{Name: "another", Version: "3"}, LogLevel: new(mcp.LoggingLevelError),
			Extra: wire.Members{{Name: "traceparent", Value: wire.Raw(`"00-1-2-00"`)}},
		}}
		res, err := r.CallTool(t.Context(), params)
		require.NoError(t, err)
		var meta map[string]any
		require.NoError(t, json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &meta))
		require.Equal(t, map[string]any{"name": "another", "version": "3"}, meta[mcp.MetaKeyClientInfo])
		require.Equal(t, "error", meta[mcp.MetaKeyLogLevel])
		require.Equal(t, "00-1-2-00", meta[mcp.MetaKeyTraceParent])
		require.Equal(t, mcp.Revision, meta[mcp.MetaKeyProtocolVersion])
		require.Empty(t, params.Meta.ProtocolVersion)
	})
}

func TestResultsSayWhoTheyAreFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		ctx := t.Context()
		tool, err := r.CallTool(ctx, &mcp.CallToolParams{Name: "echo"})
		require.NoError(t, err)
		require.Equal(t, mcp.ResultTypeComplete, tool.ResultType)
		require.Equal(t, "everything", tool.Meta.ServerInfo.Name)
		list, err := r.ListResources(ctx, nil)
		require.NoError(t, err)
		var cached mcp.CacheableResult = list
		require.Equal(t, int64(5000), cached.TTLMsValue())
		require.Equal(t, mcp.CacheScopePublic, cached.CacheScopeValue())
		tools, err := r.ListTools(ctx, nil)
		require.NoError(t, err)
		require.Equal(t, int64(0), tools.TTLMs)
		require.Equal(t, mcp.CacheScopePrivate, tools.CacheScope)
		templates, err := r.ListResourceTemplates(ctx, nil)
		require.NoError(t, err)
		require.Empty(t, templates.ResourceTemplates)
		n := 0
		for _, err := range r.Tools(ctx, nil) {
			require.NoError(t, err)
			n++
		}
		require.Equal(t, 3, n)
	})
}

func TestRoundsAreAnsweredByTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), answers())
		require.Equal(t, "Ada re: what? file:///work state 1", call(t, r, "ask everything"))
		require.Equal(t, "false", call(t, r, "ask twice"), "answers of an earlier round are not repeated")
		res, err := r.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, "Hello Ada", res.Messages[0].Content.(*mcp.TextContent).Text)
		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask for ever"})
		_, ok := errors.AsType[*mcp.InputRequiredError](err)
		require.True(t, ok, "%v", err)
	})
}

func TestRoundsNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := answers()
		c.Elicit = func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("nobody there")
		}
		r := connect(t, everything(), c)
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask everything"})
		in, ok := errors.AsType[*mcp.InputRequiredError](err)
		require.True(t, ok, "%v", err)
		require.ErrorContains(t, err, "nobody there")
		require.Len(t, in.InputRequests, 3)
		state, ok := in.State()
		require.True(t, ok)
		require.Equal(t, "state 1", state)
		var keys []string
		for k, q := range in.Inputs() {
			keys = append(keys, k+" "+q.Method)
		}
		require.Equal(t, []string{"what sampling/createMessage", "where roots/list", "who elicitation/create"}, keys)
	})
}

func TestUnknownResultTypeIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "strange result"})
		require.ErrorIs(t, err, jsonrpc.ErrResultType)
		var other *jsonrpc.ResultTypeError
		require.ErrorAs(t, err, &other)
		require.Equal(t, "later", other.Type)
		require.Equal(t, `"later"`, string(other.Raw.Get("resultType")))
	})
}

func TestProgressAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		var got []float64
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { got = append(got, p.Progress) }})
		_, err := r.CallTool(ctx, &mcp.CallToolParams{Name: "progress"})
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2, 3}, got)

		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait()
			cancel()
		}()
		_, err = r.CallTool(ctx, &mcp.CallToolParams{Name: "block"})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, `{"a":1}`, call(t, r, "echo"))
	})
}

func TestLoggingIsOptIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 10)
		r := connect(t, everything(), mcp.Client{LoggingMessage: func(_ context.Context, p *mcp.LoggingMessageParams) error {
			s, _ := p.Data.Str()
			got <- string(p.Level) + " " + s
			return nil
		}})
		call(t, r, "log")
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "log", Meta: mcp.RequestMeta{LogLevel: new(mcp.LoggingLevelWarning)}})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, got, 1)
		require.Equal(t, "error loud", <-got)
	})
}

func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 10)
		r := connect(t, everything(), mcp.Client{
			ToolListChanged: func(context.Context, *mcp.ToolListChangedParams) error { got <- "tools"; return nil },
			ResourceUpdated: func(_ context.Context, p *mcp.ResourceUpdatedParams) error { got <- p.URI; return nil },
			PromptListChanged: func(context.Context, *mcp.PromptListChangedParams) error {
				got <- "prompts"
				return nil
			},
		})
		call(t, r, "change") // nobody listens
		sub, err := r.Listen(t.Context(), &mcp.SubscriptionsListenParams{Notifications: mcp.SubscriptionFilter{
			ToolsListChanged: new(true), ResourceSubscriptions: []string{"file:///a", "file:///secret"},
		}})
		require.NoError(t, err)
		call(t, r, "change")
		synctest.Wait()
		sub.Close()
		call(t, r, "change")
		synctest.Wait()
		close(got)
		var all []string
		for s := range got {
			all = append(all, s)
		}
		require.Equal(t, []string{"tools", "file:///a"}, all)
	})
}

func TestErrorsCarryTheirData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "needs roots"})
		data, ok := mcp.MissingRequiredClientCapabilityDataOf(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, `{"roots":{}}`, string(data.RequiredCapabilities.AppendJSON(nil)))
		_, ok = mcp.UnsupportedProtocolVersionDataOf(err)
		require.False(t, ok)
	})
}

// TestInputTheClientDoesNotOffer holds that a handler cannot ask for what the
// request did not declare.
func TestInputTheClientDoesNotOffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, everything(), mcp.Client{})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask twice"})
		data, ok := mcp.MissingRequiredClientCapabilityDataOf(err)
		require.True(t, ok, "%v", err)
		require.NotNil(t, data.RequiredCapabilities.Elicitation)
	})
}

func TestUnadvertised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, mcp.Server{}, mcp.Client{})
		require.Nil(t, r.Server.CallTool)
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo"})
		require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)
	})
}

func TestRemoteServerCanBeServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		behind := connect(t, everything(), answers())
		front := connect(t, behind.Server, answers())
		require.Equal(t, `{"a":1}`, call(t, front, "echo"))
		require.Equal(t, "Ada re: what? file:///work state 1", call(t, front, "ask everything"))
	})
}

func TestBindRefusesHalfACapability(t *testing.T) {
	for _, b := range []jsonrpc.Binder{
		mcp.Server{CallTool: callTool}, mcp.Server{ResourcesSubscribe: true}, mcp.Server{PromptsListChanged: true},
		mcp.Client{ElicitationURL: true}, mcp.Client{SamplingContext: true},
	} {
		_, err := b.Bind()
		_, ok := errors.AsType[*jsonrpc.FeatureError](err)
		require.True(t, ok, "%v", err)
	}
	for _, b := range []jsonrpc.Binder{mcp.Server{}, mcp.Server{Logging: true}, mcp.Client{}, everything(), answers()} {
		_, err := b.Bind()
		require.NoError(t, err)
	}
}
