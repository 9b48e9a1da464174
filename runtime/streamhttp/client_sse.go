package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Kind says which of the HTTP transports an endpoint speaks.
type Kind uint8

// The kinds.
const (
	// Any is Streamable HTTP, or HTTP+SSE where the server refuses
	// initialize in the way that servers of that transport do.
	Any Kind = iota
	// Streamable is Streamable HTTP alone.
	Streamable
	// TwoEndpoints is HTTP+SSE, the transport of 2024-11-05.
	TwoEndpoints
)

// endpointTimeout is how long a server of HTTP+SSE may take for its endpoint
// event.
const endpointTimeout = 10 * time.Second

// EndpointError is an HTTP+SSE server that does not say, or says wrongly, where
// messages go.
type EndpointError struct {
	Endpoint string // what it said, without user and query; "" if nothing
	Reason   string // what is wrong with it
	Err      error  // the cause, may be nil
}

// Error says what is wrong, and the cause.
func (e *EndpointError) Error() string {
	s := "legacy SSE endpoint " + e.Reason
	if e.Endpoint != "" {
		s += fmt.Sprintf(": %q", e.Endpoint)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *EndpointError) Unwrap() error { return e.Err }

// oldStream is the one stream of an HTTP+SSE server, whose messages are
// posted elsewhere.
type oldStream struct {
	post *url.URL
	resp *http.Response
	src  *watched
	rd   *sse.Reader
	ctx  context.Context
	stop context.CancelFunc
}

// openEvents opens the stream of an HTTP+SSE server and waits for the endpoint
// that comes first on it. Specification: basic/transports (2024-11-05).
func (l *Link) openEvents(parent context.Context) (*oldStream, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	t := time.AfterFunc(endpointTimeout, cancel)
	defer t.Stop()
	defer context.AfterFunc(parent, cancel)()
	s := &oldStream{ctx: ctx, stop: cancel}
	fail := func(reason, said string, err error) (*oldStream, error) {
		if s.resp != nil {
			_ = s.resp.Body.Close()
		}
		if s.rd != nil {
			s.rd.Release()
		}
		expired := ctx.Err() != nil && parent.Err() == nil
		cancel()
		if parent.Err() != nil {
			return nil, context.Cause(parent)
		}
		if expired {
			return nil, &EndpointError{Reason: fmt.Sprintf("timeout after %d ms", endpointTimeout.Milliseconds())}
		}
		return nil, &EndpointError{Reason: reason, Endpoint: said, Err: err}
	}
	resp, err := l.get(ctx, nil, "")
	if err != nil {
		return fail("event not received", "", err)
	}
	s.resp = resp
	s.src = l.watch(resp.Body, time.Now())
	s.rd = sse.NewReader(s.src, l.max)
	s.rd.Comment = s.src.comment
	ev, err := s.rd.Next()
	if err != nil {
		return fail("event not received", "", err)
	}
	if ev.Type != "endpoint" {
		return fail(fmt.Sprintf("event not received: the first event is of type %q", clipValue(ev.Type)), "", nil)
	}
	// Resolved as a reference (RFC 3986, 5) against where the stream is.
	base := l.url
	if resp.Request != nil && resp.Request.URL != nil {
		base = resp.Request.URL // behind redirects
	}
	post, err := base.Parse(string(bytes.TrimSpace(ev.Data)))
	switch {
	case err != nil:
		return fail("is no URL", "", nil)
	case !sameOrigin(l.url, post):
		return fail("origin mismatch", publicURL(post), nil)
	}
	post.Fragment, post.User = "", nil
	s.post = post
	return s, nil
}

// serveEvents reads the stream from now on.
func (l *Link) serveEvents(s *oldStream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		s.stop()
		_ = s.resp.Body.Close()
		return false
	}
	l.events = s
	l.stream, l.streamErr = StreamOpen, nil
	rules, _ := revision.For(revision.V20241105)
	l.session = session{rules: rules, epoch: l.session.epoch + 1}
	l.work.Add(1)
	stop := context.AfterFunc(l.ctx, s.stop)
	go func() {
		defer l.work.Done()
		defer s.stop()
		err := l.readMessages(s)
		stop()
		_ = s.resp.Body.Close()
		s.rd.Release()
		if l.ctx.Err() == nil {
			l.ended(err)
		}
	}()
	return true
}

// readMessages reads until the stream ends.
func (l *Link) readMessages(s *oldStream) error {
	x := &flight{l: l}
	for {
		ev, err := s.rd.Next()
		var long *sse.TooLongError
		switch {
		case errors.As(err, &long):
			l.r.Receive(l.ctx, x, jsonrpc.Frame{Data: long.Head, Err: &TooLongError{Limit: l.max}, Status: s.resp.StatusCode})
			continue
		case err == io.EOF:
			return err
		case err != nil:
			return &RequestError{Method: http.MethodGet, URL: publicURL(l.url), Sent: true, Err: err}
		}
		s.src.event()
		if ev.Type == sse.TypeMessage && len(bytes.TrimSpace(ev.Data)) > 0 {
			l.r.Receive(l.ctx, x, jsonrpc.Frame{Data: ev.Data, Owned: ev.Owned, Header: s.resp.Header, Status: s.resp.StatusCode})
		}
	}
}

// ended says that the link has ended by itself: with its stream an HTTP+SSE
// session is over.
func (l *Link) ended(err error) {
	l.endOnce.Do(func() {
		l.mu.Lock()
		l.err = err
		l.stream, l.streamErr = StreamFailed, err
		l.mu.Unlock()
		l.r.Closed(err)
	})
}

// postCall posts a request. One that is given up meanwhile is posted to its end
// all the same, since its cancellation follows it: the server may have it. And
// net/http, where a response without a body has come, may break off what is next
// on that connection.
func (l *Link) postCall(ctx context.Context, s *oldStream, f jsonrpc.Frame, x *flight) error {
	if !l.begin() {
		return jsonrpc.ErrClosed
	}
	f.Data = bytes.Clone(f.Data)
	posted := make(chan error, 1)
	go func() {
		defer l.work.Done()
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		// Its time is the call's, which tells by itself that it has passed.
		defer context.AfterFunc(ctx, func() { time.AfterFunc(sendTimeout, cancel) })()
		defer context.AfterFunc(l.ctx, cancel)()
		posted <- l.postEvent(own, s, f, x)
	}()
	var answered <-chan struct{}
	if x.w != nil {
		answered = x.w.C()
	}
	select {
	case err := <-posted:
		return err
	case <-answered: // on the stream: that the POST is answered as well is not waited for
		x.take()
		return nil
	case <-ctx.Done():
		x.take()
		return context.Cause(ctx)
	}
}

// postEvent posts a message where the server wants it; what comes of it comes
// on the stream.
func (l *Link) postEvent(ctx context.Context, s *oldStream, f jsonrpc.Frame, x *flight) error {
	h := l.headers(nil, f.Header)
	h["Content-Type"] = jsonValue
	h["Accept"] = bothValues
	resp, err := l.doAt(ctx, s.post, request{method: http.MethodPost, header: h, data: f.Data, x: x})
	if err != nil {
		return err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		var id jsonrpc.ID
		if x != nil {
			id = x.id
		}
		return l.failure(resp, id)
	}
	discard(resp)
	return nil
}

// fallback tries HTTP+SSE after a server refused initialize, as the revision
// that was offered says when. It is false when that was not it. Specification:
// basic/transports, backwards compatibility.
func (l *Link) fallback(ctx context.Context, x *flight, f jsonrpc.Frame, refused error) (bool, error) {
	status := refusal(refused)
	switch {
	case l.kind != Any || x.keep || x.method != methodInitialize || x.stateless:
		return false, nil
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusTooManyRequests || status < 400 || status > 499:
		return false, nil
	}
	version, _ := wire.Raw(f.Data).Get("params").Get("protocolVersion").Str()
	rules := revision.Like(version, false)
	if !rules.HTTP.FallbackAny4xx && !rules.HTTP.TwoEndpoints && status != http.StatusBadRequest && status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
		return false, nil
	}
	s, err := l.openEvents(ctx)
	if err != nil {
		l.log.Debug("endpoint is no legacy one either", "url", publicURL(l.url), "err", err)
		return false, nil
	}
	if !l.serveEvents(s) {
		return true, jsonrpc.ErrClosed
	}
	return true, l.postCall(ctx, s, f, x)
}
