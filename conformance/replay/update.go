package replay

import (
	"slices"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// extraLine is a line that the transcript does not have.
type extraLine struct {
	at    int // the step before which it came
	event transcript.Event
}

// updated is the golden text of what came in the place of a line: placeholders
// stay where they still hold, and ids are those of the transcript.
func (p *player) updated(w *want, s seen, v wire.Raw, m message) []byte {
	if w.pattern == nil || v == nil {
		return s.event.Data
	}
	var f found
	return w.pattern.Update(v, p.matching(&m, &f))
}

// update is the transcript with the peer's lines as they came now: what did
// not come is left out, what came besides is put in where it came. Nil when the
// replay did not reach the end.
func (p *player) update() *transcript.Recording {
	if p.out.Unplayed > 0 || slices.ContainsFunc(p.out.Problems, func(pr Problem) bool { return pr.Kind == Stopped }) {
		return nil
	}
	byEvent := map[int]*step{}
	for i := range p.steps {
		byEvent[p.steps[i].event] = &p.steps[i]
	}
	out := &transcript.Recording{Fields: p.golden.Fields, After: p.golden.After}
	next := 0
	exchange := 0
	extras := func(step int) {
		for ; next < len(p.extras) && p.extras[next].at <= step; next++ {
			e := p.extras[next].event
			e.Timed, e.At, e.Exchange = false, 0, exchange
			if !p.literal {
				e.Data = escaped(e.Data)
			}
			out.Events = append(out.Events, e)
		}
	}
	step := 0
	for i := range p.golden.Events {
		e := p.golden.Events[i]
		st := byEvent[i]
		if st != nil {
			if st.do.ours() {
				extras(step)
			}
			step++
		}
		if e.Exchange > 0 {
			exchange = e.Exchange
		}
		if st != nil && st.do == expect {
			text, came := st.now()
			if !came {
				continue
			}
			if text != nil {
				e.Data = text
			}
		}
		out.Events = append(out.Events, e)
	}
	extras(len(p.steps))
	return out
}

// now is the line of a step as it is now, nil when it is as it was; came is
// false when it did not come.
func (st *step) now() (text []byte, came bool) {
	changed := false
	var members [][]byte
	for _, w := range st.wants {
		if !w.came {
			changed = true
			continue
		}
		t := w.now
		if changed = changed || t != nil; t == nil && w.pattern != nil {
			t = w.pattern.Raw()
		}
		members = append(members, t)
	}
	switch {
	case len(members) == 0:
		return nil, false
	case !changed:
		return nil, true
	case len(st.wants) == 1:
		return members[0], true
	}
	text = append(text, '[')
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, m...)
	}
	return append(text, ']'), true
}

// escaped is a text in which nothing is a placeholder, as golden text.
func escaped(text []byte) []byte {
	v, err := wire.ParseRaw(text)
	if err != nil {
		return text
	}
	return match.Escape(v)
}
