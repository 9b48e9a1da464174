package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/result"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func baseline(t *testing.T, text string) *conformance.Baseline {
	t.Helper()
	b, err := conformance.ParseBaseline("known.yaml", []byte(text))
	require.NoError(t, err)
	return b
}

// judged has two revisions with a fail that is mild in neither, a warning, a
// blocked MUST and what passes.
func judged() *result.Report {
	c := func(id, rev string, v result.Verdict) result.Check {
		return result.Check{ID: id, Revision: rev, Level: "MUST", Verdict: v, Reason: "it hung"}
	}
	const old, now = "2025-06-18", "2025-11-25"
	return &result.Report{Revisions: []string{old, now}, Results: []result.Check{
		c("id-echo", old, result.Fail), c("id-echo", now, result.Pass),
		c("unknown-tool", old, result.Pass), c("unknown-tool", now, result.Pass),
		c("ping-answered", old, result.Warn), c("ping-answered", now, result.NotObserved),
		c("exit-on-eof", now, result.Blocked),
	}}
}

// TestBaselineAside tells, in a line for each file, of entries that are for
// revisions which were not judged.
func TestBaselineAside(t *testing.T) {
	for name, tt := range map[string]struct {
		known, flaky string
		want         []string
	}{
		"none": {known: "- check: id-echo\n- check: unknown-tool\n  revisions: [2024-11-05, 2025-11-25]\n"},
		"one":  {known: "- check: id-echo\n  revisions: [2024-11-05]\n", want: []string{"1 entry of known.yaml for 2024-11-05, which was not judged"}},
		"some, in both lists": {
			known: "- check: id-echo\n  revisions: [2026-07-28, 2024-11-05]\n- check: unknown-tool\n  revisions: [2024-11-05]\n",
			flaky: "- check: ping-answered\n  revisions: [2025-03-26]\n",
			want: []string{
				"2 entries of known.yaml for 2024-11-05, 2026-07-28, which were not judged",
				"1 entry of known.yaml for 2025-03-26, which was not judged",
			},
		},
		"a stale one is told as that": {known: "- check: id-echo\n  revisions: [2024-11-05]\n  until: 2026-11-29\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := judged()
			conformance.Apply(r, baseline(t, tt.known), baseline(t, tt.flaky), noon)
			require.Equal(t, tt.want, r.Notes)
		})
	}
}

func TestBaselineApplies(t *testing.T) {
	for name, tt := range map[string]struct {
		known, flaky string
		marked       map[string]string // what is known
		stale        []string
	}{
		"nothing": {},
		"an entry for every revision holds while one of them fails": {
			known:  "- check: id-echo\n  reason: Fixed in 2.0.\n",
			marked: map[string]string{"id-echo 2025-06-18": "Fixed in 2.0."},
		},
		"an entry for the revision that passes is stale": {
			known: "- check: id-echo\n  revisions: [2025-11-25]\n",
			stale: []string{"id-echo: it passes now in 2025-11-25"},
		},
		"a check that passes": {
			known: "- check: unknown-tool\n",
			stale: []string{"unknown-tool: it passes now in 2025-06-18, 2025-11-25"},
		},
		"no such check": {
			known: "- check: no-such-check\n", flaky: "- check: nor-this\n",
			stale: []string{"no-such-check: there is no such check", "nor-this: there is no such check"},
		},
		"warn and blocked can be known": {
			known:  "- check: ping-answered\n- check: exit-on-eof\n",
			marked: map[string]string{"ping-answered 2025-06-18": "it stands in known.yaml", "exit-on-eof 2025-11-25": "it stands in known.yaml"},
		},
		"what was not judged is neither": {known: "- check: tools-list-shape\n- check: ping-answered\n  revisions: [2025-11-25]\n"},
		"the last day counts": {
			known:  "- check: id-echo\n  until: 2026-11-30\n",
			marked: map[string]string{"id-echo 2025-06-18": "it stands in known.yaml (until 2026-11-30)"},
		},
		"the day after it does not": {
			known: "- check: id-echo\n  until: 2026-11-29\n",
			stale: []string{"id-echo: it expired on 2026-11-29"},
		},
		"a flaky check may pass": {
			flaky:  "- check: id-echo\n  reason: races\n- check: unknown-tool\n",
			marked: map[string]string{"id-echo 2025-06-18": "flaky: races"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := judged()
			conformance.Apply(r, baseline(t, tt.known), baseline(t, tt.flaky), noon)
			var stale []string
			for _, s := range r.Stale {
				stale = append(stale, s.Check+": "+s.Why)
				require.Equal(t, "known.yaml", s.File)
			}
			require.Equal(t, tt.stale, stale)
			got := map[string]string{}
			for _, c := range r.Results {
				if c.Known != "" {
					got[c.ID+" "+c.Revision] = c.Known
				}
			}
			if tt.marked == nil {
				tt.marked = map[string]string{}
			}
			require.Equal(t, tt.marked, got)
		})
	}
	r := judged()
	conformance.Apply(r, nil, nil, noon)
	require.Empty(t, cmp.Diff(judged(), r))
}

// TestUpdateMakesTheBaselineThatFits holds that after an update nothing counts
// and nothing is stale, and that what people wrote stays.
func TestUpdateMakesTheBaselineThatFits(t *testing.T) {
	old := baseline(t, `# Why we keep this file.

- check: unknown-tool          # passes now
- check: id-echo
  revisions: [2025-06-18]
  until: 2027-01-31
  reason: Fixed in 2.0.
- check: tools-list-shape
  reason: not judged here
- check: no-such-check
- check: ping-answered
  until: 2026-01-01
`)
	for _, strict := range []bool{false, true} {
		r := judged()
		r.Strict = strict
		b := conformance.Update(old, r, nil, noon)
		text, err := b.MarshalText()
		require.NoError(t, err)
		want := `# Why we keep this file.

- check: exit-on-eof
  revisions: ["2025-11-25"]
  reason: "It was blocked: it hung"
- check: id-echo
  revisions: ["2025-06-18"]
  until: "2027-01-31"
  reason: Fixed in 2.0.
`
		if strict {
			want += "- check: ping-answered\n  revisions: [\"2025-06-18\"]\n"
		}
		want += "- check: tools-list-shape\n  reason: not judged here\n"
		require.Empty(t, cmp.Diff(want, string(text)))

		again := baseline(t, string(text))
		require.Empty(t, cmp.Diff(b.Entries, again.Entries, cmpopts.EquateEmpty()))
		conformance.Apply(r, again, nil, noon)
		require.Zero(t, r.Broken())
		require.Zero(t, r.Unjudged())
		require.Empty(t, r.Stale)
	}
	fresh := conformance.Update(baseline(t, ""), judged(), baseline(t, "- check: id-echo\n- check: exit-on-eof\n"), noon)
	require.Empty(t, fresh.Entries, "what is flaky gets no entry")
	text, err := fresh.MarshalText()
	require.NoError(t, err)
	require.Contains(t, string(text), "# What goldwire check is known to find.")
	require.Empty(t, baseline(t, string(text)).Entries)
}

func TestParseBaselineRefuses(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no list":          {"check: id-echo\n", "known.yaml: "},
		"no YAML":          {"- check: [\n", "known.yaml: "},
		"unknown member":   {"- check: id-echo\n  untill: 2027-01-01\n", "untill"},
		"no check":         {"- reason: x\n", "known.yaml: [0].check: missing"},
		"a date":           {"- check: id-echo\n  until: soon\n", `known.yaml: [0].until: "soon" is no date`},
		"a date that isnt": {"- check: id-echo\n  until: 2026-02-30\n", `"2026-02-30" is no date`},
		"a revision":       {"- check: id-echo\n- check: a\n  revisions: [2025-01-01]\n", `known.yaml: [1].revisions: there is no revision "2025-01-01"`},
		"twice":            {"- check: id-echo\n- check: id-echo\n", "known.yaml: [1].check: id-echo has two entries"},
		"too long":         {strings.Repeat("#", 2<<20), "too many"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conformance.ParseBaseline("known.yaml", []byte(tt.text))
			var be *conformance.BaselineError
			require.ErrorAs(t, err, &be)
			require.ErrorContains(t, err, tt.want)
			require.Error(t, be.Unwrap())
		})
	}
	whole := "# why\n- check: id-echo\n  revisions: [2025-11-25]\n  until: 2027-01-31\n  reason: \"x: y\"\n"
	for i := range whole {
		_, _ = conformance.ParseBaseline("known.yaml", []byte(whole[:i])) // no panic
	}
}

func FuzzParseBaseline(f *testing.F) {
	f.Add("- check: id-echo\n  revisions: [2025-11-25]\n  until: 2027-01-31\n  reason: x\n")
	f.Add("[]")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := conformance.ParseBaseline("f", []byte(text))
		if err != nil {
			return
		}
		conformance.Apply(judged(), b, b, noon)
		out, err := conformance.Update(b, judged(), nil, noon).MarshalText()
		require.NoError(t, err)
		_, err = conformance.ParseBaseline("f", out)
		require.NoError(t, err, "%s", out)
	})
}
