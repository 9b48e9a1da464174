package validate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Bounds of what is handed to the library. It computes with numbers exactly,
// so a short literal with a huge exponent takes it down.
const (
	maxNumber   = 64  // bytes of a number literal
	maxExponent = 308 // of a number literal, either way
	maxDepth    = 256
)

// ErrLimit says that a value is outside what this package compares.
var ErrLimit = errors.New("outside the limits of validation")

// tree builds the form of a value that the library takes. Of members with the
// same name the first counts, as everywhere in this module.
func tree(r wire.Raw, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: more than %d levels", ErrLimit, maxDepth)
	}
	switch r.Kind() {
	case wire.KindNull:
		return nil, nil
	case wire.KindBool:
		b, _ := r.Bool()
		return b, nil
	case wire.KindString:
		if s, ok := r.Str(); ok {
			return s, nil
		}
		// A lone surrogate: valid JSON, but no string of any language.
		var s string
		if err := json.Unmarshal(r, &s); err != nil {
			return nil, err
		}
		return s, nil
	case wire.KindNumber:
		n := strings.TrimSpace(string(r))
		if len(n) > maxNumber {
			return nil, fmt.Errorf("%w: a number of %d bytes", ErrLimit, len(n))
		}
		if i := strings.IndexAny(n, "eE"); i >= 0 {
			if e, err := strconv.Atoi(n[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
				return nil, fmt.Errorf("%w: the number %s", ErrLimit, n)
			}
		}
		return json.Number(n), nil
	case wire.KindArray:
		out := []any{}
		for e := range r.Elems() {
			v, err := tree(e, depth+1)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case wire.KindObject:
		out := map[string]any{}
		for k, e := range r.Members() {
			if _, twice := out[k]; twice {
				continue
			}
			v, err := tree(e, depth+1)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	}
	return nil, errors.New("no JSON value")
}
