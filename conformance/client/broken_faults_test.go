package client_test

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// swap replaces text in what the client sends.
func swap(old, new string) func(string) string {
	return func(text string) string { return strings.ReplaceAll(text, old, new) }
}

// swapIn is swap for messages that hold a text.
func swapIn(mark, old, new string) func(string) string {
	return func(text string) string {
		if !strings.Contains(text, mark) {
			return text
		}
		return strings.ReplaceAll(text, old, new)
	}
}

// rewrite is swap by a regular expression, in messages that hold a text.
func rewrite(mark, old, new string) func(string) string {
	re := regexp.MustCompile(old)
	return func(text string) string {
		if !strings.Contains(text, mark) {
			return text
		}
		return re.ReplaceAllString(text, new)
	}
}

func header(name, value string) func(http.Header, string) {
	return func(h http.Header, _ string) {
		h.Del(name)
		if value != "" {
			h.Set(name, value)
		}
	}
}

const (
	onStdio = catalogue.Stdio
	onHTTP  = catalogue.HTTP
	onSSE   = catalogue.SSE
	march   = "2025-03-26"
	june    = "2025-06-18"
	first   = "2024-11-05"
	schema  = "client-keeps-to-version" // which compares with the schema
)

func list(s ...string) []string { return s }

// faults are the broken clients, each with one fault.
var faults = []fault{
	// Messages.
	{name: "wrong-jsonrpc", check: "client-message-shape", at: newest, over: onStdio, line: swapIn("resources/list", `"2.0"`, `"1.0"`), more: list(schema)},
	{name: "wrong-jsonrpc-modern", check: "client-message-shape", at: stateless, over: onStdio, line: swapIn("resources/list", `"jsonrpc":"2.0",`, ``)},
	{name: "result-and-error", check: "client-response-one-of", at: newest, over: onStdio, plays: list("tour"), line: swap(`"result":{}}`, `"result":{},"error":{"code":1,"message":"x"}}`), more: list("client-ping-answered", "client-unknown-meta-tolerated")},
	{name: "result-array", check: "client-result-object", at: newest, over: onStdio, plays: list("tour"), line: swap(`"result":{}}`, `"result":[]}`)},
	{name: "error-without-message", check: "client-error-members", at: newest, over: onStdio, plays: list("asks"), line: swap(`,"message":"Method not found"`, ``)},
	{name: "error-code-fraction", check: "client-error-code-integer", at: newest, over: onStdio, plays: list("asks"), line: swap(`-32601`, `-32601.5`), more: list("client-unknown-method")},
	{name: "answers-stray-by-error", check: "client-error-codes-own", at: stateless, over: onStdio, plays: list("stray-request"), more: list("client-never-responds")},
	{name: "fraction-id", check: "client-request-id", at: newest, over: onStdio, line: rewrite("prompts/list", `"id":\d+`, `"id":1.5`), more: list(schema)},
	{name: "no-id", check: "client-request-id", at: stateless, over: onStdio, line: rewrite("prompts/list", `"id":\d+,`, ``), more: list("client-notifications-known")},
	{name: "null-id", check: "client-request-id-null", at: newest, over: onStdio, line: rewrite("prompts/list", `"id":\d+`, `"id":null`), more: list(schema)},
	{name: "same-ids", check: "client-request-id-unique", at: newest, over: onStdio, line: rewrite("prompts/list", `"id":\d+`, `"id":3`)},
	{name: "reuses-open-id", check: "client-request-id-unique", at: stateless, over: onStdio, plays: list("dying-subscription")},
	{name: "params-array", check: "client-params-object", at: newest, over: onStdio, line: swapIn("resources/list", `"params":{}`, `"params":[]`), more: list(schema)},
	{name: "notification-with-id", check: "client-notification-no-id", at: newest, over: onStdio, line: swapIn("notifications/initialized", `"method"`, `"id":99,"method"`)},
	{name: "answers-notifications", check: "client-notification-unanswered", at: newest, over: onStdio, plays: list("tour"), more: list("client-error-id")},
	{name: "answers-stray", check: "client-never-responds", at: stateless, over: onStdio, plays: list("stray-request")},
	{name: "modern-initialized", check: "client-notifications-known", at: stateless, over: onStdio},
	{name: "retypes-ids", check: "client-answers-belong", at: newest, over: onStdio, plays: list("asks"), line: swap(`"id":7,"result"`, `"id":"7","result"`), more: list("client-answers-once")},
	{name: "forgets-error-id", check: "client-error-id", at: newest, over: onStdio, plays: list("asks"), line: rewrite(`Method not found`, `"id":"ask-\d+"`, `"id":null`), more: list("client-answers-once", "client-notification-unanswered")},
	{name: "answers-twice", check: "client-answers-once", at: newest, over: onStdio, plays: list("tour")},
	{name: "forgets-an-answer", check: "client-answers-once", at: newest, over: onStdio, plays: list("asks"), line: rewrite(`"id":"seven","result"`, `.*`, ``)},
	{name: "knows-all", check: "client-unknown-method", at: newest, over: onStdio, plays: list("asks")},
	{name: "takes-anything", check: "client-invalid-params", at: newest, over: onStdio, plays: list("faulty-asks"), more: list("client-elicitation-content-fits")},
	{name: "deaf-after-odd", check: "client-parse-error", at: newest, over: onStdio, plays: list("no-json")},
	{name: "deaf-after-odd-2", check: "client-invalid-request", at: newest, over: onStdio, plays: list("no-request")},
	{name: "deaf-after-odd-3", check: "client-cancel-unknown", at: newest, over: onHTTP, plays: list("odd-cancellations")},
	{name: "deaf-after-odd-4", check: "client-elicitation-complete-unknown", at: newest, over: onStdio, plays: list("unknown-completion")},
	{name: "deaf-after-odd-5", check: "client-unknown-dialect", at: newest, over: onStdio, plays: list("unknown-dialect")},
	{name: "not-utf8", check: "client-utf8", at: newest, over: onStdio, line: swap(`"level":"warning"`, "\"level\":\"warn\xff\""), more: list("client-lines")},
	{name: "sends-array", check: "client-no-batches", at: june, over: onStdio, line: rewrite("prompts/list", `^.*$`, `[$0]`)},
	{name: "initialize-in-array", check: "client-batch-initialize", at: march, over: onStdio, more: list("client-initialized-sent", "client-quiet-before-result", "client-roots-change-declared", "client-lifecycle")},
	{name: "drops-arrays", check: "client-batch-received", at: march, over: onStdio, plays: list("batches"), more: list("client-answers-once")},
	{name: "splits-arrays", check: "client-batch-answered-together", at: march, over: onStdio, plays: list("batches")},
	{name: "answers-empty-array", check: "client-batch-empty", at: march, over: onStdio, plays: list("batches")},
	{name: "answers-notifications-array", check: "client-batch-of-notifications-silent", at: march, over: onStdio, plays: list("batches")},
	{name: "takes-arrays", check: "client-no-batches", at: newest, over: onStdio, plays: list("arrays")},

	// Metadata, and what the client says of itself.
	{name: "meta-array", check: "client-meta-object", at: newest, over: onStdio, line: rewrite("tools/call", `"_meta":\{[^}]*\}`, `"_meta":[1]`), more: list(schema)},
	{name: "meta-key", check: "client-meta-key-syntax", at: stateless, over: onStdio, line: swap("com.example/own", "com..example/own")},
	{name: "meta-reserved", check: "client-meta-reserved-keys", at: stateless, over: onStdio, line: swap("com.example/own", "com.mcp/own")},
	{name: "meta-order", check: "client-meta-reverse-dns", at: stateless, over: onStdio, line: swap("com.example/own", "example.com/own")},
	{name: "trace-context", check: "client-trace-context", at: stateless, over: onStdio, line: swap("00-0af7", "00-0AF7")},
	{name: "no-capabilities-meta", check: "client-meta-required", at: stateless, over: onStdio, line: swapIn("prompts/list", metaCaps, "com.example/caps")},
	{name: "no-version-meta", check: "client-meta-required", at: stateless, over: onStdio, line: swapIn("prompts/list", metaVersion, "com.example/version")},
	{name: "no-info", check: "client-info-sent", at: stateless, over: onStdio, line: swap(metaInfo, "com.example/info")},
	{name: "info-without-version", check: "client-info-shape", at: stateless, over: onStdio, line: swap(`"name":"raw","version":"1"`, `"name":"raw"`)},
	{name: "icon-without-source", check: "client-icons", at: stateless, over: onStdio, line: swap(`"src":`, `"source":`)},
	{name: "icon-script", check: "client-icon-scheme", at: stateless, over: onStdio, line: swap("https://example.com/raw.png", "javascript:alert(1)")},
	{name: "capability-flag", check: "client-capability-shape", at: newest, over: onStdio, line: swap(`"sampling":{"tools":{}}`, `"sampling":true`)},
	{name: "title-number", check: "client-info-types", at: newest, over: onStdio, line: swap(`"title":"Raw"`, `"title":5`)},
	{name: "bare-extension", check: "client-extension-identifiers", at: stateless, over: onStdio, line: swap(`"com.example/raw":{}`, `"raw":{}`)},
	{name: "extension-flag", check: "client-extension-settings", at: stateless, over: onStdio, line: swap(`"com.example/raw":{}`, `"com.example/raw":true`)},
	{name: "uses-extension", check: "client-extension-fallback", at: stateless, over: onStdio},
	{name: "high-priority", check: "client-annotations", at: newest, over: onStdio, plays: list("asks"), line: swap(`"priority":0.5`, `"priority":2`)},
	{name: "no-date", check: "client-last-modified", at: newest, over: onStdio, plays: list("asks"), line: swap(`"priority":0.5`, `"lastModified":"yesterday"`)},
	{name: "chokes-on-meta", check: "client-unknown-meta-tolerated", at: newest, over: onStdio, plays: list("tour"), more: list("client-ping-answered")},

	// The handshake.
	{name: "no-initialized", check: "client-initialized-sent", at: newest, over: onStdio, more: list("client-lifecycle")},
	{name: "no-initialized", check: "client-lifecycle", at: june, over: onStdio, more: list("client-initialized-sent")},
	{name: "ping-first", check: "client-initialize-first", at: newest, over: onStdio},
	{name: "no-capabilities", check: "client-initialize-params", at: newest, over: onStdio, line: rewrite(`"initialize"`, `"capabilities":.*,"clientInfo"`, `"clientInfo"`), more: list("client-roots-change-declared")},
	{name: "early-request", check: "client-quiet-before-result", at: newest, over: onStdio, plays: list("slow-initialize"), more: list("client-initialized-sent")},
	{name: "ignores-refusal", check: "client-initialize-refused", at: newest, over: onStdio, plays: list("initialize-refused")},
	{name: "leaves-own-version", check: "client-offers-supported", at: newest, over: onStdio},
	{name: "offers-old", check: "client-offers-latest", at: newest, over: onStdio},
	{name: "takes-any-version", check: "client-unknown-version", at: newest, over: onStdio, plays: list("unknown-version")},
	{name: "later-method", check: "client-keeps-to-version", at: june, over: onStdio, more: list("client-uses-declared")},
	{name: "uses-undeclared", check: "client-uses-declared", at: newest, over: onStdio, plays: list("bare")},
	{name: "uses-undeclared", check: "client-uses-declared", at: stateless, over: onStdio, plays: list("bare")},
	{name: "roots-change", check: "client-roots-change-declared", at: newest, over: onStdio, line: swap(`"roots":{"listChanged":true}`, `"roots":{}`)},
	{name: "undeclared-answers", check: "client-undeclared-refused", at: newest, over: onStdio, plays: list("asks"), more: list("client-roots-declared", "client-sampling-declared", "client-elicitation-declared", "client-sampling-tool-choice")},
	{name: "leaves-experimental", check: "client-experimental-tolerated", at: newest, over: onStdio, plays: list("tour"), more: list("client-offers-supported")},
	{name: "talkative-pong", check: "client-ping-answered", at: newest, over: onStdio, plays: list("tour"), line: swap(`"result":{}}`, `"result":{"pong":true}}`)},
	{name: "refuses-pings", check: "client-ping-answered", at: newest, over: onStdio, plays: list("tour"), line: swap(`"result":{}}`, `"error":{"code":-32601,"message":"Method not found"}}`)},
	{name: "steady-pings", check: "client-ping-timeout", at: newest, over: onStdio, plays: list("mute-pings")},
	{name: "asks-again", check: "client-timeout-cancels", at: newest, over: onStdio, plays: list("silence")},

	// Lists.
	{name: "cursor-number", check: "client-cursor-type", at: newest, over: onStdio, more: list(schema)},
	{name: "trims-cursor", check: "client-cursor-opaque", at: newest, over: onStdio, plays: list("pages", "odd-pages")},
	{name: "trims-cursor", check: "client-cursor-opaque", at: stateless, over: onHTTP, plays: list("pages", "odd-pages")},
	{name: "keeps-cursor", check: "client-cursor-of-session", at: newest, over: onHTTP, plays: list("session-gone")},
	{name: "empty-is-end", check: "client-empty-cursor", at: stateless, over: onStdio, plays: list("pages", "empty-cursor")},
	{name: "empty-page-is-end", check: "client-page-sizes", at: newest, over: onStdio, plays: list("pages", "odd-pages")},
	{name: "past-the-end", check: "client-list-end", at: newest, over: onStdio},
	{name: "foreign-cursor", check: "client-cursor-opaque", at: newest, over: onStdio, plays: list("pages")},
	{name: "retries-cursor", check: "client-refused-cursor", at: stateless, over: onStdio, plays: list("refused-cursor")},
	{name: "polls", check: "client-no-polling", at: stateless, over: onStdio, plays: list("short-lived")},

	// Features.
	{name: "arguments-array", check: "client-arguments-object", at: newest, over: onStdio, line: rewrite("tools/call", `"arguments":\{[^}]*\}`, `"arguments":[1]`), more: list(schema)},
	{name: "arguments-misfit", check: "client-arguments-object", at: newest, over: onStdio, line: swapIn("add_numbers", `"a":1`, `"a":"one"`)},
	{name: "tool-case", check: "client-tool-name-case", at: newest, over: onStdio},
	{name: "prompt-number", check: "client-prompt-arguments", at: newest, over: onStdio, line: swap(`"name":"Ann"`, `"name":5`), more: list(schema)},
	{name: "prompt-number", check: "client-prompt-arguments", at: stateless, over: onStdio, line: swap(`"name":"Ann"`, `"name":5`)},
	{name: "odd-level", check: "client-log-level", at: newest, over: onStdio, line: swap(`"level":"warning"`, `"level":"warn"`), more: list(schema)},
	{name: "hasty-completion", check: "client-completion-debounced", at: stateless, over: onStdio},
	{name: "token-fraction", check: "client-progress-token", at: newest, over: onStdio, line: rewrite("tools/call", `"progressToken":"p\d+"`, `"progressToken":1.5`), more: list(schema)},
	{name: "same-token", check: "client-progress-token-unique", at: stateless, over: onStdio, plays: list("dying-subscription"), line: rewrite("progressToken", `"progressToken":"t\d+"`, `"progressToken":"t"`)},
	{name: "foreign-token", check: "client-progress-known", at: newest, over: onStdio, plays: list("asks"), line: swapIn("notifications/progress", "asked-1", "made-up")},
	{name: "progress-stands", check: "client-progress-increases", at: newest, over: onStdio, plays: list("asks"), line: swapIn("notifications/progress", `"progress":2`, `"progress":1`)},
	{name: "late-progress", check: "client-progress-stops", at: newest, over: onStdio, plays: list("asks")},
	{name: "blank-progress", check: "client-progress-message", at: newest, over: onStdio, plays: list("asks"), line: swap(`"message":"half"`, `"message":" "`)},
	{name: "floods", check: "client-notification-rate", at: stateless, over: onStdio, more: list("client-notifications-known")},
	{name: "cancels-unknown", check: "client-cancels-own", at: newest, over: onStdio},
	{name: "cancels-unknown", check: "client-cancels-own", at: stateless, over: onStdio},
	{name: "cancels-done", check: "client-cancels-running", at: newest, over: onStdio},
	{name: "cancels-nothing", check: "client-cancels-by-id", at: june, over: onStdio, plays: list("silence"), line: rewrite("notifications/cancelled", `"requestId":\d+,`, ``), more: list(schema)},
	{name: "cancels-initialize", check: "client-cancels-no-initialize", at: newest, over: onStdio, plays: list("mute-initialize")},
	{name: "cancels-task", check: "client-cancels-no-tasks", at: newest, over: onStdio, plays: list("tasks"), more: list("client-cancels-running")},
	{name: "deaf-after-late", check: "client-late-answer", at: newest, over: onStdio, plays: list("silence")},
	{name: "large-integer", check: "client-integer-range", at: stateless, over: onHTTP, plays: list("designated"), line: swap(`"count":42`, `"count":9007199254740993`)},

	// Tasks.
	{name: "task-forbidden", check: "client-task-gate", at: newest, over: onStdio, plays: list("tasks")},
	{name: "no-task", check: "client-task-required", at: newest, over: onStdio, plays: list("tasks")},
	{name: "polls-tasks-fast", check: "client-task-poll", at: newest, over: onStdio, plays: list("tasks")},
	{name: "names-task-twice", check: "client-task-named-once", at: newest, over: onStdio, plays: list("tasks")},
	{name: "tasks-undeclared", check: "client-task-declared", at: newest, over: onStdio, plays: list("task-asks"), line: rewrite(`"initialize"`, `,"tasks":\{"list".*\}\}\},"clientInfo"`, `},"clientInfo"`), more: list("client-task-ignored")},
	{name: "few-refuses-tasks", check: "client-task-ignored", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "task-with-more", check: "client-task-created", at: newest, over: onStdio, plays: list("task-asks"), line: swap(`"result":{"task":`, `"result":{"content":[],"task":`)},
	{name: "same-task-id", check: "client-task-ids", at: newest, over: onStdio, plays: list("task-asks"), more: list("client-task-cancelled", "client-task-transitions", "client-task-result")},
	{name: "task-without-ttl", check: "client-task-shape", at: newest, over: onStdio, plays: list("task-asks"), line: swap(`,"ttl":60000}`, `}`)},
	{name: "revives-tasks", check: "client-task-transitions", at: newest, over: onStdio, plays: list("task-asks"), more: list("client-task-result")},
	{name: "task-result-unnamed", check: "client-task-result", at: newest, over: onStdio, plays: list("task-asks"), line: rewrite(`"result":{"_meta"`, `"_meta":\{"io.modelcontextprotocol/related-task":\{[^}]*\}\},`, ``)},
	{name: "any-task", check: "client-task-unknown", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "cancels-final", check: "client-task-cancelled", at: newest, over: onStdio, plays: list("task-asks"), more: list("client-task-transitions")},
	{name: "hides-tasks", check: "client-task-listed", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "meta-task-wins", check: "client-task-param-wins", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "task-progress-unnamed", check: "client-task-messages-named", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "task-progress-late", check: "client-task-progress-stops", at: newest, over: onStdio, plays: list("task-asks")},
	{name: "odd-status", check: "client-task-status-shape", at: newest, over: onStdio, more: list(schema, "client-task-shape", "client-task-transitions")},

	// What servers ask.
	{name: "undeclared-answers", check: "client-roots-declared", at: june, over: onStdio, plays: list("asks"), more: list("client-undeclared-refused", "client-sampling-declared", "client-elicitation-declared")},
	{name: "undeclared-answers", check: "client-sampling-declared", at: stateless, over: onHTTP, plays: list("rounds-undeclared"), more: list("client-roots-declared", "client-elicitation-declared")},
	{name: "undeclared-answers", check: "client-elicitation-declared", at: stateless, over: onStdio, plays: list("rounds-undeclared"), more: list("client-roots-declared", "client-sampling-declared")},
	{name: "root-without-uri", check: "client-roots-shape", at: newest, over: onStdio, plays: list("asks"), line: swap(`"uri":"file:///home/raw"`, `"path":"/home/raw"`)},
	{name: "web-root", check: "client-roots-uri", at: newest, over: onStdio, plays: list("asks"), line: swap(`file:///home/raw`, `https://example.com`)},
	{name: "web-root", check: "client-roots-uri", at: stateless, over: onStdio, plays: list("rounds"), line: swap(`file:///home/raw`, `https://example.com`)},
	{name: "announces-roots", check: "client-roots-change-removed", at: stateless, over: onStdio},
	{name: "no-model", check: "client-sampling-shape", at: newest, over: onStdio, plays: list("asks"), line: swap(`,"model":"raw-1"`, ``)},
	{name: "early-audio", check: "client-sampling-content", at: first, over: onStdio, plays: list("asks"), line: swap(`"type":"text","text":"Hello."`, `"type":"audio","data":"","mimeType":"audio/wav"`)},
	{name: "long-text", check: "client-sampling-length", at: stateless, over: onStdio, plays: list("rounds"), line: swap(`"Hello."`, `"`+strings.Repeat("Hello. ", 100)+`"`)},
	{name: "few-tools", check: "client-sampling-tools-declared", at: newest, over: onStdio, plays: list("asks")},
	{name: "takes-mixed", check: "client-sampling-tool-errors", at: newest, over: onStdio, plays: list("faulty-asks")},
	{name: "uses-tools-anyway", check: "client-sampling-tool-choice", at: newest, over: onStdio, plays: list("asks")},
	{name: "few-tool-use", check: "client-sampling-tools-declared", at: stateless, over: onStdio, plays: list("rounds-undeclared")},
	{name: "no-mode", check: "client-elicitation-mode", at: stateless, over: onStdio, line: swap(`"elicitation":{"form":{},"url":{}}`, `"elicitation":{"other":{}}`)},
	{name: "no-mode", check: "client-elicitation-mode", at: newest, over: onStdio, line: swap(`"elicitation":{"form":{}}`, `"elicitation":{"other":{}}`)},
	{name: "refuses-modeless", check: "client-elicitation-default-mode", at: newest, over: onStdio, plays: list("asks"), more: list("client-elicitation-mode")},
	{name: "no-content", check: "client-elicitation-default-mode", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "approves", check: "client-elicitation-action", at: newest, over: onStdio, plays: list("asks"), line: swap(`"action":"accept"`, `"action":"approve"`), more: list("client-elicitation-content")},
	{name: "declines-with-content", check: "client-elicitation-content", at: newest, over: onStdio, plays: list("asks"), line: swap(`"action":"accept"`, `"action":"decline"`)},
	{name: "misfit", check: "client-elicitation-content-fits", at: newest, over: onStdio, plays: list("asks"), line: swap(`"mood":"good"`, `"mood":"odd"`)},
	{name: "ignores-defaults", check: "client-elicitation-defaults", at: newest, over: onStdio, plays: list("asks")},
	{name: "accepts-url", check: "client-elicitation-undeclared-mode", at: newest, over: onStdio, plays: list("asks")},
	{name: "few-accepts-url", check: "client-elicitation-undeclared-mode", at: stateless, over: onStdio, plays: list("rounds-undeclared")},
	{name: "opens-url", check: "client-elicitation-no-prefetch", at: newest, over: onStdio, plays: list("asks")},
	{name: "opens-url", check: "client-elicitation-no-prefetch", at: stateless, over: onHTTP, plays: list("rounds")},
	{name: "follows-references", check: "client-no-schema-fetch", at: stateless, over: onStdio, plays: list("canaries")},
	{name: "loads-icons", check: "client-icon-scheme-refused", at: stateless, over: onStdio, plays: list("canaries")},
	{name: "loads-icons-as-user", check: "client-icon-no-credentials", at: newest, over: onHTTP, plays: list("canaries")},
	{name: "chokes-on-schemas", check: "client-schema-bounds", at: stateless, over: onStdio, plays: list("costly-schemas")},

	// Input.
	{name: "one-input", check: "client-input-complete", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "extra-key", check: "client-input-keys", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "renames-keys", check: "client-input-keys", at: stateless, over: onStdio, plays: list("rounds"), more: list("client-input-complete")},
	{name: "enveloped-input", check: "client-input-shape", at: stateless, over: onStdio, plays: list("rounds"), more: list("client-elicitation-action", "client-sampling-shape")},
	{name: "changes-arguments", check: "client-input-retries-original", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "trims-state", check: "client-input-state", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "keeps-state", check: "client-input-no-state", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "same-id", check: "client-input-new-id", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "leaks-state", check: "client-input-isolated", at: stateless, over: onStdio, plays: list("rounds")},
	{name: "untyped-again", check: "client-result-type-absent", at: stateless, over: onStdio, plays: list("untyped-results"), more: list("client-input-isolated")},

	// HTTP.
	{name: "puts", check: "client-http-posts", at: newest, over: onHTTP},
	{name: "odd-path", check: "client-http-posts", at: newest, over: onHTTP},
	{name: "accepts-json-only", check: "client-http-accept", at: newest, over: onHTTP, head: header("Accept", "application/json")},
	{name: "accepts-streams-only", check: "client-http-accept", at: stateless, over: onHTTP, head: header("Accept", "text/event-stream")},
	{name: "get-accepts-json", check: "client-http-accept-get", at: newest, over: onHTTP},
	{name: "posts-array", check: "client-post-single", at: newest, over: onHTTP, line: rewrite("prompts/list", `^.*$`, `[$0]`), more: list("client-no-batches")},
	{name: "mixes-replies", check: "client-post-forms", at: march, over: onHTTP, plays: list("tour"), line: rewrite(`"result":{}}`, `^.*$`, `[$0,{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]`)},
	{name: "no-streams", check: "client-http-both-answers", at: newest, over: onHTTP, plays: list("streams"), more: list("client-cancels-running")},
	{name: "one-data-line", check: "client-http-both-answers", at: stateless, over: onHTTP, plays: list("streams")},
	{name: "unknown-field", check: "client-http-odd-fields", at: newest, over: onHTTP, plays: list("odd-fields"), more: list("client-cancels-running")},
	{name: "exact-header-case", check: "client-http-header-case", at: stateless, over: onHTTP, plays: list("header-case")},
	{name: "ends-with-get", check: "client-get-closed", at: newest, over: onHTTP, plays: list("closed-stream")},
	{name: "no-resume", check: "client-resumes", at: newest, over: onHTTP, plays: list("cut-stream")},
	{name: "resumes-wrong", check: "client-resumes", at: june, over: onHTTP, plays: list("cut-stream")},
	{name: "no-resume", check: "client-polls", at: newest, over: onHTTP, plays: list("polling")},
	{name: "hasty-resume", check: "client-retry-time", at: newest, over: onHTTP, plays: list("polling")},
	{name: "no-session", check: "client-session-sent", at: newest, over: onHTTP, more: list("client-session-deleted")},
	{name: "delete-no-session", check: "client-session-sent", at: newest, over: onHTTP, more: list("client-session-deleted")},
	{name: "keeps-dead-session", check: "client-session-restarts", at: newest, over: onHTTP, plays: list("session-gone")},
	{name: "forgets-session", check: "client-session-restarts", at: newest, over: onHTTP, plays: list("session-gone")},
	{name: "session-on-initialize", check: "client-session-restarts", at: newest, over: onHTTP, plays: list("session-gone")},
	{name: "keeps-session", check: "client-session-deleted", at: newest, over: onHTTP},
	{name: "no-version-header", check: "client-version-header", at: newest, over: onHTTP},
	{name: "other-version-header", check: "client-version-header-value", at: newest, over: onHTTP},
	{name: "guesses-endpoint", check: "client-sse-endpoint", at: first, over: onSSE},
	{name: "no-switch", check: "client-sse-endpoint", at: newest, over: onHTTP, plays: list("old-server-405")},
	{name: "probes-405-only", check: "client-sse-probe", at: newest, over: onHTTP, plays: list("old-server-400", "old-server-404", "old-server-405")},
	{name: "get-first", check: "client-old-transport", at: stateless, over: onHTTP, more: list("client-no-session")},
	{name: "stateless-session", check: "client-no-session", at: stateless, over: onHTTP, plays: list("legacy-offers")},
	{name: "resumes-stateless", check: "client-no-session", at: stateless, over: onHTTP, plays: list("broken-stream")},
	{name: "same-id-again", check: "client-reissues", at: stateless, over: onHTTP, plays: list("broken-stream")},
	{name: "posts-cancellation", check: "client-cancel-notification", at: stateless, over: onHTTP},

	// Headers.
	{name: "no-header-version", check: "client-header-version", at: stateless, over: onHTTP, head: header("Mcp-Protocol-Version", "")},
	{name: "other-header-version", check: "client-header-version-matches", at: stateless, over: onHTTP, head: header("Mcp-Protocol-Version", "2025-11-25")},
	{name: "no-header-method", check: "client-header-method", at: stateless, over: onHTTP, head: header("Mcp-Method", "")},
	{name: "no-header-name", check: "client-header-name", at: stateless, over: onHTTP, head: header("Mcp-Name", "")},
	{name: "raw-names", check: "client-header-name-encoded", at: stateless, over: onHTTP, plays: list("odd-names"), more: list("client-header-name")},
	{name: "no-param", check: "client-param-mirrored", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "mirrors-all", check: "client-param-mirrored", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "no-nested", check: "client-param-nested", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "null-header", check: "client-param-null", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "absent-header", check: "client-param-absent", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "shouts-booleans", check: "client-param-scalars", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "raw-params", check: "client-param-encoded", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "plain-lookalike", check: "client-param-lookalike", at: stateless, over: onHTTP, plays: list("designated")},
	{name: "calls-wrong_twice", check: "client-param-invalid-tool", at: stateless, over: onHTTP, plays: list("wrongly-designated")},
	{name: "calls-wrong_number", check: "client-param-number-tool", at: stateless, over: onHTTP, plays: list("wrongly-designated")},
	{name: "calls-wrong_items", check: "client-param-unreachable-tool", at: stateless, over: onHTTP, plays: list("wrongly-designated")},
	{name: "no-refresh", check: "client-param-refreshed", at: stateless, over: onHTTP, plays: list("header-mismatch")},

	// Eras.
	{name: "no-probe", check: "client-probes-first", at: stateless, over: onStdio},
	{name: "legacy-first", check: "client-probes-first", at: stateless, over: onStdio},
	{name: "falls-back-modern-error", check: "client-modern-error-no-fallback", at: stateless, over: onHTTP, plays: list("version-refused"), more: list("client-version-retried")},
	{name: "falls-back-400", check: "client-http-reads-400", at: stateless, over: onHTTP, plays: list("modern-400-capability", "modern-400-header")},
	{name: "fallback-one-code", check: "client-falls-back-any-error", at: stateless, over: onStdio, plays: list("old-errors")},
	{name: "no-fallback-timeout", check: "client-falls-back-timeout", at: stateless, over: onStdio, plays: list("mute-probe", "old-errors")},
	{name: "no-fallback-html", check: "client-http-falls-back", at: stateless, over: onHTTP, plays: list("old-400-empty", "old-400-html", "old-400-code")},
	{name: "old-era-probe-again", check: "client-remembers-era", at: stateless, over: onStdio, plays: list("old-errors")},
	{name: "no-version-retry", check: "client-version-retried", at: stateless, over: onStdio, plays: list("version-refused")},
	{name: "endless-versions", check: "client-version-no-overlap", at: stateless, over: onStdio, plays: list("no-common-version")},
	{name: "draft-code", check: "client-draft-code", at: stateless, over: onStdio, plays: list("draft-code")},
	{name: "reads-name", check: "client-name-no-influence", at: stateless, over: onStdio, plays: list("other-name")},
	{name: "ignores-state", check: "client-patterns", at: stateless, over: onStdio, plays: list("rounds", "state-only")},

	// Processes.
	{name: "writes-text", check: "client-lines", at: newest, over: onStdio, line: swapIn("prompts/list", `{"jsonrpc"`, "hello\n{\"jsonrpc\"")},
	{name: "breaks-lines", check: "client-lines", at: stateless, over: onStdio, line: swapIn("prompts/list", `,"method"`, ",\n\"method\""), more: list("client-stdin-only")},
	{name: "partial-line", check: "client-line-ended", at: stateless, over: onStdio},
	{name: "writes-values", check: "client-stdin-only", at: stateless, over: onStdio, line: swapIn("prompts/list", `{"jsonrpc"`, "\"hello\"\n{\"jsonrpc\"")},
	{name: "sends-token", check: "client-no-oauth", at: newest, over: onStdio, line: swapIn("prompts/list", `"params":{}`, `"params":{"access_token":"secret"}`)},
	{name: "fears-stderr", check: "client-stderr-tolerated", at: stateless, over: onStdio, plays: list("stderr")},
	{name: "signals-first", check: "client-closes-input-first", at: stateless, over: onStdio},
	{name: "leaves-running", check: "client-terminates", at: stateless, over: onStdio, plays: list("stubborn")},
	{name: "no-restart", check: "client-restarts", at: stateless, over: onStdio, plays: list("dying")},
	{name: "no-resubscribe", check: "client-resubscribes", at: stateless, over: onStdio, plays: list("dying-subscription")},

	// Authorization.
	{name: "auth-scheme", check: "client-auth-bearer", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-skips-token", check: "client-auth-every-request", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-query", check: "client-auth-no-query", at: newest, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-old-token", check: "client-auth-own-tokens", at: stateless, over: onHTTP, plays: list("auth-migration")},
	{name: "auth-ignores-challenge", check: "client-auth-challenge", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-root-first", check: "client-auth-resource-order", at: newest, over: onHTTP, plays: list("auth-fallback")},
	{name: "auth-appended-first", check: "client-auth-issuer-path-order", at: stateless, over: onHTTP, plays: list("auth-fallback")},
	{name: "auth-openid-first", check: "client-auth-issuer-root-order", at: stateless, over: onHTTP, plays: list("auth-openid")},
	{name: "auth-openid-only", check: "client-auth-rfc8414", at: march, over: onHTTP, plays: list("auth-old"), more: list("client-auth-default-endpoints")},
	{name: "auth-no-defaults", check: "client-auth-default-endpoints", at: march, over: onHTTP, plays: list("auth-old-default")},
	{name: "auth-no-version", check: "client-auth-metadata-version", at: march, over: onHTTP, plays: list("auth-old")},
	{name: "auth-no-registration", check: "client-auth-registers", at: march, over: onHTTP, plays: list("auth-old")},
	{name: "auth-any-issuer", check: "client-auth-issuer-validated", at: stateless, over: onHTTP, plays: list("auth-foreign-issuer")},
	{name: "auth-any-resource", check: "client-auth-resource-validated", at: stateless, over: onHTTP, plays: list("auth-foreign-resource"), more: list("client-auth-resource-canonical")},
	{name: "auth-any-iss", check: "client-auth-iss-mismatch", at: stateless, over: onHTTP, plays: list("auth-wrong-iss")},
	{name: "auth-any-iss", check: "client-auth-iss-mismatch", at: stateless, over: onHTTP, plays: list("auth-unexpected-iss")},
	{name: "auth-missing-iss", check: "client-auth-iss-missing", at: stateless, over: onHTTP, plays: list("auth-missing-iss")},
	{name: "auth-trims-iss", check: "client-auth-iss-spelling", at: stateless, over: onHTTP, plays: list("auth-other-spelling")},
	{name: "auth-no-pkce-check", check: "client-auth-pkce-announced", at: newest, over: onHTTP, plays: list("auth-no-pkce")},
	{name: "auth-any-state", check: "client-auth-state-checked", at: stateless, over: onHTTP, plays: list("auth-wrong-state")},
	{name: "auth-any-state", check: "client-auth-state-checked", at: june, over: onHTTP, plays: list("auth-no-state")},
	{name: "auth-refuses-iss", check: "client-auth-iss-match", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-wants-iss", check: "client-auth-iss-absent", at: stateless, over: onHTTP, plays: list("auth-openid")},
	{name: "auth-acts-on-error", check: "client-auth-iss-error", at: stateless, over: onHTTP, plays: list("auth-error-wrong-iss")},
	{name: "auth-no-resource", check: "client-auth-resource", at: newest, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-no-token-resource", check: "client-auth-resource-token", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-fragment", check: "client-auth-resource-canonical", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-no-challenge", check: "client-auth-pkce", at: march, over: onHTTP, plays: list("auth-old")},
	{name: "auth-no-verifier", check: "client-auth-pkce", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-plain-pkce", check: "client-auth-pkce-s256", at: newest, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-no-state", check: "client-auth-state", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-http-redirect", check: "client-auth-redirect", at: march, over: onHTTP, plays: list("auth-old")},
	{name: "auth-other-redirect", check: "client-auth-redirect", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-no-client", check: "client-auth-client-id", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-registers-anyway", check: "client-auth-registration-order", at: newest, over: onHTTP, plays: list("auth-document", "auth-document-only")},
	{name: "auth-url-anyway", check: "client-auth-document-supported", at: stateless, over: onHTTP, plays: list("auth-plain"), more: list("client-auth-token-method")},
	{name: "auth-bare-url", check: "client-auth-document-url", at: newest, over: onHTTP, plays: list("auth-document")},
	{name: "auth-no-type", check: "client-auth-application-type", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-web-type", check: "client-auth-application-native", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-registers-endlessly", check: "client-auth-registration-refused", at: stateless, over: onHTTP, plays: list("auth-registration-refused")},
	{name: "auth-one-registration", check: "client-auth-credentials-bound", at: stateless, over: onHTTP, plays: list("auth-migration"), more: list("client-auth-registers-again")},
	{name: "auth-ignores-scope", check: "client-auth-scope-challenge", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-ignores-scope", check: "client-auth-scope-metadata", at: newest, over: onHTTP, plays: list("auth-fallback")},
	{name: "auth-own-scope", check: "client-auth-scope-omitted", at: stateless, over: onHTTP, plays: list("auth-openid")},
	{name: "auth-no-step-up", check: "client-auth-step-up", at: newest, over: onHTTP, plays: list("auth-step-up")},
	{name: "auth-forgets-scope", check: "client-auth-scope-union", at: stateless, over: onHTTP, plays: list("auth-step-up")},
	{name: "auth-endless", check: "client-auth-retries-limited", at: newest, over: onHTTP, plays: list("auth-step-up-forever")},
	{name: "auth-offline-unregistered", check: "client-auth-refresh-grant", at: stateless, over: onHTTP, plays: list("auth-plain"), more: list("client-auth-offline")},
	{name: "auth-offline", check: "client-auth-offline", at: stateless, over: onHTTP, plays: list("auth-plain")},
	{name: "auth-needs-refresh", check: "client-auth-no-refresh", at: stateless, over: onHTTP, plays: list("auth-expired")},
	{name: "auth-post-only", check: "client-auth-token-method", at: stateless, over: onHTTP, plays: list("auth-openid")},
	{name: "auth-one-registration", check: "client-auth-registers-again", at: stateless, over: onHTTP, plays: list("auth-migration"), more: list("client-auth-credentials-bound")},
}
