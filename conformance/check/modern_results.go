package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What every result of a stateless revision says of itself, and the codes of
// errors.

// cacheable are the methods whose complete results say how long they hold.
var cacheable = []struct{ method, capability, requirement string }{
	{methodDiscover, "", "cache-hints-discover"},
	{"tools/list", "tools", "cache-hints-tools-list"},
	{"prompts/list", "prompts", "cache-hints-prompts-list"},
	{"resources/list", "resources", "cache-hints-resources-list"},
	{"resources/templates/list", "resources", "cache-hints-resources-templates-list"},
	{"resources/read", "resources", "cache-hints-resources-read"},
}

// finals are members that only a finished result has, by method.
var finals = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	"resources/read": "contents", "prompts/get": "messages", "tools/call": "content", "completion/complete": "completion", methodDiscover: "supportedVersions",
}

func modernResultChecks() []Check {
	out := []Check{
		{
			ID: "result-type", Title: "every result says of which type it is", Layer: Protocol,
			Requirements: []string{"modern/result-type-present", "modern/jsonrpc-result-member"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					v := r.answer.Result.Get("resultType")
					c.want(r.answer, v.Kind() == wire.KindString, "a string as resultType", text(v))
				}
			},
		},
		{
			ID: "result-type-known", Title: "the type of a result is one that the client can know", Layer: Protocol,
			Requirements: []string{"modern/result-type-known-set", "modern/ext-fallback"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					if v, ok := r.answer.Result.Get("resultType").Str(); ok {
						c.want(r.answer, v == "complete" || v == "input_required", "complete or input_required, as the client declared no extension", quote(v))
					}
				}
			},
		},
		{
			ID: "result-type-fits", Title: "a finished result says complete, one that asks for input does not", Layer: Protocol,
			Requirements: []string{"modern/result-type-complete-on-final"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					kind, ok := r.answer.Result.Get("resultType").Str()
					if !ok {
						continue
					}
					asks := r.answer.Result.Get("inputRequests") != nil || r.answer.Result.Get("requestState") != nil
					final := finals[r.req.Method] != "" && r.answer.Result.Get(finals[r.req.Method]) != nil
					switch {
					case final && !asks && kind == "input_required":
						c.Broken(r.answer, "complete, since the result has "+finals[r.req.Method], kind)
					case asks && !final && kind == "complete":
						c.Broken(r.answer, "input_required, since the result asks for input", kind)
					case final || asks:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "cache-ttl", Title: "the time a result holds is an integer of zero or more", Layer: Protocol,
			Requirements: []string{"modern/cache-ttl-non-negative"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					if v := r.answer.Result.Get("ttlMs"); v != nil {
						n, ok := v.Int()
						c.want(r.answer, ok && n >= 0, "an integer of zero or more as ttlMs", text(v))
					}
				}
			},
		},
		{
			ID: "cache-scope", Title: "a result is cached for everybody or for one client", Layer: Protocol,
			Requirements: []string{"modern/cache-scope-values"},
			Judge: func(c *Case) {
				for _, r := range c.results() {
					if v := r.answer.Result.Get("cacheScope"); v != nil {
						s := plain(v)
						c.want(r.answer, s == "public" || s == "private", "public or private as cacheScope", text(v))
					}
				}
			},
		},
		{
			ID: "cache-scope-of-pages", Title: "all pages of a list have the same cacheScope", Layer: Protocol,
			Requirements: []string{"modern/cache-scope-same-on-pages"},
			Judge: func(c *Case) {
				c.walks(func(_, _, _ string, pages []*Frame) {
					for _, p := range pages[1:] {
						one, two := pages[0].Result.Get("cacheScope"), p.Result.Get("cacheScope")
						if one != nil && two != nil {
							c.want(p, wire.Equal(one, two), "the cacheScope of the first page, "+text(one), text(two))
						}
					}
				})
				c.NotObserved("no list has more than one page")
			},
		},
		{
			ID: "error-codes-retired", Title: "codes of earlier revisions are no longer used", Layer: Protocol,
			Requirements: []string{"modern/error-32002-not-emitted", "modern/error-32042-not-emitted"},
			Judge: func(c *Case) {
				c.codes(func(_, a *Frame, code int64) {
					c.want(a, code != -32002 && code != -32042, "none of the retired codes -32002 and -32042", strconv.FormatInt(code, 10))
				})
			},
		},
		{
			ID: "error-codes-defined", Title: "codes that the protocol keeps for itself are used as it defines them", Layer: Protocol,
			Requirements: []string{"modern/error-mcp-range-undefined", "modern/error-mcp-codes-meaning"},
			Judge: func(c *Case) {
				known := supported(c.Traces())
				c.codes(func(req, a *Frame, code int64) {
					version, stated := req.meta(metaVersion).Str()
					switch {
					case code == -32020 && c.Transport != catalogue.Stdio && (!req.Trace.repeated(req) || req.Method == "tools/call"):
						// What else a tool wants to be repeated is judged elsewhere.
					case code == -32020:
						c.Broken(a, "no code for differing headers, as there are none here", "-32020")
					case code == -32021 && req.caps().Kind() != wire.KindObject:
						c.Broken(a, "-32602 for incomplete metadata", "-32021, which is for a capability that the client lacks")
					case code == -32022 && stated && slices.Contains(known, version):
						c.Broken(a, "-32022 for versions that the server does not list", "-32022 for "+version)
					case code < -32022 && code >= -32099:
						c.Broken(a, "a code that is defined", strconv.FormatInt(code, 10))
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "error-codes-own", Title: "codes of the server's own lie outside the reserved range", Layer: Protocol,
			Requirements: []string{"modern/error-legacy-range-unused", "modern/error-custom-outside-reserved"},
			Judge: func(c *Case) {
				c.codes(func(_, a *Frame, code int64) {
					standard := code == -32700 || code <= -32600 && code >= -32603
					mcp := code <= -32020 && code >= -32099 || code == -32002 // judged elsewhere
					c.want(a, standard || mcp || code < -32768 || code > -32000, "a code outside -32768 to -32000", strconv.FormatInt(code, 10))
				})
			},
		},
		{
			ID: "server-requests-nothing", Title: "the server sends no requests", Layer: Protocol,
			Requirements: []string{"modern/jsonrpc-server-never-requests", "modern/stdio-server-no-requests"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					clean := true
					for f := range t.all() {
						if f.FromServer && f.Kind == KindRequest && !isNotification(f.Method) {
							c.Broken(f, "responses and notifications only", "the request "+f.Method)
							clean = false
						}
					}
					if clean && len(t.frames) > 0 && t.fenced(t.frames[0].Index) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "notifications-known", Title: "notifications are those that the revision has", Layer: Protocol,
			Requirements: []string{"modern/jsonrpc-notification-method-prefix"},
			Judge: func(c *Case) {
				ext := c.Facts.Capabilities.Get("extensions") != nil || c.Facts.Capabilities.Get("experimental") != nil
				c.each(func(f *Frame) {
					switch {
					case f.Kind != KindNotification:
					case c.protocol().Knows(f.Method):
						c.Saw()
					case ext:
						// It may belong to an extension. The client declared
						// none, but who knows what it was for.
						c.Tolerated(f, "a notification of the revision, as the client declared no extension", f.Method)
					default:
						c.Broken(f, "a notification of the revision", f.Method)
					}
				})
			},
		},
		{
			ID: "notification-shape", Title: "notifications fit their schema", Layer: Protocol,
			Requirements: []string{"modern/jsonrpc-notification-method-prefix"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					// The acknowledgement of a subscription is judged elsewhere.
					if f.Kind == KindNotification && f.Method != methodAck && c.protocol().Knows(f.Method) {
						c.FitsMessage(f)
					}
				})
			},
		},
		{
			ID: "output-unasked", Title: "the server speaks only when it was asked something", Layer: Protocol,
			Requirements: []string{"modern/stdio-no-unsolicited-output"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					clean, asked := true, false
					t.follow(func(f *Frame, now *flight) {
						asked = asked || len(now.open)+len(now.past) > 0
						switch {
						case len(now.open) == 0 && (f.Method == methodProgress || f.Method == methodMessage), !asked && f.Kind == KindNotification:
							c.Broken(f, "nothing while no request is open", f.Method)
							clean = false
						}
					})
					if clean && len(t.frames) > 0 && t.fenced(t.frames[0].Index) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "last-line-whole", Title: "every message ends with a newline", Layer: Bytes,
			Requirements: []string{"modern/stdio-newline-terminated"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					var late []*Frame
					for f := range t.all() {
						switch e := &t.Recording.Events[f.Index]; {
						case !f.FromServer || t.cutByUs(f):
						case e.Dir == transcript.ToClient && e.Partial:
							c.Broken(f, "a newline at the end of the line", "the end of the output")
						case e.Dir == transcript.ToClient && t.unended(f):
							late = append(late, f)
						default:
							c.Saw()
						}
					}
					if len(late) < 2 {
						continue // a machine may stand still for a while
					}
					for _, f := range late {
						c.Broken(f, "a newline at the end of the line", "none for a second or longer, and not here alone: until it came no client could read the line")
					}
				}
			},
		},
	}
	for _, m := range cacheable {
		k := Check{
			ID: m.requirement, Title: "the result of " + m.method + " says how long and for whom it holds", Layer: Protocol,
			Requirements: []string{"modern/" + m.requirement},
			Judge: func(c *Case) {
				for _, r := range c.results(m.method) {
					if plain(r.answer.Result.Get("resultType")) == "input_required" {
						continue
					}
					var missing []string
					for _, name := range []string{"ttlMs", "cacheScope"} {
						if v := r.answer.Result.Get(name); v == nil || v.Kind() == wire.KindNull {
							missing = append(missing, name)
						}
					}
					c.want(r.answer, len(missing) == 0, "ttlMs and cacheScope", "no "+strings.Join(missing, " and no "))
				}
			},
		}
		if m.capability != "" {
			k.Needs = []string{m.capability}
		}
		out = append(out, k)
	}
	return out
}

// unended reports whether the newline of a line of the server came late.
func (t *Trace) unended(f *Frame) bool {
	at := t.said[noteUnended]
	n, _ := slices.BinarySearch(at, f.Index)
	return n > 0 && !slices.ContainsFunc(between(t.frames, at[n-1], f.Index), func(f *Frame) bool { return f.FromServer })
}

// codes visits the errors that answer requests which say the revision: what
// others get may be by the rules of another era.
func (c *Case) codes(visit func(req, a *Frame, code int64)) {
	c.each(func(a *Frame) {
		code, ok := a.Code()
		if !a.Failed() || !ok {
			return
		}
		if req := a.Trace.Request(a); req != nil && req.meta(metaVersion) != nil {
			visit(req, a, code)
		}
	})
}
