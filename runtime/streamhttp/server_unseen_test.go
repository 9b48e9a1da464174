package streamhttp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// unseen is a revision that the runtime has no rules of, as a package that is
// generated from somebody's own schema (mcpgen generate --schema) may have.
const unseen = "2031-05-06"

// unseenService is one side of it.
func unseenService(side jsonrpc.Side) *jsonrpc.Service {
	_, m := servers(map[string]tool{
		"echo":   func(_ context.Context, p peer) (string, error) { return string(p.args), nil },
		"region": func(_ context.Context, p peer) (string, error) { return string(p.args), nil },
	})
	return draft(unseen, side, m)
}

// draft is one side of a revision that the runtime has no rules of. It is stateless,
// and has the methods of 2026-07-28.
func draft(rev string, side jsonrpc.Side, m modern.Server) *jsonrpc.Service {
	o := jsonrpc.ServiceOptions{Revision: rev, Stateless: true, Side: side, Methods: modern.Methods, Options: m.Options}
	if side == jsonrpc.ClientSide {
		return jsonrpc.NewService(o)
	}
	capabilities := modern.ServerCapabilities{Tools: &modern.ServerCapabilitiesTools{}}
	o.Capabilities, o.Info, o.Hub, o.Listen.ToolsListChanged = &capabilities, &m.Info, m.Hub, m.ToolsListChanged
	svc := jsonrpc.NewService(o)
	jsonrpc.HandleRequest(svc, "server/discover", func(context.Context, *modern.DiscoverParams) (*modern.DiscoverResult, error) {
		return &modern.DiscoverResult{SupportedVersions: []string{rev}, Capabilities: capabilities}, nil
	})
	jsonrpc.HandleRequest(svc, "tools/list", m.ListTools)
	jsonrpc.HandleRequest(svc, "tools/call", m.CallTool)
	return svc
}

// TestUnseenStatelessRevision: the rules over HTTP are those of what is served,
// and not of a name that the runtime happens to know: on its own, and beside a
// stateful revision.
func TestUnseenStatelessRevision(t *testing.T) {
	l, _ := servers(map[string]tool{"echo": func(context.Context, peer) (string, error) { return "old", nil }})
	for name, b := range map[string]jsonrpc.Binder{"alone": unseenService(jsonrpc.ServerSide), "beside 2025-11-25": compat.Revisions(l, unseenService(jsonrpc.ServerSide))} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, b)
			c, err := jsonrpc.Dial(t.Context(), streamhttp.URL(s.srv.URL), unseenService(jsonrpc.ClientSide))
			require.NoError(t, err)
			defer c.Close(t.Context())
			c.SetMetadata(jsonrpc.Metadata{ProtocolVersion: unseen, ClientCapabilities: &modern.ClientCapabilities{}})
			_, err = jsonrpc.Discover[modern.DiscoverResult](t.Context(), c, &modern.DiscoverParams{})
			require.NoError(t, err)
			require.Equal(t, unseen, c.Session().Revision)
			for range 2 { // the second time with the headers that the first list asks for
				_, err = jsonrpc.CallTyped[modern.CallToolResult](t.Context(), c, "tools/call", &modern.CallToolParams{Name: "region", Arguments: wire.Raw(`{"region":"eu"}`)})
				require.NoError(t, err)
			}

			version := "MCP-Protocol-Version: " + unseen
			body := func(s string) string { return strings.ReplaceAll(s, "2026-07-28", unseen) }
			call, hs := call("1", "region", `{"region":"eu"}`)
			hs[0] = version
			for rule, c := range map[string]struct {
				body    string
				headers []string
				want    string
			}{
				"its headers are held against its body":     {body(call), []string{version, "Mcp-Method: tools/call", "Mcp-Name: echo"}, "400 -32020"},
				"a header that an argument asks for":        {body(call), hs, "400 -32020"},
				"the same, as it is":                        {body(call), append(hs, "Mcp-Param-Region: eu"), "200"},
				"the header alone says the era":             {list, []string{version, "Mcp-Method: tools/list"}, "400 -32602"},
				"an unknown method":                         {body(strings.Replace(modernList, "tools/list", "no/such", 1)), []string{version, "Mcp-Method: no/such"}, "404 -32601"},
				"a revision that is known, and not offered": {modernList, []string{modernVersion, "Mcp-Method: tools/list"}, "400 -32022"},
			} {
				r := s.post(c.body, c.headers...)
				got := strings.TrimSuffix(jsonInt(int64(r.StatusCode))+" "+jsonInt(r.code()), " 0")
				require.Equal(t, c.want, got, "%s: %s", rule, r.body)
			}
			for _, method := range []string{"GET", "DELETE"} {
				require.Equal(t, 405, s.do(method, "", version).StatusCode, method)
			}
			if name == "alone" {
				return
			}
			session := s.begin()
			require.Equal(t, 200, s.post(legacyCall("1", "echo"), session...).StatusCode)
			require.Equal(t, 200, s.post(body(call), append(append(hs, "Mcp-Param-Region: eu"), session[0])...).StatusCode, "next to a session")
		})
	}
}

// TestUnseenStatefulRevision: initialize finds it, and its session is one.
func TestUnseenStatefulRevision(t *testing.T) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: unseen, Side: jsonrpc.ServerSide, Methods: []jsonrpc.Method{{Name: "initialize", FromClient: true}}})
	jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *legacy.InitializeParams) (*initialized, error) { return &initialized{}, nil })
	s := serve(t, svc)
	hs := s.beginWith(strings.ReplaceAll(initialize, "2025-11-25", unseen), unseen)
	require.Equal(t, 200, s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, hs...).StatusCode)
	require.Equal(t, 400, s.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, hs[0], "MCP-Protocol-Version: 2025-11-25").StatusCode, "it is not served here")
	require.Equal(t, 204, s.do("DELETE", "", hs...).StatusCode)
}

// initialized is the result of initialize.
type initialized struct{}

func (*initialized) AppendJSON(b []byte) []byte {
	return append(b, `{"protocolVersion":"`+unseen+`","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`...)
}
