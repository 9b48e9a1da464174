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
// # Places
//
// Comments name pages of the specification by their path, as basic/lifecycle:
// that page of the revision at hand.
package jsonrpc
