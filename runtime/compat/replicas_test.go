package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestAnyReplicaContinues: three rounds of one call reach two replicas in turn,
// which share nothing but a key.
func TestAnyReplicaContinues(t *testing.T) {
	var served notes
	var replicas []*httputil.ReverseProxy
	for _, name := range []string{"a", "b"} {
		s := roundsServer(sealer(t, 0, key('k')))
		s.Options = discard
		inner := s.CallTool
		s.CallTool = func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			served.add(name)
			return inner(ctx, p)
		}
		h := streamhttp.NewHandler(compat.Server(s), streamhttp.HandlerOptions{Logger: discard.Logger})
		defer h.Close()
		replica := httptest.NewServer(h)
		defer replica.Close()
		u, err := url.Parse(replica.URL)
		require.NoError(t, err)
		replicas = append(replicas, httputil.NewSingleHostReverseProxy(u))
	}
	var turn atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "" // that of the replica
		replicas[turn.Add(1)%2].ServeHTTP(w, r)
	}))
	defer proxy.Close()
	client, err := v20260728.Connect(t.Context(), &streamhttp.Endpoint{URL: proxy.URL, Logger: discard.Logger}, v20260728.Client{
		Options: discard,
		Elicit: func(_ context.Context, p v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
			return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"name": v20260728.ElicitValueString(strings.Fields(p.(*v20260728.ElicitFormParams).Message)[0])}}, nil
		},
	})
	require.NoError(t, err)
	r, err := client.CallTool(t.Context(), &v20260728.CallToolParams{Name: "greet"})
	require.NoError(t, err)
	require.Equal(t, "Hello, first last!", textOf(r))
	got := served.all()
	require.Len(t, got, 3)
	require.NotEqual(t, got[0], got[1])
	require.NotEqual(t, got[1], got[2])
	require.NoError(t, client.Close())
}
