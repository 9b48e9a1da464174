package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Docs are our own words for what the generated packages declare, as docs.yaml
// has them:
//
//	place:                 # where the specification describes a definition
//	  from 2025-06-18: https://…/{revision}/schema#{anchor}
//	package: …             # what the package is; {revision} is replaced
//	shared:                # members that several types have
//	  - of: ["*.nextCursor", "*Params.task"]
//	    text: …
//	until: 2026-07-28      # texts may be of later revisions, which are not there
//	docs:
//	  Completion:          # a Go name
//	    text: Completion is …
//	    members:           # by JSON name; values: of an enum
//	      total: Total is …
//	  CodeParseError: …    # where there are no members
//
// In place of a text may stand a mapping from revisions to texts. Its keys are
// a revision, "from" or "to" one, or one "to" another; no two may hold for the
// same revision. An owner of a shared member is a Go name, "*Params" any that
// ends so, "*" any; the longest that fits holds, and a text under docs goes
// before all shared ones.
//
// A text is one string a paragraph, with an empty one between two, and one
// string an item of a list ("- …"); who prints it wraps it.
//
// Docs remember which of their texts were asked for, so that [Docs.Unused] can
// say which say nothing about anything. They are for one goroutine.
type Docs struct {
	file   string
	until  string // "" = all revisions that it speaks of are there
	place  *docText
	pkg    *docText
	shared []*sharedDoc
	names  map[string]*docEntry
	order  []string
}

// docEntry is what is said of one Go name.
type docEntry struct {
	text    *docText
	members map[string]*docText
	order   []string
}

// sharedDoc is a text for a member of several types.
type sharedDoc struct {
	owner, member string
	line          int
	used          bool
	text          *docText
}

// docText is a text, or one a range of revisions.
type docText struct {
	variants []*docVariant
}

type docVariant struct {
	from, to string // "" = no bound
	line     int
	lines    []string
	used     bool
}

// DocsError says what is wrong with docs.yaml, and where.
type DocsError struct {
	File string
	Line int // from 1
	Msg  string
}

// Error gives "file:line: message".
func (e *DocsError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg) }

// Docs reads docs.yaml; each call gives texts of which none was asked for yet.
// Without such a file it gives nil, which has no text for anything.
func (s *Set) Docs() (*Docs, error) {
	data, err := fs.ReadFile(s.fsys, "docs.yaml")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return ParseDocs("spec/docs.yaml", data, s.Revisions())
}

// ParseDocs reads a docs.yaml. The name stands in errors; revisions are those
// that the file may name. Its errors are of type [*DocsError], unless the text
// is no YAML.
func ParseDocs(file string, data []byte, revisions []string) (*Docs, error) {
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &docsReader{file: file, revisions: revisions}
	d := &Docs{file: file, names: map[string]*docEntry{}}
	if len(f.Docs) > 1 {
		return nil, r.err(f.Docs[1].Body, "more than one document")
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return d, nil
	}
	err = r.mapping(f.Docs[0].Body, func(key string, at, v ast.Node) (err error) {
		switch key {
		case "until":
			if len(d.order) > 0 || d.place != nil || d.pkg != nil || d.shared != nil {
				return r.err(at, "until has to come first")
			}
			if _, ok := v.(*ast.StringNode); !ok {
				return r.err(v, "want a revision")
			}
			d.until = v.GetToken().Value
			r.until = d.until
		case "place":
			d.place, err = r.text(v)
		case "package":
			d.pkg, err = r.text(v)
		case "shared":
			d.shared, err = r.shared(v)
		case "docs":
			err = r.mapping(v, func(name string, _, v ast.Node) error {
				e, err := r.entry(v)
				d.names[name] = e
				d.order = append(d.order, name)
				return err
			})
		default:
			err = r.err(at, "unknown key %q", key)
		}
		return err
	})
	return d, err
}

// docsReader walks the nodes of the file.
type docsReader struct {
	file      string
	revisions []string
	until     string // later revisions may be named
}

func (r *docsReader) err(n ast.Node, format string, args ...any) error {
	e := &DocsError{File: r.file, Line: 1, Msg: fmt.Sprintf(format, args...)}
	if n != nil {
		e.Line = line(n)
	}
	return e
}

func line(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// mapping calls f for each entry; a key that comes twice is an error.
func (r *docsReader) mapping(n ast.Node, f func(key string, at, v ast.Node) error) error {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return r.err(n, "want a mapping")
	}
	seen := map[string]bool{}
	for _, v := range m.Values {
		key := v.Key.GetToken().Value
		if seen[key] {
			return r.err(v.Key, "%q comes twice", key)
		}
		seen[key] = true
		if err := f(key, v.Key, v.Value); err != nil {
			return err
		}
	}
	return nil
}

func (r *docsReader) entry(n ast.Node) (*docEntry, error) {
	e := &docEntry{members: map[string]*docText{}}
	if _, ok := n.(*ast.MappingNode); !ok {
		var err error
		e.text, err = r.text(n)
		return e, err
	}
	err := r.mapping(n, func(key string, at, v ast.Node) (err error) {
		switch key {
		case "text":
			e.text, err = r.text(v)
		case "members", "values":
			err = r.mapping(v, func(member string, at, v ast.Node) error {
				if e.members[member] != nil {
					return r.err(at, "%q is both a member and a value", member)
				}
				t, err := r.text(v)
				e.members[member] = t
				e.order = append(e.order, member)
				return err
			})
		default:
			err = r.err(at, "unknown key %q: want text, members or values", key)
		}
		return err
	})
	return e, err
}

func (r *docsReader) shared(n ast.Node) ([]*sharedDoc, error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, r.err(n, "want a list")
	}
	var out []*sharedDoc
	seen := map[string]bool{}
	for _, item := range list.Values {
		var of []*sharedDoc
		var text *docText
		err := r.mapping(item, func(key string, at, v ast.Node) (err error) {
			switch key {
			case "of":
				of, err = r.patterns(v, seen)
			case "text":
				text, err = r.text(v)
			default:
				err = r.err(at, "unknown key %q: want of or text", key)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if of == nil || text == nil {
			return nil, r.err(item, "of or text is missing")
		}
		for _, s := range of {
			s.text = text
		}
		out = append(out, of...)
	}
	// The longest owner first: it says the most.
	slices.SortStableFunc(out, func(x, y *sharedDoc) int { return len(y.owner) - len(x.owner) })
	return out, nil
}

// patterns reads the members that a shared text is for.
func (r *docsReader) patterns(n ast.Node, seen map[string]bool) ([]*sharedDoc, error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		return nil, r.err(n, "want a list")
	}
	var out []*sharedDoc
	for _, v := range list.Values {
		s, ok := v.(*ast.StringNode)
		if !ok {
			return nil, r.err(v, "want a string")
		}
		owner, member, ok := strings.Cut(s.Value, ".")
		if !ok || owner == "" || member == "" || strings.LastIndexByte(owner, '*') > 0 {
			return nil, r.err(v, "%q: want owner.member; the owner is a name, or * and the end of names", s.Value)
		}
		if seen[s.Value] {
			return nil, r.err(v, "%q comes twice", s.Value)
		}
		seen[s.Value] = true
		out = append(out, &sharedDoc{owner: owner, member: member, line: line(v)})
	}
	return out, nil
}

func (r *docsReader) text(n ast.Node) (*docText, error) {
	if _, ok := n.(*ast.MappingNode); !ok {
		lines, err := r.lines(n)
		return &docText{[]*docVariant{{lines: lines, line: line(n)}}}, err
	}
	t := &docText{}
	err := r.mapping(n, func(key string, at, v ast.Node) error {
		from, to, err := r.when(key, at)
		if err != nil {
			return err
		}
		lines, err := r.lines(v)
		if err != nil {
			return err
		}
		next := &docVariant{from: from, to: to, lines: lines, line: line(at)}
		for _, rev := range r.revisions {
			if have := t.in(rev); have != nil && next.holds(rev) {
				return r.err(at, "there is another text for %s in line %d", rev, have.line)
			}
		}
		t.variants = append(t.variants, next)
		return nil
	})
	return t, err
}

// lines gives the paragraphs of a scalar, which YAML has put in one line each.
func (r *docsReader) lines(n ast.Node) ([]string, error) {
	var text string
	switch n := n.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.LiteralNode:
		text = n.Value.Value
	default:
		return nil, r.err(n, "want a text; put it in quotes or after >- if YAML takes it for something else")
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil, r.err(n, "the text is empty")
	}
	var out []string
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); len(out) > 0 && !strings.HasPrefix(l, "- ") {
			out = append(out, "") // between paragraphs, and not before the items of a list
		}
		out = append(out, l)
	}
	return out, nil
}

// when reads the key of a text that differs between revisions.
func (r *docsReader) when(key string, at ast.Node) (from, to string, err error) {
	switch w := strings.Fields(key); {
	case len(w) == 1:
		from, to = w[0], w[0]
	case len(w) == 2 && w[0] == "from":
		from = w[1]
	case len(w) == 2 && w[0] == "to":
		to = w[1]
	case len(w) == 3 && w[1] == "to" && w[0] < w[2]:
		from, to = w[0], w[2]
	default:
		return "", "", r.err(at, "%q: want a revision, from or to one, or one to a later one", key)
	}
	for _, rev := range []string{from, to} {
		if rev != "" && !slices.Contains(r.revisions, rev) && (r.until == "" || rev <= r.until) {
			return "", "", r.err(at, "revision %q is not known (known: %v)", rev, r.revisions)
		}
	}
	return from, to, nil
}

func (v *docVariant) holds(revision string) bool {
	return (v.from == "" || v.from <= revision) && (v.to == "" || revision <= v.to)
}

func (t *docText) in(revision string) *docVariant {
	if t == nil {
		return nil
	}
	for _, v := range t.variants {
		if v.holds(revision) {
			return v
		}
	}
	return nil
}

// take gives the lines for a revision and notes that they were asked for.
func (t *docText) take(revision string) []string {
	v := t.in(revision)
	if v == nil {
		return nil
	}
	v.used = true
	return slices.Clone(v.lines)
}

// Text gives what is said of a Go name, method or error in a revision; with a
// member, of that member or enum value. It gives nil where nothing is said.
func (d *Docs) Text(revision, name, member string) []string {
	if d == nil {
		return nil
	}
	e := d.names[name]
	if member == "" {
		if e == nil {
			return nil
		}
		return e.text.take(revision)
	}
	if e != nil {
		if l := e.members[member].take(revision); l != nil {
			return l
		}
	}
	for _, s := range d.shared {
		end, wild := strings.CutPrefix(s.owner, "*")
		if s.member != member || s.owner != name && (!wild || !strings.HasSuffix(name, end)) {
			continue
		}
		if l := s.text.take(revision); l != nil {
			s.used = true
			return l
		}
	}
	return nil
}

// Package gives what is said of the package of a revision.
func (d *Docs) Package(revision string) []string {
	if d == nil {
		return nil
	}
	l := d.pkg.take(revision)
	for i := range l {
		l[i] = strings.ReplaceAll(l[i], "{revision}", revision)
	}
	return l
}

// Place gives where the specification of a revision describes its definitions,
// with {definition} and {anchor} in place of a definition's name and of that
// in small letters; "" where nothing is said.
func (d *Docs) Place(revision string) string {
	if d == nil {
		return ""
	}
	return strings.ReplaceAll(strings.Join(d.place.take(revision), " "), "{revision}", revision)
}

// Unused gives an error of type [*DocsError] for each text that was never
// asked for, joined: it speaks of something that no revision has, or that does
// not exist in the revisions it is for. Texts that reach until some revision may
// be of a later one: then it gives nil.
func (d *Docs) Unused() error {
	if d == nil || d.until != "" {
		return nil
	}
	var errs []error
	add := func(line int, format string, args ...any) {
		errs = append(errs, &DocsError{d.file, line, fmt.Sprintf(format, args...)})
	}
	seen := map[*docText]bool{nil: true}
	check := func(t *docText, what string) {
		if seen[t] {
			return // shared by several members
		}
		seen[t] = true
		for _, v := range t.variants {
			if !v.used {
				add(v.line, "nothing is called %s", what+v.when())
			}
		}
	}
	check(d.place, "place")
	check(d.pkg, "package")
	for _, s := range d.shared {
		if !s.used {
			add(s.line, "no type has the member %s.%s, or each has a text of its own", s.owner, s.member)
		}
		check(s.text, s.owner+"."+s.member)
	}
	for _, name := range d.order {
		e := d.names[name]
		check(e.text, name)
		for _, m := range e.order {
			check(e.members[m], name+"."+m)
		}
	}
	return errors.Join(errs...)
}

// when says for which revisions a text is.
func (v *docVariant) when() string {
	switch {
	case v.from == "" && v.to == "":
		return ""
	case v.from == v.to:
		return " in " + v.from
	case v.to == "":
		return " from " + v.from + " on"
	case v.from == "":
		return " up to " + v.to
	}
	return " from " + v.from + " to " + v.to
}
