package wire

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Equal reports whether two values are the same JSON value: numbers as exact decimals, strings by what they mean, objects
// without regard to the order of different names. Members of the same name are compared in their order. The time is
// bounded by the length of the texts, whatever the exponents in them say. nil equals only nil; text that is not JSON
// equals only itself.
func Equal(a, b Raw) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if bytes.Equal(a, b) {
		return true
	}
	x, ok := newTape(a)
	if !ok {
		return false
	}
	y, ok := newTape(b)
	return ok && x.equal(0, y, 0)
}

// tape is a value taken apart: its nodes in the order of the text.
type tape struct {
	b     []byte
	nodes []node
}

type node struct {
	kind Kind
	name string // of a member
	text []byte // of a scalar; of a string its body
	n    int    // elements or members
	end  int    // index of the node behind this one and all it holds
}

func newTape(r Raw) (*tape, bool) {
	if _, err := ParseRaw(r); err != nil {
		return nil, false
	}
	t := &tape{b: r}
	t.read(ws(r, 0), "")
	return t, true
}

// read adds the valid value at i, and returns the index after it. It recurses at most HardMaxDepth deep.
func (t *tape) read(i int, name string) int {
	at := len(t.nodes)
	k := kindOf(t.b[i])
	t.nodes = append(t.nodes, node{kind: k, name: name})
	start := i
	n := 0
	switch k {
	case KindObject, KindArray:
		for i = ws(t.b, i+1); t.b[i] != '}' && t.b[i] != ']'; n++ {
			if t.b[i] == ',' {
				i = ws(t.b, i+1)
			}
			name := ""
			if k == KindObject {
				e, _, _ := scanString(t.b, i+1)
				name = exact(t.b[i+1 : e])
				i = ws(t.b, ws(t.b, e+1)+1)
			}
			i = ws(t.b, t.read(i, name))
		}
		i++
	case KindString:
		e, _, _ := scanString(t.b, i+1)
		t.nodes[at].text = t.b[i+1 : e]
		i = e + 1
	case KindNumber:
		i, _, _ = scanNumber(t.b, i)
		t.nodes[at].text = t.b[start:i]
	default:
		for i < len(t.b) && t.b[i] >= 'a' && t.b[i] <= 'z' {
			i++
		}
		t.nodes[at].text = t.b[start:i]
	}
	t.nodes[at].n, t.nodes[at].end = n, len(t.nodes)
	return i
}

// sorted returns the members of the object at i by name.
func (t *tape) sorted(i int) []int {
	c := make([]int, 0, t.nodes[i].n)
	for j := i + 1; j < t.nodes[i].end; j = t.nodes[j].end {
		c = append(c, j)
	}
	slices.SortStableFunc(c, func(a, b int) int { return strings.Compare(t.nodes[a].name, t.nodes[b].name) })
	return c
}

// sameOrder reports whether the members at i and at j have the same names in the same order.
func (t *tape) sameOrder(i int, o *tape, j int) bool {
	end := t.nodes[i].end
	for i, j = i+1, j+1; i < end; i, j = t.nodes[i].end, o.nodes[j].end {
		if t.nodes[i].name != o.nodes[j].name {
			return false
		}
	}
	return true
}

func (t *tape) equal(i int, o *tape, j int) bool {
	a, b := &t.nodes[i], &o.nodes[j]
	if a.kind != b.kind || a.n != b.n {
		return false
	}
	switch a.kind {
	case KindObject, KindArray:
		if t.sameOrder(i, o, j) {
			for i, j = i+1, j+1; i < a.end; i, j = t.nodes[i].end, o.nodes[j].end {
				if !t.equal(i, o, j) {
					return false
				}
			}
			return true
		}
		ca, cb := t.sorted(i), o.sorted(j)
		for k := range ca {
			if t.nodes[ca[k]].name != o.nodes[cb[k]].name || !t.equal(ca[k], o, cb[k]) {
				return false
			}
		}
		return true
	case KindNumber:
		if bytes.Equal(a.text, b.text) {
			return true
		}
		x, y := parseDecimal(a.text), parseDecimal(b.text)
		return x.equal(&y)
	case KindString:
		return bytes.Equal(a.text, b.text) || exact(a.text) == exact(b.text)
	}
	return bytes.Equal(a.text, b.text)
}

// exact returns the meaning of a valid string body, with each lone surrogate in the three bytes that UTF-8 would have for
// it, so that different texts never become one. The result aliases s if there is no escape.
func exact(s []byte) string {
	if bytes.IndexByte(s, '\\') < 0 {
		return str(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		if s[i+1] != 'u' {
			out = append(out, escapes[s[i+1]])
			i += 2
			continue
		}
		r := hex4(s[i+2:])
		i += 6
		if !utf16.IsSurrogate(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		if len(s)-i >= 6 && s[i] == '\\' && s[i+1] == 'u' {
			if p := utf16.DecodeRune(r, hex4(s[i+2:])); p != utf8.RuneError {
				out = utf8.AppendRune(out, p)
				i += 6
				continue
			}
		}
		out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return str(out)
}
