package streamhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// oddReader gives n bytes a read, so that runes are cut.
type oddReader struct {
	r io.Reader
	n int
}

func (o oddReader) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), o.n)]) }

// endless never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return len(p), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("secret") }

// closing tells when it is closed.
type closing struct {
	io.Reader
	closed chan struct{}
}

func (c closing) Close() error {
	close(c.closed)
	return nil
}

// texts is a server whose tool gives what r reads; "told" sends something first.
func texts(r func() io.Reader) jsonrpc.Binder {
	l, m := servers(map[string]tool{
		"text": func(context.Context, peer) (string, error) { return "", &jsonrpc.TextStream{Reader: r()} },
		"told": func(ctx context.Context, p peer) (string, error) {
			_ = p.Progress(ctx, 1, nil, "")
			return "", &jsonrpc.TextStream{Reader: r()}
		},
	})
	return bothOf(l, m)
}

// way is one of the ways that an answer may take.
type way struct {
	proto  int
	era    string
	tool   string
	accept string
	kind   string
}

func (w way) String() string {
	return fmt.Sprintf("HTTP%d/%s/%s/%s", w.proto, w.era, w.tool, strings.ReplaceAll(w.accept, "/", "-"))
}

func ways() (all []way) {
	for _, proto := range []int{1, 2} {
		for _, era := range []string{"modern", "legacy"} {
			for _, w := range []way{
				{tool: "text", accept: acceptBoth, kind: "application/json"},
				{tool: "text", accept: "text/event-stream", kind: "text/event-stream"},
				{tool: "told", accept: acceptBoth, kind: "text/event-stream"},
				{tool: "text", accept: "application/x-ndjson", kind: "application/x-ndjson"},
				{tool: "told", accept: "application/json, application/x-ndjson", kind: "application/x-ndjson"},
			} {
				w.proto, w.era = proto, era
				all = append(all, w)
			}
		}
	}
	return all
}

// serveOver serves over HTTP/1.1 or HTTP/2, behind middleware if there is some.
func serveOver(t *testing.T, proto int, b jsonrpc.Binder, mount func(http.Handler) http.Handler, o ...streamhttp.HandlerOptions) *site {
	t.Helper()
	h := streamhttp.NewHandler(b, o...)
	require.NoError(t, h.Err())
	var root http.Handler = h
	if mount != nil {
		root = mount(h)
	}
	srv := httptest.NewUnstartedServer(root)
	if proto == 2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(func() {
		h.Close()
		srv.Close()
	})
	return &site{t: t, h: h, srv: srv}
}

// caller makes the session that a way needs, and returns what asks for a text.
func (s *site) caller(w way) func(ctx context.Context) *http.Request {
	if w.era == "legacy" {
		hs := append(s.begin(), "Accept: "+w.accept)
		return func(ctx context.Context) *http.Request {
			return s.request(ctx, "POST", legacyCall("1", w.tool), hs...)
		}
	}
	body, hs := call("1", w.tool, `{}`)
	body = strings.Replace(body, `"_meta":{`, withToken, 1)
	return func(ctx context.Context) *http.Request {
		return s.request(ctx, "POST", body, append(hs, "Accept: "+w.accept)...)
	}
}

// textOf is the result in the last message of a reply.
func textOf(t *testing.T, r reply) (texts []string, isError bool) {
	t.Helper()
	frames := r.frames()
	require.NotEmpty(t, frames, r.body)
	var a struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(frames[len(frames)-1]), &a))
	for _, c := range a.Result.Content {
		texts = append(texts, c.Text)
	}
	return texts, a.Result.IsError
}

// TestTextStream: the text of a reader arrives as it is on every way, however
// long it is and wherever it is cut.
func TestTextStream(t *testing.T) {
	const bound = 64 << 10
	escapes := "日本語 \"quoted\" \\ \u2028 \x01\r\n😀"
	type text struct {
		in    string
		piece int
	}
	cases := map[string]text{
		"nothing":   {"", 10},
		"short":     {"hi\n", 1},
		"long":      {strings.Repeat(escapes, 4_000), 1 << 20},
		"cut runes": {strings.Repeat(escapes, 3_000), 4097},
		"plain":     {strings.Repeat("x", 300_000), 1 << 20},
	}
	for _, n := range []int{300, 150, 100, 50, 0} { // the text, and not yet the answer, is as long as what is collected
		cases[fmt.Sprint("bound less ", n)] = text{strings.Repeat("x", bound-n), 1 << 20}
	}
	cuts := map[string]text{} // every byte of the escapes at the end of what is read at once
	for i := range len(escapes) + 1 {
		cuts[fmt.Sprint("cut at ", i)] = text{strings.Repeat("x", bound-i) + escapes + strings.Repeat("y", 200), 1 << 20}
	}
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			var now atomic.Pointer[text]
			s := serveOver(t, w.proto, texts(func() io.Reader {
				return oddReader{strings.NewReader(now.Load().in), now.Load().piece}
			}), nil)
			ask := s.caller(w)
			all := maps.Clone(cases)
			if w.proto == 1 { // below, nothing knows of the text
				maps.Copy(all, cuts)
			}
			for name, c := range all {
				now.Store(&c)
				res, err := s.http().Do(ask(t.Context()))
				require.NoError(t, err)
				b, err := io.ReadAll(res.Body)
				require.NoError(t, err, name)
				require.NoError(t, res.Body.Close())
				r := reply{res, string(b)}
				require.Equal(t, w.proto, r.ProtoMajor)
				require.Equal(t, 200, r.StatusCode)
				require.Equal(t, w.kind, r.Header.Get("Content-Type"))
				got, isError := textOf(t, r)
				require.False(t, isError, name)
				require.Len(t, got, 1, name)
				require.True(t, c.in == got[0], name)
				if w.tool == "told" {
					require.Len(t, r.frames(), 2, name)
				}
				if w.kind == "application/json" && len(c.in) < bound/2 {
					require.Equal(t, int64(len(b)), r.ContentLength, "a small answer has its length")
				}
			}
		})
	}
}

// TestTextStreamThatBreaks: a reader that fails makes a result that says so, in
// one piece, before the answer has begun and in the middle of it.
func TestTextStreamThatBreaks(t *testing.T) {
	for _, w := range ways() {
		for _, n := range []int{0, 10, 300_000} {
			t.Run(fmt.Sprint(w, "/", n), func(t *testing.T) {
				s := serveOver(t, w.proto, texts(func() io.Reader { return io.MultiReader(io.LimitReader(endless{}, int64(n)), failing{}) }), nil)
				res, err := s.http().Do(s.caller(w)(t.Context()))
				require.NoError(t, err)
				b, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				got, isError := textOf(t, reply{res, string(b)})
				require.True(t, isError)
				require.Len(t, got[0], n)
				require.Contains(t, got[1], "could not be read")
				require.NotContains(t, string(b), "secret")
			})
		}
	}
}

// brokenWriter takes so many bytes of a body.
type brokenWriter struct {
	http.ResponseWriter
	left int
}

func (b *brokenWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("full")
	}
	return b.ResponseWriter.Write(p)
}

// TestTextStreamThatIsCut: an answer that cannot be written to its end is no
// response that ended well, even behind middleware that recovers from panics.
func TestTextStreamThatIsCut(t *testing.T) {
	for _, w := range ways() {
		for _, recovers := range []bool{false, true} {
			t.Run(fmt.Sprint(w, "/", recovers), func(t *testing.T) {
				closed := make(chan struct{})
				s := serveOver(t, w.proto, texts(func() io.Reader { return closing{io.LimitReader(endless{}, 1<<20), closed} }), func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						defer func() {
							if recovers {
								_ = recover()
							}
						}()
						h.ServeHTTP(&brokenWriter{w, 200_000}, r)
					})
				})
				res, err := s.http().Do(s.caller(w)(t.Context()))
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
				require.Error(t, err)
				<-closed
				require.Eventually(t, func() bool { return s.h.Stats().Requests == 0 }, 5*time.Second, time.Millisecond)
			})
		}
	}
}

// TestTextStreamOfAClientThatLeaves ends, and its reader is closed.
func TestTextStreamOfAClientThatLeaves(t *testing.T) {
	for _, w := range ways() {
		for _, polling := range []bool{false, true} {
			t.Run(fmt.Sprint(w, "/", polling), func(t *testing.T) {
				closed := make(chan struct{})
				s := serveOver(t, w.proto, texts(func() io.Reader { return closing{endless{}, closed} }), nil, streamhttp.HandlerOptions{Polling: polling})
				ctx, cancel := context.WithCancel(t.Context())
				res, err := s.http().Do(s.caller(w)(ctx))
				require.NoError(t, err)
				_, err = io.CopyN(io.Discard, res.Body, 1<<20)
				require.NoError(t, err)
				cancel()
				_ = res.Body.Close()
				<-closed
				require.Eventually(t, func() bool { return s.h.Stats().Requests == 0 }, 5*time.Second, time.Millisecond)
			})
		}
	}
}

// TestTextStreamOfAClientThatDoesNotRead is cut after the time for a write; while
// the reader has nothing, no time runs.
func TestTextStreamOfAClientThatDoesNotRead(t *testing.T) {
	for _, accept := range []string{acceptBoth, "text/event-stream", "application/x-ndjson"} {
		t.Run(accept, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan struct{})
				slow := readerFunc(func(p []byte) (int, error) {
					time.Sleep(time.Minute)
					return endless{}.Read(p)
				})
				s, _ := inMemory(t, texts(func() io.Reader {
					return closing{io.MultiReader(io.LimitReader(slow, 200_000), endless{}), closed}
				}), streamhttp.HandlerOptions{WriteTimeout: 10 * time.Second, KeepAlive: -1})
				body, hs := call("1", "text", `{}`)
				res, err := s.http().Do(s.request(t.Context(), "POST", body, append(hs, "Accept: "+accept)...))
				require.NoError(t, err)
				_, err = io.CopyN(io.Discard, res.Body, 300_000)
				require.NoError(t, err)
				start := time.Now()
				<-closed
				require.Less(t, time.Since(start), 30*time.Second)
				_, err = io.Copy(io.Discard, res.Body)
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
				_ = res.Body.Close()
			})
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestTextStreamThatIsFetchedLater: a small answer can be fetched again, one that
// was streamed is said to be lost, and one of a client that is away to poll is
// kept as far as the store does.
func TestTextStreamThatIsFetchedLater(t *testing.T) {
	for _, c := range []struct {
		tool string
		n    int
		lost bool
	}{
		{"told", 1000, false},
		{"told", 200_000, true},
		{"away", 1000, false},
		{"away", 200_000, false},
		{"away", 2 << 20, true},
	} {
		t.Run(fmt.Sprint(c.tool, c.n), func(t *testing.T) {
			text := func() error {
				return &jsonrpc.TextStream{Reader: io.LimitReader(endless{}, int64(c.n))}
			}
			l, _ := servers(map[string]tool{
				"told": func(ctx context.Context, p peer) (string, error) {
					_ = p.Progress(ctx, 1, nil, "")
					return "", text()
				},
				"away": func(ctx context.Context, p peer) (string, error) {
					return "", errors.Join(streamhttp.CloseStream(ctx, 0), text())
				},
			})
			s := serve(t, l, streamhttp.HandlerOptions{Polling: true})
			hs := s.begin()
			st := s.open("POST", legacyCall("1", c.tool), hs...)
			prime, ok := st.next()
			require.True(t, ok)
			st.drain()
			r := s.do("GET", "", append(hs, "Last-Event-ID: "+prime.id)...)
			if c.lost && (c.tool == "told" || r.StatusCode == 400) { // or it came before the answer
				require.Equal(t, 400, r.StatusCode)
				require.Contains(t, r.body, "not kept")
				return
			}
			require.Equal(t, 200, r.StatusCode, r.body)
			got, _ := textOf(t, r)
			require.Len(t, got[0], c.n)
		})
	}
}

// TestTextStreamOnAnotherResponse: a client that polls while the reader has
// nothing yet gets the text as it comes.
func TestTextStreamOnAnotherResponse(t *testing.T) {
	goOn := make(chan struct{})
	l, _ := servers(map[string]tool{"poll": func(ctx context.Context, _ peer) (string, error) {
		gate := readerFunc(func([]byte) (int, error) {
			<-goOn
			return 0, io.EOF
		})
		return "", errors.Join(streamhttp.CloseStream(ctx, 0), &jsonrpc.TextStream{Reader: io.MultiReader(gate, io.LimitReader(endless{}, 4<<20))})
	}})
	s := serve(t, l, streamhttp.HandlerOptions{Polling: true})
	hs := s.begin()
	st := s.open("POST", legacyCall("1", "poll"), hs...)
	prime, ok := st.next()
	require.True(t, ok)
	st.drain()
	get := s.open("GET", "", append(hs, "Last-Event-ID: "+prime.id)...)
	close(goOn)
	e := get.message()
	require.Greater(t, len(e.data), 4<<20)
	require.NotEmpty(t, e.id)
	_, ok = get.next()
	require.False(t, ok)
}

// TestTextStreamOverHTTP10: a body without chunks has its length.
func TestTextStreamOverHTTP10(t *testing.T) {
	s := serve(t, texts(func() io.Reader { return io.LimitReader(endless{}, 300_000) }))
	c, err := net.Dial("tcp", s.srv.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	body, hs := call("1", "text", `{}`)
	_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: %s\r\nContent-Length: %d\r\n%s\r\n\r\n%s", acceptBoth, len(body), strings.Join(hs, "\r\n"), body)
	require.NoError(t, err)
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	head, text, _ := strings.Cut(string(b), "\r\n\r\n")
	require.Contains(t, head, fmt.Sprintf("Content-Length: %d", len(text)))
	require.True(t, json.Valid([]byte(text)))
}

// TestTextStreamNeedsLittleMemory: 16 MiB from a reader add at most 4 MB in the
// server, and in whoever reads here.
func TestTextStreamNeedsLittleMemory(t *testing.T) {
	const size = 16 << 20
	if raced {
		t.Skip("the race detector empties the pools of HTTP/2")
	}
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			s := serveOver(t, w.proto, texts(func() io.Reader { return io.LimitReader(endless{}, size) }), nil)
			ask := s.caller(w)
			var before, after runtime.MemStats
			for range 2 {
				runtime.ReadMemStats(&before)
				res, err := s.http().Do(ask(t.Context()))
				require.NoError(t, err)
				n, err := io.Copy(io.Discard, res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				require.Greater(t, n, int64(size))
				runtime.ReadMemStats(&after)
			}
			t.Logf("allocated %d kB", (after.TotalAlloc-before.TotalAlloc)>>10)
			require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
		})
	}
}
