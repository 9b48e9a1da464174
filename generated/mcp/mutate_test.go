package mcp_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/runtime/wire"
)

// place is one value inside an example.
type place struct {
	path string // as errors spell it
	raw  wire.Raw
	from int // where it stands in the text
}

// places lists the values of a compact text, the whole one first.
func places(text wire.Raw) []place {
	var out []place
	var walk func(raw wire.Raw, path string, from int)
	walk = func(raw wire.Raw, path string, from int) {
		out = append(out, place{path, raw, from})
		i := from + 1
		switch raw.Kind() {
		case wire.KindObject:
			for k, v := range raw.Members() {
				i += len(wire.Quote(k)) + 1
				walk(v, under(path, k), i)
				i += len(v) + 1
			}
		case wire.KindArray:
			n := 0
			for v := range raw.Elems() {
				walk(v, path+"["+strconv.Itoa(n)+"]", i)
				i += len(v) + 1
				n++
			}
		}
	}
	walk(text, "", 0)
	return out
}

func under(path, key string) string {
	for _, r := range key {
		if r != '_' && r != '$' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return path + "[" + string(wire.Quote(key)) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// typed says what the model wants at the paths of a value: the kinds, "" for
// any, and whether null stands for nothing there.
type typed struct {
	want     string
	optional bool
	tells    bool // which arm of a union this is: with another value it may be one that nobody knows
	raw      bool // it is kept as it comes
}

// wants goes down a value along the model.
func (m model) wants(text wire.Raw, x *ir.Type, path string, out map[string]typed) {
	switch x.Kind {
	case ir.Alias:
		m.wants(text, m.byName[x.Target], path, out)
	case ir.Union:
		if arm := m.arm(text, x); arm != nil {
			m.wants(text, arm, path, out)
		}
		out[path] = typed{want: "object"}
		for _, key := range m.keys(x) {
			at := path
			for _, k := range strings.Split(key, ".") {
				at = under(at, k)
				if w, ok := out[at]; ok {
					w.tells = true
					out[at] = w
				}
			}
		}
	case ir.OneOrMany:
		if text.Kind() == wire.KindArray {
			n := 0
			for v := range text.Elems() {
				m.wants(v, m.byName[x.Elem], path+"["+strconv.Itoa(n)+"]", out)
				n++
			}
		} else {
			m.wants(text, m.byName[x.Elem], path, out)
		}
		out[path] = typed{want: "object array"}
	case ir.MapOf:
		m.wantsRef(text, ir.Ref{Kind: ir.Map, Elem: &ir.Ref{Kind: ir.Named, Name: x.Elem}}, path, out)
	case ir.Enum:
		out[path] = typed{want: "string"}
	case ir.Struct:
		out[path] = typed{want: "object"}
		for _, f := range x.Fields {
			v := text.Get(f.JSON)
			if v == nil {
				continue
			}
			p := under(path, f.JSON)
			if f.Const != "" {
				out[p] = typed{want: "string"}
				continue
			}
			m.wantsRef(v, f.Type, p, out)
			if w, ok := out[p]; ok && !f.Required {
				w.optional = true
				out[p] = w
			}
		}
	}
}

func (m model) wantsRef(text wire.Raw, r ir.Ref, path string, out map[string]typed) {
	want := map[ir.RefKind]string{
		ir.String: "string", ir.Base64: "string", ir.Bool: "boolean", ir.Int: "number", ir.Float: "number", ir.NullInt: "number null",
		ir.RawObject: "object", ir.ID: "string number", ir.Slice: "array", ir.Map: "object",
	}[r.Kind]
	if want != "" {
		out[path] = typed{want: want, raw: r.Kind == ir.RawObject}
	}
	switch r.Kind {
	case ir.Named:
		m.wants(text, m.byName[r.Name], path, out)
	case ir.Slice:
		n := 0
		for v := range text.Elems() {
			m.wantsRef(v, *r.Elem, path+"["+strconv.Itoa(n)+"]", out)
			n++
		}
	case ir.Map:
		for k, v := range text.Members() {
			m.wantsRef(v, *r.Elem, under(path, k), out)
		}
	}
}

// keys are the members that are looked at to tell the arms of a union apart.
func (m model) keys(x *ir.Type) []string {
	keys := []string{x.Plan.Key}
	for _, c := range x.Plan.Cases {
		keys = append(keys, c.Key)
		for _, s := range c.Steps {
			keys = append(keys, s.Has)
		}
	}
	return keys
}

// arm finds the member of a union that a value is.
func (m model) arm(text wire.Raw, x *ir.Type) *ir.Type {
	tag, tagged := text.Get(x.Plan.Key).Str()
	for _, c := range x.Plan.Cases {
		switch x.Plan.Kind {
		case ir.ByPresence:
			if text.Get(c.Key) != nil {
				return m.byName[c.Type]
			}
		default:
			if !tagged || tag != c.Value {
				continue
			}
			if c.Type != "" {
				return m.byName[c.Type]
			}
			for _, s := range c.Steps {
				at := text
				for _, k := range strings.Split(s.Has, ".") {
					if s.Has != "" {
						at = at.Get(k)
					}
				}
				if at != nil {
					return m.byName[s.Type]
				}
			}
		}
	}
	if !tagged && x.Plan.Absent != "" {
		return m.byName[x.Plan.Absent]
	}
	return nil
}

// kindNames are the words of the kinds as typed has them.
var kindNames = map[wire.Kind]string{
	wire.KindNull: "null", wire.KindBool: "boolean", wire.KindNumber: "number", wire.KindString: "string", wire.KindArray: "array", wire.KindObject: "object",
}

// other is another value of the same kind.
func other(raw wire.Raw) string {
	switch raw.Kind() {
	case wire.KindString:
		return `"another \u00e9"`
	case wire.KindNumber:
		if string(raw) == "1" {
			return "0"
		}
		return "1"
	case wire.KindBool:
		if string(raw) == "true" {
			return "false"
		}
		return "true"
	}
	return "0"
}

// eachPlace calls f for values inside each example that a type reads, with what
// the model wants there. Of long examples, which consist of others, it takes
// the first places and every so many of the rest.
func eachPlace(t *testing.T, f func(t *testing.T, e entry, text wire.Raw, p place, w typed, known bool)) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		squeezed := squeeze(compact(t, m.sample(t, x.Name)))
		want := map[string]typed{}
		m.wants(squeezed, x, "", want)
		all := places(squeezed)
		step := 1 + len(all)/40
		for i := 0; i < len(all); i++ {
			if i > 25 && i%step != 0 {
				continue
			}
			w, known := want[all[i].path]
			f(t, e, squeezed, all[i], w, known)
		}
	})
}

// squeeze writes a value without white space and escapes, as places expects.
func squeeze(r wire.Raw) wire.Raw {
	switch r.Kind() {
	case wire.KindObject:
		b := []byte("{")
		for k, v := range r.Members() {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(append(append(b, wire.Quote(k)...), ':'), squeeze(v)...)
		}
		return append(b, '}')
	case wire.KindArray:
		b := []byte("[")
		for v := range r.Elems() {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, squeeze(v)...)
		}
		return append(b, ']')
	}
	return r
}

func put(text wire.Raw, p place, v string) string {
	return string(text[:p.from]) + v + string(text[p.from+len(p.raw):])
}

// TestErrorNamesTheElement holds the text of an error deep in a list: returned
// when reading strictly, reported when reading leniently.
func TestErrorNamesTheElement(t *testing.T) {
	const want = "tools[3].inputSchema: want an object, got a string"
	eachRevision(t, func(t *testing.T, m model) {
		e := types[m.Revision]["ListToolsResult"]
		tool := `{"name":"a","inputSchema":{"type":"object"}}`
		text := []byte(`{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` + tool + `,` + tool + `,` + tool + `,{"name":"d","inputSchema":"none"}]}`)
		_, _, err := e.read(text, wire.Options{})
		require.EqualError(t, err, want)
		v, problems, err := e.read(text, wire.Options{Lenient: true})
		require.NoError(t, err)
		require.Len(t, problems, 1)
		require.Equal(t, want, problems[0].String())
		require.Equal(t, "["+tool+","+tool+","+tool+"]", write(t, v).Get("tools").String())
	})
}

// TestOneLeaf changes one leaf of each example, and holds that only that leaf
// has changed when the value is written.
func TestOneLeaf(t *testing.T) {
	eachPlace(t, func(t *testing.T, e entry, text wire.Raw, p place, w typed, known bool) {
		if k := p.raw.Kind(); k == wire.KindObject || k == wire.KindArray {
			return
		}
		changed := put(text, p, other(p.raw))
		if wire.Equal(text, wire.Raw(changed)) {
			t.Fatalf("%s: nothing was changed", p.path)
		}
		v, _, err := e.read([]byte(changed), wire.Options{})
		if err != nil { // a constant, or what tells a union apart
			if at := errorAt(t, err); at != p.path && !strings.HasPrefix(at, parent(p.path)) {
				t.Fatalf("%v: not at %s", err, p.path)
			}
			return
		}
		requireEqual(t, changed, write(t, v))
	})
}

func parent(path string) string {
	return strings.TrimRight(path[:strings.LastIndexAny(path, ".[")+1], ".[")
}

// errorAt gives the path of a decoding error.
func errorAt(t *testing.T, err error) string {
	t.Helper()
	var we *wire.Error
	if !errors.As(err, &we) {
		t.Fatalf("not a *wire.Error: %v", err)
	}
	return we.Path
}

// TestWrongTypeAtEveryPath puts a value of each other kind at each place of
// each example, and holds that the error names that very place and both kinds;
// where anything may stand, that it is kept.
func TestWrongTypeAtEveryPath(t *testing.T) {
	wrong := []string{`"s"`, "7", "true", "null", "[]", "{}"}
	eachPlace(t, func(t *testing.T, e entry, text wire.Raw, p place, w typed, known bool) {
		for _, v := range wrong {
			kind := kindNames[wire.Raw(v).Kind()]
			if known && strings.Contains(" "+w.want+" ", " "+kind+" ") {
				continue
			}
			changed := put(text, p, v)
			x, _, err := e.read([]byte(changed), wire.Options{})
			switch {
			case !known && err == nil:
				requireEqual(t, changed, write(t, x))
			case !known:
				t.Fatalf("%s: %v: %s", p.path, err, changed)
			case err == nil && kind == "null" && w.optional:
			case err == nil:
				if !w.tells {
					t.Fatalf("%s took %s: %s", p.path, v, changed)
				}
				requireEqual(t, changed, write(t, x))
			default:
				if at := errorAt(t, err); at != p.path && !w.tells || !strings.Contains(err.Error(), "want ") {
					t.Fatalf("%v: want it at %s: %s", err, p.path, changed)
				}
			}
		}
	})
}
