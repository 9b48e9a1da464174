package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// taskServer is one of 2026-07-28 whose tool slow takes a minute and asks for a
// name, as a task for who knows tasks, and whose tool quick is never one.
func taskServer(tasks *compat.Tasks) v20260728.Server {
	work := func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
		r, err := p.InputResponses.Elicit("name")
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"name": form("name?")}, nil)
		}
		select {
		case <-time.After(20 * time.Second):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		name, _ := r.Content["name"].Str()
		return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "Hello, " + name}}}, nil
	}
	return tasks.Attach(v20260728.Server{
		Info: v20260728.Implementation{Name: "s", Version: "1"}, Options: discard,
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{Tools: []v20260728.Tool{{Name: "slow"}, {Name: "quick"}}}, nil
		},
		CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			switch {
			case p.Name == "quick":
				return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "quick"}}}, nil
			case p.Name == "fail" && v20260728.Peer(ctx).Tasks():
				return nil, tasks.Start(ctx, p, func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
					return nil, jsonrpc.NewError(-5, "no")
				})
			case v20260728.Peer(ctx).Tasks():
				return nil, tasks.Start(ctx, p, work)
			}
			return work(ctx, p)
		},
	})
}

func oldNamed(name string) func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
	return func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
		return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept, Content: map[string]v20251125.ElicitValue{"name": v20251125.ElicitValueString(name)}}, nil
	}
}

// TestOldClientUsesTasks of a server of 2026-07-28, asked and dialled.
func TestOldClientUsesTasks(t *testing.T) {
	for name, connect := range map[string]func(t *testing.T, s v20260728.Server, c v20251125.Client) (*v20251125.RemoteServer, error){
		"asked": func(t *testing.T, s v20260728.Server, c v20251125.Client) (*v20251125.RemoteServer, error) {
			return v20251125.Connect(t.Context(), served(t, compat.Server(s)), c)
		},
		"dialled": func(t *testing.T, s v20260728.Server, c v20251125.Client) (*v20251125.RemoteServer, error) {
			return compat.Dial(t.Context(), served(t, s), c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tasks := &compat.Tasks{}
				r, err := connect(t, taskServer(tasks), v20251125.Client{Options: discard, Elicit: oldNamed("Ada")})
				require.NoError(t, err)
				ctx := t.Context()
				require.True(t, r.TasksRequestsToolsCall)
				list, err := r.ListTools(ctx, nil)
				require.NoError(t, err)
				require.Equal(t, v20251125.TaskSupportOptional, *list.Tools[0].Execution.TaskSupport)

				start := func(tool string) string {
					_, err := r.CallTool(ctx, &v20251125.CallToolParams{Name: tool, Task: &v20251125.TaskMetadata{}})
					created, ok := errors.AsType[*v20251125.TaskCreated](err)
					require.True(t, ok, "%v", err)
					require.Equal(t, v20251125.TaskStatusWorking, created.Task.Status, "every task begins so")
					require.Equal(t, v20251125.TaskStatusWorking, created.Task.Status, "whatever has become of it")
					return created.Task.TaskID
				}
				id := start("slow")
				task, err := r.GetTask(ctx, &v20251125.GetTaskParams{TaskID: id})
				require.NoError(t, err)
				require.Contains(t, []v20251125.TaskStatus{v20251125.TaskStatusWorking, v20251125.TaskStatusInputRequired}, task.Status)
				payload, err := r.GetTaskPayload(ctx, &v20251125.GetTaskPayloadParams{TaskID: id})
				require.NoError(t, err)
				res, err := payload.CallTool()
				require.NoError(t, err)
				require.Equal(t, "Hello, Ada", oldText(res))
				require.JSONEq(t, `{"taskId":"`+id+`"}`, string(res.Meta.Get(v20251125.MetaKeyRelatedTask)))
				_, err = r.CancelTask(ctx, &v20251125.CancelTaskParams{TaskID: id})
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))

				quick := start("quick")
				task, err = r.GetTask(ctx, &v20251125.GetTaskParams{TaskID: quick})
				require.NoError(t, err)
				require.Equal(t, v20251125.TaskStatusCompleted, task.Status)
				payload, err = r.GetTaskPayload(ctx, &v20251125.GetTaskPayloadParams{TaskID: quick})
				require.NoError(t, err)
				res, err = payload.CallTool()
				require.NoError(t, err)
				require.Equal(t, "quick", oldText(res))

				_, err = r.GetTaskPayload(ctx, &v20251125.GetTaskPayloadParams{TaskID: start("fail")})
				require.ErrorIs(t, err, jsonrpc.NewError(-5, ""))

				called := start("slow")
				cancelled, err := r.CancelTask(ctx, &v20251125.CancelTaskParams{TaskID: called})
				require.NoError(t, err)
				require.Equal(t, v20251125.TaskStatusCancelled, cancelled.Status)

				_, err = r.GetTask(ctx, &v20251125.GetTaskParams{TaskID: "nothing"})
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))

				// Without asking for a task there is none to be seen.
				res, err = r.CallTool(ctx, &v20251125.CallToolParams{Name: "slow"})
				require.NoError(t, err)
				require.Equal(t, "Hello, Ada", oldText(res))
				require.NoError(t, r.Close())
				require.NoError(t, tasks.Close(ctx))
			})
		})
	}
}

// TestOlderClientSeesNoTasks: revisions without tasks get results.
func TestOlderClientSeesNoTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &compat.Tasks{}
		r, err := v20250618.Connect(t.Context(), served(t, compat.Server(taskServer(tasks))), v20250618.Client{
			Elicit: func(context.Context, v20250618.ElicitParams) (*v20250618.ElicitResult, error) {
				return &v20250618.ElicitResult{Action: v20250618.ElicitActionAccept, Content: map[string]v20250618.ElicitValue{"name": v20250618.ElicitValueString("Ada")}}, nil
			},
		})
		require.NoError(t, err)
		res, err := r.CallTool(t.Context(), &v20250618.CallToolParams{Name: "slow"})
		require.NoError(t, err)
		require.Equal(t, "Hello, Ada", res.Content[0].(*v20250618.TextContent).Text)
		require.NoError(t, r.Close())
	})
}

// oldTaskServer is one of 2025-11-25 whose tool slow runs as a task only, and
// asks for a name when its result is fetched.
func oldTaskServer(cancelled chan<- string) v20251125.Server {
	task := func(id string) *v20251125.Task {
		return &v20251125.Task{TaskID: id, Status: v20251125.TaskStatusWorking, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z", TTL: new(int64(60000))}
	}
	return v20251125.Server{
		Info: v20251125.Implementation{Name: "s", Version: "1"}, Options: discard, TasksRequestsToolsCall: true,
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{
				{Name: "slow", Execution: &v20251125.ToolExecution{TaskSupport: new(v20251125.TaskSupportRequired)}},
				{Name: "quick"},
			}}, nil
		},
		CallTool: func(_ context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			switch {
			case p.Name == "quick" && p.Task == nil:
				return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: "quick"}}}, nil
			case p.Name == "quick" || p.Task == nil:
				return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "a task or none")
			}
			return nil, v20251125.NewTaskCreated(*task("old-1"))
		},
		GetTask: func(_ context.Context, p *v20251125.GetTaskParams) (*v20251125.GetTaskResult, error) {
			return &v20251125.GetTaskResult{TaskID: p.TaskID, Status: v20251125.TaskStatusWorking, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z"}, nil
		},
		GetTaskPayload: func(ctx context.Context, _ *v20251125.GetTaskPayloadParams) (*v20251125.GetTaskPayloadResult, error) {
			peer := v20251125.Peer(ctx)
			if err := errors.Join(peer.Progress(ctx, 1, nil, ""), peer.Log(ctx, v20251125.LoggingLevelInfo, "x")); err != nil && !errors.Is(err, jsonrpc.ErrNotAdvertised) {
				return nil, err
			}
			name, err := nameOf(ctx, peer, "name?")
			if err != nil {
				return nil, err
			}
			select {
			case <-time.After(50 * time.Second): // longer than a call may take
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			r := v20251125.GetTaskPayloadResultCallTool(&v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: "Hello, " + name}}})
			return &r, nil
		},
		CancelTask: func(_ context.Context, p *v20251125.CancelTaskParams) (*v20251125.CancelTaskResult, error) {
			cancelled <- p.TaskID
			return &v20251125.CancelTaskResult{TaskID: p.TaskID, Status: v20251125.TaskStatusCancelled, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z"}, nil
		},
	}
}

// TestNewClientUsesOldTasks: for a client that declares the extension a call of a
// server of 2025-11-25 that can be a task is one.
func TestNewClientUsesOldTasks(t *testing.T) {
	client := v20260728.Client{
		Options: discard, Tasks: true,
		Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
			return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"name": v20260728.ElicitValueString("Ada")}}, nil
		},
	}
	for name, connect := range map[string]func(t *testing.T, s v20251125.Server, c v20260728.Client) (*v20260728.RemoteServer, error){
		"asked": func(t *testing.T, s v20251125.Server, c v20260728.Client) (*v20260728.RemoteServer, error) {
			return v20260728.Connect(t.Context(), served(t, compat.Server(s)), c)
		},
		"dialled": func(t *testing.T, s v20251125.Server, c v20260728.Client) (*v20260728.RemoteServer, error) {
			return compat.Dial(t.Context(), served(t, s), c)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cancelled := make(chan string, 1)
				r, err := connect(t, oldTaskServer(cancelled), client)
				require.NoError(t, err)
				ctx := t.Context()
				res, err := r.CallTool(ctx, &v20260728.CallToolParams{Name: "quick"})
				require.NoError(t, err)
				require.Equal(t, "quick", textOf(res))
				start := func() string {
					_, err := r.CallTool(ctx, &v20260728.CallToolParams{Name: "slow"})
					created, ok := errors.AsType[*v20260728.TaskCreated](err)
					require.True(t, ok, "%v", err)
					return created.TaskID
				}
				id := start()
				asked := false
				for {
					time.Sleep(time.Second)
					task, err := r.GetTask(ctx, &v20260728.GetTaskParams{TaskID: id})
					require.NoError(t, err)
					if task.Status == v20260728.TaskStatusInputRequired {
						asked = true
						answers := v20260728.InputResponses{}
						for key := range task.InputRequests {
							answers[key] = v20260728.InputResponse{Raw: []byte(elicited)}
						}
						_, err := r.UpdateTask(ctx, &v20260728.UpdateTaskParams{TaskID: id, InputResponses: answers})
						require.NoError(t, err)
					}
					if task.Status == v20260728.TaskStatusCompleted {
						res, err := task.Result.CallTool()
						require.NoError(t, err)
						require.Equal(t, "Hello, Ada", textOf(res))
						require.Nil(t, res.Meta)
						break
					}
				}
				require.Equal(t, name == "asked", asked, "our own client is asked at once")

				off := start()
				time.Sleep(time.Second) // until the server has its task
				_, err = r.CancelTask(ctx, &v20260728.CancelTaskParams{TaskID: off})
				require.NoError(t, err)
				time.Sleep(time.Minute)
				require.Equal(t, "old-1", <-cancelled)
				require.NoError(t, r.Close())
			})
		})
	}
}

// TestNewClientWithoutTasks: a tool that runs as a task only is not shown to a
// client that does not know tasks, and is waited for where that is our own.
func TestNewClientWithoutTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := v20260728.Client{
			Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"name": v20260728.ElicitValueString("Ada")}}, nil
			},
		}
		asked, err := v20260728.Connect(t.Context(), served(t, compat.Server(oldTaskServer(nil))), client)
		require.NoError(t, err)
		list, err := asked.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Tools, 1)
		require.NoError(t, asked.Close())
		dialled, err := compat.Dial(t.Context(), served(t, oldTaskServer(nil)), client)
		require.NoError(t, err)
		res, err := dialled.CallTool(t.Context(), &v20260728.CallToolParams{Name: "slow"})
		require.NoError(t, err)
		require.Equal(t, "Hello, Ada", textOf(res))
		require.NoError(t, dialled.Close())
	})
}
