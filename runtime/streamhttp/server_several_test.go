package streamhttp_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestSeveralStatelessRevisions: each request is answered in the revision that it
// names, whatever else is served; a version that is not is refused with a list of
// those that are, and server/discover lists the same (2026-07-28: basic/versioning,
// server/discover).
func TestSeveralStatelessRevisions(t *testing.T) {
	l, m := servers(map[string]tool{"echo": func(context.Context, peer) (string, error) { return "2026-07-28", nil }})
	saying := func(rev string) *jsonrpc.Service {
		_, m := servers(map[string]tool{"region": func(context.Context, peer) (string, error) { return rev, nil }})
		if rev == "2032-01-02" { // whose tool has no argument that a header repeats
			m.ListTools = func(context.Context, *modern.ListToolsParams) (*modern.ListToolsResult, error) {
				return &modern.ListToolsResult{Tools: []modern.Tool{{Name: "region", InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
			}
		}
		return draft(rev, jsonrpc.ServerSide, m)
	}
	all := []string{"2032-01-02", unseen, "2026-07-28"}
	const supported = `["2032-01-02","2031-05-06","2026-07-28"]`
	for name, b := range map[string]jsonrpc.Binder{
		"alone":             compat.Revisions(m, saying("2032-01-02"), saying(unseen)),
		"beside a stateful": compat.Revisions(saying(unseen), l, m, saying("2032-01-02")),
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, b)
			in := func(rev, body string) string { return strings.ReplaceAll(body, "2026-07-28", rev) }
			ask := func(header, meta, method string) reply {
				return s.post(in(meta, strings.Replace(modernList, "tools/list", method, 1)), "MCP-Protocol-Version: "+header, "Mcp-Method: "+method)
			}
			for _, rev := range all {
				r := ask(rev, rev, "server/discover")
				require.Equal(t, 200, r.StatusCode, r.body)
				result := wire.Raw(r.body).Get("result")
				require.Equal(t, supported, string(result.Get("supportedVersions")), r.body)
				require.Equal(t, `"test"`, string(result.Get("_meta").Get("io.modelcontextprotocol/serverInfo").Get("name")), r.body)
				require.NotNil(t, result.Get("capabilities").Get("tools"), r.body)
				require.Equal(t, 200, ask(rev, rev, "tools/list").StatusCode)
				require.Equal(t, 404, ask(rev, rev, "no/such").StatusCode)

				tool := "region"
				if rev == "2026-07-28" {
					tool = "echo"
				}
				body, hs := call("1", tool, `{"region":"eu"}`)
				hs[0] = "MCP-Protocol-Version: " + rev
				r = s.post(in(rev, body), hs...)
				if rev == unseen {
					require.EqualValues(t, -32020, r.code(), "a header is missing that this one's list of tools asks for: %s", r.body)
					r = s.post(in(rev, body), append(hs, "Mcp-Param-Region: eu")...)
				}
				require.Contains(t, r.body, `"text":"`+rev+`"`, "who answers is who was named")
				for _, method := range []string{"GET", "DELETE"} {
					require.Equal(t, 405, s.do(method, "", "MCP-Protocol-Version: "+rev).StatusCode)
				}
			}
			for _, method := range []string{"server/discover", "tools/list", "initialize", "no/such"} {
				r := ask("2099-01-01", "2099-01-01", method)
				require.Equal(t, 400, r.StatusCode, r.body)
				require.EqualValues(t, -32022, r.code(), r.body)
				data := wire.Raw(r.body).Get("error").Get("data")
				require.Equal(t, supported, string(data.Get("supported")), r.body)
				require.Equal(t, `"2099-01-01"`, string(data.Get("requested")), r.body)
			}
			for rule, pair := range map[string][2]string{
				"both are served": {unseen, "2026-07-28"}, "the header's is not": {"2099-01-01", unseen}, "the body's is not": {"2032-01-02", "2099-01-01"},
			} {
				r := ask(pair[0], pair[1], "tools/list")
				require.Equal(t, 400, r.StatusCode, rule)
				require.EqualValues(t, -32020, r.code(), "%s: %s", rule, r.body)
			}
			for _, rev := range all {
				r := s.post(list, "MCP-Protocol-Version: "+rev, "Mcp-Method: tools/list")
				require.EqualValues(t, -32602, r.code(), "no _meta: %s", r.body)
				r = s.post(initialize, "MCP-Protocol-Version: "+rev, "Mcp-Method: initialize")
				require.Equal(t, 400, r.StatusCode, r.body)
				require.Contains(t, r.body, `"supported":`+supported, "a handshake")
				require.Equal(t, 202, s.post(`{"jsonrpc":"2.0","method":"notifications/x"}`, "MCP-Protocol-Version: "+rev).StatusCode)
			}
			if name == "alone" {
				require.Contains(t, s.post(initialize).body, `"supported":`+supported)
				return
			}
			session := s.begin()
			require.Equal(t, 200, s.post(list, session...).StatusCode)
			require.Equal(t, 200, s.post(in(unseen, modernList), "MCP-Protocol-Version: "+unseen, "Mcp-Method: tools/list", session[0]).StatusCode, "next to a session")
		})
	}
}

// TestListenInOneOfSeveral: a subscription belongs to the revision that it names.
func TestListenInOneOfSeveral(t *testing.T) {
	_, m := servers(nil)
	hub := new(jsonrpc.Hub)
	old, newer := m, m
	newer.Hub = hub
	s := serve(t, compat.Revisions(old, draft(unseen, jsonrpc.ServerSide, newer)))
	st := s.open("POST", strings.ReplaceAll(listenBody, "2026-07-28", unseen), "MCP-Protocol-Version: "+unseen, listenHeaders[1])
	require.Contains(t, st.message().data, "acknowledged")
	hub.ToolsListChanged(t.Context())
	require.Contains(t, st.message().data, "notifications/tools/list_changed")
	done := make(chan error)
	go func() { done <- s.h.Shutdown(t.Context()) }()
	require.Contains(t, st.message().data, `"resultType":"complete"`)
	require.NoError(t, <-done)
}
