package check

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// junk are lines that a server may add as often as it likes; %d is a number
// that was not used before.
var junk = []string{
	`{"jsonrpc":"2.0","id":"junk-%d","result":{}}`,
	`{"jsonrpc":"2.0","id":1,"result":{"n":%d}}`,
	`{"jsonrpc":"2.0","error":{"code":-32600,"message":"%d"}}`,
	`{"jsonrpc":"2.0","id":"junk-%d","method":"roots/list"}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"junk-%d","progress":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:%d","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
	`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"n":%d,"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
	`[{"jsonrpc":"2.0","id":"junk-%d","result":{}}]`,
	`{"jsonrpc":%d`,
	`{"jsonrpc":{"%d":}`,
}

// TestJudgingIsLinear holds that a check looks at each line a few times at
// most, whatever a server adds to its answers.
func TestJudgingIsLinear(t *testing.T) {
	var s checktest.Server
	good := Pipe{Serve: func(ctx context.Context, in io.Reader, out, errs io.Writer) Exit {
		return Exit{Code: s.Serve(ctx, in, out, errs)}
	}}
	for _, rev := range []string{lastLegacy, firstModern} {
		var traces, offers []*Trace
		synctest.Test(t, func(t *testing.T) {
			x, err := Explore(t.Context(), good, Limits{})
			require.NoError(t, err)
			offers = x.Traces
			traces, err = Drive(t.Context(), good, DriveOptions{Revision: rev, Probes: Probes()})
			require.NoError(t, err)
		})
		frames, work := map[int]int64{}, map[int]map[string]int64{}
		for _, n := range []int{1, 4} {
			ours, theirs := spoil(traces, n), spoil(offers, n)
			all := slices.Concat(ours, theirs)
			for _, tr := range all {
				frames[n] += int64(len(tr.frames))
			}
			looked := func() (sum int64) {
				for _, tr := range all {
					sum += tr.looked.Load()
				}
				return sum
			}
			work[n] = map[string]int64{}
			facts := FactsOf(rev, ours)
			for _, k := range All() {
				if k.Applies(rev, catalogue.Stdio) {
					before := looked()
					k.Verdict(rev, catalogue.Stdio, facts, ours, theirs)
					work[n][k.ID] = looked() - before
				}
			}
		}
		for id, few := range work[1] {
			// What grows with the square is far above this.
			require.LessOrEqual(t, work[4][id], 5*few+frames[4], "%s looked at %d lines where there are %d", id, work[4][id], frames[4])
			require.LessOrEqual(t, work[4][id], 30*frames[4], "%s looked at %d lines where there are %d", id, work[4][id], frames[4])
		}
	}
}

// TestJudgingRecordingsIsLinear holds the same for traffic that checks look up
// in another way than line by line.
func TestJudgingRecordingsIsLinear(t *testing.T) {
	const n = 500
	tool := func(arguments, blocks string) string {
		return `! probe call
> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"l":[` + arguments + `]}}}
< {"jsonrpc":"2.0","id":1,"result":{"content":[` + blocks + `]}}
`
	}
	list := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	for name, text := range map[string]func(n int) string{
		"free text": func(n int) string {
			return strings.Repeat(">x \"\\xfe\"\n!x stderr \"\\xff\"\n", n)
		},
		"answered posts": func(n int) string {
			return posts(n, `<<%d 200
<%[1]d {"jsonrpc":"2.0","id":%[1]d,"result":{}}
`)
		},
		"posts without answers": func(n int) string { return posts(n, "<<%d 202\n<<%[1]d end\n") },
		"blocks of images": func(n int) string {
			return tool(list(n, `"x"`), list(n, `{"type":"image","data":"AA==","mimeType":"a/b"}`))
		},
		"blocks of links": func(n int) string {
			return tool(list(n, `"x"`), list(n, `{"type":"resource_link","uri":"a:b","name":"a"}`))
		},
		"resources that are embedded": func(n int) string {
			return tool(list(n, `"x"`), list(n, `{"type":"resource","resource":{"uri":"a:b","blob":"AA=="}}`))
		},
	} {
		for _, rev := range []string{lastLegacy, firstModern} {
			t.Run(name+" "+rev, func(t *testing.T) {
				looked := func(n int) map[string]int64 {
					lines := text(n)
					over := catalogue.Stdio
					head := "goldwire-transcript: 1\nrevision: " + rev + "\n"
					if strings.HasPrefix(lines, ">>") {
						over = catalogue.HTTP
						head += "transport: http\n"
					}
					rec, err := transcript.Parse([]byte(head + lines))
					require.NoError(t, err)
					tr := NewTrace(rec)
					traces := []*Trace{tr}
					facts := FactsOf(rev, traces)
					out := map[string]int64{}
					for _, k := range All() {
						if k.Applies(rev, over) {
							before := tr.looked.Load()
							k.Verdict(rev, over, facts, traces, nil)
							out[k.ID] = tr.looked.Load() - before
						}
					}
					return out
				}
				few, many := looked(n), looked(4*n)
				for id := range many {
					require.LessOrEqual(t, many[id], 5*few[id]+n, "%s looked %d times where there are four times as many lines, before %d times", id, many[id], few[id])
				}
			})
		}
	}
}

// posts are n requests that are posted, and what becomes of each.
func posts(n int, answer string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ">>%d POST /mcp\n>%[1]d {\"jsonrpc\":\"2.0\",\"id\":%[1]d,\"method\":\"ping\"}\n", i+1)
		fmt.Fprintf(&b, answer, i+1)
	}
	return b.String()
}

// spoil adds n lines of each kind of junk after every fourth line of the client.
func spoil(traces []*Trace, n int) []*Trace {
	var out []*Trace
	num := 0
	for _, tr := range traces {
		rec := &transcript.Recording{Fields: tr.Recording.Fields}
		sent := 0
		for _, e := range tr.Recording.Events {
			rec.Events = append(rec.Events, e)
			if e.Dir != transcript.ToServer {
				continue
			}
			if sent++; sent%4 != 0 {
				continue
			}
			for range n {
				for _, line := range junk {
					num++
					rec.Events = append(rec.Events, transcript.Event{Dir: transcript.ToClient, At: e.At, Timed: e.Timed, Data: fmt.Appendf(nil, line, num)})
				}
			}
		}
		out = append(out, NewTrace(rec))
	}
	return out
}

// TestArraysAreBounded holds that a line of many small members does not become
// many times its size.
func TestArraysAreBounded(t *testing.T) {
	rec := &transcript.Recording{}
	text := []byte("[0")
	for range 3 * maxMembers {
		text = append(text, ",0"...)
	}
	rec.Events = append(rec.Events, transcript.Event{Dir: transcript.ToClient, Data: append(text, ']')})
	require.Len(t, NewTrace(rec).frames[0].parts(), maxMembers)
}
