package jsonl

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Options are the bounds of a link. The zero value works.
type Options struct {
	// MaxMessage bounds a message in bytes. A longer one is skipped as it
	// comes in, with bounded memory, and reported with its start; one that goes
	// on for another 1 GiB ends the link with a *TooLongError. 0 means 64 MiB.
	MaxMessage int
	// MaxOutgoing bounds the bytes that wait to be written; senders wait for
	// room as long as their context allows. 0 means 16 MiB.
	MaxOutgoing int
	// StallTimeout is how long anything waits for room at most. When it does
	// not come for an answer the peer does not read any more, and the link
	// ends with an *jsonrpc.OverloadError. 0 means 30 s, negative none.
	StallTimeout time.Duration
}

func (o Options) maxMessage() int {
	if o.MaxMessage > 0 {
		return o.MaxMessage
	}
	return 64 << 20
}

func (o Options) maxOutgoing() int {
	if o.MaxOutgoing > 0 {
		return o.MaxOutgoing
	}
	return 16 << 20
}

func (o Options) stall() time.Duration {
	switch {
	case o.StallTimeout < 0:
		return 0
	case o.StallTimeout == 0:
		return 30 * time.Second
	}
	return o.StallTimeout
}

const (
	maxReaders = 1536             // goroutines that hold a frame; when so many are stuck reading pauses
	maxWaiting = 16               // frames that wait for room for their answer; likewise
	tick       = time.Millisecond // of the monitor, and of a client's lingering reader
	idleTicks  = 50               // after these the monitor parks
	heldTicks  = 1000             // so many pass until a frame that has not begun may be overtaken
	closeGrace = 2 * time.Second  // for what is still to be written when a link is closed
)

// carrier is what a link has underneath.
type carrier struct {
	r io.Reader
	w io.Writer
	// deadline, if the reader has one, lets a read be interrupted.
	deadline interface{ SetReadDeadline(time.Time) error }
	// close ends the carrier after the link has written what it had. It is
	// called once.
	close func(ctx context.Context)
	// explain turns the end of reading into why the link ended; nil keeps it.
	explain func(err error) error
}

// link is an open link, of a server or of a client.
type link struct {
	o      Options
	c      carrier
	client bool
	out    *writer
	r      jsonrpc.Receiver
	calls  jsonrpc.CallCounter // of r, if it is one
	ctx    context.Context     // of the frames; ends with the link
	cancel context.CancelFunc

	endOnce   sync.Once
	closeOnce sync.Once
	readEnd   chan struct{} // closed when reading has ended
	done      chan struct{} // closed when all is released

	mu  sync.Mutex
	err error

	// Server: who reads. The value is even between frames and odd while one
	// is being handled; whoever changes it from its odd value to the next
	// even one decides who reads on.
	role    atomic.Uint64
	begun   atomic.Uint64 // the role of the last frame that is where it belongs: see monitor
	in      *lines        // of whoever reads
	forking sync.Mutex    // held while what is unread goes to another goroutine
	readers atomic.Int64
	parked  atomic.Bool
	over    atomic.Bool // the link has ended: nothing more is read
	wake    chan struct{}

	reading readRole // client
}

func newLink(c carrier, o Options, client bool) *link {
	l := &link{o: o, c: c, client: client, readEnd: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.in = newLines(c.r, o.maxMessage())
	l.out = &writer{w: c.w, try: tryWriterOf(c.w), limit: o.maxOutgoing(), stall: o.stall(), fail: l.ended}
	return l
}

// Start begins reading.
func (l *link) Start(r jsonrpc.Receiver) error {
	l.r = r
	l.calls, _ = r.(jsonrpc.CallCounter)
	if l.client {
		l.startClient()
		return nil
	}
	go l.serve(l.in, 0)
	go l.monitor()
	return nil
}

// Send takes a frame that expects no answer.
func (l *link) Send(ctx context.Context, f jsonrpc.Frame) error { return l.out.send(ctx, f.Data, nil) }

// Done is closed when everything is released.
func (l *link) Done() <-chan struct{} { return l.done }

// Err says why the link ended.
func (l *link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// ended is called when reading or writing cannot go on. The receiver hears of
// it once.
func (l *link) ended(err error) {
	l.endOnce.Do(func() {
		l.over.Store(true)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if l.c.explain != nil {
			err = l.c.explain(err)
		}
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		close(l.readEnd)
		l.r.Closed(err)
	})
}

// Close writes what is left, ends the carrier and releases everything. A
// second call waits for the first.
func (l *link) Close(ctx context.Context) error {
	l.closeOnce.Do(func() {
		go func() {
			settle, cancel := context.WithTimeout(context.Background(), closeGrace)
			l.out.settle(settle)
			cancel()
			l.out.stop(jsonrpc.ErrClosed)
			if l.client {
				l.takeOver() // so that a child that still writes is read
			}
			l.c.close(context.Background())
			l.endOnce.Do(func() {
				close(l.readEnd)
				if l.r != nil {
					l.r.Closed(nil)
				}
			})
			l.cancel()
			close(l.done)
		}()
	})
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return jsonrpc.ContextError(ctx)
	}
}

// serve reads and handles frames until the stream ends or another goroutine
// has taken the reading over. role is the even value that is its own.
func (l *link) serve(in *lines, role uint64) {
	l.readers.Add(1)
	defer l.readers.Add(-1)
	l.in = in
	ex := &exchange{l: l}
	over := false
	defer func() {
		if !over { // a handler ended this goroutine
			l.takeOverFrom(role)
		}
	}()
	for {
		if l.over.Load() { // by its output: a peer that goes on sending is not heard
			over = true
			return
		}
		f, err := in.next()
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				if l.ctx.Err() != nil { // closed: see Stdio
					over = true
					return
				}
				continue
			}
			over = true
			l.ended(err)
			return
		}
		role++
		ex.role, ex.opens = role, false
		l.role.Store(role)
		if l.parked.Load() && l.parked.CompareAndSwap(true, false) {
			l.wake <- struct{}{}
		}
		l.r.Receive(l.ctx, ex, f)
		// Answers that were ready together leave together, before the next
		// read may wait. This may block: the monitor sees it like a handler
		// that blocks.
		if !in.more() || l.out.large() {
			ex.begin()
			l.out.flush()
		}
		if !l.role.CompareAndSwap(role, role+1) {
			l.out.flushAside()
			l.forking.Lock() // until the other one has what is unread
			in.release()
			l.forking.Unlock()
			over = true
			return
		}
		role++
	}
}

// takeOverFrom lets another goroutine read on, if the frame with this role is
// still being handled by the one that read it.
func (l *link) takeOverFrom(role uint64) {
	l.forking.Lock()
	if role&1 == 0 || !l.role.CompareAndSwap(role, role+1) {
		l.forking.Unlock()
		return
	}
	in := l.in.fork()
	l.forking.Unlock()
	go l.serve(in, role+1)
	l.out.flushAside()
}

// monitor notices that a frame has been handled for a whole tick and lets
// another goroutine read on. It waits longer while the frame has not begun to be
// handled, or is the handshake: what follows, the end of the input too, is not to
// overtake it where this goroutine has not had its turn on a busy machine. It
// parks while nothing comes in.
func (l *link) monitor() {
	t := time.NewTicker(tick)
	defer t.Stop()
	idle, held := 0, 0
	last := l.role.Load()
	for {
		select {
		case <-t.C:
		case <-l.readEnd:
			return
		}
		role := l.role.Load()
		switch {
		case role != last:
			idle, held = 0, 0
		case role&1 == 1 && l.begun.Load() != role && held < heldTicks:
			idle = 0
			held++
		case role&1 == 1:
			// When the peer sends without reading the answers, the pipe's own
			// back-pressure takes over. A few frames more are read all the
			// same: a cancellation may be among them.
			if l.readers.Load() < maxReaders && l.out.waiting.Load() < maxWaiting {
				l.takeOverFrom(role)
			}
			idle = 0
		default:
			idle++
		}
		last = role
		if idle < idleTicks {
			continue
		}
		idle = 0
		l.parked.Store(true)
		if l.role.Load() != role && l.parked.CompareAndSwap(true, false) {
			continue // a frame came in before it could see that we park
		}
		t.Stop()
		select {
		case <-l.wake:
		case <-l.readEnd:
			return
		}
		t.Reset(tick)
	}
}

// exchange is the way back of one frame of a server's link.
type exchange struct {
	l     *link
	role  uint64
	opens bool // the frame is the handshake
}

// inline reports whether the frame is still being handled by the goroutine
// that read it, which will write what is collected.
func (e *exchange) inline() bool { return e.l.role.Load() == e.role }

// Expect is called when the frame is a request and about to be handled. What
// comes after the handshake depends on how that ends.
func (e *exchange) Expect(method string, _ any) *jsonrpc.Error {
	if e.opens = method == "initialize"; !e.opens {
		e.begin()
	}
	return nil
}

// begin says that frames which follow may overtake this one.
func (e *exchange) begin() {
	for {
		last := e.l.begun.Load()
		if last >= e.role || e.l.begun.CompareAndSwap(last, e.role) {
			return
		}
	}
}

func (e *exchange) Notify(ctx context.Context, f jsonrpc.Frame) error {
	if e.inline() {
		return e.l.out.put(ctx, f.Data)
	}
	return e.l.out.send(ctx, f.Data, nil)
}

func (e *exchange) Reply(ctx context.Context, f jsonrpc.Frame) error {
	if !e.opens { // its answer is the first
		e.begin() // a refusal may wait for room: that holds up nobody
	}
	if len(f.Data) == 0 {
		return nil
	}
	if len(f.Data) >= flushSize && e.inline() && e.l.out.write(f.Data) {
		return nil
	}
	err := e.l.out.put(ctx, f.Data)
	if err != nil {
		if errors.Is(err, jsonrpc.ErrOverloaded) {
			go e.l.ended(err)
		}
		return err
	}
	if !e.inline() {
		e.l.out.flushAside()
	}
	return nil
}

// ReplyStream writes an answer piece by piece, on this goroutine and waiting for
// the stream. Frames that follow are read elsewhere.
func (e *exchange) ReplyStream(ctx context.Context, write func(io.Writer) error) error {
	e.Detach()
	return e.l.out.stream(ctx, write)
}

func (e *exchange) Detach() { e.l.takeOverFrom(e.role) }
