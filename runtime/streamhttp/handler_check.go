package streamhttp

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// acceptance is what a client's Accept lists.
type acceptance struct{ json, events, lines bool }

// stream is the form that a stream takes for the client.
func (a acceptance) stream() form {
	if a.lines {
		return formLines
	}
	return formEvents
}

// accepts reads Accept as media ranges. A client that names none of ours, or
// nothing at all, is taken for one that copes.
func accepts(h http.Header) (a acceptance) {
	values := h["Accept"]
	if len(values) == 1 && values[0] == "application/json, text/event-stream" {
		return acceptance{json: true, events: true}
	}
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			kind, params, _ := strings.Cut(item, ";")
			if refused(params) {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(kind)) {
			case "*/*":
				a.json, a.events = true, true
			case mediaJSON, "application/*":
				a.json = true
			case mediaEvents, "text/*":
				a.events = true
			case mediaLines:
				a.lines = true
			}
		}
	}
	if a == (acceptance{}) {
		return acceptance{json: true, events: true}
	}
	return a
}

// refused reports whether the parameters of a media range say q=0.
func refused(params string) bool {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			return err == nil && q == 0
		}
	}
	return false
}

// isJSON reports whether a body is declared as JSON; one without a declaration
// is taken for it.
func isJSON(h http.Header) bool {
	values := h["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == mediaJSON {
		return true
	}
	kind, _, err := mime.ParseMediaType(values[0])
	return (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && (kind == mediaJSON || strings.HasSuffix(kind, "+json"))
}

const (
	firstRead = 64 << 10 // of a body whose sender may never send the rest: it is not counted
	firstRoom = 8 << 10  // for a body of which nothing has come yet
)

// linger is how long a body may take to come that nobody wants.
const linger = 2 * time.Second

// unread lets the HTTP server pass over the body of a request that is answered
// without it. It reads some of it so that the connection can be used again,
// and would wait for one that never comes.
func unread(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 && r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger))
	}
}

// skipBody reads the body of a request that has none by its meaning and stays
// open: before that is read the HTTP server does not notice that the client
// goes away. It answers the request itself, and returns false, when there is
// no end of it.
func (h *Handler) skipBody(w http.ResponseWriter, r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(linger))
	if _, err := io.CopyN(io.Discard, r.Body, firstRead+1); err == io.EOF {
		_ = rc.SetReadDeadline(time.Time{})
		return true
	}
	h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "a %s has no body", r.Method))
	return false
}

var (
	errBodyTooLong = errors.New("body too long")
	errNoMemory    = errors.New("too many bytes in progress")
)

// readBody reads the body into memory of its own. That grows with what has
// come, not with what was announced.
func (p *post) readBody() ([]byte, error) {
	limit := p.h.o.MaxMessage
	size := int(min(p.r.ContentLength, int64(limit)+1))
	if size > limit {
		return nil, errBodyTooLong
	}
	room := 4 << 10
	if size >= 0 {
		room = min(size, firstRoom)
	}
	buf := make([]byte, 0, room)
	for {
		if len(buf) == cap(buf) {
			if len(buf) == size {
				return buf, nil
			}
			if len(buf) > limit {
				return buf, errBodyTooLong
			}
			more := 4 * cap(buf)
			if size >= 0 {
				more = min(more, size)
			}
			more = min(more, limit+1)
			if more > firstRead {
				n := p.h.buffered.Add(int64(more - p.held))
				if p.held = more; n > int64(p.h.o.MaxBuffered) {
					return buf, errNoMemory
				}
			}
			buf = append(make([]byte, 0, more), buf...)
		}
		n, err := p.r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) == size:
			return buf, nil
		case err == io.EOF && size < 0 && len(buf) <= limit:
			return buf, nil
		case err == io.EOF:
			return buf, io.ErrUnexpectedEOF
		case err != nil:
			return buf, err
		}
	}
}

// statelessOnly reports whether a GET or DELETE has nothing to find here: the
// client speaks a stateless revision, or nothing else is served.
// (2026-07-28: basic/transports/streamable-http)
func (h *Handler) statelessOnly(r *http.Request) bool {
	return len(h.legacy) == 0 || h.isStateless(r.Header.Get(HeaderProtocolVersion))
}

// isStateless reports whether a version is that of a stateless revision.
func (h *Handler) isStateless(version string) bool {
	rules, known := h.rulesOf(version)
	return known && rules.Stateless
}

// rulesOf returns the rules of a version, as what is served says them. It is
// false for a version that neither this handler nor the runtime knows.
func (h *Handler) rulesOf(version string) (*revision.Rules, bool) {
	if svc := h.legacy[version]; svc != nil {
		return svc.Rules(), true
	}
	if m := h.modern[version]; m != nil {
		return m.svc.Rules(), true
	}
	return revision.For(version)
}

// checkHeaders holds the headers of a stateless request against its body, in
// the order that single faults are told apart by. What the connection is to
// say (the _meta is not complete, the version not supported, the method not
// found) it leaves to that. Errors are *jsonrpc.Error with -32020, or with -32603
// where it could not find out.
// Specification: basic/transports/streamable-http, server validation.
func (h *Handler) checkHeaders(ctx context.Context, hdr http.Header, hd *head) *jsonrpc.Error {
	version, err := oneValue(hdr, HeaderProtocolVersion)
	switch {
	case err != nil:
		if !hd.stated && hd.method == methodInitialize && len(hdr[HeaderProtocolVersion]) == 0 {
			return nil // the handshake of an older revision: it hears which versions there are
		}
		return mismatch(err)
	case !hd.complete:
		return nil
	case version != hd.version:
		return mismatch(&HeaderError{HeaderProtocolVersion, strconv.Quote(clipValue(version)) + ", but the body's _meta says " + strconv.Quote(clipValue(hd.version))})
	}
	m := h.modern[version]
	if m == nil {
		return nil
	}
	handled := m.svc.Handles(hd.method)
	member := hd.member
	if !handled {
		member = wire.Raw(nil).Get
	}
	if err := checkMethodHeaders(hdr, hd.method, member); err != nil {
		return mismatch(err)
	}
	if hd.method == methodToolsCall && handled {
		err := h.checkParams(ctx, m, hdr, hd)
		switch refusal, refused := err.(*jsonrpc.Error); {
		case refused:
			return refusal
		case err == errToolsUnknown:
			return jsonrpc.NewError(jsonrpc.CodeInternalError, err.Error())
		case err != nil:
			return mismatch(err)
		}
	}
	return nil
}

func mismatch(err error) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeHeaderMismatch, Message: err.Error(), Cause: err}
}

// notAllowed answers a method that has no meaning here.
func (h *Handler) notAllowed(w http.ResponseWriter, r *http.Request) {
	allow := "POST"
	if !h.statelessOnly(r) {
		allow = "GET, POST, DELETE"
	}
	w.Header()["Allow"] = []string{allow}
	h.refuse(w, r, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "%s: not allowed here", clipValue(r.Method)))
}

// refuse answers with a status and an error that says why. Without an id it
// is left out, or null where the client's revision has it so.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	h.log.Debug("request refused", "method", r.Method, "status", status, "reason", e.Message)
	b := append(make([]byte, 0, 256), `{"jsonrpc":"2.0"`...)
	rules, known := h.rulesOf(r.Header.Get(HeaderProtocolVersion))
	if !id.IsZero() || known && !rules.AbsentID {
		b = id.AppendJSON(append(b, `,"id":`...))
	}
	b = append(e.AppendJSON(append(b, `,"error":`...)), '}')
	writeJSON(w, new([2]string), status, b)
}

// first is the value of a header that may be there once, "" for none.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// writeJSON writes an answer that is one JSON text. values is room for values of
// headers, for as long as the request lasts.
func writeJSON(w http.ResponseWriter, values *[2]string, status int, data []byte) {
	hd := w.Header()
	*values = [...]string{mediaJSON, strconv.Itoa(len(data))}
	hd["Content-Type"] = values[0:1:1]
	hd["Content-Length"] = values[1:2:2]
	if status == http.StatusServiceUnavailable {
		hd["Retry-After"] = []string{"1"}
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// versions lists the revisions that are served, newest first.
func (h *Handler) versions() []string {
	all := slices.Collect(maps.Keys(h.legacy))
	all = slices.AppendSeq(all, maps.Keys(h.modern))
	slices.Sort(all)
	slices.Reverse(all)
	return all
}
