package check

import (
	"encoding/base64"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

// How many tools are called, in each of the ways.
const (
	maxTools    = 20  // tools that are called, whatever time they take
	manyTools   = 100 // tools that are called while they take little
	quickTools  = 2 * time.Second
	maxBadCalls = 4
)

// enough reports whether a probe that began then has called enough tools.
func enough(called int, began time.Time) bool {
	return called >= manyTools || called >= maxTools && time.Since(began) > quickTools
}

func toolProbes() []Probe {
	return []Probe{
		{
			Name: "unknown tool", Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				d.Step("tools/unknown")
				d.Call("tools/call", `{"name":"goldwire_no_such_tool","arguments":{}}`)
			},
		},
		{
			Name: "malformed tool calls", Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				d.Step("tools/malformed")
				d.Call("tools/call", `{"arguments":{}}`)
				d.Call("tools/call", `{"name":5,"arguments":{}}`)
			},
		},
		{
			Name: "read-only tools", Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				called, bare, began := 0, 0, time.Now()
				// There may be more tools than are called: first come those that
				// say the most of what they give.
				tools := slices.Clone(d.Facts.Tools)
				slices.SortStableFunc(tools, func(a, b wire.Raw) int {
					return btoi(b.Get("outputSchema") != nil) - btoi(a.Get("outputSchema") != nil)
				})
				for _, t := range tools {
					name, ok := t.Get("name").Str()
					if !ok || !d.MayCall(name) || enough(called, began) {
						continue
					}
					args, sure := Arguments(t.Get("inputSchema"))
					if !sure {
						d.Note("no arguments for " + name)
						continue
					}
					called++
					token := strconv.Itoa(called)
					if called%2 == 0 {
						token = `"token-` + token + `"`
					}
					d.Step("call/" + name)
					d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`,"_meta":{"progressToken":`+token+`}}`))
					if args == "{}" && bare < maxBadCalls && !d.slow(name) {
						bare++
						d.Step("call-bare/" + name)
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`}`))
					}
				}
			},
		},
		{
			Name: "read-only tools with wrong arguments", Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				bad := 0
				for _, t := range d.Facts.Tools {
					name, ok := t.Get("name").Str()
					if !ok || !d.MayCall(name) || bad == maxBadCalls || d.slow(name) {
						continue
					}
					args, sure := Arguments(t.Get("inputSchema"))
					if !sure || args == "{}" {
						continue
					}
					bad++
					if needsArguments(t.Get("inputSchema")) {
						d.Step("call-missing/" + name)
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":{}}`))
					}
					if wrong, ok := wrongType(t.Get("inputSchema"), args); ok {
						d.Step("call-wrong/" + name)
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+wrong+`}`))
					}
				}
				// A tool that works does so with arguments that are no object only
				// where nobody looks at them.
				for _, t := range d.Facts.Tools {
					if name := Name(t, "name"); d.worked(name) {
						d.Step("tools/malformed/arguments")
						d.Call("tools/call", `{"name":`+quote(name)+`,"arguments":"goldwire"}`)
						break
					}
				}
			},
		},
	}
}

// worked reports whether a call of a tool gave a result before, and did not
// take long.
func (d *Driver) worked(name string) (ok bool) {
	look := func(t *Trace) {
		for req := range t.visit(t.sent) {
			if req.Method == "tools/call" && Name(req.Params, "name") == name {
				ok = ok || t.Answer(req).OK()
			}
		}
	}
	for _, t := range d.past {
		look(t)
	}
	d.View(look)
	return ok && d.MayCall(name) && !d.slow(name)
}

// wrongType gives arguments of which one required member has a type that its
// schema rules out and that nobody would convert.
func wrongType(schema wire.Raw, args string) (string, bool) {
	for name := range schema.Get("required").Elems() {
		key, _ := name.Str()
		kind, ok := schema.Get("properties").Get(key).Get("type").Str()
		old := wire.Raw(args).Get(key)
		if !ok || old == nil {
			continue
		}
		wrong := `{"goldwire":[true]}`
		if kind == "object" {
			wrong = `[[true]]`
		}
		var b strings.Builder
		b.WriteByte('{')
		for k, v := range wire.Raw(args).Members() {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			if k == key {
				v = wire.Raw(wrong)
			}
			b.WriteString(quote(k) + ":" + string(v))
		}
		return b.String() + "}", true
	}
	return "", false
}

func toolChecks() []Check {
	return []Check{
		{
			ID: "unknown-tool", Title: "calling a tool that does not exist is refused by an error", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-unknown-tool", "modern/tools-call-unknown-error"},
			Judge: func(c *Case) {
				if s := c.Step("tools/unknown"); s != nil {
					for _, req := range s.Sent() {
						a := c.Answer(req)
						if failed, _ := a.result().Get("isError").Bool(); a.OK() && failed {
							c.Broken(a, "an error with code -32602", "a result with isError")
							continue
						}
						c.refused(req, false, -32602)
					}
				}
			},
		},
		{
			ID: "malformed-tool-call", Title: "tools/call without a tool's name is refused", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/jsonrpc-invalid-params", "modern/tools-call-malformed-error"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("tools/malformed") {
					for _, req := range s.Sent() {
						a := c.Answer(req)
						if failed, _ := a.result().Get("isError").Bool(); a.OK() && failed {
							c.Tolerated(a, "an error with code -32602", "a result with isError")
							continue
						}
						c.refused(req, true, -32602)
					}
				}
			},
		},
		{
			ID: "tool-result-shape", Title: "the result of a tool fits its schema", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-call-shape", "modern/tools-call-result-content"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					for block := range a.Result.Get("content").Elems() {
						if kind, _ := block.Get("type").Str(); laterContent(kind, c.Revision) {
							return // another check tells that
						}
					}
					c.FitsResult(a, "tools/call")
				})
			},
		},
		{
			ID: "tool-content-of-revision", Title: "tools use kinds of content that the revision knows", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-content-by-revision"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) { c.contentKinds(a, a.Result.Get("content")) })
			},
		},
		{
			ID: "tool-media", Title: "binary content of tools is Base64 with a MIME type", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-media-encoding", "modern/tools-content-base64"},
			Judge: func(c *Case) {
				c.Proper("tools/call", func(req, a *Frame) {
					for block := range a.Result.Get("content").Elems() {
						c.media(req, a, block)
					}
				})
			},
		},
		{
			ID: "tool-embeds-resources", Title: "a server that embeds resources has the capability", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-embedded-needs-capability", "modern/tools-embedded-resource-capability"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					for block := range a.Result.Get("content").Elems() {
						if kind, _ := block.Get("type").Str(); kind == "resource" {
							c.want(a, c.Has("resources"), "the capability resources", "an embedded resource without it")
						}
					}
				})
			},
		},
		{
			ID: "tool-arguments-optional", Title: "a call may leave arguments out where none are needed", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-arguments-optional"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("call-bare/") {
					with := c.Step("call/" + strings.TrimPrefix(s.Name, "call-bare/"))
					if with == nil || len(with.Sent()) == 0 || len(s.Sent()) == 0 {
						continue
					}
					a, b := with.Trace.Answer(with.Sent()[0]), c.Answer(s.Sent()[0])
					if a == nil || b == nil || !a.OK() || isError(a) {
						continue
					}
					c.want(b, b.OK() && !isError(b), "the result that empty arguments have", outcome(b))
				}
			},
		},
		{
			ID: "tool-arguments-validated", Title: "arguments that do not fit the tool are not taken", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-invalid-arguments-legacy", "modern/tools-call-invalid-arguments"},
			Judge: func(c *Case) {
				c.badCalls(func(a *Frame) {
					c.want(a, a.Failed() || isError(a), "an error, or a result with isError", outcome(a))
				})
			},
		},
		{
			ID: "tool-validation-as-result", Title: "arguments that do not fit the tool give a result with isError", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-input-validation-as-tool-error"},
			Judge: func(c *Case) {
				c.badCalls(func(a *Frame) {
					c.want(a, isError(a), "a result with isError", outcome(a))
				})
			},
		},
		{
			ID: "tool-failure-as-result", Title: "a tool that fails gives a result with isError", Layer: Feature, Needs: []string{"tools"}, Soft: true,
			Requirements: []string{"legacy/tools-execution-error", "modern/tools-call-execution-error"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					if isError(a) {
						c.Saw()
					}
				})
				for _, prefix := range []string{"call/", "declared/call/", "full/call/"} {
					for _, s := range c.StepsOf(prefix) {
						for _, req := range s.Sent() {
							// Arguments that fit the tool were given: what failed is the tool.
							a := s.Trace.Answer(req)
							if code, ok := a.Code(); ok && code == -32603 {
								c.Broken(a, "a result with isError", outcome(a))
							}
						}
					}
				}
			},
		},
		{
			ID: "tool-input-schema", Title: "inputSchema is an object schema", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-list-shape", "modern/tools-input-schema-object"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					kind, _ := e.Get("inputSchema").Get("type").Str()
					c.want(p, kind == "object", "type object in the inputSchema of "+text(e.Get("name")), text(e.Get("inputSchema")))
				})
			},
		},
		{
			ID: "tool-input-schema-valid", Title: "inputSchema is valid in its dialect", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/schema-valid-in-dialect", "modern/tools-input-schema-valid"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if s := e.Get("inputSchema"); s != nil {
						c.validSchema(p, s, "the inputSchema of "+text(e.Get("name")))
					}
				})
			},
		},
		{
			ID: "tool-output-schema", Title: "outputSchema is an object schema", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-output-schema-root"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if s := e.Get("outputSchema"); s != nil {
						kind, _ := s.Get("type").Str()
						c.want(p, kind == "object", "type object in the outputSchema of "+text(e.Get("name")), text(s))
					}
				})
			},
		},
		{
			ID: "tool-output-schema-valid", Title: "outputSchema is valid in its dialect", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/schema-valid-in-dialect", "modern/tools-output-schema-valid"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					if s := e.Get("outputSchema"); s != nil {
						c.validSchema(p, s, "the outputSchema of "+text(e.Get("name")))
					}
				})
			},
		},
		{
			ID: "tool-schema-no-network", Title: "tool schemas do not depend on documents elsewhere", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"modern/tools-schema-no-network-ref"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					for _, m := range []string{"inputSchema", "outputSchema"} {
						if s := e.Get(m); s != nil {
							ref := networkRef(s, 0)
							c.want(p, ref == "", "references inside the schema only", ref)
						}
					}
				})
			},
		},
		{
			ID: "structured-content-object", Title: "structuredContent is an object", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-structured-is-object"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					if s := a.Result.Get("structuredContent"); s != nil {
						c.want(a, s.Kind() == wire.KindObject, "an object as structuredContent", text(s))
					}
				})
			},
		},
		{
			ID: "structured-content-fits", Title: "a tool with an outputSchema returns structured content that fits it", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-structured-conforms", "modern/tools-structured-conforms", "modern/tools-structured-present"},
			Judge: func(c *Case) {
				c.Proper("tools/call", func(req, a *Frame) {
					schema := c.outputSchema(Name(req.Params, "name"))
					kind, _ := a.Result.Get("resultType").Str()
					if schema == nil || isError(a) || a.Result.Get("task") != nil || kind == "input_required" {
						return
					}
					got := a.Result.Get("structuredContent")
					if got == nil {
						c.Broken(a, "structuredContent that fits the outputSchema of the tool", "none")
						return
					}
					s, err := a.Trace.Compile(schema)
					if err != nil {
						c.NotObserved(err.Error())
						return
					}
					c.fits(a, structured, s.Validate(got), "structuredContent that fits the outputSchema of the tool")
				})
			},
		},
		{
			ID: "structured-content-as-text", Title: "structured content is repeated as text", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-structured-text-copy", "modern/tools-structured-text-copy"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					got := a.Result.Get("structuredContent")
					if got == nil || isError(a) {
						return
					}
					for block := range a.Result.Get("content").Elems() {
						if t, ok := block.Get("text").Str(); ok {
							if v, err := wire.ParseRaw([]byte(t)); err == nil && wire.Equal(v, got) {
								c.Saw()
								return
							}
						}
					}
					c.Broken(a, "a text block with the structured content as JSON", "no such block")
				})
			},
		},
		{
			ID: "tool-annotations", Title: "tool annotations are a string and booleans", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-annotation-types"},
			Judge: func(c *Case) {
				c.eachEntry("tools/list", func(p *Frame, e wire.Raw) {
					notes := e.Get("annotations")
					if notes == nil {
						return
					}
					for _, m := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
						if v := notes.Get(m); v != nil {
							c.want(p, v.Kind() == wire.KindBool, "a boolean as "+m, text(v))
						}
					}
					if v := notes.Get("title"); v != nil {
						c.want(p, v.Kind() == wire.KindString, "a string as title", text(v))
					}
				})
			},
		},
	}
}

func isError(a *Frame) bool {
	b, _ := a.result().Get("isError").Bool()
	return b
}

// outcome says in a few words what an answer is.
func outcome(a *Frame) string {
	switch {
	case a == nil:
		return "no answer"
	case a.Failed():
		return "error code " + text(a.Error.Get("code"))
	case isError(a):
		return "a result with isError"
	}
	return "an ordinary result"
}

// badCalls calls fn with the answers to calls whose arguments break the tool's
// own schema. A task or a question is no verdict on the arguments yet, and the
// error that the call with fitting arguments was refused with is none at all.
func (c *Case) badCalls(fn func(a *Frame)) {
	for _, s := range append(c.StepsOf("call-missing/"), c.StepsOf("call-wrong/")...) {
		for _, req := range s.Sent() {
			a := c.Answer(req)
			kind, _ := a.result().Get("resultType").Str()
			if a == nil || a.result().Get("task") != nil || kind != "" && kind != "complete" {
				continue
			}
			_, name, _ := strings.Cut(s.Name, "/")
			if fit, _ := c.control("call/" + name); sameRefusal(a, fit) {
				c.NotObserved("the tool is refused in the same way with arguments that fit it")
				continue
			}
			fn(a)
		}
	}
}

// sameRefusal reports whether both answers are errors with the same code and
// message.
func sameRefusal(a, b *Frame) bool {
	return a.Failed() && b.Failed() && wire.Equal(a.Error.Get("code"), b.Error.Get("code")) && wire.Equal(a.Error.Get("message"), b.Error.Get("message"))
}

func (c *Case) outputSchema(tool string) wire.Raw {
	for _, t := range c.Facts.Tools {
		if Name(t, "name") == tool {
			return t.Get("outputSchema")
		}
	}
	return nil
}

func (c *Case) validSchema(f *Frame, schema wire.Raw, what string) {
	_, err := validate.Compile(schema)
	var inv *validate.InvalidError
	switch {
	case errors.As(err, &inv):
		c.Broken(f, "a valid schema as "+what, inv.Err.Error())
	case err != nil:
		c.NotObserved(what + ": " + err.Error())
	default:
		c.Saw()
	}
}

// networkRef finds a reference to another document, "" when there is none.
func networkRef(s wire.Raw, depth int) string {
	if depth > 64 {
		return ""
	}
	switch s.Kind() {
	case wire.KindArray:
		for e := range s.Elems() {
			if r := networkRef(e, depth+1); r != "" {
				return r
			}
		}
	case wire.KindObject:
		for k, v := range s.Members() {
			ref, ok := v.Str()
			if ok && (k == "$ref" || k == "$dynamicRef") && (strings.HasPrefix(ref, "http://") || strings.HasPrefix(ref, "https://")) && !strings.Contains(ref, "json-schema.org/") {
				return k + " " + quote(ref)
			}
			if k == "const" || k == "enum" || k == "default" || k == "examples" {
				continue
			}
			if r := networkRef(v, depth+1); r != "" {
				return r
			}
		}
	}
	return ""
}

// contentSince are the kinds of content with the revision they came with.
var contentSince = map[string]string{"text": firstLegacy, "image": firstLegacy, "resource": firstLegacy, "audio": rev2025March, "resource_link": rev2025June}

// laterContent reports whether a kind of content came after a revision.
func laterContent(kind, rev string) bool {
	since, ok := contentSince[kind]
	return ok && !AtLeast(rev, since)
}

// contentKinds judges the types of content blocks.
func (c *Case) contentKinds(f *Frame, blocks wire.Raw) {
	for block := range blocks.Elems() {
		kind, ok := block.Get("type").Str()
		if !ok {
			continue
		}
		_, known := contentSince[kind]
		c.want(f, known && !laterContent(kind, c.Revision), "a kind of content that revision "+c.Revision+" knows", quote(kind))
	}
}

var mimeType = regexp.MustCompile(`^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+*-]+\s*(;.*)?$`)

// media judges the binary parts of a content block, where it has some.
func (c *Case) media(req, f *Frame, block wire.Raw) {
	kind, _ := block.Get("type").Str()
	switch kind {
	case "image", "audio":
		c.base64(req, f, block.Get("data"), "data")
		if mime, ok := block.Get("mimeType").Str(); !ok || !ours(req, mime) {
			c.want(f, ok && mimeType.MatchString(mime), "a MIME type", text(block.Get("mimeType")))
		}
	case "resource":
		if blob := block.Get("resource").Get("blob"); blob != nil {
			c.base64(req, f, blob, "blob")
		}
	}
}

// ours reports whether a value that the server sent is one that the checker
// made up as an argument: what a server does with it says little.
func ours(req *Frame, value string) bool {
	if req == nil || value == "" {
		return false
	}
	type key struct{ req *Frame }
	return req.Trace.Memo(key{req}, func() any {
		made := map[string]bool{}
		var look func(v wire.Raw)
		look = func(v wire.Raw) {
			req.Trace.looked.Add(1)
			switch s, ok := v.Str(); {
			case ok:
				made[s] = true
			case v.Kind() == wire.KindArray:
				for e := range v.Elems() {
					look(e)
				}
			case v.Kind() == wire.KindObject:
				for _, e := range v.Members() {
					look(e)
				}
			}
		}
		look(req.Param("arguments"))
		return made
	}).(map[string]bool)[value]
}

// base64 judges a member that holds Base64. The alphabet for URLs, missing
// padding and line breaks are told as warnings: readers differ in taking them.
func (c *Case) base64(req, f *Frame, v wire.Raw, member string) {
	s, ok := v.Str()
	if !ok {
		c.Broken(f, "Base64 as "+member, text(v))
		return
	}
	if ours(req, s) {
		return
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(s); err == nil && !strings.ContainsAny(s, "\r\n") {
		c.Saw()
		return
	}
	plain := strings.NewReplacer("\r", "", "\n", "", "-", "+", "_", "/", "=", "").Replace(s)
	if _, err := base64.RawStdEncoding.DecodeString(plain); err == nil {
		c.Tolerated(f, "standard Base64 with padding as "+member, text(v))
		return
	}
	c.Broken(f, "Base64 as "+member, text(v))
}
