package jsonrpc_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

func (p *tap) setFull(full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.full = full
}

func listenRequest(id, notifications string) string {
	return request(id, "subscriptions/listen", modern(`"notifications":`+notifications))
}

// TestListenToPeerThatDoesNotRead: an acknowledgement that waits for the peer
// holds up neither publishers nor the end of the connection, and ends with its
// request.
func TestListenToPeerThatDoesNotRead(t *testing.T) {
	for name, end := range map[string]func(p *tap) error{
		"close": func(p *tap) error { return p.conn.Close(context.Background()) },
		"drain": func(p *tap) error {
			err := p.conn.Drain(context.Background())
			if err == context.DeadlineExceeded { // the acknowledgement was waited for
				err = nil
			}
			return err
		},
		"cancel": func(p *tap) error {
			p.push(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub := new(jsonrpc.Hub)
				p := newTap(t, newServer{Hub: hub, Listen: jsonrpc.ListenOptions{ToolsListChanged: true}}, jsonrpc.ServerSide)
				p.setFull(true)
				pushed := make(chan struct{})
				go func() {
					defer close(pushed)
					p.push(listenRequest("1", `{"toolsListChanged":true}`))
				}()
				synctest.Wait()
				start := time.Now()
				for range 1000 {
					hub.ToolsListChanged(t.Context())
				}
				require.Zero(t, time.Since(start))
				require.NoError(t, end(p))
				<-pushed
				require.LessOrEqual(t, time.Since(start), 10*time.Second)
				s := p.conn.Stats()
				require.Zero(t, s.Subscriptions)
				require.Zero(t, s.Handling)
				p.setFull(false)
				hub.ToolsListChanged(t.Context())
				p.none()
			})
		})
	}
}

// TestChangesFollowTheAcknowledgement: what changes between the request and the
// acknowledgement is told after it, once.
func TestChangesFollowTheAcknowledgement(t *testing.T) {
	hub := new(jsonrpc.Hub)
	p := newTap(t, newServer{Hub: hub, Listen: jsonrpc.ListenOptions{ToolsListChanged: true}}, jsonrpc.ServerSide)
	ex := &publishingExchange{tapExchange{p: p}, hub}
	p.r.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(listenRequest("1", `{"toolsListChanged":true}`)), Owned: true})
	require.Contains(t, p.next(), "acknowledged")
	require.Contains(t, p.next(), "tools/list_changed")
	p.none()
}

// publishingExchange publishes while it takes the acknowledgement.
type publishingExchange struct {
	tapExchange
	hub *jsonrpc.Hub
}

func (e *publishingExchange) Notify(ctx context.Context, f jsonrpc.Frame) error {
	if strings.Contains(string(f.Data), "acknowledged") {
		e.hub.ToolsListChanged(ctx)
		e.hub.ToolsListChanged(ctx)
	}
	return e.tapExchange.Notify(ctx, f)
}

// TestListenEndsBeforeItBegins: a cancellation, or the end of the connection,
// that comes while the server still decides what to honour.
func TestListenEndsBeforeItBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(jsonrpc.Hub)
		free := make(chan struct{})
		s := newServer{Hub: hub, Listen: jsonrpc.ListenOptions{ResourceUpdates: true, AllowURI: func(context.Context, string) bool {
			<-free
			return true
		}}}
		p := newTap(t, s, jsonrpc.ServerSide)
		go p.push(listenRequest("1", `{"resourceSubscriptions":["x:/y"]}`))
		synctest.Wait()
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		free <- struct{}{}
		synctest.Wait()
		hub.ResourceUpdated(t.Context(), "x:/y")
		p.none()
		require.Zero(t, p.conn.Stats().Subscriptions)

		go p.push(listenRequest("2", `{"resourceSubscriptions":["x:/y"]}`))
		synctest.Wait()
		start := time.Now()
		drained := make(chan error, 1)
		go func() { drained <- p.conn.Drain(t.Context()) }()
		synctest.Wait()
		free <- struct{}{}
		require.NoError(t, <-drained)
		require.Zero(t, time.Since(start), "nothing was left to wait for")
		p.talk(`< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":"*"}`, `< {"jsonrpc":"2.0","id":2,"result":"*"}`, "-")
	})
}

// TestListenBounds: one request may not name resources without end.
func TestListenBounds(t *testing.T) {
	p := newTap(t, newServer{Listen: jsonrpc.ListenOptions{ResourceUpdates: true}}, jsonrpc.ServerSide)
	uris := func(n int) string {
		b := []byte(`{"resourceSubscriptions":["x:0"`)
		for i := 1; i < n; i++ {
			b = fmt.Appendf(b, `,"x:%d"`, i)
		}
		return string(b) + "]}"
	}
	p.talk("> "+listenRequest("1", uris(10_001)), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`)
	p.talk("> "+listenRequest("1", uris(10_000)), `< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":"*"}`, "-")
}

// TestAllowURIFails: a panic of the user's AllowURI is an internal error, and
// so is its end.
func TestAllowURIFails(t *testing.T) {
	for name, f := range map[string]func(){"panic": func() { panic("no") }, "exit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer{Listen: jsonrpc.ListenOptions{ResourceUpdates: true, AllowURI: func(context.Context, string) bool { f(); return true }}}
				s.Options.Logger = slog.New(slog.DiscardHandler)
				p := newTap(t, s, jsonrpc.ServerSide)
				go p.push(listenRequest("1", `{"resourceSubscriptions":["x:/y"]}`))
				p.talk(`< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`)
				synctest.Wait()
				require.Equal(t, 1, count(p.conn, jsonrpc.HandlerPanic))
				require.Zero(t, p.conn.Stats().Handling)
				require.Zero(t, p.conn.Stats().Subscriptions)
			})
		})
	}
}

// TestListenThatCannotBeSent: neither Listen nor Close waits longer than its
// own time for a carrier that has no room, and nothing is left behind.
func TestListenThatCannotBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTap(t, newClient{}, jsonrpc.ClientSide)
		require.NoError(t, p.conn.Ready())
		p.setFull(true)
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := jsonrpc.Listen(ctx, p.conn, &newParams{}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))

		short := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(2 * time.Second)})
		_, err = jsonrpc.Listen(short, p.conn, &newParams{}, nil)
		require.ErrorIs(t, err, jsonrpc.ErrTimeout)
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Zero(t, p.conn.Stats().Calls)

		failed := make(chan error, 1)
		go func() {
			_, err := jsonrpc.Listen(t.Context(), p.conn, &newParams{}, nil)
			failed <- err
		}()
		synctest.Wait()
		require.NoError(t, p.conn.Drain(t.Context()))
		require.Error(t, <-failed)
		require.Equal(t, 3*time.Second, time.Since(start))
		p.setFull(false)
		p.none()
	})
}

// TestListenClosedOnItsWay: a listen that the carrier takes after it was given
// up is cancelled.
func TestListenClosedOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTap(t, newClient{}, jsonrpc.ClientSide)
		require.NoError(t, p.conn.Ready())
		p.mu.Lock() // Send is held up, and takes it in the end
		failed := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, err := jsonrpc.Listen(ctx, p.conn, &newParams{}, nil)
			failed <- err
		}()
		for p.conn.Stats().Sent == 0 {
			runtime.Gosched()
		}
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		p.mu.Unlock()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":"*"}`, `< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"*"}}`, "-")
	})
}
