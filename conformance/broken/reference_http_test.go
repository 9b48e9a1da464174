package broken_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// pipes is a listener in memory, so that time can be false.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { close(p.closed); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4000} }

func (p *pipes) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(addr); err != nil || !net.ParseIP(host).IsLoopback() {
		return nil, net.UnknownNetworkError(addr)
	}
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// overWeb judges a handler in one revision and gives what was found wrong.
func overWeb(t *testing.T, handler func() http.Handler, rev string) map[string]result.Check {
	t.Helper()
	out := map[string]result.Check{}
	synctest.Test(t, func(t *testing.T) {
		l := &pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: handler(), ErrorLog: log.New(io.Discard, "", 0)}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(l) }()
		e := &check.Endpoint{URL: "http://127.0.0.1:4000/mcp", Dial: l.dial}
		o := conformance.Options{Revisions: []string{rev}}
		rep, err := conformance.Run(t.Context(), conformance.Target{Endpoint: e}, o)
		time.Sleep(time.Minute) // what the server still does
		require.NoError(t, server.Close())
		<-served
		if err != nil {
			out["run"] = result.Check{ID: "run", Verdict: result.Error, Reason: err.Error()}
			return
		}
		for _, v := range rep.Results {
			if v.Verdict == result.Fail || v.Verdict == result.Warn || v.Verdict == result.Error {
				out[v.ID] = v
			}
		}
	})
	return out
}

// TestReferenceOverHTTPHasNoFindings holds that the checker finds nothing wrong
// with the reference server over Streamable HTTP, in each revision.
func TestReferenceOverHTTPHasNoFindings(t *testing.T) {
	if raced > 1 && !*all {
		t.Skip("make test judges these without the race detector")
	}
	revs := check.Revisions()[1:]
	if !*all {
		revs = revs[len(revs)-2:]
	}
	for _, rev := range revs {
		t.Run(rev, func(t *testing.T) {
			got := overWeb(t, func() http.Handler { return streamhttp.NewHandler(everything.Server()) }, rev)
			delete(got, known["reference "+rev])
			for id, v := range got {
				t.Errorf("%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
			}
		})
	}
}

// headed is a response whose head a slip changes.
type headed struct {
	http.ResponseWriter
	change func(head http.Header, status int) int
	sent   bool
}

func (h *headed) WriteHeader(status int) {
	if !h.sent && status >= 200 {
		h.sent = true
		status = h.change(h.Header(), status)
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *headed) Write(b []byte) (int, error) {
	if !h.sent {
		h.WriteHeader(http.StatusOK)
	}
	return h.ResponseWriter.Write(b)
}

func (h *headed) Flush() {
	if !h.sent {
		h.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(h.ResponseWriter).Flush()
}

func (h *headed) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// headSlips are faults in the heads of responses that break a rule, by name.
// What is left out breaks none: a header that is said twice with one value, and
// one that nothing asks for.
func headSlips() map[string]func(head http.Header, status int) int {
	all := map[string]func(head http.Header, status int) int{}
	for _, name := range []string{"Content-Type", "Mcp-Session-Id"} {
		edit := func(fn func(head http.Header, value string)) func(http.Header, int) int {
			return func(head http.Header, status int) int {
				if v := head.Get(name); v != "" {
					head[name] = nil // and none is made up
					fn(head, v)
				}
				return status
			}
		}
		all[name+", drop"] = edit(func(http.Header, string) {})
		all[name+", rename"] = edit(func(head http.Header, v string) { head.Set("X-"+name, v) })
		all[name+", retype"] = edit(func(head http.Header, _ string) { head[name] = []string{"two words"} })
	}
	for _, from := range []int{http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed} {
		to := http.StatusOK
		if from == to {
			to = http.StatusInternalServerError
		}
		all[fmt.Sprintf("status %d, retype", from)] = func(_ http.Header, status int) int {
			if status == from {
				return to
			}
			return status
		}
	}
	return all
}

// TestHeadSlips judges the reference server over HTTP with faults in the heads
// of its responses.
func TestHeadSlips(t *testing.T) {
	if raced > 1 && !*all {
		t.Skip("make test judges these without the race detector")
	}
	var seen tally
	slips := headSlips()
	t.Run("servers", func(t *testing.T) {
		for i, name := range slices.Sorted(maps.Keys(slips)) {
			for _, rev := range check.Revisions()[1:] {
				if strings.HasPrefix(name, "Mcp-Session-Id") && rev == modernRevision {
					continue // which has no sessions
				}
				if !*all && *only == "" && i%12 != 0 || !strings.Contains(name, *only) {
					continue
				}
				t.Run(name+" "+rev, func(t *testing.T) {
					t.Parallel()
					var hit atomic.Bool
					got := overWeb(t, func() http.Handler {
						h := streamhttp.NewHandler(everything.Server())
						return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							h.ServeHTTP(&headed{ResponseWriter: w, change: func(head http.Header, status int) int {
								before := fmt.Sprint(head, status)
								status = slips[name](head, status)
								if before != fmt.Sprint(head, status) {
									hit.Store(true)
								}
								return status
							}}, r)
						})
					}, rev)
					delete(got, known["reference "+rev])
					if !hit.Load() {
						return // no response has that
					}
					caught := len(got) > 0 && got["run"].ID == ""
					if !caught {
						t.Logf("NOTSEEN %s in %s: %v", name, rev, got)
					}
					seen.add("head", caught, name+" in "+rev)
				})
			}
		}
	})
	seen.tell(t, "faults made by program in the heads of HTTP responses")
	seen.atLeast(t, 95)
}
