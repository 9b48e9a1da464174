// Package replay plays one side of a transcript against a real peer and
// records what happened.
//
// The lines of the side that is played are sent in the order of the
// transcript, each one when all the peer's lines above it have come (of its
// notifications, or have not come in time); lines that stand together are sent
// together. The peer's lines are matched as they
// come (package match):
//
//   - an answer by the id of its request, in any order among other answers;
//   - a request or notification by its method, in order within its stream:
//     the lines of one exchange number, else the notifications about one
//     request (its progress, its subscription) together with its answer, else
//     all other notifications, else all requests;
//   - what is no message by its bytes.
//
// Ids and progress tokens that the peer chooses are mapped to those of the
// transcript, wherever they come again; and in a recording, where no placeholder
// says so, cursors, states and the ids of tasks. There points in time may differ,
// and answers may come earlier. Members of _meta that only say who
// speaks (client and server info, trace context) may be there although the
// transcript does not have them. A batch is taken apart, on both sides.
//
// Lines in the direction of the peer may hold placeholders too, so that one
// transcript plays both ways: see match.Pattern.Fill. A transcript that has
// the field "recorded" holds none.
//
// What the carrier said is left out, and so are requests that HTTP itself
// refused, so a transcript of HTTP traffic plays
// over a stream of lines, unless its field "transport" says that it cannot.
// Notes are obeyed: "eof" closes the way to the peer or waits for the peer to
// do so, "sent" sends a signal, "exit" and "signal" say how the peer has to
// end. Bytes go to and from the peer as they are, never through a framer that
// would repair them.
package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Options of a replay; the zero value works.
type Options struct {
	// Timeout is how long the next awaited line may take, and how long a
	// write may; 0 is 10 s. Once a notification has not come, others get 2 s at
	// most. The context bounds the whole.
	Timeout time.Duration

	// Redacted plays a transcript although secrets were replaced in it.
	Redacted bool

	// AllowExtra, when set, is asked about each line that the transcript
	// does not have: true leaves it out of the problems. method is "" for an
	// answer and for what is no message.
	AllowExtra func(method string) bool

	// Recorder options of the outcome's recording. Fields are set by the
	// replay, Watch is not called.
	Recorder transcript.RecorderOptions
}

// Server plays the client's side of a transcript to a server, with the
// default options; see Options.Server.
func Server(ctx context.Context, rec *transcript.Recording, l Link) (*Outcome, error) {
	return Options{}.Server(ctx, rec, l)
}

// Client plays the server's side of a transcript to a client, with the
// default options; see Options.Client.
func Client(ctx context.Context, rec *transcript.Recording, l Link) (*Outcome, error) {
	return Options{}.Client(ctx, rec, l)
}

// Server plays the '>' lines of a transcript to a server and matches its '<'
// lines. At the end the server's input is closed, and what it still says
// counts. The error says that the transcript cannot be played or the server
// not be started or reached; what the server did wrong is in the outcome.
func (o Options) Server(ctx context.Context, rec *transcript.Recording, l Link) (*Outcome, error) {
	return o.play(ctx, rec, l, transcript.ToServer)
}

// Client plays the '<' lines of a transcript to a client and matches its '>'
// lines. A request that the transcript does not have is answered by an error. At the end the client's input is closed, unless the transcript has
// the client close first ("! eof >"). For the error see Server.
func (o Options) Client(ctx context.Context, rec *transcript.Recording, l Link) (*Outcome, error) {
	return o.play(ctx, rec, l, transcript.ToClient)
}

// Errors that say why a transcript is not played.
var (
	ErrRedacted  = errors.New("secrets were replaced in the transcript, so that it is not what was on the wire")
	ErrTransport = errors.New("the transcript needs another transport")
)

// Fits reports whether a transcript may be played over a transport (stdio, http
// or sse): its field "transport" names those that it is for, separated by
// spaces, and none or any is all. What a recorder wrote plays over every one.
func Fits(rec *transcript.Recording, transport string) bool {
	t := strings.Fields(rec.Get(transcript.FieldTransport))
	return len(t) == 0 || t[0] == "any" || slices.Contains(t, transport) || rec.Get(transcript.FieldRecorded) != ""
}

func (o Options) play(ctx context.Context, rec *transcript.Recording, l Link, mine transcript.Dir) (*Outcome, error) {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if rec.Redacted() && !o.Redacted {
		return nil, ErrRedacted
	}
	over := "stdio"
	http, _ := l.(httpLink)
	if http != nil {
		over = http.transport()
	}
	if !Fits(rec, over) {
		return nil, fmt.Errorf("%w: %s", ErrTransport, rec.Get(transcript.FieldTransport))
	}
	p := &player{o: o, link: l, http: http, mine: mine, theirs: mine.Reverse(), ids: newIDs(), bound: match.Bindings{}, golden: rec}
	if err := p.plan(rec); err != nil {
		return nil, err
	}
	p.in.wake = make(chan struct{}, 1)
	ro := o.Recorder
	if ro.MaxBytes == 0 {
		ro.MaxBytes = 64 << 20
	}
	ro.Watch = p.in.put(p.theirs)
	ro.Fields = []transcript.Field{}
	for _, f := range rec.Fields {
		switch f.Name {
		case transcript.FieldRevision, transcript.FieldRequirement:
			ro.Fields = append(ro.Fields, transcript.Field{Name: f.Name, Value: f.Value})
		}
	}
	ro.Fields = append(ro.Fields,
		transcript.Field{Name: transcript.FieldTransport, Value: over},
		transcript.Field{Name: transcript.FieldRecorded, Value: "replay"})
	p.rec = transcript.NewRecorder(ro)
	p.tap = p.rec.Tap(mine)
	if err := l.Start(p.rec.Tap(p.theirs), p.rec.Stderr()); err != nil {
		return nil, err
	}
	p.run(ctx)
	p.finish(ctx)
	if p.unreached != nil {
		return nil, p.unreached
	}
	p.out.Recording = p.rec.Recording()
	p.out.Updated = p.update()
	return &p.out, nil
}

// player is one replay. All of it but the inbox belongs to one goroutine.
type player struct {
	o            Options
	link         Link
	http         httpLink // the link, where it is one over HTTP
	mine, theirs transcript.Dir
	rec          *transcript.Recorder
	tap          io.WriteCloser // records what we send
	in           inbox

	literal bool // nothing in the transcript is a placeholder
	steps   []step
	pos     int     // next step
	burst   int     // steps below it are done without waiting; see advance
	pending []*want // lines awaited, in the order of the transcript
	ids     *ids
	bound   match.Bindings

	golden  *transcript.Recording
	extras  []extraLine
	unasked [][]byte // answers to requests of a client that the transcript does not have

	quiet   bool // a notification did not come
	closed  bool // we closed our direction
	eof     bool // the peer closed its
	stopped bool
	out     Outcome

	unreached error // nobody is there to say anything to
}

// step is one event of the transcript that does something.
type step struct {
	event  int // its index
	line   string
	do     stepKind
	data   []byte  // send
	said   carried // send: by the carrier
	whole  bool    // send: with a newline
	wants  []*want // expect
	signal string
}

type stepKind uint8

const (
	send stepKind = iota
	expect
	closeMine
	expectEnd // the peer closes its direction
	sendSignal
	expectExit
)

// want is one value that the peer is to send: a line, or a member of a batch.
type want struct {
	event   int
	line    string
	step    int
	pattern *match.Pattern // nil: the bytes of text
	text    string
	msg     message
	stream  string
	end     bool // not a line: the end of the peer's output
	done    bool
	now     []byte // what came in its place; nil when that was as it says, or nothing
	came    bool
}

// plan turns the events into steps.
func (p *player) plan(rec *transcript.Recording) error {
	literal := rec.Get(transcript.FieldRecorded) != ""
	p.literal, p.ids.literal = literal, literal
	heads := map[int]carried{}
	carriers := ofCarrier(rec)
	if p.http != nil {
		for x := range rec.Exchanges() {
			c := carried{header: x.ResponseHeader, status: x.Status}
			if p.mine == transcript.ToServer {
				c.header = x.Header
			}
			heads[x.Number] = c
		}
	}
	asked := map[string]string{} // progress token → id of the request that asks, both as keys
	for i := range rec.Events {
		e := &rec.Events[i]
		fail := func(err error) error { return fmt.Errorf("event %d, %s: %w", i, short(e.Line()), err) }
		if e.Carrier || carriers[i] || p.http != nil && e.Dir == transcript.Note { // HTTP has no pipes and processes
			continue
		}
		st := step{event: i, line: e.Line()}
		switch {
		case e.Dir == transcript.Note:
			switch e.Kind {
			case transcript.KindEOF:
				st.do = closeMine
				if e.Closed() == p.theirs {
					st.do = expectEnd
					st.wants = []*want{{event: i, line: st.line, step: len(p.steps), end: true}}
				}
			case transcript.KindSent:
				st.do, st.signal = sendSignal, string(e.Data)
			case transcript.KindExit, transcript.KindSignal:
				st.do = expectExit
			default:
				continue
			}
		case e.Length != 0:
			return fail(errors.New("only the start of the line was kept"))
		case e.Exchange > 0 && len(e.Data) == 0:
			continue // an SSE event without data: there is no such line on a stream
		case e.Dir == p.mine:
			st.do, st.data, st.whole, st.said = send, e.Data, !e.Partial, heads[e.Exchange]
		default:
			st.do = expect
			ws, err := wants(e.Data, literal)
			if err != nil {
				return fail(err)
			}
			for _, w := range ws {
				w.event, w.line, w.step = i, st.line, len(p.steps)
				w.stream = stream(&w.msg, e.Exchange, asked)
			}
			st.wants = ws
		}
		if st.do == send {
			if v, err := wire.ParseRaw(e.Data); err == nil {
				if _, err := pattern(v, literal); err != nil {
					return fail(err)
				}
				for _, v := range parts(v) {
					if m := look(v, !literal); m.class == request && m.token != "" {
						asked[m.token] = m.id
					}
				}
			}
		}
		p.steps = append(p.steps, st)
	}
	return nil
}

func pattern(v wire.Raw, literal bool) (*match.Pattern, error) {
	if literal {
		return match.Literal(v)
	}
	return match.Parse(v)
}

// ofCarrier are the events of bodies in which nothing of the protocol is said:
// of requests that HTTP itself refused (there is no such session, transport or
// method), and the address to post to of HTTP+SSE.
func ofCarrier(rec *transcript.Recording) map[int]bool {
	out := map[int]bool{}
	for x := range rec.Exchanges() {
		refused := x.Status >= 300 && !slices.ContainsFunc(x.Messages, func(m transcript.SSEEvent) bool {
			v, err := wire.ParseRaw(bytes.TrimSpace(m.Data))
			return err == nil && v.Kind() == wire.KindObject
		})
		if refused && x.BodyIndex >= 0 {
			out[x.BodyIndex] = true
		}
		for _, m := range x.Messages {
			if refused || m.Event == "endpoint" {
				out[m.Index] = true
			}
		}
	}
	return out
}

// parts takes a batch apart; everything else is its own only part.
func parts(v wire.Raw) []wire.Raw {
	if v.Kind() != wire.KindArray {
		return []wire.Raw{v}
	}
	var vs []wire.Raw
	for m := range v.Elems() {
		vs = append(vs, m)
	}
	if vs == nil {
		return []wire.Raw{v}
	}
	return vs
}

// wants reads a line that the peer is to send.
func wants(data []byte, literal bool) ([]*want, error) {
	v, err := wire.ParseRaw(data)
	if err != nil {
		return []*want{{text: string(data), msg: message{class: textLine}}}, nil
	}
	var ws []*want
	for _, v := range parts(v) {
		pat, err := pattern(v, literal)
		if err != nil {
			return nil, err
		}
		ws = append(ws, &want{pattern: pat, msg: look(v, !literal)})
	}
	return ws, nil
}

// stream names the stream whose order a line of the peer belongs to.
func stream(m *message, exchange int, asked map[string]string) string {
	switch {
	case exchange > 0:
		return "x" + strconv.Itoa(exchange)
	case m.class == response:
		return "r" + m.id
	case m.class == notification && m.sub != "":
		return "r" + m.sub
	case m.class == notification && m.token != "":
		if id, ok := asked[m.token]; ok {
			return "r" + id
		}
		return "p" + m.token
	case m.class == notification:
		return "n"
	case m.class == request:
		return "q"
	}
	return "t"
}

func (p *player) problem(pr Problem) {
	if n := len(p.out.Problems); n == 100 {
		p.out.More++
		if pr.Kind == Stopped { // what ended it is always told
			p.out.Problems[n-1] = pr
		}
		return
	}
	p.out.Problems = append(p.out.Problems, pr)
}

func (p *player) stop(event int, line string, err error) {
	p.problem(Problem{Kind: Stopped, Event: event, Golden: line, Seen: -1, Err: err})
	p.stopped = true
}

// run goes through the steps until all is done or nothing more can be.
func (p *player) run(ctx context.Context) {
	for {
		p.advance(ctx)
		if p.stopped || p.pos == len(p.steps) && len(p.pending) == 0 {
			return
		}
		s, err := p.next(ctx)
		if err != nil {
			if !p.goOn(err) {
				p.missing(err)
				return
			}
			continue
		}
		p.take(s)
		p.refuse(ctx)
		if p.eof && len(p.pending) > 0 {
			p.missing(errors.New("the peer closed its output"))
			return
		}
	}
}

// advance does the steps up to one that has to wait for the peer. Lines of
// ours that stand together are a burst: none of them waits, and from the first
// one on the lines that follow the burst may come, for the peer may answer the
// first line before we have sent the last.
func (p *player) advance(ctx context.Context) {
	for p.pos < len(p.steps) && !p.stopped {
		st := &p.steps[p.pos]
		switch st.do {
		case expect, expectEnd:
			if p.pos >= p.burst {
				p.await(st)
			}
			p.pos++
			continue
		case expectExit: // judged at the end
			p.pos++
			continue
		}
		if p.pos >= p.burst {
			if len(p.pending) > 0 {
				return
			}
			// What has come by now came before this line was sent.
			p.drainInbox()
			i := p.pos
			for i < len(p.steps) && p.steps[i].do.ours() {
				i++
			}
			for i < len(p.steps) && !p.steps[i].do.ours() {
				p.await(&p.steps[i])
				i++
			}
			p.burst = i
		}
		switch st.do {
		case send:
			p.send(ctx, st)
		case closeMine:
			p.close()
		case sendSignal:
			s, ok := signalByName(st.signal)
			err := fmt.Errorf("this system has no signal %s", st.signal)
			if ok {
				if err = p.link.Signal(s); err == nil {
					p.rec.Note(0, transcript.KindSent, st.signal)
				}
			}
			if err != nil {
				p.stop(st.event, st.line, err)
			}
		}
		p.pos++
	}
}

// ours reports whether we do the step; the peer does the others.
func (k stepKind) ours() bool { return k == send || k == closeMine || k == sendSignal }

// await adds the lines of a step to those that are awaited.
func (p *player) await(st *step) {
	for _, w := range st.wants {
		if w.end && p.eof {
			w.done = true
		}
		if !w.done {
			p.pending = append(p.pending, w)
		}
	}
}

func (p *player) drainInbox() {
	for s, ok := p.in.get(); ok; s, ok = p.in.get() {
		p.take(s)
	}
}

// close closes our direction, once.
func (p *player) close() {
	if !p.closed {
		p.closed = true
		_ = p.tap.Close()
		_ = p.link.CloseWrite()
	}
}

// refuse answers what a client asks besides, or it would wait.
func (p *player) refuse(ctx context.Context) {
	for _, line := range p.unasked {
		line = append(line, '\n')
		_, _ = p.tap.Write(line)
		if err := p.write(ctx, line, carried{}); err != nil {
			p.stop(-1, "", err)
			break
		}
	}
	p.unasked = nil
}

var element = regexp.MustCompile(`^\[(\d+)\]\.?`)

// send sends one line of the transcript, with what the peer chose put in.
func (p *player) send(ctx context.Context, st *step) {
	data := st.data
	if v, err := wire.ParseRaw(data); err == nil {
		pat, err := pattern(v, p.literal)
		if err != nil {
			p.stop(st.event, st.line, err)
			return
		}
		vs := parts(v)
		batch := v.Kind() == wire.KindArray
		ms := make([]message, len(vs))
		for i, v := range vs {
			ms[i] = look(v, !p.literal)
			if ms[i].class == request {
				p.ids.mine[ms[i].id] = true
			}
		}
		filled, err := pat.Fill(p.bound, func(path string, v wire.Raw) wire.Raw {
			i := 0
			if batch {
				sub := element.FindStringSubmatch(path)
				if sub == nil {
					return nil
				}
				i, _ = strconv.Atoi(sub[1])
				path = path[len(sub[0]):]
			}
			if i >= len(ms) {
				return nil
			}
			return p.ids.translate(&ms[i])(path, v)
		})
		if err != nil {
			p.stop(st.event, st.line, err)
			return
		}
		data = filled
	}
	line := append([]byte{}, data...)
	if st.whole {
		line = append(line, '\n')
	}
	_, _ = p.tap.Write(line)
	if err := p.write(ctx, line, st.said); err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && p.out.Sent == 0 {
			p.unreached = err
		}
		if p.peerGone() {
			err = fmt.Errorf("the peer had ended: %w", err)
		}
		p.stop(st.event, st.line, err)
		return
	}
	p.out.Sent++
}

// write writes in the time allowed: a peer that does not read must not hang
// the replay.
func (p *player) write(ctx context.Context, line []byte, said carried) error {
	done := make(chan error, 1)
	go func() {
		if p.http != nil {
			done <- p.http.send(bytes.TrimSuffix(line, []byte("\n")), said)
			return
		}
		_, err := p.link.Write(line)
		done <- err
	}()
	t := time.NewTimer(p.o.Timeout)
	defer t.Stop()
	select {
	case err := <-done:
		return err
	case <-t.C:
		return fmt.Errorf("the peer did not read for %v", p.o.Timeout)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// peerGone reports whether the peer's output has ended, and takes note of it.
func (p *player) peerGone() bool { return p.eof || p.in.ended() }

// silence says that nothing came for a time.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("nothing came for %v", time.Duration(s)) }

// next waits for what the peer says next. Once a notification has not come,
// others are not waited for as long.
func (p *player) next(ctx context.Context) (seen, error) {
	limit := p.o.Timeout
	if p.quiet && p.needless() {
		limit = min(limit, patience)
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	for {
		if s, ok := p.in.get(); ok {
			return s, nil
		}
		select {
		case <-p.in.wake:
		case <-t.C:
			return seen{}, silence(limit)
		case <-ctx.Done():
			return seen{}, ctx.Err()
		}
	}
}

// needless reports whether the replay can do without what is awaited: nothing
// of ours builds on a notification.
func (p *player) needless() bool {
	return len(p.pending) > 0 && !slices.ContainsFunc(p.pending, func(w *want) bool { return w.end || w.msg.class != notification })
}

// goOn reports what is awaited and does not come, where the replay can do
// without.
func (p *player) goOn(err error) bool {
	if _, silent := errors.AsType[silence](err); !silent || !p.needless() {
		return false
	}
	p.quiet = true
	p.reportMissing(err)
	for _, w := range p.pending {
		w.done = true
	}
	p.pending = nil
	return true
}

// missing reports all that is awaited, and ends the replay.
func (p *player) missing(err error) {
	p.reportMissing(err)
	if len(p.pending) == 0 {
		p.stop(-1, "", err)
	}
	p.stopped = true
}

func (p *player) reportMissing(err error) {
	for _, w := range p.pending {
		p.problem(Problem{Kind: Missing, Event: w.event, Golden: w.line, Seen: -1, Err: err})
	}
}

// take matches what the peer said.
func (p *player) take(s seen) {
	if s.end {
		p.eof = true
		for i, w := range p.pending {
			if w.end {
				w.done = true
				p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
				break
			}
		}
		return
	}
	e := &s.event
	if e.Length != 0 {
		p.extra(s, message{}, errors.New("the line is too long to be kept"))
		return
	}
	if e.Partial {
		p.problem(Problem{Kind: Mismatch, Event: -1, Seen: s.index, Got: e.Line(), Err: errors.New("the peer's output ended before the line did")})
	}
	v, err := wire.ParseRaw(e.Data)
	if err != nil {
		p.matchOne(s, nil, message{class: textLine})
		return
	}
	for _, v := range parts(v) {
		p.matchOne(s, v, look(v, false))
	}
}

// extra reports a line that the transcript does not have, unless it is allowed.
func (p *player) extra(s seen, m message, err error) (reported bool) {
	if p.o.AllowExtra != nil && p.o.AllowExtra(m.method) {
		return false
	}
	if len(p.extras) == maxExtra {
		if !p.stopped {
			p.stop(-1, "", fmt.Errorf("the peer says more than the transcript has, %d times so far", maxExtra))
		}
		return false
	}
	p.problem(Problem{Kind: Extra, Event: -1, Seen: s.index, Got: s.event.Line(), Err: err})
	p.extras = append(p.extras, extraLine{at: min(max(p.pos, p.burst), len(p.steps)), event: s.event})
	return true
}

// fits reports whether w could be the line for m.
func (w *want) fits(m *message) bool {
	if w.end || w.done || w.msg.class != m.class {
		return false
	}
	switch m.class {
	case request, notification:
		return w.msg.method == m.method || w.msg.method == "" && w.msg.wild
	case response:
		return w.msg.id == m.id || w.msg.wild
	}
	return true
}

// matchOne matches one value of the peer: a line, or a member of a batch.
func (p *player) matchOne(s seen, v wire.Raw, m message) {
	if m.class == request && m.id != "" {
		if p.ids.used[m.id] {
			p.problem(Problem{Kind: Mismatch, Event: -1, Seen: s.index, Got: s.event.Line(), Err: errors.New("the id was used before by this side")})
		}
		p.ids.used[m.id] = true
	}
	var best *want
	var bestErr error
	for _, w := range p.pending {
		if !w.fits(&m) {
			continue
		}
		err := p.compare(w, s, v, m)
		if err == nil {
			p.matched(w, s)
			return
		}
		if best == nil || count(err) < count(bestErr) {
			best, bestErr = w, err
		}
	}
	if best != nil {
		p.settle(best)
		best.came = true
		best.now = p.updated(best, s, v, m)
		if best.pattern != nil { // what it is called by is the same, whatever else differs
			var f found
			_ = best.pattern.Match(v, p.matching(&m, &f))
			p.ids.keep(&f)
		}
		p.problem(Problem{Kind: Mismatch, Event: best.event, Golden: best.line, Seen: s.index, Got: s.event.Line(), Err: bestErr})
		return
	}
	// Perhaps it came too early: before a line of ours that stands above it.
	from := max(p.pos, p.burst)
	for i := from; i < len(p.steps); i++ {
		for _, w := range p.steps[i].wants {
			if !w.fits(&m) || p.compare(w, s, v, m) != nil {
				continue
			}
			w.done, w.came = true, true
			p.out.Matched++
			if p.literal {
				return // how fast it was then says nothing
			}
			after := ""
			for j := from; j < i; j++ {
				if p.steps[j].do.ours() {
					after = p.steps[j].line
					break
				}
			}
			p.problem(Problem{Kind: Order, Event: w.event, Golden: w.line, Seen: s.index, Got: s.event.Line(),
				Err: fmt.Errorf("it came before it was due: %s was not yet sent", short(after))})
			return
		}
	}
	why := p.whyExtra(&m)
	if p.extra(s, m, why) && m.class == request && p.mine == transcript.ToClient {
		p.unasked = append(p.unasked, unrecorded(v.Get("id"), why))
	}
}

// whyExtra says what is known about a line that nothing waits for.
func (p *player) whyExtra(m *message) error {
	switch {
	case m.class == response && m.id == "":
		return errors.New("the transcript has no answer without an id here")
	case m.class == response && !p.ids.mine[m.id]:
		return errors.New("it answers a request that was never sent")
	case m.class == response:
		return errors.New("the transcript has no answer, or no second one, to that request")
	case m.class == textLine:
		return errors.New("it is not JSON")
	case m.method != "":
		return fmt.Errorf("the transcript has no %s here", m.method)
	}
	return errors.New("it is no message")
}

func count(err error) int {
	var e *match.Error
	if errors.As(err, &e) {
		return e.Count()
	}
	return 1 << 30
}

// compare matches a value against a want, and keeps what it tells when they
// match.
func (p *player) compare(w *want, s seen, v wire.Raw, m message) error {
	if w.pattern == nil {
		if got := string(s.event.Data); got != w.text {
			return fmt.Errorf("want the bytes %s, got %s", strconv.Quote(short(w.text)), strconv.Quote(short(got)))
		}
		return nil
	}
	var f found
	err := w.pattern.Match(v, p.matching(&m, &f))
	if err == nil {
		p.ids.keep(&f)
	}
	return err
}

// matching are the options of a match, which tells f.
func (p *player) matching(m *message, f *found) match.Options {
	return match.Options{Bindings: p.bound, Special: p.ids.same(m, f), Volatile: onlyVolatile}
}

// settle takes a want off the list of those awaited.
func (p *player) settle(w *want) {
	w.done = true
	for i, x := range p.pending {
		if x == w {
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			return
		}
	}
}

// matched settles a want whose line came, and checks the order in its stream.
func (p *player) matched(w *want, s seen) {
	for _, x := range p.pending {
		if x == w {
			break
		}
		if x.stream == w.stream && !x.end {
			p.problem(Problem{Kind: Order, Event: w.event, Golden: w.line, Seen: s.index, Got: s.event.Line(),
				Err: fmt.Errorf("it came before a line that comes first in its stream: %s", short(x.line))})
			break
		}
	}
	p.settle(w)
	w.came = true
	p.out.Matched++
}

// finish closes the link, hears the peer out and judges how it ended.
func (p *player) finish(ctx context.Context) {
	for i := p.pos; i < len(p.steps); i++ {
		if st := &p.steps[i]; st.do == send || st.do == expect {
			p.out.Unplayed++
		}
	}
	p.close()
	if !p.stopped {
		p.drain(ctx)
	}
	defer func() {
		if p.http != nil {
			for _, w := range p.http.wrongs() {
				p.problem(Problem{Kind: Mismatch, Event: -1, Seen: -1, Err: errors.New(w)})
			}
		}
	}()
	state, err := p.link.End(ctx, func(signal string) { p.rec.Note(0, transcript.KindSent, signal) })
	if state != nil {
		p.rec.Exit(state)
	}
	if err != nil && ctx.Err() == nil {
		p.rec.Note(0, transcript.KindError, err.Error())
	}
	p.drainInbox()
	rec := p.rec.Recording()
	last := -1
	var tail []string
	for i := range rec.Events {
		switch e := &rec.Events[i]; e.Kind {
		case transcript.KindExit, transcript.KindSignal:
			last = i
			p.out.End = strings.TrimPrefix(e.Line()[strings.IndexByte(e.Line(), ' '):], " ")
		case transcript.KindStderr:
			tail = append(tail, string(e.Data))
		}
	}
	for i := range p.steps {
		st := &p.steps[i]
		if st.do != expectExit || p.stopped || last < 0 {
			continue // a stream has no way to end badly
		}
		golden := st.line[strings.IndexByte(st.line, ' ')+1:]
		if golden != p.out.End {
			p.problem(Problem{Kind: Mismatch, Event: st.event, Golden: st.line, Seen: last, Got: rec.Events[last].Line(), Err: errors.New("the peer ended otherwise")})
		}
	}
	if n := len(tail); n > 0 {
		if p.out.End != "" {
			p.out.End += "; "
		}
		p.out.End += "standard error: " + strings.Join(tail[max(0, n-5):], " | ")
	}
}

// drain hears a peer out whose input was closed.
func (p *player) drain(ctx context.Context) {
	t := time.NewTimer(min(p.o.Timeout, patience))
	defer t.Stop()
	for !p.eof {
		if s, ok := p.in.get(); ok {
			p.take(s)
			continue
		}
		select {
		case <-p.in.wake:
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// seen is one line of the peer, or the end of its output.
type seen struct {
	event transcript.Event
	index int // in the recording
	end   bool
}

// inbox holds what the recorder saw of the peer until it is matched. It is
// bounded by the recorder's own bound: over it, lines are counted as the end.
type inbox struct {
	mu    sync.Mutex
	queue []seen
	count int
	over  bool
	wake  chan struct{}
}

// maxExtra bounds how many lines that the transcript does not have a peer may
// say before the replay is stopped.
const maxExtra = 10_000

// maxQueue bounds the lines of a peer that floods.
const maxQueue = 100_000

// put returns the Watch of the recorder.
func (in *inbox) put(theirs transcript.Dir) func(transcript.Event) {
	return func(e transcript.Event) {
		in.mu.Lock()
		defer in.mu.Unlock()
		s := seen{event: e, index: in.count, end: e.Closed() == theirs}
		in.count++
		if in.over || !s.end && (e.Dir != theirs || e.Carrier) {
			return
		}
		if len(in.queue) == maxQueue {
			s.end = true
		}
		in.over = s.end
		in.queue = append(in.queue, s)
		select {
		case in.wake <- struct{}{}:
		default:
		}
	}
}

func (in *inbox) get() (seen, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) == 0 {
		return seen{}, false
	}
	s := in.queue[0]
	in.queue[0] = seen{}
	in.queue = in.queue[1:]
	return s, true
}

// ended reports whether the end of the peer's output has been seen.
func (in *inbox) ended() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.over
}
