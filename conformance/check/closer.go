package check

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/validate"
)

// closer says which checks look more closely at a place of a message than its
// schema does: where one of them finds fault with the same message, what the
// schema has against that place is the same cause, and is told once.
var closer = []struct {
	method string // of the message or of the request that it answers, "" for any
	// place is a pointer from params or from the result on, with * for one step;
	// what lies below it belongs to it. One that begins with ** stands wherever
	// the rest of it does.
	place  string
	checks []string
}{
	{"tools/list", "/tools/*/inputSchema", []string{"tool-input-schema", "tool-input-schema-valid"}},
	{"tools/list", "/tools/*/outputSchema", []string{"tool-output-schema", "tool-output-schema-valid"}},
	{"tools/list", "/tools/*/annotations", []string{"tool-annotations"}},
	{"tools/list", "/tools/*/execution", []string{"task-support-values"}},
	{"initialize", "/capabilities", []string{"capability-shape"}},
	{"initialize", "/serverInfo", []string{"server-info-types"}},
	{"initialize", "/instructions", []string{"server-info-types"}},
	{"server/discover", "/capabilities", []string{"discover-capabilities", "extension-settings"}},
	{"server/discover", "/supportedVersions", []string{"discover-versions"}},
	{"tools/call", "/content/*", []string{"tool-content-of-revision"}},
	{"tools/call", "/structuredContent", []string{"structured-content-object"}},
	{"prompts/get", "/messages/*/content", []string{"prompt-content-of-revision", "prompt-embedded-resource"}},
	{"completion/complete", "/completion/values", []string{"completion-max-100"}},
	{"elicitation/create", "/requestedSchema", []string{"elicit-schema-flat"}},
	{"elicitation/create", "/url", []string{"url-elicitation-shape", "elicit-schema-flat"}}, // a form is no URL by its schema
	{"elicitation/create", "/elicitationId", []string{"url-elicitation-shape", "elicit-schema-flat"}},
	{"sampling/createMessage", "/messages", []string{"sampling-content-of-revision"}},
	{"elicitation/create", "/message", []string{"elicitation-form", "url-elicitation-shape"}},
	{"elicitation/create", "/mode", []string{"elicitation-form", "elicit-schema-flat"}},
	{structured, "", []string{"structured-content-object"}},
	{"notifications/message", "", []string{"log-message-shape"}},
	{"", "/inputRequests", []string{"input-request-kinds", "elicitation-form", "elicitation-form-flat", "sampling-shape"}},
	{"", "/requestState", []string{"input-request-kinds"}},
	{"", "/nextCursor", []string{"cursor-string"}},
	{"", "/ttlMs", []string{"cache-ttl"}},
	{"", "/cacheScope", []string{"cache-scope"}},
	{"", "/resultType", []string{"result-type"}},
	{"", "**/annotations", []string{"annotations"}},
	{"", "**/icons", []string{"icons"}},
	{"", "**/_meta", []string{"meta-object"}},
}

// structured stands for the method where the structured content of a tool is
// compared with the tool's own schema.
const structured = "structured content"

// ownFault is the first of what a schema has against a message that no check
// which looks more closely tells of, nil where there is none.
func (c *Case) ownFault(f *Frame, method string, v *validate.Violation) *validate.Violation {
	if c.Check.Beside == nil || c.alone {
		return v
	}
	for _, one := range v.All() {
		if slices.ContainsFunc(one.Places(), func(place string) bool { return !c.toldCloser(f, method, strings.TrimPrefix(place, "/params")) }) {
			return one
		}
	}
	return nil
}

func (c *Case) toldCloser(f *Frame, method, place string) bool {
	for _, k := range closer {
		if k.method != "" && k.method != method || !lies(place, k.place) {
			continue
		}
		if slices.ContainsFunc(k.checks, func(id string) bool { return c.finds(id, f) }) {
			return true
		}
	}
	return false
}

// lies reports whether a pointer is at a place or below it.
func lies(pointer, place string) bool {
	steps := strings.Split(pointer, "/")[1:]
	if anywhere, ok := strings.CutPrefix(place, "**/"); ok {
		return slices.Contains(steps, anywhere)
	}
	if pointer == "" || place == "" {
		return place == ""
	}
	want := strings.Split(place, "/")[1:]
	if len(steps) < len(want) {
		return false
	}
	for i, w := range want {
		if w != "*" && w != steps[i] {
			return false
		}
	}
	return true
}

// finds reports whether another check that is asked for finds fault with a
// message, no less gravely than this one.
func (c *Case) finds(id string, f *Frame) bool {
	k := c.Check.Beside(id)
	if k == nil || id == c.Check.ID || !k.Applies(c.Revision, c.Transport) ||
		k.Warns(c.Revision, c.Transport) && !c.Check.Warns(c.Revision, c.Transport) {
		return false
	}
	at, judged := c.others[id]
	if !judged {
		o := &Case{Check: k, Revision: c.Revision, Transport: c.Transport, Facts: c.Facts, Offers: c.Offers, traces: c.traces, alone: true, at: map[*Frame]bool{}}
		var out result.Check
		if o.judge(&out); out.Verdict == "" && !o.guessed {
			at = o.at
		}
		if c.others == nil {
			c.others = map[string]map[*Frame]bool{}
		}
		c.others[id] = at
	}
	return at[f]
}
