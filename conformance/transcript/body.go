package transcript

import (
	"bytes"
	"io"
	"sync"
)

// Body taps one HTTP body, however it is chunked: it is one message, recorded
// when it is closed; an empty one is none. Of a body that is longer than a line
// may be its start is kept, and its length.
type Body struct{ tap tap }

// Body returns a tap for the body of one message of an exchange.
func (r *Recorder) Body(d Dir, exchange int) *Body {
	return &Body{tap: tap{r: r, dir: d, exchange: exchange}}
}

// Write takes some bytes of the body. It fails only after Close.
func (b *Body) Write(p []byte) (int, error) {
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	if b.tap.closed {
		return 0, io.ErrClosedPipe
	}
	b.tap.grow(p)
	return len(p), nil
}

// Abort is Close for a body that broke off.
func (b *Body) Abort() error { return b.end(true) }

// Close records the body; closing again does nothing.
func (b *Body) Close() error { return b.end(false) }

func (b *Body) end(partial bool) error {
	b.tap.mu.Lock()
	defer b.tap.mu.Unlock()
	if !b.tap.closed && b.tap.length > 0 {
		b.tap.flush(partial)
	}
	b.tap.closed = true
	return nil
}

// sseTap takes an event stream apart.
type sseTap struct {
	r        *Recorder
	dir      Dir
	exchange int

	mu     sync.Mutex
	line   tap // the line that is coming in; never recorded itself
	data   tap // the data of the event
	began  bool
	cr     bool // the last byte was a carriage return, which ended a line
	filled bool // the event has a data field
	closed bool
}

// SSE returns a tap for a text/event-stream: each field but data is recorded
// when its line ends, the data of an event when its blank line comes, the lines
// of it joined by newlines. An event without a data field is no message. Close
// keeps what is there of the last event, marked as partial.
func (r *Recorder) SSE(d Dir, exchange int) io.WriteCloser {
	s := &sseTap{r: r, dir: d, exchange: exchange}
	s.line = tap{r: r}
	s.data = tap{r: r, dir: d, exchange: exchange}
	return s
}

func (s *sseTap) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, io.ErrClosedPipe
	}
	n := len(p)
	for len(p) > 0 {
		if s.cr {
			s.cr = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			s.line.grow(p)
			break
		}
		s.line.grow(p[:i])
		s.cr = p[i] == '\r'
		s.field()
		p = p[i+1:]
	}
	return n, nil
}

var byteOrderMark = []byte("\ufeff")

// field takes the line that has ended.
func (s *sseTap) field() {
	l := s.line.buf
	if !s.began {
		s.began = true
		l = bytes.TrimPrefix(l, byteOrderMark)
	}
	over := s.line.length - int64(len(s.line.buf)) // bytes that were not kept
	switch name, value, _ := bytes.Cut(l, []byte(":")); {
	case len(l) == 0:
		if s.filled {
			s.message(false)
		}
	case len(name) == 0:
		s.r.Carrier(s.dir, s.exchange, KindSSE, string(l))
	case string(name) == "data":
		value = bytes.TrimPrefix(value, []byte(" "))
		if s.filled {
			s.data.grow([]byte("\n"))
		}
		s.data.grow(value)
		s.data.length += over
		s.filled = true
	case sseField(string(name)):
		text := string(name) + ":"
		if value = bytes.TrimPrefix(value, []byte(" ")); len(value) > 0 {
			text += " " + string(value)
		}
		s.r.Carrier(s.dir, s.exchange, KindSSE, text)
	default:
		s.r.Note(s.exchange, KindNote, "a field that event streams do not have: "+string(l))
	}
	s.line.buf, s.line.length = s.line.buf[:0], 0
	if cap(s.line.buf) > reuse {
		s.line.buf = nil
	}
}

func (s *sseTap) message(partial bool) {
	s.data.flush(partial)
	s.filled = false
}

func (s *sseTap) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.line.length > 0 {
		s.field()
	}
	if s.filled {
		s.message(true)
	}
	return nil
}
