package transcript

import (
	"io"
	"sync"
)

// RecorderOptions of a Recorder; the zero value works.
type RecorderOptions struct {
	Fields    []Field // head of the recording
	MaxLine   int     // a longer line is kept as its start and its length; 0 = 64 MiB
	KeepStart int     // bytes kept of a line that is too long; 0 = 4 KiB
	MaxBytes  int     // bound of what is kept in all; over it the middle is left out and noted. 0 = 256 MiB
	MaxEvents int     // the same for the number of events; 0 = 1,000,000
	Untimed   bool    // leave times out
}

// Recorder taps raw bytes and keeps them as a recording, in the order in
// which they went by. All methods may be called concurrently.
type Recorder struct {
	mu sync.Mutex
}

// NewRecorder starts a recording: times count from now.
func NewRecorder(o RecorderOptions) *Recorder { return &Recorder{} }

// Tap returns a writer for the raw bytes of one direction of a stream of
// lines, however they are chunked: each completed line becomes one event at
// the time of its newline. Close notes the end of the stream (a partial last
// line is kept and marked). Writes never fail.
func (r *Recorder) Tap(d Dir) io.WriteCloser { return nil }

// Stderr is like Tap for the standard error output of the process.
func (r *Recorder) Stderr() io.WriteCloser { return nil }

// Exchange returns the next free exchange number, from 1.
func (r *Recorder) Exchange() int { return 0 }

// Message records one whole message or body. data is copied.
func (r *Recorder) Message(d Dir, exchange int, data []byte) {}

// Carrier records what the carrier said: k is KindRequest, KindStatus,
// KindHeader, KindSSE or KindEnd and text as that Kind shows.
func (r *Recorder) Carrier(d Dir, exchange int, k Kind, text string) {}

// Note records a note; exchange may be 0.
func (r *Recorder) Note(exchange int, k Kind, text string) {}

// Add records an event as it is; At is filled in unless Timed is set.
func (r *Recorder) Add(e Event) {}

// Len is the number of events so far, those left out included.
func (r *Recorder) Len() int { return 0 }

// Recording returns a copy of what was recorded so far.
func (r *Recorder) Recording() *Recording { return nil }
