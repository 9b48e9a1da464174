package wire_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func lenient(t *testing.T, in string, v wire.Decoder) ([]wire.Problem, int, error) {
	t.Helper()
	var d wire.Dec
	d.Reset([]byte(in), wire.Options{Lenient: true})
	err := v.DecodeJSON(&d)
	if err == nil {
		err = d.End()
	}
	return d.Skipped(), d.SkippedCount(), err
}

func TestLenientListsSkipBadElements(t *testing.T) {
	in := `{"tools":[{"name":"a","inputSchema":{}},{"name":7,"inputSchema":{"x":[1,{"y":2}]}},"text",{"name":"b","inputSchema":{}},` +
		`{"name":"c"},{"name":"d","inputSchema":{},"annotations":{"title":[{}],"more":{}},"z":1},null,{"name":"e","name":"e","inputSchema":{}},{"name":"f","inputSchema":{}}]}`
	var x ListToolsResult
	problems, n, err := lenient(t, in, &x)
	require.NoError(t, err)
	var names []string
	for _, tool := range x.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"a", "b", "f"}, names)
	require.Equal(t, 6, n)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	require.Equal(t, []string{
		"tools[1].name: want a string, got a number",
		"tools[2]: want an object, got a string",
		"tools[4].inputSchema: missing",
		"tools[5].annotations.title: want a string, got an array",
		"tools[6]: want an object, got null",
		"tools[7].name: duplicate member",
	}, got)
	require.Equal(t, wire.ErrMissing, problems[2].Kind)

	err = wire.Decode([]byte(in), wire.Options{}, new(ListToolsResult))
	require.EqualError(t, err, "tools[1].name: want a string, got a number")
}

func TestLenientDefaults(t *testing.T) {
	var x CallToolResult
	problems, _, err := lenient(t, `{"isError":true}`, &x)
	require.NoError(t, err)
	require.Equal(t, `{"content":[],"isError":true}`, string(x.AppendJSON(nil)))
	require.Equal(t, []wire.Problem{{Kind: wire.ErrMissing, Path: "content", Msg: "missing, taken as []", Offset: 15}}, problems)

	var d wire.Dec
	d.Reset([]byte(`{"a":{"scope":"?"}}`), wire.Options{Lenient: true})
	require.NoError(t, d.ObjBegin())
	_, _, _ = d.Key()
	require.NoError(t, d.ObjBegin())
	_, _, _ = d.Key()
	_, _ = d.Str()
	d.Forgive("taken as private", "")
	require.Equal(t, "a.scope: taken as private", d.Skipped()[0].String())
	require.Equal(t, "root", wire.Problem{Msg: "root"}.String())
}

// Text that is not JSON, or breaks a limit, is an error in a lenient list too, wherever it stands.
func TestLenientStaysStrictAboutText(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for in, kind := range map[string]wire.ErrorKind{
		`{"tools":[{"name":tru}]}`:                          wire.ErrSyntax,
		`{"tools":[{"name":5,"x":tru}]}`:                    wire.ErrSyntax,
		`{"tools":[{"name":5`:                               wire.ErrSyntax,
		`{"tools":[5,`:                                      wire.ErrSyntax,
		`{"tools":[5 6]}`:                                   wire.ErrSyntax,
		"{\"tools\":[{\"name\":5,\"x\":\"\xff\"}]}":         wire.ErrUTF8,
		`{"tools":[{"name":5,"x":` + deep + `}]}`:           wire.ErrDepth,
		`{"tools":[{"x":` + deep + `}]}`:                    wire.ErrDepth,
		`{"tools":[` + strings.Repeat("1", 2000) + `]}`:     wire.ErrLimit,
		`{"tools":[{"name":5,"name":"x\q"}]}`:               wire.ErrSyntax,
		`{"tools":[],"nextCursor":5}`:                       wire.ErrType,
		`{"tools":[],"tools":[]}`:                           wire.ErrDuplicate,
		`{"tools":{}}`:                                      wire.ErrType,
		`{"tools":[{"name":5}}`:                             wire.ErrSyntax,
		`{"tools":[{"name":"a","inputSchema":{}},{"x":1]]}`: wire.ErrSyntax,
	} {
		_, _, err := lenient(t, in, new(ListToolsResult))
		require.ErrorIs(t, err, kind, in)
	}
}

// Depth is right again after an element that failed deep inside.
func TestSkipRestoresDepth(t *testing.T) {
	bad := `{"annotations":{"title":5}},`
	in := `{"tools":[` + strings.Repeat(bad, 500) + `{"name":"a","inputSchema":{"a":{"b":{}}}}]}`
	var d wire.Dec
	d.Reset([]byte(in), wire.Options{Lenient: true, MaxDepth: 6})
	var x ListToolsResult
	require.NoError(t, x.DecodeJSON(&d))
	require.Len(t, x.Tools, 1)
	d.Reset([]byte(in), wire.Options{Lenient: true, MaxDepth: 5})
	require.ErrorIs(t, new(ListToolsResult).DecodeJSON(&d), wire.ErrDepth)
}

func TestProblemsAreBounded(t *testing.T) {
	list := func(n int) string { return `{"tools":[` + strings.Repeat("1,", n-1) + `1]}` }
	problems, n, err := lenient(t, list(1000), new(ListToolsResult))
	require.NoError(t, err)
	require.Len(t, problems, wire.DefaultMaxSkipped)
	require.Equal(t, 1000, n)
	require.Equal(t, "tools[63]", problems[63].Path)

	var d wire.Dec
	d.Reset([]byte(list(10)), wire.Options{Lenient: true, MaxSkipped: 3})
	require.NoError(t, new(ListToolsResult).DecodeJSON(&d))
	require.Len(t, d.Skipped(), 3)
	require.Equal(t, 10, d.SkippedCount())

	_, _, err = lenient(t, list(wire.MaxProblems), new(ListToolsResult))
	require.NoError(t, err)
	_, _, err = lenient(t, list(wire.MaxProblems+1), new(ListToolsResult))
	require.ErrorIs(t, err, wire.ErrLimit)
	require.ErrorContains(t, err, fmt.Sprintf("tools[%d]: more than %d problems", wire.MaxProblems, wire.MaxProblems))

	// Lone surrogates and defaults are counted, not refused.
	d.Reset([]byte(`["`+strings.Repeat(`\ud800","`, 1000)+`"]`), wire.Options{Lenient: true})
	l, err := d.Strs()
	require.NoError(t, err)
	require.Len(t, l, 1001)
	require.Equal(t, 1000, d.SkippedCount())
	require.Len(t, d.Skipped(), wire.DefaultMaxSkipped)
	for range 1000 {
		d.Forgive("missing", "x")
	}
	require.Equal(t, 2000, d.SkippedCount())
}

// Many problems far into a message do not cost a reading of the message each.
func TestManyProblemsAreCheap(t *testing.T) {
	in := `{"x":"` + strings.Repeat("y", 8<<20) + `","tools":[` + strings.Repeat(`{"name":5},`, 50_000) + `5]}`
	start := time.Now()
	_, n, err := lenient(t, in, new(ListToolsResult))
	require.NoError(t, err)
	require.Equal(t, 50_001, n)
	require.Less(t, time.Since(start), 20*time.Second) // one reading each would take minutes
}

// Errors of other types, as hand-written decoders return them, can be skipped too.
func TestSkipForeignError(t *testing.T) {
	var d wire.Dec
	d.Reset([]byte(`[1, {"a":2}, 3]`), wire.Options{Lenient: true})
	require.NoError(t, d.ArrBegin())
	n := 0
	for {
		done, err := d.Elem()
		require.NoError(t, err)
		if done {
			break
		}
		n++
		require.NoError(t, d.Skip(d.Mark(), errors.New("no")))
	}
	require.Equal(t, 3, n)
	require.Equal(t, "[1]: no", d.Skipped()[1].String())
	foreign := errors.New("no")
	d.Reset([]byte(`[`+strings.Repeat(`"\ud800",`, 100)+`1]`), wire.Options{Lenient: true})
	require.NoError(t, d.ArrBegin())
	for range 101 {
		_, err := d.Elem()
		require.NoError(t, err)
		m := d.Mark()
		_, _ = d.Str()
		require.NoError(t, d.Skip(m, foreign))
	}
	require.Equal(t, 201, d.SkippedCount())
	require.Len(t, d.Skipped(), wire.DefaultMaxSkipped)
	d.Reset([]byte(`[1]`), wire.Options{})
	require.NoError(t, d.ArrBegin())
	_, _ = d.Elem()
	require.Equal(t, foreign, d.Skip(d.Mark(), foreign))
}
