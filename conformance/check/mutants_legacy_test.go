package check_test

import "github.com/goldwire/goldwire/conformance/check/checktest"

var legacyMutants = map[string]mutant{
	"ping-answered": {server: checktest.Server{Output: answer("ping", `"result":{}`, `"result":{"pong":true}`)}},
	"version-counter-offer": {server: checktest.Server{Output: func(c *checktest.Conn, r *checktest.Request, a string) string {
		if v, ok := r.Params.Get("protocolVersion").Str(); ok && v == "2099-12-31" {
			return replace(a, c.Revision, v)
		}
		return a
	}}},
}
