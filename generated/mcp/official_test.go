package mcp_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// upstream is the folder with the specification's own data. It is no part of
// this repository: without it the tests that need it are skipped.
func upstream(t *testing.T, parts ...string) string {
	t.Helper()
	dir := os.Getenv("GOLDWIRE_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	dir = filepath.Join(append([]string{dir, "spec"}, parts...)...)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the specification's own data is not here (GOLDWIRE_SHARED): %v", err)
	}
	return dir
}

// wrongExamples break the schema that they illustrate: they lack ttlMs and
// cacheScope, which is only noticed when the result type is known.
var wrongExamples = map[string]bool{"ReadResourceResultResponse/read-resource-result-response.json": true}

// TestOfficialExamples reads and writes every official example value: strictly,
// by the type of its definition, and without changing it.
func TestOfficialExamples(t *testing.T) {
	dir := upstream(t, v20260728.Revision, "examples")
	byDefinition := map[string]entry{}
	eachRevision(t, func(_ *testing.T, m model) {
		if m.Revision != v20260728.Revision {
			return
		}
		for _, x := range m.Types {
			if e, ok := types[m.Revision][x.Name]; ok {
				byDefinition[x.Schema] = e
			}
		}
	})
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.json"))
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	for _, file := range files {
		definition := filepath.Base(filepath.Dir(file))
		name := definition + "/" + filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			if e, ok := byDefinition[definition]; ok {
				e.same(t, string(text))
				return
			}
			f := jsonrpc.Frame{Data: text}
			switch {
			case strings.HasSuffix(definition, "ResultResponse"):
				q := requestOf(t, strings.TrimSuffix(definition, "ResultResponse"), wire.Raw(text).Get("id"))
				m, err := q.DecodeResponse(f)
				require.NoError(t, err)
				if wrongExamples[name] {
					require.NotEqual(t, wire.Raw(text).Get("result").Get("ttlMs"), wire.Raw(m.AppendJSON(nil)).Get("result").Get("ttlMs"))
					return
				}
				requireEqual(t, string(text), m.AppendJSON(nil))
			case strings.HasSuffix(definition, "Error"):
				e := new(jsonrpc.Error)
				if inner := wire.Raw(text).Get("error"); inner != nil {
					text = inner
				}
				require.NoError(t, wire.Decode(text, wire.Options{}, e))
				requireEqual(t, string(text), e.AppendJSON(nil))
			case definition == "PaginatedRequestParams":
				types[v20260728.Revision]["ListToolsParams"].same(t, string(text))
			default:
				m, err := v20260728.Decode(f)
				require.NoError(t, err)
				require.NotContains(t, []string{"*mcp.UnknownRequest", "*mcp.UnknownNotification", "*mcp.Response"}, typeName(m))
				requireEqual(t, string(text), m.AppendJSON(nil))
			}
		})
	}
}

// requestOf makes the request whose answer an example is.
func requestOf(t *testing.T, base string, id wire.Raw) v20260728.Request {
	t.Helper()
	for _, m := range v20260728.Methods {
		if m.Definition == base+"Request" {
			q, err := v20260728.Decode(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":` + id.String() + `,"method":"` + m.Name + `","params":` + emptyParams(m.Name) + `}`)})
			require.NoError(t, err)
			return q.(v20260728.Request)
		}
	}
	t.Fatalf("no method has the definition %sRequest", base)
	return nil
}

func emptyParams(method string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}`
	switch method {
	case "tools/call", "prompts/get":
		return `{"name":"",` + meta + `}`
	case "resources/read":
		return `{"uri":"",` + meta + `}`
	case "completion/complete":
		return `{"ref":{"type":"ref/prompt","name":""},"argument":{"name":"","value":""},` + meta + `}`
	case "subscriptions/listen":
		return `{"notifications":{},` + meta + `}`
	}
	return `{` + meta + `}`
}

// ofExtension says whether an extension brought a method.
func ofExtension(revision, method string) bool {
	pkgs, err := models()
	if err != nil {
		return false
	}
	for _, p := range pkgs {
		for _, m := range p.Methods {
			if p.Revision == revision && m.Name == method {
				return m.Extension != ""
			}
		}
	}
	return false
}

// TestMethodTables compares the tables with the specification's facts.
func TestMethodTables(t *testing.T) {
	file := upstream(t, "methods.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	raw, err := wire.ParseRaw(data)
	require.NoError(t, err)
	for rev := range raw.Get("revisions").Elems() {
		name, _ := rev.Get("revision").Str()
		table := map[string]jsonrpc.Method{}
		for _, m := range methodTables[name] {
			if !ofExtension(name, m.Name) {
				table[m.Name] = m
			}
		}
		n := 0
		for list, notification := range map[string]bool{"requests": false, "notifications": true} {
			for q := range rev.Get(list).Elems() {
				n++
				method, _ := q.Get("method").Str()
				m, ok := table[method]
				require.True(t, ok, "%s: %s", name, method)
				require.Equal(t, notification, m.Notification, method)
				definition, _ := q.Get("definition").Str()
				require.Equal(t, definition, m.Definition)
				direction, _ := q.Get("direction").Str()
				require.Equal(t, direction != "server->client", m.FromClient, "%s: %s", name, method)
				require.Equal(t, direction != "client->server", m.FromServer, "%s: %s", name, method)
				required, _ := q.Get("paramsRequired").Bool()
				require.Equal(t, required, m.ParamsRequired, "%s: %s", name, method)
				paginated, _ := q.Get("paginated").Bool()
				require.Equal(t, paginated, m.Paginated, method)
				via, _ := q.Get("via").Str()
				require.Equal(t, strings.HasPrefix(via, "inputRequests"), m.Embedded, method)
			}
		}
		require.Len(t, table, n, name)
	}
}

// TestRevisions holds that each package says its own revision.
func TestRevisions(t *testing.T) {
	require.Equal(t, "2024-11-05", v20241105.Revision)
	require.Equal(t, "2025-03-26", v20250326.Revision)
	require.Equal(t, "2025-06-18", v20250618.Revision)
	require.Equal(t, "2025-11-25", v20251125.Revision)
	require.Equal(t, "2026-07-28", v20260728.Revision)
}
