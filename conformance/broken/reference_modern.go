package broken

import (
	"bytes"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// What follows was written from the requirements, before the checks of them
// were looked at: any check that covers the requirement is the right one.

const (
	toolsList     = "tools/list"
	toolsCall     = "tools/call"
	promptsList   = "prompts/list"
	promptsGet    = "prompts/get"
	resourcesList = "resources/list"
	resourcesRead = "resources/read"
	templatesList = "resources/templates/list"
	completes     = "completion/complete"
	acknowledged  = "notifications/subscriptions/acknowledged"

	metaOfResult = "result>_meta>"
)

// any is every request.
var anything = method("")

// tool is calls of tools.
func tool(names ...string) about { return method(toolsCall, names...) }

// unnamed is requests that name nothing that there is.
func unnamed(m Message) bool {
	return m.Method == toolsCall || m.Method == promptsGet || m.Method == resourcesRead
}

// modernFaults are named by the requirement that they break, and what they do.
var modernFaults = map[string]*Wire{
	"base-patterns-all-supported, no subscriptions": refused(method(listen), -32601),

	"jsonrpc-version-member, other version":   results(method(promptsList), set("jsonrpc", `"2.0.0"`)),
	"jsonrpc-version-member, number":          failures(unnamed, set("jsonrpc", `2.0`)),
	"jsonrpc-version-member, none":            notes(acknowledged, cut("jsonrpc")),
	"jsonrpc-single-object-frames, list":      spelt(method(resourcesList), func(l string) string { return "[" + l + "]" }),
	"jsonrpc-utf8, latin 1":                   spelt(method(promptsList), func(l string) string { return strings.Replace(l, "Greets", "Gr\xfc\xdfe", 1) }),
	"jsonrpc-utf8, overlong":                  spelt(tool("test_simple_text"), func(l string) string { return strings.Replace(l, `"text":"`, "\"text\":\"\xc0\xaf", 1) }),
	"jsonrpc-result-id-echo, text":            spelt(anything, func(l string) string { return idAsText(l) }),
	"jsonrpc-result-id-echo, number":          {Output: idAsNumber},
	"jsonrpc-result-id-echo, none":            results(method(promptsList), cut("id")),
	"jsonrpc-result-id-echo, null":            results(method(resourcesList), set("id", "null")),
	"jsonrpc-result-member, data":             results(method(templatesList), named("result", "data")),
	"jsonrpc-result-xor-error, both":          results(method(promptsList), set("error", `{"code":0,"message":"ok"}`)),
	"jsonrpc-result-xor-error, null error":    results(method(resourcesList), set("error", `null`)),
	"jsonrpc-result-xor-error, null result":   failures(unnamed, set("result", `null`)),
	"jsonrpc-result-xor-error, neither":       results(method(templatesList), cut("result")),
	"jsonrpc-result-is-object, list":          results(method(completes), set("result", `[]`)),
	"jsonrpc-result-is-object, null":          results(method(promptsList), set("result", `null`)),
	"jsonrpc-result-is-object, text":          results(tool("test_simple_text"), set("result", `"ok"`)),
	"jsonrpc-one-response-per-request, twice": twiceAnswered(method(promptsList)),
	"jsonrpc-one-response-per-request, none":  deaf(`"resources/templates/list"`),
	"jsonrpc-one-response-per-request, and error": {Output: func(w *Link, asked Message, l string) string {
		if asked.Method == resourcesList {
			w.Line(l)
			return failure(asked, -32603, "")
		}
		return l
	}},
	"result-type-present, templates":    results(method(templatesList), cut("result>resultType")),
	"result-type-present, completion":   results(method(completes), cut("result>resultType")),
	"result-type-present, call":         results(tool("echo", "test_simple_text"), cut("result>resultType")),
	"result-type-present, null":         results(method(promptsList), set("result>resultType", "null")),
	"result-type-complete-on-final":     results(tool("test_simple_text"), set("result>resultType", `"input_required"`)),
	"result-type-known-set, spelling":   results(method(promptsGet), set("result>resultType", `"Complete"`)),
	"result-type-known-set, other":      results(method(resourcesRead), set("result>resultType", `"final"`)),
	"jsonrpc-error-id-echo, none":       failures(tool("goldwire_no_such_tool"), cut("id")),
	"jsonrpc-error-id-echo, null":       failures(method(resourcesRead), set("id", "null")),
	"jsonrpc-error-id-echo, other":      failures(method(promptsGet), set("id", `"0"`)),
	"jsonrpc-error-members, no message": failures(unnamed, cut("error>message")),
	"jsonrpc-error-members, no code":    failures(unnamed, cut("error>code")),
	"jsonrpc-error-members, number":     failures(unnamed, set("error>message", "404")),
	"jsonrpc-error-members, text":       failures(method(completes), set("error", `"no such reference"`)),
	"jsonrpc-error-code-integer, text":  failures(unnamed, set("error>code", `"-32602"`)),
	"jsonrpc-error-code-integer, part":  failures(method(completes), set("error>code", `-32602.5`)),
	"jsonrpc-notification-no-id":        notes(acknowledged, set("id", "1")),
	"jsonrpc-notification-no-response, result": {Input: func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && v.Get("id") == nil && v.Get("method") != nil {
			w.Line(`{"jsonrpc":"2.0","result":{"resultType":"complete"}}`)
		}
		return l
	}},
	"jsonrpc-notification-no-response, error": {Input: func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && v.Get("id") == nil && v.Get("method") != nil && !bytes.Contains(l, []byte("cancelled")) {
			w.Line(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"no such notification"}}`)
		}
		return l
	}},
	"jsonrpc-notification-method-prefix, client's": before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
	"jsonrpc-notification-method-prefix, bare":     before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"message","params":{"level":"info","data":"x"}}`),
	"jsonrpc-server-never-requests, ping":          before(method(toolsList), `{"jsonrpc":"2.0","id":"keep-alive","method":"ping"}`),
	"jsonrpc-server-never-requests, sampling":      before(tool("test_simple_text"), `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`),
	"stdio-server-no-requests, roots":              before(method(promptsList), `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`),
	"jsonrpc-parse-error, silence":                 unread("", notJSON),
	"jsonrpc-parse-error, other code":              unread(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"no"}}`, notJSON),
	"jsonrpc-parse-error, end":                     {Input: endAt(notJSON)},
	"jsonrpc-invalid-request, silence":             unread("", noRequest),
	"jsonrpc-invalid-request, other code":          unread(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, noRequest),
	"jsonrpc-method-not-found, other code":         failures(method("goldwire/no_such_method"), set("error>code", "-32602")),
	"jsonrpc-method-not-found, result":             given(method("goldwire/no_such_method"), `{"resultType":"complete","_meta":{"`+keyInfo+`":{"name":"x","version":"1"}}}`),
	"jsonrpc-method-not-found, silence":            deaf("goldwire/no_such_method"),
	"jsonrpc-capability-gated-method, completion":  results(method(discover), cut("result>capabilities>completions")),
	"jsonrpc-capability-gated-method, prompts":     results(method(discover), cut("result>capabilities>prompts")),
	"tools-call-malformed-error, no name":          heard(func(m Message) bool { return m.Method == toolsCall && m.Name() == "" }, set("params>name", `"test_simple_text"`)),
	"jsonrpc-invalid-params, other code":           failures(func(m Message) bool { return m.Method == promptsGet && m.Name() == "" }, set("error>code", "-32603")),
	"completion-missing-argument-error":            heard(func(m Message) bool { return m.Method == completes && m.Params.Get("argument") == nil }, set("params>argument", `{"name":"name","value":"a"}`)),

	"error-mcp-range-undefined, tool":     failures(method(toolsCall), set("error>code", "-32050")),
	"error-mcp-range-undefined, cursor":   failures(func(m Message) bool { return m.Params.Get("cursor") != nil }, set("error>code", "-32099")),
	"error-mcp-codes-meaning, header":     failures(func(m Message) bool { return m.Params.Get("cursor") != nil }, set("error>code", "-32020")),
	"error-mcp-codes-meaning, version":    failures(tool("goldwire_no_such_tool"), set("error>code", "-32022")),
	"error-mcp-codes-meaning, capability": failures(method(promptsGet), set("error>code", "-32021")),
	"error-32002-not-emitted":             failures(method(resourcesRead), set("error>code", "-32002")),
	"error-32042-not-emitted":             refused(tool("test_simple_text"), -32042),

	"stateless-no-prior-discover": {Input: func(w *Link, l []byte) []byte {
		if bytes.Contains(l, []byte(discover)) {
			w.State[discover] = true
		}
		if v, err := wire.ParseRaw(l); err == nil && w.State[discover] == nil && v.Get("id") != nil && v.Get("params").Get("_meta").Get(keyVersion) != nil {
			w.Line(failure(parse(v), -32600, ""))
			return nil
		}
		return l
	}},
	"stateless-meta-not-remembered": {Input: func(w *Link, l []byte) []byte {
		v, err := wire.ParseRaw(l)
		if err != nil || v.Get("id") == nil || v.Get("method") == nil {
			return l
		}
		meta := v.Get("params").Get("_meta")
		if meta.Get(keyVersion) != nil {
			w.State["meta"] = string(meta)
		} else if m, ok := w.State["meta"].(string); ok && w.Revision == "" {
			if v.Get("params") == nil {
				v, _ = set("params", `{}`)(v)
			}
			v, _ = set("params>_meta", m)(v)
			return v
		}
		return l
	}},
	"stateless-version-per-request": {Input: func(w *Link, l []byte) []byte {
		v, err := wire.ParseRaw(l)
		if version := v.Get("params").Get("_meta").Get(keyVersion); err == nil && version.Kind() == wire.KindString {
			if string(version) == `"2026-07-28"` {
				w.State["spoken"] = true
			} else if w.State["spoken"] != nil {
				v, _ = set("params>_meta>"+keyVersion, `"2026-07-28"`)(v)
				return v
			}
		}
		return l
	}},
	"stateless-listen-does-not-block": {Input: func(w *Link, l []byte) []byte {
		switch {
		case bytes.Contains(l, []byte("notifications/cancelled")):
			delete(w.State, listen)
		case w.State[listen] != nil:
			return nil
		}
		return l
	}, Output: func(w *Link, _ Message, l string) string {
		if strings.Contains(l, acknowledged) {
			w.State[listen] = true
		}
		return l
	}},

	"meta-missing-rejected, served":              heard(func(m Message) bool { return m.ID != nil && m.Meta == nil && m.Method != "initialize" }, set("params", `{"_meta":`+someMeta+`}`)),
	"meta-missing-rejected, other code":          failures(func(m Message) bool { return m.Meta == nil }, set("error>code", "-32600")),
	"meta-missing-version-rejected, served":      heard(halfMeta(keyVersion), set("params>_meta>"+keyVersion, `"2026-07-28"`)),
	"meta-missing-version-rejected, other code":  failures(halfMeta(keyVersion), set("error>code", "-32603")),
	"meta-missing-capabilities-rejected, served": heard(halfMeta(keyCaps), set("params>_meta>"+keyCaps, `{}`)),
	"meta-rejected-on-every-method, read":        heard(func(m Message) bool { return m.Method == resourcesRead && halfMeta(keyCaps)(m) }, set("params>_meta>"+keyCaps, `{}`)),
	"meta-rejected-on-every-method, completion":  heard(func(m Message) bool { return m.Method == completes && halfMeta(keyCaps)(m) }, set("params>_meta>"+keyCaps, `{}`)),
	"meta-rejected-on-every-method, templates":   heard(func(m Message) bool { return m.Method == templatesList && halfMeta(keyCaps)(m) }, set("params>_meta>"+keyCaps, `{}`)),
	"meta-missing-version-rejected, header code": failures(halfMeta(keyVersion), set("error>code", "-32020")),
	"meta-wrong-type-rejected, capabilities":     heard(func(m Message) bool { c := m.Meta.Get(keyCaps); return c != nil && c.Kind() != wire.KindObject }, set("params>_meta>"+keyCaps, `{}`)),
	"meta-wrong-type-rejected, version":          heard(func(m Message) bool { c := m.Meta.Get(keyVersion); return c != nil && c.Kind() != wire.KindString }, set("params>_meta>"+keyVersion, `"2026-07-28"`)),
	"meta-client-info-not-required": refused(func(m Message) bool {
		return m.Meta.Get(keyVersion) != nil && m.Meta.Get(keyCaps) != nil && m.Meta.Get(keyClient) == nil
	}, -32602),
	"meta-missing-capability-data, list":  failures(anything, capabilityData(`["sampling"]`)),
	"meta-missing-capability-data, none":  failures(anything, capabilityData(`null`)),
	"meta-server-info-shape, no version":  results(method(promptsList), cut(metaOfResult+keyInfo+">version")),
	"meta-server-info-shape, text":        results(method(toolsList), set(metaOfResult+keyInfo, `"goldwire 1.0"`)),
	"meta-prefix-syntax, digit":           results(method(promptsList), set(metaOfResult+"1st.example/x", "1")),
	"meta-prefix-syntax, empty label":     results(method(toolsList), set(metaOfResult+"com..example/x", "1")),
	"meta-prefix-syntax, hyphen":          results(method(resourcesList), set(metaOfResult+"com.example-/x", "1")),
	"meta-name-syntax, underscore":        results(method(promptsList), set(metaOfResult+"com.example/_x", "1")),
	"meta-name-syntax, blank":             results(method(templatesList), set(metaOfResult+"my key", "1")),
	"meta-reserved-prefix":                results(method(promptsList), set(metaOfResult+"com.mcp/x", "1")),
	"meta-reserved-prefix, long":          results(method(toolsList), set(metaOfResult+"org.modelcontextprotocol.api/x", "1")),
	"meta-trace-context-format, capitals": results(method(promptsList), set(metaOfResult+"traceparent", `"00-0AF7651916CD43DD8448EB211C80319C-00F067AA0BA902B7-01"`)),
	"meta-trace-context-format, state":    results(method(promptsList), set(metaOfResult+"traceparent", `"00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"`), set(metaOfResult+"tracestate", `"no equals sign"`)),
	"meta-baggage-format":                 results(method(promptsList), set(metaOfResult+"baggage", `"no equals sign"`)),

	"version-unsupported-rejected, served": heard(func(m Message) bool {
		v := m.Meta.Get(keyVersion)
		return v.Kind() == wire.KindString && string(v) != `"2026-07-28"`
	}, set("params>_meta>"+keyVersion, `"2026-07-28"`)),
	"version-unsupported-rejected, future":      heard(func(m Message) bool { v, _ := m.Meta.Get(keyVersion).Str(); return v > "2026-07-28" }, set("params>_meta>"+keyVersion, `"2026-07-28"`)),
	"version-unsupported-code, invalid params":  failures(anything, versionError("error>code", "-32602")),
	"version-unsupported-code, server error":    failures(anything, versionError("error>code", "-32000")),
	"version-unsupported-supported-list, empty": failures(anything, versionError("error>data>supported", "[]")),
	"version-unsupported-supported-list, none":  failures(anything, versionError("error>data>supported", "")),
	"version-unsupported-supported-list, text":  failures(anything, versionError("error>data>supported", `"2026-07-28"`)),
	"version-unsupported-supported-list, lost":  failures(anything, versionError("error>data", "")),
	"version-unsupported-requested-echo, none":  failures(anything, versionError("error>data>requested", "")),
	"version-unsupported-requested-echo, other": failures(anything, versionError("error>data>requested", `"2026-07-28"`)),
	"version-supported-matches-discover, more":  failures(anything, versionError("error>data>supported", `["2026-07-28","2027-01-01"]`)),
	"version-unsupported-on-known-old, served":  heard(func(m Message) bool { v, _ := m.Meta.Get(keyVersion).Str(); return v == "2025-11-25" }, set("params>_meta>"+keyVersion, `"2026-07-28"`)),
	"version-unsupported-on-known-old, other": refused(func(m Message) bool {
		v, _ := m.Meta.Get(keyVersion).Str()
		return v == "2025-11-25" || v == "2025-06-18"
	}, -32600),
	"version-advertised-is-served":         results(method(discover), set("result>supportedVersions", `["2026-07-28","2026-09-01"]`)),
	"discover-supported-versions, text":    results(method(discover), set("result>supportedVersions", `"2026-07-28"`)),
	"discover-supported-versions, none":    results(method(discover), cut("result>supportedVersions")),
	"discover-supported-versions, other":   results(method(discover), set("result>supportedVersions", `["2025-11-25"]`)),
	"discover-capabilities, list":          results(method(discover), set("result>capabilities", `["tools","prompts"]`)),
	"discover-result-schema, instructions": results(method(discover), set("result>instructions", `["a","b"]`)),
	"discover-result-schema, flag":         results(method(discover), set("result>capabilities>tools>listChanged", `"yes"`)),
	"discover-result-schema, true":         results(method(discover), set("result>capabilities>prompts", `true`)),
	"ext-identifier-syntax, no prefix":     results(method(discover), set("result>capabilities>extensions>tasks", `{}`)),
	"ext-identifier-syntax, digit":         results(method(discover), set("result>capabilities>extensions>1x.example/a", `{}`)),
	"ext-settings-object, true":            results(method(discover), set("result>capabilities>extensions>com.example/a", `true`)),
	"ext-settings-object, version":         results(method(discover), set("result>capabilities>extensions>com.example/a", `"1.0"`)),
	"ext-fallback, task unasked":           given(tool("test_simple_text"), `{"resultType":"task","taskId":"0b9d1a1f6f0e4a0c","status":"working","createdAt":"2026-07-28T00:00:00Z","lastUpdatedAt":"2026-07-28T00:00:00Z","ttlMs":1000,"pollIntervalMs":10,"_meta":{"`+keyInfo+`":{"name":"x","version":"1"}}}`),

	"era-removed-methods-not-found, ping":      given(modern("ping"), `{"resultType":"complete"}`),
	"era-removed-methods-not-found, level":     given(modern("logging/setLevel"), `{"resultType":"complete"}`),
	"era-removed-methods-not-found, subscribe": given(modern("resources/subscribe"), `{"resultType":"complete"}`),
	"era-removed-methods-not-found, code":      failures(modern("ping"), set("error>code", "-32600")),
	"era-legacy-version-not-in-initialize-result": results(func(m Message) bool {
		v, _ := m.Params.Get("protocolVersion").Str()
		return m.Method == "initialize" && v > "2026"
	}, set("result>protocolVersion", `"2026-07-28"`)),

	"stdio-no-embedded-newline, lists":    spelt(method(promptsList), func(l string) string { return strings.Replace(l, `,"result"`, ",\n  \"result\"", 1) }),
	"stdio-no-embedded-newline, carriage": spelt(method(resourcesList), func(l string) string { return strings.Replace(l, `,"result"`, "\r\n,\"result\"", 1) }),
	"stdio-newline-terminated, late":      {Output: lateNewline},
	"stdio-stdout-only-mcp, banner":       {Start: func(w *Link) { w.Line("goldwire-everything 1.0.0 listening on stdio") }},
	"stdio-stdout-only-mcp, debug":        before(method(toolsList), "DEBUG tools/list"),
	"stdio-stdout-only-mcp, escape":       before(tool("test_simple_text"), "\x1b[32minfo\x1b[0m called"),
	"stdio-stdout-only-mcp, farewell":     {End: func(w *Link) { w.Line("bye") }},
	"jsonrpc-version-member, log line":    before(method(promptsList), `{"level":"info","msg":"listing"}`),
	"stdio-stdout-only-mcp, after": {Output: func(_ *Link, asked Message, l string) string {
		if asked.Method == resourcesList {
			return l + " // 5 resources"
		}
		return l
	}},
	"stdio-no-unsolicited-output, start": {Start: func(w *Link) {
		w.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"up"}}`)
	}},
	"progress-token-echo, idle":                    after(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"idle","progress":1}}`),
	"jsonrpc-one-response-per-request, one of two": {Input: oneAtATime},
	"stdio-cancel-silences-request": {Input: func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && bytes.Contains(l, []byte("notifications/cancelled")) {
			if asked := w.asked[string(v.Get("params").Get("requestId"))]; asked.Method == listen {
				w.Line(success(asked, `{"resultType":"complete","_meta":{"`+keySub+`":`+string(asked.ID)+`}}`))
			}
		}
		return l
	}},

	"xhdr-value-token, blank":          results(method(toolsList), header("x-mcp-header", `"My Region"`)),
	"xhdr-value-token, empty":          results(method(toolsList), header("x-mcp-header", `""`)),
	"xhdr-value-token, number":         results(method(toolsList), header("x-mcp-header", `5`)),
	"xhdr-value-unique":                results(method(toolsList), set("result>tools>*>inputSchema>properties>zone", `{"type":"string","x-mcp-header":"region"}`)),
	"xhdr-primitive-only, number":      results(method(toolsList), header("type", `"number"`)),
	"xhdr-primitive-only, object":      results(method(toolsList), header("type", `"object"`)),
	"xhdr-statically-reachable, items": results(tooled("test_x_mcp_header"), set("result>tools>*>inputSchema>properties>all", `{"type":"array","items":{"type":"string","x-mcp-header":"All"}}`)),
	"xhdr-integer-safe-range":          results(method(toolsList), set("result>tools>*>inputSchema>properties>big", `{"type":"integer","minimum":0,"maximum":18446744073709551615,"x-mcp-header":"Big"}`)),

	"cancel-server-only-for-listen, call":    before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`),
	"cancel-server-only-for-listen, unknown": before(method(promptsList), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nothing"}}`),
	"cancel-race-handled": {Input: func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && bytes.Contains(l, []byte("notifications/cancelled")) {
			if _, known := w.asked[string(v.Get("params").Get("requestId"))]; known && w.Count("cancelled") > 3 {
				w.Exit(1)
				return nil
			}
		}
		return l
	}},

	"sub-only-requested-types": afterAck(func(id string) string { return tagged("notifications/prompts/list_changed", id, "") }, `"promptsListChanged":true`),
	"sub-ack-first, change": {Output: func(w *Link, _ Message, l string) string {
		if strings.Contains(l, acknowledged) && strings.Contains(l, `"toolsListChanged":true`) {
			w.Line(tagged("notifications/tools/list_changed", string(wire.Raw(l).Get("params").Get("_meta").Get(keySub)), ""))
		}
		return l
	}},
	"sub-ack-first, never": {Output: func(_ *Link, _ Message, l string) string {
		if strings.Contains(l, acknowledged) {
			return ""
		}
		return l
	}},
	"sub-id-equals-request-id, text":          notes(acknowledged, at("params>_meta>"+keySub, func(_ string, v wire.Raw) string { return string(otherType(v)) }, false)),
	"sub-id-equals-request-id, own":           notes(acknowledged, set("params>_meta>"+keySub, `"sub-1"`)),
	"sub-ack-within-request":                  notes(acknowledged, set("params>notifications", `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`)),
	"sub-ack-within-request, resources":       notes(acknowledged, set("params>notifications>resourceSubscriptions", `["note:///hello","note:///other"]`)),
	"sub-ack-omits-unsupported":               results(method(discover), cut("result>capabilities>prompts>listChanged")),
	"sub-ack-schema, list":                    notes(acknowledged, set("params>notifications", `["toolsListChanged"]`)),
	"sub-ack-schema, none":                    notes(acknowledged, cut("params>notifications")),
	"sub-ack-schema, text":                    notes(acknowledged, at("params>notifications>*", func(string, wire.Raw) string { return `"on"` }, false)),
	"sub-false-is-not-subscribed":             heard(method(listen), at("params>notifications>*", func(_ string, v wire.Raw) string { return strings.Replace(string(v), "false", "true", 1) }, false)),
	"sub-filter-required, served":             heard(func(m Message) bool { return m.Method == listen && m.Params.Get("notifications") == nil }, set("params>notifications", `{}`)),
	"sub-notifications-tagged, ack":           notes(acknowledged, cut("params>_meta")),
	"sub-notifications-tagged, updates":       notes("notifications/tools/list_changed", cut("params>_meta>"+keySub)),
	"sub-change-notifications-only-on-listen": before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
	"sub-no-request-scoped-on-listen":         afterAck(func(id string) string { return tagged("notifications/message", id, `,"level":"info","data":"hi"`) }, ""),
	"sub-multiple-concurrent, refused": {Input: func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && bytes.Contains(l, []byte(listen)) && v.Get("params").Get("notifications").Get("toolsListChanged") != nil && w.Count(listen) > 1 {
			w.Line(failure(parse(v), -32603, ""))
			return nil
		}
		return l
	}},
	"sub-stays-open": {Output: func(w *Link, _ Message, l string) string {
		if strings.Contains(l, acknowledged) {
			w.Line(l)
			id := string(wire.Raw(l).Get("params").Get("_meta").Get(keySub))
			return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"` + keySub + `":` + id + `,"` + keyInfo + `":{"name":"x","version":"1"}}}}`
		}
		return l
	}},
	"sub-graceful-result-subscription-id, none":  results(method(listen), cut(metaOfResult+keySub)),
	"sub-graceful-result-subscription-id, other": results(method(listen), set(metaOfResult+keySub, `"x"`)),
	"sub-graceful-result-subscription-id, type":  results(method(listen), set("result>resultType", `"closed"`)),
	"sub-updated-only-watched": afterAck(func(id string) string {
		return tagged("notifications/resources/updated", id, `,"uri":"note:///not-watched"`)
	}, `"resourceSubscriptions"`),

	"progress-strictly-increases, same": notes("notifications/progress", set("params>progress", "1")),
	"progress-strictly-increases, down": notes("notifications/progress", at("params>progress", func(_ string, v wire.Raw) string { return "-" + string(v) }, false)),
	"progress-token-echo, other":        notes("notifications/progress", set("params>progressToken", `"x"`)),
	"progress-token-echo, unasked": {Output: func(w *Link, asked Message, l string) string {
		if asked.Method == toolsCall && asked.Meta.Get("progressToken") == nil {
			w.Line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(asked.ID) + `,"progress":1}}`)
		}
		return l
	}},
	"progress-stops-at-completion": {Output: func(w *Link, asked Message, l string) string {
		if t := asked.Meta.Get("progressToken"); t != nil {
			w.Line(l)
			return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(t) + `,"progress":1000}}`
		}
		return l
	}},

	"mrtr-only-supported-methods":   given(func(m Message) bool { return m.Method == promptsList && m.Meta.Get(keyCaps).Get("elicitation") != nil }, question),
	"mrtr-has-requests-or-state":    results(questioned, cut("result>inputRequests"), cut("result>requestState")),
	"mrtr-request-kinds, method":    results(questioned, set("result>inputRequests>*>method", `"tools/call"`)),
	"mrtr-request-kinds, no params": results(questioned, cut("result>inputRequests>*>params")),
	"mrtr-request-kinds, list":      results(questioned, set("result>inputRequests", `[]`)),
	"mrtr-state-string":             results(questioned, set("result>requestState", `{"round":1}`)),
	"mrtr-respects-capabilities": {Output: func(w *Link, asked Message, l string) string {
		if asked.Meta.Get(keyCaps).Get("elicitation") == nil && strings.Contains(l, "-32021") {
			return success(asked, question)
		}
		return l
	}},
	"mrtr-no-cache-hints": results(questioned, set("result>ttlMs", "1000"), set("result>cacheScope", `"private"`)),
	"mrtr-state-integrity": {Input: func(w *Link, l []byte) []byte {
		v, err := wire.ParseRaw(l)
		if s := v.Get("params").Get("requestState"); err == nil && s != nil {
			if known, ok := w.State["state "+parse(v).Name()].(string); ok {
				v, _ = set("params>requestState", known)(v)
				return v
			}
		}
		return l
	}, Output: func(w *Link, asked Message, l string) string {
		if s := wire.Raw(l).Get("result").Get("requestState"); s != nil {
			w.State["state "+asked.Name()] = string(s)
		}
		return l
	}},

	"cache-hints-discover":                 results(method(discover), cut("result>cacheScope")),
	"cache-hints-tools-list":               results(method(toolsList), cut("result>ttlMs")),
	"cache-hints-prompts-list":             results(method(promptsList), cut("result>cacheScope")),
	"cache-hints-resources-list":           results(method(resourcesList), cut("result>ttlMs"), cut("result>cacheScope")),
	"cache-hints-resources-templates-list": results(method(templatesList), cut("result>ttlMs")),
	"cache-hints-resources-read":           results(method(resourcesRead), cut("result>cacheScope")),
	"cache-ttl-non-negative, negative":     results(method(toolsList), set("result>ttlMs", "-1")),
	"cache-ttl-non-negative, text":         results(method(resourcesRead), set("result>ttlMs", `"60000"`)),
	"cache-ttl-non-negative, part":         results(method(discover), set("result>ttlMs", `0.5`)),
	"cache-scope-values, other":            results(method(templatesList), set("result>cacheScope", `"global"`)),
	"cache-scope-values, capital":          results(method(discover), set("result>cacheScope", `"Private"`)),
	"page-next-cursor-string, null":        results(method(toolsList), set("result>nextCursor", "null")),
	"page-next-cursor-string, number":      results(method(promptsList), set("result>nextCursor", "2")),

	"tools-capability-declared":      results(method(discover), cut("result>capabilities>tools")),
	"tools-list-answered, error":     refused(method(toolsList), -32603),
	"tools-list-answered, not found": refused(method(toolsList), -32601),
	"tools-list-connection-independent": {Output: func(w *Link, asked Message, l string) string {
		if asked.Method == toolsList && strings.Contains(l, `"result"`) && w.Count(toolsList)%2 == 0 {
			return strings.Replace(l, `"name":"greet"`, `"name":"greet2"`, 1)
		}
		return l
	}},
	"tools-name-present, none":           results(method(toolsList), cut("result>tools>0>name")),
	"tools-name-present, number":         results(method(toolsList), set("result>tools>1>name", "5")),
	"tools-input-schema-object, null":    results(method(toolsList), set("result>tools>0>inputSchema", "null")),
	"tools-input-schema-object, none":    results(method(toolsList), cut("result>tools>2>inputSchema")),
	"tools-input-schema-object, type":    results(method(toolsList), set("result>tools>0>inputSchema>type", `"string"`)),
	"tools-input-schema-object, no type": results(method(toolsList), cut("result>tools>*>inputSchema>type")),
	"tools-input-schema-valid, type":     results(method(toolsList), set("result>tools>*>inputSchema>properties>message", `{"type":"strnig"}`)),
	"tools-input-schema-valid, required": results(method(toolsList), set("result>tools>0>inputSchema>required", `"message"`)),
	"tools-input-schema-valid, pattern":  results(method(toolsList), set("result>tools>0>inputSchema>properties", `{"a":{"type":"string","minLength":-1}}`)),
	"tools-output-schema-valid":          results(method(toolsList), set("result>tools>*>outputSchema>properties", `{"sum":{"type":"number","maximum":"10"}}`)),
	"tools-call-unknown-error, result":   given(tool("goldwire_no_such_tool"), `{"content":[{"type":"text","text":"no such tool"}],"isError":true,"resultType":"complete","_meta":{"`+keyInfo+`":{"name":"x","version":"1"}}}`),
	"tools-call-unknown-error, code":     failures(tool("goldwire_no_such_tool"), set("error>code", "-32601")),
	"tools-call-malformed-error, name":   heard(func(m Message) bool { return m.Method == toolsCall && m.Params.Get("name").Kind() == wire.KindNumber }, set("params>name", `"test_simple_text"`)),
	"tools-call-malformed-error, list": heard(func(m Message) bool {
		a := m.Params.Get("arguments")
		return m.Method == toolsCall && a != nil && a.Kind() != wire.KindObject
	}, set("params>arguments", `{}`)),
	"tools-call-invalid-arguments": {Output: func(_ *Link, asked Message, l string) string {
		if asked.Method == toolsCall && strings.Contains(l, `"isError":true`) && asked.Name() != "test_error_handling" && asked.Name() != "fail" {
			return success(asked, `{"content":[{"type":"text","text":"done"}],"resultType":"complete","_meta":{"`+keyInfo+`":{"name":"x","version":"1"}}}`)
		}
		return l
	}},
	"tools-call-result-content, none":    results(tool("test_simple_text"), cut("result>content")),
	"tools-call-result-content, text":    results(tool("test_simple_text"), set("result>content", `"This is a text."`)),
	"tools-call-result-content, type":    results(tool("test_simple_text"), set("result>content>0>type", `"markdown"`)),
	"tools-call-result-content, untyped": results(tool("test_multiple_content_types"), cut("result>content>*>type")),
	"tools-content-base64, url":          results(tool("test_image_content"), set("result>content>0>data", `"data:image/png;base64,iVBORw0KGgo="`)),
	"tools-content-base64, audio":        results(tool("test_audio_content"), cut("result>content>0>mimeType")),
	"tools-content-base64, length":       results(tool("test_image_content"), set("result>content>0>data", `"abcde"`)),
	"tools-structured-conforms":          results(tool("add"), set("result>structuredContent", `{"total":"3"}`)),
	"tools-structured-present":           results(tool("add"), cut("result>structuredContent")),

	"res-capability-declared":                         results(method(discover), cut("result>capabilities>resources")),
	"res-list-answered":                               refused(method(resourcesList), -32603),
	"prompts-list-answered":                           refused(method(promptsList), -32601),
	"prompts-capability-declared":                     results(method(discover), cut("result>capabilities>prompts")),
	"jsonrpc-capability-gated-method, no completions": results(method(discover), cut("result>capabilities>completions")),
}

const someMeta = `{"` + keyVersion + `":"2026-07-28","` + keyCaps + `":{}}`

// questioned is what may be answered by a question. Answers that are none lack the
// members that are changed.
func questioned(m Message) bool {
	return unnamed(m) && m.Params.Get("inputResponses") == nil && strings.Contains(m.Name(), "input_required")
}

// halfMeta is requests whose metadata lacks one of the two keys that it needs.
func halfMeta(key string) about {
	return func(m Message) bool {
		return m.ID != nil && m.Meta.Get(key) == nil && (m.Meta.Get(keyVersion) != nil || m.Meta.Get(keyCaps) != nil)
	}
}

func modern(name string) about {
	return func(m Message) bool { return m.Method == name && m.Meta.Get(keyVersion) != nil }
}

// tooled is requests for the list of tools; the name says of which tool the fault
// tells.
func tooled(string) about { return method(toolsList) }

// versionError edits errors of unsupported versions; value "" leaves a member
// out.
func versionError(path, value string) edit { return codeError("-32022", path, value) }

func capabilityData(value string) edit {
	return codeError("-32021", "error>data>requiredCapabilities", value)
}

func codeError(code, path, value string) edit {
	return func(m wire.Raw) (wire.Raw, bool) {
		if string(m.Get("error").Get("code")) != code {
			return m, false
		}
		if value == "" {
			return cut(path)(m)
		}
		return set(path, value)(m)
	}
}

// header changes a member of the annotated argument.
func header(member, value string) edit {
	return set("result>tools>*>inputSchema>properties>region>"+member, value)
}

// afterAck says something behind an acknowledgement that does not hold a text.
func afterAck(say func(id string) string, unless string) *Wire {
	return &Wire{Output: func(w *Link, _ Message, l string) string {
		if strings.Contains(l, acknowledged) && (unless == "" || !strings.Contains(l, unless)) && !strings.Contains(l, `"notifications":{}`) {
			w.Line(l)
			return say(string(wire.Raw(l).Get("params").Get("_meta").Get(keySub)))
		}
		return l
	}}
}

func twiceAnswered(of about) *Wire {
	return &Wire{Output: func(w *Link, asked Message, l string) string {
		if of(asked) {
			w.Line(l)
		}
		return l
	}}
}

func idAsText(l string) string {
	v := wire.Raw(l)
	if v.Get("id").Kind() != wire.KindNumber {
		return l
	}
	out, _ := set("id", `"`+string(v.Get("id"))+`"`)(v)
	return string(out)
}

func idAsNumber(_ *Link, asked Message, l string) string {
	if s, ok := asked.ID.Str(); ok && strings.Trim(s, "0123456789") == "" && s != "" {
		out, _ := set("id", s)(wire.Raw(l))
		return string(out)
	}
	return l
}

// noRequest are lines that are JSON and no message.
func noRequest(line string) bool {
	v, err := wire.ParseRaw([]byte(line))
	return err == nil && v.Kind() == wire.KindObject && v.Get("id") != nil && v.Get("method").Kind() != wire.KindString && v.Get("result") == nil && v.Get("error") == nil
}

// unread answers lines that match by another one, or "" for not at all.
func unread(answer string, match func(line string) bool) *Wire {
	return &Wire{Input: func(w *Link, l []byte) []byte {
		if !match(string(l)) {
			return l
		}
		if answer != "" {
			w.Line(answer)
		}
		return nil
	}}
}

func endAt(match func(line string) bool) func(w *Link, l []byte) []byte {
	return func(w *Link, l []byte) []byte {
		if match(string(l)) {
			w.Exit(1)
			return nil
		}
		return l
	}
}

// lateNewline ends an answer with the next one.
func lateNewline(w *Link, asked Message, l string) string {
	if w.State["open"] != nil {
		w.Write("\n")
		delete(w.State, "open")
	}
	if asked.Method == templatesList {
		w.State["open"] = true
		w.Write(l)
		return ""
	}
	return l
}

// oneAtATime hears nothing while a request is open.
func oneAtATime(w *Link, l []byte) []byte {
	v, err := wire.ParseRaw(l)
	if err != nil || v.Get("id") == nil || v.Get("method") == nil {
		return l
	}
	if len(w.open) > 1 {
		delete(w.open, string(v.Get("id")))
		return nil
	}
	return l
}
