package broken

import (
	"bytes"
	"strings"
)

const hostsFile = `{"contents":[{"uri":"file:///etc/hosts","text":"127.0.0.1 localhost"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`

// swapLine sends a log message with the tool work, in which a text is replaced.
func swapLine(old, with string) server {
	return server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "tools/call" && strings.Contains(string(r.Params), `"work"`) {
			c.Line(strings.Replace(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"working"}}`, old, with, 1))
		}
		return a
	}}
}

func without(s server, features ...string) server { s.Without = features; return s }

var sharedMutants = map[string]mutant{
	"features-advertised":      {server: without(give("prompts/list", "", `{"prompts":[]}`), "prompts")},
	"tool-name-case/legacy":    {rev: "2025-11-25", server: give("tools/call", `"HELLO"`, `{"content":[]}`)},
	"cancelled-stops":          {server: mute(`"reason":"a probe"}`)},
	"tool-failure-as-result":   {server: refuse("tools/call", `"name":"picture"`, -32603)},
	"template-filled-in":       {server: refuse("resources/read", "test://item/one", -32002)},
	"hostile-arguments":        {server: dieOn(`[null,{"a":1e308}]`)},
	"hostile-arguments/long":   {server: dieOn(`AAAAAAAAAA`)},
	"hostile-arguments/mute":   {server: mute(`"goldwire":[[[[`)},
	"path-traversal":           {server: give("resources/read", `%2e%2e%2f`, hostsFile)},
	"path-traversal/all":       {warn: true, server: give("resources/read", `etc/hosts`, hostsFile)},
	"log-no-secrets":           {server: swapLine(`"data":"working"`, `"data":"using ghp_0123456789abcdefghijABCDEFGHIJ012345"`)},
	"log-no-secrets/password":  {rev: "2025-11-25", server: swapLine(`"data":"working"`, `"data":{"config":{"password":"hunter22"}}`)},
	"log-no-secrets/key":       {server: swapLine(`"data":"working"`, `"data":"-----BEGIN RSA PRIVATE KEY-----"`)},
	"third-party-secrets-kept": {server: swapArg("tools/call", `"ask"`, `"text":"thank you"`, `"text":"Authorization: Bearer abcdefghijklmnop0123"`)},
	"stderr-utf8":              {server: server{Start: func(c *conn) { c.Stderr("caf\xe9") }}},
	"no-oauth":                 {server: swapArg("tools/call", "no_such_tool", `"error":{`, `"error":{"data":{"WWW-Authenticate":"Bearer"},`)},
	// The envelope.
	"ping-answered/silent": {server: mute(`"method":"ping"`)},
	"id-echo": {server: server{Output: func(_ *conn, r *request, a string) string {
		if r != nil && string(r.ID) == `"7"` {
			return strings.Replace(a, `"id":"7"`, `"id":7`, 1)
		}
		return a
	}}},
	"error-id-echo":      {server: swap("goldwire/no_such_method", `"id":"no-such-method",`, "")},
	"error-id-echo/null": {rev: "2025-11-25", server: swap("goldwire/no_such_method", `"id":"no-such-method"`, `"id":null`)},
	"unknown-method":     {server: swap("goldwire/no_such_method", "-32601", "-32600")},
	"unknown-method/silent": {server: server{Output: func(_ *conn, r *request, a string) string {
		if r != nil && r.Method == "goldwire/no_such_method" {
			return ""
		}
		return a
	}}},
	"message-shape":                       {server: swap("tools/list", `"jsonrpc":"2.0"`, `"jsonrpc":"2"`)},
	"response-one-of":                     {server: swap("tools/list", `"result":`, `"error":{"code":1,"message":"x"},"result":`)},
	"response-one-of/neither":             {server: server{Start: func(c *conn) { c.Line(`{"jsonrpc":"2.0","id":5}`) }}},
	"result-object":                       {server: give("prompts/list", "", "[]")},
	"error-members":                       {server: swap("goldwire/no_such_method", `,"message":"method not found"`, "")},
	"error-code-integer":                  {server: swap("goldwire/no_such_method", `-32601`, `-32601.5`)},
	"params-object":                       {server: say("ping", `{"jsonrpc":"2.0","method":"notifications/message","params":[]}`)},
	"notification-no-id":                  {server: say("tools/list", `{"jsonrpc":"2.0","id":99,"method":"notifications/tools/list_changed"}`)},
	"notification-unanswered/stray":       {server: reply(`"method":"notifications/`, `{"jsonrpc":"2.0","id":999,"result":{}}`)},
	"notification-unanswered/error":       {server: reply("goldwire_unknown", `{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"no"}}`)},
	"notification-unanswered/result":      {server: reply("goldwire_unknown", `{"jsonrpc":"2.0","id":null,"result":{}}`)},
	"notification-unanswered/initialized": {rev: "2025-11-25", server: reply("notifications/initialized", `{"jsonrpc":"2.0","id":null,"result":{}}`)},
	"notification-unanswered": {server: server{Input: func(c *conn, line []byte) bool {
		if bytes.Contains(line, []byte("goldwire_unknown")) {
			c.Line(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown notification"}}`)
			return true
		}
		return false
	}}},
	"requests-answered-once": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && (r.Method == "ping" || r.Method == "server/discover") {
			c.Line(a)
		}
		return a
	}}},
	"answers-belong": {server: say("tools/list", `{"jsonrpc":"2.0","id":31415,"result":{}}`)},
	"server-request-ids": {rev: "2025-06-18", server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && r.Method == "tools/list" {
			c.Line(`{"jsonrpc":"2.0","id":null,"method":"roots/list"}`)
		}
		return a
	}}},
	"server-request-ids-unique": {server: say("tools/list", `{"jsonrpc":"2.0","id":"again","method":"ping"}`)},
	"meta-object":               {server: swapArg("tools/call", "hello", `{"com.example/x":1}`, "5")},
	"meta-key-syntax":           {rev: "2025-11-25", server: swapArg("tools/call", "hello", `com.example/x`, "com..example/x")},
	"meta-unknown-keys":         {server: refuse("ping", "com.example/probe", -32602)},

	// Framing.
	"stdout-messages-only":        {server: server{Start: func(c *conn) { c.Line("Server listening") }}},
	"stdout-messages-only/scalar": {server: server{Start: func(c *conn) { c.Line("42") }}},
	"stdout-messages-only/blank":  {warn: true, server: server{Start: func(c *conn) { c.Line("") }}},
	"no-newline-in-message":       {server: on("tools/list", func(_ *request, a string) string { return strings.Replace(a, `,"result"`, ",\n\"result\"", 1) })},
	"output-utf8":                 {server: swap("tools/list", "Says hello", "Says \xff")},
	"input-in-pieces":             {server: server{Piecemeal: true}},
	"exit-on-eof":                 {server: server{End: func(c *conn) { c.Hang() }}},

	// Lists.
	"lists-walk": {server: on("tools/list", func(_ *request, a string) string {
		return strings.NewReplacer(`"after-4"`, `"after-2"`).Replace(a)
	})},
	"tools-list-answered":           {server: refuse("tools/list", "", -32603)},
	"tools-list-answered/legacy":    {rev: "2025-11-25", warn: true, server: refuse("tools/list", "", -32603)},
	"prompts-list-answered":         {server: refuse("prompts/list", "", -32603)},
	"resources-list-answered":       {server: refuse("resources/list", "", -32603)},
	"completion-declared":           {server: without(give("completion/complete", "", `{"completion":{"values":["x"]},"resultType":"complete"}`), "completions")},
	"completion-undeclared-refused": {server: without(refuse("completion/complete", "", -32602), "completions")},
	"meta-reserved-keys":            {rev: "2025-11-25", server: swapArg("tools/call", "hello", `com.example/x`, "dev.mcp/x")},
	"meta-reserved-keys/2025-06-18": {rev: "2025-06-18", server: swapArg("tools/call", "hello", `com.example/x`, "tools.mcp.com/x")},
	"progress-message":              {server: progressLine(`{"progressToken":1,"progress":1,"message":" "}`)},
	"cursor-string": {server: on("tools/list", func(r *request, a string) string {
		if strings.Contains(a, "nextCursor") {
			return a
		}
		return strings.Replace(a, `"tools":[`, `"nextCursor":null,"tools":[`, 1)
	})},
	"cursor-stable": {server: server{Output: func(c *conn, r *request, a string) string {
		if r != nil && strings.Contains(string(r.Params), `"after-2"`) {
			n, _ := c.State["pages"].(int)
			c.State["pages"] = n + 1
			if n == 2 {
				return strings.Replace(a, `"name":"picture"`, `"name":"pictures"`, 1)
			}
		}
		return a
	}}},
	"bad-cursor-refused":        {server: give("tools/list", "goldwire-no-such-cursor", `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)},
	"tools-list-shape":          {server: swap("tools/list", `"name":"hello",`, "")},
	"prompts-list-shape":        {server: swap("prompts/list", `"name":"plain"`, `"name":5`)},
	"resources-list-shape":      {server: swap("resources/list", `"name":"text",`, "")},
	"templates-list-shape":      {server: swap("resources/templates/list", `"name":"item"`, `"name":null`)},
	"prompt-names-unique":       {server: swap("prompts/list", `"name":"greet"`, `"name":"plain"`)},
	"tool-names-unique":         {server: swap("tools/list", `"name":"add"`, `"name":"hello"`)},
	"resource-uris":             {server: swap("resources/list", `test://text`, `not a uri`)},
	"resource-uris/twice":       {server: swap("resources/list", `test://blob`, `test://text`)},
	"resource-templates":        {server: swap("resources/templates/list", `{id}`, `{id`)},
	"tool-name-length":          {server: swap("tools/list", `"name":"hello"`, `"name":"`+strings.Repeat("x", 129)+`"`)},
	"tool-name-characters":      {server: swap("tools/list", `"name":"hello"`, `"name":"hello world"`)},
	"undeclared-refused":        {server: without(give("tools/list", "", `{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`), "tools")},
	"tools-declared":            {server: without(give("tools/list", "", `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`), "tools")},
	"prompts-declared":          {server: without(give("prompts/list", "", `{"prompts":[{"name":"x"}]}`), "prompts")},
	"resources-declared":        {server: without(give("resources/list", "", `{"resources":[{"name":"x","uri":"a:b"}]}`), "resources")},
	"resources-declared/others": {server: without(give("resources/templates/list", "", `{"resourceTemplates":[{"name":"x","uriTemplate":"a:{b}"}]}`), "resources")},
	"logging-declared":          {server: without(say("tools/list", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`), "logging")},
	"list-changed-declared":     {server: swap("initialize", `"tools":{"listChanged":true}`, `"tools":{}`)},

	// Tools.
	"unknown-tool":              {server: give("tools/call", "goldwire_no_such_tool", `{"content":[{"type":"text","text":"unknown"}],"isError":true,"resultType":"complete"}`)},
	"malformed-tool-call":       {server: give("tools/call", `"name":5`, `{"content":[],"resultType":"complete"}`)},
	"malformed-tool-call/isErr": {warn: true, server: give("tools/call", `"name":5`, `{"content":[],"isError":true,"resultType":"complete"}`)},
	"tool-result-shape":         {server: swapArg("tools/call", "picture", `"mimeType":"image/png",`, "")},
	"tool-content-of-revision":  {rev: "2025-03-26", server: swapArg("tools/call", "hello", `"type":"text","text":"hello"`, `"type":"resource_link","name":"a","uri":"a:b"`)},
	"tool-media":                {server: swapArg("tools/call", "picture", `"data":"`, `"data":"*`)},
	"tool-media/mime":           {server: swapArg("tools/call", "picture", `image/png`, `png`)},
	"tool-media/padding": {warn: true, server: on("tools/call", func(r *request, a string) string {
		return strings.Replace(a, `"data":"iVBORw0KGgo="`, `"data":"iVBORw0KGgo"`, 1)
	})},
	"tool-embeds-resources":    {server: server{Without: []string{"resources"}}},
	"tool-arguments-optional":  {server: on("tools/call", missingArguments)},
	"tool-arguments-validated": {rev: "2025-06-18", server: give("tools/call", `"name":"add","arguments":{}`, `{"content":[],"structuredContent":{"sum":1}}`)},
	"tool-arguments-validated/modern": {server: on("tools/call", func(r *request, a string) string {
		if strings.Contains(a, `"isError":true`) {
			return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"result":{"content":[],"structuredContent":{"sum":1},"resultType":"complete"}}`
		}
		return a
	})},
	"tool-validation-as-result": {server: refuse("tools/call", `"name":"add","arguments":{}`, -32602)},
	"tool-input-schema":         {server: swap("tools/list", `"inputSchema":{"type":"object"}`, `"inputSchema":{}`)},
	"tool-input-schema-valid":   {server: swap("tools/list", `"a":{"type":"number"}`, `"a":{"type":"numbre"}`)},
	"tool-output-schema":        {rev: "2025-06-18", server: swap("tools/list", `"outputSchema":{"type":"object"`, `"outputSchema":{"type":"array"`)},
	"tool-output-schema-valid":  {server: swap("tools/list", `"sum":{"type":"number"}`, `"sum":{"minimum":"1"}`)},
	"tool-schema-no-network":    {server: swap("tools/list", `"a":{"type":"number"}`, `"a":{"$ref":"https://example.com/a.json"}`)},
	"structured-content-object": {rev: "2025-06-18", server: on("tools/call", func(_ *request, a string) string {
		return strings.Replace(a, `"structuredContent":{"sum"`, `"structuredContent":[1],"x":{"sum"`, 1)
	})},
	"structured-content-fits": {server: on("tools/call", func(_ *request, a string) string {
		return strings.Replace(a, `"structuredContent":{"sum"`, `"structuredContent":{"mus"`, 1)
	})},
	"structured-content-fits/none": {server: on("tools/call", func(_ *request, a string) string {
		return strings.Replace(a, `"structuredContent":`, `"structured":`, 1)
	})},
	"structured-content-as-text": {server: on("tools/call", func(_ *request, a string) string {
		return strings.Replace(a, `"text":"{\"sum\"`, `"text":"{\"mus\"`, 1)
	})},
	"tool-annotations": {server: swap("tools/list", `"readOnlyHint":true`, `"readOnlyHint":true,"idempotentHint":"yes"`)},

	// Prompts.
	"prompt-shape":                  {server: swapArg("prompts/get", "plain", `"role":"user"`, `"role":"system"`)},
	"prompt-content-of-revision":    {rev: "2024-11-05", server: swapArg("prompts/get", "plain", `"type":"text","text":"hi"`, `"type":"audio","data":"","mimeType":"audio/wav"`)},
	"prompt-media":                  {server: swapArg("prompts/get", "picture", `"data":"`, `"data":"*`)},
	"prompt-embedded-resource":      {server: swapArg("prompts/get", "doc", `"text":"content"`, `"other":1`)},
	"prompt-embedded-resource/mime": {warn: true, server: swapArg("prompts/get", "doc", `"mimeType":"text/plain",`, ``)},
	"unknown-prompt":                {server: swapArg("prompts/get", "goldwire_no_such_prompt", "-32602", "-32603")},
	"malformed-prompt-request":      {server: give("prompts/get", `{"arguments":{}`, `{"messages":[],"resultType":"complete"}`), rev: "2025-06-18"},
	"prompt-argument-missing": {server: on("prompts/get", func(_ *request, a string) string {
		return strings.Replace(a, `-32602,"message":"who is`, `-32603,"message":"who is`, 1)
	})},
	"prompt-argument-validated": {server: on("prompts/get", func(_ *request, a string) string {
		return strings.Replace(a, `-32602,"message":"arguments are`, `-32603,"message":"arguments are`, 1)
	})},

	// Resources.
	"resource-shape":                {server: swapArg("resources/read", "test://text", `"text":"content"`, `"other":1`)},
	"resource-blob":                 {server: swapArg("resources/read", "test://blob", `"blob":"`, `"blob":"*`)},
	"listed-resources-readable":     {server: refuse("resources/read", "test://text", -32603)},
	"unknown-resource":              {server: on("resources/read", func(_ *request, a string) string { return strings.Replace(a, "-32002", "-32602", 1) })},
	"malformed-resource-request":    {rev: "2025-06-18", server: give("resources/read", `{}`, `{"contents":[]}`)},
	"resource-uri-validated":        {server: give("resources/read", `"uri":""`, `{"contents":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)},
	"resource-uri-validated/passwd": {server: give("resources/read", `etc/passwd`, `{"contents":[{"uri":"x:y","text":"root:x:0:0"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)},

	// Completion.
	"completion-shape":     {server: swap("completion/complete", `"values":["one","two"]`, `"values":["one",2]`)},
	"completion-max-100":   {server: swap("completion/complete", `["one","two"]`, `[`+strings.Repeat(`"x",`, 100)+`"x"]`)},
	"completion-total":     {server: swap("completion/complete", `"total":2`, `"total":1`)},
	"completion-ref-types": {server: refuse("completion/complete", "ref/resource", -32601)},
	"completion-context":   {server: refuse("completion/complete", `"context"`, -32602)},
	"unknown-completion":   {server: give("completion/complete", `goldwire_no_such_prompt`, `{"completion":{"values":[]},"resultType":"complete"}`)},
	"malformed-completion": {server: on("completion/complete", func(_ *request, a string) string {
		return strings.Replace(a, `-32602,"message":"no such ref`, `-32603,"message":"no such ref`, 1)
	})},
	"completion-odd-input":     {server: dieOn(strings.Repeat("a", 1000) + `"}`)},
	"completion-odd-input/any": {warn: true, server: give("completion/complete", `{"a":1}`, `{"completion":{"values":[]},"resultType":"complete"}`)},

	// Cancellation, progress, log messages, entries.
	"cancel-unknown-ignored": {server: server{Input: func(c *conn, line []byte) bool {
		if bytes.Contains(line, []byte("goldwire-unknown")) {
			c.Line(`{"jsonrpc":"2.0","error":{"code":-32602,"message":"no such request"}}`)
		}
		return false
	}}},
	"cancel-crossing": {server: server{Input: func(c *conn, line []byte) bool {
		if n, _ := c.State["cancelled"].(int); bytes.Contains(line, []byte("notifications/cancelled")) {
			if c.State["cancelled"] = n + 1; n > 8 {
				c.Exit(2)
			}
		}
		return false
	}}},
	"progress-shape":       {server: progressLine(`{"progressToken":1}`)},
	"progress-known-token": {server: progressLine(`{"progressToken":"never-given","progress":1}`)},
	"progress-increases":   {server: server{Output: func(c *conn, r *request, a string) string { return doubleProgress(c, r, a) }}},
	"progress-stops":       {server: server{Output: func(c *conn, r *request, a string) string { return lateProgress(c, r, a) }}},
	"log-message-shape":    {server: say("tools/list", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"INFO","data":1}}`)},
	"annotations":          {server: swap("resources/list", `"priority":0.5`, `"priority":5`)},
	"annotations/audience": {server: swap("resources/list", `["user"]`, `["robot"]`)},
	"last-modified":        {server: swap("resources/list", `2025-01-12T15:00:58Z`, `yesterday`)},
	"icons":                {rev: "2025-11-25", server: swap("initialize", `"theme":"light"`, `"theme":"blue"`)},
	"icons/src":            {rev: "2025-11-25", server: swap("initialize", `"src":"data:image/png;base64,iVBORw0KGgo="`, `"src":"icon.png"`)},
}

func missingArguments(r *request, a string) string {
	if r.Params.Get("arguments") == nil && r.Params.Get("name") != nil {
		return `{"jsonrpc":"2.0","id":` + string(r.ID) + `,"error":{"code":-32603,"message":"panic"}}`
	}
	return a
}

func progressLine(params string) server {
	return say("tools/list", `{"jsonrpc":"2.0","method":"notifications/progress","params":`+params+`}`)
}

func doubleProgress(c *conn, r *request, a string) string {
	if r != nil && r.Method == "tools/call" && r.Meta.Get("progressToken") != nil {
		for range 2 {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(r.Meta.Get("progressToken")) + `,"progress":7}}`)
		}
	}
	return a
}

func lateProgress(c *conn, r *request, a string) string {
	if r != nil && r.Method == "tools/call" && r.Meta.Get("progressToken") != nil {
		c.Line(a)
		c.Line(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(r.Meta.Get("progressToken")) + `,"progress":1e9}}`)
		return ""
	}
	return a
}
