package check_test

import (
	"context"
	"io"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

// A mutant is a server that breaks the rule of one check.
type mutant struct {
	// rev is where it is judged; "" is the newest revision that the check
	// applies to.
	rev    string
	server checktest.Server
	// warn says that the finding is a warning though the requirement is not:
	// the check tolerates this breach.
	warn bool
}

// mutants are keyed by the id of the check that has to notice. One check may
// have more of them, as "id/what".
func mutants() map[string]mutant {
	all := map[string]mutant{}
	maps.Copy(all, sharedMutants)
	maps.Copy(all, legacyMutants)
	maps.Copy(all, modernMutants)
	return all
}

func launcher(s checktest.Server) check.Launcher {
	return check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
		return check.Exit{Code: s.Serve(ctx, in, out, errs)}
	}}
}

// judge drives a server in fake time and gives the verdicts by check id, of
// these checks or of all.
func judge(t *testing.T, s checktest.Server, rev string, only ...string) map[string]result.Check {
	t.Helper()
	out := map[string]result.Check{}
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
		require.NoError(t, err)
		traces := check.Drive(t.Context(), launcher(s), check.DriveOptions{Revision: rev, Probes: check.Probes()})
		facts := check.FactsOf(rev, traces)
		for _, k := range check.All() {
			if k.Applies(rev) && (len(only) == 0 || slices.Contains(only, k.ID)) {
				out[k.ID] = k.Verdict(rev, facts, traces, x.Traces)
			}
		}
	})
	return out
}

// TestGoodServerHasNoFindings holds that checks stay quiet where there is
// nothing to tell, in each revision, and that each of them has something to
// see in one.
func TestGoodServerHasNoFindings(t *testing.T) {
	passed := map[string]bool{}
	for name, s := range map[string]checktest.Server{
		"everything":  {},
		"modern only": {Versions: []string{"2026-07-28"}},
		"no tasks":    {Without: []string{"tasks"}},
		"nothing":     {Without: []string{"tools", "prompts", "resources", "completions", "logging", "tasks"}},
	} {
		for _, rev := range check.Revisions() {
			if !s.Speaks(rev) {
				continue
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				for id, v := range judge(t, s, rev) {
					require.Contains(t, []result.Verdict{result.Pass, result.NotObserved, result.NotApplicable}, v.Verdict, "%s: want %s, got %s; %s\n%s", id, v.Expected, v.Observed, v.Reason, frames(v))
					passed[id] = passed[id] || v.Verdict == result.Pass
				}
			})
		}
	}
	for _, k := range check.All() {
		require.True(t, passed[k.ID], "%s passes on the good server in no revision", k.ID)
	}
}

// TestEveryCheckSeesItsMutant holds that there is a server for each check
// which the check finds wrong.
func TestEveryCheckSeesItsMutant(t *testing.T) {
	all := mutants()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := all[name]
			i := slices.IndexFunc(check.All(), func(k check.Check) bool { return k.ID == baseOf(name) })
			require.GreaterOrEqual(t, i, 0, "no such check")
			k := check.All()[i]
			rev := m.rev
			if rev == "" {
				for _, r := range check.Revisions() {
					if k.Applies(r) {
						rev = r
					}
				}
			}
			v, ok := judge(t, m.server, rev, k.ID)[k.ID]
			require.True(t, ok, "the check does not apply to %s", rev)
			want := result.Fail
			if m.warn || k.Warns(rev) {
				want = result.Warn
			}
			require.Equal(t, want, v.Verdict, "want %s, got %s; %s\n%s", v.Expected, v.Observed, v.Reason, frames(v))
			require.NotEmpty(t, v.Expected)
			require.NotEmpty(t, v.Observed)
		})
	}
}

// TestEveryCheckHasAMutant holds that no check goes without proof.
func TestEveryCheckHasAMutant(t *testing.T) {
	all := mutants()
	for _, k := range check.All() {
		_, ok := all[k.ID]
		require.True(t, ok, "no mutant breaks the rule of %s", k.ID)
	}
}

// TestChecksAreWellFormed holds the rules of the registry.
func TestChecksAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range check.All() {
		require.Regexp(t, `^[a-z0-9]+(-[a-z0-9]+)*$`, k.ID)
		require.False(t, seen[k.ID], "%s stands twice", k.ID)
		seen[k.ID] = true
		require.NotEmpty(t, k.Title, k.ID)
		require.NotEmpty(t, k.Layer, k.ID)
		require.NotNil(t, k.Judge, k.ID)
		for _, id := range k.Requirements {
			_, ok := catalogue.Lookup(id)
			require.True(t, ok, "%s: %s is not in the catalogue", k.ID, id)
		}
		applies := false
		for _, rev := range check.Revisions() {
			warns := map[bool]bool{}
			for _, r := range k.Bound(rev) {
				applies = true
				warns[r.Warns()] = true
			}
			require.LessOrEqual(t, len(warns), 1, "%s: its requirements weigh differently in %s: split it", k.ID, rev)
		}
		require.True(t, applies, "%s applies to no revision over stdio: are its requirements in the catalogue?", k.ID)
	}
	probes := map[string]bool{}
	for _, p := range check.Probes() {
		require.False(t, probes[p.Name], "probe %s stands twice", p.Name)
		probes[p.Name] = true
	}
}

func baseOf(name string) string {
	for i := range name {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return name
}

func frames(v result.Check) string {
	s := ""
	for _, f := range v.Frames {
		if f.Here {
			s += "* "
		} else {
			s += "  "
		}
		s += f.Text + "\n"
	}
	return s
}
