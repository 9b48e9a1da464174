package jsonrpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestSaysItAll: a message says of itself what the stateless revisions ask,
// however it spells that, and the quick look never misses one.
func TestSaysItAll(t *testing.T) {
	for _, tt := range []struct {
		meta     string
		may, all bool
	}{
		{`{}`, false, false},
		{`{"progressToken":"a/b"}`, false, false},
		{`{"note":"C:\\users\n\"x\""}`, false, false},
		{`{"note":"\u0061"}`, true, false},
		{`{"io.modelcontextprotocol/logLevel":"info"}`, true, false},
		{`{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, true, true},
		{`{"a/b":"\n/","io.modelcontextprotocol/clientCapabilities":{}}`, true, true},
		{`{"io.modelcontextprotocol\/clientCapabilities":{}}`, true, true},
		{`{"note":"\\\\","io.modelcontextprotocol\u002fprotocolVersion":"2026-07-28"}`, true, true},
		{`{"\u0069o.modelcontextprotocol/protocolVersion":"2026-07-28"}`, true, true},
	} {
		p := &jsonrpc.Peek{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":` + tt.meta + `}}`)}
		require.Equal(t, tt.may, p.MaySayItAll(), tt.meta)
		require.Equal(t, tt.all, p.SaysItAll(), tt.meta)
	}
	for _, s := range []string{``, `\`, `"\`, `/`, `{"a":"\\`} { // a text that ends anywhere
		p := &jsonrpc.Peek{Data: []byte(s)}
		require.False(t, p.MaySayItAll(), s)
		require.False(t, p.SaysItAll(), s)
	}
}
