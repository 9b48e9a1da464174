// Package transcript parses, prints and records golden wire transcripts: one
// stream of lines with direction marks, which eyes, grep and git diff can
// read and replay can play.
//
//	goldwire-transcript: 1
//	# An unknown tool is a protocol error, not a tool error.
//	revision: 2025-11-25
//	requirement: legacy/tools-unknown-tool
//	>>1 POST /mcp
//	>1 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nope"}}
//	<<1 200 content-type: application/json
//	<1 {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"$string"}}
//
// The first line names the format. Then come fields (name: value), then
// events; lines that start with '#' and blank lines may stand anywhere and
// are kept.
//
// An event line is a mark, one space and the data:
//
//	>      bytes the client sent: one line on stdio, one body over HTTP
//	<      bytes the server sent: one line, one JSON body, the data of one SSE event
//	>> <<  what the carrier said: request line, status, headers, SSE fields, the end
//	!      a note of the recorder: stderr, exit, signal, eof, …
//
// After the mark, in this order and all optional: the number of the exchange
// (1, 2, …), which joins the lines of one HTTP request and its response; 'r'
// when secrets in the line were replaced, so that it is not what was on the
// wire; 'x' when the data is a quoted escape ("…\xff…"), which it must be when it
// is not one line of clean UTF-8; '~' when the stream ended before the line
// did, or '~70000' when only the start of a line of 70000 bytes was kept;
// '@12ms', the time since the recording began.
package transcript

import (
	"time"
)

// Version is the version of the text format that this package writes, and
// the only one it reads.
const Version = 1

// Names of the fields that Goldwire itself writes and reads. Others may be
// used freely; a field may be repeated.
const (
	FieldRevision    = "revision"    // protocol revision the traffic is meant to follow
	FieldRequirement = "requirement" // id of the rule that a golden transcript shows; repeated
	FieldTransport   = "transport"   // stdio, http or sse
	FieldTarget      = "target"      // command line (never its environment) or URL
	FieldSide        = "side"        // the side under test: server or client
	FieldRecorded    = "recorded"    // present in what a recorder wrote: its lines are literal, nothing in them is a placeholder
	FieldRedacted    = "redacted"    // present when secrets were replaced: such a recording is not replayed unless asked
)

// Dir says who sent the bytes of an event.
type Dir byte

// The three marks.
const (
	ToServer Dir = '>' // the client sent it
	ToClient Dir = '<' // the server sent it
	Note     Dir = '!' // nobody sent it: the recorder noted it
)

// String is the mark.
func (d Dir) String() string { return string(rune(d)) }

// Reverse is the other direction; a note stays a note.
func (d Dir) Reverse() Dir {
	switch d {
	case ToServer:
		return ToClient
	case ToClient:
		return ToServer
	}
	return d
}

// Kind tells what an event is. The zero Kind is a message, so a literal
// Event{Dir: ToServer, Data: …} is one line sent to the server.
type Kind uint8

// Kinds of events. The first belongs to '>' and '<', the next five to the
// carrier marks '>>' and '<<', the rest to notes.
const (
	KindMessage Kind = iota // one line, body or SSE data

	KindRequest // >>1 POST /mcp
	KindStatus  // <<1 200, or <<1 200 name: value with the first header
	KindHeader  // >>1 name: value
	KindSSE     // <<1 id: 7, event: …, retry: …, or ": comment"
	KindEnd     // <<1 end: the body or stream is over; >>1 end: the client closed it

	KindStart   // ! start <command line>: a process or connection began
	KindStderr  // ! stderr <one line>
	KindEOF     // ! eof > or ! eof <: that direction of a pipe was closed
	KindSent    // ! sent SIGTERM: the driver sent a signal
	KindExit    // ! exit 0: the process ended by itself
	KindSignal  // ! signal SIGKILL: a signal ended the process
	KindError   // ! error <text>: the carrier broke (exchange number says which)
	KindDropped // ! dropped <events> <bytes>: a bounded recorder left these out here
	KindProbe   // ! probe <id>: what follows was provoked by that probe
	KindNote    // ! note <text>
	KindSession // ! session <revision> <id>: a session began, or (HTTP without sessions) a client spoke that revision for the first time; the id is its Mcp-Session-Id, where it has one
)

// Field is one line of the head of a recording.
type Field struct {
	Name   string // lower-case letters, digits and '-'
	Value  string
	Before []string // comment and blank lines before it, each without its newline
}

// Event is one line of a recording.
type Event struct {
	Dir      Dir
	Carrier  bool          // a doubled mark: Data is what the carrier said
	Kind     Kind          // what Data is; see Kind
	Redacted bool          // secrets in Data were replaced
	Partial  bool          // the stream ended before the line did
	Timed    bool          // At is known
	Exchange int           // number of the HTTP exchange; 0 on stdio
	Length   int64         // when not 0: bytes of the whole line, of which Data is the start
	At       time.Duration // since the recording began
	Data     []byte        // raw bytes, without the newline and, in notes, without the kind word
	Before   []string      // comment and blank lines before it, each without its newline
}

// Message reports whether e carries a message of one of the two sides that
// was kept whole.
func (e *Event) Message() bool {
	return e.Kind == KindMessage && !e.Carrier && e.Dir != Note && e.Length == 0 && !e.Partial
}

// Recording is a parsed or recorded transcript.
type Recording struct {
	Fields []Field
	Events []Event
	After  []string // comment and blank lines at the end
}

// Get returns the value of the first field of that name, or "".
func (r *Recording) Get(name string) string {
	for _, f := range r.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// All returns the values of all fields of that name, in order.
func (r *Recording) All(name string) []string {
	var vs []string
	for _, f := range r.Fields {
		if f.Name == name {
			vs = append(vs, f.Value)
		}
	}
	return vs
}

// Set replaces the first field of that name, or appends one.
func (r *Recording) Set(name, value string) {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			r.Fields[i].Value = value
			return
		}
	}
	r.Fields = append(r.Fields, Field{Name: name, Value: value})
}

// Redacted reports whether secrets were replaced in the messages of the
// recording: the field says so, or a line. A header that was replaced does not
// count, as nobody sends the credentials of an old recording.
func (r *Recording) Redacted() bool {
	for _, f := range r.Fields {
		if f.Name == FieldRedacted {
			return true
		}
	}
	for i := range r.Events {
		if e := &r.Events[i]; e.Redacted && e.Kind == KindMessage {
			return true
		}
	}
	return false
}
