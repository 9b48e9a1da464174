package check_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/result"
)

// instead is a server of both eras that answers a method otherwise than it
// should. In the answer ID stands for the id of the request and RIGHT for the
// result that it should have.
func instead(method, answer string) server {
	return server{Output: func(c *conn, r *request, a string) string {
		if r == nil || r.Method != method || method == "initialize" && r.Modern {
			return a
		}
		_, right, _ := strings.Cut(strings.TrimSuffix(a, "}"), `"result":`)
		out := strings.NewReplacer("ID", string(r.ID), "RIGHT", right).Replace(answer)
		if out == "exit" {
			c.Exit(1)
			return ""
		}
		return out
	}}
}

// TestBrokenClaimsAreJudged holds that a revision is judged, and something
// found wrong in it, where a server of both eras answers the question for it in
// a way that is neither proper nor a refusal.
func TestBrokenClaimsAreJudged(t *testing.T) {
	for name, tt := range map[string]struct{ method, answer, rev, check string }{
		"no version":           {"initialize", `{"jsonrpc":"2.0","id":ID,"result":{"capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, "2025-11-25", "initialize-result"},
		"version of two types": {"initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":5,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, "2025-11-25", "initialize-result"},
		"empty result":         {"initialize", `{"jsonrpc":"2.0","id":ID,"result":{}}`, "2025-11-25", "initialize-result"},
		"null":                 {"initialize", `{"jsonrpc":"2.0","id":ID,"result":null}`, "2025-11-25", "result-object"},
		"array":                {"initialize", `{"jsonrpc":"2.0","id":ID,"result":[RIGHT]}`, "2025-11-25", "result-object"},
		"no result":            {"initialize", `{"jsonrpc":"2.0","id":ID}`, "2025-11-25", "response-one-of"},
		"other member":         {"initialize", `{"jsonrpc":"2.0","id":ID,"response":RIGHT}`, "2025-11-25", "response-one-of"},
		"result and error":     {"initialize", `{"jsonrpc":"2.0","id":ID,"result":RIGHT,"error":{"code":0,"message":"ok"}}`, "2025-11-25", "response-one-of"},
		"no id":                {"initialize", `{"jsonrpc":"2.0","result":RIGHT}`, "2025-11-25", "id-echo"},
		"null as id":           {"initialize", `{"jsonrpc":"2.0","id":null,"result":RIGHT}`, "2025-11-25", "id-echo"},
		"other id":             {"initialize", `{"jsonrpc":"2.0","id":"x","result":RIGHT}`, "2025-11-25", "id-echo"},
		"no JSON":              {"initialize", `{"jsonrpc":"2.0","id":ID,"result":RIGHT,}`, "2025-11-25", "stdout-messages-only"},

		"discovery without id":        {discover, `{"jsonrpc":"2.0","result":RIGHT}`, "2026-07-28", "id-echo"},
		"discovery with other id":     {discover, `{"jsonrpc":"2.0","id":"x","result":RIGHT}`, "2026-07-28", "id-echo"},
		"discovery of other types":    {discover, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":7,"capabilities":7}}`, "2026-07-28", "discover-versions"},
		"discovery without result":    {discover, `{"jsonrpc":"2.0","id":ID,"response":RIGHT}`, "2026-07-28", "response-one-of"},
		"discovery that is no JSON":   {discover, `{"jsonrpc":"2.0","id":ID,"result":RIGHT,}`, "2026-07-28", "stdout-messages-only"},
		"discovery with nothing else": {discover, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete"}}`, "2026-07-28", "discover-versions"},
	} {
		t.Run(name, func(t *testing.T) {
			s := instead(tt.method, tt.answer)
			require.Contains(t, speaks(t, s), tt.rev)
			v := judge(t, s, tt.rev)[tt.check]
			require.Equal(t, result.Fail, v.Verdict, "%s; %s", v.Observed, v.Reason)
			require.NotEmpty(t, v.Frames)
		})
	}
}

// TestRefusalsAreNoClaims holds that a server which refuses an era, in any of
// the ways in which servers do, is judged in the other alone.
func TestRefusalsAreNoClaims(t *testing.T) {
	stateless, stateful := []string{"2026-07-28"}, check.Revisions()[:4]
	for name, tt := range map[string]struct {
		method, answer string
		want           []string
	}{
		"no such method":              {"initialize", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`, stateless},
		"wrong params":                {"initialize", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no _meta","data":{"protocolVersion":"2026-07-28"}}}`, stateless},
		"unsupported":                 {"initialize", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}}`, stateless},
		"error without an id":         {"initialize", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, stateless},
		"error of a wrong form":       {"initialize", `{"jsonrpc":"2.0","id":ID,"error":"no"}`, stateless},
		"error under another name":    {"initialize", `{"jsonrpc":"2.0","id":ID,"failure":{"code":1,"message":"no"}}`, stateless},
		"silence":                     {"initialize", "", stateless},
		"end":                         {"initialize", "exit", stateless},
		"version of before":           {"initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2024-10-07","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, stateless},
		"stateless version":           {"initialize", `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, stateless},
		"what was sent, written down": {"initialize", `got {"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{}}}`, stateless},

		"discovery is no method":     {discover, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`, stateful},
		"discovery too early":        {discover, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"not initialized"}}`, stateful},
		"discovery is no request":    {discover, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`, stateful},
		"discovery met with silence": {discover, "", stateful},
		"discovery ends the server":  {discover, "exit", stateful},
	} {
		t.Run(name, func(t *testing.T) {
			s := instead(tt.method, tt.answer)
			if tt.method == discover { // what else such a server knows nothing of
				s.Versions = stateful
			}
			require.Equal(t, tt.want, speaks(t, s))
		})
	}
	t.Run("one of many versions", func(t *testing.T) {
		require.Equal(t, []string{"2025-03-26", "2025-06-18"}, speaks(t, server{Versions: []string{"2025-03-26", "2025-06-18"}}))
	})
}

// speaks explores a server in fake time.
func speaks(t *testing.T, s server) (revs []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		x, err := check.Explore(t.Context(), launcher(s), check.Limits{})
		require.NoError(t, err)
		revs = x.Speaks
	})
	return revs
}
