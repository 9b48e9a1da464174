package compat_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestPolicyForWhatCannotBeSaid: audio for a client of 2024-11-05.
func TestPolicyForWhatCannotBeSaid(t *testing.T) {
	server := newWork().modern()
	server.CallTool = func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
		return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{
			&v20260728.AudioContent{Data: "UklGRg==", MIMEType: "audio/wav"}, &v20260728.TextContent{Text: "t"},
		}}, nil
	}
	for _, c := range []struct {
		policy wire.Policy
		want   int // contents, 0 for an error
		loss   string
	}{
		{wire.Degrade, 2, "content[0]"},
		{wire.Drop, 1, "content[0]"},
		{wire.Fail, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var losses notes
			o := compat.Options{Policy: c.policy, OnLoss: func(l wire.Loss) { losses.add(l.String()) }}
			r, err := v20241105.Connect(t.Context(), served(t, o.Server(server)), v20241105.Client{})
			require.NoError(t, err)
			res, err := r.CallTool(t.Context(), &v20241105.CallToolParams{Name: "t"})
			if c.want == 0 {
				require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
			} else {
				require.NoError(t, err)
				require.Len(t, res.Content, c.want)
				require.Len(t, losses.all(), 1)
				require.Contains(t, losses.all()[0], c.loss)
				require.Contains(t, losses.all()[0], "tools/call")
			}
			require.NoError(t, r.Close())
		})
	}
}

// TestServerRefusesWhatIsNone names what it got.
func TestServerRefusesWhatIsNone(t *testing.T) {
	for _, b := range []jsonrpc.Binder{nil, (*v20260728.Server)(nil), (*v20260728.RemoteServer)(nil), v20260728.Client{}, compat.Server(v20260728.Server{})} {
		_, err := compat.Server(b).Bind()
		require.Error(t, err)
	}
	_, err := compat.Server(v20260728.Server{ToolsListChanged: true}).Bind()
	require.ErrorContains(t, err, "ToolsListChanged")
	_, err = compat.Dial(t.Context(), nil, v20260728.Client{})
	require.Error(t, err)
}

// TestServerLeavesItsServerAlone: serving it elsewhere does not change it, and
// its own middleware runs once, whatever the client speaks.
func TestServerLeavesItsServerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var passed notes
		server := newWork().modern()
		server.Options.Incoming = []jsonrpc.Middleware{func(ctx context.Context, op jsonrpc.Op, next func(context.Context) error) error {
			passed.add(op.Method)
			return next(ctx)
		}}
		o := compat.Options{OnLoss: func(wire.Loss) {}}
		for range 2 {
			r, err := v20241105.Connect(t.Context(), served(t, o.Server(server)), v20241105.Client{})
			require.NoError(t, err)
			_, err = r.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
		require.Equal(t, []string{"initialize", "tools/list", "initialize", "tools/list"}, passed.all())
		require.Len(t, server.Options.Incoming, 1)
	})
}
