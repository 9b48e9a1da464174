package compat

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

// TestSayingCopiesOnce: what a request of 2026-07-28 says of its client is added to
// the params of unknown methods in one go, however large they are, in place of what
// stands there.
func TestSayingCopiesOnce(t *testing.T) {
	const size = 8 << 20
	pad := strings.Repeat("x", size)
	var got wire.Raw
	f := (&down{remote: new(remote)}).saying(func(_ context.Context, _ string, params wire.Raw) (wire.Raw, error) {
		got = params
		return nil, nil
	})
	params := wire.Raw(`{"pad":"` + pad + `","_meta":{"io.modelcontextprotocol/protocolVersion":"x","a":1}}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := f(t.Context(), "x/y", params)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*size))
	require.Len(t, got.Get("pad"), size+2)
	const says = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"","version":""},"io.modelcontextprotocol/clientCapabilities":{}`
	require.JSONEq(t, `{"a":1,`+says+`}`, string(got.Get("_meta")))
	for _, params := range []wire.Raw{nil, wire.Raw("{}")} {
		_, err = f(t.Context(), "x/y", params)
		require.NoError(t, err)
		require.JSONEq(t, `{"_meta":{`+says+`}}`, string(got))
	}
	_, err = f(t.Context(), "x/y", wire.Raw("[1]"))
	require.NoError(t, err)
	require.Equal(t, "[1]", string(got))
}
