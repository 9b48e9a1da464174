package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	maxReissues = 3 // of one call
	maxResumes  = 8 // of one stream, without an event between them
	maxRefused  = 5 // of one stream, in a row without any response
	firstResume = 500 * time.Millisecond
	maxResume   = 10 * time.Second
	// Whatever the server asks for, its stream is not taken up again sooner
	// than half of this, and later when it brings no message.
	firstPace    = 200 * time.Millisecond
	maxPace      = time.Second
	firstReissue = 200 * time.Millisecond
	// ownIDs is where the ids of requests that the link makes itself begin,
	// far from those of the connection and still exact in every JSON
	// implementation.
	ownIDs = 1 << 52
)

// backoff is how long to wait before the given try, from 1 on: doubled each
// time up to the most, and a random part of it less, so that clients that lost
// a server together do not come back together.
func backoff(try int, first, most time.Duration) time.Duration {
	d := most
	if try <= 16 {
		d = min(first<<(try-1), most)
	}
	return d - time.Duration(rand.Int64N(int64(d)/2+1))
}

// flight is one request under way, and the way back of the messages that come
// on its stream. It is a jsonrpc.Exchange.
type flight struct {
	l      *Link
	w      jsonrpc.Waiter // nil for requests of the link's own, and for no request
	cancel context.CancelFunc
	method string
	id     jsonrpc.ID // the caller's
	wireID jsonrpc.ID // what was sent: another one when it was made again
	tool   string     // of a tools/call
	keeps  string     // what the session is to keep: a resource, or a log level
	epoch  int        // of the session that it was sent in, 0 for none
	// stateless: the request stands alone.
	stateless bool
	version   string // that it states itself, "" for none
	keep      bool   // an answer is kept here and not handed on
	once      bool   // it is not made again in a new session
	begun     atomic.Bool
	taken     atomic.Bool

	answered bool
	answer   []byte // if keep
	other    string // id of an answer that was none to this
}

// Notify sends a message that belongs to the request that came on this stream.
func (x *flight) Notify(ctx context.Context, f jsonrpc.Frame) error { return x.l.Send(ctx, f) }

// Reply posts the answer to a request that came on this stream.
func (x *flight) Reply(ctx context.Context, f jsonrpc.Frame) error {
	if len(f.Data) == 0 {
		return nil
	}
	return x.l.Send(ctx, f)
}

// Detach has nothing to do: a client's receiver does not block.
func (x *flight) Detach() {}

// Waiter is the call whose stream this is, for jsonrpc.Carried.
func (x *flight) Waiter() jsonrpc.Waiter { return x.w }

// enter registers a flight, so that Wake and Close can end it.
func (l *Link) enter(x *flight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.calls[x] = struct{}{}
	l.work.Add(1)
	return true
}

func (l *Link) leave(x *flight) {
	l.mu.Lock()
	delete(l.calls, x)
	l.mu.Unlock()
	l.work.Done()
}

// judge remembers what came of a request.
func (l *Link) judge(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return // it was given up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if status := statusOf(err); err != nil && (broken(err) || transient(err) || errors.Is(err, ErrOutcomeUnknown) || status == http.StatusUnauthorized || status == http.StatusForbidden) {
		l.lastErr = err
		return
	}
	l.heard, l.lastErr = true, nil
}

// Wake ends a call whose wait is over.
func (l *Link) Wake(w jsonrpc.Waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for x := range l.calls {
		if x.w == w && w != nil {
			x.cancel()
		}
	}
}

// Call sends a request and reads the response until the answer is there.
func (l *Link) Call(ctx context.Context, f jsonrpc.Frame, w jsonrpc.Waiter) error {
	hd := readOutgoing(f.Data)
	version := hd.version
	l.standing(&hd)
	x := &flight{l: l, w: w, method: hd.method, id: hd.id, stateless: hd.stated, version: version, keeps: hd.keeps()}
	err := l.fly(ctx, x, f, &hd)
	switch {
	case err == nil, w.Done():
		return nil
	case ctx.Err() != nil && x.taken.Load():
		return nil // the caller cancels it
	}
	return err
}

// fly is a call of the connection's or of the link's own.
func (l *Link) fly(parent context.Context, x *flight, f jsonrpc.Frame, hd *outgoing) error {
	// What is read belongs to the link once the answer is there: so the
	// request has a context of its own, which the caller's ends.
	own, stop := parent, never
	if parent.Done() != nil {
		own = context.WithoutCancel(parent)
	}
	ctx, cancel := context.WithCancel(own)
	x.cancel = cancel
	if !l.enter(x) {
		cancel()
		return jsonrpc.ErrClosed
	}
	if parent.Done() != nil {
		stop = context.AfterFunc(parent, cancel)
	}
	if x.w != nil && x.w.Done() { // before Wake could find it
		cancel()
	}
	done := func() {
		stop()
		cancel()
		l.leave(x)
	}
	drain, err := l.call(ctx, x, f, hd)
	l.judge(ctx, err)
	if drain == nil {
		done()
		return err
	}
	// The server has not ended the stream yet. What still comes is taken,
	// and the connection saved, without holding up the answer.
	stop()
	go func() {
		defer done()
		t := time.AfterFunc(drainTime, cancel)
		defer t.Stop()
		drain()
	}()
	return err
}

func never() bool { return false }

// call makes a request until it is answered. drain, if any, reads what is left
// of the response.
func (l *Link) call(ctx context.Context, x *flight, f jsonrpc.Frame, hd *outgoing) (drain func(), err error) {
	data := f.Data
	x.wireID = x.id
	l.mu.Lock()
	events := l.events
	l.mu.Unlock()
	if events != nil {
		return nil, l.postCall(ctx, events, f, x)
	}
	restarted, refreshed, resent := false, false, false
	for try := 1; ; {
		s, err := l.currentSession(ctx, x)
		if err != nil {
			return nil, err
		}
		if s != nil {
			x.epoch = s.epoch
			if hd.paged && isList(x.method) && !l.pages.gave(s.epoch, hd.cursor) {
				return nil, ErrStaleCursor
			}
		}
		h, err := l.callHeaders(x, s, f.Header, hd)
		if err != nil {
			return nil, err
		}
		x.begun.Store(false)
		drain, err := l.post(ctx, x, s, h, data)
		if err == nil || x.answered || ctx.Err() != nil {
			return drain, err
		}
		if old, err := l.fallback(ctx, x, f, err); old {
			return nil, err
		}
		rpc, _ := err.(*jsonrpc.Error)
		switch {
		case refusal(err) == http.StatusNotFound && s != nil && s.id != "" && !restarted && !x.once:
			// The session is gone (basic/transports, session management);
			// the request was not looked at.
			restarted = true
			if err := l.restart(ctx, s.epoch); err != nil {
				return nil, &SessionError{Err: err}
			}
			continue
		case rpc != nil && rpc.Code == jsonrpc.CodeHeaderMismatch && x.method == methodToolsCall && x.stateless && !x.keep && !refreshed:
			// (basic/transports/streamable-http#client-behavior, 2026-07-28)
			refreshed = true
			if l.refreshTools(ctx, data) != nil {
				return nil, err
			}
			l.notice(Notice{Kind: ToolsRefreshed, Method: x.method, Err: err})
		case rpc == nil && !x.begun.Load() && diedIdle(err) && !resent:
			resent = true
			continue
		case rpc != nil || !broken(err) || !x.begun.Load():
			return nil, err
		case !x.stateless || !l.repeatable(x):
			if x.method == methodInitialize || x.method == methodDiscover || x.method == methodListen || readOnly(x.method) {
				return nil, err
			}
			return nil, &OutcomeUnknownError{Method: x.method, Name: x.tool, Err: err}
		case try == maxReissues:
			return nil, err
		default:
			// (basic/transports/streamable-http, a broken stream, 2026-07-28)
			if err := sleep(ctx, backoff(try, firstReissue, time.Second)); err != nil {
				return nil, err
			}
			try++
			l.notice(Notice{Kind: CallReissued, Method: x.method, Err: err})
		}
		env, perr := jsonrpc.ParseEnvelope(data)
		if perr != nil {
			return nil, err
		}
		x.wireID = l.newID()
		x.other = ""
		env.ID = x.wireID
		data = env.AppendJSON(nil)
	}
}

func (l *Link) newID() jsonrpc.ID { return jsonrpc.NewID(ownIDs + l.reissueID.Add(1)) }

// currentSession is the session that a request belongs to, nil for one that
// stands alone or begins one. It waits while a lost one is begun again.
func (l *Link) currentSession(ctx context.Context, x *flight) (*session, error) {
	if x != nil && (x.stateless || x.method == methodInitialize) {
		return nil, nil
	}
	for {
		l.mu.Lock()
		again := l.again
		s := l.session
		l.mu.Unlock()
		if again == nil || x != nil && x.keep {
			return &s, nil
		}
		select {
		case <-again.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// callHeaders are the headers of a request.
func (l *Link) callHeaders(x *flight, s *session, extra map[string][]string, hd *outgoing) (http.Header, error) {
	h := l.headers(s, extra)
	h["Content-Type"] = jsonValue
	h["Accept"] = bothValues
	if !x.stateless {
		return h, nil
	}
	h[HeaderProtocolVersion] = []string{EncodeHeaderValue(hd.version)}
	h[HeaderMethod] = []string{EncodeHeaderValue(x.method)}
	if !hd.named {
		return h, nil
	}
	h[HeaderName] = []string{EncodeHeaderValue(hd.name)}
	if x.method == methodToolsCall {
		x.tool = hd.name
		if err := l.tools.headers(hd.name).Set(h, hd.args); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// post sends a request once and reads the response, resuming it where the
// revision can.
func (l *Link) post(ctx context.Context, x *flight, s *session, h http.Header, data []byte) (func(), error) {
	started := time.Now()
	resp, err := l.do(ctx, request{method: http.MethodPost, header: h, data: data, x: x})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, l.failure(resp, x.wireID)
	}
	if x.method == methodInitialize {
		h := resp.Header[HeaderSessionID]
		defer func() {
			if err == nil && x.answered {
				l.pendSession(x, data, h)
			}
		}()
	}
	switch kind := media(resp); {
	case resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent:
		_ = resp.Body.Close()
		return nil, &ContentError{Status: resp.StatusCode}
	case kind == mediaJSON:
		return nil, l.readJSON(x, resp)
	case kind == mediaEvents:
		return l.readEvents(ctx, x, s, resp, started)
	default:
		data, _ := io.ReadAll(io.LimitReader(resp.Body, 4*maxQuote))
		_ = resp.Body.Close()
		return nil, &ContentError{Status: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: l.redact(data)}
	}
}

// readJSON reads a response that is one message.
func (l *Link) readJSON(x *flight, resp *http.Response) error {
	data, err := readAll(resp.Body, resp.ContentLength, l.max)
	_ = resp.Body.Close()
	if err != nil {
		if errors.Is(err, jsonrpc.ErrTooLong) {
			return err
		}
		return &NoAnswerError{ID: x.id, Err: err}
	}
	x.deliver(data, true, resp)
	if !x.answered {
		return &NoAnswerError{ID: x.id, Other: x.other, Body: l.redact(data)}
	}
	return nil
}

const pieceSize = 256 << 10

var bodyPieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// readAll reads a body of at most max bytes; size is what its header says, or
// negative. The result is as large as it needs to be, and memory is taken as
// bytes come, whatever was announced.
func readAll(r io.Reader, size int64, max int) ([]byte, error) {
	if size > int64(max) {
		return nil, &TooLongError{Limit: max}
	}
	if size >= 0 && size <= pieceSize {
		data := make([]byte, size, size+1)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, err
		}
		_, _ = r.Read(data[size : size+1]) // the end, so that the connection can be used again
		return data, nil
	}
	var all []*[pieceSize]byte
	defer func() {
		for _, p := range all {
			bodyPieces.Put(p)
		}
	}()
	n := 0
	for {
		if n%pieceSize == 0 {
			all = append(all, bodyPieces.Get().(*[pieceSize]byte))
		}
		k, err := r.Read(all[len(all)-1][n%pieceSize:])
		if n += k; n > max {
			return nil, &TooLongError{Limit: max}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(n) < size {
		return nil, io.ErrUnexpectedEOF
	}
	data := make([]byte, 0, n)
	for left := n; left > 0; left -= pieceSize {
		data = append(data, all[len(data)/pieceSize][:min(left, pieceSize)]...)
	}
	return data, nil
}

// readEvents reads a response that is a stream of events, until the answer.
func (l *Link) readEvents(ctx context.Context, x *flight, s *session, resp *http.Response, started time.Time) (func(), error) {
	src := l.watch(resp.Body, started)
	rd := sse.NewReader(src, l.max)
	rd.Comment = src.comment
	for p := (pace{}); ; {
		heard, err := l.readUntilAnswer(x, rd, src, resp)
		if x.answered {
			if rd.Ended() {
				_ = resp.Body.Close()
				rd.Release()
				return nil, nil
			}
			body := resp.Body
			return func() {
				l.drain(x, rd, src, resp)
				_ = body.Close()
				rd.Release()
			}, nil
		}
		_ = resp.Body.Close()
		id := l.lastEventID(rd, x.method)
		lost := &NoAnswerError{ID: x.id, Other: x.other, Err: err}
		if ctx.Err() != nil || s == nil || s.rules == nil || !s.rules.HTTP.Resume || id == "" || errors.Is(err, jsonrpc.ErrTooLong) {
			rd.Release()
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, lost
		}
		p.ended(heard, time.Since(started))
		if resp, err = l.resume(ctx, s, id, rd, &p, lost); err != nil {
			rd.Release()
			return nil, err
		}
		l.notice(Notice{Kind: CallResumed, Method: x.method, Err: lost.Err})
		started = time.Now()
		src = l.watch(resp.Body, started)
		rd.Comment = src.comment
		rd.Reset(src)
	}
}

// pace is how the stream of a call has been taken up again so far.
type pace struct {
	tries int // since the last event
	dull  int // streams in a row that ended without a message
}

// ended notes how a stream ended.
func (p *pace) ended(h heard, lasted time.Duration) {
	if h != heardNothing {
		p.tries = 0
	}
	p.dull++
	if h == heardMessages || lasted >= steady {
		p.dull = 0
	}
}

// wait is how long to wait before the next try. refused says that the last one
// got no response.
func (p *pace) wait(rd *sse.Reader, refused bool) time.Duration {
	most := maxResume
	if refused {
		most = time.Second
	}
	d := backoff(p.tries, firstResume, most)
	if asked, ok := rd.Retry(); ok {
		if p.tries == 1 {
			d = 0
		}
		d = max(d, asked)
	}
	return max(d, backoff(max(p.dull, 1), firstPace, maxPace))
}

// resume takes a stream up again behind the event with an id: with a GET, when
// the time that the server asked for has passed. The request is never sent
// again. A server that cannot be reached is given up sooner than one that
// fails: the stream went with it. Specification: basic/transports,
// resumability and redelivery.
func (l *Link) resume(ctx context.Context, s *session, id string, rd *sse.Reader, p *pace, lost *NoAnswerError) (*http.Response, error) {
	var after time.Duration // as a refusal says
	for refused := 0; ; {
		if p.tries++; p.tries > maxResumes || refused == maxRefused {
			return nil, lost
		}
		if err := sleep(ctx, max(p.wait(rd, refused > 0), after)); err != nil {
			return nil, err
		}
		resp, err := l.get(ctx, s, id)
		if err == nil {
			return resp, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		lost.Err = err
		if !transient(err) {
			return nil, lost
		}
		refused, after = refused+1, 0
		if e, ok := errors.AsType[*StatusError](err); ok {
			refused, after = 0, e.RetryAfter
		}
	}
}

// maxEventID is far above what servers use, and below what they take in a
// header.
const maxEventID = 4 << 10

// lastEventID is what Last-Event-ID says for a stream that has ended, "" for
// none. An event's id may be any text on one line, and not all of that can be
// the value of a header.
func (l *Link) lastEventID(rd *sse.Reader, method string) string {
	id := rd.LastEventID()
	ok := len(id) <= maxEventID && len(bytes.Trim(id, " \t")) == len(id) // what is around a value gets lost
	for _, c := range id {
		ok = ok && (c >= ' ' || c == '\t') && c != 0x7f
	}
	if !ok {
		l.notice(Notice{Kind: EventIDUnusable, Method: method, Err: fmt.Errorf("an event's id cannot be sent back: %q", clipValue(string(id)))})
		return ""
	}
	return string(id)
}

// get opens a stream, of which the response is given back.
func (l *Link) get(ctx context.Context, s *session, lastID string) (*http.Response, error) {
	h := l.headers(s, nil)
	h["Accept"] = eventsValue
	if lastID != "" {
		h[HeaderLastEventID] = []string{lastID}
	}
	resp, err := l.do(ctx, request{method: http.MethodGet, header: h})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, l.failure(resp, jsonrpc.ID{})
	}
	if kind := media(resp); kind != mediaEvents {
		_ = resp.Body.Close()
		return nil, &ContentError{Status: resp.StatusCode, Type: kind}
	}
	return resp, nil
}

// heard is what came on a stream.
type heard uint8

const (
	heardNothing  heard = iota
	heardEvents         // none of them a message
	heardMessages       // and maybe other events
)

// readUntilAnswer reads events until the flight's answer or the end of the
// stream. The result says what came, also with an error.
func (l *Link) readUntilAnswer(x *flight, rd *sse.Reader, src *watched, resp *http.Response) (heard, error) {
	h := heardNothing
	for {
		ev, err := rd.Next()
		if err != nil {
			var long *sse.TooLongError
			if !errors.As(err, &long) {
				return h, err
			}
			// The start may say whose it is; the stream goes on behind it.
			tooLong := &TooLongError{Limit: l.max}
			if p := peek(long.Head); !p.answer || p.id == x.wireID {
				if p.answer {
					return h, tooLong
				}
				l.r.Receive(l.ctx, x, jsonrpc.Frame{Data: long.Head, Err: tooLong, Status: resp.StatusCode})
			}
			continue
		}
		h = max(h, heardEvents)
		src.event()
		if ev.Type != sse.TypeMessage || len(bytes.TrimSpace(ev.Data)) == 0 {
			continue // a priming event, or none of this protocol
		}
		h = heardMessages
		x.deliver(ev.Data, ev.Owned, resp)
		if x.answered {
			return h, nil
		}
	}
}

// drain hands on what comes behind the answer.
func (l *Link) drain(x *flight, rd *sse.Reader, src *watched, resp *http.Response) {
	for {
		ev, err := rd.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
		case err != nil:
			return
		case ev.Type == sse.TypeMessage && len(bytes.TrimSpace(ev.Data)) > 0:
			src.event()
			x.deliver(ev.Data, ev.Owned, resp)
		}
	}
}

// deliver hands a message that came on the flight's stream to the receiver. An
// answer is held against the request: another's is dropped, and an error
// without id is taken for this one's, since the stream is.
func (x *flight) deliver(data []byte, owned bool, resp *http.Response) {
	l := x.l
	f := jsonrpc.Frame{Data: data, Owned: owned, Header: resp.Header, Status: resp.StatusCode}
	p := peek(data)
	if !p.answer {
		l.r.Receive(l.ctx, x, f)
		return
	}
	if p.failed && !wire.Valid(data) {
		l.r.Receive(l.ctx, x, f) // it is counted there
		return
	}
	mine := !x.id.IsZero() && !x.answered && (p.id == x.wireID || p.noID && p.failed)
	if !mine {
		x.stray(p, f)
		return
	}
	if x.version != "" && !p.failed {
		l.learnVersion(x.version)
	}
	if x.keep {
		x.answer, x.answered = bytes.Clone(data), true
		return
	}
	if p.id != x.id {
		env, err := jsonrpc.ParseEnvelope(data)
		if err != nil {
			l.r.Receive(l.ctx, x, f)
			return
		}
		env.ID = x.id
		f.Data, f.Owned = env.AppendJSON(nil), true
	}
	if x.stateless && x.method == methodToolsList && !p.failed {
		f.Data, f.Owned = l.learnTools(f.Data, f.Owned)
	}
	if x.epoch > firstSession && isList(x.method) {
		if next, ok := wire.Raw(f.Data).Get("result").Get("nextCursor").Str(); ok {
			l.pages.give(x.epoch, next)
		}
	}
	if x.method == methodInitialize {
		x.answer = bytes.Clone(f.Data)
	}
	if x.keeps != "" && !p.failed {
		l.keep(x.method, x.keeps)
	}
	x.answered = true
	l.r.Receive(l.ctx, x, f)
}

// stray deals with an answer that is not to the request of its stream. It must
// not be taken for the answer to another request under way, and the receiver
// only counts it.
func (x *flight) stray(p peeked, f jsonrpc.Frame) {
	x.other = string(p.id.AppendJSON(nil))
	x.l.notice(Notice{Kind: WrongAnswer, Method: x.method, Err: &NoAnswerError{ID: x.id, Other: x.other}})
	if c, ok := x.l.r.(interface{ Stray(jsonrpc.Frame) }); ok {
		c.Stray(f)
	}
}

// readOnly reports whether a method changes nothing at the server, so that it
// may be made twice.
func readOnly(method string) bool {
	switch method {
	case methodDiscover, methodToolsList, "prompts/get", "resources/read", "prompts/list", "resources/list", "resources/templates/list", "completion/complete", "tasks/get":
		return true
	}
	return false
}

// repeatable reports whether a call may be made twice: reads, and calls of
// tools that say that they may.
func (l *Link) repeatable(x *flight) bool {
	return readOnly(x.method) || x.method == methodToolsCall && l.tools.repeatable(x.tool)
}

// broken reports whether an error is a connection or a stream that broke, so
// that nothing is known of the request: that to the server, or the one behind a
// gateway, which then says so (502, 504).
func broken(err error) bool {
	switch e := err.(type) {
	case *RequestError:
		return true
	case *StatusError:
		return e.Status == http.StatusBadGateway || e.Status == http.StatusGatewayTimeout
	case *NoAnswerError:
		return e.Err != nil && !errors.Is(e.Err, jsonrpc.ErrTooLong)
	}
	return false
}

// diedIdle reports whether a request that was not begun failed on a connection that
// was there, and had died while nothing was sent on it. net/http takes another one
// by itself where it has used the first before, but not where it only ever dialled
// it.
func diedIdle(err error) bool {
	e, ok := err.(*RequestError)
	if !ok || e.Sent {
		return false
	}
	op, ok := errors.AsType[*net.OpError](e.Err)
	return !ok || op.Op != "dial"
}

// statusOf is the status that an error stands for, 0 for none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*StatusError](err); ok {
		return e.Status
	}
	return 0
}

// refusal is the status of the response to the request itself.
func refusal(err error) int {
	if _, later := err.(*NoAnswerError); later {
		return 0
	}
	return statusOf(err)
}

// transient reports whether what failed may succeed later.
func transient(err error) bool {
	if e, ok := errors.AsType[*StatusError](err); ok {
		_, passes := e.Passes()
		return passes
	}
	_, ok := errors.AsType[*RequestError](err)
	return ok
}
