package check_test

import (
	"bytes"
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
	"ping-answered":            {server: swap("ping", `"result":{}`, `"result":{"pong":true}`)},
	"initialize-result":        {server: swap("initialize", `"name":"checktest",`, ``)},
	"ping-before-initialized":  {server: server{Input: noteReady, Output: beforeInitialized}},
	"quiet-before-initialized": {server: say("initialize", `{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)},
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
	"client-features-undeclared": {rev: "2025-06-18", server: say("tools/call", `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)},

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
	"batch-empty-refused":           {server: react(`[]`, `[]`)},
	"batch-empty-refused/silent":    {server: react(`[]`, ``)},

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
	"elicit-mode":                  {server: server{Output: askFor(`"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://example.com","elicitationId":"1"}`)}},
	"elicit-required-error": {server: on("tools/call", func(r *request, a string) string {
		if strings.Contains(string(r.Params), `"visit"`) {
			return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32042,"message":"visit","data":{"elicitations":[]}}}`
		}
		return a
	})},
	"sampling-tools":      {server: server{Output: askFor(`"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}`)}},
	"task-support-values": {server: swap("tools/list", `"taskSupport":"optional"`, `"taskSupport":"maybe"`)},

	// Tasks.
	"unknown-task":         {server: on("tasks/get", func(_ *request, a string) string { return strings.Replace(a, "-32602", "-32603", 1) })},
	"task-member-ignored":  {server: without(refuse("tools/call", taskArgs, -32601), "tasks")},
	"task-declared":        {server: without(give("tools/call", taskArgs, `{"task":{"taskId":"1","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:30:00Z","ttl":null}}`), "tasks")},
	"task-tool-required":   {server: give("tools/call", `"long-job","arguments":{}}`, `{"content":[]}`)},
	"task-tool-forbidden":  {server: on("tools/call", func(_ *request, a string) string { return strings.Replace(a, "-32601", "-32602", 1) })},
	"task-created":         {server: swapArg("tools/call", taskArgs, `"status":"working"`, `"status":"completed"`)},
	"task-created/content": {server: swapArg("tools/call", taskArgs, `"result":{`, `"result":{"content":[],`)},
	"task-created/same-id": {server: on("tools/call", func(_ *request, a string) string { return strings.Replace(a, "task-2", "task-1", 1) })},
	"task-shape":           {server: swap("tasks/get", `"createdAt":"2025-11-25T10:30:00Z"`, `"createdAt":"now"`)},
	"task-transitions": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "tasks/get" && strings.Contains(a, "completed") {
			if c.State["ended"] != nil {
				return strings.Replace(a, "completed", "working", 1)
			}
			c.State["ended"] = true
		}
		return a
	}}},
	"task-result-meta":  {server: swap("tasks/result", `related-task`, `other-task`)},
	"task-listed":       {server: swap("tasks/list", `"taskId":"task-2"`, `"taskId":"other"`)},
	"task-cancel-final": {server: swap("tasks/cancel", `-32602,"message":"it is done"`, `-32603,"message":"it is done"`)},
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

// askFor sends a request to a client that declared something, once a session.
func askFor(members string) output {
	return func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "tools/call" && strings.Contains(string(r.Params), `"ask"`) && c.State["asked"] == nil {
			c.State["asked"] = true
			c.Line(`{"jsonrpc":"2.0","id":"mutant",` + members + `}`)
		}
		return a
	}
}
