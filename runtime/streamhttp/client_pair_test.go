package streamhttp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

var quiet = jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

// over runs a test over HTTP/1.1 and HTTP/2, with real sockets.
func over(t *testing.T, b jsonrpc.Binder, o HandlerOptions, f func(t *testing.T, e *Endpoint)) {
	for _, h2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %v", h2), func(t *testing.T) {
			o.Logger = quiet.Logger
			h := NewHandler(b, o)
			require.NoError(t, h.Err())
			var protocols atomic.Int32
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				protocols.Store(int32(r.ProtoMajor))
				h.ServeHTTP(w, r)
			}))
			e := &Endpoint{Logger: quiet.Logger}
			if h2 {
				srv.EnableHTTP2 = true
				srv.StartTLS()
				e.RoundTripper = srv.Client().Transport
			} else {
				srv.Start()
			}
			e.URL = srv.URL
			defer func() {
				h.Close()
				srv.CloseClientConnections()
				srv.Close()
			}()
			f(t, e)
			require.Equal(t, map[bool]int32{false: 1, true: 2}[h2], protocols.Load())
		})
	}
}

func steps(ctx context.Context, f func(jsonrpc.Progress)) context.Context {
	return jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: f})
}

// TestPair joins the client with the handler, in each revision.
func TestPair(t *testing.T) {
	schema := wire.Raw(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)
	cancelled := make(chan string, 4)
	run := func(ctx context.Context, name string) (string, error) {
		switch name {
		case "steps":
			for i := range 3 {
				if err := jsonrpc.PeerOf(ctx).Progress(ctx, float64(i+1), nil, ""); err != nil {
					return "", err
				}
			}
		case "wait":
			<-ctx.Done()
			cancelled <- name
			return "", ctx.Err()
		}
		return name, nil
	}
	t.Run("2026-07-28", func(t *testing.T) {
		s := modern.Server{
			Info: modern.Implementation{Name: "s", Version: "1"}, ToolsListChanged: true, Options: quiet,
			ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
				return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "region", InputSchema: schema}}}, nil
			},
			CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
				text, err := run(ctx, p.Name)
				return &modern.CallToolResult{Content: []modern.ContentBlock{&modern.TextContent{Text: text}}}, err
			},
		}
		over(t, s, HandlerOptions{}, func(t *testing.T, e *Endpoint) {
			r, err := modern.Connect(t.Context(), e, modern.Client{Options: quiet})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			// The server wants a header that the client does not know of yet.
			_, err = r.CallTool(t.Context(), &modern.CallToolParams{Name: "region", Arguments: wire.Raw(`{"region":"Zürich"}`)})
			require.NoError(t, err)
			require.EqualValues(t, 1, link(r.Conn()).Status().Counts[ToolsRefreshed])
			seen := 0
			_, err = r.CallTool(steps(t.Context(), func(jsonrpc.Progress) { seen++ }), &modern.CallToolParams{Name: "steps"})
			require.NoError(t, err)
			require.Equal(t, 3, seen)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = r.CallTool(ctx, &modern.CallToolParams{Name: "wait"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, "wait", <-cancelled)
			yes := true
			sub, err := r.Listen(t.Context(), &modern.SubscriptionsListenParams{Notifications: modern.SubscriptionFilter{ToolsListChanged: &yes}})
			require.NoError(t, err)
			sub.Close()
			<-sub.Done()
		})
	})
	t.Run("2025-11-25", func(t *testing.T) {
		s := legacy.Server{
			Info: legacy.Implementation{Name: "s", Version: "1"}, ToolsListChanged: true, Options: quiet,
			ListTools: func(context.Context, *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
				return &legacy.ListToolsResult{}, nil
			},
			CallTool: func(ctx context.Context, p *legacy.CallToolParams) (*legacy.CallToolResult, error) {
				text, err := run(ctx, p.Name)
				switch p.Name {
				case "ask":
					var r *legacy.ElicitResult
					if r, err = legacy.Peer(ctx).Elicit(ctx, &legacy.ElicitFormParams{Message: "?", RequestedSchema: legacy.ElicitSchema{Properties: map[string]legacy.PrimitiveSchemaDefinition{}}}); err == nil {
						text = string(r.Action)
					}
				case "changed":
					err = jsonrpc.PeerOf(ctx).ToolsListChanged(ctx)
				case "cut":
					CloseStream(ctx, 20*time.Millisecond)
				}
				return &legacy.CallToolResult{Content: []legacy.ContentBlock{&legacy.TextContent{Text: text}}}, err
			},
		}
		over(t, s, HandlerOptions{Polling: true, RetryTime: 20 * time.Millisecond}, func(t *testing.T, e *Endpoint) {
			changed := make(chan struct{}, 1)
			r, err := legacy.Connect(t.Context(), e, legacy.Client{
				Options: quiet, ElicitationForm: true, Elicit: func(context.Context, legacy.ElicitParams) (*legacy.ElicitResult, error) {
					return &legacy.ElicitResult{Action: "decline"}, nil
				},
				ToolListChanged: func(context.Context, *legacy.ToolListChangedParams) error { changed <- struct{}{}; return nil },
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			require.Eventually(t, func() bool { return link(r.Conn()).Status().Stream == StreamOpen }, 5*time.Second, time.Millisecond)
			text := func(name string) string {
				res, err := r.CallTool(t.Context(), &legacy.CallToolParams{Name: name})
				require.NoError(t, err)
				return res.Content[0].(*legacy.TextContent).Text
			}
			require.Equal(t, "decline", text("ask"))
			require.Equal(t, "changed", text("changed"))
			<-changed
			require.Equal(t, "cut", text("cut"), "the stream is closed and taken up again")
			require.EqualValues(t, 1, link(r.Conn()).Status().Counts[CallResumed])
			seen := 0
			_, err = r.CallTool(steps(t.Context(), func(jsonrpc.Progress) { seen++ }), &legacy.CallToolParams{Name: "steps"})
			require.NoError(t, err)
			require.Equal(t, 3, seen)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err = r.CallTool(ctx, &legacy.CallToolParams{Name: "wait"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, "wait", <-cancelled)
		})
	})
	t.Run("2025-06-18", func(t *testing.T) {
		over(t, v20250618.Server{Info: v20250618.Implementation{Name: "s", Version: "1"}, Options: quiet}, HandlerOptions{}, func(t *testing.T, e *Endpoint) {
			r, err := v20250618.Connect(t.Context(), e, v20250618.Client{Options: quiet})
			require.NoError(t, err)
			require.NoError(t, r.Conn().Ping(t.Context()))
			require.NoError(t, r.Close())
		})
	})
	t.Run("2025-03-26", func(t *testing.T) {
		over(t, v20250326.Server{Info: v20250326.Implementation{Name: "s", Version: "1"}, Options: quiet}, HandlerOptions{}, func(t *testing.T, e *Endpoint) {
			r, err := v20250326.Connect(t.Context(), e, v20250326.Client{Options: quiet})
			require.NoError(t, err)
			require.NoError(t, r.Conn().Ping(t.Context()))
			require.NoError(t, r.Close())
		})
	})
}

// TestPairOfARestartedServer lets the server forget all sessions.
func TestPairOfARestartedServer(t *testing.T) {
	s := legacy.Server{Info: legacy.Implementation{Name: "s", Version: "1"}, Options: quiet}
	var now atomic.Pointer[Handler]
	now.Store(NewHandler(s, HandlerOptions{Logger: quiet.Logger}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	defer func() {
		now.Load().Close()
		srv.CloseClientConnections()
		srv.Close()
	}()
	r, err := legacy.Connect(t.Context(), &Endpoint{URL: srv.URL, Logger: quiet.Logger}, legacy.Client{Options: quiet})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, r.Conn().Ping(t.Context()))
		now.Swap(NewHandler(s, HandlerOptions{Logger: quiet.Logger})).Close()
		require.NoError(t, r.Conn().Ping(t.Context()))
	}
	require.NoError(t, r.Close())
	require.EqualValues(t, 3, link(r.Conn()).Status().Counts[SessionLost])
	require.Zero(t, now.Load().Stats().Sessions, "DELETE ends it")
}

// TestPairKeepsNoCursorBeyondItsSession lets the server forget the session
// between two pages of a list.
func TestPairKeepsNoCursorBeyondItsSession(t *testing.T) {
	var asked []string
	s := legacy.Server{Info: legacy.Implementation{Name: "s", Version: "1"}, Options: quiet, ListTools: func(_ context.Context, p *legacy.ListToolsParams) (*legacy.ListToolsResult, error) {
		if p.Cursor != nil {
			asked = append(asked, *p.Cursor)
		}
		return &legacy.ListToolsResult{Tools: []legacy.Tool{}, NextCursor: new("next")}, nil
	}, CallTool: func(context.Context, *legacy.CallToolParams) (*legacy.CallToolResult, error) { return nil, nil }}
	var now atomic.Pointer[Handler]
	now.Store(NewHandler(s, HandlerOptions{Logger: quiet.Logger}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { now.Load().ServeHTTP(w, r) }))
	defer func() {
		now.Load().Close()
		srv.CloseClientConnections()
		srv.Close()
	}()
	r, err := legacy.Connect(t.Context(), &Endpoint{URL: srv.URL, Logger: quiet.Logger}, legacy.Client{Options: quiet})
	require.NoError(t, err)
	page, err := r.ListTools(t.Context(), nil)
	require.NoError(t, err)
	now.Swap(NewHandler(s, HandlerOptions{Logger: quiet.Logger})).Close()
	_, err = r.ListTools(t.Context(), &legacy.ListToolsParams{Cursor: page.NextCursor})
	require.ErrorIs(t, err, ErrStaleCursor)
	require.Empty(t, asked)
	_, err = r.ListTools(t.Context(), nil)
	require.NoError(t, err, "the new session works")
	require.NoError(t, r.Close())
}

// TestPairOfALargeResult carries 16 MiB, by either form, with default limits.
func TestPairOfALargeResult(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<20)
	s := modern.Server{Info: modern.Implementation{Name: "s", Version: "1"}, Options: quiet, ListTools: func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "json", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
	}, CallTool: func(ctx context.Context, p *modern.CallToolParams) (*modern.CallToolResult, error) {
		if p.Name == "stream" {
			_ = jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "")
		}
		return &modern.CallToolResult{Content: []modern.ContentBlock{&modern.TextContent{Text: text}}}, nil
	}}
	over(t, s, HandlerOptions{}, func(t *testing.T, e *Endpoint) {
		r, err := modern.Connect(t.Context(), e, modern.Client{Options: quiet})
		require.NoError(t, err)
		for _, form := range []string{"json", "stream"} {
			res, err := r.CallTool(steps(t.Context(), func(jsonrpc.Progress) {}), &modern.CallToolParams{Name: form})
			require.NoError(t, err)
			require.Equal(t, len(text), len(res.Content[0].(*modern.TextContent).Text))
		}
		require.NoError(t, r.Close())
	})
}
