package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// proxied is a proxy in front of a handler, and its log.
type proxied struct {
	url    string
	server *httptest.Server
	log    *Log
	file   *bytes.Buffer
	stop   func()
}

func newProxied(t *testing.T, rules []string, h http.HandlerFunc) *proxied {
	t.Helper()
	p := &proxied{server: httptest.NewServer(h), file: &bytes.Buffer{}}
	t.Cleanup(p.server.Close)
	r, err := ParseRules(rules, env)
	require.NoError(t, err)
	p.log, err = NewLog(p.file, LogOptions{Target: p.server.URL + "/mcp", Transport: "http", Rules: r})
	require.NoError(t, err)
	proxy, err := NewProxy(p.server.URL+"/mcp", p.log.Recorder())
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- proxy.Serve(ctx, l) }()
	var once sync.Once
	p.stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(t, <-done)
			require.NoError(t, p.log.Close())
		})
	}
	t.Cleanup(p.stop)
	p.url = "http://" + l.Addr().String()
	return p
}

// recording ends the proxy.
func (p *proxied) recording(t *testing.T) *transcript.Recording {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	p.stop()
	rec, err := transcript.Parse(p.file.Bytes())
	require.NoError(t, err, "%s", p.file.Bytes())
	return rec
}

func do(t *testing.T, method, url, body string, header ...string) *http.Response {
	t.Helper()
	var b io.Reader
	if body != "" {
		b = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, b)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func read(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(b)
}

func TestProxyAltersNoBodyAndRecordsHeads(t *testing.T) {
	const body, answer = "{ \"id\":1746600000000000000,\n\"x\":\"\xff\"}", "{\"id\":1e3 }\n"
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		require.Equal(t, body, read(t, r.Body))
		require.Equal(t, int64(len(body)), r.ContentLength)
		require.Equal(t, []string{"a", "b"}, r.Header["X-Twice"])
		require.Equal(t, "Bearer secret", r.Header.Get("Authorization"))
		require.Equal(t, "/mcp?a=%2F", r.RequestURI)
		w.Header().Set("Mcp-Session-Id", "s1")
		w.Header()["Content-Type"] = nil
		w.WriteHeader(201)
		_, _ = io.WriteString(w, answer)
	})
	res := do(t, "POST", p.url+"/mcp?a=%2F", body, "X-Twice", "a", "X-Twice", "b", "Authorization", "Bearer secret", "Accept-Encoding", "identity")
	require.Equal(t, 201, res.StatusCode)
	require.Equal(t, answer, read(t, res.Body))
	require.NotContains(t, res.Header, "Content-Type")
	rec := p.recording(t)
	require.Equal(t, "http", rec.Get(transcript.FieldTransport))
	require.Equal(t, p.server.URL+"/mcp", rec.Get(transcript.FieldTarget))
	require.False(t, rec.Redacted())
	require.NotContains(t, p.file.String(), "secret")
	var xs []*transcript.Exchange
	for x := range rec.Exchanges() {
		xs = append(xs, x)
	}
	require.Len(t, xs, 1)
	x := xs[0]
	require.Equal(t, "POST", x.Method)
	require.Equal(t, "/mcp?a=%2F", x.Target)
	require.Equal(t, body, string(x.Body))
	require.Equal(t, []string{"a", "b"}, x.Header["x-twice"])
	require.Equal(t, 201, x.Status)
	require.Equal(t, "s1", x.ResponseHeader.Get("mcp-session-id"))
	require.Equal(t, answer, string(x.Messages[0].Data))
	require.True(t, x.Ended)
	require.Less(t, x.BodyIndex, x.Messages[0].Index)
}

func TestProxyFlushesEachEvent(t *testing.T) {
	next := make(chan struct{})
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(200)
		rc := http.NewResponseController(w)
		_ = rc.Flush()
		for i := range 3 {
			<-next
			fmt.Fprintf(w, "id: %d\r\ndata: {\"n\":%d}\r\n\r\n", i, i)
			_ = rc.Flush()
		}
		<-r.Context().Done()
		close(next)
	})
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", p.url+"/mcp", nil)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req) // the head comes before the first event
	require.NoError(t, err)
	defer res.Body.Close()
	for i := range 3 {
		next <- struct{}{}
		want := fmt.Sprintf("id: %d\r\ndata: {\"n\":%d}\r\n\r\n", i, i)
		b := make([]byte, len(want))
		_, err := io.ReadFull(res.Body, b)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	cancel()
	<-next // the server saw that the client has gone
	got := lines(p.recording(t))
	for _, want := range []string{"<<1 id: 2", `<1 {"n":2}`, ">>1 end"} {
		require.Contains(t, got, want)
	}
}

func TestProxyAnswersBeforeTheRequestHasEnded(t *testing.T) {
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(413)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.Copy(io.Discard, r.Body)
	})
	pr, pw := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.url+"/mcp", pr)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	require.Equal(t, 413, res.StatusCode)
	_, err = pw.Write([]byte("{}"))
	require.NoError(t, err)
	require.NoError(t, pw.Close())
	require.Empty(t, read(t, res.Body))
	_ = res.Body.Close()
}

func TestProxyTellsWhereToPost(t *testing.T) {
	var own string
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			require.Equal(t, "/messages?s=1", r.RequestURI)
			w.WriteHeader(202)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: %s/messages?s=1\n\ndata: %s/stays\n\n", own, own)
	})
	own = p.server.URL
	got := read(t, do(t, "GET", p.url+"/sse", "").Body)
	require.Equal(t, "event: endpoint\ndata: "+p.url+"/messages?s=1\n\ndata: "+own+"/stays\n\n", got)
	require.Equal(t, 202, do(t, "POST", p.url+"/messages?s=1", "{}").StatusCode)
	got2 := lines(p.recording(t))
	require.Contains(t, got2, "<1 "+own+"/messages?s=1", "what the server said is recorded")
}

func TestProxyPassesRelativeEndpointsAndOtherStreamsOn(t *testing.T) {
	for _, stream := range []string{"event: endpoint\ndata: /m?s=1\n\n", "event:endpoint\r\ndata:m\r\n\r\n", ": hi\n\n", "event: other\ndata: x\n\n", "", "event: endpoint", "data: x\n\n"} {
		p := newProxied(t, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			_, _ = io.WriteString(w, stream)
		})
		require.Equal(t, stream, read(t, do(t, "GET", p.url+"/sse", "").Body))
	}
}

func TestProxyKeepsClientsInIt(t *testing.T) {
	var own string
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			require.Equal(t, strings.TrimPrefix(own, "http://"), r.Host)
			require.Equal(t, own, r.Header.Get("Origin"))
			http.Redirect(w, r, own+"/mcp/", http.StatusTemporaryRedirect)
			return
		}
		w.WriteHeader(204)
	})
	own = p.server.URL
	res := do(t, "POST", p.url+"/mcp", "{}", "Origin", p.url)
	require.Equal(t, 204, res.StatusCode)
	require.Equal(t, p.url+"/mcp/", res.Request.URL.String())
}

func TestProxySurvivesTheServer(t *testing.T) {
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"half":`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	res := do(t, "POST", p.url+"/mcp", "{}")
	half, err := io.ReadAll(res.Body)
	require.Error(t, err, "the client sees that it broke off")
	require.Equal(t, `{"half":`, string(half))
	p.server.Close()
	res = do(t, "POST", p.url+"/mcp", "{}")
	require.Equal(t, 502, res.StatusCode)
	require.Contains(t, read(t, res.Body), "cannot be reached")
	got := strings.Join(lines(p.recording(t)), "\n")
	require.Contains(t, got, "<1~ {\"half\":")
	require.Contains(t, got, "!1 error ")
	require.Contains(t, got, "!2 error ")
}

func TestProxyServesManyAtOnce(t *testing.T) {
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	const clients, calls = 8, 20
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range calls {
				body := fmt.Sprintf(`{"client":%d,"call":%d}`, c, i)
				res, err := http.Post(p.url+"/mcp", "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				b, _ := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if string(b) != body {
					t.Errorf("want %s, got %s", body, b)
				}
			}
		})
	}
	wg.Wait()
	n := 0
	for x := range p.recording(t).Exchanges() {
		n++
		require.Equal(t, string(x.Body), string(x.Messages[0].Data))
	}
	require.Equal(t, clients*calls, n)
}

func TestProxyHonoursEachConnectionField(t *testing.T) {
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		require.NotContains(t, r.Header, "X-A")
		require.NotContains(t, r.Header, "X-B")
		require.Equal(t, "1", r.Header.Get("X-C"))
		w.WriteHeader(204)
	})
	require.Equal(t, 204, do(t, "POST", p.url+"/mcp", "{}", "Connection", "X-A", "Connection", "x-b, close", "X-A", "1", "X-B", "1", "X-C", "1").StatusCode)
}

func TestProxyTargets(t *testing.T) {
	for _, bad := range []string{"", "ftp://x/", "http://", "127.0.0.1:80", "http://a b/", "stdio"} {
		_, err := NewProxy(bad, nil)
		require.Error(t, err, bad)
	}
}

func TestProxyEndsWithItsContext(t *testing.T) {
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	res := do(t, "GET", p.url+"/mcp", "")
	time.AfterFunc(10*time.Millisecond, p.stop)
	_, err := io.ReadAll(res.Body)
	require.Error(t, err)
	p.stop()
	_, err = http.Get(p.url + "/mcp")
	require.Error(t, err)
}

func TestProxyRecordsWhatIsInACompressedBody(t *testing.T) {
	const events = "event: message\ndata: {\"a\":1}\n\n"
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		require.Contains(t, []string{"gzip", "identity"}, r.Header.Get("Accept-Encoding"))
		if r.URL.Path == "/broken" {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "this is no gzip")
			return
		}
		text := `{"b":2}`
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/sse" {
			text = events
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			_, _ = io.WriteString(z, text)
			return
		}
		_, _ = io.WriteString(w, text)
	})
	for _, path := range []string{"/mcp", "/sse"} {
		res := do(t, "GET", p.url+path, "", "Accept-Encoding", "br, gzip;q=0.5")
		require.Equal(t, "gzip", res.Header.Get("Content-Encoding"), "it is passed on as it is")
		_, err := gzip.NewReader(res.Body)
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, res.Body)
	}
	require.Equal(t, `{"b":2}`, read(t, do(t, "GET", p.url+"/mcp", "", "Accept-Encoding", "zstd, gzip;q=0").Body))
	require.Equal(t, "this is no gzip", read(t, do(t, "GET", p.url+"/broken", "", "Accept-Encoding", "gzip").Body))
	got := lines(p.recording(t))
	for _, want := range []string{`<1 {"b":2}`, "<<2 event: message", `<2 {"a":1}`, `<3 {"b":2}`, ">>1 accept-encoding: br, gzip;q=0.5"} {
		require.Contains(t, got, want)
	}
}

// TestProxyRecordsHowWhatItCutsEnds holds that every stream that is open when
// the proxy ends has its end in the recording.
func TestProxyRecordsHowWhatItCutsEnds(t *testing.T) {
	const streams = 30
	p := newProxied(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	for range streams {
		do(t, "GET", p.url+"/mcp", "")
	}
	ends := 0
	for _, e := range p.recording(t).Events {
		if e.Kind == transcript.KindEnd {
			ends++
		}
	}
	require.Equal(t, streams, ends)
}
