package jsonrpc_test

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// This file is a small package of bindings written by hand, in the shape that
// generated ones have: the stateful 2025-11-25 (old…) and the stateless
// 2026-07-28 (new…).

// members reads an object, with f for each member.
func members(d *wire.Dec, f func(k string) error) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	for {
		k, done, err := d.Key()
		if err != nil || done {
			return err
		}
		if err := f(string(k)); err != nil {
			return err
		}
	}
}

func skip(d *wire.Dec) error {
	_, err := d.Raw()
	return err
}

// --- 2025-11-25 ---

type oldMeta struct {
	ProgressToken jsonrpc.ID
}

func (m *oldMeta) decode(d *wire.Dec) error {
	return members(d, func(k string) error {
		if k == "progressToken" {
			return m.ProgressToken.DecodeJSON(d)
		}
		return skip(d)
	})
}

func (m *oldMeta) append(b []byte) []byte {
	if m.ProgressToken.IsZero() {
		return b
	}
	b = append(b, `,"_meta":{"progressToken":`...)
	b = m.ProgressToken.AppendJSON(b)
	return append(b, '}')
}

// oldParams is a params type with text members and raw ones.
type oldParams struct {
	Fields map[string]wire.Raw
	Meta   oldMeta
}

func (p *oldParams) DecodeJSON(d *wire.Dec) error {
	p.Fields = map[string]wire.Raw{}
	return members(d, func(k string) (err error) {
		if k == "_meta" {
			return p.Meta.decode(d)
		}
		p.Fields[k], err = d.Raw()
		return err
	})
}

func (p *oldParams) AppendJSON(b []byte) []byte {
	n := len(b)
	for _, k := range sorted(p.Fields) {
		b = append(wire.AppendString(append(b, ','), k), ':')
		b = wire.AppendRaw(b, p.Fields[k])
	}
	return wire.CloseObject(p.Meta.append(b), n)
}

func sorted(m map[string]wire.Raw) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (p *oldParams) Metadata() jsonrpc.Metadata {
	return jsonrpc.Metadata{ProgressToken: p.Meta.ProgressToken}
}

func (p *oldParams) SetMetadata(m jsonrpc.Metadata) {
	if !m.ProgressToken.IsZero() {
		p.Meta.ProgressToken = m.ProgressToken
	}
}

func (p *oldParams) text(k string) string {
	s, _ := p.Fields[k].Str()
	return s
}

// callToolParams is typed like a generated one.
type callToolParams struct {
	Name      string
	Arguments wire.Raw
	Meta      oldMeta
}

func (p *callToolParams) DecodeJSON(d *wire.Dec) error {
	named := false
	err := members(d, func(k string) (err error) {
		switch k {
		case "name":
			named = true
			p.Name, err = d.Str()
		case "arguments":
			p.Arguments, err = d.RawObject()
		case "_meta":
			err = p.Meta.decode(d)
		default:
			err = skip(d)
		}
		return err
	})
	if err == nil && !named {
		return &wire.Error{Kind: wire.ErrMissing, Path: "params.name", Msg: "missing"}
	}
	return err
}

func (p *callToolParams) AppendJSON(b []byte) []byte {
	b = append(b, `{"name":`...)
	b = wire.AppendString(b, p.Name)
	if p.Arguments != nil {
		b = append(b, `,"arguments":`...)
		b = wire.AppendRaw(b, p.Arguments)
	}
	return append(p.Meta.append(b), '}')
}

func (p *callToolParams) Metadata() jsonrpc.Metadata {
	return jsonrpc.Metadata{ProgressToken: p.Meta.ProgressToken}
}

func (p *callToolParams) SetMetadata(m jsonrpc.Metadata) {
	if !m.ProgressToken.IsZero() {
		p.Meta.ProgressToken = m.ProgressToken
	}
}

// result is a result type that keeps one text.
type result struct {
	Text string
	Next *string
	Meta wire.Raw
}

func (r *result) DecodeJSON(d *wire.Dec) error {
	return members(d, func(k string) (err error) {
		switch k {
		case "text":
			r.Text, err = d.Str()
		case "nextCursor":
			r.Next, err = d.StrPtr()
		case "_meta":
			r.Meta, err = d.RawObject()
		default:
			err = skip(d)
		}
		return err
	})
}

func (r *result) AppendJSON(b []byte) []byte {
	b = append(b, `{"text":`...)
	b = wire.AppendString(b, r.Text)
	if r.Next != nil {
		b = append(b, `,"nextCursor":`...)
		b = wire.AppendString(b, *r.Next)
	}
	if r.Meta != nil {
		b = append(b, `,"_meta":`...)
		b = wire.AppendRaw(b, r.Meta)
	}
	return append(b, '}')
}

func (r *result) HasMeta() bool { return r.Meta != nil }

type empty struct{}

func (*empty) DecodeJSON(d *wire.Dec) error { return skip(d) }
func (*empty) AppendJSON(b []byte) []byte   { return append(b, "{}"...) }
func (*empty) Metadata() jsonrpc.Metadata   { return jsonrpc.Metadata{} }
func (*empty) SetMetadata(jsonrpc.Metadata) {}
func (*empty) HasMeta() bool                { return false }

// raw is an Appender and Decoder of any object.
type raw struct{ wire.Raw }

func (r *raw) DecodeJSON(d *wire.Dec) (err error) {
	r.Raw, err = d.RawObject()
	return err
}
func (r *raw) AppendJSON(b []byte) []byte { return wire.AppendRaw(b, r.Raw) }

func rawOf(s string) *raw { return &raw{wire.MustRaw(s)} }

// taskCreated is an error value that stands for a CreateTaskResult.
type taskCreated struct{ Task wire.Raw }

func (e *taskCreated) Error() string { return "a task was created" }
func (e *taskCreated) IsResult()     {}
func (e *taskCreated) DecodeJSON(d *wire.Dec) error {
	return members(d, func(k string) (err error) {
		if k == "task" {
			e.Task, err = d.RawObject()
			return err
		}
		return skip(d)
	})
}
func (e *taskCreated) AppendJSON(b []byte) []byte {
	b = append(b, `{"task":`...)
	return append(wire.AppendRaw(b, e.Task), '}')
}

var oldMethods = []jsonrpc.Method{
	{Name: "initialize", FromClient: true, ParamsRequired: true},
	{Name: "ping", FromClient: true, FromServer: true},
	{Name: "tools/list", FromClient: true, Capabilities: []string{"tools"}, Paginated: true},
	{Name: "tools/call", FromClient: true, Capabilities: []string{"tools"}, ParamsRequired: true},
	{Name: "resources/subscribe", FromClient: true, Capabilities: []string{"resources.subscribe"}, ParamsRequired: true},
	{Name: "logging/setLevel", FromClient: true, Capabilities: []string{"logging"}, ParamsRequired: true},
	{Name: "elicitation/create", FromServer: true, Capabilities: []string{"elicitation"}, ParamsRequired: true},
	{Name: "roots/list", FromServer: true, Capabilities: []string{"client:roots"}},
	{Name: "notifications/initialized", Notification: true, FromClient: true},
	{Name: "notifications/cancelled", Notification: true, FromClient: true, FromServer: true},
	{Name: "notifications/progress", Notification: true, FromClient: true, FromServer: true},
	{Name: "notifications/message", Notification: true, FromServer: true, Capabilities: []string{"server:logging"}},
	{Name: "notifications/tools/list_changed", Notification: true, FromServer: true, Capabilities: []string{"server:tools.listChanged"}},
	{Name: "notifications/resources/updated", Notification: true, FromServer: true, Capabilities: []string{"server:resources.subscribe"}},
	{Name: "notifications/roots/list_changed", Notification: true, FromClient: true, Capabilities: []string{"client:roots.listChanged"}},
}

const oldRevision = "2025-11-25"

type oldServer struct {
	Capabilities string // as JSON; "" means what the funcs say
	Options      jsonrpc.Options
	Hub          *jsonrpc.Hub
	Unknown      func(context.Context, string, wire.Raw) (wire.Raw, error)

	ListTools        func(context.Context, *oldParams) (*result, error)
	CallTool         func(context.Context, *callToolParams) (*result, error)
	SetLevel         func(context.Context, *oldParams) (*empty, error)
	Subscribe        func(context.Context, *oldParams) (*empty, error)
	RootsListChanged func(context.Context, *empty) error
}

func (s oldServer) caps() *raw {
	if s.Capabilities != "" {
		return rawOf(s.Capabilities)
	}
	return rawOf(`{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`)
}

func (s oldServer) Bind() (jsonrpc.Chooser, error) {
	caps := s.caps()
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{
		Revision: oldRevision, Side: jsonrpc.ServerSide, Methods: oldMethods, Capabilities: caps,
		Info: rawOf(`{"name":"sample","version":"1"}`), Unknown: s.Unknown, Hub: s.Hub, Options: s.Options,
	})
	jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *oldParams) (*raw, error) {
		return rawOf(fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"sample","version":"1"}}`, oldRevision, caps.Raw)), nil
	})
	jsonrpc.HandleRequest(svc, "tools/list", s.ListTools)
	jsonrpc.HandleRequest(svc, "tools/call", s.CallTool)
	jsonrpc.HandleRequest(svc, "logging/setLevel", jsonrpc.Then(s.SetLevel, func(ctx context.Context, p *oldParams) {
		jsonrpc.PeerOf(ctx).SetLogLevel(p.text("level"))
	}))
	jsonrpc.HandleRequest(svc, "resources/subscribe", jsonrpc.Then(s.Subscribe, func(ctx context.Context, p *oldParams) {
		jsonrpc.PeerOf(ctx).Subscribe(p.text("uri"))
	}))
	jsonrpc.HandleNotification(svc, "notifications/roots/list_changed", s.RootsListChanged)
	return svc, nil
}

type oldClient struct {
	Capabilities string
	Options      jsonrpc.Options
	Elicit       func(context.Context, *oldParams) (*result, error)
	ListRoots    func(context.Context, *empty) (*result, error)
	Message      func(context.Context, *oldParams) error
	ToolsChanged func(context.Context, *empty) error
	Updated      func(context.Context, *oldParams) error
}

func (c oldClient) caps() string {
	if c.Capabilities != "" {
		return c.Capabilities
	}
	return `{"elicitation":{},"roots":{"listChanged":true}}`
}

func (c oldClient) Bind() (jsonrpc.Chooser, error) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{
		Revision: oldRevision, Side: jsonrpc.ClientSide, Methods: oldMethods, Capabilities: rawOf(c.caps()), Options: c.Options,
	})
	jsonrpc.HandleRequest(svc, "elicitation/create", c.Elicit)
	jsonrpc.HandleRequest(svc, "roots/list", c.ListRoots)
	jsonrpc.HandleNotification(svc, "notifications/message", c.Message)
	jsonrpc.HandleNotification(svc, "notifications/tools/list_changed", c.ToolsChanged)
	jsonrpc.HandleNotification(svc, "notifications/resources/updated", c.Updated)
	return svc, nil
}

type oldRemote struct{ conn *jsonrpc.Conn }

func connectOld(ctx context.Context, d jsonrpc.Dialer, c oldClient) (*oldRemote, error) {
	conn, err := jsonrpc.Dial(ctx, d, c)
	if err != nil {
		return nil, err
	}
	p := &oldParams{Fields: map[string]wire.Raw{
		"protocolVersion": wire.Quote(oldRevision), "capabilities": wire.MustRaw(c.caps()), "clientInfo": wire.MustRaw(`{"name":"sample","version":"1"}`),
	}}
	if _, err := jsonrpc.Initialize[raw](ctx, conn, p); err != nil {
		return nil, err
	}
	return &oldRemote{conn}, nil
}

func (r *oldRemote) ListTools(ctx context.Context, p *oldParams) (*result, error) {
	return jsonrpc.CallTyped[result](ctx, r.conn, "tools/list", p)
}

func (r *oldRemote) CallTool(ctx context.Context, p *callToolParams) (*result, error) {
	return jsonrpc.CallTyped[result](ctx, r.conn, "tools/call", p)
}

func (r *oldRemote) CallToolAsTask(ctx context.Context, p *callToolParams) (*result, error) {
	return jsonrpc.CallTask[result, taskCreated](ctx, r.conn, "tools/call", p)
}

func (r *oldRemote) Subscribe(ctx context.Context, uri string) (*empty, error) {
	return jsonrpc.CallTyped[empty](ctx, r.conn, "resources/subscribe", &oldParams{Fields: map[string]wire.Raw{"uri": wire.Quote(uri)}})
}

func (r *oldRemote) SetLevel(ctx context.Context, level string) (*empty, error) {
	return jsonrpc.CallTyped[empty](ctx, r.conn, "logging/setLevel", &oldParams{Fields: map[string]wire.Raw{"level": wire.Quote(level)}})
}

func elicit(ctx context.Context, message string) (*result, error) {
	return jsonrpc.CallTyped[result](ctx, jsonrpc.PeerOf(ctx).Conn(), "elicitation/create",
		&oldParams{Fields: map[string]wire.Raw{"message": wire.Quote(message)}})
}

// --- 2026-07-28 ---

const newRevision = "2026-07-28"

type newMeta struct {
	ProgressToken   jsonrpc.ID
	ProtocolVersion string
	LogLevel        string
	Capabilities    *raw
	Info            *raw
}

func (m *newMeta) decode(d *wire.Dec) error {
	version := false
	err := members(d, func(k string) (err error) {
		switch k {
		case "progressToken":
			err = m.ProgressToken.DecodeJSON(d)
		case "io.modelcontextprotocol/protocolVersion":
			version = true
			m.ProtocolVersion, err = d.Str()
		case "io.modelcontextprotocol/logLevel":
			m.LogLevel, err = d.Str()
		case "io.modelcontextprotocol/clientCapabilities":
			m.Capabilities = new(raw)
			err = m.Capabilities.DecodeJSON(d)
		case "io.modelcontextprotocol/clientInfo":
			m.Info = new(raw)
			err = m.Info.DecodeJSON(d)
		default:
			err = skip(d)
		}
		return err
	})
	if err == nil && (!version || m.Capabilities == nil) {
		return &wire.Error{Kind: wire.ErrMissing, Msg: "missing"}
	}
	return err
}

func (m *newMeta) append(b []byte) []byte {
	b = append(b, `"_meta":{"io.modelcontextprotocol/protocolVersion":`...)
	b = wire.AppendString(b, m.ProtocolVersion)
	b = append(b, `,"io.modelcontextprotocol/clientCapabilities":`...)
	if m.Capabilities != nil {
		b = m.Capabilities.AppendJSON(b)
	} else {
		b = append(b, "{}"...)
	}
	if m.Info != nil {
		b = append(b, `,"io.modelcontextprotocol/clientInfo":`...)
		b = m.Info.AppendJSON(b)
	}
	if m.LogLevel != "" {
		b = append(b, `,"io.modelcontextprotocol/logLevel":`...)
		b = wire.AppendString(b, m.LogLevel)
	}
	if !m.ProgressToken.IsZero() {
		b = append(b, `,"progressToken":`...)
		b = m.ProgressToken.AppendJSON(b)
	}
	return append(b, '}')
}

// newParams are the params of tools/call, and of everything else.
type newParams struct {
	Name          string
	Notifications wire.Raw
	Responses     map[string]wire.Raw
	State         *string
	Cursor        *string
	Meta          newMeta
}

func (p *newParams) DecodeJSON(d *wire.Dec) error {
	meta := false
	err := members(d, func(k string) (err error) {
		switch k {
		case "name":
			p.Name, err = d.Str()
		case "requestState":
			p.State, err = d.StrPtr()
		case "cursor":
			p.Cursor, err = d.StrPtr()
		case "inputResponses":
			p.Responses = map[string]wire.Raw{}
			err = members(d, func(k string) (err error) {
				p.Responses[k], err = d.Raw()
				return err
			})
		case "_meta":
			meta = true
			err = p.Meta.decode(d)
		default:
			err = skip(d)
		}
		return err
	})
	if err == nil && !meta {
		return &wire.Error{Kind: wire.ErrMissing, Path: "params._meta", Msg: "missing"}
	}
	return err
}

func (p *newParams) AppendJSON(b []byte) []byte {
	b = p.Meta.append(append(b, '{'))
	if p.Name != "" {
		b = wire.AppendString(append(b, `,"name":`...), p.Name)
	}
	if p.Notifications != nil {
		b = wire.AppendRaw(append(b, `,"notifications":`...), p.Notifications)
	}
	if p.State != nil {
		b = wire.AppendString(append(b, `,"requestState":`...), *p.State)
	}
	if p.Cursor != nil {
		b = wire.AppendString(append(b, `,"cursor":`...), *p.Cursor)
	}
	if p.Responses != nil {
		b = append(b, `,"inputResponses":`...)
		n := len(b)
		for _, k := range sorted(p.Responses) {
			b = append(wire.AppendString(append(b, ','), k), ':')
			b = wire.AppendRaw(b, p.Responses[k])
		}
		b = wire.CloseObject(b, n)
	}
	return append(b, '}')
}

func (p *newParams) Metadata() jsonrpc.Metadata {
	m := jsonrpc.Metadata{ProgressToken: p.Meta.ProgressToken, ProtocolVersion: p.Meta.ProtocolVersion, LogLevel: p.Meta.LogLevel}
	if p.Meta.Capabilities != nil {
		m.ClientCapabilities = p.Meta.Capabilities
	}
	if p.Meta.Info != nil {
		m.ClientInfo = p.Meta.Info
	}
	return m
}

func (p *newParams) SetMetadata(m jsonrpc.Metadata) {
	if !m.ProgressToken.IsZero() {
		p.Meta.ProgressToken = m.ProgressToken
	}
	if p.Meta.ProtocolVersion == "" {
		p.Meta.ProtocolVersion = m.ProtocolVersion
	}
	if v, ok := m.ClientCapabilities.(*raw); ok && p.Meta.Capabilities == nil {
		p.Meta.Capabilities = v
	}
	if v, ok := m.ClientInfo.(*raw); ok && p.Meta.Info == nil {
		p.Meta.Info = v
	}
}

func (p *newParams) SetInputs(responses map[string]wire.Raw, state *string) {
	p.Responses, p.State = responses, state
}

// inputRequired is an error value that stands for an InputRequiredResult.
type inputRequired struct {
	Requests wire.Raw
	ReqState *string
}

func (e *inputRequired) Error() string { return "input required" }
func (e *inputRequired) IsResult()     {}
func (e *inputRequired) DecodeJSON(d *wire.Dec) error {
	return members(d, func(k string) (err error) {
		switch k {
		case "inputRequests":
			e.Requests, err = d.RawObject()
		case "requestState":
			e.ReqState, err = d.StrPtr()
		default:
			err = skip(d)
		}
		return err
	})
}
func (e *inputRequired) AppendJSON(b []byte) []byte {
	b = append(b, `{"resultType":"input_required"`...)
	if e.Requests != nil {
		b = wire.AppendRaw(append(b, `,"inputRequests":`...), e.Requests)
	}
	if e.ReqState != nil {
		b = wire.AppendString(append(b, `,"requestState":`...), *e.ReqState)
	}
	return append(b, '}')
}
func (e *inputRequired) Inputs() iter.Seq2[string, jsonrpc.InputRequest] {
	return func(yield func(string, jsonrpc.InputRequest) bool) {
		for k, v := range e.Requests.Members() {
			m, _ := v.Get("method").Str()
			if !yield(k, jsonrpc.InputRequest{Method: m, Params: v.Get("params")}) {
				return
			}
		}
	}
}
func (e *inputRequired) State() (string, bool) {
	if e.ReqState == nil {
		return "", false
	}
	return *e.ReqState, true
}

var newMethods = []jsonrpc.Method{
	{Name: "server/discover", FromClient: true, ParamsRequired: true},
	{Name: "subscriptions/listen", FromClient: true, ParamsRequired: true},
	{Name: "tools/list", FromClient: true, Capabilities: []string{"tools"}, ParamsRequired: true, Paginated: true},
	{Name: "tools/call", FromClient: true, Capabilities: []string{"tools"}, ParamsRequired: true, InputRequired: true},
	{Name: "elicitation/create", FromServer: true, Capabilities: []string{"elicitation"}, ParamsRequired: true, Embedded: true},
	{Name: "notifications/cancelled", Notification: true, FromClient: true, FromServer: true},
	{Name: "notifications/progress", Notification: true, FromServer: true},
	{Name: "notifications/message", Notification: true, FromServer: true, Capabilities: []string{"server:logging", "request:logLevel"}},
	{Name: "notifications/tools/list_changed", Notification: true, FromServer: true, Capabilities: []string{"server:tools.listChanged"}},
	{Name: "notifications/resources/updated", Notification: true, FromServer: true, Capabilities: []string{"server:resources.subscribe"}},
}

type newServer struct {
	Options   jsonrpc.Options
	Hub       *jsonrpc.Hub
	Listen    jsonrpc.ListenOptions
	ListTools func(context.Context, *newParams) (*result, error)
	CallTool  func(context.Context, *newParams) (*result, error)
}

func (s newServer) Bind() (jsonrpc.Chooser, error) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{
		Revision: newRevision, Side: jsonrpc.ServerSide, Methods: newMethods, Hub: s.Hub, Listen: s.Listen, Options: s.Options,
		Capabilities: rawOf(`{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`), Info: rawOf(`{"name":"sample","version":"2"}`),
	})
	jsonrpc.HandleRequest(svc, "server/discover", func(context.Context, *newParams) (*raw, error) {
		return rawOf(`{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}`), nil
	})
	jsonrpc.HandleRequest(svc, "tools/list", s.ListTools)
	jsonrpc.HandleRequest(svc, "tools/call", s.CallTool)
	return svc, nil
}

type newClient struct {
	Options      jsonrpc.Options
	Elicit       func(context.Context, *oldParams) (*result, error)
	Message      func(context.Context, *oldParams) error
	ToolsChanged func(context.Context, *oldParams) error
}

func (c newClient) Bind() (jsonrpc.Chooser, error) {
	svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: newRevision, Side: jsonrpc.ClientSide, Methods: newMethods, Options: c.Options})
	jsonrpc.HandleRequest(svc, "elicitation/create", c.Elicit)
	jsonrpc.HandleNotification(svc, "notifications/message", c.Message)
	jsonrpc.HandleNotification(svc, "notifications/tools/list_changed", c.ToolsChanged)
	return svc, nil
}

type newRemote struct{ conn *jsonrpc.Conn }

func connectNew(ctx context.Context, d jsonrpc.Dialer, c newClient) (*newRemote, error) {
	conn, err := jsonrpc.Dial(ctx, d, c)
	if err != nil {
		return nil, err
	}
	conn.SetMetadata(jsonrpc.Metadata{
		ProtocolVersion: newRevision, ClientInfo: rawOf(`{"name":"sample","version":"2"}`), ClientCapabilities: rawOf(`{"elicitation":{}}`),
	})
	if _, err := jsonrpc.Discover[raw](ctx, conn, &newParams{}); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return &newRemote{conn}, nil
}

func (r *newRemote) CallTool(ctx context.Context, p *newParams) (*result, error) {
	return jsonrpc.CallRounds[result, inputRequired](ctx, r.conn, "tools/call", p)
}

func (r *newRemote) ListTools(ctx context.Context, p *newParams) (*result, error) {
	return jsonrpc.CallTyped[result](ctx, r.conn, "tools/list", p)
}

var (
	_ jsonrpc.Binder = oldServer{}
	_ jsonrpc.Binder = newClient{}
)
