package check

import (
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// breakdown is how a session ended that the client still wanted.
type breakdown struct {
	how  string // "it exited with status 1"
	hung bool   // it runs, but answers nothing any more
	at   int    // event of the end; of a server that hung, of the note that says so
	// line is the line that it most likely ended over, of those that it had not
	// dealt with as far as its answers tell: one that is no proper message, or
	// else the first request; or what stands before it, if that is a fence. Nil
	// where there is none: it ended between two of them.
	line *Frame
	// request is the first proper request that was left without an answer; nil
	// where there is none, and where a line that is no proper message stands
	// before it.
	request *Frame
}

// broke finds how a session ended early through the server, nil when it did
// not. A short wait in vain is no end.
func (t *Trace) broke() *breakdown {
	t.endMu.Lock()
	defer t.endMu.Unlock()
	if n := len(t.Recording.Events); t.endAt != n {
		t.end, t.endAt = t.findBreakdown(), n
	}
	return t.end
}

func (t *Trace) findBreakdown() *breakdown {
	b := &breakdown{at: -1}
	how, died := t.Died()
	switch {
	case died:
		b.how, b.at = how, t.endEvent()
	case t.noted(noteUnread):
		b.how, b.hung, b.at = "it stopped reading its input", true, t.said[noteUnread][0]
	case t.noted(noteHung):
		b.how, b.hung, b.at = "it answered nothing any more", true, t.said[noteHung][0]
	default:
		return nil
	}
	// What was sent before the last answer is dealt with, requests aside: they
	// may be answered in any order. What was sent before the last fence that
	// was answered had its time.
	answered, fence := -1, -1
	for f := range t.visit(t.sent) {
		if f.Kind == KindRequest && t.Answer(f) != nil {
			answered = f.Index
			if f.fence() {
				fence = f.Index
			}
		}
	}
	cancelled := map[string]int{}
	for f := range t.visit(t.sent) {
		if f.Method == methodCancelled && f.Param("requestId") != nil {
			cancelled[idKey(f.Param("requestId"))] = f.Index
		}
	}
	for f := range t.visit(t.sent) {
		switch {
		case f.Kind == KindResponse:
		case f.proper() && f.Kind == KindRequest && f.Method != methodListen:
			if f.Index < fence || t.Answer(f) != nil || t.dealtWith(f) || t.cancelledAt(f) >= 0 || t.astray(f) != nil || t.saidNothing(f) || cancelled[idKey(f.ID)] > f.Index ||
				t.notedSince(noteSilent+string(f.ID), f.Index) || t.notedSince(noteGaveUp+string(f.ID), f.Index) {
				continue
			}
			// A fence is harmless; what stands before it is not always.
			if b.line == nil || !f.fence() {
				b.line = f
			}
			b.request = f
			return b
		case f.Index < answered:
		case f.proper():
			if b.line == nil {
				b.line = f
			}
		default:
			b.line = f
			return b
		}
	}
	return b
}

// endEvent is the event by which a server ended: its exit, or the end of its
// output where it did not exit by itself.
func (t *Trace) endEvent() int {
	for _, k := range []transcript.Kind{transcript.KindExit, transcript.KindSignal} {
		for _, i := range t.notesAt[k] {
			// An exit that was asked for says nothing of the server.
			if sent := t.notesAt[transcript.KindSent]; len(sent) == 0 || sent[0] > i {
				return i
			}
		}
	}
	for _, i := range t.notesAt[transcript.KindEOF] {
		if string(t.Recording.Events[i].Data) == "<" {
			return i
		}
	}
	for _, i := range t.notesAt[transcript.KindNote] {
		if strings.HasPrefix(string(t.Recording.Events[i].Data), noteRefused) {
			return i
		}
	}
	return -1
}

// proper reports whether f is a request or a notification as JSON-RPC has
// them, whatever its method and the contents of its params.
func (f *Frame) proper() bool {
	if f.Kind != KindRequest && f.Kind != KindNotification || f.Method == "" {
		return false
	}
	version, _ := f.Value.Get("jsonrpc").Str()
	return version == "2.0" && (f.ID == nil || usableID(f.ID)) && (f.Params == nil || f.Params.Kind() == wire.KindObject)
}

// astray is the response by which the server must have meant to answer a
// request that has no answer: the one that came for it under an id which no
// request has. Nil when there is none.
func (t *Trace) astray(req *Frame) *Frame {
	t.strayMu.Lock()
	defer t.strayMu.Unlock()
	if n := len(t.Recording.Events); t.strayAt != n {
		t.findAstray()
		t.strayAt = n
	}
	return t.lostTo[req]
}

// unreadable reports whether a response says that what it answers could not be
// read.
func (f *Frame) unreadable() bool {
	code, ok := f.Code()
	return f.Failed() && (!ok || code == -32700 || code == -32600)
}

func (t *Trace) findAstray() {
	t.lostTo = map[*Frame]*Frame{}
	var waiting []*Frame // without an answer: the last request, and fences behind it
	known := map[string]bool{}
	for f := range t.all() {
		switch {
		case !f.FromServer && f.Kind == KindResponse:
		case !f.FromServer:
			for _, p := range f.parts() {
				if p.ID != nil {
					known[looseID(p.ID)] = true
				}
			}
			if !f.fence() {
				waiting = waiting[:0]
			}
			if f.Kind == KindRequest && f.proper() && t.Answer(f) == nil {
				waiting = append(waiting, f)
			}
		case f.Kind != KindResponse || len(waiting) == 0 || t.readBroken(f.Index):
		case !usableID(f.ID) && (f.unreadable() || f.Failed() && f.Exchange != 0): // how a server answers what it cannot read, or HTTP what it refuses
		case !usableID(f.ID) || !known[looseID(f.ID)]:
			t.lostTo[waiting[0]] = f
			waiting = slices.Delete(waiting, 0, 1)
		}
	}
	// The true answer may still have been on its way when the session ended.
	waited := t.noted(noteHung) || t.noted(noteStalled)
	maps.DeleteFunc(t.lostTo, func(req, _ *Frame) bool { return !waited && !t.fenced(req.Index) })
}

// toNotifications are the responses of the server that answer no request and
// came when a notification was the last thing that it had been sent, fences
// aside: by them it must have meant to answer that notification. What may have
// been meant for a request that has no other answer is not among them, nor what
// came after a line that no server can read.
func (t *Trace) toNotifications() []*Frame {
	meant := t.meantForRequests()
	var out []*Frame
	var last *Frame
	known := map[string]bool{}
	for f := range t.all() {
		for _, p := range f.parts() {
			switch {
			case !f.FromServer:
				if p.ID != nil && p.Kind != KindResponse {
					known[looseID(p.ID)] = true
				}
			case p.Kind != KindResponse, last == nil, t.refusal(p), usableID(p.ID) && known[looseID(p.ID)], meant[f], t.readBroken(f.Index), t.underRequest(f):
			default:
				out = append(out, p)
			}
		}
		switch {
		case f.FromServer, f.fence():
		case f.Kind == KindNotification && f.proper():
			last = f
		default:
			last = nil
		}
	}
	return out
}

// underRequest reports whether a line of the server stands in what HTTP answers a
// request by: it is none to a notification, which was posted by itself.
func (t *Trace) underRequest(f *Frame) bool {
	x := t.carried[f.Exchange]
	return x != nil && x.request != nil && x.request.Kind == KindRequest
}

// meantForRequests are the responses that astray finds.
func (t *Trace) meantForRequests() map[*Frame]bool {
	t.astray(nil)
	t.strayMu.Lock()
	defer t.strayMu.Unlock()
	out := map[*Frame]bool{}
	for _, f := range t.lostTo {
		out[f] = true
	}
	return out
}

// why says for a check that could see nothing how its session ended, and on
// which line; "" when it did not end early.
func (t *Trace) why() string {
	how := t.lost()
	b := t.broke()
	switch {
	case how == "" || b == nil:
		return how
	case b.line == nil:
		if f := t.lastAsked(b.at); f != nil {
			return how + " some time after " + f.Method
		}
		return how
	}
	switch f := b.line; {
	case b.hung && f.proper():
		return how + " after " + f.Method
	case f == b.request:
		return how + " instead of answering " + f.Method
	case f.proper():
		return how + " after " + f.Method
	}
	return how + " after a line that is no proper message"
}

// lastAsked is the last request before an event, fences aside where there are
// others; nil where there is none.
func (t *Trace) lastAsked(at int) *Frame {
	var fence *Frame
	for _, f := range slices.Backward(between(t.sent, 0, at)) {
		switch {
		case f.Kind != KindRequest || !f.proper():
		case !f.fence():
			return f
		case fence == nil:
			fence = f
		}
	}
	return fence
}

// listOf is the list without whose entries a step has nothing to try, "" for
// the steps that need none.
func listOf(step string) string {
	for _, s := range []struct{ prefix, method string }{
		{"call", "tools/list"}, {"declared/call", "tools/list"}, {"prompt/", "prompts/list"}, {"prompts/missing", "prompts/list"},
		{"prompts/wrong", "prompts/list"}, {"read/", "resources/list"}, {"complete", "prompts/list"},
	} {
		if strings.HasPrefix(step, s.prefix) {
			return s.method
		}
	}
	return ""
}

// unlisted says why a list could not be read to its end although the server
// declares it, "" where it was, or where that is nobody's fault.
func (c *Case) unlisted(step string) string {
	method := listOf(step)
	if method == "" || c.Facts.Listed[method] {
		return ""
	}
	for _, s := range c.stepsOf(method) {
		if why := s.Trace.why(); s.Name == method && why != "" && s.cutShort() {
			return method + " could not be read: " + why
		}
	}
	return ""
}

// cutShort reports whether the session ended before the server had its time for
// a request of the step.
func (s *Step) cutShort() bool {
	for _, f := range s.Sent() {
		if f.Kind == KindRequest && s.Trace.Answer(f) == nil && !s.Trace.fenced(f.Index) {
			return true
		}
	}
	return false
}
