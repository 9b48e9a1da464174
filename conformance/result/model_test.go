package result_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestSummaryHasEveryVerdict(t *testing.T) {
	r := &result.Report{Results: []result.Check{{Verdict: result.Pass}, {Verdict: result.Fail}, {Verdict: result.Fail}}}
	require.Equal(t, result.Summary{
		result.Pass: 1, result.Fail: 2, result.Warn: 0, result.NotApplicable: 0, result.NotObserved: 0, result.Blocked: 0, result.Error: 0,
	}, r.Summary())
	require.Len(t, result.Verdicts, len((&result.Report{}).Summary()))
}

func TestDescribeTakesTheFirstKnownRequirement(t *testing.T) {
	q, ok := catalogue.Lookup("legacy/tools-unknown-tool")
	require.True(t, ok)
	c := result.Check{Revision: "2025-06-18", Requirements: []string{"legacy/no-such-rule", q.ID, "legacy/ping-answered"}}
	c.Describe()
	require.Equal(t, q.Sentence, c.Sentence)
	require.Equal(t, q.URL("2025-06-18"), c.URL)
	require.Equal(t, q.Level, c.Level)

	c = result.Check{Level: "MAY", Requirements: []string{q.ID}}
	c.Describe()
	require.EqualValues(t, "MAY", c.Level, "a level that is set stays")

	c = result.Check{Requirements: []string{"legacy/no-such-rule"}}
	c.Describe()
	require.Empty(t, c.Sentence+c.URL+string(c.Level))
}

func TestAround(t *testing.T) {
	rec := &transcript.Recording{}
	for _, s := range []string{"a", "b", "c", "d"} {
		rec.Events = append(rec.Events, transcript.Event{Dir: transcript.ToServer, Data: []byte(s)})
	}
	require.Equal(t, []result.Frame{{Text: "> a"}, {Text: "> b", Here: true}, {Text: "> c"}}, result.Around(rec, 1, 1, 1))
	require.Equal(t, []result.Frame{{Text: "> a", Here: true}}, result.Around(rec, 0, 5, 0))
	require.Equal(t, []result.Frame{{Text: "> c"}, {Text: "> d", Here: true}}, result.Around(rec, 3, 1, 9))
	require.Nil(t, result.Around(rec, 4, 1, 1))
	require.Nil(t, result.Around(rec, -1, 1, 1))
	require.Nil(t, result.Around(nil, 0, 1, 1))
}
