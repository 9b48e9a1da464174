package bridge

import (
	"testing"
	"testing/synctest"
)

// TestBytesPassUnchanged holds that nothing but the ids changes between two
// sides that speak the same revision.
func TestBytesPassUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		server := begin(t, client, s)

		expect := func(from, to *wireEnd, sent, want string) {
			t.Helper()
			from.send(sent)
			if got := to.recv(); got != want {
				t.Fatalf("sent %s\ngot  %s\nwant %s", sent, got, want)
			}
		}
		// A request with all that a decoder would change.
		expect(client, server,
			`{ "id" : "a\u0062c", "x-trace":[1.0,{"b":1,"b":2}], "method":"tools\/call","params":{"_meta":{"progressToken":"tok\u0041","y":null},"name":"\ud800","arguments":{"n":1e400,"id":"keep"}},"jsonrpc":"2.0"}`,
			`{ "id" : 2, "x-trace":[1.0,{"b":1,"b":2}], "method":"tools\/call","params":{"_meta":{"progressToken":2,"y":null},"name":"\ud800","arguments":{"n":1e400,"id":"keep"}},"jsonrpc":"2.0"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":2,"extra":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":"tok\u0041","extra":{}}}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u00e9"} ,"z":0}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u00e9"} ,"z":0}`)
		// A request of the server's, in the middle of the call.
		expect(server, client,
			`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`,
			`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
		expect(client, server,
			`{"jsonrpc":"2.0","result":{"role":"assistant","u":"\/"},"id":1}`,
			`{"jsonrpc":"2.0","result":{"role":"assistant","u":"\/"},"id":"s1"}`)
		expect(server, client,
			`{"result":{"content":[],"big":123456789012345678901234567890}, "id":2,"jsonrpc":"2.0","more":true}`,
			`{"result":{"content":[],"big":123456789012345678901234567890}, "id":"a\u0062c","jsonrpc":"2.0","more":true}`)
		// Errors, with members that nobody knows.
		expect(client, server, `{"jsonrpc":"2.0","id":1.0,"method":"x/y"}`, `{"jsonrpc":"2.0","id":3,"method":"x/y"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"n\u006f","data":[1],"hint":"h"}}`,
			`{"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"n\u006f","data":[1],"hint":"h"}}`)
		// Cancellation, either way.
		expect(client, server, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}`)
		expect(client, server,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"b\u006fred","requestId":9,"_meta":{"k":1}}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"b\u006fred","requestId":4,"_meta":{"k":1}}}`)
		expect(server, client, `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		// Anything else.
		expect(client, server, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","q":"\u0000"}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","q":"\u0000"}`)
		expect(client, server, `{"jsonrpc":"2.0","id":"p","method":"ping"}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		expect(server, client, `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","id":"p","result":{}}`)
		expect(server, client, `{"jsonrpc":"2.0","id":0,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		expect(client, server, `{"jsonrpc":"2.0","id":3,"result":{}}`, `{"jsonrpc":"2.0","id":0,"result":{}}`)
	})
}
