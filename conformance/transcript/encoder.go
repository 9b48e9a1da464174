package transcript

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Sizes and times of an Encoder.
const (
	encoderBuffer = 64 << 10               // written out when it is full
	encoderKeep   = 1 << 20                // a buffer that a long line made larger is not kept
	encoderDelay  = 100 * time.Millisecond // how long a line waits to be written out
)

// Encoder writes a recording line by line, as it happens, in constant memory.
// What it was given is handed to the writer within 100 ms, so that a recorder
// that is killed loses little, and a reader may follow. All methods may be
// called concurrently.
type Encoder struct {
	mu     sync.Mutex
	w      io.Writer
	buf    []byte
	err    error // of the writer; nothing is written after it
	timer  *time.Timer
	armed  bool
	closed bool
}

// NewEncoder writes the head of a recording at once. The error says which
// field cannot be written, or comes from the writer.
func NewEncoder(w io.Writer, fields []Field) (*Encoder, error) {
	head, err := (&Recording{Fields: fields}).AppendText(nil)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(head); err != nil {
		return nil, err
	}
	return &Encoder{w: w}, nil
}

// Encode writes one event, comments before it left out. An event that no line
// can hold is an error and leaves no trace; an error of the writer is given
// again for each further event.
func (x *Encoder) Encode(e *Event) error {
	if err := e.check(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.closed:
		return errors.New("the recording is closed")
	case x.err != nil:
		return x.err
	}
	x.buf = append(e.appendLine(x.buf), '\n')
	if len(x.buf) >= encoderBuffer {
		return x.flush()
	}
	if !x.armed {
		x.armed = true
		if x.timer == nil {
			x.timer = time.AfterFunc(encoderDelay, func() {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.armed = false
				_ = x.flush()
			})
		} else {
			x.timer.Reset(encoderDelay)
		}
	}
	return nil
}

func (x *Encoder) flush() error {
	if x.err == nil && len(x.buf) > 0 {
		_, x.err = x.w.Write(x.buf)
	}
	if x.buf = x.buf[:0]; cap(x.buf) > encoderKeep {
		x.buf = nil
	}
	return x.err
}

// Flush hands all to the writer.
func (x *Encoder) Flush() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.flush()
}

// Close flushes; it does not close the writer. Nothing is taken after it.
func (x *Encoder) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer != nil {
		x.timer.Stop()
	}
	x.closed = true
	return x.flush()
}
