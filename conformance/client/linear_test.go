package client_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// talks are what a client and a server may say to each other as often as they
// like: what the client sends and what the server answers ("" for nothing), or,
// where it begins with "<", what the server sends and what the client answers.
// N is a number that was not used before, P the one before it, REV the revision,
// META the _meta of a request.
var talks = [][2]string{
	{`{"jsonrpc":"2.0","id":N,"method":"tools/list","params":{META}}`, `{"jsonrpc":"2.0","id":N,"result":{"tools":[{"name":"tN","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}}],"resultType":"complete","nextCursor":"cursor-N"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"prompts/list","params":{"cursor":"other-N",META}}`, `{"jsonrpc":"2.0","id":N,"result":{"prompts":[],"resultType":"complete"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"nosuch-N","arguments":{},"task":{},META}}`, `{"jsonrpc":"2.0","id":N,"result":{"content":[],"resultType":"complete"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"x","arguments":{},META}}`, `{"jsonrpc":"2.0","id":N,"result":{"resultType":"input_required","requestState":"sN","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"x","arguments":{},"requestState":"sN","inputResponses":{"a":{"action":"decline"}},META}}`, `{"jsonrpc":"2.0","id":N,"result":{"content":[],"resultType":"complete"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"yN","arguments":{},META}}`, `{"jsonrpc":"2.0","id":N,"result":{"resultType":"input_required","requestState":"uN","inputRequests":{}}}`},
	{`{"jsonrpc":"2.0","id":"same","method":"resources/read","params":{"uri":"x:N",META}}`, `{"jsonrpc":"2.0","id":"same","result":{"contents":[],"resultType":"complete"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"logging/setLevel","params":{"level":"info","_meta":{"progressToken":"same"}}}`, ``},
	{`{"jsonrpc":"2.0","id":N,"method":"prompts/get","params":{"name":"x",META}}`, ``},
	{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":P,META}}`, ``},
	{`{"jsonrpc":"2.0","id":N,"method":"server/discover","params":{META}}`, `{"jsonrpc":"2.0","id":N,"result":{"resultType":"complete"}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"subscriptions/listen","params":{"notifications":{},META}}`, ``},
	{`{"jsonrpc":"2.0","id":N,"method":"tasks/get","params":{"taskId":"t",META}}`, `{"jsonrpc":"2.0","id":N,"result":{"taskId":"t","status":"working","ttl":null,"pollInterval":1}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"ping"}`, `{"jsonrpc":"2.0","id":N,"result":{}}`},
	{`{"jsonrpc":"2.0","id":N,"method":"completion/complete","params":{"argument":{"name":"a","value":"N"},META}}`, `{"jsonrpc":"2.0","id":N,"error":{"code":-32601,"message":"no"}}`},
	{`{"jsonrpc":"2.0","id":"nobody-N","result":{}}`, ``},
	{`{"jsonrpc":"2.0","error":{"code":-32600,"message":"N"}}`, ``},
	{`[{"jsonrpc":"2.0","id":N,"method":"tools/list"}]`, `[{"jsonrpc":"2.0","id":N,"result":{"tools":[],"nextCursor":"batch-N"}}]`},
	{`{"jsonrpc":N`, ``},
	{`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, ``},
	{`<{"jsonrpc":"2.0","id":"same","method":"ping"}`, `{"jsonrpc":"2.0","id":"same","result":{}}`},
	{`<{"jsonrpc":"2.0","id":"ping-N","method":"ping"}`, ``},
	{`<{"jsonrpc":"2.0","id":"call-N","method":"goldwire/no_such_method"}`, `{"jsonrpc":"2.0","id":"call-N","error":{"code":-32601,"message":"no"}}`},
	{`<{"jsonrpc":"2.0","id":"root-N","method":"roots/list"}`, `{"jsonrpc":"2.0","id":"root-N","result":{"roots":[]}}`},
	{`<{"jsonrpc":"2.0","id":"form-N","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`, `{"jsonrpc":"2.0","id":"form-N","error":{"code":-32602,"message":"no"}}`},
	{`<{"jsonrpc":"2.0","id":"mode-N","method":"elicitation/create","params":{"mode":"form","message":"m","task":{},"requestedSchema":{"type":"object","properties":{}}}}`, `{"jsonrpc":"2.0","id":"mode-N","error":{"code":-32602,"message":"no"}}`},
	{`<{"jsonrpc":"2.0","id":"task-N","method":"sampling/createMessage","params":{"messages":[],"maxTokens":9,"task":{},"_meta":{"progressToken":"N"}}}`, `{"jsonrpc":"2.0","id":"task-N","result":{"task":{"taskId":"task-N","status":"working","ttl":null,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}}`},
	{`<{"jsonrpc":"2.0","id":"get-N","method":"tasks/get","params":{"taskId":"task-N"}}`, `{"jsonrpc":"2.0","id":"get-N","result":{"taskId":"task-N","status":"completed","ttl":null,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}`},
	{`<{"jsonrpc":"2.0","id":"got-N","method":"tasks/result","params":{"taskId":"task-1"}}`, `{"jsonrpc":"2.0","id":"got-N","result":{"role":"user","model":"m","content":{"type":"text","text":"x"},"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"task-1"}}}}`},
	{`<{"jsonrpc":"2.0","id":"one-N","method":"tasks/get","params":{"taskId":"task-1"}}`, `{"jsonrpc":"2.0","id":"one-N","result":{"taskId":"task-1","status":"completed","ttl":null,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z"}}`},
	{`<{"jsonrpc":"2.0","id":"list-N","method":"tasks/list"}`, `{"jsonrpc":"2.0","id":"list-N","result":{"tasks":[]}}`},
	{`<{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ping-P"}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"N","progress":1}}`},
	{`<[{"jsonrpc":"2.0","id":"arr-N","method":"ping"}]`, `[{"jsonrpc":"2.0","id":"arr-N","result":{}}]`},
	{`<[{"jsonrpc":"2.0","method":"notifications/x"}]`, ``},
	{`<[]`, ``},
	{`<{"jsonrpc":N`, ``},
	// What only HTTP has: a request and a response with their headers.
	{"POST /mcp\n\n" + `{"jsonrpc":"2.0","id":N,"method":"initialize","params":{"protocolVersion":"REV","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		"200\nmcp-session-id: session-N\n\n" + `{"jsonrpc":"2.0","id":N,"result":{"protocolVersion":"REV","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
	{"POST /mcp\nmcp-session-id: session-P\nmcp-protocol-version: REV\n\n" + `{"jsonrpc":"2.0","id":N,"method":"resources/list","params":{"cursor":"r-P",META}}`,
		"401\nwww-authenticate: Bearer resource_metadata=\"http://h/.well-known/oauth-protected-resource/N\", scope=\"a\""},
	{"GET /.well-known/oauth-protected-resource/P", "200\n\n" + `{"resource":"http://h/mcp","authorization_servers":["http://as"],"scopes_supported":["a"]}`},
	{"GET http://as/.well-known/oauth-authorization-server", "200\n\n" + `{"issuer":"http://as","authorization_endpoint":"http://as/authorize","token_endpoint":"http://as/token","registration_endpoint":"http://as/register"}`},
	{"POST http://as/register\n\n" + `{"redirect_uris":["http://localhost/cb"]}`, "200\n\n" + `{"client_id":"N"}`},
	{"GET http://as/authorize?client_id=P&redirect_uri=http://localhost/cb&state=N&code_challenge=x&code_challenge_method=S256&resource=http://h/mcp", "302"},
	{"POST http://as/token\n\ngrant_type=authorization_code&code=N&code_verifier=x&resource=http://h/mcp", "200\n\n" + `{"access_token":"token-N","refresh_token":"refresh-N","token_type":"Bearer"}`},
	{"POST /mcp\nauthorization: Bearer token-P\n\n" + `{"jsonrpc":"2.0","id":N,"method":"resources/list","params":{META}}`,
		"200\ncontent-type: application/json\n\n" + `{"jsonrpc":"2.0","id":N,"result":{"resources":[],"resultType":"complete"}}`},
	{"GET /mcp\nlast-event-id: N", "405"},
}

// longTalk is a recording in which each kind of talk comes n times.
func longTalk(rev string, over catalogue.Transport, n int) *check.Trace {
	rec := &transcript.Recording{}
	rec.Set("revision", rev)
	rec.Set("transport", string(over))
	at, number, exchange := time.Duration(0), 0, 0
	add := func(e transcript.Event) {
		at += 5 * time.Millisecond
		e.At, e.Timed = at, true
		rec.Events = append(rec.Events, e)
	}
	head := func(dir transcript.Dir, kind transcript.Kind, text string) {
		add(transcript.Event{Dir: dir, Exchange: exchange, Carrier: true, Kind: kind, Data: []byte(text)})
	}
	heads := func(dir transcript.Dir, first transcript.Kind, text string) {
		for i, line := range strings.Split(text, "\n") {
			if i > 0 {
				first = transcript.KindHeader
			}
			head(dir, first, line)
		}
	}
	post := func(text string) {
		if over == catalogue.Stdio {
			add(transcript.Event{Dir: transcript.ToServer, Data: []byte(text)})
			return
		}
		exchange++
		head(transcript.ToServer, transcript.KindRequest, "POST /mcp")
		head(transcript.ToServer, transcript.KindHeader, "accept: application/json, text/event-stream")
		head(transcript.ToServer, transcript.KindHeader, "mcp-session-id: s")
		head(transcript.ToServer, transcript.KindHeader, "mcp-protocol-version: "+rev)
		add(transcript.Event{Dir: transcript.ToServer, Exchange: exchange, Data: []byte(text)})
	}
	reply := func(text string) {
		if over == catalogue.Stdio {
			if text != "" {
				add(transcript.Event{Dir: transcript.ToClient, Data: []byte(text)})
			}
			return
		}
		status := "200"
		if text == "" {
			status = "202"
		}
		head(transcript.ToClient, transcript.KindStatus, status)
		head(transcript.ToClient, transcript.KindHeader, "content-type: application/json")
		head(transcript.ToClient, transcript.KindHeader, "mcp-session-id: s")
		if text != "" {
			add(transcript.Event{Dir: transcript.ToClient, Exchange: exchange, Data: []byte(text)})
		}
		head(transcript.ToClient, transcript.KindEnd, "end")
	}
	meta := `"_meta":{}`
	if check.Modern(rev) {
		meta = `"_meta":{"` + metaVersion + `":"` + rev + `","` + metaCaps + `":{"elicitation":{}}}`
	} else {
		post(strings.Replace(hello, "2025-11-25", rev, 1))
		reply(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + rev + `","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}}`)
		post(ready)
		reply("")
	}
	for range n {
		for _, kind := range talks {
			number++
			r := strings.NewReplacer("POST", "POST", `"N"`, fmt.Sprintf(`"%d"`, number), "N", fmt.Sprint(number), "-P", fmt.Sprintf("-%d", number-11), "P", fmt.Sprint(number-1), "META", meta, "REV", rev)
			first, second := r.Replace(kind[0]), r.Replace(kind[1])
			if request, body, isHTTP := strings.Cut(first, "\n\n"); strings.HasPrefix(request, "POST ") || strings.HasPrefix(request, "GET ") {
				if over != catalogue.HTTP {
					continue
				}
				exchange++
				heads(transcript.ToServer, transcript.KindRequest, request)
				if isHTTP {
					add(transcript.Event{Dir: transcript.ToServer, Exchange: exchange, Data: []byte(body)})
				}
				answer, body, ok := strings.Cut(second, "\n\n")
				heads(transcript.ToClient, transcript.KindStatus, answer)
				if ok {
					add(transcript.Event{Dir: transcript.ToClient, Exchange: exchange, Data: []byte(body)})
				}
				head(transcript.ToClient, transcript.KindEnd, "end")
				continue
			}
			if asked, ok := strings.CutPrefix(first, "<"); ok {
				if over == catalogue.HTTP {
					exchange++
					head(transcript.ToServer, transcript.KindRequest, "GET /mcp")
					head(transcript.ToClient, transcript.KindStatus, "200")
					head(transcript.ToClient, transcript.KindHeader, "content-type: text/event-stream")
					head(transcript.ToClient, transcript.KindSSE, fmt.Sprintf("id: e%d", number))
					add(transcript.Event{Dir: transcript.ToClient, Exchange: exchange, Data: []byte(asked)})
					head(transcript.ToClient, transcript.KindEnd, "end")
				} else {
					add(transcript.Event{Dir: transcript.ToClient, Data: []byte(asked)})
				}
				if second != "" {
					post(second)
					if over == catalogue.HTTP {
						reply("")
					}
				}
				continue
			}
			post(first)
			reply(second)
		}
	}
	return check.NewTrace(rec)
}

// TestJudgingIsLinear holds that judging takes time in proportion to what was
// said, whatever it was.
func TestJudgingIsLinear(t *testing.T) {
	if slow > 1 {
		t.Skip("times tell nothing under the race detector")
	}
	runtime.LockOSThread() // see spent
	defer runtime.UnlockOSThread()
	const few, times = 20, 8
	all := client.All()
	for _, rev := range []string{"2025-03-26", newest, stateless} {
		for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP} {
			judge := func(n int) map[string]time.Duration {
				traces := []*check.Trace{longTalk(rev, over, n)}
				facts := client.FactsOf(rev, traces)
				took := map[string]time.Duration{}
				for i := range all {
					if k := &all[i]; k.Applies(rev, over) {
						before := spent()
						k.Verdict(rev, over, facts, traces, nil)
						took[k.ID] = spent() - before
					}
				}
				return took
			}
			// What grows with the square takes 64 times as long. A collection
			// may have come in between: one good try is enough.
			tooSlow := map[string]bool{}
			for _, k := range all {
				tooSlow[k.ID] = true
			}
			for try := 0; try < 5 && len(tooSlow) > 0; try++ {
				short, long := judge(few), judge(few*times)
				for id := range tooSlow {
					if long[id] <= 3*times*short[id]+20*time.Millisecond {
						delete(tooSlow, id)
					}
				}
			}
			require.Empty(t, tooSlow, "%s over %s: %d times as much takes more than %d times as long", rev, over, times, 3*times)
		}
	}
}
