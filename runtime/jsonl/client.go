package jsonl

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// readRole says who reads a client's link: a caller that waits for its answer
// (the leader), the link's own goroutine (the lingerer), or nobody for the
// moment between two calls.
type readRole struct {
	mu      sync.Mutex
	taken   bool           // somebody reads
	leader  jsonrpc.Waiter // the caller that does, nil for the lingerer
	ctx     context.Context
	poked   bool   // a deadline is set, to interrupt the leader
	reads   uint64 // how often the role was taken by a caller
	made    uint64 // calls
	now     bool   // the lingerer is to read at once
	ended   bool
	kick    chan struct{}
	waiting bool // the lingerer waits without a timer
	callers bool // callers may read: a read can be interrupted
}

func (l *link) startClient() {
	r := &l.reading
	r.kick = make(chan struct{}, 1)
	r.callers = l.c.deadline != nil && l.calls != nil
	go l.linger()
}

// Call sends a request, and reads on the calling goroutine until the answer is
// there, if nobody else reads.
func (l *link) Call(ctx context.Context, f jsonrpc.Frame, w jsonrpc.Waiter) error {
	r := &l.reading
	if !l.client {
		err := l.out.send(ctx, f.Data, w.C())
		if err == nil {
			taken(w)
		}
		return err
	}
	r.mu.Lock()
	r.made++
	r.mu.Unlock()
	if err := l.out.send(ctx, f.Data, w.C()); err != nil {
		return l.broken(ctx, err)
	}
	taken(w)
	r.mu.Lock()
	if !r.callers || r.taken || r.ended { // callers may change: takeOver
		r.mu.Unlock()
		return nil
	}
	r.taken, r.leader, r.ctx = true, w, ctx
	r.reads++
	r.mu.Unlock()
	l.lead(ctx, w)
	return nil
}

func taken(w jsonrpc.Waiter) {
	if t, ok := w.(jsonrpc.Taken); ok {
		t.Taken()
	}
}

// broken is why a request could not be written: where the carrier can tell
// more (how a child ended), that.
func (l *link) broken(ctx context.Context, err error) error {
	if l.c.explain == nil || errors.Is(err, jsonrpc.ErrOverloaded) {
		return err
	}
	select {
	case <-l.readEnd:
		if why := l.Err(); why != nil {
			return why
		}
	case <-ctx.Done():
	}
	return err
}

// lead reads until w is done or ctx has ended.
func (l *link) lead(ctx context.Context, w jsonrpc.Waiter) {
	r := &l.reading
	for !w.Done() && ctx.Err() == nil {
		if !l.readOne() {
			return
		}
	}
	r.mu.Lock()
	l.unpoke()
	r.taken, r.leader, r.ctx = false, nil, nil
	if l.in.more() || l.calls.WaitingCalls() > 0 {
		r.now = true
	}
	if r.now || r.waiting {
		l.kickLingerer()
	}
	r.mu.Unlock()
}

// readOne reads and hands over one frame. It is false when the stream has
// ended; then nobody reads any more.
func (l *link) readOne() bool {
	f, err := l.in.next()
	if err == nil {
		l.r.Receive(l.ctx, (*clientExchange)(l), f)
		return true
	}
	r := &l.reading
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		l.unpoke()
		return true
	}
	r.ended = true
	l.kickLingerer()
	go l.ended(err)
	return false
}

// Wake interrupts the reading of a caller that is done without having read its
// answer.
func (l *link) Wake(w jsonrpc.Waiter) {
	r := &l.reading
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leader == w && w != nil {
		l.poke()
	}
}

// poke interrupts the leader. r.mu is held.
func (l *link) poke() {
	if !l.reading.poked {
		l.reading.poked = true
		_ = l.c.deadline.SetReadDeadline(time.Unix(1, 0))
	}
}

// unpoke lets reading go on. r.mu is held.
func (l *link) unpoke() {
	if l.reading.poked {
		l.reading.poked = false
		_ = l.c.deadline.SetReadDeadline(time.Time{})
	}
}

// takeOver makes the lingerer read from now on.
func (l *link) takeOver() {
	r := &l.reading
	r.mu.Lock()
	defer r.mu.Unlock()
	r.callers = false
	r.now = true
	if r.leader != nil {
		l.poke()
	}
	l.kickLingerer()
}

func (l *link) kickLingerer() {
	select {
	case l.reading.kick <- struct{}{}:
	default:
	}
}

// linger reads when no caller does: at once when calls wait that nobody reads
// for, and otherwise when no caller has read for a tick. While a caller reads
// for long it watches that caller's context, so that a quick call pays nothing
// for being cancellable.
func (l *link) linger() {
	r := &l.reading
	timer := time.NewTimer(tick)
	defer timer.Stop()
	var seen uint64
	for {
		var abandoned <-chan struct{}
		armed := true
		r.mu.Lock()
		switch {
		case r.ended:
			r.mu.Unlock()
			return
		case !r.taken && (r.now || !r.callers || r.reads == seen):
			r.taken, r.now = true, false
			made := r.made
			r.mu.Unlock()
			if !l.background(made) {
				return
			}
			r.mu.Lock()
		case r.taken && r.reads == seen && !r.poked:
			abandoned, armed = r.ctx.Done(), false
			r.waiting = true
		}
		seen = r.reads
		r.mu.Unlock()
		if armed {
			timer.Reset(tick)
		} else {
			timer.Stop()
		}
		select {
		case <-timer.C:
		case <-r.kick:
		case <-abandoned:
			r.mu.Lock()
			if r.leader != nil && r.ctx.Err() != nil {
				l.poke()
			}
			r.mu.Unlock()
		}
		r.mu.Lock()
		r.waiting = false
		r.mu.Unlock()
	}
}

// background reads until the calls that waited have their answers. made is the
// number of calls made before. It is false when the stream has ended.
func (l *link) background(made uint64) bool {
	r := &l.reading
	for {
		if !l.readOne() {
			return false
		}
		r.mu.Lock()
		// A stream that only brings notifications is read without pause.
		if r.callers && !r.now && r.made != made && l.calls.WaitingCalls() == 0 && !l.in.more() {
			r.taken = false
			r.mu.Unlock()
			return true
		}
		r.mu.Unlock()
	}
}

// clientExchange is the way back of all frames of a client's link.
type clientExchange link

func (e *clientExchange) Notify(ctx context.Context, f jsonrpc.Frame) error {
	return e.out.send(ctx, f.Data, nil)
}

func (e *clientExchange) Reply(ctx context.Context, f jsonrpc.Frame) error {
	if len(f.Data) == 0 {
		return nil
	}
	err := e.out.send(ctx, f.Data, nil)
	if errors.Is(err, errStalled) { // not when the caller would not wait
		go (*link)(e).ended(err)
	}
	return err
}

// Detach has nothing to do: a client's receiver does not block.
func (e *clientExchange) Detach() {}
