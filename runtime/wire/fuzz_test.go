package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/goldwire/goldwire/runtime/wire"
)

var types = []func() codec{
	func() codec { return new(CallToolParams) },
	func() codec { return new(CallToolResult) },
	func() codec { return new(ListToolsResult) },
	func() codec { return new(ProgressParams) },
	func() codec { return new(Annotations) },
}

func seedMessages(f *testing.F, add func(string)) {
	f.Helper()
	for in := range samples() {
		add(in)
	}
	for _, m := range messages() {
		if len(m.text) < 1<<12 {
			add(string(m.text))
		}
	}
	for _, in := range []string{
		`{"name":"\ud800"}`, `{"name":"a","x":1,"x":2}`, `{"name":1e400}`, "{\"name\":\"\xff\"}", `{"name":null}`, "\ufeff{}", "{}\x00",
		`[[[[[[[[]]]]]]]]`, `{"a":{"a":{"a":{}}}}`, `1e1000001`, `-0`, `1.0`, `[1,]`, `{"a":1,}`, `"\u12"`, `nul`, "[1\n,\r2]", `{"tools":[1,{"name":2},null]}`,
	} {
		add(in)
	}
}

// longNumber reports whether there is a number literal over the limit.
func longNumber(b []byte) bool {
	n := 0
	for _, c := range b {
		if c-'0' < 10 || strings.IndexByte("+-.eE", c) >= 0 {
			if n++; n > wire.MaxNumberLen {
				return true
			}
		} else {
			n = 0
		}
	}
	return false
}

// FuzzRaw: what is accepted as a raw value is what encoding/json accepts, but for bytes that are not UTF-8, very long
// numbers and very deep nests.
func FuzzRaw(f *testing.F) {
	seedMessages(f, func(s string) { f.Add([]byte(s)) })
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := wire.ParseRaw(b)
		want := json.Valid(b) && utf8.Valid(b)
		if (err == nil) != want && !longNumber(b) {
			t.Fatalf("error %v, want validity %v: %q", err, want, b)
		}
		if err != nil {
			return
		}
		out := wire.AppendRaw(nil, append(r.Clone(), '\n'))
		if !json.Valid(out) || bytes.ContainsAny(out, "\r\n") {
			t.Fatalf("%q became %q", b, out)
		}
		if !wire.Equal(r, out) {
			t.Fatalf("%q does not equal %q", b, out)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, b); err != nil || compact.String() != string(out) {
			t.Fatalf("compacted to %q, encoding/json says %q", out, compact.Bytes())
		}
		n := 0
		for k, v := range r.Members() {
			n++
			if r.Get(k) == nil || v.Kind() == wire.KindNone {
				t.Fatalf("member %q of %q", k, b)
			}
			if n > 100 {
				break
			}
		}
		for v := range r.Elems() {
			if v.Kind() == wire.KindNone {
				t.Fatalf("element of %q", b)
			}
		}
	})
}

// FuzzMessage: decoding accepts nothing that is not JSON, what it accepts it writes as valid JSON on one line, and that
// reads back as the same value.
func FuzzMessage(f *testing.F) {
	seedMessages(f, func(s string) { f.Add([]byte(s)) })
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, typed := range types {
			for _, o := range []wire.Options{{}, {Alias: true}, {Lenient: true}} {
				x := typed()
				if err := wire.Decode(bytes.Clone(b), o, x); err != nil {
					if o.Lenient && wire.Decode(b, wire.Options{}, typed()) == nil {
						t.Fatalf("%q: only lenient decoding fails: %v", b, err)
					}
					continue
				}
				if !json.Valid(b) {
					t.Fatalf("accepted %q", b)
				}
				out := x.AppendJSON(nil)
				if !json.Valid(out) || bytes.ContainsAny(out, "\r\n") {
					t.Fatalf("%q became %q", b, out)
				}
				y := typed()
				if err := wire.Decode(out, wire.Options{}, y); err != nil {
					t.Fatalf("%q became %q: %v", b, out, err)
				}
				if again := y.AppendJSON(nil); !bytes.Equal(out, again) {
					t.Fatalf("%q became %q", out, again)
				}
				// Raw values may have been compacted in between, and lone surrogates in names been replaced.
				if d := cmp.Diff(x, y, cmp.Comparer(wire.Equal)); d != "" {
					t.Fatalf("%q: %s", b, d)
				}
				if !o.Lenient && !bytes.Contains(b, []byte("null")) && !wire.Equal(b, out) {
					t.Fatalf("%q does not equal %q", b, out)
				}
			}
		}
	})
}

// FuzzString: strings mean what encoding/json says they mean.
func FuzzString(f *testing.F) {
	for _, s := range []string{`""`, `"a\n\u00e9\ud83d\ude00"`, `"\ud800"`, "\"\xff\"", `"\\\"\/"`, `"日本語 naïve"`, "\"\x00\"", `"0123456789abcdef0123456789abcdef\t"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := read(string(b), wire.Options{Lenient: true}, (*wire.Dec).Str)
		var want string
		stdErr := json.Unmarshal(b, &want)
		if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
			return
		}
		if ok := stdErr == nil && utf8.Valid(b); ok != (err == nil) {
			t.Fatalf("%q: %v, encoding/json says %v", b, err, stdErr)
		}
		if err == nil && got != want {
			t.Fatalf("%q is %q, encoding/json says %q", b, got, want)
		}
		alias, aliasErr := read(string(b), wire.Options{Lenient: true, Alias: true}, (*wire.Dec).Str)
		if alias != got || (aliasErr == nil) != (err == nil) {
			t.Fatalf("%q is %q by alias", b, alias)
		}
		out := wire.AppendString(nil, string(b))
		var back string
		if err := json.Unmarshal(out, &back); err != nil || back != string([]rune(string(b))) || bytes.ContainsAny(out, "\r\n") {
			t.Fatalf("%q became %q", b, out)
		}
	})
}

// FuzzNumber: numbers have the values of strconv and math/big.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "-0", "1.0", "1e2", "0.1", "123456789012345678", "9223372036854775807", "1e400", "1.5e-7", "9007199254740993.0", "100e-2", "01", "-", "1e"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, s, o string) {
		number := func(s string) bool {
			return json.Valid([]byte(s)) && wire.Raw(s).Kind() == wire.KindNumber && strings.TrimSpace(s) == s && len(s) <= wire.MaxNumberLen
		}
		v, err := read(s, wire.Options{}, (*wire.Dec).Float)
		if !number(s) {
			if err == nil && strings.TrimSpace(s) == s {
				t.Fatalf("accepted %q", s)
			}
			return
		}
		want, stdErr := strconv.ParseFloat(s, 64)
		if (err == nil) != (stdErr == nil) || err == nil && math.Float64bits(v) != math.Float64bits(want) {
			t.Fatalf("%q: %v %v, strconv says %v %v", s, v, err, want, stdErr)
		}
		small := func(s string) bool {
			i := strings.IndexAny(s, "eE")
			if i < 0 {
				return true
			}
			e, err := strconv.Atoi(s[i+1:])
			return err == nil && e > -2000 && e < 2000
		}
		if !small(s) {
			return
		}
		x, _ := new(big.Rat).SetString(s)
		n, err := read(s, wire.Options{}, (*wire.Dec).Int)
		fits := x.IsInt() && x.Num().IsInt64()
		if fits && strings.ContainsAny(s, ".eE") {
			fits = x.Num().CmpAbs(big.NewInt(1<<53)) <= 0
		}
		if fits != (err == nil) || fits && x.Num().Int64() != n {
			t.Fatalf("%q: %d %v", s, n, err)
		}
		if number(o) && small(o) {
			y, _ := new(big.Rat).SetString(o)
			if wire.Equal(wire.Raw(s), wire.Raw(o)) != (x.Cmp(y) == 0) {
				t.Fatalf("%q and %q", s, o)
			}
		}
	})
}

// FuzzLookAhead: what is seen ahead is what is there.
func FuzzLookAhead(f *testing.F) {
	seedMessages(f, func(s string) { f.Add(s, "type", "name") })
	f.Add(`{"a":{"b":{"c":1}},"d":{"e":2}}`, "a", "b")
	f.Fuzz(func(t *testing.T, s, k1, k2 string) {
		r, err := wire.ParseRaw([]byte(s))
		if err != nil || r.Kind() != wire.KindObject {
			return
		}
		var d wire.Dec
		d.Reset([]byte(s), wire.Options{MaxDepth: wire.HardMaxDepth})
		for _, path := range [][]string{{k1}, {k2}, {k1, k2}, {k2, k1}, {k1}} {
			v := r
			for _, k := range path {
				v = v.Get(k)
			}
			kind, err := d.LookKind(path...)
			if err != nil || kind != v.Kind() {
				t.Fatalf("%q %q: %v %v, want %v", s, path, kind, err, v.Kind())
			}
			has, err := d.Has(path...)
			if err != nil || has != (v != nil) {
				t.Fatalf("%q %q: %v %v", s, path, has, err)
			}
			tag, ok, err := d.Disc(path[0])
			v = r.Get(path[0])
			want, isString := v.Str()
			if (err == nil) != (v == nil || isString) || ok != isString || tag != want {
				t.Fatalf("%q %q: %q %v %v", s, path[0], tag, ok, err)
			}
		}
		got, err := d.Raw()
		if err != nil || !bytes.Equal(got, r) {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
