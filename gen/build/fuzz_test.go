package build_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// FuzzLower holds that no schema makes the generator panic or run without end,
// that its errors are of the documented types, and that its answer is always the same.
func FuzzLower(f *testing.F) {
	for _, file := range []string{"testdata/good.txtar", "testdata/bad.txtar"} {
		for _, c := range readCases(f, file) {
			overlay, hints := c.parts["hints"]
			if !hints {
				overlay = c.parts["overlay"]
			}
			f.Add([]byte(c.parts["definitions"]), []byte(overlay), hints)
		}
	}
	f.Fuzz(func(t *testing.T, definitions, overlay []byte, hints bool) {
		var own map[string]json.RawMessage
		if json.Unmarshal(definitions, &own) != nil {
			return
		}
		if len(overlay) == 0 {
			overlay = []byte("{}")
		}
		o, err := spec.ParseOverlay("overlay.json", overlay)
		if err != nil {
			return
		}
		o.Hints = hints
		defs := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal([]byte(baseDefinitions), &defs))
		for k, v := range own {
			defs[k] = v
		}
		body, err := json.Marshal(map[string]any{"$schema": schema.Draft2020, "$defs": defs})
		if err != nil {
			return
		}
		in := build.Input{Revision: "2030-01-01", File: "schema.json", Schema: body, Overlay: o}
		first, err := build.Lower(in)
		again, againErr := build.Lower(in)
		if err != nil {
			var e *build.Error
			var s *schema.Error
			require.True(t, errors.As(err, &e) || errors.As(err, &s), "%T", err)
			require.EqualError(t, againErr, err.Error())
			return
		}
		require.NoError(t, againErr)
		require.Equal(t, show(first), show(again))
	})
}
