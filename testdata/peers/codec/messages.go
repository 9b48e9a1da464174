package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/goldwire/goldwire/testdata/peers/hand"
)

// kind says what a message carries.
type kind = hand.Kind

const (
	call     = hand.KindCall
	progress = hand.KindProgress
	result   = hand.KindResult
	tools    = hand.KindTools
	read     = hand.KindRead
)

// message is one text to be read and written.
type message struct {
	name string
	kind kind
	// modern: of revision 2026-07-28; all others are of 2025-11-25.
	modern bool
	// raw: the hand-written codec leaves _meta as it came.
	raw bool
	// bytes: a blob is wanted as bytes, not as base64.
	bytes bool
	data  []byte
}

// messages are what is measured.
func messages() []message {
	modern := callRequest(`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"measure","version":"0.1.0"},"io.modelcontextprotocol/clientCapabilities":{}}`)
	blob := blobAnswer(1 << 20)
	return []message{
		{name: "call", kind: call, data: callRequest("")},
		{name: "call, 2026 _meta", kind: call, modern: true, data: modern},
		{name: "the same, hand: raw", kind: call, modern: true, raw: true, data: modern},
		{name: "progress", kind: progress, data: []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":` +
			`{"progressToken":"job-7654321","progress":37.5,"total":200,"message":"Reading part 75 of 400"}}`)},
		{name: "result 100 B", kind: result, data: textAnswer(100)},
		{name: "result 10 KiB", kind: result, data: textAnswer(10 << 10)},
		{name: "result 1 MiB", kind: result, data: textAnswer(1 << 20)},
		{name: "50 tools", kind: tools, data: toolsAnswer(50)},
		{name: "blob 1 MiB", kind: read, data: blob},
		{name: "blob 1 MiB, bytes", kind: read, bytes: true, data: blob},
	}
}

// telling are messages that show what a library keeps; they are not measured.
func telling() []message {
	return []message{
		{name: "unknown members", kind: call, data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"x/trace":{"on":true}}}`)},
		{name: "a large number in the arguments", kind: call, data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"account":12345678901234567891}}}`)},
		{name: "a key of _meta", kind: call, data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":9007199254740993,"com.example/n":1.0}}}`)},
		{name: "an explicit false", kind: result, data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":false}}`)},
		{name: "an empty text", kind: result, data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}`)},
		{name: "an unknown kind of content", kind: result, data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a"},{"type":"x/chart","points":[1,2]}]}}`)},
		{name: "hints of a tool", kind: tools, data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","title":"","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}}]}}`)},
		{name: "a total of zero", kind: progress, data: []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0,"total":0,"message":""}}`)},
		{name: "an empty resource", kind: read, data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"file:///a","text":""}]}}`)},
	}
}

func callRequest(meta string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":7654321,"method":"tools/call","params":{"name":"find_invoices","arguments":` +
		`{"text":"unpaid \"Northwind\" orders","count":40,"where":{"since":2024,"states":["open","late"]},"archived":false}` + meta + `}}`)
}

func textAnswer(n int) []byte {
	text, err := json.Marshal(prose(n))
	if err != nil {
		panic(err)
	}
	// encoding/json escapes these for HTML; nobody else does.
	s := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(text))
	return []byte(`{"jsonrpc":"2.0","id":7654321,"result":{"content":[{"type":"text","text":` + s + `}]}}`)
}

// prose is what tools return: words, a line break about every 70 bytes, now and
// then a quoted word, a path with backslashes, a tag, a tab and a few characters
// that are not ASCII. It is n bytes long and always the same.
func prose(n int) string {
	words := strings.Fields(`invoice order customer total paid late open the of from to with shipped status amount
		if err return range string lines found file match warehouse quantity price discount approved report week month`)
	r := rand.New(rand.NewPCG(11, 13))
	var b strings.Builder
	for line := 0; b.Len() < n; {
		w := words[r.IntN(len(words))]
		switch r.IntN(25) {
		case 0:
			w = `"` + w + `"`
		case 1:
			w = []string{`C:\` + w, "\t" + w, "<" + w + ">", "Größe " + w}[r.IntN(4)]
		}
		b.WriteString(w)
		if line += len(w) + 1; line > 70 {
			b.WriteByte('\n')
			line = 0
		} else {
			b.WriteByte(' ')
		}
	}
	s := b.String()[:n]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + strings.Repeat(".", n-len(s))
}

func toolsAnswer(n int) []byte {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"name":"report_%d","title":"Report %d","description":"Builds report number %d from the orders of a period and returns its rows, sums and a link to the full table. Use it for questions about past sales.",`+
			`"inputSchema":{"type":"object","properties":{"period":{"type":"object","properties":{"from":{"type":"string","format":"date"},"to":{"type":"string","format":"date"}},"required":["from"]},`+
			`"group":{"type":"string","description":"What one row stands for","enum":["day","week","month","customer","product"]},`+
			`"rows":{"type":"integer","description":"Most rows to return","minimum":1,"maximum":500,"default":50},`+
			`"only":{"type":"array","items":{"type":"string","enum":["open","paid","late","cancelled"]}},`+
			`"owner":{"type":"object","properties":{"name":{"type":"string"},"email":{"type":"string","format":"email"}},"required":["email"]},`+
			`"withNotes":{"type":"boolean"}},"required":["period"],"additionalProperties":false},`+
			`"annotations":{"title":"Report %d","readOnlyHint":true,"openWorldHint":false}}`, i, i, i, i))
	}
	return []byte(`{"jsonrpc":"2.0","id":7654321,"result":{"tools":[` + strings.Join(list, ",") + `]}}`)
}

func blobAnswer(n int) []byte {
	raw := make([]byte, n/4*3)
	r := rand.New(rand.NewPCG(17, 19))
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return []byte(`{"jsonrpc":"2.0","id":7654321,"result":{"contents":[{"uri":"file:///reports/2026-07.pdf","mimeType":"application/pdf","blob":"` +
		base64.StdEncoding.EncodeToString(raw) + `"}]}}`)
}
