package ssehttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	old "github.com/goldwire/goldwire/generated/mcp/v20241105"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// streaming is a server whose tool "text" gives what r reads; its other tools
// are those of server.
func streaming(r func() io.Reader) old.Server {
	s := server(nil)
	call := s.CallTool
	s.CallTool = func(ctx context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
		if p.Name == "text" {
			return nil, &jsonrpc.TextStream{Reader: r()}
		}
		return call(ctx, p)
	}
	return s
}

func callText(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"text"}}`, id)
}

// responder is a response whose writes may be held up, in a bubble.
type responder struct {
	header http.Header
	mu     sync.Mutex
	gate   chan struct{} // writes wait until it is closed; nil for none
	r      *io.PipeReader
	w      *io.PipeWriter
	wrote  []time.Time
}

func newResponder() *responder {
	p := &responder{header: http.Header{}}
	p.r, p.w = io.Pipe()
	return p
}

func (p *responder) Header() http.Header              { return p.header }
func (p *responder) WriteHeader(int)                  {}
func (p *responder) Flush()                           {}
func (p *responder) SetReadDeadline(time.Time) error  { return nil }
func (p *responder) SetWriteDeadline(time.Time) error { return nil }
func (p *responder) Write(b []byte) (int, error) {
	p.mu.Lock()
	gate := p.gate
	p.wrote = append(p.wrote, time.Now())
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
	return p.w.Write(b)
}

// hold holds up writes until the func it returns is called.
func (p *responder) hold() (release func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	p.gate = gate
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.gate = nil
		p.mu.Unlock()
		close(gate)
	}
}

// opened is a client's stream in a bubble, and what posts to it.
type opened struct {
	*responder
	rd   *sse.Reader
	post func(body string) int
	end  func()
}

func openIn(t *testing.T, h *ssehttp.Handler) *opened {
	ctx, cancel := context.WithCancel(t.Context())
	o := &opened{responder: newResponder()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.ServeHTTP(o.responder, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		_ = o.w.Close()
	}()
	o.end = func() {
		cancel()
		_ = o.r.Close()
		<-done
	}
	o.rd = sse.NewReader(o.r, 0)
	ev, err := o.rd.Next()
	require.NoError(t, err)
	require.Equal(t, "endpoint", ev.Type)
	where := string(ev.Data)
	o.post = func(body string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/"+where, strings.NewReader(body)))
		return w.Code
	}
	require.Equal(t, http.StatusAccepted, o.post(sayInitialize))
	_ = o.next(t)
	return o
}

func (o *opened) next(t *testing.T) wire.Raw {
	t.Helper()
	ev, err := o.rd.Next()
	require.NoError(t, err)
	require.True(t, json.Valid(ev.Data), "%.100s", ev.Data)
	return wire.Raw(ev.Data).Clone()
}

func textIn(m wire.Raw) string {
	for c := range m.Get("result").Get("content").Elems() {
		s, _ := c.Get("text").Str()
		return s
	}
	return ""
}

// TestTextStream: the text of a reader arrives as it is, one message of many, and
// nothing comes between.
func TestTextStream(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "short": "hi\n", "long": strings.Repeat("日本語 \"quoted\" \\ \u2028 \x01\r\n", 10_000), "around what is held back": strings.Repeat("x", 200),
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, ssehttp.NewHandler(streaming(func() io.Reader { return strings.NewReader(text) }), ssehttp.HandlerOptions{Logger: quiet, MaxOutgoing: 100_000}))
			r, err := old.Connect(t.Context(), endpoint(url), client())
			require.NoError(t, err)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for range 5 {
						if i%2 == 0 {
							require.Equal(t, `"hi"`, echo(t, r, "echo", "hi"))
						} else {
							require.True(t, text == echo(t, r, "text", ""))
						}
					}
				})
			}
			wg.Wait()
			require.NoError(t, r.Close())
		})
	}
}

// pauses gives a text, a pause before its end.
type pauses struct {
	r     io.Reader
	pause time.Duration
}

func (p *pauses) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	if err == io.EOF && p.pause > 0 {
		time.Sleep(p.pause)
		p.pause = 0
	}
	return n, err
}

// TestTextStreamStaysAlive: while the reader of a text pauses something comes
// within the time between keep-alives, nothing of others, and POSTs are taken.
func TestTextStreamStaysAlive(t *testing.T) {
	for _, n := range []int{0, 10, 300, 100_000} {
		synctest.Test(t, func(t *testing.T) {
			text := strings.Repeat("y", n)
			h := ssehttp.NewHandler(streaming(func() io.Reader { return &pauses{strings.NewReader(text), 100 * time.Second} }), ssehttp.HandlerOptions{Logger: quiet, KeepAlive: 15 * time.Second})
			o := openIn(t, h)
			begun := time.Now()
			require.Equal(t, http.StatusAccepted, o.post(callText(1)))
			time.AfterFunc(50*time.Second, func() { require.Equal(t, http.StatusAccepted, o.post(call(2, "x"))) })
			m := o.next(t)
			require.Equal(t, "1", m.Get("id").String())
			require.Equal(t, text, textIn(m))
			require.Equal(t, 100*time.Second, time.Since(begun).Truncate(time.Second))
			require.Equal(t, "2", o.next(t).Get("id").String())
			last := begun
			o.mu.Lock()
			for _, at := range o.wrote {
				if at.After(begun) {
					require.LessOrEqual(t, at.Sub(last), 15*time.Second)
					last = at
				}
			}
			o.mu.Unlock()
			o.end()
			require.Zero(t, h.Sessions())
		})
	}
}

// endless never ends.
type endless struct{ closed chan struct{} }

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func (e endless) Close() error {
	close(e.closed)
	return nil
}

// TestTextStreamOfAClientThatLeaves, or does not read, is read no further ahead
// than a bound, ends with the client's stream, and its reader is closed.
func TestTextStreamOfAClientThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var before, after runtime.MemStats
		closed := make(chan struct{})
		h := ssehttp.NewHandler(streaming(func() io.Reader { return endless{closed} }), ssehttp.HandlerOptions{Logger: quiet})
		o := openIn(t, h)
		release := o.hold()
		runtime.ReadMemStats(&before)
		require.Equal(t, http.StatusAccepted, o.post(callText(1)))
		synctest.Wait()
		runtime.ReadMemStats(&after)
		require.Less(t, int64(after.TotalAlloc)-int64(before.TotalAlloc), int64(4<<20))
		require.Equal(t, http.StatusAccepted, o.post(call(2, "waits")))
		_ = o.r.CloseWithError(io.ErrClosedPipe)
		release()
		<-closed
		o.end()
		synctest.Wait()
		require.Zero(t, h.Sessions())
	})
}

// TestTextStreamAndShutdown: a text that is being written is written to its end,
// within the time there is.
func TestTextStreamAndShutdown(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		whole bool
	}{{5 * time.Second, true}, {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			h := ssehttp.NewHandler(streaming(func() io.Reader { return &pauses{strings.NewReader("text"), c.takes} }), ssehttp.HandlerOptions{Logger: quiet})
			o := openIn(t, h)
			require.Equal(t, http.StatusAccepted, o.post(callText(1)))
			ended := make(chan error, 1)
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				ended <- h.Shutdown(ctx)
			}()
			begun := time.Now()
			ev, err := o.rd.Next()
			if c.whole {
				require.NoError(t, err)
				require.Equal(t, "text", textIn(ev.Data))
				require.NoError(t, <-ended)
			} else {
				require.Error(t, err, "half a message is none")
				require.Error(t, <-ended)
			}
			require.LessOrEqual(t, time.Since(begun), 10*time.Second)
			time.Sleep(2 * time.Hour) // the reader's
			o.end()
			require.Zero(t, h.Sessions())
		})
	}
}

// slowRelay answers initialize, and takes its time with notifications.
type slowRelay struct{ free chan struct{} }

func (slowRelay) Request(ctx context.Context) (jsonrpc.Answer, error) {
	id := string(jsonrpc.PeerOf(ctx).Message().Get("id"))
	return jsonrpc.Answer{Data: []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`)}, nil
}

func (r slowRelay) Notification(context.Context) { <-r.free }

// TestPostOfASlowMessage: who posts waits until a message has its place, but not
// longer than the stream is open.
func TestPostOfASlowMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		relay := slowRelay{make(chan struct{})}
		h := ssehttp.NewHandler(jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: "2024-11-05", Relay: relay}), ssehttp.HandlerOptions{Logger: quiet})
		o := openIn(t, h)
		status := make(chan int, 1)
		go func() { status <- o.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`) }()
		synctest.Wait()
		require.Empty(t, status)
		o.end()
		synctest.Wait()
		require.Len(t, status, 1)
		require.Equal(t, http.StatusAccepted, <-status)
		close(relay.free)
	})
}

// TestCallOfAClientThatDoesNotRead: a call of the server ends at its time while
// it waits for room.
func TestCallOfAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(nil)
		s.Options.Timeout = new(time.Second)
		conns, echo := make(chan *jsonrpc.Conn, 2), s.CallTool
		s.CallTool = func(ctx context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
			conns <- jsonrpc.PeerOf(ctx).Conn()
			return echo(ctx, p)
		}
		o := openIn(t, ssehttp.NewHandler(s, ssehttp.HandlerOptions{Logger: quiet, MaxOutgoing: 1 << 10}))
		release := o.hold()
		require.Equal(t, http.StatusAccepted, o.post(call(1, "is being written")))
		synctest.Wait()
		require.Equal(t, http.StatusAccepted, o.post(call(2, strings.Repeat("x", 2<<10)))) // waits to be
		synctest.Wait()
		start := time.Now()
		err := (<-conns).Ping(context.Background())
		require.ErrorIs(t, err, jsonrpc.ErrTimeout)
		require.ErrorIs(t, err, jsonrpc.ErrOverloaded)
		require.Equal(t, time.Second, time.Since(start))
		release()
		_, _ = o.next(t), o.next(t)
		o.end()
	})
}

// broken is a middleware's writer that panics when the session is open.
type broken struct{ http.ResponseWriter }

func (broken) Write([]byte) (int, error) { panic(http.ErrAbortHandler) }

// TestStreamThatPanics: nothing is left of a stream whose writer panics.
func TestStreamThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet})
		require.PanicsWithValue(t, http.ErrAbortHandler, func() {
			h.ServeHTTP(broken{newResponder()}, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		})
		require.Zero(t, h.Sessions())
		require.NoError(t, h.Shutdown(t.Context()))
	})
}
