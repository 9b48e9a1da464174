package compat

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Tasks runs calls of tools in the background, as the extension
// io.modelcontextprotocol/tasks of 2026-07-28 has them: the call is answered with
// a task, and the client asks for its state and result, answers what it waits
// for, or calls it off. The fields are set before the first use; the zero value
// works.
//
//	tasks := &compat.Tasks{}
//	server := tasks.Attach(mcp.Server{ … CallTool: func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
//		if mcp.Peer(ctx).Tasks() {
//			return nil, tasks.Start(ctx, p, compute)
//		}
//		return compute(ctx, p)
//	}})
//
// A task belongs to the principal who made it (jsonrpc.WithPrincipal): for others
// it is not there. It runs in the process where it was made; with a store that
// several processes share, any of them answers for it.
type Tasks struct {
	// Store keeps the tasks; nil is NewMemoryTasks(10_000).
	Store TaskStore
	// TTL is how long a task and its result are kept; one that runs longer is
	// cancelled. 0 means one hour.
	TTL time.Duration
	// Poll is what clients are told to leave between two questions, and how often
	// a running task looks into the store for what other processes did to it. 0
	// means one second.
	Poll time.Duration
	// MaxRunning bounds the tasks that run or wait in this process, whose params
	// together may have 64 MiB as JSON besides; a call beyond it fails with
	// jsonrpc.CodeOverloaded. One principal can have a quarter of
	// them, and who has none all. 0 means 1,024.
	MaxRunning int
	// Hub tells those who listen for a task when its status changes; nil tells
	// nobody. It is the Hub of the server.
	Hub *jsonrpc.Hub
	// Logger gets errors of tasks that the client does not hear of, and panics;
	// nil is slog.Default().
	Logger *slog.Logger

	mu      sync.Mutex
	store   TaskStore
	running map[string]*runningTask
	shares  shares
	bytes   int // of the params of running
	closed  bool
	wg      sync.WaitGroup
}

// runningTask is a task of this process.
type runningTask struct {
	id     string
	whose  string // the principal
	bytes  int    // of its params
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds a value when the store has something new
}

// TaskFunc does the work of a task. ctx ends when the task is cancelled or its
// time is over; it has no Peer, as the call was answered long ago. p is a copy of
// the call's params. When it returns an *InputRequiredError the task waits for the
// answers, and the func is called again with them; what it asks for has to be
// among the capabilities that the call declared.
type TaskFunc func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error)

// Errors of tasks.
var (
	ErrNoTask      = errors.New("no such task")
	errTaskOver    = errors.New("the task has ended")
	errCalledOff   = errors.New("the task was cancelled")
	errTasksClosed = errors.New("no more tasks are run")
)

const (
	defaultTaskTTL    = time.Hour
	defaultTaskPoll   = time.Second
	defaultMaxRunning = 1024
	maxMemoryTasks    = 10_000
	maxParamBytes     = 64 << 20
)

// Attach returns a server that answers for the tasks: GetTask, UpdateTask,
// CancelTask and AllowTask are set.
func (t *Tasks) Attach(s v20260728.Server) v20260728.Server {
	s.GetTask, s.UpdateTask, s.CancelTask, s.AllowTask = t.get, t.update, t.off, t.allow
	return s
}

// Start makes a task of a call and begins it. It returns what the handler of the
// call returns as its error: a *TaskCreated, or why there is no task. A client
// that does not know tasks gets an error instead of a task, and none should be
// started for it.
func (t *Tasks) Start(ctx context.Context, p *v20260728.CallToolParams, f TaskFunc) error {
	ttl, poll := t.ttl(), t.poll()
	now := time.Now()
	r := &TaskRecord{
		Task: v20260728.GetTaskResult{
			TaskID: rand.Text(), Status: v20260728.TaskStatusWorking, CreatedAt: stamp(now), LastUpdatedAt: stamp(now),
			TTLMs: new(ttl.Milliseconds()), PollIntervalMs: new(poll.Milliseconds()),
		},
		Principal: jsonrpc.Principal(ctx),
		Expires:   now.Add(ttl),
	}
	// The task outlives the request and what belongs to it.
	work, cancel := context.WithCancelCause(jsonrpc.WithPrincipal(context.Background(), r.Principal))
	run := &runningTask{id: r.Task.TaskID, whose: r.Principal, bytes: len(p.AppendJSON(nil)), cancel: cancel, wake: make(chan struct{}, 1)}
	store, err := t.admit(run)
	if err != nil {
		cancel(err)
		return err
	}
	if err := store.Create(ctx, r); err != nil {
		t.leave(run)
		cancel(err)
		t.wg.Done()
		return fmt.Errorf("a task could not be kept: %w", err)
	}
	p = p.Clone()
	go func() {
		defer t.wg.Done()
		defer t.leave(run)
		defer cancel(nil)
		work, stop := context.WithDeadlineCause(work, r.Expires, jsonrpc.ErrTimeout)
		defer stop()
		t.run(work, store, run, p, f)
	}()
	task := &r.Task
	return v20260728.NewTaskCreated(v20260728.Task{
		TaskID: task.TaskID, Status: task.Status, CreatedAt: task.CreatedAt, LastUpdatedAt: task.LastUpdatedAt,
		TTLMs: task.TTLMs, PollIntervalMs: task.PollIntervalMs,
	})
}

// Close cancels the tasks of this process and waits for them until ctx ends.
// Further ones are refused.
func (t *Tasks) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, run := range t.running {
		run.cancel(errTasksClosed)
	}
	t.mu.Unlock()
	over := make(chan struct{})
	go func() {
		t.wg.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *Tasks) ttl() time.Duration {
	if t.TTL <= 0 {
		return defaultTaskTTL
	}
	return max(t.TTL, time.Millisecond)
}

func (t *Tasks) poll() time.Duration {
	if t.Poll <= 0 {
		return defaultTaskPoll
	}
	return max(t.Poll, time.Millisecond)
}

// admit counts a task in.
func (t *Tasks) admit(run *runningTask) (TaskStore, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.MaxRunning
	if limit <= 0 {
		limit = defaultMaxRunning
	}
	switch {
	case t.closed:
		return nil, jsonrpc.NewError(jsonrpc.CodeShuttingDown, errTasksClosed.Error())
	case len(t.running) >= limit:
		return nil, jsonrpc.NewError(jsonrpc.CodeOverloaded, fmt.Sprintf("%d tasks run already", limit))
	case t.bytes+run.bytes > maxParamBytes:
		return nil, jsonrpc.NewError(jsonrpc.CodeOverloaded, fmt.Sprintf("tasks with %d bytes of params run already", t.bytes))
	case !t.shares.free(run.whose, limit):
		return nil, jsonrpc.NewError(jsonrpc.CodeOverloaded, fmt.Sprintf("%d tasks of yours run already", share(limit)))
	}
	if t.running == nil {
		t.running = map[string]*runningTask{}
	}
	t.running[run.id] = run
	t.shares.add(run.whose, 1)
	t.bytes += run.bytes
	t.wg.Add(1)
	return t.kept(), nil
}

func (t *Tasks) leave(run *runningTask) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.running, run.id)
	t.shares.add(run.whose, -1)
	t.bytes -= run.bytes
}

// shares count what principals have of something that is bounded, so that none
// takes it all. Nobody in particular, "", is not counted.
type shares map[string]int

// share is what one principal can have of so much: a quarter.
func share(limit int) int { return (limit + 3) / 4 }

func (s shares) free(whose string, limit int) bool { return s[whose] < share(limit) }

func (s *shares) add(whose string, n int) {
	if whose == "" {
		return
	}
	if *s == nil {
		*s = shares{}
	}
	if (*s)[whose] += n; (*s)[whose] <= 0 {
		delete(*s, whose)
	}
}

// kept is the store; mu is held.
func (t *Tasks) kept() TaskStore {
	if t.store == nil {
		if t.store = t.Store; t.store == nil {
			t.store = NewMemoryTasks(maxMemoryTasks)
		}
	}
	return t.store
}

// run does a task's work to its end.
func (t *Tasks) run(ctx context.Context, store TaskStore, run *runningTask, p *v20260728.CallToolParams, f TaskFunc) {
	over := make(chan struct{})
	watched := make(chan struct{})
	go func() { // other processes may cancel it
		defer close(watched)
		tick := time.NewTicker(t.poll())
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
			}
			if r, err := store.Get(ctx, run.id); err == nil && r.Task.Status == v20260728.TaskStatusCancelled || errors.Is(err, ErrNoTask) {
				run.cancel(errCalledOff)
			}
		}
	}()
	defer func() {
		close(over)
		<-watched
	}()
	for {
		res, err := t.once(ctx, p, f)
		need, asks := errors.AsType[*v20260728.InputRequiredError](err)
		if asks {
			if err = jsonrpc.MayAsk(v20260728.Methods, &p.Meta.ClientCapabilities, need); err == nil {
				var answers v20260728.InputResponses
				if answers, err = t.ask(ctx, store, run, need); err == nil {
					p.InputResponses, p.RequestState = answers, need.RequestState
					continue
				}
			}
		}
		t.finish(ctx, store, run.id, res, err)
		return
	}
}

// once calls the func, and keeps its panic.
func (t *Tasks) once(ctx context.Context, p *v20260728.CallToolParams, f TaskFunc) (res *v20260728.CallToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &jsonrpc.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return f(ctx, p)
}

// ask waits for the answers to what a task asks, and for a while when it asks
// nothing but to be called again.
func (t *Tasks) ask(ctx context.Context, store TaskStore, run *runningTask, need *v20260728.InputRequiredError) (v20260728.InputResponses, error) {
	waits := len(need.InputRequests) > 0
	err := t.change(ctx, store, run.id, func(r *TaskRecord) error {
		r.Answers = v20260728.InputResponses{}
		if waits {
			r.Task.Status, r.Task.InputRequests = v20260728.TaskStatusInputRequired, need.InputRequests
		}
		return nil
	})
	tick := time.NewTicker(t.poll())
	defer tick.Stop()
	for err == nil {
		if waits {
			var r *TaskRecord
			if r, err = store.Get(ctx, run.id); err != nil {
				break
			}
			if r.Task.Status != v20260728.TaskStatusInputRequired {
				return r.Answers, nil
			}
		}
		select {
		case <-run.wake:
		case <-tick.C:
			if !waits {
				return nil, nil
			}
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return nil, err
}

// finish keeps how a task ended.
func (t *Tasks) finish(ctx context.Context, store TaskStore, id string, res *v20260728.CallToolResult, failed error) {
	// What is kept of the end does not depend on the end's being in time.
	ctx = context.WithoutCancel(ctx)
	if failed == nil && res == nil {
		failed = errors.New("neither a result nor an error")
	}
	if failed == nil {
		failed = res.Validate()
	}
	err := t.change(ctx, store, id, func(r *TaskRecord) error {
		r.Task.InputRequests, r.Answers = nil, nil
		switch wrong, ok := errors.AsType[jsonrpc.ArgumentError](failed); {
		case failed == nil:
		case ok:
			res = &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: wrong.Error()}}, IsError: new(true)}
		case errors.Is(failed, errTasksClosed), errors.Is(failed, context.Canceled), errors.Is(failed, errCalledOff):
			r.Task.Status, r.Task.StatusMessage = v20260728.TaskStatusCancelled, new("The server cancelled it.")
			return nil
		default:
			r.Task.Status, r.Task.Error = v20260728.TaskStatusFailed, t.errorOf(id, failed)
			return nil
		}
		payload := v20260728.TaskPayloadCallTool(res)
		r.Task.Status, r.Task.Result = v20260728.TaskStatusCompleted, &payload
		return nil
	})
	if full, ok := errors.AsType[*jsonrpc.Error](err); ok && full.Code == jsonrpc.CodeOverloaded {
		// There is no room for how it ended, but always for saying so.
		err = t.change(ctx, store, id, func(r *TaskRecord) error {
			r.Task.InputRequests, r.Answers = nil, nil
			r.Task.Status, r.Task.Error = v20260728.TaskStatusFailed, &v20260728.Error{Code: full.Code, Message: full.Message}
			return nil
		})
	}
	if err != nil && !errors.Is(err, errTaskOver) && !errors.Is(err, ErrNoTask) {
		t.logger().Error("the end of a task could not be kept", "task", id, "err", err)
	}
}

func (t *Tasks) logger() *slog.Logger {
	if t.Logger == nil {
		return slog.Default()
	}
	return t.Logger
}

// errorOf is what the client hears of an error: one that the func made for it,
// and nothing of any other.
func (t *Tasks) errorOf(id string, err error) *v20260728.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && !e.Remote {
		return &v20260728.Error{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	t.logger().Error("task failed", "task", id, "err", err)
	return &v20260728.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}

// change changes a task that has not ended, and tells of it.
func (t *Tasks) change(ctx context.Context, store TaskStore, id string, f func(*TaskRecord) error) error {
	var now v20260728.GetTaskResult
	err := store.Change(ctx, id, func(r *TaskRecord) error {
		if ended(r.Task.Status) {
			return errTaskOver
		}
		if err := f(r); err != nil {
			return err
		}
		// No two changes have one time, so that who looks in between can tell a
		// question that is asked again from one that is still there.
		at := time.Now()
		if last, err := time.Parse(time.RFC3339, r.Task.LastUpdatedAt); err == nil && at.Sub(last) < time.Millisecond {
			at = last.Add(time.Millisecond)
		}
		r.Task.LastUpdatedAt = stamp(at)
		now = r.Task
		return nil
	})
	if err == nil && t.Hub != nil {
		t.Hub.TaskStatus(ctx, id, &v20260728.TaskStatusParams{
			TaskID: now.TaskID, Status: now.Status, StatusMessage: now.StatusMessage, CreatedAt: now.CreatedAt, LastUpdatedAt: now.LastUpdatedAt,
			TTLMs: now.TTLMs, PollIntervalMs: now.PollIntervalMs, InputRequests: now.InputRequests, Result: now.Result, Error: now.Error,
		})
	}
	return err
}

func ended(s v20260728.TaskStatus) bool {
	return s == v20260728.TaskStatusCompleted || s == v20260728.TaskStatusFailed || s == v20260728.TaskStatusCancelled
}

// stamp is a time as ISO 8601.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// task finds a task of whoever asks.
func (t *Tasks) task(ctx context.Context, id string) (TaskStore, *TaskRecord, error) {
	t.mu.Lock()
	store := t.kept()
	t.mu.Unlock()
	r, err := store.Get(ctx, id)
	if errors.Is(err, ErrNoTask) || err == nil && r.Principal != jsonrpc.Principal(ctx) {
		return nil, nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "params.taskId: no such task")
	}
	return store, r, err
}

func (t *Tasks) get(ctx context.Context, p *v20260728.GetTaskParams) (*v20260728.GetTaskResult, error) {
	_, r, err := t.task(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	return &r.Task, nil
}

func (t *Tasks) allow(ctx context.Context, id string) bool {
	_, _, err := t.task(ctx, id)
	return err == nil
}

// update takes answers; those that nobody waits for are passed over.
func (t *Tasks) update(ctx context.Context, p *v20260728.UpdateTaskParams) (*v20260728.UpdateTaskResult, error) {
	store, _, err := t.task(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	given := p.InputResponses.Clone() // they outlive the request
	err = t.change(ctx, store, p.TaskID, func(r *TaskRecord) error {
		pending := maps.Clone(r.Task.InputRequests)
		for key, answer := range given {
			if _, ok := pending[key]; ok {
				delete(pending, key)
				r.Answers[key] = answer
			}
		}
		if len(pending) == len(r.Task.InputRequests) {
			return errTaskOver // there is nothing to change
		}
		if r.Task.InputRequests = pending; len(pending) == 0 {
			r.Task.Status, r.Task.InputRequests = v20260728.TaskStatusWorking, nil
		}
		return nil
	})
	return &v20260728.UpdateTaskResult{}, t.told(p.TaskID, err, nil)
}

// off cancels a task; one that has ended stays as it is.
func (t *Tasks) off(ctx context.Context, p *v20260728.CancelTaskParams) (*v20260728.CancelTaskResult, error) {
	store, _, err := t.task(ctx, p.TaskID)
	if err != nil {
		return nil, err
	}
	err = t.change(ctx, store, p.TaskID, func(r *TaskRecord) error {
		r.Task.Status, r.Task.InputRequests, r.Answers = v20260728.TaskStatusCancelled, nil, nil
		return nil
	})
	return &v20260728.CancelTaskResult{}, t.told(p.TaskID, err, errCalledOff)
}

// told wakes a task of this process, or cancels it for a cause, after its record
// was changed with err.
func (t *Tasks) told(id string, err, cause error) error {
	if errors.Is(err, errTaskOver) {
		return nil
	}
	t.mu.Lock()
	run := t.running[id]
	t.mu.Unlock()
	if err != nil || run == nil {
		return err
	}
	if cause != nil {
		run.cancel(cause)
	}
	select {
	case run.wake <- struct{}{}:
	default:
	}
	return nil
}

// TaskRecord is what a store keeps of a task. It can be written as JSON.
type TaskRecord struct {
	// Task is the task as tasks/get gives it.
	Task v20260728.GetTaskResult
	// Principal is whose it is, "" for nobody's.
	Principal string
	// Answers are those to what the task asked for last, until all are there.
	Answers v20260728.InputResponses
	// Expires is when the record can go.
	Expires time.Time
}

// Clone returns a copy that shares nothing with r.
func (r *TaskRecord) Clone() *TaskRecord {
	c := *r
	c.Task, c.Answers = *r.Task.Clone(), r.Answers.Clone()
	return &c
}

// TaskStore keeps tasks, in this process or for several. The methods may be
// called from several goroutines; records that are given to it or come from it
// belong to the caller.
type TaskStore interface {
	// Create keeps a new task.
	Create(ctx context.Context, r *TaskRecord) error
	// Get gives a task, or ErrNoTask, also when its time is over.
	Get(ctx context.Context, id string) (*TaskRecord, error)
	// Change lets a func change a task, or returns ErrNoTask. Nobody changes it at
	// the same time; the func may be called more than once, and when it returns an
	// error nothing has changed.
	Change(ctx context.Context, id string, change func(*TaskRecord) error) error
}

// NewMemoryTasks makes a store in memory for at most so many tasks; beyond that
// Create fails with jsonrpc.CodeOverloaded. It also keeps at most 64 MiB of what
// tasks have beyond their first KiB, as JSON: to make room it drops those that
// ended first, as if their time were over, and where that is not enough Create
// and Change fail with jsonrpc.CodeOverloaded.
func NewMemoryTasks(limit int) TaskStore {
	return &memoryTasks{limit: limit, tasks: map[string]*memoryTask{}}
}

type memoryTasks struct {
	limit int
	mu    sync.Mutex
	tasks map[string]*memoryTask
	swept time.Time

	bytes int       // sizes of all
	freed int       // sizes of those in ended
	ended list.List // of *memoryTask with a size, those that ended first in front
}

// memoryTask is a record with its size and, once it has ended, its place.
type memoryTask struct {
	r    *TaskRecord
	size int
	at   *list.Element
}

const (
	// sweepTime is how often records whose time is over are looked for.
	sweepTime = time.Minute
	// maxMemoryBytes bounds the sizes of records. What every record may have does
	// not count, so that there is always room for saying how a task ended.
	maxMemoryBytes  = 64 << 20
	freeMemoryBytes = 1 << 10
)

// sizeOf is what a record counts.
func sizeOf(r *TaskRecord) int {
	n := len(r.Task.AppendJSON(nil)) + len(r.Principal)
	for key, a := range r.Answers {
		n += len(key) + len(a.Raw)
	}
	return max(n-freeMemoryBytes, 0)
}

// put keeps a record in the place of the one that is there. mu is held.
func (m *memoryTasks) put(r *TaskRecord) error {
	id, size := r.Task.TaskID, sizeOf(r)
	bytes, freed := m.bytes+size, m.freed
	was := m.tasks[id]
	if was != nil {
		bytes -= was.size
		if was.at != nil {
			freed -= was.size
		}
	}
	if bytes-freed > maxMemoryBytes {
		return jsonrpc.NewError(jsonrpc.CodeOverloaded, fmt.Sprintf("%d bytes of tasks are kept already", m.bytes))
	}
	if was != nil {
		m.drop(was)
	}
	for m.bytes+size > maxMemoryBytes {
		m.drop(m.ended.Front().Value.(*memoryTask))
	}
	t := &memoryTask{r: r, size: size}
	if m.tasks[id], m.bytes = t, m.bytes+size; size > 0 && ended(r.Task.Status) {
		t.at, m.freed = m.ended.PushBack(t), m.freed+size
	}
	return nil
}

// drop forgets a record. mu is held.
func (m *memoryTasks) drop(t *memoryTask) {
	delete(m.tasks, t.r.Task.TaskID)
	m.bytes -= t.size
	if t.at != nil {
		m.ended.Remove(t.at)
		m.freed -= t.size
	}
}

// get finds a record whose time is not over. mu is held.
func (m *memoryTasks) get(id string) (*TaskRecord, error) {
	t := m.tasks[id]
	if t == nil || !time.Now().Before(t.r.Expires) {
		return nil, ErrNoTask
	}
	return t.r.Clone(), nil
}

func (m *memoryTasks) Create(_ context.Context, r *TaskRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); now.Sub(m.swept) >= sweepTime || len(m.tasks) >= m.limit {
		m.swept = now
		for _, t := range m.tasks {
			if !now.Before(t.r.Expires) {
				m.drop(t)
			}
		}
	}
	if len(m.tasks) >= m.limit {
		return jsonrpc.NewError(jsonrpc.CodeOverloaded, fmt.Sprintf("%d tasks are kept already", m.limit))
	}
	return m.put(r.Clone())
}

func (m *memoryTasks) Get(_ context.Context, id string) (*TaskRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(id)
}

func (m *memoryTasks) Change(_ context.Context, id string, change func(*TaskRecord) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, err := m.get(id)
	if err != nil {
		return err
	}
	if err := change(r); err != nil {
		return err
	}
	r.Task.TaskID = id
	return m.put(r)
}
