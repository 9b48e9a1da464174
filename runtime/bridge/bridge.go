package bridge

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Options of a Bridge. The zero value works.
type Options struct {
	// Shared lets all sessions of stateful revisions share one server, as
	// stateless requests always do. Such a server is initialized by the bridge
	// itself, and can ask no client anything; what it says of its own accord is
	// told to all, log levels are the last that anybody has set.
	Shared bool
	// MaxSessions bounds the sessions that have a server each. 0 means 256.
	MaxSessions int
	// Name and Version are what the bridge calls itself where it makes a
	// handshake of its own; "" is goldwire-bridge, 1.
	Name, Version string
	// Logger gets the beginning and the end of servers, and what is lost; no
	// headers and no messages. nil is slog.Default().
	Logger *slog.Logger
}

const (
	defaultMaxSessions = 256
	slack              = 16              // sessions that may begin while an idle one still ends
	probeTimeout       = 5 * time.Second // of server/discover, before a server is taken for a stateful one
	handshakeTimeout   = time.Minute     // a server may have to be fetched first, as npx does
	lastWords          = time.Second     // for what is under way when its server has ended
	quick              = 2 * time.Second // a shared server that lasts less has failed
	freeStarts         = 2               // that may fail in a row before the next has to wait
	firstPause         = 500 * time.Millisecond
	maxPause           = 10 * time.Second
	manyInFlight       = 1 << 16
	remembered         = 10 * time.Minute // what a server speaks
	afterthoughts      = 3 * time.Minute  // in which a server may ask for a call that was given up
)

const (
	methodInitialize  = "initialize"
	methodInitialized = "notifications/initialized"
	methodPing        = "ping"
	methodDiscover    = "server/discover"
	methodListen      = "subscriptions/listen"
	methodCancelled   = "notifications/cancelled"
	methodProgress    = "notifications/progress"
	methodMessage     = "notifications/message"
)

const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaVersion      = metaPrefix + "protocolVersion"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
	metaServerInfo   = metaPrefix + "serverInfo"
)

// Bridge is a jsonrpc.Binder of what a dialer reaches: jsonrpc.Serve and the
// handlers of streamhttp and ssehttp take it, several at once too. All methods
// may be called from any goroutine.
type Bridge struct {
	d        jsonrpc.Dialer
	o        Options
	log      *slog.Logger
	services map[string]*jsonrpc.Service // of clients, by revision
	judge    *jsonrpc.Service            // of requests that belong to nothing
	losses   losses
	ctx      context.Context // ends with the bridge
	cancel   context.CancelFunc
	work     sync.WaitGroup

	stateless map[string]*shared // the servers of stateless requests, by revision
	stateful  shared             // of sessions, where they share one
	converted shared             // of sessions that speak another revision than that one

	mu       sync.Mutex
	closed   bool
	opening  map[*jsonrpc.Conn]*opening
	sessions map[*jsonrpc.Conn]*session
	err      error                // of Err
	converts map[string]time.Time // by what a client speaks: since when the server is known to speak something else
}

// New makes a bridge to what a dialer reaches. Nothing is dialled before a
// client has come.
func New(d jsonrpc.Dialer, o Options) *Bridge {
	if o.MaxSessions <= 0 {
		o.MaxSessions = defaultMaxSessions
	}
	if o.Name == "" {
		o.Name = "goldwire-bridge"
	}
	if o.Version == "" {
		o.Version = "1"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	b := &Bridge{d: d, o: o, log: o.Logger, services: map[string]*jsonrpc.Service{}, stateless: map[string]*shared{}, sessions: map[*jsonrpc.Conn]*session{}, opening: map[*jsonrpc.Conn]*opening{}, converts: map[string]time.Time{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	options := b.options()
	for _, rev := range revision.All() {
		b.services[rev] = jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Side: jsonrpc.ServerSide, Relay: front{b}, Options: options})
	}
	for _, rev := range revision.Stateless() {
		b.judge = jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev, Side: jsonrpc.ServerSide, Options: options}) // the newest stays
		b.stateless[rev] = &shared{b: b, start: func(ctx context.Context) (route, error) { return b.startStateless(ctx, rev) }}
	}
	b.losses.log = b.log
	b.stateful = shared{b: b, start: b.startShared}
	b.converted = shared{b: b, start: func(ctx context.Context) (route, error) { return routed(b.startConverter(ctx)) }}
	return b
}

// options of all connections: who bounds a call is who makes it.
func (b *Bridge) options() jsonrpc.Options {
	return jsonrpc.Options{Timeout: new(time.Duration), MaxTimeout: new(time.Duration), Logger: b.log}
}

// Bind returns what chooses among the revisions of clients.
func (b *Bridge) Bind() (jsonrpc.Chooser, error) {
	if b.d == nil {
		return nil, errors.New("no dialer")
	}
	return chooser{b}, nil
}

type chooser struct{ b *Bridge }

// Options are those of the connections to clients.
func (c chooser) Options() jsonrpc.Options { return c.b.options() }

// Choose tells the eras apart, as a server of all revisions does: by what _meta
// says, or by the handshake.
func (c chooser) Choose(conn *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
	if f.SaysItAll() {
		version, named := f.Params().Get("_meta").Get(metaVersion).Str()
		if !named { // over HTTP it would be refused for the header that it lacks then
			return c.b.judge
		}
		if s := c.b.services[version]; s != nil && s.Rules().Stateless {
			return s
		}
		return c.b.services[c.b.judge.Revision()]
	}
	if s := conn.Service(); s != nil && !s.Rules().Stateless {
		return s
	}
	switch f.Method {
	case methodInitialize:
		version, _ := f.Params().Get("protocolVersion").Str()
		if s := c.b.services[version]; s != nil && !s.Rules().Stateless {
			return s
		}
		return c.b.services[revision.LatestStateful()]
	case methodPing:
		return c.b.services[revision.LatestStateful()]
	}
	if _, o := c.b.session(conn); o != nil {
		return o.service
	}
	return c.b.judge
}

// Stats is what a bridge has at a moment.
type Stats struct {
	Sessions int // of stateful revisions
	Shared   int // servers that several clients share
}

// Stats is the present state.
func (b *Bridge) Stats() Stats {
	b.mu.Lock()
	s := Stats{Sessions: len(b.sessions)}
	b.mu.Unlock()
	for _, sh := range append(slices.Collect(maps.Values(b.stateless)), &b.stateful, &b.converted) {
		if sh.running() {
			s.Shared++
		}
	}
	return s
}

// Err says why the server of a session has ended by itself, the last one of
// several; nil if none has.
func (b *Bridge) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Close ends all servers, and waits for that as long as ctx. Sessions end with
// their servers: shut down first what serves the bridge.
func (b *Bridge) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	ended := make(chan struct{})
	go func() {
		b.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return jsonrpc.ContextError(ctx)
	}
}

// begin registers work of the bridge's own; false when it is closed.
func (b *Bridge) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.work.Add(1)
	return true
}

// route is where messages of clients go. Its methods are called with the context
// of the message's handler.
type route interface {
	request(ctx context.Context) (jsonrpc.Answer, error)
	notification(ctx context.Context)
	// upstream is the connection to the server.
	upstream() *jsonrpc.Conn
}

// front takes what clients send.
type front struct{ b *Bridge }

func (f front) Request(ctx context.Context) (jsonrpc.Answer, error) {
	p := jsonrpc.PeerOf(ctx)
	if p.Service().Rules().Stateless {
		for try := 1; ; try++ {
			r, err := f.b.stateless[p.Service().Revision()].get(ctx)
			if err != nil {
				return jsonrpc.Answer{}, err
			}
			a, err := r.request(ctx)
			if try == 1 && unsent(err) { // the server ended just now
				continue
			}
			return a, err
		}
	}
	if p.Method() == methodInitialize {
		return f.b.open(ctx)
	}
	s, o := f.b.session(p.Conn())
	if o != nil { // the client did not wait for the answer to initialize
		p.Detach()
		select {
		case <-o.over:
			s, _ = f.b.session(p.Conn())
		case <-ctx.Done():
			return jsonrpc.Answer{}, jsonrpc.ContextError(ctx)
		}
	}
	switch {
	case s != nil:
		return s.route.request(ctx)
	case p.Method() == methodPing:
		return result(p.ID(), wire.Raw("{}")), nil
	}
	return jsonrpc.Answer{}, jsonrpc.NewError(jsonrpc.CodeInvalidRequest, "there is no session")
}

func (f front) Notification(ctx context.Context) {
	p := jsonrpc.PeerOf(ctx)
	if p.Service().Rules().Stateless {
		if r := f.b.stateless[p.Service().Revision()].peek(); r != nil { // else there is nothing that it can be about
			r.notification(ctx)
		}
		return
	}
	s, o := f.b.session(p.Conn())
	if o != nil && !o.put(func(r route) { r.notification(ctx) }) {
		s, _ = f.b.session(p.Conn())
	}
	if s != nil {
		s.route.notification(ctx)
	}
}

// result is the answer to a request.
func result(id jsonrpc.ID, r wire.Raw) jsonrpc.Answer {
	return jsonrpc.Answer{Data: jsonrpc.AppendResult(nil, id, appender(r))}
}

// appender makes a raw value an Appender.
type appender wire.Raw

func (a appender) AppendJSON(b []byte) []byte { return wire.AppendRaw(b, wire.Raw(a)) }
