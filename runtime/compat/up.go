package compat

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
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

// This file makes a server of 2025-11-25 one of 2026-07-28.

// up is a server of 2025-11-25 that clients of 2026-07-28 call.
type up struct {
	server older.Server
	// keeper holds the calls whose handlers ask their client in the middle. It is
	// nil where the server is another peer's, which asks our own client by
	// itself.
	keeper *keeper
	// knowsTasks says, where keeper is nil, that our own client does.
	knowsTasks bool
	store      TaskStore // nil for one in memory
	// again says that Subscribe is called for each that watches a resource, as it
	// costs nothing while the server listens and opens anew what has ended.
	again bool

	mu    sync.Mutex
	level int                 // rank of the lowest log level that the server was told, len(levels) before
	uris  map[string]*watched // that subscriptions watch, or are about to
}

// serve makes the server of 2026-07-28.
func (u *up) serve() newer.Server {
	s := &u.server
	u.level, u.uris = len(levels), map[string]*watched{}
	out := newer.Server{
		Instructions:         s.Instructions,
		Logging:              s.SetLevel != nil,
		PromptsListChanged:   s.PromptsListChanged,
		ResourcesListChanged: s.ResourcesListChanged,
		ResourcesSubscribe:   s.Subscribe != nil,
		ToolsListChanged:     s.ToolsListChanged,
		Experimental:         s.Experimental,
		UnknownNotification:  unknownNote(older.Methods, s.UnknownNotification),
		Options:              s.Options,
		Hub:                  s.Hub,

		Complete:              upFunc(u, newer.MethodCompletionComplete, nil, step.DowngradeCompleteParams, s.Complete, step.UpgradeCompleteResult),
		ListPrompts:           upFunc(u, newer.MethodPromptsList, nil, step.DowngradeListPromptsParams, s.ListPrompts, step.UpgradeListPromptsResult),
		ListResources:         upFunc(u, newer.MethodResourcesList, nil, step.DowngradeListResourcesParams, s.ListResources, step.UpgradeListResourcesResult),
		ListResourceTemplates: upFunc(u, newer.MethodResourcesTemplatesList, nil, step.DowngradeListResourceTemplatesParams, s.ListResourceTemplates, step.UpgradeListResourceTemplatesResult),
		ListTools:             upFunc(u, newer.MethodToolsList, nil, step.DowngradeListToolsParams, s.ListTools, step.UpgradeListToolsResult),
		GetPrompt:             upFunc(u, newer.MethodPromptsGet, func(p *newer.GetPromptParams) inputs { return inputs{p.RequestState, p.InputResponses} }, step.DowngradeGetPromptParams, s.GetPrompt, step.UpgradeGetPromptResult),
		ReadResource:          upFunc(u, newer.MethodResourcesRead, func(p *newer.ReadResourceParams) inputs { return inputs{p.RequestState, p.InputResponses} }, step.DowngradeReadResourceParams, s.ReadResource, step.UpgradeReadResourceResult),
		CallTool:              upFunc(u, newer.MethodToolsCall, func(p *newer.CallToolParams) inputs { return inputs{p.RequestState, p.InputResponses} }, step.DowngradeCallToolParams, s.CallTool, step.UpgradeCallToolResult),
	}
	var as *jsonrpc.As
	if u.keeper != nil {
		as = u.keeper.asOlder
	}
	out.Unknown = unknown(older.Methods, as, s.Unknown)
	if info, err := step.UpgradeImplementation(&s.Info, nil); err == nil {
		out.Info = *info
	}
	if s.GetTask != nil && s.GetTaskPayload != nil && s.TasksRequestsToolsCall && s.CallTool != nil && s.ListTools != nil {
		u.serveTasks(&out)
	}
	return out
}

// inputs is what tells a round of a request from the one before.
type inputs struct {
	state     *string
	responses newer.InputResponses
}

// upFunc wraps the handler of one method. in reads the inputs of its params, nil
// where the method has none. A nil f stays nil.
func upFunc[P, Q, R, S any, PP jsonrpc.Params[P]](u *up, method string, in func(PP) inputs, down func(PP, *wire.Env) (*Q, error), f func(context.Context, *Q) (*R, error), up func(*R, *wire.Env) (*S, error)) func(context.Context, PP) (*S, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p PP) (*S, error) {
		e, m := wire.EnvOf(ctx), p.Metadata()
		e.Meta = told(m)
		q, err := down(p, &e)
		e.Report(method, "params")
		if err != nil {
			return nil, badParams(err)
		}
		if m.LogLevel != "" {
			u.setLevel(ctx, m.LogLevel)
		}
		var r *R
		switch k := u.keeper; {
		case k == nil:
			r, err = f(ctx, q)
		case in == nil:
			r, err = f(jsonrpc.WithPeer(ctx, k.asOlder, q), q)
		default:
			if i := in(p); i.state == nil && !mayBeAsked(m) {
				r, err = f(jsonrpc.WithPeer(ctx, k.asOlder, q), q)
			} else {
				r, err = keep(ctx, k, q, i, func(ctx context.Context) (*R, error) { return f(ctx, q) })
			}
		}
		if err != nil {
			return nil, step.UpgradeError(method, err)
		}
		if r == nil {
			return nil, nil
		}
		out, err := up(r, &e)
		e.Report(method, "result")
		if err != nil {
			return nil, badResult(method, err)
		}
		return out, nil
	}
}

// told is what a conversion has to know of what a request says of its client: the
// handler learns it in another way, so that it is not lost.
func told(m jsonrpc.Metadata) *newer.RequestMeta {
	if c, _ := m.ClientCapabilities.(*newer.ClientCapabilities); c != nil && c.Extensions != nil {
		return &newer.RequestMeta{ClientCapabilities: *c}
	}
	return &nothingMore
}

var nothingMore newer.RequestMeta

// mayBeAsked reports whether a client declares anything that a handler could ask
// of it.
func mayBeAsked(m jsonrpc.Metadata) bool {
	c, _ := m.ClientCapabilities.(*newer.ClientCapabilities)
	return c != nil && (c.Elicitation != nil || c.Sampling != nil || c.Roots != nil)
}

// client is the client of a request of 2026-07-28 as the handler sees it: what it
// declares can be asked where the handler's call is kept.
func (k *keeper) client(ctx context.Context) jsonrpc.Binder {
	m := jsonrpc.PeerOf(ctx).Metadata()
	var out older.Client
	if i, _ := m.ClientInfo.(*newer.Implementation); i != nil {
		if i, err := step.DowngradeImplementation(i, nil); err == nil {
			out.Info = *i
		}
	}
	caps, _ := m.ClientCapabilities.(*newer.ClientCapabilities)
	if caps == nil {
		return out
	}
	out.Experimental = caps.Experimental
	c, _ := ctx.Value(keptKey{k}).(*kept)
	if c == nil {
		return out
	}
	if x := caps.Elicitation; x != nil {
		out.ElicitationForm, out.ElicitationURL = x.Form != nil, x.URL != nil
		out.Elicit = func(ctx context.Context, p older.ElicitParams) (*older.ElicitResult, error) {
			return askKept(ctx, c, newer.MethodElicitationCreate, p, step.UpgradeElicitParams, func(p newer.ElicitParams) newer.InputRequest { return &newer.ElicitRequest{Params: p} }, step.DowngradeElicitResult)
		}
	}
	if x := caps.Sampling; x != nil {
		out.SamplingContext, out.SamplingTools = x.Context != nil, x.Tools != nil
		out.CreateMessage = func(ctx context.Context, p *older.CreateMessageParams) (*older.CreateMessageResult, error) {
			return askKept(ctx, c, newer.MethodSamplingCreateMessage, p, step.UpgradeCreateMessageParams, func(p *newer.CreateMessageParams) newer.InputRequest { return &newer.CreateMessageRequest{Params: *p} }, step.DowngradeCreateMessageResult)
		}
	}
	if caps.Roots != nil {
		out.ListRoots = func(ctx context.Context, p *older.ListRootsParams) (*older.ListRootsResult, error) {
			return askKept(ctx, c, newer.MethodRootsList, p, step.UpgradeListRootsParams, func(p *newer.ListRootsParams) newer.InputRequest { return &newer.ListRootsRequest{Params: p} }, step.DowngradeListRootsResult)
		}
	}
	return out
}

// askKept converts a handler's question, asks it, and converts the answer.
func askKept[P, Q, A, B any, PA interface {
	*A
	wire.Decoder
}](ctx context.Context, c *kept, method string, p P, up func(P, *wire.Env) (Q, error), request func(Q) newer.InputRequest, down func(PA, *wire.Env) (*B, error)) (*B, error) {
	e := wire.EnvOf(ctx)
	q, err := up(p, &e)
	e.Report(method, "params")
	if err != nil {
		return nil, err
	}
	var answer *B
	kind, _, _ := strings.Cut(method, "/")
	err = c.ask(ctx, kind, request(q), func(r wire.Raw) error {
		a := PA(new(A))
		if err := wire.Decode(r, wire.Options{}, a); err != nil {
			return err
		}
		answer, err = down(a, &e)
		return err
	})
	e.Report(method, "result")
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// setLevel tells the server which log level a request asks for, when that is
// lower than what it was told before: what goes to each client is the runtime's
// matter. A level that cannot be set is no reason to refuse the request.
func (u *up) setLevel(ctx context.Context, level string) {
	if u.server.SetLevel == nil {
		return
	}
	rank := slices.Index(levels, level)
	u.mu.Lock()
	before := u.level
	if rank < 0 || rank >= before {
		u.mu.Unlock()
		return
	}
	u.level = rank
	u.mu.Unlock()
	if _, err := u.server.SetLevel(u.seen(ctx), &older.SetLevelParams{Level: older.LoggingLevel(level)}); err != nil {
		u.mu.Lock()
		u.level = max(u.level, before)
		u.mu.Unlock()
	}
}

// levels are the log levels, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// seen is the context of a handler that is called for nothing of its own
// revision.
func (u *up) seen(ctx context.Context) context.Context {
	if u.keeper == nil {
		return ctx
	}
	return jsonrpc.WithPeer(ctx, u.keeper.asOlder, nil)
}

// watched is a resource that the server was asked to tell of, for all that watch
// it.
type watched struct {
	users int // that hold it; guarded by up.mu

	mu    sync.Mutex // held while the server is asked
	count int        // subscriptions that watch it
}

// What the server may take to be told, for all resources of one subscription.
const watchTimeout = 10 * time.Second

// watch subscribes to resources, for as long as a subscriptions/listen lasts. The
// server is told once for all that watch the same. What it refuses, or does not
// answer to in time, is not watched.
func (u *up) watch(ctx context.Context, uris []string) (honoured []string, end func()) {
	if u.server.Subscribe == nil {
		return nil, nil
	}
	within, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	for _, uri := range uris {
		if u.watchOne(within, uri) == nil {
			honoured = append(honoured, uri)
		}
		if within.Err() != nil {
			break
		}
	}
	return honoured, func() { go u.unwatch(context.WithoutCancel(ctx), honoured) }
}

func (u *up) watchOne(ctx context.Context, uri string) error {
	return u.hold(uri, func(w *watched) error {
		if w.count == 0 || u.again {
			if _, err := u.server.Subscribe(u.seen(ctx), &older.SubscribeParams{URI: uri}); err != nil {
				return err
			}
		}
		w.count++
		return nil
	})
}

// unwatch ends what watch began.
func (u *up) unwatch(ctx context.Context, uris []string) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	for _, uri := range uris {
		_ = u.hold(uri, func(w *watched) error {
			if w.count--; w.count > 0 || u.server.Unsubscribe == nil {
				return nil
			}
			_, err := u.server.Unsubscribe(u.seen(ctx), &older.UnsubscribeParams{URI: uri})
			return err
		})
	}
}

// hold calls f while nobody else asks the server about the resource.
func (u *up) hold(uri string, f func(*watched) error) error {
	u.mu.Lock()
	w := u.uris[uri]
	if w == nil {
		w = new(watched)
		u.uris[uri] = w
	}
	w.users++
	u.mu.Unlock()
	w.mu.Lock()
	defer func() {
		count := w.count
		w.mu.Unlock()
		u.mu.Lock()
		defer u.mu.Unlock()
		if w.users--; w.users == 0 && count == 0 {
			delete(u.uris, uri)
		}
	}()
	return f(w)
}
