package jsonrpc

import (
	"context"
	"errors"
)

// Op is one request that passes middleware.
type Op struct {
	Conn   *Conn  // that it came in or goes out on
	Method string // "tools/call"
	// Outgoing: a call of ours. Otherwise it is a request of the peer, of which
	// PeerOf(ctx) knows more: id, headers, metadata, trace context.
	Outgoing bool
}

// Middleware wraps the handling of a request, or the making of a call: for
// spans, counters, limits, access. It calls next with ctx or one made from it,
// once, or refuses by returning an error of its own; next's error, nil for a
// result, a TextStream among them, is what the handler returned or the call came
// to. That may be a ResultError, as where input is required: IsFailure tells it
// from a failure. When a handler panics next does not return. Middleware may be
// called from several goroutines at once, and next has to have returned before it
// does.
type Middleware func(ctx context.Context, op Op, next func(context.Context) error) error

var errNextTwice = errors.New("middleware called next twice")

// through calls last through all of mws, the first outermost.
func through(ctx context.Context, mws []Middleware, op Op, last func(context.Context) error) error {
	if len(mws) == 0 {
		return last(ctx)
	}
	if mws[0] == nil {
		return through(ctx, mws[1:], op, last)
	}
	called := false
	return mws[0](ctx, op, func(inner context.Context) error {
		if called {
			return errNextTwice
		}
		called = true
		return through(inner, mws[1:], op, last)
	})
}

// enter calls the handler of a request through the middleware.
func (in *inbound) enter(e *entry, out []byte) ([]byte, error) {
	if len(in.svc.o.Options.Incoming) == 0 || e == pingEntry {
		return e.call(in, in.params, out)
	}
	return in.enterWrapped(e, out)
}

func (in *inbound) enterWrapped(e *entry, out []byte) ([]byte, error) {
	err := errNoResult // until the handler returns
	var text *TextStream
	goes := false // it does, with the answer
	defer func() {
		if text != nil && !goes {
			in.c.closeStream(in, text)
		}
	}()
	made := through(in, in.svc.o.Options.Incoming, Op{Conn: in.c, Method: in.method}, func(ctx context.Context) error {
		out, err = e.call(ctx, in.params, out)
		if text, _ = errors.AsType[*TextStream](err); text != nil {
			return nil
		}
		return err
	})
	if goes = made == nil; !goes {
		err = made
	}
	return out, err
}

// wrapped reports whether calls of ours pass middleware.
func (c *Conn) wrapped() bool { return c != nil && len(c.o.Outgoing) > 0 }

// leave makes a call through the middleware.
func (c *Conn) leave(ctx context.Context, method string, call func(context.Context) error) error {
	err := errNoCall // until it is made
	made := through(ctx, c.o.Outgoing, Op{Conn: c, Method: method, Outgoing: true}, func(ctx context.Context) error {
		err = call(ctx)
		return err
	})
	if made != nil {
		err = made
	}
	return err
}

var errNoCall = errors.New("middleware neither made the call nor refused it")
