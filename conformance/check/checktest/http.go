package checktest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Paths of the endpoints of HTTP.
const (
	PathMCP      = "/mcp"      // Streamable HTTP, of all revisions that have it
	PathSSE      = "/sse"      // where HTTP+SSE of 2024-11-05 is read
	PathMessages = "/messages" // where it is written to
)

// HTTP is Server over HTTP: Streamable HTTP in all revisions that have it, and
// HTTP+SSE of 2024-11-05 beside it. The zero value keeps the rules of all of
// them. It is an http.Handler; its fields must not be changed once it serves.
type HTTP struct {
	Server Server

	// Stateless hands out no sessions: each request of a stateful revision
	// stands for itself, and there is no stream to GET.
	Stateless bool
	// JSON answers by an object instead of a stream, where it can.
	JSON bool
	// Streams answers by a stream in stateless revisions, too.
	Streams bool
	// Polls ends the connection of a call that takes long, and lets the client
	// come back for the answer, in the revisions that have that.
	Polls bool
	// NoSSE leaves out HTTP+SSE.
	NoSSE bool
	// Tokens are the bearer tokens that open the server, each with its scopes;
	// nil for a server that is open to all. To call a tool takes ScopeCall.
	Tokens map[string]string

	// What follows breaks rules; the zero value keeps them.

	// Wrap sits between the network and the server, and may alter what the one
	// sends to the other.
	Wrap func(next http.Handler) http.Handler
	// Fault breaks what does not show at that place.
	Fault Fault

	once     sync.Once
	handler  http.Handler
	mu       sync.Mutex
	sessions map[string]*session
	ended    map[string]bool
	made     int // sessions and streams
	state    map[string]any

	// One request of a stateless revision after the other, as one connection
	// has it over other transports.
	handling sync.Mutex
}

// Fault says which rule of the streams is broken.
type Fault struct {
	Broadcast    bool // what is sent by itself goes to every open stream of the session
	RepliesOnGET bool // answers go to the stream of a GET, where there is one
	ReplaysAll   bool // what other streams said is said again with one that is resumed
	ProgressGET  bool // progress goes to the stream of a GET, where there is one
	Crossed      bool // HTTP+SSE: all streams get the answers of all clients
	DropCancels  bool // a connection that breaks cancels the request of a stateful revision
	KeepsOpen    bool // the stream of a request is not ended after the answer
	SharedIDs    bool // each stream numbers its events from one
	NoCancel     bool // a stateless request goes on when its stream is closed
	MaxListen    int  // subscriptions that are taken before the server is full, those that were closed included; 0 = no limit
	Everywhere   bool // it is there at every address of its machine
	ExactNames   bool // names of headers are taken as they are spelled
	ExactBlanks  bool // blanks around the value of a header belong to it
	TaskStreams  bool // what becomes of a task is told on a stream
	listens      int
}

// ScopeCall is the scope that calls of tools take.
const ScopeCall = "tools"

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		h.sessions, h.ended, h.state = map[string]*session{}, map[string]bool{}, map[string]any{}
		h.handler = http.HandlerFunc(h.serve)
		if h.Wrap != nil {
			h.handler = h.Wrap(h.handler)
		}
	})
	h.handler.ServeHTTP(w, r)
}

func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		h.wellKnown(w, r)
		return
	}
	old := !h.NoSSE && h.Server.Speaks("2024-11-05") && (r.URL.Path == PathSSE || r.URL.Path == PathMessages)
	switch {
	case r.URL.Path != PathMCP && !old:
		http.NotFound(w, r)
	case !allowedOrigin(r):
		refuse(w, http.StatusForbidden, nil, -32600, "this origin is not allowed", "")
	case h.Tokens != nil && !h.admitted(w, r):
	case r.URL.Path == PathSSE:
		h.oldStream(w, r)
	case r.URL.Path == PathMessages:
		h.oldPost(w, r)
	case r.Method == http.MethodPost:
		h.post(w, r)
	case r.Method == http.MethodGet && h.stateful():
		h.get(w, r)
	case r.Method == http.MethodDelete && h.stateful():
		h.end(w, r)
	default:
		notAllowed(w, http.MethodPost)
	}
}

// stateful reports whether there are sessions.
func (h *HTTP) stateful() bool { return !h.Stateless && len(h.Server.versions(false)) > 0 }

func allowedOrigin(r *http.Request) bool {
	origin := r.Header.Values("Origin")
	return len(origin) == 0 || len(origin) == 1 && origin[0] == "http://"+r.Host
}

func notAllowed(w http.ResponseWriter, allow ...string) {
	w.Header().Set("Allow", strings.Join(allow, ", "))
	w.WriteHeader(http.StatusMethodNotAllowed)
}

// refuse answers by a status and a JSON-RPC error; id nil is no id.
func refuse(w http.ResponseWriter, status int, id wire.Raw, code int, message, data string) {
	c := Conn{}
	writeJSON(w, status, c.failure(id, code, message, data))
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// maxBody bounds what is posted.
const maxBody = 32 << 20

func body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, nil, -32600, "the body is too long", "")
	}
	return b, err == nil
}

// post takes what was posted to the endpoint.
func (h *HTTP) post(w http.ResponseWriter, r *http.Request) {
	line, ok := body(w, r)
	if !ok {
		return
	}
	v, err := wire.ParseRaw(bytes.TrimSpace(line))
	if err != nil || !utf8.Valid(line) {
		refuse(w, http.StatusBadRequest, nil, -32700, "the body is not JSON", "")
		return
	}
	meta := v.Get("params").Get("_meta")
	header := r.Header.Get("Mcp-Protocol-Version")
	modern := meta.Get(metaVersion) != nil || meta.Get(metaCaps) != nil || header != "" && !slices.Contains(h.Server.versions(false), header)
	switch method, _ := v.Get("method").Str(); {
	case modern:
		h.modernPost(w, r, v, line)
	case len(h.Server.versions(false)) == 0:
		data := obj(map[string]any{"supported": h.Server.versions(true), "requested": header})
		refuse(w, http.StatusBadRequest, usable(v.Get("id")), -32022, "this server speaks "+strings.Join(h.Server.versions(true), ", "), data)
	case h.Stateless:
		s := &session{h: h, streams: map[string]*stream{}}
		s.conn = h.conn(r.Context(), s.route)
		if method != "initialize" {
			if s.conn.Revision = header; header == "" {
				s.conn.Revision = "2025-03-26"
			}
		}
		s.post(w, r, v, line)
	case method == "initialize":
		s := &session{h: h, id: h.newID(), streams: map[string]*stream{}}
		ctx, cancel := context.WithCancel(context.Background())
		s.cancel = cancel
		s.conn = h.conn(ctx, s.route)
		s.post(w, r, v, line)
	default:
		if s := h.session(w, r); s != nil {
			s.post(w, r, v, line)
		}
	}
}

// usable is the id of a request in a form that can be repeated.
func usable(id wire.Raw) wire.Raw {
	if _, integer := id.Int(); integer || id.Kind() == wire.KindString {
		return id
	}
	return nil
}

// conn makes a connection whose lines go to route.
func (h *HTTP) conn(ctx context.Context, route func(line string)) *Conn {
	c := &Conn{
		Server: &h.Server, Context: ctx, in: strings.NewReader(""), out: &lines{to: route}, errs: io.Discard,
		State: map[string]any{}, subs: map[string]bool{}, waiting: map[string]*Request{}, running: map[string]context.CancelFunc{}, listening: map[string]wire.Raw{},
	}
	if h.Server.Start != nil {
		h.Server.Start(c)
	}
	return c
}

// lines splits what a connection writes.
type lines struct {
	to  func(line string)
	buf []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	for {
		line, rest, whole := bytes.Cut(l.buf, []byte{'\n'})
		if !whole {
			return len(p), nil
		}
		l.to(string(line))
		l.buf = bytes.Clone(rest)
	}
}

// newID makes the id of a session or stream: long, and never the same again.
func (h *HTTP) newID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	return sessionID(h.made)
}

// newStream makes the id of a stream.
func (h *HTTP) newStream() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.made++
	return "s" + strconv.Itoa(h.made)
}

// modernPost serves a message of a stateless revision.
func (h *HTTP) modernPost(w http.ResponseWriter, r *http.Request, v wire.Raw, line []byte) {
	id := usable(v.Get("id"))
	bad := func(status, code int, message, data string) { refuse(w, status, id, code, message, data) }
	method, isMethod := v.Get("method").Str()
	version, _ := v.Get("jsonrpc").Str()
	params := v.Get("params")
	switch {
	case v.Kind() != wire.KindObject || version != "2.0" || !isMethod || v.Get("id") != nil && id == nil:
		bad(http.StatusBadRequest, -32600, "this is no request", "")
		return
	case v.Get("id") == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case params != nil && params.Kind() != wire.KindObject:
		bad(http.StatusBadRequest, -32602, "params is no object", "")
		return
	}
	meta := params.Get("_meta")
	named, hasVersion := meta.Get(metaVersion).Str()
	_, hasHeader := r.Header["Mcp-Protocol-Version"]
	mismatch := func(what string) { bad(http.StatusBadRequest, -32020, "header mismatch: "+what, "") }
	if name, ok := invalidHeader(r.Header); ok {
		mismatch("invalid characters in " + name)
		return
	}
	if !hasHeader {
		mismatch("Mcp-Protocol-Version is missing")
		return
	}
	switch {
	case !hasVersion || meta.Get(metaCaps).Kind() != wire.KindObject:
		bad(http.StatusBadRequest, -32602, "_meta is not complete", "")
		return
	case r.Header.Get("Mcp-Protocol-Version") != named:
		mismatch("Mcp-Protocol-Version")
		return
	case !slices.Contains(h.Server.versions(true), named):
		bad(http.StatusBadRequest, -32022, "unsupported protocol version", obj(map[string]any{"supported": h.Server.versions(true), "requested": named}))
		return
	case r.Header.Get("Mcp-Method") != method:
		mismatch("Mcp-Method")
		return
	}
	if what := h.wrongName(r.Header, method, params); what != "" {
		mismatch(what)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if h.Fault.NoCancel {
		ctx = context.WithoutCancel(ctx)
	}
	if method == "subscriptions/listen" && h.Fault.MaxListen > 0 {
		h.mu.Lock()
		h.Fault.listens++
		full := h.Fault.listens > h.Fault.MaxListen
		h.mu.Unlock()
		if full {
			bad(http.StatusServiceUnavailable, -32603, "too many subscriptions", "")
			return
		}
	}
	st := &stream{changed: make(chan struct{}), owed: 1, open: h.Fault.KeepsOpen}
	c := h.conn(ctx, func(line string) { st.add(line, isReply(line)) })
	c.State = h.state
	h.handling.Lock()
	c.line(line)
	h.handling.Unlock()
	if c.done {
		panic(http.ErrAbortHandler)
	}
	if one, ok := st.alone(); ok && !h.Streams && method != "subscriptions/listen" {
		writeJSON(w, statusOf(one), one)
		return
	}
	if one, ok := st.alone(); ok && statusOf(one) != http.StatusOK {
		writeJSON(w, statusOf(one), one)
		return
	}
	st.serve(w, r, 0, "")
	if h.Fault.NoCancel {
		return
	}
	cancel()
	c.slow.Wait()
}

// wrongName says what is wrong with the headers that repeat a name or an
// argument, "" for nothing.
func (h *HTTP) wrongName(head http.Header, method string, params wire.Raw) string {
	member, ok := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[method]
	if !ok {
		return ""
	}
	want, isString := params.Get(member).Str()
	if !isString {
		return ""
	}
	if got, ok := decodeHeader(head, "Mcp-Name"); !ok || got != want {
		return "Mcp-Name"
	}
	if method != "tools/call" || want != "region" {
		return ""
	}
	args := params.Get("arguments")
	if region, ok := args.Get("region").Str(); ok {
		if got, ok := decodeHeader(head, "Mcp-Param-Region"); !ok || got != region {
			return "Mcp-Param-Region"
		}
	}
	if level, ok := args.Get("inner").Get("level").Float(); ok {
		got, ok := decodeHeader(head, "Mcp-Param-Level")
		n, err := strconv.ParseFloat(got, 64)
		if !ok || err != nil || n != level {
			return "Mcp-Param-Level"
		}
	}
	return ""
}

// decodeHeader reads a header in plain text or in Base64 between its markers.
func decodeHeader(head http.Header, name string) (string, bool) {
	all := head.Values(name)
	if len(all) != 1 {
		return "", false
	}
	coded, ok := strings.CutPrefix(all[0], "=?base64?")
	if !ok {
		return all[0], true
	}
	coded, ok = strings.CutSuffix(coded, "?=")
	text, err := base64.StdEncoding.DecodeString(coded)
	return string(text), ok && err == nil && utf8.Valid(text)
}

// invalidHeader finds a header that repeats something of the body and holds
// what no header may.
func invalidHeader(head http.Header) (string, bool) {
	for name, values := range head {
		if !strings.HasPrefix(name, "Mcp-") {
			continue
		}
		for _, v := range values {
			if strings.ContainsFunc(v, func(r rune) bool { return r != '\t' && (r < 0x20 || r > 0x7e) }) {
				return name, true
			}
		}
	}
	return "", false
}

// statusOf is the status of an answer of a stateless revision.
func statusOf(line string) int {
	v, err := wire.ParseRaw([]byte(line))
	if err != nil {
		return http.StatusOK
	}
	code, failed := v.Get("error").Get("code").Int()
	switch {
	case !failed:
		return http.StatusOK
	case code == -32601:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

func isReply(line string) bool {
	v, err := wire.ParseRaw([]byte(line))
	return err == nil && (v.Kind() == wire.KindArray || v.Get("method") == nil && (v.Get("result") != nil || v.Get("error") != nil))
}

// session is one client of a stateful revision.
type session struct {
	h      *HTTP
	id     string // "" where the server keeps none
	conn   *Conn
	cancel context.CancelFunc

	handling sync.Mutex // one message after the other

	mu      sync.Mutex
	current *stream            // of the message that is dealt with
	streams map[string]*stream // by id
	waiting map[string]*stream // of the requests without an answer, by id
	gets    []*stream          // opened by GET, or by the stream of HTTP+SSE
}

// session finds that of a request, and refuses the request where there is none.
func (h *HTTP) session(w http.ResponseWriter, r *http.Request) *session {
	id := r.Header.Get("Mcp-Session-Id")
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	header, rev := r.Header.Get("Mcp-Protocol-Version"), ""
	if s != nil {
		rev = s.conn.Revision
	}
	switch {
	case id == "":
		refuse(w, http.StatusBadRequest, nil, -32600, "no session", "")
	case s == nil:
		refuse(w, http.StatusNotFound, nil, -32600, "no such session", "")
	case rev >= "2025-06-18" && header != "" && header != rev:
		refuse(w, http.StatusBadRequest, nil, -32600, "wrong protocol version", "")
	default:
		return s
	}
	return nil
}

// post takes a message of a session.
func (s *session) post(w http.ResponseWriter, r *http.Request, v wire.Raw, line []byte) {
	ids := requestIDs(v)
	version, _ := v.Get("jsonrpc").Str()
	method := v.Get("method")
	reply := method == nil && (v.Get("result") != nil || v.Get("error") != nil)
	batch := v.Kind() == wire.KindArray && s.conn.Revision == "2025-03-26"
	id := usable(v.Get("id"))
	if !batch && (v.Kind() != wire.KindObject || version != "2.0" || !reply && method.Kind() != wire.KindString || v.Get("id") != nil && id == nil) {
		if id == nil && s.conn.Revision != "" && s.conn.Revision < "2025-11-25" {
			id = wire.Raw("null")
		}
		refuse(w, http.StatusBadRequest, id, -32600, "this is no message", "")
		return
	}
	st := &stream{id: s.h.newStream(), changed: make(chan struct{}), owed: min(len(ids), 1), numbered: !s.h.Stateless, own: s.h.Fault.SharedIDs}
	if !batch {
		st.owed = len(ids)
	}
	s.mu.Lock()
	if s.waiting == nil {
		s.waiting = map[string]*stream{}
	}
	for _, id := range ids {
		s.waiting[id] = st
	}
	s.mu.Unlock()
	s.handling.Lock()
	s.mu.Lock()
	s.current = st
	s.mu.Unlock()
	s.conn.line(line)
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
	first := s.id != "" && s.conn.Revision != "" && s.h.enter(s)
	done := s.conn.done
	s.handling.Unlock()
	if done {
		panic(http.ErrAbortHandler)
	}
	if first {
		w.Header().Set("Mcp-Session-Id", s.id)
	}
	one, alone := st.alone()
	switch {
	case len(ids) == 0 && !st.any():
		w.WriteHeader(http.StatusAccepted)
	case alone && (s.h.JSON || batch || s.conn.Revision == "" || len(ids) == 0 || strings.HasPrefix(methodOf(v), "tasks/") && !s.h.Fault.TaskStreams):
		writeJSON(w, http.StatusOK, one)
	default:
		s.mu.Lock()
		s.streams[st.id] = st
		s.mu.Unlock()
		prime := s.conn.Revision >= "2025-11-25" && st.numbered
		st.begin(prime)
		st.open = s.h.Fault.KeepsOpen
		if name, _ := v.Get("params").Get("name").Str(); s.h.Polls && prime && name == "slow" {
			st.hangUp(w)
			return
		}
		st.serve(w, r, 0, "")
		if s.h.Fault.DropCancels && r.Context().Err() != nil {
			s.handling.Lock()
			s.conn.notification(&Request{Method: "notifications/cancelled", Params: wire.Raw(`{"requestId":` + string(v.Get("id")) + `}`)})
			s.handling.Unlock()
			st.end()
		}
	}
}

// enter keeps a session; it reports whether it is a new one.
func (h *HTTP) enter(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] != nil || h.ended[s.id] {
		return false
	}
	h.sessions[s.id] = s
	return true
}

func methodOf(v wire.Raw) string {
	m, _ := v.Get("method").Str()
	return m
}

// requestIDs are those of the requests in a message or batch.
func requestIDs(v wire.Raw) []string {
	var out []string
	if v.Kind() == wire.KindArray {
		for e := range v.Elems() {
			out = append(out, requestIDs(e)...)
		}
		return out
	}
	if v.Get("method") != nil && v.Get("id") != nil {
		out = append(out, string(v.Get("id")))
	}
	return out
}

// unasked are notifications that belong to no request.
func unasked(method string) bool {
	return strings.HasSuffix(method, "/list_changed") || method == "notifications/resources/updated" || method == "notifications/tasks/status"
}

// route finds the stream that a line belongs on.
func (s *session) route(line string) {
	v, err := wire.ParseRaw([]byte(line))
	s.mu.Lock()
	defer s.mu.Unlock()
	method := methodOf(v)
	reply := isReply(line)
	to := s.current
	switch f := s.h.Fault; {
	case reply && err == nil && v.Kind() == wire.KindObject && s.waiting[string(v.Get("id"))] != nil:
		id := string(v.Get("id"))
		to = s.waiting[id]
		delete(s.waiting, id)
		if f.RepliesOnGET && len(s.gets) > 0 {
			to.add("", true)
			to = s.gets[len(s.gets)-1]
		}
	case reply:
	case unasked(method) || strings.Contains(line, "related-task") || to == nil || f.ProgressGET && method == "notifications/progress" && len(s.gets) > 0:
		if f.Broadcast && to != nil {
			to.add(line, false)
		}
		if to = nil; len(s.gets) > 0 {
			to = s.gets[len(s.gets)-1]
		}
	case f.Broadcast && len(s.gets) > 0:
		s.gets[len(s.gets)-1].add(line, false)
	}
	if to != nil {
		to.add(line, reply)
	}
}

// get opens or resumes a stream.
func (h *HTTP) get(w http.ResponseWriter, r *http.Request) {
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	if v := r.Header.Get("Mcp-Protocol-Version"); slices.Contains(h.Server.versions(true), v) {
		notAllowed(w, http.MethodPost)
		return
	}
	s := h.session(w, r)
	if s == nil {
		return
	}
	s.mu.Lock()
	if last := r.Header.Get("Last-Event-Id"); last != "" {
		id, n, ok := strings.Cut(last, "-")
		at, err := strconv.Atoi(n)
		st := s.streams[id]
		if !ok || err != nil || st == nil {
			s.mu.Unlock()
			refuse(w, http.StatusBadRequest, nil, -32600, "no such event", "")
			return
		}
		var others []string
		if h.Fault.ReplaysAll {
			for _, o := range s.streams {
				if o != st {
					others = append(others, o.all()...)
				}
			}
		}
		s.mu.Unlock()
		st.serve(w, r, at+1, strings.Join(others, ""))
		return
	}
	s.mu.Unlock()
	st := &stream{id: h.newStream(), changed: make(chan struct{}), owed: 1, numbered: true, own: h.Fault.SharedIDs}
	s.attach(st)
	st.begin(s.conn.Revision >= "2025-11-25")
	st.serve(w, r, 0, "")
	s.detach(st)
}

func (s *session) attach(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[st.id] = st
	s.gets = append(s.gets, st)
}

func (s *session) detach(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets = slices.DeleteFunc(s.gets, func(o *stream) bool { return o == st })
}

// end ends a session.
func (h *HTTP) end(w http.ResponseWriter, r *http.Request) {
	if v := r.Header.Get("Mcp-Protocol-Version"); slices.Contains(h.Server.versions(true), v) {
		notAllowed(w, http.MethodPost)
		return
	}
	s := h.session(w, r)
	if s == nil {
		return
	}
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.ended[s.id] = true
	h.mu.Unlock()
	s.close()
	w.WriteHeader(http.StatusNoContent)
}

// close ends what runs in a session and its streams.
func (s *session) close() {
	if s.cancel != nil {
		s.cancel()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		st.end()
	}
}

// oldStream is the stream of HTTP+SSE.
func (h *HTTP) oldStream(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		notAllowed(w, http.MethodGet)
		return
	}
	s := &session{h: h, id: h.newID(), streams: map[string]*stream{}}
	st := &stream{changed: make(chan struct{}), owed: 1 << 30, event: "message"}
	s.gets = []*stream{st}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	s.conn = h.conn(ctx, func(line string) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, o := range h.sessions {
			if h.Fault.Crossed && o != s && len(o.gets) > 0 && o.gets[0].event != "" {
				o.gets[0].add(line, false)
			}
		}
		st.add(line, false)
	})
	// The server of that time spoke one revision only.
	old := h.Server
	old.Versions = []string{"2024-11-05"}
	s.conn.Server = &old
	h.mu.Lock()
	h.sessions[s.id] = s
	h.mu.Unlock()
	st.serve(w, r, 0, "event: endpoint\ndata: "+PathMessages+"?session="+s.id+"\n\n")
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	cancel()
	s.conn.slow.Wait()
}

// oldPost takes what is posted to a stream of HTTP+SSE.
func (h *HTTP) oldPost(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		notAllowed(w, http.MethodPost)
		return
	}
	line, ok := body(w, r)
	if !ok {
		return
	}
	h.mu.Lock()
	s := h.sessions[r.URL.Query().Get("session")]
	h.mu.Unlock()
	if s == nil {
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	s.handling.Lock()
	defer s.handling.Unlock()
	s.conn.line(line)
	if s.conn.done {
		panic(http.ErrAbortHandler)
	}
}

// stream is what was said on one stream of events, kept so that it can be said
// again.
type stream struct {
	id       string
	event    string // name of its events, "" for none
	numbered bool   // its events have ids
	own      bool   // numbers that do not tell the stream: a fault
	open     bool   // it is not ended with the last answer: a fault

	mu      sync.Mutex
	said    []string // data of the events; "" has none
	ends    bool
	owed    int // answers that are still to come
	changed chan struct{}
}

// add puts a line on the stream. With the last answer the stream ends.
func (st *stream) add(line string, reply bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if line != "" {
		st.said = append(st.said, line)
	}
	if reply {
		st.owed--
	}
	st.ends = st.ends || st.owed == 0
	close(st.changed)
	st.changed = make(chan struct{})
}

// end ends the stream.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.ends = true
	close(st.changed)
	st.changed = make(chan struct{})
}

// begin puts the event before all others by which the stream can be resumed.
func (st *stream) begin(prime bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if prime {
		st.said = append([]string{""}, st.said...)
	}
}

// any reports whether anything was said.
func (st *stream) any() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.said) > 0
}

// alone is the answer where nothing else is on the stream.
func (st *stream) alone() (string, bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.said) != 1 || !st.ends && st.owed > 0 {
		return "", false
	}
	return st.said[0], true
}

// text is event n.
func (st *stream) text(n int) string {
	var b strings.Builder
	if st.event != "" {
		b.WriteString("event: " + st.event + "\n")
	}
	if st.numbered {
		id := st.id
		if st.own {
			id = "s"
		}
		b.WriteString("id: " + id + "-" + strconv.Itoa(n) + "\n")
	}
	for part := range strings.SplitSeq(st.said[n], "\n") {
		b.WriteString("data: " + part + "\n")
	}
	b.WriteString("\n")
	return b.String()
}

// all are the events so far.
func (st *stream) all() []string {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []string
	for n := range st.said {
		out = append(out, st.text(n))
	}
	return out
}

func streamHead(w http.ResponseWriter) {
	head := w.Header()
	head.Set("Content-Type", "text/event-stream")
	head.Set("Cache-Control", "no-cache")
	head.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// serve writes the stream from event n on, behind some other text, until it
// ends or the client goes.
func (st *stream) serve(w http.ResponseWriter, r *http.Request, n int, before string) {
	streamHead(w)
	control := http.NewResponseController(w)
	if before != "" {
		_, _ = io.WriteString(w, before)
	}
	_ = control.Flush()
	for {
		st.mu.Lock()
		var text []string
		for ; n < len(st.said); n++ {
			text = append(text, st.text(n))
		}
		ends, changed := st.ends, st.changed
		st.mu.Unlock()
		for _, t := range text {
			if _, err := io.WriteString(w, t); err != nil {
				return
			}
			_ = control.Flush()
		}
		if len(text) > 0 {
			continue
		}
		if ends && !st.open {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// hangUp writes how the stream can be resumed, and ends the connection.
func (st *stream) hangUp(w http.ResponseWriter) {
	streamHead(w)
	st.mu.Lock()
	defer st.mu.Unlock()
	_, _ = io.WriteString(w, "retry: 20\n"+st.text(0))
}

// Running is an HTTP server in memory.
type Running struct {
	// Dial connects to the server at any port of this machine, and at the host
	// mcp.test.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	server *http.Server
	served chan struct{}
}

// Start runs the server in memory, until it is closed. It can be used in a
// synctest bubble.
func (h *HTTP) Start() *Running {
	l := &memory{conns: make(chan net.Conn), closed: make(chan struct{}), fault: &h.Fault}
	r := &Running{Dial: l.dial, served: make(chan struct{})}
	r.server = &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(l)
	}()
	return r
}

// Close ends the server and its connections.
func (r *Running) Close() {
	_ = r.server.Close()
	<-r.served
}

// memory is a listener without a network.
type memory struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
	fault  *Fault
}

func (l *memory) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		if l.fault.ExactNames || l.fault.ExactBlanks {
			return &spelling{c, l.fault}, nil
		}
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memory) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *memory) Addr() net.Addr { return memoryAddr{} }

func (l *memory) dial(ctx context.Context, _, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if host != "127.0.0.1" && host != "mcp.test" && !l.fault.Everywhere {
		return nil, &net.OpError{Op: "dial", Net: "memory", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// spelling is a connection on which the spelling of headers makes a difference.
type spelling struct {
	net.Conn
	fault *Fault
}

func (s *spelling) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	text := string(b[:n])
	if s.fault.ExactNames {
		text = strings.NewReplacer("\nmcp-method:", "\nxcp-method:", "\nMCP-METHOD:", "\nXCP-METHOD:").Replace(text)
	}
	if s.fault.ExactBlanks {
		text = strings.NewReplacer("\nMcp-Name:  ", "\nMcp-Name: _", "\nMcp-Method: \t", "\nMcp-Method: _").Replace(text)
	}
	copy(b, text)
	return n, err
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "127.0.0.1:80" }
