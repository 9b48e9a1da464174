package check

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestWhatStandsBesideACloserFaultIsTold holds that the check of a schema tells
// of what is wrong with a message beside that which another check tells of, and
// of that not again.
func TestWhatStandsBesideACloserFaultIsTold(t *testing.T) {
	list := func(tool string) string {
		return `! probe tools/list
> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
< {"jsonrpc":"2.0","id":1,"result":{"tools":[` + tool + `]}}
`
	}
	elicit := func(params string) string {
		return `< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":` + params + "}\n"
	}
	const nested = `"requestedSchema":{"type":"object","properties":{"a":{"type":"object"}}}`
	for name, tt := range map[string]struct {
		text string
		want []string // checks that find something
	}{
		"no schema":                 {list(`{"name":"a"}`), []string{"tool-input-schema"}},
		"neither schema nor name":   {list(`{"description":"a"}`), []string{"tool-input-schema", "tools-list-shape"}},
		"a form that is nested":     {elicit(`{"message":"a",` + nested + `}`), []string{"elicit-schema-flat"}},
		"and has no message":        {elicit(`{` + nested + `}`), []string{"elicit-schema-flat", "server-request-shape"}},
		"a URL without a message":   {elicit(`{"mode":"url","url":"https://example.com/","elicitationId":"a"}`), []string{"url-elicitation-shape"}},
		"a URL without an id":       {elicit(`{"mode":"url","url":"https://example.com/","message":"a"}`), []string{"url-elicitation-shape"}},
		"a form, and nothing wrong": {elicit(`{"message":"a","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`), nil},
		"a URL, and nothing wrong":  {elicit(`{"mode":"url","url":"https://example.com/","message":"a","elicitationId":"a"}`), nil},
	} {
		t.Run(name, func(t *testing.T) {
			const rev = "2025-11-25"
			rec, err := transcript.Parse([]byte("goldwire-transcript: 1\nrevision: " + rev + "\nclient-capabilities: {\"elicitation\":{\"form\":{},\"url\":{}}}\n" + tt.text))
			require.NoError(t, err)
			traces := []*Trace{NewTrace(rec)}
			facts := FactsOf(rev, traces)
			facts.Capabilities = wire.Raw(`{"tools":{}}`)
			all := All()
			var told []string
			for _, k := range all {
				if !k.Applies(rev, catalogue.Stdio) {
					continue
				}
				k.Beside = func(id string) *Check {
					if i := slices.IndexFunc(all, func(k Check) bool { return k.ID == id }); i >= 0 {
						return &all[i]
					}
					return nil
				}
				v := k.Verdict(rev, catalogue.Stdio, facts, traces, nil)
				if v.Verdict == result.Fail || v.Verdict == result.Warn {
					told = append(told, k.ID)
				}
			}
			slices.Sort(told)
			require.Equal(t, tt.want, told)
		})
	}
}
