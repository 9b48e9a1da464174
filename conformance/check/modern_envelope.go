package check

import (
	"bytes"
	"slices"
)

// Lines that are no proper messages, and the rules of the envelope.

// malformed are the lines that every server can be sent, by step name. %ID is
// replaced by an id of the session, %META by the required metadata.
var malformed = []struct{ step, line string }{
	{"malformed/json", `{"jsonrpc":"2.0","id":%ID,"method":"server/discover","params":{"_meta":{`},
	{"malformed/utf8", `{"jsonrpc":"2.0","id":%ID,"method":"server/discover","params":{"_meta":{%META,"com.example/x":"` + "\xff\xfe" + `"}}}`},
	{"malformed/array", `[{"jsonrpc":"2.0","id":%ID,"method":"server/discover","params":{"_meta":{%META}}}]`},
	{"malformed/null-id", `{"jsonrpc":"2.0","id":null,"method":"server/discover","params":{"_meta":{%META}}}`},
	{"malformed/object-id", `{"jsonrpc":"2.0","id":{"n":1},"method":"server/discover","params":{"_meta":{%META}}}`},
	{"malformed/no-version", `{"id":%ID,"method":"server/discover","params":{"_meta":{%META}}}`},
	{"malformed/old-version", `{"jsonrpc":"1.0","id":%ID,"method":"server/discover","params":{"_meta":{%META}}}`},
	{"malformed/method-number", `{"jsonrpc":"2.0","id":%ID,"method":7,"params":{"_meta":{%META}}}`},
	{"malformed/no-method", `{"jsonrpc":"2.0","id":%ID,"params":{"_meta":{%META}}}`},
	{"malformed/params-array", `{"jsonrpc":"2.0","id":%ID,"method":"server/discover","params":[{"_meta":{%META}}]}`},
	{"malformed/scalar", `"server/discover"`},
}

func modernEnvelopeProbes() []Probe {
	var out []Probe
	for _, m := range malformed {
		out = append(out, Probe{
			Name: m.step, Since: firstModern, Profile: Bare, Rough: true,
			Run: func(d *Driver) {
				d.Step(m.step)
				line := bytes.ReplaceAll([]byte(m.line), []byte("%ID"), []byte(d.NextID()))
				d.poke(string(bytes.ReplaceAll(line, []byte("%META"), []byte(d.Meta()))))
			},
		})
	}
	return append(out, Probe{
		// Text that a careless writer would put on several lines, or not in UTF-8.
		Name: "awkward text", Since: firstModern, Profile: Main,
		Run: func(d *Driver) {
			d.Step("awkward-text")
			d.Await(
				d.Ask("goldwire/\nno_such\r\nmethod", "{}"),
				d.Ask("goldwire/é世🚀\u2028", "{}"),
				d.Ask(methodDiscover, `{"_meta":{"com.example/text":"a\nb\u2028c\u0000é世🚀"}}`),
			)
		},
	})
}

func modernEnvelopeChecks() []Check {
	return []Check{
		{
			ID: "modern-parse-error", Title: "a line that is no JSON is answered with error -32700", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-parse-error"},
			Judge:        func(c *Case) { c.malformed("malformed/json", false, -32700) },
		},
		{
			ID: "modern-invalid-request", Title: "an object that is no request is refused with error -32600", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-invalid-request"},
			Judge: func(c *Case) {
				c.malformed("malformed/no-version", false, -32600)
				c.malformed("malformed/old-version", false, -32600)
				c.malformed("malformed/method-number", false, -32600)
				c.malformed("malformed/no-method", true, -32600)
			},
		},
		{
			ID: "modern-null-id", Title: "a request with the id null is refused and not taken for a notification", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-invalid-request"},
			Judge: func(c *Case) {
				c.malformed("malformed/null-id", true, -32600)
				c.malformed("malformed/object-id", true, -32600)
			},
		},
		{
			ID: "modern-params-array", Title: "params that are no object are refused", Layer: JSONRPC, Soft: true,
			Requirements: []string{"modern/jsonrpc-invalid-params"},
			Judge:        func(c *Case) { c.malformed("malformed/params-array", false, -32602, -32600) },
		},
		{
			ID: "modern-no-batches", Title: "an array of requests is not served as a batch", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-single-object-frames"},
			Judge: func(c *Case) {
				if s := c.Step("malformed/array"); s != nil {
					a := s.reaction()
					how, ended := s.ended()
					switch {
					case a == nil && ended:
						c.Blocked(how)
					case a == nil, a.Failed():
						c.Saw() // refused, or ignored: a fence was answered behind it
					default:
						c.Broken(a, "no batches in this revision: a refusal", sayHow(a))
					}
				}
				c.fromArrays()
			},
		},
		{
			ID: "modern-malformed-survived", Title: "the server outlives a malformed line", Layer: JSONRPC, Soft: true,
			Requirements: []string{"modern/jsonrpc-parse-error"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("malformed/") {
					if how, ended := s.ended(); ended && len(s.Sent()) > 0 {
						c.Broken(s.Sent()[0], "a server that goes on", how+" after this line")
					} else if len(s.Sent()) > 0 && s.Trace.fenced(s.Sent()[0].Index) {
						c.Saw()
					}
				}
			},
		},
		{
			ID: "modern-unreadable-id", Title: "an error about an unreadable request has no id member", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-error-unreadable-id-omitted"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					switch {
					case !f.Failed() || usableID(f.ID):
					case f.ID == nil:
						c.Saw()
					default:
						c.Broken(f, "no id member, since the schema allows a string or an integer only", sayID(f.ID))
					}
				})
			},
		},
		{
			ID: "modern-error-message", Title: "an error message is one short sentence", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-error-message-concise"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					m, ok := f.Error.Get("message").Str()
					if !f.Failed() || !ok {
						return
					}
					// What the checker sent in may be quoted back, and that is
					// not the server's prose.
					if req := f.Trace.Request(f); req == nil || len(req.Text) > longRequest || bytes.Contains(req.Text, []byte(`\n`)) {
						return
					}
					switch {
					case len(m) > longMessage:
						c.Broken(f, "one short sentence", "a message of "+plural(len(m), "byte"))
					case bytes.ContainsAny([]byte(m), "\r\n"):
						c.Broken(f, "one short sentence", "a message of several lines")
					default:
						c.Saw()
					}
				})
			},
		},
		{
			ID: "modern-error-id", Title: "an error repeats the id of the request, type included", Layer: JSONRPC,
			Requirements: []string{"modern/jsonrpc-error-id-echo"},
			Judge:        func(c *Case) { c.echoed((*Frame).Failed) },
		},
	}
}

const (
	longMessage = 300
	longRequest = 4 << 10
)

// malformed judges what became of a line that is no proper request. Silence
// breaks the rule unless mild: then no text obliges the server to speak. A
// refusal with another code is a refusal all the same. Both are told as
// warnings.
func (c *Case) malformed(step string, mild bool, codes ...int64) {
	s := c.Step(step)
	if s == nil || len(s.Sent()) == 0 {
		return
	}
	line := s.Sent()[0]
	want := "an error with code " + codesText(codes)
	a := s.reaction()
	how, ended := s.ended()
	code, ok := a.Code()
	switch {
	case a == nil && ended:
		c.Broken(line, want, "no answer: "+how)
	case a == nil && s.Trace.refusedByStatus(line) && line.Kind == KindText:
		c.Saw() // over HTTP nobody has to say more about what cannot be read
	case a == nil && c.keptOut(line):
	case a == nil && s.Trace.refusedByStatus(line):
		c.Tolerated(line, want, s.Trace.withoutAnswer(line))
	case a == nil && !s.Trace.fenced(line.Index):
		c.Blocked(or(s.Trace.why(), "the session ended") + " before it answered")
	case a == nil && mild:
		c.Tolerated(line, want, "nothing, although the server answered a later request")
	case a == nil:
		c.Broken(line, want, "nothing, although the server answered a later request")
	case ok && slices.Contains(codes, code):
		c.Saw()
	case a.Failed():
		c.Tolerated(a, want, sayHow(a))
	default:
		c.Broken(a, want, sayHow(a))
	}
}

// echoed judges that the responses which match carry the id of a request.
func (c *Case) echoed(match func(*Frame) bool) {
	for _, t := range c.Traces() {
		ids, loose := map[string]bool{}, map[string]bool{}
		for f := range t.all() {
			switch {
			case !f.FromServer:
				if f.ID != nil {
					ids[idKey(f.ID)], loose[looseID(f.ID)] = true, true
				}
			case !match(f) || !usableID(f.ID):
			case ids[idKey(f.ID)]:
				c.Saw()
			case loose[looseID(f.ID)]:
				c.Broken(f, "the id as it was sent", sayID(f.ID)+", of another type")
			case t.readBroken(f.Index):
				// The id may have been read from text that is no JSON.
			default:
				c.Broken(f, "the id of a request", sayID(f.ID)+", which no request had")
			}
		}
	}
}

// readBroken reports whether a line of the checker before index i was no JSON.
func (t *Trace) readBroken(i int) bool {
	return t.unreadable != nil && t.unreadable.Index < i
}

// fromArrays finds arrays that the server sent.
func (c *Case) fromArrays() {
	for _, t := range c.Traces() {
		for f := range t.all() {
			if f.FromServer && f.Kind == KindArray && !t.readBroken(f.Index) {
				c.Broken(f, "one message on each line", "an array")
			}
		}
	}
}
