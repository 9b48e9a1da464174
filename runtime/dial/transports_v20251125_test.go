package dial_test

import (
	"context"
	"iter"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// dialect20251125 is both sides of the script in the types of that revision.
var dialect20251125 = dialect{
	revision: mcp.Revision,
	server: func(w *work) jsonrpc.Binder {
		return mcp.Server{
			Info: mcp.Implementation{Name: serverName, Version: "1"}, Options: w.options,
			ListTools: func(_ context.Context, p *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
				names, next, err := page(p.Cursor)
				r := &mcp.ListToolsResult{NextCursor: next}
				for _, name := range names {
					r.Tools = append(r.Tools, mcp.Tool{Name: name, InputSchema: wire.Raw(`{"type":"object"}`)})
				}
				return r, err
			},
			CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				text, err := w.call(ctx, p.Name, p.Arguments, host{
					ask: func(prompt string) (string, error) {
						r, err := mcp.Peer(ctx).CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1, Messages: []mcp.SamplingMessage{}, SystemPrompt: &prompt})
						if err != nil {
							return "", err
						}
						return r.Model, nil
					},
					log: func(level, text string) error { return mcp.Peer(ctx).Log(ctx, mcp.LoggingLevel(level), text) },
				})
				if err != nil {
					return nil, err
				}
				return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: text}}}, nil
			},
			ListResources: func(context.Context, *mcp.ListResourcesParams) (*mcp.ListResourcesResult, error) {
				return &mcp.ListResourcesResult{}, nil
			},
			ReadResource: func(_ context.Context, p *mcp.ReadResourceParams) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: p.URI, Text: read(p.URI)}}}, nil
			},
			Subscribe: jsonrpc.AllowNil(func(context.Context, *mcp.SubscribeParams) (*mcp.EmptyResult, error) { return nil, nil }),
			Unsubscribe: jsonrpc.AllowNil(func(context.Context, *mcp.UnsubscribeParams) (*mcp.EmptyResult, error) {
				return nil, nil
			}),
			SetLevel: jsonrpc.AllowNil(func(context.Context, *mcp.SetLevelParams) (*mcp.EmptyResult, error) { return nil, nil }),
		}
	},
	connect: func(ctx context.Context, d jsonrpc.Dialer, e *ear) (*session, error) {
		r, err := mcp.Connect(ctx, d, mcp.Client{
			Info: mcp.Implementation{Name: "client", Version: "1"}, Options: e.options,
			CreateMessage: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: e.asked(*p.SystemPrompt), Content: mcp.NewSamplingContent(&mcp.TextContent{})}, nil
			},
			LoggingMessage: func(_ context.Context, p *mcp.LoggingMessageParams) error {
				e.logged(string(p.Level), p.Data)
				return nil
			},
			ResourceUpdated: func(_ context.Context, p *mcp.ResourceUpdatedParams) error {
				e.updated(p.URI)
				return nil
			},
		})
		if err != nil {
			return nil, err
		}
		return &session{
			conn: r.Conn(), revision: r.Revision(), server: r.Info.Name, close: r.Close,
			tools: func(ctx context.Context) iter.Seq2[string, error] {
				return names(r.Tools(ctx, nil), func(t *mcp.Tool) string { return t.Name })
			},
			call: func(ctx context.Context, tool, arguments string) (string, error) {
				res, err := r.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: wire.Raw(arguments)})
				if err != nil {
					return "", err
				}
				return res.Content[0].(*mcp.TextContent).Text, nil
			},
			read: func(ctx context.Context, uri string) (string, error) {
				res, err := r.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
				if err != nil {
					return "", err
				}
				return res.Contents[0].(*mcp.TextResourceContents).Text, nil
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				_, err = r.Subscribe(ctx, &mcp.SubscribeParams{URI: uri})
				return func() error {
					_, err := r.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: uri})
					return err
				}, err
			},
			logFrom: func(ctx context.Context, level string) error {
				_, err := r.SetLevel(ctx, &mcp.SetLevelParams{Level: mcp.LoggingLevel(level)})
				return err
			},
			other: func(ctx context.Context, method string) error {
				_, err := jsonrpc.CallTyped[mcp.EmptyResult](ctx, r.Conn(), method, &mcp.ListToolsParams{})
				return err
			},
		}, nil
	},
}
