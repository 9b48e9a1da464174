package emit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

const width = 77 // of a comment's text

// comment makes one line of comment. jennifer turns text that begins with a
// slash, or that holds a newline, into something else.
func comment(line string) string {
	line = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, line)
	if line == "" {
		return "//"
	}
	return "// " + line
}

// adder is a *jen.Group or a *jen.File.
type adder interface {
	Add(code ...jen.Code) *jen.Statement
}

// doc prints the lines as a comment, and nothing for no line.
func doc(to adder, lines ...string) {
	for _, l := range lines {
		to.Add(jen.Comment(comment(l)))
	}
}

// docf prints one paragraph, wrapped.
func docf(to adder, format string, args ...any) {
	doc(to, wrap(fmt.Sprintf(format, args...))...)
}

// wrap cuts text into lines.
func wrap(text string) []string {
	var out []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > width {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// typeDoc is the comment of a type: its own documentation where there is one,
// else what is known of it.
func (g *printer) typeDoc(t *ir.Type) []string {
	lines := t.Doc
	if len(lines) == 0 {
		lines = wrap(t.Name + " " + g.fact(t))
	}
	lines = append([]string(nil), lines...)
	if t.Since != "" && t.Since != g.p.Revision {
		lines = append(lines, "", "It is there since revision "+t.Since+".")
	}
	if ref := g.place(t.Schema); ref != "" {
		lines = append(lines, "", ref)
	}
	return deprecated(lines, t.Deprec)
}

func deprecated(lines []string, text string) []string {
	if text == "" {
		return lines
	}
	return append(append(lines, ""), wrap("Deprecated: "+text)...)
}

// fact says what a type is, from where it is used.
func (g *printer) fact(t *ir.Type) string {
	switch t.Kind {
	case ir.Enum:
		return "is an open set of strings: values that are not among the constants are kept."
	case ir.Union:
		return fmt.Sprintf("is one of %s, or *Unknown%s.", g.list(armNames(t), "or"), t.Name)
	case ir.Alias:
		return "is another name of " + t.Target + "."
	case ir.RawUnion:
		return "is a JSON value of one of a few types."
	case ir.KeyedRaw:
		return "is a JSON value whose type the reader knows from what was asked for."
	case ir.OneOrMany:
		return fmt.Sprintf("is one %s or a list of them.", t.Elem)
	case ir.Interface:
		return "is what several results have in common."
	case ir.MapOf:
		return fmt.Sprintf("maps names to %s values.", t.Elem)
	}
	for _, m := range g.p.Methods {
		what := "request"
		if m.Notification {
			what = "notification"
		}
		switch t.Name {
		case m.Params:
			return fmt.Sprintf("are the params of %s, a %s that %s sends.", m.Name, what, sender(m.Direction))
		case m.Result:
			if t.Result {
				return fmt.Sprintf("is the result of %s.", m.Name)
			}
		}
	}
	if in := g.armOf(t); in != "" {
		return "is an arm of " + in + "."
	}
	switch t.Role {
	case ir.FromClient:
		return "is sent by the client."
	case ir.FromServer:
		return "is sent by the server."
	}
	return "is a part of other messages."
}

func (g *printer) armOf(t *ir.Type) string { return g.list(g.arms[t.Name], "and") }

func sender(d ir.Direction) string {
	switch d {
	case ir.ClientToServer:
		return "the client"
	case ir.ServerToClient:
		return "the server"
	}
	return "either side"
}

func armNames(t *ir.Type) []string {
	var out []string
	for _, a := range t.Arms {
		out = append(out, "*"+a.Type)
	}
	return out
}

func (g *printer) list(names []string, last string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + last + " " + names[len(names)-1]
}

// place is where the specification says it: the definition, or the one that
// an inline object stands in.
func (g *printer) place(schema string) string {
	def := strings.TrimPrefix(schema, "#")
	for _, root := range []string{"/$defs/", "/definitions/"} {
		if s, ok := strings.CutPrefix(def, root); ok {
			def = s
			break
		}
	}
	def, _, _ = strings.Cut(strings.TrimPrefix(def, "/"), "/")
	def, _, _ = strings.Cut(def, ".")
	if def == "" || g.p.Revision == "" {
		return ""
	}
	return fmt.Sprintf("See https://modelcontextprotocol.io/specification/%s/schema#%s", g.p.Revision, strings.ToLower(def))
}

// fieldDoc is the comment above a field.
func (g *printer) fieldDoc(f *ir.Field) []string {
	return deprecated(append([]string(nil), f.Doc...), f.Deprec)
}

// fieldFacts is the comment behind a field: what the Go type does not say.
func (g *printer) fieldFacts(f *ir.Field) string {
	facts := []string{f.JSON}
	if f.Required {
		facts = append(facts, "required")
	}
	switch f.Type.Kind {
	case ir.RawObject:
		facts = append(facts, "an object")
	case ir.RawAny:
		facts = append(facts, "any JSON value")
	case ir.NullInt:
		facts = append(facts, "nil is null")
	case ir.Base64:
		facts = append(facts, "base64")
	}
	if f.Format != "" && f.Format != "byte" {
		facts = append(facts, "format "+f.Format)
	}
	switch {
	case f.Min != nil && f.Max != nil:
		facts = append(facts, fmt.Sprintf("%v to %v", *f.Min, *f.Max))
	case f.Min != nil:
		facts = append(facts, fmt.Sprintf("at least %v", *f.Min))
	case f.Max != nil:
		facts = append(facts, fmt.Sprintf("at most %v", *f.Max))
	}
	if f.MaxItems != nil {
		facts = append(facts, fmt.Sprintf("at most %d", *f.MaxItems))
	}
	if f.Implied != "" {
		facts = append(facts, "absent means "+f.Implied)
	}
	if f.Default != nil && f.Default.Zero {
		facts = append(facts, "empty is written as "+f.Default.JSON)
	}
	return strings.Join(facts, "; ")
}

func (g *printer) packageDoc() []string {
	lines := g.p.Doc
	if len(lines) == 0 {
		lines = wrap(fmt.Sprintf("Package %s holds the Model Context Protocol of revision %s: its types with their codecs, "+
			"its methods, and Server and Client, which serve or call them.", g.p.Name, g.p.Revision))
	}
	lines = append(append([]string(nil), lines...), "")
	return append(lines, wrap("Required members are values and always written. Optional scalars, enums and objects are pointers; "+
		"optional arrays, maps, raw values and unions are nil when absent, optional ids zero. Constant members are no fields. Members that the "+
		"revision does not name are kept in Extra, in order. Decoding and encoding again gives the same JSON value.")...)
}
