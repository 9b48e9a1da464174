package check

import (
	"net"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What a stateless revision asks of tools, prompts and resources beyond what
// every revision does.

func modernFeatureProbes() []Probe {
	return []Probe{
		{
			Name: "a tool name in other case", Since: rev2025November, Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				names := map[string]bool{}
				for _, t := range d.Facts.Tools {
					names[Name(t, "name")] = true
				}
				// A server that does not care about case runs the tool: it has
				// to be one that may be called.
				for _, t := range d.Facts.Tools {
					name := Name(t, "name")
					other := swapCase(name)
					if other != name && !names[other] && d.MayCall(name) {
						d.Step("tools/case")
						d.Patient(d.Ask("tools/call", `{"name":`+quote(other)+`,"arguments":{}}`))
						return
					}
				}
			},
		},
		{
			Name: "params of wrong types", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				d.Step("params/cursor-type")
				var asked []*Frame
				for _, l := range Lists {
					if d.Facts.Has(l.Capability) {
						asked = append(asked, d.Ask(l.Method, `{"cursor":5}`))
					}
				}
				d.Await(asked...)
			},
		},
	}
}

func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, s)
}

func modernFeatureChecks() []Check {
	return []Check{
		{
			ID: "tool-name-case", Title: "tool names are told apart by case", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-name-case-sensitive", "modern/tools-name-case-sensitive"},
			Judge: func(c *Case) {
				s := c.Step("tools/case")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					if a := s.Trace.Answer(req); a != nil {
						failed, _ := a.result().Get("isError").Bool()
						c.want(a, a.Failed() || failed, "a refusal of "+text(req.Param("name"))+", which is not listed", sayHow(a))
					}
				}
			},
		},
		{
			ID: "cursor-type", Title: "a cursor that is no string is refused", Layer: Protocol,
			Requirements: []string{"modern/jsonrpc-invalid-params"},
			Judge: func(c *Case) {
				s := c.Step("params/cursor-type")
				if s == nil {
					return
				}
				if len(s.Sent()) == 0 {
					c.NotApplicable("the server declares no lists")
				}
				for _, req := range s.Sent() {
					if !c.refusedAnyway(req) {
						c.refused(req, false, -32602)
					}
				}
			},
		},
		{
			ID: "unknown-resource-refused", Title: "reading a resource that does not exist is refused with -32602", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"modern/res-read-unknown-error", "modern/res-read-no-empty-contents"},
			Judge: func(c *Case) {
				s := c.Step("resources/unknown")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					c.refused(req, false, -32602)
				}
			},
		},
		{
			ID: "header-annotations", Title: "x-mcp-header marks plain parameters by unique header names", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"modern/xhdr-value-token", "modern/xhdr-value-unique", "modern/xhdr-primitive-only", "modern/xhdr-statically-reachable", "modern/xhdr-integer-safe-range"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, tool wire.Raw) {
					seen := map[string]bool{}
					annotations(tool.Get("inputSchema"), true, 0, func(schema, value wire.Raw, reachable bool) {
						name, ok := value.Str()
						kind := schema.Get("type")
						where := " of tool " + text(tool.Get("name"))
						switch {
						case !ok || !headerName.MatchString(name):
							c.Broken(p, "the name of a header as x-mcp-header"+where, text(value))
						case seen[strings.ToLower(name)]:
							c.Broken(p, "each header once"+where, quote(name)+" a second time")
						case !reachable:
							c.Broken(p, "x-mcp-header on properties that are reached through properties alone"+where, quote(name)+" elsewhere")
						case kind.Kind() == wire.KindString && plain(kind) != "integer" && plain(kind) != "string" && plain(kind) != "boolean":
							c.Broken(p, "x-mcp-header on an integer, a string or a boolean"+where, quote(name)+" on a value of type "+text(kind))
						case plain(kind) == "integer" && unsafe(schema) != "":
							c.Broken(p, "integers of at most 2^53-1 for a header"+where, quote(name)+" with "+unsafe(schema))
						default:
							c.Saw()
						}
						seen[strings.ToLower(name)] = true
					})
				})
				c.NotObserved("no tool has a parameter with x-mcp-header")
			},
		},
		{
			ID: "header-annotations-harmless", Title: "secrets are not mirrored into headers", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"modern/xhdr-not-sensitive"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, tool wire.Raw) {
					annotations(tool.Get("inputSchema"), true, 0, func(_, value wire.Raw, _ bool) {
						name := plain(value)
						c.want(p, !secretName.MatchString(name), "no secrets in headers", quote(name)+" of tool "+text(tool.Get("name")))
					})
				})
				c.NotObserved("no tool has a parameter with x-mcp-header")
			},
		},
		{
			ID: "completion-count", Title: "total and hasMore of a completion agree with its values", Layer: Feature, Needs: []string{"completions"}, Soft: true,
			Requirements: []string{"modern/completion-result-shape"},
			Judge: func(c *Case) {
				for _, r := range c.results("completion/complete") {
					done := r.answer.Result.Get("completion")
					n := int64(0)
					for range done.Get("values").Elems() {
						n++
					}
					total, ok := done.Get("total").Int()
					more, _ := done.Get("hasMore").Bool()
					switch {
					case !ok:
					case total < n:
						c.Broken(r.answer, "a total of at least "+plural(int(n), "value"), text(done.Get("total")))
					case total == n && more:
						c.Broken(r.answer, "hasMore false where all values are there", "true")
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "icon-scheme", Title: "icons are published by https or as data", Layer: Feature,
			Requirements: []string{"modern/icons-src-scheme"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					for _, icon := range iconsOf(f) {
						src, ok := icon.Get("src").Str()
						scheme, _, found := strings.Cut(strings.ToLower(src), ":")
						switch {
						case !ok:
						// One page allows http, another one has it refused.
						case found && (scheme == "https" || scheme == "http" || scheme == "data"):
							c.Saw()
						default:
							c.Broken(f, "an icon that clients may load, by https or as data", text(icon.Get("src")))
						}
					}
				})
			},
		},
		{
			ID: "icons-own-origin", Title: "icons come from where the server is", Layer: Feature,
			Requirements: []string{"modern/icons-same-origin"}, Transports: []catalogue.Transport{catalogue.HTTP, catalogue.SSE},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					server, err := url.Parse(f.Trace.Recording.Get(FieldEndpoint))
					if err != nil || server.Host == "" {
						return
					}
					// Whoever tries a server out does so at another place than
					// the one that it is made for.
					local := server.Hostname() == "localhost" || net.ParseIP(server.Hostname()).IsLoopback()
					for _, icon := range iconsOf(f) {
						src, ok := icon.Get("src").Str()
						at, err := url.Parse(src)
						switch {
						case !ok || err != nil: // told of elsewhere
						case at.Host == "":
							c.Saw()
						case local:
						default:
							c.want(f, strings.EqualFold(at.Host, server.Host), "an icon at "+server.Host+", or as data", quote(src))
						}
					}
				})
			},
		},
	}
}

var secretName = regexp.MustCompile(`(?i)^(.*[-_])?(password|passwd|passphrase|secret|api[-_]?key|access[-_]?token|private[-_]?key|ssn|credit[-_]?card|cvv)$`)

// unsafe names the bound or value of an integer schema that a double cannot
// hold exactly, "" for none.
func unsafe(schema wire.Raw) string {
	const most = 1<<53 - 1
	for _, k := range []string{"minimum", "maximum", "const", "default"} {
		if v, ok := schema.Get(k).Float(); ok && (v > most || v < -most) {
			return k + " " + text(schema.Get(k))
		}
	}
	return ""
}

var headerName = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")

// annotations visits the subschemas that carry x-mcp-header. reachable says
// that only properties led there.
func annotations(schema wire.Raw, reachable bool, depth int, visit func(schema, value wire.Raw, reachable bool)) {
	const deepest = 32
	if depth > deepest || schema.Kind() != wire.KindObject {
		return
	}
	if v := schema.Get("x-mcp-header"); v != nil {
		visit(schema, v, reachable && depth > 0)
	}
	for k, sub := range schema.Members() {
		switch k {
		case "properties":
			for _, s := range sub.Members() {
				annotations(s, reachable, depth+1, visit)
			}
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			for _, s := range sub.Members() {
				annotations(s, false, depth+1, visit)
			}
		case "items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains", "propertyNames", "not", "if", "then", "else", "additionalItems":
			annotations(sub, false, depth+1, visit)
			for s := range sub.Elems() {
				annotations(s, false, depth+1, visit)
			}
		case "prefixItems", "allOf", "anyOf", "oneOf":
			for s := range sub.Elems() {
				annotations(s, false, depth+1, visit)
			}
		}
	}
}
