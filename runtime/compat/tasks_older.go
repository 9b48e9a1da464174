package compat

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	step "github.com/goldwire/goldwire/generated/mcp/step20260728"
	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file makes the tasks of a server of 2026-07-28, an extension there, those
// of 2025-11-25. There the client asks for a task; here the server decides, when
// the client declares that it knows tasks. So a client of 2025-11-25 is taken for
// one that does in the calls that ask for a task, and if the server answers such a
// call at once the answer becomes a task that has ended.

// overTTL is how long the result of a call that was answered at once is kept for
// who asked for a task: there is nothing to wait for before it is fetched.
const overTTL = 5 * time.Minute

// tasksKey marks the context of a request that may be answered with a task.
type tasksKey struct{}

// How often a task is looked at while a client waits for its result.
const (
	minTaskPoll = 20 * time.Millisecond
	maxTaskPoll = 30 * time.Second
)

// serveTasks adds the tasks to what out has of the server.
func (d *down) serveTasks(out *older.Server) {
	if d.finished = d.store; d.finished == nil {
		d.finished = NewMemoryTasks(maxMemoryTasks)
	}
	out.TasksRequestsToolsCall = true
	call := out.CallTool
	out.CallTool = func(ctx context.Context, p *older.CallToolParams) (*older.CallToolResult, error) {
		wanted := p.Task
		if wanted != nil {
			ctx = context.WithValue(ctx, tasksKey{}, true)
			q := *p
			q.Task = nil
			p = &q
		}
		r, err := call(ctx, p)
		created, ok := errors.AsType[*newer.TaskCreated](err)
		switch {
		case ok && wanted == nil: // our own client knows tasks, and whoever calls does not
			return d.await(ctx, created.TaskID)
		case ok:
			task := created.Task()
			t, err := step.DowngradeTask(&task, nil)
			if err != nil {
				return nil, err
			}
			t.Status = older.TaskStatusWorking // as every task begins
			return nil, older.NewTaskCreated(*t)
		case err == nil && wanted != nil:
			return nil, d.over(ctx, wanted, r)
		}
		return r, err
	}
	list := out.ListTools
	out.ListTools = func(ctx context.Context, p *older.ListToolsParams) (*older.ListToolsResult, error) {
		r, err := list(ctx, p)
		if err != nil || r == nil {
			return nil, err
		}
		for i := range r.Tools { // r is the conversion's own
			if r.Tools[i].Execution == nil {
				r.Tools[i].Execution = &older.ToolExecution{TaskSupport: new(older.TaskSupportOptional)}
			}
		}
		return r, nil
	}
	out.GetTask = func(ctx context.Context, p *older.GetTaskParams) (*older.GetTaskResult, error) {
		r, err := d.task(ctx, p.TaskID)
		if err != nil {
			return nil, err
		}
		return taskOf(r), nil
	}
	out.GetTaskPayload = func(ctx context.Context, p *older.GetTaskPayloadParams) (*older.GetTaskPayloadResult, error) {
		r, err := d.await(ctx, p.TaskID)
		if err != nil {
			return nil, err
		}
		raw := wire.Raw(r.AppendJSON(nil))
		related := append(wire.AppendString([]byte(`{"`+older.MetaKeyRelatedTask+`":{"taskId":`), p.TaskID), "}}"...)
		return &older.GetTaskPayloadResult{Raw: withMeta(raw, related)}, nil
	}
	out.CancelTask = func(ctx context.Context, p *older.CancelTaskParams) (*older.CancelTaskResult, error) {
		r, err := d.task(ctx, p.TaskID)
		if err != nil {
			return nil, err
		}
		if ended(r.Status) {
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "the task has ended already: "+string(r.Status))
		}
		if _, err := d.server.CancelTask(d.tasksContext(ctx), &newer.CancelTaskParams{TaskID: p.TaskID, Meta: d.tasksMeta(ctx)}); err != nil {
			return nil, err
		}
		if r, err = d.task(ctx, p.TaskID); err != nil {
			return nil, err
		}
		t := taskOf(r)
		return &older.CancelTaskResult{CreatedAt: t.CreatedAt, LastUpdatedAt: t.LastUpdatedAt, Status: t.Status, TaskID: t.TaskID, TTL: t.TTL, PollInterval: t.PollInterval, StatusMessage: t.StatusMessage}, nil
	}
}

// taskOf is a task as 2025-11-25 has it.
func taskOf(r *newer.GetTaskResult) *older.GetTaskResult {
	return &older.GetTaskResult{CreatedAt: r.CreatedAt, LastUpdatedAt: r.LastUpdatedAt, Status: older.TaskStatus(r.Status), TaskID: r.TaskID, TTL: r.TTLMs, PollInterval: r.PollIntervalMs, StatusMessage: r.StatusMessage}
}

// withMeta is an object that has the members of meta in its _meta, in the place of
// those of their names.
func withMeta(object, meta wire.Raw) wire.Raw {
	b := append(make([]byte, 0, len(object)+len(meta)+len(`{,"_meta":{,}}`)), '{')
	add := func(name string, v wire.Raw) {
		b = append(wire.AppendRaw(append(wire.AppendString(b, name), ':'), v), ',')
	}
	for name, v := range object.Members() {
		if name != "_meta" {
			add(name, v)
		}
	}
	b = append(b, `"_meta":{`...)
	for name, v := range object.Get("_meta").Members() {
		if meta.Get(name) == nil {
			add(name, v)
		}
	}
	for name, v := range meta.Members() {
		add(name, v)
	}
	return append(bytes.TrimSuffix(b, []byte(",")), "}}"...)
}

// tasksMeta is the _meta of a request about a task.
func (d *down) tasksMeta(ctx context.Context) newer.RequestMeta {
	e := d.env(context.WithValue(ctx, tasksKey{}, true))
	if m, ok := e.Meta.(*newer.RequestMeta); ok {
		return *m
	}
	return newer.RequestMeta{}
}

func (d *down) tasksContext(ctx context.Context) context.Context {
	if d.remote != nil {
		return ctx
	}
	return jsonrpc.WithPeer(ctx, asNewer, &newer.GetTaskParams{Meta: d.tasksMeta(ctx)})
}

// task is a task as it stands.
func (d *down) task(ctx context.Context, id string) (*newer.GetTaskResult, error) {
	if r, err := d.finished.Get(ctx, id); err == nil && r.Principal == jsonrpc.Principal(ctx) {
		return &r.Task, nil
	}
	r, err := d.server.GetTask(d.tasksContext(ctx), &newer.GetTaskParams{TaskID: id, Meta: d.tasksMeta(ctx)})
	if err == nil && r == nil {
		err = errors.New("GetTask returned neither a task nor an error")
	}
	return r, err
}

// over keeps the result of a call that asked for a task and was answered at once.
// The answer says that the task works, as every task begins so (2025-11-25,
// basic/utilities/tasks, status lifecycle); who asks next is told that it has
// ended.
func (d *down) over(ctx context.Context, wanted *older.TaskMetadata, r *older.CallToolResult) error {
	now := time.Now()
	ttl := overTTL
	if wanted.TTL != nil && *wanted.TTL > 0 && *wanted.TTL < ttl.Milliseconds() {
		ttl = time.Duration(*wanted.TTL) * time.Millisecond
	}
	task := newer.GetTaskResult{
		TaskID: rand.Text(), Status: newer.TaskStatusCompleted, CreatedAt: stamp(now), LastUpdatedAt: stamp(now),
		TTLMs: new(ttl.Milliseconds()), Result: &newer.TaskPayload{Raw: r.AppendJSON(nil)},
	}
	if err := d.finished.Create(ctx, &TaskRecord{Task: task, Principal: jsonrpc.Principal(ctx), Expires: now.Add(ttl)}); err != nil {
		return err
	}
	return older.NewTaskCreated(older.Task{TaskID: task.TaskID, Status: older.TaskStatusWorking, CreatedAt: task.CreatedAt, LastUpdatedAt: task.LastUpdatedAt, TTL: task.TTLMs})
}

// await waits for the end of a task and gives its result. What the task asks for
// meanwhile the client is asked.
func (d *down) await(ctx context.Context, id string) (*older.CallToolResult, error) {
	jsonrpc.PeerOf(ctx).Detach()
	answered := map[string]string{}
	for {
		r, err := d.task(ctx, id)
		if err != nil {
			return nil, err
		}
		switch r.Status {
		case newer.TaskStatusCompleted:
			if r.Result == nil {
				return nil, errors.New("the task has ended without a result")
			}
			res, err := r.Result.CallTool()
			if err != nil {
				return nil, err
			}
			e := wire.EnvOf(ctx)
			out, err := step.DowngradeCallToolResult(res, &e)
			e.Report(newer.MethodToolsCall, "result")
			if err != nil {
				return nil, badResult(newer.MethodToolsCall, err)
			}
			return out, nil
		case newer.TaskStatusFailed:
			if r.Error == nil {
				return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the task failed")
			}
			return nil, step.DowngradeError(newer.MethodToolsCall, &jsonrpc.Error{Code: r.Error.Code, Message: r.Error.Message, Data: r.Error.Data, Extra: r.Error.Extra})
		case newer.TaskStatusCancelled:
			return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the task was cancelled")
		case newer.TaskStatusInputRequired:
			if err := d.answer(ctx, id, r, answered); err != nil {
				return nil, err
			}
		default:
			clear(answered) // what it asks next it asks anew
		}
		poll := minTaskPoll
		if r.PollIntervalMs != nil {
			poll = min(max(time.Duration(*r.PollIntervalMs)*time.Millisecond, minTaskPoll), maxTaskPoll)
		}
		select {
		case <-time.After(poll):
		case <-ctx.Done():
			return nil, jsonrpc.ContextError(ctx)
		}
	}
}

// answer asks the client what a task asks for and has not been answered yet.
// answered holds, by their keys, the questions that have been: the server may go
// on to show one for a while. When the task has changed since, or there is another
// question under the key, it is asked again.
func (d *down) answer(ctx context.Context, id string, r *newer.GetTaskResult, answered map[string]string) error {
	left := newer.InputRequests{}
	shown := map[string]string{}
	for key, q := range r.InputRequests {
		if q == nil {
			continue
		}
		shown[key] = r.LastUpdatedAt + string(q.AppendJSON(nil))
		if answered[key] != shown[key] {
			left[key] = q
		}
	}
	if len(left) == 0 {
		return nil
	}
	need := newer.NewInputRequiredError(left, nil)
	var answers map[string]wire.Raw
	var err error
	if d.remote != nil {
		answers = map[string]wire.Raw{}
		for key, q := range need.Inputs() {
			if answers[key], err = d.remote.server.Conn().AnswerInput(ctx, q); err != nil {
				return fmt.Errorf("%s (%q): %w", q.Method, key, err)
			}
		}
	} else {
		m := d.tasksMeta(ctx)
		if err := jsonrpc.MayAsk(newer.Methods, &m.ClientCapabilities, need); err != nil {
			return step.DowngradeError(newer.MethodTasksGet, err)
		}
		if answers, err = ask(ctx, need); err != nil {
			return err
		}
	}
	responses := make(newer.InputResponses, len(answers))
	for key, a := range answers {
		responses[key] = newer.InputResponse{Raw: a}
		answered[key] = shown[key]
	}
	_, err = d.server.UpdateTask(d.tasksContext(ctx), &newer.UpdateTaskParams{TaskID: id, InputResponses: responses, Meta: d.tasksMeta(ctx)})
	return err
}
