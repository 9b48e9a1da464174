package jsonrpc

import (
	"context"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Fork makes one more connection like c, with a state of its own. It shares the
// chooser, the options, the listeners and the counts of events, so that it
// costs little: for a carrier that has many peers, or whose exchanges each
// stand alone (a stateless request over HTTP). The latter has a nil link and
// need not be closed once its request is answered; only c.Close ends the
// contexts of its notification handlers.
func (c *Conn) Fork(l Link) *Conn {
	f := &Conn{kin: c.kin, link: l}
	if l == nil {
		f.ctx = c.ctx
		if c.single != nil && c.single.rules.Stateless && c.side == ServerSide && len(c.ev.states) == 0 {
			f.state.Store(uint32(Ready)) // as its first request would make it, and nobody is told
		}
		return f
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.waker, _ = l.(Waker)
	if k, ok := l.(Carrier); ok {
		f.rules = k.Carrier()
	}
	return f
}

const (
	maxGates   = 64      // that a service keeps for peers which advertise the same
	maxGateKey = 4 << 10 // bytes of what they advertise
)

// gateFor is what side may send to a peer that advertises capabilities. Peers
// are often of one kind, and share it.
func (s *Service) gateFor(side Side, capabilities wire.Raw) *gate {
	if capabilities == nil || len(capabilities) > maxGateKey {
		return newGate(s.o.Methods, side, s.caps, capabilities)
	}
	key := gateKey{side, string(capabilities)}
	s.gatesMu.Lock()
	defer s.gatesMu.Unlock()
	if g := s.gates[key]; g != nil {
		return g
	}
	if s.gates == nil || len(s.gates) >= maxGates {
		s.gates = map[gateKey]*gate{}
	}
	g := newGate(s.o.Methods, side, s.caps, capabilities)
	s.gates[key] = g
	return g
}

type gateKey struct {
	side         Side
	capabilities string
}
