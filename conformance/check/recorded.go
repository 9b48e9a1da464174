package check

import (
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// StepRecorded is the step of what no probe made: traffic that was recorded
// between two others.
const StepRecorded = "recorded"

// recorded is all of the first such session, as one step; nil where there is
// none.
func (c *Case) recorded() *Step {
	for _, t := range c.traces {
		if t.Profile == StepRecorded {
			return &Step{Name: StepRecorded, Trace: t, to: -1}
		}
	}
	return nil
}

// redacted reports whether secrets were replaced in the line that a finding is
// about, in the request that it answers, or in what else its exchange says:
// nobody can tell then whether the rule was broken on the wire.
func (f *Frame) redacted() bool {
	if f == nil || f.Trace == nil || f.Index >= len(f.Trace.Recording.Events) {
		return false
	}
	if f.Trace.hidden == nil {
		return false
	}
	if f.Trace.hidden[f.Index] || f.Exchange != 0 && f.Trace.hidden[-f.Exchange] {
		return true
	}
	req := f.Trace.Request(f)
	return f.FromServer && req != nil && f.Trace.hidden[req.Index]
}

// hide remembers that the event at index i is redacted, and so its exchange. A
// credential in a header says nothing of the message beside it.
func (t *Trace) hide(i int) {
	e := &t.Recording.Events[i]
	if !e.Redacted {
		return
	}
	if t.hidden == nil {
		t.hidden = map[int]bool{}
	}
	t.hidden[i] = true
	name, _, header := e.Header()
	if e.Exchange != 0 && (e.Kind == transcript.KindMessage || header && strings.HasPrefix(name, "mcp-")) {
		t.hidden[-e.Exchange] = true
	}
}
