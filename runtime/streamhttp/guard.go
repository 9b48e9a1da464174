package streamhttp

import (
	"errors"
	"net/http"
)

// Guard is what a Handler checks of Origin and Host, for other handlers.
type Guard struct{ h *Handler }

// NewGuard makes the check that HandlerOptions of the same names describe.
func NewGuard(allowedOrigins, allowedHosts []string) *Guard {
	return &Guard{&Handler{origin: originSet(allowedOrigins), hosts: hostSet(allowedHosts)}}
}

// What a Guard finds wrong.
var (
	ErrOrigin = errors.New("origin not allowed")
	ErrHost   = errors.New("host not allowed at a loopback address")
)

// Check is nil for a request that is allowed; others are answered with 403.
func (g *Guard) Check(r *http.Request) error {
	switch {
	case !g.h.originAllowed(r):
		return ErrOrigin
	case !g.h.hostAllowed(r):
		return ErrHost
	}
	return nil
}
