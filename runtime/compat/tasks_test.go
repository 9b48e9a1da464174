package compat_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: text}}}
}

// taskFuncs are what the tools of the test do, by their names.
var taskFuncs = map[string]compat.TaskFunc{
	"done": func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return says("done"), nil },
	"wrong": func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return nil, &args.Error{Path: "a", Msg: "missing"}
	},
	"broken": func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return nil, jsonrpc.NewError(-7, "no")
	},
	"hidden": func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return nil, errors.New("secret")
	},
	"panics": func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { panic("secret") },
	"empty":  func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) { return nil, nil },
	"slow": func(ctx context.Context, _ *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(time.Minute):
			return says("slow"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	},
	"ask": func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
		a, err := p.InputResponses.Elicit("a")
		if err != nil {
			return nil, err
		}
		b, err := p.InputResponses.Elicit("b")
		if err != nil {
			return nil, err
		}
		if a == nil || b == nil {
			form := &mcp.ElicitFormParams{Message: "?", RequestedSchema: mcp.ElicitSchema{Properties: map[string]mcp.PrimitiveSchemaDefinition{"x": &mcp.StringSchema{}}}}
			return nil, mcp.NewInputRequiredError(mcp.InputRequests{"a": &mcp.ElicitRequest{Params: form}, "b": &mcp.ElicitRequest{Params: form}}, new("state"))
		}
		x, _ := a.Content["x"].Str()
		y, _ := b.Content["x"].Str()
		return says(x + y + *p.RequestState), nil
	},
	"again": func() compat.TaskFunc { // it only wants to be called later
		return func(_ context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			if p.RequestState == nil {
				return nil, mcp.NewInputRequiredError(nil, new("later"))
			}
			return says(*p.RequestState), nil
		}
	}(),
}

// tasking is a client of a server with tasks.
type tasking struct {
	*mcp.RemoteServer
	t *testing.T
}

func withTasks(t *testing.T, tasks *compat.Tasks, principal string, c mcp.Client) *tasking {
	t.Helper()
	if tasks.Logger == nil {
		tasks.Logger = slog.New(slog.DiscardHandler)
	}
	here, there := jsonl.InMemory()
	served := make(chan error, 1)
	go func() {
		served <- jsonrpc.Serve(jsonrpc.WithPrincipal(context.Background(), principal), there, tasks.Attach(mcp.Server{
			Info: mcp.Implementation{Name: "s", Version: "1"}, Hub: tasks.Hub,
			ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
				return &mcp.ListToolsResult{}, nil
			},
			CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				return nil, tasks.Start(ctx, p, taskFuncs[p.Name])
			},
		}))
	}()
	c.Info, c.Tasks = mcp.Implementation{Name: "c", Version: "1"}, true
	s, err := mcp.Connect(t.Context(), here, c)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-served)
		require.NoError(t, tasks.Close(context.Background()))
	})
	return &tasking{s, t}
}

func (s *tasking) start(name string) string {
	s.t.Helper()
	_, err := s.CallTool(s.t.Context(), &mcp.CallToolParams{Name: name})
	created, ok := errors.AsType[*mcp.TaskCreated](err)
	require.True(s.t, ok, "%v", err)
	task := created.Task()
	require.NoError(s.t, task.Validate())
	require.Equal(s.t, mcp.TaskStatusWorking, task.Status)
	require.Positive(s.t, *task.TTLMs)
	_, err = time.Parse(time.RFC3339, task.CreatedAt)
	require.NoError(s.t, err)
	return task.TaskID
}

func (s *tasking) now(id string) *mcp.GetTaskResult {
	s.t.Helper()
	r, err := s.GetTask(s.t.Context(), &mcp.GetTaskParams{TaskID: id})
	require.NoError(s.t, err)
	require.NoError(s.t, r.Validate())
	return r
}

func (s *tasking) answer(id string, pairs ...string) {
	s.t.Helper()
	answers := mcp.InputResponses{}
	for i := 0; i < len(pairs); i += 2 {
		answers[pairs[i]] = mcp.InputResponse{Raw: wire.Raw(`{"action":"accept","content":{"x":"` + pairs[i+1] + `"}}`)}
	}
	_, err := s.UpdateTask(s.t.Context(), &mcp.UpdateTaskParams{TaskID: id, InputResponses: answers})
	require.NoError(s.t, err)
}

func taskText(t *testing.T, r *mcp.GetTaskResult) string {
	t.Helper()
	require.NotNil(t, r.Result)
	res, err := r.Result.CallTool()
	require.NoError(t, err)
	return res.Content[0].(*mcp.TextContent).Text
}

// TestTaskEnds holds how a task ends for each way in which its func can.
func TestTaskEnds(t *testing.T) {
	for name, want := range map[string]struct {
		status  mcp.TaskStatus
		text    string
		isError bool
		code    int64
		message string
	}{
		"done":   {status: mcp.TaskStatusCompleted, text: "done"},
		"slow":   {status: mcp.TaskStatusCompleted, text: "slow"},
		"again":  {status: mcp.TaskStatusCompleted, text: "later"},
		"wrong":  {status: mcp.TaskStatusCompleted, text: "a: missing", isError: true},
		"broken": {status: mcp.TaskStatusFailed, code: -7, message: "no"},
		"hidden": {status: mcp.TaskStatusFailed, code: jsonrpc.CodeInternalError, message: "internal error"},
		"panics": {status: mcp.TaskStatusFailed, code: jsonrpc.CodeInternalError, message: "internal error"},
		"empty":  {status: mcp.TaskStatusFailed, code: jsonrpc.CodeInternalError, message: "internal error"},
		// The client did not say that it shows forms.
		"ask": {status: mcp.TaskStatusFailed, code: jsonrpc.CodeMissingClientCapability},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := withTasks(t, &compat.Tasks{}, "", mcp.Client{})
				id := s.start(name)
				time.Sleep(2 * time.Minute)
				r := s.now(id)
				require.Equal(t, want.status, r.Status)
				require.Nil(t, r.InputRequests)
				if want.status == mcp.TaskStatusFailed {
					require.Nil(t, r.Result)
					require.Equal(t, want.code, r.Error.Code)
					if want.message != "" {
						require.Equal(t, want.message, r.Error.Message)
					}
				} else {
					require.Nil(t, r.Error)
					require.Equal(t, want.text, taskText(t, r))
					res, err := r.Result.CallTool()
					require.NoError(t, err)
					require.Equal(t, want.isError, res.IsError != nil && *res.IsError)
				}
				// What has ended stays so, and nobody is told off for trying.
				_, err := s.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id})
				require.NoError(t, err)
				s.answer(id, "a", "x")
				require.Equal(t, r, s.now(id))
			})
		})
	}
}

// TestTaskAsks holds that a task waits until all that it asks is answered, in
// whatever portions, and goes on with that.
func TestTaskAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elicit := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("not this way")
		}
		s := withTasks(t, &compat.Tasks{Hub: &jsonrpc.Hub{}}, "", mcp.Client{Elicit: elicit})
		id := s.start("ask")
		synctest.Wait()
		r := s.now(id)
		require.Equal(t, mcp.TaskStatusInputRequired, r.Status)
		require.Len(t, r.InputRequests, 2)
		s.answer(id, "other", "x")
		require.Equal(t, r, s.now(id))
		s.answer(id, "b", "B")
		r = s.now(id)
		require.Equal(t, mcp.TaskStatusInputRequired, r.Status)
		require.Contains(t, r.InputRequests, "a")
		require.Len(t, r.InputRequests, 1)
		s.answer(id, "b", "C", "a", "A")
		synctest.Wait()
		r = s.now(id)
		require.Equal(t, mcp.TaskStatusCompleted, r.Status)
		require.Equal(t, "ABstate", taskText(t, r), "the first answer counts")
	})
}

// TestTaskIsCancelled holds that a task ends at once when it is cancelled,
// whether it works or waits.
func TestTaskIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elicit := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("not this way")
		}
		tasks := &compat.Tasks{}
		s := withTasks(t, tasks, "", mcp.Client{Elicit: elicit})
		for _, name := range []string{"slow", "ask"} {
			id := s.start(name)
			synctest.Wait()
			_, err := s.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id})
			require.NoError(t, err)
			require.Equal(t, mcp.TaskStatusCancelled, s.now(id).Status)
		}
		id := s.start("slow")
		synctest.Wait()
		require.NoError(t, tasks.Close(t.Context()))
		require.Equal(t, mcp.TaskStatusCancelled, s.now(id).Status)
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeShuttingDown, ""))
	})
}

// TestTasksAreBounded holds that tasks are not kept for ever, nor any number of
// them.
func TestTasksAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withTasks(t, &compat.Tasks{TTL: 10 * time.Second, MaxRunning: 2, Store: compat.NewMemoryTasks(3)}, "", mcp.Client{})
		full := jsonrpc.NewError(jsonrpc.CodeOverloaded, "")
		call := func(name string) error {
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			return err
		}
		id := s.start("slow")
		s.start("slow")
		require.ErrorIs(t, call("slow"), full)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		_, err := s.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: id})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
		for range 3 {
			s.start("done")
			synctest.Wait()
		}
		require.ErrorIs(t, call("done"), full)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		s.start("done")
	})
}

// TestTasksBelongToSomebody holds that nobody learns of the tasks of others.
func TestTasksBelongToSomebody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &compat.Tasks{}
		ada, bob := withTasks(t, tasks, "ada", mcp.Client{}), withTasks(t, tasks, "bob", mcp.Client{})
		id := ada.start("slow")
		unknown := jsonrpc.NewError(jsonrpc.CodeInvalidParams, "")
		for _, id := range []string{id, "nonsense", ""} {
			_, err := bob.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: id})
			require.ErrorIs(t, err, unknown)
			_, err = bob.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id})
			require.ErrorIs(t, err, unknown)
			_, err = bob.UpdateTask(t.Context(), &mcp.UpdateTaskParams{TaskID: id, InputResponses: mcp.InputResponses{}})
			require.ErrorIs(t, err, unknown)
		}
		require.Equal(t, mcp.TaskStatusWorking, ada.now(id).Status)
	})
}

// TestTaskStatusIsTold holds that who listens for a task hears of its changes.
func TestTaskStatusIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []mcp.TaskStatus
		s := withTasks(t, &compat.Tasks{Hub: &jsonrpc.Hub{}}, "", mcp.Client{TaskStatus: func(_ context.Context, p *mcp.TaskStatusParams) error {
			heard = append(heard, p.Status)
			return nil
		}})
		id := s.start("slow")
		_, err := s.Listen(t.Context(), &mcp.SubscriptionsListenParams{Notifications: mcp.SubscriptionFilter{TaskIDs: []string{id}}})
		require.NoError(t, err)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []mcp.TaskStatus{mcp.TaskStatusCompleted}, heard)
	})
}

// TestTasksOfSeveralProcesses holds that a process answers for the tasks of
// another one with the same store, within the time between two looks.
func TestTasksOfSeveralProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		elicit := func(context.Context, mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return nil, errors.New("not this way")
		}
		store := jsonStore{compat.NewMemoryTasks(10)}
		one := withTasks(t, &compat.Tasks{Store: store}, "", mcp.Client{Elicit: elicit})
		other := withTasks(t, &compat.Tasks{Store: store}, "", mcp.Client{Elicit: elicit})
		id := one.start("ask")
		synctest.Wait()
		require.Len(t, other.now(id).InputRequests, 2)
		other.answer(id, "a", "A", "b", "B")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, "ABstate", taskText(t, other.now(id)))

		id = one.start("slow")
		_, err := other.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id})
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, mcp.TaskStatusCancelled, one.now(id).Status)
	})
}

// jsonStore keeps tasks as somebody would who writes them to a database.
type jsonStore struct{ compat.TaskStore }

func (s jsonStore) Get(ctx context.Context, id string) (*compat.TaskRecord, error) {
	r, err := s.TaskStore.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	out := &compat.TaskRecord{}
	return out, json.Unmarshal(b, out)
}
