package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/spec"
)

// TestFormatOverlay holds that an overlay is written as the committed ones are,
// and that what is written says the same.
func TestFormatOverlay(t *testing.T) {
	for _, r := range spec.Revisions() {
		data, err := fs.ReadFile(spec.Files(), r+"/overlay.json")
		require.NoError(t, err)
		o, err := spec.ParseOverlay("overlay.json", data)
		require.NoError(t, err)
		require.Equal(t, string(data), string(formatOverlay(o)), r)
	}
	o, err := spec.ParseOverlay("overlay.json", []byte(`{"raw":[{"from":"2025-03-26","at":"A.b","any":true,"why":"It says \"a,b:c\" <&>."}],
		"unions":[{"go":"U","keyed":{"B":"Y","A":"X"},"why":"One: two."}],"lenient":[{"lists":true,"value":[],"why":"None."}]}`))
	require.NoError(t, err)
	const want = `{
 "raw": [
  {"at": "A.b", "any": true, "why": "It says \"a,b:c\" <&>."}
 ],
 "unions": [
  {"go": "U", "keyed": {"A": "X", "B": "Y"}, "why": "One: two."}
 ],
 "lenient": [
  {"lists": true, "value": [], "why": "None."}
 ]
}
`
	require.Equal(t, want, string(formatOverlay(o)))
	require.Equal(t, "{\n\n}\n", string(formatOverlay(&spec.Overlay{})))
}

// TestEndEntries holds that ending entries changes them and nothing else.
func TestEndEntries(t *testing.T) {
	const before = `{
 "names": [
  {"definition": "A", "go": "B", "why": "one"},
  {"from": "2025-03-26", "definition": "C", "go": "D", "why": "{\"not\": [\"an entry\"]}"}
 ],
 "lenient": [{"lists": true, "value": [{"x": 1}], "why": "two"}, {"at": "X.y", "value": {}, "why": "three"}]
}
`
	const after = `{
 "names": [
  {"to": "2026-07-28", "definition": "A", "go": "B", "why": "one"},
  {"from": "2025-03-26", "to": "2026-07-28", "definition": "C", "go": "D", "why": "{\"not\": [\"an entry\"]}"}
 ],
 "lenient": [{"lists": true, "value": [{"x": 1}], "why": "two"}, {"to": "2026-07-28", "at": "X.y", "value": {}, "why": "three"}]
}
`
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "spec"), 0o777))
	name := filepath.Join(dir, "spec", "common.json")
	require.NoError(t, os.WriteFile(name, []byte(before), 0o666))
	o, err := spec.ParseOverlay("spec/common.json", []byte(before))
	require.NoError(t, err)
	tr := tree{dir, next}
	require.NoError(t, tr.endEntries([]*spec.Entry{&o.Lenient[1].Entry, &o.Names[1].Entry, &o.Names[0].Entry}, "2026-07-28"))
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, after, string(got))
	require.ErrorContains(t, tr.endEntries([]*spec.Entry{{Place: "spec/common.json#/names/7"}}, "2026-07-28"), "#/names/7 is not there")
}

// TestEntryStarts feeds every prefix of a file, and files of other forms.
func TestEntryStarts(t *testing.T) {
	data, err := fs.ReadFile(spec.Files(), "2026-07-28/overlay.json")
	require.NoError(t, err)
	for i := range data {
		starts, err := entryStarts(data[:i])
		whole := strings.TrimSpace(string(data[:i]))
		require.Equal(t, whole == "" || whole == strings.TrimSpace(string(data)), err == nil, whole)
		for _, at := range starts {
			require.LessOrEqual(t, at, i)
		}
	}
	starts, err := entryStarts(data)
	require.NoError(t, err)
	require.Len(t, starts, 4)
	for ptr, at := range starts {
		require.Equal(t, byte('{'), data[at-1], ptr)
	}
	for _, text := range []string{`[[{}]]`, `{"a": {"b": {}}}`, `"x"`, `{"a": [[{}]], "b": "c"}`, `[{"a": [{}]}]`} {
		_, err := entryStarts([]byte(text))
		require.NoError(t, err, text)
	}
}

// FuzzSpaced holds that what is written with spaces is the same JSON.
func FuzzSpaced(f *testing.F) {
	f.Add(`{"at":"/a:b,c/\"d\\","now":[1,{"x":"y"}],"why":"z"}`)
	f.Add(`["\u003c",",:",{}]`)
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		got := spaced(json.RawMessage(text))
		var a, b bytes.Buffer
		require.NoError(t, json.Compact(&a, []byte(text)))
		require.NoError(t, json.Compact(&b, []byte(got)), got)
		require.Equal(t, a.String(), b.String())
	})
}
