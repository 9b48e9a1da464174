package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/goldwire/goldwire/conformance/result"
)

// JUnit writes a report as JUnit XML: a suite for each revision and transport,
// in it a case for each check, whose class is the revision and the area. What
// counts against the target is a failure; a warning that does not, and what is
// known, passes, and says so in its output; what is not applicable or was not
// observed is skipped; a check of a MUST that was blocked, and one that could
// not do its work, is an error, any other blocked one is skipped. Stale entries
// of the baseline are failures in a suite of their own, and a run without
// a result is one case that is an error, where no check is one already. The time of a suite is that of driving
// the target there, 0 where it was not measured.
func JUnit(w io.Writer, r *result.Report) error {
	all := junit.Testsuites{Name: xmlText(who(r))}
	if r.Took > 0 {
		all.Time = seconds(r.Took)
	}
	told := false // that there is no result
	index := map[string]int{}
	var suites []junit.Testsuite
	suite := func(name string) *junit.Testsuite {
		i, ok := index[name]
		if !ok {
			i = len(suites)
			index[name] = i
			suites = append(suites, junit.Testsuite{Name: xmlText(name), ID: i, Time: "0"})
		}
		return &suites[i]
	}
	for i := range r.Results {
		c := &r.Results[i]
		tc := junit.Testcase{Name: xmlText(c.ID), Classname: xmlText(c.Revision + "." + Area(c))}
		text := xmlText(findingText(c))
		is := func(kind, message string) *junit.Result {
			return &junit.Result{Message: xmlText(message), Type: kind, Data: text}
		}
		switch {
		case r.Breaks(c):
			tc.Failure = is(string(c.Verdict), c.Observed)
		case c.Verdict == result.Error:
			tc.Error, told = is("error", c.Reason), true
		case c.Verdict == result.Blocked && c.Binding() && c.Known == "":
			tc.Error, told = is("blocked", c.Reason), true
		case c.Verdict == result.Pass:
		case c.Verdict == result.Fail, c.Verdict == result.Warn:
			tc.SystemOut = &junit.Output{Data: text}
		default:
			tc.Skipped = &junit.Result{Message: xmlText(string(c.Verdict) + ": " + c.Reason)}
		}
		name := c.Revision
		if c.Transport != "" {
			name += " over " + c.Transport
		}
		s := suite(name)
		s.AddTestcase(tc)
		if took := r.Times[result.Setting{Revision: c.Revision, Transport: c.Transport}]; took > 0 {
			s.Time = seconds(took)
		}
	}
	for _, c := range r.Coverage() {
		s := suite(strings.TrimSuffix(c.Revision+" over "+c.Transport, " over "))
		s.AddProperty("must", fmt.Sprint(c.Must))
		s.AddProperty("exercised", fmt.Sprint(c.Exercised))
	}
	for _, s := range r.Stale {
		suite("baseline").AddTestcase(junit.Testcase{
			Name: xmlText(s.Check), Classname: "baseline",
			Failure: &junit.Result{Message: xmlText(s.Why), Type: "stale", Data: xmlText(s.File)},
		})
	}
	run := func(e *junit.Result) {
		suite("run").AddTestcase(junit.Testcase{Name: "run", Classname: "run", Error: e})
	}
	if e := r.Error; e != nil {
		run(&junit.Result{Message: xmlText(e.Message), Type: string(e.Kind), Data: xmlText(e.Stderr)})
	} else if ExitCode(r) == ExitNoResult && !told {
		headline, why := Outcome(r)
		run(&junit.Result{Message: xmlText(why), Type: headline})
	}
	for _, s := range suites {
		all.AddSuite(s)
	}
	if _, err := io.WriteString(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"); err != nil {
		return err
	}
	return all.WriteXML(w)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// who names what was judged.
func who(r *result.Report) string {
	t := r.Target
	name := strings.TrimSpace(t.Name + " " + t.Version)
	if name == "" {
		name = commandLine(t.Command)
	}
	if name == "" {
		name = t.URL
	}
	return strings.TrimSpace(t.Side + " " + name)
}

// xmlText is text that XML can hold, also in a CDATA section.
func xmlText(s string) string { return notXML.Replace(plain(s)) }

// notXML is what plain leaves and XML cannot hold, or a CDATA section cannot.
var notXML = strings.NewReplacer("]]>", `]]\x3e`, "\ufffe", `\ufffe`, "\uffff", `\uffff`)

// findingText is a finding in lines: the rule, what was expected and observed,
// and the traffic.
func findingText(c *result.Check) string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", label, text)
		}
	}
	level := string(c.Level)
	if level == "" {
		level = "rule"
	}
	line(level, c.Sentence)
	line("warning", warning(c))
	line("requirements", strings.Join(c.Requirements, ", "))
	line("spec", c.URL)
	line("layer", c.Layer)
	line("expected", c.Expected)
	line("observed", c.Observed)
	line("reason", c.Reason)
	line("known", c.Known)
	for _, f := range c.Frames {
		lead := "  "
		if f.Here {
			lead = "→ "
		}
		b.WriteString(lead + f.Text + "\n")
	}
	return b.String()
}
