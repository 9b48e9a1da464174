package mcp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// TestMain keeps the number of random values of each type small, as there are
// hundreds of types; -rapid.checks=1000 looks longer.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", "6"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// instances draws random values that are valid by a schema. It reads the
// schema itself, errata applied, and knows nothing of the model that the
// packages were printed from.
type instances struct {
	defs  map[string]any
	t     *rapid.T
	extra bool // unknown members wherever an object is open
	odd   bool // unknown arms of unions and values of enums: no longer valid, but kept
	depth int
}

func (g *instances) n(below int) int { return rapid.IntRange(0, below-1).Draw(g.t, "n") }

// allowed takes from numbers those within the bounds of a schema, and adds the bounds.
func allowed(s map[string]any, texts ...string) []string {
	within := func(text string) bool {
		v, err := strconv.ParseFloat(text, 64)
		for name, sign := range map[string]float64{"minimum": 1, "maximum": -1} {
			if bound, ok := s[name]; ok && err == nil {
				limit, lerr := strconv.ParseFloat(fmt.Sprint(bound), 64)
				err = lerr
				if (v-limit)*sign < 0 {
					return false
				}
			}
		}
		return err == nil
	}
	var out []string
	for _, name := range []string{"minimum", "maximum"} {
		if bound, ok := s[name]; ok {
			out = append(out, fmt.Sprint(bound))
		}
	}
	for _, text := range texts {
		if within(text) {
			out = append(out, text)
		}
	}
	return out
}

func (g *instances) of(texts ...string) string { return texts[g.n(len(texts))] }

// at finds the schema that a type came from: a definition's name, or a pointer.
func (g *instances) at(place string) any {
	if !strings.HasPrefix(place, "/") {
		return g.defs[place]
	}
	parts := strings.Split(place, "/")
	var v any = g.defs
	for _, p := range parts[2:] {
		switch x := v.(type) {
		case map[string]any:
			v = x[strings.NewReplacer("~1", "/", "~0", "~").Replace(p)]
		case []any:
			v = x[p[0]-'0']
		}
		if m, ok := v.(map[string]any); ok {
			v = g.deref(m)
		}
	}
	return v
}

func (g *instances) deref(s map[string]any) map[string]any {
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		s, _ = g.defs[ref[strings.LastIndexByte(ref, '/')+1:]].(map[string]any)
	}
}

func (g *instances) value(schema any) string {
	g.depth++
	defer func() { g.depth-- }()
	s, ok := schema.(map[string]any)
	if !ok || len(s) == 0 {
		return g.any()
	}
	s = g.deref(s)
	switch {
	case s["const"] != nil:
		return quoted(s["const"])
	case s["enum"] != nil:
		if g.odd && g.n(4) == 0 {
			return `"x-never-heard-of"`
		}
		all := s["enum"].([]any)
		return quoted(all[g.n(len(all))])
	case s["allOf"] != nil:
		return g.object(g.merged(s, g.n))
	case s["anyOf"] != nil && s["properties"] != nil: // one set of required members or another
		all := s["anyOf"].([]any)
		more := maps.Clone(s)
		more["required"] = slices.Concat(list(s["required"]), list(all[g.n(len(all))].(map[string]any)["required"]))
		return g.object(more)
	case s["anyOf"] != nil:
		all := s["anyOf"].([]any)
		if tag := g.tag(all); tag != "" && g.odd && g.n(3) == 0 {
			return fmt.Sprintf(`{%q:"x-unknown",%q:%s}`, tag, "n", g.any())
		}
		return g.value(all[g.n(len(all))])
	case s["properties"] != nil || s["additionalProperties"] != nil:
		return g.object(s)
	}
	var kinds []string
	switch k := s["type"].(type) {
	case string:
		kinds = []string{k}
	case []any:
		for _, one := range k {
			kinds = append(kinds, one.(string))
		}
	}
	if len(kinds) == 0 {
		return g.any()
	}
	id := len(kinds) > 1 && !slices.Contains(kinds, "null")
	switch kinds[g.n(len(kinds))] {
	case "string":
		return g.text()
	case "integer":
		if id {
			return g.of("0", "7", "-1", "1.0", "1e2", "9007199254740993", "12345678901234567890", "-98765432109876543210")
		}
		if s["minimum"] != nil || s["maximum"] != nil {
			return g.of(allowed(s, "0", "1", "1.0", "1e2", "9007199254740993", "-7")...)
		}
		return g.of("0", "7", "-1", "1.0", "1e2", "9007199254740993", "-9223372036854775808")
	case "number":
		if s["minimum"] != nil || s["maximum"] != nil {
			return g.of(allowed(s, "0", "1", "0.25", "1e-3", "1.0", "1e300", "-0.5")...)
		}
		return g.of("0", "-0.5", "1e-7", "123456.789", "2.50", "9007199254740992", "1e300")
	case "boolean":
		return g.of("true", "false")
	case "null":
		return "null"
	case "array":
		var out []string
		for range g.n(3) {
			out = append(out, g.value(s["items"]))
		}
		return "[" + strings.Join(out, ",") + "]"
	}
	return g.object(s)
}

// merged is the one object that all parts of an allOf describe, where there is
// one set of members or another with that which pick says.
func (g *instances) merged(s map[string]any, pick func(below int) int) map[string]any {
	props, required := map[string]any{}, []any{}
	for _, part := range s["allOf"].([]any) {
		p := g.deref(part.(map[string]any))
		if p["allOf"] != nil {
			p = g.merged(p, pick)
		}
		own, _ := p["properties"].(map[string]any)
		maps.Copy(props, own)
		must, _ := p["required"].([]any)
		required = append(required, must...)
	}
	if all := list(s["anyOf"]); len(all) > 0 {
		one := all[pick(len(all))].(map[string]any)
		own, _ := one["properties"].(map[string]any)
		maps.Copy(props, own)
		required = append(required, list(one["required"])...)
	}
	return map[string]any{"type": "object", "properties": props, "required": required}
}

// tag is the member that tells the arms of a union apart, "" if there is none.
func (g *instances) tag(arms []any) string {
	for _, key := range []string{"type", "method", "mode"} {
		all := true
		for _, a := range arms {
			s := g.deref(a.(map[string]any))
			if inner, ok := s["anyOf"].([]any); ok {
				all = all && g.tag(inner) == key
				continue
			}
			props, _ := s["properties"].(map[string]any)
			p, _ := props[key].(map[string]any)
			all = all && (p["const"] != nil || p["enum"] != nil)
		}
		if all {
			return key
		}
	}
	return ""
}

func (g *instances) object(s map[string]any) string {
	var out []string
	add := func(k, v string) { out = append(out, string(wire.Quote(k))+":"+v) }
	props, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		if !slices.Contains(required, any(k)) && g.n(2+min(g.depth, 4)) > 1 {
			continue
		}
		switch v := g.value(props[k]); {
		case k == "resultType" && v[0] == '"' && g.deref(props[k].(map[string]any))["const"] == nil:
			add(k, `"complete"`) // any other is of an extension
		default:
			add(k, v)
		}
	}
	more, _ := s["additionalProperties"].(map[string]any)
	switch {
	case len(props) == 0 || len(more) > 0:
		for i := range g.n(3) {
			v := g.value(more)
			if len(more) == 0 {
				v = g.any()
			}
			add(fmt.Sprintf("%s-%d", g.of("key", "k/é", "\"q\""), i), v)
		}
	case g.extra:
		for i := range g.n(3) {
			add(fmt.Sprintf("%s-%d", g.of("x", "X/ü", "com.example/\n"), i), g.any())
		}
	}
	if len(out) > 1 && g.n(2) == 0 {
		slices.Reverse(out)
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (g *instances) text() string {
	if g.n(4) == 0 {
		return string(wire.Quote(rapid.StringN(0, 6, -1).Draw(g.t, "text")))
	}
	return g.of(`""`, `"a"`, `"caf\u00e9"`, `"<b> & \u2028"`, `"\ud83d\ude00\t\"\\\/"`, `"0"`, `"Größe"`)
}

// any is any JSON value.
func (g *instances) any() string {
	if g.depth++; g.depth > 8 {
		g.depth--
		return "null"
	}
	defer func() { g.depth-- }()
	switch g.n(7) {
	case 0:
		return "null"
	case 1:
		return g.of("true", "false")
	case 2:
		return g.of("0", "-0", "1.0", "2.50", "1e2", "9007199254740993", "12345678901234567890", "1e-300")
	case 3:
		return "[" + g.any() + "," + g.any() + "]"
	case 4:
		return fmt.Sprintf(`{"a":%s,"":%s}`, g.any(), g.any())
	case 5:
		return g.of("[]", "{}")
	}
	return g.text()
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func quoted(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestRandomInstances reads and writes random values of every type that are
// valid by the schema it came from, with and without what no schema knows.
func TestRandomInstances(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		p, err := validate.For(m.Revision)
		require.NoError(t, err)
		defs := definitions(t, m.Revision)
		for _, x := range m.Types {
			e, ok := types[m.Revision][x.Name]
			if !ok {
				continue
			}
			t.Run(x.Name, rapid.MakeCheck(func(rt *rapid.T) {
				g := &instances{defs: defs, t: rt, extra: rapid.Bool().Draw(rt, "extra"), odd: rapid.Bool().Draw(rt, "odd")}
				schema := g.at(x.Schema)
				if schema == nil {
					rt.Fatalf("no schema at %s", x.Schema)
				}
				text := g.value(schema)
				for _, o := range []wire.Options{{}, {Lenient: true, Alias: true}} {
					v, problems, err := e.read([]byte(text), o)
					if err != nil || len(problems) > 0 {
						rt.Fatalf("%v %v: %s", err, problems, text)
					}
					out := v.AppendJSON(nil)
					if !wire.Equal(wire.Raw(text), out) {
						rt.Fatalf("want %s\ngot  %s", text, out)
					}
					if !o.Lenient && !g.odd && p.Has(x.Schema) && x.Kind != ir.KeyedRaw {
						if err := p.Definition(x.Schema, out); err != nil {
							rt.Fatalf("%v: %s", err, out)
						}
					}
				}
			}))
		}
	})
}

// TestRandomMessages does the same with whole messages and answers.
func TestRandomMessages(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		p, err := validate.For(m.Revision)
		require.NoError(t, err)
		defs := definitions(t, m.Revision)
		for _, q := range m.Methods {
			if q.Embedded || q.Params == "" {
				continue
			}
			t.Run(q.Name, rapid.MakeCheck(func(rt *rapid.T) {
				g := &instances{defs: defs, t: rt, extra: rapid.Bool().Draw(rt, "extra"), odd: rapid.Bool().Draw(rt, "odd")}
				params := ""
				def := defs[q.Definition].(map[string]any)
				schema := def["properties"].(map[string]any)["params"]
				required, _ := def["required"].([]any)
				if schema != nil && (slices.Contains(required, any("params")) || g.n(3) > 0) {
					params = `,"params":` + g.value(schema)
				}
				id := g.of(`0`, `1.0`, `""`, `"a\u0062"`, `12345678901234567890`, `-7`)
				if q.Notification {
					params = fmt.Sprintf(`{"method":%q%s,"jsonrpc":"2.0"}`, q.Name, params)
				} else {
					params = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q%s}`, id, q.Name, params)
				}
				v, answer, err := decoders[m.Revision]([]byte(params))
				if err != nil {
					rt.Fatalf("%v: %s", err, params)
				}
				out := v.AppendJSON(nil)
				if !wire.Equal(wire.Raw(params), out) || typeName(v) != "*mcp."+q.Definition {
					rt.Fatalf("%s: want %s\ngot  %s", typeName(v), params, out)
				}
				if !g.odd {
					if err := p.Definition(q.Definition, out); err != nil {
						rt.Fatalf("%v: %s", err, out)
					}
				}
				if answer == nil {
					return
				}
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, g.value(g.at(m.byName[q.Result].Schema)))
				if m.byName[q.Result].Kind == ir.KeyedRaw {
					text = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
				}
				r, err := answer(jsonrpc.Frame{Data: []byte(text)})
				if err != nil {
					rt.Fatalf("%v: %s", err, text)
				}
				if out := r.AppendJSON(nil); !wire.Equal(wire.Raw(text), out) {
					rt.Fatalf("want %s\ngot  %s", text, out)
				}
			}))
		}
	})
}
