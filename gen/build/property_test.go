package build_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// anySchema draws a schema of the handled keywords. Few names make
// references, cycles and equal structures likely.
func anySchema(t *rapid.T, depth int) map[string]any {
	def := rapid.SampledFrom([]string{"A", "B", "C", "D", "E", "DoRequestParams", "Result", "EmptyResult"})
	member := rapid.SampledFrom([]string{"type", "kind", "x", "y", "_meta", "extra", "items"})
	value := rapid.SampledFrom([]string{"a", "b", "c"})
	kind := rapid.IntRange(0, 12).Draw(t, "kind")
	if depth <= 0 && kind >= 6 {
		kind -= 6
	}
	switch kind {
	case 0:
		return map[string]any{}
	case 1:
		return map[string]any{"$ref": "#/$defs/" + def.Draw(t, "ref")}
	case 2:
		return map[string]any{"type": "string", "const": value.Draw(t, "const")}
	case 3:
		return map[string]any{"type": rapid.SampledFrom([]string{"string", "integer", "number", "boolean", "null", "object", "array"}).Draw(t, "type")}
	case 4:
		return map[string]any{"type": "string", "enum": rapid.SliceOfNDistinct(value, 1, 2, rapid.ID[string]).Draw(t, "enum")}
	case 5:
		return map[string]any{"type": rapid.SampledFrom([][]string{{"string", "integer"}, {"integer", "null"}, {"string", "boolean"}}).Draw(t, "types")}
	case 6:
		return map[string]any{"type": "array", "items": anySchema(t, depth-1)}
	case 7:
		return map[string]any{"type": "object", "additionalProperties": anySchema(t, depth-1)}
	case 8, 9:
		k := []string{"anyOf", "allOf"}[kind-8]
		var l []any
		for range rapid.IntRange(1, 3).Draw(t, "n") {
			l = append(l, anySchema(t, depth-1))
		}
		return map[string]any{k: l}
	}
	props := map[string]any{}
	var required []string
	for _, m := range rapid.SliceOfNDistinct(member, 1, 4, rapid.ID[string]).Draw(t, "members") {
		props[m] = anySchema(t, depth-1)
		if rapid.Bool().Draw(t, "required") {
			required = append(required, m)
		}
	}
	out := map[string]any{"type": "object", "properties": props}
	if required != nil {
		out["required"] = required
	}
	return out
}

// TestAnySchema holds that whatever the definitions say, lowering ends, gives a
// documented error or a model whose names all resolve, and does so again.
func TestAnySchema(t *testing.T) {
	good := 0
	rapid.Check(t, func(t *rapid.T) {
		defs := map[string]any{}
		require.NoError(t, json.Unmarshal([]byte(baseDefinitions), &defs))
		for _, name := range []string{"A", "B", "C", "D", "E", "DoRequestParams"} {
			defs[name] = anySchema(t, 3)
		}
		if rapid.Bool().Draw(t, "own result") {
			defs["DoResult"] = anySchema(t, 2)
			defs["ServerResult"] = map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/DoResult"}}}
		}
		body, err := json.Marshal(map[string]any{"$schema": schema.Draft2020, "$defs": defs})
		require.NoError(t, err)
		o := &spec.Overlay{Hints: true}
		in := build.Input{Revision: "2030-01-01", File: "schema.json", Schema: body, Overlay: o}
		p, err := build.Lower(in)
		again, againErr := build.Lower(in)
		if err != nil {
			var e *build.Error
			var s *schema.Error
			require.True(t, errors.As(err, &e) || errors.As(err, &s), "%T", err)
			require.EqualError(t, againErr, err.Error())
			return
		}
		good++
		require.NoError(t, againErr)
		require.Equal(t, show(p), show(again))
		types := map[string]*ir.Type{}
		for _, typ := range p.Types {
			types[typ.Name] = typ
		}
		for _, typ := range p.Types {
			for _, f := range typ.Fields {
				for r := &f.Type; r != nil; r = r.Elem {
					require.True(t, r.Kind != ir.Named || types[r.Name] != nil, fmt.Sprint(typ.Name, ".", f.JSON))
				}
			}
			for _, a := range typ.Arms {
				require.NotNil(t, types[a.Type])
			}
		}
	})
	require.Positive(t, good, "some schemas can be lowered")
}
