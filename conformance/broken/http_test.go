package broken_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// overHTTP judges a broken server over HTTP by all checks, in fake time, and
// gives what they found.
func overHTTP(t *testing.T, f *broken.HTTPFault, rev string, over catalogue.Transport) map[string]result.Check {
	t.Helper()
	out := map[string]result.Check{}
	synctest.Test(t, func(t *testing.T) {
		r := f.New().Start()
		defer r.Close()
		e := f.Endpoint(r)
		x, err := check.Explore(t.Context(), e, check.Limits{})
		require.NoError(t, err)
		traces, err := check.Drive(t.Context(), e, check.DriveOptions{Revision: rev, Probes: check.Probes()})
		require.NoError(t, err)
		time.Sleep(time.Second) // what the server still does
		facts := check.FactsOf(rev, traces)
		for _, k := range check.All() {
			if !k.Applies(rev, over) {
				continue
			}
			if v := k.Verdict(rev, over, facts, traces, x.Traces); slices.Contains([]result.Verdict{result.Fail, result.Warn, result.Error}, v.Verdict) {
				out[k.ID] = v
			}
		}
	})
	return out
}

// TestHTTPMutants judges the named broken servers over HTTP: each is named by
// the check that it is for, and by none that it has nothing to do with.
func TestHTTPMutants(t *testing.T) {
	faults := broken.HTTPServers()
	var seen tally
	t.Run("servers", func(t *testing.T) {
		for i := range faults {
			f := &faults[i]
			if !*all && *only == "" && i%(20*raced) != 0 || !strings.Contains(f.Name, *only) {
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				over := f.Over
				if over == "" {
					over = catalogue.HTTP
				}
				i := slices.IndexFunc(check.All(), func(k check.Check) bool { return k.ID == f.Check })
				require.GreaterOrEqual(t, i, 0, "no such check")
				k := check.All()[i]
				rev := f.Revision
				for _, r := range check.Revisions() {
					if f.Revision == "" && k.Applies(r, over) {
						rev = r
					}
				}
				require.True(t, k.Applies(rev, over), "%s does not apply to %s over %s", k.ID, rev, over)
				got := overHTTP(t, f, rev, over)
				want := result.Fail
				if f.Tolerated || k.Warns(rev, over) {
					want = result.Warn
				}
				caught := false
				for _, id := range slices.Sorted(maps.Keys(got)) {
					switch g := got[id]; {
					case id == f.Check:
						caught = g.Verdict == want
					case !slices.Contains(f.Also, id) && !slices.Contains(f.Also, "*"):
						t.Errorf("ALSO %q: {%q} %s: want %s, got %s; %s\n%s", f.Name, id, g.Verdict, g.Expected, g.Observed, g.Reason, frames(g))
					}
				}
				if !caught {
					t.Errorf("NOTSEEN %q by %s: %v", f.Name, f.Check, slices.Sorted(maps.Keys(got)))
				}
				seen.add(catalogue.AreaOf(k.Requirements[0]), caught && !t.Failed(), f.Name)
			})
		}
	})
	seen.tell(t, "named broken servers over HTTP, by area of the rule")
	seen.atLeast(t, 98)
}

// TestEveryHTTPCheckHasAMutant holds that no check of what HTTP adds goes
// without proof.
func TestEveryHTTPCheckHasAMutant(t *testing.T) {
	checks := map[string]bool{"http-loopback-only": true} // takes a machine with other addresses
	for _, f := range broken.HTTPServers() {
		checks[f.Check] = true
	}
	for _, k := range check.All() {
		if !slices.ContainsFunc(check.Revisions(), func(rev string) bool { return k.Applies(rev, catalogue.Stdio) }) {
			require.True(t, checks[k.ID], "no mutant breaks the rule of %s", k.ID)
		}
	}
}
