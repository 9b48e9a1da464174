package jsonrpc_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// pieces gives so many bytes a read.
type pieces struct {
	r io.Reader
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.r.Read(b[:min(len(b), p.n)]) }

// FuzzTextStream: however a text is cut, what is written is what is written of
// it as a whole.
func FuzzTextStream(f *testing.F) {
	for _, text := range []string{"", "plain", "日本語 \u2028 \"\\\n\x00", "\xff", "a\xe6\x97", "\xf0\x9f\x98\x80\xf0\x9f", "\xed\xa0\x80"} {
		for n := 1; n <= 5; n++ {
			f.Add([]byte(text), n)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		s := &jsonrpc.TextStream{Reader: pieces{bytes.NewReader(text), max(1, n%64)}}
		got, err := wire.ParseRaw(s.AppendJSON(nil))
		require.NoError(t, err)
		want := append(wire.AppendString([]byte(`{"content":[{"type":"text","text":`), string(text)), "}]}"...)
		require.Equal(t, string(want), string(got))
	})
}
