package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// The error codes of JSON-RPC.
const (
	CodeParseError     int64 = -32700 // not JSON
	CodeInvalidRequest int64 = -32600 // not a request envelope, or one that the state does not allow
	CodeMethodNotFound int64 = -32601 // unknown method, or one whose capability is not advertised
	CodeInvalidParams  int64 = -32602 // the params do not fit the method
	CodeInternalError  int64 = -32603 // the handler failed
)

// The error codes that the protocol adds.
const (
	CodeHeaderMismatch             int64 = -32020 // an HTTP header is missing or differs from the body (2026-07-28)
	CodeMissingClientCapability    int64 = -32021 // data.requiredCapabilities (2026-07-28)
	CodeUnsupportedProtocolVersion int64 = -32022 // data.supported, data.requested (2026-07-28)
	CodeResourceNotFound           int64 = -32002 // up to 2025-11-25
	CodeURLElicitationRequired     int64 = -32042 // 2025-11-25
	CodeUserRejected               int64 = -1     // sampling, up to 2025-11-25
)

// Goldwire's own codes. They lie outside the range that JSON-RPC and the
// protocol reserve (-32768 to -32000).
const (
	CodeOverloaded   int64 = -31001 // a bound was reached: try again after data.retryAfterMs
	CodeShuttingDown int64 = -31002 // the peer drains and takes no new requests
	CodeRateLimited  int64 = -31003 // too many requests in a time: try again after data.retryAfterMs
	CodeCircuitOpen  int64 = -31004 // what lies behind fails and is left alone: try again after data.retryAfterMs
)

// Error is the error of a JSON-RPC answer: made by a handler, or received from
// the peer. A handler that returns an *Error (wrapped or not) decides what the
// peer hears: one that it made itself, or, as a proxy does, one that another peer
// answered with. Any other error is answered with CodeInternalError and the text
// "internal error": what went wrong here is not the peer's business. It is
// logged, and told to the listeners (FailedRequest). Exceptions are an
// ArgumentError; a *wire.Error, which says what is wrong with the params
// (CodeInvalidParams); and ErrOverloaded (CodeOverloaded).
//
// What a call that the handler made failed with says nothing of the request that
// it handles, and is answered with CodeInternalError as well: *CallError,
// *NotAdvertisedError, *TimeoutError and the like, with all that they wrap, and an
// *Error that the very peer answered with whose request is being handled. To let
// the peer know, return an *Error of its own for it.
//
// Its methods may be called on nil.
type Error struct {
	Code    int64        // any 32-bit integer that JSON-RPC leaves open, or one of the Code constants
	Message string       // one sentence for people
	Data    wire.Raw     // any JSON value, nil for none
	Extra   wire.Members // members that the specification does not name
	Remote  bool         // the peer sent it
	Cause   error        // what lay behind it on this side; never sent
}

// NewError makes an error for the peer.
func NewError(code int64, message string) *Error { return &Error{Code: code, Message: message} }

// Errorf makes an error for the peer. A %w operand becomes its Cause.
func Errorf(code int64, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Cause: errors.Unwrap(err)}
}

// Error says the message, the code, and who made it.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	if e.Remote {
		return fmt.Sprintf("peer answered: %s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Code)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Cause
}

// Is reports whether target is an *Error with the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && e != nil && t != nil && t.Code == e.Code
}

// Temporary reports whether the error says no more than that the peer could not
// answer this time: CodeInternalError, or one of Goldwire's own codes, -31999 to
// -31000.
func (e *Error) Temporary() bool {
	return e.Code == CodeInternalError || e.Code >= -31999 && e.Code <= -31000
}

// Sentinels for errors.Is.
var (
	ErrClosed        = fmt.Errorf("connection closed: %w", net.ErrClosed)
	ErrNotAdvertised = errors.New("the peer does not advertise it")
	ErrOverloaded    = errors.New("overloaded")
	ErrTimeout       = errors.New("timed out")
	ErrNoPeer        = errors.New("no peer: the context does not come from a handler")
	ErrResultType    = errors.New("unknown result type")
)

// NotAdvertisedError is a call that was not sent because the peer, or this side,
// does not advertise the capability for it. errors.Is(err, ErrNotAdvertised).
type NotAdvertisedError struct {
	Method     string // that was to be called or sent
	Capability string // path, "resources.subscribe"
	Own        bool   // it is this side that does not
}

// Error names the method and the capability.
func (e *NotAdvertisedError) Error() string {
	if e.Own {
		return fmt.Sprintf("%s: this side does not advertise %s", e.Method, e.Capability)
	}
	return fmt.Sprintf("%s: the peer does not advertise %s", e.Method, e.Capability)
}

// Is reports whether target is ErrNotAdvertised.
func (e *NotAdvertisedError) Is(target error) bool { return target == ErrNotAdvertised }

// OverloadError is a bound that was reached. errors.Is(err, ErrOverloaded).
type OverloadError struct {
	What  string // "requests in flight", "outgoing bytes"
	Limit int    // the bound
	Cause error  // why waiting ended: the context's error
}

// Error says which bound, and why waiting ended.
func (e *OverloadError) Error() string {
	s := fmt.Sprintf("overloaded: the bound of %d %s is reached", e.Limit, e.What)
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Is reports whether target is ErrOverloaded.
func (e *OverloadError) Is(target error) bool { return target == ErrOverloaded }

// Unwrap returns why waiting ended.
func (e *OverloadError) Unwrap() error { return e.Cause }

// TimeoutError is a call whose deadline passed: errors.Is with ErrTimeout, and
// with context.DeadlineExceeded, as if the caller's context had set it.
type TimeoutError struct {
	Method string        // of the request
	ID     ID            // of the request
	After  time.Duration // the timeout that passed
	Hard   bool          // it was the hard cap, which progress does not move
	// WrongID is the id of an answer that came meanwhile and may have been meant
	// for this request: the same id in another type or spelling, "2" for 2. It is
	// zero when none came.
	WrongID ID
}

// Error names the request and the time.
func (e *TimeoutError) Error() string {
	what := "no answer within"
	if e.Hard {
		what = "no answer within the hard cap of"
	}
	s := fmt.Sprintf("%s (id %s): %s %v", e.Method, e.ID, what, e.After)
	if !e.WrongID.IsZero() {
		s += fmt.Sprintf(", but one with the id %s", e.WrongID)
	}
	return s
}

// Is reports whether target is ErrTimeout or context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

// Timeout is true.
func (e *TimeoutError) Timeout() bool { return true }

// Stage is how far a call had come when it failed.
type Stage string

// The stages.
const (
	StageEncode  Stage = "encode"  // a raw value in the params is not JSON; nothing was sent
	StageQueue   Stage = "queue"   // waiting for its turn; nothing was sent
	StageSend    Stage = "send"    // being written; the peer may have part of it
	StageReceive Stage = "receive" // sent; waiting for the answer
	StageDecode  Stage = "decode"  // answered, but the answer is not what the method returns
)

// CallError is a call that got no usable answer. It says how far it came and
// keeps the cause: for a child process that is a *jsonl.ExitError with exit
// code or signal and the end of stderr, for params that are not JSON a
// *wire.Error that says where. A notification whose params are not JSON fails
// with one as well.
type CallError struct {
	Method string // of the call
	ID     ID     // of its request, zero when none was made
	Stage  Stage  // how far it came
	Err    error  // the cause
}

// Error names the call, its stage and the cause.
func (e *CallError) Error() string {
	if e.ID.IsZero() {
		return fmt.Sprintf("%s: %s: %v", e.Method, e.Stage, e.Err)
	}
	return fmt.Sprintf("%s (id %s): %s: %v", e.Method, e.ID, e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// ClosedError is a connection that is closed. errors.Is(err, ErrClosed) and
// errors.Is(err, net.ErrClosed).
type ClosedError struct {
	Cause error // nil when this side closed it
}

// Error says why the connection closed.
func (e *ClosedError) Error() string {
	if e.Cause == nil {
		return "connection closed"
	}
	return "connection closed: " + e.Cause.Error()
}

// Is reports whether target is ErrClosed or net.ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed || target == net.ErrClosed }

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Cause }

// StateError is an operation that the state of the connection does not allow.
type StateError struct {
	Op    string // "initialize", "tools/call", "drain"
	From  State  // the present state
	To    State  // for a transition, otherwise equal to From
	Cause error  // From is Closed: a *ClosedError, otherwise nil
}

// Error names the operation and the states, and why the connection closed.
func (e *StateError) Error() string {
	text := fmt.Sprintf("%s: no transition from %s to %s", e.Op, e.From, e.To)
	if e.From == e.To {
		text = fmt.Sprintf("%s: not allowed while the connection is %s", e.Op, e.From)
	}
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Cause }

// DirectionError is a message that this side may not send in this revision.
type DirectionError struct {
	Method   string // of the message
	Revision string // that says so
	Side     Side   // that wanted to send it
}

// Error names the method, the side and the revision.
func (e *DirectionError) Error() string {
	return fmt.Sprintf("%s: the %s does not send it in %s", e.Method, e.Side, e.Revision)
}

// VersionError is a peer that speaks no version of ours.
type VersionError struct {
	Ours   []string // what this side speaks
	Theirs []string // what the peer named, or was found out to speak
	Cause  error    // the *Error that the peer refused ours with, nil if it did not
}

// Error names the versions of both.
func (e *VersionError) Error() string {
	return fmt.Sprintf("no common protocol version: we speak %q, the peer %q", e.Ours, e.Theirs)
}

// Unwrap returns the cause.
func (e *VersionError) Unwrap() error { return e.Cause }

// ResultTypeError is a result whose resultType is neither complete nor
// anything else that the method may return: one of an extension, which who
// knows it reads from Raw. errors.Is(err, ErrResultType).
type ResultTypeError struct {
	Type string   // the resultType
	Raw  wire.Raw // the whole result, an object
}

// Error names the type.
func (e *ResultTypeError) Error() string { return fmt.Sprintf("unknown result type %q", e.Type) }

// Is reports whether target is ErrResultType.
func (e *ResultTypeError) Is(target error) bool { return target == ErrResultType }

// StrictError is a result that breaks its schema, when the call asked for a
// strict one (CallOptions.StrictResult). It unwraps to the first problem as a
// *wire.Error.
type StrictError struct {
	Problems []wire.Problem // at least one, at most wire.DefaultMaxSkipped
}

// Error gives the first problem, and how many there are.
func (e *StrictError) Error() string {
	s := "the result breaks its schema: " + e.Problems[0].String()
	if n := len(e.Problems); n > 1 {
		s += fmt.Sprintf(" (the first of %d problems)", n)
	}
	return s
}

// Unwrap returns the first problem.
func (e *StrictError) Unwrap() error {
	p := e.Problems[0]
	return &wire.Error{Kind: p.Kind, Path: p.Path, Msg: p.Msg, Offset: p.Offset}
}

// ResultError is an error value that stands for a result: a handler that
// returns one (wrapped or not) is answered with its JSON as the result, and a
// call whose result it is returns it. InputRequiredError and TaskCreated of
// the generated packages are such values.
type ResultError interface {
	error
	wire.Appender
	// IsResult marks the type.
	IsResult()
}

// ArgumentError is an error about the arguments of a call, which whoever made
// the call can mend; *args.Error is one. A handler of tools/call that returns
// one (wrapped or not, but not in an *Error) is answered as its revision wants:
// from 2025-11-25 on with a result that has isError and the error's text, so that
// the model reads it, before that with InvalidParams. Other handlers always answer
// with that. Specification: server/tools, error handling.
type ArgumentError interface {
	error
	// InvalidParams is the error as an answer, with CodeInvalidParams. The
	// type's Unwrap should return it as well.
	InvalidParams() *Error
}

// argumentError finds an ArgumentError that is not hidden in an *Error, whose
// maker has decided what the peer hears.
func argumentError(err error) ArgumentError {
	for ; err != nil; err = errors.Unwrap(err) {
		switch e := err.(type) {
		case *Error:
			return nil
		case ArgumentError:
			return e
		}
	}
	return nil
}

// PanicError is a handler that panicked. The peer gets CodeInternalError
// without details.
type PanicError struct {
	Value any    // what it panicked with
	Stack []byte // where
}

// Error says what it panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }
