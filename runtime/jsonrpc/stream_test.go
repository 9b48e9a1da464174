package jsonrpc_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

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

// source is a reader that counts how often it is closed, and then panics if it
// is to.
type source struct {
	io.Reader
	closed int
	panics bool
}

func (s *source) Close() error {
	if s.closed++; s.panics {
		panic("no")
	}
	return nil
}

// carrier is an exchange whose streams fail after so many bytes.
type carrier struct {
	room int
	got  bytes.Buffer
	sent []string
}

var errCarrier = errors.New("the carrier failed")

func (c *carrier) Write(b []byte) (int, error) {
	n := min(len(b), c.room)
	c.room -= n
	c.got.Write(b[:n])
	if n < len(b) {
		return n, errCarrier
	}
	return n, nil
}

func (c *carrier) Notify(context.Context, jsonrpc.Frame) error { return nil }
func (c *carrier) Detach()                                     {}
func (c *carrier) Reply(_ context.Context, f jsonrpc.Frame) error {
	c.sent = append(c.sent, string(f.Data))
	return nil
}

func (c *carrier) ReplyStream(_ context.Context, write func(io.Writer) error) error {
	if c.room < 0 { // it does not come to writing
		return errCarrier
	}
	return write(c)
}

// collector is an exchange that cannot stream.
type collector struct{ c *carrier }

func (c collector) Notify(ctx context.Context, f jsonrpc.Frame) error { return c.c.Notify(ctx, f) }
func (c collector) Detach()                                           {}
func (c collector) Reply(ctx context.Context, f jsonrpc.Frame) error  { return c.c.Reply(ctx, f) }

// TestTextStreamIsClosed: the reader of a text is closed once, wherever the
// writing of it ends, and what its closing does is its own affair.
func TestTextStreamIsClosed(t *testing.T) {
	const say = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`
	const prefix = `{"jsonrpc":"2.0","id":7,"result":`
	text := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		name    string
		room    int
		streams bool
		dropped int
	}{
		{"written as a whole", 1 << 20, true, 0},
		{"the carrier fails before the first byte", -1, true, 1},
		{"within what comes before the result", 3, true, 1},
		{"at its end", len(prefix), true, 1},
		{"before the text", len(prefix) + 5, true, 1},
		{"within the text", 50_000, true, 1},
		{"collected", 0, false, 0},
	} {
		for _, panics := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := &source{Reader: strings.NewReader(text), panics: panics}
					svc, err := oldServer{
						Options:  jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)},
						CallTool: func(context.Context, *callToolParams) (*result, error) { return nil, &jsonrpc.TextStream{Reader: src} },
					}.Bind()
					require.NoError(t, err)
					conn := jsonrpc.NewConn(nil, svc, jsonrpc.ServerSide)
					hello := &carrier{}
					conn.Receive(t.Context(), hello, jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)})
					require.Len(t, hello.sent, 1)
					ex := &carrier{room: c.room}
					var as jsonrpc.Exchange = ex
					if !c.streams {
						as = collector{ex}
					}
					conn.Receive(t.Context(), as, jsonrpc.Frame{Data: []byte(say)})
					synctest.Wait()
					require.Equal(t, 1, src.closed)
					st := conn.Stats()
					require.Zero(t, st.Handling)
					require.Equal(t, uint64(c.dropped), st.Count(jsonrpc.DroppedAnswer))
					want := uint64(0)
					if panics {
						want = 1
					}
					require.Equal(t, want, st.Count(jsonrpc.FailedRequest))
					switch {
					case c.dropped > 0:
					case c.streams:
						require.Equal(t, prefix+`{"content":[{"type":"text","text":"`+text+`"}]}}`, ex.got.String())
					default:
						require.Equal(t, []string{prefix + `{"content":[{"type":"text","text":"` + text + `"}]}}`}, ex.sent)
					}
					require.NoError(t, conn.Close(t.Context()))
				})
			})
		}
	}
}

// TestTextStreamBehindMiddleware: a text that is streamed is a result to
// middleware, and its reader is closed also where middleware does not let it
// through.
func TestTextStreamBehindMiddleware(t *testing.T) {
	const say = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"}}`
	for name, c := range map[string]struct {
		behind func() error // next
		want   string
	}{
		"passed":   {func() error { return nil }, `"result":{"content":[{"type":"text","text":"hello"}]}`},
		"refused":  {func() error { return jsonrpc.NewError(-7, "no") }, `"error":{"code":-7,"message":"no"}`},
		"panicked": {func() error { panic("behind next") }, `"error":{"code":-32603,`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := &source{Reader: strings.NewReader("hello")}
				svc, err := oldServer{
					Options: jsonrpc.Options{Logger: slog.New(slog.DiscardHandler), Incoming: []jsonrpc.Middleware{
						func(ctx context.Context, op jsonrpc.Op, next func(context.Context) error) error {
							if err := next(ctx); op.Method == "tools/call" {
								require.NoError(t, err)
								return c.behind()
							}
							return nil
						},
					}},
					CallTool: func(context.Context, *callToolParams) (*result, error) { return nil, &jsonrpc.TextStream{Reader: src} },
				}.Bind()
				require.NoError(t, err)
				conn := jsonrpc.NewConn(nil, svc, jsonrpc.ServerSide)
				conn.Receive(t.Context(), &carrier{}, jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)})
				ex := &carrier{}
				conn.Receive(t.Context(), collector{ex}, jsonrpc.Frame{Data: []byte(say)})
				synctest.Wait()
				require.Equal(t, 1, src.closed)
				require.Len(t, ex.sent, 1)
				require.Contains(t, ex.sent[0], c.want)
				require.NoError(t, conn.Close(t.Context()))
			})
		})
	}
}
