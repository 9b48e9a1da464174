package wire_test

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// cost runs f and returns the time it took and the bytes it allocated.
func cost(f func()) (time.Duration, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	f()
	d := time.Since(start)
	runtime.ReadMemStats(&after)
	return d, after.TotalAlloc - before.TotalAlloc
}

// Hostile text is a typed error, or a value, within a bounded multiple of its own size.
func TestHostileText(t *testing.T) {
	rep := func(s string, n int) []byte { return bytes.Repeat([]byte(s), n) }
	cat := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	b := func(s string) []byte { return []byte(s) }
	tests := []struct {
		name string
		in   []byte
		kind wire.ErrorKind // 0: no error
		mem  int            // allocated bytes a byte of text, on top of 1 MiB
	}{
		{"5M open brackets", rep("[", 5_000_000), wire.ErrType, 0},
		{"5M open objects", rep(`{"":`, 5_000_000), wire.ErrDepth, 0},
		{"5M brackets inside a member", cat(b(`{"name":"a","x":`), rep("[", 5_000_000)), wire.ErrDepth, 0},
		{"5M brackets in arguments", cat(b(`{"arguments":{"x":`), rep("[", 5_000_000)), wire.ErrDepth, 0},
		{"5M closing brackets", rep("]", 5_000_000), wire.ErrSyntax, 0},
		{"1e400", b(`{"name":1e400}`), wire.ErrType, 0},
		{"1e1000001 raw", b(`{"name":"a","x":1e1000001}`), 0, 0},
		{"3 MB of digits", cat(b(`{"name":"a","x":`), rep("9", 3_000_000), b("}")), wire.ErrLimit, 0},
		{"3 MB of fraction", cat(b(`{"name":"a","x":0.`), rep("9", 3_000_000), b("}")), wire.ErrLimit, 0},
		{"3 MB of exponent", cat(b(`{"name":"a","x":1e`), rep("9", 3_000_000), b("}")), wire.ErrLimit, 0},
		{"million duplicate names", cat(b(`{"name":"a"`), rep(`,"x":1`, 1_000_000), b("}")), wire.ErrDuplicate, 0},
		{"million duplicates of a known name", cat(b(`{"name":"a"`), rep(`,"name":"a"`, 1_000_000), b("}")), wire.ErrDuplicate, 0},
		{"million duplicates in a raw value", cat(b(`{"name":"a","arguments":{"x":1`), rep(`,"x":1`, 1_000_000), b("}}")), 0, 0},
		{"lone surrogates", cat(b(`{"name":"`), rep(`\ud800`, 500_000), b(`"}`)), wire.ErrValue, 4},
		{"lone surrogates in a name", cat(b(`{"name":"a","`), rep(`\udfff`, 300_000), b(`":1}`)), wire.ErrValue, 4},
		{"invalid UTF-8", cat(b(`{"name":"`), rep("a", 5_000_000), b("\xff\"}")), wire.ErrUTF8, 0},
		{"surrogates in UTF-8", b("{\"name\":\"\xed\xa0\x80\"}"), wire.ErrUTF8, 0},
		{"NUL", b("{\"name\":\"a\"}\x00"), wire.ErrSyntax, 0},
		{"NUL in a string", b("{\"name\":\"\x00\"}"), wire.ErrSyntax, 0},
		{"NULs", rep("\x00", 1_000_000), wire.ErrSyntax, 0},
		{"BOM", b("\ufeff{\"name\":\"a\"}"), wire.ErrSyntax, 0},
		{"UTF-16", b("\xff\xfe{\x00}\x00"), wire.ErrSyntax, 0},
		{"3 MB of space", cat(rep(" ", 3_000_000), b(`{"name":"a"}`), rep("\n", 1000)), 0, 0},
		{"3 MB of space and nothing", rep("\t", 3_000_000), wire.ErrSyntax, 0},
		{"unterminated string", cat(b(`{"name":"`), rep("a", 3_000_000)), wire.ErrSyntax, 0},
		{"unterminated escaped string", cat(b(`{"name":"`), rep(`\n`, 600_000)), wire.ErrSyntax, 4},
		{"backslashes", cat(b(`{"name":"`), rep(`\\`, 1_000_000), b(`"}`)), 0, 4},
		{"backslashes and quotes", cat(b(`{"name":"`), rep(`\\\"`, 500_000), b(`"}`)), 0, 4},
		{"long name", cat(b(`{"name":"a","`), rep("k", 3_000_000), b(`":1}`)), 0, 2},
		{"long escaped name", cat(b(`{"name":"a","`), rep(`\u006b`, 1_000_000), b(`":1}`)), 0, 4},
		{"trailing text", cat(b(`{"name":"a"}`), rep("{}", 1_000_000)), wire.ErrSyntax, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var err error
			d, mem := cost(func() { err = wire.Decode(tt.in, wire.Options{}, new(CallToolParams)) })
			if tt.kind == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, tt.kind)
				require.Less(t, len(err.Error()), 1000)
			}
			require.Less(t, mem, uint64(1<<20+tt.mem*len(tt.in)))
			require.Less(t, d, 30*time.Second) // what is not linear takes hours
			_, err = wire.ParseRaw(tt.in)
			if tt.kind == wire.ErrType && tt.in[0] == '[' {
				require.ErrorIs(t, err, wire.ErrDepth)
			} else if tt.kind == wire.ErrDepth || tt.kind == wire.ErrSyntax || tt.kind == wire.ErrLimit || tt.kind == wire.ErrUTF8 {
				require.ErrorIs(t, err, tt.kind)
			} else {
				require.NoError(t, err)
			}
			err = wire.Decode(tt.in, wire.Options{Lenient: true, Alias: true, MaxDepth: wire.HardMaxDepth}, new(CallToolParams))
			if tt.kind == 0 || tt.kind == wire.ErrValue {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, tt.kind)
			}
		})
	}
}

// Very many different unknown names are told apart without comparing each with each.
func TestManyNames(t *testing.T) {
	var sb strings.Builder
	sb.WriteString(`{"name":"a"`)
	for i := range 300_000 {
		sb.WriteString(`,"` + strconv.Itoa(i) + `":0`)
	}
	in := sb.String()
	var x CallToolParams
	d, _ := cost(func() { require.NoError(t, wire.Decode([]byte(in+"}"), wire.Options{}, &x)) })
	require.Len(t, x.Extra, 300_000)
	require.Less(t, d, 30*time.Second)
	err := wire.Decode([]byte(in+`,"150000":1}`), wire.Options{}, new(CallToolParams))
	require.EqualError(t, err, `["150000"]: duplicate member`)
	out := x.AppendJSON(nil)
	require.Len(t, out, len(in)+1)
}

// Nested objects with many unknown names each, read alternately, keep their names apart.
func TestManyNamesInNestedObjects(t *testing.T) {
	many := func(n int) string {
		var s string
		for i := range n {
			s += fmt.Sprintf(`"x%d":%d,`, i, i)
		}
		return s
	}
	for _, n := range []int{15, 16, 17, 40} {
		in := `{` + many(n) + `"tools":[{` + many(n) + `"name":"a","annotations":{` + many(n) + `"title":"t"},"y":1,"inputSchema":{}},{` + many(n) + `"name":"b","inputSchema":{}}],"y":2}`
		var x ListToolsResult
		require.NoError(t, wire.Decode([]byte(in), wire.Options{}, &x))
		require.Len(t, x.Extra, n+1)
		require.Len(t, x.Tools[0].Extra, n+1)
		require.Len(t, x.Tools[0].Annotations.Extra, n)
		require.Len(t, x.Tools[1].Extra, n)
		require.True(t, wire.Equal(wire.Raw(in), x.AppendJSON(nil)))
		for _, dup := range []string{
			strings.Replace(in, `"y":2`, `"y":2,"x3":1`, 1), strings.Replace(in, `"y":1`, `"y":1,"x3":1`, 1),
			strings.Replace(in, `"title"`, `"x3":1,"title"`, 1),
		} {
			require.ErrorIs(t, wire.Decode([]byte(dup), wire.Options{}, new(ListToolsResult)), wire.ErrDuplicate)
		}
	}
}

// The value for an element is taken from a slot that a skipped one used before.
func TestSlotOfASkippedElement(t *testing.T) {
	var s string
	for i := range 20 {
		s += fmt.Sprintf(`"x%d":%d,`, i, i)
	}
	var sixteen string
	for i := range 16 {
		sixteen += fmt.Sprintf(`"x%d":%d,`, i, i)
	}
	for _, bad := range []string{s + `"name":5`, s + `"x3":1`, sixteen + `"x3":1`, sixteen + `"x17":1,"name":5`} {
		in := `{"tools":[{` + bad + `},{` + s + `"name":"b","inputSchema":{}}]}`
		var x ListToolsResult
		require.NoError(t, wire.Decode([]byte(in), wire.Options{Lenient: true}, &x))
		require.Len(t, x.Tools, 1)
		require.Len(t, x.Tools[0].Extra, 20)
	}
}

// A list is not given more room than a few times what came.
func TestGrowIsBounded(t *testing.T) {
	in := []byte(`{"tools":[` + strings.Repeat(`{"name":"","inputSchema":{}},`, 4) + `{"name":"","inputSchema":{"x":"` + strings.Repeat("y", 32<<20) + `"}}]}`)
	var x ListToolsResult
	_, mem := cost(func() { require.NoError(t, wire.Decode(in, wire.Options{}, &x)) })
	require.Len(t, x.Tools, 5)
	require.LessOrEqual(t, cap(x.Tools), 40)
	require.Less(t, mem, uint64(1<<20))

	var y ListToolsResult
	require.NoError(t, wire.Decode(toolList(5000), wire.Options{}, &y))
	require.Len(t, y.Tools, 5000)
	require.Less(t, cap(y.Tools), 6500)
	for i, tool := range y.Tools {
		require.Equal(t, "tool_"+strconv.Itoa(i), tool.Name)
	}
}
