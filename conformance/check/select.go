package check

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// needs is what a check asked for while it judged.
type needs struct {
	all   bool
	steps []string // names of steps, or what names begin with
}

func (n *needs) step(prefix string) {
	if !slices.Contains(n.steps, prefix) {
		n.steps = append(n.steps, prefix)
	}
}

// stepsText names the probes with the kinds of steps that they make: a line for
// each, the name, a tab, the kinds. A test writes it with -update.
//
//go:embed steps.txt
var stepsText string

// kinds are the kinds of steps that probes make, by the names of the probes.
var kinds = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(stepsText) {
		name, steps, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		m[name] = strings.Fields(steps)
	}
	return m
})

// kindOf is the kind of a step: its name as far as the first slash. What a
// probe makes of the steps of another one it calls by the same kind, so that
// both are run.
func kindOf(step string) string {
	kind, _, _ := strings.Cut(step, "/")
	return kind
}

// wanted reports whether a probe may make steps that somebody needs. One whose
// steps are not known may.
func (n *needs) wanted(p *Probe) bool {
	made, known := kinds()[p.Name]
	if n.all || !known {
		return true
	}
	for _, want := range n.steps {
		kind, whole := kindOf(want), strings.Contains(want, "/")
		if slices.ContainsFunc(made, func(k string) bool { return k == kind || !whole && strings.HasPrefix(k, kind) }) {
			return true
		}
	}
	return false
}

// lists reports whether the probe reads one of the lists.
func (p *Probe) lists() bool {
	for _, l := range Lists {
		if l.Method == p.Name {
			return true
		}
	}
	return false
}

// asks says what the check asks for when it judges these recordings.
func (k *Check) asks(rev string, t catalogue.Transport, facts *Facts, traces, offers []*Trace) (n needs) {
	c := &Case{Check: k, Revision: rev, Transport: t, Facts: facts, traces: traces, Offers: offers}
	defer func() {
		if recover() != nil { // the verdict tells of it
			n = needs{all: true}
		}
	}()
	for _, need := range k.Needs {
		if facts.Known() && !facts.Has(need) {
			return n
		}
	}
	k.Judge(c)
	return c.needs
}

// DriveFor is Drive with no more of the probes than these checks need: first
// those that list what the server offers, as others depend on it, and those
// whose steps the checks ask for, then those that they ask for having seen
// these. A check that looks at all traffic needs every probe.
func DriveFor(ctx context.Context, l Target, o DriveOptions, checks []Check, offers []*Trace) ([]*Trace, error) {
	r := newRun(ctx, l, &o)
	left := slices.Clone(o.Probes)
	for round := 0; len(left) > 0; round++ {
		n := needs{all: r.gaveUp}
		facts := FactsOf(o.Revision, r.traces)
		for i := range checks {
			if k := &checks[i]; k.Applies(o.Revision, l.Transport()) {
				asked := k.asks(o.Revision, l.Transport(), facts, r.traces, offers)
				n.all = n.all || asked.all
				for _, s := range asked.steps {
					n.step(s)
				}
			}
		}
		for i := range left {
			if p := &left[i]; n.wanted(p) {
				for _, kind := range p.After {
					n.step(kind + "/")
				}
			}
		}
		var next, later []Probe
		for i := range left {
			if p := &left[i]; n.wanted(p) || round == 0 && p.lists() {
				next = append(next, *p)
			} else {
				later = append(later, *p)
			}
		}
		if next == nil {
			break
		}
		left = later
		r.probes(next)
		if r.err != nil || ctx.Err() != nil || r.gaveUp {
			break
		}
	}
	return r.end()
}
