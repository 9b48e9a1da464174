package jsonl_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	march "github.com/goldwire/goldwire/generated/mcp/v20250326"
	old "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// source is a reader that says whether it was closed.
type source struct {
	io.Reader
	closed int
}

func (s *source) Close() error {
	s.closed++
	return nil
}

// odd gives so many bytes a read, so that runes are cut.
type odd struct {
	r io.Reader
	n int
}

func (o odd) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), o.n)]) }

type panics struct{}

func (panics) Read([]byte) (int, error) { panic("no") }

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// streaming is a server whose tool gives what r reads.
func streaming(r func(name string) io.Reader) old.Server {
	s := oldServer(nil).(old.Server)
	s.CallTool = func(_ context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
		return nil, &jsonrpc.TextStream{Reader: r(p.Name)}
	}
	return s
}

// TestTextStream: the text of a reader arrives as it is, however it is cut, and
// the reader is closed.
func TestTextStream(t *testing.T) {
	long := strings.Repeat("日本語 \"quoted\" \\ \u2028 \x01\n", 20_000)
	for name, c := range map[string]struct {
		in, want string
		piece    int
	}{
		"nothing":        {"", "", 10},
		"short":          {"hi", "hi", 1},
		"long":           {long, long, 1 << 20},
		"byte by byte":   {long[:len(long)/200], long[:len(long)/200], 1},
		"cut runes":      {long, long, 4097},
		"not UTF-8":      {"a\xffb\xe6\x97", "a\ufffdb\ufffd\ufffd", 3},
		"a start at end": {"a\xf0\x9f", "a\ufffd\ufffd", 2},
	} {
		t.Run(name, func(t *testing.T) {
			src := &source{Reader: odd{strings.NewReader(c.in), c.piece}}
			got := sayAndWait(t, streaming(func(string) io.Reader { return src }), 2, helloOld, callOf("1", "x"))
			text, ok := first(got[1].Get("result").Get("content")).Get("text").Str()
			require.True(t, ok)
			require.Equal(t, c.want, text)
			require.Nil(t, got[1].Get("result").Get("isError"))
			require.Equal(t, 1, src.closed)
		})
	}
}

// TestTextStreamThatBreaks is a failed result, in one piece, and the session
// goes on.
func TestTextStreamThatBreaks(t *testing.T) {
	for name, r := range map[string]io.Reader{
		"an error":     io.MultiReader(strings.NewReader("start"), iotestError{errors.New("secret")}),
		"a panic":      io.MultiReader(strings.NewReader("start"), panics{}),
		"no progress":  io.MultiReader(strings.NewReader("start"), stuck{}),
		"not a reader": nil,
	} {
		t.Run(name, func(t *testing.T) {
			got := sayAndWait(t, streaming(func(string) io.Reader { return r }), 3, helloOld, callOf("1", "x"), ping("2"))
			require.ElementsMatch(t, []string{"0", "1", "2"}, ids(got))
			for _, g := range got {
				require.NotContains(t, string(g), "secret")
				if g.Get("id").String() == "1" {
					require.Equal(t, "true", g.Get("result").Get("isError").String())
					require.Contains(t, string(g), "could not be read")
				}
			}
		})
	}
}

type iotestError struct{ err error }

func (e iotestError) Read([]byte) (int, error) { return 0, e.err }

// TestTextStreamElsewhere: where nothing can be streamed the result is made as a
// whole; a stateless revision has its members.
func TestTextStreamElsewhere(t *testing.T) {
	s := march.Server{
		Info: march.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *march.ListToolsParams) (*march.ListToolsResult, error) {
			return &march.ListToolsResult{}, nil
		},
		CallTool: func(context.Context, *march.CallToolParams) (*march.CallToolResult, error) {
			return nil, &jsonrpc.TextStream{Reader: strings.NewReader("in a batch")}
		},
	}
	got := sayAndWait(t, s, 2, helloOf("2025-03-26"), "["+callOf("1", "x")+"]")
	require.Contains(t, string(got[1]), `[{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"in a batch"}]}}]`)

	m := modernServer().(modern.Server)
	m.ListTools = func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		return &modern.ListToolsResult{}, nil
	}
	m.CallTool = func(context.Context, *modern.CallToolParams) (*modern.CallToolResult, error) {
		return nil, &jsonrpc.TextStream{Reader: strings.NewReader("x")}
	}
	got = say(t, m, strings.Replace(callOf("1", "x"), `"params":{`, `"params":{`+modernMeta+`,`, 1))
	want := `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"content":[{"type":"text","text":"x"}]}`
	require.True(t, wire.Equal(wire.MustRaw(want), got[0].Get("result")), "%s", got[0])
}

// TestTextStreamAmongOthers: what others send meanwhile comes before or after it,
// never within.
func TestTextStreamAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := streaming(func(name string) io.Reader { return odd{strings.NewReader(strings.Repeat(name, 50_000)), 100} })
		cl, sv := jsonl.InMemory()
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(context.Background(), sv, s) }()
		c, err := old.Connect(t.Context(), cl, old.Client{})
		require.NoError(t, err)
		done := make(chan error, 20)
		for i := range 10 {
			go func() {
				name := string(rune('a' + i))
				res, err := c.CallTool(t.Context(), &old.CallToolParams{Name: name})
				if err == nil && res.Content[0].(*old.TextContent).Text != strings.Repeat(name, 50_000) {
					err = errors.New("another text")
				}
				done <- err
			}()
			go func() { done <- c.Conn().Ping(t.Context()) }()
		}
		for range 20 {
			require.NoError(t, <-done)
		}
		require.NoError(t, c.Close())
		require.NoError(t, <-served)
	})
}

// TestTextStreamOfACancelledCall is not written, and its reader is closed.
func TestTextStreamOfACancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{Reader: strings.NewReader("x")}
		s := oldServer(nil).(old.Server)
		s.CallTool = func(ctx context.Context, _ *old.CallToolParams) (*old.CallToolResult, error) {
			<-ctx.Done()
			return nil, &jsonrpc.TextStream{Reader: src}
		}
		got := say(t, s, helloOld, callOf("3", "x"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, ping("4"))
		require.Equal(t, []string{"0", "4"}, ids(got))
		require.Equal(t, 1, src.closed)
	})
}

// TestTextStreamNeedsLittleMemory: 16 MiB from a reader add at most 4 MB in the
// server.
func TestTextStreamNeedsLittleMemory(t *testing.T) {
	s := streaming(func(string) io.Reader { return io.LimitReader(letters{}, largeText) })
	upR, upW, err := os.Pipe()
	require.NoError(t, err)
	downR, downW, err := os.Pipe()
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- jsonrpc.Serve(context.Background(), jsonl.Pipe(upR, downW), s) }()
	_, err = io.WriteString(upW, helloOld+"\n")
	require.NoError(t, err)
	buf := make([]byte, 256<<10)
	answer := func() (n int) {
		for {
			k, err := downR.Read(buf)
			require.NoError(t, err)
			n += k
			if buf[k-1] == '\n' {
				return n
			}
		}
	}
	answer()
	var before, after runtime.MemStats
	for range 2 {
		runtime.ReadMemStats(&before)
		_, err = io.WriteString(upW, callOf("1", "x")+"\n")
		require.NoError(t, err)
		require.Greater(t, answer(), largeText)
		runtime.ReadMemStats(&after)
	}
	require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
	t.Logf("allocated %d kB", (after.TotalAlloc-before.TotalAlloc)>>10)
	require.NoError(t, upW.Close())
	require.NoError(t, <-served)
	_ = downR.Close()
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return len(p), nil
}

// exits ends the goroutine that reads it, as a test's FailNow does.
type exits struct{}

func (exits) Read([]byte) (int, error) {
	runtime.Goexit()
	return 0, nil
}

// TestTextStreamThatEndsItsGoroutine: half an answer cannot be taken back, so the
// link ends with it, and the process lives on.
func TestTextStreamThatEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{Reader: io.MultiReader(strings.NewReader("start"), exits{})}
		client, srv := jsonl.InMemory()
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(t.Context(), srv, streaming(func(string) io.Reader { return src })) }()
		r, err := old.Connect(t.Context(), client, old.Client{})
		require.NoError(t, err)
		_, err = r.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
		require.Error(t, <-served)
		require.Equal(t, 1, src.closed)
		require.NoError(t, r.Close())
	})
}

// TestClosingWithAPendingCall: the server hears that nobody waits for it any
// more, so that it ends at once and not when its time to finish is over.
func TestClosingWithAPendingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, srv := jsonl.InMemory()
		s := oldServer(nil).(old.Server)
		running := make(chan struct{}, 2)
		reasons := make(chan error, 2)
		s.CallTool = func(ctx context.Context, _ *old.CallToolParams) (*old.CallToolResult, error) {
			running <- struct{}{}
			<-ctx.Done()
			reasons <- jsonrpc.PeerOf(ctx).Cause()
			return nil, ctx.Err()
		}
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(t.Context(), srv, s) }()
		r, err := old.Connect(t.Context(), client, old.Client{})
		require.NoError(t, err)
		pending := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := r.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
				pending <- err
			}()
		}
		<-running
		<-running
		begun := time.Now()
		require.NoError(t, r.Close())
		require.NoError(t, <-served)
		require.Less(t, time.Since(begun), 10*time.Millisecond)
		for range 2 {
			require.ErrorIs(t, <-pending, jsonrpc.ErrClosed)
			var ce *jsonrpc.CanceledError
			require.ErrorAs(t, <-reasons, &ce)
		}
	})
}
