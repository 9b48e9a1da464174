package compat_test

import (
	"bufio"
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// later and latest are revisions that the runtime has no rules of. Like 2026-07-28
// they have no handshake.
const (
	later  = "2031-05-06"
	latest = "2032-01-02"
)

// stateless is one side of a revision with the methods of 2026-07-28. The one tool
// of a server has the revision's name.
func stateless(rev string, side jsonrpc.Side) jsonrpc.Binder {
	info := &v20260728.Implementation{Name: rev, Version: "1"}
	o := jsonrpc.ServiceOptions{Revision: rev, Stateless: true, Side: side, Methods: v20260728.Methods, Info: info, Options: discard}
	capabilities := v20260728.ServerCapabilities{Tools: &v20260728.ServerCapabilitiesTools{}}
	if side == jsonrpc.ServerSide {
		o.Capabilities = &capabilities
	}
	svc := jsonrpc.NewService(o)
	if side == jsonrpc.ClientSide {
		return svc
	}
	jsonrpc.HandleRequest(svc, "server/discover", func(ctx context.Context, p *v20260728.DiscoverParams) (*v20260728.DiscoverResult, error) {
		if p.Meta.ProtocolVersion != rev || jsonrpc.PeerOf(ctx).Metadata().ProtocolVersion != rev {
			return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "asked as somebody else")
		}
		return &v20260728.DiscoverResult{SupportedVersions: []string{rev}, Capabilities: capabilities, Instructions: new("of " + rev)}, nil
	})
	jsonrpc.HandleRequest(svc, "tools/list", func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
		return &v20260728.ListToolsResult{Tools: []v20260728.Tool{{Name: rev, InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
	})
	return svc
}

// oneOf is one side of a revision.
func oneOf(rev string, side jsonrpc.Side) jsonrpc.Binder {
	switch {
	case rev != v20251125.Revision:
		return stateless(rev, side)
	case side == jsonrpc.ClientSide:
		return v20251125.Client{Info: v20251125.Implementation{Name: rev, Version: "1"}, Options: discard}
	}
	return v20251125.Server{Info: v20251125.Implementation{Name: rev, Version: "1"}, Options: discard,
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{{Name: rev, InputSchema: wire.Raw(`{"type":"object"}`)}}}, nil
		},
		CallTool: func(context.Context, *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			return &v20251125.CallToolResult{}, nil
		}}
}

func allOf(revisions string, side jsonrpc.Side) (all []jsonrpc.Binder) {
	for rev := range strings.FieldsSeq(revisions) {
		all = append(all, oneOf(rev, side))
	}
	return all
}

// TestSeveralStatelessRevisionsMeet: client and server that speak several revisions
// without a handshake meet in the newest that both have, over lines and over HTTP,
// in whatever order they are named.
func TestSeveralStatelessRevisionsMeet(t *testing.T) {
	const old, modern = v20251125.Revision, v20260728.Revision
	for _, c := range []struct {
		rule, server, client string
		want                 string // the revision, or a part of the error
		heard                string
	}{
		{"the newest of both", modern + " " + later + " " + latest, latest + " " + later + " " + modern, latest, "server/discover"},
		{"the server has a newer one", modern + " " + latest, later + " " + modern, modern, "server/discover server/discover"},
		{"the client has a newer one", modern + " " + later, modern + " " + later + " " + latest, later, "server/discover server/discover"},
		{"the client has two newer ones", modern, later + " " + latest + " " + modern, modern, "server/discover server/discover"},
		{"beside a stateful one", old + " " + modern + " " + later, old + " " + modern + " " + later + " " + latest, later, "server/discover server/discover"},
		{"the server is stateful", old, old + " " + modern + " " + later, old, "server/discover initialize notifications/initialized"},
		{"the client is stateful", old + " " + modern + " " + later, old, old, "initialize notifications/initialized"},
		{"none, with several on both sides", modern + " " + later, latest + " " + old, `we speak ["2025-11-25" "2032-01-02"], the peer ["2031-05-06" "2026-07-28"]`, "server/discover"},
	} {
		server := compat.Revisions(allOf(c.server, jsonrpc.ServerSide)...)
		meet := func(t *testing.T, d jsonrpc.Dialer) {
			conn, err := compat.DialRevisions(t.Context(), d, allOf(c.client, jsonrpc.ClientSide)...)
			if !strings.HasPrefix(c.want, "20") {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close(context.Background())) }()
			require.Equal(t, c.want, conn.Session().Revision)
			if c.want == old {
				res, err := jsonrpc.CallRaw(t.Context(), conn, "tools/list", nil)
				require.NoError(t, err)
				require.Contains(t, string(res), `"name":"`+old+`"`)
				return
			}
			require.Equal(t, `"`+c.want+`"`, string(conn.Session().Info.Get("name")))
			require.Equal(t, "of "+c.want, conn.Session().Instructions)
			conn.SetMetadata(jsonrpc.Metadata{ProtocolVersion: c.want, ClientCapabilities: &v20260728.ClientCapabilities{}})
			res, err := jsonrpc.CallTyped[v20260728.ListToolsResult](t.Context(), conn, "tools/list", &v20260728.ListToolsParams{})
			require.NoError(t, err)
			require.Equal(t, c.want, res.Tools[0].Name)
		}
		t.Run(c.rule+", lines", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &memoryDialer{serve: serving(server)}
				meet(t, d)
				d.wg.Wait()
				heard := d.heard
				if len(heard) > 0 && heard[len(heard)-1] == "tools/list" {
					heard = heard[:len(heard)-1]
				}
				require.Equal(t, c.heard, strings.Join(heard, " "))
			})
		})
		t.Run(c.rule+", HTTP", func(t *testing.T) {
			h := streamhttp.NewHandler(server)
			require.NoError(t, h.Err())
			srv := httptest.NewServer(h)
			defer srv.Close()
			defer h.Close()
			meet(t, streamhttp.URL(srv.URL))
		})
	}
}

// TestDialAsksEachVersionOnce: a server that refuses whatever it is asked, and
// lists it, is not asked for ever.
func TestDialAsksEachVersionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &memoryDialer{serve: scripted(map[string]string{"server/discover": `"error":{"code":-32022,"message":"no","data":{"supported":["2032-01-02","2031-05-06","2026-07-28"]}}`})}
		_, err := compat.DialRevisions(t.Context(), d, allOf("2026-07-28 "+later+" "+latest, jsonrpc.ClientSide)...)
		require.ErrorContains(t, err, "-32022")
		d.wg.Wait()
		require.LessOrEqual(t, len(d.heard), 6, "%v", d.heard)
	})
}

// TestDialFollowsAResult: a server that answers server/discover, whatever version it
// was asked in, with a list of older ones is spoken to in the newest of them.
func TestDialFollowsAResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &memoryDialer{serve: scripted(map[string]string{"server/discover": `"result":{"resultType":"complete","supportedVersions":["2026-07-28","` + later + `"],"capabilities":{}}`})}
		conn, err := compat.DialRevisions(t.Context(), d, allOf("2026-07-28 "+later+" "+latest, jsonrpc.ClientSide)...)
		require.NoError(t, err)
		require.Equal(t, later, conn.Session().Revision)
		require.NoError(t, conn.Close(t.Context()))
		d.wg.Wait()
	})
}

// TestSeveralStatelessRevisionsOverLines: what one line is answered with by a server
// of several revisions (2026-07-28: basic/versioning).
func TestSeveralStatelessRevisionsOverLines(t *testing.T) {
	const supported = `["2032-01-02","2031-05-06","2026-07-28"]`
	of := func(rev, method string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + strings.Replace(meta, "2026-07-28", rev, 1) + `}}`
	}
	for _, c := range []struct{ rule, line, path, want string }{
		{"its own", of("2026-07-28", "tools/list"), "result tools", `[{"name":"2026-07-28","inputSchema":{"type":"object"}}]`},
		{"another", of(later, "tools/list"), "result tools", `[{"name":"2031-05-06","inputSchema":{"type":"object"}}]`},
		{"discovery lists all", of(later, "server/discover"), "result supportedVersions", supported},
		{"and is that of the version", of(later, "server/discover"), "result instructions", `"of 2031-05-06"`},
		{"in each", of("2026-07-28", "server/discover"), "result supportedVersions", supported},
		{"an escaped name", strings.ReplaceAll(of(later, "server/discover"), "protocol/", `protocol\/`), "result supportedVersions", supported},
		{"an unknown version", of("2099-01-01", "tools/list"), "error data", `{"supported":` + supported + `,"requested":"2099-01-01"}`},
		{"discovery in an unknown version", of("2099-01-01", "server/discover"), "error data", `{"supported":` + supported + `,"requested":"2099-01-01"}`},
		{"an empty version", of("", "server/discover"), "error code", `-32022`},
		{"a stateful version", of("2025-11-25", "tools/list"), "error code", `-32022`},
		{"no version", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}`, "error code", `-32602`},
		{"a version that is no text", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}}}}`, "error code", `-32602`},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-05-06"}}}`, "error code", `-32602`},
		{"no _meta", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "error code", `-32602`},
		{"a handshake", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, "error data", `{"supported":` + supported + `,"requested":"2025-11-25"}`},
		{"a handshake with _meta", of(later, "initialize"), "error code", `-32601`},
		{"no such method", of(later, "no/such"), "error code", `-32601`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := compat.Revisions(allOf(later+" "+latest+" 2026-07-28", jsonrpc.ServerSide)...)
				answer := talk(t, b, c.line)
				got := answer
				for name := range strings.FieldsSeq(c.path) {
					got = got.Get(name)
				}
				require.Equal(t, c.want, string(got), "%s", answer)
			})
		})
	}
}

// talk sends a line to a server and returns its answer.
func talk(t *testing.T, b jsonrpc.Binder, line string) wire.Raw {
	client, server := io.Pipe()
	back, answers := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := jsonrpc.Serve(context.Background(), jsonl.Pipe(client, answers), b)
		_ = answers.Close()
		done <- err
	}()
	_, err := io.WriteString(server, line+"\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(back).ReadBytes('\n')
	require.NoError(t, err)
	require.NoError(t, server.Close())
	require.NoError(t, <-done)
	return answer
}
