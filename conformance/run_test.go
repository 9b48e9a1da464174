package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func target(s checktest.Server) conformance.Target {
	return conformance.Target{Launcher: check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		return check.Exit{Code: s.Serve(ctx, in, out, errs)}
	}}}
}

func run(t *testing.T, s checktest.Server, o conformance.Options) (rep *result.Report, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { rep, err = conformance.Run(t.Context(), target(s), o) })
	return rep, err
}

func TestRunJudgesTheNewestOfEachEra(t *testing.T) {
	rep, err := run(t, checktest.Server{}, conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"2025-11-25", "2026-07-28"}, rep.Revisions)
	require.Equal(t, "checktest", rep.Target.Name)
	require.Zero(t, rep.Summary()[result.Fail])
	require.Zero(t, rep.Summary()[result.Error])
	require.Greater(t, rep.Summary()[result.Pass], 100)
	seen := map[string]int{}
	for _, v := range rep.Results {
		seen[v.Revision]++
		require.NotEmpty(t, v.Requirements, v.ID)
		require.NotEmpty(t, v.Level, v.ID)
		require.Equal(t, "stdio", v.Transport)
		if v.Verdict != result.Pass {
			require.NotEmpty(t, v.Reason+v.Observed, v.ID)
		}
	}
	require.Greater(t, seen["2025-11-25"], 100)
	require.Greater(t, seen["2026-07-28"], 60)
}

func TestRunSelection(t *testing.T) {
	all, modern, old := checktest.Server{}, checktest.Server{Versions: []string{"2026-07-28"}}, checktest.Server{Versions: []string{"2024-11-05", "2025-03-26"}}
	tests := []struct {
		name   string
		server checktest.Server
		asked  []string
		want   []string
		errs   bool
	}{
		{"auto", all, nil, []string{"2025-11-25", "2026-07-28"}, false},
		{"auto, modern only", modern, nil, []string{"2026-07-28"}, false},
		{"auto, old", old, nil, []string{"2025-03-26"}, false},
		{"all", old, []string{"all"}, []string{"2024-11-05", "2025-03-26"}, false},
		{"list", all, []string{"2025-06-18", "2024-11-05"}, []string{"2024-11-05", "2025-06-18"}, false},
		{"not spoken", old, []string{"2025-11-25"}, nil, true},
		{"spoken in part", old, []string{"2024-11-05", "2025-11-25"}, nil, true},
		{"unknown", all, []string{"1999-01-01"}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := run(t, tt.server, conformance.Options{Revisions: tt.asked, Checks: []string{"id-echo"}})
			if tt.errs {
				var re *conformance.RevisionError
				require.ErrorAs(t, err, &re)
				require.NotContains(t, re.Asked, "2024-11-05", "it speaks that one")
				require.Equal(t, fmt.Sprintf("the server does not speak %s; it speaks %s", tt.asked[len(tt.asked)-1], strings.Join(re.Speaks, ", ")), re.Error())
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, rep.Revisions)
			require.Len(t, rep.Results, len(tt.want))
		})
	}
}

func TestRunSelectsChecks(t *testing.T) {
	rep, err := run(t, checktest.Server{}, conformance.Options{Revisions: []string{"2025-11-25"}, Checks: []string{"tool-*", "id-echo"}, Level: catalogue.Must})
	require.NoError(t, err)
	for _, v := range rep.Results {
		require.True(t, strings.HasPrefix(v.ID, "tool-") || v.ID == "id-echo")
		require.NotEqual(t, "SHOULD", string(v.Level))
	}
	for level, want := range map[result.Level]bool{"": true, catalogue.May: true, catalogue.Should: false, catalogue.Must: false} {
		rep, err := run(t, checktest.Server{}, conformance.Options{Revisions: []string{"2025-11-25"}, Checks: []string{"id-echo", "meta-unknown-keys"}, Level: level})
		require.NoError(t, err)
		require.Equal(t, want, len(rep.Results) == 2, "a MAY alone stands behind the second: level %q", level)
	}
	_, err = run(t, checktest.Server{}, conformance.Options{Checks: []string{"no-such-*"}})
	require.ErrorIs(t, err, conformance.ErrNoCheck)
	_, err = run(t, checktest.Server{}, conformance.Options{Checks: []string{"["}})
	require.Error(t, err)
}

// TestPatternsSelect holds by what a pattern selects checks.
func TestPatternsSelect(t *testing.T) {
	judged := func(patterns ...string) map[string][]string {
		out := map[string][]string{}
		rep, err := run(t, checktest.Server{}, conformance.Options{Checks: patterns})
		require.NoError(t, err)
		for _, v := range rep.Results {
			out[v.ID] = append(out[v.ID], v.Revision)
		}
		return out
	}
	both, old, modern := []string{"2025-11-25", "2026-07-28"}, []string{"2025-11-25"}, []string{"2026-07-28"}
	require.Equal(t, map[string][]string{"id-echo": both}, judged("id-echo"))
	require.Equal(t, map[string][]string{"unknown-resource": old}, judged("legacy/resources-not-found"), "a requirement of one era selects no judging of the other")
	require.Equal(t, map[string][]string{"exit-on-eof": modern, "exit-with-subscription": modern, "ping-answered": old}, judged("modern/stdio-exit-*", "legacy/ping-answered"))
	area := judged("pagination")
	require.Equal(t, both, area["bad-cursor-refused"], "both eras call the area by one name")
	require.NotContains(t, area, "id-echo")

	for _, o := range []conformance.Options{
		{Checks: []string{""}},
		{Checks: []string{"id-echo", ""}},
		{Checks: []string{"modern/*"}, Revisions: []string{"2025-11-25"}},
		{Checks: []string{"no-such"}},
	} {
		_, err := conformance.Select(o, catalogue.Any)
		require.Error(t, err, "%v", o)
	}
	_, err := run(t, checktest.Server{Versions: []string{"2025-11-25"}}, conformance.Options{Checks: []string{"modern/*"}})
	require.ErrorIs(t, err, conformance.ErrNoCheck, "the server speaks no revision in which one of them holds")
}

// TestRefusedHandshakeIsShown holds that who agrees to no revision is quoted.
func TestRefusedHandshakeIsShown(t *testing.T) {
	_, err := run(t, checktest.Server{Output: func(_ *checktest.Conn, r *checktest.Request, _ string) string {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32000,"message":"the licence has expired"}}`
	}}, conformance.Options{})
	var none *conformance.RevisionError
	require.ErrorAs(t, err, &none)
	require.Len(t, none.Frames, 4, "one question and answer for each way of asking: %v", none.Frames)
	require.Contains(t, err.Error(), `"method":"initialize"`)
	require.Contains(t, err.Error(), `"method":"server/discover"`)
	require.Contains(t, err.Error(), "the licence has expired")
}

// TestRunCallsReadOnlyToolsOnly holds which tools are called.
func TestRunCallsReadOnlyToolsOnly(t *testing.T) {
	called := func(o conformance.Options) (names map[string]bool) {
		names = map[string]bool{}
		o.Save = func(_ string, rec *transcript.Recording) error {
			for _, f := range check.NewTrace(rec).Frames() {
				if !f.FromServer && f.Method == "tools/call" {
					names[check.Name(f.Params, "name")] = true
				}
			}
			return nil
		}
		o.Revisions = []string{"2025-11-25"}
		_, err := run(t, checktest.Server{}, o)
		require.NoError(t, err)
		return names
	}
	names := called(conformance.Options{})
	require.True(t, names["hello"])
	require.False(t, names["danger"])
	if raced > 1 {
		return // the rest is like it
	}
	names = called(conformance.Options{Allow: []string{"danger"}, Deny: []string{"hello"}})
	require.True(t, names["danger"])
	require.False(t, names["hello"])
	names = called(conformance.Options{Allow: []string{"*"}, Deny: []string{"*"}})
	require.False(t, names["hello"])
	require.False(t, names["danger"])
}

func TestRunSaysWhyATargetCannotBeJudged(t *testing.T) {
	_, err := conformance.Run(t.Context(), conformance.Target{Command: []string{"/does/not/exist"}}, conformance.Options{})
	var start *conformance.StartError
	require.ErrorAs(t, err, &start)

	_, err = run(t, checktest.Server{Start: func(c *checktest.Conn) {
		c.Stderr("cannot open the database")
		c.Exit(7)
	}}, conformance.Options{})
	var died *conformance.DiedError
	require.ErrorAs(t, err, &died)
	require.Equal(t, "it exited with status 7", died.How)
	require.Equal(t, "cannot open the database", died.Stderr)

	var silent *conformance.SilentError
	_, err = run(t, checktest.Server{Input: func(*checktest.Conn, []byte) bool { return true }}, conformance.Options{})
	require.ErrorAs(t, err, &silent)

	var rev *conformance.RevisionError
	_, err = run(t, checktest.Server{Output: func(_ *checktest.Conn, r *checktest.Request, _ string) string {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32601,"message":"no"}}`
	}}, conformance.Options{})
	require.ErrorAs(t, err, &rev)
	for _, e := range []error{start, died, silent, rev} {
		require.NotEmpty(t, e.Error())
	}
}

func TestRunTellsAndSaves(t *testing.T) {
	var probes, verdicts int
	names := map[string]bool{}
	_, err := run(t, checktest.Server{}, conformance.Options{
		Revisions: []string{"2025-06-18"},
		Progress: func(p conformance.Progress) {
			switch {
			case p.Check != nil:
				verdicts++
			case p.Probe != "":
				probes++
				require.Equal(t, "2025-06-18", p.Revision)
			}
		},
		Save: func(name string, rec *transcript.Recording) error {
			require.False(t, names[name])
			names[name] = true
			text, err := rec.MarshalText()
			require.NoError(t, err)
			_, err = transcript.Parse(text)
			return err
		},
	})
	require.NoError(t, err)
	require.Greater(t, probes, 20)
	require.Greater(t, verdicts, 80)
	require.Greater(t, len(names), 5)

	full := errors.New("disk full")
	_, err = run(t, checktest.Server{}, conformance.Options{Save: func(string, *transcript.Recording) error { return full }})
	require.ErrorIs(t, err, full)
}

// TestJudgeGivesTheVerdictsOfTheRun holds that saved recordings are enough.
func TestJudgeGivesTheVerdictsOfTheRun(t *testing.T) {
	if raced > 1 {
		t.Skip("make test judges without the race detector")
	}
	broken := checktest.Server{Output: func(c *checktest.Conn, r *checktest.Request, a string) string {
		if v, _ := r.Params.Get("protocolVersion").Str(); r.Method == "initialize" && v == "2099-12-31" {
			return strings.Replace(a, c.Revision, v, 1)
		}
		return strings.Replace(a, `"id":"7"`, `"id":7`, 1)
	}}
	broken.Output = func(inner func(*checktest.Conn, *checktest.Request, string) string) func(*checktest.Conn, *checktest.Request, string) string {
		return func(c *checktest.Conn, r *checktest.Request, a string) string {
			if r == nil {
				return a
			}
			return inner(c, r, a)
		}
	}(broken.Output)
	var texts [][]byte
	want, err := run(t, broken, conformance.Options{Save: func(_ string, rec *transcript.Recording) error {
		text, err := rec.MarshalText()
		texts = append(texts, text)
		return err
	}})
	require.NoError(t, err)
	require.Greater(t, want.Summary()[result.Fail], 1)
	var recs []*transcript.Recording
	for i := range texts {
		rec, err := transcript.Parse(texts[len(texts)-1-i]) // in any order
		require.NoError(t, err)
		recs = append(recs, rec)
	}
	got, err := conformance.Judge(recs, conformance.Options{})
	require.NoError(t, err)
	require.Equal(t, want.Revisions, got.Revisions)
	require.Equal(t, want.Summary(), got.Summary())
	for i := range want.Results {
		require.Equal(t, want.Results[i].ID, got.Results[i].ID)
		require.Equal(t, want.Results[i].Verdict, got.Results[i].Verdict, want.Results[i].ID)
	}
	_, err = conformance.Judge(recs, conformance.Options{Revisions: []string{"2024-11-05"}})
	var rev *conformance.RevisionError
	require.ErrorAs(t, err, &rev)
	_, err = conformance.Judge(nil, conformance.Options{})
	require.ErrorAs(t, err, &rev)
}

func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		_, err := conformance.Run(ctx, target(checktest.Server{Input: func(c *checktest.Conn, line []byte) bool {
			if strings.Contains(string(line), "tools/list") {
				c.Hang()
			}
			return false
		}}), conformance.Options{Limits: check.Limits{Request: time.Hour}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Less(t, time.Since(began), 10*time.Second)
	})
}

// TestRunEndsBetweenChecks holds that judging can be interrupted.
func TestRunEndsBetweenChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		rep, err := conformance.Run(ctx, target(checktest.Server{}), conformance.Options{
			Revisions: []string{"2025-11-25"},
			Progress: func(p conformance.Progress) {
				if p.Check != nil {
					cancel()
				}
			},
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Len(t, rep.Results, 1)
	})
}

// TestRunIsBoundedAsAWhole holds that a server which adds to each of its
// answers what no single session would object to is stopped all the same, and
// is not blamed for what was not looked at.
func TestRunIsBoundedAsAWhole(t *testing.T) {
	const most = 5_000
	noisy := checktest.Server{Output: func(c *checktest.Conn, _ *checktest.Request, a string) string {
		n, _ := c.State["n"].(int)
		for range 100 {
			n++
			c.Line(`{"jsonrpc":"2.0","id":"unasked-` + strconv.Itoa(n) + `","result":{"resultType":"complete"}}`)
		}
		c.State["n"] = n
		return a
	}}
	wordy := checktest.Server{Output: func(_ *checktest.Conn, _ *checktest.Request, a string) string {
		return a + strings.Repeat(" ", 50_000)
	}}
	for name, tt := range map[string]struct {
		server checktest.Server
		limits check.Limits
	}{
		"lines": {noisy, check.Limits{RunEvents: most}},
		"bytes": {wordy, check.Limits{RunBytes: most * 500}},
	} {
		if raced > 1 && name == "bytes" {
			continue // like the other case
		}
		t.Run(name, func(t *testing.T) {
			lines, size := 0, 0
			rep, err := run(t, tt.server, conformance.Options{Revisions: []string{"all"}, Limits: tt.limits, Save: func(_ string, rec *transcript.Recording) error {
				for _, e := range rec.Events {
					if e.Dir == transcript.ToClient {
						lines++
						size += len(e.Data)
					}
				}
				return nil
			}})
			require.NoError(t, err)
			require.LessOrEqual(t, lines, most+100)
			require.LessOrEqual(t, size, most*500+100_000)
			require.Greater(t, rep.Summary()[result.Blocked], 100)
			for _, v := range rep.Results {
				require.NotEqual(t, result.Fail, v.Verdict, "%s %s: want %s, got %s", v.Revision, v.ID, v.Expected, v.Observed)
				require.NotEqual(t, result.Error, v.Verdict, "%s %s", v.ID, v.Reason)
			}
		})
	}
}

// TestHangingTargetCostsOneLimit holds that a server which stops answering is
// not waited for again and again.
func TestHangingTargetCostsOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		rep, err := conformance.Run(t.Context(), target(checktest.Server{Input: func(c *checktest.Conn, line []byte) bool {
			if strings.Contains(string(line), "tools/list") {
				c.Hang()
			}
			return false
		}}), conformance.Options{Revisions: []string{"2025-11-25"}})
		require.NoError(t, err)
		require.Less(t, time.Since(began), 2*time.Minute)
		require.NotZero(t, rep.Summary()[result.Pass], "what could be seen is judged")
	})
}

// TestStreamThatLeadsElsewhere holds that a server of HTTP+SSE whose first event
// names another origin is told of with that origin, and that nothing goes there.
func TestStreamThatLeadsElsewhere(t *testing.T) {
	var strays atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strays.Add(1) }))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages?session=s3cret\n\n", other.URL)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	for _, over := range []catalogue.Transport{"", catalogue.SSE} {
		_, err := conformance.Run(t.Context(), conformance.Target{Endpoint: &check.Endpoint{URL: s.URL + "/sse", Over: over}}, conformance.Options{Limits: check.Limits{Start: time.Second}})
		var silent *conformance.SilentError
		require.ErrorAs(t, err, &silent)
		require.Contains(t, silent.Heard, "its endpoint event names an address at "+other.URL+", another origin than its own")
		require.NotContains(t, err.Error(), "s3cret")
		require.Zero(t, strays.Load())
	}
}
