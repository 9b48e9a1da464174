package delta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// TestPartsAreComplete holds that every field of the model has a class, and
// that the table has no others.
func TestPartsAreComplete(t *testing.T) {
	for typ, known := range parts {
		have := map[string]bool{}
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			have[name] = true
			p, ok := known[name]
			require.True(t, ok, "%s.%s has no class: add it to parts", typ.Name(), name)
			require.Equal(t, len(p.kinds) == 0, p.why != "", "%s.%s has kinds or a reason", typ.Name(), name)
		}
		for name, p := range known {
			if p.why == texts || p.why == history {
				continue // may come and go with what the model knows
			}
			require.True(t, have[name], "%s has no field %s", typ.Name(), name)
		}
	}
}

// TestUnclassified holds that a difference which no change explains is an
// error that names it.
func TestUnclassified(t *testing.T) {
	c := &comparer{older: index(&ir.Package{}), newer: index(&ir.Package{}), d: &Delta{}}
	f := c.subject(Types, "Tool", "server")
	limit := 3
	err := f.explain("icons", &ir.Field{JSON: "icons"}, &ir.Field{JSON: "icons", MaxItems: &limit})
	var un *UnclassifiedError
	require.ErrorAs(t, err, &un)
	require.Equal(t, "Tool.icons", un.Subject)
	require.Equal(t, "Field.MaxItems", un.Part)
	require.ErrorContains(t, err, "Tool.icons: the change of Field.MaxItems from ")

	f.add(Change{Kind: BoundsChanged, Member: "title"})
	require.Error(t, f.explain("icons", &ir.Field{}, &ir.Field{MaxItems: &limit}), "a change of another member explains nothing")
	f.add(Change{Kind: FormatChanged, Member: "icons"})
	require.Error(t, f.explain("icons", &ir.Field{}, &ir.Field{MaxItems: &limit}), "a change of another kind explains nothing")
	f.add(Change{Kind: BoundsChanged, Member: "icons"})
	require.NoError(t, f.explain("icons", &ir.Field{}, &ir.Field{MaxItems: &limit}))

	f = c.subject(Types, "Tool", "server")
	require.Error(t, f.explain("", &ir.Type{Kind: ir.Struct}, &ir.Type{Kind: ir.Enum}))
	require.Error(t, f.explain("", &ir.Type{Arms: []*ir.Arm{{Type: "A"}}}, &ir.Type{}))
	require.Error(t, f.explain("", &ir.Type{Values: []*ir.EnumValue{{Value: "a"}}}, &ir.Type{}))
	require.Error(t, f.explain("", &ir.Type{Raws: []ir.RawKind{ir.RawBool}}, &ir.Type{}))
	require.Error(t, f.explain("", &ir.Type{Plan: &ir.Plan{}}, &ir.Type{}))
	require.Error(t, f.explain("", &ir.Method{}, &ir.Method{Server: []string{"tools"}}))
	require.NoError(t, f.explain("", &ir.Type{Arms: []*ir.Arm{{Type: "A"}, {Type: "B"}}}, &ir.Type{Arms: []*ir.Arm{{Type: "B"}, {Type: "A"}}}), "the order in which a file has them is no change")
	require.NoError(t, f.explain("", &ir.Type{Deprec: "one text"}, &ir.Type{Deprec: "another"}))
}

// leaf is one settable value of the model, and where it stands.
type leaf struct {
	path  string
	owner reflect.Type // struct that it is a field of
	field string
	in    reflect.Value // the struct
	v     reflect.Value
}

// sensible says whether the value means something where it stands.
func (l leaf) sensible() bool {
	kinds := map[string][]ir.Kind{"Open": {ir.Enum}, "Target": {ir.Alias}, "Elem": {ir.OneOrMany, ir.MapOf}, "Closed": {ir.Struct}}
	if m, ok := l.in.Interface().(ir.Method); ok {
		switch l.field {
		case "Items", "Item":
			return m.Paginated
		case "Paginated", "Result":
			return !m.Notification
		}
	}
	if a, ok := l.in.Interface().(ir.Arm); ok && l.field == "Tag" {
		return a.Tag != "" // only accessors have one
	}
	if p, ok := l.in.Interface().(ir.Plan); ok && l.field == "Kind" {
		return p.Kind != ir.ByRule // there is no kind after it
	}
	if p, ok := l.in.Interface().(ir.Plan); ok && l.field == "Key" {
		return p.Kind != ir.ByPresence // there each case has its own
	}
	if r, ok := l.in.Interface().(ir.Ref); ok && l.field == "Kind" {
		return r.Kind < ir.ID // the kind after it needs no name and no element
	}
	t, ok := l.in.Interface().(ir.Type)
	return !ok || kinds[l.field] == nil || slices.Contains(kinds[l.field], t.Kind)
}

// leaves collects all scalars of a value.
func leaves(v reflect.Value, path string, in reflect.Value, field string, out *[]leaf) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			leaves(v.Elem(), path, in, field, out)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), in, field, out)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			leaves(v.Field(i), path+"."+name, v, name, out)
		}
	default:
		*out = append(*out, leaf{path, in.Type(), field, in, v})
	}
}

func clone(p *ir.Package) *ir.Package {
	var deep func(v reflect.Value) reflect.Value
	deep = func(v reflect.Value) reflect.Value {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return v
			}
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(deep(v.Elem()))
			return c
		case reflect.Slice:
			if v.IsNil() {
				return v
			}
			c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			for i := range v.Len() {
				c.Index(i).Set(deep(v.Index(i)))
			}
			return c
		case reflect.Struct:
			c := reflect.New(v.Type()).Elem()
			for i := range v.NumField() {
				c.Field(i).Set(deep(v.Field(i)))
			}
			return c
		}
		return v
	}
	return deep(reflect.ValueOf(p)).Interface().(*ir.Package)
}

func mutate(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "Other")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	}
}

// silent are the values of the model whose change alone is none, besides those
// that parts names: what they mean is told by others, which always change with
// them.
var silent = map[string]string{
	"EnumValue.Rank": "only the order counts", "EnumValue.Doc": texts, "EnumValue.Since": history,
	"Field.Deprec": "one text for another", "Type.Deprec": "the same", "Method.Deprec": "the same",
	"Case.Key": "a plan by tag has none", "Plan.Absent": "it means something only when it is an arm",
}

// TestEveryPartCounts changes one leaf of a real model at a time: each must
// come out as a change, never as nothing and never without a class.
func TestEveryPartCounts(t *testing.T) {
	pkgs, err := build.All(spec.Files())
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range pkgs[3:] {
		same, err := Compare(p, clone(p))
		require.NoError(t, err)
		require.Empty(t, same.Changes)
		require.Empty(t, same.Conversions)
		require.Equal(t, same.Counts.TypesOlder, same.Counts.Same)

		var all []leaf
		work := clone(p)
		leaves(reflect.ValueOf(work), "", reflect.Value{}, "", &all)
		by := map[string][]leaf{}
		for _, l := range all {
			key := l.owner.Name() + "." + l.field
			by[key] = append(by[key], l)
		}
		for _, key := range slices.Sorted(maps.Keys(by)) {
			ls := by[key]
			for range 2 {
				l := ls[r.IntN(len(ls))]
				var n int
				_, err := fmt.Sscanf(l.path, ".Types[%d].Fields", &n)
				getter := err == nil && work.Types[n].Kind == ir.Interface && l.in.Type() == reflect.TypeFor[ir.Field]() && l.field != "Name"
				if !l.sensible() || getter { // what a getter gives on the wire is a matter of the results that have it
					continue
				}
				was := reflect.New(l.v.Type()).Elem()
				was.Set(l.v)
				mutate(l.v)
				d, err := Compare(p, work)
				require.NoError(t, err, "%s %s", p.Revision, l.path)
				quiet := silent[key] != ""
				if known, ok := parts[l.owner][l.field]; ok && len(known.kinds) == 0 && known.why != "" {
					quiet = true
				}
				if !quiet {
					require.NotEmpty(t, d.Changes, "%s %s", p.Revision, l.path)
				}
				for _, c := range d.Changes {
					require.NotEmpty(t, c.Group)
					require.NotEmpty(t, c.Code)
					require.NotEmpty(t, c.OldReadsNew, c)
					require.NotEmpty(t, c.NewReadsOld, c)
					require.Equal(t, c.Up == "", c.Down == "", c)
				}
				l.v.Set(was)
			}
		}
		again, err := Compare(p, work)
		require.NoError(t, err)
		require.Empty(t, again.Changes, "the changes were taken back")
	}
}

// TestRenamedIsACopy holds that renaming back gives what was there, and that
// the package itself stays.
func TestRenamedIsACopy(t *testing.T) {
	pkgs, err := build.All(spec.Files())
	require.NoError(t, err)
	for _, p := range pkgs {
		before := clone(p)
		there, back := map[string]string{}, map[string]string{}
		for _, typ := range p.Types {
			there[typ.Name], back["Zz"+typ.Name] = "Zz"+typ.Name, typ.Name
		}
		other := renamed(p, there)
		require.Equal(t, before, p)
		var all []leaf
		leaves(reflect.ValueOf(other), "", reflect.Value{}, "", &all)
		for _, l := range all {
			if l.v.Kind() == reflect.String && l.field != "Schema" && l.field != "Definition" && l.field != "Doc" && l.owner != reflect.TypeFor[ir.Const]() && l.owner != reflect.TypeFor[ir.Error]() {
				require.False(t, there[l.v.String()] != "" && l.field != "JSON" && l.field != "Go" && l.field != "Tag" && l.field != "Name", "%s is still %s", l.path, l.v)
			}
		}
		require.Equal(t, p, renamed(other, back))
		d, err := Compare(p, other)
		require.NoError(t, err)
		for _, c := range d.Changes {
			require.Contains(t, []Kind{TypeRenamed, TypeAdded, TypeRemoved, ParamsChanged, ResultChanged, TypeChanged, ImplAdded, ImplGone, ArmAdded, ArmRemoved, ElemChanged, TargetChanged, PlanChanged, DataChanged, PagesChanged}, c.Kind)
		}
	}
}
