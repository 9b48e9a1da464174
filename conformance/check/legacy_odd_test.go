package check_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

// TestOddLegacyServersAreNotBlamed holds what servers in use do that breaks no
// rule, or one that another check tells.
func TestOddLegacyServersAreNotBlamed(t *testing.T) {
	servers := map[string]struct {
		rev    string
		server checktest.Server
		tells  []string // checks that find something
	}{
		"a log of the input on stderr": {
			rev:    "2025-06-18",
			server: server{Input: func(c *conn, line []byte) bool { c.Stderr("read: " + string(line)); return false }},
		},
		"logging declared and not there": {
			rev:    "2024-11-05",
			server: checktest.Refuse("logging/setLevel", "", -32601),
			tells:  []string{"log-level-set"},
		},
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers[name]
			for id, v := range judge(t, s.server, s.rev) {
				switch v.Verdict {
				case result.Pass, result.NotObserved, result.NotApplicable:
				default:
					require.Contains(t, s.tells, id, "%s: want %s, got %s; %s\n%s", v.Verdict, v.Expected, v.Observed, v.Reason, frames(v))
				}
			}
		})
	}
}
