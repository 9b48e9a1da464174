package jsonrpc

import (
	"context"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Peer is the other side, as a handler sees it.
type Peer struct{}

// PeerOf returns the peer of the handler that ctx belongs to. Outside of one
// the methods of the Peer it returns fail with ErrNoPeer.
func PeerOf(ctx context.Context) Peer { panic("unimplemented") }

// Conn is the connection, nil outside of a handler.
func (p Peer) Conn() *Conn { panic("unimplemented") }

// ID is the id of the request being handled, zero in a notification's handler.
func (p Peer) ID() ID { panic("unimplemented") }

// Method is the method being handled.
func (p Peer) Method() string { panic("unimplemented") }

// Metadata is what the _meta of the params said.
func (p Peer) Metadata() Metadata { panic("unimplemented") }

// Header holds the carrier's headers of the request.
func (p Peer) Header() map[string][]string { panic("unimplemented") }

// Notify sends a notification that belongs to the request being handled.
func (p Peer) Notify(ctx context.Context, method string, params wire.Appender) error {
	panic("unimplemented")
}

// Progress reports progress on the request being handled. Nothing is sent
// when the peer asked for none, when progress has not grown, or after the
// answer. total may be nil and message empty.
func (p Peer) Progress(ctx context.Context, progress float64, total *float64, message string) error {
	panic("unimplemented")
}

// WantsProgress reports whether the peer asked for progress.
func (p Peer) WantsProgress() bool { panic("unimplemented") }

// Log sends notifications/message with the given params, if the peer asked
// for this level: in stateless revisions in the request's _meta, in stateful
// ones with logging/setLevel (before that, everything is sent).
func (p Peer) Log(ctx context.Context, level string, params wire.Appender) error {
	panic("unimplemented")
}

// SetLogLevel sets the least level for this connection.
func (p Peer) SetLogLevel(level string) { panic("unimplemented") }

// Subscribe and Unsubscribe keep the set of resources that this connection
// wants to hear of (stateful revisions).
func (p Peer) Subscribe(uri string) { panic("unimplemented") }

// Unsubscribe forgets a resource.
func (p Peer) Unsubscribe(uri string) { panic("unimplemented") }

// Detach declares that the handler is going to block: reading goes on
// elsewhere at once.
func (p Peer) Detach() { panic("unimplemented") }

// WithPrincipal returns a context that names who is behind a request. User
// middleware of an HTTP server sets it.
func WithPrincipal(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, principalKey{}, principal)
}

// Principal returns what WithPrincipal set, "" for none.
func Principal(ctx context.Context) string {
	s, _ := ctx.Value(principalKey{}).(string)
	return s
}

type principalKey struct{}
