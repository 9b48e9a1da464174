// Package spec holds what this module knows of the protocol's revisions: per
// revision the structure of the official schema file (schema.json), and what
// that file lost or got wrong (overlay.json); facts that several revisions
// share stand in common.json, where each entry says from and to which revision
// it holds. sources.json records the sha256 of each official file and of our
// structure of it. docs.yaml holds our own words for what the generated
// packages declare. ext holds official extensions, which add to what a revision
// defines; extensions.json lists them.
package spec

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
)

//go:embed *.json docs.yaml 20*/*.json ext/*/*.json
var files embed.FS

// Files gives the embedded data: sources.json, common.json, docs.yaml and, per
// revision, <revision>/schema.json and, where the revision alone needs entries, <revision>/overlay.json;
// extensions.json and per extension ext/<name>/schema.json and ext/<name>/overlay.json.
func Files() fs.FS { return files }

// Source says what a schema.json was made from.
type Source struct {
	Revision  string `json:"revision"`
	Official  string `json:"official"`  // sha256 of the official file, in hex
	Structure string `json:"structure"` // sha256 of our schema.json, in hex
}

// Set is the data of one folder of this layout. Its methods may be called from
// several goroutines at once.
type Set struct {
	fsys    fs.FS
	sources []Source
	common  *Overlay

	extensions []*Extension
	additions  map[string]*Overlay // by name of the extension
}

var embedded = sync.OnceValues(func() (*Set, error) { return Open(files) })

// Open reads a folder of the layout that [Files] describes.
func Open(fsys fs.FS) (*Set, error) {
	s := &Set{fsys: fsys}
	data, err := fs.ReadFile(fsys, "sources.json")
	if err != nil {
		return nil, err
	}
	if s.sources, err = ParseSources(data); err != nil {
		return nil, err
	}
	if data, err = fs.ReadFile(fsys, "common.json"); err != nil {
		return nil, err
	}
	if s.common, err = ParseOverlay("spec/common.json", data); err != nil {
		return nil, err
	}
	for _, e := range s.common.Entries() {
		for _, r := range []string{e.From, e.To} {
			if r == "" {
				continue
			}
			if _, err := s.Source(r); err != nil {
				return nil, e.err("%v", err) // the entry would hold for nothing, in silence
			}
		}
	}
	if err := s.openExtensions(); err != nil {
		return nil, err
	}
	return s, nil
}

// ParseSources reads sources.json: a list that is sorted by revision and names none twice.
func ParseSources(data []byte) ([]Source, error) {
	var out []Source
	if err := strict(data, &out); err != nil {
		return nil, fmt.Errorf("spec/sources.json: %w", err)
	}
	for i, s := range out {
		if s.Revision == "" || i > 0 && out[i-1].Revision >= s.Revision {
			return nil, fmt.Errorf("spec/sources.json: entry %d (%q) is out of order", i, s.Revision)
		}
	}
	return out, nil
}

// Revisions gives the names of the revisions, oldest first. They are dates, so
// the order of the names is the order in time.
func (s *Set) Revisions() []string {
	out := make([]string, len(s.sources))
	for i, src := range s.sources {
		out[i] = src.Revision
	}
	return out
}

// Source gives the hashes recorded for a revision.
func (s *Set) Source(revision string) (Source, error) {
	for _, src := range s.sources {
		if src.Revision == revision {
			return src, nil
		}
	}
	return Source{}, fmt.Errorf("revision %q is not known (known: %v)", revision, s.Revisions())
}

// Schema gives the bytes of a revision's schema.json as they are.
func (s *Set) Schema(revision string) ([]byte, error) {
	if _, err := s.Source(revision); err != nil {
		return nil, err
	}
	return fs.ReadFile(s.fsys, path.Join(revision, "schema.json"))
}

// Overlay gives all entries that hold for a revision: those of common.json,
// the revision's own and those of its extensions. For a revision that is not known it gives the entries of
// common.json that no revision ended; they are hints then, and one that matches
// nothing is no error.
func (s *Set) Overlay(revision string) (*Overlay, error) {
	o, err := s.Core(revision)
	if err != nil || o.Hints {
		return o, err
	}
	for _, e := range s.Extensions(revision) {
		o = o.And(s.Addition(e, revision))
	}
	return o, nil
}

// Core is Overlay without the entries of extensions.
func (s *Set) Core(revision string) (*Overlay, error) {
	if _, err := s.Source(revision); err != nil {
		o := s.common.in("")
		o.Hints = true
		return o, nil
	}
	name := path.Join(revision, "overlay.json")
	data, err := fs.ReadFile(s.fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return s.common.in(revision), nil // nothing is wrong with this revision alone
	}
	if err != nil {
		return nil, err
	}
	own, err := ParseOverlay("spec/"+name, data)
	if err != nil {
		return nil, err
	}
	for _, e := range own.Entries() {
		if e.From != "" || e.To != "" {
			return nil, e.err("the file says the revision; from and to belong to common.json")
		}
	}
	return s.common.in(revision).And(own), nil
}

// Use says who asks for a patched schema: some errata can only be said to one of the two.
type Use string

// The uses.
const (
	Validators Use = "validators"
	Generator  Use = "generator"
)

// Patched gives a revision's schema with its extensions added and the errata of
// its overlay applied. It is valid JSON Schema of the same draft as the original. An erratum that
// does not find what it expects is an error.
func (s *Set) Patched(revision string, use Use) ([]byte, error) {
	data, err := s.Schema(revision)
	if err != nil {
		return nil, err
	}
	if data, err = s.Extend(revision, data); err != nil {
		return nil, err
	}
	o, err := s.Overlay(revision)
	if err != nil {
		return nil, err
	}
	return Patch(data, o.Errata, use)
}

// Revisions gives the names of the embedded revisions, oldest first.
func Revisions() []string {
	s, err := embedded()
	if err != nil {
		return nil // a test holds the embedded data readable
	}
	return s.Revisions()
}

// Latest gives the name of the newest embedded revision.
func Latest() string {
	r := Revisions()
	if len(r) == 0 {
		return ""
	}
	return r[len(r)-1]
}

// Schema gives the embedded schema of a revision as the official file has it, without its texts.
func Schema(revision string) ([]byte, error) {
	s, err := embedded()
	if err != nil {
		return nil, err
	}
	return s.Schema(revision)
}

// Patched gives the embedded schema of a revision with its official extensions
// added and the errata applied, for validators: it accepts what the specification allows, where the official
// file accepts less, and refuses what only the specification's text rules out.
func Patched(revision string) ([]byte, error) {
	s, err := embedded()
	if err != nil {
		return nil, err
	}
	return s.Patched(revision, Validators)
}

// Facts gives the overlay of an embedded revision.
func Facts(revision string) (*Overlay, error) {
	s, err := embedded()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.Revisions(), revision) {
		return nil, fmt.Errorf("revision %q is not known", revision)
	}
	return s.Overlay(revision)
}

// FormatSources prints sources.json.
func FormatSources(sources []Source) ([]byte, error) {
	b, err := json.MarshalIndent(sources, "", "  ")
	return append(b, '\n'), err
}
