package schema

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cases reads an archive of named texts: a line "-- name --" begins each.
func cases(t *testing.T, file string) (names []string, texts map[string]string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	texts = map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(name, " --") {
			names = append(names, strings.TrimSuffix(name, " --"))
			continue
		}
		if len(names) > 0 {
			texts[names[len(names)-1]] += line
		}
	}
	return names, texts
}

// golden runs every input of an archive and compares it with the text that follows it.
func golden(t *testing.T, file string, run func(name, in string) string) {
	names, texts := cases(t, file)
	require.Zero(t, len(names)%2)
	var out strings.Builder
	for i := 0; i < len(names); i += 2 {
		in, want := names[i], names[i+1]
		t.Run(in, func(t *testing.T) {
			got := run(in, texts[in])
			out.WriteString("-- " + in + " --\n" + texts[in] + "-- " + want + " --\n" + got)
			if !*update {
				require.Equal(t, texts[want], got)
			}
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}

// TestGoodFiles pins what is kept of a file: everything but the texts.
func TestGoodFiles(t *testing.T) {
	golden(t, "testdata/good.txtar", func(name, in string) string {
		out, err := Structure(name, []byte(in))
		require.NoError(t, err)
		return string(out)
	})
}

// TestBadFiles pins the refusals: kind, file, pointer and reason.
func TestBadFiles(t *testing.T) {
	kinds := []string{"syntax", "keyword", "value", "reference"}
	golden(t, "testdata/bad.txtar", func(name, in string) string {
		_, err := Parse(name, []byte(in))
		var e *Error
		require.ErrorAs(t, err, &e)
		return kinds[e.Kind] + ": " + e.Error() + "\n"
	})
}

// TestOfficialFiles holds what the five files are made of: their drafts, the
// number of their definitions, and exactly the keywords that are handled.
func TestOfficialFiles(t *testing.T) {
	type root struct {
		draft, container string
		definitions      int
	}
	want := map[string]root{
		"2024-11-05": {Draft07, "definitions", 79},
		"2025-03-26": {Draft07, "definitions", 83},
		"2025-06-18": {Draft07, "definitions", 91},
		"2025-11-25": {Draft2020, "$defs", 145},
		"2026-07-28": {Draft2020, "$defs", 155},
	}
	got := map[string]root{}
	used := map[string]bool{"description": true} // dropped on import
	for _, r := range spec.Revisions() {
		data, err := spec.Schema(r)
		require.NoError(t, err)
		f, err := Parse(r, data)
		require.NoError(t, err)
		got[r] = root{f.Draft, f.Container, len(f.Definitions)}
		for _, s := range f.Definitions {
			count(s, used)
		}
		again, err := Structure(r, data)
		require.NoError(t, err)
		require.Equal(t, string(data), string(again), "the committed file is a structure already")
		src, err := source(r)
		require.NoError(t, err)
		require.Equal(t, src.Structure, Hash(data))
	}
	for r, w := range want {
		require.Equal(t, w, got[r], r)
	}
	require.Equal(t, Keywords, slices.Sorted(maps.Keys(used)))
}

func source(revision string) (spec.Source, error) {
	set, err := spec.Open(spec.Files())
	if err != nil {
		return spec.Source{}, err
	}
	return set.Source(revision)
}

// count notes the keywords of a schema and of all below it.
func count(s *Schema, used map[string]bool) {
	if s == nil {
		return
	}
	for k, there := range map[string]bool{
		"type": s.Types != nil, "properties": s.Properties != nil, "required": s.Required != nil, "items": s.Items != nil,
		"$ref": s.Ref != "", "const": s.Const != nil, "enum": s.Enum != nil, "anyOf": s.AnyOf != nil, "allOf": s.AllOf != nil,
		"additionalProperties": s.Additional != nil, "format": s.Format != "", "minimum": s.Minimum != nil, "maximum": s.Maximum != nil,
		"maxItems": s.MaxItems != nil,
	} {
		if there {
			used[k] = true
		}
	}
	count(s.Items, used)
	count(s.Additional, used)
	for _, p := range s.Properties {
		count(p, used)
	}
	for _, a := range append(slices.Clone(s.AnyOf), s.AllOf...) {
		count(a, used)
	}
}

// TestPropertiesNamedLikeKeywords is the trap of the elicitation schemas: a
// property may have the name of a keyword, at any depth.
func TestPropertiesNamedLikeKeywords(t *testing.T) {
	for _, k := range append(slices.Clone(Keywords), "oneOf", "default", "title") {
		in := `{"$schema":"` + Draft07 + `","definitions":{"A":{"type":"object","properties":{"` + k + `":{"type":"object","description":"x","properties":{"` + k + `":{"type":"string","description":"y"}}}}}}}`
		f, err := Parse("in", []byte(in))
		require.NoError(t, err)
		require.Equal(t, []string{"string"}, f.Definitions["A"].Properties[k].Properties[k].Types, k)
		out, err := Structure("in", []byte(in))
		require.NoError(t, err)
		require.NotContains(t, string(out), `"x"`)
		require.NotContains(t, string(out), `"y"`)
		kept, err := Parse("out", out)
		require.NoError(t, err)
		require.NotNil(t, kept.Definitions["A"].Properties[k].Properties[k], "the properties stay: %s", k)
	}
}

// TestEveryPrefix holds that a file that ends early is an error, wherever it ends.
func TestEveryPrefix(t *testing.T) {
	_, texts := cases(t, "testdata/good.txtar")
	in := []byte(strings.TrimSpace(texts["everything"]))
	for i := range in {
		_, err := Parse("in", in[:i])
		var e *Error
		require.ErrorAs(t, err, &e, "%d bytes", i)
	}
	_, err := Parse("in", in)
	require.NoError(t, err)
}

// TestDepth holds that a hostile file ends in an error and not in a stack overflow.
func TestDepth(t *testing.T) {
	in := `{"$schema":"` + Draft07 + `","definitions":{"A":` + strings.Repeat(`{"items":`, 100_000) + `{}` + strings.Repeat(`}`, 100_000) + `}}`
	_, err := Parse("in", []byte(in))
	require.ErrorContains(t, err, "nested deeper")
}

// TestCompare holds that one changed leaf is one difference, at its place.
func TestCompare(t *testing.T) {
	a := `{"$schema":"` + Draft07 + `","definitions":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`
	for name, c := range map[string]struct {
		old, new string
		want     []Difference
	}{
		"nothing":     {"", "", nil},
		"description": {`{"type":"string"}`, `{"type":"string","description":"new"}`, nil},
		"value":       {`"type":"string"`, `"type":"boolean"`, []Difference{{"/definitions/A/properties/x/type", `"string"`, `"boolean"`}}},
		"kind":        {`"type":"string"`, `"type":["string","null"]`, []Difference{{"/definitions/A/properties/x/type", `"string"`, `["string","null"]`}}},
		"gone":        {`,"required":["x"]`, ``, []Difference{{"/definitions/A/required", `["x"]`, ""}}},
		"more":        {`["x"]`, `["x","y"]`, []Difference{{"/definitions/A/required", `["x"]`, `["x","y"]`}}},
		"renamed":     {`"x":{`, `"y":{`, []Difference{{"/definitions/A/properties/x", `{"type":"string"}`, ""}, {"/definitions/A/properties/y", "", `{"type":"string"}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Compare("a", []byte(a), "b", []byte(strings.Replace(a, c.old, c.new, 1)))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

// FuzzParse holds that no input panics, and that a structure says what its
// file says and is its own structure.
func FuzzParse(f *testing.F) {
	for _, r := range spec.Revisions() {
		data, err := spec.Schema(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:2000])
	}
	for _, file := range []string{"testdata/good.txtar", "testdata/bad.txtar"} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range bytes.Split(data, []byte("\n-- ")) {
			_, text, _ := bytes.Cut(part, []byte("--\n"))
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if _, err := Parse("in", in); err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("an error of type %T", err)
			}
			return
		}
		out, err := Structure("in", in)
		require.NoError(t, err)
		again, err := Structure("out", out)
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
		diffs, err := Compare("in", in, "out", out)
		require.NoError(t, err)
		require.Empty(t, diffs)
	})
}
