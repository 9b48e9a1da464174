package client

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Where the server is reached.
const (
	endpoint     = "/mcp"
	sseEndpoint  = "/sse"
	ssePosts     = "/messages"
	eventStream  = "text/event-stream"
	jsonType     = "application/json"
	maxHead      = 64 << 10
	readHeadTime = 10 * time.Second
)

// origin is one address.
type origin struct {
	name, url string
	server    *http.Server
}

func (p *Play) serveOrigin(name string, l net.Listener) *origin {
	o := &origin{name: name, url: "http://" + l.Addr().String()}
	o.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.exchanged(o, w, r) }),
		ReadHeaderTimeout: readHeadTime,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          silent,
	}
	p.servers.Go(func() { _ = o.server.Serve(l) })
	return o
}

// Exchange is one request over HTTP and what is answered. Its methods may be
// called from several goroutines, and do nothing once the response is over.
type Exchange struct {
	Play   *Play
	Number int    // in the recording
	Origin string // name of the address it came to, "" for that of the client's server
	Method string
	URL    *url.URL
	Header transcript.Header // of the request
	Body   []byte

	w     http.ResponseWriter
	gone  <-chan struct{} // closed when the client closed it
	over  chan struct{}   // closed when the response is over
	sid   string          // of an HTTP+SSE stream
	aside bool            // a stream for what answers nothing

	// mu comes before Play.mu. It is held while something is written, which
	// lasts as long as the client does not read.
	mu     sync.Mutex
	status int
	extra  [][2]string
	head   bool // the head was written
	stream bool // it is a stream of events
	ended  bool
	cut    bool
	line   []byte // of the stream, that is not yet whole
	data   []byte // of the event, up to now
	some   bool   // data has a line
	pos    int
}

// exchanged deals with one request of a client.
func (p *Play) exchanged(o *origin, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(p.limits.Line)+1))
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	p.servers.Add(1) // here, as close waits once it has set closed
	defer p.servers.Done()
	p.exchange++
	n := p.exchange
	p.mu.Unlock()
	x := &Exchange{
		Play: p, Number: n, Origin: o.name, Method: r.Method, URL: r.URL, Header: transcript.Header{}, Body: body,
		w: w, gone: r.Context().Done(), over: make(chan struct{}), status: http.StatusOK,
	}
	target := r.URL.RequestURI()
	if o.name != "" {
		target = o.url + target
	}
	p.rec.Carrier(transcript.ToServer, n, transcript.KindRequest, r.Method+" "+target)
	size := len(body)
	put := func(name, value string) {
		size += len(name) + len(value)
		x.Header[strings.ToLower(name)] = append(x.Header[strings.ToLower(name)], value)
		p.rec.Carrier(transcript.ToServer, n, transcript.KindHeader, transcript.HeaderText(name, value))
	}
	put("host", r.Host)
	names := make([]string, 0, len(r.Header))
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, v := range r.Header[name] {
			put(name, v)
		}
	}
	if len(body) > 0 {
		p.rec.Message(transcript.ToServer, n, body)
	}
	if err != nil {
		p.rec.Note(n, transcript.KindError, "the body of the request ended early")
	}
	if p.touch(true, size) && err == nil && len(body) <= p.limits.Line {
		// On a goroutine of its own: what is done about a request may outlive
		// the response.
		free := p.occupied()
		p.work.Go(func() {
			defer free()
			if p.HTTP == nil || !p.HTTP(x) {
				p.route(x)
			}
		})
	} else {
		x.Respond(http.StatusRequestEntityTooLarge, "", "")
	}
	select {
	case <-x.over:
	case <-x.gone:
	case <-p.ctx.Done():
		// What the client does at the end is seen, and a stream ends with the play.
		x.finishAtEnd()
	}
	x.mu.Lock()
	left, cut := !x.ended, x.cut
	x.ended = true
	if left {
		p.rec.Carrier(transcript.ToServer, n, transcript.KindEnd, "")
	}
	x.mu.Unlock()
	if left {
		x.close()
		p.abandon(x)
		p.touch(true, 0)
	}
	p.mu.Lock()
	p.streams = slices.DeleteFunc(p.streams, func(s *Exchange) bool { return s == x })
	p.mu.Unlock()
	if cut {
		panic(http.ErrAbortHandler) // the way to break off a response
	}
}

// finishAtEnd ends the response of an exchange when the play is over: what
// comes after that is how the client takes its leave, which the good server
// answers at once.
func (x *Exchange) finishAtEnd() {
	select {
	case <-x.over:
	case <-x.gone:
	case <-time.After(leave):
		// Somebody may be writing to a client that does not read.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(leave))
		x.End()
	}
}

// leave is how long an exchange may last after the play is over.
const leave = 100 * time.Millisecond

// abandon cancels what the client does not wait for any more: in a stateless
// revision that closes its exchange.
func (p *Play) abandon(x *Exchange) {
	if !p.Modern() {
		return
	}
	p.mu.Lock()
	var calls []*Call
	for k, c := range p.running {
		if c.Exchange == x {
			calls = append(calls, c)
			delete(p.running, k)
		}
	}
	p.listens = slices.DeleteFunc(p.listens, func(c *Call) bool { return c.Exchange == x })
	p.mu.Unlock()
	for _, c := range calls {
		c.cancel()
	}
}

func (x *Exchange) close() {
	select {
	case <-x.over:
	default:
		close(x.over)
	}
}

// Path is that of the URL.
func (x *Exchange) Path() string { return x.URL.Path }

// Gone is closed when the client closed the exchange.
func (x *Exchange) Gone() <-chan struct{} { return x.gone }

// open takes no mutex.
func (x *Exchange) open() bool {
	select {
	case <-x.over:
		return false
	default:
		return true
	}
}

// SetStatus sets the status of the response, before its head is sent.
func (x *Exchange) SetStatus(status int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.status = status
}

// SetHeader adds a header to the response, before its head is sent.
func (x *Exchange) SetHeader(name, value string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.extra = append(x.extra, [2]string{name, value})
}

// headLocked sends the head.
func (x *Exchange) headLocked(contentType string) {
	x.head = true
	h := x.w.Header()
	rec := x.Play.rec
	rec.Carrier(transcript.ToClient, x.Number, transcript.KindStatus, strconv.Itoa(x.status))
	put := func(name, value string) {
		h[name] = append(h[name], value) // spelt as it is given
		rec.Carrier(transcript.ToClient, x.Number, transcript.KindHeader, transcript.HeaderText(name, value))
	}
	if contentType != "" {
		put("Content-Type", contentType)
	} else {
		h["Content-Type"] = nil // none is made up
	}
	for _, e := range x.extra {
		put(e[0], e[1])
	}
	x.w.WriteHeader(x.status)
}

// Respond answers by a status and a body; a status of 0 is that of SetStatus,
// and an empty body none. False when there is a response already.
func (x *Exchange) Respond(status int, contentType, body string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended || x.head {
		return false
	}
	if status != 0 {
		x.status = status
	}
	x.headLocked(contentType)
	if body != "" {
		_, _ = io.WriteString(x.w, body)
		x.Play.rec.Message(transcript.ToClient, x.Number, []byte(body))
	}
	x.endLocked()
	return true
}

func (x *Exchange) endLocked() {
	if x.ended {
		return
	}
	x.ended = true
	if x.cut {
		x.Play.rec.Note(x.Number, transcript.KindError, "the server broke the connection")
	} else {
		x.Play.rec.Carrier(transcript.ToClient, x.Number, transcript.KindEnd, "")
	}
	x.Play.touch(false, 0)
	x.close()
}

// End ends the response as it is.
func (x *Exchange) End() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended && !x.head {
		x.headLocked("")
	}
	x.endLocked()
}

// Cut breaks the connection off.
func (x *Exchange) Cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.ended {
		x.cut = true
		x.endLocked()
	}
}

// Stream begins a response that is a stream of events; more than once does
// nothing.
func (x *Exchange) Stream() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.streamLocked()
}

func (x *Exchange) streamLocked() bool {
	if x.ended || x.head && !x.stream {
		return false
	}
	if !x.head {
		x.stream = true
		x.extra = append(x.extra, [2]string{"Cache-Control", "no-store"}, [2]string{"X-Accel-Buffering", "no"})
		x.headLocked(eventStream)
		x.flushLocked()
	}
	return true
}

func (x *Exchange) flushLocked() { _ = http.NewResponseController(x.w).Flush() }

// Write writes to the stream whatever it is given, whole lines or parts of
// them, and records what a reader of streams makes of it. Lines end with \n,
// \r\n or \r, but a \r and its \n have to come in one call.
func (x *Exchange) Write(text string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.streamLocked() {
		return false
	}
	// Recorded first, so that no answer stands before what it answers.
	x.recordLocked(text)
	_, err := io.WriteString(x.w, text)
	x.flushLocked()
	x.Play.touch(false, 0)
	return err == nil
}

// recordLocked takes apart what goes out.
func (x *Exchange) recordLocked(text string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\r', '\n':
			if c == '\r' && i+1 < len(text) && text[i+1] == '\n' {
				i++
			}
			x.lineLocked(string(x.line))
			x.line = x.line[:0]
		default:
			x.line = append(x.line, c)
		}
	}
}

func (x *Exchange) lineLocked(line string) {
	rec := x.Play.rec
	if x.pos++; x.pos == 1 {
		line = strings.TrimPrefix(line, "\ufeff")
	}
	if line == "" {
		if x.some {
			rec.Message(transcript.ToClient, x.Number, x.data)
		}
		x.data, x.some = nil, false
		return
	}
	name, value, _ := strings.Cut(line, ":")
	if name == "data" {
		if x.some {
			x.data = append(x.data, '\n')
		}
		x.data, x.some = append(x.data, strings.TrimPrefix(value, " ")...), true
		return
	}
	rec.Carrier(transcript.ToClient, x.Number, transcript.KindSSE, line)
}

// Field writes a field that belongs to the next event: id, event, retry.
func (x *Exchange) Field(name, value string) bool { return x.Write(name + ": " + value + "\n") }

// Comment writes a comment.
func (x *Exchange) Comment(text string) bool { return x.Write(": " + text + "\n") }

// Event writes an event with that data.
func (x *Exchange) Event(data string) bool {
	return x.Write("data: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n")
}

func (x *Exchange) message(text string) bool {
	x.prime()
	return x.Event(text)
}

// prime begins a stream, where the revision knows of it, with an event that has
// nothing but an id.
func (x *Exchange) prime() {
	x.mu.Lock()
	first := !x.head && !x.ended
	x.mu.Unlock()
	if first && x.Play.Transport == catalogue.HTTP && x.Play.Speaks == "2025-11-25" {
		x.Write("id: " + strconv.Itoa(x.Number) + "\ndata:\n\n")
	}
}

func (x *Exchange) reply(text string, code int64) bool {
	x.mu.Lock()
	if !x.head && !x.ended && !x.Play.Streams {
		x.mu.Unlock()
		if x.Play.Modern() {
			if status := statusOf(code); status != http.StatusOK {
				x.SetStatus(status)
			}
		} else if code == -32700 || code == -32600 {
			x.SetStatus(http.StatusBadRequest)
		}
		return x.Respond(0, jsonType, text)
	}
	x.mu.Unlock()
	x.prime()
	ok := x.Event(text)
	x.End()
	return ok
}

func (x *Exchange) key() string {
	if x.Play.Modern() {
		return "x" + strconv.Itoa(x.Number) + " "
	}
	return "s" + x.Header.Get("mcp-session-id") + " "
}

// statusOf is the status that goes with the code of an error in the stateless
// revisions.
func statusOf(code int64) int {
	switch code {
	case -32601:
		return http.StatusNotFound
	case -32020, -32021, -32022, -32600, -32700:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// route is the good server.
func (p *Play) route(x *Exchange) {
	switch {
	case x.Origin != "":
		x.Respond(http.StatusNotFound, "", "")
	case foreign(x.Header.Get("origin")):
		x.Respond(http.StatusForbidden, "", "")
	case p.Transport == catalogue.SSE && x.Path() == sseEndpoint && x.Method == http.MethodGet:
		p.openSSE(x)
	case p.Transport == catalogue.SSE && x.Path() == ssePosts && x.Method == http.MethodPost:
		p.postSSE(x)
	case p.Transport == catalogue.SSE && x.Path() == sseEndpoint:
		x.SetHeader("Allow", "GET")
		x.Respond(http.StatusMethodNotAllowed, "", "")
	case p.Transport != catalogue.HTTP || x.Path() != endpoint:
		x.Respond(http.StatusNotFound, "", "")
	case x.Method == http.MethodPost:
		p.post(x)
	case p.Modern():
		x.SetHeader("Allow", "POST")
		x.Respond(http.StatusMethodNotAllowed, "", "")
	case x.Method == http.MethodGet && !p.NoGet:
		if p.inSession(x) {
			p.openGet(x)
		}
	case x.Method == http.MethodDelete && p.hasSessions():
		if p.inSession(x) {
			p.mu.Lock()
			sid := x.Header.Get("mcp-session-id")
			p.ended[sid] = true
			streams := slices.Clone(p.streams)
			p.mu.Unlock()
			x.Respond(http.StatusOK, "", "")
			for _, s := range streams {
				if s.Header.Get("mcp-session-id") == sid {
					s.End()
				}
			}
		}
	default:
		x.SetHeader("Allow", "POST")
		x.Respond(http.StatusMethodNotAllowed, "", "")
	}
}

// foreign reports whether a request comes from a page of another machine.
func foreign(origin string) bool {
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// inSession reports whether a request of a stateful revision belongs to the
// session, and answers it where it does not. One that names no session does,
// where the server is not strict.
func (p *Play) inSession(x *Exchange) bool {
	sid, named := x.Header.Get("mcp-session-id"), x.Header["mcp-session-id"] != nil
	p.mu.Lock()
	live := p.issued[sid] && !p.ended[sid]
	p.mu.Unlock()
	version := x.Header.Get("mcp-protocol-version")
	switch {
	case version != "" && version != p.Speaks && atLeastJune(p.Speaks):
		x.Respond(http.StatusBadRequest, "text/plain; charset=utf-8", "Bad Request: unsupported protocol version\n")
	case !p.hasSessions():
		return true
	case !named && (p.Strict || x.Method == http.MethodGet): // which nobody may be listening on
		x.Respond(http.StatusBadRequest, "text/plain; charset=utf-8", "Bad Request: no session\n")
	case named && !live:
		x.Respond(http.StatusNotFound, "text/plain; charset=utf-8", "Not Found: no such session\n")
	default:
		return true
	}
	return false
}

func (p *Play) post(x *Exchange) {
	if !p.Modern() {
		v, _ := wire.ParseRaw(x.Body)
		if method, _ := v.Get("method").Str(); method == "initialize" {
			if p.hasSessions() {
				p.mu.Lock()
				if p.issued[p.Session] { // the next one
					p.Session = token()
				}
				p.issued[p.Session] = true
				sid := p.Session
				p.mu.Unlock()
				x.SetHeader(p.sessionHeader(), sid)
			}
		} else if !p.inSession(x) {
			return
		}
	}
	p.take(x.Body, x, x)
}

func (p *Play) hasSessions() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Session != ""
}

func (p *Play) sessionHeader() string {
	if p.Speaks == "2025-11-25" {
		return "MCP-Session-Id"
	}
	return "Mcp-Session-Id"
}

func (p *Play) openGet(x *Exchange) {
	x.prime()
	x.Stream()
	p.addStream(x)
}

func (p *Play) addStream(x *Exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	x.aside = true
	p.streams = append(p.streams, x)
}

func (p *Play) openSSE(x *Exchange) {
	x.sid = token()
	p.mu.Lock()
	p.issued[x.sid] = true
	p.mu.Unlock()
	p.addStream(x) // before the client can post
	x.Write("event: endpoint\ndata: " + ssePosts + "?sid=" + x.sid + "\n\n")
}

func (p *Play) postSSE(x *Exchange) {
	p.mu.Lock()
	var stream *Exchange
	for _, s := range p.streams {
		if s.sid == x.URL.Query().Get("sid") {
			stream = s
		}
	}
	p.mu.Unlock()
	if stream == nil {
		x.Respond(http.StatusNotFound, "text/plain; charset=utf-8", "no such stream\n")
		return
	}
	x.Respond(http.StatusAccepted, "", "")
	p.take(x.Body, sseWay{stream}, x)
}

// sseWay answers on the stream of an HTTP+SSE connection.
type sseWay struct{ x *Exchange }

func (w sseWay) message(text string) bool { return w.x.Write("event: message\ndata: " + text + "\n\n") }

func (w sseWay) reply(text string, _ int64) bool { return w.message(text) }

func (w sseWay) key() string { return "sse" + w.x.sid + " " }

// misheaded answers a request of a stateless revision whose headers do not say
// what its body does, and reports whether it did.
func (x *Exchange) misheaded(c *Call) bool {
	if !x.Play.Modern() {
		return false
	}
	want := [][2]string{{"mcp-protocol-version", metaText(c, versionKey)}, {"mcp-method", c.Method}}
	switch c.Method {
	case "tools/call", "prompts/get":
		want = append(want, [2]string{"mcp-name", c.Name("name")})
	case "resources/read":
		want = append(want, [2]string{"mcp-name", c.Name("uri")})
	}
	for _, w := range want {
		if got, ok := DecodeHeader(x.Header.Get(w[0])); !ok || got != w[1] {
			c.Error(-32020, "the header "+w[0]+" is missing or says something else than the body", "")
			return true
		}
	}
	return false
}
