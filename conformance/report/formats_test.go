package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// rich is sample with what a baseline adds, a remark among the frames, and text
// that tries to be markup.
func rich() *result.Report {
	r := sample()
	r.Target.Name, r.Revisions = "a <b>server</b>", []string{"2025-06-18", "2025-11-25", "2026-07-28"}
	r.Results = append(r.Results,
		result.Check{
			ID: "modern-parse-error", Revision: "2026-07-28", Transport: "stdio", Level: "MUST", Requirements: []string{"modern/jsonrpc-parse-error"},
			Verdict: result.Fail, Known: "Fixed in 2.0. (until 2027-01-31)", Layer: "jsonrpc",
			Sentence: "A text that is no JSON is answered with an error.", URL: "https://modelcontextprotocol.io/specification/2026-07-28/basic",
			Expected: "an error", Observed: "]]> | `code` ```` </pre><script>alert(1)</script> ::error::x ![i](http://x.test/i.png) ##[group]",
			Count: 2, More: []result.Instance{{Observed: "nothing </pre>", Frames: []result.Frame{{Text: `>@9ms {"id":`, Here: true}}}},
			Frames: []result.Frame{
				{Text: "! probe malformed/array"},
				{Text: `>x@3ms "{\"id\":1\xff"`},
				{Text: `<@4ms {"jsonrpc":"2.0","id":1,"error":{"code":-32700,"message":"<img src='http://x.test/x'/>"}}`, Here: true},
				{Text: `<~70000@5ms {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"…`},
			},
		},
		result.Check{ID: "framing", Revision: "2026-07-28", Transport: "stdio", Level: "MUST", Requirements: []string{"modern/stdio-framing"}, Verdict: result.Blocked, Reason: "it hung"},
	)
	r.Stale = []result.Stale{{Check: "ping-answered", File: "base|line.yaml", Why: "it passes now in 2025-11-25"}}
	r.Notes = []string{"2 entries of base|line.yaml for 2024-11-05, which was not judged"}
	r.Took, r.Times = 90*time.Second, map[result.Setting]time.Duration{{Revision: "2025-06-18", Transport: "stdio"}: 1500 * time.Millisecond, {Revision: "2026-07-28", Transport: "stdio"}: time.Minute}
	return r
}

// without leaves out the result that makes the whole run one of no result.
func without(r *result.Report, v ...result.Verdict) *result.Report {
	var kept []result.Check
	for _, c := range r.Results {
		drop := false
		for _, x := range v {
			drop = drop || c.Verdict == x
		}
		if !drop {
			kept = append(kept, c)
		}
	}
	r.Results = kept
	return r
}

func died() *result.Report {
	return &result.Report{Target: result.Target{Side: "server", Command: []string{"./server"}}, Error: &result.Failure{
		Kind: result.FailedDied, Message: "the server answered nothing: it exited with status 7", ExitCode: 3, Stderr: "no\n::error::licence <b>"}}
}

func written(t *testing.T, format string, r *result.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Write(&b, format, r, Options{Source: "src/my server.py", Tool: "v1.2.3"}))
	require.True(t, utf8.Valid(b.Bytes()))
	return b.Bytes()
}

// TestFormatsGolden holds each format over one set of results.
func TestFormatsGolden(t *testing.T) {
	ends := map[string]string{"text": "txt", "json": "json", "junit": "xml", "sarif": "sarif", "markdown": "md", "html": "html"}
	require.Len(t, Formats(), len(ends))
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) {
			golden(t, "rich."+ends[format], written(t, format, rich()))
			golden(t, "died."+ends[format], written(t, format, died()))
			require.NotEmpty(t, written(t, format, &result.Report{}))
			require.ErrorContains(t, Write(fullDisk{}, format, rich(), Options{}), "disk full")
		})
	}
	require.ErrorContains(t, Write(io.Discard, "yaml", rich(), Options{}), `no format "yaml"; there are text, json, junit, sarif, markdown, html`)
}

// junitFile is what readers of JUnit XML look at.
type junitFile struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []struct {
		Name     string `xml:"name,attr"`
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`
		Cases    []struct {
			Name      string    `xml:"name,attr"`
			Classname string    `xml:"classname,attr"`
			Failure   *struct{} `xml:"failure"`
			Error     *struct{} `xml:"error"`
			Skipped   *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// TestJUnitAddsUp holds that every result is a case, that the sums are right,
// and that a file is red exactly when the command fails.
func TestJUnitAddsUp(t *testing.T) {
	strict := without(rich(), result.Fail, result.Blocked, result.Error)
	strict.Stale, strict.Strict = nil, true
	stale := without(rich(), result.Fail, result.Blocked, result.Error)
	clean := without(rich(), result.Fail, result.Blocked, result.Error)
	clean.Stale = nil
	unseen := without(rich(), result.Pass, result.Fail, result.Warn, result.Blocked, result.Error)
	unseen.Stale = nil
	for name, r := range map[string]*result.Report{"rich": rich(), "strict": strict, "stale": stale, "clean": clean, "died": died(), "unseen": unseen, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			var f junitFile
			require.NoError(t, xml.Unmarshal(written(t, "junit", r), &f))
			tests, failures, errs, skipped, cases := 0, 0, 0, 0, 0
			for _, s := range f.Suites {
				require.NotEmpty(t, s.Name)
				require.NotEmpty(t, s.Time)
				require.Len(t, s.Cases, s.Tests)
				n := [3]int{}
				for _, c := range s.Cases {
					require.NotEmpty(t, c.Name)
					require.NotEmpty(t, c.Classname)
					n[0] += btoi(c.Failure != nil)
					n[1] += btoi(c.Error != nil)
					n[2] += btoi(c.Skipped != nil)
				}
				require.Equal(t, n, [3]int{s.Failures, s.Errors, s.Skipped})
				tests, failures, errs, skipped, cases = tests+s.Tests, failures+s.Failures, errs+s.Errors, skipped+s.Skipped, cases+len(s.Cases)
			}
			require.Equal(t, [4]int{tests, failures, errs, skipped}, [4]int{f.Tests, f.Failures, f.Errors, f.Skipped})
			ofRun := r.Error != nil || name == "unseen" || name == "empty"
			require.Equal(t, len(r.Results)+len(r.Stale)+btoi(ofRun), cases)
			require.Equal(t, ExitCode(r) != ExitConformant, failures+errs > 0, "exit status %d", ExitCode(r))
		})
	}
}

// TestJUnitHoldsWhatXMLCannot holds that a file is well-formed whatever a target
// sends.
func TestJUnitHoldsWhatXMLCannot(t *testing.T) {
	var odd strings.Builder
	for r := range rune(0x20) {
		odd.WriteRune(r)
	}
	odd.WriteString("\x7f\ufdd0\ufffd\ufffe\uffff\U0001ffff\xff\xed\xa0\x80]]>")
	r := sample()
	r.Target.Name = odd.String()
	for i := range r.Results {
		c := &r.Results[i]
		c.Observed, c.Reason, c.Frames = odd.String(), odd.String(), []result.Frame{{Text: odd.String(), Here: true}}
	}
	got := written(t, "junit", r)
	require.False(t, bytes.ContainsAny(got, "\ufffe\uffff"))
	require.True(t, bytes.Contains(got, []byte(`\ufffe\uffff`)))
	var f junitFile
	require.NoError(t, xml.Unmarshal(got, &f))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSARIFHasWhatIsRequired holds the members that SARIF 2.1.0 requires, and
// those that code scanning of GitHub wants.
func TestSARIFHasWhatIsRequired(t *testing.T) {
	unjudged := without(rich(), result.Fail, result.Error)
	for name, r := range map[string]*result.Report{"rich": rich(), "died": died(), "empty": {}, "not judged whole": unjudged} {
		t.Run(name, func(t *testing.T) {
			var log map[string]any
			require.NoError(t, json.Unmarshal(written(t, "sarif", r), &log))
			require.Equal(t, "2.1.0", log["version"])
			require.Contains(t, log["$schema"], "sarif-2.1.0")
			runs := log["runs"].([]any)
			require.Len(t, runs, 1)
			run := runs[0].(map[string]any)
			driver := run["tool"].(map[string]any)["driver"].(map[string]any)
			require.Equal(t, "goldwire", driver["name"])
			rules := driver["rules"].([]any)
			ids := map[string]bool{}
			for _, rule := range rules {
				id := rule.(map[string]any)["id"].(string)
				require.False(t, ids[id], "a rule is there once: %s", id)
				ids[id] = true
			}
			results := run["results"].([]any)
			require.Len(t, results, r.Summary()[result.Fail]+r.Summary()[result.Warn])
			prints := map[string]bool{}
			for _, x := range results {
				f := x.(map[string]any)
				require.NotEmpty(t, f["message"].(map[string]any)["text"])
				require.Contains(t, []any{"error", "warning"}, f["level"])
				rule := rules[int(f["ruleIndex"].(float64))].(map[string]any)
				require.Equal(t, f["ruleId"], rule["id"])
				loc := f["locations"].([]any)[0].(map[string]any)
				require.Equal(t, "src/my%20server.py", loc["physicalLocation"].(map[string]any)["artifactLocation"].(map[string]any)["uri"])
				p := f["partialFingerprints"].(map[string]any)["check/v1"].(string)
				require.False(t, prints[p])
				prints[p] = true
			}
			inv := run["invocations"].([]any)[0].(map[string]any)
			require.Equal(t, float64(ExitCode(r)), inv["exitCode"])
			require.Equal(t, ExitCode(r) != ExitNoResult && r.Error == nil, inv["executionSuccessful"])
			told := false
			for _, n := range anyList(inv["toolExecutionNotifications"]) {
				require.NotEmpty(t, n.(map[string]any)["message"].(map[string]any)["text"])
				told = told || n.(map[string]any)["level"] == "error"
			}
			require.True(t, told || inv["executionSuccessful"].(bool), "a run without a result says why")
		})
	}
	require.Contains(t, string(written(t, "sarif", rich())), `"justification": "Fixed in 2.0. (until 2027-01-31)"`)
}

func anyList(v any) []any { l, _ := v.([]any); return l }

// TestPageIsWholeAndAlone holds that the page is well-formed, has no script and
// asks no network for anything, and shows every finding and every result.
func TestPageIsWholeAndAlone(t *testing.T) {
	r := rich()
	text := written(t, "html", r)
	d := xml.NewDecoder(bytes.NewReader(text))
	ids := map[string]bool{}
	var links []string
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		require.NotContains(t, []string{"script", "link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "source"}, start.Name.Local)
		for _, a := range start.Attr {
			require.NotContains(t, []string{"src", "srcset", "style", "data", "poster", "background"}, a.Name.Local)
			require.False(t, strings.HasPrefix(a.Name.Local, "on"), a.Name.Local)
			switch a.Name.Local {
			case "id":
				require.False(t, ids[a.Value], "id %s is there once", a.Value)
				ids[a.Value] = true
			case "href":
				require.Equal(t, "a", start.Name.Local)
				links = append(links, a.Value)
			}
		}
	}
	for _, href := range links {
		if name, here := strings.CutPrefix(href, "#"); here {
			require.True(t, ids[name], "%s leads nowhere", href)
			continue
		}
		require.True(t, strings.HasPrefix(href, "https://modelcontextprotocol.io/specification/"), href)
	}
	require.NotRegexp(t, regexp.MustCompile(`url\(|@import`), string(text))
	require.Contains(t, string(text), `content="default-src 'none'; style-src 'unsafe-inline'"`)
	for _, c := range r.Results {
		switch c.Verdict {
		case result.Fail, result.Warn, result.Error:
			require.True(t, ids[c.ID], "finding %s", c.ID)
		}
		require.Contains(t, string(text), ">"+c.ID+"<")
	}
	require.Contains(t, string(text), "to server: <strong>tools/call 3</strong>")
	require.Contains(t, string(text), "to goldwire: <strong>error -32700 1</strong> ← judged")
	require.NotContains(t, string(text), "<script")

	hostile := rich()
	hostile.Results[0].URL = "javascript:alert(1)"
	require.NotContains(t, string(written(t, "html", hostile)), "javascript:")
}

// TestMarkdownIsLiteral holds that what a peer sent makes no markup, no link and
// no end of a block, and that a summary fits into what GitHub takes.
func TestMarkdownIsLiteral(t *testing.T) {
	text := string(written(t, "markdown", rich()))
	require.NotContains(t, text, "![i]")
	require.NotContains(t, text, "<script>alert(1)</script> ::")
	require.NotContains(t, text, "<b>server")
	require.Contains(t, text, "## Goldwire: no result")
	require.Contains(t, text, "| ping-answered | base&#124;line.yaml |")
	for _, line := range strings.Split(text, "\n") {
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "::"), line)
	}

	code := result.Check{ID: "x", Verdict: result.Fail, Frames: []result.Frame{{Text: "< ```` \n```"}}}
	text = string(written(t, "markdown", &result.Report{Results: []result.Check{code}}))
	require.Contains(t, text, "\n`````text\n", "the fence is longer than what it holds")

	many := &result.Report{}
	for i := range 300 {
		many.Results = append(many.Results, result.Check{
			ID: fmt.Sprintf("check-%d", i), Verdict: result.Fail, Reason: strings.Repeat("*", 5000),
			Frames: []result.Frame{{Text: "< " + strings.Repeat("x", 100_000)}},
		}, result.Check{ID: fmt.Sprintf("b-%d", i), Verdict: result.Blocked, Reason: strings.Repeat("*", 5000) + fmt.Sprint(i)})
	}
	text = string(written(t, "markdown", many))
	require.Less(t, len(text), 1<<20)
	require.Contains(t, text, "more findings are in the other reports.")
}

// TestAnnotations holds what GitHub is told, and that nothing a peer sent is a
// command.
func TestAnnotations(t *testing.T) {
	lines := func(r *result.Report, source string) []string {
		var b bytes.Buffer
		require.NoError(t, Annotations(&b, r, source))
		return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	}
	got := lines(without(rich(), result.Error, result.Blocked), "src/a,b.py")
	require.Len(t, got, 3, "one finding in two revisions, a warning, a stale entry; what is known is left out: %q", got)
	require.True(t, strings.HasPrefix(got[0], "::error file=src/a%2Cb.py,title=fail tools-unknown-tool (2025-06-18%2C 2025-11-25)::A call that"), got[0])
	require.Contains(t, got[0], "%0Aexpected: an error with code -32602%0Aobserved: a result: \\x1b[2Jcleared")
	require.True(t, strings.HasPrefix(got[1], "::warning file="), got[1])
	require.Equal(t, "::error file=src/a%2Cb.py,title=stale ping-answered::base|line.yaml: it passes now in 2025-11-25", got[2])

	strict := without(rich(), result.Error, result.Blocked)
	strict.Strict = true
	require.True(t, strings.HasPrefix(lines(strict, "")[1], "::error title=warn ping-prompt"), "a warning counts where the run is strict")

	require.Equal(t, []string{"::error title=goldwire came to no verdicts::the server answered nothing: it exited with status 7"}, lines(died(), ""))

	many := &result.Report{}
	for i := range 30 {
		many.Results = append(many.Results, result.Check{ID: fmt.Sprintf("check-%d", i), Verdict: result.Fail, Observed: "a\n::error::b"})
	}
	got = lines(many, "")
	require.Len(t, got, 10)
	require.Equal(t, "::error title=goldwire::21 more in the report", got[9])
}

// TestTextIsNoCommand holds that a server cannot give commands to a CI through
// what is printed.
func TestTextIsNoCommand(t *testing.T) {
	r := &result.Report{Results: []result.Check{{
		ID: "x", Verdict: result.Fail, Observed: "::stop-commands::x\n ::add-mask::y " + strings.Repeat("word ", 30) + "::error::z ##[error]q",
		Frames: []result.Frame{{Text: "< " + strings.Repeat("a", 52) + "::error::folded"}},
	}}}
	var b bytes.Buffer
	require.NoError(t, Text(&b, r, TextOptions{Width: 60}))
	for line := range strings.Lines(b.String()) {
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "::"), line)
		require.NotContains(t, line, "##[")
	}
	require.Equal(t, "a\n \\x3a:error::x", Plain("a\n ::error::x"))
	require.Equal(t, "std::string", Plain("std::string"))
}

// TestKnownAndStrictCount holds what decides the exit status.
func TestKnownAndStrictCount(t *testing.T) {
	pass := result.Check{ID: "p", Verdict: result.Pass, Level: "MUST"}
	fail := result.Check{ID: "f", Verdict: result.Fail, Level: "MUST"}
	warn := result.Check{ID: "w", Verdict: result.Warn, Level: "SHOULD"}
	blocked := result.Check{ID: "b", Verdict: result.Blocked, Level: "MUST"}
	known := func(c result.Check) result.Check { c.Known = "later"; return c }
	stale := []result.Stale{{Check: "p", Why: "it passes now"}}
	for i, tt := range []struct {
		results []result.Check
		strict  bool
		stale   []result.Stale
		code    int
		last    string
	}{
		{[]result.Check{pass, known(fail)}, false, nil, ExitConformant, "\nnothing new: 1 known finding (1 failure); 2 checks judged, 0 warnings\n"},
		{[]result.Check{pass, known(fail), known(fail), known(warn)}, false, nil, ExitConformant, "\nnothing new: 3 known findings (2 failures); 4 checks judged, 1 warning\n"},
		{[]result.Check{pass, warn}, true, nil, ExitBroken, "not conformant: 0 failures, 1 warning of 2 checks judged"},
		{[]result.Check{pass, known(warn)}, true, nil, ExitConformant, "conformant: 2 checks judged, 1 warning, 1 known finding"},
		{[]result.Check{pass}, false, stale, ExitStale, "the baseline is stale: 1 entry is not true any more; 1 check judged, 0 warnings"},
		{[]result.Check{pass, fail}, false, stale, ExitBroken, ""},
		{[]result.Check{pass, blocked}, false, stale, ExitNoResult, ""},
		{[]result.Check{pass, known(blocked)}, false, nil, ExitConformant, "  checks    b\n  known     later\n"},
		{[]result.Check{pass, {ID: "e", Verdict: result.Error}}, false, stale, ExitNoResult, ""},
	} {
		r := &result.Report{Results: tt.results, Strict: tt.strict, Stale: tt.stale}
		require.Equal(t, tt.code, ExitCode(r), "%d", i)
		var b bytes.Buffer
		require.NoError(t, Text(&b, r, TextOptions{}))
		require.Contains(t, b.String(), tt.last)
		if headline, _, _ := strings.Cut(strings.TrimSpace(tt.last), ": "); headline == "nothing new" {
			var md bytes.Buffer
			require.NoError(t, Markdown(&md, r))
			require.Contains(t, md.String(), "## Goldwire: nothing new\n")
			require.NotContains(t, md.String(), "conformant")
		}
		var again bytes.Buffer
		require.NoError(t, JSON(&again, r))
		back, err := ParseJSON(again.Bytes())
		require.NoError(t, err)
		require.Equal(t, tt.code, ExitCode(back), "the JSON form tells the same")
	}
}

// TestDiffGolden holds what is printed of a comparison, for people and for
// programs.
func TestDiffGolden(t *testing.T) {
	older, newer := sample(), rich()
	newer.Results[0].Verdict = result.Pass
	newer.Results[3].Verdict, newer.Results[3].Observed, newer.Results[3].Sentence = result.Fail, "nothing\n::error::\x1b[2J", "A ping is answered."
	newer.Results[5].Verdict = result.Pass
	c := result.Compare(older, newer)
	var text, program bytes.Buffer
	require.NoError(t, Diff(&text, c, TextOptions{}))
	require.NoError(t, DiffJSON(&program, c))
	golden(t, "diff.txt", text.Bytes())
	golden(t, "diff.json", program.Bytes())
	require.ErrorContains(t, Diff(fullDisk{}, c, TextOptions{}), "disk full")

	text.Reset()
	require.NoError(t, Diff(&text, result.Compare(older, sample()), TextOptions{Color: true, Width: 40}))
	require.Equal(t, "0 worse, 0 better, 0 other changes, 9 the same\n", text.String())
}

// TestHTMLExchange holds that a request over HTTP is one arrow with its headers,
// and its body another.
func TestHTMLExchange(t *testing.T) {
	var list []result.Frame
	for _, line := range []string{
		">>1@1ms POST /mcp", ">>1 accept: text/html", `>1@1ms {"id":1,"method":"ping"}`, "<<1@2ms 200", "<<1 x: y",
		">>2@3ms GET /mcp", "<<2@4ms 405", "! note a", "! note b", "<@5ms {}", "<@6ms {}",
	} {
		list = append(list, result.Frame{Text: line, Here: line == "<<1 x: y"})
	}
	var got []string
	for _, f := range newFrames(list) {
		here := ""
		if f.Here {
			here = " here"
		}
		got = append(got, f.Class+" "+f.At+here+" "+f.Text)
	}
	require.Equal(t, []string{
		"right 1ms POST /mcp\naccept: text/html", `right 1ms {"id":1,"method":"ping"}`, "left 2ms here 200\nx: y",
		"right 3ms GET /mcp", "left 4ms 405", "note  note a", "note  note b", "left 5ms {}", "left 6ms {}",
	}, got)
}
