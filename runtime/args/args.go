// Package args carries values whose Go type the user of the bindings chooses:
// the arguments and the structured content of tools, and what a user answers to
// a form.
//
// Types of the protocol itself have generated codecs and never come here.
// Decoding is strict: member names match exactly, case included, a name may
// stand only once, members that the type does not have are refused, and
// members without omitempty or omitzero must be there. So the type says to the
// decoder what [Schema] says to the client.
//
// # Tags
//
// What a Go type cannot say is said by tags of its fields, each named as the
// keyword of JSON Schema that it becomes. [Schema] writes them and [Decode]
// holds them:
//
//	Unit  string   `json:"unit,omitempty" enum:"metric,imperial"`
//	Days  int      `json:"days" minimum:"1" maximum:"14" jsonschema:"how far ahead"`
//	Codes []string `json:"codes" minItems:"1" pattern:"^[A-Z]{3}$"`
//
// enum, minimum, maximum, minLength, maxLength (in characters) and pattern (of
// package regexp, which finds it anywhere in the text) are about texts and numbers, in a slice about its elements; minItems and
// maxItems about the slice. The jsonschema tag is a description and nothing
// else: what it says of bounds is for the model to read.
//
// # Answers
//
// The content of an elicitation is what a form's schema says, if the client is
// right. [CheckAnswer] finds out, and [DecodeAnswer] reads it as a type as well.
package args

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
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

// Error says which argument, or which part of an answer, is wrong and why.
type Error struct {
	Path string // "filter.tags[2]", "content.age", "" for the whole
	Msg  string // "want an integer, got a string"

	answer bool // of a user, to a form
}

// Error gives the path, when there is one, and the reason.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// Unwrap gives [Error.InvalidParams], so that a handler which returns an Error
// as it is, or wrapped, answers with the path.
func (e *Error) Unwrap() error { return e.InvalidParams() }

// InvalidParams is the protocol error for a tool call whose arguments, or the
// answers that it brings, are wrong, code -32602: the answer of revisions up to
// 2025-06-18. From 2025-11-25 on it is a tool result with isError (server/tools,
// error handling), so that the model can mend its call. A handler of tools/call
// that returns an Error need not care: the runtime answers as the revision wants
// (jsonrpc.ArgumentError).
func (e *Error) InvalidParams() *jsonrpc.Error {
	if e == nil {
		e = &Error{Msg: "unusable"}
	}
	where := "arguments"
	if e.answer {
		where = "answer"
	}
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
	p := planOf(reflect.TypeFor[T]())
	if p.flat != nil {
		if p.read(raw, reflect.ValueOf(&v).Elem()) {
			return v, nil
		}
		v = zero
	}
	if err := json.Unmarshal(raw, &v, options); err != nil {
		return zero, explain(err)
	}
	if err := p.check(raw, nil); err != nil {
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
// outputSchema: always of type object, additional members not allowed. Tags
// of its fields say more; see the package comment. T must be a struct or a map
// with string keys; cycles, and tags that do not fit their field, are refused.
//
// null is said to be allowed only for pointers that must be there, where it is
// the one way to say nothing. [Decode] takes it for any pointer, slice or map.
func Schema[T any]() (wire.Raw, error) {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Int]():     {Type: "integer"},
		rawType:                    {},
		timeType:                   {Type: "string", Format: "date-time"},
		reflect.TypeFor[[]byte]():  {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[big.Int](): {Type: "integer"},
	}})
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", reflect.TypeFor[T](), err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("schema of %v: arguments are an object, this type is written as %s", reflect.TypeFor[T](), describe(s))
	}
	if err := limit(reflect.TypeFor[T](), s); err != nil {
		return nil, fmt.Errorf("schema of %v: %w", reflect.TypeFor[T](), err)
	}
	plain(s, true)
	b, err := json.Marshal(s, options)
	if err != nil {
		return nil, fmt.Errorf("schema of %v: %w", reflect.TypeFor[T](), err)
	}
	return wire.ParseRaw(b)
}

// plain takes null out of types like ["null","array"], which some clients and
// models cannot read: an optional member can be left out, and what Encode
// writes for a nil slice is [].
func plain(s *jsonschema.Schema, optional bool) {
	if len(s.Types) == 2 && s.Types[0] == "null" && (optional || s.Types[1] == "array") {
		s.Type, s.Types = s.Types[1], nil
	}
	for name, p := range s.Properties {
		plain(p, !slices.Contains(s.Required, name))
	}
	for _, p := range []*jsonschema.Schema{s.Items, s.AdditionalProperties} {
		if p != nil {
			plain(p, false)
		}
	}
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
		case sem.GoType != nil && plainType(sem.GoType) == timeType:
			e.Msg = wantTime
		case sem.GoType != nil && readsItself(plainType(sem.GoType)) && sem.Err != nil:
			e.Msg = sem.Err.Error()
		case sem.JSONKind == '0' && sem.GoType != nil && goKind(sem.GoType) == "an integer":
			e.Msg = wantInteger(plainType(sem.GoType), sem.JSONValue)
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

const wantTime = "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)"

// wantInteger says what a number is not: whole, or in the type's range.
func wantInteger(t reflect.Type, got []byte) string {
	if len(got) == 0 {
		return "want an integer"
	}
	if bytes.ContainsAny(got, ".eE") {
		return "want an integer, got " + short(got)
	}
	if bits := t.Bits(); t.Kind() >= reflect.Uint {
		return fmt.Sprintf("want 0 to %d, got %s", uint64(math.MaxUint64)>>(64-bits), short(got))
	} else {
		return fmt.Sprintf("want %d to %d, got %s", int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits), short(got))
	}
}

func plainType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
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
	want     string         // "a string": what stands here when null may not, "" where it may
	object   bool           // a struct
	fields   []planField    // struct: in order
	index    map[string]int // struct: of fields, by name
	elem     *plan          // slice, array, map
	length   int            // array: how many elements; -1 for others
	target   *plan          // pointer: null may stand here, anything else is a target
	anything bool           // the type reads its own JSON
	flat     []int          // struct of nothing but texts, truth values and integers without limits: where fields are in it
}

type planField struct {
	name     string
	required bool
	limits   *limits
	err      error // a tag that does not fit
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

// readsItself reports whether a type has a codec of its own.
func readsItself(t reflect.Type) bool {
	for _, u := range unmarshalers {
		if reflect.PointerTo(t).Implements(u) {
			return true
		}
	}
	return false
}

func buildPlan(t reflect.Type, busy map[reflect.Type]*plan) *plan {
	if p, ok := busy[t]; ok {
		return p
	}
	p := &plan{length: -1}
	busy[t] = p
	if readsItself(t) {
		p.anything = true
		if t == timeType {
			p.want = wantTime[len("want "):]
		}
		return p
	}
	switch t.Kind() {
	case reflect.Array:
		p.elem, p.length = buildPlan(t.Elem(), busy), t.Len()
	case reflect.Pointer:
		p.target = buildPlan(t.Elem(), busy)
	case reflect.Slice, reflect.Map:
		p.elem = buildPlan(t.Elem(), busy)
	case reflect.Struct:
		p.object, p.want, p.index = true, goKind(t), map[string]int{}
		members := membersOf(t)
		if len(members) == t.NumField() {
			p.flat = flat(members)
		}
		for _, m := range members {
			p.index[m.name] = len(p.fields)
			p.fields = append(p.fields, planField{name: m.name, required: m.required, limits: m.limits, err: m.err, plan: buildPlan(m.typ, busy)})
		}
	case reflect.Interface:
		p.anything = true
	default:
		p.want = goKind(t)
	}
	return p
}

// member is a struct field as encoding/json sees it.
type member struct {
	name     string
	typ      reflect.Type
	required bool
	tagged   bool
	depth    int
	at       int     // in its struct
	plain    bool    // its tag has no option of a codec's own
	limits   *limits // nil if its tags name none
	err      error   // of the tags
}

// membersOf lists the members of a struct, those of embedded structs among
// them, by encoding/json's rule: of one name the shallowest holds, at one
// depth the tagged one, and names that this leaves ambiguous are no members.
func membersOf(t reflect.Type) []member {
	type embedded struct {
		typ   reflect.Type
		depth int
		sure  bool // not below a pointer, which may be nil
	}
	var all []member
	seen := map[reflect.Type]bool{t: true}
	for queue := []embedded{{t, 0, true}}; len(queue) > 0; queue = queue[1:] {
		e := queue[0]
		for i := range e.typ.NumField() {
			f := e.typ.Field(i)
			name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" && opts == "" {
				continue
			}
			if f.Anonymous && name == "" {
				ft, pointer := f.Type, f.Type.Kind() == reflect.Pointer
				if pointer {
					ft = ft.Elem()
				}
				if ft.Kind() == reflect.Struct {
					if !seen[ft] {
						seen[ft] = true
						queue = append(queue, embedded{ft, e.depth + 1, e.sure && !pointer})
					}
					continue
				}
			}
			if !f.IsExported() {
				continue
			}
			plain := !f.Anonymous && (opts == "" || opts == "omitempty" || opts == "omitzero")
			opts = "," + opts + ","
			m := member{
				name: name, typ: f.Type, tagged: name != "", depth: e.depth, at: i, plain: plain,
				required: e.sure && !strings.Contains(opts, ",omitempty,") && !strings.Contains(opts, ",omitzero,"),
			}
			if name == "" {
				m.name = f.Name
			}
			m.limits, m.err = limitsOf(f)
			all = append(all, m)
		}
	}
	wins := func(a, b member) bool { return a.depth < b.depth || a.depth == b.depth && a.tagged && !b.tagged }
	var out []member
	for i, m := range all {
		best := true
		for j, other := range all {
			best = best && (i == j || m.name != other.name || wins(m, other))
		}
		if best {
			out = append(out, m)
		}
	}
	return out
}

var decs = sync.Pool{New: func() any { return new(wire.Dec) }}

// flat says where members are in their struct, if all of them can be read by
// plan.read.
func flat(members []member) (at []int) {
	for _, m := range members {
		k := m.typ.Kind()
		if m.depth > 0 || !m.plain || m.limits != nil || m.err != nil || m.typ.PkgPath() != "" {
			return nil
		}
		if k != reflect.String && k != reflect.Bool && (k < reflect.Int || k > reflect.Int64) {
			return nil
		}
		at = append(at, m.at)
	}
	if len(at) > 64 {
		return nil
	}
	return at
}

// read reads a flat struct without the library, which takes several times as long.
// It is false for all that is not as usual: what is wrong then, if anything, is for
// the library and check to say.
func (p *plan) read(raw wire.Raw, v reflect.Value) bool {
	d := decs.Get().(*wire.Dec)
	defer func() {
		d.Reset(nil, wire.Options{})
		decs.Put(d)
	}()
	d.Reset(raw, wire.Options{MaxDepth: 1})
	if d.ObjBegin() != nil {
		return false
	}
	var seen uint64
	for {
		k, done, err := d.Key()
		if err != nil {
			return false
		}
		if done {
			break
		}
		i, ok := p.index[string(k)]
		if !ok || seen&(1<<i) != 0 {
			return false
		}
		seen |= 1 << i
		switch f := v.Field(p.flat[i]); f.Kind() {
		case reflect.String:
			s, err := d.Str()
			if err != nil {
				return false
			}
			f.SetString(s)
		case reflect.Bool:
			b, err := d.Bool()
			if err != nil {
				return false
			}
			f.SetBool(b)
		default:
			lit, err := d.Raw()
			if err != nil {
				return false
			}
			n, err := strconv.ParseInt(string(lit), 10, f.Type().Bits())
			if err != nil || lit[0] == '-' && n == 0 {
				return false
			}
			f.SetInt(n)
		}
	}
	for i := range p.fields {
		if p.fields[i].required && seen&(1<<i) == 0 {
			return false
		}
	}
	return d.End() == nil
}

// place is where a value stands, from the value outwards.
type place struct {
	up    *place
	name  string
	index int // when name is ""
}

func (p *place) String() string {
	if p == nil {
		return ""
	}
	if p.name == "" {
		return p.up.String() + "[" + strconv.Itoa(p.index) + "]"
	}
	return join(p.up.String(), p.name)
}

// check goes once over a value that the library has accepted.
func (p *plan) check(raw wire.Raw, at *place) error {
	var d wire.Dec
	d.Reset(raw, wire.Options{Alias: true, MaxDepth: maxDepth})
	return p.walk(&d, at)
}

// maxDepth is the library's own limit, so that nothing fails here alone.
const maxDepth = 10_000

func (p *plan) walk(d *wire.Dec, at *place) error {
	kind := d.Kind()
	for p.target != nil {
		if kind == wire.KindNull {
			_, err := d.Raw()
			return err
		}
		p = p.target
	}
	if kind == wire.KindNull && p.want != "" {
		return &Error{Path: at.String(), Msg: "want " + p.want + ", got null"}
	}
	switch {
	case p.anything:
	case kind == wire.KindObject && p.object:
		return p.walkObject(d, at)
	case kind == wire.KindObject && p.elem != nil:
		if err := d.ObjBegin(); err != nil {
			return err
		}
		for {
			k, done, err := d.Key()
			if err != nil || done {
				return err
			}
			if err := p.elem.walk(d, &place{up: at, name: string(k)}); err != nil {
				return err
			}
		}
	case kind == wire.KindArray && p.elem != nil:
		if err := d.ArrBegin(); err != nil {
			return err
		}
		here := place{up: at}
		for ; ; here.index++ {
			done, err := d.Elem()
			if err != nil {
				return err
			}
			if done {
				if p.length >= 0 && here.index != p.length {
					return &Error{Path: at.String(), Msg: fmt.Sprintf("want %d elements, got %d", p.length, here.index)}
				}
				return nil
			}
			if err := p.elem.walk(d, &here); err != nil {
				return err
			}
		}
	}
	_, err := d.Raw()
	return err
}

func (p *plan) walkObject(d *wire.Dec, at *place) error {
	if err := d.ObjBegin(); err != nil {
		return err
	}
	seen := make([]bool, len(p.fields))
	for {
		k, done, err := d.Key()
		if err != nil {
			return err
		}
		if done {
			break
		}
		i, ok := p.index[string(k)]
		if !ok { // the library refused what is no member, so this one reads its own
			if _, err := d.Raw(); err != nil {
				return err
			}
			continue
		}
		seen[i] = true
		f, here := &p.fields[i], &place{up: at, name: p.fields[i].name}
		switch {
		case f.err != nil:
			return &Error{Path: here.String(), Msg: f.err.Error()}
		case f.limits != nil:
			r, err := d.Raw()
			if err != nil {
				return err
			}
			if err := f.plan.check(r, here); err != nil {
				return err
			}
			if err := f.limits.check(r, here); err != nil {
				return err
			}
		default:
			if err := f.plan.walk(d, here); err != nil {
				return err
			}
		}
	}
	for i, f := range p.fields {
		if f.required && !seen[i] {
			return &Error{Path: join(at.String(), f.name), Msg: "missing"}
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
