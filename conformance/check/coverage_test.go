package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
)

// TestCoverageIsThatOfTheRegistry holds, for each requirement on each side and
// in each revision, that the checks told are those of the registry, or that a
// reason is told.
func TestCoverageIsThatOfTheRegistry(t *testing.T) {
	told := map[string]check.Coverage{}
	for _, e := range check.Entries(check.All(), "", "") {
		for _, c := range e.Coverage {
			require.NotEqual(t, catalogue.Both, c.Side)
			for _, rev := range c.Revisions {
				require.True(t, e.Applies(rev, c.Side), "%s binds no %s in %s", e.ID, c.Side, rev)
				key := e.ID + " " + rev + " " + string(c.Side)
				require.NotContains(t, told, key)
				told[key] = c
			}
		}
	}
	bound := map[string][]string{} // checks, by requirement and revision
	for _, k := range check.All() {
		for _, rev := range check.Revisions() {
			for _, q := range k.Bound(rev, catalogue.Any) {
				if key := q.ID + " " + rev; !slices.Contains(bound[key], k.ID) {
					bound[key] = append(bound[key], k.ID)
				}
			}
		}
	}
	for r := range catalogue.All() {
		for _, rev := range check.Revisions() {
			for _, side := range []catalogue.Side{catalogue.Server, catalogue.Client} {
				if !r.Applies(rev, side) {
					continue
				}
				var want []string
				if side == catalogue.Server {
					want = bound[r.ID+" "+rev]
				}
				key := r.ID + " " + rev + " " + string(side)
				require.Contains(t, told, key)
				got := told[key]
				delete(told, key)
				require.Equal(t, want, got.Checks, key)
				require.Equal(t, len(want) > 0, got.Status == check.StatusCovered, key)
				require.Equal(t, len(want) == 0, got.Reason != "", "%s: want a reason where no check is, and only there", key)
				switch got.Status {
				case check.StatusOpen:
					require.Contains(t, []catalogue.Observe{catalogue.Active, catalogue.Passive}, r.Observe, key)
					require.Equal(t, "no check yet", got.Reason, key)
				case check.StatusFixture:
					require.True(t, r.Needs(), key)
					require.Equal(t, r.Why, got.Reason, key)
				case check.StatusHidden:
					require.Equal(t, r.Why, got.Reason, key)
				}
			}
		}
	}
	require.Empty(t, told)
}

// TestNoReasonIsOutOfDate holds that a requirement which is said to be out of
// reach is not judged everywhere after all.
func TestNoReasonIsOutOfDate(t *testing.T) {
	for _, e := range check.Entries(check.All(), "", "") {
		if e.Observe == catalogue.Active || e.Observe == catalogue.Passive {
			require.False(t, e.Why != "" && e.Covered(), "%s is judged: take its reason out", e.ID)
		}
		require.False(t, e.Observe == catalogue.NotObservable && e.Covered(), "%s is judged: it can be seen", e.ID)
	}
}

func TestEntriesOfOneRevisionAndSide(t *testing.T) {
	n := 0
	for _, e := range check.Entries(check.All(), "2025-11-25", catalogue.Client) {
		require.Len(t, e.Coverage, 1, e.ID)
		require.Equal(t, catalogue.Client, e.Coverage[0].Side)
		require.Equal(t, []string{"2025-11-25"}, e.Coverage[0].Revisions)
		n++
	}
	require.Equal(t, 179, n)
	require.Empty(t, check.Entries(check.All(), "1999-01-01", ""))
}

func TestTalliesAddUp(t *testing.T) {
	all := map[string]int{}
	for _, tally := range check.Tallies(check.Entries(check.All(), "", "")) {
		sum := 0
		for _, s := range check.Statuses {
			sum += tally.Status[s]
		}
		all[tally.Revision+" "+string(tally.Side)] = sum
		require.GreaterOrEqual(t, tally.Status[check.StatusCovered], tally.Judged)
		require.GreaterOrEqual(t, tally.Judgeable, tally.Judged)
		require.LessOrEqual(t, tally.Judgeable-tally.Judged, tally.Status[check.StatusOpen]+tally.Status[check.StatusFixture]+tally.Status[check.StatusHidden])
	}
	require.Equal(t, map[string]int{
		"2024-11-05 server": 121, "2024-11-05 client": 79, "2025-03-26 server": 166, "2025-03-26 client": 115, "2025-06-18 server": 181,
		"2025-06-18 client": 126, "2025-11-25 server": 236, "2025-11-25 client": 179, "2026-07-28 server": 351, "2026-07-28 client": 198,
	}, all)
	one := check.Tallies(check.Entries(check.All(), "2026-07-28", catalogue.Server))
	require.Len(t, one, 1)
	require.Equal(t, 292, one[0].Judgeable)
}
