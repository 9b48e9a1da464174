package build_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// The cases in testdata say only what is special about them: their definitions
// are laid over these, null takes one away, and their overlay entries join these.
const (
	baseDefinitions = `{
		"Result": {"type": "object", "properties": {"_meta": {"type": "object"}}, "additionalProperties": {}},
		"EmptyResult": {"$ref": "#/$defs/Result"},
		"DoRequest": {"type": "object", "properties": {"method": {"const": "do", "type": "string"}, "params": {"$ref": "#/$defs/DoRequestParams"}}, "required": ["method", "params"]},
		"DoRequestParams": {"type": "object", "properties": {"text": {"type": "string"}}},
		"ClientRequest": {"anyOf": [{"$ref": "#/$defs/DoRequest"}]},
		"ServerResult": {"anyOf": [{"$ref": "#/$defs/Result"}]}
	}`
	baseOverlay = `{"methods": [{"method": "do", "why": "needs no capability"}]}`
)

// testCase is one case of an archive: sections "name: part".
type testCase struct {
	name  string
	parts map[string]string
}

func readCases(t testing.TB, file string) []*testCase {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []*testCase
	part := ""
	for line := range strings.Lines(string(data)) {
		head, ok := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if !ok || !strings.HasSuffix(head, " --") {
			if part != "" {
				out[len(out)-1].parts[part] += line
			}
			continue
		}
		var name string
		name, part, ok = strings.Cut(strings.TrimSuffix(head, " --"), ": ")
		require.True(t, ok, line)
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, &testCase{name, map[string]string{}})
		}
		out[len(out)-1].parts[part] = ""
	}
	return out
}

// input makes the input of a case. A section "hints" in place of "overlay" is
// for a revision that is not known.
func (c *testCase) input(t *testing.T) build.Input {
	t.Helper()
	defs := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(baseDefinitions), &defs))
	own := map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(c.parts["definitions"]), &own), c.name)
	for k, v := range own {
		if bytes.Equal(v, []byte("null")) {
			delete(defs, k)
		} else {
			defs[k] = v
		}
	}
	body, err := json.Marshal(map[string]any{"$schema": schema.Draft2020, "$defs": defs})
	require.NoError(t, err)
	base, err := spec.ParseOverlay("base.json", []byte(baseOverlay))
	require.NoError(t, err)
	text, hints := c.parts["hints"]
	if !hints {
		text = c.parts["overlay"]
	}
	if text == "" {
		text = "{}"
	}
	o, err := spec.ParseOverlay("overlay.json", []byte(text))
	require.NoError(t, err, c.name)
	if len(o.Methods) == 0 || o.Methods[0].Method != "do" {
		o.Methods = append(o.Methods, base.Methods...)
	}
	o.Hints = hints
	return build.Input{Revision: "2030-01-01", File: "schema.json", Hash: "0", Schema: body, Overlay: o}
}

func runCases(t *testing.T, file string, run func(t *testing.T, c *testCase) string) {
	all := readCases(t, file)
	var out strings.Builder
	for _, c := range all {
		t.Run(c.name, func(t *testing.T) {
			got := run(t, c)
			for _, part := range []string{"definitions", "overlay", "hints"} {
				if text, ok := c.parts[part]; ok {
					out.WriteString("-- " + c.name + ": " + part + " --\n" + text)
				}
			}
			out.WriteString("-- " + c.name + ": want --\n" + got)
			if !*update {
				require.Equal(t, c.parts["want"], got)
			}
		})
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644))
	}
}

// TestGood pins what the general rules make of small schemas.
func TestGood(t *testing.T) {
	runCases(t, "testdata/good.txtar", func(t *testing.T, c *testCase) string {
		p, err := build.Lower(c.input(t))
		require.NoError(t, err)
		var out strings.Builder
		for line := range strings.Lines(show(p)) {
			// What the base makes is the same everywhere.
			if !strings.HasPrefix(line, "Result") && !strings.HasPrefix(line, "EmptyResult") && !strings.HasPrefix(line, "do ") && !strings.HasPrefix(line, "stateless") {
				out.WriteString(line)
			}
		}
		return out.String()
	})
}

// TestBad pins the refusals: kind, file, place and what to do.
func TestBad(t *testing.T) {
	kinds := []string{"unnamed", "collision", "unclassified", "unused", "unreached", "message", "unsupported"}
	runCases(t, "testdata/bad.txtar", func(t *testing.T, c *testCase) string {
		_, err := build.Lower(c.input(t))
		require.Error(t, err)
		var e *build.Error
		if errors.As(err, &e) {
			return kinds[e.Kind] + ": " + err.Error() + "\n"
		}
		var s *schema.Error
		require.ErrorAs(t, err, &s)
		return "schema: " + err.Error() + "\n"
	})
}
