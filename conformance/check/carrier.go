package check

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
)

// Carrier is one open pair of byte streams to a server under judgement. It
// knows nothing of lines or messages: what a server really wrote, blank lines
// and carriage returns included, is what the recording has to show.
//
// Write and CloseInput are called by one goroutine at a time, Output and
// Errors are read by one goroutine each; Terminate, Kill, Done and Exit may be
// called from anywhere.
type Carrier interface {
	// Write hands bytes to the server. It gives up at the deadline, so that a
	// server that stops reading cannot hold the driver.
	Write(b []byte, deadline time.Time) (int, error)
	// CloseInput ends the server's input; a second call does nothing.
	CloseInput() error
	// Output is what the server writes for its peer.
	Output() io.Reader
	// Errors is the server's free text, nil where there is none.
	Errors() io.Reader
	// Terminate asks the server to end.
	Terminate()
	// Kill ends the server and everything it started, and makes pending reads
	// return. It is safe to call it at any time and more than once.
	Kill()
	// Done is closed when the server has ended and has been reaped.
	Done() <-chan struct{}
	// Exit says how the server ended; it is valid once Done is closed.
	Exit() Exit
}

// Target is a server under judgement: a Launcher, which starts it, or an
// *Endpoint, where it runs already.
type Target interface {
	// Transport is what it is reached over.
	Transport() catalogue.Transport
}

// Launcher starts the server under judgement. Every call starts a new one
// that shares nothing with the others.
type Launcher interface {
	Target
	Launch(ctx context.Context) (Carrier, error)
}

// Exit is how a server ended.
type Exit struct {
	Code   int    // exit status; 0 when Signal is set
	Signal string // name of the signal that ended it, "" when it exited by itself
	Killed bool   // the driver killed it
}

// String gives "exit status 3" or "signal: killed".
func (e Exit) String() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Pipe launches a server that lives in this process: Serve is run on its own
// goroutine for every launch, with the two ends of its streams, and the server
// has ended when Serve returns. Tests and in-process servers use it.
type Pipe struct {
	// Serve reads in until it ends and writes out. The context is cancelled
	// when the driver kills the server.
	Serve func(ctx context.Context, in io.Reader, out, errs io.Writer) Exit
}

// Transport implements Target.
func (p Pipe) Transport() catalogue.Transport { return catalogue.Stdio }

// Launch implements Launcher.
func (p Pipe) Launch(ctx context.Context) (Carrier, error) {
	c := &pipeCarrier{done: make(chan struct{})}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	c.in, c.out, c.errs = inW, outR, errR
	ctx, c.cancel = context.WithCancel(ctx)
	go func() {
		e := p.Serve(ctx, inR, outW, errW)
		_ = outW.Close()
		_ = errW.Close()
		_ = inR.CloseWithError(io.ErrClosedPipe)
		c.mu.Lock()
		e.Killed = c.killed
		c.exit = e
		c.mu.Unlock()
		c.cancel()
		close(c.done)
	}()
	return c, nil
}

type pipeCarrier struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	errs   *io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	exit   Exit
	killed bool
}

func (c *pipeCarrier) Write(b []byte, deadline time.Time) (int, error) {
	// An io.Pipe has no deadline: end it instead, as a process that does not
	// read is of no further use either.
	t := time.AfterFunc(time.Until(deadline), func() { _ = c.in.CloseWithError(errWriteTimeout) })
	defer t.Stop()
	return c.in.Write(b)
}

func (c *pipeCarrier) CloseInput() error     { return c.in.Close() }
func (c *pipeCarrier) Output() io.Reader     { return c.out }
func (c *pipeCarrier) Errors() io.Reader     { return c.errs }
func (c *pipeCarrier) Done() <-chan struct{} { return c.done }
func (c *pipeCarrier) Terminate()            { c.cancel() }

func (c *pipeCarrier) Kill() {
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	c.cancel()
	_ = c.in.Close()
	_ = c.out.Close()
	_ = c.errs.Close()
}

func (c *pipeCarrier) Exit() Exit {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit
}
