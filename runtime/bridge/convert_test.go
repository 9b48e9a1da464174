//lint:file-ignore SA1019 what is deprecated passes all the same

package bridge

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// serving is a dialer of a server in this process; each dial is served apart.
type serving struct {
	b     jsonrpc.Binder
	mu    sync.Mutex
	dials int
	wg    sync.WaitGroup
}

func (s *serving) Dial(ctx context.Context) (jsonrpc.Link, error) {
	client, server := jsonl.InMemory()
	s.mu.Lock()
	s.dials++
	s.mu.Unlock()
	s.wg.Go(func() { _ = jsonrpc.Serve(context.Background(), server, s.b) })
	return client.Dial(ctx)
}

// between is a client's streams to a bridge of a server.
func between(t *testing.T, b jsonrpc.Binder, o Options) (*jsonl.Streams, *Bridge) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quietLog()
	}
	s := &serving{b: b}
	bridge := New(s, o)
	client, server := jsonl.InMemory()
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), server, bridge) }()
	t.Cleanup(func() {
		<-served
		require.NoError(t, bridge.Close(context.Background()))
		s.wg.Wait()
	})
	return client, bridge
}

var schema = wire.Raw(`{"type":"object"}`)

// oldServer is a server of the oldest revision, whose tool asks the client's
// model.
func oldServer() v20241105.Server {
	return v20241105.Server{
		Info:     v20241105.Implementation{Name: "old", Version: "1"},
		SetLevel: func(context.Context, *v20241105.SetLevelParams) (*v20241105.EmptyResult, error) { return nil, nil },
		ListTools: func(context.Context, *v20241105.ListToolsParams) (*v20241105.ListToolsResult, error) {
			return &v20241105.ListToolsResult{Tools: []v20241105.Tool{{Name: "ask", InputSchema: schema}}}, nil
		},
		CallTool: func(ctx context.Context, p *v20241105.CallToolParams) (*v20241105.CallToolResult, error) {
			peer := v20241105.Peer(ctx)
			_ = peer.Progress(ctx, 1, nil, "")
			if p.Name == "wait" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			res, err := peer.CreateMessage(ctx, &v20241105.CreateMessageParams{MaxTokens: 1, Messages: []v20241105.SamplingMessage{}})
			if err != nil {
				return nil, err
			}
			text := res.Content.(*v20241105.TextContent).Text
			return &v20241105.CallToolResult{Content: []v20241105.ContentBlock{&v20241105.TextContent{Text: "the model says " + text}}}, nil
		},
	}
}

// newServer is a server of the newest revision, whose tool asks for the roots of
// the client.
func newServer() v20260728.Server {
	return v20260728.Server{
		Info: v20260728.Implementation{Name: "new", Version: "2"},
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{Tools: []v20260728.Tool{{Name: "ask", InputSchema: schema, Icons: []v20260728.Icon{{Src: "https://x/i.png"}}}}}, nil
		},
		CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			answer, ok := p.InputResponses["r"]
			if !ok {
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"r": &v20260728.ListRootsRequest{}}, nil)
			}
			_ = v20260728.Peer(ctx).Progress(ctx, 1, nil, "")
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "roots: " + string(answer.Raw)}}}, nil
		},
	}
}

// TestOldServerServesNewerClients holds that a server of the oldest revision that
// asks its client's model in the middle of a call serves clients of every
// revision, with progress, cancellation and what the bridge logs as lost.
func TestOldServerServesNewerClients(t *testing.T) {
	t.Run(v20251125.Revision, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, b := between(t, oldServer(), Options{})
			server, err := v20251125.Connect(t.Context(), d, v20251125.Client{Info: v20251125.Implementation{Name: "c", Version: "1"},
				CreateMessage: func(context.Context, *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
					return &v20251125.CreateMessageResult{Model: "m", Role: "assistant", Content: v20251125.SamplingContent{Items: []v20251125.SamplingMessageContentBlock{&v20251125.TextContent{Text: "yes"}}}}, nil
				}})
			require.NoError(t, err)
			defer func() { require.NoError(t, server.Close()) }()
			require.Equal(t, "old", server.Info.Name)
			progress := 0
			ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { progress++ }})
			res, err := server.CallTool(ctx, &v20251125.CallToolParams{Name: "ask"})
			require.NoError(t, err)
			require.Equal(t, "the model says yes", res.Content[0].(*v20251125.TextContent).Text)
			require.Equal(t, 1, progress)
			require.Equal(t, Stats{Sessions: 1}, b.Stats())

			ctx, cancel := context.WithCancel(t.Context())
			ctx = jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { cancel() }})
			_, err = server.CallTool(ctx, &v20251125.CallToolParams{Name: "wait"})
			require.ErrorIs(t, err, context.Canceled)
			require.NoError(t, server.Conn().Ping(t.Context()))
		})
	})
	t.Run(v20260728.Revision, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, b := between(t, oldServer(), Options{})
			server, err := v20260728.Connect(t.Context(), d, v20260728.Client{Info: v20260728.Implementation{Name: "c", Version: "1"},
				CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
					return &v20260728.CreateMessageResult{Model: "m", Role: "assistant", Content: v20260728.SamplingContent{Items: []v20260728.SamplingMessageContentBlock{&v20260728.TextContent{Text: "yes"}}}}, nil
				}})
			require.NoError(t, err)
			defer func() { require.NoError(t, server.Close()) }()
			progress := 0
			ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { progress++ }})
			res, err := server.CallTool(ctx, &v20260728.CallToolParams{Name: "ask"})
			require.NoError(t, err)
			require.Equal(t, "the model says yes", res.Content[0].(*v20260728.TextContent).Text)
			require.Equal(t, 1, progress)
			require.Equal(t, Stats{Shared: 1}, b.Stats())
		})
	})
}

// TestStatelessClientHearsOfItsCall holds that progress and log messages of a
// server with sessions reach the client whose call it works at, also when that has
// come back with what it was asked for, and log messages only those who want them.
func TestStatelessClientHearsOfItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := oldServer()
		ask := old.CallTool
		old.CallTool = func(ctx context.Context, p *v20241105.CallToolParams) (*v20241105.CallToolResult, error) {
			r, err := ask(ctx, p)
			peer := v20241105.Peer(ctx)
			_ = peer.Progress(ctx, 2, nil, "")
			for _, level := range []v20241105.LoggingLevel{"debug", "info", "error"} {
				_ = peer.Log(ctx, level, "about "+string(level))
			}
			return r, err
		}
		d, _ := between(t, old, Options{})
		var logs []string
		server, err := v20260728.Connect(t.Context(), d, v20260728.Client{Info: v20260728.Implementation{Name: "c", Version: "1"},
			LoggingMessage: func(_ context.Context, p *v20260728.LoggingMessageParams) error {
				logs = append(logs, string(p.Data))
				return nil
			},
			CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
				return &v20260728.CreateMessageResult{Model: "m", Role: "assistant", Content: v20260728.SamplingContent{Items: []v20260728.SamplingMessageContentBlock{&v20260728.TextContent{Text: "yes"}}}}, nil
			}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		for level, want := range map[v20260728.LoggingLevel][]string{"info": {`"about info"`, `"about error"`}, "": nil} {
			logs = nil
			var progress []float64
			ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { progress = append(progress, p.Progress) }})
			p := &v20260728.CallToolParams{Name: "ask"}
			if level != "" {
				p.Meta.LogLevel = &level
			}
			_, err = server.CallTool(ctx, p)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []float64{1, 2}, progress)
			require.Equal(t, want, logs, "level %q", level)
		}
	})
}

// TestConvertedSubscriptionEnds holds the same of a server that has no
// subscriptions: the end that a drain gives one names the server.
func TestConvertedSubscriptionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &serving{b: oldServer()}
		b := New(d, Options{Logger: quietLog()})
		streams, client := lines(t)
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(ctx, streams, b) }()
		client.send(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{` + meta + `,"notifications":{}}}`)
		require.Contains(t, client.recv(), "notifications/subscriptions/acknowledged")
		stop()
		require.Equal(t, `"old"`, string(wire.Raw(client.recv()).Get("result").Get("_meta").Get(metaServerInfo).Get("name")))
		client.over()
		require.ErrorIs(t, <-served, context.Canceled)
		require.NoError(t, b.Close(context.Background()))
		d.wg.Wait()
	})
}

// TestNewServerServesOlderClients holds the reverse: what a server without
// sessions asks for in a result is asked of the client in the middle of its call.
func TestNewServerServesOlderClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		d, b := between(t, newServer(), Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		server, err := v20241105.Connect(t.Context(), d, v20241105.Client{Info: v20241105.Implementation{Name: "c", Version: "1"},
			ListRoots: func(context.Context, *v20241105.ListRootsParams) (*v20241105.ListRootsResult, error) {
				return &v20241105.ListRootsResult{Roots: []v20241105.Root{{URI: "file:///r"}}}, nil
			}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		for range 2 {
			res, err := server.CallTool(t.Context(), &v20241105.CallToolParams{Name: "ask"})
			require.NoError(t, err)
			require.Equal(t, `roots: {"roots":[{"uri":"file:///r"}]}`, res.Content[0].(*v20241105.TextContent).Text)
			_, err = server.ListTools(t.Context(), nil)
			require.NoError(t, err)
		}
		require.Equal(t, Stats{Sessions: 1}, b.Stats())
		require.Equal(t, 1, strings.Count(log.String(), "result.tools[].icons"), "a loss is logged once: %s", log.String())
		require.Equal(t, 1, strings.Count(log.String(), "lost in conversion"), "%s", log.String())
	})
}

// TestOlderClientHearsOfANewServer holds that a session hears of changes that a
// server without sessions tells only those who ask, and that a method which that
// server does not know is not found, though it is told nothing of who asks.
func TestOlderClientHearsOfANewServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newer := newServer()
		newer.ToolsListChanged, newer.Hub = true, new(jsonrpc.Hub)
		d, _ := between(t, newer, Options{})
		heard := make(chan struct{}, 1)
		server, err := v20241105.Connect(t.Context(), d, v20241105.Client{Info: v20241105.Implementation{Name: "c", Version: "1"},
			ToolListChanged: func(context.Context, *v20241105.ToolListChangedParams) error {
				heard <- struct{}{}
				return nil
			}})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		require.True(t, server.ToolsListChanged)
		synctest.Wait() // until the session is told of
		newer.Hub.ToolsListChanged(t.Context())
		<-heard
		for _, params := range []wire.Raw{nil, wire.Raw(`{"a":1}`)} {
			_, err = jsonrpc.CallRaw(t.Context(), server.Conn(), "x/y", params)
			require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""))
		}
	})
}

// TestWhoIsAskedIsToldApart holds that what a server asks in the middle of a call
// is not asked of another client that happens to have a call with it.
func TestWhoIsAskedIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both, told := make(chan struct{}, 2), make(chan struct{})
		old := oldServer()
		call := old.CallTool
		old.CallTool = func(ctx context.Context, p *v20241105.CallToolParams) (*v20241105.CallToolResult, error) {
			both <- struct{}{}
			<-told
			return call(ctx, p)
		}
		s := &serving{b: old}
		b := New(s, Options{Logger: quietLog()})
		defer func() {
			require.NoError(t, b.Close(context.Background()))
			s.wg.Wait()
		}()
		results := make(chan error, 2)
		for range 2 {
			client, server := jsonl.InMemory()
			go func() { _ = jsonrpc.Serve(context.Background(), server, b) }()
			r, err := v20260728.Connect(t.Context(), client, v20260728.Client{
				CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
					panic("nobody is to be asked")
				}})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			go func() {
				_, err := r.CallTool(t.Context(), &v20260728.CallToolParams{Name: "ask"})
				results <- err
			}()
		}
		<-both
		<-both
		close(told)
		require.Error(t, <-results)
		require.Error(t, <-results)
	})
}

// TestEveryRevisionThroughTheBridge holds that a client of any revision reaches a
// server of any, in its own words, and that the bridge knows from the second
// session on what the server speaks.
func TestEveryRevisionThroughTheBridge(t *testing.T) {
	for name, b := range map[string]jsonrpc.Binder{v20241105.Revision: oldServer(), v20260728.Revision: newServer()} {
		for _, rev := range revision.Stateful() {
			t.Run(rev+" to "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &serving{b: b}
					bridge := New(s, Options{Logger: quietLog()})
					for k := range 2 {
						streams, client := lines(t)
						served := make(chan error, 1)
						go func() { served <- jsonrpc.Serve(context.Background(), streams, bridge) }()
						client.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + rev + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
						got := client.recv()
						require.Contains(t, got, `"protocolVersion":"`+rev+`"`)
						require.Contains(t, got, `"id":"i"`)
						client.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
						client.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
						require.Contains(t, client.recv(), `"name":"ask"`)
						want := k + 1 // servers
						if rev != name {
							want++ // the first one was asked in vain
						}
						require.Equal(t, want, s.dials)
						require.NoError(t, client.w.Close())
						client.over()
						require.NoError(t, <-served)
					}
					synctest.Wait()
					require.Equal(t, Stats{}, bridge.Stats())
					require.NoError(t, bridge.Close(context.Background()))
					s.wg.Wait()
				})
			})
		}
	}
}

// TestSlowServerIsNotConverted holds that messages pass as they are where both
// sides speak the revision without sessions, though the server took longer to
// start than it is waited for an answer.
func TestSlowServerIsNotConverted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, client, s := bridged(t, Options{})
		const ask = `{"jsonrpc":"2.0","id":"q","method":"tools/list","params":{` + meta + `}}`
		client.send(ask)
		first := <-s.next // which says nothing in time
		require.Contains(t, first.recv(), `"server/discover"`)
		leave := func(e *wireEnd) {
			_, _ = io.Copy(io.Discard, e.r)
			_ = e.w.Close()
		}
		go leave(first)
		second := <-s.next
		require.Contains(t, second.recv(), `"server/discover"`)
		second.send(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`)
		go leave(second)
		third := <-s.next
		require.Equal(t, strings.Replace(ask, `"q"`, "1", 1), third.recv())
		expect(t, third, client, `{"jsonrpc":"2.0","id":1,"result":{"tools":[],"x":1.0}}`, `{"jsonrpc":"2.0","id":"q","result":{"tools":[],"x":1.0}}`)
		require.Equal(t, Stats{Shared: 1}, b.Stats())
	})
}

// TestFailureOfAServerIsForgotten holds that a server which only failed when it
// was asked for a revision is asked for it again by the next session.
func TestFailureOfAServerIsForgotten(t *testing.T) {
	for code, forgotten := range map[string]bool{"-32603": true, "-31001": true, "-32602": false, "-32601": false, "-32000": false} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, client, s := bridged(t, Options{})
				const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
				client.send(initialize)
				first := <-s.next
				require.Contains(t, first.recv(), `"protocolVersion":"2025-06-18"`)
				first.send(`{"jsonrpc":"2.0","id":1,"error":{"code":` + code + `,"message":"no"}}`)
				first.over()
				second := <-s.next // behind a conversion
				require.Contains(t, second.recv(), `"server/discover"`)
				second.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
				require.Contains(t, second.recv(), `"protocolVersion":"2025-11-25"`)
				second.send(`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`)
				require.Contains(t, second.recv(), `"notifications/initialized"`)
				require.Contains(t, client.recv(), `"protocolVersion":"2025-06-18"`)
				require.Equal(t, !forgotten, b.converting("2025-06-18"))
			})
		})
	}
}

// TestServerOfAnUnknownRevision holds that a server whose revision nothing can be
// converted to or from is passed on: the client decides what to make of it.
func TestServerOfAnUnknownRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, client, s := bridged(t, Options{})
		client.send(initialize)
		for k := range 3 { // as it is, for a conversion, and as it is once more
			server := <-s.next
			if k == 1 {
				require.Contains(t, server.recv(), `"server/discover"`)
				server.send(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}`)
				require.Contains(t, server.recv(), `"initialize"`)
				server.send(`{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}`)
				continue
			}
			require.Contains(t, server.recv(), `"initialize"`)
			server.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}`)
			if k == 0 {
				server.over()
				continue
			}
			require.Contains(t, client.recv(), `"protocolVersion":"1999-01-01"`)
			require.Equal(t, Stats{Sessions: 1}, b.Stats())
			expect(t, client, server, `{"jsonrpc":"2.0","id":5,"method":"x"}`, `{"jsonrpc":"2.0","id":2,"method":"x"}`)
			expect(t, server, client, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":5,"result":{}}`)
		}
	})
}

// TestWhatWasGivenUpIsNotAskedOfAnother holds that what a server asks for a call
// that its client gave up is not asked of the next client, and that clients are
// asked again some time later; the client itself may be asked at once.
func TestWhatWasGivenUpIsNotAskedOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := make(chan struct{}, 1)
		old := oldServer()
		call := old.CallTool
		old.CallTool = func(ctx context.Context, p *v20241105.CallToolParams) (*v20241105.CallToolResult, error) {
			if p.Name == "wait" {
				started <- struct{}{}
			}
			return call(ctx, p)
		}
		s := &serving{b: old}
		b := New(s, Options{Logger: quietLog()})
		defer func() {
			require.NoError(t, b.Close(context.Background()))
			s.wg.Wait()
		}()
		var asked [2]int
		var clients [2]*v20260728.RemoteServer
		for i := range clients {
			client, server := jsonl.InMemory()
			go func() { _ = jsonrpc.Serve(context.Background(), server, b) }()
			r, err := v20260728.Connect(t.Context(), client, v20260728.Client{
				CreateMessage: func(context.Context, *v20260728.CreateMessageParams) (*v20260728.CreateMessageResult, error) {
					asked[i]++
					return &v20260728.CreateMessageResult{Model: "m", Role: "assistant", Content: v20260728.SamplingContent{Items: []v20260728.SamplingMessageContentBlock{&v20260728.TextContent{Text: "yes"}}}}, nil
				}})
			require.NoError(t, err)
			defer func() { require.NoError(t, r.Close()) }()
			clients[i] = r
		}
		ask := func(i int) error {
			_, err := clients[i].CallTool(t.Context(), &v20260728.CallToolParams{Name: "ask"})
			return err
		}
		giveUp := func(i int) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := clients[i].CallTool(ctx, &v20260728.CallToolParams{Name: "wait"})
				ended <- err
			}()
			<-started
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			synctest.Wait()
		}
		require.NoError(t, ask(1))
		giveUp(0)
		require.Error(t, ask(1))
		require.NoError(t, ask(0))
		giveUp(1) // which does not make the other's forgotten
		giveUp(1)
		require.Error(t, ask(0))
		require.Error(t, ask(1))
		require.Equal(t, [2]int{1, 1}, asked)
		time.Sleep(afterthoughts)
		require.NoError(t, ask(0))
		require.NoError(t, ask(1))
	})
}
