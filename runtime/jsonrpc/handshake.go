package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Initialize makes the handshake of a stateful revision: it sends initialize
// (never cancelled by a notification), checks that the answer names the
// service's revision or one of its Supported (*VersionError), remembers the
// peer's info and capabilities, sends notifications/initialized, and is ready.
// When it fails it closes the connection. Specification: basic/lifecycle.
func Initialize[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, params PP) (PR, error) {
	r := PR(new(R))
	if raw, ok := c.handshaken(); ok {
		return r, c.decodeHandshake(ctx, methodInitialize, raw, r)
	}
	if c != nil && c.local != nil {
		return localHandshake[R, PR](ctx, c, methodInitialize, params)
	}
	var p wire.Appender
	if params != nil {
		p = params
	}
	raw, err := c.initialize(ctx, p)
	if err == nil {
		err = c.decodeHandshake(ctx, methodInitialize, raw, r)
	}
	if err == nil {
		err = c.declareInitialized(ctx)
	}
	if err != nil {
		return nil, c.abandon(ctx, err)
	}
	return r, nil
}

// InitializeRaw is Initialize for a result whose type depends on the revision
// that the peer chose: it returns the session, whose Result is the raw result.
// params are those of initialize. When the peer answers with an error the
// connection stays open, so that another handshake can be tried on it. Once it
// has succeeded, Initialize for the revision that was chosen makes no handshake
// but decodes this result.
func InitializeRaw(ctx context.Context, c *Conn, params wire.Appender) (Session, error) {
	_, err := c.initialize(ctx, params)
	if e, ok := err.(*Error); ok {
		c.mu.Lock()
		_ = c.transition(methodInitialize, Connecting)
		c.mu.Unlock()
		return Session{}, e
	}
	if err == nil {
		err = c.declareInitialized(ctx)
	}
	if err != nil {
		return Session{}, c.abandon(ctx, err)
	}
	return c.shaken(), nil
}

// DiscoverRaw is the same for Discover.
func DiscoverRaw(ctx context.Context, c *Conn, params wire.Appender) (Session, error) {
	w, err := c.discover(ctx, func(*call) wire.Appender { return params })
	if err != nil {
		if c.State() == Closed || errors.Is(err, ErrClosed) {
			return Session{}, c.abandon(ctx, err)
		}
		return Session{}, err
	}
	if err := c.discovered(w.raw); err != nil {
		return Session{}, c.abandon(ctx, err)
	}
	return c.shaken(), nil
}

// shaken marks that the handshake is made, for the bindings to join in.
func (c *Conn) shaken() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joinable = true
	return *c.session
}

// handshaken takes the result of a handshake that was made before, once.
func (c *Conn) handshaken() (wire.Raw, bool) {
	if c == nil {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.joinable {
		return nil, false
	}
	c.joinable = false
	return c.session.Result, true
}

// initialize runs the handshake up to the answer.
func (c *Conn) initialize(ctx context.Context, params wire.Appender) (wire.Raw, error) {
	if c == nil {
		return nil, ErrNoPeer
	}
	c.mu.Lock()
	err := c.transition(methodInitialize, Initializing)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w, err := c.begin(ctx, methodInitialize, nil)
	if err != nil {
		return nil, err
	}
	if err := c.roundTrip(ctx, w, params); err != nil {
		return nil, c.refused(ctx, methodInitialize, err)
	}
	raw := w.raw
	version, _ := raw.Get("protocolVersion").Str()
	s := Session{Revision: version, Info: raw.Get("serverInfo"), Capabilities: capabilitiesOf(raw), Result: raw}
	s.Instructions, _ = raw.Get("instructions").Str()
	svc := c.Service()
	if svc == nil { // the chooser sees the session
		c.mu.Lock()
		c.session = &s
		c.mu.Unlock()
		svc = c.ch.Choose(c, &Peek{Method: methodInitialized})
	}
	if svc == nil {
		return nil, &VersionError{Ours: c.ours(), Theirs: []string{version}}
	}
	if version != svc.o.Revision && !slices.Contains(svc.o.Supported, version) {
		return nil, &VersionError{Ours: svc.o.Supported, Theirs: []string{version}}
	}
	c.mu.Lock()
	c.setSession(svc, s)
	c.mu.Unlock()
	return raw, nil
}

// capabilitiesOf reads the capabilities of a handshake's result; a peer that
// names none advertises nothing.
func capabilitiesOf(result wire.Raw) wire.Raw {
	if r := result.Get("capabilities"); r.Kind() == wire.KindObject {
		return r
	}
	return wire.Raw("{}")
}

func (c *Conn) declareInitialized(ctx context.Context) error {
	if err := c.sendFrame(ctx, nil, AppendNotification(nil, methodInitialized, nil)); err != nil {
		return &CallError{Method: methodInitialized, Stage: StageSend, Err: err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transition(methodInitialized, Ready)
}

// abandon closes a connection whose handshake failed. When ctx has ended the
// caller does not wait for the carrier, which is released all the same.
func (c *Conn) abandon(ctx context.Context, err error) error {
	_ = c.Close(ctx)
	return fmt.Errorf("handshake: %w", err)
}

// decodeHandshake reads the result of a handshake, and does for it what is done
// for that of any call.
func (c *Conn) decodeHandshake(ctx context.Context, method string, raw wire.Raw, r wire.Decoder) error {
	problems, err := c.decodeResult(raw, r)
	if err != nil {
		return &CallError{Method: method, Stage: StageDecode, Err: err}
	}
	if len(problems) == 0 {
		return nil
	}
	w := &call{method: method, o: callOptions(ctx)}
	c.notePassedOver(w, ID{}, problems, raw)
	return w.judge(&StrictError{Problems: problems})
}

// Discover asks a stateless server what it offers: it sends server/discover,
// checks that the answer lists the service's revision (*VersionError),
// remembers the peer's info and capabilities, and is ready. When it fails it
// closes the connection; Probe does not. Specification: server/discover,
// basic/versioning (2026-07-28).
func Discover[R, P any, PR interface {
	*R
	wire.Decoder
}, PP Params[P]](ctx context.Context, c *Conn, params PP) (PR, error) {
	r := PR(new(R))
	if raw, ok := c.handshaken(); ok {
		return r, c.decodeHandshake(ctx, methodDiscover, raw, r)
	}
	if c != nil && c.local != nil {
		return localHandshake[R, PR](ctx, c, methodDiscover, params)
	}
	w, err := c.discover(ctx, func(w *call) wire.Appender { return withMetadata(c, w, params) })
	if err != nil {
		return nil, c.abandon(ctx, c.refused(ctx, methodDiscover, err))
	}
	if err := c.decodeHandshake(ctx, methodDiscover, w.raw, r); err != nil {
		return nil, c.abandon(ctx, err)
	}
	if err := c.discovered(w.raw); err != nil {
		return nil, c.abandon(ctx, err)
	}
	return r, nil
}

// discover sends server/discover. A server that refuses the version of the
// request although it lists that very version is asked once more: to go on with
// a version of its list is what a refused client is to do (basic/versioning,
// 2026-07-28).
func (c *Conn) discover(ctx context.Context, params func(*call) wire.Appender) (*call, error) {
	for asked := false; ; asked = true {
		w, err := c.begin(ctx, methodDiscover, nil)
		if err == nil {
			err = c.roundTrip(ctx, w, params(w))
		}
		e, refused := err.(*Error)
		if asked || !refused || e.Code != CodeUnsupportedProtocolVersion {
			return w, err
		}
		if svc := c.discovers(); svc == nil || !slices.Contains(supportedBy(e), svc.o.Revision) {
			return w, err
		}
	}
}

// discovers is the service that asks what a stateless server offers, nil for
// none.
func (c *Conn) discovers() *Service {
	if svc := c.Service(); svc != nil {
		return svc
	}
	return c.ch.Choose(c, &Peek{Method: methodDiscover})
}

func (c *Conn) discovered(raw wire.Raw) error {
	s := Session{Info: raw.Get("_meta").Get(metaServerInfo), Capabilities: capabilitiesOf(raw), Result: raw}
	s.Instructions, _ = raw.Get("instructions").Str()
	s.Supported = versionsIn(raw.Get("supportedVersions"))
	svc := c.discovers()
	if svc == nil || !slices.Contains(s.Supported, svc.o.Revision) {
		return &VersionError{Ours: c.ours(), Theirs: s.Supported}
	}
	s.Revision = svc.o.Revision
	c.mu.Lock()
	defer c.mu.Unlock()
	c.setSession(svc, s)
	if c.State() == Ready {
		return nil
	}
	return c.transition(methodDiscover, Ready)
}

// refused looks at how a peer refused a handshake. When it named the versions
// that it speaks, or does so when the handshake of the other era is tried, and
// ours is not among them, the error becomes a *VersionError. Specification:
// basic/versioning (2026-07-28), basic/lifecycle, version negotiation.
func (c *Conn) refused(ctx context.Context, method string, err error) error {
	e, ok := err.(*Error)
	svc := c.Service()
	if !ok || svc == nil {
		return err
	}
	theirs := supportedBy(e)
	if theirs == nil {
		switch e.Code {
		case CodeMethodNotFound, CodeInvalidRequest, CodeInvalidParams:
			theirs = c.askOtherEra(ctx, method)
		}
	}
	if len(theirs) == 0 || slices.Contains(theirs, svc.o.Revision) {
		return err
	}
	return &VersionError{Ours: []string{svc.o.Revision}, Theirs: theirs, Cause: e}
}

// ours lists what this side speaks.
func (c *Conn) ours() []string {
	if r, ok := c.ch.(interface{ Revisions() []string }); ok { // several
		return r.Revisions()
	}
	if svc := c.Service(); svc != nil {
		return []string{svc.o.Revision}
	}
	return nil
}

// supportedBy is the list of versions in the data of an error, nil if there is
// none.
func supportedBy(err error) (versions []string) {
	e, ok := err.(*Error)
	if !ok {
		return nil
	}
	return versionsIn(e.Data.Get("supported"))
}

func versionsIn(list wire.Raw) (versions []string) {
	for v := range list.Elems() {
		if s, ok := v.Str(); ok {
			versions = append(versions, s)
		}
	}
	return versions
}

// otherEraTimeout bounds what is asked only to make an error say more.
const otherEraTimeout = 5 * time.Second

// askOtherEra makes the first request of the other era's handshake, and returns
// the versions that come of it.
func (c *Conn) askOtherEra(ctx context.Context, method string) []string {
	o := CallOptionsOf(ctx)
	o.Timeout = new(otherEraTimeout)
	ctx = WithCallOptions(ctx, o)
	if method == methodInitialize {
		raw, err := callRaw(ctx, c, methodDiscover, discoverParams())
		if err != nil {
			return supportedBy(err)
		}
		return versionsIn(raw.Get("supportedVersions"))
	}
	raw, err := callRaw(ctx, c, methodInitialize, initializeParams())
	if err != nil {
		return supportedBy(err)
	}
	if v, ok := raw.Get("protocolVersion").Str(); ok {
		return []string{v}
	}
	return nil
}

// discoverParams are the params of a discovery by nobody in particular.
func discoverParams() wire.Raw {
	newest := revision.Stateless()
	return wire.Raw(`{"_meta":{"` + metaVersion + `":"` + newest[len(newest)-1] + `","` + metaCapabilities + `":{}}}`)
}

// initializeParams are the same for initialize.
func initializeParams() wire.Raw {
	return wire.Raw(`{"protocolVersion":"` + revision.LatestStateful() + `","capabilities":{},"clientInfo":{"name":"goldwire","version":"1"}}`)
}
