package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// TestWhatTheCheckerEndsBreaksNothing: a server that the checker itself ended,
// as its time was over, is not blamed for the way it went, in whatever order the
// recording shows it.
func TestWhatTheCheckerEndsBreaksNothing(t *testing.T) {
	for id, step := range map[string]string{"exit-on-eof": "eof", "exit-with-subscription": "listen/eof"} {
		rec, err := transcript.Parse([]byte(`goldwire-transcript: 1
revision: 2026-07-28
transport: stdio
profile: main
! note overdue
! sent SIGKILL
! probe ` + step + `
! eof >
! eof <
! signal SIGKILL
`))
		require.NoError(t, err)
		traces := []*check.Trace{check.NewTrace(rec)}
		all := check.All()
		k := &all[slices.IndexFunc(all, func(k check.Check) bool { return k.ID == id })]
		v := k.Verdict("2026-07-28", over, check.FactsOf("2026-07-28", traces), traces, nil)
		require.Equal(t, result.Blocked, v.Verdict, "%s: %s", id, v.Observed)
		require.Contains(t, v.Reason, "a probe took longer than it may")
	}
}
