package check_test

import (
	"testing"

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
	if raced > 1 {
		t.Skip("make test judges these without the race detector")
	}
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
	broken := checktest.Server{Input: checktest.DieOn("no JSON").Input, Output: checktest.Swap("tools/list", `"name":"hello"`, "\"name\":\"\xff\"").Output}
	for name, s := range map[string]checktest.Server{"good": {}, "broken": broken, "dying": checktest.DieOn(`"tools/list"`)} {
		for _, rev := range []string{"2025-03-26", "2025-11-25", "2026-07-28"} {
			t.Run(name+" "+rev, func(t *testing.T) {
				t.Parallel()
				d := good(t, rev)
				if name != "good" {
					d = drive(t, s, rev)
				}
				again := driven{rev: rev, traces: reread(d.traces), offers: reread(d.offers)}
				again.facts = check.FactsOf(rev, again.traces)
				for _, k := range check.All() {
					if k.Applies(rev, over) {
						require.Empty(t, cmp.Diff(untimed(d.verdict(&k)), untimed(again.verdict(&k))), k.ID)
					}
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
