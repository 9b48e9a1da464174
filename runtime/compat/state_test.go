package compat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func key(b byte) []byte { return []byte(strings.Repeat(string(b), 32)) }

func sealer(t *testing.T, ttl time.Duration, keys ...[]byte) *compat.Sealer {
	s, err := compat.NewSealer(ttl, keys...)
	require.NoError(t, err)
	return s
}

// sealing calls a tool whose handler is f, on behalf of somebody.
func sealing(t *testing.T, who, arguments string, f func(ctx context.Context)) {
	here, there := jsonl.InMemory()
	ctx := jsonrpc.WithPrincipal(context.Background(), who)
	done := make(chan error, 1)
	go func() {
		done <- jsonrpc.Serve(ctx, there, v20260728.Server{
			Info:      v20260728.Implementation{Name: "s", Version: "1"},
			ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) { return nil, nil },
			CallTool: func(ctx context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
				f(ctx)
				return &v20260728.CallToolResult{}, nil
			},
		})
	}()
	s, err := v20260728.Connect(ctx, here, v20260728.Client{})
	require.NoError(t, err)
	_, err = jsonrpc.CallRaw(ctx, s.Conn(), "tools/call", wire.Raw(arguments))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, <-done)
}

const stated = `{"name":"t","arguments":{"a":1,"b":{"c":["x",1.5]}},` + meta + `}`

// TestStateBelongsToItsRequest: a state opens for the principal, the method and
// the params that it was sealed for, however these are written, and for none else.
func TestStateBelongsToItsRequest(t *testing.T) {
	s := sealer(t, 0, key('k'))
	var state string
	sealing(t, "ada", stated, func(ctx context.Context) {
		var err error
		state, err = s.Seal(ctx, []byte("step 2"))
		require.NoError(t, err)
	})
	require.NotContains(t, state, "step")
	for _, c := range []struct{ rule, who, params, err string }{
		{"the same request", "ada", stated, ""},
		{"in other words", "ada", `{ "arguments":{"b":{"c":["\u0078", 1.50]}, "a":1.0} , ` + meta + `,"\u006eame":"t" }`, ""},
		{"in its next round", "ada", `{"name":"t","arguments":{"a":1,"b":{"c":["x",1.5]}},"requestState":"…","inputResponses":{"q":{"action":"decline"}},` + strings.Replace(meta, `"_meta":{`, `"_meta":{"progressToken":7,`, 1) + `}`, ""},
		{"of somebody else", "bob", stated, "changed, or another request's"},
		{"for another tool", "ada", strings.Replace(stated, `"t"`, `"u"`, 1), "changed, or another request's"},
		{"with other arguments", "ada", strings.Replace(stated, `1.5`, `1.6`, 1), "changed, or another request's"},
		{"in another order", "ada", strings.Replace(stated, `"x",1.5`, `1.5,"x"`, 1), "changed, or another request's"},
		{"with more arguments", "ada", strings.Replace(stated, `"a":1`, `"a":1,"d":null`, 1), "changed, or another request's"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			sealing(t, c.who, c.params, func(ctx context.Context) {
				data, err := s.Open(ctx, state)
				if c.err != "" {
					e, ok := errors.AsType[*jsonrpc.Error](err)
					require.True(t, ok)
					require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
					require.EqualError(t, e.Cause, c.err)
					return
				}
				require.NoError(t, err)
				require.Equal(t, "step 2", string(data))
			})
		})
	}
}

// TestStateThatWasTamperedWith: every prefix and every changed character of a
// state is refused, and says nothing of why.
func TestStateThatWasTamperedWith(t *testing.T) {
	s := sealer(t, 0, key('k'))
	sealing(t, "", stated, func(ctx context.Context) {
		state, err := s.Seal(ctx, []byte("data"))
		require.NoError(t, err)
		bad := []string{"", "x", state + "x", state + "=", " " + state, state + "\n", "\r\n" + state, state[:9] + "\n" + state[9:], state[:9] + "\r" + state[9:], strings.Repeat("A", 1<<20), "data", "\x00"}
		for i := range len(state) {
			c := byte('A')
			if state[i] == 'A' {
				c = 'B'
			}
			bad = append(bad, state[:i], state[:i]+string(c)+state[i+1:])
		}
		for _, b := range bad {
			_, err := s.Open(ctx, b)
			e, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok, "%q", b)
			require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
			require.Equal(t, "params.requestState: not the state of this request, or expired", e.Message)
		}
		_, err = s.Seal(ctx, make([]byte, 64<<10))
		require.ErrorContains(t, err, "more than 65536")
	})
	_, err := s.Seal(t.Context(), nil)
	require.ErrorIs(t, err, jsonrpc.ErrNoPeer)
}

// TestKeysOfStatesChange: the first key seals, all of them open.
func TestKeysOfStatesChange(t *testing.T) {
	sealing(t, "", stated, func(ctx context.Context) {
		old, err := sealer(t, 0, key('a')).Seal(ctx, []byte("old"))
		require.NoError(t, err)
		both := sealer(t, 0, key('b'), key('a'))
		data, err := both.Open(ctx, old)
		require.NoError(t, err)
		require.Equal(t, "old", string(data))
		newer, err := both.Seal(ctx, []byte("new"))
		require.NoError(t, err)
		only := sealer(t, 0, key('b'))
		data, err = only.Open(ctx, newer)
		require.NoError(t, err)
		require.Equal(t, "new", string(data))
		_, err = only.Open(ctx, old)
		require.Error(t, err)
	})
	for _, keys := range [][][]byte{nil, {nil}, {[]byte("short")}, {key('a'), nil}} {
		_, err := compat.NewSealer(0, keys...)
		require.Error(t, err)
	}
	_, err := compat.NewSealer(-1, key('a'))
	require.Error(t, err)
}

func TestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sealer(t, time.Minute, key('a'))
		var state string
		sealing(t, "", stated, func(ctx context.Context) {
			var err error
			state, err = s.Seal(ctx, nil)
			require.NoError(t, err)
		})
		time.Sleep(59 * time.Second)
		sealing(t, "", stated, func(ctx context.Context) {
			_, err := s.Open(ctx, state)
			require.NoError(t, err)
		})
		time.Sleep(2 * time.Second)
		sealing(t, "", stated, func(ctx context.Context) {
			_, err := s.Open(ctx, state)
			require.ErrorContains(t, errors.Unwrap(err), "expired")
		})
	})
}

// FuzzState: what comes from outside is opened or refused.
func FuzzState(f *testing.F) {
	s, err := compat.NewSealer(0, key('a'))
	require.NoError(f, err)
	f.Add("", stated)
	f.Add("AQAAAAA", `{"name":"t",`+meta+`}`)
	f.Fuzz(func(t *testing.T, state, params string) {
		if raw, err := wire.ParseRaw([]byte(params)); err != nil || raw.Kind() != wire.KindObject {
			t.Skip()
		}
		in, there := jsonl.InMemory()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = jsonrpc.Serve(context.Background(), there, v20260728.Server{
				Unknown: func(ctx context.Context, _ string, _ wire.Raw) (wire.Raw, error) {
					_, err := s.Open(ctx, state)
					if err == nil {
						return nil, errors.New("opened")
					}
					sealed, err := s.Seal(ctx, []byte(state))
					if err != nil {
						return wire.Raw("{}"), nil
					}
					if b, err := s.Open(ctx, sealed); err != nil || string(b) != state {
						return nil, errors.New("not opened")
					}
					return wire.Raw("{}"), nil
				},
				Options: discard,
			})
		}()
		c, err := v20260728.Connect(t.Context(), in, v20260728.Client{Options: discard})
		require.NoError(t, err)
		if _, err := jsonrpc.CallRaw(t.Context(), c.Conn(), "x/y", wire.Raw(params)); err != nil {
			require.NotErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInternalError, ""), "%v", err)
		}
		require.NoError(t, c.Close())
		<-done
	})
}
