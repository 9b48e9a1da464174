package mcp_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
	"github.com/goldwire/goldwire/spec"
)

var update = flag.Bool("update", false, "draft the examples in testdata/examples that are missing, and write the goldens of conversions anew")

// message is any message of any revision.
type message = wire.Appender

// requester is any request of any revision.
type requester func(f jsonrpc.Frame) (message, error)

// wholeDecoder reads a whole message; of a request it gives the reader of its
// answer too. The generated decoders are by revision.
type wholeDecoder func(text []byte) (message, requester, error)

func whole[M, A message, Q any](decode func(jsonrpc.Frame) (M, error), answer func(Q, jsonrpc.Frame) (A, error)) wholeDecoder {
	return func(text []byte) (message, requester, error) {
		m, err := decode(jsonrpc.Frame{Data: text})
		if err != nil {
			return nil, nil, err
		}
		if q, ok := any(m).(Q); ok {
			return m, func(f jsonrpc.Frame) (message, error) {
				a, err := answer(q, f)
				if err != nil {
					return nil, err
				}
				return a, nil
			}, nil
		}
		return m, nil, nil
	}
}

// examplesDir holds an example of our own for each type and each definition of
// a revision, by its Go name, or by the schema's where it has none in Go.
func examplesDir(revision string) string {
	return filepath.Join("..", "..", "testdata", "examples", revision)
}

// exampleNames are the types of a revision, and the definitions of its schema
// that no type stands for.
func exampleNames(t *testing.T, m model) []string {
	t.Helper()
	var names []string
	covered := map[string]bool{}
	for _, x := range m.Types {
		if x.Kind != ir.Interface {
			names = append(names, x.Name)
			covered[x.Schema] = true
		}
	}
	for name := range definitions(t, m.Revision) {
		if !covered[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// definitions gives the definitions of a revision's schema, errata applied.
func definitions(t testing.TB, revision string) map[string]any {
	t.Helper()
	text, err := spec.Patched(revision)
	require.NoError(t, err)
	var doc struct {
		Defs map[string]any `json:"$defs"`
		Old  map[string]any `json:"definitions"`
	}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	require.NoError(t, d.Decode(&doc))
	if doc.Defs == nil {
		return doc.Old
	}
	return doc.Defs
}

// ownExample reads the example of a type or definition.
func ownExample(t *testing.T, revision, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesDir(revision), name+".json"))
	require.NoError(t, err, "draft it by: go test ./generated/mcp -run TestOwnExamples -update")
	return strings.TrimSpace(string(text))
}

// TestOwnExamples reads and writes every example: strictly, by the type or
// message that its name says, without changing it; and holds that it is valid
// by the schema, that none is missing and that none is left over.
func TestOwnExamples(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		names := exampleNames(t, m)
		if *update {
			draftMissing(t, m, names)
		}
		p, err := validate.For(m.Revision)
		require.NoError(t, err)
		for _, name := range names {
			text := ownExample(t, m.Revision, name)
			readAs(t, m, name, text)
			for _, def := range []string{name, m.schemaOf(name)} {
				if p.Has(def) {
					require.NoError(t, p.Definition(def, compact(t, text)), "%s as %s", name, def)
				}
			}
		}
		files, err := os.ReadDir(examplesDir(m.Revision))
		require.NoError(t, err)
		for _, f := range files {
			require.Contains(t, names, strings.TrimSuffix(f.Name(), ".json"), "of nothing that there is")
		}
	})
}

func (m model) schemaOf(name string) string {
	if x := m.byName[name]; x != nil {
		return x.Schema
	}
	return name
}

func compact(t *testing.T, text string) wire.Raw {
	t.Helper()
	r, err := wire.ParseRaw([]byte(text))
	require.NoError(t, err)
	return r
}

// readAs reads and writes text as the type or definition of that name.
func readAs(t *testing.T, m model, name, text string) {
	t.Helper()
	e, isType := types[m.Revision][name]
	switch q := m.answered(name); {
	case isType:
		v := e.same(t, text)
		require.NoError(t, v.Validate(), name)
		require.NotContains(t, typeName(v), "Unknown", name)
	case m.byName[name] != nil && m.byName[name].Kind == ir.Alias:
		types[m.Revision][m.byName[name].Target].same(t, text)
	case m.byName[name] != nil && m.byName[name].Kind == ir.Enum:
		var known []string
		for _, v := range m.byName[name].Values {
			known = append(known, string(wire.Quote(v.Value)))
		}
		require.Contains(t, known, text, name)
	case m.method(name) != nil:
		v, _, err := decoders[m.Revision]([]byte(text))
		require.NoError(t, err, name)
		require.Equal(t, "*mcp."+name, typeName(v))
		requireEqual(t, text, v.AppendJSON(nil))
	case q != nil:
		ask, err := m.draft(q.Definition)
		require.NoError(t, err)
		_, answer, err := decoders[m.Revision]([]byte(ask))
		require.NoError(t, err, name)
		v, err := answer(jsonrpc.Frame{Data: []byte(text)})
		require.NoError(t, err, name)
		requireEqual(t, text, v.AppendJSON(nil))
	case m.standIn(name) != "":
		readAs(t, m, m.standIn(name), text)
	default:
		readPlain(t, m, name, text)
	}
}

// readPlain reads what is no type of the packages: parts of JSON-RPC, and
// values that stay raw.
func readPlain(t *testing.T, m model, name, text string) {
	t.Helper()
	raw := compact(t, text)
	switch {
	case raw.Kind() == wire.KindArray && strings.HasPrefix(name, "JSONRPCBatch"):
		for one := range raw.Elems() {
			readPlain(t, m, "JSONRPCMessage", string(one))
		}
	case name == "RequestId" || name == "ProgressToken":
		var id jsonrpc.ID
		require.NoError(t, wire.Decode([]byte(text), wire.Options{}, &id))
		require.Equal(t, text, id.String())
	case raw.Get("jsonrpc") != nil:
		v, _, err := decoders[m.Revision]([]byte(text))
		require.NoError(t, err, name)
		requireEqual(t, text, v.AppendJSON(nil))
	case raw.Get("code") != nil:
		var e jsonrpc.Error
		require.NoError(t, wire.Decode([]byte(text), wire.Options{}, &e))
		requireEqual(t, text, e.AppendJSON(nil))
	default:
		require.Contains(t, []string{"ClientResult", "EmptyResult", "Result", "Cursor", "JSONValue", "JSONArray", "JSONObject", "MetaObject"}, name, "how to read this?")
		requireEqual(t, text, wire.AppendRaw(nil, raw))
	}
}

// draftMissing writes a first draft of each example that is not there.
func draftMissing(t *testing.T, m model, names []string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(examplesDir(m.Revision), 0o755))
	for _, name := range names {
		file := filepath.Join(examplesDir(m.Revision), name+".json")
		if _, err := os.Stat(file); err == nil {
			continue
		}
		text, err := m.draft(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		t.Log("drafted", file)
	}
}
