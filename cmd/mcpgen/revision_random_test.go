package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/spec/spectest"
)

// TestRandomNextRevisions changes the newest schema at random places in random
// ways. Whatever comes of it compiles, or is refused with file and pointer; what
// is said of old code is so, and the conversions compile too.
func TestRandomNextRevisions(t *testing.T) {
	const n = 6
	base, err := fs.ReadFile(spectest.Files(), spectest.Newest+"/schema.json")
	require.NoError(t, err)
	c := newChecker(t)
	latest, err := build.Build(spectest.Files(), spectest.Newest)
	require.NoError(t, err)
	older := c.side(t, latest)
	made := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(uint64(seed), 2027))
		var file map[string]any
		require.NoError(t, json.Unmarshal(base, &file))
		defs := file["$defs"].(map[string]any)
		var done []string
		for range 1 + r.IntN(3) {
			done = append(done, disturb(r, defs))
		}
		data, err := json.Marshal(file)
		require.NoError(t, err)
		p, _, err := build.FileDecisions(spectest.Files(), "next.json", data, next, nil)
		if err != nil {
			require.Contains(t, err.Error(), "#/", "%v: an error without a place", done)
			continue
		}
		files, err := emit.Package(p)
		require.NoError(t, err, "%v: what was built cannot be printed", done)
		code, err := c.check(files)
		require.NoError(t, err, "%v: the package does not compile", done)
		c.step(t, older, side{p: p, code: code})
		c.asSaid(t, older, side{p: p, code: code}, done...)
		made++
	}
	require.Greater(t, made, n/2, "most changes are none that have to be refused")
}

// shapes are what a member may become.
var shapes = []string{
	`{"type": "string"}`, `{"type": "integer"}`, `{"type": "number"}`, `{"type": "boolean"}`, `{"type": "object"}`, `{}`,
	`{"type": "array", "items": {"type": "string"}}`, `{"$ref": "#/$defs/Tool"}`, `{"$ref": "#/$defs/RequestId"}`, `{"$ref": "#/$defs/ContentBlock"}`,
	`{"type": "string", "enum": ["a", "b"]}`, `{"type": "object", "properties": {"x": {"type": "boolean"}}}`, `{"type": "array", "items": {"$ref": "#/$defs/Icon"}}`,
	`{"type": "object", "additionalProperties": {"$ref": "#/$defs/Role"}}`, `{"type": "string", "format": "byte"}`, `{"type": ["string", "integer"]}`,
	`{"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}`, `{"type": "string", "const": "fixed"}`,
}

// disturb changes one thing and says what.
func disturb(r *rand.Rand, defs map[string]any) string {
	names := slices.Sorted(maps.Keys(defs))
	name := names[r.IntN(len(names))]
	def := defs[name].(map[string]any)
	members, _ := def["properties"].(map[string]any)
	required, _ := def["required"].([]any)
	member := ""
	if len(members) > 0 {
		member = slices.Sorted(maps.Keys(members))[r.IntN(len(members))]
	}
	var shape any
	text := shapes[r.IntN(len(shapes))]
	if err := json.Unmarshal([]byte(text), &shape); err != nil {
		return err.Error()
	}
	without := func(what string) []any {
		return slices.DeleteFunc(slices.Clone(required), func(x any) bool { return x == what })
	}
	switch r.IntN(7) {
	case 0:
		if member != "" {
			delete(members, member)
			def["required"] = without(member)
			return "without " + name + "." + member
		}
	case 1:
		if member != "" {
			members[member] = shape
			return name + "." + member + " becomes " + text
		}
	case 2:
		if members != nil {
			fresh := []string{"fresh", "kind", "id", "metadata", "raw", "error", "extra-data"}[r.IntN(7)]
			members[fresh] = shape
			if r.IntN(2) == 0 {
				def["required"] = append(without(fresh), fresh)
			}
			return name + "." + fresh + " comes as " + text
		}
	case 3:
		if member != "" {
			rest := without(member)
			if len(rest) == len(required) {
				rest = append(rest, member)
			}
			def["required"] = rest
			return name + "." + member + " changes whether it is required"
		}
	case 4:
		if list, ok := def["enum"].([]any); ok {
			def["enum"] = append(list, "fresh")
			return name + " gets a value"
		}
		if list, ok := def["anyOf"].([]any); ok && len(list) > 1 {
			def["anyOf"] = list[:len(list)-1]
			return name + " loses a member"
		}
	case 5:
		b, err := json.Marshal(defs)
		renamed := map[string]any{}
		if err == nil {
			err = json.Unmarshal([]byte(strings.ReplaceAll(string(b), `"#/$defs/`+name+`"`, `"#/$defs/New`+name+`"`)), &renamed)
		}
		if err != nil {
			return err.Error()
		}
		renamed["New"+name] = renamed[name]
		delete(renamed, name)
		clear(defs)
		maps.Copy(defs, renamed)
		return name + " gets another name"
	case 6:
		defs["Fresh"+name] = def
		return fmt.Sprintf("a copy of %s", name)
	}
	return "nothing"
}
