package args

import (
	"reflect"
	"strings"
	"testing"

	json "github.com/goccy/go-json/v2"
	"github.com/stretchr/testify/require"
)

type flatArguments struct {
	Text  string `json:"text"`
	Unit  string `json:"unit,omitempty"`
	Deep  bool
	Count int   `json:"count,omitzero"`
	Small int8  `json:"small,omitempty"`
	Large int64 `json:"large,omitempty"`
}

// sameAsTheLibrary holds that what is read without the library is read as the
// library reads it, and reports whether it was.
func sameAsTheLibrary(t *testing.T, text string) bool {
	p := planOf(reflect.TypeFor[flatArguments]())
	require.NotNil(t, p.flat)
	var own, want flatArguments
	quick := p.read([]byte(text), reflect.ValueOf(&own).Elem())
	if quick {
		require.NoError(t, json.Unmarshal([]byte(text), &want, options))
		require.NoError(t, p.check([]byte(text), nil))
		require.Equal(t, want, own)
	}
	return quick
}

func TestFlatStructsAreReadAsTheLibraryReadsThem(t *testing.T) {
	for text, quick := range map[string]bool{
		`{"text":"a","Deep":true}`: true,
		` { "Deep" : false , "text" : "\u00e4\ud83d\ude00\n" , "unit":"", "count":-12, "small":-128, "large":9223372036854775807 } `: true,
		`{"te\u0078t":"a","Deep":true}`: true,

		`{"text":"a"}`:                         false, // missing
		`{}`:                                   false,
		`null`:                                 false,
		`[]`:                                   false,
		``:                                     false,
		`{"text":"a","Deep":true}x`:            false,
		`{"text":"a","Deep":true`:              false,
		`{"text":"a","Deep":true,"more":1}`:    false,
		`{"text":"a","Deep":true,"text":"b"}`:  false,
		`{"text":null,"Deep":true}`:            false,
		`{"text":"a","deep":true}`:             false, // another case
		`{"text":1,"Deep":true}`:               false,
		`{"text":"\ud800","Deep":true}`:        false,
		"{\"text\":\"\xff\",\"Deep\":true}":    false,
		`{"text":"a","Deep":"true"}`:           false,
		`{"text":"a","Deep":true,"count":1.0}`: false,
		`{"text":"a","Deep":true,"count":1e2}`: false,
		`{"text":"a","Deep":true,"count":-0}`:  false,
		`{"text":"a","Deep":true,"count":01}`:  false,
		`{"text":"a","Deep":true,"count":"1"}`: false,
		`{"text":"a","Deep":true,"count":[1]}`: false,
		`{"text":"a","Deep":true,"small":128}`: false,
		`{"text":{"a":{"b":1}},"Deep":true}`:   false,
		`{"text":"a","Deep":true,"large":1` + strings.Repeat("0", 20) + `}`: false,
	} {
		require.Equal(t, quick, sameAsTheLibrary(t, text), text)
	}
}

// TestOtherStructsAreLeftToTheLibrary: their fields say more, or have forms of
// their own.
func TestOtherStructsAreLeftToTheLibrary(t *testing.T) {
	type text string
	type inner struct{ A string }
	for _, v := range []any{
		struct {
			A string `minLength:"1"`
		}{},
		struct {
			A int `json:",string"`
		}{},
		struct{ A text }{},
		struct{ A *string }{},
		struct{ A []string }{},
		struct{ A float64 }{},
		struct{ A uint }{},
		struct{ A json.Options }{},
		struct{ inner }{},
		struct {
			A string
			B string `json:"-"`
		}{},
		struct{}{},
	} {
		require.Nil(t, planOf(reflect.TypeOf(v)).flat, "%T", v)
	}
}

func FuzzFlat(f *testing.F) {
	f.Add(`{"text":"a","unit":"\u00e4","Deep":true,"count":-12,"small":1,"large":0}`)
	f.Add(`{"text":"a","Deep":true,"count":1e2}`)
	f.Fuzz(func(t *testing.T, text string) { sameAsTheLibrary(t, text) })
}
