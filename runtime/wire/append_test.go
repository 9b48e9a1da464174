package wire_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "a": `"a"`, "\"\\/": `"\"\\/"`, "\b\f\n\r\t": `"\b\f\n\r\t"`, "\x00\x1f\x7f": "\"\\u0000\\u001f\x7f\"",
		"<>&'": `"<>&'"`, "\u2028\u2029": "\"\u2028\u2029\"", "é日😀": `"é日😀"`,
		"\xff": `"\ufffd"`, "a\xc3": `"a\ufffd"`, "\xed\xa0\x80": `"\ufffd\ufffd\ufffd"`, "\xe2\x82x": `"\ufffd\ufffdx"`, "é\xffé": `"é\ufffdé"`,
	} {
		want = strings.ReplaceAll(want, `\ufffd`, "\ufffd")
		require.Equal(t, want, string(wire.AppendString(nil, in)), "%q", in)
		require.Equal(t, "x"+want, string(wire.AppendString([]byte("x"), in)))
		require.Equal(t, want, wire.Quote(in).String())
	}
}

// Whatever is written reads back, wherever what is special stands and however much room the buffer has.
func TestAppendStringReadsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "words and words", "\n", "\"", "\\", "\x01", "é", "日本語", "😀", "\xff", "\xe2\x82", " ", strings.Repeat("x", 33)}
	for range 20_000 {
		var sb strings.Builder
		for range r.IntN(12) {
			sb.WriteString(parts[r.IntN(len(parts))])
		}
		s := sb.String()
		pre := bytes.Repeat([]byte("p"), r.IntN(20))
		b := wire.AppendString(append(make([]byte, 0, len(pre)+r.IntN(100)), pre...), s)
		require.True(t, bytes.HasPrefix(b, pre))
		b = b[len(pre):]
		require.True(t, json.Valid(b), "%q %s", s, b)
		require.True(t, utf8.Valid(b))
		var std string
		require.NoError(t, json.Unmarshal(b, &std))
		got, err := read(string(b), wire.Options{}, (*wire.Dec).Str)
		require.NoError(t, err)
		require.Equal(t, std, got)
		if utf8.ValidString(s) {
			require.Equal(t, s, got)
		} else {
			require.Equal(t, string([]rune(s)), got)
		}
	}
}

func TestAppendStringKeepsTheRest(t *testing.T) {
	// Bytes behind the text of a buffer that is shared are scratch space; bytes before it are not.
	buf := []byte("0123456789abcdefghijklmnopqrstuvwxyz")
	b := wire.AppendString(buf[:10:10], "abc")
	require.Equal(t, `0123456789"abc"`, string(b))
	require.Equal(t, "0123456789abcdefghijklmnopqrstuvwxyz", string(buf), "cap is respected")
}

func TestAppendNumbers(t *testing.T) {
	for in, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "-0", 1: "1", -1: "-1", 0.5: "0.5", 42.5: "42.5", 100: "100", 1e15: "1000000000000000", 1e20: "100000000000000000000",
		1e21: "1e+21", 1.5e21: "1.5e+21", 1e-6: "0.000001", 1e-7: "1e-7", 1.25e-7: "1.25e-7", 1e-10: "1e-10", 5e-324: "5e-324",
		math.MaxFloat64: "1.7976931348623157e+308", 1 << 53: "9007199254740992", -(1 << 53): "-9007199254740992", 1 << 62: "4611686018427388000", 0.1: "0.1", 1.0 / 3: "0.3333333333333333",
		math.Inf(1): "null", math.Inf(-1): "null", -1e-300: "-1e-300",
	} {
		require.Equal(t, want, string(wire.AppendFloat(nil, in)))
		if want != "null" {
			got, err := read(want, wire.Options{}, (*wire.Dec).Float)
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(in), math.Float64bits(got))
		}
	}
	require.Equal(t, "null", string(wire.AppendFloat(nil, math.NaN())))
	for _, in := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		require.Equal(t, strconv.FormatInt(in, 10), string(wire.AppendInt(nil, in)))
	}
	require.Equal(t, "truefalse", string(wire.AppendBool(wire.AppendBool(nil, true), false)))
}

func TestAppendFloatReadsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = float64(r.Int64N(1e15)) / []float64{1, 10, 100, 1e5, 1e10}[r.IntN(5)]
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		b := wire.AppendFloat(nil, f)
		got, err := read(string(b), wire.Options{}, (*wire.Dec).Float)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(f), math.Float64bits(got), "%s", b)
		std, err := json.Marshal(f)
		require.NoError(t, err)
		require.Equal(t, string(std), string(b), "encoding/json writes the same form")
	}
}

func TestAppendRaw(t *testing.T) {
	for in, want := range map[string]string{
		"{}": "{}", "{\n}": "{}", "[1,\r2]": "[1,2]", "[1,\t2]": "[1,2]", `[1, 2]`: `[1, 2]`,
		"{ \"a\\n\" : \"b \\\" \\\\\" ,\n \"c\" : -1.5e3 }": `{"a\n":"b \" \\","c":-1.5e3}`,
	} {
		require.Equal(t, want, string(wire.AppendRaw(nil, wire.Raw(in))))
		require.Equal(t, want, string(wire.AppendRawObject(nil, wire.Raw(in))))
	}
	require.Equal(t, "null", string(wire.AppendRaw(nil, nil)))
	require.Equal(t, "{}", string(wire.AppendRawObject(nil, nil)))
	long := strings.Repeat(`{"a":"b c","d":[1, 2]}, `, 100)
	require.Equal(t, "["+long+"1]", string(wire.AppendRaw(nil, wire.Raw("["+long+"1]"))), "without a line end nothing changes")
	require.Equal(t, "["+strings.Repeat(`{"a":"b c","d":[1,2]},`, 100)+"1]", string(wire.AppendRaw(nil, wire.Raw("["+long+"\n1]"))))
	require.Equal(t, `["a","b"]`, string(wire.AppendStrings(nil, []string{"a", "b"})))
	require.Equal(t, `[]`, string(wire.AppendStrings(nil, nil)))
	for _, n := range []int{0, 5, 15, 16, 17, 63, 64, 65, 100} {
		for _, nl := range []string{"\n", "\r"} {
			for k := range n + 1 {
				in := strings.Repeat(" ", k) + nl + strings.Repeat(" ", n-k) + "1"
				require.Equal(t, "1", string(wire.AppendRaw(nil, wire.Raw(in))))
			}
		}
	}
}

func TestCloseObject(t *testing.T) {
	require.Equal(t, `[{}`, string(wire.CloseObject([]byte("["), 1)))
	b := []byte("[")
	b = append(b, `,"a":1,"b":2`...)
	require.Equal(t, `[{"a":1,"b":2}`, string(wire.CloseObject(b, 1)))
}

// TestAppendStringEverywhere puts what is not copied as it is at every place of strings of every length around the words
// that are copied at once.
func TestAppendStringEverywhere(t *testing.T) {
	plain := "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
	for n := range len(plain) + 1 {
		require.Equal(t, `"`+plain[:n]+`"`, string(wire.AppendString(nil, plain[:n])))
		for in, out := range map[string]string{`"`: `\"`, `\`: `\\`, "\n": `\n`, "\x1f": `\u001f`, "\x7f": "\x7f", "é": "é", "日": "日", "\xff": "\uFFFD"} {
			for k := range n + 1 {
				for m := k; m <= n; m++ { // twice
					want := `x"` + plain[:k] + out + plain[k:m] + out + plain[m:n] + `"`
					got := wire.AppendString([]byte("x"), plain[:k]+in+plain[k:m]+in+plain[m:n])
					if string(got) != want {
						t.Fatalf("got %q, want %q", got, want)
					}
				}
			}
		}
	}
}

func TestBase64(t *testing.T) {
	for n := range 70 {
		p := bytes.Repeat([]byte{0xfb, 0xff, 0}, n)[:n]
		require.Equal(t, base64.StdEncoding.EncodeToString(p), wire.Base64(p))
	}
	require.Empty(t, wire.Base64(nil))
}
