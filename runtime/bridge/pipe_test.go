package bridge

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// TestBytesPassUnchanged holds that nothing but the ids changes between two
// sides that speak the same revision.
func TestBytesPassUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		server := begin(t, client, s)

		expect := func(from, to *wireEnd, sent, want string) {
			t.Helper()
			from.send(sent)
			if got := to.recv(); got != want {
				t.Fatalf("sent %s\ngot  %s\nwant %s", sent, got, want)
			}
		}
		// A request with all that a decoder would change.
		expect(client, server,
			`{ "id" : "a\u0062c", "x-trace":[1.0,{"b":1,"b":2}], "method":"tools\/call","params":{"_meta":{"progressToken":"tok\u0041","y":null},"name":"\ud800","arguments":{"n":1e400,"id":"keep"}},"jsonrpc":"2.0"}`,
			`{ "id" : 2, "x-trace":[1.0,{"b":1,"b":2}], "method":"tools\/call","params":{"_meta":{"progressToken":2,"y":null},"name":"\ud800","arguments":{"n":1e400,"id":"keep"}},"jsonrpc":"2.0"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":2,"extra":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0, "progressToken":"tok\u0041","extra":{}}}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u00e9"} ,"z":0}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"\u00e9"} ,"z":0}`)
		// A request of the server's, in the middle of the call.
		expect(server, client,
			`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`,
			`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
		expect(client, server,
			`{"jsonrpc":"2.0","result":{"role":"assistant","u":"\/"},"id":1}`,
			`{"jsonrpc":"2.0","result":{"role":"assistant","u":"\/"},"id":"s1"}`)
		expect(server, client,
			`{"result":{"content":[],"big":123456789012345678901234567890}, "id":2,"jsonrpc":"2.0","more":true}`,
			`{"result":{"content":[],"big":123456789012345678901234567890}, "id":"a\u0062c","jsonrpc":"2.0","more":true}`)
		// Errors, with members that nobody knows.
		expect(client, server, `{"jsonrpc":"2.0","id":1.0,"method":"x/y"}`, `{"jsonrpc":"2.0","id":3,"method":"x/y"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"n\u006f","data":[1],"hint":"h"}}`,
			`{"jsonrpc":"2.0","id":1.0,"error":{"code":-32601,"message":"n\u006f","data":[1],"hint":"h"}}`)
		// Cancellation, either way.
		expect(client, server, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{}}`)
		expect(client, server,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"b\u006fred","requestId":9,"_meta":{"k":1}}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"b\u006fred","requestId":4,"_meta":{"k":1}}}`)
		expect(server, client, `{"jsonrpc":"2.0","id":7,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
		expect(server, client,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		// Anything else.
		expect(client, server, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","q":"\u0000"}`, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed","q":"\u0000"}`)
		expect(client, server, `{"jsonrpc":"2.0","id":"p","method":"ping"}`, `{"jsonrpc":"2.0","id":5,"method":"ping"}`)
		expect(server, client, `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","id":"p","result":{}}`)
		expect(server, client, `{"jsonrpc":"2.0","id":0,"method":"ping"}`, `{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		expect(client, server, `{"jsonrpc":"2.0","id":3,"result":{}}`, `{"jsonrpc":"2.0","id":0,"result":{}}`)
	})
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// discovered answers the bridge's own question.
func discovered(t *testing.T, server *wireEnd) {
	t.Helper()
	discoveredAs(t, server, "")
}

// discoveredAs is the same with members in _meta.
func discoveredAs(t *testing.T, server *wireEnd, meta string) {
	t.Helper()
	id := regexp.MustCompile(`"id":(\d+),"method":"server/discover"`).FindStringSubmatch(server.recv())
	require.NotNil(t, id)
	server.send(`{"jsonrpc":"2.0","id":` + id[1] + `,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private","_meta":{` + meta + `}}}`)
}

func expect(t *testing.T, from, to *wireEnd, sent, want string) {
	t.Helper()
	from.send(sent)
	require.Equal(t, want, to.recv(), "sent %s", sent)
}

// TestStatelessClientsShareAServer holds that the requests of clients without
// sessions reach one server, under ids of their own, and that each client hears
// what is its own and nothing else.
func TestStatelessClientsShareAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, s := bridged(t, Options{})
		two := connect(t, b)
		one.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"a"}}`)
		server := <-s.next
		discovered(t, server)
		require.Equal(t, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{`+meta+`,"name":"a"}}`, server.recv())
		withToken := strings.Replace(meta, `"_meta":{`, `"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"info",`, 1)
		expect(t, two, server, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+withToken+`,"name":"b"}}`,
			strings.ReplaceAll(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{`+withToken+`,"name":"b"}}`, `"progressToken":1`, `"progressToken":3`))
		expect(t, server, two, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		expect(t, server, two, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		expect(t, server, two, `{"jsonrpc":"2.0","id":3,"result":{"resultType":"complete"}}`, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`)
		expect(t, server, one, `{"jsonrpc":"2.0","id":2,"result":{"resultType":"x","n":1.0}}`, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"x","n":1.0}}`)
		require.Equal(t, Stats{Shared: 1}, b.Stats())

		// A subscription has the id of its request, on either side.
		expect(t, one, server, `{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{`+meta+`,"notifications":{"toolsListChanged":true}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{`+meta+`,"notifications":{"toolsListChanged":true}}}`)
		for _, method := range []string{"subscriptions/acknowledged", "tools/list_changed"} {
			expect(t, server, one, `{"jsonrpc":"2.0","method":"notifications/`+method+`","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":4},"a":1}}`,
				`{"jsonrpc":"2.0","method":"notifications/`+method+`","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"L"},"a":1}}`)
		}
		expect(t, server, one, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"L"}}`)
		expect(t, server, one, `{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":4}}}`,
			`{"jsonrpc":"2.0","id":"L","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"L"}}}`)

		// A client that goes away takes what it asked for along, and no more.
		expect(t, one, server, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{`+meta+`,"name":"c"}}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{`+meta+`,"name":"c"}}`)
		expect(t, two, server, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{`+meta+`,"name":"d"}}`,
			`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{`+meta+`,"name":"d"}}`)
		require.NoError(t, one.w.Close())
		require.Contains(t, server.recv(), `"method":"notifications/cancelled","params":{"requestId":5`)
		expect(t, server, two, `{"jsonrpc":"2.0","id":6,"result":{"resultType":"complete"}}`, `{"jsonrpc":"2.0","id":5,"result":{"resultType":"complete"}}`)
	})
}

// TestLogMessagesOfNobodyInParticular holds that a log message which could be for
// either of two clients is told to neither.
func TestLogMessagesOfNobodyInParticular(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, s := bridged(t, Options{})
		two := connect(t, b)
		logs := strings.Replace(meta, `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"info",`, 1)
		one.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + logs + `}}`)
		server := <-s.next
		discovered(t, server)
		server.recv()
		two.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + logs + `}}`)
		server.recv()
		server.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"secret"}}`)
		expect(t, server, one, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		expect(t, server, two, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":2}}`)
		expect(t, server, two, `{"jsonrpc":"2.0","id":3,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	})
}

// TestDrainEndsSubscriptions holds that whoever ends the bridge does not wait for
// subscriptions, which get their result; like the server's own results it holds what
// that says of itself.
func TestDrainEndsSubscriptions(t *testing.T) {
	for rule, info := range map[string]string{"nothing": "", "a name": `"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2","x":1.0}`} {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServers(t)
				b := New(s, Options{Logger: quietLog()})
				streams, client := lines(t)
				ctx, stop := context.WithCancel(context.Background())
				served := make(chan error, 1)
				go func() { served <- jsonrpc.Serve(ctx, streams, b) }()
				client.send(`{"jsonrpc":"2.0","id":"L","method":"subscriptions/listen","params":{` + meta + `,"notifications":{}}}`)
				server := <-s.next
				discoveredAs(t, server, info)
				server.recv()
				start := time.Now()
				stop()
				if info != "" {
					info += ","
				}
				require.Equal(t, `{"jsonrpc":"2.0","id":"L","result":{"resultType":"complete","_meta":{`+info+`"io.modelcontextprotocol/subscriptionId":"L"}}}`, client.recv())
				require.Contains(t, server.recv(), `"method":"notifications/cancelled","params":{"requestId":2`)
				client.over()
				require.ErrorIs(t, <-served, context.Canceled)
				require.Less(t, time.Since(start), time.Second)
				require.NoError(t, b.Close(context.Background()))
			})
		})
	}
}

// TestSharedServer holds what sessions see that share a server: the answer to a
// handshake that the bridge made, what the server tells, each its own answers,
// and subscriptions that none takes from another.
func TestSharedServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, s := bridged(t, Options{Shared: true, Name: "b"})
		two := connect(t, b)
		one.send(initialize)
		server := <-s.next
		require.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`, server.recv())
		server.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}, "serverInfo":{"name":"s","version":"2"}}}`)
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, server.recv())
		const answer = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}, "serverInfo":{"name":"s","version":"2"}}}`
		require.Equal(t, answer, one.recv())
		expect(t, two, two, initialize, answer)
		for _, c := range []*wireEnd{one, two} {
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		expect(t, server, server, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		server.send(`{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
		require.Contains(t, server.recv(), `"code":-32601`)

		subscribe := func(c *wireEnd, method, id string) {
			c.send(`{"jsonrpc":"2.0","id":1` + id + `,"method":"resources/` + method + `","params":{"uri":"file:///a"}}`)
		}
		pass := func(c *wireEnd, method, id, up string) {
			subscribe(c, method, id)
			require.Contains(t, server.recv(), `"id":`+up+`,"method":"resources/`+method)
			expect(t, server, c, `{"jsonrpc":"2.0","id":`+up+`,"result":{}}`, `{"jsonrpc":"2.0","id":1`+id+`,"result":{}}`)
		}
		pass(one, "subscribe", "1", "2")
		updated := `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///a/b"}}`
		expect(t, server, one, updated, updated)
		pass(two, "subscribe", "1", "3")
		expect(t, server, two, updated, updated)
		require.Equal(t, updated, one.recv())
		subscribe(one, "unsubscribe", "2") // the other still wants it
		require.Equal(t, `{"jsonrpc":"2.0","id":12,"result":{}}`, one.recv())
		expect(t, server, two, updated, updated)
		changed := `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		expect(t, server, one, changed, changed)
		require.Equal(t, changed, two.recv())
		require.NoError(t, two.w.Close()) // and takes its subscription along
		require.Contains(t, server.recv(), `"method":"resources/unsubscribe","params":{"uri":"file:///a"}`)
		synctest.Wait()
		require.Equal(t, Stats{Sessions: 1, Shared: 1}, b.Stats())
	})
}

// TestServerThatEndsEndsItsSession holds that what waits is answered with an
// error, that the client's connection ends, and that other sessions go on.
func TestServerThatEndsEndsItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, one, s := bridged(t, Options{})
		two := connect(t, b)
		server1, server2 := begin(t, one, s), begin(t, two, s)
		one.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`)
		server1.recv()
		require.NoError(t, server1.w.Close())
		require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"error":{"code":-31012,"message":"no answer from the server: connection closed: EOF"}}`, one.recv())
		one.over()
		expect(t, two, server2, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`)
		expect(t, server2, two, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`)
		require.ErrorIs(t, b.Err(), io.EOF)
		three := connect(t, b)
		begin(t, three, s)
	})
}

// TestAnswersThatNobodyWaitsFor holds that a second answer, one to nothing and a
// text that is no message reach no client.
func TestAnswersThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		server := begin(t, client, s)
		client.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`)
		server.recv()
		for _, line := range []string{"hello", `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}}`, `{"id":2}`, ``} {
			server.send(line)
		}
		expect(t, server, client, `{"jsonrpc":"2.0","id":2,"result":{"n":1}}`, `{"jsonrpc":"2.0","id":7,"result":{"n":1}}`)
		server.send(`{"jsonrpc":"2.0","id":2,"result":{"n":2}}`)
		expect(t, client, server, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}`)
		expect(t, server, client, `{"jsonrpc":"2.0","id":3,"result":{"n":3}}`, `{"jsonrpc":"2.0","id":7,"result":{"n":3}}`)
	})
}

// TestOrderIsKept holds that what a client sends one after the other reaches the
// server in that order, and what precedes an answer the client.
func TestOrderIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		server := begin(t, client, s)
		const n = 500
		go func() {
			for i := range n {
				fmt.Fprintf(client.w, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":%[1]d,"_meta":{"progressToken":%[1]d}}}`+"\n", i)
				fmt.Fprintf(client.w, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d,"n":%[1]d}}`+"\n", i+1_000_000)
				fmt.Fprintf(client.w, `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d}}`+"\n", i)
			}
		}()
		for i := range n {
			require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"n":%d,"_meta":{"progressToken":%[1]d}}}`, i+2, i), server.recv())
			require.Equal(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/x","params":{"n":%d}}`, i), server.recv())
		}
		go func() {
			for i := range n {
				for k := range 3 {
					fmt.Fprintf(server.w, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`+"\n", i+2, k)
				}
				fmt.Fprintf(server.w, `{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", i+2)
			}
		}()
		seen, answers := map[string]int{}, 0
		for answers < n {
			line := client.recv()
			if id := regexp.MustCompile(`^\{"jsonrpc":"2.0","id":(\d+),"result":\{\}\}$`).FindStringSubmatch(line); id != nil {
				require.Equal(t, 3, seen[id[1]])
				answers++
				continue
			}
			m := regexp.MustCompile(`"progressToken":(\d+),"progress":(\d)`).FindStringSubmatch(line)
			require.NotNil(t, m, line)
			require.Equal(t, m[2], fmt.Sprint(seen[m[1]]))
			seen[m[1]]++
		}
	})
}

// TestTaskProgressGoesOn holds that progress on a task reaches its client after
// the answer that made it (2025-11-25, basic/utilities/tasks).
func TestTaskProgressGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		server := begin(t, client, s)
		expect(t, client, server, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":"t"}}}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"task":{},"_meta":{"progressToken":2}}}`)
		expect(t, server, client, `{"jsonrpc":"2.0","id":2,"result":{"task":{}}}`, `{"jsonrpc":"2.0","id":7,"result":{"task":{}}}`)
		expect(t, server, client, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
	})
}

// TestClientThatDoesNotWait holds that what a client sends before initialize is
// answered reaches the server after it, and in order.
func TestClientThatDoesNotWait(t *testing.T) {
	for _, shared := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			_, client, s := bridged(t, Options{Shared: shared})
			client.send(initialize)
			client.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			client.send(`{"jsonrpc":"2.0","method":"notifications/x"}`)
			client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			server := <-s.next
			require.Contains(t, server.recv(), `"method":"initialize"`)
			time.Sleep(time.Second)
			server.send(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"2"}}}`)
			for _, method := range []string{"notifications/initialized", "notifications/x", "tools/list"} {
				require.Contains(t, server.recv(), `"method":"`+method)
			}
			require.Contains(t, client.recv(), `"id":0`)
			expect(t, server, client, `{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		})
	}
}

// TestRequestThatNamesNoVersion holds that one without a session that does not say
// what it speaks is refused as every server refuses it, and reaches none: over HTTP
// it would lack a header that its client knows nothing of.
func TestRequestThatNamesNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client, s := bridged(t, Options{})
		for _, version := range []string{"", `"io.modelcontextprotocol/protocolVersion":20260728,`, `"io.modelcontextprotocol/protocolVersion":null,`} {
			client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + version + `"io.modelcontextprotocol/clientCapabilities":{}}}}`)
			require.Contains(t, client.recv(), `"code":-32602`)
		}
		require.Empty(t, s.next)
	})
}

// TestWantingLogsInAnySpelling holds that a name with escapes is the same name.
func TestWantingLogsInAnySpelling(t *testing.T) {
	for name, want := range map[string]bool{
		`io.modelcontextprotocol/logLevel`:      true,
		`io.modelcontextprotocol\/logLevel`:     true,
		`io.modelcontextprotocol\u002flogLevel`: true,
		`\u0069o.modelcontextprotocol/logLevel`: true,
		`io.modelcontextprotocol\/logLevels`:    false,
		`x`:                                     false,
	} {
		require.Equal(t, want, asksForLogs([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"`+name+`":"info"}}}`)), name)
	}
	require.True(t, lasts([]byte(`{"params":{"t\u0061sk":{}}}`)))
	require.False(t, lasts([]byte(`{"params":{"a":"\/"}}`)))
}

// TestInitializeThatIsNeverAnswered holds that a session that does not begin ends
// with its server: after a while, and at once with the bridge, whether or not the
// client is still there.
func TestInitializeThatIsNeverAnswered(t *testing.T) {
	t.Run("time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, client, s := bridged(t, Options{})
			start := time.Now()
			client.send(initialize)
			server := <-s.next
			require.Contains(t, server.recv(), `"initialize"`)
			over := make(chan struct{})
			go func() {
				defer close(over)
				_, _ = io.Copy(io.Discard, server.r) // until it is ended
				_ = server.w.Close()
			}()
			require.Contains(t, client.recv(), `"code":-31012`)
			<-over
			require.Equal(t, handshakeTimeout, time.Since(start))
			require.Empty(t, b.opening)
		})
	})
	t.Run("bridge", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b, client, s := bridged(t, Options{})
			start := time.Now()
			client.send(initialize)
			server := <-s.next
			require.Contains(t, server.recv(), `"initialize"`)
			go func() {
				_, _ = io.Copy(io.Discard, server.r)
				_ = server.w.Close()
			}()
			closed := make(chan error)
			go func() { closed <- b.Close(context.Background()) }()
			require.Contains(t, client.recv(), errClosed.Message)
			require.NoError(t, <-closed)
			require.Less(t, time.Since(start), time.Second)
		})
	})
}

// TestSharedServerThatNeverAnswers holds that clients without sessions do not wait
// for ever for a server that says nothing, and that it is left alone for a while.
func TestSharedServerThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, client, s := bridged(t, Options{})
		go func() {
			for server := range s.next {
				go func() {
					_, _ = io.Copy(io.Discard, server.r)
					_ = server.w.Close()
				}()
			}
		}()
		defer close(s.next)
		ask := func(code string, within time.Duration) {
			start := time.Now()
			client.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
			require.Contains(t, client.recv(), `"code":`+code)
			require.LessOrEqual(t, time.Since(start), within)
		}
		for range freeStarts + 1 {
			ask("-31012", probeTimeout+handshakeTimeout)
		}
		ask(fmt.Sprint(jsonrpc.CodeCircuitOpen), 0)
		require.Equal(t, Stats{}, b.Stats())
	})
}
