package jsonrpc

import "context"

// Frame is one JSON text (or one 2025-03-26 batch) as bytes, with what its
// carrier said about it.
type Frame struct {
	// Data is the text without its line end. A receiver may use it only
	// until Receive returns, unless it calls Detach first: then Data is its
	// own. A sender may change it again when the call returns; the carrier
	// may write into the spare capacity behind it meanwhile.
	Data []byte
	// Header holds the carrier's headers, nil where there are none.
	Header map[string][]string
	// Status is the carrier's status, 0 where there is none. On a reply it
	// is what the connection would like the carrier to use.
	Status int
	// Err is what the carrier found wrong with a frame it read: too long,
	// cut off. Data then holds the start of it. Only an error of the carrier
	// itself ends a connection, and comes through Receiver.Closed.
	Err error
}

// Exchange is one received frame's way back. The transport owns it. Its
// methods may be called from any goroutine, Reply and Notify not after Reply.
type Exchange interface {
	// Notify sends a frame that belongs to this one before its reply, in
	// order.
	Notify(ctx context.Context, f Frame) error
	// Reply sends the answer, at most once. Where nothing is to be answered
	// it is called with no Data, so that the carrier can finish the exchange.
	Reply(ctx context.Context, f Frame) error
	// Detach declares that whoever handles the frame will block: the carrier
	// goes on reading elsewhere at once, and the frame's Data stays valid.
	Detach()
}

// Receiver takes what a carrier reads. A *Conn is one.
type Receiver interface {
	// Receive takes one frame, on the goroutine that read it. The context
	// ends when the peer of this exchange goes away. more says that further
	// frames are already buffered, so that answers may be collected. The
	// carrier may call it again from another goroutine before it returned.
	Receive(ctx context.Context, ex Exchange, f Frame, more bool)
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
	// carrier took it, not that the peer did.
	Send(ctx context.Context, f Frame) error
	// Call sends a request and then may use the calling goroutine to read
	// frames and hand them to the Receiver until w is done or ctx ends. It
	// may also return at once; the caller then waits itself.
	Call(ctx context.Context, f Frame, w Waiter) error
	// Close ends the carrier in good order, bounded in time, and releases
	// what it holds. A second call waits for the first.
	Close(ctx context.Context) error
	// Done is closed when the carrier has ended and everything is released.
	Done() <-chan struct{}
	// Err says why it ended, nil for an orderly end or while it is open.
	Err() error
}

// Waiter is a call that waits for its answer.
type Waiter interface {
	// Done reports whether the wait is over.
	Done() bool
	// C is closed or receives a value when it is.
	C() <-chan struct{}
}

// Dialer opens links: a command, a URL. It can be dialled again.
type Dialer interface {
	Dial(ctx context.Context) (Link, error)
}

// Transport is what Serve takes: the peers come to it. One that serves a
// single peer (this process's stdin and stdout) gives one link and then
// io.EOF.
type Transport interface {
	// Accept waits for the next peer. io.EOF means that no more will come.
	Accept(ctx context.Context) (Link, error)
}
