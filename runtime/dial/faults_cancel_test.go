package dial_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/sse"
)

// TestCancellationOvertakesItsRequest: over HTTP the cancellation of a call may
// come before the call. It is not lost: the handler finds that it was
// cancelled, and other calls do not.
func TestCancellationOvertakesItsRequest(t *testing.T) {
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"no"}}`
	wait := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}`
	echo := `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	begun := `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	// post sends a message and returns the whole response.
	post := func(t *testing.T, s site, query, session, body string) (*http.Response, string) {
		req, err := http.NewRequest(http.MethodPost, s.url+query, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := s.rt.RoundTrip(req)
		require.NoError(t, err)
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp, string(b)
	}
	t.Run("Streamable HTTP", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			s := serve(t, streamable(t, dialect20250618.server(w)), true)
			resp, _ := post(t, s, "", "", fmt.Sprintf(hello, "2025-06-18"))
			id := resp.Header.Get("Mcp-Session-Id")
			for _, body := range []string{begun, cancel} {
				resp, _ := post(t, s, "", id, body)
				require.Equal(t, http.StatusAccepted, resp.StatusCode)
			}
			_, _ = post(t, s, "", id, wait)
			require.Equal(t, "context canceled", <-w.ended)
			_, body := post(t, s, "", id, echo)
			require.Contains(t, body, "hi")
		})
	})
	t.Run("HTTP+SSE", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWork()
			s := serve(t, twoEndpoints(t, dialect20241105.server(w)), true)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
			require.NoError(t, err)
			resp, err := s.rt.RoundTrip(req)
			require.NoError(t, err)
			events := sse.NewReader(resp.Body, 0)
			next := func() string {
				ev, err := events.Next()
				require.NoError(t, err)
				return string(ev.Data)
			}
			at := next()
			at = "/" + at[strings.IndexByte(at, '?'):]
			_, _ = post(t, s, at, "", fmt.Sprintf(hello, "2024-11-05"))
			require.Contains(t, next(), `"id":1`)
			for _, body := range []string{begun, cancel, wait, echo} {
				resp, _ := post(t, s, at, "", body)
				require.Equal(t, http.StatusAccepted, resp.StatusCode)
			}
			require.Equal(t, "context canceled", <-w.ended)
			require.Contains(t, next(), `"id":8`, "the cancelled call is not answered")
			require.NoError(t, resp.Body.Close())
		})
	})
}
