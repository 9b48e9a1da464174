package streamhttp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// answerPiece is what is collected of an answer before it is written. An answer
// that is not longer is answered as any other, with its length, and kept for
// clients that come back.
const answerPiece = 64 << 10

// signs is what is held back of an answer that is being streamed: nothing can be
// put into the middle of a message as a sign of life but the message itself, so
// that one byte more of it goes when its writer pauses. It lasts for an hour of
// the usual keep-alives, which is the most that a call lasts.
const signs = 256

// ReplyStream writes an answer piece by piece: as a chunked body, or as the last
// message of the stream where there is one. Where that is not possible it is
// collected first: for a client of HTTP/1.0, which would not know a body that
// was cut, and for one that is to fetch it later. An answer that cannot be
// written to its end ends the response in a way that the client notices.
func (p *post) ReplyStream(ctx context.Context, write func(io.Writer) error) (err error) {
	a := &pieces{p: p, ctx: ctx, turn: make(chan struct{}, 1)}
	defer func() {
		a.stop()
		if a.out != nil {
			a.out.release(true) // write ended this goroutine
		}
	}()
	a.start()
	err = write(a)
	a.stop()
	if a.err != nil {
		err = a.err
	}
	switch {
	case a.out == nil && err == nil:
		return p.Reply(ctx, jsonrpc.Frame{Data: a.buf})
	case a.out == nil && a.err == nil: // it is write's: there is half an answer
		a.whole = false
		if a.begin() != nil || a.out == nil {
			_ = p.Reply(ctx, jsonrpc.Frame{})
			return err
		}
	case a.out == nil:
		return err
	}
	if err == nil {
		err = a.end()
	}
	a.out.release(err != nil)
	a.out = nil
	return err
}

// pieces is a writer of one answer.
type pieces struct {
	p     *post
	ctx   context.Context
	alive *time.Timer // nil without keep-alives

	// turn holds a value for whoever uses what follows: the timer writes too. It
	// is no mutex since a write may last.
	turn  chan struct{}
	over  bool      // the timer must not any more
	wrote time.Time // when something went out last
	buf   []byte
	whole bool    // all of it is to be collected
	out   *outlet // once it has begun
	err   error
}

// start begins to give signs of life, until stop.
func (a *pieces) start() {
	period := a.p.h.o.KeepAlive
	if period <= 0 {
		return
	}
	a.turn <- struct{}{}
	defer a.yield()
	a.wrote = time.Now()
	a.alive = time.AfterFunc(period, a.sign)
}

func (a *pieces) stop() {
	a.turn <- struct{}{}
	defer a.yield()
	a.over = true
	if a.alive != nil {
		a.alive.Stop()
	}
}

func (a *pieces) yield() { <-a.turn }

// sign gives a sign of life when nothing went out for long.
func (a *pieces) sign() {
	a.turn <- struct{}{}
	defer a.yield()
	if a.over || a.whole || a.err != nil {
		return
	}
	period := a.p.h.o.KeepAlive
	if wait := period - time.Since(a.wrote); wait > 0 {
		a.alive.Reset(wait)
		return
	}
	a.wrote = time.Now()
	a.alive.Reset(period)
	if a.out == nil && !a.p.patient { // else it becomes a stream by itself, which is kept alive
		a.err = a.begin()
	}
	if a.out == nil || a.err != nil || len(a.buf) == 0 {
		return
	}
	if a.err = a.out.piece(a.buf[:1]); a.err == nil {
		a.err = a.out.push()
	}
	a.buf = append(a.buf[:0], a.buf[1:]...)
}

// Write takes a piece. What goes out is all but the last few bytes.
func (a *pieces) Write(b []byte) (int, error) {
	a.turn <- struct{}{}
	defer a.yield()
	if a.err == nil && !a.whole && len(a.buf)+len(b) > answerPiece {
		if a.out == nil {
			a.err = a.begin()
		}
		a.flush(signs)
	}
	switch {
	case a.err != nil:
		return 0, a.err
	case a.out == nil:
		a.buf = append(a.buf, b...)
	case a.out.form != formBody && (bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0):
		a.buf = appendLine(a.buf, b)
	case len(b) >= answerPiece/2:
		if a.flush(0); a.err == nil {
			a.err = a.out.piece(b[:len(b)-signs])
		}
		if a.err != nil {
			return 0, a.err
		}
		a.buf = append(a.buf, b[len(b)-signs:]...)
	default:
		a.buf = append(a.buf, b...)
	}
	return len(b), nil
}

// flush writes what is collected but the last bytes, once the answer has begun.
func (a *pieces) flush(keep int) {
	n := len(a.buf) - keep
	if a.out == nil || a.err != nil || n <= 0 {
		return
	}
	a.wrote = time.Now()
	a.err = a.out.piece(a.buf[:n])
	a.buf = append(a.buf[:0], a.buf[n:]...)
}

// begin decides where the answer goes, and writes what precedes it there.
func (a *pieces) begin() error {
	o, id, err := a.p.reserve()
	if err != nil {
		return err
	}
	if a.whole = o == nil; a.whole {
		return nil
	}
	a.out = o
	head, err := o.seize(a.ctx)
	if err != nil {
		return err
	}
	if o.form == formEvents {
		if id != nil {
			head = append(append(append(head, "id: "...), id...), '\n')
		}
		head = append(head, "data: "...)
	}
	if o.form != formBody {
		a.buf = appendLine(a.buf[:0], a.buf)
	}
	if len(head) == 0 {
		return nil
	}
	return o.head(head)
}

// end writes what is left.
func (a *pieces) end() error {
	switch a.out.form {
	case formEvents:
		a.buf = append(a.buf, "\n\n"...)
	case formLines:
		a.buf = append(a.buf, '\n')
	}
	a.flush(0)
	if a.err != nil {
		return a.err
	}
	return a.out.push()
}

// reserve finds the response that an answer is streamed on, which nobody else
// writes to afterwards, and the id of the event that it is. Without a response
// the answer is to be collected and given to Reply.
func (p *post) reserve() (o *outlet, id []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done {
		return nil, nil, errStreamOver
	}
	if p.out == nil && p.stream == nil {
		if p.gone {
			p.done = true
			return nil, nil, errGone
		}
		if p.want.json || p.open() != nil {
			if p.fresh || !p.r.ProtoAtLeast(1, 1) {
				return nil, nil, nil
			}
			p.out = p.h.newOutlet(p.w, p.r, formBody)
		}
	}
	if o = p.out; p.stream != nil {
		if o, id = p.stream.reserve(); o == nil {
			return nil, nil, nil
		}
	} else {
		err = o.reserve()
	}
	p.done = true
	p.wakeUp()
	return o, id, err
}

// reserve finds the response that takes the last event of the stream piece by
// piece, nil if there is none. The event has a number but is not kept: whoever
// comes back for it is told that it is lost.
func (st *eventStream) reserve() (*outlet, []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return nil, nil
	}
	for n := len(st.outs) - 1; n >= 0; n-- {
		o := st.outs[n]
		st.outs = st.outs[:n]
		if o.reserve() != nil {
			continue
		}
		st.seq++
		st.delivered, st.done = st.seq, true
		for _, other := range st.outs {
			other.finish()
			_ = other.flush(false)
		}
		st.outs = nil
		return o, st.appendID(nil, st.seq)
	}
	return nil, nil
}

// reserve lets nothing follow but what whoever called it writes, until release.
func (o *outlet) reserve() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.ended(); err != nil {
		return err
	}
	o.over, o.reserved = true, true
	return nil
}

// seize makes the caller, who has reserved the response, the one who writes. It
// returns what is pending, which counts until head has written it.
func (o *outlet) seize(ctx context.Context) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		quiet := o.quieten()
		o.mu.Unlock()
		var err error
		select {
		case <-quiet:
		case <-ctx.Done():
			err = jsonrpc.ContextError(ctx)
		}
		o.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	o.writing, o.reserved = true, false
	b := o.pending
	o.pending, o.spare, o.flight = nil, nil, cap(b)
	o.count()
	if o.room != nil {
		close(o.room)
		o.room = nil
	}
	return b, o.err
}

// head writes what precedes an answer.
func (o *outlet) head(b []byte) error {
	err := o.piece(b)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flight = 0
	o.count()
	return err
}

// piece writes a piece. The caller has seized the response.
func (o *outlet) piece(b []byte) error {
	o.mu.Lock()
	err := o.err
	o.mu.Unlock()
	if err != nil {
		return err
	}
	o.allow(len(b))
	_, err = o.w.Write(b)
	if !o.lasting { // the next one may take long to come
		o.clearDeadline()
	}
	return err
}

// push sees that nothing is left in a buffer.
func (o *outlet) push() error {
	o.allow(0)
	err := o.flushOut()
	if !o.lasting {
		o.clearDeadline()
	}
	return err
}

// release ends what reserve began. What was cut cannot be read as a whole.
func (o *outlet) release(cut bool) {
	if cut {
		o.fail(errCut)
	}
	o.mu.Lock()
	o.cut = o.cut || cut
	if o.reserved {
		o.reserved = false // somebody else still writes
	} else {
		o.writing = false
	}
	if o.quiet != nil {
		close(o.quiet)
		o.quiet = nil
	}
	parked := o.parked
	o.mu.Unlock()
	if parked {
		o.signal()
	}
}

// abort ends the request's goroutine when an answer was cut: the HTTP server
// then closes the connection, or resets the stream, in place of ending the body.
// Should middleware recover from that, the deadline keeps the end away.
func (o *outlet) abort() {
	if o.cut {
		_ = o.rc.SetWriteDeadline(time.Unix(1, 0))
		panic(http.ErrAbortHandler)
	}
}
