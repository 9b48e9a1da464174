package delta

import (
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// renames finds the types that only changed their name: where the older model
// uses one that went, the newer uses one that came, everywhere the same, and
// the two are alike in more than half of what they hold. The result maps older
// Go names to newer ones.
func renames(older, newer *ir.Package) map[string]string {
	names := map[string]string{}
	n := index(newer)
	for {
		o := index(renamed(older, names))
		pairs := map[string]map[string]bool{} // older name -> newer names
		back := map[string]map[string]bool{}
		evidence(o, n, func(from, to string) {
			if n.byName[from] != nil || o.byName[to] != nil || o.byName[from] == nil || n.byName[to] == nil {
				return
			}
			if pairs[from] == nil {
				pairs[from] = map[string]bool{}
			}
			if back[to] == nil {
				back[to] = map[string]bool{}
			}
			pairs[from][to], back[to][from] = true, true
		})
		again := false
		for from, tos := range pairs {
			for to := range tos {
				if len(tos) == 1 && len(back[to]) == 1 && alike(o.byName[from], n.byName[to]) {
					names[from], again = to, true
				}
			}
		}
		if !again {
			return names
		}
	}
}

// evidence calls f with the names that stand at the same place of both models.
func evidence(o, n *pkg, f func(from, to string)) {
	ref := func(a, b *ir.Ref) {
		for ; a != nil && b != nil && a.Kind == b.Kind; a, b = a.Elem, b.Elem {
			if a.Kind == ir.Named && a.Name != b.Name {
				f(a.Name, b.Name)
			}
		}
	}
	name := func(a, b string) {
		if a != "" && b != "" && a != b {
			f(a, b)
		}
	}
	for _, x := range n.Types {
		t := o.byName[x.Name]
		if t == nil || t.Kind != x.Kind || t.Kind == ir.Interface {
			continue
		}
		for _, m := range x.Fields {
			if i := slices.IndexFunc(t.Fields, func(om *ir.Field) bool { return om.JSON == m.JSON }); i >= 0 {
				ref(&t.Fields[i].Type, &m.Type)
			}
		}
		name(t.Elem, x.Elem)
		name(t.Target, x.Target)
		for _, a := range x.Arms {
			if i := slices.IndexFunc(t.Arms, func(oa *ir.Arm) bool { return a.Tag != "" && oa.Tag == a.Tag }); i >= 0 {
				name(t.Arms[i].Type, a.Type)
			}
		}
		for _, oa := range t.Arms { // an arm that went, and one like it that came
			for _, na := range x.Arms {
				if a, b := o.byName[oa.Type], n.byName[na.Type]; oa.Type != na.Type && a != nil && b != nil && twins(a, b) {
					name(oa.Type, na.Type)
				}
			}
		}
		if t.Plan == nil || x.Plan == nil || t.Plan.Kind != x.Plan.Kind || t.Plan.Key != x.Plan.Key {
			continue
		}
		for _, k := range x.Plan.Cases {
			if i := slices.IndexFunc(t.Plan.Cases, func(ok *ir.Case) bool { return ok.Value == k.Value && ok.Key == k.Key }); i >= 0 {
				name(t.Plan.Cases[i].Type, k.Type)
			}
		}
	}
	for _, m := range n.Methods {
		if i := slices.IndexFunc(o.Methods, func(om *ir.Method) bool { return om.Name == m.Name }); i >= 0 {
			name(o.Methods[i].Params, m.Params)
			name(o.Methods[i].Result, m.Result)
		}
	}
	for _, e := range n.Errors {
		if i := slices.IndexFunc(o.Errors, func(oe *ir.Error) bool { return oe.Code == e.Code }); i >= 0 {
			name(o.Errors[i].Data, e.Data)
		}
	}
}

// twins says whether two structs have the same members.
func twins(a, b *ir.Type) bool {
	return a.Kind == ir.Struct && b.Kind == ir.Struct && len(a.Fields) == len(b.Fields) &&
		sameKeys(a.Fields, b.Fields, func(f *ir.Field) string { return f.JSON + " " + describe(f) })
}

// alike says whether two types have more than half of what they hold in common.
func alike(a, b *ir.Type) bool {
	if a.Kind != b.Kind {
		return false
	}
	parts := func(t *ir.Type) map[string]bool {
		out := map[string]bool{}
		for _, m := range t.Fields {
			out[m.JSON] = true
		}
		for _, v := range t.Values {
			out[v.Value] = true
		}
		if t.Kind == ir.Union {
			for _, k := range t.Plan.Cases {
				out[k.Value+" "+k.Key] = true
			}
		}
		for _, r := range t.Raws {
			out[rawNames[r]] = true
		}
		return out
	}
	x, y := parts(a), parts(b)
	common, all := 0, maps.Clone(x)
	for k := range y {
		if x[k] {
			common++
		}
		all[k] = true
	}
	return 2*common > len(all) || len(all) == 0
}

// renamed is a copy of a package in which some types have another name.
func renamed(p *ir.Package, names map[string]string) *ir.Package {
	if len(names) == 0 {
		return p
	}
	as := func(name string) string {
		if n := names[name]; n != "" {
			return n
		}
		return name
	}
	var ref func(r *ir.Ref) *ir.Ref
	ref = func(r *ir.Ref) *ir.Ref {
		if r == nil {
			return nil
		}
		return &ir.Ref{Kind: r.Kind, Name: as(r.Name), Elem: ref(r.Elem)}
	}
	out := *p
	out.Types = nil
	for _, t := range p.Types {
		c := *t
		c.Name, c.Target, c.Elem, c.MetaOf = as(t.Name), as(t.Target), as(t.Elem), as(t.MetaOf)
		c.Fields = each(t.Fields, func(m *ir.Field) { m.Type = *ref(&m.Type) })
		c.Values = each(t.Values, func(v *ir.EnumValue) {
			if s, ok := strings.CutPrefix(v.Name, t.Name); ok {
				v.Name = c.Name + s
			}
		})
		c.Arms = each(t.Arms, func(a *ir.Arm) { a.Type = as(a.Type) })
		if t.Plan != nil {
			plan := *t.Plan
			plan.Absent = as(plan.Absent)
			plan.Cases = each(plan.Cases, func(k *ir.Case) {
				k.Type = as(k.Type)
				k.Steps = each(k.Steps, func(s *ir.Step) { s.Type = as(s.Type) })
			})
			c.Plan = &plan
		}
		out.Types = append(out.Types, &c)
	}
	slices.SortFunc(out.Types, func(x, y *ir.Type) int { return strings.Compare(x.Name, y.Name) })
	out.Methods = each(p.Methods, func(m *ir.Method) { m.Params, m.Result, m.Item = as(m.Params), as(m.Result), as(m.Item) })
	out.Errors = each(p.Errors, func(e *ir.Error) { e.Data = as(e.Data) })
	return &out
}

// each copies a list and changes the copies.
func each[T any](list []*T, change func(*T)) []*T {
	if list == nil {
		return nil
	}
	out := make([]*T, len(list))
	for i, x := range list {
		c := *x
		change(&c)
		out[i] = &c
	}
	return out
}
