package sse

import (
	"bytes"
	"io"
	"math"
	"sync"
	"time"
)

const (
	windowSize = 64 << 10
	pieceSize  = 4 * windowSize // of a line that does not fit into the window
	headSize   = 4 << 10        // what is kept of what is too long
)

var (
	windows = sync.Pool{New: func() any { return new([windowSize]byte) }}
	pieces  = sync.Pool{New: func() any { return new([pieceSize]byte) }}
)

// Reader cuts a stream into events (HTML standard, 9.2.5 and 9.2.6). It is
// used by one goroutine at a time.
type Reader struct {
	r     io.Reader
	limit int

	// Comment, if set, is called with the text of each comment line (what
	// follows the colon). The bytes are valid during the call; a comment
	// that is long may come cut.
	Comment func(text []byte)

	win    []byte // the window; unread is win[i:j]
	i, j   int
	lf, cr int  // next LF and CR at or behind i, -1: none up to j
	afterC bool // a CR was the last byte consumed: an LF that follows belongs to it
	begun  bool // the first line is past: no BOM any more
	err    error

	// The event being read. Its data is win[ds:de], or own when it did not
	// fit there.
	has      bool // it has data
	ds, de   int
	own      []byte
	dirty    bool // a line other than a comment came since the last blank one
	skipping bool // it was too long: the rest of it is passed over
	midLine  bool // a line is being passed over and has not ended yet
	passed   int  // bytes of it
	typ      []byte
	idSet    bool
	retrySet time.Duration

	lastType string // the last type handed out, to spare its allocation
	id       []byte // last event id buffer
	lastID   []byte // last event id, in force since the last blank line
	retry    time.Duration
	hasRetry bool
}

// NewReader returns a reader of r. limit bounds the data of an event, and each
// line, in bytes; 0 means DefaultLimit. Types and ids are bounded at 16 KiB.
func NewReader(r io.Reader, limit int) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{r: r, limit: limit, lf: -1, cr: -1}
}

// Reset makes the reader read a new stream from its start. The last event id
// and the reconnection time are kept, as they are for a stream that is taken
// up again; the rest of what was buffered is dropped.
func (r *Reader) Reset(src io.Reader) {
	r.r = src
	r.i, r.j, r.lf, r.cr = 0, 0, -1, -1
	r.afterC, r.begun, r.err, r.midLine = false, false, nil, false
	r.id = append(r.id[:0], r.lastID...)
	r.clear()
}

// Release gives the reader's buffer back for use by others. What an event that
// is not Owned aliases is void then. The reader may go on; it takes a new
// buffer and has lost what was not read.
func (r *Reader) Release() {
	if r.win != nil {
		windows.Put((*[windowSize]byte)(r.win))
		r.win = nil
	}
	r.i, r.j, r.lf, r.cr = 0, 0, -1, -1
	r.clear()
}

// LastEventID is the last event id in force: what a GET that takes the stream
// up again names. It is empty if there is none, and valid until the next call
// of Next.
func (r *Reader) LastEventID() []byte { return r.lastID }

// Retry is the reconnection time that the stream last asked for, and whether
// it did.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// Ended reports whether the stream is known to have ended, so that Next returns
// without waiting.
func (r *Reader) Ended() bool { return r.err != nil }

// clear forgets the event being read.
func (r *Reader) clear() {
	r.has, r.own, r.dirty, r.skipping = false, nil, false, false
	r.typ, r.idSet, r.retrySet = r.typ[:0], false, 0
}

// Next reads the next event that has data; it may be empty. Lines that are no
// field are ignored.
//
// At the end of the stream the error is io.EOF, or io.ErrUnexpectedEOF when
// it came within an event, which is dropped as the standard says. A
// *TooLongError may be followed by more events. Other errors are the
// stream's, and stay.
func (r *Reader) Next() (Event, error) {
	if r.win == nil {
		r.win = windows.Get().(*[windowSize]byte)[:]
	}
	for {
		if r.midLine {
			if done, err := r.passLine(); err != nil {
				return Event{}, err
			} else if !done {
				continue
			}
		}
		line, ok := r.line()
		if !ok {
			if r.err != nil {
				return Event{}, r.ended()
			}
			if !r.room() {
				if err := r.longLine(); err != nil {
					return Event{}, err
				}
				continue
			}
			r.fill()
			continue
		}
		if len(line) == 0 {
			if ev, ok := r.dispatch(); ok {
				return ev, nil
			}
			continue
		}
		if err := r.field(line); err != nil {
			r.skip()
			return Event{}, err
		}
	}
}

func (r *Reader) ended() error {
	if r.err == io.EOF && (r.dirty || r.i < r.j && r.win[r.i] != ':') {
		return io.ErrUnexpectedEOF
	}
	return r.err
}

// line takes the next whole line out of the window, without its end.
func (r *Reader) line() ([]byte, bool) {
	if r.afterC && r.i < r.j {
		r.afterC = false
		if r.win[r.i] == '\n' {
			r.advance(r.i + 1)
		}
	}
	end := r.lf
	if r.cr >= 0 && (end < 0 || r.cr < end) {
		end = r.cr
		r.afterC = true
	}
	if end < 0 {
		return nil, false
	}
	line := r.win[r.i:end:end]
	r.advance(end + 1)
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, bom)
	}
	return line, true
}

var bom = []byte("\xef\xbb\xbf")

// advance moves to a place behind a line end.
func (r *Reader) advance(to int) {
	r.i = to
	if r.lf >= 0 && r.lf < to {
		r.lf = index(r.win[to:r.j], '\n', to)
	}
	if r.cr >= 0 && r.cr < to {
		r.cr = index(r.win[to:r.j], '\r', to)
	}
}

func index(b []byte, c byte, base int) int {
	if k := bytes.IndexByte(b, c); k >= 0 {
		return base + k
	}
	return -1
}

// room makes room in the window for more. It is false when the window is full
// of one line.
func (r *Reader) room() bool {
	inWindow := r.has && r.own == nil
	if r.j < len(r.win) {
		if r.i == r.j && !inWindow {
			r.i, r.j = 0, 0
		}
		return true
	}
	keep := 0 // bytes of data that stay in the window
	if inWindow {
		if len(r.win)-(r.de-r.ds)-(r.j-r.i) >= windowSize/4 {
			keep = copy(r.win, r.win[r.ds:r.de])
			r.ds, r.de = 0, keep
		} else { // little would be won by moving
			r.own = append(make([]byte, 0, 2*windowSize), r.win[r.ds:r.de]...)
		}
	}
	by := r.i - keep
	r.j = keep + copy(r.win[keep:], r.win[r.i:r.j])
	r.i = keep
	if r.lf >= 0 {
		r.lf -= by
	}
	if r.cr >= 0 {
		r.cr -= by
	}
	return r.j < len(r.win)
}

// fill reads into the window.
func (r *Reader) fill() {
	n := r.read(r.win[r.j:])
	from := r.j
	r.j += n
	if r.lf < 0 {
		r.lf = index(r.win[from:r.j], '\n', from)
	}
	if r.cr < 0 {
		r.cr = index(r.win[from:r.j], '\r', from)
	}
}

// read reads at least one byte, or sets err.
func (r *Reader) read(b []byte) int {
	for range 100 {
		n, err := r.r.Read(b)
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return n
		}
	}
	r.err = io.ErrNoProgress
	return 0
}

// skip drops the event being read: the rest of it is passed over.
func (r *Reader) skip() {
	r.has, r.own = false, nil
	r.skipping, r.dirty = true, true
}

// dispatch ends an event.
func (r *Reader) dispatch() (Event, bool) {
	r.lastID = append(r.lastID[:0], r.id...)
	if !r.has || r.skipping {
		r.clear()
		return Event{}, false
	}
	ev := Event{Type: TypeMessage, ID: r.lastID, HasID: r.idSet, Retry: r.retrySet}
	if len(r.typ) > 0 {
		if string(r.typ) != r.lastType {
			r.lastType = string(r.typ)
		}
		ev.Type = r.lastType
	}
	if r.own != nil {
		ev.Data, ev.Owned = r.own, true
	} else {
		ev.Data = r.win[r.ds:r.de:r.de]
	}
	r.clear()
	return ev, true
}

// field takes one line that is not blank.
func (r *Reader) field(line []byte) error {
	if line[0] == ':' {
		if r.Comment != nil {
			r.Comment(line[1:])
		}
		return nil
	}
	r.dirty = true
	name, value := cut(line)
	switch string(name) {
	case "data":
		return r.data(value)
	case "event":
		if len(value) > maxField {
			return tooLong("type", maxField, value)
		}
		r.typ = append(r.typ[:0], value...)
	case "id":
		if len(value) > maxField {
			return tooLong("id", maxField, value)
		}
		if bytes.IndexByte(value, 0) < 0 {
			r.id = append(r.id[:0], value...)
			r.idSet = true
		}
	case "retry":
		if d, ok := millis(value); ok {
			r.retry, r.hasRetry = d, true
			r.retrySet = d
		}
	}
	return nil
}

// cut splits a line into its field's name and value.
func cut(line []byte) (name, value []byte) {
	k := bytes.IndexByte(line, ':')
	if k < 0 {
		return line, nil
	}
	value = line[k+1:]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return line[:k], value
}

// millis reads a time of digits only. What no Duration can hold is the longest
// that one can.
func millis(b []byte) (time.Duration, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var ms int64
	const most = math.MaxInt64 / int64(time.Millisecond)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if ms = ms*10 + int64(c-'0'); ms > most {
			ms = most
		}
	}
	return time.Duration(ms) * time.Millisecond, true
}

// data adds a data line that lies in the window. The lines of one event are
// joined where they are: each value lies at least four bytes, its field's
// name, behind what came before it.
func (r *Reader) data(value []byte) error {
	if r.skipping {
		return nil
	}
	switch {
	case !r.has:
		if len(value) > r.limit {
			return tooLong("event", r.limit, value)
		}
		r.has = true
		end := r.i - 1 // of the line; value ends there
		r.ds, r.de = end-len(value), end
		r.own = nil
	case r.own != nil:
		if len(r.own)+1+len(value) > r.limit {
			return tooLong("event", r.limit, r.own)
		}
		r.own = append(append(r.own, '\n'), value...)
	default:
		if r.de-r.ds+1+len(value) > r.limit {
			return tooLong("event", r.limit, r.win[r.ds:r.de])
		}
		r.win[r.de] = '\n'
		r.de += 1 + copy(r.win[r.de+1:], value)
	}
	return nil
}

func tooLong(what string, limit int, start []byte) error {
	return &TooLongError{What: what, Limit: limit, Head: bytes.Clone(start[:min(len(start), headSize)])}
}

// longLine takes a line that fills the window and has not ended.
func (r *Reader) longLine() error {
	start := r.win[r.i:r.j]
	if !r.begun {
		r.begun = true
		start = bytes.TrimPrefix(start, bom)
	}
	comment := start[0] == ':'
	r.dirty = r.dirty || !comment
	name, value := cut(start)
	if string(name) == "data" && !r.skipping {
		return r.longData(value)
	}
	r.i, r.j = 0, 0
	r.midLine, r.passed = true, len(start)
	if comment {
		if r.Comment != nil {
			r.Comment(start[1:])
		}
		return nil
	}
	var err error
	switch string(name) {
	case "id":
		err = tooLong("id", maxField, value)
	case "event":
		err = tooLong("type", maxField, value)
	}
	if err == nil || r.skipping {
		return nil
	}
	r.skip()
	return err
}

// passLine passes over what is left of a line. It is true when that has ended.
func (r *Reader) passLine() (bool, error) {
	if r.i == r.j {
		if r.err != nil {
			return false, r.ended()
		}
		r.i, r.j = 0, 0
		r.fill()
	}
	end := r.lf
	if r.cr >= 0 && (end < 0 || r.cr < end) {
		end = r.cr
		r.afterC = true
	}
	if end >= 0 {
		r.midLine = false
		r.advance(end + 1)
		return true, nil
	}
	r.passed += r.j - r.i
	r.i = r.j
	if r.passed > r.limit && !r.skipping {
		r.skip()
		return false, tooLong("line", r.limit, nil)
	}
	return false, nil
}

// longData reads the rest of a data line: into pieces, which are put together
// when its length is known. What is read at once is at most a window, so that
// what follows the line fits into it.
func (r *Reader) longData(value []byte) error {
	before := 0
	if r.has {
		before = len(r.own) + 1
	}
	first := pieces.Get().(*[pieceSize]byte)
	parts := []*[pieceSize]byte{first}
	defer func() {
		for _, p := range parts {
			pieces.Put(p)
		}
	}()
	size := copy(first[:], value)
	r.i, r.j = 0, 0
	for ended := false; !ended; {
		if before+size > r.limit {
			r.skip()
			r.midLine, r.passed = true, size
			return tooLong("event", r.limit, first[:min(size, pieceSize)])
		}
		if r.err != nil {
			return nil // Next says so
		}
		at := size % pieceSize
		if at == 0 {
			parts = append(parts, pieces.Get().(*[pieceSize]byte))
		}
		chunk := parts[len(parts)-1][at:min(at+windowSize, pieceSize)]
		n := r.read(chunk)
		if end := lineEnd(chunk[:n]); end >= 0 {
			ended = true
			r.afterC = chunk[end] == '\r'
			r.j = copy(r.win, chunk[end+1:n])
			r.lf, r.cr = index(r.win[:r.j], '\n', 0), index(r.win[:r.j], '\r', 0)
			n = end
		}
		size += n
	}
	if before+size > r.limit {
		r.skip()
		return tooLong("event", r.limit, first[:min(size, pieceSize)])
	}
	data := make([]byte, 0, before+size)
	if r.has {
		data = append(append(data, r.own...), '\n')
	}
	for i := 0; i < size; i += pieceSize {
		data = append(data, parts[i/pieceSize][:min(size-i, pieceSize)]...)
	}
	r.has, r.own = true, data
	return nil
}

// lineEnd is the place of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	end := bytes.IndexByte(b, '\n')
	if end >= 0 {
		b = b[:end]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return end
}
