package check_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

// served is driven for a server that wants its streams in hand.
func served(t *testing.T, rev string, serve func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit) driven {
	t.Helper()
	d := driven{rev: rev}
	synctest.Test(t, func(t *testing.T) {
		l := check.Pipe{Serve: serve}
		x, err := check.Explore(t.Context(), l, check.Limits{})
		require.NoError(t, err)
		d.offers = x.Traces
		d.traces, err = check.Drive(t.Context(), l, check.DriveOptions{Revision: rev, Probes: check.Probes()})
		require.NoError(t, err)
	})
	d.facts = check.FactsOf(rev, d.traces)
	return d
}

// TestServerThatStopsIsNoConformingServer holds what is said of a server that
// ends, closes its output or falls silent over a line that it has to bear:
// there is a failure that shows that line, and what could not be judged is
// blocked with the reason.
func TestServerThatStopsIsNoConformingServer(t *testing.T) {
	exit := func(c *conn, _ io.Writer) {
		c.Stderr("panic: the last words")
		c.Exit(7)
	}
	closeOutput := func(c *conn, out io.Writer) {
		_ = out.(io.Closer).Close()
		c.Hang()
	}
	hang := func(c *conn, _ io.Writer) { c.Hang() }
	tests := []struct {
		name, at string
		stop     func(*conn, io.Writer)
		observed string // by requests-answered-once
		asking   string // the check that asked, which fails too
		reason   string // of the blocked, one of them
	}{
		{"exits on a list", `"tools/list"`, exit, "none: it exited with status 7", "tools-list-answered", "it exited with status 7 instead of answering tools/list"},
		{"exits on a call", `"tools/call"`, exit, "none: it exited with status 7", "unknown-tool", "tools/call was not sent again, as the server ended over it 3 times"},
		{"exits on an unknown method", `goldwire/no_such`, exit, "none: it exited with status 7", "unknown-method", ""},
		{"exits on a notification", `goldwire_unknown`, exit, "it exited with status 7 after notifications/goldwire_unknown", "", "it exited with status 7 after notifications/goldwire_unknown"},
		{"closes its output", `"tools/list"`, closeOutput, "none: it closed its output", "tools-list-answered", "it closed its output instead of answering tools/list"},
		{"falls silent", `"tools/list"`, hang, "none, and none to later requests", "tools-list-answered", "the server answered nothing any more after tools/list"},
	}
	for _, rev := range []string{"2025-11-25", "2026-07-28"} {
		for _, tt := range tests {
			t.Run(rev+" "+tt.name, func(t *testing.T) {
				d := served(t, rev, func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
					s := checktest.Server{Input: func(c *conn, line []byte) bool {
						if !bytes.Contains(line, []byte(tt.at)) {
							return false
						}
						tt.stop(c, out)
						return true
					}}
					return check.Exit{Code: s.Serve(ctx, in, out, errs)}
				})
				all := d.verdicts()
				v := all["requests-answered-once"]
				require.Equal(t, result.Fail, v.Verdict, v.Reason)
				require.Equal(t, tt.observed, strings.Split(v.Observed, " (and")[0])
				shown := frames(v)
				require.Contains(t, shown, tt.at)
				if strings.HasPrefix(tt.name, "exits") {
					require.Contains(t, shown, "exit 7")
					require.Contains(t, shown, "the last words")
				}
				if tt.asking != "" {
					require.Contains(t, []result.Verdict{result.Fail, result.Warn}, all[tt.asking].Verdict, all[tt.asking].Reason)
				}
				reasons := map[string]int{}
				for id, v := range all {
					require.NotEqual(t, result.Error, v.Verdict, "%s: %s", id, v.Reason)
					if v.Verdict == result.Blocked {
						reasons[v.Reason]++
					}
				}
				if tt.reason != "" {
					require.Contains(t, reasons, tt.reason)
				}
				require.Less(t, len(reasons), 8, "the reasons of what is blocked are few: %v", reasons)
			})
		}
	}
}

// TestServerThatStopsOverABrokenLine holds that the request behind a line that
// nobody has to understand is not what is told of: other checks tell of the
// line.
func TestServerThatStopsOverABrokenLine(t *testing.T) {
	// The second of them is the first line of its session.
	all := judge(t, server{Input: func(c *conn, line []byte) bool {
		bad := bytes.Contains(line, []byte("this is no JSON")) || bytes.Contains(line, []byte("\xff\xfe"))
		if bad {
			c.Exit(1)
		}
		return bad
	}}, "2025-11-25")
	require.Equal(t, result.Warn, all["invalid-utf8-survived"].Verdict)
	require.Equal(t, result.Pass, all["requests-answered-once"].Verdict, "%s\n%s", all["requests-answered-once"].Observed, frames(all["requests-answered-once"]))
	require.Equal(t, result.Fail, all["parse-error-survived"].Verdict)
	require.Equal(t, result.Blocked, all["parse-error-answered"].Verdict)
	require.Contains(t, all["parse-error-answered"].Reason, "after a line that is no proper message")
}

// TestServerThatEndsBetweenRequests holds that a server which ends with nothing
// left to answer is told of, and what was still to be asked is blocked.
func TestServerThatEndsBetweenRequests(t *testing.T) {
	d := served(t, "2025-11-25", func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		ended, once := make(chan struct{}), sync.Once{}
		// It ends a moment after it was told that its client is ready, when
		// nothing is under way: the client pauses for longer before it asks.
		s := checktest.Server{Input: func(c *conn, line []byte) bool {
			if bytes.Contains(line, []byte("goldwire_unknown")) {
				time.AfterFunc(50*time.Millisecond, func() { once.Do(func() { close(ended) }) })
			}
			return false
		}}
		go func() { s.Serve(ctx, in, out, errs); cancel() }()
		select {
		case <-ended:
			return check.Exit{Code: 0}
		case <-ctx.Done():
			return check.Exit{}
		}
	})
	v := d.verdicts()["requests-answered-once"]
	require.Equal(t, result.Warn, v.Verdict, v.Observed)
	require.Equal(t, "it exited with status 0 between two requests", v.Observed)
	require.NotEmpty(t, v.Mild)
}

// TestBlockedReasonNamesTheLastRequest holds that of a server which ends between
// requests, each time that it is started, it is said what it was asked last.
func TestBlockedReasonNamesTheLastRequest(t *testing.T) {
	d := served(t, "2025-11-25", func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() { (&checktest.Server{}).Serve(ctx, in, out, errs); cancel() }()
		select {
		case <-time.After(50 * time.Millisecond):
			return check.Exit{Code: 7}
		case <-ctx.Done():
			return check.Exit{}
		}
	})
	named := 0
	for id, v := range d.verdicts() {
		if v.Verdict == result.Blocked && strings.Contains(v.Reason, "exited with status 7") {
			require.Regexp(t, "^it exited with status 7 (some time after|after|instead of answering) [a-z]+", v.Reason, id)
			named++
		}
	}
	require.NotZero(t, named)
}

// TestAnswerUnderAWrongIDIsToldOnce holds that a server which answers under ids
// of its own is told of that, and not of silence.
func TestAnswerUnderAWrongIDIsToldOnce(t *testing.T) {
	wrong := checktest.On("tools/list", func(r *request, a string) string {
		return strings.Replace(a, `"id":`+string(r.ID), `"id":"its own"`, 1)
	})
	for _, rev := range []string{"2025-11-25", "2026-07-28"} {
		all := judge(t, wrong, rev)
		require.Equal(t, result.Fail, all["id-echo"].Verdict)
		require.Contains(t, all["id-echo"].Observed, `id "its own"`)
		require.Equal(t, result.Pass, all["requests-answered-once"].Verdict, all["requests-answered-once"].Observed)
		require.Equal(t, result.Blocked, all["tools-list-answered"].Verdict)
		require.Equal(t, "the server answered under an id that no request had", all["tools-list-answered"].Reason)
	}
}

// TestFloodIsNamed holds that a server which answers one request many
// thousand times, or says what nobody asked for, is told of.
func TestFloodIsNamed(t *testing.T) {
	limits := check.Limits{Events: 2000, RunEvents: 5000}
	flood := func(method, line string) checktest.Server {
		return checktest.Server{Output: func(c *conn, r *request, a string) string {
			if r != nil && r.Method == method {
				extra := line
				if extra == "" {
					extra = a
				}
				for range 1000 {
					c.Line(extra)
				}
			}
			return a
		}}
	}
	for name, tt := range map[string]struct {
		server  checktest.Server
		verdict result.Verdict
		say     string
	}{
		"answers to a list":      {flood("tools/list", ""), result.Fail, "1001 of them"},
		"answers to a handshake": {flood("initialize", ""), result.Fail, "1001 of them"},
		"notifications":          {flood("tools/list", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`), result.Warn, "1001 lines after this one"},
	} {
		t.Run(name, func(t *testing.T) {
			d := driven{rev: "2025-11-25"}
			synctest.Test(t, func(t *testing.T) {
				one := limits.OneRun()
				x, err := check.Explore(t.Context(), launcher(tt.server), one)
				require.NoError(t, err)
				d.offers = x.Traces
				d.traces, err = check.Drive(t.Context(), launcher(tt.server), check.DriveOptions{Revision: d.rev, Probes: check.Probes(), Limits: one})
				require.NoError(t, err)
			})
			d.facts = check.FactsOf(d.rev, d.traces)
			v := d.verdicts()["requests-answered-once"]
			require.Equal(t, tt.verdict, v.Verdict, "%s; %s", v.Observed, v.Reason)
			require.Contains(t, v.Observed, tt.say)
			require.NotEmpty(t, v.Frames)
		})
	}
}

// TestNamedToolsHaveToBeListed holds that no tool is called when one that is
// named cannot be found.
func TestNamedToolsHaveToBeListed(t *testing.T) {
	for name, tt := range map[string]struct {
		server      checktest.Server
		allow, deny []string
		want        string
	}{
		"listed":        {checktest.Server{}, []string{"hello"}, []string{"danger", "*"}, ""},
		"misspelt deny": {checktest.Server{}, nil, []string{"dangr"}, "the server lists no tool dangr; it lists hello, "},
		"misspelt both": {checktest.Server{}, []string{"helo"}, []string{"dangr"}, "the server lists no tool helo, dangr; it lists "},
		"no tools":      {checktest.Server{Without: []string{"tools"}}, []string{"hello"}, nil, "the server lists no tool hello"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				traces, err := check.Drive(t.Context(), launcher(tt.server), check.DriveOptions{Revision: "2025-11-25", Probes: check.Probes(), Allow: tt.allow, Deny: tt.deny})
				if tt.want == "" {
					require.NoError(t, err)
					return
				}
				var unlisted *check.ToolError
				require.ErrorAs(t, err, &unlisted)
				require.ErrorContains(t, err, tt.want)
				for _, tr := range traces {
					for _, f := range tr.Frames() {
						require.NotEqual(t, "tools/call", f.Method)
					}
				}
			})
		})
	}
}

// TestServerThatEndsOverWrongRequestsAlone holds that a method which works is
// asked on where the server only ends over requests of it that were wrong on
// purpose, and that nothing else is said of it.
func TestServerThatEndsOverWrongRequestsAlone(t *testing.T) {
	for _, rev := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			d := served(t, rev, func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
				s := checktest.Server{Input: func(c *conn, line []byte) bool {
					m := wire.Raw(line)
					if method, _ := m.Get("method").Str(); method != "tools/call" {
						return false
					}
					p := m.Get("params")
					wrong := p.Get("name") == nil || bytes.Contains(line, []byte("goldwire_")) || p.Get("arguments") != nil && p.Get("arguments").Kind() != wire.KindObject ||
						string(p.Get("name")) == `"add"` && string(p.Get("arguments")) == "{}"
					if wrong {
						c.Exit(7)
					}
					return wrong
				}}
				return check.Exit{Code: s.Serve(ctx, in, out, errs)}
			})
			dead := 0
			for _, tr := range d.traces {
				if _, died := tr.Died(); died {
					dead++
				}
			}
			require.GreaterOrEqual(t, dead, 3)
			left := 0
			for id, v := range d.verdicts() {
				if strings.Contains(v.Reason, "was not sent again") {
					left++
					require.Equal(t, "tools/call was not sent again, as the server ended over 3 requests of it that were wrong on purpose", v.Reason, id)
				}
			}
			require.NotZero(t, left)
			require.Equal(t, result.Fail, d.verdicts()["requests-answered-once"].Verdict)
			// After three deaths the profiles that declare more still call tools.
			called := false
			for _, tr := range d.traces[len(d.traces)/2:] {
				for _, f := range tr.Frames() {
					called = called || f.Method == "tools/call" && tr.Answer(f).OK()
				}
			}
			require.True(t, called, "proper calls go on")
		})
	}
}

// TestSlowServerIsNotCalledDead holds that a server which ignores what it does
// not know, and does one thing after the other, is waited for when a call takes
// it longer than a short wait.
func TestSlowServerIsNotCalledDead(t *testing.T) {
	for _, rev := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(rev, func(t *testing.T) {
			all := judge(t, server{Input: func(_ *conn, line []byte) bool {
				method, _ := wire.Raw(line).Get("method").Str()
				switch {
				case strings.HasPrefix(method, "goldwire/"):
					return true
				case method == "tools/call" && !bytes.Contains(line, []byte(`"danger"`)):
					time.Sleep(2 * time.Second)
				}
				return false
			}}, rev)
			require.Equal(t, result.Fail, all["unknown-method"].Verdict)
			for id, v := range all {
				require.NotContains(t, v.Reason, "not sent again", id)
				require.NotContains(t, v.Reason+v.Observed, "nothing any more", id)
			}
			require.Equal(t, result.Pass, all["unknown-tool"].Verdict, all["unknown-tool"].Observed)
		})
	}
}
