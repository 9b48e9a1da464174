package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Subscriptions and cancellation.

// changes are the members of the filter of a subscription that ask for one
// kind of notification each, with the capability behind them.
var changes = []struct{ member, method, capability string }{
	{"toolsListChanged", "notifications/tools/list_changed", "tools.listChanged"},
	{"promptsListChanged", "notifications/prompts/list_changed", "prompts.listChanged"},
	{"resourcesListChanged", "notifications/resources/list_changed", "resources.listChanged"},
}

const watched = "resourceSubscriptions"

// noteUnheard + id: a subscription was neither acknowledged nor answered in a
// full wait, the server being alive.
const noteUnheard = "unheard "

// listen opens a subscription and waits until it is acknowledged or answered.
func (d *Driver) listen(id, filter string) *Frame {
	return d.heard(d.AskID(id, methodListen, `{"notifications":`+filter+`}`))
}

// heard waits until a subscription is acknowledged or answered.
func (d *Driver) heard(f *Frame) *Frame {
	if f == nil {
		return nil
	}
	next, ack := f.Index+1, false
	acked := func() bool {
		for a := range d.trace.visit(between(d.trace.frames, next, -1)) {
			next, ack = a.Index+1, ack || a.FromServer && a.Method == methodAck
		}
		return ack || d.isSettled(f)
	}
	if d.wait(d.patience(), acked) {
		return f
	}
	if d.Lost() == "" {
		d.mu.Lock()
		d.spent = true
		d.mu.Unlock()
		if d.alive() {
			d.Note(noteUnheard + string(f.ID))
		}
	}
	return f
}

// listening reports whether a subscription is open.
func (d *Driver) listening(f *Frame) bool {
	return f != nil && d.Lost() == "" && d.AnswerTo(f) == nil
}

// everything asks for all kinds of changes, and for one resource where the
// server has one: another one to watch it might refuse.
func everything(f *Facts) string {
	members := `"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true`
	for _, r := range f.Resources {
		return "{" + members + `,"` + watched + `":[` + quote(Name(r, "uri")) + "]}"
	}
	return "{" + members + "}"
}

// emptyListens is how often a subscription that ends at once is opened again.
const emptyListens = 16

// answeredSoon is the answer to a request that was answered already or is
// within a moment.
func (d *Driver) answeredSoon(f *Frame) *Frame {
	d.wait(d.limits.Grace, func() bool { return d.isSettled(f) })
	return d.AnswerTo(f)
}

func modernListenProbes() []Probe {
	return []Probe{
		{
			Name: "subscriptions", Since: firstModern, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("listen/open")
				one := d.listen(`410041`, everything(d.Facts))
				if !d.listening(one) {
					return
				}
				d.Step("listen/others")
				d.Await(d.Ask(methodDiscover, ""), d.Ask(someList(d.Facts), ""))
				d.Step("listen/tools") // some of which may change what was subscribed to
				for began, n, i := time.Now(), 0, 0; i < len(d.Facts.Tools) && n < maxTools && time.Since(began) < quickTools; i++ {
					name := Name(d.Facts.Tools[i], "name")
					if args, sure := Arguments(d.Facts.Tools[i].Get("inputSchema")); sure && args == "{}" && d.worked(name) {
						n++
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":{}}`))
					}
				}
				d.Fence()
				d.Step("listen/more")
				var last *Frame
				for _, s := range [][2]string{
					{`"410041"`, everything(d.Facts)}, {`0`, `{"toolsListChanged":true}`}, {`"sub-α"`, `{"promptsListChanged":true,"toolsListChanged":false}`}, {`410045`, `{}`},
				} {
					last = d.listen(s[0], s[1])
				}
				// A server that ends a subscription to nothing at once may say
				// its two lines in an order that differs from time to time:
				// what is seen must not depend on luck.
				for i := 0; i < emptyListens && d.answeredSoon(last).OK(); i++ {
					last = d.listen(strconv.Itoa(410046+i), `{}`)
				}
				d.Step("listen/calm")
				d.Pause(2 * d.limits.Grace)
				d.alive()
				d.Step("listen/cancel")
				d.Tell(methodCancelled, `{"requestId":410041,"reason":"no longer needed"}`)
				d.Fence()
				d.Step("listen/cancelled")
				d.Pause(2 * d.limits.Grace)
				d.alive()
				d.Step("listen/eof")
				d.CloseInput()
			},
		},
		{
			Name: "subscriptions when the server ends", Since: firstModern, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("listen/open-to-end")
				if d.listening(d.listen(`410041`, everything(d.Facts))) {
					d.Step("listen/terminate")
					d.Terminate()
				}
			},
		},
		{
			Name: "subscriptions with bad filters", Since: firstModern, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				for _, p := range [][2]string{{"listen/no-filter", `{}`}, {"listen/filter-number", `{"notifications":5}`}} {
					d.Step(p[0])
					d.heard(d.Ask(methodListen, p[1]))
				}
			},
		},
		{
			Name: "subscriptions with incomplete metadata", Since: firstModern, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				const params = `{"notifications":{"toolsListChanged":true}}`
				for _, p := range [][2]string{
					{"listen-meta/none", params}, {"listen-meta/no-version", WithMeta(params, d.without(metaVersion))}, {"listen-meta/no-capabilities", WithMeta(params, d.without(metaCaps))},
				} {
					d.Step(p[0])
					d.heard(d.AskWith(d.NextID(), methodListen, p[1]))
				}
			},
		},
	}
}

func modernListenChecks() []Check {
	return []Check{
		{
			ID: "listen-supported", Title: "subscriptions exist", Layer: Protocol,
			Requirements: []string{"modern/base-patterns-all-supported"},
			Judge: func(c *Case) {
				s := c.Step("listen/open")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := s.Trace.Answer(req)
					switch {
					case a.Failed() && anyOf(c.Facts, "tools.listChanged", "prompts.listChanged", "resources.listChanged", "resources.subscribe"):
						c.Broken(a, "a subscription, since the server declares changes to subscribe to", sayHow(a))
					case a.Failed():
						c.Tolerated(a, "a subscription, even with nothing to subscribe to", sayHow(a))
					case a != nil, len(c.subscriptions()) > 0:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-acknowledged-first", Title: "a subscription starts with its acknowledgement", Layer: Protocol,
			Requirements: []string{"modern/sub-ack-first"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					switch first := s.first(); {
					case first == nil && s.unheard():
						c.Broken(s.req, "an acknowledgement of the subscription", "nothing, although the server answered a later request")
					case first == nil, first.Failed():
					case first.Method != methodAck:
						c.Broken(first, "the acknowledgement as the first message of the subscription", sayWhat(first))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-tagged", Title: "every notification of a subscription carries its id", Layer: Protocol,
			Requirements: []string{"modern/sub-notifications-tagged"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					t.follow(func(f *Frame, now *flight) {
						if f.Method == methodAck || isChange(f.Method) && len(now.subs) > 0 {
							c.want(f, f.meta(metaSub) != nil, metaSub+" in the _meta of the notification", "none")
						}
					})
				}
			},
		},
		{
			ID: "listen-id", Title: "the id of a subscription is that of its request, type included", Layer: Protocol,
			Requirements: []string{"modern/sub-id-equals-request-id"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.ack != nil && s.ack.meta(metaSub) != nil {
						c.want(s.ack, wire.Equal(s.ack.meta(metaSub), s.req.ID), "the subscription id "+text(s.req.ID), text(s.ack.meta(metaSub)))
					}
				}
			},
		},
		{
			ID: "listen-acknowledgement-shape", Title: "an acknowledgement fits its schema", Layer: Protocol,
			Requirements: []string{"modern/sub-ack-schema"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == methodAck {
						c.FitsMessage(f)
					}
				})
			},
		},
		{
			ID: "listen-acknowledges-asked", Title: "no more is acknowledged than was asked for", Layer: Protocol,
			Requirements: []string{"modern/sub-ack-within-request", "modern/sub-false-is-not-subscribed"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.ack == nil {
						continue
					}
					if extra := s.beyond(func(member string) bool { on, _ := s.filter.Get(member).Bool(); return on }, s.watches); extra != "" {
						c.Broken(s.ack, "a part of what was asked for", extra)
					} else {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-acknowledges-declared", Title: "nothing is acknowledged that the server does not declare", Layer: Protocol,
			Requirements: []string{"modern/sub-ack-omits-unsupported"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.ack == nil {
						continue
					}
					declared := func(member string) bool {
						for _, ch := range changes {
							if ch.member == member {
								return c.Has(ch.capability)
							}
						}
						return false
					}
					if extra := s.beyond(declared, func(string) bool { return c.Has("resources.subscribe") }); extra != "" {
						c.Broken(s.ack, "what the capabilities of the server cover", extra)
					} else {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-honours-declared", Title: "what the server declares can be subscribed to", Layer: Protocol,
			Requirements: []string{"modern/sub-ack-honours-advertised"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.ack == nil {
						continue
					}
					got := s.ack.Param("notifications")
					for _, ch := range changes {
						asked, _ := s.filter.Get(ch.member).Bool()
						if asked && c.Has(ch.capability) {
							on, _ := got.Get(ch.member).Bool()
							c.want(s.ack, on, ch.member+", since the server declares "+ch.capability, text(got))
						}
					}
				}
			},
		},
		{
			ID: "listen-filter-required", Title: "a subscription without a filter is refused", Layer: Protocol,
			Requirements: []string{"modern/sub-filter-required"},
			Judge:        func(c *Case) { c.listenRefused("listen/no-filter", "listen/filter-number") },
		},
		{
			ID: "listen-metadata", Title: "a subscription with incomplete metadata is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-rejected-on-every-method"},
			Judge: func(c *Case) {
				c.listenRefused("listen-meta/none", "listen-meta/no-version", "listen-meta/no-capabilities")
			},
		},
		{
			ID: "listen-does-not-block", Title: "an open subscription holds up no other request", Layer: Protocol,
			Requirements: []string{"modern/stateless-listen-does-not-block"},
			Judge: func(c *Case) {
				s := c.Step("listen/others")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					switch a := s.Trace.Answer(req); {
					case a != nil:
						c.Saw()
					case s.Note(noteHung):
						c.Broken(req, "an answer while a subscription is open", "none, and none to a later request either")
					default:
						c.Answer(req)
					}
				}
			},
		},
		{
			ID: "listen-several", Title: "a client may have several subscriptions", Layer: Protocol,
			Requirements: []string{"modern/sub-multiple-concurrent"},
			Judge: func(c *Case) {
				open := 0
				for _, s := range c.subscriptions() {
					if s.step != "listen/more" {
						continue
					}
					open++
					switch first := s.first(); {
					case first != nil:
						c.want(first, !first.Failed(), "a second subscription beside the first", sayHow(first))
					case s.unheard():
						c.Broken(s.req, "a second subscription beside the first", "nothing, although the server answered a later request")
					}
				}
				if open == 0 {
					c.Step("listen/more")
				}
			},
		},
		{
			ID: "listen-stays-open", Title: "a subscription stays open until one side ends it", Layer: Protocol,
			Requirements: []string{"modern/sub-stays-open"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.ack == nil || s.honoured() == 0 {
						continue
					}
					end := s.end()
					a := s.answer()
					if a != nil && a.Index < end && (s.cancelled < 0 || a.Index < s.cancelled) {
						c.Broken(a, "no answer while the subscription is open", sayHow(a))
					} else if s.req.Trace.fenced(s.req.Index) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-cancelled-silent", Title: "nothing more is sent for a cancelled subscription", Layer: Protocol,
			Requirements: []string{"modern/stdio-cancel-silences-request"},
			Judge: func(c *Case) {
				watch := c.Step("listen/cancelled")
				for _, s := range c.subscriptions() {
					if s.cancelled < 0 || watch == nil || s.req.Trace != watch.Trace {
						continue
					}
					broken := false
					for _, f := range s.frames {
						if f.Index > watch.from {
							c.Broken(f, "nothing more for a cancelled subscription", sayWhat(f))
							broken = true
						}
					}
					// A closing result is what one page asks for and another
					// one rules out.
					if a := s.answer(); a != nil && a.Index > s.cancelled && a.Index < s.end() {
						c.Tolerated(a, "nothing more for a cancelled subscription", sayHow(a)+" that answers it")
						broken = true
					}
					if !broken && s.req.Trace.fenced(watch.from) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-closing-result", Title: "a result that ends a subscription is complete and carries its id", Layer: Protocol,
			Requirements: []string{"modern/sub-graceful-result-subscription-id"},
			Judge: func(c *Case) {
				for _, r := range c.results(methodListen) {
					tag, kind := r.answer.meta(metaSub), plain(r.answer.Result.Get("resultType"))
					switch {
					case tag == nil || !wire.Equal(tag, r.req.ID):
						c.Broken(r.answer, metaSub+" "+text(r.req.ID)+" in the _meta of the result", text(tag))
					case kind != "complete":
						c.Broken(r.answer, "the resultType complete", text(r.answer.Result.Get("resultType")))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-closing-result-last", Title: "nothing follows the result that ends a subscription", Layer: Protocol,
			Requirements: []string{"modern/sub-closes-after-result"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					a := s.answer()
					if !a.OK() {
						continue
					}
					i := slices.IndexFunc(s.frames, func(f *Frame) bool { return f.Index > a.Index })
					if i >= 0 {
						c.Broken(s.frames[i], "nothing after the result of the subscription", sayWhat(s.frames[i]))
					} else {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "listen-teardown", Title: "a server that ends tells its subscribers", Layer: Protocol,
			Requirements: []string{"modern/cancel-server-on-teardown"},
			Judge: func(c *Case) {
				s := c.Step("listen/terminate")
				if s == nil {
					return
				}
				signs := 0
				for _, f := range s.Got() {
					if f.Method == methodCancelled || f.OK() {
						signs++
						c.Saw()
					}
				}
				exits := s.Trace.notes(transcript.KindExit, s.from)
				switch {
				case signs > 0:
				case len(exits) == 0:
					c.NotObserved("the server was ended by the signal itself and had no chance to")
				default:
					// Which of the two it should be, and whether it must be
					// one, differs from page to page.
					var last *Frame
					for f := range s.Trace.all() {
						last = f
					}
					c.Tolerated(last, "a cancellation or a result for the open subscription before the end", "neither")
				}
			},
		},
		{
			ID: "listen-graceful-result", Title: "a server that ends a subscription answers it", Layer: Protocol,
			Requirements: []string{"modern/sub-graceful-result"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					if s.req.Trace.Answer(s.req).OK() {
						c.Saw()
					}
				}
				s := c.Step("listen/terminate")
				if s == nil || len(s.Trace.notes(transcript.KindExit, s.from)) == 0 {
					c.NotObserved("the server was ended by the signal itself and had no chance to")
					return
				}
				signs := 0
				var last *Frame
				for f := range s.Trace.all() {
					last = f
					if s.holds(f.Index) && f.FromServer && (f.OK() || f.Method == methodCancelled) {
						signs++ // over stdio another page asks for a cancellation
					}
				}
				if signs == 0 {
					c.Broken(last, "a result for the open subscription before the end", "none")
				}
			},
		},
		{
			ID: "listen-not-remembered", Title: "a subscription ends with its connection", Layer: Protocol,
			Requirements: []string{"modern/sub-no-state-across-reconnect"},
			Judge: func(c *Case) {
				before := false
				for _, t := range c.Traces() {
					listens := false
					for f := range t.visit(t.sent) {
						listens = listens || f.Method == methodListen
					}
					if before && !listens {
						c.Saw()
						for f := range t.all() {
							if f.FromServer && f.Kind == KindNotification && f.meta(metaSub) != nil {
								c.Broken(f, "nothing of subscriptions, as this connection has none", f.Method+" for "+text(f.meta(metaSub)))
							}
						}
					}
					before = before || listens
				}
			},
		},
		{
			ID: "listen-only-asked", Title: "a subscription delivers what was asked for", Layer: Protocol,
			Requirements: []string{"modern/sub-only-requested-types"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					for _, f := range s.frames {
						for _, ch := range changes {
							if f.Method == ch.method {
								on, _ := s.filter.Get(ch.member).Bool()
								c.want(f, on, "notifications that were asked for: "+text(s.filter), f.Method)
							}
						}
						if f.Method == methodUpdated {
							n := 0
							for range s.filter.Get(watched).Elems() {
								n++
							}
							c.want(f, n > 0, "notifications that were asked for: "+text(s.filter), f.Method)
						}
					}
				}
			},
		},
		{
			ID: "listen-only-watched", Title: "updates are told of watched resources only", Layer: Protocol,
			Requirements: []string{"modern/sub-updated-only-watched"},
			Judge: func(c *Case) {
				for _, s := range c.subscriptions() {
					for _, f := range s.frames {
						uri, ok := f.Param("uri").Str()
						if f.Method != methodUpdated || !ok {
							continue
						}
						// One below a watched one may be told of as well.
						below := false
						for w := range s.filter.Get(watched).Elems() {
							below = below || strings.HasPrefix(uri, plain(w))
						}
						c.want(f, below, "a watched resource: "+text(s.filter.Get(watched)), quote(uri))
					}
				}
			},
		},
		{
			ID: "listen-no-progress-or-logs", Title: "progress and logs do not travel on a subscription", Layer: Protocol,
			Requirements: []string{"modern/sub-no-request-scoped-on-listen"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == methodProgress || f.Method == methodMessage {
						c.want(f, f.meta(metaSub) == nil, "no subscription id", text(f.meta(metaSub)))
					}
				})
			},
		},
		{
			ID: "changes-only-on-listen", Title: "changes are told to subscribers only", Layer: Protocol,
			Requirements: []string{"modern/sub-change-notifications-only-on-listen"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					clean := true
					t.follow(func(f *Frame, now *flight) {
						if !isChange(f.Method) {
							return
						}
						tag := f.meta(metaSub)
						_, open := now.subs[idKey(tag)]
						_, gone := now.gone[idKey(tag)] // judged elsewhere
						switch {
						case tag == nil && len(now.subs) > 0: // judged elsewhere
						case open || gone:
						case tag == nil:
							c.Broken(f, "no such notification without a subscription", f.Method)
							clean = false
						default:
							c.Broken(f, "the id of an open subscription", text(tag))
							clean = false
						}
					})
					if clean && len(t.frames) > 0 && t.fenced(t.frames[0].Index) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "cancelled-only-for-listen", Title: "the server cancels nothing but subscriptions", Layer: Protocol,
			Requirements: []string{"modern/cancel-server-only-for-listen"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					t.follow(func(f *Frame, now *flight) {
						if f.Method != methodCancelled {
							return
						}
						k := idKey(f.Param("requestId"))
						c.want(f, now.subs[k] != nil || now.gone[k] != nil, "the id of a subscription, type included", text(f.Param("requestId")))
					})
				}
			},
		},
		{
			ID: "exit-with-subscription", Title: "the server ends with its input, subscriptions or not", Layer: Bytes,
			Requirements: []string{"modern/stdio-exit-on-eof-with-subscription"},
			Judge: func(c *Case) {
				s := c.Step("listen/eof")
				if s == nil {
					return
				}
				if s.Trace.cut() { // the checker ended it
					c.Blocked(s.Trace.lost())
					return
				}
				closed, at := false, 0
				for i := s.from; i < len(s.Trace.Recording.Events); i++ {
					e := &s.Trace.Recording.Events[i]
					switch {
					case e.Dir != transcript.Note:
					case e.Kind == transcript.KindEOF && string(e.Data) == ">":
						closed, at = true, i
					case closed && e.Kind == transcript.KindExit:
						c.Saw()
						return
					case closed && (e.Kind == transcript.KindSent || e.Kind == transcript.KindSignal):
						c.found(finding{frame: s.Trace.frameAt(i), also: s.Trace.endings(at), expected: "a server that has ended soon after its input", observed: "it still ran"})
						return
					}
				}
			},
		},
	}
}

// isChange reports whether a notification tells of a change.
func isChange(method string) bool {
	return method == methodUpdated || strings.HasPrefix(method, notificationPrefix) && strings.HasSuffix(method, "/list_changed")
}

const notificationPrefix = "notifications/"

// sayWhat names a message.
func sayWhat(f *Frame) string {
	if f.Method != "" {
		return f.Method
	}
	return sayHow(f)
}

// subscription is a subscription with what came of it.
type subscription struct {
	req       *Frame
	step      string
	filter    wire.Raw
	ack       *Frame   // its acknowledgement, with an id of another type or none if there is no better one
	near      *Frame   // an acknowledgement of another id or none, with nothing else asked for
	frames    []*Frame // the notifications that carry its id
	cancelled int      // event at which the checker cancelled it, or -1
}

// subscriptions are all that were asked for in proper form.
func (c *Case) subscriptions() []*subscription {
	var out []*subscription
	for _, t := range c.Traces() {
		byID := map[string][]*subscription{}
		var latest *subscription // while no other one was asked for since
		for f := range t.all() {
			switch tag := f.meta(metaSub); {
			case !f.FromServer && f.Method == methodListen:
				latest = nil
				if f.is(methodListen) && f.Param("notifications").Kind() == wire.KindObject {
					latest = &subscription{req: f, step: t.stepAt(f.Index), filter: f.Param("notifications"), cancelled: t.cancelledAt(f)}
					byID[idKey(f.ID)] = append(byID[idKey(f.ID)], latest)
					out = append(out, latest)
				}
			case !f.FromServer && f.Method == methodCancelled:
				for _, s := range byID[idKey(f.Param("requestId"))] {
					if s.cancelled < 0 {
						s.cancelled = f.Index
					}
				}
			case !f.FromServer || f.Kind == KindResponse:
			default:
				var own []*subscription
				if tag != nil {
					own = byID[idKey(tag)]
				}
				for _, s := range own {
					s.frames = append(s.frames, f)
					if f.Method == methodAck && s.ack == nil {
						s.ack = f
					}
				}
				if f.Method == methodAck && latest != nil && latest.near == nil && !slices.Contains(own, latest) {
					latest.near = f
				}
			}
		}
	}
	for _, s := range out {
		if s.ack == nil {
			s.ack = s.near
		}
	}
	return out
}

// answer is the response that ended the subscription, or nil. One whose id has
// another type may belong to another subscription.
func (s *subscription) answer() *Frame {
	if a := s.req.Trace.Answer(s.req); a != nil && idKey(a.ID) == idKey(s.req.ID) {
		return a
	}
	return nil
}

// first is the first message about the subscription, its answer included.
func (s *subscription) first() *Frame {
	all := slices.Clone(s.frames)
	for _, f := range []*Frame{s.ack, s.answer()} {
		if f != nil {
			all = append(all, f)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *Frame) int { return a.Index - b.Index })
}

func (s *subscription) unheard() bool {
	return s.req.Trace.notedSince(noteUnheard+string(s.req.ID), s.req.Index)
}

func (s *subscription) watches(uri string) bool {
	for w := range s.filter.Get(watched).Elems() {
		if plain(w) == uri {
			return true
		}
	}
	return false
}

// honoured counts what was acknowledged.
func (s *subscription) honoured() int {
	n := 0
	for _, v := range s.ack.Param("notifications").Members() {
		if on, _ := v.Bool(); on {
			n++
		}
		for range v.Elems() {
			n++
		}
	}
	return n
}

// beyond names what was acknowledged beyond what flag and uri allow.
func (s *subscription) beyond(flag, uri func(string) bool) string {
	for member, v := range s.ack.Param("notifications").Members() {
		if on, _ := v.Bool(); on && !flag(member) {
			return member
		}
		if member == watched {
			for u := range v.Elems() {
				if !uri(plain(u)) {
					return watched + " " + text(u)
				}
			}
		}
	}
	return ""
}

// end is the event at which the session was ended from this side, or one
// after the last.
func (s *subscription) end() int {
	events := s.req.Trace.Recording.Events
	for i := s.req.Index; i < len(events); i++ {
		if e := &events[i]; e.Dir == transcript.Note && (e.Kind == transcript.KindSent || e.Kind == transcript.KindEOF && string(e.Data) == ">") {
			return i
		}
	}
	return len(events)
}

// stepAt is the name of the step in which event i lies.
func (t *Trace) stepAt(i int) string {
	n, found := slices.BinarySearchFunc(t.steps, i, func(s *Step, i int) int { return s.from - i })
	if !found {
		n--
	}
	if n < 0 || !t.steps[n].holds(i) {
		return ""
	}
	return t.steps[n].Name
}

// listenRefused judges that the subscriptions of these steps were refused with
// -32602. Where the server has no subscriptions at all, refusing the method is
// as good, and where it refuses each for another reason, nothing is seen.
func (c *Case) listenRefused(steps ...string) {
	var proper *Frame // the answer to a subscription that nothing is wrong with
	for _, s := range c.subscriptions() {
		if s.step == "listen/open" {
			proper = s.answer()
		}
	}
	properCode, _ := proper.Code()
	for _, name := range steps {
		s := c.Step(name)
		if s == nil {
			continue
		}
		for _, req := range s.Sent() {
			a := s.Trace.Answer(req)
			code, _ := a.Code()
			acked := slices.IndexFunc(s.Got(), func(f *Frame) bool { return f.Method == methodAck })
			switch {
			case acked >= 0:
				c.Broken(s.Got()[acked], "an error with code -32602", "an acknowledgement")
			case a != nil && code == -32601 && properCode == -32601:
				c.NotApplicable("the server has no subscriptions")
			case a != nil && code != -32602 && sameRefusal(a, proper):
				c.NotObserved("every subscription is refused in the same way")
			case a != nil:
				c.refused(req, false, -32602)
			case s.Trace.notedSince(noteUnheard+string(req.ID), req.Index):
				c.Broken(req, "an error with code -32602", "nothing, although the server answered a later request")
			default:
				c.Blocked(or(s.Trace.why(), "the session ended"))
			}
		}
	}
}
