package compat_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// moody is a server of 2026-07-28 that answers each subscriptions/listen with the
// next of its answers, an error: "end" acknowledges what was asked and ends in good
// order, "nothing" the same for nothing. Behind the last it keeps them open.
type moody struct {
	capabilities string
	answers      []string

	mu  sync.Mutex
	met []time.Time // when it was asked to listen
}

func (m *moody) serve(_ jsonrpc.Transport, r io.Reader, w io.WriteCloser) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		method, _ := wire.Raw(line).Get("method").Str()
		id := wire.Raw(line).Get("id")
		switch method {
		case "server/discover":
			_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":%s}}`+"\n", id, m.capabilities)
		case "subscriptions/listen":
			m.mu.Lock()
			answer := ""
			if n := len(m.met); n < len(m.answers) {
				answer = m.answers[n]
			}
			m.met = append(m.met, time.Now())
			m.mu.Unlock()
			const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":`
			honours := wire.Raw(line).Get("params").Get("notifications").String()
			switch answer {
			case "nothing":
				honours = "{}"
				fallthrough
			case "", "end":
				_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":%s,`+meta+"%s}}}\n", honours, id)
				if err == nil && answer != "" {
					_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete",`+meta+"%s}}}\n", id, id)
				}
			default:
				_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, answer)
			}
		}
		if err != nil {
			return
		}
	}
}

// connect is the server, through a connection of its own.
func (m *moody) connect(t *testing.T, o jsonrpc.Options) *v20260728.RemoteServer {
	d := &memoryDialer{name: identity(t), serve: m.serve}
	s, err := v20260728.Connect(t.Context(), d, v20260728.Client{Options: o})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		d.wg.Wait()
	})
	return s
}

func (m *moody) times() []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]time.Time(nil), m.met...)
}

func failed(code int64) string { return fmt.Sprintf(`"error":{"code":%d,"message":"no"}`, code) }

// TestGatewayAsksUntilItIsRefused holds that a server which cannot listen just now is
// asked again after a rest, however it says so, and one that refuses to is not.
func TestGatewayAsksUntilItIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string
		want    int // how often it is asked
	}{
		{"restarted", []string{"end"}, 2},
		{"away", []string{"end", failed(jsonrpc.CodeShuttingDown), failed(jsonrpc.CodeOverloaded), failed(jsonrpc.CodeRateLimited), failed(jsonrpc.CodeInternalError)}, 6},
		{"away from the start", []string{failed(jsonrpc.CodeShuttingDown)}, 2},
		{"not acknowledged", []string{`"result":{"resultType":"complete"}`}, 2},
		{"refused", []string{"end", failed(jsonrpc.CodeMethodNotFound)}, 2},
		{"refused at once", []string{failed(jsonrpc.CodeInvalidParams)}, 1},
		{"nothing to hear", []string{"nothing"}, 1},
		{"nothing to hear any more", []string{"end", "nothing"}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &moody{capabilities: `{"tools":{"listChanged":true}}`, answers: c.answers}
				upstream := m.connect(t, discard)
				_, err := compat.Server(upstream.Server).Bind()
				require.NoError(t, err)
				time.Sleep(time.Hour)
				require.Len(t, m.times(), c.want)
			})
		})
	}
}

// TestGatewayRestsAsLongAsItIsTold holds that a server which says when it may be asked
// again is not asked before.
func TestGatewayRestsAsLongAsItIsTold(t *testing.T) {
	for retryAfter, want := range map[string]time.Duration{
		"600000": 10 * time.Minute, "9000000000000000000": 24 * time.Hour, "-9000000000000000000": time.Second, `"x"`: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &moody{capabilities: `{"tools":{"listChanged":true}}`, answers: []string{`"error":{"code":-31003,"message":"no","data":{"retryAfterMs":` + retryAfter + `}}`}}
			upstream := m.connect(t, discard)
			_, err := compat.Server(upstream.Server).Bind()
			require.NoError(t, err)
			time.Sleep(want + time.Second)
			met := m.times()
			require.Len(t, met, 2, retryAfter)
			require.GreaterOrEqual(t, met[1].Sub(met[0]), want, retryAfter)
		})
	}
}

// TestGatewayComesBackScattered holds that subscriptions which ended together are
// not opened again at one time, and not before a server that is full wants it.
func TestGatewayComesBackScattered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		m := &moody{capabilities: `{"resources":{"subscribe":true}}`}
		for range n {
			m.answers = append(m.answers, "end")
		}
		upstream := m.connect(t, discard)
		client, err := v20250618.Connect(t.Context(), served(t, compat.Server(upstream.Server)), v20250618.Client{Options: discard})
		require.NoError(t, err)
		for i := range n {
			_, err := client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: fmt.Sprint("r:", i)})
			require.NoError(t, err)
		}
		ended := time.Now()
		time.Sleep(time.Minute)
		met := m.times()[n:]
		require.Len(t, met, n)
		different := map[time.Time]bool{}
		for _, at := range met {
			require.GreaterOrEqual(t, at.Sub(ended), time.Second)
			different[at] = true
		}
		require.Greater(t, len(different), n/2)
		require.NoError(t, client.Close())
	})
}

// TestGatewayForgetsWhatIsRefused holds that a resource which a server does not tell
// of any more takes no room from others.
func TestGatewayForgetsWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{capabilities: `{"resources":{"subscribe":true}}`, answers: []string{"end", failed(jsonrpc.CodeInvalidParams)}}
		o := discard
		o.MaxInFlight = 4
		upstream := m.connect(t, o)
		client, err := v20250618.Connect(t.Context(), served(t, compat.Server(upstream.Server)), v20250618.Client{Options: discard})
		require.NoError(t, err)
		subscribe := func(uri string) error {
			_, err := client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: uri})
			return err
		}
		require.NoError(t, subscribe("r:1"))
		require.ErrorContains(t, subscribe("r:2"), "subscribed to 1 resources already")
		time.Sleep(time.Minute)
		require.NoError(t, subscribe("r:2"))
		_, err = client.Unsubscribe(t.Context(), &v20250618.UnsubscribeParams{URI: "r:1"})
		require.NoError(t, err)
		require.NoError(t, client.Close())
	})
}

// TestGatewayWithHardlyAnyRoom holds that calls go through a connection that allows
// of very few at a time, though nothing can be listened to then.
func TestGatewayWithHardlyAnyRoom(t *testing.T) {
	for limit := 1; limit < 6; limit++ {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := discard
				o.MaxInFlight = limit
				upstream, err := v20260728.Connect(t.Context(), served(t, newWork().modern()), v20260728.Client{Options: o})
				require.NoError(t, err)
				client, err := v20250618.Connect(t.Context(), served(t, compat.Server(upstream.Server)), v20250618.Client{Options: discard})
				require.NoError(t, err)
				synctest.Wait()
				_, err = client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
				require.Equal(t, limit >= 4, err == nil)
				_, err = client.ListTools(t.Context(), new(v20250618.ListToolsParams))
				require.NoError(t, err)
				require.NoError(t, client.Close())
				require.NoError(t, upstream.Close())

				dialled, err := compat.Dial(t.Context(), served(t, newWork().modern()), v20250618.Client{Options: o, ToolListChanged: func(context.Context, *v20250618.ToolListChangedParams) error { return nil }})
				require.NoError(t, err)
				_, err = dialled.ListTools(t.Context(), new(v20250618.ListToolsParams))
				require.NoError(t, err)
				require.NoError(t, dialled.Close())
			})
		})
	}
}

// heap is the memory in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSubscriptionsKeepNoMessages holds that nothing of the requests that subscribed
// is kept as long as what they subscribed to, whoever came first.
func TestSubscriptionsKeepNoMessages(t *testing.T) {
	const clients, each, pad = 2, 8, 2 << 20
	for _, c := range []struct {
		name string
		dial func(jsonrpc.Dialer) (jsonrpc.Binder, func() error)
	}{
		{"served again", func(d jsonrpc.Dialer) (jsonrpc.Binder, func() error) {
			r, err := v20260728.Connect(t.Context(), d, v20260728.Client{Options: discard})
			require.NoError(t, err)
			return r.Server, r.Close
		}},
		{"served again in another revision", func(d jsonrpc.Dialer) (jsonrpc.Binder, func() error) {
			r, err := compat.Dial(t.Context(), d, v20250618.Client{Options: discard})
			require.NoError(t, err)
			return r.Server, r.Close
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, stop := c.dial(served(t, newWork().modern()))
			front := compat.Server(server)
			var all [clients]*v20250618.RemoteServer
			for i := range all {
				r, err := v20250618.Connect(t.Context(), served(t, front), v20250618.Client{Options: discard})
				require.NoError(t, err)
				all[i] = r
			}
			before := heap()
			for _, r := range all {
				for i := range each {
					_, err := jsonrpc.CallRaw(t.Context(), r.Conn(), "resources/subscribe", wire.Raw(fmt.Sprintf(`{"uri":"r:%d","x":"%s"}`, i, strings.Repeat("x", pad))))
					require.NoError(t, err)
				}
			}
			require.Less(t, heap()-before, int64(4*pad))
			for _, r := range all {
				require.NoError(t, r.Close())
			}
			require.NoError(t, stop())
		})
	}
}

// TestGatewayHearsAServerThatIsStoppedSlowly holds that a server is listened to again
// whose last incarnation still had a call to finish when it was asked.
func TestGatewayHearsAServerThatIsStoppedSlowly(t *testing.T) {
	var current atomic.Pointer[streamhttp.Handler]
	w := newWork()
	server := w.modern()
	begun, free := make(chan struct{}), make(chan struct{})
	server.CallTool = func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
		close(begun)
		<-free
		return new(v20260728.CallToolResult), nil
	}
	start := func() {
		current.Store(streamhttp.NewHandler(server, streamhttp.HandlerOptions{Logger: discard.Logger}))
	}
	start()
	var stopping atomic.Bool
	refused := make(chan struct{}, 100)
	behind := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		late := stopping.Load()
		current.Load().ServeHTTP(rw, r)
		if late && r.Header.Get(streamhttp.HeaderMethod) == "subscriptions/listen" {
			refused <- struct{}{}
		}
	}))
	t.Cleanup(func() {
		current.Load().Close()
		behind.Close()
	})
	upstream, err := v20260728.Connect(t.Context(), streamhttp.URL(behind.URL), v20260728.Client{Options: discard})
	require.NoError(t, err)
	tools, updates := make(chan struct{}, 1), make(chan struct{}, 1)
	tell := func(c chan struct{}) {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	client, err := v20250618.Connect(t.Context(), served(t, compat.Server(upstream.Server)), v20250618.Client{Options: discard,
		ResourceUpdated: func(context.Context, *v20250618.ResourceUpdatedParams) error { tell(updates); return nil },
		ToolListChanged: func(context.Context, *v20250618.ToolListChangedParams) error { tell(tools); return nil }})
	require.NoError(t, err)
	_, err = client.Subscribe(t.Context(), &v20250618.SubscribeParams{URI: watched})
	require.NoError(t, err)
	hears := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			w.hub.ResourceUpdated(t.Context(), watched)
			w.hub.ToolsListChanged(t.Context())
			return len(tools) > 0 && len(updates) > 0
		}, 20*time.Second, 20*time.Millisecond)
	}
	hears()
	called := make(chan error, 1)
	go func() {
		_, err := client.CallTool(t.Context(), &v20250618.CallToolParams{Name: "slow"})
		called <- err
	}()
	<-begun
	stopping.Store(true)
	stopped := make(chan error, 1)
	go func() { stopped <- current.Load().Shutdown(context.WithoutCancel(t.Context())) }()
	<-refused
	<-refused
	close(free)
	require.NoError(t, <-called)
	require.NoError(t, <-stopped)
	start()
	<-tools // of before
	<-updates
	hears()
	require.NoError(t, client.Close())
	require.NoError(t, upstream.Close())
}
