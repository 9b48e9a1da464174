package mcp_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// office keeps tasks: the server side of the tests below.
type office struct {
	hub jsonrpc.Hub

	mu    sync.Mutex
	tasks map[string]*mcp.GetTaskResult
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// begin makes a task that waits for what is asked, or works.
func (o *office) begin(asks mcp.InputRequests) *mcp.TaskCreated {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks == nil {
		o.tasks = map[string]*mcp.GetTaskResult{}
	}
	task := mcp.Task{TaskID: "task " + strconv.Itoa(len(o.tasks)+1), Status: mcp.TaskStatusWorking, CreatedAt: now(), LastUpdatedAt: now(), TTLMs: new(int64(60_000)), PollIntervalMs: new(int64(10))}
	if asks != nil {
		task.Status = mcp.TaskStatusInputRequired
	}
	o.tasks[task.TaskID] = &mcp.GetTaskResult{
		TaskID: task.TaskID, Status: task.Status, CreatedAt: task.CreatedAt, LastUpdatedAt: task.LastUpdatedAt, TTLMs: task.TTLMs, PollIntervalMs: task.PollIntervalMs,
		InputRequests: asks,
	}
	return mcp.NewTaskCreated(task)
}

// change changes a task that has not ended and tells of it.
func (o *office) change(ctx context.Context, id string, f func(*mcp.GetTaskResult)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.tasks[id]
	if t == nil {
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "params.taskId: no such task")
	}
	if slices.Contains([]mcp.TaskStatus{mcp.TaskStatusCompleted, mcp.TaskStatusFailed, mcp.TaskStatusCancelled}, t.Status) {
		return nil
	}
	f(t)
	o.hub.TaskStatus(ctx, id, &mcp.TaskStatusParams{
		TaskID: t.TaskID, Status: t.Status, CreatedAt: t.CreatedAt, LastUpdatedAt: t.LastUpdatedAt, TTLMs: t.TTLMs, PollIntervalMs: t.PollIntervalMs,
		StatusMessage: t.StatusMessage, InputRequests: t.InputRequests, Result: t.Result, Error: t.Error,
	})
	return nil
}

func complete(s string) func(*mcp.GetTaskResult) {
	return func(t *mcp.GetTaskResult) {
		t.Status, t.InputRequests, t.Result = mcp.TaskStatusCompleted, nil, &mcp.TaskPayload{Raw: text(s).AppendJSON(nil)}
	}
}

func (o *office) server() mcp.Server {
	s := mcp.Server{
		Info: mcp.Implementation{Name: "office", Version: "1"},
		ListTools: func(context.Context, *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "slow"}}}, nil
		},
		CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
			switch {
			case p.Name == "slow" && !mcp.Peer(ctx).Tasks():
				return text("done at once"), nil
			case p.Name == "ask":
				return nil, o.begin(mcp.InputRequests{"a": form("first?"), "b": form("second?")})
			case p.Name == "unasked":
				return nil, unasked{}
			}
			return nil, o.begin(nil)
		},
		GetTask: func(_ context.Context, p *mcp.GetTaskParams) (*mcp.GetTaskResult, error) {
			o.mu.Lock()
			defer o.mu.Unlock()
			if t := o.tasks[p.TaskID]; t != nil {
				return t.Clone(), nil
			}
			return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "params.taskId: no such task")
		},
		UpdateTask: func(ctx context.Context, p *mcp.UpdateTaskParams) (*mcp.UpdateTaskResult, error) {
			return nil, o.change(ctx, p.TaskID, func(t *mcp.GetTaskResult) {
				for key := range p.InputResponses {
					delete(t.InputRequests, key)
				}
				if len(t.InputRequests) > 0 {
					return
				}
				e, err := p.InputResponses.Elicit("b")
				if err != nil || e == nil {
					t.Status, t.InputRequests, t.Error = mcp.TaskStatusFailed, nil, &mcp.Error{Code: jsonrpc.CodeInternalError, Message: "no answer"}
					return
				}
				answer, _ := e.Content["answer"].Str()
				complete(answer)(t)
			})
		},
		CancelTask: func(ctx context.Context, p *mcp.CancelTaskParams) (*mcp.CancelTaskResult, error) {
			return nil, o.change(ctx, p.TaskID, func(t *mcp.GetTaskResult) { t.Status, t.InputRequests = mcp.TaskStatusCancelled, nil })
		},
	}
	s.AllowTask = func(_ context.Context, id string) bool { return id != "task 2" }
	s.Hub = &o.hub
	return s
}

// unasked is a task that the server gives whoever calls.
type unasked struct{}

func (unasked) Error() string { return "unasked" }
func (unasked) IsResult()     {}
func (unasked) AppendJSON(b []byte) []byte {
	return append(b, `{"resultType":"task","taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttlMs":null}`...)
}

func created(t *testing.T, err error) mcp.Task {
	t.Helper()
	c, ok := errors.AsType[*mcp.TaskCreated](err)
	require.True(t, ok, "%v", err)
	require.NoError(t, c.Validate())
	return c.Task()
}

func status(t *testing.T, r *mcp.RemoteServer, id string) *mcp.GetTaskResult {
	t.Helper()
	g, err := r.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: id})
	require.NoError(t, err)
	require.NoError(t, g.Validate())
	require.Equal(t, id, g.TaskID)
	return g
}

func TestTaskIsPolledToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		r := connect(t, o.server(), mcp.Client{Tasks: true})
		require.NotNil(t, r.Server.GetTask)
		require.Equal(t, wire.Raw("{}"), r.Capabilities.Extensions[mcp.ExtensionTasks])
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		task := created(t, err)
		require.EqualError(t, err, `task created: "task 1"`)
		require.Equal(t, mcp.TaskStatusWorking, task.Status)
		require.Equal(t, int64(60_000), *task.TTLMs)
		require.Equal(t, mcp.TaskStatusWorking, status(t, r, task.TaskID).Status)

		require.NoError(t, o.change(t.Context(), task.TaskID, complete("slowly done")))
		g := status(t, r, task.TaskID)
		require.Equal(t, mcp.TaskStatusCompleted, g.Status)
		res, err := g.Result.CallTool()
		require.NoError(t, err)
		require.Equal(t, "slowly done", res.Content[0].(*mcp.TextContent).Text)

		_, err = r.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: task.TaskID})
		require.NoError(t, err, "of one that has ended it changes nothing")
		require.Equal(t, mcp.TaskStatusCompleted, status(t, r, task.TaskID).Status)
	})
}

func TestTaskTakesAnswersInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		r := connect(t, o.server(), mcp.Client{Tasks: true, Elicit: answers().Elicit})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
		id := created(t, err).TaskID
		g := status(t, r, id)
		require.Equal(t, mcp.TaskStatusInputRequired, g.Status)
		require.Len(t, g.InputRequests, 2)

		answer := func(key, text string) {
			e := &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]mcp.ElicitValue{"answer": mcp.ElicitValueString(text)}}
			_, err := r.UpdateTask(t.Context(), &mcp.UpdateTaskParams{TaskID: id, InputResponses: mcp.InputResponses{key: {Raw: e.AppendJSON(nil)}}})
			require.NoError(t, err)
		}
		answer("a", "one")
		g = status(t, r, id)
		require.Equal(t, mcp.TaskStatusInputRequired, g.Status)
		require.Len(t, g.InputRequests, 1)
		answer("never asked", "nothing")
		answer("b", "two")
		res, err := status(t, r, id).Result.CallTool()
		require.NoError(t, err)
		require.Equal(t, "two", res.Content[0].(*mcp.TextContent).Text)
	})
}

func TestTaskEndsWithAnErrorOrIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		r := connect(t, o.server(), mcp.Client{Tasks: true})
		_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		id := created(t, err).TaskID
		_, err = r.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id})
		require.NoError(t, err)
		require.Equal(t, mcp.TaskStatusCancelled, status(t, r, id).Status)

		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
		id = created(t, err).TaskID
		_, err = r.UpdateTask(t.Context(), &mcp.UpdateTaskParams{TaskID: id, InputResponses: mcp.InputResponses{"a": {Raw: wire.Raw("{}")}, "b": {Raw: wire.Raw("5")}}})
		require.NoError(t, err)
		g := status(t, r, id)
		require.Equal(t, mcp.TaskStatusFailed, g.Status)
		require.Nil(t, g.Result)
		require.Equal(t, &mcp.Error{Code: jsonrpc.CodeInternalError, Message: "no answer"}, g.Error)
	})
}

// lacksTasks holds that an error asks for the extension.
func lacksTasks(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, jsonrpc.CodeMissingClientCapability, e.Code)
	require.Equal(t, `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, string(e.Data))
	data, ok := mcp.MissingRequiredClientCapabilityDataOf(err)
	require.True(t, ok)
	require.Contains(t, data.RequiredCapabilities.Extensions, mcp.ExtensionTasks)
}

// TestTasksAreForWhoDeclaresThem holds that a client which does not declare the
// extension with its request is neither given a task nor told of one.
func TestTasksAreForWhoDeclaresThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		r := connect(t, o.server(), mcp.Client{})
		require.Nil(t, r.Server.GetTask)
		require.NotContains(t, r.Server.Extensions, mcp.ExtensionTasks, "it could not be served again")
		require.Contains(t, r.Capabilities.Extensions, mcp.ExtensionTasks)
		res, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		require.NoError(t, err)
		require.Equal(t, "done at once", res.Content[0].(*mcp.TextContent).Text)
		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "always a task"})
		lacksTasks(t, err)
		_, err = r.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: "task 1"})
		require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)
		require.EqualError(t, err, "tasks/get: this side does not advertise extensions.io.modelcontextprotocol/tasks")
		_, err = r.Listen(t.Context(), &mcp.SubscriptionsListenParams{Notifications: mcp.SubscriptionFilter{TaskIDs: []string{"task 1"}}})
		lacksTasks(t, err)
		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "unasked"})
		require.ErrorIs(t, err, jsonrpc.ErrResultType, "what was not declared is not known")

		// Each request is judged by what it declares itself.
		r = connect(t, o.server(), mcp.Client{Tasks: true})
		other := mcp.RequestMeta{ClientCapabilities: mcp.ClientCapabilities{Extensions: map[string]wire.Raw{"com.example/x": wire.Raw("{}")}}}
		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "always a task"})
		id := created(t, err).TaskID
		_, err = r.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: id, Meta: other})
		lacksTasks(t, err)
		_, err = r.UpdateTask(t.Context(), &mcp.UpdateTaskParams{TaskID: id, Meta: other})
		lacksTasks(t, err)
		_, err = r.CancelTask(t.Context(), &mcp.CancelTaskParams{TaskID: id, Meta: other})
		lacksTasks(t, err)
		_, err = r.CallTool(t.Context(), &mcp.CallToolParams{Name: "always a task", Meta: other})
		lacksTasks(t, err)
	})
}

func TestTaskMethodsAndTheirParams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
		r := connect(t, new(office).server(), mcp.Client{Tasks: true})
		code := func(method, params string) int64 {
			_, err := jsonrpc.CallRaw(t.Context(), r.Conn(), method, wire.Raw(params))
			e, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok, "%s: %v", method, err)
			return e.Code
		}
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			require.Equal(t, jsonrpc.CodeInvalidParams, code(method, `{"taskId":"no such","inputResponses":{},`+meta+`}`), method)
			require.Equal(t, jsonrpc.CodeInvalidParams, code(method, `{"inputResponses":{},`+meta+`}`), method)
			require.Equal(t, jsonrpc.CodeInvalidParams, code(method, `{"taskId":1,"inputResponses":{},`+meta+`}`), method)
		}
		require.Equal(t, jsonrpc.CodeInvalidParams, code("tasks/update", `{"taskId":"t",`+meta+`}`))
		for _, method := range []string{"tasks/list", "tasks/result"} {
			require.Equal(t, jsonrpc.CodeMethodNotFound, code(method, `{"taskId":"t",`+meta+`}`), method)
		}
		without := connect(t, everything(), mcp.Client{Tasks: true})
		require.Nil(t, without.Server.GetTask)
		require.NotContains(t, without.Capabilities.Extensions, mcp.ExtensionTasks)
		_, err := without.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: "t"})
		require.EqualError(t, err, "tasks/get: the peer does not advertise extensions.io.modelcontextprotocol/tasks")
	})
}

func TestTaskStatusIsToldToWhoListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		got := make(chan *mcp.TaskStatusParams, 10)
		c := mcp.Client{Tasks: true, TaskStatus: func(_ context.Context, p *mcp.TaskStatusParams) error { got <- p.Clone(); return nil }}
		r := connect(t, o.server(), c)
		var ids []string
		for range 3 {
			_, err := r.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
			ids = append(ids, created(t, err).TaskID)
		}
		sub, err := r.Listen(t.Context(), &mcp.SubscriptionsListenParams{Notifications: mcp.SubscriptionFilter{TaskIDs: []string{"task 1", "task 2", "task 1"}}})
		require.NoError(t, err)
		require.Equal(t, `{"taskIds":["task 1"]}`, string(sub.Honoured()), "the server does not allow the second")
		for _, id := range ids {
			require.NoError(t, o.change(t.Context(), id, complete("done "+id)))
		}
		synctest.Wait()
		require.Len(t, got, 1)
		p := <-got
		require.Equal(t, "task 1", p.TaskID)
		require.Equal(t, mcp.TaskStatusCompleted, p.Status)
		require.Equal(t, sub.ID().String(), p.Meta.SubscriptionID.String())
		res, err := p.Result.CallTool()
		require.NoError(t, err)
		require.Equal(t, "done task 1", res.Content[0].(*mcp.TextContent).Text)
		sub.Close()
	})
}

func TestTasksOfAServerThatIsServedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := new(office)
		behind := connect(t, o.server(), mcp.Client{Tasks: true})
		front := connect(t, behind.Server, mcp.Client{Tasks: true})
		_, err := front.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
		id := created(t, err).TaskID
		require.NoError(t, o.change(t.Context(), id, complete("done")))
		require.Equal(t, mcp.TaskStatusCompleted, status(t, front, id).Status)
		_, err = front.GetTask(t.Context(), &mcp.GetTaskParams{TaskID: "no such"})
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)

		// What the client in front does not declare the one behind does not either,
		// in what it passes on.
		for _, c := range []mcp.Client{{}, {Elicit: answers().Elicit}} {
			plain := connect(t, behind.Server, c)
			res, err := plain.CallTool(t.Context(), &mcp.CallToolParams{Name: "slow"})
			require.NoError(t, err)
			require.Equal(t, "done at once", res.Content[0].(*mcp.TextContent).Text)
			_, err = plain.CallTool(t.Context(), &mcp.CallToolParams{Name: "always a task"})
			lacksTasks(t, err)
		}
	})
}

func TestTasksAreAdvertisedByTheirFuncs(t *testing.T) {
	s := new(office).server()
	s.Extensions = map[string]wire.Raw{"com.example/files": wire.Raw(`{"n":1}`)}
	require.Equal(t, map[string]wire.Raw{"com.example/files": wire.Raw(`{"n":1}`), mcp.ExtensionTasks: wire.Raw("{}")}, s.Capabilities().Extensions)
	require.Len(t, s.Extensions, 1, "what the user gave stays")
	require.Equal(t, map[string]wire.Raw{mcp.ExtensionTasks: wire.Raw("{}")}, mcp.Client{Tasks: true}.Capabilities().Extensions)
	require.Nil(t, mcp.Client{}.Capabilities().Extensions)

	for name, change := range map[string]func(*mcp.Server){
		"no UpdateTask":           func(s *mcp.Server) { s.UpdateTask = nil },
		"no CallTool":             func(s *mcp.Server) { s.CallTool, s.ListTools = nil, nil },
		"AllowTask without tasks": func(s *mcp.Server) { s.GetTask, s.UpdateTask, s.CancelTask = nil, nil, nil },
		"said and not done": func(s *mcp.Server) {
			s.GetTask, s.UpdateTask, s.CancelTask, s.AllowTask = nil, nil, nil, nil
			s.Extensions = map[string]wire.Raw{mcp.ExtensionTasks: wire.Raw("{}")}
		},
	} {
		s := new(office).server()
		change(&s)
		_, err := s.Bind()
		f, ok := errors.AsType[*jsonrpc.FeatureError](err)
		require.True(t, ok, "%s: %v", name, err)
		require.Equal(t, "extensions.io.modelcontextprotocol/tasks", f.Capability)
	}
}

// TestTaskOfALenientReader holds what is read of a task that lacks what it has to
// have.
func TestTaskOfALenientReader(t *testing.T) {
	const whole = `{"resultType":"complete","createdAt":"c","lastUpdatedAt":"u","status":"working","taskId":"t","ttlMs":null}`
	var g mcp.GetTaskResult
	require.NoError(t, strict(whole, &g))
	require.Nil(t, g.TTLMs)
	require.Equal(t, whole, string(g.AppendJSON(nil)))
	const lacks = `{"createdAt":"c","lastUpdatedAt":"u","status":"asleep","taskId":"t"}`
	require.ErrorContains(t, strict(lacks, &mcp.GetTaskResult{}), "missing")
	require.NoError(t, wire.Decode([]byte(lacks), wire.Options{Lenient: true}, &g))
	require.Equal(t, mcp.TaskStatus("asleep"), g.Status)
	require.Equal(t, `{"resultType":"complete","createdAt":"c","lastUpdatedAt":"u","status":"asleep","taskId":"t","ttlMs":null}`, string(g.AppendJSON(nil)))
	require.ErrorContains(t, wire.Decode([]byte(`{"createdAt":"c","lastUpdatedAt":"u","status":"working"}`), wire.Options{Lenient: true}, &g), "taskId")
}
