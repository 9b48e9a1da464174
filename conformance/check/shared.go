package check

import "slices"

// Checks and probes that hold in every revision.

func sharedChecks() []Check { return slices.Concat(envelopeChecks(), framingChecks()) }

func sharedProbes() []Probe { return slices.Concat(envelopeProbes()) }

// cheap is a request that every server of the revision answers at once.
func (s *Session) cheap() string {
	if Modern(s.rev) {
		return "server/discover"
	}
	return "ping"
}
