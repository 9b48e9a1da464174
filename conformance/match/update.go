package match

import (
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Update is the pattern as it has to be to match an observed text: what still
// matches stays as it is, placeholders too, and the rest becomes what was
// observed. Members keep the order that the golden text has, with new ones
// behind them.
func (p *Pattern) Update(observed wire.Raw, o Options) []byte {
	o.Bindings = bindingsOrNone(o.Bindings)
	return update(nil, p.root, observed, "", o, p.plain)
}

func bindingsOrNone(b Bindings) Bindings {
	if b == nil {
		return Bindings{}
	}
	return b
}

func update(b []byte, n *node, got wire.Raw, path string, o Options, plain bool) []byte {
	m := matcher{o: o, bound: Bindings{}}
	if m.match(n, got, path); len(m.err.Mismatches) == 0 {
		return append(b, n.raw...)
	}
	switch {
	case n.kind == object && got.Kind() == wire.KindObject:
		b = append(b, '{')
		sep := func() {
			if b[len(b)-1] != '{' {
				b = append(b, ',')
			}
		}
		known := map[string]bool{}
		for i, name := range n.names {
			known[name] = true
			v := got.Get(name)
			if v == nil {
				continue
			}
			sep()
			b = append(wire.AppendString(b, goldenName(name, plain)), ':')
			b = update(b, n.kids[i], v, member(path, name), o, plain)
		}
		if n.more {
			sep()
			return append(b, `"$more":true}`...)
		}
		for name, v := range got.Members() {
			if known[name] || o.Volatile != nil && o.Volatile(member(path, name), v) {
				continue
			}
			sep()
			b = append(wire.AppendString(b, goldenName(name, plain)), ':')
			b = escape(b, v, plain)
		}
		return append(b, '}')
	case n.kind == array && got.Kind() == wire.KindArray:
		b = append(b, '[')
		i := 0
		for v := range got.Elems() {
			if i == len(n.kids) && n.more {
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			if i < len(n.kids) {
				b = update(b, n.kids[i], v, n.kidPath(path, i), o, plain)
			} else {
				b = escape(b, v, plain)
			}
			i++
		}
		if n.more {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, `"$more"`...)
		}
		return append(b, ']')
	}
	return escape(b, got, plain)
}

func goldenName(name string, plain bool) string {
	if !plain && (name == "$more" || strings.HasPrefix(name, "$$")) {
		return "$" + name
	}
	return name
}

// Escape is the golden text that stands for a value literally.
func Escape(v wire.Raw) []byte { return escape(nil, v, false) }

func escape(b []byte, v wire.Raw, plain bool) []byte {
	if plain {
		return append(b, v...)
	}
	switch v.Kind() {
	case wire.KindString:
		if s, _ := v.Str(); strings.HasPrefix(s, "$") {
			return wire.AppendString(b, "$"+s)
		}
	case wire.KindArray:
		b = append(b, '[')
		first := true
		for e := range v.Elems() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = escape(b, e, plain)
		}
		return append(b, ']')
	case wire.KindObject:
		b = append(b, '{')
		first := true
		for name, e := range v.Members() {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(wire.AppendString(b, goldenName(name, plain)), ':')
			b = escape(b, e, plain)
		}
		return append(b, '}')
	}
	return append(b, v...)
}
