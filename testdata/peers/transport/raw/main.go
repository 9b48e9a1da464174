// Command raw is the limit: it reads no JSON, and answers each call with the
// bytes that a server answers, but for the id, which it copies.
//
// With -mode hand it reads calls of echo over HTTP, and writes their answers, with
// the codec of package hand.
//
// A large text is encoded into a buffer that grows, with -mode sized into one
// that has room for it, and with -mode stream it is written in pieces while it
// is encoded.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"

	"github.com/goldwire/goldwire/testdata/peers/hand"
	"github.com/goldwire/goldwire/testdata/peers/transport/load"
	"github.com/goldwire/goldwire/testdata/peers/transport/program"
)

func main() { program.Main(program.Toolkit{Stdio: stdio, HTTP: handler}) }

const (
	head        = `{"jsonrpc":"2.0","id":1000000,"result":{`
	initialized = head + `"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1.0.0"}}}`
	textHead    = head + `"content":[{"type":"text","text":`
	legacyTail  = `}]}}`
	modernTail  = `}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":` + serverInfo + `}}}`
	serverInfo  = `{"name":"raw","version":"1.0.0"}`
)

// echo is the answer to the calls of echo and tell, made from the first one:
// all have the same message.
var echo struct {
	sync.Once
	answer []byte
}

// tail is how the answer to a call ends.
func tail(call []byte) string {
	if bytes.Contains(call, []byte(`"2026-07-28"`)) {
		return modernTail
	}
	return legacyTail
}

type toolArguments struct {
	Message string
	Size    int
}

func arguments(call []byte) toolArguments {
	var m struct {
		Params struct{ Arguments toolArguments }
	}
	_ = json.Unmarshal(call, &m) // what load sends is JSON
	return m.Params.Arguments
}

func is(call []byte, what string) bool {
	const at = load.IDOffset + len(`1000000,`)
	return len(call) > at && bytes.HasPrefix(call[at:], []byte(what))
}

const (
	callEcho = `"method":"tools/call","params":{"name":"echo"`
	callTell = `"method":"tools/call","params":{"name":"tell"`
	callBig  = `"method":"tools/call","params":{"name":"big"`
)

// answer appends the answer to a message, nothing to a notification. sized
// makes room for a large one before it is written.
func answer(b, message []byte, sized bool) []byte {
	k := len(b)
	switch {
	case is(message, callEcho), is(message, callTell):
		echo.Do(func() {
			echo.answer = append(quote([]byte(textHead+`"`), arguments(message).Message), `"`+tail(message)...)
		})
		b = append(b, echo.answer...)
	case is(message, callBig):
		text := load.Big(arguments(message).Size)
		if sized {
			b = slices.Grow(b, len(text)+len(text)/16+512)
		}
		b = append(quote(append(b, textHead+`"`...), text), `"`+tail(message)...)
	case is(message, `"method":"initialize"`):
		b = append(b, initialized...)
	default:
		return b
	}
	copy(b[k+load.IDOffset:][:7], message[load.IDOffset:])
	return b
}

// quote appends the text of a JSON string.
func quote(b []byte, s string) []byte {
	from := 0
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			b = append(b, s[from:i]...)
			from = i + 1
			switch c {
			case '\n':
				b = append(b, '\\', 'n')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', c)
			}
		}
	}
	return append(b, s[from:]...)
}

// stream writes the answer to a call of big in pieces.
func stream(w io.Writer, call []byte) error {
	b := append(make([]byte, 0, 80<<10), textHead+`"`...)
	copy(b[load.IDOffset:][:7], call[load.IDOffset:])
	text := load.Big(arguments(call).Size)
	for len(text) > 0 {
		n := min(len(text), 32<<10)
		b = quote(b, text[:n]) // no character is cut that has to be quoted
		text = text[n:]
		if _, err := w.Write(b); err != nil {
			return err
		}
		b = b[:0]
	}
	_, err := w.Write(append(b, `"`+tail(call)...))
	return err
}

// stdio answers each line with a write.
func stdio(mode string) error {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	var out []byte
	for {
		line, err := r.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if mode == "stream" && is(line, callBig) {
			err = stream(os.Stdout, line)
			out = append(out[:0], '\n')
		} else if out = answer(out[:0], line, mode == "sized"); len(out) > 0 {
			out = append(out, '\n')
		}
		if err == nil && len(out) > 0 {
			_, err = os.Stdout.Write(out)
		}
		if err != nil {
			return err
		}
		if cap(out) > 1<<20 {
			out = nil
		}
	}
}

var (
	jsonType  = []string{"application/json"}
	sseType   = []string{"text/event-stream"}
	noCache   = []string{"no-cache, no-transform"}
	buffering = []string{"no"}
	session   = []string{"0123456789abcdef0123456789abcdef"}
)

var progress = []byte("event: message\ndata: " + `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}` + "\n\n")

type buffers struct{ in, out []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

func handler(mode string) (http.Handler, error) {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		if r.Method == http.MethodGet {
			idle(w, r)
			return
		}
		b := pool.Get().(*buffers)
		defer func() {
			if cap(b.out) < 1<<20 {
				pool.Put(b)
			}
		}()
		if int64(cap(b.in)) < r.ContentLength {
			b.in = make([]byte, r.ContentLength)
		}
		b.in = b.in[:max(r.ContentLength, 0)]
		if _, err := io.ReadFull(r.Body, b.in); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		switch {
		case bytes.Contains(b.in, []byte(`"subscriptions/listen"`)):
			idle(w, r)
			return
		case is(b.in, `"method":"initialize"`):
			h["Mcp-Session-Id"] = session
		case mode == "stream" && is(b.in, callBig):
			h["Content-Type"] = jsonType
			_ = stream(w, b.in)
			return
		case is(b.in, callTell):
			h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = sseType, noCache, buffering
			_, _ = w.Write(progress)
			_ = http.NewResponseController(w).Flush()
			b.out = append(answer(append(b.out[:0], "event: message\ndata: "...), b.in, false), "\n\n"...)
			_, _ = w.Write(b.out)
			_ = http.NewResponseController(w).Flush()
			return
		}
		var echoed bool
		if mode == "hand" {
			b.out, echoed = hand.Echo(b.out[:0], b.in, serverInfo)
		}
		if !echoed {
			b.out = answer(b.out[:0], b.in, mode == "sized")
		}
		if len(b.out) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		h["Content-Type"] = jsonType
		h["Content-Length"] = []string{strconv.Itoa(len(b.out))}
		_, _ = w.Write(b.out)
	}), nil
}

// idle is a stream on which nothing happens.
func idle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h["Content-Type"], h["Cache-Control"], h["X-Accel-Buffering"] = sseType, noCache, buffering
	_, _ = io.WriteString(w, ":\n\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}
