// Package conformance judges a Model Context Protocol server over stdio or
// HTTP, or a client: it finds out which revisions a server speaks, drives it,
// and says which rules of each revision it keeps.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// Target is the server to judge.
type Target struct {
	// Command is the program and its arguments.
	Command []string
	Dir     string   // its working directory, "" for the current one
	Env     []string // added to the environment, as "NAME=value"
	// Inherit names what the server gets of the environment of this process; a
	// name that ends in * stands for all that begin so. nil is everything.
	Inherit []string
	// Endpoint is where the server runs already; Command is empty then.
	Endpoint *check.Endpoint
	// Launcher starts the server instead of Command, for servers that live in
	// this process.
	Launcher check.Launcher
}

// Reported is the target as a report names it, without secrets.
func (t *Target) Reported(redact *result.Redactor) result.Target {
	out := result.Target{Side: string(catalogue.Server), Command: redact.Args(t.Command)}
	if t.Endpoint != nil {
		out.URL = redact.Text(t.Endpoint.String())
	}
	return out
}

func (t *Target) driven() check.Target {
	switch {
	case t.Launcher != nil:
		return t.Launcher
	case t.Endpoint != nil:
		return t.Endpoint
	}
	return check.Command{Args: t.Command, Dir: t.Dir, Env: t.Env, Inherit: t.Inherit}
}

// Options of a run; the zero value judges the newest revision of each era that
// the server speaks by every check.
type Options struct {
	// Side is that whose checks are meant; "" is catalogue.Server.
	Side catalogue.Side
	// Revisions to judge: none for the newest of each era that the target
	// speaks, "all" for every one it speaks, or their names.
	Revisions []string
	// Checks are patterns (path.Match) of what to judge; none for all. A
	// pattern selects a check by its id, by the area of one of its
	// requirements ("tools"), or by a requirement ("legacy/tools-*"), the
	// latter two in the revisions in which that requirement holds. A pattern
	// that matches nothing is an error.
	Checks []string
	// Level leaves out the checks of weaker rules: catalogue.Must those whose
	// breach would be a warning, catalogue.Should those that a MAY alone stands
	// behind. "" and catalogue.May leave out none.
	Level result.Level
	// Allow and Deny name tools that may be called though they are not marked
	// read-only, and tools that are never called; "*" is all. A name that the
	// server does not list ends the run before any tool is called.
	Allow, Deny []string
	// Official says that the server carries the fixtures of the official
	// conformance suite: its tools with their names may be called, those that
	// are listed.
	Official bool
	Limits   check.Limits
	// Time is how long the target is driven at most, all revisions together; 0
	// is no limit. What was not seen until then is blocked.
	Time time.Duration
	// Parallel is how many revisions are driven at once, each by processes of
	// its own; 0 is 1.
	Parallel int
	// Redact takes secrets out of what is reported and saved; nil takes out
	// what looks like one.
	Redact *result.Redactor
	// Progress is told what happens; one call at a time.
	Progress func(Progress)
	// Save is handed each recording as it is finished, with a name that is
	// unique in the run; an error ends the run.
	Save func(name string, rec *transcript.Recording) error
}

// Progress is one step of a run.
type Progress struct {
	Revision string        // "" while the target is explored
	Probe    string        // the probe that starts, or ""
	Check    *result.Check // a verdict, or nil
}

// StartError says that the target could not be started, or reached, at all.
type StartError struct {
	Err error
	URL string // where it was to be reached; "" for one that was to be started
}

func (e *StartError) Error() string {
	if e.URL != "" {
		return "the server at " + e.URL + " could not be reached: " + e.Err.Error()
	}
	return "the server could not be started: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// DiedError says that the target ended before it had answered anything.
type DiedError struct {
	How    string // "it exited with status 1"
	Stderr string // the last lines of its free text
}

func (e *DiedError) Error() string {
	s := "the server answered nothing: " + e.How
	if e.Stderr != "" {
		s += "\n" + e.Stderr
	}
	return s
}

// SilentError says that the target ran and answered nothing.
type SilentError struct {
	Waited time.Duration // for its first answer; 0 where Heard says why it was not waited for
	Heard  string        // what it wrote instead of an answer: "it wrote 64 MiB without ending a line"
	Stderr string        // the last lines of its free text
}

func (e *SilentError) Error() string {
	s := "the server runs but stayed silent"
	if e.Waited > 0 {
		s += fmt.Sprintf(" for %s", e.Waited)
	}
	if e.Heard != "" {
		s = "the server answers nothing: " + e.Heard
	}
	if e.Stderr != "" {
		s += "\n" + e.Stderr
	}
	return s
}

// RevisionError says that the target does not speak a revision it was to be
// judged by.
type RevisionError struct {
	Asked  []string // of those that were asked for, the ones that it does not speak
	Speaks []string

	// Where it speaks none.
	Named  []string       // the versions that it named in its answers to initialize, as JSON
	Frames []result.Frame // what it was asked and what it said
	Echo   bool           // it only sent back the lines that it was sent
}

func (e *RevisionError) Error() string {
	if len(e.Speaks) == 0 {
		var b strings.Builder
		if e.Echo {
			return "the server agrees to no revision of the protocol: it only repeats what it is sent"
		}
		b.WriteString("the server answers, but agrees to no revision of the protocol")
		if len(e.Named) > 0 {
			b.WriteString(" that it is offered: it answers with version " + strings.Join(e.Named, ", "))
		}
		for _, f := range e.Frames {
			b.WriteString("\n  " + f.Text)
		}
		return b.String()
	}
	return fmt.Sprintf("the server does not speak %s; it speaks %s", strings.Join(e.Asked, ", "), strings.Join(e.Speaks, ", "))
}

// ErrNoCheck says that a pattern selects no check.
var ErrNoCheck = errors.New("no check matches")

// PatternError is the ErrNoCheck of one pattern of Options.Checks.
type PatternError struct {
	Pattern string
	Names   []string // that would match: ids of checks, areas and requirements, in the order of the checks
}

func (e *PatternError) Error() string { return fmt.Sprintf("%v %q", ErrNoCheck, e.Pattern) }

// Unwrap returns ErrNoCheck.
func (e *PatternError) Unwrap() error { return ErrNoCheck }

// ErrTime says that Options.Time was over before the target had said what it
// speaks.
var ErrTime = errors.New("the time for the run was over before the server had said what it speaks")

// Run drives the target and judges it. The report holds whatever was found
// when the context ends early, together with its error. Other errors are
// *StartError, *DiedError, *SilentError, *RevisionError, *check.ToolError, ErrNoCheck,
// ErrTime and what Options.Save returned. Neither the report nor an error holds
// secrets that Options.Redact knows.
func Run(ctx context.Context, t Target, o Options) (*result.Report, error) {
	driven := t.driven()
	over := driven.Transport()
	if t.Endpoint != nil && t.Endpoint.Over == "" {
		over = catalogue.Any // not known yet
	}
	checks, err := Select(o, over)
	if err != nil {
		return nil, err
	}
	o.Limits = o.Limits.OneRun()
	rep := &result.Report{Target: t.Reported(o.Redact)}
	r := runner{ctx: ctx, drive: ctx, target: driven, o: o, rep: rep}
	if o.Time > 0 {
		var stop context.CancelFunc
		r.drive, stop = context.WithTimeout(ctx, o.Time)
		defer stop()
	}
	found, err := r.explore()
	if err != nil {
		return nil, err
	}
	over = r.target.Transport()
	revs, err := choose(o.Revisions, found.Speaks, slices.Collect(maps.Keys(found.Unheard)))
	if err != nil {
		var none *RevisionError
		if errors.As(err, &none) && len(none.Speaks) == 0 {
			none.Echo = echo(found.Traces)
			none.Named, none.Frames = found.Named(), o.Redact.Frames(found.Said())
		}
		return nil, err
	}
	if err := o.anyIn(checks, revs, over); err != nil {
		return nil, err
	}
	rep.Revisions, rep.Locked = revs, found.Locked
	if found.Deaf > 0 {
		rep.Notes = append(rep.Notes, "Launched for server/discover, the server answered nothing to it, nor to a handshake behind it, in "+found.Deaf.Round(time.Second/10).String()+": it is taken for one that speaks no stateless revision.")
	}
	return rep, r.judge(revs, checks, found)
}

// Select gives the checks that the options leave in one of the revisions that
// they name over a transport, in the order of the lists; over catalogue.Any
// those of every transport. ErrNoCheck when a pattern matches none at all, or
// none of them is left.
func Select(o Options, t catalogue.Transport) ([]check.Check, error) {
	all := checksOf(o.Side)
	for _, pat := range o.Checks {
		if pat == "" {
			return nil, errors.New("an empty pattern matches no check")
		}
		one := Options{Checks: []string{pat}}
		n := 0
		for i := range all {
			for _, rev := range check.Revisions() {
				ok, err := one.Judges(&all[i], rev, catalogue.Any)
				if err != nil {
					return nil, err
				}
				n += btoi(ok)
			}
		}
		if n == 0 {
			return nil, &PatternError{Pattern: pat, Names: names(all)}
		}
	}
	revs := slices.DeleteFunc(check.Revisions(), func(rev string) bool {
		return len(o.Revisions) > 0 && o.Revisions[0] != "all" && !slices.Contains(o.Revisions, rev)
	})
	if len(revs) == 0 { // whether there are such revisions is told elsewhere
		return all, nil
	}
	return all, o.anyIn(all, revs, t)
}

// names are what a pattern can match of checks, each once.
func names(checks []check.Check) []string {
	var out []string
	seen := map[string]bool{}
	for i := range checks {
		list := []string{checks[i].ID}
		for _, rev := range check.Revisions() {
			for _, r := range checks[i].Bound(rev, catalogue.Any) {
				list = append(list, r.ID, r.Area())
			}
		}
		for _, name := range list {
			if !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// Judges reports whether the options leave a check in a revision over a
// transport. The error says which pattern is malformed.
func (o *Options) Judges(k *check.Check, rev string, t catalogue.Transport) (bool, error) {
	bound := k.Bound(rev, t)
	if len(bound) == 0 {
		return false, nil
	}
	switch level := k.Level(rev, t); {
	case o.Level == catalogue.Must && level != catalogue.Must, o.Level == catalogue.Should && level == catalogue.May:
		return false, nil
	}
	for _, pat := range o.Checks {
		names := []string{k.ID}
		for _, r := range bound {
			names = append(names, r.ID, r.Area())
		}
		for _, name := range names {
			if ok, err := path.Match(pat, name); err != nil {
				return false, fmt.Errorf("pattern %q: %w", pat, err)
			} else if ok {
				return true, nil
			}
		}
	}
	return len(o.Checks) == 0, nil
}

// anyIn gives ErrNoCheck when the options leave none of the checks in any of
// the revisions over a transport.
func (o *Options) anyIn(checks []check.Check, revs []string, t catalogue.Transport) error {
	for i := range checks {
		for _, rev := range revs {
			if ok, err := o.Judges(&checks[i], rev, t); ok || err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%w in %s: %s", ErrNoCheck, strings.Join(revs, ", "), strings.Join(o.Checks, ", "))
}

// fixtures are the tools of the official suite: all begin with test_, but for a
// few that its tasks and schemas need.
func (o *Options) fixtures() []string {
	if !o.Official {
		return nil
	}
	return []string{"test_*", "json_schema_2020_12_tool", "greet", "slow_compute", "failing_job"}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// choose selects from what the target speaks, and from those revisions of which
// that is not known: of an era all that are newer than the newest it speaks.
func choose(asked, speaks, unheard []string) ([]string, error) {
	may := slices.DeleteFunc(check.Revisions(), func(rev string) bool { return !slices.Contains(speaks, rev) && !slices.Contains(unheard, rev) })
	if len(may) == 0 {
		return nil, &RevisionError{Asked: asked}
	}
	switch {
	case len(asked) == 0:
		var out []string
		found := map[bool]bool{} // a spoken one, by era
		for _, rev := range slices.Backward(may) {
			era := check.Modern(rev)
			if !found[era] {
				out = append(out, rev)
			}
			found[era] = found[era] || slices.Contains(speaks, rev)
		}
		slices.Reverse(out)
		return out, nil
	case len(asked) == 1 && asked[0] == "all":
		return may, nil
	}
	var out []string
	for _, rev := range check.Revisions() {
		if slices.Contains(asked, rev) {
			out = append(out, rev)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(asked), func(rev string) bool { return slices.Contains(may, rev) })
	if len(missing) > 0 {
		return nil, &RevisionError{Asked: missing, Speaks: speaks}
	}
	return out, nil
}

type runner struct {
	ctx    context.Context // of the run
	drive  context.Context // of driving the target: it ends with the time for that
	target check.Target
	o      Options
	rep    *result.Report
	saved  int

	telling sync.Mutex
}

func (r *runner) tell(p Progress) {
	if r.o.Progress != nil {
		r.telling.Lock()
		defer r.telling.Unlock()
		r.o.Progress(p)
	}
}

func (r *runner) save(traces ...*check.Trace) error {
	for _, t := range traces {
		r.saved++
		if r.o.Save == nil {
			continue
		}
		if err := r.o.Save(fmt.Sprintf("%02d-%s-%s", r.saved, t.Revision, t.Profile), r.o.Redact.Recording(t.Recording)); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) explore() (*check.Exploration, error) {
	r.tell(Progress{})
	found, err := check.Explore(r.drive, r.target, r.o.Limits)
	if e, ok := r.target.(*check.Endpoint); ok && err == nil && e.Over == "" && !found.Answered && !found.Silent {
		// It may be one of those that know the first transport over HTTP only.
		older := *e
		older.Over = catalogue.SSE
		if was, err := check.Explore(r.drive, &older, r.o.Limits); err == nil && (was.Answered || was.Traces[0].Elsewhere() != "") {
			found, r.target = was, &older
		}
	}
	if err != nil {
		switch {
		case r.ctx.Err() != nil:
			return nil, r.ctx.Err()
		case r.drive.Err() != nil:
			return nil, ErrTime
		}
		start := &StartError{Err: errors.New(r.o.Redact.Text(err.Error()))}
		if e, ok := r.target.(*check.Endpoint); ok {
			start.URL = r.o.Redact.Text(e.String())
		} else {
			start.Err = err
		}
		return nil, start
	}
	if err := r.save(found.Traces...); err != nil {
		return nil, err
	}
	if !found.Answered {
		stderr := r.o.Redact.Text(found.Traces[0].Stderr(20))
		if how, died := found.Traces[0].Died(); died {
			return nil, &DiedError{How: how, Stderr: stderr}
		}
		silent := &SilentError{Heard: r.o.Redact.Text(found.Traces[0].Heard()), Stderr: stderr}
		if silent.Heard == "" {
			silent.Waited = r.o.Limits.Start
		}
		return nil, silent
	}
	return found, nil
}

// echo reports whether all that a target wrote were lines that it had been sent.
func echo(traces []*check.Trace) bool {
	wrote := false
	for _, t := range traces {
		sent := map[string]bool{}
		for _, e := range t.Recording.Events {
			switch {
			case !e.Message():
			case e.Dir == transcript.ToServer:
				sent[string(e.Data)] = true
			case !sent[string(e.Data)]:
				return false
			default:
				wrote = true
			}
		}
	}
	return wrote
}

// judge drives the target in each revision, as many at once as the options
// allow, and gives the verdicts in their order.
func (r *runner) judge(revs []string, checks []check.Check, found *check.Exploration) error {
	type driven struct {
		traces []*check.Trace
		err    error
		took   time.Duration
	}
	done := make([]chan driven, len(revs))
	var driving sync.WaitGroup
	defer driving.Wait()
	ctx, stop := context.WithCancel(r.drive)
	defer stop()
	started := 0
	for i, rev := range revs {
		for ; started < len(revs) && started < i+max(1, r.o.Parallel); started++ {
			to, rev := make(chan driven, 1), revs[started]
			done[started] = to
			driving.Go(func() {
				began := time.Now()
				traces, err := check.DriveFor(ctx, r.target, check.DriveOptions{
					Revision: rev, Probes: check.Probes(), Limits: r.o.Limits, Allow: r.o.Allow, Deny: r.o.Deny, Known: r.o.fixtures(), Started: found.Started, Locked: found.Locked, Unheard: found.Unheard[rev],
					Progress: func(what string) { r.tell(Progress{Revision: rev, Probe: what}) },
				}, r.selected(checks, rev), found.Traces)
				to <- driven{traces, err, time.Since(began)}
			})
		}
		d := <-done[i]
		r.rep.Spent(result.Setting{Revision: rev, Transport: string(r.target.Transport())}, d.took)
		if err := errors.Join(d.err, r.save(d.traces...)); err != nil {
			return err
		}
		if err := r.verdicts(rev, r.target.Transport(), checks, d.traces, found.Traces); err != nil {
			return err
		}
	}
	return nil
}

// selected are the checks that the options leave in a revision.
func (r *runner) selected(checks []check.Check, rev string) []check.Check {
	var out []check.Check
	for i := range checks {
		if ok, err := r.o.Judges(&checks[i], rev, r.target.Transport()); ok && err == nil { // a pattern that is none was refused before
			out = append(out, checks[i])
		}
	}
	return out
}

// verdicts judges the sessions of a revision over a transport, until the context ends.
func (r *runner) verdicts(rev string, over catalogue.Transport, checks []check.Check, traces, offers []*check.Trace) error {
	facts := check.FactsOf(rev, traces)
	if r.rep.Target.Name == "" {
		r.rep.Target.Name, r.rep.Target.Version = r.o.Redact.Text(check.Name(facts.Info, "name")), r.o.Redact.Text(check.Name(facts.Info, "version"))
	}
	selected := map[string]*check.Check{}
	for i := range checks {
		if ok, err := r.o.Judges(&checks[i], rev, over); err != nil {
			return err
		} else if ok {
			selected[checks[i].ID] = &checks[i]
		}
	}
	for i := range checks {
		k := &checks[i]
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if selected[k.ID] == nil {
			continue
		}
		one := *k
		one.Beside = func(id string) *check.Check { return selected[id] }
		v := one.Verdict(rev, over, facts, traces, offers)
		r.o.Redact.Check(&v)
		r.rep.Results = append(r.rep.Results, v)
		r.tell(Progress{Revision: rev, Check: &v})
	}
	return r.ctx.Err()
}

// Judge gives the verdicts on the recordings of an earlier run, as Run saved
// them: all of them, in any order. Nothing is started. Of the options only
// Revisions, Checks, Level and Progress count, and no revisions means all that
// were recorded. The errors are *RevisionError and ErrNoCheck.
func Judge(recs []*transcript.Recording, o Options) (*result.Report, error) {
	checks, err := Select(o, catalogue.Any)
	if err != nil {
		return nil, err
	}
	type setting struct {
		rev  string
		over catalogue.Transport
	}
	offers := map[catalogue.Transport][]*check.Trace{}
	sessions := map[setting][]*check.Trace{}
	for _, rec := range recs {
		t := check.NewTrace(rec)
		if t.Exploring() {
			offers[t.Transport] = append(offers[t.Transport], t)
		} else {
			sessions[setting{t.Revision, t.Transport}] = append(sessions[setting{t.Revision, t.Transport}], t)
		}
	}
	asked := o.Revisions
	if len(asked) == 0 {
		asked = []string{"all"}
	}
	transports := []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE}
	revs, err := choose(asked, slices.DeleteFunc(check.Revisions(), func(rev string) bool {
		return !slices.ContainsFunc(transports, func(t catalogue.Transport) bool { return sessions[setting{rev, t}] != nil })
	}), nil)
	if err != nil {
		return nil, err
	}
	r := runner{ctx: context.Background(), o: o, rep: &result.Report{Target: result.Target{Side: "server"}, Revisions: revs}}
	for _, rev := range revs {
		for _, t := range transports {
			if traces := sessions[setting{rev, t}]; traces != nil {
				if err := r.verdicts(rev, t, checks, traces, offers[t]); err != nil {
					return r.rep, err
				}
			}
		}
	}
	return r.rep, nil
}
