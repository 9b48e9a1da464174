// Package ssehttp is the HTTP+SSE transport of revision 2024-11-05, both sides:
// one GET stream brings the server's messages, and says with its first event
// where the client's are to be posted. It is there for peers that know nothing
// newer; package streamhttp falls back on it by itself.
//
// Specification: basic/transports (2024-11-05).
package ssehttp

import "github.com/goldwire/goldwire/runtime/streamhttp"

// URL is the endpoint of a server that speaks HTTP+SSE and nothing else: the URL
// of its stream. Dialling it opens the stream; an error may be a
// *streamhttp.EndpointError. The connection ends with the stream, since this
// transport cannot take one up again.
func URL(url string) *streamhttp.Endpoint {
	return &streamhttp.Endpoint{URL: url, Kind: streamhttp.TwoEndpoints}
}
