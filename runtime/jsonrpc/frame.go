package jsonrpc

import (
	"context"
	"errors"
	"os"
	"time"
)

// Frame is one JSON text (or one 2025-03-26 batch) as bytes, with what its
// carrier said about it.
type Frame struct {
	// Data is the text without its line end. A receiver may use it until
	// Receive returns, or for good when Owned says so. A sender may change
	// it again when the call returns; meanwhile the carrier may write into
	// the spare capacity behind it.
	Data []byte
	// Owned: Data is the receiver's to keep.
	Owned bool
	// Header holds the carrier's headers, nil where there are none.
	Header map[string][]string
	// Status is the carrier's status on a frame it read, 0 where there is
	// none.
	Status int
	// Code is the code of the error that a reply holds, 0 for a result. The
	// carrier's status follows from it.
	Code int64
	// Err is what the carrier found wrong with a frame it read: ErrTooLong
	// (Data then holds the start of it) or ErrTruncated (Data is what came).
	// Only an error of the carrier itself ends a connection, and it comes
	// through Receiver.Closed.
	Err error
}

// What a carrier can find wrong with a frame, for errors.Is.
var (
	ErrTooLong   = errors.New("message too long")
	ErrTruncated = errors.New("message cut off by the end of the stream")
)

// Exchange is one received frame's way back. The transport owns it. Its
// methods may be called from any goroutine, but none after Reply.
type Exchange interface {
	// Notify sends a frame that belongs to this one before its reply, in
	// order. If it has to wait it waits as long as ctx; what can be taken
	// without waiting is taken even when ctx has ended.
	Notify(ctx context.Context, f Frame) error
	// Reply sends the answer, at most once. Where nothing is to be answered
	// it is called with no Data, so that the carrier can finish the exchange.
	Reply(ctx context.Context, f Frame) error
	// Detach declares that whoever handles the frame will block, or that
	// the reply comes after Receive has returned: the carrier goes on reading
	// elsewhere at once. Without it the exchange ends with Receive.
	Detach()
}

// Expecting is an Exchange that likes to hear that its frame is a request, and
// about to be handled: the reply is going to be an answer, which may take its time.
type Expecting interface {
	// Expect is called before the handler is, and at most once. params are nil
	// where they were not decoded yet. An error refuses the request, and is its
	// answer.
	Expect(method string, params any) *Error
}

// Receiver takes what a carrier reads. A *Conn is one.
type Receiver interface {
	// Receive takes one frame, on the goroutine that read it. The context
	// ends when the peer of this exchange goes away. The carrier may call it
	// again from another goroutine before it returned.
	Receive(ctx context.Context, ex Exchange, f Frame)
	// Closed says that the carrier ended, nil for an orderly end. It is
	// called once, after the last Receive has begun.
	Closed(err error)
}

// Link is one open carrier to one peer. All methods may be called from any
// goroutine.
type Link interface {
	// Start begins reading into r. It is called once, before anything else.
	Start(r Receiver) error
	// Send sends a frame that expects no answer. A nil error means that the
	// carrier took it, not that the peer did. If it has to wait it waits as
	// long as ctx; what can be taken without waiting is taken even when ctx
	// has ended.
	Send(ctx context.Context, f Frame) error
	// Call sends a request and then may use the calling goroutine to read
	// frames and hand them to the Receiver until w is done or ctx ends. It
	// may also return at once; the caller then waits itself. An error means
	// that no answer will come: an *Error with Remote set is the peer's
	// answer, which the carrier read as part of a failure of its own (its
	// Cause), any other is the carrier's. When ctx ends after the request
	// was taken there is none, so that the caller can cancel it.
	Call(ctx context.Context, f Frame, w Waiter) error
	// Close ends the carrier in good order, bounded in time, and releases
	// what it holds. A second call waits for the first.
	Close(ctx context.Context) error
	// Done is closed when the carrier has ended and everything is released.
	Done() <-chan struct{}
	// Err says why it ended, nil for an orderly end or while it is open.
	Err() error
}

// Waker is a Link whose Call may be reading on the calling goroutine: Wake
// tells it that w is done though its answer was not what it read.
type Waker interface {
	Wake(w Waiter)
}

// Carrier is a Link that says what its carrier is like. Without it a link is
// like stdio: the zero CarrierRules.
type Carrier interface {
	Carrier() CarrierRules
}

// CarrierRules is what a carrier does by itself.
type CarrierRules struct {
	// Outlives: the end of the peer's input is not the end of the peer.
	Outlives bool
	// CallStreams: each call has a stream of its own, on which its answer
	// comes. Call reads it, also for a subscription, until w is done or ctx
	// has ended.
	CallStreams bool
}

// CallCounter is a Receiver that knows how many calls wait for their answer. A
// carrier whose callers read uses it to see when nobody has to.
type CallCounter interface {
	WaitingCalls() int
}

// Passing is an error of a carrier that may not come again: a stream that broke,
// a server that is away for a moment.
type Passing interface {
	error
	// Passes reports whether it may, and how long to wait before another try
	// at least.
	Passes() (after time.Duration, ok bool)
}

// Waiter is a call that waits for its answer.
type Waiter interface {
	// Done reports whether the wait is over.
	Done() bool
	// C receives one value when it is. Whoever receives it may take it from
	// others, who ask Done.
	C() <-chan struct{}
}

// Taken is a Waiter that likes to hear when the carrier has taken the request,
// so that it can tell what was never sent from what was not answered.
type Taken interface {
	Taken()
}

// Dialer opens links: a command, a URL. It can be dialled again.
type Dialer interface {
	Dial(ctx context.Context) (Link, error)
}

// Identified is a Dialer that says what it dials, so that what was found out
// about that can be remembered.
type Identified interface {
	// Identity is the same for dialers of the same thing, and "" for what
	// cannot be told. It may hold what is secret: it is compared and never shown.
	Identity() string
}

// Transport is what Serve takes: the peers come to it. One that serves a
// single peer (this process's stdin and stdout) gives one link and then
// io.EOF.
type Transport interface {
	// Accept waits for the next peer. io.EOF means that no more will come.
	Accept(ctx context.Context) (Link, error)
}

// Signalled is a Transport that ends in good order when the process gets one of
// some signals: Serve drains its connections then.
type Signalled interface {
	// EndSignals are the signals, nil for none.
	EndSignals() []os.Signal
}
