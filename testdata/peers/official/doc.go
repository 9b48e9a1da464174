// Package official runs the official MCP conformance suite against Goldwire's
// reference server and client, as part of `make e2e`.
package official
