package jsonrpc

import (
	"strconv"

	"github.com/goldwire/goldwire/runtime/wire"
)

// ID is the id of a request, or a progress token: a string or an integer,
// exactly as it was spelled. Two ids are equal (==) when their spelling is: 1,
// 1.0, "1" and a number of twenty digits all differ, and none is ever changed
// by passing through here. The zero ID is no id.
type ID struct {
	kind idKind
	num  int64
	str  string
}

type idKind uint8

const (
	idNone    idKind = iota
	idInt            // num, in its shortest decimal spelling
	idString         // str, unescaped; this package spells it the way it came
	idLiteral        // str is the JSON text: a large or unusual number, a string with unusual escapes
)

// NewID is the id with the given number.
func NewID(n int64) ID { return ID{kind: idInt, num: n} }

// StringID is the id with the given text.
func StringID(s string) ID { return ID{kind: idString, str: s} }

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

// DecodeJSON reads a string or an integer. A null, a fraction or any other
// value is a *wire.Error.
func (id *ID) DecodeJSON(d *wire.Dec) error {
	panic("unimplemented")
}
