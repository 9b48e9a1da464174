package client

import "github.com/goldwire/goldwire/conformance/check"

func checks() []check.Check { return nil }
