package check

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What a server answers a posted request with: one object or a stream of
// events, in both eras.

const (
	mediaJSON   = "application/json"
	mediaStream = "text/event-stream"
)

// lingers is how long a stream may stay open after its last message.
const lingers = time.Second

func streamChecks() []Check {
	return []Check{
		{
			ID: "http-answer-media", Title: "a request is answered by JSON or by a stream of events", Layer: Bytes,
			Requirements: []string{"legacy/http-request-reply-media", "modern/http-response-content-type"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					// What is refused by a status alone may be any page, and what
					// was cancelled gets no answer.
					if x.answer() == nil && (!x.good() || x.Trace.givenUp(x)) {
						return
					}
					const want = "application/json or text/event-stream as Content-Type"
					media := x.media()
					switch {
					case media == mediaJSON || media == mediaStream:
						c.Saw()
					case !x.good() && !c.Modern():
						// The status refuses it, and what the body is then is left
						// open.
						c.odd(x, want, x.says()+", Content-Type "+or(media, "none"))
					default:
						c.wrong(x, want, x.says()+", Content-Type "+or(media, "none"))
					}
				})
			},
		},
		{
			ID: "http-answer-object", Title: "an answer in JSON is one object", Layer: Bytes,
			Requirements: []string{"legacy/http-json-one-object", "modern/http-json-single-object"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if !x.good() || x.media() != mediaJSON || x.answer() == nil && x.Trace.givenUp(x) {
						return
					}
					switch {
					case len(x.Messages) == 0:
						c.wrong(x, "a JSON object as body", "no body")
					case len(x.Frames) == 0 || !wellFormed(x.Frames[0]):
						c.wrong(x, "one JSON object, which is a JSON-RPC message", sample([]string{x.Text()[:min(len(x.Text()), 80)]}))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "http-event-message", Title: "the data of an event is one message", Layer: Bytes,
			Requirements: []string{"modern/http-sse-one-message-per-event"},
			Judge: func(c *Case) {
				c.allExchanges(func(x *Exchange) {
					if !x.Stream || x.Method != http.MethodPost {
						return
					}
					for _, f := range x.Frames {
						c.want(f, wellFormed(f), "one JSON-RPC message as the data of the event", or(f.Why, sayWhatKind(f)))
					}
				})
			},
		},
		{
			ID: "http-stream-answers", Title: "the stream of a request carries the answer", Layer: Bytes,
			Requirements: []string{"legacy/http-sse-carries-reply", "modern/http-sse-response-delivered"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if !x.Stream || !x.good() || x.Request.Method == methodListen || x.Closed || x.Trace.givenUp(x) {
						return
					}
					a := x.Trace.Answer(x.Request)
					switch {
					case a != nil && a.Exchange == x.Number, x.answer() != nil:
						c.Saw()
					case a != nil && x.Trace.resumes(a.Exchange):
						c.Saw()
					case a != nil:
						c.brokenTwice(x.Request, a, "the answer on the stream that its request opened", "it came on another one")
					case !x.Ended:
					case x.Trace.resumed(x) == nil && x.named() && !c.Modern():
						// The client did not come back for it.
					default:
						c.wrong(x, "the answer before the stream ends", "none: the stream ended after "+plural(len(x.Frames), "message"))
					}
				})
			},
		},
		{
			ID: "http-stream-ends", Title: "a stream ends after the answer to its request", Layer: Bytes,
			Requirements: []string{"legacy/http-sse-close-after-reply", "modern/http-sse-response-terminates"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if !x.Stream || !x.good() {
						return
					}
					i := slices.IndexFunc(x.Frames, func(f *Frame) bool { return f.Kind == KindResponse })
					if i < 0 {
						return
					}
					a := x.Frames[i]
					events := x.Trace.Recording.Events
					switch {
					case len(x.Frames) > i+1:
						c.brokenTwice(a, x.Frames[i+1], "nothing on the stream after the answer", sayWhatKind(x.Frames[i+1]))
					case x.Ended || x.Err != "":
						c.Saw()
					case x.Closed:
						if at := x.closedAt(); at-a.At > lingers {
							c.wrong(x, "the end of the stream after the answer", "it was still open after "+(at-a.At).Round(time.Millisecond).String())
						}
					default:
						if end := events[len(events)-1].At; end-a.At > lingers {
							c.wrong(x, "the end of the stream after the answer", "it was still open after "+(end-a.At).Round(time.Millisecond).String())
						}
					}
				})
			},
		},
		{
			ID: "http-stream-related", Title: "what comes on the stream of a request belongs to it", Layer: Bytes,
			Requirements: []string{"legacy/http-sse-interim-related", "modern/http-sse-notifications-related"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if !x.Stream || !x.good() {
						return
					}
					for _, f := range x.Frames {
						c.related(x, f)
					}
				})
			},
		},
		{
			ID: "http-log-own-stream", Title: "log messages come on the stream of the request that asked for them", Layer: Feature,
			Requirements: []string{"modern/log-own-stream-only"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					for _, f := range x.Frames {
						if f.Method == methodMessage {
							c.want(f, x.Request.meta(metaLogLevel) != nil && x.Request.Method != methodListen,
								"log messages only where the request names a logLevel", "one on the stream of "+x.Request.Method+", which names none")
						}
					}
				})
			},
		},
		{
			ID: "http-stream-unbuffered", Title: "a stream tells proxies not to hold it back", Layer: Bytes,
			Requirements: []string{"modern/http-sse-x-accel-buffering"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if x.Stream && x.good() {
						c.right(x, strings.EqualFold(x.ResponseHeader.Get("X-Accel-Buffering"), "no"), "the header X-Accel-Buffering: no", or(x.ResponseHeader.Get("X-Accel-Buffering"), "none"))
					}
				})
			},
		},
		{
			ID: "http-no-event-ids", Title: "events of a stateless revision have no ids", Layer: Bytes,
			Requirements: []string{"modern/http-no-resumability"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if !x.Stream || !x.good() || !x.modern() {
						return
					}
					c.right(x, !x.named(), "events without ids, as nothing can be resumed", "an event with an id")
				})
			},
		},
		{
			ID: "http-no-session", Title: "no session id is handed out", Layer: Bytes,
			Requirements: []string{"modern/http-session-id-not-minted"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					if x.modern() && x.good() {
						c.right(x, x.ResponseHeader.Get(headSession) == "", "no Mcp-Session-Id", x.ResponseHeader.Get(headSession))
					}
				})
			},
		},
		{
			ID: "http-cancelled-silence", Title: "nothing more is said of a request whose stream was closed", Layer: Protocol,
			Requirements: []string{"modern/http-disconnect-no-further-messages"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					c.closedStreams(t)
				}
				c.NotObserved("no stream was closed before its request was answered")
			},
		},
		{
			ID: "http-incomplete-400", Title: "the status for incomplete metadata is 400", Layer: Bytes,
			Requirements: []string{"modern/meta-rejected-http-400"},
			Judge: func(c *Case) {
				c.statusOf(http.StatusBadRequest, func(x *Exchange, code int64) bool {
					return code == -32602 && (x.Request.meta(metaVersion) == nil || x.Request.caps().Kind() != wire.KindObject)
				})
			},
		},
		{
			ID: "http-capability-400", Title: "the status for a missing capability is 400", Layer: Bytes,
			Requirements: []string{"modern/meta-missing-capability-http-400"},
			Judge: func(c *Case) {
				c.statusOf(http.StatusBadRequest, func(_ *Exchange, code int64) bool { return code == -32021 })
			},
		},
		{
			ID: "http-version-400", Title: "the status for an unsupported version is 400", Layer: Bytes,
			Requirements: []string{"modern/version-unsupported-http-400"},
			Judge: func(c *Case) {
				c.statusOf(http.StatusBadRequest, func(_ *Exchange, code int64) bool { return code == -32022 })
			},
		},
		{
			ID: "http-method-404", Title: "the status for an unknown method is 404", Layer: Bytes,
			Requirements: []string{"modern/hdr-method-not-found-404"},
			Judge: func(c *Case) {
				c.statusOf(http.StatusNotFound, func(x *Exchange, code int64) bool { return code == -32601 && x.Request.sound() })
			},
		},
	}
}

// statusOf judges the status of the errors that pick picks.
func (c *Case) statusOf(want int, pick func(x *Exchange, code int64) bool) {
	c.requests(func(x *Exchange) {
		code, ok := x.code()
		if ok && pick(x, code) {
			c.right(x, x.Status == want, "status "+http.StatusText(want), x.says())
		}
	})
}

// modern reports whether the request of the exchange says that it is one of a
// stateless revision.
func (x *Exchange) modern() bool {
	return x.Request != nil && (Modern(x.Header.Get(headVersion)) || Modern(plain(x.Request.meta(metaVersion))))
}

// named reports whether an event of the stream has an id.
func (x *Exchange) named() bool {
	for i := x.First; i <= x.Last; i++ {
		e := &x.Trace.Recording.Events[i]
		if e.Exchange == x.Number && e.Kind == transcript.KindSSE {
			if name, _, _ := e.Header(); name == "id" {
				return true
			}
		}
	}
	return false
}

// asksRetry reports whether the stream said how long to wait.
func (x *Exchange) asksRetry() bool {
	return x.Retry != "" || slices.ContainsFunc(x.Messages, func(e transcript.SSEEvent) bool { return e.Retry != "" })
}

// givenUp reports whether the client cancelled the request of an exchange, or
// ended the session before the exchange was over: no answer has to come then.
func (t *Trace) givenUp(x *Exchange) bool {
	if t.cancelledAfter(x.Request.ID, x.First) {
		return true
	}
	type key struct{}
	ended := t.Memo(key{}, func() any { // where sessions were
		ended := map[string]int{}
		for _, o := range t.Exchanges() {
			if o.Method == http.MethodDelete && o.good() {
				if first, ok := ended[o.session()]; !ok || o.First < first {
					ended[o.session()] = o.First
				}
			}
		}
		return ended
	}).(map[string]int)
	first, ok := ended[x.session()]
	return ok && first < x.Last
}

// closedAt is when the client closed the exchange.
func (x *Exchange) closedAt() time.Duration {
	for i := x.Last; i >= x.First; i-- {
		if e := &x.Trace.Recording.Events[i]; e.Exchange == x.Number && e.Kind == transcript.KindEnd && e.Dir == transcript.ToServer {
			return e.At
		}
	}
	return x.Trace.Recording.Events[x.Last].At
}

// resumes reports whether an exchange resumes an earlier stream.
func (t *Trace) resumes(number int) bool {
	x := t.Exchange(number)
	return x != nil && x.Method == http.MethodGet && x.Header.Get(headLast) != ""
}

// resumed is the exchange that took up the stream of x, nil for none.
func (t *Trace) resumed(x *Exchange) *Exchange {
	ids := map[string]bool{}
	for _, e := range x.Messages {
		if e.HasID {
			ids[e.ID] = true
		}
	}
	if c := t.carried[x.Number]; c != nil && c.lastID != "" {
		ids[c.lastID] = true
	}
	for _, o := range t.Exchanges() {
		if o.First > x.First && o.Method == http.MethodGet && ids[o.Header.Get(headLast)] {
			return o
		}
	}
	return nil
}

// related judges a message on the stream of a request.
func (c *Case) related(x *Exchange, f *Frame) {
	token := x.Request.Params.Get("_meta").Get("progressToken")
	switch {
	case f.Method == methodProgress && x.Trace.ofTask(f):
		// A task reports where it can once its own request is answered.
	case f.Method == methodProgress:
		c.want(f, token != nil && wire.Equal(token, f.Param("progressToken")), "progress of the request that opened the stream, whose token is "+text(token), "progress for "+text(f.Param("progressToken")))
	case f.Kind == KindResponse:
	case !c.Modern():
		// Whether another message has to do with the request does not show.
	case x.Request.Method == methodListen:
		if id := f.meta(metaSub); id != nil {
			c.want(f, wire.Equal(id, x.Request.ID), "the subscription of the stream, "+text(x.Request.ID), "that of "+text(id))
		}
	case isChange(f.Method) || f.Method == methodAck || f.meta(metaSub) != nil:
		c.Broken(f, "messages of the request that opened the stream", f.Method)
	case f.Method == methodMessage:
		// Judged by what asked for it.
	case f.Kind == KindNotification:
		c.Saw()
	}
}

// ofTask reports whether progress is that of a task.
func (t *Trace) ofTask(f *Frame) bool {
	for req := range t.visit(between(t.sent, 0, f.Index)) {
		token := req.Params.Get("_meta").Get("progressToken")
		if token != nil && req.Param("task") != nil && wire.Equal(token, f.Param("progressToken")) {
			return true
		}
	}
	return false
}

// closedStreams judges what came of requests after their streams were closed.
func (c *Case) closedStreams(t *Trace) {
	for _, x := range t.Exchanges() {
		if !x.asks() || !x.Closed || x.answer() != nil || !x.good() {
			continue
		}
		at := x.Last
		for i := x.First; i <= x.Last; i++ {
			if e := &t.Recording.Events[i]; e.Exchange == x.Number && e.Kind == transcript.KindEnd && e.Dir == transcript.ToServer {
				at = i
				break
			}
		}
		token := x.Request.Params.Get("_meta").Get("progressToken")
		quiet := true
		for f := range t.visit(between(t.frames, at+1, -1)) {
			if !f.FromServer || f.Exchange == x.Number {
				continue
			}
			o := t.Exchange(f.Exchange)
			again := o != nil && o.Request != nil && wire.Equal(o.Request.ID, x.Request.ID)
			switch {
			case f.Kind == KindResponse && wire.Equal(f.ID, x.Request.ID) && !again,
				f.Method == methodProgress && token != nil && wire.Equal(f.Param("progressToken"), token),
				f.meta(metaSub) != nil && wire.Equal(f.meta(metaSub), x.Request.ID) && !again:
				c.brokenTwice(x.Request, f, "nothing more of a request whose stream was closed", sayWhatKind(f)+" on another stream")
				quiet = false
			}
		}
		if quiet {
			c.Saw()
		}
	}
}

// sayWhatKind tells what a message is.
func sayWhatKind(f *Frame) string {
	switch f.Kind {
	case KindRequest, KindNotification:
		return f.Method
	case KindResponse:
		return sayHow(f)
	case KindArray:
		return "an array"
	case KindBlank:
		return "nothing"
	case KindText:
		return "no JSON"
	}
	return "no JSON-RPC message"
}
