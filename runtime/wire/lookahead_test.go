package wire_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestDisc(t *testing.T) {
	tests := []struct {
		in, tag string
		ok      bool
		err     string
	}{
		{in: `{}`},
		{in: `{"type":"text"}`, tag: "text", ok: true},
		{in: ` { "type" : "text" } `, tag: "text", ok: true},
		{in: `{"type":""}`, ok: true},
		{in: `{"type":"te\u0078t"}`, tag: "text", ok: true},
		{in: `{"typ\u0065":"text"}`, tag: "text", ok: true},
		{in: `{"type":"naïve → 日本"}`, tag: "naïve → 日本", ok: true},
		{in: `{"a":1,"type":"text"}`, tag: "text", ok: true},
		{in: `{"a":[{"type":"no"}],"b":{"type":"no"},"c":"type","type":"yes","type":"later"}`, tag: "yes", ok: true},
		{in: `{"Type":"text","types":"x","typ":"y"}`},
		{in: `{"type":5}`, err: "type: want a string, got a number"},
		{in: `{"type":null}`, err: "type: want a string, got null"},
		{in: `{"type":`, err: "type: want a value, got the end of the text (offset 8)"},
		{in: `{"type":"a`, err: "type: the text ends inside a string (offset 10)"},
		{in: "{\"type\":\"a\n\"}", err: "type: control character in a string (offset 10)"},
		{in: `{"a":01,"type":"x"}`, err: "a: want a comma or }, got 1 (offset 6)"},
		{in: `{"a":1,}`, err: "want a member name, got } (offset 7)"},
		{in: `{"a" 1}`, err: "a: want a colon, got 1 (offset 5)"},
		{in: `{"a":[}`, err: "a[0]: want a value, got } (offset 6)"},
		{in: `{1}`, err: "want a member name or }, got 1 (offset 1)"},
		{in: "{\"a\xff\":1}", err: "invalid UTF-8 in a string (offset 3)"},
		{in: `[]`, err: "want an object, got an array"},
		{in: `"type"`, err: "want an object, got a string"},
		{in: ``, err: "want a value, got the end of the text (offset 0)"},
	}
	for _, tt := range tests {
		var d wire.Dec
		d.Reset([]byte(tt.in), wire.Options{})
		tag, ok, err := d.Disc("type")
		require.Zero(t, d.Pos(), "nothing is consumed")
		if tt.err != "" {
			require.EqualError(t, err, tt.err, tt.in)
			continue
		}
		require.NoError(t, err, tt.in)
		require.Equal(t, tt.tag, tag, tt.in)
		require.Equal(t, tt.ok, ok, tt.in)
		require.Equal(t, tt.tag, d.Own(tag))
		has, err := d.Has("type")
		require.NoError(t, err)
		require.Equal(t, tt.ok, has, tt.in)
		_, err = d.Raw()
		require.NoError(t, err)
	}
	// What Own returns survives the buffer, unless strings alias it.
	buf := []byte(`{"type":"hologram"}`)
	var d wire.Dec
	d.Reset(buf, wire.Options{})
	tag, _, _ := d.Disc("type")
	kept := d.Own(tag)
	clear(buf)
	require.Equal(t, "hologram", kept)
}

func TestHasAndLookKind(t *testing.T) {
	in := ` { "items" : { "anyOf" : [] , "enum" : null } , "n" : -1 , "b" : true , "s" : "" , "o" : { } , "arr" : [ {"x":1} ] } `
	tests := []struct {
		path []string
		kind wire.Kind
	}{
		{[]string{"items"}, wire.KindObject}, {[]string{"items", "anyOf"}, wire.KindArray}, {[]string{"items", "enum"}, wire.KindNull},
		{[]string{"items", "oneOf"}, wire.KindNone}, {[]string{"n"}, wire.KindNumber}, {[]string{"n", "x"}, wire.KindNone},
		{[]string{"b"}, wire.KindBool}, {[]string{"s"}, wire.KindString}, {[]string{"o", "x"}, wire.KindNone},
		{[]string{"arr", "x"}, wire.KindNone}, {[]string{"zz"}, wire.KindNone}, {[]string{"zz", "x"}, wire.KindNone},
	}
	for _, tt := range tests {
		var d wire.Dec
		d.Reset([]byte(in), wire.Options{})
		kind, err := d.LookKind(tt.path...)
		require.NoError(t, err)
		require.Equal(t, tt.kind, kind, tt.path)
		has, err := d.Has(tt.path...)
		require.NoError(t, err)
		require.Equal(t, tt.kind != wire.KindNone, has, tt.path)
		require.Zero(t, d.Pos())
	}
	var d wire.Dec
	d.Reset([]byte(`{"a":{"b":{"c":1}}}`), wire.Options{MaxDepth: 2})
	_, err := d.Has("a", "b", "c")
	require.ErrorIs(t, err, wire.ErrDepth)
}

// nestedUnion is told apart by a member and holds more of its kind, as no specification type does.
type nestedUnion struct {
	tag   string
	items []*nestedUnion
	raw   wire.Raw
}

func (x *nestedUnion) DecodeJSON(d *wire.Dec) error {
	tag, ok, err := d.Disc("type")
	if err != nil {
		return err
	}
	if x.tag = d.Own(tag); !ok {
		x.raw, err = d.Raw()
		return err
	}
	if has, err := d.Has("nothing", "of", "this"); has || err != nil {
		return err
	}
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if done || err != nil {
			return err
		}
		if string(k) != "items" {
			if _, err = d.Raw(); err != nil {
				return err
			}
			continue
		}
		if err = d.ArrBegin(); err != nil {
			return err
		}
		for {
			if done, err := d.Elem(); err != nil {
				return err
			} else if done {
				break
			}
			y := new(nestedUnion)
			if err := y.DecodeJSON(d); err != nil {
				return err
			}
			x.items = append(x.items, y)
		}
	}
}

// Discriminators that come last in a deep nest must not make every level read all that is below it.
func TestLookAheadIsLinear(t *testing.T) {
	build := func(depth, width int) []byte {
		leaf := `{"pad":"` + strings.Repeat("x", width) + `","more":[{"a":[1,2,3]},{}],"type":"leaf"}`
		return []byte(strings.Repeat(`{"a":{"b":[]},"items":[`, depth) + leaf + strings.Repeat(`,{"items":[],"type":"x"}],"type":"node"}`, depth))
	}
	levels := func(x *nestedUnion) (n int) {
		for ; len(x.items) > 0; x = x.items[0] {
			require.Equal(t, "node", x.tag)
			n++
		}
		return n
	}
	// The same text read once as a raw value is the measure. With a re-read per level the factor would be in the thousands.
	in := build(4000, 1<<20)
	o := wire.Options{MaxDepth: wire.HardMaxDepth}
	best := func(f func()) time.Duration {
		d := time.Hour
		for range 3 {
			start := time.Now()
			f()
			d = min(d, time.Since(start))
		}
		return d
	}
	raw := best(func() {
		_, err := read(string(in), o, (*wire.Dec).Raw)
		require.NoError(t, err)
	})
	var x *nestedUnion
	typed := best(func() {
		x = new(nestedUnion)
		require.NoError(t, wire.Decode(in, o, x))
	})
	require.Equal(t, 4000, levels(x))
	require.Less(t, typed, 100*raw+100*time.Millisecond)

	// Every shape gives the same values as without the memory.
	for depth := range 40 {
		for _, width := range []int{0, 1, 40, 70} {
			x := new(nestedUnion)
			require.NoError(t, wire.Decode(build(depth, width), o, x))
			require.Equal(t, depth, levels(x))
		}
	}
}

// What look-ahead remembers about a text must not leak into errors, the next value or the next message.
func TestLookAheadMemory(t *testing.T) {
	big := `{"x":[` + strings.Repeat(`{"y":[1,2,3,4,5,6,7,8,9,10]},`, 20) + `{"z":{}}]}`
	in := `[{"a":` + big + `,"b":` + big + `,"type":"t"},{"a":` + big + `,"c":` + big + `}]`
	var d wire.Dec
	for range 3 {
		d.Reset([]byte(in), wire.Options{})
		require.NoError(t, d.ArrBegin())
		for i := range 2 {
			_, err := d.Elem()
			require.NoError(t, err)
			for _, k := range []string{"a", "b", "c", "type", "zz", "a"} {
				kind, err := d.LookKind(k)
				require.NoError(t, err)
				want := wire.KindNone
				switch {
				case k == "a", k == "b" && i == 0, k == "c" && i == 1:
					want = wire.KindObject
				case k == "type" && i == 0:
					want = wire.KindString
				}
				require.Equal(t, want, kind, "%d %s", i, k)
			}
			for _, path := range [][]string{{"a", "x"}, {"b", "x"}, {"c", "x"}, {"a", "y"}} {
				has, err := d.Has(path...)
				require.NoError(t, err)
				require.Equal(t, path[1] == "x" && (path[0] == "a" || (path[0] == "b") == (i == 0)), has)
			}
			_, err = d.Raw()
			require.NoError(t, err)
		}
		done, err := d.Elem()
		require.NoError(t, err)
		require.True(t, done)
		d.Reset([]byte(`{"a":`+big+`,"b":[`), wire.Options{})
		_, err = d.Has("c")
		require.ErrorIs(t, err, wire.ErrSyntax)
		kind, err := d.LookKind("a")
		require.NoError(t, err)
		require.Equal(t, wire.KindObject, kind)
	}
}

// TestLongStringsLookedOver holds that a string reads the same whether a look-ahead went over it or not, and that what
// is wrong with it is found.
func TestLongStringsLookedOver(t *testing.T) {
	long := strings.Repeat("the quick brown fox ", 60)
	texts := []string{long, long + `\n`, `\u00e9` + long, long + "日本", "é" + long, long[:509], long[:510], long[:511], "", "a"}
	for _, a := range texts {
		for _, b := range texts {
			for _, format := range []string{`{"a":"%","b":["%",{"c":"%"}],"d":"%"}`, `{ "a" : "%" , "b" : [ "%" , { "c" : "%" } ] , "d" : "%" }`} {
				in := strings.NewReplacer(`"a":"%"`, `"a":"`+a+`"`, `"a" : "%"`, `"a" : "`+a+`"`, "%", b).Replace(format)
				var want, got [4]string
				read := func(to *[4]string, look bool) {
					var d wire.Dec
					d.Reset([]byte(in), wire.Options{Alias: true})
					ahead := func(names ...string) {
						if look {
							for _, n := range append(names, "none") {
								_, err := d.Has(n)
								require.NoError(t, err)
							}
						}
					}
					str := func(to *string) {
						s, err := d.Str()
						require.NoError(t, err)
						*to = s
					}
					key := func(want string) {
						k, done, err := d.Key()
						require.NoError(t, err)
						require.False(t, done)
						require.Equal(t, want, string(k))
					}
					ahead("b", "d")
					require.NoError(t, d.ObjBegin())
					key("a")
					str(&to[0])
					key("b")
					require.NoError(t, d.ArrBegin())
					_, err := d.Elem()
					require.NoError(t, err)
					str(&to[1])
					_, err = d.Elem()
					require.NoError(t, err)
					ahead("c")
					require.NoError(t, d.ObjBegin())
					key("c")
					str(&to[2])
					_, done, err := d.Key()
					require.NoError(t, err)
					require.True(t, done)
					done, err = d.Elem()
					require.NoError(t, err)
					require.True(t, done)
					key("d")
					str(&to[3])
					_, done, err = d.Key()
					require.NoError(t, err)
					require.True(t, done)
					require.NoError(t, d.End())
				}
				read(&want, false)
				read(&got, true)
				require.Equal(t, want, got)
			}
		}
	}
	for _, bad := range []string{long + "\x01", long + "\xff", long + `\x`, long + `\u12`} {
		var d wire.Dec
		in := `{"a":"` + bad + `","b":"` + long + `"}`
		d.Reset([]byte(in), wire.Options{})
		_, err := d.Has("none")
		require.Error(t, err)
		_, again := d.Has("none")
		require.Equal(t, err, again)
	}
	// One decoder, text after text: nothing of the one before is believed.
	var d wire.Dec
	for range 2 {
		for _, in := range []string{`{"a":"` + long + `"}`, `{"a":"` + long[:600] + `\n` + long[600:] + `"}`, `{"a":"b","c":"` + long + `"}`} {
			d.Reset([]byte(in), wire.Options{})
			_, err := d.Has("none")
			require.NoError(t, err)
			want, _ := wire.Raw(in).Get("a").Str()
			require.NoError(t, d.ObjBegin())
			_, _, err = d.Key()
			require.NoError(t, err)
			got, err := d.Str()
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}
