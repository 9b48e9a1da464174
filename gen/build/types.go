package build

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// place is where a schema stands among the Go types: a member path below a struct.
type place struct {
	owner    string // Go name
	path     string // "content", "content[]", "content{}"
	required bool
}

func (p place) elem() place  { return place{p.owner, p.path + "[]", true} }
func (p place) value() place { return place{p.owner, p.path + "{}", true} }
func (p place) String() string {
	return p.owner + "." + p.path
}

// member is the member name that a path starts with.
func (p place) member() string { return strings.TrimRight(p.path, "[]{}") }

// ref lowers the schema of a member, an element or a map value.
func (b *builder) ref(s *schema.Schema, at place) (ir.Ref, error) {
	for _, r := range b.o.Raw {
		if matches(r.At, at.owner, at.path) {
			b.use(&r.Entry)
			if r.Any {
				return ir.Ref{Kind: ir.RawAny}, nil
			}
			return ir.Ref{Kind: ir.RawObject}, nil
		}
	}
	if s.Ref != "" {
		d, name := b.def(s)
		b.reached[name] = true
		return b.named(d, name, at)
	}
	return b.inline(s, at)
}

// named lowers a reference to a definition.
func (b *builder) named(d *schema.Schema, name string, at place) (ir.Ref, error) {
	if b.raw[name] {
		if d.Is("object") {
			return ir.Ref{Kind: ir.RawObject}, nil
		}
		return ir.Ref{Kind: ir.RawAny}, nil
	}
	goName := b.goName(name)
	named := ir.Ref{Kind: ir.Named, Name: goName}
	switch {
	case d.AnyOf != nil:
		return b.union(d, goName, name, place{goName, "", true})
	case d.AllOf != nil || len(d.Properties) > 0:
		return named, b.structType(d, goName, name)
	case d.Enum != nil:
		return named, b.enum(d.Enum, goName, name, d)
	case typedMap(d):
		return b.mapType(d, goName, name)
	case len(d.Types) > 1:
		return b.typeList(d, goName, name, at)
	case d.Is("array"):
		at = place{goName, "", true} // what stands in it is named after the definition, wherever that is used
	}
	return b.inline(d, at)
}

// typedMap says whether s is an object whose members have a type of their own.
func typedMap(s *schema.Schema) bool {
	return s.Is("object") && len(s.Properties) == 0 && s.Additional != nil && !s.Additional.Any()
}

// inline lowers a schema that has no name of its own in the file.
func (b *builder) inline(s *schema.Schema, at place) (ir.Ref, error) {
	switch {
	case s.Any():
		return ir.Ref{Kind: ir.RawAny}, nil
	case s.AnyOf != nil:
		if b.nullable(s) {
			return ir.Ref{}, b.err(Unsupported, s.Pointer, "a union with null has no Go shape but [\"integer\", \"null\"]")
		}
		name, err := b.inlineName(s, at, "union")
		if err != nil {
			return ir.Ref{}, err
		}
		return b.union(s, name, s.Pointer, at)
	case s.AllOf != nil:
		name, err := b.inlineName(s, at, "object")
		if err != nil {
			return ir.Ref{}, err
		}
		return ir.Ref{Kind: ir.Named, Name: name}, b.structType(s, name, s.Pointer)
	case len(s.Types) > 1:
		return b.typeList(s, "", s.Pointer, at)
	case s.Is("object"):
		return b.object(s, at)
	case s.Is("array"):
		if s.Items == nil {
			return ir.Ref{Kind: ir.Slice, Elem: &ir.Ref{Kind: ir.RawAny}}, nil
		}
		elem, err := b.ref(s.Items, at.elem())
		return ir.Ref{Kind: ir.Slice, Elem: &elem}, err
	case s.Is("string"):
		return b.str(s, at)
	case s.Is("integer") && s.Const == nil:
		return ir.Ref{Kind: ir.Int}, nil
	case s.Is("number") && s.Const == nil:
		return ir.Ref{Kind: ir.Float}, nil
	case s.Is("boolean"):
		return ir.Ref{Kind: ir.Bool}, nil
	}
	return ir.Ref{}, b.err(Unsupported, s.Pointer, "no Go shape for %s", canon(s))
}

func (b *builder) nullable(s *schema.Schema) bool {
	return slices.ContainsFunc(s.AnyOf, func(a *schema.Schema) bool { return a.Is("null") })
}

// typeList lowers a list of types. goName is that of the definition, "" if it is none.
func (b *builder) typeList(s *schema.Schema, goName, label string, at place) (ir.Ref, error) {
	t := slices.Sorted(slices.Values(s.Types))
	switch {
	case slices.Equal(t, []string{"integer", "string"}):
		return ir.Ref{Kind: ir.ID}, nil
	case slices.Equal(t, []string{"integer", "null"}):
		if !at.required {
			return ir.Ref{}, b.err(Unsupported, s.Pointer, "an optional [\"integer\", \"null\"] would have two forms of nothing")
		}
		return ir.Ref{Kind: ir.NullInt}, nil
	}
	if goName == "" {
		var err error
		if goName, err = b.inlineName(s, at, "union"); err != nil {
			return ir.Ref{}, err
		}
	}
	return b.union(&schema.Schema{Pointer: s.Pointer, Description: s.Description, AnyOf: []*schema.Schema{{Pointer: s.Pointer, Types: s.Types}}}, goName, label, at)
}

func (b *builder) object(s *schema.Schema, at place) (ir.Ref, error) {
	switch {
	case len(s.Properties) > 0:
		name, err := b.inlineName(s, at, "object")
		if err != nil {
			return ir.Ref{}, err
		}
		return ir.Ref{Kind: ir.Named, Name: name}, b.structType(s, name, s.Pointer)
	case typedMap(s):
		elem, err := b.ref(s.Additional, at.value())
		if err != nil {
			return ir.Ref{}, err
		}
		if elem.Kind == ir.RawAny {
			return ir.Ref{Kind: ir.RawObject}, nil
		}
		return ir.Ref{Kind: ir.Map, Elem: &elem}, nil
	}
	return ir.Ref{Kind: ir.RawObject}, nil
}

func (b *builder) str(s *schema.Schema, at place) (ir.Ref, error) {
	if s.Enum != nil {
		name, err := b.inlineName(s, at, "enum")
		if err != nil {
			return ir.Ref{}, err
		}
		return ir.Ref{Kind: ir.Named, Name: name}, b.enum(s.Enum, name, s.Pointer, s)
	}
	if s.Const == nil {
		for _, n := range b.o.Inline {
			if len(n.Values) > 0 && matches(n.At, at.owner, at.path) {
				b.use(&n.Entry)
				return ir.Ref{Kind: ir.Named, Name: n.Go}, b.openEnum(n, s)
			}
		}
	}
	if s.Format == "byte" {
		return ir.Ref{Kind: ir.Base64}, nil
	}
	return ir.Ref{Kind: ir.String}, nil
}

// inlineName names what is anonymous in the file: by the overlay; else an
// object by owner and path. Unions and enums have no general name, because a
// path says where they stand and not what they are; only for a revision that
// is not known the path must do.
func (b *builder) inlineName(s *schema.Schema, at place, what string) (string, error) {
	for _, n := range b.o.Inline {
		if len(n.Values) == 0 && matches(n.At, at.owner, at.path) {
			b.use(&n.Entry)
			return n.Go, nil
		}
	}
	if what != "object" && b.strict() {
		return "", b.err(Unnamed, s.Pointer, "the %s at %s has no name: add {\"at\": %q, \"go\": …} to \"inline\" in the overlay", what, at, at)
	}
	name := at.owner
	if at.member() != "" {
		name += fieldName(at.member())
	}
	if len(at.path) > len(at.member()) {
		name += "Item"
	}
	if what != "object" {
		b.decide(&Decision{
			Pointer: s.Pointer, What: fmt.Sprintf("the %s at %s is called %s, after its place: is there a better name?", what, at, name),
			Entries: spec.Overlay{Inline: []*spec.Inline{{At: at.String(), Go: name}}},
		})
	}
	return name, nil
}

// claim registers a Go name. It says false when the same structure has it already.
func (b *builder) claim(goName, structure, ptr string) (bool, error) {
	if have, ok := b.origin[goName]; ok {
		if have == structure {
			return false, nil
		}
		return false, b.err(Collision, ptr, "the name %s is taken by %s, which has another structure: give one of them another by {\"definition\": …, \"go\": …} in \"names\" of the overlay, or if it has no "+
			"definition by {\"at\": …, \"go\": …} in \"inline\"", goName, b.where[goName])
	}
	b.origin[goName], b.where[goName] = structure, ptr
	return true, nil
}

// flat is an object with everything that it is composed of.
type flat struct {
	props    map[string]*schema.Schema
	required map[string]bool
	closed   bool
}

// flatten merges the parts of an allOf. Parts may repeat a member with the same schema.
func (b *builder) flatten(s *schema.Schema) (*flat, error) {
	f := &flat{props: map[string]*schema.Schema{}, required: map[string]bool{}}
	return f, b.flattenInto(f, s, 0)
}

func (b *builder) flattenInto(f *flat, s *schema.Schema, depth int) error {
	d, name := b.def(s)
	if name != "" {
		b.reached[name] = true
	}
	if depth > 16 {
		return b.err(Unsupported, s.Pointer, "allOf is nested too deep")
	}
	for _, part := range d.AllOf {
		if err := b.flattenInto(f, part, depth+1); err != nil {
			return err
		}
	}
	if d.AnyOf != nil && d.Properties != nil {
		return b.err(Unsupported, d.Pointer, "properties beside anyOf have no Go shape")
	}
	if d.AnyOf != nil {
		return b.err(Unsupported, d.Pointer, "a union inside allOf has no Go shape")
	}
	for _, k := range d.Names() {
		p := d.Properties[k]
		if have := f.props[k]; have != nil && canon(have) != canon(p) {
			return b.err(Unsupported, p.Pointer, "the member %q has another schema at %s", k, have.Pointer)
		}
		f.props[k] = p
	}
	for _, k := range d.Required {
		f.required[k] = true
	}
	f.closed = f.closed || d.Closed
	return nil
}

// The order inside the groups of a struct: lead comes first, trail last, the
// rest by name. resultType leads because a reader decides by it how to go on.
var (
	lead  = []string{"resultType", "name", "title", "description", "uri"}
	trail = []string{"ttlMs", "cacheScope"}
)

// structType makes the struct of an object. label is the definition's name or the pointer.
func (b *builder) structType(s *schema.Schema, goName, label string) error {
	fresh, err := b.claim(goName, canon(s), s.Pointer)
	if err != nil || !fresh {
		return err
	}
	if have := b.open[s.Pointer]; have != "" {
		return b.err(Unsupported, s.Pointer, "%s holds itself under another name, %s: make it a definition", have, goName)
	}
	b.open[s.Pointer] = goName
	defer delete(b.open, s.Pointer)
	t := &ir.Type{Name: goName, Schema: label, Kind: ir.Struct}
	b.types[goName] = t // before the fields: a type may hold itself
	f, err := b.flatten(s)
	if err != nil {
		return err
	}
	t.Closed = f.closed
	t.Doc = b.doc(goName, "", s.Description)
	for _, k := range slices.Sorted(maps.Keys(f.required)) {
		if f.props[k] == nil {
			return b.err(Unsupported, s.Pointer, "the member %q is required but not described", k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(f.props)) {
		p := f.props[k]
		field := &ir.Field{JSON: k, Name: memberName(k), Required: f.required[k], Doc: b.doc(goName, k, p.Description)}
		if c, ok := p.Const.(string); ok && field.Required {
			field.Const, field.Type = c, ir.Ref{Kind: ir.String}
			t.Fields = append(t.Fields, field)
			continue
		}
		if m := b.message(label); m != nil && k == "params" {
			field.Type = ir.Ref{Kind: ir.Named, Name: camel(m.base) + "Params"} // as everywhere
		} else if field.Type, err = b.ref(p, place{goName, k, field.Required}); err != nil {
			return err
		}
		if k == "_meta" && field.Type.Kind == ir.Named {
			t.MetaOf = field.Type.Name
		}
		d, _ := b.def(p)
		field.Min, field.Max, field.MaxItems, field.Format = d.Minimum, d.Maximum, d.MaxItems, d.Format
		t.Fields = append(t.Fields, field)
	}
	group := func(f *ir.Field) int {
		switch {
		case f.Const != "":
			return 0
		case f.JSON == "_meta":
			return 3
		case f.Required:
			return 1
		}
		return 2
	}
	rank := func(f *ir.Field) int {
		if i := slices.Index(lead, f.JSON); i >= 0 {
			return i
		}
		return len(lead) + slices.Index(trail, f.JSON) + 1
	}
	slices.SortStableFunc(t.Fields, func(x, y *ir.Field) int {
		if d := group(x) - group(y); d != 0 {
			return d
		}
		return rank(x) - rank(y)
	})
	names := map[string]string{"Extra": "the unknown members"}
	for _, f := range t.Fields {
		if f.Const != "" {
			continue
		}
		for _, n := range b.o.Names {
			if n.At != "" && matches(n.At, t.Name, f.JSON) {
				b.use(&n.Entry)
				f.Name = n.Go
			}
		}
		if have, dup := names[f.Name]; dup {
			return b.err(Collision, s.Pointer, "the member %q and %s both want the Go name %s: add {\"at\": %q, \"go\": …} to \"names\" in the overlay", f.JSON, have, f.Name, t.Name+"."+f.JSON)
		}
		names[f.Name] = strconv.Quote(f.JSON)
	}
	return nil
}

// mapType makes a named map of a definition that is a typed map.
func (b *builder) mapType(d *schema.Schema, goName, label string) (ir.Ref, error) {
	elem, err := b.ref(d.Additional, place{goName, "{}", true})
	if err != nil {
		return ir.Ref{}, err
	}
	switch elem.Kind {
	case ir.RawAny:
		return ir.Ref{Kind: ir.RawObject}, nil
	case ir.Named:
	default:
		return ir.Ref{Kind: ir.Map, Elem: &elem}, nil
	}
	fresh, err := b.claim(goName, canon(d), d.Pointer)
	if err == nil && fresh {
		b.types[goName] = &ir.Type{Name: goName, Schema: label, Kind: ir.MapOf, Elem: elem.Name, Doc: b.doc(goName, "", d.Description)}
	}
	return ir.Ref{Kind: ir.Named, Name: goName}, err
}

// enum makes an enum; the values get the order of the overlay.
func (b *builder) enum(values []string, goName, label string, s *schema.Schema) error {
	fresh, err := b.claim(goName, "enum "+strings.Join(slices.Sorted(slices.Values(values)), " "), s.Pointer)
	if err != nil || !fresh {
		return err
	}
	ordered := false
	for _, e := range b.o.Enums {
		if e.Go != goName {
			continue
		}
		if !slices.Equal(slices.Sorted(slices.Values(e.Order)), slices.Sorted(slices.Values(values))) {
			if b.o.Hints {
				values = reorder(values, e.Order)
				continue
			}
			return b.entryErr(Unused, &e.Entry, "the order names %v, the schema %v", e.Order, values)
		}
		b.use(&e.Entry)
		values, ordered = e.Order, true
	}
	if !ordered && b.strict() {
		return b.err(Unnamed, s.Pointer, "the file sorts the values of %s: add {\"go\": %q, \"order\": …} to \"enums\" in the overlay", goName, goName)
	}
	if !ordered {
		b.decide(&Decision{
			Pointer: s.Pointer, What: fmt.Sprintf("the values of %s are taken in this order: is it that of their meaning?", goName),
			Entries: spec.Overlay{Enums: []*spec.Enum{{Go: goName, Order: values}}},
		})
	}
	b.types[goName] = &ir.Type{Name: goName, Schema: label, Kind: ir.Enum, Values: b.enumValues(goName, values), Doc: b.doc(goName, "", s.Description)}
	return nil
}

// reorder puts values that an older order knows first, in that order.
func reorder(values, known []string) []string {
	var out []string
	for _, v := range known {
		if slices.Contains(values, v) {
			out = append(out, v)
		}
	}
	for _, v := range values {
		if !slices.Contains(known, v) {
			out = append(out, v)
		}
	}
	return out
}

// openEnum makes an enum of a plain string whose values only the overlay has.
func (b *builder) openEnum(n *spec.Inline, s *schema.Schema) error {
	fresh, err := b.claim(n.Go, "enum "+strings.Join(n.Values, " "), s.Pointer)
	if err != nil || !fresh {
		return err
	}
	label := s.Pointer
	if b.file.Definitions[n.Go] != nil {
		label = n.Go // the file defines it and refers to it nowhere
		b.reached[n.Go] = true
	}
	b.types[n.Go] = &ir.Type{Name: n.Go, Schema: label, Kind: ir.Enum, Open: true, Values: b.enumValues(n.Go, n.Values), Doc: b.doc(n.Go, "", s.Description)}
	return nil
}

func (b *builder) enumValues(goName string, values []string) []*ir.EnumValue {
	out := make([]*ir.EnumValue, len(values))
	for i, v := range values {
		out[i] = &ir.EnumValue{Name: goName + camel(v), Value: v, Rank: i, Doc: b.doc(goName, v, "")}
	}
	return out
}

// canon writes what a schema says, without its place and texts, so that two can be compared.
func canon(s *schema.Schema) string {
	if s == nil {
		return "-"
	}
	var w strings.Builder
	w.WriteByte('{')
	part := func(k string, v any) {
		j, err := json.Marshal(v)
		if err != nil {
			j = []byte(fmt.Sprint(v))
		}
		fmt.Fprintf(&w, "%s:%s ", k, j)
	}
	if s.Ref != "" {
		part("ref", s.Ref)
	}
	if s.Types != nil {
		part("type", slices.Sorted(slices.Values(s.Types)))
	}
	if s.Const != nil {
		part("const", s.Const)
	}
	if s.Enum != nil {
		part("enum", slices.Sorted(slices.Values(s.Enum)))
	}
	if s.Format != "" {
		part("format", s.Format)
	}
	if s.Minimum != nil {
		part("min", *s.Minimum)
	}
	if s.Maximum != nil {
		part("max", *s.Maximum)
	}
	if s.MaxItems != nil {
		part("maxItems", *s.MaxItems)
	}
	if len(s.Required) > 0 {
		part("required", s.Required)
	}
	if s.Closed {
		w.WriteString("closed ")
	}
	for _, k := range s.Names() {
		fmt.Fprintf(&w, "%q=%s ", k, canon(s.Properties[k]))
	}
	if s.Additional != nil && !s.Additional.Any() {
		w.WriteString("more=" + canon(s.Additional) + " ")
	}
	if s.Items != nil {
		w.WriteString("items=" + canon(s.Items) + " ")
	}
	for _, l := range []struct {
		k string
		s []*schema.Schema
	}{{"anyOf", s.AnyOf}, {"allOf", s.AllOf}} {
		for _, a := range l.s {
			w.WriteString(l.k + "=" + canon(a) + " ")
		}
	}
	w.WriteByte('}')
	return w.String()
}
