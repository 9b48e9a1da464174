package check

import (
	"net/http"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// HTTP+SSE of 2024-11-05: one address where all events are read, and another
// one that its first event names.

// stranger is the id of a request by a second client.
const stranger = `"goldwire-second-client"`

// client opens a stream of the old transport beside that of the session, and
// posts a handshake where its first event says, then watches for a moment.
func (d *Driver) client(r HTTPRequest, step string) {
	r.Method, r.Wait = http.MethodGet, WaitHead
	x := d.Send(r)
	if x == nil {
		return
	}
	defer d.CloseExchange(x.Number)
	if x.Status != http.StatusOK || !x.Stream {
		return
	}
	to := ""
	d.wait(d.patience(), func() bool {
		for _, e := range d.trace.gather(d.trace.carried[x.Number]).Messages {
			if e.Event == "endpoint" {
				to = strings.TrimSpace(string(e.Data))
			}
		}
		return to != "" || !d.http.working[x.Number]
	})
	if to == "" || !d.http.sameOrigin(to) {
		return
	}
	d.Step(step)
	d.exchange(HTTPRequest{Target: to, Body: RequestText(stranger, "initialize", d.Hello(firstLegacy)), Without: []string{headSession, headVersion}, Limit: 2 * d.limits.Grace})
	d.Pause(d.limits.Grace)
}

func sseProbes() []Probe {
	return []Probe{
		{
			Name: "two clients of the old transport", Transports: oldHTTP, Until: firstLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("clients/second")
				d.client(HTTPRequest{}, "clients/second-posts")
			},
		},
		{
			Name: "the old transport beside the new one", Transports: streamable, Since: rev2025March, Until: lastLegacy, Profile: Main, Alone: true,
			Run: func(d *Driver) {
				d.Step("old/stream")
				d.client(HTTPRequest{Target: "sse", Without: []string{headSession, headVersion}}, "old/posts")
			},
		},
	}
}

func sseChecks() []Check {
	return []Check{
		{
			ID: "sse-addresses", Title: "there is an address to read from and one to post to", Layer: Bytes, Transports: oldHTTP,
			Requirements: []string{"legacy/sse-two-endpoints"},
			Judge: func(c *Case) {
				c.allExchanges(func(x *Exchange) {
					switch {
					case x.Status == 0 || x.Header.Get(headOrigin) != "":
					case x.Method == http.MethodGet && x.Target == x.Trace.reads():
						c.right(x, x.Status == http.StatusOK && x.media() == mediaStream, "a stream of events", x.says()+", Content-Type "+or(x.media(), "none"))
					case x.asks() && x.Request.Method == "initialize":
						c.right(x, x.good(), "a status of success for what is posted", x.says())
					}
				})
			},
		},
		{
			ID: "sse-endpoint-first", Title: "the first event names the address to post to", Layer: Bytes, Transports: oldHTTP,
			Requirements: []string{"legacy/sse-endpoint-event"},
			Judge: func(c *Case) {
				c.oldStreams(func(x *Exchange) {
					switch {
					case len(x.Messages) == 0:
						if x.Ended {
							c.wrong(x, "an event named endpoint first", "no event")
						}
					case x.Messages[0].Event != "endpoint":
						c.wrong(x, "an event named endpoint first", "one named "+or(x.Messages[0].Event, "message"))
					default:
						c.right(x, strings.TrimSpace(string(x.Messages[0].Data)) != "", "an address as the data of the event", "none")
					}
				})
			},
		},
		{
			ID: "sse-message-events", Title: "messages come as events named message", Layer: Bytes, Transports: oldHTTP,
			Requirements: []string{"legacy/sse-message-events"},
			Judge: func(c *Case) {
				c.oldStreams(func(x *Exchange) {
					for _, e := range x.Messages {
						v, err := wire.ParseRaw(e.Data)
						isMessage := err == nil && v.Kind() == wire.KindObject && v.Get("jsonrpc") != nil
						at := &Frame{Index: e.Index, Trace: x.Trace, FromServer: true}
						switch {
						case e.Event == "message" || e.Event == "":
							if len(e.Data) > 0 {
								c.want(at, err == nil, "JSON as the data of the event", string(e.Data[:min(len(e.Data), 80)]))
							}
						case isMessage:
							c.Broken(at, "an event named message", "one named "+e.Event)
						}
					}
				})
			},
		},
		{
			ID: "sse-clients-apart", Title: "each client gets the answers to its own requests", Layer: Bytes, Transports: oldHTTP,
			Requirements: []string{"legacy/sse-multiple-clients"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("clients/second-posts") {
					own := 0
					for _, before := range s.Trace.steps {
						if before.Name == "clients/second" {
							for _, x := range before.Exchanges() {
								own = x.Number
							}
						}
					}
					seen := false
					for f := range s.Trace.visit(between(s.Trace.frames, s.from, -1)) {
						if f.FromServer && f.Kind == KindResponse && string(f.ID) == stranger {
							seen = true
							c.want(f, f.Exchange == own, "the answer on the stream of the client that asked", "it came on the stream of another one")
						}
					}
					if !seen {
						for _, x := range s.Exchanges() {
							if x.good() {
								c.wrong(x, "an answer to the second client, beside the first one", "none")
							}
						}
					}
				}
			},
		},
		{
			ID: "http-old-endpoints", Title: "who offers the old transport beside the new one offers both its addresses", Layer: Bytes, Transports: streamable,
			Requirements: []string{"legacy/sse-backcompat-server-hosts-both"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("old/stream") {
					if !x.pointsAway() {
						c.NotApplicable("the server does not offer the old transport")
						return
					}
				}
				for _, x := range c.stepExchanges("old/posts") {
					if c.heard(x) {
						c.right(x, x.good(), "a status of success at the address that the old stream names", x.says())
					}
				}
			},
		},
	}
}

// reads is the address where the session reads its events: that of its first
// exchange.
func (t *Trace) reads() string {
	for _, x := range t.Exchanges() {
		return x.Target
	}
	return ""
}

// oldStreams visits the streams of the old transport.
func (c *Case) oldStreams(visit func(x *Exchange)) {
	c.allExchanges(func(x *Exchange) {
		if x.Method == http.MethodGet && x.Stream && x.Status == http.StatusOK && x.Header.Get(headOrigin) == "" {
			visit(x)
		}
	})
}
