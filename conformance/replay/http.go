package replay

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

// carried is what the carrier of a transcript said about one line.
type carried struct {
	header transcript.Header // of its request, or of the response that it is in
	status int               // of the response to it, or that it is in; 0 where none is recorded
}

// httpLink is a link over HTTP: a line is the body of a request, a body or
// event of a response.
type httpLink interface {
	Link
	transport() string
	wrongs() []string
	send(line []byte, c carried) error
}

// HTTPOptions of a link over HTTP; the zero value works.
type HTTPOptions struct {
	Header http.Header  // added to every request, such as Authorization
	Client *http.Client // nil is one that follows no redirection
}

// How long a link over HTTP waits, for what is in flight at its end, and for a
// server to take a request before the next one is sent.
const (
	linger  = 500 * time.Millisecond
	headWay = 20 * time.Millisecond
)

// httpServer is a link to a server over HTTP.
type httpServer struct {
	url, rev string
	rules    revision.HTTPRules
	o        HTTPOptions
	ctx      context.Context
	cancel   context.CancelFunc

	out, errout io.WriteCloser
	outMu       sync.Mutex

	mu      sync.Mutex
	session string
	post    string        // where to post
	ready   chan struct{} // closed when post is known
	calls   map[string]*flight
	wrong   []string // statuses that were not as recorded
	flying  sync.WaitGroup
	streams sync.WaitGroup // GET
	get     bool
	once    sync.Once
	closed  chan struct{} // when out is closed
}

// flight is a request that is being answered.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// HTTP links to a server at a URL in the way of a revision: Streamable HTTP, or
// HTTP+SSE in the first. Each line that is sent is the body of a POST; what
// comes back in bodies and streams is the output of the peer, each message a
// line. Where closing its response is how a request is cancelled, the notification
// that says so elsewhere is not sent, but done. The link keeps the session, follows the rules for headers (those of a
// transcript are sent as they are recorded, but for the session), opens the
// stream of a stateful server, and takes a broken stream up again. What a server
// says outside the protocol is free text, as the standard error is elsewhere.
func HTTP(target, rev string, o HTTPOptions) (Link, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is no http or https URL", target)
	}
	if !revision.Known(rev) {
		return nil, fmt.Errorf("the transcript says no revision, which HTTP differs by")
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	s := &httpServer{url: target, rev: rev, rules: rulesOf(rev).HTTP, o: o, post: target, ready: make(chan struct{}), calls: map[string]*flight{}, closed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

func (s *httpServer) transport() string {
	if s.rules.TwoEndpoints {
		return "sse"
	}
	return "http"
}

func (s *httpServer) Start(out, errout io.WriteCloser) error {
	s.out, s.errout = out, errout
	if !s.rules.TwoEndpoints {
		close(s.ready)
		return nil
	}
	res, err := s.open("")
	if err != nil {
		s.cancel()
		return err
	}
	s.streams.Go(func() { s.stream(s.ctx, res, nil) })
	select {
	case <-s.ready:
		return nil
	case <-time.After(10 * time.Second):
		s.cancel()
		return errors.New("the server did not say where to post")
	}
}

// line hands what the server said on, as one line.
func (s *httpServer) line(data []byte) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	// A message of several lines is one all the same: newlines stand between
	// values only.
	_, _ = s.out.Write(append(oneLine(data), '\n'))
}

func oneLine(data []byte) []byte {
	out := bytes.Clone(bytes.TrimSpace(data))
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}

func (s *httpServer) say(format string, a ...any) {
	_, _ = fmt.Fprintf(s.errout, format+"\n", a...)
}

func (s *httpServer) Write(p []byte) (int, error) {
	return len(p), s.send(bytes.TrimSuffix(p, []byte("\n")), carried{})
}

func (s *httpServer) headers(req *http.Request, body []byte, c carried) {
	h := req.Header
	for name, vs := range c.header {
		if strings.HasPrefix(name, "mcp-") && name != "mcp-session-id" {
			h[http.CanonicalHeaderKey(name)] = vs
		}
	}
	v, _ := wire.ParseRaw(bytes.TrimSpace(body))
	method, _ := v.Get("method").Str()
	set := func(name, value string) {
		if _, ok := h[http.CanonicalHeaderKey(name)]; !ok {
			h.Set(name, value)
		}
	}
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session != "" {
		set("Mcp-Session-Id", session)
	}
	if s.rules.VersionHeader && c.header == nil {
		version, _ := v.Get("params").Get("_meta").Get(metaVersion).Str()
		if rulesOf(s.rev).Stateless && version != "" {
			set("Mcp-Protocol-Version", version)
		} else if method != "initialize" {
			set("Mcp-Protocol-Version", s.rev)
		}
	}
	if s.rules.MethodHeaders && c.header == nil && method != "" {
		set("Mcp-Method", method)
		if m := nameMembers[method]; m != "" {
			if name, ok := v.Get("params").Get(m).Str(); ok {
				set("Mcp-Name", headerValue(name))
			}
		}
	}
	for name, vs := range s.o.Header {
		h[name] = vs
	}
}

// nameMembers are the members of params that Mcp-Name repeats, by method
// (basic/transports/streamable-http, 2026-07-28).
var nameMembers = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}

// headerValue is a text as a header says it: as it is, or in Base64 where it
// holds what no header can.
func headerValue(s string) string {
	plain := s == strings.TrimSpace(s) && !strings.HasPrefix(s, "=?base64?")
	for i := 0; i < len(s); i++ {
		plain = plain && s[i] >= ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func rulesOf(rev string) revision.Rules {
	r, _ := revision.For(rev)
	return *r
}

// metaVersion is the member of a _meta that names the revision of a request.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// send posts a line, and returns when the server has it: when its answer has
// begun or, where it takes its time with that, a moment after all was sent.
func (s *httpServer) send(line []byte, c carried) error {
	v, _ := wire.ParseRaw(bytes.TrimSpace(line))
	requests := map[string]bool{}
	initialize, initialized := false, false
	if v != nil {
		for _, p := range parts(v) {
			m := look(p, false)
			if m.class == request {
				requests[m.id] = true
			}
			if m.cancel != "" && s.rules.CloseCancels {
				s.mu.Lock()
				f := s.calls[m.cancel]
				s.mu.Unlock()
				if f != nil {
					f.cancel()
					<-f.done
				}
				return nil
			}
			initialize = initialize || m.method == "initialize"
			initialized = initialized || m.method == "notifications/initialized"
		}
	}
	s.mu.Lock()
	to := s.post
	s.mu.Unlock()
	sent := make(chan struct{})
	var once sync.Once
	done := func() { once.Do(func() { close(sent) }) }
	var late *time.Timer
	call := &flight{done: make(chan struct{})}
	var over context.Context
	over, call.cancel = context.WithCancel(s.ctx)
	s.mu.Lock()
	for id := range requests {
		s.calls[id] = call
	}
	s.mu.Unlock()
	ctx := httptrace.WithClientTrace(over, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) {
		if len(requests) > 0 {
			late = time.AfterFunc(headWay, done)
		}
	}})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(line))
	if err != nil {
		call.cancel()
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	s.headers(req, line, c)
	var failed error
	s.flying.Go(func() {
		defer done()
		defer close(call.done)
		defer call.cancel()
		res, err := s.o.Client.Do(req)
		if err != nil {
			failed = err
			if over.Err() == nil {
				s.say("POST: %v", err)
			}
			return
		}
		if c.status != 0 && res.StatusCode != c.status && !s.rules.TwoEndpoints { // there the carrier says 202 only
			s.mu.Lock()
			s.wrong = append(s.wrong, fmt.Sprintf("HTTP status: want %d, got %d, for %s", c.status, res.StatusCode, short(string(line))))
			s.mu.Unlock()
		}
		if len(requests) == 0 || initialize {
			defer done() // when all has come
		} else {
			done()
		}
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			s.mu.Lock()
			s.session = id
			s.mu.Unlock()
		}
		s.answer(over, res, requests)
	})
	select {
	case <-sent:
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	if initialized && s.rules.GetStream && !s.get && !s.rules.TwoEndpoints {
		s.get = true
		if res, err := s.open(""); err == nil {
			s.streams.Go(func() { s.stream(s.ctx, res, nil) })
		}
	}
	if failed != nil && late == nil {
		return failed
	}
	return nil
}

// wrongs are the statuses that were not as recorded.
func (s *httpServer) wrongs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// answer reads what a POST was answered with.
func (s *httpServer) answer(ctx context.Context, res *http.Response, requests map[string]bool) {
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if media == "text/event-stream" {
		s.stream(ctx, res, requests)
		return
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<20))
	switch {
	case err != nil && ctx.Err() == nil:
		s.say("POST: %v", err)
	case len(body) > 0 && media == "application/json":
		s.line(body)
	case res.StatusCode >= 300:
		s.say("HTTP %s: %s", res.Status, short(string(body)))
	}
}

// open opens the stream of a server, from behind the event last.
func (s *httpServer) open(last string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	s.headers(req, nil, carried{})
	res, err := s.o.Client.Do(req)
	if err != nil {
		return nil, err
	}
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode != http.StatusOK || media != "text/event-stream" {
		_ = res.Body.Close()
		return nil, fmt.Errorf("GET: HTTP %s", res.Status)
	}
	return res, nil
}

// stream reads a stream to its end: that of the server (requests is nil), or
// the answer to requests, which is taken up again where it broke.
func (s *httpServer) stream(ctx context.Context, res *http.Response, requests map[string]bool) {
	for range 100 {
		r := sse.NewReader(res.Body, 0)
		for {
			e, err := r.Next()
			if err != nil {
				break
			}
			if s.rules.TwoEndpoints && string(e.Type) == "endpoint" {
				s.endpoint(string(e.Data))
				continue
			}
			if len(e.Data) == 0 {
				continue
			}
			if v, err := wire.ParseRaw(e.Data); err == nil {
				for _, p := range parts(v) {
					if m := look(p, false); m.class == response {
						delete(requests, m.id)
					}
				}
			}
			s.line(e.Data)
		}
		_ = res.Body.Close()
		last := string(r.LastEventID())
		if ctx.Err() != nil || !s.rules.Resume || last == "" || requests != nil && len(requests) == 0 {
			return
		}
		wait := time.Duration(0)
		if d, ok := r.Retry(); ok {
			wait = d
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		var err error
		if res, err = s.open(last); err != nil {
			if s.ctx.Err() == nil {
				s.say("%v", err)
			}
			return
		}
	}
}

func (s *httpServer) endpoint(data string) {
	base, err := url.Parse(s.url)
	if err != nil {
		return
	}
	u, err := base.Parse(data)
	if err != nil || u.Host != base.Host {
		s.say("the server names %q to post to, which is none of its own", data)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ready:
	default:
		s.post = u.String()
		close(s.ready)
	}
}

// CloseWrite lets what is in flight come to its end, for a moment, and then ends
// the session.
func (s *httpServer) CloseWrite() error {
	s.once.Do(func() {
		go func() {
			defer close(s.closed)
			done := make(chan struct{})
			go func() { s.flying.Wait(); close(done) }()
			select {
			case <-done:
			case <-time.After(linger):
			case <-s.ctx.Done():
			}
			s.mu.Lock()
			session := s.session
			s.mu.Unlock()
			if session != "" && s.ctx.Err() == nil {
				ctx, cancel := context.WithTimeout(s.ctx, linger)
				if req, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.url, nil); err == nil {
					s.headers(req, nil, carried{})
					if res, err := s.o.Client.Do(req); err == nil {
						_ = res.Body.Close()
					}
				}
				cancel()
			}
			s.cancel()
			<-done
			s.streams.Wait()
			s.o.Client.CloseIdleConnections()
			_ = s.out.Close()
			_ = s.errout.Close()
		}()
	})
	return nil
}

func (s *httpServer) Signal(os.Signal) error { return errors.New("HTTP carries no signals") }

func (s *httpServer) End(ctx context.Context, _ func(string)) (*os.ProcessState, error) {
	if s.out == nil {
		s.cancel()
		return nil, nil
	}
	_ = s.CloseWrite()
	select {
	case <-s.closed:
	case <-ctx.Done():
		s.cancel()
		<-s.closed
	}
	return nil, nil
}
