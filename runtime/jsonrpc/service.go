package jsonrpc

import (
	"context"
	"log/slog"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Binder makes the services that answer on a connection. The generated Server
// and Client are binders, and so is *Service.
type Binder interface {
	Bind() (Chooser, error)
}

// Chooser picks the service that answers a frame, before its params are
// decoded. A *Service chooses itself. Choose is called on the goroutine that
// read the frame, concurrently for concurrent frames.
type Chooser interface {
	// Choose returns the service for f; nil means none, and the frame is
	// answered with CodeMethodNotFound. c remembers the service of its
	// handshake (Conn.Service).
	Choose(c *Conn, f *Peek) *Service
}

// Peek is what is known of a frame before its params are decoded.
type Peek struct {
	Data   []byte // the whole message
	Method string
	ID     ID       // zero for a notification
	Params wire.Raw // nil if absent
	Header map[string][]string
}

// ServiceOptions describes one side of one revision.
type ServiceOptions struct {
	// Revision is the one that the generated package implements.
	Revision string
	// Side is the one this service answers for.
	Side Side
	// Methods is the revision's method table.
	Methods []Method
	// Capabilities is what this side advertises. Calls and notifications
	// whose method needs a capability of ours are refused without it.
	Capabilities wire.Appender
	// Info describes the implementation. Stateless servers add it to the
	// _meta of every result.
	Info wire.Appender
	// Supported are the versions that an unsupported version is answered
	// with; nil means the Revision alone.
	Supported []string
	// Unknown answers requests of methods that nobody registered; nil
	// answers CodeMethodNotFound.
	Unknown func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error)
	// UnknownNotification gets notifications that nobody registered; nil
	// counts and drops them.
	UnknownNotification func(ctx context.Context, method string, params wire.Raw)
	// Listen says which change notifications this server offers.
	Listen ListenOptions
	// Hub spreads change notifications to the connections of this service;
	// nil makes one of its own.
	Hub *Hub
	// Options of the connections.
	Options Options
}

// ListenOptions says which change notifications a server offers: with
// subscriptions/listen it acknowledges these and no others.
type ListenOptions struct {
	ToolsListChanged     bool
	PromptsListChanged   bool
	ResourcesListChanged bool
	ResourceUpdates      bool
	// AllowURI may refuse a resource; nil allows all.
	AllowURI func(ctx context.Context, uri string) bool
}

// Options are the limits and listeners of a connection. The zero value works.
type Options struct {
	// Timeout of a request, from the call to the answer, queueing included;
	// progress starts it again. nil means 30 s, 0 none.
	Timeout *time.Duration
	// MaxTimeout is the hard cap that progress does not move. nil means 1 h,
	// 0 none.
	MaxTimeout *time.Duration
	// MaxInFlight bounds the requests that wait for the peer, and apart from
	// them those of the peer that are being handled. 0 means 1,024.
	MaxInFlight int
	// MaxQueuedNotifications bounds the notifications that wait for their
	// handler; further ones are dropped and counted. 0 means 1,024.
	MaxQueuedNotifications int
	// MaxDepth bounds the nesting of a message. 0 means 256.
	MaxDepth int
	// WaitInitialized keeps a server of a stateful revision from answering
	// requests before notifications/initialized; otherwise it answers them
	// from its initialize answer on.
	WaitInitialized bool
	// DrainTimeout bounds how long draining waits for running handlers
	// before it cancels them. nil means 10 s, 0 does not wait.
	DrainTimeout *time.Duration
	// Logger gets panics, and what the connection survives; nil is
	// slog.Default().
	Logger *slog.Logger
	// Events are told what a connection survives. They are called in order,
	// one at a time, off the reading goroutine; a slow or panicking one harms
	// nobody, and events that pile up are dropped and counted.
	Events []func(Event)
}

// Service answers the requests and notifications of one revision on one side.
// It is shared by all its connections and may not be changed once one uses it.
type Service struct {
	o ServiceOptions
}

// NewService makes a service without handlers. Methods that the runtime
// answers itself (ping, cancelled, progress, subscriptions/listen) need none.
func NewService(o ServiceOptions) *Service { return &Service{o: o} }

// Revision is the revision this service implements.
func (s *Service) Revision() string { return s.o.Revision }

// Hub is where change notifications of this service are published.
func (s *Service) Hub() *Hub { panic("unimplemented") }

// Bind returns the service itself.
func (s *Service) Bind() (Chooser, error) { return s, nil }

// Choose returns the service itself.
func (s *Service) Choose(*Conn, *Peek) *Service { return s }

// HandleRequest registers the handler of a request. A nil f registers nothing.
// Params that are absent reach f as nil, unless the method table says that
// they are required.
func HandleRequest[P, R any, PP interface {
	*P
	wire.Decoder
}, PR interface {
	*R
	wire.Appender
}](s *Service, method string, f func(context.Context, PP) (PR, error)) {
	panic("unimplemented")
}

// HandleNotification registers the handler of a notification. A nil f
// registers nothing: the notification is counted and dropped.
func HandleNotification[P any, PP interface {
	*P
	wire.Decoder
}](s *Service, method string, f func(context.Context, PP) error) {
	panic("unimplemented")
}

// Then wraps a handler so that after runs when f succeeded, before the answer.
// A nil f stays nil.
func Then[P, R any](f func(context.Context, *P) (*R, error), after func(context.Context, *P)) func(context.Context, *P) (*R, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) (*R, error) {
		r, err := f(ctx, p)
		if err == nil {
			after(ctx, p)
		}
		return r, err
	}
}

// Blocking marks the handler of a method as one that blocks: the frames that
// follow are read elsewhere at once, not only after the monitor's tick.
func (s *Service) Blocking(methods ...string) { panic("unimplemented") }
