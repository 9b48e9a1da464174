package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInterruptibleEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, interruptible(ctx, func() error { return nil }))
	require.ErrorIs(t, interruptible(ctx, func() error { return context.DeadlineExceeded }), context.DeadlineExceeded)

	release := make(chan struct{})
	over := make(chan struct{})
	err := interruptible(ctx, func() error { defer close(over); cancel(); <-release; return nil })
	require.ErrorIs(t, err, errInterrupted)
	require.Equal(t, exitNoResult, err.(*exitError).code)
	close(release)
	<-over
}
