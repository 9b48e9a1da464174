package wire

import "strconv"

// Dec reads one JSON text, value by value, in the order of the text. The zero value is ready after Reset and may be used
// for any number of messages, one after the other, by one goroutine at a time. After an error only Skip may follow.
type Dec struct {
	b       []byte
	i       int
	depth   int // open containers
	max     int
	first   bool // the innermost container has had no element yet
	alias   bool
	lenient bool

	block []byte // where copies of short strings go; len is what is used
	key   []byte // the current name, when it had to be unescaped

	bools  []bool
	strs   []string
	ints   []int64
	floats []float64

	names map[string]struct{} // of owner, when it has many members
	owner *Members

	look memo
	at   pather

	skipped    []Problem
	skippedN   int
	maxSkipped int
}

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
	d.block = nil
	if cap(d.key) > 1<<12 {
		d.key = nil
	}
	d.bools, d.strs, d.ints, d.floats = nil, nil, nil, nil
	d.names, d.owner = nil, nil
	d.look.covered = 0
	if cap(d.look.spans) > 1<<12 {
		d.look.spans = nil
	}
	d.at.reset()
	d.skipped, d.skippedN = nil, 0
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
// comes next. The name is good until the next call of any method; use KeyString to keep it. done means that the object
// ended and was left.
func (d *Dec) Key() (k []byte, done bool, err error) {
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
		k, lone = appendUnescaped(d.key[:0], k)
		d.key = k
		if lone >= 0 {
			if err := d.surrogate(i + 1 + lone); err != nil {
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
	b := d.b
	i := ws(b, d.i)
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
	b := d.b
	i := ws(b, d.i)
	if i >= len(b) || b[i] != '"' {
		return "", d.want(i, "a string")
	}
	e, esc, c := scanString(b, i+1)
	if c != cOK {
		return "", d.fail(e, c)
	}
	d.i = e + 1
	if esc {
		return d.unescape(i+1, e)
	}
	return d.own(b[i+1 : e]), nil
}

func (d *Dec) unescape(i, e int) (string, error) {
	out, lone := appendUnescaped(make([]byte, 0, e-i), d.b[i:e])
	if lone >= 0 {
		if err := d.surrogate(i + lone); err != nil {
			return "", err
		}
	}
	return str(out), nil
}

// surrogate deals with a lone surrogate escape at i.
func (d *Dec) surrogate(i int) error {
	err := d.error(ErrValue, i, "lone surrogate escape", "")
	if !d.lenient {
		return err
	}
	d.record(err)
	return nil
}

const (
	blockSize = 1024 // bytes that short strings share at most
	shortMax  = 256  // longest string that goes into a block
)

// own returns p, which aliases the message, as a string to hand out.
func (d *Dec) own(p []byte) string {
	if d.alias {
		return str(p)
	}
	return d.copyString(p)
}

func (d *Dec) copyString(p []byte) string {
	n := len(d.block)
	if len(p) > cap(d.block)-n {
		if len(p) > shortMax {
			return string(p)
		}
		d.block = make([]byte, 0, min(blockSize, len(d.b)-d.i+len(p)))
		n = 0
	}
	d.block = append(d.block, p...)
	return str(d.block[n:])
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
	i := ws(d.b, d.i)
	if i < len(d.b) && d.b[i] == 'n' && literal(d.b, i, "null") {
		d.i = i + 4
		return true
	}
	return false
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

// Float reads a number. The sign of -0 is kept; a number too large for a float64 is an error.
func (d *Dec) Float() (float64, error) {
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

// cut shows the start of a literal.
func cut(s []byte) string {
	if len(s) > 40 {
		return string(s[:40]) + "…"
	}
	return string(s)
}

// slot takes one variable from a slab, so that optional scalars do not cost an allocation each.
func slot[T any](s *[]T) *T {
	if len(*s) == cap(*s) {
		*s = make([]T, 0, min(max(4, 2*cap(*s)), 32))
	}
	*s = (*s)[:len(*s)+1]
	return &(*s)[len(*s)-1]
}

// StrPtr reads an optional string: nil if null comes, which peers send for an absent member. A few variables of one
// message share memory.
func (d *Dec) StrPtr() (*string, error) {
	if d.Null() {
		return nil, nil
	}
	v, err := d.Str()
	if err != nil {
		return nil, err
	}
	p := slot(&d.strs)
	*p = v
	return p, nil
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
	p := slot(&d.bools)
	*p = v
	return p, nil
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
	p := slot(&d.ints)
	*p = v
	return p, nil
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
	p := slot(&d.floats)
	*p = v
	return p, nil
}

// Raw reads any value as it is written. It is checked in full and aliases the buffer.
func (d *Dec) Raw() (Raw, error) {
	i := ws(d.b, d.i)
	e, c := skipValue(d.b, i, d.depth, d.max, nil)
	if c != cOK {
		return nil, d.fail(e, c)
	}
	d.i = e
	return Raw(d.b[i:e:e]), nil
}

// RawObject is Raw for a value that must be an object.
func (d *Dec) RawObject() (Raw, error) {
	i := ws(d.b, d.i)
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
	b := d.b
	i := ws(b, d.i)
	if n := i + 1 + len(want); n < len(b) && b[i] == '"' && b[n] == '"' && string(b[i+1:n]) == want {
		d.i = n + 1
		return nil
	}
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
// text, when decoding strictly and when the text is not JSON or breaks a limit.
func (d *Dec) Skip(m Mark, err error) error {
	e, ok := err.(*Error)
	if !d.lenient || ok && e.Kind.fatal() {
		return err
	}
	i, c := skipValue(d.b, m.pos, m.depth, d.max, nil)
	if c != cOK {
		return d.fail(i, c)
	}
	if !ok {
		e = d.error(ErrValue, ws(d.b, m.pos), err.Error(), "")
	}
	d.record(e)
	d.i, d.depth, d.first = i, m.depth, false
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
	d.look.finish(end)
	if err != nil {
		return 0, err
	}
	return i, nil
}

// Disc looks ahead into the object that comes next and returns the string that its member key holds. ok is false if there
// is no such member; a member of another type is an error. Nothing is consumed. The string may alias the buffer, whatever
// the options: use Own to keep it.
func (d *Dec) Disc(key string) (tag string, ok bool, err error) {
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
		out, _ := appendUnescaped(nil, b[i+1:e])
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

// LookKind looks ahead into the object that comes next and returns the kind of a member's value, KindNone if there is no
// such member. Several names are as for Has. Nothing is consumed.
func (d *Dec) LookKind(path ...string) (Kind, error) {
	i, err := d.lookup(path)
	if err != nil || i < 0 || i >= len(d.b) {
		return KindNone, err
	}
	return kindOf(d.b[i]), nil
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
	if k == KindNone {
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
