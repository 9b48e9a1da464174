//go:build e2e

package matrix

import (
	"strings"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

// fact is what a peer does wrong. Empty members fit everything; carrier and
// revision may hold several.
type fact struct {
	client, server, carrier, revision, step string
	detected                                bool // only where the client was not told the revision
	sometimes                               bool // not in every run
	why                                     string
}

func (f fact) fits(c *cell, s script.Step) bool {
	for _, p := range [][2]string{{f.client, c.client.name}, {f.server, c.server.name}, {f.step, s.Name}} {
		if p[0] != "" && p[0] != p[1] {
			return false
		}
	}
	return (c.detect || !f.detected) && (f.carrier == "" || strings.Contains(f.carrier, c.carrier)) && (f.revision == "" || strings.Contains(f.revision, c.revision))
}

var facts = []fact{
	{client: "goldwire", server: "mcp-go", step: "burst", sometimes: true,
		why: "mcp-go v1.2.1 writes notifications from a queue of their own: progress that a tool reports right before its result comes after it, where the specification ends progress (basic/utilities/progress), or not at all. Goldwire drops and counts it."},
	{client: "goldwire", server: "mcp-go", carrier: "http", revision: "2026-07-28", step: "subscribe",
		why: "mcp-go v1.2.1 acknowledges a subscription to a resource over HTTP, but has no way to send its updates: the session of a listen stream is never registered, and notifications to all clients leave this one out."},
	{client: "mcp-go", carrier: "http sse", revision: "2024-11-05 2025-03-26 2025-06-18 2025-11-25", step: "cancel",
		why: "mcp-go v1.2.1's client does not say over HTTP, nor over HTTP+SSE, that it has cancelled a call; in the revisions with sessions the end of a connection does not say so (basic/transports)."},
	{client: "mcp-go", carrier: "http", revision: "2025-03-26 2025-06-18 2025-11-25", step: "subscribe", detected: true,
		why: "mcp-go v1.2.1's client listens outside of calls only with an option (WithContinuousListening) that also keeps it from trying the revision without sessions."},
	{server: "mcp-go", carrier: "sse fallback", step: "ask", why: "mcp-go v1.2.1's server cannot ask its client for anything over HTTP+SSE."},
	{client: "mcp-go", carrier: "sse", step: "ask", why: "Its client does not answer requests of the server over HTTP+SSE."},
	{client: "go-sdk", revision: "2026-07-28", step: "ask",
		why: "go-sdk v1.8.0's client wants params in a request for roots that is part of a result; they are optional (ListRootsRequest)."},
	{server: "go-sdk", carrier: "http", revision: "2026-07-28", step: "cancel",
		why: "go-sdk v1.8.0 runs a call to its end whose response stream the client has closed, which is how a call is cancelled there (basic/patterns/cancellation)."},
	{client: "typescript v1", step: "burst", sometimes: true,
		why: "The TypeScript SDK v1 (1.32.2) forgets the handler of progress when it reads the result, before it has called it for what it read just before."},
	{client: "typescript v2", step: "burst", sometimes: true,
		why: "So does the TypeScript SDK v2 (2.4.0)."},
}
