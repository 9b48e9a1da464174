package delta

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

func sender(r ir.Role) string {
	return map[ir.Role]string{ir.FromClient: "client", ir.FromServer: "server"}[r]
}

// senderOf is who writes values of a type: what the newer model says, where it
// has the type. Aliases and interfaces have no values of their own.
func senderOf(o, n *ir.Type) string {
	t := cmp.Or(n, o)
	if !isPayload(t) {
		return ""
	}
	if s := sender(t.Role); s != "" {
		return s
	}
	return "either"
}

var kindNames = map[ir.Kind]string{
	ir.Struct: "struct", ir.Enum: "enum", ir.Union: "union", ir.Alias: "alias", ir.RawUnion: "raw union", ir.KeyedRaw: "keyed union",
	ir.OneOrMany: "one or many", ir.Interface: "interface", ir.MapOf: "map",
}

// types compares all types.
func (c *comparer) types() error {
	return both(c.older.Types, c.newer.Types, func(t *ir.Type) string { return t.Name }, func(name string, o, n *ir.Type) error {
		f := c.subject(Types, name, senderOf(o, n))
		switch {
		case o == nil:
			f.add(Change{Kind: TypeAdded, Newer: kindNames[n.Kind], Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
			return nil
		case n == nil:
			f.add(Change{Kind: TypeRemoved, Older: kindNames[o.Kind], Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
			return nil
		}
		if was := c.was[name]; was != "" {
			f.add(Change{
				Kind: TypeRenamed, Older: was, Newer: name, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll,
				Up: Lossless, Down: Lossless, Note: "the name is not on the wire; an entry in \"names\" of the overlay keeps the old one in Go",
			})
		}
		f.deprecation("", o.Deprec, n.Deprec)
		if o.Kind != n.Kind {
			from, to := &ir.Ref{Kind: ir.Named, Name: o.Name}, &ir.Ref{Kind: ir.Named, Name: n.Name}
			ch := Change{Kind: KindChanged, Older: kindNames[o.Kind], Newer: kindNames[n.Kind], Code: Breaks}
			ch.Up, ch.Down = c.classes(from, o, to, n)
			ch.read()
			f.add(ch)
			return nil
		}
		switch n.Kind {
		case ir.Struct:
			if err := c.fields(f, o, n); err != nil {
				return err
			}
		case ir.Interface:
			if err := c.getters(f, o, n); err != nil {
				return err
			}
		case ir.Enum:
			c.values(f, o, n)
		case ir.Union, ir.KeyedRaw:
			c.arms(f, o, n)
		case ir.RawUnion:
			c.raws(f, o, n)
		}
		if o.Elem != n.Elem {
			ch := Change{Kind: ElemChanged, Older: o.Elem, Newer: n.Elem, Code: Breaks, Up: Impossible, Down: Impossible}
			ch.Up = convert(c.older, &ir.Ref{Kind: ir.Named, Name: o.Elem}, c.newer, &ir.Ref{Kind: ir.Named, Name: n.Elem})
			ch.Down = convert(c.newer, &ir.Ref{Kind: ir.Named, Name: n.Elem}, c.older, &ir.Ref{Kind: ir.Named, Name: o.Elem})
			ch.read()
			f.add(ch)
		}
		if o.Target != n.Target {
			f.add(Change{Kind: TargetChanged, Older: o.Target, Newer: n.Target, Code: Breaks, OldReadsNew: ReadsSome, NewReadsOld: ReadsSome})
		}
		if o.Closed != n.Closed {
			open := func(closed bool) string {
				if closed {
					return "closed"
				}
				return "open"
			}
			ch := Change{Kind: ClosedChanged, Older: open(o.Closed), Newer: open(n.Closed), Code: Breaks, Up: Lossless, Down: Lossy, Note: "the field Extra"}
			if n.Closed {
				ch.Up, ch.Down = Lossy, Lossless
			} else {
				ch.Code = Compiles
			}
			ch.OldReadsNew, ch.NewReadsOld = ReadsSome, ReadsAll
			if n.Closed {
				ch.OldReadsNew, ch.NewReadsOld = ReadsAll, ReadsSome
			}
			f.add(ch)
		}
		return f.explain("", o, n)
	})
}

// classes converts between types that kept their name and changed their kind.
func (c *comparer) classes(from *ir.Ref, o *ir.Type, to *ir.Ref, n *ir.Type) (up, down Class) {
	as := func(t *ir.Type, r *ir.Ref) *ir.Ref { // so that the equal names do not make them equal
		out := *r
		out.Name = "\x00" + t.Name
		return &out
	}
	older, newer := index(c.older.Package), index(c.newer.Package)
	older.byName["\x00"+o.Name] = o
	return convert(older, as(o, from), newer, to), convert(newer, to, older, as(o, from))
}

// read fills in how peers read what was converted: only what cannot be
// converted cannot be read.
func (ch *Change) read() {
	ch.OldReadsNew, ch.NewReadsOld = ReadsAll, ReadsAll
	if strings.Contains(string(ch.Down), "X") {
		ch.OldReadsNew = ReadsSome
	}
	if strings.Contains(string(ch.Up), "X") {
		ch.NewReadsOld = ReadsSome
	}
}

func (f *found) deprecation(member, o, n string) {
	kind := Deprecated
	switch {
	case (o == "") == (n == ""):
		return
	case n == "":
		kind = Undeprecated
	}
	f.add(Change{Kind: kind, Member: member, Older: o, Newer: n, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
}

// fields compares the members of a struct.
func (c *comparer) fields(f *found, o, n *ir.Type) error {
	err := both(o.Fields, n.Fields, func(m *ir.Field) string { return m.JSON }, func(name string, om, nm *ir.Field) error {
		switch {
		case om == nil:
			f.add(c.memberAdded(name, nm))
			return nil
		case nm == nil:
			f.add(c.memberRemoved(name, om))
			return nil
		}
		return c.member(f, name, om, nm)
	})
	if err != nil {
		return err
	}
	for _, a := range accessors(c.older, o) {
		if a == "HasMeta" && !c.newer.Stateless {
			continue // a part of the other handshake
		}
		if !slices.Contains(accessors(c.newer, n), a) {
			f.add(Change{Kind: AccessorLost, Member: a, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
		}
	}
	return nil
}

func (c *comparer) memberAdded(name string, m *ir.Field) Change {
	ch := Change{Kind: MemberAdded, Member: name, Newer: describe(m), Code: Compiles, OldReadsNew: ReadsPart, NewReadsOld: ReadsAll, Up: Lossless, Down: Lossy}
	switch {
	case m.Required && m.Const != "": // nothing has to be invented, and nothing is lost
		ch.NewReadsOld, ch.Down = ReadsNone, Lossless
	case m.Required:
		ch.NewReadsOld, ch.Up = ReadsNone, Defaulted
	}
	if m.Required && m.Default != nil {
		ch.NewReadsOld = ReadsAll
		ch.Note = "a lenient reader takes " + m.Default.JSON + " for it"
	}
	return ch
}

func (c *comparer) memberRemoved(name string, m *ir.Field) Change {
	ch := Change{Kind: MemberRemoved, Member: name, Older: describe(m), Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsPart, Up: Lossy, Down: Lossless}
	switch {
	case m.Required && m.Const != "":
		ch.OldReadsNew, ch.Up, ch.Code = ReadsNone, Lossless, Compiles // it is no Go field
	case m.Required:
		ch.OldReadsNew, ch.Down = ReadsNone, Defaulted
	}
	if m.Required && m.Default != nil {
		ch.OldReadsNew = ReadsAll
		ch.Note = "a lenient reader takes " + m.Default.JSON + " for it"
	}
	return ch
}

// member compares a member that both have.
func (c *comparer) member(f *found, name string, o, n *ir.Field) error {
	code := func() Code {
		if (o.Const == "") != (n.Const == "") && n.Const == "" {
			return Compiles // a field came
		}
		if o.Const != "" && n.Const != "" || goField(c.older, o) == goField(c.newer, n) {
			return Compiles
		}
		return Breaks
	}
	if o.Required != n.Required {
		ch := Change{Kind: MadeRequired, Member: name, Code: code(), OldReadsNew: ReadsAll, NewReadsOld: ReadsSome, Up: absent(n), Down: Lossless}
		if !n.Required {
			ch = Change{Kind: MadeOptional, Member: name, Code: code(), OldReadsNew: ReadsSome, NewReadsOld: ReadsAll, Up: Lossless, Down: absent(o)}
		}
		if d := cmp.Or(n.Default, o.Default); d != nil {
			ch.OldReadsNew, ch.NewReadsOld = ReadsAll, ReadsAll
			ch.Note = "a lenient reader takes " + d.JSON + " when it is missing"
		}
		f.add(ch)
	}
	if o.Const != n.Const {
		ch := Change{Kind: ConstChanged, Member: name, Older: o.Const, Newer: n.Const, Code: code(), OldReadsNew: ReadsNone, NewReadsOld: ReadsNone, Up: Lossless, Down: Lossless}
		switch {
		case o.Const == "":
			ch.Up, ch.OldReadsNew, ch.NewReadsOld = Impossible, ReadsAll, ReadsSome
		case n.Const == "":
			ch.Down, ch.OldReadsNew, ch.NewReadsOld = Impossible, ReadsSome, ReadsAll
		}
		f.add(ch)
	} else if !sameRef(&o.Type, &n.Type) {
		ch := Change{Kind: TypeChanged, Member: name, Older: show(&o.Type), Newer: show(&n.Type), Code: code()}
		ch.Up, ch.Down = convert(c.older, &o.Type, c.newer, &n.Type), convert(c.newer, &n.Type, c.older, &o.Type)
		ch.read()
		f.add(ch)
	}
	if o.Name != n.Name {
		f.add(Change{Kind: GoNameChanged, Member: name, Older: o.Name, Newer: n.Name, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
	}
	if x, y := lenient(o.Default), lenient(n.Default); x != y && o.Required == n.Required { // an optional member has none
		f.add(Change{Kind: DefaultChanged, Member: name, Older: x, Newer: y, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "only what a lenient reader makes of bad messages"})
	}
	if o.Implied != n.Implied {
		ch := Change{Kind: ImpliedChanged, Member: name, Older: o.Implied, Newer: n.Implied, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll}
		if o.Implied != "" && n.Implied != "" { // leaving it out says something else
			ch.OldReadsNew, ch.NewReadsOld, ch.Up, ch.Down = ReadsSome, ReadsSome, Defaulted, Defaulted
		}
		f.add(ch)
	}
	if x, y := bounds(o), bounds(n); x != y {
		ch := Change{Kind: BoundsChanged, Member: name, Older: x, Newer: y, Code: Compiles, Up: Lossless, Down: Lossless, Note: "not refused when it is read; Validate reports it"}
		if narrower(o, n) {
			ch.Up = Impossible
		}
		if narrower(n, o) {
			ch.Down = Impossible
		}
		ch.read()
		f.add(ch)
	}
	if o.Format != n.Format {
		f.add(Change{Kind: FormatChanged, Member: name, Older: o.Format, Newer: n.Format, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "formats are not checked when they are read"})
	}
	f.deprecation(name, o.Deprec, n.Deprec)
	return f.explain(name, o, n)
}

// absent is the class of values that lack a member which must be there on the
// other side: the facts of a connection are at hand (_meta), or a value is
// known that absence stands for; else absence said something.
func absent(m *ir.Field) Class {
	if m.JSON == "_meta" || m.Default != nil || m.Implied != "" {
		return Defaulted
	}
	return Impossible
}

func lenient(d *ir.Lenient) string {
	if d == nil {
		return ""
	}
	out := d.JSON
	for _, w := range []struct {
		set  bool
		text string
	}{{d.Negative, "also for a negative number"}, {d.Empty, "also for an empty string"}, {d.Zero, "written for the zero value"}} {
		if w.set {
			out += ", " + w.text
		}
	}
	return out
}

func bounds(f *ir.Field) string {
	var out []string
	if f.Min != nil {
		out = append(out, "at least "+strconv.FormatFloat(*f.Min, 'g', -1, 64))
	}
	if f.Max != nil {
		out = append(out, "at most "+strconv.FormatFloat(*f.Max, 'g', -1, 64))
	}
	if f.MaxItems != nil {
		out = append(out, fmt.Sprintf("at most %d items", *f.MaxItems))
	}
	return strings.Join(out, ", ")
}

// narrower says whether some value within the bounds of a is outside those of b.
func narrower(a, b *ir.Field) bool {
	return b.Min != nil && (a.Min == nil || *a.Min < *b.Min) ||
		b.Max != nil && (a.Max == nil || *a.Max > *b.Max) ||
		b.MaxItems != nil && (a.MaxItems == nil || *a.MaxItems > *b.MaxItems)
}

// getters compares Go interfaces, which have no values of their own on the wire.
func (c *comparer) getters(f *found, o, n *ir.Type) error {
	err := both(o.Fields, n.Fields, func(m *ir.Field) string { return m.Name }, func(name string, om, nm *ir.Field) error {
		switch {
		case om == nil:
			f.add(Change{Kind: GetterAdded, Member: name, Newer: describe(nm), Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "breaks types of one's own that meet the interface"})
		case nm == nil, goField(c.older, om) != goField(c.newer, nm):
			f.add(Change{Kind: GetterGone, Member: name, Older: describe(om), Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return both(o.Arms, n.Arms, func(a *ir.Arm) string { return a.Type }, func(name string, oa, na *ir.Arm) error {
		switch {
		case oa == nil:
			f.add(Change{Kind: ImplAdded, Member: name, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
		case na == nil:
			f.add(Change{Kind: ImplGone, Member: name, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
		}
		return nil
	})
}

// values compares enums.
func (c *comparer) values(f *found, o, n *ir.Type) {
	_ = both(o.Values, n.Values, func(v *ir.EnumValue) string { return v.Value }, func(value string, ov, nv *ir.EnumValue) error {
		switch {
		case ov == nil:
			ch := Change{Kind: ValueAdded, Member: value, Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsAll, Up: Lossless, Down: Impossible}
			if o.Open {
				ch.OldReadsNew, ch.Down = ReadsPart, Lossless
			} else {
				ch.Note = "our packages keep a value that they do not know"
			}
			f.add(ch)
		case nv == nil:
			ch := Change{Kind: ValueRemoved, Member: value, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsSome, Up: Impossible, Down: Lossless}
			if n.Open {
				ch.NewReadsOld, ch.Up = ReadsPart, Lossless
			} else {
				ch.Note = "our packages keep a value that they do not know"
			}
			f.add(ch)
		case ov.Name != nv.Name:
			f.add(Change{Kind: ValueRenamed, Member: value, Older: ov.Name, Newer: nv.Name, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
		}
		return nil
	})
	order := func(t, other *ir.Type) string {
		vs := slices.Clone(t.Values)
		slices.SortStableFunc(vs, func(x, y *ir.EnumValue) int { return x.Rank - y.Rank })
		var out []string
		for _, v := range vs {
			if slices.ContainsFunc(other.Values, func(w *ir.EnumValue) bool { return w.Value == v.Value }) {
				out = append(out, v.Value)
			}
		}
		return strings.Join(out, " ")
	}
	if x, y := order(o, n), order(n, o); x != y {
		f.add(Change{Kind: OrderChanged, Older: x, Newer: y, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll})
	}
	if o.Open != n.Open {
		ch := Change{Kind: OpenChanged, Older: "closed", Newer: "open", Code: Compiles, Up: Lossless, Down: Impossible}
		if o.Open {
			ch.Older, ch.Newer, ch.Up, ch.Down = "open", "closed", Impossible, Lossless
		}
		ch.read()
		f.add(ch)
	}
}

// arms compares what a union may be, and how it is told.
func (c *comparer) arms(f *found, o, n *ir.Type) {
	key := func(a *ir.Arm) string {
		if a.Tag == "" {
			return a.Type
		}
		return a.Type + " as " + a.Tag
	}
	var gone, come bool
	_ = both(o.Arms, n.Arms, key, func(name string, oa, na *ir.Arm) error {
		switch {
		case oa == nil:
			come = true
			ch := Change{Kind: ArmAdded, Member: name, Code: Compiles, OldReadsNew: ReadsSome, NewReadsOld: ReadsAll, Up: Lossless, Down: Impossible}
			if n.Kind == ir.Union {
				ch.Note = "our packages keep it as *Unknown" + n.Name
			}
			f.add(ch)
		case na == nil:
			gone = true
			f.add(Change{Kind: ArmRemoved, Member: name, Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsSome, Up: Impossible, Down: Lossless})
		}
		return nil
	})
	if guessed(c.older, o) && !guessed(c.newer, n) {
		f.add(Change{Kind: AccessorLost, Member: "Guess", Code: Breaks, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: "some of its types need no member any more"})
	}
	if x, y := planOf(o, n), planOf(n, o); x != y {
		note := "what a message says by it is in the changes of the types"
		if come || gone {
			note = "the types that came or went are told first"
		}
		f.add(Change{Kind: PlanChanged, Older: x, Newer: y, Code: Compiles, OldReadsNew: ReadsAll, NewReadsOld: ReadsAll, Note: note})
	}
}

// guessed says whether the members of a keyed union can be guessed at: each needs some member.
func guessed(p *pkg, t *ir.Type) bool {
	return t.Kind == ir.KeyedRaw && !slices.ContainsFunc(t.Arms, func(a *ir.Arm) bool {
		arm := p.typ(a.Type)
		return arm == nil || !slices.ContainsFunc(arm.Fields, func(f *ir.Field) bool { return f.Required && f.JSON != "resultType" })
	})
}

// planOf writes how a union is told apart, less the types that the other one does not have.
func planOf(t, other *ir.Type) string {
	p := t.Plan
	if p == nil {
		return ""
	}
	has := func(name string) bool {
		return slices.ContainsFunc(other.Arms, func(a *ir.Arm) bool { return a.Type == name })
	}
	var cases []string
	for _, k := range p.Cases {
		if k.Type != "" {
			if has(k.Type) {
				cases = append(cases, cmp.Or(k.Value, k.Key)+": "+k.Type)
			}
			continue
		}
		var steps []string
		for _, s := range k.Steps {
			if has(s.Type) {
				steps = append(steps, strings.TrimSpace(s.Has+" "+s.Type))
			}
		}
		if steps != nil {
			cases = append(cases, k.Value+": "+strings.Join(steps, ", "))
		}
	}
	if p.Kind != ir.ByPresence { // there the first wins, here each has its value
		slices.Sort(cases)
	}
	out := []string{"by a member of its own", "by the member " + p.Key}[map[bool]int{true: 0, false: 1}[p.Kind == ir.ByPresence]]
	if p.Absent != "" && has(p.Absent) {
		cases = append(cases, "without it: "+p.Absent)
	}
	return out + " (" + strings.Join(cases, "; ") + ")"
}

var rawNames = map[ir.RawKind]string{ir.RawString: "string", ir.RawInt: "integer", ir.RawFloat: "number", ir.RawBool: "boolean", ir.RawStrings: "list of strings"}

func (c *comparer) raws(f *found, o, n *ir.Type) {
	covers := func(t *ir.Type, k ir.RawKind) bool {
		return slices.Contains(t.Raws, k) || k == ir.RawInt && slices.Contains(t.Raws, ir.RawFloat)
	}
	for _, k := range n.Raws {
		if slices.Contains(o.Raws, k) {
			continue
		}
		ch := Change{Kind: RawAdded, Member: rawNames[k], Code: Compiles, Up: Lossless, Down: Impossible}
		if covers(o, k) {
			ch.Down = Lossless
		}
		ch.read()
		f.add(ch)
	}
	for _, k := range o.Raws {
		if slices.Contains(n.Raws, k) {
			continue
		}
		ch := Change{Kind: RawRemoved, Member: rawNames[k], Code: Breaks, Up: Impossible, Down: Lossless}
		if covers(n, k) {
			ch.Up = Lossless
		}
		ch.read()
		f.add(ch)
	}
}

// sameRef compares two references.
func sameRef(a, b *ir.Ref) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Kind == b.Kind && a.Name == b.Name && sameRef(a.Elem, b.Elem)
}

// show writes a reference as the schema thinks of it.
func show(r *ir.Ref) string {
	switch r.Kind {
	case ir.Named:
		return r.Name
	case ir.Slice:
		return "[]" + show(r.Elem)
	case ir.Map:
		return "map of " + show(r.Elem)
	}
	return map[ir.RefKind]string{
		ir.String: "string", ir.Bool: "boolean", ir.Int: "integer", ir.Float: "number", ir.NullInt: "integer or null", ir.RawAny: "any value",
		ir.RawObject: "any object", ir.ID: "id", ir.Base64: "base64",
	}[r.Kind]
}

// describe writes a member's type; ! marks a required one.
func describe(m *ir.Field) string {
	out := show(&m.Type)
	if m.Const != "" {
		return strconv.Quote(m.Const) + "!"
	}
	if m.Required {
		out += "!"
	}
	return out
}

// goRef is the Go type of a reference, as package emit prints it; a test holds
// the two together.
func goRef(r *ir.Ref) string {
	switch r.Kind {
	case ir.Named:
		return r.Name
	case ir.Slice:
		return "[]" + goRef(r.Elem)
	case ir.Map:
		return "map[string]" + goRef(r.Elem)
	}
	return map[ir.RefKind]string{
		ir.String: "string", ir.Base64: "string", ir.Bool: "bool", ir.Int: "int64", ir.Float: "float64", ir.NullInt: "*int64",
		ir.RawAny: "wire.Raw", ir.RawObject: "wire.Raw", ir.ID: "jsonrpc.ID",
	}[r.Kind]
}

// goField is the Go type of a member's field, "" of a constant, which has none.
func goField(p *pkg, m *ir.Field) string {
	if m.Const != "" {
		return ""
	}
	out := goRef(&m.Type)
	if m.Required {
		return out
	}
	switch m.Type.Kind {
	case ir.String, ir.Base64, ir.Bool, ir.Int, ir.Float:
		return "*" + out
	case ir.Named:
		if t := p.typ(m.Type.Name); t == nil || t.Kind != ir.Union && t.Kind != ir.MapOf {
			return "*" + out
		}
	}
	return out
}

// accessors are the Go methods of a struct that come and go with what its
// members hold and with what it is used for.
func accessors(p *pkg, t *ir.Type) []string {
	var out, members []string
	fields := map[string]bool{}
	for _, m := range t.Fields {
		if m.Const == "" {
			fields[m.Name] = true
			if m.Type.Kind == ir.Base64 {
				members = append(members, m.Name)
			}
			if m.MaxItems != nil && m.Type.Kind == ir.Slice {
				out = append(out, "Cut"+m.Name)
			}
		}
	}
	for _, m := range members {
		name := "Bytes"
		if len(members) > 1 {
			name = m + "Bytes"
		}
		out = append(out, name, "Set"+name)
	}
	if t.Params && !fields["Metadata"] && !fields["SetMetadata"] {
		out = append(out, "Metadata", "SetMetadata")
	}
	if t.Result && p.Stateless {
		out = append(out, "HasMeta")
	}
	return out
}
