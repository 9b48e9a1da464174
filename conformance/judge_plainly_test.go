package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// TestPlainly holds that a result on a recording of others shows no mark of a
// step, which was never on the wire, however often the rule was broken.
func TestPlainly(t *testing.T) {
	frames := func() []result.Frame {
		return []result.Frame{{Text: "! probe recorded"}, {Text: "> {}", Here: true}}
	}
	shown := frames()[1:]
	list := []result.Check{
		{Verdict: result.Fail, Frames: frames(), More: []result.Instance{{Frames: frames()}, {Frames: frames()}}},
		{Verdict: result.Blocked},
	}
	plainly(list)
	require.Equal(t, []result.Check{
		{Verdict: result.Fail, Frames: shown, More: []result.Instance{{Frames: shown}, {Frames: shown}}},
		{Verdict: result.NotObserved},
	}, list)
}
