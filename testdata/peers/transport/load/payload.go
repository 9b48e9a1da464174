package load

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// BigSize is the size of a large result's text in bytes.
const BigSize = 16 << 20

var words = strings.Fields(`a report of every open ticket with its owner the weekly sales by region and year
if err return value config path user total average model query result page index table name`)

// Text is size bytes of what tools say: words and lines, here and there a
// quote, a backslash, a tab, an angle bracket and a letter that is not ASCII.
// It is the same each time.
func Text(size int) string {
	r := rand.New(rand.NewPCG(2026, 7))
	var b strings.Builder
	b.Grow(size + 32)
	for column := 0; b.Len() < size; {
		w := words[r.IntN(len(words))]
		switch r.IntN(40) {
		case 0:
			w = `"` + w + `"`
		case 1:
			w = `\` + w
		case 2:
			w = "<" + w + ">"
		case 3:
			w = "é→" + w
		case 4:
			w = "\t" + w
		}
		b.WriteString(w)
		if column += len(w) + 1; column < 72 {
			b.WriteByte(' ')
		} else {
			b.WriteByte('\n')
			column = 0
		}
	}
	s := b.String()[:size]
	for !utf8.ValidString(s[max(0, len(s)-4):]) && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + strings.Repeat(".", size-len(s))
}

var big = sync.OnceValue(func() string { return Text(BigSize) })

// Big is the beginning of one shared text of BigSize bytes.
func Big(size int) string { return big()[:min(max(size, 0), BigSize)] }

// metaMembers are in the _meta of each request of 2026-07-28.
const metaMembers = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"load","version":"1.0.0"},"io.modelcontextprotocol/clientCapabilities":{}`

// Messages of the stateful handshake. The ids of the messages here have seven
// digits, so that one can be written over another.
const (
	Initialize  = `{"jsonrpc":"2.0","id":1000000,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1.0.0"}}}`
	Initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	Listen      = `{"jsonrpc":"2.0","id":1000000,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{` + metaMembers + `}}}`
)

// FirstID is the first id of a call, and IDOffset where its digits begin.
const (
	FirstID  = 1000001
	IDOffset = len(`{"jsonrpc":"2.0","id":`)
)

// EchoCall is a call of the tool echo.
func EchoCall(message string, modern bool) []byte {
	return call("echo", `{"message":`+quote(message)+`}`, "", modern)
}

// TellCall is a call of the tool tell, which asks for progress.
func TellCall(message string, modern bool) []byte {
	return call("tell", `{"message":`+quote(message)+`}`, `"progressToken":"t"`, modern)
}

// BigCall is a call of the tool big.
func BigCall(size int, modern bool) []byte {
	return call("big", `{"size":`+strconv.Itoa(size)+`}`, "", modern)
}

func call(tool, arguments, meta string, modern bool) []byte {
	s := `{"jsonrpc":"2.0","id":` + strconv.Itoa(FirstID) + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments
	if modern && meta != "" {
		meta += ","
	}
	if modern {
		meta += metaMembers
	}
	if meta != "" {
		s += `,"_meta":{` + meta + "}"
	}
	return []byte(s + "}}")
}

// SetID writes an id of seven digits over the one of a message of this
// package.
func SetID(message []byte, id int) {
	for k := IDOffset + 6; k >= IDOffset; k-- {
		message[k] = byte('0' + id%10)
		id /= 10
	}
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
