package compat

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	step "github.com/goldwire/goldwire/generated/mcp/step20260728"
	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file is what a client of one of 2025-11-25 and 2026-07-28 needs to call a
// server of the other.

// clientFunc wraps a client's func for a request of the server. A nil f stays
// nil.
func clientFunc[P, Q, R, S any](method string, to func(P, *wire.Env) (Q, error), f func(context.Context, Q) (R, error), back func(R, *wire.Env) (S, error)) func(context.Context, P) (S, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p P) (none S, err error) {
		e := wire.EnvOf(ctx)
		if e.ElicitationID == nil {
			e.ElicitationID = rand.Text
		}
		q, err := to(p, &e)
		e.Report(method, "params")
		if err != nil {
			return none, badParams(err)
		}
		r, err := f(ctx, q)
		if err != nil {
			return none, err
		}
		s, err := back(r, &e)
		e.Report(method, "result")
		return s, err
	}
}

// noteFunc wraps a client's func for a notification of the server. A nil f stays
// nil.
func noteFunc[P, Q any](to func(*P, *wire.Env) (*Q, error), f func(context.Context, *Q) error) func(context.Context, *P) error {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) error {
		q, err := to(p, nil)
		if err != nil {
			return err
		}
		return f(ctx, q)
	}
}

// upClient makes a client of 2025-11-25 one of 2026-07-28.
func upClient(c older.Client) newer.Client {
	out := newer.Client{
		ElicitationForm:     c.ElicitationForm,
		ElicitationURL:      c.ElicitationURL,
		SamplingContext:     c.SamplingContext,
		SamplingTools:       c.SamplingTools,
		Experimental:        c.Experimental,
		Unknown:             unknown(older.Methods, nil, c.Unknown),
		UnknownNotification: unknownNote(older.Methods, c.UnknownNotification),
		Options:             c.Options,
		Tasks:               true, // calls that do not ask for one wait for its end

		Elicit:        clientFunc(newer.MethodElicitationCreate, step.DowngradeElicitParams, c.Elicit, step.UpgradeElicitResult),
		CreateMessage: clientFunc(newer.MethodSamplingCreateMessage, step.DowngradeCreateMessageParams, c.CreateMessage, step.UpgradeCreateMessageResult),
		ListRoots:     clientFunc(newer.MethodRootsList, step.DowngradeListRootsParams, c.ListRoots, step.UpgradeListRootsResult),

		LoggingMessage:      noteFunc(step.DowngradeLoggingMessageParams, c.LoggingMessage),
		PromptListChanged:   noteFunc(step.DowngradePromptListChangedParams, c.PromptListChanged),
		ResourceListChanged: noteFunc(step.DowngradeResourceListChangedParams, c.ResourceListChanged),
		ResourceUpdated:     noteFunc(step.DowngradeResourceUpdatedParams, c.ResourceUpdated),
		ToolListChanged:     noteFunc(step.DowngradeToolListChangedParams, c.ToolListChanged),
	}
	if info, err := step.UpgradeImplementation(&c.Info, nil); err == nil {
		out.Info = *info
	}
	return out
}

// downClient makes a client of 2026-07-28 one of 2025-11-25. It hears of what it
// listens to.
func downClient(l *listening) older.Client {
	c := &l.client
	out := older.Client{
		ElicitationForm:     c.ElicitationForm,
		ElicitationURL:      c.ElicitationURL,
		SamplingContext:     c.SamplingContext,
		SamplingTools:       c.SamplingTools,
		Experimental:        c.Experimental,
		Unknown:             unknown(newer.Methods, nil, c.Unknown),
		UnknownNotification: unknownNote(newer.Methods, c.UnknownNotification),
		Options:             c.Options,

		Elicit:        clientFunc(older.MethodElicitationCreate, step.UpgradeElicitParams, c.Elicit, step.DowngradeElicitResult),
		CreateMessage: clientFunc(older.MethodSamplingCreateMessage, step.UpgradeCreateMessageParams, c.CreateMessage, step.DowngradeCreateMessageResult),
		ListRoots:     clientFunc(older.MethodRootsList, step.UpgradeListRootsParams, c.ListRoots, step.DowngradeListRootsResult),

		LoggingMessage:      noteFunc(step.UpgradeLoggingMessageParams, c.LoggingMessage),
		PromptListChanged:   noteFunc(step.UpgradePromptListChangedParams, l.promptListChanged),
		ResourceListChanged: noteFunc(step.UpgradeResourceListChangedParams, l.resourceListChanged),
		ResourceUpdated:     noteFunc(step.UpgradeResourceUpdatedParams, l.resourceUpdated),
		ToolListChanged:     noteFunc(step.UpgradeToolListChangedParams, l.toolListChanged),
	}
	if info, err := step.DowngradeImplementation(&c.Info, nil); err == nil {
		out.Info = *info
	}
	return out
}

// listening is what a client of 2026-07-28 listens to on a server of a stateful
// revision, which tells it of everything.
type listening struct {
	client newer.Client
	server *up
	conn   *jsonrpc.Conn

	mu     sync.Mutex
	nextID int64
	subs   map[*jsonrpc.Subscription]*listened
}

// listened is what one subscription honours.
type listened struct {
	id                        jsonrpc.ID
	tools, prompts, resources bool
	uris                      []string
}

// listen opens a subscription: the server is asked to tell of the resources, and
// tells of changes of its lists anyway.
func (l *listening) listen(ctx context.Context, params any) (*jsonrpc.Subscription, error) {
	p, _ := params.(*newer.SubscriptionsListenParams)
	if p == nil {
		p = new(newer.SubscriptionsListenParams)
	}
	is := func(b *bool) bool { return b != nil && *b }
	s, n := &l.server.server, &p.Notifications
	x := &listened{
		tools:     s.ToolsListChanged && is(n.ToolsListChanged),
		prompts:   s.PromptsListChanged && is(n.PromptsListChanged),
		resources: s.ResourcesListChanged && is(n.ResourcesListChanged),
	}
	end := func() {}
	if len(n.ResourceSubscriptions) > 0 {
		if uris, unwatch := l.server.watch(ctx, n.ResourceSubscriptions); len(uris) > 0 {
			x.uris, end = uris, unwatch
		}
	}
	on := func(b bool) *bool {
		if b {
			return new(true)
		}
		return nil
	}
	honours := newer.SubscriptionFilter{ToolsListChanged: on(x.tools), PromptsListChanged: on(x.prompts), ResourcesListChanged: on(x.resources), ResourceSubscriptions: x.uris}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.nextID++
	x.id = jsonrpc.NewID(l.nextID)
	var sub *jsonrpc.Subscription
	sub = jsonrpc.NewSubscription(x.id, honours.AppendJSON(nil), func() {
		l.mu.Lock()
		delete(l.subs, sub)
		l.mu.Unlock()
		end()
	})
	l.subs[sub] = x
	go func() { // it ends with the connection at the latest
		select {
		case <-l.conn.Done():
			sub.End(&jsonrpc.ClosedError{Cause: l.conn.Err()})
		case <-sub.Done():
		}
	}()
	return sub, nil
}

// heard calls f with the id of each subscription that wants something.
func (l *listening) heard(wants func(*listened) bool, f func(newer.NotificationMeta) error) error {
	l.mu.Lock()
	var ids []jsonrpc.ID
	for _, x := range l.subs {
		if wants(x) {
			ids = append(ids, x.id)
		}
	}
	l.mu.Unlock()
	var all []error
	for _, id := range ids {
		all = append(all, f(newer.NotificationMeta{SubscriptionID: id}))
	}
	return errors.Join(all...)
}

func (l *listening) toolListChanged(ctx context.Context, p *newer.ToolListChangedParams) error {
	if l.client.ToolListChanged == nil {
		return nil
	}
	return l.heard(func(x *listened) bool { return x.tools }, func(m newer.NotificationMeta) error {
		return l.client.ToolListChanged(ctx, &newer.ToolListChangedParams{Meta: &m, Extra: p.Extra})
	})
}

func (l *listening) promptListChanged(ctx context.Context, p *newer.PromptListChangedParams) error {
	if l.client.PromptListChanged == nil {
		return nil
	}
	return l.heard(func(x *listened) bool { return x.prompts }, func(m newer.NotificationMeta) error {
		return l.client.PromptListChanged(ctx, &newer.PromptListChangedParams{Meta: &m, Extra: p.Extra})
	})
}

func (l *listening) resourceListChanged(ctx context.Context, p *newer.ResourceListChangedParams) error {
	if l.client.ResourceListChanged == nil {
		return nil
	}
	return l.heard(func(x *listened) bool { return x.resources }, func(m newer.NotificationMeta) error {
		return l.client.ResourceListChanged(ctx, &newer.ResourceListChangedParams{Meta: &m, Extra: p.Extra})
	})
}

func (l *listening) resourceUpdated(ctx context.Context, p *newer.ResourceUpdatedParams) error {
	if l.client.ResourceUpdated == nil {
		return nil
	}
	return l.heard(func(x *listened) bool {
		return slices.ContainsFunc(x.uris, func(u string) bool { return holds(u, p.URI) })
	}, func(m newer.NotificationMeta) error {
		return l.client.ResourceUpdated(ctx, &newer.ResourceUpdatedParams{URI: p.URI, Meta: &m, Extra: p.Extra})
	})
}

// holds reports whether a watched URI is another, or above it.
func holds(watched, uri string) bool {
	rest, ok := strings.CutPrefix(uri, watched)
	return ok && (rest == "" || strings.HasSuffix(watched, "/") || strings.HasPrefix(rest, "/"))
}

// remote is a server of 2026-07-28 that a client of 2025-11-25 calls.
type remote struct {
	server *newer.RemoteServer // nil in a gateway
	conn   *jsonrpc.Conn       // to it
	offers *newer.Server       // what it says of itself
	client newer.Client        // that each request names

	mu      sync.Mutex
	level   string               // that the client set
	watched map[string]*resource // by URI
	opening int                  // that are about to be watched
}

// resource is one that is listened to until stop is called.
type resource struct {
	sub  *jsonrpc.Subscription // the latest; guarded by remote.mu
	stop context.CancelFunc
}

// maxWatched bounds the resources that are listened to over one connection. Each
// listen is a request in flight for as long as it lasts: calls keep their room.
const maxWatched = 256

// room is how many resources may be listened to: a quarter of what may be in
// flight. Where there is none the lists are not listened to either.
func (r *remote) room() int {
	if svc := r.conn.Service(); svc != nil && svc.Options().MaxInFlight > 0 {
		return min(maxWatched, svc.Options().MaxInFlight/4)
	}
	return maxWatched
}

func (r *remote) logLevel() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.level
}

// fill adds what a server of 2025-11-25 has and one of 2026-07-28 has not.
func (r *remote) fill(out *older.Server) {
	if r.server.Logging {
		out.SetLevel = func(_ context.Context, p *older.SetLevelParams) (*older.EmptyResult, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.level = string(p.Level)
			return new(older.EmptyResult), nil
		}
	}
	if r.server.ResourcesSubscribe {
		out.Subscribe, out.Unsubscribe = r.subscribe, r.unsubscribe
	}
	out.RootsListChanged = func(context.Context, *older.RootsListChangedParams) error { return nil } // it asks anew each time
}

func (r *remote) open(ctx context.Context, p *newer.SubscriptionsListenParams) (*jsonrpc.Subscription, error) {
	return jsonrpc.Listen[newer.SubscriptionsListenParams](ctx, r.conn, p, nil)
}

// subscribe listens to one resource until unsubscribe, also when the server ends
// the subscription meanwhile. It returns once the server listens. What lasts holds
// nothing of the request, which may be another peer's and large.
func (r *remote) subscribe(ctx context.Context, p *older.SubscribeParams) (*older.EmptyResult, error) {
	uri := strings.Clone(p.URI) // it may be part of the message
	r.mu.Lock()
	before := r.watched[uri]
	if before != nil {
		select {
		case <-before.sub.Done(): // it has to be opened again
		default:
			r.mu.Unlock()
			return new(older.EmptyResult), nil
		}
	} else if room := r.room(); len(r.watched)+r.opening >= room {
		r.mu.Unlock()
		return nil, jsonrpc.Errorf(jsonrpc.CodeOverloaded, "subscribed to %d resources already, which is all that may be", room)
	} else {
		r.opening++
		defer func() {
			r.mu.Lock()
			r.opening--
			r.mu.Unlock()
		}()
	}
	r.mu.Unlock()
	bare, end := context.WithCancelCause(jsonrpc.WithCallOptions(context.Background(), jsonrpc.CallOptionsOf(ctx)))
	defer end(nil)
	defer context.AfterFunc(ctx, func() { end(jsonrpc.ContextError(ctx)) })()
	sub, err := r.openResource(bare, uri)
	if err != nil {
		return nil, err
	}
	within, stop := context.WithCancel(jsonrpc.WithCallOptions(context.Background(), jsonrpc.CallOptions{Timeout: new(watchTimeout)}))
	w := &resource{sub: sub, stop: stop}
	r.mu.Lock()
	before = r.watched[uri]
	r.watched[uri] = w
	r.mu.Unlock()
	before.end()
	go func() {
		defer stop()
		r.keepOpen(within, sub, nil, func() (*jsonrpc.Subscription, error) {
			sub, err := r.openResource(within, uri)
			if err != nil {
				return nil, err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			w.sub = sub
			return sub, nil
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.watched[uri] == w { // it is refused now, and takes no room
			delete(r.watched, uri)
		}
	}()
	return new(older.EmptyResult), nil
}

// openResource opens a subscription to one resource, which the server has to
// honour.
func (r *remote) openResource(ctx context.Context, uri string) (*jsonrpc.Subscription, error) {
	sub, err := r.open(ctx, &newer.SubscriptionsListenParams{Notifications: newer.SubscriptionFilter{ResourceSubscriptions: []string{uri}}})
	if err != nil {
		return nil, err
	}
	for u := range sub.Honoured().Get("resourceSubscriptions").Elems() {
		if s, _ := u.Str(); s == uri {
			return sub, nil
		}
	}
	sub.Close()
	e := notFound(uri)
	e.Remote = true
	return nil, e
}

// end ends a resource's subscription; keepOpen closes it. A nil one has none.
func (w *resource) end() {
	if w != nil {
		w.stop()
	}
}

func (r *remote) unsubscribe(_ context.Context, p *older.UnsubscribeParams) (*older.EmptyResult, error) {
	r.mu.Lock()
	w := r.watched[p.URI]
	delete(r.watched, p.URI)
	r.mu.Unlock()
	w.end()
	return new(older.EmptyResult), nil
}

// How long a subscription that ended rests before it is opened again, and up to half
// as long again: those that ended together do not come back together.
const (
	minListenRest = time.Second
	maxListenRest = 30 * time.Second

	maxListenAfter = 24 * time.Hour // however long the server wants
)

// listen keeps a subscription open for the changes of lists that the client wants
// to hear of and the server tells of, as long as the connection lasts. It returns
// when the first attempt has been made.
func (r *remote) listen(ctx context.Context) {
	c := &r.client
	on := func(flag bool, f bool) *bool {
		if flag && f {
			return new(true)
		}
		return nil
	}
	p := &newer.SubscriptionsListenParams{Notifications: newer.SubscriptionFilter{
		ToolsListChanged:     on(r.offers.ToolsListChanged, c.ToolListChanged != nil),
		PromptsListChanged:   on(r.offers.PromptsListChanged, c.PromptListChanged != nil),
		ResourcesListChanged: on(r.offers.ResourcesListChanged, c.ResourceListChanged != nil),
	}}
	if n := &p.Notifications; n.ToolsListChanged == nil && n.PromptsListChanged == nil && n.ResourcesListChanged == nil || r.room() == 0 {
		return
	}
	o := jsonrpc.CallOptionsOf(ctx)
	o.Timeout = new(probeTimeout)
	ctx = jsonrpc.WithCallOptions(ctx, o)
	sub, err := r.open(ctx, p)
	ctx = jsonrpc.WithCallOptions(context.WithoutCancel(ctx), o)
	go r.keepOpen(ctx, sub, err, func() (*jsonrpc.Subscription, error) { return r.open(ctx, p) })
}

// keepOpen opens a subscription again whenever it has ended, in good order or not:
// a server that is restarted ends them too. It returns when ctx or the connection
// ends, or the server refuses or has nothing to tell. A subscription that does not
// last rests longer each time. sub and err are of the first attempt.
func (r *remote) keepOpen(ctx context.Context, sub *jsonrpc.Subscription, err error, open func() (*jsonrpc.Subscription, error)) {
	for rest := minListenRest; ; rest = min(2*rest, maxListenRest) {
		if err == nil {
			if !tells(sub) {
				sub.Close()
				return
			}
			began := time.Now()
			select {
			case <-sub.Done():
				err = sub.Err()
			case <-ctx.Done():
				sub.Close()
				return
			case <-r.conn.Done():
				return
			}
			if time.Since(began) >= maxListenRest {
				rest = minListenRest
			}
		}
		after, ok := mayListen(err)
		if !ok {
			return
		}
		select {
		case <-time.After(max(after, rest+mathrand.N(rest/2))):
		case <-ctx.Done():
			return
		case <-r.conn.Done():
			return
		}
		sub, err = open()
	}
}

// tells reports whether the server honours anything of a subscription.
func tells(sub *jsonrpc.Subscription) bool {
	for _, v := range sub.Honoured().Members() {
		if on, is := v.Bool(); on || !is {
			return true
		}
	}
	return false
}

// mayListen reports whether a server may listen another time that did not, or not any
// more, and how long it wants to be left alone until then. One that is stopped or full
// says no more than that it cannot now.
func mayListen(err error) (after time.Duration, ok bool) {
	var p jsonrpc.Passing
	if errors.As(err, &p) {
		after, ok = p.Passes()
	}
	e, answered := errors.AsType[*jsonrpc.Error](err)
	if !answered || ok {
		return after, true
	}
	if ms, says := e.Data.Get("retryAfterMs").Int(); says {
		after = time.Duration(min(max(ms, 0), maxListenAfter.Milliseconds())) * time.Millisecond
	}
	return after, e.Temporary()
}
