package check

import "slices"

// Checks and probes that hold in every revision.

func sharedChecks() []Check {
	return slices.Concat(envelopeChecks(), framingChecks(), listChecks(), capabilityChecks(), toolChecks(), contentChecks(), entryChecks())
}

func sharedProbes() []Probe {
	return slices.Concat(envelopeProbes(), framingProbes(), listProbes(), capabilityProbes(), toolProbes(), contentProbes())
}

// cheap is a request that every server of the revision answers at once.
func (s *Session) cheap() string {
	if Modern(s.rev) {
		return "server/discover"
	}
	return "ping"
}
