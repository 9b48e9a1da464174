package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/wire"
)

type message interface {
	wire.Decoder
	wire.Appender
}

// benchMessages are the five messages that speed is measured with, as they
// stand inside their envelopes, and the most allocations that reading one may
// cost when strings alias the message.
func benchMessages() []struct {
	name   string
	text   string
	typed  func() message
	allocs float64
} {
	var tools []string
	for i := range 50 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","title":"Tool %d","description":"Searches the index number %d and returns the ranked matches with their scores.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100,"default":25},`+
			`"tags":{"type":"array","items":{"type":"string","enum":["finance","legal","hr"]}}},"required":["query"]},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`, i, i, i))
	}
	return []struct {
		name   string
		text   string
		typed  func() message
		allocs float64
	}{
		{"call", `{"name":"search_documents","arguments":{"query":"quarterly revenue \"EMEA\"","limit":25,"filters":{"year":2026,"tags":["finance","q3"]},"drafts":false},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}`,
			func() message { return new(mcp.CallToolParams) }, 3},
		{"result", `{"resultType":"complete","content":[{"type":"text","text":"Found 3 matches in 2 files"},{"type":"text","text":"main.go:12: func main() {\n\tfmt.Println(\"hi\")\n}",` +
			`"annotations":{"audience":["user"],"priority":0.5}},{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}],` +
			`"structuredContent":{"matches":3,"files":["main.go","util.go"]},"isError":false}`,
			func() message { return new(mcp.CallToolResult) }, 12},
		{"progress", `{"progressToken":"tok-1234567","progress":42.5,"total":100,"message":"Indexing chunk 425 of 1000"}`,
			func() message { return new(mcp.ProgressParams) }, 4},
		{"tools-50", `{"resultType":"complete","tools":[` + strings.Join(tools, ",") + `],"ttlMs":0,"cacheScope":"public"}`, func() message { return new(mcp.ListToolsResult) }, 90},
		{"text-10KiB", `{"resultType":"complete","content":[{"type":"text","text":"` + strings.Repeat("the quick brown fox jumps over the lazy dog ", 233) + `"}]}`,
			func() message { return new(mcp.CallToolResult) }, 4},
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, m := range benchMessages() {
		for _, alias := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/alias=%v", m.name, alias), func(b *testing.B) {
				text, o := []byte(m.text), wire.Options{Alias: alias}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if err := wire.Decode(text, o, m.typed()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, m := range benchMessages() {
		b.Run(m.name, func(b *testing.B) {
			v := m.typed()
			if err := wire.Decode([]byte(m.text), wire.Options{}, v); err != nil {
				b.Fatal(err)
			}
			var buf []byte
			b.SetBytes(int64(len(m.text)))
			b.ReportAllocs()
			for b.Loop() {
				buf = v.AppendJSON(buf[:0])
			}
		})
	}
}

// TestAllocations holds what the benchmark messages cost at most.
func TestAllocations(t *testing.T) {
	for _, m := range benchMessages() {
		text := []byte(m.text)
		v := m.typed()
		require.NoError(t, wire.Decode(text, wire.Options{}, v))
		require.True(t, wire.Equal(text, v.AppendJSON(nil)), m.name)
		read := testing.AllocsPerRun(100, func() { _ = wire.Decode(text, wire.Options{Alias: true}, m.typed()) })
		require.LessOrEqual(t, read, m.allocs+1, "reading %s", m.name) // the race detector adds one now and then
		buf := make([]byte, 0, 2*len(text))
		write := testing.AllocsPerRun(100, func() { buf = v.AppendJSON(buf[:0]) })
		require.Zero(t, write, "writing %s", m.name)
	}
}
