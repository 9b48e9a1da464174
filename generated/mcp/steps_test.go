package mcp_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/runtime/wire"
)

// conversion converts values of one type, as text, to the neighbouring
// revision and back. A text that is no value of the type is a *notOne.
type conversion struct {
	up, down func(text []byte, e *wire.Env) (wire.Raw, error)
}

type notOne struct{ error }

type decoded[T any] interface {
	*T
	wire.Decoder
	wire.Appender
}

func typePair[O, N any, PO decoded[O], PN decoded[N]](up func(PO, *wire.Env) (PN, error), down func(PN, *wire.Env) (PO, error)) conversion {
	return conversion{oneWay(decodeNew[O, PO], up), oneWay(decodeNew[N, PN], down)}
}

//lint:ignore U1000 a map that two revisions have comes with the next one
func mapPair[O, N any, PO decoded[O], PN decoded[N]](up func(O, *wire.Env) (N, error), down func(N, *wire.Env) (O, error)) conversion {
	return conversion{
		oneWay(decodeNew[O, PO], func(v PO, e *wire.Env) (PN, error) { n, err := up(*v, e); return &n, err }),
		oneWay(decodeNew[N, PN], func(v PN, e *wire.Env) (PO, error) { o, err := down(*v, e); return &o, err }),
	}
}

func unionPair[O, N wire.Appender](decodeO func(*wire.Dec) (O, error), decodeN func(*wire.Dec) (N, error), up func(O, *wire.Env) (N, error), down func(N, *wire.Env) (O, error)) conversion {
	return conversion{oneWay(decodeO, up), oneWay(decodeN, down)}
}

func decodeNew[T any, P decoded[T]](d *wire.Dec) (P, error) {
	v := P(new(T))
	return v, v.DecodeJSON(d)
}

func oneWay[A, B wire.Appender](decode func(*wire.Dec) (A, error), convert func(A, *wire.Env) (B, error)) func([]byte, *wire.Env) (wire.Raw, error) {
	return func(text []byte, e *wire.Env) (wire.Raw, error) {
		var d wire.Dec
		d.Reset(bytes.Clone(text), wire.Options{})
		v, err := decode(&d)
		if err == nil {
			err = d.End()
		}
		if err != nil {
			return nil, &notOne{err}
		}
		before := v.AppendJSON(nil)
		out, err := convert(v, e)
		if after := v.AppendJSON(nil); !bytes.Equal(before, after) {
			panic(fmt.Sprintf("the conversion changed what it was given: %s is now %s", before, after))
		}
		if err != nil {
			return nil, err
		}
		return out.AppendJSON(nil), nil
	}
}

// step is two neighbouring revisions, with what the comparison says of them.
type step struct {
	name         string
	older, newer model
	classes      map[string]*delta.Conversion // of the types that changed, by name in the newer revision
	plan         *ir.StepPackage
}

var steps = sync.OnceValues(func() ([]step, error) {
	pkgs, err := models()
	if err != nil {
		return nil, err
	}
	var out []step
	for i := 1; i < len(pkgs); i++ {
		plan, err := delta.Step(pkgs[i-1], pkgs[i])
		if err != nil {
			return nil, err
		}
		d, err := delta.Compare(pkgs[i-1], pkgs[i])
		if err != nil {
			return nil, err
		}
		s := step{plan.Name, newModel(pkgs[i-1]), newModel(pkgs[i]), map[string]*delta.Conversion{}, plan}
		for _, c := range d.Conversions {
			s.classes[c.Type] = c
		}
		out = append(out, s)
	}
	return out, nil
})

// eachWay calls f for each type of each step, in both directions.
func eachWay(t *testing.T, f func(t *testing.T, s step, w *ir.Way, there, back func([]byte, *wire.Env) (wire.Raw, error))) {
	all, err := steps()
	require.NoError(t, err)
	for _, s := range all {
		for dir, ways := range map[string][]*ir.Way{"up": s.plan.Up, "down": s.plan.Down} {
			t.Run(s.name+"/"+dir, func(t *testing.T) {
				for _, w := range ways {
					name := w.To.Name
					if !w.Up {
						name = w.From.Name
					}
					c, ok := conversions[s.name][name]
					if w.Kind == ir.CastEnum {
						require.False(t, ok)
						continue
					}
					require.True(t, ok, name)
					there, back := c.up, c.down
					if !w.Up {
						there, back = back, there
					}
					t.Run(name, func(t *testing.T) { f(t, s, w, there, back) })
				}
			})
		}
	}
}

func (s step) sides(up bool) (from, to model) {
	if up {
		return s.older, s.newer
	}
	return s.newer, s.older
}

// TestStepsCoverWhatBothRevisionsHave holds that each type that two neighbours
// have is converted, unless a rule says that it means another thing.
func TestStepsCoverWhatBothRevisionsHave(t *testing.T) {
	all, err := steps()
	require.NoError(t, err)
	for _, s := range all {
		have := map[string]bool{}
		for _, w := range s.plan.Up {
			have[w.To.Name] = true
		}
		for _, x := range s.newer.Types {
			o := s.older.byName[x.Name]
			if o != nil && o.Kind != ir.Alias && o.Kind != ir.Interface && x.Kind != ir.Alias && x.Kind != ir.Interface && !delta.Apart(s.newer.Revision, x.Name) {
				require.True(t, have[x.Name], "%s: %s", s.name, x.Name)
			}
		}
		require.Len(t, s.plan.Down, len(s.plan.Up))
	}
}

// maximal makes the value of a schema that has every member, and in every list
// something of each kind. Where there is room for one thing of several,
// variant says which.
type maximal struct {
	*instances // for its look into schemas
	variant    int
	revision   string
}

func (g *maximal) all(schema any, name string) []string {
	s, ok := schema.(map[string]any)
	if !ok || len(s) == 0 {
		return []string{fmt.Sprintf(`[%q,1,null]`, name), fmt.Sprintf(`{"any":%q}`, name)}
	}
	if ref, _ := s["$ref"].(string); strings.HasSuffix(ref, "/JSONValue") {
		return g.all(nil, name)
	}
	s = g.deref(s)
	switch {
	case s["const"] != nil:
		return []string{quoted(s["const"])}
	case s["enum"] != nil:
		var out []string
		for _, v := range s["enum"].([]any) {
			out = append(out, quoted(v))
		}
		return out
	case s["allOf"] != nil:
		return []string{g.whole(g.merged(s, g.pick))}
	case s["anyOf"] != nil && s["properties"] != nil:
		more := maps.Clone(s)
		delete(more, "anyOf")
		return g.all(more, name)
	case s["anyOf"] != nil:
		var out []string
		for _, a := range s["anyOf"].([]any) {
			out = append(out, g.all(a, name)...)
		}
		return out
	case s["properties"] != nil || s["additionalProperties"] != nil:
		return []string{g.whole(s)}
	}
	var out []string
	kinds, ok := s["type"].([]any)
	if !ok {
		kinds = []any{s["type"]}
	}
	for _, k := range kinds {
		switch k {
		case "string":
			out = append(out, quoted(name))
		case "integer", "number":
			some := allowed(s, "0", "1", "3")
			out = append(out, some[len(some)-1])
		case "boolean":
			out = append(out, "true", "false")
		case "null":
			out = append(out, "null")
		case "array":
			out = append(out, "["+strings.Join(g.all(s["items"], name), ",")+"]")
		default:
			out = append(out, g.whole(s))
		}
	}
	return out
}

// pick gives each of several sets of members its turn.
func (g *maximal) pick(below int) int {
	if below > variants {
		panic(fmt.Sprintf("%d sets of members, and %d variants", below, variants))
	}
	return g.variant % below
}

func (g *maximal) whole(s map[string]any) string {
	if g.depth++; g.depth > 12 {
		g.depth--
		return "{}"
	}
	defer func() { g.depth-- }()
	var out []string
	props, _ := s["properties"].(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		v := ""
		switch {
		case k == "resultType" && g.deref(props[k].(map[string]any))["const"] == nil:
			v = `"complete"` // any other is of an extension
		case k == "io.modelcontextprotocol/protocolVersion":
			v = quoted(g.revision)
		default:
			all := g.all(props[k], k)
			v = all[g.variant%len(all)]
		}
		out = append(out, quoted(k)+":"+v)
	}
	if more, _ := s["additionalProperties"].(map[string]any); len(more) > 0 {
		for i, v := range g.all(more, "value") {
			out = append(out, fmt.Sprintf(`"key%d":%s`, i, v))
		}
	} else {
		out = append(out, `"x-unknown":{"n":[1.0,null]}`)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// variants is how many values are needed until each alternative had its turn.
const variants = 6

// maximals are the maximal values of a type.
func maximals(t testing.TB, m model, x *ir.Type) []string {
	var out []string
	defs := definitionsOf(t, m.Revision)
	for v := range variants {
		g := &maximal{instances: &instances{defs: defs}, variant: v, revision: m.Revision}
		for _, text := range g.all(g.at(x.Schema), "value") {
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}

// TestMaximalsAreValues holds that there are maximal values of every type of
// every revision, also of the newest, which is not the older side of a step yet;
// that each is valid by the schema, is written as it was read and has every
// member.
func TestMaximalsAreValues(t *testing.T) {
	eachType(t, func(t *testing.T, m model, x *ir.Type, e entry) {
		p, err := validate.For(m.Revision)
		require.NoError(t, err)
		all := maximals(t, m, x)
		require.NotEmpty(t, all)
		for _, text := range all {
			v, problems, err := e.read([]byte(text), wire.Options{})
			require.NoError(t, err, text)
			require.Empty(t, problems, text)
			require.True(t, wire.Equal(wire.Raw(text), v.AppendJSON(nil)), text)
			if p.Has(x.Schema) && x.Kind != ir.KeyedRaw {
				require.NoError(t, p.Definition(x.Schema, []byte(text)), text)
			}
		}
		if x.Kind != ir.Struct {
			return
		}
		for _, f := range x.Fields {
			for _, text := range all {
				require.NotNil(t, wire.Raw(text).Get(f.JSON), "%s: %s", f.JSON, text)
			}
		}
	})
}

var definitionsMemo sync.Map

func definitionsOf(t testing.TB, revision string) map[string]any {
	if d, ok := definitionsMemo.Load(revision); ok {
		return d.(map[string]any)
	}
	d := definitions(t, revision)
	definitionsMemo.Store(revision, d)
	return d
}

// environment is what conversions of the tests know of the session: nothing
// that a value could say itself, so that what is dropped is seen.
func environment(p wire.Policy) *wire.Env {
	n := 0
	return &wire.Env{Policy: p, MaxLosses: 10_000, ElicitationID: func() string { n++; return "made-up-" + strconv.Itoa(n) }}
}

// TestStepsGolden pins what becomes of a value that has every member, of each
// type, one revision up and down, and exactly what is lost.
func TestStepsGolden(t *testing.T) {
	all, err := steps()
	require.NoError(t, err)
	for _, s := range all {
		for dir, ways := range map[string][]*ir.Way{"up": s.plan.Up, "down": s.plan.Down} {
			t.Run(s.name+"/"+dir, func(t *testing.T) {
				var b strings.Builder
				for _, w := range ways {
					name := w.To.Name
					if !w.Up {
						name = w.From.Name
					}
					c, ok := conversions[s.name][name]
					if !ok {
						continue
					}
					convert := c.up
					if !w.Up {
						convert = c.down
					}
					from, _ := s.sides(w.Up)
					for i, text := range maximals(t, from, w.From) {
						e := environment(wire.Degrade)
						out, err := convert([]byte(text), e)
						if i > 0 && err == nil && wire.Equal(out, wire.Raw(text)) {
							continue // the first stands for all that pass as they are
						}
						fmt.Fprintf(&b, "%s\n  from %s\n", w.From.Name, text)
						switch {
						case err != nil:
							fmt.Fprintf(&b, "  error %v\n", err)
						case wire.Equal(out, wire.Raw(text)):
							fmt.Fprintf(&b, "  to the same\n")
						default:
							fmt.Fprintf(&b, "  to   %s\n", out)
						}
						for _, l := range e.Losses {
							fmt.Fprintf(&b, "  lost %s\n", l)
						}
						require.Zero(t, e.MoreLosses)
					}
				}
				file := filepath.Join("testdata", "steps", s.name+"-"+dir+".golden")
				if *update {
					require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
					require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
				}
				want, err := os.ReadFile(file)
				require.NoError(t, err)
				require.Equal(t, string(want), b.String(), "run: go test ./generated/mcp -run TestStepsGolden -update, and look at what changed")
			})
		}
	}
}

// unseen are the losses that the comparison of the models cannot see: both have
// any object there, and the specification asks for more.
var unseen = map[string]bool{"step20260728 Tool outputSchema": true}

// TestStepsThereAndBack holds that a value that went to the neighbouring
// revision and came back is what it was, less exactly what was said to be lost
// on the way there; that nothing is lost there where the comparison of the two
// revisions says so; and that with Keep nothing is lost but what the other
// revision cannot say.
func TestStepsThereAndBack(t *testing.T) {
	eachWay(t, func(t *testing.T, s step, w *ir.Way, there, back func([]byte, *wire.Env) (wire.Raw, error)) {
		from, _ := s.sides(w.Up)
		name := w.To.Name
		if !w.Up {
			name = w.From.Name
		}
		class := delta.Lossless
		if c := s.classes[name]; c != nil {
			class = c.Down
			if w.Up {
				class = c.Up
			}
		}
		for _, text := range maximals(t, from, w.From) {
			for _, e := range []*wire.Env{environment(wire.Degrade), {Keep: true, MaxLosses: 10_000, ElicitationID: func() string { return "1" }}, environment(wire.Drop)} {
				out, err := there([]byte(text), e)
				if err != nil {
					var cannot *wire.ConvertError
					require.ErrorAs(t, err, &cannot, text)
					require.True(t, cannot.Omit || strings.Contains(string(class), "X"), "%s: %v", text, err)
					continue
				}
				for _, l := range e.Losses {
					if !strings.ContainsAny(string(class), "LX") && !unseen[s.name+" "+name+" "+l.Path] {
						t.Fatalf("%s: %s is lost, and the class is %s", text, l, class)
					}
				}
				got, err := back(out, environment(wire.Degrade))
				require.NoError(t, err, "%s, by way of %s", text, out)
				lost := map[string]bool{}
				for _, l := range e.Losses {
					lost[l.Path] = true
				}
				if where := differs(wire.Raw(text), got, "", lost); where != "" {
					t.Fatalf("at %s, with losses %v\nfrom %s\nto   %s\nback %s", where, e.Losses, text, out, got)
				}
			}
		}
	})
}

// differs gives the first place where two values differ that is not among the
// lost ones, "" if there is none. Elements of lists that were lost may be gone.
func differs(was, is wire.Raw, path string, lost map[string]bool) string {
	if lost[path] {
		return ""
	}
	switch {
	case was.Kind() == wire.KindObject && is.Kind() == wire.KindObject:
		was = titled(was, is)
		for k, v := range was.Members() {
			if w := differs(v, is.Get(k), below(path, k), lost); w != "" {
				return w
			}
		}
		for k := range is.Members() {
			if was.Get(k) == nil && !lost[below(path, k)] {
				return below(path, k) + " (invented)"
			}
		}
		return ""
	case was.Kind() == wire.KindArray && is.Kind() == wire.KindArray:
		a, b := slices.Collect(was.Elems()), slices.Collect(is.Elems())
		gone := len(a) != len(b)
		j := 0
		for i := range a {
			p := fmt.Sprintf("%s[%d]", path, i)
			if gone && lost[p] {
				continue
			}
			if j >= len(b) {
				return p
			}
			if w := differs(a[i], b[j], p, lost); w != "" {
				return w
			}
			j++
		}
		if j < len(b) {
			return path + " (longer)"
		}
		return ""
	}
	if is == nil || !wire.Equal(was, is) {
		return path + " "
	}
	return ""
}

// titled writes a choice with titles as 2025-06-18 does where the other value is
// written so: it means the same.
func titled(was, is wire.Raw) wire.Raw {
	if was.Get("oneOf") == nil || is.Get("enumNames") == nil {
		return was
	}
	var values, names []string
	for o := range was.Get("oneOf").Elems() {
		values, names = append(values, o.Get("const").String()), append(names, o.Get("title").String())
	}
	out := []string{fmt.Sprintf(`"enum":[%s],"enumNames":[%s]`, strings.Join(values, ","), strings.Join(names, ","))}
	for k, v := range was.Members() {
		if k != "oneOf" {
			out = append(out, quoted(k)+":"+v.String())
		}
	}
	return wire.Raw("{" + strings.Join(out, ",") + "}")
}

// below is the path of a member.
func below(path, name string) string {
	e := wire.Under(path, wire.Under("x", &wire.Error{})).(*wire.Error)
	prefix := strings.TrimSuffix(e.Path, "x")
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789") != "" {
		return strings.TrimSuffix(prefix, ".") + "[" + quoted(name) + "]"
	}
	return prefix + name
}

// TestStepsKeepValidity converts random valid values: what comes out is valid
// in the other revision, or there is an error that says where and why.
func TestStepsKeepValidity(t *testing.T) {
	eachWay(t, func(t *testing.T, s step, w *ir.Way, there, back func([]byte, *wire.Env) (wire.Raw, error)) {
		from, to := s.sides(w.Up)
		p, err := validate.For(to.Revision)
		require.NoError(t, err)
		defs := definitions(t, from.Revision)
		rapid.MakeCheck(func(rt *rapid.T) {
			g := &instances{defs: defs, t: rt, extra: rapid.Bool().Draw(rt, "extra"), odd: rapid.Bool().Draw(rt, "odd")}
			text := g.value(g.at(w.From.Schema))
			e := environment(wire.Policy(g.n(3)))
			e.Keep = g.n(4) == 0
			if g.n(2) == 0 {
				e.ClientCapabilities, e.ClientInfo, e.LogLevel = wire.Raw(`{"roots":{}}`), wire.Raw(`{"name":"c","version":"1"}`), "info"
			}
			out, err := there([]byte(text), e)
			if err != nil {
				if no := (*notOne)(nil); errors.As(err, &no) {
					rt.Fatalf("%v: %s", err, text)
				}
				if cannot := (*wire.ConvertError)(nil); !errors.As(err, &cannot) {
					rt.Fatalf("%T %v: %s", err, err, text)
				}
				return
			}
			if !g.odd && p.Has(w.To.Schema) && w.To.Kind != ir.KeyedRaw {
				if err := p.Definition(w.To.Schema, out); err != nil {
					rt.Fatalf("%v\nfrom %s\nto   %s\nlost %v", err, text, out, e.Losses)
				}
			}
			if _, err := back(out, environment(wire.Degrade)); err != nil {
				if cannot := (*wire.ConvertError)(nil); !errors.As(err, &cannot) {
					rt.Fatalf("%v\nfrom %s\nto   %s", err, text, out)
				}
			}
		})(t)
	})
}

// FuzzSteps converts whatever reads as a value: nothing panics, what comes out
// is JSON that reads as a value of the other revision, and errors say where.
func FuzzSteps(f *testing.F) {
	all, err := steps()
	if err != nil {
		f.Fatal(err)
	}
	type one struct {
		name        string
		there, back func([]byte, *wire.Env) (wire.Raw, error)
	}
	var ways []one
	for _, s := range all {
		for _, w := range slices.Concat(s.plan.Up, s.plan.Down) {
			name, from := w.To.Name, s.older
			if !w.Up {
				name, from = w.From.Name, s.newer
			}
			c, ok := conversions[s.name][name]
			if !ok {
				continue
			}
			if !w.Up {
				c.up, c.down = c.down, c.up
			}
			if !w.Sure { // the others are copied member by member
				f.Add(uint16(len(ways)), byte(0), []byte(maximals(f, from, w.From)[0]))
			}
			ways = append(ways, one{s.name + " " + name, c.up, c.down})
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, policy byte, text []byte) {
		w := ways[int(which)%len(ways)]
		e := environment(wire.Policy(policy % 3))
		e.Keep = policy&4 != 0
		out, err := w.there(text, e)
		if err != nil {
			return
		}
		if _, err := wire.ParseRaw(out); err != nil {
			t.Fatalf("%s: %v: %s", w.name, err, out)
		}
		if _, err := w.back(out, nil); err != nil {
			if no := (*notOne)(nil); errors.As(err, &no) {
				t.Fatalf("%s: %v\nfrom %s\nto   %s", w.name, err, text, out)
			}
		}
	})
}

// TestStepsKnowMembersThatCameAsUnknown adds to a value, as unknown members,
// those that only the other revision names: there they are what they are, and
// with Keep they are unknown members again after the way back.
func TestStepsKnowMembersThatCameAsUnknown(t *testing.T) {
	eachWay(t, func(t *testing.T, s step, w *ir.Way, there, back func([]byte, *wire.Env) (wire.Raw, error)) {
		if len(w.Takes) == 0 {
			return
		}
		from, to := s.sides(w.Up)
		whole := wire.Raw(maximals(t, to, w.To)[0])
		text := maximals(t, from, w.From)[0]
		for _, f := range w.Takes {
			if v := whole.Get(f.JSON); v != nil {
				text = text[:len(text)-1] + "," + quoted(f.JSON) + ":" + v.String() + "}"
			}
		}
		e := environment(wire.Degrade)
		e.Keep = true
		out, err := there([]byte(text), e)
		require.NoError(t, err)
		for _, f := range w.Takes {
			if f.JSON != "resultType" {
				require.True(t, wire.Equal(whole.Get(f.JSON), out.Get(f.JSON)), "%s: want %s\ngot  %s", f.JSON, whole.Get(f.JSON), out.Get(f.JSON))
			}
		}
		keep := environment(wire.Degrade)
		keep.Keep = true
		got, err := back(out, keep)
		require.NoError(t, err)
		lost := map[string]bool{}
		for _, l := range slices.Concat(e.Losses, keep.Losses) {
			if !strings.Contains(l.Path, "io.modelcontextprotocol/") { // these belong to the session, and are in no message of one
				require.NotContains(t, l.Why, "no member", "it is to be kept")
			}
			lost[l.Path] = true
		}
		for _, silent := range []string{"mode", "resultType", "ttlMs", "cacheScope", "_meta[\"io.modelcontextprotocol/protocolVersion\"]", "[\"io.modelcontextprotocol/protocolVersion\"]"} {
			lost[silent] = true // what is not said where it goes without saying
		}
		if where := differs(wire.Raw(text), got, "", lost); where != "" {
			t.Fatalf("at %s, with losses %v\nfrom %s\nto   %s\nback %s", where, keep.Losses, text, out, got)
		}
	})
}
