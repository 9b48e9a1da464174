package check

import (
	"net/http"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// What a server answers when something is posted that is no request: a
// notification, a response, or neither.

// madeUpSession is a session id that no server gave.
const madeUpSession = "goldwire-no-such-session"

func postProbes() []Probe {
	return []Probe{{
		Name: "posted notifications", Transports: streamable, Profile: Main,
		Run: func(d *Driver) {
			cancelled := NotificationText(methodCancelled, d.withMeta(`{"requestId":"goldwire-no-such-request"}`))
			d.Step("post/notification")
			d.post(cancelled)
			d.Step("post/unknown-notification")
			d.post(NotificationText("notifications/goldwire/unknown", d.withMeta("")))
			if Modern(d.rev) {
				d.Step("post/bare-notification")
				d.exchange(HTTPRequest{Body: NotificationText(methodCancelled, `{"requestId":"goldwire-no-such-request"}`), Without: []string{headVersion, headMethod}})
			} else {
				d.Step("post/response")
				d.post(`{"jsonrpc":"2.0","id":"goldwire-never-asked","result":{}}`)
			}
			d.Step("post/malformed")
			d.post(`{"jsonrpc":"1.0","method":"goldwire/x"}`)
			if d.SessionID() != "" {
				d.Step("post/bad-session")
				d.post(cancelled, [2]string{headSession, madeUpSession})
			}
			if d.rev == batchRevision {
				d.Step("post/batch")
				d.post(`[` + cancelled + `,` + cancelled + `]`)
			}
		},
	}}
}

func postChecks() []Check {
	return []Check{
		{
			ID: "http-notification-202", Title: "a notification or response that is taken gets 202 and no body", Layer: Bytes,
			Requirements: []string{"legacy/http-notification-202", "modern/http-notification-accepted-202"},
			Judge: func(c *Case) {
				c.allExchanges(func(x *Exchange) {
					if !x.tells() || !x.good() || x.answer().Failed() {
						return
					}
					switch {
					case x.Status != http.StatusAccepted:
						c.wrong(x, "status 202, or one of error", x.says())
					case x.hasBody():
						c.wrong(x, "no body with the status 202", plural(len(x.Text()), "byte"))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "http-unacceptable-status", Title: "what is not taken gets a status of error", Layer: Bytes,
			Requirements: []string{"legacy/http-unacceptable-input-4xx", "modern/http-notification-rejected-status"},
			Judge: func(c *Case) {
				c.allExchanges(func(x *Exchange) {
					switch {
					case !x.tells():
					case x.Status > 0 && x.Status < 400 && (x.answer().Failed() || !x.good()):
						c.wrong(x, "a status of error for what is refused", x.says())
					case x.Status >= 400:
						c.Saw()
					}
				})
				for _, x := range c.stepExchanges("post/malformed") {
					if c.heard(x) {
						c.right(x, x.Status >= 400, "a status of error for what is no JSON-RPC message", x.says())
					}
				}
				for _, s := range c.stepsOf("post/bad-session") {
					for _, x := range s.Exchanges() {
						if x.good() {
							c.odd(x, "a status of error for a session that does not exist", x.says())
						}
					}
				}
			},
		},
		{
			ID: "http-notification-error-body", Title: "an error for a notification has no id", Layer: Bytes,
			Requirements: []string{"legacy/http-error-body-no-id", "modern/http-notification-error-body"},
			Judge: func(c *Case) {
				c.allExchanges(func(x *Exchange) {
					if x.tells() && x.Status >= 400 && !keepsOut(x.Status) && x.Header.Get(headOrigin) == "" {
						c.noIDs(x)
					}
				})
			},
		},
		{
			ID: "http-batch-202", Title: "an array without requests gets 202 and no body", Layer: Bytes,
			Requirements: []string{"legacy/http-batch-202"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("post/batch") {
					switch {
					case !c.heard(x):
					case !x.good():
						c.NotObserved("the server does not take the array")
					default:
						c.right(x, x.Status == http.StatusAccepted && !x.hasBody(), "status 202 and no body", x.says()+", "+plural(len(x.Text()), "byte"))
					}
				}
			},
		},
	}
}

// tells reports whether the exchange posted one notification or response.
func (x *Exchange) tells() bool {
	if x.Method != http.MethodPost || x.Request == nil || x.Status == 0 {
		return false
	}
	return x.Request.Kind == KindNotification && x.Request.proper() || x.Request.Kind == KindResponse && x.Request.Value.Get("jsonrpc") != nil
}

// hasBody reports whether a body came with the response.
func (x *Exchange) hasBody() bool {
	for _, m := range x.Messages {
		if len(m.Data) > 0 {
			return true
		}
	}
	return false
}

// noIDs judges that a JSON-RPC error in the body of a refusal has no id. What
// is no JSON-RPC is not judged.
func (c *Case) noIDs(x *Exchange) {
	v, err := wire.ParseRaw([]byte(x.Text()))
	if err != nil || v.Kind() != wire.KindObject || v.Get("jsonrpc") == nil && v.Get("error").Kind() != wire.KindObject {
		return
	}
	id := v.Get("id")
	switch {
	case v.Get("error") == nil || v.Get("result") != nil:
		c.wrong(x, "a JSON-RPC error, if anything", text(v))
	case id == nil:
		c.Saw()
	case id.Kind() == wire.KindNull && !c.Modern():
		c.Saw() // what JSON-RPC itself says
	default:
		c.wrong(x, "a JSON-RPC error without an id", "the id "+text(id))
	}
}

// evil is an origin that no server allows.
const evil = "http://evil.example"

// lookalikes are origins that begin or end as those of this machine do.
var lookalikes = []string{"http://localhost.evil.example", "http://127.0.0.1.evil.example", "https://evil.example"}

func originProbes() []Probe {
	from := func(origin string) [2]string { return [2]string{headOrigin, origin} }
	return []Probe{{
		// In a session of its own: a server that looks at no origin ends it
		// in the end.
		Name: "origins", Transports: streamable, Profile: Main, Alone: true,
		Run: func(d *Driver) {
			d.Step("origin/none")
			d.post(d.cheapBody())
			d.Step("origin/own")
			d.post(d.cheapBody(), from(d.http.base.Scheme+"://"+d.http.base.Host))
			d.Step("origin/request")
			d.post(d.cheapBody(), from(evil))
			d.Step("origin/notification")
			d.post(NotificationText(methodCancelled, d.withMeta(`{"requestId":"goldwire-no-such-request"}`)), from(evil))
			d.Step("origin/lookalike")
			for _, o := range lookalikes {
				d.post(d.cheapBody(), from(o))
			}
			d.Step("origin/null")
			d.post(d.cheapBody(), from("null"))
			d.Step("origin/options")
			d.exchange(HTTPRequest{Method: http.MethodOptions, Header: [][2]string{from(evil), {"Access-Control-Request-Method", "POST"}}})
			d.Step("origin/get")
			d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{from(evil)}}, 0)
			d.Step("origin/delete")
			d.exchange(HTTPRequest{Method: http.MethodDelete, Header: [][2]string{from(evil)}})
		},
	}, {
		Name: "origins of the old transport", Transports: oldHTTP, Until: firstLegacy, Profile: Main, Alone: true,
		Run: func(d *Driver) {
			d.Step("origin/post")
			d.post(d.cheapBody(), from(evil))
			d.Step("origin/stream")
			d.peek(HTTPRequest{Method: http.MethodGet, Header: [][2]string{from(evil)}}, 0)
		},
	}}
}

func originChecks() []Check {
	return []Check{
		{
			ID: "http-origin-refused", Title: "a request from a foreign origin is refused", Layer: Bytes, Transports: anyHTTP,
			Requirements: []string{"legacy/http-origin-validated", "legacy/sse-origin-validated", "modern/http-origin-validated"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("origin/") {
					name := x.step()
					switch {
					case name == "origin/request" || name == "origin/post" || name == "origin/stream":
					case !c.Modern() && (name == "origin/get" || name == "origin/delete"):
						if x.Status == http.StatusMethodNotAllowed {
							continue
						}
					default:
						continue
					}
					if c.heard(x) && !c.refusedWithout(x) {
						c.right(x, !x.letIn(), "a refusal of the origin "+evil, x.says())
					}
				}
			},
		},
		{
			ID: "http-origin-403", Title: "the status for a foreign origin is 403", Layer: Bytes,
			Requirements: []string{"legacy/http-origin-403", "modern/http-origin-invalid-403"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("origin/request") {
					switch {
					case !c.heard(x), c.refusedWithout(x):
					case x.letIn():
						c.NotObserved("a request from a foreign origin is served")
					default:
						c.right(x, x.Status == http.StatusForbidden, "status 403", x.says())
					}
				}
			},
		},
		{
			ID: "http-origin-everywhere", Title: "the origin is looked at whatever the HTTP method", Layer: Bytes,
			Requirements: []string{"modern/http-origin-all-methods"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("origin/request") {
					if x.letIn() {
						c.Blocked("a request from a foreign origin is served in the first place")
						return
					}
				}
				for _, x := range c.stepExchanges("origin/") {
					from := x.Header.Get(headOrigin)
					switch x.step() {
					case "origin/notification", "origin/get", "origin/delete", "origin/lookalike":
						if c.heard(x) && !c.refusedWithout(x) {
							c.right(x, !x.letIn(), "a refusal of the origin "+from, x.says())
						}
					case "origin/options":
						if allowed := x.ResponseHeader.Get("Access-Control-Allow-Origin"); x.good() && (allowed == "*" || allowed == from) {
							c.odd(x, "no leave for the origin "+from, "Access-Control-Allow-Origin: "+allowed)
						}
					case "origin/null":
						if x.letIn() {
							c.odd(x, "a refusal of the origin null, which any page can have", x.says())
						}
					}
				}
			},
		},
		{
			ID: "http-origin-served", Title: "a request without an origin, or from the server's own, is served", Layer: Bytes,
			Requirements: []string{"legacy/http-origin-absent-ok", "modern/http-origin-valid-served"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("origin/none") {
					if c.heard(x) {
						c.right(x, x.served(), "a result without an Origin", x.says())
					}
				}
				for _, x := range c.stepExchanges("origin/own") {
					switch {
					case !c.heard(x):
					case x.Status == http.StatusForbidden:
						// Which origins are valid is left to the server.
						c.odd(x, "a result for the origin of the server itself", x.says())
					default:
						c.right(x, x.served(), "a result for the origin of the server itself", x.says())
					}
				}
			},
		},
		{
			ID: "http-origin-body", Title: "an error for an origin has no id", Layer: Bytes,
			Requirements: []string{"legacy/http-error-body-no-id", "modern/http-origin-403-body"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("origin/") {
					if x.Status == http.StatusForbidden {
						c.noIDs(x)
					}
				}
			},
		},
	}
}

// refusedWithout settles a check on a refusal that a request without an origin got
// as well, and reports whether it is one.
func (c *Case) refusedWithout(x *Exchange) bool {
	for _, s := range c.stepsOf("origin/none") {
		for _, o := range s.Exchanges() {
			want, failed := o.code()
			got, fails := x.code()
			if !x.letIn() && x.Status == o.Status && failed == fails && want == got {
				c.NotObserved("the server refuses a request without an origin, too: " + o.says())
				return true
			}
		}
	}
	return false
}

// step is the name of the step in which the exchange began, "" before the first.
func (x *Exchange) step() string {
	name := ""
	for _, s := range x.Trace.steps {
		if s.from > x.First {
			break
		}
		name = s.Name
	}
	return name
}

func isLoopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") || host == "::1"
}
