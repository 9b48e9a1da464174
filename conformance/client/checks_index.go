package client

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// talkIndex is what checks look up for each message of a conversation again. It
// is made once, so that judging takes time in proportion to what was said.
type talkIndex struct {
	byID       map[string][]*check.Frame // requests of the client, by idKey
	questions  map[*check.Frame]*check.Frame
	cancels    map[string][]*check.Frame // cancellations of the client, by idKey of what they name
	loosely    map[string][]*check.Frame // the same by looseKey
	withdrawn  map[string]*check.Frame   // the first cancellation of the server, by idKey
	members    map[int][]*check.Frame    // requests of the server, by the event of their line
	open       bool                      // a request of the server has no answer
	offers     wire.Raw                  // see offered
	discovered int                       // event of the first answer to a discovery, -1 for none
	answered   []lateAnswer              // requests of the server that were answered
	listed     map[string][]listing      // tools, by name
	folded     map[string]string         // the name that was listed first, by the name in one case
}

// lateAnswer is a request of the server, with the time of the last answer to it
// or to a later one.
type lateAnswer struct {
	index int
	at    time.Duration
}

// listing is a tool as it was listed last at an event.
type listing struct {
	answer, place int // the event of the answer, and the place of its request among all for tools
	tool          wire.Raw
}

func (k *talk) newIndex() *talkIndex {
	x := &talkIndex{
		byID: map[string][]*check.Frame{}, questions: map[*check.Frame]*check.Frame{}, cancels: map[string][]*check.Frame{}, loosely: map[string][]*check.Frame{},
		withdrawn: map[string]*check.Frame{}, members: map[int][]*check.Frame{}, discovered: -1,
	}
	for req, a := range k.replies {
		x.questions[a] = req
	}
	for _, f := range k.lines {
		switch {
		case f.Method == cancelled && !f.FromServer:
			id := f.Params.Get("requestId")
			x.cancels[idKey(id)] = append(x.cancels[idKey(id)], f)
			x.loosely[looseKey(id)] = append(x.loosely[looseKey(id)], f)
		case f.Method == cancelled:
			if key := idKey(f.Params.Get("requestId")); x.withdrawn[key] == nil {
				x.withdrawn[key] = f
			}
		}
		switch {
		case f.Kind != check.KindRequest:
			continue
		case f.FromServer:
			x.members[f.Index] = append(x.members[f.Index], f)
			if a := k.replies[f]; a != nil {
				x.answered = append(x.answered, lateAnswer{f.Index, a.At})
			} else {
				x.open = true
			}
			continue
		}
		x.byID[idKey(f.ID)] = append(x.byID[idKey(f.ID)], f)
		if a := k.answers[f]; a.OK() && (f.Method == initialize || f.Method == discover) {
			if caps := a.Result.Get("capabilities"); x.offers == nil && caps.Kind() == wire.KindObject {
				x.offers = caps
			}
			if f.Method == discover && (x.discovered < 0 || a.Index < x.discovered) {
				x.discovered = a.Index
			}
		}
	}
	for i := len(x.answered) - 2; i >= 0; i-- {
		x.answered[i].at = max(x.answered[i].at, x.answered[i+1].at)
	}
	x.list(k)
	return x
}

// list keeps what tools were listed.
func (x *talkIndex) list(k *talk) {
	x.listed, x.folded = map[string][]listing{}, map[string]string{}
	for place, f := range k.requests("tools/list") {
		a := k.answers[f]
		if !a.OK() {
			continue
		}
		for t := range a.Result.Get("tools").Elems() {
			name := str(t.Get("name"))
			x.listed[name] = append(x.listed[name], listing{a.Index, place, t})
			if folded := strings.ToLower(name); x.folded[folded] == "" {
				x.folded[folded] = name
			}
		}
	}
	// Answers may come in another order than the requests: at each one the tool
	// is what the latest request of those that were answered brought.
	for _, all := range x.listed {
		slices.SortStableFunc(all, func(a, b listing) int { return a.answer - b.answer })
		for i := 1; i < len(all); i++ {
			if all[i].place < all[i-1].place {
				all[i].place, all[i].tool = all[i-1].place, all[i-1].tool
			}
		}
	}
}

// before is how many of some frames, which stand in order, come before an event.
func before(frames []*check.Frame, index int) int {
	return sort.Search(len(frames), func(i int) bool { return frames[i].Index >= index })
}

// after is the first of some frames, which stand in order, that comes after an
// event, nil for none.
func after(frames []*check.Frame, index int) *check.Frame {
	if i := before(frames, index+1); i < len(frames) {
		return frames[i]
	}
	return nil
}

// tool is a tool as the server listed it last, nil where it did not.
func (k *talk) tool(name string, before int) wire.Raw {
	all := k.index().listed[name]
	if i := sort.Search(len(all), func(i int) bool { return all[i].answer >= before }); i > 0 {
		return all[i-1].tool
	}
	return nil
}

// tools are those that the server listed, each as it did last.
func (k *talk) tools() []wire.Raw {
	var out []wire.Raw
	for _, all := range k.index().listed {
		out = append(out, all[len(all)-1].tool)
	}
	return out
}

// likeTool is a name that differs from another one by its case only and was
// listed before an event, "" for none.
func (k *talk) likeTool(name string, before int) string {
	if like := k.index().folded[strings.ToLower(name)]; like != name && k.tool(like, before) != nil {
		return like
	}
	return ""
}

// replied is the request of the server that a response of the client answers.
func (k *talk) replied(a *check.Frame) question { return question{k.index().questions[a]} }

// offered is what the server declared in this conversation, nil where it never
// said so.
func (k *talk) offered() wire.Raw { return k.index().offers }

// knewBefore reports whether the client had the answer to a discovery before
// it sent f.
func (k *talk) knewBefore(f *check.Frame) bool {
	at := k.index().discovered
	return at >= 0 && at < f.Index
}

// over is the event by which a request without an answer was given up or
// lost: its cancellation, or the end of its HTTP exchange; -1 for none.
func (k *talk) over(req *check.Frame) int {
	if f := after(k.index().cancels[idKey(req.ID)], req.Index); f != nil {
		return f.Index
	}
	ends := k.view.ends[req.Trace.Recording.Events[req.Index].Exchange]
	if i, _ := slices.BinarySearch(ends, req.Index); i < len(ends) {
		return ends[i]
	}
	return -1
}

// refusedByHTTP reports whether a request got an error of HTTP, as for a token,
// and none of the server.
func (k *talk) refusedByHTTP(req *check.Frame) bool {
	if k.answers[req] != nil {
		return false
	}
	x := k.view.numbered[req.Trace.Recording.Events[req.Index].Exchange]
	return x != nil && x.Status >= 400
}

// cancellation is the client's cancellation of one of its requests.
func (k *talk) cancellation(req *check.Frame) *check.Frame {
	return after(k.index().loosely[looseKey(req.ID)], req.Index)
}

// cancelledBy is the cancellation of the server for one of its requests.
func (k *talk) cancelledBy(req *check.Frame) *check.Frame {
	return k.index().withdrawn[idKey(req.ID)]
}

// named is the request of the client that a message names by exactly its id, the
// last one before it, nil for none.
func (k *talk) named(f *check.Frame) *check.Frame {
	all := k.index().byID[idKey(f.Params.Get("requestId"))]
	if n := before(all, f.Index); n > 0 {
		return all[n-1]
	}
	return nil
}

// unanswered reports whether a request of the server was left without an
// answer.
func (k *talk) unanswered() bool { return k.index().open }

// unansweredThough reports whether one of the server's requests has no answer
// although the client had the time, and answered one that came after all of
// them.
func (k *talk) unansweredThough(asked []*check.Frame, last *check.Frame) bool {
	if !slices.ContainsFunc(asked, func(f *check.Frame) bool { return k.replies[f] == nil }) {
		return false
	}
	all := k.index().answered
	i := sort.Search(len(all), func(i int) bool { return all[i].index > last.Index })
	return i < len(all) && all[i].at-last.At >= enough
}

// alive reports whether the client said something after a message.
func (k *talk) alive(since *check.Frame) bool { return after(k.said(), since.Index) != nil }

// outline keeps what checks look up in the events of the recording.
func (v *view) outline() {
	v.ends, v.eventsOf, v.notes = map[int][]int{}, map[int][]int{}, map[string]bool{}
	v.overAt, v.endAt, v.why = len(v.trace.Recording.Events), -1, Over(v.trace)
	overSeen, endKnown := false, false
	for i := range v.trace.Recording.Events {
		e := &v.trace.Recording.Events[i]
		if e.Exchange != 0 {
			v.eventsOf[e.Exchange] = append(v.eventsOf[e.Exchange], i)
			if e.Kind == transcript.KindEnd || e.Kind == transcript.KindError || e.Kind == transcript.KindStatus && e.Status() != 200 {
				v.ends[e.Exchange] = append(v.ends[e.Exchange], i)
			}
		}
		if e.Dir != transcript.Note {
			continue
		}
		over := e.Kind == transcript.KindNote && strings.HasPrefix(string(e.Data), NoteOver)
		if e.Kind == transcript.KindNote {
			v.notes[string(e.Data)] = true
		}
		if over && !overSeen {
			v.overAt, overSeen = i, true
		}
		switch {
		case endKnown:
		case over && string(e.Data) != NoteOver+OverExit:
			endKnown = true
		case e.Kind == transcript.KindEOF && e.Closed() == transcript.ToServer, e.Kind == transcript.KindExit, e.Kind == transcript.KindSignal:
			v.endAt, endKnown = i, true
		}
	}
	v.arrays = map[int]*check.Frame{}
	for _, f := range v.lines {
		if f.Kind == check.KindArray {
			v.arrays[f.Index] = f
		}
	}
	for _, x := range v.calls {
		if x.Method == "GET" && x.Header["last-event-id"] != nil {
			v.resuming = append(v.resuming, x)
		}
	}
	v.numbered, v.endpoints = map[int]*exchange{}, map[string]int{}
	for _, x := range v.whole {
		v.numbered[x.Number] = x
		for _, m := range x.Messages {
			if m.Event != "endpoint" {
				continue
			}
			if at := resolved(x, strings.TrimSpace(string(m.Data))); v.endpoints[at] == 0 {
				v.endpoints[at] = x.First + 1
			}
		}
	}
}

// noted reports whether the recording holds a remark.
func (v *view) noted(text string) bool { return v.notes[text] }

// over is the event at which the play was over, or the last one.
func (v *view) over() int { return v.overAt }

// end is the index of the first event that ended the client's side: it closed
// the server's input, or exited; -1 where it did neither before the play was
// over.
func (v *view) end() int { return v.endAt }

// toOld reports whether a POST belongs to the old transport, on which nothing is
// said of its headers: a stream has named its address.
func (x *exchange) toOld() bool {
	from := x.view.endpoints[x.Target]
	return from > 0 && from-1 < x.First
}

// page is what is known of a list when the client asks for a page of it.
type page struct {
	given  map[string]bool // the cursors that the server gave for it before, in this conversation
	newest string          // the one of the latest request
	ended  bool            // the last page before was the end of the list
}

// pager follows the pages of one list.
type pager struct {
	page
	reqs            []*check.Frame // for pages of it
	answered        []int          // places in reqs of those with a result, in the order of the results
	last, lastGiven int            // places of the latest request of those that were read, and of those with a cursor
}

// eachPage calls fn for every request for a page, with what is known of its list.
func eachPage(c *check.Case, fn func(k *talk, f *check.Frame, p page)) {
	for _, k := range talks(c) {
		lists := map[string]*pager{}
		for _, f := range k.requests("") {
			if !isList(f.Method) {
				continue
			}
			p := lists[f.Method]
			if p == nil {
				p = k.pager(f.Method)
				lists[f.Method] = p
			}
			p.read(k, f.Index)
			fn(k, f, p.page)
		}
	}
}

func (k *talk) pager(method string) *pager {
	p := &pager{page: page{given: map[string]bool{}}, reqs: k.requests(method), last: -1, lastGiven: -1}
	for i, f := range p.reqs {
		if k.answers[f].OK() {
			p.answered = append(p.answered, i)
		}
	}
	slices.SortStableFunc(p.answered, func(a, b int) int { return k.answers[p.reqs[a]].Index - k.answers[p.reqs[b]].Index })
	return p
}

// read takes in the pages that came before an event.
func (p *pager) read(k *talk, before int) {
	for ; len(p.answered) > 0; p.answered = p.answered[1:] {
		at := p.answered[0]
		a := k.answers[p.reqs[at]]
		if a.Index >= before {
			return
		}
		if at > p.last {
			p.last, p.ended = at, a.Result.Get("nextCursor") == nil
		}
		if cursor, ok := nextCursor(a); ok {
			p.given[cursor] = true
			if at > p.lastGiven {
				p.lastGiven, p.newest = at, cursor
			}
		}
	}
}

// givenElsewhere reports whether another conversation of the recording holds
// that cursor.
func (k *talk) givenElsewhere(cursor string) bool {
	for _, other := range k.view.cursors()[cursor] {
		if other != k {
			return true
		}
	}
	return false
}

// newCursors are the conversations that cursors were given in, two for each at
// most.
func (v *view) newCursors() map[string][]*talk {
	out := map[string][]*talk{}
	for _, k := range v.talks {
		for _, f := range k.requests("") {
			if !isList(f.Method) {
				continue
			}
			if cursor, ok := nextCursor(k.answers[f]); ok && len(out[cursor]) < 2 && !slices.Contains(out[cursor], k) {
				out[cursor] = append(out[cursor], k)
			}
		}
	}
	return out
}

// newAnswers are the answers of the server in all conversations.
func (v *view) newAnswers() map[*check.Frame]*check.Frame {
	out := map[*check.Frame]*check.Frame{}
	for _, k := range v.talks {
		for f, a := range k.answers {
			out[f] = a
		}
	}
	return out
}

// newRounds finds the rounds of a conversation.
func (k *talk) newRounds() []round {
	// What may be a retry, by what it asks for; free is the next place that is
	// not taken, from each one.
	type target struct {
		retries []*check.Frame
		free    []int
	}
	by := map[string]*target{}
	for _, f := range k.requests("") {
		if !brings(f) {
			continue
		}
		t := by[targetKey(f)]
		if t == nil {
			t = &target{}
			by[targetKey(f)] = t
		}
		t.free = append(t.free, len(t.retries))
		t.retries = append(t.retries, f)
	}
	var out []round
	for _, req := range k.requests("") {
		a := k.answers[req]
		if !a.OK() || str(a.Result.Get("resultType")) != "input_required" {
			continue
		}
		r := round{req: req, answer: a}
		// The retry is the next request for the same that brings something.
		if t := by[targetKey(req)]; t != nil {
			at := before(t.retries, a.Index+1)
			for at < len(t.free) && t.free[at] != at {
				next := t.free[at]
				if next < len(t.free) {
					t.free[at] = t.free[next]
				}
				at = next
			}
			if at < len(t.retries) {
				r.retry = t.retries[at]
				t.free[at] = at + 1
			}
		}
		out = append(out, r)
	}
	return out
}

// targetKey is the same for requests for the same.
func targetKey(f *check.Frame) string {
	return f.Method + "\x00" + str(f.Params.Get("name")) + "\x00" + str(f.Params.Get("uri"))
}
