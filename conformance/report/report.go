// Package report prints what a run found, all from the one model in package
// result: as text for people and JSON for programs, as JUnit, SARIF and
// annotations for CI, as Markdown for its summaries, and as one HTML page.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
)

// Exit codes of a run that came to an end. Usage errors (2) and a target that
// could not be started (3) are the command's to tell.
const (
	ExitConformant = 0 // nothing is broken that has to hold, but for what is known, and all of it was judged
	ExitBroken     = 1 // at least one result that counts against the target
	ExitStale      = 4 // nothing counts, but entries of the baseline are not true any more
	ExitNoResult   = 5 // the checker failed somewhere, saw nothing it could judge, or could not judge all that has to hold
)

// ExitCode is the exit code that a report calls for. An error of the checker
// outweighs everything: the report is not complete, so neither a clean bill
// nor a list of failures is the whole truth. Warnings count only where the run
// is strict, and what is known does not count. Where nothing failed, but a
// check was blocked whose rule is a MUST, nobody can say that the target
// conforms: there is no result. Stale entries of a baseline come last. A run
// that came to no verdicts says its code itself.
func ExitCode(r *result.Report) int {
	s := r.Summary()
	switch {
	case r.Error != nil:
		return r.Error.ExitCode
	case s[result.Error] > 0 || s[result.Pass]+s[result.Fail]+s[result.Warn] == 0:
		return ExitNoResult
	case r.Broken() > 0:
		return ExitBroken
	case r.Unjudged() > 0:
		return ExitNoResult
	case len(r.Stale) > 0:
		return ExitStale
	}
	return ExitConformant
}

// Options of Write; each format looks at some of them.
type Options struct {
	Text TextOptions // text
	// Source is a file of the target's source that findings are shown at, in
	// SARIF and annotations: a path relative to the root of the repository; ""
	// for none.
	Source string
	// Tool is the version of this program.
	Tool string
}

// formats are the formats by name, in the order of the documentation.
var formats = []struct {
	name  string
	write func(io.Writer, *result.Report, Options) error
}{
	{"text", func(w io.Writer, r *result.Report, o Options) error { return Text(w, r, o.Text) }},
	{"json", func(w io.Writer, r *result.Report, _ Options) error { return JSON(w, r) }},
	{"junit", func(w io.Writer, r *result.Report, _ Options) error { return JUnit(w, r) }},
	{"sarif", SARIF},
	{"markdown", func(w io.Writer, r *result.Report, _ Options) error { return Markdown(w, r) }},
	{"html", HTML},
}

// Formats names the formats.
func Formats() []string {
	var out []string
	for _, f := range formats {
		out = append(out, f.name)
	}
	return out
}

// Write writes a report in the format of that name.
func Write(w io.Writer, format string, r *result.Report, o Options) error {
	for _, f := range formats {
		if f.name == format {
			return f.write(w, r, o)
		}
	}
	return fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats(), ", "))
}

// judgedBy says which revisions a target was judged by, "" where there are none.
// A revision in which everything is blocked is none of them.
func judgedBy(r *result.Report) string {
	judged := r.Judged()
	left := slices.DeleteFunc(slices.Clone(r.Revisions), func(rev string) bool { return slices.Contains(judged, rev) })
	by, not := strings.Join(judged, ", "), strings.Join(left, ", ")
	switch {
	case len(r.Revisions) == 0:
		return ""
	case r.Locked && by == "":
		return "lets nobody in: which revisions it speaks is not known, and nothing was judged"
	case r.Locked:
		return "lets nobody in: which revisions it speaks is not known; how it keeps clients out was judged by " + by
	case by == "":
		return "not judged by " + not + ": all is blocked"
	case not != "":
		return "judged by " + by + "; not by " + not + ": all is blocked"
	}
	return "judged by " + by
}

// Outcome is a report in a few words: what ExitCode says, and why. A target
// whose failures are all known is not called conformant.
func Outcome(r *result.Report) (headline, why string) {
	s := r.Summary()
	judged := s[result.Pass] + s[result.Fail] + s[result.Warn]
	known := ""
	if n := r.Known(); n > 0 {
		known = ", " + plural(n, "known finding", "known findings")
	}
	notWhole := ""
	if s[result.Blocked] > 0 {
		notWhole = "; not judged whole: " + plural(s[result.Blocked], "check blocked", "checks blocked")
	}
	warnings := plural(s[result.Warn], "warning", "warnings")
	checks := plural(judged, "check judged", "checks judged")
	switch ExitCode(r) {
	case ExitConformant:
		if n := knownFailures(r); n > 0 && r.Error == nil {
			return "nothing new", strings.TrimPrefix(known, ", ") + " (" + plural(n, "failure", "failures") + "); " + checks + ", " + warnings + notWhole
		}
		if r.Error == nil {
			return "conformant", checks + ", " + warnings + known + notWhole
		}
	case ExitBroken:
		if r.Error == nil {
			return "not conformant", plural(s[result.Fail], "failure", "failures") + ", " + warnings + " of " + checks + known + notWhole
		}
	case ExitStale:
		if r.Error == nil {
			return "the baseline is stale", plural(len(r.Stale), "entry is", "entries are") + " not true any more; " + checks + ", " + warnings + known + notWhole
		}
	}
	switch {
	case r.Error != nil:
		return "no result", r.Error.Message
	case s[result.Error] > 0:
		return "no result", plural(s[result.Error], "check could not do its work", "checks could not do their work")
	case judged > 0:
		failed := "none of " + checks + " failed"
		if knownFailures(r) > 0 {
			failed = "no new failure among " + checks
		}
		return "not judged whole", plural(s[result.Blocked], "check blocked", "checks blocked") + ", " + failed + ", " + warnings + known
	}
	if len(r.Results) == 0 && len(r.Revisions) > 0 {
		return "no result", "none of the selected checks is one of " + strings.Join(r.Revisions, ", ")
	}
	return "no result", "nothing could be judged"
}

// knownFailures counts the fails that would count if they were not expected.
func knownFailures(r *result.Report) int {
	n := 0
	for i := range r.Results {
		if c := &r.Results[i]; c.Known != "" && c.Verdict == result.Fail {
			n++
		}
	}
	return n
}

// coverageLines says for each revision how many of its MUSTs were exercised.
func coverageLines(r *result.Report) []string {
	var out []string
	over := ""
	all := r.Coverage()
	for _, c := range all {
		if slices.ContainsFunc(all, func(d result.Coverage) bool { return d.Revision == c.Revision && d.Transport != c.Transport }) {
			over = " over " + c.Transport
		}
		out = append(out, fmt.Sprintf("%d of the %s of %s%s exercised", c.Exercised, plural(c.Must, "MUST", "MUSTs"), c.Revision, over))
	}
	return out
}
