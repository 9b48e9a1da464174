package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// askingServer is one of 2025-11-25 whose tool is f.
func askingServer(f func(ctx context.Context, peer v20251125.RemoteClient) (string, error)) v20251125.Server {
	return v20251125.Server{
		Info: v20251125.Implementation{Name: "s", Version: "1"}, Options: discard,
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{{Name: "t"}}}, nil
		},
		CallTool: func(ctx context.Context, _ *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			text, err := f(ctx, v20251125.Peer(ctx))
			if err != nil {
				return nil, err
			}
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: text}}}, nil
		},
	}
}

// nameOf asks for a name.
func nameOf(ctx context.Context, peer v20251125.RemoteClient, message string) (string, error) {
	r, err := peer.Elicit(ctx, &v20251125.ElicitFormParams{Message: message, RequestedSchema: v20251125.ElicitSchema{Properties: map[string]v20251125.PrimitiveSchemaDefinition{"name": &v20251125.StringSchema{}}}})
	if err != nil {
		return "", err
	}
	name, _ := r.Content["name"].Str()
	return name, nil
}

// asker calls a tool of a server of 2026-07-28 round by round.
type asker struct {
	t    *testing.T
	conn *jsonrpc.Conn
}

func roundsOf(t *testing.T, d jsonrpc.Dialer) asker {
	s, err := v20260728.Connect(t.Context(), d, v20260728.Client{Options: discard})
	require.NoError(t, err)
	return asker{t, s.Conn()}
}

const askable = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}`

// round makes one request; more are further members of its params.
func (a asker) round(ctx context.Context, more string) (wire.Raw, error) {
	if more != "" {
		more = "," + more
	}
	return jsonrpc.CallRaw(ctx, a.conn, "tools/call", wire.Raw(`{"name":"t",`+askable+more+`}`))
}

// next makes the round after r, with an answer to each question.
func next(r wire.Raw, answer string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"requestState":%s,"inputResponses":{`, r.Get("requestState"))
	comma := ""
	for key := range r.Get("inputRequests").Members() {
		fmt.Fprintf(&b, "%s%q:%s", comma, key, answer)
		comma = ","
	}
	return b.String() + "}"
}

func accept(name string) string { return `{"action":"accept","content":{"name":"` + name + `"}}` }

func questions(t *testing.T, r wire.Raw) []string {
	kind, _ := r.Get("resultType").Str()
	require.Equal(t, "input_required", kind, "%s", r)
	var out []string
	for key, q := range r.Get("inputRequests").Members() {
		message, _ := q.Get("params").Get("message").Str()
		out = append(out, key+" "+message)
	}
	return out
}

func answerOf(t *testing.T, r wire.Raw) string {
	kind, _ := r.Get("resultType").Str()
	require.Equal(t, "complete", kind, "%s", r)
	text, _ := firstOf(r.Get("content")).Get("text").Str()
	return text
}

func refused(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*jsonrpc.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, jsonrpc.CodeInvalidParams, e.Code, "%v", err)
}

// TestKeptCallIsGoodForOneRound: a state is taken once, and an old one, one of
// another call and one with an answer that is none are refused.
func TestKeptCallIsGoodForOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := roundsOf(t, served(t, compat.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
			first, err := nameOf(ctx, peer, "first?")
			if err != nil {
				return "", err
			}
			last, err := nameOf(ctx, peer, "last?")
			return first + " " + last, err
		}))))
		r1, err := a.round(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, []string{"elicitation-1 first?"}, questions(t, r1))
		_, err = a.round(t.Context(), next(r1, `{"action":5}`))
		refused(t, err)
		again, err := a.round(t.Context(), next(r1, "null")[:len(`"requestState":`)+len(r1.Get("requestState"))]) // no answer
		require.NoError(t, err)
		require.Equal(t, questions(t, r1), questions(t, again), "it is asked again")
		_, err = a.round(t.Context(), next(r1, accept("x")))
		refused(t, err)
		r2, err := a.round(t.Context(), next(again, accept("Ada")))
		require.NoError(t, err)
		require.Equal(t, []string{"elicitation-2 last?"}, questions(t, r2))
		for _, old := range []wire.Raw{r1, again} {
			_, err = a.round(t.Context(), next(old, accept("Eve")))
			refused(t, err)
		}
		_, err = a.round(t.Context(), `"arguments":{"other":1},`+next(r2, accept("Eve")))
		refused(t, err)
		r3, err := a.round(t.Context(), next(r2, accept("Lovelace")))
		require.NoError(t, err)
		require.Equal(t, "Ada Lovelace", answerOf(t, r3))
		_, err = a.round(t.Context(), next(r2, accept("Lovelace")))
		refused(t, err)
		require.NoError(t, a.conn.Close(t.Context()))
	})
}

// TestKeptCallAsksSeveralThings: what is asked at once comes at once, and what
// has no answer comes again.
func TestKeptCallAsksSeveralThings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := roundsOf(t, served(t, compat.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
			var wg sync.WaitGroup
			var names [2]string
			var errs [3]error
			peer.Detach()
			for i := range names {
				wg.Go(func() { names[i], errs[i] = nameOf(ctx, peer, fmt.Sprint(i)) })
			}
			wg.Wait()
			_, errs[2] = peer.ListRoots(ctx, nil)
			return strings.Join(names[:], " "), errors.Join(errs[:]...)
		}))))
		r, err := a.round(t.Context(), "")
		for err == nil && r.Get("requestState") != nil {
			// Answer one question, and what nobody asked.
			for key, q := range r.Get("inputRequests").Members() {
				answer := `{"roots":[]}`
				if message, ok := q.Get("params").Get("message").Str(); ok {
					answer = accept("n" + message)
				}
				r, err = a.round(t.Context(), fmt.Sprintf(`"requestState":%s,"inputResponses":{%q:%s,"nobody":{}}`, r.Get("requestState"), key, answer))
				break
			}
		}
		require.NoError(t, err)
		require.Equal(t, "n0 n1", answerOf(t, r))
		require.NoError(t, a.conn.Close(t.Context()))
	})
}

// TestKeptCallEnds: a kept call does not outlive the time that the client may
// take, its connection, or the request of a round; its handler hears why.
func TestKeptCallEnds(t *testing.T) {
	for _, c := range []struct {
		rule string
		end  func(t *testing.T, a asker, first wire.Raw)
		want string
	}{
		{"the client never comes back", func(t *testing.T, a asker, first wire.Raw) {
			time.Sleep(time.Minute + time.Second)
			_, err := a.round(t.Context(), next(first, accept("late")))
			refused(t, err)
		}, "did not come back"},
		{"the connection closes", func(t *testing.T, a asker, _ wire.Raw) {
			require.NoError(t, a.conn.Close(t.Context()))
			time.Sleep(2 * time.Second)
		}, "connection closed"},
		{"the next round is cancelled", func(t *testing.T, a asker, first wire.Raw) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			_, err := a.round(ctx, next(first, accept("busy")))
			require.ErrorIs(t, err, context.Canceled)
			time.Sleep(time.Second)
		}, "gave the request up"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				s := compat.Options{KeptTimeout: time.Minute}.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
					name, err := nameOf(ctx, peer, "name?")
					if name == "busy" {
						<-ctx.Done()
						err = jsonrpc.ContextError(ctx)
					}
					ended <- err
					return name, err
				}))
				a := roundsOf(t, served(t, s))
				first, err := a.round(t.Context(), "")
				require.NoError(t, err)
				c.end(t, a, first)
				select {
				case err := <-ended:
					require.ErrorContains(t, err, c.want)
				default:
					require.FailNow(t, "the handler still runs")
				}
				require.NoError(t, a.conn.Close(t.Context()))
			})
		})
	}
}

// TestKeptCallsAreBounded: a thousand wait beside each other, and what is beyond
// the bound is refused.
func TestKeptCallsAreBounded(t *testing.T) {
	const n = 1000
	synctest.Test(t, func(t *testing.T) {
		s := compat.Options{MaxKept: n}.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
			return nameOf(ctx, peer, "name?")
		}))
		a := roundsOf(t, served(t, s))
		var states []wire.Raw
		for range n {
			r, err := a.round(t.Context(), "")
			require.NoError(t, err)
			states = append(states, r)
		}
		_, err := a.round(t.Context(), "")
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeOverloaded, ""))
		var wg sync.WaitGroup
		for i, r := range states {
			wg.Go(func() {
				done, err := a.round(t.Context(), next(r, accept(fmt.Sprint(i))))
				if err != nil {
					t.Error(err)
					return
				}
				require.Equal(t, fmt.Sprint(i), answerOf(t, done))
			})
		}
		wg.Wait()
		r, err := a.round(t.Context(), "")
		require.NoError(t, err, "there is room again")
		questions(t, r)
		require.NoError(t, a.conn.Close(t.Context()))
	})
}

// TestKeptCallWhoseHandlerPanics: that is told as it is of any other handler.
func TestKeptCallWhoseHandlerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := roundsOf(t, served(t, compat.Server(askingServer(func(context.Context, v20251125.RemoteClient) (string, error) { panic("oh") }))))
		_, err := a.round(t.Context(), "")
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
		require.NoError(t, a.conn.Close(t.Context()))
	})
}

// TestKeptCallBelongsToItsPrincipal, over HTTP, where each round is a connection
// of its own.
func TestKeptCallBelongsToItsPrincipal(t *testing.T) {
	h := streamhttp.NewHandler(compat.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
		return nameOf(ctx, peer, "name?")
	})), streamhttp.HandlerOptions{Logger: discard.Logger})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(jsonrpc.WithPrincipal(r.Context(), r.Header.Get("User"))))
	}))
	defer srv.Close()
	defer h.Close()
	as := func(user string) asker {
		return roundsOf(t, &streamhttp.Endpoint{URL: srv.URL, Header: http.Header{"User": {user}}, Logger: discard.Logger})
	}
	ada, eve := as("ada"), as("eve")
	r, err := ada.round(t.Context(), "")
	require.NoError(t, err)
	_, err = eve.round(t.Context(), next(r, accept("Eve")))
	refused(t, err)
	r, err = ada.round(t.Context(), next(r, accept("Ada")))
	require.NoError(t, err)
	require.Equal(t, "Ada", answerOf(t, r))
	require.NoError(t, ada.conn.Close(t.Context()))
	require.NoError(t, eve.conn.Close(t.Context()))
}

// TestOldClientGoesAwayWhileItIsAsked: the handler of 2026-07-28 is not called
// again, and nothing is left.
func TestOldClientGoesAwayWhileItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := roundsServer(nil)
		inner := s.CallTool
		s.CallTool = func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			calls++
			return inner(ctx, p)
		}
		s.Options = discard
		asked := make(chan struct{})
		client := v20251125.Client{
			Options: discard,
			Elicit: func(ctx context.Context, _ v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				close(asked)
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(s)), client)
		require.NoError(t, err)
		go func() {
			<-asked
			_ = server.Close()
		}()
		_, err = server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
		time.Sleep(time.Minute)
		require.Equal(t, 1, calls)
	})
}

// TestHandlerThatNeverStopsAsking is stopped after some rounds.
func TestHandlerThatNeverStopsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := roundsServer(nil)
		s.Options = discard
		s.CallTool = func(context.Context, *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"name": form("again?")}, nil)
		}
		asked := 0
		server, err := v20251125.Connect(t.Context(), served(t, compat.Server(s)), v20251125.Client{
			Elicit: func(context.Context, v20251125.ElicitParams) (*v20251125.ElicitResult, error) {
				asked++
				return &v20251125.ElicitResult{Action: v20251125.ElicitActionDecline}, nil
			},
		})
		require.NoError(t, err)
		_, err = server.CallTool(t.Context(), &v20251125.CallToolParams{Name: "greet"})
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""))
		require.Equal(t, 9, asked)
		require.NoError(t, server.Close())
	})
}

// TestKeptCallEndsWithItsHandler: over HTTP a parked call ends when the handler
// closes.
func TestKeptCallEndsWithItsHandler(t *testing.T) {
	ended := make(chan error, 1)
	h := streamhttp.NewHandler(compat.Server(askingServer(func(ctx context.Context, peer v20251125.RemoteClient) (string, error) {
		_, err := nameOf(ctx, peer, "name?")
		ended <- err
		return "", err
	})), streamhttp.HandlerOptions{Logger: discard.Logger})
	srv := httptest.NewServer(h)
	defer srv.Close()
	a := roundsOf(t, &streamhttp.Endpoint{URL: srv.URL, Logger: discard.Logger})
	r, err := a.round(t.Context(), "")
	require.NoError(t, err)
	questions(t, r)
	require.NoError(t, a.conn.Close(t.Context()))
	h.Close()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "connection closed")
	case <-time.After(10 * time.Second):
		require.FailNow(t, "the handler still runs")
	}
}

// TestListenToAServerThatHangs: a server that does not answer resources/subscribe
// keeps one subscription waiting for a while, and no other.
func TestListenToAServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := askingServer(nil)
		s.ListResources = func(context.Context, *v20251125.ListResourcesParams) (*v20251125.ListResourcesResult, error) {
			return nil, nil
		}
		s.ReadResource = func(context.Context, *v20251125.ReadResourceParams) (*v20251125.ReadResourceResult, error) {
			return nil, nil
		}
		var told notes
		s.Subscribe = func(ctx context.Context, p *v20251125.SubscribeParams) (*v20251125.EmptyResult, error) {
			if p.URI == "x:hangs" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			told.add("+" + p.URI)
			return nil, nil
		}
		s.Unsubscribe = func(_ context.Context, p *v20251125.UnsubscribeParams) (*v20251125.EmptyResult, error) {
			told.add("-" + p.URI)
			return nil, nil
		}
		client, err := v20260728.Connect(t.Context(), served(t, compat.Server(s)), v20260728.Client{Options: discard})
		require.NoError(t, err)
		listen := func(uris ...string) *jsonrpc.Subscription {
			sub, err := client.Listen(t.Context(), &v20260728.SubscriptionsListenParams{Notifications: v20260728.SubscriptionFilter{ResourceSubscriptions: uris}})
			require.NoError(t, err)
			return sub
		}
		began := time.Now()
		hanging := make(chan *jsonrpc.Subscription)
		go func() { hanging <- listen("x:1", "x:hangs", "x:2") }()
		time.Sleep(time.Second)
		a, b := listen("x:1"), listen("x:1")
		require.Less(t, time.Since(began), 2*time.Second)
		c := <-hanging
		require.JSONEq(t, `{"resourceSubscriptions":["x:1"]}`, string(c.Honoured()))
		for _, sub := range []*jsonrpc.Subscription{a, b, c} {
			require.Equal(t, []string{"+x:1"}, told.all())
			sub.Close()
			time.Sleep(time.Second)
		}
		require.Equal(t, []string{"+x:1", "-x:1"}, told.all())
		require.NoError(t, client.Close())
	})
}
