package build

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// Gap is a declaration of a generated package that has no text in docs.yaml.
type Gap struct {
	Revision string
	Pointer  string // JSON pointer of what it is made from; "" for what no schema has
	Name     string // what docs.yaml would call it: "Tool", "Tool.title"
}

// String gives "revision #pointer: name".
func (g Gap) String() string {
	if g.Pointer == "" {
		return g.Revision + ": " + g.Name
	}
	return fmt.Sprintf("%s #%s: %s", g.Revision, g.Pointer, g.Name)
}

// Gaps lists what the packages of a folder declare and docs.yaml says nothing
// of, oldest revision first and in the order of the model. Constant members
// declare nothing: they are no fields.
func Gaps(fsys fs.FS) ([]Gap, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, err
	}
	pkgs, err := All(fsys)
	if err != nil {
		return nil, err
	}
	var out []Gap
	for _, p := range pkgs {
		data, err := set.Patched(p.Revision, spec.Generator)
		if err != nil {
			return nil, err
		}
		f, err := schema.Parse(p.Source, data)
		if err != nil {
			return nil, err
		}
		add := func(doc []string, at *schema.Schema, name string) {
			if len(doc) > 0 {
				return
			}
			g := Gap{Revision: p.Revision, Name: name}
			if at != nil {
				g.Pointer = at.Pointer
			}
			out = append(out, g)
		}
		add(p.Doc, nil, "package")
		for _, t := range p.Types {
			at := find(f, t.Schema)
			add(t.Doc, at, t.Name)
			for _, fl := range t.Fields {
				if fl.Const == "" && t.Kind == ir.Struct {
					add(fl.Doc, member(f, at, fl.JSON, 0), t.Name+"."+fl.JSON)
				}
			}
			for _, v := range t.Values {
				add(v.Doc, at, t.Name+"."+v.Value)
			}
		}
		for _, m := range p.Methods {
			add(m.Doc, f.Definitions[m.Definition], m.Name)
		}
		for _, e := range p.Errors {
			add(e.Doc, f.Definitions[e.Name+"Error"], e.Name+"Error")
		}
		for _, c := range p.Consts {
			add(c.Doc, nil, c.Name)
		}
	}
	return out, nil
}

// find gives the schema that a type was made from: a definition, or what
// stands at a pointer.
func find(f *schema.File, label string) *schema.Schema {
	if s := f.Definitions[label]; s != nil {
		return s
	}
	var found *schema.Schema
	var walk func(s *schema.Schema)
	walk = func(s *schema.Schema) {
		if s == nil || !strings.HasPrefix(label, s.Pointer) {
			return
		}
		if s.Pointer == label {
			found = s
			return
		}
		for _, p := range s.Properties {
			walk(p)
		}
		walk(s.Items)
		walk(s.Additional)
		for _, a := range slices.Concat(s.AnyOf, s.AllOf) {
			walk(a)
		}
	}
	for _, s := range f.Definitions {
		walk(s)
	}
	return found
}

// member gives the schema of a member, which may stand in a part of an allOf or
// behind a reference; the object itself where there is none.
func member(f *schema.File, s *schema.Schema, name string, depth int) *schema.Schema {
	if s == nil || depth > 16 {
		return s
	}
	if p := s.Properties[name]; p != nil {
		return p
	}
	if to := f.Definitions[s.Ref]; to != nil {
		if m := member(f, to, name, depth+1); m != to {
			return m
		}
	}
	for _, part := range s.AllOf {
		if m := member(f, part, name, depth+1); m != part {
			return m
		}
	}
	return s
}

// locate notes where the specification describes what an official file defines.
// That of a revision to come is taken to be where the newest known one has it.
func locate(set *spec.Set, p *ir.Package) error {
	docs, err := set.Docs()
	if err == nil {
		p.Place = docs.Place(p.Revision)
	}
	return err
}

// dated makes the text of a deprecation name the revision that it came with.
func dated(p *ir.Package, o *spec.Overlay) {
	from := map[string]string{}
	for _, d := range o.Deprecated {
		from[d.Text] = d.From
	}
	date := func(text *string) {
		if r := from[*text]; r != "" && !strings.Contains(*text, r) {
			*text += " Deprecated since " + r + "."
		}
	}
	for _, t := range p.Types {
		date(&t.Deprec)
		for _, f := range t.Fields {
			date(&f.Deprec)
		}
	}
	for _, m := range p.Methods {
		date(&m.Deprec)
	}
}

// since notes of each type, member, value and method which revision had it
// first, and says so in those texts that are printed alone. seen maps what the revisions before had to the first that did; what is
// given back knows this one too.
func since(p *ir.Package, seen map[string]string) map[string]string {
	next := map[string]string{}
	maps.Copy(next, seen)
	first := func(key string) string {
		if next[key] == "" {
			next[key] = p.Revision
		}
		return next[key]
	}
	initial := first("revision")
	tell := func(doc []string, sentence, since string) {
		if len(doc) == 0 {
			return
		}
		if since != "" && since != initial {
			sentence += " New in revision " + since + "."
		}
		if sentence = strings.TrimSpace(sentence); sentence != "" {
			doc[0] += " " + sentence
		}
	}
	for _, t := range p.Types {
		t.Since = first(t.Name)
		later := func(key string) string {
			if s := first(t.Name + "." + key); s != t.Since {
				return s
			}
			return ""
		}
		for _, f := range t.Fields {
			f.Since = later(f.JSON)
		}
		for _, v := range t.Values {
			v.Since = later(v.Value)
			tell(v.Doc, "", v.Since)
		}
	}
	for _, m := range p.Methods {
		m.Since = first("method " + m.Name)
		tell(m.Doc, "The method is "+m.Name+".", m.Since)
	}
	for _, c := range p.Consts {
		tell(c.Doc, "", first("constant "+c.Name))
	}
	return next
}
