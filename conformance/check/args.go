package check

import (
	"math"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// maxArgsDepth bounds how deep arguments are made; schemas may refer to
// themselves.
const maxArgsDepth = 8

// Arguments makes an object that fits a tool's inputSchema: the required
// members only, with the default, constant or first allowed value where the
// schema names one, and the smallest value of the type otherwise. References
// are followed inside the schema only. It reports false where it cannot make
// a value that it believes in.
func Arguments(schema wire.Raw) (string, bool) {
	g := &generator{root: schema}
	text, ok := g.value(schema, 0)
	if !ok || !strings.HasPrefix(text, "{") {
		return "{}", false
	}
	return text, true
}

// needsArguments reports whether a schema requires a property that it has no
// default for: servers fill in the others before they look at arguments.
func needsArguments(schema wire.Raw) bool {
	for name := range schema.Get("required").Elems() {
		key, _ := name.Str()
		if schema.Get("properties").Get(key).Get("default") == nil {
			return true
		}
	}
	return false
}

// maxArgsSteps bounds how many schemas are looked at: choices that lead back
// to themselves multiply.
const maxArgsSteps = 2_000

type generator struct {
	root  wire.Raw
	steps int
}

func (g *generator) value(s wire.Raw, depth int) (string, bool) {
	if g.steps++; depth > maxArgsDepth || g.steps > maxArgsSteps {
		return "null", false
	}
	for _, k := range []string{"const", "default"} {
		if v := s.Get(k); v != nil {
			return string(v), true
		}
	}
	for _, k := range []string{"enum", "examples"} {
		for v := range s.Get(k).Elems() {
			return string(v), true
		}
	}
	if ref, ok := s.Get("$ref").Str(); ok {
		target, ok := pointer(g.root, ref)
		if !ok {
			return "null", false
		}
		return g.value(target, depth+1)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		for v := range s.Get(k).Elems() {
			if text, ok := g.value(v, depth+1); ok {
				return text, true
			}
		}
	}
	kind, _ := s.Get("type").Str()
	for v := range s.Get("type").Elems() {
		if kind, _ = v.Str(); kind != "null" {
			break
		}
	}
	if kind == "" {
		kind = guessType(s)
	}
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return g.text(s)
	case "integer", "number":
		return g.number(s, kind == "integer")
	case "boolean":
		return "false", true
	case "null":
		return "null", true
	}
	return `""`, s.Kind() == wire.KindObject || string(s) == "true"
}

func guessType(s wire.Raw) string {
	for _, g := range [][2]string{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"minLength", "string"}, {"pattern", "string"}, {"minimum", "number"}, {"maximum", "number"}} {
		if s.Get(g[0]) != nil {
			return g[1]
		}
	}
	return ""
}

func (g *generator) object(s wire.Raw, depth int) (string, bool) {
	var b strings.Builder
	b.WriteByte('{')
	ok := true
	for name := range s.Get("required").Elems() {
		key, _ := name.Str()
		sub := s.Get("properties").Get(key)
		if sub == nil {
			sub = wire.Raw("true")
		}
		v, good := g.value(sub, depth+1)
		ok = ok && good
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(quote(key) + ":" + v)
	}
	b.WriteByte('}')
	return b.String(), ok && s.Get("minProperties") == nil
}

func (g *generator) array(s wire.Raw, depth int) (string, bool) {
	n, _ := s.Get("minItems").Int()
	if n > 16 {
		return "[]", false
	}
	var items []string
	for range n {
		sub := s.Get("items")
		if sub == nil {
			sub = wire.Raw("true")
		}
		v, ok := g.value(sub, depth+1)
		if !ok {
			return "[]", false
		}
		items = append(items, v)
	}
	unique, _ := s.Get("uniqueItems").Bool()
	most, bounded := s.Get("maxItems").Int()
	return "[" + strings.Join(items, ",") + "]", (!unique || n <= 1) && (!bounded || n <= most)
}

func (g *generator) text(s wire.Raw) (string, bool) {
	format, _ := s.Get("format").Str()
	known := map[string]string{
		"email": "someone@example.com", "uri": "https://example.com/", "url": "https://example.com/", "date": "2025-01-01",
		"date-time": "2025-01-01T00:00:00Z", "time": "00:00:00Z", "uuid": "00000000-0000-4000-8000-000000000000",
		"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri-reference": "a", "duration": "PT1S",
	}
	shortest, _ := s.Get("minLength").Int()
	longest, bounded := s.Get("maxLength").Int()
	fits := func(v string) (string, bool) {
		n := int64(len(v))
		return quote(v), n >= shortest && (!bounded || n <= longest) && s.Get("pattern") == nil
	}
	if v, ok := known[format]; ok {
		return fits(v)
	}
	v := "test"
	if shortest > 4096 {
		return `""`, false
	}
	for int64(len(v)) < shortest {
		v += "t"
	}
	if bounded && int64(len(v)) > longest {
		v = v[:max(longest, 0)]
	}
	return fits(v)
}

func (g *generator) number(s wire.Raw, integer bool) (string, bool) {
	v := 1.0
	least, bounded := s.Get("minimum").Float()
	if bounded && v < least {
		v = least
	}
	above, open := s.Get("exclusiveMinimum").Float()
	if open && v <= above {
		v = above + 1
	}
	step, stepped := s.Get("multipleOf").Float()
	stepped = stepped && step > 0
	if stepped {
		v = math.Ceil(v/step) * step
	}
	if integer {
		v = math.Ceil(v)
	}
	wanted := v
	if m, ok := s.Get("maximum").Float(); ok && v > m {
		v = m
	}
	if m, ok := s.Get("exclusiveMaximum").Float(); ok && v >= m {
		v = m - 1
	}
	if integer && v < wanted {
		v = math.Floor(v)
	}
	if stepped && v < wanted {
		v = math.Floor(v/step) * step
	}
	fits := (!bounded || v >= least) && (!open || v > above) && (!integer || v == math.Trunc(v))
	return strconv.FormatFloat(v, 'f', -1, 64), fits && !math.IsInf(v, 0) && !math.IsNaN(v)
}

// pointer follows a reference inside a document.
func pointer(doc wire.Raw, ref string) (wire.Raw, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	v := doc
	if path != "" {
		for tok := range strings.SplitSeq(path[1:], "/") {
			v = v.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(tok))
		}
	}
	return v, v != nil
}
