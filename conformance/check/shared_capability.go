package check

import (
	"slices"

	"github.com/goldwire/goldwire/runtime/wire"
)

type gate struct{ method, params, capability, since, until string }

func (g gate) applies(rev string) bool {
	return (g.since == "" || AtLeast(rev, g.since)) && (g.until == "" || AtLeast(g.until, rev))
}

// gates are requests that belong to a capability, with params that harm
// nobody.
var gates = []gate{
	{"tools/list", "", "tools", "", ""},
	{"tools/call", `{"name":"goldwire_no_such_tool"}`, "tools", "", ""},
	{"prompts/list", "", "prompts", "", ""},
	{"prompts/get", `{"name":"goldwire_no_such_prompt"}`, "prompts", "", ""},
	{"resources/list", "", "resources", "", ""},
	{"resources/templates/list", "", "resources", "", ""},
	{"resources/read", `{"uri":"goldwire://no/such/resource"}`, "resources", "", ""},
	{"logging/setLevel", `{"level":"emergency"}`, "logging", "", lastLegacy},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"goldwire_no_such_prompt"},"argument":{"name":"a","value":""}}`, "completions", rev2025March, ""},
	{"tasks/list", "", "tasks.list", tasksRevision, tasksRevision},
}

func capabilityProbes() []Probe {
	return []Probe{{
		Name: "undeclared features", Profile: Main,
		Run: func(d *Driver) {
			if !d.Facts.Known() {
				return
			}
			for _, g := range gates {
				if !g.applies(d.Revision()) || d.Facts.Has(g.capability) {
					continue
				}
				d.Step("undeclared/" + g.method)
				d.Call(g.method, g.params)
			}
		},
	}}
}

func capabilityChecks() []Check {
	return []Check{
		{
			ID: "undeclared-refused", Title: "methods of a feature that was not declared are not found", Layer: Protocol,
			Requirements: []string{"legacy/capability-undeclared-refused", "modern/jsonrpc-capability-gated-method"},
			Judge: func(c *Case) {
				if c.Facts.Known() && !slices.ContainsFunc(gates, func(g gate) bool { return g.applies(c.Revision) && !c.Has(g.capability) }) {
					c.NotApplicable("the server declares every feature")
					return
				}
				for _, s := range c.StepsOf("undeclared/") {
					for _, req := range s.Sent() {
						c.refused(req, false, -32601)
					}
				}
			},
		},
		{
			ID: "features-advertised", Title: "what the server answers to it declares", Layer: Protocol,
			Requirements: []string{"legacy/capability-features-advertised"},
			Judge: func(c *Case) {
				if c.Facts.Known() && !slices.ContainsFunc(gates, func(g gate) bool { return g.applies(c.Revision) && !c.Has(g.capability) }) {
					c.NotApplicable("the server declares every feature")
					return
				}
				for _, s := range c.StepsOf("undeclared/") {
					for _, req := range s.Sent() {
						if a := s.Trace.Answer(req); a != nil {
							c.want(a, a.Failed(), "the capability that "+req.Method+" belongs to, or an error", "a result without it")
						}
					}
				}
			},
		},
		{
			ID: "tools-declared", Title: "a server with tools declares them", Layer: Protocol,
			Requirements: []string{"legacy/tools-capability", "modern/tools-capability-declared"},
			Judge:        func(c *Case) { c.declared("tools", "tools/list", "tools") },
		},
		{
			ID: "prompts-declared", Title: "a server with prompts declares them", Layer: Protocol,
			Requirements: []string{"legacy/prompts-capability", "modern/prompts-capability-declared"},
			Judge:        func(c *Case) { c.declared("prompts", "prompts/list", "prompts") },
		},
		{
			ID: "resources-declared", Title: "a server with resources declares them", Layer: Protocol,
			Requirements: []string{"legacy/resources-capability", "modern/res-capability-declared"},
			Judge: func(c *Case) {
				c.declared("resources", "resources/list", "resources")
				if !c.Has("resources") {
					c.declared("resources", "resources/templates/list", "resourceTemplates")
				}
			},
		},
		{
			ID: "completion-declared", Title: "a server that completes declares completions", Layer: Protocol,
			Requirements: []string{"legacy/completion-capability", "modern/completion-capability-declared"},
			Judge: func(c *Case) {
				if c.Has("completions") {
					c.Saw()
					return
				}
				if s := c.Step("undeclared/completion/complete"); s != nil {
					for _, req := range s.Sent() {
						a := s.Trace.Answer(req)
						switch {
						case a.Failed():
							c.Saw()
						case a.OK() && a.Result.Get("completion") != nil:
							c.Broken(a, "the capability completions", "a completion without it")
						}
					}
				}
			},
		},
		{
			ID: "completion-undeclared-refused", Title: "completion is refused as not found where it is not declared", Layer: Protocol,
			Requirements: []string{"legacy/completion-unsupported", "modern/completion-unsupported-error"},
			Judge: func(c *Case) {
				if c.Has("completions") {
					c.NotApplicable("the server declares completions")
					return
				}
				c.Refused("undeclared/completion/complete", false, -32601)
			},
		},
		{
			ID: "logging-declared", Title: "a server that sends log messages declares logging", Layer: Protocol,
			Requirements: []string{"legacy/logging-capability", "modern/log-capability-declared"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == "notifications/message" && c.Facts.Known() {
						c.want(f, c.Has("logging"), "the capability logging", "a log message without it")
					}
				})
			},
		},
		{
			ID: "list-changed-declared", Title: "list changes are announced by servers that declared so", Layer: Protocol,
			Requirements: []string{"legacy/list-changed-declared"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					for _, area := range []string{"tools", "prompts", "resources"} {
						if f.Method == "notifications/"+area+"/list_changed" && c.Facts.Known() {
							c.want(f, c.Has(area+".listChanged"), "the capability "+area+".listChanged", "the notification without it")
						}
					}
				})
			},
		},
	}
}

// declared judges that a list which has entries belongs to a declared feature.
func (c *Case) declared(capability, method, member string) {
	if c.Has(capability) {
		c.Saw()
		return
	}
	s := c.Step("undeclared/" + method)
	if s == nil {
		return
	}
	for _, req := range s.Sent() {
		a := s.Trace.Answer(req)
		switch {
		case a == nil:
		case a.Failed():
			c.Saw()
		case a.Result.Get(member).Kind() != wire.KindArray:
		default:
			n := 0
			for range a.Result.Get(member).Elems() {
				n++
			}
			if n > 0 {
				c.Broken(a, "the capability "+capability, "entries without it")
			} else {
				c.Saw()
			}
		}
	}
}
