package check

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// What servers ask of the client: by requests of their own in the stateful
// revisions, by results that want input in the stateless ones.

func askProbes() []Probe {
	return []Probe{
		{
			Name: "tools of a client that declares every variant", Since: rev2025November, Profile: Full, Needs: []string{"tools"},
			Run: func(d *Driver) {
				tools := d.harmlessTools("full/tools")
				for began, i := time.Now(), 0; i < len(tools) && !enough(i, began); i++ {
					t := tools[i]
					d.Step("full/call/" + t.name)
					d.Patient(d.Ask("tools/call", t.params))
				}
				d.Fence()
			},
		},
	}
}

// misfit is content for a form that its schema rules out.
func misfit(schema wire.Raw) (content string, ok bool) {
	for name, p := range schema.Get("properties").Members() {
		wrong := `"goldwire"`
		switch Name(p, "type") {
		case "string":
			wrong = `12345`
		case "number", "integer", "boolean":
		default:
			continue
		}
		return `{` + quote(name) + `:` + wrong + `}`, true
	}
	return "", false
}

// turnedDown reports whether a server took an answer for what it was, a wrong
// one: it failed, asked again, or said so in words.
func turnedDown(a *Frame) bool {
	if a.Failed() || isError(a) || asksInput(a) {
		return true
	}
	for block := range a.result().Get("content").Elems() {
		if saysNo.MatchString(Name(block, "text")) {
			return true
		}
	}
	return false
}

var saysNo = regexp.MustCompile(`(?i)invalid|not valid|valid(at|ity)|schema|error|fail|expected|must be|wrong|reject|type`)

// asks visits what the client was asked for by a method: the message that asks,
// what it asks with, and what the client had declared.
func (c *Case) asks(method string, visit func(f *Frame, params, caps wire.Raw)) {
	if c.Modern() {
		c.inputs(func(req, a *Frame, _ string, in wire.Raw) {
			if plain(in.Get("method")) == method {
				visit(a, in.Get("params"), req.caps())
			}
		})
		return
	}
	c.each(func(f *Frame) {
		if f.Kind == KindRequest && f.Method == method {
			visit(f, f.Params, f.Trace.ClientCaps)
		}
	})
}

// samplings visits the messages of each request for sampling.
func (c *Case) samplings(visit func(f *Frame, messages []wire.Raw)) {
	c.asks("sampling/createMessage", func(f *Frame, params, _ wire.Raw) {
		visit(f, slices.Collect(params.Get("messages").Elems()))
	})
}

// blocks are the content blocks of a message for sampling, one or many.
func blocks(message wire.Raw) []wire.Raw {
	content := message.Get("content")
	if content.Kind() == wire.KindArray {
		return slices.Collect(content.Elems())
	}
	return []wire.Raw{content}
}

// named are the values of a member in those blocks that are of a type, sorted.
func named(blocks []wire.Raw, kind, member string) []string {
	var out []string
	for _, b := range blocks {
		if Name(b, "type") == kind {
			out = append(out, Name(b, member))
		}
	}
	slices.Sort(out)
	return out
}

func askChecks() []Check {
	return []Check{
		{
			ID: "sampling-tool-results-alone", Title: "results of tools stand alone in a message for sampling", Layer: Feature,
			Requirements: []string{"legacy/sampling-tool-results-alone", "modern/sampling-tool-results-alone"},
			Judge: func(c *Case) {
				c.samplings(func(f *Frame, messages []wire.Raw) {
					for _, m := range messages {
						all := blocks(m)
						if n := len(named(all, "tool_result", "toolUseId")); n > 0 {
							c.want(f, n == len(all), "no content beside tool_result", plural(len(all)-n, "other block"))
						}
					}
				})
			},
		},
		{
			ID: "sampling-tool-use-balanced", Title: "each use of a tool in messages for sampling has its result right after it", Layer: Feature,
			Requirements: []string{"legacy/sampling-tool-use-balanced", "modern/sampling-tool-results-balanced"},
			Judge: func(c *Case) {
				c.samplings(func(f *Frame, messages []wire.Raw) {
					for i, m := range messages {
						uses := named(blocks(m), "tool_use", "id")
						if len(uses) == 0 || Name(m, "role") != "assistant" {
							continue
						}
						var results []string
						if i+1 < len(messages) && Name(messages[i+1], "role") == "user" {
							results = named(blocks(messages[i+1]), "tool_result", "toolUseId")
						}
						c.want(f, slices.Equal(uses, results), "results for "+strings.Join(uses, ", ")+" in the user's next message", or(strings.Join(results, ", "), "none"))
					}
				})
			},
		},
	}
}

func legacyAskChecks() []Check {
	return []Check{
		undeclaredCheck("roots-undeclared", "roots/list", "roots", "legacy/roots-server-checks-capability"),
		undeclaredCheck("sampling-undeclared", "sampling/createMessage", "sampling", "legacy/sampling-server-needs-capability"),
		undeclaredCheck("elicitation-undeclared", "elicitation/create", "elicitation", "legacy/elicit-server-needs-capability"),
		{
			ID: "sampling-content-of-revision", Title: "messages for sampling use kinds of content that the revision knows", Layer: Feature,
			Requirements: []string{"legacy/sampling-content-by-revision"},
			Judge: func(c *Case) {
				c.samplings(func(f *Frame, messages []wire.Raw) {
					for _, m := range messages {
						if content := m.Get("content"); content.Kind() == wire.KindArray && !c.AtLeast(rev2025November) {
							c.Broken(f, "one block as content", text(content))
							continue
						}
						for _, b := range blocks(m) {
							kind := Name(b, "type")
							since, known := samplingSince[kind]
							c.want(f, known && c.AtLeast(since), "a kind of content that revision "+c.Revision+" has for sampling", quote(kind))
						}
					}
				})
			},
		},
		{
			ID: "sampling-context-declared", Title: "context of servers is asked for only where the client declared it", Layer: Feature,
			Requirements: []string{"legacy/sampling-context-values"},
			Judge: func(c *Case) {
				c.asks("sampling/createMessage", func(f *Frame, params, caps wire.Raw) {
					v := Name(params, "includeContext")
					c.want(f, v != "thisServer" && v != "allServers" || caps.Get("sampling").Get("context") != nil, "no context of servers, as the client did not declare sampling.context", quote(v))
				})
			},
		},
		{
			ID: "url-elicitation-shape", Title: "an elicitation by URL has a message, a URL and an id of its own", Layer: Feature,
			Requirements: []string{"legacy/elicit-url-shape"},
			Judge: func(c *Case) {
				type key struct {
					session *Trace
					id      string
				}
				used := map[key]bool{}
				c.asks("elicitation/create", func(f *Frame, params, _ wire.Raw) {
					if Name(params, "mode") != "url" {
						return
					}
					id, ok := params.Get("elicitationId").Str()
					own := key{f.Trace, id}
					switch {
					case params.Get("message").Kind() != wire.KindString:
						c.Broken(f, "a string as message", text(params.Get("message")))
					case !absoluteURI(Name(params, "url")):
						c.Broken(f, "a URL", text(params.Get("url")))
					case !ok || id == "":
						c.Broken(f, "a string as elicitationId", text(params.Get("elicitationId")))
					case used[own]:
						c.Broken(f, "an elicitationId that was not used before", text(params.Get("elicitationId")))
					default:
						c.Saw()
					}
					used[own] = true
				})
			},
		},
		{
			ID: "url-elicitation-https", Title: "an elicitation by URL uses https", Layer: Feature,
			Requirements: []string{"legacy/elicit-url-https"},
			Judge: func(c *Case) {
				c.askedURLs(func(f *Frame, u string) {
					p := readURL(u)
					c.want(f, p == nil || p.Scheme != "http" || loopback(p.Hostname()), "https, as this is no host of the user's own machine", quote(u))
				})
			},
		},
		{
			ID: "url-elicitation-clean", Title: "the URL of an elicitation carries no credentials", Layer: Feature,
			Requirements: []string{"legacy/elicit-url-clean"},
			Judge: func(c *Case) {
				c.askedURLs(func(f *Frame, u string) {
					if p := readURL(u); p != nil {
						secret := ""
						for name := range p.Query() {
							if secretName.MatchString(name) {
								secret = name
							}
						}
						c.want(f, p.User == nil && secret == "", "a URL without user, password or other secrets", "one with "+or(secret, "a user")+" for "+p.Host)
					}
				})
			},
		},
		{
			ID: "form-elicitation-no-links", Title: "a form holds no links", Layer: Feature,
			Requirements: []string{"legacy/elicit-form-no-links"},
			Judge: func(c *Case) {
				c.askedForms(func(f *Frame, params wire.Raw) {
					texts := []string{Name(params, "message")}
					for _, p := range params.Get("requestedSchema").Get("properties").Members() {
						texts = append(texts, Name(p, "title"), Name(p, "description"))
					}
					for _, s := range texts {
						c.want(f, !strings.Contains(s, "https://") && !strings.Contains(s, "http://"), "no links in the texts of a form", quote(s))
					}
				})
			},
		},
		{
			ID: "form-elicitation-no-secrets", Title: "a form asks for no secrets", Layer: Feature, Soft: true,
			Requirements: []string{"legacy/elicit-no-sensitive-legacy", "legacy/elicit-no-sensitive-form"},
			Judge: func(c *Case) {
				c.askedForms(func(f *Frame, params wire.Raw) {
					for name := range params.Get("requestedSchema").Get("properties").Members() {
						c.want(f, !secretName.MatchString(name), "no passwords, keys, tokens or payment data in a form", quote(name))
					}
				})
			},
		},
		{
			ID: "form-content-checked", Title: "content that does not fit the form is not taken", Layer: Feature,
			Requirements: []string{"legacy/elicit-accept-content"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("declared/misfit/") {
					for _, req := range s.Sent() {
						a := s.Trace.Answer(req)
						if a == nil {
							continue
						}
						asked, replied := 0, -1
						for f := range s.Trace.visit(between(s.Trace.frames, req.Index, a.Index)) {
							switch {
							case f.FromServer && f.Kind == KindRequest && f.Method == "elicitation/create":
								asked++
							case !f.FromServer && f.Kind == KindResponse && Name(f.Result, "action") == "accept":
								replied = f.Index
							}
						}
						// What came before the reply says nothing about it.
						if replied >= 0 && asked > 0 {
							c.want(a, asked > 1 || turnedDown(a), "an error, or the form again", outcome(a))
						}
					}
				}
			},
		},
		{
			ID: "elicitation-complete-known", Title: "the notice that an elicitation is complete names one that was asked for", Layer: Feature,
			Requirements: []string{"legacy/elicit-complete-notification"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					asked := map[string]bool{}
					for f := range t.all() {
						switch {
						case !f.FromServer:
						case f.Kind == KindRequest && f.Method == "elicitation/create":
							asked[Name(f.Params, "elicitationId")] = true
						case f.Failed():
							for e := range f.Error.Get("data").Get("elicitations").Elems() {
								asked[Name(e, "elicitationId")] = true
							}
						case f.Method == "notifications/elicitation/complete":
							id, ok := f.Param("elicitationId").Str()
							c.want(f, ok && asked[id], "the id of an elicitation that this client was asked for", text(f.Param("elicitationId")))
						}
					}
				}
			},
		},
		{
			ID: "cancels-what-runs", Title: "the server cancels only what has no answer yet", Layer: Protocol,
			Requirements: []string{"legacy/cancel-in-progress-only"},
			Judge: func(c *Case) {
				c.cancellations(func(f, req, answer *Frame) {
					c.want(f, answer == nil || !f.Trace.surelyRead(answer, f), "the id of a request that still runs", "that of "+text(req.ID)+", which was answered before")
				})
			},
		},
		{
			ID: "cancels-no-tasks", Title: "the server cancels tasks by tasks/cancel only", Layer: Protocol,
			Requirements: []string{"legacy/cancel-tasks-via-tasks-cancel"},
			Judge: func(c *Case) {
				c.cancellations(func(f, req, _ *Frame) {
					c.want(f, req.Param("task") == nil, "tasks/cancel, as the request is a task", "a notification")
				})
			},
		},
		{
			ID: "late-answer-tolerated", Title: "an answer to what the server has cancelled does no harm", Layer: Protocol,
			Requirements: []string{"legacy/cancel-late-reply-ignored"},
			Judge: func(c *Case) {
				c.cancellations(func(f, _, answer *Frame) {
					if answer == nil {
						return
					}
					t, last := f.Trace, max(answer.Index, f.Index)
					switch {
					case t.fenced(last):
						c.Saw()
					case t.lost() != "" && !t.cut() && !t.noted(noteStalled):
						c.Broken(answer, "a server that goes on working", t.lost())
					}
				})
			},
		},
		{
			ID: "server-progress-tokens", Title: "requests of the server that run at once have different progress tokens", Layer: Protocol,
			Requirements: []string{"legacy/progress-token-unique"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					running := map[string]string{} // tokens by the id of their request
					for f := range t.all() {
						switch {
						case !f.FromServer && f.Kind == KindResponse:
							delete(running, idKey(f.ID))
						case f.FromServer && f.Kind == KindRequest && f.meta("progressToken") != nil:
							token, same := idKey(f.meta("progressToken")), false
							for _, other := range running {
								same = same || other == token
							}
							c.want(f, !same, "a progressToken of its own", text(f.meta("progressToken"))+", which an open request has")
							running[idKey(f.ID)] = token
						}
					}
				}
			},
		},
	}
}

// surelyRead reports whether the server had read a line before it sent another
// one: it had answered what was sent after it.
func (t *Trace) surelyRead(line, before *Frame) bool {
	for req := range t.visit(between(t.sent, line.Index+1, before.Index)) {
		if a := t.Answer(req); a != nil && a.Index < before.Index {
			return true
		}
	}
	return false
}

// readURL reads a URL that has a host, nil for others.
func readURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return nil
	}
	return u
}

// samplingSince are the kinds of content that messages for sampling may have,
// with the revision they came with.
var samplingSince = map[string]string{
	"text": firstLegacy, "image": firstLegacy, "audio": rev2025March, "tool_use": rev2025November, "tool_result": rev2025November,
}

// undeclaredCheck holds that the server does not ask a client for a feature
// that it did not declare. It is seen to keep to that when a tool that it ran
// could have asked.
func undeclaredCheck(id, method, area, requirement string) Check {
	return Check{
		ID: id, Title: area + " are asked for where the client declared them", Layer: Feature, Requirements: []string{requirement},
		Judge: func(c *Case) {
			for _, t := range c.Traces() {
				declared := t.ClientCaps.Get(area) != nil
				for f := range t.all() {
					switch {
					case f.FromServer && f.Kind == KindRequest && f.Method == method:
						c.want(f, declared, "no "+method+", as the client did not declare "+area, "the request")
					case !f.FromServer && !declared && f.Method == "tools/call" && t.Answer(f).OK():
						c.Saw()
					}
				}
			}
		},
	}
}

// askedForms visits the elicitations by form.
func (c *Case) askedForms(visit func(f *Frame, params wire.Raw)) {
	c.asks("elicitation/create", func(f *Frame, params, _ wire.Raw) {
		if Name(params, "mode") != "url" {
			visit(f, params)
		}
	})
}

// askedURLs visits the URLs that the client was asked to have visited, by
// requests and by the error that says what to visit first.
func (c *Case) askedURLs(visit func(f *Frame, u string)) {
	c.each(func(f *Frame) {
		if f.Kind == KindRequest && f.Method == "elicitation/create" && Name(f.Params, "mode") == "url" {
			visit(f, Name(f.Params, "url"))
		}
		if f.Failed() {
			for e := range f.Error.Get("data").Get("elicitations").Elems() {
				if Name(e, "mode") == "url" {
					visit(f, Name(e, "url"))
				}
			}
		}
	})
}

// cancellations visits the notifications by which the server cancels requests
// of its own, each with the request and the answer of this client, if any.
func (c *Case) cancellations(visit func(f, req, answer *Frame)) {
	for _, t := range c.Traces() {
		asked, answers := map[string]*Frame{}, map[string]*Frame{}
		for f := range t.all() {
			switch {
			case f.FromServer && f.Kind == KindRequest:
				asked[idKey(f.ID)] = f
			case !f.FromServer && f.Kind == KindResponse:
				answers[idKey(f.ID)] = f
			}
		}
		for f := range t.all() {
			if !f.FromServer || f.Method != methodCancelled || f.Param("requestId") == nil {
				continue
			}
			k := idKey(f.Param("requestId"))
			if req := asked[k]; req != nil && req.Index < f.Index {
				visit(f, req, answers[k])
			}
		}
	}
}
