package streamhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// pausing gives a text in parts, with pauses before them.
type pausing struct {
	parts []string
	pause time.Duration
	begun bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, io.EOF
	}
	if !p.begun {
		time.Sleep(p.pause)
		p.begun = true
	}
	n := copy(b, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts, p.begun = p.parts[1:], false
	}
	return n, nil
}

// TestTextStreamStaysAlive: while the reader of a text pauses, before its start
// and in the middle, something comes within the time between keep-alives, and
// the message is whole in the end.
func TestTextStreamStaysAlive(t *testing.T) {
	long := strings.Repeat("日本語\n", 20_000)
	for _, w := range ways() {
		if w.proto != 1 {
			continue // in memory there is no TLS; the writing is the same
		}
		for name, parts := range map[string][]string{
			"short":       {"a", "b", "c"},
			"long":        {long, long, "end"},
			"piecemeal":   {strings.Repeat("x", 70_000), "y", strings.Repeat("z", 10), ""},
			"at its head": {long},
		} {
			t.Run(w.String()+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parts = parts[:len(parts):len(parts)]
					s, _ := inMemory(t, texts(func() io.Reader {
						return &pausing{parts: append([]string(nil), without(parts)...), pause: 100 * time.Second}
					}), streamhttp.HandlerOptions{KeepAlive: 15 * time.Second})
					res, err := s.http().Do(s.caller(w)(t.Context()))
					require.NoError(t, err)
					var all []byte
					var gap time.Duration
					last := time.Now()
					for buf := make([]byte, 4096); ; {
						n, err := res.Body.Read(buf)
						all = append(all, buf[:n]...)
						gap = max(gap, time.Since(last))
						last = time.Now()
						if err == io.EOF {
							break
						}
						require.NoError(t, err)
					}
					require.NoError(t, res.Body.Close())
					require.LessOrEqual(t, gap, 15*time.Second)
					got, isError := textOf(t, reply{res, string(all)})
					require.False(t, isError)
					require.Equal(t, []string{strings.Join(parts, "")}, got)
				})
			})
		}
	}
}

func without(parts []string) (out []string) {
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// TestTextStreamWhoseClientLeavesInAPause: the sign of life finds out that nobody
// is there, and the next piece ends the reading.
func TestTextStreamWhoseClientLeavesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		s, _ := inMemory(t, texts(func() io.Reader {
			return closing{io.MultiReader(&pausing{parts: []string{strings.Repeat("x", 100_000), "y"}, pause: time.Minute}, endless{}), closed}
		}))
		body, hs := call("1", "text", `{}`)
		st := s.open("POST", body, hs...)
		_, err := st.r.Peek(10)
		require.NoError(t, err)
		st.close()
		<-closed
		synctest.Wait()
		require.Zero(t, s.h.Stats().Requests)
		require.Equal(t, uint64(1), s.h.Count(jsonrpc.DroppedAnswer))
	})
}

// TestTextStreamStaysAliveOverHTTP2: where a deadline ends a stream that nothing
// is written to, none is left behind by a sign of life.
func TestTextStreamStaysAliveOverHTTP2(t *testing.T) {
	t.Parallel()
	s := serveOver(t, 2, texts(func() io.Reader {
		return &pausing{parts: []string{strings.Repeat("x", 100_000), "end"}, pause: 2 * time.Second}
	}), nil, streamhttp.HandlerOptions{KeepAlive: 500 * time.Millisecond, WriteTimeout: time.Second})
	for _, w := range []way{{era: "modern", tool: "text", accept: acceptBoth}, {era: "legacy", tool: "told", accept: acceptBoth}} {
		t.Run(w.era, func(t *testing.T) {
			t.Parallel()
			res, err := s.http().Do(s.caller(w)(t.Context()))
			require.NoError(t, err)
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			got, _ := textOf(t, reply{res, string(b)})
			require.Equal(t, []string{strings.Repeat("x", 100_000) + "end"}, got)
		})
	}
}

// TestShutdownWithEverythingOpen: a text whose reader pauses, a call, a
// subscription, a GET stream, a resting session and a body that does not come.
// What can end in good order does; what cannot is cut when the time is over, and
// nothing is left.
func TestShutdownWithEverythingOpen(t *testing.T) {
	for _, pause := range []time.Duration{3 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			l, m := servers(map[string]tool{
				"text": func(context.Context, peer) (string, error) {
					return "", &jsonrpc.TextStream{Reader: &pausing{parts: []string{strings.Repeat("x", 100_000), "end"}, pause: pause}}
				},
				"slow": func(ctx context.Context, _ peer) (string, error) {
					select {
					case <-time.After(pause):
						return "done", nil
					case <-ctx.Done():
						return "", ctx.Err()
					}
				},
			})
			s, ln := inMemory(t, bothOf(l, m))
			session := s.begin()
			body, hs := call("1", "text", `{}`)
			slow, slowHs := call("2", "slow", `{}`)
			listen := `{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
			type ended struct {
				what string
				all  string
				err  error
			}
			ends := make(chan ended, 5)
			for what, req := range map[string]*http.Request{
				"text":   s.request(t.Context(), "POST", body, hs...),
				"call":   s.request(t.Context(), "POST", slow, slowHs...),
				"listen": s.request(t.Context(), "POST", listen, modernVersion, "Mcp-Method: subscriptions/listen"),
				"GET":    s.request(t.Context(), "GET", "", session...),
				"legacy": s.request(t.Context(), "POST", legacyCall("4", "slow"), session...),
			} {
				go func() {
					res, err := s.http().Do(req)
					if err != nil {
						ends <- ended{what, "", err}
						return
					}
					b, err := io.ReadAll(res.Body)
					_ = res.Body.Close()
					ends <- ended{what, string(b), err}
				}()
			}
			stuck, err := ln.dial()
			require.NoError(t, err)
			defer stuck.Close()
			go func() {
				_, _ = io.WriteString(stuck, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
				_, _ = io.Copy(io.Discard, stuck)
			}()
			time.Sleep(time.Second)
			require.Equal(t, 6, s.h.Stats().Requests)
			ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
			defer cancel()
			begun := time.Now()
			err = s.h.Shutdown(ctx)
			require.LessOrEqual(t, time.Since(begun), 10*time.Second)
			inTime := pause < 8*time.Second
			require.Equal(t, inTime, err == nil, "%v", err)
			synctest.Wait()
			if !inTime {
				_ = s.srv.Config.Close() // who cannot wait for the reader
			}
			for range 5 {
				e := <-ends
				switch {
				case e.what == "listen":
					require.NoError(t, e.err)
					require.Contains(t, e.all, `"resultType":"complete"`)
				case e.what == "GET":
					require.NoError(t, e.err)
				case inTime:
					require.NoError(t, e.err, e.what)
					require.Contains(t, e.all, `"result"`, e.what)
				case e.what == "text":
					require.Error(t, e.err, "it was cut")
				}
			}
			time.Sleep(2 * time.Hour) // the reader's
			synctest.Wait()
			require.Zero(t, s.h.Stats().Requests)
			require.Zero(t, s.h.Stats().Sessions)
		})
	}
}

// TestSlowReaderHoldsUpNobodysSigns: an answer whose client does not read it keeps
// no other one from becoming a stream in time.
func TestSlowReaderHoldsUpNobodysSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := servers(map[string]tool{
			"big": func(context.Context, peer) (string, error) { return strings.Repeat("x", 4<<20), nil },
			"slow": func(context.Context, peer) (string, error) {
				time.Sleep(time.Minute)
				return "done", nil
			},
		})
		s, ln := inMemory(t, m, streamhttp.HandlerOptions{KeepAlive: 15 * time.Second})
		for range 5 {
			c, err := ln.dial()
			require.NoError(t, err)
			defer c.Close()
			b, hs := call("1", "big", `{}`)
			_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\nContent-Length: %d\r\n\r\n%s", strings.Join(hs, "\r\n"), len(b), b)
			require.NoError(t, err)
		}
		b, hs := call("2", "slow", `{}`)
		begun := time.Now()
		st := s.open("POST", b, hs...)
		require.LessOrEqual(t, time.Since(begun), 15*time.Second)
		require.Equal(t, "text/event-stream", st.res.Header.Get("Content-Type"))
		require.Contains(t, st.message().data, "done")
	})
}
