package compat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// sized is a record of a task with a result of some MiB.
func sized(id string, status mcp.TaskStatus, mib int) *compat.TaskRecord {
	r := &compat.TaskRecord{
		Task:    mcp.GetTaskResult{TaskID: id, Status: status, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z"},
		Expires: time.Now().Add(time.Hour),
	}
	if mib > 0 {
		r.Task.Result = &mcp.TaskPayload{Raw: wire.Raw(`{"x":"` + strings.Repeat("x", mib<<20) + `"}`)}
	}
	return r
}

// TestMemoryTasksAreBoundedInBytes: what ended first goes first, what still runs
// stays, and what has no place is refused without a loss.
func TestMemoryTasksAreBoundedInBytes(t *testing.T) {
	ctx, full := t.Context(), jsonrpc.NewError(jsonrpc.CodeOverloaded, "")
	store := compat.NewMemoryTasks(1000)
	there := func(id string) bool {
		_, err := store.Get(ctx, id)
		if err != nil {
			require.ErrorIs(t, err, compat.ErrNoTask)
		}
		return err == nil
	}
	grow := func(id string, status mcp.TaskStatus, mib int) error {
		return store.Change(ctx, id, func(r *compat.TaskRecord) error {
			*r = *sized(id, status, mib)
			return nil
		})
	}
	require.NoError(t, store.Create(ctx, sized("small", mcp.TaskStatusCompleted, 0)))
	require.NoError(t, store.Create(ctx, sized("runs", mcp.TaskStatusWorking, 20)))
	require.NoError(t, store.Create(ctx, sized("b", mcp.TaskStatusWorking, 0)))
	require.NoError(t, store.Create(ctx, sized("a", mcp.TaskStatusCompleted, 20)))
	require.NoError(t, grow("b", mcp.TaskStatusCompleted, 20))

	require.ErrorIs(t, store.Create(ctx, sized("c", mcp.TaskStatusCompleted, 50)), full)
	require.True(t, there("a") && there("b"), "nothing goes in vain")

	require.NoError(t, store.Create(ctx, sized("c", mcp.TaskStatusCompleted, 20)))
	require.False(t, there("a"), "it ended first")
	require.True(t, there("b") && there("c") && there("runs") && there("small"))

	require.NoError(t, grow("runs", mcp.TaskStatusWorking, 40))
	require.False(t, there("b"))
	require.ErrorIs(t, grow("runs", mcp.TaskStatusWorking, 70), full)
	require.True(t, there("c"))
	require.NoError(t, store.Create(ctx, sized("d", mcp.TaskStatusFailed, 0)), "what is small has room always")

	require.NoError(t, grow("runs", mcp.TaskStatusCompleted, 0))
	require.NoError(t, grow("c", mcp.TaskStatusCompleted, 60), "there is room again")
	require.True(t, there("runs") && there("small") && there("d"))
}

// TestTaskWhoseResultHasNoRoom fails, rather than to work on for ever.
func TestTaskWhoseResultHasNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := compat.NewMemoryTasks(10)
		require.NoError(t, store.Create(t.Context(), sized("runs", mcp.TaskStatusWorking, 60)))
		tasks := &compat.Tasks{Store: store, Logger: discard.Logger}
		server := tasks.Attach(mcp.Server{})
		var created *mcp.TaskCreated
		require.ErrorAs(t, tasks.Start(t.Context(), &mcp.CallToolParams{}, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return says(strings.Repeat("x", 8<<20)), nil
		}), &created)
		synctest.Wait()
		require.NoError(t, tasks.Close(t.Context()))
		r, err := server.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: created.TaskID})
		require.NoError(t, err)
		require.Equal(t, mcp.TaskStatusFailed, r.Status)
		require.Equal(t, jsonrpc.CodeOverloaded, r.Error.Code)
	})
}

// TestTasksAnsweredAtOnceAreBounded: a client of 2025-11-25 that asks for tasks
// with big results and never fetches them loses the first ones, and what is left
// is kept for minutes, whatever it wished.
func TestTasksAnsweredAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := strings.Repeat("x", 1<<20)
		s := taskServer(&compat.Tasks{})
		s.CallTool = func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			return says(p.Name + big), nil
		}
		r, err := v20251125.Connect(t.Context(), served(t, compat.Server(s)), v20251125.Client{Options: discard})
		require.NoError(t, err)
		var ids []string
		for i := range 80 {
			_, err := r.CallTool(t.Context(), &v20251125.CallToolParams{Name: fmt.Sprint(i), Task: &v20251125.TaskMetadata{TTL: new(int64(3_600_000))}})
			var created *v20251125.TaskCreated
			require.ErrorAs(t, err, &created)
			require.Equal(t, (5 * time.Minute).Milliseconds(), *created.Task.TTL)
			ids = append(ids, created.Task.TaskID)
		}
		kept := func() (n int) {
			for _, id := range ids {
				if _, err := r.GetTask(t.Context(), &v20251125.GetTaskParams{TaskID: id}); err == nil {
					n++
				}
			}
			return n
		}
		require.Equal(t, 64, kept())
		_, err = r.GetTaskPayload(t.Context(), &v20251125.GetTaskPayloadParams{TaskID: ids[79]})
		require.NoError(t, err)
		time.Sleep(5 * time.Minute)
		require.Zero(t, kept())
		require.NoError(t, r.Close())
	})
}

// TestParamsOfTasksAreBoundedInBytes: they are held while the tasks run.
func TestParamsOfTasksAreBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &compat.Tasks{Logger: discard.Logger}
		big := &mcp.CallToolParams{Name: strings.Repeat("x", 30<<20)}
		stop := make(chan struct{})
		start := func(p *mcp.CallToolParams) error {
			return tasks.Start(t.Context(), p, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				<-stop
				return says("done"), nil
			})
		}
		var created *mcp.TaskCreated
		for range 2 {
			require.ErrorAs(t, start(big), &created)
		}
		require.ErrorIs(t, start(big), jsonrpc.NewError(jsonrpc.CodeOverloaded, ""))
		require.ErrorAs(t, start(&mcp.CallToolParams{}), &created)
		close(stop)
		synctest.Wait()
		require.ErrorAs(t, start(big), &created, "there is room again")
		require.NoError(t, tasks.Close(t.Context()))
	})
}
