package streamhttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// wantsHeader refuses a call of the tool "late" without its header, which the
// list of tools names from the given listing on.
func wantsHeader(s *script, from int) {
	s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		mark := ""
		if m.n >= from {
			mark = `,"x-mcp-header":"Where"`
		}
		if m.Params.Get("cursor") == nil {
			answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"nextCursor":"2"}`)
			return
		}
		answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"late","inputSchema":{"type":"object","properties":{"a":{"type":"string"`+mark+`}}}}]}`)
	}
	s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		if m.Header.Get("Mcp-Param-Where") == "" {
			reply(w, http.StatusBadRequest, mediaJSON, rpcError(m.ID, -32020, "Mcp-Param-Where: missing"))
			return
		}
		goodServer(w, r, m)
	}
}

func TestClientToolHeaders(t *testing.T) {
	bubble(t, "after a mismatch the tools are listed again and the call is made again", func(t *testing.T, s *script, e *Endpoint) {
		wantsHeader(s, 2)
		r := connectModern(t, e, modern.Client{})
		for _, err := range r.Tools(t.Context(), nil) {
			require.NoError(t, err)
		}
		progress := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) {}})
		_, err := r.CallTool(progress, &modern.CallToolParams{Name: "late", Arguments: wire.Raw(`{"a":"x"}`)})
		require.NoError(t, err)
		require.NoError(t, callModern(r, "late", `{"a":"y"}`))
		calls, lists := s.of("tools/call"), s.of("tools/list")
		require.Len(t, calls, 3)
		require.Len(t, lists, 4, "two pages each time")
		require.NotEqual(t, string(calls[0].ID), string(calls[1].ID))
		require.Equal(t, compact(t, calls[0].Params), compact(t, calls[1].Params))
		require.Equal(t, []string{"x"}, calls[1].Header["Mcp-Param-Where"])
		require.Equal(t, []string{"y"}, calls[2].Header["Mcp-Param-Where"])
		require.Equal(t, "2026-07-28", lists[2].Header.Get("Mcp-Protocol-Version"))
		require.Equal(t, string(calls[0].Params.Get("_meta").Get("io.modelcontextprotocol/clientCapabilities")), string(lists[2].Params.Get("_meta").Get("io.modelcontextprotocol/clientCapabilities")))
		require.Nil(t, lists[2].Params.Get("_meta").Get("progressToken"))
		require.EqualValues(t, 1, link(r.Conn()).Status().Counts[ToolsRefreshed])
	})
	bubble(t, "once", func(t *testing.T, s *script, e *Endpoint) {
		wantsHeader(s, 1000)
		r := connectModern(t, e, modern.Client{})
		err := callModern(r, "late", `{"a":"x"}`)
		var re *jsonrpc.Error
		require.ErrorAs(t, err, &re)
		require.Equal(t, jsonrpc.CodeHeaderMismatch, re.Code)
		require.Len(t, s.of("tools/call"), 2)
	})
	bubble(t, "a server whose list does not end", func(t *testing.T, s *script, e *Endpoint) {
		wantsHeader(s, 1000)
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"nextCursor":"again"}`)
		}
		r := connectModern(t, e, modern.Client{})
		require.Error(t, callModern(r, "late", `{"a":"x"}`))
		require.LessOrEqual(t, len(s.of("tools/list")), 2)
	})
	bubble(t, "tools that break the rules are left out of the list", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"resultType":"complete","x":[1],"tools":[
				{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}},
				{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}},
				{"name":"worse","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}}],"nextCursor":"n","ttlMs":5,"cacheScope":"public"}`)
		}
		var notices []Notice
		var mu sync.Mutex
		e.Notices = append(e.Notices, func(n Notice) { panic(n) }, func(n Notice) { mu.Lock(); defer mu.Unlock(); notices = append(notices, n) }, nil)
		r := connectModern(t, e, modern.Client{})
		res, err := r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, res.Tools, 1)
		require.Equal(t, "good", res.Tools[0].Name)
		require.Equal(t, "n", *res.NextCursor)
		require.Len(t, notices, 2)
		require.ErrorContains(t, notices[0].Err, `tool "bad"`)
		require.Equal(t, ToolDropped, notices[0].Kind)
	})
	bubble(t, "tools-null-and-null-item", func(t *testing.T, s *script, e *Endpoint) {
		for _, tools := range []string{`null`, `[null]`, `[1,"x",{}]`, `{}`} {
			s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":`+tools+`}`)
			}
			r := connectModern(t, e, modern.Client{})
			strict := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{StrictResult: true})
			_, err := r.ListTools(strict, nil)
			require.Error(t, err, tools)
		}
	})
	bubble(t, "an integer that no header carries", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"n","inputSchema":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}}]}`)
		}
		r := connectModern(t, e, modern.Client{})
		_, err := r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var he *HeaderError
		require.ErrorAs(t, callModern(r, "n", `{"a":9007199254740993}`), &he)
		require.Empty(t, s.of("tools/call"))
	})
	bubble(t, "stateful revisions have none", func(t *testing.T, s *script, e *Endpoint) {
		r := connect(t, e, legacy.Client{})
		_, err := r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		_, err = r.CallTool(t.Context(), &legacy.CallToolParams{Name: "region", Arguments: wire.Raw(`{"region":"x"}`)})
		require.NoError(t, err)
		for name := range s.of("tools/call")[0].Header {
			require.NotContains(t, name, "Mcp-Param")
			require.NotContains(t, name, "Mcp-Method")
		}
	})
}

// slow are servers that do not come to an end, in every part of a response.
var slow = map[string]func(w http.ResponseWriter, r *http.Request, m *msg){
	"no headers": func(w http.ResponseWriter, r *http.Request, m *msg) { <-r.Context().Done() },
	"no body": func(w http.ResponseWriter, r *http.Request, m *msg) {
		w.Header().Set("Content-Type", mediaJSON)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	},
	"half a body": func(w http.ResponseWriter, r *http.Request, m *msg) {
		w.Header().Set("Content-Type", mediaJSON)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0",`))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	},
	"an empty stream": func(w http.ResponseWriter, r *http.Request, m *msg) {
		stream(w)("")
		<-r.Context().Done()
	},
	"half an event": func(w http.ResponseWriter, r *http.Request, m *msg) {
		stream(w)(`data: {"jsonrpc"`)
		<-r.Context().Done()
	},
	"comments for ever": func(w http.ResponseWriter, r *http.Request, m *msg) {
		send := stream(w)
		for r.Context().Err() == nil {
			send(": hi\n\n")
			time.Sleep(time.Second)
		}
	},
}

func TestClientDeadlines(t *testing.T) {
	for name, serve := range slow {
		bubble(t, name+", stateful", func(t *testing.T, s *script, e *Endpoint) {
			ended := make(chan struct{}, 1)
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				serve(w, r, m)
				ended <- struct{}{}
			}
			r := connect(t, e, legacy.Client{})
			start := time.Now()
			require.ErrorIs(t, call(r), jsonrpc.ErrTimeout)
			require.Equal(t, 30*time.Second, time.Since(start), "one deadline for everything")
			<-ended
			synctest.Wait()
			cancels := s.of("notifications/cancelled")
			require.Len(t, cancels, 1, "it is cancelled by a notification")
			require.Equal(t, "2", string(cancels[0].Params.Get("requestId")))
		})
		bubble(t, name+", stateless", func(t *testing.T, s *script, e *Endpoint) {
			ended := make(chan struct{}, 1)
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				serve(w, r, m)
				ended <- struct{}{}
			}
			r := connectModern(t, e, modern.Client{})
			start := time.Now()
			require.ErrorIs(t, callModern(r, "plain", ""), jsonrpc.ErrTimeout)
			require.Equal(t, 30*time.Second, time.Since(start))
			<-ended // the end of the stream is the cancellation
			synctest.Wait()
			require.Empty(t, s.of("notifications/cancelled"))
			require.Len(t, s.of("tools/call"), 1)
		})
		bubble(t, name+", given up by the caller", func(t *testing.T, s *script, e *Endpoint) {
			s.on["tools/call"] = serve
			r := connect(t, e, legacy.Client{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			synctest.Wait()
			require.Len(t, s.of("notifications/cancelled"), 1)
		})
		bubble(t, name+", closed", func(t *testing.T, s *script, e *Endpoint) {
			s.on["tools/call"] = serve
			r := connect(t, e, legacy.Client{})
			errs := make(chan error)
			for range 5 {
				go func() { errs <- call(r) }()
			}
			time.Sleep(time.Second)
			start := time.Now()
			require.NoError(t, r.Close())
			require.Zero(t, time.Since(start), "what is under way is aborted")
			for range 5 {
				require.ErrorIs(t, <-errs, net.ErrClosed)
			}
			require.Equal(t, "DELETE session=s1", s.seen()[len(s.seen())-1])
		})
		bubble(t, name+", at initialize", func(t *testing.T, s *script, e *Endpoint) {
			s.on["initialize"] = serve
			_, err := legacy.Connect(t.Context(), e, legacy.Client{})
			require.ErrorIs(t, err, jsonrpc.ErrTimeout)
			synctest.Wait()
			require.Empty(t, s.of("notifications/cancelled"), "initialize is never cancelled")
		})
		bubble(t, name+", at a notification", func(t *testing.T, s *script, e *Endpoint) {
			s.on["notifications/initialized"] = serve
			start := time.Now()
			if r, err := legacy.Connect(t.Context(), e, legacy.Client{}); err == nil { // the status came
				require.NoError(t, r.Close())
			}
			require.LessOrEqual(t, time.Since(start), sendTimeout)
		})
	}
	for name, finish := range map[string]int{"a failure whose body does not end": 500, "a redirect whose body does not end": 307, "an acceptance whose body does not end": 202} {
		bubble(t, name, func(t *testing.T, s *script, e *Endpoint) {
			hang := func(w http.ResponseWriter, r *http.Request, m *msg) {
				w.Header().Set("Location", "http://elsewhere.example/")
				w.WriteHeader(finish)
				_, _ = w.Write([]byte("so far"))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
			s.on["tools/call"], s.on["notifications/roots/list_changed"] = hang, hang
			r := connect(t, e, legacy.Client{RootsListChanged: true, ListRoots: func(context.Context, *legacy.ListRootsParams) (*legacy.ListRootsResult, error) {
				return &legacy.ListRootsResult{}, nil
			}})
			start := time.Now()
			err := call(r)
			require.NotErrorIs(t, err, jsonrpc.ErrTimeout)
			require.ErrorContains(t, err, fmt.Sprint("HTTP ", finish))
			err = r.RootsListChanged(t.Context(), nil)
			require.Equal(t, finish == 202, err == nil)
			require.LessOrEqual(t, time.Since(start), 2*errorTime)
		})
	}
	bubble(t, "progress starts the clock again", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			token := m.Params.Get("_meta").Get("progressToken")
			for i := range 5 {
				time.Sleep(20 * time.Second)
				send(event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i+1)))
			}
			send(event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		var steps atomic.Int32
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) { steps.Add(1) }})
		_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		require.EqualValues(t, 5, steps.Load())
	})
}

func TestClientSubscriptions(t *testing.T) {
	ack := func(m *msg) string {
		return event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}}`, m.ID))
	}
	bubble(t, "a stream that lasts, ended by closing it", func(t *testing.T, s *script, e *Endpoint) {
		ended := make(chan struct{})
		s.on["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			send(ack(m))
			time.Sleep(time.Hour)
			send(event(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)))
			<-r.Context().Done()
			close(ended)
		}
		heard := make(chan struct{}, 1)
		r := connectModern(t, e, modern.Client{ToolListChanged: func(context.Context, *modern.ToolListChangedParams) error { heard <- struct{}{}; return nil }})
		yes := true
		sub, err := r.Listen(t.Context(), &modern.SubscriptionsListenParams{Notifications: modern.SubscriptionFilter{ToolsListChanged: &yes}})
		require.NoError(t, err)
		<-heard
		sub.Close()
		<-ended
		<-sub.Done()
		require.NoError(t, sub.Err())
		require.Empty(t, s.of("notifications/cancelled"))
	})
	bubble(t, "one that the server ends", func(t *testing.T, s *script, e *Endpoint) {
		s.on["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(ack(m) + event(rpcResult(m.ID, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":`+string(m.ID)+`}}`)))
		}
		r := connectModern(t, e, modern.Client{})
		sub, err := r.Listen(t.Context(), &modern.SubscriptionsListenParams{})
		require.NoError(t, err)
		<-sub.Done()
		require.NoError(t, sub.Err())
	})
	bubble(t, "one that is refused", func(t *testing.T, s *script, e *Endpoint) {
		s.on["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			reply(w, 404, mediaJSON, rpcError(m.ID, -32601, "none here"))
		}
		r := connectModern(t, e, modern.Client{})
		_, err := r.Listen(t.Context(), &modern.SubscriptionsListenParams{})
		require.ErrorIs(t, err, &jsonrpc.Error{Code: -32601})
	})
	bubble(t, "one that is open when the link is closed", func(t *testing.T, s *script, e *Endpoint) {
		s.on["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(ack(m))
			<-r.Context().Done()
		}
		r := connectModern(t, e, modern.Client{})
		sub, err := r.Listen(t.Context(), &modern.SubscriptionsListenParams{})
		require.NoError(t, err)
		require.NoError(t, r.Close())
		<-sub.Done()
	})
}

// TestClientSuspectsABufferingProxy plays servers with a keep-alive of 15 s,
// directly and through something that holds back all they write.
func TestClientSuspectsABufferingProxy(t *testing.T) {
	const note = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
	type step struct {
		after time.Duration
		text  string
	}
	keep := ": keep-alive\n\n"
	for _, c := range []struct {
		rule     string
		steps    []step // the answer follows the last
		suspects bool   // when all is held back to the end
	}{
		{"a progress and a keep-alive", []step{{0, event(note)}, {15 * time.Second, keep}, {5 * time.Second, ""}}, true},
		{"two keep-alives", []step{{15 * time.Second, keep}, {15 * time.Second, keep}, {0, ""}}, true},
		{"keep-alives that tell the time", []step{{15 * time.Second, ": ping - 10:00\n\n"}, {15 * time.Second, ": ping - 10:15\n\n"}, {0, ""}}, true},
		{"one keep-alive and the answer prove nothing", []step{{15 * time.Second, keep}, {time.Second, ""}}, false},
		{"a slow server without keep-alive", []step{{0, event(note)}, {25 * time.Second, event(note)}, {0, ""}}, false},
		{"a slow server that begins late", []step{{20 * time.Second, ": connected\n\n: padding\n\n" + event(note) + event(note)}, {0, ""}}, false},
		{"a quick server with comments", []step{{0, keep}, {0, keep}, {0, event(note)}, {0, keep}, {0, event(note)}}, false},
		{"a server that comments often", []step{{time.Second, keep}, {time.Second, keep}, {time.Second, event(note)}}, false},
	} {
		for _, held := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, held back %v", c.rule, held), func(t *testing.T, s *script, e *Endpoint) {
				s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
					var buf strings.Builder
					send := func(text string) { buf.WriteString(text) }
					if !held {
						send = stream(w)
					}
					for _, st := range c.steps {
						time.Sleep(st.after)
						send(st.text)
					}
					send(event(rpcResult(m.ID, toolResult)))
					if held {
						stream(w)(buf.String())
					}
				}
				hour := time.Hour
				r := connect(t, e, legacy.Client{Options: jsonrpc.Options{Timeout: &hour}})
				require.NoError(t, call(r))
				require.Equal(t, held && c.suspects, link(r.Conn()).Status().ProxySuspected)
			})
		}
	}
	bubble(t, "it is told once", func(t *testing.T, s *script, e *Endpoint) {
		told := 0
		e.Notices = append(e.Notices, func(n Notice) {
			if n.Kind == ProxySuspected {
				told++
				require.ErrorContains(t, n.Err, "X-Accel-Buffering")
			}
		})
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			time.Sleep(29 * time.Second)
			stream(w)(keep + keep + event(note) + keep + event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.NoError(t, call(r))
		require.Equal(t, 1, told)
	})
	bubble(t, "a GET stream", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			for range 3 {
				time.Sleep(time.Minute)
				send(strings.Repeat(keep, 4))
			}
			<-r.Context().Done()
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(2 * time.Minute)
		require.True(t, link(r.Conn()).Status().ProxySuspected)
	})
	t.Run("what lay ready because nobody read it proves nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			l := &Link{keepAlive: 15 * time.Second}
			b := l.watch(strings.NewReader("x"), time.Now())
			time.Sleep(time.Hour) // the reader was busy
			_, _ = b.Read(make([]byte, 1))
			b.event()
			b.comment([]byte(" keep-alive"))
			b.comment([]byte(" keep-alive"))
			b.event()
			require.False(t, l.buffered.Load())
		})
	})
}

// TestClientPool holds that calls of 64 callers need no new connections once
// there are enough.
func TestClientPool(t *testing.T) {
	for _, kind := range []string{"JSON", "stream"} {
		t.Run(kind, func(t *testing.T) {
			s := newScript(t)
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				if kind == "JSON" {
					goodServer(w, r, m)
					return
				}
				w.Header().Set("Content-Type", mediaEvents)
				_, _ = w.Write([]byte(event(rpcResult(m.ID, toolResult))))
			}
			var conns atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				s.ServeHTTP(w, r)
				s.mu.Lock()
				s.log = nil
				s.mu.Unlock()
			}))
			srv.Config.ConnState = func(_ net.Conn, st http.ConnState) {
				if st == http.StateNew {
					conns.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			r := connect(t, URL(srv.URL), legacy.Client{})
			round := func(calls int) {
				var wg sync.WaitGroup
				for range 64 {
					wg.Go(func() {
						for range calls {
							if err := call(r); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
			}
			round(30)
			// One for each of the callers, and those that net/http dialled while one
			// became free: of 1,920 calls.
			require.LessOrEqual(t, conns.Load(), int64(3*64), "no new connections in the steady state")
		})
	}
}

// TestClientLeavesNothing opens and closes many links over real sockets.
func TestClientLeavesNothing(t *testing.T) {
	s := newScript(t)
	s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		stream(w)("")
		<-r.Context().Done()
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	before := runtime.NumGoroutine()
	for range 200 {
		r, err := legacy.Connect(t.Context(), URL(srv.URL), legacy.Client{})
		require.NoError(t, err)
		require.NoError(t, call(r))
		require.NoError(t, r.Close())
	}
	srv.CloseClientConnections()
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+3 }, 5*time.Second, 10*time.Millisecond)
}

// TestClientUnderLoad makes many calls at once, of which some are given up at a
// random moment.
func TestClientUnderLoad(t *testing.T) {
	s := newScript(t)
	s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		n, _ := m.ID.Int()
		switch n % 4 {
		case 0:
			goodServer(w, r, m)
		case 1:
			stream(w)(event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`) + event(rpcResult(m.ID, toolResult)))
		case 2:
			w.WriteHeader(500)
		case 3:
			select {
			case <-r.Context().Done():
			case <-time.After(time.Duration(n%7) * time.Millisecond):
				goodServer(w, r, m)
			}
		}
	}
	srv := httptest.NewServer(s)
	defer srv.Close()
	r := connect(t, URL(srv.URL), legacy.Client{})
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%50)*time.Millisecond)
			defer cancel()
			if i%3 == 0 {
				ctx = t.Context()
			}
			_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
			if err != nil && statusOf(err) != 500 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
	require.Zero(t, r.Conn().Stats().Calls)
	require.Eventually(t, func() bool { return link(r.Conn()).Status().Calls == 0 }, 5*time.Second, time.Millisecond)
}

func TestClientSends202(t *testing.T) {
	bubble(t, "status-202-content-type", func(t *testing.T, s *script, e *Endpoint) {
		s.on["notifications/initialized"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaEvents)
			w.Header().Set("Content-Length", "0")
			w.WriteHeader(http.StatusAccepted)
		}
		start := time.Now()
		connect(t, e, legacy.Client{})
		require.Zero(t, time.Since(start))
	})
	bubble(t, "what comes with the acceptance is not lost", func(t *testing.T, s *script, e *Endpoint) {
		heard := make(chan struct{}, 2)
		s.on["notifications/initialized"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
		}
		connect(t, e, legacy.Client{ToolListChanged: func(context.Context, *legacy.ToolListChangedParams) error { heard <- struct{}{}; return nil }})
		<-heard
	})
	bubble(t, "a stream that lasts does not hold up the sender", func(t *testing.T, s *script, e *Endpoint) {
		s.on["notifications/initialized"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(": hi\n\n")
			<-r.Context().Done()
		}
		start := time.Now()
		connect(t, e, legacy.Client{})
		require.Zero(t, time.Since(start))
	})
	bubble(t, "a 200 with nothing in it", func(t *testing.T, s *script, e *Endpoint) {
		s.on["notifications/initialized"] = func(w http.ResponseWriter, r *http.Request, m *msg) { reply(w, 200, mediaJSON, "") }
		connect(t, e, legacy.Client{})
	})
}

func TestClientMessagesAreWhole(t *testing.T) {
	bubble(t, "concurrent-writes-interleave", func(t *testing.T, s *script, e *Endpoint) {
		r := connect(t, e, legacy.Client{})
		big := wire.Quote(strings.Repeat("a", 16<<10))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain", Arguments: wire.Raw(`{"a":` + string(big) + `}`)})
				require.NoError(t, err)
			})
		}
		wg.Wait()
		for _, m := range s.all() {
			if len(m.Body) > 0 {
				require.True(t, json.Valid(m.Body))
			}
		}
	})
	bubble(t, "parameterless-call-rejected-by-server-schema", func(t *testing.T, s *script, e *Endpoint) {
		r := connect(t, e, legacy.Client{})
		_, err := r.CallTool(t.Context(), &legacy.CallToolParams{Name: "list-all-tools", Arguments: wire.Raw(`{}`)})
		require.NoError(t, err)
		require.JSONEq(t, `{"name":"list-all-tools","arguments":{}}`, string(s.of("tools/call")[0].Params))
	})
}
