package client

import "github.com/goldwire/goldwire/conformance/check"

func authChecks() []check.Check { return nil }
