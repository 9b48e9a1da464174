package client_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
)

// TestClientRequirementsAreCovered holds that checks judge what the catalogue
// calls active or passive for clients, but for what is listed here with the
// reason.
func TestClientRequirementsAreCovered(t *testing.T) {
	covered := map[string]bool{}
	for _, k := range client.All() {
		for _, rev := range check.Revisions() {
			for _, r := range k.Bound(rev, catalogue.Any) {
				covered[rev+" "+r.ID] = true
			}
		}
	}
	for _, rev := range check.Revisions() {
		total, missing := 0, []string{}
		for r := range catalogue.Select(rev, catalogue.Client) {
			if r.Observe != catalogue.Active && r.Observe != catalogue.Passive {
				continue
			}
			total++
			if !covered[rev+" "+r.ID] {
				missing = append(missing, r.ID)
			}
		}
		t.Logf("%s: %d of %d, missing %s", rev, total-len(missing), total, strings.Join(missing, " "))
		require.LessOrEqual(t, len(missing)*20, total)
	}
}

func TestChecksAreWellFormed(t *testing.T) {
	var ids []string
	for _, k := range client.All() {
		require.Equal(t, catalogue.Client, k.Side, k.ID)
		require.Regexp(t, `^client-[a-z0-9-]+$`, k.ID)
		require.NotEmpty(t, k.Title, k.ID)
		require.NotContains(t, ids, k.ID)
		ids = append(ids, k.ID)
		bound := 0
		for _, id := range k.Requirements {
			r, ok := catalogue.Lookup(id)
			require.True(t, ok, "%s: %s", k.ID, id)
			require.NotEqual(t, catalogue.Server, r.Side, "%s: %s", k.ID, id)
			bound++
		}
		require.Positive(t, bound, k.ID)
		require.NotNil(t, k.Judge, k.ID)
		applies := slices.ContainsFunc(check.Revisions(), func(rev string) bool { return k.Applies(rev, catalogue.Any) })
		require.True(t, applies, k.ID)
	}
	var names []string
	for _, s := range client.Scripts() {
		require.Regexp(t, `^[a-z0-9-]+$`, s.Name)
		require.NotContains(t, names, s.Name)
		require.NotEmpty(t, s.About, s.Name)
		names = append(names, s.Name)
	}
}
