package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
)

// Structure gives what a schema file says without the texts that explain it:
// definitions, keywords and values stay, descriptions go, keys are sorted and
// the layout is fixed. Two files of the same structure give the same bytes.
func Structure(name string, data []byte) ([]byte, error) {
	t, err := structure(name, data)
	if err != nil {
		return nil, err
	}
	return print(t)
}

// Hash is the sha256 of data in hex.
func Hash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

func structure(name string, data []byte) (any, error) {
	f, err := Parse(name, data)
	if err != nil {
		return nil, err
	}
	t, err := tree(name, data)
	if err != nil {
		return nil, err
	}
	for _, d := range t.(map[string]any)[f.Container].(map[string]any) {
		strip(d)
	}
	return t, nil
}

// strip removes the descriptions of a schema that Parse accepted.
func strip(t any) {
	m, ok := t.(map[string]any)
	if !ok {
		return // additionalProperties may be a boolean
	}
	delete(m, "description")
	for k, v := range m {
		switch k {
		case "properties":
			for _, s := range v.(map[string]any) {
				strip(s)
			}
		case "anyOf", "allOf":
			for _, s := range v.([]any) {
				strip(s)
			}
		case "items", "additionalProperties":
			strip(v)
		}
	}
}

// Difference is one place where two files say different things. A side that
// says nothing there is "".
type Difference struct {
	Pointer string
	Left    string // JSON text, shortened
	Right   string
}

// Compare gives the places where the structures of two schema files differ,
// in the order of their pointers; none when they are the same.
func Compare(leftName string, left []byte, rightName string, right []byte) ([]Difference, error) {
	l, err := structure(leftName, left)
	if err != nil {
		return nil, err
	}
	r, err := structure(rightName, right)
	if err != nil {
		return nil, err
	}
	var out []Difference
	compare(l, r, "", &out)
	return out, nil
}

func compare(l, r any, ptr string, out *[]Difference) {
	switch l := l.(type) {
	case map[string]any:
		if r, ok := r.(map[string]any); ok {
			keys := maps.Clone(l)
			maps.Copy(keys, r)
			for _, k := range slices.Sorted(maps.Keys(keys)) {
				lv, lok := l[k]
				rv, rok := r[k]
				switch {
				case !rok:
					*out = append(*out, Difference{Pointer: join(ptr, k), Left: text(lv)})
				case !lok:
					*out = append(*out, Difference{Pointer: join(ptr, k), Right: text(rv)})
				default:
					compare(lv, rv, join(ptr, k), out)
				}
			}
			return
		}
	case []any:
		if r, ok := r.([]any); ok && len(l) == len(r) {
			for i := range l {
				compare(l[i], r[i], join(ptr, strconv.Itoa(i)), out)
			}
			return
		}
	}
	if !same(l, r) {
		*out = append(*out, Difference{Pointer: ptr, Left: text(l), Right: text(r)})
	}
}

// same compares two values of which at most one is a map, or two arrays of different length.
func same(l, r any) bool {
	switch l.(type) {
	case map[string]any, []any:
		return false
	}
	switch r.(type) {
	case map[string]any, []any:
		return false
	}
	return l == r
}
