package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Options of a run; the zero value judges the newest revision of each era that
// the client speaks, over all transports that it can be led to.
type Options struct {
	// Revisions to judge: none for the newest of each era that the client
	// speaks, "all" for every one it speaks, or their names.
	Revisions []string
	// Transports to judge over; none for all that the target can be led to.
	Transports []catalogue.Transport
	// Selects reports whether a check is wanted; nil selects all.
	Selects func(k *check.Check, rev string, t catalogue.Transport) bool
	Limits  Limits
	// Parallel is how many scripts are played at once; 0 is 1.
	Parallel int
	// Time is how long all plays may take; 0 is no limit.
	Time time.Duration
	// Redact takes secrets out of what is reported and saved; nil takes out
	// what looks like one.
	Redact *result.Redactor
	// Progress is told what happens; one call at a time.
	Progress func(Progress)
	// Save is handed each recording as it is finished, with a name that is
	// unique in the run, one call at a time; an error ends the run.
	Save func(name string, rec *transcript.Recording) error

	// Stop ends the plays when it is closed; what was seen until then is judged.
	// Nil is never closed.
	Stop <-chan struct{}

	scripts []Script // of tests, in place of Scripts
}

// Progress is one step of a run.
type Progress struct {
	Revision  string
	Transport catalogue.Transport
	Script    string        // that begins, or ""
	Check     *result.Check // a verdict, or nil
	Waiting   *Waiting      // what somebody who starts the client has to know, or nil
}

// Waiting is what somebody has to know who starts the client by hand, with
// Target.Listen: where to lead it before the first script, and then at the
// begin of each and when it has seen the client come to rest.
type Waiting struct {
	URL string // where the client is led to
	Old string // the same for one of HTTP+SSE; "" where it is known what the client speaks

	Script, About string // "" before the first
	Revision      string
	Transport     catalogue.Transport
	Number, Of    int  // the place of the script among all that are played, from 1
	Quiet         bool // nothing more comes: the client can be started again, or used further
}

// StartError says that the client could not be started.
type StartError struct{ Err error }

func (e *StartError) Error() string { return "the client could not be started: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// SilentError says that the client sent nothing in any revision.
type SilentError struct {
	How    string // how it ended, "" where it did not end by itself
	Stderr string // the last lines of its free text
}

func (e *SilentError) Error() string {
	s := "the client sent nothing"
	if e.How != "" {
		s += ": " + e.How
	}
	if e.Stderr != "" {
		s += "\n" + e.Stderr
	}
	return s
}

// RevisionError says that the client does not speak a revision it was to be
// judged by.
type RevisionError struct {
	Asked  []string
	Speaks []string

	// Where it speaks none.
	Offers []string       // the revisions that it names in what it sends
	Frames []result.Frame // what it said
}

func (e *RevisionError) Error() string {
	if len(e.Speaks) > 0 {
		return fmt.Sprintf("the client does not speak %s; it speaks %s", strings.Join(e.Asked, ", "), strings.Join(e.Speaks, ", "))
	}
	var b strings.Builder
	if len(e.Offers) > 0 && !slices.ContainsFunc(e.Asked, func(rev string) bool { return rev == "all" || slices.Contains(e.Offers, rev) }) && len(e.Asked) > 0 {
		return fmt.Sprintf("the client does not speak %s; it offers %s", strings.Join(e.Asked, ", "), strings.Join(e.Offers, ", "))
	}
	b.WriteString("the client sends something, but comes to terms with no server of ours")
	for _, f := range e.Frames {
		b.WriteString("\n  " + f.Text)
	}
	return b.String()
}

// maxFloods is how many plays may end because the client sent more than is
// recorded before the others are given up, and maxSilent the same for clients
// that sent nothing though they did with the good server.
const (
	maxFloods = 3
	maxSilent = 3
)

// Run plays the scripts to the client and judges it. The report holds whatever
// was found when the context ends early, together with its error. Other errors
// are *StartError, *SilentError, *RevisionError, that Target.Listen is no address
// to listen at, and what Options.Save returned.
func Run(ctx context.Context, t Target, o Options) (*result.Report, error) {
	r := &runner{ctx: ctx, drive: ctx, t: t, o: o, rep: &result.Report{Target: result.Target{Side: "client", Command: o.Redact.Args(t.Command)}}}
	if r.scripts = o.scripts; r.scripts == nil {
		r.scripts = Scripts()
	}
	drive, stop := context.WithCancel(ctx)
	defer stop()
	if o.Time > 0 {
		drive, stop = context.WithTimeout(drive, o.Time)
		defer stop()
	}
	r.drive = drive
	var waits sync.WaitGroup
	waits.Go(func() {
		select {
		case <-o.Stop:
			stop()
		case <-drive.Done():
		}
	})
	defer func() { stop(); waits.Wait() }()
	r.good, r.deaf = map[setting]*check.Trace{}, map[setting]bool{}
	explore := r.explore
	if t.Listen != "" {
		var err error
		if r.desk, err = openDesk(t.Listen, o.Limits.withDefaults().Line); err != nil {
			return nil, err
		}
		defer r.desk.close()
		explore = r.exploreByHand
	}
	if err := explore(); err != nil {
		return nil, err
	}
	return r.rep, r.judge()
}

// setting is one revision over one transport.
type setting struct {
	rev string
	t   catalogue.Transport
}

type runner struct {
	ctx   context.Context
	drive context.Context // ends with the time for driving
	t     Target
	o     Options
	rep   *result.Report

	scripts []Script // the good one first

	desk          *desk // of a client that somebody else starts, else nil
	place, places int   // of the script that is played to it

	good   map[setting]*check.Trace
	deaf   map[setting]bool // the client went on there as it does whatever version it is told
	chosen []setting
	left   string // why scripts were left out, "" where all were played

	mu            sync.Mutex
	saved         int
	floods, mutes int
	told, saving  sync.Mutex
}

func (r *runner) tell(p Progress) {
	if r.o.Progress != nil {
		r.told.Lock()
		defer r.told.Unlock()
		r.o.Progress(p)
	}
}

// transports are those over which a revision can be played to the target.
func (r *runner) transports(rev string) []catalogue.Transport {
	return slices.DeleteFunc(r.t.transports(rev), func(t catalogue.Transport) bool {
		return len(r.o.Transports) > 0 && !slices.Contains(r.o.Transports, t)
	})
}

// explore plays the good server in the revisions that may be judged, and
// chooses those that the client speaks.
func (r *runner) explore() error {
	var first *check.Trace
	try := func(rev string) (spoken bool, err error) {
		for _, t := range r.transports(rev) {
			if err := r.drive.Err(); err != nil {
				return false, err
			}
			trace, err := r.play(&r.scripts[0], setting{rev, t})
			if err != nil {
				return false, err
			}
			if first == nil || !Heard(first) {
				first = trace
			}
			r.good[setting{rev, t}] = trace
			speaks, err := r.speaks(setting{rev, t}, trace)
			if err != nil {
				return false, err
			}
			spoken = spoken || speaks
		}
		return spoken, nil
	}
	asked := r.o.Revisions
	revs := check.Revisions()
	newest := len(asked) == 0
	if !newest && asked[0] != "all" {
		revs = slices.DeleteFunc(revs, func(rev string) bool { return !slices.Contains(asked, rev) })
	}
	era := map[bool]bool{} // eras of which a revision was found
	for _, rev := range slices.Backward(revs) {
		if newest && era[check.Modern(rev)] {
			continue
		}
		spoken, err := try(rev)
		if err != nil {
			return err
		}
		era[check.Modern(rev)] = era[check.Modern(rev)] || spoken
	}
	if first == nil {
		return &RevisionError{Asked: asked, Speaks: nil}
	}
	var speaks []string
	for _, rev := range revs {
		for _, t := range r.transports(rev) {
			s := setting{rev, t}
			if g := r.good[s]; g != nil && Speaks(g) && !r.deaf[s] {
				r.chosen = append(r.chosen, s)
				if !slices.Contains(speaks, rev) {
					speaks = append(speaks, rev)
				}
			}
		}
	}
	if len(speaks) == 0 {
		if !r.heard() {
			how, _ := first.Died()
			return &SilentError{How: how, Stderr: r.o.Redact.Text(first.Stderr(20))}
		}
		return &RevisionError{Asked: asked, Offers: r.offers(), Frames: r.o.Redact.Frames(said(first))}
	}
	if !newest && asked[0] != "all" {
		missing := slices.DeleteFunc(slices.Clone(asked), func(rev string) bool { return slices.Contains(speaks, rev) })
		if len(missing) > 0 {
			return &RevisionError{Asked: missing, Speaks: speaks}
		}
	}
	r.rep.Revisions = speaks
	return nil
}

// speaks reports whether the client speaks the revision of a good play. That it
// goes on says so of one that offers an older revision only where it leaves a
// server of a version that nobody speaks: else it reads no version, and speaks
// what it offers.
func (r *runner) speaks(s setting, good *check.Trace) (bool, error) {
	if !Speaks(good) {
		return false, nil
	}
	if check.Modern(s.rev) || !slices.ContainsFunc(offers(good), func(v string) bool { return check.AtLeast(s.rev, v) && !check.AtLeast(v, s.rev) }) {
		return true, nil
	}
	i := slices.IndexFunc(r.scripts, func(p Script) bool { return p.Name == scriptUnknownVersion })
	if i < 0 {
		return true, nil
	}
	t, err := r.play(&r.scripts[i], s)
	if err != nil {
		return false, err
	}
	r.deaf[s] = agreesTo(t, unknownVersion)
	return !r.deaf[s], nil
}

// offers are the known revisions that the client names in a play: in initialize
// what it offers, in the metadata of a stateless revision what it speaks.
func offers(t *check.Trace) []string {
	var out []string
	for _, f := range t.Frames() {
		if f.FromServer {
			continue
		}
		v, _ := f.Param("_meta").Get(versionKey).Str()
		if f.Method == initialize {
			v, _ = f.Param("protocolVersion").Str()
		}
		if slices.Contains(check.Revisions(), v) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// offers are those of all good plays, oldest first.
func (r *runner) offers() []string {
	var out []string
	for _, g := range r.good {
		out = append(out, offers(g)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *runner) heard() bool {
	for _, g := range r.good {
		if Heard(g) {
			return true
		}
	}
	return false
}

// said is the start of what was said in a play.
func said(t *check.Trace) []result.Frame {
	const most = 6
	var out []result.Frame
	for _, f := range t.Frames() {
		if len(out) == most {
			break
		}
		out = append(out, result.Around(t.Recording, f.Index, 0, 0)...)
	}
	return out
}

// Heard reports whether the client said anything in a play.
func Heard(t *check.Trace) bool {
	for i := range t.Recording.Events {
		if t.Recording.Events[i].Dir == transcript.ToServer {
			return true
		}
	}
	return false
}

// Speaks reports whether the client came to terms with the server of a play: it
// went on after the handshake, be it without saying that it was ready, or, in a
// stateless revision, named it in a request.
func Speaks(t *check.Trace) bool {
	return agreesTo(t, or(t.Recording.Get("speaks"), t.Revision))
}

// agreesTo is Speaks of a server that speaks a given version.
func agreesTo(t *check.Trace, rev string) bool {
	agreed := false
	for _, f := range t.Frames() {
		switch {
		case f.FromServer:
			if v, _ := f.Result.Get("protocolVersion").Str(); f.OK() && v == rev {
				agreed = true
			}
		case check.Modern(rev):
			if v, _ := f.Param("_meta").Get(versionKey).Str(); v == rev {
				return true
			}
		case f.Method == "notifications/initialized":
			return true
		case agreed && f.Kind == check.KindRequest && f.Method != "ping" && f.Method != "initialize" && f.Param("_meta").Get(versionKey) == nil:
			return true
		}
	}
	return false
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// judge plays all scripts in what was chosen, as many at once as the options
// allow, and gives the verdicts in order.
func (r *runner) judge() error {
	type job struct {
		s     setting
		n     int // among the plays of the setting
		plays *Script
	}
	var jobs []job
	traces := map[setting][]*check.Trace{}
	for _, s := range r.chosen {
		traces[s] = append(traces[s], r.good[s])
		for _, script := range r.toPlay(s, r.good[s]) {
			jobs = append(jobs, job{s, len(traces[s]), script})
			traces[s] = append(traces[s], nil)
		}
	}
	r.places = 1 + len(jobs)
	ctx, stop := context.WithCancel(r.drive)
	defer stop()
	r.drive = ctx
	todo := make(chan job)
	var workers sync.WaitGroup
	var failed error
	n := max(1, r.o.Parallel)
	if r.desk != nil {
		n = 1
	}
	for range n {
		workers.Go(func() {
			for j := range todo {
				if r.desk != nil {
					r.place++
				}
				t, err := r.play(j.plays, j.s)
				r.mu.Lock()
				traces[j.s][j.n] = t
				if err != nil && failed == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
					failed = err
					stop()
				}
				r.mu.Unlock()
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil || r.givenUp() {
			break
		}
		select {
		case todo <- j:
		case <-ctx.Done():
		}
	}
	close(todo)
	workers.Wait()
	if failed != nil {
		return failed
	}
	if r.givenUp() {
		r.left = "the client sent more than is recorded, or nothing any more, in several scripts, and the others were not played"
	} else if r.stopped() {
		r.left = "the run was ended before all scripts were played"
	} else if ctx.Err() != nil {
		r.left = "the run was cancelled, or its time was over"
	}
	var last error
	for _, s := range r.chosen {
		if note := several(s, slices.DeleteFunc(slices.Clone(traces[s]), func(t *check.Trace) bool { return t == nil })); note != "" {
			r.rep.Notes = append(r.rep.Notes, r.o.Redact.Text(note))
		}
		if last = r.verdicts(s, slices.DeleteFunc(traces[s], func(t *check.Trace) bool { return t == nil })); last != nil {
			break
		}
	}
	return errors.Join(last, r.ctx.Err())
}

// stopped reports whether Options.Stop ended the plays.
func (r *runner) stopped() bool {
	select {
	case <-r.o.Stop:
		return true
	default: // also where it is nil
		return false
	}
}

// toPlay are the scripts beside the good one that are played in a setting, in
// which the good one was seen so.
func (r *runner) toPlay(s setting, good *check.Trace) []*Script {
	wants := r.wants(s, good)
	var out []*Script
	for i := range r.scripts[1:] {
		if script := &r.scripts[1+i]; script.plays(s.rev, s.t) && wants.has(script.Name) {
			out = append(out, script)
		}
	}
	return out
}

// wants are the scripts that the selected checks look at.
func (r *runner) wants(s setting, good *check.Trace) *wanted {
	w := &wanted{}
	if r.o.Selects == nil || r.o.scripts != nil {
		w.all = true
		return w
	}
	checks := All()
	for i := range checks {
		if k := &checks[i]; !w.all && k.Applies(s.rev, s.t) && r.o.Selects(k, s.rev, s.t) {
			w.addScriptsOf(k, s.rev, s.t, good)
		}
	}
	return w
}

func (r *runner) givenUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.floods >= maxFloods || r.mutes >= maxSilent
}

// verdicts judges the plays of one setting.
func (r *runner) verdicts(s setting, traces []*check.Trace) error {
	facts := FactsOf(s.rev, traces)
	if r.rep.Target.Name == "" {
		r.rep.Target.Name, r.rep.Target.Version = r.o.Redact.Text(check.Name(facts.Info, "name")), r.o.Redact.Text(check.Name(facts.Info, "version"))
	}
	var offers []*check.Trace
	for _, rev := range check.Revisions() {
		if g := r.good[setting{rev, s.t}]; g != nil {
			offers = append(offers, g)
		}
	}
	checks := All()
	for i := range checks {
		k := &checks[i]
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if !k.Applies(s.rev, s.t) || r.o.Selects != nil && !r.o.Selects(k, s.rev, s.t) {
			continue
		}
		v := k.Verdict(s.rev, s.t, facts, traces, offers)
		if v.Verdict == result.NotObserved && r.left != "" {
			v.Verdict, v.Reason = result.Blocked, r.left
		}
		r.o.Redact.Check(&v)
		r.rep.Results = append(r.rep.Results, v)
		r.tell(Progress{Revision: s.rev, Transport: s.t, Check: &v})
	}
	return nil
}

// FactsOf is what a client said of itself in the plays of a revision.
func FactsOf(rev string, traces []*check.Trace) *check.Facts {
	f := &check.Facts{Revision: rev, Listed: map[string]bool{}, Cursors: map[string]string{}}
	for _, t := range traces {
		for _, m := range t.Frames() {
			if m.FromServer || m.Kind != check.KindRequest {
				continue
			}
			var caps, info wire.Raw
			meta := m.Param("_meta")
			switch {
			case m.Method == "initialize" && !check.Modern(rev):
				caps, info = m.Param("capabilities"), m.Param("clientInfo")
			case check.Modern(rev):
				caps, info = meta.Get(capabilitiesKey), meta.Get("io.modelcontextprotocol/clientInfo")
			}
			if caps.Kind() == wire.KindObject && f.Capabilities == nil {
				f.Capabilities = caps
			}
			if info != nil && f.Info == nil {
				f.Info = info
			}
		}
	}
	return f
}

// Judge gives the verdicts on the plays of an earlier run, as Run saved them:
// all of one revision and transport, in any order.
func Judge(rev string, t catalogue.Transport, traces []*check.Trace, selects func(*check.Check) bool) []result.Check {
	facts := FactsOf(rev, traces)
	checks := All()
	var out []result.Check
	for i := range checks {
		if k := &checks[i]; k.Applies(rev, t) && (selects == nil || selects(k)) {
			out = append(out, k.Verdict(rev, t, facts, traces, nil))
		}
	}
	return out
}
