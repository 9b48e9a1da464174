package jsonrpc

// Fork makes one more connection for a carrier whose exchanges each stand
// alone: a stateless request over HTTP. It has no link and a state of its own,
// and shares the chooser, the options, the listeners and the counts of events
// with c, so that it costs little; only c.Close ends the contexts of its
// notification handlers. It need not be closed once its request is answered.
func (c *Conn) Fork() *Conn {
	f := &Conn{ch: c.ch, single: c.single, side: c.side, o: c.o, ev: c.ev, base: c.base, ctx: c.ctx, cancel: func() {}, done: make(chan struct{})}
	f.queue.c = f
	return f
}
