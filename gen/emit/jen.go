package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/goldwire/goldwire/gen/ir"
)

// Short names for what nearly every function prints.

func wire(name string) *jen.Statement    { return jen.Qual(wirePath, name) }
func jsonrpc(name string) *jen.Statement { return jen.Qual(jsonrpcPath, name) }

func x() *jen.Statement   { return jen.Id("x") }
func d() *jen.Statement   { return jen.Id("d") }
func buf() *jen.Statement { return jen.Id("b") }

// dec is the parameter d *wire.Dec.
func dec() jen.Code { return jen.Id("d").Op("*").Add(wire("Dec")) }

// bytesParam is the parameter b []byte.
func bytesParam() jen.Code { return jen.Id("b").Index().Byte() }

// ptrRecv is the receiver x *T, valRecv x T.
func ptrRecv(name string) jen.Code { return jen.Id("x").Op("*").Id(name) }
func valRecv(name string) jen.Code { return jen.Id("x").Id(name) }

// ctx is the parameter ctx context.Context.
func ctx() jen.Code { return jen.Id("ctx").Qual("context", "Context") }

// ifErr is: if err != nil { return results..., err }.
func ifErr(results ...jen.Code) jen.Code {
	return jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(append(results, jen.Err())...))
}

// try is: if err := call; err != nil { return results..., err }.
func try(call jen.Code, results ...jen.Code) jen.Code {
	return jen.If(jen.Err().Op(":=").Add(call), jen.Err().Op("!=").Nil()).Block(jen.Return(append(results, jen.Err())...))
}

// set is: b = value.
func set(value jen.Code) jen.Code { return buf().Op("=").Add(value) }

// lit appends literal text to b: b = append(b, "text"...).
func lit(text string) jen.Code { return set(appendLit(text)) }

func appendLit(text string) *jen.Statement {
	if len(text) == 1 {
		return jen.Append(buf(), jen.LitRune(rune(text[0])))
	}
	return jen.Append(buf(), jen.Op(goString(text)).Op("..."))
}

// goString writes text as a Go literal, in back quotes where that is easier to
// read: JSON is full of quotes.
func goString(text string) string {
	if strings.Contains(text, `"`) && !strings.ContainsAny(text, "`\n\r\\") {
		return "`" + text + "`"
	}
	return jen.Lit(text).GoString()
}

// quoteJSON writes a member name or constant as JSON text. Names come from a
// schema, so they may hold anything.
func quoteJSON(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00`)
			b.WriteByte(hex[r>>4])
			b.WriteByte(hex[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// goType is the Go type of a reference as it stands in a slice, a map, or a
// required field.
func (g *printer) goType(r *ir.Ref) *jen.Statement {
	switch r.Kind {
	case ir.String, ir.Base64:
		return jen.String()
	case ir.Bool:
		return jen.Bool()
	case ir.Int:
		return jen.Int64()
	case ir.Float:
		return jen.Float64()
	case ir.NullInt:
		return jen.Op("*").Int64()
	case ir.RawAny, ir.RawObject:
		return wire("Raw")
	case ir.ID:
		return jsonrpc("ID")
	case ir.Named:
		return jen.Id(r.Name)
	case ir.Slice:
		return jen.Index().Add(g.goType(r.Elem))
	case ir.Map:
		return jen.Map(jen.String()).Add(g.goType(r.Elem))
	}
	g.fail("unknown kind of reference %d", r.Kind)
	return jen.Any()
}

// pointer says whether an optional field of this type is a pointer. The others
// have a value of their own that means absent: a nil slice, map, raw value or
// union, the zero id.
func (g *printer) pointer(f *ir.Field) bool {
	if f.Required {
		return false
	}
	switch f.Type.Kind {
	case ir.String, ir.Base64, ir.Bool, ir.Int, ir.Float:
		return true
	case ir.Named:
		switch g.typ(f.Type.Name).Kind {
		case ir.Union, ir.MapOf:
			return false
		}
		return true
	}
	return false
}

func (g *printer) fieldType(f *ir.Field) *jen.Statement {
	if g.pointer(f) {
		return jen.Op("*").Add(g.goType(&f.Type))
	}
	return g.goType(&f.Type)
}

// present is the condition that an optional field is there.
func (g *printer) present(f *ir.Field) *jen.Statement {
	if f.Type.Kind == ir.ID {
		return jen.Op("!").Add(x().Dot(f.Name)).Dot("IsZero").Call()
	}
	return x().Dot(f.Name).Op("!=").Nil()
}

// deref is the value of a field that is there.
func (g *printer) deref(f *ir.Field) *jen.Statement {
	if g.pointer(f) {
		return jen.Op("*").Add(x().Dot(f.Name))
	}
	return x().Dot(f.Name)
}

// fields are the members of a struct that have a Go field.
func fields(t *ir.Type) []*ir.Field {
	var out []*ir.Field
	for _, f := range t.Fields {
		if f.Const == "" {
			out = append(out, f)
		}
	}
	return out
}

func field(t *ir.Type, json string) *ir.Field {
	for _, f := range t.Fields {
		if f.JSON == json {
			return f
		}
	}
	return nil
}

// unexported makes an unexported name: ListTools is listTools, URLParams urlParams.
func unexported(name string) string {
	n := 0
	for n < len(name) && name[n] >= 'A' && name[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(name) {
		n-- // the last capital begins the next word
	}
	return strings.ToLower(name[:n]) + name[n:]
}
