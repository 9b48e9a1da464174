package check_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
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
		"silent":  {checktest.Mute(`"method":"ping"`), []string{"requests-answered-once"}},
		"refused": {checktest.Refuse("ping", "", -32601), nil},
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

// TestDiscoveryThatIsAnsweredOnceIsNoDeath holds the same for what stands for a
// ping in a stateless revision.
func TestDiscoveryThatIsAnsweredOnceIsNoDeath(t *testing.T) {
	const rev = "2026-07-28"
	s := server{Input: func(c *conn, line []byte) bool {
		if !bytes.Contains(line, []byte(`"server/discover"`)) {
			return false
		}
		again := c.State["discovered"] != nil
		c.State["discovered"] = true
		return again
	}}
	blocked := 0
	for id, v := range judge(t, s, rev) {
		if v.Verdict == result.Blocked {
			blocked++
		}
		require.NotContains(t, v.Reason, "answered nothing any more", id)
	}
	require.Less(t, blocked, 5)
}

// deaf starts servers that take no notice of being asked to end.
type deaf struct{ check.Launcher }

func (d deaf) Launch(ctx context.Context) (check.Carrier, error) {
	c, err := d.Launcher.Launch(ctx)
	return deafCarrier{c}, err
}

type deafCarrier struct{ check.Carrier }

func (deafCarrier) Terminate() {}

// TestServerThatOutlivesItsInputIsShownEnded holds that the finding shows how
// the server was ended in the end: asked first, and then made to.
func TestServerThatOutlivesItsInputIsShownEnded(t *testing.T) {
	for name, c := range map[string]struct {
		launch func(check.Launcher) check.Launcher
		want   []string
	}{
		"hears": {func(l check.Launcher) check.Launcher { return l }, []string{"eof >", "sent SIGTERM", "exit 0"}},
		"deaf":  {func(l check.Launcher) check.Launcher { return deaf{l} }, []string{"eof >", "sent SIGTERM", "sent SIGKILL", "exit 0"}},
	} {
		for _, rev := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+rev, func(t *testing.T) {
				d := driven{rev: rev}
				synctest.Test(t, func(t *testing.T) {
					var err error
					d.traces, err = check.Drive(t.Context(), c.launch(launcher(server{End: func(c *conn) { c.Hang() }})), check.DriveOptions{Revision: rev, Probes: check.Probes()})
					require.NoError(t, err)
				})
				d.facts = check.FactsOf(rev, d.traces)
				for _, id := range []string{"exit-on-eof", "exit-with-subscription"} {
					v, ok := d.verdicts()[id]
					if !ok {
						continue
					}
					require.Equal(t, result.Warn, v.Verdict, v.Reason)
					var notes []string
					for _, f := range v.Frames {
						if _, note, ok := strings.Cut(f.Text, "ms "); ok && strings.HasPrefix(f.Text, "!") && note != "eof <" && !strings.HasPrefix(note, "probe") {
							notes = append(notes, note)
						}
					}
					require.Equal(t, c.want, notes, frames(v))
				}
			})
		}
	}
}
