package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// head is what every message of every revision has.
type head interface {
	MessageID() jsonrpc.ID
	MessageMethod() string
}

// TestEnvelopesKeepWhatTheyDoNotKnow reads each request, its answers and each
// notification of each revision with members beside those of JSON-RPC, and
// holds that all of it is written again, and that id and method can be asked of
// any message.
func TestEnvelopesKeepWhatTheyDoNotKnow(t *testing.T) {
	const extra = `,"x":[1.0,null],"Params":{},"trace":"a\u00e9"}`
	eachRevision(t, func(t *testing.T, m model) {
		decode := decoders[m.Revision]
		for _, q := range m.Methods {
			if q.Embedded || q.Params == "" {
				continue
			}
			name := q.Go + "Request"
			if q.Notification {
				name = q.Go + "Notification"
			}
			text := strings.TrimSuffix(m.sample(t, q.Definition), "}") + extra
			id := wire.Raw(text).Get("id")
			v, answer, err := decode([]byte(text))
			require.NoError(t, err, text)
			require.Equal(t, "*mcp."+name, typeName(v))
			requireEqual(t, text, v.AppendJSON(nil))
			require.Equal(t, q.Name, v.(head).MessageMethod())
			if q.Notification {
				require.True(t, v.(head).MessageID().IsZero())
				require.Nil(t, answer)
				continue
			}
			require.Equal(t, id.String(), v.(head).MessageID().String())
			result := m.sample(t, q.Result)
			const failure = `"error":{"code":-32603,"message":"no","data":null,"more":1}`
			for _, a := range []string{
				`{"jsonrpc":"2.0","id":` + id.String() + `,"result":` + result + extra,
				`{"jsonrpc":"2.0","id":` + id.String() + `,` + failure + extra,
				`{"jsonrpc":"2.0","id":null,` + failure + extra,
				`{"jsonrpc":"2.0",` + failure + extra,
			} {
				v, err := answer(jsonrpc.Frame{Data: []byte(a)})
				require.NoError(t, err, a)
				require.Equal(t, "*mcp."+q.Go+"Response", typeName(v))
				requireEqual(t, a, v.AppendJSON(nil))
				require.Empty(t, v.(head).MessageMethod())
				require.Equal(t, strings.Contains(a, failure), v.(interface{ Failure() *jsonrpc.Error }).Failure() != nil)
				whole, _, err := decode([]byte(a))
				require.NoError(t, err)
				require.Equal(t, "*mcp.Response", typeName(whole))
				requireEqual(t, a, whole.AppendJSON(nil))
			}
			_, err = answer(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":"another","result":` + result + `}`)})
			require.EqualError(t, err, `id: want `+id.String()+`, got "another"`)
		}
		for _, text := range []string{
			`{"jsonrpc":"2.0","id":"q","method":"ext/q","params":{"a":1}` + extra, `{"jsonrpc":"2.0","method":"ext/n"` + extra,
		} {
			v, _, err := decode([]byte(text))
			require.NoError(t, err)
			requireEqual(t, text, v.AppendJSON(nil))
			require.Equal(t, wire.Raw(text).Get("method").String(), fmt.Sprintf("%q", v.(head).MessageMethod()))
		}
	})
}

// TestAnswersTellWhatWasForgiven holds in every revision that a result which
// breaks its schema is read, that what was passed over is told with its place,
// and that the same is an error when asked to be strict.
func TestAnswersTellWhatWasForgiven(t *testing.T) {
	type answered interface{ Problems() []wire.Problem }
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientCapabilities":{}}`
	const text = `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a","inputSchema":{}},{"name":1},{"name":"c"}]}}`
	for revision, decode := range decoders {
		_, answer, err := decode([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`))
		require.NoError(t, err, revision)
		v, err := answer(jsonrpc.Frame{Data: []byte(text)})
		require.NoError(t, err, revision)
		var got []string
		for _, p := range v.(answered).Problems() {
			got = append(got, p.String())
		}
		require.Equal(t, []string{"result.tools[1].name: want a string, got a number", `result.tools[2].inputSchema: missing, taken as {"type":"object"}`}, got, revision)
		require.Contains(t, string(v.AppendJSON(nil)), `"tools":[{"name":"a","inputSchema":{}},{"name":"c","inputSchema":{"type":"object"}}]`,
			"%s: a required member is always written", revision)
		_, answer, err = strictDecoders[revision]([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{` + meta + `}}`))
		require.NoError(t, err, revision)
		_, err = answer(jsonrpc.Frame{Data: []byte(text)})
		require.EqualError(t, err, "result.tools[1].name: want a string, got a number", revision)
		v, err = answer(jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}`)})
		require.NoError(t, err, revision)
		require.Empty(t, v.(answered).Problems())
	}
}

// sample is the example of a type or definition, or the draft of one that has
// none yet.
func (m model) sample(t *testing.T, name string) string {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(examplesDir(m.Revision), name+".json")); err == nil {
		return strings.TrimSpace(string(text))
	}
	text, err := m.draft(name)
	require.NoError(t, err)
	return strings.TrimSpace(text)
}
