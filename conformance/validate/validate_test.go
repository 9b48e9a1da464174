package validate

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
	"github.com/goldwire/goldwire/spec"
)

func TestEveryDefinitionCompiles(t *testing.T) {
	for _, rev := range spec.Revisions() {
		p, err := For(rev)
		require.NoError(t, err)
		for name := range p.known {
			_, err := p.schema(name)
			require.NoError(t, err)
		}
	}
}

func TestResultIsJudgedByMethodAndKind(t *testing.T) {
	tests := []struct{ name, rev, method, result, want string }{
		{"good", "2025-11-25", "tools/call", `{"content":[]}`, ""},
		{"no content", "2025-11-25", "tools/call", `{}`, "missing properties: 'content'"},
		{"task", "2025-11-25", "tools/call", `{"task":{"taskId":"1","status":"working","createdAt":"x","lastUpdatedAt":"x","ttl":null}}`, ""},
		{"union hides nothing", "2026-07-28", "tools/call", `{"resultType":"complete","content":5}`, "/content: expected array, but got number"},
		{"branch of the variant", "2025-11-25", "tools/call", `{"content":[{"type":"text","text":"a"},{"type":"image","data":"eA=="}]}`, "/content/1: missing properties: 'mimeType'"},
		{"input required", "2026-07-28", "tools/call", `{"resultType":"input_required","requestState":"x"}`, ""},
		{"unknown kind", "2026-07-28", "tools/call", `{"resultType":"dream"}`, ""},
		{"task by type", "2026-07-28", "tools/call", `{"resultType":"task","taskId":"1","status":"working","createdAt":"x","lastUpdatedAt":"x","ttlMs":null}`, ""},
		{"task of before", "2026-07-28", "tools/call", `{"resultType":"task","taskId":"1","status":"working","createdAt":"x","lastUpdatedAt":"x","ttl":null}`, "missing properties: 'ttlMs'"},
		{"no task by form", "2026-07-28", "tools/call", `{"resultType":"complete","task":{}}`, "missing properties: 'content'"},
		{"a task nobody asked for", "2026-07-28", "prompts/get", `{"resultType":"task"}`, ""},
		{"task that has ended", "2026-07-28", "tasks/get", `{"resultType":"complete","taskId":"1","status":"completed","createdAt":"x","lastUpdatedAt":"x","ttlMs":null,"result":{"content":[]}}`, ""},
		{"task without its result", "2026-07-28", "tasks/get", `{"resultType":"complete","taskId":"1","status":"completed","createdAt":"x","lastUpdatedAt":"x","ttlMs":null}`, "missing properties: 'result'"},
		{"acknowledgement", "2026-07-28", "tasks/cancel", `{"resultType":"complete"}`, ""},
		{"unknown method", "2025-11-25", "x/y", `{"a":1}`, ""},
		{"empty result", "2025-11-25", "ping", `{"_meta":5}`, "/_meta: expected object, but got number"},
		{"audio is later", "2024-11-05", "tools/call", `{"content":[{"type":"audio","data":"eA==","mimeType":"audio/wav"}]}`, "/content/0"},
		{"format is no matter", "2024-11-05", "resources/list", `{"resources":[{"name":"a","uri":"not absolute"}]}`, ""},
		{"fraction", "2026-07-28", "server/discover", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"experimental":{"x":{"ratio":0.5,"n":null}}},"ttlMs":0,"cacheScope":"public"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := For(tt.rev)
			require.NoError(t, err)
			err = p.Result(tt.method, wire.MustRaw(tt.result))
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var v *Violation
			require.ErrorAs(t, err, &v)
			require.Contains(t, err.Error(), tt.want)
			for range 20 {
				require.Equal(t, err.Error(), p.Result(tt.method, wire.MustRaw(tt.result)).Error(), "the message is the same every time")
			}
		})
	}
}

func TestMessage(t *testing.T) {
	p, err := For("2025-06-18")
	require.NoError(t, err)
	require.NoError(t, p.Message("notifications/progress", wire.MustRaw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`)))
	require.Error(t, p.Message("notifications/progress", wire.MustRaw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`)))
	require.NoError(t, p.Message("notifications/x", wire.MustRaw(`{}`)))
	require.True(t, p.Knows("ping"))
	require.False(t, p.Knows("server/discover"))

	p, err = For("2026-07-28")
	require.NoError(t, err)
	require.True(t, p.Knows("tasks/update"))
	require.False(t, p.Knows("tasks/list"))
	require.ErrorContains(t, p.Message("tasks/get", wire.MustRaw(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)), "missing properties: 'taskId'")
}

// The official examples of the newest revision are valid.
func TestOfficialExamples(t *testing.T) {
	shared := os.Getenv("GOLDWIRE_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	dirs, err := filepath.Glob(filepath.Join(shared, "spec", "2026-07-28", "examples", "*"))
	require.NoError(t, err)
	if len(dirs) == 0 {
		t.Skip("the official examples are not here: set GOLDWIRE_SHARED")
	}
	p, err := For("2026-07-28")
	require.NoError(t, err)
	n := 0
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			n++
			err = p.Definition(filepath.Base(dir), wire.Raw(text))
			if filepath.Base(file) == "read-resource-result-response.json" {
				// It lacks two required members and is only valid by the
				// unpatched union, whose last arm took any object.
				require.ErrorContains(t, err, "'ttlMs'")
				continue
			}
			require.NoError(t, err, file)
		}
	}
	require.Greater(t, n, 50)
}

func TestCompileGuards(t *testing.T) {
	bomb := `{"type":"object","$defs":{`
	for i := range 20 {
		ref := string(rune('a' + i + 1))
		bomb += `"` + string(rune('a'+i)) + `":{"allOf":[{"$ref":"#/$defs/` + ref + `"},{"$ref":"#/$defs/` + ref + `"}]},`
	}
	bomb += `"u":{}},"$ref":"#/$defs/a"}`
	tests := []struct {
		name, schema, instance string
		invalid, unsupported   bool
		refused                bool
		limit                  bool
	}{
		{name: "plain", schema: `{"type":"object","properties":{"a":{"type":"integer"}}}`, instance: `{"a":1}`},
		{name: "violated", schema: `{"type":"object","required":["a"]}`, instance: `{}`, refused: true},
		{name: "not valid", schema: `{"type":"objekt"}`, invalid: true},
		{name: "not a schema", schema: `5`, invalid: true},
		{name: "boolean", schema: `false`, instance: `1`, refused: true},
		{name: "file", schema: `{"$ref":"file:///etc/passwd"}`, unsupported: true},
		{name: "network", schema: `{"properties":{"a":{"$ref":"https://example.invalid/x.json"}}}`, unsupported: true},
		{name: "dialect", schema: `{"$schema":"https://example.invalid/dialect"}`, unsupported: true},
		{name: "urn", schema: `{"$id":"urn:uuid:85626792-9ee7-46bb-8fc8-4ba708cfdc1d","type":"object"}`, instance: `{}`},
		{name: "lookahead", schema: `{"type":"string","pattern":"^(?=a)a$"}`, instance: `"b"`},
		{name: "lookahead in draft 7", schema: `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string","pattern":"(?!x)","format":"email"}`, instance: `"b"`},
		{name: "doubling", schema: bomb, unsupported: true},
		{name: "deep", schema: strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100), unsupported: true},
		{name: "long", schema: `{"description":"` + strings.Repeat("x", 70_000) + `"}`, unsupported: true},
		{name: "wide", schema: `{"anyOf":[` + strings.Repeat(`{},`, 3_000) + `{}]}`, unsupported: true},
		{name: "huge exponent in the schema", schema: `{"minimum":1e1000001}`, unsupported: true},
		{name: "huge exponent in the value", schema: `{"type":"integer","minimum":3}`, instance: `1e1000001`, limit: true},
		{name: "recursive", schema: `{"properties":{"next":{"$ref":"#"}},"required":["v"]}`, instance: `{"v":1,"next":{}}`, refused: true},
		{name: "property called format", schema: `{"properties":{"format":{"type":"string"},"pattern":{"type":"string"}}}`, instance: `{"format":5}`, refused: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			began := time.Now()
			s, err := Compile(wire.Raw(tt.schema))
			require.Less(t, time.Since(began), 5*time.Second)
			var inv *InvalidError
			var uns *UnsupportedError
			require.Equal(t, tt.invalid, errors.As(err, &inv), "%v", err)
			require.Equal(t, tt.unsupported, errors.As(err, &uns), "%v", err)
			if err != nil {
				return
			}
			err = s.Validate(wire.MustRaw(tt.instance))
			var v *Violation
			require.Equal(t, tt.refused, errors.As(err, &v), "%v", err)
			require.Equal(t, tt.limit, errors.Is(err, ErrLimit), "%v", err)
			if !tt.refused && !tt.limit {
				require.NoError(t, err)
			}
		})
	}
}

func FuzzCompile(f *testing.F) {
	for _, s := range []string{`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, `{"$schema":"http://json-schema.org/draft-07/schema#","if":{"const":1}}`, `true`, `{"pattern":"("}`} {
		f.Add(s, `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := wire.ParseRaw([]byte(schema))
		if err != nil {
			return
		}
		v, err := wire.ParseRaw([]byte(value))
		if err != nil {
			return
		}
		if c, err := Compile(s); err == nil {
			_ = c.Validate(v)
		}
	})
}
