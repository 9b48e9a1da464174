package check

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Exchange is one HTTP request of a session with its response. What a field of
// the head says stands in the embedded exchange.
type Exchange struct {
	*transcript.Exchange
	Trace   *Trace
	Index   int      // of its first line in the recording
	Request *Frame   // the body that was sent; nil where it had none
	Frames  []*Frame // the messages of the response, in order
}

// Over reports whether nothing more comes: the response ended, broke off or was
// closed by the client.
func (x *Exchange) Over() bool { return x.Ended || x.Closed || x.Err != "" }

// carried is what a trace keeps of an exchange while it is recorded.
type carried struct {
	number  int
	events  []int  // lines that carry the number
	request *Frame // the body that was sent
	frames  []*Frame
	status  int
	media   string // of the response: what it says it is, in lower case, without parameters
	event   string // name of the event that is coming in
	over    bool   // it ended, was closed or broke off
	failed  bool   // it broke off
	lastID  string // of the stream's events, "" for none
	retry   string
	stray   *Frame // the first error response without a usable id
	session bool   // the request named a session
	resumes string // the event after which it takes up a stream again, "" for none
	get     bool   // it is a GET
	foreign bool   // it is a GET of another address: its stream is that of another transport
	closed  int    // line by which the client closed it; -1

	gathered *Exchange // of so many events
	of       int
}

// takeCarried notes event i for its exchange, nil where it belongs to none.
func (t *Trace) takeCarried(i int) *carried {
	e := &t.Recording.Events[i]
	if e.Exchange == 0 {
		return nil
	}
	x := t.carried[e.Exchange]
	if x == nil {
		x = &carried{number: e.Exchange, closed: -1}
		t.carried[e.Exchange] = x
		t.order = append(t.order, x)
	}
	x.events = append(x.events, i)
	name, value, named := e.Header()
	switch e.Kind {
	case transcript.KindRequest:
		method, target, _ := e.Request()
		x.get = method == "GET"
		endpoint := t.path()
		x.foreign = x.get && t.Transport == catalogue.HTTP && endpoint != "" && target != endpoint
	case transcript.KindStatus:
		x.status = e.Status()
	case transcript.KindEnd:
		if e.Dir == transcript.ToServer && !x.over {
			x.closed = i
		}
		x.over = true
	case transcript.KindError:
		x.over, x.failed = true, true
	case transcript.KindSSE:
		switch name {
		case "id":
			x.lastID = value
		case "event":
			x.event = value
		case "retry":
			x.retry = value
		}
		return x
	}
	if named && e.Dir == transcript.ToServer {
		x.session = x.session || name == "mcp-session-id"
		if name == "last-event-id" {
			x.resumes = value
		}
	}
	if named && e.Dir == transcript.ToClient && name == "content-type" {
		media, _, _ := strings.Cut(value, ";")
		x.media = strings.ToLower(strings.TrimSpace(media))
	}
	return x
}

// messages takes a body or an event of the exchange and reports whether it is
// a message, or was meant to be one: what stands in a stream under another name
// is none, nor is an empty event, a text, a page, what a GET brings that opens
// no stream, or what the stream of another transport says unasked. None is what
// explains why HTTP refuses what it was sent, unless it is JSON-RPC; and an error
// that keeps a client out answers nothing, though the exchange has it.
func (x *carried) messages(f *Frame) bool {
	if !f.FromServer {
		x.request = f
		return true
	}
	name := x.event
	x.event = ""
	switch {
	case x.foreign && f.Kind != KindResponse:
		return false
	case x.media == "text/event-stream":
		if name != "" && name != "message" || f.Kind == KindBlank {
			return false
		}
	case x.get:
		return false
	case x.media != "application/json" && f.Value.Kind() != wire.KindObject && f.Value.Kind() != wire.KindArray:
		return false
	case x.status >= 400 && f.Kind != KindArray && !f.meant():
		return false
	}
	x.frames = append(x.frames, f)
	if keepsOut(x.status) && f.Failed() {
		return false
	}
	if x.stray == nil && f.Failed() && noID(f.ID) {
		x.stray = f
	}
	return true
}

// meant reports whether a line was meant to be a message of JSON-RPC: it says so,
// or has the members of an answer.
func (f *Frame) meant() bool {
	return f.Value.Get("jsonrpc") != nil || f.ID != nil && (f.Result != nil || f.Error.Kind() == wire.KindObject)
}

// keepsOut reports whether a status refuses who asks, or that much is asked, and
// so says nothing of what is asked.
func keepsOut(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests
}

// Exchanges are the HTTP exchanges of the session, in the order in which they
// began.
func (t *Trace) Exchanges() []*Exchange {
	var out []*Exchange
	for _, x := range t.order {
		out = append(out, t.gather(x))
	}
	return out
}

// Exchange is the exchange with that number, nil where there is none.
func (t *Trace) Exchange(number int) *Exchange {
	if x := t.carried[number]; x != nil {
		return t.gather(x)
	}
	return nil
}

// ExchangeOf is the exchange that carried a message, nil on stdio.
func (t *Trace) ExchangeOf(f *Frame) *Exchange {
	if f == nil {
		return nil
	}
	return t.Exchange(f.Exchange)
}

// Exchanges are those that began in the step.
func (s *Step) Exchanges() []*Exchange {
	var out []*Exchange
	for _, x := range s.Trace.order {
		if s.holds(x.events[0]) {
			out = append(out, s.Trace.gather(x))
		}
	}
	return out
}

// gather makes an exchange of what was recorded of it so far.
func (t *Trace) gather(x *carried) *Exchange {
	t.endMu.Lock()
	defer t.endMu.Unlock()
	if x.of != len(x.events) {
		x.gathered, x.of = t.gatherAnew(x), len(x.events)
	}
	return x.gathered
}

func (t *Trace) gatherAnew(x *carried) *Exchange {
	rec := &transcript.Recording{Events: make([]transcript.Event, len(x.events))}
	for i, at := range x.events {
		rec.Events[i] = t.Recording.Events[at]
	}
	out := &Exchange{Trace: t, Index: x.events[0], Request: x.request, Frames: slices.Clip(x.frames)}
	for e := range rec.Exchanges() {
		// Its indexes are those of the lines gathered here.
		e.First, e.Last = x.events[e.First], x.events[e.Last]
		if e.BodyIndex >= 0 {
			e.BodyIndex = x.events[e.BodyIndex]
		}
		for i := range e.Messages {
			e.Messages[i].Index = x.events[e.Messages[i].Index]
		}
		out.Exchange = e
	}
	return out
}

// ofAnother reports whether a response answers, in the exchange that carried it,
// another request than req: that one has its very id.
func (t *Trace) ofAnother(a, req *Frame) bool {
	if a.Exchange == req.Exchange {
		return false
	}
	x := t.carried[a.Exchange]
	return x != nil && x.request != nil && idKey(x.request.ID) == idKey(a.ID) && idKey(a.ID) != idKey(req.ID)
}

// withoutAnswer says what came of a request for which HTTP brought no message,
// once it is over: "HTTP status 500 and no message"; "" for any other.
func (t *Trace) withoutAnswer(req *Frame) string {
	x := t.carried[req.Exchange]
	if x == nil || !x.over || x.closed >= 0 || !t.takenUp(x) {
		return ""
	}
	if a := t.Answer(req); a != nil && (!noID(req.ID) || a.Exchange == req.Exchange) { // others may have no id either
		return ""
	}
	status := fmt.Sprintf("HTTP status %d", x.status)
	switch {
	case x.failed && x.status == 0:
		return "the connection broke before anything came"
	case x.failed:
		return status + ", and the response broke off"
	case t.Transport == catalogue.SSE && x.status < 300:
		return "" // it comes on another stream
	case x.media == "text/event-stream":
		return status + " and a stream that ended without it"
	case keepsOut(x.status):
		return status
	}
	return status + " and no message"
}

// takenUp reports whether a stream that can be taken up again was, and whether
// that one is over as well; true where it cannot be.
func (t *Trace) takenUp(x *carried) bool {
	if x.lastID == "" || Modern(t.Revision) {
		return true
	}
	for _, y := range t.order {
		if y.resumes == x.lastID && y.over && y.closed < 0 {
			return y.status >= 300 || y.lastID == "" || y.lastID == x.lastID || t.takenUp(y)
		}
	}
	return false
}

// refusedByStatus reports whether HTTP refused what it was sent, by a status that
// blames the client and no message.
func (t *Trace) refusedByStatus(f *Frame) bool {
	x := t.carried[f.Exchange]
	return x != nil && t.withoutAnswer(f) != "" && x.status >= 400 && x.status < 500
}

// refusal reports whether a message came with a status by which HTTP refuses
// what it was sent: it says why, and answers no notification.
func (t *Trace) refusal(f *Frame) bool {
	x := t.carried[f.Exchange]
	return x != nil && f.FromServer && f.Failed() && noID(f.ID) && x.status >= 400
}

// dealtWith reports whether HTTP said that the server has dealt with what it
// was sent, whatever came of it.
func (t *Trace) dealtWith(f *Frame) bool {
	x := t.carried[f.Exchange]
	return x != nil && x.over && !x.failed && x.status != 0 && (t.Transport != catalogue.SSE || x.status >= 300)
}

// cancelledAt is the line by which the client cancelled a request by closing
// its response, as it does over HTTP where there are no sessions; -1 for none.
func (t *Trace) cancelledAt(req *Frame) int {
	if x := t.carried[req.Exchange]; x != nil && Modern(t.Revision) {
		return x.closed
	}
	return -1
}

// usual are the headers of a request that has nothing odd about it.
var usual = []string{"content-type", "accept", "authorization", "mcp-protocol-version", "mcp-method", "mcp-name"}

// repeated reports whether the headers of the POST that carried a request of a
// stateless revision repeat what its body says, as they have to, and say nothing
// else. A header cannot repeat what is empty, of another type, or not there.
func (t *Trace) repeated(req *Frame) bool {
	x := t.ExchangeOf(req)
	if x == nil {
		return false
	}
	same := func(header, value string) bool {
		vs := x.Header[header]
		return value != "" && len(vs) == 1 && (vs[0] == headerText(value))
	}
	for header := range x.Header {
		if !slices.Contains(usual, header) && !strings.HasPrefix(header, "mcp-param-") {
			return false
		}
	}
	version, _ := req.meta(metaVersion).Str()
	name, named := mirrored(req)
	return same("mcp-protocol-version", version) && same("mcp-method", req.Method) && (!named || same("mcp-name", name))
}

// mirrored is the member of the params that Mcp-Name repeats; named is false
// for methods that have none.
func mirrored(req *Frame) (name string, named bool) {
	member := map[string]string{
		"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
		"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
	}[req.Method]
	if member == "" {
		return "", false
	}
	name, _ = req.Param(member).Str()
	return name, true
}

// carriedAt is the exchange that event i belongs to, nil for none.
func (t *Trace) carriedAt(i int) *carried {
	if i < 0 || i >= len(t.Recording.Events) {
		return nil
	}
	return t.carried[t.Recording.Events[i].Exchange]
}

// How many lines of an exchange a finding shows before and after the line that
// it is about; of a stream that goes on for long the rest says little.
const (
	linesBefore = 24
	linesAfter  = 16
	linesAround = 3 // in a stream of messages that have nothing to do with each other
)

// exchangeAround are the lines of the exchange that carried f, with the request
// that it answers where another exchange carried that.
func (t *Trace) exchangeAround(f *Frame) []int {
	x := t.carriedAt(f.Index)
	at, _ := slices.BinarySearch(x.events, f.Index)
	if x.request == nil && at > linesAround { // a stream that is nobody's answer
		out := slices.Clone(x.events[at-linesAround : min(len(x.events), at+linesAround)])
		if req := t.Request(f); f.FromServer && req != nil && t.carried[req.Exchange] != nil {
			out = append(out, t.carried[req.Exchange].head()...)
		}
		return append(out, x.events[0])
	}
	out := slices.Clone(x.events[max(0, at-linesBefore):min(len(x.events), at+linesAfter)])
	if at > linesBefore { // how it began is seen all the same
		out = append(out, x.head()...)
	}
	if req := t.Request(f); f.FromServer && req != nil && req.Exchange != x.number {
		if y := t.carried[req.Exchange]; y != nil {
			out = append(out, y.head()...)
		}
	}
	if b := t.broke(); b != nil && (b.request == f || b.line == f) && b.at >= 0 {
		out = append(out, b.at)
	}
	return out
}

// head is the request of the exchange, as far as a finding shows it.
func (x *carried) head() []int {
	var out []int
	for _, i := range x.events {
		out = append(out, i)
		if x.request != nil && i == x.request.Index || len(out) == linesBefore {
			break
		}
	}
	return out
}

// surely reports whether the server sent a before b, which was received later:
// over HTTP messages on different streams overtake one another.
func surely(a, b *Frame) bool {
	return a.Exchange == b.Exchange || b.At-a.At > time.Second
}

// Text is the body of a response that is no stream, or the first event of one.
func (x *Exchange) Text() string {
	if len(x.Messages) == 0 {
		return ""
	}
	return string(bytes.TrimSpace(x.Messages[0].Data))
}
