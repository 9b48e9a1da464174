// Package jsonl carries one JSON text a line: over this process's stdin and
// stdout, over those of a child process, and over any pair of streams.
//
// # How it reads
//
// A server's link has one goroutine that reads and handles each frame itself;
// nothing is handed to another goroutine while handlers are quick. A monitor,
// which ticks only while there is traffic, notices a handler that has not
// returned for a millisecond and lets another goroutine go on reading; a handler
// that knows that it blocks says so with Detach. Nothing overtakes a request
// before it is registered, nor the handshake before it is answered. A client's
// link is read by the calling goroutine that waits for its answer. When several
// calls wait, or when none has been made for a millisecond, a goroutine of the
// link reads.
//
// # How it writes
//
// Whoever sends a frame writes it. While somebody writes, others leave theirs
// in a bounded buffer, and the writer takes them along; answers that become
// ready while further frames are already read leave in one write. A stream
// that takes no more bytes is left to a goroutine, so that a peer that stops
// reading holds up nobody but itself.
//
// Specification: basic/transports, section stdio; basic/transports/stdio
// (2026-07-28).
package jsonl
