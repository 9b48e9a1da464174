package check

import "slices"

// Checks and probes that hold in every revision.

func sharedChecks() []Check {
	return slices.Concat(envelopeChecks(), framingChecks(), listChecks(), capabilityChecks(), toolChecks(), contentChecks(), entryChecks())
}

func sharedProbes() []Probe {
	return slices.Concat(envelopeProbes(), framingProbes(), listProbes(), capabilityProbes(), toolProbes(), contentProbes())
}

// cheap is a request that every server of the revision answers at once, or a
// list where this one was seen not to.
func (s *Session) cheap() string {
	if Modern(s.rev) {
		return "server/discover"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noPing {
		if list := s.listLocked(func(method string) bool { return slices.Contains(s.mute, method) }); list != "" {
			return list
		}
	}
	return "ping"
}
