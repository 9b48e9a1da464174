package client

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/wire"
)

// onStdio narrows a check to stdio, onHTTP to Streamable HTTP.
var (
	onStdio = []catalogue.Transport{catalogue.Stdio}
	onHTTP  = []catalogue.Transport{catalogue.HTTP}
)

// jsonrpcChecks are about messages whatever they mean.
func jsonrpcChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-message-shape", Title: "every message is a JSON-RPC 2.0 request, notification or response", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-envelope", "modern/jsonrpc-version-member"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					switch method := f.Value.Get("method"); {
					case str(f.Value.Get("jsonrpc")) != "2.0":
						c.Broken(f, `the member jsonrpc with the value "2.0"`, show(f.Value.Get("jsonrpc")))
					case f.Kind == check.KindOther && f.ID == nil:
						c.Broken(f, "a method, a result or an error", "none of them")
					case method != nil && method.Kind() != wire.KindString:
						c.Broken(f, "a string as method", show(method))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-response-one-of", Title: "a response has either a result or an error", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-one-of", "legacy/jsonrpc-response-not-both"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					switch {
					case f.Kind == check.KindResponse && f.Result != nil && f.Error != nil:
						c.Broken(f, "a result or an error", "both")
					case f.Kind == check.KindOther && f.ID != nil && f.Value.Get("method") == nil:
						c.Broken(f, "a result or an error", "neither")
					case f.Kind == check.KindResponse:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "client-result-object", Title: "a result is an object", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-result-object"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					if f.OK() {
						want(c, f, f.Result.Kind() == wire.KindObject, "an object as result", show(f.Result))
					}
				})
			},
		},
		{
			ID: "client-error-members", Title: "an error has a code and a message", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-code-and-message"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					switch {
					case !f.Failed():
					case f.Error.Get("code").Kind() != wire.KindNumber:
						c.Broken(f, "a number as error.code", show(f.Error.Get("code")))
					default:
						want(c, f, f.Error.Get("message").Kind() == wire.KindString, "a string as error.message", show(f.Error.Get("message")))
					}
				})
			},
		},
		{
			ID: "client-error-code-integer", Title: "an error code is an integer", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-code-integer", "modern/jsonrpc-error-code-integer"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					if f.Failed() && f.Error.Get("code").Kind() == wire.KindNumber {
						_, ok := f.Code()
						want(c, f, ok, "an integer as error.code", show(f.Error.Get("code")))
					}
				})
			},
		},
		{
			ID: "client-error-codes-own", Title: "error codes of the client are defined ones or lie outside the reserved range", Layer: check.Protocol,
			Requirements: []string{"modern/error-custom-outside-reserved", "modern/error-mcp-range-undefined", "modern/error-legacy-range-unused"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					code, ok := f.Code()
					if !ok || !f.Failed() {
						return
					}
					switch {
					case code < -32768 || code > -32000, code >= -32603 && code <= -32600, code == -32700, code >= -32022 && code <= -32020:
						c.Saw()
					default:
						c.Broken(f, "a code that is defined, or one outside of -32768..-32000", show(f.Error.Get("code")))
					}
				})
			},
		},
		{
			ID: "client-request-id", Title: "the id of a request is a string or an integer", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-id-type", "modern/jsonrpc-request-id-type"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					_, integer := f.ID.Int()
					if f.ID.Kind() != wire.KindNull {
						want(c, f, integer || f.ID.Kind() == wire.KindString, "a string or an integer as id", show(f.ID))
					}
				})
				each(c, func(_ *talk, f *check.Frame) {
					// What only makes sense with an answer, and asks for none.
					if f.Kind == check.KindNotification && !strings.HasPrefix(f.Method, "notifications/") && isRequest(c.Revision, f.Method) {
						c.Broken(f, "an id on the request "+f.Method, "none")
					}
				})
			},
		},
		{
			ID: "client-request-id-null", Title: "the id of a request is not null", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-id-not-null", "modern/jsonrpc-request-id-not-null"},
			Judge: func(c *check.Case) {
				eachRequest(c, func(_ *talk, f *check.Frame) {
					want(c, f, f.ID.Kind() != wire.KindNull, "a string or an integer as id", "null")
				})
			},
		},
		{
			ID: "client-request-id-unique", Title: "an id is not used for a second request", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-id-unique", "modern/jsonrpc-request-id-unique"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					uniqueIDs(c, k)
				}
			},
		},
		{
			ID: "client-params-object", Title: "params are an object", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-params-object"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					if f.Params != nil && (f.Kind == check.KindRequest || f.Kind == check.KindNotification) {
						want(c, f, f.Params.Kind() == wire.KindObject, "an object as params", show(f.Params))
					}
				})
			},
		},
		{
			ID: "client-notification-no-id", Title: "notifications carry no id", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-notification-no-id", "modern/jsonrpc-notification-no-id"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					if strings.HasPrefix(f.Method, "notifications/") {
						want(c, f, f.ID == nil, "no id", "id "+show(f.ID))
					}
				})
			},
		},
		{
			ID: "client-notification-unanswered", Title: "a notification of the server is not answered", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-notification-no-reply", "modern/jsonrpc-notification-no-response"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					told := false
					for _, f := range k.lines {
						switch {
						case f.FromServer && f.Kind == check.KindNotification:
							told = true
						case f.FromServer && f.Kind != check.KindResponse:
							// What is no message, or a request: an answer
							// without an id may be about it.
							told = false
						case !f.FromServer && told && f.Kind == check.KindResponse && (f.ID == nil || f.ID.Kind() == wire.KindNull):
							c.Broken(f, "no answer to a notification", "a response without an id")
							told = false
						case !f.FromServer && told && f.Kind == check.KindRequest:
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "client-never-responds", Title: "the client sends no responses", Layer: check.Protocol,
			Requirements: []string{"modern/jsonrpc-client-never-responds"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					want(c, f, f.Kind != check.KindResponse, "requests and notifications only", "a response")
				})
			},
		},
		{
			ID: "client-notifications-known", Title: "the client sends only notifications that the revision has", Layer: check.Protocol,
			Requirements: []string{"modern/jsonrpc-notification-method-prefix"},
			Judge: func(c *check.Case) {
				each(c, func(_ *talk, f *check.Frame) {
					switch {
					case f.Kind != check.KindNotification, f.Method == "notifications/roots/list_changed": // see client-roots-change-removed
					case f.Method == cancelled || strings.Contains(strings.TrimPrefix(f.Method, "notifications/"), "/") && !coreNotification[f.Method]:
						// An extension has notifications of its own.
						c.Saw()
					default:
						c.Broken(f, "notifications/cancelled, the only notification of clients", show(f.Value.Get("method")))
					}
				})
			},
		},
		{
			ID: "client-answers-belong", Title: "a response repeats the id of the request that it answers", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-response-id-echo"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					asked, loose, unread := map[string]bool{}, map[string]string{}, false
					for _, f := range k.lines {
						switch {
						case f.FromServer:
							if f.ID != nil && f.Kind != check.KindResponse {
								asked[idKey(f.ID)], loose[looseKey(f.ID)] = true, string(f.ID)
							}
							unread = unread || f.Kind != check.KindRequest && f.Kind != check.KindResponse && f.Kind != check.KindNotification
						case f.Kind != check.KindResponse || f.ID == nil || f.ID.Kind() == wire.KindNull:
						case asked[idKey(f.ID)]:
							c.Saw()
						case loose[looseKey(f.ID)] != "":
							c.Broken(f, "id "+loose[looseKey(f.ID)], "id "+show(f.ID))
						case !unread:
							c.Broken(f, "an id that the server used", "id "+show(f.ID))
						}
					}
				}
			},
		},
		{
			ID: "client-error-id", Title: "an error repeats the id of the request", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-error-id-unless-unreadable"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					var unread, asked int // what the server sent that nobody can read, and what it asked
					for _, f := range k.lines {
						switch {
						case f.FromServer && f.Kind == check.KindRequest:
							asked++
						case f.FromServer && f.Kind != check.KindResponse && f.Kind != check.KindNotification:
							unread++
						case f.FromServer || !f.Failed():
						case f.ID != nil && f.ID.Kind() != wire.KindNull:
							c.Saw()
						case unread > 0:
							unread--
						case asked > 0 && k.unanswered():
							c.Broken(f, "the id of the request", "id "+show(f.ID))
						}
					}
				}
			},
		},
		{
			ID: "client-answers-once", Title: "each request of the server is answered, and once", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-request-answered"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					answeredOnce(c, k)
				}
			},
		},
		{
			ID: "client-unknown-method", Title: "a request for a method that does not exist is refused", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-method-not-found"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c) {
					for _, req := range k.asked(noSuchMethod) {
						refused(c, k, req, -32601)
					}
				}
			},
		},
		{
			ID: "client-invalid-params", Title: "a request without what it needs is refused", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-invalid-params"},
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptFaultyAsks) {
					for _, m := range []string{"sampling/createMessage", "elicitation/create"} {
						for _, req := range k.asked(m) {
							if req.Params.Get("message") == nil && req.Params.Get("messages") == nil && k.declares(m) {
								refused(c, k, req, -32602)
							}
						}
					}
				}
			},
		},
		{
			ID: "client-parse-error", Title: "a line that is not JSON does not end the connection", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-parse-error"}, Soft: true, Transports: onStdio,
			Judge: func(c *check.Case) { survives(c, scriptBadJSON, stepAfter) },
		},
		{
			ID: "client-invalid-request", Title: "an object that is no request does not end the connection", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-invalid-request"}, Soft: true, Transports: onStdio,
			Judge: func(c *check.Case) { survives(c, scriptBadRequest, stepAfter) },
		},
		{
			ID: "client-utf8", Title: "text of the client is UTF-8", Layer: check.Bytes,
			Requirements: []string{"legacy/jsonrpc-utf8", "modern/jsonrpc-utf8"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer && len(f.Text) > 0 && !v.partial(f) && f.Why != "the line is longer than the recorder keeps" {
							want(c, f, utf8.Valid(f.Text), "UTF-8", "bytes that are none")
						}
					}
				}
			},
		},
		{
			ID: "client-no-batches", Title: "the client sends no arrays", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-removed", "modern/jsonrpc-single-object-frames"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if !f.FromServer && f.Value != nil {
							want(c, f, f.Kind != check.KindArray, "one message", "an array")
						}
					}
				}
			},
		},
		{
			ID: "client-batch-initialize", Title: "initialize is not part of an array", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-initialize-excluded"},
			Judge: func(c *check.Case) {
				for _, v := range views(c) {
					for _, f := range v.lines {
						if f.FromServer {
							continue
						}
						for _, p := range members(f) {
							if p.Method == initialize {
								want(c, f, f.Kind != check.KindArray, "initialize on its own", "initialize in an array")
							}
						}
					}
				}
			},
		},
		{
			ID: "client-batch-received", Title: "an array of requests is taken", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-receive"},
			Judge: func(c *check.Case) {
				batches(c, func(k *talk, batch *check.Frame, asked, replies []*check.Frame) {
					switch {
					case len(asked) == 0:
					case len(replies) == len(asked):
						c.Saw()
					case k.unansweredThough(asked, batch):
						c.Broken(batch, "an answer to each request of the array", "none for "+show(asked[0].ID))
					}
				})
			},
		},
		{
			ID: "client-batch-answered-together", Title: "an array of requests is answered by an array", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-reply-grouping"},
			Judge: func(c *check.Case) {
				batches(c, func(k *talk, batch *check.Frame, asked, replies []*check.Frame) {
					if len(asked) == 0 || len(replies) != len(asked) {
						return
					}
					together := true
					for _, r := range replies {
						together = together && r.Index == replies[0].Index && r.Text[0] != '{'
					}
					want(c, replies[0], together, "one array with an answer to each request", "answers on their own")
				})
			},
		},
		{
			ID: "client-batch-empty", Title: "an empty array is refused by one error", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-empty"}, Soft: true,
			Judge: func(c *check.Case) {
				afterArrays(c, func(batch *check.Frame) bool { return len(members(batch)) == 0 }, func(_ *check.Frame, next []*check.Frame, alive bool) {
					for _, f := range next {
						if f.Kind == check.KindArray && len(members(f)) == 0 {
							c.Broken(f, "one error", "an empty array")
							return
						}
						if f.Failed() {
							c.Saw()
						}
					}
				})
			},
		},
		{
			ID: "client-batch-of-notifications-silent", Title: "an array of notifications is not answered", Layer: check.JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-notifications-silent"},
			Judge: func(c *check.Case) {
				only := func(batch *check.Frame) bool {
					ms := members(batch)
					for _, m := range ms {
						if m.Kind != check.KindNotification {
							return false
						}
					}
					return len(ms) > 0
				}
				afterArrays(c, only, func(batch *check.Frame, next []*check.Frame, alive bool) {
					for _, f := range next {
						// An array of answers to an earlier one may come late.
						ms := members(f)
						none := f.Kind == check.KindArray && len(ms) == 0
						for _, m := range ms {
							none = none || m.Kind == check.KindResponse && (m.ID == nil || m.ID.Kind() == wire.KindNull)
						}
						if none {
							c.Broken(f, "no answer", "an answer to an array of notifications")
							return
						}
					}
					if alive {
						c.Saw()
					}
				})
			},
		},
	}
}

// noSuchMethod is what our server asks for to see a refusal.
const noSuchMethod = "goldwire/no_such_method"

// coreNotification are the notifications of the older revisions, and those of
// servers, with a slash in their names: they are none of an extension.
var coreNotification = map[string]bool{
	"notifications/resources/updated": true, "notifications/resources/list_changed": true, "notifications/tools/list_changed": true,
	"notifications/prompts/list_changed": true, "notifications/roots/list_changed": true, "notifications/elicitation/complete": true,
	"notifications/tasks/status": true, "notifications/subscriptions/acknowledged": true,
}

// isRequest reports whether a client may send a request by that method.
func isRequest(rev, method string) bool {
	p, err := protocol(rev)
	return err == nil && p.Knows(method) && !strings.HasPrefix(method, "notifications/")
}

// uniqueIDs judges the ids of a conversation: the stateful revisions allow no
// id twice, the stateless ones none while it is in use.
func uniqueIDs(c *check.Case, k *talk) {
	rules, _ := revision.For(c.Revision)
	used := map[string]*check.Frame{}
	for _, f := range k.lines {
		if f.FromServer || f.Kind != check.KindRequest || strings.HasPrefix(f.Method, "notifications/") || f.ID.Kind() == wire.KindNull {
			continue
		}
		before := used[idKey(f.ID)]
		used[idKey(f.ID)] = f
		switch {
		case before == nil, k.refusedByHTTP(before): // it never was a request to the server
			c.Saw()
		case rules != nil && !c.Modern():
			c.Broken(f, "an id that was not used before", show(f.ID))
		default:
			// One that was given up, or whose stream broke, is in use no more.
			a := k.answers[before]
			if over := k.over(before); a == nil && over < 0 || a != nil && a.Index > f.Index && (over < 0 || over > f.Index) {
				c.Broken(f, "an id that no running request has", show(f.ID))
			} else {
				c.Saw()
			}
		}
	}
}

// answeredOnce judges that the client answered what our server asked, and not
// twice.
func answeredOnce(c *check.Case, k *talk) {
	asked := map[string]int{}
	var lastAnswered *check.Frame
	for _, f := range k.lines {
		if f.FromServer && f.Kind == check.KindRequest {
			asked[idKey(f.ID)]++
			if k.replies[f] != nil && simple(f.Method) {
				lastAnswered = k.replies[f]
			}
		}
	}
	for _, f := range k.lines {
		switch {
		case !f.FromServer && f.Kind == check.KindResponse && f.ID != nil && asked[idKey(f.ID)] > 0:
			if asked[idKey(f.ID)]--; asked[idKey(f.ID)] == 0 {
				asked[idKey(f.ID)] = -1
			}
		case !f.FromServer && f.Kind == check.KindResponse && f.ID != nil && asked[idKey(f.ID)] < 0:
			c.Broken(f, "one answer to request "+show(f.ID), "another one")
		case f.FromServer && f.Kind == check.KindRequest && k.replies[f] != nil:
			c.Saw()
		case f.FromServer && f.Kind == check.KindRequest && simple(f.Method) && proper(f) && lastAnswered != nil && lastAnswered.At-f.At >= enough && k.cancelledBy(f) == nil && !(f.Text[0] == '[' && c.Revision != march):
			c.Broken(f, "an answer to request "+show(f.ID), "none, although a later one was answered")
		}
	}
}

// enough is the time in which a client that lives answers what it has to ask
// nobody about, whatever it does beside.
const enough = 100 * time.Millisecond

// simple are methods that a client answers at once, without asking anybody.
func simple(method string) bool {
	return method == "ping" || method == noSuchMethod || method == "roots/list"
}

// refused judges that a request of the server was answered by an error, and
// tells of another code than that one.
func refused(c *check.Case, k *talk, req *check.Frame, code int64) {
	a := k.replies[req]
	got, _ := a.Code()
	switch {
	case a == nil:
	case a.OK():
		c.Broken(a, "an error with code "+codeText(code), "a result")
	case got == code:
		c.Saw()
	default:
		c.Broken(a, "an error with code "+codeText(code), "error code "+show(a.Error.Get("code")))
	}
}

// survives judges that a client which was alive before a step of a script
// still answers after it.
func survives(c *check.Case, script, step string) {
	for _, k := range talks(c, script) {
		before, after := k.pings(step)
		switch {
		case before == nil || k.replies[before] == nil || after == nil:
			c.NotObserved("the client answered no ping before")
		default:
			want(c, after, k.replies[after] != nil, "a client that goes on working", "it answered nothing any more")
		}
	}
}

// pings are the last ping of the server before a step, and the first in it.
func (k *talk) pings(step string) (before, after *check.Frame) {
	from := -1
	for _, s := range k.view.trace.Steps() {
		if s.Name == step {
			if got := s.Got(); len(got) > 0 {
				from = got[0].Index
			}
		}
	}
	for _, f := range k.asked("ping") {
		switch {
		case from < 0 || f.Index < from:
			before = f
		case after == nil:
			after = f
		}
	}
	return before, after
}

// batches calls fn for every array with requests that the server sent, with
// these requests and their answers.
func batches(c *check.Case, fn func(k *talk, batch *check.Frame, asked, replies []*check.Frame)) {
	for _, k := range talks(c) {
		last := -1
		for _, f := range k.sides[1] {
			batch := k.view.arrays[f.Index]
			if batch == nil || f.Index == last {
				continue
			}
			last = f.Index
			asked := k.index().members[f.Index]
			var replies []*check.Frame
			for _, f := range asked {
				if r := k.replies[f]; r != nil {
					replies = append(replies, r)
				}
			}
			fn(k, batch, asked, replies)
		}
	}
}

// afterArrays calls fn for every array of the server of some kind, with the
// lines of the client up to its next answer to a ping or to another such array,
// and whether that answer came.
func afterArrays(c *check.Case, is func(batch *check.Frame) bool, fn func(batch *check.Frame, next []*check.Frame, alive bool)) {
	looked := map[*view]bool{}
	for _, k := range talks(c) {
		if looked[k.view] {
			continue
		}
		looked[k.view] = true
		var batch *check.Frame
		var next []*check.Frame
		ping := ""
		over := func(alive bool) {
			if batch != nil {
				fn(batch, next, alive)
			}
			batch, next, ping = nil, nil, ""
		}
		for _, f := range k.view.lines {
			switch {
			case f.FromServer && f.Kind == check.KindArray && is(f):
				over(false)
				batch = f
			case batch == nil:
			case f.FromServer:
				if f.Method == "ping" && ping == "" {
					ping = idKey(f.ID)
				}
			case ping != "" && f.Kind == check.KindResponse && f.ID != nil && idKey(f.ID) == ping:
				over(true)
			default:
				next = append(next, f)
			}
		}
		over(false)
	}
}
