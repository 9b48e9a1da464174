package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Versions, discovery, and what is left of the stateful era.

// strangeVersions are versions that no server speaks.
var strangeVersions = []string{"1900-01-01", "2099-01-01", "v999.0.0", "nonsense"}

// supportedBy are the versions that a server lists in an answer to discovery.
func supportedBy(a *Frame) []string {
	var out []string
	for v := range a.result().Get("supportedVersions").Elems() {
		if s, ok := v.Str(); ok {
			out = append(out, s)
		}
	}
	return out
}

// supported are the versions that the server lists, from the first answer to
// discovery in any of the sessions.
func supported(traces []*Trace) []string {
	for _, t := range traces {
		for f := range t.visit(t.sent) {
			if f.is(methodDiscover) {
				if list := supportedBy(t.Answer(f)); len(list) > 0 {
					return list
				}
			}
		}
	}
	return nil
}

// supported are the versions that the server has listed in this session.
func (d *Driver) supported() (out []string) {
	d.View(func(t *Trace) { out = supported([]*Trace{t}) })
	return out
}

// statelessDate reports whether a version is written as that of a stateless
// revision is.
func statelessDate(v string) bool { return dateForm.MatchString(v) && v >= firstModern }

var dateForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// askVersion sends a request that names a version.
func (d *Driver) askVersion(method, version string) *Frame {
	return d.AskWith(d.NextID(), method, WithMeta("", d.with(metaVersion, quote(version))))
}

// someList is a list that the server has, or discovery.
func someList(f *Facts) string {
	for _, l := range Lists {
		if f.Has(l.Capability) {
			return l.Method
		}
	}
	return methodDiscover
}

func modernVersionProbes() []Probe {
	return []Probe{
		{
			Name: "unsupported versions", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				ask := func(step string, versions ...string) {
					d.Step(step)
					var asked []*Frame
					for _, v := range versions {
						if !slices.Contains(d.supported(), v) {
							asked = append(asked, d.askVersion(methodDiscover, v), d.askVersion(someList(d.Facts), v))
						}
					}
					d.Await(asked...)
				}
				ask("version/unsupported", strangeVersions...)
				if d.http == nil { // no header can repeat an empty version
					ask("version/empty", "")
				}
				ask("version/known-old", slices.DeleteFunc(Revisions(), Modern)...)
			},
		},
		{
			Name: "supported versions", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("version/listed")
				var asked []*Frame
				for _, v := range d.supported() {
					if statelessDate(v) {
						asked = append(asked, d.askVersion(methodDiscover, v))
					}
				}
				d.Await(asked...)
				d.Step("version/sequence")
				for _, v := range []string{d.Revision(), strangeVersions[1], d.Revision()} {
					d.Await(d.askVersion(methodDiscover, v))
				}
			},
		},
	}
}

func modernEraProbes() []Probe {
	return []Probe{
		{
			// Last, since a server may take one of them for the start of a
			// session of the other era.
			Name: "methods of earlier revisions", Since: firstModern, Profile: Main, Rough: true,
			Run: func(d *Driver) {
				d.Step("era/removed")
				asked := []*Frame{
					d.Ask("ping", ""),
					d.Ask("logging/setLevel", `{"level":"error"}`),
					d.Ask("resources/subscribe", `{"uri":"goldwire-check:no-such-resource"}`),
					d.Ask("resources/unsubscribe", `{"uri":"goldwire-check:no-such-resource"}`),
					d.Ask("roots/list", ""),
					d.Ask("sampling/createMessage", `{"messages":[],"maxTokens":1}`),
					d.Ask("elicitation/create", `{"message":"x","requestedSchema":{"type":"object","properties":{}}}`),
				}
				if d.Facts.Capabilities.Get("extensions") == nil {
					asked = append(asked, d.Ask("tasks/list", ""), d.Ask("tasks/result", `{"taskId":"goldwire-no-such-task"}`))
				}
				d.Await(asked...)
				d.Step("era/initialize")
				d.Await(d.Ask("initialize", d.Hello(lastLegacy)))
			},
		},
	}
}

func modernVersionChecks() []Check {
	return []Check{
		{
			ID: "both-eras", Title: "a server of both eras treats requests of this one by this one", Layer: Protocol,
			Requirements: []string{"modern/era-dual-modern-stays-stateless"},
			Judge: func(c *Case) {
				if !c.dual() {
					c.NotApplicable("the server has no handshake")
					return
				}
				for _, r := range c.results(methodDiscover, "tools/list", "prompts/list", "resources/list") {
					missing := ""
					for _, m := range []string{"resultType", "ttlMs", "cacheScope"} {
						if r.answer.Result.Get(m) == nil {
							missing = m
						}
					}
					c.want(r.answer, missing == "", "what results of this revision carry", "no "+missing)
				}
			},
		},
		{
			ID: "discover-served", Title: "discovery is there", Layer: Protocol,
			Requirements: []string{"modern/discover-implemented"},
			Judge: func(c *Case) {
				if s := c.Step("open"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK(), "a result", sayHow(a))
						}
					}
				}
			},
		},
		{
			ID: "discover-versions", Title: "discovery lists the versions of the server", Layer: Protocol,
			Requirements: []string{"modern/discover-supported-versions"},
			Judge: func(c *Case) {
				for _, r := range c.results(methodDiscover) {
					list := r.answer.Result.Get("supportedVersions")
					names := supportedBy(r.answer)
					n := 0
					for range list.Elems() {
						n++
					}
					switch {
					case list.Kind() != wire.KindArray || n == 0 || n != len(names):
						c.Broken(r.answer, "a list of strings as supportedVersions", text(list))
					case !slices.Contains(names, c.Revision):
						c.Broken(r.answer, "the version of the request, "+c.Revision+", among them, as it was accepted", text(list))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "discover-capabilities", Title: "discovery gives the capabilities of the server", Layer: Protocol,
			Requirements: []string{"modern/discover-capabilities"},
			Judge: func(c *Case) {
				for _, r := range c.results(methodDiscover) {
					caps := r.answer.Result.Get("capabilities")
					c.want(r.answer, caps.Kind() == wire.KindObject, "an object as capabilities", text(caps))
				}
			},
		},
		{
			ID: "discover-shape", Title: "the result of discovery fits its schema", Layer: Protocol,
			Requirements: []string{"modern/discover-result-schema"},
			Judge: func(c *Case) {
				for _, r := range c.results(methodDiscover) {
					if r.answer.Result.Get("capabilities") != nil && r.answer.Result.Get("supportedVersions") != nil {
						c.FitsResult(r.answer, methodDiscover)
					}
				}
			},
		},
		{
			ID: "extension-identifiers", Title: "extensions are named by prefix and name", Layer: Protocol,
			Requirements: []string{"modern/ext-identifier-syntax"},
			Judge: func(c *Case) {
				c.extensions(func(f *Frame, key string, _ wire.Raw) {
					c.want(f, metaKey.MatchString(key) && strings.Contains(key, "/"), "an identifier of the form prefix/name", quote(key))
				})
			},
		},
		{
			ID: "extension-settings", Title: "the settings of an extension are an object", Layer: Protocol,
			Requirements: []string{"modern/ext-settings-object"},
			Judge: func(c *Case) {
				c.extensions(func(f *Frame, key string, v wire.Raw) {
					c.want(f, v.Kind() == wire.KindObject, "an object for "+quote(key), text(v))
				})
			},
		},
		{
			ID: "version-unsupported-refused", Title: "a version that the server does not speak is refused", Layer: Protocol,
			Requirements: []string{"modern/version-unsupported-rejected"},
			Judge: func(c *Case) {
				for _, s := range slices.Concat(c.StepsOf("version/unsupported"), c.stepsOf("version/empty")) {
					for _, req := range s.Sent() {
						if s.Trace.refusedByStatus(req) {
							c.Saw() // without the right error, which is another matter
						} else if a := c.Answer(req); a != nil {
							c.want(a, a.Failed(), "an error", sayHow(a))
						}
					}
				}
			},
		},
		{
			ID: "version-unsupported-code", Title: "the refusal of a version has the code -32022", Layer: Protocol,
			Requirements: []string{"modern/version-unsupported-code"},
			Judge: func(c *Case) {
				c.versions(func(_, a *Frame, version string) {
					code, ok := a.Code()
					switch {
					case !a.Failed():
					case ok && code == -32022:
						c.Saw()
					case version == "" && code == -32602:
						c.Tolerated(a, "an error with code -32022, since the version is there, only empty", "error code -32602")
					default:
						c.Broken(a, "an error with code -32022", sayHow(a))
					}
				}, "version/unsupported", "version/empty")
			},
		},
		{
			ID: "version-unsupported-list", Title: "the refusal of a version names those that the server speaks", Layer: Protocol,
			Requirements: []string{"modern/version-unsupported-supported-list"},
			Judge: func(c *Case) {
				c.refusedVersions(func(_, a *Frame) {
					list, n, strs := a.Error.Get("data").Get("supported"), 0, 0
					for v := range list.Elems() {
						n++
						if v.Kind() == wire.KindString {
							strs++
						}
					}
					c.want(a, n > 0 && n == strs, "a list of strings as data.supported", text(list))
				})
			},
		},
		{
			ID: "version-requested-echo", Title: "the refusal of a version repeats it", Layer: Protocol,
			Requirements: []string{"modern/version-unsupported-requested-echo"},
			Judge: func(c *Case) {
				c.refusedVersions(func(req, a *Frame) {
					got, want := a.Error.Get("data").Get("requested"), req.meta(metaVersion)
					if want.Kind() == wire.KindString {
						c.want(a, got != nil && wire.Equal(got, want), "the version "+text(want)+" as data.requested", text(got))
					}
				})
			},
		},
		{
			ID: "version-lists-agree", Title: "refusals and discovery list the same versions", Layer: Protocol,
			Requirements: []string{"modern/version-supported-matches-discover"},
			Judge: func(c *Case) {
				// Whether legacy dates belong into these lists is open, and
				// they may stand in one and not in the other.
				stateless := func(list []string) []string {
					out := slices.DeleteFunc(slices.Clone(list), func(v string) bool { return dateForm.MatchString(v) && v < firstModern })
					slices.Sort(out)
					return slices.Compact(out)
				}
				known := stateless(supported(c.Traces()))
				c.refusedVersions(func(_, a *Frame) {
					var list []string
					for v := range a.Error.Get("data").Get("supported").Elems() {
						list = append(list, plain(v))
					}
					if len(list) > 0 && len(known) > 0 {
						c.want(a, slices.Equal(stateless(list), known), "the versions that discovery lists: "+strings.Join(known, ", "), strings.Join(list, ", "))
					}
				})
			},
		},
		{
			ID: "version-known-old", Title: "an earlier revision that is not listed is refused too", Layer: Protocol,
			Requirements: []string{"modern/version-unsupported-on-known-old"},
			Judge: func(c *Case) {
				s := c.Step("version/known-old")
				if s == nil {
					return
				}
				if len(s.Sent()) == 0 {
					c.NotApplicable("the server lists the earlier revisions as well")
				}
				c.Refused("version/known-old", false, -32022)
			},
		},
		{
			ID: "version-listed-served", Title: "every listed version is accepted", Layer: Protocol,
			Requirements: []string{"modern/version-advertised-is-served"},
			Judge: func(c *Case) {
				c.versions(func(_, a *Frame, version string) {
					c.want(a, a.OK(), "a result for "+version+", which the server lists", sayHow(a))
				}, "version/listed")
			},
		},
		{
			ID: "version-per-request", Title: "each request is judged by the version that it names itself", Layer: Protocol,
			Requirements: []string{"modern/stateless-version-per-request"},
			Judge: func(c *Case) {
				c.versions(func(req, a *Frame, version string) {
					if version == c.Revision {
						c.want(a, a.OK(), "a result, whatever the request before it named", sayHow(a))
					} else {
						c.want(a, a.Failed(), "a refusal, whatever the request before it named", sayHow(a))
					}
				}, "version/sequence")
			},
		},
		{
			ID: "removed-methods", Title: "methods of earlier revisions do not exist", Layer: Protocol,
			Requirements: []string{"modern/era-removed-methods-not-found"},
			Judge: func(c *Case) {
				c.Refused("era/removed", false, -32601)
				c.Refused("era/initialize", false, -32601)
			},
		},
		{
			ID: "initialize-no-modern-version", Title: "a handshake agrees on no stateless revision", Layer: Protocol,
			Requirements: []string{"modern/era-legacy-version-not-in-initialize-result"},
			Judge: func(c *Case) {
				c.agreed(func(a *Frame, version string) {
					c.want(a, !statelessDate(version) || version != c.Revision, "a revision that has a handshake", version)
				})
			},
		},
		{
			ID: "initialize-known-version", Title: "a handshake agrees on a version that there is", Layer: Protocol,
			Requirements: []string{"modern/era-dual-initialize-selects-legacy"},
			Judge: func(c *Case) {
				c.agreed(func(a *Frame, version string) {
					c.want(a, !madeUp(version), "a revision of the protocol that has a handshake", version)
				})
			},
		},
		{
			ID: "initialize-answered", Title: "a server without handshakes answers initialize by an error", Layer: Protocol,
			Requirements: []string{"modern/era-modern-only-initialize-stdio"},
			Judge: func(c *Case) {
				c.handshakes(func(req *Frame) {
					a := req.Trace.Answer(req)
					switch {
					case a != nil:
						c.want(a, a.Failed(), "an error", sayHow(a))
					case req.Trace.fate(req) == fateDied:
						c.Broken(req, "an error", "none: "+req.Trace.broke().how)
					case req.Trace.answeredAfter(req):
						c.Broken(req, "an error", "nothing, although the server answered a later request")
					}
				})
			},
		},
		{
			ID: "initialize-names-versions", Title: "the error for initialize names the versions of the server", Layer: Protocol,
			Requirements: []string{"modern/era-modern-only-initialize-names-versions"},
			Judge: func(c *Case) {
				known := supported(c.Traces())
				c.handshakes(func(req *Frame) {
					a := req.Trace.Answer(req)
					if !a.Failed() || len(known) == 0 {
						return
					}
					all := plain(a.Error.Get("message")) + " " + string(a.Error.Get("data"))
					c.want(a, slices.ContainsFunc(known, func(v string) bool { return strings.Contains(all, v) }),
						"one of the versions that the server speaks in the message or the data", text(a.Error))
				})
			},
		},
	}
}

// agreed visits the results that initialize had when the target was asked what
// it speaks, with the version that each of them names.
func (c *Case) agreed(visit func(a *Frame, version string)) {
	for _, t := range c.offered() {
		for req := range t.visit(t.sent) {
			if a := t.Answer(req); req.Method == "initialize" && req.meta(metaVersion) == nil && a.OK() {
				visit(a, plain(a.Result.Get("protocolVersion")))
			}
		}
	}
	c.NotObserved("the server answers no handshake")
}

// madeUp reports whether a server that names a version means one that there was
// never: no revision, no draft of one, and no date before the first or after the
// last that has a handshake.
func madeUp(v string) bool {
	switch {
	case slices.Contains(revisions, v), strings.Contains(strings.ToLower(v), "draft"):
		return false
	case dateForm.MatchString(v):
		return v > firstLegacy && v < firstModern
	}
	return v != ""
}

// answeredAfter reports whether a request that was sent after req was answered.
func (t *Trace) answeredAfter(req *Frame) bool {
	return slices.ContainsFunc(between(t.sent, req.Index+1, -1), func(f *Frame) bool { return f.Kind == KindRequest && t.Answer(f) != nil })
}

// versions visits the answered requests of these steps with the version that
// each of them names.
func (c *Case) versions(visit func(req, a *Frame, version string), steps ...string) {
	for _, name := range steps {
		s := c.Step(name)
		if s == nil {
			continue
		}
		for _, req := range s.Sent() {
			if a := c.Answer(req); a != nil {
				visit(req, a, plain(req.meta(metaVersion)))
			}
		}
	}
}

// refusedVersions visits every error with the code for unsupported versions.
func (c *Case) refusedVersions(visit func(req, a *Frame)) {
	c.each(func(a *Frame) {
		if code, ok := a.Code(); ok && code == -32022 && a.Failed() {
			if req := a.Trace.Request(a); req != nil {
				visit(req, a)
			}
		}
	})
}

// extensions visits the extensions that the server declares.
func (c *Case) extensions(visit func(f *Frame, key string, settings wire.Raw)) {
	if c.Facts.Known() && c.Facts.Capabilities.Get("extensions") == nil {
		c.NotApplicable("the server declares no extensions")
		return
	}
	for _, r := range c.results(methodDiscover) {
		for key, v := range r.answer.Result.Get("capabilities").Get("extensions").Members() {
			visit(r.answer, key, v)
		}
	}
}

// handshakes visits the offers of a handshake that were made to a server which
// accepted none.
func (c *Case) handshakes(visit func(req *Frame)) {
	var offers []*Frame
	for _, t := range c.offered() {
		for req := range t.visit(t.sent) {
			if req.Method != "initialize" || req.meta(metaVersion) != nil {
				continue
			}
			if t.Answer(req).OK() {
				c.NotApplicable("the server has handshakes too")
				return
			}
			offers = append(offers, req)
		}
	}
	for _, req := range offers {
		visit(req)
	}
}
