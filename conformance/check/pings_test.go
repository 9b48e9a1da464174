package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

// TestFaultOfPingsIsNoOther holds that a server whose only fault is about pings
// is told of that fault alone: pings are what the checker asks for to see
// whether a server is alive, and where any cheap request would do.
func TestFaultOfPingsIsNoOther(t *testing.T) {
	const rev = "2025-11-25"
	for name, c := range map[string]struct {
		server server
		fails  []string // found, besides ping-answered
	}{
		"silent":  {mute(`"method":"ping"`), []string{"requests-answered-once"}},
		"refused": {refuse("ping", "", -32601), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := good(t, rev).verdicts()
			for id, v := range judge(t, c.server, rev) {
				switch {
				case id == "ping-answered":
					require.Equal(t, result.Fail, v.Verdict, v.Reason)
					require.Contains(t, frames(v), `"method":"ping"`)
				case id == "ping-before-initialized":
					require.Equal(t, result.Blocked, v.Verdict, v.Observed)
					require.Contains(t, v.Reason, "no ping has a result")
				case v.Verdict == result.Fail:
					require.Contains(t, c.fails, id, "%s\n%s", v.Observed, frames(v))
					require.Contains(t, frames(v), `"method":"ping"`)
				default:
					require.Equal(t, want[id].Verdict, v.Verdict, "%s: %s %s\n%s", id, v.Observed, v.Reason, frames(v))
				}
			}
		})
	}
}
