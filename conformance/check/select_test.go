package check_test

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

var update = flag.Bool("update", false, "write steps.txt")

// TestStepsOfProbesAreKnown holds that steps.txt names the kinds of steps that
// each probe makes of a server that offers everything.
func TestStepsOfProbesAreKnown(t *testing.T) {
	made := map[string]map[string]bool{}
	for _, p := range check.Probes() {
		made[p.Name] = map[string]bool{}
	}
	for _, rev := range check.Revisions() {
		for step, probes := range good(t, rev).probes {
			for _, p := range probes {
				kind, _, _ := strings.Cut(step, "/")
				made[p][kind] = true
			}
		}
	}
	for name, kinds := range httpSteps(t) {
		for kind := range kinds {
			made[name][kind] = true
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(made)) {
		if len(made[name]) > 0 { // of one that did nothing nobody knows, so it is always run
			b.WriteString(name + "\t" + strings.Join(slices.Sorted(maps.Keys(made[name])), " ") + "\n")
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("steps.txt", []byte(b.String()), 0o666))
		return
	}
	text, err := os.ReadFile("steps.txt")
	require.NoError(t, err)
	require.Equal(t, b.String(), string(text), "go test ./conformance/check -run TestStepsOfProbesAreKnown -update writes it")
}

// driveFor drives a server for some checks, and tells how many probes that took.
func driveFor(t *testing.T, s checktest.Server, rev string, checks ...check.Check) (d driven, probes int) {
	t.Helper()
	d = driven{rev: rev}
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
		require.NoError(t, err)
		d.offers = x.Traces
		d.traces, err = check.DriveFor(t.Context(), launcher(s), check.DriveOptions{
			Revision: rev, Probes: check.Probes(), Progress: func(string) { probes++ },
		}, checks, d.offers)
		require.NoError(t, err)
		d.facts = check.FactsOf(rev, d.traces)
	})
	return d, probes
}

// TestCheckAloneSeesTheSame holds that a check comes to the same verdict after
// the probes that it needs as after all of them: on the good server, and on the
// one that breaks its rule. What looks at all traffic needs all of them, which a
// few such checks show.
func TestCheckAloneSeesTheSame(t *testing.T) {
	all := mutants()
	few, passive := 0, 0
	for i, k := range overStdio() {
		if i%raced != 0 {
			continue
		}
		t.Run(k.ID, func(t *testing.T) {
			rev := ""
			for _, r := range check.Revisions() {
				if k.Applies(r, over) {
					rev = r
				}
			}
			whole := good(t, rev)
			if check.LooksAtAll(&k, rev, over, whole.facts, whole.traces, whole.offers) {
				if passive++; passive > 3 {
					return
				}
			}
			d, probes := driveFor(t, checktest.Server{}, rev, k)
			got, want := d.verdict(&k), whole.verdict(&k)
			require.Equal(t, want.Verdict, got.Verdict, "want %s %s, got %s %s", want.Verdict, want.Reason, got.Verdict, got.Reason)
			if probes > len(check.Probes())/3 {
				return
			}
			few++
			m := all[k.ID]
			if m.rev != "" {
				rev = m.rev
			}
			d, _ = driveFor(t, m.server, rev, k)
			v := d.verdict(&k)
			require.Contains(t, []result.Verdict{result.Fail, result.Warn}, v.Verdict, "%s", v.Reason)
		})
	}
	t.Logf("%d checks need a few probes only, %d look at all traffic", few, passive)
	if raced == 1 {
		require.Greater(t, few, 60)
	}
}
