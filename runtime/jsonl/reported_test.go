package jsonl_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	march "github.com/goldwire/goldwire/generated/mcp/v20250326"
	june "github.com/goldwire/goldwire/generated/mcp/v20250618"
	old "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// reported are failures that users of other implementations reported in public,
// by their id in the collection, each with what is right over stdio.
var reported = map[string]func(t *testing.T){
	// ids
	"id-null-swallowed-as-notification": func(t *testing.T) { refusedID(t, `null`) },
	"id-null-report-wants-a-result":     func(t *testing.T) { refusedID(t, `null`) },
	"id-object-dispatched":              func(t *testing.T) { refusedID(t, `{}`) },
	"id-invalid-echoed-in-error":        func(t *testing.T) { refusedID(t, `true`) },
	"id-string-coerced-to-int":          func(t *testing.T) { keptID(t, `"1"`) },
	"id-uuid-string-type-error":         func(t *testing.T) { keptID(t, `"6f2d7c1e-0d0b-4b0e-9a55-0c8a5f0c2f11"`) },
	"id-int-becomes-string-1.0":         func(t *testing.T) { keptID(t, `1`) },
	"error-response-without-id-key": func(t *testing.T) {
		require.Equal(t, "null", say(t, juneServer(), `{`)[0].Get("id").String())
		require.Nil(t, say(t, oldServer(nil), `{`)[0].Get("id"))
		// A tolerant reader: either form, in any revision.
		for _, id := range []string{`"id":null,`, ``} {
			c := hear(t, nil, `{"jsonrpc":"2.0",`+id+`"error":{"code":-32600,"message":"Invalid Request"}}`)
			stats := c.Conn().Stats()
			require.EqualValues(t, 1, stats.Count(jsonrpc.UnreadableAnswer))
		}
	},
	"id-map-keyed-by-string": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			meet := make(chan struct{})
			got := say(t, oldServer(func(string) string {
				select {
				case meet <- struct{}{}:
				case <-meet:
				}
				return "both run"
			}), helloOld, callOf(`1`, "slow"), callOf(`"1"`, "slow"))
			require.ElementsMatch(t, []string{`0`, `1`, `"1"`}, ids(got))
		})
	},

	// requests that are none, or lack something
	"ping-or-initialize-without-id-panics": func(t *testing.T) {
		got := say(t, oldServer(nil), strings.Replace(helloOld, `"id":0,`, "", 1), `{"jsonrpc":"2.0","method":"ping"}`, helloOld, ping(`1`))
		require.Equal(t, []string{`0`, `1`}, ids(got), "no answer, and no change of state")
	},
	"initialize-without-params-nil-deref": func(t *testing.T) {
		got := say(t, oldServer(nil), `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, helloOld, ping(`2`))
		require.EqualValues(t, jsonrpc.CodeInvalidParams, code(got[0]))
		require.Equal(t, []string{`1`, `0`, `2`}, ids(got))
	},
	"parameterless-call-rejected-by-server-schema": func(t *testing.T) {
		for arguments, want := range map[string]wire.Raw{`{}`: wire.Raw(`{}`), ``: nil} {
			var said wire.Raw
			talk(t, func(c *old.RemoteServer) {
				_, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "list-all-tools", Arguments: want})
				require.NoError(t, err)
			}, func(line wire.Raw) string {
				said = line
				return `"result":{"content":[]}`
			})
			require.Equal(t, want, said.Get("params").Get("arguments"), arguments)
		}
	},
	"batch-executed-in-new-versions": func(t *testing.T) {
		batch := "[" + ping(`1`) + "," + ping(`2`) + "]"
		for name, s := range map[string]struct {
			b     jsonrpc.Binder
			hello string
		}{"2025-06-18": {juneServer(), helloOf("2025-06-18")}, "2025-11-25": {oldServer(nil), helloOld}} {
			got := say(t, s.b, s.hello, batch, "[]")
			require.Len(t, got, 3, name)
			for _, g := range got[1:] {
				require.EqualValues(t, jsonrpc.CodeInvalidRequest, code(g), name)
			}
		}
		got := say(t, march.Server{Info: march.Implementation{Name: "s", Version: "1"}}, helloOf("2025-03-26"), batch)
		require.Equal(t, wire.KindArray, got[1].Kind(), "2025-03-26 has batches")
		c := hear(t, nil, `[{"jsonrpc":"2.0","id":1,"result":{}}]`)
		stats := c.Conn().Stats()
		require.EqualValues(t, 1, stats.Count(jsonrpc.RefusedBatch))
	},

	// framing
	"garbage-after-message-on-same-line": func(t *testing.T) {
		got := say(t, oldServer(nil), helloOld, `{"jsonrpc":"2.0","id":2,"method":"tools/list"},`, ping(`3`))
		require.EqualValues(t, jsonrpc.CodeParseError, code(got[1]))
		require.Nil(t, got[1].Get("id"))
		require.Equal(t, "3", got[2].Get("id").String())
	},
	"undecodable-frame-ends-session": func(t *testing.T) {
		got := say(t, oldServer(nil), `{ this is not json`, `5`, `null`, `[]`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","id":9,"method":"ping"}`, ping(`10`))
		require.Len(t, got, 7)
		require.EqualValues(t, jsonrpc.CodeParseError, code(got[0]))
		for _, g := range got[1:6] {
			require.EqualValues(t, jsonrpc.CodeInvalidRequest, code(g))
		}
		require.Equal(t, "10", got[6].Get("id").String())
		require.NotNil(t, got[6].Get("result"))
	},
	"stdio-line-over-64k-mcp-go": func(t *testing.T) {
		long := strings.Repeat("a", 70_000)
		talk(t, func(c *old.RemoteServer) {
			res, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
			require.NoError(t, err)
			require.Equal(t, long, res.Content[0].(*old.TextContent).Text)
		}, func(wire.Raw) string { return `"result":{"content":[{"type":"text","text":"` + long + `"}]}` })
		got := sayAndWait(t, oldServer(func(name string) string { return name }), 2, helloOld, callOf("1", long))
		require.Contains(t, got[1].String(), long)
	},
	"stdio-reader-flip-flop": func(t *testing.T) {
		for _, size := range []int{65536, 65537, 1048577, 10485761} {
			pad := size - len(callOf("1", ""))
			got := sayAndWait(t, oldServer(func(name string) string { return fmt.Sprint(len(name)) }), 3, helloOld, callOf("1", strings.Repeat("n", pad)), ping("2"))
			require.ElementsMatch(t, []string{"0", "1", "2"}, ids(got))
			require.Contains(t, fmt.Sprint(got), fmt.Sprintf(`"text":"%d"`, pad))
		}
	},
	"splitlines-on-jsonl-and-sse": func(t *testing.T) {
		const text = "a\u0085b\u2028c\u2029d\ve\ff"
		got := say(t, oldServer(func(name string) string { return name }), helloOld, callOf("1", strings.NewReplacer("\v", `\u000b`, "\f", `\u000c`).Replace(text)))
		s, _ := first(got[1].Get("result").Get("content")).Get("text").Str()
		require.Equal(t, text, s)
	},
	"crlf-written-by-python-on-windows": func(t *testing.T) {
		got := say(t, oldServer(nil), helloOld+"\r", ping(`1`)+"\r")
		require.Equal(t, []string{`0`, `1`}, ids(got))
		for _, g := range got {
			require.NotContains(t, string(g), "\r", "what is written ends in a line feed alone")
		}
	},
	"concurrent-writes-interleave": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			big := strings.Repeat("x", 16<<10)
			fromClient, toServer := io.Pipe()
			fromServer, toClient := io.Pipe()
			served := make(chan error, 1)
			go func() {
				served <- jsonrpc.Serve(context.Background(), jsonl.Pipe(fromClient, toClient), oldServer(func(name string) string { return name }))
			}()
			c, err := old.Connect(t.Context(), jsonl.Pipe(fromServer, byteByByte{toServer}), old.Client{RootsListChanged: true, ListRoots: noRoots})
			require.NoError(t, err)
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					res, err := c.CallTool(t.Context(), &old.CallToolParams{Name: big})
					if err != nil || res.Content[0].(*old.TextContent).Text != big {
						t.Error(err)
					}
					if err := c.RootsListChanged(t.Context(), nil); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.NoError(t, c.Close())
			require.NoError(t, <-served)
		})
	},
	"concurrent-reads-on-stdin": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			free := make(chan struct{})
			time.AfterFunc(time.Millisecond*500, func() { close(free) })
			got := say(t, oldServer(func(string) string { <-free; return "slow" }), helloOld, callOf("1", "slow"), callOf("2", "slow"), callOf("3", "slow"))
			require.ElementsMatch(t, []string{`0`, `1`, `2`, `3`}, ids(got))
		})
	},
	"stdout-banner": func(t *testing.T) {
		c := hear(t, []string{"WireMCP Server is running..."}, "")
		stats := c.Conn().Stats()
		require.EqualValues(t, 1, stats.Count(jsonrpc.BadJSON))
	},
	"stdin-eof-orphans": func(t *testing.T) {
		require.Empty(t, say(t, oldServer(nil)), "the serving ends at once, without an error")
	},
	"stdin-eof-python-sdk": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			cancelled := false
			s := oldServer(nil).(old.Server)
			s.CallTool = func(ctx context.Context, _ *old.CallToolParams) (*old.CallToolResult, error) {
				<-ctx.Done()
				cancelled = true
				return nil, ctx.Err()
			}
			say(t, s, helloOld, callOf("1", "slow"))
			synctest.Wait()
			require.True(t, cancelled)
			require.LessOrEqual(t, time.Since(begun), 2*time.Second)
		})
	},

	// correlation
	"response-for-unknown-id": func(t *testing.T) {
		c := hear(t, nil, `{"jsonrpc":"2.0","id":9999,"result":{}}`)
		stats := c.Conn().Stats()
		require.EqualValues(t, 1, stats.Count(jsonrpc.UnknownAnswer))
	},
	"late-reply-after-cancel-closes-transport": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			talkLines(t, func(c *old.RemoteServer) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := c.CallTool(ctx, &old.CallToolParams{Name: "slow"})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				synctest.Wait()
				stats := c.Conn().Stats()
				require.EqualValues(t, 1, stats.Count(jsonrpc.LateAnswer))
				require.NoError(t, c.Conn().Ping(t.Context()))
			}, func(line wire.Raw) []string {
				switch m, _ := line.Get("method").Str(); m {
				case "notifications/cancelled":
					return []string{`{"jsonrpc":"2.0","id":` + line.Get("params").Get("requestId").String() + `,"error":{"code":0,"message":"Request cancelled"}}`}
				case "ping":
					return []string{`{"jsonrpc":"2.0","id":` + line.Get("id").String() + `,"result":{}}`}
				}
				return nil
			})
		})
	},
	"server-replies-after-cancel": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := oldServer(nil).(old.Server)
			s.CallTool = func(ctx context.Context, _ *old.CallToolParams) (*old.CallToolResult, error) {
				<-ctx.Done()
				return &old.CallToolResult{}, nil
			}
			got := say(t, s, helloOld, callOf("3", "sleep"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, ping("4"))
			require.Equal(t, []string{`0`, `4`}, ids(got))
		})
	},
	"server-cancel-ignored-by-client": func(t *testing.T) {
		// It was about no request of ours: counted, and the session goes on.
		c := hear(t, nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"abort"}}`)
		stats := c.Conn().Stats()
		require.EqualValues(t, 1, stats.Count(jsonrpc.UnknownCancel))
	},
	"progress-unknown-token-closes-transport": func(t *testing.T) {
		c := hear(t, nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":100,"total":100}}`)
		stats := c.Conn().Stats()
		require.EqualValues(t, 1, stats.Count(jsonrpc.UnknownProgress))
		// And a server of ours sends none once it has answered.
		var late old.RemoteClient
		s := oldServer(nil).(old.Server)
		s.CallTool = func(ctx context.Context, _ *old.CallToolParams) (*old.CallToolResult, error) {
			late = old.Peer(ctx)
			return &old.CallToolResult{Content: []old.ContentBlock{}}, nil
		}
		s.SetLevel = func(ctx context.Context, _ *old.SetLevelParams) (*old.EmptyResult, error) {
			return &old.EmptyResult{}, late.Progress(ctx, 100, new(100.0), "")
		}
		got := say(t, s, helloOld, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":4}}}`,
			`{"jsonrpc":"2.0","id":5,"method":"logging/setLevel","params":{"level":"info"}}`)
		require.Equal(t, []string{`0`, `4`, `5`}, ids(got))
	},
	"list-changed-handler-deadlock": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			called := make(chan error, 1)
			var c *old.RemoteServer
			ready := make(chan struct{})
			cl := old.Client{ToolListChanged: func(ctx context.Context, _ *old.ToolListChangedParams) error {
				<-ready
				_, err := c.ListTools(ctx, nil)
				called <- err
				return err
			}}
			talkWith(t, cl, func(s *old.RemoteServer) {
				c = s
				close(ready)
				_, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
				require.NoError(t, err)
				require.NoError(t, <-called)
			}, func(line wire.Raw) []string {
				answer := `{"jsonrpc":"2.0","id":` + line.Get("id").String() + `,"result":`
				if m, _ := line.Get("method").Str(); m == "tools/list" {
					return []string{answer + `{"tools":[]}}`}
				}
				return []string{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, answer + `{"content":[]}}`}
			})
		})
	},
	"server-waits-for-client-reply-holding-lock": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// The server asks and the client is silent: other requests are served.
			s := oldServer(nil).(old.Server)
			s.CallTool = func(ctx context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
				if p.Name == "ask" {
					_, err := old.Peer(ctx).ListRoots(ctx, nil)
					return nil, err
				}
				return &old.CallToolResult{Content: []old.ContentBlock{}}, nil
			}
			hello := strings.Replace(helloOld, `"capabilities":{}`, `"capabilities":{"roots":{}}`, 1)
			got := say(t, s, hello, callOf("1", "ask"), callOf("2", "x"))
			require.Contains(t, ids(got), "2")
			// A client of ours that declares roots answers, whatever ids it uses itself.
			var answer wire.Raw
			talkWith(t, old.Client{ListRoots: noRoots}, func(c *old.RemoteServer) {
				_, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
				require.NoError(t, err)
			}, func(line wire.Raw) []string {
				if line.Get("method") == nil {
					answer = line
					return []string{`{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`}
				}
				return []string{`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`}
			})
			require.Equal(t, `{"roots":[]}`, answer.Get("result").String())
			require.Equal(t, "0", answer.Get("id").String())
		})
	},

	// results
	"tools-null-and-null-item": func(t *testing.T) {
		// Both are read as what they can mean, an empty list, and reported: to
		// the call, in an event, in a counter. A strict call is refused them.
		for _, c := range []struct {
			result, path  string
			strict, fails bool
		}{
			{`{"tools":null}`, "result.tools", false, false}, {`{"tools":[null]}`, "result.tools[0]", false, false},
			{`{"tools":null}`, "", true, true}, {`{"tools":[null]}`, "", true, true},
		} {
			talk(t, func(s *old.RemoteServer) {
				var problems []wire.Problem
				ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{StrictResult: c.strict, Problems: func(p []wire.Problem) { problems = p }})
				res, err := s.ListTools(ctx, nil)
				if c.fails {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				require.Empty(t, res.Tools)
				require.Len(t, problems, 1)
				require.Equal(t, c.path, problems[0].Path)
				stats := s.Conn().Stats()
				require.EqualValues(t, 1, stats.Count(jsonrpc.ForgivenAnswer))
			}, func(wire.Raw) string { return `"result":` + c.result })
		}
	},
	"unknown-content-block-kills-result": func(t *testing.T) {
		talk(t, func(c *old.RemoteServer) {
			res, err := c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
			require.NoError(t, err)
			require.Len(t, res.Content, 3)
			require.Equal(t, "a", res.Content[0].(*old.TextContent).Text)
			require.Equal(t, `{"type":"x-future","blob":"AA=="}`, string(res.Content[1].(*old.UnknownContentBlock).Raw))
			require.Equal(t, "file:///a", res.Content[2].(*old.ResourceLink).URI)
		}, func(wire.Raw) string {
			return `"result":{"content":[{"type":"text","text":"a"},{"type":"x-future","blob":"AA=="},{"type":"resource_link","uri":"file:///a","name":"a"}]}`
		})
	},
	"cursor-empty-string-loop": func(t *testing.T) {
		pages := 0
		talk(t, func(c *old.RemoteServer) {
			var last error
			for _, err := range c.Tools(t.Context(), nil) {
				last = err
			}
			var ce *jsonrpc.CursorError
			require.ErrorAs(t, last, &ce)
			require.Empty(t, ce.Cursor)
		}, func(wire.Raw) string { pages++; return `"result":{"tools":[],"nextCursor":""}` })
		require.Equal(t, 2, pages)
	},
	"cursor-does-not-advance": func(t *testing.T) {
		talk(t, func(c *old.RemoteServer) {
			var names []string
			var last error
			for tool, err := range c.Tools(t.Context(), nil) {
				if last = err; err == nil {
					names = append(names, tool.Name)
				}
			}
			var ce *jsonrpc.CursorError
			require.ErrorAs(t, last, &ce)
			require.Equal(t, "8", ce.Cursor)
			require.LessOrEqual(t, len(names), 2)
		}, func(wire.Raw) string {
			return `"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"8"}`
		})
	},
	"capabilities-tools-array": func(t *testing.T) {
		// What a server of ours says is an object.
		got := say(t, oldServer(nil), helloOld)
		require.Equal(t, wire.KindObject, got[0].Get("result").Get("capabilities").Get("tools").Kind())
	},

	// eras
	"initialize-asking-2026-falls-through": func(t *testing.T) {
		hello := helloOf("2026-07-28")
		got := say(t, compat.Revisions(juneServer(), oldServer(nil), modernServer()), hello)
		require.Equal(t, `"2025-11-25"`, got[0].Get("result").Get("protocolVersion").String())
		got = say(t, modernServer(), hello)
		require.Equal(t, `["2026-07-28"]`, got[0].Get("error").Get("data").Get("supported").String())
	},
	"discover-fallback-only-on-32601":   func(t *testing.T) { fallsBack(t, `"id":1,`, `-32602`) },
	"discover-legacy-sdk-answers-32602": func(t *testing.T) { fallsBack(t, `"id":1,`, `-32602`) },
	"discover-error-with-null-id":       func(t *testing.T) { fallsBack(t, `"id":null,`, `-32600`) },
	"listen-on-server-with-nothing-to-say": func(t *testing.T) {
		listen := `{"jsonrpc":"2.0","id":9,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
		got := say(t, modernServer(), listen)
		m, _ := got[0].Get("method").Str()
		require.Equal(t, "notifications/subscriptions/acknowledged", m)
		require.Equal(t, "{}", got[0].Get("params").Get("notifications").String())
		require.Equal(t, "9", got[1].Get("id").String(), "nothing can come of it: it ends in good order")
	},
}

// elsewhere are the cases that are about something else than stdio and
// correlation, with where they are held.
var elsewhere = map[string]string{
	"inputschema-missing-on-placeholder-tool": "generated/mcp", "structured-content-null": "generated/mcp",
	"structured-array-old-era": "generated/mcp", "elicitation-titled-enum-without-type": "generated/mcp",
	"draft07-output-schema-refused": "generated/mcp: a schema is a raw value, no dialect is refused",
	"utf8-split-across-chunks":      "runtime/sse", "sse-event-1MiB-python-v2": "runtime/sse", "sse-cap-differs-by-line-and-event": "runtime/sse",
	"sse-crlf-split-across-chunks": "runtime/sse", "sse-cr-only-and-mixed": "runtime/sse", "sse-event-without-event-field": "runtime/sse",
	"sse-comment-line-is-an-error": "runtime/sse",
	"sse-empty-data-priming-event": "runtime/streamhttp", "sse-heartbeat-as-json-data": "runtime/streamhttp", "sse-endpoint-internal-host": "runtime/ssehttp",
	"session-404-not-reinitialised": "runtime/streamhttp", "session-unknown-wrong-status": "runtime/streamhttp", "accept-sse-only-406": "runtime/streamhttp",
	"accept-order-matters-to-some": "runtime/streamhttp", "status-202-content-type": "runtime/streamhttp", "content-type-with-charset": "runtime/streamhttp",
	"version-header-ignored": "runtime/streamhttp", "sse-ends-without-response": "runtime/streamhttp", "replay-mixes-streams": "runtime/streamhttp",
	"post-events-have-no-id": "runtime/streamhttp", "origin-not-enforced-server-side": "runtime/streamhttp", "go-sdk-session-leaks": "runtime/streamhttp",
	"header-sentinel-bad-base64": "runtime/streamhttp", "header-sentinel-not-decoded": "runtime/streamhttp",
}

// TestReportedFailures runs the cases.
func TestReportedFailures(t *testing.T) {
	for id, f := range reported {
		t.Run(id, f)
	}
}

// TestReportedFailuresAreAllHere holds the tables against the collection, where
// that is at hand.
func TestReportedFailuresAreAllHere(t *testing.T) {
	dir := os.Getenv("GOLDWIRE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	b, err := os.ReadFile(dir + "/cases/wire-cases.yaml")
	if err != nil {
		t.Skip("the collection of cases is not here:", err)
	}
	var all []struct{ ID, Side string }
	require.NoError(t, yaml.Unmarshal(b, &all))
	for _, c := range all {
		if !slices.Contains([]string{"framer", "client", "server"}, c.Side) {
			continue
		}
		_, other := elsewhere[c.ID]
		require.True(t, other != (reported[c.ID] != nil), "case %s", c.ID)
	}
}

// --- servers under test ---

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

var helloOld = helloOf("2025-11-25")

func helloOf(version string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func callOf(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
}

var quiet = jsonrpc.Options{Logger: slog.New(slog.DiscardHandler)}

// oldServer has a tool of any name, which answers with what f makes of it.
func oldServer(f func(name string) string) jsonrpc.Binder {
	return old.Server{
		Info: old.Implementation{Name: "s", Version: "1"}, Options: quiet,
		ListTools: func(context.Context, *old.ListToolsParams) (*old.ListToolsResult, error) {
			return &old.ListToolsResult{}, nil
		},
		CallTool: func(_ context.Context, p *old.CallToolParams) (*old.CallToolResult, error) {
			return &old.CallToolResult{Content: []old.ContentBlock{&old.TextContent{Text: f(p.Name)}}}, nil
		},
	}
}

func juneServer() jsonrpc.Binder {
	return june.Server{Info: june.Implementation{Name: "s", Version: "1"}}
}

func modernServer() jsonrpc.Binder {
	return modern.Server{Info: modern.Implementation{Name: "s", Version: "1"}}
}

func noRoots(context.Context, *old.ListRootsParams) (*old.ListRootsResult, error) {
	return &old.ListRootsResult{Roots: []old.Root{}}, nil
}

// say plays lines to a server, ends its input, and returns what it wrote.
func say(t *testing.T, b jsonrpc.Binder, lines ...string) []wire.Raw {
	t.Helper()
	return sayAndWait(t, b, 0, lines...)
}

// sayAndWait ends the input only after some lines have come back: what runs then
// has a second.
func sayAndWait(t *testing.T, b jsonrpc.Binder, wait int, lines ...string) []wire.Raw {
	t.Helper()
	fromTest, toServer := io.Pipe()
	fromServer, toTest := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- jsonrpc.Serve(context.Background(), jsonl.Pipe(fromTest, toTest), b)
		_ = toTest.Close()
	}()
	go func() {
		for _, line := range lines {
			_, _ = io.WriteString(toServer, line+"\n")
		}
		if wait == 0 {
			_ = toServer.Close()
		}
	}()
	var out []byte
	in := bufio.NewReader(fromServer)
	for range wait {
		line, err := in.ReadBytes('\n')
		require.NoError(t, err)
		out = append(out, line...)
	}
	if wait > 0 {
		_ = toServer.Close()
	}
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	out = append(out, rest...)
	require.NoError(t, <-served)
	var got []wire.Raw
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n"), "\n") {
		if line != "" {
			r, err := wire.ParseRaw([]byte(line))
			require.NoError(t, err, "%q", line)
			got = append(got, r)
		}
	}
	return got
}

func ids(lines []wire.Raw) (out []string) {
	for _, l := range lines {
		if id := l.Get("id"); id != nil && l.Get("method") == nil {
			out = append(out, id.String())
		}
	}
	return out
}

func code(line wire.Raw) int64 {
	n, _ := line.Get("error").Get("code").Int()
	return n
}

func first(list wire.Raw) wire.Raw {
	for e := range list.Elems() {
		return e
	}
	return nil
}

// refusedID holds that a request with this id is refused and not run.
func refusedID(t *testing.T, id string) {
	got := say(t, oldServer(func(string) string { t.Error("it was run"); return "" }), helloOld, callOf(id, "x"), ping("2"))
	require.EqualValues(t, jsonrpc.CodeInvalidRequest, code(got[1]))
	require.Nil(t, got[1].Get("id"))
	require.Equal(t, "2", got[2].Get("id").String())
}

// keptID holds that an id comes back as it was spelled, in both eras.
func keptID(t *testing.T, id string) {
	got := say(t, oldServer(func(string) string { return "" }), strings.Replace(helloOld, `"id":0`, `"id":`+id, 1), ping(id), callOf(id, "x"))
	require.Equal(t, []string{id, id, id}, ids(got))
	got = say(t, modernServer(), `{"jsonrpc":"2.0","id":`+id+`,"method":"server/discover","params":{`+modernMeta+`}}`)
	require.Equal(t, []string{id}, ids(got))
}

// --- clients under test ---

// talkWith connects a client to a server that the test plays: it answers each
// line that comes after the handshake with the lines that reply makes.
func talkWith(t *testing.T, cl old.Client, act func(*old.RemoteServer), reply func(wire.Raw) []string, banner ...string) {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		in := bufio.NewReader(fromClient)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				_ = toClient.Close()
				return
			}
			var out []string
			switch m, _ := wire.Raw(line).Get("method").Str(); m {
			case "initialize":
				out = append(banner, `{"jsonrpc":"2.0","id":`+wire.Raw(line).Get("id").String()+
					`,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}`)
			case "notifications/initialized":
			default:
				out = reply(wire.Raw(line))
			}
			for _, o := range out {
				_, _ = io.WriteString(toClient, o+"\n")
			}
		}
	})
	c, err := old.Connect(t.Context(), jsonl.Pipe(fromServer, toServer), cl)
	require.NoError(t, err)
	act(c)
	require.NoError(t, c.Close())
	wg.Wait()
}

func talkLines(t *testing.T, act func(*old.RemoteServer), reply func(wire.Raw) []string) {
	t.Helper()
	talkWith(t, old.Client{}, act, reply)
}

// talk is talkWith for answers alone.
func talk(t *testing.T, act func(*old.RemoteServer), answer func(wire.Raw) string) {
	t.Helper()
	talkLines(t, act, func(line wire.Raw) []string {
		return []string{`{"jsonrpc":"2.0","id":` + line.Get("id").String() + `,` + answer(line) + `}`}
	})
}

// hear says lines to a client, before and after the handshake, holds that it
// lives on, and returns it closed.
func hear(t *testing.T, before []string, after string) (c *old.RemoteServer) {
	t.Helper()
	talkWith(t, old.Client{Options: quiet}, func(s *old.RemoteServer) {
		c = s
		require.NoError(t, c.Conn().Ping(t.Context()))
	}, func(line wire.Raw) (out []string) {
		if after != "" {
			out = append(out, after)
		}
		return append(out, `{"jsonrpc":"2.0","id":`+line.Get("id").String()+`,"result":{}}`)
	}, before...)
	return c
}

// fallsBack holds that a client which can do both takes a server that answers
// its discovery with an error for a stateful one, and stays with that.
func fallsBack(t *testing.T, id, code string) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	var methods []string
	var wg sync.WaitGroup
	wg.Go(func() {
		in := bufio.NewReader(fromClient)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				_ = toClient.Close()
				return
			}
			m, _ := wire.Raw(line).Get("method").Str()
			methods = append(methods, m)
			answer := `{"jsonrpc":"2.0","id":` + wire.Raw(line).Get("id").String() + `,`
			switch m {
			case "server/discover":
				answer = `{"jsonrpc":"2.0",` + id + `"error":{"code":` + code + `,"message":"no"}}`
			case "initialize":
				answer += `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`
			case "tools/call":
				answer += `"error":{"code":-32602,"message":"no"}}`
			default:
				continue
			}
			_, _ = io.WriteString(toClient, answer+"\n")
		}
	})
	conn, err := compat.DialRevisions(t.Context(), jsonl.Pipe(fromServer, toServer), modern.Client{}, old.Client{})
	require.NoError(t, err)
	c, err := old.Join(t.Context(), conn, old.Client{})
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
	require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
	_, err = c.CallTool(t.Context(), &old.CallToolParams{Name: "x"})
	require.Error(t, err)
	require.NoError(t, c.Close())
	wg.Wait()
	require.Equal(t, []string{"server/discover", "initialize", "notifications/initialized", "tools/call", "tools/call"}, methods)
}

// byteByByte takes one byte a write, as a pipe that is nearly full does.
type byteByByte struct{ w io.WriteCloser }

func (b byteByByte) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := b.w.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

func (b byteByByte) Close() error { return b.w.Close() }
