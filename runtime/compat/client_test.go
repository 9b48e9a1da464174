package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestDialOlderServer: a client of 2026-07-28 calls a server of 2025-11-25.
func TestDialOlderServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(jsonrpc.Hub)
		s := callingServer()
		s.Hub, s.ToolsListChanged = hub, true
		var levels, watched, heard notes
		s.SetLevel = func(_ context.Context, p *v20251125.SetLevelParams) (*v20251125.EmptyResult, error) {
			levels.add(string(p.Level))
			return nil, nil
		}
		s.ListResources = func(context.Context, *v20251125.ListResourcesParams) (*v20251125.ListResourcesResult, error) {
			return &v20251125.ListResourcesResult{}, nil
		}
		s.ReadResource = func(_ context.Context, p *v20251125.ReadResourceParams) (*v20251125.ReadResourceResult, error) {
			return nil, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, "no "+p.URI)
		}
		s.Subscribe = func(_ context.Context, p *v20251125.SubscribeParams) (*v20251125.EmptyResult, error) {
			watched.add("+" + p.URI)
			return nil, nil
		}
		s.Unsubscribe = func(_ context.Context, p *v20251125.UnsubscribeParams) (*v20251125.EmptyResult, error) {
			watched.add("-" + p.URI)
			return nil, nil
		}
		client := v20260728.Client{
			Info: v20260728.Implementation{Name: "c", Version: "1"},
			Elicit: func(_ context.Context, p v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"name": v20260728.ElicitValueString(strings.Fields(p.(*v20260728.ElicitFormParams).Message)[0])}}, nil
			},
			ListRoots: func(context.Context, *v20260728.ListRootsParams) (*v20260728.ListRootsResult, error) {
				return &v20260728.ListRootsResult{}, nil
			},
			ToolListChanged: func(_ context.Context, p *v20260728.ToolListChangedParams) error {
				heard.add("tools of " + p.Meta.SubscriptionID.String())
				return nil
			},
			ResourceUpdated: func(_ context.Context, p *v20260728.ResourceUpdatedParams) error {
				heard.add(p.URI + " of " + p.Meta.SubscriptionID.String())
				return nil
			},
		}
		server, err := compat.Dial(t.Context(), served(t, s), client)
		require.NoError(t, err)
		require.Equal(t, "2026-07-28", server.Revision())
		require.Equal(t, "2025-11-25", server.Conn().Below().Session().Revision)
		require.Equal(t, "s", server.Info.Name)
		require.True(t, server.Logging)
		level1 := v20260728.LoggingLevelWarning
		r, err := server.CallTool(t.Context(), &v20260728.CallToolParams{Name: "greet", Meta: v20260728.RequestMeta{LogLevel: &level1}})
		require.NoError(t, err)
		require.Equal(t, "Hello, first last! (0 roots, c)", textOf(r))
		require.Equal(t, []string{"warning"}, levels.all())
		_, err = server.ReadResource(t.Context(), &v20260728.ReadResourceParams{URI: "x:y"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
		_, err = server.GetPrompt(t.Context(), &v20260728.GetPromptParams{Name: "p"})
		require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)

		hub.ToolsListChanged(t.Context()) // nobody listens
		time.Sleep(time.Minute)
		sub, err := server.Listen(t.Context(), &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ToolsListChanged: new(true), PromptsListChanged: new(true), ResourceSubscriptions: []string{"x:1"}}})
		require.NoError(t, err)
		require.JSONEq(t, `{"toolsListChanged":true,"resourceSubscriptions":["x:1"]}`, string(sub.Honoured()))
		hub.ToolsListChanged(t.Context())
		hub.ResourceUpdated(t.Context(), "x:1")
		hub.ResourceUpdated(t.Context(), "x:2")
		time.Sleep(time.Minute)
		require.Equal(t, []string{"tools of 1", "x:1 of 1"}, heard.all())
		sub.Close()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"+x:1", "-x:1"}, watched.all())
		require.NoError(t, sub.Err())

		sub, err = server.Listen(t.Context(), &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ToolsListChanged: new(true)}})
		require.NoError(t, err)
		require.NoError(t, server.Close())
		<-sub.Done()
		require.ErrorIs(t, sub.Err(), jsonrpc.ErrClosed)
		_, err = server.ListTools(t.Context(), nil)
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
	})
}

// TestDialNewerServer: a client of 2025-11-25 calls a server of 2026-07-28.
func TestDialNewerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sealer, err := compat.NewSealer(0, make([]byte, 32))
		require.NoError(t, err)
		hub := new(jsonrpc.Hub)
		s := roundsServer(sealer)
		s.Hub, s.ToolsListChanged, s.Logging, s.ResourcesSubscribe = hub, true, true, true
		s.ListResources = func(ctx context.Context, _ *v20260728.ListResourcesParams) (*v20260728.ListResourcesResult, error) {
			return &v20260728.ListResourcesResult{}, v20260728.Peer(ctx).Log(ctx, v20260728.LoggingLevelInfo, "listing")
		}
		s.ReadResource = func(_ context.Context, p *v20260728.ReadResourceParams) (*v20260728.ReadResourceResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no " + p.URI, Data: wire.Quote(p.URI)}
		}
		s.AllowURI = func(_ context.Context, uri string) bool { return uri == "x:1" }
		var heard notes
		client := v20251125.Client{
			Info: v20251125.Implementation{Name: "c", Version: "1"},
			Elicit: func(_ context.Context, p v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept, Content: map[string]v20251125.ElicitValue{"name": v20251125.ElicitValueString(strings.Fields(p.(*v20251125.ElicitFormParams).Message)[0])}}, nil
			},
			ToolListChanged: func(context.Context, *v20251125.ToolListChangedParams) error {
				heard.add("tools")
				return nil
			},
			ResourceUpdated: func(_ context.Context, p *v20251125.ResourceUpdatedParams) error {
				heard.add(p.URI)
				return nil
			},
			LoggingMessage: func(_ context.Context, p *v20251125.LoggingMessageParams) error {
				heard.add(string(p.Level) + " " + string(p.Data))
				return nil
			},
		}
		server, err := compat.Dial(t.Context(), served(t, s), client)
		require.NoError(t, err)
		require.Equal(t, "2025-11-25", server.Revision())
		r, err := server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, "Hello, first last!", oldText(r))
		_, err = server.Ping(t.Context(), nil)
		require.NoError(t, err)
		_, err = server.ReadResource(t.Context(), &v20251125.ReadResourceParams{URI: "x:y"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, ""))

		hub.ToolsListChanged(t.Context())
		time.Sleep(time.Minute)
		_, err = server.Subscribe(t.Context(), &v20251125.SubscribeParams{URI: "x:1"})
		require.NoError(t, err)
		_, err = server.Subscribe(t.Context(), &v20251125.SubscribeParams{URI: "x:2"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeResourceNotFound, ""))
		hub.ResourceUpdated(t.Context(), "x:1")
		time.Sleep(time.Minute)
		_, err = server.Unsubscribe(t.Context(), &v20251125.UnsubscribeParams{URI: "x:1"})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		hub.ResourceUpdated(t.Context(), "x:1")
		_, err = server.ListResources(t.Context(), nil) // no level is set
		require.NoError(t, err)
		_, err = server.SetLevel(t.Context(), &v20251125.SetLevelParams{Level: v20251125.LoggingLevelInfo})
		require.NoError(t, err)
		_, err = server.ListResources(t.Context(), nil)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"tools", "x:1", `info "listing"`}, heard.all())
		require.NoError(t, server.Close())
	})
}

// notes are taken on any goroutine.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, s)
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// TestDialledServerIsServedAgain: what a client of one revision sees of a server
// of another can be served to clients of all: progress, changes and logs go
// through, and calls are cancelled.
func TestDialledServerIsServedAgain(t *testing.T) {
	for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		for _, seat := range seats {
			t.Run(revision+" for "+seat.revision, func(t *testing.T) {
				t.Parallel()
				w := newWork()
				server := map[string]jsonrpc.Binder{"2024-11-05": w.oldest(), "2025-11-25": w.calling(), "2026-07-28": w.modern()}[revision]
				client := v20260728.Client{
					Info: v20260728.Implementation{Name: "client", Version: "1"}, Options: discard,
					ListRoots: func(context.Context, *v20260728.ListRootsParams) (*v20260728.ListRootsResult, error) {
						return decoded[v20260728.ListRootsResult](roots)
					},
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				middle, err := compat.Dial(ctx, served(t, server), client)
				require.NoError(t, err)
				if middle.Conn().Service().Revision() == revision { // what changes is listened for by whoever is in the middle
					_, err := middle.Listen(ctx, &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ToolsListChanged: new(true)}})
					require.NoError(t, err)
				}
				e := newEar()
				s, err := seat.connect(ctx, served(t, compat.Server(middle)), false, e)
				require.NoError(t, err)
				defer func() {
					require.NoError(t, s.close())
					require.NoError(t, middle.Close())
				}()
				var steps notes
				pctx := jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { steps.add(p.Message) }})
				_, err = s.call(pctx, "progress")
				require.NoError(t, err)
				require.Len(t, steps.all(), 3)
				r, err := s.call(ctx, "roots")
				require.NoError(t, err)
				text, _ := firstOf(r.Get("content")).Get("text").Str()
				require.Equal(t, "file:///a", text)
				if seat.revision == "2026-07-28" {
					stop, err := s.watch(ctx, watched)
					require.NoError(t, err)
					defer func() { require.NoError(t, stop()) }()
				}
				w.hub.ToolsListChanged(ctx)
				require.Equal(t, "tools changed", e.next(t))
				sctx, giveUp := context.WithCancel(ctx)
				_, err = s.call(jsonrpc.WithCallOptions(sctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { giveUp() }}), "slow")
				require.ErrorIs(t, err, context.Canceled)
				select {
				case <-w.ended:
				case <-ctx.Done():
					require.FailNow(t, "the handler is not cancelled")
				}
			})
		}
	}
}
