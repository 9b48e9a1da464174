package streamhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

const (
	maxRedirects = 5
	maxErrorBody = 64 << 10 // what is read of the body of a failure
	errorTime    = 2 * time.Second
)

// body is the body of one request. The pool may go on reading it after the
// answer is there; from detach on it gets nothing more.
type body struct {
	mu   sync.Mutex
	data []byte
	read int
	x    *flight
	all  bool // read to its end
	gone bool
	next *body
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		if b.all {
			return 0, io.EOF
		}
		return 0, errDetached
	}
	n := copy(p, b.data[b.read:])
	b.read += n
	if n > 0 && b.x != nil {
		b.x.begun.Store(true)
	}
	if b.read < len(b.data) {
		return n, nil
	}
	b.all = true
	if b.x != nil {
		b.x.take()
	}
	return n, io.EOF
}

var errDetached = errors.New("the request is over")

func (b *body) Close() error { return nil }

// again is the body from its start, for a connection that turned out to be dead
// before anything was written. Only the last one is read.
func (b *body) again() (io.ReadCloser, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return nil, errDetached
	}
	b.next = &body{data: b.data, x: b.x}
	return b.next, nil
}

func (b *body) detach() {
	for b != nil {
		b.mu.Lock()
		b.gone, b.data = true, nil
		next := b.next
		b.mu.Unlock()
		b = next
	}
}

// request is what goes out.
type request struct {
	method string
	header http.Header
	data   []byte // nil for no body
	x      *flight
}

var (
	jsonValue   = []string{mediaJSON}
	bothValues  = []string{mediaJSON + ", " + mediaEvents}
	eventsValue = []string{mediaEvents}
)

// headers are those that go with every request: the user's, and of a session
// what it needs.
func (l *Link) headers(s *session, extra map[string][]string) http.Header {
	h := make(http.Header, len(l.header)+len(extra)+6)
	for name, values := range l.header {
		h[name] = values
	}
	for name, values := range extra {
		if name = http.CanonicalHeaderKey(name); !ownHeader(name) || strings.HasPrefix(name, HeaderParamPrefix) {
			h[name] = values
		}
	}
	if s != nil {
		for name, values := range s.header {
			h[name] = values
		}
	}
	return h
}

// do sends a request and follows redirects that stay with the origin. The
// caller closes the response's body. A failure of the carrier is a
// *RequestError.
func (l *Link) do(ctx context.Context, r request) (*http.Response, error) {
	return l.doAt(ctx, l.url, r)
}

func (l *Link) doAt(ctx context.Context, u *url.URL, r request) (*http.Response, error) {
	for hops := 0; ; hops++ {
		resp, err := l.roundTrip(ctx, u, &r)
		if err != nil {
			return nil, err
		}
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return resp, nil
		}
		next, reason := redirect(u, r.method, resp)
		if reason == "" && hops == maxRedirects {
			reason = "too many in a row"
		}
		discard(resp)
		if reason != "" {
			e := &RedirectError{Status: resp.StatusCode, From: publicURL(u), Reason: reason}
			if next != nil {
				e.To = publicURL(next)
			}
			return nil, e
		}
		u = next
	}
}

// redirect is where a redirect leads, and why it is not followed.
func redirect(from *url.URL, method string, resp *http.Response) (*url.URL, string) {
	where := resp.Header.Get("Location")
	if where == "" {
		return nil, "it does not say where to"
	}
	to, err := from.Parse(where)
	if err != nil {
		return nil, "it leads to no URL"
	}
	to.Fragment, to.User = "", nil
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	switch {
	case !sameOrigin(from, to):
		return to, "it leads to another origin, which gets neither the message nor its credentials"
	case method != http.MethodGet && !keeps:
		return to, "it would turn a " + method + " into a GET"
	}
	return to, ""
}

// sameOrigin reports whether scheme, host and port are the same.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// discard lets a connection be used again, if that takes no time.
func discard(resp *http.Response) {
	if resp.ContentLength != 0 {
		t := time.AfterFunc(drainTime, func() { _ = resp.Body.Close() })
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		t.Stop()
	}
	_ = resp.Body.Close()
}

var blank = &http.Request{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}

var errNoResponse = errors.New("the RoundTripper gave neither a response nor an error")

func (l *Link) roundTrip(ctx context.Context, u *url.URL, r *request) (*http.Response, error) {
	req := blank.WithContext(ctx)
	req.Method, req.URL, req.Host, req.Header = r.method, u, u.Host, r.header
	if r.data != nil {
		b := &body{data: r.data, x: r.x}
		req.Body, req.ContentLength, req.GetBody = b, int64(len(r.data)), b.again
		defer b.detach()
	}
	resp, err := l.rt.RoundTrip(req)
	if err != nil {
		sent := r.x != nil && r.x.begun.Load()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &RequestError{Method: r.method, URL: publicURL(u), Sent: sent, Err: err}
	}
	if resp == nil {
		return nil, &RequestError{Method: r.method, URL: publicURL(u), Sent: true, Err: errNoResponse}
	}
	if resp.Request == nil { // http.Transport sets it, and a Body; others need not for http.Client
		resp.Request = req
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		_ = resp.Body.Close()
		return nil, &ContentError{Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Encoding: clipValue(enc)}
	}
	return resp, nil
}

// media is the media type of a response, without parameters, in small letters
// where it is one of ours.
func media(resp *http.Response) string {
	t, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	t = strings.TrimSpace(t)
	for _, known := range []string{mediaJSON, mediaEvents} {
		if strings.EqualFold(t, known) {
			return known
		}
	}
	return t
}

// failure reads a response that is none of success. With an answer of the peer
// in it, to the request with this id, the error is that, an *jsonrpc.Error with
// the *StatusError as its cause.
func (l *Link) failure(resp *http.Response, id jsonrpc.ID) error {
	e := &StatusError{
		Status: resp.StatusCode, WWWAuthenticate: resp.Header["Www-Authenticate"], AuthServer: resp.Header.Get("Mcp-Auth-Server"),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if resp.StatusCode == http.StatusRequestHeaderFieldsTooLarge {
		for name, values := range resp.Request.Header {
			for _, v := range values {
				if len(v) > e.TooLongBytes {
					e.TooLong, e.TooLongBytes = name, len(v)
				}
			}
		}
	}
	for _, name := range traceHeaders {
		if e.TraceID = clipValue(resp.Header.Get(name)); e.TraceID != "" {
			break
		}
	}
	t := time.AfterFunc(errorTime, func() { _ = resp.Body.Close() }) // the status is what counts
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	t.Stop()
	_ = resp.Body.Close()
	e.Body = l.redact(data)
	if err != nil || len(data) == 0 {
		return e
	}
	env, err := jsonrpc.ParseEnvelope(data)
	if err != nil || env.Error == nil || !env.ID.IsZero() && env.ID != jsonrpc.NullID && env.ID != id {
		return e
	}
	e.RPC = env.Error.Code
	env.Error.Cause = e
	return env.Error
}

// traceHeaders are the names under which servers and proxies tell how they call
// a request in their logs.
var traceHeaders = []string{"X-Request-Id", "X-Trace-Id", "X-Correlation-Id", "Cf-Ray", "Traceparent"}

// retryAfter reads Retry-After: seconds or a date. 0 is none.
func retryAfter(s string, now time.Time) time.Duration {
	if s == "" {
		return 0
	}
	const most = 24 * time.Hour
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return min(time.Duration(n)*time.Second, most)
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(max(t.Sub(now), 0), most)
	}
	return 0
}

// take says once that the request is with the carrier.
func (x *flight) take() {
	if !x.taken.Swap(true) {
		if t, ok := x.w.(jsonrpc.Taken); ok {
			t.Taken()
		}
	}
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
