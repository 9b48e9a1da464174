package broken

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// An edit changes a message; ok is false where it does not fit.
type edit func(m wire.Raw) (out wire.Raw, ok bool)

// set gives a member a value, of each object that path leads to without its
// last step. Steps are parted by >, and * is each element or member.
func set(path, value string) edit {
	return at(path, func(string, wire.Raw) string { return value }, true)
}

// cut leaves a member out.
func cut(path string) edit { return at(path, func(string, wire.Raw) string { return "" }, false) }

// named gives a member another name.
func named(path, name string) edit {
	return func(m wire.Raw) (wire.Raw, bool) {
		return change(m, strings.Split(path, ">"), func(put func(string, wire.Raw), _ string, v wire.Raw) { put(name, v) })
	}
}

// at gives members new values; "" leaves one out. missing says that one which is
// not there is added.
func at(path string, fn func(name string, v wire.Raw) string, missing bool) edit {
	steps := strings.Split(path, ">")
	return func(m wire.Raw) (wire.Raw, bool) {
		out, ok := change(m, steps, func(put func(string, wire.Raw), k string, v wire.Raw) {
			if s := fn(k, v); s != "" {
				put(k, wire.Raw(s))
			}
		})
		if ok || !missing {
			return out, ok
		}
		last := steps[len(steps)-1]
		add := func(v wire.Raw) string {
			members, object := strings.CutSuffix(string(v), "}")
			if !object || last == "*" {
				return string(v)
			}
			if members != "{" {
				members += ","
			}
			return members + string(wire.Quote(last)) + ":" + fn(last, nil) + "}"
		}
		if len(steps) == 1 {
			return wire.Raw(add(m)), true
		}
		return change(m, steps[:len(steps)-1], func(put func(string, wire.Raw), k string, v wire.Raw) { put(k, wire.Raw(add(v))) })
	}
}

// change calls fn for each member and element that a path leads to; what it puts
// stands in its place. In an array the name is of no account.
func change(v wire.Raw, path []string, fn func(put func(name string, v wire.Raw), name string, v wire.Raw)) (out wire.Raw, changed bool) {
	var b bytes.Buffer
	object := v.Kind() == wire.KindObject
	put := func(name string, e wire.Raw) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		if object {
			b.Write(wire.Quote(name))
			b.WriteByte(':')
		}
		b.Write(e)
	}
	each := func(name string, e wire.Raw) {
		switch {
		case path[0] != name && path[0] != "*":
			put(name, e)
		case len(path) > 1:
			e, ok := change(e, path[1:], fn)
			changed = changed || ok
			put(name, e)
		default:
			changed = true
			fn(put, name, e)
		}
	}
	switch {
	case object:
		b.WriteByte('{')
		for k, e := range v.Members() {
			each(k, e)
		}
		b.WriteByte('}')
	case v.Kind() == wire.KindArray:
		b.WriteByte('[')
		n := 0
		for e := range v.Elems() {
			each(fmt.Sprint(n), e)
			n++
		}
		b.WriteByte(']')
	}
	if !changed {
		return v, false
	}
	return wire.Raw(b.Bytes()), true
}

// about says of which requests the answers are meant.
type about func(asked Message) bool

// method is requests for a method, "" for any, about one of these names.
func method(name string, about ...string) about {
	return func(m Message) bool {
		return m.Method != "" && (name == "" || m.Method == name) && (len(about) == 0 || slices.Contains(about, m.Name()))
	}
}

// results edits the results of requests.
func results(of about, edits ...edit) *Wire { return answers(of, "result", edits) }

// failures edits the errors that answer requests.
func failures(of about, edits ...edit) *Wire { return answers(of, "error", edits) }

func answers(of about, member string, edits []edit) *Wire {
	return &Wire{Output: func(_ *Link, asked Message, line string) string {
		if !of(asked) {
			return line
		}
		return eachMessage(line, func(m wire.Raw) wire.Raw {
			if m.Get(member) == nil {
				return m
			}
			return all(edits, m)
		})
	}}
}

func all(edits []edit, m wire.Raw) wire.Raw {
	for _, e := range edits {
		m, _ = e(m)
	}
	return m
}

// notes edits the notifications of a method.
func notes(name string, edits ...edit) *Wire {
	return &Wire{Output: func(_ *Link, _ Message, line string) string {
		return eachMessage(line, func(m wire.Raw) wire.Raw {
			if n, _ := m.Get("method").Str(); n != name || m.Get("id") != nil {
				return m
			}
			return all(edits, m)
		})
	}}
}

// asks edits the requests of the server for a method.
func asks(name string, edits ...edit) *Wire {
	return &Wire{Output: func(_ *Link, _ Message, line string) string {
		return eachMessage(line, func(m wire.Raw) wire.Raw {
			if n, _ := m.Get("method").Str(); n != name || m.Get("id") == nil {
				return m
			}
			return all(edits, m)
		})
	}}
}

// answer answers requests in place of the server: fn gets the request and gives
// the line, "" for silence.
func answer(of about, fn func(w *Link, m Message) string) *Wire {
	return &Wire{Input: func(w *Link, line []byte) []byte {
		v, err := wire.ParseRaw(line)
		if err != nil {
			return line
		}
		m := parse(v)
		if !of(m) {
			return line
		}
		if s := fn(w, m); s != "" {
			w.Line(s)
		}
		return nil
	}}
}

// refused answers requests by an error.
func refused(of about, code int) *Wire {
	return answer(of, func(_ *Link, m Message) string { return failure(m, code, "") })
}

func failure(m Message, code int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"%s}}`, m.ID, code, more)
}

// given answers requests by a result.
func given(of about, result string) *Wire {
	return answer(of, func(_ *Link, m Message) string { return success(m, result) })
}

func success(m Message, result string) string {
	if m.ID == nil {
		return ""
	}
	return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
}

// heard edits what the server hears of requests and notifications.
func heard(of about, edits ...edit) *Wire {
	return &Wire{Input: func(_ *Link, line []byte) []byte {
		v, err := wire.ParseRaw(line)
		if err != nil || !of(parse(v)) {
			return line
		}
		return all(edits, v)
	}}
}

// deaf hears nothing of lines that hold a text.
func deaf(holds string) *Wire {
	return &Wire{Input: func(_ *Link, line []byte) []byte {
		if bytes.Contains(line, []byte(holds)) {
			return nil
		}
		return line
	}}
}

// dying ends at a line that holds a text.
func dying(holds string) *Wire {
	return &Wire{Input: func(w *Link, line []byte) []byte {
		if bytes.Contains(line, []byte(holds)) {
			w.Exit(1)
			return nil
		}
		return line
	}}
}

// before says a line before the answer to requests, after behind it.
func before(of about, line string) *Wire {
	return &Wire{Output: func(w *Link, asked Message, a string) string {
		if of(asked) {
			w.Line(line)
		}
		return a
	}}
}

func after(of about, line string) *Wire {
	return &Wire{Output: func(w *Link, asked Message, a string) string {
		if of(asked) {
			w.Line(a)
			return line
		}
		return a
	}}
}

// spelt changes the text of the answers to requests.
func spelt(of about, fn func(line string) string) *Wire {
	return &Wire{Output: func(_ *Link, asked Message, line string) string {
		if of(asked) {
			return fn(line)
		}
		return line
	}}
}
