package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// samples are valid messages of every sample type.
func samples() map[string]func() codec {
	call := func() codec { return new(CallToolParams) }
	result := func() codec { return new(CallToolResult) }
	list := func() codec { return new(ListToolsResult) }
	progress := func() codec { return new(ProgressParams) }
	return map[string]func() codec{
		`{"name":"a"}`:                          call,
		`{"name":"","arguments":{},"_meta":{}}`: call,
		` { "name" : "echo" , "arguments" : { "x" : [ 1 , 2.5e3 , null , true ] } , "more" : "m" } `: call,
		`{"\u006eame":"\u00e9\ud83d\ude00","x":false,"y":{"a":{}}}`:                                  call,
		`{"content":[]}`: result,
		`{"content":[{"type":"text","text":"hi"}],"isError":false}`:                                                                                                                                         result,
		`{"content":[{"text":"last","annotations":{},"type":"text"},{"type":"audio","data":"AA==","n":1e5}],"structuredContent":null}`:                                                                      result,
		`{"content":[{"type":"image","data":"","mimeType":"","annotations":{"audience":["user","assistant"],"priority":-0.0,"lastModified":"2025"},"_meta":{"a/b":1}}],"structuredContent":{"a":[]},"z":1}`: result,
		`{"tools":[]}`: list,
		`{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"title":"T","destructiveHint":false,"idempotentHint":true,"openWorldHint":false,"x":1}},{"inputSchema":{},"name":"b","title":"","description":"d","outputSchema":{},"_meta":{}}],"nextCursor":""}`: list,
		`{"progressToken":"t","progress":0}`: progress,
		`{"progressToken":9007199254740993,"progress":42.5,"total":1e2,"message":"half","_meta":{},"x":[1]}`: progress,
	}
}

// Decode then encode is the identity on values.
func TestRoundTrip(t *testing.T) {
	for in, typed := range samples() {
		for _, o := range []wire.Options{{}, {Alias: true}, {Lenient: true}} {
			x := typed()
			require.NoError(t, wire.Decode([]byte(in), o, x), in)
			out := x.AppendJSON(nil)
			require.True(t, json.Valid(out), "%s", out)
			require.True(t, wire.Equal(wire.Raw(in), out), "%s\n%s", in, out)
			y := typed()
			require.NoError(t, wire.Decode(out, o, y))
			require.Empty(t, cmp.Diff(x, y))
			require.Equal(t, string(out), string(y.AppendJSON(nil)), "encoding is stable")
		}
	}
}

// Every proper prefix of a message is an error that says where, and never more than that.
func TestPrefixes(t *testing.T) {
	for in, typed := range samples() {
		in = strings.TrimSpace(in)
		for n := range len(in) {
			for _, o := range []wire.Options{{}, {Alias: true}, {Lenient: true}} {
				b := []byte(in[:n])
				err := wire.Decode(b, o, typed())
				var e *wire.Error
				require.ErrorAs(t, err, &e, "%s", b)
				require.LessOrEqual(t, e.Offset, int64(n))
				require.ErrorIs(t, err, wire.ErrSyntax, "%s", b)
				_, err = wire.ParseRaw(b)
				require.ErrorIs(t, err, wire.ErrSyntax, "%s", b)
				// What is left of a raw value is harmless too.
				r := wire.Raw(b)
				r.Get("x")
				for range r.Members() {
				}
				for range r.Elems() {
				}
				r.Str()
				r.Int()
				r.Float()
				r.Bool()
				wire.Equal(r, wire.Raw(in))
				wire.AppendRaw(nil, append(r.Clone(), '\n'))
			}
		}
	}
}

// Look-ahead sees the same prefixes.
func TestPrefixesLookAhead(t *testing.T) {
	in := `{"a":{"b":[1,"x\n",{"c":null}]},"long name of a member":true,"\u0074ype":"te\u0078t"}`
	for n := range len(in) {
		var d wire.Dec
		d.Reset([]byte(in[:n]), wire.Options{})
		_, _, err := d.Disc("type")
		if n < len(in)-1 { // it reads no further than the member
			require.ErrorIs(t, err, wire.ErrSyntax, in[:n])
		}
		_, err = d.Has("nothing")
		require.ErrorIs(t, err, wire.ErrSyntax, in[:n])
		_, err = d.LookKind("nothing")
		require.ErrorIs(t, err, wire.ErrSyntax, in[:n])
		require.Zero(t, d.Pos())
	}
}

// One changed byte changes the value, or is an error; it is never a panic.
func TestOneByteChanged(t *testing.T) {
	for in, typed := range samples() {
		b := []byte(in)
		for i := range b {
			for _, c := range []byte("\x00\n \"\\{}[],:0e-.nt\x80\xff") {
				old := b[i]
				b[i] = c
				for _, o := range []wire.Options{{}, {Lenient: true}} {
					x := typed()
					err := wire.Decode(b, o, x)
					if err != nil {
						var e *wire.Error
						require.ErrorAs(t, err, &e)
						require.NotEmpty(t, e.Error())
						continue
					}
					require.True(t, json.Valid(b), "%s", b)
					out := x.AppendJSON(nil)
					require.True(t, json.Valid(out), "%s\n%s", b, out)
				}
				b[i] = old
			}
		}
	}
}

func TestErrorsSayWhere(t *testing.T) {
	tests := []struct {
		typed     codec
		in, want  string
		kind      wire.ErrorKind
		path, msg string
	}{
		{typed: &CallToolParams{}, in: `{"arguments":{}}`, kind: wire.ErrMissing, path: "name", msg: "missing"},
		{typed: &CallToolParams{}, in: `{}`, kind: wire.ErrMissing, path: "name", msg: "missing"},
		{typed: &CallToolParams{}, in: `{"name":null}`, kind: wire.ErrType, path: "name", msg: "want a string, got null"},
		{typed: &CallToolParams{}, in: `{"name":"a","arguments":[]}`, kind: wire.ErrType, path: "arguments", msg: "want an object, got an array"},
		{typed: &CallToolParams{}, in: `{"name":"a","name":"a"}`, kind: wire.ErrDuplicate, path: "name", msg: "duplicate member"},
		{typed: &CallToolParams{}, in: `{"name":"a","arguments":{},"\u0061rguments":null}`, kind: wire.ErrDuplicate, path: "arguments", msg: "duplicate member"},
		{typed: &CallToolParams{}, in: `{"x":1,"name":"a","x":[2]}`, kind: wire.ErrDuplicate, path: "x", msg: "duplicate member"},
		{typed: &CallToolParams{}, in: `{"name":"a","arguments":{"a":{"b":[0,01]}}}`, kind: wire.ErrSyntax, path: "arguments.a.b[1]", msg: "want a comma or ], got 1"},
		{typed: &CallToolParams{}, in: `{"name":"a","_meta":{"io.x/y":[{}, nul]}}`, kind: wire.ErrSyntax, path: `_meta["io.x/y"][1]`, msg: "want a value, got n"},
		{typed: &CallToolParams{}, in: `{"Name":"a"}`, kind: wire.ErrMissing, path: "name", msg: "missing"},
		{typed: &CallToolParams{}, in: `[]`, kind: wire.ErrType, msg: "want an object, got an array"},
		{typed: &ListToolsResult{}, in: `{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}},{"name":5}]}`, kind: wire.ErrType, path: "tools[2].name", msg: "want a string, got a number"},
		{typed: &ListToolsResult{}, in: `{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}]}`, kind: wire.ErrMissing, path: "tools[1].inputSchema", msg: "missing"},
		{typed: &ListToolsResult{}, in: `{"tools":[{"name":"a","inputSchema":{},"annotations":{"title":"x","readOnlyHint":"yes"}}]}`, kind: wire.ErrType, path: "tools[0].annotations.readOnlyHint", msg: "want true or false, got a string"},
		{typed: &ListToolsResult{}, in: `{"tools":[{"name":"a","inputSchema":{},"annotations":{"title":"x","title":"y"}}]}`, kind: wire.ErrDuplicate, path: "tools[0].annotations.title", msg: "duplicate member"},
		{typed: &ListToolsResult{}, in: `{"tools":[{"name":"a","inputSchema":{},"annotations":{},"annotations":{"title":"x"}}]}`, kind: wire.ErrDuplicate, path: "tools[0].annotations", msg: "duplicate member"},
		{typed: &ListToolsResult{}, in: `{"tools":{}}`, kind: wire.ErrType, path: "tools", msg: "want an array, got an object"},
		{typed: &ListToolsResult{}, in: `{"tools":[],"nextCursor":7}`, kind: wire.ErrType, path: "nextCursor", msg: "want a string, got a number"},
		{typed: &CallToolResult{}, in: `{"content":[{"type":"text","text":"a"},{"type":"text"}]}`, kind: wire.ErrMissing, path: "content[1].text", msg: "missing"},
		{typed: &CallToolResult{}, in: `{"content":[{"text":"a","type":5}]}`, kind: wire.ErrType, path: "content[0].type", msg: "want a string, got a number"},
		{typed: &CallToolResult{}, in: `{"content":[{"type":"text","text":"a","type":"text"}]}`, kind: wire.ErrDuplicate, path: "content[0].type", msg: "duplicate member"},
		{typed: &CallToolResult{}, in: `{"content":[{"type":"text","text":"a","type":"image"}]}`, kind: wire.ErrValue, path: "content[0].type", msg: `want "text", got "image"`},
		{typed: &CallToolResult{}, in: `{"content":["text"]}`, kind: wire.ErrType, path: "content[0]", msg: "want an object, got a string"},
		{typed: &CallToolResult{}, in: `{"content":[null]}`, kind: wire.ErrType, path: "content[0]", msg: "want an object, got null"},
		{typed: &ProgressParams{}, in: `{"progressToken":1,"progress":1e400}`, kind: wire.ErrRange, path: "progress", msg: "1e400 is out of range for a number"},
		{typed: &ProgressParams{}, in: `{"progressToken":1,"progress":"1"}`, kind: wire.ErrType, path: "progress", msg: "want a number, got a string"},
	}
	for _, tt := range tests {
		err := wire.Decode([]byte(tt.in), wire.Options{}, tt.typed)
		var e *wire.Error
		require.ErrorAs(t, err, &e, tt.in)
		require.Equal(t, tt.kind, e.Kind, tt.in)
		require.ErrorIs(t, err, tt.kind)
		require.Equal(t, tt.path, e.Path, tt.in)
		require.Equal(t, tt.msg, e.Msg, tt.in)
		if tt.path != "" {
			require.True(t, strings.HasPrefix(err.Error(), tt.path+": "))
		}
	}
}

func TestPathsAreCut(t *testing.T) {
	key := strings.Repeat("k", 1000)
	_, err := wire.ParseRaw([]byte(`{"` + key + `":x}`))
	require.EqualError(t, err, strings.Repeat("k", 64)+"…: want a value, got x (offset 1004)")
	_, err = wire.ParseRaw([]byte(`{"a b` + key + `":x}`))
	require.EqualError(t, err, `["a b`+strings.Repeat("k", 61)+`…"]: want a value, got x (offset 1007)`)
	_, err = wire.ParseRaw([]byte(strings.Repeat(`{"key":[`, 1000) + "x"))
	var e *wire.Error
	require.ErrorAs(t, err, &e)
	require.Less(t, len(e.Path), 600)
	require.True(t, strings.HasSuffix(e.Path, "…"))
	for in, want := range map[string]string{
		`{"":x}`: `[""]`, `{"a.b":x}`: `["a.b"]`, `{"0":x}`: `["0"]`, `{"$ref":x}`: "$ref", `{"a\u0062":x}`: "ab", `{"a\n":x}`: `["a\n"]`,
		`[[[],[x`: "[0][1][0]", `{"a":1,"b":[{},{"c":x`: "b[1].c", "{\"日\":x": `["日"]`,
	} {
		_, err := wire.ParseRaw([]byte(in))
		require.ErrorAs(t, err, &e, in)
		require.Equal(t, want, e.Path, in)
	}
}

func TestUnder(t *testing.T) {
	err := wire.Decode([]byte(`{"content":[{"type":"text"}]}`), wire.Options{}, &CallToolResult{})
	require.EqualError(t, wire.Under("result", err), "result.content[0].text: missing")
	require.EqualError(t, err, "content[0].text: missing", "the error itself stays")
	_, err = wire.ParseRaw([]byte(`[x`))
	require.EqualError(t, wire.Under("params", err), "params[0]: want a value, got x (offset 1)")
	_, err = wire.ParseRaw([]byte(`x`))
	require.EqualError(t, wire.Under("params", err), "params: want a value, got x (offset 0)")
	require.Equal(t, err, wire.Under("", err))
	other := errors.New("other")
	require.Equal(t, other, wire.Under("params", other))
	require.NoError(t, wire.Under("params", nil))
}

func TestErrorKinds(t *testing.T) {
	seen := map[string]bool{}
	for k := wire.ErrSyntax; k <= wire.ErrUTF8; k++ {
		require.False(t, seen[k.Error()])
		seen[k.Error()] = true
	}
	require.Equal(t, "unknown error", wire.ErrorKind(200).Error())
	require.False(t, errors.Is(&wire.Error{Kind: wire.ErrType}, wire.ErrRange))
	require.False(t, errors.Is(&wire.Error{Kind: wire.ErrType}, errors.New("x")))
	var d wire.Dec
	d.Reset([]byte(`[1, 2]`), wire.Options{})
	require.NoError(t, d.ArrBegin())
	_, _ = d.Elem()
	_, _ = d.Int()
	_, _ = d.Elem()
	require.EqualError(t, d.Fail(wire.ErrValue, "too even"), "[1]: too even")
	require.EqualError(t, d.Require(0b101, 0b1111, []string{"a", "b"}), "b: missing")
	require.ErrorIs(t, d.Require(0b11, 0b111, []string{"a", "b"}), wire.ErrMissing)
}

// Required members are always written, optional ones exactly when they are there; null for an optional one is absence.
func TestZeroAbsentNull(t *testing.T) {
	tests := []struct {
		typed    func() codec
		in, want string // want is in if empty
	}{
		{typed: func() codec { return new(CallToolParams) }, in: `{"name":""}`},
		{typed: func() codec { return new(CallToolParams) }, in: `{"name":"","arguments":{},"_meta":{}}`},
		{typed: func() codec { return new(CallToolParams) }, in: `{"name":"","arguments":null,"_meta":null}`, want: `{"name":""}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[]}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[],"structuredContent":null}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[],"isError":false}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[],"isError":null}`, want: `{"content":[]}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[{"type":"text","text":"","annotations":{}}]}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[{"type":"text","text":"","annotations":null}]}`, want: `{"content":[{"type":"text","text":""}]}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[{"type":"text","text":"","annotations":{"audience":[],"priority":0,"lastModified":""}}]}`},
		{typed: func() codec { return new(CallToolResult) }, in: `{"content":[{"type":"text","text":"","annotations":{"audience":null,"priority":null,"lastModified":null}}]}`, want: `{"content":[{"type":"text","text":"","annotations":{}}]}`},
		{typed: func() codec { return new(ListToolsResult) }, in: `{"tools":[{"name":"","inputSchema":{},"title":"","description":"","annotations":{"title":"","readOnlyHint":false}}],"nextCursor":""}`},
		{typed: func() codec { return new(ProgressParams) }, in: `{"progressToken":0,"progress":0,"total":0,"message":""}`},
		{typed: func() codec { return new(ProgressParams) }, in: `{"progressToken":"","progress":-0,"total":-0}`},
	}
	for _, tt := range tests {
		x := tt.typed()
		require.NoError(t, wire.Decode([]byte(tt.in), wire.Options{}, x), tt.in)
		want := tt.want
		if want == "" {
			want = tt.in
		}
		require.Equal(t, want, string(x.AppendJSON(nil)))
	}
	// What a program leaves out.
	require.Equal(t, `{"content":[]}`, string(new(CallToolResult).AppendJSON(nil)))
	require.Equal(t, `{"content":[null]}`, string((&CallToolResult{Content: []ContentBlock{nil}}).AppendJSON(nil)))
	require.Equal(t, `{"name":"","inputSchema":{}}`, string(new(Tool).AppendJSON(nil)))
	require.Equal(t, `{"progressToken":null,"progress":0}`, string(new(ProgressParams).AppendJSON(nil)))
}

// Names are matched exactly, and by what they mean.
func TestNames(t *testing.T) {
	var x CallToolParams
	require.NoError(t, wire.Decode([]byte(`{"NAME":1,"Name":2,"n\u0061me":"x","name ":3,"nam":4,"":5}`), wire.Options{}, &x))
	require.Equal(t, "x", x.Name)
	require.Len(t, x.Extra, 5)
	require.Equal(t, `{"name":"x","NAME":1,"Name":2,"name ":3,"nam":4,"":5}`, string(x.AppendJSON(nil)))
	for _, in := range []string{
		`{"name":"a","name":"b"}`, `{"name":"a","n\u0061me":"b"}`, `{"n\u0061me":"a","name":"b"}`, `{"name":"a","x":1,"\u0078":2}`,
		`{"name":"a","_meta":{},"_meta":{}}`, `{"name":"a","_meta":null,"_meta":{}}`,
	} {
		require.ErrorIs(t, wire.Decode([]byte(in), wire.Options{}, new(CallToolParams)), wire.ErrDuplicate, in)
		require.ErrorIs(t, wire.Decode([]byte(in), wire.Options{Lenient: true}, new(CallToolParams)), wire.ErrDuplicate, in)
	}
	// Kelvin sign and long s fold to k and s elsewhere; here they are other names.
	x = CallToolParams{}
	require.NoError(t, wire.Decode([]byte("{\"name\":\"a\",\"argument\u017f\":1,\"\u212a\":2,\"k\":3}"), wire.Options{}, &x))
	require.Len(t, x.Extra, 3)
}

// What is not known survives byte for byte.
func TestUnknownSurvives(t *testing.T) {
	in := `{"content":[{"type":"hologram","data":[1.0,1e5,"\ud800\u0041"],"x":{ "y" : 1 }},{"data":"no type"},{"type":"text","text":"t","new":{"deep":[]}}],"resultType":"complete","ttl":1.50}`
	var x CallToolResult
	require.NoError(t, wire.Decode([]byte(in), wire.Options{}, &x))
	require.Equal(t, in, string(x.AppendJSON(nil)))
	u := x.Content[0].(*UnknownContentBlock)
	require.Equal(t, "hologram", u.Tag)
	require.Equal(t, "", x.Content[1].(*UnknownContentBlock).Tag)
}

// Text with line ends inside raw values comes out on one line.
func TestOutputStaysOnOneLine(t *testing.T) {
	in := string(indent([]byte(`{"name":"a\nb","arguments":{"x":[1,{"y":"z \\ \" \n"}],"e":{},"f":[]},"extra":[true,null]}`)))
	in = strings.ReplaceAll(in, "\n", "\r\n")
	var x CallToolParams
	require.NoError(t, wire.Decode([]byte(in), wire.Options{}, &x))
	out := x.AppendJSON(nil)
	require.NotContains(t, string(out), "\n")
	require.NotContains(t, string(out), "\r")
	require.Equal(t, `{"name":"a\nb","arguments":{"x":[1,{"y":"z \\ \" \n"}],"e":{},"f":[]},"extra":[true,null]}`, string(out))
}

func TestDecodeWantsOneValue(t *testing.T) {
	require.NoError(t, wire.Decode([]byte(" {\"name\":\"a\"}\r\n"), wire.Options{}, new(CallToolParams)))
	require.EqualError(t, wire.Decode([]byte(`{"name":"a"}{}`), wire.Options{}, new(CallToolParams)), "want the end of the text, got { (offset 12)")
	require.ErrorIs(t, wire.Decode(nil, wire.Options{}, new(CallToolParams)), wire.ErrSyntax)
}
