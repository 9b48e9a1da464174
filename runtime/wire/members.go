package wire

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Member is one member of an object that its Go type does not know.
type Member struct {
	Name  string
	Value Raw
}

// Members are the unknown members of an object, in order.
type Members []Member

// indexMin is the number of members from which names are looked up in an index while decoding.
const indexMin = 16

// Get returns the value of a member, nil if there is none.
func (m Members) Get(name string) Raw {
	for i := range m {
		if m[i].Name == name {
			return m[i].Value
		}
	}
	return nil
}

// Has reports whether there is a member of that name.
func (m Members) Has(name string) bool {
	for i := range m {
		if m[i].Name == name {
			return true
		}
	}
	return false
}

// Set gives a member a value, in its place or at the end; nil takes the member out.
func (m *Members) Set(name string, v Raw) {
	for i := range *m {
		if (*m)[i].Name == name {
			if v == nil {
				*m = append((*m)[:i:i], (*m)[i+1:]...)
			} else {
				(*m)[i].Value = v
			}
			return
		}
	}
	if v != nil {
		*m = append(*m, Member{name, v})
	}
}

// Check reports the first member that AppendMembers leaves out, because known reports its name or it came before, and the
// first value that is not JSON.
func (m Members) Check(known func(string) bool) error {
	if len(m) == 0 {
		return nil
	}
	return m.check(known)
}

func (m Members) check(known func(string) bool) error {
	var seen nameSet
	for i := range m {
		switch name := m[i].Name; {
		case known != nil && known(name):
			return Under(step(name), &Error{Kind: ErrDuplicate, Msg: "the name of a field"})
		case len(m) <= indexMin && m[:i].Has(name):
			return Under(step(name), &Error{Kind: ErrDuplicate, Msg: "duplicate member"})
		case len(m) > indexMin:
			if seen.slot == nil {
				seen.fill(nil)
			}
			if !seen.add(m[:i], name) {
				return Under(step(name), &Error{Kind: ErrDuplicate, Msg: "duplicate member"})
			}
		}
		err := m[i].Value.Check()
		if err == nil && m[i].Value == nil {
			err = &Error{Kind: ErrMissing, Msg: "missing"}
		}
		if err != nil {
			return Under(step(m[i].Name), err)
		}
	}
	return nil
}

// Clone returns a copy that shares nothing with m; nil stays nil.
func (m Members) Clone() Members {
	if m == nil {
		return nil
	}
	c := make(Members, len(m))
	for i := range m {
		c[i] = Member{strings.Clone(m[i].Name), m[i].Value.Clone()} // names may alias the message too
	}
	return c
}

// Take reads the value of a member that the Go type does not know; key is what Key returned. A name that came before is
// an error.
func (m *Members) Take(d *Dec, key []byte) error {
	l := *m
	if len(l) < indexMin {
		for i := range l {
			if l[i].Name == string(key) {
				return d.Dup()
			}
		}
	} else {
		if d.owner != m || d.names.n != len(l) {
			d.owner = m
			d.names.fill(l)
		}
		if !d.names.add(l, str(key)) {
			return d.Dup()
		}
	}
	name := d.KeyString(key)
	v, err := d.Raw()
	if err != nil {
		return err
	}
	*m = append(l, Member{name, v})
	return nil
}

// nameSet finds names among many members. It holds places in the list, not the names, each with its hash.
type nameSet struct {
	n    int      // names added
	slot []uint64 // hash << 32 | place + 1; 0 is free
}

var seed = maphash.MakeSeed()

func (s *nameSet) fill(m Members) {
	s.n = 0
	s.slot = make([]uint64, 4*indexMin)
	for i := range m {
		s.add(m[:i], m[i].Name)
	}
}

// add adds the name that is to follow those of m, all of which were added. It returns false if m has it.
func (s *nameSet) add(m Members, name string) bool {
	h := maphash.String(seed, name) >> 32
	mask := uint64(len(s.slot) - 1)
	i := h & mask
	for ; s.slot[i] != 0; i = (i + 1) & mask {
		if e := s.slot[i]; e>>32 == h && m[uint32(e)-1].Name == name {
			return false
		}
	}
	s.n++
	s.slot[i] = h<<32 | uint64(len(m)+1)
	if 2*s.n > len(s.slot) {
		old := s.slot
		s.slot = make([]uint64, 4*len(old))
		mask = uint64(len(s.slot) - 1)
		for _, e := range old {
			if e != 0 {
				i := e >> 32 & mask
				for s.slot[i] != 0 {
					i = (i + 1) & mask
				}
				s.slot[i] = e
			}
		}
	}
	return true
}

// step is a name as a path of one step.
func step(name string) string { return string(appendPathKey(nil, name)) }

// Keys returns the keys of a map in the order in which they are written. Keys that are written the same, as they differ only
// in bytes that are not UTF-8, are one name on the wire: the first in the order of bytes counts, the others are left out.
// CheckKeys reports such keys.
func Keys[V any](m map[string]V) []string {
	keys := slices.Sorted(maps.Keys(m))
	if !slices.ContainsFunc(keys, invalidUTF8) {
		return keys
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(keys, func(k string) bool {
		name := string(AppendString(nil, k))
		dup := seen[name]
		seen[name] = true
		return dup
	})
}

func invalidUTF8(s string) bool { return !utf8.ValidString(s) }

// CheckKeys reports a key that is not UTF-8, the first in the order of bytes: what is written for it is another.
func CheckKeys[V any](m map[string]V) error {
	for k := range m {
		if invalidUTF8(k) {
			keys := slices.Sorted(maps.Keys(m))
			k = keys[slices.IndexFunc(keys, invalidUTF8)]
			return &Error{Kind: ErrUTF8, Path: step(strings.ToValidUTF8(k, "\uFFFD")), Msg: "a name that is not UTF-8"}
		}
	}
	return nil
}
