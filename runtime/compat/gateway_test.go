package compat_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestUnknownMethodThroughAGateway holds that a method which nobody knows is not
// found, whatever the client of a server speaks that is served again, and whether or
// not a header can carry its name.
func TestUnknownMethodThroughAGateway(t *testing.T) {
	h := streamhttp.NewHandler(compat.Server(newWork().modern()), streamhttp.HandlerOptions{Logger: discard.Logger})
	behind := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		behind.Close()
	})
	const meta = `{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	for _, client := range httpClients() {
		upstream, err := v20260728.Connect(t.Context(), streamhttp.URL(behind.URL), v20260728.Client{Options: discard})
		require.NoError(t, err)
		conn, err := compat.DialRevisions(t.Context(), served(t, compat.Server(upstream.Server)), client)
		require.NoError(t, err)
		said := []wire.Raw{nil, wire.Raw(`{"a":1}`), wire.Raw(`{"_meta":{"progressToken":1}}`)}
		if conn.Session().Revision == v20260728.Revision {
			said = []wire.Raw{wire.Raw(meta)}
		}
		for _, method := range []string{"x/y", "x/\né", " x"} {
			for _, params := range said {
				_, err = jsonrpc.CallRaw(t.Context(), conn, method, params)
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""), "%T %q %s", client, method, params)
			}
		}
		require.NoError(t, conn.Close(t.Context()))
		require.NoError(t, upstream.Close())
	}
}
