package compat_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestTaskThatAsksTheSameAgain: a client of 2025-11-25 is asked as often as the
// task asks, whether or not the task was seen at work in between, and only once
// for each time, however long the server shows a question that was answered.
func TestTaskThatAsksTheSameAgain(t *testing.T) {
	again := func(t *testing.T, server mcp.Server, want int) {
		asked := 0
		r, err := v20251125.Connect(t.Context(), served(t, compat.Server(server)), v20251125.Client{Options: discard,
			Elicit: func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				asked++
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept, Content: map[string]v20251125.ElicitValue{"name": v20251125.ElicitValueString("Ada")}}, nil
			}})
		require.NoError(t, err)
		_, err = r.CallTool(t.Context(), &v20251125.CallToolParams{Name: "t", Task: &v20251125.TaskMetadata{}})
		var created *v20251125.TaskCreated
		require.ErrorAs(t, err, &created)
		synctest.Wait() // so that it is answered in the instant in which it asks
		_, err = r.GetTaskPayload(t.Context(), &v20251125.GetTaskPayloadParams{TaskID: created.Task.TaskID})
		require.NoError(t, err)
		require.Equal(t, want, asked)
		require.NoError(t, r.Close())
	}
	for name, pause := range map[string]time.Duration{"at once": 0, "later": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tasks, rounds := &compat.Tasks{}, 0
				s := tasks.Attach(taskServer(tasks))
				s.CallTool = func(ctx context.Context, p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
					return nil, tasks.Start(ctx, p, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
						time.Sleep(pause)
						if rounds++; rounds < 4 {
							return nil, mcp.NewInputRequiredError(mcp.InputRequests{"name": form("name?")}, nil)
						}
						return says("done"), nil
					})
				}
				again(t, s, 3)
				require.NoError(t, tasks.Close(t.Context()))
			})
		})
	}
	t.Run("a server that is slow to take answers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			looks := 0
			s := taskServer(&compat.Tasks{})
			s.CallTool = func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				return nil, mcp.NewTaskCreated(mcp.Task{TaskID: "1", Status: mcp.TaskStatusWorking, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z"})
			}
			s.UpdateTask = func(context.Context, *mcp.UpdateTaskParams) (*mcp.UpdateTaskResult, error) { return nil, nil }
			s.GetTask = func(context.Context, *mcp.GetTaskParams) (*mcp.GetTaskResult, error) {
				r := &mcp.GetTaskResult{TaskID: "1", CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z"}
				switch looks++; {
				case looks <= 3:
					r.Status, r.InputRequests = mcp.TaskStatusInputRequired, mcp.InputRequests{"name": form("name?")}
				case looks <= 6:
					r.Status, r.InputRequests = mcp.TaskStatusInputRequired, mcp.InputRequests{"name": form("really?")}
				case looks == 7:
					r.Status = mcp.TaskStatusWorking
				case looks <= 9:
					r.Status, r.InputRequests = mcp.TaskStatusInputRequired, mcp.InputRequests{"name": form("really?")}
				default:
					payload := mcp.TaskPayloadCallTool(says("done"))
					r.Status, r.Result = mcp.TaskStatusCompleted, &payload
				}
				return r, nil
			}
			again(t, s, 3)
		})
	})
}

// TestOnePrincipalHasAQuarter of the tasks that run, and others have the rest.
func TestOnePrincipalHasAQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := &compat.Tasks{MaxRunning: 8, Logger: discard.Logger}
		stop := make(chan struct{})
		start := func(whose string) error {
			err := tasks.Start(jsonrpc.WithPrincipal(t.Context(), whose), &mcp.CallToolParams{}, func(context.Context, *mcp.CallToolParams) (*mcp.CallToolResult, error) {
				<-stop
				return says("done"), nil
			})
			if _, ok := errors.AsType[*mcp.TaskCreated](err); ok {
				return nil
			}
			return err
		}
		full := jsonrpc.NewError(jsonrpc.CodeOverloaded, "")
		for range 2 {
			require.NoError(t, start("ada"))
		}
		require.ErrorIs(t, start("ada"), full)
		require.NoError(t, start("bob"))
		for range 5 {
			require.NoError(t, start(""))
		}
		require.ErrorIs(t, start(""), full)
		close(stop)
		synctest.Wait()
		require.NoError(t, start("ada"), "there is room again")
		require.NoError(t, tasks.Close(t.Context()))
	})
}

// TestOnePrincipalKeepsAQuarter of the calls that wait for their clients.
func TestOnePrincipalKeepsAQuarter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := compat.Options{MaxKept: 8}.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
			return nameOf(ctx, peer, "name?")
		}))
		b, err := s.Bind() // one server for all
		require.NoError(t, err)
		as := func(whose string) asker {
			here, there := jsonl.InMemory()
			done := make(chan error, 1)
			go func() {
				done <- jsonrpc.Serve(jsonrpc.WithPrincipal(context.Background(), whose), there, bound{b})
			}()
			a := roundsOf(t, here)
			t.Cleanup(func() {
				require.NoError(t, a.conn.Close(context.Background()))
				<-done
			})
			return a
		}
		ada, bob := as("ada"), as("bob")
		full := jsonrpc.NewError(jsonrpc.CodeOverloaded, "")
		first, err := ada.round(t.Context(), "")
		require.NoError(t, err)
		questions(t, first)
		_, err = ada.round(t.Context(), "")
		require.NoError(t, err)
		_, err = ada.round(t.Context(), "")
		require.ErrorIs(t, err, full)
		r, err := bob.round(t.Context(), "")
		require.NoError(t, err)
		questions(t, r)
		_, err = ada.round(t.Context(), next(first, `{"action":5}`))
		refused(t, err)
		_, err = ada.round(t.Context(), "")
		require.ErrorIs(t, err, full, "a bad answer makes no room")
		r, err = ada.round(t.Context(), next(first, accept("Ada")))
		require.NoError(t, err)
		require.Equal(t, "Ada", answerOf(t, r))
		_, err = ada.round(t.Context(), "")
		require.NoError(t, err, "there is room again")
	})
}

// bound is a server that was bound before.
type bound struct{ jsonrpc.Chooser }

func (b bound) Bind() (jsonrpc.Chooser, error) { return b.Chooser, nil }
