package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// paramTables remembers which arguments of which tools headers repeat, as the
// server's own tools/list says. What is private to a client's authorization is
// kept by principal.
type paramTables struct {
	mu     sync.Mutex
	public *paramTable
	own    map[string]*paramTable // by principal
	making map[string]*listing    // by principal
}

// listing is a list of tools that is being asked for, by one for all who wait.
type listing struct {
	ctx     context.Context // ends with it
	table   *paramTable     // nil if it failed; set before ctx ends
	refusal *jsonrpc.Error  // what it was answered with then, if it was
}

type paramTable struct {
	tools map[string]ParamHeaders // those that have some
	made  time.Duration           // by Handler.now
	until time.Duration
}

const (
	leastTTL      = time.Second // a list that may not be kept is kept so long
	mostTTL       = time.Hour
	maxPrincipals = 1024
	maxPages      = 1000
	maxTools      = 10_000
	listTimeout   = 10 * time.Second // of a list, all pages
)

// checkParams holds the Mcp-Param-* headers of a call against its arguments. A
// table that speaks against the call may be out of date: then it is made again.
// Without one nothing can be held against anything, and the call is refused
// (errToolsUnknown, or what the list was refused with).
func (h *Handler) checkParams(ctx context.Context, m *era, hdr http.Header, hd *head) error {
	raw := hd.member("name")
	if raw.Kind() != wire.KindString {
		return nil
	}
	if h.o.ParamHeaders != nil {
		tool, _ := raw.Str()
		params, err := h.o.ParamHeaders(ctx, tool)
		if err != nil {
			h.log.Warn("the header parameters of a tool are not known", "err", err)
			return errToolsUnknown
		}
		return params.Check(hdr, hd.member("arguments"))
	}
	now := h.now()
	t := m.params.get(ctx)
	asked := t == nil || now > t.until
	if asked {
		var refusal *jsonrpc.Error
		if t, refusal = h.listTools(ctx, m, t); t == nil && refusal != nil {
			return refusal
		}
	}
	if t == nil {
		return errToolsUnknown
	}
	err := t.check(raw, hdr, hd)
	for range 2 { // the list that is being made may be older than the call as well
		if err == nil || t.made >= now {
			break
		}
		asked = true
		t, _ = h.listTools(ctx, m, t)
		err = t.check(raw, hdr, hd)
	}
	if asked && ctx.Err() != nil {
		return errGone // it may not have waited for the list
	}
	return err
}

func (t *paramTable) check(tool wire.Raw, hdr http.Header, hd *head) error {
	if params := t.of(tool); len(params) > 0 {
		return params.Check(hdr, hd.member("arguments"))
	}
	return nil
}

// of finds a tool by its name as the message spells it.
func (t *paramTable) of(name wire.Raw) ParamHeaders {
	if plain := name[1 : len(name)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return t.tools[string(plain)]
	}
	s, _ := name.Str()
	return t.tools[s]
}

// get is the newest table for whoever is behind a request, nil if there is none.
func (p *paramTables) get(ctx context.Context) *paramTable {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.own) > 0 {
		if t := p.own[jsonrpc.Principal(ctx)]; t != nil {
			return t
		}
	}
	return p.public
}

func (p *paramTables) put(principal string, public bool, t *paramTable) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if public {
		p.public = t
		delete(p.own, principal)
		return
	}
	if p.own == nil || len(p.own) >= maxPrincipals {
		p.own = map[string]*paramTable{}
	}
	p.own[principal] = t
}

// listTools makes a new table, as the client of ctx; one request at a time asks
// for it, and the others wait. What a client does cannot break the list off.
// Where it fails the last table stays, nil if there was none, and the error says
// what the list was answered with, if it was.
func (h *Handler) listTools(ctx context.Context, m *era, last *paramTable) (*paramTable, *jsonrpc.Error) {
	p, who := &m.params, jsonrpc.Principal(ctx)
	p.mu.Lock()
	l := p.making[who]
	if l != nil {
		p.mu.Unlock()
		select {
		case <-l.ctx.Done():
		case <-ctx.Done():
		}
		p.mu.Lock()
		t, refusal := l.table, l.refusal
		p.mu.Unlock()
		return t.or(last), refusal
	}
	l = &listing{}
	var end context.CancelFunc
	l.ctx, end = context.WithTimeout(context.WithoutCancel(ctx), listTimeout)
	if p.making == nil {
		p.making = map[string]*listing{}
	}
	p.making[who] = l
	p.mu.Unlock()
	var t *paramTable
	var refusal *jsonrpc.Error
	defer func() {
		p.mu.Lock()
		delete(p.making, who)
		l.table, l.refusal = t, refusal
		p.mu.Unlock()
		end()
	}()
	if t, refusal = h.askForTools(l.ctx, m); t == nil {
		h.log.Warn("the tools could not be listed: headers of arguments are held against what was listed before, and calls are refused if that was nothing")
	}
	return t.or(last), refusal
}

// or is t, or what is there in its place.
func (t *paramTable) or(last *paramTable) *paramTable {
	if t != nil {
		return t
	}
	return last
}

var errToolsUnknown = errors.New("the tools could not be listed, so that it is not known which arguments headers repeat")

// askForTools asks the server for its tools and remembers what they say. It is
// nil, and nothing is remembered, unless there is a result for each page.
func (h *Handler) askForTools(ctx context.Context, m *era) (*paramTable, *jsonrpc.Error) {
	t := &paramTable{tools: map[string]ParamHeaders{}, made: h.now()}
	ttl, public := mostTTL, true
	cursor := wire.Raw(nil)
	tools := 0
	for range maxPages {
		page, refusal := h.ask(ctx, m, methodToolsList, cursor)
		if page == nil {
			return nil, refusal
		}
		ms, _ := page.Get("ttlMs").Int()
		ttl = min(ttl, time.Duration(min(max(ms, 0), int64(mostTTL/time.Millisecond)))*time.Millisecond)
		scope, _ := page.Get("cacheScope").Str()
		public = public && scope == "public"
		for tool := range page.Get("tools").Elems() {
			if tools++; tools > maxTools {
				break
			}
			params, err := ReadParamHeaders(tool.Get("inputSchema"))
			if name, ok := tool.Get("name").Str(); ok && err == nil && len(params) > 0 {
				t.tools[name] = params
			}
		}
		next := page.Get("nextCursor")
		if next.Kind() != wire.KindString || wire.Equal(next, cursor) || tools > maxTools {
			break
		}
		cursor = next
	}
	t.until = h.now() + max(ttl, leastTTL)
	m.params.put(jsonrpc.Principal(ctx), public, t)
	return t, nil
}

// ask makes a request of the server's own, and returns the result: an empty one
// where there is no such method, nil when it fails, with the error if that was the
// answer.
func (h *Handler) ask(ctx context.Context, m *era, method string, cursor wire.Raw) (wire.Raw, *jsonrpc.Error) {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":1,"method":`...)
	b = wire.AppendString(b, method)
	b = append(b, `,"params":{"_meta":{"`+metaVersion+`":`...)
	b = wire.AppendString(b, m.svc.Revision())
	b = append(b, `,"`+metaCapabilities+`":{}}`...)
	if cursor != nil {
		b = append(append(b, `,"cursor":`...), cursor...)
	}
	b = append(b, "}}"...)
	c := h.stateless.Fork(nil)
	ex := &answerOnly{done: make(chan struct{})}
	c.Receive(ctx, ex, jsonrpc.Frame{Data: b, Owned: true})
	select {
	case <-ex.done:
	case <-ctx.Done():
	}
	_ = c.Close(ctx)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	var refusal *jsonrpc.Error
	if raw := ex.answer.Get("error"); raw != nil {
		refusal = new(jsonrpc.Error)
		if wire.Decode(raw, wire.Options{Lenient: true}, refusal) != nil {
			refusal = nil
		} else if refusal.Code == jsonrpc.CodeMethodNotFound {
			return wire.Raw("{}"), nil
		}
	}
	return ex.answer.Get("result"), refusal
}

// answerOnly is the way back of a request of our own.
type answerOnly struct {
	mu     sync.Mutex
	answer wire.Raw
	done   chan struct{}
}

func (a *answerOnly) Notify(context.Context, jsonrpc.Frame) error { return errNoStream }
func (a *answerOnly) Detach()                                     {}

func (a *answerOnly) Reply(_ context.Context, f jsonrpc.Frame) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = wire.Raw(f.Data).Clone()
	close(a.done)
	return nil
}
