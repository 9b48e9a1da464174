package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The methods that the connection knows itself.
const (
	methodInitialize   = "initialize"
	methodPing         = "ping"
	methodDiscover     = "server/discover"
	methodListen       = "subscriptions/listen"
	methodCallTool     = "tools/call"
	methodSetLevel     = "logging/setLevel"
	methodSubscribe    = "resources/subscribe"
	methodInitialized  = "notifications/initialized"
	methodCancelled    = "notifications/cancelled"
	methodProgress     = "notifications/progress"
	methodMessage      = "notifications/message"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
)

// envelope is one message, as far as it is read.
type envelope struct {
	data   []byte
	header map[string][]string
	batch  *batch // that it is part of, nil for none
	peek   Peek

	id      ID
	method  string
	svc     *Service
	entry   *entry
	params  wire.Raw // as it came, unless decoded
	decoded any      // params, by the entry's decoder
	call    *call    // the one that a result answers, taken out of the pending ones
	// problems is what was passed over in the message.
	problems []wire.Problem
	result   wire.Raw // as it came, unless the call decoded it
	rpcErr   *Error
	has      members
}

// members is a set of envelope members.
type members uint8

const (
	hasVersion members = 1 << iota
	hasID
	hasMethod
	hasParams
	hasResult
	hasError
	hasDecoded // params or result were decoded in place
)

var decs = sync.Pool{New: func() any { return new(wire.Dec) }}

// scratch is what reading a message needs for as long as that takes.
type scratch struct {
	d   wire.Dec
	env envelope
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// Receive takes one frame from the carrier, on the goroutine that read it.
func (c *Conn) Receive(ctx context.Context, ex Exchange, f Frame) {
	c.received.Add(1)
	data := f.Data
	if f.Err != nil && !(errors.Is(f.Err, ErrTruncated) && c.whole(data)) {
		c.badFrame(ex, f)
		return
	}
	if !f.Owned {
		data = bytes.Clone(data)
	}
	if c.State() == Closed {
		c.finishExchange(ex)
		return
	}
	for _, b := range data {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '[':
			c.receiveBatch(ctx, ex, data, f.Header)
			return
		}
		break
	}
	c.message(ctx, ex, data, f.Header, nil)
}

// whole reports whether a text that the carrier's end may have cut is all
// there.
func (c *Conn) whole(data []byte) bool {
	_, err := wire.ParseRaw(data)
	return err == nil
}

// finishExchange ends an exchange that gets no answer.
func (c *Conn) finishExchange(ex Exchange) {
	if ex != nil {
		_ = ex.Reply(c.ctx, Frame{})
	}
}

// message reads one message and acts on it. The usual form is read in one
// pass; whatever that stumbles over is looked at again, slowly and in full, to
// find out what to answer.
func (c *Conn) message(ctx context.Context, ex Exchange, data []byte, header map[string][]string, of *batch) {
	s := scratches.Get().(*scratch)
	env := &s.env
	env.data, env.header, env.batch = data, header, of
	s.d.Reset(data, wire.Options{Lenient: c.side == ClientSide, Alias: true, MaxDepth: c.o.MaxDepth})
	err := c.read(&s.d, env)
	if err == nil {
		err = s.d.End()
		env.problems = s.d.Skipped()
	}
	s.d.Reset(nil, wire.Options{})
	kind := members(0)
	if err == nil {
		kind = env.has &^ hasDecoded
	}
	switch kind {
	case hasVersion | hasID | hasMethod | hasParams, hasVersion | hasID | hasMethod:
		// A handler may take its time: what it needs is taken along.
		in, e := c.request(ctx, ex, env)
		s.env = envelope{}
		scratches.Put(s)
		c.handle(e, in, of)
		return
	case hasVersion | hasMethod | hasParams, hasVersion | hasMethod:
		c.notification(ex, env)
	case hasVersion | hasID | hasResult, hasVersion | hasID | hasError:
		c.response(env, nil)
		c.finishExchange(ex)
	default:
		c.examine(ctx, ex, env, err)
	}
	s.env = envelope{}
	scratches.Put(s)
}

var errEnvelope = errors.New("not a valid envelope")

// read is the one pass over a message. It stops at the first thing that is
// not as usual.
func (c *Conn) read(d *wire.Dec, env *envelope) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			return nil
		}
		var m members
		switch string(k) {
		case "jsonrpc":
			m = hasVersion
		case "id":
			m = hasID
		case "method":
			m = hasMethod
		case "params":
			m = hasParams
		case "result":
			m = hasResult
		case "error":
			m = hasError
		default: // an unknown member is ignored
			if _, err := d.Raw(); err != nil {
				return err
			}
			continue
		}
		if env.has&m != 0 {
			return d.Dup()
		}
		env.has |= m
		switch m {
		case hasVersion:
			err = d.Const("2.0")
		case hasID:
			err = env.id.DecodeJSON(d)
		case hasMethod:
			env.method, err = d.Str()
		case hasParams:
			err = c.readParams(d, env)
		case hasResult:
			err = c.readResult(d, env)
		case hasError:
			env.rpcErr = &Error{Remote: true}
			err = env.rpcErr.DecodeJSON(d)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Conn) readParams(d *wire.Dec, env *envelope) (err error) {
	if c.side == ServerSide && env.has&hasMethod != 0 {
		if env.svc = c.choose(env); env.svc != nil {
			if e := env.svc.entries[env.method]; e != nil && e.call != nil {
				env.entry = e
				env.decoded, err = e.decode(d)
				env.has |= hasDecoded
				return err
			}
		}
	}
	env.params, err = d.RawObject()
	return err
}

func (c *Conn) readResult(d *wire.Dec, env *envelope) (err error) {
	if c.side == ClientSide && env.has&(hasID|hasMethod|hasError) == hasID {
		if env.call = c.take(env.id); env.call != nil && env.call.result != nil {
			env.has |= hasDecoded
			return env.call.result.DecodeJSON(d)
		}
	}
	env.result, err = d.RawObject()
	return err
}

// choose picks the service for a message.
func (c *Conn) choose(env *envelope) *Service {
	if c.single != nil {
		return c.single
	}
	env.peek = Peek{Data: env.data, Method: env.method, Header: env.header}
	return c.ch.Choose(c, &env.peek)
}

// DecodeJSON reads the error member of an answer.
func (e *Error) DecodeJSON(d *wire.Dec) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	var seen, need uint64 = 0, 3
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		switch string(k) {
		case "code":
			if seen&1 != 0 {
				return d.Dup()
			}
			seen |= 1
			e.Code, err = d.Int()
		case "message":
			if seen&2 != 0 {
				return d.Dup()
			}
			seen |= 2
			e.Message, err = d.Str()
		case "data":
			if seen&4 != 0 {
				return d.Dup()
			}
			seen |= 4
			e.Data, err = d.Raw()
		default:
			err = e.Extra.Take(d, k)
		}
		if err != nil {
			return err
		}
	}
	if seen&need != need {
		return d.Require(seen, need, errorMembers)
	}
	return nil
}

var errorMembers = []string{"code", "message"}

// AppendJSON appends the error member of an answer. A nil error is an internal
// one.
func (e *Error) AppendJSON(b []byte) []byte {
	if e == nil {
		e = &Error{Code: CodeInternalError, Message: "internal error"}
	}
	b = append(b, `{"code":`...)
	b = wire.AppendInt(b, e.Code)
	b = append(b, `,"message":`...)
	b = wire.AppendString(b, e.Message)
	if e.Data != nil {
		b = append(b, `,"data":`...)
		b = wire.AppendRaw(b, e.Data)
	}
	b = wire.AppendMembers(b, e.Extra, func(name string) bool { return name == "code" || name == "message" || name == "data" })
	return append(b, '}')
}

// badFrame deals with what the carrier could not read in full. When the start
// tells whom it was meant for, that request or call fails now and not by its
// timeout.
func (c *Conn) badFrame(ex Exchange, f Frame) {
	kind := Truncated
	if errors.Is(f.Err, ErrTooLong) {
		kind = TooLong
	}
	id, method, response := headOf(f.Data)
	c.ev.note(Event{Kind: kind, Method: method, ID: id, Err: f.Err}, f.Data)
	switch {
	case response:
		if w := c.take(id); w != nil {
			c.complete(w, &CallError{Method: w.method, ID: id, Stage: StageDecode, Err: f.Err}, true)
		}
		c.finishExchange(ex)
	case kind == Truncated || method != "" && id.IsZero():
		c.finishExchange(ex) // there is nobody to answer
	case c.side == ClientSide && (method == "" || !c.answers(&envelope{data: f.Data, header: f.Header, id: id, method: method, svc: c.Service()})):
		c.finishExchange(ex) // a client answers requests and nothing else
	default:
		c.refuse(ex, &envelope{id: id, method: method}, NewError(CodeInvalidRequest, f.Err.Error()))
	}
}

// headOf reads what it can from the start of a message.
func headOf(data []byte) (id ID, method string, response bool) {
	d := decs.Get().(*wire.Dec)
	defer func() {
		d.Reset(nil, wire.Options{})
		decs.Put(d)
	}()
	d.Reset(data, wire.Options{})
	if d.ObjBegin() != nil {
		return
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return id, method, response
		}
		switch string(k) {
		case "id":
			err = id.DecodeJSON(d)
		case "method":
			method, err = d.Str()
		case "result", "error":
			return id, method, true
		default:
			_, err = d.Raw()
		}
		if err != nil {
			return id, method, response
		}
	}
}

// examine looks at a message that the one pass refused, and answers or counts
// it. An answer is never answered; a notification is never answered; the rest
// gets an error with its id where that can be read. Specification: basic/index,
// and JSON-RPC 2.0, sections 4 to 5.1.
func (c *Conn) examine(ctx context.Context, ex Exchange, env *envelope, first error) {
	raw, err := wire.ParseRaw(env.data)
	if err == nil {
		if errors.Is(first, wire.ErrDepth) || errors.Is(first, wire.ErrLimit) {
			err = first
		}
	}
	if err != nil {
		if env.call != nil {
			c.complete(env.call, &CallError{Method: env.call.method, ID: env.id, Stage: StageDecode, Err: err}, true)
		}
		id, method, response := headOf(env.data)
		c.ev.note(Event{Kind: BadJSON, Method: method, ID: id, Err: err}, env.data)
		code := CodeParseError
		if errors.Is(err, wire.ErrDepth) || errors.Is(err, wire.ErrLimit) {
			code = CodeInvalidRequest
		} else {
			id = ID{} // nothing in a text that is not JSON can be relied on
		}
		if response || c.side == ClientSide {
			c.finishExchange(ex)
			return
		}
		c.refuse(ex, &envelope{id: id, method: method, header: env.header}, Errorf(code, "%w", err))
		return
	}
	if raw.Kind() != wire.KindObject {
		c.ev.note(Event{Kind: InvalidMessage, Err: errEnvelope}, env.data)
		if c.side == ClientSide {
			c.finishExchange(ex)
			return
		}
		c.refuse(ex, &envelope{header: env.header}, NewError(CodeInvalidRequest, "a message is an object"))
		return
	}

	// Read the members again, each on its own, and collect what is wrong.
	again := &envelope{data: env.data, header: env.header, batch: env.batch, call: env.call}
	var wrong error
	blame := func(format string, args ...any) {
		if wrong == nil {
			wrong = fmt.Errorf(format, args...)
		}
	}
	var version, id, method, params, result, rpcErr wire.Raw
	for name, v := range raw.Members() {
		var at *wire.Raw
		switch name {
		case "jsonrpc":
			at = &version
		case "id":
			at = &id
		case "method":
			at = &method
		case "params":
			at = &params
		case "result":
			at = &result
		case "error":
			at = &rpcErr
		default:
			continue
		}
		if *at != nil {
			blame("%s: comes twice", name)
			continue
		}
		*at = v
	}
	if s, ok := version.Str(); !ok || s != "2.0" {
		blame(`jsonrpc: want "2.0"`)
	}
	if id != nil {
		var ok bool
		if again.id, ok = idOf(id); !ok {
			blame("id: want a string or an integer")
		}
	}
	if method == nil && (result != nil || rpcErr != nil) {
		again.result = result
		switch {
		case result != nil && rpcErr != nil:
			blame("both result and error")
		case result != nil && result.Kind() != wire.KindObject:
			blame("result: want an object")
		case rpcErr != nil:
			again.rpcErr = &Error{Remote: true}
			if err := wire.Decode(rpcErr, wire.Options{Lenient: true}, again.rpcErr); err != nil {
				blame("%w", wire.Under("error", err))
			}
		}
		if id == nil || id.Kind() == wire.KindNull {
			c.ev.note(Event{Kind: UnreadableAnswer, Err: errors.Join(wrong, errOrNil(again.rpcErr))}, env.data)
			if e := again.rpcErr; e != nil && e.Code != 0 && result == nil {
				if w := c.onlyHandshake(); w != nil { // there is nothing else that it can be about
					c.notes().answer(w, e)
				}
			}
		} else {
			if wrong == nil && again.call != nil {
				wrong = first // the result itself did not decode
			}
			c.response(again, wrong)
		}
		c.finishExchange(ex)
		return
	}
	if env.call != nil { // the id came with a result at first sight, then with a method
		c.complete(env.call, &CallError{Method: env.call.method, ID: env.id, Stage: StageDecode, Err: errEnvelope}, true)
		again.call = nil
	}
	var named bool
	if again.method, named = method.Str(); !named {
		blame("method: want a string")
	}
	if params != nil && params.Kind() != wire.KindObject {
		blame("params: want an object")
	}
	if result != nil || rpcErr != nil {
		blame("both method and result or error")
	}
	again.params = params
	if wrong == nil {
		if id == nil {
			c.notification(ex, again)
		} else {
			in, e := c.request(ctx, ex, again)
			c.handle(e, in, env.batch)
		}
		return
	}
	c.ev.note(Event{Kind: InvalidMessage, Method: again.method, ID: again.id, Err: wrong}, env.data)
	if id == nil && named { // a notification
		c.finishExchange(ex)
		return
	}
	if c.side == ClientSide && (!named || !c.answers(again)) {
		c.finishExchange(ex)
		return
	}
	c.refuse(ex, again, Errorf(CodeInvalidRequest, "%w", wrong))
}

// answers reports whether a client answers requests at all.
func (c *Conn) answers(env *envelope) bool {
	svc := env.svc
	if svc == nil {
		svc = c.choose(env)
	}
	return svc == nil || c.side == ServerSide || svc.rules.ServerRequests
}

// onlyHandshake takes the request that opens a connection out of the pending
// ones, if it is all that waits.
func (c *Conn) onlyHandshake() *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != 1 || c.side != ClientSide {
		return nil
	}
	for id, w := range c.calls {
		if w.method == methodDiscover || w.method == methodInitialize {
			return c.takeLocked(id)
		}
	}
	return nil
}

func errOrNil(e *Error) error {
	if e == nil {
		return nil
	}
	return e
}

// request prepares a valid request for its handler. The result is nil when the
// request is answered already.
func (c *Conn) request(ctx context.Context, ex Exchange, env *envelope) (*inbound, *entry) {
	if env.svc == nil {
		env.svc = c.choose(env)
	}
	if !c.usual(env) && !c.admitted(ex, env) {
		return nil, nil
	}
	svc := env.svc
	in := &inbound{parent: ctx, c: c, svc: svc, ex: ex, id: env.id, method: env.method, header: env.header, data: env.data}
	if env.method == methodListen && svc.rules.Listen && svc.o.Side == ServerSide && svc.o.Relay == nil {
		in.lasts()
	}
	if err := c.register(in); err != nil {
		c.unregistered(ex, env, in, err)
		return nil, nil
	}
	var e *entry
	var err *Error
	if x, ok := ex.(Expecting); ok {
		err = x.Expect(env.method, env.decoded)
	}
	if err == nil {
		e, err = c.prepare(in, env)
	}
	if err != nil {
		c.unprepared(in, err)
		return nil, nil
	}
	return in, e
}

// lasts makes a request one to listen.
func (in *inbound) lasts() {
	in.listen = &listenStream{in: in} // from the start, for whoever cancels it
	in.method = methodListen          // which no message holds
}

// usual reports whether a request is one of those that admitted lets through: most
// are, and that is quickly seen.
func (c *Conn) usual(env *envelope) bool {
	return env.svc != nil && c.side == ServerSide && c.State() == Ready && env.method != methodInitialize && !env.id.tooLong()
}

// admitted reports whether a request is one that this side answers now. It
// answers the request itself when it is not.
func (c *Conn) admitted(ex Exchange, env *envelope) bool {
	if !c.answers(env) {
		c.ev.note(Event{Kind: RefusedRequest, Method: env.method, ID: env.id, Err: &DirectionError{env.method, env.svc.o.Revision, ServerSide}}, env.data)
		c.finishExchange(ex)
		return false
	}
	if env.id.tooLong() {
		c.ev.note(Event{Kind: InvalidMessage, Method: env.method, Err: errLongID}, env.data)
		c.refuse(ex, env, Errorf(CodeInvalidRequest, "%w", errLongID))
		return false
	}
	if err := c.admit(env); err != nil {
		c.ev.note(Event{Kind: RefusedRequest, Method: env.method, ID: env.id, Err: err}, env.data)
		c.refuse(ex, env, err)
		return false
	}
	if env.svc == nil {
		c.refuse(ex, env, methodNotFound(env.method))
		return false
	}
	return true
}

// unregistered refuses a request that there is no place for.
func (c *Conn) unregistered(ex Exchange, env *envelope, in *inbound, err *Error) {
	c.uninitialized(in)
	kind := RefusedRequest
	if err.Code == CodeInvalidRequest {
		kind = DuplicateRequest
	}
	c.ev.note(Event{Kind: kind, Method: env.method, ID: env.id, Err: err}, env.data)
	c.refuse(ex, env, err)
}

// unprepared answers a request that does not get to its handler.
func (c *Conn) unprepared(in *inbound, err *Error) {
	c.uninitialized(in)
	in.inline = c.side == ClientSide
	buf := getBuf()
	buf.b = AppendError(buf.b, in.id, false, err)
	c.end(in, buf, err.Code)
}

// handle runs the handler of a request, if there is one to handle, here or on a
// goroutine of its own. One of a batch waits until the whole batch is read.
func (c *Conn) handle(e *entry, in *inbound, of *batch) {
	switch {
	case in == nil:
	case of != nil:
		of.later = append(of.later, func() { c.handle(e, in, nil) })
	case in.listen != nil:
		in.listen.start()
	case e == relayEntry && in.method == methodListen: // it lasts, and whoever read it has to see the end of it
		in.ex.Detach()
		go c.run(e, in)
	case c.side == ClientSide && e == pingEntry:
		in.inline = true
		c.run(e, in)
	case c.side == ClientSide:
		// A client's reading goroutine may be a caller that waits for its
		// own answer: handlers run beside it.
		in.ex.Detach()
		c.notes().request(func() { go c.run(e, in) })
	case e.blocking:
		in.ex.Detach()
		c.run(e, in)
	default:
		c.run(e, in)
	}
}

func methodNotFound(method string) *Error {
	return Errorf(CodeMethodNotFound, "method not found: %s", clip(method, maxEcho))
}

// What of a message its refusal repeats, in bytes. A peer cannot make us answer
// more than a bounded multiple of what it sends.
const (
	maxEcho = 200  // of a method's name, or an id in a text
	maxText = 1024 // of a text
)

// clip cuts a text that the peer wrote.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// admit holds what the state of the connection asks of a request.
// Specification: basic/lifecycle, which leaves open how a request before
// initialize is refused.
func (c *Conn) admit(env *envelope) *Error {
	state := c.State()
	svc := env.svc
	if (state == Draining || state == Closed) && !(env.method == methodPing && svc != nil && svc.rules.Ping) {
		return NewError(CodeShuttingDown, "shutting down")
	}
	if c.side == ClientSide || svc == nil {
		return nil
	}
	if svc.rules.Stateless {
		// Where several eras are served a request like this says nothing about
		// the session: the client may still be finding out what to speak.
		if state == Connecting && svc == c.single {
			c.mu.Lock()
			_ = c.transition(env.method, Ready)
			c.mu.Unlock()
		}
		return nil
	}
	switch env.method {
	case methodPing:
		return nil
	case methodInitialize:
		if env.batch != nil {
			return NewError(CodeInvalidRequest, "initialize must not be part of a batch")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.transition(methodInitialize, Initializing) != nil || c.opened.Load() {
			return Errorf(CodeInvalidRequest, "initialize: the connection is %s", state)
		}
		return nil
	}
	if state == Ready || state == Initializing && (svc.o.Relay != nil || c.opened.Load() && !c.o.WaitInitialized) {
		return nil
	}
	return Errorf(CodeInvalidRequest, "%s: the connection is not initialized (%s)", clip(env.method, maxEcho), state)
}

// register counts a request among the running ones.
func (c *Conn) register(in *inbound) *Error {
	c.mu.Lock()
	var err *Error
	if c.side == ClientSide || c.handling.Load() > 0 || !c.inflight.empty() { // a server's only one has a place
		err = c.placeFor(in)
	}
	if err == nil {
		c.inflight.add(in)
		c.handling.Add(1)
		if c.early != nil {
			c.cancelEarly(in)
		}
	}
	c.mu.Unlock()
	return err
}

// placeFor holds what bounds the running requests. c.mu is held.
func (c *Conn) placeFor(in *inbound) *Error {
	if c.inflight.get(in.id) != nil {
		return Errorf(CodeInvalidRequest, "id %s is in use by a request that is still running", clip(in.id.String(), maxEcho))
	}
	ping, relayed := in.svc.pings(in.method), in.svc.o.Relay != nil
	// Those whose answer waits to be written count as well.
	if n, limit := int(c.handling.Load()), c.o.maxInFlight(); n >= limit &&
		(!ping || relayed && n >= 2*limit) { // a relay's pings wait for somebody
		return overloaded("too many requests in flight")
	}
	if c.side == ClientSide && !c.ask(len(in.data), ping && !relayed) {
		return overloaded("too many bytes of requests in flight")
	}
	return nil
}

// ask takes the bytes of a server's request from what those may hold, always for
// one that is answered at once. c.mu is held.
func (c *Conn) ask(size int, always bool) bool {
	if c.own == nil {
		c.own = new(calling)
	}
	if !always && c.own.asked > 0 && c.own.asked+size > maxAsked {
		return false
	}
	c.own.asked += size
	return true
}

// cancelEarly cancels a request whose cancellation came first. c.mu is held.
func (c *Conn) cancelEarly(in *inbound) {
	if reason, ok := c.early.take(in.id); ok && in.method != methodInitialize {
		in.cancel(reason) // nobody waits for its context yet
	}
}

func overloaded(why string) *Error {
	return &Error{Code: CodeOverloaded, Message: why, Data: overloadData}
}

var overloadData = wire.Raw(fmt.Sprintf(`{"retryAfterMs":%d}`, overloadRetryMillis))

// prepare finds the handler and decodes the params. In stateless revisions the
// order is that of the revision: _meta complete, version supported, method
// exists, params.
func (c *Conn) prepare(in *inbound, env *envelope) (*entry, *Error) {
	if len(in.data) > maxHandshake && in.opens() {
		if n := len(wire.Raw(in.data).Get("params")); n > maxHandshake {
			return nil, Errorf(CodeInvalidParams, "params: %d bytes, more than the %d of a handshake", n, maxHandshake)
		}
	}
	if in.svc.o.Relay != nil {
		return relayEntry, nil
	}
	e := env.entry
	if e == nil || in.listen != nil || e.embedded() {
		return c.prepareRaw(in, env)
	}
	in.params = env.decoded
	return e, in.checkParams(e)
}

// prepareRaw prepares a request whose params were not decoded when it was read, or
// not for its handler.
func (c *Conn) prepareRaw(in *inbound, env *envelope) (*entry, *Error) {
	svc := in.svc
	e := svc.entries[in.method]
	if e != nil && (e.call == nil || e.embedded()) {
		e = nil // with an id it is no request
	}
	if in.standsAlone() && env.has&hasDecoded == 0 {
		if err := c.checkMeta(svc, in.method, env.params); err != nil {
			return nil, err
		}
	}
	switch {
	case in.listen != nil:
		in.params = env.params
		return nil, c.prepareSafely(in, env.params)
	case svc.pings(in.method):
		return pingEntry, nil
	case e == nil && svc.o.Unknown != nil && svc.methods[in.method] == nil:
		in.params = env.params
		return svc.unknown(), nil
	case e == nil:
		return nil, methodNotFound(in.method)
	case env.params != nil:
		p, err := decodeParams(e, env.params, c.o.MaxDepth)
		if err != nil {
			return nil, invalidParams(err)
		}
		in.params = p
	case e.required:
		return nil, Errorf(CodeInvalidParams, "%s: params are required", in.method)
	}
	return e, in.checkParams(e)
}

// standsAlone reports whether the request of a server's client is one of a
// stateless revision.
func (in *inbound) standsAlone() bool {
	return in.svc.rules.Stateless && in.svc.o.Side == ServerSide
}

// checkParams holds what the revision asks of params besides that they are
// decoded.
func (in *inbound) checkParams(e *entry) *Error {
	if e.check != nil {
		return e.check(in)
	}
	if !in.standsAlone() {
		return nil
	}
	m := in.metadata()
	if in.params != nil && m.ProtocolVersion != in.svc.o.Revision {
		return unsupportedVersion(in.svc, m.ProtocolVersion)
	}
	if m.LogLevel != "" && levelRank(m.LogLevel) < 0 {
		return Errorf(CodeInvalidParams, "params._meta[%q]: no such log level", metaLogLevel)
	}
	in.token, in.tokenSet = m.ProgressToken, true
	return in.mustDeclare(e.declares...)
}

// checks are what the revisions with sessions ask of the params of a method
// besides.
var checks = map[string]func(*inbound) *Error{
	// server/utilities/logging: an unknown level is invalid params.
	methodSetLevel: func(in *inbound) *Error {
		level := wire.Raw(in.data).Get("params").Get("level")
		if s, ok := level.Str(); ok && levelRank(s) < 0 {
			return Errorf(CodeInvalidParams, "params.level: no such log level: %s", clip(s, maxEcho))
		}
		return nil
	},
	// Here, so that the handler does not begin what would not be kept.
	methodSubscribe: func(in *inbound) *Error {
		if uri, ok := wire.Raw(in.data).Get("params").Get("uri").Str(); ok {
			return in.c.subscribable(uri)
		}
		return nil
	},
}

// prepareSafely is prepareListen with what the user's AllowURI may do: panic,
// or end its goroutine.
func (c *Conn) prepareSafely(in *inbound, params wire.Raw) (err *Error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err, _ = in.errorOf(c.panicked(in, v))
		} else if !returned {
			buf := getBuf()
			c.end(in, buf, c.fail(in, buf, c.panicked(in, errGoexit)))
		}
	}()
	err = c.prepareListen(in, params)
	returned = true
	return err
}

// checkMeta holds that _meta is complete and names a version that is
// supported. Specification: basic/index, basic/versioning (2026-07-28).
func (c *Conn) checkMeta(svc *Service, method string, params wire.Raw) *Error {
	meta := params.Get("_meta")
	version := meta.Get(metaVersion)
	missing := func(what string) *Error {
		if method == methodInitialize && version == nil {
			// The handshake of an older revision. Whoever asks learns what
			// is spoken here.
			asked, _ := params.Get("protocolVersion").Str()
			return unsupportedVersion(svc, asked)
		}
		return Errorf(CodeInvalidParams, "%s: %s", clip(method, maxEcho), what)
	}
	switch {
	case params == nil:
		return missing("params: missing")
	case meta == nil:
		return missing("params._meta: missing")
	case meta.Kind() != wire.KindObject:
		return missing("params._meta: want an object")
	case version == nil:
		return missing(fmt.Sprintf("params._meta[%q]: missing", metaVersion))
	}
	asked, ok := version.Str()
	if !ok {
		return missing(fmt.Sprintf("params._meta[%q]: want a string", metaVersion))
	}
	switch k := meta.Get(metaCapabilities).Kind(); k {
	case wire.KindObject:
	case wire.KindNone:
		return missing(fmt.Sprintf("params._meta[%q]: missing", metaCapabilities))
	default:
		return missing(fmt.Sprintf("params._meta[%q]: want an object", metaCapabilities))
	}
	if asked != svc.o.Revision {
		return unsupportedVersion(svc, asked)
	}
	return nil
}

func unsupportedVersion(svc *Service, asked string) *Error {
	data := append([]byte(nil), `{"supported":[`...)
	for i, v := range svc.o.Supported {
		if i > 0 {
			data = append(data, ',')
		}
		data = wire.AppendString(data, v)
	}
	data = append(data, `],"requested":`...)
	data = append(wire.AppendString(data, clip(asked, maxEcho)), '}')
	return &Error{Code: CodeUnsupportedProtocolVersion, Message: "unsupported protocol version", Data: data}
}

func decodeParams(e *entry, params wire.Raw, depth int) (any, error) {
	d := decs.Get().(*wire.Dec)
	d.Reset(params, wire.Options{Alias: true, MaxDepth: depth})
	p, err := e.decode(d)
	d.Reset(nil, wire.Options{})
	decs.Put(d)
	return p, wire.Under("params", err)
}

func invalidParams(err error) *Error {
	return &Error{Code: CodeInvalidParams, Message: clip("invalid params: "+err.Error(), maxText), Cause: err}
}

// pings reports whether a method is a ping that the connection answers itself,
// without a handler: at once, and even when a bound is reached.
func (s *Service) pings(method string) bool {
	return method == methodPing && s.rules.Ping && s.entries[methodPing] == nil
}

var pingEntry = &entry{name: methodPing, call: func(_ context.Context, _ any, out []byte) ([]byte, error) { return append(out, "{}"...), nil }}

// unknown is the entry of requests that nobody registered.
func (s *Service) unknown() *entry {
	return &entry{call: func(ctx context.Context, params any, out []byte) ([]byte, error) {
		in := inboundOf(ctx)
		raw, _ := params.(wire.Raw)
		r, err := s.o.Unknown(ctx, in.method, raw)
		if err != nil {
			return out, err
		}
		if r.Kind() != wire.KindObject {
			return out, errNoResult
		}
		n := len(out)
		out = wire.AppendRaw(out, r)
		if err := badResult(out[n:], nil); err != nil {
			return out, err
		}
		if s.info != nil {
			out = addMeta(out, n, metaServerInfo, s.info, false)
		}
		return out, nil
	}}
}

// buffer holds a message that is being written.
type buffer struct{ b []byte }

var bufs = sync.Pool{New: func() any { return new(buffer) }}

const maxPooled = 64 << 10

func getBuf() *buffer {
	buf := bufs.Get().(*buffer)
	buf.b = buf.b[:0]
	return buf
}

func putBuf(buf *buffer) {
	if cap(buf.b) <= maxPooled {
		bufs.Put(buf)
	}
}

// run runs a handler and answers with what it returns, whatever it does. Methods
// of an error that the handler made run in here as well: a nil pointer in an
// error is common.
func (c *Conn) run(e *entry, in *inbound) {
	buf := getBuf()
	var code int64
	returned := false
	defer func() {
		if !returned {
			v := recover()
			if v == nil { // it ended its goroutine (a test's FailNow does)
				v = errGoexit
			}
			code = c.fail(in, buf, c.panicked(in, v))
		}
		c.end(in, buf, code)
	}()
	code = c.answer(e, in, buf)
	returned = true
}

var errGoexit = errors.New("the handler called runtime.Goexit")

// answer calls the handler and writes the answer into buf. It returns the
// code of the error that it holds, 0 for none.
func (c *Conn) answer(e *entry, in *inbound, buf *buffer) (code int64) {
	if e == relayEntry {
		return c.relayRequest(in, buf)
	}
	out := append(buf.b, `{"jsonrpc":"2.0","id":`...)
	out = in.id.AppendJSON(out)
	out = append(out, `,"result":`...)
	start := len(out)
	out, err := in.enter(e, out)
	if err != nil {
		out, err = c.answerTo(in, out, start, err)
	}
	buf.b = out
	switch {
	case err != nil:
		return c.fail(in, buf, err)
	case in.stream != nil: // which writes the rest
		return 0
	}
	buf.b = append(out, '}')
	if in.method == methodInitialize {
		c.initialized(in)
	}
	return 0
}

// answerTo puts the result that an error of a handler stands for at out[start:],
// or returns the error.
func (c *Conn) answerTo(in *inbound, out []byte, start int, err error) ([]byte, error) {
	if in.method == methodCallTool && in.svc.rules.ToolInputErrors {
		if ae := argumentError(err); ae != nil {
			return in.svc.toolFailed(out[:start], ae.Error()), nil
		}
	}
	if s, ok := errors.AsType[*TextStream](err); ok && s != nil {
		if _, can := in.ex.(Streamer); can {
			in.stream = s
			return out[:start], nil
		}
		w := appender{out[:start]}
		broken, _ := s.write(c.ctx, &w, in.svc.before())
		c.closeStream(in, s)
		if broken != nil {
			c.hidden(in, broken)
		}
		return w.b, nil
	}
	re, ok := errors.AsType[ResultError](err)
	if !ok {
		return out, err
	}
	if e := in.mayAsk(re); e != nil {
		return out, e
	}
	out = re.AppendJSON(out[:start])
	if err := badResult(out[start:], re); err != nil {
		return out, err
	}
	if in.svc.info != nil {
		out = addMeta(out, start, metaServerInfo, in.svc.info, false)
	}
	return out, nil
}

// hidden tells of an error that the peer does not get to see.
func (c *Conn) hidden(in *inbound, err error) {
	c.ev.note(Event{Kind: FailedRequest, Method: in.method, ID: in.id, Err: err}, in.data)
	c.ev.log.Error("handler failed", "method", in.method, "id", in.id.String(), "err", err)
}

// fail writes an answer that is an error into buf, and returns its code.
func (c *Conn) fail(in *inbound, buf *buffer, err error) int64 {
	e, hidden := in.errorOf(err)
	if oe, ok := err.(*outputError); ok {
		c.ev.note(Event{Kind: InvalidOutput, Method: in.method, ID: in.id, Err: oe.err}, buf.b)
		c.ev.log.Error("result that is not JSON", "method", in.method, "id", in.id.String(), "err", oe.err)
		hidden = false
	}
	if hidden && (in.Err() == nil || !errors.Is(err, in.Err())) {
		c.hidden(in, err)
	}
	buf.b = AppendError(buf.b[:0], in.id, false, e)
	if e.Data != nil || len(e.Extra) > 0 {
		if err := e.checkRaws(); err != nil {
			c.ev.note(Event{Kind: InvalidOutput, Method: in.method, ID: in.id, Err: err}, buf.b)
			c.ev.log.Error("error data that is not JSON", "method", in.method, "id", in.id.String(), "err", err)
			e = &Error{Code: e.Code, Message: e.Message} // what can be said
			buf.b = AppendError(buf.b[:0], in.id, false, e)
		}
	}
	c.uninitialized(in)
	return e.Code
}

// opens reports whether a request is the handshake of a stateful revision.
func (in *inbound) opens() bool {
	return in.method == methodInitialize && !in.svc.rules.Stateless && in.c.side == ServerSide
}

// uninitialized lets a client whose handshake was refused try again.
func (c *Conn) uninitialized(in *inbound) {
	if in.opens() {
		c.mu.Lock()
		_ = c.transition(methodInitialize, Connecting)
		c.mu.Unlock()
	}
}

// invoke calls the handler and keeps its panic.
func (c *Conn) invoke(e *entry, in *inbound, out []byte) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			b, err = out, c.panicked(in, v)
		}
	}()
	return in.enter(e, out)
}

func (c *Conn) panicked(in *inbound, v any) error {
	p := &PanicError{Value: v, Stack: debug.Stack()}
	c.ev.note(Event{Kind: HandlerPanic, Method: in.method, ID: in.id, Err: p}, in.data)
	c.ev.log.Error("handler panicked", "method", in.method, "id", in.id.String(), "panic", v, "stack", string(p.Stack))
	return p
}

// checkRaws holds that what an error has of raw values is JSON.
func (e *Error) checkRaws() error {
	if err := e.Data.Check(); err != nil {
		return wire.Under("error.data", err)
	}
	for i := range e.Extra {
		if err := e.Extra[i].Value.Check(); err != nil {
			return wire.Under("error", wire.Under(e.Extra[i].Name, err))
		}
	}
	return nil
}

func internalError(cause error) *Error {
	return &Error{Code: CodeInternalError, Message: "internal error", Cause: cause}
}

// errorOf is what the peer hears of an error, and whether nobody has heard yet
// what that hides. It may panic where the error's own methods do.
func (in *inbound) errorOf(err error) (e *Error, hidden bool) {
	if e, ok := errors.AsType[*PanicError](err); ok && e != nil {
		return internalError(e), false
	}
	e, own := answerIn(err)
	if e != nil && !in.wasTold(e) {
		return e, false
	}
	if e, ok := errors.AsType[*wire.Error](err); ok && e != nil && own {
		return invalidParams(e), false
	}
	if errors.Is(err, ErrOverloaded) {
		return &Error{Code: CodeOverloaded, Message: "overloaded: try again later", Data: overloadData, Cause: err}, true
	}
	return internalError(err), true
}

// answerIn finds the *Error that an error is about to be answered with. own is
// false where a call stands before it that the handler made and that failed: what
// is wrong with that call, or with the answer to it, is nothing that this peer
// has asked for.
func answerIn(err error) (e *Error, own bool) {
	for err != nil {
		switch x := err.(type) {
		case *Error:
			return x, true
		case *CallError, *NotAdvertisedError, *DirectionError, *StateError, *TimeoutError, *VersionError, *StrictError, *ResultTypeError:
			return nil, false
		case interface{ Unwrap() []error }:
			for _, sub := range x.Unwrap() {
				if e, own := answerIn(sub); e != nil || !own {
					return e, own
				}
			}
			return nil, true
		}
		err = errors.Unwrap(err)
	}
	return nil, true
}

// toolFailed appends the result of a tool whose arguments were wrong, with the
// text that the model gets to read.
func (s *Service) toolFailed(out []byte, text string) []byte {
	out = append(append(out, '{'), s.before()...)
	out = append(out, `"content":[{"type":"text","text":`...)
	out = wire.AppendString(out, text)
	return append(out, `}],"isError":true}`...)
}

// before is the members that a result made here begins with.
func (s *Service) before() (members string) {
	if s.rules.Stateless {
		members = `"resultType":"complete",`
	}
	if s.info != nil {
		members += `"_meta":{` + string(s.info) + `},`
	}
	return members
}

// absentID says how an id that could not be read is spelled: left out or null.
func (c *Conn) absentID(svc *Service) bool {
	if svc == nil {
		if svc = c.Service(); svc == nil {
			rules, _ := revision.For(revision.Latest)
			return rules.AbsentID
		}
	}
	return svc.rules.AbsentID
}

// end answers a request and forgets it. The buffer goes back to the pool.
func (c *Conn) end(in *inbound, buf *buffer, code int64) {
	send := in.finish()
	c.mu.Lock()
	c.inflight.remove(in)
	c.mu.Unlock()
	f := Frame{}
	if send {
		f = Frame{Data: buf.b, Code: code}
		c.sent.Add(1)
	}
	ctx := c.ctx
	if in.inline {
		ctx = endedContext
	}
	defer func() { // also when a stream's reader ends this goroutine
		if c.side == ClientSide {
			c.mu.Lock()
			c.own.asked -= len(in.data)
			c.mu.Unlock()
		}
		in.release()
		putBuf(buf)
		c.handled()
	}()
	var err error
	switch {
	case in.stream == nil:
		err = in.ex.Reply(ctx, f)
	case send:
		err = c.stream(ctx, in.ex.(Streamer), in, in.stream, buf.b)
	default:
		c.closeStream(in, in.stream)
		err = in.ex.Reply(ctx, Frame{})
	}
	if err != nil && send {
		c.dropped(in.method, in.id, err)
	}
}

// dropped tells of an answer that the carrier did not take.
func (c *Conn) dropped(method string, id ID, err error) {
	c.ev.note(Event{Kind: DroppedAnswer, Method: method, ID: id, Err: err}, nil)
}

// handled counts a request out.
func (c *Conn) handled() {
	if c.handling.Add(-1) == 0 && c.State() == Draining {
		c.checkIdle()
	}
}

// refuse answers a request that never ran.
func (c *Conn) refuse(ex Exchange, env *envelope, e *Error) {
	buf := getBuf()
	id := env.id
	if id.tooLong() {
		id = ID{}
	}
	e.Message = clip(e.Message, maxText) // it may quote what the peer sent
	buf.b = AppendError(buf.b, id, c.absentID(env.svc), e)
	c.sent.Add(1)
	ctx := c.ctx
	if c.side == ClientSide {
		ctx = endedContext // a client's reading goroutine waits for nobody
	}
	if err := ex.Reply(ctx, Frame{Data: buf.b, Code: e.Code}); err != nil {
		c.dropped(env.method, env.id, err)
	}
	putBuf(buf)
}

// maxHandshake bounds the params of initialize, in bytes: a session keeps them
// as long as it lasts.
const maxHandshake = 64 << 10

// initialized remembers a handshake that is about to be answered.
func (c *Conn) initialized(in *inbound) {
	if !in.opens() {
		return
	}
	params := wire.Raw(in.data).Get("params").Clone()
	s := Session{Revision: in.svc.o.Revision, Info: params.Get("clientInfo"), Capabilities: params.Get("capabilities"), Params: params}
	if s.Capabilities == nil {
		s.Capabilities = wire.Raw("{}")
	}
	c.mu.Lock()
	c.setSession(in.svc, s)
	c.mu.Unlock()
	c.opened.Store(true)
}

// notification acts on a valid notification.
func (c *Conn) notification(ex Exchange, env *envelope) {
	defer c.finishExchange(ex)
	if env.svc == nil {
		env.svc = c.choose(env)
	}
	svc := env.svc
	for _, l := range c.ev.notes {
		l.put(Notification{Conn: c, Method: strings.Clone(env.method), Params: env.params}, len(env.data))
	}
	relayed := svc != nil && svc.o.Relay != nil
	switch env.method {
	case methodCancelled:
		if relayed { // before the context of what it names ends
			c.relayNotification(ex, svc, env)
		}
		c.cancelled(env)
		return
	case methodProgress:
		if !relayed && c.progressed(env) {
			return
		}
		if svc == nil || svc.entries[methodProgress] == nil && svc.o.UnknownNotification == nil && !relayed {
			token, _ := idOf(env.params.Get("progressToken"))
			c.ev.note(Event{Kind: UnknownProgress, Method: env.method, ID: token}, env.data)
			return
		}
	}
	if svc == nil {
		c.ev.note(Event{Kind: UnknownNotification, Method: env.method}, env.data)
		return
	}
	if c.side == ServerSide && !svc.rules.Stateless {
		if env.method == methodInitialized {
			c.mu.Lock()
			ok := c.opened.Load() && c.transition(methodInitialized, Ready) == nil
			c.mu.Unlock()
			if !ok && !(relayed && c.State() == Initializing) {
				c.ev.note(Event{Kind: UnknownNotification, Method: env.method, Err: errOutOfPlace}, env.data)
				return
			}
			svc.hub.add(c)
			if svc.entries[env.method] == nil && !relayed {
				return
			}
		} else if !c.opened.Load() && !(relayed && c.State() == Initializing) {
			c.ev.note(Event{Kind: UnknownNotification, Method: env.method, Err: errOutOfPlace}, env.data)
			return
		}
	}
	if relayed {
		c.relayNotification(ex, svc, env)
		return
	}
	routed := false
	if c.side == ClientSide {
		routed = c.relayed(env)
		if svc.rules.Listen && c.routeSubscription(env) {
			routed = true
		}
	}
	e := svc.entries[env.method]
	if e == nil || e.notify == nil {
		if svc.o.UnknownNotification == nil {
			if !routed {
				c.ev.note(Event{Kind: UnknownNotification, Method: env.method}, env.data)
			}
			return
		}
		e = svc.unknownNotification()
	}
	in := &inbound{parent: c.ctx, c: c, svc: svc, method: env.method, header: env.header, data: env.data}
	params := env.params
	c.notes().put(env.method, len(env.data), func() { c.deliver(e, in, params) })
}

var errOutOfPlace = errors.New("out of place")

func (s *Service) unknownNotification() *entry {
	return &entry{notify: func(ctx context.Context, params any) error {
		raw, _ := params.(wire.Raw)
		s.o.UnknownNotification(ctx, inboundOf(ctx).method, raw)
		return nil
	}}
}

// deliver decodes a notification and runs its handler, on the queue's
// goroutine.
func (c *Conn) deliver(e *entry, in *inbound, params wire.Raw) {
	err := errGoexit
	defer func() {
		in.release()
		if err != nil {
			c.ev.note(Event{Kind: FailedNotification, Method: in.method, Err: err}, in.data)
		}
	}()
	err = func() (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = c.panicked(in, v)
			}
		}()
		switch {
		case e.decode == nil:
			in.params = params
		case params != nil:
			if in.params, err = decodeParams(e, params, c.o.MaxDepth); err != nil {
				return err
			}
		case e.required:
			return Errorf(CodeInvalidParams, "%s: params are required", in.method)
		}
		return e.notify(in, in.params)
	}()
}

// cancelled is the peer's notifications/cancelled. What it names and does not
// run is ignored, unless it may still come. Specification: basic/utilities/cancellation,
// basic/patterns/cancellation (2026-07-28).
func (c *Conn) cancelled(env *envelope) {
	id, _ := idOf(env.params.Get("requestId"))
	reason, _ := env.params.Get("reason").Str()
	reason = clip(reason, maxText) // it lasts as long as what is cancelled
	c.mu.Lock()
	in := c.inflight.get(id)
	if in == nil {
		if c.early == nil {
			c.early = new(earlyCancels)
		}
		c.early.add(id, reason)
	}
	c.mu.Unlock()
	if in != nil && in.method == methodInitialize && !in.svc.rules.Stateless {
		in = nil // must not be cancelled
	}
	switch {
	case in != nil && in.listen != nil:
		in.cancel(reason)
		in.listen.end(endedContext, endQuiet)
	case in != nil:
		in.cancel(reason)
	case c.side == ClientSide && c.endSubscription(id, reason):
	default:
		c.ev.note(Event{Kind: UnknownCancel, Method: env.method, ID: id}, env.data)
	}
}
