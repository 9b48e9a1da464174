package hand

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEcho(t *testing.T) {
	const info = `{"name":"a","version":"1"}`
	for _, tt := range []struct{ call, answer string }{
		{`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo","arguments":{"message":"a\u00e9\n"}}}`,
			`{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"aé\n"}]}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"b"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"b"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}}}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}`, ""},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"message":"b"}}`, ""},
	} {
		got, ok := Echo(nil, []byte(tt.call), info)
		require.Equal(t, tt.answer != "", ok, tt.call)
		require.Equal(t, tt.answer, string(got))
	}
}
