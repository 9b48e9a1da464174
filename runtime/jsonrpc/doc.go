// Package jsonrpc carries the protocol's messages: ids, errors, frames, and
// Conn, which joins a Service with a transport's Link.
//
// A transport pushes each frame it reads to the connection, on the goroutine
// that read it. The connection decodes it in one pass, runs the handler there,
// and gives the answer back through the frame's Exchange. Generated packages
// register their typed handlers with HandleRequest and make calls with
// CallTyped and its relatives.
//
// # What a connection holds
//
// Ids are exact, and ours count up from 1. An envelope that is not valid is
// answered with -32700 or -32600, or counted where nothing may be answered; the
// connection lives on. A call has one deadline for everything, which progress
// starts again up to a hard cap; a call that is given up is cancelled at the
// peer. An answer is handed over after the notifications that were read before
// it, but no handler can hold it up. Everything that waits is bounded: calls,
// requests in hand, notifications, bytes.
//
// # What a peer hears of errors
//
// A handler's *Error goes out as it is, an ArgumentError as the revision wants,
// any other error as "internal error": see Error. A message with a wire.Raw that
// is not JSON is never sent.
//
// # Watching and guarding
//
// Stats has the state and the counters at any time. Options has listeners for
// what a connection survives (Events), for its states and for notifications, and
// Middleware around handlers (Incoming) and calls (Outgoing): for spans and
// counters of one's own, for RateLimit and CircuitBreaker. A trace context
// travels in _meta: WithTrace and Peer.Trace.
//
// # States
//
// CONNECTING, INITIALIZING, READY, DRAINING, CLOSED; Stats counts what runs. Of a
// connection that is not ready calls fail with a *StateError and requests are
// refused with -32600, ping excepted. Drain lets end what runs; Serve drains when
// its context ends or a signal of its transport comes.
//
// # Places
//
// Comments name pages of the specification by their path, as basic/lifecycle:
// that page of the revision at hand.
package jsonrpc
