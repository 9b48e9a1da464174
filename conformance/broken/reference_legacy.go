package broken

import (
	"bytes"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// legacyReference are faults in the stateful revisions, by the revision that
// they are judged in, named like modernFaults and written like them.
var legacyReference = map[string]map[string]*Wire{
	"2024-11-05": {
		"jsonrpc-envelope, other version":       results(method(toolsList), set("jsonrpc", `"1.0"`)),
		"jsonrpc-response-id-echo, text":        results(method(promptsList), at("id", func(_ string, v wire.Raw) string { return string(otherType(v)) }, false)),
		"jsonrpc-result-object, list":           results(method("ping"), set("result", `[]`)),
		"jsonrpc-error-code-integer, text":      failures(anything, set("error>code", `"-32602"`)),
		"tools-content-by-revision, audio":      results(tool("test_simple_text"), set("result>content>0", `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`)),
		"tools-content-by-revision, link":       results(tool("test_simple_text"), set("result>content>0", `{"type":"resource_link","uri":"note:///hello","name":"hello"}`)),
		"prompts-content-by-revision, audio":    results(method(promptsGet), set("result>messages>0>content", `{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`)),
		"logging-set-level-result":              results(method("logging/setLevel"), set("result>level", `"info"`)),
		"resources-read-shape, neither":         results(method(resourcesRead), cut("result>contents>*>text"), cut("result>contents>*>blob")),
		"resources-list-shape, no name":         results(method(resourcesList), cut("result>resources>0>name")),
		"prompts-get-shape, role":               results(method(promptsGet), set("result>messages>*>role", `"system"`)),
		"prompts-get-shape, list":               results(method(promptsGet), at("result>messages>*>content", func(_ string, v wire.Raw) string { return "[" + string(v) + "]" }, false)),
		"stdio-stdout-only-mcp, banner":         {Start: func(w *Link) { w.Line("Secure MCP Filesystem Server running on stdio") }},
		"lifecycle-initialize-result, no name":  results(method("initialize"), cut("result>serverInfo>name")),
		"sampling-server-needs-capability":      before(tool("test_simple_text"), `{"jsonrpc":"2.0","id":"undeclared","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`),
		"capability-undeclared-refused, prompt": results(method("initialize"), cut("result>capabilities>prompts")),
	},
	"2025-03-26": {
		"jsonrpc-batch-receive, refused": {Input: batches(func(w *Link, _ []byte) {
			w.Line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no batches"}}`)
		})},
		"jsonrpc-batch-receive, silence":            {Input: batches(func(*Link, []byte) {})},
		"jsonrpc-batch-empty, silence":              unread("", func(l string) bool { return l == "[]" }),
		"jsonrpc-batch-empty, array":                unread("[]", func(l string) bool { return l == "[]" }),
		"jsonrpc-batch-notifications-silent":        {Input: quietBatch},
		"jsonrpc-error-code-and-message":            failures(anything, cut("error>message")),
		"jsonrpc-notification-no-reply":             before(method("ping"), `{"jsonrpc":"2.0","id":null,"result":{}}`),
		"tools-annotation-types":                    results(method(toolsList), set("result>tools>*>annotations>readOnlyHint", `"true"`)),
		"tools-content-by-revision, link":           results(tool("test_simple_text"), set("result>content>0", `{"type":"resource_link","uri":"note:///hello","name":"hello"}`)),
		"capability-undeclared-refused, completion": results(method("initialize"), cut("result>capabilities>completions")),
		"completion-max-100":                        results(method(completes), set("result>completion>values", `[`+strings.Repeat(`"a",`, 100)+`"a"]`)),
		"completion-result-shape, object":           results(method(completes), set("result>completion>values", `{"0":"a"}`)),
		"completion-result-shape, flat":             results(method(completes), set("result", `{"values":[]}`)),
	},
	"2025-06-18": {
		"jsonrpc-batch-removed":               spelt(method(resourcesList), func(l string) string { return "[" + l + "]" }),
		"meta-is-object":                      results(method(promptsList), set("result>_meta", `"x"`)),
		"meta-key-syntax":                     results(method(promptsList), set("result>_meta", `{"9.example/x":1}`)),
		"meta-reserved-prefix-legacy":         results(method(promptsList), set("result>_meta", `{"tools.mcp.com/x":1}`)),
		"tools-structured-is-object":          results(tool("add"), set("result>structuredContent", `[3]`)),
		"tools-structured-conforms, none":     results(tool("add"), cut("result>structuredContent")),
		"tools-output-schema-root":            results(method(toolsList), set("result>tools>*>outputSchema>type", `"array"`)),
		"elicit-form-shape, no message":       asks("elicitation/create", cut("params>message")),
		"elicit-form-shape, type":             asks("elicitation/create", set("params>requestedSchema>type", `"array"`)),
		"elicit-schema-flat, object":          asks("elicitation/create", set("params>requestedSchema>properties>*", `{"type":"object","properties":{}}`)),
		"elicit-server-needs-capability":      before(tool("test_simple_text"), `{"jsonrpc":"2.0","id":"undeclared","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`),
		"elicit-no-sensitive-legacy":          asks("elicitation/create", set("params>requestedSchema>properties>password", `{"type":"string"}`)),
		"completion-context-accepted":         refused(func(m Message) bool { return m.Method == completes && m.Params.Get("context") != nil }, -32602),
		"tools-content-by-revision, tool use": results(tool("test_simple_text"), set("result>content>0", `{"type":"tool_use","id":"1","name":"x","input":{}}`)),
		"resources-custom-scheme-rfc3986":     results(method(resourcesList), set("result>resources>0>uri", `"my_scheme:///hello"`)),
	},
	"2025-11-25": {
		"jsonrpc-envelope, none":             results(method(promptsList), cut("jsonrpc")),
		"jsonrpc-request-id-type, part":      asks("sampling/createMessage", set("id", "1.5")),
		"jsonrpc-request-id-type, none":      asks("roots/list", cut("id")),
		"jsonrpc-request-id-not-null":        asks("elicitation/create", set("id", "null")),
		"jsonrpc-request-id-unique":          {Output: sameID},
		"jsonrpc-response-id-echo, all text": spelt(anything, idAsText),
		"jsonrpc-response-id-echo, one":      results(method(templatesList), at("id", func(_ string, v wire.Raw) string { return string(otherType(v)) }, false)),
		"jsonrpc-response-one-of, both":      results(method(promptsList), set("error", `{"code":0,"message":"ok"}`)),
		"jsonrpc-response-one-of, neither":   results(method(resourcesList), cut("result")),
		"jsonrpc-result-object, null":        results(method("logging/setLevel"), set("result", "null")),
		"jsonrpc-result-object, text":        results(method("ping"), set("result", `"pong"`)),
		"jsonrpc-error-code-integer, part":   failures(method(completes), set("error>code", "-32602.5")),
		"jsonrpc-error-code-and-message":     failures(unnamed, set("error>message", `{"text":"no"}`)),
		"jsonrpc-error-id-unless-unreadable": failures(tool("goldwire_no_such_tool"), cut("id")),
		"jsonrpc-params-object":              notes("notifications/progress", at("params", func(_ string, v wire.Raw) string { return "[" + string(v) + "]" }, false)),
		"jsonrpc-notification-no-id":         notes("notifications/message", set("id", `"n"`)),
		"jsonrpc-notification-no-reply": {Input: func(w *Link, l []byte) []byte {
			if v, err := wire.ParseRaw(l); err == nil && v.Get("id") == nil && v.Get("method") != nil {
				w.Line(`{"jsonrpc":"2.0","error":{"code":-32601,"message":"unknown"}}`)
			}
			return l
		}},
		"jsonrpc-request-answered, none":            deaf(`"prompts/list"`),
		"jsonrpc-request-answered, twice":           twiceAnswered(method(toolsList)),
		"jsonrpc-method-not-found, code":            failures(method("goldwire/no_such_method"), set("error>code", "-32600")),
		"jsonrpc-method-not-found, empty":           given(method("goldwire/no_such_method"), `{}`),
		"jsonrpc-parse-error, silence":              unread("", notJSON),
		"jsonrpc-parse-error, end":                  {Input: endAt(notJSON)},
		"jsonrpc-invalid-request, silence":          unread("", noRequest),
		"jsonrpc-invalid-params, tool":              heard(func(m Message) bool { return m.Method == toolsCall && m.Params.Get("name").Kind() != wire.KindString }, set("params>name", `"test_simple_text"`)),
		"jsonrpc-utf8":                              spelt(method(promptsList), func(l string) string { return strings.Replace(l, "Greets", "Gr\xfc\xdfe", 1) }),
		"jsonrpc-batch-removed":                     spelt(method(promptsList), func(l string) string { return "[" + l + "]" }),
		"meta-key-syntax, hyphen":                   results(method(promptsList), set("result>_meta", `{"com.example-/x":1}`)),
		"meta-reserved-prefix":                      results(method(promptsList), set("result>_meta", `{"com.modelcontextprotocol/x":1}`)),
		"icon-shape, src":                           results(method("initialize"), set("result>serverInfo>icons", `[{"mimeType":"image/png"}]`)),
		"icon-shape, theme":                         results(method(toolsList), set("result>tools>0>icons", `[{"src":"https://example.com/i.png","theme":"blue"}]`)),
		"icon-shape, sizes":                         results(method(promptsList), set("result>prompts>0>icons", `[{"src":"https://example.com/i.png","sizes":"48x48"}]`)),
		"schema-valid-in-dialect":                   results(method(toolsList), set("result>tools>0>inputSchema>properties", `{"a":{"type":"text"}}`)),
		"lifecycle-initialize-result, no version":   results(method("initialize"), cut("result>serverInfo>version")),
		"lifecycle-initialize-result, no info":      results(method("initialize"), cut("result>serverInfo")),
		"lifecycle-initialize-result, capabilities": results(method("initialize"), cut("result>capabilities")),
		"lifecycle-ping-before-initialized": {Input: func(w *Link, l []byte) []byte {
			if bytes.Contains(l, []byte("notifications/initialized")) {
				w.State["ready"] = true
			}
			if v, err := wire.ParseRaw(l); err == nil && w.State["ready"] == nil && parse(v).Method == "ping" {
				w.Line(failure(parse(v), -32600, ""))
				return nil
			}
			return l
		}},
		"version-server-counter-offer, echo": results(func(m Message) bool {
			v, _ := m.Params.Get("protocolVersion").Str()
			return m.Method == "initialize" && v < "2000"
		}, set("result>protocolVersion", `"1999-01-01"`)),
		"version-server-counter-offer, draft": results(func(m Message) bool {
			v, _ := m.Params.Get("protocolVersion").Str()
			return m.Method == "initialize" && v > "2090"
		}, set("result>protocolVersion", `"draft"`)),
		"capability-shape, true":               results(method("initialize"), set("result>capabilities>tools", "true")),
		"capability-shape, flag":               results(method("initialize"), set("result>capabilities>prompts>listChanged", `"true"`)),
		"capability-features-advertised":       results(method("initialize"), cut("result>capabilities>logging")),
		"capability-undeclared-refused, tools": results(method("initialize"), cut("result>capabilities>tools")),
		"stdio-newline-framing, pretty":        spelt(method(promptsList), func(l string) string { return strings.Replace(l, `,"result"`, ",\n  \"result\"", 1) }),
		"stdio-stdout-only-mcp, log":           before(method(toolsList), "[info] listing tools"),
		"jsonrpc-envelope, empty object":       before(method(promptsList), "{}"),
		"ping-answered, member":                results(method("ping"), set("result>pong", "true")),
		"ping-answered, error":                 refused(method("ping"), -32601),
		"cancel-same-direction":                before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`),
		"cancel-race-tolerated":                dying(`notifications/cancelled`),
		"progress-token-type":                  notes("notifications/progress", set("params>progressToken", "1.5")),
		"progress-token-type, progress":        notes("notifications/progress", set("params>progress", `"half"`)),
		"progress-increases":                   notes("notifications/progress", set("params>progress", "0.5")),
		"progress-known-token-only":            notes("notifications/progress", set("params>progressToken", `"mine"`)),
		"progress-stops": {Output: func(w *Link, asked Message, l string) string {
			if t := asked.Meta.Get("progressToken"); t != nil {
				w.Line(l)
				return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(t) + `,"progress":1000}}`
			}
			return l
		}},
		"pagination-cursor-type, null":   results(method(resourcesList), set("result>nextCursor", "null")),
		"pagination-cursor-type, number": results(method(toolsList), set("result>nextCursor", "1")),
		"logging-set-level-result":       results(method("logging/setLevel"), set("result>ok", "true")),
		"logging-level-names, capitals":  notes("notifications/message", set("params>level", `"WARNING"`)),
		"logging-level-names, no data":   notes("notifications/message", cut("params>data")),
		"logging-no-secrets":             notes("notifications/message", set("params>data", `"token ghp_0123456789abcdefghijABCDEFGHIJ012345"`)),
		"completion-ref-types":           refused(func(m Message) bool { t, _ := m.Params.Get("ref").Get("type").Str(); return t == "ref/resource" }, -32601),
		"completion-max-100":             results(method(completes), set("result>completion>values", `[`+strings.Repeat(`"a",`, 100)+`"a"]`)),
		"completion-result-shape, total": results(method(completes), set("result>completion>total", `"2"`)),
		"tools-list-shape, no schema":    results(method(toolsList), cut("result>tools>0>inputSchema")),
		"tools-list-shape, object":       results(method(toolsList), set("result>tools", `{}`)),
		"tools-annotation-types":         results(method(toolsList), set("result>tools>0>annotations>openWorldHint", `1`)),
		"tools-task-support-values":      results(method(toolsList), set("result>tools>0>execution", `{"taskSupport":"yes"}`)),
		"tools-call-shape, none":         results(tool("test_simple_text"), cut("result>content")),
		"tools-media-encoding, url":      results(tool("test_image_content"), set("result>content>0>data", `"https://example.com/i.png"`)),
		"tools-media-encoding, mime":     results(tool("test_audio_content"), cut("result>content>0>mimeType")),
		"tools-arguments-optional": refused(func(m Message) bool {
			return m.Method == toolsCall && m.Name() == "test_simple_text" && m.Params.Get("arguments") == nil
		}, -32602),
		"tools-structured-conforms":         results(tool("add"), set("result>structuredContent", `{"total":3}`)),
		"list-changed-declared":             results(method("initialize"), cut("result>capabilities>tools>listChanged")),
		"prompts-list-shape, arguments":     results(method(promptsList), set("result>prompts>0>arguments", `{"name":"x"}`)),
		"prompts-name-unique":               results(method(promptsList), set("result>prompts>1>name", `"greet"`)),
		"prompts-media-encoding":            results(method(promptsGet, "test_prompt_with_image"), set("result>messages>0>content>data", `"%%%"`)),
		"prompts-embedded-resource":         results(method(promptsGet, "test_prompt_with_embedded_resource"), cut("result>messages>*>content>resource>uri")),
		"resources-templates-shape":         results(method(templatesList), cut("result>resourceTemplates>0>name")),
		"resources-template-rfc6570":        results(method(templatesList), set("result>resourceTemplates>0>uriTemplate", `"note:///{name"`)),
		"resources-uri-valid, words":        results(method(resourcesList), set("result>resources>0>uri", `"hello world"`)),
		"resources-uri-valid, twice":        results(method(resourcesList), set("result>resources>1>uri", `"note:///hello"`)),
		"resources-read-shape, no uri":      results(method(resourcesRead), cut("result>contents>*>uri")),
		"resources-read-shape, object":      results(method(resourcesRead), set("result>contents", `{}`)),
		"resources-blob-encoding":           results(method(resourcesRead, "note:///bytes", "test://static-binary"), set("result>contents>0>blob", `"\u00ff\u00fe"`)),
		"resources-subscribe-works, error":  refused(method("resources/subscribe"), -32603),
		"resources-subscribe-works, result": results(method("resources/unsubscribe"), set("result>uri", `"x"`)),
		"annotations-range, priority":       results(method(resourcesList), set("result>resources>0>annotations", `{"priority":5}`)),
		"annotations-range, audience":       results(method(resourcesList), set("result>resources>0>annotations", `{"audience":["everyone"]}`)),
		"sampling-request-shape, messages":  asks("sampling/createMessage", set("params>messages", `"hello"`)),
		"sampling-request-shape, limit":     asks("sampling/createMessage", cut("params>maxTokens")),
		"sampling-request-shape, priority":  asks("sampling/createMessage", set("params>modelPreferences", `{"costPriority":3}`)),
		"sampling-content-by-revision":      asks("sampling/createMessage", set("params>messages>0>content", `{"type":"video","data":"AA=="}`)),
		"sampling-tools-capability": {Output: func(w *Link, _ Message, l string) string {
			return strings.Replace(l, `"maxTokens":`, `"tools":[],"maxTokens":`, 1)
		}},
		"elicit-mode-supported":        asks("elicitation/create", set("params", `{"mode":"url","message":"m","url":"https://example.com/x","elicitationId":"e"}`)),
		"elicit-form-shape, no schema": asks("elicitation/create", cut("params>requestedSchema")),
		"elicit-schema-flat, list":     asks("elicitation/create", set("params>requestedSchema>properties>*", `{"type":"array","items":{"type":"object"}}`)),
		"elicit-no-sensitive-form":     asks("elicitation/create", set("params>requestedSchema>properties>api_key", `{"type":"string","title":"API key"}`)),
		"elicit-required-error":        refused(tool("test_simple_text"), -32042),
		"elicit-complete-notification": before(tool("test_simple_text"), `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"never"}}`),
	},
}

// batches hands batches to fn in place of the server.
func batches(fn func(w *Link, l []byte)) func(*Link, []byte) []byte {
	return func(w *Link, l []byte) []byte {
		if v, err := wire.ParseRaw(l); err == nil && v.Kind() == wire.KindArray && string(l) != "[]" {
			fn(w, l)
			return nil
		}
		return l
	}
}

// quietBatch answers batches of notifications by an empty one.
func quietBatch(w *Link, l []byte) []byte {
	if v, err := wire.ParseRaw(l); err == nil && v.Kind() == wire.KindArray && string(l) != "[]" && !bytes.Contains(l, []byte(`"id"`)) {
		w.Line("[]")
	}
	return l
}

// sameID asks the client under one id whatever it is asked.
func sameID(_ *Link, _ Message, l string) string {
	v := wire.Raw(l)
	if v.Get("method") == nil || v.Get("id") == nil {
		return l
	}
	out, _ := set("id", `"same"`)(v)
	return string(out)
}
