package streamhttp

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Guard is what a Handler checks of Origin and Host, for other handlers.
type Guard struct {
	origins map[string]bool // nil: those of this machine
	hosts   map[string]bool
}

// NewGuard makes the check that HandlerOptions of the same names describe.
func NewGuard(allowedOrigins, allowedHosts []string) *Guard {
	return &Guard{origins: originSet(allowedOrigins), hosts: hostSet(allowedHosts)}
}

func hostSet(names []string) map[string]bool {
	set := map[string]bool{}
	for _, n := range names {
		set[strings.ToLower(n)] = true
	}
	return set
}

// originSet is nil for nil, which stands for this machine's.
func originSet(origins []string) map[string]bool {
	if origins == nil {
		return nil
	}
	return hostSet(origins)
}

// What a Guard finds wrong.
var (
	ErrOrigin = errors.New("header Origin: not allowed")
	ErrHost   = errors.New("header Host: not allowed at a loopback address")
)

// Check is nil for a request that is allowed; others are answered with 403.
func (g *Guard) Check(r *http.Request) error {
	switch {
	case !g.originAllowed(r):
		return ErrOrigin
	case !g.hostAllowed(r):
		return ErrHost
	}
	return nil
}

// originAllowed holds Origin against what is allowed, on its own: a page
// whose name was made to resolve to this machine sends a Host that agrees with
// its Origin.
func (g *Guard) originAllowed(r *http.Request) bool {
	values := r.Header["Origin"]
	if len(values) == 0 {
		return true
	}
	if len(values) > 1 {
		return false
	}
	if g.origins != nil {
		return g.origins["*"] || g.origins[strings.ToLower(values[0])]
	}
	u, err := url.Parse(values[0])
	return err == nil && u.Scheme != "" && loopbackName(u.Hostname())
}

// hostAllowed holds Host against what is allowed at a loopback address.
func (g *Guard) hostAllowed(r *http.Request) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return true
	}
	name := r.Host
	if i := strings.LastIndexByte(name, ':'); i >= 0 && strings.IndexByte(name[i:], ']') < 0 {
		name = name[:i]
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return loopbackName(name) || g.hosts["*"] || g.hosts[strings.ToLower(name)]
}

func loopbackName(name string) bool {
	if name == "127.0.0.1" || strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}
