package broken

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	keyVersion = "io.modelcontextprotocol/protocolVersion"
	keyCaps    = "io.modelcontextprotocol/clientCapabilities"
	keyClient  = "io.modelcontextprotocol/clientInfo"
	keyLevel   = "io.modelcontextprotocol/logLevel"
	keySub     = "io.modelcontextprotocol/subscriptionId"
	keyInfo    = "io.modelcontextprotocol/serverInfo"

	discover = "server/discover"
	listen   = "subscriptions/listen"
)

// when rewrites the answers to the requests that match.
func when(match func(r *request) bool, fn func(r *request, a string) string) server {
	return server{Output: func(_ *conn, r *request, a string) string {
		if r != nil && match(r) {
			return fn(r, a)
		}
		return a
	}}
}

// asked matches a method and metadata that has these keys and lacks others,
// which start with a minus.
func asked(method string, keys ...string) func(*request) bool {
	return func(r *request) bool {
		if r.Method != method {
			return false
		}
		for _, k := range keys {
			name, lacks := strings.CutPrefix(k, "-")
			if (r.Meta.Get(name) == nil) != lacks {
				return false
			}
		}
		return true
	}
}

func replaced(old, with string) func(*request, string) string {
	return func(_ *request, a string) string { return strings.Replace(a, old, with, 1) }
}

func resultOf(result string) func(*request, string) string {
	return func(r *request, _ string) string { return checktest.Result(r, result) }
}

func errorOf(code int) func(*request, string) string {
	return func(r *request, _ string) string {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":` + strconv.Itoa(code) + `,"message":"no"}}`
	}
}

// lines deals with lines that match in place of the server.
func lines(match func(line string) bool, fn func(c *conn, line string)) server {
	return server{Input: func(c *conn, line []byte) bool {
		if !match(string(line)) {
			return false
		}
		fn(c, string(line))
		return true
	}}
}

func notJSON(line string) bool { return !json.Valid([]byte(line)) }

func holds(s string) func(string) bool {
	return func(line string) bool { return strings.Contains(line, s) }
}

// counted numbers the requests for a method on one connection, from 1.
func counted(method string, fn func(n int, r *request, a string) string) server {
	return server{Output: func(c *conn, r *request, a string) string {
		if r == nil || r.Method != method {
			return a
		}
		n, _ := c.State[method].(int)
		c.State[method] = n + 1
		return fn(n+1, r, a)
	}}
}

// later makes a list change its entries from the second time on.
func later(method, old, with string) server {
	return counted(method, func(n int, _ *request, a string) string {
		if n > 1 {
			return strings.Replace(a, old, with, 1)
		}
		return a
	})
}

// acks rewrites what the server says of a subscription when it opens: fn gets
// the line of the acknowledgement and the request.
func acks(fn func(c *conn, r wire.Raw, ack string)) server {
	return server{Input: func(c *conn, line []byte) bool {
		v, err := wire.ParseRaw(bytes.TrimSpace(line))
		if method, _ := v.Get("method").Str(); err != nil || method != listen {
			return false
		}
		filter := v.Get("params").Get("notifications")
		if filter.Kind() != wire.KindObject || v.Get("params").Get("_meta").Get(keyVersion) == nil || v.Get("params").Get("_meta").Get(keyCaps) == nil {
			return false
		}
		if fn(c, v, ackOf(string(v.Get("id")), string(filter))); c.State[unsubscribed] == nil {
			c.Listening(v.Get("id"))
		}
		delete(c.State, unsubscribed)
		return true
	}}
}

// unsubscribed is the key of Conn.State that says that there is no subscription
// after all.
const unsubscribed = "unsubscribed"

func ackOf(id, filter string) string {
	return `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"` + keySub + `":` + id + `},"notifications":` + filter + `}}`
}

func tagged(method, id, more string) string {
	return `{"jsonrpc":"2.0","method":"` + method + `","params":{"_meta":{"` + keySub + `":` + id + `}` + more + `}}`
}

// asking rewrites the questions of the tool that asks.
func asking(old, with string) server {
	return when(func(r *request) bool { return r.Method == "tools/call" }, func(_ *request, a string) string {
		if strings.Contains(a, "input_required") {
			return strings.Replace(a, old, with, 1)
		}
		return a
	})
}

const question = `{"resultType":"input_required","inputRequests":{"name":{"method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}}},"requestState":"x"}`

func asksName(r *request) bool {
	name, _ := r.Params.Get("name").Str()
	return r.Method == "tools/call" && name == "ask"
}

var modernMutants = map[string]mutant{
	"listen-graceful-result":      {server: server{Start: func(c *conn) { c.State[checktest.Silent] = true }}},
	"listen-not-remembered":       {server: say("server/discover", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":410041}}}`)},
	"both-eras":                   {server: on("tools/list", func(_ *request, a string) string { return strings.Replace(a, `,"resultType":"complete"`, "", 1) })},
	"input-extra-ignored":         {server: refuse("tools/call", "goldwire-extra", -32602)},
	"input-missing-asked-again":   {server: server{Output: refuseHalf}},
	"input-validated":             {server: give("tools/call", `":7`, `{"content":[],"resultType":"complete"}`)},
	"elicitation-content-checked": {server: give("tools/call", `"name":12345`, `{"content":[],"resultType":"complete"}`)},
	"elicitation-refusal-handled": {server: dieOn(`"decline"`)},
	"input-state-integrity":       {server: give("tools/call", `"requestState":"round-`, `{"content":[],"resultType":"complete"}`)},
	"input-state-bound":           {server: give("tools/call", `"requestState":"round-1"`, `{"content":[],"resultType":"complete"}`)},
	"input-abandoned-survived":    {server: server{Input: abandoned}},

	"sampling-context-avoided":           {server: swap("tools/call", `"maxTokens":10`, `"maxTokens":10,"includeContext":"thisServer"`)},
	"sampling-tool-results-alone":        {server: swap("tools/call", `{"type":"tool_result"`, `{"type":"text","text":"here"},{"type":"tool_result"`)},
	"sampling-tool-results-alone/legacy": {rev: "2025-11-25", server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]},{"type":"text","text":"x"}]}],"maxTokens":1}`)}},
	"sampling-tool-use-balanced":         {server: swap("tools/call", `"toolUseId":"use-1"`, `"toolUseId":"use-2"`)},
	"sampling-tool-use-balanced/legacy":  {rev: "2025-11-25", server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"t","input":{}}}],"maxTokens":1}`)}},

	// Lines that are no proper messages.
	"modern-parse-error":      {server: lines(notJSON, func(*conn, string) {})},
	"modern-parse-error/code": {server: server{Output: func(_ *conn, r *request, a string) string { return strings.Replace(a, "-32700", "-32600", 1) }}, warn: true},
	"modern-parse-error/exit": {server: lines(notJSON, func(c *conn, _ string) { c.Exit(1) })},
	"modern-invalid-request": {server: lines(func(l string) bool { return strings.HasPrefix(l, `{"id"`) }, func(c *conn, l string) {
		c.Line(c.Handle([]byte(`{"jsonrpc":"2.0",` + l[1:])))
	})},
	"modern-invalid-request/silent": {server: lines(holds(`"method":7`), func(*conn, string) {})},
	"modern-null-id": {server: lines(holds(`"id":null`), func(c *conn, l string) {
		c.Line(strings.Replace(c.Handle([]byte(strings.Replace(l, `"id":null`, `"id":1`, 1))), `"id":1`, `"id":null`, 1))
	})},
	"modern-null-id/swallowed": {server: lines(holds(`"id":null`), func(*conn, string) {}), warn: true},
	"modern-params-array": {server: lines(holds(`"params":[`), func(c *conn, l string) {
		c.Line(c.Handle([]byte(strings.Replace(strings.Replace(l, `"params":[`, `"params":`, 1), "]}", "}", 1))))
	})},
	"modern-no-batches": {server: lines(func(l string) bool { return strings.HasPrefix(l, "[") && !notJSON(l) }, func(c *conn, l string) {
		c.Line("[" + c.Handle([]byte(l[1:len(l)-1])) + "]")
	})},
	"modern-malformed-survived": {server: lines(notJSON, func(c *conn, _ string) { c.Exit(2) })},
	"modern-unreadable-id": {server: server{Output: func(_ *conn, r *request, a string) string {
		if r == nil && !strings.Contains(a, `"id"`) {
			return strings.Replace(a, `"error"`, `"id":null,"error"`, 1)
		}
		return a
	}}},
	"modern-error-message":       {server: swap("ping", `"message":"`, `"message":"`+strings.Repeat("very ", 100)), warn: true},
	"modern-error-message/lines": {server: swap("ping", `"message":"`, `"message":"goroutine 1:\n\tmain.go:1 `), warn: true},
	"modern-error-id": {server: when(func(*request) bool { return true }, func(r *request, a string) string {
		if strings.Contains(a, "-32022") {
			return strings.Replace(a, `"id":`+string(r.ID), `"id":"`+string(r.ID)+`"`, 1)
		}
		return a
	})},

	// Metadata.
	"meta-missing":                   {server: when(asked(discover, "-"+keyVersion, "-"+keyCaps), replaced("-32602", "-32600"))},
	"meta-missing/served":            {server: when(asked(discover, "-"+keyVersion, "-"+keyCaps), resultOf(`{"supportedVersions":["2026-07-28"],"capabilities":{}}`))},
	"meta-missing-version":           {server: when(asked(discover, "-"+keyVersion, keyCaps), replaced("-32602", "-32022"))},
	"meta-missing-capabilities":      {server: when(asked(discover, keyVersion, "-"+keyCaps), replaced("-32602", "-32021"))},
	"meta-every-method":              {server: when(asked("completion/complete", "-"+keyCaps), replaced("-32602", "-32603"))},
	"meta-wrong-type":                {server: when(func(r *request) bool { return r.Meta.Get(keyCaps).Kind() == wire.KindArray }, resultOf(`{}`))},
	"meta-wrong-type/version":        {server: when(func(r *request) bool { return r.Meta.Get(keyVersion).Kind() == wire.KindNumber }, errorOf(-32022)), warn: true},
	"meta-client-info-optional":      {server: when(asked(discover, keyVersion, "-"+keyClient), errorOf(-32602))},
	"meta-server-info":               {server: swap("tools/list", keyInfo, "com.example/info")},
	"meta-server-info-shape":         {server: swap("prompts/list", `"version":"1.0.0"`, `"release":"1.0.0"`)},
	"meta-key-reserved":              {server: swap("prompts/list", `"_meta":{`, `"_meta":{"com.mcp.example/x":1,`)},
	"meta-key-reverse-dns":           {server: swap("prompts/list", `"_meta":{`, `"_meta":{"example.com/x":1,`)},
	"meta-trace-context":             {server: swap("tools/call", `"traceparent":"00-`, `"traceparent":"0-`)},
	"meta-trace-context/baggage":     {server: swap("tools/call", `"baggage":"k=v"`, `"baggage":{"k":"v"}`)},
	"meta-trace-context/all zeros":   {server: swap("tools/call", "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32))},
	"meta-not-remembered":            {server: when(asked("tools/list", "-"+keyVersion), resultOf(`{"tools":[]}`))},
	"meta-not-remembered/other code": {server: when(asked("tools/list", "-"+keyVersion), errorOf(-32600))},

	// Versions and discovery.
	"discover-served":             {server: when(asked(discover), errorOf(-32603))},
	"discover-versions":           {server: swap(discover, `["2026-07-28"]`, `[]`)},
	"discover-versions/other":     {server: swap(discover, `["2026-07-28"]`, `["2025-11-25"]`)},
	"discover-capabilities":       {server: swap(discover, `"capabilities":{`, `"capabilities":null,"old":{`)},
	"discover-shape":              {server: swap(discover, `"capabilities"`, `"instructions":5,"capabilities"`)},
	"discover-shape/capability":   {server: swap(discover, `"capabilities":{`, `"capabilities":{"experimental":true,`)},
	"extension-identifiers":       {server: swap(discover, "com.example/thing", "thing")},
	"extension-settings":          {server: swap(discover, `"com.example/thing":{}`, `"com.example/thing":true`)},
	"version-unsupported-refused": {server: when(func(r *request) bool { return version(r) == "2099-01-01" }, resultOf(`{}`))},
	"version-unsupported-code":    {server: when(func(r *request) bool { return version(r) == "1900-01-01" }, replaced("-32022", "-32602"))},
	"version-unsupported-code/empty": {server: when(func(r *request) bool { return r.Meta.Get(keyVersion) != nil && version(r) == "" }, func(r *request, a string) string {
		if r.Meta.Get(keyVersion).Kind() == wire.KindString {
			return errorOf(-32602)(r, a)
		}
		return a
	}), warn: true},
	"version-unsupported-list": {server: swap(discover, `"supported":["2026-07-28"]`, `"supported":[]`)},
	"version-requested-echo":   {server: swap(discover, `"requested":"1900-01-01"`, `"requested":"2026-07-28"`)},
	"version-lists-agree":      {server: swap(discover, `"supported":["2026-07-28"]`, `"supported":["2026-07-28","2027-01-01"]`)},
	"version-known-old":        {server: when(func(r *request) bool { return version(r) == "2025-11-25" }, errorOf(-32600))},
	"version-listed-served":    {server: swap(discover, `"supportedVersions":["2026-07-28"]`, `"supportedVersions":["2026-07-28","2026-12-01"]`)},
	"version-per-request": {server: server{Output: func(c *conn, r *request, a string) string {
		if r == nil {
			return a
		}
		if version(r) == "2099-01-01" {
			c.State["sulks"] = true
		} else if c.State["sulks"] != nil && r.Method == discover && strings.Contains(a, "result") && string(r.ID) < "7" {
			return errorOf(-32022)(r, a)
		}
		return a
	}}},
	"removed-methods":              {server: when(asked("ping", keyVersion), resultOf(`{}`))},
	"removed-methods/handshake":    {server: when(asked("initialize", keyVersion), resultOf(`{"protocolVersion":"2025-11-25","capabilities":{}}`))},
	"initialize-no-modern-version": {server: swapArg("initialize", "2099-12-31", "2025-11-25", "2026-07-28")},
	"initialize-known-version":     {server: when(asked("initialize", "-"+keyVersion), resultOf(`{"protocolVersion":"2025-11-24","capabilities":{},"serverInfo":{"name":"x","version":"1"}}`))},
	"initialize-answered/dies": {server: server{Versions: []string{"2026-07-28"}, Input: func(c *conn, line []byte) bool {
		dies := bytes.Contains(line, []byte(`"initialize"`)) && !bytes.Contains(line, []byte(keyVersion))
		if dies {
			c.Exit(1)
		}
		return dies
	}}},
	"initialize-answered": {server: server{Versions: []string{"2026-07-28"}, Output: func(_ *conn, r *request, a string) string {
		if r != nil && r.Method == "initialize" {
			return ""
		}
		return a
	}}},
	"initialize-names-versions": {server: server{Versions: []string{"2026-07-28"}, Output: on("initialize", errorOf(-32601)).Output}},

	// Statelessness.
	"first-request-served": {server: server{Output: func(c *conn, r *request, a string) string {
		if r == nil {
			return a
		}
		if r.Method == discover {
			c.State["known"] = true
		} else if c.State["known"] == nil && strings.Contains(a, "result") && r.Modern {
			return errorOf(-32600)(r, a)
		}
		return a
	}}},
	"interleaved-requests": {server: on(discover, func(r *request, a string) string {
		if string(r.ID) == `"900001"` {
			return strings.Replace(a, `"900001"`, `900001`, 1)
		}
		return a
	})},
	"client-info-no-influence": {server: when(func(r *request) bool { return strings.Contains(string(r.Meta.Get(keyClient)), "Claude") }, replaced(`"name":"greet"`, `"name":"welcome"`))},
	"tools-order-stable": {server: counted("tools/list", func(n int, _ *request, a string) string {
		if n%2 == 0 {
			return strings.NewReplacer(`"name":"hello"`, `"name":"add"`, `"name":"add"`, `"name":"hello"`).Replace(a)
		}
		return a
	})},
	"tools-list-independent":               {server: later("tools/list", `"name":"hello"`, `"name":"hello2"`)},
	"prompts-list-independent":             {server: later("prompts/list", `"name":"plain"`, `"name":"plain2"`)},
	"resources-list-independent":           {server: later("resources/list", `"uri":"test://text"`, `"uri":"test://text2"`)},
	"resources-templates-list-independent": {server: later("resources/templates/list", `test://item/{id}`, `test://thing/{id}`)},

	"cursor-elsewhere": {server: server{Output: func(c *conn, r *request, a string) string {
		if r == nil || r.Method != "tools/list" {
			return a
		}
		if r.Params.Get("cursor") == nil && strings.Contains(a, "after-") {
			c.State["cursor"] = true
		}
		n, _ := c.State[r.Method].(int)
		c.State[r.Method] = n + 1
		if r.Params.Get("cursor") != nil && c.State[discover] == nil && strings.Contains(a, "result") {
			return errorOf(-32602)(r, a)
		}
		return a
	}, Input: func(c *conn, line []byte) bool {
		// Only the process that the checker asked first knows its cursors.
		if bytes.Contains(line, []byte(discover)) && c.State["asked"] == nil {
			c.State[discover] = true
		}
		c.State["asked"] = true
		return false
	}}},

	// Results and codes.
	"result-type":                          {server: swap("prompts/get", `"resultType":"complete",`, "")},
	"result-type/number":                   {server: swap("resources/list", `"resultType":"complete"`, `"resultType":1`)},
	"result-type-known":                    {server: swap("resources/list", `"resultType":"complete"`, `"resultType":"done"`)},
	"result-type-fits":                     {server: swap("prompts/get", `"resultType":"complete"`, `"resultType":"input_required"`)},
	"cache-ttl":                            {server: swap("prompts/list", `"ttlMs":1000`, `"ttlMs":-1`)},
	"cache-ttl/fraction":                   {server: swap("prompts/list", `"ttlMs":1000`, `"ttlMs":0.5`)},
	"cache-scope":                          {server: swap("prompts/list", `"public"`, `"shared"`)},
	"cache-scope-of-pages":                 {server: swapArg("tools/list", "after-2", `"public"`, `"private"`)},
	"cache-hints-discover":                 {server: swap(discover, `"ttlMs":1000,`, "")},
	"cache-hints-tools-list":               {server: swapArg("tools/list", "after-4", `"ttlMs":1000,`, "")},
	"cache-hints-prompts-list":             {server: swap("prompts/list", `,"cacheScope":"public"`, "")},
	"cache-hints-resources-list":           {server: swap("resources/list", `"ttlMs":1000,`, "")},
	"cache-hints-resources-templates-list": {server: swap("resources/templates/list", `"ttlMs":1000,`, "")},
	"cache-hints-resources-read":           {server: swap("resources/read", `"ttlMs":1000,`, "")},
	"error-codes-retired":                  {server: swap("resources/read", "-32602", "-32002")},
	"error-codes-defined":                  {server: swap("tools/call", "-32602", "-32050")},
	"error-codes-defined/headers":          {server: swap("tools/call", "-32602", "-32020")},
	"error-codes-defined/listed version": {server: when(func(r *request) bool { return r.Method == "prompts/get" && version(r) == "2026-07-28" },
		replaced("-32602", "-32022"))},
	"error-codes-defined/no capabilities": {server: when(asked("tools/call", keyVersion, "-"+keyCaps), replaced("-32602", "-32021"))},
	"error-codes-own":                     {server: swap("tools/call", "-32602", "-32001")},
	"error-codes-own/range":               {server: swap("tools/call", "-32602", "-32500")},
	"server-requests-nothing":             {server: say("prompts/list", `{"jsonrpc":"2.0","id":"s1","method":"ping"}`)},
	"notifications-known":                 {server: server{Without: []string{"extensions"}, Output: say("prompts/list", `{"jsonrpc":"2.0","method":"notifications/initialized"}`).Output}},
	"notifications-known/extension":       {server: say("prompts/list", `{"jsonrpc":"2.0","method":"notifications/example"}`), warn: true},
	"notification-shape":                  {server: say("tools/call", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`)},
	"output-unasked":                      {server: server{Start: func(c *conn) { c.Line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) }}},
	"output-unasked/progress": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "prompts/list" {
			c.Line(a)
			c.Line(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
			return ""
		}
		return a
	}}},
	"last-line-whole": {server: server{End: func(c *conn) {
		c.Write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
	}}},

	// Subscriptions.
	"listen-supported": {server: acks(func(c *conn, r wire.Raw, _ string) {
		c.State[unsubscribed] = true
		c.Line(errorOf(-32601)(&request{ID: r.Get("id")}, ""))
	})},
	"listen-supported/plain": {server: server{Without: checktest.Features, Input: acks(func(c *conn, r wire.Raw, _ string) {
		c.State[unsubscribed] = true
		c.Line(errorOf(-32601)(&request{ID: r.Get("id")}, ""))
	}).Input}, warn: true},
	"listen-acknowledged-first": {server: acks(func(c *conn, r wire.Raw, ack string) {
		c.Line(tagged("notifications/tools/list_changed", string(r.Get("id")), ""))
		c.Line(ack)
	})},
	"listen-acknowledged-first/never": {server: acks(func(*conn, wire.Raw, string) {})},
	"listen-acknowledged-first/result": {server: acks(func(c *conn, r wire.Raw, _ string) {
		c.Line(`{"jsonrpc":"2.0","id":` + string(r.Get("id")) + `,"result":` + c.Farewell(r.Get("id")) + `}`)
	})},
	"listen-acknowledged-first/now and then":  {server: racing},
	"listen-closing-result-last/now and then": {server: racing},
	"listen-tagged": {server: acks(func(c *conn, _ wire.Raw, ack string) {
		c.Line(strings.Replace(ack, keySub, "com.example/id", 1))
	})},
	"listen-tagged/change": {server: acks(func(c *conn, _ wire.Raw, ack string) {
		c.Line(ack)
		c.Line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	})},
	"listen-id": {server: acks(func(c *conn, r wire.Raw, ack string) {
		if r.Get("id").Kind() == wire.KindNumber {
			id := string(r.Get("id"))
			ack = strings.Replace(ack, ":"+id, `:"`+id+`"`, 1)
		}
		c.Line(ack)
	})},
	"listen-acknowledgement-shape": {server: acks(func(c *conn, r wire.Raw, _ string) { c.Line(ackOf(string(r.Get("id")), `{"toolsListChanged":"yes"}`)) })},
	"listen-acknowledges-asked":    {server: acks(func(c *conn, r wire.Raw, _ string) { c.Line(ackOf(string(r.Get("id")), `{"toolsListChanged":true}`)) })},
	"listen-acknowledges-asked/uri": {server: acks(func(c *conn, r wire.Raw, _ string) {
		c.Line(ackOf(string(r.Get("id")), `{"resourceSubscriptions":["test://other"]}`))
	})},
	"listen-acknowledges-declared": {server: server{Without: []string{"prompts"}, Input: acks(func(c *conn, _ wire.Raw, ack string) { c.Line(ack) }).Input}},
	"listen-honours-declared": {server: acks(func(c *conn, r wire.Raw, _ string) {
		c.Line(ackOf(string(r.Get("id")), `{"resourcesListChanged":true}`))
	})},
	"listen-filter-required": {server: when(func(r *request) bool { return r.Method == listen && r.Params.Get("notifications") == nil && r.Modern },
		func(r *request, _ string) string { return ackOf(string(r.ID), "{}") })},
	"listen-filter-required/code": {server: swap(listen, "-32602", "-32600"), warn: true},
	"listen-metadata":             {server: when(asked(listen, "-"+keyCaps, keyVersion), func(r *request, _ string) string { return ackOf(string(r.ID), "{}") })},
	"listen-metadata/silent":      {server: when(asked(listen, "-"+keyVersion), func(*request, string) string { return "" })},
	"listen-does-not-block": {server: acks(func(c *conn, _ wire.Raw, ack string) {
		c.Line(ack)
		c.Hang()
	})},
	"listen-does-not-block/list": {server: server{Input: func(c *conn, line []byte) bool {
		if bytes.Contains(line, []byte(listen)) {
			c.State[listen] = true
		}
		return c.State[listen] != nil && bytes.Contains(line, []byte(`"tools/list"`))
	}}},
	"listen-several": {server: acks(func(c *conn, _ wire.Raw, ack string) {
		if c.State[listen] == nil {
			c.Line(ack)
		}
		c.State[listen] = true
	})},
	"listen-several/refused": {server: acks(func(c *conn, r wire.Raw, ack string) {
		if c.State[listen] != nil {
			ack = errorOf(-32603)(&request{ID: r.Get("id")}, "")
			c.State[unsubscribed] = true
		}
		c.Line(ack)
		c.State[listen] = true
	})},
	"listen-stays-open": {server: acks(func(c *conn, r wire.Raw, ack string) {
		c.Line(ack)
		c.Line(`{"jsonrpc":"2.0","id":` + string(r.Get("id")) + `,"result":` + c.Farewell(r.Get("id")) + `}`)
	})},
	"listen-cancelled-silent": {server: server{Input: func(c *conn, line []byte) bool {
		if bytes.Contains(line, []byte("no longer needed")) {
			c.State["cancelled"] = 0
		} else if n, ok := c.State["cancelled"].(int); ok {
			if c.State["cancelled"] = n + 1; n > 0 {
				c.Line(tagged("notifications/tools/list_changed", "410041", ""))
			}
		}
		return false
	}}},
	"listen-cancelled-silent/result": {server: lines(holds("no longer needed"), func(c *conn, _ string) {
		c.Line(`{"jsonrpc":"2.0","id":410041,"result":` + c.Farewell(wire.Raw("410041")) + `}`)
	}), warn: true},
	"listen-closing-result":      {server: swapArg(listen, `"notifications":{}`, `"`+keySub+`":410045`, `"`+keySub+`":"410045"`)},
	"listen-closing-result/type": {server: swapArg(listen, `"notifications":{}`, `"resultType":"complete"`, `"resultType":"closed"`)},
	"listen-closing-result-last": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == listen && strings.Contains(a, `"result"`) {
			c.Line(a)
			return tagged("notifications/tools/list_changed", string(r.ID), "")
		}
		return a
	}}},
	"listen-teardown": {server: server{Start: func(c *conn) { c.State[checktest.Silent] = true }}, warn: true},
	"listen-only-asked": {server: server{Output: nil, Input: acks(func(c *conn, r wire.Raw, ack string) {
		c.Line(ack)
		c.Line(tagged("notifications/prompts/list_changed", string(r.Get("id")), ""))
	}).Input}},
	"listen-only-watched": {server: acks(func(c *conn, r wire.Raw, ack string) {
		c.Line(ack)
		c.Line(tagged("notifications/resources/updated", string(r.Get("id")), `,"uri":"test://unwatched"`))
	})},
	"listen-no-progress-or-logs": {server: acks(func(c *conn, r wire.Raw, ack string) {
		c.Line(ack)
		c.Line(tagged("notifications/message", string(r.Get("id")), `,"level":"info","data":1`))
	})},
	"changes-only-on-listen":    {server: say("tools/call", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)},
	"changes-only-on-listen/id": {server: say("tools/call", tagged("notifications/resources/updated", `"old"`, `,"uri":"test://text"`))},
	"cancelled-only-for-listen": {server: say("prompts/get", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)},
	"exit-with-subscription":    {server: server{End: func(c *conn) { c.Hang() }}},
	"exit-with-subscription/sub": {server: server{End: hangWithSubscription, Input: func(c *conn, line []byte) bool {
		c.State[listen] = c.State[listen] != nil || bytes.Contains(line, []byte(listen))
		return false
	}}},

	// Rounds of input.
	"input-only-where-allowed": {server: when(func(r *request) bool {
		return r.Method == "prompts/list" && r.Meta.Get(keyCaps).Get("elicitation") != nil
	}, resultOf(question))},
	"input-or-state":             {server: when(func(r *request) bool { return asksName(r) && r.Meta.Get(keyCaps).Get("roots") != nil }, resultOf(`{"resultType":"input_required"}`))},
	"input-request-kinds":        {server: asking(`"method":"roots/list"`, `"method":"ping"`)},
	"input-request-kinds/params": {server: asking(`"maxTokens":10`, `"maxTokens":"ten"`)},
	"input-request-kinds/state":  {server: asking(`"requestState":"round-1"`, `"requestState":{"round":1}`)},
	"input-keys-unique":          {server: asking(`"poem":`, `"roots":`)},
	"input-declared":             {server: when(func(r *request) bool { return asksName(r) && string(r.Meta.Get(keyCaps)) == "{}" }, resultOf(question))},
	"input-declared/form":        {server: when(func(r *request) bool { return asksName(r) && r.Meta.Get(keyCaps).Get("elicitation").Get("url") != nil }, resultOf(question))},
	"input-declared/url":         {server: asking(`"mode":"form","message":"Who are you?",`, `"mode":"url","message":"Who are you?","url":"https://example.com/",`)},
	"input-declared/tools":       {server: asking(`"maxTokens":10`, `"maxTokens":10,"tools":[]`)},
	"input-capabilities-not-remembered": {server: server{Output: func(c *conn, r *request, a string) string {
		if r == nil || !asksName(r) {
			return a
		}
		if r.Meta.Get(keyCaps).Get("elicitation") != nil {
			c.State["elicits"] = true
		} else if c.State["elicits"] != nil {
			return resultOf(question)(r, a)
		}
		return a
	}}},
	"capability-missing":           {server: swap("tools/call", "-32021", "-32603")},
	"capability-missing-data":      {server: swap("tools/call", "requiredCapabilities", "required")},
	"capability-missing-data/list": {server: swap("tools/call", `{"requiredCapabilities":{"elicitation":{}}}`, `{"requiredCapabilities":["elicitation"]}`)},
	"capability-missing-data/known": {server: when(func(r *request) bool { return asksName(r) && r.Meta.Get(keyCaps).Get("roots") != nil }, func(r *request, _ string) string {
		return strings.Replace(errorOf(-32021)(r, ""), `"message"`, `"data":{"requiredCapabilities":{"roots":{}}},"message"`, 1)
	})},
	"input-not-cached":            {server: asking(`"resultType"`, `"ttlMs":0,"resultType"`)},
	"elicitation-form":            {server: asking(`"message":"Who are you?",`, "")},
	"elicitation-form/mode":       {server: asking(`"mode":"form"`, `"mode":"dialog"`)},
	"elicitation-form-flat":       {server: asking(`{"name":{"type":"string"}}`, `{"name":{"type":"object","properties":{}}}`)},
	"elicitation-url":             {server: asking(`"url":"https://example.com/login"`, `"url":"login"`)},
	"elicitation-url-https":       {server: asking(`"url":"https://`, `"url":"http://`)},
	"elicitation-url-no-user":     {server: asking(`"url":"https://`, `"url":"https://me:secret@`)},
	"elicitation-form-no-secrets": {server: asking(`{"name":{"type":"string"}}`, `{"password":{"type":"string"}}`)},
	"elicitation-form-no-links":   {server: asking(`"message":"Who are you?"`, `"message":"See https://example.com/"`)},
	"sampling-context":            {server: asking(`"maxTokens":10`, `"maxTokens":10,"includeContext":"allServers"`)},
	"elicitation-removed":         {server: asking(`"mode":"url"`, `"elicitationId":"1","mode":"url"`)},
	"sampling-shape":              {server: asking(`"role":"user"`, `"role":"system"`)},
	"sampling-shape/limit":        {server: asking(`"maxTokens":10`, `"max":10`)},
	"input-unneeded-ignored":      {server: when(func(r *request) bool { return strings.Contains(string(r.Params), `"goldwire":{"action"`) }, errorOf(-32602))},
	"input-malformed-refused":     {server: when(func(r *request) bool { return string(r.Params.Get("inputResponses")) == "7" }, resultOf(`{"contents":[]}`))},
	"input-state-untrusted":       {server: lines(holds(`"requestState":"zz"`), func(c *conn, _ string) { c.Exit(1) })},
	"input-state-untrusted/ok":    {server: lines(holds(`"requestState":"AAAA`), func(c *conn, _ string) { c.Hang() })},

	// Logs and features.
	"log-only-asked": {server: say("prompts/list", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":1}}`)},
	"log-before-answer": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Meta.Get(keyLevel) != nil && r.Method == "tools/call" {
			c.Line(a)
			return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":1}}`
		}
		return a
	}}},
	"log-level-threshold": {server: when(asked("tools/call", keyLevel), func(_ *request, a string) string {
		return `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n" + a
	})},
	"log-bad-level": {server: when(func(r *request) bool { l, _ := r.Meta.Get(keyLevel).Str(); return l == "verbose" }, resultOf(`{}`))},
	"progress-rate": {server: on("tools/call", func(r *request, a string) string {
		if token := r.Meta.Get("progressToken"); token != nil {
			var b strings.Builder
			for i := range 60 {
				b.WriteString(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(token) + `,"progress":` + strconv.Itoa(100+i) + "}}\n")
			}
			return b.String() + a
		}
		return a
	})},
	"tool-name-case":                 {server: when(func(r *request) bool { n, _ := r.Params.Get("name").Str(); return n != "" && n == strings.ToUpper(n) }, resultOf(`{"content":[]}`))},
	"cursor-type":                    {server: swapArg("resources/list", `"cursor":5`, "-32602", "-32600"), warn: true},
	"cursor-type/served":             {server: give("resources/list", `"cursor":5`, `{"resources":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)},
	"unknown-resource-refused":       {server: swap("resources/read", "-32602", "-32603")},
	"unknown-resource-refused/empty": {server: give("resources/read", "goldwire://no", `{"contents":[],"resultType":"complete"}`)},
	"header-annotations":             {server: swap("tools/list", `"x-mcp-header":"Region"`, `"x-mcp-header":"Re gion"`)},
	"header-annotations/twice":       {server: swap("tools/list", `"x-mcp-header":"Level"`, `"x-mcp-header":"REGION"`)},
	"header-annotations/type":        {server: swap("tools/list", `"type":"integer","x-mcp-header"`, `"type":"number","x-mcp-header"`)},
	"header-annotations-harmless":    {server: swap("tools/list", `"x-mcp-header":"Region"`, `"x-mcp-header":"Api-Key"`)},
	"header-annotations/range":       {server: swap("tools/list", `"type":"integer","x-mcp-header"`, `"type":"integer","maximum":9007199254740993,"x-mcp-header"`)},
	"completion-count":               {server: swap("completion/complete", `"total":2`, `"total":1`)},
	"completion-count/more":          {server: swap("completion/complete", `"hasMore":false`, `"hasMore":true`)},
	"icon-scheme":                    {server: swap("prompts/list", `"src":"data:`, `"src":"ftp:`)},
	"header-annotations/place":       {server: swap("tools/list", `"inner":{"type":"object","properties":{`, `"inner":{"type":"object","patternProperties":{`)},
}

func version(r *request) string {
	v, _ := r.Meta.Get(keyVersion).Str()
	return v
}

func hangWithSubscription(c *conn) {
	if c.State[listen] == true {
		c.Hang()
	}
}

// racing ends a subscription to nothing at once, by two lines whose order is
// wrong only now and then.
var racing = acks(func(c *conn, r wire.Raw, ack string) {
	if string(r.Get("params").Get("notifications")) != "{}" {
		c.Line(ack)
		return
	}
	n, _ := c.State["n"].(int)
	c.State["n"] = n + 1
	two := []string{ack, `{"jsonrpc":"2.0","id":` + string(r.Get("id")) + `,"result":` + c.Farewell(r.Get("id")) + `}`}
	if n%8 == 5 {
		slices.Reverse(two)
	}
	c.Line(two[0])
	c.Line(two[1])
	c.State[unsubscribed] = true
})

// refuseHalf refuses a retry that lacks some of the input.
func refuseHalf(_ *conn, r *request, a string) string {
	if r != nil && r.Params.Get("inputResponses") != nil && strings.Contains(a, "input_required") {
		return errorLine(r, -32602, "there is something missing")
	}
	return a
}

// abandoned ends the server when it has asked for input too often.
func abandoned(c *conn, line []byte) bool {
	if bytes.Contains(line, []byte(`"tools/call"`)) && bytes.Contains(line, []byte(`"name":"ask"`)) && !bytes.Contains(line, []byte("inputResponses")) {
		n, _ := c.State["abandoned"].(int)
		if c.State["abandoned"] = n + 1; n > 40 {
			c.Exit(1)
			return true
		}
	}
	return false
}
