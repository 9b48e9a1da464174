package streamhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// wireClient is a keep-alive client without a client's costs: it writes one
// request again and again and reads the answers.
type wireClient struct {
	c   net.Conn
	r   *bufio.Reader
	req []byte
}

func dialWire(tb testing.TB, addr, body string, headers []string) *wireClient {
	tb.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	var b strings.Builder
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n", addr, acceptBoth, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	b.WriteString("\r\n" + body)
	return &wireClient{c: c, r: bufio.NewReader(c), req: []byte(b.String())}
}

// call makes one call and returns the body.
func (w *wireClient) call() (string, error) {
	if _, err := w.c.Write(w.req); err != nil {
		return "", err
	}
	length := -1
	for first := true; ; first = false {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if first && string(line[9:12]) != "200" {
			return "", fmt.Errorf("%s", line)
		}
		if len(line) == 2 {
			break
		}
		if v, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(v))
		}
	}
	if length >= 0 {
		body, err := w.r.Peek(length)
		if err != nil {
			return "", err
		}
		s := string(body)
		_, err = w.r.Discard(length)
		return s, err
	}
	var out strings.Builder
	for {
		line, err := w.r.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(line)), 16, 64)
		if err != nil {
			return "", err
		}
		if _, err := io.CopyN(&out, w.r, n); err != nil {
			return "", err
		}
		if _, err := w.r.Discard(2); err != nil {
			return "", err
		}
		if n == 0 {
			return out.String(), nil
		}
	}
}

// rawHandler writes what it is told to, as a handler of one line would.
func rawHandler(parts ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			return
		}
		if len(parts) == 1 {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(parts[0])))
			_, _ = io.WriteString(w, parts[0])
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache, no-transform")
		w.Header().Set("X-Accel-Buffering", "no")
		for _, p := range parts {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	})
}

func listen(tb testing.TB, h http.Handler) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	srv := streamhttp.NewServer(h)
	go func() { _ = srv.Serve(l) }()
	tb.Cleanup(func() { _ = srv.Close() })
	return l.Addr().String()
}

type benchCase struct {
	name    string
	body    string
	headers []string
	raw     []string // what the answer is made of
}

// benchCases begins what sessions are needed.
func benchCases(tb testing.TB, addr string) []benchCase {
	tb.Helper()
	init := dialWire(tb, addr, initialize, nil)
	if _, err := init.c.Write(init.req); err != nil {
		tb.Fatal(err)
	}
	res, err := http.ReadResponse(init.r, nil)
	if err != nil {
		tb.Fatal(err)
	}
	session := []string{"Mcp-Session-Id: " + res.Header.Get("Mcp-Session-Id"), "MCP-Protocol-Version: 2025-11-25"}
	body, headers := call("1", "echo", `{"text":"hello"}`)
	cases := []benchCase{
		{name: "modern", body: body, headers: headers},
		{name: "legacy", body: legacyCall("1", "echo"), headers: session},
		{name: "legacy-sse", body: legacyCall("1", "steps"), headers: session},
	}
	for i := range cases {
		c := &cases[i]
		s, err := dialWire(tb, addr, c.body, c.headers).call()
		if err != nil {
			tb.Fatal(err)
		}
		if c.raw = []string{s}; strings.HasPrefix(s, "id:") {
			c.raw = strings.SplitAfter(strings.TrimSuffix(s, "\n\n"), "\n\n")
		}
	}
	return cases
}

// BenchmarkSequential makes calls one after another, to a handler and to a
// net/http handler that writes the same bytes in turn, and says how the median
// latencies compare.
func BenchmarkSequential(b *testing.B) {
	h := streamhttp.NewHandler(both())
	defer h.Close()
	addr := listen(b, h)
	for _, c := range benchCases(b, addr) {
		b.Run(c.name, func(b *testing.B) {
			ours := dialWire(b, addr, c.body, c.headers)
			raw := dialWire(b, listen(b, rawHandler(c.raw...)), c.body, c.headers)
			var times [2][]time.Duration
			b.ReportAllocs()
			for b.Loop() {
				for i, w := range []*wireClient{raw, ours} {
					start := time.Now()
					if _, err := w.call(); err != nil {
						b.Fatal(err)
					}
					times[i] = append(times[i], time.Since(start))
				}
			}
			rawP50, oursP50 := median(times[0]), median(times[1])
			b.ReportMetric(float64(rawP50), "raw-p50-ns")
			b.ReportMetric(float64(oursP50), "p50-ns")
			b.ReportMetric(float64(oursP50)/float64(rawP50), "ratio")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkParallel is the same with 64 clients at once: calls a second.
func BenchmarkParallel(b *testing.B) {
	const clients, slice = 64, 50 * time.Millisecond
	h := streamhttp.NewHandler(both())
	defer h.Close()
	addr := listen(b, h)
	for _, c := range benchCases(b, addr) {
		b.Run(c.name, func(b *testing.B) {
			rawAddr := listen(b, rawHandler(c.raw...))
			var pools [2][]*wireClient
			for i := range clients {
				body := strings.Replace(c.body, `"id":1`, `"id":`+strconv.Itoa(i+1), 1) // of one session
				pools[0] = append(pools[0], dialWire(b, rawAddr, body, c.headers))
				pools[1] = append(pools[1], dialWire(b, addr, body, c.headers))
			}
			var raw, ours, ratios []float64
			b.ReportAllocs()
			for b.Loop() {
				// The two right after each other, and the median of the ratios:
				// what else the machine does comes and goes.
				x, y := rate(b, pools[0], slice), rate(b, pools[1], slice)
				raw, ours, ratios = append(raw, x), append(ours, y), append(ratios, x/y)
			}
			for _, l := range [][]float64{raw, ours, ratios} {
				slices.Sort(l)
			}
			b.ReportMetric(raw[len(raw)/2], "raw-calls/s")
			b.ReportMetric(ours[len(ours)/2], "calls/s")
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

func rate(tb testing.TB, pool []*wireClient, d time.Duration) float64 {
	var n atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	start := time.Now()
	for _, w := range pool {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := w.call(); err != nil {
					tb.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(start).Seconds()
}

// nowhere is a ResponseWriter that costs nothing.
type nowhere struct{ h http.Header }

func (n *nowhere) Header() http.Header         { return n.h }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

// BenchmarkHandler is what the handler itself costs, without net/http.
func BenchmarkHandler(b *testing.B) {
	h := streamhttp.NewHandler(both())
	defer h.Close()
	for _, c := range benchCases(b, listen(b, h)) {
		if len(c.raw) > 1 {
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
			if err != nil {
				b.Fatal(err)
			}
			r.Header.Set("Accept", acceptBoth)
			r.Header.Set("Content-Type", "application/json")
			for _, h := range c.headers {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			r.ContentLength = int64(len(c.body))
			body := strings.NewReader("")
			r.Body = io.NopCloser(body)
			w := &nowhere{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(c.body)
				clear(w.h)
				h.ServeHTTP(w, r)
			}
		})
	}
}

// memory is what is in use, once everything else is collected.
func memory() (bytes uint64) {
	var s runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&s)
	return s.HeapAlloc + s.StackInuse
}

// BenchmarkIdleSession is the memory of a session without streams that made
// one call.
func BenchmarkIdleSession(b *testing.B) {
	const sessions = 2000
	var each float64
	for b.Loop() {
		h := streamhttp.NewHandler(both())
		do := func(body, session string) string {
			r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := &nowhere{http.Header{}}
			h.ServeHTTP(w, r)
			return w.h.Get("Mcp-Session-Id")
		}
		start := memory()
		for range sessions {
			id := do(initialize, "")
			do(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, id)
			do(legacyCall("1", "echo"), id)
		}
		each = float64(memory()-start) / sessions
		if n := h.Stats().Sessions; n != sessions {
			b.Fatal(n)
		}
		h.Close()
	}
	b.ReportMetric(each, "B/session")
}

// BenchmarkIdleStreams is the memory and the goroutines of 5,000 open streams
// that nothing is sent on, beside those of a net/http handler that waits.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 5000
	_, m := servers(nil)
	l, _ := servers(nil)
	raw := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": hello\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for _, c := range []struct {
		name    string
		handler func() (http.Handler, func())
		session bool
	}{
		{"raw", func() (http.Handler, func()) { return raw, func() {} }, false},
		{"listen", func() (http.Handler, func()) { h := streamhttp.NewHandler(m); return h, h.Close }, false},
		{"get", func() (http.Handler, func()) { h := streamhttp.NewHandler(l); return h, h.Close }, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var each, goroutines float64
			for b.Loop() {
				h, done := c.handler()
				addr := listen(b, h)
				ids := make([]string, streams)
				if c.session {
					for i := range ids {
						r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(initialize))
						w := &nowhere{http.Header{}}
						h.ServeHTTP(w, r)
						ids[i] = w.h.Get("Mcp-Session-Id")
					}
				}
				start, before := memory(), runtime.NumGoroutine()
				conns := make([]net.Conn, streams)
				buf := make([]byte, 4096)
				for i := range conns {
					w, err := net.Dial("tcp", addr)
					if err != nil {
						b.Fatal(err)
					}
					conns[i] = w
					if c.session {
						_, err = fmt.Fprintf(w, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n\r\n", addr, ids[i])
					} else {
						_, err = fmt.Fprintf(w, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
							addr, acceptBoth, len(listenBody), strings.Join(listenHeaders, "\r\n"), listenBody)
					}
					if err != nil {
						b.Fatal(err)
					}
					if _, err = w.Read(buf); err != nil {
						b.Fatal(err)
					}
				}
				each = float64(memory()-start) / streams
				goroutines = float64(runtime.NumGoroutine()-before) / streams
				for _, c := range conns {
					_ = c.Close()
				}
				done()
			}
			b.ReportMetric(each, "B/stream")
			b.ReportMetric(goroutines, "goroutines/stream")
		})
	}
}
