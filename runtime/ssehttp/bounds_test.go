package ssehttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/ssehttp"
)

// unread opens a stream whose client reads its first event and no more.
func unread(t *testing.T, srv *httptest.Server) (post func(body string) (status int)) {
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, err)
	rd := bufio.NewReader(c)
	for {
		line, err := rd.ReadString('\n')
		require.NoError(t, err)
		if where, ok := strings.CutPrefix(line, "data: "); ok {
			where = strings.TrimSpace(where)
			return func(body string) int {
				resp, err := http.Post(srv.URL+where, "application/json", strings.NewReader(body))
				if err != nil {
					return 0
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				return resp.StatusCode
			}
		}
	}
}

const sayInitialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`

func call(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":%q}}}`, id, text)
}

// TestClientThatDoesNotRead: what waits for a client that does not read its
// stream is bounded, refusals as well as answers, and Shutdown does not wait
// for it longer than its context.
func TestClientThatDoesNotRead(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, MaxOutgoing: 1 << 10, WriteTimeout: -1})
	srv := httptest.NewServer(h)
	defer srv.Close()
	defer srv.CloseClientConnections()
	post := unread(t, srv)
	require.Equal(t, http.StatusAccepted, post(sayInitialize))
	before := runtime.NumGoroutine()
	require.Equal(t, http.StatusAccepted, post(call(1, strings.Repeat("x", 20<<20))))
	require.Equal(t, http.StatusAccepted, post(call(2, strings.Repeat("x", 2<<10))))
	n := 0
	require.Eventually(t, func() bool {
		n++
		return post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"no/such"}`, n+2)) == http.StatusServiceUnavailable
	}, 30*time.Second, 10*time.Millisecond)
	for range 100 {
		require.Equal(t, http.StatusServiceUnavailable, post(call(3, "x")), "as long as nothing is read")
	}
	require.Less(t, runtime.NumGoroutine(), before+n+20)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	require.ErrorIs(t, h.Shutdown(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(start), 5*time.Second)
	require.Eventually(t, func() bool { return h.Sessions() == 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, http.StatusNotFound, post(call(3, "x")))
}

// TestMessagesThatWait: at most twice as many messages as may be handled wait
// for their answers, however quickly they come.
func TestMessagesThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(nil)
		s.Options.MaxInFlight = 4
		h := ssehttp.NewHandler(s, ssehttp.HandlerOptions{Logger: quiet, MaxOutgoing: 1 << 10})
		o := openIn(t, h)
		release := o.hold()
		require.Equal(t, http.StatusAccepted, o.post(call(1, "is being written")))
		synctest.Wait()
		require.Equal(t, http.StatusAccepted, o.post(call(2, strings.Repeat("x", 2<<10)))) // waits to be
		synctest.Wait()
		var mu sync.Mutex
		var wg sync.WaitGroup
		statuses := map[int]int{}
		for i := range 50 {
			wg.Go(func() {
				status := o.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"no/such"}`, i+3))
				mu.Lock()
				defer mu.Unlock()
				statuses[status]++
			})
		}
		wg.Wait()
		require.Equal(t, map[int]int{http.StatusAccepted: 8, http.StatusServiceUnavailable: 42}, statuses)
		release()
		for range 10 {
			o.next(t)
		}
		synctest.Wait()
		require.Equal(t, http.StatusAccepted, o.post(call(60, "x")), "there is room again")
		require.Equal(t, "60", o.next(t).Get("id").String())
		o.end()
	})
}

// TestBodiesAreBounded: long bodies of messages that are handled are counted.
func TestBodiesAreBounded(t *testing.T) {
	cancelled := make(chan string, 1)
	h := ssehttp.NewHandler(server(cancelled), ssehttp.HandlerOptions{Logger: quiet, MaxBuffered: 1 << 20})
	url := serve(t, h)
	_, rd, where := open(t, url, nil)
	say := func(body string) int { return post(t, url+where, body, nil).StatusCode }
	require.Equal(t, http.StatusAccepted, say(sayInitialize))
	_, err := rd.Next()
	require.NoError(t, err)
	pad := strings.Repeat("x", 700<<10)
	require.Equal(t, http.StatusAccepted, say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"text":"`+pad+`"}}}`))
	require.Equal(t, http.StatusServiceUnavailable, say(call(2, pad)))
	require.Equal(t, http.StatusAccepted, say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	<-cancelled
	require.Eventually(t, func() bool { return say(call(3, pad)) == http.StatusAccepted }, 10*time.Second, time.Millisecond, "they are given back")
	ev, err := rd.Next()
	require.NoError(t, err)
	require.Contains(t, string(ev.Data), pad)
	for _, n := range []int{0, 1, 4<<10 - 1, 4 << 10, 4<<10 + 1, 16 << 10, 64 << 10, 64<<10 + 1, 300 << 10} { // around each step of the buffer
		for _, counted := range []bool{true, false} {
			body := call(4, "")
			body += strings.Repeat(" ", max(0, n-len(body)))
			say := func() int {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+where, struct{ io.Reader }{strings.NewReader(body)})
				require.NoError(t, err)
				if counted {
					req.ContentLength = int64(len(body))
				}
				resp, err := http.DefaultClient.Do(req)
				require.NoError(t, err)
				_ = resp.Body.Close()
				return resp.StatusCode
			}
			// What the one before took is given back just behind its answer.
			require.Eventually(t, func() bool { return say() == http.StatusAccepted }, 10*time.Second, time.Millisecond, "%d", n)
			ev, err := rd.Next()
			require.NoError(t, err)
			require.Contains(t, string(ev.Data), `"id":4,"result"`, "%d", n)
		}
	}
}

// TestStreamWithABody: a GET whose body does not come is refused, and holds up
// nothing.
func TestStreamWithABody(t *testing.T) {
	h := ssehttp.NewHandler(server(nil), ssehttp.HandlerOptions{Logger: quiet, BodyTimeout: 20 * time.Millisecond})
	srv := httptest.NewServer(h)
	defer srv.Close()
	for body, want := range map[string]string{
		"Content-Length: 100\r\n\r\n":                                  "400",
		"Content-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000): "400",
		"Transfer-Encoding: chunked\r\n\r\n":                           "400",
		"Content-Length: 2\r\n\r\n{}":                                  "200",
	} {
		c, err := net.Dial("tcp", srv.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n"+body)
		require.NoError(t, err)
		line, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, line, " "+want+" ", "%.40q", body)
		_ = c.Close()
	}
	require.NoError(t, h.Shutdown(t.Context()))
	require.Zero(t, h.Sessions())
}
