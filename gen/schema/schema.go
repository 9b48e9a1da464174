// Package schema reads the JSON Schema files of protocol revisions.
//
// It knows exactly the keywords that the official files use and refuses any
// other, because a keyword that is skipped is a rule that gets lost. It reads
// draft-07 files ("definitions") and 2020-12 files ("$defs") alike; nothing
// that occurs differs between the two.
package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Keywords lists what a schema object may hold: the 15 keywords of the
// official files. "$schema" and the definitions keyword stand only at the root.
var Keywords = []string{
	"$ref", "additionalProperties", "allOf", "anyOf", "const", "description", "enum", "format",
	"items", "maxItems", "maximum", "minimum", "properties", "required", "type",
}

// The drafts that are read.
const (
	Draft07   = "http://json-schema.org/draft-07/schema#"
	Draft2020 = "https://json-schema.org/draft/2020-12/schema"
)

// types are the values of the keyword "type".
var types = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// File is one parsed schema file.
type File struct {
	Name        string // for messages
	Draft       string // Draft07 or Draft2020
	Container   string // "definitions" or "$defs"
	Definitions map[string]*Schema
}

// Names gives the names of the definitions, sorted.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Definitions)) }

// Schema is one schema object. A zero Schema (besides its place) allows any value.
type Schema struct {
	Pointer     string             // JSON pointer of this object in its file
	Description string             // "" in spec/<revision>/schema.json
	Types       []string           // nil = not said; several where the file has an array
	Properties  map[string]*Schema // nil = not said
	Required    []string           // sorted
	Items       *Schema
	Ref         string // name of the definition that is meant
	Const       any    // nil = not said; string or json.Number
	Enum        []string
	AnyOf       []*Schema
	AllOf       []*Schema
	Additional  *Schema // schema of further members; nil = not said
	Closed      bool    // additionalProperties is false
	Format      string
	Minimum     *float64
	Maximum     *float64
	MaxItems    *int
}

// Names gives the names of the properties, sorted.
func (s *Schema) Names() []string { return slices.Sorted(maps.Keys(s.Properties)) }

// IsRequired says whether the member must be there.
func (s *Schema) IsRequired(member string) bool {
	_, ok := slices.BinarySearch(s.Required, member)
	return ok
}

// Any says whether nothing is asked of the value.
func (s *Schema) Any() bool {
	return s.Types == nil && s.Properties == nil && s.Required == nil && s.Items == nil && s.Ref == "" && s.Const == nil &&
		s.Enum == nil && s.AnyOf == nil && s.AllOf == nil && s.Additional == nil && !s.Closed && s.Format == "" &&
		s.Minimum == nil && s.Maximum == nil && s.MaxItems == nil
}

// Is says whether the only type is t.
func (s *Schema) Is(t string) bool { return len(s.Types) == 1 && s.Types[0] == t }

// Parse reads a schema file. name is used in errors, which are all of type [*Error].
func Parse(name string, data []byte) (*File, error) {
	t, err := tree(name, data)
	if err != nil {
		return nil, err
	}
	p := &parser{file: name}
	return p.root(t)
}

type parser struct {
	file      string
	container string
	refs      []*Schema
}

func (p *parser) err(kind ErrorKind, ptr, format string, args ...any) error {
	return &Error{Kind: kind, File: p.file, Pointer: ptr, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) root(t any) (*File, error) {
	m, ok := t.(map[string]any)
	if !ok {
		return nil, p.err(Value, "", "want an object with definitions, got %s", kind(t))
	}
	f := &File{Name: p.file, Definitions: map[string]*Schema{}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch k {
		case "$schema":
			f.Draft, _ = m[k].(string)
		case "definitions", "$defs":
			if f.Container != "" {
				return nil, p.err(Keyword, join("", k), "both %q and %q are there", f.Container, k)
			}
			f.Container = k
		default:
			return nil, p.err(Keyword, join("", k), "keyword %q is not handled at the root", k)
		}
	}
	if f.Draft != Draft07 && f.Draft != Draft2020 {
		return nil, p.err(Value, "/$schema", "want %q or %q, got %s", Draft07, Draft2020, text(m["$schema"]))
	}
	if f.Container == "" {
		return nil, p.err(Value, "", "no definitions")
	}
	p.container = f.Container
	ptr := join("", f.Container)
	defs, ok := m[f.Container].(map[string]any)
	if !ok {
		return nil, p.err(Value, ptr, "want an object, got %s", kind(m[f.Container]))
	}
	for _, k := range slices.Sorted(maps.Keys(defs)) {
		s, err := p.schema(defs[k], join(ptr, k))
		if err != nil {
			return nil, err
		}
		f.Definitions[k] = s
	}
	for _, s := range p.refs {
		if f.Definitions[s.Ref] == nil {
			return nil, p.err(Reference, join(s.Pointer, "$ref"), "there is no definition %q", s.Ref)
		}
	}
	return f, nil
}

// schema parses one schema object. It is called only where a schema stands, so
// a property that happens to be called "enum" or "items" is never taken for a keyword.
func (p *parser) schema(t any, ptr string) (*Schema, error) {
	m, ok := t.(map[string]any)
	if !ok {
		return nil, p.err(Value, ptr, "want a schema, got %s", kind(t))
	}
	s := &Schema{Pointer: ptr}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := p.keyword(s, k, m[k], join(ptr, k)); err != nil {
			return nil, err
		}
	}
	if s.Ref != "" {
		plain := *s
		plain.Ref, plain.Description, plain.Pointer = "", "", ""
		if !plain.Any() {
			return nil, p.err(Keyword, ptr, "$ref with neighbours other than a description is not handled")
		}
	}
	return s, nil
}

func (p *parser) keyword(s *Schema, k string, v any, ptr string) (err error) {
	switch k {
	case "description":
		s.Description, err = p.str(v, ptr)
	case "format":
		s.Format, err = p.str(v, ptr)
	case "type":
		s.Types, err = p.types(v, ptr)
	case "properties":
		s.Properties, err = p.schemas(v, ptr)
	case "required":
		s.Required, err = p.strs(v, ptr)
		slices.Sort(s.Required)
	case "enum":
		if s.Enum, err = p.strs(v, ptr); err == nil && len(s.Enum) == 0 {
			err = p.err(Value, ptr, "an enum without values")
		}
	case "items":
		s.Items, err = p.schema(v, ptr)
	case "anyOf":
		s.AnyOf, err = p.list(v, ptr)
	case "allOf":
		s.AllOf, err = p.list(v, ptr)
	case "additionalProperties":
		if b, ok := v.(bool); ok {
			if b {
				s.Additional = &Schema{Pointer: ptr}
			} else {
				s.Closed = true
			}
			return nil
		}
		s.Additional, err = p.schema(v, ptr)
	case "const":
		switch v.(type) {
		case string, json.Number:
			s.Const = v
		default:
			err = p.err(Value, ptr, "a const must be a string or a number, got %s", kind(v))
		}
	case "minimum":
		s.Minimum, err = p.float(v, ptr)
	case "maximum":
		s.Maximum, err = p.float(v, ptr)
	case "maxItems":
		n, ok := v.(json.Number)
		i, convErr := strconv.Atoi(n.String())
		if !ok || convErr != nil || i < 0 {
			return p.err(Value, ptr, "want a count, got %s", text(v))
		}
		s.MaxItems = &i
	case "$ref":
		ref, ok := v.(string)
		name, found := strings.CutPrefix(ref, "#/"+p.container+"/")
		if !ok || !found || name == "" || strings.ContainsAny(name, "/~%") {
			return p.err(Reference, ptr, "want a reference to a definition (#/%s/…), got %s", p.container, text(v))
		}
		s.Ref = name
		p.refs = append(p.refs, s)
	default:
		err = p.err(Keyword, ptr, "keyword %q is not handled", k)
	}
	return err
}

func (p *parser) str(v any, ptr string) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", p.err(Value, ptr, "want a string, got %s", kind(v))
	}
	return s, nil
}

func (p *parser) float(v any, ptr string) (*float64, error) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, p.err(Value, ptr, "want a number, got %s", kind(v))
	}
	f, err := n.Float64()
	if err != nil {
		return nil, p.err(Value, ptr, "the number %s is out of range", n)
	}
	return &f, nil
}

func (p *parser) strs(v any, ptr string) ([]string, error) {
	a, ok := v.([]any)
	if !ok {
		return nil, p.err(Value, ptr, "want an array of strings, got %s", kind(v))
	}
	out := make([]string, 0, len(a))
	for i, e := range a {
		s, err := p.str(e, join(ptr, strconv.Itoa(i)))
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, s) {
			return nil, p.err(Value, join(ptr, strconv.Itoa(i)), "%q occurs twice", s)
		}
		out = append(out, s)
	}
	return out, nil
}

func (p *parser) types(v any, ptr string) ([]string, error) {
	names := []string{}
	if s, ok := v.(string); ok {
		names = append(names, s)
	} else {
		var err error
		if names, err = p.strs(v, ptr); err != nil {
			return nil, err
		}
	}
	if len(names) == 0 {
		return nil, p.err(Value, ptr, "no type is named")
	}
	for _, n := range names {
		if !slices.Contains(types, n) {
			return nil, p.err(Value, ptr, "%q is not a type", n)
		}
	}
	return names, nil
}

func (p *parser) list(v any, ptr string) ([]*Schema, error) {
	a, ok := v.([]any)
	if !ok || len(a) == 0 {
		return nil, p.err(Value, ptr, "want a list of schemas, got %s", text(v))
	}
	out := make([]*Schema, len(a))
	for i, e := range a {
		var err error
		if out[i], err = p.schema(e, join(ptr, strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// schemas parses a map from property name to schema: its keys are names, not keywords.
func (p *parser) schemas(v any, ptr string) (map[string]*Schema, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, p.err(Value, ptr, "want an object of schemas, got %s", kind(v))
	}
	out := make(map[string]*Schema, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		var err error
		if out[k], err = p.schema(m[k], join(ptr, k)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}
