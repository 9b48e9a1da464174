package check

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// streamLink reaches a server that was started, over a pair of byte streams.
type streamLink struct {
	s       *Session
	carrier Carrier
	exited  chan struct{} // closed once the exit was recorded
	textEnd chan struct{} // closed when its free text has ended, nil if it has none
	stderr  int           // bytes of its free text

	writeMu sync.Mutex // one line at a time; answers to the server are written by the reader
	closing bool
}

// linkStreams makes the link of a session and begins to read what the server
// writes.
func linkStreams(s *Session, c Carrier) {
	l := &streamLink{s: s, carrier: c, exited: make(chan struct{})}
	s.link = l // before anything is read that has to be answered
	s.readers.Go(func() { l.readOutput(c.Output()) })
	if e := c.Errors(); e != nil {
		l.textEnd = make(chan struct{})
		s.readers.Go(func() {
			defer close(l.textEnd)
			l.readErrors(e)
		})
	}
	go l.watchExit()
}

// lateNewline is how long a server may take to end a line that is whole but for
// that: no machine is so busy. One may stand still, though; see last-line-whole.
const lateNewline = time.Second

// readOutput splits what the server writes into lines, whatever the chunks.
func (l *streamLink) readOutput(r io.Reader) {
	s := l.s
	var line []byte
	var length int64   // of the line so far, what was not kept included
	var open time.Time // when the last of it came
	buf := make([]byte, 64<<10)
	flush := func(partial bool) bool {
		e := transcript.Event{Dir: transcript.ToClient, Partial: partial, Data: line}
		if length > int64(len(line)) {
			e.Length = length
		}
		line, length = nil, 0
		return s.received(e)
	}
	for {
		n, err := r.Read(buf)
		b := buf[:n]
		for len(b) > 0 {
			part, rest, whole := bytes.Cut(b, []byte{'\n'})
			if len(part) > 0 {
				open = time.Now()
			} else if length > 0 && time.Since(open) >= lateNewline {
				s.Note(noteUnended)
			}
			length += int64(len(part))
			switch {
			case length <= int64(s.limits.Line):
				line = append(line, part...)
			case len(line) > keptStart:
				line = append([]byte(nil), line[:keptStart]...)
			}
			if !s.count(len(b)-len(rest), whole) {
				flush(!whole)
				return
			}
			b = rest
			if whole && !flush(false) {
				return
			}
		}
		if err != nil {
			if length > 0 {
				flush(true)
			}
			s.mu.Lock()
			s.eof = true
			s.loseLocked("the server closed its output")
			s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindEOF, Data: []byte("<")})
			s.mu.Unlock()
			return
		}
	}
}

// readErrors keeps the start of each line of the free text, within bounds.
func (l *streamLink) readErrors(r io.Reader) {
	s := l.s
	const maxLine = keptText
	var line []byte
	long := false
	buf := make([]byte, 32<<10)
	flush := func(partial bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if l.stderr += len(line) + 1; l.stderr <= s.limits.Stderr {
			s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindStderr, Data: line})
		}
		line, long = nil, false
	}
	for {
		n, err := r.Read(buf)
		for b := buf[:n]; len(b) > 0; {
			part, rest, whole := bytes.Cut(b, []byte{'\n'})
			if keep := min(len(part), maxLine-len(line)); !long {
				line = append(line, part[:keep]...)
				long = keep < len(part)
			}
			if b = rest; whole {
				flush(false)
			}
		}
		if err != nil {
			if len(line) > 0 {
				flush(true)
			}
			return
		}
	}
}

func (l *streamLink) watchExit() {
	s := l.s
	<-l.carrier.Done()
	e := l.carrier.Exit()
	k, text := transcript.KindExit, strconv.Itoa(e.Code)
	if e.Signal != "" {
		k, text = transcript.KindSignal, e.Signal
	}
	s.mu.Lock()
	s.gone = true
	s.loseLocked("the server ended: " + e.String())
	s.addLocked(transcript.Event{Dir: transcript.Note, Kind: k, Data: []byte(text)})
	s.mu.Unlock()
	close(l.exited)
	// What it left in its pipes is read within a moment. Something that it
	// started may hold them open for ever, though: that is not the server, and
	// goes with it.
	if !s.ended() && !s.wait(s.limits.Grace, func() bool { return s.eof }) {
		l.carrier.Kill()
	}
}

// write sends bytes as they are; line says that they are one whole line, which
// is how they are recorded.
func (l *streamLink) write(b []byte, line bool) *Frame {
	s := l.s
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	s.mu.Lock()
	if s.gone || l.closing {
		s.mu.Unlock()
		return nil
	}
	var f *Frame
	if line {
		f = s.addLocked(transcript.Event{Dir: transcript.ToServer, Data: bytes.TrimSuffix(append([]byte(nil), b...), []byte{'\n'})})
	}
	s.mu.Unlock()
	if _, err := l.carrier.Write(b, time.Now().Add(s.limits.Request)); err != nil {
		s.mu.Lock()
		if errors.Is(err, errWriteTimeout) {
			s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte(noteUnread)})
		}
		if !errors.Is(err, os.ErrClosed) && !errors.Is(err, io.ErrClosedPipe) {
			s.loseLocked("the server's input cannot be written: " + err.Error())
		}
		s.mu.Unlock()
	}
	return f
}

func (l *streamLink) lines(texts ...string) []*Frame {
	if len(texts) == 1 {
		return []*Frame{l.write([]byte(texts[0]+"\n"), true)}
	}
	var out []*Frame
	for _, t := range texts {
		out = append(out, l.s.add(transcript.Event{Dir: transcript.ToServer, Data: []byte(t)}))
	}
	l.write([]byte(strings.Join(texts, "\n")+"\n"), false)
	return out
}

func (l *streamLink) chunks(parts ...string) *Frame {
	f := l.s.add(transcript.Event{Dir: transcript.ToServer, Data: []byte(strings.Join(parts, ""))})
	for i, p := range parts {
		if i > 0 {
			l.s.Pause(20 * time.Millisecond)
		}
		if i == len(parts)-1 {
			p += "\n"
		}
		l.write([]byte(p), false)
	}
	return f
}

// settled is false: something may come as long as the server runs.
func (l *streamLink) settled(*Frame) bool { return false }

func (l *streamLink) closeInput() bool {
	l.writeMu.Lock()
	l.closing = true
	l.writeMu.Unlock()
	l.s.note(transcript.KindEOF, ">")
	_ = l.carrier.CloseInput()
	return l.awaitExit(l.s.limits.Exit)
}

func (l *streamLink) terminate() bool { return l.ask(l.s.limits.Exit) }

// ask asks the server to end and waits.
func (l *streamLink) ask(d time.Duration) bool {
	l.s.note(transcript.KindSent, "SIGTERM")
	l.carrier.Terminate()
	return l.awaitExit(d)
}

func (l *streamLink) awaitExit(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.exited:
		return true
	case <-timer.C:
		return false
	}
}

func (l *streamLink) kill() {
	s := l.s
	s.mu.Lock()
	if !s.gone {
		s.addLocked(transcript.Event{Dir: transcript.Note, Kind: transcript.KindSent, Data: []byte("SIGKILL")})
	}
	s.mu.Unlock()
	l.carrier.Kill()
}

// end ends the server, however it takes.
func (l *streamLink) end() {
	s := l.s
	l.writeMu.Lock()
	closed := l.closing
	l.closing = true
	l.writeMu.Unlock()
	gone := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.gone
	}
	soon := min(s.limits.Exit, politeTerm)
	switch lost := s.Lost(); {
	case closed:
		// It had its time to end by itself.
		if !gone() {
			l.ask(soon)
		}
	case lost == "":
		s.note(transcript.KindEOF, ">")
		_ = l.carrier.CloseInput()
		if !l.awaitExit(min(s.limits.Exit, politeEOF)) {
			l.ask(soon)
		}
	case s.ended():
		// How it ended is worth a moment.
		l.awaitExit(soon)
	}
	// What is left of the group goes too, and a last look at the output of a
	// server that ended by itself comes first.
	s.wait(s.limits.Grace, func() bool { return s.eof })
	if gone() && l.textEnd != nil { // what it wrote last says why
		select {
		case <-l.textEnd:
		case <-time.After(s.limits.Grace):
		}
	}
	l.kill()
	l.awaitExit(s.limits.Exit)
}
