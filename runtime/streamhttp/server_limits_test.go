package streamhttp_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestMain fails the run when goroutines of this module are left behind.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && left() > 0 {
		_ = pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
		fmt.Fprintln(os.Stderr, "goroutines are left behind")
		code = 1
	}
	os.Exit(code)
}

// left is how many goroutines run code of this module, once that has settled.
func left() (n int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 250 {
		n = 0
		buf := make([]byte, 4<<20)
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "goldwire/runtime/") && !strings.Contains(stack, "streamhttp_test.left") {
				n++
			}
		}
		if n == 0 {
			return 0
		}
		<-tick.C
	}
	return n
}

// pipeListener is a listener in memory, for tests in a bubble.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	shut  chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), shut: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.shut) })
	return nil
}
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

func (l *pipeListener) dial() (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.shut:
		return nil, net.ErrClosed
	}
}

// inMemory serves a binder within the test's bubble.
func inMemory(t *testing.T, b jsonrpc.Binder, o ...streamhttp.HandlerOptions) (*site, *pipeListener) {
	t.Helper()
	h := streamhttp.NewHandler(b, o...)
	require.NoError(t, h.Err())
	l := newPipeListener()
	srv := streamhttp.NewServer(h)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(l)
	}()
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial() }}
	s := &site{t: t, h: h, srv: &httptest.Server{URL: "http://pipe", Config: srv}, client: &http.Client{Transport: tr}}
	t.Cleanup(func() {
		h.Close()
		tr.CloseIdleConnections()
		_ = srv.Close()
		<-served
	})
	return s, l
}

// TestOrigin holds which pages may send: Origin alone decides, with 403
// (basic/transports, security warning).
func TestOrigin(t *testing.T) {
	for _, tt := range []struct {
		allowed []string
		origin  string
		host    string
		want    int
	}{
		{nil, "", "", 200},
		{nil, "http://localhost:6274", "", 200},
		{nil, "http://127.0.0.1", "", 200},
		{nil, "https://[::1]:8443", "", 200},
		{nil, "http://127.9.9.9:1", "", 200},
		{nil, "https://evil.example", "", 403},
		{nil, "http://localhost.evil.example", "", 403},
		{nil, "http://evil.example", "evil.example", 403},
		{nil, "null", "", 403},
		{nil, "localhost", "", 403},
		{nil, "://", "", 403},
		{[]string{"https://app.example"}, "https://app.example", "", 200},
		{[]string{"https://app.example"}, "HTTPS://APP.example", "", 200},
		{[]string{"https://app.example"}, "https://app.example:444", "", 403},
		{[]string{"https://app.example"}, "http://localhost:1", "", 403},
		{[]string{"null"}, "null", "", 200},
		{[]string{"*"}, "https://evil.example", "", 200},
		{[]string{}, "http://localhost", "", 403},
	} {
		t.Run(fmt.Sprint(tt.allowed, tt.origin), func(t *testing.T) {
			ran := false
			l, _ := servers(nil)
			l.Unknown = func(context.Context, string, wire.Raw) (wire.Raw, error) { ran = true; return wire.Raw("{}"), nil }
			s := serve(t, l, streamhttp.HandlerOptions{AllowedOrigins: tt.allowed, AllowedHosts: []string{"*"}})
			headers := []string{"Origin: " + tt.origin, "Host: " + tt.host}
			r := s.post(initialize, headers...)
			require.Equal(t, tt.want, r.StatusCode)
			if tt.want == 200 {
				return
			}
			require.Nil(t, wire.Raw(r.body).Get("id"), "an error without an id")
			hs := s.begin()
			for _, method := range []string{"POST", "GET", "DELETE"} {
				r := s.do(method, `{"jsonrpc":"2.0","id":1,"method":"x/run"}`, append(hs, headers...)...)
				require.Equal(t, 403, r.StatusCode, method)
			}
			require.False(t, ran, "nothing is run")
			require.Equal(t, 200, s.post(list, hs...).StatusCode)
		})
	}
	s := serve(t, both())
	require.Equal(t, 403, s.post(initialize, "Origin: http://localhost", "Origin: https://evil.example").StatusCode, "two origins")
}

// TestHost holds which names a server at a loopback address answers to.
func TestHost(t *testing.T) {
	s := serve(t, both(), streamhttp.HandlerOptions{AllowedHosts: []string{"mcp.example"}})
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:80": 200, "127.0.0.1:1": 200, "[::1]:80": 200, "[::1]": 200,
		"mcp.example": 200, "MCP.example:443": 200, "evil.example": 403, "evil.example:80": 403, "localhost.evil.example": 403,
	} {
		require.Equal(t, want, s.post(initialize, "Host: "+host).StatusCode, host)
	}
	open := serve(t, both(), streamhttp.HandlerOptions{AllowedHosts: []string{"*"}})
	require.Equal(t, 200, open.post(initialize, "Host: anything.example").StatusCode)
}

// TestContentType holds that a body is declared as JSON, or as nothing.
func TestContentType(t *testing.T) {
	s := serve(t, both())
	for kind, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "Application/JSON": 200, "application/json;": 200, "": 200,
		"application/vnd.x+json": 200, "text/plain": 415, "application/x-www-form-urlencoded": 415, "multipart/form-data; boundary=x": 415, ";": 415,
	} {
		require.Equal(t, want, s.post(initialize, "Content-Type: "+kind).StatusCode, kind)
	}
}

// TestBodies holds the bound of a body: what is longer is refused as soon as
// that is known, and not read to its end.
func TestBodies(t *testing.T) {
	const limit = 10_000
	s := serve(t, both(), streamhttp.HandlerOptions{MaxMessage: limit})
	hs := s.begin()
	body := func(n int) string {
		start := `{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"`
		return start + strings.Repeat("a", n-len(start)-3) + `"}}`
	}
	chunked := func(b io.Reader) *http.Request {
		req := s.request(t.Context(), "POST", "", hs...)
		req.Body, req.ContentLength = io.NopCloser(b), -1
		return req
	}
	for _, n := range []int{limit - 1, limit} {
		require.Equal(t, 200, s.post(body(n), hs...).StatusCode, n)
		res, err := s.srv.Client().Do(chunked(strings.NewReader(body(n))))
		require.NoError(t, err)
		_ = res.Body.Close()
		require.Equal(t, 200, res.StatusCode, n)
	}
	r := s.post(body(limit+1), hs...)
	require.Equal(t, 413, r.StatusCode)
	require.Equal(t, jsonrpc.CodeInvalidRequest, r.code())

	endless := &repeat{start: []byte(body(500)[:300])}
	res, err := s.srv.Client().Do(chunked(endless))
	require.NoError(t, err)
	b, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	require.Equal(t, 413, res.StatusCode)
	require.Equal(t, "5", wire.Raw(b).Get("id").String(), "whom it was for stood at its start")
	require.Less(t, endless.sent.Load(), int64(8<<20))
}

// TestManyLargeBodies holds that bodies share a bound of memory, and give it
// back.
func TestManyLargeBodies(t *testing.T) {
	s := serve(t, both(), streamhttp.HandlerOptions{MaxBuffered: 1 << 20})
	hs := s.begin()
	body := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("a", 600<<10) + `"}}`
	for range 3 {
		require.Equal(t, 200, s.post(body, hs...).StatusCode)
	}
	pr, pw := io.Pipe()
	req := s.request(t.Context(), "POST", "", hs...)
	req.Body, req.ContentLength = pr, int64(len(body))
	done := make(chan int)
	go func() {
		res, err := s.http().Do(req)
		if err != nil {
			done <- 0
			return
		}
		_ = res.Body.Close()
		done <- res.StatusCode
	}()
	_, err := io.WriteString(pw, body[:len(body)-1])
	require.NoError(t, err)
	for s.h.Stats().Buffered < len(body) { // it is still on its way
		runtime.Gosched()
	}
	r := s.post(body, hs...)
	require.Equal(t, 503, r.StatusCode)
	require.Equal(t, jsonrpc.CodeOverloaded, r.code())
	_, err = io.WriteString(pw, body[len(body)-1:])
	require.NoError(t, err)
	require.Equal(t, 200, <-done)
	require.Equal(t, 200, s.post(body, hs...).StatusCode)
	require.NoError(t, pw.Close())
}

// repeat is a body without an end.
type repeat struct {
	start []byte
	sent  atomic.Int64
}

func (r *repeat) Read(b []byte) (int, error) {
	n := copy(b, r.start)
	r.start = r.start[n:]
	for i := n; i < len(b); i++ {
		b[i] = 'a'
	}
	r.sent.Add(int64(len(b)))
	return len(b), nil
}

// TestEveryPrefixOfABody holds that a body that was cut is refused, wherever
// that happened, and runs nothing.
func TestEveryPrefixOfABody(t *testing.T) {
	s := serve(t, both())
	b, hs := call("1", "echo", `{"a":"b"}`)
	for n := range len(b) {
		r := s.post(b[:n], hs...)
		require.Equal(t, 400, r.StatusCode, b[:n])
		require.Equal(t, jsonrpc.CodeParseError, r.code(), b[:n])
	}
	require.Equal(t, 200, s.post(b, hs...).StatusCode)
}

// TestBodyShorterThanAnnounced holds that nothing is run of a body whose
// sender went away.
func TestBodyShorterThanAnnounced(t *testing.T) {
	ran := make(chan struct{}, 1)
	_, m := servers(map[string]tool{"t": func(context.Context, peer) (string, error) { ran <- struct{}{}; return "", nil }})
	s := serve(t, m)
	b, hs := call("1", "t", `{}`)
	w := dialWire(t, s.srv.Listener.Addr().String(), b, hs)
	_, err := w.c.Write(w.req[:len(w.req)-1])
	require.NoError(t, err)
	require.NoError(t, w.c.(*net.TCPConn).CloseWrite())
	res, err := http.ReadResponse(w.r, nil)
	require.NoError(t, err)
	require.Equal(t, 400, res.StatusCode)
	require.Empty(t, ran)
}

// TestSlowSenders holds that a header or a body that does not come in time is
// not waited for.
func TestSlowSenders(t *testing.T) {
	b, hs := call("1", "echo", `{}`)
	t.Run("header", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, l := inMemory(t, both())
			c, err := l.dial()
			require.NoError(t, err)
			start := time.Now()
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				for _, x := range []byte("POST /mcp HTTP/1.1\r\nHost: x\r\nX-Slow: " + strings.Repeat("a", 1000)) {
					time.Sleep(time.Second)
					if _, err := c.Write([]byte{x}); err != nil {
						return
					}
				}
			}()
			_, _ = io.ReadAll(c)
			require.Less(t, time.Since(start), 15*time.Second)
			_ = c.Close()
			<-sent
		})
	})
	t.Run("body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, l := inMemory(t, both(), streamhttp.HandlerOptions{BodyTimeout: 20 * time.Second})
			c, err := l.dial()
			require.NoError(t, err)
			start := time.Now()
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n", strings.Join(hs, "\r\n"), len(b))
				for i := range len(b) {
					time.Sleep(time.Second)
					if _, err := io.WriteString(c, b[i:i+1]); err != nil {
						return
					}
				}
			}()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			require.Equal(t, 408, res.StatusCode)
			require.True(t, res.Close)
			require.LessOrEqual(t, time.Since(start), 26*time.Second)
			_ = c.Close()
			<-sent
			synctest.Wait()
			require.Zero(t, s.h.Stats().Requests)
		})
	})
}

// TestSlowReader holds that a client that does not read is given up, and that
// its handler hears of it.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		_, m := servers(map[string]tool{"flood": func(ctx context.Context, p peer) (string, error) {
			for i := 1; ; i++ {
				if err := p.Progress(ctx, float64(i), nil, strings.Repeat("x", 1000)); err != nil {
					ended <- err
					return "", err
				}
			}
		}})
		_, l := inMemory(t, m)
		c, err := l.dial()
		require.NoError(t, err)
		start := time.Now()
		b, hs := call("1", "flood", `{}`)
		b = strings.Replace(b, `"_meta":{`, withToken, 1)
		_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", strings.Join(hs, "\r\n"), len(b), b)
		require.NoError(t, err)
		require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)
		require.InDelta(t, 30, time.Since(start).Seconds(), 1)
		_ = c.Close()
	})
}

// TestSlowSubscriberHoldsNobodyBack holds that a change is published without
// waiting for a client that does not read.
func TestSlowSubscriberHoldsNobodyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := servers(nil)
		m.Hub = new(jsonrpc.Hub)
		s, l := inMemory(t, m)
		c, err := l.dial()
		require.NoError(t, err)
		_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", strings.Join(listenHeaders, "\r\n"), len(listenBody), listenBody)
		require.NoError(t, err)
		good := s.open("POST", listenBody, listenHeaders...)
		good.message()
		synctest.Wait()
		start := time.Now()
		for range 3 {
			m.Hub.ToolsListChanged(t.Context())
			require.Contains(t, good.message().data, "list_changed")
		}
		require.Zero(t, time.Since(start))
		go good.drain()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 1, s.h.Stats().Requests, "the one that does not read is gone")
		_ = c.Close()
	})
}

// TestKeepAlive holds that a stream shows a sign of life every 15 seconds, and
// that an answer which takes longer becomes one.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := servers(map[string]tool{"slow": func(context.Context, peer) (string, error) {
			time.Sleep(40 * time.Second)
			return "done", nil
		}})
		s, _ := inMemory(t, l)
		sm, _ := inMemory(t, m)
		hs := s.begin()
		body, headers := call("1", "slow", `{}`)
		for name, open := range map[string]func() *stream{
			"GET":          func() *stream { return s.open("GET", "", hs...) },
			"subscription": func() *stream { return sm.open("POST", listenBody, listenHeaders...) },
			"lines": func() *stream {
				return sm.open("POST", listenBody, append(listenHeaders, "Accept: application/x-ndjson")...)
			},
			"session call": func() *stream { return s.open("POST", legacyCall("1", "slow"), hs...) },
			"call":         func() *stream { return sm.open("POST", body, headers...) },
		} {
			last := time.Now()
			st := open()
			signs := 0
			for line, err := st.r.ReadString('\n'); err == nil && signs < 2; line, err = st.r.ReadString('\n') {
				if strings.HasPrefix(line, ":") || name == "lines" && line == "\n" {
					require.LessOrEqual(t, time.Since(last), 15*time.Second, name)
					last = time.Now()
					signs++
				}
			}
			require.Equal(t, 2, signs, name)
			if strings.HasSuffix(name, "call") {
				require.Contains(t, st.message().data, "done", name)
			}
			st.close()
		}
	})
}

// TestSessionsIdleOut holds that a session nobody uses ends, and one with a
// stream does not.
func TestSessionsIdleOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := inMemory(t, both(), streamhttp.HandlerOptions{SessionTimeout: time.Hour})
		idle, used, streaming := s.begin(), s.begin(), s.begin()
		st := s.open("GET", "", streaming...)
		go st.drain()
		for range 3 {
			time.Sleep(40 * time.Minute)
			require.Equal(t, 200, s.post(list, used...).StatusCode)
		}
		require.Equal(t, 404, s.post(list, idle...).StatusCode)
		require.Equal(t, 200, s.post(list, streaming...).StatusCode)
		require.Equal(t, 2, s.h.Stats().Sessions)
		st.close()
		time.Sleep(2 * time.Hour)
		require.Zero(t, s.h.Stats().Sessions)
	})
}

// TestTooManySessions holds that the session idle for longest gives way, and
// that none does which is in use.
func TestTooManySessions(t *testing.T) {
	s := serve(t, both(), streamhttp.HandlerOptions{MaxSessions: 2})
	a, b := s.begin(), s.begin()
	require.Equal(t, 200, s.post(list, a...).StatusCode)
	c := s.begin()
	require.Equal(t, 404, s.post(list, b...).StatusCode)
	require.Equal(t, 200, s.post(list, a...).StatusCode)
	s.open("GET", "", a...)
	s.open("GET", "", c...)
	r := s.post(initialize)
	require.Equal(t, 503, r.StatusCode)
	require.Equal(t, jsonrpc.CodeOverloaded, r.code())
	require.Equal(t, "0", wire.Raw(r.body).Get("id").String())
	require.Equal(t, 2, s.h.Stats().Sessions)
}

// TestTooManyRequests holds that what is beyond the bound is refused at once.
func TestTooManyRequests(t *testing.T) {
	_, m := servers(nil)
	s := serve(t, m, streamhttp.HandlerOptions{MaxRequests: 2})
	a, b := s.open("POST", listenBody, listenHeaders...), s.open("POST", listenBody, listenHeaders...)
	a.message()
	b.message()
	r := s.post(modernList, modernVersion, "Mcp-Method: tools/list")
	require.Equal(t, 503, r.StatusCode)
	require.Equal(t, jsonrpc.CodeOverloaded, r.code())
	require.Equal(t, "1", r.Header.Get("Retry-After"))
}

// TestShutdownWhileASubscriptionArrives holds that a subscription whose body was on
// its way when the server began to end is ended like those that are open.
func TestShutdownWhileASubscriptionArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := servers(nil)
		m.Hub = new(jsonrpc.Hub)
		s, _ := inMemory(t, m)
		body, w := io.Pipe()
		req := s.request(t.Context(), "POST", "", listenHeaders...)
		req.Body, req.ContentLength = body, int64(len(listenBody))
		answer := make(chan string)
		go func() {
			res, err := s.client.Do(req)
			require.NoError(t, err)
			b, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			answer <- string(b)
		}()
		_, err := io.WriteString(w, listenBody[:10])
		require.NoError(t, err)
		synctest.Wait()
		down := make(chan error, 1)
		go func() { down <- s.h.Shutdown(t.Context()) }()
		synctest.Wait()
		_, err = io.WriteString(w, listenBody[10:])
		require.NoError(t, err)
		require.NoError(t, w.Close())
		require.Contains(t, <-answer, `"resultType":"complete"`)
		require.NoError(t, <-down)
	})
}

// TestShutdown holds that requests in progress may end, new ones are refused,
// and that neither takes longer than is allowed.
func TestShutdown(t *testing.T) {
	for _, patient := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			wait := func(ctx context.Context, _ peer) (string, error) {
				select {
				case <-time.After(5 * time.Second):
					return "done", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
			l, m := servers(map[string]tool{"wait": wait})
			s, _ := inMemory(t, l)
			sm, _ := inMemory(t, m)
			hs := s.begin()
			get := s.open("GET", "", hs...)
			body, headers := call("1", "wait", `{}`)
			got := make(chan string, 2)
			for _, c := range []struct {
				s       *site
				body    string
				headers []string
			}{{s, legacyCall("1", "wait"), hs}, {sm, body, headers}} {
				go func() {
					res, err := c.s.client.Do(c.s.request(t.Context(), "POST", c.body, c.headers...))
					if err != nil {
						got <- err.Error()
						return
					}
					b, _ := io.ReadAll(res.Body)
					_ = res.Body.Close()
					got <- string(b)
				}()
			}
			synctest.Wait()
			limit := time.Second
			if patient {
				limit = 10 * time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			start := time.Now()
			down := make(chan error, 2)
			for _, h := range []*streamhttp.Handler{s.h, sm.h} {
				go func() { down <- h.Shutdown(ctx) }()
			}
			synctest.Wait()
			require.Equal(t, 503, sm.post(modernList, modernVersion, "Mcp-Method: tools/list").StatusCode)
			require.Equal(t, 503, s.post(initialize).StatusCode)
			for range 2 {
				if err := <-down; patient {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, context.DeadlineExceeded)
				}
				if answer := <-got; patient {
					require.Contains(t, answer, "done")
				}
			}
			require.LessOrEqual(t, time.Since(start), 5*time.Second)
			_, more := get.next()
			require.False(t, more)
			synctest.Wait()
			require.Zero(t, s.h.Stats())
			require.Zero(t, sm.h.Stats())
		})
	}
}

// TestServe holds the whole: an address of this machine, served until the
// context ends, with what middleware adds.
func TestServe(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := streamhttp.Listen(ctx, ":0")
	require.NoError(t, err)
	require.True(t, l.Addr().(*net.TCPAddr).IP.IsLoopback(), "other machines only when asked for")
	h := streamhttp.NewHandler(both())
	done := make(chan error)
	go func() {
		done <- streamhttp.Serve(ctx, l, h, func(h http.Handler) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/mcp", h)
			return mux
		})
	}()
	get := func(path string) int {
		res, err := http.Post("http://"+l.Addr().String()+path, "application/json", strings.NewReader(initialize))
		require.NoError(t, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
	require.Equal(t, 200, get("/mcp"))
	require.Equal(t, 404, get("/other"))
	http.DefaultClient.CloseIdleConnections()
	cancel()
	require.NoError(t, <-done)

	_, err = streamhttp.Listen(t.Context(), "nonsense")
	require.Error(t, err)
	bad := streamhttp.NewHandler(nil)
	require.Error(t, bad.Err())
	require.Error(t, streamhttp.ListenAndServe(t.Context(), "127.0.0.1:0", bad, nil))
}

// TestBadBinder holds that a binder that fails is told of, and answered with
// 500 and no details.
func TestBadBinder(t *testing.T) {
	l, _ := servers(nil)
	l.ListTools = nil // half a capability
	h := streamhttp.NewHandler(l, streamhttp.HandlerOptions{Logger: slog.New(slog.DiscardHandler)})
	require.ErrorContains(t, h.Err(), "ListTools")
	srv := httptest.NewServer(h)
	defer srv.Close()
	s := &site{t: t, h: h, srv: srv}
	r := s.post(initialize)
	require.Equal(t, 500, r.StatusCode)
	require.NotContains(t, r.body, "ListTools")
}

// TestManyCallsWithCancellations holds that calls of which many are cancelled
// at any moment harm nobody and leave nothing behind.
func TestManyCallsWithCancellations(t *testing.T) {
	const calls = 1000
	l, m := servers(map[string]tool{"work": func(ctx context.Context, p peer) (string, error) {
		for i := range 3 {
			if err := p.Progress(ctx, float64(i+1), nil, ""); err != nil {
				return "", err
			}
			select {
			case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return "done", nil
	}})
	ls, ms := serve(t, l), serve(t, m)
	hs := ls.begin()
	var ok, cut atomic.Int64
	var wg sync.WaitGroup
	slots := make(chan struct{}, 64)
	for i := range calls {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if rand.IntN(2) == 0 {
				time.AfterFunc(time.Duration(rand.IntN(4000))*time.Microsecond, cancel)
			}
			s, body, headers := ls, legacyCall(jsonInt(int64(i+1)), "work"), hs
			if i%2 == 0 {
				s = ms
				body, headers = call("1", "work", `{}`)
				body = strings.Replace(body, `"_meta":{`, withToken, 1)
			}
			res, err := s.srv.Client().Do(s.request(ctx, "POST", body, headers...))
			if err != nil {
				cut.Add(1)
				return
			}
			b, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			switch {
			case err != nil:
				cut.Add(1)
			case bytes.Contains(b, []byte("done")):
				ok.Add(1)
			default:
				t.Errorf("neither answered nor cut: %d %s", res.StatusCode, b)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, calls, ok.Load()+cut.Load())
	require.NotZero(t, ok.Load())
	require.NotZero(t, cut.Load())
	require.Equal(t, 200, ls.post(list, hs...).StatusCode)
	require.NoError(t, ls.h.Shutdown(t.Context()))
	require.NoError(t, ms.h.Shutdown(t.Context()))
	require.Zero(t, ls.h.Stats())
	require.Zero(t, ms.h.Stats())
}

// TestConnectionsLeaveNothing holds that clients which come and vanish, in the
// middle of whatever they were doing, leave neither requests nor descriptors.
func TestConnectionsLeaveNothing(t *testing.T) { vanish(t, 300, 50) }

func vanish(t *testing.T, clients, atOnce int) {
	l, m := servers(map[string]tool{"wait": func(ctx context.Context, p peer) (string, error) {
		_ = p.Progress(ctx, 1, nil, "")
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond): // in a session nobody cancels it
		}
		return "", ctx.Err()
	}})
	s := serve(t, bothOf(l, m))
	hs := s.begin()
	addr := s.srv.Listener.Addr().String()
	slow, slowHeaders := call("1", "wait", `{}`)
	requests := []string{
		"",
		"POST /mcp HTTP/1.1\r\nHost: x",
		httpText("POST", addr, slow[:20], len(slow), slowHeaders),
		httpText("POST", addr, slow, len(slow), slowHeaders),
		httpText("POST", addr, listenBody, len(listenBody), listenHeaders),
		httpText("GET", addr, "", 0, hs),
		httpText("POST", addr, legacyCall(`"%d"`, "wait"), len(legacyCall(`"%d"`, "wait"))+4, hs),
	}
	s.srv.Client().CloseIdleConnections()
	before := descriptors()
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i := range clients {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(c, strings.Replace(requests[i%len(requests)], "%d", fmt.Sprintf("%06d", i), 1))
			if i%2 == 0 {
				_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
				_, _ = c.Read(make([]byte, 100))
			}
			if i%3 == 0 {
				_ = c.(*net.TCPConn).SetLinger(0) // a reset
			}
			_ = c.Close()
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return s.h.Stats().Requests == 0 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return descriptors() <= before+1 }, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, 200, s.post(list, hs...).StatusCode)
	require.Equal(t, 1, s.h.Stats().Sessions)
}

func httpText(method, host, body string, length int, headers []string) string {
	return fmt.Sprintf("%s /mcp HTTP/1.1\r\nHost: %s\r\nAccept: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		method, host, acceptBoth, length, strings.Join(headers, "\r\n"), body)
}

// descriptors is how many files this process has open, 0 where that cannot be
// told.
func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

// TestHTTP2 holds that streams, cancellation and answers are the same over
// HTTP/2.
func TestHTTP2(t *testing.T) {
	cancelled := make(chan struct{})
	l, m := servers(map[string]tool{
		"steps": func(ctx context.Context, p peer) (string, error) { return "done", p.Progress(ctx, 1, nil, "") },
		"wait": func(ctx context.Context, p peer) (string, error) {
			_ = p.Progress(ctx, 1, nil, "")
			<-ctx.Done()
			close(cancelled)
			return "", ctx.Err()
		},
	})
	for name, b := range map[string]jsonrpc.Binder{"legacy": l, "modern": m} {
		t.Run(name, func(t *testing.T) {
			h := streamhttp.NewHandler(b)
			srv := httptest.NewUnstartedServer(h)
			srv.EnableHTTP2 = true
			srv.StartTLS()
			defer srv.Close()
			defer h.Close()
			s := &site{t: t, h: h, srv: srv}
			if name == "legacy" {
				hs := s.begin()
				r := s.post(legacyCall("1", "steps"), hs...)
				require.Equal(t, 2, r.ProtoMajor)
				require.Len(t, r.frames(), 2)
				st := s.open("GET", "", hs...)
				require.Equal(t, 204, s.do("DELETE", "", hs...).StatusCode)
				_, more := st.next()
				require.False(t, more)
				return
			}
			body, headers := call("1", "steps", `{}`)
			r := s.post(strings.Replace(body, `"_meta":{`, withToken, 1), headers...)
			require.Equal(t, 2, r.ProtoMajor)
			require.Len(t, r.frames(), 2)
			body, headers = call("1", "wait", `{}`)
			st := s.open("POST", strings.Replace(body, `"_meta":{`, withToken, 1), headers...)
			st.message()
			st.close()
			<-cancelled
		})
	}
}

// wrapped is what middleware makes of a ResponseWriter.
type wrapped struct {
	http.ResponseWriter
}

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// bare hides all that is not a ResponseWriter.
type bare struct{ w http.ResponseWriter }

func (b bare) Header() http.Header         { return b.w.Header() }
func (b bare) Write(p []byte) (int, error) { return b.w.Write(p) }
func (b bare) WriteHeader(status int)      { b.w.WriteHeader(status) }

// TestMiddleware holds that a handler works behind middleware: streams are
// flushed through what can be unwrapped, and arrive all the same through what
// cannot.
func TestMiddleware(t *testing.T) {
	goOn := make(chan struct{}, 1)
	_, m := servers(map[string]tool{"slow": func(ctx context.Context, p peer) (string, error) {
		_ = p.Progress(ctx, 1, nil, "")
		<-goOn
		return "done", nil
	}})
	body, headers := call("1", "slow", `{}`)
	body = strings.Replace(body, `"_meta":{`, withToken, 1)
	s := serve(t, m)
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.h.ServeHTTP(wrapped{w}, r) })
	st := s.open("POST", body, headers...)
	require.Contains(t, st.message().data, "progress", "before the answer")
	goOn <- struct{}{}
	require.Contains(t, st.message().data, "done")

	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.h.ServeHTTP(bare{w}, r) })
	goOn <- struct{}{}
	require.Len(t, s.post(body, headers...).frames(), 2)
}

// TestLogsHoldNoSecrets holds that neither ids of sessions nor headers nor
// bodies are logged, at any level.
func TestLogsHoldNoSecrets(t *testing.T) {
	var log syncBuffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l, m := servers(map[string]tool{"fail": func(context.Context, peer) (string, error) { return "", errors.New("no") }})
	l.Options.Logger, m.Options.Logger = logger, logger
	s := serve(t, l, streamhttp.HandlerOptions{Logger: logger, EventStore: &brokenStore{}})
	hs := append(s.begin(), "Authorization: Bearer hunter2", "Cookie: hunter2")
	s.post(legacyCall("1", "fail"), hs...)
	s.post(`{"a":"hunter2"`, hs...)
	s.post(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"password":"hunter2"}}`, hs...)
	s.do("GET", "", append(hs, "Last-Event-ID: hunter2")...)
	s.do("PUT", "hunter2", hs...)
	s.post(list, append(hs, "Origin: https://evil.example")...)
	s.do("DELETE", "", hs...)
	s.post(list, hs...)
	require.NotEmpty(t, log.String())
	require.NotContains(t, log.String(), "hunter2")
	require.NotContains(t, log.String(), strings.TrimPrefix(hs[0], "Mcp-Session-Id: "))
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
