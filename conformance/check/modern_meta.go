package check

import (
	"regexp"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// The metadata that every request of a stateless revision carries, and what
// servers put into _meta themselves.

// gated are methods with the capability that they belong to, each with params
// for which the metadata decides: what else they name does not exist.
var gated = []struct{ method, capability, params string }{
	{"tools/list", "tools", `{}`},
	{"tools/call", "tools", `{"name":"goldwire_no_such_tool","arguments":{}}`},
	{"prompts/list", "prompts", `{}`},
	{"prompts/get", "prompts", `{"name":"goldwire_no_such_prompt"}`},
	{"resources/list", "resources", `{}`},
	{"resources/templates/list", "resources", `{}`},
	{"resources/read", "resources", `{"uri":"goldwire-check:no-such-resource"}`},
	{"completion/complete", "completions", `{"ref":{"type":"ref/prompt","name":"goldwire_no_such_prompt"},"argument":{"name":"x","value":""}}`},
}

// fitting are params that name something that the server has, so that nothing
// but its metadata is wrong with a request; "" where there is nothing harmless.
func (d *Driver) fitting(method string) string {
	switch method {
	case "tools/call":
		for _, t := range d.Facts.Tools {
			if args, sure := Arguments(t.Get("inputSchema")); sure && d.worked(Name(t, "name")) {
				return `{"name":` + quote(Name(t, "name")) + `,"arguments":` + args + `}`
			}
		}
	case "prompts/get":
		for _, p := range d.Facts.Prompts {
			if p.Get("arguments") == nil && Name(p, "name") != "" {
				return `{"name":` + quote(Name(p, "name")) + `}`
			}
		}
	case "resources/read":
		for _, r := range d.Facts.Resources {
			if uri := Name(r, "uri"); uri != "" {
				return `{"uri":` + quote(uri) + `}`
			}
		}
	case "completion/complete":
		for _, p := range d.Facts.Prompts {
			for a := range p.Get("arguments").Elems() {
				return `{"ref":{"type":"ref/prompt","name":` + quote(Name(p, "name")) + `},"argument":{"name":` + quote(Name(a, "name")) + `,"value":""}}`
			}
		}
	}
	return ""
}

// without is the required metadata with one member left out.
func (d *Driver) without(member string) string {
	v := wire.Raw("{" + d.Meta() + "}")
	var parts []string
	for name, value := range v.Members() {
		if name != member {
			parts = append(parts, quote(name)+":"+string(value))
		}
	}
	return strings.Join(parts, ",")
}

// with is the required metadata with one member replaced.
func (d *Driver) with(member, value string) string {
	return joinMembers(d.without(member), quote(member)+":"+value)
}

func modernMetaProbes() []Probe {
	incomplete := []struct {
		step string
		meta func(d *Driver, params string) string // params with the metadata as it is to be
	}{
		{"meta/none", func(_ *Driver, params string) string { return params }},
		{"meta/no-version", func(d *Driver, params string) string { return WithMeta(params, d.without(metaVersion)) }},
		{"meta/no-capabilities", func(d *Driver, params string) string { return WithMeta(params, d.without(metaCaps)) }},
	}
	return []Probe{
		{
			Name: "requests without metadata", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("meta/missing")
				d.Await(
					d.AskWith(d.NextID(), methodDiscover, ""),
					d.AskWith(d.NextID(), methodDiscover, `{}`),
					d.AskWith(d.NextID(), methodDiscover, `{"_meta":{}}`),
				)
				for _, part := range incomplete {
					d.Step(part.step)
					d.Await(d.AskWith(d.NextID(), methodDiscover, part.meta(d, `{}`)))
				}
				for _, part := range incomplete {
					d.Step(strings.Replace(part.step, "meta/", "meta-all/", 1))
					var asked []*Frame
					for _, m := range gated {
						if d.Facts.Has(m.capability) {
							asked = append(asked, d.AskWith(d.NextID(), m.method, part.meta(d, or(d.fitting(m.method), m.params))))
						}
					}
					d.Await(asked...)
				}
			},
		},
		{
			Name: "metadata of wrong types", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("meta/version-type")
				var asked []*Frame
				for _, v := range []string{`20260728`, `null`, `["2026-07-28"]`} {
					asked = append(asked, d.AskWith(d.NextID(), methodDiscover, WithMeta("", d.with(metaVersion, v))))
				}
				d.settle(asked...)
				d.Step("meta/type")
				asked = nil
				for _, v := range []string{`[]`, `"x"`, `null`, `true`} {
					asked = append(asked, d.AskWith(d.NextID(), methodDiscover, WithMeta("", d.with(metaCaps, v))))
				}
				for _, v := range []string{`null`, `[]`, `"x"`} {
					asked = append(asked, d.AskWith(d.NextID(), methodDiscover, `{"_meta":`+v+`}`))
				}
				d.settle(asked...)
			},
		},
		{
			Name: "requests without client information", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("meta/no-client")
				asked := []*Frame{d.AskWith(d.NextID(), methodDiscover, WithMeta("", d.without(metaClient)))}
				for _, l := range Lists {
					if d.Facts.Has(l.Capability) {
						asked = append(asked, d.AskWith(d.NextID(), l.Method, WithMeta("", d.without(metaClient))))
					}
				}
				d.Await(asked...)
			},
		},
	}
}

func modernMetaChecks() []Check {
	return []Check{
		{
			ID: "meta-missing", Title: "a request without metadata is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-rejected"},
			Judge: func(c *Case) {
				c.Refused("meta/missing", false, -32602)
				c.Refused("meta/none", false, -32602)
			},
		},
		{
			ID: "meta-missing-version", Title: "a request that does not say its revision is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-version-rejected"},
			Judge:        func(c *Case) { c.Refused("meta/no-version", false, -32602) },
		},
		{
			ID: "meta-missing-capabilities", Title: "a request that does not say the client's capabilities is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-capabilities-rejected"},
			Judge:        func(c *Case) { c.Refused("meta/no-capabilities", false, -32602) },
		},
		{
			ID: "meta-every-method", Title: "every method refuses incomplete metadata", Layer: Protocol,
			Requirements: []string{"modern/meta-rejected-on-every-method"},
			Judge: func(c *Case) {
				if c.Facts.Known() && !anyOf(c.Facts, "tools", "prompts", "resources", "completions") {
					c.NotApplicable("the server declares no capability with a method of its own")
					return
				}
				for _, step := range []string{"meta-all/none", "meta-all/no-version", "meta-all/no-capabilities"} {
					c.Refused(step, false, -32602)
				}
			},
		},
		{
			ID: "meta-wrong-type", Title: "metadata of the wrong type is refused", Layer: Protocol,
			Requirements: []string{"modern/meta-wrong-type-rejected"},
			Judge: func(c *Case) {
				c.Refused("meta/type", false, -32602)
				s := c.Step("meta/version-type")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					// A version that is no string is no version that the server
					// speaks either: that code is the wrong one, but says so.
					if code, _ := req.Trace.Answer(req).Code(); code == -32022 {
						c.Tolerated(req.Trace.Answer(req), "an error with code -32602", "error code -32022")
						continue
					}
					c.refused(req, false, -32602)
				}
			},
		},
		{
			ID: "meta-client-info-optional", Title: "a request without client information is served", Layer: Protocol,
			Requirements: []string{"modern/meta-client-info-not-required"},
			Judge: func(c *Case) {
				s := c.Step("meta/no-client")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					switch a := c.Answer(req); {
					case a == nil:
					case a.OK():
						c.Saw()
					case len(c.results(req.Method)) == 0:
						c.Blocked(req.Method + " is refused whenever it is asked for")
					default:
						c.Broken(a, "a result, since client information is optional", sayHow(a))
					}
				}
			},
		},
		{
			ID: "meta-server-info", Title: "every result names the server", Layer: Protocol,
			Requirements: []string{"modern/meta-server-info-every-result"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					if r.answer.meta(metaServer) == nil {
						c.Broken(r.answer, metaServer+" in the _meta of the result", "none in the result of "+r.req.Method)
					} else {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "meta-server-info-shape", Title: "server information has a name, a version and nothing malformed", Layer: Protocol,
			Requirements: []string{"modern/meta-server-info-shape"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					info := f.meta(metaServer)
					switch {
					case info == nil:
					case info.Get("name").Kind() != wire.KindString || info.Get("version").Kind() != wire.KindString:
						c.Broken(f, "a name and a version, both strings", text(info))
					case f.Trace.NoSchema:
						c.Saw()
					default:
						c.fits(f, "", c.protocol().Definition("Implementation", info), "server information as the schema has it")
					}
				})
			},
		},
		{
			ID: "meta-key-reserved", Title: "reserved prefixes in _meta are left to the protocol", Layer: Protocol,
			Requirements: []string{"modern/meta-reserved-prefix"},
			Judge: func(c *Case) {
				c.metaKeys(func(f *Frame, key string, _ wire.Raw) {
					switch {
					case reservedKey(key) && !definedKey(key, c.Facts):
						c.Broken(f, "no keys of one's own under a prefix whose second label is mcp or modelcontextprotocol", quote(key))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "meta-key-reverse-dns", Title: "prefixes in _meta are domain names in reverse", Layer: Protocol,
			Requirements: []string{"modern/meta-prefix-reverse-dns"},
			Judge: func(c *Case) {
				c.metaKeys(func(f *Frame, key string, _ wire.Raw) {
					if ok, told := MetaKeyReversed(key); told {
						c.want(f, ok, "a prefix in reverse, as com.example/", quote(key))
					}
				})
			},
		},
		{
			ID: "meta-trace-context", Title: "trace context in _meta has the W3C format", Layer: Protocol,
			Requirements: []string{"modern/meta-trace-context-format", "modern/meta-baggage-format"},
			Judge: func(c *Case) {
				c.metaKeys(func(f *Frame, key string, v wire.Raw) {
					if ok, told := TraceContext(key, v); told {
						c.want(f, ok, "a "+key+" in the format of the W3C", text(v))
					}
				})
			},
		},
	}
}

// topLevel are domains that nobody takes for something else.
var topLevel = map[string]bool{"com": true, "org": true, "net": true, "io": true, "dev": true, "ai": true, "app": true, "edu": true, "gov": true}

var traceFormats = map[string]*regexp.Regexp{
	"traceparent": regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`),
	"tracestate":  regexp.MustCompile(`^[ \t]*([a-z0-9][a-z0-9_\-*/@]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*)?([ \t]*,[ \t]*([a-z0-9][a-z0-9_\-*/@]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*)?)*[ \t]*$`),
	"baggage":     regexp.MustCompile("^[ \\t]*[!#$%&'*+\\-.^_`|~0-9A-Za-z]+[ \\t]*=[^,\"\\\\]*([ \\t]*,[ \\t]*[!#$%&'*+\\-.^_`|~0-9A-Za-z]+[ \\t]*=[^,\"\\\\]*)*$"),
}

// anyOf reports whether one of these capabilities is declared.
func anyOf(f *Facts, capabilities ...string) bool {
	for _, name := range capabilities {
		if f.Has(name) {
			return true
		}
	}
	return false
}

// metaKeys visits the members of every _meta that the server sent.
func (c *Case) metaKeys(visit func(f *Frame, key string, value wire.Raw)) {
	c.eachMeta(func(f *Frame, meta wire.Raw) {
		for key, v := range meta.Members() {
			visit(f, key, v)
		}
	})
}

// reservedKey reports whether the prefix of a key is one that the protocol
// keeps for itself.
func reservedKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	return found && len(labels) > 1 && (labels[1] == "mcp" || labels[1] == "modelcontextprotocol")
}

// definedKey reports whether the protocol defines a reserved key, or may do so
// in an official extension that the server declares.
func definedKey(key string, facts *Facts) bool {
	switch key {
	case metaVersion, metaCaps, metaClient, metaLogLevel, metaServer, metaSub:
		return true
	}
	for ext := range facts.Capabilities.Get("extensions").Members() {
		if strings.HasPrefix(ext, metaPrefix) && strings.HasPrefix(key, metaPrefix) {
			return true
		}
	}
	return false
}
