package conformance_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

// TestRunThatIsOutOfTimeBlamesNobody holds that a run whose time is over gives
// verdicts on what it has seen, breaks off at once, and calls nothing broken
// nor the whole conformant for it.
func TestRunThatIsOutOfTimeBlamesNobody(t *testing.T) {
	slow := checktest.Server{} // what takes time is watching for silence
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := conformance.Run(t.Context(), target(slow), conformance.Options{})
		require.NoError(t, err)
		whole := time.Since(began)
		for _, parallel := range []int{1, 2} {
			for i := range 4 {
				if (i+1)%raced != 0 {
					continue
				}
				limit := whole * time.Duration(i+1) / 5
				began := time.Now()
				rep, err := conformance.Run(t.Context(), target(slow), conformance.Options{Time: limit, Parallel: parallel})
				require.Less(t, time.Since(began), limit+3*time.Second)
				if rep == nil {
					require.ErrorIs(t, err, conformance.ErrTime)
					continue
				}
				require.NoError(t, err)
				for _, c := range rep.Results {
					require.NotContains(t, []result.Verdict{result.Fail, result.Warn, result.Error}, c.Verdict, "after %s: %s %s: %s %s", limit, c.Revision, c.ID, c.Observed, c.Reason)
				}
				if rep.Unjudged() > 0 || parallel == 1 {
					require.Equal(t, report.ExitNoResult, report.ExitCode(rep), "after %s of %s", limit, whole)
				}
			}
		}
	})
}

// TestProbeThatTakesTooLong holds that one probe cannot hold up a run, and that
// the rest is judged.
func TestProbeThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rep, err := conformance.Run(t.Context(), target(checktest.Server{}), conformance.Options{Revisions: []string{"2025-11-25"}, Limits: check.Limits{Probe: 150 * time.Millisecond}})
		require.NoError(t, err)
		seen := rep.Summary()
		require.Zero(t, seen[result.Fail], "%v", rep.Results)
		require.Zero(t, seen[result.Error])
		require.NotZero(t, seen[result.Blocked])
		require.Greater(t, seen[result.Pass], 80)
	})
}

// TestParallelIsTheSame holds that driving revisions at once changes neither the
// verdicts nor their order.
func TestParallelIsTheSame(t *testing.T) {
	var want []string
	for i, parallel := range []int{0, 1, 99, 3} {
		if i > 0 && i%raced != raced-1 {
			continue
		}
		rep, err := run(t, checktest.Server{}, conformance.Options{Revisions: []string{"all"}, Parallel: parallel})
		require.NoError(t, err)
		var got []string
		for _, c := range rep.Results {
			if c.ID != "late-answer-tolerated" { // whether there is a late answer hangs on the moment
				got = append(got, c.Revision+" "+c.ID+" "+string(c.Verdict))
			}
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want, got, "%d at once", parallel)
	}
	// The first revision names what is wrong with the command line; no other
	// goes on.
	_, err := run(t, checktest.Server{}, conformance.Options{Parallel: 4, Deny: []string{"nobody"}})
	var tool *check.ToolError
	require.ErrorAs(t, err, &tool)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	synctest.Test(t, func(*testing.T) {
		_, err = conformance.Run(ctx, target(checktest.Server{}), conformance.Options{Parallel: 4})
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TestFewChecksTakeFewProbes holds that a server is asked no more than the
// selected checks need.
func TestFewChecksTakeFewProbes(t *testing.T) {
	probes := func(patterns ...string) (n int) {
		_, err := run(t, checktest.Server{}, conformance.Options{Revisions: []string{"2025-11-25"}, Checks: patterns, Progress: func(p conformance.Progress) {
			n += btoi(p.Probe != "")
		}})
		require.NoError(t, err)
		return n
	}
	all := probes()
	require.Greater(t, all, 30)
	require.Less(t, probes("unknown-method"), 10)
	require.Less(t, probes("unknown-method", "unknown-tool", "bad-cursor-refused"), 20)
	require.Equal(t, all, probes("message-shape"), "what looks at all traffic needs all of it")
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
