package checktest

import (
	"context"
	"io"
	"maps"
	"slices"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Silent is the key of Conn.State that makes the server end without a word to
// its subscribers.
const Silent = "silent end"

// listen opens a subscription: it acknowledges what the server has, tells of a
// change to each watched resource, and says so when the server ends.
func (c *Conn) listen(r *Request) (string, error) {
	filter := r.Params.Get("notifications")
	if filter.Kind() != wire.KindObject {
		return "", fail(-32602, "notifications is missing")
	}
	ack := map[string]any{}
	for name, feature := range map[string]string{"toolsListChanged": "tools", "promptsListChanged": "prompts", "resourcesListChanged": "resources"} {
		if on, _ := filter.Get(name).Bool(); on && c.Server.Has(feature) {
			ack[name] = true
		}
	}
	var uris []string
	for u := range filter.Get("resourceSubscriptions").Elems() {
		if s, ok := u.Str(); ok {
			uris = append(uris, s)
		}
	}
	if len(uris) > 0 && c.Server.Has("resources") {
		ack["resourceSubscriptions"] = uris
	}
	c.Line(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"` + metaSub + `":` + string(r.ID) + `},"notifications":` + obj(ack) + `}}`)
	if len(ack) == 0 {
		return c.Farewell(r.ID), nil
	}
	if ack["resourceSubscriptions"] != nil {
		for _, uri := range uris {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":{"` + metaSub + `":` + string(r.ID) + `},"uri":` + quote(uri) + `}}`)
		}
	}
	c.Listening(r.ID)
	return "", nil
}

// Listening keeps a subscription open until the client or the server ends.
func (c *Conn) Listening(id wire.Raw) {
	c.mu.Lock()
	first := len(c.listening) == 0
	c.listening[string(id)] = id
	c.mu.Unlock()
	if silent := c.State[Silent] != nil; first {
		context.AfterFunc(c.Context, func() { c.teardown(silent) })
	}
}

// Farewell is the result that ends a subscription.
func (c *Conn) Farewell(id wire.Raw) string {
	return `{"resultType":"complete","_meta":{"` + metaSub + `":` + string(id) + `,"` + metaServer + `":` + serverInfo("2026-07-28") + `}}`
}

// unlisten ends a subscription that the client cancelled.
func (c *Conn) unlisten(id wire.Raw) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.listening, string(id))
}

// teardown ends the subscriptions and the server with them.
func (c *Conn) teardown(silent bool) {
	c.mu.Lock()
	ids := slices.Sorted(maps.Keys(c.listening))
	c.mu.Unlock()
	for _, id := range ids {
		if !silent {
			c.Line(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"the server ends"}}`)
		}
	}
	if in, ok := c.in.(io.Closer); ok {
		_ = in.Close()
	}
}
