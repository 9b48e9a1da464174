package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/sse"
)

// form is how a response carries messages.
type form uint8

const (
	formEvents form = iota // text/event-stream
	formLines              // application/x-ndjson
	formBody               // application/json, one text that is written piece by piece
)

const (
	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"
	mediaLines  = "application/x-ndjson"
)

// part is one thing to write on a stream.
type part struct {
	data  []byte // a message; empty for none
	id    []byte // of the event, nil for none
	retry time.Duration
	prime bool // an event without data
	last  bool // nothing follows
}

// outlet is one HTTP response that carries a stream of messages. Whoever has
// something to send appends it; one goroutine at a time writes what has come
// together. Usually that is the sender, so that a client that does not read
// holds back who sends; once the request's own goroutine has nothing else to
// do, it is that one (stay).
type outlet struct {
	h    *Handler
	w    http.ResponseWriter
	rc   *http.ResponseController
	form form
	wait time.Duration // for one write, 0 for ever
	// lasting: a deadline may stay while nothing is written. HTTP/2 ends a
	// stream whose deadline passes, whether it is written to or not.
	lasting bool

	mu       sync.Mutex
	pending  []byte
	spare    []byte // what was written last, to be used again
	flight   int    // bytes that are being written
	held     int    // bytes of Handler.buffered
	writing  bool
	wrote    bool // something: a stream that has only begun keeps no buffer
	parked   bool
	reserved bool // for who will write the last part
	over     bool // the last part was taken
	cut      bool // the last part could not be written to its end
	err      error
	deadline time.Time     // of writes; of whoever writes
	wake     chan struct{} // of the parked goroutine
	room     chan struct{} // closed when pending was taken; made by who waits
	quiet    chan struct{} // closed when writing ends; made by who waits
	alive    *time.Timer
	then     func()      // what to do in the end
	stop     func() bool // of the watch on the client
	period   time.Duration
}

var (
	errStreamOver = errors.New("the stream is over")
	errGone       = errors.New("the client has gone away")
	errDisplaced  = errors.New("another response has taken the stream over")
	errCut        = errors.New("an answer was cut")
)

const (
	maxSpare  = 4 << 10  // of the buffer that a stream keeps between two messages
	smallLast = 2 << 10  // of a last part that needs no flush of its own
	freeOut   = 16 << 10 // what may wait on a stream without being counted
	shareOut  = 8        // a stream has at most this part of what is left for all
)

// newOutlet begins a streaming response, with everything that proxies and
// browsers want to know of one; a body is like any other, but for its length.
func (h *Handler) newOutlet(w http.ResponseWriter, r *http.Request, f form) *outlet {
	o := &outlet{w: w, lasting: r.ProtoMajor == 1, rc: http.NewResponseController(w), form: f, h: h, wait: h.o.WriteTimeout, period: h.o.KeepAlive}
	hd := w.Header()
	switch f {
	case formEvents:
		hd["Content-Type"] = []string{mediaEvents}
	case formLines:
		hd["Content-Type"] = []string{mediaLines}
	case formBody:
		hd["Content-Type"] = []string{mediaJSON}
	}
	if f != formBody {
		hd["Cache-Control"] = []string{"no-cache, no-transform"}
		hd["X-Accel-Buffering"] = []string{"no"}
	}
	if o.wait == 0 { // then not even as long as the HTTP server gives an answer
		_ = o.rc.SetWriteDeadline(time.Time{})
	}
	w.WriteHeader(http.StatusOK)
	if o.period > 0 && f != formBody {
		o.mu.Lock()
		o.alive = time.AfterFunc(o.period, o.keepAlive)
		o.mu.Unlock()
	}
	return o
}

// append puts a part behind what is pending. o.mu is held.
func (o *outlet) append(p part) {
	if o.form == formLines {
		if len(p.data) > 0 {
			o.pending = append(appendLine(o.pending, p.data), '\n')
		}
		o.over = o.over || p.last
		return
	}
	if len(p.data) > 0 || p.prime {
		o.pending, _ = sse.Append(o.pending, sse.Event{Data: p.data, ID: p.id, HasID: p.id != nil, Retry: p.retry})
	} else if p.retry > 0 {
		o.pending = strconv.AppendInt(append(o.pending, "retry: "...), max(p.retry.Milliseconds(), 1), 10)
		o.pending = append(o.pending, "\n\n"...)
	}
	o.over = o.over || p.last
}

// take appends a part, unless that would take the stream beyond its bound or
// it has ended. It does not wait, and does not write.
func (o *outlet) take(p part, always bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ended(); err != nil {
		return err
	}
	if full := o.full(); full != nil && !always { // one message may pass it, so that a large one finds its way
		return full
	}
	o.append(p)
	o.count()
	return nil
}

// full names the bound that is reached where as much is pending as may be: on one
// stream, or on all of them. What is left for all is shared out, so that streams which
// came earlier and are not read do not leave nothing for the others. o.mu is held.
func (o *outlet) full() *jsonrpc.OverloadError {
	n := len(o.pending)
	if n >= o.h.o.MaxOutgoing {
		return &jsonrpc.OverloadError{What: "outgoing bytes", Limit: o.h.o.MaxOutgoing}
	}
	if n < freeOut {
		return nil
	}
	share := max(freeOut, (int64(o.h.o.MaxBuffered)-o.h.buffered.Load())/shareOut)
	if int64(n) < share {
		return nil
	}
	return &jsonrpc.OverloadError{What: "outgoing bytes that MaxBuffered leaves one stream", Limit: int(share)}
}

// count counts what waits, and is being written, into what all requests hold.
// o.mu is held.
func (o *outlet) count() {
	n := cap(o.pending) + o.flight
	if n <= freeOut {
		n = 0
	}
	if n != o.held {
		o.h.buffered.Add(int64(n - o.held))
		o.held = n
	}
}

func (o *outlet) ended() error {
	if o.err == nil && o.over {
		return errStreamOver
	}
	return o.err
}

// put appends a part, waiting for room as long as ctx, and sees that it is
// written.
func (o *outlet) put(ctx context.Context, p part) error {
	for {
		err := o.take(p, false)
		if err == nil {
			return o.flush(ctx.Err() == nil)
		}
		full, ok := errors.AsType[*jsonrpc.OverloadError](err)
		if !ok {
			return err
		}
		o.mu.Lock()
		if o.full() == nil || o.err != nil {
			o.mu.Unlock()
			continue
		}
		if o.room == nil {
			o.room = make(chan struct{})
		}
		room := o.room
		o.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			full.Cause = context.Cause(ctx)
			return full
		}
	}
}

// flush writes what is pending, or sees that somebody does. mayWait says that
// the caller may be held up by the client.
func (o *outlet) flush(mayWait bool) error {
	o.mu.Lock()
	switch {
	case o.writing || o.err != nil:
		err := o.err
		o.mu.Unlock()
		return err
	case o.parked:
		o.mu.Unlock()
		o.signal()
		return nil
	}
	o.writing = true
	o.mu.Unlock()
	if !mayWait {
		go o.write()
		return nil
	}
	return o.write()
}

// signal wakes the parked goroutine.
func (o *outlet) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// write writes until nothing is pending. The caller has set o.writing.
func (o *outlet) write() error {
	for {
		o.mu.Lock()
		b := o.pending
		if len(b) == 0 || o.err != nil {
			if o.err == nil && !o.lasting {
				o.clearDeadline()
			}
			o.writing = false
			if o.quiet != nil {
				close(o.quiet)
				o.quiet = nil
			}
			err, parked := o.err, o.parked
			o.mu.Unlock()
			if parked {
				o.signal()
			}
			return err
		}
		o.pending, o.spare, o.flight = o.spare[:0], nil, cap(b)
		last := o.over
		if o.room != nil {
			close(o.room)
			o.room = nil
		}
		o.allow(len(b)) // before displace may take the time away
		o.mu.Unlock()
		_, err := o.w.Write(b)
		if err == nil && !(last && len(b) < smallLast) { // the end of the response takes a small last part along
			err = o.flushOut()
		}
		if err != nil {
			o.fail(err)
		}
		o.mu.Lock()
		if o.wrote && o.spare == nil && cap(b) <= maxSpare {
			o.spare = b[:0]
		}
		o.wrote, o.flight = true, 0
		o.count()
		o.mu.Unlock()
	}
}

// flushOut sends what the HTTP server holds back.
func (o *outlet) flushOut() error {
	err := o.rc.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// allow gives a write of n bytes its time.
func (o *outlet) allow(n int) {
	if o.wait <= 0 {
		return
	}
	if now, need := time.Now(), writeTime(o.wait, n); o.deadline.Sub(now) < need/2 {
		o.deadline = now.Add(need)
		_ = o.rc.SetWriteDeadline(o.deadline) // middleware may not know how
	}
}

// clearDeadline takes the deadline of writes away.
func (o *outlet) clearDeadline() {
	if !o.deadline.IsZero() {
		o.deadline = time.Time{}
		_ = o.rc.SetWriteDeadline(o.deadline)
	}
}

// slowestWrite is how many bytes a second a client has to read of what is
// large, so that it may take longer than a small write.
const slowestWrite = 64 << 10

// writeTime is how long a write of n bytes may take.
func writeTime(wait time.Duration, n int) time.Duration {
	return wait + time.Duration(n)*time.Second/slowestWrite
}

// fail makes the stream unusable.
func (o *outlet) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.pending = nil
	o.count()
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
	if o.parked {
		o.signal()
	}
}

// stay leaves the writing to the request's own goroutine, which has nothing
// else to do: it takes turns until the last part was written, the stream fails,
// or the client goes away. then is called after that. It is false when the
// stream is over already.
func (o *outlet) stay(ctx context.Context, then func()) bool {
	o.mu.Lock()
	if o.over && len(o.pending) == 0 && !o.writing && !o.reserved || o.err != nil {
		o.mu.Unlock()
		return false
	}
	o.wake = make(chan struct{}, 1)
	o.parked, o.then = true, then
	o.mu.Unlock()
	o.stop = context.AfterFunc(ctx, func() { o.fail(errGone) })
	return true
}

// end ends a response that stayed open.
func (o *outlet) end() {
	o.stop()
	o.close()
	o.then()
}

// turn writes what is pending. It reports whether something may follow.
func (o *outlet) turn() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	for !o.writing && len(o.pending) > 0 && o.err == nil {
		o.writing = true
		o.mu.Unlock()
		_ = o.write()
		o.mu.Lock()
	}
	return o.writing || o.reserved || !o.over && o.err == nil
}

// finish lets nothing follow what is pending.
func (o *outlet) finish() { _ = o.take(part{last: true}, true) }

// displace ends the response in favour of another one: in good order, unless
// its client does not keep up; then what it has not read is dropped, and it may
// come back for it. The request's goroutine must not return meanwhile.
func (o *outlet) displace() {
	o.mu.Lock()
	idle := len(o.pending) == 0 && !o.writing
	o.mu.Unlock()
	if idle {
		o.finish()
		_ = o.flush(false)
		return
	}
	o.fail(errDisplaced)
	_ = o.rc.SetWriteDeadline(time.Unix(1, 0)) // of whoever is writing
}

// close ends the use of the response, as the request's goroutine returns: it
// waits until nobody writes.
func (o *outlet) close() {
	o.mu.Lock()
	for o.writing || o.reserved {
		quiet := o.quieten()
		o.mu.Unlock()
		<-quiet
		o.mu.Lock()
	}
	if o.err == nil {
		o.err = errStreamOver
	}
	o.clearDeadline() // the connection may serve another request
	o.pending, o.spare, o.flight = nil, nil, 0
	o.count()
	if o.alive != nil {
		o.alive.Stop()
	}
	o.mu.Unlock()
}

// quieten makes the channel that is closed when writing ends. o.mu is held.
func (o *outlet) quieten() chan struct{} {
	if o.quiet == nil {
		o.quiet = make(chan struct{})
	}
	return o.quiet
}

// keepAlive sends a sign of life, and comes again.
func (o *outlet) keepAlive() {
	o.mu.Lock()
	if o.ended() != nil {
		o.mu.Unlock()
		return
	}
	if len(o.pending) == 0 && !o.writing {
		o.appendSign()
	}
	o.alive.Reset(o.period)
	o.mu.Unlock()
	_ = o.flush(true)
}

// appendSign appends what readers of the stream pass over.
func (o *outlet) appendSign() {
	if o.form == formLines {
		o.pending = append(o.pending, '\n')
	} else {
		o.pending = append(sse.AppendComment(o.pending, "keep-alive"), '\n')
	}
}

// appendLine appends a message as one line.
func appendLine(b, data []byte) []byte {
	n := len(b)
	b = append(b, data...)
	for i := n; i < len(b); i++ {
		if b[i] == '\n' || b[i] == '\r' { // white space of JSON, nothing else can hold it
			b[i] = ' '
		}
	}
	return b
}
