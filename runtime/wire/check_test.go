package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// TestRawCheck holds that a value made by hand is looked at in full, and that
// the error says where.
func TestRawCheck(t *testing.T) {
	for _, c := range []struct{ raw, any, object string }{
		{`{"a":[1]}`, "", ""},
		{``, "want a value, got the end of the text (offset 0)", "want a value, got the end of the text (offset 0)"},
		{`[1]`, "", "want an object, got an array"},
		{` null `, "", "want an object, got null"},
		{`{"a":[1,}`, "a[1]: want a value, got } (offset 8)", "a[1]: want a value, got } (offset 8)"},
		{`{},"b":{}`, "want the end of the text, got , (offset 2)", "want the end of the text, got , (offset 2)"},
	} {
		for _, got := range []struct {
			err  error
			want string
		}{{wire.Raw(c.raw).Check(), c.any}, {wire.Raw(c.raw).CheckObject(), c.object}} {
			if got.want == "" {
				require.NoError(t, got.err, c.raw)
			} else {
				require.EqualError(t, got.err, got.want, c.raw)
			}
		}
	}
	require.NoError(t, wire.Raw(nil).Check())
	require.NoError(t, wire.Raw(nil).CheckObject())
}

// TestMembersCheck holds that what AppendMembers leaves out is told.
func TestMembersCheck(t *testing.T) {
	known := func(s string) bool { return s == "name" }
	one := wire.MustRaw("1")
	many := wire.Members{}
	for i := range 40 {
		many = append(many, wire.Member{Name: fmt.Sprint("m", i), Value: one})
	}
	for _, c := range []struct {
		m    wire.Members
		want string
	}{
		{nil, ""},
		{many, ""},
		{wire.Members{{Name: "a", Value: one}, {Name: "b c", Value: wire.Raw(`{"x":nul}`)}}, `["b c"].x: want a value, got n (offset 5)`},
		{wire.Members{{Name: "name", Value: one}}, "name: the name of a field"},
		{wire.Members{{Name: "a", Value: one}, {Name: "a", Value: one}}, "a: duplicate member"},
		{wire.Members{{Name: "a"}}, "a: missing"},
		{append(many[:40:40], wire.Member{Name: "m7", Value: one}), "m7: duplicate member"},
	} {
		if err := c.m.Check(known); c.want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.want)
		}
	}
}

// TestKeys holds that no two keys are written as the same name.
func TestMapKeys(t *testing.T) {
	require.Empty(t, wire.Keys(map[string]int(nil)))
	require.Equal(t, []string{"", "a", "b"}, wire.Keys(map[string]int{"b": 1, "": 1, "a": 1}))
	require.NoError(t, wire.CheckKeys(map[string]int{"a": 1, "é": 2}))
	m := map[string]int{"a\xff": 1, "a\xfe": 2, "a\uFFFD": 3, "b\xff\xff": 4, "b\xff": 5}
	require.Equal(t, []string{"a\uFFFD", "b\xff", "b\xff\xff"}, wire.Keys(m))
	for range 10 {
		require.EqualError(t, wire.CheckKeys(m), "[\"a\uFFFD\"]: a name that is not UTF-8 (offset 0)")
	}
}
