package jsonrpc

import (
	"context"
	"sync"
	"time"
)

const (
	overtakeAfter = 10 * time.Millisecond // an answer waits this long for a handler that does not return; more than a turn on a busy machine
	maxLate       = 20                    // such waits that are not counted, on a machine that is late with them
	maxQueueBytes = 16 << 20              // of messages in the queue
)

// note is one notification, or one piece of progress, on its way to a handler.
type note struct {
	seq    uint64
	method string
	size   int
	run    func()
}

// queue hands notifications to their handlers, in order, on a goroutine of its
// own that lives while there are any. Answers that were read after a
// notification are handed over after it, unless its handler is slow.
type queue struct {
	c       *Conn
	mu      sync.Mutex
	notes   []note
	head    int
	bytes   int
	running bool
	shut    bool
	seq     uint64 // of the last note put in
	handled uint64 // all up to here are done with
	inHand  uint64 // the one whose handler runs, 0 for none
	held    []heldAnswer
	timer   *time.Timer
	due     time.Time // of the timer
	late    int       // ticks in a row that came late
	tick    uint64    // inHand at the last tick
}

// heldAnswer is an answer, or a request of the peer's, that notifications came
// before.
type heldAnswer struct {
	after uint64
	w     *call
	err   error
	run   func() // of a request
}

func (q *queue) length() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.notes) - q.head
}

// put adds a note. When the queue is full the oldest goes.
func (q *queue) put(method string, size int, run func()) {
	limit := q.c.o.MaxQueuedNotifications
	if limit <= 0 {
		limit = defaultQueued
	}
	q.mu.Lock()
	if q.shut {
		q.mu.Unlock()
		return
	}
	var dropped []string
	for len(q.notes)-q.head >= limit || q.bytes > 0 && q.bytes+size > maxQueueBytes {
		q.bytes -= q.notes[q.head].size
		dropped = append(dropped, q.notes[q.head].method)
		q.notes[q.head] = note{}
		q.head++
	}
	if q.head > 0 && q.head >= len(q.notes)/2 {
		q.notes = append(q.notes[:0], q.notes[q.head:]...)
		q.head = 0
	}
	q.seq++
	q.notes = append(q.notes, note{seq: q.seq, method: method, size: size, run: run})
	q.bytes += size
	start := !q.running
	q.running = true
	q.mu.Unlock()
	for _, method := range dropped {
		q.c.ev.note(Event{Kind: DroppedNotification, Method: method}, nil)
	}
	if start {
		go q.loop()
	}
}

func (q *queue) loop() {
	over := false
	defer func() {
		if !over { // a handler ended this goroutine
			go q.loop()
		}
	}()
	for {
		q.mu.Lock()
		if q.head == len(q.notes) || q.shut {
			q.running = false
			q.notes, q.head, q.bytes = nil, 0, 0
			q.handled = q.seq
			ready := q.release(q.seq)
			q.mu.Unlock()
			over = true
			q.hand(ready)
			return
		}
		n := q.notes[q.head]
		q.notes[q.head] = note{}
		q.head++
		q.bytes -= n.size
		q.inHand = n.seq
		q.mu.Unlock()

		q.handle(n)
	}
}

// handle hands over one note, and then the answers that waited for it.
func (q *queue) handle(n note) {
	defer func() {
		q.mu.Lock()
		q.handled, q.inHand = n.seq, 0
		ready := q.release(n.seq)
		q.mu.Unlock()
		q.hand(ready)
	}()
	n.run()
}

// release takes the answers that waited for notes up to seq. q.mu is held.
func (q *queue) release(seq uint64) []heldAnswer {
	n := 0
	for n < len(q.held) && q.held[n].after <= seq {
		n++
	}
	if n == 0 {
		return nil
	}
	ready := append([]heldAnswer(nil), q.held[:n]...)
	q.held = append(q.held[:0], q.held[n:]...)
	return ready
}

func (q *queue) hand(ready []heldAnswer) {
	for _, a := range ready {
		if a.run != nil {
			a.run()
		} else {
			q.c.complete(a.w, a.err, false)
		}
	}
}

// request has a request handled, after the notifications that came before it:
// what its handler does may end what they are about. run does not wait.
func (q *queue) request(run func()) {
	q.mu.Lock()
	if !q.running || q.shut {
		q.mu.Unlock()
		run()
		return
	}
	q.hold(heldAnswer{after: q.seq, run: run})
	q.mu.Unlock()
}

// answer completes a call, after the notifications that came before it.
func (q *queue) answer(w *call, err error) {
	q.mu.Lock()
	if !q.running || q.shut || w.direct {
		q.mu.Unlock()
		q.c.complete(w, err, true)
		return
	}
	q.hold(heldAnswer{after: q.seq, w: w, err: err})
	q.mu.Unlock()
}

// hold keeps an answer until what came before it is handled. q.mu is held.
func (q *queue) hold(a heldAnswer) {
	q.held = append(q.held, a)
	if len(q.held) == 1 {
		q.late = 0
		q.await()
	}
}

// await sets the timer. q.mu is held.
func (q *queue) await() {
	q.tick, q.due = q.inHand, time.Now().Add(overtakeAfter)
	if q.timer == nil {
		q.timer = time.AfterFunc(overtakeAfter, q.overtake)
	} else {
		q.timer.Reset(overtakeAfter)
	}
}

// overtake lets the answers go that wait for a handler that was running at the
// last tick already. One that has not begun is not slow: on a busy machine it
// waits for its turn as everybody does. And where the tick itself came late, the
// handler may not have run either.
func (q *queue) overtake() {
	q.mu.Lock()
	if len(q.held) == 0 {
		q.mu.Unlock()
		return
	}
	busy := q.late < maxLate && time.Since(q.due) > overtakeAfter
	if busy {
		q.late++
	}
	if q.inHand == 0 || q.inHand != q.tick || busy {
		q.await()
		q.mu.Unlock()
		return
	}
	overtaken := q.held[len(q.held)-1].after - q.handled
	ready := q.release(q.seq)
	q.mu.Unlock()
	for range min(overtaken, 1024) {
		q.c.ev.note(Event{Kind: OvertakenNotification}, nil)
	}
	q.hand(ready)
}

// close drops what waits.
func (q *queue) close() {
	q.mu.Lock()
	q.shut = true
	ready := q.release(q.seq)
	if q.timer != nil {
		q.timer.Stop()
	}
	q.mu.Unlock()
	q.hand(ready)
}

// endedContext has ended: what is sent with it is taken only if nobody has to
// wait.
var endedContext = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
