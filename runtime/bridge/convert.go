package bridge

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	mcp "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// converter is a server that speaks another revision than its clients, served in
// all of them. Its calls are made in 2025-11-25, which is one step from the
// revision without sessions and on the way between all others: one side at least
// speaks a revision with sessions, or nothing would have to be converted.
type converter struct {
	b      *Bridge
	server *mcp.RemoteServer
	root   *jsonrpc.Conn // those on which messages are handled are forks of it
	one    bool          // the server is one session's

	mu      sync.Mutex
	inners  map[*jsonrpc.Conn]*inner // by the connection to the client
	running []*errand                // whose handler runs, oldest first
	// givenUp are the clients that gave a call up last, two different ones, the
	// newest first: the server may still be at it, and ask.
	givenUp [2]givenUp
}

// givenUp says until when a question may belong to a call that a client gave up.
type givenUp struct {
	in    *inner
	until time.Time
}

// errand is one message of a client's on its way to the server.
type errand struct {
	in      *inner
	front   context.Context // of its handler where the message came in
	handler context.Context // of its handler in 2025-11-25
}

type errandKey struct{}

// inner is a connection on which the messages of one client are handled. It is
// also its link: what it sends goes to the client.
type inner struct {
	c    *converter
	conn *jsonrpc.Conn
	down *jsonrpc.Conn
	lane *lane // of requests to the client
	// ctx ends with the connection.
	ctx    context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	asks map[jsonrpc.ID]context.CancelFunc // by the id at conn
}

// startConverter reaches a server for several clients.
func (b *Bridge) startConverter(ctx context.Context) (*converter, error) {
	return b.converter(ctx, false, mcp.Client{
		Info: mcp.Implementation{Name: b.o.Name, Version: b.o.Version}, ElicitationForm: true, ElicitationURL: true, SamplingContext: true, SamplingTools: true,
	}, features{true, true, true})
}

// routed is a converter as a route.
func routed(c *converter, err error) (route, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// openConverter reaches a server for one session, and answers its initialize.
func (b *Bridge) openConverter(ctx context.Context) (*converter, jsonrpc.Answer, error) {
	params := wire.Raw(jsonrpc.PeerOf(ctx).Message()).Get("params")
	client := mcp.Client{Info: mcp.Implementation{Name: b.o.Name, Version: b.o.Version}}
	var info mcp.Implementation
	if wire.Decode(params.Get("clientInfo"), wire.Options{Lenient: true}, &info) == nil {
		client.Info = info
	}
	caps := params.Get("capabilities")
	f := features{caps.Get("elicitation") != nil, caps.Get("roots") != nil, caps.Get("sampling") != nil}
	client.ElicitationURL = caps.Get("elicitation").Get("url") != nil
	client.ElicitationForm = caps.Get("elicitation").Get("form") != nil || f.elicitation && !client.ElicitationURL
	client.RootsListChanged, _ = caps.Get("roots").Get("listChanged").Bool()
	client.SamplingContext = caps.Get("sampling").Get("context") != nil
	client.SamplingTools = caps.Get("sampling").Get("tools") != nil
	c, err := b.converter(ctx, true, client, f)
	if err != nil {
		return nil, jsonrpc.Answer{}, gone(err)
	}
	a, err := c.request(ctx)
	if err != nil || a.Code != 0 {
		b.end(c.upstream())
		return nil, a, err
	}
	return c, a, nil
}

// features are what a client can be asked for.
type features struct{ elicitation, roots, sampling bool }

func (b *Bridge) converter(ctx context.Context, one bool, client mcp.Client, f features) (*converter, error) {
	c := &converter{b: b, one: one, inners: map[*jsonrpc.Conn]*inner{}}
	if f.elicitation {
		client.Elicit = asked(c, mcp.RemoteClient.Elicit)
		client.ElicitationComplete = func(ctx context.Context, p *mcp.ElicitationCompleteParams) error {
			h, err := c.asker(ctx)
			if err == nil {
				err = mcp.Peer(h).ElicitationComplete(joined{ctx, h}, p)
			}
			return err
		}
	}
	if f.roots {
		client.ListRoots = asked(c, mcp.RemoteClient.ListRoots)
	} else {
		client.RootsListChanged = false
	}
	if f.sampling {
		client.CreateMessage = asked(c, mcp.RemoteClient.CreateMessage)
	}
	if !one {
		client.LoggingMessage = c.log
	}
	// What is to be heard of it is asked for; the clients hear it by the server's Hub.
	client.ToolListChanged = func(context.Context, *mcp.ToolListChangedParams) error { return nil }
	client.PromptListChanged = func(context.Context, *mcp.PromptListChangedParams) error { return nil }
	client.ResourceListChanged = func(context.Context, *mcp.ResourceListChangedParams) error { return nil }
	client.Options = b.options()
	client.Options.Incoming = []jsonrpc.Middleware{b.losses.heard}
	if !one {
		client.Options.MaxInFlight = manyInFlight
	}
	dialing, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	server, err := compat.Dial(dialing, b.d, client)
	if err != nil {
		return nil, err
	}
	c.server = server
	s := server.Server
	s.Complete, s.SetLevel = handles(c, s.Complete), handles(c, s.SetLevel)
	s.GetPrompt, s.ListPrompts = handles(c, s.GetPrompt), handles(c, s.ListPrompts)
	s.ListResources, s.ReadResource, s.ListResourceTemplates = handles(c, s.ListResources), handles(c, s.ReadResource), handles(c, s.ListResourceTemplates)
	s.Subscribe, s.Unsubscribe = handles(c, s.Subscribe), handles(c, s.Unsubscribe)
	s.CallTool, s.ListTools = handles(c, s.CallTool), handles(c, s.ListTools)
	s.GetTask, s.ListTasks, s.CancelTask, s.GetTaskPayload = handles(c, s.GetTask), handles(c, s.ListTasks), handles(c, s.CancelTask), handles(c, s.GetTaskPayload)
	s.Options = b.options()
	ch, err := compat.Options{OnLoss: b.losses.add}.Server(s).Bind()
	if err != nil {
		b.end(server.Conn())
		return nil, err
	}
	c.root = jsonrpc.NewConn(nil, ch, jsonrpc.ServerSide)
	return c, nil
}

// handles wraps a func of the server: it notes whose message is being handled, for
// what the server may ask meanwhile, and says of a server that has gone what a
// client is to hear.
func handles[P, R any](c *converter, f func(context.Context, *P) (*R, error)) func(context.Context, *P) (*R, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) (*R, error) {
		if e, ok := ctx.Value(errandKey{}).(*errand); ok {
			e = &errand{in: e.in, front: e.front, handler: ctx}
			c.enter(e)
			unanswered := true
			defer func() { c.leaves(e, unanswered) }()
			r, err := f(ctx, p)
			answer, ok := errors.AsType[*jsonrpc.Error](err)
			unanswered = err != nil && ctx.Err() != nil && !(ok && answer.Remote)
			return r, gone(err)
		}
		r, err := f(ctx, p)
		return r, gone(err)
	}
}

func (c *converter) enter(e *errand) {
	c.mu.Lock()
	c.running = append(c.running, e)
	c.mu.Unlock()
}

// leaves ends what enter began; unanswered says that the client gave the message
// up before the server had answered it.
func (c *converter) leaves(e *errand, unanswered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if unanswered && !c.one {
		if c.givenUp[0].in != e.in {
			c.givenUp[1] = c.givenUp[0]
		}
		c.givenUp[0] = givenUp{e.in, time.Now().Add(afterthoughts)}
	}
	for i, x := range c.running {
		if x == e {
			c.running = append(c.running[:i], c.running[i+1:]...)
			return
		}
	}
}

// asked is a func of the client: it asks the client whose message the server
// handles.
func asked[P, R any](c *converter, ask func(mcp.RemoteClient, context.Context, P) (R, error)) func(context.Context, P) (R, error) {
	return func(ctx context.Context, p P) (r R, err error) {
		h, err := c.asker(ctx)
		if err != nil {
			return r, err
		}
		r, err = ask(mcp.Peer(h), joined{ctx, h}, p)
		if e, ok := errors.AsType[*jsonrpc.NotAdvertisedError](err); ok {
			err = jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "%w", e)
		}
		return r, err
	}
}

// log passes a log message of the server on to a client without a session: there
// it belongs to a request. Sessions hear of it anyway.
func (c *converter) log(ctx context.Context, p *mcp.LoggingMessageParams) error {
	h, err := c.asker(ctx)
	if err == nil && jsonrpc.PeerOf(h).Service().Rules().Stateless {
		err = jsonrpc.PeerOf(h).Log(joined{ctx, h}, string(p.Level), p)
	}
	c.b.lost(methodMessage, err)
	return nil
}

// asker finds the context of the handler that a question of the server belongs
// to: the one that the carrier tells, or the newest. Where several clients have a
// message with the server, or another one has given one up not long ago, nobody is
// asked, since it may be the wrong one.
func (c *converter) asker(ctx context.Context) (context.Context, error) {
	if e, ok := ctx.Value(errandKey{}).(*errand); ok { // it is asked in the call itself
		return c.handling(e.front)
	}
	if call := jsonrpc.PeerOf(ctx).CallContext(); call != nil {
		if e, ok := call.Value(errandKey{}).(*errand); ok {
			return c.handling(e.front)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.running) == 0 {
		return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "no request is under way that this could belong to")
	}
	newest := c.running[len(c.running)-1]
	others := slices.ContainsFunc(c.running, func(e *errand) bool { return e.in != newest.in }) ||
		slices.ContainsFunc(c.givenUp[:], func(g givenUp) bool { return g.in != newest.in && time.Now().Before(g.until) })
	if others {
		return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "it cannot be told which client this is for")
	}
	return newest.handler, nil
}

// handling is the context of the handler of a message that came in.
func (c *converter) handling(front context.Context) (context.Context, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.running) - 1; i >= 0; i-- {
		if e := c.running[i]; e.front == front {
			return e.handler, nil
		}
	}
	return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "the request that this belongs to is over")
}

func (c *converter) upstream() *jsonrpc.Conn { return c.server.Conn() }

// speaks is the revision of the server.
func (c *converter) speaks() string { return c.upstream().Below().Session().Revision }

// inner is the connection for the messages of a client, and whether it is one
// message's: a client without a carrier of its own is one for each message.
func (c *converter) inner(down *jsonrpc.Conn) (in *inner, single bool) {
	single = down.Link() == nil
	c.mu.Lock()
	defer c.mu.Unlock()
	if in = c.inners[down]; in != nil {
		return in, false
	}
	in = &inner{c: c, down: down, lane: newLane(!single && !streams(down.Link())), asks: map[jsonrpc.ID]context.CancelFunc{}}
	in.ctx, in.cancel = context.WithCancel(c.b.ctx)
	if single {
		in.conn = c.root.Fork(nil)
		return in, true
	}
	in.conn = c.root.Fork(in)
	if !c.b.begin() {
		return in, true
	}
	c.inners[down] = in
	go func() {
		defer c.b.work.Done()
		select {
		case <-down.Done():
		case <-c.b.ctx.Done():
		case <-c.upstream().Done():
		}
		c.mu.Lock()
		delete(c.inners, down)
		c.mu.Unlock()
		in.end()
	}()
	return in, false
}

// end ends the connection and what it still asks.
func (in *inner) end() {
	_ = in.conn.Close(context.Background())
	in.cancel()
}

// request has a client's request handled.
func (c *converter) request(ctx context.Context) (jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	in, single := c.inner(p.Conn())
	if single {
		defer in.end()
	}
	e := &errand{in: in, front: ctx}
	ex := &wayBack{errand: e, reply: make(chan jsonrpc.Frame, 1)}
	in.conn.Receive(context.WithValue(ctx, errandKey{}, e), ex, jsonrpc.Frame{Data: p.Message(), Owned: true, Header: p.Header()})
	var f jsonrpc.Frame
	select {
	case f = <-ex.reply:
	default:
		p.Detach()
		select {
		case f = <-ex.reply:
		case <-ctx.Done():
			if p.Method() != methodListen || p.Conn().State() != jsonrpc.Draining {
				return jsonrpc.Answer{}, jsonrpc.ContextError(ctx)
			}
			return ended(p.ID(), c.upstream().Session().Info), nil
		}
	}
	if len(f.Data) == 0 {
		return jsonrpc.Answer{}, errors.Join(context.Canceled, jsonrpc.ContextError(ctx))
	}
	return jsonrpc.Answer{Data: f.Data, Code: f.Code}, nil
}

// notification has a client's notification handled.
func (c *converter) notification(ctx context.Context) {
	p := jsonrpc.PeerOf(ctx)
	msg := p.Message()
	in, single := c.inner(p.Conn())
	if single { // there is no request on such a connection that it could be about
		in.end()
		return
	}
	if p.Method() == methodProgress {
		m, err := mark(msg, methodProgress, false)
		if err != nil {
			return
		}
		x, _ := in.lane.token(m.id(memberToken))
		if x == nil || x.token.IsZero() {
			return
		}
		msg = m.rewrite(nil, func(member) jsonrpc.ID { return x.token })
	}
	in.conn.Receive(ctx, noWayBack{}, jsonrpc.Frame{Data: msg, Owned: true, Header: p.Header()})
}

// wayBack is the exchange of a client's request.
type wayBack struct {
	*errand
	reply chan jsonrpc.Frame
}

// Notify sends what precedes the answer, for the request.
func (w *wayBack) Notify(ctx context.Context, f jsonrpc.Frame) error {
	return w.in.forward(ctx, w.front, f.Data)
}

// Reply hands the answer over.
func (w *wayBack) Reply(_ context.Context, f jsonrpc.Frame) error {
	f.Data = bytes.Clone(f.Data)
	w.reply <- f
	return nil
}

// Detach lets what follows be read.
func (w *wayBack) Detach() { jsonrpc.PeerOf(w.front).Detach() }

// noWayBack is the exchange of what is not answered.
type noWayBack struct{}

func (noWayBack) Notify(context.Context, jsonrpc.Frame) error { return errNobody }
func (noWayBack) Reply(context.Context, jsonrpc.Frame) error  { return nil }
func (noWayBack) Detach()                                     {}

// forward sends a message to the client, for a request of the client's where
// front is its handler's context.
func (in *inner) forward(ctx, front context.Context, msg []byte) error {
	env, err := jsonrpc.ParseEnvelope(msg)
	if err != nil {
		return err
	}
	switch {
	case env.IsRequest():
		return in.ask(front, request{ctx: in.context(front), conn: in.conn, id: env.ID, method: env.Method, msg: bytes.Clone(msg)})
	case env.Method == methodCancelled:
		err := in.lane.cancelled(ctx, in.down, in.conn, msg)
		var id jsonrpc.ID
		if id.UnmarshalJSON(env.Params.Get("requestId")) == nil {
			in.mu.Lock()
			cancel := in.asks[id]
			in.mu.Unlock()
			if cancel != nil {
				cancel()
			}
		}
		return err
	}
	if front != nil {
		err := jsonrpc.SendMessage(joined{ctx, front}, in.down, msg)
		if _, over := errors.AsType[*jsonrpc.StateError](err); !over || in.down.Link() == nil {
			return err
		}
	}
	if in.down.Link() == nil {
		return errNobody
	}
	return jsonrpc.SendMessage(ctx, in.down, msg)
}

func (in *inner) context(front context.Context) context.Context {
	if front != nil {
		return front
	}
	return in.ctx
}

// ask asks the client. The answer goes to the inner connection.
func (in *inner) ask(front context.Context, r request) error {
	if !in.c.b.begin() {
		return jsonrpc.ErrClosed
	}
	ctx, cancel := context.WithCancel(in.ctx)
	in.mu.Lock()
	in.asks[r.id] = cancel
	in.mu.Unlock()
	go func() {
		defer in.c.b.work.Done()
		defer cancel()
		call := ctx
		if front != nil {
			call = joined{ctx, front}
		}
		a, err := in.lane.pass(call, in.down, r)
		in.mu.Lock()
		delete(in.asks, r.id)
		in.mu.Unlock()
		if err != nil {
			e, ok := err.(*jsonrpc.Error)
			if !ok {
				e = jsonrpc.Errorf(jsonrpc.CodeInternalError, "the client could not be asked: %w", cause(err))
			}
			a.Data = jsonrpc.AppendError(nil, r.id, false, e)
		}
		in.conn.Receive(ctx, noWayBack{}, jsonrpc.Frame{Data: a.Data, Owned: true})
	}()
	return nil
}

// The link of the inner connection.

func (in *inner) Start(jsonrpc.Receiver) error { return nil }

func (in *inner) Send(ctx context.Context, f jsonrpc.Frame) error {
	return in.forward(ctx, nil, f.Data)
}

func (in *inner) Call(ctx context.Context, f jsonrpc.Frame, w jsonrpc.Waiter) error {
	err := in.forward(ctx, nil, f.Data)
	if t, ok := w.(jsonrpc.Taken); ok && err == nil {
		t.Taken()
	}
	return err
}

func (in *inner) Close(context.Context) error {
	in.cancel()
	return nil
}

func (in *inner) Done() <-chan struct{} { return in.ctx.Done() }

func (in *inner) Err() error { return nil }
