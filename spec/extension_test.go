package spec_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/spec"
)

// TestExtensionsAreRecorded holds that each extension is of revisions that there
// are, and that its hash is that of its schema.
func TestExtensionsAreRecorded(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, r := range set.Revisions() {
		for _, e := range set.Extensions(r) {
			seen[e.Name] = true
			data, err := set.ExtensionSchema(e)
			require.NoError(t, err)
			sum := sha256.Sum256(data)
			require.Equal(t, e.Structure, hex.EncodeToString(sum[:]), e.File())
			_, err = set.Source(e.From)
			require.NoError(t, err)
			require.Contains(t, e.Place, "https://")
			require.NotContains(t, string(data), `"description":`, "the structure only")
		}
	}
	require.Equal(t, map[string]bool{"tasks": true}, seen)
	require.Empty(t, set.Extensions("2025-11-25"))
	require.Len(t, set.Extensions(""), 1, "a revision to come")
	o, err := set.Overlay("2025-11-25")
	require.NoError(t, err)
	for _, e := range o.Entries() {
		require.NotContains(t, e.Place, "spec/ext/")
	}
}

func TestExtend(t *testing.T) {
	const base = `{"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}}},"U":{"anyOf":[{"$ref":"#/$defs/A"}]}}}`
	got, err := spec.Extend([]byte(base), []byte(`{"$defs":{
		"A":{"properties":{"y":{"type":"integer","minimum":1.50}}},"B":{"type":"object"},"U":{"anyOf":[{"$ref":"#/$defs/B"}]}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"integer","minimum":1.50}}},
		"B":{"type":"object"},"U":{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}]}}}`, string(got))
	require.Contains(t, string(got), "1.50", "numbers stay as they are written")

	for name, c := range map[string]struct{ base, more, want string }{
		"another type":   {base, `{"$defs":{"A":{"properties":{"x":{"type":"integer"}}}}}`, `/A/properties/x/type: "string" stands there, the extension has "integer"`},
		"another form":   {base, `{"$defs":{"U":{"anyOf":{}}}}`, `/U/anyOf: [{"$ref":"#/$defs/A"}] stands there, the extension has {}`},
		"no definitions": {base, `{}`, "both need $defs"},
		"an old file":    {`{"definitions":{}}`, `{"$defs":{}}`, "both need $defs"},
		"no JSON":        {base, `{`, "unexpected EOF"},
		"no JSON below":  {``, `{"$defs":{}}`, "EOF"},
	} {
		_, err := spec.Extend([]byte(c.base), []byte(c.more))
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestExtensionsFile(t *testing.T) {
	const one = `{"name":"a","id":"x/a","from":"2026-07-28","structure":"","place":""}`
	open := func(list string, more fstest.MapFS) (*spec.Set, error) {
		fsys := fstest.MapFS{"sources.json": {Data: []byte("[]")}, "common.json": {Data: []byte("{}")}}
		if list != "" {
			fsys["extensions.json"] = &fstest.MapFile{Data: []byte(list)}
		}
		for n, f := range more {
			fsys[n] = f
		}
		return spec.Open(fsys)
	}
	overlay := fstest.MapFS{"ext/a/overlay.json": {Data: []byte("{}")}}
	for name, c := range map[string]struct {
		list string
		more fstest.MapFS
		want string
	}{
		"twice":       {"[" + one + "," + one + "]", overlay, `spec/extensions.json: entry 1 ("a") is out of order`},
		"no id":       {`[{"name":"a"}]`, overlay, "has no name or id"},
		"backwards":   {`[{"name":"a","id":"x/a","from":"2026-07-28","to":"2025-11-25"}]`, overlay, "from 2026-07-28 is after to 2025-11-25"},
		"unknown":     {`[{"nom":"a"}]`, overlay, "unknown field"},
		"no overlay":  {"[" + one + "]", nil, "ext/a/overlay.json"},
		"bad overlay": {"[" + one + "]", fstest.MapFS{"ext/a/overlay.json": {Data: []byte(`{"keep":[{"definition":"A"}]}`)}}, "the entry has no reason"},
	} {
		_, err := open(c.list, c.more)
		require.ErrorContains(t, err, c.want, name)
	}
	set, err := open("", nil)
	require.NoError(t, err)
	require.Empty(t, set.Extensions(""))
	set, err = open("["+one+"]", overlay)
	require.NoError(t, err)
	require.Len(t, set.Extensions("2026-07-28"), 1)
	require.Empty(t, set.Extensions("2025-11-25"))
	_, err = set.Extend("2026-07-28", []byte(`{"$defs":{}}`))
	require.ErrorContains(t, err, "ext/a/schema.json")
}

// TestTasksByStatus holds that a task has what its status asks for, and that the
// schemas of the messages know tasks.
func TestTasksByStatus(t *testing.T) {
	data, err := spec.Patched("2026-07-28")
	require.NoError(t, err)
	v := newValidator(t, data)
	const head = `"taskId":"t","createdAt":"c","lastUpdatedAt":"u"`
	for _, c := range []struct {
		def, value string
		want       bool
	}{
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"working"}`, true},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":5,"pollIntervalMs":5,"status":"cancelled"}`, true},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"status":"working"}`, false},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"asleep"}`, false},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"completed"}`, false},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"completed","result":{"content":[]}}`, true},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"failed","result":{}}`, false},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"failed","error":{"code":-32603,"message":"m"}}`, true},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"input_required"}`, false},
		{"GetTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":null,"status":"input_required","inputRequests":{}}`, true},
		{"TaskStatusNotification", `{"jsonrpc":"2.0","method":"notifications/tasks","params":{` + head + `,"ttlMs":null,"status":"completed","result":{}}}`, true},
		{"TaskStatusNotification", `{"jsonrpc":"2.0","method":"notifications/tasks","params":{` + head + `,"ttlMs":null,"status":"completed"}}`, false},
		{"CreateTaskResult", `{"resultType":"task",` + head + `,"ttlMs":1,"status":"working"}`, true},
		{"CreateTaskResult", `{"resultType":"complete",` + head + `,"ttlMs":1,"status":"working"}`, false},
		{"CreateTaskResult", `{"resultType":"task",` + head + `,"ttlMs":1.5,"status":"working"}`, false},
		{"CallToolResultResponse", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task",` + head + `,"ttlMs":1,"status":"working"}}`, true},
		{"SubscriptionFilter", `{"taskIds":["t"]}`, true},
		{"SubscriptionFilter", `{"taskIds":[1]}`, false},
	} {
		require.Equal(t, c.want, v.validate(t, c.def, c.value) == nil, "%s %s", c.def, c.value)
	}
}
