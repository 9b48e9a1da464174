package transcript

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
)

// RecorderOptions of a Recorder; the zero value works.
type RecorderOptions struct {
	Fields    []Field // head of the recording
	MaxLine   int     // a longer line is kept as its start and its length; 0 = 64 MiB
	KeepStart int     // bytes kept of a line that is too long; 0 = 4 KiB
	MaxBytes  int     // bound of what is kept in all: over it the middle is left out and noted; 0 = 256 MiB
	MaxEvents int     // the same for the number of events; 0 = 1,000,000
	Untimed   bool    // leave times out

	// Discard keeps nothing: the recording is what Watch makes of it. The
	// bounds of all that is kept do not hold, and the Data of an event is
	// good during the call of Watch only.
	Discard bool

	// Watch, when set, sees each event as it is recorded, in order. It is
	// called under the recorder's lock, so it must be quick and must not call
	// the recorder. The event's Data must not be changed.
	Watch func(Event)
}

// Recorder taps raw bytes and keeps them as a recording, in the order in
// which they went by. All methods may be called concurrently.
//
// A recording that outgrows its bounds keeps its first and its last half: the
// handshake and the failure are what a reader needs, and a note says what is
// missing between them.
type Recorder struct {
	o     RecorderOptions
	began time.Time

	mu           sync.Mutex
	head, tail   []Event
	headBytes    int
	tailBytes    int
	full         bool // head takes no more
	droppedCount int64
	droppedBytes int64
	total        int
	exchange     int
}

// overhead is what one event counts besides its data.
const overhead = 128

// NewRecorder starts a recording: times count from now.
func NewRecorder(o RecorderOptions) *Recorder {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&o.MaxLine, 64<<20)
	def(&o.KeepStart, 4<<10)
	def(&o.MaxBytes, 256<<20)
	def(&o.MaxEvents, 1_000_000)
	o.KeepStart = min(o.KeepStart, o.MaxLine)
	o.Fields = slices.Clone(o.Fields)
	return &Recorder{o: o, began: time.Now()}
}

// Set replaces or appends a field of the head, such as the revision once it
// has been agreed on.
func (r *Recorder) Set(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := Recording{Fields: r.o.Fields}
	rec.Set(name, value)
	r.o.Fields = rec.Fields
}

// Exchange returns the next free exchange number, from 1.
func (r *Recorder) Exchange() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchange++
	return r.exchange
}

// Message records one whole message or body; data is copied.
func (r *Recorder) Message(d Dir, exchange int, data []byte) {
	if !r.o.Discard {
		data = bytes.Clone(data)
	}
	r.Add(Event{Dir: d, Exchange: exchange, Data: data})
}

// Carrier records what the carrier said: k is KindRequest, KindStatus,
// KindHeader, KindSSE or KindEnd, and text what stands behind the mark. Text
// that no such line can hold is recorded as a note instead.
func (r *Recorder) Carrier(d Dir, exchange int, k Kind, text string) {
	e := Event{Dir: d, Carrier: true, Exchange: exchange, Kind: k}
	if k != KindEnd {
		e.Data = []byte(text)
	}
	if err := e.check(); err != nil {
		e = Event{Dir: Note, Exchange: max(exchange, 0), Kind: KindNote, Data: []byte(d.String() + d.String() + " " + text)}
	}
	r.Add(e)
}

// Note records a note; exchange may be 0. Text that the kind does not allow
// makes it a plain note.
func (r *Recorder) Note(exchange int, k Kind, text string) {
	e := Event{Dir: Note, Exchange: exchange, Kind: k, Data: []byte(text)}
	if err := e.check(); err != nil {
		e = Event{Dir: Note, Exchange: max(exchange, 0), Kind: KindNote, Data: []byte(text)}
	}
	r.Add(e)
}

// Start notes the start of a process: its program and arguments, never its
// environment, which is where credentials live.
func (r *Recorder) Start(command []string) { r.Note(0, KindStart, CommandLine(command)) }

// CommandLine writes a program and its arguments in one line: separated by
// spaces, and in quotes where they hold some, or what no line can hold.
func CommandLine(command []string) string {
	b := []byte{}
	for i, a := range command {
		if i > 0 {
			b = append(b, ' ')
		}
		if a != "" && clean(a) && !bytes.ContainsAny([]byte(a), " \t\"\\") {
			b = append(b, a...)
		} else {
			b = appendQuoted(b, a)
		}
	}
	return string(b)
}

// Exit notes how a process ended. Both nil pointers and processes that were
// never waited for are noted as an error.
func (r *Recorder) Exit(p *os.ProcessState) {
	switch {
	case p == nil:
		r.Note(0, KindError, "the process was never waited for")
	case exitSignal(p) != "":
		r.Note(0, KindSignal, exitSignal(p))
	default:
		r.Note(0, KindExit, strconv.Itoa(p.ExitCode()))
	}
}

// Add records an event as it is; At is filled in unless Timed is set. The
// event's Data belongs to the recorder from now on.
//
// Every event passes through here, and nowhere else: a rule that replaces
// secrets is applied here, before anything is kept or watched, and marks the
// recording with FieldRedacted.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(e.Data) == 0 {
		e.Data = nil
	}
	if limit := r.o.MaxLine; len(e.Data) > limit && !e.Carrier {
		if e.Length == 0 {
			e.Length = int64(len(e.Data))
		}
		e.Data = bytes.Clone(e.Data[:r.o.KeepStart])
	}
	if !e.Timed && !r.o.Untimed {
		e.Timed, e.At = true, max(time.Since(r.began), 0)
	}
	r.total++
	r.exchange = max(r.exchange, e.Exchange)
	if r.o.Discard {
		if r.o.Watch != nil {
			r.o.Watch(e)
		}
		return
	}
	size := len(e.Data) + overhead
	if !r.full && (r.headBytes+size > r.o.MaxBytes/2 || len(r.head) >= (r.o.MaxEvents+1)/2) {
		r.full = true
	}
	if !r.full {
		r.head, r.headBytes = append(r.head, e), r.headBytes+size
	} else {
		r.tail, r.tailBytes = append(r.tail, e), r.tailBytes+size
		// The newest event stays, however large.
		for len(r.tail) > 1 && (r.tailBytes > r.o.MaxBytes/2 || len(r.tail) > r.o.MaxEvents/2) {
			old := &r.tail[0]
			r.tailBytes -= len(old.Data) + overhead
			r.droppedCount++
			r.droppedBytes += max(old.Length, int64(len(old.Data)))
			*old = Event{}
			r.tail = r.tail[1:]
		}
	}
	if r.o.Watch != nil {
		r.o.Watch(e)
	}
}

// Len is the number of events so far, those left out included.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// Elapsed is the time since the recording began.
func (r *Recorder) Elapsed() time.Duration { return time.Since(r.began) }

// Recording returns a copy of what was recorded so far; the bytes of the
// events are shared and must not be changed.
func (r *Recorder) Recording() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := &Recording{Fields: slices.Clone(r.o.Fields)}
	rec.Events = make([]Event, 0, len(r.head)+len(r.tail)+1)
	rec.Events = append(rec.Events, r.head...)
	if r.droppedCount > 0 {
		e := Event{Dir: Note, Kind: KindDropped}
		e.Data = strconv.AppendInt(e.Data, r.droppedCount, 10)
		e.Data = append(e.Data, ' ')
		e.Data = strconv.AppendInt(e.Data, r.droppedBytes, 10)
		rec.Events = append(rec.Events, e)
	}
	rec.Events = append(rec.Events, r.tail...)
	return rec
}

// Tap returns a writer for the raw bytes of one direction of a stream of
// lines, however they are chunked: each completed line becomes one event at
// the time of its newline. Close keeps a partial last line, marked, and notes
// the end of the stream. Writes fail only after Close.
func (r *Recorder) Tap(d Dir) io.WriteCloser { return &tap{r: r, dir: d} }

// Stderr is like Tap for the standard error output of the process; its end
// is not noted.
func (r *Recorder) Stderr() io.WriteCloser { return &tap{r: r, dir: Note, kind: KindStderr} }

// Writer records what is written and passes it on. The bytes are recorded
// first, so that an answer never stands before its request; a write that
// fails is noted. Close notes the end and closes w when it is an io.Closer.
func (r *Recorder) Writer(d Dir, w io.Writer) io.WriteCloser {
	return &teeWriter{tap: &tap{r: r, dir: d}, w: w}
}

// Reader records what is read from rd, and the end of the stream.
func (r *Recorder) Reader(d Dir, rd io.Reader) io.Reader {
	return &teeReader{tap: &tap{r: r, dir: d}, rd: rd}
}

// tap splits one direction into lines.
type tap struct {
	r        *Recorder
	dir      Dir
	kind     Kind
	exchange int

	mu     sync.Mutex
	buf    []byte
	length int64 // of the line so far, more than len(buf) once it is too long
	closed bool
}

func (t *tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, io.ErrClosedPipe
	}
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			t.grow(p)
			break
		}
		if t.length == 0 && t.r.o.Discard && i <= t.r.o.MaxLine {
			t.r.Add(Event{Dir: t.dir, Kind: t.kind, Data: p[:i:i]})
		} else {
			t.grow(p[:i])
			t.flush(false)
		}
		p = p[i+1:]
	}
	return n, nil
}

// grow adds bytes to the current line; of a line that became too long only
// the start stays.
func (t *tap) grow(p []byte) {
	t.length += int64(len(p))
	switch {
	case t.length <= int64(t.r.o.MaxLine):
		t.buf = append(t.buf, p...)
	case len(t.buf) > t.r.o.KeepStart:
		t.buf = bytes.Clone(t.buf[:t.r.o.KeepStart])
	case len(t.buf) < t.r.o.KeepStart:
		t.buf = append(t.buf, p[:min(len(p), t.r.o.KeepStart-len(t.buf))]...)
	}
}

func (t *tap) flush(partial bool) {
	e := Event{Dir: t.dir, Kind: t.kind, Exchange: t.exchange, Partial: partial, Data: t.buf}
	if t.length > int64(len(t.buf)) {
		e.Length = t.length
	}
	buf := t.buf
	t.buf, t.length = nil, 0
	t.r.Add(e)
	if t.r.o.Discard && cap(buf) <= reuse {
		t.buf = buf[:0]
	}
}

// reuse is the largest buffer of a line that is kept for the next one.
const reuse = 64 << 10

// Close ends the stream; closing again does nothing.
func (t *tap) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	if t.length > 0 {
		t.flush(true)
	}
	if t.dir != Note {
		t.r.Note(0, KindEOF, t.dir.String())
	}
	return nil
}

type teeWriter struct {
	tap *tap
	w   io.Writer
}

func (t *teeWriter) Write(p []byte) (int, error) {
	if _, err := t.tap.Write(p); err != nil {
		return 0, err
	}
	n, err := t.w.Write(p)
	if err != nil {
		t.tap.r.Note(0, KindError, t.tap.dir.String()+" "+err.Error())
	}
	return n, err
}

// Close ends the recording of the stream and closes what it writes to, if
// that can be closed.
func (t *teeWriter) Close() error {
	_ = t.tap.Close()
	if c, ok := t.w.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type teeReader struct {
	tap *tap
	rd  io.Reader
}

func (t *teeReader) Read(p []byte) (int, error) {
	n, err := t.rd.Read(p)
	if n > 0 {
		_, _ = t.tap.Write(p[:n])
	}
	if err != nil {
		if err != io.EOF {
			t.tap.r.Note(0, KindError, t.tap.dir.String()+" "+err.Error())
		}
		_ = t.tap.Close()
	}
	return n, err
}
