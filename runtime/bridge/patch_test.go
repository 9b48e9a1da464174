package bridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// replaced is a message with each member that mark finds written anew.
func replaced(t *testing.T, msg, method string, answer bool) string {
	t.Helper()
	m, err := mark([]byte(msg), method, answer)
	require.NoError(t, err)
	return string(m.rewrite(nil, func(what member) jsonrpc.ID {
		return jsonrpc.StringID([]string{"", "ID", "TOKEN", "REQUEST", "SUB"}[what])
	}))
}

// TestMark holds which members of a message are the connections' own, and that
// nothing around them changes.
func TestMark(t *testing.T) {
	for _, c := range []struct {
		method string
		answer bool
		in     string
		want   string
	}{
		{"tools/call", false, `{"id":1,"params":{"_meta":{"progressToken":2},"progressToken":3,"requestId":4,"id":5}}`, `{"id":"ID","params":{"_meta":{"progressToken":"TOKEN"},"progressToken":3,"requestId":4,"id":5}}`},
		{"tools/call", false, ` { "params" : { "_meta" : { "progressToken" : "a\u0062" , "k":{"progressToken":1} } } , "\u0069d" : 1.0e1 } `, ` { "params" : { "_meta" : { "progressToken" : "TOKEN" , "k":{"progressToken":1} } } , "\u0069d" : "ID" } `},
		{methodProgress, false, `{"params":{"progressToken":"x","_meta":{"progressToken":1},"progress":0}}`, `{"params":{"progressToken":"TOKEN","_meta":{"progressToken":1},"progress":0}}`},
		{methodCancelled, false, `{"params":{"requestId":7,"_meta":{"io.modelcontextprotocol\/subscriptionId":7}}}`, `{"params":{"requestId":"REQUEST","_meta":{"io.modelcontextprotocol\/subscriptionId":"SUB"}}}`},
		{"notifications/resources/updated", false, `{"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"uri":"x"}}`, `{"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"SUB"},"uri":"x"}}`},
		{"tools/call", true, `{"result":{"id":1,"_meta":{"progressToken":1,"io.modelcontextprotocol/subscriptionId":1}},"id":9}`, `{"result":{"id":1,"_meta":{"progressToken":1,"io.modelcontextprotocol/subscriptionId":1}},"id":"ID"}`},
		{methodListen, true, `{"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}},"id":9}`, `{"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"SUB"}},"id":"ID"}`},
		{"x", false, `{"id":1,"params":{"_meta":[1],"_meta":{"progressToken":1},"_meta":{"progressToken":2}}}`, `{"id":"ID","params":{"_meta":[1],"_meta":{"progressToken":"TOKEN"},"_meta":{"progressToken":"TOKEN"}}}`},
		{"x", false, `{"id":1,"params":[]}`, `{"id":"ID","params":[]}`},
		{"x", false, `{"method":"x"}`, `{"method":"x"}`},
	} {
		require.Equal(t, c.want, replaced(t, c.in, c.method, c.answer), "%s %s", c.method, c.in)
	}
	m, err := mark([]byte(`{"params":{"_meta":{"progressToken":1},"_meta":{"progressToken":"2"}}}`), "x", false)
	require.NoError(t, err)
	require.Equal(t, jsonrpc.StringID("2"), m.id(memberToken), "the last of several counts, as for most readers")
	for _, token := range []string{"null", "1.5", "{}", "true"} {
		m, err := mark([]byte(`{"params":{"_meta":{"progressToken":`+token+`}}}`), "x", false)
		require.NoError(t, err)
		require.True(t, m.id(memberToken).IsZero(), token)
	}
}

// TestMarkOfEveryPrefix holds that a text that was cut is an error, wherever.
func TestMarkOfEveryPrefix(t *testing.T) {
	const msg = `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":1,"k":[{}]},"n":1}}`
	for n := range len(msg) {
		_, err := mark([]byte(msg[:n]), "tools/call", false)
		require.Error(t, err, msg[:n])
	}
}

// TestOneLine holds that no line end is left in a message that goes out as a line.
func TestOneLine(t *testing.T) {
	require.Equal(t, "{ \n \"a\":1}", string(oneLine([]byte("{\r\n\r\"a\":1}"))))
	require.Equal(t, `{"a":"\r"}`, string(oneLine([]byte(`{"a":"\r"}`))))
}

// FuzzMark holds that writing a message anew with the values that it has changes
// nothing, and that other values leave it valid.
func FuzzMark(f *testing.F) {
	for _, msg := range []string{
		initialize, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}`,
	} {
		for _, method := range []string{"tools/call", methodProgress, methodCancelled, methodListen} {
			f.Add([]byte(msg), method, strings.Contains(msg, "result"))
		}
	}
	f.Fuzz(func(t *testing.T, msg []byte, method string, answer bool) {
		if _, err := wire.ParseRaw(msg); err != nil {
			_, _ = mark(msg, method, answer)
			return
		}
		m, err := mark(msg, method, answer)
		if err != nil {
			return // a name that comes with half a surrogate, say
		}
		require.Equal(t, string(msg), string(m.rewrite(nil, func(member) jsonrpc.ID { return jsonrpc.ID{} })))
		_, err = wire.ParseRaw(m.rewrite(nil, func(member) jsonrpc.ID { return jsonrpc.StringID("\x00é") }))
		require.NoError(t, err)
	})
}
