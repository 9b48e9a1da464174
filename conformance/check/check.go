// Package check drives a server under judgement and judges what it said.
//
// Driving and judging are apart. Probes send what no ordinary client would and
// make recordings; checks are pure functions of recordings, so that a saved
// one can be judged again by later rules.
package check

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Layer says who is to look into a finding.
type Layer string

// Layers, from the bytes up.
const (
	Bytes    Layer = "carrier"
	JSONRPC  Layer = "jsonrpc"
	Protocol Layer = "protocol"
	Feature  Layer = "feature"
)

// Check is one rule over the recordings of a run.
type Check struct {
	ID    string // kebab case, unique
	Title string // what is looked at, in a few words
	Layer Layer
	// Requirements are ids of the catalogue. Those that hold in the judged
	// revision decide whether the check applies there and what breaking it
	// means; the first of them is the one that is reported.
	Requirements []string
	// Since and Until narrow the revisions further; "" is no bound.
	Since, Until string
	// Side is who is judged; "" is catalogue.Server.
	Side catalogue.Side
	// Transports narrow those that the requirements are about; nil is no bound.
	Transports []catalogue.Transport
	// Soft makes a broken rule a warning where the requirement would make it a
	// failure: the wording is open to another reading, or the sign is weak.
	Soft bool
	// Needs are capabilities of the server, "tools" or "resources.subscribe":
	// without one of them the check is not applicable.
	Needs []string
	// Judge looks at the recordings and says what it found through the case.
	Judge func(c *Case)
	// Beside finds another check that judges too, by its id; nil is none. What one
	// that looks more closely tells of is not told by this one again.
	Beside func(id string) *Check
}

// Bound returns the requirements of the check that hold in a revision over a
// transport, in order; over catalogue.Any those that hold over one of them.
func (k *Check) Bound(rev string, t catalogue.Transport) []catalogue.Requirement {
	if k.Since != "" && !AtLeast(rev, k.Since) || k.Until != "" && !AtLeast(k.Until, rev) {
		return nil
	}
	if t != catalogue.Any && len(k.Transports) > 0 && !slices.Contains(k.Transports, t) {
		return nil
	}
	var out []catalogue.Requirement
	for _, id := range k.Requirements {
		r, ok := catalogue.Lookup(id)
		if ok && r.Applies(rev, k.side()) && r.Carries(t) && (len(k.Transports) == 0 || slices.ContainsFunc(k.Transports, r.Carries)) {
			out = append(out, r)
		}
	}
	return out
}

func (k *Check) side() catalogue.Side {
	if k.Side == "" {
		return catalogue.Server
	}
	return k.Side
}

// Applies reports whether the check says something about a revision over a
// transport.
func (k *Check) Applies(rev string, t catalogue.Transport) bool { return len(k.Bound(rev, t)) > 0 }

// Warns reports whether breaking the check there is a warning.
func (k *Check) Warns(rev string, t catalogue.Transport) bool {
	for _, r := range k.Bound(rev, t) {
		if !r.Warns() && r.Level != catalogue.May && !k.Soft {
			return false
		}
	}
	return true
}

// Level is that of the strongest rule that the check holds there, as breaking
// it weighs: MUST for a failure, else SHOULD or MAY for a warning; "" where it
// does not apply.
func (k *Check) Level(rev string, t catalogue.Transport) catalogue.Level {
	bound := k.Bound(rev, t)
	switch {
	case len(bound) == 0:
		return ""
	case !k.Warns(rev, t):
		return catalogue.Must
	case slices.ContainsFunc(bound, func(r catalogue.Requirement) bool { return r.Level != catalogue.May }):
		return catalogue.Should
	}
	return catalogue.May
}

// mild says why breaking the check is only a warning there, for a rule whose
// level would make it a failure; "" where the level says it.
func (k *Check) mild(rev string, t catalogue.Transport, r catalogue.Requirement) string {
	switch {
	case !k.Warns(rev, t) || r.Level != catalogue.Must && r.Level != catalogue.MustNot:
		return ""
	case r.Basis == catalogue.Implied:
		return "the specification implies this rule and states it with no key word"
	case r.Basis == catalogue.Lowercase:
		return "the specification states this rule without the capitals of a key word"
	}
	return "the wording is open to another reading, or what can be seen is a weak sign"
}

// Case is one check at work on the recordings of one revision. Judge calls its
// methods; the verdict follows from what was called:
//
//	Broken            fail, or warn where the requirement says so
//	Tolerated         warn
//	NotApplicable, NotObserved, Blocked   that, when nothing was found and nothing was seen
//	Saw               pass, when nothing else was found
//	nothing at all    not observed
type Case struct {
	Check     *Check
	Revision  string
	Transport catalogue.Transport
	Facts     *Facts
	Offers    []*Trace // handshakes, one for each version that was offered

	traces   []*Trace // the sessions of this revision
	needs    needs    // what Judge asked for
	findings int
	first    *finding   // the first finding
	hard     *finding   // the first that is no mild one
	several  []*finding // the first ones: as many as a result shows
	seen     int
	verdict  result.Verdict // set by NotApplicable, NotObserved, Blocked
	reason   string
	looked   []*Step              // that Judge asked for
	served   map[string]*Exchange // see letsIn
	guessed  bool                 // what the server declares is not in a recording of others, yet Judge asked

	others map[string]map[*Frame]bool // what other checks find fault with, by their ids
	alone  bool                       // judged to see that: it asks no others
	at     map[*Frame]bool            // what it finds fault with; nil where nobody asks
}

type finding struct {
	frame              *Frame
	also               []int // events that are shown too
	expected, observed string
	mild               bool
}

// Traces are all sessions of the revision. A check that asks for them looks at
// all that was said in them, whatever it was said for: it needs every probe.
func (c *Case) Traces() []*Trace {
	c.needs.all = true
	return c.traces
}

// stepsOf are the steps of all sessions whose name starts with prefix, in order.
func (c *Case) stepsOf(prefix string) []*Step {
	c.needs.step(prefix)
	var out []*Step
	for _, t := range c.traces {
		for _, s := range t.steps {
			if strings.HasPrefix(s.Name, prefix) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Modern reports whether the judged revision is stateless.
func (c *Case) Modern() bool { return Modern(c.Revision) }

// AtLeast reports whether the judged revision is floor or later.
func (c *Case) AtLeast(floor string) bool { return AtLeast(c.Revision, floor) }

// Saw says that something was seen that kept the rule.
func (c *Case) Saw() { c.seen++ }

// Broken says that the rule was broken: what should have been, what was
// instead, and the line that shows it (nil where there is none).
func (c *Case) Broken(f *Frame, expected, observed string) {
	c.found(finding{frame: f, expected: expected, observed: observed})
}

// brokenTwice is Broken for a line that is wrong because of another one before
// it, which is shown as well.
func (c *Case) brokenTwice(before, f *Frame, expected, observed string) {
	also := []int{before.Index}
	if req := f.Trace.Request(before); req != nil {
		also = append(also, req.Index)
	}
	c.found(finding{frame: f, also: also, expected: expected, observed: observed})
}

// Tolerated is Broken for a point on which the specification is silent or
// contradicts itself: it is told, as a warning.
func (c *Case) Tolerated(f *Frame, expected, observed string) {
	c.found(finding{frame: f, expected: expected, observed: observed, mild: true})
}

// found keeps what the verdict tells of, and counts the rest.
func (c *Case) found(f finding) {
	if f.frame.redacted() {
		return
	}
	c.findings++
	if c.at != nil && !f.mild {
		c.at[f.frame] = true
	}
	if c.first == nil {
		c.first = &f
	}
	if c.hard == nil && !f.mild {
		c.hard = &f
	}
	if len(c.several) < mostShown {
		c.several = append(c.several, &f)
	}
}

// mostShown is how many findings a result shows.
const mostShown = 10

// frames are what is shown of a finding.
func (f *finding) frames() []result.Frame {
	if f.frame == nil {
		return nil
	}
	return around(f.frame, f.also)
}

// NotApplicable says that the server does not offer what the check is about.
func (c *Case) NotApplicable(reason string) { c.settle(result.NotApplicable, reason) }

// NotObserved says that nothing could be seen that keeps or breaks the rule.
func (c *Case) NotObserved(reason string) { c.settle(result.NotObserved, reason) }

// Blocked says that something that failed before made the check pointless.
func (c *Case) Blocked(reason string) { c.settle(result.Blocked, reason) }

func (c *Case) settle(v result.Verdict, reason string) {
	if c.verdict == "" || c.verdict == result.NotObserved && v == result.Blocked {
		c.verdict, c.reason = v, reason
	}
}

// Step finds the first step of that name in any session of the revision. When
// it was not run the check is settled as blocked or not observed and Step
// returns nil.
func (c *Case) Step(name string) *Step {
	for _, s := range c.stepsOf(name) {
		if s.Name == name {
			c.looked = append(c.looked, s)
			return s
		}
	}
	c.missing(name)
	return nil
}

// StepsOf finds all steps whose name starts with prefix, in order.
func (c *Case) StepsOf(prefix string) []*Step {
	out := c.stepsOf(prefix)
	if len(out) == 0 {
		c.missing(prefix)
	}
	c.looked = append(c.looked, out...)
	return out
}

func (c *Case) missing(name string) {
	for _, t := range c.traces {
		if t.noted(noteGivenUp) {
			c.Blocked(or(t.why(), c.unopened()) + ", so this was not tried")
			return
		}
	}
	if why := c.unlisted(name); why != "" {
		c.Blocked(why + ", so this was not tried")
		return
	}
	c.NotObserved(name + " was not tried")
}

// unopened says why no more sessions were opened where the last one does not.
func (c *Case) unopened() string {
	for _, t := range c.traces {
		for req := range t.visit(t.sent) {
			if req.Method == hello(c.Revision) && usable(c.Revision, t.Answer(req)) {
				return "too many sessions were lost"
			}
		}
	}
	return "no session could be opened, as " + hello(c.Revision) + " has no answer that can be used"
}

// Answer gives the answer to a request. When there is none the check is
// settled: broken where the server was alive and silent, or ended or hung over
// that very request; not observed where the wait was short; blocked where the
// server had ended before, answered under another id, or said nothing in its
// answer. A notification has none, and settles nothing.
func (c *Case) Answer(req *Frame) *Frame {
	if req == nil || req.Kind == KindNotification {
		return nil
	}
	if a := req.Trace.Answer(req); a != nil {
		return a
	}
	switch req.Trace.fate(req) {
	case fateRefused, fateBroke:
		c.refusedByHTTP(req)
	case fateHung:
		c.Broken(req, "an answer to this request", "none, and none to later requests")
	case fateDied:
		c.Broken(req, "an answer to this request", "none: "+req.Trace.broke().how)
	case fateAstray:
		c.Blocked("the server answered under an id that no request had")
	case fateHollow:
		c.Blocked("the server's answer has neither a result nor an error")
	case fateSilent:
		c.Broken(req, "an answer to this request", "none, although the server answered a later one")
	case fateUnsure:
		c.NotObserved("the server did not answer request " + req.IDText() + " within a short wait")
	default:
		c.Blocked(or(req.Trace.why(), "the session ended") + ", and this request was left without an answer")
	}
	return nil
}

// refusedByHTTP settles a check on a request whose HTTP exchange is over and
// brought no message for it.
func (c *Case) refusedByHTTP(req *Frame) {
	how, x := req.Trace.withoutAnswer(req), req.Trace.carried[req.Exchange]
	switch {
	case c.keptOut(req):
	case x.status == 404 && x.session:
		c.Blocked("the server does not know the session any more: " + how)
	case x.status == 413 || x.status == 414 || x.status == 431:
		c.NotObserved("the request is larger than HTTP takes there: " + how)
	default:
		c.Broken(req, "an answer to this request", "none: "+how)
	}
}

// keptOut settles a check on what HTTP refused for who sent it, or for how much
// was sent, and reports whether it was.
func (c *Case) keptOut(f *Frame) bool {
	x := f.Trace.carried[f.Exchange]
	switch {
	case x == nil || !keepsOut(x.status):
		return false
	case x.status == http.StatusTooManyRequests:
		c.Blocked("the server takes no more requests for now: " + f.Trace.withoutAnswer(f))
	default:
		c.Blocked("the server lets nobody in without credentials: " + f.Trace.withoutAnswer(f))
	}
	return true
}

// left settles a check on a request without an answer that is no breach of its
// rule.
func (c *Case) left(req *Frame) {
	switch req.Trace.fate(req) {
	case fateAstray:
		c.Blocked("the server answered under an id that no request had")
	case fateHollow:
		c.Blocked("the server's answer has neither a result nor an error")
	case fateRefused, fateBroke:
		c.NotObserved("the server did not answer request " + req.IDText() + ": " + req.Trace.withoutAnswer(req))
	case fateSilent, fateUnsure:
		c.NotObserved("the server did not answer request " + req.IDText())
	default:
		c.Blocked(or(req.Trace.why(), "the session ended") + ", and this request was left without an answer")
	}
}

// control is the answer to the only request of a step that does the same as
// another one, without what is looked at there; tried is false where there is no
// such step.
func (c *Case) control(step string) (answer *Frame, tried bool) {
	for _, s := range c.stepsOf(step) {
		if s.Name != step {
			continue
		}
		for _, req := range s.Sent() {
			return s.Trace.Answer(req), true
		}
	}
	return nil, false
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Refused judges that every request of a step was answered by an error with
// one of these codes. A result breaks the rule, and so does another code
// unless lax, or where no key word asks for that of invalid params: then it is
// told as a warning.
func (c *Case) Refused(step string, lax bool, codes ...int64) {
	s := c.Step(step)
	if s == nil {
		return
	}
	for _, req := range s.Sent() {
		c.refused(req, lax, codes...)
	}
}

func (c *Case) refused(req *Frame, lax bool, codes ...int64) {
	a := c.Answer(req)
	if a == nil {
		return
	}
	want := "an error with code " + codesText(codes)
	code, ok := a.Code()
	switch {
	case a.OK():
		c.Broken(a, want, "a result")
	case ok && slices.Contains(codes, code):
		c.Saw()
	case ok && code == -32020 && c.Modern() && c.Transport == catalogue.HTTP && !a.Trace.repeated(req):
		c.Saw() // what is wrong with the body is so with the headers that repeat it
	case lax, slices.Contains(codes, -32602) && !c.keyword():
		c.Tolerated(a, want, "error code "+string(a.Error.Get("code")))
	default:
		c.Broken(a, want, "error code "+string(a.Error.Get("code")))
	}
}

// keyword reports whether a key word of the specification gives the rule that is
// reported its weight, and not a type of the schema or JSON-RPC: those name the
// code of invalid params and do not ask that no other one is used.
func (c *Case) keyword() bool {
	bound := c.Check.Bound(c.Revision, c.Transport)
	return len(bound) > 0 && bound[0].Basis == catalogue.Keyword
}

func codesText(codes []int64) string {
	var b strings.Builder
	for i, n := range codes {
		if i > 0 {
			b.WriteString(" or ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// Has reports whether the server declared a capability, given as a path:
// "tools", "resources.subscribe". A flag counts when it is true, anything else
// when it is there.
func (c *Case) Has(capability string) bool {
	c.guessed = c.guessed || !c.Facts.Known() && len(c.traces) > 0 && c.traces[0].Profile == StepRecorded
	return c.Facts.Has(capability)
}

// Verdict runs a check on the recordings of a revision over a transport. A
// check that panics is an error of the checker, never a finding.
func (k *Check) Verdict(rev string, t catalogue.Transport, facts *Facts, traces, offers []*Trace) (out result.Check) {
	bound := k.Bound(rev, t)
	out = result.Check{ID: k.ID, Revision: rev, Transport: string(t), Layer: string(k.Layer)}
	for _, r := range bound {
		out.Requirements = append(out.Requirements, r.ID)
	}
	if len(bound) > 0 {
		out.Level = bound[0].Level
		out.Mild = k.mild(rev, t, bound[0])
	}
	out.Describe()
	c := &Case{Check: k, Revision: rev, Transport: t, Facts: facts, traces: traces, Offers: offers}
	if c.judge(&out); out.Verdict == "" {
		c.conclude(&out)
	}
	return out
}

// judge runs the check; a verdict is set where it could not.
func (c *Case) judge(out *result.Check) {
	defer func() {
		if p := recover(); p != nil {
			out.Verdict, out.Reason = result.Error, fmt.Sprintf("the check itself failed: %v", p)
		}
	}()
	if why := c.Check.shutOut(c.traces); why != "" {
		out.Verdict, out.Reason = result.Blocked, why
		return
	}
	for _, need := range c.Check.Needs {
		if c.Facts.Known() && !c.Facts.Has(need) {
			out.Verdict, out.Reason = result.NotApplicable, "the server does not declare "+need
			return
		}
	}
	c.Check.Judge(c)
}

func (c *Case) conclude(out *result.Check) {
	switch {
	case c.guessed && c.findings > 0:
		out.Verdict, out.Reason = result.NotObserved, "what the server declares was not recorded"
	case c.findings > 0:
		f := c.first
		if c.hard != nil {
			f = c.hard
		}
		out.Verdict = result.Warn
		switch {
		case c.hard == nil:
			out.Mild = tolerated
		case !c.Check.Warns(c.Revision, c.Transport):
			out.Verdict = result.Fail
		}
		out.Expected, out.Observed = f.expected, f.observed
		if n := c.findings - 1; n > 0 {
			out.Observed += fmt.Sprintf(" (and %d more like it)", n)
			out.Count = c.findings
		}
		out.Frames = f.frames()
		for _, o := range c.several {
			if o != f && len(out.More) < mostShown-1 {
				out.More = append(out.More, result.Instance{Expected: o.expected, Observed: o.observed, Frames: o.frames()})
			}
		}
	case c.seen > 0 && c.verdict == result.Blocked:
		out.Verdict, out.Reason = c.verdict, c.reason
	case c.seen > 0:
		out.Verdict = result.Pass
	case c.verdict != "":
		out.Verdict, out.Reason = c.verdict, c.reason
	default:
		out.Verdict, out.Reason = result.NotObserved, "nothing was seen that could keep or break the rule"
	}
	if why := c.kept(); why != "" && out.Verdict == result.NotObserved {
		out.Verdict, out.Reason = result.Blocked, why
	}
}

// tolerated is why a warning is one that Tolerated told of.
const tolerated = "on this point the specification is silent, open, or at odds with itself"

// kept says what kept the check from seeing anything in the steps that it
// looked at, "" for nothing.
func (c *Case) kept() string {
	for _, s := range c.looked {
		if why := s.unsent(); why != "" {
			return why
		}
		if why := s.Trace.why(); why != "" && s.cutShort() {
			return why
		}
	}
	return ""
}

// around shows the request with the answer it is about, and what lies between;
// of a line over which the server ended, how it did; over HTTP the exchange
// that carried the line. Other events that the
// finding is about are shown wherever they stand.
func around(f *Frame, also []int) []result.Frame {
	var out []result.Frame
	if t := f.Trace; t.carriedAt(f.Index) != nil {
		out = result.Around(t.Recording, f.Index, 0, 0, append(t.exchangeAround(f), also...)...)
	} else if also != nil {
		out = result.Around(f.Trace.Recording, f.Index, 1, 1, also...)
	} else if b := f.Trace.broke(); b != nil && (b.request == f || b.line == f) {
		out = result.Around(f.Trace.Recording, f.Index, 3, 1, append(f.Trace.lastWords(f.Index), b.at)...)
	} else if req := f.Trace.Request(f); f.FromServer && f.Kind == KindResponse && req != nil && f.Index-req.Index > 4 {
		out = result.Around(f.Trace.Recording, f.Index, 1, 1, req.Index)
	} else {
		out = result.Around(f.Trace.Recording, f.Index, 3, 3)
	}
	return shown(out)
}

// shown cuts frames to what a report shows of them.
func shown(out []result.Frame) []result.Frame {
	for i := range out {
		limit := neighbourText
		if out[i].Here {
			limit = hereText
		}
		if t := out[i].Text; len(t) > limit {
			out[i].Text = strings.ToValidUTF8(t[:limit], "") + "…"
		}
	}
	return out
}

// How much is shown of a line that a finding is about, and of the lines around
// it: they may be long, and hold what a report should not spread.
const (
	hereText      = 2_000
	neighbourText = 300
)

// What became of a request without an answer.
type fate uint8

const (
	fateLost    fate = iota // the server ended or answered nothing at all any more
	fateSilent              // it was alive and had all the time
	fateUnsure              // it was alive but had little time
	fateHung                // it had all the time and never answered anything after it
	fateDied                // the server ended instead of answering it
	fateAstray              // it was answered under another id
	fateHollow              // its answer has neither a result nor an error
	fateRefused             // HTTP answered what carried it, and no message came
	fateBroke               // what carried it broke off
)

func (t *Trace) fate(req *Frame) fate {
	b := t.broke()
	switch {
	case t.astray(req) != nil:
		return fateAstray
	case t.saidNothing(req):
		return fateHollow
	case b != nil && b.request == req && b.hung:
		return fateHung
	case b != nil && b.request == req:
		return fateDied
	case t.withoutAnswer(req) != "":
		if t.carried[req.Exchange].failed {
			return fateBroke
		}
		return fateRefused
	case t.notedSince(noteSilent+string(req.ID), req.Index):
		return fateSilent
	case t.notedSince(noteGaveUp+string(req.ID), req.Index):
		return fateUnsure
	case t.fenced(req.Index):
		return fateSilent
	}
	return fateLost
}

// fenced reports whether a fence that was sent after index i was answered.
func (t *Trace) fenced(i int) bool {
	for _, f := range slices.Backward(between(t.fences, i+1, -1)) {
		if t.Answer(f) != nil || t.dealtWith(f) {
			return true
		}
	}
	return false
}

// lastWords are the last lines of the server's free text after event i.
func (t *Trace) lastWords(i int) []int {
	const most = 3
	at := t.notesAt[transcript.KindStderr]
	n, _ := slices.BinarySearch(at, i)
	return slices.Clone(at[max(n, len(at)-most):])
}

// lost says why a session ended early, "" when it did not.
func (t *Trace) lost() string {
	for _, n := range t.notes(transcript.KindNote, 0) {
		if why := unstarted(string(n.Data)); why != "" {
			return why
		}
		switch string(n.Data) {
		case noteHung, noteStalled:
			return "the server answered nothing any more"
		case noteFlood:
			return "the server wrote more than a session records"
		case noteFull:
			return "the server wrote more, in all its sessions, than a run records"
		case noteUnread:
			return "the server stopped reading its input"
		case noteAborted:
			return "the run was cancelled, or its time was over"
		case noteOverdue:
			return "a probe took longer than it may"
		case noteLocked:
			return "the server lets nobody in without credentials"
		}
	}
	if how, died := t.Died(); died {
		return how
	}
	return ""
}

// unstarted says for a note that a server did not start in time what a user can
// do about that, "" for any other note.
func unstarted(note string) string {
	limit, ok := strings.CutPrefix(note, noteUnstarted)
	if !ok {
		return ""
	}
	return "the server did not answer the first request after its launch within --timeout, " + limit + " (raise it if it starts slowly)"
}

// unstarted is that of the note in a trace, "" where there is none.
func (t *Trace) unstarted() string {
	for _, n := range t.notes(transcript.KindNote, 0) {
		if why := unstarted(string(n.Data)); why != "" {
			return why
		}
	}
	return ""
}

func text(r wire.Raw) string {
	if r == nil {
		return "nothing"
	}
	const limit = 120
	if len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(r)
}
