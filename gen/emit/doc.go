package emit

import (
	"fmt"
	"go/build/constraint"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// The width of a comment's text, so that a line has 80 columns: at the left
// margin, and behind a tab of four.
const (
	width  = 77
	inside = 73
)

// comment makes one line of comment of any text. jennifer turns text that begins
// with a slash, or that holds a newline, into something else; Go takes no NUL and
// no byte order mark; and a build constraint rules the file wherever it stands.
func comment(line string) string {
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || r == '\ufeff' {
			return ' '
		}
		return r
	}, line)
	if line == "" {
		return "//"
	}
	if constraint.IsPlusBuild("// " + line) {
		line = strings.Replace(line, "+", `\+`, 1)
	}
	return "// " + line
}

// adder is a *jen.Group or a *jen.File.
type adder interface {
	Add(code ...jen.Code) *jen.Statement
}

// doc prints the lines as a comment, and nothing for no line. Where a line is
// too long its paragraph is wrapped anew.
func doc(to adder, lines ...string) {
	columns := width
	if _, nested := to.(*jen.Group); nested {
		columns = inside
	}
	for _, l := range reflow(lines, columns) {
		to.Add(jen.Comment(comment(l)))
	}
}

// reflow wraps paragraphs that have too long a line. Items of lists are
// paragraphs; what is indented is preformatted, or the rest of an item, and
// stays as it is.
func reflow(lines []string, columns int) []string {
	var out []string
	for len(lines) > 0 {
		n := 1
		if plain(lines[0]) {
			for n < len(lines) && plain(lines[n]) && !item(lines[n]) {
				n++
			}
		}
		part := lines[:n]
		lines = lines[n:]
		if !plain(part[0]) || !slices.ContainsFunc(part, func(l string) bool { return utf8.RuneCountInString(l) > columns }) {
			out = append(out, part...)
			continue
		}
		if !item(part[0]) {
			out = append(out, cut(strings.Join(part, " "), columns)...)
			continue
		}
		for i, l := range cut(strings.Join(part, " "), columns-4) { // gofmt indents items
			if i > 0 {
				l = "  " + l
			}
			out = append(out, l)
		}
	}
	return out
}

// plain says whether a line is text, and neither empty nor indented.
func plain(line string) bool { return line != "" && strings.TrimLeft(line, " \t") == line }

// item says whether a line begins an item of a list.
func item(line string) bool { return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") }

// docf prints one paragraph, wrapped.
func docf(to adder, format string, args ...any) {
	doc(to, wrap(fmt.Sprintf(format, args...))...)
}

// wrap cuts text into lines.
func wrap(text string) []string { return cut(text, width) }

// cut cuts text into lines of at most so many columns; a longer word has a line of its own.
func cut(text string, columns int) []string {
	var out []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > columns {
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
// else what is known of it; then who sends it, since when, and its place in the
// specification.
func (g *printer) typeDoc(t *ir.Type) []string {
	lines := append([]string(nil), t.Doc...)
	more := g.members(t)
	switch {
	case len(lines) == 0:
		lines = wrap(t.Name + " " + g.fact(t))
	case more != "" && len(lines) == 1:
		lines[0] += " " + more
	case more != "":
		lines = append(lines, "", more)
	}
	origin := ""
	switch t.Role {
	case ir.FromClient:
		origin = "Sent by the client"
	case ir.FromServer:
		origin = "Sent by the server"
	}
	switch {
	case t.Since != "" && origin != "":
		origin += "; in the protocol since " + t.Since
	case t.Since != "":
		origin = "In the protocol since " + t.Since
	}
	if t.Extension != "" && origin != "" {
		origin += ", here by the extension " + t.Extension
	}
	if ref := g.typePlace(t); origin != "" || ref != "" {
		lines = append(lines, "")
		if origin != "" {
			lines = append(lines, origin+".")
		}
		if ref != "" {
			lines = append(lines, ref)
		}
	}
	return deprecated(lines, t.Deprec)
}

// members says what stands in a type that holds one of several things.
func (g *printer) members(t *ir.Type) string {
	switch t.Kind {
	case ir.Enum:
		return "Values that are not among the constants are kept."
	case ir.Union:
		return fmt.Sprintf("It is one of %s, or [*Unknown%s].", g.list(armLinks(t), "or"), t.Name)
	}
	return ""
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
		return fmt.Sprintf("is one of %s, or [*Unknown%s].", g.list(armLinks(t), "or"), t.Name)
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

// armLinks are links to the arms of a union.
func armLinks(t *ir.Type) []string {
	var out []string
	for _, a := range t.Arms {
		out = append(out, "[*"+a.Type+"]")
	}
	return out
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

// typePlace is where the specification says what a type is. Params that
// several methods share in the schema are found with their method.
func (g *printer) typePlace(t *ir.Type) string {
	for _, m := range g.p.Methods {
		base := strings.TrimSuffix(strings.TrimSuffix(m.Definition, "Request"), "Notification")
		if m.Params == t.Name && !strings.HasPrefix(definition(t.Schema), base) {
			return g.place(m.Definition)
		}
	}
	return g.place(t.Schema)
}

// place is where the specification says it: the definition, or the one that
// an inline object stands in.
func (g *printer) place(schema string) string {
	def := definition(schema)
	for _, e := range g.p.Extensions {
		if g.brought[def] == e.ID {
			return "See " + e.Place
		}
	}
	if def == "" || g.p.Place == "" {
		return ""
	}
	if !strings.Contains(g.p.Place, "{definition}") && !strings.Contains(g.p.Place, "{anchor}") {
		return "See " + def + " in " + g.p.Place
	}
	return "See " + strings.NewReplacer("{definition}", def, "{anchor}", strings.ToLower(def)).Replace(g.p.Place)
}

// definition is the name of a definition, or of that which a pointer leads into.
func definition(schema string) string {
	def := strings.TrimPrefix(schema, "#")
	for _, root := range []string{"/$defs/", "/definitions/"} {
		if s, ok := strings.CutPrefix(def, root); ok {
			def = s
			break
		}
	}
	def, _, _ = strings.Cut(strings.TrimPrefix(def, "/"), "/")
	def, _, _ = strings.Cut(def, ".")
	return def
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
	if f.Since != "" {
		facts = append(facts, "since "+f.Since)
	}
	return strings.Join(facts, "; ")
}

// packageDoc is the comment of the package: what it is, how members become
// fields, and what came and went since the revision before.
func (g *printer) packageDoc() []string {
	lines := append([]string(nil), g.p.Doc...)
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("Package %s holds the Model Context Protocol of revision %s: its types with their codecs, "+
			"its methods, and Server and Client, which serve or call them.", g.p.Name, g.p.Revision))
	}
	lines = append(lines, "", "# Members", "", "A required member is a value and always written. An optional scalar, enum or object is a pointer; "+
		"an optional array, map, raw value or union is nil when absent, an optional id zero. A constant member is no field. Members that the "+
		"revision does not name are kept in Extra, in order. Decoding and encoding again gives the same JSON value.")
	if len(g.p.Methods) > 0 {
		text := "Params are read strictly: what breaks the schema is a *wire.Error that says where, as in params.argument.name. Results are read as far as they can " +
			"be: an element of a list that cannot be read is left out"
		if taken := g.forgiven(); taken != "" {
			text += ", and a required member that is missing is filled in, and written so again: " + taken
		}
		lines = append(lines, "", "# What breaks the schema", "", text+". jsonrpc.CallOptions tells of it or makes it an error; for whole messages, Answer.Problems and "+
			"Request.DecodeResponseStrict do.",
			"", "What is made by hand is not compared with the schema until Validate is called. A connection refuses to send raw values that are not JSON; "+
				"a nil member of a union is left out of lists and maps; of the keys of a map that are the same on the wire, as they differ only in bytes that "+
				"are not UTF-8, one is written.")
	}
	if len(g.p.Extensions) > 0 {
		lines = append(lines, "", "# Extensions", "")
	}
	for _, e := range g.p.Extensions {
		var methods []string
		for _, m := range g.p.Methods {
			if m.Extension == e.ID {
				methods = append(methods, m.Name)
			}
		}
		lines = append(lines, fmt.Sprintf("- %s, with the methods %s. A server declares it by the funcs that it sets, a client by Client.%s. See %s",
			e.ID, g.list(methods, "and"), e.Name, e.Place))
	}
	if len(g.p.Changes) > 0 {
		lines = append(lines, "", "# Changes", "")
		for i, l := range g.p.Changes {
			if i > 0 && !item(l) {
				lines = append(lines, "")
			}
			lines = append(lines, l)
		}
	}
	return reflow(lines, width)
}

// forgiven lists what a missing required member of a result is taken for.
func (g *printer) forgiven() string {
	by := map[string]map[string]bool{}
	for _, t := range g.p.Types {
		for _, f := range t.Fields {
			if f.Default == nil || !f.Required {
				continue
			}
			name := f.JSON
			switch {
			case f.Default.JSON == "[]":
				name = "lists"
			case f.Type.Kind == ir.NullInt: // others of the name may be plain
				name = t.Name + "." + name
			}
			if by[f.Default.JSON] == nil {
				by[f.Default.JSON] = map[string]bool{}
			}
			by[f.Default.JSON][name] = true
		}
	}
	var out []string
	for _, value := range sorted(by) {
		out = append(out, strings.Join(sorted(by[value]), ", ")+" for "+value)
	}
	return strings.Join(out, ", ")
}
