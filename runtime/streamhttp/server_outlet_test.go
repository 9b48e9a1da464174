package streamhttp

import (
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// outletOf is a response that streams, and its handler.
func outletOf(t *testing.T, o HandlerOptions, f form) (*outlet, *Handler) {
	h := NewHandler(modern.Server{}, o)
	require.NoError(t, h.Err())
	t.Cleanup(h.Close)
	return h.newOutlet(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), f), h
}

// TestOverloadNamesTheBound holds that whoever cannot send is told which bound is
// reached, where there are two.
func TestOverloadNamesTheBound(t *testing.T) {
	for _, c := range []struct {
		name string
		o    HandlerOptions
		held int64 // by others
		want jsonrpc.OverloadError
	}{
		{"of one", HandlerOptions{MaxOutgoing: 100 << 10}, 0, jsonrpc.OverloadError{What: "outgoing bytes", Limit: 100 << 10}},
		{"of one, below what is free", HandlerOptions{MaxOutgoing: 1 << 10, MaxBuffered: 1 << 20}, 1 << 20, jsonrpc.OverloadError{What: "outgoing bytes", Limit: 1 << 10}},
		{"of all", HandlerOptions{MaxOutgoing: 1 << 20, MaxBuffered: 1 << 20}, 1<<20 - 400<<10, jsonrpc.OverloadError{What: "outgoing bytes that MaxBuffered leaves one stream"}},
		{"of all, which is passed", HandlerOptions{MaxOutgoing: 1 << 20, MaxBuffered: 1 << 20}, 2 << 20, jsonrpc.OverloadError{What: "outgoing bytes that MaxBuffered leaves one stream", Limit: freeOut}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, h := outletOf(t, c.o, formEvents)
			h.buffered.Add(c.held)
			var err error
			for err == nil {
				if c.name == "of all" { // what the stream holds counts as well
					c.want.Limit = int((1<<20 - h.buffered.Load()) / shareOut)
				}
				err = o.take(part{data: make([]byte, 1000)}, false)
			}
			require.Equal(t, &c.want, err)
			o.close()
			require.Equal(t, c.held, h.buffered.Load())
			h.buffered.Add(-c.held)
		})
	}
}

// TestStreamedAnswerCountsWhatItTakesOver holds that what waited on a stream when an
// answer begins that is written piece by piece counts until it is written, and no
// longer, however long the answer takes.
func TestStreamedAnswerCountsWhatItTakesOver(t *testing.T) {
	const size = 1 << 20
	for _, f := range []form{formEvents, formLines} {
		o, h := outletOf(t, HandlerOptions{}, f)
		require.NoError(t, o.take(part{data: []byte(strings.Repeat("x", size))}, false))
		require.Greater(t, h.buffered.Load(), int64(size))
		require.NoError(t, o.reserve())
		head, err := o.seize(t.Context())
		require.NoError(t, err)
		require.Greater(t, len(head), size)
		require.Greater(t, h.buffered.Load(), int64(size))
		require.NoError(t, o.head(head))
		require.Zero(t, h.buffered.Load())
		require.NoError(t, o.piece([]byte("x")))
		o.release(false)
		o.close()
		require.Zero(t, h.buffered.Load())
		body, err := io.ReadAll(o.w.(*httptest.ResponseRecorder).Body)
		require.NoError(t, err)
		require.Greater(t, len(body), size+1)

		o, h = outletOf(t, HandlerOptions{}, f) // the response ends before it is written
		require.NoError(t, o.take(part{data: []byte(strings.Repeat("x", size))}, false))
		require.NoError(t, o.reserve())
		_, err = o.seize(t.Context())
		require.NoError(t, err)
		o.release(true)
		o.close()
		require.Zero(t, h.buffered.Load())
	}
}
