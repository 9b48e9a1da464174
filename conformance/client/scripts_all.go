package client

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// scripts are those beside the good server.
func scripts() []Script {
	return slices.Concat(shapeScripts(), askScripts(), inputScripts(), httpScripts(), headerScripts(), eraScripts(), stdioScripts(), authScripts())
}

// Names of scripts that checks look for. One that ends with a dash stands for
// all that begin so.
const (
	scriptTour            = "tour"
	scriptAsks            = "asks"
	scriptFaultyAsks      = "faulty-asks"
	scriptTaskAsks        = "task-asks"
	scriptBadJSON         = "no-json"
	scriptBadRequest      = "no-request"
	scriptBadCancels      = "odd-cancellations"
	scriptUnknownComplete = "unknown-completion"
	scriptDialect         = "unknown-dialect"
	scriptRefuseInit      = "initialize-refused"
	scriptUnknownVersion  = "unknown-version"
	scriptSilence         = "silence"
	scriptPages           = "pages"
	scriptOddPages        = "odd-pages"
	scriptEmptyCursor     = "empty-cursor"
	scriptRefusedCursor   = "refused-cursor"
	scriptShortLived      = "short-lived"
	scriptCanaries        = "canaries"
	scriptCostlySchemas   = "costly-schemas"
	scriptUntyped         = "untyped-results"
	scriptRounds          = "rounds"
	scriptAllRounds       = "rounds-undeclared"
	scriptStateOnly       = "state-only"
	scriptStreams         = "streams"
	scriptOddFields       = "odd-fields"
	scriptJSON            = "mixed-answers"
	scriptHeaderCase      = "header-case"
	scriptClosedGet       = "closed-stream"
	scriptCutStream       = "cut-stream"
	scriptPolling         = "polling"
	scriptSessionGone     = "session-gone"
	scriptOldServer       = "old-server-"
	scriptBrokenStream    = "broken-stream"
	scriptMismatch        = "header-mismatch"
	scriptRefusedOnce     = "version-refused"
	scriptModern400       = "modern-400-"
	scriptOld400          = "old-400-"
	scriptOldErrors       = "old-errors"
	scriptMute            = "mute-probe"
	scriptNoOverlap       = "no-common-version"
	scriptDraftCode       = "draft-code"
	scriptOtherName       = "other-name"
	scriptStderr          = "stderr"
	scriptStubborn        = "stubborn"
	scriptDying           = "dying"
	scriptDyingListen     = "dying-subscription"
)

// stepAfter is the step of a script in which the server sends what is odd, and
// asks then whether the client still lives.
const stepAfter = "after"

// Revisions that scripts begin or end with.
const (
	rev2024 = "2024-11-05"
	march   = "2025-03-26"
	june    = "2025-06-18"
	latest  = "2025-11-25" // of the stateful ones
	modern  = "2026-07-28"
)

// asker is a way to say something to the client beside answers.
type asker struct {
	play *Play
	call *Call // whose way it is; nil for the way beside requests
}

func (a asker) ask(method, params string) wire.Raw {
	if a.call != nil {
		return a.call.Ask(method, params)
	}
	return a.play.Ask(method, params)
}

func (a asker) send(text string) bool {
	if a.call != nil {
		return a.call.Send(text)
	}
	return a.play.Send(text)
}

func (a asker) notify(method, params string) bool { return a.send(message("", method, params)) }

// whenReady calls fn once the client can be asked: while one of its requests
// waits for the answer, so that the client is there, or beside its requests
// where it sends none.
func whenReady(p *Play, fn func(a asker)) {
	var once sync.Once
	begun := make(chan struct{})
	p.On["*"] = func(c *Call) {
		if c.ID == nil || c.Method == initialize || c.Method == "ping" || !p.Modern() && !p.IsReady() {
			return
		}
		once.Do(func() {
			close(begun)
			fn(asker{p, c})
		})
	}
	p.Ready = func() {
		const patience = 400 * time.Millisecond
		if p.Modern() || !p.Wait(patience) {
			return
		}
		select {
		case <-begun:
			return
		default:
		}
		if p.CanSend() {
			once.Do(func() { fn(asker{play: p}) })
		}
	}
}

// firstRequest calls fn for the first request of the client after the handshake
// or the discovery.
func firstRequest(p *Play, fn func(c *Call)) {
	var once sync.Once
	p.On["*"] = func(c *Call) {
		if c.ID != nil && c.Method != initialize && c.Method != discover && c.Method != "ping" && c.Method != listen {
			once.Do(func() { fn(c) })
		}
	}
}

// atStateless calls fn for every request of the stateless era.
func atStateless(p *Play, fn func(c *Call)) {
	p.On["*"] = func(c *Call) {
		if c.ID != nil && (c.Method == discover || c.Meta(metaVersion) != nil) {
			fn(c)
		}
	}
}

// tool is a tool of the scripts that does no harm.
func scriptTool(name, schema, more string) string {
	return `{"name":` + string(wire.Quote(name)) + `,"description":"A tool of a test.","inputSchema":` + schema + more + `,"annotations":{"readOnlyHint":true}}`
}

const noArguments = `{"type":"object","properties":{}}`

// shapeScripts change what the server offers and how it pages.
func shapeScripts() []Script {
	return []Script{
		{
			Name: scriptTour, About: "a server that does what is odd and allowed: capabilities, notifications and members that nobody knows",
			Serve: func(p *Play) {
				p.Capabilities = strings.TrimSuffix(p.Capabilities, "}") + `,"experimental":{"com.example/odd":{"level":3}},"com.example.unknown":{}}`
				whenReady(p, func(a asker) {
					if !p.Modern() {
						a.notify("notifications/tools/list_changed", "")
						a.notify("notifications/message", `{"level":"info","logger":"tour","data":{"any":[1,null]}}`)
					}
					a.notify("notifications/com.example/unknown", `{"a":[1,{"b":null}]}`)
					a.notify("notifications/com.example/unknown", "")
					if !p.Modern() {
						a.ask("ping", "")
						a.ask("ping", `{"_meta":{"com.example/probe":{"a":[1,null]},"plain":true}}`)
					}
				})
			},
		},
		{
			Name: scriptPages, About: "lists of one entry a page",
			Serve: func(p *Play) { p.PageSize = 1 },
		},
		{
			Name: scriptOddPages, About: "pages of three, one, none and five entries, with cursors of odd text",
			Serve: func(p *Play) {
				var names []string
				for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
					names = append(names, scriptTool("page_"+n, noArguments, ""))
				}
				pages := [][]string{{p.Tools[0], names[0], names[1]}, {names[2]}, {}, names[3:]}
				cursors := []string{"", "  %7Bé=/ +\"x ", "\u0001\\u0041\t", strings.Repeat("zß%", 1400)}
				p.Tools = append(slices.Clone(p.Tools[:1]), names...)
				p.On["tools/list"] = func(c *Call) {
					at := 0
					if v := c.Params.Get("cursor"); v != nil {
						text, _ := v.Str()
						if at = slices.Index(cursors, text); at < 1 {
							c.Error(-32602, "Invalid params: no such cursor", "")
							return
						}
					}
					next := ""
					if at+1 < len(pages) {
						next = `,"nextCursor":` + string(wire.Quote(cursors[at+1]))
					}
					c.Complete(`{"tools":[` + strings.Join(pages[at], ",") + `]` + next + `}`)
				}
			},
		},
		{
			Name: scriptEmptyCursor, About: "a list whose second page has the empty text as cursor", Since: modern,
			Serve: func(p *Play) {
				p.On["tools/list"] = func(c *Call) {
					if v := c.Params.Get("cursor"); v != nil {
						c.Complete(`{"tools":[` + strings.Join(p.Tools[1:], ",") + `]}`)
						return
					}
					c.Complete(`{"tools":[` + p.Tools[0] + `],"nextCursor":""}`)
				}
			},
		},
		{
			Name: scriptRefusedCursor, About: "a list whose second page is refused, once", Since: modern,
			Serve: func(p *Play) {
				p.PageSize = 1
				var once sync.Once
				p.On["tools/list"] = func(c *Call) {
					if c.Params.Get("cursor") != nil {
						once.Do(func() { c.Error(-32602, "Invalid params: the cursor has expired", "") })
					}
				}
			},
		},
		{
			Name: scriptShortLived, About: "results that may be kept for a moment only", Since: modern, Time: 4 * time.Second,
			Serve: func(p *Play) { p.Hints = `"ttlMs":250,"cacheScope":"private"` },
		},
		{
			Name: scriptCanaries, About: "tools whose schemas and icons refer to addresses that nobody should ask",
			Serve: func(p *Play) {
				at := p.Origin("canary")
				refs := `{"type":"object","properties":{"a":{"$ref":"` + at + canarySchema + `/a.json"}},"$dynamicRef":"` + at + canarySchema + `/b.json"}`
				icons := ""
				if check.AtLeast(p.Speaks, latest) {
					icons = `,"icons":[{"src":"` + at + canaryIcon + `.png","mimeType":"image/png"}]`
					if p.Transport != "stdio" {
						icons = `,"icons":[{"src":"` + at + canaryIcon + `.png","mimeType":"image/png"},{"src":"` + p.Origin("") + canaryOwnIcon + `.png"}]`
					}
				}
				out := ""
				if atLeastJune(p.Speaks) {
					out = `,"outputSchema":{"type":"object","properties":{"x":{"$ref":"` + at + canarySchema + `/out.json"}}}`
				}
				p.Tools = append(slices.Clone(p.Tools), scriptTool("refers", refs, out+icons))
				p.On[callTool] = func(c *Call) {
					if c.Name("name") == "refers" && atLeastJune(p.Speaks) {
						c.Complete(`{"content":[{"type":"text","text":"{\"x\":1}"}],"structuredContent":{"x":1}}`)
					}
				}
				p.HTTP = func(x *Exchange) bool {
					switch {
					case strings.HasPrefix(x.Path(), canaryOwnIcon):
						x.SetHeader("Location", p.Origin("other")+canaryRedirected+".png")
						return x.Respond(302, "", "")
					case strings.HasPrefix(x.Path(), "/canary/"):
						return x.Respond(404, "", "")
					}
					return false
				}
			},
		},
		{
			Name: scriptCostlySchemas, About: "tools whose schemas are costly to evaluate, beside ordinary ones", Since: modern,
			Serve: func(p *Play) {
				deep := strings.Repeat(`{"allOf":[`, 3000) + `{}` + strings.Repeat(`]}`, 3000)
				wide := `{"type":"object","$defs":{"z":{"type":"integer"}`
				names := []string{"z", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"}
				for i := 1; i < len(names); i++ {
					ref := `{"$ref":"#/$defs/` + names[i-1] + `"}`
					wide += `,"` + names[i] + `":{"anyOf":[` + ref + `,` + ref + `]}`
				}
				wide += `},"properties":{"a":{"$ref":"#/$defs/t"}}}`
				p.PageSize = 0
				p.Tools = append(slices.Clone(p.Tools), scriptTool("deep", `{"type":"object","properties":{"a":`+deep+`}}`, ""), scriptTool("wide", wide, ""))
			},
		},
		{
			Name: scriptUntyped, About: "results without resultType, as of an older server", Since: modern,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID != nil && c.Method != listen {
						if text := c.GoodResult(); text != "" {
							c.Result(strings.Replace(text, `"resultType":"complete",`, "", 1))
						}
					}
				}
			},
		},
		{
			Name: scriptOtherName, About: "the good server under another name", Since: modern,
			Serve: func(p *Play) { p.Info = `{"name":"someone-else","version":"0.0.1-beta"}` },
		},
		{
			Name: "bare", About: "a server that offers tools only",
			Serve: func(p *Play) { p.Capabilities = `{"tools":{}}` },
		},
		{
			Name: "no-tools", About: "a server that offers prompts only",
			Serve: func(p *Play) { p.Capabilities = `{"prompts":{}}` },
		},
		{
			Name: scriptDialect, About: "a tool whose schema is of a dialect that nobody knows", Since: latest, Until: latest,
			Serve: func(p *Play) {
				p.Tools = append(slices.Clone(p.Tools), scriptTool("dialect", noArguments, `,"outputSchema":{"$schema":"https://example.invalid/dialect","type":"object"}`))
				p.PageSize = 0
				listed := false
				var mu sync.Mutex
				p.On["*"] = func(c *Call) {
					mu.Lock()
					defer mu.Unlock()
					switch {
					case c.ID == nil || c.Method == initialize:
					case c.Method == "tools/list" && !listed:
						listed = true
						c.Ask("ping", "")
						c.Step(stepAfter)
						c.Good()
					case listed:
						c.Ask("ping", "")
						listed = false
					}
				}
			},
		},
		{
			Name: "tasks", About: "tools that may, must or must not run as tasks", Since: latest, Until: latest, Time: 8 * time.Second,
			Serve: func(p *Play) {
				p.Capabilities = strings.TrimSuffix(p.Capabilities, "}") + `,"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}}`
				for _, s := range []string{"required", "optional", "forbidden"} {
					p.Tools = append(p.Tools, scriptTool("task_"+s, noArguments, `,"execution":{"taskSupport":"`+s+`"}`))
				}
				p.PageSize = 0
				state := func(id, status string) string {
					return `"taskId":"` + id + `","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:01Z","ttl":60000,"pollInterval":300`
				}
				p.On[callTool] = func(c *Call) {
					tool, asTask := c.Name("name"), c.Params.Get("task") != nil
					switch {
					case tool == "task_required" && !asTask:
						c.Error(-32601, "the tool runs as a task only", "")
					case tool == "task_forbidden" && asTask:
						c.Error(-32601, "the tool does not run as a task", "")
					case asTask:
						c.Result(`{"task":{` + state("task-"+strconv.Itoa(c.N), "working") + `}}`)
					}
				}
				p.On["tasks/get"] = func(c *Call) {
					status := "working"
					if c.N > 2 {
						status = "completed"
					}
					c.Result(`{` + state(c.Name("taskId"), status) + `}`)
				}
				p.On["tasks/cancel"] = func(c *Call) { c.Result(`{` + state(c.Name("taskId"), "cancelled") + `}`) }
				p.On["tasks/list"] = func(c *Call) { c.Result(`{"tasks":[{` + state("task-1", "working") + `}]}`) }
				p.On["tasks/result"] = func(c *Call) {
					c.Result(`{"content":[{"type":"text","text":"done"}],"_meta":{"` + metaTask + `":{"taskId":` + quoted(c.Name("taskId")) + `}}}`)
				}
			},
		},
	}
}

// Forms and messages that scripts ask with.
const (
	plainSampling  = `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}],"maxTokens":50,"_meta":{"progressToken":"asked-1"}}`
	briefSampling  = `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}],"maxTokens":5}`
	toolSampling   = `{"messages":[{"role":"user","content":{"type":"text","text":"Say hello."}}],"maxTokens":50,"tools":[{"name":"clock","description":"Tells the time.","inputSchema":{"type":"object"}}],"toolChoice":{"mode":"none"}}`
	openSampling   = `{"messages":[{"role":"user","content":{"type":"text","text":"What time is it?"}}],"maxTokens":50,"tools":[{"name":"clock","description":"Tells the time.","inputSchema":{"type":"object"}}]}`
	simpleForm     = `{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":1},"age":{"type":"integer","minimum":0,"maximum":150},"mood":{"type":"string","enum":["good","bad"]}},"required":["name"]}}`
	defaultForm    = `{"mode":"form","message":"Is that right?","requestedSchema":{"type":"object","properties":{"city":{"type":"string","default":"Oslo"},"count":{"type":"integer","default":3},"share":{"type":"number","default":0.5},"kind":{"type":"string","enum":["a","b"],"default":"b"},"sure":{"type":"boolean","default":true}}}}`
	unanswered     = `{"messages":[{"role":"user","content":{"type":"text","text":"Time?"}},{"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"clock","input":{}}]},{"role":"user","content":{"type":"text","text":"Well?"}}],"maxTokens":50,"tools":[{"name":"clock","inputSchema":{"type":"object"}}]}`
	mixedToolReply = `{"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"u1","name":"clock","input":{}}]},{"role":"user","content":[{"type":"tool_result","toolUseId":"u1","content":[{"type":"text","text":"noon"}]},{"type":"text","text":"and"}]}],"maxTokens":50,"tools":[{"name":"clock","inputSchema":{"type":"object"}}]}`
)

// urlForm is an elicitation that leads to a page of ours.
func urlForm(p *Play) string {
	return `{"mode":"url","elicitationId":"e-1","message":"Please sign in.","url":"` + p.Origin("canary") + canaryElicit + `"}`
}

// askScripts ask the client, in the stateful revisions, and say what is odd.
func askScripts() []Script {
	odd := func(name, about, since, until string, say func(a asker)) Script {
		return Script{
			Name: name, About: about, Since: since, Until: until,
			Serve: func(p *Play) {
				whenReady(p, func(a asker) {
					a.ask("ping", "")
					a.play.Step(stepAfter)
					say(a)
					a.play.Wait(enough + enough/4)
					a.ask("ping", "")
				})
			},
		}
	}
	return []Script{
		{
			Name: scriptAsks, About: "a server that asks all it may, and what no client has", Until: latest,
			Serve: func(p *Play) {
				whenReady(p, func(a asker) {
					a.ask("ping", "")
					for _, id := range []string{`7`, `"seven"`, `0`, `"☃-🚀"`, `9007199254740991`} {
						a.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
					}
					a.ask(noSuchMethod, "{}")
					a.notify("notifications/com.example/unknown", "")
					p.Wait(enough + enough/4)
					a.ask("ping", "")
					a.ask("roots/list", "")
					a.ask("sampling/createMessage", plainSampling)
					a.ask("sampling/createMessage", briefSampling)
					if atLeastJune(p.Speaks) {
						a.ask("elicitation/create", simpleForm)
					}
					if p.Speaks == latest {
						a.ask("elicitation/create", defaultForm)
						a.ask("elicitation/create", urlForm(p))
						a.ask("sampling/createMessage", toolSampling)
						a.ask("sampling/createMessage", openSampling)
					}
				})
			},
		},
		{
			Name: scriptFaultyAsks, About: "questions that lack what they need", Until: latest,
			Serve: func(p *Play) {
				whenReady(p, func(a asker) {
					a.ask("sampling/createMessage", "{}")
					if atLeastJune(p.Speaks) {
						a.ask("elicitation/create", "{}")
					}
					if p.Speaks == latest {
						a.ask("sampling/createMessage", unanswered)
						a.ask("sampling/createMessage", mixedToolReply)
					}
				})
			},
		},
		{
			Name: scriptTaskAsks, About: "questions that are to run as tasks", Since: latest, Until: latest,
			Serve: func(p *Play) {
				whenReady(p, func(a asker) {
					a.ask("sampling/createMessage", briefSampling)
					a.ask("elicitation/create", simpleForm)
					task := func(method, params string) string {
						got := a.ask(method, `{"task":{"ttl":60000},`+params[1:])
						id, _ := got.Get("result").Get("task").Get("taskId").Str()
						return string(wire.Quote(id))
					}
					first := task("sampling/createMessage", plainSampling)
					second := task("elicitation/create", simpleForm)
					if first == `""` && second == `""` {
						return
					}
					if first == `""` {
						first = second
					}
					third := task("sampling/createMessage", plainSampling)
					a.ask("tasks/get", `{"taskId":`+first+`}`)
					a.ask("tasks/get", `{"taskId":`+first+`,"_meta":{"`+metaTask+`":{"taskId":"another"}}}`)
					a.ask("tasks/list", `{}`)
					if third != `""` {
						a.ask("tasks/cancel", `{"taskId":`+third+`}`)
						a.ask("tasks/get", `{"taskId":`+third+`}`)
					}
					a.ask("tasks/result", `{"taskId":`+first+`}`)
					a.ask("tasks/get", `{"taskId":`+first+`}`)
					a.ask("tasks/cancel", `{"taskId":`+first+`}`)
					for _, m := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
						a.ask(m, `{"taskId":"`+noSuchTask+`"}`)
					}
				})
			},
		},
		onlyOver(odd(scriptBadJSON, "a line that is no JSON", "", latest, func(a asker) { a.send(`{"jsonrpc":"2.0","id":1,`) }), onStdio),
		onlyOver(odd(scriptBadRequest, "objects that are no requests", "", latest, func(a asker) {
			a.send(`{"jsonrpc":"2.0","id":"odd-1","method":42}`)
			a.send(`{"jsonrpc":"2.0","id":"odd-2"}`)
			a.send(`{"id":"odd-3","method":"ping"}`)
		}), onStdio),
		odd(scriptBadCancels, "cancellations of what does not run, and malformed ones", "", latest, func(a asker) {
			a.notify(cancelled, `{"requestId":"unknown-1"}`)
			a.notify(cancelled, `{}`)
			a.notify(cancelled, "")
		}),
		odd(scriptUnknownComplete, "the end of an elicitation that never was", latest, latest, func(a asker) {
			a.notify("notifications/elicitation/complete", `{"elicitationId":"never-heard-of"}`)
		}),
		odd("batches", "arrays of messages", march, march, func(a asker) {
			a.send(`[{"jsonrpc":"2.0","id":"batch-1","method":"ping"},{"jsonrpc":"2.0","method":"notifications/com.example/unknown"},{"jsonrpc":"2.0","id":"batch-2","method":"ping"}]`)
			a.play.Wait(enough + enough/4)
			a.ask("ping", "")
			a.send(`[{"jsonrpc":"2.0","method":"notifications/com.example/unknown"},{"jsonrpc":"2.0","method":"notifications/com.example/unknown"}]`)
			a.ask("ping", "")
			a.send(`[]`)
		}),
		onlyOver(odd("arrays", "an array, which the revision does not have", june, latest, func(a asker) {
			a.send(`[{"jsonrpc":"2.0","id":"array-1","method":"ping"}]`)
		}), onStdio),
		{
			Name: scriptRefuseInit, About: "a server that refuses initialize", Until: latest,
			Serve: func(p *Play) {
				p.On[initialize] = func(c *Call) { c.Error(-32602, "Invalid params: the client is not welcome", "") }
			},
		},
		{
			Name: scriptUnknownVersion, About: "a server of a version that nobody speaks", Until: latest,
			Serve: func(p *Play) {
				p.On[initialize] = func(c *Call) {
					c.Result(`{"protocolVersion":"` + unknownVersion + `","capabilities":` + p.Capabilities + `,"serverInfo":` + p.Info + `}`)
				}
			},
		},
		{
			Name: "slow-initialize", About: "a server that takes its time over initialize", Until: latest,
			Serve: func(p *Play) {
				p.On[initialize] = func(c *Call) { c.Wait(400 * time.Millisecond) }
			},
		},
		{
			Name: "mute-initialize", About: "a server that does not answer initialize", Until: latest, Time: 1500 * time.Millisecond,
			Serve: func(p *Play) {
				p.On[initialize] = func(c *Call) { c.Hold() }
			},
		},
		{
			Name: scriptSilence, About: "a server that does not answer a request, until it is cancelled", Time: 3 * time.Second, Idle: 2500 * time.Millisecond,
			Serve: func(p *Play) {
				firstRequest(p, func(c *Call) {
					c.Hold()
					p.work.Go(func() {
						select {
						case <-c.cancelled:
						case <-p.ctx.Done():
							return
						}
						c.Result(c.GoodResult())
						if !p.Modern() {
							p.Ask("ping", "")
						}
					})
				})
			},
		},
		{
			Name: "mute-pings", About: "a server that answers no pings", Until: latest, Time: 4 * time.Second,
			Serve: func(p *Play) {
				p.On["ping"] = func(c *Call) { c.Hold() }
			},
		},
		{
			Name: "stray-request", About: "a server that asks, which a stateless one may not", Since: modern,
			Serve: func(p *Play) {
				// Not before the client can know what it talks to.
				firstRequest(p, func(c *Call) { c.Send(`{"jsonrpc":"2.0","id":"stray-1","method":"ping"}`) })
			},
		},
	}
}

// onlyOver narrows a script to transports.
func onlyOver(s Script, ts []catalogue.Transport) Script {
	s.Transports = ts
	return s
}
