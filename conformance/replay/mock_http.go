package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Handler is the mock over HTTP, in the way of the recording's revision:
// Streamable HTTP, or HTTP+SSE in the first one, at any path.
func (m *Mock) Handler() http.Handler {
	return &mockHandler{m: m, status: (&httpClient{rev: m.rules, rules: m.rules.HTTP}).status, streams: map[string]*mockStream{}}
}

type mockHandler struct {
	m      *Mock
	status func(outgoing) int

	mu      sync.Mutex
	streams map[string]*mockStream // of HTTP+SSE, by session
	count   int
	get     *mockStream // of Streamable HTTP: the last one that was opened
}

// mockStream is an event stream to a client.
type mockStream struct {
	mu sync.Mutex
	w  http.ResponseWriter
}

func (s *mockStream) send(line []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w != nil && writeEvent(s.w, line) == nil {
		_ = http.NewResponseController(s.w).Flush()
	}
}

func (s *mockStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = nil
}

// ServeHTTP serves one request.
func (h *mockHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rules := h.m.rules.HTTP
	switch {
	case r.Method == http.MethodGet && (rules.GetStream || rules.TwoEndpoints) && strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		h.serveGet(w, r)
	case r.Method == http.MethodDelete && rules.Sessions:
		w.WriteHeader(http.StatusOK)
	case r.Method == http.MethodPost:
		h.servePost(w, r)
	default:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (h *mockHandler) serveGet(w http.ResponseWriter, r *http.Request) {
	s := &mockStream{w: w}
	defer s.close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	h.mu.Lock()
	if h.m.rules.HTTP.TwoEndpoints {
		h.count++
		name := strconv.Itoa(h.count)
		h.streams[name] = s
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+endpointPath+"?session="+name+"\n\n")
		defer func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.streams, name)
		}()
	} else {
		h.get = s
	}
	_ = http.NewResponseController(w).Flush()
	h.mu.Unlock()
	<-r.Context().Done()
}

func (h *mockHandler) servePost(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		http.Error(w, fmt.Sprintf("goldwire replay: the body is longer than %d MiB", tooLong.Limit>>20), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		panic(http.ErrAbortHandler) // the client went away
	}
	var asking sync.WaitGroup
	if h.m.rules.HTTP.TwoEndpoints {
		h.mu.Lock()
		s := h.streams[r.URL.Query().Get("session")]
		h.mu.Unlock()
		if s == nil {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_ = http.NewResponseController(w).Flush()
		h.m.line(r.Context(), bytes.TrimSpace(body), func(line []byte, _ bool) { s.send(line) }, &asking)
		asking.Wait()
		return
	}
	left := 0 // answers that have to come: one for a request, one for a batch that holds any
	v, perr := wire.ParseRaw(bytes.TrimSpace(body))
	if perr == nil {
		for _, p := range parts(v) {
			if c := look(p, false).class; c == request || c == otherValue {
				left = 1
			}
		}
	} else {
		left = 1
	}
	x := &exchange{w: w, h: h, left: left}
	defer x.close()
	h.m.line(r.Context(), bytes.TrimSpace(body), x.send, &asking)
	if left == 0 {
		asking.Wait()
		x.accepted()
		return
	}
	asking.Wait()
	if x.open() { // the recording has no answer to this one, or not yet
		<-r.Context().Done()
	}
}

// exchange is one POST and its response.
type exchange struct {
	h *mockHandler

	mu    sync.Mutex
	w     http.ResponseWriter
	left  int
	began bool
}

func (x *exchange) send(line []byte, last bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.w == nil || x.left == 0 { // of no request, or over
		x.h.mu.Lock()
		get := x.h.get
		x.h.mu.Unlock()
		if get != nil {
			get.send(line)
		}
		return
	}
	if last {
		x.left--
	}
	if last && x.left == 0 && !x.began {
		x.w.Header().Set("Content-Type", "application/json")
		x.w.WriteHeader(x.h.status(outgoing{line: line}))
		_, _ = x.w.Write(line)
		x.began = true
		return
	}
	if !x.began {
		x.began = true
		x.w.Header().Set("Content-Type", "text/event-stream")
		x.w.WriteHeader(http.StatusOK)
	}
	if writeEvent(x.w, line) == nil {
		_ = http.NewResponseController(x.w).Flush()
	}
}

func (x *exchange) accepted() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.began {
		x.w.WriteHeader(http.StatusAccepted)
	}
}

func (x *exchange) open() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.left > 0
}

func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.w = nil
}
