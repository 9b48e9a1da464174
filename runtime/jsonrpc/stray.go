package jsonrpc

import "errors"

// Stray takes an answer that a carrier read where the answer to its request
// cannot come: on the stream of another call. It is counted by its kind, as an
// answer that nobody waits for, and answers no call. Batches and texts that are
// no answers are taken for unknown answers.
func (c *Conn) Stray(f Frame) {
	c.received.Add(1)
	id, _, _ := headOf(f.Data)
	n, exact := id.Int()
	c.mu.Lock()
	waiting := exact && c.calls[n] != nil
	c.mu.Unlock()
	if waiting {
		c.ev.note(Event{Kind: UnknownAnswer, ID: id, Err: errOtherStream}, f.Data)
		return
	}
	c.stray(&envelope{data: f.Data, id: id}, errOtherStream)
}

var errOtherStream = errors.New("it came on the stream of another request")
