package check

import (
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
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

// Memo gives what was made for a key before, or makes it: for what several
// checks need of a trace. It may be called by several of them at once.
func (t *Trace) Memo(key any, make func() any) any {
	t.memoMu.Lock()
	defer t.memoMu.Unlock()
	if v, ok := t.memo[key]; ok {
		return v
	}
	if t.memo == nil {
		t.memo = map[any]any{}
	}
	v := make()
	t.memo[key] = v
	return v
}

// Compile compiles a schema that was seen in the trace, once; for the errors see
// validate.Compile.
func (t *Trace) Compile(schema wire.Raw) (*validate.Schema, error) {
	type key struct{ schema string }
	type compiled struct {
		schema *validate.Schema
		err    error
	}
	c := t.Memo(key{string(schema)}, func() any {
		s, err := validate.Compile(schema)
		return compiled{s, err}
	}).(compiled)
	return c.schema, c.err
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
