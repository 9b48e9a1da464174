// Package args carries values whose Go type the user of the bindings chooses:
// the arguments and the structured content of tools.
//
// Types of the protocol itself have generated codecs and never come here.
// Decoding is strict: member names match exactly, case included, a name may
// stand only once, members that the type does not have are refused, and
// members without omitempty or omitzero must be there. So the type says to the
// decoder what [Schema] says to the client.
package args

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	gojson "github.com/goccy/go-json"
	"github.com/goccy/go-json/jsontext"
	json "github.com/goccy/go-json/v2"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// Struct tags keep their encoding/json meaning (omitempty omits 0 and ""),
// everything that lets two readers see different values is off, and nil
// slices and maps are written as [] and {}, which is what the schema promises.
var options = json.JoinOptions(
	gojson.DefaultOptionsV1(),
	jsontext.AllowDuplicateNames(false),
	jsontext.AllowInvalidUTF8(false),
	json.MatchCaseInsensitiveNames(false),
	jsontext.EscapeForHTML(false),
	jsontext.EscapeForJS(false),
	json.FormatNilSliceAsNull(false),
	json.FormatNilMapAsNull(false),
	json.Deterministic(true),
	json.RejectUnknownMembers(true),
	gojson.ReportErrorsWithLegacySemantics(false), // errors that know where
)

// Error says which argument is wrong and why.
type Error struct {
	Path string // "filter.tags[2]", "" for the arguments as a whole
	Msg  string // "want an integer, got a string"
}

// Error gives the path, when there is one, and the reason.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// InvalidParams is the protocol error for a tool call whose arguments are
// wrong, code -32602. From 2025-11-25 on the specification prefers a tool
// result with isError (server/tools, error handling), so that the model can
// mend its call; handlers for those revisions put [Error.Error] into one.
func (e *Error) InvalidParams() *jsonrpc.Error {
	where := "arguments"
	if e.Path != "" {
		where += sep(e.Path) + e.Path
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: where + ": " + e.Msg}
}

func sep(path string) string {
	if strings.HasPrefix(path, "[") {
		return ""
	}
	return "."
}

// Decode reads raw, the arguments of a tool call, as a T. Absent arguments
// (nil) are read as {}. The error is an [*Error] that names the place; then
// the returned value is the zero T, never a half-filled one.
func Decode[T any](raw wire.Raw) (T, error) {
	var v, zero T
	if raw == nil {
		raw = wire.Raw("{}")
	}
	if err := json.Unmarshal(raw, &v, options); err != nil {
		return zero, explain(err)
	}
	if err := planOf(reflect.TypeFor[T]()).check(raw, ""); err != nil {
		return zero, err
	}
	return v, nil
}

// Encode writes v as structured content or as arguments. Map members are
// sorted, nil slices are [], nil maps are {}. The error tells what cannot be
// said in JSON (a channel, a cycle, NaN).
func Encode[T any](v T) (wire.Raw, error) {
	b, err := json.Marshal(v, options)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return wire.ParseRaw(b)
}

// Schema gives the JSON Schema of T, for a tool's inputSchema or
// outputSchema: always of type object, additional members not allowed. A
// field's `jsonschema:"…"` tag is its description. T must be a struct or a
// map with string keys; cycles are refused.
func Schema[T any]() (wire.Raw, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Int]():      {Type: "integer"},
		reflect.TypeFor[wire.Raw](): {},
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", reflect.TypeFor[T](), err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("schema of %v: arguments are an object, this type is written as %s", reflect.TypeFor[T](), describe(s))
	}
	b, err := json.Marshal(s, options)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", reflect.TypeFor[T](), err)
	}
	return wire.ParseRaw(b)
}

// MustSchema is [Schema] for variables of a package: it panics where Schema
// fails, which depends on T alone.
func MustSchema[T any]() wire.Raw {
	s, err := Schema[T]()
	if err != nil {
		panic(err)
	}
	return s
}

func describe(s *jsonschema.Schema) string {
	if s.Type != "" {
		return "a JSON " + s.Type
	}
	if len(s.Types) > 0 {
		return "one of the JSON types " + strings.Join(s.Types, ", ")
	}
	return "any JSON value"
}

// Int is an integer argument that also takes the forms 1.0 and 1e2, which
// JSON Schema counts as integers and language models like to send.
type Int int64

// UnmarshalJSON accepts any JSON number whose value is whole, up to 2^53 in
// the forms with a fraction or an exponent.
func (i *Int) UnmarshalJSON(b []byte) error {
	n, ok := wire.Raw(b).Int()
	if !ok {
		return errors.New("want an integer")
	}
	*i = Int(n)
	return nil
}

// MarshalJSON writes plain digits.
func (i Int) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(i), 10), nil }

// explain turns a library error into ours.
func explain(err error) *Error {
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		e := &Error{Path: path(sem.JSONPointer)}
		switch {
		case errors.Is(err, json.ErrUnknownName):
			e.Msg = "no such argument"
		case sem.JSONKind != 0 && sem.GoType != nil && kindOf(sem.JSONKind) != goKind(sem.GoType):
			e.Msg = "want " + goKind(sem.GoType) + ", got " + kindOf(sem.JSONKind)
		case sem.Err != nil:
			e.Msg = sem.Err.Error()
		case sem.GoType != nil:
			e.Msg = "want " + goKind(sem.GoType)
		default:
			e.Msg = "unusable value"
		}
		return e
	}
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		return &Error{Path: path(syn.JSONPointer), Msg: syn.Err.Error()}
	}
	return &Error{Msg: err.Error()}
}

// path writes a JSON pointer the way errors of the bindings do: a.b[3].c.
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for tok := range p.Tokens() {
		if n, err := strconv.Atoi(tok); err == nil && n >= 0 {
			fmt.Fprintf(&b, "[%d]", n)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(tok)
	}
	return b.String()
}

func kindOf(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 'f', 't':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "something else"
}

func goKind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "another value"
}

// plan is what must be present in a value of one Go type. The library cannot
// tell an absent or null member from a zero one, so presence is looked up
// apart, with the rule that Schema uses: no omitempty, no omitzero = required.
type plan struct {
	want     string      // "a string": what stands here when null may not, "" where it may
	object   bool        // a struct: fields
	fields   []planField // in order
	elem     *plan       // slice, array, map; nil when nothing below can be missing
	target   *plan       // pointer: null may stand here, anything else is a target
	anything bool        // the type reads its own JSON
}

type planField struct {
	name     string
	required bool
	plan     *plan
}

var plans sync.Map // reflect.Type → *plan

func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := buildPlan(t, map[reflect.Type]*plan{})
	plans.Store(t, p)
	return p
}

var unmarshalers = []reflect.Type{
	reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.UnmarshalerFrom](),
	reflect.TypeFor[interface{ UnmarshalText([]byte) error }](),
}

func buildPlan(t reflect.Type, busy map[reflect.Type]*plan) *plan {
	if p, ok := busy[t]; ok {
		return p
	}
	p := &plan{}
	busy[t] = p
	for _, u := range unmarshalers {
		if reflect.PointerTo(t).Implements(u) {
			p.anything = true
			return p
		}
	}
	switch t.Kind() {
	case reflect.Pointer:
		p.target = buildPlan(t.Elem(), busy)
	case reflect.Slice, reflect.Array, reflect.Map:
		p.elem = buildPlan(t.Elem(), busy)
	case reflect.Struct:
		p.object, p.want = true, goKind(t)
		p.addFields(t, busy)
	case reflect.Interface:
		p.anything = true
	default:
		p.want = goKind(t)
	}
	return p
}

func (p *plan) addFields(t reflect.Type, busy map[reflect.Type]*plan) {
	for f := range t.Fields() {
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" && opts == "" {
			continue
		}
		if f.Anonymous && name == "" {
			ft := f.Type
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			if ft.Kind() == reflect.Struct {
				p.addFields(ft, busy)
				continue
			}
		}
		if !f.IsExported() {
			continue
		}
		if name == "" {
			name = f.Name
		}
		opts = "," + opts + ","
		p.fields = append(p.fields, planField{
			name:     name,
			required: !strings.Contains(opts, ",omitempty,") && !strings.Contains(opts, ",omitzero,"),
			plan:     buildPlan(f.Type, busy),
		})
	}
}

// check walks a value that the library has accepted.
func (p *plan) check(raw wire.Raw, at string) error {
	if p.target != nil {
		if raw.Kind() == wire.KindNull {
			return nil
		}
		return p.target.check(raw, at)
	}
	if p.anything {
		return nil
	}
	switch raw.Kind() {
	case wire.KindNull:
		if p.want != "" {
			return &Error{Path: at, Msg: "want " + p.want + ", got null"}
		}
	case wire.KindObject:
		if !p.object {
			if p.elem == nil {
				return nil
			}
			for k, v := range raw.Members() {
				if err := p.elem.check(v, join(at, k)); err != nil {
					return err
				}
			}
			return nil
		}
		for _, f := range p.fields {
			v := raw.Get(f.name)
			if v == nil {
				if f.required {
					return &Error{Path: join(at, f.name), Msg: "missing"}
				}
				continue
			}
			if err := f.plan.check(v, join(at, f.name)); err != nil {
				return err
			}
		}
	case wire.KindArray:
		i := 0
		for v := range raw.Elems() {
			if err := p.elem.check(v, at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}
