//go:build !goexperiment.jsonv2

package main

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestRoundTrip holds that Goldwire changes nothing, and that the limit is a
// fair one: it keeps what is measured. What others change is printed.
func TestRoundTrip(t *testing.T) {
	measured := map[string]bool{}
	for _, m := range messages() {
		measured[m.name] = true
	}
	for _, im := range impls() {
		for _, d := range differences(&im) {
			t.Logf("%s: %s", im.name, d)
			name, _, _ := strings.Cut(d, ":")
			require.False(t, strings.HasPrefix(im.name, "goldwire"), d)
			require.False(t, im.name == "hand" && measured[name], d)
		}
	}
}

func TestDifferences(t *testing.T) {
	for _, tt := range []struct{ want, got, diff string }{
		{`{"a":1,"b":[1.0,"x"]}`, `{"b":[1,"x"],"a":1e0}`, ""},
		{`{"a":{"b":false}}`, `{"a":{}}`, "a.b is gone (false)"},
		{`{}`, `{"a":0}`, "a is new (0)"},
		{`{"a":[1,{"b":9007199254740993}]}`, `{"a":[1,{"b":9007199254740992}]}`, "a[1].b was 9007199254740993 and is 9007199254740992"},
		{`{"a":[1]}`, `{"a":[1,2]}`, "a was [1] and is [1,2]"},
		{`{"a":null}`, `{"a":0}`, "a was null and is 0"},
		{`{"a":0}`, `{"a":"0"}`, `a was 0 and is "0"`},
	} {
		require.Equal(t, tt.diff, strings.Join(compareJSON([]byte(tt.want), []byte(tt.got)), "; "))
	}
}

// TestHandIsStrict holds that the limit does the work that a reader has to do:
// what it takes is JSON and UTF-8.
func TestHandIsStrict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	im := byHand()
	taken := 0
	for _, m := range append(messages(), telling()...) {
		if len(m.data) > 1<<10 {
			continue
		}
		text := m.data
		for i := range text {
			m.data = text[:i]
			_, err := im.decode(&m)
			require.Error(t, err, "%s", m.data)
		}
		for range 20000 {
			m.data = bytes.Clone(text)
			for range 1 + r.IntN(2) {
				i := r.IntN(len(m.data))
				switch r.IntN(3) {
				case 0:
					m.data[i] = byte(r.IntN(256))
				case 1:
					m.data = append(m.data[:i], m.data[i+1:]...)
				case 2:
					m.data[i] = `{}[]",:\0123456789-+.eE tfn`[r.IntN(27)]
				}
			}
			if _, err := im.decode(&m); err == nil {
				taken++
				require.True(t, json.Valid(m.data) && utf8.Valid(m.data), "%s", m.data)
			}
		}
	}
	require.NotZero(t, taken)
}

// TestReport runs everything once.
func TestReport(t *testing.T) {
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"-benchtime", "1x", "-count", "1"}, nil, &out, &errs), errs.String())
	for _, m := range messages() {
		require.Contains(t, out.String(), m.name+", goldwire, aliased")
	}
	require.NotContains(t, out.String(), "NaN")
	for _, bad := range [][]string{{"-benchtime", "x"}, {"-benchtime", "0x"}, {"-count", "0"}, {"-only", "("}, {"-jsonv2", "/nowhere"}} {
		require.Equal(t, 1, run(bad, nil, &out, &errs), bad)
	}
	require.Equal(t, 2, run([]string{"-nothing"}, nil, &out, &errs))
}

// TestWorker measures by way of the questions that another process is asked.
func TestWorker(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, serve(strings.NewReader(`{"Impl":1,"Message":0,"Count":2}`), &out))
	d := json.NewDecoder(&out)
	var h hello
	require.NoError(t, d.Decode(&h))
	require.Equal(t, "goldwire, aliased", h.Names[1])
	var a answer
	require.NoError(t, d.Decode(&a))
	require.Empty(t, a.Error)
	require.Positive(t, a.Sample.Decode.NS)
}

// BenchmarkMessages is for profiles of one of them.
func BenchmarkMessages(b *testing.B) {
	for _, m := range messages() {
		for _, im := range impls() {
			v, err := im.decode(&m)
			require.NoError(b, err)
			b.Run(m.name+"/"+im.name+"/decode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = im.decode(&m)
				}
			})
			b.Run(m.name+"/"+im.name+"/encode", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = im.encode(&m, v)
				}
			})
		}
	}
}
