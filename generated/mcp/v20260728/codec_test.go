package mcp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func strict(text string, v wire.Decoder) error { return wire.Decode([]byte(text), wire.Options{}, v) }

func lenient(t *testing.T, text string, v wire.Decoder) []wire.Problem {
	t.Helper()
	var d wire.Dec
	d.Reset([]byte(text), wire.Options{Lenient: true})
	require.NoError(t, v.DecodeJSON(&d))
	require.NoError(t, d.End())
	return d.Skipped()
}

// TestZeroValuesAreWritten holds exact bytes for required members whose legal
// value is Go's zero value, and for what a zero value of a type must not lose.
func TestZeroValuesAreWritten(t *testing.T) {
	for _, c := range []struct {
		v    wire.Appender
		want string
	}{
		{&mcp.ProgressParams{}, `{"progress":0,"progressToken":null}`},
		{&mcp.ProgressParams{ProgressToken: jsonrpc.NewID(0)}, `{"progress":0,"progressToken":0}`},
		{&mcp.ProgressParams{ProgressToken: jsonrpc.StringID(""), Total: new(0.0), Message: new("")}, `{"progress":0,"progressToken":"","message":"","total":0}`},
		{&mcp.LoggingMessageParams{}, `{"data":null,"level":""}`},
		{&mcp.CreateMessageParams{}, `{"maxTokens":0,"messages":[]}`},
		{&mcp.CreateMessageParams{Temperature: new(0.0), Tools: []mcp.Tool{}}, `{"maxTokens":0,"messages":[],"temperature":0,"tools":[]}`},
		{&mcp.ListToolsResult{}, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`},
		{&mcp.ListToolsResult{NextCursor: new("")}, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private","nextCursor":""}`},
		{&mcp.ReadResourceResult{}, `{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}`},
		{&mcp.DiscoverResult{}, `{"resultType":"complete","capabilities":{},"supportedVersions":[],"ttlMs":0,"cacheScope":"private"}`},
		{&mcp.CallToolResult{}, `{"resultType":"complete","content":[]}`},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{nil}, StructuredContent: wire.Raw("null"), IsError: new(false)},
			`{"resultType":"complete","content":[],"isError":false,"structuredContent":null}`},
		{&mcp.CompleteResult{}, `{"resultType":"complete","completion":{"values":[]}}`},
		{&mcp.InputRequiredResult{RequestState: new("")}, `{"resultType":"input_required","requestState":""}`},
		{&mcp.InputRequiredResult{InputRequests: mcp.InputRequests{}}, `{"resultType":"input_required","inputRequests":{}}`},
		{&mcp.ListRootsResult{}, `{"roots":[]}`},
		{&mcp.ToolUseContent{}, `{"type":"tool_use","name":"","id":"","input":{}}`},
		{&mcp.ToolResultContent{}, `{"type":"tool_result","content":[],"toolUseId":""}`},
		{&mcp.ElicitSchema{}, `{"type":"object","properties":{}}`},
		{&mcp.ElicitURLParams{}, `{"mode":"url","message":"","url":""}`},
		{&mcp.TextContent{}, `{"type":"text","text":""}`},
		{&mcp.BlobResourceContents{}, `{"uri":"","blob":""}`},
		{&mcp.ToolAnnotations{}, `{}`},
		{&mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}, `{"destructiveHint":false,"openWorldHint":false}`},
		{&mcp.ServerCapabilities{Logging: wire.Raw("{}"), Tools: &mcp.ServerCapabilitiesTools{}}, `{"logging":{},"tools":{}}`},
		{&mcp.StringSchema{Default: new(""), MinLength: new(int64(0))}, `{"type":"string","default":"","minLength":0}`},
		{&mcp.NumberSchema{Type: mcp.NumberTypeInteger, Minimum: new(0.0), Default: new(-0.5)}, `{"type":"integer","default":-0.5,"minimum":0}`},
		{&mcp.Annotations{Audience: []mcp.Role{}, Priority: new(0.0)}, `{"audience":[],"priority":0}`},
		{(*mcp.TextContent)(nil), `null`},
		{&mcp.PromptMessage{}, `{"content":null,"role":""}`},
		{&mcp.SamplingMessage{}, `{"content":[],"role":""}`},
		{mcp.InputResponses(nil), `{}`},
		// nil has no place in a list or map of union members.
		{&mcp.GetPromptResult{Messages: []mcp.PromptMessage{{}}}, `{"resultType":"complete","messages":[{"content":null,"role":""}]}`},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{nil, &mcp.TextContent{}, (*mcp.TextContent)(nil), &mcp.TextContent{}}},
			`{"resultType":"complete","content":[{"type":"text","text":""},{"type":"text","text":""}]}`},
		{&mcp.SamplingMessage{Content: mcp.NewSamplingContent(nil)}, `{"content":[],"role":""}`},
		{mcp.InputRequests{"a": nil, "b": (*mcp.ElicitRequest)(nil), "c": &mcp.ListRootsRequest{}}, `{"c":{"method":"roots/list"}}`},
		// Names that are one on the wire are written once.
		{mcp.InputResponses{"a\xff": {Raw: wire.Raw("1")}, "a\xfe": {Raw: wire.Raw("2")}}, "{\"a\uFFFD\":2}"},
	} {
		require.Equal(t, c.want, string(c.v.AppendJSON(nil)), "%T", c.v)
	}
}

// TestOneOrMany holds that the form in which content came is kept, and that a
// single item made by hand is written alone.
func TestOneOrMany(t *testing.T) {
	one := `{"type":"text","text":"a"}`
	for _, text := range []string{one, "[" + one + "]", "[" + one + "," + one + "]", "[]", `{"type":"new"}`} {
		var c mcp.SamplingContent
		require.NoError(t, strict(text, &c))
		require.Equal(t, text, string(c.AppendJSON(nil)))
	}
	made := mcp.NewSamplingContent(&mcp.TextContent{Text: "a"})
	require.Equal(t, one, string(made.AppendJSON(nil)))
	made.Array = true
	require.Equal(t, "["+one+"]", string(made.AppendJSON(nil)))
	require.Error(t, strict(`"text"`, &made))
}

// TestArmIsFoundByThePlan holds which arm each value is, whatever else it has.
func TestArmIsFoundByThePlan(t *testing.T) {
	for _, c := range []struct {
		text string
		want any
	}{
		{`{"type":"string"}`, &mcp.StringSchema{}},
		{`{"type":"string","enum":["a"]}`, &mcp.UntitledSingleSelectEnumSchema{}},
		{`{"enum":["a"],"enumNames":["A"],"type":"string"}`, &mcp.LegacyTitledEnumSchema{}},
		{`{"oneOf":[{"const":"a","title":"A"}],"type":"string"}`, &mcp.TitledSingleSelectEnumSchema{}},
		{`{"type":"array","items":{"anyOf":[]}}`, &mcp.TitledMultiSelectEnumSchema{}},
		{`{"items":{"type":"string","enum":[]},"type":"array"}`, &mcp.UntitledMultiSelectEnumSchema{}},
		{`{"type":"array","items":{"const":1}}`, &mcp.UnknownPrimitiveSchemaDefinition{}},
		{`{"type":"array"}`, &mcp.UnknownPrimitiveSchemaDefinition{}},
		{`{"type":"number"}`, &mcp.NumberSchema{}},
		{`{"type":"integer"}`, &mcp.NumberSchema{}},
		{`{"type":"boolean"}`, &mcp.BooleanSchema{}},
		{`{"type":"object"}`, &mcp.UnknownPrimitiveSchemaDefinition{}},
		{`{}`, &mcp.UnknownPrimitiveSchemaDefinition{}},
	} {
		var d wire.Dec
		d.Reset([]byte(c.text), wire.Options{})
		v, err := mcp.DecodePrimitiveSchemaDefinition(&d)
		require.NoError(t, err, c.text)
		require.IsType(t, c.want, v, c.text)
		require.NoError(t, d.End())
	}
	for _, c := range []struct {
		text string
		want any
	}{
		{`{"uri":"u","text":"t"}`, &mcp.TextResourceContents{}},
		{`{"blob":"","uri":"u"}`, &mcp.BlobResourceContents{}},
		{`{"uri":"u","blob":"","text":"t"}`, &mcp.TextResourceContents{}},
		{`{"uri":"u"}`, &mcp.UnknownResourceContents{}},
	} {
		var d wire.Dec
		d.Reset([]byte(c.text), wire.Options{})
		v, err := mcp.DecodeResourceContents(&d)
		require.NoError(t, err, c.text)
		require.IsType(t, c.want, v, c.text)
		require.Equal(t, wire.Raw(c.text).Get("uri").String(), wire.Raw(v.AppendJSON(nil)).Get("uri").String())
	}
	for _, c := range []struct {
		text string
		want any
	}{
		{`{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, &mcp.ElicitFormParams{}},
		{`{"message":"m","requestedSchema":{"type":"object","properties":{}},"mode":"form"}`, &mcp.ElicitFormParams{}},
		{`{"message":"m","url":"u","mode":"url"}`, &mcp.ElicitURLParams{}},
		{`{"message":"m","mode":"video"}`, &mcp.UnknownElicitParams{}},
	} {
		var d wire.Dec
		d.Reset([]byte(c.text), wire.Options{})
		v, err := mcp.DecodeElicitParams(&d)
		require.NoError(t, err, c.text)
		require.IsType(t, c.want, v, c.text)
	}
}

// TestNeverTheWrongVariant holds the cases in which other bindings take one
// thing for another.
func TestNeverTheWrongVariant(t *testing.T) {
	decode := func(text string) (mcp.Message, error) {
		q := &mcp.CallToolRequest{ID: jsonrpc.NewID(1)}
		return q.DecodeResponse(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":` + text + `}`)})
	}
	m, err := decode(`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"resultType":"input_required","requestState":"s"}`)
	require.NoError(t, err)
	r := m.(*mcp.CallToolResponse)
	require.Nil(t, r.Result)
	require.Equal(t, "s", *r.InputRequired.RequestState)

	m, err = decode(`{"task":{"taskId":"1"},"content":[],"inputRequests":{}}`)
	require.NoError(t, err)
	r = m.(*mcp.CallToolResponse)
	require.Nil(t, r.InputRequired)
	require.Equal(t, `{"taskId":"1"}`, string(r.Result.Extra.Get("task")))

	_, err = decode(`{"resultType":"dream","task":{}}`)
	require.ErrorIs(t, err, jsonrpc.ErrResultType)
	var other *jsonrpc.ResultTypeError
	require.ErrorAs(t, err, &other)
	require.Equal(t, "dream", other.Type)
	require.Equal(t, `{"resultType":"dream","task":{}}`, string(other.Raw), "who knows the extension can read it")

	m, err = decode(`{"resultType":"task","taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"u","ttlMs":null,"content":[]}`)
	require.NoError(t, err)
	r = m.(*mcp.CallToolResponse)
	require.Nil(t, r.Result)
	require.Equal(t, mcp.Task{TaskID: "t", Status: mcp.TaskStatusWorking, CreatedAt: "c", LastUpdatedAt: "u", Extra: r.Task.Extra}, (&mcp.TaskCreated{CreateTaskResult: *r.Task}).Task())

	var e mcp.ElicitResult
	require.NoError(t, strict(`{"action":"accept","roots":[],"content":{"n":1.50,"b":true,"s":"x","l":["a"],"o":{}}}`, &e))
	n, ok := e.Content["n"].Float()
	require.True(t, ok)
	require.Equal(t, 1.5, n)
	_, ok = e.Content["n"].Str()
	require.False(t, ok)
	l, ok := e.Content["l"].Strings()
	require.True(t, ok)
	require.Equal(t, []string{"a"}, l)
	require.Equal(t, `{"action":"accept","content":{"b":true,"l":["a"],"n":1.50,"o":{},"s":"x"},"roots":[]}`, string(e.AppendJSON(nil)))

	in := mcp.InputResponse{Raw: wire.Raw(`{"action":"accept","roots":[]}`)}
	require.ElementsMatch(t, []string{"Elicit", "Roots"}, in.Guess())
	_, err = in.Sampling()
	require.Error(t, err)
	responses := mcp.InputResponses{"k": in, "bad": {Raw: wire.Raw(`{}`)}}
	roots, err := responses.Roots("k")
	require.NoError(t, err)
	require.Empty(t, roots.Roots)
	none, err := responses.Elicit("absent")
	require.NoError(t, err)
	require.Nil(t, none)
	_, err = responses.Elicit("bad")
	require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
}

// TestLenientResults holds what is forgiven in results, and that one bad
// element does not take the list with it.
func TestLenientResults(t *testing.T) {
	var tools mcp.ListToolsResult
	problems := lenient(t, `{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"title":"no name"},7,{"name":"b"},{"name":5,"inputSchema":{}}],"ttlMs":-1,"cacheScope":""}`, &tools)
	require.Equal(t, `{"resultType":"complete","tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`,
		string(tools.AppendJSON(nil)))
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	require.Len(t, all, 8, strings.Join(all, "\n"))
	for _, want := range []string{"tools[1].inputSchema", "tools[1].name", "tools[2]", "tools[3].inputSchema", "tools[4].name", "ttlMs", "cacheScope", "resultType"} {
		require.Contains(t, strings.Join(all, "\n"), want)
	}
	require.Error(t, strict(`{"resultType":"complete","tools":[7],"ttlMs":0,"cacheScope":"public"}`, &mcp.ListToolsResult{}))

	var res mcp.CallToolResult
	lenient(t, `{"content":[{"type":"text","text":"cut \ud83d"},{"type":"hologram","x":1},{"type":"image"},null],"isError":null}`, &res)
	require.Len(t, res.Content, 2)
	require.Equal(t, "cut \ufffd", res.Content[0].(*mcp.TextContent).Text)
	require.Equal(t, &mcp.UnknownContentBlock{Tag: "hologram", Raw: wire.Raw(`{"type":"hologram","x":1}`)}, res.Content[1])
	require.Error(t, strict(`{"name":"\ud83d","_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}}`, &mcp.CallToolParams{}))
}

// TestErrorsSayWhere holds the paths of decoding errors.
func TestErrorsSayWhere(t *testing.T) {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}}`
	for text, want := range map[string]string{
		`{"name":7,` + meta + `}`: "name: want a string, got a number",
		`{` + meta + `}`:          "name: missing",
		`{"name":"a"}`:            "_meta: missing",
		`{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"v"}}`: `_meta["io.modelcontextprotocol/clientCapabilities"]: missing`,
		`{"name":"a","name":"b",` + meta + `}`:                                 "name: duplicate member",
		`{"name":"a","inputResponses":{"k":{},"k":{}},` + meta + `}`:           "inputResponses.k: duplicate member",
	} {
		require.EqualError(t, strict(text, &mcp.CallToolParams{}), want)
	}
	require.EqualError(t, strict(`{"resultType":"complete","content":[{"type":"text","text":"a"},{"type":"text"}]}`, &mcp.CallToolResult{}), "content[1].text: missing")
	require.EqualError(t, strict(`{"type":"image","text":""}`, &mcp.TextContent{}), `type: want "text", got "image"`)
}

// TestDepth holds the limit over the whole message, raw values included.
func TestDepth(t *testing.T) {
	nested := func(n int) string {
		return `{"type":"tool_use","name":"","id":"","input":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}`
	}
	require.NoError(t, strict(nested(254), &mcp.ToolUseContent{}))
	require.ErrorIs(t, strict(nested(255), &mcp.ToolUseContent{}), wire.ErrDepth)
	require.ErrorIs(t, strict(nested(1_000_000), &mcp.ToolUseContent{}), wire.ErrDepth)
}

// TestRawValuesNeverBreakALine holds that a pretty-printed raw value comes out
// on one line.
func TestRawValuesNeverBreakALine(t *testing.T) {
	x := mcp.Tool{Name: "a", InputSchema: wire.Raw("{\n  \"type\": \"object\",\r\n  \"title\": \"a\\n b\"\n}")}
	require.Equal(t, `{"name":"a","inputSchema":{"type":"object","title":"a\n b"}}`, string(x.AppendJSON(nil)))
}

func TestExtraRefusesKnownNames(t *testing.T) {
	var x mcp.Tool
	require.ErrorIs(t, x.SetExtra("name", wire.Raw("1")), wire.ErrDuplicate)
	require.NoError(t, x.SetExtra("x-note", wire.Raw("1")))
	x.Extra = append(x.Extra, wire.Member{Name: "title", Value: wire.Raw(`"smuggled"`)})
	require.Equal(t, `{"name":"","inputSchema":{"type":"object"},"x-note":1}`, strings.Replace(string(x.AppendJSON(nil)), `"inputSchema":{}`, `"inputSchema":{"type":"object"}`, 1))
	require.NoError(t, x.SetExtra("x-note", nil))
	require.Nil(t, x.Extra.Get("x-note"))
}

func TestBase64(t *testing.T) {
	var x mcp.ImageContent
	x.SetBytes([]byte("Goldwire"))
	require.Equal(t, base64.StdEncoding.EncodeToString([]byte("Goldwire")), x.Data)
	b, err := x.Bytes()
	require.NoError(t, err)
	require.Equal(t, "Goldwire", string(b))
	x.Data = "no base64!"
	_, err = x.Bytes()
	require.Error(t, err)
}

func TestValidate(t *testing.T) {
	ok := &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Annotations: &mcp.Annotations{Priority: new(1.0)}}}}
	require.NoError(t, ok.Validate())
	many := make([]string, 101)
	for _, c := range []struct {
		v    interface{ Validate() error }
		want string
	}{
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{}, nil}}, "content[1]: missing"},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{(*mcp.TextContent)(nil)}}, "content[0]: missing"},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Annotations: &mcp.Annotations{Priority: new(1.5)}}}}, "content[0].annotations.priority: more than 1"},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Annotations: &mcp.Annotations{Priority: new(-0.1)}}}}, "content[0].annotations.priority: less than 0"},
		{&mcp.ListToolsResult{TTLMs: -1}, "ttlMs: less than 0"},
		{&mcp.CompleteResult{Completion: mcp.Completion{Values: many}}, "completion.values: more than 100 items"},
		{&mcp.PromptMessage{Role: mcp.RoleUser}, "content: missing"},
		{&mcp.PromptMessage{Content: &mcp.TextContent{}}, "role: empty"},
		{&mcp.CancelledParams{}, "requestId: missing"},
		{&mcp.ElicitFormParams{RequestedSchema: mcp.ElicitSchema{Properties: map[string]mcp.PrimitiveSchemaDefinition{"a b": nil}}}, `requestedSchema.properties["a b"]: missing`},
		{mcp.InputRequests{"k": &mcp.ElicitRequest{}}, `["k"].params: missing`},
		// Raw values that are not JSON would change the message around them.
		{&mcp.CallToolParams{Name: "a", Arguments: wire.Raw(`{},"name":"b"`)}, "arguments: want the end of the text, got , (offset 2)"},
		{&mcp.CallToolParams{Name: "a", Arguments: wire.Raw(`[]`)}, "arguments: want an object, got an array"},
		{&mcp.CallToolResult{StructuredContent: wire.Raw(`{"a":[1,oops]}`)}, "structuredContent.a[1]: want a value, got o (offset 8)"},
		{&mcp.ListToolsResult{Tools: []mcp.Tool{{InputSchema: wire.Raw("{}")}, {InputSchema: wire.Raw("true")}}}, "tools[1].inputSchema: want an object, got a boolean"},
		{&mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.UnknownContentBlock{Raw: wire.Raw("\xff")}}}, "content[0]: want a value, got byte 0xff (offset 0)"},
		{mcp.InputResponses{"k": {Raw: wire.Raw("{")}}, `["k"]: want a member name or }, got the end of the text (offset 1)`},
		{&mcp.TextContent{Meta: wire.Raw("x")}, "_meta: want a value, got x (offset 0)"},
		{&mcp.TextContent{Extra: wire.Members{{Name: "more", Value: wire.Raw("x")}}}, "more: want a value, got x (offset 0)"},
		{&mcp.TextContent{Extra: wire.Members{{Name: "text", Value: wire.Raw("1")}}}, "text: the name of a field"},
		{&mcp.ServerCapabilities{Experimental: map[string]wire.Raw{"a\xff": wire.Raw("{}")}}, "experimental[\"a\uFFFD\"]: a name that is not UTF-8 (offset 0)"},
		{&mcp.ServerCapabilities{Experimental: map[string]wire.Raw{"a": wire.Raw("1")}}, `experimental["a"]: want an object, got a number`},
	} {
		require.EqualError(t, c.v.Validate(), c.want, c.want)
	}
}

func TestSeverity(t *testing.T) {
	order := []mcp.LoggingLevel{mcp.LoggingLevelDebug, mcp.LoggingLevelInfo, mcp.LoggingLevelNotice, mcp.LoggingLevelWarning, mcp.LoggingLevelError,
		mcp.LoggingLevelCritical, mcp.LoggingLevelAlert, mcp.LoggingLevelEmergency}
	for i, l := range order {
		require.Equal(t, i, l.Severity())
		require.True(t, l.Known())
	}
	require.Equal(t, -1, mcp.LoggingLevel("shout").Severity())
	require.False(t, mcp.LoggingLevel("shout").Known())
}

func TestEnvelopes(t *testing.T) {
	decode := func(text string) (mcp.Message, error) { return mcp.Decode(jsonrpc.Frame{Data: []byte(text)}) }
	meta := `"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, c := range []struct {
		text string
		want mcp.Message
	}{
		{`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"n",` + meta + `}}`, &mcp.CallToolRequest{}},
		{`{"jsonrpc":"2.0","id":1.0,"method":"server/discover","params":{` + meta + `}}`, &mcp.DiscoverRequest{}},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, &mcp.CancelledNotification{}},
		{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, &mcp.ToolListChangedNotification{}},
		{`{"jsonrpc":"2.0","id":1,"method":"ext/new","params":{"a":1}}`, &mcp.UnknownRequest{}},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"n"}}`, &mcp.UnknownNotification{}},
		{`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}`, &mcp.UnknownRequest{}}, // never on its own in this revision
		{`{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, &mcp.Response{}},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, &mcp.Response{}},
	} {
		m, err := decode(c.text)
		require.NoError(t, err, c.text)
		require.IsType(t, c.want, m, c.text)
		require.True(t, wire.Equal(wire.Raw(c.text), m.AppendJSON(nil)), "%s\n%s", c.text, m.AppendJSON(nil))
	}
	for _, bad := range []string{
		``, `[]`, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":null,"method":"a"}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1,` + meta + `}}`, `{"jsonrpc":"2.0","id":1,"method":"a","params":[]}`,
	} {
		_, err := decode(bad)
		require.Error(t, err, bad)
	}
	m, err := decode(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	require.NoError(t, err)
	res, err := m.(mcp.Request).DecodeResponse(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`)})
	require.NoError(t, err)
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}`, string(res.AppendJSON(nil)))
	res, err = m.(mcp.Request).DecodeResponse(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)})
	require.NoError(t, err)
	require.Equal(t, int64(-32601), res.(*mcp.ListToolsResponse).Error.Code)
	_, err = m.(mcp.Request).DecodeResponse(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)})
	require.Error(t, err)
}
