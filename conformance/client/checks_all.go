package client

import (
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
)

func checks() []check.Check {
	all := slices.Concat(
		jsonrpcChecks(), metaChecks(), lifecycleChecks(), pagingChecks(), featureChecks(), taskChecks(),
		askChecks(), inputChecks(), httpChecks(), headerChecks(), eraChecks(), stdioChecks(), authChecks(),
	)
	for i := range all {
		all[i].Side = catalogue.Client
	}
	return all
}
