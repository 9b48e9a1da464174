package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// StreamKey names one stream of one session. Stream 0 is that of messages
// that belong to no request; the others are those of POSTs.
type StreamKey struct {
	Session string
	Stream  uint64
}

// StoredEvent is one message that was sent on a stream.
type StoredEvent struct {
	Seq  int64  // its number on the stream: 1, 2, 3 …
	Data []byte // the JSON text; empty for an event that only opened the stream
}

// EventStore keeps what was sent on the streams of sessions, for clients that
// come back with Last-Event-ID. A stream's methods are called one at a time,
// those of different streams at the same time. A store that fails costs the
// client what it missed and nothing else. Specification: basic/transports,
// resumability and redelivery.
type EventStore interface {
	// Append keeps an event. The data is the caller's again when it returns.
	Append(ctx context.Context, k StreamKey, e StoredEvent) error
	// After returns the events of the stream whose number is above seq, in
	// order. Where some between them are not kept any more it returns the
	// rest and ErrEventsLost. The data is only read.
	After(ctx context.Context, k StreamKey, seq int64) ([]StoredEvent, error)
	// Forget drops a session with all its streams.
	Forget(ctx context.Context, session string) error
}

// ErrEventsLost says that a store does not have all events that were asked
// for.
var ErrEventsLost = errors.New("events are not kept any more")

// MemoryStoreOptions are the bounds of a memory store. The zero value works.
type MemoryStoreOptions struct {
	// MaxEvents bounds the events of a session. 0 means 256.
	MaxEvents int
	// MaxSessionBytes bounds the data of a session. 0 means 1 MiB.
	MaxSessionBytes int
	// MaxBytes bounds the data of all sessions. 0 means 64 MiB.
	MaxBytes int
}

// memoryStore keeps the newest events of each session.
type memoryStore struct {
	o MemoryStoreOptions

	mu             sync.Mutex
	oldest, newest *keptEvent // of all
	bytes          int
	sessions       map[string]*keptSession
}

type keptSession struct {
	oldest, newest *keptEvent
	count, bytes   int
}

type keptEvent struct {
	key          StreamKey
	e            StoredEvent
	older, newer *keptEvent // of all
	next         *keptEvent // of the session
}

func (ev *keptEvent) size() int { return len(ev.e.Data) + eventOverhead }

// eventOverhead is what an event costs beside its data, in bytes.
const eventOverhead = 192

// NewMemoryStore returns a store in memory: the newest events of each session,
// within the bounds. Sessions that keep nothing cost nothing.
func NewMemoryStore(o MemoryStoreOptions) EventStore {
	o.MaxEvents = orDefault(o.MaxEvents, 256)
	o.MaxSessionBytes = orDefault(o.MaxSessionBytes, 1<<20)
	o.MaxBytes = orDefault(o.MaxBytes, 64<<20)
	return &memoryStore{o: o, sessions: map[string]*keptSession{}}
}

func (m *memoryStore) Append(_ context.Context, k StreamKey, e StoredEvent) error {
	size := len(e.Data) + eventOverhead
	if size > min(m.o.MaxSessionBytes, m.o.MaxBytes) {
		return nil // it would go at once
	}
	e.Data = bytes.Clone(e.Data)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[k.Session]
	if s == nil {
		s = &keptSession{}
		m.sessions[k.Session] = s
	}
	ev := &keptEvent{key: k, e: e, older: m.newest}
	if m.newest != nil {
		m.newest.newer = ev
	} else {
		m.oldest = ev
	}
	m.newest = ev
	if s.newest != nil {
		s.newest.next = ev
	} else {
		s.oldest = ev
	}
	s.newest = ev
	s.count++
	s.bytes += size
	m.bytes += size
	for s.count > m.o.MaxEvents || s.bytes > m.o.MaxSessionBytes {
		m.drop(s)
	}
	for m.bytes > m.o.MaxBytes {
		m.drop(m.sessions[m.oldest.key.Session]) // whose oldest it is
	}
	return nil
}

// drop forgets the oldest event of a session. m.mu is held.
func (m *memoryStore) drop(s *keptSession) {
	ev := s.oldest
	if s.oldest = ev.next; s.oldest == nil {
		s.newest = nil
	}
	if ev.older != nil {
		ev.older.newer = ev.newer
	} else {
		m.oldest = ev.newer
	}
	if ev.newer != nil {
		ev.newer.older = ev.older
	} else {
		m.newest = ev.older
	}
	s.count--
	s.bytes -= ev.size()
	m.bytes -= ev.size()
}

func (m *memoryStore) After(_ context.Context, k StreamKey, seq int64) ([]StoredEvent, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[k.Session]
	if s == nil {
		return nil, nil
	}
	var out []StoredEvent
	var err error
	for ev := s.oldest; ev != nil; ev = ev.next {
		if ev.key == k && ev.e.Seq > seq {
			out = append(out, ev.e)
			if seq++; ev.e.Seq > seq { // the numbers of a stream have no gaps
				seq, err = ev.e.Seq, ErrEventsLost
			}
		}
	}
	return out, err
}

func (m *memoryStore) Forget(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		return nil
	}
	for s.oldest != nil {
		m.drop(s)
	}
	delete(m.sessions, session)
	return nil
}
