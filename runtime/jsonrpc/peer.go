package jsonrpc

import (
	"context"
	"fmt"
	"math"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Peer is the other side, as a handler sees it. It is a small value; the zero
// Peer, which PeerOf gives outside of handlers, fails with ErrNoPeer.
type Peer struct {
	in *inbound
	as *seen // where the handler is written for another revision; in is nil then
}

// PeerOf returns the peer of the handler that ctx belongs to.
func PeerOf(ctx context.Context) Peer {
	switch x := ctx.Value(inboundKey{}).(type) {
	case *inbound:
		return Peer{in: x}
	case *seen:
		return Peer{as: x}
	}
	return Peer{}
}

// request is the request or notification that is being handled, nil for none.
func (p Peer) request() *inbound {
	if p.as != nil {
		return p.as.request()
	}
	return p.in
}

// Conn is the connection, nil outside of a handler. Of a handler that is written
// for another revision than the client's it is one on which the client speaks
// the handler's (WithPeer).
func (p Peer) Conn() *Conn {
	if p.as != nil && p.as.as.Client != nil {
		return p.as.client()
	}
	if in := p.request(); in != nil {
		return in.c
	}
	return nil
}

// Service is the service whose handler runs, nil outside of a handler.
func (p Peer) Service() *Service {
	in := p.request()
	if in == nil {
		return nil
	}
	return in.svc
}

// ID is the id of the request being handled, zero in a notification's handler.
func (p Peer) ID() ID {
	in := p.request()
	if in == nil {
		return ID{}
	}
	return in.id
}

// Method is the method being handled.
func (p Peer) Method() string {
	in := p.request()
	if in == nil {
		return ""
	}
	return in.method
}

// Metadata is what the _meta of the params said.
func (p Peer) Metadata() Metadata {
	if p.as != nil {
		if m, ok := p.as.params.(interface{ Metadata() Metadata }); ok {
			return m.Metadata()
		}
	}
	in := p.request()
	if in == nil {
		return Metadata{}
	}
	return in.metadata()
}

// Header holds the carrier's headers of the message, nil where there are none.
func (p Peer) Header() map[string][]string {
	in := p.request()
	if in == nil {
		return nil
	}
	return in.header
}

// Message is the whole message as it came. It may be read as long as the
// handler likes.
func (p Peer) Message() wire.Raw {
	in := p.request()
	if in == nil {
		return nil
	}
	return in.data
}

// Cause says why the handler's context ended: a *CanceledError when the peer
// cancelled the request. It is nil while the context has not ended.
func (p Peer) Cause() error {
	in := p.request()
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.seldom == nil {
		return nil
	}
	return in.seldom.cause
}

// Notify sends a notification that belongs to the request being handled,
// before its answer. After the answer it fails with a *StateError.
func (p Peer) Notify(ctx context.Context, method string, params wire.Appender) error {
	in := p.request()
	if in == nil {
		return ErrNoPeer
	}
	if p.as != nil && p.as.as.Client != nil && method != methodMessage {
		if _, change := topicOf(method); !change {
			c := p.as.client()
			if c == nil {
				return ErrNoPeer
			}
			return c.notify(ctx, nil, method, params)
		}
	}
	return in.c.notify(ctx, in, method, params)
}

// none is what comes of telling nobody: nothing, where the request of a handler
// that goes on is over (Lasting), and an error outside of handlers.
func (p Peer) none() error {
	if p.as != nil {
		return nil
	}
	return ErrNoPeer
}

// WantsProgress reports whether the peer asked for progress.
func (p Peer) WantsProgress() bool {
	in := p.request()
	return in != nil && !in.progressToken().IsZero()
}

func (in *inbound) progressToken() ID {
	in.mu.Lock()
	set, token := in.tokenSet, in.token
	in.mu.Unlock()
	if set || in.id.IsZero() {
		return token
	}
	token = in.metadata().ProgressToken
	in.mu.Lock()
	in.token, in.tokenSet = token, true
	in.mu.Unlock()
	return token
}

// Progress reports progress on the request being handled. Nothing is sent
// when the peer asked for none, when the value has not grown, or after the
// answer. total may be nil and message empty. Specification:
// basic/utilities/progress, basic/patterns/progress (2026-07-28).
func (p Peer) Progress(ctx context.Context, progress float64, total *float64, message string) error {
	in := p.request()
	if in == nil {
		return p.none()
	}
	token := in.progressToken()
	if token.IsZero() {
		return nil
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if in.closed() || math.IsNaN(progress) || in.reported && progress <= in.progress {
		return nil
	}
	in.reported, in.progress = true, progress
	if !in.svc.rules.ProgressMessage {
		message = ""
	}
	return in.c.sendFrame(ctx, in.ex, AppendNotification(nil, methodProgress, progressParams{token, progress, total, message}))
}

// relay passes on progress on a call that was made for this request with its
// token.
func (in *inbound) relay(p Progress) {
	in.sending.Lock()
	defer in.sending.Unlock()
	if in.closed() || in.reported && p.Progress <= in.progress {
		return
	}
	in.reported, in.progress = true, p.Progress
	_ = in.c.sendFrame(in, in.ex, AppendNotification(nil, methodProgress, relayedProgress{in.progressToken(), p.Params}))
}

// relayedProgress are the params of progress with another token.
type relayedProgress struct {
	token  ID
	params wire.Raw
}

func (p relayedProgress) AppendJSON(b []byte) []byte {
	b = append(b, `{"progressToken":`...)
	b = p.token.AppendJSON(b)
	for name, v := range p.params.Members() {
		if name != "progressToken" {
			b = wire.AppendRaw(append(wire.AppendString(append(b, ','), name), ':'), v)
		}
	}
	return append(b, '}')
}

// tokenParams are raw params with another progress token.
type tokenParams struct {
	params wire.Raw
	token  ID
}

func (p tokenParams) AppendJSON(b []byte) []byte {
	n := len(b)
	for name, v := range p.params.Members() {
		b = append(wire.AppendString(append(b, ','), name), ':')
		if name != "_meta" {
			b = wire.AppendRaw(b, v)
			continue
		}
		m := len(b)
		for name, v := range v.Members() {
			b = append(wire.AppendString(append(b, ','), name), ':')
			if name == "progressToken" {
				b = p.token.AppendJSON(b)
			} else {
				b = wire.AppendRaw(b, v)
			}
		}
		b = wire.CloseObject(b, m)
	}
	return wire.CloseObject(b, n)
}

type progressParams struct {
	token    ID
	progress float64
	total    *float64
	message  string
}

func (p progressParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"progressToken":`...)
	b = p.token.AppendJSON(b)
	b = append(b, `,"progress":`...)
	b = wire.AppendFloat(b, p.progress)
	if p.total != nil {
		b = append(b, `,"total":`...)
		b = wire.AppendFloat(b, *p.total)
	}
	if p.message != "" {
		b = append(b, `,"message":`...)
		b = wire.AppendString(b, p.message)
	}
	return append(b, '}')
}

// Log sends notifications/message with the given params, if the peer asked
// for this level: in stateless revisions in the _meta of the request being
// handled, in stateful ones with logging/setLevel (before that, everything is
// sent). Without the logging capability it fails with a *NotAdvertisedError.
// Specification: server/utilities/logging.
func (p Peer) Log(ctx context.Context, level string, params wire.Appender) error {
	switch {
	case p.request() == nil:
		return p.none()
	case levelRank(level) < 0:
		return fmt.Errorf("no such log level: %q", level)
	case !p.Logs(level):
		return nil
	}
	return p.Notify(ctx, methodMessage, params)
}

// Logs reports whether Log would send something of this level.
func (p Peer) Logs(level string) bool {
	in := p.request()
	return in != nil && in.c.logs(in, in.svc, levelRank(level))
}

// logs reports whether a log message of a level may be sent, for the request in
// where there is one.
func (c *Conn) logs(in *inbound, svc *Service, rank int) bool {
	if !svc.rules.Stateless {
		return rank >= int(c.logLevel.Load())
	}
	if in == nil {
		return false
	}
	least := in.metadata().LogLevel
	return least != "" && rank >= levelRank(least)
}

// LogLevel is the least level that Log sends, "" for none.
func (p Peer) LogLevel() string {
	in := p.request()
	switch {
	case in == nil:
		return ""
	case in.svc.rules.Stateless:
		return in.metadata().LogLevel
	}
	return levels[in.c.logLevel.Load()]
}

// SetLogLevel sets the least level that Log sends on this connection. A level
// that does not exist changes nothing.
func (p Peer) SetLogLevel(level string) {
	in := p.request()
	if r := levelRank(level); in != nil && r >= 0 {
		in.c.logLevel.Store(int32(r))
	}
}

// Subscribe adds a resource to those that this connection hears of (stateful
// revisions; the Hub looks there). A connection has at most 10,000, and 1 MiB of
// URIs: what is beyond is refused with an *Error, CodeOverloaded, which also
// becomes the answer to the request that is handled where Then was used.
func (p Peer) Subscribe(uri string) error {
	in := p.request()
	if in == nil {
		return ErrNoPeer
	}
	err := in.c.subscribe(uri)
	if err == nil {
		return nil
	}
	in.mu.Lock()
	in.more().refused = err
	in.mu.Unlock()
	return err
}

// Unsubscribe forgets a resource.
func (p Peer) Unsubscribe(uri string) {
	if in := p.request(); in != nil {
		in.c.unsubscribe(uri)
	}
}

// ToolsListChanged tells the peer that the list of tools changed: in stateful
// revisions this peer, in stateless ones all that listen.
func (p Peer) ToolsListChanged(ctx context.Context) error {
	return p.changed(ctx, change{t: topicTools})
}

// PromptsListChanged is the same for the list of prompts.
func (p Peer) PromptsListChanged(ctx context.Context) error {
	return p.changed(ctx, change{t: topicPrompts})
}

// ResourcesListChanged is the same for the list of resources.
func (p Peer) ResourcesListChanged(ctx context.Context) error {
	return p.changed(ctx, change{t: topicResources})
}

// ResourceUpdated tells the peer, if it subscribed, that a resource changed.
func (p Peer) ResourceUpdated(ctx context.Context, uri string) error {
	return p.changed(ctx, change{t: topicUpdated, key: uri})
}

// TaskStatus says how a task of the tasks extension stands now, to all that
// listen for it: params are those of notifications/tasks.
func (p Peer) TaskStatus(ctx context.Context, taskID string, params wire.Appender) error {
	return p.changed(ctx, change{t: topicTasks, key: taskID, params: params.AppendJSON(nil)})
}

func (p Peer) changed(ctx context.Context, m change) error {
	in := p.request()
	if in == nil {
		return ErrNoPeer
	}
	if in.svc.rules.Listen || p.as != nil && p.as.listens() {
		in.svc.hub.publish(ctx, m)
		return nil
	}
	return in.c.changed(ctx, m)
}

// Detach declares that the handler is going to block: frames that follow are
// read elsewhere at once. Calls that a handler makes to the peer do it by
// themselves.
func (p Peer) Detach() {
	in := p.request()
	if in == nil || in.ex == nil {
		return
	}
	in.sending.Lock()
	defer in.sending.Unlock()
	if !in.closed() {
		in.ex.Detach()
	}
}

// WithPrincipal returns a context that names who is behind a request. The
// user's middleware in front of an HTTP transport sets it.
func WithPrincipal(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, principalKey{}, principal)
}

// Principal returns what WithPrincipal set, "" for none.
func Principal(ctx context.Context) string {
	s, _ := ctx.Value(principalKey{}).(string)
	return s
}

type principalKey struct{}
