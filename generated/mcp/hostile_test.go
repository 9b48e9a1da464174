package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileText feeds text that is made to hurt to the params, the results
// and the whole messages of every revision: an error that says its class, and
// no more memory than a fraction of the text, or the value unharmed.
func TestHostileText(t *testing.T) {
	const million = 1_000_000
	nested := strings.Repeat("[", 5*million)
	dup := strings.Repeat(`,"x":1`, million)
	some := dup[:len(dup)/5] // where the text is read to its end
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}}`
	call := func(members string) string { return `{"name":"a",` + meta + members + `}` }
	block := func(members string) string {
		return `{"resultType":"complete","content":[{"type":"text","text":"a"` + members + `}]}`
	}
	progress := func(n string) string { return `{"progressToken":0,"progress":` + n + `}` }
	sampling := func(n string) string { return `{"messages":[],"maxTokens":` + n + `}` }
	resource := func(n string) string {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[{"name":"a","uri":"u","size":` + n + `}]}`
	}
	for _, c := range []struct {
		name, typ, text string
		params, result  wire.ErrorKind // 0: no error
	}{
		{"brackets in arguments", "CallToolParams", call(`,"arguments":{"a":` + nested), wire.ErrDepth, wire.ErrDepth},
		{"brackets in an unknown member", "CallToolParams", call(`,"x":` + nested), wire.ErrDepth, wire.ErrDepth},
		{"brackets in a block", "CallToolResult", block(`,"x":` + nested), wire.ErrDepth, wire.ErrDepth},
		{"brackets only", "CallToolParams", nested, wire.ErrType, wire.ErrType},
		{"1e400 as a number", "ProgressParams", progress("1e400"), wire.ErrRange, wire.ErrRange},
		{"1e1000001 as a number", "ProgressParams", progress("-1e1000001"), wire.ErrRange, wire.ErrRange},
		{"1e400 as an integer", "CreateMessageParams", sampling("1e400"), wire.ErrRange, wire.ErrRange},
		{"1e1000001 as an integer", "CreateMessageParams", sampling("1e1000001"), wire.ErrRange, wire.ErrRange},
		{"3 MB of digits", "CreateMessageParams", sampling(strings.Repeat("9", 3*million)), wire.ErrLimit, wire.ErrLimit},
		{"1e1000001 in arguments", "CallToolParams", call(`,"arguments":{"a":1e1000001}`), 0, 0},
		{"1e400 in an unknown member", "CallToolResult", block(`,"x":[1e400]`), 0, 0},
		{"lone surrogate", "CallToolParams", `{"name":"\ud83d",` + meta + `}`, wire.ErrValue, 0},
		{"lone surrogate in arguments", "CallToolParams", call(`,"arguments":{"s":"\udcae"}`), 0, 0},
		{"lone surrogate in a result", "CallToolResult", `{"resultType":"complete","content":[{"type":"text","text":"cut \ud83d"}]}`, wire.ErrValue, 0},
		{"invalid UTF-8", "CallToolParams", "{\"name\":\"\xff\"," + meta + "}", wire.ErrUTF8, wire.ErrUTF8},
		{"invalid UTF-8 in arguments", "CallToolParams", call(",\"arguments\":{\"s\":\"\xc3\"}"), wire.ErrUTF8, wire.ErrUTF8},
		{"invalid UTF-8 in a name", "CallToolResult", block(",\"\xed\xa0\x80\":1"), wire.ErrUTF8, wire.ErrUTF8},
		{"NUL in a string", "CallToolResult", block(",\"x\":\"\x00\""), wire.ErrSyntax, wire.ErrSyntax},
		{"NUL between members", "CallToolParams", call("\x00"), wire.ErrSyntax, wire.ErrSyntax},
		{"NUL escaped", "CallToolParams", call(`,"x":"\u0000"`), 0, 0},
		{"BOM", "CallToolParams", "\ufeff" + call(""), wire.ErrSyntax, wire.ErrSyntax},
		{"a million duplicates", "CallToolParams", call(`,"x":1` + dup), wire.ErrDuplicate, wire.ErrDuplicate},
		{"200,000 duplicates in a block", "CallToolResult", block(`,"x":1` + some), wire.ErrDuplicate, 0}, // the block is passed over,
		{"200,000 duplicates in arguments", "CallToolParams", call(`,"arguments":{"x":1` + some + "}"), 0, 0},
		{"size out of range", "ListResourcesResult", resource("1e1000001"), wire.ErrRange, 0},
	} {
		eachRevision(t, func(t *testing.T, m model) {
			e := types[m.Revision][c.typ]
			// Under test are the bytes that the reader allocates, so the
			// message is put together beforehand.
			method, result := "tools/call", strings.HasSuffix(c.typ, "Result")
			if c.typ == "ProgressParams" {
				method = "notifications/progress"
			}
			frame := []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + c.text + `}`)
			if c.typ == "ProgressParams" {
				frame = bytes.Replace(frame, []byte(`"id":1,`), nil, 1)
			}
			text := []byte(c.text)
			limit := uint64(1<<20 + len(text)/8)
			for i, want := range []wire.ErrorKind{c.params, c.result} {
				var v value
				var problems []wire.Problem
				var err error
				require.Less(t, allocated(func() { v, problems, err = e.read(text, wire.Options{Lenient: i == 1}) }), limit, c.name)
				if want != 0 {
					require.ErrorIs(t, err, want, c.name)
					require.Less(t, len(err.Error()), 1000)
					continue
				}
				require.NoError(t, err, c.name)
				if i == 1 && c.params != 0 {
					require.Len(t, problems, 1, c.name)
					continue
				}
				require.Empty(t, problems)
				if len(text) < 1000 {
					requireEqual(t, c.text, write(t, v))
				} else {
					require.Greater(t, len(v.AppendJSON(nil)), len(text)-100, c.name)
				}
			}
			switch {
			case c.typ == "CreateMessageParams" || c.typ == "ListResourcesResult":
			case result:
				_, answer, err := decoders[m.Revision]([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call("") + `}`))
				require.NoError(t, err)
				frame = []byte(`{"jsonrpc":"2.0","id":1,"result":` + c.text + `}`)
				require.Less(t, allocated(func() { _, err = answer(jsonrpc.Frame{Data: frame}) }), limit, c.name)
				requireKind(t, c.result, err)
			default:
				var err error
				require.Less(t, allocated(func() { _, _, err = decoders[m.Revision](frame) }), limit, c.name)
				if c.name == "brackets only" {
					require.Error(t, err)
					return
				}
				requireKind(t, c.params, err)
			}
		})
	}
}

func requireKind(t *testing.T, want wire.ErrorKind, err error) {
	t.Helper()
	if want == 0 {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, want)
}

// TestStringAboveTheMessageLimit sends a line that is longer than the server
// allows, and holds that it costs no memory, is answered with an error that
// has the request's id, and that the next message is served.
func TestStringAboveTheMessageLimit(t *testing.T) {
	for revision, server := range servers {
		t.Run(revision, func(t *testing.T) {
			in, out := io.Pipe()
			back, answers := io.Pipe()
			s := jsonl.Pipe(in, answers)
			s.Options.MaxMessage = 1 << 16
			done := make(chan error, 1)
			go func() {
				err := jsonrpc.Serve(context.Background(), s, server)
				_ = answers.Close()
				done <- err
			}()
			lines := bufio.NewScanner(back)
			chunk := []byte(strings.Repeat("a", 1<<16))
			send := func(text string) {
				_, err := io.WriteString(out, text)
				require.NoError(t, err)
			}
			grown := allocated(func() {
				send(`{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"`)
				for range 256 {
					_, err := out.Write(chunk)
					require.NoError(t, err)
				}
				send("\"}}\n")
				require.True(t, lines.Scan())
			})
			require.Less(t, grown, uint64(4<<20), "of 16 MiB")
			require.Equal(t, `"long"`, wire.Raw(lines.Bytes()).Get("id").String())
			require.Contains(t, lines.Text(), "too long")
			send(`{"jsonrpc":"2.0","id":2,"method":"nothing/known"}` + "\n")
			require.True(t, lines.Scan())
			require.Equal(t, "2", wire.Raw(lines.Bytes()).Get("id").String())
			require.NoError(t, out.Close())
			require.NoError(t, <-done)
		})
	}
}
