// Package result is the one model of what a conformance run found: every
// report format prints it, the driver and the checks fill it.
package result

import (
	"slices"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// Verdict on one check.
type Verdict string

// The verdicts. A broken MUST is a Fail, a broken SHOULD (and whatever rests
// on implied or lower-case wording) a Warn.
const (
	Pass          Verdict = "pass"
	Fail          Verdict = "fail"
	Warn          Verdict = "warn"
	NotApplicable Verdict = "not-applicable" // the target does not offer what the check is about
	NotObserved   Verdict = "not-observed"   // nothing seen that could keep or break the rule
	Blocked       Verdict = "blocked"        // something that failed before made it pointless
	Error         Verdict = "error"          // the checker itself could not do its work
)

// Verdicts lists all, in the order of reports.
var Verdicts = []Verdict{Pass, Fail, Warn, NotApplicable, NotObserved, Blocked, Error}

// Level of a requirement.
type Level = catalogue.Level

// Check is the verdict on one check in one revision over one transport.
type Check struct {
	ID           string   `json:"check"`
	Revision     string   `json:"revision"`
	Transport    string   `json:"transport"`
	Level        Level    `json:"level"`
	Requirements []string `json:"requirements"` // ids in the catalogue, the deciding one first
	Verdict      Verdict  `json:"verdict"`
	Mild         string   `json:"mild,omitempty"`        // why breaking it is a warning only, where the level says MUST
	Sentence     string   `json:"requirement,omitempty"` // of the first requirement
	URL          string   `json:"spec,omitempty"`        // its place in the specification
	Layer        string   `json:"layer,omitempty"`       // who is to look into it: carrier, jsonrpc, protocol or feature
	Expected     string   `json:"expected,omitempty"`
	Observed     string   `json:"observed,omitempty"`
	Reason       string   `json:"reason,omitempty"` // why not applicable, not observed, blocked or in error
	Known        string   `json:"known,omitempty"`  // why a fail, warn or blocked is expected and does not count, else ""
	Frames       []Frame  `json:"frames,omitempty"` // traffic around the finding

	Count int        `json:"count,omitempty"` // how often the rule was seen broken, where more than once
	More  []Instance `json:"more,omitempty"`  // the other times, of which nine are kept at most
}

// Instance is one more time that a rule was seen broken.
type Instance struct {
	Expected string  `json:"expected,omitempty"`
	Observed string  `json:"observed,omitempty"`
	Frames   []Frame `json:"frames,omitempty"` // traffic around it
}

// Frame is one line of a transcript that a finding shows.
type Frame struct {
	Text string `json:"text"`           // as in a transcript: mark, time, data
	Here bool   `json:"here,omitempty"` // the line the finding is about
}

// Target is what was judged.
type Target struct {
	Side    string   `json:"side"`              // server or client
	Command []string `json:"command,omitempty"` // program and arguments, never the environment
	URL     string   `json:"url,omitempty"`
	Name    string   `json:"name,omitempty"` // as the peer calls itself
	Version string   `json:"version,omitempty"`
}

// Summary counts verdicts.
type Summary map[Verdict]int

// Report is the outcome of a run.
type Report struct {
	Target    Target
	Revisions []string // judged, oldest first
	// Locked says that the target lets nobody in: which revisions it speaks is not
	// known, and what is judged by Revisions is how it keeps clients out.
	Locked  bool
	Results []Check
	Strict  bool     // a warning counts as a failure does
	Stale   []Stale  // entries of the baseline that are not true any more
	Notes   []string // what else there is to say of the run, a line each
	Error   *Failure // of a run that came to no verdicts, else nil

	// How long the run took, and the driving of the target in each setting, where
	// that was measured. Runs side by side overlap.
	Took  time.Duration
	Times map[Setting]time.Duration
}

// Setting is a revision over a transport, as a Check names them.
type Setting struct{ Revision, Transport string }

// Spent adds to the time of a setting.
func (r *Report) Spent(s Setting, d time.Duration) {
	if r.Times == nil {
		r.Times = map[Setting]time.Duration{}
	}
	r.Times[s] += d
}

// Judged are the revisions in which something was judged: those that are not
// blocked as a whole, oldest first.
func (r *Report) Judged() []string {
	return slices.DeleteFunc(slices.Clone(r.Revisions), func(rev string) bool {
		of := func(c Check) bool { return c.Revision == rev }
		return slices.ContainsFunc(r.Results, of) && !slices.ContainsFunc(r.Results, func(c Check) bool { return of(c) && c.Verdict != Blocked })
	})
}

// Stale is an entry of a baseline, or of a list of flaky checks, that is not
// true any more.
type Stale struct {
	Check string `json:"check"`
	File  string `json:"file,omitempty"`
	Why   string `json:"why"` // "it passes now in 2025-11-25", "there is no such check", "it expired on 2026-11-01"
}

// Failure says why a run came to no verdicts.
type Failure struct {
	Kind     FailureKind `json:"kind"`
	Message  string      `json:"message"`
	ExitCode int         `json:"exitCode"`         // of the command
	Stderr   string      `json:"stderr,omitempty"` // the last lines that the target wrote to its stderr
}

// FailureKind is what kept a run from its verdicts.
type FailureKind string

// The kinds.
const (
	FailedStart       FailureKind = "start"       // the target could not be started
	FailedDied        FailureKind = "died"        // it ended before it had answered anything
	FailedSilent      FailureKind = "silent"      // it ran and answered nothing
	FailedRevision    FailureKind = "revision"    // it speaks no revision that it was to be judged by
	FailedInterrupted FailureKind = "interrupted" // the run was ended from outside
	FailedInternal    FailureKind = "internal"    // the checker could not do its work
)

// Binding reports whether breaking the check would be a failure.
func (c *Check) Binding() bool {
	return c.Mild == "" && (c.Level == catalogue.Must || c.Level == catalogue.MustNot)
}

// Unjudged counts the checks that are blocked, and not known to be, though
// breaking them would be a failure: as long as there are any, nobody can say
// that the target conforms.
func (r *Report) Unjudged() int {
	n := 0
	for i := range r.Results {
		if c := &r.Results[i]; c.Verdict == Blocked && c.Binding() && c.Known == "" {
			n++
		}
	}
	return n
}

// Breaks reports whether a result counts against the target: a fail, or a warn
// where the run is strict, that is not known.
func (r *Report) Breaks(c *Check) bool {
	return c.Known == "" && (c.Verdict == Fail || c.Verdict == Warn && r.Strict)
}

// Broken counts the results that count against the target.
func (r *Report) Broken() int {
	n := 0
	for i := range r.Results {
		if r.Breaks(&r.Results[i]) {
			n++
		}
	}
	return n
}

// Known counts the results that would count if they were not expected.
func (r *Report) Known() int {
	n := 0
	for i := range r.Results {
		if r.Results[i].Known != "" {
			n++
		}
	}
	return n
}

// Summary counts the verdicts; every verdict has an entry.
func (r *Report) Summary() Summary {
	s := Summary{}
	for _, v := range Verdicts {
		s[v] = 0
	}
	for i := range r.Results {
		s[r.Results[i].Verdict]++
	}
	return s
}

// Describe fills sentence, URL and, where empty, the level of c from its
// first requirement that the catalogue knows.
func (c *Check) Describe() {
	for _, id := range c.Requirements {
		if q, ok := catalogue.Lookup(id); ok {
			c.Sentence, c.URL = q.Sentence, q.URL(c.Revision)
			if c.Level == "" {
				c.Level = q.Level
			}
			return
		}
	}
}

// Around returns the events of a recording around index i as frames, i
// itself marked: up to before and after other events on each side, and those
// of also wherever they are. What the
// target wrote to stderr is left out, as it would crowd out the frames; but of
// a target that ended there its last lines are shown.
func Around(rec *transcript.Recording, i, before, after int, also ...int) []Frame {
	if rec == nil || i < 0 || i >= len(rec.Events) {
		return nil
	}
	stderr := func(j int) bool { return rec.Events[j].Kind == transcript.KindStderr }
	show := append([]int{i}, also...)
	for j := i - 1; j >= 0 && before > 0; j-- {
		if !stderr(j) {
			show = append(show, j)
			before--
		}
	}
	var said []int // lines of stderr after i
	for j := i + 1; j < len(rec.Events) && after > 0; j++ {
		if stderr(j) {
			said = append(said, j)
			continue
		}
		show = append(show, j)
		after--
		if k := rec.Events[j].Kind; k == transcript.KindExit || k == transcript.KindSignal {
			show = append(show, said[max(0, len(said)-lastWords):]...)
			break
		}
	}
	slices.Sort(show)
	show = slices.Compact(show)
	fs := make([]Frame, 0, len(show))
	for _, j := range show {
		e := rec.Events[j]
		e.At = e.At.Truncate(time.Millisecond) // readers compare, they do not measure
		fs = append(fs, Frame{Text: e.Line(), Here: j == i})
	}
	return fs
}

// lastWords is how many lines of stderr are shown of a target that ended.
const lastWords = 3
