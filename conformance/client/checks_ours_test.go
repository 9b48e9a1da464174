package client_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// excepted are findings in our client that are left aside here.
var excepted = []string{
	"client-terminates", // the test has no processes that it could end
}

// TestOurClientsKeepTheRules holds that no check finds anything in what a client of
// the runtime sends, in any revision and over any transport.
func TestOurClientsKeepTheRules(t *testing.T) {
	t.Parallel()
	took := map[string]bool{}
	revs, over := judged()
	rep, err := client.Run(t.Context(), ours, client.Options{
		Revisions: revs, Transports: over, Parallel: 12,
		Limits: client.Limits{Idle: slow * time.Second, Ask: slow * 500 * time.Millisecond},
		Save: func(name string, rec *transcript.Recording) error {
			took[name] = true
			if dir := os.Getenv("GW_SAVE"); dir != "" {
				return os.WriteFile(dir+"/"+name+".wire", []byte(rec.String()), 0o600)
			}
			return nil
		},
	})
	require.NoError(t, err)
	count := map[result.Verdict]int{}
	for _, r := range rep.Results {
		count[r.Verdict]++
		if slices.Contains(excepted, r.ID) {
			continue
		}
		if r.Verdict != result.Pass && r.Verdict != result.NotObserved && r.Verdict != result.NotApplicable {
			t.Errorf("%s %s %s: %s: %s; expected %s, observed %s\n%s", r.Revision, r.Transport, r.ID, r.Verdict, r.Reason, r.Expected, r.Observed, frames(r))
		}
	}
	t.Log(len(took), "plays", count)
}

func frames(r result.Check) string {
	s := ""
	for _, f := range r.Frames {
		s += "    " + f.Text + "\n"
	}
	return s
}
