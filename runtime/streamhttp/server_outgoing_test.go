package streamhttp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestManyUnreadStreams holds that what waits on streams that nobody reads has a
// bound over all of them, that others are answered meanwhile, and that all is
// given back.
func TestManyUnreadStreams(t *testing.T) {
	const (
		bound   = 4 << 20
		clients = 50
		steps   = 2000
		each    = 48 << 10 // what a stream may have beyond the bound, in bytes: 16 KiB, a message, the growth of a buffer
	)
	synctest.Test(t, func(t *testing.T) {
		var h *streamhttp.Handler
		var most, ended atomic.Int64
		flood := func(ctx context.Context, p peer) (string, error) {
			defer ended.Add(1)
			if err := p.Progress(ctx, 0.5, nil, ""); err != nil {
				return "", err
			}
			time.Sleep(time.Millisecond) // then the response is a stream, which the request's goroutine writes
			for i := range steps {
				if i%8 == 0 {
					time.Sleep(time.Microsecond) // all of them get on, and what is being written is little, however many run at once
				}
				if err := p.Progress(ctx, float64(i+1), nil, strings.Repeat("x", 1000)); err != nil {
					return "", err
				}
				for n := int64(h.Stats().Buffered); ; {
					if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
						break
					}
				}
			}
			return "flooded", nil
		}
		tools := map[string]tool{
			"flood": flood,
			"echo":  func(_ context.Context, p peer) (string, error) { return string(p.args), nil },
			"steps": func(ctx context.Context, p peer) (string, error) {
				for i := range 50 {
					if err := p.Progress(ctx, float64(i+1), nil, strings.Repeat("x", 1000)); err != nil {
						return "", err
					}
				}
				return "done", nil
			},
		}
		s, l := inMemory(t, bothOf(servers(tools)), streamhttp.HandlerOptions{MaxBuffered: bound, WriteTimeout: -1, KeepAlive: -1, Polling: true})
		h = s.h
		other := s.begin()
		var conns []net.Conn
		for range clients {
			b, hs := legacyCall("1", "flood"), s.begin()
			c, err := l.dial()
			require.NoError(t, err)
			conns = append(conns, c)
			_, err = io.WriteString(c, httpText("POST", "x", b, len(b), hs))
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			require.NoError(t, err)
			for read := ""; !strings.Contains(read, "0.5"); {
				var b [100]byte
				n, err := res.Body.Read(b[:])
				require.NoError(t, err)
				read += string(b[:n])
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		require.Greater(t, most.Load(), int64(bound/4))
		require.LessOrEqual(t, most.Load(), int64(bound+clients*each))
		require.LessOrEqual(t, s.h.Stats().Buffered, bound+clients*each)

		b, hs := call("7", "echo", `{"a":"b"}`)
		require.Contains(t, s.post(b, hs...).body, "result")
		require.Contains(t, s.post(legacyCall("8", "steps"), other...).body, "done")
		b, hs = call("9", "steps", `{}`)
		require.Contains(t, s.post(strings.Replace(b, `"_meta":{`, withToken, 1), hs...).body, "done")

		require.Equal(t, int64(clients), ended.Load(), "nobody waits for who may come back")
		require.Less(t, s.h.Stats().Buffered, bound/2, "who may come back is cut")
		for _, c := range conns {
			_ = c.Close()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Zero(t, s.h.Stats().Buffered)
		require.Zero(t, s.h.Stats().Requests)
	})
}

// TestUnreadAnswers holds that an answer which is being written counts as what a
// body does, until it is read.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 400 << 10
		s, l := inMemory(t, both(), streamhttp.HandlerOptions{MaxBuffered: 1 << 20})
		b, hs := call("1", "echo", `{"a":"`+strings.Repeat("x", size)+`"}`)
		hs = append(hs, "Accept: application/json")
		c, err := l.dial()
		require.NoError(t, err)
		_, err = fmt.Fprint(c, httpText("POST", "x", b, len(b), hs))
		require.NoError(t, err)
		synctest.Wait()
		require.Greater(t, s.h.Stats().Buffered, 2*size)
		require.Equal(t, 503, s.post(b, hs...).StatusCode)
		small, hs := call("2", "echo", `{}`)
		require.Equal(t, 200, s.post(small, hs...).StatusCode)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		n, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.Greater(t, n, int64(size))
		synctest.Wait()
		require.Zero(t, s.h.Stats().Buffered)
		require.Equal(t, 200, s.post(b, append(hs, "Accept: application/json")...).StatusCode)
		_ = c.Close()
		time.Sleep(time.Minute) // for the connection that was refused
	})
}
