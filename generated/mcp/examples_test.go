package mcp_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// models are the models that the packages were printed from: the examples of
// these tests are made from them, so no type is forgotten.
var models = sync.OnceValues(func() ([]*ir.Package, error) { return build.All(spec.Files()) })

// model is one package's model with its types by name.
type model struct {
	*ir.Package
	byName map[string]*ir.Type
}

func newModel(p *ir.Package) model {
	m := model{p, map[string]*ir.Type{}}
	for _, x := range m.Types {
		m.byName[x.Name] = x
	}
	return m
}

func eachRevision(t *testing.T, f func(t *testing.T, m model)) {
	pkgs, err := models()
	require.NoError(t, err)
	for _, p := range pkgs {
		m := model{p, map[string]*ir.Type{}}
		for _, x := range p.Types {
			m.byName[x.Name] = x
		}
		t.Run(p.Revision, func(t *testing.T) { f(t, m) })
	}
}

// eachType calls f for each type that reads and writes itself.
func eachType(t *testing.T, f func(t *testing.T, m model, x *ir.Type, e entry)) {
	eachRevision(t, func(t *testing.T, m model) {
		for _, x := range m.Types {
			if e, ok := types[m.Revision][x.Name]; ok {
				t.Run(x.Name, func(t *testing.T) { f(t, m, x, e) })
			}
		}
	})
}

// form says which members an example has.
type form int

const (
	least   form = iota // required ones
	most                // all
	zeros               // required ones, as zero as they may be
	empty               // all, as zero as they may be
	strange             // all, with unknown members, values and arms wherever they may be
)

func (f form) all() bool  { return f == most || f == empty || f == strange }
func (f form) zero() bool { return f == zeros || f == empty }

// maker makes examples. pick chooses among the arms of unions, so that several
// examples see all of them.
type maker struct {
	m     model
	f     form
	pick  int
	depth int
}

func (m model) example(name string, f form, pick int) string {
	k := &maker{m: m, f: f, pick: pick}
	return k.typ(m.byName[name])
}

// arms is how many examples of a type see every arm of the unions in it.
func (m model) arms() int {
	n := 1
	for _, x := range m.Types {
		n = max(n, len(x.Arms))
	}
	return n
}

func (k *maker) typ(x *ir.Type) string {
	k.depth++
	defer func() { k.depth-- }()
	switch x.Kind {
	case ir.Alias:
		return k.typ(k.m.byName[x.Target])
	case ir.Enum:
		switch {
		case k.f == strange:
			return `"never-heard-of"`
		default:
			return fmt.Sprintf("%q", x.Values[k.pick%len(x.Values)].Value)
		}
	case ir.Union:
		if k.f == strange && k.depth > 1 {
			if x.Plan.Kind == ir.ByPresence {
				return `{"shape":"unknown"}`
			}
			return fmt.Sprintf(`{%q:"unknown","n":1e2}`, x.Plan.Key)
		}
		return k.typ(k.m.byName[x.Arms[k.pick%len(x.Arms)].Type])
	case ir.RawUnion:
		all := []string{`"text"`, `""`}
		for _, r := range x.Raws {
			all = append(all, map[ir.RawKind][]string{
				ir.RawBool: {"true", "false"}, ir.RawInt: {"0", "7"}, ir.RawFloat: {"2.50", "0"}, ir.RawStrings: {`[]`, `["a","b"]`},
			}[r]...)
		}
		if k.f == strange {
			return `{"neither":[null]}`
		}
		return all[k.pick%len(all)]
	case ir.KeyedRaw:
		if k.f == strange {
			return `{"made":"up"}`
		}
		return k.typ(k.m.byName[x.Arms[k.pick%len(x.Arms)].Type])
	case ir.OneOrMany:
		one := k.typ(k.m.byName[x.Elem])
		switch k.pick % 3 {
		case 0:
			return one
		case 1:
			return "[" + one + "]"
		}
		if k.f.zero() {
			return "[]"
		}
		return "[" + one + "," + one + "]"
	case ir.MapOf:
		return k.mapping(ir.Ref{Kind: ir.Named, Name: x.Elem})
	case ir.Struct:
		return k.object(x)
	}
	panic(x.Kind)
}

func (k *maker) object(x *ir.Type) string {
	var out []string
	for _, f := range x.Fields {
		switch {
		case f.Const != "":
			out = append(out, fmt.Sprintf("%q:%q", f.JSON, f.Const))
		case x.Name == "InputRequiredResult" && f.JSON == "requestState":
			out = append(out, `"requestState":"s"`) // one of two optional members has to be there
		case f.JSON == "status" && k.byStatus(x) && !k.f.all():
			out = append(out, `"status":"working"`) // any other may ask for an optional member
		case f.Implied == `"form"`:
			if k.f.all() {
				out = append(out, `"mode":"form"`)
			}
		case f.Required || k.f.all():
			out = append(out, fmt.Sprintf("%q:%s", f.JSON, k.ref(f.Type, f)))
		}
	}
	if k.f == strange {
		out = append(out, `"x-strange":{"a":[1.0,null,"\ud83d\ude00"]}`, `"":0`)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// byStatus says whether a type is a task with what its status asks for.
func (k *maker) byStatus(x *ir.Type) bool {
	return x.Extension != "" && (x.Name == "GetTaskResult" || x.Name == "TaskStatusParams")
}

// within moves a number to the nearest bound of a member that does not allow it.
func within(f *ir.Field, text string) string {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || f == nil:
	case f.Min != nil && v < *f.Min:
		return strconv.FormatFloat(*f.Min, 'f', -1, 64)
	case f.Max != nil && v > *f.Max:
		return strconv.FormatFloat(*f.Max, 'f', -1, 64)
	}
	return text
}

func (k *maker) ref(r ir.Ref, f *ir.Field) string {
	zero := k.f.zero()
	choose := func(full, nothing string) string {
		if zero {
			return nothing
		}
		return full
	}
	switch r.Kind {
	case ir.String:
		if f != nil && strings.HasPrefix(f.Format, "uri") {
			return choose(`"https://example.com/a{?b}"`, `""`)
		}
		return choose(`"te\"xt \u00e9\n"`, `""`)
	case ir.Base64:
		return choose(`"AAECAw=="`, `""`)
	case ir.Bool:
		return choose("true", "false")
	case ir.Int:
		return within(f, choose("9007199254740993", "0"))
	case ir.Float:
		return within(f, choose("0.5", "0"))
	case ir.NullInt:
		return choose("60000", "null")
	case ir.RawAny:
		return choose(`{"any":[1e400,"x"]}`, "null")
	case ir.RawObject:
		if f != nil && strings.HasSuffix(f.JSON, "putSchema") {
			return choose(`{"type":"object","properties":{"n":{"minimum":0.10}}}`, `{"type":"object"}`)
		}
		return choose(`{"type":"object","deep":[{"n":0.10}]}`, "{}")
	case ir.ID:
		return choose([]string{`7`, `"seven"`, `9007199254740993`, `12345678901234567890`}[k.pick%4], `""`)
	case ir.Named:
		if f != nil && f.Default != nil && f.Default.Zero && k.f != strange {
			return f.Default.JSON // the encoder has no way to leave it empty
		}
		return k.typ(k.m.byName[r.Name])
	case ir.Slice:
		one := k.ref(*r.Elem, nil)
		if zero {
			return "[]"
		}
		return "[" + one + "," + one + "]"
	case ir.Map:
		return k.mapping(*r.Elem)
	}
	panic(r.Kind)
}

func (k *maker) mapping(elem ir.Ref) string {
	if k.f.zero() {
		return "{}"
	}
	v := k.ref(elem, nil)
	return fmt.Sprintf(`{"b":%s,"a/\u00fc":%s}`, v, v)
}

// TestRegistryIsComplete holds that no type of a model is missing from the
// tests.
func TestRegistryIsComplete(t *testing.T) {
	eachRevision(t, func(t *testing.T, m model) {
		var want []string
		for _, x := range m.Types {
			switch x.Kind {
			case ir.Struct, ir.Union, ir.RawUnion, ir.KeyedRaw, ir.OneOrMany, ir.MapOf:
				want = append(want, x.Name)
			}
		}
		slices.Sort(want)
		require.Equal(t, want, slices.Sorted(maps.Keys(types[m.Revision])))
	})
}
