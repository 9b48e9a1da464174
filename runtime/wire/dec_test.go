package wire_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// read decodes s with f, from a buffer with nothing behind it.
func read[T any](s string, o wire.Options, f func(*wire.Dec) (T, error)) (T, error) {
	var d wire.Dec
	d.Reset([]byte(s)[:len(s):len(s)], o)
	v, err := f(&d)
	if err == nil {
		err = d.End()
	}
	return v, err
}

// spaced returns s as it is, with white space around it, and followed by what makes fast paths possible.
func spaced(s string) []string {
	return []string{s, " \n\r\t" + s + "\t\r\n ", s + strings.Repeat(" ", 16)}
}

func TestStr(t *testing.T) {
	long := strings.Repeat("abcdefgh", 100)
	tests := []struct{ in, want, err string }{
		{in: `""`},
		{in: `"a"`, want: "a"},
		{in: `"abcdefg"`, want: "abcdefg"},
		{in: `"abcdefgh"`, want: "abcdefgh"},
		{in: `"` + long + `"`, want: long},
		{in: `"\"\\\/\b\f\n\r\t"`, want: "\"\\/\b\f\n\r\t"},
		{in: `"\u0041\u00e9\u20AC\uD83D\uDE00"`, want: "Aé€😀"},
		{in: `"` + long + `\n` + long + `é` + long + `\u0041"`, want: long + "\n" + long + "é" + long + "A"},
		{in: `"é"`, want: "é"},
		{in: `"日本語日本語日本語"`, want: "日本語日本語日本語"},
		{in: `"Кириллица и ещё"`, want: "Кириллица и ещё"},
		{in: `"😀😀😀😀"`, want: "😀😀😀😀"},
		{in: "\"\u2028\u2029\x7f\"", want: "\u2028\u2029\x7f"},
		{in: `"\u0000"`, want: "\x00"},
		{in: "\"\ufeff\"", want: "\ufeff"},
		{in: "\"\ud7ff\ue000\U0010ffff\U00010000\u0080\u07ff\u0800\uffff\"", want: "\ud7ff\ue000\U0010ffff\U00010000\u0080\u07ff\u0800\uffff"},

		{in: `"a`, err: "the text ends inside a string (offset 2)"},
		{in: `"a\`, err: "the text ends inside a string (offset 3)"},
		{in: `"a\u12`, err: "the text ends inside a string (offset 6)"},
		{in: `"\x"`, err: "invalid escape in a string (offset 1)"},
		{in: `"\u12g4"`, err: "invalid escape in a string (offset 1)"},
		{in: `"\U0041"`, err: "invalid escape in a string (offset 1)"},
		{in: `"` + long + `\n\'"`, err: "invalid escape in a string (offset 803)"},
		{in: "\"a\nb\"", err: "control character in a string (offset 2)"},
		{in: "\"a\\t\x00b\"", err: "control character in a string (offset 4)"},
		{in: "\"\x1f\"", err: "control character in a string (offset 1)"},
		{in: "\"abc\xff\"", err: "invalid UTF-8 in a string (offset 4)"},
		{in: "\"\x80\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xc0\x80\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xc1\xbf\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xe0\x9f\xbf\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xed\xa0\x80\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"日\xed\xbf\xbf\"", err: "invalid UTF-8 in a string (offset 4)"},
		{in: "\"\xf0\x8f\xbf\xbf\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xf4\x90\x80\x80\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xf5\x80\x80\x80\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xc3\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\xe2\x82\"", err: "invalid UTF-8 in a string (offset 1)"},
		{in: "\"\\n\xe2\x82\"", err: "invalid UTF-8 in a string (offset 3)"},
		{in: "\"\xe2\x82", err: "the text ends inside a string (offset 3)"},
		{in: `1`, err: "want a string, got a number"},
		{in: `null`, err: "want a string, got null"},
		{in: `{}`, err: "want a string, got an object"},
		{in: ``, err: "want a value, got the end of the text (offset 0)"},
		{in: `'a'`, err: "want a value, got ' (offset 0)"},
		{in: "\x00", err: "want a value, got byte 0x00 (offset 0)"},
		{in: "\ufeff\"a\"", err: "want a value, got byte 0xef (offset 0)"},
		{in: `"a"x`, err: "want the end of the text, got x (offset 3)"},
		{in: `"a""b"`, err: `want the end of the text, got " (offset 3)`},
		{in: "\"a\"\x00", err: "want the end of the text, got byte 0x00 (offset 3)"},
	}
	for _, tt := range tests {
		for _, o := range []wire.Options{{}, {Alias: true}, {Lenient: true}} {
			_, err := read(tt.in, o, (*wire.Dec).Str)
			if tt.err != "" {
				require.EqualError(t, err, tt.err, "%q", tt.in)
				continue
			}
			require.NoError(t, err, "%q", tt.in)
			for _, in := range spaced(tt.in) {
				got, err := read(in, o, (*wire.Dec).Str)
				require.NoError(t, err, "%q", in)
				require.Equal(t, tt.want, got)
			}
		}
	}
}

// A string is looked at in words, so every byte must be seen wherever it stands.
func TestStrEveryPosition(t *testing.T) {
	for n := range 70 {
		pre := strings.Repeat("x", n)
		for _, post := range []string{"", "y", strings.Repeat("y", 40)} {
			for in, want := range map[string]string{
				pre + `\n` + post:     pre + "\n" + post,
				pre + `é` + post:      pre + "é" + post,
				pre + `日本` + post:     pre + "日本" + post,
				pre + `\u65e5` + post: pre + "日" + post,
				pre + post:            pre + post,
			} {
				got, err := read(`"`+in+`"`, wire.Options{}, (*wire.Dec).Str)
				require.NoError(t, err, in)
				require.Equal(t, want, got)
				require.Equal(t, want, string(must(wire.Quote(want).Str())))
				r, err := read(`"`+in+`"`, wire.Options{}, (*wire.Dec).Raw)
				require.NoError(t, err)
				require.Equal(t, `"`+in+`"`, string(r))
			}
			for c := range 256 {
				in := `"` + pre + string([]byte{byte(c)}) + post + `"`
				bad := c < 0x20 || c >= 0x80 || c == '\\' && !strings.HasPrefix(post, "/")
				if c == '"' {
					continue
				}
				_, err := read(in, wire.Options{}, (*wire.Dec).Str)
				require.Equal(t, bad, err != nil, "%q", in)
				_, err = read(in, wire.Options{}, (*wire.Dec).Raw)
				require.Equal(t, bad, err != nil, "%q", in)
			}
		}
	}
}

func must[T any](v T, ok bool) T {
	if !ok {
		panic("not ok")
	}
	return v
}

func TestLoneSurrogate(t *testing.T) {
	tests := []struct {
		in, want string
		off      int
	}{
		{`"\ud800"`, "\ufffd", 1},
		{`"ab\udc00cd"`, "ab\ufffdcd", 3},
		{`"\ud83d\ud83d\ude00"`, "\ufffd😀", 1},
		{`"\ud83d\n"`, "\ufffd\n", 1},
		{`"\ud83dx\ude00"`, "\ufffdx\ufffd", 1},
		{`"\ud83d\u0041"`, "\ufffdA", 1},
		{`"\ude00\ud83d"`, "\ufffd\ufffd", 1},
	}
	for _, tt := range tests {
		_, err := read(tt.in, wire.Options{}, (*wire.Dec).Str)
		require.ErrorIs(t, err, wire.ErrValue, tt.in)
		require.EqualError(t, err, "lone surrogate escape")

		var d wire.Dec
		d.Reset([]byte(tt.in), wire.Options{Lenient: true})
		got, err := d.Str()
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.want, got)
		require.Equal(t, []wire.Problem{{Kind: wire.ErrValue, Msg: "lone surrogate escape", Offset: int64(tt.off)}}, d.Skipped())

		r, err := read(tt.in, wire.Options{}, (*wire.Dec).Raw)
		require.NoError(t, err)
		require.Equal(t, tt.in, r.String(), "a raw value keeps it")
	}
	_, err := read(`"\ud800\ug"`, wire.Options{Lenient: true}, (*wire.Dec).Str)
	require.ErrorIs(t, err, wire.ErrSyntax)

	// In a name it is the same.
	var x CallToolParams
	err = wire.Decode([]byte(`{"name":"a","b\ud800":1}`), wire.Options{}, &x)
	require.ErrorIs(t, err, wire.ErrValue)
	x = CallToolParams{}
	require.NoError(t, wire.Decode([]byte(`{"name":"a","b\ud800":1}`), wire.Options{Lenient: true}, &x))
	require.Equal(t, "b\ufffd", x.Extra[0].Name)
}

func TestShortInt(t *testing.T) {
	for _, in := range []string{"1", "10", "999999999999999999"} {
		for _, in := range append(spaced(in), in+",", in+"]", in+"}") {
			var d wire.Dec
			d.Reset([]byte(in), wire.Options{})
			got, ok := d.ShortInt()
			require.True(t, ok, in)
			want, err := strconv.ParseInt(strings.Trim(in, " \n\r\t,]}"), 10, 64)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	for _, in := range []string{"", " ", "0", "-1", "01", "1.0", "1.", "1e2", "1E2", "1000000000000000000", `"1"`, "null", "{}"} {
		var d wire.Dec
		d.Reset([]byte(in), wire.Options{})
		_, ok := d.ShortInt()
		require.False(t, ok, in)
		require.Zero(t, d.Pos(), "it stays in its place")
	}
}

func TestInt(t *testing.T) {
	tests := []struct {
		in   string
		want int64
		err  string
	}{
		{in: "0"}, {in: "-0"}, {in: "1", want: 1}, {in: "-1", want: -1},
		{in: "123456789012345678", want: 123456789012345678},
		{in: "9223372036854775807", want: math.MaxInt64},
		{in: "-9223372036854775808", want: math.MinInt64},
		{in: "9007199254740993", want: 1<<53 + 1},
		{in: "1.0", want: 1}, {in: "-1.000", want: -1}, {in: "1e2", want: 100}, {in: "1E+2", want: 100},
		{in: "120e-1", want: 12}, {in: "1.5e1", want: 15}, {in: "0.0"}, {in: "0e999999999999999999999"}, {in: "-0.0e-5"},
		{in: "9007199254740992.0", want: 1 << 53}, {in: "-9007199254740992e0", want: -1 << 53},
		{in: "1e15", want: 1e15}, {in: "0.00012e5", want: 12},
		{in: "10000000000000000000000000000000000000000e-40", want: 1},

		{in: "9223372036854775808", err: "9223372036854775808 is out of range for an integer"},
		{in: "-9223372036854775809", err: "-9223372036854775809 is out of range for an integer"},
		{in: "9007199254740993.0", err: "9007199254740993.0 is out of range for an integer"},
		{in: "1e16", err: "1e16 is out of range for an integer"},
		{in: "1e400", err: "1e400 is out of range for an integer"},
		{in: "1e1000001", err: "1e1000001 is out of range for an integer"},
		{in: "1e99999999999999999999", err: "1e99999999999999999999 is out of range for an integer"},
		{in: "1.5", err: "want an integer, got 1.5"},
		{in: "1e-1", err: "want an integer, got 1e-1"},
		{in: "1e-99999999999999999999", err: "want an integer, got 1e-99999999999999999999"},
		{in: "01", err: "want the end of the text, got 1 (offset 1)"},
		{in: "-", err: "want a digit, got the end of the text (offset 1)"},
		{in: "-a", err: "want a digit, got a (offset 1)"},
		{in: "1.", err: "want a digit, got the end of the text (offset 2)"},
		{in: "1.e5", err: "want a digit, got e (offset 2)"},
		{in: "1e", err: "want a digit, got the end of the text (offset 2)"},
		{in: "1e+", err: "want a digit, got the end of the text (offset 3)"},
		{in: "+1", err: "want a value, got + (offset 0)"},
		{in: ".5", err: "want a value, got . (offset 0)"},
		{in: "0x1", err: "want the end of the text, got x (offset 1)"},
		{in: "NaN", err: "want a value, got N (offset 0)"},
		{in: `"1"`, err: "want an integer, got a string"},
		{in: `true`, err: "want an integer, got a boolean"},
	}
	for _, tt := range tests {
		_, err := read(tt.in, wire.Options{}, (*wire.Dec).Int)
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.in)
			_, ok := wire.Raw(tt.in).Int()
			if !errors.Is(err, wire.ErrSyntax) {
				require.False(t, ok, tt.in)
			}
			continue
		}
		require.NoError(t, err, tt.in)
		for _, in := range spaced(tt.in) {
			got, err := read(in, wire.Options{}, (*wire.Dec).Int)
			require.NoError(t, err, in)
			require.Equal(t, tt.want, got, in)
		}
		require.Equal(t, tt.want, must(wire.Raw(tt.in).Int()))
	}
}

func TestFloat(t *testing.T) {
	tests := []struct {
		in   string
		want float64
		err  string
	}{
		{in: "0"}, {in: "1", want: 1}, {in: "-1", want: -1}, {in: "0.5", want: 0.5}, {in: "42.5", want: 42.5},
		{in: "0.1", want: 0.1}, {in: "0.3", want: 0.3}, {in: "-123.456", want: -123.456}, {in: "1.10", want: 1.1},
		{in: "123456789012345", want: 123456789012345}, {in: "1234567890123456", want: 1234567890123456},
		{in: "9007199254740993", want: 9007199254740992},
		{in: "1e2", want: 100}, {in: "1E-2", want: 0.01}, {in: "1.5e300", want: 1.5e300}, {in: "5e-324", want: 5e-324},
		{in: "1e-400"}, {in: "0.000000000000001", want: 1e-15}, {in: "1.7976931348623157e308", want: math.MaxFloat64},
		{in: "-0", want: math.Copysign(0, -1)}, {in: "-0.0", want: math.Copysign(0, -1)}, {in: "0e400"},
		{in: "1e400", err: "1e400 is out of range for a number"},
		{in: "-1e1000001", err: "-1e1000001 is out of range for a number"},
		{in: "00", err: "want the end of the text, got 0 (offset 1)"},
		{in: "-01.5", err: "want the end of the text, got 1 (offset 2)"},
		{in: "1.", err: "want a digit, got the end of the text (offset 2)"},
		{in: "1.x", err: "want a digit, got x (offset 2)"},
		{in: "1.5e", err: "want a digit, got the end of the text (offset 4)"},
		{in: "-", err: "want a digit, got the end of the text (offset 1)"},
		{in: "Infinity", err: "want a value, got I (offset 0)"},
		{in: "[]", err: "want a number, got an array"},
	}
	for _, tt := range tests {
		_, err := read(tt.in, wire.Options{}, (*wire.Dec).Float)
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		for _, in := range spaced(tt.in) {
			got, err := read(in, wire.Options{}, (*wire.Dec).Float)
			require.NoError(t, err, in)
			require.Equal(t, math.Float64bits(tt.want), math.Float64bits(got), in)
		}
		require.Equal(t, tt.want, must(wire.Raw(tt.in).Float()))
	}
}

func TestNumberLength(t *testing.T) {
	ok := strings.Repeat("1", wire.MaxNumberLen)
	for _, f := range []func(*wire.Dec) (wire.Raw, error){(*wire.Dec).Raw} {
		_, err := read(ok, wire.Options{}, f)
		require.NoError(t, err)
		_, err = read(ok+"1", wire.Options{}, f)
		require.ErrorIs(t, err, wire.ErrLimit)
	}
	_, err := read("0."+ok, wire.Options{}, (*wire.Dec).Float)
	require.EqualError(t, err, "number literal longer than 1024 bytes (offset 0)")
	_, err = read(ok, wire.Options{}, (*wire.Dec).Int)
	require.ErrorIs(t, err, wire.ErrRange)
	_, err = read(ok+"1", wire.Options{}, (*wire.Dec).Int)
	require.ErrorIs(t, err, wire.ErrLimit)
	var x CallToolParams
	err = wire.Decode([]byte(`{"name":"a","x":{"y":[`+ok+`0]}}`), wire.Options{}, &x)
	require.ErrorIs(t, err, wire.ErrLimit)
}

func TestBoolNull(t *testing.T) {
	for in, want := range map[string]bool{"true": true, "false": false} {
		for _, in := range spaced(in) {
			got, err := read(in, wire.Options{}, (*wire.Dec).Bool)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
	for in, want := range map[string]string{
		"tru":   "want a value, got t (offset 0)",
		"truex": "want the end of the text, got x (offset 4)",
		"True":  "want a value, got T (offset 0)",
		"null":  "want true or false, got null",
		"1":     "want true or false, got a number",
		"":      "want a value, got the end of the text (offset 0)",
	} {
		_, err := read(in, wire.Options{}, (*wire.Dec).Bool)
		require.EqualError(t, err, want, in)
	}
	for in, want := range map[string]bool{"null": true, " \nnull": true, "nul": false, "": false, " ": false, "1": false, "\x01null": false} {
		var d wire.Dec
		d.Reset([]byte(in), wire.Options{})
		require.Equal(t, want, d.Null(), in)
		if want {
			require.NoError(t, d.End())
		}
	}
}

// The readers of optional scalars take null for absent, and hand out variables of their own.
func TestPointers(t *testing.T) {
	s, err := read(`null`, wire.Options{}, (*wire.Dec).StrPtr)
	require.NoError(t, err)
	require.Nil(t, s)
	b, err := read(`null`, wire.Options{}, (*wire.Dec).BoolPtr)
	require.NoError(t, err)
	require.Nil(t, b)
	i, err := read(`null`, wire.Options{}, (*wire.Dec).IntPtr)
	require.NoError(t, err)
	require.Nil(t, i)
	f, err := read(`null`, wire.Options{}, (*wire.Dec).FloatPtr)
	require.NoError(t, err)
	require.Nil(t, f)

	const n = 300
	all := func(s string) *wire.Dec {
		d := new(wire.Dec)
		d.Reset([]byte("["+strings.Repeat(s+",", n-1)+s+"]"), wire.Options{})
		require.NoError(t, d.ArrBegin())
		return d
	}
	var strs []*string
	var bools []*bool
	var ints []*int64
	var floats []*float64
	d := all(`"a"`)
	for done, err := d.Elem(); !done; done, err = d.Elem() {
		require.NoError(t, err)
		p, err := d.StrPtr()
		require.NoError(t, err)
		strs = append(strs, p)
	}
	d = all("true")
	for done, err := d.Elem(); !done; done, err = d.Elem() {
		require.NoError(t, err)
		p, err := d.BoolPtr()
		require.NoError(t, err)
		bools = append(bools, p)
	}
	d = all("7")
	for done, err := d.Elem(); !done; done, err = d.Elem() {
		require.NoError(t, err)
		p, err := d.IntPtr()
		require.NoError(t, err)
		ints = append(ints, p)
	}
	d = all("0.5")
	for done, err := d.Elem(); !done; done, err = d.Elem() {
		require.NoError(t, err)
		p, err := d.FloatPtr()
		require.NoError(t, err)
		floats = append(floats, p)
	}
	for k := range n {
		require.Equal(t, "a", *strs[k])
		require.True(t, *bools[k])
		require.Equal(t, int64(7), *ints[k])
		require.Equal(t, 0.5, *floats[k])
		*strs[k], *bools[k], *ints[k], *floats[k] = "x", false, 0, 0
	}

	for _, in := range []string{`1`, `{}`, `nul`, `tru`, `"a`, `-`} {
		_, err := read(in, wire.Options{}, (*wire.Dec).StrPtr)
		require.Error(t, err)
		if in != "1" {
			_, err = read(in, wire.Options{}, (*wire.Dec).IntPtr)
			require.Error(t, err)
			_, err = read(in, wire.Options{}, (*wire.Dec).FloatPtr)
			require.Error(t, err)
		}
		_, err = read(in, wire.Options{}, (*wire.Dec).BoolPtr)
		require.Error(t, err)
	}
}

// Copies of strings share memory among themselves, never with the buffer; aliases are the buffer.
func TestStringOwnership(t *testing.T) {
	in := `["a","` + strings.Repeat("b", 300) + `","c\n","` + strings.Repeat("d", 100) + `"` + strings.Repeat(`,"some words"`, 300) + `]`
	for _, alias := range []bool{false, true} {
		buf := []byte(in)
		var d wire.Dec
		d.Reset(buf, wire.Options{Alias: alias})
		got, err := d.Strs()
		require.NoError(t, err)
		want := append([]string{"a", strings.Repeat("b", 300), "c\n", strings.Repeat("d", 100)}, got[4:]...)
		require.Equal(t, want, got)
		for _, s := range got[4:] {
			require.Equal(t, "some words", s)
		}
		clear(buf)
		if alias {
			require.Equal(t, "\x00", got[0])
			require.Equal(t, "c\n", got[2], "what had to be unescaped is a copy")
		} else {
			require.Equal(t, "a", got[0])
			require.Equal(t, "some words", got[303])
		}
		// Another message does not disturb the strings of the first.
		d.Reset([]byte(`["zzzzzzzzzzzz","\n\n\n\n\n\n","zzzz"]`), wire.Options{})
		_, err = d.Strs()
		require.NoError(t, err)
		require.Equal(t, "c\n", got[2])
	}
}

func TestKeys(t *testing.T) {
	long := strings.Repeat("k", 100)
	tests := []struct {
		in   string
		keys []string
		err  string
	}{
		{in: `{}`}, {in: ` { } `},
		{in: `{"a":1}`, keys: []string{"a"}},
		{in: `{ "a" : 1 , "b" : 2 }`, keys: []string{"a", "b"}},
		{in: `{"":1,"abcdefgh":2,"` + long + `":3}`, keys: []string{"", "abcdefgh", long}},
		{in: `{"\u006eame":1,"a\"b":2,"日本":3,"é":4}`, keys: []string{"name", `a"b`, "日本", "é"}},
		{in: `{`, err: "want a member name or }, got the end of the text (offset 1)"},
		{in: `{,`, err: "want a member name or }, got , (offset 1)"},
		{in: `{"a"`, err: "a: want a colon, got the end of the text (offset 4)"},
		{in: `{"a"1`, err: "a: want a colon, got 1 (offset 4)"},
		{in: `{"a":1`, err: "a: want a comma or }, got the end of the text (offset 6)"},
		{in: `{"a":1]`, err: "a: want a comma or }, got ] (offset 6)"},
		{in: `{"a":1,}`, err: "want a member name, got } (offset 7)"},
		{in: `{"a":1,1`, err: "want a member name, got 1 (offset 7)"},
		{in: `{"a":1 "b"`, err: `a: want a comma or }, got " (offset 7)`},
		{in: `{"a":1,,`, err: "want a member name, got , (offset 7)"},
		{in: `{a:1}`, err: "want a member name or }, got a (offset 1)"},
		{in: `{1:1}`, err: "want a member name or }, got 1 (offset 1)"},
		{in: "{\"a\n\":1}", err: "control character in a string (offset 3)"},
		{in: `{"a\q":1}`, err: "invalid escape in a string (offset 3)"},
		{in: "{\"a\xff\":1}", err: "invalid UTF-8 in a string (offset 3)"},
		{in: `[]`, err: "want an object, got an array"},
		{in: ``, err: "want a value, got the end of the text (offset 0)"},
	}
	for _, tt := range tests {
		keys := func(d *wire.Dec) (keys []string, err error) {
			if err := d.ObjBegin(); err != nil {
				return nil, err
			}
			for {
				k, done, err := d.Key()
				if done || err != nil {
					return keys, err
				}
				keys = append(keys, d.KeyString(k))
				if _, err := d.Int(); err != nil {
					return nil, err
				}
			}
		}
		got, err := read(tt.in, wire.Options{}, keys)
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.keys, got)
		got, err = read(tt.in+strings.Repeat(" ", 20), wire.Options{Alias: true}, keys)
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.keys, got)
	}
}

func TestElems(t *testing.T) {
	tests := []struct {
		in  string
		n   int
		err string
	}{
		{in: `[]`}, {in: ` [ ] `}, {in: `["a"]`, n: 1}, {in: ` [ "a" , "b" ] `, n: 2},
		{in: `[`, err: "[0]: want a value, got the end of the text (offset 1)"},
		{in: `[,`, err: "[0]: want a value, got , (offset 1)"},
		{in: `["a"`, err: "[0]: want a comma or ], got the end of the text (offset 4)"},
		{in: `["a"}`, err: "[0]: want a comma or ], got } (offset 4)"},
		{in: `["a",]`, err: "[1]: want a value, got ] (offset 5)"},
		{in: `["a" "b"]`, err: `[0]: want a comma or ], got " (offset 5)`},
		{in: `["a",1]`, err: "[1]: want a string, got a number"},
		{in: `{}`, err: "want an array, got an object"},
		{in: `null`, err: "want an array, got null"},
	}
	for _, tt := range tests {
		got, err := read(tt.in, wire.Options{}, (*wire.Dec).Strs)
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		require.NotNil(t, got)
		require.Len(t, got, tt.n)
	}
	got, err := read(`null`, wire.Options{}, (*wire.Dec).StrsOpt)
	require.NoError(t, err)
	require.Nil(t, got)
}

func TestConst(t *testing.T) {
	for _, in := range []string{`"text"`, ` "text"`, `"\u0074ext"`} {
		_, err := read(in, wire.Options{}, func(d *wire.Dec) (int, error) { return 0, d.Const("text") })
		require.NoError(t, err, in)
	}
	for in, want := range map[string]string{
		`"texts"`:                           `want "text", got "texts"`,
		`"tex"`:                             `want "text", got "tex"`,
		`"Text"`:                            `want "text", got "Text"`,
		`""`:                                `want "text", got ""`,
		`5`:                                 "want a string, got a number",
		`"text`:                             "the text ends inside a string (offset 5)",
		`"` + strings.Repeat("x", 50) + `"`: `want "text", got "` + strings.Repeat("x", 40) + `"…`,
	} {
		_, err := read(in, wire.Options{}, func(d *wire.Dec) (int, error) { return 0, d.Const("text") })
		require.EqualError(t, err, want, in)
	}
}

func TestDepth(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	tests := []struct {
		depth, max int
		ok         bool
	}{
		{1, 1, true}, {2, 1, false}, {256, 0, true}, {257, 0, false}, {64, 64, true}, {65, 64, false},
		{1000, 1000, true}, {1001, 1000, false}, {10_000, 10_000, true}, {10_001, 10_000, false},
		{10_000, 1 << 30, true}, {10_001, 1 << 30, false}, {256, -1, true}, {257, -1, false},
	}
	for _, tt := range tests {
		o := wire.Options{MaxDepth: tt.max}
		_, err := read(nest(tt.depth), o, (*wire.Dec).Raw)
		require.Equal(t, tt.ok, err == nil, "%+v %v", tt, err)
		// Typed levels count as raw ones do.
		if tt.depth > 1 {
			in := `{"name":"a","x":` + nest(tt.depth-1) + `}`
			err = wire.Decode([]byte(in), o, new(CallToolParams))
			require.Equal(t, tt.ok, err == nil, "%+v %v", tt, err)
			if err != nil {
				require.ErrorIs(t, err, wire.ErrDepth)
			}
		}
	}
	// Objects too, mixed with arrays, and siblings do not add up.
	in := strings.Repeat(`{"a":[`, 100) + strings.Repeat(`]}`, 100)
	all := "[" + in + strings.Repeat(","+in, 10) + "]"
	_, err := read(all, wire.Options{MaxDepth: 201}, (*wire.Dec).Raw)
	require.NoError(t, err)
	_, err = read(all, wire.Options{MaxDepth: 200}, (*wire.Dec).Raw)
	require.ErrorIs(t, err, wire.ErrDepth)
	require.ErrorContains(t, err, "nested deeper than 200 (offset ")

	var d wire.Dec
	d.Reset([]byte("[[{}]]"), wire.Options{MaxDepth: 2})
	require.NoError(t, d.ArrBegin())
	_, err = d.Elem()
	require.NoError(t, err)
	require.NoError(t, d.ArrBegin())
	_, err = d.Elem()
	require.NoError(t, err)
	require.ErrorIs(t, d.ObjBegin(), wire.ErrDepth)
	require.ErrorIs(t, d.ArrBegin(), wire.ErrType)
}

func TestKind(t *testing.T) {
	for in, want := range map[string]wire.Kind{
		"null": wire.KindNull, "true": wire.KindBool, "false": wire.KindBool, "-1": wire.KindNumber, "9": wire.KindNumber,
		`""`: wire.KindString, "[]": wire.KindArray, "{}": wire.KindObject, "": wire.KindNone, "x": wire.KindNone, "]": wire.KindNone,
	} {
		for _, in := range spaced(in) {
			var d wire.Dec
			d.Reset([]byte(in), wire.Options{})
			require.Equal(t, want, d.Kind(), in)
			require.Equal(t, want, wire.Raw(in).Kind(), in)
		}
	}
	require.Equal(t, "an object", wire.KindObject.String())
	require.Equal(t, "nothing", wire.Kind(99).String())
}

func TestRawReading(t *testing.T) {
	for _, in := range []string{`null`, `true`, `false`, `0`, `-1.5e+10`, `"a\u0041\ud800"`, `[]`, `{}`, `[1,[2,[3]],{"a":{"b":[]}}]`,
		`{ "a" : [ 1 , 2 ] , "long name here" : "long string here" }`} {
		for _, s := range spaced(in) {
			r, err := read(s, wire.Options{}, (*wire.Dec).Raw)
			require.NoError(t, err, s)
			require.Equal(t, in, r.String())
			require.Equal(t, len(r), cap(r), "an append must not write to the buffer")
			r, err = wire.ParseRaw([]byte(s))
			require.NoError(t, err)
			require.Equal(t, in, r.String())
		}
	}
	for in, want := range map[string]string{
		``: "want a value, got the end of the text (offset 0)", ` `: "want a value, got the end of the text (offset 1)",
		`nul`: "want a value, got n (offset 0)", `tru `: "want a value, got t (offset 0)", `fals`: "want a value, got f (offset 0)",
		`[1,2`: "[1]: want a comma or ], got the end of the text (offset 4)", `[1 2]`: "[0]: want a comma or ], got 2 (offset 3)",
		`[,1]`: "[0]: want a value, got , (offset 1)", `[1,]`: "[1]: want a value, got ] (offset 3)",
		`{"a" 1}`: "a: want a colon, got 1 (offset 5)", `{"a":}`: "a: want a value, got } (offset 5)",
		`{"a":1,}`: "want a member name, got } (offset 7)", `{,}`: "want a member name or }, got , (offset 1)",
		`{"a":1 "b":2}`: `a: want a comma or }, got " (offset 7)`, `{"a":1]`: "a: want a comma or }, got ] (offset 6)",
		`[1}`: "[0]: want a comma or ], got } (offset 2)", `{a:1}`: "want a member name or }, got a (offset 1)",
		`{"a":[{"b":tru}]}`: "a[0].b: want a value, got t (offset 11)", `{"a":1,"b":+1}`: "b: want a value, got + (offset 11)",
		`/**/1`: "want a value, got / (offset 0)",
	} {
		_, err := read(in, wire.Options{}, (*wire.Dec).Raw)
		require.EqualError(t, err, want, in)
	}
	_, err := read(` "a"`, wire.Options{}, (*wire.Dec).RawObject)
	require.EqualError(t, err, "want an object, got a string")
	r, err := read(` {} `, wire.Options{}, (*wire.Dec).RawObject)
	require.NoError(t, err)
	require.Equal(t, "{}", r.String())
	r, err = read(` null `, wire.Options{}, (*wire.Dec).RawObjectOpt)
	require.NoError(t, err)
	require.Nil(t, r)
}

func TestResetForgets(t *testing.T) {
	var d wire.Dec
	d.Reset([]byte(`{"name":"a","b`), wire.Options{Lenient: true, MaxDepth: 3})
	require.Error(t, new(CallToolParams).DecodeJSON(&d))
	d.Reset([]byte(` {"name":"a"} `), wire.Options{})
	require.False(t, d.Lenient())
	require.Equal(t, 0, d.Pos())
	var x CallToolParams
	require.NoError(t, x.DecodeJSON(&d))
	require.NoError(t, d.End())
	require.Empty(t, d.Skipped())
	require.Zero(t, d.SkippedCount())
}
