package dial_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestBlockedHandler: a handler that blocks, without saying so, holds up the
// others by at most 2 ms, over every transport.
func TestBlockedHandler(t *testing.T) {
	for _, c := range carriers {
		if !c.bubble {
			continue
		}
		for _, d := range dialects {
			if d.revision != c.revisions[len(c.revisions)-1] {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := d.connect(t.Context(), c.open(t, d), deaf())
					require.NoError(t, err)
					ended := make(chan error)
					for range 3 {
						go func() {
							_, err := s.call(t.Context(), "block", `{}`)
							ended <- err
						}()
						synctest.Wait()
						start := time.Now()
						text, err := s.call(t.Context(), "echo", `{"text":"hi"}`)
						require.NoError(t, err)
						require.Equal(t, "hi", text)
						require.LessOrEqual(t, time.Since(start), 2*time.Millisecond)
					}
					require.NoError(t, s.close())
					for range 3 {
						require.ErrorIs(t, <-ended, jsonrpc.ErrClosed)
					}
				})
			})
		}
	}
}

// TestServerThatStopsReading: a server over HTTP that does not read a request
// costs that call its time and no more; others are answered meanwhile.
func TestServerThatStopsReading(t *testing.T) {
	for _, d := range dialects {
		t.Run(d.revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kind := streamhttp.Streamable
				var h http.Handler
				if d.revision == overSSE[0] {
					kind, h = streamhttp.TwoEndpoints, twoEndpoints(t, d.server(newWork()))
				} else {
					h = streamable(t, d.server(newWork()))
				}
				over := make(chan struct{})
				e := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.ContentLength > 1<<20 {
						<-over
						return
					}
					h.ServeHTTP(w, r)
				}), true).endpoint(kind)
				defer func() {
					close(over)
					time.Sleep(time.Second) // net/http lets such a connection linger
				}()
				s, err := d.connect(t.Context(), e, deaf())
				require.NoError(t, err)
				start := time.Now()
				stuck := make(chan error, 1)
				go func() {
					_, err := s.call(t.Context(), "echo", `{"text":"`+strings.Repeat("x", 2<<20)+`"}`)
					stuck <- err
				}()
				synctest.Wait()
				text, err := s.call(t.Context(), "echo", `{"text":"hi"}`)
				require.NoError(t, err)
				require.Equal(t, "hi", text)
				require.Zero(t, time.Since(start))
				require.ErrorIs(t, <-stuck, jsonrpc.ErrTimeout)
				require.Equal(t, 30*time.Second, time.Since(start))
				require.NoError(t, s.close())
			})
		})
	}
}

// twoEndpointScript is a server of HTTP+SSE that answers calls as it is told.
// send writes to the stream; it is false when the client has gone.
func twoEndpointScript(call func(id string, send func(string) bool)) http.Handler {
	out := make(chan string)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			rc := http.NewResponseController(w)
			_ = rc.SetWriteDeadline(time.Time{})
			_, _ = io.WriteString(w, "event: endpoint\ndata: ?post\n\n")
			for {
				_ = rc.Flush()
				select {
				case text := <-out:
					_, _ = io.WriteString(w, text)
				case <-r.Context().Done():
					return
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		send := func(text string) bool {
			select {
			case out <- text:
				return true
			case <-r.Context().Done():
				return false
			}
		}
		id := string(wire.Raw(body).Get("id"))
		switch method, _ := wire.Raw(body).Get("method").Str(); method {
		case "initialize":
			send(event(id, `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`))
		case "tools/call":
			call(id, send)
		}
	})
}

func event(id, result string) string {
	return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", id, result)
}

const good = `{"content":[{"type":"text","text":"good"}]}`

// TestTwoEndpointsPeer: what a server of HTTP+SSE can do to its client. The
// first call meets the fault, the second an honest server.
func TestTwoEndpointsPeer(t *testing.T) {
	honest := func(id string, send func(string) bool) { send(event(id, good)) }
	for _, c := range []struct {
		fault string
		call  func(id string, send func(string) bool)
		err   error // of the first call
		count jsonrpc.EventKind
		lost  bool // nothing else can come on that stream
	}{
		{"answers twice", func(id string, send func(string) bool) {
			send(event(id, good) + event(id, `{"content":[]}`))
		}, nil, jsonrpc.DuplicateAnswer, false},
		{"never answers", func(string, func(string) bool) {}, jsonrpc.ErrTimeout, 0, false},
		{"an id of the wrong type", func(id string, send func(string) bool) { send(event(`"`+id+`"`, good)) }, jsonrpc.ErrTimeout, jsonrpc.WrongIDAnswer, false},
		{"an answer that comes byte by byte, and not to its end", func(id string, send func(string) bool) {
			for _, b := range []byte(event(id, good)) {
				time.Sleep(time.Second)
				if !send(string(b)) {
					return
				}
			}
		}, jsonrpc.ErrTimeout, 0, true},
		{"an endless line", func(id string, send func(string) bool) {
			for send(`data: {"jsonrpc":"2.0","id":` + id + `,"result":{"x":"`); send(strings.Repeat("x", 10_000)); {
				time.Sleep(10 * time.Millisecond)
			}
		}, jsonrpc.ErrTooLong, jsonrpc.TooLong, true},
		{"an endless event", func(id string, send func(string) bool) {
			for send(`data: {"jsonrpc":"2.0","id":` + id + `,"result":{"x":"` + "\n"); send("data: " + strings.Repeat("x", 10_000) + "\n"); {
				time.Sleep(10 * time.Millisecond)
			}
		}, jsonrpc.ErrTooLong, jsonrpc.TooLong, true},
	} {
		t.Run(c.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				e := serve(t, twoEndpointScript(func(id string, send func(string) bool) {
					if calls++; calls == 1 {
						c.call(id, send)
						return
					}
					honest(id, send)
				}), true).endpoint(streamhttp.TwoEndpoints)
				e.MaxMessage = 50_000
				s, err := dialect20241105.connect(t.Context(), e, deaf())
				require.NoError(t, err)
				start := time.Now()
				text, err := s.call(t.Context(), "echo", `{}`)
				if c.err == nil {
					require.NoError(t, err)
					require.Equal(t, "good", text)
				} else {
					require.ErrorIs(t, err, c.err)
				}
				require.LessOrEqual(t, time.Since(start), 30*time.Second)
				if !c.lost {
					text, err = s.call(t.Context(), "echo", `{}`)
					require.NoError(t, err)
					require.Equal(t, "good", text)
				}
				if c.count != 0 {
					stats := s.conn.Stats()
					require.EqualValues(t, 1, stats.Count(c.count))
				}
				_ = s.close()
				time.Sleep(time.Minute) // the server sees that nobody is there
			})
		})
	}
}

// TestTwoEndpointsClient: what a client of HTTP+SSE can do to its server.
func TestTwoEndpointsClient(t *testing.T) {
	// open opens a stream by hand and reads where to post.
	open := func(t *testing.T, h *ssehttp.Handler) (s site, c net.Conn, at string) {
		s = serve(t, h, true)
		c, err := s.rt.DialContext(t.Context(), "", "")
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: pipe\r\nAccept: text/event-stream\r\n\r\n")
		require.NoError(t, err)
		for r := bufio.NewReader(c); !strings.HasPrefix(at, "data: "); {
			at, err = r.ReadString('\n')
			require.NoError(t, err)
		}
		return s, c, s.url + "/" + strings.TrimSpace(strings.TrimPrefix(at, "data: "))
	}
	post := func(t *testing.T, s site, at string, body io.Reader) int {
		req, err := http.NewRequest(http.MethodPost, at, body)
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := s.rt.RoundTrip(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	t.Run("a body that comes byte by byte", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// It ends between two bytes: net/http hangs up together with the
			// refusal, and a byte on its way would fail at the same time.
			h := ssehttp.NewHandler(dialect20241105.server(newWork()), ssehttp.HandlerOptions{Logger: quiet.Logger, BodyTimeout: 20*time.Second + 500*time.Millisecond})
			s, c, at := open(t, h)
			r, w := io.Pipe()
			go func() {
				for {
					time.Sleep(time.Second)
					if _, err := io.WriteString(w, " "); err != nil {
						return
					}
				}
			}()
			start := time.Now()
			require.Equal(t, http.StatusBadRequest, post(t, s, at, r))
			require.LessOrEqual(t, time.Since(start), 21*time.Second)
			require.Equal(t, 1, h.Sessions(), "the stream lives on")
			require.NoError(t, r.Close())
			time.Sleep(2 * time.Second)
			require.NoError(t, c.Close())
		})
	})
	t.Run("a stream that is not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := twoEndpoints(t, dialect20241105.server(newWork()))
			s, c, at := open(t, h)
			for _, body := range []string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"big","arguments":{"n":1048576}}}`,
			} {
				require.Equal(t, http.StatusAccepted, post(t, s, at, strings.NewReader(body)))
			}
			time.Sleep(29 * time.Second)
			require.Equal(t, 1, h.Sessions())
			time.Sleep(2 * time.Second)
			require.Zero(t, h.Sessions(), "it was given up")
			require.NoError(t, c.Close())
		})
	})
}

// TestSlowSender: a client on stdio that sends one byte a second is answered
// when it is done, and one that goes in the middle of a message leaves nothing.
func TestSlowSender(t *testing.T) {
	for _, whole := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			served := make(chan error, 1)
			go func() {
				served <- jsonrpc.Serve(t.Context(), jsonl.Pipe(inR, outW), dialect20251125.server(newWork()))
			}()
			message := `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
			if !whole {
				message = message[:20]
			}
			go func() {
				for _, b := range []byte(message) {
					time.Sleep(time.Second)
					_, _ = inW.Write([]byte{b})
				}
				_ = inW.Close()
			}()
			answer, err := io.ReadAll(outR)
			require.NoError(t, err)
			require.Equal(t, whole, strings.Contains(string(answer), `"id":1,"result":{}`))
			require.NoError(t, <-served)
		})
	}
}
