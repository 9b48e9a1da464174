package args

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/goldwire/goldwire/runtime/wire"
)

// limits are the keywords that the tags of a field name. Those about values hold for
// the elements of a slice or an array.
type limits struct {
	enum               []wire.Raw
	minimum, maximum   *float64
	minLength          *int
	maxLength          *int
	pattern            *pattern
	minItems, maxItems *int
	private            bool // errors do not repeat the value
}

// pattern is a pattern and the text that it was given as.
type pattern struct {
	*regexp.Regexp
	text string
}

func (p *pattern) String() string { return p.text }

// keywords are the tags, in the order in which they are checked.
var keywords = []string{"enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"}

// limitsOf reads the tags of a field, nil if it has none.
func limitsOf(f reflect.StructField) (*limits, error) {
	var l limits
	found := false
	for _, k := range keywords {
		tag, ok := f.Tag.Lookup(k)
		if !ok {
			continue
		}
		found = true
		if err := l.set(k, tag, f.Type); err != nil {
			return nil, fmt.Errorf("field %s: tag %s: %w", f.Name, k, err)
		}
	}
	if !found {
		return nil, nil
	}
	return &l, nil
}

func (l *limits) set(keyword, tag string, t reflect.Type) (err error) {
	t, list := scalarOf(t)
	text, number := t.Kind() == reflect.String, isNumber(t)
	switch keyword {
	case "enum":
		if !text && !number {
			return fmt.Errorf("%v is neither a text nor a number", t)
		}
		for v := range strings.SplitSeq(tag, ",") {
			r := wire.Quote(v)
			if number {
				if r, err = wire.ParseRaw([]byte(v)); err != nil || r.Kind() != wire.KindNumber {
					return fmt.Errorf("%q is not a number", v)
				}
			}
			l.enum = append(l.enum, r)
		}
		return nil
	case "pattern":
		if !text {
			return fmt.Errorf("%v is no text", t)
		}
		re, err := regexp.Compile(tag)
		l.pattern = &pattern{re, tag}
		return err
	case "minimum", "maximum":
		if !number {
			return fmt.Errorf("%v is no number", t)
		}
		v, err := strconv.ParseFloat(tag, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%q is not a number", tag)
		}
		if keyword == "minimum" {
			l.minimum = &v
		} else {
			l.maximum = &v
		}
		return nil
	}
	if items := strings.HasSuffix(keyword, "Items"); items && !list || !items && !text {
		return fmt.Errorf("%v has none", t)
	}
	n, err := strconv.Atoi(tag)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a number from 0", tag)
	}
	*map[string]**int{"minLength": &l.minLength, "maxLength": &l.maxLength, "minItems": &l.minItems, "maxItems": &l.maxItems}[keyword] = &n
	return nil
}

// scalarOf is the type that keywords about values hold for, and whether it is
// that of a list's elements.
func scalarOf(t reflect.Type) (reflect.Type, bool) {
	list := false
	for {
		switch {
		case t.Kind() == reflect.Pointer:
		case (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t != rawType && t.Elem().Kind() != reflect.Uint8:
			list = true
		default:
			return t, list
		}
		t = t.Elem()
	}
}

func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
}

// check holds the limits against a value.
func (l *limits) check(r wire.Raw, at *place) error {
	fail := func(format string, args ...any) error {
		return &Error{Path: at.String(), Msg: fmt.Sprintf(format, args...)}
	}
	switch r.Kind() {
	case wire.KindArray:
		here := place{up: at}
		for e := range r.Elems() {
			if err := l.check(e, &here); err != nil {
				return err
			}
			here.index++
		}
		switch n := here.index; {
		case l.minItems != nil && n < *l.minItems:
			return fail("want at least %d elements, got %d", *l.minItems, n)
		case l.maxItems != nil && n > *l.maxItems:
			return fail("want at most %d elements, got %d", *l.maxItems, n)
		}
	case wire.KindString, wire.KindNumber:
		if l.enum != nil && !l.named(r) {
			return fail("want one of %s%s", l.names(), l.got(r))
		}
		if r.Kind() == wire.KindNumber {
			switch v := numberIn(r); {
			case l.minimum != nil && v < *l.minimum:
				return fail("want at least %s%s", wire.AppendFloat(nil, *l.minimum), l.got(r))
			case l.maximum != nil && v > *l.maximum:
				return fail("want at most %s%s", wire.AppendFloat(nil, *l.maximum), l.got(r))
			}
		}
		s, ok := r.Str()
		if !ok {
			return nil
		}
		switch n := utf8.RuneCountInString(s); {
		case l.minLength != nil && n < *l.minLength:
			return fail("want at least %d characters, got %d", *l.minLength, n)
		case l.maxLength != nil && n > *l.maxLength:
			return fail("want at most %d characters, got %d", *l.maxLength, n)
		case l.pattern != nil && !l.pattern.MatchString(s):
			return fail("want what matches %s%s", l.pattern, l.got(r))
		}
	}
	return nil
}

func (l *limits) named(r wire.Raw) bool {
	for _, e := range l.enum {
		if wire.Equal(e, r) {
			return true
		}
	}
	return false
}

func (l *limits) names() string {
	var b strings.Builder
	for i, e := range l.enum {
		if i > 0 {
			b.WriteString(", ")
		}
		b.Write(e)
	}
	return b.String()
}

// got repeats a value in an error.
func (l *limits) got(r wire.Raw) string {
	if l.private {
		return ""
	}
	return ", got " + short(r)
}

// numberIn is a number as close as it gets, beyond all others if it is too large.
func numberIn(r wire.Raw) float64 {
	v, ok := r.Float()
	switch {
	case ok:
		return v
	case strings.HasPrefix(string(r), "-"):
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// short cuts a value that an error repeats.
func short(r wire.Raw) string {
	const most = 64
	if len(r) <= most {
		return string(r)
	}
	return strings.ToValidUTF8(string(r[:most]), "") + "…"
}

// write puts the limits into the schema of the field.
func (l *limits) write(s *jsonschema.Schema) {
	s.MinItems, s.MaxItems = first(l.minItems, s.MinItems), first(l.maxItems, s.MaxItems)
	for s.Items != nil {
		s = s.Items
	}
	for _, e := range l.enum {
		if v, ok := e.Str(); ok {
			s.Enum = append(s.Enum, v)
		} else {
			s.Enum = append(s.Enum, e)
		}
	}
	s.Minimum, s.Maximum = first(l.minimum, s.Minimum), first(l.maximum, s.Maximum)
	s.MinLength, s.MaxLength = first(l.minLength, s.MinLength), first(l.maxLength, s.MaxLength)
	if l.pattern != nil {
		s.Pattern = l.pattern.String()
	}
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// limit puts the limits of a type's fields into its schema.
func limit(t reflect.Type, s *jsonschema.Schema) error {
	if s == nil || readsItself(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return limit(t.Elem(), s)
	case reflect.Slice, reflect.Array:
		return limit(t.Elem(), s.Items)
	case reflect.Map:
		return limit(t.Elem(), s.AdditionalProperties)
	case reflect.Struct:
		for _, m := range membersOf(t) {
			p := s.Properties[m.name]
			if p == nil {
				continue
			}
			if m.err != nil {
				return m.err
			}
			if m.limits != nil {
				m.limits.write(p)
			}
			if err := limit(m.typ, p); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	rawType  = reflect.TypeFor[wire.Raw]()
	timeType = reflect.TypeFor[time.Time]()
)
