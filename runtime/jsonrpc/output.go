package jsonrpc

import (
	"reflect"
	"sync"

	"github.com/goldwire/goldwire/runtime/wire"
)

// scanned bounds, in bytes, the messages that are looked at as a whole before
// they are sent. In longer ones, which are mostly texts of ours, only the raw
// values are.
const scanned = 64 << 10

// checkOutput holds that b, which v wrote, is one JSON value. With a wire.Raw that
// the user made it may not be: the peer could at best answer such a message with an
// error without id. A generated v is asked itself (Validate), which is quicker and
// finds as well what b does not show: a raw value that ends what is around it and
// begins something else. at is the path of v in b. A nil v means that b is looked at
// as a whole.
func checkOutput(b []byte, at string, v any) error {
	if x, ok := v.(interface{ Validate() error }); ok && x.Validate() == nil {
		return nil
	}
	return lookAt(b, at, v)
}

// lookAt is checkOutput for what is not simply right.
func lookAt(b []byte, at string, v any) error {
	if v == nil {
		return checkRaw(b)
	}
	var found error
	switch x := v.(type) {
	case rawAppender:
		found = checkRaw(wire.Raw(x))
	case interface{ Validate() error }:
		found = x.Validate()
	default:
		if len(b) > scanned && eachRaw(reflect.ValueOf(v), checkRaw) == nil {
			return nil
		}
		return checkRaw(b)
	}
	if e, ok := found.(*wire.Error); found == nil || ok && (e.Kind == wire.ErrSyntax || e.Kind == wire.ErrUTF8) {
		return wire.Under(at, found)
	}
	// Something else is wrong with v, which is the user's affair. Behind it there
	// may be a raw value that is not JSON.
	raws := eachRaw(reflect.ValueOf(v), checkRaw)
	if raws == nil && len(b) > scanned {
		return nil
	}
	if err := checkRaw(b); err != nil {
		return err // its path is that of the whole
	}
	return wire.Under(at, raws)
}

// outputError is a result that is not JSON.
type outputError struct{ err error }

func (e *outputError) Error() string { return "the result is not JSON: " + e.err.Error() }

// badResult is checkOutput for a result, an *outputError.
func badResult(b []byte, v any) error {
	if err := checkOutput(b, "", v); err != nil {
		return &outputError{wire.Under("result", err)}
	}
	return nil
}

func checkRaw(b wire.Raw) error {
	if len(b) == 0 {
		return nil // it is written as null, or not at all
	}
	return b.Check()
}

// eachRaw calls f for the raw values that v holds, until one fails.
func eachRaw(v reflect.Value, f func(wire.Raw) error) error {
	if !v.IsValid() || !holdsRaw(v.Type()) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return eachRaw(v.Elem(), f)
	case reflect.Struct:
		for i := range v.NumField() {
			if err := eachRaw(v.Field(i), f); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		if isRaw(v.Type()) {
			return f(v.Bytes())
		}
		for i := range v.Len() {
			if err := eachRaw(v.Index(i), f); err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := eachRaw(it.Value(), f); err != nil {
				return err
			}
		}
	}
	return nil
}

// isRaw reports whether t is wire.Raw, or a type made of it that writes itself.
func isRaw(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

var rawHolders sync.Map // reflect.Type → bool

// holdsRaw reports whether values of a type may hold raw ones.
func holdsRaw(t reflect.Type) bool {
	if is, ok := rawHolders.Load(t); ok {
		return is.(bool)
	}
	is := findsRaw(t, map[reflect.Type]bool{})
	rawHolders.Store(t, is)
	return is
}

func findsRaw(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Map, reflect.Array:
		return findsRaw(t.Elem(), seen)
	case reflect.Slice:
		return isRaw(t) || findsRaw(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if findsRaw(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
