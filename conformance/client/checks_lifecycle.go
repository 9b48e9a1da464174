package client

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// lifecycleChecks are about the handshake of the stateful revisions, about
// versions, capabilities, pings and time limits.
func lifecycleChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-lifecycle", Title: "the client makes the handshake and answers a ping", Layer: check.Protocol,
			Requirements: []string{"legacy/core-base-and-lifecycle"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					switch {
					case !k.answers[k.open].OK():
					case k.ready != nil:
						c.Saw()
					case k.wentOn():
						c.Broken(k.open, "notifications/initialized after the handshake", "requests without it")
					}
				}
			},
		},
		{
			ID: "client-initialize-first", Title: "a session begins with initialize", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-initialize-first"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.said() {
						if f.Method == "ping" || f.Kind == check.KindResponse {
							continue
						}
						if f.Kind == check.KindRequest || f.Kind == check.KindNotification {
							want(c, f, f.Method == initialize, "initialize as the first message", f.Method)
						}
						break
					}
				}
			},
		},
		{
			ID: "client-initialize-params", Title: "initialize names a version, the capabilities and the client", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-initialize-params"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					if k.open == nil {
						continue
					}
					p := k.open.Params
					switch {
					case p.Get("protocolVersion").Kind() != wire.KindString:
						c.Broken(k.open, "a string as protocolVersion", show(p.Get("protocolVersion")))
					case p.Get("capabilities").Kind() != wire.KindObject:
						c.Broken(k.open, "an object as capabilities", show(p.Get("capabilities")))
					case p.Get("clientInfo").Get("name").Kind() != wire.KindString:
						c.Broken(k.open, "a string as clientInfo.name", show(p.Get("clientInfo").Get("name")))
					default:
						v := p.Get("clientInfo").Get("version")
						want(c, k.open, v.Kind() == wire.KindString, "a string as clientInfo.version", show(v))
					}
				}
			},
		},
		{
			ID: "client-initialized-sent", Title: "notifications/initialized comes before any other request", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-initialized-sent"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					a := k.answers[k.open]
					if !a.OK() {
						continue
					}
					if k.ready != nil && k.ready.Index < a.Index {
						c.Broken(k.ready, "notifications/initialized after the answer to initialize", "before it")
						continue
					}
					for _, f := range k.said() {
						switch {
						case f.Index < a.Index || f.Method == "ping" || f.Kind == check.KindResponse:
							continue
						case f.Method == initialized:
							c.Saw()
						case f.Kind == check.KindRequest && k.agreed == c.Revision:
							c.Broken(f, "notifications/initialized before any other request", f.Method)
						default:
							continue
						}
						break
					}
				}
			},
		},
		{
			ID: "client-quiet-before-result", Title: "no request is sent while initialize has no answer", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-client-quiet-before-result"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					if k.open == nil {
						continue
					}
					a := k.answers[k.open]
					for _, f := range k.said() {
						if f.Kind == check.KindRequest && f.Index > k.open.Index && (a == nil || f.Index < a.Index) && f.Method != "ping" {
							c.Broken(f, "nothing but pings until initialize is answered", f.Method)
						}
					}
					if a != nil {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-initialize-refused", Title: "a client whose initialize was refused does not go on", Layer: check.Protocol,
			Requirements: []string{"legacy/lifecycle-init-errors-handled"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptRefuseInit) {
					a := k.answers[k.open]
					if a == nil || !a.Failed() {
						continue
					}
					for _, f := range k.said() {
						if f.Index > a.Index && f.Method != initialize && f.Method != "" && f.Method != "ping" && f.Method != cancelled {
							c.Broken(f, "the end, or another initialize", f.Method)
						}
					}
					c.Saw()
				}
			},
		},
		{
			ID: "client-offers-supported", Title: "the client goes on with the version that it offered", Layer: check.Protocol,
			Requirements: []string{"legacy/version-client-offers-supported"},
			Judge: func(c *check.Case) {
				// One that goes on anywhere speaks it, and has left elsewhere for
				// other reasons.
				var left *check.Frame
				for _, k := range talks(c) {
					if !k.answers[k.open].OK() || k.agreed != str(k.open.Params.Get("protocolVersion")) {
						continue
					}
					switch {
					case k.ready != nil || k.wentOn():
						c.Saw()
						return
					case k.view.end() >= 0 || k.view.why == OverExit:
						left = k.open
					}
				}
				if left != nil {
					c.Broken(left, "notifications/initialized, as the server agreed to version "+c.Revision, "the client left")
				}
			},
		},
		{
			ID: "client-offers-latest", Title: "the client offers the newest version that it knows", Layer: check.Protocol,
			Requirements: []string{"legacy/version-client-offers-latest"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, k := range v.talks {
						offered := ""
						if k.open != nil {
							offered = str(k.open.Params.Get("protocolVersion"))
						}
						if k.ready == nil || !revision.Known(k.agreed) || !revision.Known(offered) || check.Modern(k.agreed) {
							continue
						}
						want(c, k.open, revision.Compare(k.agreed, offered) <= 0, "an offer of "+k.agreed+", which it accepts", "an offer of "+offered)
					}
				}
			},
		},
		{
			ID: "client-unknown-version", Title: "a client that does not know the server's version leaves", Layer: check.Protocol,
			Requirements: []string{"legacy/version-client-disconnects"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, scriptUnknownVersion) {
					for _, k := range v.talks {
						a := k.answers[k.open]
						if !a.OK() || k.agreed != unknownVersion {
							continue
						}
						ok := true
						for _, f := range k.said() {
							if f.Index > a.Index && f.Method != "" && f.Method != cancelled && f.Method != initialize {
								c.Broken(f, "the end of the connection", f.Method)
								ok = false
								break
							}
						}
						if ok {
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "client-keeps-to-version", Title: "the client keeps to the messages of the agreed revision", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-respect-version", "legacy/capability-respect-version-should"},
			Judge: func(c *check.Case) {
				p, err := protocol(c.Revision)
				if err != nil {
					panic(err)
				}
				each(c, func(k *talk, f *check.Frame) {
					if k.agreed != c.Revision || f.Method == "" || f.Method == initialize {
						return
					}
					switch {
					case check.KnownElsewhere(c.Revision, f.Method):
						c.Broken(f, "a message that revision "+c.Revision+" has", f.Method)
					case f.Trace.NoSchema:
					case p.Knows(f.Method):
						fits(c, f, p.Message(f.Method, f.Value))
					}
				})
			},
		},
		{
			ID: "client-uses-declared", Title: "the client uses no feature that the server did not declare", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-negotiated-only", "legacy/capability-negotiated-only-should", "modern/capabilities-respected"},
			Judge: func(c *check.Case) {
				if method := onlyOne(c); method != "" {
					c.NotObserved("the client makes the one request " + method + " that it is told to make")
					return
				}
				eachRequest(c, func(k *talk, f *check.Frame) {
					need := serverFeature(c.Revision, f.Method)
					caps := k.offered()
					if need == "" || caps == nil || c.Modern() && !k.knewBefore(f) {
						return
					}
					want(c, f, hasCapability(caps, need), "the server's capability "+need, "the request "+f.Method+" without it")
				})
			},
		},
		{
			ID: "client-roots-change-declared", Title: "changes of roots are announced only where that was declared", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-negotiated-only", "legacy/capability-negotiated-only-should"},
			Judge: func(c *check.Case) {
				each(c, func(k *talk, f *check.Frame) {
					if f.Method == "notifications/roots/list_changed" && k.open != nil {
						b, _ := k.caps().Get("roots").Get("listChanged").Bool()
						want(c, f, b, "roots.listChanged in the client's capabilities", show(k.caps().Get("roots")))
					}
				})
			},
		},
		{
			ID: "client-undeclared-refused", Title: "a request for what the client did not declare is refused", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-undeclared-refused", "legacy/roots-unsupported"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptAsks) {
					for _, m := range []string{"roots/list", "sampling/createMessage", "elicitation/create"} {
						for _, req := range k.asked(m) {
							a := k.replies[req]
							if k.declares(m) || a == nil {
								continue
							}
							if code, _ := a.Code(); a.Failed() && code != -32601 {
								c.Tolerated(a, "an error with code -32601", "error code "+show(a.Error.Get("code")))
							} else {
								want(c, a, a.Failed(), "an error with code -32601", "a result")
							}
						}
					}
				}
			},
		},
		{
			ID: "client-experimental-tolerated", Title: "an experimental capability of the server does no harm", Layer: check.Protocol,
			Requirements: []string{"legacy/capability-experimental"},
			Judge: func(c *check.Case) {
				// Of a client that has several sessions each is compared with its like.
				like := func(k *talk) string {
					return str(k.open.Params.Get("protocolVersion")) + " " + check.Name(k.open.Params.Get("clientInfo"), "name")
				}
				plain := map[string]bool{}
				for _, k := range talks(c, Good) {
					if k.open != nil && k.ready != nil {
						plain[like(k)] = true
					}
				}
				for _, k := range talks(c, scriptTour) {
					if k.answers[k.open].OK() && plain[like(k)] {
						want(c, k.open, k.ready != nil, "a client that goes on", "a client that left over an experimental capability")
					}
				}
			},
		},
		{
			ID: "client-ping-answered", Title: "a ping is answered by an empty result", Layer: check.Protocol,
			Requirements: []string{"legacy/ping-answered"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, Good, scriptTour, scriptAsks) {
					for _, req := range k.asked("ping") {
						a := k.replies[req]
						switch {
						case a == nil && k.view.noted("no answer to ping") && k.alive(req):
							c.Broken(req, "an answer to the ping", "none within the time for it")
						case a == nil:
						case a.Failed():
							c.Broken(a, "an empty result", "error "+show(a.Error))
						default:
							extra := ""
							for m := range a.Result.Members() {
								if m != "_meta" {
									extra = m
								}
							}
							want(c, a, extra == "", "an empty result", "the member "+extra)
						}
					}
				}
			},
		},
		{
			ID: "client-ping-timeout", Title: "a client whose pings are not answered gives the connection up", Layer: check.Protocol,
			Requirements: []string{"legacy/ping-timeout-is-failure"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					silent := 0
					for _, f := range k.requests("ping") {
						if k.answers[f] == nil {
							silent++
						} else {
							silent = 0
							c.Saw()
						}
						// Three in a row without an answer are no accident.
						if silent > 3 {
							c.Broken(f, "the end of the connection after pings without an answer", "yet another ping")
							break
						}
					}
				}
			},
		},
		{
			ID: "client-gives-up", Title: "a request without an answer is given up", Layer: check.Protocol,
			Requirements: []string{"legacy/timeout-all-requests"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptSilence) {
					for _, f := range k.said() {
						if f.Kind != check.KindRequest || k.answers[f] != nil || f.Method == "ping" {
							continue
						}
						at := k.over(f)
						if later := k.laterThan(f, time.Second); at < 0 && later != nil {
							at = later.Index
						}
						// When the play was over the server gave it up itself.
						if at >= 0 && at < k.view.over() || k.view.end() >= 0 || k.view.why == OverExit {
							c.Saw()
						} else {
							c.NotObserved("the client still waited for an answer to " + f.Method + " when the play was over; how long it may is its operator's choice")
						}
					}
				}
			},
		},
		{
			ID: "client-timeout-cancels", Title: "a request that is given up is cancelled", Layer: check.Protocol,
			Requirements: []string{"legacy/timeout-sends-cancel"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptSilence) {
					for _, f := range k.said() {
						if f.Kind != check.KindRequest || k.answers[f] != nil || f.Method == initialize || f.Method == "ping" {
							continue
						}
						if k.cancellation(f) != nil {
							c.Saw()
							continue
						}
						// Asking the same again after a while is the sign that
						// the first one was given up.
						// When the play was over the server gave it up itself.
						if again := k.again(f, 300*time.Millisecond); again != nil && again.Index < k.view.over() {
							c.Broken(again, "notifications/cancelled for request "+show(f.ID), "the same request again")
						}
					}
				}
			},
		},
	}
}

// unknownVersion is a version that no client speaks.
const unknownVersion = "1999-01-01"

// onlyOne is the method of a client that asks the good server for one thing
// only, and asks for no list: whoever uses it has chosen that, and not the
// client. "" for any other client.
func onlyOne(c *check.Case) string {
	method := ""
	for _, t := range c.Traces() {
		if t.Profile != Good {
			continue
		}
		for _, k := range viewOf(t, c.Modern()).talks {
			for _, f := range k.requests("") {
				switch {
				case serverFeature(c.Revision, f.Method) == "":
				case isList(f.Method), method != "" && method != f.Method:
					return ""
				default:
					method = f.Method
				}
			}
		}
	}
	return method
}

// serverFeature is the capability of a server that a method belongs to.
func serverFeature(rev, method string) string {
	switch method {
	case "resources/subscribe", "resources/unsubscribe":
		return "resources.subscribe"
	case "completion/complete":
		if !check.AtLeast(rev, "2025-03-26") {
			return ""
		}
		return "completions"
	case "logging/setLevel":
		return "logging"
	case "tasks/list":
		return "tasks.list"
	case "tasks/cancel":
		return "tasks.cancel"
	}
	switch area, _, _ := strings.Cut(method, "/"); area {
	case "tools", "prompts", "resources":
		return area
	case "tasks":
		if !check.Modern(rev) {
			return area
		}
	}
	return ""
}

func hasCapability(caps wire.Raw, path string) bool {
	v := caps
	for _, name := range strings.Split(path, ".") {
		if v = v.Get(name); v == nil {
			return false
		}
	}
	b, isBool := v.Bool()
	return !isBool || b
}

// declares reports whether the client declared in its initialize what a request
// of the server belongs to.
func (k *talk) declares(method string) bool {
	area, _, _ := strings.Cut(method, "/")
	return k.caps().Get(area) != nil
}

// wentOn reports whether the client sent a request after the answer to its
// initialize.
func (k *talk) wentOn() bool {
	a := k.answers[k.open]
	return a != nil && slices.ContainsFunc(k.requests(""), func(f *check.Frame) bool {
		return f.Index > a.Index && f.Method != "ping" && f.Method != initialize
	})
}

// laterThan is the first request of the client that long after another one.
func (k *talk) laterThan(req *check.Frame, d time.Duration) *check.Frame {
	all := k.requests("")
	from := sort.Search(len(all), func(i int) bool { return all[i].Index > req.Index && all[i].At-req.At >= d })
	for _, f := range all[from:] {
		if f.Method != "ping" {
			return f
		}
	}
	return nil
}

// again is the first request of the client that asks for the same as another
// one, that long after it.
func (k *talk) again(req *check.Frame, d time.Duration) *check.Frame {
	all := k.requests(req.Method)
	from := sort.Search(len(all), func(i int) bool { return all[i].Index > req.Index && all[i].At-req.At >= d })
	for _, f := range all[from:min(from+near, len(all))] {
		if k.answers[req] == nil && sameButMeta(f.Params, req.Params) {
			return f
		}
	}
	return nil
}

// near is how many requests by one method are compared with another one: what
// asks for the same again does so soon.
const near = 100

// sameButMeta compares params without what differs from request to request.
func sameButMeta(a, b wire.Raw) bool {
	strip := func(v wire.Raw) map[string]wire.Raw {
		out := map[string]wire.Raw{}
		for k, e := range v.Members() {
			if k != "_meta" {
				out[k] = e
			}
		}
		return out
	}
	x, y := strip(a), strip(b)
	if len(x) != len(y) {
		return false
	}
	for k, v := range x {
		if !wire.Equal(v, y[k]) {
			return false
		}
	}
	return true
}

func protocol(rev string) (*validate.Protocol, error) { return validate.For(rev) }

// fits tells of a message or result that does not fit its schema.
func fits(c *check.Case, f *check.Frame, err error) {
	v, broken := err.(*validate.Violation)
	switch {
	case broken:
		c.Broken(f, "a message as the schema of "+c.Revision+" has it", v.Error())
	case err != nil:
		c.NotObserved(err.Error())
	default:
		c.Saw()
	}
}
