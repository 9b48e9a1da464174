package replay

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestAPeerThatFloodsIsNotHeardOut(t *testing.T) {
	rec, err := transcript.Parse([]byte(magicLine + "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"))
	require.NoError(t, err)
	ours, theirs := Pipe()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	go func() {
		for {
			if _, err := io.WriteString(theirs, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n"); err != nil {
				return
			}
		}
	}()
	began := time.Now()
	out, err := Options{Timeout: time.Second}.Server(t.Context(), rec, Stream(ours))
	require.NoError(t, err)
	require.Less(t, time.Since(began), 30*time.Second)
	require.ErrorContains(t, out.Err(), "more than the transcript has")
	require.Len(t, out.Problems, 100)
	require.Nil(t, out.Updated)
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestMockBoundsTheLinesOfItsClient(t *testing.T) {
	rec, err := transcript.Parse([]byte(magicLine + "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"))
	require.NoError(t, err)
	m, err := NewMock(rec, false)
	require.NoError(t, err)
	require.ErrorContains(t, m.Serve(t.Context(), zeros{}, io.Discard), "more than 64 MiB")
}
