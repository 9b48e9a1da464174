package args

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/goldwire/goldwire/runtime/wire"
)

// CheckAnswer holds the content that a user has given to a form against the
// schema of the form, which both sides should do (client/elicitation, form mode
// security). form is what asked, as any revision's *ElicitFormParams; result is
// the *ElicitResult. A [wire.Raw] of the same shape does as well for either.
//
// It holds what the specification lets a form say: required; the types string,
// number, integer, boolean and array; minLength and maxLength (in characters),
// pattern, the formats email, uri, date and date-time; minimum and maximum; enum,
// and const in each of oneOf or anyOf; minItems and maxItems. Anything else that
// a schema says, types and formats that are not known, a pattern that package
// regexp does not read or would read differently, and fields that were not asked
// for refuse nothing.
//
// The error is an [*Error] that says where, as in "content.age: want at most
// 120", and never repeats what the user wrote. It is nil where there is nothing
// to check: the user declined or cancelled, or was asked to visit a page. A form
// that cannot be read is an error of another type.
func CheckAnswer(form, result wire.Appender) error {
	_, _, err := answerOf(form, result)
	return err
}

// DecodeAnswer reads the content that [CheckAnswer] accepts as a T, by the rules
// of [Decode]: T has a member for each field of the form, and what it refuses
// beyond the form is told as Decode tells it, value and all. Fields that were not
// asked for are passed over. Where the user did not accept there is nothing to
// read, and the error, at "action", says so: look at the action first.
func DecodeAnswer[T any](form, result wire.Appender) (T, error) {
	var zero T
	action, content, err := answerOf(form, result)
	if err != nil {
		return zero, err
	}
	if action != accepted {
		return zero, &Error{Path: "action", Msg: "want " + accepted + ", the user did not", answer: true}
	}
	v, err := Decode[T](content)
	if e, ok := errors.AsType[*Error](err); ok {
		at := "content"
		if e.Path != "" {
			at += sep(e.Path) + e.Path
		}
		return zero, &Error{Path: at, Msg: e.Msg, answer: true}
	}
	return v, err
}

const accepted = "accept"

// answerOf gives the action, and of what was accepted the fields that the form
// asked for, checked.
func answerOf(form, result wire.Appender) (action string, content wire.Raw, err error) {
	asked, err := valueOf(form)
	if err != nil {
		return "", nil, fmt.Errorf("form: %v", err) // no *wire.Error, which would blame the peer
	}
	schema := asked.Get("requestedSchema")
	if mode, ok := asked.Get("mode").Str(); ok && mode != "form" {
		schema = nil // a page, or what a later revision brings
	} else if schema.Kind() != wire.KindObject {
		return "", nil, errors.New("form: requestedSchema: want an object")
	}
	defer func() {
		if e, ok := errors.AsType[*Error](err); ok {
			e.answer = true
		}
	}()
	answer, err := valueOf(result)
	if err != nil {
		if w, ok := errors.AsType[*wire.Error](err); ok {
			return "", nil, &Error{Path: w.Path, Msg: w.Msg}
		}
		return "", nil, &Error{Msg: err.Error()}
	}
	members, err := membersIn(answer, nil)
	if err != nil {
		return "", nil, err
	}
	action, ok := members["action"].Str()
	if !ok {
		return "", nil, &Error{Path: "action", Msg: "want a string, got " + members["action"].Kind().String()}
	}
	if action != accepted {
		return action, nil, nil
	}
	at, content := &place{name: "content"}, members["content"]
	if content == nil {
		content = wire.Raw("{}")
	}
	content, err = checkContent(schema, content, at)
	return action, content, err
}

// valueOf is v as text of its own.
func valueOf(v wire.Appender) (wire.Raw, error) {
	if v == nil {
		return nil, errors.New("missing")
	}
	return wire.ParseRaw(v.AppendJSON(nil))
}

// membersIn are the members of an object, of which a name may stand only once.
func membersIn(r wire.Raw, at *place) (map[string]wire.Raw, error) {
	if k := r.Kind(); k != wire.KindObject {
		return nil, &Error{Path: at.String(), Msg: "want an object, got " + k.String()}
	}
	m := map[string]wire.Raw{}
	for name, v := range r.Members() {
		if m[name] != nil {
			return nil, &Error{Path: (&place{up: at, name: name}).String(), Msg: "duplicate"}
		}
		m[name] = v
	}
	return m, nil
}

// checkContent gives the members of content that the schema asks for.
func checkContent(schema, content wire.Raw, at *place) (wire.Raw, error) {
	given, err := membersIn(content, at)
	if err != nil {
		return nil, err
	}
	asked := map[string]wire.Raw{}
	for name := range schema.Get("required").Elems() {
		name, ok := name.Str()
		switch {
		case !ok:
			continue
		case given[name] == nil:
			return nil, &Error{Path: (&place{up: at, name: name}).String(), Msg: "missing"}
		}
		asked[name] = nil
	}
	for name, s := range schema.Get("properties").Members() {
		asked[name] = s
	}
	out := wire.Raw("{")
	for name, v := range content.Members() {
		s, ok := asked[name]
		if !ok {
			continue
		}
		f := readField(s)
		f.items = readField(s.Get("items"))
		if err := f.check(v, &place{up: at, name: name}); err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(wire.AppendString(out, name), ':'), v...)
	}
	return append(out, '}'), nil
}

// field is what the schema of a field says, or that of its elements.
type field struct {
	types     []string // none for any
	choice    *choice  // nil for any
	list, one limits   // of a list, and of anything else
	format    string
	items     *field // nil for any; a form has no lists of lists
}

// readField reads a schema once, however many elements are held against it.
func readField(s wire.Raw) *field {
	f := &field{choice: choiceIn(s)}
	types := s.Get("type")
	if name, ok := types.Str(); ok {
		f.types = []string{name}
	}
	for t := range types.Elems() {
		name, _ := t.Str()
		f.types = append(f.types, name)
	}
	f.list.minItems, f.list.maxItems = countIn(s, "minItems"), countIn(s, "maxItems")
	f.one = limits{
		minimum: floatIn(s, "minimum"), maximum: floatIn(s, "maximum"),
		minLength: countIn(s, "minLength"), maxLength: countIn(s, "maxLength"),
		pattern: patternIn(s), private: true,
	}
	f.format, _ = s.Get("format").Str()
	return f
}

// check holds a value against a schema.
func (f *field) check(v wire.Raw, at *place) error {
	want := f.mistyped(v)
	switch {
	case want != "":
	case f.choice != nil && !f.choice.has(v):
		want = f.choice.want()
	case v.Kind() == wire.KindArray:
		here := place{up: at}
		for e := range v.Elems() {
			if f.items == nil {
				break
			}
			if err := f.items.check(e, &here); err != nil {
				return err
			}
			here.index++
		}
		return f.list.check(v, at)
	default:
		if err := f.one.check(v, at); err != nil {
			return err
		}
		text, ok := v.Str()
		known, found := formats[f.format]
		if !ok || !found || known.fits(text) {
			return nil
		}
		want = known.want
	}
	return &Error{Path: at.String(), Msg: "want " + want}
}

var kinds = map[string]wire.Kind{
	"string": wire.KindString, "number": wire.KindNumber, "integer": wire.KindNumber,
	"boolean": wire.KindBool, "array": wire.KindArray, "null": wire.KindNull,
}

// mistyped says what is wanted in the place of v, "" if v is of one of the types,
// or one is not known here.
func (f *field) mistyped(v wire.Raw) string {
	var wants []string
	got := v.Kind().String()
	for _, name := range f.types {
		kind, known := kinds[name]
		want := kind.String()
		if !known || v.Kind() == kind && (name != "integer" || whole(v)) {
			return ""
		}
		if name == "integer" {
			want = "an integer"
			if v.Kind() == kind {
				got = "a fraction"
			}
		}
		wants = append(wants, want)
	}
	if wants == nil {
		return ""
	}
	return strings.Join(wants, " or ") + ", got " + got
}

// whole reports whether a number is an integer, whatever its size: from 2^53 on
// only those are told from one another.
func whole(r wire.Raw) bool {
	_, ok := r.Int()
	return ok || math.Abs(numberIn(r)) >= 1<<53
}

func floatIn(s wire.Raw, keyword string) *float64 {
	if v, ok := s.Get(keyword).Float(); ok {
		return &v
	}
	return nil
}

func countIn(s wire.Raw, keyword string) *int {
	if n, ok := s.Get(keyword).Int(); ok && n >= 0 {
		return new(int(min(n, math.MaxInt)))
	}
	return nil
}

// choice is the values to choose from.
type choice struct {
	all   []wire.Raw
	texts map[string]bool // those that are texts
}

// choiceIn is nil where anything goes.
func choiceIn(s wire.Raw) *choice {
	for _, keyword := range []string{"enum", "oneOf", "anyOf"} {
		list := s.Get(keyword)
		if list.Kind() != wire.KindArray {
			continue
		}
		c, all := &choice{texts: map[string]bool{}}, true
		for v := range list.Elems() {
			if keyword != "enum" {
				v = v.Get("const")
			}
			if text, ok := v.Str(); ok {
				c.texts[text] = true
			}
			c.all, all = append(c.all, v), all && v != nil
		}
		if all {
			return c
		}
	}
	return nil
}

func (c *choice) has(v wire.Raw) bool {
	if s, ok := v.Str(); ok {
		return c.texts[s]
	}
	return (&limits{enum: c.all}).named(v)
}

func (c *choice) want() string {
	if c.all == nil {
		return "nothing: the form offers no value"
	}
	return "one of " + (&limits{enum: c.all}).names()
}

func patternIn(s wire.Raw) *pattern {
	p, ok := s.Get("pattern").Str()
	if !ok {
		return nil
	}
	text, ok := fromECMAScript(p)
	if !ok {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return &pattern{re, p}
}

// fromECMAScript is a pattern of ECMAScript as package regexp has it. ok is false for
// one that says anything which may mean something else there, or nothing.
func fromECMAScript(p string) (text string, ok bool) {
	var b strings.Builder
	class := false // within [ and ]
	for i := 0; i < len(p); i++ {
		rest, n := p[i:], 1
		switch c := p[i]; {
		case c == '\\':
			if len(rest) < 2 || letterOrDigit(rest[1]) && !strings.Contains("dDwWbBtnvfr", rest[1:2]) {
				return "", false
			}
			n = 2
		case class:
			if strings.HasPrefix(rest, "[:") {
				return "", false
			}
			class = c != ']'
		case c == '.':
			b.WriteString(`[^\n\r\x{2028}\x{2029}]`)
			continue
		case c == '[':
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				return "", false
			}
			class = true
		case strings.HasPrefix(rest, "(?") && !strings.HasPrefix(rest, "(?:"):
			return "", false
		}
		b.WriteString(rest[:n])
		i += n - 1
	}
	return b.String(), true
}

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// formats are those of a form (client/elicitation, requested schema), as JSON
// Schema defines them, letters beyond ASCII allowed.
var formats = map[string]struct {
	want string
	fits func(string) bool
}{
	"email":     {"an email address", email.MatchString},
	"uri":       {"a URI with its scheme, as in https://example.com/", uri.MatchString},
	"date":      {"a date as in 2006-01-02", isDate},
	"date-time": {wantTime[len("want "):], isDateTime},
}

var (
	email    = regexp.MustCompile(`^("([^"\\\x00-\x1f\x7f]|\\.)+"|[^\s"@\x00-\x1f\x7f]+)@[^\s@\x00-\x1f\x7f]+$`)
	uri      = regexp.MustCompile("^[A-Za-z][A-Za-z0-9+.-]*:([^\\x00-\\x20\\x7f\"<>\\\\^`{|}%]|%[0-9A-Fa-f]{2})*$")
	dateTime = regexp.MustCompile(`^.{10}[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)
)

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// isDateTime is RFC 3339 in full, with leap seconds and small letters.
func isDateTime(s string) bool { return dateTime.MatchString(s) && isDate(s[:10]) }
