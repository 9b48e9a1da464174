package conformance_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

// launches is a server whose launches, counted from 1, take so long until they
// answer.
func launches(s checktest.Server, takes map[int]time.Duration) checktest.Server {
	n := 0
	s.Start = func(c *checktest.Conn) {
		n++
		c.State["ready"] = time.Now().Add(takes[n])
	}
	s.Output = func(c *checktest.Conn, _ *checktest.Request, a string) string {
		if d := time.Until(c.State["ready"].(time.Time)); d > 0 {
			time.AfterFunc(d, func() { c.Line(a) })
			return ""
		}
		return a
	}
	return s
}

// TestRevisionWhoseOfferIsNotHeardIsTold holds that a process which starts too
// slowly when a revision is offered to it loses that revision in no silence.
func TestRevisionWhoseOfferIsNotHeardIsTold(t *testing.T) {
	old := checktest.Server{Versions: []string{"2024-11-05", "2025-03-26", "2025-06-18"}}
	refusing := old // names none to an offer that it refuses
	refusing.Input = func(c *checktest.Conn, line []byte) bool {
		if !strings.Contains(string(line), `"initialize"`) || slices.ContainsFunc(old.Versions, func(v string) bool { return strings.Contains(string(line), v) }) {
			return false
		}
		c.Line(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`)
		return true
	}
	all := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	const whole = 20 * time.Second // within --timeout, not within that of a later answer
	for _, tt := range []struct {
		name    string
		server  checktest.Server
		takes   map[int]time.Duration
		asked   []string
		judged  []string
		unheard string // the one that is blocked
		note    string
	}{
		{"starts within the limit", checktest.Server{}, map[int]time.Duration{2: whole, 3: whole, 4: whole, 7: whole}, []string{"all"}, all, "", ""},
		{"an older offer", checktest.Server{}, map[int]time.Duration{3: time.Minute}, []string{"all"}, all, "2025-03-26", ""},
		{"an older offer by name", checktest.Server{}, map[int]time.Duration{3: time.Minute}, []string{"2025-03-26"}, []string{"2025-03-26"}, "2025-03-26", ""},
		{"an older offer that nobody asks for", checktest.Server{}, map[int]time.Duration{3: time.Minute}, nil, []string{"2025-11-25", "2026-07-28"}, "", ""},
		{"the newest, which it names to other offers", old, map[int]time.Duration{2: time.Minute}, []string{"all"}, old.Versions, "", ""},
		{"the newest that it may speak", refusing, map[int]time.Duration{2: time.Minute}, nil, []string{"2025-03-26", "2025-06-18"}, "2025-06-18", ""},
		{"discovery, and it starts fast", checktest.Server{}, map[int]time.Duration{7: time.Minute}, nil, []string{"2025-11-25"}, "", "taken for one that speaks no stateless revision"},
		{"discovery, and it starts slowly", checktest.Server{}, map[int]time.Duration{1: whole, 7: time.Minute}, nil, []string{"2025-11-25", "2026-07-28"}, "2026-07-28", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := run(t, launches(tt.server, tt.takes), conformance.Options{Revisions: tt.asked, Checks: []string{"id-echo", "version-*"}})
			require.NoError(t, err)
			require.Equal(t, tt.judged, rep.Revisions)
			for _, c := range rep.Results {
				require.NotContains(t, []result.Verdict{result.Fail, result.Error}, c.Verdict, "%s: %s %s", c.ID, c.Observed, c.Reason)
				require.True(t, c.Verdict != result.Warn || c.ID == "version-counter-offer", "%s: %s %s", c.ID, c.Observed, c.Reason)
				if c.Revision == tt.unheard {
					require.Equal(t, result.Blocked, c.Verdict, c.ID)
					require.Contains(t, c.Reason, "it answered nothing in ")
					require.Contains(t, c.Reason, "--timeout")
				} else if c.ID == "id-echo" {
					require.Equal(t, result.Pass, c.Verdict, c.Reason)
				}
			}
			require.Equal(t, tt.name != "starts within the limit" && tt.note == "", report.ExitCode(rep) == report.ExitNoResult, "%v", rep.Summary())
			require.Contains(t, strings.Join(rep.Notes, "\n"), tt.note)
			require.Equal(t, tt.note == "", len(rep.Notes) == 0)
		})
	}
}
