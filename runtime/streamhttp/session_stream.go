package streamhttp

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// eventStream is one event stream of a session: what is sent on it has a
// number and is kept, and it may be read through one HTTP response after
// another. Specification: basic/transports, resumability and redelivery.
type eventStream struct {
	s *serverSession
	n uint64 // 0: not of a POST

	mu        sync.Mutex
	seq       int64     // of the newest event
	delivered int64     // the newest that was handed to a response
	outs      []*outlet // the last one gets what is sent
	done      bool
}

// maxOutlets bounds the GETs that hold one stream open, or are given what a
// stream was; the oldest gives way. The stream of a POST has one.
const maxOutlets = 4

func (st *eventStream) key() StreamKey { return StreamKey{st.s.id, st.n} }

// put sends a message on the stream, or keeps it for whoever takes the stream
// up again.
func (st *eventStream) put(ctx context.Context, p part) error {
	st.mu.Lock()
	if st.done {
		st.mu.Unlock()
		return errStreamOver
	}
	o := st.send(ctx, p)
	st.mu.Unlock()
	if o != nil {
		_ = o.flush(ctx.Err() == nil) // a client that has gone may come back
	}
	return nil
}

// send numbers, keeps and hands over a part. st.mu is held. It returns the
// response that has to be flushed.
func (st *eventStream) send(ctx context.Context, p part) *outlet {
	if len(p.data) > 0 || p.prime {
		st.seq++
		if err := st.s.h.o.EventStore.Append(context.WithoutCancel(ctx), st.key(), StoredEvent{Seq: st.seq, Data: p.data}); err != nil {
			st.s.h.log.Warn("an event could not be kept", "err", err)
		}
		p.id = st.appendID(nil, st.seq)
	}
	st.done = p.last
	var to *outlet
	for len(st.outs) > 0 && to == nil {
		o := st.outs[len(st.outs)-1]
		if err := o.take(p, false); err == nil {
			st.delivered = st.seq
			to = o
			break
		} else if errors.Is(err, jsonrpc.ErrOverloaded) {
			o.fail(err) // it may come back for the rest
		}
		st.outs = st.outs[:len(st.outs)-1]
	}
	if p.last {
		for _, o := range st.outs {
			o.finish()
			if o != to {
				_ = o.flush(false)
			}
		}
		st.outs = nil
	}
	return to
}

// appendID appends an event's id: the stream and the event's number on it.
func (st *eventStream) appendID(b []byte, seq int64) []byte {
	b = strconv.AppendUint(b, st.n, 10)
	return strconv.AppendInt(append(b, '-'), seq, 10)
}

// parseEventID reads what appendID made.
func parseEventID(id string) (stream uint64, seq int64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	stream, err := strconv.ParseUint(a, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	seq, err = strconv.ParseInt(b, 10, 64)
	return stream, seq, err == nil && seq >= 0
}

// attach lets a response carry the stream: first what came after the event
// seq (negative: what no response has had yet), then what comes.
func (st *eventStream) attach(ctx context.Context, o *outlet, seq int64) {
	st.mu.Lock()
	full := false
	if seq < 0 {
		seq = st.delivered
	}
	if seq < st.seq {
		events, err := st.s.h.o.EventStore.After(ctx, st.key(), seq)
		if err != nil && !errors.Is(err, ErrEventsLost) {
			st.s.h.log.Warn("events could not be read", "err", err)
		}
		for _, e := range events {
			if full = o.take(part{data: e.Data, prime: len(e.Data) == 0, id: st.appendID(nil, e.Seq)}, false) != nil; full {
				break
			}
			seq = e.Seq
		}
	}
	if !full {
		seq = st.seq
	}
	st.delivered = max(st.delivered, seq)
	if st.done || full { // the client comes back for what is missing
		o.finish()
	}
	// A response keeps a copy of what it is to write, also once the stream is
	// over: there are few of them.
	if len(st.outs) >= maxOutlets || st.n != 0 && len(st.outs) > 0 {
		st.outs[0].displace()
		st.outs = append(st.outs[:0], st.outs[1:]...)
	}
	st.outs = append(st.outs, o)
	st.mu.Unlock()
	_ = o.flush(true)
}

// lost reports whether the end of a stream that is over cannot be had any more:
// a client that is given nothing would come again for ever.
func (st *eventStream) lost(ctx context.Context, seq int64) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.done || seq >= st.seq {
		return false
	}
	events, _ := st.s.h.o.EventStore.After(ctx, st.key(), seq)
	return len(events) == 0 || events[len(events)-1].Seq != st.seq
}

// detach takes a response away. It reports whether it was there.
func (st *eventStream) detach(o *outlet) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, x := range st.outs {
		if x == o {
			st.outs = append(st.outs[:i], st.outs[i+1:]...)
			return true
		}
	}
	return false
}

// pause ends the response that carries the stream; the client comes back
// after retry.
func (st *eventStream) pause(retry time.Duration) {
	st.mu.Lock()
	outs := st.outs
	st.outs = nil
	st.mu.Unlock()
	for _, o := range outs {
		_ = o.take(part{retry: retry, last: true}, true)
		_ = o.flush(false)
	}
}

// end ends the stream with nothing more to come.
func (st *eventStream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.done {
		return
	}
	if o := st.send(context.Background(), part{last: true}); o != nil {
		_ = o.flush(false)
	}
}
