package check

import "slices"

// Checks and probes of the stateless revisions.

func modernChecks() []Check { return slices.Concat(modernMetaChecks()) }

func modernProbes() []Probe { return slices.Concat(modernMetaProbes()) }
