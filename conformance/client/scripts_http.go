package client

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/runtime/wire"
)

// oddStream answers a request by a stream of events of odd but legal shape.
func oddStream(c *Call) {
	text := c.GoodResult()
	if text == "" || c.Exchange == nil || c.Play.Transport != catalogue.HTTP {
		return
	}
	reply := `{"jsonrpc":"2.0","id":` + idText(c.ID) + `,"result":` + text + `}`
	x := c.Exchange
	x.Write(": keep-alive\n\n:\n")
	x.Write("retry: 3000\r\n\r\n")
	// One message over several data lines, with a comment among them.
	half := strings.Index(reply, `,"result":`) + 1
	x.Write("event:message\r\ndata:" + reply[:half] + "\r\n: in between\r\n:\r\ndata: " + reply[half:] + "\r\n\r\n")
	x.End()
}

// oddFields is oddStream with fields that nobody knows, which a reader of streams
// leaves out.
func oddFields(c *Call) {
	if c.Exchange != nil && c.Play.Transport == catalogue.HTTP {
		c.Exchange.Write("unknown: field\nunknown\n")
	}
}

// httpScripts are about streams and sessions.
func httpScripts() []Script {
	old := func(status int) Script {
		return Script{
			Name: scriptOldServer + strconv.Itoa(status), About: "a server of the old transport, which answers a POST by status " + strconv.Itoa(status),
			Since: march, Until: latest, Transports: onHTTP, Speaks: rev2024, Time: 6 * time.Second,
			Serve: func(p *Play) {
				p.HTTP = func(x *Exchange) bool {
					switch {
					case x.Origin != "":
						return false
					case x.Path() == endpoint && x.Method == http.MethodGet:
						p.openSSE(x)
					case x.Path() == endpoint:
						x.Respond(status, "", "")
					case x.Path() == ssePosts && x.Method == http.MethodPost:
						p.postSSE(x)
					default:
						return false
					}
					return true
				}
			},
		}
	}
	return []Script{
		{
			Name: scriptStreams, About: "answers as streams of events, of odd but legal shape", Transports: onHTTP,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID != nil && c.Method != listen && (p.Modern() || c.Method != initialize) {
						oddStream(c)
					}
				}
			},
		},
		{
			Name: scriptOddFields, About: "answers as streams of events, with fields that nobody knows", Transports: onHTTP,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID != nil && c.Method != listen && (p.Modern() || c.Method != initialize) {
						oddFields(c)
					}
				}
			},
		},
		{
			Name: scriptJSON, About: "answers as JSON and as streams of events in turn", Transports: onHTTP,
			Serve: func(p *Play) {
				n := 0
				var mu sync.Mutex
				p.On["*"] = func(c *Call) {
					mu.Lock()
					n++
					odd := n%2 == 0
					mu.Unlock()
					if odd && c.ID != nil && c.Method != listen {
						c.Exchange.Stream()
					}
				}
			},
		},
		{
			Name: scriptHeaderCase, About: "headers whose names are written in odd ways", Since: modern, Transports: onHTTP,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					// Calls may have to say something before they answer.
					if c.ID == nil || c.Method == listen || c.Method == callTool {
						return
					}
					if text := c.GoodResult(); text != "" {
						c.Exchange.SetHeader("cONTENT-tYPE", "application/json")
						if c.Exchange.Respond(0, "", `{"jsonrpc":"2.0","id":`+idText(c.ID)+`,"result":`+text+`}`) {
							c.answered.Store(true)
						}
					}
				}
			},
		},
		{
			Name: "legacy-offers", About: "a stateless server that hands out a session id and ids of events", Since: modern, Transports: onHTTP, Time: 4 * time.Second,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID == nil || c.Method == listen {
						return
					}
					c.Exchange.SetHeader("Mcp-Session-Id", "stateless-0001")
					if c.Method == callTool {
						c.Exchange.Stream()
						c.Exchange.Field("id", "event-1")
					}
				}
			},
		},
		{
			Name: scriptClosedGet, About: "a server that closes its stream beside the answers", Since: march, Until: latest, Transports: onHTTP,
			Serve: func(p *Play) {
				p.HTTP = func(x *Exchange) bool {
					if x.Origin != "" || x.Path() != endpoint || x.Method != http.MethodGet {
						return false
					}
					x.Stream()
					x.Field("retry", "5000")
					p.Wait(20 * time.Millisecond)
					x.End()
					return true
				}
			},
		},
		{
			Name: scriptCutStream, About: "a stream that breaks off after an event with an id", Since: march, Until: latest, Transports: onHTTP,
			Time: 8 * time.Second, Idle: 3 * time.Second,
			Serve: func(p *Play) { broken(p, "stream-1/3", "", (*Exchange).Cut) },
		},
		{
			Name: scriptPolling, About: "a stream that the server closes after it said when to come again", Since: latest, Until: latest, Transports: onHTTP,
			Time: 8 * time.Second, Idle: 2 * time.Second,
			Serve: func(p *Play) { broken(p, "poll-1", "600", (*Exchange).End) },
		},
		{
			Name: scriptSessionGone, About: "a session that the server ends", Since: march, Until: latest, Transports: onHTTP,
			Serve: func(p *Play) {
				n := 0
				var mu sync.Mutex
				p.HTTP = func(x *Exchange) bool {
					if x.Origin != "" || x.Path() != endpoint || x.Method != http.MethodPost || x.Header.Get("mcp-session-id") == "" {
						return false
					}
					v, _ := wire.ParseRaw(x.Body)
					if v.Get("id") == nil || v.Get("method") == nil {
						return false
					}
					mu.Lock()
					defer mu.Unlock()
					if n++; n == 2 {
						p.mu.Lock()
						p.ended[p.Session] = true
						p.mu.Unlock()
					}
					return false
				}
			},
		},
		old(400), old(404), old(405),
		{
			Name: scriptBrokenStream, About: "a stream that breaks off before the answer", Since: modern, Transports: onHTTP, Time: 4 * time.Second,
			Serve: func(p *Play) {
				firstRequest(p, func(c *Call) {
					c.Exchange.Stream()
					c.Exchange.Comment("soon")
					c.answered.Store(true)
					c.Exchange.Cut()
				})
			},
		},
	}
}

// broken breaks the stream of the first request after an event with an id, and
// answers where the client takes it up again.
func broken(p *Play, id, retry string, end func(x *Exchange)) {
	reply := ""
	var mu sync.Mutex
	firstRequest(p, func(c *Call) {
		mu.Lock()
		reply = `{"jsonrpc":"2.0","id":` + idText(c.ID) + `,"result":` + c.GoodResult() + `}`
		mu.Unlock()
		x := c.Exchange
		x.Stream()
		x.Field("id", id)
		if retry != "" {
			x.Field("retry", retry)
			x.Write("data:\n\n")
		} else {
			x.Event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"soon"}}`)
		}
		c.answered.Store(true)
		end(x)
	})
	p.HTTP = func(x *Exchange) bool {
		if x.Origin != "" || x.Path() != endpoint || x.Method != http.MethodGet || x.Header.Get("last-event-id") == "" {
			return false
		}
		mu.Lock()
		text := reply
		reply = ""
		mu.Unlock()
		x.Stream()
		if text != "" {
			x.Field("id", id+"-end")
			x.Event(text)
		}
		x.End()
		return true
	}
}

// designatedTool has parameters of each kind that are repeated as headers.
const designatedTool = `{"name":"designated","description":"A tool of a test.","inputSchema":{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},"count":{"type":"integer","x-mcp-header":"Count"},"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},` +
	`"note":{"type":"string"},"place":{"type":"object","properties":{"inner":{"type":"object","properties":{"code":{"type":"string","x-mcp-header":"Code"}}}}}}},"annotations":{"readOnlyHint":true}}`

// designatedCalls are what a client of the official suite's contract is asked
// to call.
const designatedCalls = `{"toolCalls":[` +
	`{"name":"designated","arguments":{"region":"eu-1","count":42,"dry":true,"note":"plain","place":{"inner":{"code":"x"}}}},` +
	`{"name":"designated","arguments":{"region":"Zürich","count":-7,"dry":false}},` +
	`{"name":"designated","arguments":{"region":" padded ","note":null}},` +
	`{"name":"designated","arguments":{"region":"=?base64?literal?=","count":null}},` +
	`{"name":"designated","arguments":{"region":"two\nlines","place":{"inner":{"code":"ü"}}}},` +
	`{"name":"designated","arguments":{"region":null}},` +
	`{"name":"designated","arguments":{}}]}`

// headerScripts are about the headers of the stateless revisions.
func headerScripts() []Script {
	wrong := func(name, schema string) string {
		return `{"name":"` + name + `","description":"A tool of a test.","inputSchema":{"type":"object","properties":{` + schema + `}},"annotations":{"readOnlyHint":true}}`
	}
	return []Script{
		{
			Name: "designated", About: "a tool whose parameters come as headers, too", Since: modern, Transports: onHTTP,
			Scenario: "http-custom-headers", Context: func(*Play) string { return designatedCalls },
			Serve: func(p *Play) { p.Tools, p.PageSize = []string{designatedTool}, 0 },
		},
		{
			Name: "wrongly-designated", About: "tools whose designated parameters break the rules, beside one that is right", Since: modern, Transports: onHTTP,
			Scenario: "http-invalid-tool-headers",
			Serve: func(p *Play) {
				p.PageSize = 0
				p.Tools = append(p.Tools,
					wrong("valid_tool", `"a":{"type":"string","x-mcp-header":"A"}`),
					wrong("wrong_empty", `"a":{"type":"string","x-mcp-header":""}`),
					wrong("wrong_blank", `"a":{"type":"string","x-mcp-header":"A B"}`),
					wrong("wrong_twice", `"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}`),
					wrong("wrong_object", `"a":{"type":"object","x-mcp-header":"A"}`),
					wrong("wrong_number", `"a":{"type":"number","x-mcp-header":"A"}`),
					wrong("wrong_items", `"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`),
					wrong("wrong_any", `"a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`),
					wrong("wrong_if", `"a":{"type":"object","if":{"properties":{"b":{"type":"string","x-mcp-header":"A"}}}}`),
				)
			},
		},
		{
			Name: "odd-names", About: "names and addresses that are no safe header values", Since: modern, Transports: onHTTP,
			Serve: func(p *Play) {
				p.PageSize = 0
				p.Tools = append([]string{wrong("grüße", "")}, p.Tools...)
				p.Resources = append([]string{`{"uri":"memo://notizen/größe","name":"größe"}`}, p.Resources...)
				p.Prompts = append([]string{`{"name":"übersicht "}`}, p.Prompts...)
			},
		},
		{
			Name: scriptMismatch, About: "a tool that changed, so that a call misses a header", Since: modern, Transports: onHTTP,
			Serve: func(p *Play) {
				var once sync.Once
				p.On[callTool] = func(c *Call) {
					once.Do(func() {
						c.Error(-32020, "the header Mcp-Param-A is missing", "")
					})
				}
			},
		},
	}
}
