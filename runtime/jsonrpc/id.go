package jsonrpc

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/goldwire/goldwire/runtime/wire"
)

// ID is the id of a request, or a progress token: a string or an integer,
// exactly as it was spelled. Two ids are equal (==) when their spelling is: 1,
// 1.0, "1" and a number of twenty digits all differ, and none is ever changed
// by passing through here. It never aliases a message. The zero ID is no id.
type ID struct {
	kind idKind
	num  int64
	str  string
}

type idKind uint8

const (
	idNone     idKind = iota
	idInt             // num, in its shortest decimal spelling
	idString          // str, unescaped; this package spells it the way it came
	idLiteral         // str is the JSON text: a large or unusual number, a string with unusual escapes
	idNullText        // null, where there is no id
)

// NullID stands for no id that is written as null, which only an error about a
// request that could not be read may have. No request has it.
var NullID = ID{kind: idNullText}

// NewID is the id with the given number.
func NewID(n int64) ID { return ID{kind: idInt, num: n} }

// StringID is the id with the given text.
func StringID(s string) ID { return ID{kind: idString, str: s} }

// maxID bounds the id of a request, in bytes: each answer repeats it.
const maxID = 1 << 10

var errLongID = fmt.Errorf("id: longer than %d bytes", maxID)

func (id ID) tooLong() bool { return len(id.str) > maxID }

// IsZero reports whether id is no id.
func (id ID) IsZero() bool { return id.kind == idNone }

// Int returns the number of an id that is an integer of at most 64 bits in its
// usual spelling.
func (id ID) Int() (int64, bool) { return id.num, id.kind == idInt }

// Str returns the text of an id that is a string.
func (id ID) Str() (string, bool) {
	switch id.kind {
	case idString:
		return id.str, true
	case idLiteral:
		return wire.Raw(id.str).Str()
	}
	return "", false
}

// String is the id as JSON text, "none" for the zero ID.
func (id ID) String() string {
	if id.kind == idNone {
		return "none"
	}
	return string(id.AppendJSON(nil))
}

// AppendJSON appends the id as it was spelled; null for the zero ID.
func (id ID) AppendJSON(b []byte) []byte {
	switch id.kind {
	case idInt:
		return strconv.AppendInt(b, id.num, 10)
	case idString:
		return wire.AppendString(b, id.str)
	case idLiteral:
		return append(b, id.str...)
	}
	return append(b, "null"...)
}

// MarshalJSON is AppendJSON.
func (id ID) MarshalJSON() ([]byte, error) { return id.AppendJSON(nil), nil }

// UnmarshalJSON reads a string or an integer; null gives the zero ID.
func (id *ID) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*id = ID{}
		return nil
	}
	return wire.Decode(b, wire.Options{}, id)
}

// DecodeJSON reads a string or an integer (1.0 and 1e2 are integers, and keep
// their spelling). A null, a fraction or any other value is a *wire.Error.
func (id *ID) DecodeJSON(d *wire.Dec) error {
	if n, ok := d.ShortInt(); ok {
		*id = NewID(n)
		return nil
	}
	switch k := d.Kind(); k {
	case wire.KindString, wire.KindNumber:
	default:
		return d.Fail(wire.ErrType, "want a string or an integer, got "+k.String())
	}
	r, err := d.Raw()
	if err != nil {
		return err
	}
	v, ok := idOf(r)
	if !ok {
		return d.Fail(wire.ErrType, "want a string or an integer, got the fraction "+string(r))
	}
	*id = v
	return nil
}

// idOf reads an id from a valid JSON value.
func idOf(r wire.Raw) (ID, bool) {
	if len(r) == 0 {
		return ID{}, false
	}
	if r[0] == '"' {
		if bytes.IndexByte(r, '\\') < 0 {
			return ID{kind: idString, str: string(r[1 : len(r)-1])}, true
		}
		if s, ok := r.Str(); ok && string(wire.AppendString(nil, s)) == string(r) {
			return ID{kind: idString, str: s}, true
		}
		return ID{kind: idLiteral, str: string(r)}, true
	}
	if r[0] != '-' && (r[0] < '0' || r[0] > '9') {
		return ID{}, false
	}
	if n, ok := shortInt(r); ok {
		return ID{kind: idInt, num: n}, true
	}
	if !integral(r) {
		return ID{}, false
	}
	return ID{kind: idLiteral, str: string(r)}, true
}

// shortInt reads an integer in the spelling that strconv would give it.
func shortInt(r []byte) (int64, bool) {
	neg := r[0] == '-'
	if neg {
		r = r[1:]
		if len(r) == 0 || r[0] == '0' {
			return 0, false
		}
	}
	if len(r) == 0 || len(r) > 18 { // 18 digits never overflow; longer ones stay literals unless they parse
		if len(r) != 19 {
			return 0, false
		}
		n, err := strconv.ParseInt(string(r), 10, 64)
		if err != nil {
			return 0, false
		}
		if neg {
			n = -n
		}
		return n, true
	}
	var n int64
	for _, c := range r {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// integral reports whether a JSON number has an integer as its value.
func integral(r []byte) bool {
	mant, exp := r, "0"
	if i := bytes.IndexAny(r, "eE"); i >= 0 {
		mant, exp = r[:i], string(r[i+1:])
	}
	whole, frac, _ := bytes.Cut(mant, []byte{'.'})
	digits := append(bytes.Clone(bytes.TrimPrefix(whole, []byte{'-'})), frac...)
	if len(bytes.Trim(digits, "0")) == 0 {
		return true // zero
	}
	e, err := strconv.Atoi(exp)
	switch {
	case err != nil || e > len(frac) || e < -len(digits): // further than there are digits
		return exp[0] != '-'
	case e >= len(frac):
		return true
	}
	// So many of the last digits are behind the point.
	behind := len(frac) - e
	return len(digits)-len(bytes.TrimRight(digits, "0")) >= behind
}
