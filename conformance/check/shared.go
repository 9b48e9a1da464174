package check

import "slices"

// Checks and probes that hold in every revision.

func sharedChecks() []Check {
	return slices.Concat(envelopeChecks(), framingChecks(), listChecks(), capabilityChecks(), toolChecks(), contentChecks(), entryChecks(), askChecks(), safetyChecks())
}

func sharedProbes() []Probe {
	return slices.Concat(envelopeProbes(), listProbes(), capabilityProbes(), toolProbes(), contentProbes(), askProbes(), safetyProbes())
}

// cheap is a request that every server of the revision answers at once, or a
// list where this one was seen not to.
func (s *Session) cheap() string {
	usual := usualFence(s.rev)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPing || slices.Contains(s.mute, usual) {
		if list := s.listLocked(func(method string) bool { return slices.Contains(s.mute, method) }); list != "" {
			return list
		}
	}
	return usual
}

// usualFence is the request by which it is seen whether a server is alive.
func usualFence(rev string) string {
	if Modern(rev) {
		return "server/discover"
	}
	return "ping"
}
