// Package jsonrpc carries the protocol's messages: ids, errors, frames, and
// Conn, which joins a Service with a transport's Link.
//
// A transport pushes each frame it reads to the connection, on the goroutine
// that read it. The connection decodes it in one pass, runs the handler there,
// and gives the answer back through the frame's Exchange. Generated packages
// register their typed handlers with HandleRequest and make calls with
// CallTyped and its relatives.
package jsonrpc
