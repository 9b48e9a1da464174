package replay

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/match"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestCompare(t *testing.T) {
	const call = `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}`
	for name, tt := range map[string]struct {
		older, newer string
		same         int
		want         []Change
	}{
		"ids, tokens, order, spelling and who speaks": {
			older: call + "\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n",
			newer: "> {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"}}}}\n" +
				"> {\"params\":{\"name\":\"\\u0061\"},\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n< {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n",
			same: 2,
		},
		"an answer": {
			older: call + "\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":1,\"b\":2}}\n",
			newer: call + "\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":2}}\n",
			want: []Change{{Sender: "client", Method: "tools/call", Before: call, After: call,
				Values: []match.Mismatch{{Path: "result.a", Want: "1", Got: "2"}, {Path: "result.b", Want: "2", Got: "nothing"}}}},
		},
		"the first with the first": {
			older: "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n> {\"id\":2,\"method\":\"ping\"}\n< {\"id\":2,\"result\":{}}\n",
			newer: "> {\"id\":1,\"method\":\"ping\"}\n< {\"id\":1,\"result\":{}}\n> {\"id\":2,\"method\":\"ping\"}\n",
			same:  1,
			want: []Change{{Sender: "client", Method: "ping", Before: `> {"id":2,"method":"ping"}`, After: `> {"id":2,"method":"ping"}`,
				Values: []match.Mismatch{{Path: "answer", Want: `{"id":2,"result":{}}`, Got: "nothing"}}}},
		},
		"params": {
			older: "< {\"method\":\"notifications/message\",\"params\":{\"data\":1}}\n", newer: "< {\"method\":\"notifications/message\",\"params\":{\"data\":2}}\n",
			want: []Change{{Sender: "server", Method: "notifications/message", Before: `< {"method":"notifications/message","params":{"data":1}}`,
				After: `< {"method":"notifications/message","params":{"data":2}}`, Values: []match.Mismatch{{Path: "params.data", Want: "1", Got: "2"}}}},
		},
		"only in one": {
			older: "> {\"method\":\"a\"}\n> hello\n", newer: "< {\"method\":\"a\"}\n> hello\n", same: 1,
			want: []Change{{Sender: "client", Method: "a", Before: `> {"method":"a"}`}, {Sender: "server", Method: "a", After: `< {"method":"a"}`}},
		},
		"a batch and its members": {
			older: "> [{\"id\":1,\"method\":\"ping\"},{\"method\":\"x\"}]\n< [{\"id\":1,\"result\":{}}]\n",
			newer: ">>1 POST /mcp\n>1 {\"id\":1,\"method\":\"ping\"}\n<<1 200\n<1 {\"id\":1,\"result\":{}}\n>2 {\"method\":\"x\"}\n", same: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			older, err := transcript.Parse([]byte(magicLine + tt.older))
			require.NoError(t, err)
			newer, err := transcript.Parse([]byte(magicLine + tt.newer))
			require.NoError(t, err)
			d := Compare(older, newer)
			if tt.want == nil {
				tt.want = []Change{}
			}
			require.Empty(t, cmp.Diff(tt.want, d.Changes))
			require.Equal(t, tt.same, d.Same)
			require.Empty(t, Compare(older, older).Changes)
			require.Empty(t, Compare(newer, newer).Changes)
		})
	}
}

const magicLine = "goldwire-transcript: 1\n"
