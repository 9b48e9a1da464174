package check

import (
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Facts are what a server said of itself in the sessions of one revision. They
// are read from recordings only.
type Facts struct {
	Revision     string
	Capabilities wire.Raw // nil when the server never said
	Info         wire.Raw // name and version
	Tools        []wire.Raw
	Prompts      []wire.Raw
	Resources    []wire.Raw
	Templates    []wire.Raw
	// Listed says which lists were read to their end.
	Listed map[string]bool
	// Cursors are the cursors of the second pages, by method.
	Cursors map[string]string
}

// Lists are the paginated methods with the member that holds the entries and
// the member that names one.
var Lists = []struct{ Method, Member, Key, Capability string }{
	{"tools/list", "tools", "name", "tools"},
	{"prompts/list", "prompts", "name", "prompts"},
	{"resources/list", "resources", "uri", "resources"},
	{"resources/templates/list", "resourceTemplates", "uriTemplate", "resources"},
}

// hello is the method by which a session begins.
func hello(rev string) string {
	if Modern(rev) {
		return methodDiscover
	}
	return "initialize"
}

// FactsOf reads the facts from the sessions of a revision.
func FactsOf(rev string, traces []*Trace) *Facts {
	f := &Facts{Revision: rev, Listed: map[string]bool{}, Cursors: map[string]string{}}
	for _, t := range traces {
		for req := range t.visit(t.sent) {
			if f.Capabilities != nil {
				break
			}
			if req.Method != hello(rev) {
				continue
			}
			if a := t.Answer(req); a.OK() && a.Result.Get("capabilities").Kind() == wire.KindObject {
				f.Capabilities = a.Result.Get("capabilities")
				f.Info = a.Result.Get("serverInfo")
				if f.Info == nil {
					f.Info = a.Result.Get("_meta").Get("io.modelcontextprotocol/serverInfo")
				}
			}
		}
	}
	for _, l := range Lists {
		var items []wire.Raw
		done := false
		for _, t := range traces {
			for _, s := range t.steps {
				if s.Name != l.Method || done {
					continue
				}
				items = nil
				for _, req := range s.Sent() {
					a := t.Answer(req)
					if !a.OK() {
						continue
					}
					for e := range a.Result.Get(l.Member).Elems() {
						items = append(items, e)
					}
					next, more := a.Result.Get("nextCursor").Str()
					if _, known := f.Cursors[l.Method]; more && !known {
						f.Cursors[l.Method] = next
					}
					done = a.Result.Get("nextCursor") == nil
				}
			}
		}
		f.Listed[l.Method] = done
		switch l.Method {
		case "tools/list":
			f.Tools = items
		case "prompts/list":
			f.Prompts = items
		case "resources/list":
			f.Resources = items
		case "resources/templates/list":
			f.Templates = items
		}
	}
	return f
}

// Known reports whether the server said what it can do.
func (f *Facts) Known() bool { return f.Capabilities != nil }

// Has reports whether a capability was declared, given as a path. A flag
// counts when it is true, anything else when it is there.
func (f *Facts) Has(capability string) bool {
	v := f.Capabilities
	for name := range strings.SplitSeq(capability, ".") {
		v = v.Get(name)
	}
	if b, ok := v.Bool(); ok {
		return b
	}
	return v != nil && v.Kind() != wire.KindNull
}

// Name is a string member of an entry, "" where it has none.
func Name(entry wire.Raw, member string) string {
	s, _ := entry.Get(member).Str()
	return s
}
