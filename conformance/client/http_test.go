package client

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// TestStreamIsRecordedAsItIsRead holds that a stream is recorded by what its
// bytes mean, however they are cut, and that the client gets the bytes.
func TestStreamIsRecordedAsItIsRead(t *testing.T) {
	const stream = "\ufeff: hi\r\nid: 7\nretry: 50\rdata: {\"a\":\ndata: 1}\n\n:\nevent: message\ndata:{}\n\nunknown\ndata: cut"
	want := []string{"<<1 : hi", "<<1 id: 7", "<<1 retry: 50", `<1x "{\"a\":\n1}"`, "<<1 :", "<<1 event: message", "<1 {}", "!1 note << unknown", "<<1 end"}
	for _, step := range []int{1, 2, 7, len(stream)} {
		p := newPlay(t.Context(), &Script{}, "2025-11-25", catalogue.HTTP, Limits{})
		p.HTTP = func(x *Exchange) bool {
			for rest := stream; rest != ""; {
				n := min(step, len(rest))
				if n < len(rest) && rest[n-1] == '\r' && rest[n] == '\n' {
					n++ // as Write asks for
				}
				x.Write(rest[:n])
				rest = rest[n:]
			}
			x.End()
			return true
		}
		resp, err := http.Get(p.URL())
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, stream, string(body))
		p.close()
		var got []string
		for _, e := range p.rec.Recording().Events {
			e.Timed = false
			switch {
			case e.Kind == transcript.KindStatus, e.Kind == transcript.KindHeader, e.Dir == transcript.ToServer:
			case e.Dir == transcript.Note && e.Exchange == 0: // how the play ended
			default:
				got = append(got, e.Line())
			}
		}
		require.Equal(t, want, got, "in pieces of %d", step)
	}
}

func TestDecodeHeader(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		ok       bool
	}{
		{"", "", true}, {"plain", "plain", true}, {"=?base64?w6Q=?=", "ä", true}, {"=?base64??=", "", true},
		{"=?base64?=", "=?base64?=", true}, {"=?BASE64?w6Q=?=", "=?BASE64?w6Q=?=", true},
		{"=?base64?w6Q?=", "", false}, {"=?base64?/w==?=", "", false}, {"=?base64?!?=", "", false},
	} {
		got, ok := DecodeHeader(tt.in)
		require.Equal(t, tt.ok, ok, tt.in)
		if ok {
			require.Equal(t, tt.want, got, tt.in)
		}
	}
}

func TestForeignOrigin(t *testing.T) {
	for origin, want := range map[string]bool{
		"": false, "http://localhost:6274": false, "http://127.0.0.1": false, "http://[::1]:80": false,
		"http://evil.example": true, "null": true, "http://localhost.evil.example": true, "://": true,
	} {
		require.Equal(t, want, foreign(origin), origin)
	}
}

func TestShellLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		require.Equal(t, `C:\a\g.exe "b c"`, shellLine([]string{`C:\a\g.exe`, "b c"}))
		return
	}
	require.Equal(t, `/a/g connect-play 127.0.0.1:1/X 'b c' 'it'\''s' ''`, shellLine([]string{"/a/g", "connect-play", "127.0.0.1:1/X", "b c", "it's", ""}))
}

// TestBlocksAreReadOrRefused holds that every prefix of a stream of blocks ends
// with an error and nothing worse.
func TestBlocksAreReadOrRefused(t *testing.T) {
	var b bytes.Buffer
	out := &blocks{w: &b}
	require.NoError(t, out.put(blockInput, bytes.Repeat([]byte("x"), maxBlock+5)))
	require.NoError(t, out.put(blockEnd, nil))
	whole := b.Bytes()
	r := bytes.NewReader(whole)
	total := 0
	for {
		kind, data, err := getBlock(r)
		if kind == blockEnd {
			require.NoError(t, err)
			require.Empty(t, data)
			break
		}
		require.NoError(t, err)
		total += len(data)
	}
	require.Equal(t, maxBlock+5, total)
	tail := whole[len(whole)-15:] // a block of five bytes, and an empty one
	for n := range tail {
		r := bytes.NewReader(tail[:n])
		var err error
		for err == nil {
			_, _, err = getBlock(r)
		}
		require.Error(t, err)
	}
	_, _, err := getBlock(bytes.NewReader([]byte{blockInput, 0xff, 0xff, 0xff, 0xff}))
	require.ErrorContains(t, err, "too long")
}

// TestCloseWaitsForWhatIsServed holds that a play is over for who serves it, too:
// when it is closed every exchange has ended, and what comes later is turned
// away.
func TestCloseWaitsForWhatIsServed(t *testing.T) {
	p := newPlay(t.Context(), &Script{}, "2025-11-25", catalogue.HTTP, Limits{})
	began := make(chan struct{})
	p.HTTP = func(x *Exchange) bool {
		close(began)
		return true // without an answer
	}
	// As of a desk, the server is not the play's.
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.exchanged(&origin{}, w, r) }))
	defer s.Close()
	var clients sync.WaitGroup
	clients.Go(func() {
		if resp, err := http.Get(s.URL); err == nil {
			_ = resp.Body.Close()
		}
	})
	<-began
	p.close()
	events := p.rec.Recording().Events
	require.Equal(t, transcript.KindEnd, events[len(events)-1].Kind)
	clients.Wait()
	resp, err := http.Get(s.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.Len(t, p.rec.Recording().Events, len(events))
}
