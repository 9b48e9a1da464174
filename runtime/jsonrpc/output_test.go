package jsonrpc_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// badRaws are values that a user may take for JSON.
var badRaws = map[string]wire.Raw{
	"a bare word":        wire.Raw(`hello`),
	"cut off":            wire.Raw(`{"a":`),
	"two values":         wire.Raw(`{} {}`),
	"a control byte":     wire.Raw("{\"a\":\"\x01\"}"),
	"not UTF-8":          wire.Raw("{\"a\":\"\xff\"}"),
	"a closing brace":    wire.Raw(`}`),
	"single quotes":      wire.Raw(`{'a':1}`),
	"a comma at the end": wire.Raw(`{"a":1,}`),
}

// TestRawOfTheCallers: a message with a raw value that is not JSON is not sent,
// and the error says where.
func TestRawOfTheCallers(t *testing.T) {
	for name, r := range badRaws {
		for size, more := range map[string]string{"short": "", "long": strings.Repeat("x", 100_000)} {
			t.Run(name+", "+size, func(t *testing.T) {
				p, remote := clientTap(t, oldClient{}, allCaps)
				check := func(err error, path string) {
					t.Helper()
					var ce *jsonrpc.CallError
					require.ErrorAs(t, err, &ce)
					require.Equal(t, jsonrpc.StageEncode, ce.Stage)
					var we *wire.Error
					require.ErrorAs(t, err, &we)
					require.Contains(t, we.Path, path)
					p.none()
				}
				_, err := remote.CallTool(t.Context(), &callToolParams{Name: "x" + more, Arguments: r})
				check(err, "params")
				_, err = jsonrpc.CallRaw(t.Context(), remote.conn, "tools/call", wire.Raw(`{"name":"`+more+`","arguments":`+string(r)+`}`))
				check(err, "params")
				err = jsonrpc.Notify(t.Context(), remote.conn, "notifications/roots/list_changed",
					&oldParams{Fields: map[string]wire.Raw{"text": wire.Quote(more), "x": r}})
				check(err, "params")
				require.Zero(t, p.conn.Stats().Calls)
				call := remote.goCall(t.Context(), "x")
				p.next()
				p.push(`{"jsonrpc":"2.0","id":4,"result":{"text":"lives"}}`)
				require.Equal(t, "lives", (<-call).res.Text)
			})
		}
	}
	_, remote := clientTap(t, oldClient{}, allCaps)
	_, err := remote.CallTool(t.Context(), &callToolParams{Name: "x", Arguments: wire.Raw("nope")})
	require.EqualError(t, err, "tools/call (id 2): encode: params.arguments: want a value, got n (offset 79)")
}

// TestRawOfTheHandlers: a result that is not JSON because of a raw value is an
// internal error to the peer, and an event here.
func TestRawOfTheHandlers(t *testing.T) {
	for name, r := range badRaws {
		for size, more := range map[string]string{"short": "", "long": strings.Repeat("x", 100_000)} {
			t.Run(name+", "+size, func(t *testing.T) {
				s := oldServer{
					CallTool: func(context.Context, *callToolParams) (*result, error) {
						return &result{Text: more, Meta: r}, nil
					},
					ListTools: func(context.Context, *oldParams) (*result, error) { return nil, &taskCreated{Task: r} },
					Unknown: func(context.Context, string, wire.Raw) (wire.Raw, error) {
						return wire.Raw(`{"a":"` + more + `","b":` + string(r) + `}`), nil
					},
				}
				var log bytes.Buffer
				s.Options.Logger = slog.New(slog.NewTextHandler(&log, nil))
				p := oldTap(t, s)
				for i, method := range []string{"tools/call", "tools/list", "x/unknown"} {
					p.talk(`> `+request("2", method, `{"name":"x"}`), `< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}`)
					require.Equal(t, i+1, count(p.conn, jsonrpc.InvalidOutput))
				}
				require.Zero(t, count(p.conn, jsonrpc.FailedRequest))
				require.NoError(t, p.conn.Close(t.Context()))
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				require.Len(t, lines, 3)
				for _, line := range lines {
					require.Contains(t, line, "level=ERROR")
					require.Regexp(t, `err="?result[.: ]`, line)
				}
			})
		}
	}
}

// TestRawOfTheBinders: what every answer would repeat is refused at once.
func TestRawOfTheBinders(t *testing.T) {
	for _, o := range []jsonrpc.ServiceOptions{
		{Revision: oldRevision, Capabilities: &raw{wire.Raw(`{"experimental":{x}}`)}},
		{Revision: newRevision, Info: &raw{wire.Raw(`{"name":"x","more":tru}`)}},
	} {
		_, err := jsonrpc.NewService(o).Bind()
		var we *wire.Error
		require.ErrorAs(t, err, &we)
	}
}

// noBinder binds nothing.
type noBinder struct{}

func (noBinder) Bind() (jsonrpc.Chooser, error) { return nil, nil }

// TestNothingToBind: what is missing is an error, never a panic.
func TestNothingToBind(t *testing.T) {
	var service *jsonrpc.Service
	for name, b := range map[string]jsonrpc.Binder{"nil": nil, "a nil pointer": service, "a nil chooser": noBinder{}, "a nil server": (*oldServer)(nil)} {
		t.Run(name, func(t *testing.T) {
			require.Error(t, jsonrpc.Serve(t.Context(), ends{}, b))
			_, err := jsonrpc.Dial(t.Context(), nil, b)
			require.Error(t, err)
		})
	}
	require.Error(t, jsonrpc.Serve(t.Context(), nil, oldServer{}))
	_, err := jsonrpc.Dial(t.Context(), nil, oldClient{})
	require.Error(t, err)
}

// ends is a transport without peers.
type ends struct{}

func (ends) Accept(context.Context) (jsonrpc.Link, error) { return nil, io.EOF }
