package check

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// TestInstances holds that a result has each time that its rule was broken, up to
// ten, and how many there were: the one that it tells of is not among the others.
func TestInstances(t *testing.T) {
	for _, n := range []int{1, 2, 10, 13} {
		c := &Case{}
		for i := range n {
			c.Tolerated(nil, "an error", fmt.Sprint("result ", i))
		}
		var out result.Check
		c.conclude(&out)
		require.Equal(t, result.Warn, out.Verdict)
		if n == 1 {
			require.Equal(t, "result 0", out.Observed)
			require.Zero(t, out.Count)
			require.Nil(t, out.More)
			continue
		}
		require.Equal(t, fmt.Sprintf("result 0 (and %d more like it)", n-1), out.Observed)
		require.Equal(t, n, out.Count)
		require.Len(t, out.More, min(n, 10)-1)
		for i, m := range out.More {
			require.Equal(t, result.Instance{Expected: "an error", Observed: fmt.Sprint("result ", i+1)}, m)
		}
	}
}
