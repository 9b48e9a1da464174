package sse

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestReportedCases plays failures that were reported of other readers of event
// streams, by the names they have in our collection. Each stream comes in the
// given chunks, and again byte by byte.
func TestReportedCases(t *testing.T) {
	answer := `{"jsonrpc":"2.0","id":1,"result":{}}`
	big := strings.Repeat("x", 1_258_291) // 1.2 MiB
	for _, c := range []struct {
		id     string
		chunks []string
		want   []string // type and data
		cut    bool     // the end comes within an event
	}{
		{"utf8-split-across-chunks", []string{"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"x\":\"\xe4\xb8", "\xad\"}}\n\n"}, []string{`message {"jsonrpc":"2.0","id":1,"result":{"x":"中"}}`}, false},
		{"sse-event-1MiB-python-v2", []string{"data: " + big + "\n\n"}, []string{"message " + big}, false},
		{"sse-cap-differs-by-line-and-event", []string{"data: " + big[:200<<10] + "\n\n"}, []string{"message " + big[:200<<10]}, false},
		{"sse-cap-differs-by-line-and-event", []string{"data: " + big[:100<<10] + "\ndata: " + big[:100<<10] + "\n\n"}, []string{"message " + big[:100<<10] + "\n" + big[:100<<10]}, false},
		{"sse-crlf-split-across-chunks", []string{"event: endpoint\r", "\ndata: /m?s=1\r", "\n\r\n"}, []string{"endpoint /m?s=1"}, false},
		{"sse-cr-only-and-mixed", []string{"data: 1\rdata: 2\r\n"}, nil, true},
		{"sse-cr-only-and-mixed", []string{"data: 1\rdata: 2\r\r"}, []string{"message 1\n2"}, false},
		{"sse-event-without-event-field", []string{"data: " + answer + "\n\n"}, []string{"message " + answer}, false},
		{"sse-comment-line-is-an-error", []string{": keep-alive\n\ndata: " + answer + "\n\n"}, []string{"message " + answer}, false},
		{"sse-empty-data-priming-event", []string{"id: 0\nretry: 3000\ndata:\n\ndata: " + answer + "\n\n"}, []string{"message ", "message " + answer}, false},
		{"splitlines-on-jsonl-and-sse", []string{"data: {\"s\":\"a\xc2\x85b\xe2\x80\xa8c\"}\n\n"}, []string{"message {\"s\":\"a\u0085b\u2028c\"}"}, false},
	} {
		t.Run(c.id, func(t *testing.T) {
			var parts []io.Reader
			for _, chunk := range c.chunks {
				parts = append(parts, strings.NewReader(chunk))
			}
			for _, src := range []io.Reader{io.MultiReader(parts...), &chunks{[]byte(strings.Join(c.chunks, "")), 1}} {
				events, err := all(t, NewReader(src, 0))
				var got []string
				for _, e := range events {
					got = append(got, e.Type+" "+e.Data)
				}
				require.True(t, cmp.Equal(c.want, got))
				if c.cut {
					require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				} else {
					require.Equal(t, io.EOF, err)
				}
			}
		})
	}
}
