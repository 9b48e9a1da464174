package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Play is our server while it plays one script to one client. Script.Serve
// changes its fields before the client is started; what Serve puts into On,
// HTTP and Ready is called while the client runs, on goroutines of its own, and
// may use the methods, which never block longer than the limits allow: once the
// play is over they do nothing.
type Play struct {
	Script    *Script
	Revision  string // the judged one
	Speaks    string // the one that the server speaks
	Transport catalogue.Transport

	// What the server says of itself and offers, as JSON texts; see good.go.
	Info         string
	Capabilities string
	Instructions string // plain text; "" is none
	Tools        []string
	Prompts      []string
	Resources    []string
	Templates    []string
	PageSize     int    // entries on a page of a list; 0 is all
	Hints        string // of stateless revisions: how long results may be kept, members of an object

	// On answers requests, and looks at notifications, in place of the good
	// server, by method; "*" stands for every method that has no entry. Where it
	// returns without an answer the good one is given, unless Call.Hold was
	// called.
	On map[string]func(c *Call)
	// HTTP sees every request over HTTP first, those of other origins included,
	// and reports whether it has dealt with it.
	HTTP func(x *Exchange) bool
	// Started is called for each server that the client starts over stdio,
	// before its first line is read.
	Started func()
	// Ready is called once the client can be asked something: after the
	// handshake, or the first request that was answered in a stateless revision.
	Ready func()

	// How the good server talks over HTTP.
	Session string // id of the session that was opened last, or will be first, in the stateful revisions; "" is none
	NoGet   bool   // it offers no stream beside the answers
	Streams bool   // it answers requests by a stream of events also where it has only the reply to send
	Strict  bool   // it refuses requests whose headers are wrong; else they are served, so that more is seen
	// IgnoreEOF keeps a server over stdio running when its input has ended.
	IgnoreEOF bool

	limits  Limits
	rec     *transcript.Recorder
	ctx     context.Context // ends when the play is over
	cancel  context.CancelFunc
	work    sync.WaitGroup // hooks
	servers sync.WaitGroup // listeners, connections, exchanges

	// mu comes last: what holds the mutex of an exchange, a connection, a batch,
	// the desk or a script may take it, and who holds it takes none of those, nor
	// waits for anything.
	mu       sync.Mutex
	why      string // why the play is over, "" while it is not
	closed   bool   // nothing more is opened
	counts   map[string]int
	run      int       // how often the client was started
	begun    time.Time // when it was started last
	heard    bool      // something came from the client
	first    time.Time
	last     time.Time // when something came or went
	said     time.Time // when something came
	busy     int       // hooks that have still something to do
	bytes    int
	asked    int
	asks     map[string]chan wire.Raw
	running  map[string]*Call // requests without an answer, by connection and id
	ready    bool
	exchange int
	origins  map[string]*origin
	streams  []*Exchange // streams on which the server may say what answers nothing
	conns    []*stdioConn
	listens  []*Call         // subscriptions of a stateless revision
	issued   map[string]bool // sessions
	ended    map[string]bool // those of them that are over
}

// newPlay makes the good server of a script and lets the script change it.
func newPlay(ctx context.Context, s *Script, rev string, t catalogue.Transport, l Limits) *Play {
	p := &Play{
		Script: s, Revision: rev, Speaks: s.Speaks, Transport: t, On: map[string]func(*Call){}, limits: l.withDefaults(),
		counts: map[string]int{}, asks: map[string]chan wire.Raw{}, running: map[string]*Call{}, origins: map[string]*origin{}, issued: map[string]bool{}, ended: map[string]bool{},
	}
	if p.Speaks == "" {
		p.Speaks = rev
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.rec = transcript.NewRecorder(transcript.RecorderOptions{MaxLine: p.limits.Line})
	p.rec.Set(transcript.FieldRevision, rev)
	p.rec.Set(transcript.FieldTransport, string(t))
	p.rec.Set(transcript.FieldSide, "client")
	p.rec.Set("profile", s.Name)
	if p.Speaks != rev {
		p.rec.Set("speaks", p.Speaks)
	}
	p.furnish()
	return p
}

// close ends whatever still runs for the play: no hook runs after it, and
// nothing more is recorded.
func (p *Play) close() {
	p.over(OverStop)
	p.mu.Lock()
	p.closed = true // from now on nothing is taken or opened
	origins := slices.Collect(maps.Values(p.origins))
	conns := slices.Clone(p.conns)
	p.mu.Unlock()
	for _, o := range origins {
		if o.server != nil { // not of a desk, which is there for the next play too
			_ = o.server.Close()
		}
	}
	for _, c := range conns { // all at once, however many there are
		_ = c.c.SetWriteDeadline(time.Now().Add(time.Second))
	}
	for _, c := range conns {
		c.close()
	}
	p.servers.Wait() // first: what they still take begins hooks
	p.work.Wait()
}

// over ends the play, once.
func (p *Play) over(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		p.why = why
		p.rec.Note(0, transcript.KindNote, NoteOver+why)
		p.cancel()
	}
}

// End says that the script has seen enough.
func (p *Play) End() { p.over(OverScript) }

// Over reports whether the play has ended.
func (p *Play) Over() bool { return p.ctx.Err() != nil }

// Modern reports whether the server speaks a stateless revision.
func (p *Play) Modern() bool { return check.Modern(p.Speaks) }

// Step starts a named stretch of the recording, by which checks find what
// belongs to it.
func (p *Play) Step(name string) { p.rec.Note(0, transcript.KindProbe, name) }

// Note records a remark.
func (p *Play) Note(text string) { p.rec.Note(0, transcript.KindNote, text) }

// Wait waits; false when the play was over before.
func (p *Play) Wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// Until waits until a condition holds, at most for that long, and reports
// whether it does.
func (p *Play) Until(d time.Duration, holds func() bool) bool {
	for end := time.Now().Add(d); !holds(); {
		if time.Now().After(end) || !p.Wait(10*time.Millisecond) {
			return holds()
		}
	}
	return true
}

// N is how many messages with that method came so far.
func (p *Play) N(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[method]
}

// Run is how often the client was started in this play, which is more than once
// where Script.Starts says so; 0 of one that somebody else starts.
func (p *Play) Run() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// touch notes that something came or went; false when the client has sent more
// than is recorded.
func (p *Play) touch(fromClient bool, bytes int) bool {
	p.mu.Lock()
	now := time.Now()
	p.last = now
	if fromClient && !p.heard {
		p.heard, p.first = true, now
	}
	if fromClient {
		p.bytes += bytes
		p.said = now
	}
	flood := p.bytes > p.limits.Bytes || p.rec.Len() > p.limits.Events
	p.mu.Unlock()
	if flood {
		p.over(OverFlood)
	}
	return !flood
}

// occupied counts a hook that has something to do; the func that it returns
// ends that, and may be called more than once.
func (p *Play) occupied() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy--
		p.last = time.Now()
	})
}

// quietLocked reports whether the client has said enough: nothing more comes,
// and nothing waits for it.
func (p *Play) quietLocked(now time.Time) bool {
	return p.saidLocked() && p.busy == 0 && now.Sub(p.last) > max(p.limits.Idle, p.Script.Idle)
}

// saidLocked reports whether something came since the client was started.
func (p *Play) saidLocked() bool { return p.heard && !p.said.Before(p.begun) }

// lateLocked reports whether the play has lasted as long as it may since the
// client was started, or was heard first.
func (p *Play) lateLocked(now time.Time) bool {
	most, since := p.limits.Play, p.first
	if p.Script.Time > 0 {
		most = p.Script.Time
	}
	if p.run > 1 {
		since = p.begun
	}
	return p.heard && now.Sub(since) > most
}

// await waits for the end of a run of the client, which is that of the play too
// where it is the last; exited is closed when the client has ended.
func (p *Play) await(exited <-chan struct{}, last bool) {
	end := func(why string) {
		if last {
			p.over(why)
		}
	}
	began := time.Now()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			p.over(OverStop)
			return
		case <-exited:
			end(OverExit)
			return
		case <-tick.C:
		}
		p.mu.Lock()
		now := time.Now()
		heard, said, late, quiet := p.heard, p.saidLocked(), p.lateLocked(now), p.quietLocked(now)
		p.mu.Unlock()
		switch {
		case !heard && now.Sub(began) > p.limits.Start:
			end(OverSilent)
		case late:
			end(OverTime)
		case quiet, !said && now.Sub(began) > p.limits.Start:
			end(OverIdle)
		default:
			continue
		}
		return
	}
}

// way is how a message reaches the client.
type way interface {
	// message is one before, or without, the reply.
	message(text string) bool
	// reply is the answer to the request; code is that of its error, 0 for a
	// result.
	reply(text string, code int64) bool
	// key tells connections apart on which ids are unique.
	key() string
}

// Call is one message of the client, a request or a notification.
type Call struct {
	Play     *Play
	Exchange *Exchange // that carried it; nil over stdio
	Message  wire.Raw
	Method   string
	ID       wire.Raw // nil of a notification
	Params   wire.Raw
	N        int // how many with its method came, itself included

	way       way
	free      func()
	quiet     bool // only the result is wanted
	held      atomic.Bool
	answered  atomic.Bool
	cancelled chan struct{} // closed when the client does not want it any more
	cancel    func()

	acknowledged bool // a subscription; guarded by Play.mu
}

// Meta is a member of the params' _meta.
func (c *Call) Meta(key string) wire.Raw { return c.Params.Get("_meta").Get(key) }

// Name is a string member of the params, "" where there is none.
func (c *Call) Name(member string) string { return check.Name(c.Params, member) }

// Step is Play.Step.
func (c *Call) Step(name string) { c.Play.Step(name) }

// Wait is Play.Wait; false also when the client cancelled the request, or
// closed its exchange.
func (c *Call) Wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.cancelled:
		return false
	case <-c.Play.ctx.Done():
		return false
	}
}

// Hold leaves the request without an answer, for good or until later; the play
// does not wait for it.
func (c *Call) Hold() {
	c.held.Store(true)
	c.free()
}

// Send sends a message before the reply: any text. Over HTTP it opens a stream.
func (c *Call) Send(text string) bool { return c.way.message(text) }

// Notify sends a notification before the reply.
func (c *Call) Notify(method, params string) bool { return c.Send(message("", method, params)) }

// Progress sends a notification of progress where the client asked for it.
func (c *Call) Progress(progress string) bool {
	token := c.Meta("progressToken")
	return token != nil && c.Notify("notifications/progress", `{"progressToken":`+string(token)+`,"progress":`+progress+`}`)
}

// Ask sends a request to the client, on the way of this one, and waits for the
// answer, a whole message; nil when none came in time.
func (c *Call) Ask(method, params string) wire.Raw { return c.Play.ask(c.way, method, params) }

// Reply answers by a message as it is, whatever it is.
func (c *Call) Reply(text string) bool { return c.finish(text, 0) }

// Result answers by a result, as it is.
func (c *Call) Result(result string) bool {
	return c.finish(`{"jsonrpc":"2.0","id":`+idText(c.ID)+`,"result":`+result+`}`, 0)
}

// Complete answers by a result that gets what every result of the revision has
// beside its own members: {"content":[]} becomes a whole one.
func (c *Call) Complete(members string) bool { return c.Result(c.Play.whole(c.Method, members)) }

// InputRequired answers that something has to be told first: questions by
// their keys, as an object, and the state that is to come back, as a JSON
// string; "" leaves either out.
func (c *Call) InputRequired(questions, state string) bool {
	r := `{"resultType":"input_required"`
	if questions != "" {
		r += `,"inputRequests":` + questions
	}
	if state != "" {
		r += `,"requestState":` + state
	}
	return c.Result(r + `}`)
}

// Error answers by an error; data is JSON, "" for none.
func (c *Call) Error(code int64, text, data string) bool {
	return c.finish(c.Play.failure(c.ID, code, text, data), code)
}

// Good answers as the good server does.
func (c *Call) Good() bool {
	result, e := c.Play.good(c)
	switch {
	case c.ID == nil:
		return true
	case e != nil:
		if e.bad && c.Exchange != nil {
			c.Exchange.SetStatus(http.StatusBadRequest)
		}
		return c.Error(e.code, e.text, e.data)
	case c.held.Load() || c.answered.Load():
		return true
	}
	return c.Result(result)
}

// GoodResult is the result that the good server would answer with, "" where it
// would not by one. Nothing is sent.
func (c *Call) GoodResult() string {
	c.quiet = true
	result, e := c.Play.good(c)
	c.quiet = false
	if e != nil {
		return ""
	}
	return result
}

func (c *Call) finish(text string, code int64) bool {
	p := c.Play
	p.mu.Lock()
	if c.answered.Swap(true) {
		p.mu.Unlock()
		return c.way.message(text) // a second one
	}
	delete(p.running, c.way.key()+keyOfID(c.ID))
	p.mu.Unlock()
	ok := c.way.reply(text, code)
	if code == 0 && p.Modern() {
		p.becomeReady()
	}
	return ok
}

// take deals with one text that the client sent and that was recorded. It
// returns when hooks for requests were started, and notifications dealt with.
func (p *Play) take(text []byte, w way, x *Exchange) {
	text = bytes.TrimSpace(text)
	v, err := wire.ParseRaw(text)
	switch {
	case err != nil:
		w.reply(p.failure(nil, -32700, "Parse error", ""), -32700)
	case v.Kind() == wire.KindArray && p.Speaks == "2025-03-26":
		p.takeBatch(v, w, x)
	case v.Kind() != wire.KindObject:
		w.reply(p.failure(nil, -32600, "Invalid request", ""), -32600)
	default:
		p.takeOne(v, w, x)
	}
}

func (p *Play) takeOne(v wire.Raw, w way, x *Exchange) {
	method, named := v.Get("method").Str()
	id := v.Get("id")
	answers := v.Get("method") == nil && (v.Get("result") != nil || v.Get("error") != nil)
	idle := id != nil && id.Kind() != wire.KindString && id.Kind() != wire.KindNumber
	switch params := v.Get("params"); {
	case !answers && (!named || idle), p.Strict && check.Name(v, "jsonrpc") != "2.0":
		if idle {
			id = nil
		}
		w.reply(p.failure(id, -32600, "Invalid request", ""), -32600)
		return
	case !answers && id != nil && params != nil && params.Kind() != wire.KindObject:
		w.reply(p.failure(id, -32602, "Invalid params: want an object", ""), -32602)
		return
	}
	if answers {
		p.mu.Lock()
		waits := p.asks[keyOfID(id)]
		delete(p.asks, keyOfID(id))
		p.mu.Unlock()
		if waits != nil {
			waits <- v
		}
		accepted(x)
		return
	}
	c := &Call{Play: p, Exchange: x, Message: v, Method: method, ID: id, Params: v.Get("params"), way: w, free: p.occupied(), cancelled: make(chan struct{})}
	c.cancel = sync.OnceFunc(func() { close(c.cancelled) })
	p.mu.Lock()
	p.counts[method]++
	c.N = p.counts[method]
	if id != nil {
		p.running[w.key()+keyOfID(id)] = c
	}
	p.mu.Unlock()
	if id == nil {
		p.notice(c)
		// On a goroutine of its own, as over stdio nothing is read until this
		// returns, and a hook may ask the client.
		p.work.Go(func() {
			defer c.free()
			p.hook(c)
			accepted(x)
		})
		return
	}
	p.work.Go(func() {
		defer c.free()
		p.serve(c)
	})
}

// accepted answers a POST of what wants no answer.
func accepted(x *Exchange) {
	if x != nil {
		x.Respond(http.StatusAccepted, "", "")
	}
}

// serve answers a request.
func (p *Play) serve(c *Call) {
	p.hook(c)
	if !c.answered.Load() && !c.held.Load() {
		p.notice(c)
		c.Good()
	}
}

// hook calls what the script has for a message.
func (p *Play) hook(c *Call) {
	hook := p.On[c.Method]
	if hook == nil {
		hook = p.On["*"]
	}
	if hook != nil && (c.Exchange == nil || !p.refused(c)) {
		hook(c)
	}
}

// notice is what the good server does about a message beside the answer.
func (p *Play) notice(c *Call) {
	switch c.Method {
	case "notifications/initialized":
		if !p.Modern() {
			p.becomeReady()
		}
	case "notifications/cancelled":
		p.mu.Lock()
		found := p.running[c.way.key()+keyOfID(c.Params.Get("requestId"))]
		if found != nil && found.Method != "initialize" {
			delete(p.running, c.way.key()+keyOfID(found.ID))
		}
		p.mu.Unlock()
		if found != nil {
			found.cancel()
		}
	}
}

// refused answers a request that a strict server has to refuse for its headers.
func (p *Play) refused(c *Call) bool {
	return p.Strict && c.Exchange != nil && c.Exchange.misheaded(c)
}

func (p *Play) becomeReady() {
	p.mu.Lock()
	was := p.ready
	p.ready = true
	p.mu.Unlock()
	if was || p.Ready == nil || p.Over() {
		return
	}
	free := p.occupied()
	p.work.Go(func() {
		defer free()
		p.Ready()
	})
}

// IsReady reports whether the client can be asked something.
func (p *Play) IsReady() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ready
}

// takeBatch answers the members of an array in one.
func (p *Play) takeBatch(v wire.Raw, w way, x *Exchange) {
	b := &batch{way: w}
	n := 0
	for e := range v.Elems() {
		if n++; n > 1000 {
			break
		}
		if e.Kind() != wire.KindObject {
			b.wanted++
			b.reply(p.failure(nil, -32600, "Invalid request", ""), -32600)
			continue
		}
		if e.Get("method") != nil && e.Get("id") != nil {
			b.wanted++
		}
		// The members of a batch have no exchange of their own: what wants no
		// answer gets none.
		b.members.Go(func() { p.takeOne(e, b, nil) })
	}
	if n == 0 {
		w.reply(p.failure(nil, -32600, "Invalid request", ""), -32600)
		return
	}
	b.members.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = true
	switch {
	case b.wanted == 0 && len(b.parts) == 0:
		accepted(x)
	default:
		b.flush()
	}
}

// batch gathers the replies to the members of an array.
type batch struct {
	way
	members sync.WaitGroup
	wanted  int

	mu    sync.Mutex // before that of the way
	parts []string
	whole bool // all members were taken
	done  bool
}

func (b *batch) reply(text string, _ int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = append(b.parts, text)
	b.flush()
	return true
}

func (b *batch) flush() {
	if b.whole && !b.done && len(b.parts) >= b.wanted {
		b.done = true
		b.way.reply("["+strings.Join(b.parts, ",")+"]", 0)
	}
}

// Send sends what answers nothing: over stdio a line, over HTTP an event on a
// stream that the client keeps open for that. False when there is no way.
func (p *Play) Send(text string) bool {
	w := p.aside()
	return w != nil && w.message(text)
}

// Notify sends a notification that belongs to no request. In a stateless
// revision it goes to the open subscriptions, marked with their ids.
func (p *Play) Notify(method, params string) bool {
	if !p.Modern() {
		return p.Send(message("", method, params))
	}
	p.mu.Lock()
	subs := slices.DeleteFunc(slices.Clone(p.listens), func(c *Call) bool { return !c.acknowledged })
	p.mu.Unlock()
	for _, c := range subs {
		c.Notify(method, withMeta(params, subscriptionKey, string(c.ID)))
	}
	return len(subs) > 0
}

// Ask sends a request that belongs to none of the client's and waits for the
// answer, a whole message; nil when there was no way or none came in time.
func (p *Play) Ask(method, params string) wire.Raw {
	w := p.aside()
	if w == nil {
		return nil
	}
	return p.ask(w, method, params)
}

// CanSend reports whether there is a way for what answers nothing.
func (p *Play) CanSend() bool { return p.aside() != nil }

func (p *Play) aside() way {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Transport == catalogue.Stdio {
		for _, c := range slices.Backward(p.conns) {
			if !c.gone() {
				return c
			}
		}
		return nil
	}
	for _, x := range slices.Backward(p.streams) {
		switch {
		case !x.open():
		case p.Transport == catalogue.SSE:
			return sseWay{x}
		default:
			return x
		}
	}
	return nil
}

func (p *Play) ask(w way, method, params string) wire.Raw {
	free := p.occupied()
	defer free()
	p.mu.Lock()
	p.asked++
	id := `"ask-` + strconv.Itoa(p.asked) + `"`
	answer := make(chan wire.Raw, 1)
	p.asks[keyOfID(wire.Raw(id))] = answer
	p.mu.Unlock()
	if !w.message(message(id, method, params)) {
		return nil
	}
	t := time.NewTimer(p.limits.Ask)
	defer t.Stop()
	select {
	case a := <-answer:
		return a
	case <-t.C:
		p.Note("no answer to " + method)
	case <-p.ctx.Done():
	}
	return nil
}

// URL is the address that the client is given, "" over stdio.
func (p *Play) URL() string {
	switch p.Transport {
	case catalogue.HTTP:
		return p.Origin("") + endpoint
	case catalogue.SSE:
		return p.Origin("") + sseEndpoint
	}
	return ""
}

// Origin is the address of an HTTP server by a name, as in
// http://127.0.0.1:1234, opened when it is first asked for: "" is the one that
// the client is led to. All that comes to any of them is recorded and handed to
// Play.HTTP, over stdio too.
func (p *Play) Origin(name string) string {
	o, err := p.open(name)
	if err != nil {
		p.Note("no address for " + name + ": " + err.Error())
		return "http://127.0.0.1:9" // where nobody listens
	}
	return o.url
}

func (p *Play) open(name string) (*origin, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.origins[name]; o != nil {
		return o, nil
	}
	if p.closed {
		return nil, net.ErrClosed
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	o := p.serveOrigin(name, l)
	p.origins[name] = o
	return o, nil
}

// message is a request, or without an id a notification.
func message(id, method, params string) string {
	s := `{"jsonrpc":"2.0"`
	if id != "" {
		s += `,"id":` + id
	}
	s += `,"method":` + string(wire.Quote(method))
	if params != "" {
		s += `,"params":` + params
	}
	return s + `}`
}

// failure is an error response; one without an id names no request.
func (p *Play) failure(id wire.Raw, code int64, text, data string) string {
	e := `{"code":` + strconv.FormatInt(code, 10) + `,"message":` + string(wire.Quote(text))
	if data != "" {
		e += `,"data":` + data
	}
	named := `"id":` + idText(id) + `,`
	if id == nil && check.AtLeast(p.Speaks, "2025-11-25") { // which allows a text or a number only
		named = ""
	}
	return `{"jsonrpc":"2.0",` + named + `"error":` + e + `}}`
}

func idText(id wire.Raw) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

// keyOfID is equal for ids of the same type and value.
func keyOfID(id wire.Raw) string {
	if s, ok := id.Str(); ok {
		return "s" + s
	}
	return "n" + string(id)
}

// token is a text that nobody can guess.
func token() string { return rand.Text() }
