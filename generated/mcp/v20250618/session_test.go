package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20250618"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func server() mcp.Server {
	return mcp.Server{
		Info: mcp.Implementation{Name: "server", Version: "1"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "ask", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			peer := mcp.Peer(ctx)
			if err := peer.Progress(ctx, 1, new(1.0), ""); err != nil {
				return nil, err
			}
			m, err := peer.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1, Metadata: wire.Raw(`{"a":1}`), Messages: []mcp.SamplingMessage{
				{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: p.Name}},
			}})
			if err != nil {
				return nil, err
			}
			l, err := peer.ListRoots(ctx, nil)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{m.Content.(*mcp.TextContent), &mcp.TextContent{Text: l.Roots[0].URI}}}, nil
		},
		ListPrompts: func(context.Context, *mcp.ListPromptsParams) (*mcp.ListPromptsResult, error) {
			return &mcp.ListPromptsResult{Prompts: []mcp.Prompt{{Name: "greet"}}}, nil
		},
		GetPrompt: func(_ context.Context, p *mcp.GetPromptParams) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: p.Arguments["name"]}}}}, nil
		},
		ListResources: func(context.Context, *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
			return &mcp.ListResourcesResult{Resources: []mcp.Resource{{Name: "a", URI: "file:///a"}}}, nil
		},
		ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.BlobResourceContents{URI: p.URI, Blob: "AA=="}}}, nil
		},
		Complete: func(_ context.Context, p *mcp.CompleteParams) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{p.Ref.(*mcp.ResourceTemplateReference).URI}}}, nil
		},
		SetLevel: func(context.Context, *mcp.SetLevelParams) (*mcp.EmptyResult, error) { return nil, nil },
	}
}

// TestSession goes through a session: handshake, lists, calls with requests to
// the client inside, progress, completion, logging level.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stream := jsonl.InMemory()
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(context.Background(), stream, server()) }()
		r, err := mcp.Connect(t.Context(), client, mcp.Client{
			Info: mcp.Implementation{Name: "client", Version: "1"},
			CreateMessage: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: &mcp.TextContent{Text: string(p.Metadata)}}, nil
			},
			ListRoots: func(context.Context, *mcp.ListRootsParams) (*mcp.ListRootsResult, error) {
				return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
			},
		})
		require.NoError(t, err)
		require.Equal(t, "server", r.Info.Name)
		require.Equal(t, mcp.Revision, r.Revision())

		for tool, err := range r.Tools(t.Context(), nil) {
			require.NoError(t, err)
			require.Equal(t, "ask", tool.Name)
		}
		progress := 0.0
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { progress = p.Progress }})
		res, err := r.CallTool(ctx, &mcp.CallToolParams{Name: "ask"})
		require.NoError(t, err)
		require.Equal(t, `{"a":1}`, res.Content[0].(*mcp.TextContent).Text)
		require.Equal(t, "file:///work", res.Content[1].(*mcp.TextContent).Text)
		require.Equal(t, 1.0, progress)

		prompt, err := r.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
		require.NoError(t, err)
		require.Equal(t, "Ada", prompt.Messages[0].Content.(*mcp.TextContent).Text)
		read, err := r.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///a"})
		require.NoError(t, err)
		require.Equal(t, "AA==", read.Contents[0].(*mcp.BlobResourceContents).Blob)
		done, err := r.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.ResourceTemplateReference{URI: "a{b}"}})
		require.NoError(t, err)
		require.Equal(t, []string{"a{b}"}, done.Completion.Values)
		_, err = r.SetLevel(t.Context(), &mcp.SetLevelParams{Level: mcp.LoggingLevelAlert})
		require.NoError(t, err)
		_, err = r.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///a"})
		require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)

		require.NoError(t, r.Close())
		require.NoError(t, <-served)
	})
}

// TestElicitation holds that params that are a union of one pass the runtime,
// whatever their mode.
func TestElicitation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server()
		s.CallTool = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			var params mcp.ElicitParams = &mcp.ElicitFormParams{Message: p.Name}
			if p.Name == "new mode" {
				params = &mcp.UnknownElicitParams{Tag: "telepathy", Raw: wire.Raw(`{"mode":"telepathy","message":"?"}`)}
			}
			r, err := mcp.Peer(ctx).Elicit(ctx, params)
			if err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: string(r.Action)}}}, nil
		}
		client, stream := jsonl.InMemory()
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(context.Background(), stream, s) }()
		r, err := mcp.Connect(t.Context(), client, mcp.Client{Elicit: func(_ context.Context, p mcp.ElicitParams) (*mcp.ElicitResult, error) {
			switch p := p.(type) {
			case *mcp.ElicitFormParams:
				return &mcp.ElicitResult{Action: mcp.ElicitAction(p.Message)}, nil
			case *mcp.UnknownElicitParams:
				return &mcp.ElicitResult{Action: mcp.ElicitAction(p.Tag)}, nil
			}
			return nil, nil
		}})
		require.NoError(t, err)
		for name, want := range map[string]string{"form": "form", "new mode": "telepathy"} {
			res, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err)
			require.Equal(t, want, res.Content[0].(*mcp.TextContent).Text)
		}
		require.NoError(t, r.Close())
		require.NoError(t, <-served)
	})
}
