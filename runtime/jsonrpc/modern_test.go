package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func newEcho(_ context.Context, p *newParams) (*result, error) { return &result{Text: p.Name}, nil }

// TestStatelessChecks: the order on stdio is JSON, envelope, _meta complete,
// version supported, method exists, params, execute; and nothing has to come
// before a request.
func TestStatelessChecks(t *testing.T) {
	const unsupported = `"error":{"code":-32022,"message":"unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"%s"}}}`
	meta := func(version, caps string) string {
		m := []string{}
		if version != "" {
			m = append(m, `"io.modelcontextprotocol/protocolVersion":`+version)
		}
		if caps != "" {
			m = append(m, `"io.modelcontextprotocol/clientCapabilities":`+caps)
		}
		return `"_meta":{` + strings.Join(m, ",") + `}`
	}
	good := meta(`"2026-07-28"`, `{}`)
	invalid := func(what string) string {
		return `"error":{"code":-32602,"message":"` + what + `"}}`
	}
	for _, c := range []struct{ name, method, params, want string }{
		{"complete", "tools/call", `{"name":"x",` + good + `}`, `"result":{"text":"x","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"2"}}}}`},
		{"no params", "tools/call", ``, invalid("tools/call: params: missing")},
		{"no meta", "tools/call", `{"name":"x"}`, invalid("tools/call: params._meta: missing")},
		{"meta a list", "tools/call", `{"_meta":[]}`, invalid("tools/call: params._meta: want an object")},
		{"no version", "tools/call", `{` + meta("", `{}`) + `}`, invalid(`tools/call: params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing`)},
		{"version a number", "tools/call", `{` + meta(`5`, `{}`) + `}`, invalid(`tools/call: params._meta[\"io.modelcontextprotocol/protocolVersion\"]: want a string`)},
		{"no capabilities", "tools/call", `{` + meta(`"2026-07-28"`, "") + `}`, invalid(`tools/call: params._meta[\"io.modelcontextprotocol/clientCapabilities\"]: missing`)},
		{"capabilities a list", "tools/call", `{` + meta(`"2026-07-28"`, "[]") + `}`, invalid(`tools/call: params._meta[\"io.modelcontextprotocol/clientCapabilities\"]: want an object`)},
		{"no version and no capabilities", "tools/call", `{` + meta("", "") + `}`, invalid(`tools/call: params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing`)},
		{"another version", "tools/call", `{"name":"x",` + meta(`"2025-11-25"`, `{}`) + `}`, fmt.Sprintf(unsupported, "2025-11-25")},
		{"nonsense version", "tools/call", `{"name":"x",` + meta(`"1900-01-01"`, `{}`) + `}`, fmt.Sprintf(unsupported, "1900-01-01")},
		{"empty version", "tools/call", `{"name":"x",` + meta(`""`, `{}`) + `}`, fmt.Sprintf(unsupported, "")},
		{"another version and bad params", "tools/call", `{"name":5,` + meta(`"3000-01-01"`, `{}`) + `}`, fmt.Sprintf(unsupported, "3000-01-01")},
		{"bad params", "tools/call", `{"name":5,` + good + `}`, invalid("invalid params: params.name: want a string, got a number")},
		{"unknown method", "tools/nonesuch", `{` + good + `}`, `"error":{"code":-32601,"message":"*"}}`},
		{"unknown method and another version", "tools/nonesuch", `{` + meta(`"3000-01-01"`, `{}`) + `}`, fmt.Sprintf(unsupported, "3000-01-01")},
		{"unknown method without meta", "tools/nonesuch", `{}`, `"error":{"code":-32602,"message":"*"}}`},
		{"ping is gone", "ping", `{` + good + `}`, `"error":{"code":-32601,"message":"*"}}`},
		{"initialize with full meta", "initialize", `{"protocolVersion":"2025-11-25",` + good + `}`, `"error":{"code":-32601,"message":"*"}}`},
		{"initialize of an older client", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}`, fmt.Sprintf(unsupported, "2025-11-25")},
		{"initialize with other meta", "initialize", `{"protocolVersion":"2025-06-18","_meta":{"progressToken":1}}`, fmt.Sprintf(unsupported, "2025-06-18")},
		{"an embedded request", "elicitation/create", `{` + good + `}`, `"error":{"code":-32601,"message":"*"}}`},
		{"bad log level", "tools/call", `{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}}`, `"error":{"code":-32602,"message":"*"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newTap(t, newServer{CallTool: newEcho}, jsonrpc.ServerSide)
			p.talk("> "+request("1", c.method, c.params), `< {"jsonrpc":"2.0","id":1,`+c.want)
			// The same with the params first.
			if c.params != "" {
				p.talk(`> {"params":`+c.params+`,"method":"`+c.method+`","id":1,"jsonrpc":"2.0"}`, `< {"jsonrpc":"2.0","id":1,`+c.want)
			}
			p.none()
			require.Equal(t, jsonrpc.Ready, p.conn.State())
		})
	}
}

// TestServerInfo: every result names the server in its _meta, whatever else is
// there.
func TestServerInfo(t *testing.T) {
	const info = `"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"2"}`
	for meta, want := range map[string]string{
		"":                                   `{` + info + `}`,
		`{}`:                                 `{` + info + `}`,
		`{"a":1}`:                            `{` + info + `,"a":1}`,
		`{ "a" : 1 }`:                        `{` + info + `,"a":1}`,
		`{` + info[:36] + `:{"name":"own"}}`: `{` + info[:36] + `:{"name":"own"}}`,
	} {
		p := newTap(t, newServer{CallTool: func(context.Context, *newParams) (*result, error) {
			r := &result{Text: `"_meta":{}`}
			if meta != "" {
				r.Meta = wire.MustRaw(meta)
			}
			return r, nil
		}}, jsonrpc.ServerSide)
		p.talk("> "+request("1", "tools/call", modern("")), `< {"jsonrpc":"2.0","id":1,"result":{"text":"\"_meta\":{}","_meta":`+want+`}}`)
	}
	p := newTap(t, newServer{CallTool: func(context.Context, *newParams) (*result, error) {
		return nil, &inputRequired{ReqState: new("s")}
	}}, jsonrpc.ServerSide)
	p.talk("> "+request("1", "tools/call", modern("")), `< {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","_meta":{`+info+`}}}`)
}

// TestRequestLogLevel: logs follow the request's own _meta, and nothing is
// sent unasked.
func TestRequestLogLevel(t *testing.T) {
	p := newTap(t, newServer{CallTool: func(ctx context.Context, p *newParams) (*result, error) {
		peer := jsonrpc.PeerOf(ctx)
		for _, l := range []string{"debug", "error"} {
			require.NoError(t, peer.Log(ctx, l, rawOf(`{"level":"`+l+`","data":1}`)))
		}
		return &result{}, nil
	}}, jsonrpc.ServerSide)
	answer := `< {"jsonrpc":"2.0","id":1,"result":"*"}`
	level := func(l string) string {
		return "> " + request("1", "tools/call", strings.Replace(modern(""), `{}}`, `{},"io.modelcontextprotocol/logLevel":"`+l+`"}`, 1))
	}
	say := func(l string) string {
		return `< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"` + l + `","data":1}}`
	}
	p.talk("> "+request("1", "tools/call", modern("")), answer, "-", level("debug"), say("debug"), say("error"), answer, level("warning"), say("error"), answer,
		level("emergency"), answer, "-")
}

// TestStatelessServerAsksNothing: a server of this revision sends no requests,
// and change notifications only to those that listen.
func TestStatelessServerAsksNothing(t *testing.T) {
	p := newTap(t, newServer{CallTool: func(ctx context.Context, _ *newParams) (*result, error) {
		c := jsonrpc.PeerOf(ctx).Conn()
		var de *jsonrpc.DirectionError
		_, err := elicit(ctx, "x")
		require.ErrorAs(t, err, &de)
		_, err = jsonrpc.CallRaw(ctx, c, "x/y", nil)
		require.ErrorAs(t, err, &de)
		require.ErrorAs(t, c.Ping(ctx), &de)
		require.NoError(t, jsonrpc.PeerOf(ctx).ToolsListChanged(ctx))
		require.NoError(t, jsonrpc.Notify(ctx, c, "notifications/tools/list_changed", nil))
		return &result{}, nil
	}}, jsonrpc.ServerSide)
	p.talk("> "+request("1", "tools/call", modern("")), `< {"jsonrpc":"2.0","id":1,"result":"*"}`, "-")
}

const subID = `"io.modelcontextprotocol/subscriptionId"`

// TestListen: acknowledgement first, only what is honoured, only on its own
// stream, until it is cancelled or the server drains.
func TestListen(t *testing.T) {
	hub := new(jsonrpc.Hub)
	s := newServer{Hub: hub, CallTool: newEcho, Listen: jsonrpc.ListenOptions{ToolsListChanged: true, ResourceUpdates: true, AllowURI: func(_ context.Context, uri string) bool {
		return uri != "file:///secret"
	}}}
	p := newTap(t, s, jsonrpc.ServerSide)
	ctx := t.Context()
	listen := func(id, n string) string {
		return "> " + request(id, "subscriptions/listen", modern(`"notifications":`+n))
	}
	ack := func(id, n string) string {
		return `< {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":` + n + `,"_meta":{` + subID + `:` + id + `}}}`
	}
	for _, bad := range []string{``, `"notifications":5`, `"notifications":{"toolsListChanged":1}`, `"notifications":{"resourceSubscriptions":"x"}`, `"notifications":{"resourceSubscriptions":[1]}`} {
		p.talk("> "+request("1", "subscriptions/listen", modern(bad)), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`)
	}
	p.talk("> "+request("1", "subscriptions/listen", `{"notifications":{}}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`)

	p.talk(listen("1", `{"toolsListChanged":true,"promptsListChanged":true,"other":5}`), ack("1", `{"toolsListChanged":true}`), "-")
	p.talk(listen(`"1"`, `{"toolsListChanged":false,"resourceSubscriptions":["file:///a","file:///secret","file:///a"]}`), ack(`"1"`, `{"resourceSubscriptions":["file:///a"]}`), "-")
	p.talk(listen("1", `{"toolsListChanged":true}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"*"}}`)
	require.Equal(t, 2, p.conn.Stats().Subscriptions)
	require.Equal(t, 0, p.conn.Stats().Handling)

	hub.ToolsListChanged(ctx)
	p.talk(`< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{`+subID+`:1}}}`, "-")
	hub.ResourceUpdated(ctx, "file:///a/b")
	p.talk(`< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b","_meta":{`+subID+`:"1"}}}`, "-")
	hub.ResourceUpdated(ctx, "file:///secret")
	hub.PromptsListChanged(ctx)
	p.none()
	p.talk("> "+request("2", "tools/call", modern(`"name":"x"`)), `< {"jsonrpc":"2.0","id":2,"result":"*"}`) // an open listen blocks nothing

	p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "-")
	hub.ToolsListChanged(ctx)
	p.none()
	require.Equal(t, 1, p.conn.Stats().Subscriptions)

	// Nothing to honour: acknowledged, and over.
	p.talk(listen("3", `{"promptsListChanged":true}`), ack("3", `{}`),
		`< {"jsonrpc":"2.0","id":3,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"2"},`+subID+`:3}}}`)

	require.NoError(t, p.conn.Drain(ctx))
	p.talk(`< {"jsonrpc":"2.0","id":"1","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sample","version":"2"},`+subID+`:"1"}}}`, "-")
	hub.ResourceUpdated(ctx, "file:///a")
	p.none()
}

// TestListenEndsWithItsExchange: closing the stream of a listen ends it.
func TestListenEndsWithItsExchange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(jsonrpc.Hub)
		p := newTap(t, newServer{Hub: hub, Listen: jsonrpc.ListenOptions{ToolsListChanged: true}}, jsonrpc.ServerSide)
		ctx, cancel := context.WithCancel(t.Context())
		ex := &tapExchange{p: p}
		p.r.Receive(ctx, ex, jsonrpc.Frame{Data: []byte(request("1", "subscriptions/listen", modern(`"notifications":{"toolsListChanged":true}`)))})
		require.True(t, ex.detached)
		require.False(t, ex.replied)
		p.next()
		cancel()
		synctest.Wait()
		require.True(t, ex.replied)
		hub.ToolsListChanged(t.Context())
		p.none()
		require.Zero(t, p.conn.Stats().Subscriptions)
	})
}

// modernPair is a client and a server of 2026-07-28 over memory.
func modernPair(t *testing.T, s newServer, c newClient) (*newRemote, func()) {
	t.Helper()
	cl, sv := jsonl.InMemory()
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- jsonrpc.Serve(ctx, sv, s) }()
	r, err := connectNew(ctx, cl, c)
	require.NoError(t, err)
	return r, func() {
		require.NoError(t, r.conn.Close(t.Context()))
		require.NoError(t, <-served)
		cancel()
	}
}

// TestModernClient: discovery, metadata in every request, gates, progress.
func TestModernClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, stop := modernPair(t, newServer{CallTool: func(ctx context.Context, p *newParams) (*result, error) {
			m := jsonrpc.PeerOf(ctx).Metadata()
			_ = jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "half")
			return &result{Text: m.ProtocolVersion + string(m.ClientInfo.AppendJSON(nil)) + string(m.ClientCapabilities.AppendJSON(nil))}, nil
		}}, newClient{})
		defer stop()
		s := r.conn.Session()
		require.Equal(t, []string{"2026-07-28"}, s.Supported)
		require.Equal(t, `{"name":"sample","version":"2"}`, string(s.Info))
		params := &newParams{Name: "x"}
		var got []jsonrpc.Progress
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { got = append(got, p) }})
		res, err := r.CallTool(ctx, params)
		require.NoError(t, err)
		require.Equal(t, `2026-07-28{"name":"sample","version":"2"}{"elicitation":{}}`, res.Text)
		require.Empty(t, params.Meta.ProtocolVersion, "the caller's params are not written")
		require.Len(t, got, 1)
		require.Equal(t, "half", got[0].Message)
		_, err = r.ListTools(t.Context(), nil) // nil params still carry the metadata
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeMethodNotFound, ""))
		var de *jsonrpc.DirectionError
		require.ErrorAs(t, r.conn.Ping(t.Context()), &de)
		require.ErrorAs(t, jsonrpc.Notify(t.Context(), r.conn, "notifications/progress", nil), &de)
	})
}

// TestClientOfStatelessAnswersNothing: requests of a server are counted, never
// answered.
func TestClientOfStatelessAnswersNothing(t *testing.T) {
	p := newTap(t, newClient{Elicit: func(context.Context, *oldParams) (*result, error) { return &result{}, nil }}, jsonrpc.ClientSide)
	require.NoError(t, p.conn.Ready())
	p.talk("> "+request("1", "elicitation/create", `{"message":"m"}`), "> "+request("1", "ping", ""), `> {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, "-")
	require.Equal(t, 2, count(p.conn, jsonrpc.RefusedRequest))
}

// TestRounds: requests for input are answered with the client's own funcs, and
// the call is made again with a new id, the state and the answers.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		rounds := 2
		r, stop := modernPair(t, newServer{CallTool: func(ctx context.Context, p *newParams) (*result, error) {
			ids = append(ids, jsonrpc.PeerOf(ctx).ID().String())
			n := 0
			if p.State != nil {
				n = len(*p.State)
				a, _ := p.Responses["k"].Get("text").Str()
				require.Equal(t, "answer to "+fmt.Sprint(n), a)
			}
			if p.Name == "odd" {
				return nil, &inputRequired{Requests: wire.Raw(`{"k":{"method":"sampling/createMessage","params":{}}}`)}
			}
			if n < rounds {
				return nil, &inputRequired{ReqState: new(strings.Repeat("s", n+1)), Requests: wire.MustRaw(fmt.Sprintf(`{"k":{"method":"elicitation/create","params":{"message":"%d"}}}`, n+1))}
			}
			return &result{Text: "done"}, nil
		}}, newClient{Elicit: func(_ context.Context, p *oldParams) (*result, error) {
			if p.text("message") == "4" {
				return nil, errors.New("the user left")
			}
			return &result{Text: "answer to " + p.text("message")}, nil
		}})
		defer stop()
		res, err := r.CallTool(t.Context(), &newParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, "done", res.Text)
		require.Equal(t, []string{"2", "3", "4"}, ids)

		_, err = r.CallTool(t.Context(), &newParams{Name: "odd"})
		var ir *inputRequired
		require.ErrorAs(t, err, &ir, "nobody can answer it: it is the caller's")

		rounds = 5
		_, err = r.CallTool(t.Context(), &newParams{Name: "x"})
		require.ErrorContains(t, err, "the user left")
		require.ErrorAs(t, err, &ir)
	})
}

// TestInputNeedsCapability: a handler may ask only for what the request
// declared, and must ask for something.
func TestInputNeedsCapability(t *testing.T) {
	var need *inputRequired
	p := newTap(t, newServer{Options: jsonrpc.Options{Logger: quiet}, CallTool: func(context.Context, *newParams) (*result, error) { return nil, need }}, jsonrpc.ServerSide)
	call := func(caps string) string {
		return "> " + request("1", "tools/call", strings.Replace(modern(""), `{}}`, caps+`}`, 1))
	}
	need = &inputRequired{Requests: wire.Raw(`{"k":{"method":"elicitation/create","params":{}},"x":{"method":"x/y"}}`)}
	p.talk(call(`{"elicitation":{}}`), `< {"jsonrpc":"2.0","id":1,"result":"*"}`,
		call(`{}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"*","data":{"requiredCapabilities":{"elicitation":{}}}}}`)
	need = &inputRequired{Requests: wire.Raw(`{"k":{"method":"tools/call","params":{}}}`)}
	p.talk(call(`{}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"*"}}`)
	need = &inputRequired{}
	p.talk(call(`{}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"*"}}`)
	need = &inputRequired{ReqState: new("s")}
	p.talk(call(`{}`), `< {"jsonrpc":"2.0","id":1,"result":"*"}`)
	_, err := jsonrpc.CallTyped[result](t.Context(), jsonrpc.PeerOf(t.Context()).Conn(), "x", &newParams{})
	require.ErrorIs(t, err, jsonrpc.ErrNoPeer)
	require.ErrorIs(t, jsonrpc.Notify(t.Context(), nil, "x", nil), jsonrpc.ErrNoPeer)
}

// TestRoundsEnd: a server that never has enough is given up.
func TestRoundsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r, stop := modernPair(t, newServer{CallTool: func(context.Context, *newParams) (*result, error) {
			calls++
			return nil, &inputRequired{ReqState: new("s")}
		}}, newClient{})
		defer stop()
		_, err := r.CallTool(t.Context(), &newParams{Name: "x"})
		var ir *inputRequired
		require.ErrorAs(t, err, &ir)
		require.Equal(t, 10, calls)
	})
}

// TestResultType: a result that is neither complete nor asks for input is an
// error.
func TestResultType(t *testing.T) {
	p := newTap(t, newClient{}, jsonrpc.ClientSide)
	require.NoError(t, p.conn.Ready())
	for i, c := range []struct{ say, err string }{
		{`{"resultType":"complete","text":"x"}`, ""},
		{`{"text":"x"}`, ""},
		{`{"text":"x","resultType":"complete"}`, ""},
		{`{"resultType":"later","text":"x"}`, `unknown result type "later"`},
		{`{"resultType":5}`, "tools/call"},
		{`{"resultType":"input_required","requestState":7}`, "tools/call"},
	} {
		done := make(chan error, 1)
		go func() {
			_, err := jsonrpc.CallInput[result, inputRequired](context.Background(), p.conn, "tools/call", &newParams{})
			done <- err
		}()
		p.talk(fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":"*"}`, i+1), fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"result":%s}`, i+1, c.say))
		err := <-done
		if c.err == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.err)
	}
	require.ErrorIs(t, &jsonrpc.ResultTypeError{}, jsonrpc.ErrResultType)
}

// TestSubscription: the client's end of subscriptions/listen.
func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := new(jsonrpc.Hub)
		general := 0
		ctx, drain := context.WithCancel(t.Context())
		cl, sv := jsonl.InMemory()
		served := make(chan error, 1)
		go func() {
			served <- jsonrpc.Serve(ctx, sv, newServer{Hub: hub, CallTool: newEcho, Listen: jsonrpc.ListenOptions{ToolsListChanged: true, ResourceUpdates: true}})
		}()
		r, err := connectNew(t.Context(), cl, newClient{ToolsChanged: func(context.Context, *oldParams) error {
			general++
			return nil
		}})
		require.NoError(t, err)
		var got []string
		listen := func(n string) (*jsonrpc.Subscription, error) {
			return jsonrpc.Listen(t.Context(), r.conn, &newParams{Notifications: wire.MustRaw(n)}, func(method string, params wire.Raw) {
				got = append(got, method)
			})
		}
		a, err := listen(`{"toolsListChanged":true,"promptsListChanged":true}`)
		require.NoError(t, err)
		require.Equal(t, `{"toolsListChanged":true}`, string(a.Honoured()))
		b, err := listen(`{"resourceSubscriptions":["x:/y"]}`)
		require.NoError(t, err)
		hub.ToolsListChanged(ctx)
		hub.ResourceUpdated(ctx, "x:/y/z")
		time.Sleep(time.Minute) // far beyond the request timeout
		synctest.Wait()
		require.Equal(t, []string{"notifications/tools/list_changed", "notifications/resources/updated"}, got)
		require.Equal(t, 1, general)
		res, err := r.CallTool(t.Context(), &newParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, "x", res.Text)

		a.Close()
		require.NoError(t, a.Err())
		time.Sleep(time.Second)
		hub.ToolsListChanged(ctx)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Len(t, got, 2)

		none, err := listen(`{"promptsListChanged":true}`)
		require.NoError(t, err)
		<-none.Done()
		require.NoError(t, none.Err())

		drain()
		<-b.Done()
		require.NoError(t, b.Err(), "the server ended it in good order")
		require.ErrorIs(t, <-served, context.Canceled)
		<-r.conn.Done()
		_, err = listen(`{"toolsListChanged":true}`)
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
	})
}

// TestSubscriptionFails: a listen that is refused, not acknowledged, or torn
// down by the server.
func TestSubscriptionFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newTap(t, newClient{}, jsonrpc.ClientSide)
		require.NoError(t, p.conn.Ready())
		type opened struct {
			s   *jsonrpc.Subscription
			err error
		}
		done := make(chan opened, 1)
		listen := func() {
			go func() {
				s, err := jsonrpc.Listen(t.Context(), p.conn, &newParams{Notifications: wire.Raw(`{}`)}, nil)
				done <- opened{s, err}
			}()
		}
		asked := `< {"jsonrpc":"2.0","id":"*","method":"subscriptions/listen","params":"*"}`
		listen()
		p.talk(asked, `> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`)
		require.ErrorIs(t, (<-done).err, jsonrpc.NewError(-32601, ""))
		listen()
		p.talk(asked, `> {"jsonrpc":"2.0","id":2,"result":{}}`)
		require.ErrorContains(t, (<-done).err, "without acknowledging")
		listen()
		require.ErrorIs(t, (<-done).err, jsonrpc.ErrTimeout)
		p.talk(asked, `< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"*"}}`)
		listen()
		p.talk(asked, `> {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{`+subID+`:4}}}`)
		o := <-done
		require.NoError(t, o.err)
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4,"reason":"closing"}}`)
		<-o.s.Done()
		var ce *jsonrpc.CanceledError
		require.ErrorAs(t, o.s.Err(), &ce)
		o.s.Close()
		p.none()
	})
}

// TestChooser: a chooser sees the method and the message before the params are
// decoded, and the connection remembers the handshake's service.
func TestChooser(t *testing.T) {
	oldCh, err := oldServer{CallTool: echoTool}.Bind()
	require.NoError(t, err)
	newCh, err := newServer{CallTool: newEcho}.Bind()
	require.NoError(t, err)
	both := chooser(func(c *jsonrpc.Conn, f *jsonrpc.Peek) *jsonrpc.Service {
		if strings.Contains(string(f.Data), "io.modelcontextprotocol/protocolVersion") {
			return newCh.(*jsonrpc.Service)
		}
		if s := c.Service(); s != nil {
			return s
		}
		if f.Method == "initialize" {
			v, _ := f.Params().Get("protocolVersion").Str()
			require.Equal(t, "2025-11-25", v)
		}
		return oldCh.(*jsonrpc.Service)
	})
	p := newTap(t, both, jsonrpc.ServerSide)
	p.talk("> "+request("2", "tools/call", modern(`"name":"new"`)), `< {"jsonrpc":"2.0","id":2,"result":{"text":"new","_meta":"*"}}`)
	p = newTap(t, both, jsonrpc.ServerSide)
	p.talk(sayInit, getInit, sayReady)
	require.Equal(t, "2025-11-25", p.conn.Service().Revision())
	p.talk("> "+request("2", "tools/call", `{"name":"old"}`), `< {"jsonrpc":"2.0","id":2,"result":{"text":"old"}}`)
	p.talk("> "+request("2", "tools/call", modern(`"name":"new"`)), `< {"jsonrpc":"2.0","id":2,"result":{"text":"new","_meta":"*"}}`)
	p.talk(`> []`, `< {"jsonrpc":"2.0","error":{"code":-32600,"message":"*"}}`)

	// A client that finds out what to speak, and then speaks the older one; both
	// are served after it.
	for name, probe := range map[string][2]string{
		"good":      {request("1", "server/discover", modern("")), `< {"jsonrpc":"2.0","id":1,"result":"*"}`},
		"refused":   {request("1", "server/discover", strings.Replace(modern(""), "2026-07-28", "2030-01-01", 1)), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"*","data":"*"}}`},
		"no params": {request("1", "server/discover", ""), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"*"}}`},
		"no meta":   {request("1", "server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":5}}`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`},
		"no object": {request("1", "server/discover", `[]`), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"*"}}`},
		"a call":    {request("1", "tools/call", modern(`"name":"new"`)), `< {"jsonrpc":"2.0","id":1,"result":"*"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := newTap(t, both, jsonrpc.ServerSide)
			p.talk("> "+probe[0], probe[1], sayInit, getInit, sayReady, "> "+request("2", "tools/call", `{"name":"old"}`), `< {"jsonrpc":"2.0","id":2,"result":{"text":"old"}}`,
				"> "+request("3", "tools/call", modern(`"name":"new"`)), `< {"jsonrpc":"2.0","id":3,"result":{"text":"new","_meta":"*"}}`, "-")
		})
	}

	none := newTap(t, chooser(func(*jsonrpc.Conn, *jsonrpc.Peek) *jsonrpc.Service { return nil }), jsonrpc.ServerSide)
	none.talk("> "+request("2", "x", ""), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"*"}}`)
	none.talk(`> {"jsonrpc":"2.0","method":"x"}`, "-")
}

type chooser func(*jsonrpc.Conn, *jsonrpc.Peek) *jsonrpc.Service

func (f chooser) Bind() (jsonrpc.Chooser, error)                           { return f, nil }
func (f chooser) Choose(c *jsonrpc.Conn, p *jsonrpc.Peek) *jsonrpc.Service { return f(c, p) }
func (f chooser) Options() jsonrpc.Options                                 { return jsonrpc.Options{} }
