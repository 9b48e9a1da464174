package dial_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// times is how often a test does something: n by itself, large with
// GOLDWIRE_LARGE set.
func times(n, large int) int {
	if os.Getenv("GOLDWIRE_LARGE") != "" {
		return large
	}
	return n
}

// atOnce calls f n times, some at once.
func atOnce(n, some int, f func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, some)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// resources is how many goroutines and descriptors this process has.
func resources() (goroutines, descriptors int) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return runtime.NumGoroutine(), 0 // no such thing on this system
	}
	return runtime.NumGoroutine(), len(entries)
}

// back waits until the process has no more than it had.
func back(t *testing.T, goroutines, descriptors int) {
	t.Helper()
	var g, d int
	require.Eventually(t, func() bool {
		g, d = resources()
		return g <= goroutines+2 && d <= descriptors // the condition has a goroutine of its own
	}, 20*time.Second, 10*time.Millisecond)
}

// TestManyConnections: connections over sockets that are opened, used and
// closed leave no goroutine and no descriptor on either side.
func TestManyConnections(t *testing.T) {
	for _, c := range []struct {
		name     string
		n, large int
		d        dialect
		kind     streamhttp.Kind
	}{
		{"2026-07-28", 200, 4000, dialect20260728, streamhttp.Streamable},
		{"2025-11-25", 200, 4000, dialect20251125, streamhttp.Any},
		{"2024-11-05", 100, 2000, dialect20241105, streamhttp.TwoEndpoints},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.d.server(newWork())
			var s site
			if c.kind == streamhttp.TwoEndpoints {
				s = serve(t, twoEndpoints(t, b), false)
			} else {
				s = serve(t, streamable(t, b), false)
			}
			once := func(i int) {
				r, err := c.d.connect(t.Context(), s.endpoint(c.kind), deaf())
				if err != nil {
					t.Error(err)
					return
				}
				want := fmt.Sprint("call ", i)
				if got, err := r.call(t.Context(), "echo", `{"text":"`+want+`"}`); err != nil || got != want {
					t.Errorf("%q %v", got, err)
				}
				if err := r.close(); err != nil {
					t.Error(err)
				}
			}
			g, d := resources()
			once(-1) // what is made once and kept is there now
			atOnce(times(c.n, c.large), 50, once)
			back(t, g, d)
		})
	}
}

// TestManyCalls: a thousand calls at once, of which many are given up at any
// moment: each gets its own answer or its own end, and nothing is left running
// on either side.
func TestManyCalls(t *testing.T) {
	for _, c := range []struct {
		name string
		d    dialect
		some int // at once; a call over HTTP needs a connection
		open func(*testing.T, dialect) jsonrpc.Dialer
	}{
		{"stdio in memory", dialect20251125, 1000, carriers[0].open},
		{"stdio of a child", dialect20260728, 1000, carriers[1].open},
		{"Streamable HTTP, stateless", dialect20260728, 100, carriers[3].open},
		{"Streamable HTTP, stateful", dialect20251125, 100, carriers[3].open},
		{"Streamable HTTP/2", dialect20250618, 200, carriers[4].open},
		{"HTTP+SSE", dialect20241105, 100, carriers[7].open},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := c.d.connect(t.Context(), c.open(t, c.d), deaf())
			require.NoError(t, err)
			defer func() { require.NoError(t, s.close()) }()
			atOnce(1000, c.some, func(i int) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tool := []string{"echo", "wait", "ask", "count", "echo"}[i%5]
				text := fmt.Sprint("text ", i)
				want := map[string]string{"echo": text, "ask": "the answer is " + text, "count": "counted 2"}[tool]
				if tool == "count" {
					ctx = jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) {}})
				}
				given := tool == "wait" || rand.IntN(3) == 0
				if given {
					time.AfterFunc(time.Duration(rand.IntN(5000))*time.Microsecond, cancel)
				}
				got, err := s.call(ctx, tool, `{"n":2,"text":"`+text+`"}`)
				switch {
				case err == nil:
					if got != want {
						t.Errorf("the answer to %q is %q", text, got)
					}
				case !given || !errors.Is(err, context.Canceled):
					t.Errorf("%s %d: %v", tool, i, err)
				}
			})
			require.Zero(t, s.conn.Stats().Calls)
			left := func() string {
				got, err := s.call(t.Context(), "running", `{}`)
				require.NoError(t, err)
				return got
			}
			for end := time.Now().Add(20 * time.Second); left() != "0"; {
				require.True(t, time.Now().Before(end), "%s handlers are left running", left())
			}
		})
	}
}
