package check_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestOddServersAreNotBlamed holds that what servers in use do is no finding
// where it breaks no rule, and one of the right checks alone where it does.
func TestOddServersAreNotBlamed(t *testing.T) {
	servers := map[string]struct {
		rev    string
		server checktest.Server
		tells  []string // checks that find something
	}{
		"a log of the input on stderr": {
			rev:    "2025-06-18",
			server: server{Input: func(c *conn, line []byte) bool { c.Stderr("read: " + string(line)); return false }},
		},
		"logging declared and not there": {
			rev:    "2024-11-05",
			server: checktest.Refuse("logging/setLevel", "", -32601),
			tells:  []string{"log-level-set"},
		},
		"no tools for want of a network": {
			rev:    "2025-11-25",
			server: failing("tools/list", -32603),
			tells:  []string{"tools-list-answered"},
		},
		"no tools for want of a network, stateless": {
			rev:    "2026-07-28",
			server: failing("tools/list", -32603),
			tells:  []string{"tools-list-answered", "meta-client-info-optional", "first-request-served"},
		},
		"required arguments with defaults": {
			rev: "2025-11-25",
			server: server{Output: func(_ *conn, r *request, a string) string {
				switch {
				case r != nil && r.Method == "tools/list":
					return strings.Replace(a, `"Says hello","inputSchema":{"type":"object"}`, `"Says hello","inputSchema":{"type":"object","properties":{"level":{"type":"string","default":"info"}},"required":["level"]}`, 1)
				case r != nil && r.Method == "tools/call" && r.Params.Get("arguments").Get("level").Kind() == wire.KindObject:
					return checktest.Result(r, `{"content":[],"isError":true}`)
				}
				return a
			}},
		},
		"a tool that works longer on longer texts": {
			rev: "2025-06-18",
			server: server{Output: func(c *conn, r *request, a string) string {
				if r == nil || r.Method != "tools/call" || len(r.Params) < 10_000 {
					return a
				}
				c.State["work on "+string(r.ID)] = time.AfterFunc(20*time.Second, func() { c.Line(a) })
				return ""
			}, Input: func(c *conn, line []byte) bool {
				v := wire.Raw(line)
				if work, ok := c.State["work on "+string(v.Get("params").Get("requestId"))].(*time.Timer); ok {
					work.Stop()
				}
				return false
			}},
		},
		"a pause between a line and its newline": {
			rev: "2026-07-28",
			server: server{Output: func(c *conn, r *request, a string) string {
				if c.State["paused"] != nil || r == nil || r.Method != "prompts/list" {
					return a
				}
				c.State["paused"] = true
				c.Write(a)
				time.Sleep(3 * time.Second) // in the time of the bubble
				c.Write("\n")
				return ""
			}},
		},
		"no subscriptions left": {
			rev: "2026-07-28",
			server: server{Input: func(c *conn, line []byte) bool {
				v := wire.Raw(line)
				full := v.Get("method").String() == `"`+listen+`"` && bytes.Contains(line, []byte(`/clientCapabilities":{`)) && bytes.Contains(line, []byte(`"`+modernRevision+`"`))
				if full {
					c.Line(errorOf(-32603)(&request{ID: v.Get("id")}, ""))
				}
				return full
			}, Output: func(_ *conn, r *request, a string) string {
				if r != nil && r.Method == discover {
					return strings.NewReplacer(`"listChanged":true`, `"listChanged":false`, `"subscribe":true`, `"subscribe":false`).Replace(a)
				}
				return a
			}},
			tells: []string{"listen-supported"},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers[name]
			var told []string
			for id, v := range judge(t, s.server, s.rev) {
				switch v.Verdict {
				case result.Pass, result.NotObserved, result.NotApplicable:
				default:
					require.Contains(t, s.tells, id, "%s: want %s, got %s; %s\n%s", v.Verdict, v.Expected, v.Observed, v.Reason, frames(v))
					told = append(told, id)
				}
			}
			require.ElementsMatch(t, s.tells, told)
		})
	}
}

// failing answers proper requests of a method by an error of that code.
func failing(method string, code int) server {
	return checktest.On(method, func(r *request, a string) string {
		if wire.Raw(a).Get("error") == nil {
			return errorOf(code)(r, a)
		}
		return a
	})
}

// TestHandshakeThatTakesLongIsWaitedFor holds that a server which refuses
// discovery at once, and works long on its handshake, is taken for no mute one.
func TestHandshakeThatTakesLongIsWaitedFor(t *testing.T) {
	legacy := checktest.Revisions[:4]
	s := server{Versions: legacy, Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "initialize" {
			time.AfterFunc(8*time.Second, func() { c.Line(a) })
			return ""
		}
		return a
	}}
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
		require.NoError(t, err)
		require.Equal(t, legacy, x.Speaks)
	})
	for id, v := range judge(t, s, "2025-06-18") {
		require.NotContains(t, []result.Verdict{result.Fail, result.Blocked}, v.Verdict, "%s: %s %s\n%s", id, v.Observed, v.Reason, frames(v))
	}
}

// TestOddServersOverHTTPAreNotBlamed is TestOddServersAreNotBlamed for what
// shows over Streamable HTTP.
func TestOddServersOverHTTPAreNotBlamed(t *testing.T) {
	for name, tt := range map[string]struct {
		rev   string
		wrap  func(next http.Handler) http.Handler
		tells []string
	}{
		"answers to a batch one by one":  {rev: "2025-03-26", wrap: oneByOne},
		"refusals of no type":            {rev: "2025-06-18", wrap: typeless, tells: []string{"http-answer-media"}},
		"refusals that are no JSON-RPC":  {rev: "2025-06-18", wrap: refusals(`{"error":"bad_request","error_description":"no"}`, true)},
		"refusals with an error object":  {rev: "2025-03-26", wrap: refusals(`{"error":{"code":400,"message":"no"}}`, true)},
		"refusals with a request id":     {rev: "2025-11-25", wrap: refusals(`{"id":"not_found","message":"no"}`, true)},
		"refusals that are text":         {rev: "2025-11-25", wrap: refusals(`no`, true)},
		"refusals of what is no request": {rev: "2026-07-28", wrap: refusals(`{"detail":"no"}`, false)},
		"a log on the old transport":     {rev: "2026-07-28", wrap: greeting},
		"GET and DELETE of old clients":  {rev: "2026-07-28", wrap: sessionless},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			for id, v := range driveHTTP(t, &checktest.HTTP{Wrap: tt.wrap}, target{}, tt.rev, true, check.Probes()).verdicts() {
				switch v.Verdict {
				case result.Pass, result.NotObserved, result.NotApplicable:
				case result.Warn:
					told = append(told, id)
				default:
					require.Fail(t, "a correct server does not pass", "%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
				}
			}
			require.Equal(t, tt.tells, told)
		})
	}
}

// oneByOne answers batches by a stream that has an event for each member.
func oneByOne(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !bytes.HasPrefix(body, []byte("[")) {
			next.ServeHTTP(w, r)
			return
		}
		got := httptest.NewRecorder()
		next.ServeHTTP(got, r)
		maps.Copy(w.Header(), got.Header())
		answers := wire.Raw(got.Body.Bytes())
		if answers.Kind() != wire.KindArray {
			w.WriteHeader(got.Code)
			_, _ = w.Write(answers)
			return
		}
		w.Header().Del("Content-Length")
		w.Header().Set("Content-Type", "text/event-stream")
		for a := range answers.Elems() {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", a)
		}
	})
}

// greeting has the old transport beside the new one, with a stream that begins
// with a log message nobody asked for.
func greeting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != checktest.PathSSE {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: /messages?id=1\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"welcome\"}}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
}

// sessionless refuses what is no POST by the status that older clients get who
// name no session.
func sessionless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && r.URL.Path == checktest.PathMCP {
			http.Error(w, "no session", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// typeless leaves out of refusals what their bodies are.
func typeless(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&typelessWriter{w}, r)
	})
}

type typelessWriter struct{ http.ResponseWriter }

func (w *typelessWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *typelessWriter) WriteHeader(status int) {
	if status >= 400 {
		w.Header()["Content-Type"] = nil
	}
	w.ResponseWriter.WriteHeader(status)
}

// refusals has a body of its own for what HTTP refuses, as the libraries below a
// server do; of requests too, or only of what else there is.
func refusals(text string, requests bool) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if requests || r.Header.Get("Origin") != "" || wire.Raw(body).Get("id") == nil {
				w = &refusalWriter{ResponseWriter: w, text: text}
			}
			next.ServeHTTP(w, r)
		})
	}
}

type refusalWriter struct {
	http.ResponseWriter
	text    string
	refuses bool
}

func (w *refusalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *refusalWriter) WriteHeader(status int) {
	if status >= 400 {
		w.refuses = true
		w.Header().Set("Content-Type", "application/json")
		w.Header().Del("Content-Length")
	}
	w.ResponseWriter.WriteHeader(status)
	if w.refuses {
		_, _ = io.WriteString(w.ResponseWriter, w.text)
	}
}

func (w *refusalWriter) Write(b []byte) (int, error) {
	if w.refuses {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// TestCancelledCallIsShownForItself holds that of a call which is given up it is
// the call that a finding shows, and not what cancelled it.
func TestCancelledCallIsShownForItself(t *testing.T) {
	s := server{Output: func(_ *conn, r *request, a string) string {
		if r != nil && r.Method == "tools/call" && r.Params.Get("arguments").Get("goldwire").Kind() == wire.KindArray {
			return ""
		}
		return a
	}}
	all := judge(t, s, "2025-06-18")
	for id, v := range all {
		if id != "hostile-arguments" {
			require.Contains(t, []result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}, v.Verdict, "%s: %s %s\n%s", id, v.Observed, v.Reason, frames(v))
		}
	}
	v := all["hostile-arguments"]
	require.Equal(t, result.Fail, v.Verdict)
	at := slices.IndexFunc(v.Frames, func(f result.Frame) bool { return f.Here })
	require.Contains(t, v.Frames[at].Text, `"method":"tools/call"`)
}

// TestStartThatTakesTooLongOnceIsNoBreach holds that a process which answers
// nothing within the time for a start is not found to leave requests without an
// answer, unless it starts fast and does so again and again.
func TestStartThatTakesTooLongOnceIsNoBreach(t *testing.T) {
	const usual = 20 * time.Millisecond
	for name, tt := range map[string]struct {
		started time.Duration // what a start takes
		slow    func(launch int) bool
		want    result.Verdict
	}{
		"the first one":                 {usual, func(n int) bool { return n == 1 }, result.Blocked},
		"the second one":                {usual, func(n int) bool { return n == 2 }, result.Blocked},
		"of a slow server, the second":  {24 * time.Second, func(n int) bool { return n == 2 }, result.Blocked},
		"of a slow server, the fourth":  {24 * time.Second, func(n int) bool { return n == 4 }, result.Blocked},
		"of a slow server, every third": {24 * time.Second, func(n int) bool { return n%3 == 0 }, result.Blocked},
		"from the second one on":        {usual, func(n int) bool { return n > 1 }, result.Fail},
	} {
		for _, rev := range []string{"2025-11-25", modernRevision} {
			t.Run(name+" "+rev, func(t *testing.T) {
				t.Parallel()
				var launches atomic.Int64
				s := server{Start: func(c *conn) {
					d := tt.started
					if tt.slow(int(launches.Add(1))) {
						d = time.Hour
					}
					c.State["ready"] = time.Now().Add(d)
				}, Output: func(c *conn, _ *request, a string) string {
					if d := time.Until(c.State["ready"].(time.Time)); d > 0 {
						time.AfterFunc(d, func() { c.Line(a) })
						return ""
					}
					return a
				}}
				d := driven{rev: rev}
				synctest.Test(t, func(t *testing.T) {
					var err error
					d.traces, err = check.Drive(t.Context(), launcher(s), check.DriveOptions{Revision: rev, Probes: check.Probes(), Started: tt.started})
					require.NoError(t, err)
				})
				d.facts = check.FactsOf(rev, d.traces)
				all := d.verdicts()
				v := all["requests-answered-once"]
				require.Equal(t, tt.want, v.Verdict, "%s %s\n%s", v.Observed, v.Reason, frames(v))
				if tt.want == result.Fail {
					return
				}
				require.Contains(t, v.Reason, "--timeout, 30s")
				for id, v := range all {
					require.NotContains(t, []result.Verdict{result.Fail, result.Warn, result.Error}, v.Verdict, "%s: %s %s\n%s", id, v.Observed, v.Reason, frames(v))
				}
			})
		}
	}
}
