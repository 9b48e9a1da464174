//go:build e2e

package matrix

import "github.com/goldwire/goldwire/testdata/peers/matrix/script"

// carriers that Goldwire has.
var carriers = []string{"stdio"}

// fact is what a peer does wrong. Empty members fit everything.
type fact struct {
	client, server, carrier, revision, step string
	sometimes                               bool // not in every run
	why                                     string
}

func (f fact) fits(c *cell, s script.Step) bool {
	for _, p := range [][2]string{{f.client, c.client.name}, {f.server, c.server.name}, {f.carrier, c.carrier}, {f.revision, c.revision}, {f.step, s.Name}} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	return true
}

var facts = []fact{
	{client: "goldwire", server: "mcp-go", carrier: "stdio", step: "burst", sometimes: true,
		why: "mcp-go v1.2.1 writes notifications from a queue of their own: progress that a tool reports right before its result comes after it, where the specification ends progress (basic/utilities/progress). Goldwire drops and counts it."},
	{client: "typescript v1", carrier: "stdio", step: "burst", sometimes: true,
		why: "The TypeScript SDK v1 (1.32.2) forgets the handler of progress when it reads the result, before it has called it for what it read just before."},
	{client: "typescript v2", carrier: "stdio", step: "burst", sometimes: true,
		why: "So does the TypeScript SDK v2 (2.4.0)."},
}
