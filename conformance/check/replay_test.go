package check_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// TestSavedRecordingsGiveTheSameVerdicts holds that checks use nothing but
// what is recorded.
func TestSavedRecordingsGiveTheSameVerdicts(t *testing.T) {
	reread := func(traces []*check.Trace) []*check.Trace {
		var out []*check.Trace
		for _, tr := range traces {
			text, err := tr.Recording.MarshalText()
			require.NoError(t, err)
			rec, err := transcript.Parse(text)
			require.NoError(t, err)
			out = append(out, check.NewTrace(rec))
		}
		return out
	}
	broken := checktest.Server{Input: dieOn("no JSON").Input, Output: swap("tools/list", `"name":"hello"`, "\"name\":\"\xff\"").Output}
	for _, s := range []checktest.Server{{}, broken} {
		for _, rev := range []string{"2025-03-26", "2025-11-25", "2026-07-28"} {
			synctest.Test(t, func(t *testing.T) {
				x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
				require.NoError(t, err)
				traces := check.Drive(t.Context(), launcher(s), check.DriveOptions{Revision: rev, Probes: check.Probes()})
				again, offers := reread(traces), reread(x.Traces)
				for _, k := range check.All() {
					if !k.Applies(rev) {
						continue
					}
					want := k.Verdict(rev, check.FactsOf(rev, traces), traces, x.Traces)
					got := k.Verdict(rev, check.FactsOf(rev, again), again, offers)
					require.Empty(t, cmp.Diff(untimed(want), untimed(got)), k.ID)
				}
			})
		}
	}
}

// untimed leaves out times, which a transcript rounds.
func untimed(v result.Check) result.Check {
	v.Frames = nil
	return v
}
