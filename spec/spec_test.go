package spec_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/spec"
)

func TestRevisions(t *testing.T) {
	want := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	all := spec.Revisions()
	require.Equal(t, want, all[:len(want)], "older revisions are frozen: new ones come behind them")
	require.True(t, slices.IsSorted(all))
	require.Equal(t, all[len(all)-1], spec.Latest())
	for _, r := range want {
		data, err := spec.Schema(r)
		require.NoError(t, err)
		require.True(t, json.Valid(data))
		o, err := spec.Facts(r)
		require.NoError(t, err)
		require.NotEmpty(t, o.Methods)
		require.False(t, o.Hints)
	}
	for _, f := range []func(string) error{
		func(r string) error { _, err := spec.Schema(r); return err },
		func(r string) error { _, err := spec.Patched(r); return err },
		func(r string) error { _, err := spec.Facts(r); return err },
	} {
		require.ErrorContains(t, f("2030-01-01"), `revision "2030-01-01" is not known`)
		require.Error(t, f(".."))
	}
}

// TestEntriesHaveReasons holds that no fact stands without its reason, in
// words of some length.
func TestEntriesHaveReasons(t *testing.T) {
	for _, r := range spec.Revisions() {
		o, err := spec.Facts(r)
		require.NoError(t, err)
		for _, e := range o.Entries() {
			require.Greater(t, len(strings.Fields(e.Why)), 3, e.Place)
		}
	}
}

// TestNoDescriptions holds that the committed structures carry no text: a
// member "description" is a property there and never a text.
func TestNoDescriptions(t *testing.T) {
	for _, r := range spec.Revisions() {
		data, err := spec.Schema(r)
		require.NoError(t, err)
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, `"description":`) {
				require.Equal(t, `"description": {`, strings.TrimSpace(line), r)
			}
		}
	}
}

// validator compiles the definitions of a schema file. It opens nothing else.
type validator struct {
	compiler  *jsonschema.Compiler
	container string
	names     []string
}

func newValidator(t testing.TB, data []byte) *validator {
	t.Helper()
	var root map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &root))
	v := &validator{compiler: jsonschema.NewCompiler(), container: "$defs"}
	if root["$defs"] == nil {
		v.container = "definitions"
	}
	var defs map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(root[v.container], &defs))
	for n := range defs {
		v.names = append(v.names, n)
	}
	slices.Sort(v.names)
	v.compiler.LoadURL = func(s string) (io.ReadCloser, error) { return nil, fmt.Errorf("refused to load %s", s) }
	require.NoError(t, v.compiler.AddResource("mem://schema.json", bytes.NewReader(data)))
	return v
}

func (v *validator) compile(def string) (*jsonschema.Schema, error) {
	return v.compiler.Compile("mem://schema.json#/" + v.container + "/" + def)
}

func (v *validator) validate(t testing.TB, def, value string) error {
	t.Helper()
	s, err := v.compile(def)
	require.NoError(t, err)
	d := json.NewDecoder(strings.NewReader(value))
	d.UseNumber()
	var tree any
	require.NoError(t, d.Decode(&tree), value)
	return s.Validate(tree)
}

// TestPatchedCompiles holds that every definition of every patched schema is
// an entry point, in both forms.
func TestPatchedCompiles(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	for _, r := range spec.Revisions() {
		pristine, err := spec.Schema(r)
		require.NoError(t, err)
		extended, err := set.Extend(r, pristine)
		require.NoError(t, err)
		for _, use := range []spec.Use{spec.Validators, spec.Generator} {
			data, err := set.Patched(r, use)
			require.NoError(t, err)
			v := newValidator(t, data)
			require.Equal(t, newValidator(t, extended).names, v.names, "errata add and drop no definition")
			for _, n := range v.names {
				_, err := v.compile(n)
				require.NoError(t, err, "%s %s", r, n)
			}
		}
		again, err := spec.Patched(r)
		require.NoError(t, err)
		first, err := spec.Patched(r)
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
		unchanged, err := spec.Schema(r)
		require.NoError(t, err)
		require.Equal(t, string(pristine), string(unchanged))
	}
}

// TestErrata shows for each erratum a value that the official file judges
// wrongly, and that the patched one judges as the specification says.
func TestErrata(t *testing.T) {
	legacy := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}
	newest := []string{"2026-07-28"}
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":%s}`
	for _, c := range []struct {
		revisions       []string
		def, value      string
		official, ought bool
	}{
		{[]string{"2025-06-18", "2025-11-25", "2026-07-28"}, "ElicitResult", `{"action":"accept","content":{"ratio":0.5}}`, false, true},
		{[]string{"2025-06-18", "2025-11-25", "2026-07-28"}, "ElicitResult", `{"action":"accept","content":{"x":null}}`, false, false},
		{newest, "JSONValue", `null`, false, true},
		{newest, "JSONValue", `[1.5,{"a":null}]`, false, true},
		{newest, "ClientCapabilities", `{"experimental":{"x":{"ratio":0.5}},"extensions":{"a/b":{"n":null}}}`, false, true},
		{newest, "RequestParams", "{" + fmt.Sprintf(meta, `{"experimental":{"x":{"n":null}}}`) + "}", false, true},
		{newest, "InputRequiredResult", `{"resultType":"complete","requestState":"s"}`, true, false},
		{newest, "InputRequiredResult", `{"resultType":"input_required"}`, true, false},
		{newest, "InputRequiredResult", `{"resultType":"input_required","requestState":""}`, true, true},
		{newest, "InputRequiredResult", `{"resultType":"input_required","inputRequests":{}}`, true, true},
		{newest, "CallToolResultResponse", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":5}}`, true, false},
		{legacy, "CallToolRequest", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"t"}}}`, true, true},
		{legacy[:3], "CallToolRequest", `{"method":"tools/call","params":{"name":"x","_meta":{"progressToken":{}}}}`, true, false},
		{legacy[:3], "ListToolsRequest", `{"method":"tools/list","params":{"_meta":5}}`, true, false},
		{legacy[:3], "ProgressNotification", `{"method":"notifications/progress","params":{"progress":0,"progressToken":0,"_meta":[]}}`, true, false},
		{[]string{"2025-11-25"}, "GetTaskRequest", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x","_meta":{"progressToken":1.5}}}`, true, false},
		{[]string{"2025-11-25"}, "ElicitationCompleteNotification", `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"x","_meta":1}}`, true, false},
	} {
		for _, r := range c.revisions {
			official, err := spec.Schema(r)
			require.NoError(t, err)
			patched, err := spec.Patched(r)
			require.NoError(t, err)
			require.Equal(t, c.official, newValidator(t, official).validate(t, c.def, c.value) == nil, "%s official %s %s", r, c.def, c.value)
			require.Equal(t, c.ought, newValidator(t, patched).validate(t, c.def, c.value) == nil, "%s patched %s %s", r, c.def, c.value)
		}
	}
}

// TestOfficialExamples holds that the official examples of the newest revision
// are valid by the patched schema, but for the one that is wrong.
func TestOfficialExamples(t *testing.T) {
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = "../../shared"
	}
	dir := filepath.Join(shared, "spec", "2026-07-28", "examples")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the official examples are not at hand (set GOLDWIRE_SHARED)")
	}
	data, err := spec.Patched("2026-07-28")
	require.NoError(t, err)
	v := newValidator(t, data)
	n := 0
	var wrong []string
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		value, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if v.validate(t, filepath.Base(filepath.Dir(p)), string(value)) != nil {
			wrong = append(wrong, filepath.Base(filepath.Dir(p))+"/"+d.Name())
		}
		return nil
	}))
	require.Equal(t, 129, n)
	// It lacks ttlMs and cacheScope, and the official file takes it for an InputRequiredResult.
	require.Equal(t, []string{"ReadResourceResultResponse/read-resource-result-response.json"}, wrong)
}

const small = `{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{
"A":{"type":"object","properties":{"a/b":{"type":["string","integer"]},"list":{"anyOf":[{"type":"string"},{"type":"null"}]}}},
"Ref":{"$ref":"#/$defs/A"},
"Meta":{"type":"object"},
"CallRequest":{"properties":{"method":{"const":"call","type":"string"},"params":{"$ref":"#/$defs/Params"}}},
"Params":{"type":"object","properties":{"x":{"type":"string"}}},
"OtherRequest":{"properties":{"method":{"const":"other","type":"string"},"params":{"properties":{"_meta":{"type":"object"}},"type":"object"}}},
"GoneNotification":{"properties":{"method":{"const":"notifications/gone","type":"string"},"params":{"properties":{"y":{}},"type":"object"}}}
}}`

func TestPatch(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	meta := &spec.Erratum{Rule: "params-meta", Requests: "/Meta", Notifications: "/A/properties/a~1b", Count: 2}
	for name, c := range map[string]struct {
		erratum *spec.Erratum
		want    string // a part of the result without white space, or of the error
		fails   bool
	}{
		"replace":             {&spec.Erratum{At: "/A/properties/a~1b/type/1", Was: raw(`"integer"`), Now: raw(`"number"`)}, `"type":["string","number"]`, false},
		"add":                 {&spec.Erratum{At: "/A/required", Now: raw(`["list"]`)}, `"required":["list"]`, false},
		"add a reference":     {&spec.Erratum{At: "/A/properties/new", Now: raw(`{"$ref":"#/$defs/Meta"}`)}, `"new":{"$ref":"#/$defs/Meta"}`, false},
		"remove":              {&spec.Erratum{At: "/A/properties/list", Was: raw(`{"anyOf":[{"type":"string"},{"type":"null"}]}`)}, `"properties":{"a/b":{"type":["string","integer"]}}`, false},
		"meta":                {meta, `"Params":{"properties":{"_meta":{"type":"object"},"x"`, false},
		"meta of notices":     {meta, `"params":{"properties":{"_meta":{"type":["string","integer"]},"y"`, false},
		"not what was":        {&spec.Erratum{At: "/A/type", Was: raw(`"array"`), Now: raw(`"string"`)}, `/A/type: expected "array", found "object"`, true},
		"nothing there":       {&spec.Erratum{At: "/A/items", Was: raw(`{}`), Now: raw(`{"type":"string"}`)}, `/A/items: expected {}, found nothing`, true},
		"something there":     {&spec.Erratum{At: "/A/type", Now: raw(`"string"`)}, `/A/type: expected nothing, found "object"`, true},
		"no such parent":      {&spec.Erratum{At: "/B/type", Now: raw(`"string"`)}, `/B: nothing stands there`, true},
		"no such element":     {&spec.Erratum{At: "/A/properties/list/anyOf/2", Was: raw(`{}`)}, `no such element`, true},
		"below a string":      {&spec.Erratum{At: "/A/type/x", Now: raw(`1`)}, `neither an object nor an array`, true},
		"through an element":  {&spec.Erratum{At: "/A/properties/list/anyOf/x/y", Now: raw(`1`)}, `nothing stands there`, true},
		"no pointer":          {&spec.Erratum{At: "A", Now: raw(`1`)}, `no JSON pointer`, true},
		"no rule":             {&spec.Erratum{Rule: "magic"}, `there is no rule "magic"`, true},
		"meta miscounted":     {&spec.Erratum{Rule: "params-meta", Requests: "/Meta", Notifications: "/Meta", Count: 3}, `2 params lack _meta, the entry says 3`, true},
		"meta without source": {&spec.Erratum{Rule: "params-meta", Requests: "/None", Notifications: "/Meta"}, `/None: nothing stands there`, true},
		"for somebody else":   {&spec.Erratum{At: "/nowhere/at/all", Only: spec.Generator}, `"Ref":{"$ref":"#/$defs/A"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.erratum.Place = "place"
			got, err := spec.Patch([]byte(small), []*spec.Erratum{c.erratum}, spec.Validators)
			if c.fails {
				var e *spec.EntryError
				require.ErrorAs(t, err, &e)
				require.Equal(t, "place", e.Place)
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			var b bytes.Buffer
			require.NoError(t, json.Compact(&b, got))
			require.Contains(t, b.String(), c.want)
		})
	}
	for _, bad := range []string{"", "[]", "{}", `{"$defs":[]}`, `{"$defs":`} {
		_, err := spec.Patch([]byte(bad), nil, spec.Validators)
		require.Error(t, err, bad)
	}
}

// TestPatchOlderDraft holds that references in an erratum fit the older container too.
func TestPatchOlderDraft(t *testing.T) {
	old := strings.ReplaceAll(small, "$defs", "definitions")
	got, err := spec.Patch([]byte(old), []*spec.Erratum{{At: "/Ref", Was: json.RawMessage(`{"$ref":"#/$defs/A"}`), Now: json.RawMessage(`{"$ref":"#/$defs/Meta"}`)}}, spec.Validators)
	require.NoError(t, err)
	require.Contains(t, string(got), `"$ref": "#/definitions/Meta"`)
}

func TestParseOverlay(t *testing.T) {
	o, err := spec.ParseOverlay("f", []byte(`{"keep":[{"definition":"A","why":"because"},{"definition":"B","why":"because","to":"2025-06-18"}]}`))
	require.NoError(t, err)
	require.Equal(t, "f#/keep/1", o.Keep[1].Place)
	require.Len(t, o.Entries(), 2)
	for in, want := range map[string]string{
		`{"keep":[{"definition":"A"}]}`:                         "f#/keep/0: the entry has no reason",
		`{"keep":[{"definition":"A","why":"x","because":"y"}]}`: `unknown field "because"`,
		`{"hold":[]}`: `unknown field "hold"`,
		`{"keep":[{"definition":"A","why":"x","from":"2","to":"1"}]}`: "from 2 is after to 1",
		`{} {}`: "more than one JSON value",
		`{`:     "unexpected EOF",
		`[]`:    "cannot unmarshal",
	} {
		_, err := spec.ParseOverlay("f", []byte(in))
		require.ErrorContains(t, err, want, in)
	}
}

// TestOpen holds the rules of the folder.
func TestOpen(t *testing.T) {
	good := func() fstest.MapFS {
		return fstest.MapFS{
			"sources.json":            {Data: []byte(`[{"revision":"2025-01-01","official":"a","structure":"b"},{"revision":"2026-01-01","official":"a","structure":"b"}]`)},
			"common.json":             {Data: []byte(`{"keep":[{"to":"2025-01-01","definition":"Old","why":"x"},{"from":"2026-01-01","definition":"New","why":"x"},{"definition":"Both","why":"x"}]}`)},
			"2025-01-01/schema.json":  {Data: []byte(small)},
			"2026-01-01/schema.json":  {Data: []byte(small)},
			"2026-01-01/overlay.json": {Data: []byte(`{"keep":[{"definition":"Own","why":"x"}]}`)},
		}
	}
	set, err := spec.Open(good())
	require.NoError(t, err)
	kept := func(revision string) (out []string) {
		o, err := set.Overlay(revision)
		require.NoError(t, err)
		for _, k := range o.Keep {
			out = append(out, k.Definition)
		}
		return out
	}
	require.Equal(t, []string{"Old", "Both"}, kept("2025-01-01"), "a revision needs no overlay of its own")
	require.Equal(t, []string{"New", "Both", "Own"}, kept("2026-01-01"))
	require.Equal(t, []string{"New", "Both"}, kept("2027-01-01"), "what no revision ended is a hint for later ones")

	for name, c := range map[string]struct{ file, data, want string }{
		"sources unsorted": {"sources.json", `[{"revision":"b"},{"revision":"a"}]`, "out of order"},
		"sources twice":    {"sources.json", `[{"revision":"a"},{"revision":"a"}]`, "out of order"},
		"sources unnamed":  {"sources.json", `[{}]`, "out of order"},
		"sources strange":  {"sources.json", `[{"revision":"a","more":1}]`, "unknown field"},
		"common strange":   {"common.json", `{"x":1}`, "unknown field"},
		"common never":     {"common.json", `{"keep":[{"from":"2025-01-02","definition":"A","why":"x"}]}`, `spec/common.json#/keep/0: revision "2025-01-02" is not known`},
		"own with range":   {"2026-01-01/overlay.json", `{"keep":[{"from":"2026-01-01","definition":"A","why":"x"}]}`, "from and to belong to common.json"},
		"own strange":      {"2026-01-01/overlay.json", `{"x":1}`, "unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			files := good()
			files[c.file] = &fstest.MapFile{Data: []byte(c.data)}
			set, err := spec.Open(files)
			if err == nil {
				_, err = set.Overlay("2026-01-01")
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	for _, missing := range []string{"sources.json", "common.json", "2026-01-01/schema.json"} {
		files := good()
		delete(files, missing)
		set, err := spec.Open(files)
		if err == nil {
			_, err = set.Patched("2026-01-01", spec.Generator)
		}
		require.True(t, errors.Is(err, fs.ErrNotExist), missing)
	}
}

func TestFormatSources(t *testing.T) {
	data, err := fs.ReadFile(spec.Files(), "sources.json")
	require.NoError(t, err)
	list, err := spec.ParseSources(data)
	require.NoError(t, err)
	again, err := spec.FormatSources(list)
	require.NoError(t, err)
	require.Equal(t, string(data), string(again))
}

// FuzzPatch holds that no schema and no erratum makes Patch panic, and that
// what it gives is JSON.
func FuzzPatch(f *testing.F) {
	f.Add(small, "/A/properties/a~1b/type", `["string","integer"]`, `"string"`)
	f.Add(small, "/A/properties/list/anyOf/1", `{"type":"null"}`, "")
	f.Add(`{"definitions":{"A":1}}`, "/A/x", "", "1")
	f.Fuzz(func(t *testing.T, schema, at, was, now string) {
		for _, e := range []*spec.Erratum{
			{At: at, Was: json.RawMessage(was), Now: json.RawMessage(now)},
			{Rule: "params-meta", Requests: at, Notifications: at},
		} {
			out, err := spec.Patch([]byte(schema), []*spec.Erratum{e}, spec.Validators)
			if err == nil {
				require.True(t, json.Valid(out))
			}
		}
	})
}
