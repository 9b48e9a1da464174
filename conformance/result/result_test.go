package result

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestSummaryHasEveryVerdict(t *testing.T) {
	r := &Report{Results: []Check{{Verdict: Pass}, {Verdict: Fail}, {Verdict: Fail}}}
	require.Equal(t, Summary{Pass: 1, Fail: 2, Warn: 0, NotApplicable: 0, NotObserved: 0, Blocked: 0, Error: 0}, r.Summary())
	require.Len(t, Verdicts, len((&Report{}).Summary()))
}

func TestDescribeTakesTheFirstKnownRequirement(t *testing.T) {
	q, ok := catalogue.Lookup("legacy/tools-unknown-tool")
	require.True(t, ok)
	c := Check{Revision: "2025-06-18", Requirements: []string{"legacy/no-such-rule", q.ID, "legacy/ping-answered"}}
	c.Describe()
	require.Equal(t, q.Sentence, c.Sentence)
	require.Equal(t, q.URL("2025-06-18"), c.URL)
	require.Equal(t, q.Level, c.Level)

	c = Check{Level: "MAY", Requirements: []string{q.ID}}
	c.Describe()
	require.EqualValues(t, "MAY", c.Level, "a level that is set stays")

	c = Check{Requirements: []string{"legacy/no-such-rule"}}
	c.Describe()
	require.Empty(t, c.Sentence+c.URL+string(c.Level))
}

func TestAround(t *testing.T) {
	rec := &transcript.Recording{}
	for _, s := range []string{"a", "b", "c", "d"} {
		rec.Events = append(rec.Events, transcript.Event{Dir: transcript.ToServer, Data: []byte(s)})
	}
	require.Equal(t, []Frame{{Text: "> a"}, {Text: "> b", Here: true}, {Text: "> c"}}, Around(rec, 1, 1, 1))
	require.Equal(t, []Frame{{Text: "> a", Here: true}}, Around(rec, 0, 5, 0))
	require.Equal(t, []Frame{{Text: "> c"}, {Text: "> d", Here: true}}, Around(rec, 3, 1, 9))
	require.Nil(t, Around(rec, 4, 1, 1))
	require.Nil(t, Around(rec, -1, 1, 1))
	require.Nil(t, Around(nil, 0, 1, 1))
}
