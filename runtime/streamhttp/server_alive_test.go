package streamhttp_test

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// pausing gives a text in parts, with pauses before them.
type pausing struct {
	parts []string
	pause time.Duration
	begun bool
}

func (p *pausing) Read(b []byte) (int, error) {
	if len(p.parts) == 0 {
		return 0, io.EOF
	}
	if !p.begun {
		time.Sleep(p.pause)
		p.begun = true
	}
	n := copy(b, p.parts[0])
	if p.parts[0] = p.parts[0][n:]; p.parts[0] == "" {
		p.parts, p.begun = p.parts[1:], false
	}
	return n, nil
}

// TestTextStreamStaysAlive: while the reader of a text pauses, before its start
// and in the middle, something comes within the time between keep-alives, and
// the message is whole in the end.
func TestTextStreamStaysAlive(t *testing.T) {
	long := strings.Repeat("日本語\n", 20_000)
	for _, w := range ways() {
		if w.proto != 1 {
			continue // in memory there is no TLS; the writing is the same
		}
		for name, parts := range map[string][]string{
			"short":       {"a", "b", "c"},
			"long":        {long, long, "end"},
			"piecemeal":   {strings.Repeat("x", 70_000), "y", strings.Repeat("z", 10), ""},
			"at its head": {long},
		} {
			t.Run(w.String()+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parts = parts[:len(parts):len(parts)]
					s, _ := inMemory(t, texts(func() io.Reader {
						return &pausing{parts: append([]string(nil), without(parts)...), pause: 100 * time.Second}
					}), streamhttp.HandlerOptions{KeepAlive: 15 * time.Second})
					res, err := s.http().Do(s.caller(w)(t.Context()))
					require.NoError(t, err)
					var all []byte
					var gap time.Duration
					last := time.Now()
					for buf := make([]byte, 4096); ; {
						n, err := res.Body.Read(buf)
						all = append(all, buf[:n]...)
						gap = max(gap, time.Since(last))
						last = time.Now()
						if err == io.EOF {
							break
						}
						require.NoError(t, err)
					}
					require.NoError(t, res.Body.Close())
					require.LessOrEqual(t, gap, 15*time.Second)
					got, isError := textOf(t, reply{res, string(all)})
					require.False(t, isError)
					require.Equal(t, []string{strings.Join(parts, "")}, got)
				})
			})
		}
	}
}

func without(parts []string) (out []string) {
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// TestTextStreamWhoseClientLeavesInAPause: the sign of life finds out that nobody
// is there, and the next piece ends the reading.
func TestTextStreamWhoseClientLeavesInAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		s, _ := inMemory(t, texts(func() io.Reader {
			return closing{io.MultiReader(&pausing{parts: []string{strings.Repeat("x", 100_000), "y"}, pause: time.Minute}, endless{}), closed}
		}))
		body, hs := call("1", "text", `{}`)
		st := s.open("POST", body, hs...)
		_, err := st.r.Peek(10)
		require.NoError(t, err)
		st.close()
		<-closed
		synctest.Wait()
		require.Zero(t, s.h.Stats().Requests)
		require.Equal(t, uint64(1), s.h.Count(jsonrpc.DroppedAnswer))
	})
}
