package transcript

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inChunks writes s in pieces of every size from 1 to its length.
func inChunks(t *testing.T, s string, fn func(t *testing.T, write func(io.Writer))) {
	t.Helper()
	for size := 1; size <= len(s)+1; size++ {
		fn(t, func(w io.Writer) {
			for i := 0; i < len(s); i += size {
				n, err := io.WriteString(w, s[i:min(i+size, len(s))])
				require.NoError(t, err)
				require.Equal(t, min(size, len(s)-i), n)
			}
		})
	}
}

func TestSSEIsTakenApartHoweverItIsChunked(t *testing.T) {
	const in = "\ufeff: hello\r\n\r\nid: 7\nevent: message\ndata: {\"a\":\ndata:1}\n\n" +
		"retry: 500\rdata: two\r\rid\ndata:\n\nid: 9\n\nfoo: bar\ndata: cut"
	const want = `<<3 : hello
<<3 id: 7
<<3 event: message
<3x "{\"a\":\n1}"
<<3 retry: 500
<3 two
<<3 id:
<3
<<3 id: 9
!3 note a field that event streams do not have: foo: bar
<3~ cut
`
	for _, discard := range []bool{false, true} {
		inChunks(t, in, func(t *testing.T, write func(io.Writer)) {
			var out strings.Builder
			o := RecorderOptions{Untimed: true, Discard: discard}
			if discard {
				x, err := NewEncoder(&out, nil)
				require.NoError(t, err)
				defer func() {
					require.NoError(t, x.Close())
					require.Equal(t, magic+"\n"+want, out.String())
				}()
				o.Watch = func(e Event) { require.NoError(t, x.Encode(&e)) }
			}
			r := NewRecorder(o)
			w := r.SSE(ToClient, 3)
			write(w)
			require.NoError(t, w.Close())
			require.NoError(t, w.Close())
			_, err := io.WriteString(w, "late")
			require.ErrorIs(t, err, io.ErrClosedPipe)
			if !discard {
				require.Equal(t, want, text(t, r.Recording()))
			}
		})
	}
}

func TestSSEKeepsTheStartOfLongData(t *testing.T) {
	r := NewRecorder(RecorderOptions{Untimed: true, MaxLine: 20, KeepStart: 5})
	w := r.SSE(ToClient, 1)
	_, err := io.WriteString(w, "data: "+strings.Repeat("a", 100)+"\n\ndata: b\n\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	rec := r.Recording()
	require.Len(t, rec.Events, 2)
	require.Greater(t, rec.Events[0].Length, int64(90))
	require.Equal(t, "<1 b", rec.Events[1].Line())
}

func TestBodyIsOneMessage(t *testing.T) {
	inChunks(t, "{\n\"a\":1}", func(t *testing.T, write func(io.Writer)) {
		r := NewRecorder(RecorderOptions{Untimed: true})
		for _, end := range []func(*Body) error{(*Body).Close, (*Body).Abort} {
			b := r.Body(ToServer, 2)
			write(b)
			require.NoError(t, end(b))
			require.NoError(t, end(b))
			_, err := io.WriteString(b, "late")
			require.ErrorIs(t, err, io.ErrClosedPipe)
		}
		require.NoError(t, r.Body(ToClient, 3).Close())
		require.Equal(t, ">2x \"{\\n\\\"a\\\":1}\"\n>2x~ \"{\\n\\\"a\\\":1}\"\n", text(t, r.Recording()))
	})
	r := NewRecorder(RecorderOptions{Untimed: true, MaxLine: 20, KeepStart: 5})
	b := r.Body(ToServer, 2)
	_, err := io.WriteString(b, strings.Repeat("x", 50))
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Equal(t, ">2~50 xxxxx\n", text(t, r.Recording()))
}
