package check

import "github.com/goldwire/goldwire/conformance/catalogue"

// LooksAtAll reports whether a check needs every probe to judge these
// recordings.
func LooksAtAll(k *Check, rev string, t catalogue.Transport, facts *Facts, traces, offers []*Trace) bool {
	return k.asks(rev, t, facts, traces, offers).all
}

// CutShort does what the end of a session's context does, which may come late.
func CutShort(s *Session) { s.abort() }
