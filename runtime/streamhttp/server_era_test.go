package streamhttp_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

const (
	legacyVersion = "MCP-Protocol-Version: 2025-11-25"
	list          = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	modernList    = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
)

// shape is one shape of a request, and what the three kinds of server answer.
// A want is "status code", "status" for an answer without an error, and "-"
// for one that is not asked.
type shape struct {
	name    string
	method  string // "" is POST
	body    string
	headers []string
	session bool // the session of the dual and legacy server is named
	modern  string
	dual    string
	legacy  string
}

var shapes = []shape{
	{name: "1 header and meta agree on a supported version", body: modernList,
		headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "200", dual: "200", legacy: "400 -32600"},
	{name: "1 the same next to a session", body: modernList, session: true,
		headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "200", dual: "200", legacy: "400 -32600"},
	{name: "1 the same with a session that does not exist", body: modernList,
		headers: []string{modernVersion, "Mcp-Method: tools/list", "Mcp-Session-Id: nope", "Last-Event-ID: 1-1"}, modern: "200", dual: "200", legacy: "404 -32600"},
	{name: "2 no header, meta modern", body: modernList,
		headers: []string{"Mcp-Method: tools/list"}, modern: "400 -32020", dual: "400 -32020", legacy: "400 -32600"},
	{name: "3 header modern, no meta", body: list,
		headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "400 -32602", dual: "400 -32602", legacy: "400 -32600"},
	{name: "3 header modern, no params in meta", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{}}}`,
		headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "400 -32602", dual: "400 -32602", legacy: "400 -32600"},
	{name: "3 header modern, no capabilities in meta", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "400 -32602", dual: "400 -32602", legacy: "400 -32600"},
	{name: "3 header modern, initialize", body: initialize,
		headers: []string{modernVersion, "Mcp-Method: initialize"}, modern: "400", dual: "400", legacy: "200"},
	{name: "4 header and meta differ", body: modernList,
		headers: []string{legacyVersion, "Mcp-Method: tools/list"}, modern: "400 -32020", dual: "400 -32020", legacy: "400 -32600"},
	{name: "4 two headers", body: modernList,
		headers: []string{modernVersion, legacyVersion, "Mcp-Method: tools/list"}, modern: "400 -32020", dual: "400 -32020", legacy: "400 -32600"},
	{name: "5 a version of the future", body: strings.Replace(modernList, "2026-07-28", "2099-01-01", 1),
		headers: []string{"MCP-Protocol-Version: 2099-01-01", "Mcp-Method: tools/list"}, modern: "400 -32022", dual: "400 -32022", legacy: "400 -32600"},
	{name: "5 a version that never was", body: strings.Replace(modernList, "2026-07-28", "1900-01-01", 1),
		headers: []string{"MCP-Protocol-Version: 1900-01-01", "Mcp-Method: tools/list"}, modern: "400 -32022", dual: "400 -32022", legacy: "400 -32600"},
	{name: "6 a legacy version with a meta", body: strings.Replace(modernList, "2026-07-28", "2025-11-25", 1),
		headers: []string{legacyVersion, "Mcp-Method: tools/list"}, modern: "400 -32022", dual: "400 -32022", legacy: "400 -32600"},
	{name: "7 initialize", body: initialize, modern: "400 -32022", dual: "200", legacy: "200"},
	{name: "7 initialize with a legacy header", body: initialize,
		headers: []string{legacyVersion}, modern: "400", dual: "200", legacy: "200"},
	{name: "7 initialize that asks for the modern version", body: strings.Replace(initialize, "2025-11-25", "2026-07-28", 1), modern: "400 -32022", dual: "200", legacy: "200"},
	{name: "8 initialize with modern metadata", body: strings.Replace(initialize, `"params":{`, `"params":{`+meta+`,`, 1),
		headers: []string{modernVersion, "Mcp-Method: initialize"}, modern: "404 -32601", dual: "404 -32601", legacy: "200"},
	{name: "8 ping with modern metadata", body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + meta + `}}`,
		headers: []string{modernVersion, "Mcp-Method: ping"}, modern: "404 -32601", dual: "404 -32601", legacy: "400 -32600"},
	{name: "9 header legacy, session", body: list, session: true,
		headers: []string{legacyVersion}, modern: "400", dual: "200", legacy: "200"},
	{name: "9 header legacy, unknown session", body: list,
		headers: []string{legacyVersion, "Mcp-Session-Id: nope"}, modern: "400", dual: "404 -32600", legacy: "404 -32600"},
	{name: "9 header legacy, no session", body: list, headers: []string{legacyVersion}, modern: "400", dual: "400 -32600", legacy: "400 -32600"},
	{name: "10 neither header nor meta", body: list, modern: "400", dual: "400 -32600", legacy: "400 -32600"},
	{name: "10 neither header nor meta, session", body: list, session: true, modern: "400", dual: "200", legacy: "200"},
	{name: "10 a header that is no version, no meta", body: list, headers: []string{"MCP-Protocol-Version: nonsense"}, modern: "400 -32602", dual: "400 -32602", legacy: "400 -32600"},
	{name: "11 modern notification", body: `{"jsonrpc":"2.0","method":"notifications/x"}`,
		headers: []string{modernVersion}, modern: "202", dual: "202", legacy: "400 -32600"},
	{name: "12 posted answer", body: `{"jsonrpc":"2.0","id":1,"result":{}}`,
		headers: []string{modernVersion}, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "12 posted answer, no header", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "12 posted answer, session", body: `{"jsonrpc":"2.0","id":1,"result":{}}`, session: true,
		headers: []string{legacyVersion}, modern: "400 -32600", dual: "202", legacy: "202"},
	{name: "13 array", body: "[" + modernList + "]", headers: []string{modernVersion, "Mcp-Method: tools/list"}, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "13 array, no header", body: "[" + list + "]", modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "13 array, session of 2025-11-25", body: "[" + list + "]", session: true, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "13 empty array", body: "[]", session: true, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "14 GET with a modern header", method: "GET", session: true, headers: []string{modernVersion}, modern: "405 -32600", dual: "405 -32600", legacy: "405 -32600"},
	{name: "14 DELETE with a modern header", method: "DELETE", session: true, headers: []string{modernVersion}, modern: "405 -32600", dual: "405 -32600", legacy: "405 -32600"},
	{name: "15 GET without session", method: "GET", modern: "405 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "15 GET of an unknown session", method: "GET", headers: []string{legacyVersion, "Mcp-Session-Id: nope"}, modern: "405 -32600", dual: "404 -32600", legacy: "404 -32600"},
	{name: "15 DELETE without session", method: "DELETE", headers: []string{legacyVersion}, modern: "405 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "15 DELETE", method: "DELETE", session: true, headers: []string{legacyVersion}, modern: "405 -32600", dual: "204", legacy: "204"},
	{name: "PUT", method: "PUT", body: list, modern: "405 -32600", dual: "405 -32600", legacy: "405 -32600"},
	{name: "no JSON", body: `{"jsonrpc":`, modern: "400 -32700", dual: "400 -32700", legacy: "400 -32700"},
	{name: "no JSON, modern header", body: `{"jsonrpc":`, headers: []string{modernVersion}, modern: "400 -32700", dual: "400 -32700", legacy: "400 -32700"},
	{name: "no JSON, session", body: `{"jsonrpc":`, session: true, modern: "400 -32700", dual: "400 -32700", legacy: "400 -32700"},
	{name: "nothing", body: ``, modern: "400 -32700", dual: "400 -32700", legacy: "400 -32700"},
	{name: "no object", body: `7`, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "no envelope", body: `{}`, modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "wrong jsonrpc", body: strings.Replace(list, `"2.0"`, `"1.0"`, 1), modern: "400 -32600", dual: "400 -32600", legacy: "400 -32600"},
	{name: "a notification that is none", body: `{"jsonrpc":"1.0","method":"notifications/x"}`, headers: []string{modernVersion}, modern: "400", dual: "400", legacy: "400"},
	{name: "unknown method", body: strings.ReplaceAll(modernList, "tools/list", "tools/x"),
		headers: []string{modernVersion, "Mcp-Method: tools/x"}, modern: "404 -32601", dual: "404 -32601", legacy: "400 -32600"},
	{name: "unknown method, session", body: `{"jsonrpc":"2.0","id":1,"method":"tools/x"}`, session: true, modern: "400", dual: "200 -32601", legacy: "200 -32601"},
}

// TestShapes holds what a server of each kind does with each shape of a
// request (2026-07-28: basic/versioning, basic/transports/streamable-http).
func TestShapes(t *testing.T) {
	l, m := servers(nil)
	other := draft(unseen, jsonrpc.ServerSide, m)
	for _, kind := range []struct {
		name   string
		binder jsonrpc.Binder
		want   func(s shape) string
	}{
		{"modern, two", compat.Revisions(m, other), func(s shape) string { return s.modern }},
		{"dual, two", compat.Revisions(l, m, other), func(s shape) string { return s.dual }},
		{"modern", m, func(s shape) string { return s.modern }},
		{"dual", compat.Revisions(l, m), func(s shape) string { return s.dual }},
		{"legacy", l, func(s shape) string { return s.legacy }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			site := serve(t, kind.binder)
			for _, s := range shapes {
				t.Run(s.name, func(t *testing.T) {
					site.t = t
					headers := s.headers
					if s.session && !strings.HasPrefix(kind.name, "modern") {
						headers = append([]string{site.begin()[0]}, headers...)
					}
					method := s.method
					if method == "" {
						method = "POST"
					}
					r := site.do(method, s.body, headers...)
					status, code, hasCode := strings.Cut(kind.want(s), " ")
					require.Equal(t, status, r.Status[:3], r.body)
					if hasCode {
						require.Equal(t, code, jsonInt(r.code()), r.body)
					} else if status < "300" {
						require.Zero(t, r.code(), r.body)
					}
					if r.body != "" {
						require.Equal(t, "application/json", r.Header.Get("Content-Type"))
						compact(t, r.body)
					}
					if s.modern == "200" && kind.name != "legacy" {
						require.Empty(t, r.Header.Get("Mcp-Session-Id"))
					}
				})
			}
		})
	}
}

// TestVersionsAreNamed holds that whoever asks for a version that is not
// served hears which ones are.
func TestVersionsAreNamed(t *testing.T) {
	_, m := servers(nil)
	r := serve(t, m).post(initialize)
	require.Contains(t, r.body, `"supported":["2026-07-28"]`)
	require.Contains(t, r.body, `"requested":"2025-11-25"`)

	r = serve(t, both()).post(strings.Replace(initialize, "2025-11-25", "2026-07-28", 1))
	require.Contains(t, r.body, `"protocolVersion":"2025-11-25"`)
}
