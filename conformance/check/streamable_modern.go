package check

import (
	"net/http"
	"strconv"
	"time"
)

// What Streamable HTTP is in a stateless revision, and what is left of its
// earlier forms.

// openedWithin is how long it may take to open and drop a subscription as often
// as opened says.
const openedWithin = 15 * time.Second

var opened = 200 // less in tests

func modernHTTPProbes() []Probe {
	return []Probe{
		{
			Name: "what stateless HTTP has not", Transports: streamable, Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("http/post")
				d.post(d.request(methodDiscover, ""))
				d.Step("http/unknown-method")
				d.post(d.request("goldwire/unknown", ""))
				d.Step("http/session-id")
				d.post(d.request(someList(d.Facts), ""), [2]string{headSession, madeUpSession})
				d.Step("http/last-event-id")
				d.post(d.request(someList(d.Facts), ""), [2]string{headLast, "42"})
				d.Step("http/get")
				d.peek(HTTPRequest{Method: http.MethodGet}, 0)
				d.Step("http/get-bare")
				d.peek(HTTPRequest{Method: http.MethodGet, Without: []string{headVersion}}, 0)
				d.Step("http/delete")
				d.exchange(HTTPRequest{Method: http.MethodDelete})
				d.Step("http/sse")
				d.peek(HTTPRequest{Method: http.MethodGet, Target: "sse", Without: []string{headVersion}}, 0)
			},
		},
		{
			Name: "a handshake over HTTP", Transports: streamable, Since: firstModern, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("http-handshake/initialize")
				x := d.exchange(HTTPRequest{Body: RequestText(d.NextID(), "initialize", d.Hello(lastLegacy)), Without: []string{headVersion, headMethod}})
				if x != nil && x.ResponseHeader.Get(headSession) != "" {
					d.Step("http-handshake/end")
					d.exchange(HTTPRequest{Method: http.MethodDelete, Header: [][2]string{{headSession, x.ResponseHeader.Get(headSession)}, {headVersion, lastLegacy}}})
				}
			},
		},
		{
			Name: "subscriptions that are dropped", Transports: streamable, Since: firstModern, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				began := time.Now()
				d.Step("dropped-listen/first")
				for i := range opened {
					if i == 1 {
						d.Step("dropped-listen/more")
					}
					body := d.request(methodListen, `{"notifications":`+everything(d.Facts)+`}`)
					x := d.Send(HTTPRequest{Body: body, Wait: WaitHead})
					if x == nil {
						return
					}
					d.anEvent(x)
					d.CloseExchange(x.Number)
					if now := d.now(x.Number); now.answer() != nil || now.Status != http.StatusOK || len(now.Frames) == 0 || time.Since(began) > openedWithin {
						break
					}
				}
				d.Step("dropped-listen/after")
				d.post(d.request(methodDiscover, ""))
				d.Pause(d.limits.Grace)
			},
		},
		{
			Name: "calls that are dropped", Transports: streamable, Since: firstModern, Profile: Main, Alone: true, Needs: []string{"tools"},
			After: []string{"call"},
			Run: func(d *Driver) {
				params := d.slowTool()
				if params == "" {
					return
				}
				d.Step("dropped-call/call")
				x := d.Send(HTTPRequest{Body: d.request("tools/call", WithMeta(params, `"progressToken":"goldwire-dropped"`)), Wait: WaitHead, Limit: d.limits.Grace / 2})
				if x == nil {
					return
				}
				d.CloseExchange(x.Number)
				d.Step("dropped-call/after")
				for range 3 {
					d.Pause(slowTool / 2)
					d.post(d.request(someList(d.Facts), ""))
				}
			},
		},
	}
}

func modernHTTPChecks() []Check {
	return []Check{
		{
			ID: "http-endpoint", Title: "the endpoint takes POST", Layer: Bytes,
			Requirements: []string{"modern/http-endpoint-post"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("http/post") {
					if c.heard(x) {
						c.right(x, x.good() || x.answer() != nil, "an answer to a POST", x.says())
					}
				}
			},
		},
		{
			ID: "http-unknown-method", Title: "an unknown method is answered by 404 and an error", Layer: Bytes,
			Requirements: []string{"modern/hdr-method-not-found-404"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("http/unknown-method") {
					code, ok := x.code()
					switch {
					case !c.heard(x):
					case !ok || code != -32601:
						c.wrong(x, "status 404 with the error -32601 as body", x.says())
					default:
						c.Saw() // the status is judged for all such errors
					}
				}
			},
		},
		{
			ID: "http-session-id-ignored", Title: "a session id changes nothing", Layer: Bytes,
			Requirements: []string{"modern/http-session-id-ignored"},
			Judge:        func(c *Case) { c.asPlain("http/session-id", "header-form/plain") },
		},
		{
			ID: "http-last-event-id-ignored", Title: "a last event id changes nothing", Layer: Bytes,
			Requirements: []string{"modern/http-last-event-id-ignored"},
			Judge:        func(c *Case) { c.asPlain("http/last-event-id", "header-form/plain") },
		},
		{
			ID: "http-get-405", Title: "GET is answered by 405", Layer: Bytes,
			Requirements: []string{"modern/http-get-405"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("http/get") {
					// A server of both eras may have a stream for older clients.
					if x.step() == "http/get" && c.heard(x) {
						c.notAllowed(x)
					}
				}
			},
		},
		{
			ID: "http-delete-405", Title: "DELETE is answered by 405", Layer: Bytes,
			Requirements: []string{"modern/http-delete-405"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("http/delete") {
					if c.heard(x) {
						c.notAllowed(x)
					}
				}
			},
		},
		{
			ID: "http-old-transport", Title: "a server of this revision alone has not the transport of 2024-11-05", Layer: Bytes,
			Requirements: []string{"modern/http-sse-transport-deprecated"},
			Judge: func(c *Case) {
				if c.dual() {
					c.NotApplicable("the server serves older clients too")
					return
				}
				for _, x := range append(c.stepExchanges("http/get"), c.stepExchanges("http/sse")...) {
					if c.heard(x) {
						c.right(x, !x.pointsAway(), "no stream of the old transport", "an event named endpoint")
					}
				}
			},
		},
		{
			ID: "http-initialize-400", Title: "a server without handshakes answers a posted initialize by 400", Layer: Bytes,
			Requirements: []string{"modern/era-modern-only-initialize-http"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("http-handshake/initialize") {
					switch {
					case !c.heard(x):
					case x.served():
						c.NotApplicable("the server has handshakes too")
					default:
						c.right(x, x.Status == http.StatusBadRequest, "status 400", x.says())
					}
				}
			},
		},
		{
			ID: "http-listen-stream", Title: "a subscription is a stream that starts with the acknowledgement", Layer: Bytes,
			Requirements: []string{"modern/http-listen-is-sse"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if x.Request.Method != methodListen || !x.letIn() || !x.Request.sound() {
						return
					}
					switch {
					case !x.Stream:
						c.wrong(x, "a stream of events", "Content-Type "+or(x.media(), "none"))
					case len(x.Frames) == 0:
					default:
						c.want(x.Frames[0], x.Frames[0].Method == methodAck || x.Frames[0].Failed(), "the acknowledgement as the first event", sayWhatKind(x.Frames[0]))
					}
				})
			},
		},
		{
			ID: "http-listen-released", Title: "a subscription whose stream was closed is gone", Layer: Bytes,
			Requirements: []string{"modern/http-disconnect-releases-subscription"},
			Judge: func(c *Case) {
				first := c.stepExchanges("dropped-listen/first")
				if len(first) == 0 || first[0].Status != http.StatusOK || len(first[0].Frames) == 0 {
					c.NotObserved("the server opens no subscription")
					return
				}
				for _, s := range c.stepsOf("dropped-listen/more") {
					all := s.Exchanges()
					for i, x := range all {
						acked := x.Status == http.StatusOK && len(x.Frames) > 0 && !x.Frames[0].Failed()
						if acked {
							c.Saw()
						} else if i == len(all)-1 {
							c.wrong(x, "a subscription, as "+strconv.Itoa(i+1)+" others before it were closed", x.says()+" and "+plural(len(x.Frames), "message"))
						}
					}
				}
			},
		},
	}
}

// dual reports whether the server has handshakes, too.
func (c *Case) dual() bool {
	for _, t := range append(c.Offers[:len(c.Offers):len(c.Offers)], c.traces...) {
		for f := range t.visit(t.sent) {
			if f.Method == "initialize" && f.meta(metaVersion) == nil && t.Answer(f).OK() {
				return true
			}
		}
	}
	return false
}

// notAllowed judges the answer to a method that this revision does not use. A
// server of both eras has it for older clients, and refuses it as for them.
func (c *Case) notAllowed(x *Exchange) {
	if c.dual() && x.Status >= 400 && x.Status != http.StatusMethodNotAllowed {
		c.NotApplicable("the server serves older clients too, and refuses it")
		return
	}
	c.right(x, x.Status == http.StatusMethodNotAllowed, "status 405", x.says())
}

// pointsAway reports whether a stream named the address of the old transport.
func (x *Exchange) pointsAway() bool {
	for _, m := range x.Messages {
		if m.Event == "endpoint" {
			return true
		}
	}
	return false
}
