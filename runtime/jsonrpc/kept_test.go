package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// heap is the memory in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHandshakeIsBounded: a session keeps the params of its initialize, so
// there is a bound for them; whoever is refused may try again.
func TestHandshakeIsBounded(t *testing.T) {
	say := func(pad int) string {
		return strings.Replace(sayInit, `"clientInfo"`, `"_meta":{"pad":"`+strings.Repeat("x", pad)+`"},"clientInfo"`, 1)
	}
	p := newTap(t, oldServer{}, jsonrpc.ServerSide)
	refused := `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`
	p.talk(say(64<<10), refused)
	require.Equal(t, jsonrpc.Connecting, p.conn.State())
	require.Zero(t, p.conn.Session())
	p.talk(`> {"jsonrpc":"2.0","id":1,"method":"initialize"}`, refused)
	require.Equal(t, jsonrpc.Connecting, p.conn.State(), "so after any refusal")
	p.talk(say(60<<10), getInit)

	// What is around the params does not last.
	p = newTap(t, oldServer{}, jsonrpc.ServerSide)
	before := heap()
	p.talk(strings.Replace(sayInit, `"id":1`, `"other":"`+strings.Repeat("x", 16<<20)+`","id":1`, 1), getInit)
	require.Less(t, heap()-before, int64(4<<20))
	require.Equal(t, `{"name":"t","version":"1"}`, string(p.conn.Session().Info))
}

// TestSubscriptionsAreBounded: a connection keeps the resources that its peer
// subscribed to, up to a number and a size, and nothing of their messages.
func TestSubscriptionsAreBounded(t *testing.T) {
	begun := 0
	s := oldServer{Subscribe: func(context.Context, *oldParams) (*empty, error) { begun++; return &empty{}, nil }}
	subscribe := func(uri, more string) string {
		return `> {"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + uri + `"` + more + `}}`
	}
	taken, refused := `< {"jsonrpc":"2.0","id":2,"result":{}}`, `< {"jsonrpc":"2.0","id":2,"error":{"code":-31001,"message":"too many subscriptions","data":"*"}}`

	t.Run("number", func(t *testing.T) {
		begun = 0
		p := oldTap(t, s)
		for i := range 10_000 {
			p.talk(subscribe(fmt.Sprintf("x:%d", i), ""), taken)
		}
		p.talk(subscribe("x:more", ""), refused)
		require.Equal(t, 10_000, begun, "what is not kept is not begun")
		p.talk(subscribe("x:7", ""), taken)
		require.True(t, p.conn.Subscribed("x:7"))
		require.False(t, p.conn.Subscribed("x:more"))
	})
	t.Run("size", func(t *testing.T) {
		p := oldTap(t, s)
		long := strings.Repeat("y", 1<<20-10)
		p.talk(subscribe("x:"+long, ""), taken, subscribe("x:"+long, ""), taken, subscribe("x:123456", ""), taken, subscribe("x:1", ""), refused)
	})
	t.Run("aliases", func(t *testing.T) {
		p := oldTap(t, s)
		before, pad := heap(), strings.Repeat("x", 1<<20)
		for i := range 16 {
			p.talk(subscribe(fmt.Sprintf("x:%d", i), `,"_meta":{"pad":"`+pad+`"}`), taken)
		}
		require.Less(t, heap()-before, int64(4<<20))
		runtime.KeepAlive(p)
	})
	t.Run("by the handler", func(t *testing.T) { // as many as it likes, so the bound is met while it runs
		s := s
		var err error
		s.Subscribe = func(ctx context.Context, p *oldParams) (*empty, error) {
			for i := range 10_001 {
				if err = jsonrpc.PeerOf(ctx).Subscribe(fmt.Sprintf("z:%d", i)); err != nil {
					break
				}
			}
			return &empty{}, nil
		}
		oldTap(t, s).talk(subscribe("x:1", ""), refused)
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok)
		require.Equal(t, jsonrpc.CodeOverloaded, e.Code)
	})
}

// TestListensKeepWhatTheyNeed: the message of a subscriptions/listen does not
// last as long as the subscription, and there is a bound for its URIs.
func TestListensKeepWhatTheyNeed(t *testing.T) {
	p := newTap(t, newServer{Listen: jsonrpc.ListenOptions{ResourceUpdates: true}}, jsonrpc.ServerSide)
	p.talk("> "+listenRequest("1", `{"resourceSubscriptions":["x:`+strings.Repeat("y", 1<<20)+`"]}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`)
	before, pad := heap(), strings.Repeat("x", 1<<20)
	for i := range 16 {
		p.talk("> "+listenRequest(fmt.Sprint(i), `{"resourceSubscriptions":["x:/y"],"pad":"`+pad+`"}`), `< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":"*"}`)
	}
	require.Less(t, heap()-before, int64(4<<20))
	require.Equal(t, 16, p.conn.Stats().Subscriptions)
}

// TestReasonsAreBounded: the reason of a cancellation lasts as long as the
// handler that it ends.
func TestReasonsAreBounded(t *testing.T) {
	got := make(chan error, 1)
	p := oldTap(t, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
		<-ctx.Done()
		got <- jsonrpc.PeerOf(ctx).Cause()
		return nil, ctx.Err()
	}})
	go p.push(request("3", "tools/call", `{"name":"x"}`))
	require.Eventually(t, func() bool { return p.conn.Stats().Handling == 1 }, 10*time.Second, time.Millisecond)
	p.push(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"` + strings.Repeat("r", 1<<20) + `"}}`)
	e, ok := errors.AsType[*jsonrpc.CanceledError](<-got)
	require.True(t, ok)
	require.Less(t, len(e.Reason), 2<<10)
	require.True(t, strings.HasPrefix(e.Reason, "rrr"))
}
