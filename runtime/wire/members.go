package wire

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

// Clone returns a copy whose values share nothing with m; nil stays nil.
func (m Members) Clone() Members {
	if m == nil {
		return nil
	}
	c := make(Members, len(m))
	for i := range m {
		c[i] = Member{m[i].Name, m[i].Value.Clone()}
	}
	return c
}

// Take reads the value of a member that the Go type does not know; key is what Key returned. A name that came before is
// an error.
func (m *Members) Take(d *Dec, key []byte) error {
	if len(*m) >= indexMin {
		if d.owner != m || len(d.names) != len(*m) {
			d.owner, d.names = m, make(map[string]struct{}, 2*len(*m))
			for i := range *m {
				d.names[(*m)[i].Name] = struct{}{}
			}
		}
		if _, ok := d.names[string(key)]; ok {
			return d.Dup()
		}
	} else {
		for i := range *m {
			if (*m)[i].Name == string(key) {
				return d.Dup()
			}
		}
	}
	name := d.KeyString(key)
	v, err := d.Raw()
	if err != nil {
		return err
	}
	*m = append(*m, Member{name, v})
	if d.owner == m {
		d.names[name] = struct{}{}
	}
	return nil
}
