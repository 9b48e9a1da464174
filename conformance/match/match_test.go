package match

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name, golden, observed string
		want                   []Mismatch
	}{
		{"order of members and white space", `{"a":1,"b":[true,null]}`, " { \"b\" : [ true , null ] ,\t\"a\":1 } ", nil},
		{"a literal", `"a"`, `"b"`, []Mismatch{{"", `"a"`, `"b"`}}},
		{"escapes", `"a\u0041"`, `"\u0061A"`, nil},
		{"kinds", `{"a":1}`, `{"a":"1"}`, []Mismatch{{"a", "1", `"1"`}}},
		{"false is not absent", `{"a":false}`, `{}`, []Mismatch{{"a", "false", "nothing"}}},
		{"null is not absent", `{}`, `{"a":null}`, []Mismatch{{"a", "no such member", "null"}}},

		{"the same decimal", `[1,1.0,100,0.1,0]`, `[1.0,10e-1,1e2,1E-1,-0]`, nil},
		{"nothing is rounded", `12345678901234567890123`, `12345678901234567890124`, []Mismatch{{"", "12345678901234567890123", "12345678901234567890124"}}},
		{"a fraction too small for a float", `1`, `1.00000000000000000000000001`, []Mismatch{{"", "1", "1.00000000000000000000000001"}}},

		{"any", `["$any","$any","$any"]`, `[null,{"a":1},"x"]`, nil},
		{"any is something", `{"a":"$any"}`, `{}`, []Mismatch{{"a", `"$any"`, "nothing"}}},
		{"kinds by name", `["$string","$number","$int","$bool","$array","$object"]`, `["",1.5,2.0,false,[1],{"x":1}]`, nil},
		{"kinds by name, all wrong", `["$string","$number","$int","$bool","$array","$object"]`, `[1,"",2.5,null,{},[]]`, []Mismatch{
			{"[0]", "a string", "1"}, {"[1]", "a number", `""`}, {"[2]", "a whole number", "2.5"},
			{"[3]", "a boolean", "null"}, {"[4]", "an array", "{}"}, {"[5]", "an object", "[]"},
		}},
		{"one of", `["$one:a|b","$one:a|b"]`, `["a","b"]`, nil},
		{"none of", `["$one:a|b","$one:a"]`, `["c",1]`, []Mismatch{{"[0]", "one of a, b", `"c"`}, {"[1]", "one of a", "1"}}},
		{"bind and ref", `["$bind:x","$ref:x"]`, `[{"a":1},{"a":1.0}]`, nil},
		{"ref differs", `["$bind:x","$ref:x"]`, `[1,2]`, []Mismatch{{"[1]", "1 (remembered as x)", "2"}}},
		{"ref to nothing", `"$ref:x"`, `1`, []Mismatch{{"", "what was remembered as x (nothing was)", "1"}}},
		{"bind twice", `["$bind:x","$bind:x"]`, `[1,1]`, []Mismatch{{"[1]", "to remember x for the first time", "a second $bind:x"}}},
		{"a literal dollar", `["$$any","$$","$$$x"]`, `["$any","$","$$x"]`, nil},

		{"more members", `{"a":1,"$more":true}`, `{"a":1,"b":2}`, nil},
		{"more members, one missing", `{"a":1,"$more":true}`, `{"b":2}`, []Mismatch{{"a", "1", "nothing"}}},
		{"dollar names are names", `{"$schema":"x","$$more":1}`, `{"$schema":"x","$more":1}`, nil},
		{"exact objects", `{"a":1}`, `{"a":1,"b c":2}`, []Mismatch{{`["b c"]`, "no such member", "2"}}},
		{"a member twice", `{"a":1}`, `{"a":1,"a":1}`, []Mismatch{{"a", "the member once", "it twice"}}},
		{"an object is wanted", `{"a":1}`, `[]`, []Mismatch{{"", `{"a":1}`, "[]"}}},
		{"exact arrays", `[1]`, `[1,2]`, []Mismatch{{"[1]", "the end of the array", "2"}}},
		{"short arrays", `[1,"$any"]`, `[1]`, []Mismatch{{"[1]", `"$any"`, "nothing"}}},
		{"more elements", `[1,"$more"]`, `[1,2,3]`, nil},
		{"no more elements are fine too", `["$more"]`, `[]`, nil},
		{"an array is wanted", `[]`, `{}`, []Mismatch{{"", "[]", "{}"}}},

		{"the path", `{"result":{"content":[{"text":"a"}],"_meta":{"io.x/y":1}}}`, `{"result":{"content":[{"text":"b"}],"_meta":{"io.x/y":2}}}`, []Mismatch{
			{"result.content[0].text", `"a"`, `"b"`}, {`result._meta["io.x/y"]`, "1", "2"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Match([]byte(c.golden), []byte(c.observed), Options{Bindings: Bindings{}})
			var got []Mismatch
			var e *Error
			if errors.As(err, &e) {
				got = e.Mismatches
			} else {
				require.NoError(t, err)
			}
			require.Empty(t, cmp.Diff(c.want, got))
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for golden, want := range map[string]string{
		`{"a":"$sting"}`:               `golden text: a: no placeholder is written "$sting"`,
		`"$bind:"`:                     `golden text: no placeholder is written "$bind:"`,
		`"$one:"`:                      `no placeholder is written "$one:"`,
		`"$ref"`:                       `no placeholder is written "$ref"`,
		`{"$more":false}`:              `want "$more":true, once`,
		`{"$more":true,"$more":true}`:  `want "$more":true, once`,
		`["$more",1]`:                  `"$more" is not the last element`,
		`{"a":{"b":1,"b":2}}`:          `golden text: a.b: the member stands there twice`,
		`{"a":"$more"}`:                `no placeholder is written "$more"`,
		`{"a":`:                        ``,
		`{"a":[["x",{"":"$nothing"}]]`: ``,
	} {
		_, err := Parse([]byte(golden))
		require.ErrorContains(t, err, want, golden)
	}
}

func TestObservedMustBeJSON(t *testing.T) {
	err := Match([]byte(`{}`), []byte(`{`), Options{})
	require.ErrorContains(t, err, "what came is not JSON")
	var e *Error
	require.False(t, errors.As(err, &e))
}

func TestBindingsAreKeptOnlyWhenAllMatches(t *testing.T) {
	b := Bindings{}
	require.Error(t, Match([]byte(`["$bind:x",1]`), []byte(`["v",2]`), Options{Bindings: b}))
	require.Empty(t, b)
	require.NoError(t, Match([]byte(`["$bind:x",1]`), []byte(`["v",1]`), Options{Bindings: b}))
	require.Equal(t, `"v"`, b["x"].String())
	require.NoError(t, Match([]byte(`"$ref:x"`), []byte(`"v"`), Options{Bindings: b}))
	require.Error(t, Match([]byte(`"$ref:x"`), []byte(`"w"`), Options{Bindings: b}))
}

func TestSpecialAndVolatile(t *testing.T) {
	o := Options{
		Special: func(path string, want, got wire.Raw) (bool, bool) {
			return want.String() == "1" && got.String() == "7", path == "id"
		},
		Volatile: func(path string, got wire.Raw) bool { return path == `_meta["x/y"]` },
	}
	require.NoError(t, Match([]byte(`{"id":1,"n":1,"_meta":{}}`), []byte(`{"id":7,"n":1,"_meta":{"x/y":2}}`), o))
	err := Match([]byte(`{"id":2,"n":1,"_meta":{}}`), []byte(`{"id":7,"n":7,"_meta":{"z":2}}`), o)
	require.EqualError(t, err, "id: want 2 or what stands for it, got 7; n: want 1, got 7; _meta.z: want no such member, got 2")
}

func TestLiteralHoldsNoPlaceholders(t *testing.T) {
	const text = `{"$more":true,"a":["$any","$more"],"$$b":"$5","$$$":"$$"}`
	p, err := Literal([]byte(text))
	require.NoError(t, err)
	require.NoError(t, p.Match([]byte(text), Options{}))
	require.Error(t, p.Match([]byte(`{"a":[1],"$b":"$5"}`), Options{}))
	got, err := p.Fill(nil, nil)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	_, err = Literal([]byte(`{"a":1,"a":1}`))
	require.Error(t, err)
	_, err = Literal([]byte(`{`))
	require.Error(t, err)
}

func TestErrorsAreBounded(t *testing.T) {
	golden := "[" + strings.Repeat("1,", 99) + "1]"
	err := Match([]byte(golden), []byte(strings.ReplaceAll(golden, "1", "2")), Options{})
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Len(t, e.Mismatches, maxMismatches)
	require.Equal(t, 100, e.Count())
	require.True(t, strings.HasSuffix(e.Error(), "; and 84 more"))

	err = Match([]byte(`1`), []byte(`"`+strings.Repeat("ä", 500)+`"`), Options{})
	require.Less(t, len(err.Error()), 200)
	require.Contains(t, err.Error(), "… (1002 bytes)")
}

func TestWhole(t *testing.T) {
	for s, want := range map[string]bool{
		"0": true, "-0": true, "1": true, "-7": true, "1.0": true, "1.50": false, "15e-1": false, "1.5e1": true,
		"100e-2": true, "100e-3": false, "0.0e-5": true, "1e999999999999999999999": true, "1e-999999999999999999999": false,
		"0e-999999999999999999999": true, "1.25e2": true, "1.25e1": false, `"1"`: false, "null": false,
	} {
		require.Equal(t, want, whole(wire.Raw(s)), s)
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct{ golden, want string }{
		{` {"a" : [ 1.0 , "x" ] }`, ` {"a" : [ 1.0 , "x" ] }`},
		{`{"a": "$$x", "n": 1.0}`, `{"a":"$x","n":1.0}`},
		{`["$any","$string","$number","$int","$bool","$array","$object"]`, `[{},"string",1,1,true,[],{}]`},
		{`{"a":"$bind:x","b":["$ref:x","$more"],"$more":true,"$$more":1}`, `{"a":"x","b":["x"],"$more":1}`},
		{`{"$more":true}`, `{}`},
		{`["$one:b|a"]`, `["b"]`},
	} {
		p, err := Parse([]byte(c.golden))
		require.NoError(t, err)
		got, err := p.Fill(Bindings{}, nil)
		require.NoError(t, err)
		require.Equal(t, strings.TrimSpace(c.want), strings.TrimSpace(string(got)))
	}
}

func TestFillReplaces(t *testing.T) {
	p, err := Parse([]byte(`{"id": 1, "params": {"x/y": "a", "list": [1], "as written": [1746600000000000000, 1.0, 1e3, "\u00e4"]}}`))
	require.NoError(t, err)
	got, err := p.Fill(nil, func(path string, v wire.Raw) wire.Raw {
		switch path {
		case "id":
			return wire.Raw("7")
		case `params["x/y"]`, "params.list[0]":
			return wire.Raw(`"b"`)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, `{"id":7,"params":{"x/y":"b","list":["b"],"as written":[1746600000000000000,1.0,1e3,"\u00e4"]}}`, string(got))

	got, err = p.Fill(nil, func(string, wire.Raw) wire.Raw { return nil })
	require.NoError(t, err)
	require.Equal(t, `{"id": 1, "params": {"x/y": "a", "list": [1], "as written": [1746600000000000000, 1.0, 1e3, "\u00e4"]}}`, string(got), "as written, to the byte")
}

func TestFillRefuses(t *testing.T) {
	for golden, want := range map[string]string{
		`"$ref:x"`:              "nothing was remembered as x",
		`["$bind:x","$bind:x"]`: "[1]: x is remembered already",
	} {
		p, err := Parse([]byte(golden))
		require.NoError(t, err)
		_, err = p.Fill(Bindings{}, nil)
		require.ErrorContains(t, err, want)
	}
	p, err := Parse([]byte(`"$bind:x"`))
	require.NoError(t, err)
	_, err = p.Fill(nil, nil)
	require.ErrorContains(t, err, "nothing can be remembered here")
}

// value draws a JSON value in which no string starts with '$'.
func value(depth int) *rapid.Generator[wire.Raw] {
	return rapid.Custom(func(t *rapid.T) wire.Raw {
		text := rapid.StringMatching(`[a-z"\\ä]{0,4}`)
		n := 4
		if depth > 0 {
			n = 6
		}
		switch rapid.IntRange(0, n-1).Draw(t, "kind") {
		case 0:
			return wire.Raw("null")
		case 1:
			return wire.Raw("true")
		case 2:
			return wire.Raw(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,9})?`).Draw(t, "number"))
		case 3:
			return wire.Quote(text.Draw(t, "text"))
		case 4:
			b := []byte{'['}
			for i, v := range rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "elements") {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(b, v...)
			}
			return append(b, ']')
		default:
			b := []byte{'{'}
			for i, k := range rapid.SliceOfNDistinct(text, 0, 3, rapid.ID[string]).Draw(t, "names") {
				if i > 0 {
					b = append(b, ',')
				}
				b = append(append(b, wire.Quote(k)...), ':')
				b = append(b, value(depth-1).Draw(t, "member")...)
			}
			return append(b, '}')
		}
	})
}

func TestAValueMatchesItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value(3).Draw(t, "value")
		require.NoError(t, Match(v, v, Options{}))
		p, err := Parse(v)
		require.NoError(t, err)
		got, err := p.Fill(nil, nil)
		require.NoError(t, err)
		require.Equal(t, v.String(), string(got))
		w := value(3).Draw(t, "another")
		require.Equal(t, wire.Equal(v, w), Match(v, w, Options{}) == nil)
	})
}

func FuzzMatch(f *testing.F) {
	f.Add([]byte(`{"id":"$bind:x","a":["$int","$more"],"$more":true}`), []byte(`{"id":1,"a":[1.0,2],"b":1e400}`))
	f.Add([]byte(`"$ref:x"`), []byte(`"\ud800"`))
	f.Add([]byte(`{"$$more":"$$x"}`), []byte(`{"$more":"$x"}`))
	f.Fuzz(func(t *testing.T, golden, observed []byte) {
		p, err := Parse(golden)
		if err != nil {
			return
		}
		_ = p.Match(observed, Options{Bindings: Bindings{}})
		filled, err := p.Fill(Bindings{}, nil)
		if err != nil {
			return
		}
		require.NoError(t, p.Match(filled, Options{Bindings: Bindings{}}), "%s does not match %s", filled, golden)
	})
}
