package check

import (
	"regexp"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// What may stand in many places: annotations, icons, progress, log messages.

func entryChecks() []Check {
	return []Check{
		{
			ID: "annotations", Title: "annotations name known audiences and a priority from 0 to 1", Layer: Feature,
			Requirements: []string{"legacy/annotations-range", "modern/res-annotations-valid"},
			Judge: func(c *Case) {
				c.eachAnnotated(func(f *Frame, notes wire.Raw) {
					for a := range notes.Get("audience").Elems() {
						who, _ := a.Str()
						c.want(f, who == "user" || who == "assistant", "user or assistant as audience", text(a))
					}
					if p := notes.Get("priority"); p != nil {
						n, ok := p.Float()
						c.want(f, ok && n >= 0 && n <= 1, "a priority from 0 to 1", text(p))
					}
				})
			},
		},
		{
			ID: "last-modified", Title: "lastModified is an ISO 8601 time", Layer: Feature, Soft: true,
			Requirements: []string{"legacy/annotations-last-modified", "modern/res-annotations-valid"},
			Judge: func(c *Case) {
				c.eachAnnotated(func(f *Frame, notes wire.Raw) {
					if m := notes.Get("lastModified"); m != nil {
						s, ok := m.Str()
						c.want(f, ok && isoTime(s), "an ISO 8601 time", text(m))
					}
				})
			},
		},
		{
			ID: "icons", Title: "icons have a source, sizes and a theme as the schema says", Layer: Feature,
			Requirements: []string{"legacy/icon-shape", "modern/icons-shape"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					for _, icon := range iconsOf(f) {
						src, ok := icon.Get("src").Str()
						switch {
						case !ok || !absoluteURI(src):
							c.Broken(f, "a URI as src of an icon", text(icon.Get("src")))
						case icon.Get("mimeType") != nil && icon.Get("mimeType").Kind() != wire.KindString:
							c.Broken(f, "a string as mimeType of an icon", text(icon.Get("mimeType")))
						case icon.Get("sizes") != nil && icon.Get("sizes").Kind() != wire.KindArray:
							c.Broken(f, "an array as sizes of an icon", text(icon.Get("sizes")))
						default:
							theme := icon.Get("theme")
							name, _ := theme.Str()
							c.want(f, theme == nil || name == "light" || name == "dark", "light or dark as theme of an icon", text(theme))
						}
					}
				})
			},
		},
		{
			ID: "progress-shape", Title: "progress notifications fit their schema", Layer: Protocol,
			Requirements: []string{"legacy/progress-token-type"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == "notifications/progress" {
						c.FitsMessage(f)
					}
				})
			},
		},
		{
			ID: "progress-known-token", Title: "progress names a token of a running request", Layer: Protocol,
			Requirements: []string{"legacy/progress-known-token-only", "modern/progress-token-echo"},
			Judge: func(c *Case) {
				c.progress(func(f *Frame, owner, _ *Frame) {
					c.want(f, owner != nil, "a token that a request carried", text(f.Param("progressToken")))
				})
			},
		},
		{
			ID: "progress-increases", Title: "progress grows with every notification", Layer: Protocol,
			Requirements: []string{"legacy/progress-increases", "modern/progress-strictly-increases"},
			Judge: func(c *Case) {
				last := map[*Frame]*Frame{}
				c.progress(func(f *Frame, owner, _ *Frame) {
					n, ok := f.Param("progress").Float()
					if owner == nil || !ok {
						return
					}
					if before := last[owner]; before != nil {
						m, _ := before.Param("progress").Float()
						c.want(f, n > m, "more than "+text(before.Param("progress")), text(f.Param("progress")))
					}
					last[owner] = f
				})
			},
		},
		{
			ID: "progress-stops", Title: "no progress follows the answer", Layer: Protocol,
			Requirements: []string{"legacy/progress-stops", "modern/progress-stops-at-completion"},
			Judge: func(c *Case) {
				c.progress(func(f *Frame, owner, answer *Frame) {
					if owner == nil || answer.result().Get("task") != nil {
						return
					}
					c.want(f, answer == nil || answer.Index > f.Index || !surely(answer, f), "no progress after the answer", "a notification after it")
				})
			},
		},
		{
			ID: "progress-message", Title: "a message with progress says something", Layer: Protocol,
			Requirements: []string{"legacy/progress-message-readable"},
			Judge: func(c *Case) {
				c.progress(func(f, _, _ *Frame) {
					if m := f.Param("message"); m != nil {
						s, ok := m.Str()
						c.want(f, ok && strings.TrimSpace(s) != "", "a text", text(m))
					}
				})
			},
		},
		{
			ID: "log-message-shape", Title: "log messages have a known level and data", Layer: Feature,
			Requirements: []string{"legacy/logging-level-names", "modern/log-level-values"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == "notifications/message" {
						c.FitsMessage(f)
					}
				})
			},
		},
	}
}

// progress calls fn for every progress notification with the request whose
// token it names, nil where there is none, and the answer to that request.
func (c *Case) progress(fn func(f, owner, answer *Frame)) {
	for _, t := range c.Traces() {
		owners := map[string]*Frame{}
		for line := range t.all() {
			for _, f := range line.parts() {
				switch {
				case !f.FromServer && f.Kind == KindRequest:
					if token := f.Params.Get("_meta").Get("progressToken"); token != nil {
						owners[idKey(token)] = f
					}
				case f.FromServer && f.Method == "notifications/progress" && f.Param("progressToken") != nil:
					owner := owners[idKey(f.Param("progressToken"))]
					fn(f, owner, t.Answer(owner))
				}
			}
		}
	}
}

// eachAnnotated calls fn for the annotations of resources and content; those
// of tools are of another kind.
func (c *Case) eachAnnotated(fn func(f *Frame, notes wire.Raw)) {
	c.each(func(f *Frame) {
		if f.Kind != KindResponse || f.Result == nil {
			return
		}
		for _, list := range []string{"resources", "resourceTemplates", "content"} {
			for e := range f.Result.Get(list).Elems() {
				if n := e.Get("annotations"); n.Kind() == wire.KindObject {
					fn(f, n)
				}
			}
		}
		for m := range f.Result.Get("messages").Elems() {
			if n := m.Get("content").Get("annotations"); n.Kind() == wire.KindObject {
				fn(f, n)
			}
		}
	})
}

func iconsOf(f *Frame) []wire.Raw {
	var out []wire.Raw
	take := func(v wire.Raw) {
		for icon := range v.Get("icons").Elems() {
			out = append(out, icon)
		}
	}
	take(f.Result.Get("serverInfo"))
	take(f.Result.Get("_meta").Get("io.modelcontextprotocol/serverInfo"))
	for _, list := range []string{"tools", "prompts", "resources", "resourceTemplates"} {
		for e := range f.Result.Get(list).Elems() {
			take(e)
		}
	}
	return out
}

var isoDate = regexp.MustCompile(`^\d{4}(-\d{2}(-\d{2})?|-?W\d{2}(-?\d)?|-?\d{3}|\d{4})?([T ]\d{2}(:?\d{2}(:?\d{2}([.,]\d+)?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$`)

func isoTime(s string) bool {
	if _, err := time.Parse(time.RFC3339, strings.ToUpper(s)); err == nil {
		return true
	}
	return isoDate.MatchString(s)
}
