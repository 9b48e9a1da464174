package streamhttp_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	old "github.com/goldwire/goldwire/generated/mcp/v20241105"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// cutConn is a connection that breaks, or stalls for a while, after so many
// bytes, one way or the other.
type cutConn struct {
	net.Conn
	left  atomic.Int64
	stall time.Duration
	well  *atomic.Bool // it does not any more
	once  sync.Once
	shut  chan struct{}
}

func (c *cutConn) Close() error {
	c.once.Do(func() { close(c.shut) })
	return c.Conn.Close()
}

func (c *cutConn) spend(n int) error {
	if c.well.Load() || c.left.Add(int64(-n)) > 0 {
		return nil
	}
	if c.stall > 0 {
		select {
		case <-time.After(c.stall):
		case <-c.shut:
		}
		c.left.Store(1 << 40)
		return nil
	}
	_ = c.Close()
	return io.ErrUnexpectedEOF
}

func (c *cutConn) Write(b []byte) (int, error) {
	if n := c.left.Load(); n > 0 && n < int64(len(b)) && c.stall == 0 && !c.well.Load() { // in the middle of it
		_, _ = c.Conn.Write(b[:n])
	}
	if err := c.spend(len(b)); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *cutConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil {
		err = c.spend(n)
	}
	return n, err
}

// TestConnectionsThatBreakAnywhere: over connections that break and stall after
// any number of bytes no call gets an answer that is not its own, none hangs
// beyond its time, no call of a tool that is not marked is executed twice, and
// once the network is well again everything works. Nothing is left behind.
func TestConnectionsThatBreakAnywhere(t *testing.T) {
	for seed := range uint64(16) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			executed := map[string]int{}
			long, most := "", int64(6000)
			if seed%8 >= 6 { // answers that are streamed, with pauses
				long, most = strings.Repeat("日本語\n", 7_500), 400_000
			}
			l, m := servers(map[string]tool{"echo": func(ctx context.Context, p peer) (string, error) {
				mu.Lock()
				executed[string(p.args)]++
				mu.Unlock()
				for i := range 3 {
					time.Sleep(10 * time.Millisecond)
					_ = p.Progress(ctx, float64(i), nil, "")
				}
				if long != "" {
					parts := []string{string(p.args), long[:len(long)/2], long[len(long)/2:]}
					return "", &jsonrpc.TextStream{Reader: &pausing{parts: parts, pause: time.Duration(len(p.args)%3) * 5 * time.Second}}
				}
				return string(p.args), nil
			}})
			h := streamhttp.NewHandler(bothOf(l, m), streamhttp.HandlerOptions{Logger: slog.New(slog.DiscardHandler)})
			ln := newPipeListener()
			srv := streamhttp.NewServer(h)
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = srv.Serve(ln)
			}()
			var well atomic.Bool
			pool := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				c, err := ln.dial()
				if err != nil || well.Load() {
					return c, err
				}
				cc := &cutConn{Conn: c, well: &well, shut: make(chan struct{})}
				mu.Lock()
				cc.left.Store(rnd.Int64N(most) + 1)
				if rnd.IntN(5) == 0 {
					cc.stall = time.Duration(rnd.IntN(50)) * time.Second
				}
				mu.Unlock()
				return cc, nil
			}}
			e := &streamhttp.Endpoint{URL: "http://pipe/mcp", RoundTripper: pool, Logger: slog.New(slog.DiscardHandler)}
			quiet := jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

			call := func(ctx context.Context, args string) (string, error) { return "", nil }
			var conn *jsonrpc.Conn
			for conn == nil { // the handshake may fail as well
				if seed%2 == 0 {
					r, err := modern.Connect(t.Context(), e, modern.Client{Options: quiet})
					if err != nil {
						continue
					}
					conn = r.Conn()
					call = func(ctx context.Context, args string) (string, error) {
						res, err := r.CallTool(ctx, &modern.CallToolParams{Name: "echo", Arguments: wire.Raw(args)})
						if err != nil {
							return "", err
						}
						return res.Content[0].(*modern.TextContent).Text, nil
					}
					sub, err := jsonrpc.Listen(t.Context(), conn, &modern.SubscriptionsListenParams{Notifications: modern.SubscriptionFilter{ToolsListChanged: new(true)}}, nil)
					if err == nil {
						defer func() { <-sub.Done() }()
					}
				} else {
					r, err := legacy.Connect(t.Context(), e, legacy.Client{Options: quiet})
					if err != nil {
						continue
					}
					conn = r.Conn()
					call = func(ctx context.Context, args string) (string, error) {
						res, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "echo", Arguments: wire.Raw(args)})
						if err != nil {
							return "", err
						}
						return res.Content[0].(*legacy.TextContent).Text, nil
					}
				}
			}
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for k := range 10 {
						args := fmt.Sprintf(`{"n":%d}`, i*100+k)
						var heard atomic.Int64 // when; progress starts the call's time again
						tell := func() { heard.Store(time.Now().UnixNano()) }
						tell()
						ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { tell() }})
						got, err := call(ctx, args)
						if err == nil && got != args+long {
							t.Errorf("seed %d: %s was answered with %.50s", seed, args, got)
						}
						if took := time.Since(time.Unix(0, heard.Load())); took > 31*time.Second {
							t.Errorf("seed %d: a call took %v: %v", seed, took, err)
						}
					}
				})
			}
			wg.Wait()
			well.Store(true)
			time.Sleep(2 * time.Minute)
			if got, err := call(t.Context(), `{"well":true}`); err != nil || got != `{"well":true}`+long {
				t.Errorf("seed %d: it is not well again: %.50s %v", seed, got, err)
			}
			mu.Lock()
			for args, n := range executed {
				if n != 1 {
					t.Errorf("seed %d: %s was executed %d times", seed, args, n)
				}
			}
			mu.Unlock()
			require.NoError(t, conn.Close(t.Context()))
			synctest.Wait()
			h.Close()
			pool.CloseIdleConnections()
			_ = srv.Close()
			<-served
			time.Sleep(time.Minute) // the stalls'
		})
	}
}

// TestTwoEndpointsThatBreakAnywhere is the same for HTTP+SSE, whose session ends
// with its stream and is dialled again; some of the answers are streamed.
func TestTwoEndpointsThatBreakAnywhere(t *testing.T) {
	text := strings.Repeat("日本語 ", 3000)
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 2))
			var mu sync.Mutex
			executed := map[string]int{}
			quiet := jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}
			h := ssehttp.NewHandler(old.Server{
				Options: quiet, Info: old.Implementation{Name: "s", Version: "1"},
				ListTools: func(context.Context, *old.ListToolsParams) (*old.ListToolsResult, error) {
					return &old.ListToolsResult{}, nil
				},
				CallTool: func(_ context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
					mu.Lock()
					executed[string(p.Arguments)]++
					mu.Unlock()
					if p.Name == "text" {
						return nil, &jsonrpc.TextStream{Reader: strings.NewReader(text + string(p.Arguments))}
					}
					return &old.CallToolResult{Content: []old.ContentBlock{&old.TextContent{Text: string(p.Arguments)}}}, nil
				},
			}, ssehttp.HandlerOptions{Logger: quiet.Logger})
			ln := newPipeListener()
			srv := streamhttp.NewServer(h)
			served := make(chan struct{})
			go func() {
				defer close(served)
				_ = srv.Serve(ln)
			}()
			var well atomic.Bool
			pool := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				c, err := ln.dial()
				if err != nil || well.Load() {
					return c, err
				}
				cc := &cutConn{Conn: c, well: &well, shut: make(chan struct{})}
				mu.Lock()
				cc.left.Store(rnd.Int64N(100_000) + 1)
				if rnd.IntN(5) == 0 {
					cc.stall = time.Duration(rnd.IntN(50)) * time.Second
				}
				mu.Unlock()
				return cc, nil
			}}
			e := &streamhttp.Endpoint{URL: "http://pipe/sse", Kind: streamhttp.TwoEndpoints, RoundTripper: pool, Logger: quiet.Logger}
			for life := range 12 {
				well.Store(life == 11)
				r, err := old.Connect(t.Context(), e, old.Client{Options: quiet})
				if err != nil {
					if life == 11 {
						t.Errorf("seed %d: it is not well again: %v", seed, err)
					}
					continue
				}
				var wg sync.WaitGroup
				for i := range 4 {
					wg.Go(func() {
						for k := range 5 {
							args, name, want := fmt.Sprintf(`{"n":%d}`, life*100+i*10+k), "echo", ""
							if want = args; k%2 == 1 {
								name, want = "text", text+args
							}
							begun := time.Now()
							res, err := r.CallTool(t.Context(), &old.CallToolParams{Name: name, Arguments: wire.Raw(args)})
							switch {
							case err != nil && life == 11:
								t.Errorf("seed %d: it is not well again: %v", seed, err)
							case err == nil && res.Content[0].(*old.TextContent).Text != want:
								t.Errorf("seed %d: %s was answered with something else", seed, args)
							}
							if took := time.Since(begun); took > 31*time.Second {
								t.Errorf("seed %d: a call took %v: %v", seed, took, err)
							}
						}
					})
				}
				wg.Wait()
				if err := r.Close(); err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
			}
			for args, n := range executed {
				if n != 1 {
					t.Errorf("seed %d: %s was executed %d times", seed, args, n)
				}
			}
			if err := h.Shutdown(t.Context()); err != nil || h.Sessions() != 0 {
				t.Errorf("seed %d: %v, %d sessions are left", seed, err, h.Sessions())
			}
			pool.CloseIdleConnections()
			_ = srv.Close()
			<-served
			time.Sleep(time.Minute) // the stalls'
		})
	}
}
