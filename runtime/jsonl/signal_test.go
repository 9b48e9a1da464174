//go:build unix

package jsonl_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

func init() {
	children["stuck"] = func() int { // a handler that hears of nothing
		svc := server(func(context.Context, *callParams) (*callResult, error) { select {} })
		return serveStdio(withOptions{svc, jsonrpc.Options{DrainTimeout: new(50 * time.Millisecond)}})
	}
}

// TestSIGTERMDrains: a server on stdio that gets SIGTERM lets what runs end,
// refuses what is new and exits with 0; what does not end is cancelled in time
// (rows 13, 64).
func TestSIGTERMDrains(t *testing.T) {
	t.Run("what runs ends", func(t *testing.T) {
		c, l := start(t, self("slow"), nil)
		call := make(chan error, 1)
		go func() {
			_, err := echoName(t.Context(), c, "x")
			call <- err
		}()
		waitFor(t, func() bool { return c.Stats().Calls == 1 })
		// The call is handled once a later one is answered.
		require.NoError(t, c.Ping(t.Context()))
		require.NoError(t, syscall.Kill(l.PID(), syscall.SIGTERM))
		require.NoError(t, <-call)
		<-c.Done()
		ee, ok := errors.AsType[*jsonl.ExitError](c.Err())
		require.True(t, ok, "%v", c.Err())
		require.Zero(t, ee.Code)
		require.Empty(t, ee.Signal)
	})
	t.Run("what does not end is cancelled", func(t *testing.T) {
		c, l := start(t, self("stuck"), nil)
		call := make(chan error, 1)
		go func() {
			_, err := echoName(t.Context(), c, "x")
			call <- err
		}()
		waitFor(t, func() bool { return c.Stats().Calls == 1 })
		require.NoError(t, c.Ping(t.Context()))
		require.NoError(t, syscall.Kill(l.PID(), syscall.SIGTERM))
		ee, ok := errors.AsType[*jsonl.ExitError](<-call)
		require.True(t, ok)
		require.Equal(t, 1, ee.Code)
		require.Contains(t, ee.Stderr, "deadline exceeded")
	})
	t.Run("at rest", func(t *testing.T) {
		c, l := start(t, self("echo"), nil)
		require.NoError(t, syscall.Kill(l.PID(), syscall.SIGTERM))
		<-c.Done()
		ee, ok := errors.AsType[*jsonl.ExitError](c.Err())
		require.True(t, ok)
		require.Zero(t, ee.Code)
	})
}

// waitFor looks every millisecond.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.FailNow()
		}
	}
}
