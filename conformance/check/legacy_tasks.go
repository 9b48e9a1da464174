package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

const tasksRevision = rev2025November // tasks exist in this revision alone

// taskTool finds a tool that may be called and that takes tasks as one of the
// ways says.
func (d *Driver) taskTool(ways ...string) (name, args string) {
	for _, t := range d.taskTools(ways...) {
		return t.name, t.args
	}
	return "", ""
}

// mostTaskTools is how many tools are tried until one gives a result.
const mostTaskTools = 5

// callable is a tool that may be called, and arguments for it.
type callable struct{ name, args string }

// taskTools finds all tools of which taskTool gives the first.
func (d *Driver) taskTools(ways ...string) []callable {
	var out []callable
	for _, t := range d.Facts.Tools {
		name := Name(t, "name")
		args, sure := Arguments(t.Get("inputSchema"))
		way, _ := t.Get("execution").Get("taskSupport").Str()
		if slices.Contains(ways, way) && sure && d.MayCall(name) {
			out = append(out, callable{name, args})
		}
	}
	return out
}

func legacyTaskProbes() []Probe {
	return []Probe{
		{
			Name: "unknown task", Since: tasksRevision, Until: tasksRevision, Profile: Main, Needs: []string{"tasks"},
			Run: func(d *Driver) {
				const unknown = `{"taskId":"goldwire-no-such-task-7f3a"}`
				d.Step("tasks/unknown")
				d.Call("tasks/get", unknown)
				d.Call("tasks/result", unknown)
				if d.Facts.Has("tasks.cancel") {
					d.Call("tasks/cancel", unknown)
				}
				if d.Facts.Has("tasks.list") {
					d.Call("tasks/list", `{"cursor":"goldwire-no-such-cursor"}`)
				}
			},
		},
		{
			Name: "task member where there are no tasks", Since: tasksRevision, Until: tasksRevision, Profile: Main, Needs: []string{"tools"},
			Run: func(d *Driver) {
				if d.Facts.Has("tasks.requests.tools.call") {
					return
				}
				// A tool may refuse to be called here at all, so each call is made
				// without the member first, of some tools until one gives a result.
				for i, t := range d.taskTools("", "forbidden") {
					if i == mostTaskTools || d.Lost() != "" {
						return
					}
					plain := `{"name":` + quote(t.name) + `,"arguments":` + t.args
					n := "/" + strconv.Itoa(i)
					d.Step("tasks/unmarked" + n)
					if before := d.Ask("tools/call", plain+`}`); !d.Patient(before) || !d.AnswerTo(before).OK() {
						continue
					}
					d.Step("tasks/ignored" + n)
					marked := d.Ask("tools/call", plain+`,"task":{"ttl":60000}}`)
					if d.Patient(marked) && !d.AnswerTo(marked).OK() {
						d.Step("tasks/unmarked-again" + n)
						d.Patient(d.Ask("tools/call", plain+`}`))
					}
					return
				}
			},
		},
		{
			Name: "task", Since: tasksRevision, Until: tasksRevision, Profile: Main, Needs: []string{"tasks.requests.tools.call", "tools"},
			Run: func(d *Driver) {
				if name, args := d.taskTool("required"); name != "" {
					d.Step("tasks/required")
					d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`))
				}
				if name, args := d.taskTool("", "forbidden"); name != "" {
					d.Step("tasks/forbidden")
					d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`,"task":{"ttl":60000}}`))
				}
				name, args := d.taskTool("optional", "required")
				if name == "" {
					return
				}
				var id, first, second string
				for i := range 3 {
					d.Step("tasks/create")
					a := d.Call("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`,"task":{"ttl":60000},"_meta":{"progressToken":"progress-`+strconv.Itoa(i)+`"}}`)
					first, second = second, id
					if id, _ = a.result().Get("task").Get("taskId").Str(); id == "" {
						return
					}
				}
				d.Step("tasks/result-at-once")
				if d.Patient(d.Ask("tasks/result", `{"taskId":`+quote(first)+`}`)) {
					d.Step("tasks/result-had")
					d.Call("tasks/get", `{"taskId":`+quote(first)+`}`)
				}
				if d.Facts.Has("tasks.cancel") {
					d.Step("tasks/cancel-running")
					d.Call("tasks/cancel", `{"taskId":`+quote(second)+`}`)
					d.Call("tasks/get", `{"taskId":`+quote(second)+`}`)
					d.Pause(d.limits.Grace)
					d.Call("tasks/get", `{"taskId":`+quote(second)+`}`)
				}
				d.Step("tasks/two-ids")
				d.Call("tasks/get", `{"taskId":`+quote(id)+`,"_meta":{"`+metaTask+`":{"taskId":`+quote(first)+`}}}`)
				if plain, args := d.taskTool("optional"); plain == name && !d.slow(name) {
					// Twice, since the result of some tools differs each time.
					for range 2 {
						d.Step("tasks/plain")
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+args+`}`))
					}
				}
				d.Step("tasks/poll")
				final := false
				for range 20 {
					a := d.Call("tasks/get", `{"taskId":`+quote(id)+`}`)
					status, _ := a.result().Get("status").Str()
					if final = finalStatus(status); final || a == nil {
						break
					}
					d.Pause(200 * time.Millisecond)
				}
				if d.Facts.Has("tasks.list") {
					d.Step("tasks/list")
					d.Call("tasks/list", "")
				}
				if !final {
					return
				}
				d.Step("tasks/result")
				d.Call("tasks/result", `{"taskId":`+quote(id)+`}`)
				if d.Facts.Has("tasks.cancel") {
					d.Step("tasks/cancel-final")
					d.Call("tasks/cancel", `{"taskId":`+quote(id)+`}`)
				}
				d.Step("tasks/after")
				d.Call("tasks/get", `{"taskId":`+quote(id)+`}`)
			},
		},
	}
}

// metaTask is the key by which a message names the task that it is about.
const metaTask = "io.modelcontextprotocol/related-task"

func finalStatus(s string) bool { return s == "completed" || s == "failed" || s == "cancelled" }

// refusedForTask judges that the call of a step was refused as one that is, or
// is not, made as a task: not where the control, which does not have that
// fault, is refused in the same way.
func (c *Case) refusedForTask(step string, control func(req *Frame) *Frame) {
	s := c.Step(step)
	if s == nil {
		return
	}
	for _, req := range s.Sent() {
		if sameRefusal(s.Trace.Answer(req), control(req)) {
			c.NotObserved("the tool is refused in the same way whether as a task or not")
			continue
		}
		c.refused(req, false, -32601)
	}
}

func legacyTaskChecks() []Check {
	return []Check{
		{
			ID: "unknown-task", Title: "a task that does not exist is refused", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-invalid-id"},
			Judge:        func(c *Case) { c.Refused("tasks/unknown", false, -32602) },
		},
		{
			ID: "task-member-ignored", Title: "the task member is ignored where tasks were not declared", Layer: Feature,
			Requirements: []string{"legacy/tasks-undeclared-ignored"},
			Judge: func(c *Case) {
				if c.Has("tasks.requests.tools.call") {
					c.NotApplicable("the server declares tasks for tools/call")
					return
				}
				if _, tried := c.control("tasks/unmarked/0"); tried && len(c.stepsOf("tasks/ignored/")) == 0 {
					c.looked = append(c.looked, c.stepsOf("tasks/unmarked/")...)
					c.NotObserved("the same call gives no result without the task member either")
					return
				}
				for _, s := range c.StepsOf("tasks/ignored/") {
					n := strings.TrimPrefix(s.Name, "tasks/ignored/")
					if before, _ := c.control("tasks/unmarked/" + n); !before.OK() {
						c.NotObserved("the same call gives no result without the task member either")
						continue
					}
					for _, req := range s.Sent() {
						a := c.Answer(req)
						if a == nil {
							continue
						}
						if again, tried := c.control("tasks/unmarked-again/" + n); tried && !again.OK() {
							c.NotObserved("the same call gives no result any more without the task member either")
							continue
						}
						c.want(a, a.OK() && a.Result.Get("task") == nil, "an ordinary result", outcome(a))
					}
				}
			},
		},
		{
			ID: "task-declared", Title: "tasks are made by servers that declared them", Layer: Feature,
			Requirements: []string{"legacy/tasks-capability"},
			Judge: func(c *Case) {
				c.Results("tools/call", func(_, a *Frame) {
					if a.Result.Get("task") != nil && a.Result.Get("content") == nil {
						c.want(a, c.Has("tasks.requests.tools.call"), "the capability tasks.requests.tools.call", "a task without it")
					}
				})
			},
		},
		{
			ID: "task-tool-required", Title: "a tool that needs a task is refused without one", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-tool-required"},
			Judge: func(c *Case) {
				// As a task this tool, or one like it, is refused no less.
				c.refusedForTask("tasks/required", func(*Frame) *Frame {
					a, _ := c.control("tasks/create")
					return a
				})
			},
		},
		{
			ID: "task-tool-forbidden", Title: "a tool that takes no task is refused with one", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-tool-forbidden"},
			Judge: func(c *Case) {
				c.refusedForTask("tasks/forbidden", func(req *Frame) *Frame {
					a, _ := c.control("call/" + Name(req.Params, "name"))
					return a
				})
			},
		},
		{
			ID: "task-created", Title: "a call as a task is answered by the task alone, in status working, with its own id", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-create-result", "legacy/tasks-id", "legacy/tasks-initial-working"},
			Judge: func(c *Case) {
				seen := map[string]bool{}
				for _, s := range c.StepsOf("tasks/create") {
					for _, req := range s.Sent() {
						a := c.Answer(req)
						if a == nil {
							continue
						}
						task := a.result().Get("task")
						id, ok := task.Get("taskId").Str()
						status, _ := task.Get("status").Str()
						code, _ := a.Code()
						switch {
						case task == nil && a.Failed() && code != -32601:
							// Whoever refuses the call makes no task. That there are
							// none for this tool is not to be said of it, though.
							c.NotObserved("the call was refused: " + outcome(a))
							continue
						case task == nil:
							c.Broken(a, "a result with a task", outcome(a))
						case a.Result.Get("content") != nil || a.Result.Get("structuredContent") != nil:
							c.Broken(a, "the task alone", "content beside it")
						case !ok || id == "" || seen[id]:
							c.Broken(a, "a taskId of its own", text(task.Get("taskId")))
						default:
							c.want(a, status == "working", "status working", text(task.Get("status")))
						}
						seen[id] = true
					}
				}
			},
		},
		{
			ID: "task-shape", Title: "tasks have ISO 8601 times and a ttl", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-timestamps", "legacy/tasks-ttl-reported"},
			Judge: func(c *Case) {
				look := func(a *Frame, task wire.Raw) {
					for _, m := range []string{"createdAt", "lastUpdatedAt"} {
						s, ok := task.Get(m).Str()
						c.want(a, ok && isoTime(s), "an ISO 8601 time as "+m, text(task.Get(m)))
					}
					ttl := task.Get("ttl")
					c.want(a, ttl.Kind() == wire.KindNumber || ttl.Kind() == wire.KindNull, "a number or null as ttl", text(ttl))
				}
				c.Results("tools/call", func(_, a *Frame) {
					if task := a.Result.Get("task"); task != nil && a.Result.Get("content") == nil {
						look(a, task)
					}
				})
				c.Results("tasks/get", func(_, a *Frame) { look(a, a.Result) })
				c.Results("tasks/cancel", func(_, a *Frame) { look(a, a.Result) })
				c.Results("tasks/list", func(_, a *Frame) {
					for t := range a.Result.Get("tasks").Elems() {
						look(a, t)
					}
				})
			},
		},
		{
			ID: "task-results-shape", Title: "what is said of tasks fits the schema", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-id"},
			Judge: func(c *Case) {
				for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/list"} {
					c.Results(method, func(_, a *Frame) { c.FitsResult(a, method) })
				}
			},
		},
		{
			ID: "task-transitions", Title: "the status of a task changes as allowed and never after the end", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-transitions"},
			Judge: func(c *Case) {
				last := map[string]string{}
				c.Results("tasks/get", func(req, a *Frame) {
					id, _ := req.Param("taskId").Str()
					status, _ := a.Result.Get("status").Str()
					before := last[id]
					known := status == "working" || status == "input_required" || finalStatus(status)
					c.want(a, known && (!finalStatus(before) || before == status), "a status that may follow "+or(before, "working"), strconv.Quote(status))
					last[id] = status
				})
			},
		},
		{
			ID: "task-result-meta", Title: "the result of a task names its task", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-result-related-meta"},
			Judge: func(c *Case) {
				c.Results("tasks/result", func(req, a *Frame) {
					id := a.Result.Get("_meta").Get("io.modelcontextprotocol/related-task").Get("taskId")
					c.want(a, wire.Equal(id, req.Param("taskId")), "the task's id in _meta", text(id))
				})
			},
		},
		{
			ID: "task-listed", Title: "a task that was made is listed", Layer: Feature, Needs: []string{"tasks.list"},
			Requirements: []string{"legacy/tasks-list"},
			Judge: func(c *Case) {
				s := c.Step("tasks/list")
				if s == nil {
					return
				}
				made := map[string]bool{}
				for _, t := range c.StepsOf("tasks/create") {
					for _, req := range t.Sent() {
						if id, ok := t.Trace.Answer(req).result().Get("task").Get("taskId").Str(); ok && t.Trace == s.Trace {
							made[id] = true
						}
					}
				}
				for _, req := range s.Sent() {
					a := c.Answer(req)
					if a == nil || a.result().Get("nextCursor") != nil {
						continue
					}
					listed := map[string]bool{}
					for task := range a.result().Get("tasks").Elems() {
						listed[Name(task, "taskId")] = true
					}
					for id := range made {
						c.want(a, listed[id], "the task "+id, "a list without it")
					}
				}
			},
		},
		{
			ID: "task-result-waits", Title: "the result of a task comes when the task has ended", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-result-blocks"},
			Judge: func(c *Case) {
				early, had := c.Step("tasks/result-at-once"), c.Step("tasks/result-had")
				if early == nil || had == nil {
					return
				}
				for _, req := range early.Sent() {
					a := early.Trace.Answer(req)
					for _, get := range had.Sent() {
						if state := had.Trace.Answer(get); a != nil && state.OK() {
							status := Name(state.Result, "status")
							c.want(a, finalStatus(status), "no answer before the task has ended", "one while it was "+quote(status))
						}
					}
				}
			},
		},
		{
			ID: "task-result-exact", Title: "the result of a task is what the call gives without one", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-result-exact"},
			Judge: func(c *Case) {
				var plainly []wire.Raw
				for _, s := range c.StepsOf("tasks/plain") {
					for _, req := range s.Sent() {
						if a := s.Trace.Answer(req); a.OK() {
							plainly = append(plainly, withoutMeta(a.Result))
						}
					}
				}
				if len(plainly) != 2 || !wire.Equal(plainly[0], plainly[1]) {
					c.NotObserved("without a task the tool does not give the same each time")
					return
				}
				for _, s := range c.StepsOf("tasks/result") {
					for _, req := range s.Sent() {
						if a := s.Trace.Answer(req); req.Method == "tasks/result" && a != nil {
							c.want(a, a.OK() && wire.Equal(withoutMeta(a.Result), plainly[0]), "the result that the call has without a task: "+text(plainly[0]), or(text(withoutMeta(a.Result)), outcome(a)))
						}
					}
				}
			},
		},
		{
			ID: "task-cancelled", Title: "a task that is cancelled is so at once and stays so", Layer: Feature, Needs: []string{"tasks.cancel"},
			Requirements: []string{"legacy/tasks-cancel-effect"},
			Judge: func(c *Case) {
				s := c.Step("tasks/cancel-running")
				if s == nil {
					return
				}
				for i, req := range s.Sent() {
					a := s.Trace.Answer(req)
					if i == 0 && a.Failed() {
						c.NotObserved("the task had ended before it could be cancelled")
						return
					}
					if a.OK() {
						c.want(a, Name(a.Result, "status") == "cancelled", "status cancelled", text(a.Result.Get("status")))
					}
				}
			},
		},
		{
			ID: "task-param-wins", Title: "the taskId of the params counts, whatever _meta names", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-param-wins"},
			Judge: func(c *Case) {
				if s := c.Step("tasks/two-ids"); s != nil {
					for _, req := range s.Sent() {
						if a := c.Answer(req); a != nil {
							c.want(a, a.OK() && wire.Equal(a.Result.Get("taskId"), req.Param("taskId")), "the task "+text(req.Param("taskId")), or(Name(a.result(), "taskId"), outcome(a)))
						}
					}
				}
			},
		},
		{
			ID: "task-named-once", Title: "messages that name their task anyway do not name it in _meta", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-related-meta-omitted"},
			Judge: func(c *Case) {
				look := func(f *Frame) {
					c.want(f, f.meta(metaTask) == nil, "no "+metaTask+" in _meta", text(f.meta(metaTask)))
				}
				for _, method := range []string{"tasks/get", "tasks/list", "tasks/cancel"} {
					c.Results(method, func(_, a *Frame) { look(a) })
				}
				c.each(func(f *Frame) {
					if f.Method == methodTaskStatus {
						look(f)
					}
				})
			},
		},
		{
			ID: "task-progress-named", Title: "progress of a task names the task", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/tasks-related-meta"},
			Judge: func(c *Case) {
				c.taskProgress(func(f *Frame, id string, _ bool) {
					c.want(f, Name(f.meta(metaTask), "taskId") == id, "the task "+id+" in _meta", text(f.meta(metaTask)))
				})
			},
		},
		{
			ID: "task-progress-ends", Title: "a task that has ended reports no more progress", Layer: Feature, Needs: []string{"tasks.requests.tools.call"},
			Requirements: []string{"legacy/progress-task-stops-at-terminal"},
			Judge: func(c *Case) {
				c.taskProgress(func(f *Frame, id string, ended bool) {
					c.want(f, !ended, "no progress after the task "+id+" has ended", text(f.Params))
				})
			},
		},
		{
			ID: "task-status-shape", Title: "a notice about the status of a task holds the whole task", Layer: Feature, Needs: []string{"tasks"},
			Requirements: []string{"legacy/tasks-status-notification"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == methodTaskStatus {
						c.FitsMessage(f)
					}
				})
			},
		},
		{
			ID: "task-ids-unguessable", Title: "the ids of tasks cannot be guessed", Layer: Feature, Needs: []string{"tasks.requests.tools.call"}, Soft: true,
			Requirements: []string{"legacy/tasks-isolation"},
			Judge: func(c *Case) {
				var ids []string
				var last *Frame
				c.Results("tools/call", func(_, a *Frame) {
					if id := Name(a.Result.Get("task"), "taskId"); id != "" && !slices.Contains(ids, id) {
						ids, last = append(ids, id), a
					}
				})
				if len(ids) < 2 {
					c.NotObserved("fewer than two tasks were made")
					return
				}
				own := len(ids[0]) - len(commonPrefix(ids))
				c.want(last, own >= guessable, "ids that differ in many characters, chosen at random", strings.Join(ids, ", "))
			},
		},
		{
			ID: "task-cancel-final", Title: "a finished task cannot be cancelled", Layer: Feature, Needs: []string{"tasks.cancel"},
			Requirements: []string{"legacy/tasks-cancel-terminal"},
			Judge:        func(c *Case) { c.Refused("tasks/cancel-final", false, -32602) },
		},
	}
}

// guessable is how many characters of an id have to be its own: 16 of them
// hold 64 bits where they are hexadecimal.
const guessable = 16

func commonPrefix(texts []string) string {
	p := texts[0]
	for _, s := range texts {
		for !strings.HasPrefix(s, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

const methodTaskStatus = "notifications/tasks/status"

// withoutMeta is a result without its metadata and without white space that
// means nothing.
func withoutMeta(result wire.Raw) wire.Raw {
	if result.Kind() != wire.KindObject {
		return result
	}
	b := []byte{'{'}
	for k, v := range result.Members() {
		if k == "_meta" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(k)...), ':'), v...)
	}
	return append(b, '}')
}

// taskProgress visits the progress that is reported for calls that became tasks,
// from then on: the id of the task, and whether an answer or a notice had said
// that it has ended.
func (c *Case) taskProgress(visit func(f *Frame, id string, ended bool)) {
	for _, t := range c.Traces() {
		asked := map[string]*Frame{}  // calls by id
		tokens := map[string]string{} // tasks by progress token
		ended := map[string]*Frame{}  // what said first that a task has
		end := func(id string, f *Frame) {
			if ended[id] == nil {
				ended[id] = f
			}
		}
		for f := range t.all() {
			switch {
			case !f.FromServer && f.Kind == KindRequest && f.ID != nil:
				asked[idKey(f.ID)] = f
			case !f.FromServer:
			case f.OK() && f.ID != nil:
				req := asked[idKey(f.ID)]
				if req == nil {
					continue
				}
				id, status := Name(f.Result, "taskId"), Name(f.Result, "status")
				switch req.Method {
				case "tools/call":
					if id := Name(f.Result.Get("task"), "taskId"); id != "" && req.meta("progressToken") != nil {
						tokens[idKey(req.meta("progressToken"))] = id
					}
				case "tasks/get", "tasks/cancel":
					if finalStatus(status) {
						end(id, f)
					}
				case "tasks/result":
					end(Name(req.Params, "taskId"), f)
				}
			case f.Method == methodTaskStatus:
				if finalStatus(Name(f.Params, "status")) {
					end(Name(f.Params, "taskId"), f)
				}
			case f.Method == methodProgress && f.Param("progressToken") != nil:
				if id := tokens[idKey(f.Param("progressToken"))]; id != "" {
					visit(f, id, ended[id] != nil && surely(ended[id], f))
				}
			}
		}
	}
}
