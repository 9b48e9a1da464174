package broken

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/goldwire/goldwire/conformance/check/checktest"
)

const (
	legacyRev = "2025-11-25"
	juneRev   = "2025-06-18"
	marchRev  = "2025-03-26"
	firstRev  = "2024-11-05"
	foreign   = "http://evil.example"
)

// streams makes a server answer by streams in the stateless revision too.
func streams(h *checktest.HTTP) { h.Streams = true }

// modernOnly makes a server of the stateless revision alone.
func modernOnly(h *checktest.HTTP) { h.Server.Versions = []string{"2026-07-28"}; h.NoSSE = true }

// has reports whether a body is a message for a method.
func has(body, method string) bool { return strings.Contains(body, `"method":"`+method+`"`) }

// write answers by a status and a body.
func write(w http.ResponseWriter, status int, media, body string) bool {
	if media != "" {
		w.Header().Set("Content-Type", media)
	}
	w.WriteHeader(status)
	if body != "" {
		_, _ = w.Write([]byte(body))
	}
	return true
}

func writeError(w http.ResponseWriter, status int, id string, code int) bool {
	return write(w, status, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"no"}}`, id, code))
}

var idIn = regexp.MustCompile(`"id":("[^"]*"|-?\d+)`)

func idOf(body string) string {
	if m := idIn.FindStringSubmatch(body); m != nil {
		return m[1]
	}
	return "null"
}

// ask alters requests alone.
func ask(fn func(r *http.Request, body string)) func() edits {
	return func() edits {
		return edits{ask: func(r *http.Request, body string) string { fn(r, body); return body }}
	}
}

// head alters statuses and headers alone.
func head(fn func(r *http.Request, body string, status int, h http.Header) int) func() edits {
	return func() edits { return edits{head: fn} }
}

// status changes one status to another where the request matches.
func status(from, to int, match func(r *http.Request, body string) bool) func() edits {
	return head(func(r *http.Request, body string, status int, _ http.Header) int {
		if status == from && match(r, body) {
			return to
		}
		return status
	})
}

// data alters bodies alone.
func data(fn func(r *http.Request, body, text string) string) func() edits {
	return func() edits { return edits{data: fn} }
}

// instead answers some requests in place of the server.
func instead(fn func(w http.ResponseWriter, r *http.Request, body string) bool) func() edits {
	return func() edits { return edits{instead: fn} }
}

func posted(r *http.Request, _ string) bool { return r.Method == http.MethodPost }
func always(*http.Request, string) bool     { return true }

// told matches notifications.
func told(r *http.Request, body string) bool {
	return r.Method == http.MethodPost && strings.Contains(body, `"method":"notifications/`) && !strings.HasPrefix(body, "[")
}

// nameIn is the name or URI in the body of a request that needs Mcp-Name.
var nameIn = regexp.MustCompile(`"(?:name|uri)":"([^"]*)"(?:,"arguments":.*)?\}\}$`)

// nameFrom sets Mcp-Name to what stands in the body, for requests of a method.
func nameFrom(method string, where func(given []string) bool) func() edits {
	return ask(func(r *http.Request, body string) {
		if m := nameIn.FindStringSubmatch(body); m != nil && has(body, method) && where(r.Header.Values("Mcp-Name")) {
			r.Header.Set("Mcp-Name", m[1])
		}
	})
}

func anyName(given []string) bool { return len(given) == 1 && !strings.HasPrefix(given[0], "=?") }

var methodIn = regexp.MustCompile(`"method":"([^"]*)"`)

// methodFrom sets Mcp-Method to the method in the body.
func methodFrom(where func(given, method string) bool) func() edits {
	return ask(func(r *http.Request, body string) {
		m := methodIn.FindStringSubmatch(body)
		if m != nil && r.Method == http.MethodPost && where(r.Header.Get("Mcp-Method"), m[1]) {
			r.Header.Set("Mcp-Method", m[1])
		}
	})
}

// renamed gives sessions other ids than the server does.
func renamed(name func(n int, id string) string) func() edits {
	return func() edits {
		var mu sync.Mutex
		theirs, ours := map[string]string{}, map[string]string{}
		return edits{
			head: func(_ *http.Request, _ string, status int, h http.Header) int {
				if id := h.Get("Mcp-Session-Id"); id != "" {
					mu.Lock()
					defer mu.Unlock()
					if ours[id] == "" {
						ours[id] = name(len(ours)+1, id)
						theirs[ours[id]] = id
					}
					h.Set("Mcp-Session-Id", ours[id])
				}
				return status
			},
			ask: func(r *http.Request, body string) string {
				mu.Lock()
				defer mu.Unlock()
				if id := theirs[r.Header.Get("Mcp-Session-Id")]; id != "" {
					r.Header.Set("Mcp-Session-Id", id)
				}
				return body
			},
		}
	}
}

// event is one event of a stream.
func event(message string) string { return "data: " + message + "\n\n" }

// param sets Mcp-Param-Region where it matches.
func param(name, value string, match func(given string, there bool, body string) bool) func() edits {
	return ask(func(r *http.Request, body string) {
		if !has(body, "tools/call") || !strings.Contains(body, `"region"`) {
			return
		}
		given, there := r.Header["Mcp-Param-"+name]
		if match(strings.Join(given, ","), there, body) {
			r.Header.Set("Mcp-Param-"+name, value)
		}
	})
}

func unauthorized(fn func(h http.Header)) func() edits {
	return head(func(_ *http.Request, _ string, status int, h http.Header) int {
		if status == http.StatusUnauthorized {
			fn(h)
		}
		return status
	})
}

func wellKnown(fn func(text string) string) func() edits {
	return data(func(r *http.Request, _, text string) string {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			return fn(text)
		}
		return text
	})
}

var httpMutants = map[string]httpMutant{
	// What a request is answered with.
	"icons-own-origin": {host: "mcp.test", wire: data(func(_ *http.Request, body, text string) string {
		if has(body, "tools/list") {
			return strings.Replace(text, `{"name":"hello"`, `{"icons":[{"src":"https://elsewhere.example/icon.png"}],"name":"hello"`, 1)
		}
		return text
	}), also: "http-authenticated"},
	"http-answer-media": {wire: head(func(r *http.Request, body string, status int, h http.Header) int {
		if has(body, "prompts/list") {
			h.Set("Content-Type", "text/plain")
		}
		return status
	})},
	"http-answer-media/legacy": {rev: juneRev, make: func(h *checktest.HTTP) { h.JSON = true }, wire: head(func(r *http.Request, body string, status int, h http.Header) int {
		if has(body, "prompts/list") {
			h.Set("Content-Type", "text/json")
		}
		return status
	})},
	"http-answer-object": {wire: data(func(r *http.Request, body, text string) string {
		if has(body, "resources/templates/list") {
			return "[" + text + "]"
		}
		return text
	}), also: "modern-no-batches"},
	"http-answer-object/legacy": {rev: legacyRev, make: func(h *checktest.HTTP) { h.JSON = true }, wire: data(func(r *http.Request, body, text string) string {
		if has(body, "resources/templates/list") {
			return "[" + text + "]"
		}
		return text
	}), also: "batch-not-answered-by-array"},
	"http-event-message": {wire: data(func(r *http.Request, body, text string) string {
		if strings.Contains(text, "notifications/progress") {
			return "data: working\n\n" + text
		}
		return text
	})},
	"http-stream-answers": {make: streams, wire: data(func(r *http.Request, body, text string) string {
		if has(body, "resources/templates/list") && strings.Contains(text, `"result"`) {
			return ""
		}
		return text
	}), also: "meta-client-info-optional requests-answered-once"},
	"http-stream-answers/legacy": {rev: juneRev, make: func(h *checktest.HTTP) { h.Fault.RepliesOnGET = true }, also: "http-early-close http-get-no-answers requests-answered-once"},
	"http-stream-ends":           {make: func(h *checktest.HTTP) { h.Streams, h.Fault.KeepsOpen = true, true }},
	"http-stream-ends/legacy":    {rev: legacyRev, make: func(h *checktest.HTTP) { h.Fault.KeepsOpen = true }},
	"http-stream-related": {make: func(h *checktest.HTTP) {
		h.Server = say("tools/list", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}, also: "changes-only-on-listen listen-tagged"},
	"http-stream-related/legacy": {rev: juneRev, make: func(h *checktest.HTTP) {
		h.Server = say("tools/list", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}`)
	}, also: "progress-known-token"},
	"http-log-own-stream": {make: func(h *checktest.HTTP) {
		h.Server = say("tools/list", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"listed"}}`)
	}, also: "log-before-answer log-only-asked"},
	"http-stream-unbuffered": {wire: head(func(_ *http.Request, _ string, status int, h http.Header) int {
		h.Del("X-Accel-Buffering")
		return status
	})},
	"http-no-event-ids": {wire: data(func(r *http.Request, _, text string) string {
		return strings.Replace(text, "data: {", "id: 7\ndata: {", 1)
	})},
	"http-no-session": {wire: head(func(r *http.Request, _ string, status int, h http.Header) int {
		h.Set("Mcp-Session-Id", "b7c1de09f2a84c55")
		return status
	})},
	"http-cancelled-silence": {make: streams, wire: afterlife, also: "http-stream-related"},
	"http-incomplete-400": {wire: status(400, 200, func(r *http.Request, body string) bool {
		return r.Header.Get("Mcp-Method") != "" && !strings.Contains(body, keyVersion) && !strings.Contains(body, `"1.0"`)
	})},
	"http-capability-400": {wire: status(400, 200, func(r *http.Request, body string) bool { return strings.Contains(body, `"name":"ask"`) })},
	"http-version-400": {wire: status(400, 200, func(r *http.Request, body string) bool {
		v := r.Header.Get("Mcp-Protocol-Version")
		return v != "" && v != "2026-07-28" && strings.Contains(body, keyVersion+`":"`+v+`"`)
	})},
	"http-method-404":     {wire: status(404, 400, posted)},
	"http-method-404/200": {wire: status(404, 200, posted)},

	// What is no request.
	"http-notification-202":     {wire: status(202, 200, told)},
	"http-notification-202/204": {rev: legacyRev, wire: status(202, 204, told)},
	"http-notification-202/body": {rev: juneRev, wire: func() edits {
		return edits{after: func(w http.ResponseWriter, r *http.Request, body string, status int) {
			if status == 202 {
				_, _ = w.Write([]byte("ok"))
			}
		}}
	}},
	"http-unacceptable-status": {wire: status(400, 202, func(_ *http.Request, body string) bool { return strings.Contains(body, `"goldwire/x"`) })},
	"http-unacceptable-status/legacy": {rev: juneRev, wire: instead(func(w http.ResponseWriter, _ *http.Request, body string) bool {
		return strings.Contains(body, `"goldwire/x"`) && write(w, 202, "", "")
	})},
	"http-unacceptable-status/error": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return told(r, body) && writeError(w, 200, "null", -32600)
	}), also: "modern-unreadable-id notification-unanswered"},
	"http-unacceptable-status/session": {rev: juneRev, warn: true, wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.Header.Get("Mcp-Session-Id") == "goldwire-no-such-session" && write(w, 202, "", "")
	})},
	"http-notification-error-body": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return told(r, body) && writeError(w, 400, "5", -32600)
	}), also: "answers-belong modern-error-id notification-unanswered"},
	"http-notification-error-body/null": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return told(r, body) && writeError(w, 400, "null", -32600)
	}), also: "modern-unreadable-id"},
	"http-batch-202": {wire: status(202, 200, func(_ *http.Request, body string) bool { return strings.HasPrefix(body, "[") })},

	// Origins.
	"http-origin-refused":          {wire: ask(func(r *http.Request, _ string) { r.Header.Del("Origin") })},
	"http-origin-refused/november": {rev: legacyRev, wire: ask(func(r *http.Request, _ string) { r.Header.Del("Origin") })},
	"http-origin-refused/march":    {rev: marchRev, wire: ask(func(r *http.Request, _ string) { r.Header.Del("Origin") })},
	"http-origin-refused/get": {rev: juneRev, wire: ask(func(r *http.Request, _ string) {
		if r.Method == http.MethodGet {
			r.Header.Del("Origin")
		}
	})},
	"http-origin-refused/old": {rev: firstRev, over: "sse", wire: ask(func(r *http.Request, _ string) { r.Header.Del("Origin") })},
	"http-origin-refused/old-stream": {rev: firstRev, over: "sse", wire: ask(func(r *http.Request, _ string) {
		if r.Method == http.MethodGet {
			r.Header.Del("Origin")
		}
	})},
	"http-origin-403":        {wire: status(403, 400, always)},
	"http-origin-403/legacy": {rev: legacyRev, wire: status(403, 401, always)},
	"http-origin-403/token":  {host: "mcp.test", token: "secret-token", wire: status(403, 401, func(r *http.Request, _ string) bool { return r.Header.Get("Origin") != "" })},
	"http-origin-everywhere": {wire: ask(func(r *http.Request, _ string) {
		if strings.Contains(r.Header.Get("Origin"), "localhost") {
			r.Header.Del("Origin")
		}
	})},
	"http-origin-everywhere/told": {wire: ask(func(r *http.Request, body string) {
		if told(r, body) {
			r.Header.Del("Origin")
		}
	})},
	"http-origin-everywhere/null": {warn: true, wire: ask(func(r *http.Request, _ string) {
		if r.Header.Get("Origin") == "null" {
			r.Header.Del("Origin")
		}
	})},
	"http-origin-everywhere/options": {warn: true, wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method != http.MethodOptions {
			return false
		}
		w.Header().Set("Access-Control-Allow-Origin", "*")
		return write(w, 204, "", "")
	})},
	"http-origin-served": {wire: ask(func(r *http.Request, _ string) {
		if o := r.Header.Get("Origin"); o != "" {
			r.Header.Set("Origin", "x"+o)
		}
	})},
	"http-origin-served/legacy": {rev: juneRev, wire: ask(func(r *http.Request, _ string) {
		if o := r.Header.Get("Origin"); o != "" {
			r.Header.Set("Origin", "x"+o)
		}
	})},
	"http-origin-body": {wire: data(func(r *http.Request, _, text string) string {
		if r.Header.Get("Origin") == "" {
			return text
		}
		return strings.Replace(text, `"jsonrpc":"2.0","error"`, `"jsonrpc":"2.0","id":1,"error"`, 1)
	}), also: "requests-answered-once"},
	"http-authenticated":        {host: "mcp.test"},
	"http-authenticated/legacy": {host: "mcp.test", rev: juneRev},
	"http-authenticated/old":    {host: "mcp.test", rev: firstRev, over: "sse"},

	// Streams of the stateful revisions.
	"http-one-endpoint": {wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.Method == http.MethodGet && r.Header.Get("Origin") == "" && write(w, 404, "text/plain", "no")
	}), also: "http-get-answered"},
	"http-get-answered": {wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.Method == http.MethodGet && r.Header.Get("Origin") == "" && write(w, 200, "application/json", "{}")
	})},
	"http-get-answered/406": {rev: juneRev, wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.Method == http.MethodGet && r.Header.Get("Origin") == "" && write(w, 406, "text/plain", "no")
	})},
	"http-get-no-answers": {make: func(h *checktest.HTTP) { h.Fault.RepliesOnGET = true }, also: "http-stream-answers http-early-close http-drop-retry http-get-unrelated requests-answered-once"},
	"http-get-unrelated":  {make: func(h *checktest.HTTP) { h.Fault.ProgressGET = true }, also: "progress-stops"},
	"http-get-closed":     {wire: closedForGood},
	"http-no-broadcast":   {make: func(h *checktest.HTTP) { h.Fault.Broadcast = true }, also: "http-get-unrelated progress-increases server-request-ids-unique tasks-get-object url-elicitation-shape"},
	"http-early-close": {wire: data(func(_ *http.Request, body, text string) string {
		if strings.Contains(body, `"name":"picture"`) {
			return ""
		}
		return text
	}), also: "http-stream-answers requests-answered-once"},
	"http-drop-after-id": {wire: data(func(_ *http.Request, body, text string) string {
		if strings.Contains(body, `"name":"picture"`) {
			return ""
		}
		return text
	}), also: "http-stream-answers http-priming-event requests-answered-once"},
	"http-drop-retry": {make: func(h *checktest.HTTP) { h.Polls = true }, wire: data(func(_ *http.Request, _, text string) string { return strings.Replace(text, "retry: 20\n", "", 1) })},
	"http-priming-event": {wire: data(func(_ *http.Request, _, text string) string {
		if strings.HasSuffix(text, "data: \n\n") {
			return ""
		}
		return text
	})},
	"http-event-ids-unique":     {make: func(h *checktest.HTTP) { h.Fault.SharedIDs = true }},
	"http-event-id-stream":      {wire: ask(nextStream), also: "http-replay-own-stream"},
	"http-replay-own-stream":    {make: func(h *checktest.HTTP) { h.Fault.ReplaysAll = true }},
	"http-replay":               {rev: juneRev, wire: ask(func(r *http.Request, _ string) { back(r) })},
	"http-disconnect-no-cancel": {make: func(h *checktest.HTTP) { h.Fault.DropCancels = true }},
	"tasks-get-object":          {make: func(h *checktest.HTTP) { h.Fault.TaskStreams = true }},

	// Sessions.
	"http-session-assigned": {wire: head(func(_ *http.Request, body string, status int, h http.Header) int {
		if has(body, "ping") {
			h.Set("Mcp-Session-Id", "9d3e11c07f6b4a28b0d5")
		}
		return status
	})},
	"http-session-id-characters": {wire: renamed(func(_ int, id string) string { return "a session " + id })},
	"http-session-id-strong":     {wire: renamed(func(n int, _ string) string { return strconv.Itoa(n) })},
	"http-session-id-strong/next": {wire: renamed(func(n int, _ string) string {
		return fmt.Sprintf("7f1e8c52-93ab-4d0e-8a61-%012x", 0xb2c4d6e80f10+int64(n))
	})},
	"http-session-missing": {wire: status(400, 422, func(r *http.Request, _ string) bool {
		return r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Method") == ""
	})},
	"http-session-ended": {wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.Method == http.MethodDelete && r.Header.Get("Origin") == "" && write(w, 204, "", "")
	})},
	"http-session-ended/400": {rev: juneRev, wire: status(404, 400, func(r *http.Request, _ string) bool { return r.Header.Get("Mcp-Session-Id") != "" })},
	"http-session-ended/401": {rev: legacyRev, wire: status(404, 401, func(r *http.Request, _ string) bool { return r.Header.Get("Mcp-Session-Id") != "" })},
	"http-session-delete":    {wire: status(204, 500, func(r *http.Request, _ string) bool { return r.Method == http.MethodDelete })},
	"http-version-header-absent": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return has(body, "ping") && r.Header.Get("Mcp-Protocol-Version") == "" && r.Header.Get("Mcp-Session-Id") != "" && writeError(w, 400, "null", -32600)
	})},
	"http-version-header-invalid": {wire: ask(func(r *http.Request, _ string) {
		if v := r.Header.Get("Mcp-Protocol-Version"); v == "not-a-version" || v == "1999-01-01" {
			r.Header.Del("Mcp-Protocol-Version")
		}
	})},
	"http-version-header-invalid/401": {rev: juneRev, wire: status(400, 401, func(r *http.Request, _ string) bool { return r.Header.Get("Mcp-Protocol-Version") == "1999-01-01" })},
	"http-version-header-invalid/no":  {rev: juneRev, wire: status(400, 422, func(r *http.Request, _ string) bool { return r.Header.Get("Mcp-Protocol-Version") == "1999-01-01" })},

	// What stateless HTTP has not.
	"http-endpoint": {wire: afterFew("server/discover", 2, func(w http.ResponseWriter) { write(w, 404, "text/plain", "not found") }), also: "*"},
	"http-unknown-method": {wire: instead(func(w http.ResponseWriter, _ *http.Request, body string) bool {
		return has(body, "goldwire/unknown") && writeError(w, 400, idOf(body), -32602)
	})},
	"http-session-id-ignored": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return r.Header.Get("Mcp-Session-Id") != "" && posted(r, body) && writeError(w, 404, idOf(body), -32600)
	})},
	"http-last-event-id-ignored": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return r.Header.Get("Last-Event-Id") != "" && writeError(w, 400, idOf(body), -32600)
	})},
	"http-get-405":    {wire: status(405, 200, func(r *http.Request, _ string) bool { return r.Method == http.MethodGet })},
	"http-delete-405": {wire: status(405, 200, func(r *http.Request, _ string) bool { return r.Method == http.MethodDelete })},
	"http-old-transport": {make: modernOnly, wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.URL.Path == "/sse" && write(w, 200, "text/event-stream", "event: endpoint\ndata: /messages\n\n")
	})},
	"http-initialize-400": {make: modernOnly, wire: status(400, 404, func(_ *http.Request, body string) bool { return has(body, "initialize") }), also: "http-version-400"},
	"http-listen-stream": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return has(body, "subscriptions/listen") && strings.Contains(body, keyCaps) && strings.Contains(body, `"notifications":{`) && write(w, 200, "application/json", `{"jsonrpc":"2.0","id":`+idOf(body)+`,"result":{"resultType":"complete","_meta":{"`+keySub+`":`+idOf(body)+`}}}`)
	}), also: "listen-several listen-acknowledged-first listen-metadata meta-server-info"},
	"http-listen-released": {make: func(h *checktest.HTTP) { h.Fault.MaxListen = 60 }},

	// Headers that repeat the body.
	"header-version-mismatch": {wire: ask(func(r *http.Request, body string) {
		if strings.Contains(body, keyVersion+`":"2026-07-28"`) && r.Header.Get("Mcp-Protocol-Version") == "2025-11-25" {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		}
	})},
	"header-version-missing": {make: modernOnly, wire: ask(func(r *http.Request, body string) {
		if strings.Contains(body, keyVersion) && r.Header.Get("Mcp-Protocol-Version") == "" {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		}
	})},
	"header-version-missing/2": {warn: true, wire: ask(func(r *http.Request, body string) {
		if strings.Contains(body, keyVersion) && r.Header.Get("Mcp-Protocol-Version") == "" {
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		}
	})},
	"header-method-missing":    {wire: methodFrom(func(given, _ string) bool { return given == "" })},
	"header-method-mismatch":   {wire: methodFrom(func(given, method string) bool { return given != "" && !strings.EqualFold(given, method) })},
	"header-value-case":        {wire: methodFrom(func(given, method string) bool { return strings.EqualFold(given, method) })},
	"header-name-missing":      {wire: nameFrom("prompts/get", func(given []string) bool { return len(given) == 0 })},
	"header-name-missing/tool": {wire: nameFrom("tools/call", func(given []string) bool { return len(given) == 0 })},
	"header-name-tools":        {wire: nameFrom("tools/call", anyName), also: "header-invalid-characters"},
	"header-name-prompts":      {wire: nameFrom("prompts/get", anyName), also: "header-invalid-characters"},
	"header-name-resources":    {wire: nameFrom("resources/read", anyName), also: "header-invalid-characters"},
	"header-name-bad-base64":   {wire: nameFrom("tools/call", func(given []string) bool { return len(given) == 1 && strings.HasPrefix(given[0], "=?") })},
	"header-invalid-characters": {wire: ask(func(r *http.Request, _ string) {
		r.Header.Set("Mcp-Name", strings.Map(ascii, r.Header.Get("Mcp-Name")))
	})},
	"header-error-code": {wire: data(func(_ *http.Request, _, text string) string { return strings.Replace(text, "-32020", "-32602", 1) }), also: "param-header-mismatch"},
	"header-error-code/status": {wire: func() edits {
		return edits{head: func(r *http.Request, body string, status int, _ http.Header) int {
			if m := methodIn.FindStringSubmatch(body); status == 400 && m != nil && r.Header.Get("Mcp-Method") != m[1] && strings.Contains(body, keyVersion) {
				return 422
			}
			return status
		}}
	}},
	"header-error-body": {wire: data(func(r *http.Request, body, text string) string {
		if strings.Contains(text, "-32020") {
			return strings.Replace(text, `"id":`+idOf(body)+`,`, "", 1)
		}
		return text
	})},
	"header-error-body/plain": {wire: data(func(r *http.Request, body, text string) string {
		if strings.Contains(text, "-32020") {
			return "bad headers"
		}
		return text
	}), also: "header-error-code http-answer-media param-header-mismatch resource-uri-validated"},
	"header-names-any-case": {make: func(h *checktest.HTTP) { h.Fault.ExactNames = true }, also: "error-codes-defined"},
	"header-blanks":         {make: func(h *checktest.HTTP) { h.Fault.ExactBlanks = true }, also: "error-codes-defined"},
	"header-name-decoded": {wire: ask(func(r *http.Request, _ string) {
		if strings.HasPrefix(r.Header.Get("Mcp-Name"), "=?") {
			r.Header.Set("Mcp-Name", "x")
		}
	}), also: "*"},
	"header-param-unknown": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return r.Header.Get("Mcp-Param-Zz") != "" && writeError(w, 400, idOf(body), -32020)
	}), also: "error-codes-defined"},
	"header-name-elsewhere": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return has(body, "resources/templates/list") && strings.Contains(body, keyCaps) && r.Header.Get("Mcp-Name") == "" && writeError(w, 400, idOf(body), -32020)
	}), also: "*"},
	"param-header-mismatch": {wire: param("Region", "goldwire", func(_ string, _ bool, body string) bool { return strings.Contains(body, `"region":"goldwire"`) }), also: "param-header-invalid"},
	"param-header-invalid":  {wire: param("Region", "goldwire", func(given string, _ bool, _ string) bool { return strings.Contains(given, "%%") })},
	"param-header-decoded": {wire: param("Region", "other", func(given string, _ bool, _ string) bool {
		return given == "=?base64?"+base64.StdEncoding.EncodeToString([]byte("goldwire"))+"?="
	})},
	"param-header-number": {wire: param("Level", "7", func(given string, _ bool, _ string) bool { return given == "42.0" })},
	"param-header-absent": {wire: instead(func(w http.ResponseWriter, r *http.Request, body string) bool {
		return has(body, "tools/call") && strings.Contains(body, `"name":"region"`) && r.Header.Get("Mcp-Param-Region") == "" && writeError(w, 400, idOf(body), -32020)
	}), also: "*"},

	// HTTP+SSE.
	"sse-addresses": {rev: firstRev, over: "sse", wire: status(202, 400, func(r *http.Request, body string) bool { return has(body, "initialize") })},
	"sse-endpoint-first": {rev: firstRev, over: "sse", wire: data(func(_ *http.Request, _, text string) string {
		if strings.HasPrefix(text, "event: endpoint") {
			return "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n" + text
		}
		return text
	}), also: "*"},
	"sse-message-events": {rev: firstRev, over: "sse", wire: data(func(_ *http.Request, _, text string) string {
		if strings.Contains(text, "notifications/resources/updated") {
			return strings.Replace(text, "event: message", "event: notification", 1)
		}
		return text
	})},
	"sse-clients-apart": {rev: firstRev, over: "sse", make: func(h *checktest.HTTP) { h.Fault.Crossed = true }, also: "requests-answered-once"},
	"http-old-endpoints": {rev: juneRev, wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return r.URL.Path == checktest.PathMessages && write(w, 404, "text/plain", "no")
	})},

	// Who is let in.
	"auth-401":         {host: "mcp.test", token: "secret-token", wire: status(401, 403, func(r *http.Request, _ string) bool { return r.Header.Get("Authorization") == "" })},
	"auth-401/legacy":  {host: "mcp.test", token: "secret-token", rev: juneRev, wire: status(401, 403, func(r *http.Request, _ string) bool { return r.Header.Get("Authorization") == "" }), also: "auth-by-401"},
	"auth-401-invalid": {host: "mcp.test", token: "secret-token", wire: status(401, 403, func(r *http.Request, _ string) bool { return r.Header.Get("Authorization") == "Bearer zz-garbage" })},
	"auth-foreign-token": {host: "mcp.test", token: "secret-token", wire: ask(func(r *http.Request, _ string) {
		if strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ey") {
			r.Header.Set("Authorization", "Bearer secret-token")
		}
	})},
	"auth-challenge":          {host: "mcp.test", token: "secret-token", wire: unauthorized(func(h http.Header) { h.Del("WWW-Authenticate") }), also: "auth-challenge-scope"},
	"auth-challenge-metadata": {host: "mcp.test", token: "secret-token", rev: juneRev, wire: unauthorized(func(h http.Header) { h.Set("WWW-Authenticate", "Bearer") })},
	"auth-challenge-scope":    {host: "mcp.test", token: "secret-token", wire: unauthorized(func(h http.Header) { h.Set("WWW-Authenticate", "Bearer") })},
	"auth-malformed": {host: "mcp.test", token: "secret-token", wire: status(400, 403, func(r *http.Request, _ string) bool {
		return strings.Contains(r.Header.Get("Authorization"), "goldwire-one") || r.Header.Get("Authorization") == "Bearer"
	})},
	"auth-malformed/401": {host: "mcp.test", token: "secret-token", warn: true, wire: status(400, 401, func(r *http.Request, _ string) bool {
		return strings.Contains(r.Header.Get("Authorization"), "goldwire-one") || r.Header.Get("Authorization") == "Bearer"
	})},
	"auth-no-data": {host: "mcp.test", token: "secret-token", wire: func() edits {
		return edits{after: func(w http.ResponseWriter, r *http.Request, body string, status int) {
			if status == 401 {
				_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + idOf(body) + `,"result":{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"public"}}`))
			}
		}}
	}, also: "*"},
	"auth-every-request": {host: "mcp.test", token: "secret-token", wire: remembers, also: "auth-query-token"},
	"auth-query-token": {host: "mcp.test", token: "secret-token", wire: ask(func(r *http.Request, _ string) {
		if t := r.URL.Query().Get("access_token"); t != "" {
			r.Header.Set("Authorization", "Bearer "+t)
		}
	})},
	"auth-insufficient-scope": {host: "mcp.test", token: "narrow-token", wire: head(func(_ *http.Request, _ string, status int, h http.Header) int {
		if status == 403 {
			h.Del("WWW-Authenticate")
		}
		return status
	})},
	"auth-by-401": {host: "mcp.test", token: "secret-token", rev: legacyRev, wire: status(401, 403, func(r *http.Request, _ string) bool { return r.Header.Get("Authorization") == "" }), also: "auth-401"},
	"auth-metadata-found": {host: "mcp.test", token: "secret-token", wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return strings.HasPrefix(r.URL.Path, "/.well-known/") && write(w, 404, "text/plain", "no")
	})},
	"auth-metadata-servers":  {host: "mcp.test", token: "secret-token", wire: wellKnown(func(t string) string { return strings.Replace(t, `["https://login.example.com"]`, `[]`, 1) })},
	"auth-metadata-resource": {host: "mcp.test", token: "secret-token", wire: wellKnown(func(t string) string { return strings.Replace(t, `mcp.test/mcp"`, `mcp.test/other"`, 1) })},
	"auth-no-offline-access": {host: "mcp.test", token: "secret-token", wire: unauthorized(func(h http.Header) {
		h.Set("WWW-Authenticate", strings.Replace(h.Get("WWW-Authenticate"), `scope="`, `scope="offline_access `, 1))
	})},
	"auth-no-offline-access/listed": {host: "mcp.test", token: "secret-token", wire: wellKnown(func(t string) string {
		return strings.Replace(t, `"scopes_supported":[`, `"scopes_supported":["offline_access",`, 1)
	})},
	"elicitation-not-own-login": {host: "mcp.test", token: "secret-token", make: func(h *checktest.HTTP) {
		h.Server = swap("tools/call", "https://example.com/login", "https://login.example.com/authorize?response_type=code&client_id=me")
	}},
	"auth-server-metadata": {host: "mcp.test", token: "secret-token", wire: instead(func(w http.ResponseWriter, r *http.Request, _ string) bool {
		return strings.HasPrefix(r.URL.Path, "/.well-known/oauth-authorization-server") && write(w, 404, "text/plain", "no")
	})},
	"auth-registration/june": {host: "mcp.test", token: "secret-token", rev: juneRev, wire: wellKnown(func(t string) string {
		return strings.NewReplacer("https://login.example.com", "http://mcp.test", "registration_endpoint", "x").Replace(t)
	})},
	"auth-registration": {host: "mcp.test", token: "secret-token", rev: marchRev, wire: wellKnown(func(t string) string { return strings.Replace(t, "registration_endpoint", "x", 1) })},
}

func ascii(r rune) rune {
	if r >= 0x20 && r < 0x7f {
		return r
	}
	return -1
}

// afterFew answers all requests for a method but the first few in another way.
func afterFew(method string, few int, fn func(w http.ResponseWriter)) func() edits {
	return func() edits {
		var mu sync.Mutex
		n := 0
		return edits{instead: func(w http.ResponseWriter, r *http.Request, body string) bool {
			mu.Lock()
			defer mu.Unlock()
			if !has(body, method) || r.Header.Get("Mcp-Protocol-Version") == "" {
				return false
			}
			if n++; n <= few {
				return false
			}
			fn(w)
			return true
		}}
	}
}

// afterlife reports progress of a call that was dropped on the stream of the
// next request.
func afterlife() edits {
	var mu sync.Mutex
	dropped := false
	return edits{
		after: func(_ http.ResponseWriter, r *http.Request, body string, _ int) {
			if r.Context().Err() != nil && strings.Contains(body, "goldwire-dropped") {
				mu.Lock()
				defer mu.Unlock()
				dropped = true
			}
		},
		data: func(_ *http.Request, body, text string) string {
			mu.Lock()
			defer mu.Unlock()
			if !dropped || !has(body, "tools/list") {
				return text
			}
			dropped = false
			return event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"goldwire-dropped","progress":1}}`) + text
		},
	}
}

// closedForGood ends a session when the stream of GET is closed.
func closedForGood() edits {
	var mu sync.Mutex
	var over []string
	return edits{
		after: func(_ http.ResponseWriter, r *http.Request, _ string, status int) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet && status == 200 && r.Header.Get("Last-Event-Id") == "" && r.URL.Path == checktest.PathMCP {
				over = append(over, r.Header.Get("Mcp-Session-Id"))
			}
		},
		instead: func(w http.ResponseWriter, r *http.Request, _ string) bool {
			mu.Lock()
			defer mu.Unlock()
			return r.Method == http.MethodPost && slices.Contains(over, r.Header.Get("Mcp-Session-Id")) && write(w, 404, "text/plain", "gone")
		},
	}
}

// remembers lets in who was let in before.
func remembers() edits {
	var mu sync.Mutex
	known := false
	return edits{ask: func(r *http.Request, body string) string {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Header.Get("Authorization") == "" && known && r.Method == http.MethodPost && has(body, "tools/list"):
			r.Header.Set("Authorization", "Bearer secret-token")
		case r.Header.Get("Authorization") == "" && has(body, "tools/list"):
			known = true // from the next one on
		}
		return body
	}}
}

// nextStream resumes the stream after the one that is asked for.
func nextStream(r *http.Request, _ string) {
	id, n, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Last-Event-Id"), "s"), "-")
	if at, err := strconv.Atoi(id); ok && err == nil {
		r.Header.Set("Last-Event-Id", "s"+strconv.Itoa(at+1)+"-"+n)
	}
}

// back resumes a stream one event too early.
func back(r *http.Request) {
	id, n, ok := strings.Cut(r.Header.Get("Last-Event-Id"), "-")
	if at, err := strconv.Atoi(n); ok && err == nil {
		r.Header.Set("Last-Event-Id", id+"-"+strconv.Itoa(at-1))
	}
}
