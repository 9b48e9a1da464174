package check

import (
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

// logLevels are the names of the levels, least severe first.
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func legacyFeatureProbes() []Probe {
	return []Probe{
		{
			Name: "setting log levels", Until: lastLegacy, Profile: Main, Needs: []string{"logging"}, After: []string{"call"},
			Run: func(d *Driver) {
				d.Step("log-level/unknown")
				d.Call("logging/setLevel", `{"level":"verbose"}`)
				d.Call("logging/setLevel", `{"level":"INFO"}`)
				d.Call("logging/setLevel", `{"level":3}`)
				d.Step("log-level/malformed")
				d.Call("logging/setLevel", `{}`)
				d.Step("log-level/set")
				for _, level := range logLevels {
					d.Call("logging/setLevel", `{"level":`+quote(level)+`}`)
				}
				// The last one set is emergency: what is sent from here on has
				// to be one.
				d.Step("log-level/emergency")
				d.Call("tools/list", "")
				for i, t := range d.Facts.Tools {
					name := Name(t, "name")
					args, sure := Arguments(t.Get("inputSchema"))
					if i < 5 && sure && d.MayCall(name) && !d.slow(name) {
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`))
					}
				}
				d.Fence()
			},
		},
		{
			Name: "resource subscription", Until: lastLegacy, Profile: Main, Needs: []string{"resources.subscribe"},
			Run: func(d *Driver) {
				for _, r := range d.Facts.Resources {
					uri, ok := r.Get("uri").Str()
					if !ok {
						continue
					}
					d.Step("subscribe")
					d.Call("resources/subscribe", `{"uri":`+quote(uri)+`}`)
					d.Call("resources/unsubscribe", `{"uri":`+quote(uri)+`}`)
					d.Fence()
					return
				}
			},
		},
		{
			Name: "tools of a client that declares features", Until: lastLegacy, Profile: Declared, Needs: []string{"tools"},
			Run: func(d *Driver) {
				d.Step("declared/roots-changed")
				d.Tell("notifications/roots/list_changed", "")
				d.Fence()
				tools := d.harmlessTools("declared/tools")
				for began, i := time.Now(), 0; i < len(tools) && !enough(i, began); i++ {
					t := tools[i]
					d.Step("declared/call/" + t.name)
					d.Patient(d.Ask("tools/call", t.params))
				}
			},
		},
		{
			Name: "forms that are filled in wrongly", Since: rev2025June, Until: lastLegacy, Profile: Declared, Needs: []string{"tools"},
			Run: func(d *Driver) {
				type form struct{ tool, params, content string }
				var forms []form
				d.View(func(t *Trace) {
					for _, s := range t.steps {
						tool, called := strings.CutPrefix(s.Name, "declared/call/")
						for _, f := range s.Got() {
							bad, ok := misfit(f.Param("requestedSchema"))
							if called && ok && f.Kind == KindRequest && f.Method == "elicitation/create" && len(s.Sent()) > 0 {
								forms = append(forms, form{tool, string(s.Sent()[0].Params), bad})
								break
							}
						}
					}
				})
				for _, f := range forms[:min(maxVariants, len(forms))] {
					d.Step("declared/misfit/" + f.tool)
					d.Reply("elicitation/create", `{"action":"accept","content":`+f.content+`}`)
					d.Patient(d.Ask("tools/call", f.params))
					d.Reply("elicitation/create", "")
				}
			},
		},
	}
}

func legacyFeatureChecks() []Check {
	return []Check{
		{
			ID: "log-level-set", Title: "each log level can be set", Layer: Feature, Needs: []string{"logging"},
			Requirements: []string{"legacy/logging-set-level-result"},
			Judge: func(c *Case) {
				if s := c.Step("log-level/set"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.emptyResult(a)
						}
					}
				}
			},
		},
		{
			ID: "log-level-unknown", Title: "a log level that does not exist is refused", Layer: Feature, Needs: []string{"logging"},
			Requirements: []string{"legacy/logging-invalid-level"},
			Judge:        func(c *Case) { c.refusedLevel("log-level/unknown") },
		},
		{
			ID: "log-level-missing", Title: "setLevel without a level is refused", Layer: Feature, Needs: []string{"logging"},
			Requirements: []string{"legacy/logging-invalid-level"},
			Judge:        func(c *Case) { c.refusedLevel("log-level/malformed") },
		},
		{
			ID: "log-threshold", Title: "nothing below the level that was set is sent", Layer: Feature, Needs: []string{"logging"},
			Requirements: []string{"legacy/logging-threshold"},
			Judge: func(c *Case) {
				set, s := c.Step("log-level/set"), c.Step("log-level/emergency")
				if set == nil || s == nil || slices.ContainsFunc(set.Sent(), c.keptOut) {
					return
				}
				found := false
				for _, f := range s.Got() {
					if level, ok := f.Param("level").Str(); ok && f.Method == "notifications/message" && slices.Contains(logLevels, level) {
						found = true
						c.want(f, level == "emergency", "nothing below emergency", "level "+level)
					}
				}
				// Silence says something about a server that would have logged.
				if !found && s.Trace.fenced(s.from) {
					for f := range s.Trace.all() {
						if f.FromServer && f.Method == "notifications/message" {
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "resource-subscribe", Title: "a resource can be subscribed to and unsubscribed from", Layer: Feature, Needs: []string{"resources.subscribe"},
			Requirements: []string{"legacy/resources-subscribe-works"},
			Judge: func(c *Case) {
				if s := c.Step("subscribe"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.emptyResult(a)
						}
					}
				}
			},
		},
		{
			ID: "updates-only-when-subscribed", Title: "updates of resources go to subscribers only", Layer: Feature,
			Requirements: []string{"legacy/resources-updated-only-if-subscribed"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					subs := map[string]bool{}
					for f := range t.all() {
						uri, _ := f.Param("uri").Str()
						switch {
						case !f.FromServer && f.Method == "resources/subscribe":
							// Kept after unsubscribing: an update may have
							// been on its way.
							subs[uri] = true
						case f.FromServer && f.Method == "notifications/resources/updated":
							known := false
							for s := range subs {
								known = known || strings.HasPrefix(uri, s)
							}
							c.want(f, known, "a subscription to the resource", "an update of "+quote(uri)+" without one")
						}
					}
				}
			},
		},
		{
			ID: "cancel-names-own-request", Title: "the server cancels its own requests only, by their id", Layer: Protocol,
			Requirements: []string{"legacy/cancel-same-direction", "legacy/cancel-request-id-present"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					own := map[string]bool{}
					for f := range t.all() {
						switch {
						case !f.FromServer:
						case f.Kind == KindRequest:
							own[idKey(f.ID)] = true
						case f.Method == "notifications/cancelled":
							id := f.Param("requestId")
							c.want(f, id != nil && own[idKey(id)], "the id of a request of the server", text(id))
						}
					}
				}
			},
		},
		{
			ID: "roots-change-tolerated", Title: "a change of the client's roots does no harm", Layer: Feature,
			Requirements: []string{"legacy/roots-server-change-tolerated"},
			Judge:        func(c *Case) { c.Survived("declared/roots-changed") },
		},
		{
			ID: "server-request-shape", Title: "sampling and elicitation requests fit their schema", Layer: Feature,
			Requirements: []string{"legacy/sampling-request-shape", "legacy/elicit-form-shape"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Kind == KindRequest && (f.Method == "sampling/createMessage" || f.Method == "elicitation/create") {
						c.FitsMessage(f)
					}
				})
			},
		},
		{
			ID: "elicit-schema-flat", Title: "forms ask for single values only", Layer: Feature,
			Requirements: []string{"legacy/elicit-schema-flat"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Kind != KindRequest || f.Method != "elicitation/create" {
						return
					}
					for name, p := range f.Param("requestedSchema").Get("properties").Members() {
						kind, _ := p.Get("type").Str()
						ok := slices.Contains([]string{"string", "number", "integer", "boolean"}, kind) || kind == "array" && c.AtLeast(rev2025November) && (p.Get("items").Get("enum") != nil || p.Get("items").Get("anyOf") != nil) || kind == "" && p.Get("enum") != nil
						c.want(f, ok, "a string, number, integer, boolean or choice", quote(name)+" of type "+text(p.Get("type")))
					}
				})
			},
		},
		{
			ID: "elicit-mode", Title: "only the modes of elicitation that the client declared are used", Layer: Feature,
			Requirements: []string{"legacy/elicit-mode-supported"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Kind != KindRequest || f.Method != "elicitation/create" {
						return
					}
					mode, _ := f.Param("mode").Str()
					caps := f.Trace.ClientCaps.Get("elicitation")
					if mode == "url" {
						c.want(f, caps.Get("url") != nil, "the mode form", "the mode url, which the client did not declare")
					} else if caps != nil {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "elicit-required-error", Title: "the error that asks to visit a URL lists URL elicitations", Layer: Feature,
			Requirements: []string{"legacy/elicit-required-error"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if code, ok := f.Code(); !f.Failed() || !ok || code != -32042 {
						return
					}
					n, bad := 0, false
					for e := range f.Error.Get("data").Get("elicitations").Elems() {
						mode, _ := e.Get("mode").Str()
						n++
						bad = bad || mode != "url"
					}
					if n == 0 || bad {
						c.Broken(f, "data.elicitations with URL elicitations", text(f.Error.Get("data")))
						return
					}
					c.fits(f, "", c.protocol().Definition("URLElicitationRequiredError", f.Value), "an error as URLElicitationRequiredError has it")
				})
			},
		},
		{
			ID: "sampling-tools", Title: "tools are offered for sampling only to clients that declared so", Layer: Feature,
			Requirements: []string{"legacy/sampling-tools-capability"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Kind == KindRequest && f.Method == "sampling/createMessage" {
						used := f.Param("tools") != nil || f.Param("toolChoice") != nil
						c.want(f, !used || f.Trace.ClientCaps.Get("sampling").Get("tools") != nil, "no tools", "tools, which the client did not declare")
					}
				})
			},
		},
		{
			ID: "task-support-values", Title: "taskSupport of a tool is forbidden, optional or required", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-task-support-values"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if v := e.Get("execution").Get("taskSupport"); v != nil {
						s, _ := v.Str()
						c.want(p, slices.Contains([]string{"forbidden", "optional", "required"}, s), "forbidden, optional or required", text(v))
					}
				})
			},
		},
	}
}

// knownElsewhere reports whether a method belongs to some other revision.
func knownElsewhere(method string) bool {
	for _, rev := range revisions {
		if p, err := validate.For(rev); err == nil && p.Knows(method) {
			return true
		}
	}
	return false
}

// refusedLevel judges how levels that do not exist are refused. A server that
// has no setLevel at all says so to every level, which log-level-set tells.
func (c *Case) refusedLevel(step string) {
	known := false
	for _, s := range c.StepsOf("log-level/set") {
		known = known || slices.ContainsFunc(s.Sent(), func(req *Frame) bool {
			code, _ := s.Trace.Answer(req).Code()
			return code != -32601
		})
	}
	if known {
		c.Refused(step, false, -32602)
	}
}
