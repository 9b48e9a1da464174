package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// Proxy is an http.Handler between clients and one HTTP server: every request
// goes on to the server, with its path, and every response back, each piece of
// a body at once. It records heads and bodies of both.
//
// Bodies and the values of header fields are passed on as they are. What names
// the server's own address is the exception, as the client would otherwise go
// round the proxy: the Host of a request, an Origin that is the proxy's, a
// Location, and the data of the event that tells a client of HTTP+SSE where to
// post. And of the compressions that a client accepts gzip is the only one that is
// asked for: a body is recorded as what is in it. What the sender wrote is recorded.
type Proxy struct {
	target    *url.URL
	rec       *transcript.Recorder
	transport *http.Transport
}

// NewProxy records the traffic with the server at an http or https URL.
func NewProxy(target string, rec *transcript.Recorder) (*Proxy, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", target)
	}
	return &Proxy{target: u, rec: rec, transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
		IdleConnTimeout:     90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
	}}, nil
}

// Path is the path of the server's URL, with its query: what stands behind the
// proxy's own address in the URL that a client is given.
func (p *Proxy) Path() string { return p.target.RequestURI() }

// Close closes the idle connections to the server.
func (p *Proxy) Close() { p.transport.CloseIdleConnections() }

// Serve serves on a listener until the context ends, then cuts what is still
// open: streams have no end of their own.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	// Requests are waited for, as they record how they end: none begins after that.
	var mu sync.Mutex
	over := false
	var handling sync.WaitGroup
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		if over {
			mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		handling.Add(1)
		mu.Unlock()
		defer handling.Done()
		p.ServeHTTP(w, r)
	})
	serving, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	srv := &http.Server{Handler: handler, BaseContext: func(net.Listener) context.Context { return serving }, ReadHeaderTimeout: 30 * time.Second, MaxHeaderBytes: 1 << 20}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_ = srv.Shutdown(grace)
	_ = srv.Close()
	cut()
	<-done
	mu.Lock()
	over = true
	mu.Unlock()
	handling.Wait()
	p.Close()
	return nil
}

// hop are the header fields that belong to one connection (RFC 9110, 7.6.1).
var hop = []string{"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Transfer-Encoding", "Upgrade"}

// connection names the fields of a head that are not passed on.
func connection(h http.Header) []string {
	names := slices.Clone(hop)
	for _, v := range h.Values("Connection") {
		names = append(names, strings.Split(v, ",")...)
	}
	return names
}

// ServeHTTP passes one request on.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := p.rec.Exchange()
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex() // an answer may begin before the body of its request has ended
	p.recordRequest(n, r)

	body := p.rec.Body(transcript.ToServer, n)
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.URL = &url.URL{Scheme: p.target.Scheme, Host: p.target.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery, ForceQuery: r.URL.ForceQuery}
	out.Host = p.target.Host
	out.Close = false
	for _, h := range connection(r.Header) {
		out.Header.Del(strings.TrimSpace(h))
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = nil // or net/http says its own
	}
	if out.Header.Get("Origin") == "http://"+r.Host {
		out.Header.Set("Origin", p.target.Scheme+"://"+p.target.Host)
	}
	if accept := r.Header.Get("Accept-Encoding"); accept != "" {
		if accept = readable(accept); accept == "" {
			accept = "identity"
		}
		out.Header.Set("Accept-Encoding", accept)
	}
	if u := p.target.User; u != nil && out.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		out.SetBasicAuth(u.Username(), password)
	}
	out.Body = nil
	if r.ContentLength != 0 {
		out.Body = &tapped{r: r.Body, tap: body, left: r.ContentLength}
	}
	res, err := p.transport.RoundTrip(out)
	if err != nil {
		_ = body.Abort()
		if r.Context().Err() != nil {
			p.rec.Carrier(transcript.ToServer, n, transcript.KindEnd, "")
			panic(http.ErrAbortHandler)
		}
		p.rec.Note(n, transcript.KindError, err.Error())
		http.Error(w, "goldwire record: the server cannot be reached: "+err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	// The response is recorded behind its request, also where the server has
	// answered before it had read all.
	if out.Body == nil {
		_ = body.Close()
	}
	stream := p.recordResponse(n, res)

	h := w.Header()
	maps.Copy(h, res.Header)
	for _, name := range connection(res.Header) {
		h.Del(strings.TrimSpace(name))
	}
	for _, name := range []string{"Date", "Content-Type"} { // which net/http would add
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	own := p.target.Scheme + "://" + p.target.Host
	if loc, ok := strings.CutPrefix(h.Get("Location"), own); ok && (loc == "" || loc[0] == '/') {
		h.Set("Location", "http://"+r.Host+loc)
	}
	if res.ContentLength >= 0 && r.Method != http.MethodHead && h.Get("Content-Length") == "" {
		h.Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
	}
	for name := range res.Trailer {
		h.Add("Trailer", name)
	}
	var to io.Writer = w
	var point *pointer
	if stream && r.Method == http.MethodGet {
		point = &pointer{w: w, own: own, proxy: "http://" + r.Host}
		to = point
	}
	w.WriteHeader(res.StatusCode)
	if stream || res.ContentLength < 0 {
		_ = rc.Flush() // the head does not wait for the body
	}

	var tap bodyTap
	if stream {
		tap = sse{p.rec.SSE(transcript.ToClient, n)}
	} else {
		tap = p.rec.Body(transcript.ToClient, n)
	}
	if res.Header.Get("Content-Encoding") == "gzip" {
		tap = unzip(tap)
	}
	buf := make([]byte, 32<<10)
	for {
		k, err := res.Body.Read(buf)
		if k > 0 {
			_, _ = tap.Write(buf[:k])
			_, werr := to.Write(buf[:k])
			if werr == nil {
				werr = rc.Flush()
			}
			if werr != nil {
				_ = tap.Abort()
				p.rec.Carrier(transcript.ToServer, n, transcript.KindEnd, "")
				panic(http.ErrAbortHandler)
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			_ = tap.Close()
			p.rec.Carrier(transcript.ToClient, n, transcript.KindEnd, "")
			if point != nil {
				_ = point.flush()
			}
			for name, vs := range res.Trailer {
				h[name] = vs
			}
			return
		}
		_ = tap.Abort()
		if r.Context().Err() != nil {
			p.rec.Carrier(transcript.ToServer, n, transcript.KindEnd, "")
		} else {
			p.rec.Note(n, transcript.KindError, err.Error())
		}
		panic(http.ErrAbortHandler) // the client sees that it broke off
	}
}

// recordRequest records the head of a request, names in alphabetical order, for
// net/http does not tell theirs.
func (p *Proxy) recordRequest(n int, r *http.Request) {
	target := r.RequestURI
	p.rec.Carrier(transcript.ToServer, n, transcript.KindRequest, r.Method+" "+target)
	p.recordHeader(transcript.ToServer, n, "host", r.Host)
	if r.ContentLength > 0 && r.Header.Get("Content-Length") == "" {
		p.recordHeader(transcript.ToServer, n, "content-length", strconv.FormatInt(r.ContentLength, 10))
	}
	if len(r.TransferEncoding) > 0 {
		p.recordHeader(transcript.ToServer, n, "transfer-encoding", strings.Join(r.TransferEncoding, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, v := range r.Header[name] {
			p.recordHeader(transcript.ToServer, n, name, v)
		}
	}
}

// recordResponse records the head of a response, and reports whether it is an
// event stream.
func (p *Proxy) recordResponse(n int, res *http.Response) (stream bool) {
	p.rec.Carrier(transcript.ToClient, n, transcript.KindStatus, fmt.Sprintf("%03d", res.StatusCode))
	if len(res.TransferEncoding) > 0 {
		p.recordHeader(transcript.ToClient, n, "transfer-encoding", strings.Join(res.TransferEncoding, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(res.Header)) {
		for _, v := range res.Header[name] {
			p.recordHeader(transcript.ToClient, n, name, v)
		}
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return media == "text/event-stream"
}

func (p *Proxy) recordHeader(d transcript.Dir, n int, name, value string) {
	p.rec.Carrier(d, n, transcript.KindHeader, transcript.HeaderText(name, value))
}

// tapped is the body of a request on its way to the server.
type tapped struct {
	r    io.ReadCloser
	tap  *transcript.Body
	left int64 // what has still to come; negative when that is not known
}

func (t *tapped) Read(b []byte) (int, error) {
	n, err := t.r.Read(b)
	if n > 0 {
		_, _ = t.tap.Write(b[:n])
		t.left -= int64(n)
	}
	// The body is recorded before its last byte can reach the server, so that
	// no answer stands before it.
	if err == io.EOF || err == nil && t.left == 0 {
		_ = t.tap.Close()
	} else if err != nil {
		_ = t.tap.Abort()
	}
	return n, err
}

func (t *tapped) Close() error {
	_ = t.tap.Abort() // unless it has come to its end
	return t.r.Close()
}

// bodyTap records a body.
type bodyTap interface {
	io.WriteCloser
	Abort() error // for one that broke off
}

// zipped records what is in a compressed body.
type zipped struct {
	w    *io.PipeWriter
	done chan error
	tap  bodyTap
}

func unzip(tap bodyTap) *zipped {
	r, w := io.Pipe()
	z := &zipped{w: w, done: make(chan error, 1), tap: tap}
	go func() { // ends with the body
		zr, err := gzip.NewReader(r)
		if err == nil {
			_, err = io.Copy(tap, zr)
		}
		_, _ = io.Copy(io.Discard, r)
		z.done <- err
	}()
	return z
}

func (z *zipped) Write(b []byte) (int, error) { return z.w.Write(b) }

func (z *zipped) Close() error {
	_ = z.w.Close()
	if err := <-z.done; err != nil {
		return z.tap.Abort()
	}
	return z.tap.Close()
}

func (z *zipped) Abort() error {
	_ = z.w.Close()
	<-z.done
	return z.tap.Abort()
}

// readable are the encodings of a client's Accept-Encoding that can be recorded
// as what is in them, "" for none.
func readable(accept string) string {
	for e := range strings.SplitSeq(accept, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(e), ";")
		if (name == "gzip" || name == "*") && strings.TrimSpace(q) != "q=0" {
			return "gzip"
		}
	}
	return ""
}

// sse gives the tap of a stream the face of that of a body: a stream has no
// length, so its last event is cut where the stream is.
type sse struct{ io.WriteCloser }

func (s sse) Abort() error { return s.Close() }

// pointer passes a stream on and puts the proxy's address in the place of the
// server's in its first event, when that is the one which tells where to post
// (HTTP+SSE). The rest goes on as it is.
type pointer struct {
	w          io.Writer
	own, proxy string
	held       []byte
	past       bool
}

// maxEndpoint bounds the event that is looked at.
const maxEndpoint = 8 << 10

func (x *pointer) Write(b []byte) (int, error) {
	if x.past {
		return x.w.Write(b)
	}
	x.held = append(x.held, b...)
	var end bool
	for _, blank := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		end = end || bytes.Contains(x.held, []byte(blank))
	}
	// Whatever does not begin as that event does goes on at once.
	if may := bytes.HasPrefix(x.held, []byte("event:")) || bytes.HasPrefix([]byte("event:"), x.held); end || !may || len(x.held) > maxEndpoint {
		return len(b), x.flush()
	}
	return len(b), nil
}

func (x *pointer) flush() error {
	if x.past {
		return nil
	}
	x.past = true
	out := x.held
	x.held = nil
	if l, rest, ok := bytes.Cut(out, []byte("\n")); ok && string(bytes.TrimSpace(bytes.TrimPrefix(l, []byte("event:")))) == "endpoint" {
		for _, sep := range []string{"data: ", "data:"} {
			if bytes.HasPrefix(rest, []byte(sep+x.own+"/")) {
				out = slices.Concat(l, []byte("\n"+sep+x.proxy), rest[len(sep)+len(x.own):])
				break
			}
		}
	}
	_, err := x.w.Write(out)
	return err
}
