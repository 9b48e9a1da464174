package broken_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/broken"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/check/checktest"
	"github.com/goldwire/goldwire/conformance/result"
)

// replacing is the reference server with a text of its lines replaced.
func replacing(old, with string) check.Launcher {
	f := broken.Fault{Wire: &broken.Wire{Output: func(_ *broken.Link, _ broken.Message, l string) string {
		return strings.Replace(l, old, with, 1)
	}}}
	return f.Launcher()
}

func small(s checktest.Server) check.Launcher { return (&broken.Fault{Server: &s}).Launcher() }

// report runs the checker on a server in fake time.
func report(t *testing.T, l check.Launcher, o conformance.Options) (rep *result.Report, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { rep, err = conformance.Run(t.Context(), conformance.Target{Launcher: l}, o) })
	return rep, err
}

// TestReportedFaultsOfCheckers holds against this checker what others were told
// that they get wrong, by the names of the cases.
func TestReportedFaultsOfCheckers(t *testing.T) {
	if raced > 1 && !*all {
		t.Skip("make test judges these without the race detector")
	}
	t.Run("id-fractional", func(t *testing.T) {
		// The types of the schema let a fraction pass, the text does not.
		got := findings(t, small(checktest.Say("tools/list", `{"jsonrpc":"2.0","id":20050.5,"method":"ping"}`)), "2025-11-25")
		require.Contains(t, got, "server-request-ids")
		require.Equal(t, result.Fail, got["server-request-ids"].Verdict)
		// Who refuses one is right.
		refuses := &broken.Wire{Input: func(w *broken.Link, l []byte) []byte {
			if strings.Contains(string(l), `"id":20050.5`) {
				w.Line(`{"jsonrpc":"2.0","error":{"code":-32600,"message":"id: want a string or an integer"}}`)
				return nil
			}
			return l
		}}
		require.Empty(t, findings(t, (&broken.Fault{Wire: refuses}).Launcher(), modernRevision))
	})
	t.Run("sdk-decides-malformed-verdict", func(t *testing.T) {
		// What a library decides is told of its layer, with the weight of the
		// rule and the name of the server.
		rep, err := report(t, small(checktest.DieOn("this is no JSON")), conformance.Options{Revisions: []string{"2025-11-25"}})
		require.NoError(t, err)
		require.Equal(t, "checktest", rep.Target.Name)
		told := 0
		for _, v := range rep.Results {
			if v.Verdict == result.Fail || v.Verdict == result.Warn {
				told++
				require.Equal(t, string(check.JSONRPC), v.Layer, v.ID)
				require.NotEmpty(t, v.Level, v.ID)
				require.NotEmpty(t, v.Requirements, v.ID)
			}
		}
		require.NotZero(t, told)
	})
	t.Run("version-answer-outside-window", func(t *testing.T) {
		older := small(checktest.Server{Versions: []string{"2024-11-05", "2025-03-26", "2025-06-18"}})
		rep, err := report(t, older, conformance.Options{})
		require.NoError(t, err)
		require.Equal(t, []string{"2025-06-18"}, rep.Revisions, "the older rules are what it is judged by")
		require.Zero(t, rep.Summary()[result.Fail]+rep.Summary()[result.Warn])
		_, err = report(t, older, conformance.Options{Revisions: []string{"2025-11-25"}})
		var none *conformance.RevisionError
		require.ErrorAs(t, err, &none, "it is not tested by newer ones, and breaks none of them")
	})
	t.Run("number-header-param-fixture", func(t *testing.T) {
		got := findings(t, replacing(`{"type":"string","x-mcp-header":`, `{"type":"number","x-mcp-header":`), modernRevision)
		bad := findings(t, small(checktest.Swap("tools/list", `"region":{"type":"string"`, `"region":{"type":"number"`)), modernRevision)
		require.Contains(t, bad, "header-annotations")
		for id := range got {
			require.Equal(t, "header-annotations", id)
		}
	})
	t.Run("mock-server-lacks-discover", func(t *testing.T) {
		// The servers of the checker's own tests keep the rules for servers.
		for name, l := range map[string]check.Launcher{"reference": replacing("", ""), "small": small(checktest.Server{})} {
			rep, err := report(t, l, conformance.Options{Revisions: []string{modernRevision}, Checks: []string{"discover-*"}})
			require.NoError(t, err, name)
			require.NotEmpty(t, rep.Results)
			for _, v := range rep.Results {
				require.Equal(t, result.Pass, v.Verdict, "%s %s", name, v.ID)
			}
		}
	})
	t.Run("checker-blames-wrong-side", func(t *testing.T) {
		// Null ids and wrong bodies are the checker's own; each revision has its
		// own schema; a batch is judged once.
		for _, rev := range []string{"2025-03-26", modernRevision} {
			rep, err := report(t, small(checktest.Server{}), conformance.Options{Revisions: []string{rev}})
			require.NoError(t, err)
			require.Zero(t, rep.Summary()[result.Fail]+rep.Summary()[result.Warn], rev)
		}
		// The official schemas take bounds of numbers for integers.
		for _, rev := range []string{"2025-06-18", "2025-11-25"} {
			got := findings(t, replacing(`"requestedSchema":{"type":"object","properties":{`, `"requestedSchema":{"type":"object","properties":{"half":{"type":"number","minimum":0.5,"maximum":1.5},`), rev)
			delete(got, known["reference "+rev])
			delete(got, "form-content-checked") // the server knows nothing of that field
			require.Empty(t, got, rev)
		}
	})
	t.Run("jsonschema-urn-and-loader", func(t *testing.T) {
		const schema = `"inputSchema":{"$id":"urn:uuid:85626792-9ee7-46bb-8fc8-4ba708cfdc1d","type":"object","properties":{"a":{"$ref":"https://h.example/x.json"}}}`
		got := findings(t, small(checktest.Swap("tools/list", `"inputSchema":{"type":"object"}`, schema)), modernRevision)
		require.Contains(t, got, "tool-schema-no-network")
		require.Len(t, got, 1, "nothing was fetched, and nothing else is wrong with it: %v", got)
		local := strings.Replace(schema, `{"$ref":"https://h.example/x.json"}`, `{"$ref":"#/$defs/x"}`, 1)
		local = strings.Replace(local, `"type":"object"`, `"type":"object","$defs":{"x":{"type":"string"}}`, 1)
		require.Empty(t, findings(t, small(checktest.Swap("tools/list", `"inputSchema":{"type":"object"}`, local)), modernRevision))
	})
}
