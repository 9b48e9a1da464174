package client

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// desk is the one address at which a client is served that somebody else
// starts, whatever is played to it. The next script begins when the client
// begins anew: by an initialize, by another stream of the old transport, or in
// a stateless revision on another connection or by another server/discover, and
// not before the script that is played has seen what it can see.
type desk struct {
	server *http.Server
	served sync.WaitGroup
	done   chan struct{} // closed when the run is over
	limit  int64         // bytes of a body that are read

	arrivals chan setting // what the client that came first speaks
	next     chan *Play   // that the client who begins anew is served by

	address string // where it listens

	// turn comes before Play.mu. It is held while one play makes room for the
	// next, and with it a request waits for that one: nothing that ends a play
	// may take it.
	turn  sync.Mutex
	base  string            // the address as the client names it, which comes with what it speaks
	play  *Play             // that is served now, nil before the first
	known map[net.Conn]bool // connections that it was asked on
	past  map[string]bool   // sessions of the plays before
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func openDesk(addr string, limit int) (*desk, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	d := &desk{
		done: make(chan struct{}), limit: int64(limit), arrivals: make(chan setting), next: make(chan *Play),
		known: map[net.Conn]bool{}, past: map[string]bool{}, address: "http://" + l.Addr().String(),
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		_, port, _ := net.SplitHostPort(l.Addr().String())
		d.address = "http://" + net.JoinHostPort("localhost", port)
	}
	d.server = &http.Server{
		Handler: d, ReadHeaderTimeout: readHeadTime, MaxHeaderBytes: maxHead, ErrorLog: silent,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
	}
	d.served.Go(func() { _ = d.server.Serve(l) })
	return d, nil
}

func (d *desk) close() {
	close(d.done)
	_ = d.server.Close()
	d.served.Wait()
}

// first waits for the client, and says what it speaks.
func (d *desk) first(ctx context.Context) (setting, error) {
	select {
	case s := <-d.arrivals:
		return s, nil
	case <-ctx.Done():
		return setting{}, ctx.Err()
	}
}

// await waits until the client begins anew, and serves it by p then; false
// where the run was ended before.
func (d *desk) await(p *Play) bool {
	select {
	case d.next <- p:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// ServeHTTP hands a request to the play that it belongs to.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Of who opens the address in a browser, nothing is the client's.
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode == "navigate" || mode == "no-cors" {
		http.Error(w, "this address is for the MCP client that is to be judged", http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, d.limit+1))
	rest := io.Reader(bytes.NewReader(body))
	if err != nil {
		rest = io.MultiReader(rest, brokenBody{err})
	}
	r.Body = io.NopCloser(rest)
	p := d.playOf(r, body)
	switch {
	case p != nil:
		p.exchanged(&origin{url: d.base}, w, r)
	case sessionOf(r) != "":
		http.Error(w, "the session has ended", http.StatusNotFound)
	case r.Method == http.MethodPost:
		http.Error(w, "this server waits for an MCP client that begins anew", http.StatusBadRequest)
	default:
		http.Error(w, "this server waits for an MCP client that begins anew", http.StatusMethodNotAllowed)
	}
}

// brokenBody is a body that breaks off.
type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }

// playOf is the play that serves a request, nil for none: one that begins anew
// waits for the next.
func (d *desk) playOf(r *http.Request, body []byte) *Play {
	d.turn.Lock()
	defer d.turn.Unlock()
	c, _ := r.Context().Value(connKey{}).(net.Conn)
	at, method := openingOf(r, body)
	p := d.play
	begins := method != ""
	if p != nil {
		begins = begins && p.ripe() && (!check.Modern(at.rev) || method == discover || !d.known[c])
	}
	switch {
	case !begins && (p == nil || p.Over() || d.past[sessionOf(r)]):
		return nil
	case !begins:
		d.known[c] = true
		return p
	case p == nil:
		d.base = "http://" + r.Host
		select {
		case d.arrivals <- at:
		case <-d.done:
			return nil
		}
	default:
		p.over(OverNext)
		p.mu.Lock()
		for id := range p.issued {
			d.past[id] = true
		}
		p.mu.Unlock()
	}
	select {
	case d.play = <-d.next:
		d.known = map[net.Conn]bool{c: true}
		return d.play
	case <-d.done:
		return nil
	}
}

// sessionOf is the session that a request names, "" for none.
func sessionOf(r *http.Request) string {
	return or(r.Header.Get("Mcp-Session-Id"), r.URL.Query().Get("sid"))
}

// openingOf says by what method a request may begin a run of a client, "" where
// it cannot, and what the client speaks then.
func openingOf(r *http.Request, body []byte) (at setting, method string) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == sseEndpoint:
		return setting{rev2024, catalogue.SSE}, http.MethodGet
	case r.Method != http.MethodPost || r.URL.Path != endpoint:
		return setting{}, ""
	}
	v, err := wire.ParseRaw(body)
	if err != nil {
		return setting{}, ""
	}
	method = check.Name(v, "method")
	offered := check.Name(v.Get("params").Get("_meta"), metaVersion)
	newest := modern
	switch {
	case offered != "" || method == discover:
	case method == initialize:
		offered, newest = check.Name(v.Get("params"), "protocolVersion"), latest
		if offered == rev2024 {
			offered = march // the first that is spoken over this transport
		}
	default:
		return setting{}, ""
	}
	if !slices.Contains(check.Revisions(), offered) || check.Modern(offered) != check.Modern(newest) {
		offered = newest
	}
	return setting{offered, catalogue.HTTP}, method
}

// ripe reports whether a client that begins anew begins the next script: this
// one has seen the client come to rest, or end its session, or took its time.
func (p *Play) ripe() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := len(p.issued) > 0
	for id := range p.issued {
		left = left && p.ended[id]
	}
	return p.ctx.Err() != nil || left || p.quietLocked(time.Now()) || p.lateLocked(time.Now())
}

// settingFor is what a client that speaks at is judged by, of what was asked
// for: the same where that may be, or else the newest of its era, or of all.
func (r *runner) settingFor(at setting) (setting, bool) {
	var fits []setting
	for _, rev := range check.Revisions() {
		asked := r.o.Revisions
		if len(asked) > 0 && asked[0] != "all" && !slices.Contains(asked, rev) {
			continue
		}
		for _, t := range r.transports(rev) {
			fits = append(fits, setting{rev, t})
		}
	}
	if len(fits) == 0 {
		return at, false
	}
	if slices.Contains(fits, at) {
		return at, true
	}
	for _, s := range slices.Backward(fits) {
		if s.t == at.t && check.Modern(s.rev) == check.Modern(at.rev) {
			return s, true
		}
	}
	return fits[len(fits)-1], true
}

// exploreByHand waits for the client, plays the good server to it in the
// revision that it asks for, and judges it by that one.
func (r *runner) exploreByHand() error {
	r.tell(Progress{Waiting: &Waiting{URL: r.desk.address + endpoint, Old: r.desk.address + sseEndpoint}})
	at, err := r.desk.first(r.drive)
	if err != nil {
		return err
	}
	s, ok := r.settingFor(at)
	if !ok {
		return &RevisionError{Asked: r.o.Revisions}
	}
	r.place, r.places = 1, 1+len(r.toPlay(s, check.NewTrace(&transcript.Recording{})))
	g, err := r.play(&r.scripts[0], s)
	if err != nil {
		return err
	}
	r.good[s] = g
	if !Speaks(g) {
		return &RevisionError{Asked: r.o.Revisions, Offers: r.offers(), Frames: r.o.Redact.Frames(said(g))}
	}
	r.chosen, r.rep.Revisions = []setting{s}, []string{s.rev}
	return nil
}

// awaitByHand is await of a client that somebody else starts: the play lasts
// until the client begins anew, and the last one until it is silent.
func (p *Play) awaitByHand(r *runner) {
	told := false
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			p.over(OverStop)
			return
		case now := <-tick.C:
			p.mu.Lock()
			quiet := p.quietLocked(now)
			p.mu.Unlock()
			switch {
			case quiet && r.place == r.places:
				p.over(OverStop)
				return
			case quiet && !told:
				told = true
				r.tell(r.waiting(p, true))
			}
		}
	}
}

func (r *runner) waiting(p *Play, quiet bool) Progress {
	return Progress{Waiting: &Waiting{
		URL: p.URL(), Revision: p.Revision, Transport: p.Transport, Script: p.Script.Name, About: strings.TrimSpace(p.Script.About),
		Number: r.place, Of: r.places, Quiet: quiet,
	}}
}
