// Package record records the traffic between a client and a server that it
// stands between: over the standard streams of a process (Stdio) and over HTTP
// (Proxy). It alters no byte of a message, and what it records goes to a writer
// as it happens.
package record

import (
	"bytes"
	"io"
	"slices"
	"sync"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// LogOptions of a Log; the zero value works.
type LogOptions struct {
	Target    string // command line (of transcript.CommandLine) or URL, for the head
	Transport string // stdio or http, for the head
	Rules     *Rules // what is replaced in what is written; nil for nothing
	MaxFrame  int    // a longer message is written as its start and its length; bytes, 0 = 64 MiB
	Keep      bool   // keep the recording too, unredacted and within the bounds of a transcript.Recorder
}

// Log is a recording that is written as it happens. It says in its head what
// was recorded and what was replaced, and in a line of its own when a session
// begins, and of what revision.
type Log struct {
	rec *transcript.Recorder
	x   *transcript.Encoder
	red *Redactor

	mu  sync.Mutex
	err error

	watch    sync.Mutex
	closed   bool
	sessions sniffer
}

// NewLog writes the head at once. The error comes from the writer.
func NewLog(w io.Writer, o LogOptions) (*Log, error) {
	if o.Rules == nil {
		o.Rules = &Rules{}
	}
	fields := []transcript.Field{{Name: transcript.FieldTransport, Value: o.Transport}, {Name: transcript.FieldTarget, Value: o.Rules.Target(o.Target)},
		{Name: transcript.FieldRecorded, Value: "goldwire record"}}
	if f := o.Rules.Field(); f != "" {
		fields = append(fields, transcript.Field{Name: transcript.FieldRedacted, Value: f})
	}
	x, err := transcript.NewEncoder(w, fields)
	if err != nil {
		return nil, err
	}
	l := &Log{x: x, sessions: newSniffer()}
	l.red = NewRedactor(o.Rules, func(e *transcript.Event) {
		err := x.Encode(e)
		if err != nil && x.Flush() == nil { // not the writer: a rule made a line that cannot be
			err = x.Encode(&transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Exchange: e.Exchange, Redacted: true,
				Timed: e.Timed, At: e.At, Data: []byte("a line is left out: " + err.Error())})
		}
		l.fail(err)
	})
	kept := slices.DeleteFunc(slices.Clone(fields), func(f transcript.Field) bool { return f.Name == transcript.FieldRedacted })
	l.rec = transcript.NewRecorder(transcript.RecorderOptions{Fields: kept, MaxLine: o.MaxFrame, Discard: !o.Keep, Watch: func(e transcript.Event) {
		l.watch.Lock()
		defer l.watch.Unlock()
		if l.closed {
			return
		}
		l.red.Add(&e)
		if s := l.sessions.look(&e); s != nil {
			l.red.Add(s)
		}
	}})
	return l, nil
}

// Recorder takes what is recorded.
func (l *Log) Recorder() *transcript.Recorder { return l.rec }

// Recording is what was kept so far, unredacted; without LogOptions.Keep it has
// no events.
func (l *Log) Recording() *transcript.Recording { return l.rec.Recording() }

func (l *Log) fail(err error) {
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
	}
}

// Err is the first error of the writer: what came after it is not recorded.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes what waits; it does not close the writer. The error is that of
// Err. What is recorded after it is not written.
func (l *Log) Close() error {
	l.watch.Lock()
	defer l.watch.Unlock()
	l.closed = true
	l.red.Close()
	l.fail(l.x.Close())
	return l.Err()
}

// sniffer finds out when a session begins. What it remembers is bounded.
type sniffer struct {
	asked  map[int]*opening // by exchange; 0 is stdio
	spoken map[string]bool
	last   []byte // the version of the last request that said one, as it stands in it
}

// opening is an initialize that is not answered.
type opening struct {
	id      string // of the request, as JSON
	session string // Mcp-Session-Id of the response
	status  int    // of the response, 0 before it has come
}

// most bounds what a sniffer remembers.
const most = 1024

func newSniffer() sniffer {
	return sniffer{asked: map[int]*opening{}, spoken: map[string]bool{}}
}

var (
	wordInitialize = []byte(`"initialize"`)
	wordVersion    = []byte(`rotocolVersion"`)
)

// look gives the line that says of a session which begins with e, or nil.
func (s *sniffer) look(e *transcript.Event) *transcript.Event {
	switch {
	case e.Kind == transcript.KindHeader || e.Kind == transcript.KindStatus:
		if o := s.asked[e.Exchange]; o != nil && e.Dir == transcript.ToClient {
			if e.Kind == transcript.KindStatus {
				o.status = e.Status()
			}
			if name, value, _ := e.Header(); name == "mcp-session-id" {
				o.session = value
			}
		}
		return nil
	case e.Kind == transcript.KindEnd || e.Kind == transcript.KindError:
		if o := s.asked[e.Exchange]; o != nil && o.status != 202 { // what was only taken is answered elsewhere
			delete(s.asked, e.Exchange)
		}
		return nil
	case !e.Message() || len(s.asked) == 0 && e.Dir == transcript.ToClient:
		return nil
	case !bytes.Contains(e.Data, wordVersion), s.last != nil && e.Dir == transcript.ToServer && bytes.Contains(e.Data, s.last):
		return nil
	}
	var revision, id string
	switch v := wire.Raw(bytes.TrimSpace(e.Data)); {
	case !v.Valid():
		return nil
	case e.Dir == transcript.ToServer && bytes.Contains(e.Data, wordInitialize):
		if m, _ := v.Get("method").Str(); m == "initialize" && v.Get("id") != nil && len(s.asked) < most {
			s.asked[e.Exchange] = &opening{id: v.Get("id").String()}
		}
		return nil
	case e.Dir == transcript.ToServer:
		revision, _ = v.Get("params").Get("_meta").Get(metaVersion).Str()
		s.last = append(append(wordVersion[:len(wordVersion):len(wordVersion)], ':'), wire.Quote(revision)...)
		if s.spoken[revision] || len(s.spoken) == most {
			return nil
		}
		s.spoken[revision] = true
	default:
		at, o := s.opened(e.Exchange, v.Get("id").String())
		if o == nil {
			return nil
		}
		revision, _ = v.Get("result").Get("protocolVersion").Str()
		id = o.session
		delete(s.asked, at)
	}
	if revision == "" {
		return nil
	}
	text := revision
	if id != "" {
		text += " " + id
	}
	return &transcript.Event{Dir: transcript.Note, Kind: transcript.KindSession, Exchange: e.Exchange, Timed: e.Timed, At: e.At, Data: []byte(text)}
}

// opened is the initialize that an answer with an id on an exchange is for: the
// one of that exchange or, over HTTP+SSE, one that was only taken, or has not been
// so yet.
func (s *sniffer) opened(exchange int, id string) (at int, o *opening) {
	if o := s.asked[exchange]; o != nil && o.id == id {
		return exchange, o
	}
	for n, c := range s.asked {
		if n != 0 && c.id == id && (c.status == 202 || c.status == 0 && o == nil) {
			at, o = n, c
		}
	}
	return at, o
}

// metaVersion is the member of a _meta that says the revision of a request.
const metaVersion = "io.modelcontextprotocol/protocolVersion"
