package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// outcome is what a call came to.
type outcome struct {
	res *result
	err error
}

func (r *oldRemote) goCall(ctx context.Context, name string) chan outcome {
	ch := make(chan outcome, 1)
	go func() {
		res, err := r.CallTool(ctx, &callToolParams{Name: name})
		ch <- outcome{res, err}
	}()
	return ch
}

// TestClientHandshake: order, version check, and what is remembered (rows 8,
// 9, 15).
func TestClientHandshake(t *testing.T) {
	p, r := clientTap(t, oldClient{}, allCaps)
	require.Equal(t, jsonrpc.Ready, p.conn.State())
	s := p.conn.Session()
	require.Equal(t, "2025-11-25", s.Revision)
	require.Equal(t, allCaps, string(s.Capabilities))
	require.Equal(t, `{"name":"s","version":"1"}`, string(s.Info))
	_, err := jsonrpc.Initialize[raw](context.Background(), r.conn, &oldParams{})
	var se *jsonrpc.StateError
	require.ErrorAs(t, err, &se)

	t.Run("another version", func(t *testing.T) {
		p := newTap(t, oldClient{}, jsonrpc.ClientSide)
		_, err := (&oldRemote{p.conn}).CallTool(context.Background(), &callToolParams{})
		require.ErrorAs(t, err, &se, "no call before the handshake")
		done := make(chan error, 1)
		go func() {
			_, err := jsonrpc.Initialize[raw](context.Background(), p.conn, &oldParams{})
			done <- err
		}()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
			`> {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2026-06-18","capabilities":{},"serverInfo":{}}}`)
		var ve *jsonrpc.VersionError
		require.ErrorAs(t, <-done, &ve)
		require.Equal(t, []string{"2026-06-18"}, ve.Theirs)
		require.Equal(t, jsonrpc.Closed, p.conn.State())
		p.none()
	})
	t.Run("refused", func(t *testing.T) {
		p := newTap(t, oldClient{}, jsonrpc.ClientSide)
		done := make(chan error, 1)
		go func() {
			_, err := jsonrpc.Initialize[raw](context.Background(), p.conn, &oldParams{})
			done <- err
		}()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `> {"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}`)
		var e *jsonrpc.Error
		require.ErrorAs(t, <-done, &e)
		require.True(t, e.Remote)
		require.Equal(t, jsonrpc.Closed, p.conn.State())
	})
	t.Run("initialize that times out is not cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p := newTap(t, oldClient{}, jsonrpc.ClientSide)
			_, err := jsonrpc.Initialize[raw](t.Context(), p.conn, &oldParams{})
			require.ErrorIs(t, err, jsonrpc.ErrTimeout)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			p.talk(`< {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, "-")
		})
	})
}

// TestClientGates: what the server does not advertise is not asked for, and
// what the client does not, is not said (row 66).
func TestClientGates(t *testing.T) {
	p, r := clientTap(t, oldClient{Capabilities: `{"roots":{}}`}, `{"resources":{"subscribe":false},"prompts":null}`)
	ctx := context.Background()
	_, err := r.CallTool(ctx, &callToolParams{})
	require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised)
	require.Equal(t, "tools/call: the peer does not advertise tools", err.Error())
	_, err = r.Subscribe(ctx, "x")
	require.ErrorIs(t, err, jsonrpc.ErrNotAdvertised, "false is not advertised")
	require.False(t, r.conn.Advertised("logging/setLevel"))
	require.ErrorIs(t, jsonrpc.Notify(ctx, r.conn, "notifications/roots/list_changed", nil), jsonrpc.ErrNotAdvertised)
	var de *jsonrpc.DirectionError
	require.ErrorAs(t, jsonrpc.Notify(ctx, r.conn, "notifications/message", nil), &de)
	_, err = jsonrpc.CallTyped[result](ctx, r.conn, "elicitation/create", &oldParams{})
	require.ErrorAs(t, err, &de)
	p.none()
	require.NoError(t, jsonrpc.Notify(ctx, r.conn, "x/unknown", rawOf(`{"a":1}`)), "extensions are let through")
	p.talk(`< {"jsonrpc":"2.0","method":"x/unknown","params":{"a":1}}`)
}

// TestAnswers: every shape of answer that a server can get wrong, by its kind;
// the call ends now where it can be told (rows 1, 19, 21, 61, 75).
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, say string
		kind      jsonrpc.EventKind
		fails     string // how the call ends; "" means that it still waits
	}{
		{"both result and error", `{"jsonrpc":"2.0","id":2,"result":{},"error":{"code":1,"message":"m"}}`, jsonrpc.InvalidAnswer, "both result and error"},
		{"both, the other way round", `{"jsonrpc":"2.0","error":{"code":1,"message":"m"},"id":2,"result":{}}`, jsonrpc.InvalidAnswer, "both result and error"},
		{"neither", `{"jsonrpc":"2.0","id":2}`, jsonrpc.InvalidMessage, ""},
		{"no version", `{"id":2,"result":{"text":"x"}}`, jsonrpc.InvalidAnswer, `want "2.0"`},
		{"wrong version", `{"jsonrpc":"1.0","id":2,"result":{"text":"x"}}`, jsonrpc.InvalidAnswer, `want "2.0"`},
		{"result twice", `{"jsonrpc":"2.0","id":2,"result":{},"result":{}}`, jsonrpc.InvalidAnswer, "comes twice"},
		{"result null", `{"jsonrpc":"2.0","id":2,"result":null}`, jsonrpc.InvalidAnswer, "want an object"},
		{"result a list", `{"jsonrpc":"2.0","id":2,"result":[]}`, jsonrpc.InvalidAnswer, "want an object"},
		{"result of the wrong shape", `{"jsonrpc":"2.0","id":2,"result":{"text":5}}`, jsonrpc.InvalidAnswer, "result.text: want a string, got a number"},
		{"result of the wrong shape, id last", `{"jsonrpc":"2.0","result":{"text":5},"id":2}`, jsonrpc.InvalidAnswer, "result.text: want a string, got a number"},
		{"result that is no JSON", `{"jsonrpc":"2.0","id":2,"result":{"text":}}`, jsonrpc.BadJSON, "want a value"},
		{"error a string", `{"jsonrpc":"2.0","id":2,"error":"no"}`, jsonrpc.InvalidAnswer, "error: want an object"},
		{"error without code", `{"jsonrpc":"2.0","id":2,"error":{"message":"m"}}`, jsonrpc.InvalidAnswer, "missing"},
		{"error with a fraction", `{"jsonrpc":"2.0","id":2,"error":{"code":1.5,"message":"m"}}`, jsonrpc.InvalidAnswer, "error.code"},
		{"id as a string", `{"jsonrpc":"2.0","id":"2","result":{}}`, jsonrpc.WrongIDAnswer, ""},
		{"id as a fraction", `{"jsonrpc":"2.0","id":2.0,"result":{}}`, jsonrpc.WrongIDAnswer, ""},
		{"id of an earlier call", `{"jsonrpc":"2.0","id":1,"result":{}}`, jsonrpc.DuplicateAnswer, ""},
		{"id of no call", `{"jsonrpc":"2.0","id":3,"result":{}}`, jsonrpc.UnknownAnswer, ""},
		{"another id of no call", `{"jsonrpc":"2.0","id":"x","result":{}}`, jsonrpc.UnknownAnswer, ""},
		{"negative id", `{"jsonrpc":"2.0","id":-2,"result":{}}`, jsonrpc.UnknownAnswer, ""},
		{"id null", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`, jsonrpc.UnreadableAnswer, ""},
		{"not JSON", `log line`, jsonrpc.BadJSON, ""},
		{"a list", `[]`, jsonrpc.RefusedBatch, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, r := clientTap(t, oldClient{}, allCaps)
				call := r.goCall(t.Context(), "x")
				p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`, "> "+c.say)
				synctest.Wait()
				require.Equal(t, 1, count(p.conn, c.kind), "counted as %v", c.kind)
				if c.fails != "" {
					o := <-call
					var ce *jsonrpc.CallError
					require.ErrorAs(t, o.err, &ce)
					require.Equal(t, jsonrpc.StageDecode, ce.Stage)
					require.ErrorContains(t, o.err, c.fails)
					p.talk(`> {"jsonrpc":"2.0","id":2,"result":{"text":"x"}}`, "-")
					return
				}
				p.none()
				p.talk(`> {"jsonrpc":"2.0","id":2,"result":{"text":"good"}}`)
				o := <-call
				require.NoError(t, o.err)
				require.Equal(t, "good", o.res.Text)
				p.none()
			})
		})
	}
}

// TestErrorAnswer: code, message, data and unknown members of an error are
// kept, and it says who made it (rows 39, 75).
func TestErrorAnswer(t *testing.T) {
	p, r := clientTap(t, oldClient{}, allCaps)
	call := r.goCall(t.Context(), "x")
	p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`,
		`> {"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"gone","data":{"uri":1e400},"more":[1]}}`)
	o := <-call
	var e *jsonrpc.Error
	require.ErrorAs(t, o.err, &e)
	require.ErrorIs(t, o.err, jsonrpc.NewError(-32002, ""))
	require.True(t, e.Remote)
	require.Equal(t, `{"uri":1e400}`, string(e.Data))
	require.Equal(t, `[1]`, string(e.Extra.Get("more")))
	require.Equal(t, "peer answered: gone (-32002)", e.Error())
}

// TestResultsAreTheCallers: a result keeps what it aliases, though the carrier
// reuses its buffer.
func TestResultsAreTheCallers(t *testing.T) {
	p, r := clientTap(t, oldClient{}, allCaps)
	call := r.goCall(t.Context(), "x")
	p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`, `> {"jsonrpc":"2.0","id":2,"result":{"text":"kept","_meta":{"a":1}}}`)
	o := <-call
	require.Equal(t, "kept", o.res.Text)
	require.Equal(t, `{"a":1}`, string(o.res.Meta))
}

// TestTimeoutAfterWrongID: an answer that names the request in another type is
// none, and the timeout says that it came.
func TestTimeoutAfterWrongID(t *testing.T) {
	for id, text := range map[string]string{`"2"`: `"2"`, `2.0`: `2.0`, `"3"`: "", `2.5`: ""} {
		synctest.Test(t, func(t *testing.T) {
			p, r := clientTap(t, oldClient{}, allCaps)
			call := r.goCall(t.Context(), "x")
			p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`, `> {"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
			o := <-call
			var te *jsonrpc.TimeoutError
			require.ErrorAs(t, o.err, &te)
			want := "tools/call (id 2): no answer within 30s"
			if text != "" {
				want += ", but one with the id " + text
			}
			require.EqualError(t, te, want)
		})
	}
}

// TestTimeout: a call ends at its deadline, tells the peer, and tolerates the
// late answer (rows 25, 26).
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{}, allCaps)
		start := time.Now()
		o := <-r.goCall(t.Context(), "x")
		require.Equal(t, 30*time.Second, time.Since(start))
		require.ErrorIs(t, o.err, jsonrpc.ErrTimeout)
		require.Equal(t, "tools/call (id 2): no answer within 30s", o.err.Error())
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`,
			`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"tools/call (id 2): no answer within 30s"}}`,
			`> {"jsonrpc":"2.0","id":2,"result":{}}`, `> {"jsonrpc":"2.0","id":2,"result":{}}`, "-")
		require.Equal(t, 1, count(p.conn, jsonrpc.LateAnswer))
		require.Equal(t, 1, count(p.conn, jsonrpc.DuplicateAnswer))

		// Per call, none at all, and several at once.
		short := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(time.Second)})
		long := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(time.Minute)})
		never := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(time.Duration(0)), MaxTimeout: new(time.Duration(0))})
		start = time.Now()
		a, b, c := r.goCall(long, "long"), r.goCall(short, "short"), r.goCall(never, "never")
		require.ErrorIs(t, (<-b).err, jsonrpc.ErrTimeout)
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, (<-a).err, jsonrpc.ErrTimeout)
		require.Equal(t, time.Minute, time.Since(start))
		time.Sleep(48 * time.Hour)
		require.Empty(t, c)
		require.NoError(t, r.conn.Close(t.Context()))
		require.ErrorIs(t, (<-c).err, jsonrpc.ErrClosed)
	})
}

// TestAbort: the caller's context ends the call and tells the peer why (row
// 26).
func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{}, allCaps)
		ctx, cancel := context.WithCancelCause(t.Context())
		call := r.goCall(ctx, "x")
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`)
		bored := errors.New("bored")
		cancel(bored)
		o := <-call
		require.ErrorIs(t, o.err, bored)
		require.ErrorIs(t, o.err, context.Canceled)
		var ce *jsonrpc.CallError
		require.ErrorAs(t, o.err, &ce)
		require.Equal(t, jsonrpc.StageReceive, ce.Stage)
		p.talk(`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"bored"}}`)
		o = <-r.goCall(ctx, "x")
		require.ErrorIs(t, o.err, bored, "nothing is sent with a context that has ended")
		require.ErrorIs(t, o.err, context.Canceled)
		p.none()

		late, cancelLate := context.WithTimeoutCause(t.Context(), time.Second, bored)
		defer cancelLate()
		call = r.goCall(late, "x")
		p.talk(`< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":"*"}`)
		o = <-call
		require.ErrorIs(t, o.err, bored)
		require.ErrorIs(t, o.err, context.DeadlineExceeded)
		p.talk(`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"bored"}}`)
	})
}

// TestProgress: progress goes to its call, in order and before the answer, and
// starts the clock again, up to the hard cap (rows 20, 27).
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{Options: jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}}, allCaps)
		var got []string
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{
			Timeout: new(10 * time.Second), MaxTimeout: new(35 * time.Second),
			Progress: func(p jsonrpc.Progress) {
				s := fmt.Sprint(p.Progress, p.Message)
				if p.Total != nil {
					s += fmt.Sprint("/", *p.Total)
				}
				got = append(got, s)
				if p.Message == "panic" {
					panic("listener")
				}
			},
		})
		params := &callToolParams{Name: "x"}
		call := make(chan outcome, 1)
		go func() {
			res, err := r.CallTool(ctx, params)
			call <- outcome{res, err}
		}()
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":2}}}`)
		require.True(t, params.Meta.ProgressToken.IsZero(), "the caller's params are not written")
		say := func(token, more string) {
			p.push(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,` + more + `}}`)
		}
		say("2", `"progress":1,"total":4`)
		say("2", `"progress":2,"message":"m"`)
		p.push(`{"jsonrpc":"2.0","id":2,"result":{"text":"done"}}`)
		o := <-call
		require.NoError(t, o.err)
		require.Equal(t, []string{"1/4", "2m"}, got, "before the call returns")
		for _, token := range []string{"2", "9", `"2"`, "null"} {
			say(token, `"progress":3`)
		}
		p.push(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
		require.Equal(t, 5, count(p.conn, jsonrpc.UnknownProgress))

		call = r.goCall(ctx, "y")
		p.talk(`< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":"*"}`)
		start := time.Now()
		for range 20 {
			time.Sleep(9 * time.Second)
			say("3", `"progress":1,"message":"panic"`)
			synctest.Wait()
			if len(call) > 0 {
				break
			}
		}
		o = <-call
		var te *jsonrpc.TimeoutError
		require.ErrorAs(t, o.err, &te)
		require.True(t, te.Hard)
		require.Equal(t, 36*time.Second, time.Since(start))
	})
}

// TestAnswerAfterNotifications: an answer is handed over after the
// notifications that were read before it, but a slow handler never blocks it:
// it is overtaken, and counted (row 33).
func TestAnswerAfterNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		wait := time.Duration(0)
		p, r := clientTap(t, oldClient{Message: func(_ context.Context, p *oldParams) error {
			mu.Lock()
			d := wait
			got = append(got, p.text("data"))
			mu.Unlock()
			time.Sleep(d)
			return nil
		}}, allCaps)
		message := func(s string) string {
			return `> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + s + `"}}`
		}
		call := r.goCall(t.Context(), "x")
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`, message("a"), message("b"), message("c"), `> {"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, (<-call).err)
		mu.Lock()
		require.Equal(t, []string{"a", "b", "c"}, got)
		// Handlers that are slow, but move: the answer waits for them.
		wait, got = time.Millisecond, nil
		mu.Unlock()
		call = r.goCall(t.Context(), "x")
		start := time.Now()
		p.talk(`< {"jsonrpc":"2.0","id":3,"method":"tools/call","params":"*"}`)
		for range 10 {
			p.talk(message("d"))
		}
		p.talk(`> {"jsonrpc":"2.0","id":3,"result":{}}`)
		require.NoError(t, (<-call).err)
		require.Equal(t, 10*time.Millisecond, time.Since(start))
		require.Zero(t, count(p.conn, jsonrpc.OvertakenNotification))
		// One that hangs.
		mu.Lock()
		wait, got = time.Hour, nil
		mu.Unlock()
		call = r.goCall(t.Context(), "x")
		start = time.Now()
		p.talk(`< {"jsonrpc":"2.0","id":4,"method":"tools/call","params":"*"}`, message("e"), message("f"), `> {"jsonrpc":"2.0","id":4,"result":{}}`)
		require.NoError(t, (<-call).err)
		require.LessOrEqual(t, time.Since(start), 20*time.Millisecond)
		require.Equal(t, 2, count(p.conn, jsonrpc.OvertakenNotification))
		mu.Lock()
		wait = 0
		mu.Unlock()
		time.Sleep(2 * time.Hour)
	})
}

// TestClientAnswers: requests of the server are answered, by a handler or with
// -32601, on a goroutine of their own; ping always (row 4).
func TestClientAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p, r := clientTap(t, oldClient{Elicit: func(ctx context.Context, p *oldParams) (*result, error) {
			<-free
			return &result{Text: "answer"}, nil
		}}, allCaps)
		p.talk("> "+request("1", "ping", ""), `< {"jsonrpc":"2.0","id":1,"result":{}}`)
		p.talk("> "+request("1", "roots/list", ""), `< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: roots/list"}}`)
		p.talk("> " + request("1", "elicitation/create", `{"message":"m"}`)) // it blocks, and push returns
		call := r.goCall(t.Context(), "x")
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`, `> {"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, (<-call).err)
		close(free)
		p.talk(`< {"jsonrpc":"2.0","id":1,"result":{"text":"answer"}}`)
		// Not JSON, and what is no message, is never answered by a client.
		p.talk(`> {`, `> 5`, `> {}`, "-")
		p.talk(`> {"jsonrpc":"2.0","id":3,"method":"roots/list","params":[]}`, `< {"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"*"}}`)
	})
}

// TestClosedCarrier: when the carrier ends every pending call fails with the
// cause, and so do later ones (rows 23, 30, 31).
func TestClosedCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{}, allCaps)
		a, b := r.goCall(t.Context(), "a"), r.goCall(t.Context(), "b")
		synctest.Wait()
		cause := fmt.Errorf("it burnt: %w", io.ErrUnexpectedEOF)
		p.r.Closed(cause)
		for _, ch := range []chan outcome{a, b} {
			o := <-ch
			require.ErrorIs(t, o.err, jsonrpc.ErrClosed)
			require.ErrorIs(t, o.err, net.ErrClosed)
			require.ErrorIs(t, o.err, cause)
			var ce *jsonrpc.CallError
			require.ErrorAs(t, o.err, &ce)
			require.Equal(t, jsonrpc.StageReceive, ce.Stage)
		}
		<-r.conn.Done()
		require.ErrorIs(t, r.conn.Err(), cause)
		_, err := r.CallTool(t.Context(), &callToolParams{})
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, jsonrpc.Notify(t.Context(), r.conn, "x", nil), jsonrpc.ErrClosed)
		require.NoError(t, r.conn.Close(t.Context()))
		require.NoError(t, r.conn.Close(t.Context()))
	})
}

// TestCallBound: calls above the bound wait for their turn, in order, within
// their deadline; then the overload is typed (rows 17, 28).
func TestCallBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{Options: jsonrpc.Options{MaxInFlight: 2, Timeout: new(10 * time.Second)}}, allCaps)
		a, b := r.goCall(t.Context(), "a"), r.goCall(t.Context(), "b")
		synctest.Wait()
		first, second := p.next(), p.next()
		require.Contains(t, first+second, `"name":"a"`)
		c := r.goCall(t.Context(), "c")
		synctest.Wait()
		d := r.goCall(t.Context(), "d")
		ctx, cancel := context.WithCancel(t.Context())
		e := r.goCall(ctx, "e")
		synctest.Wait()
		p.none()
		cancel()
		o := <-e
		require.ErrorIs(t, o.err, jsonrpc.ErrOverloaded)
		require.ErrorIs(t, o.err, context.Canceled)
		p.talk(`> {"jsonrpc":"2.0","id":2,"result":{}}`, `< {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"c"}}`)
		p.talk(`> {"jsonrpc":"2.0","id":4,"result":{}}`, `< {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"d"}}`)
		require.NoError(t, (<-c).err)
		f := r.goCall(t.Context(), "f")
		synctest.Wait()
		time.Sleep(10 * time.Second)
		o = <-f
		require.True(t, o.err == nil || errors.Is(o.err, jsonrpc.ErrOverloaded) || errors.Is(o.err, jsonrpc.ErrTimeout), "%v", o.err)
		for _, ch := range []chan outcome{a, b, d} {
			<-ch
		}
		require.Zero(t, p.conn.Stats().Calls)
	})
}

// TestFullCarrier: a carrier that takes nothing does not hold a caller beyond
// its context.
func TestFullCarrier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{}, allCaps)
		p.mu.Lock()
		p.full = true
		p.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.CallTool(ctx, &callToolParams{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var ce *jsonrpc.CallError
		require.ErrorAs(t, err, &ce)
		require.Equal(t, jsonrpc.StageSend, ce.Stage)
	})
}

// TestTasks: a task is an error value, only where one was asked for.
func TestTasks(t *testing.T) {
	p, r := clientTap(t, oldClient{}, allCaps)
	call := make(chan outcome, 1)
	for i, say := range []string{`{"task":{"taskId":"7"}}`, `{"text":"plain"}`} {
		go func() {
			res, err := r.CallToolAsTask(t.Context(), &callToolParams{Name: "x"})
			call <- outcome{res, err}
		}()
		p.talk(fmt.Sprintf(`< {"jsonrpc":"2.0","id":%d,"method":"tools/call","params":"*"}`, 2+i), fmt.Sprintf(`> {"jsonrpc":"2.0","id":%d,"result":%s}`, 2+i, say))
		o := <-call
		if i == 0 {
			var tc *taskCreated
			require.ErrorAs(t, o.err, &tc)
			require.Equal(t, `{"taskId":"7"}`, string(tc.Task))
			continue
		}
		require.NoError(t, o.err)
		require.Equal(t, "plain", o.res.Text)
	}
}

// TestPages: iteration stops on a repeated cursor and at its bounds (row 11).
func TestPages(t *testing.T) {
	list := func(next func(cursor string) *string, items int) ([]string, int, error) {
		pages := 0
		var got []string
		seq := jsonrpc.Pages(t.Context(), &newParams{Name: "n"}, func(_ context.Context, p *newParams) (*result, error) {
			pages++
			require.Equal(t, "n", p.Name)
			c := ""
			if p.Cursor != nil {
				c = *p.Cursor
			}
			if c == "bad" {
				return nil, errors.New("no such page")
			}
			return &result{Text: strings.Repeat("i", items), Next: next(c)}, nil
		}, func(r *result) []byte { return []byte(r.Text) }, func(r *result) *string { return r.Next }, func(p *newParams, c *string) { p.Cursor = c })
		for item, err := range seq {
			if err != nil {
				return got, pages, err
			}
			got = append(got, string(*item))
		}
		return got, pages, nil
	}
	got, pages, err := list(func(c string) *string {
		return map[string]*string{"": new("a"), "a": new("b")}[c]
	}, 2)
	require.NoError(t, err)
	require.Len(t, got, 6)
	require.Equal(t, 3, pages)
	_, pages, err = list(func(string) *string { return new("") }, 1) // "" is a cursor like any other
	var ce *jsonrpc.CursorError
	require.ErrorAs(t, err, &ce)
	require.Equal(t, 2, pages)
	_, _, err = list(func(string) *string { return new("bad") }, 1)
	require.EqualError(t, err, "no such page")
	n := 0
	count := func(string) *string {
		n++
		return new(fmt.Sprint(n))
	}
	_, pages, err = list(count, 0)
	require.ErrorIs(t, err, jsonrpc.ErrOverloaded)
	require.Equal(t, 1000, pages)
	got, _, err = list(count, 3000)
	require.ErrorIs(t, err, jsonrpc.ErrOverloaded)
	require.Len(t, got, 10000)
	for range jsonrpc.Pages(t.Context(), (*newParams)(nil), func(context.Context, *newParams) (*result, error) { return &result{Text: "x"}, nil },
		func(r *result) []byte { return []byte(r.Text) }, func(r *result) *string { return r.Next }, func(p *newParams, c *string) { p.Cursor = c }) {
		break
	}
}

// TestManyCalls: a thousand calls at once with random cancellations over a
// real pair of links: each gets its own answer or its own end (rows 17, 78).
func TestManyCalls(t *testing.T) {
	cl, sv := jsonl.InMemory()
	ctx := t.Context()
	served := make(chan error, 1)
	quiet := jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}
	go func() {
		served <- jsonrpc.Serve(ctx, sv, oldServer{Options: quiet, CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			switch {
			case strings.HasPrefix(p.Name, "hang"):
				<-ctx.Done()
				return nil, ctx.Err()
			case strings.HasPrefix(p.Name, "ask"):
				return elicit(ctx, p.Name)
			case strings.HasPrefix(p.Name, "say"):
				_ = jsonrpc.PeerOf(ctx).Log(ctx, "info", rawOf(`{"level":"info","data":1}`))
				_ = jsonrpc.PeerOf(ctx).Progress(ctx, 1, nil, "")
			}
			return &result{Text: p.Name}, nil
		}})
	}()
	r, err := connectOld(ctx, cl, oldClient{Options: quiet,
		Elicit:  func(_ context.Context, p *oldParams) (*result, error) { return &result{Text: p.text("message")}, nil },
		Message: func(context.Context, *oldParams) error { return nil },
	})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			name := []string{"plain", "hang", "ask", "say", "plain"}[i%5] + fmt.Sprint(i)
			call, cancel := context.WithCancel(ctx)
			defer cancel()
			if strings.HasPrefix(name, "say") {
				call = jsonrpc.WithCallOptions(call, jsonrpc.CallOptions{Progress: func(jsonrpc.Progress) {}})
			}
			cancelled := rand.IntN(3) == 0 || strings.HasPrefix(name, "hang")
			if cancelled {
				go func() {
					for range rand.IntN(2000) {
						_ = call.Err()
					}
					cancel()
				}()
			}
			res, err := r.CallTool(call, &callToolParams{Name: name})
			switch {
			case err == nil:
				if res.Text != name {
					t.Errorf("the answer to %s is %s", name, res.Text)
				}
			case !cancelled || !errors.Is(err, context.Canceled):
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	wg.Wait()
	res, err := r.CallTool(ctx, &callToolParams{Name: "after"})
	require.NoError(t, err)
	require.Equal(t, "after", res.Text)
	require.Zero(t, r.conn.Stats().Calls)
	require.NoError(t, r.conn.Close(ctx))
	require.NoError(t, <-served)
}

// TestRawCalls: raw params in, raw result out.
func TestRawCalls(t *testing.T) {
	p, r := clientTap(t, oldClient{}, allCaps)
	got := make(chan wire.Raw, 1)
	go func() {
		res, err := jsonrpc.CallRaw(t.Context(), r.conn, "tools/list", wire.Raw(`{"cursor":"x"}`))
		require.NoError(t, err)
		got <- res
	}()
	p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"x"}}`, `> {"jsonrpc":"2.0","id":2,"result":{"tools":[1.50]}}`)
	require.Equal(t, `{"tools":[1.50]}`, string(<-got))
	pinged := make(chan error, 1)
	go func() { pinged <- r.conn.Ping(t.Context()) }()
	p.talk(`< {"jsonrpc":"2.0","id":3,"method":"ping"}`, `> {"jsonrpc":"2.0","id":3,"result":{}}`)
	require.NoError(t, <-pinged)
}

// TestClientAnswersWithoutWaiting: what a client answers while it reads (pings
// and refusals) waits for nobody; when the carrier has no room it is dropped
// and counted.
func TestClientAnswersWithoutWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := clientTap(t, oldClient{Elicit: func(context.Context, *oldParams) (*result, error) { return &result{}, nil }}, allCaps)
		call := r.goCall(t.Context(), "x")
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"tools/call","params":"*"}`)
		p.setFull(true)
		for i, msg := range []string{
			request("1", "ping", ""), request("2", "roots/list", ""), request("3", "elicitation/create", ""), request("4", "elicitation/create", `{"_meta":5}`),
			request("5", "elicitation/create", `[]`), request(`"6"`, "ping", `{}`),
		} {
			p.push(msg)
			require.Equal(t, i+1, count(p.conn, jsonrpc.DroppedAnswer), msg)
			require.Zero(t, p.conn.Stats().Handling)
		}
		p.push(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, (<-call).err)
	})
}

// TestClientPingAmongLargeRequests: a server's ping is answered while its requests
// hold all the bytes that they may.
func TestClientPingAmongLargeRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p, _ := clientTap(t, oldClient{ListRoots: func(context.Context, *empty) (*result, error) {
			<-free
			return &result{}, nil
		}}, allCaps)
		large := request("1", "roots/list", `{"x":"`+strings.Repeat("x", 64<<20)+`"}`)
		p.push(large)
		synctest.Wait()
		require.Equal(t, 1, p.conn.Stats().Handling)
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
		p.talk("> "+request("3", "roots/list", `{}`), `< {"jsonrpc":"2.0","id":3,"error":{"code":-31001,"message":"*","data":"*"}}`)
		close(free)
		p.talk(`< {"jsonrpc":"2.0","id":1,"result":"*"}`)
		synctest.Wait()
		p.talk("> "+request("4", "roots/list", `{}`), `< {"jsonrpc":"2.0","id":4,"result":"*"}`)
	})
}

// TestClientPingBound: pings that a handler of the user's answers count like
// every other request.
func TestClientPingBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Side: jsonrpc.ClientSide, Methods: oldMethods, Options: jsonrpc.Options{MaxInFlight: 3}})
		jsonrpc.HandleRequest(svc, "ping", func(context.Context, *empty) (*empty, error) {
			<-free
			return &empty{}, nil
		})
		p := newTap(t, svc, jsonrpc.ClientSide)
		for i := range 3 {
			p.push(request(fmt.Sprint(i), "ping", ""))
		}
		p.talk("> "+request("3", "ping", ""), `< {"jsonrpc":"2.0","id":3,"error":{"code":-31001,"message":"*","data":"*"}}`)
		close(free)
		synctest.Wait()
		require.Zero(t, p.conn.Stats().Handling)
	})
}
