package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// kept reads a whole message in every revision and holds that it is written as
// it came; see gets what was written.
func kept(t *testing.T, text string, see func(t *testing.T, out string)) {
	t.Helper()
	eachRevision(t, func(t *testing.T, m model) {
		text := text
		if m.Stateless {
			text = strings.Replace(strings.Replace(text, `"params":{`, `"params":{`+statelessMeta+`,`, 1), ",}", "}", 1)
		}
		v, _, err := decoders[m.Revision]([]byte(text))
		require.NoError(t, err)
		out := string(v.AppendJSON(nil))
		requireEqual(t, text, wire.Raw(out))
		if see != nil {
			see(t, out)
		}
	})
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// answered reads an answer to tools/call or tools/list in every revision.
func answered(t *testing.T, method, result string, see func(t *testing.T, m model, out wire.Raw)) {
	t.Helper()
	eachRevision(t, func(t *testing.T, m model) {
		ask := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"n"}}`
		if m.Stateless {
			ask = strings.Replace(ask, `"params":{`, `"params":{`+statelessMeta+`,`, 1)
		}
		_, answer, err := decoders[m.Revision]([]byte(ask))
		require.NoError(t, err)
		v, err := answer(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":` + result + `}`)})
		require.NoError(t, err)
		see(t, m, wire.Raw(v.AppendJSON(nil)).Get("result"))
	})
}

// TestReportedFailures holds the right behaviour where codecs and generators
// of others were reported to fail; each test has the name of the report.
func TestReportedFailures(t *testing.T) {
	for _, c := range []struct {
		id   string
		test func(t *testing.T)
	}{
		{"id-typed-int64-only", func(t *testing.T) {
			for _, id := range []string{`"job-a"`, `"12"`, `12`, `""`} {
				kept(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/list","params":{}}`, func(t *testing.T, out string) {
					require.Equal(t, id, wire.Raw(out).Get("id").String())
				})
			}
		}},
		{"required-empty-array-dropped", func(t *testing.T) {
			schema := `{"type":"object","properties":{},"required":[],"additionalProperties":false}`
			answered(t, "tools/list", `{"tools":[{"name":"stop","inputSchema":`+schema+`}]}`, func(t *testing.T, _ model, out wire.Raw) {
				for tool := range out.Get("tools").Elems() {
					require.Equal(t, schema, tool.Get("inputSchema").String())
				}
			})
		}},
		{"meta-keys-stripped", func(t *testing.T) {
			meta := `{"whole":"y","org.example/trail":{"hops":[3,4]},"progressToken":null}`
			answered(t, "tools/call", `{"content":[],"_meta":`+meta+`}`, func(t *testing.T, _ model, out wire.Raw) {
				requireEqual(t, meta, out.Get("_meta"))
			})
		}},
		{"case-variant-keys-smuggle-method", func(t *testing.T) {
			eachRevision(t, func(t *testing.T, m model) {
				params := `{"name":"look","Name":"erase","NAME":1,` + statelessMeta + `}`
				v, _, err := decoders[m.Revision]([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"tools/list","params":` + params + `}`))
				require.NoError(t, err)
				require.Equal(t, "*mcp.CallToolRequest", typeName(v))
				requireEqual(t, params, wire.Raw(v.AppendJSON(nil)).Get("params"))
				for _, twice := range []string{
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"tools/list","params":` + params + `}`,
					`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","n\u0061me":"erase",` + statelessMeta + `}}`,
				} {
					_, _, err = decoders[m.Revision]([]byte(twice))
					require.ErrorIs(t, err, wire.ErrDuplicate)
				}
			})
		}},
		{"int64-args-rounded-go-sdk", func(t *testing.T) {
			const arguments = `{"id":9007199254740993,"low":-9007199254740993}`
			kept(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":`+arguments+`}}`, func(t *testing.T, out string) {
				require.Contains(t, out, arguments)
				a, err := args.Decode[struct {
					ID  int64    `json:"id"`
					Low args.Int `json:"low"`
				}](wire.Raw(out).Get("params").Get("arguments"))
				require.NoError(t, err)
				require.Equal(t, int64(1)<<53+1, a.ID)
				require.Equal(t, args.Int(-1<<53-1), a.Low)
			})
			var r v20250618.CallToolResult
			require.NoError(t, wire.Decode([]byte(`{"content":[],"structuredContent":{"id":9007199254740993}}`), wire.Options{}, &r))
			n, ok := r.StructuredContent.Get("id").Int()
			require.True(t, ok)
			require.Equal(t, int64(1)<<53+1, n)
		}},
		{"html-escaping-of-angle-brackets", func(t *testing.T) {
			answered(t, "tools/call", `{"content":[{"type":"text","text":"1\u003c2 \u0026 3>2"}]}`, func(t *testing.T, _ model, out wire.Raw) {
				require.Contains(t, string(out), `"1<2 & 3>2"`)
			})
		}},
		{"lone-surrogate-escape-in-payload", func(t *testing.T) {
			kept(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"s":"\udcff"}}}`, func(t *testing.T, out string) {
				require.Contains(t, out, `{"s":"\udcff"}`)
				_, err := args.Decode[struct {
					S string `json:"s"`
				}](wire.Raw(out).Get("params").Get("arguments"))
				var e *args.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, "s", e.Path)
			})
		}},
		{"batch-classified-as-parse-error", func(t *testing.T) {
			eachRevision(t, func(t *testing.T, m model) {
				_, _, err := decoders[m.Revision]([]byte(`[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`))
				require.ErrorIs(t, err, wire.ErrType, "valid JSON, and no message")
				require.NotErrorIs(t, err, wire.ErrSyntax)
			})
		}},
		{"structured-array-new-era", func(t *testing.T) {
			for _, v := range []string{`[]`, `0`, `null`, `false`, `""`, `[1.0,{}]`} {
				text := `{"resultType":"complete","content":[],"structuredContent":` + v + `}`
				var r v20260728.CallToolResult
				require.NoError(t, wire.Decode([]byte(text), wire.Options{}, &r))
				require.Equal(t, v, string(r.StructuredContent))
				require.Equal(t, text, string(r.AppendJSON(nil)))
			}
			require.NotContains(t, string((&v20260728.CallToolResult{}).AppendJSON(nil)), "structuredContent")
		}},
		{"null-union-from-go-pointers", func(t *testing.T) {
			s, err := args.Schema[struct {
				IDs   []string `json:"ids,omitempty"`
				Limit *int     `json:"limit,omitempty"`
			}]()
			require.NoError(t, err)
			require.NotContains(t, string(s), "null", "a client that sees null beside a type may cut the argument off")
			require.Nil(t, s.Get("required"))
		}},
		{"schema-type-array-cannot-be-decoded", func(t *testing.T) {
			schema := `{"type":"object","properties":{"size":{"type":["integer","string"]},"rest":true,"none":false}}`
			answered(t, "tools/list", `{"tools":[{"name":"n","inputSchema":`+schema+`}]}`, func(t *testing.T, _ model, out wire.Raw) {
				for tool := range out.Get("tools").Elems() {
					require.Equal(t, schema, tool.Get("inputSchema").String())
				}
			})
		}},
		{"ping-result-decoded-as-custom", func(t *testing.T) {
			eachRevision(t, func(t *testing.T, m model) {
				if m.method("PingRequest") == nil {
					return
				}
				_, answer, err := decoders[m.Revision]([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
				require.NoError(t, err)
				v, err := answer(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[],"roots":[]}}`)})
				require.NoError(t, err)
				require.Equal(t, "*mcp.PingResponse", typeName(v), "by the request, whatever it looks like")
			})
		}},
		{"ttl-and-scope-missing", func(t *testing.T) {
			require.Equal(t, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`, string((&v20260728.ListToolsResult{}).AppendJSON(nil)))
			require.Equal(t, `{"resultType":"input_required","requestState":"s"}`, string((&v20260728.InputRequiredResult{RequestState: new("s")}).AppendJSON(nil)))
			require.Equal(t, `{"tools":[]}`, string((&v20250618.ListToolsResult{}).AppendJSON(nil)))
		}},
		{"ttl-absent-vs-zero", func(t *testing.T) {
			answered(t, "tools/list", `{"tools":[]}`, func(t *testing.T, m model, out wire.Raw) {
				require.Equal(t, m.Stateless, out.Get("ttlMs") != nil, "older revisions have no such member, and none is made up")
			})
			e := types["2026-07-28"]["ListToolsResult"]
			_, problems, err := e.read([]byte(`{"resultType":"complete","tools":[],"cacheScope":"public"}`), wire.Options{Lenient: true})
			require.NoError(t, err)
			require.Len(t, problems, 1, "absent is told apart from 0")
			_, problems, err = e.read([]byte(`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"public"}`), wire.Options{Lenient: true})
			require.NoError(t, err)
			require.Empty(t, problems)
		}},
		{"unicode-escape-on-write", func(t *testing.T) {
			kept(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n","arguments":{"s":"one\u2028two\u2029"}}}`, func(t *testing.T, out string) {
				require.Contains(t, out, `one\u2028two\u2029`, "the spelling is the sender's")
			})
			answered(t, "tools/call", "{\"content\":[{\"type\":\"text\",\"text\":\"one\u2028two\\nthree\"}]}", func(t *testing.T, _ model, out wire.Raw) {
				require.NotContains(t, string(out), "\n")
				var v struct{ Content []struct{ Text string } }
				require.NoError(t, json.Unmarshal(out, &v))
				require.Equal(t, "one\u2028two\nthree", v.Content[0].Text)
			})
		}},
	} {
		t.Run(c.id, c.test)
	}
}
