package mcp_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/generated/mcp/step20250618"
	"github.com/goldwire/goldwire/generated/mcp/step20260728"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// became is what a conversion makes of a value: another one and what is lost, or
// an error.
type became struct {
	out, err string
	lost     []string // "path: why"
}

// same is the out of a value that stays as it is.
const same = "same"

// stepCase is one value on its way to the neighbouring revision.
type stepCase struct {
	step, typ, way, in string
	degrade            became
	fail, drop         *became // under those policies; nil: the same
}

// TestStepRules holds each rule of the conversions in values that it decides
// about: what becomes of them under each policy, and exactly what is lost where.
func TestStepRules(t *testing.T) {
	rules := map[string][]stepCase{
		"a member that came later goes where the newer revision has it": {
			{"step20250618", "Tool", "up", `{"name":"t","inputSchema":{"type":"object"},"title":"T","x":1}`,
				became{out: same}, nil, nil},
			{"step20250618", "Tool", "up", `{"name":"t","inputSchema":{"type":"object"},"title":5,"x":1}`,
				became{out: `{"name":"t","inputSchema":{"type":"object"},"x":1}`, lost: []string{`title: want a string, got a number`}},
				&became{err: `title: want a string, got a number`}, nil},
		},
		"a member that there is no more is left out whatever the policy": {
			{"step20250618", "Tool", "down", `{"name":"t","inputSchema":{"type":"object"},"title":"T","outputSchema":{"type":"object"},"_meta":{"k":1},"x":1}`,
				became{out: `{"name":"t","inputSchema":{"type":"object"},"x":1}`, lost: []string{`title: no member of revision 2025-03-26`, `outputSchema: no member of revision 2025-03-26`, `_meta: no member of revision 2025-03-26`}}, nil, nil},
			{"step20250618", "CompleteParams", "down", `{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"x":"y"}}}`,
				became{out: `{"argument":{"name":"a","value":"v"},"ref":{"type":"ref/prompt","name":"p"}}`, lost: []string{`ref.title: no member of revision 2025-03-26`, `context: no member of revision 2025-03-26`}}, nil, nil},
			{"step20250326", "Tool", "down", `{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
				became{out: `{"name":"t","inputSchema":{"type":"object"}}`, lost: []string{`annotations: no member of revision 2024-11-05`}}, nil, nil},
			{"step20250326", "ProgressParams", "down", `{"progressToken":1,"progress":1,"message":"m"}`,
				became{out: `{"progress":1,"progressToken":1}`, lost: []string{`message: no member of revision 2024-11-05`}}, nil, nil},
			{"step20260728", "ServerCapabilities", "down", `{"extensions":{"a/b":{}},"tools":{"listChanged":true}}`,
				became{out: `{"tools":{"listChanged":true}}`, lost: []string{`extensions: no member of revision 2025-11-25`}}, nil, nil},
			{"step20260728", "ServerCapabilities", "up", `{"tasks":{"list":{}},"tools":{}}`,
				became{out: `{"tools":{}}`, lost: []string{`tasks: no member of revision 2026-07-28`}}, nil, nil},
		},
		"what one revision did not know the other reads": {
			{"step20250326", "CallToolResult", "up", `{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"dream","n":1.0}]}`,
				became{out: same}, nil, nil},
			{"step20250326", "CallToolResult", "up", `{"content":[{"type":"audio","data":5}]}`,
				became{out: `{"content":[]}`, lost: []string{`content[0]: data: want a string, got a number`}},
				&became{err: `content[0].data: want a string, got a number`}, nil},
		},
		"audio is told in a text": {
			{"step20250326", "CallToolResult", "down", `{"content":[{"type":"text","text":"a"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"dream","n":1.0}]}`,
				became{out: `{"content":[{"type":"text","text":"a"},{"type":"text","text":"audio/wav, 3 B"},{"type":"dream","n":1.0}]}`, lost: []string{`content[1]: 2024-11-05 has no audio`}},
				&became{err: `content[1]: 2024-11-05 has no audio`},
				&became{out: `{"content":[{"type":"text","text":"a"},{"type":"dream","n":1.0}]}`, lost: []string{`content[1]: 2024-11-05 has no audio`}}},
			{"step20250326", "PromptMessage", "down", `{"role":"user","content":{"type":"audio","data":"AAAA","mimeType":"audio/wav","annotations":{"priority":1}}}`,
				became{out: `{"content":{"type":"text","text":"audio/wav, 3 B","annotations":{"priority":1}},"role":"user"}`, lost: []string{`content: 2024-11-05 has no audio`}},
				&became{err: `content: 2024-11-05 has no audio`},
				&became{err: `content: 2024-11-05 has no audio`}},
			{"step20250326", "SamplingMessage", "down", `{"role":"user","content":{"type":"audio","data":"AAAA","mimeType":"audio/wav"}}`,
				became{out: `{"content":{"type":"text","text":"audio/wav, 3 B"},"role":"user"}`, lost: []string{`content: 2024-11-05 has no audio`}},
				&became{err: `content: 2024-11-05 has no audio`},
				&became{err: `content: 2024-11-05 has no audio`}},
		},
		"a link is told in a text": {
			{"step20250618", "CallToolResult", "down", `{"content":[{"type":"resource_link","name":"log","uri":"file:///log","annotations":{"priority":1,"lastModified":"2026"}}],"structuredContent":{"a":1}}`,
				became{out: `{"content":[{"type":"text","text":"log: file:///log","annotations":{"priority":1}}]}`, lost: []string{`content[0]: 2025-03-26 has no resource links`, `content[0].annotations.lastModified: no member of revision 2025-03-26`, `structuredContent: no member of revision 2025-03-26`}},
				&became{err: `content[0]: 2025-03-26 has no resource links`},
				&became{out: `{"content":[]}`, lost: []string{`content[0]: 2025-03-26 has no resource links`, `structuredContent: no member of revision 2025-03-26`}}},
			{"step20250618", "CallToolResult", "up", `{"content":[{"type":"resource_link","name":"log","uri":"file:///log"}],"structuredContent":{"a":1}}`,
				became{out: same}, nil, nil},
		},
		"older sampling holds one block and no use of tools": {
			{"step20251125", "CreateMessageResult", "down", `{"role":"assistant","model":"m","content":{"type":"tool_use","name":"t","id":"1","input":{}}}`,
				became{err: `content: 2025-06-18 has no use of tools in sampling`}, nil, nil},
			{"step20251125", "CreateMessageResult", "down", `{"role":"assistant","model":"m","content":[{"type":"text","text":"a"}]}`,
				became{out: `{"content":{"type":"text","text":"a"},"model":"m","role":"assistant"}`}, nil, nil},
			{"step20251125", "CreateMessageResult", "down", `{"role":"assistant","model":"m","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`,
				became{err: `content: has to be one there, not several`}, nil, nil},
			{"step20251125", "CreateMessageResult", "down", `{"role":"assistant","model":"m","content":[]}`,
				became{err: `content: has to be one there, not several`}, nil, nil},
			{"step20251125", "CreateMessageResult", "up", `{"role":"assistant","model":"m","content":{"type":"text","text":"a"}}`,
				became{out: `{"content":{"type":"text","text":"a"},"model":"m","role":"assistant"}`}, nil, nil},
			{"step20251125", "SamplingMessage", "down", `{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[]}]}`,
				became{err: `content: 2025-06-18 has no use of tools in sampling`}, nil, nil},
			{"step20251125", "CreateMessageParams", "down", `{"maxTokens":1,"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}],"tools":[],"toolChoice":{"mode":"auto"}}`,
				became{err: `messages[1].content: 2025-06-18 has no use of tools in sampling`}, nil,
				&became{out: `{"maxTokens":1,"messages":[{"content":{"type":"text","text":"a"},"role":"user"}]}`, lost: []string{`messages[1]: content: 2025-06-18 has no use of tools in sampling`, `toolChoice: no member of revision 2025-06-18`, `tools: no member of revision 2025-06-18`}}},
		},
		"older structured content is an object, and so says its schema": {
			{"step20260728", "CallToolResult", "down", `{"resultType":"complete","content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`,
				became{out: `{"content":[{"type":"text","text":"[1]"}]}`, lost: []string{`structuredContent: has to be an object there`}},
				&became{err: `structuredContent: has to be an object there`}, nil},
			{"step20260728", "CallToolResult", "down", `{"resultType":"complete","content":[],"structuredContent":{"a":1}}`,
				became{out: `{"content":[],"structuredContent":{"a":1}}`}, nil, nil},
			{"step20260728", "CallToolResult", "down", `{"resultType":"complete","content":[],"structuredContent":null}`,
				became{out: `{"content":[]}`, lost: []string{`structuredContent: has to be an object there`}},
				&became{err: `structuredContent: has to be an object there`}, nil},
			{"step20260728", "CallToolResult", "up", `{"content":[],"structuredContent":{"a":1},"isError":false}`,
				became{out: `{"resultType":"complete","content":[],"isError":false,"structuredContent":{"a":1}}`}, nil, nil},
			{"step20260728", "Tool", "down", `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}`,
				became{out: `{"name":"t","inputSchema":{"type":"object"}}`, lost: []string{`outputSchema: 2025-11-25 has only the schemas of objects here`}},
				&became{err: `outputSchema: 2025-11-25 has only the schemas of objects here`}, nil},
			{"step20260728", "Tool", "down", `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object","x":1}}`,
				became{out: same}, nil, nil},
		},
		"a result is complete, kept for no time and private unless it says otherwise": {
			{"step20260728", "CallToolResult", "down", `{"resultType":"later","content":[]}`,
				became{err: `resultType: revision 2025-11-25 has only what "complete" is here`}, nil, nil},
			{"step20260728", "ListToolsResult", "down", `{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public","nextCursor":"c"}`,
				became{out: `{"tools":[],"nextCursor":"c"}`, lost: []string{`ttlMs: no member of revision 2025-11-25`, `cacheScope: no member of revision 2025-11-25`}}, nil, nil},
			{"step20260728", "ReadResourceResult", "down", `{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}`,
				became{out: `{"contents":[]}`}, nil, nil},
		},
		"a tool that runs as a task only is hidden from who knows no tasks": {
			{"step20260728", "ListToolsResult", "up", `{"tools":[{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"b","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}],"nextCursor":""}`,
				became{out: `{"resultType":"complete","tools":[{"name":"b","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private","nextCursor":""}`, lost: []string{`tools[0]: the tool runs as a task only, and the client does not declare io.modelcontextprotocol/tasks`, `tools[1].execution: no member of revision 2026-07-28`}}, nil, nil},
			{"step20251125", "ListToolsResult", "down", `{"tools":[{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},{"name":"b","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}]}`,
				became{out: `{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}`, lost: []string{`tools[0]: the tool runs as a task only, and 2025-06-18 has no tasks`, `tools[1].execution: no member of revision 2025-06-18`}}, nil, nil},
			{"step20251125", "Tool", "down", `{"name":"a","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`,
				became{err: `the tool runs as a task only, and 2025-06-18 has no tasks`}, nil, nil},
		},
		"a choice is written as the older revision has it": {
			{"step20251125", "ElicitFormParams", "down", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"b","title":"Blue"}],"default":"r"},"b":{"type":"string","enum":["x"]}}}}`,
				became{out: `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["r","b"],"enumNames":["Red","Blue"]},"b":{"type":"string","enum":["x"]}}}}`, lost: []string{`requestedSchema.properties.a.default: no member of revision 2025-06-18`}}, nil, nil},
			{"step20251125", "ElicitFormParams", "down", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}}`,
				became{err: `requestedSchema.properties.a: 2025-06-18 has no choice of several values`}, nil, nil},
			{"step20251125", "ElicitFormParams", "down", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}}`,
				became{err: `requestedSchema.properties.a: 2025-06-18 has no choice of several values`}, nil, nil},
			{"step20251125", "ElicitFormParams", "up", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["r"],"enumNames":["Red"]},"b":{"type":"string","enum":["x"]}}}}`,
				became{out: same}, nil, nil},
		},
		"older elicitation is by form and takes single values": {
			{"step20251125", "ElicitParams", "down", `{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}`,
				became{err: `mode: 2025-06-18 elicits by form only`}, nil, nil},
			{"step20251125", "ElicitParams", "down", `{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}`,
				became{out: `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`}, nil, nil},
			{"step20251125", "ElicitResult", "down", `{"action":"accept","content":{"a":["x"],"b":1.5,"c":true}}`,
				became{err: `content.a: a value of this kind is not known there`}, nil,
				&became{out: `{"action":"accept","content":{"b":1.5,"c":true}}`, lost: []string{`content.a: a value of this kind is not known there`}}},
			{"step20251125", "ElicitResult", "up", `{"action":"accept","content":{"a":"x"}}`,
				became{out: same}, nil, nil},
			{"step20251125", "ClientCapabilities", "down", `{"elicitation":{"url":{}}}`,
				became{out: `{}`, lost: []string{`elicitation: 2025-06-18 elicits by form only`}}, nil, nil},
			{"step20251125", "ClientCapabilities", "down", `{"elicitation":{"form":{},"url":{}},"tasks":{}}`,
				became{out: `{"elicitation":{"form":{},"url":{}}}`, lost: []string{`tasks: no member of revision 2025-06-18`}}, nil, nil},
			{"step20251125", "ClientCapabilities", "down", `{"elicitation":{}}`,
				became{out: same}, nil, nil},
			{"step20251125", "ClientCapabilities", "up", `{"elicitation":{}}`,
				became{out: same}, nil, nil},
		},
		"the id of an elicitation is of the session": {
			{"step20260728", "ElicitParams", "down", `{"mode":"url","message":"m","url":"https://a"}`,
				became{out: `{"mode":"url","elicitationId":"made-up-1","message":"m","url":"https://a"}`}, nil, nil},
			{"step20260728", "ElicitURLParams", "up", `{"mode":"url","message":"m","url":"https://a","elicitationId":"1"}`,
				became{out: `{"mode":"url","message":"m","url":"https://a"}`, lost: []string{`elicitationId: no member of revision 2026-07-28`}}, nil, nil},
		},
		"a cancellation names its request": {
			{"step20251125", "CancelledParams", "down", `{"reason":"r"}`,
				became{err: `requestId: missing: 2025-06-18 cancels requests only`}, nil, nil},
			{"step20260728", "CancelledParams", "up", `{"reason":"r"}`,
				became{err: `requestId: missing: 2026-07-28 cancels requests only`}, nil, nil},
			{"step20260728", "CancelledParams", "up", `{"requestId":1.0,"reason":"r","_meta":{"k":1}}`,
				became{out: same}, nil, nil},
		},
		"a request says who asks and what it asks as": {
			{"step20260728", "CallToolParams", "up", `{"name":"t","_meta":{"progressToken":1},"task":{"ttl":5}}`,
				became{out: `{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1}}`, lost: []string{`task: no member of revision 2026-07-28`}}, nil, nil},
			{"step20260728", "CallToolParams", "up", `{"name":"t"}`,
				became{out: `{"name":"t","_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`}, nil, nil},
			{"step20260728", "CallToolParams", "down", `{"name":"t","inputResponses":{"k":{"action":"accept"}},"requestState":"s","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/logLevel":"error","progressToken":"p","k":1}}`,
				became{out: `{"name":"t","_meta":{"progressToken":"p","k":1}}`, lost: []string{`_meta["io.modelcontextprotocol/clientCapabilities"]: 2025-11-25 says it once a session`, `_meta["io.modelcontextprotocol/clientInfo"]: 2025-11-25 says it once a session`, `_meta["io.modelcontextprotocol/logLevel"]: 2025-11-25 says it once a session`, `inputResponses: no member of revision 2025-11-25`, `requestState: no member of revision 2025-11-25`}}, nil, nil},
		},
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		t.Run(rule, func(t *testing.T) {
			for _, c := range rules[rule] {
				convert := conversions[c.step][c.typ].up
				if c.way == "down" {
					convert = conversions[c.step][c.typ].down
				}
				for policy, want := range map[wire.Policy]*became{wire.Degrade: &c.degrade, wire.Fail: c.fail, wire.Drop: c.drop} {
					if want == nil {
						want = &c.degrade
					}
					e := environment(policy)
					out, err := convert([]byte(c.in), e)
					where := []any{"%s %s %s with policy %d: %s", c.step, c.typ, c.way, policy, c.in}
					if want.err != "" {
						require.EqualError(t, err, want.err, where...)
						var cannot *wire.ConvertError
						require.ErrorAs(t, err, &cannot, where...)
						continue
					}
					require.NoError(t, err, where...)
					text := want.out
					if text == same {
						text = c.in
					}
					requireEqual(t, text, out)
					var lost []string
					for _, l := range e.Losses {
						lost = append(lost, l.String())
					}
					require.Equal(t, want.lost, lost, where...)
				}
			}
		})
	}
}

// TestStepsReadWhatTheyPass holds that a member which came as an unknown one is
// a member like any other in the revision that has it, and the other way round
// where nothing may be lost.
func TestStepsReadWhatTheyPass(t *testing.T) {
	old := &v20250326.Tool{Name: "t", InputSchema: wire.Raw(`{}`)}
	require.NoError(t, old.SetExtra("title", wire.Raw(`"T"`)))
	require.NoError(t, old.SetExtra("x", wire.Raw(`1`)))
	up, err := step20250618.UpgradeTool(old, nil)
	require.NoError(t, err)
	require.Equal(t, "T", *up.Title)
	require.Equal(t, wire.Members{{Name: "x", Value: wire.Raw(`1`)}}, up.Extra)
	require.Len(t, old.Extra, 2, "what was converted stays as it is")

	e := &wire.Env{Keep: true}
	down, err := step20250618.DowngradeTool(up, e)
	require.NoError(t, err)
	require.Empty(t, e.Losses)
	require.Equal(t, `"T"`, string(down.Extra.Get("title")))
	again, err := step20250618.UpgradeTool(down, nil)
	require.NoError(t, err)
	requireEqual(t, string(up.AppendJSON(nil)), again.AppendJSON(nil))

	nothing, err := step20250618.UpgradeTool(nil, nil)
	require.NoError(t, err)
	require.Nil(t, nothing)
}

// TestStepsAskTheSession holds what 2025-11-25 says once and 2026-07-28 with
// each request: it goes up into the request, and down nothing of it is lost
// when the session has it.
func TestStepsAskTheSession(t *testing.T) {
	session := func() *wire.Env {
		return &wire.Env{
			ClientInfo: wire.Raw(`{"name":"c","version":"1"}`), ClientCapabilities: wire.Raw(`{"roots":{"listChanged":true},"elicitation":{}}`), LogLevel: "error",
		}
	}
	up, err := step20260728.UpgradeCallToolParams(&v20251125.CallToolParams{Name: "t"}, session())
	require.NoError(t, err)
	require.Equal(t, v20260728.Revision, up.Meta.ProtocolVersion)
	require.Equal(t, &v20260728.Implementation{Name: "c", Version: "1"}, up.Meta.ClientInfo)
	require.Equal(t, v20260728.LoggingLevelError, *up.Meta.LogLevel)
	require.NotNil(t, up.Meta.ClientCapabilities.Elicitation)
	require.Equal(t, `{"listChanged":true}`, string(up.Meta.ClientCapabilities.Roots), "an object of which nothing is said there")

	e := session()
	down, err := step20260728.DowngradeCallToolParams(up, e)
	require.NoError(t, err)
	require.Empty(t, e.Losses)
	requireEqual(t, `{"name":"t","_meta":{}}`, down.AppendJSON(nil))

	said := &v20260728.RequestMeta{ProtocolVersion: v20260728.Revision, ClientInfo: &v20260728.Implementation{Name: "other", Version: "2"}}
	up, err = step20260728.UpgradeCallToolParams(&v20251125.CallToolParams{Name: "t"}, &wire.Env{Meta: said, ClientInfo: session().ClientInfo})
	require.NoError(t, err)
	require.Equal(t, "other", up.Meta.ClientInfo.Name, "what a connection says goes before what is known of the session")
}

// TestStepsShowTasksToWhoKnowsThem holds that a tool which only runs as a task
// is there for a client that declares tasks.
func TestStepsShowTasksToWhoKnowsThem(t *testing.T) {
	list := &v20251125.ListToolsResult{Tools: []v20251125.Tool{{Name: "t", InputSchema: wire.Raw(`{}`), Execution: &v20251125.ToolExecution{TaskSupport: new(v20251125.TaskSupportRequired)}}}}
	for _, c := range []struct {
		capabilities string
		tools        int
	}{{`{}`, 0}, {`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1}, {`{"extensions":{"com.example/tasks":{}}}`, 0}} {
		up, err := step20260728.UpgradeListToolsResult(list, &wire.Env{ClientCapabilities: wire.Raw(c.capabilities)})
		require.NoError(t, err)
		require.Len(t, up.Tools, c.tools, c.capabilities)
	}
}

// TestStepsNeedAnElicitationID holds that pages for the user need an id in
// 2025-11-25, which the session makes.
func TestStepsNeedAnElicitationID(t *testing.T) {
	page := &v20260728.ElicitURLParams{Message: "m", URL: "https://a"}
	for _, e := range []*wire.Env{nil, {}} {
		_, err := step20260728.DowngradeElicitURLParams(page, e)
		require.EqualError(t, err, "elicitationId: missing: 2025-11-25 needs one")
	}
	down, err := step20260728.DowngradeElicitURLParams(page, &wire.Env{ElicitationID: func() string { return "id" }})
	require.NoError(t, err)
	require.Equal(t, "id", down.ElicitationID)
	require.NoError(t, page.SetExtra("elicitationId", wire.Raw(`"its own"`)))
	down, err = step20260728.DowngradeElicitURLParams(page, nil)
	require.NoError(t, err)
	require.Equal(t, "its own", down.ElicitationID)
	require.Empty(t, down.Extra)
}

// TestStepsOfErrors holds the codes that the two kinds of revisions have for
// the same thing.
func TestStepsOfErrors(t *testing.T) {
	code := func(err error) int64 {
		e, ok := errors.AsType[*jsonrpc.Error](err)
		require.True(t, ok, "%v", err)
		return e.Code
	}
	plain := errors.New("plain")
	for _, c := range []struct {
		method       string
		older, newer int64
		way          string
	}{
		{"resources/read", jsonrpc.CodeResourceNotFound, jsonrpc.CodeInvalidParams, "both"},
		{"tools/call", jsonrpc.CodeResourceNotFound, jsonrpc.CodeResourceNotFound, "both"},
		{"tools/call", jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidParams, "both"},
		{"resources/read", jsonrpc.CodeInternalError, jsonrpc.CodeInternalError, "both"},
		{"tools/call", jsonrpc.CodeInvalidRequest, jsonrpc.CodeHeaderMismatch, "down"},
		{"tools/call", jsonrpc.CodeInvalidRequest, jsonrpc.CodeMissingClientCapability, "down"},
		{"tools/call", jsonrpc.CodeInvalidRequest, jsonrpc.CodeUnsupportedProtocolVersion, "down"},
	} {
		older := &jsonrpc.Error{Code: c.older, Message: "m", Data: wire.Raw(`{"uri":"u"}`)}
		newer := &jsonrpc.Error{Code: c.newer, Message: "m", Data: wire.Raw(`{"uri":"u"}`)}
		if c.way == "both" {
			up := step20260728.UpgradeError(c.method, older)
			require.Equal(t, c.newer, code(up), "%s %d up", c.method, c.older)
			require.ErrorContains(t, up, "m")
		}
		down := step20260728.DowngradeError(c.method, newer)
		require.Equal(t, c.older, code(down), "%s %d down", c.method, c.newer)
		e, _ := errors.AsType[*jsonrpc.Error](down)
		require.Equal(t, `{"uri":"u"}`, string(e.Data))
		require.Equal(t, c.newer, newer.Code, "what was converted stays as it is")
	}
	require.Equal(t, plain, step20260728.UpgradeError("resources/read", plain))
	require.Equal(t, plain, step20260728.DowngradeError("resources/read", plain))

	visit := v20251125.NewURLElicitationRequiredError(&v20251125.URLElicitationRequiredData{Elicitations: []v20251125.ElicitURLParams{
		{Message: "first", URL: "https://a", ElicitationID: "1"}, {Message: "second", URL: "https://b", ElicitationID: "1"},
	}})
	in, ok := errors.AsType[*v20260728.InputRequiredError](step20260728.UpgradeError("tools/call", visit))
	require.True(t, ok)
	require.Nil(t, in.RequestState)
	require.Equal(t, []string{"1", "elicitation1"}, slices.Sorted(maps.Keys(in.InputRequests)))
	p := in.InputRequests["1"].(*v20260728.ElicitRequest).Params.(*v20260728.ElicitURLParams)
	require.Equal(t, "https://a", p.URL)
	visit.Data = wire.Raw(`{"elicitations":[]}`)
	require.Equal(t, error(visit), step20260728.UpgradeError("tools/call", visit), "without a page there is nothing to ask for")
}

// TestStepsInAChain takes a value from the newest revision to the oldest: what
// each step has to say of it is in the end a value of the oldest.
func TestStepsInAChain(t *testing.T) {
	text := []byte(`{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},` +
		`{"type":"resource_link","name":"log","uri":"file:///log"}],"structuredContent":{"n":1.50},"x":1}`)
	var losses []string
	walk := func(text []byte, keep bool, steps []string, up bool) []byte {
		for _, s := range steps {
			e := environment(wire.Degrade)
			e.Keep = keep
			convert := conversions[s]["CallToolResult"].down
			if up {
				convert = conversions[s]["CallToolResult"].up
			}
			out, err := convert(text, e)
			require.NoError(t, err, s)
			for _, l := range e.Losses {
				losses = append(losses, s+" "+l.Path)
			}
			text = out
		}
		return text
	}
	down := []string{"step20260728", "step20251125", "step20250618", "step20250326"}
	oldest := walk(text, false, down, false)
	requireEqual(t, `{"content":[{"type":"text","text":"a"},{"type":"text","text":"audio/wav, 3 B"},{"type":"text","text":"log: file:///log"}],"x":1}`, oldest)
	require.Equal(t, []string{"step20250618 content[2]", "step20250618 structuredContent", "step20250326 content[1]"}, losses)

	// Where nothing may be lost, it comes back as it was, but for what another
	// thing stands for.
	losses = nil
	kept := walk(text, true, down, false)
	slices.Reverse(down)
	newest := walk(kept, true, down, true)
	requireEqual(t, `{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"text","text":"audio/wav, 3 B"},{"type":"text","text":"log: file:///log"}],`+
		`"structuredContent":{"n":1.50},"x":1}`, newest)
	require.Equal(t, []string{"step20250618 content[2]", "step20250326 content[1]"}, losses)
}
