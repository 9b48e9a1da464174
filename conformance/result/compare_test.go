package result_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
)

func TestCompareSaysWhichWayItTurned(t *testing.T) {
	turns := map[[2]result.Verdict]result.Turn{
		{result.Pass, result.Fail}: result.Worse, {result.Fail, result.Pass}: result.Better,
		{result.Pass, result.Warn}: result.Worse, {result.Warn, result.Pass}: result.Better,
		{result.Warn, result.Fail}: result.Worse, {result.Fail, result.Warn}: result.Better,
		{result.NotApplicable, result.Fail}: result.Worse, {"", result.Fail}: result.Worse, {result.Blocked, result.Fail}: result.Worse,
		{"", result.Warn}: result.Worse, {result.NotObserved, result.Warn}: result.Worse,
		{result.Pass, result.Blocked}: result.Worse, {result.Pass, result.Error}: result.Worse,
		{result.Blocked, result.Pass}: result.Better, {result.Error, result.Pass}: result.Better,
		{result.Fail, result.Blocked}: result.Other, {result.Fail, result.NotObserved}: result.Other, {result.Fail, ""}: result.Other,
		{result.Warn, result.NotApplicable}: result.Other, {result.Pass, result.NotApplicable}: result.Other,
		{result.NotObserved, result.Pass}: result.Other, {"", result.Pass}: result.Other, {result.Pass, ""}: result.Other,
	}
	report := func(v result.Verdict, revs ...string) *result.Report {
		r := &result.Report{Revisions: revs}
		for _, rev := range revs {
			r.Results = append(r.Results, result.Check{ID: "same", Revision: rev, Verdict: result.Pass})
			if v != "" {
				r.Results = append(r.Results, result.Check{ID: "x", Revision: rev, Verdict: v, Observed: "seen", Sentence: "It holds."})
			}
		}
		return r
	}
	for pair, want := range turns {
		c := result.Compare(report(pair[0], "2025-11-25"), report(pair[1], "2025-11-25"))
		require.Len(t, c.Changes, 1, "%v", pair)
		require.Equal(t, want, c.Changes[0].Turn, "%v", pair)
		require.Equal(t, 1, c.Counts[want])
		require.Equal(t, 1, c.Same)
		require.Equal(t, "It holds.", c.Changes[0].Sentence)
	}
	c := result.Compare(report(result.Pass, "2025-06-18", "2025-11-25"), report(result.Fail, "2025-11-25", "2026-07-28"))
	require.Equal(t, []string{"2025-06-18", "2026-07-28"}, c.Apart)
	require.Len(t, c.Changes, 1, "a revision that only one judges is not compared")
	require.Equal(t, "seen", c.Changes[0].Detail)
	require.Equal(t, 2, c.Paired)
	require.Zero(t, result.Compare(report(result.Pass, "2025-06-18"), report(result.Pass, "2025-11-25")).Paired)
	over := report(result.Pass, "2025-11-25")
	for i := range over.Results {
		over.Results[i].Transport = "http"
	}
	require.Zero(t, result.Compare(over, report(result.Pass, "2025-11-25")).Paired)
}

func TestCoverageCountsWhatWasExercised(t *testing.T) {
	r := &result.Report{Target: result.Target{Side: "server"}, Revisions: []string{"2025-06-18", "2025-11-25"}}
	require.Empty(t, r.Coverage())
	add := func(rev, id string, v result.Verdict) {
		r.Results = append(r.Results, result.Check{ID: id, Revision: rev, Transport: "stdio", Requirements: []string{"legacy/" + id}, Verdict: v})
	}
	add("2025-11-25", "ping-answered", result.Pass)
	add("2025-11-25", "id-echo", result.NotObserved)
	add("2025-06-18", "no-such-rule", result.Pass)
	got := r.Coverage()
	require.Len(t, got, 2)
	require.Equal(t, "2025-06-18", got[0].Revision)
	require.Zero(t, got[0].Exercised)
	require.Equal(t, 1, got[1].Exercised)
	require.Greater(t, got[1].Must, 50)
	add("2025-11-25", "ping-answered", result.Fail)
	require.Equal(t, 1, r.Coverage()[1].Exercised, "a requirement counts once")
	r.Results[0].Verdict, r.Results[3].Verdict = result.NotObserved, result.Blocked
	require.Zero(t, r.Coverage()[1].Exercised)
}
