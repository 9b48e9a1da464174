package delta

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
)

// TestConvert pins what it means to turn a value of one type into one of
// another: up and down stand for the two ways.
func TestConvert(t *testing.T) {
	p := index(&ir.Package{Types: []*ir.Type{
		{Name: "Loose", Kind: ir.Struct, Fields: []*ir.Field{{JSON: "a", Type: ir.Ref{Kind: ir.String}}}},
		{Name: "Firm", Kind: ir.Struct, Fields: []*ir.Field{{JSON: "a", Type: ir.Ref{Kind: ir.String}, Required: true}}},
		{Name: "Enum", Kind: ir.Enum}, {Name: "Known", Kind: ir.Enum, Open: true},
		{Name: "Union", Kind: ir.Union, Arms: []*ir.Arm{{Type: "Firm"}}},
		{Name: "Content", Kind: ir.OneOrMany, Elem: "Union"},
		{Name: "Value", Kind: ir.RawUnion, Raws: []ir.RawKind{ir.RawString, ir.RawFloat}},
		{Name: "Strings", Kind: ir.RawUnion, Raws: []ir.RawKind{ir.RawStrings}},
		{Name: "Table", Kind: ir.MapOf, Elem: "Firm"},
		{Name: "Later", Kind: ir.KeyedRaw},
		{Name: "Other", Kind: ir.Alias, Target: "Loose"},
	}})
	kind := func(k ir.RefKind) ir.Ref { return ir.Ref{Kind: k} }
	named := func(n string) ir.Ref { return ir.Ref{Kind: ir.Named, Name: n} }
	list := func(r ir.Ref) ir.Ref { return ir.Ref{Kind: ir.Slice, Elem: &r} }
	table := func(r ir.Ref) ir.Ref { return ir.Ref{Kind: ir.Map, Elem: &r} }
	for _, c := range []struct {
		older, newer ir.Ref
		up, down     Class
	}{
		{kind(ir.String), kind(ir.String), Lossless, Lossless},
		{kind(ir.RawObject), kind(ir.RawAny), Lossless, Impossible},
		{kind(ir.RawObject), named("Loose"), Lossless, Lossless},
		{kind(ir.RawObject), named("Other"), Lossless, Lossless},
		{kind(ir.RawObject), named("Firm"), Impossible, Lossless},
		{kind(ir.RawObject), table(kind(ir.String)), Impossible, Lossless},
		{kind(ir.RawObject), named("Table"), Impossible, Lossless},
		{kind(ir.RawObject), named("Union"), Impossible, Lossless},
		{kind(ir.RawObject), named("Later"), Impossible, Lossless},
		{kind(ir.RawObject), kind(ir.String), Impossible, Impossible},
		{kind(ir.RawAny), named("Firm"), Impossible, Lossless},
		{kind(ir.RawAny), list(kind(ir.Bool)), Impossible, Lossless},
		{kind(ir.Int), kind(ir.Float), Lossless, Impossible},
		{kind(ir.Int), kind(ir.NullInt), Lossless, Impossible},
		{kind(ir.Int), kind(ir.ID), Lossless, Impossible},
		{kind(ir.String), kind(ir.ID), Lossless, Impossible},
		{kind(ir.Base64), kind(ir.String), Lossless, Impossible},
		{kind(ir.Bool), kind(ir.String), Impossible, Impossible},
		{named("Enum"), kind(ir.String), Lossless, Impossible},
		{named("Known"), kind(ir.String), Lossless, Lossless},
		{named("Enum"), named("Known"), Impossible, Impossible},
		{named("Firm"), named("Union"), Lossless, Impossible},
		{named("Loose"), named("Union"), Impossible, Impossible},
		{named("Loose"), named("Firm"), Impossible, Impossible},
		{named("Union"), named("Content"), Lossless, Impossible},
		{named("Firm"), named("Content"), Lossless, Impossible},
		{list(named("Union")), named("Content"), Lossless, Lossless},
		{list(named("Firm")), named("Content"), Lossless, Impossible},
		{list(kind(ir.Int)), list(kind(ir.Float)), Lossless, Impossible},
		{list(kind(ir.Int)), kind(ir.Int), Impossible, Impossible},
		{table(kind(ir.Int)), table(kind(ir.Float)), Lossless, Impossible},
		{table(named("Firm")), named("Table"), Lossless, Lossless},
		{kind(ir.String), named("Value"), Lossless, Impossible},
		{kind(ir.Float), named("Value"), Lossless, Impossible},
		{kind(ir.Bool), named("Value"), Impossible, Impossible},
		{list(kind(ir.String)), named("Strings"), Lossless, Impossible},
		{list(kind(ir.Int)), named("Strings"), Impossible, Impossible},
	} {
		what := show(&c.older) + " -> " + show(&c.newer)
		require.Equal(t, c.up, convert(p, &c.older, p, &c.newer), what)
		require.Equal(t, c.down, convert(p, &c.newer, p, &c.older), what+", back")
	}
}

// TestClassAnd holds the order of letters, and that nothing is lost.
func TestClassAnd(t *testing.T) {
	require.Equal(t, Lossless, Lossless.And(Lossless))
	require.Equal(t, Class("DL"), Lossy.And(Defaulted))
	require.Equal(t, Class("DLX"), Class("LX").And(Defaulted).And(Lossless))
	require.Equal(t, Impossible, Impossible.And(""))
}
