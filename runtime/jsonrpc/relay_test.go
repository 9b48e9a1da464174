package jsonrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// relay is a Relay of funcs.
type relay struct {
	request func(context.Context) (jsonrpc.Answer, error)
	note    func(context.Context)
}

func (r relay) Request(ctx context.Context) (jsonrpc.Answer, error) { return r.request(ctx) }

func (r relay) Notification(ctx context.Context) { r.note(ctx) }

// relays joins a server and a client that are both relays.
func relays(t *testing.T, server, client relay) (*jsonrpc.Conn, func()) {
	t.Helper()
	c, s := jsonl.InMemory()
	served := make(chan error, 1)
	go func() {
		served <- jsonrpc.Serve(context.Background(), s, jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Relay: server}))
	}()
	conn, err := jsonrpc.Dial(t.Context(), c, jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Side: jsonrpc.ClientSide, Relay: client}))
	require.NoError(t, err)
	return conn, func() {
		require.NoError(t, conn.Close(context.Background()))
		require.NoError(t, <-served)
	}
}

// say appends a message with an id.
func say(before, after string) func([]byte, jsonrpc.ID) []byte {
	return func(b []byte, id jsonrpc.ID) []byte {
		return append(id.AppendJSON(append(b, before...)), after...)
	}
}

// TestRelayGetsMessagesAsTheyCame holds that a relay sees and says whole messages,
// and that the connection keeps its states and its ids all the same.
func TestRelayGetsMessagesAsTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		server := relay{
			request: func(ctx context.Context) (jsonrpc.Answer, error) {
				p := jsonrpc.PeerOf(ctx)
				heard = append(heard, string(p.Message()))
				switch p.Method() {
				case "refuse":
					return jsonrpc.Answer{}, jsonrpc.NewError(7, "no")
				case "error":
					return jsonrpc.Answer{Data: say(`{"error":{"code":5,"message":"\u0065"}, "id":`, `,"jsonrpc":"2.0","x":1.0}`)(nil, p.ID()), Code: 5}, nil
				case "ask":
					require.NoError(t, jsonrpc.SendMessage(ctx, p.Conn(), []byte(`{"method":"notifications/before", "jsonrpc":"2.0"}`)))
					a, err := jsonrpc.CallMessage(ctx, p.Conn(), &jsonrpc.MessageCall{Method: "back", Append: say(`{"jsonrpc":"2.0", "method":"back","id":`, `}`)})
					a.Data = bytes.Replace(a.Data, []byte(`"id":1`), []byte(`"id":5`), 1)
					return a, err
				}
				return jsonrpc.Answer{Data: say(`{"result":{ }, "id":`, `,"jsonrpc":"2.0"}`)(nil, p.ID())}, nil
			},
			note: func(ctx context.Context) { heard = append(heard, string(jsonrpc.PeerOf(ctx).Message())) },
		}
		var told []string
		client := relay{
			request: func(ctx context.Context) (jsonrpc.Answer, error) {
				told = append(told, string(jsonrpc.PeerOf(ctx).Message()))
				return jsonrpc.Answer{Data: []byte(`{"jsonrpc":"2.0","id":1,"result":{"from":"client"}}`)}, nil
			},
			note: func(ctx context.Context) { told = append(told, string(jsonrpc.PeerOf(ctx).Message())) },
		}
		conn, stop := relays(t, server, client)
		call := func(method, before, after string) jsonrpc.Answer {
			taken := 0
			a, err := jsonrpc.CallMessage(t.Context(), conn, &jsonrpc.MessageCall{Method: method, Append: say(before, after), Taken: func() { taken++ }})
			require.NoError(t, err)
			require.Equal(t, 1, taken)
			return a
		}
		a := call("early", `{"jsonrpc":"2.0","method":"early","id":`, `}`)
		require.Equal(t, jsonrpc.CodeInvalidRequest, a.Code, "states are the connection's")
		a = call("initialize", `{"jsonrpc":"2.0","method":"initialize","id":`, `,"params":{"protocolVersion":"`+oldRevision+`","k":1.0}}`)
		require.Equal(t, jsonrpc.Answer{Data: []byte(`{"result":{ }, "id":2,"jsonrpc":"2.0"}`)}, a)
		require.NoError(t, jsonrpc.SendMessage(t.Context(), conn, []byte(`{"method":"notifications/initialized","jsonrpc":"2.0","q":[]}`)))
		require.Equal(t, jsonrpc.Answer{Data: []byte(`{"error":{"code":5,"message":"\u0065"}, "id":3,"jsonrpc":"2.0","x":1.0}`), Code: 5}, call("error", `{"jsonrpc":"2.0","method":"error","id":`, `}`))
		require.Equal(t, int64(7), call("refuse", `{"jsonrpc":"2.0","method":"refuse","id":`, `}`).Code)
		a = call("ask", `{"jsonrpc":"2.0","method":"ask","id":`, `}`)
		require.Equal(t, `{"jsonrpc":"2.0","id":5,"result":{"from":"client"}}`, string(a.Data))
		synctest.Wait()
		require.Equal(t, []string{
			`{"jsonrpc":"2.0","method":"initialize","id":2,"params":{"protocolVersion":"` + oldRevision + `","k":1.0}}`,
			`{"method":"notifications/initialized","jsonrpc":"2.0","q":[]}`,
			`{"jsonrpc":"2.0","method":"error","id":3}`, `{"jsonrpc":"2.0","method":"refuse","id":4}`, `{"jsonrpc":"2.0","method":"ask","id":5}`,
		}, heard)
		require.Equal(t, []string{`{"method":"notifications/before", "jsonrpc":"2.0"}`, `{"jsonrpc":"2.0", "method":"back","id":1}`}, told)
		stop()
		_, err := jsonrpc.CallMessage(t.Context(), conn, &jsonrpc.MessageCall{Method: "x", Append: say("", "")})
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
		require.ErrorIs(t, jsonrpc.SendMessage(t.Context(), conn, nil), jsonrpc.ErrClosed)
		require.ErrorIs(t, jsonrpc.SendMessage(t.Context(), nil, nil), jsonrpc.ErrNoPeer)
	})
}

// TestRelayIsToldOfCancellationFirst holds that a cancellation reaches a relay
// before the context of what it cancels ends, and that a call whose cancellation
// was told is not cancelled twice.
func TestRelayIsToldOfCancellationFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running context.Context
		var heard []string
		server := relay{
			request: func(ctx context.Context) (jsonrpc.Answer, error) {
				p := jsonrpc.PeerOf(ctx)
				if p.Method() == "initialize" {
					return jsonrpc.Answer{Data: say(`{"jsonrpc":"2.0","result":{},"id":`, `}`)(nil, p.ID())}, nil
				}
				running = ctx
				p.Detach()
				<-ctx.Done()
				return jsonrpc.Answer{}, ctx.Err()
			},
			note: func(ctx context.Context) {
				require.NoError(t, running.Err())
				heard = append(heard, string(jsonrpc.PeerOf(ctx).Message()))
			},
		}
		conn, stop := relays(t, server, relay{})
		_, err := jsonrpc.CallMessage(t.Context(), conn, &jsonrpc.MessageCall{Method: "initialize", Append: say(`{"jsonrpc":"2.0","method":"initialize","id":`, `}`)})
		require.NoError(t, err)
		for _, told := range []bool{true, false} {
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := jsonrpc.CallMessage(ctx, conn, &jsonrpc.MessageCall{Method: "wait", Append: say(`{"jsonrpc":"2.0","method":"wait","id":`, `}`), Cancelled: func() bool { return told }})
				done <- err
			}()
			synctest.Wait()
			cancel(errors.New("bored"))
			require.ErrorIs(t, <-done, context.Canceled)
			synctest.Wait()
		}
		require.Equal(t, []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"bored"}}`}, heard)
		stop()
	})
}

// TestRequestsFollowNotifications holds that what a server asks is asked after
// what it told before, unless the handler of that is slow.
func TestRequestsFollowNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		slow := make(chan struct{})
		close(slow)
		c := oldClient{
			Message: func(_ context.Context, p *oldParams) error {
				<-slow
				order = append(order, "told "+p.text("data"))
				return nil
			},
			ListRoots: func(context.Context, *empty) (*result, error) {
				order = append(order, "asked")
				return &result{}, nil
			},
		}
		s := oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			peer := jsonrpc.PeerOf(ctx)
			for _, data := range []string{"1", "2"} {
				_ = peer.Log(ctx, "info", &oldParams{Fields: map[string]wire.Raw{"level": wire.Quote("info"), "data": wire.Quote(data)}})
			}
			_, err := jsonrpc.CallRaw(ctx, peer.Conn(), "roots/list", nil)
			return &result{}, err
		}}
		down, up := jsonl.InMemory()
		served := make(chan error, 1)
		go func() { served <- jsonrpc.Serve(context.Background(), up, s) }()
		client, err := connectOld(t.Context(), down, c)
		require.NoError(t, err)
		_, err = client.CallTool(t.Context(), &callToolParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, []string{"told 1", "told 2", "asked"}, order)
		order, slow = nil, make(chan struct{})
		_, err = client.CallTool(t.Context(), &callToolParams{Name: "x"})
		require.NoError(t, err)
		require.Equal(t, []string{"asked"}, order)
		close(slow)
		require.NoError(t, client.conn.Close(context.Background()))
		require.NoError(t, <-served)
	})
}

// TestServerThatAsksWithoutEnd holds that what a server asks is bounded, by number
// and by bytes, where nobody answers it, pings that a relay passes on included;
// that all which is beyond is answered at once; and that calls go on meanwhile.
func TestServerThatAsksWithoutEnd(t *testing.T) {
	const limit, more = 8, 40
	wait := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	relayed := relay{
		request: func(ctx context.Context) (jsonrpc.Answer, error) { return jsonrpc.Answer{}, wait(ctx) },
		note:    func(context.Context) {},
	}
	for _, c := range []struct {
		name, method string
		relay        jsonrpc.Relay
		pad          int // bytes of each request
		held         int // of the requests
	}{
		{"ping/relayed", "ping", relayed, 0, 2 * limit},
		{"other/relayed", "x", relayed, 0, limit},
		{"other/handled", "x", nil, 0, limit},
		{"ping/handled", "ping", nil, 0, 0},
		{"bytes/relayed", "x", relayed, 30 << 20, 2},
		{"bytes/ping/relayed", "ping", relayed, 30 << 20, 2},
		{"bytes/handled", "x", nil, 30 << 20, 2},
		{"bytes/ping/handled", "ping", nil, 30 << 20, 0},
		{"large/handled", "x", nil, 63 << 20, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, server := jsonl.InMemory()
				o := jsonrpc.ServiceOptions{Revision: oldRevision, Side: jsonrpc.ClientSide, Relay: c.relay, Options: jsonrpc.Options{MaxInFlight: limit}}
				if c.relay == nil {
					o.Unknown = func(ctx context.Context, _ string, _ wire.Raw) (wire.Raw, error) { return nil, wait(ctx) }
				}
				conn, err := jsonrpc.Dial(t.Context(), client, jsonrpc.NewService(o))
				require.NoError(t, err)
				l, err := server.Accept(t.Context())
				require.NoError(t, err)
				peer := &asking{answers: make(chan []byte, more)}
				require.NoError(t, l.Start(peer))
				n := more
				if c.pad > 0 {
					n = 3
				}
				pad := bytes.Repeat([]byte("x"), c.pad)
				for i := range n {
					require.NoError(t, l.Send(t.Context(), jsonrpc.Frame{Data: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"x":"%s"}}`, i, c.method, pad)}))
				}
				for range n - c.held {
					answer := <-peer.answers
					if c.held > 0 {
						require.Contains(t, string(answer), `"code":-31001`)
					}
				}
				synctest.Wait()
				require.Equal(t, c.held, conn.Stats().Handling)
				require.NoError(t, conn.Close(context.Background()))
				require.NoError(t, l.Close(context.Background()))
			})
		})
	}
}

// asking is a peer that keeps the answers which it gets.
type asking struct{ answers chan []byte }

func (a *asking) Receive(_ context.Context, ex jsonrpc.Exchange, f jsonrpc.Frame) {
	a.answers <- bytes.Clone(f.Data)
	_ = ex.Reply(context.Background(), jsonrpc.Frame{})
}

func (a *asking) Closed(error) {}
