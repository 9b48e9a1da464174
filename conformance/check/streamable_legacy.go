package check

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Streams of the stateful revisions: the one of GET, ids of events, and what
// can be resumed by them.

// slowEnough is how long a tool has to take so that its call can be left
// meanwhile.
const slowEnough = 100_000_000 // ns

// slowTool is a call of a tool that took a moment when it was called before,
// "" for none: what it does can be interrupted.
func (d *Driver) slowTool() string {
	params := ""
	look := func(t *Trace) {
		if t.Profile != Main { // another client may be asked something meanwhile
			return
		}
		for req := range t.visit(t.sent) {
			if req.Method != "tools/call" || !d.MayCall(Name(req.Params, "name")) || req.Param("task") != nil {
				continue
			}
			a := t.Answer(req)
			if a.OK() && a.At-req.At >= slowEnough && a.At-req.At <= slowTool {
				params = string(withoutMeta(req.Params))
			}
		}
	}
	for _, t := range d.past {
		look(t)
	}
	d.View(look)
	return params
}

// anEvent waits until an event of a stream has come, or the answer.
func (d *Driver) anEvent(x *Exchange) (id string) {
	d.wait(d.patience(), func() bool {
		now := d.trace.carried[x.Number]
		id = now.lastID
		return id != "" || !d.http.working[x.Number] || len(now.frames) > 0
	})
	return id
}

func legacyStreamProbes() []Probe {
	return []Probe{
		{
			Name: "two streams taken up again", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("resume/sent")
				var firsts []string
				for _, method := range []string{"ping", someLegacyList(d.Facts)} {
					x := d.post(d.request(method, ""))
					if x == nil {
						return
					}
					id := ""
					for _, e := range x.Messages {
						if e.HasID && e.ID != "" {
							id = e.ID
							break
						}
					}
					firsts = append(firsts, id)
				}
				for i, id := range firsts {
					if id != "" {
						d.Step("resume/again-" + strconv.Itoa(i+1))
						d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{{headLast, id}}}, 2*d.limits.Grace)
					}
				}
			},
		},
		{
			Name: "a broken stream taken up again", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Alone: true,
			After: []string{"call"},
			Run: func(d *Driver) {
				params := d.slowTool()
				if params == "" {
					return
				}
				d.Step("broken/call")
				x := d.Send(HTTPRequest{Body: d.request("tools/call", params), Wait: WaitHead})
				if x == nil || !x.Stream {
					return
				}
				id := d.anEvent(x)
				if id == "" || d.now(x.Number).answer() != nil {
					return
				}
				d.CloseExchange(x.Number)
				d.Step("broken/again")
				d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{{headLast, id}}}, slowTool+d.limits.Grace)
			},
		},
		{
			Name: "the stream of GET closed", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("get/close")
				if d.closeGET() {
					d.Step("get/closed")
					d.post(d.cheapBody())
				}
			},
		},
		{
			Name: "progress beside the stream of GET", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Needs: []string{"tools"},
			After: []string{"call"},
			Run: func(d *Driver) {
				d.Step("get/progress")
				n := 0
				for _, t := range d.harmlessTools("get/tools") {
					if n++; n > 5 {
						break
					}
					d.Step("get/progress")
					token := quote("goldwire-get-" + strconv.Itoa(n))
					d.Patient(d.Ask("tools/call", WithMeta(t.params, `"progressToken":`+token)))
				}
				d.Pause(d.limits.Grace)
			},
		},
	}
}

// closeGET closes the stream that GET opened, and reports whether there was one.
func (d *Driver) closeGET() bool {
	open := d.Listening()
	if open == 0 {
		return false
	}
	d.CloseExchange(open)
	d.Pause(d.limits.Grace)
	return true
}

// now is what is known of an exchange by now.
func (d *Driver) now(number int) (x *Exchange) {
	d.View(func(t *Trace) { x = t.Exchange(number) })
	return x
}

// opens reports whether x asks for a stream of its own by GET.
func (x *Exchange) opens() bool {
	return x.Method == http.MethodGet && x.Header.Get(headLast) == "" && x.Target == x.Trace.path() && x.Header.Get(headOrigin) == ""
}

// path is that of the endpoint: where most is posted to.
func (t *Trace) path() string {
	for _, x := range t.order {
		if e := &t.Recording.Events[x.events[0]]; e.Kind == transcript.KindRequest {
			if method, target, _ := e.Request(); method == http.MethodPost {
				return target
			}
		}
	}
	return ""
}

// firstGet is the first request for a stream by GET in the session, where it is
// made as it should be: with the session id where there is one, and with the
// version. Nil for none.
func (t *Trace) firstGet() *Exchange {
	id := ""
	for _, x := range t.Exchanges() {
		if x.Request != nil && x.Request.Method == "initialize" && id == "" {
			id = x.ResponseHeader.Get(headSession)
		}
		if x.opens() {
			if strings.HasPrefix(x.step(), "auth/") { // made without credentials
				return nil
			}
			if x.Header.Get(headSession) == id && (!AtLeast(t.Revision, rev2025June) || x.Header.Get(headVersion) == t.Revision) {
				return x
			}
			return nil
		}
	}
	return nil
}

// streams reports whether the server opens a stream for a proper GET.
func (t *Trace) streams() bool {
	x := t.firstGet()
	return x != nil && x.Status == http.StatusOK && x.Stream
}

// session is the one that an exchange is part of.
func (x *Exchange) session() string {
	return or(x.Header.Get(headSession), x.ResponseHeader.Get(headSession))
}

func legacyStreamChecks() []Check {
	return []Check{
		{
			ID: "http-one-endpoint", Title: "one address takes POST and GET", Layer: Bytes,
			Requirements: []string{"legacy/http-single-endpoint"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					if x := t.firstGet(); x != nil && c.heard(x) {
						c.right(x, x.Status != http.StatusNotFound, "a stream or status 405 at the address that takes POST", x.says())
					}
				}
			},
		},
		{
			ID: "http-get-answered", Title: "GET is answered by a stream or by 405", Layer: Bytes,
			Requirements: []string{"legacy/http-get-sse-or-405"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					if x := t.firstGet(); x != nil && c.heard(x) {
						ok := x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusOK && x.media() == mediaStream
						c.right(x, ok, "a stream of events, or status 405", x.says()+", Content-Type "+or(x.media(), "none"))
					}
				}
			},
		},
		{
			ID: "http-get-no-answers", Title: "no answer comes on the stream of GET", Layer: Bytes,
			Requirements: []string{"legacy/http-get-no-replies"},
			Judge: func(c *Case) {
				c.gets(func(x *Exchange) {
					for _, f := range x.Frames {
						for _, p := range f.parts() {
							if p.Kind == KindResponse {
								c.Broken(f, "no answer on a stream that GET opened", sayHow(p))
							}
						}
					}
					c.Saw()
				})
			},
		},
		{
			ID: "http-get-unrelated", Title: "what comes on the stream of GET belongs to no running request", Layer: Bytes,
			Requirements: []string{"legacy/http-get-stream-unrelated"},
			Judge: func(c *Case) {
				c.gets(func(x *Exchange) {
					for _, f := range x.Frames {
						if f.Method == methodProgress {
							if req := x.Trace.running(f); req != nil {
								c.brokenTwice(req, f, "progress on the stream of its request", "progress of a running request on the stream of GET")
								continue
							}
						}
						c.Saw()
					}
				})
			},
		},
		{
			ID: "http-get-closed", Title: "closing the stream of GET harms nothing", Layer: Bytes,
			Requirements: []string{"legacy/http-get-close-any-time"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("get/closed") {
					if c.heard(x) {
						c.right(x, x.served(), "a result after the stream of GET was closed", x.says())
					}
				}
			},
		},
		{
			ID: "http-no-broadcast", Title: "a message is sent on one stream", Layer: Bytes,
			Requirements: []string{"legacy/http-no-broadcast"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					c.broadcasts(t)
				}
			},
		},
		{
			ID: "http-early-close", Title: "the stream of a request is kept until the answer is out", Layer: Bytes,
			Requirements: []string{"legacy/http-sse-no-early-close"},
			Judge: func(c *Case) {
				c.drops(func(x *Exchange, dropped bool) {
					c.right(x, !dropped, "the answer before the stream ends", "the end of the stream without it")
				})
			},
		},
		{
			ID: "http-drop-after-id", Title: "a connection is dropped only where the stream can be resumed", Layer: Bytes,
			Requirements: []string{"legacy/http-server-drops-connection"},
			Judge: func(c *Case) {
				c.drops(func(x *Exchange, dropped bool) {
					if dropped {
						c.right(x, x.named(), "an event with an id before the connection is closed", "none")
					}
				})
				c.NotObserved("the server dropped no connection")
			},
		},
		{
			ID: "http-drop-retry", Title: "before a connection is dropped the client is told how long to wait", Layer: Bytes,
			Requirements: []string{"legacy/http-retry-before-drop"},
			Judge: func(c *Case) {
				c.drops(func(x *Exchange, dropped bool) {
					if dropped && x.named() {
						c.right(x, x.asksRetry(), "a retry field before the connection is closed", "none")
					}
				})
				c.NotObserved("the server dropped no connection")
			},
		},
		{
			ID: "http-priming-event", Title: "a stream begins with an event that has an id and no data", Layer: Bytes,
			Requirements: []string{"legacy/http-priming-event"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					// Without the header, and before the handshake, the server does
					// not know the revision.
					if x.Stream && x.good() && x.Request.Method != "initialize" && x.Header.Get(headVersion) == c.Revision {
						c.right(x, x.primes(), "an event with an id and empty data first", x.begins())
					}
				})
			},
		},
		{
			ID: "http-event-ids-unique", Title: "an event id is used once in a session", Layer: Bytes,
			Requirements: []string{"legacy/http-event-id-unique"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					c.eventIDs(t)
				}
				c.NotObserved("events have no ids")
			},
		},
		{
			ID: "http-event-id-stream", Title: "an event id tells the stream", Layer: Bytes,
			Requirements: []string{"legacy/http-event-id-encodes-stream"},
			Judge: func(c *Case) {
				c.replays(func(x *Exchange, own, other, f *Frame) {
					switch {
					case wire.Equal(f.ID, own.ID):
						c.Saw()
					case wire.Equal(f.ID, other.ID) && !x.repeats(own):
						c.brokenTwice(other, f, "what followed the event on its own stream", "the answer of another stream alone")
					}
				})
				c.NotObserved("no stream was taken up again")
			},
		},
		{
			ID: "http-replay-own-stream", Title: "a stream that is taken up again says nothing of others", Layer: Bytes,
			Requirements: []string{"legacy/http-replay-same-stream-only"},
			Judge: func(c *Case) {
				c.replays(func(_ *Exchange, own, other, f *Frame) {
					switch {
					case wire.Equal(f.ID, other.ID):
						c.brokenTwice(other, f, "what followed the event on its own stream", "the answer to "+f.Trace.Request(f).Method+", which came on another stream")
					case wire.Equal(f.ID, own.ID):
						c.Saw()
					}
				})
				c.NotObserved("no stream was taken up again")
			},
		},
		{
			ID: "http-replay", Title: "what is sent again is what came after the event", Layer: Bytes,
			Requirements: []string{"legacy/http-replay"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					for _, x := range t.Exchanges() {
						last := x.Header.Get(headLast)
						if x.Method != http.MethodGet || last == "" || x.Status != http.StatusOK || !x.Stream {
							continue
						}
						again := slices.ContainsFunc(x.Messages, func(e transcript.SSEEvent) bool { return e.HasID && e.ID == last && len(e.Data) > 0 })
						c.right(x, !again, "what came after the event "+quote(last), "that very event")
					}
				}
				c.NotObserved("no stream was taken up again")
			},
		},
		{
			ID: "http-disconnect-no-cancel", Title: "a connection that breaks cancels nothing", Layer: Bytes,
			Requirements: []string{"legacy/http-disconnect-not-cancel"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("broken/again") {
					var req *Frame
					for _, s := range x.Trace.steps {
						if s.Name == "broken/call" && s.from < x.First {
							for _, f := range s.Sent() {
								req = f
							}
						}
					}
					switch a := x.Trace.Answer(req); {
					case !c.replaysAny():
						c.NotObserved("the server says nothing again on a stream that is taken up")
					case req == nil || x.Status != http.StatusOK:
						c.NotObserved("the server does not take up a stream again")
					case a.OK():
						c.Saw()
					case a.Failed():
						c.brokenTwice(req, a, "the result of the call whose connection broke", sayHow(a))
					case !x.Ended:
						c.NotObserved("nothing came on the stream that was taken up again")
					default:
						c.wrong(x, "the result of the call whose connection broke", "the end of the stream without it")
					}
				}
			},
		},
		{
			ID: "tasks-get-object", Title: "what becomes of a task is told without a stream", Layer: Bytes,
			Requirements: []string{"legacy/tasks-get-no-sse"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if x.Request.Method == "tasks/get" && x.answer() != nil {
						c.right(x, !x.Stream, "application/json", "a stream of events")
					}
				})
			},
		},
	}
}

// gets visits the streams that GET opened, not to resume one.
func (c *Case) gets(visit func(x *Exchange)) {
	c.allExchanges(func(x *Exchange) {
		if x.opens() && x.Stream && x.Status == http.StatusOK {
			visit(x)
		}
	})
	c.NotObserved("GET opens no stream")
}

// running is the posted request, no task, that a notification of progress is
// of and that has no answer when it comes; nil for none.
func (t *Trace) running(f *Frame) *Frame {
	for req := range t.visit(between(t.sent, 0, f.Index)) {
		token := req.Params.Get("_meta").Get("progressToken")
		if req.Kind != KindRequest || token == nil || !wire.Equal(token, f.Param("progressToken")) || req.Param("task") != nil {
			continue
		}
		if a := t.Answer(req); a == nil || a.Index > f.Index {
			return req
		}
	}
	return nil
}

// broadcasts judges that no message came on two streams. Requests and progress
// tell themselves apart; two other notifications may be alike and two.
func (c *Case) broadcasts(t *Trace) {
	type where struct {
		f *Frame
		x *Exchange
	}
	seen := map[string]where{}
	for _, x := range t.Exchanges() {
		if !x.Stream || t.resumes(x.Number) {
			continue
		}
		for _, f := range x.Frames {
			key := ""
			switch {
			case f.Kind == KindRequest:
				key = x.session() + " " + idKey(f.ID) + " " + f.Method
			case f.Method == methodProgress:
				if !t.tracked(f.Param("progressToken")) {
					continue
				}
				key = x.session() + " " + idKey(f.Param("progressToken")) + " " + string(f.Param("progress"))
			case f.Kind == KindNotification:
				key = x.session() + " " + string(f.Text)
			default:
				continue
			}
			c.Saw()
			first, again := seen[key]
			switch {
			case !again:
				seen[key] = where{f, x}
			case first.x.Number == x.Number:
			case f.Kind == KindRequest || f.Method == methodProgress:
				c.brokenTwice(first.f, f, "each message on one stream", "the same "+f.Method+" on two")
			case first.x.Method != x.Method && max(first.f.At, f.At)-min(first.f.At, f.At) <= alike:
				c.brokenTwice(first.f, f, "each message on one stream", "the same "+f.Method+" on two at the same time")
			}
		}
	}
}

// tracked reports whether a request asked for progress by a token.
func (t *Trace) tracked(token wire.Raw) bool {
	return slices.ContainsFunc(t.sent, func(f *Frame) bool {
		asked := f.Params.Get("_meta").Get("progressToken")
		return asked != nil && wire.Equal(asked, token)
	})
}

// alike is within how much time two equal notifications, one on the stream of a
// request and one on that of GET, are taken for one.
const alike = 20_000_000 // ns

// drops visits the streams of requests that ended by themselves, and tells
// whether the answer was not on them.
func (c *Case) drops(visit func(x *Exchange, dropped bool)) {
	c.requests(func(x *Exchange) {
		if x.Stream && x.good() && x.Ended && !x.Closed && !x.Trace.givenUp(x) {
			visit(x, x.answer() == nil)
		}
	})
}

// primes reports whether the stream began with an id and no data.
func (x *Exchange) primes() bool {
	if len(x.Messages) > 0 && x.Messages[0].HasID && x.Messages[0].ID != "" && len(x.Messages[0].Data) == 0 {
		return true
	}
	// An event without a data field at all is not dispatched, its id counts.
	ids := 0
	for i := x.First; i <= x.Last; i++ {
		e := &x.Trace.Recording.Events[i]
		if e.Exchange != x.Number || e.Dir != transcript.ToClient {
			continue
		}
		if e.Kind == transcript.KindMessage {
			break
		}
		if name, _, _ := e.Header(); e.Kind == transcript.KindSSE && name == "id" {
			ids++
		}
	}
	return ids > 1
}

// begins tells how a stream began.
func (x *Exchange) begins() string {
	switch {
	case len(x.Messages) == 0:
		return "no event"
	case !x.Messages[0].HasID:
		return "an event without an id"
	}
	return "an event with data"
}

// eventIDs judges that no event id is used twice in a session.
func (c *Case) eventIDs(t *Trace) {
	seen := map[string]transcript.SSEEvent{}
	for _, x := range t.Exchanges() {
		if !x.Stream || t.resumes(x.Number) {
			continue
		}
		for _, e := range x.Messages {
			if !e.HasID || e.ID == "" {
				continue
			}
			key := x.session() + " " + e.ID
			if first, again := seen[key]; again {
				c.found(finding{
					frame: &Frame{Index: e.Index, Trace: t, FromServer: true}, also: []int{first.Index},
					expected: "an id for each event of the session", observed: "the id " + quote(e.ID) + " twice",
				})
				continue
			}
			seen[key] = e
			c.Saw()
		}
	}
}

// replays visits the answers that came on the streams that were taken up again,
// each with those that came on the stream itself and on the other one before.
func (c *Case) replays(visit func(x *Exchange, own, other, f *Frame)) {
	for _, s := range c.stepsOf("resume/again") {
		var answers []*Frame
		ids := map[string]int{}
		for _, before := range s.Trace.steps {
			if before.Name != "resume/sent" {
				continue
			}
			for i, x := range before.Exchanges() {
				answers = append(answers, x.answer())
				for _, e := range x.Messages {
					if _, known := ids[e.ID]; e.HasID && e.ID != "" {
						if !known {
							ids[e.ID] = i
						}
						break // what follows the first one is all of the stream
					}
				}
			}
		}
		for _, x := range s.Exchanges() {
			i, known := ids[x.Header.Get(headLast)]
			if !known || len(answers) != 2 || answers[0] == nil || answers[1] == nil || x.Status != http.StatusOK {
				continue
			}
			own, other := answers[i], answers[1-i]
			for _, f := range x.Frames {
				if f.Kind == KindResponse && f.ID != nil {
					visit(x, own, other, f)
				}
			}
		}
	}
}

// replaysAny reports whether the server says again what came on a stream that
// is taken up.
func (c *Case) replaysAny() bool {
	for _, s := range c.stepsOf("resume/again") {
		for _, x := range s.Exchanges() {
			if x.Status == http.StatusOK && x.answer() != nil {
				return true
			}
		}
	}
	return false
}

// repeats reports whether the exchange has a message that answers the same
// request as f.
func (x *Exchange) repeats(f *Frame) bool {
	return slices.ContainsFunc(x.Frames, func(o *Frame) bool { return o.Kind == KindResponse && wire.Equal(o.ID, f.ID) })
}

func legacySessionProbes() []Probe {
	return []Probe{
		{
			Name: "more sessions", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				own := d.SessionID()
				if own == "" {
					return
				}
				d.Step("session/more")
				var made []string
				for range 5 {
					x := d.exchange(HTTPRequest{Body: d.request("initialize", d.Hello(d.rev)), Without: []string{headSession, headVersion}})
					if x == nil || x.ResponseHeader.Get(headSession) == "" {
						break
					}
					made = append(made, x.ResponseHeader.Get(headSession))
				}
				d.mu.Lock()
				d.http.sessionID = own
				d.mu.Unlock()
				d.Step("session/more-end")
				for _, id := range made {
					d.exchange(HTTPRequest{Method: http.MethodDelete, Header: [][2]string{{headSession, id}}})
				}
				d.Step("session/missing")
				d.postWithout(d.request(someLegacyList(d.Facts), ""), headSession)
				d.Step("session/end")
				d.exchange(HTTPRequest{Method: http.MethodDelete})
				d.Step("session/ended-post")
				d.post(d.cheapBody(), [2]string{headSession, own})
				d.Step("session/ended-get")
				d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{{headSession, own}}}, 0)
			},
		},
		{
			Name: "version headers", Transports: streamable, Since: rev2025June, Until: lastLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("version-header/absent")
				d.postWithout(d.cheapBody(), headVersion)
				d.Step("version-header/invalid")
				for _, v := range []string{"not-a-version", "1999-01-01"} {
					d.post(d.cheapBody(), [2]string{headVersion, v})
				}
				d.closeGET() // a second stream might be refused for that
				d.Step("version-header/invalid-get")
				d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{{headVersion, "not-a-version"}}}, 0)
			},
		},
	}
}

func legacySessionChecks() []Check {
	return []Check{
		{
			ID: "http-session-assigned", Title: "a session id comes with the result of initialize", Layer: Bytes,
			Requirements: []string{"legacy/http-session-assigned"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					given := map[string]bool{}
					for _, x := range t.Exchanges() {
						id := x.ResponseHeader.Get(headSession)
						switch {
						case id == "":
						case x.Request != nil && x.Request.Method == "initialize":
							given[id] = true
							c.Saw()
						case !given[id] && !c.given(id):
							c.wrong(x, "session ids only with the result of initialize", "a new one with "+x.says())
						}
					}
				}
				c.NotObserved("the server hands out no session ids")
			},
		},
		{
			ID: "http-session-id-characters", Title: "a session id is made of visible ASCII", Layer: Bytes,
			Requirements: []string{"legacy/http-session-id-charset"},
			Judge: func(c *Case) {
				c.sessionIDs(func(x *Exchange, id string) {
					odd := strings.IndexFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e })
					c.right(x, odd < 0, "characters from 0x21 to 0x7E", quote(id))
				})
			},
		},
		{
			ID: "http-session-id-strong", Title: "a session id cannot be guessed", Layer: Bytes,
			Requirements: []string{"legacy/http-session-id-unguessable"},
			Judge: func(c *Case) {
				var before []string
				c.sessionIDs(func(x *Exchange, id string) {
					switch {
					case slices.Contains(before, id):
						c.wrong(x, "an id that no other session has", quote(id)+" again")
					case bits(id) < strongEnough:
						c.wrong(x, "an id of about 128 bits or more that cannot be guessed", quote(id)+", of at most "+plural(int(bits(id)), "bit"))
					case len(before) > 0 && follows(before[len(before)-1], id):
						c.wrong(x, "an id that does not follow from another one", quote(before[len(before)-1])+" and then "+quote(id))
					default:
						c.Saw()
					}
					before = append(before, id)
				})
			},
		},
		{
			ID: "http-session-missing", Title: "the status for a missing session id is 400", Layer: Bytes,
			Requirements: []string{"legacy/http-session-missing-400"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("session/missing") {
					switch {
					case !c.heard(x):
					case x.served():
						c.NotObserved("the server does not need the session id")
					default:
						c.right(x, x.Status == http.StatusBadRequest, "status 400", x.says())
					}
				}
			},
		},
		{
			ID: "http-session-ended", Title: "the status for a session that is over is 404", Layer: Bytes,
			Requirements: []string{"legacy/http-session-404-after-end"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("session/end") {
					if x.step() != "session/end" {
						continue
					}
					if c.heard(x) && !x.good() {
						c.NotApplicable("the server lets no client end a session")
						return
					}
				}
				for _, x := range c.stepExchanges("session/ended") {
					if c.heard(x) && (x.Method == http.MethodPost || x.Trace.streams()) {
						c.right(x, x.Status == http.StatusNotFound, "status 404 for a session that was ended", x.says())
					}
				}
			},
		},
		{
			ID: "http-session-delete", Title: "a session is ended by DELETE, or DELETE is not allowed", Layer: Bytes,
			Requirements: []string{"legacy/http-session-delete-405"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("session/end") {
					for _, x := range s.Exchanges() {
						if s.Name == "session/end" && c.heard(x) {
							c.right(x, x.good() || x.Status == http.StatusMethodNotAllowed, "a status of success, or 405", x.says())
						}
					}
				}
			},
		},
		{
			ID: "http-version-header-absent", Title: "a request of a session needs no version header", Layer: Bytes,
			Requirements: []string{"legacy/http-version-header-absent"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("version-header/absent") {
					if c.heard(x) {
						c.right(x, x.served(), "a result, as the version is known from the handshake or taken to be 2025-03-26", x.says())
					}
				}
			},
		},
		{
			ID: "http-version-header-invalid", Title: "the status for an invalid version header is 400", Layer: Bytes,
			Requirements: []string{"legacy/http-version-header-invalid-400"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("version-header/invalid") {
					if !c.heard(x) || x.Method == http.MethodGet && (!x.Trace.streams() || x.Status == http.StatusMethodNotAllowed || x.Status == http.StatusConflict) {
						continue // there may be other reasons to open no stream
					}
					c.right(x, x.Status == http.StatusBadRequest, "status 400 for the version "+quote(x.Header.Get(headVersion)), x.says())
				}
			},
		},
	}
}

// given reports whether a session id came with a result of initialize in any
// of the sessions.
func (c *Case) given(id string) bool {
	for _, t := range c.traces {
		for _, x := range t.Exchanges() {
			if x.Request != nil && x.Request.Method == "initialize" && x.ResponseHeader.Get(headSession) == id {
				return true
			}
		}
	}
	return false
}

// sessionIDs visits the ids that came with a result of initialize, in order.
func (c *Case) sessionIDs(visit func(x *Exchange, id string)) {
	c.allExchanges(func(x *Exchange) {
		if x.Request == nil || x.Request.Method != "initialize" || !x.served() {
			return
		}
		if id := x.ResponseHeader.Get(headSession); id != "" {
			visit(x, id)
		}
	})
	c.NotObserved("the server hands out no session ids")
}

// strongEnough is below how many bits a session id is called weak: those of a
// random UUID are more.
const strongEnough = 100

// bits is how many bits an id of this length and these characters can have.
func bits(id string) float64 {
	alphabet := 0
	for _, class := range []struct {
		size int
		has  func(r rune) bool
	}{
		{10, func(r rune) bool { return r >= '0' && r <= '9' }},
		{6, func(r rune) bool { return r >= 'a' && r <= 'f' }},
		{20, func(r rune) bool { return r >= 'g' && r <= 'z' }},
		{26, func(r rune) bool { return r >= 'A' && r <= 'Z' }},
	} {
		if strings.ContainsFunc(id, class.has) {
			alphabet += class.size
		}
	}
	n := len(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, id))
	if n == 0 {
		return 0
	}
	return math.Log2(float64(alphabet)) * float64(n)
}

// follows reports whether two ids differ in a number alone that is a little
// larger in the second one.
func follows(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	j := len(a)
	for j > i && a[j-1] == b[j-1] {
		j--
	}
	const near = 64
	for _, base := range []int{10, 16, 36} {
		x, errX := strconv.ParseUint(a[i:j], base, 63)
		y, errY := strconv.ParseUint(b[i:j], base, 63)
		if errX == nil && errY == nil && y > x && y-x <= near && j-i <= 4 {
			return true
		}
	}
	return false
}
