package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Names of the fields by which a recording says what session it holds.
const (
	fieldProfile = "profile"
	fieldCaps    = "client-capabilities"
	// FieldEndpoint is the URL of a server that is reached over HTTP, without a
	// user's name and password.
	FieldEndpoint = "endpoint"
)

// Trace is the recording of one session, decoded for checks. A trace is
// complete in itself: one that was made from a saved recording gives the same
// verdicts as the one that was made while driving.
type Trace struct {
	Profile    string // how the session was opened
	Revision   string // revision spoken in it
	Transport  catalogue.Transport
	ClientCaps wire.Raw
	Recording  *transcript.Recording
	NoSchema   bool // checks compare no message with its schema

	frames []*Frame // one for each message event, in order
	steps  []*Step

	// What checks look up again and again, so that judging takes time in
	// proportion to what the server wrote, whatever it wrote.
	sent       []*Frame                  // the frames of this client
	fences     []*Frame                  // those of them that are fences
	strays     []*Frame                  // error responses without a usable id
	notesAt    map[transcript.Kind][]int // events of notes, by kind
	said       map[string][]int          // events of remarks of the driver, by text
	unreadable *Frame                    // the first of sent that is no single message
	looked     atomic.Int64              // frames and arguments that were visited, for tests
	end        *breakdown                // see broke; made when there were endAt events
	lostTo     map[*Frame]*Frame         // see astray; made when there were strayAt events

	carried map[int]*carried // the HTTP exchanges, by number
	order   []*carried       // the same, in the order of their first lines

	memoMu sync.Mutex
	memo   map[any]any // see Memo

	endAt, strayAt int
	hidden         map[int]bool // events that are redacted, and (below zero) exchanges with one; nil for none
	endMu, strayMu sync.Mutex   // several checks may judge a trace at once

	// Requests of this client and responses of the server, the members of
	// batches included, by the key of their id and, for responses, by its text;
	// and by that text what has the id of a response and says nothing.
	asked, exact, loose, hollow map[string][]*Frame
}

// NewTrace decodes a recording.
func NewTrace(rec *transcript.Recording) *Trace {
	t := &Trace{
		Profile: rec.Get(fieldProfile), Revision: rec.Get(transcript.FieldRevision),
		Recording: rec,
		asked:     map[string][]*Frame{}, exact: map[string][]*Frame{}, loose: map[string][]*Frame{}, hollow: map[string][]*Frame{},
		notesAt: map[transcript.Kind][]int{}, said: map[string][]int{}, endAt: -1, strayAt: -1,
		Transport: catalogue.Stdio, carried: map[int]*carried{},
	}
	if over := rec.Get(transcript.FieldTransport); over != "" {
		t.Transport = catalogue.Transport(over)
	}
	t.ClientCaps, _ = wire.ParseRaw([]byte(rec.Get(fieldCaps)))
	for i := range rec.Events {
		t.take(i)
	}
	return t
}

// take decodes the event at index i, the last one so far.
func (t *Trace) take(i int) *Frame {
	e := &t.Recording.Events[i]
	t.hide(i)
	if e.Dir == transcript.Note {
		t.notesAt[e.Kind] = append(t.notesAt[e.Kind], i)
		if e.Kind == transcript.KindNote {
			t.said[string(e.Data)] = append(t.said[string(e.Data)], i)
		}
	}
	x := t.takeCarried(i)
	switch {
	case e.Dir == transcript.Note && e.Kind == transcript.KindProbe:
		if n := len(t.steps); n > 0 {
			t.steps[n-1].to = i
		}
		t.steps = append(t.steps, &Step{Name: string(e.Data), Trace: t, from: i, to: -1})
		return nil
	case e.Dir == transcript.Note || e.Carrier || e.Kind != transcript.KindMessage:
		return nil
	}
	f := decodeFrame(e)
	f.Index, f.Trace, f.Exchange = i, t, e.Exchange
	if x != nil && !x.messages(f) {
		return nil
	}
	f.takeApart()
	t.frames = append(t.frames, f)
	switch {
	case !f.FromServer:
		t.sent = append(t.sent, f)
		if t.unreadable == nil && (f.Kind == KindText || f.Kind == KindArray) {
			t.unreadable = f
		}
		if f.fence() {
			t.fences = append(t.fences, f)
		}
	case f.Failed() && (f.ID == nil || f.ID.Kind() == wire.KindNull):
		t.strays = append(t.strays, f)
	}
	for _, p := range f.parts() {
		switch {
		case p.ID == nil:
		case f.FromServer && p.Kind == KindResponse:
			t.exact[idKey(p.ID)] = append(t.exact[idKey(p.ID)], p)
			t.loose[looseID(p.ID)] = append(t.loose[looseID(p.ID)], p)
		case f.FromServer && p.Kind == KindOther:
			t.hollow[looseID(p.ID)] = append(t.hollow[looseID(p.ID)], p)
		case !f.FromServer && p.Kind == KindRequest:
			t.asked[idKey(p.ID)] = append(t.asked[idKey(p.ID)], p)
		}
	}
	return f
}

// note records a remark of the driver that is not about a moment.
func (t *Trace) note(text string) {
	t.Recording.Events = append(t.Recording.Events, transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(text)})
	t.take(len(t.Recording.Events) - 1)
}

// all are the frames in order, counted.
func (t *Trace) all() iter.Seq[*Frame] { return t.visit(t.frames) }

func (t *Trace) visit(frames []*Frame) iter.Seq[*Frame] {
	return func(yield func(*Frame) bool) {
		n := 0
		defer func() { t.looked.Add(int64(n)) }()
		for _, f := range frames {
			if n++; !yield(f) {
				return
			}
		}
	}
}

// between are those of frames whose events lie from index from up to, not
// including, to; to < 0 is the end.
func between(frames []*Frame, from, to int) []*Frame {
	at := func(i int) int {
		n, _ := slices.BinarySearchFunc(frames, i, func(f *Frame, i int) int { return f.Index - i })
		return n
	}
	if to >= 0 {
		frames = frames[:at(to)]
	}
	return frames[at(from):]
}

// Frames are all lines of both sides in order.
func (t *Trace) Frames() []*Frame { return t.frames }

// Steps are the named stretches of the session in order.
func (t *Trace) Steps() []*Step { return t.steps }

// Notes yields the events of one note kind at or after index from.
func (t *Trace) notes(k transcript.Kind, from int) []*transcript.Event {
	var out []*transcript.Event
	at := t.notesAt[k]
	n, _ := slices.BinarySearch(at, from)
	for _, i := range at[n:] {
		out = append(out, &t.Recording.Events[i])
	}
	return out
}

// Step is a stretch of a session that a probe named: from its mark to the
// next one. Answers may come later; Answer finds them all the same.
type Step struct {
	Name  string
	Trace *Trace

	from, to int // event indexes; to < 0: up to the end
}

func (s *Step) holds(i int) bool { return i >= s.from && (s.to < 0 || i < s.to) }

// Sent are the lines that the checker sent in the step, fences and answers to
// the server's requests left out.
func (s *Step) Sent() []*Frame {
	var out []*Frame
	for f := range s.Trace.visit(between(s.Trace.sent, s.from, s.to)) {
		if f.Kind != KindResponse && !f.fence() {
			out = append(out, f)
		}
	}
	return out
}

// Got are the lines that the server sent in the step, answers to fences left
// out.
func (s *Step) Got() []*Frame {
	var out []*Frame
	for f := range s.Trace.visit(between(s.Trace.frames, s.from, s.to)) {
		if f.FromServer && !f.fence() {
			out = append(out, f)
		}
	}
	return out
}

// Note reports whether the driver noted text in the step (see Session.Note).
func (s *Step) Note(text string) bool {
	at := s.Trace.said[text]
	n, _ := slices.BinarySearch(at, s.from)
	return n < len(at) && s.holds(at[n])
}

// unsent says which method the driver left out in the step, and why; "" where
// it left out none.
func (s *Step) unsent() string {
	at := s.Trace.notesAt[transcript.KindNote]
	n, _ := slices.BinarySearch(at, s.from)
	for _, i := range at[n:] {
		if !s.holds(i) {
			break
		}
		if text, ok := strings.CutPrefix(string(s.Trace.Recording.Events[i].Data), noteUnsent); ok {
			method, why, ok := strings.Cut(text, ": ")
			if !ok { // a recording of an earlier release
				why = "the server hung or ended over it before"
			}
			return method + " was not sent again, as " + why
		}
	}
	return ""
}

// FrameKind tells what a line is.
type FrameKind uint8

// Kinds of lines. What is a JSON object but none of the three kinds of
// messages is KindOther.
const (
	KindBlank        FrameKind = iota // nothing but white space
	KindText                          // no JSON value, or cut short
	KindArray                         // a JSON array
	KindScalar                        // another JSON value that is no object
	KindRequest                       // method and id
	KindNotification                  // method and no id
	KindResponse                      // result or error, and no method
	KindOther                         // an object that is none of these
)

// Frame is one line of a recording.
type Frame struct {
	Index      int    // of its event in the recording
	Exchange   int    // number of the HTTP exchange that carried it; 0 on stdio
	Trace      *Trace // the session it belongs to
	At         time.Duration
	Text       []byte
	FromServer bool
	Kind       FrameKind
	Why        string   // of KindText: why the line is no JSON value
	Value      wire.Raw // nil for KindBlank and KindText

	// Members of an object, nil where absent.
	Method string // "" where absent or no string
	ID     wire.Raw
	Params wire.Raw
	Result wire.Raw
	Error  wire.Raw

	members []*Frame // of a batch
}

func decodeFrame(e *transcript.Event) *Frame {
	f := &Frame{FromServer: e.Dir == transcript.ToClient, At: e.At, Text: e.Data}
	text := bytes.TrimRight(e.Data, "\r")
	switch {
	case e.Partial:
		f.Kind, f.Why = KindText, "the output ended inside this line"
		return f
	case e.Length > 0:
		f.Kind, f.Why = KindText, "the line is longer than the recorder keeps"
		return f
	case len(bytes.TrimSpace(text)) == 0:
		f.Kind = KindBlank
		return f
	case !utf8.Valid(text):
		f.Kind, f.Why = KindText, "the line is not UTF-8"
		return f
	}
	v, err := wire.ParseRaw(bytes.TrimSpace(text))
	if err != nil {
		// The limits of our own decoder are no fault of the server: ask a
		// second one before a line is called no JSON.
		if !json.Valid(text) {
			f.Kind, f.Why = KindText, err.Error()
			return f
		}
		v = wire.Raw(bytes.TrimSpace(text))
	}
	f.decode(v)
	return f
}

// decode takes a frame apart.
func (f *Frame) decode(v wire.Raw) {
	f.Value = v
	switch v.Kind() {
	case wire.KindArray:
		f.Kind = KindArray
		return
	case wire.KindObject:
	default:
		f.Kind = KindScalar
		return
	}
	method := v.Get("method")
	f.Method, _ = method.Str()
	f.ID, f.Params, f.Result, f.Error = v.Get("id"), v.Get("params"), v.Get("result"), v.Get("error")
	switch {
	case method != nil && f.ID != nil:
		f.Kind = KindRequest
	case method != nil:
		f.Kind = KindNotification
	case f.Result != nil || f.Error != nil:
		f.Kind = KindResponse
	default:
		f.Kind = KindOther
	}
}

// parts are the members of a batch as frames of their own, or f alone.
func (f *Frame) parts() []*Frame {
	if f.Kind != KindArray {
		return []*Frame{f}
	}
	return f.members
}

// maxMembers is how many members of one array are looked at as messages: no
// batch of this client has more than a few requests, and a line of empty ones
// must not cost many times its size.
const maxMembers = 10_000

func (f *Frame) takeApart() {
	if f.Kind != KindArray {
		return
	}
	for v := range f.Value.Elems() {
		if len(f.members) == maxMembers {
			return
		}
		p := &Frame{Index: f.Index, Exchange: f.Exchange, Trace: f.Trace, FromServer: f.FromServer, At: f.At, Text: f.Text, Value: v}
		p.decode(v)
		f.members = append(f.members, p)
	}
}

// Code is the code of an error response; false when f is none or its code is
// no integer.
func (f *Frame) Code() (int64, bool) {
	if f == nil {
		return 0, false
	}
	return f.Error.Get("code").Int()
}

// Failed reports whether f is an error response.
func (f *Frame) Failed() bool { return f != nil && f.Kind == KindResponse && f.Error != nil }

// OK reports whether f is a response with a result and no error.
func (f *Frame) OK() bool { return f != nil && f.Kind == KindResponse && f.Error == nil }

// Param is a member of the params of a request or notification.
func (f *Frame) Param(name string) wire.Raw { return f.Params.Get(name) }

// IDText is the id as it stands on the wire, "" where there is none.
func (f *Frame) IDText() string { return string(f.ID) }

// fence reports whether f is a fence or the answer to one.
func (f *Frame) fence() bool {
	n, ok := f.ID.Int()
	return ok && n >= firstFence && n < lastFence
}

// String is the start of the line, for messages.
func (f *Frame) String() string {
	const limit = 200
	s := string(f.Text)
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strconv.QuoteToGraphic(s)
}

// idKey is equal for ids that are the same JSON value.
func idKey(id wire.Raw) string {
	switch id.Kind() {
	case wire.KindString:
		s, _ := id.Str()
		return shortKey("s" + s)
	case wire.KindNumber:
		if n, ok := id.Int(); ok {
			return "n" + strconv.FormatInt(n, 10)
		}
	}
	return shortKey("x" + string(id))
}

// shortKey keeps an id that is megabytes long from being held several times.
func shortKey(key string) string {
	if len(key) <= 64 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "h" + string(sum[:])
}

// looseID is equal for ids that differ in their JSON type only.
func looseID(id wire.Raw) string {
	if s, ok := id.Str(); ok {
		return shortKey(s)
	}
	if n, ok := id.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	return shortKey(string(id))
}

// Answer is the first response to a request of this trace, nil when none
// came. A response whose id has another JSON type counts, so that it can be
// judged, when there is no exact one.
func (t *Trace) Answer(req *Frame) *Frame {
	if req == nil || req.ID == nil {
		return nil
	}
	for _, candidates := range [][]*Frame{t.exact[idKey(req.ID)], t.loose[looseID(req.ID)]} {
		if after := between(candidates, req.Index+1, -1); len(after) > 0 && !t.ofAnother(after[0], req) {
			return after[0]
		}
	}
	return t.carriedError(req)
}

// saidNothing reports whether a request was answered by a response that has
// neither a result nor an error.
func (t *Trace) saidNothing(req *Frame) bool {
	return req != nil && req.ID != nil && len(between(t.hollow[looseID(req.ID)], req.Index+1, -1)) > 0
}

// carriedError is the error without an id by which a server answered the HTTP
// request that carried req: there the exchange says what it is about.
func (t *Trace) carriedError(req *Frame) *Frame {
	if x := t.carried[req.Exchange]; x != nil && x.request == req {
		return x.stray
	}
	return nil
}

// Request is the request of the checker that a response answers, or nil.
func (t *Trace) Request(resp *Frame) *Frame {
	if resp == nil || resp.ID == nil || resp.ID.Kind() == wire.KindNull {
		return nil
	}
	before := between(t.asked[idKey(resp.ID)], 0, resp.Index)
	if len(before) == 0 {
		return nil
	}
	return before[len(before)-1]
}

// Unattributed are the error responses without a usable id after index from:
// the form in which a server answers what it could not read.
func (t *Trace) unattributed(from, to int) []*Frame {
	return between(t.strays, from+1, to)
}

// started is how long the server took to its first answer, 0 when it gave
// none.
func (t *Trace) started() time.Duration {
	for f := range t.all() {
		if f.FromServer && f.Kind == KindResponse {
			return f.At
		}
	}
	return 0
}

// noted reports whether the driver noted a text.
func (t *Trace) noted(text string) bool { return t.notedSince(text, 0) }

// notedSince reports whether the driver noted a text at or after an event.
func (t *Trace) notedSince(text string, from int) bool {
	at := t.said[text]
	return len(at) > 0 && at[len(at)-1] >= from
}

// culprit is the request after which the server answered nothing any more, nil
// where it did not hang.
func (t *Trace) culprit() *Frame {
	if !t.noted(noteHung) && !t.noted(noteStalled) {
		return nil
	}
	var last *Frame
	for f := range t.visit(t.sent) {
		if f.Kind == KindRequest && !f.fence() {
			last = f
		}
	}
	if t.Answer(last) != nil {
		return nil
	}
	return last
}

// Died reports whether the server ended, or closed its output, while the
// driver still wanted it.
func (t *Trace) Died() (how string, died bool) {
	for _, i := range t.notesAt[transcript.KindNote] {
		if why, ok := strings.CutPrefix(string(t.Recording.Events[i].Data), noteRefused); ok {
			return "it refuses connections (" + why + ")", true
		}
	}
	var ends []int
	for _, k := range []transcript.Kind{transcript.KindEOF, transcript.KindSent, transcript.KindExit, transcript.KindSignal} {
		ends = append(ends, t.notesAt[k]...)
	}
	slices.Sort(ends)
	for _, i := range ends {
		e := &t.Recording.Events[i]
		switch e.Kind {
		case transcript.KindEOF:
			if string(e.Data) == ">" && !died { // the driver ended the input first
				return "", false
			}
			if string(e.Data) == "<" {
				how, died = "it closed its output", true
			}
		case transcript.KindSent:
			return how, died
		case transcript.KindExit:
			return "it exited with status " + string(e.Data), true
		case transcript.KindSignal:
			return "it was ended by " + string(e.Data), true
		}
	}
	return how, died
}

func quote(s string) string { return string(wire.Quote(s)) }
