// Package match compares an observed JSON text with a golden one that may
// hold placeholders, and fills placeholders where a golden text is to be
// sent.
//
// A golden text is JSON. In it, these strings stand for something else:
//
//	"$any"     any value, null too
//	"$string" "$number" "$int" "$bool" "$array" "$object"   any value of that kind ($int: a whole number)
//	"$one:a|b" one of these strings
//	"$bind:x"  any value; it is remembered as x
//	"$ref:x"   the value that was remembered as x
//	"$$abc"    the string "$abc"
//
// Any other string that starts with '$' is refused. Objects are exact, in
// any order of members, unless they hold the member "$more":true: then
// others may stand beside the named ones. Arrays are exact and in order,
// unless their last element is "$more": then others may follow. The names of
// members are as they are ("$schema" is just a name); a member called $more
// is written "$$more".
//
// Numbers are equal when they are the same decimal: 1, 1.0 and 10e-1 are,
// and nothing is rounded. Strings are compared unescaped.
package match

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Bindings are the values that "$bind:x" remembered, by name.
type Bindings map[string]wire.Raw

// Options of a comparison; the zero value compares literally.
type Options struct {
	// Bindings are read by "$ref:x" and written by "$bind:x", the latter
	// only when the whole text matches. It must be set when the golden text
	// binds or refers.
	Bindings Bindings

	// Special, when set, is asked about each pair of a golden literal that
	// is a string or a number and the value in its place, with the path of
	// both ("params._meta.progressToken"). Where handled is false the
	// literal comparison decides.
	Special func(path string, want, got wire.Raw) (same, handled bool)

	// Volatile, when set, is asked about each observed member that an exact
	// golden object does not have: true lets it stand.
	Volatile func(path string, got wire.Raw) bool
}

// Mismatch is one difference.
type Mismatch struct {
	Path string `json:"path"` // "result.content[2].text"; "" is the whole value
	Want string `json:"want"` // what the golden text asks for there, in words or JSON
	Got  string `json:"got"`  // what was there
}

// String is "result.content[2].text: want …, got …".
func (m Mismatch) String() string {
	p := m.Path
	if p == "" {
		p = "the value"
	}
	return p + ": want " + m.Want + ", got " + m.Got
}

// maxMismatches bounds how many differences are listed.
const maxMismatches = 16

// Error lists the differences of two texts, in the order of the golden one.
type Error struct {
	Mismatches []Mismatch
	More       int // further ones that are not listed
}

// Error joins the differences with "; ".
func (e *Error) Error() string {
	var b strings.Builder
	for i, m := range e.Mismatches {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(m.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// Count is the number of differences.
func (e *Error) Count() int { return len(e.Mismatches) + e.More }

// kind of a node of a pattern.
type kind uint8

const (
	literal kind = iota
	anything
	someKind // a value of node.want
	someInt
	oneOf
	bind
	ref
	object
	array
)

type node struct {
	kind    kind
	raw     wire.Raw  // as written
	lit     wire.Raw  // literal: the value it stands for (an escape undone)
	want    wire.Kind // someKind
	name    string    // bind, ref
	names   []string  // object: unescaped names, in order; oneOf: the strings
	kids    []*node   // object: their values; array: elements
	more    bool
	moreRaw bool // some part of it is not sent as it is written
}

// Pattern is a golden text, ready for use. It is immutable.
type Pattern struct {
	root  *node
	plain bool // nothing in it is a placeholder
}

// Parse reads a golden text. The pattern aliases it.
func Parse(golden []byte) (*Pattern, error) {
	raw, err := wire.ParseRaw(golden)
	if err != nil {
		return nil, err
	}
	n, err := parse(raw, "", false)
	if err != nil {
		return nil, err
	}
	return &Pattern{root: n}, nil
}

// Literal reads a text in which nothing is a placeholder, such as one that
// was recorded. The pattern aliases it.
func Literal(text []byte) (*Pattern, error) {
	raw, err := wire.ParseRaw(text)
	if err != nil {
		return nil, err
	}
	n, err := parse(raw, "", true)
	if err != nil {
		return nil, err
	}
	return &Pattern{root: n, plain: true}, nil
}

// Raw is the golden text itself.
func (p *Pattern) Raw() wire.Raw { return p.root.raw }

func parse(raw wire.Raw, path string, plain bool) (*node, error) {
	n := &node{raw: raw, lit: raw}
	switch raw.Kind() {
	case wire.KindString:
		s, _ := raw.Str()
		if plain || !strings.HasPrefix(s, "$") {
			return n, nil
		}
		n.moreRaw = true
		return n, n.placeholder(s, path)
	case wire.KindArray:
		n.kind = array
		for v := range raw.Elems() {
			if n.more {
				return nil, errAt(path, `"$more" is not the last element`)
			}
			if s, ok := v.Str(); ok && s == "$more" && !plain {
				n.more, n.moreRaw = true, true
				continue
			}
			k, err := parse(v, path+"["+strconv.Itoa(len(n.kids))+"]", plain)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, k)
			n.moreRaw = n.moreRaw || k.moreRaw
		}
	case wire.KindObject:
		n.kind = object
		for name, v := range raw.Members() {
			if name == "$more" && !plain {
				if b, ok := v.Bool(); !ok || !b || n.more {
					return nil, errAt(path, `want "$more":true, once`)
				}
				n.more, n.moreRaw = true, true
				continue
			}
			if strings.HasPrefix(name, "$$") && !plain {
				name, n.moreRaw = name[1:], true
			}
			if slices.Contains(n.names, name) {
				return nil, errAt(member(path, name), "the member stands there twice")
			}
			k, err := parse(v, member(path, name), plain)
			if err != nil {
				return nil, err
			}
			n.names, n.kids = append(n.names, name), append(n.kids, k)
			n.moreRaw = n.moreRaw || k.moreRaw
		}
	}
	return n, nil
}

// placeholder reads a string that starts with '$'.
func (n *node) placeholder(s, path string) error {
	if strings.HasPrefix(s, "$$") {
		n.lit = wire.Quote(s[1:])
		return nil
	}
	n.kind = someKind
	switch s {
	case "$any":
		n.kind = anything
	case "$string":
		n.want = wire.KindString
	case "$number":
		n.want = wire.KindNumber
	case "$int":
		n.kind = someInt
	case "$bool":
		n.want = wire.KindBool
	case "$array":
		n.want = wire.KindArray
	case "$object":
		n.want = wire.KindObject
	default:
		word, name, ok := strings.Cut(s, ":")
		if ok && name != "" && word == "$bind" {
			n.kind, n.name = bind, name
			return nil
		}
		if ok && name != "" && word == "$one" {
			n.kind, n.names = oneOf, strings.Split(name, "|")
			return nil
		}
		if ok && name != "" && word == "$ref" {
			n.kind, n.name = ref, name
			return nil
		}
		return errAt(path, fmt.Sprintf("no placeholder is written %q: a string that starts with $ is written $$", s))
	}
	return nil
}

func errAt(path, msg string) error {
	if path == "" {
		return fmt.Errorf("golden text: %s", msg)
	}
	return fmt.Errorf("golden text: %s: %s", path, msg)
}

// member is the path of a member: path.name, or path["odd name"].
func member(path, name string) string {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && c != '-' && c != '$' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return path + "[" + strconv.Quote(name) + "]"
		}
	}
	if name == "" {
		return path + `[""]`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// Match compares two texts; see Pattern.Match.
func Match(golden, observed []byte, o Options) error {
	p, err := Parse(golden)
	if err != nil {
		return err
	}
	return p.Match(observed, o)
}

// Match compares an observed text with the pattern. The error is a *Error
// when the texts differ, and another one when observed is not JSON.
func (p *Pattern) Match(observed []byte, o Options) error {
	got, err := wire.ParseRaw(observed)
	if err != nil {
		return fmt.Errorf("what came is not JSON: %w", err)
	}
	m := matcher{o: o, bound: Bindings{}}
	m.match(p.root, got, "")
	if len(m.err.Mismatches) > 0 {
		return &m.err
	}
	if o.Bindings != nil {
		maps.Copy(o.Bindings, m.bound)
	}
	return nil
}

type matcher struct {
	o     Options
	bound Bindings // by this text
	err   Error
}

func (m *matcher) miss(path, want, got string) {
	if len(m.err.Mismatches) == maxMismatches {
		m.err.More++
		return
	}
	m.err.Mismatches = append(m.err.Mismatches, Mismatch{path, want, got})
}

func (m *matcher) match(n *node, got wire.Raw, path string) {
	switch n.kind {
	case literal:
		if m.o.Special != nil && (n.lit.Kind() == wire.KindString || n.lit.Kind() == wire.KindNumber) {
			if same, handled := m.o.Special(path, n.lit, got); handled {
				if !same {
					m.miss(path, show(n.lit)+" or what stands for it", show(got))
				}
				return
			}
		}
		if !wire.Equal(n.lit, got) {
			m.miss(path, show(n.lit), show(got))
		}
	case anything:
	case someKind:
		if got.Kind() != n.want {
			m.miss(path, kindName[n.want], show(got))
		}
	case someInt:
		if !whole(got) {
			m.miss(path, "a whole number", show(got))
		}
	case oneOf:
		if s, ok := got.Str(); !ok || !slices.Contains(n.names, s) {
			m.miss(path, "one of "+strings.Join(n.names, ", "), show(got))
		}
	case bind:
		if _, twice := m.lookup(n.name); twice {
			m.miss(path, "to remember "+n.name+" for the first time", "a second $bind:"+n.name)
			return
		}
		m.bound[n.name] = got.Clone()
	case ref:
		v, ok := m.lookup(n.name)
		switch {
		case !ok:
			m.miss(path, "what was remembered as "+n.name+" (nothing was)", show(got))
		case !wire.Equal(v, got):
			m.miss(path, show(v)+" (remembered as "+n.name+")", show(got))
		}
	case array:
		m.array(n, got, path)
	case object:
		m.object(n, got, path)
	}
}

func (m *matcher) lookup(name string) (wire.Raw, bool) {
	if v, ok := m.bound[name]; ok {
		return v, true
	}
	v, ok := m.o.Bindings[name]
	return v, ok
}

func (m *matcher) array(n *node, got wire.Raw, path string) {
	if got.Kind() != wire.KindArray {
		m.miss(path, show(n.raw), show(got))
		return
	}
	i := 0
	for v := range got.Elems() {
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case i < len(n.kids):
			m.match(n.kids[i], v, at)
		case !n.more:
			m.miss(at, "the end of the array", show(v))
		}
		i++
	}
	for ; i < len(n.kids); i++ {
		m.miss(path+"["+strconv.Itoa(i)+"]", show(n.kids[i].raw), "nothing")
	}
}

func (m *matcher) object(n *node, got wire.Raw, path string) {
	if got.Kind() != wire.KindObject {
		m.miss(path, show(n.raw), show(got))
		return
	}
	seen := make(map[string]wire.Raw)
	var extra []string
	for name, v := range got.Members() {
		if _, twice := seen[name]; twice {
			m.miss(member(path, name), "the member once", "it twice")
			continue
		}
		seen[name] = v
		if !n.more && !slices.Contains(n.names, name) {
			extra = append(extra, name)
		}
	}
	for i, name := range n.names {
		at := member(path, name)
		v, ok := seen[name]
		if !ok {
			m.miss(at, show(n.kids[i].raw), "nothing")
			continue
		}
		m.match(n.kids[i], v, at)
	}
	for _, name := range extra {
		at := member(path, name)
		if m.o.Volatile == nil || !m.o.Volatile(at, seen[name]) {
			m.miss(at, "no such member", show(seen[name]))
		}
	}
}

var kindName = map[wire.Kind]string{
	wire.KindNull:   "null",
	wire.KindBool:   "a boolean",
	wire.KindNumber: "a number",
	wire.KindString: "a string",
	wire.KindArray:  "an array",
	wire.KindObject: "an object",
}

// show shortens a value for a message.
func show(v wire.Raw) string {
	const most = 120
	s := v.String()
	if len(s) <= most {
		return s
	}
	for n := most; ; n-- {
		if s[n]&0xc0 != 0x80 { // not inside a rune
			return s[:n] + "… (" + strconv.Itoa(len(s)) + " bytes)"
		}
	}
}

// whole reports whether v is a number without a fraction, exactly.
func whole(v wire.Raw) bool {
	if v.Kind() != wire.KindNumber {
		return false
	}
	s := strings.TrimPrefix(strings.TrimSpace(string(v)), "-")
	mant, exp := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mant, exp = s[:i], s[i+1:]
	}
	ints, frac, _ := strings.Cut(mant, ".")
	frac = strings.TrimRight(frac, "0")
	if frac == "" && strings.Trim(ints, "0") == "" {
		return true // zero, whatever its exponent
	}
	e, err := strconv.Atoi(exp)
	if err != nil { // more digits than an int holds: only the sign matters
		return !strings.HasPrefix(exp, "-")
	}
	if frac != "" {
		return e >= len(frac)
	}
	return -e <= len(ints)-len(strings.TrimRight(ints, "0"))
}

// Fill is the text to send for the pattern: references and escapes replaced,
// "$more" left out and the other placeholders given a value of their kind
// ("$one:a|b" becomes "a", "$bind:x" the string "x", which is remembered). Replace, when set, is
// asked about each literal that is a string or a number, with its path; nil
// keeps it. A text in which nothing is replaced is returned as written, to
// the byte.
func (p *Pattern) Fill(b Bindings, replace func(path string, v wire.Raw) wire.Raw) ([]byte, error) {
	f := filler{b: b, replace: replace}
	if !p.root.moreRaw && (replace == nil || !f.replaces(p.root, "")) {
		return slices.Clone([]byte(p.root.raw)), nil
	}
	return f.fill(nil, p.root, "")
}

type filler struct {
	b       Bindings
	replace func(path string, v wire.Raw) wire.Raw
}

func (n *node) scalar() bool {
	return n.kind == literal && (n.lit.Kind() == wire.KindString || n.lit.Kind() == wire.KindNumber)
}

func (f *filler) replaces(n *node, path string) bool {
	if n.scalar() {
		return f.replace(path, n.lit) != nil
	}
	for i, k := range n.kids {
		if f.replaces(k, n.kidPath(path, i)) {
			return true
		}
	}
	return false
}

func (n *node) kidPath(path string, i int) string {
	if n.kind == object {
		return member(path, n.names[i])
	}
	return path + "[" + strconv.Itoa(i) + "]"
}

func (f *filler) fill(b []byte, n *node, path string) ([]byte, error) {
	var err error
	switch n.kind {
	case literal:
		v := n.lit
		if f.replace != nil && n.scalar() {
			if r := f.replace(path, v); r != nil {
				v = r
			}
		}
		return wire.AppendRaw(b, v), nil
	case anything:
		return append(b, "{}"...), nil
	case someInt:
		return append(b, '1'), nil
	case someKind:
		return append(b, sample[n.want]...), nil
	case oneOf:
		return wire.AppendString(b, n.names[0]), nil
	case bind:
		if f.b == nil {
			return b, errAt(path, "nothing can be remembered here")
		}
		if _, twice := f.b[n.name]; twice {
			return b, errAt(path, n.name+" is remembered already")
		}
		v := wire.Quote(n.name)
		f.b[n.name] = v
		return append(b, v...), nil
	case ref:
		v, ok := f.b[n.name]
		if !ok {
			return b, errAt(path, "nothing was remembered as "+n.name)
		}
		return wire.AppendRaw(b, v), nil
	case array:
		b = append(b, '[')
		for i, k := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = f.fill(b, k, n.kidPath(path, i)); err != nil {
				return b, err
			}
		}
		return append(b, ']'), nil
	default:
		b = append(b, '{')
		for i, k := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, n.names[i]), ':')
			if b, err = f.fill(b, k, n.kidPath(path, i)); err != nil {
				return b, err
			}
		}
		return append(b, '}'), nil
	}
}

// sample values that stand for placeholders in what is sent.
var sample = map[wire.Kind]string{
	wire.KindBool:   "true",
	wire.KindNumber: "1",
	wire.KindString: `"string"`,
	wire.KindArray:  "[]",
	wire.KindObject: "{}",
}
