package check_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// inMemory is a listener without a network, so that a bubble of fake time can
// hold it.
type inMemory struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *inMemory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *inMemory) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *inMemory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

func (l *inMemory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connection refused")}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// atURL serves a handler in memory until the function is called.
func atURL(h http.HandlerFunc) (*check.Endpoint, func()) {
	l := &inMemory{conns: make(chan net.Conn), done: make(chan struct{})}
	var mu sync.Mutex
	var over bool // none begins any more
	var handling sync.WaitGroup
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if !over {
			handling.Add(1)
			defer handling.Done()
		}
		late := over
		mu.Unlock()
		if !late {
			h(w, r)
		}
	})
	s := &http.Server{Handler: counted, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	return &check.Endpoint{URL: "http://127.0.0.1/mcp", Dial: l.dial}, func() {
		_ = s.Close()
		<-served
		mu.Lock()
		over = true
		mu.Unlock()
		handling.Wait()
	}
}

// message is what a client posts.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Version string `json:"protocolVersion"`
	} `json:"params"`
}

// posted reads the message of a POST.
func posted(r *http.Request) (m message) {
	_ = json.NewDecoder(r.Body).Decode(&m)
	return m
}

func answer(w http.ResponseWriter, m message, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

const oneTool = `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"object","properties":{"deep":{"type":"boolean","x-mcp-header":"Deep"}}}}}}]}`

// small serves what the opening of a session takes, in any revision, and hands
// the rest on.
func small(rest func(w http.ResponseWriter, r *http.Request, m message)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rest(w, r, message{})
			return
		}
		switch m := posted(r); {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "session-1")
			answer(w, m, `{"protocolVersion":"`+m.Params.Version+`","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}`)
		case m.Method == "server/discover":
			answer(w, m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete"}`)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "ping":
			answer(w, m, `{}`)
		case m.Method == "tools/list":
			answer(w, m, oneTool)
		default:
			rest(w, r, m)
		}
	}
}

func nothing(w http.ResponseWriter, _ *http.Request, _ message) {
	w.WriteHeader(http.StatusMethodNotAllowed)
}

// drivenAt runs probes against a handler, in fake time.
func drivenAt(t *testing.T, rev string, h http.HandlerFunc, run func(d *check.Driver)) []*check.Trace {
	t.Helper()
	var traces []*check.Trace
	synctest.Test(t, func(t *testing.T) {
		e, stop := atURL(h)
		defer stop()
		var err error
		traces, err = check.Drive(t.Context(), e, check.DriveOptions{
			Revision: rev, Probes: []check.Probe{{Name: "it", Profile: check.Main, Run: func(d *check.Driver) { d.Step("it"); run(d) }}},
		})
		require.NoError(t, err)
	})
	return traces
}

func TestRequestsCarryTheHeadersOfTheirRevision(t *testing.T) {
	const region = `{"name":"t","arguments":{"region":"é","n":{"deep":true}}}`
	for rev, want := range map[string][]string{
		"2025-03-26": {
			"POST initialize application/json session= version= method= name=",
			"POST notifications/initialized application/json session=session-1 version= method= name=",
			"GET  text/event-stream session=session-1 version= method= name=",
			"POST ping application/json session=session-1 version= method= name=",
			"POST tools/list application/json session=session-1 version= method= name=",
			"POST tools/call application/json session=session-1 version= method= name=",
			"DELETE   session=session-1 version= method= name=",
		},
		"2025-11-25": {
			"POST initialize application/json session= version= method= name=",
			"POST notifications/initialized application/json session=session-1 version=2025-11-25 method= name=",
			"GET  text/event-stream session=session-1 version=2025-11-25 method= name=",
			"POST ping application/json session=session-1 version=2025-11-25 method= name=",
			"POST tools/list application/json session=session-1 version=2025-11-25 method= name=",
			"POST tools/call application/json session=session-1 version=2025-11-25 method= name=",
			"DELETE   session=session-1 version=2025-11-25 method= name=",
		},
		"2026-07-28": {
			"POST server/discover application/json session= version=2026-07-28 method=server/discover name=",
			"POST tools/list application/json session= version=2026-07-28 method=tools/list name=",
			"POST tools/call application/json session= version=2026-07-28 method=tools/call name=t region==?base64?w6k=?= deep=true",
		},
	} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []string
			h := small(func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method == "tools/call" {
					answer(w, m, `{"content":[]}`)
					return
				}
				nothing(w, r, m)
			})
			drivenAt(t, rev, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var m message
				_ = json.Unmarshal(body, &m)
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				accept, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
				line := fmt.Sprintf("%s %s %s session=%s version=%s method=%s name=%s", r.Method, m.Method, accept,
					r.Header.Get("Mcp-Session-Id"), r.Header.Get("MCP-Protocol-Version"), r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Name"))
				if p := r.Header.Get("Mcp-Param-Region"); p != "" {
					line += " region=" + p + " deep=" + r.Header.Get("Mcp-Param-Deep")
				}
				mu.Lock()
				got = append(got, line)
				mu.Unlock()
				h(w, r)
			}, func(d *check.Driver) {
				d.Call("tools/list", "")
				require.True(t, d.Call("tools/call", region).OK())
			})
			require.Equal(t, want, got)
		})
	}
}

// stream begins an event stream.
func stream(w http.ResponseWriter) func(event string) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	return func(event string) {
		_, _ = io.WriteString(w, event+"\n\n")
		w.(http.Flusher).Flush()
	}
}

func TestRequestsOfTheServerAreAnsweredByPost(t *testing.T) {
	answered := make(chan string, 1)
	traces := drivenAt(t, "2025-11-25", small(func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "tools/call":
			say := stream(w)
			say(`data: {"jsonrpc":"2.0","id":"s1","method":"ping"}`)
			say(`data: {"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[],"_meta":{"answered":` + <-answered + `}}}`)
		case m.Result != nil:
			w.WriteHeader(http.StatusAccepted)
			answered <- string(m.ID)
		default:
			nothing(w, r, m)
		}
	}), func(d *check.Driver) {
		a := d.Call("tools/call", `{"name":"t"}`)
		require.True(t, a.OK())
		got, _ := a.Result.Get("_meta").Get("answered").Str()
		require.Equal(t, "s1", got)
	})
	require.Len(t, traces, 1)
}

// TestRequestBeforeTheEndpointIsAnswered holds that a server of HTTP+SSE whose
// first request comes before anybody has read where to post loses no session.
func TestRequestBeforeTheEndpointIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, ponged := make(chan string, 10), make(chan struct{})
		e, stop := atURL(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				if m := posted(r); m.Method == "ping" {
					lines <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`
				} else if string(m.ID) == "77" {
					close(ponged)
				}
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			say := func(text string) {
				_, _ = io.WriteString(w, text+"\n\n")
				_ = http.NewResponseController(w).Flush()
			}
			say(`data: {"jsonrpc":"2.0","id":77,"method":"ping"}`)
			time.Sleep(time.Second)
			say("event: endpoint\ndata: /messages")
			for {
				select {
				case l := <-lines:
					say("data: " + l)
				case <-r.Context().Done():
					return
				}
			}
		})
		defer stop()
		e.Over = catalogue.SSE
		s, err := check.Open(t.Context(), e, check.SessionOptions{Profile: check.Bare, Revision: "2024-11-05"})
		require.NoError(t, err)
		require.True(t, s.Call("ping", "").OK(), s.Lost())
		<-ponged
		s.Close()
	})
}

func TestStreamsAreTakenUpAgain(t *testing.T) {
	for _, places := range []int{1, 3} {
		var call message
		var began, waited time.Time
		round := 0
		traces := drivenAt(t, "2025-11-25", small(func(w http.ResponseWriter, r *http.Request, m message) {
			id := r.Header.Get("Last-Event-ID")
			switch {
			case m.Method == "tools/call":
				call, began = m, time.Now()
				stream(w)("id: p0\nretry: 1500\ndata:")
			case r.Method == http.MethodGet && id != "":
				if waited.IsZero() {
					waited = time.Now()
				}
				if round++; round < places {
					stream(w)(fmt.Sprintf("id: p%d\nretry: 10\ndata:", round))
					return
				}
				stream(w)(`id: last` + "\n" + `data: {"jsonrpc":"2.0","id":` + string(call.ID) + `,"result":{"content":[],"_meta":{"after":"` + id + `"}}}`)
			default:
				nothing(w, r, m)
			}
		}), func(d *check.Driver) {
			a := d.Call("tools/call", `{"name":"t"}`)
			after, _ := a.Result.Get("_meta").Get("after").Str()
			require.Equal(t, fmt.Sprintf("p%d", places-1), after)
		})
		require.GreaterOrEqual(t, waited.Sub(began), 1500*time.Millisecond, "the server says how long to wait")
		require.Len(t, traces, 1)
		var resumed int
		for _, x := range traces[0].Exchanges() {
			if x.Header.Get("Last-Event-ID") != "" {
				resumed++
			}
		}
		require.Equal(t, places, resumed, "a stream that brought the answer is not asked for again")
	}
}

func TestHeadersOfTheUserAreSentAndNotRecorded(t *testing.T) {
	const secret = "s3cr3t-t0ken"
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		e, stop := atURL(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer "+secret {
				seen++
			}
			small(nothing)(w, r)
		})
		defer stop()
		e.Header = http.Header{"Authorization": {"Bearer " + secret}}
		s, err := check.Open(t.Context(), e, check.SessionOptions{Profile: check.Bare, Revision: "2026-07-28"})
		require.NoError(t, err)
		require.True(t, s.Call("server/discover", "").OK())
		require.Equal(t, 200, s.Send(check.HTTPRequest{Body: `{"jsonrpc":"2.0","id":5,"method":"tools/list"}`}).Status)
		require.Equal(t, 2, seen)
		s.Send(check.HTTPRequest{Body: "{}", Without: []string{"authorization"}})
		require.Equal(t, 2, seen, "a probe can leave them out")
		rec := s.Close().Recording
		text, err := rec.MarshalText()
		require.NoError(t, err)
		require.NotContains(t, string(text), secret)
		require.Contains(t, string(text), "authorization: [redacted]")
	})
}

func TestServerThatIsNotThereCannotBeJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := atURL(small(nothing))
		stop()
		_, err := check.Explore(t.Context(), e, check.Limits{})
		require.ErrorContains(t, err, "connection refused")
	})
	for _, url := range []string{"", "ftp://x/", "http:///mcp", "http://[::1/mcp"} {
		_, err := check.Open(t.Context(), &check.Endpoint{URL: url}, check.SessionOptions{Revision: "2025-11-25"})
		require.Error(t, err, url)
	}
}

func TestServerThatLetsNobodyInIsLocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := atURL(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		defer stop()
		x, err := check.Explore(t.Context(), e, check.Limits{})
		require.NoError(t, err)
		require.True(t, x.Locked)
		require.Contains(t, x.Speaks, "2026-07-28")
		ran := 0
		traces, err := check.Drive(t.Context(), e, check.DriveOptions{Revision: "2025-11-25", Locked: x.Locked, Probes: []check.Probe{
			{Name: "needs a session", Profile: check.Main, Run: func(*check.Driver) { ran += 100 }},
			{Name: "needs none", Profile: check.Bare, Run: func(d *check.Driver) { ran++ }},
		}})
		require.NoError(t, err)
		require.Equal(t, 1, ran)
		k := check.Check{ID: "k", Requirements: []string{"legacy/ping-answered"}, Judge: func(c *check.Case) { c.Step("ping") }}
		v := k.Verdict("2025-11-25", catalogue.HTTP, check.FactsOf("2025-11-25", traces), traces, nil)
		require.Equal(t, result.Blocked, v.Verdict)
		require.Contains(t, v.Reason, "credentials")
	})
}

// TestServerThatHangsCostsOneLimit holds that time is lost once, not once for
// each check, on any transport.
func TestServerThatHangsCostsOneLimit(t *testing.T) {
	limits := check.Limits{}
	hang := func(after string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if strings.Contains(string(body), after) {
				<-r.Context().Done()
				return
			}
			small(nothing)(w, r)
		}
	}
	for name, after := range map[string]string{"over everything but the handshake": `"id":2`, "over lists": "tools/list"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, stop := atURL(hang(after))
				defer stop()
				began := time.Now()
				_, err := check.Drive(t.Context(), e, check.DriveOptions{Revision: "2025-11-25", Probes: check.Probes(), Limits: limits})
				require.NoError(t, err)
				require.Less(t, time.Since(began), 10*time.Second+60*time.Second, "one limit for a request, and short waits")
			})
		})
	}
	t.Run("from the start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e, stop := atURL(hang(""))
			defer stop()
			began := time.Now()
			x, err := check.Explore(t.Context(), e, limits)
			require.NoError(t, err)
			require.True(t, x.Silent)
			require.Less(t, time.Since(began), 35*time.Second, "the limit for the start, once")
		})
	})
}

func TestServerThatGoesAwayHasDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, stop := atURL(small(nothing))
		s, err := check.Open(t.Context(), e, check.SessionOptions{Profile: check.Bare, Revision: "2026-07-28"})
		require.NoError(t, err)
		require.True(t, s.Call("server/discover", "").OK())
		stop()
		require.Nil(t, s.Call("server/discover", ""))
		require.NotEmpty(t, s.Lost())
		how, died := s.Close().Died()
		require.True(t, died)
		require.Contains(t, how, "refuses connections")
	})
}

func TestOneRefusalIsNoDeath(t *testing.T) {
	traces := drivenAt(t, "2025-11-25", small(func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "tools/call":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			nothing(w, r, m)
		}
	}), func(d *check.Driver) {
		require.Nil(t, d.Call("tools/call", `{"name":"t"}`))
		require.Empty(t, d.Lost())
		require.True(t, d.Call("ping", "").OK())
	})
	_, died := traces[0].Died()
	require.False(t, died)
	k := check.Check{ID: "k", Requirements: []string{"legacy/ping-answered"}, Judge: func(c *check.Case) {
		for _, req := range c.Step("it").Sent() {
			if req.Method == "tools/call" {
				c.Answer(req)
			}
		}
	}}
	v := k.Verdict("2025-11-25", catalogue.HTTP, check.FactsOf("2025-11-25", traces), traces, nil)
	require.Equal(t, result.Fail, v.Verdict)
	require.Equal(t, "none: HTTP status 500 and no message", v.Observed)
	text := frames(v)
	require.Contains(t, text, ">>5@0ms POST /mcp")
	require.Contains(t, text, "mcp-session-id: session-1")
	require.Contains(t, text, "<<5@0ms 500")
}

func TestEndlessStreamsAreStopped(t *testing.T) {
	for _, tt := range []struct {
		event  string
		limits check.Limits
	}{
		{`data: {"jsonrpc":"2.0","method":"notifications/x","params":{"n":1}}`, check.Limits{Bytes: 1 << 18}},
		{`data: {"jsonrpc":"2.0","method":"notifications/x"}`, check.Limits{Events: 2000}},
		{`: x`, check.Limits{Events: 2000}},
	} {
		synctest.Test(t, func(t *testing.T) {
			e, stop := atURL(func(w http.ResponseWriter, r *http.Request) {
				say := stream(w)
				for i := 0; r.Context().Err() == nil; i++ {
					if say(tt.event); i%100 == 0 {
						time.Sleep(time.Millisecond)
					}
				}
			})
			defer stop()
			s, err := check.Open(t.Context(), e, check.SessionOptions{Profile: check.Bare, Revision: "2026-07-28", Limits: tt.limits})
			require.NoError(t, err)
			require.Nil(t, s.Call("server/discover", ""))
			require.Contains(t, s.Lost(), "more than a session records")
			require.Less(t, len(s.Close().Recording.Events), 10_000)
		})
	}
}

func TestCredentialsOfTheURLAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var user, password string
		e, stop := atURL(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ = r.BasicAuth()
			small(nothing)(w, r)
		})
		defer stop()
		e.URL = "http://somebody:s3cr3t-word@127.0.0.1/mcp"
		s, err := check.Open(t.Context(), e, check.SessionOptions{Profile: check.Bare, Revision: "2026-07-28"})
		require.NoError(t, err)
		require.True(t, s.Call("server/discover", "").OK())
		require.Equal(t, "somebody s3cr3t-word", user+" "+password)
		text, err := s.Close().Recording.MarshalText()
		require.NoError(t, err)
		require.NotContains(t, string(text), "s3cr3t-word")
		require.Contains(t, string(text), "authorization: [redacted]")
	})
}

// TestCancellingClosesTheResponse holds that over HTTP without sessions a
// request is cancelled by closing its response, and nothing is posted.
func TestCancellingClosesTheResponse(t *testing.T) {
	closed := make(chan struct{})
	traces := drivenAt(t, "2026-07-28", small(func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "tools/call":
			stream(w)(": at work")
			<-r.Context().Done()
			close(closed)
		default:
			panic("posted " + m.Method)
		}
	}), func(d *check.Driver) {
		f := d.Ask("tools/call", `{"name":"t"}`)
		d.Pause(time.Second)
		require.Nil(t, d.Tell("notifications/cancelled", `{"requestId":`+f.IDText()+`}`))
		<-closed
	})
	var x *check.Exchange
	for _, e := range traces[0].Exchanges() {
		if e.Request.Method == "tools/call" {
			x = e
		}
	}
	require.True(t, x.Closed)
	require.Equal(t, []string{"at work"}, x.Comments)
}

// TestRedirectsAreNotFollowed holds that credentials go to nobody else.
func TestRedirectsAreNotFollowed(t *testing.T) {
	asked := 0
	traces := drivenAt(t, "2026-07-28", func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, "http://elsewhere.example/mcp", http.StatusTemporaryRedirect)
	}, func(*check.Driver) {})
	for _, tr := range traces {
		for _, x := range tr.Exchanges() {
			require.Equal(t, http.StatusTemporaryRedirect, x.Status)
			asked--
		}
	}
	require.Zero(t, asked)
}

const sseRecording = `goldwire-transcript: 1
transport: http
revision: 2025-11-25
>>1 POST /mcp
>1 {"jsonrpc":"2.0","id":1,"method":"ping"}
<<1 200 content-type: text/event-stream
<<1 id: 1
<1
<<1 event: endpoint
<1 {"jsonrpc":"2.0","method":"notifications/other"}
<<1 event: message
<1 {"jsonrpc":"2.0","method":"notifications/x"}
<1 {"jsonrpc":"2.0","id":1,"result":{}}
<<1 end
>>2 POST /mcp
>2 {"jsonrpc":"2.0","id":2,"method":"ping"}
<<2 404 content-type: text/html
<2 <html>
<<2 end
>>3 GET /other
<<3 200 content-type: application/json
<3 {"resource":"x"}
<<3 end
>>4 POST /mcp
>4 {"jsonrpc":"2.0","id":4,"method":"ping"}
<<4 400 content-type: text/plain
<4 {"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}
<<4 end
`

// TestWhatIsAMessage holds which bodies and events are taken for messages.
func TestWhatIsAMessage(t *testing.T) {
	rec, err := transcript.Parse([]byte(sseRecording))
	require.NoError(t, err)
	tr := check.NewTrace(rec)
	var got []string
	for _, f := range tr.Frames() {
		if f.FromServer {
			got = append(got, fmt.Sprint(f.Exchange)+" "+string(f.Text))
		}
	}
	require.Equal(t, []string{
		`1 {"jsonrpc":"2.0","method":"notifications/x"}`,
		`1 {"jsonrpc":"2.0","id":1,"result":{}}`,
		`4 {"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`,
	}, got)
	xs := tr.Exchanges()
	require.Len(t, xs, 4)
	require.Len(t, xs[0].Messages, 4, "the exchange has all of them")
	require.Len(t, xs[0].Frames, 2)
	require.Equal(t, "<html>", xs[1].Text())
	require.True(t, xs[1].Over())
	require.Same(t, xs[3].Request, tr.Frames()[len(tr.Frames())-2])
	require.Equal(t, "POST /mcp", string(rec.Events[xs[1].Index].Data))
	require.Nil(t, tr.Exchange(9))
	require.Nil(t, tr.ExchangeOf(nil))
	// An error without an id is about the request that its exchange carried.
	require.Equal(t, xs[3].Frames[0], tr.Answer(xs[3].Request))
	require.Nil(t, tr.Answer(xs[1].Request))
}

// TestEveryPrefixOfARecordingIsJudged holds that no checks break on a recording
// that ends early.
func TestEveryPrefixOfARecordingIsJudged(t *testing.T) {
	lines := strings.SplitAfter(sseRecording, "\n")
	for n := range lines {
		rec, err := transcript.Parse([]byte(strings.Join(lines[:n+1], "")))
		if err != nil {
			continue
		}
		traces := []*check.Trace{check.NewTrace(rec)}
		traces[0].Exchanges()
		facts := check.FactsOf("2025-11-25", traces)
		for _, k := range check.All() {
			if k.Applies("2025-11-25", catalogue.HTTP) {
				v := k.Verdict("2025-11-25", catalogue.HTTP, facts, traces, nil)
				require.NotEqual(t, result.Error, v.Verdict, "%s: %s", k.ID, v.Reason)
			}
		}
	}
}

func TestChecksFollowTheirTransports(t *testing.T) {
	for _, k := range check.All() {
		for _, rev := range check.Revisions() {
			anywhere := k.Bound(rev, catalogue.Any)
			for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE} {
				bound := k.Bound(rev, over)
				require.LessOrEqual(t, len(bound), len(anywhere), k.ID)
				for _, r := range bound {
					require.True(t, r.Carries(over), "%s: %s is not about %s", k.ID, r.ID, over)
					require.True(t, k.Transports == nil || slices.Contains(k.Transports, over), k.ID)
				}
			}
		}
	}
	narrow := check.Check{ID: "k", Requirements: []string{"legacy/ping-answered"}, Transports: []catalogue.Transport{catalogue.HTTP}}
	require.True(t, narrow.Applies("2025-11-25", catalogue.HTTP))
	require.True(t, narrow.Applies("2025-11-25", catalogue.Any))
	require.False(t, narrow.Applies("2025-11-25", catalogue.Stdio))
	framing := check.Check{ID: "k", Requirements: []string{"legacy/stdio-newline-framing"}}
	require.False(t, framing.Applies("2025-11-25", catalogue.HTTP))
}
