package compat

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file keeps calls: a handler of a stateful revision that calls its client
// in the middle of a request cannot be called again with the answer. So it waits
// in this process while a client of 2026-07-28 is told what is asked, and goes
// on when that client sends the request again.

// What Options leave open.
const (
	defaultKept        = 1024
	defaultKeptTimeout = 5 * time.Minute
)

// keeper holds the kept calls of one server.
type keeper struct {
	sealer  *Sealer
	max     int
	timeout time.Duration
	process [16]byte    // names this keeper in its states
	asOlder *jsonrpc.As // how handlers see their clients

	mu     sync.Mutex
	nextID uint64
	parked map[uint64]*kept // that wait for their next round
	shares shares           // of parked
}

func newKeeper(o Options) *keeper {
	k := &keeper{sealer: o.Sealer, max: o.MaxKept, timeout: o.KeptTimeout, parked: map[uint64]*kept{}}
	k.asOlder = &jsonrpc.As{Revision: older.Revision, Client: k.client}
	if k.sealer == nil {
		k.sealer = ownSealer()
	}
	if k.max <= 0 {
		k.max = defaultKept
	}
	if k.timeout <= 0 {
		k.timeout = defaultKeptTimeout
	}
	_, _ = rand.Read(k.process[:]) // never fails
	return k
}

// kept is one call of a handler that may ask its client. Its requests come one
// after the other; each is a round.
type kept struct {
	k    *keeper
	turn *jsonrpc.Turn
	ctx  context.Context // the handler's
	news chan struct{}   // something was asked
	done chan struct{}   // the handler has returned, with result and err

	result any
	err    error

	// Guarded by keeper.mu.
	id     uint64 // 0 before it was parked
	whose  string // the principal, once it was
	round  uint32
	expire *time.Timer

	mu    sync.Mutex
	count int                  // of questions so far
	asked map[string]*question // that wait for their answer
}

// question is one call of the handler to its client.
type question struct {
	request newer.InputRequest
	accept  func(wire.Raw) error // takes an answer, if it is one
	done    chan struct{}
}

var (
	errNoReturn = errors.New("the client did not come back with what it was asked for")
	errGivenUp  = errors.New("the client gave the request up")
)

// keptKey is where the context of a handler holds its kept call.
type keptKey struct{ k *keeper }

// keep runs a handler whose client may be asked, or goes on with one. in are the
// inputs of the request; run gets the context of the handler.
func keep[R any](ctx context.Context, k *keeper, params any, in inputs, run func(context.Context) (*R, error)) (*R, error) {
	var c *kept
	if in.state == nil {
		c = k.start(ctx, params, func(ctx context.Context) (any, error) { return run(ctx) })
	} else {
		var err error
		if c, err = k.resume(ctx, *in.state, in.responses); err != nil {
			return nil, err
		}
	}
	if need, err := c.wait(ctx); err != nil {
		return nil, err
	} else if need != nil {
		return nil, need
	}
	if p, ok := c.err.(*panicked); ok {
		panic(p) // where the connection tells of it
	}
	r, _ := c.result.(*R)
	return r, c.err
}

// start runs a handler on a goroutine of its own, which ends when the handler
// returns.
func (k *keeper) start(ctx context.Context, params any, run func(context.Context) (any, error)) *kept {
	c := &kept{k: k, news: make(chan struct{}, 1), done: make(chan struct{})}
	c.ctx, c.turn = jsonrpc.Lasting(context.WithValue(ctx, keptKey{k}, c), k.asOlder, params)
	go func() {
		c.err = errors.New("the handler ended its goroutine")
		defer func() {
			if v := recover(); v != nil {
				c.err = &panicked{v, debug.Stack()}
			}
			close(c.done)
			if c.ctx.Err() != nil { // nobody is going to come back for it
				k.remove(c)
			}
		}()
		c.result, c.err = run(c.ctx)
	}()
	return c
}

// panicked is what a handler panicked with, away from the connection's goroutine.
type panicked struct {
	value any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// wait waits for the end of a round: that of the handler, or what is asked.
func (c *kept) wait(ctx context.Context) (*newer.InputRequiredError, error) {
	for {
		select {
		case <-c.done:
			c.turn.Cancel(nil)
			return nil, nil
		case <-ctx.Done():
			c.turn.Cancel(errGivenUp)
			<-c.done
			return nil, jsonrpc.ContextError(ctx)
		case <-c.news:
			need, err := c.park(ctx)
			if err != nil {
				c.turn.Cancel(err)
				<-c.done
				return nil, err
			}
			if need != nil {
				return need, nil
			}
		}
	}
}

// park ends a round with what is asked, if that is still so.
func (c *kept) park(ctx context.Context) (*newer.InputRequiredError, error) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	requests := c.questions()
	if len(requests) == 0 {
		return nil, nil
	}
	if len(k.parked) >= k.max {
		return nil, &jsonrpc.OverloadError{What: "calls kept for their clients", Limit: k.max}
	}
	if !k.shares.free(jsonrpc.Principal(ctx), k.max) {
		return nil, &jsonrpc.OverloadError{What: "calls kept for one principal", Limit: share(k.max)}
	}
	if c.id == 0 {
		k.nextID++
		c.id = k.nextID
	}
	name := binary.BigEndian.AppendUint64(k.process[:len(k.process):len(k.process)], c.id)
	state, err := k.sealer.seal(ctx, "kept call", binary.BigEndian.AppendUint32(name, c.round+1))
	if err != nil {
		return nil, err
	}
	c.round++
	c.whose = jsonrpc.Principal(ctx)
	c.turn.End()
	k.hold(c)
	return newer.NewInputRequiredError(requests, &state), nil
}

// hold parks a call, as long as its client may take. k.mu is held.
func (k *keeper) hold(c *kept) {
	k.parked[c.id] = c
	k.shares.add(c.whose, 1)
	c.expire = time.AfterFunc(k.timeout, func() {
		if k.remove(c) {
			c.turn.Cancel(errNoReturn)
		}
	})
}

// remove takes a call out of the parked ones. It reports whether it was there.
func (k *keeper) remove(c *kept) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.parked[c.id] != c {
		return false
	}
	k.take(c)
	return true
}

// take takes a call that is parked. k.mu is held.
func (k *keeper) take(c *kept) {
	delete(k.parked, c.id)
	k.shares.add(c.whose, -1)
	c.expire.Stop()
}

// resume finds the call that a state names and gives the answers to its handler.
// A state is good for one round: whoever gives an old one back is refused.
func (k *keeper) resume(ctx context.Context, state string, responses newer.InputResponses) (*kept, error) {
	b, err := k.sealer.open(ctx, "kept call", state)
	if err != nil {
		return nil, err
	}
	n := len(k.process)
	if len(b) != n+12 || [16]byte(b[:n]) != k.process {
		return nil, errState("kept by another process")
	}
	id, round := binary.BigEndian.Uint64(b[n:]), binary.BigEndian.Uint32(b[n+8:])
	k.mu.Lock()
	c := k.parked[id]
	if c == nil || c.round != round {
		k.mu.Unlock()
		return nil, errState("its call is over, or in another round")
	}
	k.take(c) // nobody else gets it
	k.mu.Unlock()
	if err := c.answer(responses, func() { c.turn.Begin(ctx) }); err != nil { // the call waits on
		k.mu.Lock()
		defer k.mu.Unlock()
		if c.over() { // while it was not parked, so that nobody took it out
			c.turn.Cancel(nil)
			return nil, errState("its call is over")
		}
		k.hold(c)
		return nil, err
	}
	return c, nil
}

// over reports whether the handler has returned or is about to.
func (c *kept) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return c.ctx.Err() != nil
	}
}

// answer gives answers to the handler, once begin has been called. Without one
// that is good for what was asked, nothing happens. What is left is asked again.
func (c *kept) answer(responses newer.InputResponses, begin func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var answered []string
	for key, q := range c.asked {
		r, ok := responses[key]
		if !ok {
			continue
		}
		if err := q.accept(r.Raw); err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("params.inputResponses[%q]: %v", key, err), Cause: err}
		}
		answered = append(answered, key)
	}
	begin()
	for _, key := range answered {
		close(c.asked[key].done)
		delete(c.asked, key)
	}
	if len(c.asked) > 0 {
		c.tell()
	}
	return nil
}

// questions are what is asked at the moment.
func (c *kept) questions() newer.InputRequests {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := make(newer.InputRequests, len(c.asked))
	for key, q := range c.asked {
		requests[key] = q.request
	}
	return requests
}

func (c *kept) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// ask puts a question to the client, for the handler, and waits for the answer.
func (c *kept) ask(ctx context.Context, kind string, request newer.InputRequest, accept func(wire.Raw) error) error {
	q := &question{request: request, accept: accept, done: make(chan struct{})}
	c.mu.Lock()
	c.count++
	key := fmt.Sprintf("%s-%d", kind, c.count)
	if c.asked == nil {
		c.asked = map[string]*question{}
	}
	c.asked[key] = q
	c.mu.Unlock()
	c.tell()
	var err error
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		err = jsonrpc.ContextError(ctx)
	case <-c.ctx.Done():
		err = jsonrpc.ContextError(c.ctx)
	}
	c.mu.Lock()
	delete(c.asked, key)
	c.mu.Unlock()
	return err
}
