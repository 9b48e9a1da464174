package jsonrpc

import (
	"context"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Trace is the context of a distributed trace as W3C Trace Context and W3C
// Baggage spell it. It travels in the _meta of requests, so that whatever traces
// them needs no other carrier; an OpenTelemetry propagator reads and writes
// these three. Specification: basic/index, trace context (2026-07-28); older
// revisions leave such members of _meta alone.
type Trace struct {
	Parent  string // traceparent, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	State   string // tracestate, may be empty
	Baggage string // baggage, may be empty
}

// The members of _meta.
const (
	metaTraceParent = "traceparent"
	metaTraceState  = "tracestate"
	metaBaggage     = "baggage"
)

// WithTrace returns a context whose calls carry t. Members of that name that the
// caller put into _meta himself are kept.
func WithTrace(ctx context.Context, t Trace) context.Context {
	o := *callOptions(ctx)
	o.trace = t
	return WithCallOptions(ctx, o)
}

// Trace is what the request being handled carried; empty members for what it did
// not.
func (p Peer) Trace() (t Trace) {
	in := p.request()
	if in == nil {
		return t
	}
	params := wire.Raw(in.data).Get("params")
	if in.ex == nil && params == nil { // a request in a result: the params are all there is
		params = in.data
	}
	meta := params.Get("_meta")
	t.Parent, _ = meta.Get(metaTraceParent).Str()
	t.State, _ = meta.Get(metaTraceState).Str()
	t.Baggage, _ = meta.Get(metaBaggage).Str()
	return t
}

// addTrace puts a trace context into the _meta of the params at b[n:].
func addTrace(b []byte, n int, t *Trace) []byte {
	for _, m := range [...]struct{ name, value string }{{metaBaggage, t.Baggage}, {metaTraceState, t.State}, {metaTraceParent, t.Parent}} {
		if m.value != "" {
			member := append(wire.AppendString(nil, m.name), ':')
			b = addMeta(b, n, m.name, wire.AppendString(member, m.value), false)
		}
	}
	return b
}
