package streamhttp

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

const (
	maxKnownTools = 10_000
	maxToolPages  = 1_000
)

// toolTable is what is known of the server's tools: the headers of their calls,
// and whether a call may be made twice.
type toolTable struct {
	mu    sync.RWMutex
	tools map[string]toolEntry
}

type toolEntry struct {
	headers ParamHeaders
	repeat  bool
}

func (t *toolTable) headers(name string) ParamHeaders {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.tools[name].headers
}

func (t *toolTable) repeatable(name string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.tools[name].repeat
}

func (t *toolTable) put(name string, e toolEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tools == nil {
		t.tools = map[string]toolEntry{}
	}
	if _, known := t.tools[name]; known || len(t.tools) < maxKnownTools {
		t.tools[name] = e
	}
}

// learn reads one tool of a list. A tool that breaks the rules for its headers
// is an error.
func (t *toolTable) learn(tool wire.Raw) error {
	name, ok := tool.Get("name").Str()
	if !ok {
		return nil // the reader of the list says what is wrong
	}
	headers, err := ReadParamHeaders(tool.Get("inputSchema"))
	if err != nil {
		t.mu.Lock()
		delete(t.tools, name)
		t.mu.Unlock()
		return fmt.Errorf("tool %q: %w", clipValue(name), err)
	}
	hints := tool.Get("annotations")
	readOnly, _ := hints.Get("readOnlyHint").Bool()
	idempotent, _ := hints.Get("idempotentHint").Bool()
	t.put(name, toolEntry{headers: headers, repeat: readOnly || idempotent})
	return nil
}

// learnTools reads a page of tools/list. It gives it back without the tools
// that break the rules for their headers. Specification:
// server/tools#x-mcp-header (2026-07-28).
func (l *Link) learnTools(data []byte, owned bool) ([]byte, bool) {
	tools := wire.Raw(data).Get("result").Get("tools")
	dropped := 0
	for tool := range tools.Elems() {
		if err := l.tools.learn(tool); err != nil {
			dropped++
			l.log.Warn("a tool is left out", "err", err)
			l.notice(Notice{Kind: ToolDropped, Method: methodToolsList, Err: err})
		}
	}
	if dropped == 0 {
		return data, owned
	}
	env, err := jsonrpc.ParseEnvelope(data)
	if err != nil {
		return data, owned
	}
	b := []byte{'{'}
	for name, v := range env.Result.Members() {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(wire.AppendString(b, name), ':')
		if name != "tools" {
			b = append(b, v...)
			continue
		}
		b = append(b, '[')
		first := true
		for tool := range v.Elems() {
			if _, err := ReadParamHeaders(tool.Get("inputSchema")); err != nil {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, tool...)
		}
		b = append(b, ']')
	}
	env.Result = append(b, '}')
	return env.AppendJSON(nil), true
}

// refreshTools lists all tools, on behalf of a call that the server refused
// for its headers, with the metadata of that call.
func (l *Link) refreshTools(ctx context.Context, call []byte) error {
	var meta []byte
	for name, v := range wire.Raw(call).Get("params").Get("_meta").Members() {
		if name == "progressToken" {
			continue
		}
		if len(meta) > 0 {
			meta = append(meta, ',')
		}
		meta = append(append(wire.AppendString(meta, name), ':'), v...)
	}
	seen := map[string]bool{}
	var cursor wire.Raw
	for range maxToolPages {
		params := append(append([]byte(`{"_meta":{`), meta...), '}')
		if cursor != nil {
			params = append(append(params, `,"cursor":`...), cursor...)
		}
		params = append(params, '}')
		answer, err := l.askFor(ctx, methodToolsList, params, true)
		if err != nil {
			return err
		}
		for tool := range answer.Get("tools").Elems() {
			_ = l.tools.learn(tool)
		}
		if cursor = answer.Get("nextCursor"); cursor.Kind() != wire.KindString {
			return nil
		}
		if seen[string(cursor)] {
			return &jsonrpc.CursorError{Cursor: string(cursor)}
		}
		seen[string(cursor)] = true
	}
	return &jsonrpc.OverloadError{What: "pages of a list", Limit: maxToolPages}
}

// askFor makes a request of the link's own and returns the result.
func (l *Link) askFor(ctx context.Context, method string, params wire.Raw, stateless bool) (wire.Raw, error) {
	id := l.newID()
	data := jsonrpc.AppendRequest(nil, id, method, params)
	return l.ask(ctx, data, stateless)
}

// ask sends a request of the link's own and returns the result.
func (l *Link) ask(ctx context.Context, data []byte, stateless bool) (wire.Raw, error) {
	hd := readOutgoing(data)
	x := &flight{l: l, method: hd.method, id: hd.id, stateless: stateless, keep: true}
	return l.askAs(ctx, x, &hd, data)
}

// askAs is ask for a flight.
func (l *Link) askAs(ctx context.Context, x *flight, hd *outgoing, data []byte) (wire.Raw, error) {
	if err := l.fly(ctx, x, jsonrpc.Frame{Data: bytes.Clone(data)}, hd); err != nil {
		return nil, err
	}
	env, err := jsonrpc.ParseEnvelope(x.answer)
	switch {
	case err != nil:
		return nil, err
	case env.Error != nil:
		return nil, env.Error
	}
	return env.Result, nil
}
