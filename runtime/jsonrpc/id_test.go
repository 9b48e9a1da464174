package jsonrpc_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestID: strings and integers, each in its own spelling; nothing else (row
// 74).
func TestID(t *testing.T) {
	read := func(s string) (id jsonrpc.ID, err error) {
		err = wire.Decode([]byte(s), wire.Options{}, &id)
		return id, err
	}
	seen := map[jsonrpc.ID]string{}
	for _, s := range []string{
		`0`, `-0`, `1`, `-1`, `1.0`, `1.00`, `10e-1`, `1e0`, `1E2`, `1e2`, `100`, `0.1e1`, `1.5e1`, `0e-5`, `0.0`, `12345678901234567890`, `123456789012345678`, `1234567890123456789`,
		`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `1e400`, `0e-99999999999999999999`, `1e99999999999999999999`, `1.5e9223372036854775807`, `0.0e-9223372036854775808`, `120e-1`, `"1"`, `"1.0"`, `""`, `"a"`, `"\u0061"`, `"é"`, `"\u00e9"`, `"\n"`,
	} {
		id, err := read(s)
		require.NoError(t, err, s)
		require.Equal(t, s, id.String())
		require.Empty(t, seen[id], "%s equals another", s)
		seen[id] = s
		j, err := json.Marshal(id)
		require.NoError(t, err)
		require.NotEmpty(t, j)
	}
	for _, s := range []string{`null`, `true`, `{}`, `[]`, `1.5`, `0.1`, `15e-2`, `1e-1`, `1.05e1`, `1e-99999999999999999999`, `1e-9223372036854775808`, `1.5e-9223372036854775807`, `-10e-9223372036854775808`, `-0.5`, `01`, `"`, ``} {
		_, err := read(s)
		var we *wire.Error
		require.ErrorAs(t, err, &we, s)
	}
	require.Equal(t, jsonrpc.NewID(7), must(read(`7`)))
	require.Equal(t, jsonrpc.StringID("a\n"), must(read(`"a\n"`)))
	n, ok := must(read(`-9223372036854775808`)).Int()
	require.False(t, ok, n) // nineteen digits and a sign that their negation has no room for
	s, ok := must(read(`"\u0061"`)).Str()
	require.True(t, ok)
	require.Equal(t, "a", s)
	_, ok = must(read(`1.0`)).Str()
	require.False(t, ok)
	require.Equal(t, "none", jsonrpc.ID{}.String())
	require.Equal(t, "null", string(jsonrpc.ID{}.AppendJSON(nil)))
	var id jsonrpc.ID
	require.NoError(t, json.Unmarshal([]byte(`null`), &id))
	require.True(t, id.IsZero())
	require.Error(t, json.Unmarshal([]byte(`1.5`), &id))
}

func must(id jsonrpc.ID, err error) jsonrpc.ID {
	if err != nil {
		panic(err)
	}
	return id
}
