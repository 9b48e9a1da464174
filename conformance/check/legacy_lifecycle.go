package check

import (
	"slices"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// quietTime is how long a server is watched that was not told yet that the
// client is ready.
const quietTime = time.Second

func legacyLifecycleProbes() []Probe {
	return []Probe{
		{
			Name: "ping", Until: lastLegacy, Profile: Main,
			Run: func(d *Driver) {
				d.Step("ping")
				d.Call("ping", "")
				d.Call("ping", "{}")
			},
		},
		{
			Name: "before initialized", Until: lastLegacy, Profile: Bare, Alone: true,
			Run: func(d *Driver) {
				d.Declare(declaredCaps(d.Revision()))
				d.Step("window")
				if !d.Call("initialize", d.Hello(d.Revision())).OK() {
					return
				}
				d.Step("window/ping")
				d.Call("ping", "")
				d.Step("window/quiet")
				d.Pause(quietTime)
				d.Fence()
			},
		},
		{
			Name: "faulty initialize", Until: lastLegacy, Profile: Bare, Alone: true,
			Run: func(d *Driver) {
				// One process for all of them: the next is only tried when the
				// one before was refused, since a second initialize is another
				// matter.
				for _, params := range []string{
					"",
					`{"protocolVersion":5,"capabilities":{},"clientInfo":` + clientInfo + `}`,
					`{"protocolVersion":` + quote(d.Revision()) + `,"capabilities":null,"clientInfo":` + clientInfo + `}`,
				} {
					d.Step("faulty-initialize")
					if d.Call("initialize", params).OK() || d.Lost() != "" {
						return
					}
				}
				d.Step("faulty-initialize-then-right")
				d.Call("initialize", d.Hello(d.Revision()))
			},
		},
		{
			Name: "experimental capability", Until: lastLegacy, Profile: Bare, Alone: true,
			Run: func(d *Driver) {
				d.Declare(`{"experimental":{"com.example/x":{}}}`)
				d.Step("experimental")
				d.Call("initialize", d.Hello(d.Revision()))
			},
		},
	}
}

func legacyLifecycleChecks() []Check {
	return []Check{
		{
			ID: "ping-answered", Title: "a ping is answered with an empty result", Layer: Protocol,
			Requirements: []string{"legacy/ping-answered"},
			Judge: func(c *Case) {
				// Once a full wait was in vain the later ones are short.
				for _, t := range c.Traces() {
					for req := range t.visit(t.sent) {
						if t.Profile != Bare && req.Method == "ping" && req.Kind == KindRequest && t.Answer(req) == nil && t.notedSince(noteSilent+string(req.ID), req.Index) {
							c.Answer(req)
						}
					}
				}
				if s := c.Step("ping"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.emptyResult(a)
						}
					}
				}
			},
		},
		{
			ID: "initialize-result", Title: "initialize is answered with version, capabilities and the server's name", Layer: Protocol,
			Requirements: []string{"legacy/lifecycle-initialize-result", "legacy/core-base-and-lifecycle"},
			Judge: func(c *Case) {
				c.Results("initialize", func(_, a *Frame) {
					// Members of later revisions are no matter: judge what
					// this one requires.
					c.FitsResult(a, "initialize")
				})
			},
		},
		{
			ID: "ping-before-initialized", Title: "a ping is answered before the client is ready", Layer: Protocol,
			Requirements: []string{"legacy/lifecycle-ping-before-initialized"},
			Judge: func(c *Case) {
				s := c.Step("window/ping")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					if plain, tried := c.control("ping"); tried && !plain.OK() && !req.Trace.Answer(req).OK() {
						c.Blocked("no ping has a result, not even when the client is ready")
					} else if a := c.Answer(req); a != nil {
						c.emptyResult(a)
					}
				}
			},
		},
		{
			ID: "quiet-before-initialized", Title: "the server asks for nothing before the client is ready", Layer: Protocol,
			Requirements: []string{"legacy/lifecycle-server-quiet-before-initialized"},
			Judge: func(c *Case) {
				first, quiet := c.Step("window"), c.Step("window/quiet")
				if first == nil || quiet == nil {
					return
				}
				found := false
				for f := range first.Trace.all() {
					if f.FromServer && f.Kind == KindRequest && f.Index >= first.from && f.Method != "ping" {
						c.Broken(f, "pings and log messages only", "the request "+f.Method)
						found = true
					}
				}
				if !found && first.Trace.fenced(quiet.from) {
					c.Saw()
				}
			},
		},
		{
			ID: "faulty-initialize-refused", Title: "an initialize with missing or wrong members is refused", Layer: Protocol,
			Requirements: []string{"legacy/lifecycle-init-errors-handled"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("faulty-initialize") {
					if s.Name != "faulty-initialize" {
						continue
					}
					for _, req := range s.Sent() {
						if s.Trace.refusedByStatus(req) {
							c.Saw()
							continue
						}
						switch a := c.Answer(req); {
						case a != nil:
							c.want(a, a.Failed(), "an error", "a result")
						case s.Trace.lost() != "" && !s.Trace.cut():
							c.Broken(req, "an error", s.Trace.lost())
						}
					}
				}
			},
		},
		{
			ID: "experimental-tolerated", Title: "an experimental capability of the client does no harm", Layer: Protocol,
			Requirements: []string{"legacy/capability-experimental"},
			Judge: func(c *Case) {
				if s := c.Step("experimental"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK(), "a result", outcome(a))
						}
					}
				}
			},
		},
		{
			ID: "capability-shape", Title: "capabilities are objects and their flags are booleans", Layer: Protocol,
			Requirements: []string{"legacy/capability-shape"},
			Judge: func(c *Case) {
				c.Results("initialize", func(_, a *Frame) {
					for area, v := range a.Result.Get("capabilities").Members() {
						if !slices.Contains([]string{"logging", "completions", "prompts", "resources", "tools", "tasks", "experimental"}, area) {
							continue
						}
						if !c.want(a, v.Kind() == wire.KindObject, "an object as capability "+area, text(v)) {
							continue
						}
						for _, flag := range []string{"listChanged", "subscribe"} {
							if b := v.Get(flag); b != nil {
								c.want(a, b.Kind() == wire.KindBool, "a boolean as "+area+"."+flag, text(b))
							}
						}
					}
				})
			},
		},
		{
			ID: "server-info-types", Title: "what the server says of itself beyond its name has the right types", Layer: Protocol,
			Requirements: []string{"legacy/lifecycle-optional-info"},
			Judge: func(c *Case) {
				c.Results("initialize", func(_, a *Frame) {
					look := func(v wire.Raw, member string, kind wire.Kind, since string) {
						if got := v.Get(member); got != nil && c.AtLeast(since) {
							c.want(a, got.Kind() == kind, kind.String()+" as "+member, text(got))
						}
					}
					info := a.Result.Get("serverInfo")
					look(a.Result, "instructions", wire.KindString, firstLegacy)
					look(info, "title", wire.KindString, rev2025June)
					for _, m := range []string{"description", "websiteUrl"} {
						look(info, m, wire.KindString, rev2025November)
					}
					look(info, "icons", wire.KindArray, rev2025November)
				})
			},
		},
		{
			ID: "version-refusal-shape", Title: "a server that refuses an unknown version says which ones it supports", Layer: Protocol,
			Requirements: []string{"legacy/version-unsupported-error"},
			Judge: func(c *Case) {
				c.offers(func(offered, got string, a *Frame) {
					switch {
					case slices.Contains(revisions, offered):
					case a.OK():
						c.Saw() // it names another version, as it had better
					default:
						code, _ := a.Code()
						c.want(a, code == -32602, "an error with code -32602", "error code "+text(a.Error.Get("code")))
						data := a.Error.Get("data")
						if data == nil {
							return
						}
						n, strings := 0, true
						for v := range data.Get("supported").Elems() {
							n++
							strings = strings && v.Kind() == wire.KindString
						}
						c.want(a, n > 0 && strings, "a list of versions as data.supported", text(data))
					}
				})
			},
		},
		{
			ID: "version-echo", Title: "a version that the server speaks is agreed to when it is offered", Layer: Protocol,
			Requirements: []string{"legacy/version-server-echo"},
			Judge: func(c *Case) {
				// Whatever version it ever named it has to agree to.
				named := map[string]*Frame{}
				c.offers(func(offered, got string, a *Frame) {
					if a.OK() && named[got] == nil {
						named[got] = a
					}
				})
				c.offers(func(offered, got string, a *Frame) {
					if named[offered] == nil || !slices.Contains(revisions, offered) {
						return
					}
					c.want(a, a.OK() && got == offered, "version "+offered+", which it named before", or(got, outcome(a)))
				})
			},
		},
		{
			ID: "version-counter-offer", Title: "an unknown version is answered with a version the server knows", Layer: Protocol,
			Requirements: []string{"legacy/version-server-counter-offer"},
			Judge: func(c *Case) {
				c.offers(func(offered, got string, a *Frame) {
					switch {
					case slices.Contains(revisions, offered), a.OK() && got == "": // see initialize-result
					case a.Failed():
						c.Tolerated(a, "a result that names another version", "error code "+text(a.Error.Get("code")))
					case got == offered:
						c.Broken(a, "a version that the server speaks", "the unknown version "+offered+" itself")
					case !slices.Contains(revisions, got):
						c.Broken(a, "a version of the protocol", text(a.Result.Get("protocolVersion")))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "version-counter-latest", Title: "an unknown version is answered with the newest one the server speaks", Layer: Protocol,
			Requirements: []string{"legacy/version-server-counter-latest"},
			Judge: func(c *Case) {
				newest, heard := "", map[string]bool{}
				c.offers(func(offered, got string, a *Frame) {
					heard[offered] = true
					if offered == got && slices.Contains(revisions, got) && (newest == "" || AtLeast(got, newest)) {
						newest = got
					}
				})
				c.offers(func(offered, got string, a *Frame) {
					switch {
					case newest == "" || !a.OK() || slices.Contains(revisions, offered) || got == offered:
					case !heard[got] && slices.Contains(revisions, got) && AtLeast(got, newest):
						c.Blocked("the server did not answer the offer of " + got + ", which it names as its newest")
					default:
						c.want(a, got == newest, newest, got)
					}
				})
			},
		},
		{
			ID: "later-constructs", Title: "the server keeps to the messages of the agreed revision", Layer: Protocol,
			Requirements: []string{"legacy/capability-respect-version", "legacy/capability-respect-version-should"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == "" || f.Kind != KindRequest && f.Kind != KindNotification {
						return
					}
					switch {
					case c.protocol().Knows(f.Method):
						c.Saw()
					case knownElsewhere(f.Method):
						c.Broken(f, "a message that revision "+c.Revision+" has", f.Method)
					}
				})
			},
		},
		{
			ID: "client-features-undeclared", Title: "the server asks for nothing that the client did not declare", Layer: Protocol,
			Requirements: []string{"legacy/capability-negotiated-only", "legacy/capability-negotiated-only-should"},
			Judge: func(c *Case) {
				called := false
				for _, t := range c.Traces() {
					for f := range t.all() {
						area, ok := clientFeatures[f.Method]
						switch {
						case !f.FromServer:
							called = called || f.Method == "tools/call" && t.Answer(f).OK()
						case ok && f.Kind == KindRequest:
							c.want(f, t.ClientCaps.Get(area) != nil, "the client's capability "+area, "the request "+f.Method+" without it")
						}
					}
				}
				if called {
					c.Saw()
				}
			},
		},
	}
}

// clientFeatures are requests of the server with the client's capability that
// they need.
var clientFeatures = map[string]string{
	"roots/list": "roots", "sampling/createMessage": "sampling", "elicitation/create": "elicitation",
	"tasks/get": "tasks", "tasks/result": "tasks", "tasks/list": "tasks", "tasks/cancel": "tasks",
}

// offered are the sessions that offered versions: others only try whether the
// server runs by one.
func (c *Case) offered() []*Trace {
	return slices.DeleteFunc(slices.Clone(c.Offers), func(t *Trace) bool { return t.Profile == profileDiscover })
}

// offers calls fn for the answer to each version that was offered.
func (c *Case) offers(fn func(offered, got string, a *Frame)) {
	for _, t := range c.offered() {
		for req := range t.visit(t.sent) {
			if req.Method != "initialize" {
				continue
			}
			offered, _ := req.Param("protocolVersion").Str()
			if t.Answer(req) == nil && t.handshake(req, offered) != nil {
				c.Blocked("initialize has no answer that can be used")
			} else if a := c.Answer(req); a != nil {
				got, _ := a.result().Get("protocolVersion").Str()
				fn(offered, got, a)
			}
		}
	}
}

// emptyResult judges that a response has a result without members of its own.
// One more is a warning: the schema, which leaves the empty result open, allows
// what the texts do not.
func (c *Case) emptyResult(a *Frame) {
	if !a.OK() {
		c.Broken(a, "an empty result", "error "+text(a.Error))
		return
	}
	if a.Result.Kind() != wire.KindObject {
		c.Broken(a, "an empty object", text(a.Result))
		return
	}
	for name := range a.Result.Members() {
		if name != "_meta" {
			c.Tolerated(a, "a result without members", "the member "+name)
			return
		}
	}
	c.Saw()
}
