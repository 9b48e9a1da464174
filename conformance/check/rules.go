package check

import (
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Rules about values that either side may send, for judges of both.

// Metas calls fn for every _meta in a value, in places where the protocol has
// one: what is free JSON of a user is left out.
func Metas(v wire.Raw, fn func(meta wire.Raw)) { metas(v, 0, fn) }

// MetaKeySyntax reports whether a key of _meta follows the naming rules.
func MetaKeySyntax(key string) bool { return metaKey.MatchString(key) }

// MetaKeyReserved reports whether the prefix of a key of _meta is left to the
// protocol in a revision.
func MetaKeyReserved(rev, key string) bool {
	return reservedPrefix(key, AtLeast(rev, rev2025November))
}

// MetaKeyReversed reports whether the prefix of a key of _meta is not clearly a
// domain name the wrong way round, as one is that ends like a domain and does not
// start like one; told is false for a key that shows nothing.
func MetaKeyReversed(key string) (ok, told bool) {
	prefix, _, found := strings.Cut(key, "/")
	labels := strings.Split(prefix, ".")
	if !found || len(labels) < 2 {
		return true, false
	}
	first, last := strings.ToLower(labels[0]), strings.ToLower(labels[len(labels)-1])
	return !topLevel[last] || topLevel[first] || len(first) == 2, true
}

// TraceContext reports whether the value of a key of _meta has the format of
// the W3C; told is false for a key that is none of trace context.
func TraceContext(key string, v wire.Raw) (ok, told bool) {
	re := traceFormats[key]
	if re == nil {
		return true, false
	}
	s, isString := v.Str()
	return isString && re.MatchString(s) && !strings.Contains(s, "-00000000000000000000000000000000-") && !strings.Contains(s, "-0000000000000000-"), true
}

// IconFault says what is wrong with an icon, "" for nothing.
func IconFault(icon wire.Raw) string {
	src, ok := icon.Get("src").Str()
	theme := icon.Get("theme")
	name, _ := theme.Str()
	stringly := func(v wire.Raw) bool { return v == nil || v.Kind() == wire.KindString }
	switch {
	case !ok || !absoluteURI(src):
		return "src " + text(icon.Get("src"))
	case !stringly(icon.Get("mimeType")):
		return "mimeType " + text(icon.Get("mimeType"))
	case icon.Get("sizes") != nil && icon.Get("sizes").Kind() != wire.KindArray:
		return "sizes " + text(icon.Get("sizes"))
	case theme != nil && name != "light" && name != "dark":
		return "theme " + text(theme)
	}
	for s := range icon.Get("sizes").Elems() {
		if s.Kind() != wire.KindString {
			return "a size " + text(s)
		}
	}
	return ""
}

// AnnotationsFault says what is wrong with the annotations of a resource or of
// content, "" for nothing; dateFault is the same of their date.
func AnnotationsFault(notes wire.Raw) (fault, dateFault string) {
	if notes.Kind() != wire.KindObject {
		return text(notes), ""
	}
	for a := range notes.Get("audience").Elems() {
		if who, _ := a.Str(); who != "user" && who != "assistant" {
			fault = "audience " + text(a)
		}
	}
	if p := notes.Get("priority"); p != nil {
		if n, ok := p.Float(); !ok || n < 0 || n > 1 {
			fault = "priority " + text(p)
		}
	}
	if m := notes.Get("lastModified"); m != nil {
		if s, ok := m.Str(); !ok || !isoTime(s) {
			dateFault = text(m)
		}
	}
	return fault, dateFault
}

// ISOTime reports whether a text is a time as ISO 8601 writes it.
func ISOTime(s string) bool { return isoTime(s) }

// KnownElsewhere reports whether some other revision than rev has a method that
// rev does not have.
func KnownElsewhere(rev, method string) bool {
	c := Case{Revision: rev}
	return !c.protocol().Knows(method) && knownElsewhere(method)
}

// HeaderAnnotations visits the members of a tool's input schema that are to be
// repeated as HTTP headers; reachable says that only properties led there.
func HeaderAnnotations(schema wire.Raw, visit func(schema, name wire.Raw, reachable bool)) {
	annotations(schema, true, 0, visit)
}

// Unsafe reports whether an integer is one that a double does not hold exactly.
func Unsafe(v wire.Raw) bool {
	const most = 1<<53 - 1
	n, ok := v.Float()
	return ok && (n > most || n < -most)
}

// LaterContent says what in the content of a message for sampling, or of its
// result, only later revisions have, "" for nothing.
func LaterContent(rev string, content wire.Raw) string {
	if content.Kind() == wire.KindArray && !AtLeast(rev, rev2025November) {
		return "an array of blocks"
	}
	kinds := []string{"text", "image"}
	if AtLeast(rev, rev2025March) {
		kinds = append(kinds, "audio")
	}
	if AtLeast(rev, rev2025November) {
		kinds = append(kinds, "tool_use", "tool_result")
	}
	for _, b := range blocks(wire.Raw(`{"content":` + string(content) + `}`)) {
		if kind := Name(b, "type"); !slices.Contains(kinds, kind) {
			return "content of the type " + text(b.Get("type"))
		}
	}
	return ""
}
