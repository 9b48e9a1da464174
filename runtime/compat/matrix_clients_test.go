package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// seats are a client in each revision.
var seats = []seat{seat20241105, seat20250326, seat20250618, seat20251125, seat20260728}

var seat20241105 = seat{
	revision: v20241105.Revision,
	connect: func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error) {
		client := v20241105.Client{
			Info: v20241105.Implementation{Name: "client", Version: "1"}, Options: discard,
			CreateMessage: func(context.Context, *v20241105.CreateMessageParams) (*v20241105.CreateMessageResult, error) {
				return decoded[v20241105.CreateMessageResult](sampled)
			},
			ListRoots: func(context.Context, *v20241105.ListRootsParams) (*v20241105.ListRootsResult, error) {
				return decoded[v20241105.ListRootsResult](roots)
			},
			LoggingMessage: func(_ context.Context, p *v20241105.LoggingMessageParams) error {
				return e.hear("log " + string(p.Level) + " " + string(p.Data))
			},
			ToolListChanged: func(context.Context, *v20241105.ToolListChangedParams) error { return e.hear("tools changed") },
			ResourceUpdated: func(_ context.Context, p *v20241105.ResourceUpdatedParams) error { return e.hear(p.URI + " updated") },
		}
		connect := v20241105.Connect
		if dial {
			connect = func(ctx context.Context, d jsonrpc.Dialer, c v20241105.Client) (*v20241105.RemoteServer, error) {
				return compat.Dial(ctx, d, c)
			}
		}
		r, err := connect(ctx, d, client)
		if err != nil {
			return nil, err
		}
		return &session{
			name: r.Info.Name, conn: r.Conn(), close: r.Close,
			tools: func(ctx context.Context) (wire.Raw, error) {
				return encoded(r.ListTools(ctx, &v20241105.ListToolsParams{}))
			},
			call: func(ctx context.Context, tool string) (wire.Raw, error) {
				return encoded(r.CallTool(ctx, &v20241105.CallToolParams{Name: tool, Arguments: wire.Raw("{}")}))
			},
			read: func(ctx context.Context, uri string) error {
				_, err := r.ReadResource(ctx, &v20241105.ReadResourceParams{URI: uri})
				return err
			},
			logFrom: func(ctx context.Context, l string) error {
				_, err := r.SetLevel(ctx, &v20241105.SetLevelParams{Level: v20241105.LoggingLevel(l)})
				return err
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				_, err = r.Subscribe(ctx, &v20241105.SubscribeParams{URI: uri})
				return func() error {
					_, err := r.Unsubscribe(ctx, &v20241105.UnsubscribeParams{URI: uri})
					return err
				}, err
			},
		}, nil
	},
}

var seat20250326 = seat{
	revision: v20250326.Revision,
	connect: func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error) {
		client := v20250326.Client{
			Info: v20250326.Implementation{Name: "client", Version: "1"}, Options: discard,
			CreateMessage: func(context.Context, *v20250326.CreateMessageParams) (*v20250326.CreateMessageResult, error) {
				return decoded[v20250326.CreateMessageResult](sampled)
			},
			ListRoots: func(context.Context, *v20250326.ListRootsParams) (*v20250326.ListRootsResult, error) {
				return decoded[v20250326.ListRootsResult](roots)
			},
			LoggingMessage: func(_ context.Context, p *v20250326.LoggingMessageParams) error {
				return e.hear("log " + string(p.Level) + " " + string(p.Data))
			},
			ToolListChanged: func(context.Context, *v20250326.ToolListChangedParams) error { return e.hear("tools changed") },
			ResourceUpdated: func(_ context.Context, p *v20250326.ResourceUpdatedParams) error { return e.hear(p.URI + " updated") },
		}
		connect := v20250326.Connect
		if dial {
			connect = func(ctx context.Context, d jsonrpc.Dialer, c v20250326.Client) (*v20250326.RemoteServer, error) {
				return compat.Dial(ctx, d, c)
			}
		}
		r, err := connect(ctx, d, client)
		if err != nil {
			return nil, err
		}
		return &session{
			name: r.Info.Name, conn: r.Conn(), close: r.Close,
			tools: func(ctx context.Context) (wire.Raw, error) {
				return encoded(r.ListTools(ctx, &v20250326.ListToolsParams{}))
			},
			call: func(ctx context.Context, tool string) (wire.Raw, error) {
				return encoded(r.CallTool(ctx, &v20250326.CallToolParams{Name: tool, Arguments: wire.Raw("{}")}))
			},
			read: func(ctx context.Context, uri string) error {
				_, err := r.ReadResource(ctx, &v20250326.ReadResourceParams{URI: uri})
				return err
			},
			logFrom: func(ctx context.Context, l string) error {
				_, err := r.SetLevel(ctx, &v20250326.SetLevelParams{Level: v20250326.LoggingLevel(l)})
				return err
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				_, err = r.Subscribe(ctx, &v20250326.SubscribeParams{URI: uri})
				return func() error {
					_, err := r.Unsubscribe(ctx, &v20250326.UnsubscribeParams{URI: uri})
					return err
				}, err
			},
		}, nil
	},
}

var seat20250618 = seat{
	revision: v20250618.Revision,
	connect: func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error) {
		client := v20250618.Client{
			Info: v20250618.Implementation{Name: "client", Version: "1"}, Options: discard,
			Elicit: func(context.Context, v20250618.ElicitParams) (*v20250618.ElicitResult, error) {
				return decoded[v20250618.ElicitResult](elicited)
			},
			CreateMessage: func(context.Context, *v20250618.CreateMessageParams) (*v20250618.CreateMessageResult, error) {
				return decoded[v20250618.CreateMessageResult](sampled)
			},
			ListRoots: func(context.Context, *v20250618.ListRootsParams) (*v20250618.ListRootsResult, error) {
				return decoded[v20250618.ListRootsResult](roots)
			},
			LoggingMessage: func(_ context.Context, p *v20250618.LoggingMessageParams) error {
				return e.hear("log " + string(p.Level) + " " + string(p.Data))
			},
			ToolListChanged: func(context.Context, *v20250618.ToolListChangedParams) error { return e.hear("tools changed") },
			ResourceUpdated: func(_ context.Context, p *v20250618.ResourceUpdatedParams) error { return e.hear(p.URI + " updated") },
		}
		connect := v20250618.Connect
		if dial {
			connect = func(ctx context.Context, d jsonrpc.Dialer, c v20250618.Client) (*v20250618.RemoteServer, error) {
				return compat.Dial(ctx, d, c)
			}
		}
		r, err := connect(ctx, d, client)
		if err != nil {
			return nil, err
		}
		return &session{
			name: r.Info.Name, conn: r.Conn(), close: r.Close,
			tools: func(ctx context.Context) (wire.Raw, error) {
				return encoded(r.ListTools(ctx, &v20250618.ListToolsParams{}))
			},
			call: func(ctx context.Context, tool string) (wire.Raw, error) {
				return encoded(r.CallTool(ctx, &v20250618.CallToolParams{Name: tool, Arguments: wire.Raw("{}")}))
			},
			read: func(ctx context.Context, uri string) error {
				_, err := r.ReadResource(ctx, &v20250618.ReadResourceParams{URI: uri})
				return err
			},
			logFrom: func(ctx context.Context, l string) error {
				_, err := r.SetLevel(ctx, &v20250618.SetLevelParams{Level: v20250618.LoggingLevel(l)})
				return err
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				_, err = r.Subscribe(ctx, &v20250618.SubscribeParams{URI: uri})
				return func() error {
					_, err := r.Unsubscribe(ctx, &v20250618.UnsubscribeParams{URI: uri})
					return err
				}, err
			},
		}, nil
	},
}

var seat20251125 = seat{
	revision: v20251125.Revision,
	connect: func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error) {
		client := v20251125.Client{
			Info: v20251125.Implementation{Name: "client", Version: "1"}, Options: discard,
			Elicit: func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				return decoded[v20251125.ElicitResult](elicited)
			},
			CreateMessage: func(context.Context, *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
				return decoded[v20251125.CreateMessageResult](sampled)
			},
			ListRoots: func(context.Context, *v20251125.ListRootsParams) (*v20251125.ListRootsResult, error) {
				return decoded[v20251125.ListRootsResult](roots)
			},
			LoggingMessage: func(_ context.Context, p *v20251125.LoggingMessageParams) error {
				return e.hear("log " + string(p.Level) + " " + string(p.Data))
			},
			ToolListChanged: func(context.Context, *v20251125.ToolListChangedParams) error { return e.hear("tools changed") },
			ResourceUpdated: func(_ context.Context, p *v20251125.ResourceUpdatedParams) error { return e.hear(p.URI + " updated") },
		}
		connect := v20251125.Connect
		if dial {
			connect = func(ctx context.Context, d jsonrpc.Dialer, c v20251125.Client) (*v20251125.RemoteServer, error) {
				return compat.Dial(ctx, d, c)
			}
		}
		r, err := connect(ctx, d, client)
		if err != nil {
			return nil, err
		}
		return &session{
			name: r.Info.Name, conn: r.Conn(), close: r.Close,
			tools: func(ctx context.Context) (wire.Raw, error) {
				return encoded(r.ListTools(ctx, &v20251125.ListToolsParams{}))
			},
			call: func(ctx context.Context, tool string) (wire.Raw, error) {
				return encoded(r.CallTool(ctx, &v20251125.CallToolParams{Name: tool, Arguments: wire.Raw("{}")}))
			},
			read: func(ctx context.Context, uri string) error {
				_, err := r.ReadResource(ctx, &v20251125.ReadResourceParams{URI: uri})
				return err
			},
			logFrom: func(ctx context.Context, l string) error {
				_, err := r.SetLevel(ctx, &v20251125.SetLevelParams{Level: v20251125.LoggingLevel(l)})
				return err
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				_, err = r.Subscribe(ctx, &v20251125.SubscribeParams{URI: uri})
				return func() error {
					_, err := r.Unsubscribe(ctx, &v20251125.UnsubscribeParams{URI: uri})
					return err
				}, err
			},
		}, nil
	},
}

var seat20260728 = seat{
	revision: v20260728.Revision,
	connect: func(ctx context.Context, d jsonrpc.Dialer, dial bool, e *ear) (*session, error) {
		client := v20260728.Client{
			Info: v20260728.Implementation{Name: "client", Version: "1"}, Options: discard,
			Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				return decoded[v20260728.ElicitResult](elicited)
			},
			CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
				return decoded[v20260728.CreateMessageResult](sampled)
			},
			ListRoots: func(context.Context, *v20260728.ListRootsParams) (*v20260728.ListRootsResult, error) {
				return decoded[v20260728.ListRootsResult](roots)
			},
			LoggingMessage: func(_ context.Context, p *v20260728.LoggingMessageParams) error {
				return e.hear("log " + string(p.Level) + " " + string(p.Data))
			},
			ToolListChanged: func(context.Context, *v20260728.ToolListChangedParams) error { return e.hear("tools changed") },
			ResourceUpdated: func(_ context.Context, p *v20260728.ResourceUpdatedParams) error { return e.hear(p.URI + " updated") },
		}
		connect := v20260728.Connect
		if dial {
			connect = func(ctx context.Context, d jsonrpc.Dialer, c v20260728.Client) (*v20260728.RemoteServer, error) {
				return compat.Dial(ctx, d, c)
			}
		}
		r, err := connect(ctx, d, client)
		if err != nil {
			return nil, err
		}
		var level *v20260728.LoggingLevel
		return &session{
			name: r.Info.Name, conn: r.Conn(), close: r.Close,
			tools: func(ctx context.Context) (wire.Raw, error) {
				return encoded(r.ListTools(ctx, &v20260728.ListToolsParams{}))
			},
			call: func(ctx context.Context, tool string) (wire.Raw, error) {
				return encoded(r.CallTool(ctx, &v20260728.CallToolParams{Name: tool, Arguments: wire.Raw("{}"), Meta: v20260728.RequestMeta{LogLevel: level}}))
			},
			read: func(ctx context.Context, uri string) error {
				_, err := r.ReadResource(ctx, &v20260728.ReadResourceParams{URI: uri})
				return err
			},
			logFrom: func(_ context.Context, l string) error {
				level = new(v20260728.LoggingLevel(l))
				return nil
			},
			watch: func(ctx context.Context, uri string) (stop func() error, err error) {
				sub, err := r.Listen(ctx, &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ToolsListChanged: new(true), ResourceSubscriptions: []string{uri}}})
				if err != nil {
					return nil, err
				}
				return func() error { sub.Close(); return nil }, nil
			},
		}, nil
	},
}
