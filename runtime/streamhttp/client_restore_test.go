package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// forgets makes a server forget its sessions: all but the one with this number
// get 404.
func (s *script) forgets(current func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{"tools/call", "resources/subscribe", "resources/unsubscribe", "logging/setLevel", "GET"} {
		s.on[key] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Header.Get("Mcp-Session-Id") != fmt.Sprintf("s%d", current()) {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			goodServer(w, r, m)
		}
	}
}

// asked are the requests of one session that a new one repeats, as lines.
func (s *script) asked(session string) (lines []string) {
	for _, m := range s.all() {
		if m.Header.Get("Mcp-Session-Id") != session {
			continue
		}
		switch m.Method {
		case "resources/subscribe", "resources/unsubscribe":
			uri, _ := m.Params.Get("uri").Str()
			lines = append(lines, strings.TrimPrefix(m.Method, "resources/")+" "+uri)
		case "logging/setLevel":
			level, _ := m.Params.Get("level").Str()
			lines = append(lines, "level "+level)
		}
	}
	return lines
}

// TestNewSessionIsAskedForTheSame: what the caller subscribed to in a session,
// and the log level, are asked of the one that replaces it: what was granted and
// not given up (basic/transports, session management).
func TestNewSessionIsAskedForTheSame(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		var mu sync.Mutex
		session := 1
		s.forgets(func() int { mu.Lock(); defer mu.Unlock(); return session })
		granted := s.on["resources/subscribe"]
		s.on["resources/subscribe"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if uri, _ := m.Params.Get("uri").Str(); uri == "x:refused" {
				reply(w, 200, mediaJSON, rpcError(m.ID, -32002, "no"))
				return
			}
			granted(w, r, m)
		}
		var notices []NoticeKind
		e.Notices = append(e.Notices, func(n Notice) { mu.Lock(); defer mu.Unlock(); notices = append(notices, n.Kind) })
		r := connect(t, e, legacy.Client{})
		for _, uri := range []string{"x:b", "x:a", "x:gone", "x:b"} {
			_, err := r.Subscribe(t.Context(), &legacy.SubscribeParams{URI: uri})
			require.NoError(t, err)
		}
		_, err := r.Subscribe(t.Context(), &legacy.SubscribeParams{URI: "x:refused"})
		require.Error(t, err)
		_, err = r.Unsubscribe(t.Context(), &legacy.UnsubscribeParams{URI: "x:gone"})
		require.NoError(t, err)
		for _, level := range []legacy.LoggingLevel{legacy.LoggingLevelDebug, legacy.LoggingLevelError} {
			_, err = r.SetLevel(t.Context(), &legacy.SetLevelParams{Level: level})
			require.NoError(t, err)
		}
		for n := 2; n <= 3; n++ { // twice, so that what is restored is kept as well
			mu.Lock()
			session = n
			mu.Unlock()
			require.NoError(t, call(r))
			synctest.Wait()
			require.Equal(t, []string{"level error", "subscribe x:a", "subscribe x:b"}, s.asked(fmt.Sprintf("s%d", n)))
		}
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, 2, len(slices.DeleteFunc(slices.Clone(notices), func(k NoticeKind) bool { return k != SessionLost })))
		require.NotContains(t, notices, NotRestored)
	})
}

// TestNewSessionThatRefuses: what a new session does not take is told, and calls
// go on.
func TestNewSessionThatRefuses(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		var mu sync.Mutex
		session := 1
		s.forgets(func() int { mu.Lock(); defer mu.Unlock(); return session })
		var notices []Notice
		e.Notices = append(e.Notices, func(n Notice) { mu.Lock(); defer mu.Unlock(); notices = append(notices, n) })
		r := connect(t, e, legacy.Client{})
		_, err := r.Subscribe(t.Context(), &legacy.SubscribeParams{URI: "x:a"})
		require.NoError(t, err)
		s.mu.Lock()
		s.on["resources/subscribe"] = func(w http.ResponseWriter, _ *http.Request, m *msg) {
			reply(w, 200, mediaJSON, rpcError(m.ID, -32002, "it is gone"))
		}
		s.mu.Unlock()
		mu.Lock()
		session = 2
		mu.Unlock()
		require.NoError(t, call(r))
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		i := slices.IndexFunc(notices, func(n Notice) bool { return n.Kind == NotRestored })
		require.GreaterOrEqual(t, i, 0)
		require.ErrorContains(t, notices[i].Err, "x:a")
		require.ErrorContains(t, notices[i].Err, "it is gone")
		st := link(r.Conn()).Status()
		require.Equal(t, uint64(1), st.Count(NotRestored))
	})
}

// TestServerThatForgetsAtOnce: that a session is restored begins no other one,
// so that a server which forgets each at once is not asked without end.
func TestServerThatForgetsAtOnce(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		e.NoStream = true
		r := connect(t, e, legacy.Client{})
		_, err := r.Subscribe(t.Context(), &legacy.SubscribeParams{URI: "x:a"})
		require.NoError(t, err)
		s.forgets(func() int { return 0 })
		require.Error(t, call(r))
		time.Sleep(time.Hour)
		require.Len(t, s.of("initialize"), 2)
		require.Len(t, s.of("resources/subscribe"), 2)
	})
}

// TestUnsubscribeWhileItIsRestored: what is given up while a new session is asked
// for it is not subscribed to in the end.
func TestUnsubscribeWhileItIsRestored(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		e.NoStream = true
		var mu sync.Mutex
		session := 1
		s.forgets(func() int { mu.Lock(); defer mu.Unlock(); return session })
		r := connect(t, e, legacy.Client{})
		_, err := r.Subscribe(t.Context(), &legacy.SubscribeParams{URI: "x:a"})
		require.NoError(t, err)
		s.mu.Lock()
		s.on["resources/subscribe"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			time.Sleep(time.Second)
			goodServer(w, r, m)
		}
		s.mu.Unlock()
		mu.Lock()
		session = 2
		mu.Unlock()
		require.NoError(t, call(r)) // does not wait for it
		synctest.Wait()
		_, err = r.Unsubscribe(t.Context(), &legacy.UnsubscribeParams{URI: "x:a"})
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"subscribe x:a", "unsubscribe x:a", "unsubscribe x:a"}, s.asked("s2"))
	})
}

// TestCursorStaysInItsSession: once a session was begun anew, whatever for, only
// the cursors that it has given itself are sent (server/utilities/pagination).
func TestCursorStaysInItsSession(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		session, page := 1, ""
		s.forgets(func() int { s.mu.Lock(); defer s.mu.Unlock(); return session })
		s.on["prompts/list"] = func(w http.ResponseWriter, _ *http.Request, m *msg) {
			s.mu.Lock()
			defer s.mu.Unlock()
			answer(w, m.ID, `{"prompts":[],"nextCursor":"`+page+`"}`)
		}
		restart := func(r *legacy.RemoteServer) {
			s.mu.Lock()
			session++
			s.mu.Unlock()
			require.NoError(t, call(r))
		}
		list := func(r *legacy.RemoteServer, cursor *string, next string) error {
			s.mu.Lock()
			page = next
			s.mu.Unlock()
			res, err := r.ListPrompts(t.Context(), &legacy.ListPromptsParams{Cursor: cursor})
			if err == nil {
				require.Equal(t, next, *res.NextCursor)
			}
			return err
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, list(r, nil, "one"))
		require.NoError(t, list(r, new("of a file"), ""), "in the first session any goes out")
		require.NoError(t, list(r, new(""), "two"), "an empty one is one")

		restart(r)
		for _, old := range []string{"one", "two", "", "of a file"} {
			require.ErrorIs(t, list(r, &old, "none"), ErrStaleCursor, old)
		}
		require.NoError(t, list(r, nil, "one"))
		require.NoError(t, list(r, new("one"), ""), "the new session has given it as well")
		require.NoError(t, list(r, new("one"), "two"), "and again")
		require.NoError(t, list(r, new(""), "three"))
		require.ErrorIs(t, list(r, new("none"), ""), ErrStaleCursor)

		restart(r)
		require.ErrorIs(t, list(r, new("three"), ""), ErrStaleCursor, "in a third session")

		cursors := map[string][]string{}
		for _, m := range s.of("prompts/list") {
			if c, ok := m.Params.Get("cursor").Str(); ok {
				id := m.Header.Get("Mcp-Session-Id")
				cursors[id] = append(cursors[id], c)
			}
		}
		require.Equal(t, map[string][]string{"s1": {"of a file", ""}, "s2": {"one", "one", ""}}, cursors)
	})
}

// TestCursorsAreRememberedToABound: the newest cursors of a session that was
// begun anew, and none of an answer that came after its session.
func TestCursorsAreRememberedToABound(t *testing.T) {
	var p pageTable
	require.True(t, p.gave(firstSession, "x"))
	require.False(t, p.gave(2, "0"))
	for i := range maxCursors + 2 {
		p.give(2, fmt.Sprint(i))
	}
	require.False(t, p.gave(2, "0"))
	require.False(t, p.gave(2, "1"))
	for i := 2; i < maxCursors+2; i++ {
		require.True(t, p.gave(2, fmt.Sprint(i)), i)
	}
	require.Len(t, p.given, maxCursors)
	p.give(3, "a")
	p.give(2, "late")
	require.True(t, p.gave(3, "a"))
	require.False(t, p.gave(3, "late"))
	require.False(t, p.gave(3, "5"))
}

// listening is a server whose subscriptions/listen does what the test says,
// attempt by attempt; the last one again for further ones.
func listening(s *script, attempts ...func(w http.ResponseWriter, r *http.Request, m *msg)) {
	s.on["subscriptions/listen"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		attempts[min(m.n, len(attempts)-1)](w, r, m)
	}
}

func acknowledgement(m *msg, honours string) string {
	return event(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `},"notifications":` + honours + `}}`)
}

func changed(m *msg) string {
	return event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(m.ID) + `}}}`)
}

// breaks acknowledges, tells of a change, and breaks off after a time.
func breaks(honours string, after time.Duration) func(http.ResponseWriter, *http.Request, *msg) {
	return func(w http.ResponseWriter, r *http.Request, m *msg) {
		send := stream(w)
		send(acknowledgement(m, honours) + changed(m))
		time.Sleep(after)
		panic(http.ErrAbortHandler)
	}
}

// stays acknowledges, tells of a change, and stays open.
func stays(honours string) func(http.ResponseWriter, *http.Request, *msg) {
	return func(w http.ResponseWriter, r *http.Request, m *msg) {
		send := stream(w)
		send(acknowledgement(m, honours) + changed(m))
		<-r.Context().Done()
	}
}

func refuses(status int, body string) func(http.ResponseWriter, *http.Request, *msg) {
	return func(w http.ResponseWriter, _ *http.Request, m *msg) {
		reply(w, status, mediaJSON, strings.ReplaceAll(body, "$id", string(m.ID)))
	}
}

// TestSubscriptionIsOpenedAgain: a subscriptions/listen whose stream breaks is
// opened again, as often as it takes and ever more slowly, until the server
// answers or refuses it; the gap is told by events (basic/patterns/subscriptions,
// 2026-07-28).
func TestSubscriptionIsOpenedAgain(t *testing.T) {
	const all, some = `{"toolsListChanged":true,"promptsListChanged":true}`, `{"toolsListChanged":true}`
	const ended = `{"jsonrpc":"2.0","id":$id,"result":{"resultType":"complete"}}`
	for _, c := range []struct {
		rule     string
		attempts []func(http.ResponseWriter, *http.Request, *msg)
		in       time.Duration // what follows holds then
		asked    int           // 0: between 25 and 45, as the waits turn out
		changes  int
		broke    int
		reopened int
		honours  string
		ended    bool
		err      string
	}{
		{"it broke", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, time.Second), stays(some)}, 5 * time.Second, 2, 2, 1, 1, some, false, ""},
		{"it was closed", []func(http.ResponseWriter, *http.Request, *msg){func(w http.ResponseWriter, _ *http.Request, m *msg) {
			stream(w)(acknowledgement(m, all))
		}, stays(all)}, 5 * time.Second, 2, 1, 1, 1, all, false, ""},
		{"the server is away for a moment", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0), refuses(503, ""), refuses(502, "<html>"), refuses(429, ""), stays(all)}, time.Minute, 5, 2, 1, 1, all, false, ""},
		{"it breaks at once each time", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0)}, 10 * time.Minute, 0, 0, 0, 0, all, false, ""},
		{"it lasts for a while each time", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 20*time.Second)}, 5 * time.Minute, 15, 15, 14, 14, all, false, ""},
		{"it is refused", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0), refuses(403, "")}, time.Minute, 2, 1, 1, 0, all, true, "403"},
		{"the peer refuses it", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0), refuses(200, `{"jsonrpc":"2.0","id":$id,"error":{"code":-32602,"message":"no"}}`)}, time.Minute, 2, 1, 1, 0, all, true, "-32602"},
		{"the server ends it", []func(http.ResponseWriter, *http.Request, *msg){func(w http.ResponseWriter, _ *http.Request, m *msg) {
			stream(w)(acknowledgement(m, all) + event(strings.ReplaceAll(ended, "$id", string(m.ID))))
		}}, time.Minute, 1, 0, 0, 0, all, true, ""},
		{"the server ends it later", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0), refuses(200, ended)}, time.Minute, 2, 1, 1, 0, all, true, ""},
		{"it is not acknowledged again in time", []func(http.ResponseWriter, *http.Request, *msg){breaks(all, 0), func(w http.ResponseWriter, r *http.Request, _ *msg) {
			stream(w)
			<-r.Context().Done()
		}, stays(all)}, time.Minute, 3, 2, 1, 1, all, false, ""},
	} {
		bubble(t, c.rule, func(t *testing.T, s *script, e *Endpoint) {
			listening(s, c.attempts...)
			var mu sync.Mutex
			events := map[jsonrpc.EventKind]int{}
			changes := 0
			r := connectModern(t, e, modern.Client{Options: jsonrpc.Options{Events: []func(jsonrpc.Event){func(ev jsonrpc.Event) {
				mu.Lock()
				defer mu.Unlock()
				events[ev.Kind]++
			}}}})
			sub, err := jsonrpc.Listen(t.Context(), r.Conn(), &modern.SubscriptionsListenParams{}, func(string, wire.Raw) {
				mu.Lock()
				defer mu.Unlock()
				changes++
			})
			require.NoError(t, err)
			time.Sleep(c.in)
			if c.asked == 0 {
				// Six waits that double from half a second on, then half a minute
				// each; all of them less up to a half.
				c.asked = len(s.of("subscriptions/listen"))
				require.GreaterOrEqual(t, c.asked, 7+18)
				require.LessOrEqual(t, c.asked, 7+38)
				c.changes, c.broke, c.reopened = c.asked, c.asked, c.asked-1
			}
			mu.Lock()
			require.Len(t, s.of("subscriptions/listen"), c.asked, "asked")
			require.Equal(t, c.changes, changes, "changes")
			require.Equal(t, c.broke, events[jsonrpc.BrokenSubscription], "broke")
			require.Equal(t, c.reopened, events[jsonrpc.ReopenedSubscription], "reopened")
			require.Zero(t, events[jsonrpc.UnknownNotification])
			mu.Unlock()
			require.JSONEq(t, c.honours, string(sub.Honoured()))
			if c.ended {
				<-sub.Done()
			} else {
				select {
				case <-sub.Done():
					require.Fail(t, "it has ended", "%v", sub.Err())
				default:
				}
				sub.Close()
				<-sub.Done()
			}
			if c.err == "" {
				require.NoError(t, sub.Err())
			} else {
				require.ErrorContains(t, sub.Err(), c.err)
			}
			n := len(s.of("subscriptions/listen"))
			time.Sleep(time.Hour)
			require.Len(t, s.of("subscriptions/listen"), n, "nothing is asked after the end")
		})
	}
}

// TestSubscriptionThatNeverOpened: what fails before it was acknowledged is the
// caller's to try again.
func TestSubscriptionThatNeverOpened(t *testing.T) {
	bubble(t, "", func(t *testing.T, s *script, e *Endpoint) {
		listening(s, refuses(503, ""))
		r := connectModern(t, e, modern.Client{})
		_, err := jsonrpc.Listen(t.Context(), r.Conn(), &modern.SubscriptionsListenParams{}, nil)
		require.ErrorContains(t, err, "503")
		time.Sleep(time.Hour)
		require.Len(t, s.of("subscriptions/listen"), 1)
	})
}

// TestSubscriptionEndsWithTheConnection, also between two attempts.
func TestSubscriptionEndsWithTheConnection(t *testing.T) {
	for _, after := range []time.Duration{time.Millisecond, 100 * time.Millisecond, 10 * time.Second} {
		bubble(t, after.String(), func(t *testing.T, s *script, e *Endpoint) {
			listening(s, breaks(`{}`, 0), refuses(503, ""))
			r := connectModern(t, e, modern.Client{})
			sub, err := jsonrpc.Listen(t.Context(), r.Conn(), &modern.SubscriptionsListenParams{}, nil)
			require.NoError(t, err)
			time.Sleep(after)
			require.NoError(t, r.Conn().Drain(t.Context()))
			<-sub.Done()
			require.ErrorIs(t, sub.Err(), jsonrpc.ErrClosed)
		})
	}
}

// TestBrokenServerBehindAProxy: a call whose stream broke is taken up again for as
// long as its time lasts and no longer, whatever the proxy answers; without a bound
// eight times.
func TestBrokenServerBehindAProxy(t *testing.T) {
	for _, status := range []int{502, 503, 504} {
		for _, c := range []struct {
			name         string
			timeout, ctx time.Duration
			least, most  time.Duration
			is           error
			tries        int
			retryAfter   string
		}{
			{"the call's timeout", 10 * time.Second, 0, 10 * time.Second, 10 * time.Second, jsonrpc.ErrTimeout, 0, ""},
			{"the caller's deadline", time.Hour, 3 * time.Second, 3 * time.Second, 3 * time.Second, context.DeadlineExceeded, 0, ""},
			{"a deadline before the server is back", time.Hour, 3 * time.Second, 3 * time.Second, 3 * time.Second, context.DeadlineExceeded, 1, "3600"},
			{"no bound", 0, 0, 15 * time.Second, time.Minute, ErrOutcomeUnknown, 8, ""},
		} {
			bubble(t, fmt.Sprint(status, " ", c.name), func(t *testing.T, s *script, e *Endpoint) {
				e.NoStream = true
				s.on["tools/call"] = func(w http.ResponseWriter, _ *http.Request, _ *msg) {
					stream(w)(eventID("1", ""))
					panic(http.ErrAbortHandler)
				}
				s.on["GET"] = func(w http.ResponseWriter, _ *http.Request, _ *msg) {
					if c.retryAfter != "" {
						w.Header().Set("Retry-After", c.retryAfter)
					}
					reply(w, status, "text/html", "<html>")
				}
				r := connect(t, e, legacy.Client{})
				ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: &c.timeout, MaxTimeout: new(time.Duration)})
				if c.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.ctx)
					defer cancel()
				}
				began := time.Now()
				_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
				require.ErrorIs(t, err, c.is)
				require.GreaterOrEqual(t, time.Since(began), c.least)
				require.LessOrEqual(t, time.Since(began), c.most)
				if c.tries > 0 {
					require.LessOrEqual(t, len(s.of("GET")), c.tries)
				}
				require.Len(t, s.of("tools/call"), 1, "it is not posted again")
			})
		}
	}
}

// failing makes the first requests fail before anything of them is read.
type failing struct {
	http.RoundTripper
	with  error
	times int
	tries int
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && f.times > 0 {
		f.tries++
		if f.tries <= f.times {
			return nil, f.with
		}
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestConnectionThatDiedIdle: a request that was not begun goes out on another
// connection, once, whatever it is: the server has nothing of it. Where there is
// none to be had it fails.
func TestConnectionThatDiedIdle(t *testing.T) {
	died := errors.New("http: server closed idle connection")
	refused := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for _, c := range []struct {
		name  string
		with  error
		times int
		tries int
		ok    bool
	}{{"it had died", died, 1, 2, true}, {"the next one too", died, 2, 2, false}, {"nobody is there", refused, 1, 1, false}} {
		bubble(t, c.name, func(t *testing.T, s *script, e *Endpoint) {
			f := &failing{RoundTripper: e.RoundTripper, with: c.with}
			e.RoundTripper = f
			r := connectModern(t, e, modern.Client{})
			f.times = c.times
			err := callModern(r, "plain", "")
			f.times = 0
			require.Equal(t, c.tries, f.tries)
			if c.ok {
				require.NoError(t, err)
				require.Len(t, s.of("tools/call"), 1)
				return
			}
			var re *RequestError
			require.ErrorAs(t, err, &re)
			require.False(t, re.Sent)
			require.ErrorIs(t, err, c.with)
			require.Empty(t, s.of("tools/call"))
		})
	}
}

// TestGatewayThatLostTheServer: 502 and 504 say of the connection behind the
// gateway what a broken connection says of the one in front of it; 503 says that
// nothing was done.
func TestGatewayThatLostTheServer(t *testing.T) {
	for _, c := range []struct {
		status  int
		tool    string
		legacy  bool
		unknown bool
		posts   int
		ok      bool
	}{
		{502, "plain", false, true, 1, false},
		{504, "plain", false, true, 1, false},
		{502, "plain", true, true, 1, false},
		{504, "plain", true, true, 1, false},
		{502, "reads", false, false, 2, true},
		{504, "again", false, false, 2, true},
		{503, "plain", false, false, 1, false},
		{500, "plain", true, false, 1, false},
		{503, "reads", false, false, 1, false},
	} {
		bubble(t, fmt.Sprint(c.status, " ", c.tool, " legacy: ", c.legacy), func(t *testing.T, s *script, e *Endpoint) {
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				if m.n == 0 {
					reply(w, c.status, "text/html", "<html>")
					return
				}
				goodServer(w, r, m)
			}
			var err error
			if c.legacy {
				err = call(connect(t, e, legacy.Client{}))
			} else {
				r := connectModern(t, e, modern.Client{})
				_, lerr := r.ListTools(t.Context(), nil)
				require.NoError(t, lerr)
				err = callModern(r, c.tool, "")
			}
			require.Equal(t, c.ok, err == nil, "%v", err)
			require.Equal(t, c.unknown, errors.Is(err, ErrOutcomeUnknown), "%v", err)
			require.Len(t, s.of("tools/call"), c.posts)
			if !c.ok {
				var se *StatusError
				require.ErrorAs(t, err, &se)
				require.Equal(t, c.status, se.Status)
			}
		})
	}
}
