package client

import (
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// ask is something that the server wanted to know of the client: a request of
// its own in the stateful revisions, an entry of inputRequests in the stateless
// ones.
type ask struct {
	talk   *talk
	method string
	params wire.Raw
	caps   wire.Raw     // what the client had declared
	answer *check.Frame // that holds the answer, nil where there is none
	result wire.Raw     // the answer, nil where it is an error or missing
}

// asks calls fn for everything that the server wanted to know by a method.
func asks(c *check.Case, method string, fn func(a ask)) {
	for _, k := range talks(c) {
		if !c.Modern() {
			for _, req := range k.asked(method) {
				a := ask{talk: k, method: method, params: req.Params, caps: k.caps(), answer: k.replies[req]}
				if a.answer.OK() {
					if a.result = a.answer.Result; isTask(a.answer) {
						a.result = nil
					}
				}
				fn(a)
			}
			continue
		}
		for _, r := range k.rounds() {
			for key, in := range r.answer.Result.Get("inputRequests").Members() {
				if str(in.Get("method")) != method {
					continue
				}
				a := ask{talk: k, method: method, params: in.Get("params"), caps: r.req.Params.Get("_meta").Get(metaCaps), answer: r.retry}
				if r.retry != nil {
					a.result = r.retry.Params.Get("inputResponses").Get(key)
				}
				fn(a)
			}
		}
	}
}

// answered is asks for what the client answered by a result.
func answered(c *check.Case, method string, fn func(a ask)) {
	asks(c, method, func(a ask) {
		if a.result != nil {
			fn(a)
		}
	})
}

// askChecks are about what a server asks of a client: roots, sampling,
// elicitation.
func askChecks() []check.Check {
	return []check.Check{
		declared("client-roots-declared", "roots/list", "roots", "legacy/roots-capability", "modern/roots-capability-declared"),
		declared("client-sampling-declared", "sampling/createMessage", "sampling", "legacy/sampling-capability", "modern/sampling-capability-declared"),
		declared("client-elicitation-declared", "elicitation/create", "elicitation", "legacy/elicit-capability", "modern/elicit-capability-declared"),
		{
			ID: "client-roots-shape", Title: "roots have a uri, and a name that is a string", Layer: check.Feature,
			Requirements: []string{"legacy/roots-list-shape"},
			Judge: func(c *check.Case) {
				answered(c, "roots/list", func(a ask) {
					if a.result.Get("roots").Kind() != wire.KindArray {
						c.Broken(a.answer, "an array as roots", show(a.result.Get("roots")))
						return
					}
					for r := range a.result.Get("roots").Elems() {
						name := r.Get("name")
						if r.Get("uri").Kind() != wire.KindString || name != nil && name.Kind() != wire.KindString {
							c.Broken(a.answer, "a string as uri, and as name if there is one", show(r))
							return
						}
					}
					c.Saw()
				})
			},
		},
		{
			ID: "client-roots-uri", Title: "roots are files", Layer: check.Feature,
			Requirements: []string{"legacy/roots-uri-file", "modern/roots-file-uri"},
			Judge: func(c *check.Case) {
				answered(c, "roots/list", func(a ask) {
					for r := range a.result.Get("roots").Elems() {
						if uri, ok := r.Get("uri").Str(); ok {
							want(c, a.answer, strings.HasPrefix(strings.ToLower(uri), "file://"), "a URI that begins with file://", show(r.Get("uri")))
						}
					}
				})
			},
		},
		{
			ID: "client-roots-change-removed", Title: "no changes of roots are announced", Layer: check.Protocol,
			Requirements: []string{"modern/roots-list-changed-removed"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					if f.Kind == check.KindRequest || f.Kind == check.KindNotification {
						want(c, f, f.Method != "notifications/roots/list_changed", "no such notification, which the revision does not have", f.Method)
					}
				})
			},
		},
		{
			ID: "client-sampling-shape", Title: "the result of sampling has a role, content and the model", Layer: check.Feature,
			Requirements: []string{"legacy/sampling-result-shape", "modern/sampling-result-shape"},
			Judge: func(c *check.Case) {
				answered(c, "sampling/createMessage", func(a ask) {
					role := str(a.result.Get("role"))
					content := a.result.Get("content")
					switch {
					case role != "user" && role != "assistant":
						c.Broken(a.answer, "user or assistant as role", show(a.result.Get("role")))
					case content.Kind() != wire.KindObject && content.Kind() != wire.KindArray:
						c.Broken(a.answer, "content", show(content))
					default:
						want(c, a.answer, a.result.Get("model").Kind() == wire.KindString, "a string as model", show(a.result.Get("model")))
					}
				})
			},
		},
		{
			ID: "client-sampling-content", Title: "the result of sampling has content that the revision knows", Layer: check.Feature,
			Requirements: []string{"legacy/sampling-content-by-revision"},
			Judge: func(c *check.Case) {
				answered(c, "sampling/createMessage", func(a ask) {
					if content := a.result.Get("content"); content.Kind() == wire.KindObject || content.Kind() == wire.KindArray {
						later := check.LaterContent(c.Revision, content)
						want(c, a.answer, later == "", "content as revision "+c.Revision+" has it", later)
					}
				})
			},
		},
		{
			ID: "client-sampling-length", Title: "the text of sampling stays within maxTokens", Layer: check.Feature,
			Requirements: []string{"modern/sampling-max-tokens-respected"},
			Judge: func(c *check.Case) {
				answered(c, "sampling/createMessage", func(a ask) {
					most, ok := a.params.Get("maxTokens").Int()
					if !ok {
						return
					}
					n := len(str(a.result.Get("content").Get("text")))
					for b := range a.result.Get("content").Elems() {
						n += len(str(b.Get("text")))
					}
					// A token is some four letters; four times that is far
					// beyond.
					want(c, a.answer, int64(n) <= most*16, "a text of at most "+show(a.params.Get("maxTokens"))+" tokens", plural(n, "byte"))
				})
			},
		},
		{
			ID: "client-sampling-tools-declared", Title: "a client without sampling.tools does not sample with tools", Layer: check.Feature,
			Requirements: []string{"legacy/sampling-tools-undeclared-error", "modern/sampling-tools-capability-declared"},
			Judge: func(c *check.Case) {
				asks(c, "sampling/createMessage", func(a ask) {
					if a.params.Get("tools") == nil && a.params.Get("toolChoice") == nil || a.answer == nil || a.caps.Get("sampling") == nil || a.caps.Get("sampling").Get("tools") != nil {
						return
					}
					if c.Modern() {
						uses := a.uses("tool_use")
						want(c, a.answer, !uses, "no use of tools, as sampling.tools is not declared", "content of the type tool_use")
						return
					}
					want(c, a.answer, a.answer.Failed(), "an error, as sampling.tools is not declared", show(a.answer.Result))
				})
			},
		},
		{
			ID: "client-sampling-tool-errors", Title: "messages whose tool results are missing or mixed are refused", Layer: check.Feature,
			Requirements: []string{"legacy/sampling-tool-errors"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptFaultyAsks) {
					for _, req := range k.asked("sampling/createMessage") {
						if hasBlock(req.Params.Get("messages"), "tool_use") && k.caps().Get("sampling").Get("tools") != nil {
							refused(c, k, req, -32602)
						}
					}
				}
			},
		},
		{
			ID: "client-sampling-tool-choice", Title: "tools are not used where the server wants none", Layer: check.Feature,
			Requirements: []string{"legacy/sampling-tool-choice"},
			Judge: func(c *check.Case) {
				answered(c, "sampling/createMessage", func(a ask) {
					switch mode := str(a.params.Get("toolChoice").Get("mode")); mode {
					case "none":
						want(c, a.answer, !a.uses("tool_use"), "no tool_use", "one")
					case "required":
						if a.caps.Get("sampling").Get("tools") != nil {
							want(c, a.answer, a.uses("tool_use"), "a tool_use", "none")
						}
					}
				})
			},
		},
		{
			ID: "client-elicitation-mode", Title: "a client that declares elicitation has a mode of it", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-one-mode", "modern/elicit-capability-has-mode"},
			Judge: func(c *check.Case) {
				look := func(f *check.Frame, v wire.Raw) {
					if v == nil {
						return
					}
					empty := true
					for range v.Members() {
						empty = false
					}
					want(c, f, v.Kind() == wire.KindObject && (empty || v.Get("form") != nil || v.Get("url") != nil), "form, url or nothing in elicitation", show(v))
				}
				if c.Modern() {
					eachRequest(c, func(_ *talk, f *check.Frame) { look(f, f.Params.Get("_meta").Get(metaCaps).Get("elicitation")) })
					return
				}
				for _, k := range talks(c) {
					if k.open != nil {
						look(k.open, k.caps().Get("elicitation"))
					}
				}
				asks(c, "elicitation/create", func(a ask) {
					if code, _ := a.answer.Code(); a.answer.Failed() && a.mode() == "form" && a.hasMode("form") && a.params.Get("task") == nil && (code == -32601 || code == -32602) && plainForm(a.params) {
						c.Broken(a.answer, "an answer to a form, as it is declared", "error "+show(a.answer.Error))
					}
				})
			},
		},
		{
			ID: "client-elicitation-default-mode", Title: "an elicitation without a mode is a form", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-mode-default-form", "modern/elicit-client-default-mode"},
			Judge: func(c *check.Case) {
				explicit := false
				asks(c, "elicitation/create", func(b ask) {
					explicit = explicit || str(b.params.Get("mode")) == "form" && b.result != nil
				})
				asks(c, "elicitation/create", func(a ask) {
					if a.params.Get("mode") != nil || !a.hasMode("form") || a.answer == nil || !plainForm(a.params) {
						return
					}
					// It is judged by how the same client takes a form that
					// says that it is one.
					if a.answer.Failed() {
						if explicit {
							c.Broken(a.answer, "an answer to a form", "error "+show(a.answer.Error))
						}
						return
					}
					if a.result != nil {
						want(c, a.answer, str(a.result.Get("action")) != "accept" || a.result.Get("content") != nil, "content, as the form was accepted", show(a.result))
					}
				})
			},
		},
		{
			ID: "client-elicitation-action", Title: "an elicitation is accepted, declined or cancelled", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-result-action", "modern/elicit-client-action-values"},
			Judge: func(c *check.Case) {
				answered(c, "elicitation/create", func(a ask) {
					action := str(a.result.Get("action"))
					want(c, a.answer, action == "accept" || action == "decline" || action == "cancel", "accept, decline or cancel as action", show(a.result.Get("action")))
				})
			},
		},
		{
			ID: "client-elicitation-content", Title: "content comes only with a form that was accepted", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-result-action", "modern/elicit-client-content-rules"},
			Judge: func(c *check.Case) {
				answered(c, "elicitation/create", func(a ask) {
					if content := a.result.Get("content"); content != nil {
						want(c, a.answer, str(a.result.Get("action")) == "accept" && a.mode() == "form", "no content", show(content))
					} else {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-elicitation-content-fits", Title: "accepted content fits the form", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-accept-content", "modern/elicit-client-content-valid"},
			Judge: func(c *check.Case) {
				answered(c, "elicitation/create", func(a ask) {
					content := a.result.Get("content")
					if str(a.result.Get("action")) != "accept" || a.mode() != "form" || content == nil {
						return
					}
					schema, err := a.talk.view.trace.Compile(a.params.Get("requestedSchema"))
					if err != nil {
						c.NotObserved(err.Error())
						return
					}
					if err := schema.Validate(content); err != nil {
						c.Broken(a.answer, "content that fits requestedSchema", err.Error())
					} else {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-elicitation-defaults", Title: "forms are filled with their defaults", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-defaults", "modern/elicit-client-defaults"}, Soft: true,
			Judge: func(c *check.Case) {
				answered(c, "elicitation/create", func(a ask) {
					content := a.result.Get("content")
					if str(a.result.Get("action")) != "accept" || content == nil || !allDefaults(a.params) {
						return
					}
					for name, p := range a.params.Get("requestedSchema").Get("properties").Members() {
						if !wire.Equal(content.Get(name), p.Get("default")) {
							// Whoever fills forms in may have chosen otherwise.
							c.Tolerated(a.answer, "the default of "+name+": "+show(p.Get("default")), show(content.Get(name)))
							return
						}
					}
					c.Saw()
				})
			},
		},
		{
			ID: "client-elicitation-undeclared-mode", Title: "a mode of elicitation that is not declared is not served", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-undeclared-mode-error", "modern/elicit-client-undeclared-mode"},
			Judge: func(c *check.Case) {
				asks(c, "elicitation/create", func(a ask) {
					if a.answer == nil || a.caps.Get("elicitation") == nil || a.hasMode(a.mode()) {
						return
					}
					if c.Modern() {
						want(c, a.answer, str(a.result.Get("action")) != "accept", "no answer that accepts", show(a.result))
						return
					}
					code, _ := a.answer.Code()
					want(c, a.answer, a.answer.Failed() && code == -32602, "an error with code -32602", outcome(a.answer))
				})
			},
		},
		{
			ID: "client-elicitation-no-prefetch", Title: "the URL of an elicitation is not fetched by the client", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-url-no-prefetch", "modern/elicit-client-no-prefetch"},
			Judge: func(c *check.Case) {
				asked := false
				asks(c, "elicitation/create", func(a ask) { asked = asked || a.mode() == "url" && a.answer != nil })
				untouched(c, canaryElicit, asked, "no request to the URL before the user agreed")
			},
		},
		{
			ID: "client-no-schema-fetch", Title: "references of schemas to the network are not followed", Layer: check.Feature,
			Requirements: []string{"modern/schema-no-network-ref"},
			Judge: func(c *check.Case) {
				untouched(c, canarySchema, listedTools(c, scriptCanaries), "no request for what a schema refers to")
			},
		},
		{
			ID: "client-icon-scheme-refused", Title: "icons are not loaded over an unsafe scheme", Layer: check.Feature,
			Requirements: []string{"legacy/icon-src-scheme", "modern/icons-client-unsafe-scheme"},
			Judge: func(c *check.Case) {
				untouched(c, canaryIcon, listedTools(c, scriptCanaries), "no request for an icon by http")
			},
		},
		{
			ID: "client-icon-no-credentials", Title: "icons are fetched without credentials, and not from elsewhere", Layer: check.Feature,
			Requirements: []string{"legacy/icon-fetch-origin", "modern/icons-client-no-credentials"},
			Judge: func(c *check.Case) {
				seen := listedTools(c, scriptCanaries)
				for _, v := range views(c, scriptCanaries) {
					for _, x := range v.whole {
						switch {
						case strings.Contains(x.path, canaryRedirected):
							c.Broken(x.at(), "no redirect of an icon followed to another host", "a request for "+x.path)
						case strings.Contains(x.path, canaryOwnIcon), strings.Contains(x.path, canaryIcon):
							secret := x.Header.Get("authorization") != "" || x.Header.Get("cookie") != ""
							want(c, x.at(), !secret, "a request without credentials", "one with Authorization or Cookie")
						}
					}
				}
				if seen {
					c.Saw()
				}
			},
		},
		{
			ID: "client-schema-bounds", Title: "schemas that are costly to evaluate do not stop the client", Layer: check.Feature,
			Requirements: []string{"modern/schema-resource-bounds"}, Soft: true,
			Judge: func(c *check.Case) {
				calls := calledTools(c, Good)
				if !calls {
					c.NotObserved("the client calls no tool")
					return
				}
				for _, v := range views(c, scriptCostlySchemas) {
					listed, called := false, false
					for _, k := range v.talks {
						for _, f := range k.requests("") {
							listed = listed || f.Method == "tools/list" && k.answers[f].OK()
							called = called || f.Method == callTool
						}
					}
					switch {
					case called:
						c.Saw()
					case listed && v.why != OverExit:
						c.Broken(nil, "a call of the tool that it calls elsewhere", "no call within the time")
					}
				}
			},
		},
	}
}

// declared makes the check that a client which answers by a result had declared
// that it would.
func declared(id, method, area, legacy, modern string) check.Check {
	return check.Check{
		ID: id, Title: "a client that answers " + method + " declares it", Layer: check.Protocol,
		Requirements: []string{legacy, modern},
		Judge: func(c *check.Case) {
			answered(c, method, func(a ask) {
				want(c, a.answer, a.caps.Get(area).Kind() == wire.KindObject, "the client's capability "+area, "a result without it")
			})
		},
	}
}

// mode is that of an elicitation.
func (a ask) mode() string {
	if m := str(a.params.Get("mode")); m != "" {
		return m
	}
	return "form"
}

// hasMode reports whether the client declared a mode of elicitation.
func (a ask) hasMode(mode string) bool {
	v := a.caps.Get("elicitation")
	if v == nil {
		return false
	}
	return v.Get(mode) != nil || mode == "form" && v.Get("url") == nil
}

// uses reports whether the answer has a block of a type.
func (a ask) uses(kind string) bool {
	return hasBlock(wire.Raw("["+string(orNull(a.result))+"]"), kind)
}

func orNull(v wire.Raw) wire.Raw {
	if v == nil {
		return wire.Raw("null")
	}
	return v
}

// hasBlock reports whether a message of several has a block of a type.
func hasBlock(messages wire.Raw, kind string) bool {
	for m := range messages.Elems() {
		content := m.Get("content")
		if str(content.Get("type")) == kind {
			return true
		}
		for b := range content.Elems() {
			if str(b.Get("type")) == kind {
				return true
			}
		}
	}
	return false
}

// plainForm reports whether an elicitation is a form that nothing is wrong
// with.
func plainForm(params wire.Raw) bool {
	return params.Get("message").Kind() == wire.KindString && params.Get("requestedSchema").Kind() == wire.KindObject
}

// allDefaults reports whether every field of a form has a default.
func allDefaults(params wire.Raw) bool {
	n := 0
	for _, p := range params.Get("requestedSchema").Get("properties").Members() {
		if p.Get("default") == nil {
			return false
		}
		n++
	}
	return n > 0
}

// untouched judges that nobody asked for what only a client that goes too far asks
// for; led says that the client was led to it.
func untouched(c *check.Case, mark string, led bool, expected string) {
	found := false
	for _, v := range views(c) {
		for _, x := range v.whole {
			if strings.Contains(x.path, mark) {
				c.Broken(x.at(), expected, x.Method+" "+x.path)
				found = true
			}
		}
	}
	if led && !found {
		c.Saw()
	}
}

// listedTools reports whether the client listed the tools in a script,
// calledTools whether it called one.
func listedTools(c *check.Case, script string) bool {
	return did(c, script, "tools/list")
}

func calledTools(c *check.Case, script string) bool { return did(c, script, callTool) }

func did(c *check.Case, script, method string) bool {
	for _, v := range views(c, script) {
		for _, k := range v.talks {
			for _, f := range k.requests(method) {
				if k.answers[f].OK() {
					return true
				}
			}
		}
	}
	return false
}

// Parts of the paths of what only a client that goes too far asks for.
const (
	canaryElicit     = "/canary/elicit"
	canarySchema     = "/canary/schema"
	canaryIcon       = "/canary/icon"
	canaryOwnIcon    = "/canary/own-icon"
	canaryRedirected = "/canary/redirected"
)
