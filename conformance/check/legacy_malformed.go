package check

import (
	"slices"
	"strconv"

	"github.com/goldwire/goldwire/runtime/wire"
)

// oddLines are lines that a server must not break on, each a probe of its
// own: after one that ends the server the next gets a new one.
var oddLines = []struct {
	name string
	line func(d *Driver) string
}{
	{"cut", func(d *Driver) string { return `{"jsonrpc":"2.0","id":` + d.NextID() + `,` }},
	{"words", func(*Driver) string { return "this is no JSON" }},
	{"utf8", func(d *Driver) string {
		return RequestText(d.NextID(), d.cheap(), d.withMeta("{\"a\":\"\xff\xfe\"}"))
	}},
	{"scalar", func(*Driver) string { return `5` }},
	{"no-method", func(d *Driver) string { return `{"jsonrpc":"2.0","id":` + d.NextID() + `}` }},
	{"no-version", func(d *Driver) string { return `{"id":` + d.NextID() + `,` + d.rest() + `}` }},
	{"wrong-version", func(d *Driver) string { return `{"jsonrpc":"1.0","id":` + d.NextID() + `,` + d.rest() + `}` }},
	{"method-number", func(d *Driver) string { return `{"jsonrpc":"2.0","id":` + d.NextID() + `,"method":42}` }},
	{"null-id", func(d *Driver) string { return `{"jsonrpc":"2.0","id":null,` + d.rest() + `}` }},
	{"params-array", func(d *Driver) string {
		return `{"jsonrpc":"2.0","id":` + d.NextID() + `,"method":` + quote(d.cheap()) + `,"params":[1]}`
	}},
	{"batch", func(d *Driver) string {
		return `[` + RequestText(d.NextID(), d.cheap(), d.withMeta("")) + `]`
	}},
}

// rest is a cheap request without version and id.
func (d *Driver) rest() string {
	params := d.withMeta("")
	if params != "" {
		params = `,"params":` + params
	}
	return `"method":` + quote(d.cheap()) + params
}

func legacyMalformedProbes() []Probe {
	var out []Probe
	for _, m := range oddLines {
		out = append(out, Probe{Name: "malformed: " + m.name, Until: lastLegacy, Profile: Main, Rough: true, Run: func(d *Driver) {
			d.Step("odd/" + m.name)
			d.Provoke(m.line(d))
		}})
	}
	return out
}

func legacyMalformedChecks() []Check {
	parse := []string{"legacy/jsonrpc-parse-error"}
	invalid := []string{"legacy/jsonrpc-invalid-request"}
	return []Check{
		{
			ID: "parse-error-answered", Title: "a line that is not JSON is answered with a parse error", Layer: JSONRPC,
			Requirements: parse,
			Judge: func(c *Case) {
				c.reaction("odd/cut", -32700)
				c.reaction("odd/words", -32700)
			},
		},
		{
			ID: "parse-error-survived", Title: "a line that is not JSON does not end the session", Layer: JSONRPC,
			Requirements: parse,
			Judge: func(c *Case) {
				c.Survived("odd/cut")
				c.Survived("odd/words")
			},
		},
		{
			ID: "invalid-utf8-survived", Title: "a line that is not UTF-8 does not end the session", Layer: Bytes, Soft: true,
			Requirements: parse,
			Judge:        func(c *Case) { c.Survived("odd/utf8") },
		},
		{
			ID: "invalid-request-answered", Title: "JSON that is no request is answered with an invalid-request error", Layer: JSONRPC,
			Requirements: invalid,
			Judge: func(c *Case) {
				for _, name := range []string{"no-version", "wrong-version", "method-number"} {
					c.reaction("odd/"+name, -32600)
				}
			},
		},
		{
			ID: "invalid-request-survived", Title: "JSON that is no request does not end the session", Layer: JSONRPC,
			Requirements: invalid,
			Judge: func(c *Case) {
				for _, name := range []string{"scalar", "no-method", "no-version", "wrong-version", "method-number"} {
					c.Survived("odd/" + name)
				}
			},
		},
		{
			ID: "params-array-refused", Title: "params that are an array are refused", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-invalid-params"}, Soft: true,
			Judge: func(c *Case) { c.reaction("odd/params-array", -32602, -32600) },
		},
		{
			ID: "params-array-survived", Title: "params that are an array do not end the session", Layer: JSONRPC,
			Requirements: invalid,
			Judge:        func(c *Case) { c.Survived("odd/params-array") },
		},
		{
			ID: "null-id-refused", Title: "a request whose id is null is no notification and is refused", Layer: JSONRPC,
			Requirements: invalid, Soft: true,
			Judge: func(c *Case) { c.reaction("odd/null-id", -32600) },
		},
		{
			ID: "null-id-survived", Title: "a request whose id is null does not end the session", Layer: JSONRPC,
			Requirements: invalid,
			Judge:        func(c *Case) { c.Survived("odd/null-id") },
		},
		{
			ID: "batch-not-answered-by-array", Title: "no array is sent where batches do not exist", Layer: JSONRPC,
			Requirements: []string{"legacy/jsonrpc-batch-removed"},
			Judge: func(c *Case) {
				s := c.Step("odd/batch")
				if s == nil {
					return
				}
				arrays := 0
				for _, t := range c.Traces() {
					for f := range t.all() {
						if f.FromServer && f.Kind == KindArray {
							c.Broken(f, "single messages only", "an array")
							arrays++
						}
					}
				}
				sent := s.Sent()
				switch {
				case arrays > 0 || len(sent) == 0:
				case s.Trace.fenced(sent[0].Index):
					c.Saw()
				default:
					c.Blocked(or(s.Trace.why(), "the session ended"))
				}
			},
		},
		{
			ID: "batch-survived", Title: "an array does not end the session", Layer: JSONRPC, Soft: true,
			Requirements: []string{"legacy/jsonrpc-batch-removed"},
			Judge:        func(c *Case) { c.Survived("odd/batch") },
		},
	}
}

// reaction judges what came back for the lines of a step that are no proper
// requests: an error with one of the codes, with the id of the line or without
// one, is right; another error, or that the line was served all the same, is
// told; silence of a server that is alive is wrong. Over HTTP a status that
// blames the client is right too.
func (c *Case) reaction(step string, codes ...int64) {
	s := c.Step(step)
	if s == nil {
		return
	}
	for _, f := range s.Sent() {
		var a *Frame
		if f.ID != nil && f.ID.Kind() != wire.KindNull {
			a = s.Trace.Answer(f)
		}
		if stray := s.Trace.unattributed(f.Index, s.to); a == nil && len(stray) > 0 {
			a = stray[0]
		}
		want := "an error with code " + codesText(codes)
		if a == nil {
			if served := c.servedNull(s, f); served != nil {
				a = served
			}
		}
		switch code, ok := a.Code(); {
		case a == nil && s.Trace.refusedByStatus(f):
			c.Saw() // over HTTP that is enough for what cannot be served
		case a == nil && s.Trace.fenced(f.Index):
			c.Broken(f, want, "nothing, although the server answered a later request")
		case a == nil:
			c.Blocked(or(s.Trace.why(), "the session ended"))
		case a.OK():
			c.Tolerated(a, want, "a result")
		case ok && slices.Contains(codes, code):
			c.Saw()
		case ok:
			c.Tolerated(a, want, "error code "+strconv.FormatInt(code, 10))
		default:
			c.Broken(a, want, "error "+text(a.Error))
		}
	}
}

// servedNull finds a result with the id null that answers a request with the
// id null.
func (c *Case) servedNull(s *Step, req *Frame) *Frame {
	for _, f := range s.Got() {
		if f.Index > req.Index && f.OK() && (f.ID == nil || f.ID.Kind() == wire.KindNull) {
			return f
		}
	}
	return nil
}
