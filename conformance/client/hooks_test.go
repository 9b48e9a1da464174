package client_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/runtime/wire"
)

// answersPings is a client that says some lines after the handshake and then
// answers what it is asked, at once.
func answersPings(lines ...string) client.Target {
	return raw(func(_ context.Context, s *client.Process, _ io.Writer) int {
		r := open(s)
		go func() {
			for _, line := range lines {
				_, _ = io.WriteString(s.In, line+"\n")
			}
		}()
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				return 0
			}
			if v := wire.Raw(line); check.Name(v, "method") == "ping" {
				_, _ = io.WriteString(s.In, `{"jsonrpc":"2.0","id":`+string(v.Get("id"))+`,"result":{}}`+"\n")
			}
		}
	})
}

// TestClientIsReadWhileANotificationIsDealtWith holds that what the server does
// about a notification keeps it from reading nothing: a client that answers at
// once is one that answers.
func TestClientIsReadWhileANotificationIsDealtWith(t *testing.T) {
	const (
		asks     = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
		asksMore = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
		cancels  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`
		tells    = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none","progress":1}}`
	)
	for _, tt := range []struct {
		script, check string
		lines         []string
	}{
		{"silence", "client-late-answer", []string{asks, cancels}},
		{"unknown-dialect", "client-unknown-dialect", []string{asks, tells, asksMore}},
	} {
		t.Run(tt.script, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				traces, err := client.PlayScripts(t.Context(), answersPings(tt.lines...), newest, catalogue.Stdio, client.Limits{}, client.Good, tt.script)
				require.NoError(t, err)
				require.NotContains(t, traces[1].Recording.String(), "no answer to")
				for _, r := range client.Judge(newest, catalogue.Stdio, traces, func(k *check.Check) bool { return k.ID == tt.check }) {
					require.Equal(t, result.Pass, r.Verdict, "%s\n%s", r.Observed, frames(r))
				}
			})
		})
	}
}
