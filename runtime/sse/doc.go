// Package sse reads and writes text/event-stream, the server-sent events of
// the WHATWG HTML standard (section 9.2). It knows nothing of what the events
// carry.
//
// A Reader and a Writer allocate nothing an event in the steady state. Data is
// handed over as bytes: decoding it, and whether it is UTF-8, is the reader's
// business, so that a character cut by a chunk stays whole.
package sse

import (
	"errors"
	"fmt"
	"time"
)

// Event is one event of a stream.
type Event struct {
	// Type is the event's type. Read, it is "message" where the stream names
	// none. Written, "" leaves the field out.
	Type string
	// Data is what the data lines hold, joined by LF; it may be empty. Read,
	// it is valid until the next call of Next, or for good when Owned says
	// so. Written, each CR, LF and CRLF in it begins a new data line.
	Data []byte
	// Owned: Data is the caller's to keep.
	Owned bool
	// ID is, read, the last event id in force after this event; it is valid
	// until the next call of Next. Written, it is sent when HasID is set.
	ID []byte
	// HasID: the event itself carries an id, which may be empty: that
	// forgets the one before.
	HasID bool
	// Retry is, written, the reconnection time to send, in whole
	// milliseconds; 0 sends none. Read, it is what this event asked for, 0
	// for nothing; Reader.Retry tells more.
	Retry time.Duration
}

// TypeMessage is the type of an event that names none.
const TypeMessage = "message"

// DefaultLimit bounds the data of an event and the length of a line, in bytes,
// where no other bound is given.
const DefaultLimit = 64 << 20

// maxField bounds the value of an event's type and id, in bytes.
const maxField = 16 << 10

// ErrTooLong is what a TooLongError is, for errors.Is.
var ErrTooLong = errors.New("event too long")

// TooLongError is an event above a bound. It is reported as soon as the bound
// is passed; the next call of Next skips the rest of the event, with bounded
// memory, and goes on behind it.
type TooLongError struct {
	What  string // "event" (its data), "line", "type" or "id"
	Limit int    // the bound in bytes
	Head  []byte // the start of the data or line, at most 4 KiB; the caller's to keep
}

// Error says what was too long and how long it may be.
func (e *TooLongError) Error() string {
	return fmt.Sprintf("event too long: the bound of %d bytes for its %s is passed", e.Limit, e.whatInWords())
}

func (e *TooLongError) whatInWords() string {
	if e.What == "event" {
		return "data"
	}
	return e.What
}

// Is reports whether target is ErrTooLong.
func (e *TooLongError) Is(target error) bool { return target == ErrTooLong }

// FieldError is an event that cannot be written, since a field holds what
// would end its line or void it.
type FieldError struct {
	Field string // "event" or "id"
	Value string // at most 64 bytes of it
}

// Error names the field and its value.
func (e *FieldError) Error() string {
	return fmt.Sprintf("%s: %q holds a line end or NUL", e.Field, e.Value)
}
