package build_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
	"github.com/goldwire/goldwire/spec/spectest"
)

// TestDocsComplete holds that everything declared has a text of ours.
func TestDocsComplete(t *testing.T) {
	gaps, err := build.Gaps(spec.Files())
	require.NoError(t, err)
	require.Empty(t, gaps, "write these texts in spec/docs.yaml; go run ./cmd/mcpgen docs lists them")
}

// edited is data with docs.yaml changed.
func edited(t *testing.T, base fs.FS, edit func(docs string) string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	require.NoError(t, fs.WalkDir(base, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(base, name)
		out[name] = &fstest.MapFile{Data: data}
		return err
	}))
	docs := string(out["docs.yaml"].Data)
	text := edit(docs)
	require.NotEqual(t, docs, text)
	out["docs.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return out
}

// dropped cuts the lines from the one that is first up to the next that is as
// much or less indented.
func dropped(first string) func(string) string {
	return func(docs string) string {
		var out []string
		cutting := false
		for line := range strings.Lines(docs) {
			text := strings.TrimLeft(line, " ")
			indent := len(line) - len(text)
			switch {
			case strings.HasPrefix(line, first):
				cutting = true
				continue
			case cutting && (strings.TrimSpace(text) == "" || indent > len(first)-len(strings.TrimLeft(first, " "))):
				continue
			}
			cutting = false
			out = append(out, line)
		}
		return strings.Join(out, "")
	}
}

// TestDocsGaps holds that what is missing is found in each revision that has
// it, with the place that it is made from.
func TestDocsGaps(t *testing.T) {
	for _, c := range []struct {
		first string
		want  []string
	}{
		{"  CodeHeaderMismatch:", []string{"2026-07-28: CodeHeaderMismatch"}},
		{"  HeaderMismatchError:", []string{"2026-07-28 #/$defs/HeaderMismatchError: HeaderMismatchError"}},
		{"  tasks/get:", []string{"2025-11-25 #/$defs/GetTaskRequest: tasks/get", "2026-07-28 #/$defs/GetTaskRequest: tasks/get"}},
		{"  ToolExecution:", []string{
			"2025-11-25 #/$defs/ToolExecution: ToolExecution",
			"2025-11-25 #/$defs/ToolExecution/properties/taskSupport: ToolExecution.taskSupport",
		}},
		{"  CompleteContext:", []string{
			"2025-06-18 #/definitions/CompleteRequest/properties/params/properties/context: CompleteContext",
			"2025-06-18 #/definitions/CompleteRequest/properties/params/properties/context/properties/arguments: CompleteContext.arguments",
			"2025-11-25 #/$defs/CompleteRequestParams/properties/context: CompleteContext",
			"2025-11-25 #/$defs/CompleteRequestParams/properties/context/properties/arguments: CompleteContext.arguments",
			"2026-07-28 #/$defs/CompleteRequestParams/properties/context: CompleteContext",
			"2026-07-28 #/$defs/CompleteRequestParams/properties/context/properties/arguments: CompleteContext.arguments",
		}},
		{"      toolUse:", []string{
			"2025-11-25 #/$defs/CreateMessageResult/properties/stopReason: StopReason.toolUse",
			"2026-07-28 #/$defs/CreateMessageResult/properties/stopReason: StopReason.toolUse",
		}},
		{"    text: CreatedAt is", nil}, // replaced below
	} {
		edit := dropped(c.first)
		if c.want == nil { // a member in a part of an allOf
			c.want = []string{
				"2025-11-25 #/$defs/Task/properties/createdAt: CancelTaskResult.createdAt",
				"2025-11-25 #/$defs/Task/properties/createdAt: GetTaskResult.createdAt",
				"2025-11-25 #/$defs/Task/properties/createdAt: Task.createdAt",
				"2025-11-25 #/$defs/Task/properties/createdAt: TaskStatusParams.createdAt",
				"2026-07-28 #/$defs/Task/properties/createdAt: CreateTaskResult.createdAt",
				"2026-07-28 #/$defs/Task/properties/createdAt: GetTaskResult.createdAt",
				"2026-07-28 #/$defs/Task/properties/createdAt: Task.createdAt",
				"2026-07-28 #/$defs/Task/properties/createdAt: TaskStatusParams.createdAt",
			}
			edit = dropped(`  - of: ["*.createdAt"]`)
		}
		gaps, err := build.Gaps(edited(t, spectest.Files(), edit))
		require.NoError(t, err, c.first)
		var got []string
		for _, g := range gaps {
			got = append(got, g.String())
		}
		require.Equal(t, c.want, got, c.first)
	}
	gaps, err := build.Gaps(edited(t, spectest.Files(), dropped("package:")))
	require.NoError(t, err)
	require.Len(t, gaps, 5)
	require.Equal(t, "2024-11-05: package", gaps[0].String())
}

// TestDocsUnused holds that a text which speaks of nothing is an error that
// says where it stands.
func TestDocsUnused(t *testing.T) {
	for _, c := range []struct{ old, put, want string }{
		{"  CodeHeaderMismatch:", "  CodeHeaderMistake: No.\n  CodeHeaderMismatch:", "nothing is called CodeHeaderMistake"},
		{"  ToolExecution:\n", "  ToolExecutive:\n    text: No.\n    members:\n      taskSupport: No.\n  ToolExecution:\n", "nothing is called ToolExecutive.taskSupport"},
		{"      taskSupport:", "      support: No.\n      taskSupport:", "nothing is called ToolExecution.support"},
		{"      toolUse:", "      tollUse: No.\n      toolUse:", "nothing is called StopReason.tollUse"},
		{"    text:\n      2025-06-18:", "    text:\n      2024-11-05: No.\n      2025-06-18:", "nothing is called ElicitParams in 2024-11-05"},
		{`["*.createdAt"]`, `["*.createdAt", "*.madeAt"]`, "no type has the member *.madeAt"},
		{`["*.createdAt"]`, `["*.createdAt", "Tool.name"]`, "no type has the member Tool.name, or each has a text of its own"},
		{`["*.createdAt"]`, `["*.createdAt", "Tool*.icons"]`, "want owner.member"},
	} {
		_, err := build.All(edited(t, spec.Files(), func(docs string) string { return strings.Replace(docs, c.old, c.put, 1) }))
		require.ErrorContains(t, err, c.want)
		require.Regexp(t, `^spec/docs\.yaml:[1-9][0-9]*: `, err.Error())
		var e *spec.DocsError
		require.ErrorAs(t, err, &e)
	}
}

// said is one text of a package.
type said struct {
	name  string // what docs.yaml calls it
	start string // what it has to begin with
	doc   []string
}

// models are the packages of all revisions; tests that only look at them share them.
var models = sync.OnceValues(func() ([]*ir.Package, error) { return build.All(spec.Files()) })

func look(t *testing.T) []*ir.Package {
	t.Helper()
	pkgs, err := models()
	require.NoError(t, err)
	return pkgs
}

// texts gives all texts of a package.
func texts(p *ir.Package) []said {
	out := []said{{"package", "Package mcp", p.Doc}}
	for _, t := range p.Types {
		out = append(out, said{t.Name, t.Name, t.Doc})
		for _, f := range t.Fields {
			if f.Const == "" && t.Kind == ir.Struct {
				out = append(out, said{t.Name + "." + f.JSON, f.Name, f.Doc})
			}
		}
		for _, v := range t.Values {
			out = append(out, said{t.Name + "." + v.Value, v.Name, v.Doc})
		}
	}
	for _, m := range p.Methods {
		out = append(out, said{m.Name, m.Go, m.Doc})
	}
	for _, e := range p.Errors {
		out = append(out, said{e.Name + "Error", "New" + e.Name + "Error", e.Doc})
	}
	for _, c := range p.Consts {
		out = append(out, said{c.Name, c.Name, c.Doc})
	}
	return out
}

// eachText calls f with each text of each revision.
func eachText(t *testing.T, f func(where string, s said, text string)) {
	t.Helper()
	n := 0
	for _, p := range look(t) {
		for _, s := range texts(p) {
			if len(s.doc) == 0 {
				continue // TestDocsComplete lists it
			}
			f(p.Revision+" "+s.name, s, strings.Join(s.doc, "\n"))
			n++
		}
	}
	require.Greater(t, n, 1000)
}

// TestDocsForm holds what every text looks like: it begins with the name that
// it is printed at, and is made of whole sentences.
func TestDocsForm(t *testing.T) {
	eachText(t, func(where string, s said, text string) {
		if !strings.HasPrefix(text, s.start+" ") {
			t.Errorf("%s: the text has to begin with %q: %s", where, s.start, text)
		}
		for _, l := range s.doc {
			if l != strings.Join(strings.Fields(l), " ") {
				t.Errorf("%s: more than one blank: %s", where, l)
			}
			if l != "" && !strings.HasSuffix(l, ".") && !strings.HasSuffix(l, ":") {
				t.Errorf("%s: a paragraph has to end in a full stop: %s", where, l)
			}
		}
		if strings.Contains(text, "..") || strings.Contains(text, "{revision}") {
			t.Errorf("%s: %s", where, text)
		}
	})
}

// little are words that say nothing by themselves.
var little = strings.Fields("a an the of for to in on at by with and or is are be it its that which this has have what who when nil none there " +
	"says not no one where as from holds value values")

// saying gives the words of a text that neither stand in its name nor are little.
func saying(name, text string) []string {
	var out []string
	parts := strings.ToLower(name)
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !slices.Contains(little, w) && !strings.Contains(parts, strings.TrimSuffix(w, "s")) && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// TestDocsSay holds that no text merely repeats the name of what it is about.
func TestDocsSay(t *testing.T) {
	require.Empty(t, saying("Tool.inputSchema", "InputSchema is the input schema of the tool."))
	require.Equal(t, []string{"length", "bytes"}, saying("Resource.size", "Size is the length in bytes."))
	eachText(t, func(where string, s said, text string) {
		text = strings.TrimPrefix(text, s.start)
		text, _, _ = strings.Cut(text, " The method is ")
		if len(saying(s.name, text)) < 2 {
			t.Errorf("%s: this says no more than the name: %s%s", where, s.start, text)
		}
	})
}

var units = regexp.MustCompile(`\b(bytes|milliseconds|number of (characters|tokens|values|items|suggestions))\b`)

// TestDocsUnits holds that the text of an integer names its unit or what it
// counts, that of a bounded number its bounds, and that of a list of bounded
// length that length.
func TestDocsUnits(t *testing.T) {
	n := 0
	eachField(t, func(where string, f *ir.Field, text string) {
		if (f.Type.Kind == ir.Int || f.Type.Kind == ir.NullInt) && f.JSON != "code" { // a name in numbers
			n++
			if !units.MatchString(text) {
				t.Errorf("%s: say what it counts: %s", where, text)
			}
		}
		if f.Type.Kind == ir.Float && f.Min != nil && f.Max != nil {
			n++
			if !regexp.MustCompile(fmt.Sprintf(`\bfrom %v,.* to %v,`, *f.Min, *f.Max)).MatchString(text) {
				t.Errorf("%s: say what its bounds mean: %s", where, text)
			}
		}
		if f.MaxItems != nil {
			n++
			if !strings.Contains(text, fmt.Sprintf("at most %d items", *f.MaxItems)) {
				t.Errorf("%s: say how long it may be: %s", where, text)
			}
		}
	})
	require.Greater(t, n, 30)
}

var (
	nothing = regexp.MustCompile(`\b[Nn]il\b`)
	zero    = regexp.MustCompile(`\b[Zz]ero\b`)
)

// TestDocsAbsence holds that the text of an optional member says what its
// absence means, with the value that it stands for where there is one.
func TestDocsAbsence(t *testing.T) {
	eachField(t, func(where string, f *ir.Field, text string) {
		if f.Required {
			return
		}
		absent := nothing
		if f.Type.Kind == ir.ID {
			absent = zero
		}
		if !absent.MatchString(text) {
			t.Errorf("%s: say what absence means: %s", where, text)
		}
		if v := strings.Trim(f.Implied, `"`); !strings.ContainsAny(v, "{:") && !strings.Contains(text, v) {
			t.Errorf("%s: say that absence means %s: %s", where, v, text)
		}
	})
}

// TestDocsBase64 holds that the text of base64 members says so.
func TestDocsBase64(t *testing.T) {
	eachField(t, func(where string, f *ir.Field, text string) {
		if f.Type.Kind == ir.Base64 {
			require.Contains(t, text, "base64", where)
		}
	})
}

func eachField(t *testing.T, f func(where string, field *ir.Field, text string)) {
	t.Helper()
	for _, p := range look(t) {
		for _, typ := range p.Types {
			for _, field := range typ.Fields {
				if field.Const == "" && typ.Kind == ir.Struct && len(field.Doc) > 0 {
					f(p.Revision+" "+typ.Name+"."+field.JSON, field, strings.Join(field.Doc, "\n"))
				}
			}
		}
	}
}

// TestDocsDeprecation holds that who deprecates says since when.
func TestDocsDeprecation(t *testing.T) {
	n := 0
	check := func(where, text string) {
		if text != "" {
			n++
			require.Regexp(t, `\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b`, text, where)
			require.True(t, strings.HasSuffix(text, "."), where)
		}
	}
	for _, p := range look(t) {
		for _, typ := range p.Types {
			check(typ.Name, typ.Deprec)
			for _, f := range typ.Fields {
				check(typ.Name+"."+f.JSON, f.Deprec)
			}
		}
		for _, m := range p.Methods {
			check(m.Name, m.Deprec)
		}
	}
	require.Greater(t, n, 20)
}

// TestSince holds that the first revision of each type, member, value and
// method is computed, and told where a text stands alone.
func TestSince(t *testing.T) {
	pkgs := look(t)
	d := pkgs[3]
	for _, c := range []struct{ name, member, want string }{
		{"Tool", "", "2024-11-05"}, {"Tool", "title", "2025-06-18"}, {"Tool", "name", ""}, {"Tool", "icons", "2025-11-25"},
		{"AudioContent", "", "2025-03-26"}, {"AudioContent", "_meta", "2025-06-18"}, {"AudioContent", "data", ""},
		{"StopReason", "toolUse", "2025-11-25"}, {"StopReason", "endTurn", ""},
		{"LegacyTitledEnumSchema", "", "2025-06-18"}, // under another name at first
		{"RequestMeta", "progressToken", ""},
	} {
		typ := d.Types[slices.IndexFunc(d.Types, func(t *ir.Type) bool { return t.Name == c.name })]
		got := typ.Since
		for _, f := range typ.Fields {
			if f.JSON == c.member {
				got = f.Since
			}
		}
		for _, v := range typ.Values {
			if v.Value == c.member {
				got = v.Since
				require.Equal(t, c.want != "", strings.HasSuffix(v.Doc[0], " New in revision "+c.want+"."))
			}
		}
		require.Equal(t, c.want, got, "%s.%s", c.name, c.member)
	}
	for _, m := range d.Methods {
		switch m.Name {
		case "tools/call":
			require.Equal(t, "2024-11-05", m.Since)
			require.True(t, strings.HasSuffix(m.Doc[0], " The method is tools/call."), m.Doc[0])
		case "elicitation/create":
			require.Equal(t, "2025-06-18", m.Since)
			require.True(t, strings.HasSuffix(m.Doc[0], " The method is elicitation/create. New in revision 2025-06-18."), m.Doc[0])
		}
	}
	for _, p := range pkgs {
		for _, typ := range p.Types {
			require.NotEmpty(t, typ.Since)
			require.LessOrEqual(t, typ.Since, p.Revision)
			for _, f := range typ.Fields {
				require.True(t, f.Since == "" || f.Since > typ.Since, "%s.%s", typ.Name, f.JSON)
			}
		}
	}
}

// TestPlaces holds that each type leads to a definition of its schema, and that
// each package knows where those are described.
func TestPlaces(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	for _, p := range look(t) {
		require.Contains(t, p.Place, "https://")
		require.Contains(t, p.Place, p.Revision)
		data, err := set.Schema(p.Revision)
		require.NoError(t, err)
		data, err = set.Extend(p.Revision, data)
		require.NoError(t, err)
		var file struct {
			Definitions map[string]any `json:"definitions"`
			Defs        map[string]any `json:"$defs"`
		}
		require.NoError(t, json.Unmarshal(data, &file))
		for _, typ := range p.Types {
			parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(typ.Schema, "#"), "/"), "/")
			name := parts[0]
			if len(parts) > 1 {
				name = parts[1]
			}
			require.True(t, file.Definitions[name] != nil || file.Defs[name] != nil, "%s %s: %s", p.Revision, typ.Name, typ.Schema)
		}
	}
	d, err := build.File("x", []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"A":{"type":"object","properties":{"b":{"type":"string"}}}}}`), "2030-01-02")
	require.NoError(t, err)
	require.Contains(t, d.Place, "/2030-01-02/", "a revision to come is described where the newest is")
}

// shingles are the runs of n words in a text.
func shingles(text string, n int) []string {
	w := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	var out []string
	for i := 0; i+n <= len(w); i++ {
		out = append(out, strings.Join(w[i:i+n], " "))
	}
	return out
}

// copied is how many words in a row may be those of an official description.
const copied = 8

// TestDocsOwnWords holds our texts apart from the official descriptions, where
// those are at hand: no more than a few words in a row are the same.
func TestDocsOwnWords(t *testing.T) {
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = "../../../shared"
	}
	if _, err := os.Stat(filepath.Join(shared, "spec")); err != nil {
		t.Skip("the official schema files are not at hand (set GOLDWIRE_SHARED)")
	}
	official := map[string]string{} // run of words: the description that it is from
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v["description"].(string); ok {
				for _, s := range shingles(text, copied+1) {
					official[s] = text
				}
			}
			for _, sub := range v {
				walk(sub)
			}
		case []any:
			for _, sub := range v {
				walk(sub)
			}
		}
	}
	for _, r := range spec.Revisions() {
		data, err := os.ReadFile(filepath.Join(shared, "spec", r, "schema.json"))
		require.NoError(t, err)
		var v any
		require.NoError(t, json.Unmarshal(data, &v))
		walk(v)
	}
	require.Greater(t, len(official), 1000)
	eachText(t, func(where string, s said, text string) {
		for _, run := range shingles(text, copied+1) {
			if official[run] != "" {
				t.Errorf("%s: %q is from an official description: %s", where, run, official[run])
			}
		}
	})
}
