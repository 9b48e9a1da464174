package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

var update = flag.Bool("update", false, "write the golden files in testdata")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(file, got, 0o666))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "go test ./conformance/report -update writes it")
	require.Empty(t, cmp.Diff(string(want), string(got)), "go test ./conformance/report -update accepts it")
}

// sample has every verdict, two revisions, and text that must be tamed.
func sample() *result.Report {
	const sentence = "A call that names a tool which the server does not have is answered with an error of the protocol, not with a result that tells of a failed tool."
	fail := func(rev string) result.Check {
		return result.Check{
			ID: "tools-unknown-tool", Revision: rev, Transport: "stdio", Level: "MUST",
			Requirements: []string{"legacy/tools-unknown-tool", "legacy/tools-errors"}, Verdict: result.Fail, Layer: "feature",
			Sentence: sentence, URL: "https://modelcontextprotocol.io/specification/" + rev + "/server/tools#error-handling",
			Expected: "an error with code -32602", Observed: "a result: \x1b[2Jcleared \u202egnp.exe\nsecond line",
			Frames: []result.Frame{
				{Text: `>@1ms {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}}`},
				{Text: `<@2ms {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"` + strings.Repeat("unknown tool ", 20) + `"}]}}`, Here: true},
			},
		}
	}
	plain := func(id string, v result.Verdict, reason string) result.Check {
		return result.Check{ID: id, Revision: "2025-11-25", Transport: "stdio", Level: "SHOULD", Requirements: []string{"legacy/" + id}, Verdict: v, Reason: reason}
	}
	warn := plain("ping-prompt", result.Warn, "")
	warn.Expected, warn.Observed = "an answer at once", "an answer after 3 s"
	return &result.Report{
		Target:    result.Target{Side: "server", Command: []string{"./server", "--name", "a b", ""}, Name: "evil\x1b[31m", Version: "1.0"},
		Revisions: []string{"2025-06-18", "2025-11-25"},
		Results: []result.Check{
			fail("2025-06-18"), fail("2025-11-25"), warn,
			plain("ping-answered", result.Pass, ""),
			plain("tools-list", result.Pass, ""),
			plain("prompts-list", result.NotApplicable, "the server does not declare prompts"),
			plain("prompts-get", result.NotObserved, "no prompt was got"),
			plain("resources-read", result.Blocked, "resources/list failed"),
			plain("logging-level", result.Error, "the check itself failed: index out of range"),
		},
	}
}

func TestTextGolden(t *testing.T) {
	for _, c := range []struct {
		name string
		edit func(*result.Report)
		o    TextOptions
	}{
		{"full.txt", nil, TextOptions{}},
		{"narrow.txt", nil, TextOptions{Width: 60}},
		{"colour.txt", nil, TextOptions{Color: true, Width: 80, Verbose: true}},
		{"clean.txt", func(r *result.Report) { r.Results, r.Revisions = r.Results[3:5], r.Revisions[1:] }, TextOptions{}},
		{"broken.txt", func(r *result.Report) { r.Results = r.Results[1:5] }, TextOptions{Verbose: true}},
		{"failed.txt", func(r *result.Report) {
			r.Results, r.Revisions = nil, nil
			r.Error = &result.Failure{Kind: result.FailedDied, Message: "the server answered nothing: it exited with status 7", ExitCode: 3, Stderr: "no licence"}
		}, TextOptions{}},
		{"foreign.txt", func(r *result.Report) { r.Results = nil }, TextOptions{}},
		{"nothing.txt", func(r *result.Report) {
			r.Results, r.Revisions, r.Target = nil, nil, result.Target{Side: "client", URL: "http://localhost:1"}
		}, TextOptions{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sample()
			if c.edit != nil {
				c.edit(r)
			}
			var b bytes.Buffer
			require.NoError(t, Text(&b, r, c.o))
			golden(t, c.name, b.Bytes())
			require.True(t, utf8.Valid(b.Bytes()))
			if !c.o.Color {
				require.NotContains(t, b.String(), "\x1b")
			}
			require.NotContains(t, b.String(), "\x1b[2J")
			require.NotContains(t, b.String(), "\u202e")
			if w := c.o.Width; w > 0 && !c.o.Color {
				for _, l := range strings.Split(b.String(), "\n") {
					if !strings.Contains(l, "https://") {
						require.LessOrEqual(t, utf8.RuneCountInString(l), w, l)
					}
				}
			}
		})
	}
}

func TestJSONGolden(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, JSON(&b, sample()))
	golden(t, "full.json", b.Bytes())
	require.True(t, json.Valid(b.Bytes()))

	b.Reset()
	require.NoError(t, JSON(&b, &result.Report{Results: []result.Check{{ID: "x", Verdict: result.Pass}}}))
	golden(t, "small.json", b.Bytes())

	b.Reset()
	failed := &result.Report{Target: result.Target{Side: "server", Command: []string{"./server"}}, Error: &result.Failure{
		Kind: result.FailedDied, Message: "the server answered nothing: it exited with status 7", ExitCode: 3, Stderr: "no\nlicence"}}
	require.NoError(t, JSON(&b, failed))
	golden(t, "failed.json", b.Bytes())
	back, err := ParseJSON(b.Bytes())
	require.NoError(t, err)
	require.Equal(t, failed.Error, back.Error)
	require.Equal(t, 3, ExitCode(back))
}

func TestJSONRoundTrip(t *testing.T) {
	var b bytes.Buffer
	want := sample()
	require.NoError(t, JSON(&b, want))
	got, err := ParseJSON(b.Bytes())
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
	var again bytes.Buffer
	require.NoError(t, JSON(&again, got))
	require.Equal(t, b.String(), again.String())

	// A later version of the form may say more.
	more := strings.Replace(b.String(), `"goldwire": 1,`, `"goldwire": 1, "later": {"x": []},`, 1)
	got, err = ParseJSON([]byte(more))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, got))
}

func TestParseJSONRefuses(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, JSON(&b, sample()))
	good := b.String()
	for _, c := range []struct{ name, old, new, want string }{
		{"another version", `"goldwire": 1`, `"goldwire": 2`, "goldwire: version 2, this program reads 1"},
		{"no report", `"goldwire": 1`, `"x": 1`, "no JSON report of goldwire check"},
		{"a verdict", `"verdict": "fail"`, `"verdict": "bad"`, `results[0].verdict: "bad" is not known`},
		{"a level", `"level": "MUST"`, `"level": "must"`, `results[0].level: "must" is not known`},
		{"a check", `"check": "tools-unknown-tool"`, `"check": ""`, "results[0].check: missing"},
		{"a sum", `"pass": 2`, `"pass": 3`, "summary: it does not add up"},
		{"not JSON", `{`, `<testsuites>`, "no JSON report of goldwire check: invalid character"},
		{"a type", `"revisions": [`, `"revisions": {}, "x": [`, "revisions"},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		require.NotEqual(t, good, text, c.name)
		_, err := ParseJSON([]byte(text))
		require.ErrorContains(t, err, c.want, c.name)
	}
	for i := range len(good) - 1 {
		_, err := ParseJSON([]byte(good[:i]))
		require.Error(t, err)
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		verdicts []result.Verdict
		want     int
	}{
		{nil, ExitNoResult},
		{[]result.Verdict{result.NotApplicable, result.NotObserved, result.Blocked}, ExitNoResult},
		{[]result.Verdict{result.Pass, result.NotObserved}, ExitConformant},
		{[]result.Verdict{result.Warn}, ExitConformant},
		{[]result.Verdict{result.Pass, result.Fail, result.Warn}, ExitBroken},
		{[]result.Verdict{result.Pass, result.Error}, ExitNoResult},
		{[]result.Verdict{result.Fail, result.Error}, ExitNoResult},
	} {
		r := &result.Report{}
		for _, v := range c.verdicts {
			r.Results = append(r.Results, result.Check{Verdict: v})
		}
		require.Equal(t, c.want, ExitCode(r), "%v", c.verdicts)
	}
}

// TestBlockedMustIsNoCleanBill holds that nothing is called conformant of which
// a part that has to hold was not judged.
func TestBlockedMustIsNoCleanBill(t *testing.T) {
	blocked := func(level result.Level, mild string) result.Check {
		return result.Check{ID: "x", Revision: "2025-11-25", Verdict: result.Blocked, Level: level, Mild: mild, Reason: "it exited with status 1 instead of answering tools/list"}
	}
	pass := result.Check{ID: "y", Verdict: result.Pass, Level: "MUST"}
	fail := result.Check{ID: "z", Verdict: result.Fail, Level: "MUST"}
	known := fail
	known.Known = "Fixed in 2.0."
	for _, c := range []struct {
		results []result.Check
		code    int
		last    string
	}{
		{[]result.Check{pass, blocked("MUST", "")}, ExitNoResult, "not judged whole: 1 check blocked, none of 1 check judged failed, 0 warnings"},
		{[]result.Check{pass, blocked("MUST NOT", "")}, ExitNoResult, "not judged whole: 1 check blocked, none of 1 check judged failed, 0 warnings"},
		{[]result.Check{pass, blocked("SHOULD", "")}, ExitConformant, "conformant: 1 check judged, 0 warnings; not judged whole: 1 check blocked"},
		{[]result.Check{pass, blocked("MUST", "it is only implied")}, ExitConformant, "conformant: 1 check judged, 0 warnings; not judged whole: 1 check blocked"},
		{[]result.Check{pass, fail, blocked("MUST", "")}, ExitBroken, "not conformant: 1 failure, 0 warnings of 2 checks judged; not judged whole: 1 check blocked"},
		{[]result.Check{pass, known, blocked("MUST", "")}, ExitNoResult, "not judged whole: 1 check blocked, no new failure among 2 checks judged, 0 warnings, 1 known finding"},
		{[]result.Check{blocked("MUST", "")}, ExitNoResult, "no result: nothing could be judged"},
	} {
		r := &result.Report{Revisions: []string{"2025-11-25"}, Results: c.results}
		require.Equal(t, c.code, ExitCode(r))
		var b bytes.Buffer
		require.NoError(t, Text(&b, r, TextOptions{}))
		require.Contains(t, b.String(), "BLOCKED  1 check  2025-11-25\n  reason    it exited with status 1 instead of answering tools/list\n  checks    x\n")
		require.True(t, strings.HasSuffix(b.String(), "\n"+c.last+"\n"), b.String())
	}
}

// TestBlockedChecksAreGrouped holds that many checks of one cause take few
// lines: they are counted by area, and named where few, or all is wanted.
func TestBlockedChecksAreGrouped(t *testing.T) {
	blocked := func(n int) *result.Report {
		r := &result.Report{}
		for _, rev := range []string{"2025-11-25", "2026-07-28"} {
			for i := range n {
				area := []string{"tools", "tools", "ping"}[i%3]
				r.Results = append(r.Results, result.Check{ID: fmt.Sprintf("check-%d", i), Requirements: []string{"legacy/" + area + "-x"}, Revision: rev, Verdict: result.Blocked, Reason: "it hung"})
			}
		}
		return r
	}
	text := func(r *result.Report, o TextOptions) string {
		var b bytes.Buffer
		require.NoError(t, Text(&b, r, o))
		return b.String()
	}
	many := text(blocked(60), TextOptions{})
	require.Contains(t, many, "BLOCKED  60 checks  2025-11-25, 2026-07-28\n  reason    it hung\n  checks    40 tools, 20 ping (--report json=FILE names each)\n")
	require.Less(t, strings.Count(many, "\n"), 25)
	require.Contains(t, text(blocked(8), TextOptions{}), "  checks    check-0, check-1, check-2, check-3, check-4, check-5, check-6, check-7\n")
	require.Contains(t, text(blocked(60), TextOptions{Verbose: true}), "check-58, check-59\n")
	wide := blocked(60)
	for i := range wide.Results {
		wide.Results[i].Requirements = []string{fmt.Sprintf("legacy/area%d-x", min(i%60, 20))}
	}
	require.Contains(t, strings.Join(strings.Fields(text(wide, TextOptions{})), " "), "checks 40 area20, 1 area0, 1 area1, 1 area10, 1 area11, 1 area12, 1 area13, 1 area14, 13 in 13 other areas (--report json=FILE names each)")
	var b bytes.Buffer
	require.NoError(t, JSON(&b, blocked(60)))
	require.Contains(t, b.String(), `"check-59"`)
}

// TestHeadSaysWhatWasJudged holds that a report names no revision as judged in
// which all is blocked, nor one that a server which lets nobody in may not speak.
func TestHeadSaysWhatWasJudged(t *testing.T) {
	in := func(rev string, v result.Verdict) result.Check {
		return result.Check{ID: "a-" + rev, Revision: rev, Verdict: v, Reason: "because"}
	}
	const one, two = "2025-11-25", "2026-07-28"
	for _, tt := range []struct {
		locked  bool
		results []result.Check
		want    string
	}{
		{false, []result.Check{in(one, result.Pass), in(two, result.NotObserved)}, "judged by 2025-11-25, 2026-07-28"},
		{false, []result.Check{in(one, result.Pass), in(one, result.Blocked), in(two, result.Blocked)}, "judged by 2025-11-25; not by 2026-07-28: all is blocked"},
		{false, []result.Check{in(one, result.Blocked), in(two, result.Blocked)}, "not judged by 2025-11-25, 2026-07-28: all is blocked"},
		{true, []result.Check{in(one, result.Pass), in(one, result.Blocked), in(two, result.Pass)}, "lets nobody in: which revisions it speaks is not known; how it keeps clients out was judged by 2025-11-25, 2026-07-28"},
		{true, []result.Check{in(one, result.Blocked), in(two, result.Blocked)}, "lets nobody in: which revisions it speaks is not known, and nothing was judged"},
	} {
		r := &result.Report{Target: result.Target{Side: "server", URL: "https://h/mcp"}, Revisions: []string{one, two}, Locked: tt.locked, Results: tt.results}
		for _, format := range []string{"text", "markdown", "html"} {
			var b bytes.Buffer
			require.NoError(t, Write(&b, format, r, Options{}))
			require.Contains(t, strings.Join(strings.Fields(b.String()), " "), tt.want, format)
		}
		var b bytes.Buffer
		require.NoError(t, JSON(&b, r))
		back, err := ParseJSON(b.Bytes())
		require.NoError(t, err)
		require.Equal(t, tt.locked, back.Locked)
	}
}

// TestFindingsComeFromTheBytesUp holds that the root stands before what it
// causes.
func TestFindingsComeFromTheBytesUp(t *testing.T) {
	r := &result.Report{}
	for _, layer := range []string{"feature", "protocol", "", "jsonrpc", "carrier"} {
		r.Results = append(r.Results, result.Check{ID: "of-" + layer, Layer: layer, Verdict: result.Fail}, result.Check{ID: "soft-" + layer, Layer: layer, Verdict: result.Warn})
	}
	var b bytes.Buffer
	require.NoError(t, Text(&b, r, TextOptions{}))
	var got []string
	for line := range strings.Lines(b.String()) {
		if w := strings.Fields(line); len(w) > 1 && (w[0] == "FAIL" || w[0] == "WARN") {
			got = append(got, w[1])
		}
	}
	require.Equal(t, []string{"of-carrier", "of-jsonrpc", "of-protocol", "of-feature", "of-", "soft-carrier", "soft-jsonrpc", "soft-protocol", "soft-feature", "soft-"}, got)
}

// TestWarningOfAMustSaysWhy holds that nobody wonders at a MUST that is not a
// failure.
func TestWarningOfAMustSaysWhy(t *testing.T) {
	text := func(c result.Check) string {
		var b bytes.Buffer
		require.NoError(t, Text(&b, &result.Report{Results: []result.Check{c}}, TextOptions{}))
		return b.String()
	}
	c := result.Check{ID: "x", Level: "MUST", Sentence: "It holds.", Verdict: result.Warn, Mild: "no key word states it"}
	require.Contains(t, text(c), "\n  MUST (told as a warning): It holds.\n  warning   since no key word states it\n")
	c.Verdict, c.Mild = result.Fail, ""
	require.Contains(t, text(c), "\n  MUST: It holds.\n")
	c.Verdict, c.Level = result.Warn, "SHOULD"
	require.Contains(t, text(c), "\n  SHOULD: It holds.\n")
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorsAreReturned(t *testing.T) {
	require.ErrorContains(t, Text(fullDisk{}, sample(), TextOptions{}), "disk full")
	require.ErrorContains(t, JSON(fullDisk{}, sample()), "disk full")
}

func TestPlainAndCut(t *testing.T) {
	require.Equal(t, "a\nb", plain("a\nb"))
	require.Equal(t, `\x1b[31m \xff \u202e \u0085 `+"\ufffd x", plain("\x1b[31m \xff \u202e \u0085 \ufffd\tx"))
	require.Equal(t, "äöü", cut("äöü", 3))
	require.Equal(t, "ää… (200 bytes)", cut(strings.Repeat("ä", 100), 15))
	require.Equal(t, 14, utf8.RuneCountInString(cut(strings.Repeat("ä", 100), 14)))
	require.Equal(t, "tools", Area(&result.Check{ID: "x-y", Requirements: []string{"legacy/tools-z"}}))
	require.Equal(t, "x", Area(&result.Check{ID: "x-y"}))
	require.Equal(t, "resources", Area(&result.Check{ID: "x-y", Requirements: []string{"modern/res-list"}}))
}
