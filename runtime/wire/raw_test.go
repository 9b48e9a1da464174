package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestRawAccess(t *testing.T) {
	r := wire.MustRaw(` { "a" : 1 , "b" : [ true , null , "x" ] , "\u0063" : "\ud83d\ude00" , "a" : 2 , "e" : { } } `)
	require.Equal(t, wire.KindObject, r.Kind())
	require.Equal(t, "1", r.Get("a").String(), "the first counts")
	require.Equal(t, `[ true , null , "x" ]`, r.Get("b").String())
	require.Equal(t, "😀", must(r.Get("c").Str()))
	require.Nil(t, r.Get("A"))
	require.Nil(t, r.Get("e").Get("a"))
	require.Nil(t, r.Get("b").Get("a"))
	require.Nil(t, wire.Raw(nil).Get("a"))

	var names, values []string
	for k, v := range r.Members() {
		names, values = append(names, k), append(values, v.String())
	}
	require.Equal(t, []string{"a", "b", "c", "a", "e"}, names)
	require.Equal(t, []string{"1", `[ true , null , "x" ]`, `"\ud83d\ude00"`, "2", "{ }"}, values)
	var elems []string
	for v := range r.Get("b").Elems() {
		elems = append(elems, v.String())
	}
	require.Equal(t, []string{"true", "null", `"x"`}, elems)
	for range r.Members() {
		break
	}
	for range r.Get("b").Elems() {
		break
	}
	for range r.Elems() {
		t.Fatal("an object has no elements")
	}
	for range r.Get("b").Members() {
		t.Fatal("an array has no members")
	}

	require.True(t, must(wire.Raw(elems[0]).Bool()))
	require.False(t, must(wire.Raw(" false").Bool()))
	for _, in := range []string{`null`, `"true"`, `1`, ``, `t`} {
		_, ok := wire.Raw(in).Bool()
		require.False(t, ok, in)
	}
	for _, in := range []string{`null`, `true`, `1`, ``, `"a`, `"\q"`} {
		_, ok := wire.Raw(in).Str()
		require.False(t, ok, in)
	}
	for _, in := range []string{`null`, `"1"`, ``, `-`, `[1]`} {
		_, ok := wire.Raw(in).Int()
		require.False(t, ok, in)
		_, ok = wire.Raw(in).Float()
		require.False(t, ok, in)
	}
	require.Equal(t, "\ufffdx", must(wire.Raw(`"\ud800x"`).Str()))
}

func TestRawOwnership(t *testing.T) {
	buf := []byte(`{"a":[1]}`)
	r, err := wire.ParseRaw(buf)
	require.NoError(t, err)
	c := r.Clone()
	v := r.Get("a")
	require.Equal(t, len(v), cap(v))
	clear(buf)
	require.Equal(t, `{"a":[1]}`, c.String())
	require.Nil(t, wire.Raw(nil).Clone())
	require.NotNil(t, wire.Raw{}.Clone())
}

func TestRawInOtherLibraries(t *testing.T) {
	var x struct{ A, B, C wire.Raw }
	require.NoError(t, json.Unmarshal([]byte(`{"A":{"x":[1,2]},"B":null}`), &x))
	require.Equal(t, `{"x":[1,2]}`, x.A.String())
	require.Equal(t, `null`, x.B.String())
	require.Nil(t, x.C)
	out, err := json.Marshal(x)
	require.NoError(t, err)
	require.Equal(t, `{"A":{"x":[1,2]},"B":null,"C":null}`, string(out))
	require.Equal(t, `[1]`, string(wire.Raw(`[1]`).AppendJSON(nil)))
	var r wire.Raw
	require.NoError(t, wire.Decode([]byte(` [1] `), wire.Options{}, &r))
	require.Equal(t, `[1]`, r.String())
}

func TestMustRawPanics(t *testing.T) {
	require.PanicsWithValue(t, "wire.MustRaw: [0]: want a value, got x (offset 1)", func() { wire.MustRaw("[x]") })
	_, err := wire.ParseRaw([]byte(strings.Repeat("[", wire.HardMaxDepth) + strings.Repeat("]", wire.HardMaxDepth)))
	require.NoError(t, err)
	_, err = wire.ParseRaw([]byte(strings.Repeat("[", wire.HardMaxDepth+1) + strings.Repeat("]", wire.HardMaxDepth+1)))
	require.ErrorIs(t, err, wire.ErrDepth)
}

func TestEqual(t *testing.T) {
	zeros := strings.Repeat("0", 1000)
	same := [][]string{
		{`null`, ` null `}, {`true`}, {`false`}, {`{}`, `{ }`}, {`[]`, `[ ]`}, {`""`},
		{`0`, `-0`, `0.0`, `0e5`, `0E-99999999999999999999`, `-0.000e1000001`},
		{`1`, `1.0`, `10e-1`, `0.1e1`, `1e0`, `1E+0`, `100e-00000000000000000000002`, `1` + zeros + `e-1000`},
		{`-1`, `-1.0`}, {`1e1`, `10`}, {`1e1000001`, `10e1000000`, `0.1e1000002`, `1e+1000001`},
		{`1e99999999999999999999999`, `10e99999999999999999999998`, `0.01e100000000000000000000001`},
		{`1e99999999999999999999998`}, {`1e-99999999999999999999999`, `0.1e-99999999999999999999998`}, {`1e9223372036854775807`, `10e9223372036854775806`},
		{`1e-9223372036854775808`, `0.1e-9223372036854775807`},
		{`9007199254740993`, `9007199254740993.0`}, {`9007199254740992`}, {`0.1`, `1e-1`}, {`0.10000000000000001`},
		{`"a"`, `"\u0061"`}, {`"é"`, `"\u00e9"`, `"\u00E9"`}, {`"😀"`, `"\ud83d\ude00"`}, {`"\/"`, `"/"`}, {`"\n"`, `"\u000a"`},
		{`"\ud800"`, `"\uD800"`}, {`"\ud801"`}, {`"\ufffd"`, "\"\ufffd\""}, {`"\udc00\ud800"`}, {`"\ud83dx"`, `"\ud83d\u0078"`},
		{`[1,2]`, `[1.0,2e0]`, ` [ 1 , 2 ] `}, {`[2,1]`}, {`[1]`}, {`[[1]]`}, {`[1,[]]`}, {`[null]`}, {`["a","b"]`}, {`["ab",""]`},
		{`{"a":1,"b":{"c":[1,{}],"d":null}}`, `{"b":{"d":null,"c":[1.0,{}]},"\u0061":1}`},
		{`{"a":1,"b":{"c":[1,{}],"d":0}}`}, {`{"a":1}`}, {`{"b":1}`}, {`{"A":1}`}, {`{"a":null}`}, {`{"a":1,"b":1}`},
		{`{"a":1,"a":2}`, `{"\u0061":1.0,"a":2}`}, {`{"a":2,"a":1}`}, {`{"a":1,"a":2,"b":3}`, `{"a":1,"b":3,"a":2}`}, {`{"a":1,"a":1}`},
		{`{"\ud800":1}`}, {`{"\ud801":1}`}, {`{"\ufffd":1}`},
	}
	for i, xs := range same {
		for j, ys := range same {
			for _, x := range xs {
				for _, y := range ys {
					require.Equal(t, i == j, wire.Equal(wire.Raw(x), wire.Raw(y)), "%.60s and %.60s", x, y)
				}
			}
		}
	}
	require.True(t, wire.Equal(nil, nil))
	require.False(t, wire.Equal(nil, wire.Raw("null")))
	require.False(t, wire.Equal(wire.Raw("null"), nil))
	require.False(t, wire.Equal(wire.Raw("nul"), wire.Raw("null")))
	require.False(t, wire.Equal(wire.Raw("null"), wire.Raw("nul")))
	require.True(t, wire.Equal(wire.Raw("nul"), wire.Raw("nul")))
}

// Comparing takes time in the order of the texts: not of the exponents, the depth or the number of members.
func TestEqualIsBounded(t *testing.T) {
	start := time.Now()
	deep := strings.Repeat(`{"a":[`, 5000) + "1" + strings.Repeat(`]}`, 5000)
	require.True(t, wire.Equal(wire.Raw(deep), wire.Raw(strings.Replace(deep, "1", "1.0", 1))))
	require.False(t, wire.Equal(wire.Raw(deep), wire.Raw(strings.Replace(deep, "1", "2", 1))))
	wide := "0"
	for range 8 {
		wide = strings.Repeat("[", 1000) + wide + "," + strings.Repeat("1,", 10_000) + "2" + strings.Repeat("]", 1000)
	}
	require.True(t, wire.Equal(wire.Raw(wide), wire.Raw(wide+" ")))
	var up, down strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&up, `"%d":1e%d,`, i, i*1_000_001)
		fmt.Fprintf(&down, `"%d":10e%d,`, 39_999-i, max(0, (39_999-i)*1_000_001-1))
	}
	a, b := "{"+up.String()+`"x":0}`, "{"+down.String()+`"x":0}`
	b = strings.Replace(b, `"0":10e0`, `"0":1`, 1)
	require.True(t, wire.Equal(wire.Raw(a), wire.Raw(b)))
	require.Less(t, time.Since(start), 30*time.Second)
}

func TestMembers(t *testing.T) {
	var m wire.Members
	require.Nil(t, m.Get("a"))
	require.Nil(t, m.Clone())
	m.Set("a", wire.Raw("1"))
	m.Set("b", wire.Raw("2"))
	m.Set("c", wire.Raw("null"))
	m.Set("b", wire.Raw(`"x"`))
	m.Set("zz", nil)
	require.Equal(t, `"x"`, m.Get("b").String())
	require.True(t, m.Has("c"))
	require.False(t, m.Has("zz"))
	c := m.Clone()
	m.Set("a", nil)
	require.Equal(t, wire.Members{{"b", wire.Raw(`"x"`)}, {"c", wire.Raw("null")}}, m)
	require.Len(t, c, 3)
	c[1].Value[1] = 'y'
	require.Equal(t, `"x"`, m.Get("b").String())

	known := func(k string) bool { return k == "b" }
	require.Equal(t, `,"a":1,"c":null`, string(wire.AppendMembers(nil, c, known)))
	require.Equal(t, `,"a":1,"b":"y","c":null`, string(wire.AppendMembers(nil, c, nil)))
	require.Equal(t, `,"x":null,"\"":[1]`, string(wire.AppendMembers(nil, wire.Members{{"x", nil}, {"x", wire.Raw("1")}, {`"`, wire.Raw("[\n1]")}}, nil)))
	var many wire.Members
	for i := range 100 {
		many = append(many, wire.Member{Name: fmt.Sprint(i % 50), Value: wire.Raw("0")})
	}
	require.Equal(t, 50, strings.Count(string(wire.AppendMembers(nil, many, nil)), ":"))
	require.Equal(t, 49, strings.Count(string(wire.AppendMembers(nil, many, func(k string) bool { return k == "7" })), ":"))
}

func TestValid(t *testing.T) {
	for _, s := range []string{`1`, ` {"a":[null,-0.5e3,"\ud800"]} `, "\t\"é\"\r\n", `[]`,
		strings.Repeat("[", wire.HardMaxDepth) + strings.Repeat("]", wire.HardMaxDepth)} {
		require.True(t, wire.Valid([]byte(s)), s)
		require.True(t, wire.Raw(s).Valid(), s)
		for i := range min(len(s), 64) {
			_, err := wire.ParseRaw([]byte(s[:i]))
			require.Equal(t, err == nil, wire.Valid([]byte(s[:i])), s[:i])
		}
	}
	for _, s := range []string{``, ` `, `{`, `{}}`, `1 2`, `{"a":1},"b":2`, `nul`, `NaN`, `'a'`, `{a:1}`, `[1,]`, `{"a":1,}`, "\"\x00\"",
		"\"a\nb\"", "\"\xff\"", "\xef\xbb\xbf1", "1\x00", `01`, `+1`, `1.`, `// x`,
		strings.Repeat("[", wire.HardMaxDepth+1) + strings.Repeat("]", wire.HardMaxDepth+1)} {
		require.False(t, wire.Valid([]byte(s)), s)
		require.False(t, wire.Raw(s).Valid(), s)
	}
	require.True(t, wire.Raw(nil).Valid(), "nil is no value at all")
	require.Zero(t, testing.AllocsPerRun(10, func() { wire.Valid([]byte(`{"a":[1,"b\n"]}`)) }))
}
