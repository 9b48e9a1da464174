package conformance

import (
	"slices"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
)

// Checks lists every check, those of servers first.
func Checks() []check.Check { return slices.Concat(check.All(), client.All()) }

// checksOf are those that judge one side; "" is catalogue.Server.
func checksOf(side catalogue.Side) []check.Check {
	if side == catalogue.Client {
		return client.All()
	}
	return check.All()
}
