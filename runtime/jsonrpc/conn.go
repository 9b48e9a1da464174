package jsonrpc

import (
	"context"
	"iter"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// State is a state of a connection.
type State uint8

// The states. Closed can be reached from every other.
const (
	Connecting   State = iota // open, nothing agreed yet
	Initializing              // the initialize handshake runs (stateful revisions)
	Ready                     // calls may be made
	Draining                  // running calls may end, no new ones begin
	Closed
)

// String is the state's name in capitals.
func (s State) String() string {
	return [...]string{"CONNECTING", "INITIALIZING", "READY", "DRAINING", "CLOSED"}[s]
}

// Conn is one connection: it correlates calls with answers, keeps deadlines,
// routes cancellation and progress, owns the session's state machine and
// counts. All methods may be called from any goroutine.
type Conn struct{}

// NewConn makes a connection over a link that is not started. side is ours.
func NewConn(l Link, ch Chooser, side Side) *Conn { panic("unimplemented") }

// Start starts the link.
func (c *Conn) Start() error { panic("unimplemented") }

// Dial dials and starts a client's connection. The handshake is the caller's:
// Initialize, Discover or Ready.
func Dial(ctx context.Context, d Dialer, b Binder) (*Conn, error) { panic("unimplemented") }

// Serve serves each peer that comes, until the transport has no more or ctx
// ends; then it drains the connections and closes them.
func Serve(ctx context.Context, t Transport, b Binder) error { panic("unimplemented") }

// Receive takes a frame from the carrier.
func (c *Conn) Receive(ctx context.Context, ex Exchange, f Frame, more bool) {}

// Closed takes the carrier's end.
func (c *Conn) Closed(err error) {}

// Service is the service that the handshake chose; nil before.
func (c *Conn) Service() *Service { panic("unimplemented") }

// State is the present state.
func (c *Conn) State() State { panic("unimplemented") }

// Stats is a snapshot of state and counters.
func (c *Conn) Stats() Stats { panic("unimplemented") }

// Done is closed when the connection is.
func (c *Conn) Done() <-chan struct{} { panic("unimplemented") }

// Err says why the connection ended, nil while it is open or when this side
// closed it.
func (c *Conn) Err() error { panic("unimplemented") }

// Drain lets running calls end, refuses new ones, and then closes. It waits at
// most as long as ctx and Options.DrainTimeout allow, then cancels what runs.
func (c *Conn) Drain(ctx context.Context) error { panic("unimplemented") }

// Close closes the connection and its link. Calls that wait fail.
func (c *Conn) Close(ctx context.Context) error { panic("unimplemented") }

// Ready declares that no handshake is needed (stateless revisions).
func (c *Conn) Ready() error { panic("unimplemented") }

// Session is what the handshake said. Raw values are the connection's own
// copies.
type Session struct {
	Revision     string   // what both speak
	Info         wire.Raw // the peer's implementation: serverInfo or clientInfo
	Capabilities wire.Raw // the peer's
	Instructions string   // the server's
	Supported    []string // the versions that discover named
	Params       wire.Raw // server: the initialize params
	Result       wire.Raw // client: the initialize or discover result
}

// Session returns what the handshake said, the zero value before.
func (c *Conn) Session() Session { panic("unimplemented") }

// Advertised reports whether the peer advertises what a method needs. It is
// true for all while nothing is known (a stateless peer that was not asked).
func (c *Conn) Advertised(method string) bool { panic("unimplemented") }

// SetMetadata sets what calls carry in their _meta: the client's info and
// capabilities in stateless revisions.
func (c *Conn) SetMetadata(m Metadata) { panic("unimplemented") }

// Initialize makes the handshake of a stateful revision: it sends initialize
// (never cancelled by notification), checks that the answer names our
// revision (*VersionError, and the connection is closed), remembers the
// peer's info and capabilities, sends notifications/initialized, and is ready.
func Initialize[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, params PP) (PR, error) {
	panic("unimplemented")
}

// Discover asks a stateless server what it offers: it sends server/discover,
// checks that the answer lists our revision (*VersionError), remembers the
// peer's info and capabilities, and is ready.
func Discover[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, params PP) (PR, error) {
	panic("unimplemented")
}

// CallOptions are set for one call with WithCallOptions.
type CallOptions struct {
	// Timeout and MaxTimeout replace the connection's; nil keeps it, 0 is
	// none.
	Timeout, MaxTimeout *time.Duration
	// Progress gets the peer's progress, in order, before the call returns,
	// on the goroutine that reads notifications. It also makes the call ask
	// for progress.
	Progress func(Progress)
	// Header is handed to the carrier with the request's frame.
	Header map[string][]string
}

// WithCallOptions returns a context for calls with options of their own.
func WithCallOptions(ctx context.Context, o CallOptions) context.Context { panic("unimplemented") }

// Progress is one notifications/progress.
type Progress struct {
	Progress float64
	Total    *float64 // nil if unknown
	Message  string
	Params   wire.Raw // the whole params
}

// CallTyped calls a method of the peer and decodes its result. params may be
// nil for a method that needs none. Within a handler of the same connection
// the call belongs to the request being handled.
//
// Errors: *Error (Remote) when the peer answered with one, *NotAdvertisedError,
// *TimeoutError, *OverloadError, *CallError for all that is about the carrier
// or the answer's shape, and the context's cause when the caller gave up.
func CallTyped[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	panic("unimplemented")
}

// CallInput is CallTyped for methods whose result may ask for input: with
// resultType input_required the error is a PI.
func CallInput[R, I, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	ResultError
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	panic("unimplemented")
}

// CallTask is CallTyped for calls that asked for a task: when the result has a
// task member the error is a PT.
func CallTask[R, T, P any, PR interface {
	*R
	wire.Decoder
}, PT interface {
	*T
	wire.Decoder
	ResultError
}, PP Params[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	panic("unimplemented")
}

// InputRequest is one entry of inputRequests.
type InputRequest struct {
	Method string
	Params wire.Raw
}

// InputRequired is what the generated InputRequiredError implements.
type InputRequired interface {
	ResultError
	// Inputs yields the requests, in the order they came.
	Inputs() iter.Seq2[string, InputRequest]
	// State returns requestState and whether it is there.
	State() (string, bool)
}

// InputParams is what generated params of such methods implement.
type InputParams[P any] interface {
	Params[P]
	// SetInputs sets inputResponses and requestState (nil: none). It is
	// called on a shallow copy.
	SetInputs(responses map[string]wire.Raw, state *string)
}

// CallRounds is CallInput that answers the server's requests for input with
// the handlers of the connection's own service and calls again, with a new id,
// until the result is complete or ten rounds have passed. When there is no
// handler for one of the requests, or no request at all but the state, it
// returns the error to the caller.
func CallRounds[R, I, P any, PR interface {
	*R
	wire.Decoder
}, PI interface {
	*I
	wire.Decoder
	InputRequired
}, PP InputParams[P]](ctx context.Context, c *Conn, method string, params PP) (PR, error) {
	panic("unimplemented")
}

// CallRaw calls a method with raw params (nil: none) and returns the raw
// result, which is the caller's.
func CallRaw(ctx context.Context, c *Conn, method string, params wire.Raw) (wire.Raw, error) {
	panic("unimplemented")
}

// Notify sends a notification. params may be nil. Within a handler of the same
// connection it belongs to the request being handled and is sent before the
// answer; after the answer it is dropped with a *StateError.
func Notify(ctx context.Context, c *Conn, method string, params wire.Appender) error {
	panic("unimplemented")
}

// Pages iterates over the items of a paginated list. call fetches one page,
// items and next read it, and set puts a cursor into the copy of the params.
// It stops with an error on a repeated cursor, after 1,000 pages or 10,000
// items.
func Pages[P, R, T any](ctx context.Context, params *P, call func(context.Context, *P) (*R, error), items func(*R) []T, next func(*R) *string, set func(*P, *string)) iter.Seq2[*T, error] {
	panic("unimplemented")
}
