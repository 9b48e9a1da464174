package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
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

// TestLossesOfQuestionsAreTold: OnLoss hears of what a handler asks its client as
// of what it answers.
func TestLossesOfQuestionsAreTold(t *testing.T) {
	t.Run("by requests", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var losses notes
			modern := roundsServer(nil)
			modern.CallTool = func(_ context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
				if p.InputResponses != nil {
					return &v20260728.CallToolResult{}, nil
				}
				return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"q": &v20260728.CreateMessageRequest{Params: v20260728.CreateMessageParams{
					MaxTokens: 1, Messages: []v20260728.SamplingMessage{}, Tools: []v20260728.Tool{{Name: "t", OutputSchema: wire.Raw(`{"type":"array"}`)}},
				}}}, nil)
			}
			o := compat.Options{OnLoss: func(l wire.Loss) { losses.add(l.Path) }}
			r, err := v20251125.Connect(t.Context(), served(t, o.Server(modern)), v20251125.Client{SamplingTools: true, CreateMessage: func(context.Context, *v20251125.CreateMessageParams) (*v20251125.CreateMessageResult, error) {
				return decoded[v20251125.CreateMessageResult](sampled)
			}})
			require.NoError(t, err)
			_, err = r.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.Equal(t, []string{"sampling/createMessage params.tools[0].outputSchema"}, losses.all())
		})
	})
	t.Run("by rounds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var losses notes
			o := compat.Options{OnLoss: func(l wire.Loss) { losses.add(l.Path) }}
			old := askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
				_, err := peer.Elicit(ctx, &v20251125.ElicitURLParams{ElicitationID: "e1", Message: "sign in", URL: "https://example.com/"})
				return "in", err
			})
			r, err := v20260728.Connect(t.Context(), served(t, o.Server(old)), v20260728.Client{ElicitationURL: true, Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept}, nil
			}})
			require.NoError(t, err)
			_, err = r.CallTool(t.Context(), &v20260728.CallToolParams{Name: "t"})
			require.NoError(t, err)
			require.NoError(t, r.Close())
			require.Contains(t, losses.all(), "elicitation/create params.elicitationId")
		})
	})
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

// foreignClient is a client that is generated elsewhere.
type foreignClient struct{ jsonrpc.Binder }

func (foreignClient) Join(context.Context, *jsonrpc.Conn) (*v20260728.RemoteServer, error) {
	return nil, nil
}

// TestRevisionThatCannotBeConverted is named, with what can be done.
func TestRevisionThatCannotBeConverted(t *testing.T) {
	service := func(rev string, side jsonrpc.Side) jsonrpc.Binder {
		return jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Side: side})
	}
	for rev, want := range map[string]string{
		"2027-01-15":       "of 2027-01-15, which package compat cannot convert (it knows 2024-11-05, ",
		v20260728.Revision: "for 2026-07-28, which alone can be converted",
	} {
		_, err := compat.Server(service(rev, jsonrpc.ServerSide)).Bind()
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, ": serve it as it is, or with Revisions")
		_, err = compat.Server(service(rev, jsonrpc.ClientSide)).Bind()
		require.ErrorContains(t, err, "is no server of one revision")
		_, err = compat.Dial(t.Context(), nil, foreignClient{service(rev, jsonrpc.ClientSide)})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, ": connect it with the Connect of its own package")
	}
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
