package build

import (
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// File lowers a schema file as it was published, with the embedded facts: those
// of the revision if it is a known one, else the general rules and what still
// fits of the facts of the revision before it. Its descriptions become the
// docs.
func File(name string, data []byte, revision string) (*ir.Package, error) {
	pkg, _, err := FileDecisions(spec.Files(), name, data, revision, nil)
	return pkg, err
}

// FileDecisions is [File] with the facts of a folder of the layout that
// [spec.Files] describes. It also says what the general rules decided on the
// way; nothing for a known revision. A revision without a name, "", counts as
// one after all that are known. own, which may be nil, holds what a person
// decided for a revision that is not known: its entries go before the general
// rules and the facts of the revision before, and one that matches nothing is an
// error. A known revision takes none.
func FileDecisions(fsys fs.FS, name string, data []byte, revision string, own *spec.Overlay) (*ir.Package, []*Decision, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, nil, err
	}
	in := Input{Revision: revision, File: name, Hash: schema.Hash(data), Schema: data}
	if !slices.Contains(set.Revisions(), revision) {
		pkg, out, err := guess(set, in, own)
		if err == nil {
			err = locate(set, pkg)
		}
		return pkg, out, err
	}
	if own != nil {
		return nil, nil, fmt.Errorf("%s: the facts of revision %s are known and take no overlay", name, revision)
	}
	if in.Overlay, err = set.Overlay(revision); err != nil {
		return nil, nil, err
	}
	if in.Added, err = added(set, revision, data); err != nil {
		return nil, nil, err
	}
	if data, err = set.Extend(revision, data); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if in.Schema, err = spec.Patch(data, in.Overlay.Errata, spec.Generator); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	pkg, err := Lower(in)
	if err == nil {
		err = locate(set, pkg)
	}
	return pkg, nil, err
}

// Draft lowers a revision of a folder of the layout that [spec.Files] describes
// as if it were not known: by the general rules and what fits of the facts of
// the revision before it. What the rules decided is what the revision's own
// overlay has to say. The revision's overlay is not read.
func Draft(fsys fs.FS, revision string) (*ir.Package, []*Decision, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, nil, err
	}
	src, err := set.Source(revision)
	if err != nil {
		return nil, nil, err
	}
	data, err := set.Schema(revision)
	if err != nil {
		return nil, nil, err
	}
	return guess(set, Input{Revision: revision, File: "spec/" + revision + "/schema.json", Hash: src.Structure, Schema: data}, nil)
}

// Decision is what the general rules made of a place that a known revision has
// an overlay entry for, or an entry that does not fit any more. The overlay of
// the revision has to hold it, as it is or as a person decides.
type Decision struct {
	Pointer string       // place in the schema file; "" when an entry only ended
	What    string       // what was decided, and what to look at
	Sure    bool         // it follows from the file: nobody has to decide
	Entries spec.Overlay // what to add to the revision's overlay; the entries have no reason yet, unless they were carried over
	Ended   *spec.Entry  // an entry of the revision before that holds no more
	Left    []string     // names of the extensions that are left out, as they do not fit
}

// guess lowers with the facts of the newest revision before in.Revision as
// hints, and own before them. Extensions stay as they are as long as they fit.
func guess(set *spec.Set, in Input, own *spec.Overlay) (*ir.Package, []*Decision, error) {
	if len(set.Extensions(in.Revision)) == 0 {
		return guessed(set, in, own)
	}
	more, err := set.Extend(in.Revision, in.Schema)
	if err == nil {
		extended := in
		extended.Schema = more
		if extended.Added, err = added(set, in.Revision, in.Schema); err == nil {
			var pkg *ir.Package
			var out []*Decision
			if pkg, out, err = guessed(set, extended, own); err == nil {
				return pkg, out, nil
			}
		}
	}
	pkg, out, ferr := guessed(set, in, own)
	if ferr != nil {
		return nil, nil, ferr // it is not for the extensions
	}
	if len(pkg.Methods) > 0 { // a protocol, not a piece of one
		d := &Decision{What: fmt.Sprintf("the extensions do not fit the file and are left out (%v): do they end?", err)}
		for _, e := range set.Extensions(in.Revision) {
			d.Left = append(d.Left, e.Name)
		}
		out = append([]*Decision{d}, out...)
	}
	return pkg, out, nil
}

func guessed(set *spec.Set, in Input, own *spec.Overlay) (*ir.Package, []*Decision, error) {
	before := ""
	for _, r := range set.Revisions() {
		if before == "" || in.Revision == "" || r < in.Revision {
			before = r
		}
	}
	known := &spec.Overlay{}
	if before != "" {
		var err error
		if known, err = set.Core(before); err != nil {
			return nil, nil, err
		}
	}
	var out []*Decision
	for _, e := range in.Added {
		known = known.And(set.Addition(e.Extension, in.Revision))
	}
	hints := *known
	hints.Hints, hints.Errata = true, nil
	if own != nil {
		var err error
		if in.Schema, err = spec.Patch(in.Schema, own.Errata, spec.Generator); err != nil {
			return nil, nil, err
		}
		over(&hints, own)
		in.Own = own
	}
	for _, e := range known.Errata {
		if own != nil && slices.ContainsFunc(own.Errata, func(o *spec.Erratum) bool { return o.At != "" && o.At == e.At }) {
			continue
		}
		patched, err := spec.Patch(in.Schema, []*spec.Erratum{e}, spec.Generator)
		if err == nil && e.Only != spec.Generator {
			_, err = spec.Patch(in.Schema, []*spec.Erratum{e}, spec.Validators)
		}
		if err != nil {
			if lasting(&e.Entry) {
				out = append(out, &Decision{What: "the file does not have this fault any more", Sure: true, Ended: &e.Entry})
			}
			continue
		}
		in.Schema = patched
		hints.Errata = append(hints.Errata, e)
		if !lasting(&e.Entry) {
			out = append(out, &Decision{Pointer: e.At, What: "the file still has this fault of the revision before", Sure: true, Entries: spec.Overlay{Errata: []*spec.Erratum{e}}})
		}
	}
	in.Overlay = &hints
	in.Decide = func(d *Decision) { out = append(out, d) }
	pkg, err := Lower(in)
	if err != nil {
		return nil, nil, err
	}
	return pkg, out, nil
}

// over puts the entries of own before those of hints, and takes out the hints
// that speak of the same thing.
func over(hints, own *spec.Overlay) {
	dst, src := reflect.ValueOf(hints).Elem(), reflect.ValueOf(own).Elem()
	for i := range dst.NumField() {
		l := dst.Field(i)
		if l.Kind() != reflect.Slice || l.Type() == reflect.TypeFor[[]*spec.Erratum]() {
			continue
		}
		said := map[string]bool{}
		for j := range src.Field(i).Len() {
			said[subject(src.Field(i).Index(j))] = true
		}
		all := reflect.AppendSlice(reflect.MakeSlice(l.Type(), 0, 0), src.Field(i))
		for j := range l.Len() {
			if s := subject(l.Index(j)); s == "" || !said[s] {
				all = reflect.Append(all, l.Index(j))
			}
		}
		l.Set(all)
	}
}

// subject is what an entry speaks of, "" if of several things.
func subject(entry reflect.Value) string {
	for _, name := range []string{"At", "Definition", "Method", "Go"} {
		if f := entry.Elem().FieldByName(name); f.IsValid() && f.String() != "" {
			return f.String()
		}
	}
	return ""
}

// lasting says whether an entry holds for later revisions as well: it stands
// with the common facts or those of an extension, and no revision ended it.
func lasting(e *spec.Entry) bool {
	return (strings.HasPrefix(e.Place, "spec/common.json#") || strings.HasPrefix(e.Place, "spec/ext/")) && e.To == ""
}

// decide notes what the general rules decided, once: a place may be looked at
// from several sides.
func (b *builder) decide(d *Decision) {
	key := d.Pointer + "\x00" + d.What
	if d.Ended != nil {
		key += "\x00" + d.Ended.Place
	}
	if b.in.Decide == nil || b.decided[key] {
		return
	}
	b.decided[key] = true
	b.in.Decide(d)
}

// ended notes the hints that last and matched nothing, and carries over those
// that matched and hold only for the revision before.
func (b *builder) ended() {
	for _, e := range b.o.Entries() {
		if !b.used[e] && lasting(e) {
			b.decide(&Decision{What: "it matches nothing in the file", Sure: true, Ended: e})
		}
	}
	var own spec.Overlay
	for _, x := range b.o.Names {
		own.Names = carry(b, own.Names, x, &x.Entry)
	}
	for _, x := range b.o.Inline {
		own.Inline = carry(b, own.Inline, x, &x.Entry)
	}
	for _, x := range b.o.Raw {
		own.Raw = carry(b, own.Raw, x, &x.Entry)
	}
	for _, x := range b.o.Unions {
		own.Unions = carry(b, own.Unions, x, &x.Entry)
	}
	for _, x := range b.o.Enums {
		own.Enums = carry(b, own.Enums, x, &x.Entry)
	}
	for _, x := range b.o.Implied {
		own.Implied = carry(b, own.Implied, x, &x.Entry)
	}
	for _, x := range b.o.Lenient {
		own.Lenient = carry(b, own.Lenient, x, &x.Entry)
	}
	for _, x := range b.o.Keep {
		own.Keep = carry(b, own.Keep, x, &x.Entry)
	}
	for _, x := range b.o.Interfaces {
		own.Interfaces = carry(b, own.Interfaces, x, &x.Entry)
	}
	for _, x := range b.o.Methods {
		own.Methods = carry(b, own.Methods, x, &x.Entry)
	}
	for _, x := range b.o.Constants {
		own.Constants = carry(b, own.Constants, x, &x.Entry)
	}
	for _, x := range b.o.Deprecated {
		own.Deprecated = carry(b, own.Deprecated, x, &x.Entry)
	}
	if len(own.Entries()) > 0 {
		b.decide(&Decision{What: "what the revision before says of itself fits here too", Entries: own})
	}
}

func carry[T any](b *builder, list []T, x T, e *spec.Entry) []T {
	if b.used[e] && !lasting(e) {
		return append(list, x)
	}
	return list
}

// extensionPath begins the path of a capability that is an extension: its
// identifier, which may hold dots, is all the rest.
const extensionPath = "extensions."

// capability says whether a side can advertise a capability, by its path. A
// file that does not define what the side advertises says nothing against it.
func (b *builder) capability(side, path string) bool {
	s := b.file.Definitions[side+"Capabilities"]
	if s == nil {
		return b.strict()
	}
	if _, ok := strings.CutPrefix(path, extensionPath); ok {
		return s.Properties["extensions"] != nil
	}
	for _, k := range strings.Split(path, ".") {
		if s == nil {
			return false
		}
		if s, _ = b.def(s); s == nil {
			return false
		}
		if s = s.Properties[k]; s == nil {
			return false
		}
	}
	return true
}

// likely guesses the capability that a method belongs to: that of the side
// which answers a request or sends a notification, called like the first word
// of the method, and the member of it called like the rest, if there is one.
func (b *builder) likely(m *ir.Method) (server, client []string) {
	words := strings.Split(strings.TrimPrefix(m.Name, "notifications/"), "/")
	path := words[0]
	if len(words) > 1 {
		rest := camel(strings.Join(words[1:], "_"))
		rest = strings.ToLower(rest[:1]) + rest[1:]
		if b.capability("Server", path+"."+rest) || b.capability("Client", path+"."+rest) {
			path += "." + rest
		}
	}
	byServer := m.Direction == ir.ClientToServer != m.Notification || m.Direction == ir.EitherWay
	byClient := m.Direction == ir.ServerToClient != m.Notification || m.Direction == ir.EitherWay
	if m.Embedded {
		byServer, byClient = false, true
	}
	if byServer && b.capability("Server", path) {
		server = []string{path}
	}
	if byClient && b.capability("Client", path) {
		client = []string{path}
	}
	return server, client
}

// fits says whether a gate can be asked of the params of a method.
func (b *builder) fits(g *spec.Gate, params *ir.Type) string {
	side, path := "Server", g.Server
	if g.Client != "" {
		side, path = "Client", g.Client
	}
	if !b.capability(side, path) {
		return fmt.Sprintf("%sCapabilities has no %s", side, path)
	}
	if params == nil {
		return "the method has no params"
	}
	for _, member := range g.Members {
		if !b.hasMember(params, strings.Split(member, ".")) {
			return fmt.Sprintf("%s has no member %s", params.Name, member)
		}
	}
	if len(g.Values) > 0 && !g.Advice && !b.strict() { // the printer has no rule for the others
		if params.Plan == nil || params.Plan.Kind != ir.ByTag || len(g.Members) != 1 || params.Plan.Key != g.Members[0] {
			return fmt.Sprintf("%s is not told apart by %s", params.Name, strings.Join(g.Members, ", "))
		}
		for _, v := range g.Values {
			if !slices.ContainsFunc(params.Plan.Cases, func(c *ir.Case) bool { return c.Value == v }) {
				return fmt.Sprintf("%s has no %s %q", params.Name, g.Members[0], v)
			}
		}
	}
	return ""
}

func (b *builder) hasMember(t *ir.Type, path []string) bool {
	if t == nil {
		return false
	}
	for _, a := range t.Arms {
		if b.hasMember(b.types[a.Type], path) {
			return true
		}
	}
	for _, f := range t.Fields {
		if f.JSON != path[0] {
			continue
		}
		return len(path) == 1 || f.Type.Kind == ir.Named && b.hasMember(b.types[f.Type.Name], path[1:])
	}
	return false
}
