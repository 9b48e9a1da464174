package check

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Results that ask the client for input, and the retries that bring it.

const (
	maxAskers = 20 // prompts, resources and tools each that are tried for questions
	maxRounds = 3  // retries of one request
)

// askers are the methods that may ask for input.
var askers = []string{"tools/call", "prompts/get", "resources/read"}

// inputKinds are the requests that may stand in a question, each with its
// capability and its definition.
var inputKinds = map[string]struct{ capability, definition string }{
	"elicitation/create":     {"elicitation", "ElicitRequest"},
	"sampling/createMessage": {"sampling", "CreateMessageRequest"},
	"roots/list":             {"roots", "ListRootsRequest"},
}

// asksInput reports whether a response asks for input.
func asksInput(a *Frame) bool {
	return a.OK() && plain(a.Result.Get("resultType")) == "input_required"
}

// reply is the input that a question asks for, the same for all servers: no
// roots, a stand-in for a model, and a user who declines.
func reply(a *Frame) string {
	var parts []string
	for key, req := range a.Result.Get("inputRequests").Members() {
		v := `{"action":"decline"}`
		switch plain(req.Get("method")) {
		case "roots/list":
			v = `{"roots":[]}`
		case "sampling/createMessage":
			v = `{"role":"assistant","content":{"type":"text","text":"This is a stand-in for a model."},"model":"none","stopReason":"endTurn"}`
		}
		parts = append(parts, quote(key)+":"+v)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// questions asks for something that may need input. Where it does the same is
// asked again by a client that has other capabilities, and then the input is
// given.
func (d *Driver) questions(name, method, params string) {
	d.Step("input/first/" + name)
	req := d.Ask(method, params)
	d.Patient(req)
	a := d.AnswerTo(req)
	if !asksInput(a) {
		return
	}
	d.Step("input/undeclared/" + name)
	d.Patient(d.AskWith(d.NextID(), method, WithMeta(params, d.with(metaCaps, `{}`))))
	d.Step("input/url-only/" + name)
	d.Patient(d.AskWith(d.NextID(), method, WithMeta(params, d.with(metaCaps, `{"elicitation":{"url":{}}}`))))
	for range maxRounds {
		d.Step("input/retry/" + name)
		more := `"inputResponses":` + reply(a)
		if state := a.Result.Get("requestState"); state != nil {
			more += `,"requestState":` + string(state)
		}
		retry := d.Ask(method, strings.TrimSuffix(strings.TrimSpace(params), "}")+","+more+"}")
		d.Patient(retry)
		if a = d.AnswerTo(retry); !asksInput(a) {
			return
		}
	}
}

// retry asks for something and gives what with makes of the question; two empty
// texts give nothing.
func (d *Driver) retry(name, step, method, params string, with func(a *Frame) (responses, state string)) {
	d.Step("input/again/" + name)
	first := d.Ask(method, params)
	d.Patient(first)
	a := d.AnswerTo(first)
	if !asksInput(a) {
		return
	}
	responses, state := with(a)
	if responses == "" && state == "" {
		return
	}
	more := ""
	if responses != "" {
		more += `,"inputResponses":` + responses
	}
	if state != "" {
		more += `,"requestState":` + state
	}
	d.Step("input/" + step + "/" + name)
	d.Patient(d.Ask(method, strings.TrimSuffix(strings.TrimSpace(params), "}")+more+"}"))
}

// maxVariants is how many tools that ask for input are given it in other ways.
const maxVariants = 3

// variants asks for something that needed input before, each time anew, and
// gives the input in ways that are not quite right.
func (d *Driver) variants(name, method, params string) {
	retry := func(step string, with func(a *Frame) (responses, state string)) {
		d.retry(name, step, method, params, with)
	}
	state := func(a *Frame) string { return string(a.Result.Get("requestState")) }
	retry("extra", func(a *Frame) (string, string) {
		if rest := strings.TrimPrefix(reply(a), "{"); rest != "}" {
			return `{"goldwire-extra":{"action":"cancel"},` + rest, state(a)
		}
		return `{"goldwire-extra":{"action":"cancel"}}`, state(a)
	})
	retry("partial", func(a *Frame) (string, string) {
		n := 0
		for range a.Result.Get("inputRequests").Members() {
			n++
		}
		for key, v := range wire.Raw(reply(a)).Members() {
			if n > 1 {
				return `{` + quote(key) + `:` + string(v) + `}`, state(a)
			}
		}
		return "", ""
	})
	retry("wrong-type", func(a *Frame) (string, string) {
		var parts []string
		for key := range a.Result.Get("inputRequests").Members() {
			parts = append(parts, quote(key)+":7")
		}
		if parts == nil {
			return "", ""
		}
		return "{" + strings.Join(parts, ",") + "}", state(a)
	})
	retry("misfit", func(a *Frame) (string, string) {
		found := false
		var parts []string
		for key, v := range wire.Raw(reply(a)).Members() {
			text := string(v)
			if bad, ok := misfit(a.Result.Get("inputRequests").Get(key).Get("params").Get("requestedSchema")); ok {
				text, found = `{"action":"accept","content":`+bad+`}`, true
			}
			parts = append(parts, quote(key)+":"+text)
		}
		if !found {
			return "", ""
		}
		return "{" + strings.Join(parts, ",") + "}", state(a)
	})
}

// tampered gives the input with a state that is not quite the one that came.
func (d *Driver) tampered(name, method, params string) {
	for _, spoil := range []func(s string) string{
		func(s string) string { return strings.ToValidUTF8(s[:len(s)-1], "") },
		func(s string) string { return flip(s, 0) },
		func(s string) string { return flip(s, len(s)/2) },
		func(s string) string { return flip(s, len(s)-1) },
	} {
		d.retry(name, "tampered", method, params, func(a *Frame) (string, string) {
			s, ok := a.Result.Get("requestState").Str()
			if !ok || s == "" {
				return "", ""
			}
			return reply(a), quote(spoil(s))
		})
	}
}

// flip changes one character of a text to another that may stand there.
func flip(s string, i int) string {
	b := []byte(s)
	if b[i]++; b[i] == 'A' || b[i] > '~' || b[i] < ' ' || b[i] == '[' || b[i] == '{' {
		b[i] = 'A'
	}
	return strings.ToValidUTF8(string(b), "A")
}

// harmless is a request that may ask for input and that a listed thing of the
// server answers by a result.
func (d *Driver) harmless() (method, params string) {
	for _, r := range d.Facts.Resources {
		if uri, ok := r.Get("uri").Str(); ok {
			return "resources/read", `{"uri":` + quote(uri)
		}
	}
	for _, p := range d.Facts.Prompts {
		if _, first := promptArgs(p); first == "" && Name(p, "name") != "" {
			return "prompts/get", `{"name":` + quote(Name(p, "name"))
		}
	}
	for _, t := range d.Facts.Tools {
		if args, sure := Arguments(t.Get("inputSchema")); sure && d.MayCall(Name(t, "name")) {
			return "tools/call", `{"name":` + quote(Name(t, "name")) + `,"arguments":` + args
		}
	}
	return "", ""
}

func modernInputProbes() []Probe {
	return []Probe{
		{
			Name: "questions of other methods", Since: firstModern, Profile: Declared,
			Run: func(d *Driver) {
				d.Step("input/others")
				asked := []*Frame{d.Ask(methodDiscover, "")}
				for _, l := range Lists {
					if d.Facts.Has(l.Capability) {
						asked = append(asked, d.Ask(l.Method, ""))
					}
				}
				if d.Facts.Has("completions") {
					asked = append(asked, d.Ask("completion/complete", gated[len(gated)-1].params))
				}
				d.Await(asked...)
			},
		},
		{
			Name: "questions of prompts", Since: firstModern, Profile: Declared, Needs: []string{"prompts"},
			Run: func(d *Driver) {
				for _, p := range d.Facts.Prompts[:min(maxAskers, len(d.Facts.Prompts))] {
					if name := Name(p, "name"); name != "" {
						args, _ := promptArgs(p)
						d.questions("prompts/get/"+name, "prompts/get", `{"name":`+quote(name)+`,"arguments":`+args+`}`)
					}
				}
			},
		},
		{
			Name: "questions of resources", Since: firstModern, Profile: Declared, Needs: []string{"resources"},
			Run: func(d *Driver) {
				for _, r := range d.Facts.Resources[:min(maxAskers, len(d.Facts.Resources))] {
					if uri := Name(r, "uri"); uri != "" {
						d.questions("resources/read/"+uri, "resources/read", `{"uri":`+quote(uri)+`}`)
					}
				}
			},
		},
		{
			Name: "questions of tools", Since: firstModern, Profile: Declared, Needs: []string{"tools"},
			Run: func(d *Driver) {
				n, began := 0, time.Now()
				for _, t := range d.Facts.Tools {
					name := Name(t, "name")
					args, sure := Arguments(t.Get("inputSchema"))
					if name == "" || !sure || !d.MayCall(name) || enough(n, began) {
						continue
					}
					n++
					d.questions("tools/call/"+name, "tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`)
				}
			},
		},
		{
			Name: "questions that are answered wrongly", Since: firstModern, Profile: Declared, Needs: []string{"tools"},
			Run: func(d *Driver) {
				tampered := 0
				var keeping []call // tools that give a state
				for i, t := range d.askingTools() {
					if t.state {
						keeping = append(keeping, t.call)
					}
					if i < maxVariants {
						d.variants("tools/call/"+t.name, "tools/call", t.params)
					}
					if t.state && tampered < maxVariants {
						tampered++
						d.tampered("tools/call/"+t.name, "tools/call", t.params)
					}
					if i == 0 {
						d.Step("input/abandoned")
						asked := make([]*Frame, 50)
						for j := range asked {
							asked[j] = d.Ask("tools/call", t.params)
						}
						d.Await(asked...)
						d.Fence()
					}
				}
				if len(keeping) > 1 {
					one, other := keeping[0], keeping[1]
					d.Step("input/again/tools/call/" + one.name)
					first := d.Ask("tools/call", one.params)
					d.Patient(first)
					state := d.AnswerTo(first).result().Get("requestState")
					d.retry("tools/call/"+other.name, "foreign", "tools/call", other.params, func(a *Frame) (string, string) {
						if state == nil || wire.Equal(state, a.Result.Get("requestState")) {
							return "", ""
						}
						return reply(a), string(state)
					})
				}
			},
		},
		{
			Name: "input that nobody asked for", Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				method, params := d.harmless()
				if method == "" {
					return
				}
				d.Step("input/plain")
				d.Patient(d.Ask(method, params+"}"))
				d.Step("input/unneeded")
				d.Patient(d.Ask(method, params+`,"inputResponses":{"goldwire":{"action":"cancel"}}}`))
				d.Step("input/malformed")
				d.Patient(d.Ask(method, params+`,"inputResponses":7}`))
				d.Patient(d.Ask(method, params+`,"requestState":5}`))
				d.Step("input/state")
				for _, state := range []string{quote("zz"), quote("\x00\x01\u2028" + `"\`), quote(strings.Repeat("A", 100_000))} {
					d.Patient(d.Ask(method, params+`,"requestState":`+state+`}`))
				}
				d.Fence()
			},
		},
	}
}

func modernInputChecks() []Check {
	return []Check{
		{
			ID: "input-only-where-allowed", Title: "calls, prompts and resources alone may ask for input", Layer: Protocol,
			Requirements: []string{"modern/mrtr-only-supported-methods"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					if !slices.Contains(askers, r.req.Method) {
						c.want(r.answer, !asksInput(r.answer), "no input_required for "+r.req.Method, "one")
					}
				}
			},
		},
		{
			ID: "input-or-state", Title: "a result that asks for input has requests, a state or both", Layer: Protocol,
			Requirements: []string{"modern/mrtr-has-requests-or-state"},
			Judge: func(c *Case) {
				c.questions(func(_, a *Frame) {
					c.want(a, a.Result.Get("inputRequests") != nil || a.Result.Get("requestState") != nil, "inputRequests or requestState", "neither")
				})
			},
		},
		{
			ID: "input-request-kinds", Title: "the client is asked for what clients can give, in proper form", Layer: Protocol,
			Requirements: []string{"modern/mrtr-request-kinds", "modern/mrtr-state-string"},
			Judge: func(c *Case) {
				c.questions(func(_, a *Frame) {
					reqs, state := a.Result.Get("inputRequests"), a.Result.Get("requestState")
					switch {
					case state != nil && state.Kind() != wire.KindString:
						c.Broken(a, "a string as requestState", text(state))
					case reqs != nil && reqs.Kind() != wire.KindObject:
						c.Broken(a, "an object as inputRequests", text(reqs))
					default:
						c.Saw()
					}
				})
				c.inputs(func(_, a *Frame, key string, in wire.Raw) {
					kind, ok := inputKinds[plain(in.Get("method"))]
					if !ok {
						c.Broken(a, "a request for elicitation, sampling or roots as "+quote(key), text(in.Get("method")))
						return
					}
					err := c.protocol().Definition(kind.definition, in)
					if v, broken := err.(*validate.Violation); broken {
						c.Broken(a, "a request as "+kind.definition+" has it", quote(key)+v.Error())
					} else if err == nil {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "input-keys-unique", Title: "no two requests for input have the same key", Layer: Protocol,
			Requirements: []string{"modern/mrtr-keys-unique"},
			Judge: func(c *Case) {
				c.questions(func(_, a *Frame) {
					seen := map[string]bool{}
					for key := range a.Result.Get("inputRequests").Members() {
						c.want(a, !seen[key], "each key once", quote(key)+" twice")
						seen[key] = true
					}
				})
			},
		},
		{
			ID: "input-declared", Title: "the client is asked for what it declared with the request", Layer: Protocol,
			Requirements: []string{"modern/mrtr-respects-capabilities", "modern/elicit-mode-supported", "modern/sampling-no-undeclared-tools"},
			Judge: func(c *Case) {
				c.inputs(func(req, a *Frame, key string, in wire.Raw) {
					caps := req.caps()
					method := plain(in.Get("method"))
					kind, ok := inputKinds[method]
					if !ok {
						return
					}
					own := caps.Get(kind.capability)
					mode := plain(in.Get("params").Get("mode"))
					switch {
					case own == nil:
						c.Broken(a, "no "+method+", as the request declares no "+kind.capability, "one as "+quote(key))
					case method == "elicitation/create" && mode == "url" && own.Get("url") == nil:
						c.Broken(a, "no elicitation by URL, as the request declares "+text(own), "one as "+quote(key))
					case method == "elicitation/create" && mode != "url" && own.Get("url") != nil && own.Get("form") == nil:
						c.Broken(a, "no elicitation by form, as the request declares "+text(own), "one as "+quote(key))
					case method == "sampling/createMessage" && own.Get("tools") == nil && (in.Get("params").Get("tools") != nil || in.Get("params").Get("toolChoice") != nil):
						c.Broken(a, "no tools for the model, as the request declares "+text(own), "some in "+quote(key))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "input-capabilities-not-remembered", Title: "capabilities of an earlier request do not count", Layer: Protocol,
			Requirements: []string{"modern/stateless-capabilities-not-inferred"},
			Judge: func(c *Case) {
				c.undeclared(func(a *Frame) {
					n := 0
					for range a.result().Get("inputRequests").Members() {
						n++
					}
					c.want(a, !asksInput(a) || n == 0, "nothing that the client was asked for, as it declares nothing this time", "the question again")
				})
			},
		},
		{
			ID: "capability-missing", Title: "what needs a capability that the client lacks is refused with -32021", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-capability-error"},
			Judge: func(c *Case) {
				c.undeclared(func(a *Frame) {
					code, _ := a.Code()
					// A result may do without the input.
					c.want(a, a.OK() || code == -32021, "a result that needs no input, or an error with code -32021", sayHow(a))
				})
			},
		},
		{
			ID: "capability-missing-data", Title: "the refusal for a missing capability names it", Layer: Protocol,
			Requirements: []string{"modern/meta-missing-capability-data"},
			Judge: func(c *Case) {
				c.codes(func(req, a *Frame, code int64) {
					if code != -32021 {
						return
					}
					need := a.Error.Get("data").Get("requiredCapabilities")
					n, objects := 0, true
					for _, v := range need.Members() {
						n++
						objects = objects && v.Kind() == wire.KindObject
					}
					switch {
					case need.Kind() != wire.KindObject || n == 0 || !objects:
						c.Broken(a, "an object of capabilities as data.requiredCapabilities", text(need))
					case within(need, req.caps()):
						c.Broken(a, "a capability that the request does not declare", text(need)+", all of which it declares")
					default:
						c.fits(a, "", c.protocol().Definition("ClientCapabilities", need), "capabilities as ClientCapabilities has them")
					}
				})
			},
		},
		{
			ID: "input-not-cached", Title: "a result that asks for input says nothing of caching", Layer: Protocol,
			Requirements: []string{"modern/mrtr-no-cache-hints"},
			Judge: func(c *Case) {
				c.questions(func(_, a *Frame) {
					c.want(a, a.Result.Get("ttlMs") == nil && a.Result.Get("cacheScope") == nil, "neither ttlMs nor cacheScope", "at least one of them")
				})
			},
		},
		{
			ID: "elicitation-form", Title: "a form has a message and a schema", Layer: Protocol,
			Requirements: []string{"modern/elicit-form-schema"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					mode := p.Get("mode")
					if plain(mode) == "url" {
						return
					}
					schema := p.Get("requestedSchema")
					switch {
					case mode != nil && plain(mode) != "form":
						c.Broken(a, "the mode form, url or none", text(mode))
					case p.Get("message").Kind() != wire.KindString:
						c.Broken(a, "a string as message", text(p.Get("message")))
					case schema.Kind() != wire.KindObject:
						c.Broken(a, "an object as requestedSchema", text(schema))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "elicitation-form-flat", Title: "the schema of a form is flat", Layer: Protocol,
			Requirements: []string{"modern/elicit-form-schema-flat"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					if plain(p.Get("mode")) == "url" || p.Get("requestedSchema") == nil {
						return
					}
					c.fits(a, "elicitation/create", c.protocol().Definition("ElicitRequestFormParams", p), "a flat object of strings, numbers, booleans and enumerations")
				})
			},
		},
		{
			ID: "elicitation-url", Title: "an elicitation by URL has a message and a URL", Layer: Protocol,
			Requirements: []string{"modern/elicit-url-fields"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					if plain(p.Get("mode")) != "url" {
						return
					}
					u := plain(p.Get("url"))
					switch {
					case p.Get("message").Kind() != wire.KindString:
						c.Broken(a, "a string as message", text(p.Get("message")))
					case !absoluteURI(u):
						c.Broken(a, "a URL", text(p.Get("url")))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "elicitation-url-https", Title: "an elicitation by URL uses https", Layer: Protocol,
			Requirements: []string{"modern/elicit-url-https"},
			Judge: func(c *Case) {
				c.elicitationURLs(func(a *Frame, u *url.URL) {
					c.want(a, u.Scheme != "http" || loopback(u.Hostname()), "https, as this is no host of the user's own machine", u.Scheme+"://"+u.Host)
				})
			},
		},
		{
			ID: "elicitation-url-no-user", Title: "an elicitation by URL carries no credentials", Layer: Protocol,
			Requirements: []string{"modern/elicit-url-no-user-data"},
			Judge: func(c *Case) {
				c.elicitationURLs(func(a *Frame, u *url.URL) {
					c.want(a, u.User == nil, "a URL without user and password", "one with them for "+u.Host)
				})
			},
		},
		{
			ID: "elicitation-form-no-secrets", Title: "a form asks for no secrets", Layer: Protocol, Soft: true,
			Requirements: []string{"modern/elicit-form-no-secrets"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					for name := range p.Get("requestedSchema").Get("properties").Members() {
						c.want(a, !secretName.MatchString(name), "no passwords, keys, tokens or payment data in a form", quote(name))
					}
				})
			},
		},
		{
			ID: "elicitation-form-no-links", Title: "a form holds no links", Layer: Protocol,
			Requirements: []string{"modern/elicit-form-no-links"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					if plain(p.Get("mode")) == "url" {
						return
					}
					texts := []string{plain(p.Get("message"))}
					for _, prop := range p.Get("requestedSchema").Get("properties").Members() {
						texts = append(texts, plain(prop.Get("title")), plain(prop.Get("description")))
					}
					for _, s := range texts {
						c.want(a, !strings.Contains(s, "https://") && !strings.Contains(s, "http://"), "no links in the texts of a form", quote(s))
					}
				})
			},
		},
		{
			ID: "sampling-context", Title: "context of servers is asked for only where the client gives it", Layer: Protocol,
			Requirements: []string{"modern/sampling-context-undeclared"},
			Judge: func(c *Case) {
				c.inputs(func(req, a *Frame, _ string, in wire.Raw) {
					if plain(in.Get("method")) != "sampling/createMessage" {
						return
					}
					v := plain(in.Get("params").Get("includeContext"))
					c.want(a, v != "thisServer" && v != "allServers" || req.caps().Get("sampling").Get("context") != nil,
						"no context of servers, as the request does not declare sampling.context", quote(v))
				})
			},
		},
		{
			ID: "sampling-context-avoided", Title: "no context of servers is asked for", Layer: Protocol,
			Requirements: []string{"modern/sampling-context-deprecated"},
			Judge: func(c *Case) {
				c.asks("sampling/createMessage", func(f *Frame, params, _ wire.Raw) {
					v := Name(params, "includeContext")
					c.want(f, v != "thisServer" && v != "allServers", "no context of servers", quote(v))
				})
			},
		},
		{
			ID: "elicitation-removed", Title: "nothing of the elicitation of earlier revisions is left", Layer: Protocol,
			Requirements: []string{"modern/elicit-removed-members"},
			Judge: func(c *Case) {
				c.elicitations(func(a *Frame, p wire.Raw) {
					c.want(a, p.Get("elicitationId") == nil, "no elicitationId", text(p.Get("elicitationId")))
				})
				c.each(func(f *Frame) {
					if f.Method == "notifications/elicitation/complete" {
						c.Broken(f, "no such notification", f.Method)
					}
				})
			},
		},
		{
			ID: "sampling-shape", Title: "a request for sampling has messages and a limit", Layer: Protocol,
			Requirements: []string{"modern/sampling-message-shape"},
			Judge: func(c *Case) {
				c.inputs(func(_, a *Frame, _ string, in wire.Raw) {
					if plain(in.Get("method")) != "sampling/createMessage" {
						return
					}
					p := in.Get("params")
					if p.Get("maxTokens").Kind() != wire.KindNumber {
						c.Broken(a, "a number as maxTokens", text(p.Get("maxTokens")))
						return
					}
					if p.Get("messages").Kind() != wire.KindArray {
						c.Broken(a, "a list as messages", text(p.Get("messages")))
						return
					}
					for m := range p.Get("messages").Elems() {
						role := plain(m.Get("role"))
						c.want(a, (role == "user" || role == "assistant") && m.Get("content") != nil, "messages with a role, user or assistant, and content", text(m))
					}
				})
			},
		},
		{
			ID: "input-unneeded-ignored", Title: "input that was not asked for is ignored", Layer: Protocol,
			Requirements: []string{"modern/mrtr-unneeded-responses-ignored"},
			Judge: func(c *Case) {
				before, after := c.Step("input/plain"), c.Step("input/unneeded")
				if before == nil || after == nil || len(before.Sent()) == 0 || len(after.Sent()) == 0 {
					return
				}
				plainly, a := before.Trace.Answer(before.Sent()[0]), after.Trace.Answer(after.Sent()[0])
				if plainly.OK() && !asksInput(plainly) && a != nil {
					c.want(a, a.OK(), "the result that came without the input", sayHow(a))
				}
			},
		},
		{
			ID: "input-malformed-refused", Title: "malformed input is refused by an error", Layer: Protocol,
			Requirements: []string{"modern/mrtr-malformed-params-error"},
			Judge: func(c *Case) {
				s := c.Step("input/malformed")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					if req.Kind != KindRequest {
						continue
					}
					if a := s.Trace.Answer(req); a != nil {
						c.want(a, a.Failed(), "an error", sayHow(a))
					}
				}
			},
		},
		{
			ID: "input-extra-ignored", Title: "input beyond what was asked for is ignored", Layer: Protocol,
			Requirements: []string{"modern/mrtr-ignores-extra-responses"},
			Judge: func(c *Case) {
				c.retries("input/extra/", func(_, a *Frame) {
					c.want(a, a.OK(), "what comes without the extra input", sayHow(a))
				})
			},
		},
		{
			ID: "input-missing-asked-again", Title: "input that is still missing is asked for again", Layer: Protocol,
			Requirements: []string{"modern/mrtr-rerequests-missing"},
			Judge: func(c *Case) {
				c.retries("input/partial/", func(_, a *Frame) {
					// A result may do without what is missing.
					c.want(a, a.OK() && !isError(a), "the question again", sayHow(a))
				})
			},
		},
		{
			ID: "input-validated", Title: "input of the wrong type is not taken", Layer: Protocol,
			Requirements: []string{"modern/mrtr-validates-responses"},
			Judge: func(c *Case) {
				c.retries("input/wrong-type/", func(_, a *Frame) {
					c.want(a, turnedDown(a), "an error, or the question again", sayHow(a))
				})
			},
		},
		{
			ID: "elicitation-content-checked", Title: "content that does not fit the form is not taken", Layer: Protocol,
			Requirements: []string{"modern/elicit-server-validates-content"},
			Judge: func(c *Case) {
				c.retries("input/misfit/", func(_, a *Frame) {
					c.want(a, turnedDown(a), "an error, or the form again", sayHow(a))
				})
			},
		},
		{
			ID: "elicitation-refusal-handled", Title: "a user who declines gets an answer", Layer: Protocol,
			Requirements: []string{"modern/elicit-server-handles-refusal"},
			Judge: func(c *Case) {
				for _, s := range c.stepsOf("input/retry/") {
					for _, req := range s.Sent() {
						declined := false
						for _, v := range req.Param("inputResponses").Members() {
							declined = declined || Name(v, "action") == "decline"
						}
						if declined && c.Answer(req) != nil {
							c.Saw()
						}
					}
				}
			},
		},
		{
			// A state that decides nothing needs no protection, and nobody can
			// tell from outside whether it does.
			ID: "input-state-integrity", Title: "a state that was tampered with is refused", Layer: Protocol, Soft: true,
			Requirements: []string{"modern/mrtr-state-integrity"},
			Judge: func(c *Case) {
				c.retries("input/tampered/", func(_, a *Frame) {
					c.want(a, turnedDown(a), "an error, or the question again", sayHow(a))
				})
			},
		},
		{
			ID: "input-state-bound", Title: "a state that was given for another request is refused", Layer: Protocol,
			Requirements: []string{"modern/mrtr-state-bound-to-request"},
			Judge: func(c *Case) {
				c.retries("input/foreign/", func(_, a *Frame) {
					c.want(a, turnedDown(a), "an error, or the question again", sayHow(a))
				})
			},
		},
		{
			ID: "input-abandoned-survived", Title: "questions that nobody answers do no harm", Layer: Protocol,
			Requirements: []string{"modern/mrtr-no-assumption-of-retry"},
			Judge:        func(c *Case) { c.Survived("input/abandoned") },
		},
		{
			ID: "input-state-untrusted", Title: "a state that the server never gave does no harm", Layer: Protocol,
			Requirements: []string{"modern/mrtr-state-untrusted"},
			Judge:        func(c *Case) { c.Survived("input/state") },
		},
	}
}

// asking is a tool that was seen to ask for input.
type asking struct {
	call
	state bool // it gave a state to bring back
}

// askingTools are the tools that were seen to ask for input in this session.
func (d *Driver) askingTools() (out []asking) {
	d.View(func(t *Trace) {
		for _, s := range t.steps {
			name, found := strings.CutPrefix(s.Name, "input/first/tools/call/")
			if !found {
				continue
			}
			for _, req := range s.Sent() {
				if a := t.Answer(req); asksInput(a) {
					out = append(out, asking{call{name, string(withoutMeta(req.Params))}, a.Result.Get("requestState") != nil})
				}
			}
		}
	})
	return out
}

// retries visits the answers to what was asked again in the steps whose names
// start with prefix.
func (c *Case) retries(prefix string, visit func(req, a *Frame)) {
	for _, s := range c.stepsOf(prefix) {
		for _, req := range s.Sent() {
			if a := s.Trace.Answer(req); a != nil {
				visit(req, a)
			}
		}
	}
	c.NotObserved("nothing asked for input")
}

// questions visits the results that ask for input.
func (c *Case) questions(visit func(req, a *Frame)) {
	for _, r := range c.results(askers...) {
		if asksInput(r.answer) {
			visit(r.req, r.answer)
		}
	}
}

// inputs visits every request for input.
func (c *Case) inputs(visit func(req, a *Frame, key string, in wire.Raw)) {
	c.questions(func(req, a *Frame) {
		for key, in := range a.Result.Get("inputRequests").Members() {
			visit(req, a, key, in)
		}
	})
}

// elicitations visits the params of every request for elicitation.
func (c *Case) elicitations(visit func(a *Frame, params wire.Raw)) {
	c.inputs(func(_, a *Frame, _ string, in wire.Raw) {
		if plain(in.Get("method")) == "elicitation/create" {
			visit(a, in.Get("params"))
		}
	})
}

// elicitationURLs visits the URLs of elicitations that can be read.
func (c *Case) elicitationURLs(visit func(a *Frame, u *url.URL)) {
	c.elicitations(func(a *Frame, p wire.Raw) {
		if u, err := url.Parse(plain(p.Get("url"))); err == nil && plain(p.Get("mode")) == "url" && u.Host != "" {
			visit(a, u)
		}
	})
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// undeclared visits the answers to requests that asked for input before, when
// the client could give some, and that were repeated without capabilities.
func (c *Case) undeclared(visit func(a *Frame)) {
	for _, s := range c.stepsOf("input/undeclared/") {
		if len(s.Sent()) > 0 && c.asksAnybody(s.Sent()[0]) {
			c.Blocked("it asks clients that never declared anything as well")
			continue
		}
		for _, req := range s.Sent() {
			if a := s.Trace.Answer(req); a != nil && req.sound() {
				visit(a)
			}
		}
	}
	c.NotObserved("nothing asked for input")
}

// asksAnybody reports whether the same is asked of a client that declared
// nothing in its whole session: then nothing was remembered.
func (c *Case) asksAnybody(like *Frame) bool {
	for _, r := range c.results(like.Method) {
		if string(r.req.Trace.ClientCaps) == "{}" && string(r.req.caps()) == "{}" && r.answer.Result.Get("inputRequests") != nil &&
			plain(r.req.Param("name")) == plain(like.Param("name")) && plain(r.req.Param("uri")) == plain(like.Param("uri")) {
			return true
		}
	}
	return false
}

// within reports whether all members of need are in have, at any depth.
func within(need, have wire.Raw) bool {
	if have == nil {
		return false
	}
	for k, v := range need.Members() {
		if !within(v, have.Get(k)) {
			return false
		}
	}
	return true
}
