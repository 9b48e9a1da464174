package build_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/ir"
)

// showRef writes a reference in the short form of the golden files: "!" marks
// what is required.
func showRef(r ir.Ref) string {
	switch r.Kind {
	case ir.Named:
		return r.Name
	case ir.Slice:
		return "[]" + showRef(*r.Elem)
	case ir.Map:
		return "map[" + showRef(*r.Elem) + "]"
	}
	return map[ir.RefKind]string{
		ir.String: "string", ir.Bool: "bool", ir.Int: "int", ir.Float: "float", ir.NullInt: "int|null", ir.RawAny: "any",
		ir.RawObject: "object", ir.ID: "id", ir.Base64: "base64",
	}[r.Kind]
}

var kindNames = map[ir.Kind]string{
	ir.Struct: "struct", ir.Enum: "enum", ir.Union: "union", ir.Alias: "alias", ir.RawUnion: "raw union", ir.KeyedRaw: "keyed",
	ir.OneOrMany: "one or many", ir.Interface: "interface", ir.MapOf: "map",
}

// showType writes a type, one line for it and one for each part.
func showType(t *ir.Type) []string {
	head := t.Name + " " + kindNames[t.Kind]
	for _, f := range []struct {
		set  bool
		name string
	}{{t.Params, "params"}, {t.Result, "result"}, {t.Bounded, "bounded"}, {t.Closed, "closed"}, {t.Deprec != "", "deprecated"}} {
		if f.set {
			head += " " + f.name
		}
	}
	head += " " + []string{"both", "from client", "from server"}[t.Role]
	for _, s := range []string{t.Target, t.Elem} {
		if s != "" {
			head += " of " + s
		}
	}
	if t.MetaOf != "" {
		head += " meta " + t.MetaOf
	}
	out := []string{head}
	for _, f := range t.Fields {
		l := fmt.Sprintf("%s.%s %s %s", t.Name, f.JSON, f.Name, showRef(f.Type))
		if f.Required {
			l += "!"
		}
		if f.Const != "" {
			l += " = " + f.Const
		}
		if f.Min != nil {
			l += fmt.Sprintf(" min %v", *f.Min)
		}
		if f.Max != nil {
			l += fmt.Sprintf(" max %v", *f.Max)
		}
		if f.MaxItems != nil {
			l += fmt.Sprintf(" max %d items", *f.MaxItems)
		}
		if f.Format != "" {
			l += " format " + f.Format
		}
		if d := f.Default; d != nil {
			l += " lenient " + d.JSON
			if d.Negative {
				l += " also negative"
			}
			if d.Empty {
				l += " also empty"
			}
			if d.Zero {
				l += " for zero"
			}
		}
		if f.Implied != "" {
			l += " implies " + f.Implied
		}
		if f.Deprec != "" {
			l += " deprecated"
		}
		out = append(out, l)
	}
	for _, v := range t.Values {
		out = append(out, fmt.Sprintf("%s value %d %s %q", t.Name, v.Rank, v.Name, v.Value))
	}
	for _, a := range t.Arms {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s arm %s %s", t.Name, a.Type, a.Tag)))
	}
	for _, r := range t.Raws {
		out = append(out, fmt.Sprintf("%s raw %s", t.Name, []string{"string", "int", "float", "bool", "strings"}[r]))
	}
	if p := t.Plan; p != nil {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s plan %s %s", t.Name, []string{"tag", "presence", "rule"}[p.Kind], p.Key)))
		if p.Absent != "" {
			out = append(out, fmt.Sprintf("%s plan absent: %s", t.Name, p.Absent))
		}
		for _, c := range p.Cases {
			l := fmt.Sprintf("%s plan %s%s: %s", t.Name, c.Value, c.Key, c.Type)
			var steps []string
			for _, s := range c.Steps {
				steps = append(steps, strings.TrimSpace(s.Has+" "+s.Type))
			}
			out = append(out, strings.TrimSpace(l+strings.Join(steps, ", ")))
		}
	}
	return out
}

func showMethod(m *ir.Method) []string {
	direction := []string{"client->server", "server->client", "both"}[m.Direction]
	l := fmt.Sprintf("%s %s %s %s %s", m.Name, m.Definition, m.Go, m.Const, direction)
	params := m.Params
	if m.ParamsReq {
		params += "!"
	}
	l += " params " + params
	if m.Result != "" {
		l += " result " + m.Result
	}
	for _, o := range m.Outcomes {
		l += " or " + []string{"InputRequiredResult", "CreateTaskResult", "CreateTaskResult by type"}[o]
	}
	if m.Paginated {
		l += fmt.Sprintf(" pages of %s %s", m.Items, m.Item)
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{m.Notification, "notification"}, {m.Lifecycle, "lifecycle"}, {m.Embedded, "embedded"}, {m.Deprec != "", "deprecated"}} {
		if f.set {
			l += " " + f.name
		}
	}
	out := []string{l}
	for _, s := range m.Server {
		out = append(out, m.Name+" needs server "+s)
	}
	for _, s := range m.Client {
		out = append(out, m.Name+" needs client "+s)
	}
	for _, g := range m.Gates {
		side := "client"
		if g.Server {
			side = "server"
		}
		l := fmt.Sprintf("%s needs %s %s when %s", m.Name, side, g.Path, strings.Join(g.Members, " or "))
		if len(g.Values) > 0 {
			l += " is " + strings.Join(g.Values, " or ")
		}
		for _, f := range []struct {
			set  bool
			name string
		}{{g.Absent, "absent too"}, {g.OrEmpty, "granted by an empty parent"}, {g.Advice, "advice"}} {
			if f.set {
				l += ", " + f.name
			}
		}
		out = append(out, l)
	}
	return out
}

func showRest(p *ir.Package) []string {
	out := []string{fmt.Sprintf("stateless %v", p.Stateless)}
	for _, e := range p.Errors {
		out = append(out, strings.TrimSpace(fmt.Sprintf("error %d %s %s", e.Code, e.Name, e.Data)))
	}
	for _, c := range p.Consts {
		out = append(out, fmt.Sprintf("const %s = %s", c.Name, c.Value))
	}
	return out
}

// show writes a whole package.
func show(p *ir.Package) string {
	var out []string
	for _, t := range p.Types {
		out = append(out, showType(t)...)
	}
	for _, m := range p.Methods {
		out = append(out, showMethod(m)...)
	}
	out = append(out, showRest(p)...)
	return strings.Join(out, "\n") + "\n"
}

// matrix writes the lines of several packages, each once, with the letters of
// the packages that have it in front: what changed between revisions is what
// stands side by side. Lines of one subject stay together, in the order of
// the package that has them first.
func matrix(all []*ir.Package, lines func(*ir.Package) []string) string {
	where := map[string]string{}
	groups := map[string][]string{}
	for i, p := range all {
		at := map[string]int{}
		for _, l := range lines(p) {
			subject := l[:strings.IndexAny(l, ". ")]
			g := groups[subject]
			if where[l] == "" {
				g = slices.Insert(g, at[subject], l)
				groups[subject] = g
			}
			at[subject] = slices.Index(g, l) + 1
			where[l] += string(rune('A' + i))
		}
	}
	var b strings.Builder
	for _, subject := range slices.Sorted(maps.Keys(groups)) {
		for _, l := range groups[subject] {
			fmt.Fprintf(&b, "%-5s %s\n", where[l], l)
		}
	}
	return b.String()
}
