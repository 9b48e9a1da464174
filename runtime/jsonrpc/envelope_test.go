package jsonrpc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func TestEnvelopeKeepsWhatItReads(t *testing.T) {
	for _, c := range []struct {
		text string
		kind string
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"a"}`, "request"},
		{`{"jsonrpc":"2.0","id":"","method":"a","params":{"x":[1.0]}}`, "request"},
		{`{"jsonrpc":"2.0","method":"a","params":{}}`, "notification"},
		{`{"jsonrpc":"2.0","id":12345678901234567890,"result":{"a":null}}`, "response"},
		{`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no","data":null,"more":1}}`, "response"},
		{`{"jsonrpc":"2.0","error":{"code":0,"message":""}}`, "response"},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""}}`, "response"},
		{`{"jsonrpc":"2.0","id":1,"method":"a","x":[1.0],"Params":{},"_meta":null}`, "request"},
		{`{"jsonrpc":"2.0","method":"a","params":{},"x":1}`, "notification"},
		{`{"jsonrpc":"2.0","id":1,"result":{},"x":1}`, "response"},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":0,"message":""},"x":{}}`, "response"},
	} {
		e, err := jsonrpc.ParseEnvelope([]byte(c.text))
		require.NoError(t, err, c.text)
		require.Equal(t, c.kind == "request", e.IsRequest(), c.text)
		require.Equal(t, c.kind == "notification", e.IsNotification(), c.text)
		require.Equal(t, c.kind == "response", e.IsResponse(), c.text)
		require.Equal(t, c.text, string(e.AppendJSON(nil)))
		for n := range len(c.text) {
			_, err := jsonrpc.ParseEnvelope([]byte(c.text[:n]))
			require.Error(t, err, c.text[:n])
		}
	}
}

func TestEnvelopeIsStrict(t *testing.T) {
	for _, text := range []string{
		`[]`, `{}`, `{"jsonrpc":2.0,"id":1,"method":"a"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1.5,"method":"a"}`,
		`{"jsonrpc":"2.0","id":null,"method":"a"}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`, `{"jsonrpc":"2.0","id":1,"method":"a","error":{"code":1,"message":""}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, `{"jsonrpc":"2.0","id":1,"result":[]}`,
		`{"jsonrpc":"2.0","id":1,"params":{},"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":1,"Method":"a"}`,
		`{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}`, `{"jsonrpc":"2.0","id":1,"method":"a","params":null}`,
	} {
		_, err := jsonrpc.ParseEnvelope([]byte(text))
		require.Error(t, err, text)
	}
}

// TestParseAnswer holds that an answer belongs to its request, and that one
// about a request that could not be read belongs to any.
func TestParseAnswer(t *testing.T) {
	const failure = `"error":{"code":-32700,"message":"no"}}`
	for _, c := range []struct {
		id   jsonrpc.ID
		text string
		want string
	}{
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":1.0,"result":{}}`, "id: want 1, got 1.0"},
		{jsonrpc.StringID("1"), `{"jsonrpc":"2.0","id":1,"result":{}}`, `id: want "1", got 1`},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":2,` + failure, "id: want 1, got 2"},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":null,` + failure, ""},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0",` + failure, ""},
		{jsonrpc.ID{}, `{"jsonrpc":"2.0","id":2,"result":{}}`, ""},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":1,"method":"a"}`, "method: not an answer"},
		{jsonrpc.NewID(1), `{"jsonrpc":"2.0","id":1}`, "neither method nor result nor error"},
	} {
		e, err := jsonrpc.ParseAnswer([]byte(c.text), c.id)
		if c.want != "" {
			require.EqualError(t, err, c.want)
			require.Nil(t, e)
			continue
		}
		require.NoError(t, err, c.text)
		require.Equal(t, c.text, string(e.AppendJSON(nil)))
	}
}

// TestAppendExtra holds that no member is written twice.
func TestAppendExtra(t *testing.T) {
	one := wire.MustRaw("1")
	b := jsonrpc.AppendExtra([]byte(`{"jsonrpc":"2.0","id":1,"method":"a"}`), wire.Members{
		{Name: "id", Value: one}, {Name: "x", Value: one}, {Name: "params", Value: one}, {Name: "x", Value: one},
	})
	require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"a","x":1}`, string(b))
}

func TestDecodeParamsAndResult(t *testing.T) {
	e := &jsonrpc.Envelope{Method: "a"}
	p, err := jsonrpc.DecodeParams[wire.Raw](e, false)
	require.NoError(t, err)
	require.Nil(t, p)
	_, err = jsonrpc.DecodeParams[wire.Raw](e, true)
	require.EqualError(t, err, "params: missing")
	e.Params = wire.Raw(`{"code":"x"}`)
	_, err = jsonrpc.DecodeParams[jsonrpc.Error](e, true)
	require.EqualError(t, err, "params.code: want an integer, got a string")
	r, problems, err := jsonrpc.DecodeResult[wire.Raw](&jsonrpc.Envelope{}, true)
	require.NoError(t, err)
	require.Nil(t, r)
	require.Nil(t, problems)
	_, _, err = jsonrpc.DecodeResult[jsonrpc.Error](&jsonrpc.Envelope{Result: wire.Raw(`{"code":1}`)}, false)
	require.EqualError(t, err, "result.message: missing")
	odd := &jsonrpc.Envelope{Result: wire.Raw(`{"names":["a",1]}`)}
	l, problems, err := jsonrpc.DecodeResult[nameList](odd, false)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, l.Names)
	require.Equal(t, []wire.Problem{{Kind: wire.ErrType, Path: "result.names[1]", Msg: "want a string, got a number", Offset: 14}}, problems)
	_, _, err = jsonrpc.DecodeResult[nameList](odd, true)
	require.EqualError(t, err, "result.names[1]: want a string, got a number")
}

func TestAppendError(t *testing.T) {
	e := jsonrpc.NewError(jsonrpc.CodeParseError, "no")
	require.Equal(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`, string(jsonrpc.AppendError(nil, jsonrpc.ID{}, false, e)))
	require.Equal(t, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}`, string(jsonrpc.AppendError(nil, jsonrpc.ID{}, true, e)))
}

func TestCheckFeatures(t *testing.T) {
	set := func(name string) jsonrpc.Part { return jsonrpc.Part{Name: name, Set: true} }
	not := func(name string) jsonrpc.Part { return jsonrpc.Part{Name: name} }
	for _, c := range []struct {
		f    jsonrpc.Feature
		want string
	}{
		{jsonrpc.Feature{}, ""},
		{jsonrpc.Feature{All: []jsonrpc.Part{not("A"), not("B")}}, ""},
		{jsonrpc.Feature{All: []jsonrpc.Part{set("A"), set("B")}, Needs: []jsonrpc.Part{set("C")}}, ""},
		{jsonrpc.Feature{All: []jsonrpc.Part{not("A"), set("B")}}, "Server: B is set and A is not: the capability x needs both"},
		{jsonrpc.Feature{All: []jsonrpc.Part{not("A")}, Asks: []jsonrpc.Part{set("Flag")}}, "Server: Flag is set and A is not: the capability x needs both"},
		{jsonrpc.Feature{Asks: []jsonrpc.Part{not("Flag"), set("Other")}, Needs: []jsonrpc.Part{set("A"), not("B")}}, "Server: Other is set and B is not: the capability x needs both"},
		{jsonrpc.Feature{Needs: []jsonrpc.Part{not("A")}}, ""},
	} {
		c.f.Capability = "x"
		err := jsonrpc.CheckFeatures("Server", c.f)
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, c.want)
	}
}
