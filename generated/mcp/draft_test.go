package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
)

// drafter writes first drafts of the examples in testdata/examples: all
// members of a type, with the values of a small harbour office. It knows
// members by name; what it does not know becomes a plain word or number.
type drafter struct {
	m    model
	busy map[string]bool
}

// said are values by "Type.member" or "member", behind a revision where
// they are for one alone, as JSON text.
var said = map[string]string{
	"Tool.name": `"tide_times"`, "Tool.title": `"Tide times"`, "Tool.description": `"Gives the high and low waters of a port for one day."`,
	"Implementation.name": `"harbour-office"`, "Implementation.title": `"Harbour office"`, "Implementation.version": `"3.1.0"`,
	"Implementation.description": `"Berths, tides and the log of a small harbour."`, "websiteUrl": `"https://harbour.example/office"`,
	"Prompt.name": `"log_summary"`, "Prompt.title": `"Summary of the log"`, "Prompt.description": `"Sums up one day of the harbour log."`,
	"PromptArgument.name": `"day"`, "PromptArgument.title": `"Day"`, "PromptArgument.description": `"The day to sum up, as in 2026-03-14."`,
	"PromptReference.name": `"log_summary"`, "PromptReference.title": `"Summary of the log"`,
	"Resource.name": `"log-2026-03-14"`, "Resource.title": `"Log of 14 March"`, "Resource.description": `"What the watch wrote down that day."`,
	"ResourceLink.name": `"berth-plan"`, "ResourceLink.title": `"Berth plan"`, "ResourceLink.description": `"Which boat lies where."`,
	"ResourceTemplate.name": `"log"`, "ResourceTemplate.title": `"Log of a day"`, "ResourceTemplate.description": `"The log, one resource a day."`,
	"Root.name": `"Harbour papers"`, "Root.uri": `"file:///srv/harbour/papers"`,
	"CompleteArgument.name": `"day"`, "CompleteArgument.value": `"2026-03-"`, "Completion.values": `["2026-03-13","2026-03-14"]`,
	"Completion.total": `31`, "Completion.hasMore": `true`, "CompleteContext.arguments": `{"port":"Ness"}`,
	"CallToolParams.name": `"tide_times"`, "CallToolParams.arguments": `{"port":"Ness","day":"2026-03-14","heights":true}`,
	"GetPromptParams.name": `"log_summary"`, "GetPromptParams.arguments": `{"day":"2026-03-14","style":""}`,
	"GetPromptResult.description": `"The log of 14 March, in five lines."`,
	"ToolUseContent.name":         `"tide_times"`, "ToolUseContent.id": `"use-1"`, "ToolUseContent.input": `{"port":"Ness","limits":[0.5,4.80]}`, "toolUseId": `"use-1"`,
	"ModelHint.name": `"small-and-quick"`, "uri": `"harbour://log/2026-03-14"`, "uriTemplate": `"harbour://log/{day}"`, "mimeType": `"text/markdown"`,
	"TextContent.text": `"High water at Ness: 04:12 and 16:38."`, "TextResourceContents.text": `"06:00 wind SW 4, two boats in.\n18:30 all fast.\n"`,
	"ImageContent.data": `"iVBORw0KGgo="`, "ImageContent.mimeType": `"image/png"`, "AudioContent.data": `"UklGRiQAAABXQVZF"`, "AudioContent.mimeType": `"audio/wav"`,
	"blob": `"AAECAwQF"`, "BlobResourceContents.mimeType": `"application/octet-stream"`, "size": `18432`, "lastModified": `"2026-03-14T18:30:00Z"`,
	"priority": `0.8`, "audience": `["user","assistant"]`, "Annotations.audience": `["user","assistant"]`,
	"Icon.src": `"https://harbour.example/anchor.svg"`, "Icon.mimeType": `"image/svg+xml"`, "Icon.sizes": `["48x48","any"]`,
	"inputSchema":  `{"type":"object","properties":{"port":{"type":"string"},"day":{"type":["string","null"]},"heights":{"type":"boolean"}},"required":["port"]}`,
	"outputSchema": `{"type":"object","properties":{"high":{"type":"array","items":{"type":"string"}}},"required":[]}`,
	"cursor":       `"eyJwYWdlIjoyfQ"`, "nextCursor": `"eyJwYWdlIjozfQ"`,
	"progressToken": `"log-7"`, "requestId": `41`, "progress": `3`, "ProgressParams.total": `12.5`, "ProgressParams.message": `"three of the pages are read"`, "reason": `"The skipper has left."`,
	"level": `"warning"`, "logger": `"gauge"`, "LoggingMessageParams.data": `{"gauge":"east","metres":-0.35,"lost":null}`,
	"instructions": `"Ask for the tide before you move a boat."`, "experimental": `{"example.com/gauges":{"live":true}}`, "extensions": `{"com.example/gauges":{"live":true}}`,
	"logging": `{}`, "completions": `{}`, "listChanged": `true`, "subscribe": `true`, "protocolVersion": `"@revision"`,
	"messages.role": `"user"`, "SamplingMessage.role": `"user"`, "PromptMessage.role": `"user"`, "CreateMessageResult.role": `"assistant"`,
	"model": `"example-large-2"`, "maxTokens": `400`, "temperature": `0.2`, "stopSequences": `["\n\n"]`, "systemPrompt": `"You keep the log of a harbour. Be brief."`,
	"metadata": `{"team":"night watch","ratio":0.5}`, "costPriority": `0.9`, "speedPriority": `0.5`, "intelligencePriority": `0`,
	"ElicitFormParams.mode": `"form"`, "ElicitFormParams.message": `"Which berth does the boat take?"`, "ElicitURLParams.message": `"Please pay the harbour dues."`, "url": `"https://harbour.example/dues/88"`, "elicitationId": `"dues-88"`,
	"ElicitResult.content":            `{"berth":"B4","nights":2,"draught":1.85,"power":false,"needs":["water","fuel"]}`,
	"2025-06-18 ElicitResult.content": `{"berth":"B4","nights":2,"draught":3,"power":false}`,
	"ElicitSchema.required":           `["berth"]`, "StringSchema.title": `"Boat"`, "StringSchema.description": `"The name on the stern."`, "StringSchema.default": `""`,
	"NumberSchema.title": `"Nights"`, "NumberSchema.description": `"How long the boat stays."`, "NumberSchema.default": `1`, "minimum": `0`, "maximum": `28`,
	"BooleanSchema.title": `"Power"`, "BooleanSchema.description": `"Whether the boat wants shore power."`, "BooleanSchema.default": `false`,
	"minLength": `0`, "maxLength": `80`, "minItems": `0`, "maxItems": `3`, "enum": `["water","fuel"]`, "enumNames": `["Fresh water","Fuel"]`,
	"EnumOption.const": `"water"`, "EnumOption.title": `"Fresh water"`, "title": `"What is needed"`, "description": `"What the boat needs while it is here."`,
	"UntitledSingleSelectEnumSchema.default": `"water"`, "TitledSingleSelectEnumSchema.default": `"water"`, "LegacyTitledEnumSchema.default": `"water"`,
	"UntitledMultiSelectEnumSchema.default": `["fuel"]`, "TitledMultiSelectEnumSchema.default": `[]`,
	"ToolAnnotations.title": `"Tide times"`, "structuredContent": `{"high":["04:12","16:38"],"metres":4.80,"id":9007199254740993}`,
	"isError": `false`, "destructiveHint": `false`, "idempotentHint": `true`, "openWorldHint": `true`, "readOnlyHint": `true`,
	"taskId": `"task-5f3a"`, "status": `"working"`, "statusMessage": `"The gauge is being read."`, "createdAt": `"2026-03-14T06:00:00Z"`, "lastUpdatedAt": `"2026-03-14T06:00:05Z"`,
	"ttl": `600000`, "pollInterval": `2000`, "ttlMs": `60000`, "cacheScope": `"public"`, "resultType": `"complete"`, "InputRequiredResult.resultType": `"input_required"`,
	"requestState": `"c3RhdGU6MQ=="`, "supportedVersions": `["@revision"]`, "supported": `["@revision","2025-11-25"]`, "requested": `"2031-01-01"`,
	"requiredCapabilities": `{"elicitation":{"form":{}}}`, "resourceSubscriptions": `["harbour://log/2026-03-14"]`,
	"io.modelcontextprotocol/protocolVersion": `"@revision"`, "io.modelcontextprotocol/logLevel": `"notice"`, "io.modelcontextprotocol/subscriptionId": `"sub-2"`,
	"$schema": `"https://json-schema.org/draft/2020-12/schema"`, "_meta": `{"com.example/watch":{"shift":[1,2]},"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	"includeContext": `"none"`, "stopReason": `"endTurn"`, "theme": `"dark"`, "mode": `"auto"`, "action": `"accept"`, "taskSupport": `"optional"`, "format": `"email"`, "NumberSchema.type": `"integer"`,
	"ElicitValue": `"B4"`, "Role": `"user"`, "ResultType": `"complete"`,
}

func (k *drafter) said(key string) (string, bool) {
	s, ok := said[k.m.Revision+" "+key]
	if !ok {
		s, ok = said[key]
	}
	return strings.ReplaceAll(s, "@revision", k.m.Revision), ok
}

func (k *drafter) typ(x *ir.Type) string {
	if s, ok := k.said(x.Name); ok {
		return s
	}
	k.busy[x.Name] = true
	defer delete(k.busy, x.Name)
	switch x.Kind {
	case ir.Alias:
		return k.typ(k.m.byName[x.Target])
	case ir.Enum:
		return fmt.Sprintf("%q", x.Values[0].Value)
	case ir.Union, ir.KeyedRaw:
		return k.typ(k.m.byName[x.Arms[0].Type])
	case ir.OneOrMany:
		return k.list(k.m.byName[x.Elem])
	case ir.MapOf:
		return k.mapping(ir.Ref{Kind: ir.Named, Name: x.Elem})
	case ir.Struct:
		var out []string
		for _, f := range x.Fields {
			key := fmt.Sprintf("%q", f.JSON)
			if f.Const != "" {
				out = append(out, fmt.Sprintf("%s:%q", key, f.Const))
				continue
			}
			if f.Type.Kind == ir.Named && k.busy[f.Type.Name] {
				continue
			}
			out = append(out, key+":"+k.member(x, f))
		}
		return "{" + strings.Join(out, ",") + "}"
	}
	panic(x.Kind)
}

func (k *drafter) member(x *ir.Type, f *ir.Field) string {
	if s, ok := k.said(x.Name + "." + f.JSON); ok {
		return s
	}
	structured := f.Type.Kind == ir.Named && k.m.byName[f.Type.Name].Kind != ir.Enum
	if s, ok := k.said(f.JSON); ok && !structured && (f.Type.Kind != ir.RawObject || s[0] == '{') {
		return s
	}
	return k.ref(f.Type, f)
}

func (k *drafter) ref(r ir.Ref, f *ir.Field) string {
	switch r.Kind {
	case ir.Named:
		return k.typ(k.m.byName[r.Name])
	case ir.Slice:
		if r.Elem.Kind == ir.Named {
			return k.list(k.m.byName[r.Elem.Name])
		}
		return "[" + k.ref(*r.Elem, nil) + "]"
	case ir.Map:
		return k.mapping(*r.Elem)
	case ir.Bool:
		return "true"
	case ir.Int, ir.NullInt, ir.Float:
		return within(f, "7")
	case ir.RawAny, ir.RawObject:
		return "{}"
	}
	if f != nil {
		return fmt.Sprintf("%q", f.JSON)
	}
	return `"word"`
}

// TestDraftsKeepToBounds holds that the draft of a number is one that its bounds allow.
func TestDraftsKeepToBounds(t *testing.T) {
	zero, one, ten := 0.0, 1.0, 10.0
	k := &drafter{}
	for _, kind := range []ir.RefKind{ir.Int, ir.NullInt, ir.Float} {
		number := ir.Ref{Kind: kind}
		require.Equal(t, "7", k.ref(number, nil))
		require.Equal(t, "7", k.ref(number, &ir.Field{Min: &one, Max: &ten}))
		require.Equal(t, "1", k.ref(number, &ir.Field{Min: &zero, Max: &one}))
		require.Equal(t, "10", k.ref(number, &ir.Field{Min: &ten}))
	}
}

// list has one of each arm of a union.
func (k *drafter) list(x *ir.Type) string {
	if x.Kind != ir.Union {
		return "[" + k.typ(x) + "]"
	}
	var out []string
	for _, a := range x.Arms {
		if !k.busy[a.Type] {
			out = append(out, k.typ(k.m.byName[a.Type]))
		}
	}
	return "[" + strings.Join(out, ",") + "]"
}

func (k *drafter) mapping(elem ir.Ref) string {
	names := []string{"berth", "needs", "nights", "power", "boat", "fuel", "water", "crew", "flag"}
	if elem.Kind != ir.Named || k.m.byName[elem.Name].Kind != ir.Union {
		return fmt.Sprintf("{%q:%s}", names[0], k.ref(elem, nil))
	}
	var out []string
	for i, a := range k.m.byName[elem.Name].Arms {
		if !k.busy[a.Type] {
			out = append(out, fmt.Sprintf("%q:%s", names[i%len(names)], k.typ(k.m.byName[a.Type])))
		}
	}
	return "{" + strings.Join(out, ",") + "}"
}

// draft gives the draft of a type or of a definition that has no type.
func (m model) draft(name string) (string, error) {
	k := &drafter{m: m, busy: map[string]bool{}}
	text := ""
	switch x, base := m.byName[name], m.method(name); {
	case x != nil && x.Kind != ir.Interface:
		text = k.typ(x)
	case base != nil:
		text = k.message(base)
	case m.answered(name) != nil:
		text = `{"jsonrpc":"2.0","id":"call-9","result":` + k.typ(m.byName[m.answered(name).Result]) + `}`
	case m.standIn(name) != "":
		return m.draft(m.standIn(name))
	default:
		s, ok := plain[name]
		if !ok {
			return "", fmt.Errorf("no draft for %s: write the example by hand", name)
		}
		text = s
	}
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "", "  "); err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return out.String() + "\n", nil
}

func (k *drafter) message(m *ir.Method) string {
	params := ""
	if m.Params != "" {
		params = `,"params":` + k.typ(k.m.byName[m.Params])
	}
	if m.Notification {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s}`, m.Name, params)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-9","method":%q%s}`, m.Name, params)
}

// method gives the method that has a definition.
func (m model) method(definition string) *ir.Method {
	for _, q := range m.Methods {
		if q.Definition == definition && !q.Embedded {
			return q
		}
	}
	return nil
}

// answered gives the method whose answers, whole, have a definition.
func (m model) answered(definition string) *ir.Method {
	base, ok := strings.CutSuffix(definition, "ResultResponse")
	if !ok {
		return nil
	}
	return m.method(base + "Request")
}

// standIn names what to read a definition as that has no Go type of its own:
// bases, whose members the types that build on them have, and unions.
func (m model) standIn(definition string) string {
	for _, s := range standIns[definition] {
		if m.byName[s] != nil || m.method(s) != nil {
			return s
		}
	}
	return ""
}

var standIns = map[string][]string{
	"Annotated": {"TextContent"}, "BaseMetadata": {"PromptArgument"}, "Icons": {"Implementation"},
	"PaginatedRequest": {"ListToolsRequest"}, "PaginatedResult": {"ListToolsResult"}, "CacheableResult": {"ListToolsResult"},
	"RequestParams": {"PingParams"}, "NotificationParams": {"ToolListChangedParams"},
	"ResourceRequestParams": {"ReadResourceParams"}, "InputResponseRequestParams": {"CallToolParams"}, "TaskAugmentedRequestParams": {"CallToolParams"},
	"EnumSchema": {"TitledSingleSelectEnumSchema", "LegacyTitledEnumSchema"}, "SingleSelectEnumSchema": {"UntitledSingleSelectEnumSchema"}, "MultiSelectEnumSchema": {"TitledMultiSelectEnumSchema"},
	"Request": {"CallToolRequest"}, "Notification": {"ProgressNotification"}, "JSONRPCRequest": {"GetPromptRequest"}, "JSONRPCNotification": {"ResourceUpdatedNotification"},
	"ClientRequest": {"ReadResourceRequest"}, "ClientNotification": {"CancelledNotification"}, "ServerRequest": {"CreateMessageRequest"}, "ServerNotification": {"LoggingMessageNotification"},
	"DetailedTask": {"TaskStatusParams"},
	"ClientResult": {"EmptyResult"}, "ServerResult": {"CallToolResult"}, "JSONRPCMessage": {"CompleteRequest"},
}

// plain are drafts of what is neither a type nor a message of a method.
var plain = map[string]string{
	"ClientResult": `{"resultType":"complete"}`, "EmptyResult": `{"resultType":"complete"}`, "Result": `{"resultType":"complete","_meta":{"com.example/watch":1}}`,
	"Cursor": `"eyJwYWdlIjoyfQ"`, "ProgressToken": `"log-7"`, "RequestId": `12345678901234567890`,
	"JSONValue": `[null,0.5,-0,"\u00e9",{"deep":[[]]}]`, "JSONArray": `[1.0,null]`, "JSONObject": `{"n":null,"ratio":0.50}`, "MetaObject": `{"com.example/watch":{"shift":[1,2]}}`,
	"JSONRPCResponse":                      `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"resultType":"complete","found":0}}`,
	"JSONRPCResultResponse":                `{"jsonrpc":"2.0","id":12345678901234567890,"result":{"resultType":"complete","found":0}}`,
	"JSONRPCError":                         `{"jsonrpc":"2.0","id":41,"error":{"code":-32601,"message":"there is no such method","data":null}}`,
	"JSONRPCErrorResponse":                 `{"jsonrpc":"2.0","id":41,"error":{"code":-32601,"message":"there is no such method","data":null}}`,
	"JSONRPCBatchRequest":                  `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
	"JSONRPCBatchResponse":                 `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"2","error":{"code":0,"message":""}}]`,
	"Error":                                `{"code":0,"message":"","data":{"hint":"ask again at high water"}}`,
	"ParseError":                           `{"code":-32700,"message":"the text ends inside a string"}`,
	"InvalidRequestError":                  `{"code":-32600,"message":"an id is a string or an integer"}`,
	"MethodNotFoundError":                  `{"code":-32601,"message":"there is no such method"}`,
	"InvalidParamsError":                   `{"code":-32602,"message":"params.name: missing"}`,
	"InternalError":                        `{"code":-32603,"message":"the gauge does not answer","data":{"gauge":"east"}}`,
	"HeaderMismatchError":                  `{"jsonrpc":"2.0","id":41,"error":{"code":-32020,"message":"Mcp-Method says tools/list, the message tools/call"}}`,
	"MissingRequiredClientCapabilityError": `{"jsonrpc":"2.0","id":41,"error":{"code":-32021,"message":"this tool asks the user","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}}`,
	"UnsupportedProtocolVersionError":      `{"jsonrpc":"2.0","id":41,"error":{"code":-32022,"message":"no such revision","data":{"requested":"2031-01-01","supported":["2026-07-28"]}}}`,
	"URLElicitationRequiredError":          `{"jsonrpc":"2.0","id":41,"error":{"code":-32042,"message":"harbour dues are open","data":{"elicitations":[{"mode":"url","elicitationId":"dues-88","message":"Please pay the harbour dues.","url":"https://harbour.example/dues/88"}]}}}`,
}
