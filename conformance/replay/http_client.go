package replay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

// httpClient is a link to the client that comes to a listener.
type httpClient struct {
	rules revision.HTTPRules
	rev   revision.Rules
	l     net.Listener
	srv   *http.Server

	out   io.WriteCloser
	outMu sync.Mutex

	mu      sync.Mutex
	posts   []*reply // in flight, oldest first
	get     *reply   // the stream that the client opened
	waiting []outgoing
	served  chan struct{}
	once    sync.Once

	conns  map[net.Conn]bool
	lonely chan struct{} // gets a value when the last connection is closed
}

// outgoing is a line on its way to the client.
type outgoing struct {
	line []byte
	c    carried
	last bool // no line follows on this response
}

// reply is one response that is being written.
type reply struct {
	ids   map[string]bool // of requests that have no answer yet
	raw   []wire.Raw      // the ids of all its requests, as they are
	token map[string]bool // progress tokens that they asked with
	lines chan outgoing
	gone  <-chan struct{}
}

// HTTPClient links to the client that comes to a listener in the way of a
// revision: Streamable HTTP, or HTTP+SSE in the first. Bodies of requests are
// the output of the client. What is sent to it goes where it belongs: an answer
// to the request that it is for, what concerns a request (by its progress token
// or subscription) before its answer, anything else to the stream that the
// client opened or, before it does, to the oldest open request. An answer alone
// is a JSON body, otherwise the response is a stream. Where a client cancels a
// request by closing its response, that is taken for the notification that says
// so elsewhere.
func HTTPClient(l net.Listener, rev string) (Link, error) {
	if !revision.Known(rev) {
		return nil, errors.New("the transcript says no revision, which HTTP differs by")
	}
	c := &httpClient{rev: rulesOf(rev), rules: rulesOf(rev).HTTP, l: l, served: make(chan struct{}), conns: map[net.Conn]bool{}, lonely: make(chan struct{}, 1)}
	c.srv = &http.Server{Handler: c, ReadHeaderTimeout: 10 * time.Second, ConnState: c.connection}
	return c, nil
}

func (c *httpClient) connection(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateClosed && state != http.StateHijacked {
		c.conns[conn] = true
		return
	}
	delete(c.conns, conn)
	if len(c.conns) == 0 {
		select {
		case c.lonely <- struct{}{}:
		default:
		}
	}
}

func (c *httpClient) transport() string {
	if c.rules.TwoEndpoints {
		return "sse"
	}
	return "http"
}

func (c *httpClient) wrongs() []string { return nil }

func (c *httpClient) Start(out, errout io.WriteCloser) error {
	c.out = out
	_ = errout.Close()
	go func() {
		defer close(c.served)
		_ = c.srv.Serve(c.l)
	}()
	return nil
}

func (c *httpClient) Write(p []byte) (int, error) {
	return len(p), c.send(bytes.TrimSuffix(p, []byte("\n")), carried{})
}

// send sends a line to the response that it belongs to, or keeps it until there
// is one.
func (c *httpClient) send(line []byte, said carried) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.route(outgoing{line: bytes.Clone(line), c: said})
	return nil
}

func (c *httpClient) route(o outgoing) {
	to := c.get
	if !c.rules.TwoEndpoints {
		v, err := wire.ParseRaw(bytes.TrimSpace(o.line))
		answer := false
		if err == nil {
			for _, p := range parts(v) {
				m := look(p, false)
				for i, r := range c.posts {
					if m.class == response && r.ids[m.id] {
						delete(r.ids, m.id)
						answer, to = true, r
						if o.last = len(r.ids) == 0; o.last {
							c.posts = append(c.posts[:i:i], c.posts[i+1:]...)
						}
						break
					}
					if m.class != response && (m.token != "" && r.token[m.token] || m.sub != "" && r.ids[m.sub]) {
						to, answer = r, true
					}
				}
			}
		}
		if !answer && len(c.posts) > 0 && (to == nil || err != nil) {
			to = c.posts[0]
		}
	}
	if to == nil {
		c.waiting = append(c.waiting, o)
		return
	}
	select {
	case to.lines <- o:
	default: // the client does not read
	}
}

// rest sends what had to wait.
func (c *httpClient) rest() {
	waiting := c.waiting
	c.waiting = nil
	for _, o := range waiting {
		c.route(o)
	}
}

func (c *httpClient) take(body []byte) {
	c.outMu.Lock()
	defer c.outMu.Unlock()
	_, _ = c.out.Write(append(oneLine(body), '\n'))
}

// endpointPath is where clients of HTTP+SSE post.
const endpointPath = "/messages"

// ServeHTTP serves one request of the client.
func (c *httpClient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && (c.rules.GetStream || c.rules.TwoEndpoints) && strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		c.serveGet(w, r)
	case r.Method == http.MethodDelete && c.rules.Sessions:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodPost:
		c.servePost(w, r)
	default:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (c *httpClient) serveGet(w http.ResponseWriter, r *http.Request) {
	g := &reply{lines: make(chan outgoing, 1024), gone: r.Context().Done()}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	if c.rules.TwoEndpoints {
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+endpointPath+"\n\n")
	}
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	c.mu.Lock()
	c.get = g
	c.rest()
	c.mu.Unlock()
	for {
		select {
		case o := <-g.lines:
			if writeEvent(w, o.line) != nil {
				return
			}
			_ = rc.Flush()
		case <-g.gone:
			c.mu.Lock()
			if c.get == g {
				c.get = nil
			}
			c.mu.Unlock()
			return
		}
	}
}

func writeEvent(w io.Writer, line []byte) error {
	b, err := sse.Append(nil, sse.Event{Data: line})
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

func (c *httpClient) servePost(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<20))
	if err != nil {
		return
	}
	p := &reply{ids: map[string]bool{}, token: map[string]bool{}, lines: make(chan outgoing, 1024), gone: r.Context().Done()}
	v, perr := wire.ParseRaw(bytes.TrimSpace(body))
	if perr == nil {
		for _, v := range parts(v) {
			if m := look(v, false); m.class == request {
				p.ids[m.id] = true
				p.raw = append(p.raw, v.Get("id"))
				if m.token != "" {
					p.token[m.token] = true
				}
			}
		}
	}
	if c.rules.TwoEndpoints || len(p.ids) == 0 && perr == nil {
		c.take(body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	c.mu.Lock()
	c.posts = append(c.posts, p)
	c.rest()
	c.mu.Unlock()
	c.take(body)
	c.reply(w, p)
}

// reply writes what comes for a response until its last line.
func (c *httpClient) reply(w http.ResponseWriter, p *reply) {
	rc := http.NewResponseController(w)
	began := false
	for {
		var o outgoing
		select {
		case o = <-p.lines:
		case <-p.gone:
			c.mu.Lock()
			defer c.mu.Unlock()
			for i, r := range c.posts {
				if r == p {
					c.posts = append(c.posts[:i:i], c.posts[i+1:]...)
					break
				}
			}
			if c.rules.CloseCancels {
				for _, id := range p.raw {
					c.take(append(append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id...), "}}"...))
				}
			}
			return
		}
		if id := o.c.header.Get("mcp-session-id"); id != "" && !began {
			w.Header().Set("Mcp-Session-Id", id)
		}
		if o.last && !began {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(o.line)))
			w.WriteHeader(c.status(o))
			_, _ = w.Write(o.line)
			return
		}
		if !began {
			began = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
		}
		if writeEvent(w, o.line) != nil {
			return
		}
		_ = rc.Flush()
		if o.last {
			return
		}
	}
}

// status is that of a JSON body: as recorded, or as the revision has it.
func (c *httpClient) status(o outgoing) int {
	if o.c.status != 0 {
		return o.c.status
	}
	v, err := wire.ParseRaw(o.line)
	if err != nil {
		return http.StatusOK
	}
	code, _ := v.Get("error").Get("code").Int()
	switch {
	case code == -32700 || code == -32600:
		return http.StatusBadRequest
	case code == -32601 && c.rules.UnknownMethodStatus != 0:
		return c.rules.UnknownMethodStatus
	case c.rev.Stateless && code <= -32020 && code > -32100:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// CloseWrite ends the link once what was sent has gone out: over HTTP a server
// has no other way to say that nothing more comes.
func (c *httpClient) CloseWrite() error {
	c.once.Do(func() {
		go func() {
			late := time.After(linger)
			for open := true; open; {
				c.mu.Lock()
				open = len(c.conns) > 0
				c.mu.Unlock()
				if open {
					select {
					case <-c.lonely:
					case <-late:
						open = false
					}
				}
			}
			_ = c.srv.Close()
			<-c.served
			_ = c.out.Close()
		}()
	})
	return nil
}

func (c *httpClient) Signal(os.Signal) error { return errors.New("HTTP carries no signals") }

func (c *httpClient) End(ctx context.Context, _ func(string)) (*os.ProcessState, error) {
	if c.out == nil {
		return nil, c.l.Close()
	}
	_ = c.CloseWrite()
	select {
	case <-c.served:
	case <-ctx.Done():
		_ = c.srv.Close()
		<-c.served
	}
	return nil, nil
}
