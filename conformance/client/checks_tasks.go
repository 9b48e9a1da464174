package client

import (
	"slices"
	"strconv"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// isTask reports whether a response made a task.
func isTask(f *check.Frame) bool {
	return f.OK() && f.Result.Get("task").Kind() == wire.KindObject
}

// taskChecks are about the tasks of 2025-11-25: those that a client asks for,
// and those that it makes of requests of the server.
func taskChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-task-gate", Title: "a task is asked for only where the server and the tool allow it", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-tool-client-gate"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.requests(callTool) {
						tool := k.tool(str(f.Params.Get("name")), f.Index)
						support := str(tool.Get("execution").Get("taskSupport"))
						switch {
						case f.Params.Get("task") == nil:
							if tool != nil && (support == "" || support == "forbidden") {
								c.Saw()
							}
						case !hasCapability(k.offered(), "tasks.requests.tools.call"):
							c.Broken(f, "a call without task, as the server has no tasks for tools", "task "+show(f.Params.Get("task")))
						case tool != nil && support != "optional" && support != "required":
							c.Broken(f, "a call without task, as the tool forbids one", "task "+show(f.Params.Get("task")))
						default:
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "client-task-required", Title: "a tool that runs as a task only is called as one", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-tool-required-client"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, f := range k.requests(callTool) {
						tool := k.tool(str(f.Params.Get("name")), f.Index)
						if str(tool.Get("execution").Get("taskSupport")) == "required" && hasCapability(k.offered(), "tasks.requests.tools.call") {
							want(c, f, f.Params.Get("task") != nil, "the member task", "none")
						}
					}
				}
			},
		},
		{
			ID: "client-task-poll", Title: "a task is not polled faster than the server suggests", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-poll-interval"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					last := map[string]*check.Frame{}
					for _, f := range k.requests("tasks/get") {
						id := str(f.Params.Get("taskId"))
						before := last[id]
						last[id] = f
						if before == nil || k.answers[before] == nil {
							continue
						}
						ms, ok := k.answers[before].Result.Get("pollInterval").Int()
						if !ok || f.At == 0 {
							continue
						}
						const slack = 20 * time.Millisecond
						pause := f.At - k.answers[before].At
						want(c, f, pause+slack >= time.Duration(ms)*time.Millisecond, "a pause of "+strconv.FormatInt(ms, 10)+" ms before the next tasks/get", pause.Round(time.Millisecond).String())
					}
				}
			},
		},
		{
			ID: "client-task-named-once", Title: "messages about a task by its id do not name it in _meta as well", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-related-meta-omitted"},
			Judge: func(c *check.Case) {
				each(c, func(k *talk, f *check.Frame) {
					meta := f.Params.Get("_meta")
					switch f.Method {
					case "tasks/get", "tasks/list", "tasks/cancel", "notifications/tasks/status":
					case "":
						switch m := k.replied(f).method(); m {
						case "tasks/get", "tasks/list", "tasks/cancel":
							meta = f.Result.Get("_meta")
						default:
							return
						}
					default:
						return
					}
					want(c, f, meta.Get(metaTask) == nil, "no "+metaTask, show(meta.Get(metaTask)))
				})
			},
		},
		{
			ID: "client-task-declared", Title: "a client that makes tasks declares it", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-capability"},
			Judge: func(c *check.Case) {
				clientTasks(c, func(k *talk, req, a *check.Frame) {
					want(c, a, k.makesTasks(req.Method), "the client's capability tasks.requests for "+req.Method, "a task without it")
				})
			},
		},
		{
			ID: "client-task-ignored", Title: "a client without tasks answers as if no task were asked for", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-undeclared-ignored"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, m := range []string{"sampling/createMessage", "elicitation/create"} {
						plain := k.plainAnswer(m)
						for _, req := range k.asked(m) {
							a := k.replies[req]
							if req.Params.Get("task") == nil || a == nil || k.makesTasks(m) || !k.declares(m) {
								continue
							}
							if a.Failed() && plain.Failed() {
								continue // it refuses without a task, too
							}
							want(c, a, a.OK() && !isTask(a), "an ordinary result", outcome(a))
						}
					}
				}
			},
		},
		{
			ID: "client-task-created", Title: "a task is answered by its data alone", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-create-result", "legacy/tasks-initial-working"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, m := range []string{"sampling/createMessage", "elicitation/create"} {
						for _, req := range k.asked(m) {
							a := k.replies[req]
							if req.Params.Get("task") == nil || !a.OK() || !k.makesTasks(m) {
								continue
							}
							switch {
							case !isTask(a):
								c.Broken(a, "a task", show(a.Result))
							case a.Result.Get("content") != nil || a.Result.Get("action") != nil || a.Result.Get("role") != nil:
								c.Broken(a, "a task and nothing else", show(a.Result))
							default:
								want(c, a, str(a.Result.Get("task").Get("status")) == "working", "the status working", show(a.Result.Get("task").Get("status")))
							}
						}
					}
				}
			},
		},
		{
			ID: "client-task-ids", Title: "each task has an id of its own", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-id", "legacy/tasks-isolation"},
			Judge: func(c *check.Case) {
				seen := map[string]bool{}
				clientTasks(c, func(k *talk, _, a *check.Frame) {
					id, ok := a.Result.Get("task").Get("taskId").Str()
					want(c, a, ok && id != "" && !seen[id], "a string as taskId that no other task has", show(a.Result.Get("task").Get("taskId")))
					seen[id] = true
				})
			},
		},
		{
			ID: "client-task-shape", Title: "tasks carry their times and how long they are kept", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-timestamps", "legacy/tasks-ttl-reported"},
			Judge: func(c *check.Case) {
				eachTaskState(c, func(f *check.Frame, task wire.Raw) {
					ttl := task.Get("ttl")
					switch {
					case !check.ISOTime(str(task.Get("createdAt"))):
						c.Broken(f, "an ISO 8601 time as createdAt", show(task.Get("createdAt")))
					case !check.ISOTime(str(task.Get("lastUpdatedAt"))):
						c.Broken(f, "an ISO 8601 time as lastUpdatedAt", show(task.Get("lastUpdatedAt")))
					default:
						want(c, f, ttl.Kind() == wire.KindNumber || ttl.Kind() == wire.KindNull, "a number or null as ttl", show(ttl))
					}
				})
			},
		},
		{
			ID: "client-task-transitions", Title: "the states of a task follow each other as they may", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-transitions"},
			Judge: func(c *check.Case) {
				last := map[string]string{}
				eachTaskState(c, func(f *check.Frame, task wire.Raw) {
					id, now := str(task.Get("taskId")), str(task.Get("status"))
					before := last[id]
					last[id] = now
					ok := slices.Contains([]string{"working", "input_required", "completed", "failed", "cancelled"}, now)
					if final(before) {
						ok = now == before
					}
					want(c, f, ok, "a status that may follow "+before, now)
				})
			},
		},
		{
			ID: "client-task-result", Title: "the result of a task is what was asked for, named as the task's, and comes when it is final", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-result-related-meta", "legacy/tasks-result-exact", "legacy/tasks-result-blocks"},
			Judge: func(c *check.Case) {
				p, err := protocol(c.Revision)
				if err != nil {
					panic(err)
				}
				for _, k := range talks(c) {
					methods, from := map[string]string{}, map[string]int{} // by task; from is the event of its result
					for _, f := range k.lines {
						if f.FromServer && f.Kind == check.KindRequest && isTask(k.replies[f]) {
							methods[str(k.replies[f].Result.Get("task").Get("taskId"))] = f.Method
						}
					}
					for _, req := range k.asked("tasks/result") {
						a, id := k.replies[req], str(req.Params.Get("taskId"))
						if !a.OK() || methods[id] == "" {
							continue
						}
						if related := a.Result.Get("_meta").Get(metaTask).Get("taskId"); str(related) != id {
							c.Broken(a, metaTask+" with the taskId "+id+" in _meta", show(a.Result.Get("_meta")))
							continue
						}
						fits(c, a, p.Result(methods[id], a.Result))
						if at, again := from[id]; !again || a.Index < at {
							from[id] = a.Index
						}
					}
					for _, get := range k.asked("tasks/get") {
						g := k.replies[get]
						if at, there := from[str(get.Params.Get("taskId"))]; there && get.Index > at && g.OK() {
							want(c, g, final(str(g.Result.Get("status"))), "a final status after the result", show(g.Result.Get("status")))
						}
					}
				}
			},
		},
		{
			ID: "client-task-unknown", Title: "a task that does not exist is refused", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-invalid-id"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, m := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
						for _, req := range k.asked(m) {
							if str(req.Params.Get("taskId")) == noSuchTask && k.caps().Get("tasks") != nil && (m != "tasks/cancel" || k.caps().Get("tasks").Get("cancel") != nil) {
								refused(c, k, req, -32602)
							}
						}
					}
				}
			},
		},
		{
			ID: "client-task-cancelled", Title: "a task that is cancelled stays so, and one that is final is not cancelled", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-cancel-effect", "legacy/tasks-cancel-terminal"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					states := map[string]string{}
					for _, f := range k.lines {
						if f.FromServer || f.Kind != check.KindResponse {
							continue
						}
						req := k.replied(f).frame
						if req == nil {
							continue
						}
						id := str(req.Params.Get("taskId"))
						switch before := states[id]; {
						case req.Method == "tasks/cancel" && id != noSuchTask && final(before):
							refused(c, k, req, -32602)
						case req.Method == "tasks/cancel" && f.OK() && before != "" && id != noSuchTask:
							want(c, f, str(f.Result.Get("status")) == "cancelled", "the status cancelled", show(f.Result.Get("status")))
						}
						for _, task := range []wire.Raw{f.Result, f.Result.Get("task")} {
							if s := str(task.Get("status")); s != "" && task.Get("taskId") != nil {
								states[str(task.Get("taskId"))] = s
							}
						}
					}
				}
			},
		},
		{
			ID: "client-task-listed", Title: "tasks that can be fetched are listed", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-list"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					listed, asked := map[string]bool{}, (*check.Frame)(nil)
					whole := true
					for _, req := range k.asked("tasks/list") {
						a := k.replies[req]
						if a.OK() {
							asked = a
							whole = whole && a.Result.Get("nextCursor") == nil
							for t := range a.Result.Get("tasks").Elems() {
								listed[str(t.Get("taskId"))] = true
							}
						}
					}
					if asked == nil {
						continue
					}
					for _, get := range k.asked("tasks/get") {
						if g := k.replies[get]; g.OK() && g.Index < asked.Index && whole {
							want(c, asked, listed[str(get.Params.Get("taskId"))], "the task "+show(get.Params.Get("taskId")), "a list without it")
						}
					}
				}
			},
		},
		{
			ID: "client-task-param-wins", Title: "the parameter taskId goes before what _meta says", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-param-wins"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, req := range k.asked("tasks/get") {
						a := k.replies[req]
						if req.Params.Get("_meta").Get(metaTask) != nil && a != nil {
							want(c, a, str(a.Result.Get("taskId")) == str(req.Params.Get("taskId")), "the task of the parameter", outcome(a))
						}
					}
				}
			},
		},
		{
			ID: "client-task-messages-named", Title: "messages that belong to a task name it", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-related-meta"},
			Judge: func(c *check.Case) {
				eachProgress(c, func(f, owner, answer *check.Frame) {
					if isTask(answer) && f.Index > answer.Index {
						want(c, f, f.Params.Get("_meta").Get(metaTask) != nil, metaTask+" in _meta", "none")
					}
				})
			},
		},
		{
			ID: "client-task-progress-stops", Title: "progress of a task ends with it", Layer: check.Feature,
			Requirements: []string{"legacy/progress-task-stops-at-terminal"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					done := map[string]bool{}
					task := map[string]string{} // by token
					for _, f := range k.lines {
						switch {
						case f.FromServer && isTask(k.replies[f]) && f.Params.Get("_meta").Get("progressToken") != nil:
							task[idKey(f.Params.Get("_meta").Get("progressToken"))] = str(k.replies[f].Result.Get("task").Get("taskId"))
						case f.FromServer:
						case f.Method == progressed:
							if id := task[idKey(f.Params.Get("progressToken"))]; id != "" {
								want(c, f, !done[id], "no progress of a task that is final", "progress")
							}
						default:
							for _, v := range []wire.Raw{f.Result, f.Params} {
								if final(str(v.Get("status"))) {
									done[str(v.Get("taskId"))] = true
								}
							}
							if req := k.replied(f); req.method() == "tasks/result" && f.OK() {
								done[str(req.frame.Params.Get("taskId"))] = true
							}
						}
					}
				}
			},
		},
		{
			ID: "client-task-status-shape", Title: "a notification of a task's status has the task", Layer: check.Feature,
			Requirements: []string{"legacy/tasks-status-notification"},
			Judge: func(c *check.Case) {
				p, err := protocol(c.Revision)
				if err != nil {
					panic(err)
				}
				each(c, func(_ *talk, f *check.Frame) {
					if f.Method == "notifications/tasks/status" {
						fits(c, f, p.Message(f.Method, f.Value))
					}
				})
			},
		},
	}
}

// noSuchTask is an id that no client gave.
const noSuchTask = "goldwire-no-such-task"

func final(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// question is a request of the server.
type question struct{ frame *check.Frame }

func (q question) method() string {
	if q.frame == nil {
		return ""
	}
	return q.frame.Method
}

// makesTasks reports whether the client declared that it makes tasks of a
// request.
func (k *talk) makesTasks(method string) bool {
	switch method {
	case "sampling/createMessage":
		return hasCapability(k.caps(), "tasks.requests.sampling.createMessage")
	case "elicitation/create":
		return hasCapability(k.caps(), "tasks.requests.elicitation.create")
	}
	return false
}

// plainAnswer is the client's answer to a request by that method that asks for
// no task.
func (k *talk) plainAnswer(method string) *check.Frame {
	for _, req := range k.asked(method) {
		if req.Params.Get("task") == nil && k.replies[req] != nil {
			return k.replies[req]
		}
	}
	return nil
}

// clientTasks calls fn for every request of the server that the client made a
// task of.
func clientTasks(c *check.Case, fn func(k *talk, req, a *check.Frame)) {
	for _, k := range talks(c) {
		for _, f := range k.lines {
			if f.FromServer && f.Kind == check.KindRequest && isTask(k.replies[f]) {
				fn(k, f, k.replies[f])
			}
		}
	}
}

// eachTaskState calls fn for every state of a task that the client told of.
func eachTaskState(c *check.Case, fn func(f *check.Frame, task wire.Raw)) {
	for _, k := range talks(c) {
		for _, f := range k.said() {
			switch {
			case isTask(f):
				fn(f, f.Result.Get("task"))
			case f.Method == "notifications/tasks/status":
				fn(f, f.Params)
			case f.OK():
				switch k.replied(f).method() {
				case "tasks/get", "tasks/cancel":
					fn(f, f.Result)
				case "tasks/list":
					for t := range f.Result.Get("tasks").Elems() {
						fn(f, t)
					}
				}
			}
		}
	}
}

// outcome says what an answer is.
func outcome(a *check.Frame) string {
	if a.Failed() {
		return "error " + show(a.Error)
	}
	return show(a.Result)
}
