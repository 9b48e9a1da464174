package conformance_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// mix is a session of n frames as a busy client and server exchange them: of
// ten, four are calls of a tool with 100 bytes of text and four their answers,
// one is progress and one a log message.
func mix(n int) *transcript.Recording {
	var b strings.Builder
	b.WriteString("goldwire-transcript: 1\n")
	b.WriteString(`> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":-1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":-1,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}}}}]}}
`)
	text := strings.Repeat("a", 100)
	for i := 0; i*10 < n; i++ {
		for j := range 4 {
			id := i*4 + j + 1
			token := ""
			if j == 3 {
				token = fmt.Sprintf(`,"_meta":{"progressToken":%d}`, id)
			}
			fmt.Fprintf(&b, `> {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"%s"}%s}}`+"\n", id, text, token)
			if j == 3 {
				fmt.Fprintf(&b, `< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}`+"\n", id)
				fmt.Fprintf(&b, `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%s"}}`+"\n", text)
			}
			fmt.Fprintf(&b, `< {"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", id, text)
		}
	}
	rec, err := transcript.Parse([]byte(b.String()))
	if err != nil {
		panic(err)
	}
	return rec
}

func benchmarkLint(b *testing.B, o conformance.LintOptions) {
	rec := mix(20_000)
	n := 0
	began := cpuTime()
	for b.Loop() {
		rep, err := conformance.Lint([]*transcript.Recording{rec}, o)
		require.NoError(b, err)
		require.NotEmpty(b, rep.Results)
		n += len(rec.Events)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "frames/s")
	if used := cpuTime() - began; used > 0 {
		b.ReportMetric(float64(n)/used.Seconds(), "frames/cpu-s") // what a machine with nothing else to do gives at least
	}
}

// What is kept of a recording while it is judged is of the size of its text.
func TestLintKeepsLittleBesideTheText(t *testing.T) {
	if raced > 1 {
		t.Skip("the race detector keeps much itself")
	}
	live := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := live()
	recs := []*transcript.Recording{mix(20_000)}
	text := uint64(len(recs[0].String()))
	var most uint64
	n := 0
	o := conformance.LintOptions{NoSchema: true}
	o.Progress = func(conformance.Progress) {
		if n++; n%40 == 0 {
			most = max(most, live())
		}
	}
	rep, err := conformance.Lint(recs, o)
	require.NoError(t, err)
	require.NotEmpty(t, rep.Results)
	require.Nil(t, recs[0], "the recording can be freed")
	require.Less(t, (most-before)/text, uint64(5), "%d bytes of text, %d bytes beside what was there", text, most-before)
}

// BenchmarkLint judges the mix by all checks, which compare each result and each
// message with its schema, and by those alone that do not.
func BenchmarkLint(b *testing.B) {
	for _, side := range []catalogue.Side{catalogue.Server, catalogue.Client} {
		b.Run("side="+string(side), func(b *testing.B) {
			b.Run("schema", func(b *testing.B) { benchmarkLint(b, conformance.LintOptions{Side: side}) })
			b.Run("no-schema", func(b *testing.B) { benchmarkLint(b, conformance.LintOptions{Side: side, NoSchema: true}) })
		})
	}
}
