package sse

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"time"
)

// Append appends an event, its blank line included, to b. A field that cannot
// be written is a *FieldError, and b comes back unchanged.
func Append(b []byte, e Event) ([]byte, error) {
	b, err := appendHead(b, &e)
	if err != nil {
		return b, err
	}
	data := e.Data
	for {
		b = append(b, "data: "...)
		end := lineEnd(data)
		if end < 0 {
			return append(append(b, data...), "\n\n"...), nil
		}
		b = append(append(b, data[:end]...), '\n')
		if data[end] == '\r' && end+1 < len(data) && data[end+1] == '\n' {
			end++
		}
		data = data[end+1:]
	}
}

// appendHead appends what stands before an event's data. The id comes first,
// so that whoever reads only the start of a stream has it.
func appendHead(b []byte, e *Event) ([]byte, error) {
	if e.HasID && bytes.ContainsAny(e.ID, "\r\n\x00") {
		return b, fieldError("id", string(e.ID))
	}
	if strings.ContainsAny(e.Type, "\r\n") {
		return b, fieldError("event", e.Type)
	}
	if e.HasID {
		b = append(append(append(b, "id: "...), e.ID...), '\n')
	}
	if e.Type != "" {
		b = append(append(append(b, "event: "...), e.Type...), '\n')
	}
	if e.Retry > 0 {
		b = strconv.AppendInt(append(b, "retry: "...), int64(max(e.Retry/time.Millisecond, 1)), 10)
		b = append(b, '\n')
	}
	return b, nil
}

func fieldError(field, value string) error {
	return &FieldError{Field: field, Value: value[:min(len(value), 64)]}
}

// AppendComment appends a comment, which readers ignore: a sign of life. Line
// ends in the text begin new comment lines. No blank line follows, since none
// is needed.
func AppendComment(b []byte, text string) []byte {
	for line := range strings.SplitSeq(text, "\n") {
		for line := range strings.SplitSeq(strings.TrimSuffix(line, "\r"), "\r") {
			b = append(append(append(b, ": "...), line...), '\n')
		}
	}
	return b
}

// writeApart is the size from which data is written as it is, without a copy.
const writeApart = 32 << 10

// Writer writes events to a stream, each in one Write, or in three when its
// data is large. It is used by one goroutine at a time and never flushes.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Event writes an event. A *FieldError leaves the stream as it was.
func (w *Writer) Event(e Event) error {
	if len(e.Data) < writeApart || lineEnd(e.Data) >= 0 {
		b, err := Append(w.buf[:0], e)
		if err != nil {
			return err
		}
		return w.write(b)
	}
	b, err := appendHead(w.buf[:0], &e)
	if err != nil {
		return err
	}
	if err := w.write(append(b, "data: "...)); err != nil {
		return err
	}
	if _, err := w.w.Write(e.Data); err != nil {
		return err
	}
	_, err = io.WriteString(w.w, "\n\n")
	return err
}

// Comment writes a comment.
func (w *Writer) Comment(text string) error { return w.write(AppendComment(w.buf[:0], text)) }

// write writes b and keeps it for the next event, unless it is large.
func (w *Writer) write(b []byte) error {
	if cap(b) <= 2*writeApart {
		w.buf = b
	}
	_, err := w.w.Write(b)
	return err
}
