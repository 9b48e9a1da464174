package checktest

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

const (
	wellKnownResource = "/.well-known/oauth-protected-resource"
	wellKnownServer   = "/.well-known/oauth-authorization-server"
)

// sessionID is the nth of the ids that the server hands out: nobody who does
// not know how they are made guesses one from another.
func sessionID(n int) string {
	sum := sha256.Sum256([]byte("checktest " + strconv.Itoa(n)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func origin(r *http.Request) string { return "http://" + r.Host }

// admitted reports whether a request has a token that opens the server, and
// refuses it otherwise.
func (h *HTTP) admitted(w http.ResponseWriter, r *http.Request) bool {
	challenge := func(status int, more string) bool {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+origin(r)+wellKnownResource+PathMCP+`", scope="read `+ScopeCall+`"`+more)
		w.WriteHeader(status)
		return false
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return challenge(http.StatusUnauthorized, "")
	}
	scheme, token, ok := strings.Cut(given[0], " ")
	switch {
	case len(given) > 1 || !ok || token == "" || strings.ContainsAny(token, " ,"):
		return challenge(http.StatusBadRequest, `, error="invalid_request"`)
	case !strings.EqualFold(scheme, "Bearer"):
		return challenge(http.StatusUnauthorized, "")
	}
	scopes, ok := h.Tokens[token]
	switch {
	case !ok:
		return challenge(http.StatusUnauthorized, `, error="invalid_token"`)
	case r.Header.Get("Mcp-Method") == "tools/call" && !slices.Contains(strings.Fields(scopes), ScopeCall):
		return challenge(http.StatusForbidden, `, error="insufficient_scope"`)
	}
	return true
}

// wellKnown serves the metadata of a protected server.
func (h *HTTP) wellKnown(w http.ResponseWriter, r *http.Request) {
	at := origin(r)
	switch {
	case h.Tokens == nil || r.Method != http.MethodGet:
		http.NotFound(w, r)
	case r.URL.Path == wellKnownResource+PathMCP || r.URL.Path == wellKnownResource:
		writeJSON(w, http.StatusOK, obj(map[string]any{
			"resource": at + PathMCP, "authorization_servers": []string{"https://login.example.com"},
			"scopes_supported": []string{"read", ScopeCall}, "bearer_methods_supported": []string{"header"},
		}))
	case r.URL.Path == wellKnownServer:
		writeJSON(w, http.StatusOK, obj(map[string]any{
			"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
			"registration_endpoint": at + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		}))
	default:
		http.NotFound(w, r)
	}
}
