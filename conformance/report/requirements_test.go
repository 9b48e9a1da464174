package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
)

// listed are two entries that have all there is to print.
func listed() []check.Entry {
	return []check.Entry{
		{
			Requirement: catalogue.Requirement{
				ID: "legacy/version-offered", Level: catalogue.Must, Side: catalogue.Both, Transport: catalogue.Any, Since: "2024-11-05", Until: "2025-11-25",
				Basis: catalogue.Keyword, Observe: catalogue.Active, Page: "basic/lifecycle#version-negotiation",
				Sentence: "Who opens a session offers a version, and who is asked answers with that one or with another that it speaks.",
			},
			Coverage: []check.Coverage{
				{Side: catalogue.Server, Revisions: []string{"2024-11-05", "2025-03-26"}, Status: check.StatusCovered, Checks: []string{"version-echo", "version-other"}},
				{Side: catalogue.Client, Revisions: []string{"2025-03-26"}, Status: check.StatusOpen, Reason: "no check yet"},
			},
		},
		{
			Requirement: catalogue.Requirement{
				ID: "modern/a-name-that-is-longer-than-the-column-of-the-names", Level: catalogue.ShouldNot, Side: catalogue.Client, Transport: catalogue.HTTP,
				Since: "2026-07-28", Until: "2026-07-28", Basis: catalogue.Implied, Observe: catalogue.NeedsFixture, Page: "basic/index#top",
				Sentence: "No more.", Why: "needs a client",
			},
			Coverage: []check.Coverage{{Side: catalogue.Client, Revisions: []string{"2026-07-28"}, Status: check.StatusFixture, Reason: "needs a client"}},
		},
	}
}

func TestRequirements(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Requirements(&b, listed(), "", TextOptions{}))
	require.Equal(t, `requirement            level      side   over  state
legacy/version-offered MUST       both   any   partly
  Who opens a session offers a version, and who is asked answers with that one
  or with another that it speaks.
  2024-11-05…2025-11-25
  https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation
  server 2024-11-05…2025-03-26, covered by version-echo, version-other
  client 2025-03-26, open: no check yet

modern/a-name-that-is-longer-than-the-column-of-the-names
                       SHOULD NOT client http  fixture
  No more.
  2026-07-28 https://modelcontextprotocol.io/specification/2026-07-28/basic
  fixture: needs a client

2 requirements: 1 fixture, 1 partly
`, b.String())

	b.Reset()
	require.NoError(t, Requirements(&b, nil, "", TextOptions{}))
	require.Equal(t, "no requirement is of that kind\n", b.String())
}

// TestRequirementsFitTheTerminal holds that no line but that of a URL or a long
// id is wider than was asked for.
func TestRequirementsFitTheTerminal(t *testing.T) {
	for _, width := range []int{0, 40, 80, 200} {
		var b bytes.Buffer
		require.NoError(t, Requirements(&b, check.Entries(check.All(), "", ""), "", TextOptions{Width: width}))
		want := width
		switch {
		case width == 0:
			want = 80
		case width > 100:
			want = 100
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if strings.Contains(line, "https://") || !strings.HasPrefix(line, "  ") || width == 40 && strings.HasPrefix(line, "     ") {
				continue // cannot be broken, or is a row of the table
			}
			require.LessOrEqual(t, utf8.RuneCountInString(line), want, line)
		}
		for line := range strings.Lines(b.String()) {
			if width != 40 && (strings.HasPrefix(line, "legacy/") || strings.HasPrefix(line, "modern/")) {
				require.LessOrEqual(t, utf8.RuneCountInString(line), 81, line) // the newline counts
			}
		}
	}
}

func TestRequirementsJSON(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, RequirementsJSON(&b, listed(), "2025-03-26"))
	var got []map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, map[string]any{
		"id": "legacy/version-offered", "level": "MUST", "side": "both", "transport": "any", "since": "2024-11-05", "until": "2025-11-25",
		"basis": "keyword", "observe": "active",
		"requirement": "Who opens a session offers a version, and who is asked answers with that one or with another that it speaks.",
		"spec":        "https://modelcontextprotocol.io/specification/2025-03-26/basic/lifecycle#version-negotiation",
		"coverage": []any{
			map[string]any{"side": "server", "revisions": []any{"2024-11-05", "2025-03-26"}, "status": "covered", "checks": []any{"version-echo", "version-other"}},
			map[string]any{"side": "client", "revisions": []any{"2025-03-26"}, "status": "open", "reason": "no check yet"},
		},
	}, got[0])
	b.Reset()
	require.NoError(t, RequirementsJSON(&b, nil, ""))
	require.Equal(t, "[]\n", b.String())
}

func TestRequirementsSummary(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, RequirementsSummary(&b, listed(), TextOptions{}))
	rows := strings.Split(b.String(), "\n")
	require.Equal(t, []string{
		"revision    side      all  covered  open  fixture  hidden  active or passive",
		"2024-11-05  server      1        1     0        0       0  1 of 1, 100%",
		"2025-03-26  server      1        1     0        0       0  1 of 1, 100%",
		"2025-03-26  client      1        0     1        0       0  0 of 1, 0%",
		"2026-07-28  client      1        0     0        1       0  none",
		"",
	}, rows[:6])

	b.Reset()
	require.NoError(t, RequirementsSummaryJSON(&b, listed()[:1]))
	var got []map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Len(t, got, 3)
	require.Equal(t, map[string]any{
		"revision": "2025-03-26", "side": "client", "covered": 0.0, "open": 1.0, "fixture": 0.0, "hidden": 0.0, "judgeable": 1.0, "judged": 0.0,
	}, got[2])
	b.Reset()
	require.NoError(t, RequirementsSummaryJSON(&b, nil))
	require.Equal(t, "[]\n", b.String())
}
