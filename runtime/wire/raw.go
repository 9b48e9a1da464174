package wire

import (
	"bytes"
	"iter"
)

// Kind is a JSON type.
type Kind uint8

const (
	// KindNone: there is no value.
	KindNone Kind = iota
	// KindNull is the type of null.
	KindNull
	// KindBool is the type of true and false.
	KindBool
	// KindNumber is the type of numbers.
	KindNumber
	// KindString is the type of strings.
	KindString
	// KindArray is the type of arrays.
	KindArray
	// KindObject is the type of objects.
	KindObject
)

var kindTexts = [...]string{"nothing", "null", "a boolean", "a number", "a string", "an array", "an object"}

// String returns a phrase for messages, as in "an object".
func (k Kind) String() string {
	if int(k) < len(kindTexts) {
		return kindTexts[k]
	}
	return kindTexts[0]
}

func kindOf(c byte) Kind {
	switch c {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindString
	case 't', 'f':
		return KindBool
	case 'n':
		return KindNull
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return KindNumber
	}
	return KindNone
}

// Raw is one JSON value as it is written. nil means that there is none. What a Dec hands out is valid and aliases the
// message buffer; make others with ParseRaw, MustRaw, Quote or an Appender. The methods expect valid text: on other text
// they return something harmless.
type Raw []byte

// ParseRaw checks that b holds one JSON value, white space around it allowed, and returns it without that space. The
// value aliases b. Up to HardMaxDepth levels are allowed.
func ParseRaw(b []byte) (Raw, error) {
	var d Dec
	d.Reset(b, Options{MaxDepth: HardMaxDepth})
	r, err := d.Raw()
	if err == nil {
		err = d.End()
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// MustRaw is ParseRaw for literals in code. It panics if s is not JSON.
func MustRaw(s string) Raw {
	r, err := ParseRaw([]byte(s))
	if err != nil {
		panic("wire.MustRaw: " + err.Error())
	}
	return r
}

// Valid reports whether b holds one JSON value, white space around it allowed, by the rules of ParseRaw. It allocates
// nothing.
func Valid(b []byte) bool {
	i, c := skipValue(b, ws(b, 0), 0, HardMaxDepth, nil)
	return c == cOK && ws(b, i) == len(b)
}

// Valid reports whether r is nil or one JSON value. Text that is not would change the meaning of the message it is written
// into.
func (r Raw) Valid() bool { return r == nil || Valid(r) }

// Check is Valid with an error that says what is wrong, and where in r. It is nil for nil.
func (r Raw) Check() error {
	if r.Valid() {
		return nil
	}
	_, err := ParseRaw(r)
	return err
}

// CheckObject is Check for a value that must be an object.
func (r Raw) CheckObject() error {
	if err := r.Check(); err != nil {
		return err
	}
	if k := r.Kind(); k != KindObject && k != KindNone {
		return &Error{Kind: ErrType, Msg: "want an object, got " + k.String()}
	}
	return nil
}

// Quote returns s as a JSON string.
func Quote(s string) Raw { return AppendString(make([]byte, 0, len(s)+2), s) }

// Kind returns the type of the value, KindNone if r is nil.
func (r Raw) Kind() Kind {
	if i := ws(r, 0); i < len(r) {
		return kindOf(r[i])
	}
	return KindNone
}

// member reads the member at i of an object, after { or a comma. next is the index behind it and its comma, or negative
// if it was the last.
func (r Raw) member(i int) (k []byte, esc bool, v Raw, next int, ok bool) {
	i = ws(r, i)
	if i >= len(r) || r[i] != '"' {
		return nil, false, nil, 0, false
	}
	e, esc, c := scanString(r, i+1)
	if c != cOK {
		return nil, false, nil, 0, false
	}
	k = r[i+1 : e]
	i = ws(r, e+1)
	if i >= len(r) || r[i] != ':' {
		return nil, false, nil, 0, false
	}
	v, next, ok = r.elem(i + 1)
	return k, esc, v, next, ok
}

func (r Raw) elem(i int) (v Raw, next int, ok bool) {
	i = ws(r, i)
	e, c := skipValue(r, i, 0, HardMaxDepth, nil)
	if c != cOK {
		return nil, 0, false
	}
	if next = ws(r, e); next < len(r) && r[next] == ',' {
		next++
	} else {
		next = -1
	}
	return r[i:e:e], next, true
}

func (r Raw) enter(open byte) (int, bool) {
	i := ws(r, 0)
	return i + 1, i < len(r) && r[i] == open
}

// Get returns the value of the member whose unescaped name is key, nil if there is none or r is no object. Of several
// the first counts.
func (r Raw) Get(key string) Raw {
	i, ok := r.enter('{')
	for ok && i >= 0 {
		var k []byte
		var esc bool
		var v Raw
		if k, esc, v, i, ok = r.member(i); ok && (string(k) == key || esc && unescaped(k) == key) {
			return v
		}
	}
	return nil
}

// Members goes over the members of an object, names unescaped, in order; over nothing if r is no object. The values
// alias r, the names are copies.
func (r Raw) Members() iter.Seq2[string, Raw] {
	return func(yield func(string, Raw) bool) {
		i, ok := r.enter('{')
		for ok && i >= 0 {
			var k []byte
			var esc bool
			var v Raw
			k, esc, v, i, ok = r.member(i)
			if !ok {
				return
			}
			name := ""
			if esc {
				name = unescaped(k)
			} else {
				name = string(k)
			}
			if !yield(name, v) {
				return
			}
		}
	}
}

// Elems goes over the elements of an array; over nothing if r is no array. They alias r.
func (r Raw) Elems() iter.Seq[Raw] {
	return func(yield func(Raw) bool) {
		i, ok := r.enter('[')
		for ok && i >= 0 {
			var v Raw
			if v, i, ok = r.elem(i); !ok || !yield(v) {
				return
			}
		}
	}
}

// Str returns the string that r is, lone surrogate escapes as U+FFFD. It is a copy.
func (r Raw) Str() (string, bool) {
	i, ok := r.enter('"')
	if !ok {
		return "", false
	}
	e, esc, c := scanString(r, i)
	if c != cOK {
		return "", false
	}
	if esc {
		return unescaped(r[i:e]), true
	}
	return string(r[i:e]), true
}

// Int returns the integer that r is, by the rules of Dec.Int.
func (r Raw) Int() (int64, bool) {
	i := ws(r, 0)
	e, plain, c := scanNumber(r, i)
	if c != cOK {
		return 0, false
	}
	v, ok, in := parseInt(r[i:e], plain)
	return v, ok && in
}

// Float returns the number that r is, false if it does not fit.
func (r Raw) Float() (float64, bool) {
	i := ws(r, 0)
	e, _, c := scanNumber(r, i)
	if c != cOK {
		return 0, false
	}
	return parseFloat(r[i:e])
}

// Bool returns the boolean that r is.
func (r Raw) Bool() (v, ok bool) {
	i := ws(r, 0)
	switch {
	case literal(r, i, "true"):
		return true, true
	case literal(r, i, "false"):
		return false, true
	}
	return false, false
}

// Clone returns a copy that shares nothing with r; nil stays nil.
func (r Raw) Clone() Raw { return bytes.Clone(r) }

// String returns the text of r.
func (r Raw) String() string { return string(r) }

// MarshalJSON returns the text; null if r is nil.
func (r Raw) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// UnmarshalJSON keeps a copy of b.
func (r *Raw) UnmarshalJSON(b []byte) error {
	*r = bytes.Clone(b)
	return nil
}

// AppendJSON is AppendRaw.
func (r Raw) AppendJSON(b []byte) []byte { return AppendRaw(b, r) }

// DecodeJSON reads any value. It aliases the buffer.
func (r *Raw) DecodeJSON(d *Dec) (err error) {
	*r, err = d.Raw()
	return err
}
