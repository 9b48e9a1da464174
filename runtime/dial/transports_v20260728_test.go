//lint:file-ignore SA1019 what the revision retires has to work as well

package dial_test

import (
	"context"
	"iter"
	"sync/atomic"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// dialect20260728 is both sides of the script in the types of that revision.
// What differs from the others is how the server asks, what a client listens
// to, and that each call says what it wants of the log.
var dialect20260728 = dialect{
	revision: mcp.Revision,
	server: func(w *work) jsonrpc.Binder {
		return mcp.Server{
			Info: mcp.Implementation{Name: serverName, Version: "1"}, Options: w.options, Logging: true, ResourcesSubscribe: true,
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
						if p.InputResponses == nil {
							return "", mcp.NewInputRequiredError(mcp.InputRequests{"ask": &mcp.CreateMessageRequest{
								Params: mcp.CreateMessageParams{MaxTokens: 1, Messages: []mcp.SamplingMessage{}, SystemPrompt: &prompt},
							}}, new("asked"))
						}
						if p.RequestState == nil || *p.RequestState != "asked" {
							return "", jsonrpc.NewError(jsonrpc.CodeInvalidParams, "requestState: not what was given out")
						}
						r, err := p.InputResponses.Sampling("ask")
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
		var level atomic.Pointer[mcp.LoggingLevel]
		return &session{
			conn: r.Conn(), revision: r.Revision(), server: r.Info.Name, close: r.Close,
			tools: func(ctx context.Context) iter.Seq2[string, error] {
				return names(r.Tools(ctx, nil), func(t *mcp.Tool) string { return t.Name })
			},
			call: func(ctx context.Context, tool, arguments string) (string, error) {
				res, err := r.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: wire.Raw(arguments), Meta: mcp.RequestMeta{LogLevel: level.Load()}})
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
				sub, err := r.Listen(ctx, &mcp.SubscriptionsListenParams{Notifications: mcp.SubscriptionFilter{ResourceSubscriptions: []string{uri}}})
				return func() error {
					sub.Close()
					<-sub.Done()
					return sub.Err()
				}, err
			},
			logFrom: func(_ context.Context, l string) error {
				level.Store(new(mcp.LoggingLevel(l)))
				return nil
			},
			other: func(ctx context.Context, method string) error {
				_, err := jsonrpc.CallTyped[mcp.ListToolsResult](ctx, r.Conn(), method, &mcp.ListToolsParams{})
				return err
			},
		}, nil
	},
}
