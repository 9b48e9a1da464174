package replay

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Change is a message that is not the same in two recordings.
type Change struct {
	Sender string           `json:"sender"`           // client or server
	Method string           `json:"method"`           // of the request or notification; "" for what is no message
	Before string           `json:"before,omitempty"` // its line; "" where the older recording has none
	After  string           `json:"after,omitempty"`  // its line; "" where the newer one has none
	Values []match.Mismatch `json:"values,omitempty"` // what differs, of the message (params …) or its answer (result …, error …); Want is the older value
	More   int              `json:"more,omitempty"`   // further ones that are not listed
}

// Diff is what changed between two recordings.
type Diff struct {
	Changes []Change `json:"changes"` // in the order of the older recording, what only the newer one has behind
	Same    int      `json:"same"`    // messages that are in both, with the same answer
}

// turn is a message that is not an answer, with its answer.
type turn struct {
	dir    transcript.Dir
	msg    message
	value  wire.Raw // nil for what is no JSON
	line   string
	answer wire.Raw
	core   string // what makes it the same as another one
	paired bool
}

// Compare says what changed from one recording to another. Messages are paired
// by their meaning: sender, method and params, the first of several with the
// first; then what is left by sender and method. Ids, progress tokens, times and
// what says only who speaks do not count, and neither does the order.
func Compare(older, newer *transcript.Recording) *Diff {
	a, b := turns(older), turns(newer)
	pairs := make([]*turn, len(a))
	for _, key := range []func(*turn) string{
		func(t *turn) string { return t.core },
		func(t *turn) string { return t.dir.String() + t.msg.method + string(rune('0'+t.msg.class)) },
	} {
		waiting := map[string][]*turn{}
		for _, t := range b {
			if !t.paired {
				waiting[key(t)] = append(waiting[key(t)], t)
			}
		}
		for i, t := range a {
			if q := waiting[key(t)]; !t.paired && len(q) > 0 {
				pairs[i], q[0].paired, t.paired = q[0], true, true
				waiting[key(t)] = q[1:]
			}
		}
	}
	d := &Diff{Changes: []Change{}}
	for i, t := range a {
		c := t.change()
		c.Before = t.line
		if o := pairs[i]; o != nil {
			c.After = o.line
			c.compare(t.value, o.value, t.line != o.line)
			c.compare(t.answer, o.answer, false)
			if len(c.Values) == 0 {
				d.Same++
				continue
			}
		}
		d.Changes = append(d.Changes, c)
	}
	for _, t := range b {
		if !t.paired {
			c := t.change()
			c.After = t.line
			d.Changes = append(d.Changes, c)
		}
	}
	return d
}

func (t *turn) change() Change {
	c := Change{Sender: "client", Method: t.msg.method}
	if t.dir == transcript.ToClient {
		c.Sender = "server"
	}
	return c
}

func (c *Change) compare(older, newer wire.Raw, lines bool) {
	switch {
	case older == nil && newer == nil:
		if lines {
			c.Values = append(c.Values, match.Mismatch{Want: c.Before, Got: c.After})
		}
		return
	case older == nil:
		c.Values = append(c.Values, match.Mismatch{Path: "answer", Want: "nothing", Got: short(newer.String())})
		return
	case newer == nil:
		c.Values = append(c.Values, match.Mismatch{Path: "answer", Want: short(older.String()), Got: "nothing"})
		return
	}
	if bytes.Equal(older, newer) {
		return
	}
	before, after := meaning(older), meaning(newer)
	if bytes.Equal(before, after) {
		return
	}
	pat, err := match.Literal(before)
	if err != nil {
		return // what is left of JSON is JSON
	}
	var me *match.Error
	if errors.As(pat.Match(after, match.Options{}), &me) {
		c.Values = append(c.Values, me.Mismatches...)
		c.More += me.More
	}
}

// idPath reports whether a value is an id or says only who speaks.
func idPath(path string) bool {
	switch path {
	case pathID, pathRequestID, pathToken, pathAskToken, pathSubParams, pathSubResult:
		return true
	}
	for _, base := range []string{"params._meta", "result._meta"} {
		for name := range volatile {
			if strings.HasPrefix(path, base+"."+name) || strings.HasPrefix(path, base+`["`+name+`"]`) {
				return true
			}
		}
	}
	return false
}

func turns(rec *transcript.Recording) []*turn {
	var out []*turn
	open := map[string][]*turn{} // by sender and id
	carriers := ofCarrier(rec)
	for i := range rec.Events {
		e := &rec.Events[i]
		if carriers[i] || e.Carrier || e.Dir == transcript.Note || e.Kind != transcript.KindMessage || len(e.Data) == 0 {
			continue
		}
		v, err := wire.ParseRaw(e.Data)
		if err != nil {
			line := (&transcript.Event{Dir: e.Dir, Partial: e.Partial, Length: e.Length, Data: e.Data}).Line()
			out = append(out, &turn{dir: e.Dir, line: line, core: line})
			continue
		}
		for _, v := range parts(v) {
			m := look(v, false)
			if m.class == response && m.id != "" {
				k := e.Dir.Reverse().String() + m.id
				if q := open[k]; len(q) > 0 {
					q[0].answer = v
					open[k] = q[1:]
					continue
				}
			}
			t := &turn{dir: e.Dir, msg: m, value: v, line: (&transcript.Event{Dir: e.Dir, Data: v}).Line()}
			t.core = e.Dir.String() + m.method + " " + string(meaning(v))
			out = append(out, t)
			if m.class == request {
				k := e.Dir.String() + m.id
				open[k] = append(open[k], t)
			}
		}
	}
	return out
}

// meaning is a message without its ids, what says only who speaks, and the
// members at the paths of besides; members in alphabetical order.
func meaning(v wire.Raw, besides ...string) []byte { return appendMeaning(nil, v, "", besides) }

func appendMeaning(b []byte, v wire.Raw, path string, besides []string) []byte {
	switch v.Kind() {
	case wire.KindObject:
		members := map[string]wire.Raw{}
		for name, e := range v.Members() {
			at := name
			if path != "" {
				at = path + "." + name
			}
			if strings.Contains(name, "/") {
				at = path + `["` + name + `"]`
			}
			if !idPath(at) && !slices.Contains(besides, at) && (!onlyVolatile(at, e) || e.Kind() != wire.KindObject) {
				members[name] = e
			}
		}
		b = append(b, '{')
		for i, name := range wire.Keys(members) {
			at := name
			if path != "" {
				at = path + "." + name
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, name), ':')
			b = appendMeaning(b, members[name], at, besides)
		}
		return append(b, '}')
	case wire.KindArray:
		b = append(b, '[')
		for e := range v.Elems() {
			if b[len(b)-1] != '[' {
				b = append(b, ',')
			}
			b = appendMeaning(b, e, path+"[]", besides)
		}
		return append(b, ']')
	case wire.KindString:
		s, _ := v.Str()
		return wire.AppendString(b, s)
	}
	return append(b, v...)
}
