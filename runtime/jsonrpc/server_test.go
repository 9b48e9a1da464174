package jsonrpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestEnvelope: what is no valid envelope is answered with an error, with the
// id where it can be read, or counted; the connection lives on (rows 1, 5, 22,
// 61, 62, 74, 75, 77).
func TestEnvelope(t *testing.T) {
	answer := func(id string, code int64) string {
		if id != "" {
			id = `"id":` + id + `,`
		}
		return fmt.Sprintf(`< {"jsonrpc":"2.0",%s"error":{"code":%d,"message":"*"}}`, id, code)
	}
	for _, c := range []struct {
		name, say, want string // want "-": no answer
		kind            jsonrpc.EventKind
	}{
		{"not JSON", `{"jsonrpc":`, answer("", -32700), jsonrpc.BadJSON},
		{"two values", `{"jsonrpc":"2.0","id":7,"method":"ping"} {}`, answer("", -32700), jsonrpc.BadJSON},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\xff\"}", answer("", -32700), jsonrpc.BadJSON},
		{"control character", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"p\x01\"}", answer("", -32700), jsonrpc.BadJSON},
		{"bad JSON in params", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x",}}`, answer("", -32700), jsonrpc.BadJSON},
		{"bad JSON in an answer", `{"jsonrpc":"2.0","id":7,"result":{]}`, "-", jsonrpc.BadJSON},
		{"a number", `5`, answer("", -32600), jsonrpc.InvalidMessage},
		{"a string", `"x"`, answer("", -32600), jsonrpc.InvalidMessage},
		{"null", `null`, answer("", -32600), jsonrpc.InvalidMessage},
		{"an array", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, answer("", -32600), jsonrpc.RefusedBatch},
		{"an empty array", `[]`, answer("", -32600), jsonrpc.RefusedBatch},
		{"no version", `{"id":7,"method":"ping"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"ping"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"version as a number", `{"jsonrpc":2.0,"id":7,"method":"ping"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"version twice", `{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"ping"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, answer("", -32600), jsonrpc.InvalidMessage},
		{"id a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, answer("", -32600), jsonrpc.InvalidMessage},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, answer("", -32600), jsonrpc.InvalidMessage},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, answer("", -32600), jsonrpc.InvalidMessage},
		{"id twice", `{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"method a number", `{"jsonrpc":"2.0","id":7,"method":1}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"method null", `{"jsonrpc":"2.0","id":7,"method":null}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"no method", `{"jsonrpc":"2.0","id":7}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"nothing", `{}`, answer("", -32600), jsonrpc.InvalidMessage},
		{"params an array", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"params null", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":null}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"params first, and a string", `{"params":"x","jsonrpc":"2.0","id":7,"method":"tools/call"}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"method and result", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x"},"result":{}}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"method and error", `{"jsonrpc":"2.0","id":7,"method":"ping","error":{"code":1,"message":"m"}}`, answer("7", -32600), jsonrpc.InvalidMessage},
		{"a notification with a bad version", `{"jsonrpc":"3.0","method":"notifications/x"}`, "-", jsonrpc.InvalidMessage},
		{"a notification with bad params", `{"jsonrpc":"2.0","method":"notifications/x","params":[]}`, "-", jsonrpc.InvalidMessage},
		{"result and error", `{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1,"message":"m"}}`, "-", jsonrpc.UnknownAnswer},
		{"an error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, "-", jsonrpc.UnreadableAnswer},
		{"an error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, "-", jsonrpc.UnreadableAnswer},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":7,"result":{}}`, "-", jsonrpc.UnknownAnswer},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/nonesuch"}`, "-", jsonrpc.UnknownNotification},
	} {
		t.Run(c.name, func(t *testing.T) {
			ran := false
			p := oldTap(t, oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
				ran = true
				return &result{}, nil
			}})
			p.push(c.say)
			if c.want == "-" {
				p.none()
			} else {
				p.wants(c.want[2:], p.next())
			}
			require.False(t, ran, "a handler runs only when the whole envelope is valid")
			require.Equal(t, 1, count(p.conn, c.kind), "counted as %v", c.kind)
			p.talk(`> {"jsonrpc":"2.0","id":9,"method":"ping"}`, `< {"jsonrpc":"2.0","id":9,"result":{}}`, "-")
		})
	}
}

// TestEnvelopePrefixes: no prefix of a message is taken for one, and none
// harms the connection.
func TestEnvelopePrefixes(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: echoTool})
	msg := `{"jsonrpc":"2.0","id":"a\u00e9b","method":"tools/call","params":{"name":"x","arguments":{"n":[1,2.5e3,"\ud83d\ude00"]},"_meta":{"progressToken":7}}}`
	for n := 1; n < len(msg); n++ {
		p.talk("> "+msg[:n], `< {"jsonrpc":"2.0","error":{"code":-32700,"message":"*"}}`, "-")
	}
	p.talk("> "+msg, `< {"jsonrpc":"2.0","id":"aéb","result":{"text":"x{\"n\":[1,2.5e3,\"\\ud83d\\ude00\"]}"}}`)
}

// TestMemberOrder: the members of a message may come in any order, unknown
// ones are ignored.
func TestMemberOrder(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: echoTool})
	parts := []string{`"jsonrpc":"2.0"`, `"id":7`, `"method":"tools/call"`, `"params":{"name":"x"}`, `"other":[{}]`}
	var permute func(k int)
	permute = func(k int) {
		if k == len(parts) {
			p.talk("> {"+strings.Join(parts, ",")+"}", `< {"jsonrpc":"2.0","id":7,"result":{"text":"x"}}`)
			return
		}
		for i := k; i < len(parts); i++ {
			parts[k], parts[i] = parts[i], parts[k]
			permute(k + 1)
			parts[k], parts[i] = parts[i], parts[k]
		}
	}
	permute(0)
	p.none()
}

// TestErrorID: an id that cannot be read is null up to 2025-06-18 and left out
// from 2025-11-25 on.
func TestErrorID(t *testing.T) {
	for rev, want := range map[string]string{
		"2024-11-05": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`,
		"2025-06-18": `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`,
		"2025-11-25": `{"jsonrpc":"2.0","error":{"code":-32700,"message":"*"}}`,
		"2026-07-28": `{"jsonrpc":"2.0","error":{"code":-32700,"message":"*"}}`,
	} {
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: rev})
		newTap(t, svc, jsonrpc.ServerSide).talk("> {", "< "+want)
	}
}

// TestIDsAreExact: an id comes back byte for byte (rows 16, 74).
func TestIDsAreExact(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: echoTool})
	for _, id := range []string{
		`0`, `-1`, `7`, `1.0`, `1e2`, `-0`, `100E-2`, `9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`,
		`12345678901234567890`, `123456789012345678901234567890`, `"7"`, `""`, `"a b"`, `"é"`, `"\u00e9"`, `"\"q\""`, `"a\/b"`, `"\ud800"`, `"<>&"`,
	} {
		p.push(request(id, "tools/call", `{"name":"x"}`))
		require.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{"text":"x"}}`, p.next())
	}
}

// TestStates: the server's state machine (rows 8, 64, 65).
func TestStates(t *testing.T) {
	refused := `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"*"}}`
	list := `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	ping := []string{`> {"jsonrpc":"2.0","id":5,"method":"ping"}`, `< {"jsonrpc":"2.0","id":5,"result":{}}`}
	tools := oldServer{ListTools: func(context.Context, *oldParams) (*result, error) { return &result{Text: "t"}, nil }}

	t.Run("handshake", func(t *testing.T) {
		p := newTap(t, tools, jsonrpc.ServerSide)
		require.Equal(t, jsonrpc.Connecting, p.conn.State())
		p.talk(list, "< "+refused)
		p.talk(ping...)
		p.talk(sayReady, "-") // out of place: counted
		require.Equal(t, jsonrpc.Connecting, p.conn.State())
		p.talk(sayInit, getInit)
		require.Equal(t, jsonrpc.Initializing, p.conn.State())
		p.talk(list, `< {"jsonrpc":"2.0","id":2,"result":{"text":"t"}}`) // the window is open
		p.talk(strings.Replace(sayInit, `"id":1`, `"id":2`, 1), "< "+refused)
		p.talk(sayReady, "-")
		require.Equal(t, jsonrpc.Ready, p.conn.State())
		p.talk(strings.Replace(sayInit, `"id":1`, `"id":2`, 1), "< "+refused)
		p.talk(sayReady, "-")
		p.talk(list, `< {"jsonrpc":"2.0","id":2,"result":{"text":"t"}}`)
		require.Equal(t, "2025-11-25", p.conn.Session().Revision)
		require.Equal(t, `{"name":"t","version":"1"}`, string(p.conn.Session().Info))
		require.Equal(t, 2, count(p.conn, jsonrpc.UnknownNotification))
	})
	t.Run("window closed", func(t *testing.T) {
		s := tools
		s.Options.WaitInitialized = true
		p := newTap(t, s, jsonrpc.ServerSide)
		p.talk(sayInit, getInit, list, "< "+refused)
		p.talk(ping...)
		p.talk(sayReady, list, `< {"jsonrpc":"2.0","id":2,"result":{"text":"t"}}`)
	})
	t.Run("initialize fails", func(t *testing.T) {
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision})
		fail := true
		jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *oldParams) (*raw, error) {
			if fail {
				return nil, jsonrpc.NewError(-32602, "no")
			}
			return rawOf(`{}`), nil
		})
		p := newTap(t, svc, jsonrpc.ServerSide)
		p.talk(sayInit, `< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no"}}`)
		require.Equal(t, jsonrpc.Connecting, p.conn.State())
		fail = false
		p.talk(sayInit, `< {"jsonrpc":"2.0","id":1,"result":{}}`)
	})
	t.Run("draining and closed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			p := oldTap(t, oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
				<-free
				return &result{Text: "late"}, nil
			}, ListTools: tools.ListTools})
			go p.push(request("3", "tools/call", `{"name":"x"}`))
			synctest.Wait()
			drained := make(chan error)
			go func() { drained <- p.conn.Drain(t.Context()) }()
			synctest.Wait()
			require.Equal(t, jsonrpc.Draining, p.conn.State())
			p.talk(list, `< {"jsonrpc":"2.0","id":2,"error":{"code":-31002,"message":"*"}}`)
			p.talk(ping...)
			close(free)
			p.talk(`< {"jsonrpc":"2.0","id":3,"result":{"text":"late"}}`)
			require.NoError(t, <-drained)
			require.Equal(t, jsonrpc.Closed, p.conn.State())
			require.NoError(t, p.conn.Close(t.Context()), "closing is idempotent")
			p.talk(list, "-")
			var se *jsonrpc.StateError
			require.ErrorAs(t, p.conn.Ready(), &se)
			require.Equal(t, "ready: no transition from CLOSED to READY: connection closed", se.Error())
		})
	})
	t.Run("a drain that takes too long cancels", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			p := oldTap(t, s)
			go p.push(request("3", "tools/call", `{"name":"x"}`))
			synctest.Wait()
			start := time.Now()
			require.ErrorIs(t, p.conn.Drain(t.Context()), context.DeadlineExceeded)
			require.Equal(t, 10*time.Second, time.Since(start))
			synctest.Wait()
		})
	})
}

// TestHandlerErrors: what a handler returns decides the error, a panic is
// -32603 and logged with its stack (row 62).
func TestHandlerErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		err  func() error
		want string
	}{
		{"an error of its own", func() error {
			return fmt.Errorf("wrapped: %w", &jsonrpc.Error{Code: -32002, Message: "gone", Data: wire.Raw(`{"uri":"x"}`), Extra: wire.Members{{Name: "more", Value: wire.Raw("1")}}})
		}, `{"code":-32002,"message":"gone","data":{"uri":"x"},"more":1}`},
		{"any error", func() error { return errors.New("secret") }, `{"code":-32603,"message":"internal error"}`},
		{"an error about another peer's answer", func() error {
			return &jsonrpc.CallError{Method: "m", Err: &wire.Error{Kind: wire.ErrType, Path: "result", Msg: "secret"}}
		}, `{"code":-32603,"message":"internal error"}`},
		{"an answer of another peer", func() error {
			return fmt.Errorf("x: %w", &jsonrpc.Error{Code: -32002, Message: "gone", Remote: true})
		}, `{"code":-32002,"message":"gone"}`},
		{"raw data that is not JSON", func() error { return &jsonrpc.Error{Code: -1, Message: "no", Data: wire.Raw("{")} }, `{"code":-1,"message":"no"}`},
		{"a decoding error", func() error { return wire.Decode([]byte(`{"name":1}`), wire.Options{}, new(callToolParams)) }, `{"code":-32602,"message":"invalid params: name: want a string, got a number"}`},
		{"a call of its own that the peer does not advertise", func() error { return &jsonrpc.NotAdvertisedError{Method: "m", Capability: "c"} }, `{"code":-32603,"message":"internal error"}`},
		{"a call of its own that failed with an error in it", func() error {
			return fmt.Errorf("x: %w", &jsonrpc.CallError{Method: "m", Err: &jsonrpc.Error{Code: -32002, Message: "secret", Remote: true}})
		}, `{"code":-32603,"message":"internal error"}`},
		{"a handshake of its own", func() error { return &jsonrpc.VersionError{Cause: &jsonrpc.Error{Code: -32022, Remote: true}} }, `{"code":-32603,"message":"internal error"}`},
		{"several errors", func() error { return errors.Join(errors.New("secret"), jsonrpc.NewError(7, "told")) }, `{"code":7,"message":"told"}`},
		{"several errors of calls", func() error {
			return errors.Join(&jsonrpc.NotAdvertisedError{}, jsonrpc.NewError(7, "told"))
		}, `{"code":-32603,"message":"internal error"}`},
		{"an error of its own for a call that failed", func() error {
			return jsonrpc.Errorf(7, "told: %w", &jsonrpc.NotAdvertisedError{Method: "m", Capability: "c"})
		}, `{"code":7,"message":"told: m: the peer does not advertise c"}`},
		{"overload", func() error { return &jsonrpc.OverloadError{What: "x", Limit: 1} }, `{"code":-31001,"message":"overloaded: try again later","data":{"retryAfterMs":1000}}`},
		{"a panic", func() error { panic("secret") }, `{"code":-32603,"message":"internal error"}`},
		{"a nil pointer", func() error { return (*ownError)(nil) }, `{"code":-32603,"message":"internal error"}`},
		{"a nil *Error", func() error { return (*jsonrpc.Error)(nil) }, `{"code":-32603,"message":"internal error"}`},
		{"a wrapped nil *Error", func() error { return fmt.Errorf("x: %w", (*jsonrpc.Error)(nil)) }, `{"code":-32603,"message":"internal error"}`},
		{"a nil result", func() error { return (*taskCreated)(nil) }, `{"code":-32603,"message":"internal error"}`},
		{"an error that panics", func() error { return fmt.Errorf("x: %w", errors.Join(panickingError{})) }, `{"code":-32603,"message":"internal error"}`},
		{"no goroutine any more", func() error { runtime.Goexit(); return nil }, `{"code":-32603,"message":"internal error"}`},
		{"nothing", func() error { return nil }, `{"code":-32603,"message":"*"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			s := oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) { return nil, c.err() }}
			s.Options.Logger = slog.New(slog.NewTextHandler(&log, nil))
			p := oldTap(t, s)
			go p.push(request("2", "tools/call", `{"name":"x"}`))
			p.talk(`< {"jsonrpc":"2.0","id":2,"error":` + c.want + `}`)
			hidden := 0
			if strings.HasPrefix(c.name, "any error") || strings.Contains(c.name, "another peer's") {
				hidden = 1
				require.Contains(t, log.String(), "secret")
			}
			require.GreaterOrEqual(t, count(p.conn, jsonrpc.FailedRequest), hidden)
			if c.name == "a panic" {
				require.Contains(t, log.String(), "secret")
				require.Contains(t, log.String(), "server_test.go", "the stack")
				require.Equal(t, 1, count(p.conn, jsonrpc.HandlerPanic))
			}
		})
	}
}

// TestErrorsOfTheAsker: what the client answers when its own request's handler
// asks it something is not the answer to that request.
func TestErrorsOfTheAsker(t *testing.T) {
	ask := func(ctx context.Context, wrap bool) error {
		_, err := elicit(ctx, "sure?")
		if wrap {
			err = fmt.Errorf("asking: %w", err)
		}
		return err
	}
	for _, wrap := range []bool{false, true} {
		s := oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) { return nil, ask(ctx, wrap) }}
		s.Options.Logger = slog.New(slog.DiscardHandler)
		p := oldTap(t, s)
		go p.push(request("7", "tools/call", `{"name":"x"}`))
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":"*"}`)
		p.talk(`> {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}`,
			`< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"internal error"}}`)
		require.Equal(t, 1, count(p.conn, jsonrpc.FailedRequest))
	}
}

// ownError is an error that nil breaks.
type ownError struct{ text string }

func (e *ownError) Error() string { return e.text }

// panickingError breaks whoever looks at it.
type panickingError struct{}

func (panickingError) Error() string { return "x" }
func (panickingError) As(any) bool   { panic("no") }

// TestGoexit: a handler that ends its goroutine keeps neither its place nor
// those that come after it.
func TestGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		events := 0
		s := oldServer{
			CallTool: func(context.Context, *callToolParams) (*result, error) { runtime.Goexit(); return nil, nil },
			RootsListChanged: func(context.Context, *empty) error {
				if n++; n%2 == 1 {
					runtime.Goexit()
				}
				return nil
			},
		}
		s.Options.MaxInFlight = 2
		s.Options.Logger = slog.New(slog.DiscardHandler)
		s.Options.Events = []func(jsonrpc.Event){func(jsonrpc.Event) { events++; runtime.Goexit() }}
		p := oldTap(t, s)
		for range 5 {
			go p.push(request("2", "tools/call", `{"name":"x"}`))
			p.talk(`< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}`)
			synctest.Wait()
			p.push(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		}
		synctest.Wait()
		require.Equal(t, 5, n)
		require.Equal(t, 3, count(p.conn, jsonrpc.FailedNotification))
		require.Equal(t, 8, events)
		require.Zero(t, p.conn.Stats().Handling)
	})
}

// TestResultErrors: an error value that stands for a result is answered as one.
func TestResultErrors(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
		return nil, fmt.Errorf("wrapped: %w", &taskCreated{Task: wire.Raw(`{"taskId":"1"}`)})
	}})
	p.talk("> "+request("2", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"result":{"task":{"taskId":"1"}}}`)
}

// TestParams: decoding errors and absent params are -32602 and say where; an
// unknown method is -32601.
func TestParams(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: echoTool, ListTools: func(_ context.Context, p *oldParams) (*result, error) {
		return &result{Text: fmt.Sprint(len(p.Fields))}, nil // absent params are empty, not nil
	}})
	p.talk(
		"> "+request("2", "tools/call", `{"name":7}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid params: params.name: want a string, got a number"}}`,
		`> {"params":{"name":7},"jsonrpc":"2.0","id":2,"method":"tools/call"}`, `< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"invalid params: params.name: want a string, got a number"}}`,
		"> "+request("2", "tools/call", `{"name":"\ud800"}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"*"}}`,
		"> "+request("2", "tools/call", ""), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"*"}}`,
		"> "+request("2", "tools/list", ""), `< {"jsonrpc":"2.0","id":2,"result":{"text":"0"}}`,
		"> "+request("2", "tools/list", `{"cursor":"c"}`), `< {"jsonrpc":"2.0","id":2,"result":{"text":"1"}}`,
		"> "+request("2", "tools/nonesuch", `{}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"method not found: tools/nonesuch"}}`,
		"> "+request("2", "elicitation/create", `{}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"*"}}`,
		"> "+request("2", "notifications/roots/list_changed", `{}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"*"}}`, "-")
}

// TestDepth: nesting above the bound is refused, and not as bad JSON.
func TestDepth(t *testing.T) {
	p := oldTap(t, oldServer{CallTool: echoTool})
	deep := func(n int) string {
		return request("2", "tools/call", `{"name":"x","arguments":`+strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n)+"}")
	}
	p.talk("> "+deep(254), `< {"jsonrpc":"2.0","id":2,"result":"*"}`)
	p.talk("> "+deep(255), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"*"}}`, "-")
}

// TestUnknown: the catch-all gets what nobody registered.
func TestUnknown(t *testing.T) {
	p := oldTap(t, oldServer{Options: jsonrpc.Options{Logger: quiet}, Unknown: func(ctx context.Context, method string, params wire.Raw) (wire.Raw, error) {
		if method == "x/bad" {
			return wire.Raw(`5`), nil
		}
		return wire.Raw(`{"method":"` + method + `","params":` + string(params) + `}`), nil
	}})
	p.talk("> "+request("2", "x/y", `{"a":1}`), `< {"jsonrpc":"2.0","id":2,"result":{"method":"x/y","params":{"a":1}}}`,
		"> "+request("2", "x/bad", ""), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"*"}}`)
}

// TestDuplicateID: the id of a request that still runs is refused (row 16).
func TestDuplicateID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		p := oldTap(t, oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
			<-free
			return &result{}, nil
		}})
		go p.push(request("2", "tools/call", `{"name":"x"}`))
		synctest.Wait()
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"*"}}`)
		p.talk("> "+request(`"2"`, "ping", ""), `< {"jsonrpc":"2.0","id":"2","result":{}}`)
		p.talk("> "+request(`2.0`, "ping", ""), `< {"jsonrpc":"2.0","id":2.0,"result":{}}`)
		require.Equal(t, 1, count(p.conn, jsonrpc.DuplicateRequest))
		close(free)
		p.talk(`< {"jsonrpc":"2.0","id":2,"result":{"text":""}}`)
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

// TestInFlightBound: requests above the bound are answered at once with a code
// of our own (rows 17, 62).
func TestInFlightBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		s := oldServer{CallTool: func(context.Context, *callToolParams) (*result, error) {
			<-free
			return &result{}, nil
		}}
		s.Options.MaxInFlight = 3
		p := oldTap(t, s)
		for i := range 3 {
			go p.push(request(fmt.Sprint(10+i), "tools/call", `{"name":"x"}`))
		}
		synctest.Wait()
		require.Equal(t, 3, p.conn.Stats().Handling)
		p.talk("> "+request("20", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":20,"error":{"code":-31001,"message":"*","data":{"retryAfterMs":1000}}}`)
		p.talk("> "+request("21", "ping", ""), `< {"jsonrpc":"2.0","id":21,"result":{}}`)
		close(free)
		synctest.Wait()
		require.Equal(t, 0, p.conn.Stats().Handling)
		require.Equal(t, 1, count(p.conn, jsonrpc.RefusedRequest))
	})
}

// TestCancelInbound: a cancelled request ends its context, and nothing is sent
// for it afterwards; initialize cannot be cancelled, and what does not run is
// ignored (row 26).
func TestCancelInbound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause atomic.Value
		p := oldTap(t, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			<-derived.Done()
			peer := jsonrpc.PeerOf(ctx)
			cause.Store(peer.Cause())
			_ = peer.Progress(ctx, 1, nil, "")
			if err := peer.Notify(ctx, "notifications/x", nil); err == nil {
				t.Error("a notification after the cancellation")
			}
			return &result{Text: "too late"}, nil
		}})
		done := make(chan *tapExchange)
		go func() { done <- p.push(request("2", "tools/call", `{"name":"x","_meta":{"progressToken":1}}`)) }()
		synctest.Wait()
		for _, junk := range []string{`{"requestId":3}`, `{"requestId":"2"}`, `{"requestId":null}`, `{}`, `{"requestId":[2]}`} {
			p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":`+junk+`}`, "-")
		}
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled"}`, "-")
		require.Equal(t, 6, count(p.conn, jsonrpc.UnknownCancel))
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"bored"}}`)
		ex := <-done
		require.True(t, ex.replied, "the exchange is finished, without an answer")
		p.none()
		var ce *jsonrpc.CanceledError
		require.ErrorAs(t, cause.Load().(error), &ce)
		require.Equal(t, "bored", ce.Reason)
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

// TestCancelInitialize: cancelling initialize changes nothing.
func TestCancelInitialize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision})
		jsonrpc.HandleRequest(svc, "initialize", func(ctx context.Context, _ *oldParams) (*raw, error) {
			select {
			case <-free:
			case <-ctx.Done():
			}
			return rawOf(`{}`), nil
		})
		p := newTap(t, svc, jsonrpc.ServerSide)
		go p.push(sayInit[2:])
		synctest.Wait()
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		synctest.Wait()
		p.none()
		close(free)
		p.talk(`< {"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

// TestPeerGoesAway: the end of the carrier ends the handlers' contexts.
func TestPeerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		p := oldTap(t, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
			<-ctx.Done()
			ended <- jsonrpc.PeerOf(ctx).Cause()
			return nil, ctx.Err()
		}})
		go p.push(request("2", "tools/call", `{"name":"x"}`))
		synctest.Wait()
		broken := errors.New("broken")
		p.r.Closed(broken)
		require.ErrorIs(t, <-ended, broken)
		<-p.conn.Done()
		require.ErrorIs(t, p.conn.Err(), broken)
	})
}

// TestEndOfInput: after an orderly end of input running handlers may still
// answer, for a second.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oldTap(t, oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			wait := 500 * time.Millisecond
			if p.Name == "slow" {
				wait = time.Hour
			}
			select {
			case <-time.After(wait):
				return &result{Text: "done"}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}})
		go p.push(request("2", "tools/call", `{"name":"quick"}`))
		go p.push(request("3", "tools/call", `{"name":"slow"}`))
		synctest.Wait()
		start := time.Now()
		p.r.Closed(nil)
		p.talk(`< {"jsonrpc":"2.0","id":2,"result":{"text":"done"}}`)
		<-p.conn.Done()
		require.Equal(t, time.Second, time.Since(start))
		require.NoError(t, p.conn.Err())
	})
}

// TestProgressSender: progress goes out only when asked for, only growing, and
// never after the answer (rows 27, 78).
func TestProgressSender(t *testing.T) {
	var peer jsonrpc.Peer
	p := oldTap(t, oldServer{CallTool: func(ctx context.Context, _ *callToolParams) (*result, error) {
		peer = jsonrpc.PeerOf(ctx)
		for _, v := range []float64{0, 1, 1, 0.5, 2.5} {
			if err := peer.Progress(ctx, v, new(4.0), "m"); err != nil {
				return nil, err
			}
		}
		return &result{}, nil
	}})
	p.talk("> "+request("2", "tools/call", `{"name":"x","_meta":{"progressToken":"t1"}}`),
		`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":0,"total":4,"message":"m"}}`,
		`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1,"total":4,"message":"m"}}`,
		`< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":2.5,"total":4,"message":"m"}}`,
		`< {"jsonrpc":"2.0","id":2,"result":{"text":""}}`)
	require.NoError(t, peer.Progress(context.Background(), 9, nil, ""))
	var se *jsonrpc.StateError
	require.ErrorAs(t, peer.Notify(context.Background(), "notifications/x", nil), &se)
	p.talk("-", "> "+request("2", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"result":{"text":""}}`, "-")
	require.False(t, peer.WantsProgress())
}

// TestLogLevel: logging/setLevel filters what Log sends, and without the
// capability nothing is sent (row 66).
func TestLogLevel(t *testing.T) {
	var got []error
	say := func(ctx context.Context, p *callToolParams) (*result, error) {
		got = append(got, jsonrpc.PeerOf(ctx).Log(ctx, p.Name, rawOf(`{"level":"`+p.Name+`","data":1}`)))
		return &result{}, nil
	}
	setLevel := func(context.Context, *oldParams) (*empty, error) { return &empty{}, nil }
	p := oldTap(t, oldServer{CallTool: say, SetLevel: setLevel})
	answer := `< {"jsonrpc":"2.0","id":2,"result":"*"}`
	message := `< {"jsonrpc":"2.0","method":"notifications/message","params":"*"}`
	p.talk("> "+request("2", "tools/call", `{"name":"debug"}`), message, answer)
	p.talk("> "+request("2", "logging/setLevel", `{"level":"warning"}`), answer)
	p.talk("> "+request("2", "tools/call", `{"name":"notice"}`), answer)
	p.talk("> "+request("2", "tools/call", `{"name":"warning"}`), message, answer)
	p.talk("> "+request("2", "tools/call", `{"name":"emergency"}`), message, answer, "-")
	require.Equal(t, []error{nil, nil, nil, nil}, got)
	p.talk("> "+request("2", "logging/setLevel", `{"level":"loud"}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"params.level: no such log level: loud"}}`)
	p.talk("> "+request("2", "tools/call", `{"name":"loud"}`), answer, "-")
	require.ErrorContains(t, got[4], "no such log level")
	got = got[:4]
	// However it is sent.
	message = "notifications/message"
	require.NoError(t, jsonrpc.Notify(t.Context(), p.conn, message, rawOf(`{"level":"info","data":1}`)))
	p.none()
	require.NoError(t, jsonrpc.Notify(t.Context(), p.conn, message, rawOf(`{"level":"alert","data":1}`)))
	p.talk(`< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"alert","data":1}}`)

	p = oldTap(t, oldServer{CallTool: say, Capabilities: `{"tools":{}}`})
	p.talk("> "+request("2", "tools/call", `{"name":"emergency"}`), answer, "-")
	require.ErrorIs(t, got[4], jsonrpc.ErrNotAdvertised)
}

// TestServerCallsClient: a handler calls the client through the request's own
// exchange and is detached; capabilities are held (rows 4, 66).
func TestServerCallsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := oldTap(t, oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
			return elicit(ctx, p.Name)
		}})
		done := make(chan *tapExchange)
		go func() { done <- p.push(request("2", "tools/call", `{"name":"why"}`)) }()
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"why"}}`)
		p.talk("> "+request("1", "ping", ""), `< {"jsonrpc":"2.0","id":1,"result":{}}`) // the client's 1 is not ours
		p.talk(`> {"jsonrpc":"2.0","id":1,"result":{"text":"because"}}`, `< {"jsonrpc":"2.0","id":2,"result":{"text":"because"}}`)
		require.True(t, (<-done).detached)
		// A cancelled request cancels what was asked for it.
		go p.push(request("2", "tools/call", `{"name":"why"}`))
		p.talk(`< {"jsonrpc":"2.0","id":2,"method":"elicitation/create","params":{"message":"why"}}`)
		p.talk(`> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		p.talk(`< {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"*"}}`)
		synctest.Wait()
		p.talk(`> {"jsonrpc":"2.0","id":2,"result":{"text":"late"}}`, "-")
		require.Equal(t, 1, count(p.conn, jsonrpc.LateAnswer))
	})
}

// TestServerGates: what the client does not advertise is not asked for.
func TestServerGates(t *testing.T) {
	var got error
	p := newTap(t, oldServer{CallTool: func(ctx context.Context, p *callToolParams) (*result, error) {
		_, got = elicit(ctx, "x")
		return &result{}, nil
	}}, jsonrpc.ServerSide)
	p.talk(`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"x","capabilities":{},"clientInfo":{}}}`, getInit, sayReady,
		"> "+request("2", "tools/call", `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"result":"*"}`, "-")
	require.ErrorIs(t, got, jsonrpc.ErrNotAdvertised)
}

// TestNotificationsAreOrdered: notifications reach their handler in order, off
// the reading goroutine; above the bound the oldest go, counted; handlers that
// fail or panic harm nobody (rows 2, 33).
func TestNotificationsAreOrdered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		free := make(chan struct{})
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Options: jsonrpc.Options{MaxQueuedNotifications: 4, Logger: slog.New(slog.DiscardHandler)}})
		jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *oldParams) (*raw, error) { return rawOf(`{}`), nil })
		jsonrpc.HandleNotification(svc, "notifications/n", func(_ context.Context, p *oldParams) error {
			<-free
			s := string(p.Fields["n"])
			got = append(got, s)
			switch s {
			case "5":
				return errors.New("no")
			case "6":
				panic("no")
			}
			return nil
		})
		p := newTap(t, svc, jsonrpc.ServerSide)
		p.talk(sayInit, `< {"jsonrpc":"2.0","id":1,"result":{}}`, sayReady)
		for i := range 8 {
			p.push(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/n","params":{"n":%d}}`, i))
			synctest.Wait()
		}
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
		require.Equal(t, 3, count(p.conn, jsonrpc.DroppedNotification))
		require.Equal(t, 4, p.conn.Stats().Notifications)
		close(free)
		synctest.Wait()
		require.Equal(t, []string{"0", "4", "5", "6", "7"}, got)
		require.Equal(t, 2, count(p.conn, jsonrpc.FailedNotification))
		require.Equal(t, 1, count(p.conn, jsonrpc.HandlerPanic))
	})
}

// TestDroppedNotificationIsNamed: the event is about the notification that gave
// way, not about the one that came.
func TestDroppedNotificationIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []string
		free := make(chan struct{})
		svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: oldRevision, Options: jsonrpc.Options{MaxQueuedNotifications: 2, Logger: quiet, Events: []func(jsonrpc.Event){func(e jsonrpc.Event) {
			if e.Kind == jsonrpc.DroppedNotification {
				dropped = append(dropped, e.Method)
			}
		}}}})
		jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *oldParams) (*raw, error) { return rawOf(`{}`), nil })
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			jsonrpc.HandleNotification(svc, "notifications/"+name, func(context.Context, *oldParams) error { <-free; return nil })
		}
		p := newTap(t, svc, jsonrpc.ServerSide)
		p.talk(sayInit, `< {"jsonrpc":"2.0","id":1,"result":{}}`, sayReady)
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			p.push(`{"jsonrpc":"2.0","method":"notifications/` + name + `"}`)
			synctest.Wait()
		}
		require.Equal(t, []string{"notifications/b", "notifications/c"}, dropped)
		close(free)
		synctest.Wait()
	})
}

// TestHub: change notifications go to the connections, updates to those that
// subscribed to the resource or one above it.
func TestHub(t *testing.T) {
	hub := new(jsonrpc.Hub)
	s := oldServer{Hub: hub, Subscribe: func(context.Context, *oldParams) (*empty, error) { return &empty{}, nil }}
	a, b := oldTap(t, s), oldTap(t, s)
	ctx := t.Context()
	hub.ToolsListChanged(ctx)
	for _, p := range []*tap{a, b} {
		p.talk(`< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
	}
	a.talk("> "+request("2", "resources/subscribe", `{"uri":"file:///a"}`), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
	for _, uri := range []string{"file:///a", "file:///a/b", "file:///ab", "file:///c"} {
		hub.ResourceUpdated(ctx, uri)
	}
	a.talk(`< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a"}}`,
		`< {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b"}}`, "-")
	b.none()
	require.NoError(t, a.conn.Close(ctx))
	hub.ToolsListChanged(ctx)
	a.none()
	b.talk(`< {"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`)
	// What is not advertised is not sent: prompts are not.
	hub.PromptsListChanged(ctx)
	hub.ResourcesListChanged(ctx)
	require.Equal(t, 2, len(b.out)) // unknown to this method table, so not held back
}

// TestBlocking: handlers that say that they block are detached at once.
func TestBlocking(t *testing.T) {
	ch, err := oldServer{CallTool: echoTool, ListTools: func(ctx context.Context, _ *oldParams) (*result, error) {
		jsonrpc.PeerOf(ctx).Detach()
		return &result{}, nil
	}}.Bind()
	require.NoError(t, err)
	ch.(*jsonrpc.Service).Blocking("tools/call", "nonesuch")
	p := newTap(t, ch.(*jsonrpc.Service), jsonrpc.ServerSide)
	p.talk(sayInit, getInit, sayReady)
	require.True(t, p.push(request("2", "tools/call", `{"name":"x"}`)).detached)
	require.True(t, p.push(request("3", "tools/list", `{}`)).detached)
	require.False(t, p.push(request("4", "ping", "")).detached)
}

// TestOversizedFrame: a message that the carrier could not take whole fails
// what it was meant for (rows 18, 71, 73).
func TestOversizedFrame(t *testing.T) {
	p := oldTap(t, oldServer{})
	push := func(head string, err error) {
		p.r.Receive(context.Background(), &tapExchange{p: p}, jsonrpc.Frame{Data: []byte(head), Err: err})
	}
	push(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"aaaa`, jsonrpc.ErrTooLong)
	p.talk(`< {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"message too long"}}`)
	push(`{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"aaaa`, jsonrpc.ErrTooLong)
	p.none()
	push(`aaaaaa`, jsonrpc.ErrTooLong)
	p.talk(`< {"jsonrpc":"2.0","error":{"code":-32600,"message":"*"}}`)
	push(`{"jsonrpc":"2.0","id":8,"method":"pi`, jsonrpc.ErrTruncated)
	p.none()
	push(request("9", "ping", ""), jsonrpc.ErrTruncated) // it was all there, only the newline was not
	p.talk(`< {"jsonrpc":"2.0","id":9,"result":{}}`)
	require.Equal(t, 3, count(p.conn, jsonrpc.TooLong))
	require.Equal(t, 1, count(p.conn, jsonrpc.Truncated))
}

// TestClientAnswersNoOversizedGarbage: of what is too long a client answers only
// what is known to be a request.
func TestClientAnswersNoOversizedGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := clientTap(t, oldClient{}, allCaps)
		for _, head := range []string{`ggggggg`, `{"jsonrpc":"2.0","x":"gggg`, `{"jsonrpc":"2.0","id":1,"x":"gggg`} {
			p.r.Receive(context.Background(), &tapExchange{p: p}, jsonrpc.Frame{Data: []byte(head), Err: jsonrpc.ErrTooLong})
		}
		p.none()
		head := `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"x":"gggg`
		p.r.Receive(context.Background(), &tapExchange{p: p}, jsonrpc.Frame{Data: []byte(head), Err: jsonrpc.ErrTooLong})
		p.talk(`< {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"message too long"}}`)
	})
}

// TestRefusalsAreShort: a refusal does not repeat all that the peer sent, and
// an id without bound is none.
func TestRefusalsAreShort(t *testing.T) {
	long := strings.Repeat("é", 100<<10)
	for name, c := range map[string]struct {
		p    *tap
		msg  string
		want string
	}{
		"method":          {oldTap(t, oldServer{}), request("1", long, ""), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"*"}}`},
		"early":           {newTap(t, oldServer{}, jsonrpc.ServerSide), request("1", long, ""), `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"*"}}`},
		"modern method":   {newTap(t, newServer{}, jsonrpc.ServerSide), request("1", long, modern("")), `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"*"}}`},
		"without meta":    {newTap(t, newServer{}, jsonrpc.ServerSide), request("1", long, "{}"), `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}`},
		"another version": {newTap(t, newServer{}, jsonrpc.ServerSide), request("1", "x", strings.Replace(modern(""), "2026-07-28", long, 1)), `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"*","data":"*"}}`},
		"id":              {oldTap(t, oldServer{}), request(`"`+long+`"`, "ping", ""), `{"jsonrpc":"2.0","error":{"code":-32600,"message":"*"}}`},
		"id of nonsense":  {oldTap(t, oldServer{}), request(`"`+long+`"`, "ping", "5"), `{"jsonrpc":"2.0","error":{"code":-32600,"message":"*"}}`},
		"member":          {oldTap(t, oldServer{CallTool: echoTool}), request("1", "tools/call", `{"`+long+`":"\ud800\x"}`), `{"jsonrpc":"2.0","error":{"code":-32700,"message":"*"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			c.p.push(c.msg)
			got := c.p.next()
			require.Less(t, len(got), 2000)
			require.True(t, utf8.ValidString(got))
			c.p.wants(c.want, got)
			require.Zero(t, c.p.conn.Stats().Handling)
		})
	}
	p := oldTap(t, oldServer{})
	id := `"` + strings.Repeat("i", 1024) + `"`
	p.talk("> "+request(id, "ping", ""), `< {"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
}

// TestEvents: several listeners are isolated from each other and from the
// connection, samples are bounded (rows 2, 21, 22).
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		seen := make(chan jsonrpc.Event, 1000)
		hang := make(chan struct{})
		s := oldServer{Options: jsonrpc.Options{
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Events: []func(jsonrpc.Event){
				func(jsonrpc.Event) { panic("listener") },
				func(jsonrpc.Event) { <-hang },
				nil,
				func(e jsonrpc.Event) { seen <- e },
			},
		}}
		p := oldTap(t, s)
		for range 1000 { // more than a listener's queue and what it has in hand
			p.push(`{"jsonrpc":"2.0","method":"notifications/x","params":{"pad":"` + strings.Repeat("a", 2000) + `"}}`)
		}
		synctest.Wait()
		require.Equal(t, 1000, count(p.conn, jsonrpc.UnknownNotification))
		samples := 0
		for range len(seen) {
			e := <-seen
			require.Equal(t, "notifications/x", e.Method)
			require.LessOrEqual(t, len(e.Sample), 512)
			if len(e.Sample) > 0 {
				samples++
			}
		}
		require.Equal(t, 16, samples)
		require.Positive(t, count(p.conn, jsonrpc.DroppedEvent), "the one that hangs")
		require.Contains(t, log.String(), "listener")
		close(hang)
		p.talk("> "+request("2", "ping", ""), `< {"jsonrpc":"2.0","id":2,"result":{}}`)
	})
}

// TestListeners: each change of state and each notification is told to all who
// listen, in order; one that panics or hangs harms nobody (row 2).
func TestListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states, notes []string
		hang := make(chan struct{})
		s := oldServer{Options: jsonrpc.Options{
			Logger: slog.New(slog.DiscardHandler),
			States: []func(jsonrpc.StateChange){
				func(jsonrpc.StateChange) { panic("listener") },
				func(jsonrpc.StateChange) { <-hang },
				nil,
				func(c jsonrpc.StateChange) { states = append(states, fmt.Sprint(c.From, "-", c.To, " ", c.Err)) },
			},
			Notifications: []func(jsonrpc.Notification){
				func(jsonrpc.Notification) { runtime.Goexit() },
				func(jsonrpc.Notification) { <-hang },
				func(n jsonrpc.Notification) { notes = append(notes, n.Method+" "+n.Params.String()) },
			},
		}}
		p := oldTap(t, s)
		p.push(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		p.push(`{"jsonrpc":"2.0","method":"x/y","params":{"a":1}}`)
		synctest.Wait()
		p.conn.Closed(errors.New("broken pipe"))
		synctest.Wait()
		require.Equal(t, []string{"CONNECTING-INITIALIZING <nil>", "INITIALIZING-READY <nil>", "READY-CLOSED broken pipe"}, states)
		require.Equal(t, []string{"notifications/initialized ", "notifications/roots/list_changed ", `x/y {"a":1}`}, notes)
		close(hang)
	})
}

// TestBatch: arrays are answered where the revision has them (row 5).
func TestBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		newBatchTap := func() *tap {
			svc := jsonrpc.NewService(jsonrpc.ServiceOptions{Revision: "2025-03-26"})
			jsonrpc.HandleRequest(svc, "initialize", func(context.Context, *oldParams) (*raw, error) { return rawOf(`{}`), nil })
			jsonrpc.HandleRequest(svc, "tools/call", func(ctx context.Context, p *callToolParams) (*result, error) {
				if p.Name == "ask" {
					return elicit(ctx, "x")
				}
				return &result{Text: p.Name}, nil
			})
			return newTap(t, svc, jsonrpc.ServerSide)
		}
		p := newBatchTap()
		p.talk(`> [`+sayInit[2:]+`]`, `< [{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize must not be part of a batch"}}]`)
		p.talk(sayInit, `< {"jsonrpc":"2.0","id":1,"result":{}}`, sayReady)
		p.talk(`> []`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an empty batch"}}`)
		p.talk(`> [`+request("2", "ping", "")+`]`, `< [{"jsonrpc":"2.0","id":2,"result":{}}]`)
		p.talk(`> [{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":99,"result":{}}]`, "-")
		p.talk(`>  [1,{"jsonrpc":"2.0"}]`, `< [{"jsonrpc":"2.0","id":null,"error":"*"},{"jsonrpc":"2.0","id":null,"error":"*"}]`)
		p.talk(`> [1`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}`)
		// Requests run side by side: one may ask the client meanwhile.
		p.push(`[` + request("3", "tools/call", `{"name":"ask"}`) + `,` + request("4", "tools/call", `{"name":"b"}`) + `,{"jsonrpc":"2.0","method":"notifications/x"}]`)
		p.talk(`< {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":"*"}`)
		synctest.Wait()
		p.talk("-", `> {"jsonrpc":"2.0","id":1,"result":{"text":"a"}}`)
		got := parse(t, p.next()).([]any)
		require.Len(t, got, 2)
		p.none()
	})
}
