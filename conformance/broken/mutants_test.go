package broken_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

var (
	all   = flag.Bool("all", false, "judge every broken peer, not a sample of them")
	every = flag.Int("every", 0, "judge one of so many faults that are made by program; 0 is each with -all, and few without")
	file  = flag.String("score", "", "append the scores to this file")
	only  = flag.String("fault", "", "judge only the broken peers whose names hold this")
)

// findings runs the checker on a server, in fake time, in one revision, and
// gives what it found wrong by the ids of the checks.
func findings(t *testing.T, l check.Launcher, rev string) map[string]result.Check {
	t.Helper()
	out := map[string]result.Check{}
	synctest.Test(t, func(t *testing.T) {
		o := conformance.Options{Revisions: []string{rev}}
		if rev == check.Revisions()[0] {
			o.Allow = []string{"*"} // no tool is marked as harmless there
		}
		rep, err := conformance.Run(t.Context(), conformance.Target{Launcher: l}, o)
		if err != nil {
			t.Logf("%v", err)
			out["run"] = result.Check{ID: "run", Verdict: result.Error, Reason: err.Error()}
			return
		}
		for _, v := range rep.Results {
			switch v.Verdict {
			case result.Fail, result.Warn, result.Error:
				out[v.ID] = v
			}
		}
	})
	return out
}

// known are true findings on the servers that are otherwise right: what a form
// with several choices becomes for a client of 2025-06-18, which has none, is an
// error of the protocol and not of the tool.
var known = map[string]string{"reference 2025-06-18": "tool-failure-as-result"}

// TestCorrectPeersHaveNoFindings holds that the checker finds nothing wrong
// with servers that are right, in each revision.
func TestCorrectPeersHaveNoFindings(t *testing.T) {
	for name, l := range map[string]check.Launcher{
		"reference": (&broken.Fault{Wire: &broken.Wire{}}).Launcher(),
		"small": check.Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) check.Exit {
			s := checktest.Server{}
			return check.Exit{Code: s.Serve(ctx, in, out, errs)}
		}},
	} {
		for i, rev := range check.Revisions() {
			if raced > 1 && i%raced != raced-1 {
				continue
			}
			t.Run(name+" "+rev, func(t *testing.T) {
				got := findings(t, l, rev)
				delete(got, known[name+" "+rev])
				for id, v := range got {
					t.Errorf("%s %s: want %s, got %s; %s\n%s", v.Verdict, id, v.Expected, v.Observed, v.Reason, frames(v))
				}
			})
		}
	}
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

// right are the checks that may name a fault, where it is judged, and whether
// that is a warning.
func right(t *testing.T, f *broken.Fault) (rev string, checks map[string]bool, warns bool) {
	checks = map[string]bool{}
	for _, k := range check.All() {
		covers := k.ID == f.Check
		for _, r := range k.Bound(cmp.Or(f.Revision, modernRevision), catalogue.Stdio) {
			covers = covers || f.Check == "" && slices.Contains(f.Requirements, r.ID)
		}
		if !covers {
			continue
		}
		rev = f.Revision
		for _, r := range check.Revisions() {
			if f.Revision == "" && k.Applies(r, catalogue.Stdio) {
				rev = r
			}
		}
		require.True(t, k.Applies(rev, catalogue.Stdio), "%s: %s does not apply to %s", f.Name, f.Check, rev)
		checks[k.ID] = true
		warns = f.Check != "" && (f.Tolerated || k.Warns(rev, catalogue.Stdio))
	}
	return rev, checks, warns
}

// requirementOf is the first that a check is for.
func requirementOf(id string) string {
	for _, k := range check.All() {
		if k.ID == id {
			return k.Requirements[0]
		}
	}
	return id
}

const modernRevision = "2026-07-28"

// score counts what was seen in an area.
type score struct{ seen, all int }

func (s score) String() string {
	return fmt.Sprintf("%d of %d, %.1f %%", s.seen, s.all, 100*float64(s.seen)/float64(max(s.all, 1)))
}

// tally gathers scores by area.
type tally struct {
	mu     sync.Mutex
	areas  map[string]*score
	whole  score
	unseen []string
}

func (c *tally) add(area string, seen bool, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.areas == nil {
		c.areas = map[string]*score{}
	}
	if c.areas[area] == nil {
		c.areas[area] = &score{}
	}
	for _, s := range []*score{c.areas[area], &c.whole} {
		s.all++
		if seen {
			s.seen++
		}
	}
	if !seen {
		c.unseen = append(c.unseen, what)
	}
}

// tell prints the scores, and appends them to the file that was asked for.
func (c *tally) tell(t *testing.T, what string) {
	t.Helper()
	t.Logf("%s:\n%s", what, c)
	if *file == "" {
		return
	}
	f, err := os.OpenFile(*file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	require.NoError(t, err)
	_, err = fmt.Fprintf(f, "%s:\n%s", what, c)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// atLeast fails when less than so many per cent were seen of all that there are.
func (c *tally) atLeast(t *testing.T, percent int) {
	t.Helper()
	if 100*c.whole.seen < percent*c.whole.all {
		t.Errorf("%s, want at least %d %%", c.whole, percent)
	}
}

func (c *tally) String() string {
	var b strings.Builder
	for _, area := range slices.Sorted(maps.Keys(c.areas)) {
		fmt.Fprintf(&b, "  %-16s %s\n", area, c.areas[area])
	}
	fmt.Fprintf(&b, "  %-16s %s\n", "in all", c.whole)
	slices.Sort(c.unseen)
	for _, u := range c.unseen {
		fmt.Fprintf(&b, "  unseen: %s\n", u)
	}
	return b.String()
}

// TestMutants judges the named broken servers: each is named by the check that
// it is for, and by none that it has nothing to do with.
func TestMutants(t *testing.T) {
	faults := broken.Servers()
	var seen tally
	t.Run("servers", func(t *testing.T) {
		for i := range faults {
			f := &faults[i]
			if !*all && *only == "" && i%(90*raced) != 0 || !strings.Contains(f.Name, *only) {
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				t.Parallel()
				rev, checks, warns := right(t, f)
				got := findings(t, f.Launcher(), rev)
				if f.Wire != nil {
					delete(got, known["reference "+rev])
				}
				caught := false
				var wrong []string
				for _, id := range slices.Sorted(maps.Keys(got)) {
					g := got[id]
					switch {
					case checks[id]:
						caught = caught || f.Check == "" || warns == (g.Verdict == result.Warn)
					case !slices.Contains(f.Also, id):
						wrong = append(wrong, id)
						t.Logf("ALSO %q: {%q} %s: want %s, got %s; %s\n%s", f.Name, id, g.Verdict, g.Expected, g.Observed, g.Reason, frames(g))
					}
				}
				for _, id := range f.Also {
					if _, told := got[id]; !told && *all {
						t.Logf("STALE %q: %q does not name it", f.Name, id)
					}
				}
				if !caught {
					t.Logf("NOTSEEN %q by %v: %v", f.Name, slices.Sorted(maps.Keys(checks)), slices.Sorted(maps.Keys(got)))
				}
				area := f.Name
				if len(f.Requirements) == 0 {
					area = requirementOf(f.Check)
				}
				what := f.Name
				if len(wrong) > 0 {
					what += ", and named by " + strings.Join(wrong, ", ") + ", which it has nothing to do with"
				}
				seen.add(catalogue.AreaOf(area), caught && wrong == nil, what)
			})
		}
	})
	seen.tell(t, "named broken servers, by area of the rule")
	seen.atLeast(t, 98)
}

// TestFaultsAreWellFormed holds that each fault has a name of its own, and that
// the checks and requirements that it names are there.
func TestFaultsAreWellFormed(t *testing.T) {
	ids := map[string]bool{}
	for _, k := range check.All() {
		ids[k.ID] = true
	}
	names := map[string]bool{}
	for _, f := range broken.Servers() {
		require.False(t, names[f.Name], "%s stands twice", f.Name)
		names[f.Name] = true
		_, checks, _ := right(t, &f)
		require.NotEmpty(t, checks, "no check is for %s", f.Name)
		for _, id := range f.Also {
			require.True(t, ids[id], "%s: no check %s", f.Name, id)
		}
		for _, id := range f.Requirements {
			_, ok := catalogue.Lookup(id)
			require.True(t, ok, "%s is not in the catalogue", id)
		}
	}
	require.GreaterOrEqual(t, len(names), 250)
	for _, name := range broken.AlsoNames() {
		require.True(t, names[name], "%q is no fault", name)
	}
}
