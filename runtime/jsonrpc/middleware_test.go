package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

var quiet = slog.New(slog.DiscardHandler)

// oldPair is a client of a server in memory.
func oldPair(t *testing.T, s oldServer, c oldClient) (*oldRemote, func()) {
	t.Helper()
	cl, sv := jsonl.InMemory()
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), sv, s) }()
	r, err := connectOld(t.Context(), cl, c)
	require.NoError(t, err)
	return r, func() {
		require.NoError(t, r.conn.Close(context.Background()))
		require.NoError(t, <-served)
	}
}

// TestMiddlewareWraps: the first is outermost, each sees what came of it, may
// change the context, or refuse.
func TestMiddlewareWraps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var trail []string
		step := func(name string) jsonrpc.Middleware {
			return func(ctx context.Context, op jsonrpc.Op, next func(context.Context) error) error {
				if op.Method == "initialize" {
					return next(ctx)
				}
				trail = append(trail, fmt.Sprint(name, " ", op.Method, " ", op.Outgoing))
				err := next(context.WithValue(ctx, key{}, fmt.Sprint(ctx.Value(key{}), name)))
				trail = append(trail, fmt.Sprint(name, " ", err))
				return err
			}
		}
		s := oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			trail = append(trail, "handler")
			if p.Name == "fail" {
				return nil, jsonrpc.NewError(-7, "no")
			}
			require.Equal(t, "tools/call", jsonrpc.PeerOf(ctx).Method(), "the peer is found behind it")
			return &result{Text: fmt.Sprint(ctx.Value(key{}))}, nil
		}}
		s.Options.Incoming = []jsonrpc.Middleware{step("a"), nil, step("b")}
		var c oldClient
		c.Options.Outgoing = []jsonrpc.Middleware{step("x")}
		r, stop := oldPair(t, s, c)
		defer stop()
		res, err := r.CallTool(t.Context(), &callToolParams{Name: "ok"})
		require.NoError(t, err)
		require.Equal(t, "<nil>ab", res.Text)
		require.Equal(t, []string{"x tools/call true", "a tools/call false", "b tools/call false", "handler", "b <nil>", "a <nil>", "x <nil>"}, trail)
		trail = nil
		_, err = r.CallTool(t.Context(), &callToolParams{Name: "fail"})
		require.ErrorIs(t, err, jsonrpc.NewError(-7, ""))
		require.Equal(t, []string{"x tools/call true", "a tools/call false", "b tools/call false", "handler", "b no (-7)", "a no (-7)", "x peer answered: no (-7)"}, trail)
		trail = nil
		_, err = jsonrpc.CallRaw(t.Context(), r.conn, "tools/call", wire.Raw(`{"name":"ok"}`))
		require.NoError(t, err)
		require.Len(t, trail, 7)
		trail = nil
		require.NoError(t, r.conn.Ping(t.Context()))
		require.Empty(t, trail)
	})
}

// TestMiddlewareThatMisbehaves is an error to the peer, never a hang.
func TestMiddlewareThatMisbehaves(t *testing.T) {
	for name, m := range map[string]jsonrpc.Middleware{
		"neither calls nor refuses": func(context.Context, jsonrpc.Op, func(context.Context) error) error { return nil },
		"calls twice": func(ctx context.Context, _ jsonrpc.Op, next func(context.Context) error) error {
			_ = next(ctx)
			return next(ctx)
		},
		"panics": func(context.Context, jsonrpc.Op, func(context.Context) error) error { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := oldServer{CallTool: echoTool}
				s.Options.Logger = quiet
				s.Options.Incoming = []jsonrpc.Middleware{func(ctx context.Context, op jsonrpc.Op, next func(context.Context) error) error {
					if op.Method == "initialize" {
						return next(ctx)
					}
					return m(ctx, op, next)
				}}
				r, stop := oldPair(t, s, oldClient{})
				defer stop()
				_, err := r.CallTool(t.Context(), &callToolParams{Name: "x"})
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
			})
		})
	}
	// One that hides an error cannot make a result of it.
	s := oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) { return nil, jsonrpc.NewError(-7, "no") }}
	s.Options.Incoming = []jsonrpc.Middleware{func(ctx context.Context, _ jsonrpc.Op, next func(context.Context) error) error {
		_ = next(ctx)
		return nil
	}}
	p := oldTap(t, s)
	p.talk("> "+request("2", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-7,"message":"no"}}`)
}

// TestRateLimit: what does not fit is refused with a code of its own, outside the
// range that the protocol reserves, and the time to wait.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oldServer{CallTool: echoTool}
		s.Options.Incoming = []jsonrpc.Middleware{jsonrpc.RateLimit{PerSecond: 2, Burst: 3, Key: jsonrpc.ByTarget}.Middleware()}
		r, stop := oldPair(t, s, oldClient{})
		defer stop()
		call := func(name string) error {
			_, err := r.CallTool(t.Context(), &callToolParams{Name: name})
			return err
		}
		for range 3 {
			require.NoError(t, call("a"))
		}
		err := call("a")
		var e *jsonrpc.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, jsonrpc.CodeRateLimited, e.Code)
		require.False(t, -32768 <= e.Code && e.Code <= -32000)
		require.Equal(t, `{"retryAfterMs":500}`, e.Data.String())
		require.NoError(t, call("b"), "another key")
		require.NoError(t, r.conn.Ping(t.Context()), "ping is never refused")
		time.Sleep(500 * time.Millisecond)
		require.NoError(t, call("a"))
		require.Error(t, call("a"))
		time.Sleep(time.Hour)
		for range 3 {
			require.NoError(t, call("a"))
		}
		require.Error(t, call("a"), "no more than the burst is saved up")
	})
}

// TestRateLimitOfManyKeys: peers that choose the keys cannot make it grow without
// bound, nor take the places of those that are in use.
func TestRateLimitOfManyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := ""
		m := jsonrpc.RateLimit{PerSecond: 1, Key: func(context.Context, jsonrpc.Op) string { return key }}.Middleware()
		call := func(k string) error {
			key = k
			return m(t.Context(), jsonrpc.Op{Method: "x"}, func(context.Context) error { return nil })
		}
		for i := range 10_000 {
			require.NoError(t, call(fmt.Sprint(i)))
		}
		require.NoError(t, call("one more"))
		require.Error(t, call("and another"), "they share a bucket")
		require.Error(t, call("17"))
		time.Sleep(2 * time.Second)
		require.NoError(t, call("and another"), "those at rest make room")
		require.NoError(t, call("one more"))
	})
}

// TestCircuitBreaker: opens after failures in a row, tries one request after a
// while, and counts only failures of the one who handles.
func TestCircuitBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fail error
		calls := 0
		s := oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
			calls++
			return &result{}, fail
		}}
		s.Options.Logger = quiet
		s.Options.Incoming = []jsonrpc.Middleware{jsonrpc.CircuitBreaker{Failures: 3, Window: 10 * time.Second, OpenFor: time.Second, Key: jsonrpc.ByTarget}.Middleware()}
		r, stop := oldPair(t, s, oldClient{})
		defer stop()
		call := func(name string) int64 {
			_, err := r.CallTool(t.Context(), &callToolParams{Name: name})
			if err == nil {
				return 0
			}
			e, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok)
			return e.Code
		}
		fail = jsonrpc.NewError(jsonrpc.CodeInvalidParams, "the caller's fault")
		for range 10 {
			require.Equal(t, jsonrpc.CodeInvalidParams, call("a"))
		}
		fail = errors.New("broken")
		require.Equal(t, jsonrpc.CodeInternalError, call("a"))
		require.Equal(t, jsonrpc.CodeInternalError, call("a"))
		time.Sleep(11 * time.Second) // out of the window
		for range 3 {
			require.Equal(t, jsonrpc.CodeInternalError, call("a"))
		}
		calls = 0
		require.Equal(t, jsonrpc.CodeCircuitOpen, call("a"))
		require.Zero(t, calls, "it is left alone")
		require.Equal(t, jsonrpc.CodeInternalError, call("b"), "another key")
		time.Sleep(time.Second)
		calls = 0
		require.Equal(t, jsonrpc.CodeInternalError, call("a"), "one is let through")
		require.Equal(t, jsonrpc.CodeCircuitOpen, call("a"), "and opens it again")
		require.Equal(t, 1, calls)
		time.Sleep(time.Second)
		fail = nil
		for range 3 {
			require.Zero(t, call("a"))
		}
	})
}

// TestIsFailure says whose fault an error is.
func TestIsFailure(t *testing.T) {
	for _, err := range []error{
		errors.New("x"), &jsonrpc.TimeoutError{}, &jsonrpc.ClosedError{}, jsonrpc.NewError(jsonrpc.CodeInternalError, ""),
		&jsonrpc.CallError{Err: &wire.Error{}}, context.DeadlineExceeded,
	} {
		require.True(t, jsonrpc.IsFailure(err), "%T", err)
	}
	for _, err := range []error{
		nil, context.Canceled, &jsonrpc.CanceledError{}, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""), jsonrpc.NewError(-1, ""),
		&jsonrpc.NotAdvertisedError{}, &taskCreated{}, &wire.Error{},
	} {
		require.False(t, jsonrpc.IsFailure(err), "%T", err)
	}
}

// TestTrace: a trace context travels in _meta, beside what is there, and a
// handler reads it.
func TestTrace(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	tr := jsonrpc.Trace{Parent: parent, State: "a=1", Baggage: "k=v"}
	p, r := clientTap(t, oldClient{}, allCaps)
	ctx := jsonrpc.WithTrace(jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) {}}), tr)
	for _, c := range []struct {
		call func() error
		want string
	}{
		{func() error { _, err := r.CallTool(ctx, &callToolParams{Name: "x"}); return err },
			`{"name":"x","_meta":{"progressToken":2,"traceparent":"` + parent + `","tracestate":"a=1","baggage":"k=v"}}`},
		{func() error { _, err := jsonrpc.CallRaw(ctx, r.conn, "tools/list", nil); return err },
			`{"_meta":{"traceparent":"` + parent + `","tracestate":"a=1","baggage":"k=v"}}`},
		{func() error {
			_, err := jsonrpc.CallRaw(ctx, r.conn, "tools/list", wire.Raw(`{"_meta":{"traceparent":"mine"},"a":1}`))
			return err
		}, `{"_meta":{"traceparent":"mine","tracestate":"a=1","baggage":"k=v"},"a":1}`},
		{func() error {
			_, err := jsonrpc.CallRaw(jsonrpc.WithTrace(ctx, jsonrpc.Trace{}), r.conn, "tools/list", wire.Raw(`{}`))
			return err
		}, `{}`},
	} {
		done := make(chan error, 1)
		go func() { done <- c.call() }()
		sent := wire.Raw(p.next())
		require.True(t, wire.Equal(wire.MustRaw(c.want), sent.Get("params")), "%s", sent)
		p.push(`{"jsonrpc":"2.0","id":` + sent.Get("id").String() + `,"result":{}}`)
		require.NoError(t, <-done)
	}

	var got jsonrpc.Trace
	s := oldTap(t, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
		got = jsonrpc.PeerOf(ctx).Trace()
		// A handler that is written for another revision sees the same.
		as := &jsonrpc.As{Revision: "2024-11-05"}
		require.Equal(t, got, jsonrpc.PeerOf(jsonrpc.WithPeer(ctx, as, nil)).Trace())
		lasting, turn := jsonrpc.Lasting(ctx, as, nil)
		defer turn.Cancel(nil)
		require.Equal(t, got, jsonrpc.PeerOf(lasting).Trace())
		return &result{}, nil
	}})
	s.talk("> "+request("2", "tools/call", `{"name":"x","_meta":{"traceparent":"`+parent+`","tracestate":"a=1","baggage":"k=v"}}`), `< {"jsonrpc":"2.0","id":2,"result":"*"}`)
	require.Equal(t, tr, got)
	s.talk("> "+request("2", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"result":"*"}`)
	require.Equal(t, jsonrpc.Trace{}, got)
	require.Equal(t, jsonrpc.Trace{}, jsonrpc.PeerOf(t.Context()).Trace())
}
