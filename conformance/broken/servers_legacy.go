package broken

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// offer rewrites the answer to an initialize that offers a version.
func offer(version string, fn func(c *conn, r *request, a string) string) server {
	return server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "initialize" {
			if v, _ := r.Params.Get("protocolVersion").Str(); v == version {
				return fn(c, r, a)
			}
		}
		return a
	}}
}

// react answers lines that hold a text by a line of its own.
func react(holds, line string) server {
	return server{Input: func(c *conn, in []byte) bool {
		if !bytes.Contains(in, []byte(holds)) {
			return false
		}
		if line != "" {
			c.Line(line)
		}
		return true
	}}
}

const (
	batchMark = `[{"jsonrpc"`
	taskArgs  = `"task":{"ttl"`
)

var legacyMutants = map[string]mutant{
	// Lifecycle and versions.
	"ping-answered":            {server: swap("ping", `"result":{}`, `"result":{"pong":true}`), warn: true},
	"initialize-result":        {server: swap("initialize", `"name":"checktest",`, ``)},
	"ping-before-initialized":  {server: server{Input: noteReady, Output: beforeInitialized}},
	"quiet-before-initialized": {server: once("initialize", `{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)},
	"faulty-initialize-refused": {server: server{Input: func(c *conn, line []byte) bool {
		if bytes.Contains(line, []byte(`"protocolVersion":5`)) {
			c.Exit(1)
			return true
		}
		return false
	}}},
	"experimental-tolerated": {server: refuse("initialize", "experimental", -32602)},
	"capability-shape":       {server: swap("initialize", `"logging":{}`, `"logging":true`)},
	"capability-shape/flag":  {server: swap("initialize", `"tools":{"listChanged":true}`, `"tools":{"listChanged":"yes"}`)},
	"version-echo": {rev: "2025-11-25", server: server{Output: func(c *conn, r *request, a string) string {
		if r == nil || r.Method != "initialize" {
			return a
		}
		switch v, _ := r.Params.Get("protocolVersion").Str(); v {
		case "2025-06-18":
			return strings.Replace(a, "2025-06-18", "2025-03-26", 1)
		case "1999-01-01":
			return strings.Replace(a, c.Revision, "2025-06-18", 1)
		}
		return a
	}}},
	"version-counter-offer": {server: offer("2099-12-31", func(c *conn, _ *request, a string) string {
		return strings.Replace(a, c.Revision, "2099-12-31", 1)
	})},
	"version-counter-offer/error": {warn: true, server: offer("1999-01-01", func(c *conn, r *request, _ string) string {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32602,"message":"unknown version"}}`
	})},
	"version-counter-latest": {server: offer("2099-12-31", func(c *conn, _ *request, a string) string {
		return strings.Replace(a, c.Revision, "2024-11-05", 1)
	})},
	"later-constructs":           {rev: "2025-06-18", server: say("tools/list", `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{}}`)},
	"client-features-undeclared": {rev: "2025-06-18", server: once("tools/call", `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)},

	// Malformed input.
	"parse-error-answered":           {server: react(`no JSON`, ``)},
	"parse-error-answered/code":      {warn: true, server: react(`no JSON`, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}`)},
	"parse-error-survived":           {server: dieOn(`no JSON`)},
	"parse-error-survived/hang":      {server: server{Input: func(c *conn, line []byte) bool { return hangOn(c, line, "no JSON") }}},
	"invalid-utf8-survived":          {server: dieOn("\xff")},
	"invalid-request-answered":       {server: mute(`"jsonrpc":"1.0"`)},
	"invalid-request-answered/serve": {warn: true, server: server{Input: serveAnyVersion}},
	"invalid-request-survived":       {server: dieOn(`"method":42`)},
	"params-array-refused":           {server: mute(`"params":[1]`)},
	"params-array-survived":          {server: dieOn(`"params":[1]`)},
	"null-id-refused":                {server: mute(`"id":null`)},
	"null-id-survived":               {server: dieOn(`"id":null`)},
	"batch-not-answered-by-array":    {rev: "2025-06-18", server: react(batchMark, `[{"jsonrpc":"2.0","id":1,"result":{}}]`)},
	"batch-survived":                 {rev: "2025-06-18", server: dieOn(batchMark)},

	// Batches.
	"batch-received":                {server: react(batchMark, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"x"}}`)},
	"batch-received/dies":           {server: dieOn(batchMark)},
	"batch-answered-together":       {server: server{Input: unbatched}},
	"batch-of-notifications-silent": {server: react(`[{"jsonrpc":"2.0","method"`, `[]`)},
	"batch-empty-refused":           {server: lines(func(l string) bool { return l == "[]" }, func(c *conn, _ string) { c.Line("[]") })},
	"batch-empty-refused/silent":    {server: lines(func(l string) bool { return l == "[]" }, func(*conn, string) {})},

	// Logging, subscriptions, what the server asks for.
	"log-level-set":                {server: swapArg("logging/setLevel", "alert", `"result":{}`, `"result":{"level":"alert"}`)},
	"log-level-unknown":            {server: give("logging/setLevel", "verbose", "{}")},
	"log-level-missing":            {server: give("logging/setLevel", "{}", "{}")},
	"log-threshold":                {server: say("tools/call", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)},
	"resource-subscribe":           {server: refuse("resources/subscribe", "", -32601)},
	"updates-only-when-subscribed": {server: say("tools/list", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://text"}}`)},
	"cancel-names-own-request":     {server: say("tools/list", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)},
	"roots-change-tolerated":       {server: dieOn("roots/list_changed")},
	"server-request-shape":         {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[]}`)}},
	"elicit-schema-flat":           {server: server{Output: askFor(`"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}}`)}},
	"elicit-mode":                  {rev: "2025-11-25", server: server{Output: askIf("elicitation", `"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com","elicitationId":"1"}`)}},
	"elicit-required-error": {server: on("tools/call", func(r *request, a string) string {
		if strings.Contains(string(r.Params), `"visit"`) {
			return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32042,"message":"visit","data":{"elicitations":[]}}}`
		}
		return a
	})},
	"roots-undeclared":                    {rev: "2025-06-18", server: once("tools/call", `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)},
	"sampling-undeclared":                 {rev: "2025-06-18", server: once("tools/call", `{"jsonrpc":"2.0","id":"r","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)},
	"elicitation-undeclared":              {rev: "2025-06-18", server: once("tools/call", `{"jsonrpc":"2.0","id":"r","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`)},
	"sampling-content-of-revision":        {rev: "2025-03-26", server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"tool_use","id":"1","name":"t","input":{}}}],"maxTokens":1}`)}},
	"sampling-content-of-revision/list":   {rev: "2025-06-18", server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"maxTokens":1}`)}},
	"sampling-content-of-revision/link":   {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"resource_link","uri":"a:b","name":"x"}}],"maxTokens":1}`)}},
	"sampling-context-declared":           {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"includeContext":"allServers"}`)}},
	"url-elicitation-shape":               {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com"}`)}},
	"url-elicitation-shape/no-url":        {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"log in","elicitationId":"x"}`)}},
	"url-elicitation-shape/again":         {server: server{Output: twice}},
	"url-elicitation-https":               {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"http://example.com","elicitationId":"x"}`)}},
	"url-elicitation-https/error":         {server: swap("tools/call", `https://example.com/in"`, `http://example.com/in"`)},
	"url-elicitation-clean":               {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://me:pw@example.com","elicitationId":"x"}`)}},
	"url-elicitation-clean/query":         {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com/?access_token=1","elicitationId":"x"}`)}},
	"form-elicitation-no-links":           {server: server{Output: askFor(`"method":"elicitation/create","params":{"message":"see https://example.com","requestedSchema":{"type":"object","properties":{}}}`)}},
	"form-elicitation-no-links/member":    {server: server{Output: askFor(`"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","description":"http://example.com"}}}}`)}},
	"form-elicitation-no-secrets":         {server: server{Output: askFor(`"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`)}},
	"form-elicitation-no-secrets/earlier": {rev: "2025-06-18", server: server{Output: askFor(`"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"api_key":{"type":"string"}}}}`)}},
	"form-content-checked":                {server: swapArg("tools/call", `"form"`, `that is no name"}],"isError":true`, `thanks"}]`)},
	"elicitation-complete-known":          {server: say("tools/list", `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"nobody"}}`)},
	"cancels-what-runs":                   {server: server{Output: cancelLate}},
	"cancels-no-tasks":                    {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"task":{}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mutant"}`)}},
	"late-answer-tolerated":               {server: dieOn(`"model":"none"`)},
	"server-progress-tokens":              {server: server{Output: askTwice}},
	"server-info-types":                   {server: swap("initialize", `"version":"1.0.0"`, `"version":"1.0.0","websiteUrl":5`)},
	"server-info-types/instructions":      {rev: "2024-11-05", server: swap("initialize", `"result":{`, `"result":{"instructions":["a"],`)},
	"version-refusal-shape":               {server: offer("1999-01-01", func(_ *conn, r *request, _ string) string { return errorLine(r, -32600, "no") })},
	"version-refusal-shape/data": {server: offer("1999-01-01", func(_ *conn, r *request, _ string) string {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32602,"message":"no","data":{"supported":[1]}}}`
	})},
	"sampling-tools":      {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}`)}},
	"task-support-values": {server: swap("tools/list", `"taskSupport":"optional"`, `"taskSupport":"maybe"`)},

	// Tasks.
	"unknown-task":        {server: on("tasks/get", func(_ *request, a string) string { return strings.Replace(a, "-32602", "-32603", 1) })},
	"task-member-ignored": {server: without(refuse("tools/call", taskArgs, -32601), "tasks")},
	"task-member-ignored/later-tool": {server: without(on("tools/call", func(r *request, a string) string {
		if p := string(r.Params); strings.Contains(p, `"hello"`) || strings.Contains(p, taskArgs) {
			return errorLine(r, -32600, "no")
		}
		return a
	}), "tasks")},
	"task-declared":        {server: without(give("tools/call", taskArgs, `{"task":{"taskId":"1","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}`), "tasks")},
	"task-tool-required":   {server: give("tools/call", `"long-job","arguments":{}}`, `{"content":[]}`)},
	"task-tool-forbidden":  {server: on("tools/call", func(_ *request, a string) string { return strings.Replace(a, "-32601", "-32602", 1) })},
	"task-created":         {server: swapArg("tools/call", taskArgs, `"status":"working"`, `"status":"completed"`)},
	"task-created/refused": {server: refuse("tools/call", `"name":"job","arguments":{},"task"`, -32601)},
	"task-created/content": {server: swapArg("tools/call", taskArgs, `"result":{`, `"result":{"content":[],`)},
	"task-created/same-id": {server: on("tools/call", func(_ *request, a string) string {
		return strings.Replace(a, "c3b8d5f0e2a14796b1d94e0f7a5c6823", "9f1c2e7ab04d4c6f8e35d17a60b2c981", 1)
	})},
	"task-results-shape": {server: swap("tasks/cancel", `"pollInterval":10`, `"pollInterval":"10"`)},
	"task-shape":         {server: swap("tasks/get", `"createdAt":"2025-11-25T10:30:00Z"`, `"createdAt":"now"`)},
	"task-transitions": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "tasks/get" && strings.Contains(a, "completed") {
			key := "ended " + string(r.Params.Get("taskId"))
			if c.State[key] != nil {
				return strings.Replace(a, "completed", "working", 1)
			}
			c.State[key] = true
		}
		return a
	}}},
	"task-result-waits":            {server: swap("tasks/get", `"status":"completed"`, `"status":"working"`)},
	"task-result-exact":            {server: swap("tasks/result", `"text":"done"`, `"text":"finished"`)},
	"task-result-exact/error":      {server: refuse("tasks/result", "9f1c2e7ab04d4c6f8e35d17a60b2c981", -32603)},
	"task-cancelled":               {server: swap("tasks/cancel", `"status":"cancelled"`, `"status":"working"`)},
	"task-cancelled/after":         {server: swap("tasks/get", `"status":"cancelled"`, `"status":"completed"`)},
	"task-param-wins":              {server: swapArg("tasks/get", "related-task", `"taskId":"07e4a9d13c5f4b28a6f0e8d27b91c54e"`, `"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981"`)},
	"task-param-wins/refused":      {server: refuse("tasks/get", "related-task", -32602)},
	"task-named-once":              {server: swap("tasks/get", `"result":{`, `"result":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981"}},`)},
	"task-named-once/notification": {server: say("tasks/list", `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981"}}}}`)},
	"task-progress-named":          {server: say("tasks/list", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"progress-2","progress":5}}`)},
	"task-progress-ends":           {server: say("tasks/list", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"progress-0","progress":5,"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981"}}}}`)},
	"task-status-shape":            {server: say("tasks/list", `{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"9f1c2e7ab04d4c6f8e35d17a60b2c981","status":"working"}}`)},
	"task-result-meta":             {server: swap("tasks/result", `related-task`, `other-task`)},
	"task-listed":                  {server: swap("tasks/list", `"taskId":"c3b8d5f0e2a14796b1d94e0f7a5c6823"`, `"taskId":"other"`)},
	"task-ids-unguessable":         {server: server{Output: countedTasks}},
	"task-cancel-final":            {server: swap("tasks/cancel", `-32602,"message":"it is done"`, `-32603,"message":"it is done"`)},
}

// once sends a line before the answer to a method, once a session.
func once(method, line string) server {
	return server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == method && c.State["said"] == nil {
			c.State["said"] = true
			c.Line(line)
		}
		return a
	}}
}

// twice asks for two things under one elicitation id.
func twice(c *conn, r *request, a string) string {
	const ask = `"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com","elicitationId":"twice"}`
	a = askFor(ask)(c, r, a)
	if c.State["asked"] == true {
		c.State["asked"] = 2
		c.Line(`{"jsonrpc":"2.0","id":"mutant-2",` + ask + `}`)
	}
	return a
}

// countedTasks gives tasks ids that count up.
func countedTasks(c *conn, r *request, a string) string {
	if r != nil && r.Method == "tools/call" && strings.Contains(a, `"taskId":"`) {
		n, _ := c.State["counted"].(int)
		c.State["counted"] = n + 1
		before, rest, _ := strings.Cut(a, `"taskId":"`)
		_, after, _ := strings.Cut(rest, `"`)
		return fmt.Sprintf(`%s"taskId":"a-long-name-for-a-task-%d"%s`, before, n, after)
	}
	return a
}

// cancelLate asks for something and cancels it when that was answered and the
// client has gone on to something else.
func cancelLate(c *conn, r *request, a string) string {
	if r == nil {
		return a
	}
	n, asked := c.State["asked"].(int)
	switch {
	case asked && n == 3:
		c.Line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mutant"}}`)
		c.State["asked"] = n + 1
	case asked:
		c.State["asked"] = n + 1
	case r.Method == "tools/call":
		c.Line(`{"jsonrpc":"2.0","id":"mutant","method":"ping"}`)
		c.State["asked"] = 0
	}
	return a
}

// askTwice asks for two things with one progress token, in one write, so that
// neither is answered in between.
func askTwice(c *conn, r *request, a string) string {
	if r != nil && r.Method == "tools/call" && strings.Contains(string(r.Params), `"ask"`) && c.State["asked"] == nil {
		c.State["asked"] = true
		const ask = `,"method":"roots/list","params":{"_meta":{"progressToken":1}}}` + "\n"
		c.Write(`{"jsonrpc":"2.0","id":"one"` + ask + `{"jsonrpc":"2.0","id":"two"` + ask)
	}
	return a
}

func errorLine(r *request, code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, r.ID, code, message)
}

func beforeInitialized(c *conn, r *request, a string) string {
	if r != nil && r.Method == "ping" && c.State["ready"] == nil {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32600,"message":"not ready"}}`
	}
	return a
}

func noteReady(c *conn, line []byte) bool {
	if bytes.Contains(line, []byte("notifications/initialized")) {
		c.State["ready"] = true
	}
	return false
}

func hangOn(c *conn, line []byte, text string) bool {
	if bytes.Contains(line, []byte(text)) {
		c.Hang()
	}
	return false
}

func serveAnyVersion(c *conn, line []byte) bool {
	if !bytes.Contains(line, []byte(`"jsonrpc":"1.0"`)) {
		return false
	}
	c.Line(c.Handle(bytes.Replace(line, []byte("1.0"), []byte("2.0"), 1)))
	return true
}

// unbatched answers the requests of a batch line by line.
func unbatched(c *conn, line []byte) bool {
	if !bytes.HasPrefix(line, []byte(batchMark)) {
		return false
	}
	for a := range wire.Raw(c.Handle(line)).Elems() {
		c.Line(string(a))
	}
	return true
}

// askFor sends a request to a client that declared what it is about, by URL
// only where it declared that, once a session.
func askFor(members string) output {
	_, rest, _ := strings.Cut(members, `"method":"`)
	feature, _, _ := strings.Cut(rest, "/")
	if strings.Contains(members, `"mode":"url"`) {
		feature += ".url"
	}
	return askIf(feature, members)
}

// askIf sends a request to a client that declared a capability, once a session.
func askIf(capability, members string) output {
	return func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "initialize" {
			c.State["client"] = r.Params.Get("capabilities")
		}
		can, _ := c.State["client"].(wire.Raw)
		for name := range strings.SplitSeq(capability, ".") {
			can = can.Get(name)
		}
		if can != nil && r != nil && r.Method == "tools/call" && strings.Contains(string(r.Params), `"ask"`) && c.State["asked"] == nil {
			c.State["asked"] = true
			c.Line(`{"jsonrpc":"2.0","id":"mutant",` + members + `}`)
		}
		return a
	}
}
