package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// maxPages bounds how far a list is walked.
const maxPages = 200

func listProbes() []Probe {
	var out []Probe
	for _, l := range Lists {
		out = append(out, Probe{Name: l.Method, Profile: Main, Needs: []string{l.Capability}, Run: func(d *Driver) {
			d.Step(l.Method)
			first := ""
			seen := map[string]bool{}
			params := ""
			for range maxPages {
				a := d.Call(l.Method, params)
				next, more := a.result().Get("nextCursor").Str()
				if !more || seen[next] {
					break
				}
				if first == "" {
					first = params
				}
				seen[next] = true
				params = `{"cursor":` + quote(next) + `}`
				if first == "" {
					first = params
				}
			}
			if first != "" {
				d.Step("cursor/twice/" + l.Method)
				d.Call(l.Method, first)
				d.Call(l.Method, first)
			}
		}})
	}
	for _, l := range Lists {
		out = append(out, Probe{Name: l.Method + " with a bad cursor", Profile: Main, Needs: []string{l.Capability}, Run: func(d *Driver) {
			d.Step("cursor/bad/" + l.Method)
			d.Call(l.Method, `{"cursor":"goldwire-no-such-cursor"}`)
		}})
	}
	return out
}

func listChecks() []Check {
	return []Check{
		{
			ID: "lists-walk", Title: "following the cursors of a list comes to an end and repeats no entry", Layer: Protocol,
			Requirements: []string{"legacy/pagination-operations", "modern/page-walk-terminates"},
			Judge: func(c *Case) {
				c.walks(func(method, member, key string, pages []*Frame) {
					cursors, names := map[string]bool{}, map[string]bool{}
					for _, p := range pages {
						if next, ok := p.Result.Get("nextCursor").Str(); ok {
							if cursors[next] {
								c.Broken(p, "a cursor that leads on", "the cursor "+quote(next)+" a second time")
							}
							cursors[next] = true
						}
						for e := range p.Result.Get(member).Elems() {
							name := Name(e, key)
							if names[name] && len(pages) > 1 {
								c.Broken(p, "each entry once", quote(name)+" twice")
							}
							names[name] = true
						}
						if p.Result.Get(member).Kind() == wire.KindArray {
							c.Saw()
						}
					}
				})
			},
		},
		{
			ID: "tools-list-answered", Title: "a server that declares tools lists them", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-list-shape", "modern/tools-list-answered"},
			Judge:        func(c *Case) { c.listAnswered("tools/list") },
		},
		{
			ID: "prompts-list-answered", Title: "a server that declares prompts lists them", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-list-shape", "modern/prompts-list-answered"},
			Judge:        func(c *Case) { c.listAnswered("prompts/list") },
		},
		{
			ID: "resources-list-answered", Title: "a server that declares resources lists them", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-list-shape", "modern/res-list-answered"},
			Judge:        func(c *Case) { c.listAnswered("resources/list") },
		},
		{
			ID: "cursor-string", Title: "nextCursor is a string, or absent", Layer: Protocol,
			Requirements: []string{"legacy/pagination-cursor-type", "modern/page-next-cursor-string"},
			Judge: func(c *Case) {
				for _, l := range Lists {
					c.Results(l.Method, func(_, a *Frame) {
						if next := a.Result.Get("nextCursor"); next != nil {
							c.want(a, next.Kind() == wire.KindString, "a string as nextCursor, or none", text(next))
						} else if a.Result.Get(l.Member) != nil {
							c.Saw()
						}
					})
				}
			},
		},
		{
			ID: "cursor-stable", Title: "a cursor leads to the same page each time", Layer: Protocol,
			Requirements: []string{"legacy/pagination-stable-cursors", "modern/page-stable-cursor"},
			Judge: func(c *Case) {
				for _, l := range Lists {
					for _, s := range c.StepsOf("cursor/twice/" + l.Method) {
						sent := s.Sent()
						if len(sent) != 2 {
							continue
						}
						one, two := c.Answer(sent[0]), c.Answer(sent[1])
						if one == nil || two == nil {
							continue
						}
						keys := func(a *Frame) []string {
							var out []string
							for e := range a.result().Get(l.Member).Elems() {
								out = append(out, Name(e, l.Key))
							}
							return out
						}
						c.want(two, one.OK() == two.OK() && slices.Equal(keys(one), keys(two)), "the same page for the same cursor", "another one")
					}
				}
			},
		},
		{
			ID: "bad-cursor-refused", Title: "a cursor that the server never gave is refused", Layer: Protocol,
			Requirements: []string{"legacy/pagination-invalid-cursor", "modern/page-invalid-cursor-rejected"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("cursor/bad/") {
					for _, req := range s.Sent() {
						if !c.refusedAnyway(req) {
							c.refused(req, false, -32602)
						}
					}
				}
			},
		},
		{
			ID: "tools-list-shape", Title: "the list of tools fits its schema", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-list-shape", "modern/tools-name-present"},
			Judge:        func(c *Case) { c.listShape("tools/list") },
		},
		{
			ID: "prompts-list-shape", Title: "the list of prompts fits its schema", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-list-shape", "modern/prompts-entry-fields"},
			Judge:        func(c *Case) { c.listShape("prompts/list") },
		},
		{
			ID: "resources-list-shape", Title: "the list of resources fits its schema", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-list-shape", "modern/res-entry-fields"},
			Judge:        func(c *Case) { c.listShape("resources/list") },
		},
		{
			ID: "templates-list-shape", Title: "the list of resource templates fits its schema", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-templates-shape", "modern/res-template-rfc6570"},
			Judge:        func(c *Case) { c.listShape("resources/templates/list") },
		},
		{
			ID: "prompt-names-unique", Title: "no two prompts have the same name", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-name-unique"},
			Judge:        func(c *Case) { c.unique("prompts/list") },
		},
		{
			ID: "tool-names-unique", Title: "no two tools have the same name", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"modern/tools-name-unique"},
			Judge:        func(c *Case) { c.unique("tools/list") },
		},
		{
			ID: "resource-uris", Title: "listed resources have absolute URIs, each once", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-uri-valid", "legacy/resources-custom-scheme-rfc3986", "modern/res-uri-rfc3986"},
			Judge: func(c *Case) {
				c.unique("resources/list")
				c.walks(func(method, member, key string, pages []*Frame) {
					if method != "resources/list" {
						return
					}
					for _, p := range pages {
						for e := range p.Result.Get(member).Elems() {
							if uri, ok := e.Get("uri").Str(); ok {
								c.want(p, absoluteURI(uri), "an absolute URI", quote(uri))
							}
						}
					}
				})
			},
		},
		{
			ID: "resource-templates", Title: "listed URI templates follow RFC 6570", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-template-rfc6570", "modern/res-template-rfc6570"},
			Judge: func(c *Case) {
				c.walks(func(method, member, key string, pages []*Frame) {
					if method != "resources/templates/list" {
						return
					}
					for _, p := range pages {
						for e := range p.Result.Get(member).Elems() {
							if tmpl, ok := e.Get("uriTemplate").Str(); ok {
								why := templateFault(tmpl)
								c.want(p, why == "", "a URI template", quote(tmpl)+": "+why)
							}
						}
					}
				})
			},
		},
		{
			ID: "tool-name-length", Title: "tool names have 1 to 128 characters", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-name-length", "modern/tools-name-length"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if name, ok := e.Get("name").Str(); ok {
						c.want(p, name != "" && len(name) <= 128, "1 to 128 characters", quote(name))
					}
				})
			},
		},
		{
			ID: "tool-name-characters", Title: "tool names use letters, digits, underscore, hyphen and dot only", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-name-charset", "modern/tools-name-characters"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if name, ok := e.Get("name").Str(); ok && name != "" {
						c.want(p, toolName.MatchString(name), "letters, digits, _, - and . only", quote(name))
					}
				})
			},
		},
	}
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// walks calls fn with the pages of each list that was read.
func (c *Case) walks(fn func(method, member, key string, pages []*Frame)) {
	for _, l := range Lists {
		if !c.Has(l.Capability) {
			continue
		}
		s := c.Step(l.Method)
		if s == nil {
			continue
		}
		var pages []*Frame
		for _, req := range s.Sent() {
			if a := s.Trace.Answer(req); a.OK() {
				pages = append(pages, a)
			}
		}
		if len(pages) > 0 {
			fn(l.Method, l.Member, l.Key, pages)
		}
	}
}

func (c *Case) eachEntry(method string, fn func(page *Frame, entry wire.Raw)) {
	c.walks(func(m, member, _ string, pages []*Frame) {
		if m != method {
			return
		}
		for _, p := range pages {
			for e := range p.Result.Get(member).Elems() {
				fn(p, e)
			}
		}
	})
}

// refusedAnyway reports whether a list is refused in the same way when nothing
// is wrong with the request, as where what it is made from cannot be reached.
func (c *Case) refusedAnyway(req *Frame) bool {
	proper, _ := c.control(req.Method)
	same := sameRefusal(req.Trace.Answer(req), proper)
	if same {
		c.NotObserved(req.Method + " is refused in the same way whenever it is asked for")
	}
	return same
}

// listAnswered judges that the first page of a list was given. In the stateful
// revisions nothing says so in so many words: there a refusal is told only.
func (c *Case) listAnswered(method string) {
	s := c.Step(method)
	if s == nil {
		return
	}
	for _, req := range s.Sent()[:min(1, len(s.Sent()))] {
		switch a := c.Answer(req); {
		case a == nil:
		case a.Failed() && !c.Modern():
			c.Tolerated(a, "a list, possibly empty", outcome(a))
		default:
			c.want(a, a.OK(), "a list, possibly empty", outcome(a))
		}
	}
}

func (c *Case) listShape(method string) {
	s := c.Step(method)
	if s == nil {
		return
	}
	for _, req := range s.Sent() {
		if a := s.Trace.Answer(req); a.OK() {
			c.FitsResult(a, method)
		}
	}
}

func (c *Case) unique(method string) {
	c.walks(func(m, member, key string, pages []*Frame) {
		if m != method {
			return
		}
		seen := map[string]bool{}
		for _, p := range pages {
			for e := range p.Result.Get(member).Elems() {
				name, ok := e.Get(key).Str()
				if !ok {
					continue
				}
				c.want(p, !seen[name], "each "+key+" once", quote(name)+" twice")
				seen[name] = true
			}
		}
	})
}

var uriSyntax = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$`)

// absoluteURI reports whether s has the characters and the scheme of a URI.
// Characters outside ASCII are let through: those of an IRI are a common and
// harmless habit.
func absoluteURI(s string) bool {
	ascii := strings.Map(func(r rune) rune {
		if r > 0x7f {
			return 'a'
		}
		return r
	}, s)
	return uriSyntax.MatchString(ascii)
}

var (
	templateExpr = regexp.MustCompile(`^[+#./;?&=,!@|]?(([A-Za-z0-9_]|%[0-9A-Fa-f]{2})(\.?([A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(\*|:[1-9][0-9]{0,3})?)(,([A-Za-z0-9_]|%[0-9A-Fa-f]{2})(\.?([A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*(\*|:[1-9][0-9]{0,3})?)*$`)
	templateText = regexp.MustCompile("^[^\\x00-\\x20\"<>\\\\^`|{}\\x7f]*$")
)

// templateFault says what is wrong with a URI template, "" for nothing.
func templateFault(s string) string {
	for {
		open := strings.IndexByte(s, '{')
		literal := s
		if open >= 0 {
			literal = s[:open]
		}
		if strings.ContainsRune(literal, '}') {
			return "a closing brace without an opening one"
		}
		if !templateText.MatchString(literal) {
			return "a character that no URI has"
		}
		if open < 0 {
			return ""
		}
		end := strings.IndexByte(s[open:], '}')
		if end < 0 {
			return "an opening brace without a closing one"
		}
		if expr := s[open+1 : open+end]; !templateExpr.MatchString(expr) {
			return "the expression {" + expr + "}"
		}
		s = s[open+end+1:]
	}
}
