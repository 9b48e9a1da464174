package delta

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// Class says what converting a value from one revision to the other keeps.
// Letters combine: "DL" is a value for which something must be invented and
// something else is dropped.
type Class string

// The classes.
const (
	Lossless   Class = "="
	Defaulted  Class = "D" // a required member has to be invented
	Lossy      Class = "L" // information is dropped
	Impossible Class = "X" // some values cannot be said: an error or a fallback is needed
)

// And gives the letters of both.
func (c Class) And(o Class) Class {
	var b strings.Builder
	for _, l := range "DLX" {
		if strings.ContainsRune(string(c), l) || strings.ContainsRune(string(o), l) {
			b.WriteRune(l)
		}
	}
	if b.Len() == 0 {
		return Lossless
	}
	return Class(b.String())
}

// convert says what it means to make a value of reference to (in package in)
// from one of reference from (in package out).
func convert(out *pkg, from *ir.Ref, in *pkg, to *ir.Ref) Class {
	ft, tt := named(out, from), named(in, to)
	switch {
	case sameRef(from, to): // what changed inside of a type is that type's own matter
		return Lossless
	case to.Kind == ir.RawAny:
		return Lossless
	case to.Kind == ir.RawObject:
		if isObject(from, ft) {
			return Lossless
		}
		return Impossible
	case from.Kind == ir.RawAny:
		return Impossible
	case from.Kind == ir.RawObject: // a free object stays one inside a struct: what it does not name goes to Extra
		if tt != nil && tt.Kind == ir.Struct && !slices.ContainsFunc(tt.Fields, func(f *ir.Field) bool { return f.Required }) {
			return Lossless
		}
		return Impossible
	case tt != nil && tt.Kind == ir.OneOrMany:
		if from.Kind == ir.Slice {
			return convert(out, from.Elem, in, &ir.Ref{Kind: ir.Named, Name: tt.Elem})
		}
		return convert(out, from, in, &ir.Ref{Kind: ir.Named, Name: tt.Elem})
	case ft != nil && ft.Kind == ir.OneOrMany:
		if to.Kind == ir.Slice {
			return convert(out, &ir.Ref{Kind: ir.Named, Name: ft.Elem}, in, to.Elem)
		}
		return Impossible // more than one
	case from.Kind == ir.Slice && to.Kind == ir.Slice:
		return convert(out, from.Elem, in, to.Elem)
	case isMap(from, ft) && isMap(to, tt):
		return convert(out, mapElem(from, ft), in, mapElem(to, tt))
	case from.Kind == ir.Int && (to.Kind == ir.Float || to.Kind == ir.NullInt || to.Kind == ir.ID):
		return Lossless
	case from.Kind == ir.String && to.Kind == ir.ID, from.Kind == ir.Base64 && to.Kind == ir.String:
		return Lossless
	case ft != nil && ft.Kind == ir.Enum && to.Kind == ir.String:
		return Lossless
	case from.Kind == ir.String && tt != nil && tt.Kind == ir.Enum && tt.Open:
		return Lossless
	case ft != nil && tt != nil && tt.Kind == ir.Union && slices.ContainsFunc(tt.Arms, func(a *ir.Arm) bool { return a.Type == ft.Name }):
		return Lossless
	case tt != nil && tt.Kind == ir.RawUnion:
		if k, ok := rawKind(from); ok && slices.Contains(tt.Raws, k) {
			return Lossless
		}
		return Impossible
	}
	return Impossible
}

// named is the type that a reference names, aliases followed.
func named(p *pkg, r *ir.Ref) *ir.Type {
	if r.Kind != ir.Named {
		return nil
	}
	return p.typ(r.Name)
}

func isObject(r *ir.Ref, t *ir.Type) bool {
	if r.Kind == ir.Map || r.Kind == ir.RawObject {
		return true
	}
	return t != nil && (t.Kind == ir.Struct || t.Kind == ir.Union || t.Kind == ir.MapOf || t.Kind == ir.KeyedRaw)
}

func isMap(r *ir.Ref, t *ir.Type) bool { return r.Kind == ir.Map || t != nil && t.Kind == ir.MapOf }

func mapElem(r *ir.Ref, t *ir.Type) *ir.Ref {
	if r.Kind == ir.Map {
		return r.Elem
	}
	return &ir.Ref{Kind: ir.Named, Name: t.Elem}
}

func rawKind(r *ir.Ref) (ir.RawKind, bool) {
	switch r.Kind {
	case ir.String, ir.Base64:
		return ir.RawString, true
	case ir.Int:
		return ir.RawInt, true
	case ir.Float:
		return ir.RawFloat, true
	case ir.Bool:
		return ir.RawBool, true
	case ir.Slice:
		return ir.RawStrings, r.Elem.Kind == ir.String
	}
	return 0, false
}

// compose joins the classes of each type's own changes with those of what it
// holds in either revision. What a member held that came or went counts too:
// its values come from somewhere, or are wanted elsewhere.
func (c *comparer) compose() {
	own := map[string]*Conversion{}
	for _, ch := range c.d.Changes {
		if ch.Group != Types || ch.Up == "" {
			continue
		}
		o := own[ch.Subject]
		if o == nil {
			o = &Conversion{Type: ch.Subject, Older: c.was[ch.Subject], Up: Lossless, Down: Lossless}
			own[ch.Subject] = o
		}
		o.Up, o.Down = o.Up.And(ch.Up), o.Down.And(ch.Down)
	}
	all := map[string]*Conversion{}
	for n, o := range own {
		cp := *o
		all[n] = &cp
	}
	var common []*ir.Type
	for _, t := range c.newer.Types {
		if isPayload(t) && isPayload(c.older.byName[t.Name]) {
			common = append(common, t)
		}
	}
	for again := true; again; {
		again = false
		for _, t := range common {
			held := append(c.newer.holds(t), c.older.holds(c.older.byName[t.Name])...)
			up, down, touched := Lossless, Lossless, false
			for _, name := range held {
				if x := all[name]; x != nil {
					up, down, touched = up.And(x.Up), down.And(x.Down), true
				}
			}
			have := all[t.Name]
			if have == nil {
				if !touched {
					continue
				}
				have = &Conversion{Type: t.Name, Older: c.was[t.Name], Up: Lossless, Down: Lossless}
				all[t.Name] = have
				again = true
			}
			if u, d := have.Up.And(up), have.Down.And(down); u != have.Up || d != have.Down {
				have.Up, have.Down, again = u, d, true
			}
		}
	}
	for _, t := range common {
		x := all[t.Name]
		if x == nil {
			continue
		}
		o := own[t.Name]
		if o == nil {
			o = &Conversion{Up: Lossless, Down: Lossless}
		}
		x.NestedUp, x.NestedDown = x.Up != o.Up, x.Down != o.Down
		c.d.Conversions = append(c.d.Conversions, x)
	}
}

// holds gives the names of the types that a type holds, aliases followed.
func (p *pkg) holds(t *ir.Type) []string {
	var out []string
	for _, name := range refs(t) {
		if held := p.typ(name); held != nil {
			out = append(out, held.Name)
		}
	}
	return out
}

// refs gives the names of the types that a type holds.
func refs(t *ir.Type) []string {
	var out []string
	for _, f := range t.Fields {
		for r := &f.Type; r != nil; r = r.Elem {
			if r.Kind == ir.Named {
				out = append(out, r.Name)
			}
		}
	}
	for _, a := range t.Arms {
		out = append(out, a.Type)
	}
	if t.Elem != "" {
		out = append(out, t.Elem)
	}
	return out
}
