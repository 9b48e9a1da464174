package check_test

import (
	"strings"

	"github.com/goldwire/goldwire/conformance/check/checktest"
)

var sharedMutants = map[string]mutant{
	"id-echo": {server: checktest.Server{Output: func(_ *checktest.Conn, r *checktest.Request, a string) string {
		if r != nil && string(r.ID) == `"7"` {
			return replace(a, `"id":"7"`, `"id":7`)
		}
		return a
	}}},
	"unknown-method":       {server: checktest.Server{Output: answer("goldwire/no_such_method", "-32601", "-32600")}},
	"stdout-messages-only": {server: checktest.Server{Start: func(c *checktest.Conn) { c.Line("Server listening") }}},
}

func replace(s, old, with string) string { return strings.Replace(s, old, with, 1) }
