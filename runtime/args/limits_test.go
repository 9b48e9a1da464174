package args_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/wire"
)

type limited struct {
	Unit  string              `json:"unit,omitempty" enum:"metric,imperial"`
	Step  *int                `json:"step,omitempty" enum:"1,5,10"`
	Days  int                 `json:"days,omitempty" minimum:"1" maximum:"14" jsonschema:"how far ahead"`
	Ratio float64             `json:"ratio,omitempty" minimum:"-0.5" maximum:"2000000"`
	Codes []string            `json:"codes,omitempty" minItems:"1" maxItems:"2" pattern:"^[A-Z]{3}$"`
	Name  string              `json:"name,omitempty" minLength:"2" maxLength:"3"`
	Deep  []limited2          `json:"deep,omitempty"`
	By    map[string]limited2 `json:"by,omitempty"`
}

type limited2 struct {
	N args.Int `json:"n" maximum:"3"`
}

// TestTagsHold: what the tags of a field say is in the schema and is held, and
// the error says where and what was wanted.
func TestTagsHold(t *testing.T) {
	for in, want := range map[string]string{
		`{"unit":"metric","step":5,"days":14,"ratio":-0.5,"codes":["ABC"],"name":"日本","deep":[{"n":3}],"by":{"x":{"n":1}}}`: "",
		`{}`:                            "",
		`{"step":null}`:                 "",
		`{"unit":"Metric"}`:             `unit: want one of "metric", "imperial", got "Metric"`,
		`{"unit":""}`:                   `unit: want one of "metric", "imperial", got ""`,
		`{"step":2}`:                    "step: want one of 1, 5, 10, got 2",
		`{"days":0}`:                    "days: want at least 1, got 0",
		`{"days":15}`:                   "days: want at most 14, got 15",
		`{"ratio":-0.51}`:               "ratio: want at least -0.5, got -0.51",
		`{"ratio":2000000.5}`:           "ratio: want at most 2000000, got 2000000.5",
		`{"codes":[]}`:                  "codes: want at least 1 elements, got 0",
		`{"codes":["A","B","C"]}`:       `codes[0]: want what matches ^[A-Z]{3}$, got "A"`,
		`{"codes":["ABC","XYZ","ABC"]}`: "codes: want at most 2 elements, got 3",
		`{"codes":["ABC","abc"]}`:       `codes[1]: want what matches ^[A-Z]{3}$, got "abc"`,
		`{"name":"日"}`:                  "name: want at least 2 characters, got 1",
		`{"name":"日本語!"}`:               "name: want at most 3 characters, got 4",
		`{"deep":[{"n":1},{"n":4}]}`:    "deep[1].n: want at most 3, got 4",
		`{"by":{"x":{"n":4}}}`:          "by.x.n: want at most 3, got 4",
		`{"days":"1"}`:                  "days: want an integer, got a string",
	} {
		t.Run(in, func(t *testing.T) {
			_, err := args.Decode[limited](wire.Raw(in))
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, want)
		})
	}
	s, err := args.Schema[limited]()
	require.NoError(t, err)
	for name, want := range map[string]string{
		"unit":  `{"type":"string","enum":["metric","imperial"]}`,
		"step":  `{"type":"integer","enum":[1,5,10]}`,
		"days":  `{"type":"integer","description":"how far ahead","minimum":1,"maximum":14}`,
		"ratio": `{"type":"number","minimum":-0.5,"maximum":2000000}`,
		"codes": `{"type":"array","items":{"type":"string","pattern":"^[A-Z]{3}$"},"minItems":1,"maxItems":2}`,
		"name":  `{"type":"string","minLength":2,"maxLength":3}`,
		"deep":  `{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","maximum":3}},"required":["n"],"additionalProperties":false}}`,
		"by":    `{"type":"object","additionalProperties":{"type":"object","properties":{"n":{"type":"integer","maximum":3}},"required":["n"],"additionalProperties":false}}`,
	} {
		require.True(t, wire.Equal(wire.MustRaw(want), s.Get("properties").Get(name)), "%s: %s", name, s.Get("properties").Get(name))
	}
}

// TestTagsThatDoNotFit are refused by Schema, and by Decode where they stand.
func TestTagsThatDoNotFit(t *testing.T) {
	refused := func(_ wire.Raw, err error) {
		t.Helper()
		require.ErrorContains(t, err, "tag")
	}
	refused(args.Schema[struct {
		A bool `enum:"x"`
	}]())
	refused(args.Schema[struct {
		A int `enum:"x"`
	}]())
	refused(args.Schema[struct {
		A int `pattern:"x"`
	}]())
	refused(args.Schema[struct {
		A string `pattern:"("`
	}]())
	refused(args.Schema[struct {
		A string `minimum:"1"`
	}]())
	_, err := args.Schema[struct {
		A int `minimum:"x"`
	}]()
	require.ErrorContains(t, err, `field A: tag minimum: "x" is not a number`)
	refused(args.Schema[struct {
		A float64 `maximum:"NaN"`
	}]())
	refused(args.Schema[struct {
		A string `minItems:"1"`
	}]())
	refused(args.Schema[struct {
		A []int `minLength:"1"`
	}]())
	refused(args.Schema[struct {
		A string `maxLength:"-1"`
	}]())
	_, err = args.Decode[struct {
		A string `minimum:"1"`
	}](wire.Raw(`{"A":"x"}`))
	require.ErrorContains(t, err, "A: field A: tag minimum")
}

// TestTypesWithTheirOwnForm: dates, bytes, big numbers, arrays and small
// integers are said the same way by schema and errors.
func TestTypesWithTheirOwnForm(t *testing.T) {
	type own struct {
		At    time.Time  `json:"at,omitzero"`
		May   *time.Time `json:"may,omitempty"`
		Bytes []byte     `json:"bytes,omitempty"`
		Big   *big.Int   `json:"big,omitempty"`
		Pair  [2]int     `json:"pair,omitzero"`
		Small int8       `json:"small,omitempty"`
		Not   uint16     `json:"not,omitempty"`
	}
	const wantTime = "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)"
	for in, want := range map[string]string{
		`{"at":"2026-01-02T03:04:05.6+07:00","may":null,"bytes":"aGk=","big":123456789012345678901234567890,"pair":[1,2],"small":-128,"not":65535}`: "",
		`{"at":"yesterday"}`: "at: " + wantTime,
		`{"at":5}`:           "at: " + wantTime,
		`{"at":null}`:        "at: " + wantTime + ", got null",
		`{"may":"2026"}`:     "may: " + wantTime,
		`{"bytes":"!"}`:      "bytes: want a base64 string, got a string",
		`{"pair":[1]}`:       "pair: want 2 elements, got 1",
		`{"pair":[1,2,3]}`:   "pair: want 2 elements, got 3",
		`{"small":128}`:      "small: want -128 to 127, got 128",
		`{"not":-1}`:         "not: want 0 to 65535, got -1",
		`{"small":1.5}`:      "small: want an integer, got 1.5",
	} {
		_, err := args.Decode[own](wire.Raw(in))
		if want == "" {
			require.NoError(t, err, in)
			continue
		}
		require.EqualError(t, err, want, in)
	}
	s := args.MustSchema[own]().Get("properties")
	for name, want := range map[string]string{
		"at": `{"type":"string","format":"date-time"}`, "may": `{"type":"string","format":"date-time"}`,
		"bytes": `{"type":"string","contentEncoding":"base64"}`, "big": `{"type":"integer"}`,
		"pair": `{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2}`,
	} {
		require.True(t, wire.Equal(wire.MustRaw(want), s.Get(name)), "%s: %s", name, s.Get(name))
	}
}
