package check

import (
	"bytes"
	"slices"

	"github.com/goldwire/goldwire/runtime/wire"
)

// What a target means to speak. An answer by which it agrees to a revision, or
// claims it, may be so wrong that no client can go on; the revision is judged
// all the same, since nobody else would tell of that answer. Servers refuse a
// revision in many ways, and none of them is taken for a claim: an error,
// silence, an end, and another version that is named.

// stance is what a server most likely means as its answer to the question
// whether it speaks a revision.
type stance struct {
	*Frame
	claims bool // that it does
}

// Members by which the results of initialize and of server/discover are known,
// whatever id they carry, and those by which a text is known that is no JSON:
// others than a server repeats that writes down what it was sent.
var (
	handshakeMarks = []string{"protocolVersion"}
	discoveryMarks = []string{"supportedVersions", "resultType", "ttlMs", "cacheScope"}
)

const (
	handshakeText = `"serverInfo"`
	discoveryText = `"supportedVersions"`
)

// handshake is the stance to the version that an initialize offers, nil while
// there is none.
func (t *Trace) handshake(req *Frame, version string) *stance {
	return t.stanceTo(req, handshakeText, handshakeMarks, func(result wire.Raw) bool {
		named, ok := result.Get("protocolVersion").Str()
		return !ok || named == version
	})
}

// discovery is the stance that an answer to server/discover shows, nil while
// there is none.
func (t *Trace) discovery(req *Frame) *stance {
	return t.stanceTo(req, discoveryText, discoveryMarks, func(result wire.Raw) bool {
		return hasAny(result, discoveryMarks)
	})
}

// maxStrays is how many lines are looked at for an answer under a wrong id.
const maxStrays = 100

// stanceTo finds the answer to a request, or else what most resembles one.
// claims judges the result of one that is no error, and nil where it has none.
func (t *Trace) stanceTo(req *Frame, text string, marks []string, claims func(result wire.Raw) bool) *stance {
	if req == nil {
		return nil
	}
	judge := func(p *Frame) *stance {
		marked := p.anyMember(marks...)
		if p.Result != nil && (p.Error == nil || marked) {
			return &stance{p, claims(p.Result)}
		}
		refusal := p.Error != nil || p.anyMember("code", "message")
		return &stance{p, !refusal && (marked || claims(nil))}
	}
	if a := t.Answer(req); a != nil {
		return judge(a)
	}
	later := between(t.frames, req.Index+1, -1)
	for _, f := range later[:min(len(later), maxStrays)] {
		if !f.FromServer || f.fence() {
			continue
		}
		if f.Kind == KindText && bytes.Contains(f.Text, []byte(text)) {
			return &stance{f, true}
		}
		for _, p := range f.parts() {
			own := p.Kind == KindOther && p.ID != nil && looseID(p.ID) == looseID(req.ID)
			if own || (p.Kind == KindResponse || p.Kind == KindOther) && p.anyMember(marks...) {
				return judge(p)
			}
		}
	}
	return nil
}

// anyMember reports whether a member of a line is an object that has one of
// these members.
func (f *Frame) anyMember(names ...string) bool {
	for _, v := range f.Value.Members() {
		if hasAny(v, names) {
			return true
		}
	}
	return false
}

// hasAny reports whether an object, or one that stands first in an array, has
// one of these members.
func hasAny(v wire.Raw, names []string) bool {
	for e := range v.Elems() {
		v = e
		break
	}
	return slices.ContainsFunc(names, func(name string) bool { return v.Get(name) != nil })
}
