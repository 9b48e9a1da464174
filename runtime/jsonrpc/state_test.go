package jsonrpc

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

var allStates = []State{Connecting, Initializing, Ready, Draining, Closed}

// TestTransitions: every pair of states, allowed or a typed error that names
// both and changes nothing (rows 64, 65).
func TestTransitions(t *testing.T) {
	allowed := map[[2]State]bool{
		{Connecting, Initializing}: true, // initialize
		{Connecting, Ready}:        true, // a stateless revision
		{Connecting, Draining}:     true,
		{Connecting, Closed}:       true,
		{Initializing, Connecting}: true, // initialize was refused
		{Initializing, Ready}:      true, // notifications/initialized
		{Initializing, Draining}:   true,
		{Initializing, Closed}:     true,
		{Ready, Draining}:          true,
		{Ready, Closed}:            true,
		{Draining, Closed}:         true,
	}
	require.Len(t, transitions, len(allStates))
	for _, from := range allStates {
		for _, to := range allStates {
			t.Run(from.String()+" to "+to.String(), func(t *testing.T) {
				c := NewConn(nil, NewService(ServiceOptions{}), ServerSide)
				defer c.cancel()
				c.state.Store(uint32(from))
				c.mu.Lock()
				err := c.transition("op", to)
				c.mu.Unlock()
				if allowed[[2]State{from, to}] {
					require.NoError(t, err)
					require.Equal(t, to, c.State())
					return
				}
				se, ok := errors.AsType[*StateError](err)
				require.True(t, ok)
				want := &StateError{Op: "op", From: from, To: to}
				if from == Closed {
					want.Cause = &ClosedError{}
				}
				require.Equal(t, want, se)
				require.Equal(t, from, c.State())
			})
		}
		require.True(t, from == Closed || allowed[[2]State{from, Closed}], "CLOSED can be reached from %s", from)
	}
}

// TestOperationsInEveryState: what an operation does in each state, on the side
// of a client.
func TestOperationsInEveryState(t *testing.T) {
	ctx := t.Context()
	stateError := func(err error) bool { _, ok := errors.AsType[*StateError](err); return ok }
	closedError := func(err error) bool { return errors.Is(err, ErrClosed) }
	// Ended contexts keep what is allowed from waiting for an answer.
	ended, cancel := context.WithCancel(ctx)
	cancel()
	allowed := func(err error) bool { return err == nil || errors.Is(err, errNoLink) }
	for _, c := range []struct {
		op   string
		do   func(c *Conn) error
		want [5]func(error) bool // by state
	}{
		{"a call", func(c *Conn) error { _, err := CallRaw(ctx, c, "tools/list", nil); return err },
			[5]func(error) bool{stateError, stateError, allowed, stateError, closedError}},
		{"ping", func(c *Conn) error { return c.Ping(ctx) },
			[5]func(error) bool{allowed, allowed, allowed, stateError, closedError}},
		{"a notification", func(c *Conn) error { return Notify(ctx, c, "notifications/x", nil) },
			[5]func(error) bool{stateError, stateError, allowed, allowed, closedError}},
		{"initialize", func(c *Conn) error { _, err := c.initialize(ctx, nil); return err },
			[5]func(error) bool{allowed, stateError, stateError, stateError, stateError}},
		{"ready", func(c *Conn) error { return c.Ready() },
			[5]func(error) bool{allowed, allowed, stateError, stateError, stateError}},
		{"drain", func(c *Conn) error { return c.Drain(ended) },
			[5]func(error) bool{allowed, allowed, allowed, stateError, allowed}},
		{"close", func(c *Conn) error { return c.Close(ctx) },
			[5]func(error) bool{allowed, allowed, allowed, allowed, allowed}},
	} {
		for _, state := range allStates {
			t.Run(c.op+" while "+state.String(), func(t *testing.T) {
				conn := NewConn(nil, NewService(ServiceOptions{Revision: "2025-11-25", Side: ClientSide}), ClientSide)
				defer func() { _ = conn.Close(ctx) }()
				if state == Closed {
					require.NoError(t, conn.Close(ctx))
				}
				conn.state.Store(uint32(state))
				err := c.do(conn)
				require.True(t, c.want[state](err), "%v", err)
			})
		}
	}
}
