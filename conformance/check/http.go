package check

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Endpoint is a server under judgement that runs already, at a URL.
type Endpoint struct {
	URL string // http or https
	// Over is catalogue.HTTP (also when "") for Streamable HTTP, catalogue.SSE
	// for the HTTP+SSE of 2024-11-05.
	Over catalogue.Transport
	// Header is sent with every request. Recordings name its fields without
	// their values.
	Header http.Header
	// Dial connects to the server; nil uses the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Transport implements Target.
func (e *Endpoint) Transport() catalogue.Transport {
	if e.Over == "" {
		return catalogue.HTTP
	}
	return e.Over
}

// String is the URL without a user's name and password.
func (e *Endpoint) String() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return e.URL
	}
	return u.Redacted()
}

// Wait says how long Session.Send waits.
type Wait uint8

// The waits; each ends with the limit for a request at the latest.
const (
	WaitEnd  Wait = iota // until the response has ended
	WaitHead             // until its status and headers are there
	WaitNone             // not at all
)

// HTTPRequest is a request as Session.Send makes it. The zero value is a POST
// without a body to the endpoint.
type HTTPRequest struct {
	Method string // "" is POST
	// Target replaces the path and query of the endpoint, "/other?x=1"; "" is
	// the endpoint itself.
	Target string
	Body   string // "" is none
	// Without names headers that are left out of those that the session would
	// send; "*" leaves out all of them.
	Without []string
	// Header are fields that are sent instead of what the session would send
	// under their names: one that stands several times is sent as often.
	Header [][2]string
	Wait   Wait
	// Limit replaces the limit for a request; 0 keeps it.
	Limit time.Duration

	once bool // its stream is not taken up again when it ends
}

// usualHeader gives the headers of a request as a proper client sends them.
// With the lock held.
func (l *httpLink) usualHeader(method, body string) [][2]string {
	s := l.s
	var out [][2]string
	set := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	if method == http.MethodPost {
		set("Content-Type", "application/json")
	}
	switch {
	case l.over == catalogue.SSE && method == http.MethodPost:
	case method == http.MethodPost:
		set("Accept", "application/json, text/event-stream")
	case method == http.MethodGet:
		set("Accept", "text/event-stream")
	}
	if l.over == catalogue.SSE {
		return out
	}
	set("Mcp-Session-Id", l.sessionID)
	if !Modern(s.rev) {
		if slices.Contains(revisions, l.version) && AtLeast(l.version, rev2025June) {
			set("MCP-Protocol-Version", l.version)
		}
		return out
	}
	v, _ := wire.ParseRaw([]byte(body))
	f := &Frame{}
	f.decode(v)
	params := f.Params
	version, said := params.Get("_meta").Get("io.modelcontextprotocol/protocolVersion").Str()
	switch {
	case said:
		set("MCP-Protocol-Version", version)
	case f.Method != "initialize":
		set("MCP-Protocol-Version", s.rev)
	}
	if headerText(f.Method) == f.Method { // there is no form for others
		set("Mcp-Method", f.Method)
	}
	if f.Kind != KindRequest {
		return out
	}
	name, _ := mirrored(f)
	set("Mcp-Name", headerText(name))
	if f.Method == "tools/call" {
		for _, p := range l.paramHeaders(name, params.Get("arguments")) {
			set(p[0], p[1])
		}
	}
	return out
}

// headerText is a text as the value of a header: as it is where that is
// possible, else in Base64 between marks.
func headerText(s string) string {
	plain := strings.TrimSpace(s) == s && !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

// paramHeaders are the headers that the schema of a tool asks for. With the
// lock held.
func (l *httpLink) paramHeaders(tool string, args wire.Raw) [][2]string {
	var schema wire.Raw
	for f := range l.s.trace.visit(l.s.trace.frames) {
		for t := range f.result().Get("tools").Elems() {
			if Name(t, "name") == tool {
				schema = t.Get("inputSchema")
			}
		}
	}
	if schema == nil {
		schema = l.s.schemas[tool]
	}
	var out [][2]string
	var walk func(schema, value wire.Raw, depth int)
	walk = func(schema, value wire.Raw, depth int) {
		if depth > 8 {
			return
		}
		for name, p := range schema.Get("properties").Members() {
			v := value.Get(name)
			if v == nil || v.Kind() == wire.KindNull {
				continue
			}
			if header, ok := p.Get("x-mcp-header").Str(); ok && header != "" {
				switch v.Kind() {
				case wire.KindString:
					text, _ := v.Str()
					out = append(out, [2]string{"Mcp-Param-" + header, headerText(text)})
				case wire.KindNumber, wire.KindBool:
					out = append(out, [2]string{"Mcp-Param-" + header, string(v)})
				}
			}
			if v.Kind() == wire.KindObject {
				walk(p, v, depth+1)
			}
		}
	}
	walk(schema, args, 0)
	return out
}

// httpLink reaches a server over HTTP. What stands in it is guarded by the
// session's lock; the recorder is never called with that lock held, as it calls
// the session.
type httpLink struct {
	s      *Session
	e      *Endpoint
	over   catalogue.Transport
	base   *url.URL
	client *http.Transport
	basic  string // credentials of the URL, "" for none
	rec    *transcript.Recorder
	ctx    context.Context
	stop   context.CancelFunc

	last      int // number of the last exchange
	sessionID string
	version   string // agreed on by initialize
	postTo    string // HTTP+SSE: where messages are posted to; "" until the server said so
	streaming bool   // the GET stream was asked for
	stream    int    // its exchange
	closed    bool
	cancels   map[int]context.CancelFunc
	working   map[int]bool // exchanges that something may still come of
}

func newHTTPLink(ctx context.Context, s *Session, e *Endpoint) (*httpLink, error) {
	u, err := url.Parse(e.URL)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%s is no address of a server: want http:// or https:// with a host", e)
	}
	l := &httpLink{s: s, e: e, over: e.Transport(), base: u, cancels: map[int]context.CancelFunc{}, working: map[int]bool{}}
	dial := e.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: s.limits.Request}).DialContext
	}
	l.client = &http.Transport{
		DialContext: dial, DisableCompression: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10,
		TLSHandshakeTimeout: s.limits.Request, IdleConnTimeout: 30 * time.Second, MaxIdleConnsPerHost: 16,
	}
	if e.Dial == nil {
		l.client.Proxy = http.ProxyFromEnvironment
	}
	if u.User != nil { // as every client of HTTP sends it
		password, _ := u.User.Password()
		l.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
		bare := *u
		bare.User = nil
		l.base = &bare
	}
	l.ctx, l.stop = context.WithCancel(context.WithoutCancel(ctx))
	l.rec = transcript.NewRecorder(transcript.RecorderOptions{
		MaxLine: s.limits.Line, KeepStart: keptStart, MaxEvents: 2, Watch: func(e transcript.Event) {
			// What is short costs memory too, however little it says.
			if e.Dir == transcript.ToServer || s.count(0, true) {
				s.received(e)
			}
		},
	})
	return l, nil
}

// url is that of a request.
func (l *httpLink) url(method, target string) (*url.URL, error) {
	if target == "" && method == http.MethodPost && l.over == catalogue.SSE {
		target = l.postTo
	}
	if target == "" {
		return l.base, nil
	}
	return l.base.Parse(target)
}

// begin records a request and sends it on a goroutine of its own. The number
// is 0 where the session is over.
func (l *httpLink) begin(r HTTPRequest) int {
	s := l.s
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	s.mu.Lock()
	if l.closed || s.eof {
		s.mu.Unlock()
		return 0
	}
	var header [][2]string
	if !slices.Contains(r.Without, "*") {
		header = l.usualHeader(r.Method, r.Body)
	}
	header = slices.DeleteFunc(header, func(h [2]string) bool {
		named := func(name string) bool { return strings.EqualFold(name, h[0]) }
		return slices.ContainsFunc(r.Without, named) || slices.ContainsFunc(r.Header, func(o [2]string) bool { return named(o[0]) })
	})
	header = append(header, r.Header...)
	l.last++
	n := l.last
	ctx, cancel := context.WithCancel(l.ctx)
	l.cancels[n], l.working[n] = cancel, true
	to, err := l.url(r.Method, r.Target)
	s.mu.Unlock()

	target := l.base.RequestURI()
	if err == nil {
		target = to.RequestURI()
	}
	l.rec.Carrier(transcript.ToServer, n, transcript.KindRequest, r.Method+" "+target)
	for _, h := range header {
		l.rec.Carrier(transcript.ToServer, n, transcript.KindHeader, transcript.HeaderText(h[0], h[1]))
	}
	// What the user gave is part of every request and is not shown.
	secret := l.secrets(r)
	for _, name := range secret {
		l.rec.Carrier(transcript.ToServer, n, transcript.KindHeader, transcript.HeaderText(name, redactedValue))
	}
	if r.Body != "" {
		l.rec.Message(transcript.ToServer, n, []byte(r.Body))
	}
	if err != nil {
		cancel()
		l.rec.Note(n, transcript.KindError, err.Error())
		l.done(n)
		return n
	}
	s.readers.Go(func() {
		defer cancel()
		l.roundTrip(ctx, n, r, to, header, secret)
		if !r.once {
			l.resume(ctx, n)
		}
		l.done(n)
	})
	return n
}

// redactedValue stands in recordings for the value of a header that the user
// gave.
const redactedValue = "[redacted]"

// secrets names the headers of the endpoint that a request carries.
func (l *httpLink) secrets(r HTTPRequest) []string {
	var out []string
	names := slices.Collect(maps.Keys(l.e.Header))
	if l.basic != "" && len(l.e.Header.Values("Authorization")) == 0 {
		names = append(names, "Authorization")
	}
	for _, name := range names {
		named := func(o string) bool { return strings.EqualFold(o, name) }
		if !slices.ContainsFunc(r.Without, named) && !slices.ContainsFunc(r.Header, func(o [2]string) bool { return named(o[0]) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// done says that nothing more comes of an exchange.
func (l *httpLink) done(n int) {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	delete(l.working, n)
	delete(l.cancels, n)
	l.s.wakeLocked()
}

func (l *httpLink) roundTrip(ctx context.Context, n int, r HTTPRequest, to *url.URL, header [][2]string, secret []string) {
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, to.String(), body)
	if err != nil {
		l.rec.Note(n, transcript.KindError, err.Error())
		return
	}
	req.Header = http.Header{"User-Agent": {"goldwire-check"}}
	for _, h := range header {
		if strings.EqualFold(h[0], "Host") {
			req.Host = h[1]
			continue
		}
		name := http.CanonicalHeaderKey(h[0])
		req.Header[name] = append(req.Header[name], h[1])
	}
	for _, name := range secret {
		values := l.e.Header[name]
		if values == nil {
			values = []string{l.basic}
		}
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := l.client.RoundTrip(req)
	if err != nil {
		l.broke(ctx, n, err)
		return
	}
	defer resp.Body.Close()
	l.head(n, resp)
	stream := isStream(resp.Header.Get("Content-Type"))
	var tap io.WriteCloser = l.rec.Body(transcript.ToClient, n)
	if stream {
		tap = l.rec.SSE(transcript.ToClient, n)
	}
	buf := make([]byte, 32<<10)
	for {
		k, err := resp.Body.Read(buf)
		if k > 0 {
			if !l.s.count(k, false) {
				_ = tap.Close()
				return
			}
			_, _ = tap.Write(buf[:k])
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			_ = tap.Close()
		} else if b, ok := tap.(interface{ Abort() error }); ok {
			_ = b.Abort()
		} else {
			_ = tap.Close()
		}
		if errors.Is(err, io.EOF) {
			l.rec.Carrier(transcript.ToClient, n, transcript.KindEnd, "")
		} else {
			l.broke(ctx, n, err)
		}
		return
	}
}

func isStream(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// broke records that an exchange broke off, unless this client closed it.
func (l *httpLink) broke(ctx context.Context, n int, err error) {
	if ctx.Err() != nil {
		return
	}
	l.rec.Note(n, transcript.KindError, trouble(err))
	if gone(err) {
		l.s.refused(trouble(err))
	}
}

// trouble is an error of the network without the addresses of this run.
func trouble(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// gone reports whether there is nobody at the address of the server.
func gone(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// head records status and headers, and keeps what later requests need.
func (l *httpLink) head(n int, resp *http.Response) {
	l.rec.Carrier(transcript.ToClient, n, transcript.KindStatus, fmt.Sprintf("%03d", resp.StatusCode))
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, v := range resp.Header[name] {
			l.rec.Carrier(transcript.ToClient, n, transcript.KindHeader, transcript.HeaderText(name, v))
		}
	}
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.trace.carried[n]
	if x != nil && x.request != nil && x.request.Method == "initialize" && resp.StatusCode == http.StatusOK && !Modern(s.rev) {
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			l.sessionID = id
		}
	}
}

// agreed keeps the version of a session that begins. With the lock held.
func (l *httpLink) agreed(answer *Frame) {
	if req := l.s.trace.Request(answer); req != nil && req.Method == "initialize" && answer.OK() {
		l.version, _ = answer.Result.Get("protocolVersion").Str()
	}
}

// maxResumed is how often a stream is taken up again.
const maxResumed = 20

// resume asks again for a stream that ended before its request was answered,
// as long as the server names a place in it. ctx is that of the exchange.
func (l *httpLink) resume(ctx context.Context, n int) {
	s := l.s
	s.mu.Lock()
	req := s.trace.carried[n].request
	s.mu.Unlock()
	for range maxResumed {
		s.mu.Lock()
		x := s.trace.carried[n]
		stop := l.closed || s.eof || x.closed >= 0 || x.lastID == "" || req != nil && s.isAnswered(req) ||
			!slices.Contains(revisions, l.version) || Modern(l.version) || !AtLeast(l.version, rev2025March)
		id, retry := x.lastID, x.retry
		s.mu.Unlock()
		if stop {
			return
		}
		pause := s.limits.Grace
		if ms, err := strconv.Atoi(retry); err == nil {
			pause = min(time.Duration(ms)*time.Millisecond, s.limits.Request)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		n = l.begin(HTTPRequest{Method: http.MethodGet, Header: [][2]string{{"Last-Event-ID", id}}, once: true})
		if n == 0 {
			return
		}
		// The request is settled when the stream that goes on is.
		s.wait(time.Hour, func() bool { return !l.working[n] || ctx.Err() != nil || req != nil && s.isAnswered(req) })
	}
}

// closeExchange closes the response of an exchange, as a client does that wants
// no more of it.
func (l *httpLink) closeExchange(n int) {
	l.s.mu.Lock()
	cancel := l.cancels[n]
	x := l.s.trace.carried[n]
	over := x != nil && x.over
	l.s.mu.Unlock()
	if cancel == nil {
		return
	}
	if over { // there is nothing to close, only nothing to wait for
		cancel()
		return
	}
	l.rec.Carrier(transcript.ToServer, n, transcript.KindEnd, "")
	cancel()
}

// cancel closes the response to a request.
func (l *httpLink) cancel(id wire.Raw) {
	l.s.mu.Lock()
	n := 0
	if id != nil {
		for _, req := range l.s.trace.asked[idKey(id)] {
			if l.working[req.Exchange] {
				n = req.Exchange
			}
		}
	}
	l.s.mu.Unlock()
	if n != 0 {
		l.closeExchange(n)
	}
}

// settled reports whether nothing more can come for a request. With the lock
// held.
func (l *httpLink) settled(f *Frame) bool {
	x := l.s.trace.carried[f.Exchange]
	if x == nil || l.working[f.Exchange] {
		return false
	}
	return l.over != catalogue.SSE || x.failed || x.status >= 300
}

func (l *httpLink) lines(texts ...string) []*Frame {
	var out []*Frame
	for _, t := range texts {
		out = append(out, l.line(t))
	}
	return out
}

// chunks posts a message whole: nobody sees in what pieces a body came.
func (l *httpLink) chunks(parts ...string) *Frame { return l.line(strings.Join(parts, "")) }

// closeInput and terminate do nothing: the server is not ours.
func (l *httpLink) closeInput() bool { return false }

func (l *httpLink) terminate() bool { return false }

// line posts a message. What is no request is waited for: the server has dealt
// with it when it has answered the POST.
func (l *httpLink) line(text string) *Frame {
	s := l.s
	v, _ := wire.ParseRaw([]byte(text))
	peek := &Frame{}
	peek.decode(v)
	if l.over == catalogue.SSE && !l.ready() {
		return nil
	}
	if l.over == catalogue.HTTP && Modern(s.rev) && peek.Method == methodCancelled {
		// Over HTTP a request is cancelled by closing its response, and nothing
		// else is.
		l.cancel(peek.Param("requestId"))
		return nil
	}
	n := l.begin(HTTPRequest{Body: text})
	if n == 0 {
		return nil
	}
	s.mu.Lock()
	f := s.trace.carried[n].request
	s.mu.Unlock()
	if peek.Kind != KindRequest && peek.Kind != KindArray {
		s.wait(s.fenceLimit(), func() bool { return !l.working[n] || s.trace.carried[n].status != 0 })
	}
	if peek.Method == "notifications/initialized" {
		l.listen()
	}
	return f
}

// listen opens the stream on which a server sends what belongs to no request.
func (l *httpLink) listen() {
	s := l.s
	s.mu.Lock()
	skip := l.streaming || l.over != catalogue.HTTP || !slices.Contains(revisions, l.version) || !AtLeast(l.version, rev2025March)
	l.streaming = true
	s.mu.Unlock()
	if skip {
		return
	}
	if n := l.begin(HTTPRequest{Method: http.MethodGet}); n != 0 {
		s.mu.Lock()
		l.stream = n
		s.mu.Unlock()
		s.wait(s.limits.Grace, func() bool { return !l.working[n] || s.trace.carried[n].status != 0 })
	}
}

// ready opens the one stream of HTTP+SSE and waits until it has said where
// messages are posted to. Who comes second, with an answer to the server, waits
// for what the first finds.
func (l *httpLink) ready() bool {
	s := l.s
	s.mu.Lock()
	asked := l.streaming
	l.streaming = true
	s.mu.Unlock()
	if !asked {
		n := l.begin(HTTPRequest{Method: http.MethodGet})
		if n == 0 {
			return false
		}
		s.wait(s.limits.Start, func() bool {
			x := s.trace.carried[n]
			if l.postTo == "" && x.status == http.StatusOK {
				for _, e := range s.trace.gather(x).Messages {
					if e.Event == "endpoint" && l.sameOrigin(string(e.Data)) {
						l.postTo = strings.TrimSpace(string(e.Data))
						s.wakeLocked()
					}
				}
			}
			return l.postTo != "" || !l.working[n]
		})
	} else {
		s.wait(s.limits.Start, func() bool { return l.postTo != "" || s.lost != "" || l.closed })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.postTo == "" {
		s.loseLocked("the server names no address to post messages to")
		s.wakeLocked()
	}
	return l.postTo != ""
}

// sameOrigin reports whether an address that the server gave is on its host.
func (l *httpLink) sameOrigin(target string) bool {
	u, err := l.base.Parse(strings.TrimSpace(target))
	return err == nil && sameOrigin(l.base, u)
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// end closes what is open, after ending the session where there is one.
func (l *httpLink) end() {
	s := l.s
	s.mu.Lock()
	id, lost := l.sessionID, s.lost
	s.mu.Unlock()
	if id != "" && lost == "" {
		if n := l.begin(HTTPRequest{Method: http.MethodDelete}); n != 0 {
			s.wait(politeTerm, func() bool { return !l.working[n] })
		}
	}
	s.mu.Lock()
	open := slices.Sorted(maps.Keys(l.working))
	s.mu.Unlock()
	for _, n := range open {
		l.closeExchange(n)
	}
	l.kill()
}

func (l *httpLink) kill() {
	l.s.mu.Lock()
	l.closed = true
	l.s.mu.Unlock()
	l.stop()
	l.client.CloseIdleConnections()
}

// Send makes an HTTP request of its own and waits as it asks, at most for its
// limit. A stream that it opens is not taken up again when it ends early. It gives what is known of the exchange by then, nil where the session
// is over or goes over no HTTP.
func (s *Session) Send(r HTTPRequest) *Exchange {
	if s.http == nil {
		return nil
	}
	r.once = true
	n := s.http.begin(r)
	if n == 0 {
		return nil
	}
	return s.Watch(n, r.Wait, r.Limit)
}

// Watch waits for an exchange of this session, by its number, and gives what is
// known of it by then. 0 is the limit for a request.
func (s *Session) Watch(number int, wait Wait, limit time.Duration) (x *Exchange) {
	if limit <= 0 {
		limit = s.fenceLimit()
	}
	if wait != WaitNone {
		s.wait(limit, func() bool {
			return !s.http.working[number] || wait == WaitHead && s.trace.carried[number].status != 0
		})
	}
	s.View(func(t *Trace) { x = t.Exchange(number) })
	return x
}

// CloseExchange closes the response of an exchange, as a client does that wants
// no more of it.
func (s *Session) CloseExchange(number int) {
	if s.http != nil {
		s.http.closeExchange(number)
	}
}

// Listening is the exchange of the stream that the session itself has opened by
// GET, 0 where it has none, or where it is over.
func (s *Session) Listening() int {
	if s.http == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.http.working[s.http.stream] {
		return 0
	}
	return s.http.stream
}

// SessionID is the id that the server gave the session, "" for none.
func (s *Session) SessionID() string {
	if s.http == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.http.sessionID
}
