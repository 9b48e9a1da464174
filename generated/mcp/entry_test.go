// Package mcp_test goes over all types of all revisions at once.
package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// value is what every generated type can do.
type value interface {
	wire.Appender
	Validate() error
}

// entry makes and copies values of one type.
type entry struct {
	decode func(d *wire.Dec) (value, error)
	clone  func(value) value // nil for unions, which have no Clone of their own
	json   func() jsonValue  // nil for unions
}

type jsonValue interface {
	value
	json.Marshaler
	json.Unmarshaler
}

func typ[T any, P interface {
	*T
	jsonValue
	wire.Decoder
	Clone() *T
}]() entry {
	return entry{
		decode: func(d *wire.Dec) (value, error) {
			x := P(new(T))
			return x, x.DecodeJSON(d)
		},
		clone: func(v value) value { return P(v.(P).Clone()) },
		json:  func() jsonValue { return P(new(T)) },
	}
}

func named[T any, P interface {
	*T
	jsonValue
	wire.Decoder
	Clone() T
}]() entry {
	return entry{
		decode: func(d *wire.Dec) (value, error) {
			x := P(new(T))
			return x, x.DecodeJSON(d)
		},
		clone: func(v value) value { c := v.(P).Clone(); return P(&c) },
		json:  func() jsonValue { return P(new(T)) },
	}
}

func union[T value](decode func(*wire.Dec) (T, error)) entry {
	return entry{decode: func(d *wire.Dec) (value, error) {
		v, err := decode(d)
		return v, err
	}}
}

// read decodes a whole text.
func (e entry) read(text []byte, o wire.Options) (value, []wire.Problem, error) {
	var d wire.Dec
	d.Reset(text, o)
	v, err := e.decode(&d)
	if err == nil {
		err = d.End()
	}
	return v, d.Skipped(), err
}

// write encodes, and holds that the outcome is JSON without a line break.
func write(t *testing.T, v value) wire.Raw {
	t.Helper()
	raw, err := wire.ParseRaw(v.AppendJSON(nil))
	if err != nil || bytes.IndexByte(raw, '\n') >= 0 { // a require for each value would take most of the time
		t.Fatalf("%v: %s", err, raw)
	}
	return raw
}

// same reads a text, writes it again, and holds that nothing was changed.
func (e entry) same(t *testing.T, text string) value {
	t.Helper()
	v, _, err := e.read([]byte(text), wire.Options{})
	require.NoError(t, err, text)
	requireEqual(t, text, write(t, v))
	return v
}

func requireEqual(t *testing.T, want string, got wire.Raw) {
	t.Helper()
	if !wire.Equal(wire.Raw(want), got) {
		t.Fatalf("want %s\ngot  %s", want, got)
	}
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }
