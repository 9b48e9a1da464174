package mcp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20241105"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestNewerValuesAreKept holds that what newer revisions added is read as
// unknown and written as it came.
func TestNewerValuesAreKept(t *testing.T) {
	text := `{"content":[{"type":"text","text":"a","_meta":{"x":1}},{"type":"audio","data":"AA==","mimeType":"audio/wav"},{"type":"resource_link","uri":"u","name":""}],"structuredContent":{"n":9007199254740993}}`
	var r mcp.CallToolResult
	require.NoError(t, wire.Decode([]byte(text), wire.Options{}, &r))
	require.Equal(t, text, string(r.AppendJSON(nil)))
	require.Equal(t, "audio", r.Content[1].(*mcp.UnknownContentBlock).Tag)
	require.Equal(t, `{"x":1}`, string(r.Content[0].(*mcp.TextContent).Extra.Get("_meta")))

	text = `{"messages":[{"role":"critic","content":{"type":"tool_use","id":"1"}}],"maxTokens":0,"includeContext":"nearby"}`
	var p mcp.CreateMessageParams
	require.NoError(t, wire.Decode([]byte(text), wire.Options{}, &p))
	require.True(t, wire.Equal(wire.Raw(text), p.AppendJSON(nil)))
	require.False(t, p.Messages[0].Role.Known())
}
