package result_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestAroundLeavesStderrOutUnlessTheTargetEnded(t *testing.T) {
	const head = "goldwire-transcript: 1\nrevision: 2025-11-25\n"
	for name, tt := range map[string]struct {
		text string
		at   int
		want []string
	}{
		"frames on both sides": {
			text: "> {\"a\":1}\n! stderr one\n< {\"b\":1}\n! stderr two\n> {\"c\":1}\n< {\"d\":1}\n",
			at:   2, want: []string{`> {"a":1}`, `< {"b":1}`, `> {"c":1}`},
		},
		"times in milliseconds": {
			text: ">@81.234567ms {\"a\":1}\n<@1002.9ms {\"b\":1}\n",
			at:   0, want: []string{`>@81ms {"a":1}`, `<@1002ms {"b":1}`},
		},
		"a target that ended": {
			text: "> {\"a\":1}\n! stderr 1\n! stderr 2\n! stderr 3\n! stderr 4\n! exit 2\n",
			at:   0, want: []string{`> {"a":1}`, "! stderr 2", "! stderr 3", "! stderr 4", "! exit 2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := transcript.Parse([]byte(head + tt.text))
			require.NoError(t, err)
			var got []string
			for _, f := range result.Around(rec, tt.at, 1, 1) {
				got = append(got, f.Text)
			}
			require.Equal(t, tt.want, got)
		})
	}
	require.Empty(t, result.Around(nil, 0, 1, 1))
}
