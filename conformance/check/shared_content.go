package check

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/runtime/wire"
)

// How many prompts, resources and completions are asked for.
const (
	maxPrompts     = 20
	maxResources   = 20
	maxCompletions = 4
)

// promptArgs gives an argument object with a text for each required argument,
// and the name of the first one.
func promptArgs(prompt wire.Raw) (args, first string) {
	var parts []string
	for a := range prompt.Get("arguments").Elems() {
		name := Name(a, "name")
		if required, _ := a.Get("required").Bool(); required && name != "" {
			if first == "" {
				first = name
			}
			value := "test"
			if lower := strings.ToLower(name); strings.Contains(lower, "uri") || strings.Contains(lower, "url") {
				value = "https://example.com/"
			}
			parts = append(parts, quote(name)+":"+quote(value))
		}
	}
	return "{" + strings.Join(parts, ",") + "}", first
}

func contentProbes() []Probe {
	return []Probe{
		{
			Name: "prompts", Profile: Main, Needs: []string{"prompts"},
			Run: func(d *Driver) {
				for i, p := range d.Facts.Prompts {
					name, ok := p.Get("name").Str()
					if !ok || i >= maxPrompts {
						continue
					}
					args, _ := promptArgs(p)
					d.Step("prompt/" + name)
					d.Call("prompts/get", `{"name":`+quote(name)+`,"arguments":`+args+`}`)
				}
			},
		},
		{
			Name: "unknown and incomplete prompts", Profile: Main, Needs: []string{"prompts"},
			Run: func(d *Driver) {
				d.Step("prompts/unknown")
				d.Call("prompts/get", `{"name":"goldwire_no_such_prompt","arguments":{}}`)
				d.Step("prompts/malformed")
				d.Call("prompts/get", `{"arguments":{}}`)
				n := 0
				for _, p := range d.Facts.Prompts {
					name := Name(p, "name")
					if _, first := promptArgs(p); first != "" && n < 3 {
						n++
						d.Step("prompts/missing/" + name)
						d.Call("prompts/get", `{"name":`+quote(name)+`,"arguments":{}}`)
						d.Step("prompts/wrong/" + name)
						d.Call("prompts/get", `{"name":`+quote(name)+`,"arguments":{`+quote(first)+`:{"a":[5]}}}`)
					}
				}
			},
		},
		{
			Name: "resources", Profile: Main, Needs: []string{"resources"},
			Run: func(d *Driver) {
				for i, r := range d.Facts.Resources {
					if uri, ok := r.Get("uri").Str(); ok && i < maxResources {
						d.Step("read/" + uri)
						d.Call("resources/read", `{"uri":`+quote(uri)+`}`)
					}
				}
			},
		},
		{
			Name: "unknown resources", Profile: Main, Needs: []string{"resources"},
			Run: func(d *Driver) {
				d.Step("resources/unknown")
				d.Call("resources/read", `{"uri":"goldwire://no/such/resource"}`)
				d.Step("resources/malformed")
				d.Call("resources/read", `{}`)
				d.Step("resources/odd")
				long := 100_000
				if d.http != nil && Modern(d.rev) {
					long = 4_000 // it is repeated in a header, and those may be bounded
				}
				for _, uri := range []string{"", "not a uri", "file:///../../../../../../etc/passwd", "goldwire://" + strings.Repeat("a", long)} {
					d.Call("resources/read", `{"uri":`+quote(uri)+`}`)
				}
			},
		},
		{
			Name: "completion", Profile: Main, Needs: completions,
			Run: func(d *Driver) {
				n := 0
				for _, p := range d.Facts.Prompts {
					for a := range p.Get("arguments").Elems() {
						if n++; n > maxCompletions {
							break
						}
						ref := `{"ref":{"type":"ref/prompt","name":` + string(p.Get("name")) + `},"argument":{"name":` + string(a.Get("name")) + `,"value":""}`
						d.complete("prompt/"+Name(p, "name")+"/"+Name(a, "name"), ref)
					}
				}
				n = 0
				for _, t := range d.Facts.Templates {
					tmpl := Name(t, "uriTemplate")
					for _, v := range templateVars(tmpl) {
						if n++; n > maxCompletions {
							break
						}
						d.complete("template/"+tmpl+"/"+v, `{"ref":{"type":"ref/resource","uri":`+quote(tmpl)+`},"argument":{"name":`+quote(v)+`,"value":""}`)
					}
				}
			},
		},
		{
			Name: "unknown and incomplete completions", Profile: Main, Needs: completions,
			Run: func(d *Driver) {
				d.Step("complete-unknown")
				d.Call("completion/complete", `{"ref":{"type":"ref/prompt","name":"goldwire_no_such_prompt"},"argument":{"name":"a","value":""}}`)
				d.Step("complete-malformed")
				known := "goldwire_no_such_prompt"
				for _, p := range d.Facts.Prompts {
					if p.Get("arguments") != nil && Name(p, "name") != "" {
						known = Name(p, "name")
						break
					}
				}
				d.Call("completion/complete", `{"ref":{"type":"ref/prompt","name":`+quote(known)+`}}`)
				d.Call("completion/complete", `{"argument":{"name":"a","value":""}}`)
				d.Step("complete-odd")
				for _, p := range d.Facts.Prompts {
					for a := range p.Get("arguments").Elems() {
						for _, value := range []string{quote(strings.Repeat("a", 100_000)), quote("\x00\x1b\n"), `{"a":1}`} {
							d.Call("completion/complete", `{"ref":{"type":"ref/prompt","name":`+string(p.Get("name"))+`},"argument":{"name":`+string(a.Get("name"))+`,"value":`+value+`}}`)
						}
						d.Fence()
						return
					}
				}
			},
		},
		{
			Name: "cancellation", Profile: Main,
			Run: func(d *Driver) {
				d.Step("cancel/unknown")
				d.Tell("notifications/cancelled", `{"requestId":"goldwire-unknown","reason":"a probe"}`)
				d.Tell("notifications/cancelled", `{"requestId":987654321}`)
				d.Tell("notifications/cancelled", `{}`)
				d.Tell("notifications/cancelled", "")
				d.Fence()
				d.Step("cancel/late")
				f := d.Ask(d.cheap(), "")
				d.Await(f)
				if f != nil {
					d.Tell("notifications/cancelled", `{"requestId":`+string(f.ID)+`}`)
				}
				d.Fence()
				d.Step("cancel/race")
				for range 10 {
					id := d.NextID()
					d.Lines(RequestText(id, d.cheap(), d.withMeta("")), NotificationText("notifications/cancelled", `{"requestId":`+id+`}`))
				}
				d.Fence()
				d.Pause(100 * time.Millisecond)
			},
		},
		{
			Name: "cancelling what runs", Profile: Main, Needs: []string{"tools"}, After: []string{"call"},
			Run: func(d *Driver) {
				tool, took := d.leisurely()
				if tool.params == "" {
					return
				}
				d.Step("cancel/running")
				f := d.Ask("tools/call", strings.TrimSuffix(tool.params, "}")+`,"_meta":{"progressToken":"goldwire-cancelled"}}`)
				if f == nil {
					return
				}
				d.Pause(took / 4)
				d.Tell("notifications/cancelled", `{"requestId":`+string(f.ID)+`,"reason":"a probe"}`)
				d.Fence()
				d.Step("cancel/stopped")
				d.Pause(took + d.limits.Grace)
				d.Fence()
			},
		},
		{
			Name: "templates that are filled in", Profile: Main, Needs: []string{"resources", "completions"}, After: []string{"complete"},
			Run: func(d *Driver) {
				for i, t := range d.Facts.Templates {
					if uri, ok := d.filledIn(Name(t, "uriTemplate")); ok && i < maxResources {
						d.Step("filled-in/" + Name(t, "uriTemplate"))
						d.Call("resources/read", `{"uri":`+quote(uri)+`}`)
					}
				}
			},
		},
	}
}

// What a tool takes that is slow enough to be cancelled, and not so slow that
// waiting for it costs much.
const (
	leisure  = 250 * time.Millisecond
	idleness = 2 * time.Second
)

// leisurely finds a tool that took its time when it was called before in this
// session.
func (d *Driver) leisurely() (tool call, took time.Duration) {
	d.View(func(t *Trace) {
		for _, s := range t.steps {
			name, called := strings.CutPrefix(s.Name, "call/")
			if !called || tool.params != "" {
				continue
			}
			for _, req := range s.Sent() {
				if a := t.Answer(req); a.OK() && a.At-req.At >= leisure && a.At-req.At <= idleness {
					tool, took = call{name, string(withoutMeta(req.Params))}, a.At-req.At
				}
			}
		}
	})
	return tool, took
}

// filledIn gives a URI for a template, with the values that the server itself
// suggested for its variables.
func (d *Driver) filledIn(tmpl string) (uri string, ok bool) {
	values := map[string]string{}
	d.View(func(t *Trace) {
		for req := range t.visit(t.sent) {
			if req.Method != "completion/complete" || Name(req.Param("ref"), "uri") != tmpl {
				continue
			}
			for v := range t.Answer(req).result().Get("completion").Get("values").Elems() {
				if s, ok := v.Str(); ok && s != "" {
					values[Name(req.Param("argument"), "name")] = s
					break
				}
			}
		}
	})
	for v, value := range values {
		tmpl = strings.ReplaceAll(tmpl, "{"+v+"}", url.PathEscape(value))
	}
	return tmpl, len(values) > 0 && !strings.ContainsAny(tmpl, "{}")
}

// completions is what completion needs. The first revision has no capability
// for it, so that nothing tells whether a server offers it.
var completions = []string{"completions"}

func (d *Driver) complete(name, params string) {
	d.Step("complete/" + name)
	a := d.Call("completion/complete", params+"}")
	if a.OK() && AtLeast(d.Revision(), rev2025June) {
		d.Step("complete-context/" + name)
		d.Call("completion/complete", params+`,"context":{"arguments":{"goldwire":"y"}}}`)
	}
}

// templateVars are the names of the variables of a URI template.
func templateVars(tmpl string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(tmpl, "{")
		if !ok {
			return out
		}
		expr, rest, ok := strings.Cut(rest, "}")
		if !ok {
			return out
		}
		for v := range strings.SplitSeq(strings.TrimLeft(expr, "+#./;?&"), ",") {
			v, _, _ = strings.Cut(strings.TrimSuffix(v, "*"), ":")
			if v != "" {
				out = append(out, v)
			}
		}
		tmpl = rest
	}
}

func contentChecks() []Check {
	return []Check{
		{
			ID: "prompt-shape", Title: "a prompt fits its schema", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-get-shape", "modern/prompts-message-shape"},
			Judge: func(c *Case) {
				c.Results("prompts/get", func(_, a *Frame) { c.FitsResult(a, "prompts/get") })
			},
		},
		{
			ID: "prompt-content-of-revision", Title: "prompts use kinds of content that the revision knows", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-content-by-revision"},
			Judge: func(c *Case) {
				c.promptContent(func(_, a *Frame, content wire.Raw) { c.contentKinds(a, wire.Raw("["+string(content)+"]")) })
			},
		},
		{
			ID: "prompt-media", Title: "binary content of prompts is Base64 with a MIME type", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-media-encoding", "modern/prompts-image-base64", "modern/prompts-audio-base64"},
			Judge:        func(c *Case) { c.promptContent(c.media) },
		},
		{
			ID: "prompt-embedded-resource", Title: "a resource in a prompt has a URI, a MIME type and contents", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-embedded-resource", "modern/prompts-embedded-resource-fields"},
			Judge: func(c *Case) {
				c.promptContent(func(req, a *Frame, content wire.Raw) {
					if kind, _ := content.Get("type").Str(); kind != "resource" {
						return
					}
					r := content.Get("resource")
					uri, ok := r.Get("uri").Str()
					switch {
					case ok && ours(req, uri):
					case !ok || !absoluteURI(uri):
						c.Broken(a, "an absolute URI", text(r.Get("uri")))
					case (r.Get("text") == nil) == (r.Get("blob") == nil):
						c.Broken(a, "text or blob", "both or neither")
					case r.Get("mimeType") == nil:
						// The page requires it, the schema does not.
						c.Tolerated(a, "a MIME type", "none")
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "unknown-prompt", Title: "a prompt that does not exist is refused", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-unknown-name", "modern/prompts-get-unknown-error"},
			Judge:        func(c *Case) { c.Refused("prompts/unknown", false, -32602) },
		},
		{
			ID: "malformed-prompt-request", Title: "prompts/get without a name is refused", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/jsonrpc-invalid-params", "modern/jsonrpc-invalid-params"},
			Judge:        func(c *Case) { c.Refused("prompts/malformed", true, -32602) },
		},
		{
			ID: "prompt-argument-missing", Title: "leaving out a required argument of a prompt is refused", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-missing-arguments", "modern/prompts-get-missing-argument-error"},
			Judge:        func(c *Case) { c.refusedAll("prompts/missing/", -32602) },
		},
		{
			ID: "prompt-argument-validated", Title: "an argument of a prompt that is no string is refused", Layer: Feature, Needs: []string{"prompts"},
			Requirements: []string{"legacy/prompts-arguments-validated", "modern/prompts-validates-arguments"},
			Judge:        func(c *Case) { c.refusedAll("prompts/wrong/", -32602) },
		},
		{
			ID: "resource-shape", Title: "the contents of a resource fit their schema", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-read-shape", "modern/res-contents-shape"},
			Judge: func(c *Case) {
				c.Results("resources/read", func(_, a *Frame) { c.FitsResult(a, "resources/read") })
			},
		},
		{
			ID: "resource-blob", Title: "binary contents are Base64", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-blob-encoding", "modern/res-blob-base64"},
			Judge: func(c *Case) {
				c.Results("resources/read", func(_, a *Frame) {
					for e := range a.Result.Get("contents").Elems() {
						if blob := e.Get("blob"); blob != nil {
							c.base64(nil, a, blob, "blob")
						}
					}
				})
			},
		},
		{
			ID: "listed-resources-readable", Title: "what is listed can be read", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-listed-readable", "modern/res-listed-readable"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("read/") {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK(), "the contents of a listed resource", "error "+text(a.Error))
						}
					}
				}
			},
		},
		{
			ID: "template-filled-in", Title: "a template that is filled in can be read", Layer: Feature, Needs: []string{"resources"}, Soft: true,
			Requirements: []string{"legacy/resources-template-read"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("filled-in/") {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK(), "the contents of "+text(req.Param("uri"))+", whose values the server suggested", "error "+text(a.Error))
						}
					}
				}
			},
		},
		{
			ID: "unknown-resource", Title: "a resource that does not exist is refused with the code of the revision", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-not-found"},
			Judge:        func(c *Case) { c.Refused("resources/unknown", false, -32002) },
		},
		{
			ID: "malformed-resource-request", Title: "resources/read without a URI is refused", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/jsonrpc-invalid-params", "modern/jsonrpc-invalid-params"},
			Judge:        func(c *Case) { c.Refused("resources/malformed", true, -32602) },
		},
		{
			ID: "resource-uri-validated", Title: "what is no URI of a resource is refused", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"legacy/resources-uri-validated", "modern/res-uri-validated"},
			Judge: func(c *Case) {
				s := c.Step("resources/odd")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := c.Answer(req)
					uri, _ := req.Param("uri").Str()
					switch {
					case a == nil:
					case a.Failed():
						c.Saw()
					case strings.Contains(string(a.Result), "root:") && strings.HasPrefix(uri, "file:"):
						c.Broken(a, "an error", "the contents of a file outside what is served")
					case uri == "" || uri == "not a uri":
						c.Broken(a, "an error", "a result")
					default:
						// Some server may have a resource behind any URI.
						c.Tolerated(a, "an error", "a result")
					}
				}
			},
		},
		{
			ID: "completion-shape", Title: "a completion fits its schema", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-result-shape", "modern/completion-result-shape"},
			Judge: func(c *Case) {
				c.Results("completion/complete", func(_, a *Frame) { c.FitsResult(a, "completion/complete") })
			},
		},
		{
			ID: "completion-max-100", Title: "a completion has at most 100 values", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-max-100", "modern/completion-max-100"},
			Judge: func(c *Case) {
				c.Results("completion/complete", func(_, a *Frame) {
					n := 0
					for range a.Result.Get("completion").Get("values").Elems() {
						n++
					}
					c.want(a, n <= 100, "at most 100 values", strconv.Itoa(n))
				})
			},
		},
		{
			ID: "completion-total", Title: "total and hasMore of a completion agree with its values", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-total-consistent"},
			Judge: func(c *Case) {
				c.Results("completion/complete", func(_, a *Frame) {
					n := int64(0)
					for range a.Result.Get("completion").Get("values").Elems() {
						n++
					}
					total, ok := a.Result.Get("completion").Get("total").Int()
					more, _ := a.Result.Get("completion").Get("hasMore").Bool()
					switch {
					case !ok:
					case total < n:
						c.Broken(a, "a total of at least "+strconv.FormatInt(n, 10), strconv.FormatInt(total, 10))
					case total == n && more:
						c.Broken(a, "hasMore false where all values are there", "true")
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "completion-ref-types", Title: "completion knows prompts and resources", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-ref-types"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("complete/") {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							code, _ := a.Code()
							c.want(a, a.OK() || code != -32601, "a completion", "error code -32601")
						}
					}
				}
			},
		},
		{
			ID: "completion-context", Title: "the context of a completion is accepted", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-context-accepted"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("complete-context/") {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK(), "a completion, as without the context", outcome(a))
						}
					}
				}
			},
		},
		{
			ID: "unknown-completion", Title: "a completion for a prompt that does not exist is refused", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-invalid-params", "modern/completion-unknown-prompt-error"},
			Judge:        func(c *Case) { c.Refused("complete-unknown", false, -32602) },
		},
		{
			ID: "malformed-completion", Title: "a completion without its argument or reference is refused", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-invalid-params", "modern/completion-missing-argument-error"},
			Judge:        func(c *Case) { c.Refused("complete-malformed", false, -32602) },
		},
		{
			ID: "completion-odd-input", Title: "odd values to complete do no harm", Layer: Feature, Needs: completions,
			Requirements: []string{"legacy/completion-security", "modern/completion-input-validated"},
			Judge: func(c *Case) {
				s := c.Step("complete-odd")
				if s == nil {
					return
				}
				sent := s.Sent()
				for _, req := range sent {
					a := c.Answer(req)
					value := req.Param("argument").Get("value")
					switch {
					case a == nil:
					case value.Kind() == wire.KindObject && a.OK():
						c.Tolerated(a, "an error for a value that is no string", "a result")
					default:
						c.Saw()
					}
				}
				if len(sent) > 0 && !s.Trace.fenced(sent[len(sent)-1].Index) && !s.Trace.cut() {
					c.Broken(sent[len(sent)-1], "a server that goes on working", or(s.Trace.lost(), "it answered nothing any more"))
				}
			},
		},
		{
			ID: "cancel-unknown-ignored", Title: "a cancellation of nothing is ignored", Layer: Protocol,
			Requirements: []string{"legacy/cancel-invalid-ignored", "modern/cancel-invalid-ignored"},
			Judge: func(c *Case) {
				c.Unanswered("cancel/unknown")
				c.Survived("cancel/unknown")
			},
		},
		{
			ID: "cancelled-stops", Title: "nothing more comes of what was cancelled", Layer: Protocol,
			Requirements: []string{"legacy/cancel-no-reply", "modern/cancel-server-stops"},
			Judge: func(c *Case) {
				s, after := c.Step("cancel/running"), c.Step("cancel/stopped")
				if s == nil || after == nil || slices.ContainsFunc(s.Sent(), c.keptOut) {
					return
				}
				for _, req := range s.Sent() {
					if req.Kind != KindRequest || !s.Trace.fenced(after.from) {
						continue
					}
					if x := s.Trace.carried[req.Exchange]; x != nil && (c.Modern() || !x.session && c.Transport == catalogue.HTTP) {
						c.NotApplicable("over HTTP without a session no notification cancels a request")
						return
					}
					a, found := s.Trace.Answer(req), false
					if a != nil && a.Index < after.from {
						c.NotObserved("the tool was done before it could be cancelled")
						return
					}
					for _, f := range after.Got() {
						if f == a || f.Method == methodProgress && wire.Equal(f.Param("progressToken"), req.meta("progressToken")) {
							c.Broken(f, "no answer and no progress, as the request was cancelled", or(f.Method, sayHow(f)))
							found = true
						}
					}
					if !found {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "cancel-crossing", Title: "a cancellation that crosses the answer does no harm", Layer: Protocol,
			Requirements: []string{"legacy/cancel-race-tolerated", "modern/cancel-race-handled"},
			Judge: func(c *Case) {
				c.Unanswered("cancel/late")
				c.Survived("cancel/race")
			},
		},
	}
}

// refusedAll is Refused for all steps of a prefix.
func (c *Case) refusedAll(prefix string, codes ...int64) {
	for _, s := range c.StepsOf(prefix) {
		for _, req := range s.Sent() {
			c.refused(req, false, codes...)
		}
	}
}

func (c *Case) promptContent(fn func(req, a *Frame, content wire.Raw)) {
	c.Proper("prompts/get", func(req, a *Frame) {
		for m := range a.Result.Get("messages").Elems() {
			if content := m.Get("content"); content.Kind() == wire.KindObject {
				fn(req, a, content)
			}
		}
	})
}
