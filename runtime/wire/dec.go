package wire

import (
	"math/bits"
	"strconv"
)

// Dec reads one JSON text, value by value, in the order of the text. The zero value is ready after Reset and may be used
// for any number of messages, one after the other, by one goroutine at a time. After an error only Skip may follow.
type Dec struct {
	b          []byte
	i          int
	depth      int // open containers
	max        int
	maxSkipped int
	first      bool // the innermost container has had no element yet
	alias      bool
	lenient    bool

	taken

	// Space that is used again for the next text.
	key     []byte // the current name, when it had to be unescaped
	scratch []byte // where strings are unescaped
	look    memo
	at      pather
}

// taken is what belongs to the values of one text and is never used again.
type taken struct {
	block     []byte // where copies of short strings go
	used      int    // how much of block is taken
	blockNext int    // the size of the next block

	bools  slab[bool]
	strs   slab[string]
	ints   slab[int64]
	floats slab[float64]

	names nameSet // of owner, when it has many members
	owner *Members

	skipped  []Problem
	skippedN int
}

// maxKept bounds, in elements, the space of several kinds that is kept for the next text.
const maxKept = 1 << 10

// Reset makes d read b from its start. Everything d kept of an earlier text is forgotten, but for values it handed out.
func (d *Dec) Reset(b []byte, o Options) {
	d.b, d.i, d.depth, d.first = b, 0, 0, false
	d.alias, d.lenient = o.Alias, o.Lenient
	d.max = o.MaxDepth
	if d.max <= 0 {
		d.max = DefaultMaxDepth
	}
	d.max = min(d.max, HardMaxDepth)
	d.maxSkipped = o.MaxSkipped
	if d.maxSkipped <= 0 {
		d.maxSkipped = DefaultMaxSkipped
	}
	d.taken = taken{}
	d.look.covered = 0
	d.at.reset()
	if max(cap(d.key), cap(d.look.texts), cap(d.look.spans), cap(d.look.open), cap(d.at.frames)) > maxKept {
		d.shrink()
	}
}

// shrink lets go of space that an unusual text needed.
func (d *Dec) shrink() {
	d.key, d.look, d.at = nil, memo{}, pather{}
}

// Pos returns the offset of the next byte to be read.
func (d *Dec) Pos() int { return d.i }

// Lenient reports whether decoding is lenient.
func (d *Dec) Lenient() bool { return d.lenient }

// End returns an error unless only white space is left.
func (d *Dec) End() error {
	if d.i = ws(d.b, d.i); d.i < len(d.b) {
		return d.fail(d.i, cTrailing)
	}
	return nil
}

// Kind returns the kind of the next value, by its first byte. Nothing is consumed. KindNone means that no value starts
// there.
func (d *Dec) Kind() Kind {
	d.i = ws(d.b, d.i)
	if d.i < len(d.b) {
		return kindOf(d.b[d.i])
	}
	return KindNone
}

// ObjBegin enters an object. After it, call Key until done.
func (d *Dec) ObjBegin() error {
	i := ws(d.b, d.i)
	if i >= len(d.b) || d.b[i] != '{' {
		return d.want(i, "an object")
	}
	if d.depth >= d.max {
		return d.fail(i, cDepth)
	}
	d.depth++
	d.i = i + 1
	d.first = true
	return nil
}

// ArrBegin enters an array. After it, call Elem until done.
func (d *Dec) ArrBegin() error {
	i := ws(d.b, d.i)
	if i >= len(d.b) || d.b[i] != '[' {
		return d.want(i, "an array")
	}
	if d.depth >= d.max {
		return d.fail(i, cDepth)
	}
	d.depth++
	d.i = i + 1
	d.first = true
	return nil
}

// Key reads the next member name of the object that was entered, unescaped, and the colon behind it; the member's value
// comes next. The name is good until Key is called again, for this object or one inside it; use KeyString to keep it. done
// means that the object ended and was left.
func (d *Dec) Key() (k []byte, done bool, err error) {
	// The usual text has no white space here and no escape in the name; anything else is left to slowKey.
	b, i := d.b, d.i
	if i >= 0 && i < len(b) {
		switch c := b[i]; {
		case c == '}':
			d.i = i + 1
			d.depth--
			d.first = false
			return nil, true, nil
		case d.first:
			if c != '"' {
				return d.slowKey()
			}
		case c == ',':
			if i++; i >= len(b) || b[i] != '"' {
				return d.slowKey()
			}
		default:
			return d.slowKey()
		}
		i++
		for s := i; len(b)-i >= 9; i += 8 {
			m := special(le64(b[i:]))
			if m == 0 {
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
			if i+1 < len(b) && b[i] == '"' && b[i+1] == ':' {
				d.first = false
				d.i = i + 2
				return b[s:i:i], false, nil
			}
			break
		}
	}
	return d.slowKey()
}

func (d *Dec) slowKey() (k []byte, done bool, err error) {
	b := d.b
	i := ws(b, d.i)
	if i >= len(b) {
		return nil, false, d.failKey(i)
	}
	switch c := b[i]; {
	case c == '}':
		d.i = i + 1
		d.depth--
		d.first = false
		return nil, true, nil
	case d.first:
	case c == ',':
		i = ws(b, i+1)
		if i >= len(b) || b[i] != '"' {
			return nil, false, d.fail(i, cKey)
		}
	default:
		return nil, false, d.fail(i, cObjNext)
	}
	if b[i] != '"' {
		return nil, false, d.failKey(i)
	}
	d.first = false
	e, esc, c := scanString(b, i+1)
	if c != cOK {
		return nil, false, d.fail(e, c)
	}
	k = b[i+1 : e : e]
	if esc {
		var lone int
		k, _, lone, _ = unescape(d.key[:0], b, i+1)
		d.key = k
		if lone >= 0 {
			if err := d.surrogate(lone); err != nil {
				return nil, false, err
			}
		}
	}
	i = ws(b, e+1)
	if i >= len(b) || b[i] != ':' {
		return nil, false, d.fail(i, cColon)
	}
	d.i = i + 1
	return k, false, nil
}

func (d *Dec) failKey(i int) error {
	if d.first {
		return d.fail(i, cKeyOrEnd)
	}
	return d.fail(i, cObjNext)
}

// KeyString returns k, as Key gave it, as a string to keep.
func (d *Dec) KeyString(k []byte) string {
	if len(d.key) > 0 && len(k) > 0 && &d.key[0] == &k[0] {
		return d.copyString(k)
	}
	return d.own(k)
}

// Elem goes to the next element of the array that was entered, which comes next. done means that the array ended and was
// left.
func (d *Dec) Elem() (done bool, err error) {
	b, i := d.b, d.i
	if i >= 0 && i < len(b) && b[i] <= ' ' {
		i = ws(b, i)
	}
	if i < len(b) {
		switch c := b[i]; {
		case c == ']':
			d.i = i + 1
			d.depth--
			d.first = false
			return true, nil
		case d.first:
			d.i = i
			d.first = false
			return false, nil
		case c == ',':
			d.i = i + 1
			return false, nil
		}
	}
	if d.first {
		return false, d.fail(i, cValue)
	}
	return false, d.fail(i, cArrNext)
}

// Str reads a string.
func (d *Dec) Str() (string, error) {
	b, i := d.b, d.i
	if i >= 0 && i < len(b) && b[i] != '"' {
		i = ws(b, i)
	}
	if i < 0 || i >= len(b) || b[i] != '"' {
		return "", d.want(i, "a string")
	}
	i++
	s := i
	if len(b)-i < 8 {
		i = plain(b, i)
	} else if m := special(le64(b[i:])); m != 0 {
		i += bits.TrailingZeros64(m) >> 3
	} else if e := d.look.text(i - 1); e > 0 { // looked over before
		i = e - 1
	} else {
		i = plain(b, i+8)
	}
	if i < len(b) && b[i] == '"' {
		d.i = i + 1
		return d.own(b[s:i]), nil
	}
	return d.slowStr(s, i)
}

// slowStr reads a string whose body starts at s and is plain up to i, but not there.
func (d *Dec) slowStr(s, i int) (string, error) {
	b := d.b
	for i < len(b) && b[i] >= 0x80 {
		var ok bool
		if i, ok = scanRunes(b, i); !ok {
			return "", d.fail(badRune(b, i))
		}
		i = plain(b, i)
	}
	if i < len(b) && b[i] == '"' {
		d.i = i + 1
		return d.own(b[s:i]), nil
	}
	if i >= len(b) {
		return "", d.fail(i, cUnterminated)
	}
	if b[i] != '\\' {
		return "", d.fail(i, cCtl)
	}
	// What was read is copied, the rest is translated into the scratch space.
	out, e, lone, c := unescape(append(d.scratch[:0], b[s:i]...), b, i)
	if c != cOK {
		return "", d.fail(e, c)
	}
	d.i = e + 1
	if cap(out) <= maxScratch {
		d.scratch = out
	}
	if lone >= 0 {
		if err := d.surrogate(lone); err != nil {
			return "", err
		}
	}
	if cap(out) > maxScratch && len(out) >= cap(out)/2 {
		return str(out), nil
	}
	return d.copyString(out), nil
}

// surrogate deals with a lone surrogate escape at i.
func (d *Dec) surrogate(i int) error {
	if d.lenient && len(d.skipped) >= d.maxSkipped {
		d.skippedN++
		return nil
	}
	err := d.error(ErrValue, i, "lone surrogate escape", "")
	if !d.lenient {
		return err
	}
	d.record(err)
	return nil
}

const (
	blockSize  = 1024    // bytes that short strings share at most
	shortMax   = 256     // longest string that goes into a block
	maxScratch = 1 << 16 // scratch space that is kept from string to string
)

// own returns p, which aliases the message, as a string to hand out.
func (d *Dec) own(p []byte) string {
	if d.alias {
		return str(p)
	}
	return d.copyString(p)
}

func (d *Dec) copyString(p []byte) string {
	n := d.used
	if len(p) > len(d.block)-n {
		return d.newBlock(p)
	}
	d.used = n + len(p)
	q := d.block[n:d.used]
	copy(q, p)
	return str(q)
}

// newBlock copies p when it has no place in the block. The first string of a message is on its own, then blocks grow, so
// that a message with few strings does not pay for many.
func (d *Dec) newBlock(p []byte) string {
	if len(p) > shortMax {
		return string(p)
	}
	n := d.blockNext
	d.blockNext = min(max(64, 4*n), blockSize)
	if n == 0 {
		return string(p)
	}
	d.block = make([]byte, max(min(n, len(d.b)-d.i+len(p)), len(p)))
	d.used = copy(d.block, p)
	return str(d.block[:d.used:d.used])
}

// Own returns s as a string that may be kept: a copy, unless strings alias the buffer anyway. It is for what Disc
// returned.
func (d *Dec) Own(s string) string {
	if d.alias {
		return s
	}
	return d.copyString([]byte(s))
}

// Bool reads true or false.
func (d *Dec) Bool() (bool, error) {
	i := ws(d.b, d.i)
	switch {
	case literal(d.b, i, "true"):
		d.i = i + 4
		return true, nil
	case literal(d.b, i, "false"):
		d.i = i + 5
		return false, nil
	}
	return false, d.want(i, "true or false")
}

// Null consumes a null if it comes next and says whether it did. Generated code treats null for an optional member as if
// the member were absent.
func (d *Dec) Null() bool {
	if i := d.i; i >= 0 && i < len(d.b) && d.b[i] > ' ' && d.b[i] != 'n' {
		return false
	}
	return d.slowNull()
}

func (d *Dec) slowNull() bool {
	i := ws(d.b, d.i)
	if !literal(d.b, i, "null") {
		return false
	}
	d.i = i + 4
	return true
}

// number reads a literal.
func (d *Dec) number(what string) (lit []byte, plain bool, err error) {
	i := ws(d.b, d.i)
	if i >= len(d.b) || d.b[i] != '-' && d.b[i]-'0' > 9 {
		return nil, false, d.want(i, what)
	}
	e, plain, c := scanNumber(d.b, i)
	if c != cOK {
		return nil, false, d.fail(e, c)
	}
	d.i = e
	return d.b[i:e], plain, nil
}

// Int reads an integer: any int64 written without fraction and exponent, or up to 2^53 either way as in 1.0 and 1e2.
func (d *Dec) Int() (int64, error) {
	if v, ok := d.ShortInt(); ok {
		return v, nil
	}
	s, plain, err := d.number("an integer")
	if err != nil {
		return 0, err
	}
	v, ok, in := parseInt(s, plain)
	switch {
	case !ok:
		return 0, d.error(ErrType, d.i-len(s), "want an integer, got "+cut(s), "")
	case !in:
		return 0, d.error(ErrRange, d.i-len(s), cut(s)+" is out of range for an integer", "")
	}
	return v, nil
}

// ShortInt reads a number of at most 18 digits and nothing else, as nearly all integers are written; 0 is not among them.
// Anything else is left in its place, with ok false.
func (d *Dec) ShortInt() (v int64, ok bool) {
	b, i := d.b, ws(d.b, d.i)
	if i >= len(b) || b[i]-'1' >= 9 {
		return 0, false
	}
	k := i
	for ; k < len(b) && k < i+18 && b[k]-'0' < 10; k++ {
		v = v*10 + int64(b[k]-'0')
	}
	if k < len(b) && (b[k]-'0' < 10 || b[k] == '.' || b[k]|0x20 == 'e') {
		return 0, false
	}
	d.i = k
	return v, true
}

// Float reads a number. The sign of -0 is kept; a number too large for a float64 is an error.
func (d *Dec) Float() (float64, error) {
	if v, ok := d.fastFloat(); ok {
		return v, nil
	}
	s, _, err := d.number("a number")
	if err != nil {
		return 0, err
	}
	v, ok := parseFloat(s)
	if !ok {
		return 0, d.error(ErrRange, d.i-len(s), cut(s)+" is out of range for a number", "")
	}
	return v, nil
}

// fastFloat reads a number of at most 15 digits and no exponent, for which a division is exact. It leaves alone what it
// does not take.
func (d *Dec) fastFloat() (float64, bool) {
	b, i := d.b, d.i
	neg := i < len(b) && b[i] == '-'
	if neg {
		i++
	}
	start := i
	v, frac := int64(0), 0
	for ; i < len(b) && b[i]-'0' < 10; i++ {
		v = v*10 + int64(b[i]-'0')
	}
	n := i - start
	if n == 0 || n > 15 || n > 1 && b[start] == '0' {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		i++
		p := i
		for ; i < len(b) && b[i]-'0' < 10; i++ {
			v = v*10 + int64(b[i]-'0')
		}
		if frac = i - p; frac == 0 || n+frac > 15 {
			return 0, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		return 0, false
	}
	d.i = i
	f := float64(v)
	if frac > 0 {
		f /= pow10[frac&15]
	}
	if neg {
		f = -f
	}
	return f, true
}

var pow10 = [16]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// cut shows the start of a literal.
func cut(s []byte) string {
	if len(s) > 40 {
		return string(s[:40]) + "…"
	}
	return string(s)
}

// slabMax is the most variables of one type that share memory.
const slabMax = 64

// slab is the memory that variables of one type share. The first is on its own, and the next slab has four times as many.
type slab[T any] []T

// hold returns a variable that holds v.
func (s *slab[T]) hold(v T) *T {
	if len(*s) == cap(*s) {
		*s = make([]T, 0, min(max(1, 4*cap(*s)), slabMax))
	}
	n := len(*s)
	*s = (*s)[:n+1]
	(*s)[n] = v
	return &(*s)[n]
}

// StrPtr reads an optional string: nil if null comes, which peers send for an absent member. Such variables of one message
// share memory, at most 64 of them.
func (d *Dec) StrPtr() (*string, error) {
	if d.Null() {
		return nil, nil
	}
	v, err := d.Str()
	if err != nil {
		return nil, err
	}
	return d.strs.hold(v), nil
}

// BoolPtr is Bool for an optional member, by the rules of StrPtr.
func (d *Dec) BoolPtr() (*bool, error) {
	if d.Null() {
		return nil, nil
	}
	v, err := d.Bool()
	if err != nil {
		return nil, err
	}
	return d.bools.hold(v), nil
}

// IntPtr is Int for an optional member, or one whose type allows null, by the rules of StrPtr.
func (d *Dec) IntPtr() (*int64, error) {
	if d.Null() {
		return nil, nil
	}
	v, err := d.Int()
	if err != nil {
		return nil, err
	}
	return d.ints.hold(v), nil
}

// FloatPtr is Float for an optional member, by the rules of StrPtr.
func (d *Dec) FloatPtr() (*float64, error) {
	if d.Null() {
		return nil, nil
	}
	v, err := d.Float()
	if err != nil {
		return nil, err
	}
	return d.floats.hold(v), nil
}

// Raw reads any value as it is written. It is checked in full and aliases the buffer.
func (d *Dec) Raw() (Raw, error) {
	i := d.i
	if i < len(d.b) && d.b[i] <= ' ' {
		i = ws(d.b, i)
	}
	e, c := skipValue(d.b, i, d.depth, d.max, nil)
	if c != cOK {
		return nil, d.fail(e, c)
	}
	d.i = e
	return Raw(d.b[i:e:e]), nil
}

// RawObject is Raw for a value that must be an object.
func (d *Dec) RawObject() (Raw, error) {
	i := d.i
	if i < len(d.b) && d.b[i] <= ' ' {
		i = ws(d.b, i)
	}
	if i >= len(d.b) || d.b[i] != '{' {
		return nil, d.want(i, "an object")
	}
	return d.Raw()
}

// RawObjectOpt is RawObject for an optional member: nil if null comes.
func (d *Dec) RawObjectOpt() (Raw, error) {
	if d.Null() {
		return nil, nil
	}
	return d.RawObject()
}

// Strs reads an array of strings. It is never nil without an error.
func (d *Dec) Strs() ([]string, error) {
	if err := d.ArrBegin(); err != nil {
		return nil, err
	}
	l := []string{}
	start := d.Mark()
	for {
		if done, err := d.Elem(); done || err != nil {
			return l, err
		}
		m := d.Mark()
		s, err := d.Str()
		if err != nil {
			if err = d.Skip(m, err); err != nil {
				return nil, err
			}
			continue
		}
		if len(l) == cap(l) {
			l = Grow(d, l, start)
		}
		l = append(l, s)
	}
}

// StrsOpt is Strs for an optional member: nil if null comes.
func (d *Dec) StrsOpt() ([]string, error) {
	if d.Null() {
		return nil, nil
	}
	return d.Strs()
}

// Const reads a string that must be want.
func (d *Dec) Const(want string) error {
	b, i := d.b, d.i
	if n := i + 1 + len(want); i >= 0 && n < len(b) && b[i] == '"' && b[n] == '"' && string(b[i+1:n]) == want {
		d.i = n + 1
		return nil
	}
	return d.slowConst(want)
}

func (d *Dec) slowConst(want string) error {
	i := ws(d.b, d.i)
	got, err := d.Str()
	if err != nil {
		return err
	}
	if got != want {
		return d.error(ErrValue, i, "want "+strconv.Quote(want)+", got "+cutQuote(got), "")
	}
	return nil
}

func cutQuote(s string) string {
	if len(s) > 40 {
		return strconv.Quote(s[:40]) + "…"
	}
	return strconv.Quote(s)
}

// Dup returns the error for a member that came before, to be called between the Key that gave its name and the next one,
// before or after its value is read.
func (d *Dec) Dup() error {
	return d.error(ErrDuplicate, d.i, "duplicate member", "")
}

// Require returns nil if every bit of need is in seen, and otherwise an error that names the first missing member, where
// names[i] belongs to bit 1<<i. It is called right after Key said done.
func (d *Dec) Require(seen, need uint64, names []string) error {
	if seen&need == need {
		return nil
	}
	return d.missing(seen, need, names)
}

func (d *Dec) missing(seen, need uint64, names []string) error {
	for i, n := range names {
		if need&^seen>>i&1 != 0 {
			return d.error(ErrMissing, max(0, d.i-1), "missing", n)
		}
	}
	return d.error(ErrMissing, max(0, d.i-1), "a member is missing", "")
}

// Mark is a place to which Skip can return.
type Mark struct{ pos, depth int }

// Mark remembers the place of the value that comes next, for Skip.
func (d *Dec) Mark() Mark { return Mark{d.i, d.depth} }

// Skip is called with an error that the value at m caused. When decoding leniently it records the error and moves behind
// that value, so that the next list element can be read. It returns an error, err itself or what else is wrong with the
// text, when decoding strictly and when the text is not JSON or breaks a limit; MaxProblems is one.
func (d *Dec) Skip(m Mark, err error) error {
	e, ok := err.(*Error)
	if !d.lenient || ok && e.Kind.fatal() {
		return err
	}
	if d.skippedN >= MaxProblems {
		return d.error(ErrLimit, ws(d.b, m.pos), "more than "+strconv.Itoa(MaxProblems)+" problems", "")
	}
	i, c := skipValue(d.b, m.pos, m.depth, d.max, nil)
	if c != cOK {
		return d.fail(i, c)
	}
	switch {
	case ok:
		d.record(e)
	case len(d.skipped) >= d.maxSkipped:
		d.skippedN++
	default:
		d.record(d.error(ErrValue, ws(d.b, m.pos), err.Error(), ""))
	}
	d.i, d.depth, d.first = i, m.depth, false
	d.owner = nil // the next element may stand where this one stood
	return nil
}

// Forgive records that a missing or invalid member was defaulted: name is its name, what says what was done, as in
// "missing, taken as private". It is called after Key said done, or with the member's value read and name empty.
func (d *Dec) Forgive(what, name string) {
	if len(d.skipped) >= d.maxSkipped {
		d.skippedN++
		return
	}
	off := d.i
	kind := ErrValue
	if name != "" {
		off = max(0, d.i-1)
		kind = ErrMissing
	}
	d.record(d.error(kind, off, what, name))
}

func (d *Dec) record(e *Error) {
	d.skippedN++
	if len(d.skipped) < d.maxSkipped {
		d.skipped = append(d.skipped, Problem{e.Kind, e.Path, e.Msg, e.Offset})
	}
}

// Skipped returns what lenient decoding passed over, in the order it was found and at most Options.MaxSkipped of it. The
// slice is the caller's after the next Reset.
func (d *Dec) Skipped() []Problem { return d.skipped }

// SkippedCount returns how many problems lenient decoding passed over, those included that Skipped does not keep.
func (d *Dec) SkippedCount() int { return d.skippedN }

// find looks for a member of the object that starts at i, white space before it allowed, and returns where its value
// starts, or a negative number. depth is the number of containers around the object. end is where reading stopped.
func (d *Dec) find(i, depth int, key string) (at, end int, err error) {
	b := d.b
	i = ws(b, i)
	if i >= len(b) || b[i] != '{' {
		return 0, i, d.want(i, "an object")
	}
	if depth >= d.max {
		return 0, i, d.fail(i, cDepth)
	}
	i = ws(b, i+1)
	if i < len(b) && b[i] == '}' {
		return -1, i, nil
	}
	miss := cKeyOrEnd
	for {
		if i >= len(b) || b[i] != '"' {
			return 0, i, d.fail(i, miss)
		}
		e, esc, c := scanString(b, i+1)
		if c != cOK {
			return 0, e, d.fail(e, c)
		}
		k := b[i+1 : e]
		i = ws(b, e+1)
		if i >= len(b) || b[i] != ':' {
			return 0, i, d.fail(i, cColon)
		}
		i = ws(b, i+1)
		if string(k) == key || esc && unescaped(k) == key {
			return i, i, nil
		}
		if i, c = skipValue(b, i, depth+1, d.max, &d.look); c != cOK {
			return 0, i, d.fail(i, c)
		}
		i = ws(b, i)
		switch {
		case i < len(b) && b[i] == ',':
			i = ws(b, i+1)
			miss = cKey
		case i < len(b) && b[i] == '}':
			return -1, i, nil
		default:
			return 0, i, d.fail(i, cObjNext)
		}
	}
}

// lookup finds a member, several levels down when there are several names. at is negative if it is absent.
func (d *Dec) lookup(path []string) (at int, err error) {
	d.look.begin(d.i, len(d.b))
	i, end := d.i, d.i
	for n, key := range path {
		if n > 0 {
			if i = ws(d.b, i); i >= len(d.b) || d.b[i] != '{' {
				i = -1
				break
			}
		}
		if i, end, err = d.find(i, d.depth+n, key); err != nil || i < 0 {
			break
		}
	}
	d.look.finish(end, err != nil)
	if err != nil {
		return 0, err
	}
	return i, nil
}

// Disc looks ahead into the object that comes next and returns the string that its member key holds. ok is false if there
// is no such member; a member of another type is an error. Nothing is consumed. The string may alias the buffer, whatever
// the options: use Own to keep it.
func (d *Dec) Disc(key string) (tag string, ok bool, err error) {
	// The usual object has the member first, and no white space.
	b, i := d.b, d.i
	if n := i + 2 + len(key); i >= 0 && n+3 < len(b) && b[i] == '{' && b[i+1] == '"' && string(b[i+2:n]) == key &&
		b[n] == '"' && b[n+1] == ':' && b[n+2] == '"' {
		s := n + 3
		if i = plain(b, s); i < len(b) && b[i] == '"' {
			return str(b[s:i]), true, nil
		}
	}
	return d.slowDisc(key)
}

func (d *Dec) slowDisc(key string) (tag string, ok bool, err error) {
	i, err := d.lookup([]string{key})
	if err != nil || i < 0 {
		return "", false, err
	}
	b := d.b
	if i >= len(b) || b[i] != '"' {
		return "", false, d.want(i, "a string")
	}
	e, esc, c := scanString(b, i+1)
	if c != cOK {
		return "", false, d.fail(e, c)
	}
	if esc {
		out, _, _, _ := unescape(nil, b, i+1)
		return str(out), true, nil
	}
	return str(b[i+1 : e]), true, nil
}

// Has looks ahead into the object that comes next and says whether it has the member; with several names, whether that
// member is an object that has the next, and so on. Nothing is consumed.
func (d *Dec) Has(path ...string) (bool, error) {
	i, err := d.lookup(path)
	return err == nil && i >= 0, err
}

// error makes an error at off; last is a member to add to its path.
func (d *Dec) error(k ErrorKind, off int, msg, last string) *Error {
	return &Error{Kind: k, Path: d.at.path(d.b, off, last), Msg: msg, Offset: int64(off)}
}

// Fail returns an error at the value that comes next, for rules that generated or hand-written decoders add.
func (d *Dec) Fail(k ErrorKind, msg string) error {
	return d.error(k, ws(d.b, d.i), msg, "")
}

// want is the error for a value of the wrong type at i.
func (d *Dec) want(i int, what string) error {
	k := KindNone
	if i < len(d.b) {
		k = kindOf(d.b[i])
	}
	if k == KindNone || k == KindNull && !literal(d.b, i, "null") ||
		k == KindBool && !literal(d.b, i, "true") && !literal(d.b, i, "false") {
		return d.fail(i, cValue)
	}
	return d.error(ErrType, i, "want "+what+", got "+k.String(), "")
}

// fail turns what a scanner found into an error.
func (d *Dec) fail(i int, c code) error {
	i = min(i, len(d.b))
	k, msg := ErrSyntax, ""
	switch c {
	case cValue:
		msg = "want a value"
	case cKey:
		msg = "want a member name"
	case cKeyOrEnd:
		msg = "want a member name or }"
	case cColon:
		msg = "want a colon"
	case cObjNext:
		msg = "want a comma or }"
	case cArrNext:
		msg = "want a comma or ]"
	case cNumber:
		msg = "want a digit"
	case cCtl:
		msg = "control character in a string"
	case cEscape:
		msg = "invalid escape in a string"
	case cUnterminated:
		msg = "the text ends inside a string"
	case cTrailing:
		msg = "want the end of the text"
	case cUTF8:
		k, msg = ErrUTF8, "invalid UTF-8 in a string"
	case cDepth:
		k, msg = ErrDepth, "nested deeper than "+strconv.Itoa(d.max)
	case cNumLen:
		k, msg = ErrLimit, "number literal longer than "+strconv.Itoa(MaxNumberLen)+" bytes"
	}
	switch c {
	case cValue, cKey, cKeyOrEnd, cColon, cObjNext, cArrNext, cNumber, cTrailing:
		if i < len(d.b) {
			msg += ", got " + showByte(d.b[i])
		} else {
			msg += ", got the end of the text"
		}
	}
	return d.error(k, i, msg, "")
}

func showByte(c byte) string {
	if c > ' ' && c < 0x7f {
		return string(rune(c))
	}
	return "byte 0x" + string(hexDigits[c>>4]) + string(hexDigits[c&15])
}
