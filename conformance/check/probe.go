package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Profiles: how the session of a probe is opened. Probes of one profile share
// a session where they can.
const (
	// Main is ready for use: after the handshake where the revision has one.
	// The client declares no capabilities.
	Main = "main"
	// Declared is Main by a client that declares all it can: roots, sampling
	// and elicitation.
	Declared = "declared"
	// Full is Main by a client that declares every variant of its features as
	// well: tools and context for sampling, elicitation by form and by URL.
	// Revisions before 2025-11-25 have none.
	Full = "full"
	// Bare is a server that was started and told nothing.
	Bare = "bare"
)

// Probe drives a session. What it provokes is judged by checks, which find it
// by the names of its steps.
type Probe struct {
	Name         string
	Since, Until string // revisions; "" is no bound
	// Transports over which the probe makes sense; nil is all.
	Transports []catalogue.Transport
	Profile    string
	// Needs are capabilities without which the probe is not run.
	Needs []string
	// Rough probes may end the server or leave it confused: they run after all
	// others of their profile.
	Rough bool
	// Alone gives the probe a session of its own.
	Alone bool
	// After names kinds of steps, made by probes before it in the same session,
	// that it builds on beside the lists of what the server offers.
	After []string
	Run   func(d *Driver)
}

func (p *Probe) applies(rev string, t catalogue.Transport) bool {
	return (len(p.Transports) == 0 || slices.Contains(p.Transports, t)) &&
		(p.Since == "" || AtLeast(rev, p.Since)) && (p.Until == "" || AtLeast(p.Until, rev))
}

// Driver is what a probe has in hand.
type Driver struct {
	*Session
	Facts *Facts // what the server has said so far in this revision
	opts  *DriveOptions
	past  []*Trace
}

// MayCall reports whether a listed tool may be called: it is marked read-only
// or was allowed by name, and was not denied.
func (d *Driver) MayCall(name string) bool {
	if slices.Contains(d.opts.Deny, name) || slices.Contains(d.opts.Deny, "*") {
		return false
	}
	if slices.Contains(d.opts.Allow, name) || slices.Contains(d.opts.Allow, "*") {
		return true
	}
	if slices.ContainsFunc(d.opts.Known, func(known string) bool {
		prefix, all := strings.CutSuffix(known, "*")
		return name == known || all && strings.HasPrefix(name, prefix)
	}) {
		return true
	}
	for _, t := range d.Facts.Tools {
		if Name(t, "name") == name {
			return readOnly(t)
		}
	}
	return false
}

func readOnly(tool wire.Raw) bool {
	ro, _ := tool.Get("annotations").Get("readOnlyHint").Bool()
	return ro
}

// harmlessTools are the tools of this session that may be called, with
// arguments: some servers have others for clients that declare more.
func (d *Driver) harmlessTools(step string) []call {
	d.Step(step)
	var tools []wire.Raw
	cursor := ""
	for range maxPages {
		a := d.Call("tools/list", cursor)
		if !a.OK() {
			break
		}
		tools = slices.AppendSeq(tools, a.Result.Get("tools").Elems())
		next, more := a.Result.Get("nextCursor").Str()
		if !more {
			break
		}
		cursor = `{"cursor":` + quote(next) + `}`
	}
	known := map[string]bool{}
	for _, t := range d.Facts.Tools {
		known[Name(t, "name")] = true
	}
	var out []call
	for _, t := range tools {
		name := Name(t, "name")
		args, sure := Arguments(t.Get("inputSchema"))
		may := d.MayCall(name) || !known[name] && readOnly(t) && !slices.Contains(d.opts.Deny, name) && !slices.Contains(d.opts.Deny, "*")
		if name != "" && sure && may && !d.slow(name) {
			out = append(out, call{name, `{"name":` + quote(name) + `,"arguments":` + args + `}`})
		}
	}
	return out
}

// call is a tool with params that call it.
type call struct{ name, params string }

// slow reports whether a tool was called before and took long: once is enough.
func (d *Driver) slow(name string) (slow bool) {
	look := func(t *Trace) {
		for req := range t.visit(t.sent) {
			if req.Method != "tools/call" || Name(req.Params, "name") != name {
				continue
			}
			a := t.Answer(req)
			slow = slow || a == nil || a.At-req.At > slowTool
		}
	}
	for _, t := range d.past {
		look(t)
	}
	d.View(look)
	return slow
}

const slowTool = time.Second

// DriveOptions say what is driven and how.
type DriveOptions struct {
	Revision string
	Probes   []Probe
	Limits   Limits
	Allow    []string // tools that may be called though not marked read-only; "*" is all
	Deny     []string // tools that are never called; "*" is all
	// Known are tools that may be called where the server lists them; a name
	// that ends in * stands for all that begin so.
	Known []string
	// Started is how long the target took to its first answer before; 0 is
	// not known.
	Started time.Duration
	// Locked says that the target lets nobody in: only what needs no session is
	// tried.
	Locked bool
	// Unheard is how long the target answered nothing to the offer of the
	// revision, where it did not, as Explore found: nothing is tried then.
	Unheard time.Duration
	// Progress is told what is done next; nil is fine.
	Progress func(what string)
}

// maxOpens bounds how many sessions in a row may fail to open, maxLost how many
// may be lost in all, and maxStuck how many of those because the server hung,
// which costs the most time, before the rest of the probes is given up. A
// method on which the server ended maxDeaths times is not sent any more, unless
// proper requests are not among what it ended over, or fewer than maxDeaths of
// them and others were answered by a result: then what is wrong on purpose is
// left out alone.
const (
	maxOpens = 2
	maxLost  = 12
	maxStuck = 4

	maxDeaths = 3
)

// declaredCaps is what the client of the Declared profile declares.
func declaredCaps(rev string) string {
	switch {
	case Modern(rev):
		return `{"roots":{},"sampling":{},"elicitation":{}}`
	case AtLeast(rev, rev2025June):
		return `{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}`
	}
	return `{"roots":{"listChanged":true},"sampling":{}}`
}

// fullCaps is what the client of the Full profile declares.
func fullCaps(rev string) string {
	roots := `{}`
	if !Modern(rev) {
		roots = `{"listChanged":true}`
	}
	return `{"roots":` + roots + `,"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}`
}

// ToolError says that Allow or Deny name tools that the server does not list:
// who misspelt a tool that must not be called had better know before others
// are.
type ToolError struct {
	Names  []string
	Listed []string
}

func (e *ToolError) Error() string {
	s := "the server lists no tool " + strings.Join(e.Names, ", ")
	if len(e.Listed) > 0 {
		s += "; it lists " + strings.Join(e.Listed, ", ")
	}
	return s
}

// Drive runs the probes of a revision and returns the recordings, in order.
// The error is a *ToolError: nothing more was done once that was known, and no
// tool was called.
func Drive(ctx context.Context, l Target, o DriveOptions) ([]*Trace, error) {
	r := newRun(ctx, l, &o)
	r.probes(o.Probes)
	return r.end()
}

func newRun(ctx context.Context, l Target, o *DriveOptions) *run {
	return &run{ctx: ctx, target: l, opts: o, started: o.Started, hung: map[string]string{}, frail: map[string]string{}, deaths: map[string]*deaths{}}
}

// probes runs probes, each in a session of its profile.
func (r *run) probes(probes []Probe) {
	if r.opts.Unheard > 0 {
		r.giveUp(noteVain + r.opts.Unheard.Round(time.Second/10).String())
		return
	}
	for _, profile := range []string{Main, Declared, Full, Bare} {
		for _, rough := range []bool{false, true} {
			for i := range probes {
				p := &probes[i]
				if p.Profile == profile && p.Rough == rough && !p.Alone && p.applies(r.opts.Revision, r.target.Transport()) {
					r.probe(p)
				}
			}
		}
		r.close()
	}
	for i := range probes {
		if p := &probes[i]; p.Alone && p.applies(r.opts.Revision, r.target.Transport()) {
			r.probe(p)
			r.close()
		}
	}
}

// end gives the recordings.
func (r *run) end() ([]*Trace, error) {
	if r.ctx.Err() != nil {
		r.giveUp(noteAborted)
	}
	if r.opts.Locked {
		r.giveUp(noteLocked)
		r.shut()
	}
	return r.traces, r.err
}

// deaths are the sessions that ended over a method: all, and those of them over
// a request that was not wrong on purpose.
type deaths struct{ all, proper int }

type run struct {
	ctx      context.Context
	target   Target
	opts     *DriveOptions
	traces   []*Trace
	session  *Session
	profile  string
	unopened int
	gaveUp   bool
	pinged   bool
	lost     int // sessions that were lost
	stuck    int // those of them in which the server hung

	// What was learnt from the sessions so far; see SessionOptions.
	spent   bool
	hangs   bool
	slow    bool // an otherwise fast server did not answer what opens a session
	started time.Duration
	hung    map[string]string
	frail   map[string]string
	mute    []string
	noPing  bool
	deaths  map[string]*deaths // sessions that ended over a request, by its method

	named bool  // the tools that the options name were looked up
	err   error // ends the run

	known   *Facts // what all sessions said when they had knownAt frames and steps
	knownAt int
}

func (r *run) probe(p *Probe) {
	if r.ctx.Err() != nil || r.err != nil {
		return
	}
	facts := r.facts()
	if r.lookUp(facts); r.err != nil {
		return
	}
	if len(p.Needs) > 0 && r.session == nil && !facts.Known() && p.Profile != Bare { // what there is has to be asked first
		if !r.open(p.Profile) {
			return
		}
		facts = r.facts()
	}
	for _, need := range p.Needs {
		if !facts.Has(need) {
			return
		}
	}
	if r.session != nil && (r.session.Lost() != "" || r.profile != p.Profile) {
		r.close()
	}
	opened := r.session == nil
	if opened && !r.open(p.Profile) {
		return
	}
	if r.opts.Progress != nil {
		r.opts.Progress(p.Name)
	}
	if opened {
		facts = r.facts()
	}
	overdue := time.AfterFunc(r.session.limits.Probe, r.session.overdue)
	defer overdue.Stop()
	p.Run(&Driver{Session: r.session, Facts: facts, opts: r.opts, past: r.traces})
}

// lookUp looks for the tools that the options name, once the server has listed
// its own or said that it has none.
func (r *run) lookUp(facts *Facts) {
	if r.named || !facts.Listed["tools/list"] && (!facts.Known() || facts.Has("tools")) {
		return
	}
	r.named = true
	e := &ToolError{}
	for _, t := range facts.Tools {
		e.Listed = append(e.Listed, Name(t, "name"))
	}
	for _, name := range slices.Concat(r.opts.Allow, r.opts.Deny) {
		if name != "*" && !slices.Contains(e.Listed, name) {
			e.Names = append(e.Names, name)
		}
	}
	if e.Names != nil {
		r.err = e
	}
}

// facts of all sessions so far, the open one included.
func (r *run) facts() *Facts {
	if r.session == nil {
		return r.factsOf(r.traces)
	}
	var f *Facts
	r.session.View(func(t *Trace) { f = r.factsOf(append(slices.Clip(r.traces), t)) })
	return f
}

// factsOf reads the facts anew only when something was said since.
func (r *run) factsOf(traces []*Trace) *Facts {
	n := 0
	for _, t := range traces {
		n += len(t.frames) + len(t.steps)
	}
	if r.known == nil || n != r.knownAt {
		r.known, r.knownAt = FactsOf(r.opts.Revision, traces), n
	}
	return r.known
}

// giveUp says in the last recording that no more were made. Where there is
// none, nothing was left for this revision, and one is made that says why.
func (r *run) giveUp(why string) {
	if r.gaveUp {
		return
	}
	r.gaveUp = true
	if len(r.traces) == 0 || why == noteLocked {
		rec := &transcript.Recording{}
		rec.Set(transcript.FieldTransport, string(r.target.Transport()))
		rec.Set(transcript.FieldRevision, r.opts.Revision)
		rec.Set(fieldProfile, Main)
		r.traces = append(r.traces, NewTrace(rec))
		r.traces[len(r.traces)-1].note(why)
	}
	r.traces[len(r.traces)-1].note(noteGivenUp)
}

func (r *run) open(profile string) bool {
	if r.opts.Locked && profile != Bare {
		return false
	}
	if r.unopened >= maxOpens || r.lost >= maxLost || r.stuck >= maxStuck || r.opts.Limits.run.full() {
		if len(r.traces) > 0 || r.opts.Limits.run.full() {
			r.giveUp(noteFull)
		}
		return false
	}
	o := SessionOptions{
		Profile: profile, Revision: r.opts.Revision, Limits: r.opts.Limits,
		Impatient: r.spent, Hangs: r.hangs, Unstarted: r.slow, Started: r.started, Hung: r.hung, Frail: r.frail, Mute: r.mute, NoPing: r.noPing,
		Schemas: schemasOf(r.facts()),
	}
	switch profile {
	case Declared:
		o.ClientCapabilities = declaredCaps(r.opts.Revision)
	case Full:
		o.ClientCapabilities = fullCaps(r.opts.Revision)
	}
	s, err := Open(r.ctx, r.target, o)
	if err != nil {
		r.unopened++
		return false
	}
	r.session, r.profile = s, profile
	if profile != Bare && !handshake(s) {
		r.unopened++
		r.close()
		return s.unstarted && r.open(profile) // once more
	}
	r.unopened = 0
	if !r.pinged && profile != Bare && !Modern(s.rev) {
		s.tryPing()
		// One that hung over it is not asked again.
		r.pinged, r.noPing = true, s.noPing || s.Lost() != ""
	}
	return true
}

// schemasOf are the input schemas of the listed tools.
func schemasOf(facts *Facts) map[string]wire.Raw {
	out := map[string]wire.Raw{}
	for _, t := range facts.Tools {
		out[Name(t, "name")] = t.Get("inputSchema")
	}
	return out
}

// handshake makes a session ready. A stateless revision has none.
func handshake(s *Session) bool {
	s.Step("open")
	opening := func(is bool) {
		s.mu.Lock() // answers to the server ask for it
		defer s.mu.Unlock()
		s.opening = is
	}
	opening(true)
	defer opening(false)
	if Modern(s.rev) {
		return usable(s.rev, s.Call(methodDiscover, ""))
	}
	if !usable(s.rev, s.Call("initialize", s.Hello(s.rev))) {
		return false
	}
	s.Tell("notifications/initialized", "")
	return true
}

// usable reports whether a client can go on with an answer to hello: of a
// stateless revision with any, else with a result that has something of what it
// should.
func usable(rev string, a *Frame) bool {
	return a != nil && (Modern(rev) || a.OK() && hasAny(a.Result, []string{"protocolVersion", "capabilities", "serverInfo"}))
}

// Hello is the params of an initialize request that offers a version.
func (s *Session) Hello(version string) string {
	return `{"protocolVersion":` + quote(version) + `,"capabilities":` + s.clientCaps + `,"clientInfo":` + clientInfo + `}`
}

// avoid leaves a method out from now on, unless nothing can be done without it.
func (r *run) avoid(method, why string) {
	switch method {
	case "initialize", "server/discover", "ping":
	default:
		r.hung[method] = why
	}
}

// died counts a session that ended over a request, and leaves its method out
// where that was too often.
func (r *run) died(req *Frame) {
	n := r.deaths[req.Method]
	if n == nil {
		n = &deaths{}
		r.deaths[req.Method] = n
	}
	n.all++
	if !req.wrongOnPurpose() {
		n.proper++
	}
	switch wrong := n.all - n.proper; {
	case n.proper >= maxDeaths, n.all >= maxDeaths && n.proper > 0 && !r.served(req.Method):
		r.avoid(req.Method, fmt.Sprintf("the server ended over it %d times", n.all))
	case wrong >= maxDeaths:
		r.frail[req.Method] = fmt.Sprintf("the server ended over %d requests of it that were wrong on purpose", wrong)
	}
}

// wrongOnPurpose reports whether a request belongs to a step whose requests are.
func (f *Frame) wrongOnPurpose() bool {
	for _, s := range f.Trace.steps {
		if s.holds(f.Index) {
			return wrongOnPurpose(s.Name)
		}
	}
	return false
}

// served reports whether a proper request of a method was answered by a result.
func (r *run) served(method string) bool {
	for _, t := range r.traces {
		for req := range t.visit(t.sent) {
			if req.Kind == KindRequest && req.Method == method && t.Answer(req).OK() && !req.wrongOnPurpose() {
				return true
			}
		}
	}
	return false
}

func (r *run) close() {
	if r.session == nil {
		return
	}
	if r.session.Lost() != "" {
		r.lost++
		if !r.session.ended() {
			r.stuck++
		}
	}
	r.slow = r.slow || r.session.unstarted
	r.spent, r.hangs = r.spent || r.session.Impatient(), r.hangs || r.session.hangs
	t := r.session.Close()
	r.started = max(r.started, t.started())
	if f := t.culprit(); f != nil {
		r.avoid(f.Method, "the server answered nothing any more after it")
	}
	var died *Frame
	if b := t.broke(); b != nil && !b.hung && b.request != nil {
		died = b.request
	}
	r.mute = r.session.mute
	r.traces = append(r.traces, t)
	if died != nil {
		r.died(died)
	}
	r.session = nil
}
