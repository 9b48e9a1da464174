package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
)

// Extension is an official extension of the protocol: definitions that a
// revision's own file does not have. Its schema and overlay stand in
// ext/<name>, beside the revisions.
type Extension struct {
	Name      string `json:"name"`         // of its folder: "tasks"
	ID        string `json:"id"`           // what capabilities.extensions calls it: "io.modelcontextprotocol/tasks"
	From      string `json:"from"`         // first revision that it extends
	To        string `json:"to,omitempty"` // last revision, "" = no end
	Structure string `json:"structure"`    // sha256 of its schema.json, in hex
	Place     string `json:"place"`        // where it is described: a URL
}

// File is the name of its schema file as headers and messages have it.
func (e *Extension) File() string { return "spec/" + e.file("schema.json") }

func (e *Extension) file(name string) string { return path.Join("ext", e.Name, name) }

// holds says whether it extends a revision; "" is one after all that are known.
func (e *Extension) holds(revision string) bool {
	return (revision == "" || e.From <= revision) && (e.To == "" || revision != "" && revision <= e.To)
}

// openExtensions reads extensions.json, which may be missing, and the overlays
// of what it lists.
func (s *Set) openExtensions() error {
	data, err := fs.ReadFile(s.fsys, "extensions.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := strict(data, &s.extensions); err != nil {
		return fmt.Errorf("spec/extensions.json: %w", err)
	}
	s.additions = map[string]*Overlay{}
	for i, e := range s.extensions {
		switch {
		case e.Name == "" || e.ID == "" || i > 0 && s.extensions[i-1].Name >= e.Name:
			return fmt.Errorf("spec/extensions.json: entry %d (%q) is out of order, or has no name or id", i, e.Name)
		case e.To != "" && e.From > e.To:
			return fmt.Errorf("spec/extensions.json: entry %d (%q): from %s is after to %s", i, e.Name, e.From, e.To)
		}
		name := e.file("overlay.json")
		data, err := fs.ReadFile(s.fsys, name)
		if err != nil {
			return err
		}
		o, err := ParseOverlay("spec/"+name, data)
		if err != nil {
			return err
		}
		s.additions[e.Name] = o
	}
	return nil
}

// Extensions gives the extensions of a revision, by name; those of "" are those
// that no revision ended.
func (s *Set) Extensions(revision string) []*Extension {
	var out []*Extension
	for _, e := range s.extensions {
		if e.holds(revision) {
			out = append(out, e)
		}
	}
	return out
}

// ExtensionSchema gives the bytes of an extension's schema.json.
func (s *Set) ExtensionSchema(e *Extension) ([]byte, error) {
	return fs.ReadFile(s.fsys, e.file("schema.json"))
}

// Addition gives the entries of an extension's overlay that hold for a revision.
func (s *Set) Addition(e *Extension, revision string) *Overlay {
	if o := s.additions[e.Name]; o != nil {
		return o.in(revision)
	}
	return &Overlay{}
}

// Extend adds the extensions of a revision to its schema file, or to one of
// which it is taken to be the revision.
func (s *Set) Extend(revision string, data []byte) ([]byte, error) {
	for _, e := range s.Extensions(revision) {
		more, err := s.ExtensionSchema(e)
		if err != nil {
			return nil, err
		}
		if data, err = Extend(data, more); err != nil {
			return nil, fmt.Errorf("%s: %w", e.File(), err)
		}
	}
	return data, nil
}

// Extend adds the definitions of one schema file to another. What both define
// becomes one: members are added to objects and elements to the end of arrays,
// and what is neither has to be the same in both.
func Extend(data, more []byte) ([]byte, error) {
	base, err := value(data)
	if err != nil {
		return nil, err
	}
	add, err := value(more)
	if err != nil {
		return nil, err
	}
	defs, _ := get(base, "$defs").(map[string]any)
	added, _ := get(add, "$defs").(map[string]any)
	if defs == nil || added == nil {
		return nil, errors.New("an extension and what it extends both need $defs")
	}
	known := maps.Clone(defs)
	for _, name := range slices.Sorted(maps.Keys(added)) {
		if known[name] == nil {
			defs[name] = added[name]
			continue
		}
		if defs[name], err = join("/"+name, known[name], added[name]); err != nil {
			return nil, err
		}
	}
	return format(base)
}

// join makes one value of two that stand at the same place.
func join(at string, a, b any) (any, error) {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok {
			break
		}
		out := maps.Clone(a)
		for _, k := range slices.Sorted(maps.Keys(b)) {
			v := b[k]
			if have, ok := a[k]; ok {
				var err error
				if v, err = join(at+"/"+k, have, v); err != nil {
					return nil, err
				}
			}
			out[k] = v
		}
		return out, nil
	case []any:
		if b, ok := b.([]any); ok {
			return slices.Concat(a, b), nil
		}
	}
	if !reflect.DeepEqual(a, b) {
		return nil, fmt.Errorf("%s: %s stands there, the extension has %s", at, show(a), show(b))
	}
	return a, nil
}
