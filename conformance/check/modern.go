package check

import "slices"

// Checks and probes of the stateless revisions.

func modernChecks() []Check {
	return slices.Concat(
		modernEnvelopeChecks(), modernMetaChecks(), modernVersionChecks(), modernStatelessChecks(), modernResultChecks(),
		modernListenChecks(), modernInputChecks(), modernLogChecks(), modernFeatureChecks(),
	)
}

func modernProbes() []Probe {
	return slices.Concat(
		modernStatelessProbes(), modernMetaProbes(), modernVersionProbes(), modernFeatureProbes(), modernLogProbes(),
		modernInputProbes(), modernListenProbes(), modernEraProbes(), modernEnvelopeProbes(),
	)
}
