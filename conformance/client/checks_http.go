package client

import (
	"bytes"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// httpChecks are about requests over HTTP, sessions and streams.
func httpChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-http-posts", Title: "each message is a POST to the server's endpoint", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-uses-post", "modern/http-client-posts"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.message != nil {
						want(c, x.at(), x.Method == "POST", "a POST", x.Method+" with a message")
					}
				})
				for _, v := range views(c) {
					first, old := "", false
					for _, x := range v.whole {
						for _, m := range x.Messages {
							old = old || m.Event == "endpoint" // the old transport has two addresses
						}
						if !x.own() || x.message == nil || notMCP(x.path) {
							continue
						}
						if first == "" {
							first = x.path
						}
						if !old && x.path != first {
							c.Broken(x.at(), "messages at "+first, "one at "+x.path)
						}
					}
					for _, x := range v.whole {
						if x.own() && x.message == nil && x.Method == "POST" && strings.Contains(string(x.Body), `"jsonrpc"`) {
							c.Broken(x.at(), "messages at the server's endpoint", "one at "+x.path)
						}
					}
				}
			},
		},
		{
			ID: "client-http-accept", Title: "each POST accepts JSON and a stream of events", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-accept-post", "modern/http-client-accept"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.Method == "POST" && x.message != nil && !x.toOld() {
						accepts(c, x, "application/json", "text/event-stream")
					}
				})
			},
		},
		{
			ID: "client-http-accept-get", Title: "each GET accepts a stream of events", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-accept-get"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.Method == "GET" {
						accepts(c, x, "text/event-stream")
					}
				})
			},
		},
		{
			ID: "client-post-single", Title: "a POST carries one message", Layer: check.Bytes,
			Requirements: []string{"legacy/http-post-single-message", "modern/jsonrpc-single-object-frames"}, Transports: onHTTP,
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.Method == "POST" && len(x.Body) > 0 && x.message != nil {
						want(c, x.at(), x.message.Value.Kind() == wire.KindObject, "a body that is one JSON object", bodyShown(x))
					}
				})
			},
		},
		{
			ID: "client-post-forms", Title: "an array of replies holds nothing else", Layer: check.Bytes,
			Requirements: []string{"legacy/http-post-body-forms"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.Method != "POST" || x.message == nil {
						return
					}
					replies, others := 0, 0
					for _, m := range members(x.message) {
						if m.Kind == check.KindResponse {
							replies++
						} else {
							others++
						}
					}
					want(c, x.at(), replies == 0 || others == 0, "replies alone", "replies and other messages in one array")
				})
			},
		},
		{
			ID: "client-http-both-answers", Title: "an answer as JSON and one as a stream of events are understood", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-handles-both", "modern/http-client-both-content-types", "modern/http-client-ignores-comments"},
			Judge: func(c *check.Case) {
				asFar(c, scriptStreams)
				asFar(c, scriptJSON)
			},
		},
		{
			ID: "client-http-odd-fields", Title: "fields of a stream that nobody knows are left out", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-handles-both", "modern/http-client-both-content-types"}, Soft: true,
			Judge: func(c *check.Case) { asFar(c, scriptOddFields) },
		},
		{
			ID: "client-http-header-case", Title: "header names of the server are read in any case", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-names-case-insensitive"},
			Judge:        func(c *check.Case) { asFar(c, scriptHeaderCase) },
		},
		{
			ID: "client-get-closed", Title: "a stream that the server closes does not end the session", Layer: check.Bytes,
			Requirements: []string{"legacy/http-get-close-any-time"},
			Judge:        func(c *check.Case) { asFar(c, scriptClosedGet) },
		},
		{
			ID: "client-resumes", Title: "a stream that broke is resumed with the id of its last event", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-resumes"},
			Judge: func(c *check.Case) {
				resumes(c, scriptCutStream, func(v *view, broken *exchange, id string) {
					got := resumed(v, broken)
					switch {
					case got == nil:
						c.Broken(broken.at(), "a GET with Last-Event-ID "+strconv.Quote(id), "none")
					default:
						want(c, got.at(), got.Header.Get("last-event-id") == id, "Last-Event-ID "+strconv.Quote(id), headerShown(got.Header, "last-event-id"))
					}
				})
			},
		},
		{
			ID: "client-polls", Title: "a stream that the server closed before the reply is taken up again", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-polls"},
			Judge: func(c *check.Case) {
				resumes(c, scriptPolling, func(v *view, broken *exchange, id string) {
					want(c, broken.at(), resumed(v, broken) != nil, "a GET with Last-Event-ID "+strconv.Quote(id), "none")
				})
			},
		},
		{
			ID: "client-retry-time", Title: "the client waits as long as the server says before it takes a stream up again", Layer: check.Bytes,
			Requirements: []string{"legacy/http-client-honours-retry"},
			Judge: func(c *check.Case) {
				resumes(c, scriptPolling, func(v *view, broken *exchange, _ string) {
					ms := retryOf(broken)
					got := resumed(v, broken)
					if got == nil || ms == 0 {
						return
					}
					pause := got.began - v.trace.Recording.Events[broken.Last].At
					want(c, got.at(), pause >= ms-ms/20-10*time.Millisecond, "a pause of "+ms.String(), pause.Round(time.Millisecond).String())
				})
			},
		},
		{
			ID: "client-session-sent", Title: "the session id comes with every later request", Layer: check.Bytes,
			Requirements: []string{"legacy/http-session-client-sends"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					// A client may have several sessions, such as one to try the
					// server by; and a GET before any message may have been sent
					// beside the initialize.
					issued, last, from, knows := map[string]bool{}, "", 0, false
					for _, x := range v.calls {
						if !x.ours() {
							continue
						}
						if x.opens() {
							if got := x.ResponseHeader.Get("mcp-session-id"); got == "" || x.Status != 200 {
								issued[""] = issued[""] || x.Status == 200
							} else if last, issued[got] = got, true; from == 0 {
								from = firstOf(v, x)
							}
							continue
						}
						if last == "" || x.First < from || x.Method == "OPTIONS" || x.Method == "HEAD" || x.Method == "GET" && !knows {
							continue
						}
						knows = true
						want(c, x.at(), issued[x.Header.Get("mcp-session-id")], "Mcp-Session-Id "+strconv.Quote(last), headerShown(x.Header, "mcp-session-id"))
						if x.Status == 404 && x.Header.Get("mcp-session-id") == last {
							last = "" // it has ended, and what comes of that is judged by itself
						}
					}
				}
			},
		},
		{
			ID: "client-session-restarts", Title: "a session that has ended is begun anew without its id", Layer: check.Bytes,
			Requirements: []string{"legacy/http-session-client-restarts"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, scriptSessionGone) {
					var gone *exchange
					for _, x := range v.calls {
						switch {
						case gone == nil && x.Status == 404 && x.Header.Get("mcp-session-id") != "" && x.Method == "POST":
							gone = x
						case gone != nil && x.opens():
							want(c, x.at(), x.Header.Get("mcp-session-id") == "", "initialize without a session id", headerShown(x.Header, "mcp-session-id"))
							gone = nil
						case gone != nil && x.Method == "POST" && x.message != nil && x.message.Kind == check.KindRequest:
							c.Broken(x.at(), "another initialize, as the session has ended", x.message.Method)
							return
						}
					}
					if gone != nil {
						c.NotObserved("the client left when its session had ended")
					}
				}
			},
		},
		{
			ID: "client-session-deleted", Title: "a client that is done ends its session", Layer: check.Bytes,
			Requirements: []string{"legacy/http-session-client-deletes"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, Good) {
					id, deleted := "", false
					var open *exchange
					for _, x := range v.calls {
						if x.opens() && x.ResponseHeader.Get("mcp-session-id") != "" {
							id, open = x.ResponseHeader.Get("mcp-session-id"), x
						}
						deleted = deleted || x.Method == "DELETE" && x.Header.Get("mcp-session-id") == id && id != ""
					}
					switch {
					case open == nil:
					case deleted:
						c.Saw()
					case v.why == OverExit:
						c.Broken(open.at(), "a DELETE with the session id", "none")
					}
				}
			},
		},
		{
			ID: "client-version-header", Title: "every request after initialize names the version", Layer: check.Bytes,
			Requirements: []string{"legacy/http-version-header-sent"},
			Judge: func(c *check.Case) {
				afterOpen(c, func(_ string, x *exchange) {
					want(c, x.at(), len(x.Header["mcp-protocol-version"]) == 1, "the header MCP-Protocol-Version, once", headerShown(x.Header, "mcp-protocol-version"))
				})
			},
		},
		{
			ID: "client-version-header-value", Title: "the version that is named is the agreed one", Layer: check.Bytes,
			Requirements: []string{"legacy/http-version-header-value"},
			Judge: func(c *check.Case) {
				afterOpen(c, func(agreed string, x *exchange) {
					if got := x.Header.Get("mcp-protocol-version"); got != "" {
						want(c, x.at(), got == agreed, "MCP-Protocol-Version "+agreed, got)
					}
				})
			},
		},
		{
			ID: "client-sse-endpoint", Title: "messages go to the address that the server named", Layer: check.Bytes,
			Requirements: []string{"legacy/sse-client-posts-to-endpoint", "legacy/sse-backcompat-client-switch"},
			Judge: func(c *check.Case) {
				if looksFirst(c) {
					c.NotObserved("the client does not speak the old transport")
					return
				}
				for _, v := range views(c) {
					named, stream := "", (*exchange)(nil)
					posted, refused := false, v.trace.Recording.Get("transport") == "sse"
					for _, x := range v.whole {
						// A look at the server before the POST that it refuses
						// binds nobody, nor does a stream that was left.
						refused = refused || x.opens() && x.Status >= 400
						for _, m := range x.Messages {
							if m.Event == "endpoint" && refused {
								named, stream, posted = resolved(x, strings.TrimSpace(string(m.Data))), x, false
							}
						}
						if x.Method != "POST" || x.message == nil || stream == nil || x.First < stream.First || notMCP(x.path) {
							continue
						}
						posted = true
						want(c, x.at(), x.Target == named, "a POST to "+named, x.Target)
					}
					if stream != nil && !posted && stream == v.whole[len(v.whole)-1] && (v.why == OverExit || v.why == OverIdle) {
						c.Broken(stream.at(), "initialize at "+named, "nothing")
					}
				}
			},
		},
		{
			ID: "client-sse-probe", Title: "a server that refuses the POST is tried by the old transport", Layer: check.Bytes,
			Requirements: []string{"legacy/sse-backcompat-client-probe-4xx", "legacy/sse-backcompat-client-probe"},
			Judge: func(c *check.Case) {
				// Only for a client that does so at all: nobody has to speak to
				// old servers.
				falls := map[string]*exchange{}
				some := false
				for _, v := range views(c, scriptOldServer) {
					for i, x := range v.whole {
						if !x.opens() || x.Status < 400 {
							continue
						}
						fell := slices.ContainsFunc(v.whole[i:], func(g *exchange) bool {
							return g.Method == "GET" && strings.Contains(g.Header.Get("accept"), "text/event-stream")
						})
						some = some || fell
						if !fell {
							falls[v.trace.Profile] = x
						}
						break
					}
				}
				switch {
				case !some || looksFirst(c):
					c.NotObserved("the client does not speak the old transport")
				case len(falls) == 0:
					c.Saw()
				default:
					for _, x := range falls {
						c.Broken(x.at(), "a GET for a stream after status "+strconv.Itoa(x.Status)+", as after others", "none")
					}
				}
			},
		},
		{
			ID: "client-old-transport", Title: "the deprecated transport is not what the client tries first", Layer: check.Bytes,
			Requirements: []string{"modern/http-sse-transport-deprecated"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, Good) {
					for _, x := range v.whole {
						if x.own() && x.Method != "" && !notMCP(x.path) {
							want(c, x.at(), x.Method != "GET", "a POST as the first request", "GET "+x.path)
							break
						}
					}
				}
			},
		},
		{
			ID: "client-no-session", Title: "a stateless server is asked for no stream and no session", Layer: check.Bytes,
			Requirements: []string{"modern/http-client-no-legacy-session"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					switch {
					case len(x.view.talks) == 0 || notMCP(x.path):
					case x.Method == "GET" || x.Method == "DELETE":
						c.Broken(x.at(), "POST requests only", x.Method)
					case x.Header["mcp-session-id"] != nil:
						c.Broken(x.at(), "no Mcp-Session-Id", headerShown(x.Header, "mcp-session-id"))
					case x.Header["last-event-id"] != nil:
						c.Broken(x.at(), "no Last-Event-ID", headerShown(x.Header, "last-event-id"))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-reissues", Title: "a request whose stream broke is repeated with a new id", Layer: check.Bytes,
			Requirements: []string{"modern/http-client-reissues-with-new-id"},
			Judge: func(c *check.Case) {
				for _, v := range views(c, scriptBrokenStream) {
					for _, k := range v.talks {
						for _, f := range k.requests("") {
							if k.answers[f] != nil {
								continue
							}
							all := k.requests(f.Method)
							from := before(all, f.Index+1)
							for _, g := range all[from:min(from+near, len(all))] {
								if sameButMeta(f.Params, g.Params) {
									want(c, g, !wire.Equal(f.ID, g.ID), "an id other than "+show(f.ID), "the same")
								}
							}
						}
					}
				}
			},
		},
		{
			ID: "client-cancel-notification", Title: "over HTTP a request is cancelled by closing it", Layer: check.Bytes,
			Requirements: []string{"modern/cancel-http-no-notification"},
			Judge: func(c *check.Case) {
				eachCall(c, func(x *exchange) {
					if x.message != nil {
						want(c, x.at(), x.message.Method != cancelled, "no notifications/cancelled", "one")
					}
				})
			},
		},
	}
}

// resolved is the target of an address that a stream named, which may be any
// reference.
func resolved(stream *exchange, reference string) string {
	at, err := url.Parse(stream.Target)
	if err != nil {
		return reference
	}
	to, err := at.Parse(reference)
	if err != nil {
		return reference
	}
	return to.RequestURI()
}

// accepts judges the Accept header of a request.
func accepts(c *check.Case, x *exchange, types ...string) {
	all := strings.ToLower(strings.Join(x.Header["accept"], ","))
	var missing []string
	for _, t := range types {
		if !strings.Contains(all, t) {
			missing = append(missing, t)
		}
	}
	switch {
	case len(missing) == 0:
		c.Saw()
	case strings.Contains(all, "*/*"):
		c.Tolerated(x.at(), strings.Join(types, " and ")+" in Accept", headerShown(x.Header, "accept"))
	default:
		c.Broken(x.at(), strings.Join(types, " and ")+" in Accept", headerShown(x.Header, "accept"))
	}
}

func bodyShown(x *exchange) string {
	const limit = 120
	if s := string(x.Body); len(s) > limit {
		return s[:limit] + "…"
	}
	return string(x.Body)
}

// opens reports whether an exchange carries an initialize.
func (x *exchange) opens() bool {
	return x.message != nil && x.message.Method == initialize
}

// looksFirst reports whether the client asks for streams before it knows how
// its initialize was answered, and goes to the address of no old server: then a
// stream that it asks for after a refusal says nothing about the old transport.
func looksFirst(c *check.Case) bool {
	early := false
	for _, t := range c.Traces() {
		v := viewOf(t, c.Modern())
		answered := len(v.trace.Recording.Events)
		for _, x := range v.whole {
			if x.opens() && x.Target != "" {
				answered = min(answered, firstOf(v, x))
			}
		}
		for _, x := range v.whole {
			if x.message != nil && x.toOld() || v.trace.Recording.Get("transport") == "sse" {
				return false
			}
			early = early || x.Method == "GET" && x.own() && !notMCP(x.path) && x.First < answered
		}
	}
	return early
}

// firstOf is the event at which the response of an exchange came, after which
// the client can know what it says.
func firstOf(v *view, x *exchange) int {
	for i := x.First; i <= x.Last; i++ {
		if e := &v.trace.Recording.Events[i]; e.Exchange == x.Number && e.Dir == transcript.ToClient && e.Kind == transcript.KindMessage {
			return i
		}
	}
	return x.Last
}

// afterOpen calls fn for every request after an answer to initialize, with the
// version that was agreed on. A GET before any message may have been sent
// beside the initialize, when the client could not know the answer.
func afterOpen(c *check.Case, fn func(agreed string, x *exchange)) {
	for _, v := range views(c) {
		agreed, from, knows := "", 0, false
		for _, x := range v.calls {
			if !x.ours() {
				continue
			}
			if x.opens() {
				agreed = ""
				if a := v.answers()[x.message]; a.OK() {
					agreed, from, knows = str(a.Result.Get("protocolVersion")), a.Index, false
				}
				continue
			}
			if agreed == c.Revision && x.First > from && (knows || x.Method != "GET") {
				knows = true
				fn(agreed, x)
			}
		}
	}
}

// resumes calls fn for the streams of a script that ended without a reply
// though they had an event with an id.
func resumes(c *check.Case, script string, fn func(v *view, broken *exchange, id string)) {
	for _, v := range views(c, script) {
		for _, x := range v.calls {
			if x.Method != "POST" || !x.Stream || x.message == nil || x.message.Kind != check.KindRequest {
				continue
			}
			id, replied := "", false
			rec := v.trace.Recording
			for _, i := range v.eventsOf[x.Number] {
				e := &rec.Events[i]
				if name, value, ok := e.Header(); ok && e.Kind == transcript.KindSSE && name == "id" {
					id = value
				}
			}
			for _, m := range x.Messages {
				r, _ := wire.ParseRaw(m.Data)
				replied = replied || r.Get("result") != nil || r.Get("error") != nil
			}
			// A client that has left has no use for it.
			if id == "" || replied || x.Closed {
				continue
			}
			if resumed(v, x) == nil && v.why == OverExit && v.calls[len(v.calls)-1].First <= x.Last {
				c.NotObserved("the client left when its stream had broken")
				continue
			}
			fn(v, x, id)
		}
	}
}

// resumed is the first GET with a Last-Event-ID after a stream had ended.
func resumed(v *view, broken *exchange) *exchange {
	i := sort.Search(len(v.resuming), func(i int) bool { return v.resuming[i].First > broken.Last })
	if i < len(v.resuming) {
		return v.resuming[i]
	}
	return nil
}

// retryOf is the time to wait that a stream named last.
func retryOf(x *exchange) time.Duration {
	text := x.Retry
	for _, m := range x.Messages {
		if text == "" && m.Retry != "" {
			text = m.Retry
		}
	}
	if text == "" {
		for _, i := range x.view.eventsOf[x.Number] {
			e := &x.view.trace.Recording.Events[i]
			if name, value, ok := e.Header(); ok && e.Kind == transcript.KindSSE && name == "retry" {
				text = value
			}
		}
	}
	ms, _ := strconv.Atoi(text)
	return time.Duration(ms) * time.Millisecond
}

// asFar judges that a client does in a script what it does with the good
// server.
func asFar(c *check.Case, script string) {
	did := map[string]bool{}
	for _, k := range talks(c, Good) {
		for _, f := range k.requests("") {
			if k.answers[f].OK() {
				did[f.Method+" "+str(f.Params.Get("name"))] = true
			}
		}
	}
	if len(did) == 0 {
		c.NotObserved("the client does nothing with the good server")
		return
	}
	for _, v := range views(c, script) {
		last := (*check.Frame)(nil)
		missing := map[string]bool{}
		for m := range did {
			missing[m] = true
		}
		for _, k := range v.talks {
			for _, f := range k.requests("") {
				delete(missing, f.Method+" "+str(f.Params.Get("name")))
				last = f
			}
		}
		switch why := v.why; {
		case len(missing) == 0:
			c.Saw()
		case last == nil:
			c.NotObserved("the client sent nothing")
		case why == OverExit || why == OverIdle:
			for _, m := range sorted(missing) {
				c.Broken(last, "a client that goes on to "+strings.TrimSpace(m)+", as it does elsewhere", "it went no further"+lastSeen(v, last))
				break
			}
		default:
			c.NotObserved("the play was over before the client could have come so far")
		}
	}
}

// lastSeen says what a client that stops early had been answered, where that is
// not seen in what a reader of streams makes of it, and how it ended.
func lastSeen(v *view, last *check.Frame) string {
	out := ""
	for _, k := range v.talks {
		if a := k.answers[last]; a != nil && bytes.Contains(a.Text, []byte("\n")) {
			out = " after an answer whose data stands in " + itoa(bytes.Count(a.Text, []byte("\n"))+1) + " lines of the stream, each with data: before it"
		}
	}
	how, ended := v.trace.Died()
	if words := strings.TrimSpace(v.trace.Stderr(1)); ended && words != "" {
		const most = 200
		if len(words) > most {
			words = strings.ToValidUTF8(words[:most], "") + "…"
		}
		out += "; " + how + ", and its last words were: " + strings.TrimPrefix(words, "[stdout] ")
	} else if ended {
		out += "; " + how
	}
	return out
}

func sorted(set map[string]bool) []string {
	var out []string
	for m := range set {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }

func codeText(code int64) string { return strconv.FormatInt(code, 10) }

// notMCP reports whether a path is one of authorization or of a canary, and
// holds no messages.
func notMCP(path string) bool {
	if strings.Contains(path, "/.well-known/") || strings.Contains(path, "/canary/") {
		return true
	}
	for _, end := range []string{"/register", "/token", "/authorize"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}
