package spec_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/spec"
)

var known = []string{"2024-11-05", "2025-03-26", "2025-06-18"}

func parseDocs(t *testing.T, text string) *spec.Docs {
	t.Helper()
	d, err := spec.ParseDocs("docs.yaml", []byte(text), known)
	require.NoError(t, err)
	return d
}

const sample = `# A comment.
place:
  to 2024-11-05: https://example.com/{revision}
  from 2025-03-26: https://example.com/{revision}#{anchor}
package: >-
  Package mcp is {revision},
  and more.

  It has two paragraphs:
  - and

  - items
shared:
  - of: ["*.meta", "*Params.meta", "Other.name"]
    text: Meta is for many.
  - of: ["CallParams.meta"]
    text:
      2025-03-26: Meta is for CallParams.
docs:
  Tool:
    text: Tool is "quoted" and 'so on'.
    members:
      name: Name is one.
      $schema: Schema is another.
      a.b/c: C has a prefix.
      meta:
        from 2025-06-18: Meta is the tool's own.
  Role:
    text:
      2024-11-05 to 2025-03-26: Role is old.
      2025-06-18: Role is new.
    values:
      user: RoleUser is human.
  tools/call: CallTool calls.
`

// TestDocsText holds what is found for whom, and in which revision.
func TestDocsText(t *testing.T) {
	d := parseDocs(t, sample)
	for _, c := range []struct {
		revision, name, member string
		want                   []string
	}{
		{known[0], "Tool", "", []string{`Tool is "quoted" and 'so on'.`}},
		{known[0], "Tool", "name", []string{"Name is one."}},
		{known[0], "Tool", "$schema", []string{"Schema is another."}},
		{known[0], "Tool", "a.b/c", []string{"C has a prefix."}},
		{known[1], "Tool", "meta", []string{"Meta is for many."}},
		{known[2], "Tool", "meta", []string{"Meta is the tool's own."}},
		{known[1], "Role", "", []string{"Role is old."}},
		{known[2], "Role", "", []string{"Role is new."}},
		{known[2], "Role", "user", []string{"RoleUser is human."}},
		{known[1], "CallParams", "meta", []string{"Meta is for CallParams."}},
		{known[2], "CallParams", "meta", []string{"Meta is for many."}},
		{known[2], "Other", "name", []string{"Meta is for many."}},
		{known[2], "Another", "name", nil},
		{known[2], "Tool", "user", nil},
		{known[2], "Nothing", "", nil},
		{known[2], "tools/call", "", []string{"CallTool calls."}},
	} {
		require.Equal(t, c.want, d.Text(c.revision, c.name, c.member), "%s %s.%s", c.revision, c.name, c.member)
	}
	require.Equal(t, []string{"Package mcp is 2025-03-26, and more.", "", "It has two paragraphs: - and", "- items"}, d.Package(known[1]))
	require.Equal(t, "https://example.com/2025-06-18#{anchor}", d.Place(known[2]))
	require.Equal(t, "https://example.com/2024-11-05", d.Place(known[0]))
	require.NoError(t, d.Unused())
}

// TestDocsUnusedOnce holds that a text is named once and a used one not at all.
func TestDocsUnusedOnce(t *testing.T) {
	d := parseDocs(t, "shared:\n  - of: [\"A.x\", \"B.x\"]\n    text:\n      to 2025-03-26: Old.\n      2025-06-18: New.\ndocs:\n  C: C.\n")
	require.NotNil(t, d.Text(known[0], "A", "x"))
	require.NotNil(t, d.Text(known[0], "B", "x"))
	require.EqualError(t, d.Unused(), "docs.yaml:5: nothing is called A.x in 2025-06-18\ndocs.yaml:7: nothing is called C")
	require.NotNil(t, d.Text(known[2], "A", "x"))
	require.NotNil(t, d.Text(known[2], "C", ""))
	require.NoError(t, d.Unused())
}

// TestDocsErrors holds that a file that says something unclear is refused with
// the line.
func TestDocsErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"text: A.", `docs.yaml:1: unknown key "text"`},
		{"- a", "docs.yaml:1: want a mapping"},
		{"docs: A.", "docs.yaml:1: want a mapping"},
		{"docs:\n  A: A.\n  A: B.", ""}, // the parser has its own words
		{"docs:\n  A:\n    text: A.\n    more: B.", `docs.yaml:4: unknown key "more": want text, members or values`},
		{"docs:\n  A:\n    members:\n      x: X.\n    values:\n      x: X.", `docs.yaml:6: "x" is both a member and a value`},
		{"docs:\n  A: 1", "docs.yaml:2: want a text"},
		{"docs:\n  A: true", "docs.yaml:2: want a text"},
		{"docs:\n  A:", "docs.yaml:2: want a text"},
		{"docs:\n  A: ''", "docs.yaml:2: the text is empty"},
		{"docs:\n  A: [x]", "docs.yaml:2: want a text"},
		{"docs:\n  A:\n    text:\n      since 2025-03-26: A.", `docs.yaml:4: "since 2025-03-26": want a revision`},
		{"docs:\n  A:\n    text:\n      2025-03-27: A.", `docs.yaml:4: revision "2025-03-27" is not known`},
		{"docs:\n  A:\n    text:\n      2025-03-26 to 2024-11-05: A.", "want a revision"},
		{"docs:\n  A:\n    text:\n      to 2025-03-26: A.\n      from 2025-03-26: B.", "docs.yaml:5: there is another text for 2025-03-26 in line 4"},
		{"shared:\n  a: b", "docs.yaml:2: want a list"},
		{"shared:\n  - of: [\"*.a\"]", "docs.yaml:2: of or text is missing"},
		{"shared:\n  - text: A.", "docs.yaml:2: of or text is missing"},
		{"shared:\n  - of: a\n    text: A.", "docs.yaml:2: want a list"},
		{"shared:\n  - of: [1]\n    text: A.", "docs.yaml:2: want a string"},
		{"shared:\n  - of: [a]\n    text: A.", `docs.yaml:2: "a": want owner.member`},
		{"shared:\n  - of: [\"A*.a\"]\n    text: A.", "want owner.member"},
		{"shared:\n  - of: [\"*.a\", \"*.a\"]\n    text: A.", `docs.yaml:2: "*.a" comes twice`},
		{"shared:\n  - of: [\"*.a\"]\n    when: A.", `docs.yaml:3: unknown key "when"`},
		{"docs:\n  A: A.\n---\ndocs:\n  B: B.", "more than one document"},
		{"docs: {", ""},
	} {
		_, err := spec.ParseDocs("docs.yaml", []byte(c.text), known)
		require.ErrorContains(t, err, c.want, "%q", c.text)
		require.ErrorContains(t, err, "docs.yaml:", "%q", c.text)
		if c.want != "" {
			var e *spec.DocsError
			require.ErrorAs(t, err, &e, "%q", c.text)
		}
	}
}

// TestDocsPrefixes holds that the beginning of a file never does worse than fail.
func TestDocsPrefixes(t *testing.T) {
	for i := range sample {
		d, err := spec.ParseDocs("docs.yaml", []byte(sample[:i]), known)
		if err == nil {
			d.Text(known[0], "Tool", "name")
			_ = d.Unused()
		}
	}
}

// TestDocsAbsent holds that a folder may have no texts.
func TestDocsAbsent(t *testing.T) {
	set, err := spec.Open(fstest.MapFS{"sources.json": {Data: []byte("[]")}, "common.json": {Data: []byte("{}")}})
	require.NoError(t, err)
	d, err := set.Docs()
	require.NoError(t, err)
	require.Nil(t, d)
	require.Nil(t, d.Text(known[0], "Tool", ""))
	require.Nil(t, d.Package(known[0]))
	require.Empty(t, d.Place(known[0]))
	require.NoError(t, d.Unused())
	d = parseDocs(t, "# nothing\n")
	require.Nil(t, d.Text(known[0], "Tool", ""))
	require.NoError(t, d.Unused())
}

// TestDocsFile holds that the embedded texts can be read, that what was asked
// for in one reading is nobody else's concern, and that no line is too wide to
// be read.
func TestDocsFile(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	d, err := set.Docs()
	require.NoError(t, err)
	require.NotNil(t, d.Text(spec.Latest(), "Tool", "inputSchema"))
	require.ErrorContains(t, d.Unused(), "nothing is called Tool\n")
	require.NotContains(t, d.Unused().Error(), "nothing is called Tool.inputSchema from 2026-07-28")
	again, err := set.Docs()
	require.NoError(t, err)
	require.ErrorContains(t, again.Unused(), "nothing is called Tool.inputSchema from 2026-07-28")

	data, err := fs.ReadFile(spec.Files(), "docs.yaml")
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		if !strings.Contains(line, "https://") {
			require.LessOrEqual(t, len([]rune(line)), 103, line)
		}
	}
}

// TestDocsUntil holds that texts of later revisions may stand in a file that
// says so, and only there.
func TestDocsUntil(t *testing.T) {
	const texts = "docs:\n  A:\n    text:\n      to 2025-06-18: Old.\n      from 2099-01-01: New.\n  B: B.\n"
	_, err := spec.ParseDocs("docs.yaml", []byte(texts), known)
	require.ErrorContains(t, err, `revision "2099-01-01" is not known`)
	d, err := spec.ParseDocs("docs.yaml", []byte("until: \"2025-06-18\"\n"+texts), known)
	require.NoError(t, err)
	require.Equal(t, []string{"Old."}, d.Text(known[2], "A", ""))
	require.NoError(t, d.Unused())
	_, err = spec.ParseDocs("docs.yaml", []byte("until: \"2025-06-18\"\n"+strings.Replace(texts, "to 2025-06-18", "to 2025-06-17", 1)), known)
	require.ErrorContains(t, err, `revision "2025-06-17" is not known`)
	for _, c := range []struct{ text, want string }{
		{"docs:\n  B: B.\nuntil: \"2025-06-18\"\n", "docs.yaml:3: until has to come first"},
		{"until: []\n", "docs.yaml:1: want a revision"},
	} {
		_, err := spec.ParseDocs("docs.yaml", []byte(c.text), known)
		require.EqualError(t, err, c.want)
	}
}
