package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Binder makes the services that answer on a connection. The generated Server
// and Client are binders, and so is *Service.
type Binder interface {
	Bind() (Chooser, error)
}

// Chooser picks the service that answers a frame, before its params are
// decoded. A *Service chooses itself. Choose is called on the goroutine that
// read the frame, concurrently for concurrent frames.
//
// One that chooses among several services may have two more methods: Options()
// Options is what its connections keep to, the zero value without it; Revisions()
// []string is what a VersionError names as ours.
type Chooser interface {
	// Choose returns the service for f; nil means none, and the frame is
	// answered with CodeMethodNotFound. c remembers the service of its
	// handshake (Conn.Service).
	Choose(c *Conn, f *Peek) *Service
}

// Peek is what is known of a frame before its params are decoded, for as long as
// Choose takes.
type Peek struct {
	Data   []byte              // the whole message, valid JSON up to the params at least
	Method string              // of the message; empty for a batch
	Header map[string][]string // the carrier's headers
}

// Params looks up the params in Data, nil if absent or not yet valid.
func (p *Peek) Params() wire.Raw { return wire.Raw(p.Data).Get("params") }

// MaySayItAll is false for a message of which SaysItAll is: nearly every message
// of a session lacks the prefix, and looking for that costs next to nothing; with
// the escapes of a slash or of any character a message may spell it in another way.
func (p *Peek) MaySayItAll() bool {
	for rest := p.Data; ; {
		i := bytes.IndexByte(rest, '/')
		if i < 0 {
			break
		}
		if bytes.HasSuffix(rest[:i+1], []byte(metaPrefix)) {
			return true
		}
		rest = rest[i+1:]
	}
	for rest := p.Data; ; {
		i := bytes.IndexByte(rest, '\\')
		if i < 0 || i+1 == len(rest) {
			return false
		}
		if c := rest[i+1]; c == 'u' || c == '/' {
			return true
		}
		rest = rest[i+2:]
	}
}

// SaysItAll reports whether a message carries its own version or capabilities in
// _meta, which only requests of stateless revisions do (basic/index, request
// metadata, 2026-07-28).
func (p *Peek) SaysItAll() bool {
	if !p.MaySayItAll() {
		return false
	}
	meta := p.Params().Get("_meta")
	return meta.Get(metaVersion) != nil || meta.Get(metaCapabilities) != nil
}

// ServiceOptions describes one side of one revision.
type ServiceOptions struct {
	// Revision is the one that the generated package implements.
	Revision string
	// Stateless says, of a Revision that the runtime has no rules of, that its
	// requests stand alone: the rules are those of the newest revision of that
	// kind. Rules that are there are kept to whatever it says.
	Stateless bool
	// Side is the one this service answers for.
	Side Side
	// Methods is the revision's method table.
	Methods []Method
	// Capabilities is what this side advertises. Calls and notifications
	// whose method needs a capability of ours are refused without it.
	Capabilities wire.Appender
	// Info describes the implementation. Stateless servers add it to the
	// _meta of every result.
	Info wire.Appender
	// Supported are the versions that an unsupported version is answered
	// with; nil means the Revision alone.
	Supported []string
	// Unknown answers requests of methods that the table does not name; nil
	// answers CodeMethodNotFound. Those that it names are answered by who
	// registered for them, or with CodeMethodNotFound.
	Unknown func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error)
	// UnknownNotification gets notifications that nobody registered; nil
	// counts and drops them.
	UnknownNotification func(ctx context.Context, method string, params wire.Raw)
	// Relay gets requests and notifications as whole messages, in place of
	// handlers; nil is none.
	Relay Relay
	// Listen says which change notifications this server offers.
	Listen ListenOptions
	// Hub spreads change notifications to the connections of this service;
	// nil makes one of its own.
	Hub *Hub
	// Options of the connections.
	Options Options
}

// ListenOptions says which change notifications a server offers: with
// subscriptions/listen it acknowledges these and no others. One request may
// name at most 10,000 resources and 10,000 tasks; with more it is answered with
// CodeInvalidParams.
type ListenOptions struct {
	ToolsListChanged     bool // tools.listChanged
	PromptsListChanged   bool // prompts.listChanged
	ResourcesListChanged bool // resources.listChanged
	ResourceUpdates      bool // resources.subscribe
	// AllowURI may refuse a resource; nil allows all.
	AllowURI func(ctx context.Context, uri string) bool
	// AllowTask says whether a client may hear of a task of the tasks extension;
	// nil: notifications/tasks are not offered. A client that does not declare
	// the extension is answered with CodeMissingClientCapability.
	AllowTask func(ctx context.Context, taskID string) bool
}

// Options are the limits and listeners of a connection. The zero value works.
// A fixed limit is that of a request's id: one longer than 1 KiB is refused, and
// the answer leaves it out.
type Options struct {
	// Timeout of a request, from the call to the answer, queueing included;
	// progress starts it again. nil means 30 s, 0 none.
	Timeout *time.Duration
	// MaxTimeout is the hard cap that progress does not move. nil means 1 h,
	// 0 none.
	MaxTimeout *time.Duration
	// MaxInFlight bounds the requests that wait for the peer, and apart from
	// them those of the peer that are being handled; further ones are answered
	// with CodeOverloaded. So are those of a server while 64 MiB of them are
	// being handled. Pings are answered all the same; where a Relay takes them
	// there may be twice as many requests, if they are pings. 0 means 1,024.
	MaxInFlight int
	// MaxQueuedNotifications bounds the notifications that wait for their
	// handler; further ones are dropped and counted. 0 means 1,024.
	MaxQueuedNotifications int
	// MaxDepth bounds the nesting of a message. 0 means 256.
	MaxDepth int
	// WaitInitialized keeps a server of a stateful revision from answering
	// requests before notifications/initialized; otherwise it answers them
	// from its initialize answer on.
	WaitInitialized bool
	// DrainTimeout bounds how long draining waits for running handlers
	// before it cancels them. nil means 10 s, 0 does not wait.
	DrainTimeout *time.Duration
	// Logger gets panics, errors of handlers that the peer does not hear of, and,
	// at debug level, what the connection survives; nil is slog.Default().
	Logger *slog.Logger
	// Events are told what a connection survives. They are called in order,
	// one at a time, off the reading goroutine; a slow or panicking one harms
	// nobody, and events that pile up are dropped and counted.
	Events []func(Event)
	// States are told each change of the connection's state, and Notifications
	// each notification of the peer, whether it has a handler or not: in order,
	// and as isolated as Events.
	States        []func(StateChange)
	Notifications []func(Notification)
	// Incoming wraps the handlers of requests, the first outermost: those of
	// the service whose options these are. ping and subscriptions/listen, which
	// no handler answers, do not pass.
	Incoming []Middleware
	// Outgoing wraps the calls that are made on the connection, the first
	// outermost. The handshake does not pass.
	Outgoing []Middleware
}

// maxInFlight is MaxInFlight, or its default.
func (o *Options) maxInFlight() int {
	if o.MaxInFlight > 0 {
		return o.MaxInFlight
	}
	return defaultInFlight
}

// Service answers the requests and notifications of one revision on one side.
// It is shared by all its connections and may not be changed once one uses it.
type Service struct {
	o       ServiceOptions
	rules   *revision.Rules
	entries map[string]*entry
	methods map[string]*Method
	caps    wire.Raw // own capabilities, nil if not given
	info    []byte   // "…/serverInfo":{…} for the _meta of results, nil if not added
	hub     *Hub
	own     func() *gate // what may be sent as far as the own capabilities say
	gatesMu sync.Mutex
	gates   map[gateKey]*gate
	invalid error // what keeps it from being used
	watch   func(ctx context.Context, uris []string) (honoured []string, end func())
}

// entry is what is registered for a method.
type entry struct {
	name     string
	method   *Method  // its row in the table, nil for one that is not there
	required bool     // params are
	declares []string // capabilities that the client has to declare with the request (stateless revisions)
	blocking bool
	check    func(*inbound) *Error // what the revision asks of the params besides, nil for nothing
	decode   func(d *wire.Dec) (any, error)
	call     func(ctx context.Context, params any, out []byte) ([]byte, error) // requests
	invoke   func(ctx context.Context, params any) (wire.Appender, error)      // requests, of local connections
	notify   func(ctx context.Context, params any) error                       // notifications
}

// embedded reports whether a method is only asked within results.
func (e *entry) embedded() bool { return e.method != nil && e.method.Embedded }

// NewService makes a service without handlers. Methods that the runtime
// answers itself (ping, cancelled, progress, subscriptions/listen) need none.
func NewService(o ServiceOptions) *Service {
	s := &Service{o: o, entries: map[string]*entry{}, methods: make(map[string]*Method, len(o.Methods)), hub: o.Hub}
	s.rules = revision.Like(o.Revision, o.Stateless)
	for i := range o.Methods {
		s.methods[o.Methods[i].Name] = &o.Methods[i]
	}
	if o.Capabilities != nil {
		s.caps = o.Capabilities.AppendJSON(nil)
		s.invalid = wire.Under("capabilities", checkOutput(s.caps, "", o.Capabilities))
	}
	if o.Info != nil && s.invalid == nil {
		s.invalid = wire.Under("info", checkOutput(o.Info.AppendJSON(nil), "", o.Info))
	}
	if s.rules.Stateless && o.Side == ServerSide && o.Info != nil {
		s.info = o.Info.AppendJSON(append(wire.AppendString(nil, metaServerInfo), ':'))
	}
	if len(s.o.Supported) == 0 {
		s.o.Supported = []string{o.Revision}
	}
	if s.hub == nil {
		s.hub = new(Hub)
	}
	s.own = sync.OnceValue(func() *gate { return newGate(s.o.Methods, s.o.Side, s.caps, nil) })
	return s
}

// Revision is the revision this service implements.
func (s *Service) Revision() string { return s.o.Revision }

// Side is the side this service answers for.
func (s *Service) Side() Side { return s.o.Side }

// Rules are the wire rules of its revision.
func (s *Service) Rules() *revision.Rules { return s.rules }

// Options are what the connections of this service keep to.
func (s *Service) Options() Options { return s.o.Options }

// Hub is where change notifications of this service are published.
func (s *Service) Hub() *Hub { return s.hub }

// Handles reports whether a handler is registered for a method, or a relay takes
// all of them.
func (s *Service) Handles(method string) bool { return s.entries[method] != nil || s.o.Relay != nil }

// Watch sets who is told when a subscriptions/listen asks for resources, before
// it is acknowledged: f returns those that are going to be watched, and a func
// that is called once the subscription has ended. It is called on a goroutine of
// the request's, and set before the service is used.
func (s *Service) Watch(f func(ctx context.Context, uris []string) (honoured []string, end func())) {
	s.watch = f
}

// Method returns a method's row in the revision's table, nil if it has none.
func (s *Service) Method(name string) *Method { return s.methods[name] }

// Capabilities is what this side advertises, as JSON; nil if not given.
func (s *Service) Capabilities() wire.Raw { return s.caps }

// Info describes the implementation, as JSON; nil if not given.
func (s *Service) Info() wire.Raw {
	if s.o.Info == nil {
		return nil
	}
	return s.o.Info.AppendJSON(nil)
}

// Bind returns the service itself. It fails with a *wire.Error when a raw value
// in its capabilities or its info is not JSON.
func (s *Service) Bind() (Chooser, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}
	return s, nil
}

// Bind binds what the user gave to a transport: it fails where b.Bind does, and
// when b, or what it binds, is nil.
func Bind(b Binder) (Chooser, error) {
	if isNil(b) {
		return nil, errNoBinder
	}
	ch, err := b.Bind()
	if err != nil {
		return nil, err
	}
	if s, ok := ch.(*Service); ok && s != nil {
		return s.Bind()
	}
	if isNil(ch) {
		return nil, fmt.Errorf("%T binds nothing", b)
	}
	return ch, nil
}

var errNoBinder = errors.New("no server or client to bind")

// isNil reports whether an interface holds nothing, or a nil pointer.
func isNil(x any) bool {
	if x == nil {
		return true
	}
	v := reflect.ValueOf(x)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Choose returns the service itself.
func (s *Service) Choose(*Conn, *Peek) *Service { return s }

// HandleRequest registers the handler of a request. A nil f registers nothing.
// Params that are absent reach f as an empty value, unless the method table
// says that they are required; f never gets nil. The handler owns what it gets;
// raw values in it alias the one message and stay valid. The result may be shared:
// it is only read.
func HandleRequest[P, R any, PP interface {
	*P
	wire.Decoder
}, PR interface {
	*R
	wire.Appender
}](s *Service, method string, f func(context.Context, PP) (PR, error)) {
	if f == nil {
		return
	}
	e := s.register(method)
	e.decode = func(d *wire.Dec) (any, error) {
		p := PP(new(P))
		err := p.DecodeJSON(d)
		return p, err
	}
	e.invoke = func(ctx context.Context, params any) (wire.Appender, error) {
		p, err := paramsAs[P, PP](params)
		if err != nil {
			return nil, err
		}
		r, err := f(ctx, p)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, errNoResult
		}
		return r, nil
	}
	e.call = func(ctx context.Context, params any, out []byte) ([]byte, error) {
		r, err := f(ctx, orEmpty[P, PP](params))
		if err != nil {
			return out, err
		}
		if r == nil {
			return out, errNoResult
		}
		n := len(out)
		out = r.AppendJSON(out)
		if err := badResult(out[n:], r); err != nil {
			return out, err
		}
		if s.info == nil {
			return out, nil
		}
		m, ok := any(r).(interface{ HasMeta() bool })
		return addMeta(out, n, metaServerInfo, s.info, ok && !m.HasMeta()), nil
	}
}

var errNoResult = errors.New("the handler returned neither a result nor an error")

// HandleNotification registers the handler of a notification. A nil f
// registers nothing: the notification is counted and dropped.
func HandleNotification[P any, PP interface {
	*P
	wire.Decoder
}](s *Service, method string, f func(context.Context, PP) error) {
	if f == nil {
		return
	}
	e := s.register(method)
	e.decode = func(d *wire.Dec) (any, error) {
		p := PP(new(P))
		err := p.DecodeJSON(d)
		return p, err
	}
	e.notify = func(ctx context.Context, params any) error {
		p, err := paramsAs[P, PP](params)
		if err != nil {
			return err
		}
		return f(ctx, p)
	}
}

// orEmpty is what a handler gets: reading a member of params that nobody sent
// must not need a check for nil.
func orEmpty[P any, PP interface{ *P }](params any) PP {
	if p, _ := params.(PP); p != nil {
		return p
	}
	return new(P)
}

func (s *Service) register(method string) *entry {
	e := &entry{name: method, method: s.methods[method]}
	e.required = e.method != nil && e.method.ParamsRequired
	if e.method != nil && !e.method.Notification && !e.method.Embedded && s.rules.Stateless && s.o.Side == ServerSide {
		for _, path := range e.method.Capabilities {
			if side, bare := capabilitySide(path, ClientSide, false); side == ClientSide && bare != "" {
				e.declares = append(e.declares, bare)
			}
		}
	}
	if !s.rules.Stateless && s.o.Side == ServerSide {
		e.check = checks[method]
	}
	s.entries[method] = e
	return e
}

// Then wraps a handler so that after runs when f succeeded, before the answer;
// a resource that Peer.Subscribe refuses there is the answer's error.
// A nil f stays nil.
func Then[P, R any](f func(context.Context, *P) (*R, error), after func(context.Context, *P)) func(context.Context, *P) (*R, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) (*R, error) {
		r, err := f(ctx, p)
		if err != nil {
			return r, err
		}
		after(ctx, p)
		if err := inboundOf(ctx).refusal(); err != nil {
			return nil, err
		}
		return r, nil
	}
}

// Blocking marks handlers that are known to block: the frames that follow are
// read elsewhere at once, not only when the carrier's monitor notices.
func (s *Service) Blocking(methods ...string) {
	for _, m := range methods {
		if e := s.entries[m]; e != nil {
			e.blocking = true
		}
	}
}

// addMeta puts member, whose name is name, into the _meta of the params or the
// result at out[n:], unless it has one. fresh says that there is no _meta.
func addMeta(out []byte, n int, name string, member []byte, fresh bool) []byte {
	if len(out) < n+2 || out[n] != '{' {
		return out
	}
	var meta wire.Raw
	if !fresh {
		meta = wire.Raw(out[n:]).Get("_meta")
	}
	switch {
	case meta == nil:
		out = out[:len(out)-1]
		if len(out) > n+1 {
			out = append(out, ',')
		}
		out = append(out, `"_meta":{`...)
		out = append(out, member...)
		return append(out, "}}"...)
	case meta.Kind() != wire.KindObject || meta.Get(name) != nil:
		return out
	}
	// Splice the member in behind the brace that opens _meta. The value
	// aliases out, so its place is the difference of what is left behind.
	at := bytes.Index(out[n:], meta)
	for at >= 0 && &out[n+at] != &meta[0] {
		k := bytes.Index(out[n+at+1:], meta)
		if k < 0 {
			return out
		}
		at += 1 + k
	}
	if at < 0 {
		return out
	}
	at += n + 1
	empty := emptyObject(meta)
	tail := append([]byte(nil), out[at:]...)
	out = append(out[:at], member...)
	if !empty {
		out = append(out, ',')
	}
	return append(out, tail...)
}

func emptyObject(r wire.Raw) bool {
	for range r.Members() {
		return false
	}
	return true
}

// The names that the stateless revisions give to the members of _meta.
const (
	metaPrefix         = "io.modelcontextprotocol/"
	metaVersion        = metaPrefix + "protocolVersion"
	metaCapabilities   = metaPrefix + "clientCapabilities"
	metaServerInfo     = metaPrefix + "serverInfo"
	metaSubscriptionID = metaPrefix + "subscriptionId"
	metaLogLevel       = metaPrefix + "logLevel"
)
