package check

import (
	"github.com/goldwire/goldwire/runtime/wire"
)

func envelopeProbes() []Probe {
	return []Probe{
		{
			Name: "ids", Profile: Main,
			Run: func(d *Driver) {
				d.Step("ids")
				for _, id := range []string{`"abc-1"`, `"7"`, `0`, `-3`, `9007199254740991`, `""`, `"☃-🚀"`} {
					d.Await(d.AskID(id, d.cheap(), ""))
				}
			},
		},
		{
			Name: "unknown method", Profile: Main,
			Run: func(d *Driver) {
				d.Step("unknown-method")
				d.Call("goldwire/no_such_method", "{}")
				d.Await(d.AskID(`"no-such-method"`, "goldwire/no_such_method", "{}"))
			},
		},
	}
}

func envelopeChecks() []Check {
	return []Check{
		{
			ID: "id-echo", Title: "an answer repeats the id of its request, type included", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-id-echo", "modern/jsonrpc-result-id-echo"},
			Judge: func(c *Case) {
				s := c.Step("ids")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					a := c.Answer(req)
					switch {
					case a == nil:
					case !wire.Equal(a.ID, req.ID):
						c.Broken(a, "id "+text(req.ID), "id "+text(a.ID))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "unknown-method", Title: "a method that does not exist is refused", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-method-not-found", "modern/jsonrpc-method-not-found"},
			Judge:        func(c *Case) { c.Refused("unknown-method", false, -32601) },
		},
	}
}
