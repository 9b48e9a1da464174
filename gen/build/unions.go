package build

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// union lowers an anyOf. The kinds of its members decide its shape; members
// that are objects need a plan that tells them apart.
func (b *builder) union(s *schema.Schema, goName, label string, at place) (ir.Ref, error) {
	ref := ir.Ref{Kind: ir.Named, Name: goName}
	for _, u := range b.o.Unions {
		if u.Go == goName && u.Keyed != nil {
			accessors, err := b.accessors(s, u)
			if err != nil {
				return ref, err
			}
			return ref, b.keyed(s, goName, label, accessors)
		}
	}
	arms, err := b.flattenArms(s, 0)
	if err != nil {
		return ref, err
	}
	var objects, arrays, scalars []arm
	for _, a := range arms {
		switch {
		case a.schema.Is("object") || a.schema.AllOf != nil || a.schema.Properties != nil:
			objects = append(objects, a)
		case a.schema.Is("array"):
			arrays = append(arrays, a)
		default:
			scalars = append(scalars, a)
		}
	}
	switch {
	case len(objects) == 0:
		return ref, b.rawUnion(s, goName, label, arms)
	case len(scalars) == 0 && len(arrays) == 0:
		return ref, b.sealed(s, goName, label, objects)
	case len(scalars) == 0 && len(arrays) == 1 && arrays[0].schema.Items != nil:
		return ref, b.oneOrMany(s, goName, label, objects, arrays[0].schema, at)
	}
	return ref, b.unclassified(s, goName, "objects, arrays and scalars are mixed")
}

func (b *builder) unclassified(s *schema.Schema, goName, why string) error {
	return b.err(Unclassified, s.Pointer,
		"the members of union %s cannot be told apart (%s): give every member a required member with a const of its own, "+
			"or add {\"go\": %q, \"keyed\": {accessor: definition}} to \"unions\" in the overlay when the reader knows the type from elsewhere", goName, why, goName)
}

// arm is one member of a union.
type arm struct {
	def    string // definition, "" for an anonymous member
	schema *schema.Schema
}

// flattenArms resolves references and takes in the members of unions inside the union.
func (b *builder) flattenArms(s *schema.Schema, depth int) ([]arm, error) {
	if depth > 16 {
		return nil, b.err(Unsupported, s.Pointer, "the union holds itself")
	}
	var out []arm
	for _, a := range s.AnyOf {
		d, name := b.def(a)
		if d.AnyOf == nil {
			if !slices.ContainsFunc(out, func(o arm) bool { return name != "" && o.def == name }) {
				out = append(out, arm{name, d})
			}
			continue
		}
		b.reached[name] = true
		inner, err := b.flattenArms(d, depth+1)
		if err != nil {
			return nil, err
		}
		for _, i := range inner {
			if !slices.ContainsFunc(out, func(o arm) bool { return i.def != "" && o.def == i.def }) {
				out = append(out, i)
			}
		}
	}
	return out, nil
}

// claimUnion registers a union by its members, in whatever order the file has them.
func (b *builder) claimUnion(s *schema.Schema, goName string, arms []arm) (bool, error) {
	var keys []string
	for _, a := range arms {
		if a.def != "" {
			keys = append(keys, a.def)
		} else {
			keys = append(keys, canon(a.schema))
		}
	}
	slices.Sort(keys)
	return b.claim(goName, "union "+strings.Join(keys, " | "), s.Pointer)
}

// armTypes lowers the object members of a union to structs.
func (b *builder) armTypes(s *schema.Schema, goName string, arms []arm) ([]string, error) {
	out := make([]string, len(arms))
	for i, a := range arms {
		if a.def == "" {
			return nil, b.err(Unnamed, a.schema.Pointer, "an anonymous object is a member of union %s: only definitions can be", goName)
		}
		b.reached[a.def] = true
		ref, err := b.named(a.schema, a.def, place{})
		if err != nil {
			return nil, err
		}
		if ref.Kind != ir.Named || b.types[ref.Name].Kind != ir.Struct {
			return nil, b.err(Unsupported, s.Pointer, "the member %s of union %s is no struct", a.def, goName)
		}
		out[i] = ref.Name
	}
	return out, nil
}

func (b *builder) sealed(s *schema.Schema, goName, label string, arms []arm) error {
	fresh, err := b.claimUnion(s, goName, arms)
	if err != nil || !fresh {
		return err
	}
	t := &ir.Type{Name: goName, Schema: label, Kind: ir.Union, Doc: b.doc(goName, "", s.Description)}
	b.types[goName] = t
	names, err := b.armTypes(s, goName, arms)
	if err != nil {
		return err
	}
	for _, n := range names {
		t.Arms = append(t.Arms, &ir.Arm{Type: n})
	}
	t.Plan, err = b.plan(s, goName, arms, names)
	return err
}

// accessors gives the accessors of a keyed union. As a hint an entry may name
// other members than the union has: then each member that it does not name gets
// its own name, and what is no member is left out.
func (b *builder) accessors(s *schema.Schema, u *spec.Union) (map[string]string, error) {
	arms, err := b.flattenArms(s, 0)
	if err != nil || b.strict() {
		b.use(&u.Entry)
		return u.Keyed, err
	}
	out := map[string]string{}
	for _, a := range arms {
		if a.def == "" {
			return u.Keyed, nil // refused where the union is made
		}
		tag := camel(strings.TrimSuffix(a.def, "Result"))
		for _, t := range slices.Sorted(maps.Keys(u.Keyed)) {
			if u.Keyed[t] == a.def {
				tag = t
			}
		}
		out[tag] = a.def
	}
	if maps.Equal(out, u.Keyed) {
		b.use(&u.Entry)
		return out, nil
	}
	b.decide(&Decision{
		Pointer: s.Pointer, What: fmt.Sprintf("the members of %s are others than before: are these good names for the accessors?", u.Go),
		Entries: spec.Overlay{Unions: []*spec.Union{{Go: u.Go, Keyed: out}}},
	})
	return out, nil
}

// keyed makes a raw value with an accessor for each type that it can have.
func (b *builder) keyed(s *schema.Schema, goName, label string, accessors map[string]string) error {
	fresh, err := b.claim(goName, fmt.Sprint("keyed ", accessors), s.Pointer)
	if err != nil || !fresh {
		return err
	}
	t := &ir.Type{Name: goName, Schema: label, Kind: ir.KeyedRaw, Doc: b.doc(goName, "", s.Description)}
	b.types[goName] = t
	for _, tag := range slices.Sorted(maps.Keys(accessors)) {
		def := accessors[tag]
		d := b.file.Definitions[def]
		if d == nil {
			return b.err(Unused, s.Pointer, "the overlay gives union %s a member %s, which the file does not define", goName, def)
		}
		b.reached[def] = true
		ref, err := b.named(d, def, place{})
		if err != nil {
			return err
		}
		if ref.Kind != ir.Named {
			if !d.Is("object") {
				return b.err(Unsupported, s.Pointer, "the member %s of union %s is no object", def, goName)
			}
			ref.Name = b.goName(def) // an object without members of its own
			if err := b.structType(d, ref.Name, def); err != nil {
				return err
			}
		}
		t.Arms = append(t.Arms, &ir.Arm{Type: ref.Name, Tag: tag})
	}
	if s.AnyOf != nil { // a union: the accessors must be its members, all of them
		arms, err := b.flattenArms(s, 0)
		if err != nil {
			return err
		}
		var have []string
		for _, a := range arms {
			have = append(have, a.def)
		}
		slices.Sort(have)
		if want := slices.Sorted(maps.Values(accessors)); !slices.Equal(have, want) {
			return b.err(Unclassified, s.Pointer, "union %s has the members %v, the overlay gives accessors to %v", goName, have, want)
		}
	}
	return nil
}

// rawUnion makes a raw value with one accessor per JSON kind.
func (b *builder) rawUnion(s *schema.Schema, goName, label string, arms []arm) error {
	kinds := map[ir.RawKind]bool{}
	for _, a := range arms {
		if a.schema.Is("array") && a.schema.Items != nil && a.schema.Items.Is("string") && a.schema.Items.Enum == nil {
			kinds[ir.RawStrings] = true
			continue
		}
		if len(a.schema.Types) == 0 {
			return b.unclassified(s, goName, "a member without a type")
		}
		for _, t := range a.schema.Types {
			k, ok := map[string]ir.RawKind{"string": ir.RawString, "integer": ir.RawInt, "number": ir.RawFloat, "boolean": ir.RawBool}[t]
			if !ok {
				return b.unclassified(s, goName, "a member of type "+t)
			}
			kinds[k] = true
		}
	}
	if kinds[ir.RawFloat] {
		delete(kinds, ir.RawInt) // a JSON integer is a number: one accessor
	}
	fresh, err := b.claim(goName, "raw "+canon(s), s.Pointer)
	if err != nil || !fresh {
		return err
	}
	b.types[goName] = &ir.Type{Name: goName, Schema: label, Kind: ir.RawUnion, Raws: slices.Sorted(maps.Keys(kinds)), Doc: b.doc(goName, "", s.Description)}
	return nil
}

// oneOrMany makes the type of a member that is one value of a union, or an array of that union.
func (b *builder) oneOrMany(s *schema.Schema, goName, label string, one []arm, many *schema.Schema, at place) error {
	elem, err := b.ref(many.Items, at.elem())
	if err != nil {
		return err
	}
	if elem.Kind != ir.Named || b.types[elem.Name].Kind != ir.Union {
		return b.unclassified(s, goName, "the array is not of a union")
	}
	d, _ := b.def(many.Items)
	arms, err := b.flattenArms(d, 0)
	if err != nil {
		return err
	}
	set := func(l []arm) []string {
		var out []string
		for _, a := range l {
			out = append(out, a.def)
		}
		slices.Sort(out)
		return out
	}
	if !slices.Equal(set(one), set(arms)) {
		return b.unclassified(s, goName, fmt.Sprintf("alone it is one of %v, in the array one of %v", set(one), set(arms)))
	}
	fresh, err := b.claim(goName, "one or many "+elem.Name, s.Pointer)
	if err == nil && fresh {
		b.types[goName] = &ir.Type{Name: goName, Schema: label, Kind: ir.OneOrMany, Elem: elem.Name, Doc: b.doc(goName, "", s.Description)}
	}
	return err
}

// plan decides how the members of a union are told apart, from the strongest
// sign to the weakest: a const in all of them; a const in all, which one may
// leave out; a required member that no other has; values of one member that
// make groups, and in a group the members that are there.
func (b *builder) plan(s *schema.Schema, goName string, arms []arm, names []string) (*ir.Plan, error) {
	flats := make([]*flat, len(arms))
	for i, a := range arms {
		var err error
		if flats[i], err = b.flatten(a.schema); err != nil {
			return nil, err
		}
	}
	if len(arms) < 2 {
		return nil, b.unclassified(s, goName, "it has only one member")
	}
	for _, key := range commonMembers(flats) {
		if p := byTag(flats, names, key); p != nil {
			return p, nil
		}
	}
	if p := byPresence(flats, names); p != nil {
		return p, nil
	}
	for _, key := range commonMembers(flats) {
		p, why := byRule(flats, names, key)
		if why != "" {
			return nil, b.unclassified(s, goName, why)
		}
		if p != nil {
			return p, nil
		}
	}
	return nil, b.unclassified(s, goName, "no member with a const or an enum is in all of them, and not each has a required member of its own")
}

// commonMembers gives the members that all have, "type" and "method" first.
func commonMembers(flats []*flat) []string {
	var out []string
	for k := range flats[0].props {
		if !slices.ContainsFunc(flats, func(f *flat) bool { return f.props[k] == nil }) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	slices.SortStableFunc(out, func(x, y string) int { return tagRank(x) - tagRank(y) })
	return out
}

func tagRank(k string) int {
	if i := slices.Index([]string{"type", "method"}, k); i >= 0 {
		return i
	}
	return 2
}

func byTag(flats []*flat, names []string, key string) *ir.Plan {
	p := &ir.Plan{Kind: ir.ByTag, Key: key}
	seen := map[string]bool{}
	for i, f := range flats {
		c, ok := f.props[key].Const.(string)
		if !ok || seen[c] {
			return nil
		}
		seen[c] = true
		if !f.required[key] {
			if p.Absent != "" {
				return nil // two may leave it out
			}
			p.Absent = names[i]
		}
		p.Cases = append(p.Cases, &ir.Case{Value: c, Type: names[i]})
	}
	return p
}

func byPresence(flats []*flat, names []string) *ir.Plan {
	p := &ir.Plan{Kind: ir.ByPresence}
	for i, f := range flats {
		own := ""
		for _, k := range slices.Sorted(maps.Keys(f.required)) {
			if !slices.ContainsFunc(flats, func(o *flat) bool { return o != f && o.props[k] != nil }) {
				own = k
				break
			}
		}
		if own == "" {
			return nil
		}
		p.Cases = append(p.Cases, &ir.Case{Key: own, Type: names[i]})
	}
	return p
}

// byRule groups the members by the values of key and orders each group. It
// gives nil when key makes no groups, and a reason when a group stays mixed.
func byRule(flats []*flat, names []string, key string) (*ir.Plan, string) {
	groups := map[string][]int{}
	var order []string
	for i, f := range flats {
		values := f.props[key].Enum
		if c, ok := f.props[key].Const.(string); ok {
			values = []string{c}
		}
		if len(values) == 0 || !f.required[key] {
			return nil, ""
		}
		for _, v := range values {
			if groups[v] == nil {
				order = append(order, v)
			}
			groups[v] = append(groups[v], i)
		}
	}
	p := &ir.Plan{Kind: ir.ByRule, Key: key}
	for _, v := range order {
		c := &ir.Case{Value: v}
		p.Cases = append(p.Cases, c)
		if len(groups[v]) == 1 {
			c.Type = names[groups[v][0]]
			continue
		}
		if c.Steps = steps(flats, names, groups[v]); c.Steps == nil {
			var l []string
			for _, i := range groups[v] {
				l = append(l, names[i])
			}
			return nil, fmt.Sprintf("with %s %q there are %s", key, v, strings.Join(l, ", "))
		}
	}
	return p, ""
}

// steps orders the members of a group so that each is known by a member path
// that those after it lack. A member that differs from another of the same
// requirements only by an optional path comes first: without that path the
// value is the other one. The last may be what is left.
func steps(flats []*flat, names []string, group []int) []*ir.Step {
	left := slices.Clone(group)
	var out []*ir.Step
	take := func(i int, has string) {
		out = append(out, &ir.Step{Has: has, Type: names[i]})
		left = slices.DeleteFunc(left, func(j int) bool { return j == i })
	}
	others := func(i int) func(yield func(*flat) bool) {
		return func(yield func(*flat) bool) {
			for _, j := range left {
				if j != i && !yield(flats[j]) {
					return
				}
			}
		}
	}
	own := func(i int, required bool) string {
		for _, path := range paths(flats[i], required) {
			free := true
			for o := range others(i) {
				free = free && !slices.Contains(paths(o, false), path)
			}
			if free {
				return path
			}
		}
		return ""
	}
	for len(left) > 1 {
		found := false
		for _, i := range left {
			twin := false
			for o := range others(i) {
				twin = twin || maps.Equal(o.required, flats[i].required) && slices.Equal(paths(o, true), paths(flats[i], true))
			}
			if twin {
				if has := own(i, false); has != "" {
					take(i, has)
					found = true
					break
				}
			}
		}
		if found {
			continue
		}
		for _, i := range slices.Backward(left) { // files go from the general form to the special one
			if has := own(i, true); has != "" {
				// The last of a group that is known by required paths alone is
				// known by its own path too, not by being left.
				if len(left) == 2 {
					j := left[0] + left[1] - i
					last := own(j, true)
					take(i, has)
					take(j, last)
					return out
				}
				take(i, has)
				found = true
				break
			}
		}
		if !found {
			return nil
		}
	}
	return append(out, &ir.Step{Type: names[left[0]]})
}

// paths gives the member paths of an object, two levels deep, sorted by length
// and name; only the required ones if required is set.
func paths(f *flat, required bool) []string {
	var out []string
	for k, s := range f.props {
		if required && !f.required[k] {
			continue
		}
		out = append(out, k)
		for k2 := range s.Properties {
			if !required || s.IsRequired(k2) {
				out = append(out, k+"."+k2)
			}
		}
	}
	slices.SortFunc(out, func(x, y string) int {
		if d := strings.Count(x, ".") - strings.Count(y, "."); d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	return out
}
