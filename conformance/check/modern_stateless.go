package check

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Statelessness: no request leans on another one.

// identities are clients that nothing else tells apart.
var identities = []string{
	`{"name":"goldwire-check-a","version":"1.0.0"}`,
	`{"name":"Claude Desktop","version":"0.0.1","title":"x"}`,
}

func modernStatelessProbes() []Probe {
	return []Probe{
		{
			// The first request of a process, before any discovery, and the
			// same without metadata after it.
			Name: "the first request of a process", Since: firstModern, Profile: Bare,
			Run: func(d *Driver) {
				d.Step("first/idle")
				d.Pause(d.limits.Grace)
				d.Step("first/request")
				method := someList(d.Facts)
				d.Await(d.Ask(method, ""))
				d.Step("first/no-meta")
				d.Await(d.AskWith(d.NextID(), method, "{}"), d.AskWith(d.NextID(), method, ""))
			},
		},
		{
			Name: "two clients at once", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("interleave")
				var lines []string
				for i := range 10 {
					params := WithMeta("", d.with(metaClient, identities[i%2]))
					lines = append(lines, RequestText(d.NextID(), someList(d.Facts), params))
				}
				// The same characters as a number and as a string are two ids.
				lines = append(lines, RequestText(`900001`, methodDiscover, d.withMeta("")), RequestText(`"900001"`, methodDiscover, d.withMeta("")))
				d.Await(d.Lines(lines...)...)
			},
		},
		{
			// In a process of its own and before any tool is called there, so
			// that they can be compared with the lists of the main session.
			Name: "lists again", Since: firstModern, Profile: Bare,
			Run: func(d *Driver) {
				for _, l := range Lists {
					if !d.Facts.Has(l.Capability) {
						continue
					}
					d.Step("again/" + l.Method)
					var asked []*Frame
					for _, who := range identities {
						asked = append(asked, d.AskWith(d.NextID(), l.Method, WithMeta("", d.with(metaClient, who))))
					}
					asked = append(asked, d.Ask(l.Method, ""), d.Ask(l.Method, ""))
					d.Await(asked...)
				}
				for _, l := range Lists {
					// A cursor that another process of the server gave.
					if cursor, ok := d.Facts.Cursors[l.Method]; ok {
						d.Step("elsewhere/" + l.Method)
						d.Await(d.Ask(l.Method, `{"cursor":`+quote(cursor)+`}`))
					}
				}
			},
		},
	}
}

func modernStatelessChecks() []Check {
	out := []Check{
		{
			ID: "first-request-served", Title: "a request is served without an earlier one", Layer: Protocol,
			Requirements: []string{"modern/stateless-no-prior-discover"},
			Judge: func(c *Case) {
				if s := c.Step("first/request"); s != nil {
					for _, req := range s.Sent() {
						a := c.Answer(req)
						switch {
						case a == nil:
						case a.Failed() && len(c.results(req.Method)) == 0:
							c.Blocked(req.Method + " is refused whenever it is asked for")
						default:
							c.want(a, a.OK(), "a result, though nothing was asked before", sayHow(a))
						}
					}
				}
			},
		},
		{
			ID: "meta-not-remembered", Title: "metadata is not taken from an earlier request", Layer: Protocol,
			Requirements: []string{"modern/stateless-meta-not-remembered", "modern/meta-rejected-on-stdio"},
			Judge:        func(c *Case) { c.Refused("first/no-meta", false, -32602) },
		},
		{
			ID: "cursor-elsewhere", Title: "a cursor holds in another process of the server", Layer: Protocol,
			Requirements: []string{"modern/stateless-no-connection-affinity"},
			Judge: func(c *Case) {
				for _, s := range c.stepsOf("elsewhere/") {
					for _, req := range s.Sent() {
						if a := s.Trace.Answer(req); a != nil {
							c.want(a, a.OK(), "the page, though another process gave the cursor", sayHow(a))
						}
					}
				}
				c.NotObserved("no list has more than one page")
			},
		},
		{
			ID: "interleaved-requests", Title: "requests of several clients are all answered", Layer: Protocol,
			Requirements: []string{"modern/stdio-concurrent-requests", "modern/stateless-interleaved-conversations"},
			Judge: func(c *Case) {
				s := c.Step("interleave")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					switch a := c.Answer(req); {
					case a == nil:
					case !wire.Equal(a.ID, req.ID):
						c.Broken(a, "an answer for id "+text(req.ID), "one for id "+text(a.ID))
					case c.refusedAnyway(req):
					default:
						c.want(a, a.OK(), "a result", sayHow(a))
					}
				}
			},
		},
		{
			ID: "client-info-no-influence", Title: "who the client says it is changes no list", Layer: Protocol,
			Requirements: []string{"modern/clientinfo-no-behaviour-change"},
			Judge: func(c *Case) {
				for _, l := range Lists {
					c.sameLists(l.Method, l.Member, l.Key, func(req *Frame) bool {
						return strings.Contains(string(req.meta(metaClient)), "goldwire-check-a") || strings.Contains(string(req.meta(metaClient)), "Claude")
					}, true)
				}
			},
		},
		{
			ID: "tools-order-stable", Title: "tools come in the same order each time", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"modern/tools-list-deterministic"},
			Judge:        func(c *Case) { c.sameLists("tools/list", "tools", "name", nil, false) },
		},
	}
	for _, l := range Lists {
		area := map[string]string{"tools": "tools", "prompts": "prompts", "resources": "res"}[l.Capability]
		out = append(out, Check{
			ID: strings.ReplaceAll(l.Method, "/", "-") + "-independent", Title: "the list does not depend on the connection or on earlier requests", Layer: Feature, Needs: []string{l.Capability},
			Requirements: []string{"modern/" + area + "-list-connection-independent"},
			Judge:        func(c *Case) { c.sameLists(l.Method, l.Member, l.Key, nil, true) },
		})
	}
	return out
}

// sameLists compares the first pages of a list that were given before any tool
// was called: what a tool does may well change what there is. Where pick is
// given, pages whose requests it picks are compared with the others only.
// unordered leaves out the order.
func (c *Case) sameLists(method, member, key string, pick func(*Frame) bool, unordered bool) {
	type page struct {
		answer *Frame
		names  []string
		part   bool // others follow
		picked bool
	}
	var first *page
	for _, t := range c.Traces() {
		calls, changed := false, false
		for req := range t.all() {
			if req.FromServer {
				changed = changed || strings.HasSuffix(req.Method, "/list_changed")
				continue
			}
			if req.Method == "tools/call" {
				if a := t.Answer(req); a.OK() {
					calls = true
				}
			}
			if calls || changed || !req.is(method) || req.Param("cursor") != nil || string(req.caps()) != "{}" {
				continue
			}
			a := t.Answer(req)
			if !a.OK() {
				continue
			}
			p := &page{answer: a, picked: pick != nil && pick(req), part: a.Result.Get("nextCursor") != nil}
			for e := range a.Result.Get(member).Elems() {
				p.names = append(p.names, Name(e, key))
			}
			if unordered {
				slices.Sort(p.names)
			}
			switch {
			case first == nil:
				if !p.picked {
					first = p
				}
			case pick != nil && !p.picked:
			case slices.Equal(first.names, p.names):
				c.Saw()
			case first.part && p.part && len(first.names) != len(p.names):
				// Pages of different sizes say nothing of the list.
			default:
				want := "the list as before"
				if !unordered {
					want = "the order as before"
				}
				c.Broken(p.answer, want+": "+sample(first.names), sample(p.names))
			}
		}
	}
}
