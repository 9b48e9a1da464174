package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

func envelopeProbes() []Probe {
	return []Probe{
		{
			Name: "ids", Profile: Main,
			Run: func(d *Driver) {
				d.Step("ids")
				for _, id := range []string{`"abc-1"`, `"7"`, `0`, `-3`, `9007199254740991`, `""`, `"☃-🚀"`} {
					d.Await(d.AskID(id, d.cheap(), ""))
				}
			},
		},
		{
			Name: "unknown method", Profile: Main,
			Run: func(d *Driver) {
				d.Step("unknown-method")
				d.Call("goldwire/no_such_method", "{}")
				d.Await(d.AskID(`"no-such-method"`, "goldwire/no_such_method", "{}"))
			},
		},
		{
			Name: "unknown notification", Profile: Main,
			Run: func(d *Driver) {
				d.Step(unknownNotification)
				d.Tell("notifications/goldwire_unknown", "")
				d.Tell("notifications/goldwire_unknown", `{"a":[1,{"b":null}]}`)
				d.Fence()
			},
		},
		{
			Name: "many requests at once", Profile: Main,
			Run: func(d *Driver) {
				d.Step("pipeline")
				var lines []string
				for range 20 {
					lines = append(lines, RequestText(d.NextID(), d.cheap(), d.withMeta("")))
				}
				d.Await(d.Lines(lines...)...)
				d.Fence()
			},
		},
		{
			Name: "a request in pieces", Profile: Main,
			Run: func(d *Driver) {
				d.Step("chunks")
				line := RequestText(d.NextID(), d.cheap(), d.withMeta(""))
				n := len(line) / 3
				d.Await(d.Chunks(line[:n], line[n:2*n], line[2*n:]))
			},
		},
		{
			Name: "unknown metadata", Profile: Main,
			Run: func(d *Driver) {
				d.Step("meta/known-keys")
				d.Call(d.cheap(), "{}")
				d.Step("meta/unknown-keys")
				d.Call(d.cheap(), `{"_meta":{"com.example/probe":{"a":[1,null]},"plain":true}}`)
			},
		},
	}
}

func envelopeChecks() []Check {
	return []Check{
		{
			ID: "requests-answered-once", Title: "requests sent at once are each answered exactly once", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-answered", "modern/jsonrpc-one-response-per-request"},
			Judge: func(c *Case) {
				s := c.Step("pipeline")
				if s != nil {
					for _, req := range s.Sent() {
						if c.Answer(req) != nil {
							c.Saw()
						}
					}
				}
				for _, t := range c.Traces() {
					c.unanswered(t, s)
					c.answeredTwice(t)
				}
				for _, t := range c.Offers {
					if t.Revision == c.Revision {
						c.answeredTwice(t)
					}
				}
				c.flooded()
			},
		},
		{
			ID: "id-echo", Title: "an answer repeats the id of its request, type included", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-id-echo", "modern/jsonrpc-result-id-echo"},
			Judge: func(c *Case) {
				errorsToo := !c.AtLeast(rev2025November) // from then on error-id-echo tells of them
				c.strayed(true, errorsToo)
				c.respelt(true, errorsToo)
				s := c.recorded()
				if s == nil {
					s = c.Step("ids")
				}
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := req.Trace.Answer(req)
					switch {
					case a == nil: // others tell of silence: it repeats no id, and no wrong one
						c.left(req)
					case !wire.Equal(a.ID, req.ID):
						c.Broken(a, sayID(req.ID), sayID(a.ID))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "error-id-echo", Title: "an error repeats the id of its request", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-id-unless-unreadable", "modern/jsonrpc-error-id-echo"},
			Judge: func(c *Case) {
				c.strayed(false, true)
				c.respelt(false, true)
				s := c.Step("unknown-method")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := req.Trace.Answer(req)
					if req.Trace.astray(req) != nil {
						continue // told of
					}
					if stray := req.Trace.unattributed(req.Index, s.to); a == nil && len(stray) > 0 {
						c.Broken(stray[0], sayID(req.ID), sayID(stray[0].ID))
						continue
					}
					switch {
					case a == nil:
					case a.Failed() && wire.Equal(a.ID, req.ID):
						c.Saw()
					}
				}
			},
		},
		{
			ID: "unknown-method", Title: "a method that does not exist is refused", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-method-not-found", "modern/jsonrpc-method-not-found"},
			Judge:        func(c *Case) { c.Refused("unknown-method", false, -32601) },
		},
		{
			ID: "message-shape", Title: "every message is a JSON-RPC 2.0 request, notification or response", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-envelope", "modern/jsonrpc-version-member"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					switch v, ok := f.Value.Get("jsonrpc").Str(); {
					case !ok || v != "2.0":
						c.Broken(f, `the member jsonrpc with the value "2.0"`, text(f.Value.Get("jsonrpc")))
					case f.Kind == KindOther && f.ID != nil && f.Value.Get("method") == nil: // see response-one-of
					case f.Kind == KindOther:
						c.Broken(f, "a method, a result or an error", "none of them")
					case f.Value.Get("method") != nil && f.Value.Get("method").Kind() != wire.KindString:
						c.Broken(f, "a string as method", text(f.Value.Get("method")))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "response-one-of", Title: "a response has either a result or an error", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-one-of", "legacy/jsonrpc-response-not-both", "modern/jsonrpc-result-xor-error", "modern/jsonrpc-result-member"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					switch {
					case f.Kind == KindResponse && f.Result != nil && f.Error != nil:
						c.Broken(f, "a result or an error", "both")
					case f.Kind == KindOther && f.ID != nil && f.Value.Get("method") == nil:
						c.Broken(f, "a result or an error", "neither")
					case f.Kind == KindResponse:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "result-object", Title: "a result is an object", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-result-object", "modern/jsonrpc-result-is-object"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.OK() {
						c.want(f, f.Result.Kind() == wire.KindObject, "an object as result", text(f.Result))
					}
				})
			},
		},
		{
			ID: "error-members", Title: "an error has a code and a message", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-code-and-message", "legacy/jsonrpc-envelope", "modern/jsonrpc-error-members"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if !f.Failed() {
						return
					}
					switch {
					case f.Error.Get("code").Kind() != wire.KindNumber:
						c.Broken(f, "a number as error.code", text(f.Error.Get("code")))
					default:
						c.want(f, f.Error.Get("message").Kind() == wire.KindString, "a string as error.message", text(f.Error.Get("message")))
					}
				})
			},
		},
		{
			ID: "error-code-integer", Title: "an error code is an integer", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-code-integer", "modern/jsonrpc-error-code-integer"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Failed() && f.Error.Get("code") != nil {
						_, ok := f.Code()
						c.want(f, ok, "an integer as error.code", text(f.Error.Get("code")))
					}
				})
			},
		},
		{
			ID: "params-object", Title: "params that the server sends are an object", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-params-object"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Params != nil && (f.Kind == KindRequest || f.Kind == KindNotification) {
						c.want(f, f.Params.Kind() == wire.KindObject, "an object as params", text(f.Params))
					}
				})
			},
		},
		{
			ID: "notification-no-id", Title: "notifications carry no id", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-notification-no-id", "modern/jsonrpc-notification-no-id"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if isNotification(f.Method) {
						c.want(f, f.ID == nil, "no id", sayID(f.ID))
					}
				})
			},
		},
		{
			ID: "notification-unanswered", Title: "a notification is never answered, not even an unknown one", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-notification-no-reply", "modern/jsonrpc-notification-no-response"},
			Judge: func(c *Case) {
				c.Unanswered(unknownNotification)
				for _, t := range c.Traces() {
					for _, f := range t.toNotifications() {
						// What has no id and is an error may be about any line
						// that could not be read.
						if !noID(f.ID) || !f.Failed() && t.stepAt(f.Index) != unknownNotification {
							c.Broken(f, "no answer", stray(f))
						}
					}
				}
			},
		},
		{
			ID: "answers-belong", Title: "every response answers a request that was made", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-id-echo", "modern/jsonrpc-error-id-echo"}, Soft: true,
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					sent := map[string]bool{}
					for f := range t.all() {
						if !f.FromServer && f.ID != nil {
							sent[looseID(f.ID)] = true
						}
						if !f.FromServer || f.Kind != KindResponse || f.ID == nil || f.ID.Kind() == wire.KindNull {
							continue
						}
						// A line that could not be read as a request may have
						// been answered by an id found in it.
						c.want(f, sent[looseID(f.ID)] || t.readBroken(f.Index), "an id that was sent", sayID(f.ID))
					}
				}
			},
		},
		{
			ID: "server-request-ids", Title: "requests of the server have an id that is a string or an integer", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-id-type", "legacy/jsonrpc-request-id-not-null"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Kind == KindRequest && !isNotification(f.Method) {
						_, integer := f.ID.Int()
						c.want(f, integer || f.ID.Kind() == wire.KindString, "a string or an integer as id", text(f.ID))
					}
					if f.Kind == KindNotification && !isNotification(f.Method) && c.protocol().Knows(f.Method) {
						c.Broken(f, "a string or an integer as id of a request", "no id")
					}
				})
			},
		},
		{
			ID: "server-request-ids-unique", Title: "the server uses no request id twice in a session", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-id-unique"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					seen := map[string]bool{}
					for f := range t.all() {
						if f.FromServer && f.Kind == KindRequest && !isNotification(f.Method) {
							c.want(f, !seen[idKey(f.ID)], "an id that was not used before", text(f.ID))
							seen[idKey(f.ID)] = true
						}
					}
				}
			},
		},
		{
			ID: "meta-object", Title: "_meta is an object wherever it stands", Layer: Protocol,
			Requirements: []string{"legacy/meta-is-object"},
			Judge: func(c *Case) {
				c.eachMeta(func(f *Frame, meta wire.Raw) {
					c.want(f, meta.Kind() == wire.KindObject, "an object as _meta", text(meta))
				})
			},
		},
		{
			ID: "meta-key-syntax", Title: "keys of _meta follow the naming rules", Layer: Protocol,
			Requirements: []string{"legacy/meta-key-syntax", "modern/meta-prefix-syntax", "modern/meta-name-syntax"},
			Judge: func(c *Case) {
				c.eachMeta(func(f *Frame, meta wire.Raw) {
					for key := range meta.Members() {
						c.want(f, metaKey.MatchString(key), "a key of _meta that follows the naming rules", strconv.Quote(key))
					}
				})
			},
		},
		{
			ID: "meta-reserved-keys", Title: "keys of _meta that are reserved are not made up", Layer: Protocol,
			Requirements: []string{"legacy/meta-reserved-prefix", "legacy/meta-reserved-prefix-legacy"},
			Judge: func(c *Case) {
				c.eachMeta(func(f *Frame, meta wire.Raw) {
					for key := range meta.Members() {
						if reservedPrefix(key, c.AtLeast(rev2025November)) {
							c.want(f, strings.HasPrefix(key, "io.modelcontextprotocol/"), "a key outside the reserved prefixes", strconv.Quote(key))
						} else {
							c.Saw()
						}
					}
				})
			},
		},
		{
			ID: "meta-unknown-keys", Title: "keys of _meta that the server does not know do no harm", Layer: Protocol,
			Requirements: []string{"legacy/meta-extra-keys-tolerated"},
			Judge: func(c *Case) {
				s := c.Step("meta/unknown-keys")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := c.Answer(req)
					switch plain, tried := c.control("meta/known-keys"); {
					case a == nil:
					case a.Failed() && tried && !plain.OK():
						c.Blocked(req.Method + " has no result without such keys either")
					default:
						c.want(a, a.OK(), "a result", "error "+text(a.Error))
					}
				}
			},
		},
	}
}

// strayed tells of requests that were answered under an id which no request
// had, or, by an error, under none: by results, by errors, or by both.
func (c *Case) strayed(results, errors bool) {
	for _, t := range c.Traces() {
		for req := range t.visit(t.sent) {
			if a := t.astray(req); a != nil && (a.Failed() && errors || !a.Failed() && results) {
				c.Broken(a, sayID(req.ID), sayID(a.ID))
			}
		}
	}
}

// respelt tells of answers whose id no request had, and one had but for its JSON
// type.
func (c *Case) respelt(results, errors bool) {
	for _, t := range c.Traces() {
		for req := range t.visit(t.sent) {
			if req.Kind != KindRequest || !usableID(req.ID) {
				continue
			}
			if a := t.Answer(req); a != nil && idKey(a.ID) != idKey(req.ID) && len(t.asked[idKey(a.ID)]) == 0 && (a.Failed() && errors || !a.Failed() && results) {
				if !t.refusal(a) { // where HTTP refuses by its status the body may say why
					c.Broken(a, sayID(req.ID), sayID(a.ID))
				}
			}
		}
	}
}

// unanswered tells of the requests in a session, those of a step aside, that
// the driver waited for in full, and of the end of a server that came instead
// of an answer, or instead of all that was still to be asked.
func (c *Case) unanswered(t *Trace, but *Step) {
	for req := range t.visit(t.sent) {
		switch {
		case req.Kind != KindRequest, but != nil && t == but.Trace && but.holds(req.Index):
		case t.dropped(req) != "":
			c.Broken(req, "an answer to this request", "none: "+t.dropped(req))
		case !t.noted(noteSilent + string(req.ID)), t.Answer(req) != nil, t.astray(req) != nil, t.saidNothing(req):
		default:
			c.Broken(req, "an answer to this request", "none, although the server answered a later one")
		}
	}
	if why := t.unstarted(); why != "" {
		c.Blocked(why)
	}
	b := t.broke()
	switch {
	case t.noted(noteFlood), t.noted(noteFull): // see flooded
	case b == nil:
	case b.line != nil && b.line != b.request && b.line.proper():
		// Whether the next request was sent before the end is a matter of luck.
		c.Broken(b.line, "a server that goes on and answers what comes next", b.how+" after "+b.line.Method)
	case b.request == nil && b.line != nil: // others tell of lines that are no proper messages
	case b.request != nil:
		if but != nil && t == but.Trace && but.holds(b.request.Index) {
			return // told of already
		}
		observed := "none: " + b.how
		if b.hung {
			observed = "none, and none to later requests"
		}
		c.Broken(b.request, "an answer to this request", observed)
	case !b.hung && !t.noted(noteAborted): // the end of a run ends its servers
		c.Tolerated(t.frameAt(b.at), "a server that works as long as its client needs it", b.how+" between two requests")
	}
}

// dropped says how HTTP took a proper request and brought no answer to it, ""
// for any other. One that was refused by its status is told of elsewhere.
func (t *Trace) dropped(req *Frame) string {
	if x := t.carried[req.Exchange]; x == nil || x.status >= 300 || !req.proper() || t.astray(req) != nil || t.saidNothing(req) || t.wasCancelled(req) {
		return ""
	}
	return t.withoutAnswer(req)
}

// wasCancelled reports whether the client cancelled a request by a notification.
func (t *Trace) wasCancelled(req *Frame) bool { return t.cancelledAfter(req.ID, req.Index) }

// cancelledAfter reports whether the client cancelled a request with such an id
// after a line.
func (t *Trace) cancelledAfter(id wire.Raw, line int) bool {
	type key struct{}
	last := t.Memo(key{}, func() any { // where an id was cancelled the last time
		last := map[string]int{}
		for f := range t.visit(t.sent) {
			if f.Kind == KindNotification && f.Method == methodCancelled && f.Param("requestId") != nil {
				last[idKey(f.Param("requestId"))] = f.Index
			}
		}
		return last
	}).(map[string]int)
	i, ok := last[idKey(id)]
	return ok && i > line
}

// flooded tells of a server that wrote so much that sessions had to be ended.
func (c *Case) flooded() {
	var at *Frame
	lines, most, size, stopped := 0, 0, int64(0), false
	for _, t := range slices.Concat(c.Offers, c.Traces()) {
		stopped = stopped || t.noted(noteFlood) || t.noted(noteFull)
		f, n := t.busiest()
		if n > most {
			at, most = f, n
		}
		for f := range t.all() {
			if f.FromServer {
				lines++
				size += int64(len(f.Text))
			}
		}
	}
	if stopped {
		c.Tolerated(at, "answers, and no more than was asked for",
			plural(lines, "line")+" ("+bytesText(size)+") in all, until the server was stopped; "+plural(most, "line")+" after this one of the client")
	}
}

// busiest is the line of the client after which the server wrote the most
// lines before the next one, with their number.
func (t *Trace) busiest() (most *Frame, lines int) {
	var last *Frame
	n := 0
	for f := range t.all() {
		if !f.FromServer {
			last, n = f, 0
			continue
		}
		if n++; n > lines {
			most, lines = last, n
		}
	}
	return most, lines
}

// answeredTwice tells of requests with more than one answer.
func (c *Case) answeredTwice(t *Trace) {
	count := map[string]int{}
	first, second := map[string]*Frame{}, map[string]*Frame{}
	var order []string
	for f := range t.all() {
		if !f.FromServer || f.Kind != KindResponse || f.ID == nil || f.ID.Kind() == wire.KindNull || t.replayed(f) {
			continue
		}
		key := idKey(f.ID)
		if count[key]++; count[key] == 1 {
			first[key] = f
		}
		if count[key] == 2 && t.Request(f) != nil {
			second[key] = f
			order = append(order, key)
		}
	}
	for _, key := range order {
		f, observed := second[key], "a second one"
		// One of them may be meant for a request whose id is the same but for
		// its JSON type: it has no other answer then.
		if n := len(t.loose[looseID(f.ID)]); n <= t.askedLoosely(f.ID) {
			continue
		}
		if n := count[key]; n > 2 {
			observed = strconv.Itoa(n) + " of them"
		}
		c.brokenTwice(first[key], f, "one answer to request "+text(f.ID), observed)
	}
}

// replayed reports whether f came again on a stream that was taken up, after it
// had come on the one before.
func (t *Trace) replayed(f *Frame) bool {
	x := t.carried[f.Exchange]
	return x != nil && x.resumes != ""
}

// askedLoosely counts the requests whose id is this one but for its JSON type.
func (t *Trace) askedLoosely(id wire.Raw) int {
	n := 0
	for _, key := range []string{"s", "n"} {
		n += len(t.asked[shortKey(key+plainID(id))])
	}
	return n
}

// sayID names an id in a message.
func sayID(id wire.Raw) string {
	if id == nil {
		return "no id"
	}
	return "id " + text(id)
}

// plainID is an id as text, without the quotes of a string.
func plainID(id wire.Raw) string {
	if s, ok := id.Str(); ok {
		return s
	}
	if n, ok := id.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	return string(id)
}

var metaKey = regexp.MustCompile(`^([A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?)*/)?([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)

// reservedPrefix reports whether the prefix of a key is left to the protocol: one
// whose second label is mcp or modelcontextprotocol, or, before that rule, one
// in which they stand before the last label.
func reservedPrefix(key string, second bool) bool {
	prefix, _, ok := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	if !ok || len(labels) < 2 {
		return false
	}
	label := labels[1]
	if !second {
		label = labels[len(labels)-2]
	}
	return label == "mcp" || label == "modelcontextprotocol"
}
