package client

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// pagingChecks are about lists and their pages.
func pagingChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-cursor-type", Title: "a cursor is a string", Layer: check.Feature,
			Requirements: []string{"legacy/pagination-cursor-type"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if v := f.Params.Get("cursor"); v != nil && isList(f.Method) {
						want(c, f, v.Kind() == wire.KindString, "a string as cursor", show(v))
					}
				})
			},
		},
		{
			ID: "client-cursor-opaque", Title: "cursors come back as they were given", Layer: check.Feature,
			Requirements: []string{"legacy/pagination-opaque-cursor", "modern/page-cursor-opaque"},
			Judge: func(c *check.Case) {
				eachPage(c, func(k *talk, f *check.Frame, p page) {
					cursor, ok := f.Params.Get("cursor").Str()
					if !ok || f.Params.Get("cursor") == nil {
						return
					}
					if p.given[cursor] {
						c.Saw()
						return
					}
					if k.givenElsewhere(cursor) || p.ended { // judged by themselves
						return
					}
					expected := "a cursor that the server gave"
					if len(p.given) > 0 {
						expected = "the cursor " + show(wire.Quote(p.newest))
					}
					c.Broken(f, expected, show(f.Params.Get("cursor")))
				})
			},
		},
		{
			ID: "client-cursor-of-session", Title: "cursors of one session are not used in another", Layer: check.Feature,
			Requirements: []string{"legacy/pagination-cursor-not-persisted"},
			Judge: func(c *check.Case) {
				eachPage(c, func(k *talk, f *check.Frame, p page) {
					cursor, ok := f.Params.Get("cursor").Str()
					if !ok || f.Params.Get("cursor") == nil || len(cursor) < 4 { // "" and "1" may come by chance
						return
					}
					if p.given[cursor] {
						c.Saw()
						return
					}
					want(c, f, !k.givenElsewhere(cursor), "a cursor of this session", "one of another session: "+show(f.Params.Get("cursor")))
				})
			},
		},
		{
			ID: "client-empty-cursor", Title: "an empty cursor is not the end of a list", Layer: check.Feature,
			Requirements: []string{"modern/page-empty-cursor-continues"},
			Judge: func(c *check.Case) {
				judgePages(c, func(v string) bool { return v == "" }, "another page with the cursor \"\", as this client follows other cursors")
			},
		},
		{
			ID: "client-page-sizes", Title: "pages of any size are read, an empty one too", Layer: check.Feature,
			Requirements: []string{"legacy/pagination-no-fixed-size", "modern/page-no-fixed-size"},
			Judge: func(c *check.Case) {
				judgePages(c, func(v string) bool { return v != "" }, "the next page, as this client follows cursors elsewhere")
			},
		},
		{
			ID: "client-list-end", Title: "a page without a cursor is the last one", Layer: check.Feature,
			Requirements: []string{"legacy/pagination-missing-next-is-end", "modern/page-absent-cursor-ends"},
			Judge: func(c *check.Case) {
				eachPage(c, func(k *talk, f *check.Frame, p page) {
					switch {
					case f.Params.Get("cursor") != nil && p.ended && !p.given[str(f.Params.Get("cursor"))] && !k.givenElsewhere(str(f.Params.Get("cursor"))):
						c.Broken(f, "no page after one without nextCursor", "a request with cursor "+show(f.Params.Get("cursor")))
					case f.Params.Get("cursor") == nil:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-refused-cursor", Title: "a list whose cursor was refused is started over", Layer: check.Feature,
			Requirements: []string{"modern/cache-client-invalid-cursor-restart"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptRefusedCursor) {
					var bad *check.Frame
					for _, f := range k.lines {
						switch {
						case f.FromServer || f.Kind != check.KindRequest || !isList(f.Method):
						case bad != nil && f.Method == bad.Method:
							bad = nil
							want(c, f, f.Params.Get("cursor") == nil, "the list from its beginning", "the cursor "+show(f.Params.Get("cursor"))+" again")
						case f.Params.Get("cursor") != nil && k.answers[f].Failed():
							bad = f
						}
					}
				}
			},
		},
		{
			ID: "client-no-polling", Title: "lists are not asked for again whenever their time is over", Layer: check.Feature,
			Requirements: []string{"modern/cache-client-no-polling"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptShortLived) {
					for method, gaps := range k.rhythm() {
						n := 0
						for _, g := range gaps {
							if g >= shortLife*8/10 && g <= shortLife*2 {
								n++
							}
						}
						if n >= 4 {
							c.Broken(k.requests(method)[len(gaps)], "no requests in the rhythm of ttlMs", strconv.Itoa(n)+" requests for "+method+" in that rhythm")
						}
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-poll-jitter", Title: "a client that polls varies its rhythm", Layer: check.Feature,
			Requirements: []string{"modern/cache-client-poll-jitter"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptShortLived) {
					for method, gaps := range k.rhythm() {
						if len(gaps) < 8 {
							continue
						}
						middle := slices.Sorted(slices.Values(gaps))[len(gaps)/2]
						if middle < 100*time.Millisecond { // no polling but a burst
							continue
						}
						same := 0
						for _, g := range gaps {
							if (g - middle).Abs() <= max(middle/20, 15*time.Millisecond) {
								same++
							}
						}
						want(c, k.requests(method)[len(gaps)], same < len(gaps)*7/10, "varied pauses between requests", plural(same, "pause")+" of about "+middle.Round(time.Millisecond).String())
					}
				}
			},
		},
	}
}

// shortLife is how long the results of one script may be kept.
const shortLife = 250 * time.Millisecond

// rhythm are the pauses between requests for each list, from its first page.
func (k *talk) rhythm() map[string][]time.Duration {
	out := map[string][]time.Duration{}
	last := map[string]*check.Frame{}
	for _, f := range k.requests("") {
		if !isList(f.Method) || f.Params.Get("cursor") != nil {
			continue
		}
		if before := last[f.Method]; before != nil {
			out[f.Method] = append(out[f.Method], f.At-before.At)
		}
		last[f.Method] = f
	}
	return out
}

func isList(method string) bool {
	return strings.HasSuffix(method, "/list") && method != "roots/list"
}

func nextCursor(a *check.Frame) (string, bool) {
	if !a.OK() || a.Result.Get("nextCursor") == nil {
		return "", false
	}
	return a.Result.Get("nextCursor").Str()
}

// judgePages judges how a client goes on after pages whose cursor is of a kind.
// It has to only if it does elsewhere: a client may read a single page, or stop
// when it has found what it looks for.
func judgePages(c *check.Case, kind func(cursor string) bool, expected string) {
	follows := false
	for _, k := range talks(c, scriptPages) {
		for _, f := range k.requests("") {
			// It read a list of several pages to its end.
			if isList(f.Method) && f.Params.Get("cursor") != nil && k.answers[f].OK() && k.answers[f].Result.Get("nextCursor") == nil {
				follows = true
			}
		}
	}
	if !follows {
		c.NotObserved("the client reads no list of several pages to its end")
		return
	}
	type asking struct{ method, cursor string }
	for _, k := range talks(c, scriptOddPages, scriptEmptyCursor) {
		last, lastOf := map[asking]int{}, map[string]int{} // events of the last requests
		among := []*talk{k}
		if c.Modern() { // where each request may go to a server of its own
			among = k.view.talks
		}
		for _, other := range among {
			for _, f := range other.requests("") {
				if cursor := f.Params.Get("cursor"); cursor != nil {
					at := asking{f.Method, str(cursor)}
					last[at], lastOf[f.Method] = max(last[at], f.Index), max(lastOf[f.Method], f.Index)
				}
			}
		}
		for _, f := range k.requests("") {
			a := k.answers[f]
			cursor, ok := nextCursor(a)
			if !ok || !isList(f.Method) || !kind(cursor) {
				continue
			}
			switch {
			case last[asking{f.Method, cursor}] > a.Index:
				c.Saw()
			case lastOf[f.Method] > a.Index: // with another cursor: judged by itself
			case k.settled(a):
				c.Broken(a, expected, "no such request")
			}
		}
	}
}

// settled reports whether the client had the time to go on after a message: it
// ended by itself, asked for something else, or was silent.
func (k *talk) settled(a *check.Frame) bool {
	switch k.view.why {
	case OverExit, OverIdle, OverTime:
		return true
	}
	return k.view.end() > a.Index
}

// featureChecks are about tools, prompts, levels, progress and cancellation.
func featureChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-arguments-object", Title: "arguments of tools are an object that fits the tool's schema", Layer: check.Feature,
			Requirements: []string{"legacy/tools-call-arguments-object"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.requests(callTool) {
						args := f.Params.Get("arguments")
						if args != nil && args.Kind() != wire.KindObject {
							c.Broken(f, "an object as arguments", show(args))
							continue
						}
						tool := k.tool(str(f.Params.Get("name")), f.Index)
						if tool == nil {
							continue
						}
						if args == nil {
							args = wire.Raw("{}")
						}
						schema, err := k.view.trace.Compile(tool.Get("inputSchema"))
						if err != nil {
							continue
						}
						// Whose arguments they are cannot be seen: a user may
						// have given them.
						if err := schema.Validate(args); err != nil {
							c.Tolerated(f, "arguments that fit the tool's inputSchema", err.Error())
						} else {
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "client-tool-name-case", Title: "names of tools are written as the server lists them", Layer: check.Feature,
			Requirements: []string{"legacy/tools-name-case-sensitive"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.requests(callTool) {
						name := str(f.Params.Get("name"))
						if k.tool(name, f.Index) != nil {
							c.Saw()
							continue
						}
						if listed := k.likeTool(name, f.Index); listed != "" {
							c.Broken(f, "the name "+strconv.Quote(listed), strconv.Quote(name))
						}
					}
				}
			},
		},
		{
			ID: "client-prompt-arguments", Title: "values of the arguments of prompts are strings", Layer: check.Feature,
			Requirements: []string{"legacy/prompts-arguments-are-strings", "modern/prompts-client-argument-strings"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if f.Method != "prompts/get" || f.Params.Get("arguments") == nil {
						return
					}
					if args := f.Params.Get("arguments"); args.Kind() != wire.KindObject {
						c.Broken(f, "an object as arguments", show(args))
						return
					}
					for name, v := range f.Params.Get("arguments").Members() {
						want(c, f, v.Kind() == wire.KindString, "a string as argument "+name, show(v))
					}
				})
			},
		},
		{
			ID: "client-log-level", Title: "levels of log messages are the eight of the syslog", Layer: check.Feature,
			Requirements: []string{"legacy/logging-level-names"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if f.Method == "logging/setLevel" {
						want(c, f, levels[str(f.Params.Get("level"))], "one of the eight levels", show(f.Params.Get("level")))
					}
				})
			},
		},
		{
			ID: "client-completion-debounced", Title: "completions are not asked for in bursts", Layer: check.Feature,
			Requirements: []string{"modern/completion-client-debounce"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					burst := 0
					var last *check.Frame
					for _, f := range k.requests("completion/complete") {
						if last != nil && f.At-last.At < 50*time.Millisecond && str(f.Params.Get("argument").Get("name")) == str(last.Params.Get("argument").Get("name")) &&
							!wire.Equal(f.Params.Get("argument").Get("value"), last.Params.Get("argument").Get("value")) {
							burst++
						} else {
							burst = 0
						}
						last = f
						if burst >= 3 { // one or two may be chance
							c.Broken(f, "pauses between requests for completion", "several for one argument within 50 ms")
							break
						}
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-progress-token", Title: "a progress token is a string or an integer", Layer: check.Feature,
			Requirements: []string{"legacy/progress-token-type", "modern/progress-token-type"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if v := f.Params.Get("_meta").Get("progressToken"); v != nil {
						_, integer := v.Int()
						want(c, f, integer || v.Kind() == wire.KindString, "a string or an integer as progressToken", show(v))
					}
				})
				eachProgress(c, func(f, _, _ *check.Frame) {
					_, number := f.Params.Get("progress").Float()
					want(c, f, number && f.Params.Get("progressToken") != nil, "a progressToken and a number as progress", show(f.Params))
				})
			},
		},
		{
			ID: "client-progress-token-unique", Title: "requests that run at once have different progress tokens", Layer: check.Feature,
			Requirements: []string{"legacy/progress-token-unique", "modern/progress-token-unique"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					running := map[string]*check.Frame{}
					for _, f := range k.requests("") {
						v := f.Params.Get("_meta").Get("progressToken")
						if v == nil {
							continue
						}
						before := running[idKey(v)]
						running[idKey(v)] = f
						if before == nil {
							c.Saw()
							continue
						}
						a := k.answers[before]
						over := k.over(before)
						inUse := a == nil && over < 0 || a != nil && a.Index > f.Index && (over < 0 || over > f.Index)
						want(c, f, !inUse, "a token that no running request has", show(v))
					}
				}
			},
		},
		{
			ID: "client-progress-known", Title: "progress names a token that the server gave with a request", Layer: check.Feature,
			Requirements: []string{"legacy/progress-known-token-only"},
			Judge: func(c *check.Case) {
				eachProgress(c, func(f, owner, _ *check.Frame) {
					want(c, f, owner != nil, "the token of a request of the server", show(f.Params.Get("progressToken")))
				})
			},
		},
		{
			ID: "client-progress-increases", Title: "progress grows", Layer: check.Feature,
			Requirements: []string{"legacy/progress-increases"},
			Judge: func(c *check.Case) {
				last := map[*check.Frame]float64{}
				eachProgress(c, func(f, owner, _ *check.Frame) {
					n, ok := f.Params.Get("progress").Float()
					if owner == nil || !ok {
						return
					}
					before, again := last[owner]
					last[owner] = n
					want(c, f, !again || n > before, "more than the progress before", show(f.Params.Get("progress")))
				})
			},
		},
		{
			ID: "client-progress-stops", Title: "no progress follows the answer", Layer: check.Feature,
			Requirements: []string{"legacy/progress-stops"},
			Judge: func(c *check.Case) {
				eachProgress(c, func(f, owner, answer *check.Frame) {
					if owner != nil && !isTask(answer) {
						want(c, f, answer == nil || answer.Index > f.Index, "no progress after the answer", "progress after it")
					}
				})
			},
		},
		{
			ID: "client-progress-message", Title: "a message of progress says something", Layer: check.Feature,
			Requirements: []string{"legacy/progress-message-readable"},
			Judge: func(c *check.Case) {
				eachProgress(c, func(f, _, _ *check.Frame) {
					if m := f.Params.Get("message"); m != nil {
						want(c, f, strings.TrimSpace(str(m)) != "", "a text as message", show(m))
					}
				})
			},
		},
		{
			ID: "client-notification-rate", Title: "notifications do not come in floods", Layer: check.Feature,
			Requirements: []string{"modern/progress-rate-limited"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					var at []*check.Frame
					for _, f := range k.said() {
						if f.Method != progressed && f.Method != "notifications/message" {
							continue
						}
						if at = append(at, f); len(at) > 100 && f.At-at[len(at)-101].At < time.Second {
							c.Broken(f, "at most some ten notifications a second", "more than 100")
							break
						}
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-cancels-own", Title: "a cancellation names a request of the client", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-same-direction", "modern/cancel-client-references-own-request"},
			Judge: func(c *check.Case) {
				eachCancel(c, func(k *talk, f, req *check.Frame) {
					if f.Params.Get("requestId") != nil {
						want(c, f, req != nil, "the id of a request that the client sent", show(f.Params.Get("requestId")))
					}
				})
			},
		},
		{
			ID: "client-cancels-running", Title: "a cancellation names a request that still runs", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-in-progress-only", "modern/cancel-client-references-own-request"},
			Judge: func(c *check.Case) {
				eachCancel(c, func(k *talk, f, req *check.Frame) {
					if req == nil {
						return
					}
					// An answer may cross with the cancellation.
					const race = 500 * time.Millisecond
					a := k.answers[req]
					want(c, f, a == nil || a.Index > f.Index || f.At-a.At < race && f.At > 0, "a request without an answer", "one that was answered before")
				})
			},
		},
		{
			ID: "client-cancels-by-id", Title: "a cancellation has the id of the request", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-request-id-present"},
			Judge: func(c *check.Case) {
				eachCancel(c, func(_ *talk, f, _ *check.Frame) {
					id := f.Params.Get("requestId")
					_, integer := id.Int()
					want(c, f, integer || id.Kind() == wire.KindString, "a string or an integer as requestId", show(id))
				})
			},
		},
		{
			ID: "client-cancels-no-initialize", Title: "initialize is not cancelled", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-not-initialize"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					if k.open == nil {
						continue
					}
					if f := k.cancellation(k.open); f != nil {
						c.Broken(f, "no cancellation of initialize", "one")
					} else if k.answers[k.open] == nil {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "client-cancels-no-tasks", Title: "a task is cancelled by tasks/cancel", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-tasks-via-tasks-cancel"},
			Judge: func(c *check.Case) {
				eachCancel(c, func(k *talk, f, req *check.Frame) {
					if req != nil && req.Params.Get("task") != nil {
						c.Broken(f, "tasks/cancel", "notifications/cancelled for a request that made a task")
					}
				})
				eachRequest(c, func(_ *talk, f *check.Frame) {
					if f.Method == "tasks/cancel" {
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-late-answer", Title: "an answer to a request that was cancelled does no harm", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-late-reply-ignored", "legacy/cancel-race-tolerated", "modern/cancel-race-handled"},
			Judge: func(c *check.Case) {
				// What the client cancelled is answered all the same. Our own
				// pings tell whether it lives, or what it does next.
				for _, k := range talks(c, scriptSilence) {
					said, pinged := -1, -1 // the last ones before the end of the play
					for _, l := range k.lines {
						switch {
						case l.Index > k.view.over():
						case !l.FromServer:
							said = l.Index
						case l.Method == "ping":
							pinged = l.Index
						}
					}
					eachCancelOf(k, func(f, req *check.Frame) {
						a := k.answers[req]
						if req == nil || a == nil || a.Index < f.Index {
							return
						}
						switch {
						case said > a.Index:
							c.Saw()
						case pinged > a.Index && k.view.end() < 0 && k.view.why != OverExit:
							c.Broken(a, "a client that goes on working", "it answered nothing any more")
						}
					})
				}
			},
		},
		{
			ID: "client-cancel-unknown", Title: "cancellations that are malformed or name no request are ignored", Layer: check.Protocol,
			Requirements: []string{"legacy/cancel-invalid-ignored", "legacy/cancel-race-tolerated"},
			Judge:        func(c *check.Case) { survives(c, scriptBadCancels, stepAfter) },
		},
		{
			ID: "client-elicitation-complete-unknown", Title: "a notice that an unknown elicitation is complete is ignored", Layer: check.Feature,
			Requirements: []string{"legacy/elicit-complete-unknown-ignored"},
			Judge:        func(c *check.Case) { survives(c, scriptUnknownComplete, stepAfter) },
		},
		{
			ID: "client-unknown-dialect", Title: "a schema of an unknown dialect does not end the connection", Layer: check.Feature,
			Requirements: []string{"legacy/schema-unsupported-dialect-error"}, Soft: true,
			Judge: func(c *check.Case) { survives(c, scriptDialect, stepAfter) },
		},
		{
			ID: "client-integer-range", Title: "integers that are repeated as headers are ones that a double holds", Layer: check.Feature,
			Requirements: []string{"modern/xhdr-integer-safe-range"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.requests(callTool) {
						tool := k.tool(str(f.Params.Get("name")), f.Index)
						for _, p := range annotated(tool) {
							if v := p.value(f.Params.Get("arguments")); v.Kind() == wire.KindNumber {
								want(c, f, !check.Unsafe(v), "an integer of at most 2^53-1", show(v))
							}
						}
					}
				}
			},
		},
	}
}

var levels = map[string]bool{"debug": true, "info": true, "notice": true, "warning": true, "error": true, "critical": true, "alert": true, "emergency": true}

// eachProgress calls fn for every notification of progress of the client, with
// the request of the server whose token it names and the answer to that.
func eachProgress(c *check.Case, fn func(f, owner, answer *check.Frame)) {
	for _, k := range talks(c) {
		owners := map[string]*check.Frame{}
		for _, f := range k.lines {
			switch {
			case f.FromServer && f.Kind == check.KindRequest:
				if token := f.Params.Get("_meta").Get("progressToken"); token != nil {
					owners[idKey(token)] = f
				}
			case !f.FromServer && f.Method == progressed:
				owner := owners[idKey(f.Params.Get("progressToken"))]
				fn(f, owner, k.replies[owner])
			}
		}
	}
}

// eachCancel calls fn for every cancellation of the client, with the request
// that it names, nil where there is none of exactly that id.
func eachCancel(c *check.Case, fn func(k *talk, f, req *check.Frame)) {
	for _, k := range talks(c) {
		eachCancelOf(k, func(f, req *check.Frame) { fn(k, f, req) })
	}
}

func eachCancelOf(k *talk, fn func(f, req *check.Frame)) {
	for _, f := range k.said() {
		if f.Method != cancelled {
			continue
		}
		fn(f, k.named(f))
	}
}
