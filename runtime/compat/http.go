package compat

import (
	"errors"
	"net/http"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// settled reports whether what came of server/discover over HTTP leaves nothing
// to try: the answer of a stateless server, which is never asked to initialize,
// or a failure that says nothing of the server's era and would come again.
// Whatever else a server answers, an empty 400 or a page, it may be one of a
// stateful revision; so may one whose 404 holds CodeMethodNotFound, since every
// stateless server has server/discover: it is some server, or a gateway before it,
// that gives this status to any unknown method. Specification:
// basic/transports/streamable-http, backward compatibility, and server/discover
// (2026-07-28).
func settled(err error) bool {
	if e, ok := errors.AsType[*streamhttp.RequestError](err); ok {
		return !e.Sent // it cannot be reached
	}
	if _, ok := errors.AsType[*streamhttp.RedirectError](err); ok {
		return true
	}
	e, ok := errors.AsType[*streamhttp.StatusError](err)
	if !ok {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest:
		return e.RPC == jsonrpc.CodeHeaderMismatch || e.RPC == jsonrpc.CodeMissingClientCapability || e.RPC == jsonrpc.CodeUnsupportedProtocolVersion
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// statusSays reports whether a response's status says that the server does not
// speak a stateless revision; ok is false for an error that is no failed
// response. Specification: as settled.
func statusSays(err error) (says, ok bool) {
	e, ok := errors.AsType[*streamhttp.StatusError](err)
	return ok && (e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed), ok
}
