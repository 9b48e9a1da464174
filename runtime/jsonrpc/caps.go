package jsonrpc

import (
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// extensionPath begins the path of an extension: all the rest is its
// identifier, which may hold dots.
const extensionPath = "extensions."

// pathNames are the members that a path leads through.
func pathNames(path string) []string {
	if id, ok := strings.CutPrefix(path, extensionPath); ok {
		return []string{"extensions", id}
	}
	return strings.Split(path, ".")
}

// advertised reports whether capabilities hold a path such as
// "resources.subscribe", or "extensions.io.modelcontextprotocol/tasks". A
// member that is false or null does not count.
func advertised(capabilities wire.Raw, path string) bool {
	v := capabilities
	names := pathNames(path)
	for i, name := range names {
		v = v.Get(name)
		switch v.Kind() {
		case wire.KindNone, wire.KindNull:
			return false
		case wire.KindBool:
			if on, _ := v.Bool(); !on || i < len(names)-1 {
				return false
			}
		}
	}
	return true
}

// grants is advertised where a parent without members may stand for the path
// too.
func grants(capabilities wire.Raw, path string, orEmpty bool) bool {
	if advertised(capabilities, path) {
		return true
	}
	i := strings.LastIndexByte(path, '.')
	if !orEmpty || i < 0 || !advertised(capabilities, path[:i]) {
		return false
	}
	for name := range strings.SplitSeq(path[:i], ".") {
		capabilities = capabilities.Get(name)
	}
	return emptyObject(capabilities)
}

// gate says which methods may be sent on a connection.
type gate struct {
	missing map[string]*NotAdvertisedError // by method
}

// newGate works out what side may send: own and peer are the capabilities of
// either side, nil when unknown (then nothing is refused because of them).
func newGate(methods []Method, side Side, own, peer wire.Raw) *gate {
	g := &gate{missing: map[string]*NotAdvertisedError{}}
	for i := range methods {
		m := &methods[i]
		for _, path := range m.Capabilities {
			who, bare := capabilitySide(path, side, m.Notification)
			caps := peer
			if who == side {
				caps = own
			}
			if caps != nil && bare != "" && !advertised(caps, bare) {
				g.missing[m.Name] = &NotAdvertisedError{Method: m.Name, Capability: bare, Own: who == side}
				break
			}
		}
	}
	return g
}

// capabilitySide splits a path of the method table into the side that has to
// advertise it and the path itself, for a message that sender sends.
func capabilitySide(path string, sender Side, notification bool) (Side, string) {
	receiver := ServerSide
	if sender == ServerSide {
		receiver = ClientSide
	}
	prefix, bare, ok := strings.Cut(path, ":")
	if !ok {
		if notification {
			return sender, path
		}
		return receiver, path
	}
	switch prefix {
	case "server":
		return ServerSide, bare
	case "client":
		return ClientSide, bare
	case "sender":
		return sender, bare
	case "receiver":
		return receiver, bare
	}
	return sender, "" // a condition of another kind ("request:"), not a capability
}

func (g *gate) check(method string) error {
	if g == nil {
		return nil
	}
	if e := g.missing[method]; e != nil {
		return e
	}
	return nil
}

// levels are the log levels, least severe first.
var levels = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelRank is the place of a level, or -1 for one that does not exist.
func levelRank(level string) int {
	for i, l := range levels {
		if l == level {
			return i
		}
	}
	return -1
}
