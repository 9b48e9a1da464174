package check

import (
	"bytes"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

func framingProbes() []Probe {
	return []Probe{{
		Name: "end of input", Profile: Main, Alone: true,
		Run: func(d *Driver) {
			d.Step("eof")
			d.Call(d.cheap(), "")
			d.CloseInput()
		},
	}}
}

func framingChecks() []Check {
	return []Check{
		{
			ID: "stdout-messages-only", Title: "every line of the output is one JSON-RPC message", Layer: Bytes,
			Requirements: []string{"legacy/stdio-stdout-only-mcp", "modern/stdio-stdout-only-mcp"},
			Judge: func(c *Case) {
				c.lines(func(f *Frame) {
					switch f.Kind {
					case KindText:
						if f.Trace.cutByUs(f) {
							return
						}
						c.Broken(f, "one JSON-RPC message on each line of the output", f.Why+": "+f.String())
					case KindScalar:
						c.Broken(f, "one JSON-RPC message on each line of the output", "a JSON value that is no message: "+f.String())
					case KindBlank:
						c.Tolerated(f, "nothing but messages on the output", "a blank line")
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "no-newline-in-message", Title: "a message is on one line", Layer: Bytes,
			Requirements: []string{"legacy/stdio-newline-framing", "modern/stdio-no-embedded-newline"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					var first *Frame
					var joined []byte
					effort := 32 << 20 // bytes that are read again, in all
					for f := range t.all() {
						switch {
						case !f.FromServer:
						case f.Kind != KindText && first == nil:
							c.Saw()
						case first == nil && bytes.HasPrefix(bytes.TrimSpace(f.Text), []byte("{")):
							first, joined = f, bytes.Clone(f.Text)
						case first != nil:
							joined = append(append(joined, '\n'), f.Text...)
							if len(joined) > 1<<20 {
								first = nil
							} else if !bytes.HasSuffix(bytes.TrimSpace(f.Text), []byte("}")) || effort < 0 {
								continue
							} else if v, err := wire.ParseRaw(joined); err == nil && v.Get("jsonrpc") != nil {
								c.Broken(first, "a message on one line", "one that is spread over several lines")
								first = nil
							}
							effort -= len(joined)
						}
					}
				}
			},
		},
		{
			ID: "output-utf8", Title: "the output is UTF-8", Layer: Bytes,
			Requirements: []string{"legacy/jsonrpc-utf8", "modern/jsonrpc-utf8"},
			Judge: func(c *Case) {
				c.lines(func(f *Frame) {
					if f.Trace.cutByUs(f) {
						return
					}
					c.want(f, utf8.Valid(f.Text), "UTF-8", f.String())
				})
			},
		},
		{
			ID: "input-in-pieces", Title: "a line that arrives in pieces is one message", Layer: Bytes,
			Requirements: []string{"legacy/stdio-stream-reassembly"},
			Judge: func(c *Case) {
				if s := c.Step("chunks"); s != nil {
					for _, req := range s.Sent() {
						if c.Answer(req) != nil {
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "exit-on-eof", Title: "the server ends when its input does", Layer: Bytes,
			Requirements: []string{"legacy/stdio-server-exits-on-eof", "modern/stdio-exit-on-eof"},
			Judge: func(c *Case) {
				s := c.Step("eof")
				if s == nil {
					return
				}
				if s.Trace.cut() { // the checker ended it
					c.Blocked(s.Trace.lost())
					return
				}
				ended, closed, at := false, false, 0
				for i := s.from; i < len(s.Trace.Recording.Events); i++ {
					e := &s.Trace.Recording.Events[i]
					if e.Dir != transcript.Note {
						continue
					}
					switch {
					case e.Kind == transcript.KindSent && !closed:
						// Ended for another reason, before its input did.
						c.Blocked(or(s.Trace.why(), "the session ended"))
						return
					case e.Kind == transcript.KindEOF && string(e.Data) == ">":
						closed, at = true, i
					case e.Kind == transcript.KindExit && closed:
						ended = true
					case e.Kind == transcript.KindSignal && closed && !ended:
						c.Broken(s.Trace.frameAt(at), "an exit", "it was ended by "+string(e.Data))
						return
					case e.Kind == transcript.KindSent && closed && !ended:
						c.found(finding{frame: s.Trace.frameAt(at), also: s.Trace.endings(at), expected: "a server that has ended soon after", observed: "it still ran"})
						return
					}
				}
				switch {
				case ended:
					c.Saw()
				case !closed:
					c.Blocked(or(s.Trace.why(), "the session ended"))
				}
			},
		},
	}
}

// lines calls fn for every line that the server wrote.
func (c *Case) lines(fn func(f *Frame)) {
	for _, t := range c.Traces() {
		for f := range t.all() {
			if f.FromServer {
				fn(f)
			}
		}
	}
}

// cutByUs reports whether a line is incomplete because the driver ended the
// server while it wrote, or keeps no more of it.
func (t *Trace) cutByUs(f *Frame) bool {
	e := &t.Recording.Events[f.Index]
	if e.Length > 0 {
		return true
	}
	if !e.Partial {
		return false
	}
	first := func(at []int) bool { return len(at) > 0 && at[0] < f.Index }
	return first(t.notesAt[transcript.KindSent]) || first(t.said[noteFlood]) || first(t.said[noteFull]) || first(t.said[noteAborted]) || first(t.said[noteOverdue])
}

// endings are the events at and after event i by which a server was ended: its
// input ended, what signals were sent, and how it ended.
func (t *Trace) endings(i int) []int {
	var out []int
	for _, k := range []transcript.Kind{transcript.KindEOF, transcript.KindSent, transcript.KindExit, transcript.KindSignal} {
		for _, j := range t.notesAt[k] {
			if j >= i {
				out = append(out, j)
			}
		}
	}
	return out
}

// frameAt is the last line before an event, to show where something happened.
func (t *Trace) frameAt(i int) *Frame {
	before := between(t.frames, 0, i)
	if len(before) == 0 {
		return nil
	}
	return before[len(before)-1]
}
