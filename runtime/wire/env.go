package wire

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
)

// Policy says what a conversion between revisions does with a value that the other revision cannot say, such as audio for
// a 2024-11-05 client. Members that the other revision does not name are no such values: they are left out, and noted as
// losses, whatever the policy.
type Policy int

const (
	// Degrade puts the nearest thing that the other revision can say in the value's place, such as a text that names the
	// audio, and notes the loss. Where there is nothing near, the conversion fails.
	Degrade Policy = iota
	// Fail makes the conversion fail with a [ConvertError].
	Fail
	// Drop leaves the value out where it is an element of a list or map, or an optional member, and notes the loss.
	// Elsewhere the conversion fails.
	Drop
)

// DefaultMaxLosses is the number of losses kept when Env.MaxLosses is 0.
const DefaultMaxLosses = 100

// Loss is something that a conversion left out or changed.
type Loss struct {
	// Path names the value as [Error].Path does, from the root of what was converted. In what Env.OnLoss gets it begins
	// with the method and with params or result.
	Path string
	// Why says what was lost.
	Why string
}

// String is the path and the reason.
func (l Loss) String() string {
	if l.Path == "" {
		return l.Why
	}
	return l.Path + ": " + l.Why
}

// Env is what a conversion between revisions has to know besides the value, and what it says of its work. The zero value
// is good; a nil *Env stands for it where losses do not matter. An Env serves one conversion at a time.
type Env struct {
	// Policy is for values that the other revision cannot say.
	Policy Policy
	// Keep writes members that the other revision does not name as unknown members instead of leaving them out, so that
	// nothing is lost on a way there and back.
	Keep bool

	// ClientInfo, ClientCapabilities and ServerInfo are what the two sides said of themselves, as initialize carries it;
	// nil when it is not known. Requests of 2026-07-28 carry the first two.
	ClientInfo, ClientCapabilities, ServerInfo Raw
	// LogLevel is the level that the client asked for with logging/setLevel, "" for none.
	LogLevel string
	// ProtocolVersion is what the session was agreed on, "" when it is not known.
	ProtocolVersion string
	// Meta, where it is set, is what a connection says in the _meta of each request, as a *RequestMeta of the newer side of
	// a step into a revision without sessions. It comes before the raw facts.
	Meta any
	// ElicitationID makes the id that 2025-11-25 wants for the pages that a user is sent to; nil when there is none to
	// have.
	ElicitationID func() string

	// Losses are what was lost so far, in order, at most MaxLosses of them.
	Losses []Loss
	// MaxLosses bounds Losses; 0 means DefaultMaxLosses. Those beyond are counted in MoreLosses.
	MaxLosses  int
	MoreLosses int
	// OnLoss is told of each loss by [Env.Report]. It may be called from several goroutines.
	OnLoss func(Loss)

	facts *sync.Map // of WithEnv: facts decoded, by type
}

// ConvertError is a value that the other revision cannot say, or that needs something which is not known.
type ConvertError struct {
	// Path names the value, as [Error].Path does.
	Path string
	// Why says what is wrong.
	Why string
	// Omit says that the value is left out, with a loss, where a list, a map or an optional member holds it.
	Omit bool
}

// Error begins with the path, if there is one.
func (e *ConvertError) Error() string {
	if e.Path == "" {
		return e.Why
	}
	return e.Path + ": " + e.Why
}

type envKey struct{}

// WithEnv returns a context whose converted handlers and calls work with copies of e, which is only read from now on.
func WithEnv(ctx context.Context, e *Env) context.Context {
	c := *e
	c.Losses, c.MoreLosses, c.facts = nil, 0, new(sync.Map)
	return context.WithValue(ctx, envKey{}, &c)
}

// EnvOf returns a copy of what WithEnv put into ctx, the zero Env if it did not.
func EnvOf(ctx context.Context) Env {
	if e, ok := ctx.Value(envKey{}).(*Env); ok {
		return *e
	}
	return Env{}
}

// EnvFor is EnvOf for the conversions of one message; it is nil where there was no WithEnv, as then nobody hears of losses.
func EnvFor(ctx context.Context) *Env {
	e, ok := ctx.Value(envKey{}).(*Env)
	if !ok {
		return nil
	}
	c := *e
	return &c
}

// Base64Len is the number of bytes that base64 text stands for.
func Base64Len(text string) int {
	text = strings.TrimRight(text, "=")
	return len(text) * 3 / 4
}

// SizeText writes a number of bytes for people: 512 B, 12 kB, 3 MB.
func SizeText(n int) string {
	for _, u := range []struct {
		size int
		name string
	}{{1_000_000, " MB"}, {1_000, " kB"}} {
		if n >= u.size {
			return strconv.Itoa((n+u.size/2)/u.size) + u.name
		}
	}
	return strconv.Itoa(n) + " B"
}

// Report tells OnLoss of all losses in the params or the result (what) of a method, and forgets them.
func (e *Env) Report(method, what string) {
	if e == nil || len(e.Losses) == 0 {
		return
	}
	if e.OnLoss != nil {
		what = method + " " + what
		for _, l := range e.Losses {
			e.OnLoss(Loss{under(what, l.Path), l.Why})
		}
		if e.MoreLosses > 0 {
			e.OnLoss(Loss{what, strconv.Itoa(e.MoreLosses) + " more losses"})
		}
	}
	e.Losses, e.MoreLosses = nil, 0
}

// Lose notes a loss. The path is relative to the value that is being converted.
func (e *Env) Lose(path, why string) {
	if e == nil {
		return
	}
	limit := e.MaxLosses
	if limit == 0 {
		limit = DefaultMaxLosses
	}
	if len(e.Losses) >= limit {
		e.MoreLosses++
		return
	}
	e.Losses = append(e.Losses, Loss{path, why})
}

// Member leaves out the member name of v, whose target does not name it, and notes the loss; with Keep it becomes one of
// extra instead.
func (e *Env) Member(extra *Members, name, why string, v Appender) {
	if e == nil {
		return
	}
	if e.Keep {
		if raw := Raw(v.AppendJSON(nil)).Get(name); raw != nil && !extra.Has(name) {
			*extra = append((*extra)[:len(*extra):len(*extra)], Member{name, raw})
			return
		}
	}
	e.Lose(step(name), why)
}

// Cannot is the error for a value that the other revision cannot say.
func (e *Env) Cannot(path, why string) error {
	return &ConvertError{Path: path, Why: why, Omit: e.policy() == Drop}
}

// Leave notes the loss of an optional member that the other revision cannot say; it fails when the policy is Fail.
func (e *Env) Leave(path, why string) error {
	if e.policy() == Fail {
		return e.Cannot(path, why)
	}
	e.Lose(path, why)
	return nil
}

// Instead notes the loss of a value that something near stands for; it fails unless the policy is Degrade.
func (e *Env) Instead(path, why string) error {
	if e.policy() != Degrade {
		return e.Cannot(path, why)
	}
	e.Lose(path, why)
	return nil
}

func (e *Env) policy() Policy {
	if e == nil {
		return Degrade
	}
	return e.Policy
}

// Mark is the place in Losses that [Env.At] is to begin at.
func (e *Env) Mark() int {
	if e == nil {
		return 0
	}
	return len(e.Losses)
}

// At puts the name of a member before the paths of the losses since mark, and before that of err, which it returns.
func (e *Env) At(mark int, name string, err error) error {
	if err == nil && (e == nil || mark == len(e.Losses)) {
		return nil
	}
	return e.at(mark, step(name), err)
}

// AtIndex is At for an element of a list.
func (e *Env) AtIndex(mark, i int, err error) error {
	if err == nil && (e == nil || mark == len(e.Losses)) {
		return nil
	}
	return e.at(mark, "["+strconv.Itoa(i)+"]", err)
}

// AtItem is AtIndex for what is one or several: one that is written alone has no index.
func (e *Env) AtItem(mark, i int, several bool, err error) error {
	if !several {
		return err
	}
	return e.AtIndex(mark, i, err)
}

func (e *Env) at(mark int, prefix string, err error) error {
	if e != nil {
		for i := mark; i < len(e.Losses); i++ {
			e.Losses[i].Path = under(prefix, e.Losses[i].Path)
		}
	}
	return Under(prefix, err)
}

// under is the path of a value below another.
func under(prefix, path string) string {
	switch {
	case prefix == "" || path == "":
		return prefix + path
	case path[0] == '[':
		return prefix + path
	}
	return prefix + "." + path
}

// Omit reports whether the element or member that err names first in its path is left out, and notes the loss if it is.
// Losses since mark are those of its parts, which went with it.
func (e *Env) Omit(mark int, err error) bool {
	c, ok := err.(*ConvertError)
	if !ok || !c.Omit {
		return false
	}
	if e != nil && mark < len(e.Losses) {
		e.Losses = e.Losses[:mark]
	}
	whole, part := cutPath(c.Path)
	why := c.Why
	if part != "" {
		why = part + ": " + why
	}
	e.Lose(whole, why)
	return true
}

// cutPath splits a path behind its first step.
func cutPath(path string) (first, rest string) {
	i := strings.IndexAny(path, ".[")
	if strings.HasPrefix(path, "[") {
		i = strings.IndexByte(path, ']') + 1
		if strings.HasPrefix(path, `["`) {
			if end, _, c := scanString([]byte(path), 2); c == cOK {
				i = end + 2
			}
		}
	}
	if i <= 0 || i >= len(path) {
		return path, ""
	}
	return path[:i], strings.TrimPrefix(path[i:], ".")
}

// Foreign is the error for a value that one revision kept as it came, not knowing it, and that is not what the other
// revision takes it for.
func (e *Env) Foreign(err error) error {
	c := &ConvertError{Why: err.Error(), Omit: e.policy() != Fail}
	if w, ok := err.(*Error); ok {
		c.Path, c.Why = w.Path, w.Msg
	}
	return c
}

// Again reads a value that one revision kept as it came with what the other revision has for it.
func Again[T any](r Raw, decode func(*Dec) (T, error)) (T, error) {
	a := again[T]{decode: decode}
	err := Decode(r, Options{Lenient: true, MaxDepth: HardMaxDepth}, &a)
	return a.v, err
}

type again[T any] struct {
	decode func(*Dec) (T, error)
	v      T
}

func (a *again[T]) DecodeJSON(d *Dec) (err error) {
	a.v, err = a.decode(d)
	return err
}

// Read reads a raw object, which is the optional member name, as a T; nil for nil. A value that is none is left out, with a
// loss; it is an error when the policy is Fail.
func Read[T any, P interface {
	*T
	Decoder
}](e *Env, name string, raw Raw) (P, error) {
	if raw == nil {
		return nil, nil
	}
	v := P(new(T))
	err := Decode(raw, Options{Lenient: true, MaxDepth: HardMaxDepth}, v)
	if err == nil {
		return v, nil
	}
	w := &Error{Msg: err.Error()}
	errors.As(err, &w)
	return nil, e.Leave(under(step(name), w.Path), w.Msg)
}

// Object is raw if it is an object. Any other value is left out as the optional member name, with a loss; it is an error
// when the policy is Fail.
func Object(e *Env, name string, raw Raw) (Raw, error) {
	if raw == nil || raw.Kind() == KindObject {
		return raw, nil
	}
	return nil, e.Leave(step(name), "has to be an object there")
}

// Take reads the members of extra that have one of the names into a new T and takes them out; nil if there are none. A
// member that does not fit is left out, with a loss; it is an error when the policy is Fail.
func Take[T any, P interface {
	*T
	Decoder
}](e *Env, extra *Members, names ...string) (P, error) {
	var text []byte
	for {
		text = text[:0]
		for _, m := range *extra {
			if has(names, m.Name) {
				text = append(AppendString(append(text, ','), m.Name), ':')
				text = AppendRaw(text, m.Value)
			}
		}
		if len(text) == 0 {
			return nil, nil
		}
		text[0] = '{'
		v := P(new(T))
		err := Decode(append(text, '}'), Options{Lenient: true, MaxDepth: HardMaxDepth}, v)
		var w *Error
		if err == nil || errors.As(err, &w) && w.Kind == ErrMissing && !extra.Has(first(w.Path)) { // one of those that are not asked for
			*extra = without(*extra, names)
			return v, nil
		}
		bad := ""
		if w != nil {
			bad = first(w.Path)
		}
		if !has(names, bad) || !extra.Has(bad) {
			return nil, err
		}
		if e.policy() == Fail {
			return nil, &ConvertError{Path: w.Path, Why: w.Msg}
		}
		e.Lose(w.Path, w.Msg)
		*extra = without(*extra, []string{bad})
	}
}

// first is the name that a path begins with.
func first(path string) string {
	path, _ = cutPath(path)
	if strings.HasPrefix(path, "[") {
		name, _ := Raw(path[1 : len(path)-1]).Str()
		return name
	}
	return path
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// without is a copy less the members of those names.
func without(m Members, names []string) Members {
	var out Members
	for _, x := range m {
		if !has(names, x.Name) {
			out = append(out, x)
		}
	}
	return out
}

// Fact decodes one of the facts of e; nil if raw is nil or is no such value. Under [WithEnv] a fact is decoded once: the
// result must not be changed.
func Fact[T any, P interface {
	*T
	Decoder
}](e *Env, raw Raw) P {
	if len(raw) == 0 {
		return nil
	}
	type key struct{ at *byte } // of which there is one a type
	if e != nil && e.facts != nil {
		if v, ok := e.facts.Load(key{&raw[0]}); ok {
			return v.(P)
		}
	}
	v := P(new(T))
	if Decode(raw.Clone(), Options{Lenient: true}, v) != nil {
		return nil
	}
	if e != nil && e.facts != nil {
		e.facts.Store(key{&raw[0]}, v)
	}
	return v
}
