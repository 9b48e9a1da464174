package revision_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/spec"
)

// TestOrder holds the order equal to that of the specification's files, and
// the questions about it consistent.
func TestOrder(t *testing.T) {
	all := revision.All()
	require.Equal(t, spec.Revisions(), all, "give each revision of spec/ a constant and a row here, and move Latest")
	require.True(t, slices.IsSorted(all), "names are dates")
	require.Equal(t, revision.Latest, all[len(all)-1])
	for i, a := range all {
		require.True(t, revision.Known(a))
		require.Equal(t, i, revision.Index(a))
		for j, b := range all {
			require.Equal(t, i < j, revision.Compare(a, b) < 0)
			require.Equal(t, i > j, revision.Compare(a, b) > 0)
		}
		require.Negative(t, revision.Compare("2030-01-01", a))
		r, ok := revision.For(a)
		require.True(t, ok)
		require.Equal(t, a, r.Revision)
	}
	require.Equal(t, all, append(revision.Stateful(), revision.Stateless()...))
	require.Equal(t, revision.V20251125, revision.LatestStateful())
	for _, name := range []string{"", "2026-06-18", "2025-11-25 ", "draft"} {
		require.False(t, revision.Known(name))
		r, ok := revision.For(name)
		require.False(t, ok)
		require.Equal(t, revision.LatestStateful(), r.Revision)
	}
	all[0] = "changed"
	require.Equal(t, revision.V20241105, revision.All()[0], "the slice is the caller's")
}

// TestRules holds what follows from what in the table.
func TestRules(t *testing.T) {
	for _, name := range revision.All() {
		r, _ := revision.For(name)
		require.Equal(t, r.Stateless, !r.Ping, name)
		require.Equal(t, r.Stateless, !r.ServerRequests, name)
		require.Equal(t, r.Stateless, r.Listen, name)
		require.Equal(t, r.Stateless, r.HTTP.MethodHeaders, name)
		require.Equal(t, r.Batch, name == revision.V20250326)
		require.False(t, r.HTTP.TwoEndpoints && r.HTTP.Sessions, name)
		require.False(t, r.Stateless && (r.HTTP.Sessions || r.HTTP.GetStream || r.HTTP.Resume), name)
	}
}

// TestLike holds that a name that is none gets the rules of the newest revision of its kind, and a known one its own.
func TestLike(t *testing.T) {
	for _, name := range revision.All() {
		want, _ := revision.For(name)
		require.Same(t, want, revision.Like(name, true))
		require.Same(t, want, revision.Like(name, false))
	}
	for stateless, base := range map[bool]string{false: revision.LatestStateful(), true: revision.V20260728} {
		got := revision.Like("2031-05-06", stateless)
		want, _ := revision.For(base)
		require.Equal(t, "2031-05-06", got.Revision)
		require.Equal(t, base, want.Revision, "the table stays as it is")
		copied := *want
		copied.Revision = "2031-05-06"
		require.Equal(t, copied, *got)
	}
}
