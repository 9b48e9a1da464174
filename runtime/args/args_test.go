package args_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

type place struct {
	City string   `json:"city"`
	Tags []string `json:"tags,omitempty"`
}

type weather struct {
	Place  place            `json:"place"`
	Days   args.Int         `json:"days,omitempty" jsonschema:"how many days ahead, 1 to 14"`
	Extra  map[string]place `json:"extra,omitempty"`
	Stops  []place          `json:"stops,omitempty"`
	Deep   *bool            `json:"deep,omitempty"`
	Count  int              `json:"count,omitempty"`
	Silent string           `json:"-"`
}

func TestDecodeTakesWhatTheTypeSays(t *testing.T) {
	got, err := args.Decode[weather](wire.Raw(`{"place":{"city":"Hu\u1ebf","tags":[]},"days":3.0,"deep":false,"count":2}`))
	require.NoError(t, err)
	require.Equal(t, weather{Place: place{City: "Huế", Tags: []string{}}, Days: 3, Deep: new(false), Count: 2}, got)

	none, err := args.Decode[struct {
		A int `json:"a,omitempty"`
	}](nil)
	require.NoError(t, err)
	require.Zero(t, none)
}

func TestDecodeSaysWhere(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                        "place: missing",
		`{"place":{}}`:                              "place.city: missing",
		`{"place":{"city":7}}`:                      "place.city: want a string, got a number",
		`{"place":{"city":"x"},"days":1.5}`:         "days: want an integer",
		`{"place":{"city":"x"},"count":"2"}`:        "count: want an integer, got a string",
		`{"place":{"city":"x","tags":["a",1]}}`:     "place.tags[1]: want a string, got a number",
		`{"place":{"city":"x"},"stops":[{}]}`:       "stops[0].city: missing",
		`{"place":{"city":"x"},"extra":{"k":{}}}`:   "extra.k.city: missing",
		`{"place":{"city":"x"},"other":1}`:          "other: no such argument",
		`{"place":{"City":"x"}}`:                    "place.City: no such argument",
		`{"place":{"city":"x"},"place":{"city":1}}`: "place: duplicate",
		`{"place":null}`:                            "place: want an object, got null",
		`{"place":{"city":null}}`:                   "place.city: want a string, got null",
		`[]`:                                        "want an object, got an array",
		`null`:                                      "want an object, got null",
		`{"place":`:                                 "unexpected",
	} {
		t.Run(in, func(t *testing.T) {
			got, err := args.Decode[weather](wire.Raw(in))
			var e *args.Error
			require.ErrorAs(t, err, &e)
			require.ErrorContains(t, err, want)
			require.Zero(t, got, "nothing half-filled is returned")
			require.Equal(t, int64(jsonrpc.CodeInvalidParams), e.InvalidParams().Code)
			require.Contains(t, e.InvalidParams().Message, "arguments")
		})
	}
}

func TestDecodeOfARecursiveTypeChecksEveryLevel(t *testing.T) {
	type node struct {
		Name string `json:"name"`
		Next *node  `json:"next,omitempty"`
	}
	_, err := args.Decode[node](wire.Raw(`{"name":"a","next":{"name":"b","next":{"name":"c","next":null}}}`))
	require.NoError(t, err)
	_, err = args.Decode[node](wire.Raw(`{"name":"a","next":{"name":"b","next":{}}}`))
	require.EqualError(t, err, "next.next.name: missing")
}

type base struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

type left struct{ Side string }
type right struct{ Side string }

type Loop struct {
	*Loop
	Name string `json:"name"`
}

// TestDecodeKnowsEmbeddedStructs holds encoding/json's rule for which field a
// member belongs to.
func TestDecodeKnowsEmbeddedStructs(t *testing.T) {
	type shadowing struct {
		base
		Name string `json:"name,omitempty"` // not required, though the one it hides is
	}
	_, err := args.Decode[shadowing](wire.Raw(`{"kind":"x"}`))
	require.NoError(t, err)
	_, err = args.Decode[shadowing](wire.Raw(`{"name":"x"}`))
	require.EqualError(t, err, "kind: missing")

	type ambiguous struct {
		left
		right
	}
	_, err = args.Decode[ambiguous](wire.Raw(`{}`))
	require.NoError(t, err, "two fields of one name at one depth are no member")

	type optional struct {
		*base
	}
	_, err = args.Decode[optional](wire.Raw(`{}`))
	require.NoError(t, err, "an embedded pointer may be nil")

	_, err = args.Decode[Loop](wire.Raw(`{}`))
	require.EqualError(t, err, "name: missing")
}

func TestSchemaAgreesWithDecode(t *testing.T) {
	s, err := args.Schema[weather]()
	require.NoError(t, err)
	var m struct {
		Type                 string
		Required             []string
		AdditionalProperties any
		Properties           map[string]struct {
			Type        any
			Description string
		}
	}
	require.NoError(t, json.Unmarshal(s, &m))
	require.Equal(t, "object", m.Type)
	require.Equal(t, []string{"place"}, m.Required)
	require.Equal(t, "integer", m.Properties["days"].Type)
	require.Equal(t, "how many days ahead, 1 to 14", m.Properties["days"].Description)
	require.NotContains(t, m.Properties, "Silent")

	_, err = args.Schema[[]int]()
	require.ErrorContains(t, err, "arguments are an object")
	require.Panics(t, func() { args.MustSchema[chan int]() })
}

func TestEncodeIsDeterministicAndHasNoNull(t *testing.T) {
	type out struct {
		List []int          `json:"list"`
		Map  map[string]int `json:"map"`
		HTML string         `json:"html"`
	}
	got, err := args.Encode(out{HTML: "<a&b>"})
	require.NoError(t, err)
	require.Equal(t, `{"list":[],"map":{},"html":"<a&b>"}`, string(got))
	got, err = args.Encode(map[string]int{"b": 1, "a": 2, "c": 3})
	require.NoError(t, err)
	require.Equal(t, `{"a":2,"b":1,"c":3}`, string(got))
	_, err = args.Encode(make(chan int))
	require.Error(t, err)
}

// TestTypesMetAtTheSameTime holds that many goroutines may meet a type for the
// first time at once; what reads it is made then.
func TestTypesMetAtTheSameTime(t *testing.T) {
	decode := []func() error{
		first[struct{ A int }], first[struct{ A, B []string }], first[struct{ A map[string]int }],
		first[struct{ A *struct{ B *int } }], first[struct{ A [2]struct{ C bool } }],
	}
	var wg sync.WaitGroup
	errs := make(chan error, 16*len(decode))
	for range 16 {
		for _, f := range decode {
			wg.Go(func() { errs <- f() })
		}
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		var e *args.Error
		require.True(t, err == nil || errors.As(err, &e), "%v", err)
	}
}

func first[T any]() error {
	_, err := args.Decode[T](wire.Raw(`{}`))
	return err
}
