package compat

import (
	"context"
	"errors"
	"sync"
	"time"

	step "github.com/goldwire/goldwire/generated/mcp/step20260728"
	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file makes the tasks of a server of 2025-11-25 those of the extension of
// 2026-07-28. A call of a tool that can run as a task does so for a client that
// declares the extension: the server is asked for a task, and a task of ours
// waits for its result, so that what the server asks meanwhile can be answered
// with tasks/update.

// supportTTL is how long it is remembered which tools run as tasks.
const supportTTL = time.Minute

// tasksOf are the tasks of a server of 2025-11-25.
type tasksOf struct {
	up    *up
	tasks *Tasks

	mu      sync.Mutex
	support map[string]older.TaskSupport
	until   time.Time
}

// serveTasks adds the tasks to what out has of the server.
func (u *up) serveTasks(out *newer.Server) {
	t := &tasksOf{up: u, tasks: &Tasks{Store: u.store, Hub: out.Hub, Logger: out.Options.Logger}}
	call := out.CallTool
	*out = t.tasks.Attach(*out)
	out.CallTool = func(ctx context.Context, p *newer.CallToolParams) (*newer.CallToolResult, error) {
		declared := u.knowsTasks || p.Meta.ClientCapabilities.Extensions[newer.ExtensionTasks] != nil
		if p.RequestState != nil || !declared && u.keeper != nil {
			return call(ctx, p)
		}
		support, err := t.supportOf(ctx, p.Name)
		switch {
		case err != nil:
			return nil, step.UpgradeError(newer.MethodToolsCall, err)
		case declared && (support == older.TaskSupportRequired || support == older.TaskSupportOptional):
			return nil, t.start(ctx, p)
		case support == older.TaskSupportRequired: // our own client waits for its end
			q, err := t.params(ctx, p)
			if err != nil {
				return nil, err
			}
			return t.run(ctx, q)
		}
		return call(ctx, p)
	}
}

// supportOf says whether a tool runs as a task.
func (t *tasksOf) supportOf(ctx context.Context, tool string) (older.TaskSupport, error) {
	t.mu.Lock()
	support := t.support
	if time.Now().After(t.until) {
		support = nil
	}
	t.mu.Unlock()
	if support == nil {
		support = map[string]older.TaskSupport{}
		for x, err := range jsonrpc.Pages(t.up.seen(ctx), new(older.ListToolsParams), t.up.server.ListTools,
			func(r *older.ListToolsResult) []older.Tool { return r.Tools },
			func(r *older.ListToolsResult) *string { return r.NextCursor },
			func(p *older.ListToolsParams, cursor *string) { p.Cursor = cursor }) {
			if err != nil {
				return "", err
			}
			if e := x.Execution; e != nil && e.TaskSupport != nil {
				support[x.Name] = *e.TaskSupport
			}
		}
		t.mu.Lock()
		t.support, t.until = support, time.Now().Add(supportTTL)
		t.mu.Unlock()
	}
	return support[tool], nil
}

// start makes a task of ours of a call.
func (t *tasksOf) start(ctx context.Context, p *newer.CallToolParams) error {
	q, err := t.params(ctx, p.Clone())
	if err != nil {
		return err
	}
	if q.Meta != nil { // the call is answered long before there is progress
		q.Meta.ProgressToken = jsonrpc.ID{}
	}
	var c *kept
	return t.tasks.Start(ctx, p, func(ctx context.Context, p *newer.CallToolParams) (*newer.CallToolResult, error) {
		k := t.up.keeper
		if k == nil {
			return t.run(ctx, q)
		}
		if c == nil {
			c = k.start(jsonrpc.WithPeer(ctx, asNewer, p), q, func(ctx context.Context) (any, error) { return t.run(ctx, q) })
			// It also ends with the task while that waits for answers.
			context.AfterFunc(ctx, func() { c.turn.Cancel(context.Cause(ctx)) })
		} else if c.answer(p.InputResponses, func() {}) != nil {
			return nil, newer.NewInputRequiredError(c.questions(), nil) // it is asked again
		}
		for {
			select {
			case <-c.done:
				c.turn.Cancel(nil)
				if p, ok := c.err.(*panicked); ok {
					panic(p)
				}
				r, _ := c.result.(*newer.CallToolResult)
				return r, c.err
			case <-ctx.Done():
				c.turn.Cancel(context.Cause(ctx))
				<-c.done
				return nil, context.Cause(ctx)
			case <-c.news:
				if requests := c.questions(); len(requests) > 0 {
					return nil, newer.NewInputRequiredError(requests, nil)
				}
			}
		}
	})
}

// params are those of a call that asks for a task.
func (t *tasksOf) params(ctx context.Context, p *newer.CallToolParams) (*older.CallToolParams, error) {
	e := wire.EnvOf(ctx)
	e.Meta = told(p.Metadata())
	q, err := step.DowngradeCallToolParams(p, &e)
	if err != nil {
		return nil, badParams(err)
	}
	q.Task = &older.TaskMetadata{TTL: new(t.tasks.ttl().Milliseconds())}
	return q, nil
}

// run asks the server for a task and waits for its result.
func (t *tasksOf) run(ctx context.Context, q *older.CallToolParams) (*newer.CallToolResult, error) {
	s := &t.up.server
	r, err := s.CallTool(ctx, q)
	if created, ok := errors.AsType[*older.TaskCreated](err); ok {
		id := created.Task.TaskID
		var payload *older.GetTaskPayloadResult
		o := jsonrpc.CallOptionsOf(ctx)
		o.Timeout, o.MaxTimeout = new(time.Duration), new(time.Duration) // the task has its own
		payload, err = s.GetTaskPayload(jsonrpc.WithCallOptions(ctx, o), &older.GetTaskPayloadParams{TaskID: id})
		switch {
		case err == nil:
			if r, err = payload.CallTool(); err == nil {
				r.Meta = withoutRelated(r.Meta)
			}
		case ctx.Err() != nil && s.CancelTask != nil:
			off, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout)
			_, _ = s.CancelTask(off, &older.CancelTaskParams{TaskID: id})
			cancel()
		}
	}
	if err != nil {
		return nil, step.UpgradeError(newer.MethodToolsCall, err)
	}
	e := wire.EnvOf(ctx)
	return step.UpgradeCallToolResult(r, &e)
}

// withoutRelated takes out of _meta which task a result belongs to: that of the
// server, which the client does not know.
func withoutRelated(meta wire.Raw) wire.Raw {
	if meta.Get(older.MetaKeyRelatedTask) == nil {
		return meta
	}
	b, n := []byte(nil), 0
	for name, v := range meta.Members() {
		if name != older.MetaKeyRelatedTask {
			b = wire.AppendRaw(append(wire.AppendString(append(b, ','), name), ':'), v)
		}
	}
	if b = wire.CloseObject(b, n); string(b) == "{}" {
		return nil
	}
	return b
}
