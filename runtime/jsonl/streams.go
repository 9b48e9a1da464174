package jsonl

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// Streams is a pair of byte streams to one peer. It is a jsonrpc.Transport (for
// the side that serves) and a jsonrpc.Dialer (for the side that calls), and can
// be used once.
type Streams struct {
	// Options of the link. They are set before it is used.
	Options Options
	// Signals end the serving of the streams in good order: what runs may end,
	// bounded by jsonrpc.Options.DrainTimeout. They are set before the streams
	// are used. Stdio has SIGTERM, which hosts send before they kill
	// (basic/lifecycle, shutdown); nil is none.
	Signals []os.Signal

	mu   sync.Mutex
	used bool
	make func() (carrier, error)
}

// ErrUsed is a pair of streams that was used before.
var ErrUsed = errors.New("these streams are in use")

func (s *Streams) take() (carrier, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used {
		return carrier{}, true, nil
	}
	s.used = true
	c, err := s.make()
	return c, false, err
}

// Dial opens the client's link. A second call fails with ErrUsed.
func (s *Streams) Dial(context.Context) (jsonrpc.Link, error) {
	c, used, err := s.take()
	switch {
	case used:
		return nil, ErrUsed
	case err != nil:
		return nil, err
	}
	return newLink(c, s.Options, true), nil
}

// EndSignals is for jsonrpc.Serve.
func (s *Streams) EndSignals() []os.Signal { return s.Signals }

// Accept gives the server's link, and then io.EOF.
func (s *Streams) Accept(context.Context) (jsonrpc.Link, error) {
	c, used, err := s.take()
	switch {
	case used:
		return nil, io.EOF
	case err != nil:
		return nil, err
	}
	return newLink(c, s.Options, false), nil
}

// Stdio is this process's stdin and stdout. Nothing else may be written to
// stdout while it is in use; os.Stdout itself stays open when the link is
// closed. A stdout whose reader has gone ends the link, not the process. SIGTERM
// ends the serving in good order.
func Stdio() *Streams {
	return &Streams{Signals: []os.Signal{syscall.SIGTERM}, make: func() (carrier, error) {
		out, err := ownStdout()
		if err != nil {
			return carrier{}, err
		}
		c := carrier{r: os.Stdin, w: out, close: func(context.Context) {
			// This ends a read, if stdin is one that can be interrupted. In
			// any other the goroutine ends with the process, or its input.
			_ = os.Stdin.SetReadDeadline(time.Unix(1, 0))
			if out != os.Stdout {
				_ = out.Close()
			}
		}}
		return c, nil
	}}
}

// Pipe is any pair of streams: what the peer sends is read from r, and what
// goes to it is written to w. Closing the link closes those that can be
// closed, w first.
func Pipe(r io.Reader, w io.Writer) *Streams {
	return &Streams{make: func() (carrier, error) {
		c := carrier{r: r, w: w, close: func(context.Context) {
			if wc, ok := w.(io.Closer); ok {
				_ = wc.Close()
			}
			if rc, ok := r.(io.Closer); ok {
				_ = rc.Close()
			}
		}}
		c.deadline = deadlineOf(r)
		return c, nil
	}}
}

// deadlineOf returns the reader's deadline, if it has one that works.
func deadlineOf(r io.Reader) interface{ SetReadDeadline(time.Time) error } {
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Time{}) == nil {
		return d
	}
	return nil
}

// InMemory is two joined pairs of streams within this process, each way with
// a buffer of 64 KiB. They work in a testing/synctest bubble.
func InMemory() (client, server *Streams) {
	up, down := newMemory(), newMemory()
	return Pipe(down, up), Pipe(up, down)
}

const memorySize = 64 << 10

// memory is one direction of an in-memory connection.
type memory struct {
	mu      sync.Mutex
	cond    sync.Cond
	buf     []byte
	closed  bool
	expired bool // the read deadline has passed
}

func newMemory() *memory {
	m := &memory{}
	m.cond.L = &m.mu
	return m
}

func (m *memory) Read(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.buf) == 0 {
		switch {
		case m.closed:
			return 0, io.EOF
		case m.expired:
			return 0, os.ErrDeadlineExceeded
		}
		m.cond.Wait()
	}
	n := copy(b, m.buf)
	m.buf = append(m.buf[:0], m.buf[n:]...)
	m.cond.Broadcast()
	return n, nil
}

func (m *memory) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for n < len(b) {
		for len(m.buf) >= memorySize && !m.closed {
			m.cond.Wait()
		}
		if m.closed {
			return n, io.ErrClosedPipe
		}
		n += m.fill(b[n:])
	}
	return n, nil
}

func (m *memory) fill(b []byte) int {
	k := min(len(b), memorySize-len(m.buf))
	m.buf = append(m.buf, b[:k]...)
	m.cond.Broadcast()
	return k
}

func (m *memory) tryWrite(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, io.ErrClosedPipe
	}
	return m.fill(b), nil
}

// SetReadDeadline knows two times: none, and passed.
func (m *memory) SetReadDeadline(t time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expired = !t.IsZero()
	m.cond.Broadcast()
	return nil
}

// Close ends the direction: what was written can still be read.
func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.cond.Broadcast()
	return nil
}
