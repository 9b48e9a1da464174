package jsonrpc

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// EventKind says what a connection met and survived.
type EventKind uint8

// The kinds of events. Each is counted in Stats.
const (
	BadJSON               EventKind = iota // a frame that is not JSON
	InvalidMessage                         // JSON, but no request, notification or answer
	TooLong                                // a frame above the carrier's bound
	Truncated                              // the carrier ended within a frame
	RefusedBatch                           // an array where the revision has none
	LateAnswer                             // to a request that was given up (timeout, cancel)
	DuplicateAnswer                        // to a request that is answered already
	UnknownAnswer                          // to a request that was never made
	WrongIDAnswer                          // the id has the wrong type or spelling: "1" for 1
	InvalidAnswer                          // both result and error, or neither, an error that is none, or a result that cannot be read or is not strict enough (CallOptions.StrictResult)
	UnreadableAnswer                       // an error without id: the peer could not read something of ours
	ForgivenAnswer                         // it broke its schema and was read all the same; Event.Problems says where
	DuplicateRequest                       // the id of a request that is still running
	RefusedRequest                         // a request that the state or a bound does not allow
	UnknownNotification                    // a notification without a handler
	DroppedNotification                    // the queue was full
	OvertakenNotification                  // an answer went past it, because a handler was slow
	FailedNotification                     // its params or its handler failed
	UnknownCancel                          // a cancellation of nothing that runs
	UnknownProgress                        // progress on nothing that waits
	HandlerPanic                           // a handler panicked
	FailedRequest                          // a handler failed with an error that the peer does not get to see
	InvalidOutput                          // an answer of ours that is not JSON, because of a raw value in it
	DroppedAnswer                          // an answer that could not be handed to the carrier
	DroppedEvent                           // a listener was too slow
	BrokenSubscription                     // the stream of a subscription of ours broke; it is being opened again
	ReopenedSubscription                   // it was acknowledged again; what changed in between was not told
	eventKinds
)

var eventNames = [eventKinds]string{
	"bad JSON", "invalid message", "too long", "truncated", "refused batch", "late answer", "duplicate answer", "unknown answer",
	"wrong id answer", "invalid answer", "unreadable answer", "forgiven answer", "duplicate request", "refused request", "unknown notification",
	"dropped notification", "overtaken notification", "failed notification", "unknown cancel", "unknown progress", "handler panic",
	"failed request", "invalid output", "dropped answer", "dropped event",
	"broken subscription", "reopened subscription",
}

// String is the kind in words.
func (k EventKind) String() string {
	if k < eventKinds {
		return eventNames[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// Event is something that a connection survived, for diagnosis.
type Event struct {
	Kind   EventKind // what happened
	Time   time.Time // when
	Method string    // where known; cut after 200 bytes
	ID     ID        // where known, and at most 1 KiB long
	Err    error     // what was wrong, may be nil
	// Problems is what was passed over in a ForgivenAnswer, or what an
	// InvalidAnswer was refused for because its call wants a strict result, at
	// most wire.DefaultMaxSkipped. Paths begin with the member of the message
	// ("result.tools[3].name").
	Problems []wire.Problem
	// Sample is the start of the message, at most 512 bytes. Only the first
	// sixteen events of a kind on a connection carry one.
	Sample []byte
}

// StateChange is one step of a connection's state machine.
type StateChange struct {
	Conn     *Conn
	From, To State
	// Err says, when To is Closed, why the connection ended: nil when this
	// side closed it.
	Err error
}

// Notification is a notification of the peer, before anything is done with it.
type Notification struct {
	Conn   *Conn
	Method string
	Params wire.Raw // nil if absent
}

const (
	sampleBytes  = 512
	sampleCount  = 16
	listenerSize = 256
)

// Stats is a snapshot of a connection.
type Stats struct {
	State         State  // the present state
	Calls         int    // calls that wait for the peer's answer
	Handling      int    // requests of the peer that are being handled
	Subscriptions int    // open subscriptions/listen streams of the peer
	Notifications int    // notifications that wait for their handler
	Received      uint64 // frames that came in
	Sent          uint64 // frames handed to the carrier
	// Counts holds how often each kind of event happened.
	Counts [eventKinds]uint64
}

// Count is how often a kind of event happened.
func (s *Stats) Count(k EventKind) uint64 { return s.Counts[k] }

// events counts, and tells the listeners.
type events struct {
	counts    [eventKinds]atomic.Uint64
	log       *slog.Logger
	listeners []*listener[Event]
	states    []*listener[StateChange]
	notes     []*listener[Notification]
}

func newEvents(o *Options) *events {
	e := &events{log: o.Logger}
	if e.log == nil {
		e.log = slog.Default()
	}
	e.listeners, e.states, e.notes = listen(e, o.Events), listen(e, o.States), listen(e, o.Notifications)
	return e
}

// note records an event. data is the message, which is sampled.
func (e *events) note(ev Event, data []byte) {
	n := e.counts[ev.Kind].Add(1)
	if ev.ID.tooLong() {
		ev.ID = ID{}
	}
	ev.Method = clip(ev.Method, maxEcho)
	if n <= sampleCount && e.log.Enabled(context.Background(), slog.LevelDebug) {
		e.log.Debug("connection survived", "event", ev.Kind.String(), "method", ev.Method, "id", ev.ID.String(), "err", ev.Err)
	}
	if len(e.listeners) == 0 {
		return
	}
	ev.Time = time.Now()
	ev.Method = strings.Clone(ev.Method) // it aliases the message
	if n <= sampleCount && len(data) > 0 {
		ev.Sample = append([]byte(nil), data[:min(len(data), sampleBytes)]...)
	}
	for _, l := range e.listeners {
		l.put(ev, len(ev.Sample))
	}
}

// listener has a bounded queue and a goroutine of its own while there is
// something in it, so that listeners are isolated from each other and from
// the connection.
type listener[T any] struct {
	f       func(T)
	e       *events
	mu      sync.Mutex
	queue   []told[T]
	bytes   int
	running bool
}

// told is something that a listener is to hear, and the bytes that it keeps.
type told[T any] struct {
	v    T
	size int
}

// listen makes a listener of each func.
func listen[T any](e *events, fs []func(T)) (out []*listener[T]) {
	for _, f := range fs {
		if f != nil {
			out = append(out, &listener[T]{f: f, e: e})
		}
	}
	return out
}

func (l *listener[T]) put(v T, size int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) >= listenerSize || l.bytes > 0 && l.bytes+size > maxQueueBytes {
		l.e.counts[DroppedEvent].Add(1)
		return
	}
	l.queue = append(l.queue, told[T]{v, size})
	l.bytes += size
	if !l.running {
		l.running = true
		go l.run()
	}
}

func (l *listener[T]) run() {
	over := false
	defer func() {
		if !over { // it ended this goroutine
			go l.run()
		}
	}()
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.running = false
			l.queue = nil
			l.mu.Unlock()
			over = true
			return
		}
		next := l.queue[0]
		l.queue[0] = told[T]{}
		l.queue = l.queue[1:]
		l.bytes -= next.size
		l.mu.Unlock()
		l.call(next.v)
	}
}

func (l *listener[T]) call(v T) {
	defer func() {
		if p := recover(); p != nil {
			l.e.log.Error("listener panicked", "panic", p, "stack", string(debug.Stack()))
		}
	}()
	l.f(v)
}
