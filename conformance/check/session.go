package check

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Limits bound what judging a server may cost, whatever the server does: what
// is not said to be of the run bounds one session. The zero value stands for
// the defaults.
type Limits struct {
	Start   time.Duration // until the first answer after a launch; 0 = 30 s
	Request time.Duration // until a request is answered; 0 = 10 s
	Tool    time.Duration // until a tool is done; 0 = 5 s
	Short   time.Duration // until a request is answered, once a full wait has passed in vain; 0 = 1 s
	Grace   time.Duration // how long silence is watched after a fence was answered; 0 = 200 ms
	Exit    time.Duration // until the server has ended after its input ended; 0 = 5 s
	Probe   time.Duration // until a probe is done, however much it sends; then its session is ended. 0 = 5 min
	Line    int           // bytes of a line that is still read as one; 0 = 16 MiB
	Bytes   int           // bytes of output that a session records; 0 = 64 MiB
	Events  int           // lines that a session records; 0 = 100,000
	Stderr  int           // bytes of stderr that are kept; 0 = 256 KiB

	// What all sessions record that were opened with limits of one OneRun:
	// when it is used up the sessions are ended, no others are opened, and
	// what was not seen until then is reported as blocked. Without OneRun each
	// session has it for itself.
	RunBytes  int // bytes of output; 0 = 256 MiB
	RunEvents int // lines, and members of arrays; 0 = 250,000

	run *budget
}

// OneRun gives limits whose bounds of the run are shared by all sessions that
// are opened with them. A run takes them once.
func (l Limits) OneRun() Limits {
	l.run = &budget{}
	return l
}

// budget is what the sessions of a run have recorded.
type budget struct {
	bytes, events atomic.Int64
	over          atomic.Bool
}

// add counts and reports whether it was within the limits.
func (b *budget) add(l *Limits, bytes, events int) bool {
	if b.bytes.Add(int64(bytes)) > int64(l.RunBytes) || b.events.Add(int64(events)) > int64(l.RunEvents) {
		b.over.Store(true)
	}
	return !b.over.Load()
}

func (b *budget) full() bool { return b != nil && b.over.Load() }

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		p *time.Duration
		v time.Duration
	}{{&l.Start, 30 * time.Second}, {&l.Request, 10 * time.Second}, {&l.Tool, 5 * time.Second}, {&l.Short, time.Second}, {&l.Grace, 200 * time.Millisecond}, {&l.Exit, 5 * time.Second}, {&l.Probe, 5 * time.Minute}} {
		if *d.p <= 0 {
			*d.p = d.v
		}
	}
	for _, n := range []struct {
		p *int
		v int
	}{{&l.Line, 16 << 20}, {&l.Bytes, 64 << 20}, {&l.Events, 100_000}, {&l.Stderr, 256 << 10}, {&l.RunBytes, 256 << 20}, {&l.RunEvents, 250_000}} {
		if *n.p <= 0 {
			*n.p = n.v
		}
	}
	if l.run == nil {
		l.run = &budget{}
	}
	return l
}

// Fences have ids of their own range, so that a reader of a recording knows
// them from probes.
const (
	firstFence = 7_000_000
	lastFence  = 8_000_000
)

// How long Close waits for a server that nobody needs any more. Whether it
// ends by itself is judged elsewhere.
const (
	politeEOF  = 300 * time.Millisecond
	politeTerm = time.Second
)

// keptText is how much of a line of free text is kept.
const keptText = 4 << 10

// keptStart is how much of a line is kept that is longer than a session reads.
const keptStart = 4 << 10

// Texts of the notes by which the driver tells checks how it waited.
const (
	noteSilent    = "silent "    // + id: a full wait ended without an answer, the server being alive
	noteGaveUp    = "gave up "   // + id: a short wait ended without an answer
	noteHung      = "hung"       // the server answered nothing any more within a full wait
	noteStalled   = "stalled"    // the same, within a short wait
	noteFlood     = "flood"      // the server wrote more than a session records
	noteFull      = "full"       // all sessions together recorded what a run may record
	noteUnread    = "unread"     // the server stopped reading its input
	noteAborted   = "aborted"    // the run was cancelled, or its time was over
	noteOverdue   = "overdue"    // a probe took longer than it may
	noteRefused   = "refused "   // + why: nobody listens at the address of the server any more
	noteLocked    = "locked"     // over HTTP the server lets nobody in without credentials
	noteUnstarted = "unstarted " // + duration: it answered nothing since its launch, in all the time for a start
	noteVain      = "in vain "   // + duration: the same, to the offer of the revision, for which the session stands
	noteUnended   = "unended"    // the newline of the next line came long after the rest of it
	noteUnsent    = "unsent "    // + method: why: it hung or ended the server before and was not sent again

	// After this session no other one was opened: probes were left out.
	noteGivenUp = "given up"
)

// SessionOptions say how a session is opened.
type SessionOptions struct {
	Profile            string // how the session is opened, kept in the recording
	Revision           string // the revision spoken
	ClientCapabilities string // JSON object of what this client declares; "" = {}
	Limits             Limits

	// What was learnt in other sessions with the same server.
	Impatient bool          // a full wait passed in vain
	Hangs     bool          // it was once found to answer nothing at all any more, within a full wait
	Unstarted bool          // it once answered nothing to a proper first request, though it starts fast
	Started   time.Duration // the longest it took to its first answer; 0 = not known
	// Hung are methods that it hung on, or ended on several times, with what is
	// said of that: they are not sent again. Frail are those of which only
	// requests that are wrong on purpose are left out.
	Hung, Frail map[string]string
	Mute        []string // methods that it never answered though it was alive
	NoPing      bool     // it answers no ping by a result
	// Schemas are the input schemas of tools, by name, for the headers that
	// they ask for; what the session lists itself comes first.
	Schemas map[string]wire.Raw
}

// link is how a session reaches its server.
type link interface {
	// lines sends messages, at once where that can be, and gives them as they
	// are recorded: nil for one that could not be sent.
	lines(texts ...string) []*Frame
	// chunks sends one message in pieces, where that can be.
	chunks(parts ...string) *Frame
	// settled reports whether nothing more can come for a request, with the
	// lock of the session held.
	settled(f *Frame) bool
	// closeInput and terminate ask the server to end; false where it did not,
	// or cannot be asked.
	closeInput() bool
	terminate() bool
	// kill ends the link at once, end as a polite client does. Both are safe
	// at any time.
	kill()
	end()
}

// Session drives one running server and records every byte that passes. Its
// methods never block longer than the limits allow and report no errors: what
// went wrong is in the recording, where the checks find it.
//
// A session is used by one goroutine.
type Session struct {
	limits     Limits
	link       link
	http       *httpLink // the link over HTTP, nil on stdio
	schemas    map[string]wire.Raw
	began      time.Time
	rev        string
	clientCaps string
	nextID     int64
	nextFence  int64
	readers    sync.WaitGroup
	started    time.Duration
	opening    bool // nothing was sent but what any session begins with
	unstarted  bool // it answered nothing since its launch, which may be its start
	strict     bool // that it does not answer what opens a session is not taken for its start
	hung       map[string]string
	frail      map[string]string
	hangs      bool
	wrong      bool // the step asks what is wrong on purpose
	mute       []string
	noPing     bool
	release    func() bool // lets go of the context
	quiet      bool        // a line was watched for an answer in vain

	mu       sync.Mutex
	trace    *Trace
	changed  chan struct{} // closed and replaced whenever something was recorded
	size     int
	events   int               // lines, and members of arrays
	replies  int               // answers to the server that wait to be written
	instead  map[string]string // results that are given instead of the usual ones, by method
	eof      bool              // the server closed its output
	gone     bool              // the server ended
	closed   bool              // nothing is recorded any more
	lost     string            // why the session is of no further use, "" while it is of use
	spent    bool              // a full wait has passed in vain
	answered bool              // something was answered: the server has started
}

// Open launches a server, or turns to one that runs, and starts to record it,
// until the session is closed or the context ends. The error says that the
// server could not be started; whatever happens later is in the recording.
func Open(ctx context.Context, target Target, o SessionOptions) (*Session, error) {
	if o.ClientCapabilities == "" {
		o.ClientCapabilities = "{}"
	}
	rec := &transcript.Recording{}
	rec.Set(transcript.FieldRevision, o.Revision)
	rec.Set(transcript.FieldTransport, string(target.Transport()))
	rec.Set(transcript.FieldSide, "server")
	rec.Set(fieldProfile, o.Profile)
	rec.Set(fieldCaps, o.ClientCapabilities)
	s := &Session{
		limits: o.Limits.withDefaults(), began: time.Now(), schemas: o.Schemas, rev: o.Revision, clientCaps: o.ClientCapabilities,
		nextID: 1, nextFence: firstFence,
		trace: NewTrace(rec), changed: make(chan struct{}), spent: o.Impatient,
		started: o.Started, hung: o.Hung, frail: o.Frail, hangs: o.Hangs, strict: o.Unstarted, mute: slices.Clone(o.Mute),
		noPing: o.NoPing,
	}
	switch target := target.(type) {
	case *Endpoint:
		rec.Set(FieldEndpoint, target.String())
		l, err := newHTTPLink(ctx, s, target)
		if err != nil {
			return nil, err
		}
		s.link, s.http = l, l
	case Launcher:
		c, err := target.Launch(ctx)
		if err != nil {
			return nil, err
		}
		linkStreams(s, c)
	default:
		return nil, fmt.Errorf("a target of type %T is neither started nor at a URL", target)
	}
	s.release = context.AfterFunc(ctx, s.abort)
	return s, nil
}

// abort ends a session whose context has ended: whoever waits goes on at once.
func (s *Session) abort() { s.cutShort("the run was cancelled", noteAborted) }

// refused ends a session whose server is not there any more.
func (s *Session) refused(why string) {
	s.mu.Lock()
	if s.lost == "" {
		s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(noteRefused + why)})
	}
	s.eof = true
	s.loseLocked("the server refuses connections: " + why)
	s.mu.Unlock()
}

// overdue ends a session whose probe has taken longer than it may.
func (s *Session) overdue() { s.cutShort("a probe took too long", noteOverdue) }

func (s *Session) cutShort(why, note string) {
	s.mu.Lock()
	if s.closed || s.trace.noted(note) {
		s.mu.Unlock()
		return
	}
	s.eof = true
	s.loseLocked(why)
	s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(note)})
	s.mu.Unlock()
	s.link.kill()
}

// Declare changes what the client declares, before anything was sent.
func (s *Session) Declare(caps string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clientCaps = caps
	s.trace.Recording.Set(fieldCaps, caps)
	s.trace.ClientCaps = wire.Raw(caps)
}

// Revision is the revision spoken.
func (s *Session) Revision() string { return s.rev }

// Trace is what was recorded so far. It must not be used before Close has
// returned, except through the methods of the session.
func (s *Session) Trace() *Trace { return s.trace }

// View calls f with the trace while nothing is recorded, for probes that
// depend on what came back.
func (s *Session) View(f func(t *Trace)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.trace)
}

// Lost says why the session is of no further use, "" while it is.
func (s *Session) Lost() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Impatient reports whether a full wait has passed in vain.
func (s *Session) Impatient() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent
}

// Step starts a named stretch of the session, by which checks find what
// belongs to them: "tools/unknown".
func (s *Session) Step(name string) {
	s.wrong = wrongOnPurpose(name)
	s.add(transcript.Event{Dir: transcript.Note, Kind: transcript.KindProbe, Data: []byte(name)})
}

// Note records a remark of the driver.
func (s *Session) Note(text string) { s.note(transcript.KindNote, text) }

func (s *Session) note(k transcript.Kind, text string) {
	s.add(transcript.Event{Dir: transcript.Note, Kind: k, Data: []byte(text)})
}

// add records an event and wakes who waits.
func (s *Session) add(e transcript.Event) *Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addLocked(e)
}

// addLocked is add with the lock held; nil once the session is closed, as its
// recording has been handed out then.
func (s *Session) addLocked(e transcript.Event) *Frame {
	if s.closed {
		return nil
	}
	e.Timed, e.At = true, time.Since(s.began)
	rec := s.trace.Recording
	rec.Events = append(rec.Events, e)
	f := s.trace.take(len(rec.Events) - 1)
	if f != nil && f.FromServer {
		for _, p := range f.parts() {
			s.answered = s.answered || p.Kind == KindResponse
		}
		if more := len(f.members); more > 0 {
			s.events += more
			s.limits.run.add(&s.limits, 0, more)
		}
	}
	s.wakeLocked()
	return f
}

// wakeLocked wakes who waits.
func (s *Session) wakeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Session) loseLocked(why string) {
	if s.lost == "" {
		s.lost = why
	}
}

// count holds the bounds of a session; a server that breaks them is ended.
func (s *Session) count(n int, line bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += n
	if line {
		s.events++
	}
	// Its own bounds come first: a server that writes without end is told so.
	own := s.size <= s.limits.Bytes && s.events < s.limits.Events
	run := s.limits.run.add(&s.limits, n, btoi(line))
	if own && run {
		return true
	}
	s.floodLocked(!own)
	return false
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// floodLocked ends a session that holds all it may: its own share or, if own
// is false, what was left of the run.
func (s *Session) floodLocked(own bool) {
	if s.lost != "" && s.eof {
		return
	}
	why, note := "the server wrote more than a session records", noteFlood
	if !own {
		why, note = "the run recorded as much as it may", noteFull
	}
	s.eof = true
	s.loseLocked(why)
	s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(note)})
	go s.link.kill()
}

// maxReplies is how many requests of the server may wait for their answer to
// be written: a server that asks more than that without reading never will.
const maxReplies = 1000

func (s *Session) received(e transcript.Event) bool {
	f := s.add(e)
	if f == nil || !f.FromServer {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Kind == KindResponse && s.http != nil {
		s.http.agreed(f)
	}
	if f.Kind != KindRequest {
		return true
	}
	if s.replies == maxReplies {
		s.floodLocked(true)
		return false
	}
	s.replies++
	// Answered on a goroutine of its own: the server may write without
	// reading, and its output has to be drained meanwhile.
	instead, late := s.instead[f.Method]
	caps := s.clientCaps
	s.readers.Go(func() {
		line := serve(f, caps)
		if late {
			// So late that a server which does not wait for it has gone on.
			time.Sleep(s.limits.Grace)
			line = resultLine(f, instead)
		}
		s.link.lines(string(line))
		s.mu.Lock()
		s.replies--
		s.mu.Unlock()
	})
	return true
}

// Line sends a line as it is, whatever it holds; a newline is added, or over
// HTTP it is posted.
func (s *Session) Line(text string) *Frame { return s.link.lines(text)[0] }

// Chunks sends one line in several writes, with a short pause between them so
// that they reach the server apart; over HTTP, where that says nothing, in one.
func (s *Session) Chunks(parts ...string) *Frame { return s.link.chunks(parts...) }

// Lines sends several lines in one write; over HTTP each is posted.
func (s *Session) Lines(texts ...string) []*Frame { return s.link.lines(texts...) }

// NextID gives a request id that this session has not used.
func (s *Session) NextID() string {
	id := s.nextID
	s.nextID++
	return strconv.FormatInt(id, 10)
}

// Ask sends a request without waiting. params is a JSON object or "" for none.
// In stateless revisions the metadata that each request must carry is put in;
// use AskWith or Line for a request that lacks it.
func (s *Session) Ask(method, params string) *Frame {
	return s.AskWith(s.NextID(), method, s.withMeta(params))
}

// AskWith sends a request with an id and params that are used as they are: id
// is a JSON value, params a JSON value or "" for none.
func (s *Session) AskWith(id, method, params string) *Frame {
	why := s.hung[method]
	if why == "" && s.wrong {
		why = s.frail[method]
	}
	if why != "" {
		s.Note(noteUnsent + method + ": " + why)
		return nil
	}
	return s.Line(RequestText(id, method, params))
}

// AskID is Ask with an id of the caller's, a JSON value.
func (s *Session) AskID(id, method, params string) *Frame {
	return s.AskWith(id, method, s.withMeta(params))
}

// Tell sends a notification. params is a JSON object or "" for none.
func (s *Session) Tell(method, params string) *Frame {
	return s.Line(NotificationText(method, params))
}

// Call is Ask and Await.
func (s *Session) Call(method, params string) *Frame {
	f := s.Ask(method, params)
	s.Await(f)
	return s.AnswerTo(f)
}

// AnswerTo is the answer to a request that has come so far, or nil.
func (s *Session) AnswerTo(f *Frame) (answer *Frame) {
	s.View(func(t *Trace) { answer = t.Answer(f) })
	return answer
}

// Meta is the metadata of a request of a stateless revision, as the text of
// the members between the braces of _meta.
func (s *Session) Meta() string { return metaOf(s.rev, s.clientCaps) }

func metaOf(rev, caps string) string {
	return `"io.modelcontextprotocol/protocolVersion":` + quote(rev) +
		`,"io.modelcontextprotocol/clientCapabilities":` + caps +
		`,"io.modelcontextprotocol/clientInfo":` + clientInfo
}

const clientInfo = `{"name":"goldwire-check","version":"1.0.0"}`

// WithMeta puts _meta, the text of an object's members, into params.
func WithMeta(params, members string) string {
	rest := strings.TrimSpace(params)
	if rest == "" {
		rest = "{}"
	}
	if rest = strings.TrimSpace(rest[1:]); rest != "}" {
		rest = "," + rest
	}
	return `{"_meta":{` + members + `}` + rest
}

func (s *Session) withMeta(params string) string {
	if !Modern(s.rev) {
		return params
	}
	// A probe that wants more metadata writes it without the required part.
	if p := wire.Raw(params); params != "" && p.Get("_meta").Kind() == wire.KindObject {
		meta := strings.TrimSpace(string(p.Get("_meta")))
		return strings.Replace(params, meta, "{"+joinMembers(s.Meta(), meta[1:len(meta)-1])+"}", 1)
	}
	return WithMeta(params, s.Meta())
}

func joinMembers(a, b string) string {
	if strings.TrimSpace(b) == "" {
		return a
	}
	return a + "," + b
}

// RequestText is the line of a request: id is a JSON value, params one or "".
func RequestText(id, method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":` + string(wire.Quote(method)) + params + `}`
}

// NotificationText is the line of a notification.
func NotificationText(method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","method":` + string(wire.Quote(method)) + params + `}`
}

// wait blocks until ok holds, the session is lost or the time is over; it
// reports whether ok holds. ok is called with the lock held.
func (s *Session) wait(d time.Duration, ok func() bool) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		s.mu.Lock()
		if ok() {
			s.mu.Unlock()
			return true
		}
		// Once the output has ended nothing can come any more.
		if s.eof {
			s.mu.Unlock()
			return false
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			s.mu.Lock()
			defer s.mu.Unlock()
			return ok()
		}
	}
}

// Pause lets time pass, shorter when the server ends its output.
func (s *Session) Pause(d time.Duration) { s.wait(d, func() bool { return false }) }

func (s *Session) isAnswered(f *Frame) bool {
	return f == nil || f.ID == nil || len(s.trace.loose[looseID(f.ID)]) > 0 || s.trace.carriedError(f) != nil
}

// isSettled reports whether a request is answered, or nothing can come for it
// any more. With the lock held.
func (s *Session) isSettled(f *Frame) bool {
	return s.isAnswered(f) || f != nil && s.link.settled(f)
}

// Await waits until all these requests are answered. Where one is not by half
// of the time, a fence tells whether the server is alive: if so the recording
// notes the silence when the time is over, if not the session is lost. It
// reports whether all were answered.
func (s *Session) Await(reqs ...*Frame) bool {
	every := func(ok func(*Frame) bool) func() bool {
		return func() bool { return !slices.ContainsFunc(reqs, func(f *Frame) bool { return !ok(f) }) }
	}
	over := func(f *Frame) bool { return s.isSettled(f) || s.trace.saidNothing(f) }
	all, settled := every(s.isAnswered), every(over)
	s.mu.Lock()
	limit, note := s.limits.Request, noteSilent
	if s.spent {
		limit, note = s.limits.Short, noteGaveUp
	}
	limit = s.patient(limit)
	s.mu.Unlock()
	// What the server never answered before is not waited for a second time.
	muted := func(f *Frame) bool { return f != nil && slices.Contains(s.mute, f.Method) }
	if slices.ContainsFunc(reqs, muted) {
		note = noteGaveUp
		s.wait(limit, func() bool {
			return !slices.ContainsFunc(reqs, func(f *Frame) bool { return !muted(f) && !s.isSettled(f) })
		})
		limit = s.limits.Grace
	}
	answered := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return all()
	}
	if s.Lost() != "" {
		return answered() // it cost its time already
	}
	half, full := limit/2, limit >= s.limits.Request
	deadline := time.Now().Add(limit)
	if s.wait(half, settled) {
		return answered()
	}
	if s.Lost() != "" || !s.fence(max(limit-half, s.limits.Short), full, reqs...) {
		return false
	}
	if s.wait(time.Until(deadline), settled) {
		return answered()
	}
	if s.Lost() != "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spent = true
	for _, f := range reqs {
		if !over(f) {
			s.muteLocked(f.Method)
			s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(note + string(f.ID))})
		}
	}
	return all()
}

// Patient is Await for a call of a tool, which may take long for good reasons:
// it is cancelled when its time is over, and says nothing then.
func (s *Session) Patient(f *Frame) bool {
	if f == nil {
		return false
	}
	if s.wait(min(s.limits.Tool, s.limits.Request), func() bool { return s.isSettled(f) }) {
		return s.AnswerTo(f) != nil
	}
	if s.Lost() != "" {
		return false
	}
	s.Tell("notifications/cancelled", `{"requestId":`+string(f.ID)+`}`)
	s.Note(noteGaveUp + string(f.ID))
	s.fenceNow()
	return false
}

// Fence sends a request and waits for its answer: what the server had to say
// to all that was sent before has then been said, by a server that answers in
// order; a short grace covers one that does not. It reports whether the server
// answered, and the session is lost if it did not.
func (s *Session) Fence() bool {
	if s.Lost() != "" || !s.fenceNow() {
		return false
	}
	s.Pause(s.limits.Grace)
	return true
}

// fenceNow is fence with all the time that there is for a request.
func (s *Session) fenceNow() bool {
	limit := s.fenceLimit()
	return s.fence(limit, limit >= s.limits.Request)
}

func (s *Session) fenceLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := s.limits.Request
	if s.spent {
		limit = max(s.limits.Short, 2*time.Second)
	}
	return s.patient(limit)
}

// patient is a limit with the time that a server takes to start in it, where
// it has answered nothing yet: the long limit for the start, unless it is
// known from other sessions how long that takes.
func (s *Session) patient(limit time.Duration) time.Duration {
	switch {
	case s.answered:
		return limit
	case s.started > 0 && !(s.opening && s.http == nil):
		return max(limit, min(s.limits.Start, 3*s.started+time.Second))
	}
	return max(limit, s.limits.Start)
}

// starting reports whether a server that answered nothing may still be on its
// start: a process that took long for it before, or one that did not and has
// been asked nothing but what opens a session, the first time that this
// happens. With the lock held.
func (s *Session) starting() bool {
	return !s.answered && s.http == nil && (3*s.started > s.limits.Start || s.opening && !s.strict)
}

// fence asks for something that costs nothing and waits for the answer. What
// stays unanswered may be the fault of that one method: before the server is
// called dead it is asked for something else, in the last part of the time. The
// methods of waiting, requests without an answer so far, prove nothing and are
// not asked for; an answer to one of them is as good as that to the fence. full
// says that the server had all the time that it may have. It gets that in any
// case, unless it is known to hang: one that works on what takes it long is not
// dead, and a short wait in vain may have been for what it never answers.
func (s *Session) fence(limit time.Duration, full bool, waiting ...*Frame) bool {
	if !full && !s.hangs {
		limit, full = max(limit, s.limits.Request), true
	}
	var sent, open []*Frame
	s.mu.Lock()
	for _, f := range waiting {
		if f != nil && !s.isSettled(f) {
			open = append(open, f)
		}
	}
	s.mu.Unlock()
	methods := s.fenceMethods(waiting)
	last := min(limit/2, max(s.limits.Short, limit/4))
	for i, method := range methods {
		wait := limit
		switch {
		case i > 0:
			wait = last
		case len(methods) > 1:
			wait = limit - last
		}
		id := strconv.FormatInt(s.nextFence, 10)
		s.nextFence++
		f := s.AskID(id, method, "")
		if f == nil { // the server is gone
			return false
		}
		if s.wait(wait, func() bool { return s.isSettled(f) || slices.ContainsFunc(open, s.isSettled) }) && s.Lost() == "" {
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, before := range sent {
				if s.isSettled(before) || !s.isSettled(f) {
					continue
				}
				s.spent = true
				s.muteLocked(before.Method)
				note := noteSilent
				if !full {
					note = noteGaveUp
				}
				s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(note + string(before.ID))})
			}
			return true
		}
		if s.Lost() != "" {
			return false
		}
		sent = append(sent, f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == "" && s.starting() {
		s.unstarted = true
		s.lost = "the server did not start in time"
		s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(noteUnstarted + s.limits.Start.String())})
		return false
	}
	s.spent = true
	if s.lost == "" {
		s.lost = fmt.Sprintf("the server answered nothing any more for %v", limit)
		note := noteHung
		if !full {
			note = noteStalled
		}
		s.hangs = true
		s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(note)})
	}
	return false
}

// fenceMethods are the methods that a fence asks for, one after the other
// until one is answered: the usual one and a list.
func (s *Session) fenceMethods(waiting []*Frame) []string {
	usual := usualFence(s.rev)
	vain := func(method string) bool {
		return slices.Contains(s.mute, method) ||
			slices.ContainsFunc(waiting, func(f *Frame) bool { return f != nil && f.Method == method && !s.isAnswered(f) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	other := s.listLocked(vain)
	switch {
	case other == "":
		return []string{usual}
	case vain(usual):
		return []string{other}
	}
	return []string{usual, other}
}

// listLocked is the first list of a feature that the server declares, of a list
// that any server has to refuse where it declares none; "" where the server
// hangs on them or leaves them unanswered.
func (s *Session) listLocked(vain func(method string) bool) string {
	facts := FactsOf(s.rev, []*Trace{s.trace})
	for _, declared := range []bool{true, false} {
		for _, l := range Lists {
			if facts.Has(l.Capability) == declared && s.hung[l.Method] == "" && !vain(l.Method) {
				return l.Method
			}
		}
	}
	return ""
}

func (s *Session) muteLocked(method string) {
	if !slices.Contains(s.mute, method) {
		s.mute = append(s.mute, method)
	}
}

// tryPing finds out whether a ping is answered by a result: where it is not,
// other requests have to stand for the cheap one that every server answers.
func (s *Session) tryPing() {
	a := s.Call("ping", "")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noPing = !a.OK() && s.lost == ""
}

// Provoke sends a line that a server may answer, refuse without an id, or
// ignore, and watches what happens: up to the answer when it has an id and is
// answered, else behind a fence and a grace. It reports whether the server is
// alive afterwards.
func (s *Session) Provoke(line string) bool {
	f := s.Line(line)
	if f == nil {
		return false
	}
	return s.Settle(f)
}

// Settle is the second half of Provoke, for lines that were sent already.
func (s *Session) Settle(fs ...*Frame) bool {
	if s.Lost() != "" || !s.fenceNow() {
		return false
	}
	// A fence that overtook an answer is no proof: give what could still be
	// answered some more time before it counts as silence. A server that let
	// the whole time pass once gets less from then on.
	watch := max(s.limits.Grace, settleTime)
	if s.quiet {
		watch = s.limits.Grace
	}
	s.quiet = !s.wait(watch, func() bool {
		for _, f := range fs {
			if !s.reacted(f) {
				return false
			}
		}
		return true
	}) || s.quiet
	return s.Lost() == ""
}

// settleTime is how long a line that nothing came back for is watched after
// the fence behind it was answered.
const settleTime = 500 * time.Millisecond

func (s *Session) reacted(f *Frame) bool {
	if f == nil || s.link.settled(f) || f.ID != nil && f.ID.Kind() != wire.KindNull && s.isAnswered(f) {
		return true
	}
	return len(s.trace.unattributed(f.Index, -1)) > 0
}

// CloseInput ends the server's input and waits until it has ended, within the
// limit. It reports whether it ended by itself; false where it has no input.
func (s *Session) CloseInput() bool { return s.link.closeInput() }

// Terminate asks the server to end and waits, within the limit; it reports
// false where the server is none of ours to end.
func (s *Session) Terminate() bool { return s.link.terminate() }

// Close ends the session, and a server that was started for it however that
// takes, and returns the whole recording.
func (s *Session) Close() *Trace {
	if !s.release() {
		s.abort() // what ended the server must not be missing where it was quicker
	}
	s.link.end()
	s.readers.Wait()
	s.mu.Lock()
	s.closed = true // what was to cut the session short may be on its way yet
	s.mu.Unlock()
	return s.trace
}

// ended reports whether the server closed its output.
func (s *Session) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eof
}

// Reply sets what requests of the server for a method are answered with from
// now on, a moment after they came; "" is what they are answered with usually.
func (s *Session) Reply(method, result string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if result == "" {
		delete(s.instead, method)
		return
	}
	if s.instead == nil {
		s.instead = map[string]string{}
	}
	s.instead[method] = result
}

func resultLine(req *Frame, result string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + string(req.ID) + `,"result":` + result + `}`)
}

// serve answers a request of the server, so that none waits for this client,
// which declares caps.
func serve(f *Frame, caps string) []byte {
	reply := func(result string) []byte { return resultLine(f, result) }
	declared := func(name string) bool { return wire.Raw(caps).Get(name) != nil }
	switch {
	case f.Method == "ping":
		return reply(`{}`)
	case f.Method == "roots/list" && declared("roots"):
		return reply(`{"roots":[]}`)
	case f.Method == "sampling/createMessage" && declared("sampling"):
		return reply(`{"role":"assistant","content":{"type":"text","text":"This is a stand-in for a model."},"model":"none","stopReason":"endTurn"}`)
	case f.Method == "elicitation/create" && declared("elicitation"):
		return reply(`{"action":"decline"}`)
	}
	return []byte(`{"jsonrpc":"2.0","id":` + string(f.ID) + `,"error":{"code":-32601,"message":"Method not found"}}`)
}
