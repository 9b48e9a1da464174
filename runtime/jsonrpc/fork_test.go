package jsonrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// answers keeps what was replied.
type answers struct{ got []string }

func (a *answers) Notify(context.Context, jsonrpc.Frame) error { return nil }
func (a *answers) Detach()                                     {}
func (a *answers) Reply(_ context.Context, f jsonrpc.Frame) error {
	a.got = append(a.got, string(f.Data))
	return nil
}

// TestForkStandsAlone holds that forks share what is counted, and nothing of
// what is going on: not the ids in use, not the end.
func TestForkStandsAlone(t *testing.T) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: revision.V20251125})
	root := jsonrpc.NewConn(nil, svc, jsonrpc.ServerSide)
	a, b := root.Fork(nil), root.Fork(nil)
	require.NoError(t, a.Close(t.Context()))
	require.NoError(t, a.Close(t.Context()))
	require.Equal(t, jsonrpc.Closed, a.State())
	require.Equal(t, jsonrpc.Connecting, b.State())
	ex := &answers{}
	b.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)})
	b.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(`{`)})
	require.Len(t, ex.got, 2)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{}}`, ex.got[0])
	require.Contains(t, ex.got[1], "-32700")
	stats := root.Stats()
	require.EqualValues(t, 1, stats.Count(jsonrpc.BadJSON))
	require.Zero(t, stats.Received)
}

// TestForkOfAStatelessServer: where nothing is to be agreed on a fork for one
// exchange is ready, and a listener hears of that when its request comes.
func TestForkOfAStatelessServer(t *testing.T) {
	fork := func(o jsonrpc.Options, rev string) *jsonrpc.Conn {
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Options: o})
		return jsonrpc.NewConn(nil, svc, jsonrpc.ServerSide).Fork(nil)
	}
	require.Equal(t, jsonrpc.Ready, fork(jsonrpc.Options{}, revision.V20260728).State())
	require.Equal(t, jsonrpc.Connecting, fork(jsonrpc.Options{}, revision.V20251125).State())

	heard := make(chan jsonrpc.StateChange, 1)
	c := fork(jsonrpc.Options{States: []func(jsonrpc.StateChange){func(s jsonrpc.StateChange) { heard <- s }}}, revision.V20260728)
	require.Equal(t, jsonrpc.Connecting, c.State())
	c.Receive(t.Context(), &answers{}, jsonrpc.Frame{Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"no/such"}`)})
	s := <-heard
	require.Equal(t, jsonrpc.Connecting, s.From)
	require.Equal(t, jsonrpc.Ready, s.To)
}

// judging is an exchange that hears of its request before the handler does.
type judging struct {
	answers
	heard  []string
	params any
	refuse *jsonrpc.Error
}

func (j *judging) Expect(method string, params any) *jsonrpc.Error {
	j.heard, j.params = append(j.heard, method), params
	return j.refuse
}

// TestExchangeJudgesRequests: an exchange is asked about each request that would
// be handled, once, with the params where they are decoded, and about nothing
// else; its error is the answer.
func TestExchangeJudgesRequests(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, tt := range []struct {
		name, text string
		asked      string // the method, "" for not asked
		decoded    bool
	}{
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`, "tools/call", true},
		{"the method comes last", `{"jsonrpc":"2.0","id":1,"params":{"name":"x",` + meta + `},"method":"tools/call"}`, "tools/call", false},
		{"nobody handles it", `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + meta + `}}`, "no/such", false},
		{"the params are wrong", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1,` + meta + `}}`, "tools/call", false},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, "", false},
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}`, "", false},
		{"no message", `{"jsonrpc":"2.0","id":1}`, "", false},
		{"no JSON", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{]`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, refuse := range []*jsonrpc.Error{nil, jsonrpc.NewError(-32020, "not this one")} {
				handled := 0
				ch, err := newServer{CallTool: func(context.Context, *newParams) (*result, error) { handled++; return &result{}, nil }}.Bind()
				require.NoError(t, err)
				c := jsonrpc.NewConn(nil, ch, jsonrpc.ServerSide)
				ex := &judging{refuse: refuse}
				c.Receive(t.Context(), ex, jsonrpc.Frame{Data: []byte(tt.text)})
				require.Len(t, ex.got, 1)
				if tt.asked == "" {
					require.Empty(t, ex.heard)
					continue
				}
				require.Equal(t, []string{tt.asked}, ex.heard)
				require.Equal(t, tt.decoded, ex.params != nil)
				if refuse != nil {
					require.Zero(t, handled)
					require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"not this one"}}`, ex.got[0])
				} else {
					require.NotContains(t, ex.got[0], "-32020")
				}
				require.Zero(t, c.Stats().Handling)
				require.NoError(t, c.Close(t.Context()))
			}
		})
	}
}
