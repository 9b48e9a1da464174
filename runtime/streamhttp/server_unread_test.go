package streamhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestBodiesThatNobodyReads holds that a body which is announced, not wanted,
// and never comes does not hold a connection: the answer comes, and the
// connection ends. Where it comes after all the connection goes on.
func TestBodiesThatNobodyReads(t *testing.T) {
	const json = "Content-Type: application/json\r\n"
	for _, tt := range []struct {
		name, start string
		want        int
		goesOn      bool
	}{
		{"not JSON", "POST /mcp HTTP/1.1\r\nContent-Type: text/plain\r\n", 415, true},
		{"a page's", "POST /mcp HTTP/1.1\r\nOrigin: https://evil.example\r\n" + json, 403, true},
		{"a method that is none", "PUT /mcp HTTP/1.1\r\n", 405, true},
		{"DELETE of nothing", "DELETE /mcp HTTP/1.1\r\n", 400, true},
		{"DELETE", "DELETE /mcp HTTP/1.1\r\nSESSION", 204, true},
		{"GET of nothing", "GET /mcp HTTP/1.1\r\n", 400, false},
		{"GET", "GET /mcp HTTP/1.1\r\nSESSION", 400, false},
		{"too long", "POST /mcp HTTP/1.1\r\n" + json, 413, false},
	} {
		for _, comes := range []bool{false, true} {
			if comes && !tt.goesOn {
				continue
			}
			t.Run(fmt.Sprint(tt.name, ", comes: ", comes), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, l := inMemory(t, both(), streamhttp.HandlerOptions{MaxMessage: 1000})
					start := strings.Replace(tt.start, "SESSION", strings.Join(s.begin(), "\r\n")+"\r\n", 1)
					c, err := l.dial()
					require.NoError(t, err)
					defer c.Close()
					length := 100
					if tt.want == 413 {
						length = 2000
					}
					sent := time.Now()
					go func() {
						_, _ = fmt.Fprintf(c, "%sHost: x\r\nContent-Length: %d\r\n\r\n", start, length)
						if comes {
							_, _ = io.WriteString(c, strings.Repeat(" ", length)+"PUT /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
						}
					}()
					r := bufio.NewReader(c)
					res, err := http.ReadResponse(r, nil)
					require.NoError(t, err)
					require.Equal(t, tt.want, res.StatusCode)
					_, err = io.Copy(io.Discard, res.Body)
					require.NoError(t, err)
					if comes {
						require.Zero(t, time.Since(sent))
						res, err = http.ReadResponse(r, nil)
						require.NoError(t, err)
						require.Equal(t, 405, res.StatusCode)
					}
					_, _ = io.Copy(io.Discard, r)
					require.LessOrEqual(t, time.Since(sent), 5*time.Second)
					synctest.Wait()
					require.Zero(t, s.h.Stats().Requests)
				})
			})
		}
	}
}

// TestGetWithABody holds that a client which sends a GET with a body has its
// stream, and that the server notices when it goes away.
func TestGetWithABody(t *testing.T) {
	s := serve(t, both())
	st := s.open("GET", "{}", s.begin()...)
	require.Equal(t, 200, st.res.StatusCode)
	require.Equal(t, 1, s.h.Stats().Requests)
	st.close()
	require.Eventually(t, func() bool { return s.h.Stats().Requests == 0 }, 5*time.Second, time.Millisecond)
}

// TestLateBodies holds that the time for a body is no part of the time for its
// answer: one that comes late is answered, and so is one that does not come.
func TestLateBodies(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration // when the last byte is sent
		takes time.Duration
		bound time.Duration
		want  int
	}{
		{0, 0, 0, 200},
		{55 * time.Second, 7 * time.Second, 0, 200},
		{59 * time.Second, 7 * time.Second, 0, 200},
		{100 * time.Second, 0, 2 * time.Minute, 200},
		{100 * time.Second, time.Second, 2 * time.Minute, 200},
		{200 * time.Second, 0, 0, 408},
		{200 * time.Second, 0, 2 * time.Minute, 408},
	} {
		_, m := servers(map[string]tool{"slow": func(context.Context, peer) (string, error) {
			time.Sleep(tt.takes)
			return "done", nil
		}})
		b, hs := call("1", "slow", `{}`)
		synctest.Test(t, func(t *testing.T) {
			_, l := inMemory(t, m, streamhttp.HandlerOptions{BodyTimeout: tt.bound})
			c, err := l.dial()
			require.NoError(t, err)
			defer c.Close()
			go func() {
				_, _ = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n%s", strings.Join(hs, "\r\n"), len(b), b[:len(b)-1])
				time.Sleep(tt.after)
				_, _ = io.WriteString(c, b[len(b)-1:])
			}()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err, tt.after)
			require.Equal(t, tt.want, res.StatusCode, tt.after)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.NotEmpty(t, got)
			_ = c.Close()
			time.Sleep(200 * time.Second)
		})
	}
}

// TestServeEndsBesideStuckBodies holds that a server which is told to end does
// so in good order beside clients that announced a body and send nothing, and
// that what is handled meanwhile is answered.
func TestServeEndsBesideStuckBodies(t *testing.T) {
	for _, start := range []string{"POST /mcp", "GET /mcp", "PUT /mcp", "DELETE /mcp", "POST /other", "GET /other"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			l := newPipeListener()
			_, m := servers(map[string]tool{"slow": func(context.Context, peer) (string, error) {
				time.Sleep(7 * time.Second)
				return "done", nil
			}})
			h := streamhttp.NewHandler(m)
			done := make(chan error)
			go func() {
				done <- streamhttp.Serve(ctx, l, h, func(h http.Handler) http.Handler {
					mux := http.NewServeMux()
					mux.Handle("/mcp", h)
					return mux
				})
			}()
			stuck, err := l.dial()
			require.NoError(t, err)
			defer stuck.Close()
			go func() {
				_, _ = fmt.Fprintf(stuck, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n", start)
				_, _ = io.Copy(io.Discard, stuck)
			}()
			busy, err := l.dial()
			require.NoError(t, err)
			defer busy.Close()
			b, hs := call("1", "slow", `{}`)
			answered := make(chan string, 1)
			go func() {
				_, _ = fmt.Fprintf(busy, "POST /mcp HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\nContent-Length: %d\r\n\r\n%s", strings.Join(hs, "\r\n"), len(b), b)
				all, _ := io.ReadAll(busy)
				answered <- string(all)
			}()
			synctest.Wait()
			began := time.Now()
			cancel()
			require.NoError(t, <-done, start)
			require.LessOrEqual(t, time.Since(began), 9*time.Second, start)
			require.Contains(t, <-answered, "done")
		})
	}
}
