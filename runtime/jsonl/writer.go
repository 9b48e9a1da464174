package jsonl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

const (
	flushSize = 64 << 10 // answers are not collected beyond this
	keepSize  = 1 << 20  // buffers above this are not kept
)

// tryWriter writes without waiting: n is short when the stream takes no more.
type tryWriter interface {
	tryWrite(b []byte) (n int, err error)
}

// writer is the outgoing half of a link.
type writer struct {
	w     io.Writer
	try   tryWriter // nil where the stream cannot do that
	limit int
	stall time.Duration // how long to wait for room at most; 0: no bound
	fail  func(error)   // called once, on its own goroutine, when writing failed

	mu      sync.Mutex
	buf     []byte // accepted, and not being written yet
	spare   []byte
	writing int  // bytes that are being written
	busy    bool // somebody writes, and takes buf along
	err     error
	room    chan struct{} // closed when bytes have left; nil when nobody waits
	waiting atomic.Int64  // frames of exchanges that wait for room
}

// put appends a frame to the buffer, without writing. It waits for room as
// long as ctx, and takes what needs no waiting even when ctx has ended.
func (w *writer) put(ctx context.Context, data []byte) error {
	w.mu.Lock()
	var err error
	if !w.fits(len(data)) {
		w.waiting.Add(1)
		err = w.waitRoom(ctx, len(data), nil)
		w.waiting.Add(-1)
	}
	if err == nil {
		w.buf = append(appendLine(w.buf, data), '\n')
	}
	w.mu.Unlock()
	return err
}

// appendLine appends a frame's text as one line. A raw newline in JSON can
// only be white space.
func appendLine(b, data []byte) []byte {
	n := len(b)
	b = append(b, data...)
	for line := b[n:]; ; {
		k := bytes.IndexByte(line, '\n')
		if k < 0 {
			return b
		}
		line[k] = ' '
		line = line[k+1:]
	}
}

// fits reports whether n more bytes can be taken without waiting. A frame that
// is larger than the bound goes alone. w.mu is held.
func (w *writer) fits(n int) bool {
	held := len(w.buf) + w.writing
	return w.err == nil && (held == 0 || held+n <= w.limit)
}

// waitRoom waits until n more bytes are allowed, at most for the stall timeout.
// w.mu is held, and is let go meanwhile. stop ends the wait like ctx.
func (w *writer) waitRoom(ctx context.Context, n int, stop <-chan struct{}) error {
	var timer <-chan time.Time
	for {
		if w.err != nil || w.fits(n) {
			return w.err
		}
		room := w.full()
		if !w.busy { // nobody is making room
			w.busy = true
			go w.drain()
		}
		w.mu.Unlock()
		if timer == nil && w.stall > 0 {
			t := time.NewTimer(w.stall)
			defer t.Stop()
			timer = t.C
		}
		var cause error
		select {
		case <-room:
		case <-ctx.Done():
			cause = jsonrpc.ContextError(ctx)
		case <-timer:
			cause = errStalled
		case <-stop:
			cause = errOver
		}
		w.mu.Lock()
		if cause != nil {
			if w.err != nil {
				return w.err
			}
			return &jsonrpc.OverloadError{What: "outgoing bytes", Limit: w.limit, Cause: cause}
		}
	}
}

var (
	errOver    = errors.New("nobody waits for the answer any more")
	errStalled = errors.New("the peer does not read")
)

// send takes a frame and sees to it that it gets written, without waiting for
// the stream. stop ends the wait for room like ctx.
func (w *writer) send(ctx context.Context, data []byte, stop <-chan struct{}) error {
	w.mu.Lock()
	if w.try != nil && !w.busy && len(w.buf) == 0 && w.err == nil && bytes.IndexByte(data, '\n') < 0 {
		// The usual case: write it from where it is.
		w.busy = true
		line := append(data, '\n') // into the spare capacity, or a copy
		w.writing = len(line)
		w.mu.Unlock()
		n, err := w.try.tryWrite(line)
		w.mu.Lock()
		w.writing = 0
		if err != nil {
			w.failed(err)
			w.mu.Unlock()
			return err
		}
		if n < len(line) {
			w.buf = append(append([]byte(nil), line[n:]...), w.buf...)
		}
		w.carryOn(n < len(line))
		w.mu.Unlock()
		return nil
	}
	if err := w.waitRoom(ctx, len(data), stop); err != nil {
		w.mu.Unlock()
		return err
	}
	w.buf = append(appendLine(w.buf, data), '\n')
	if !w.busy {
		w.busy = true
		w.carryOn(w.try == nil)
	}
	w.mu.Unlock()
	return nil
}

// carryOn goes on writing what others left in the buffer while this goroutine
// wrote. full says that the stream takes no more, and that a goroutine has to
// wait for it. w.mu is held and w.busy is set; both are let go of as needed.
func (w *writer) carryOn(full bool) {
	for {
		w.wakeRoom()
		if len(w.buf) == 0 || w.err != nil {
			w.busy = false
			return
		}
		if full {
			go w.drain()
			return
		}
		out := w.swap()
		w.mu.Unlock()
		n, err := w.try.tryWrite(out)
		w.mu.Lock()
		w.writing = 0
		if err != nil {
			w.failed(err)
			continue
		}
		if full = n < len(out); full {
			w.buf = append(append([]byte(nil), out[n:]...), w.buf...)
		}
		w.keep(out)
	}
}

// drain writes the buffer until it is empty, waiting for the stream. w.busy is
// this goroutine's.
func (w *writer) drain() {
	w.mu.Lock()
	w.drainLocked()
	w.mu.Unlock()
}

func (w *writer) drainLocked() {
	for len(w.buf) > 0 && w.err == nil {
		out := w.swap()
		w.mu.Unlock()
		_, err := w.w.Write(out)
		w.mu.Lock()
		w.writing = 0
		if err != nil {
			w.failed(err)
			break
		}
		w.keep(out)
		w.wakeRoom()
	}
	w.wakeRoom()
	w.busy = false
}

// flush writes the buffer on this goroutine, waiting for the stream, unless
// somebody is writing: then he takes it along.
func (w *writer) flush() {
	w.mu.Lock()
	if !w.busy && len(w.buf) > 0 {
		w.busy = true
		w.drainLocked()
	}
	w.mu.Unlock()
}

// flushAside is flush without waiting for the stream.
func (w *writer) flushAside() {
	w.mu.Lock()
	if !w.busy && len(w.buf) > 0 {
		w.busy = true
		w.carryOn(w.try == nil)
	}
	w.mu.Unlock()
}

// write writes a large frame from where it is, behind what is collected, on
// this goroutine and waiting for the stream. It is false when somebody else
// writes.
func (w *writer) write(data []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy || w.err != nil || bytes.IndexByte(data, '\n') >= 0 {
		return false
	}
	w.busy = true
	parts := [3][]byte{w.buf, data, newline}
	if len(data) < cap(data) {
		parts[1], parts[2] = append(data, '\n'), nil
	}
	w.buf, w.spare = w.spare[:0], nil
	w.writing = len(parts[0]) + len(data) + 1
	w.mu.Unlock()
	var err error
	for _, p := range parts {
		if err == nil && len(p) > 0 {
			_, err = w.w.Write(p)
		}
	}
	w.mu.Lock()
	w.writing = 0
	if err != nil {
		w.failed(err)
		return true
	}
	w.keep(parts[0])
	w.drainLocked()
	return true
}

// stream writes a frame piece by piece, behind what is collected. It waits for
// its turn as long as ctx.
func (w *writer) stream(ctx context.Context, write func(io.Writer) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.busy && w.err == nil {
		room := w.full()
		w.mu.Unlock()
		var err error
		select {
		case <-room:
		case <-ctx.Done():
			err = jsonrpc.ContextError(ctx)
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	if w.err != nil {
		return w.err
	}
	w.busy = true
	head := w.swap()
	w.writing = max(len(head), 1)
	err := errCut
	defer func() { // also when the writing of pieces ends this goroutine
		w.writing = 0
		if err != nil {
			w.failed(err)
			return
		}
		w.keep(head)
		w.drainLocked()
	}()
	err = w.pieces(head, write)
	return err
}

// pieces writes what stands before a frame, and the frame piece by piece. w.mu is
// held, and is let go meanwhile.
func (w *writer) pieces(head []byte, write func(io.Writer) error) error {
	w.mu.Unlock()
	defer w.mu.Lock()
	bw := bufio.NewWriterSize(w.w, flushSize)
	_, err := bw.Write(head)
	if err == nil {
		err = write(bw)
	}
	if err == nil {
		err = bw.WriteByte('\n')
	}
	if err == nil {
		err = bw.Flush()
	}
	return err
}

var errCut = errors.New("a message was cut")

var newline = []byte{'\n'}

// large reports whether enough is collected.
func (w *writer) large() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.buf) >= flushSize
}

// swap takes the buffer for writing. w.mu is held.
func (w *writer) swap() []byte {
	out := w.buf
	w.buf, w.spare = w.spare[:0], nil
	w.writing = len(out)
	return out
}

// keep keeps a buffer that was written. w.mu is held.
func (w *writer) keep(out []byte) {
	if w.spare == nil && cap(out) <= keepSize {
		w.spare = out[:0]
	}
}

// full is the channel that is closed when bytes have left. w.mu is held.
func (w *writer) full() chan struct{} {
	if w.room == nil {
		w.room = make(chan struct{})
	}
	return w.room
}

// wakeRoom tells those who wait that bytes have left. w.mu is held.
func (w *writer) wakeRoom() {
	if w.room != nil {
		close(w.room)
		w.room = nil
	}
}

// failed remembers that the stream is broken. w.mu is held.
func (w *writer) failed(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.buf = nil
	w.busy = false
	w.wakeRoom()
	if w.fail != nil {
		go w.fail(err)
	}
}

// stop makes further frames fail with err.
func (w *writer) stop(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
		w.wakeRoom()
	}
}

// settle waits until everything is written, or ctx ends.
func (w *writer) settle(ctx context.Context) {
	w.flushAside()
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.err == nil && len(w.buf)+w.writing > 0 {
		room := w.full()
		w.mu.Unlock()
		select {
		case <-room:
			w.mu.Lock()
		case <-ctx.Done():
			w.mu.Lock()
			return
		}
	}
}
