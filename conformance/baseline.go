package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// Baseline is a list of findings that are known, so that only what is new
// fails a run. Its file is YAML, a list of entries:
//
//   - check: unknown-tool
//     revisions: [2025-11-25]   # left out: every one
//     until: 2027-01-31         # the last day on which it holds; left out: no end
//     reason: Fixed in 2.0.
//
// A list of flaky checks has the same form; there until and reason mean the
// same, and it does not matter whether a check passes.
type Baseline struct {
	File    string // named in what is stale
	Entries []Entry
	head    string // comments before the first entry
}

// Entry is one finding that is known.
type Entry struct {
	Check     string   `yaml:"check"`
	Revisions []string `yaml:"revisions,flow,omitempty"` // none for every one
	Until     string   `yaml:"until,omitempty"`          // a date as 2027-01-31, the last on which the entry holds; "" for no end
	Reason    string   `yaml:"reason,omitempty"`
}

// day is the form of Until.
const day = time.DateOnly

// BaselineError says what is wrong with a baseline file, and where.
type BaselineError struct {
	File  string
	Where string // "[3].until", or "" for the whole
	Err   error
}

func (e *BaselineError) Error() string {
	at := e.File
	if e.Where != "" {
		at += ": " + e.Where
	}
	return at + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *BaselineError) Unwrap() error { return e.Err }

// maxBaseline bounds a file: one with an entry for each check in each revision
// is far smaller.
const maxBaseline = 1 << 20

// ParseBaseline reads a baseline. An empty text is one without entries. The
// error is a *BaselineError: for unknown members, entries without a check, two
// entries for one check and revision, a revision that does not exist, or a
// date that is none. A check that does not exist is no error: Apply tells it
// as stale.
func ParseBaseline(file string, text []byte) (*Baseline, error) {
	b := &Baseline{File: file, head: head(text)}
	fail := func(where string, format string, args ...any) (*Baseline, error) {
		return nil, &BaselineError{File: file, Where: where, Err: fmt.Errorf(format, args...)}
	}
	if len(text) > maxBaseline {
		return fail("", "%d bytes are too many for a baseline", len(text))
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return b, nil
	}
	if err := unmarshal(text, &b.Entries); err != nil {
		return fail("", "%s", strings.TrimSpace(err.Error()))
	}
	seen := map[[2]string]bool{}
	for i := range b.Entries {
		e := &b.Entries[i]
		at := fmt.Sprintf("[%d].", i)
		if e.Check == "" {
			return fail(at+"check", "missing")
		}
		if e.Until != "" {
			if _, err := time.Parse(day, e.Until); err != nil {
				return fail(at+"until", "%q is no date as 2027-01-31", e.Until)
			}
		}
		revs := e.Revisions
		if len(revs) == 0 {
			revs = []string{""}
		}
		for _, rev := range revs {
			if rev != "" && !slices.Contains(check.Revisions(), rev) {
				return fail(at+"revisions", "there is no revision %q", rev)
			}
			if seen[[2]string{e.Check, rev}] {
				return fail(at+"check", "%s has two entries", e.Check)
			}
			seen[[2]string{e.Check, rev}] = true
		}
	}
	return b, nil
}

// unmarshal reads YAML. The library panics on some texts that are none.
func unmarshal(text []byte, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be read as YAML: %v", p)
		}
	}()
	return yaml.UnmarshalWithOptions(text, v, yaml.Strict())
}

// head is the comments and blank lines that a text begins with.
func head(text []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if s := strings.TrimSpace(line); s != "" && !strings.HasPrefix(s, "#") {
			break
		}
		if !strings.ContainsFunc(strings.TrimSpace(line), unicode.IsControl) {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}

// covers reports whether the entry is about a result.
func (e *Entry) covers(c *result.Check) bool {
	return e.Check == c.ID && (len(e.Revisions) == 0 || slices.Contains(e.Revisions, c.Revision))
}

// over reports whether the last day of the entry is past.
func (e *Entry) over(now time.Time) bool { return e.Until != "" && now.Format(day) > e.Until }

// why is what a result says that the entry covers.
func (e *Entry) why(file string) string {
	s := e.Reason
	if s == "" {
		s = "it stands in " + file
	}
	if e.Until != "" {
		s += " (until " + e.Until + ")"
	}
	return s
}

// Apply marks the results of a report that the baseline knows of, and adds
// what is not true any more to its list of stale entries: a check that does
// not exist, a date that is past, a check that passes in each of the judged
// revisions in which it was judged at all. Entries for checks that were not
// judged are neither. Either list may be nil.
//
// A fail, a warn and a blocked check can be known. How many entries are for
// revisions that were not judged becomes a note of the report.
func Apply(r *result.Report, known, flaky *Baseline, now time.Time) {
	for _, list := range []*Baseline{known, flaky} {
		if list == nil {
			continue
		}
		list.aside(r, now)
		for i := range list.Entries {
			e := &list.Entries[i]
			if why := e.stale(r, now, list == flaky); why != "" {
				r.Stale = append(r.Stale, result.Stale{Check: e.Check, File: list.File, Why: why})
			}
			if e.over(now) {
				continue
			}
			for j := range r.Results {
				if c := &r.Results[j]; e.covers(c) && found(c) {
					c.Known = e.why(list.File)
					if list == flaky {
						c.Known = "flaky: " + c.Known
					}
				}
			}
		}
	}
}

// aside notes in a report how many entries that are not stale are for revisions
// that were not judged.
func (b *Baseline) aside(r *result.Report, now time.Time) {
	n := 0
	var revs []string
	for i := range b.Entries {
		e := &b.Entries[i]
		judged := func(rev string) bool { return slices.Contains(r.Revisions, rev) }
		if len(e.Revisions) == 0 || slices.ContainsFunc(e.Revisions, judged) || e.stale(r, now, true) != "" {
			continue
		}
		n++
		for _, rev := range e.Revisions {
			if !slices.Contains(revs, rev) {
				revs = append(revs, rev)
			}
		}
	}
	slices.Sort(revs)
	is, were := " entries of ", ", which were not judged"
	if n == 1 {
		is = " entry of "
	}
	if len(revs) == 1 {
		were = ", which was not judged"
	}
	if n > 0 {
		r.Notes = append(r.Notes, fmt.Sprint(n)+is+b.File+" for "+strings.Join(revs, ", ")+were)
	}
}

// found reports whether a result is one that can be known.
func found(c *result.Check) bool {
	return c.Verdict == result.Fail || c.Verdict == result.Warn || c.Verdict == result.Blocked
}

// stale says why the entry is not true any more, "" while it is. One of a list
// of flaky checks may pass.
func (e *Entry) stale(r *result.Report, now time.Time, flaky bool) string {
	if !slices.ContainsFunc(Checks(), func(k check.Check) bool { return k.ID == e.Check }) {
		return "there is no such check"
	}
	if e.over(now) {
		return "it expired on " + e.Until
	}
	var passed []string
	for i := range r.Results {
		switch c := &r.Results[i]; {
		case !e.covers(c):
		case found(c):
			return ""
		case c.Verdict == result.Pass:
			passed = append(passed, c.Revision)
		}
	}
	if flaky || passed == nil {
		return ""
	}
	return "it passes now in " + strings.Join(passed, ", ")
}

// Update gives the baseline that fits a report of this run, before Apply: what
// counts against the target has an entry, with the reason and the date that it
// had before; entries for what passes now, for checks that do not exist and
// those whose date is past are gone; entries for what was not judged stay.
// flaky checks get no entry. Entries are ordered by check.
func Update(old *Baseline, r *result.Report, flaky *Baseline, now time.Time) *Baseline {
	out := &Baseline{File: old.File, head: old.head}
	for i := range old.Entries {
		if e := &old.Entries[i]; e.stale(r, now, false) == "" {
			out.Entries = append(out.Entries, *e)
		}
	}
	marked := *r
	marked.Results = slices.Clone(r.Results)
	Apply(&marked, out, flaky, now)
	fresh := map[string]*Entry{}
	for i := range marked.Results {
		c := &marked.Results[i]
		blocked := c.Verdict == result.Blocked && c.Binding() && c.Known == ""
		if !marked.Breaks(c) && !blocked {
			continue
		}
		e := fresh[c.ID]
		if e == nil {
			e = &Entry{Check: c.ID}
			fresh[c.ID] = e
			if blocked {
				e.Reason = "It was blocked: " + c.Reason
			}
		}
		if !slices.Contains(e.Revisions, c.Revision) {
			e.Revisions = append(e.Revisions, c.Revision)
		}
	}
	for _, e := range fresh {
		out.Entries = append(out.Entries, *e)
	}
	slices.SortStableFunc(out.Entries, func(a, b Entry) int {
		return strings.Compare(a.Check+" "+strings.Join(a.Revisions, " "), b.Check+" "+strings.Join(b.Revisions, " "))
	})
	return out
}

// defaultHead explains a file that Update makes.
const defaultHead = `# What goldwire check is known to find. An entry that is not true any more ends
# the command with status 4. revisions, until (a date) and reason may be left out.
`

// MarshalText writes the baseline as ParseBaseline reads it, with the comments
// that stood before its first entry.
func (b *Baseline) MarshalText() ([]byte, error) {
	text := b.head
	if text == "" {
		text = defaultHead
	}
	if len(b.Entries) == 0 {
		return []byte(text + "[]\n"), nil
	}
	list, err := yaml.MarshalWithOptions(b.Entries, yaml.IndentSequence(false))
	if err != nil {
		return nil, errors.Join(errors.New("write the baseline"), err)
	}
	return append([]byte(text), list...), nil
}
