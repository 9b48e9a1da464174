package streamhttp

import (
	"bytes"
	"context"
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
}

type paramTable struct {
	tools map[string]ParamHeaders // those that have some
	made  time.Time
	until time.Time
}

const (
	leastTTL      = time.Second // a list that may not be kept is kept so long
	mostTTL       = time.Hour
	maxPrincipals = 1024
	maxPages      = 1000
	maxTools      = 10_000
)

// checkParams holds the Mcp-Param-* headers of a call against its arguments. A
// table that speaks against the call may be out of date: then it is made again.
func (h *Handler) checkParams(ctx context.Context, hdr http.Header, hd *head) error {
	raw := hd.params.Get("name")
	if raw.Kind() != wire.KindString {
		return nil
	}
	if h.o.ParamHeaders != nil {
		tool, _ := raw.Str()
		params, err := h.o.ParamHeaders(ctx, tool)
		if err != nil {
			h.log.Warn("the header parameters of a tool are not known", "err", err)
			return nil
		}
		return params.Check(hdr, hd.params.Get("arguments"))
	}
	now := time.Now()
	t := h.params.get(jsonrpc.Principal(ctx), now)
	if t == nil {
		t = h.listTools(ctx)
	}
	params := t.of(raw)
	if len(params) == 0 {
		return nil
	}
	args := hd.params.Get("arguments")
	err := params.Check(hdr, args)
	if err != nil && t.made.Before(now) {
		err = h.listTools(ctx).of(raw).Check(hdr, args)
	}
	return err
}

// of finds a tool by its name as the message spells it.
func (t *paramTable) of(name wire.Raw) ParamHeaders {
	if plain := name[1 : len(name)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return t.tools[string(plain)]
	}
	s, _ := name.Str()
	return t.tools[s]
}

// get is a table that may still be used, nil if there is none.
func (p *paramTables) get(principal string, now time.Time) *paramTable {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.own[principal]
	if t == nil {
		t = p.public
	}
	if t == nil || now.After(t.until) {
		return nil
	}
	return t
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

// listTools asks the server for its tools, as the client of ctx, and remembers
// what they say. A server that fails to list them has none with headers.
func (h *Handler) listTools(ctx context.Context) *paramTable {
	t := &paramTable{tools: map[string]ParamHeaders{}, made: time.Now()}
	ttl, public := mostTTL, true
	cursor := wire.Raw(nil)
	tools := 0
	for range maxPages {
		page := h.ask(ctx, methodToolsList, cursor)
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
	t.until = time.Now().Add(max(ttl, leastTTL))
	h.params.put(jsonrpc.Principal(ctx), public, t)
	return t
}

// ask makes a request of the server's own, and returns the result, nil when
// there is none.
func (h *Handler) ask(ctx context.Context, method string, cursor wire.Raw) wire.Raw {
	b := append([]byte(nil), `{"jsonrpc":"2.0","id":1,"method":`...)
	b = wire.AppendString(b, method)
	b = append(b, `,"params":{"_meta":{"`+metaVersion+`":`...)
	b = wire.AppendString(b, h.modern.Revision())
	b = append(b, `,"`+metaCapabilities+`":{}}`...)
	if cursor != nil {
		b = append(append(b, `,"cursor":`...), cursor...)
	}
	b = append(b, "}}"...)
	c := h.stateless.Fork(nil)
	ex := &answerOnly{done: make(chan struct{})}
	c.Receive(ctx, ex, jsonrpc.Frame{Data: b, Owned: true}, false)
	select {
	case <-ex.done:
	case <-ctx.Done():
	}
	_ = c.Close(ctx)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.answer.Get("result")
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
