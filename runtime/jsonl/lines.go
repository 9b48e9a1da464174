package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

const (
	windowSize = 64 << 10
	headSize   = 4 << 10 // what is kept of a line that is too long
	maxSkipped = 1 << 30 // how far beyond the bound a line is waited for the end of
)

// TooLongError is a line above the bound. The rest of it was skipped as it
// came in; one that has no end 1 GiB beyond the bound ends the link with this
// error. errors.Is(err, jsonrpc.ErrTooLong).
type TooLongError struct {
	Limit int   // the bound in bytes
	Size  int64 // bytes of the line, as far as it was read
}

// Error says how long it was and how long it may be.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("message too long: %d bytes, the bound is %d", e.Size, e.Limit)
}

// Is reports whether target is jsonrpc.ErrTooLong.
func (e *TooLongError) Is(target error) bool { return target == jsonrpc.ErrTooLong }

// lines cuts a stream into frames. It is used by one goroutine at a time.
type lines struct {
	r   io.Reader
	buf []byte
	i   int // the unread bytes are buf[i:j]
	j   int
	nl  int // where the next line ends, -1 if that is not read yet
	max int
	err error // of the stream, once it ended

	// A line that does not fit into the window, as far as it is read.
	parts    []*[partSize]byte
	size     int64
	skipping bool // it is too long: only its start is kept
}

// partSize is how much of a long line is kept in one piece until all of it is
// there. It is a multiple of the window.
const partSize = 4 * windowSize

var parts = sync.Pool{New: func() any { return new([partSize]byte) }}

var windows = sync.Pool{New: func() any { return new([windowSize]byte) }}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: r, buf: windows.Get().(*[windowSize]byte)[:], nl: -1, max: limit}
}

// release gives the window back when another reader has the stream, and all
// frames handed out are done with.
func (l *lines) release() {
	windows.Put((*[windowSize]byte)(l.buf))
	l.buf = nil
}

// fork gives the stream to another reader. What the frames handed out alias
// stays untouched.
func (l *lines) fork() *lines {
	n := newLines(l.r, l.max)
	n.err = l.err
	n.j = copy(n.buf, l.buf[l.i:l.j])
	if l.nl >= 0 {
		n.nl = l.nl - l.i
	}
	return n
}

// more reports whether the next frame can be had without reading.
func (l *lines) more() bool { return l.nl >= 0 }

// look finds the end of the next line that is not blank, among the bytes from
// the given one on.
func (l *lines) look(from int) {
	for {
		k := bytes.IndexByte(l.buf[from:l.j], '\n')
		if k < 0 {
			l.nl = -1
			return
		}
		l.nl = from + k
		if !blank(l.buf[l.i:l.nl]) {
			return
		}
		l.i = l.nl + 1
		from = l.i
	}
}

func blank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func trim(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\r' {
		return b[:n-1]
	}
	return b
}

// next reads the next frame. Blank lines are none. An error is the stream's
// end; a deadline that passed is reported once and may be followed by more.
func (l *lines) next() (jsonrpc.Frame, error) {
	if l.parts != nil {
		return l.long()
	}
	for {
		if l.nl >= 0 {
			line := trim(l.buf[l.i:l.nl:l.nl])
			l.i = l.nl + 1
			l.look(l.i)
			if len(line) > l.max {
				return jsonrpc.Frame{Data: line[:min(len(line), headSize)], Err: &TooLongError{Limit: l.max, Size: int64(len(line))}}, nil
			}
			return jsonrpc.Frame{Data: line}, nil
		}
		if l.err != nil {
			if rest := l.buf[l.i:l.j]; !blank(rest) {
				l.i = l.j
				if len(rest) > l.max {
					return jsonrpc.Frame{Data: rest[:min(len(rest), headSize)], Err: &TooLongError{Limit: l.max, Size: int64(len(rest))}}, nil
				}
				return jsonrpc.Frame{Data: trim(rest), Err: jsonrpc.ErrTruncated}, nil
			}
			return jsonrpc.Frame{}, l.err
		}
		switch {
		case l.i == l.j:
			l.i, l.j = 0, 0
		case l.j == len(l.buf) && l.i > 0:
			l.j = copy(l.buf, l.buf[l.i:l.j])
			l.i = 0
		}
		if l.j == len(l.buf) {
			return l.long()
		}
		n, err := l.r.Read(l.buf[l.j:])
		from := l.j
		l.j += n
		if n > 0 {
			l.look(from)
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return jsonrpc.Frame{}, err
			}
			l.err = err
		}
	}
}

// long reads a line that does not fit into the window: into pieces, which are
// put together when its length is known. The frame owns its bytes. Reading can
// be interrupted by a deadline, and goes on with the next call.
func (l *lines) long() (jsonrpc.Frame, error) {
	if l.parts == nil {
		l.parts = append(l.parts, parts.Get().(*[partSize]byte))
		l.size, l.skipping = int64(copy(l.parts[0][:], l.buf[l.i:l.j])), false
		l.i, l.j = 0, 0
	}
	for {
		if !l.skipping && l.size > int64(l.max) {
			l.skipping = true
			l.drop(1)
		}
		// What is read at once is at most a window, so that what follows the
		// line fits into it.
		chunk := l.buf
		if !l.skipping {
			at := int(l.size % partSize)
			if at == 0 {
				l.parts = append(l.parts, parts.Get().(*[partSize]byte))
			}
			chunk = l.parts[len(l.parts)-1][at:min(at+windowSize, partSize)]
		}
		n, err := l.r.Read(chunk)
		line := n
		k := bytes.IndexByte(chunk[:n], '\n')
		if k >= 0 {
			line = k
			if l.skipping {
				l.i, l.j = k+1, n
			} else {
				l.i, l.j = 0, copy(l.buf, chunk[k+1:n])
			}
			l.look(l.i)
		}
		l.size += int64(line)
		switch {
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded):
			l.err = err
		case k < 0 && l.size-maxSkipped > int64(l.max): // what waits is not to wait for ever
			l.err = &TooLongError{Limit: l.max, Size: l.size}
		}
		switch {
		case k >= 0, l.err != nil:
			return l.whole(k >= 0), nil
		case err != nil:
			if line == 0 && !l.skipping && l.size%partSize == 0 {
				l.drop(len(l.parts) - 1) // the piece that nothing came for
			}
			return jsonrpc.Frame{}, err
		}
	}
}

// drop gives back the pieces from the given one on.
func (l *lines) drop(from int) {
	for i, p := range l.parts[from:] {
		parts.Put(p)
		l.parts[from+i] = nil
	}
	l.parts = l.parts[:from]
}

// whole makes the frame of a long line that has ended.
func (l *lines) whole(ended bool) jsonrpc.Frame {
	f := jsonrpc.Frame{Owned: true}
	if l.size > int64(l.max) {
		f.Data = bytes.Clone(l.parts[0][:min(l.size, headSize)])
		f.Err = &TooLongError{Limit: l.max, Size: l.size}
	} else {
		f.Data = make([]byte, 0, l.size)
		for left := l.size; left > 0; left -= partSize {
			f.Data = append(f.Data, l.parts[len(f.Data)/partSize][:min(left, partSize)]...)
		}
		if !ended {
			f.Err = jsonrpc.ErrTruncated
		}
	}
	f.Data = trim(f.Data)
	l.drop(0)
	l.parts = nil
	return f
}
