package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestDecodeEncodeIsIdentity reads and writes examples of every type in every
// form: least, most, zero, with unknown members, values and arms.
func TestDecodeEncodeIsIdentity(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		for f := least; f <= strange; f++ {
			for pick := range m.arms() {
				text := m.example(x.Name, f, pick)
				v := e.same(t, text)
				if e.clone != nil {
					requireEqual(t, text, write(t, e.clone(v)))
				}
			}
		}
	})
}

// TestMembersInAnyOrder holds that the order of members changes nothing, the
// one that tells a union apart included.
func TestMembersInAnyOrder(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		for pick := range m.arms() {
			e.same(t, backwards(wire.Raw(m.example(x.Name, most, pick))))
		}
	})
}

// backwards turns the order of the members of all objects round.
func backwards(r wire.Raw) string {
	switch r.Kind() {
	case wire.KindObject:
		out := ""
		for k, v := range r.Members() {
			one := string(wire.Quote(k)) + ":" + backwards(v)
			if out != "" {
				one += ","
			}
			out = one + out
		}
		return "{" + out + "}"
	case wire.KindArray:
		var out []string
		for v := range r.Elems() {
			out = append(out, backwards(v))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	return string(r)
}

// TestExamplesFitTheSchema holds that what the types write is valid by the
// definition that they came from.
func TestExamplesFitTheSchema(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		p, err := validate.For(m.Revision)
		require.NoError(t, err)
		for _, x := range m.Types {
			e, ok := types[m.Revision][x.Name]
			if !ok || !p.Has(x.Schema) || x.Kind == ir.KeyedRaw {
				continue
			}
			for _, f := range []form{least, most, zeros, empty} {
				for pick := range m.arms() {
					text := strings.ReplaceAll(m.example(x.Name, f, pick), "1e400", "1e40")
					v, _, err := e.read([]byte(text), wire.Options{})
					require.NoError(t, err, "%s: %s", x.Name, text)
					require.NoError(t, p.Definition(x.Schema, write(t, v)), "%s: %s", x.Name, text)
				}
			}
		}
	})
}

// TestEveryPrefixIsRefused feeds every decoder every prefix of a valid value.
// Of long values, which consist of others that are fed here too, it takes
// every eleventh.
func TestEveryPrefixIsRefused(t *testing.T) {
	options := []wire.Options{{}, {Lenient: true, Alias: true}}
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		for pick, f := range []form{strange, most} {
			text := m.example(x.Name, f, pick)
			step := 1
			if len(text) > 600 {
				step = 11
			}
			for n := 0; n < len(text); n += step {
				if x.Kind == ir.RawUnion && json.Valid([]byte(text[:n])) {
					continue
				}
				_, _, err := e.read([]byte(text[:n]), options[(n+pick)%2])
				require.Error(t, err, text[:n])
			}
		}
	})
}

// TestWrongTypesAreErrors puts a value of another type in the place of each
// value of an example, and holds that a typed one is refused with its path and
// that nothing else ever breaks.
func TestWrongTypesAreErrors(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		for _, f := range x.Fields {
			for _, wrong := range []string{`"s"`, `7`, `1.5`, `true`, `null`, `[]`, `[7]`, `{}`, `{"a":7}`} {
				var members []string
				k := &maker{m: m, f: least}
				for _, o := range x.Fields {
					switch {
					case o == f:
						members = append(members, fmt.Sprintf("%q:%s", f.JSON, wrong))
					case o.Const != "":
						members = append(members, fmt.Sprintf("%q:%q", o.JSON, o.Const))
					case o.Required:
						members = append(members, fmt.Sprintf("%q:%s", o.JSON, k.ref(o.Type, o)))
					}
				}
				text := "{" + strings.Join(members, ",") + "}"
				v, _, err := e.read([]byte(text), wire.Options{})
				if err != nil {
					require.Contains(t, err.Error(), strings.Trim(f.JSON, `"`), text)
				} else if !strings.Contains(string(write(t, v)), wrong) {
					require.Equal(t, "null", wrong, "%s became %s", text, write(t, v)) // null for absent
					require.False(t, f.Required, text)
				}
				_, _, _ = e.read([]byte(text), wire.Options{Lenient: true})
			}
		}
	})
}

// TestDuplicatesAreErrors repeats each member, spelled as it is and with an
// escape, and holds that case makes another member of it.
func TestDuplicatesAreErrors(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		text := m.example(x.Name, most, 0)
		body := strings.TrimSuffix(text, "}")
		for k, v := range wire.Raw(text).Members() {
			escaped := fmt.Sprintf(`"\u%04x%s"`, k[0], k[1:])
			for _, again := range []string{string(wire.Quote(k)), escaped} {
				for _, o := range []wire.Options{{}, {Lenient: true}} {
					_, _, err := e.read([]byte(body+","+again+":"+string(v)+"}"), o)
					require.ErrorIs(t, err, wire.ErrDuplicate)
				}
			}
			if up := strings.ToUpper(k); up != k {
				e.same(t, body+","+string(wire.Quote(up))+":0}")
			}
		}
		_, _, err := e.read([]byte(body+`,"x":1,"x":1}`), wire.Options{})
		if len(x.Fields) == 0 {
			return
		}
		require.ErrorIs(t, err, wire.ErrDuplicate)
	})
}

// TestMissingRequiredMembers leaves each required member out: an error that
// names it when strict, the default where there is one when lenient.
func TestMissingRequiredMembers(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		for _, f := range x.Fields {
			if !f.Required {
				continue
			}
			var members []string
			for k, v := range wire.Raw(m.example(x.Name, least, 0)).Members() {
				if k != f.JSON {
					members = append(members, string(wire.Quote(k))+":"+string(v))
				}
			}
			text := "{" + strings.Join(members, ",") + "}"
			_, _, err := e.read([]byte(text), wire.Options{})
			require.ErrorIs(t, err, wire.ErrMissing)
			require.Contains(t, err.Error(), f.JSON)
			v, problems, err := e.read([]byte(text), wire.Options{Lenient: true})
			if f.Default == nil {
				require.ErrorIs(t, err, wire.ErrMissing)
				continue
			}
			require.NoError(t, err)
			require.Len(t, problems, 1)
			require.Equal(t, f.Default.JSON, string(write(t, v).Get(f.JSON)))
		}
	})
}

// TestNullIsAbsent holds that null stands for an absent optional member,
// except where any JSON value may stand.
func TestNullIsAbsent(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if x.Kind != ir.Struct {
			return
		}
		for _, f := range x.Fields {
			if f.Required || f.JSON == "requestState" && x.Name == "InputRequiredResult" {
				continue
			}
			base := m.example(x.Name, least, 0)
			with := strings.TrimSuffix(base, "}") + fmt.Sprintf(",%q:null}", f.JSON)
			with = strings.Replace(with, "{,", "{", 1)
			v, _, err := e.read([]byte(with), wire.Options{})
			require.NoError(t, err, with)
			if f.Type.Kind == ir.RawAny {
				requireEqual(t, with, write(t, v))
				continue
			}
			requireEqual(t, base, write(t, v))
		}
	})
}

// TestEncodingJSON holds that encoding/json sees the same values.
func TestEncodingJSON(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if e.json == nil {
			return
		}
		text := m.example(x.Name, strange, 1)
		v := e.json()
		require.NoError(t, json.Unmarshal([]byte(text), v))
		requireEqual(t, text, write(t, v))
		out, err := json.Marshal(v)
		require.NoError(t, err)
		requireEqual(t, text, out)
		// What was there before is gone.
		require.NoError(t, json.Unmarshal([]byte(m.example(x.Name, least, 0)), v))
		requireEqual(t, m.example(x.Name, least, 0), write(t, v))
	})
}

// TestCloneSharesNothing overwrites the message that a value aliases.
func TestCloneSharesNothing(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		if e.clone == nil {
			return
		}
		for _, f := range []form{most, strange} {
			for pick := range m.arms() {
				text := m.example(x.Name, f, pick)
				buf := []byte(text)
				v, _, err := e.read(buf, wire.Options{Alias: true})
				require.NoError(t, err)
				c := e.clone(v)
				for i := range buf {
					buf[i] = '~'
				}
				requireEqual(t, text, write(t, c))
			}
		}
	})
}

// TestValidExamplesPassValidate holds that Validate has nothing against valid
// values, and that it never fails on the zero value of a type.
func TestValidExamplesPassValidate(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		for _, f := range []form{least, most} {
			for pick := range m.arms() {
				v, _, err := e.read([]byte(m.example(x.Name, f, pick)), wire.Options{})
				require.NoError(t, err)
				require.NoError(t, v.Validate(), m.example(x.Name, f, pick))
			}
		}
		if e.json != nil {
			_ = e.json().Validate()
			write(t, e.json())
		}
	})
}
