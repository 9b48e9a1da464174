// Package build lowers a schema and its overlay to the Go-shaped model of
// package ir: names, fields, unions with the plan that tells their members
// apart, methods with direction, params and results.
//
// Every decision is made here and none is guessed: what neither a general rule
// nor an overlay entry decides is an error that says where, and an overlay
// entry that decides nothing is one too.
package build

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// Build lowers one revision of a folder of the layout that [spec.Files] describes.
func Build(fsys fs.FS, revision string) (*ir.Package, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, err
	}
	docs, err := set.Docs()
	if err != nil {
		return nil, err
	}
	var seen map[string]string
	var pkg *ir.Package
	for _, r := range set.Revisions() {
		if r > revision {
			break
		}
		if pkg, seen, err = one(set, docs, r, seen); err != nil {
			return nil, err
		}
	}
	if pkg == nil || pkg.Revision != revision {
		_, err := set.Source(revision)
		return nil, err
	}
	return pkg, nil
}

// All lowers all revisions of a folder, oldest first.
func All(fsys fs.FS) ([]*ir.Package, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, err
	}
	docs, err := set.Docs()
	if err != nil {
		return nil, err
	}
	var out []*ir.Package
	var seen map[string]string
	for _, r := range set.Revisions() {
		var pkg *ir.Package
		if pkg, seen, err = one(set, docs, r, seen); err != nil {
			return nil, err
		}
		out = append(out, pkg)
	}
	if err := docs.Unused(); err != nil {
		return nil, err
	}
	return out, nil
}

// one lowers a revision. seen is what [since] gave for the one before.
func one(set *spec.Set, docs *spec.Docs, revision string, seen map[string]string) (*ir.Package, map[string]string, error) {
	src, err := set.Source(revision)
	if err != nil {
		return nil, nil, err
	}
	o, err := set.Overlay(revision)
	if err != nil {
		return nil, nil, err
	}
	if _, err := set.Patched(revision, spec.Validators); err != nil {
		return nil, nil, err // not used here, but an erratum that fits nowhere must not wait for a validator
	}
	data, err := set.Patched(revision, spec.Generator)
	if err != nil {
		return nil, nil, err
	}
	own, err := set.Schema(revision)
	if err != nil {
		return nil, nil, err
	}
	more, err := added(set, revision, own)
	if err != nil {
		return nil, nil, err
	}
	pkg, err := Lower(Input{Revision: revision, File: "spec/" + revision + "/schema.json", Hash: src.Structure, Schema: data, Overlay: o, Added: more,
		Docs: func(name, member string) []string { return docs.Text(revision, name, member) }})
	if err != nil {
		return nil, nil, err
	}
	pkg.Doc, pkg.Place = docs.Package(revision), docs.Place(revision)
	dated(pkg, o)
	return pkg, since(pkg, seen), nil
}

// Docs gives documentation in lines, which may be long, nil where it has none. It
// is the place where the project's own texts come in; where it has none the
// descriptions of the file are used. name is what stays the same from revision
// to revision: the Go name of a type or constant ("CallToolParams",
// "CodeParseError"), a method ("tools/call"), the definition of an error
// ("ParseError"). member is the JSON name of a member, or an enum's value, ""
// for the thing itself.
type Docs func(name, member string) []string

// Input is what Lower works on.
type Input struct {
	Revision string
	File     string        // the schema file's name, for messages and the header
	Hash     string        // its sha256, for the header
	Schema   []byte        // with the errata applied
	Overlay  *spec.Overlay // nil = only general rules
	Docs     Docs          // nil = the descriptions of the schema
	Own      *spec.Overlay // entries of Overlay that must decide something even if it holds only hints
	Added    []*Added      // extensions that Schema holds already

	// Decide is told, when the overlay holds only hints, what the general rules
	// decide in place of overlay entries. It may be nil.
	Decide func(*Decision)
}

// Added is an extension that was added to a schema.
type Added struct {
	*spec.Extension
	Definitions []string // that it brought
}

// added finds what the extensions of a revision bring to a schema file.
func added(set *spec.Set, revision string, data []byte) ([]*Added, error) {
	var out []*Added
	type file struct {
		Definitions map[string]json.RawMessage `json:"$defs"`
	}
	var own file
	if err := json.Unmarshal(data, &own); err != nil {
		return nil, err
	}
	for _, e := range set.Extensions(revision) {
		data, err := set.ExtensionSchema(e)
		if err != nil {
			return nil, err
		}
		var more file
		if err := json.Unmarshal(data, &more); err != nil {
			return nil, fmt.Errorf("%s: %w", e.File(), err)
		}
		a := &Added{Extension: e}
		for name := range more.Definitions {
			if own.Definitions[name] == nil {
				a.Definitions = append(a.Definitions, name)
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// Lower makes the model of one revision. Its errors are of type [*Error] or [*schema.Error]; Build, All and File also give [*spec.EntryError].
func Lower(in Input) (*ir.Package, error) {
	f, err := schema.Parse(in.File, in.Schema)
	if err != nil {
		return nil, err
	}
	b := &builder{
		in: in, file: f, o: in.Overlay,
		used:    map[*spec.Entry]bool{},
		types:   map[string]*ir.Type{},
		origin:  map[string]string{},
		where:   map[string]string{},
		reached: map[string]bool{},
		open:    map[string]string{},
		decided: map[string]bool{},
	}
	if b.o == nil {
		b.o = &spec.Overlay{Hints: true}
	}
	return b.build()
}

type builder struct {
	in   Input
	file *schema.File
	o    *spec.Overlay
	used map[*spec.Entry]bool // overlay entries that matched

	types   map[string]*ir.Type // by Go name
	origin  map[string]string   // Go name -> structure that it was made from, to tell a shared name from a collision
	where   map[string]string   // Go name -> JSON pointer
	reached map[string]bool     // definitions that something emitted refers to
	open    map[string]string   // JSON pointer -> Go name of the structs that are being made
	decided map[string]bool     // what the general rules decided already
	raw     map[string]bool     // definitions that are raw JSON because they hold themselves
	methods []*method
	errors  []*ir.Error
}

func (b *builder) strict() bool { return !b.o.Hints }

func (b *builder) err(kind ErrorKind, ptr, format string, args ...any) error {
	return &Error{Kind: kind, File: b.in.File, Pointer: ptr, Msg: fmt.Sprintf(format, args...)}
}

// entryErr is an error of an overlay entry.
func (b *builder) entryErr(kind ErrorKind, e *spec.Entry, format string, args ...any) error {
	file, ptr, _ := strings.Cut(e.Place, "#")
	return &Error{Kind: kind, File: file, Pointer: ptr, Msg: fmt.Sprintf(format, args...)}
}

// use notes that an entry decided something.
func (b *builder) use(e *spec.Entry) { b.used[e] = true }

func (b *builder) build() (*ir.Package, error) {
	for _, e := range b.o.Errata {
		b.use(&e.Entry) // spec.Patch refuses those that match nothing
	}
	if b.in.Own != nil {
		for _, e := range b.in.Own.Errata {
			b.use(&e.Entry)
		}
	}
	for _, step := range []func() error{b.findRaw, b.findMethods, b.lowerMethods, b.findErrors, b.rest, b.checkCycles} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	pkg := &ir.Package{
		Revision:   b.in.Revision,
		Name:       "mcp",
		Dir:        "mcp/v" + strings.ReplaceAll(b.in.Revision, "-", ""),
		Source:     b.in.File,
		SourceHash: b.in.Hash,
		Stateless:  !slices.ContainsFunc(b.methods, func(m *method) bool { return m.ir.Name == "initialize" }),
	}
	for _, m := range b.methods {
		pkg.Methods = append(pkg.Methods, m.ir)
	}
	pkg.Errors = b.errors
	if err := b.interfaces(); err != nil {
		return nil, err
	}
	var err error
	if pkg.Consts, err = b.consts(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(b.types)) {
		pkg.Types = append(pkg.Types, b.types[name])
	}
	b.extensions(pkg)
	for _, step := range []func(*ir.Package) error{b.roles, b.values, b.deprecations, b.collisions, b.relied} {
		if err := step(pkg); err != nil {
			return nil, err
		}
	}
	if b.strict() {
		for _, e := range b.o.Entries() {
			if !b.used[e] {
				return nil, b.entryErr(Unused, e, "the entry matches nothing in %s", b.in.File)
			}
		}
	} else {
		if b.in.Own != nil {
			for _, e := range b.in.Own.Entries() {
				if !b.used[e] {
					return nil, b.entryErr(Unused, e, "the entry matches nothing in %s", b.in.File)
				}
			}
		}
		b.ended()
	}
	return pkg, nil
}

// extensions notes what each extension brought.
func (b *builder) extensions(pkg *ir.Package) {
	for _, a := range b.in.Added {
		pkg.Extensions = append(pkg.Extensions, &ir.Extension{Name: camel(a.Name), ID: a.ID, Source: a.File(), SourceHash: a.Structure, Place: a.Place})
		for _, t := range pkg.Types {
			if slices.Contains(a.Definitions, owner(t.Schema)) {
				t.Extension = a.ID
			}
		}
		for _, m := range pkg.Methods {
			if slices.Contains(a.Definitions, m.Definition) {
				m.Extension = a.ID
			}
		}
	}
}

// owner is the definition that a type was made of, or of a part of.
func owner(label string) string {
	if parts := strings.SplitN(label, "/", 4); parts[0] == "" && len(parts) > 2 { // "/$defs/X/…"
		return parts[2]
	}
	return label
}

// def follows aliases from a schema to the one that says something, and gives
// the name of the last definition on the way.
func (b *builder) def(s *schema.Schema) (*schema.Schema, string) {
	name := ""
	for i := 0; s.Ref != "" && i < 16; i++ {
		name = s.Ref
		s = b.file.Definitions[name]
	}
	return s, name
}

// goName is the Go name of a definition.
func (b *builder) goName(def string) string {
	for _, n := range b.o.Names {
		if n.Definition == def && n.At == "" {
			b.use(&n.Entry)
			return n.Go
		}
	}
	return definitionName(def)
}

// edges are the definitions that a definition holds without a member in
// between: as itself (references, members of a union), or in lists and maps.
type edges struct {
	same, inside map[string][]string
}

func (b *builder) edges() *edges {
	e := &edges{map[string][]string{}, map[string][]string{}}
	var walk func(from string, s *schema.Schema, to map[string][]string)
	walk = func(from string, s *schema.Schema, to map[string][]string) {
		if s == nil || len(s.Properties) > 0 {
			return
		}
		if s.Ref != "" {
			to[from] = append(to[from], s.Ref)
		}
		walk(from, s.Items, e.inside)
		walk(from, s.Additional, e.inside)
		for _, a := range append(slices.Clone(s.AnyOf), s.AllOf...) {
			walk(from, a, to)
		}
	}
	for name, s := range b.file.Definitions {
		walk(name, s, e.same)
	}
	return e
}

// closure gives all names that the edges lead to from name; name itself only by a cycle.
func closure(name string, by ...map[string][]string) map[string]bool {
	seen := map[string]bool{}
	todo := []string{name}
	for len(todo) > 0 {
		for _, m := range by {
			for _, n := range m[todo[0]] {
				if !seen[n] {
					seen[n] = true
					todo = append(todo, n)
				}
			}
		}
		todo = todo[1:]
	}
	return seen
}

// findRaw finds the definitions that hold themselves without a member in
// between: JSONValue, an object or array of JSONValue. They are any JSON. It
// refuses what would be a type without end.
func (b *builder) findRaw() error {
	e := b.edges()
	b.raw = map[string]bool{}
	for _, name := range b.file.Names() {
		s := b.file.Definitions[name]
		if closure(name, e.same)[name] {
			return b.err(Unsupported, s.Pointer, "%s is defined by itself", name)
		}
		all := closure(name, e.same, e.inside)
		if !all[name] {
			continue
		}
		for _, n := range slices.Sorted(maps.Keys(all)) {
			if d := b.file.Definitions[n]; len(d.Properties) > 0 || d.AllOf != nil {
				return b.err(Unsupported, s.Pointer, "%s holds itself in a list or map, and the object %s: such a union has no Go shape", name, n)
			}
		}
		b.raw[name] = true
	}
	return nil
}
