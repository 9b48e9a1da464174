package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

func TestClientGetStream(t *testing.T) {
	const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	bubble(t, "it is opened after initialized and brings what the server tells", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(": hello\n\n" + event(changed))
			<-r.Context().Done()
		}
		heard := make(chan struct{}, 9)
		r := connect(t, e, legacy.Client{ToolListChanged: func(context.Context, *legacy.ToolListChangedParams) error {
			heard <- struct{}{}
			return nil
		}})
		<-heard
		require.Equal(t, StreamOpen, link(r.Conn()).Status().Stream)
		require.Equal(t, []string{"POST initialize", "POST notifications/initialized session=s1", "GET session=s1"}, s.seen())
		require.NoError(t, r.Close(), "closing aborts it")
	})
	bubble(t, "not at all when it is not wanted", func(t *testing.T, s *script, e *Endpoint) {
		e.NoStream = true
		r := connect(t, e, legacy.Client{})
		synctest.Wait()
		require.Empty(t, s.of("GET"))
		require.Equal(t, StreamNone, link(r.Conn()).Status().Stream)
	})
	bubble(t, "not before the handshake is over", func(t *testing.T, s *script, e *Endpoint) {
		s.on["notifications/initialized"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			time.Sleep(time.Second)
			require.Empty(t, s.of("GET"))
			w.WriteHeader(http.StatusAccepted)
		}
		connect(t, e, legacy.Client{})
		synctest.Wait()
		require.Len(t, s.of("GET"), 1)
	})
	bubble(t, "it is opened again behind the last event, after the time that the server asks for", func(t *testing.T, s *script, e *Endpoint) {
		came := make(chan time.Time, 3)
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			came <- time.Now()
			send := stream(w)
			if m.n == 2 {
				<-r.Context().Done()
				return
			}
			send("retry: 5000\n" + eventID(fmt.Sprint("e", m.n), changed))
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(time.Minute)
		require.Equal(t, []string{"GET session=s1", "GET session=s1 after=e0", "GET session=s1 after=e1"}, s.seen()[2:])
		gap := -time.Until(<-came) + time.Until(<-came)
		require.GreaterOrEqual(t, gap, 5*time.Second)
		require.Less(t, gap, 6*time.Second)
		require.EqualValues(t, 2, link(r.Conn()).Status().Counts[StreamLost])
		require.EqualValues(t, 3, link(r.Conn()).Status().Counts[StreamOpened])
	})
	bubble(t, "a server that ends it at once is not asked in a loop", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)("") }
		connect(t, e, legacy.Client{})
		time.Sleep(10 * time.Minute)
		require.Less(t, len(s.of("GET")), 50)
		require.Greater(t, len(s.of("GET")), 15)
	})
	bubble(t, "an event that the server no longer knows is not insisted on", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			switch {
			case m.n == 0:
				stream(w)(eventID("e0", changed))
			case m.Header.Get("Last-Event-Id") != "":
				w.WriteHeader(http.StatusBadRequest)
			default:
				stream(w)("")
				<-r.Context().Done()
			}
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(time.Minute)
		require.Equal(t, StreamOpen, link(r.Conn()).Status().Stream)
	})
	bubble(t, "a page instead of a stream", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { reply(w, 200, "text/html", "<html>") }
		r := connect(t, e, legacy.Client{})
		synctest.Wait()
		st := link(r.Conn()).Status()
		require.Equal(t, StreamFailed, st.Stream)
		require.ErrorContains(t, st.StreamErr, "text/html")
	})
	bubble(t, "requests of the server are answered by POST", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(`{"jsonrpc":"2.0","id":"r1","method":"roots/list"}`) + event(`{"jsonrpc":"2.0","id":"p1","method":"ping"}`) + event(`{"jsonrpc":"2.0","id":"x1","method":"no/such"}`))
			<-r.Context().Done()
		}
		connect(t, e, legacy.Client{ListRoots: func(context.Context, *legacy.ListRootsParams) (*legacy.ListRootsResult, error) {
			return &legacy.ListRootsResult{Roots: []legacy.Root{{URI: "file:///a"}}}, nil
		}})
		synctest.Wait()
		var bodies []string
		for _, m := range s.all() {
			if m.HTTP == "POST" && m.Method == "" {
				bodies = append(bodies, string(m.Body))
				require.Equal(t, "s1", m.Header.Get("Mcp-Session-Id"))
			}
		}
		require.ElementsMatch(t, []string{
			`{"jsonrpc":"2.0","id":"r1","result":{"roots":[{"uri":"file:///a"}]}}`, `{"jsonrpc":"2.0","id":"p1","result":{}}`,
			`{"jsonrpc":"2.0","id":"x1","error":{"code":-32601,"message":"method not found: no/such"}}`,
		}, bodies)
	})
	bubble(t, "an answer on it is none", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(rpcResult([]byte("2"), `{"content":[]}`)))
			<-r.Context().Done()
		}
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			time.Sleep(time.Second)
			goodServer(w, r, m)
		}
		r := connect(t, e, legacy.Client{})
		res, err := r.CallTool(t.Context(), &legacy.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		require.Len(t, res.Content, 1)
	})
}

func TestClientRequestsOnACallsStream(t *testing.T) {
	bubble(t, "an elicitation within a call", func(t *testing.T, s *script, e *Endpoint) {
		answered := make(chan []byte, 1)
		s.on["answer"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answered <- m.Body
			w.WriteHeader(http.StatusAccepted)
		}
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			send(event(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"who?","requestedSchema":{"type":"object","properties":{}}}}`))
			require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, string(<-answered))
			send(event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{ElicitationForm: true, Elicit: func(ctx context.Context, p legacy.ElicitParams) (*legacy.ElicitResult, error) {
			return &legacy.ElicitResult{Action: "decline"}, nil
		}})
		require.NoError(t, call(r))
	})
	bubble(t, "a handler that calls the server", func(t *testing.T, s *script, e *Endpoint) {
		answered := make(chan []byte, 1)
		s.on["answer"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answered <- m.Body
			w.WriteHeader(http.StatusAccepted)
		}
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			send(event(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
			<-answered
			send(event(rpcResult(m.ID, toolResult)))
		}
		var server *legacy.RemoteServer
		server = connect(t, e, legacy.Client{ListRoots: func(ctx context.Context, _ *legacy.ListRootsParams) (*legacy.ListRootsResult, error) {
			_, err := server.ListTools(ctx, nil)
			return &legacy.ListRootsResult{}, err
		}})
		require.NoError(t, call(server))
		require.Len(t, s.of("tools/list"), 1)
	})
}

func TestClientTakesWhatComesAfterTheAnswer(t *testing.T) {
	bubble(t, "a notification behind the answer", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			send(event(rpcResult(m.ID, toolResult)))
			time.Sleep(100 * time.Millisecond)
			send(event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
		}
		heard := make(chan struct{}, 1)
		r := connect(t, e, legacy.Client{ToolListChanged: func(context.Context, *legacy.ToolListChangedParams) error {
			heard <- struct{}{}
			return nil
		}})
		start := time.Now()
		require.NoError(t, call(r))
		require.Zero(t, time.Since(start))
		<-heard
	})
	bubble(t, "a stream that the server never ends is let go", func(t *testing.T, s *script, e *Endpoint) {
		ended := make(chan time.Duration, 1)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			start := time.Now()
			stream(w)(event(rpcResult(m.ID, toolResult)))
			<-r.Context().Done()
			ended <- time.Since(start)
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Equal(t, drainTime, <-ended)
	})
}

func TestClientResumes(t *testing.T) {
	bubble(t, "behind the last event, after retry, with a GET and never with a POST", func(t *testing.T, s *script, e *Endpoint) {
		var cut, back time.Time
		var id []byte
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			id = m.ID
			stream(w)("retry: 2000\n" + eventID("a/0", ""))
			cut = time.Now()
		}
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			back = time.Now()
			require.Equal(t, "a/0", m.Header.Get("Last-Event-Id"))
			require.Equal(t, "2025-11-25", m.Header.Get("Mcp-Protocol-Version"))
			stream(w)(eventID("a/1", rpcResult(id, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Equal(t, 2*time.Second, back.Sub(cut))
		require.Len(t, s.of("tools/call"), 1)
		require.EqualValues(t, 1, link(r.Conn()).Status().Counts[CallResumed])
	})
	bubble(t, "again and again while events come", func(t *testing.T, s *script, e *Endpoint) {
		var id []byte
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			id = m.ID
			stream(w)("retry: 10\n" + eventID("0", ""))
		}
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			last := m.Header.Get("Last-Event-Id")
			if last == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			var n int
			_, _ = fmt.Sscan(last, &n)
			if n == 50 {
				stream(w)(event(rpcResult(id, toolResult)))
				return
			}
			stream(w)(eventID(fmt.Sprint(n+1), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Len(t, s.of("tools/call"), 1)
	})
	bubble(t, "a server that asks for no pause is not asked in a storm", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)("retry: 0\n" + eventID("0", "")) }
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			stream(w)("retry: 0\n" + eventID(fmt.Sprint(m.n), ""))
		}
		r := connect(t, e, legacy.Client{})
		require.ErrorIs(t, call(r), jsonrpc.ErrTimeout, "it may take its time")
		require.Less(t, len(s.of("GET")), 70, "in 30 s")
		require.Greater(t, len(s.of("GET")), 15, "a server may be asked often for an answer that takes long")
	})
	bubble(t, "messages do not make it one either", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)("retry: 0\n" + eventID("0", "")) }
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			stream(w)(eventID(fmt.Sprint(m.n), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
		}
		r := connect(t, e, legacy.Client{})
		require.ErrorIs(t, call(r), jsonrpc.ErrTimeout)
		require.Less(t, len(s.of("GET")), 302, "in 30 s, and 100 ms between two")
	})
	bubble(t, "a server that is gone is not waited for", func(t *testing.T, s *script, e *Endpoint) {
		for _, begin := range []string{"", "retry: 0\n", "retry: 1000\n"} {
			pool, dead := e.RoundTripper, errors.New("connection refused")
			var down atomic.Bool
			var tried atomic.Int32
			e := *e
			e.NoStream = true
			e.RoundTripper = roundTripper(func(r *http.Request) (*http.Response, error) {
				if down.Load() {
					tried.Add(1)
					return nil, dead
				}
				return pool.RoundTrip(r)
			})
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				stream(w)(begin + eventID("0", ""))
				down.Store(true)
				panic(http.ErrAbortHandler)
			}
			r := connect(t, &e, legacy.Client{})
			start := time.Now()
			err := call(r)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorIs(t, err, dead)
			require.EqualValues(t, maxRefused, tried.Load())
			require.LessOrEqual(t, time.Since(start), 5*time.Second)
		}
	})
	bubble(t, "a server that is back in time is", func(t *testing.T, s *script, e *Endpoint) {
		pool := e.RoundTripper
		var tries atomic.Int32
		var id []byte
		e.NoStream = true
		e.RoundTripper = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet && tries.Add(1) < maxRefused {
				return nil, errors.New("connection refused")
			}
			return pool.RoundTrip(r)
		})
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			id = m.ID
			stream(w)(eventID("0", ""))
		}
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(event(rpcResult(id, toolResult))) }
		require.NoError(t, call(connect(t, e, legacy.Client{})))
	})
	bubble(t, "but not for ever without an event", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(eventID("0", "")) }
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			stream(w)("")
		}
		zero := time.Duration(0)
		r := connect(t, e, legacy.Client{Options: jsonrpc.Options{Timeout: &zero}})
		err := call(r)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.LessOrEqual(t, len(s.of("GET")), maxResumes+1)
	})
	bubble(t, "a server that cannot", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(eventID("0", "")) }
		r := connect(t, e, legacy.Client{})
		err := call(r)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.Equal(t, 405, statusOf(err))
		require.Len(t, s.of("tools/call"), 1)
	})
	bubble(t, "a session that is gone meanwhile is no reason to call again", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(eventID("0", "")) }
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(404) }
		r := connect(t, e, legacy.Client{})
		require.ErrorIs(t, call(r), ErrOutcomeUnknown)
		require.Len(t, s.of("tools/call"), 1)
	})
	bubble(t, "without an event id there is nothing to resume", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
		}
		r := connect(t, e, legacy.Client{})
		start := time.Now()
		err := call(r)
		require.Zero(t, time.Since(start), "it fails at once")
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.ErrorContains(t, err, "no response received for request ID 2")
		require.Len(t, s.of("tools/call"), 1)
	})
	bubble(t, "the deadline holds for all of it", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)("retry: 3600000\n" + eventID("0", ""))
		}
		r := connect(t, e, legacy.Client{})
		start := time.Now()
		require.ErrorIs(t, call(r), jsonrpc.ErrTimeout)
		require.Equal(t, 30*time.Second, time.Since(start))
		synctest.Wait()
		require.Len(t, s.of("notifications/cancelled"), 1)
	})
}

// TestClientEventIDs: an id that no header can carry is not sent back, and not
// tried for ever.
func TestClientEventIDs(t *testing.T) {
	for _, c := range []struct {
		name, id string
		usable   bool
	}{
		{"plain", "a/1", true},
		{"not ASCII", "é", true},
		{"a tab within", "a\tb", true},
		{"a control character", "a\x01b", false},
		{"delete", "a\x7f", false},
		{"space around it", " a", false},
		{"a tab around it", "a\t", false},
		{"the longest", strings.Repeat("a", maxEventID), true},
		{"too long", strings.Repeat("a", maxEventID+1), false},
	} {
		bubble(t, c.name+", on the GET stream", func(t *testing.T, s *script, e *Endpoint) {
			s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				send := stream(w)
				if m.n == 0 {
					send("id: " + c.id + "\ndata: \n\n")
					return
				}
				<-r.Context().Done()
			}
			r := connect(t, e, legacy.Client{})
			time.Sleep(time.Minute)
			st := link(r.Conn()).Status()
			require.Equal(t, StreamOpen, st.Stream)
			gets := s.of("GET")
			require.Len(t, gets, 2)
			if c.usable {
				require.Equal(t, c.id, gets[1].Header.Get("Last-Event-Id"))
				require.Zero(t, st.Count(EventIDUnusable))
			} else {
				require.NotContains(t, gets[1].Header, "Last-Event-Id")
				require.EqualValues(t, 1, st.Count(EventIDUnusable))
			}
		})
		bubble(t, c.name+", on the stream of a call", func(t *testing.T, s *script, e *Endpoint) {
			var id []byte
			e.NoStream = true
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				id = m.ID
				stream(w)("id: " + c.id + "\ndata: \n\n")
			}
			s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(event(rpcResult(id, toolResult))) }
			r := connect(t, e, legacy.Client{})
			start := time.Now()
			err := call(r)
			st := link(r.Conn()).Status()
			if c.usable {
				require.NoError(t, err)
				require.Equal(t, c.id, s.of("GET")[0].Header.Get("Last-Event-Id"))
				return
			}
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.Zero(t, time.Since(start), "it fails at once")
			require.Empty(t, s.of("GET"))
			require.EqualValues(t, 1, st.Count(EventIDUnusable))
		})
	}
}

// TestClientStreamsCutAtEachByte cuts the stream of an answer after each of its
// bytes, and gives the rest to whoever comes back for it.
func TestClientStreamsCutAtEachByte(t *testing.T) {
	events := []string{eventID("1", ""), eventID("2", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"é"}}`), eventID("3", rpcResult([]byte("2"), toolResult))}
	whole := strings.Join(events, "")
	for _, hard := range []bool{false, true} {
		t.Run(fmt.Sprintf("hard %v", hard), func(t *testing.T) {
			for at := 0; at <= len(whole); at++ {
				synctest.Test(t, func(t *testing.T) {
					s := newScript(t)
					e := memory(t, s)
					s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
						stream(w)(whole[:at])
						if hard {
							panic(http.ErrAbortHandler)
						}
					}
					s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
						last := m.Header.Get("Last-Event-Id")
						if last == "" {
							w.WriteHeader(http.StatusMethodNotAllowed)
							return
						}
						stream(w)(strings.Join(events[last[0]-'0':], ""))
					}
					logs := atomic.Int32{}
					r := connect(t, e, legacy.Client{LoggingMessage: func(context.Context, *legacy.LoggingMessageParams) error {
						logs.Add(1)
						return nil
					}})
					err := call(r)
					if at < len(events[0]) { // no id was seen
						require.ErrorIs(t, err, ErrOutcomeUnknown)
					} else {
						require.NoError(t, err)
						synctest.Wait()
						require.EqualValues(t, 1, logs.Load(), "cut at %d", at)
					}
					require.Len(t, s.of("tools/call"), 1)
				})
			}
		})
	}
}

// TestClientStatelessStreamsCutAtEachByte cuts the stream of an answer after
// each of its bytes: what may be made twice is, what may not is told.
func TestClientStatelessStreamsCutAtEachByte(t *testing.T) {
	const id = "$id"
	whole := ": hi\n\n" + event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"é"}}`) + event(rpcResult([]byte(id), toolResult))
	for _, tool := range []string{"reads", "plain"} {
		t.Run(tool, func(t *testing.T) {
			for at := 0; at <= len(whole); at++ {
				synctest.Test(t, func(t *testing.T) {
					s := newScript(t)
					s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
						if m.n > 0 {
							goodServer(w, r, m)
							return
						}
						stream(w)(strings.ReplaceAll(whole[:at], id, string(m.ID)))
						if at%2 == 0 {
							panic(http.ErrAbortHandler)
						}
					}
					r := connectModern(t, memory(t, s), modern.Client{})
					_, err := r.ListTools(t.Context(), nil)
					require.NoError(t, err)
					err = callModern(r, tool, "")
					calls := len(s.of("tools/call"))
					switch {
					case at == len(whole):
						require.NoError(t, err)
						require.Equal(t, 1, calls)
					case tool == "reads":
						require.NoError(t, err)
						require.Equal(t, 2, calls)
					default:
						require.ErrorIs(t, err, ErrOutcomeUnknown)
						require.Equal(t, 1, calls)
					}
				})
			}
		})
	}
}

// TestClientReissues holds the table of what is sent again in the stateless
// revision, with a new id, when the connection breaks.
func TestClientReissues(t *testing.T) {
	break1 := map[string]func(w http.ResponseWriter, r *http.Request, m *msg){
		"before the response": func(w http.ResponseWriter, r *http.Request, m *msg) { panic(http.ErrAbortHandler) },
		"a stream that ends":  func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(": hi\n\n") },
		"a stream with ids":   func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(eventID("1", "")) },
		"a stream that breaks": func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)("data: {")
			panic(http.ErrAbortHandler)
		},
		"a JSON body that is cut": func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaJSON)
			w.Header().Set("Content-Length", "500")
			_, _ = w.Write([]byte("{"))
		},
		"chunked JSON that is cut": func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaJSON)
			w.(http.Flusher).Flush()
			_, _ = w.Write([]byte("{"))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		},
	}
	calls := []struct {
		method string
		again  bool
		make   func(ctx context.Context, r *modern.RemoteServer) error
	}{
		{"tools/list", true, func(ctx context.Context, r *modern.RemoteServer) error { _, err := r.ListTools(ctx, nil); return err }},
		{"prompts/list", true, func(ctx context.Context, r *modern.RemoteServer) error { _, err := r.ListPrompts(ctx, nil); return err }},
		{"resources/list", true, func(ctx context.Context, r *modern.RemoteServer) error {
			_, err := r.ListResources(ctx, nil)
			return err
		}},
		{"resources/templates/list", true, func(ctx context.Context, r *modern.RemoteServer) error {
			_, err := r.ListResourceTemplates(ctx, nil)
			return err
		}},
		{"resources/read", true, func(ctx context.Context, r *modern.RemoteServer) error {
			_, err := r.ReadResource(ctx, &modern.ReadResourceParams{URI: "a:b"})
			return err
		}},
		{"prompts/get", true, func(ctx context.Context, r *modern.RemoteServer) error {
			_, err := r.GetPrompt(ctx, &modern.GetPromptParams{Name: "p"})
			return err
		}},
		{"server/discover", true, func(ctx context.Context, r *modern.RemoteServer) error { _, err := r.Discover(ctx, nil); return err }},
		{"tools/call", true, func(ctx context.Context, r *modern.RemoteServer) error { return callModern(r, "reads", "") }},
		{"tools/call", true, func(ctx context.Context, r *modern.RemoteServer) error { return callModern(r, "again", "") }},
		{"tools/call", false, func(ctx context.Context, r *modern.RemoteServer) error { return callModern(r, "plain", "") }},
		{"tools/call", false, func(ctx context.Context, r *modern.RemoteServer) error { return callModern(r, "unlisted", "") }},
	}
	for how, f := range break1 {
		for i, c := range calls {
			bubble(t, fmt.Sprintf("%s, %s %d", how, c.method, i), func(t *testing.T, s *script, e *Endpoint) {
				r := connectModern(t, e, modern.Client{})
				_, err := r.ListTools(t.Context(), nil)
				require.NoError(t, err)
				before := len(s.of(c.method))
				s.mu.Lock()
				s.on[c.method] = func(w http.ResponseWriter, r *http.Request, m *msg) {
					if m.n == before {
						f(w, r, m)
					}
					goodServer(w, r, m)
				}
				s.mu.Unlock()
				err = c.make(t.Context(), r)
				made := s.of(c.method)[before:]
				for _, m := range made {
					require.Empty(t, m.Header["Last-Event-Id"])
				}
				require.Empty(t, s.of("GET"))
				if !c.again {
					require.ErrorIs(t, err, ErrOutcomeUnknown)
					require.Len(t, made, 1)
					return
				}
				require.NoError(t, err)
				require.Len(t, made, 2)
				require.NotEqual(t, string(made[0].ID), string(made[1].ID), "a new id")
				require.JSONEq(t, string(made[0].Params), string(made[1].Params))
				require.EqualValues(t, 1, link(r.Conn()).Status().Counts[CallReissued])
			})
		}
	}
	bubble(t, "not for ever", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) { panic(http.ErrAbortHandler) }
		r := connectModern(t, e, modern.Client{})
		_, err := r.ListTools(t.Context(), nil)
		require.Error(t, err)
		require.Len(t, s.of("tools/list"), maxReissues)
	})
	bubble(t, "not in stateful revisions", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) { panic(http.ErrAbortHandler) }
		r := connect(t, e, legacy.Client{})
		_, err := r.ListTools(t.Context(), nil)
		require.Error(t, err)
		require.Len(t, s.of("tools/list"), 1)
	})
	bubble(t, "a server that cannot be reached was not told anything", func(t *testing.T, s *script, e *Endpoint) {
		r := connectModern(t, e, modern.Client{})
		refused := errors.New("connection refused")
		link(r.Conn()).rt = roundTripper(func(*http.Request) (*http.Response, error) { return nil, refused })
		err := callModern(r, "plain", "")
		require.ErrorIs(t, err, refused)
		require.NotErrorIs(t, err, ErrOutcomeUnknown)
		var re *RequestError
		require.ErrorAs(t, err, &re)
		require.False(t, re.Sent)
		require.Equal(t, "http://server.example/mcp", re.URL)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
