package conformance_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// Recordings in which nothing is wrong.
const (
	rightLegacy = `> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
> {"jsonrpc":"2.0","method":"notifications/initialized"}
> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}
> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"progressToken":"t"}}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":2}}
< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"x"}]}}
`
	rightHTTP = `>>1 POST /mcp
>>1 accept: application/json, text/event-stream
>>1 content-type: application/json
>>1 mcp-method: tools/call
>>1 mcp-name: echo
>>1 mcp-protocol-version: 2026-07-28
>1 {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}
<<1 200 content-type: application/json
<1 {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"x"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}
<<1 end
`
)

// again is a request with an id that rightLegacy has before, and its answer.
const again = `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}
`

// TestLintSeesWhatIsWrong changes one thing in a recording and wants a finding,
// of the right side only.
func TestLintSeesWhatIsWrong(t *testing.T) {
	if raced > 1 {
		t.Skip("make test judges without the race detector")
	}
	for _, tt := range []struct {
		name         string
		base         string
		before, with string
		side         catalogue.Side
		about        string // in the id of the check, or its requirement
	}{
		{"nothing, legacy", rightLegacy, "", "", "", ""},
		{"nothing, HTTP", rightHTTP, "", "", "", ""},
		{"a result that its method does not have", rightLegacy, `"tools":[{"name":"echo","inputSchema":{"type":"object"}}]`, `"tools":[{"name":"echo"}]`, "server", "tools"},
		{"contents of no kind", rightLegacy, `{"type":"text","text":"x"}`, `{"type":"text"}`, "server", "call"},
		{"an answer nobody waits for", rightLegacy, `< {"jsonrpc":"2.0","id":3,`, `< {"jsonrpc":"2.0","id":4,`, "server", "id"},
		{"the id in another type", rightLegacy, `< {"jsonrpc":"2.0","id":3,`, `< {"jsonrpc":"2.0","id":"3",`, "server", "id"},
		{"no version of JSON-RPC", rightLegacy, `< {"jsonrpc":"2.0","id":3,`, `< {"id":3,`, "server", "jsonrpc"},
		{"progress that goes back", rightLegacy, `"progress":2`, `"progress":1`, "server", "progress"},
		{"progress of nothing", rightLegacy, `"progressToken":"t","progress":2`, `"progressToken":"u","progress":2`, "server", "progress"},
		{"a log that was not declared", rightLegacy, `< {"jsonrpc":"2.0","id":2`, `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}` + "\n" + `< {"jsonrpc":"2.0","id":2`, "server", "log"},
		{"a list that was not declared", rightLegacy, `"capabilities":{"tools":{}}`, `"capabilities":{}`, "client", "capab"},
		{"no JSON of the server", rightLegacy, "< {\"jsonrpc\":\"2.0\",\"id\":3", "< hello\n< {\"jsonrpc\":\"2.0\",\"id\":3", "server", "stdio"},
		{"an id that is used again", rightLegacy, `> {"jsonrpc":"2.0","id":3,`, again + `> {"jsonrpc":"2.0","id":3,`, "client", "id"},
		{"params of a client that its method does not have", rightLegacy, `"params":{"name":"echo","arguments":{},`, `"params":{"arguments":{},`, "client", ""},
		{"a client that does not say it is ready", rightLegacy, `> {"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n", "", "client", "initialized"},
		{"a batch where there is none", rightLegacy, `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `> [{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`, "client", "batch"},
		{"a header that says another thing", rightHTTP, "mcp-name: echo", "mcp-name: other", "client", "header"},
		{"a header that is missing", rightHTTP, ">>1 mcp-method: tools/call\n", "", "client", "header"},
		{"no version in the metadata of a result", rightHTTP, `"resultType":"complete",`, "", "server", "result"},
		{"a media type that is none", rightHTTP, "content-type: application/json\n<1", "content-type: text/plain\n<1", "server", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Contains(t, tt.base, tt.before)
			rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n" + strings.Replace(tt.base, tt.before, tt.with, 1)))
			require.NoError(t, err)
			found := map[catalogue.Side][]string{}
			for _, side := range []catalogue.Side{catalogue.Server, catalogue.Client} {
				rep, err := conformance.Lint([]*transcript.Recording{rec}, conformance.LintOptions{Side: side})
				require.NoError(t, err)
				for _, c := range rep.Results {
					if c.Verdict == result.Fail || c.Verdict == result.Warn || c.Verdict == result.Error {
						found[side] = append(found[side], string(c.Verdict)+" "+c.ID+" "+strings.Join(c.Requirements, " ")+": "+c.Observed+c.Reason)
					}
				}
			}
			for side, fs := range found {
				if side != tt.side {
					t.Errorf("%s: %s", side, strings.Join(fs, "\n"))
				}
			}
			if tt.side != "" {
				require.True(t, slices.ContainsFunc(found[tt.side], func(f string) bool { return strings.Contains(f, tt.about) }), "found %q", found[tt.side])
			}
		})
	}
}
