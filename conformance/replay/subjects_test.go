package replay

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
)

// The implementations. A transcript goes to the servers when its side is
// server or both, and to the clients when it is client or both.
var (
	servers = []subject{{
		name:      "everything",
		revisions: []string{revision.V20251125, revision.V20260728},
		start: func(t *testing.T, _, _ string) Link {
			ours, theirs := Pipe()
			done := make(chan error, 1)
			go func() {
				err := jsonrpc.Serve(context.WithoutCancel(t.Context()), jsonl.Pipe(theirs, theirs), everything.Server())
				_ = theirs.Close()
				done <- err
			}()
			t.Cleanup(func() { require.NoError(t, <-done) })
			return Stream(ours)
		},
	}}
	clients []subject
)
