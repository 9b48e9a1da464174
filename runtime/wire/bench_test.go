package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gojson "github.com/goccy/go-json"

	"github.com/goldwire/goldwire/runtime/wire"
)

// The plain types are what a user of a JSON library would write for the same messages.

type plainCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Meta      json.RawMessage `json:"_meta,omitempty"`
}

type plainContent struct {
	Type        string          `json:"type"`
	Text        string          `json:"text,omitempty"`
	Data        string          `json:"data,omitempty"`
	MIMEType    string          `json:"mimeType,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Meta        json.RawMessage `json:"_meta,omitempty"`
}

type plainCallResult struct {
	Content           []plainContent  `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           *bool           `json:"isError,omitempty"`
	Meta              json.RawMessage `json:"_meta,omitempty"`
}

type plainToolAnnotations struct {
	Title           *string `json:"title,omitempty"`
	ReadOnlyHint    *bool   `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool   `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool   `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool   `json:"openWorldHint,omitempty"`
}

type plainTool struct {
	Name         string                `json:"name"`
	InputSchema  json.RawMessage       `json:"inputSchema"`
	Title        *string               `json:"title,omitempty"`
	Description  *string               `json:"description,omitempty"`
	OutputSchema json.RawMessage       `json:"outputSchema,omitempty"`
	Annotations  *plainToolAnnotations `json:"annotations,omitempty"`
	Meta         json.RawMessage       `json:"_meta,omitempty"`
}

type plainListTools struct {
	Tools      []plainTool     `json:"tools"`
	NextCursor *string         `json:"nextCursor,omitempty"`
	Meta       json.RawMessage `json:"_meta,omitempty"`
}

type plainProgress struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Progress      float64         `json:"progress"`
	Total         *float64        `json:"total,omitempty"`
	Message       *string         `json:"message,omitempty"`
}

type codec interface {
	wire.Decoder
	wire.Appender
}

type message struct {
	name  string
	text  []byte
	typed func() codec
	plain func() any
}

func newOf[T any]() any { return new(T) }

// messages are the benchmark messages: params and results as they stand inside their envelopes.
func messages() []message {
	call := func() codec { return new(CallToolParams) }
	result := func() codec { return new(CallToolResult) }
	list := func() codec { return new(ListToolsResult) }
	return []message{
		{"call", []byte(`{"name":"search_documents","arguments":{"query":"quarterly revenue \"EMEA\"","limit":25,"filters":{"year":2026,"tags":["finance","q3"]},"includeDrafts":false}}`), call, newOf[plainCall]},
		{"call-meta", []byte(`{"name":"search_documents","arguments":{"query":"quarterly revenue \"EMEA\"","limit":25,"filters":{"year":2026,"tags":["finance","q3"]},"includeDrafts":false},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}}}`), call, newOf[plainCall]},
		{"progress", []byte(`{"progressToken":"tok-1234567","progress":42.5,"total":100,"message":"Indexing chunk 425 of 1000"}`), func() codec { return new(ProgressParams) }, newOf[plainProgress]},
		{"result-100B", textResult(prose(100)), result, newOf[plainCallResult]},
		{"result-3-blocks", []byte(`{"content":[{"type":"text","text":"Found 3 matches in 2 files"},{"type":"text","text":"main.go:12: func main() {\n\tfmt.Println(\"hi\")\n}","annotations":{"audience":["user"],"priority":0.5}},{"type":"image","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","mimeType":"image/png"}],"structuredContent":{"matches":3,"files":["main.go","util.go"]},"isError":false}`), result, newOf[plainCallResult]},
		{"result-10KiB", textResult(prose(10 << 10)), result, newOf[plainCallResult]},
		{"result-10KiB-cjk", textResult(strings.Repeat("検索結果は次のとおりです。", 10<<10/39)), result, newOf[plainCallResult]},
		{"result-1MiB", textResult(prose(1 << 20)), result, newOf[plainCallResult]},
		{"image-1MiB", []byte(`{"content":[{"type":"image","data":"` + strings.Repeat("iVBORw0KGgo+AAAA/SUhEUgAAAAEAAAAB", 1<<20/33) + `","mimeType":"image/png"}]}`), result, newOf[plainCallResult]},
		{"tools-50", toolList(50), list, newOf[plainListTools]},
		{"tools-50-indented", indent(toolList(50)), list, newOf[plainListTools]},
	}
}

func textResult(s string) []byte {
	return append(append([]byte(`{"content":[{"type":"text","text":`), wire.Quote(s)...), `}]}`...)
}

// prose returns about n bytes of what tools print: words, line ends, quotes, and some characters outside ASCII.
func prose(n int) string {
	words := strings.Fields("the server returns a list of open issues for repository with assignee label state func main context error nil return if err value config.yaml path user data total")
	var sb strings.Builder
	for i := 0; sb.Len() < n; i++ {
		w := words[i*7%len(words)]
		switch {
		case i%29 == 28:
			fmt.Fprintf(&sb, "%q ", w)
		case i%97 == 96:
			sb.WriteString("naïve→" + w + " ")
		case i%13 == 12:
			sb.WriteString(w + "\n")
		default:
			sb.WriteString(w + " ")
		}
	}
	return sb.String()
}

func toolList(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"tools":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"tool_%d","title":"Tool %d","description":"Searches the index number %d and returns the ranked matches with snippets and scores. Use it when the user asks about stored reports.","inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"Full text query","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":100,"default":25},"tags":{"type":"array","items":{"type":"string","enum":["finance","legal","hr"]}}},"required":["query"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false,"title":"Tool %d"}}`, i, i, i, i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func indent(b []byte) []byte {
	var o bytes.Buffer
	if err := json.Indent(&o, b, "", "  "); err != nil {
		panic(err)
	}
	return o.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	for _, m := range messages() {
		run := func(name string, f func() error) {
			b.Run(m.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.text)))
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("wire", func() error { return wire.Decode(m.text, wire.Options{}, m.typed()) })
		run("wire-alias", func() error { return wire.Decode(m.text, wire.Options{Alias: true}, m.typed()) })
		run("goccy", func() error { return gojson.Unmarshal(m.text, m.plain()) })
		run("std", func() error { return json.Unmarshal(m.text, m.plain()) })
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, m := range messages() {
		typed, plain := m.typed(), m.plain()
		if err := wire.Decode(m.text, wire.Options{}, typed); err != nil {
			b.Fatal(err)
		}
		if err := gojson.Unmarshal(m.text, plain); err != nil {
			b.Fatal(err)
		}
		run := func(name string, f func() (int, error)) {
			b.Run(m.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.text)))
				for b.Loop() {
					if _, err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		buf := make([]byte, 0, 2*len(m.text))
		run("wire", func() (int, error) { return len(typed.AppendJSON(buf)), nil })
		run("goccy", func() (int, error) {
			out, err := gojson.MarshalWithOption(plain, gojson.DisableHTMLEscape())
			return len(out), err
		})
		run("std", func() (int, error) {
			out, err := json.Marshal(plain)
			return len(out), err
		})
	}
}

// BenchmarkEqual compares two spellings of one large value.
func BenchmarkEqual(b *testing.B) {
	x := toolList(50)
	y := indent(x)
	b.ReportAllocs()
	b.SetBytes(int64(len(x)))
	for b.Loop() {
		if !wire.Equal(x, y) {
			b.Fatal("not equal")
		}
	}
}
