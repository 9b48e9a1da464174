package jsonrpc

import (
	"context"
	"sync"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// receiveBatch takes an array of messages, where the revision has them. The
// requests in it run side by side, their answers leave as one array; where
// nothing is to be answered nothing is sent. Specification: basic/index
// (2025-03-26), and JSON-RPC 2.0, section 6.
func (c *Conn) receiveBatch(ctx context.Context, ex Exchange, data []byte, header map[string][]string) {
	raw, err := wire.ParseRaw(data)
	if err != nil {
		c.examine(ctx, ex, &envelope{data: data, header: header}, err)
		return
	}
	svc := c.Service()
	if svc == nil {
		svc = c.ch.Choose(c, &Peek{Data: data, Header: header})
	}
	var rules *revision.Rules
	if svc != nil {
		rules = svc.rules
	} else {
		rules, _ = revision.For(revision.Latest)
	}
	limit := c.o.maxInFlight()
	var elems []wire.Raw
	for e := range raw.Elems() {
		if len(elems) == limit {
			rules = nil
			break
		}
		elems = append(elems, e)
	}
	var refusal *Error
	switch {
	case rules == nil:
		refusal = &Error{Code: CodeOverloaded, Message: "too many messages in a batch", Data: overloadData}
	case !rules.Batch:
		refusal = Errorf(CodeInvalidRequest, "%s has no batches: send one message at a time", rules.Revision)
	case len(elems) == 0:
		refusal = NewError(CodeInvalidRequest, "an empty batch")
	}
	if refusal != nil {
		c.ev.note(Event{Kind: RefusedBatch, Err: refusal}, data)
		if c.side == ClientSide {
			c.finishExchange(ex)
			return
		}
		c.refuse(ex, &envelope{svc: svc}, refusal)
		return
	}
	b := &batch{ex: ex, open: len(elems)}
	for _, e := range elems {
		c.message(ctx, &batchExchange{b: b}, e, header, b)
	}
	if len(b.later) == 0 { // all is said
		return
	}
	ex.Detach() // now that what follows finds the requests
	for _, run := range b.later {
		go run()
	}
}

// batch collects the answers of an array.
type batch struct {
	ex    Exchange
	later []func() // the handlers, which run side by side
	mu    sync.Mutex
	open  int // messages that are not done with
	out   []byte
}

// batchExchange is the way back of one message of a batch.
type batchExchange struct {
	b    *batch
	once sync.Once
}

func (e *batchExchange) Notify(ctx context.Context, f Frame) error { return e.b.ex.Notify(ctx, f) }

func (e *batchExchange) Detach() { e.b.ex.Detach() }

func (e *batchExchange) Reply(ctx context.Context, f Frame) (err error) {
	e.once.Do(func() {
		b := e.b
		b.mu.Lock()
		if len(f.Data) > 0 {
			sep := byte(',')
			if b.out == nil {
				sep = '['
			}
			b.out = append(append(b.out, sep), f.Data...)
		}
		b.open--
		last := b.open == 0
		b.mu.Unlock()
		if !last {
			return
		}
		if b.out != nil {
			b.out = append(b.out, ']')
		}
		err = b.ex.Reply(ctx, Frame{Data: b.out})
	})
	return err
}
