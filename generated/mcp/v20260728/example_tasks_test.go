package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// A server goes on with a call as a task, and the client polls for the result.
// The three funcs that serve tasks declare the extension; a client opts in with
// Tasks.
func ExampleNewTaskCreated() {
	task := mcp.Task{TaskID: "report-1", Status: mcp.TaskStatusWorking, CreatedAt: "2026-07-28T12:00:00Z", LastUpdatedAt: "2026-07-28T12:00:00Z", PollIntervalMs: new(int64(1))}
	polls := 0
	server := mcp.Server{
		Info: mcp.Implementation{Name: "reports", Version: "1"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "report"}}}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if !mcp.Peer(ctx).Tasks() {
				return nil, errors.New("it takes too long to wait for")
			}
			return nil, mcp.NewTaskCreated(task)
		},
		GetTask: func(_ context.Context, p *mcp.GetTaskParams) (*mcp.GetTaskResult, error) {
			if p.TaskID != task.TaskID {
				return nil, jsonrpc.NewError(mcp.CodeInvalidParams, "no such task")
			}
			got := &mcp.GetTaskResult{TaskID: task.TaskID, Status: task.Status, CreatedAt: task.CreatedAt, LastUpdatedAt: task.LastUpdatedAt, PollIntervalMs: task.PollIntervalMs}
			if polls++; polls == 3 {
				res := &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: "all is well"}}}
				got.Status, got.Result = mcp.TaskStatusCompleted, &mcp.TaskPayload{Raw: res.AppendJSON(nil)}
			}
			return got, nil
		},
		UpdateTask: func(context.Context, *mcp.UpdateTaskParams) (*mcp.UpdateTaskResult, error) { return nil, nil },
		CancelTask: func(context.Context, *mcp.CancelTaskParams) (*mcp.CancelTaskResult, error) { return nil, nil },
	}

	ctx := context.Background()
	near, far := jsonl.InMemory()
	go func() { _ = jsonrpc.Serve(ctx, far, server) }()
	remote, err := mcp.Connect(ctx, near, mcp.Client{Info: mcp.Implementation{Name: "desk", Version: "1"}, Tasks: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = remote.Close() }()
	_, err = remote.CallTool(ctx, &mcp.CallToolParams{Name: "report"})
	created, ok := errors.AsType[*mcp.TaskCreated](err)
	if !ok {
		fmt.Println(err)
		return
	}
	fmt.Println(created)
	for range time.Tick(time.Duration(*created.PollIntervalMs) * time.Millisecond) {
		got, err := remote.GetTask(ctx, &mcp.GetTaskParams{TaskID: created.TaskID})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(got.Status)
		if got.Status == mcp.TaskStatusCompleted {
			res, err := got.Result.CallTool()
			if err == nil {
				fmt.Println(res.Content[0].(*mcp.TextContent).Text)
			}
			return
		}
	}
	// Output:
	// task created: "report-1"
	// working
	// working
	// completed
	// all is well
}
