package client

import (
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// asking is the profile of the trace by which a check is asked what scripts it
// looks at.
const asking = "?"

// asked gathers the answers, by trace.
var asked sync.Map // *check.Trace to *wanted

// wanted are scripts by name; one that ends in - stands for all that begin so.
type wanted struct {
	names []string
	all   bool
}

func (w *wanted) has(script string) bool {
	if w.all || script == Good {
		return true
	}
	for _, n := range w.names {
		if n == script || strings.HasSuffix(n, "-") && strings.HasPrefix(script, n) {
			return true
		}
	}
	return false
}

// tellScripts tells who asks, if somebody does, what scripts a check wants to
// see.
func tellScripts(c *check.Case, scripts []string) {
	for _, t := range c.Traces() {
		if t.Profile != asking {
			continue
		}
		if a, ok := asked.Load(t); ok {
			w := a.(*wanted)
			w.all = w.all || len(scripts) == 0
			w.names = append(w.names, scripts...)
		}
	}
}

// addScriptsOf adds what a check looks at. It is asked by letting it judge the
// play of the good server, and nothing else.
func (w *wanted) addScriptsOf(k *check.Check, rev string, over catalogue.Transport, good *check.Trace) {
	rec := &transcript.Recording{}
	rec.Set(transcript.FieldRevision, rev)
	rec.Set("profile", asking)
	t := check.NewTrace(rec)
	asked.Store(t, w)
	defer asked.Delete(t)
	n := len(w.names)
	k.Verdict(rev, over, FactsOf(rev, []*check.Trace{good}), []*check.Trace{t, good}, nil)
	w.all = w.all || len(w.names) == n // it looks elsewhere
}
