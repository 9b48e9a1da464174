package streamhttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// TestCORS: a page of an allowed origin learns before and after its request what
// it may do, and one of another learns nothing. What is not a page passes as it
// is.
func TestCORS(t *testing.T) {
	const ours, other = "Origin: https://app.example", "Origin: https://evil.example"
	origins := []string{"https://app.example"}
	h := streamhttp.NewHandler(both(), streamhttp.HandlerOptions{AllowedOrigins: origins})
	defer h.Close()
	asked := 0
	authorized := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Header.Get("Authorization") == "" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(streamhttp.CORS(authorized, origins))
	defer srv.Close()
	s := &site{t: t, h: h, srv: srv}
	const token = "Authorization: Bearer x"

	t.Run("a preflight needs no authorization", func(t *testing.T) {
		asked = 0
		r := s.do("OPTIONS", "", ours, "Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: authorization,content-type, mcp-protocol-version ,mcp-method,mcp-param-region", "Access-Control-Request-Headers: cookie, x-evil, mcp-bad name")
		require.Equal(t, 204, r.StatusCode)
		require.Zero(t, asked)
		require.Empty(t, r.body)
		require.Equal(t, "https://app.example", r.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, "GET, POST, DELETE", r.Header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, "authorization, content-type, mcp-protocol-version, mcp-method, mcp-param-region", r.Header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "7200", r.Header.Get("Access-Control-Max-Age"))
		require.Equal(t, []string{"Origin", "Access-Control-Request-Headers"}, r.Header.Values("Vary"))
		require.Empty(t, r.Header.Get("Access-Control-Allow-Credentials"))
	})
	t.Run("a request of the page", func(t *testing.T) {
		r := s.post(initialize, ours, token)
		require.Equal(t, 200, r.StatusCode)
		require.Equal(t, "https://app.example", r.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, r.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id")
		require.NotEmpty(t, r.Header.Get("Mcp-Session-Id"))
	})
	t.Run("a refusal can be read", func(t *testing.T) {
		r := s.post(initialize, ours)
		require.Equal(t, 401, r.StatusCode)
		require.Equal(t, "https://app.example", r.Header.Get("Access-Control-Allow-Origin"))
		require.Contains(t, r.Header.Get("Access-Control-Expose-Headers"), "Www-Authenticate")
	})
	for name, hs := range map[string][]string{"another origin": {other, token}, "several": {ours, other, token}, "null": {"Origin: null", token}} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, 403, s.post(initialize, hs...).StatusCode)
			r := s.do("OPTIONS", "", append(hs, "Access-Control-Request-Method: POST")...)
			require.Equal(t, 403, r.StatusCode)
			for name := range r.Header {
				require.False(t, strings.HasPrefix(name, "Access-Control-"), name)
			}
			require.Equal(t, "Origin", r.Header.Get("Vary"), "caches keep them apart")
		})
	}
	t.Run("no page", func(t *testing.T) {
		r := s.post(initialize, token)
		require.Equal(t, 200, r.StatusCode)
		require.Empty(t, r.Header.Get("Access-Control-Allow-Origin"))
		require.Equal(t, 405, s.do("OPTIONS", "", token).StatusCode)
		require.Equal(t, 405, s.do("OPTIONS", "", token, ours).StatusCode, "no preflight: it names no method")
	})
	t.Run("this machine's by default", func(t *testing.T) {
		srv := httptest.NewServer(streamhttp.CORS(streamhttp.NewHandler(both()), nil))
		defer srv.Close()
		s := &site{t: t, srv: srv}
		require.Equal(t, "http://localhost:5173", s.do("OPTIONS", "", "Origin: http://localhost:5173", "Access-Control-Request-Method: POST").Header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, s.do("OPTIONS", "", ours, "Access-Control-Request-Method: POST").Header.Get("Access-Control-Allow-Origin"))
	})
}
