package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestSmoke(t *testing.T) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"a\nb","annotations":{"audience":["user"],"priority":0.5}},{"type":"image","data":"QQ==","mimeType":"image/png"},{"type":"audio","x":1}],"structuredContent":null,"isError":false,"zz":[1,{"a":2}]}`,
	} {
		var x CallToolResult
		require.NoError(t, wire.Decode([]byte(s), wire.Options{}, &x))
		require.Equal(t, s, string(x.AppendJSON(nil)))
	}
	var x ListToolsResult
	err := wire.Decode([]byte(`{"tools":[{"name":"a","inputSchema":{}},{"name":"b","inputSchema":5}]}`), wire.Options{}, &x)
	require.EqualError(t, err, "tools[1].inputSchema: want an object, got a number")
	err = wire.Decode([]byte(`{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}]}`), wire.Options{}, &x)
	require.EqualError(t, err, "tools[1].inputSchema: missing")
	err = wire.Decode([]byte(`{"tools":[{"name":"a","inputSchema":{}},{"name":"b","name":"x"}]}`), wire.Options{}, &x)
	require.EqualError(t, err, "tools[1].name: duplicate member")
}
