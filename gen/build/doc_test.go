package build

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// TestLinks holds how the links of official descriptions become Go's, in the
// form of the source and in the form that the published files have.
func TestLinks(t *testing.T) {
	text := `{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{
		"Result":{"type":"object","properties":{"_meta":{"type":"object"}}},
		"ToolResult":{"$ref":"#/$defs/Result"},
		"ClientRequest":{"anyOf":[{"$ref":"#/$defs/ToolRequest"}]},
		"ToolRequest":{"properties":{"method":{"const":"tool","type":"string"},"params":{"$ref":"#/$defs/ToolRequestParams"}}},
		"ToolRequestParams":{"type":"object","properties":{"x":{"type":"string","description":"{@link ToolRequestParams.x}, {@link Toolish}, {@link ToolRequestParamsthese params}\nand {@link ToolRequestParams | those}."}}}}}`
	p, err := Lower(Input{Revision: "r", File: "f", Schema: []byte(text)})
	require.NoError(t, err)
	for _, typ := range p.Types {
		if typ.Name == "ToolParams" {
			require.Equal(t, []string{"[ToolParams.X], Toolish, [ToolParams]", "and [ToolParams]."}, typ.Fields[0].Doc)
		}
	}
	deep, err := Lower(Input{Revision: "r", File: "f", Schema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{
		"Caps":{"type":"object","description":"See {@link Caps.sampling.context}, {@link Caps.}.","properties":{"sampling":{"type":"object"}}}}}`)})
	require.NoError(t, err)
	require.Equal(t, []string{"See [Caps.Sampling], [Caps]."}, deep.Types[0].Doc)
}

// TestDocs holds what a source of texts is asked for, and that it comes before
// the descriptions of the file.
func TestDocs(t *testing.T) {
	set, err := spec.Open(spec.Files())
	require.NoError(t, err)
	data, err := set.Patched("2026-07-28", spec.Generator)
	require.NoError(t, err)
	o, err := set.Overlay("2026-07-28")
	require.NoError(t, err)
	asked := map[string]bool{}
	p, err := Lower(Input{Revision: "2026-07-28", File: "f", Schema: data, Overlay: o, Docs: func(name, member string) []string {
		asked[name+"."+member] = true
		return []string{name, member}
	}})
	require.NoError(t, err)
	for _, key := range []string{
		"CallToolParams.", "CallToolParams.name", "tools/call.", "ContentBlock.", "LoggingLevel.debug", "LoggingLevel.", "CacheScope.public",
		"ResultType.complete", "SamplingContent.", "ElicitValue.", "InputResponse.", "InputRequests.", "PaginatedResult.", "Completion.values",
		"ParseError.", "UnsupportedProtocolVersionData.requested", "CodeParseError.", "MetaKeyBaggage.", "RequestMeta.io.modelcontextprotocol/logLevel",
	} {
		require.True(t, asked[key], key)
	}
	for _, typ := range p.Types {
		require.Equal(t, []string{typ.Name, ""}, typ.Doc)
		for _, f := range typ.Fields {
			if typ.Kind == ir.Struct {
				require.Equal(t, []string{typ.Name, f.JSON}, f.Doc)
			}
		}
	}
	for _, m := range p.Methods {
		require.Equal(t, []string{m.Name, ""}, m.Doc)
	}
}
