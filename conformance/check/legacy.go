package check

import "slices"

// Checks and probes of the stateful revisions.

func legacyChecks() []Check {
	return slices.Concat(legacyLifecycleChecks(), legacyMalformedChecks(), legacyBatchChecks(), legacyFeatureChecks(), legacyAskChecks(), legacyTaskChecks())
}

func legacyProbes() []Probe {
	return slices.Concat(legacyLifecycleProbes(), legacyFeatureProbes(), legacyTaskProbes(), legacyMalformedProbes(), legacyBatchProbes())
}
