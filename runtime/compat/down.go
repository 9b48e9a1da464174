package compat

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	step "github.com/goldwire/goldwire/generated/mcp/step20260728"
	older "github.com/goldwire/goldwire/generated/mcp/v20251125"
	newer "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file makes a server of 2026-07-28 one of 2025-11-25.

// maxRounds bounds how often a handler may ask for input in one request.
const maxRounds = 10

// down is a server of 2026-07-28 that clients of 2025-11-25 call.
type down struct {
	server newer.Server
	// remote is set where the server is another peer, which our own client
	// answers when it asks for something. Otherwise the client that calls is
	// asked.
	remote   *remote
	store    TaskStore // nil for one in memory
	finished TaskStore // of calls that asked for a task and were answered at once
	gateway  *gateway  // nil where the server is no other peer's
}

// asNewer is how its handlers see those clients.
var asNewer = &jsonrpc.As{Revision: newer.Revision}

// serve makes the server of 2025-11-25.
func (d *down) serve() older.Server {
	s := &d.server
	out := older.Server{
		Instructions:         s.Instructions,
		PromptsListChanged:   s.PromptsListChanged,
		ResourcesListChanged: s.ResourcesListChanged,
		ToolsListChanged:     s.ToolsListChanged,
		Experimental:         s.Experimental,
		Unknown:              d.saying(unknown(newer.Methods, asNewer, s.Unknown)),
		UnknownNotification:  unknownNote(newer.Methods, s.UnknownNotification),
		Options:              s.Options,
		Hub:                  s.Hub,

		Complete:              downFunc(d, newer.MethodCompletionComplete, step.UpgradeCompleteParams, plain(d, s.Complete), step.DowngradeCompleteResult),
		ListPrompts:           downFunc(d, newer.MethodPromptsList, step.UpgradeListPromptsParams, plain(d, s.ListPrompts), step.DowngradeListPromptsResult),
		ListResources:         downFunc(d, newer.MethodResourcesList, step.UpgradeListResourcesParams, plain(d, s.ListResources), step.DowngradeListResourcesResult),
		ListResourceTemplates: downFunc(d, newer.MethodResourcesTemplatesList, step.UpgradeListResourceTemplatesParams, plain(d, s.ListResourceTemplates), step.DowngradeListResourceTemplatesResult),
		ListTools:             downFunc(d, newer.MethodToolsList, step.UpgradeListToolsParams, plain(d, s.ListTools), step.DowngradeListToolsResult),
		GetPrompt:             downFunc(d, newer.MethodPromptsGet, step.UpgradeGetPromptParams, rounds(d, s.GetPrompt), step.DowngradeGetPromptResult),
		ReadResource:          downFunc(d, newer.MethodResourcesRead, step.UpgradeReadResourceParams, rounds(d, s.ReadResource), step.DowngradeReadResourceResult),
		CallTool:              downFunc(d, newer.MethodToolsCall, step.UpgradeCallToolParams, failing(rounds(d, s.CallTool)), step.DowngradeCallToolResult),
	}
	if info, err := step.DowngradeImplementation(&s.Info, nil); err == nil {
		out.Info = *info
	}
	if s.GetTask != nil && s.UpdateTask != nil && s.CancelTask != nil && out.CallTool != nil && out.ListTools != nil {
		d.serveTasks(&out)
	}
	if d.remote != nil {
		d.remote.fill(&out)
		return out
	}
	if s.Logging {
		// The runtime keeps the level, and Peer.Log to it.
		out.SetLevel = func(context.Context, *older.SetLevelParams) (*older.EmptyResult, error) { return nil, nil }
	}
	if s.ResourcesSubscribe {
		// What a client subscribed to is kept by the runtime, and the Hub
		// tells it.
		out.Subscribe = func(ctx context.Context, p *older.SubscribeParams) (*older.EmptyResult, error) {
			if s.AllowURI != nil && !s.AllowURI(jsonrpc.WithPeer(ctx, asNewer, nil), p.URI) {
				return nil, notFound(p.URI)
			}
			return nil, d.gateway.follow(ctx, strings.Clone(p.URI)) // which keeps it; it may be part of the message
		}
		out.Unsubscribe = func(ctx context.Context, p *older.UnsubscribeParams) (*older.EmptyResult, error) {
			d.gateway.unfollow(ctx, p.URI)
			return nil, nil
		}
	}
	return out
}

// unknown is the handler of unknown methods of a server or client, for another
// revision than its own, whose methods are given: what that names is not unknown to
// it, but not a method here. It sees its peer as it does everywhere; as is nil where
// it has none.
func unknown(own []jsonrpc.Method, as *jsonrpc.As, f func(context.Context, string, wire.Raw) (wire.Raw, error)) func(context.Context, string, wire.Raw) (wire.Raw, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error) {
		if names(own, method) {
			return nil, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "method not found: "+method)
		}
		if as != nil {
			ctx = jsonrpc.WithPeer(ctx, as, nil)
		}
		return f(ctx, method, params)
	}
}

// unknownNote is the same for notifications.
func unknownNote(own []jsonrpc.Method, f func(context.Context, string, wire.Raw)) func(context.Context, string, wire.Raw) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, method string, params wire.Raw) {
		if !names(own, method) {
			f(ctx, method, params)
		}
	}
}

func names(methods []jsonrpc.Method, name string) bool {
	return slices.ContainsFunc(methods, func(m jsonrpc.Method) bool { return m.Name == name })
}

func notFound(uri string) *jsonrpc.Error {
	e := jsonrpc.NewError(jsonrpc.CodeResourceNotFound, "resource not found")
	e.Data = append(wire.AppendString([]byte(`{"uri":`), uri), '}')
	return e
}

// downFunc wraps the handler of one method. A nil f stays nil.
func downFunc[P, Q, R, S any](d *down, method string, up func(*P, *wire.Env) (*Q, error), f func(context.Context, *Q) (*R, error), dn func(*R, *wire.Env) (*S, error)) func(context.Context, *P) (*S, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *P) (*S, error) {
		e := d.env(ctx)
		q, err := up(p, &e)
		e.Report(method, "params")
		if err != nil {
			return nil, badParams(err)
		}
		r, err := f(ctx, q)
		if err != nil {
			return nil, step.DowngradeError(method, err)
		}
		if r == nil {
			return nil, nil
		}
		out, err := dn(r, &e)
		e.Report(method, "result")
		if err != nil {
			return nil, badResult(method, err)
		}
		return out, nil
	}
}

// env is what a conversion of a client's request has to know: what the session
// said once, each request of 2026-07-28 says.
func (d *down) env(ctx context.Context) wire.Env {
	e := wire.EnvOf(ctx)
	if d.remote != nil {
		e.LogLevel = d.remote.logLevel()
		return e
	}
	m := jsonrpc.PeerOf(ctx).Once(d, func() any { return factsOf(ctx) }).(*newer.RequestMeta)
	if d.finished != nil && ctx.Value(tasksKey{}) != nil { // with what it would declare
		c := *m
		c.ClientCapabilities.Extensions = maps.Clone(c.ClientCapabilities.Extensions)
		if c.ClientCapabilities.Extensions == nil {
			c.ClientCapabilities.Extensions = map[string]wire.Raw{}
		}
		c.ClientCapabilities.Extensions[newer.ExtensionTasks] = wire.Raw("{}")
		m = &c
	}
	e.Meta = m
	if d.server.Logging {
		e.LogLevel = jsonrpc.PeerOf(ctx).LogLevel()
	}
	return e
}

// saying adds to the params of unknown methods what each request of 2026-07-28 says
// of its client (basic/index, request metadata): a server to which they are passed
// on takes a request without it for one of another revision. A nil f stays nil.
func (d *down) saying(f func(context.Context, string, wire.Raw) (wire.Raw, error)) func(context.Context, string, wire.Raw) (wire.Raw, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error) {
		if k := params.Kind(); k == wire.KindNone || k == wire.KindObject {
			params = withMeta(params, d.says(ctx).AppendJSON(nil))
		}
		return f(ctx, method, params)
	}
}

// says is what requests of 2026-07-28 say of the client that they are made for.
func (d *down) says(ctx context.Context) *newer.RequestMeta {
	if r := d.remote; r != nil {
		return &newer.RequestMeta{ProtocolVersion: newer.Revision, ClientInfo: &r.client.Info, ClientCapabilities: r.client.Capabilities()}
	}
	return factsOf(ctx)
}

// factsOf is what a client of 2025-11-25 said when it began the session, as the
// _meta of 2026-07-28.
func factsOf(ctx context.Context) *newer.RequestMeta {
	m := &newer.RequestMeta{ProtocolVersion: newer.Revision}
	peer := older.Peer(ctx)
	if c := peer.Capabilities(); c != nil {
		if c, err := step.UpgradeClientCapabilities(c, nil); err == nil {
			m.ClientCapabilities = *c
		}
	}
	if i := peer.Info(); i != nil {
		m.ClientInfo, _ = step.UpgradeImplementation(i, nil)
	}
	return m
}

// plain calls a handler that asks for nothing.
func plain[P, R any](d *down, f func(context.Context, *P) (*R, error)) func(context.Context, *P) (*R, error) {
	if f == nil || d.remote != nil {
		return f
	}
	return func(ctx context.Context, p *P) (*R, error) { return f(jsonrpc.WithPeer(ctx, asNewer, p), p) }
}

// rounds calls a handler that may ask for input: it asks the client, and calls
// the handler again with the answers, until that has a result.
func rounds[P, R any, PP interface {
	jsonrpc.InputParams[P]
}](d *down, f func(context.Context, PP) (*R, error)) func(context.Context, PP) (*R, error) {
	if f == nil || d.remote != nil {
		return f
	}
	return func(ctx context.Context, p PP) (*R, error) {
		for round := 1; ; round++ {
			r, err := f(jsonrpc.WithPeer(ctx, asNewer, p), p)
			need, asks := errors.AsType[*newer.InputRequiredError](err)
			if !asks {
				return r, err
			}
			if round == maxRounds {
				return nil, fmt.Errorf("the handler still asks for input after %d rounds", maxRounds)
			}
			if err := jsonrpc.MayAsk(newer.Methods, p.Metadata().ClientCapabilities, need); err != nil {
				return nil, err
			}
			answers, err := ask(ctx, need)
			if err != nil {
				return nil, err
			}
			q := PP(new(P))
			*q = *p
			q.SetInputs(answers, need.RequestState)
			p = q
		}
	}
}

// unansweredError says that a client refused what a handler asked it for.
type unansweredError struct{ err *jsonrpc.Error }

func (e *unansweredError) Error() string { return e.err.Error() }

// Unwrap returns the error that the caller gets.
func (e *unansweredError) Unwrap() error { return e.err }

// failing makes of a tool that could not do its work, as the client did not give
// what it asked for, a result that says so (tools, error handling).
func failing(f func(context.Context, *newer.CallToolParams) (*newer.CallToolResult, error)) func(context.Context, *newer.CallToolParams) (*newer.CallToolResult, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p *newer.CallToolParams) (*newer.CallToolResult, error) {
		r, err := f(ctx, p)
		if e, ok := errors.AsType[*unansweredError](err); ok {
			return &newer.CallToolResult{IsError: new(true), Content: []newer.ContentBlock{&newer.TextContent{Text: e.err.Message}}}, nil
		}
		return r, err
	}
}

// ask sends a handler's requests for input to its client, one after the other.
func ask(ctx context.Context, need *newer.InputRequiredError) (map[string]wire.Raw, error) {
	peer := older.Peer(ctx)
	var answers map[string]wire.Raw
	for key, q := range need.Inputs() {
		r, err := askOne(ctx, peer, need.InputRequests[key])
		if err != nil {
			if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
				return nil, &unansweredError{jsonrpc.Errorf(jsonrpc.CodeInternalError, "%s: the client answered: %s (%d)", q.Method, e.Message, e.Code)}
			}
			return nil, fmt.Errorf("%s (%q): %w", q.Method, key, err)
		}
		if answers == nil {
			answers = make(map[string]wire.Raw, len(need.InputRequests))
		}
		answers[key] = r.AppendJSON(nil)
	}
	return answers, nil
}

func askOne(ctx context.Context, peer older.RemoteClient, q newer.InputRequest) (wire.Appender, error) {
	e := wire.EnvOf(ctx)
	if e.ElicitationID == nil {
		e.ElicitationID = rand.Text
	}
	switch q := q.(type) {
	case *newer.ElicitRequest:
		return asked(ctx, older.MethodElicitationCreate, q.Params, &e, step.DowngradeElicitParams, peer.Elicit, step.UpgradeElicitResult)
	case *newer.CreateMessageRequest:
		return asked(ctx, older.MethodSamplingCreateMessage, &q.Params, &e, step.DowngradeCreateMessageParams, peer.CreateMessage, step.UpgradeCreateMessageResult)
	case *newer.ListRootsRequest:
		return asked(ctx, older.MethodRootsList, q.Params, &e, step.DowngradeListRootsParams, peer.ListRoots, step.UpgradeListRootsResult)
	}
	return nil, errors.New("a client of 2025-11-25 cannot be asked for it")
}

// asked converts a request, makes it, and converts the result.
func asked[P, Q, R, S any, PS interface {
	*S
	wire.Appender
}](ctx context.Context, method string, p P, e *wire.Env, dn func(P, *wire.Env) (Q, error), call func(context.Context, Q) (*R, error), up func(*R, *wire.Env) (PS, error)) (wire.Appender, error) {
	q, err := dn(p, e)
	e.Report(method, "params")
	if err != nil {
		return nil, err
	}
	r, err := call(ctx, q)
	if err != nil {
		return nil, err
	}
	out, err := up(r, e)
	e.Report(method, "result")
	return out, err
}

// badParams is the answer to params that the handler's revision cannot say.
func badParams(err error) error {
	if c, ok := errors.AsType[*wire.ConvertError](err); ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "params: " + c.Error(), Cause: err}
	}
	return err
}

// badResult is the answer where the client's revision cannot say the result.
func badResult(method string, err error) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s: the result cannot be said in the client's revision: %v", method, err), Cause: err}
}
