//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplayOfASilentPipeEndsWithItsContext holds that a signal ends replay while
// it waits for its recording.
func TestReplayOfASilentPipeEndsWithItsContext(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "x.wire")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	require.NoError(t, err)
	defer writer.Close() // ends what reads
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := replayCommand()
	cmd.SetArgs([]string{pipe, "--", "never-started"})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	require.ErrorIs(t, cmd.ExecuteContext(ctx), errInterrupted)
}
