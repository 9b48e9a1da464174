package client

import (
	"sync"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// refuseOnce answers the first request of the stateless era by an error.
func refuseOnce(p *Play, code int64, text, data string) {
	var once sync.Once
	atStateless(p, func(c *Call) {
		once.Do(func() { c.Error(code, text, data) })
	})
}

// eraScripts are about versions, and servers of another era.
func eraScripts() []Script {
	supported := func(version string) string {
		return `{"supported":["` + version + `"],"requested":"` + modern + `"}`
	}
	old400 := func(name, about, contentType, body string) Script {
		return Script{
			Name: scriptOld400 + name, About: "a server of the older era that answers by status 400 and " + about,
			Since: modern, Transports: onHTTP, Speaks: latest,
			Serve: func(p *Play) {
				p.HTTP = func(x *Exchange) bool {
					if x.Origin != "" || x.Path() != endpoint || x.Method != "POST" {
						return false
					}
					v, _ := wire.ParseRaw(x.Body)
					if str(v.Get("method")) != discover && v.Get("params").Get("_meta").Get(metaVersion) == nil {
						return false
					}
					return x.Respond(400, contentType, body)
				}
			},
		}
	}
	return []Script{
		{
			Name: scriptRefusedOnce, About: "a server that refuses the version at first, and lists it", Since: modern,
			Serve: func(p *Play) { refuseOnce(p, -32022, "Unsupported protocol version", supported(p.Revision)) },
		},
		{
			Name: scriptModern400 + "capability", About: "a server that misses a capability at first", Since: modern, Transports: onHTTP,
			Serve: func(p *Play) {
				refuseOnce(p, -32021, "Missing required client capability", `{"requiredCapabilities":{"sampling":{}}}`)
			},
		},
		{
			Name: scriptModern400 + "header", About: "a server that finds a header wrong at first", Since: modern, Transports: onHTTP,
			Serve: func(p *Play) { refuseOnce(p, -32020, "Header mismatch", "") },
		},
		{
			Name: scriptNoOverlap, About: "a server that only speaks a version that nobody knows", Since: modern, Time: 5 * time.Second,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID != nil {
						c.Error(-32022, "Unsupported protocol version", supported(unknownVersion))
					}
				}
			},
		},
		{
			Name: scriptDraftCode, About: "a server that answers by the code of an older draft", Since: modern,
			Serve: func(p *Play) { refuseOnce(p, -32004, "Unsupported protocol version", supported(p.Revision)) },
		},
		{
			Name: scriptOldErrors, About: "a server of the older era that answers the probe by one error or another",
			Since: modern, Transports: onStdio, Speaks: latest, Starts: len(oldCodes), Time: 20 * time.Second,
			Serve: func(p *Play) {
				atStateless(p, func(c *Call) {
					c.Error(oldCodes[(max(1, p.Run())-1)%len(oldCodes)], "no", "")
				})
			},
		},
		{
			Name: scriptMute, About: "a server of the older era that does not answer the probe", Since: modern, Transports: onStdio, Speaks: latest,
			Time: 8 * time.Second, Idle: 7 * time.Second,
			Serve: func(p *Play) { atStateless(p, (*Call).Hold) },
		},
		old400("empty", "nothing else", "", ""),
		old400("html", "a page", "text/html; charset=utf-8", "<html><body>Bad Request</body></html>\n"),
		old400("code", "an error that is none of the stateless era", "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: no session"}}`),
	}
}

// oldCodes are errors by which servers of the older era may refuse what they do
// not know.
var oldCodes = []int64{-32601, -32602, -32600, -32603, -32000, 1}

// stdioScripts are about processes.
func stdioScripts() []Script {
	return []Script{
		{
			Name: scriptStderr, About: "a server that writes alarming text to stderr", Since: modern, Transports: onStdio,
			Serve: func(p *Play) {
				p.Started = func() {
					p.Stderr("ERROR: this is fine\n")
					p.Stderr("FATAL ERROR: so is this\npanic: and this\n")
				}
			},
		},
		{
			Name: scriptStubborn, About: "a server that runs on when its input has ended", Since: modern, Transports: onStdio, Time: 12 * time.Second, Idle: 9 * time.Second,
			Serve: func(p *Play) { p.IgnoreEOF = true },
		},
		{
			Name: scriptDying, About: "a server that ends after its first answer", Since: modern, Transports: onStdio,
			Serve: func(p *Play) {
				p.On["*"] = func(c *Call) {
					if c.ID != nil && p.Connections() == 1 {
						c.Good()
						p.Exit(1)
					}
				}
			},
		},
		{
			Name: scriptDyingListen, About: "a server that ends while a subscription is open", Since: modern, Transports: onStdio,
			Serve: func(p *Play) {
				var once sync.Once // a client may try the server by another process before
				p.On[listen] = func(c *Call) {
					c.Good()
					once.Do(func() {
						if p.Wait(50 * time.Millisecond) {
							p.Exit(1)
						}
					})
				}
			},
		},
	}
}
