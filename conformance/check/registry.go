package check

import "slices"

// All lists every check, shared ones first.
func All() []Check {
	return slices.Concat(sharedChecks(), legacyChecks(), modernChecks(), httpChecks())
}

// Probes lists every probe in the order in which they run. Those that end the
// server come last, so that it is seen what is left of the sessions before.
func Probes() []Probe {
	return slices.Concat(sharedProbes(), legacyProbes(), modernProbes(), httpProbes(), framingProbes())
}
