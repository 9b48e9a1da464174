package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	// What printed code imports is compiled by a go command that these tests
	// start, which the cache of test results does not see. So it is a part of
	// this binary: when it changes, they run again.
	_ "github.com/goldwire/goldwire/runtime/jsonrpc"
	_ "github.com/goldwire/goldwire/runtime/revision"
	_ "github.com/goldwire/goldwire/runtime/wire"
)

// sequential names tests of one goroutine that work for long: the race
// detector finds nothing in them and makes them five times as slow.
var sequential = []string{"TestNextRevisions", "TestNextRevisionAddsOneStep", "TestRandomNextRevisions", "TestOldCodeCompilesAsSaid", "TestGenerateCheck"}

// withoutRaceDetector leaves a test to TestSequential when the race detector is on.
func withoutRaceDetector(t *testing.T) {
	t.Helper()
	require.Contains(t, sequential, t.Name())
	if raceDetector && !*update {
		t.Skip("TestSequential runs it, without the race detector")
	}
}

// TestSequential runs the tests of one goroutine in a process without the race
// detector, where that is on in this one.
func TestSequential(t *testing.T) {
	if !raceDetector {
		t.Skip("they run in this process")
	}
	out, err := exec.Command("go", "test", "-run", "^("+strings.Join(sequential, "|")+")$", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
