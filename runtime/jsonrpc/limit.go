package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// RateLimit bounds how many requests pass in a time, by token buckets. What does
// not fit is refused at once with CodeRateLimited and data.retryAfterMs.
type RateLimit struct {
	// PerSecond is how many pass in the long run; 0 or less refuses nothing.
	PerSecond float64
	// Burst is how many pass at once after a pause. 0 means PerSecond rounded
	// up.
	Burst int
	// Key says whose bucket a request is taken from; nil is one for all.
	// ByPrincipal and ByTarget are keys. At most 10,000 are remembered; those
	// that come when so many are in use share one.
	Key func(context.Context, Op) string
}

// maxKeys bounds what is remembered of keys that peers choose.
const maxKeys = 10_000

// ByPrincipal tells requests apart by who is behind them: see WithPrincipal.
func ByPrincipal(ctx context.Context, _ Op) string { return Principal(ctx) }

// ByTarget tells requests of the peer apart by their method and the tool, prompt
// or resource that they name. Calls of ours are told apart by their method.
func ByTarget(ctx context.Context, op Op) string {
	if op.Outgoing {
		return op.Method
	}
	params := PeerOf(ctx).Message().Get("params")
	for _, member := range [...]string{"name", "uri"} {
		if s, ok := params.Get(member).Str(); ok {
			return op.Method + " " + s
		}
	}
	return op.Method
}

// Middleware makes the limit. Where it is used several times it is one limit.
func (l RateLimit) Middleware() Middleware {
	burst := float64(l.Burst)
	if burst <= 0 {
		burst = max(1, math.Ceil(l.PerSecond))
	}
	buckets := &keyed[bucket]{idle: func(b *bucket, now time.Time) bool {
		return b.left+now.Sub(b.at).Seconds()*l.PerSecond >= burst
	}}
	return func(ctx context.Context, op Op, next func(context.Context) error) error {
		if l.PerSecond <= 0 {
			return next(ctx)
		}
		now := time.Now()
		var wait time.Duration
		buckets.with(keyOf(ctx, op, l.Key), now, func(b *bucket) {
			if b.at.IsZero() {
				b.left = burst
			} else {
				b.left = min(burst, b.left+now.Sub(b.at).Seconds()*l.PerSecond)
			}
			b.at = now
			if b.left < 1 {
				wait = time.Duration((1 - b.left) / l.PerSecond * float64(time.Second))
				return
			}
			b.left--
		})
		if wait > 0 {
			return refusal(ctx, op, CodeRateLimited, "too many requests: try again later", wait)
		}
		return next(ctx)
	}
}

// bucket holds tokens.
type bucket struct {
	left float64
	at   time.Time // when it held so many
}

// CircuitBreaker leaves alone what keeps failing: after Failures in a row within Window
// requests are refused with CodeCircuitOpen and data.retryAfterMs, for OpenFor.
// Then one is let through to try; it closes the circuit or opens it again.
type CircuitBreaker struct {
	// Failures in a row that open the circuit. 0 means 5.
	Failures int
	// Window is the time within which they have to come. 0 means 30 s.
	Window time.Duration
	// OpenFor is how long requests are refused. 0 means 5 s.
	OpenFor time.Duration
	// Key says whose circuit a request belongs to; nil is one for all. The
	// bound is that of RateLimit.Key.
	Key func(context.Context, Op) string
	// Failed says whether an error counts. nil is IsFailure.
	Failed func(error) bool
}

// IsFailure reports whether an error of a request means that whoever handles it
// is not well: timeouts, broken carriers, internal errors, plain errors of
// handlers. What the caller got wrong, or gave up, is none, and neither is a
// ResultError.
func IsFailure(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if _, ok := errors.AsType[ResultError](err); ok {
		return false
	}
	if argumentError(err) != nil || errors.Is(err, ErrNotAdvertised) {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok && e != nil {
		return e.Code == CodeInternalError || e.Code == CodeOverloaded || e.Code == CodeShuttingDown
	}
	if _, ok := errors.AsType[*wire.Error](err); ok {
		_, call := errors.AsType[*CallError](err)
		return call // of a peer that answers nonsense; otherwise the params'
	}
	return true
}

// Middleware makes the breaker. Where it is used several times it is one.
func (c CircuitBreaker) Middleware() Middleware {
	if c.Failures <= 0 {
		c.Failures = 5
	}
	if c.Window <= 0 {
		c.Window = 30 * time.Second
	}
	if c.OpenFor <= 0 {
		c.OpenFor = 5 * time.Second
	}
	if c.Failed == nil {
		c.Failed = IsFailure
	}
	circuits := &keyed[circuit]{idle: func(x *circuit, now time.Time) bool {
		return x.failures == 0 || !x.trying && now.Sub(x.since) > c.Window+c.OpenFor
	}}
	return func(ctx context.Context, op Op, next func(context.Context) error) (err error) {
		key := keyOf(ctx, op, c.Key)
		var wait time.Duration
		trial := false
		now := time.Now()
		circuits.with(key, now, func(x *circuit) {
			switch {
			case x.until.IsZero():
			case now.Before(x.until):
				wait = x.until.Sub(now)
			case x.trying:
				wait = c.OpenFor
			default:
				x.trying, trial = true, true
			}
		})
		if wait > 0 {
			return refusal(ctx, op, CodeCircuitOpen, "the circuit is open: try again later", wait)
		}
		failed := true // unless it returns
		defer func() {
			now := time.Now()
			circuits.with(key, now, func(x *circuit) {
				if trial {
					x.trying = false
				} else if !x.until.IsZero() {
					return // it began before the circuit opened
				}
				switch {
				case !failed && errors.Is(err, context.Canceled): // says nothing
				case !failed:
					*x = circuit{}
				case trial:
					x.until = now.Add(c.OpenFor)
				default:
					if x.failures == 0 || now.Sub(x.since) > c.Window {
						x.failures, x.since = 0, now
					}
					if x.failures++; x.failures >= c.Failures {
						x.until = now.Add(c.OpenFor)
					}
				}
			})
		}()
		err = next(ctx)
		failed = c.Failed(err)
		return err
	}
}

// circuit is closed while until is zero.
type circuit struct {
	failures int       // in a row
	since    time.Time // the first of them
	until    time.Time // when it may be tried again
	trying   bool
}

func refusal(ctx context.Context, op Op, code int64, message string, wait time.Duration) error {
	e := &Error{Code: code, Message: message, Data: wire.Raw(fmt.Sprintf(`{"retryAfterMs":%d}`, max(1, (wait+time.Millisecond-1).Milliseconds())))}
	if op.Conn != nil {
		op.Conn.ev.note(Event{Kind: RefusedRequest, Method: op.Method, ID: PeerOf(ctx).ID(), Err: e}, nil)
	}
	return e
}

func keyOf(ctx context.Context, op Op, key func(context.Context, Op) string) string {
	if key == nil {
		return ""
	}
	return clip(key(ctx, op), maxEcho)
}

// keyed holds a bounded number of values by key. The rest share one.
type keyed[T any] struct {
	mu     sync.Mutex
	m      map[string]*T
	shared T
	swept  time.Time
	idle   func(v *T, now time.Time) bool // as good as new
}

// with calls f with the value of a key.
func (k *keyed[T]) with(key string, now time.Time, f func(*T)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v := k.m[key]
	if v == nil {
		if len(k.m) >= maxKeys && now.Sub(k.swept) >= time.Second {
			k.swept = now
			for key, v := range k.m {
				if k.idle(v, now) {
					delete(k.m, key)
				}
			}
		}
		if len(k.m) >= maxKeys {
			f(&k.shared)
			return
		}
		if k.m == nil {
			k.m = map[string]*T{}
		}
		v = new(T)
		k.m[strings.Clone(key)] = v // it may alias a message
	}
	f(v)
}
