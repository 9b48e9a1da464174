package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// credentials are the headers whose values are never recorded, unless the rule
// "none" says so.
var credentials = []string{"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key"}

// shortest is the shortest text that the rules value: and env: take: a shorter
// one stands in too many places that have nothing to do with it.
const shortest = 4

// Rules say what is replaced by result.Redacted in a recording. The zero Rules
// replace nothing; ParseRules(nil, nil) replaces the headers that carry
// credentials.
type Rules struct {
	headers map[string]bool // names in lower case
	members map[string]bool
	values  []string // and their forms in JSON
	match   []*regexp.Regexp
	looks   bool // whatever looks like a credential
	usual   bool // credentials in command lines and URLs
	names   []string
}

// URL takes the secrets out of a URL or the target of a request.
func (r *Rules) URL(s string) string {
	if r.usual {
		s = result.URL(s)
	}
	return r.Text(s)
}

// Target takes the secrets out of what is recorded: a command line, as
// transcript.CommandLine makes it, or a URL.
func (r *Rules) Target(s string) string {
	if r.usual {
		s = (*result.Redactor)(nil).Command(s)
	}
	return r.Text(s)
}

// ParseRules reads rules, each one of
//
//	header:NAME    the value of that HTTP header
//	member:NAME    the value of every JSON member of that name, at any depth
//	value:TEXT     that text (of at least 4 bytes), wherever it stands
//	env:NAME       the value of that variable of the environment, in the same way
//	match:REGEXP   what the expression (RE2) matches
//	secrets        whatever looks like a credential
//	none           nothing: also not the headers, URLs and command lines that
//	               carry credentials
//
// Without "none" the values of the headers authorization, proxy-authorization,
// cookie, set-cookie and x-api-key are always replaced, those in the query of a
// URL whose names tell of a secret, and in the command line of the server those of
// flags and variables whose names do, and whatever looks like a credential. lookup
// finds variables.
func ParseRules(words []string, lookup func(string) (string, bool)) (*Rules, error) {
	r := &Rules{headers: map[string]bool{}, members: map[string]bool{}}
	none := false
	for _, word := range words {
		kind, arg, _ := strings.Cut(word, ":")
		bad := func(why string) error { return fmt.Errorf("rule %s: %s", kind, why) }
		if arg == "" && kind != "secrets" && kind != "none" {
			return nil, fmt.Errorf("%q is no rule: want header:NAME, member:NAME, value:TEXT, env:NAME, match:REGEXP, secrets or none", word)
		}
		name := kind
		switch kind {
		case "header":
			arg = strings.ToLower(arg)
			r.headers[arg] = true
			name += ":" + arg
		case "member":
			r.members[arg] = true
			name += ":" + arg
		case "env":
			v, ok := lookup(arg)
			if !ok {
				return nil, bad("there is no variable " + arg)
			}
			name, arg = name+":"+arg, v
			fallthrough
		case "value":
			if len(arg) < shortest {
				return nil, bad(fmt.Sprintf("a text of %d bytes stands in too many places; want at least %d", len(arg), shortest))
			}
			r.values = append(r.values, arg)
			for _, html := range []bool{true, false} { // JSON may escape <, > and &
				var q strings.Builder
				e := json.NewEncoder(&q)
				e.SetEscapeHTML(html)
				if e.Encode(arg) == nil {
					r.values = append(r.values, strings.TrimSuffix(strings.TrimPrefix(q.String(), `"`), "\"\n"))
				}
			}
		case "match":
			re, err := regexp.Compile(arg)
			if err != nil {
				return nil, bad(err.Error())
			}
			if re.MatchString("") {
				return nil, bad("the expression matches the empty text")
			}
			r.match = append(r.match, re)
		case "secrets":
			r.looks = true
		case "none":
			none = true
			continue
		default:
			return nil, fmt.Errorf("%q is no rule: want header:NAME, member:NAME, value:TEXT, env:NAME, match:REGEXP, secrets or none", word)
		}
		if !slices.Contains(r.names, name) {
			r.names = append(r.names, name)
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return len(b) - len(a) })
	if !none {
		r.usual = true
		for _, h := range credentials {
			r.headers[h] = true
		}
	}
	return r, nil
}

// Field is the value of the head's field that says what was replaced in the
// messages, without the texts of the rules; "" where the rules leave messages
// alone.
func (r *Rules) Field() string { return strings.Join(r.names, " ") }

// idle reports whether the rules change no message.
func (r *Rules) idle() bool { return len(r.names) == 0 }

func (r *Rules) textual() bool { return len(r.values) > 0 || len(r.match) > 0 || r.looks }

// Text applies the rules that look at texts.
func (r *Rules) Text(s string) string {
	for _, v := range r.values {
		s = strings.ReplaceAll(s, v, result.Redacted)
	}
	for _, re := range r.match {
		s = re.ReplaceAllLiteralString(s, result.Redacted)
	}
	if r.looks {
		s = (*result.Redactor)(nil).Text(s)
	}
	return s
}

// Redactor applies rules to the events of a recording, in order. The lines of
// one HTTP request are taken together, so that what stands both in its body and
// in a header is replaced in both or in none: they are held back until the body
// has come. It belongs to one goroutine.
type Redactor struct {
	rules *Rules
	emit  func(*transcript.Event)
	held  map[int][]transcript.Event // head of a request, by exchange
}

// NewRedactor hands what it made of each event to emit.
func NewRedactor(rules *Rules, emit func(*transcript.Event)) *Redactor {
	return &Redactor{rules: rules, emit: emit, held: map[int][]transcript.Event{}}
}

// Add takes the next event; its Data is not kept beyond the call, and not
// changed.
func (x *Redactor) Add(e *transcript.Event) {
	switch n := e.Exchange; {
	case n == 0 && x.rules.idle() && e.Dir != transcript.Note:
		x.emit(e)
	case n > 0 && e.Dir == transcript.ToServer && (e.Kind == transcript.KindRequest || e.Kind == transcript.KindHeader) && !x.rules.idle():
		c := *e
		c.Data = bytes.Clone(e.Data)
		x.held[n] = append(x.held[n], c)
	case n > 0 && e.Dir == transcript.ToServer && e.Kind == transcript.KindMessage:
		head := x.held[n]
		delete(x.held, n)
		body := *e
		x.request(head, &body)
	default:
		x.release(n)
		c := *e
		x.single(&c)
		x.emit(&c)
	}
}

// Close lets go what is held.
func (x *Redactor) Close() {
	for _, n := range slices.Sorted(maps.Keys(x.held)) {
		x.release(n)
	}
}

func (x *Redactor) release(n int) {
	if head := x.held[n]; head != nil {
		delete(x.held, n)
		x.request(head, nil)
	}
}

// request redacts the head and, where there is one, the body of a request.
func (x *Redactor) request(head []transcript.Event, body *transcript.Event) {
	mirrored := map[string]bool{} // values that were replaced
	for i := range head {
		name, value, ok := head[i].Header()
		if x.single(&head[i]); ok && head[i].Redacted && strings.HasPrefix(name, "mcp-") {
			mirrored[headerValue(value)] = true
		}
	}
	if body != nil {
		x.message(body, mirrored)
	}
	for i := range head {
		name, value, ok := head[i].Header()
		if ok && !head[i].Redacted && strings.HasPrefix(name, "mcp-") && mirrored[headerValue(value)] {
			replace(&head[i], name+": "+result.Redacted)
		}
		x.emit(&head[i])
	}
	if body != nil {
		x.emit(body)
	}
}

// headerValue undoes the encoding of values that no header can hold.
func headerValue(v string) string {
	if s, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(s, "?=")); err == nil {
			return string(b)
		}
	}
	return v
}

func replace(e *transcript.Event, text string) {
	if text != string(e.Data) {
		e.Data, e.Redacted = []byte(text), true
	}
}

// single redacts an event by itself.
func (x *Redactor) single(e *transcript.Event) {
	switch {
	case e.Kind == transcript.KindMessage && e.Dir != transcript.Note:
		x.message(e, nil)
		return
	case e.Kind == transcript.KindHeader || e.Kind == transcript.KindStatus:
		name, value, ok := e.Header()
		if !ok {
			return
		}
		decoded := headerValue(value)
		switch {
		case x.rules.headers[name]:
			value = result.Redacted
		case decoded != value && x.rules.Text(decoded) != decoded:
			value = result.Redacted
		}
		text := transcript.HeaderText(name, value)
		if e.Kind == transcript.KindStatus {
			text = string(e.Data[:4]) + text
		}
		if value == result.Redacted {
			replace(e, text)
			return
		}
	case e.Kind == transcript.KindRequest:
		method, target, _ := e.Request()
		replace(e, method+" "+x.rules.URL(target))
		return
	case e.Kind == transcript.KindStart:
		replace(e, x.rules.Target(string(e.Data)))
		return
	case e.Kind == transcript.KindSession && x.rules.headers["mcp-session-id"]:
		if revision, _, ok := strings.Cut(string(e.Data), " "); ok {
			replace(e, revision+" "+result.Redacted)
		}
	case e.Kind == transcript.KindDropped || e.Kind == transcript.KindEOF || e.Kind == transcript.KindExit:
		return
	case e.Kind == transcript.KindEnd:
		return
	}
	if x.rules.textual() {
		replace(e, x.rules.Text(string(e.Data)))
	}
}

// message redacts a message. mirrored holds texts that are replaced where they
// are a whole string, and gets those that were.
func (x *Redactor) message(e *transcript.Event, mirrored map[string]bool) {
	if len(x.rules.members) > 0 || len(mirrored) > 0 {
		v, err := wire.ParseRaw(bytes.TrimSpace(e.Data))
		switch {
		case err == nil && e.Length == 0 && !e.Partial:
			if out, changed := x.members(v, mirrored); changed {
				e.Data, e.Redacted = out, true
			}
		case len(bytes.TrimSpace(e.Data)) > 0:
			// Whatever it is, a member that has to be replaced may be in it.
			e.Data, e.Redacted, e.Length = []byte(result.Redacted), true, 0
			return
		}
	}
	if !x.rules.textual() {
		return
	}
	text := string(e.Data)
	after := x.rules.Text(text)
	if after == text {
		return
	}
	e.Data, e.Redacted = []byte(after), true
	if e.Length > 0 && e.Length <= int64(len(e.Data)) {
		e.Length = int64(len(e.Data)) + 1
	}
	if mirrored == nil {
		return
	}
	// What was replaced in a whole string is replaced in its header by the same
	// rule, unless the header says it in other words.
	if v, err := wire.ParseRaw([]byte(text)); err == nil {
		strs(v, func(s string) {
			if x.rules.Text(s) != s {
				mirrored[s] = true
			}
		})
	}
}

var redactedString = wire.Quote(result.Redacted)

// members replaces members by their names.
func (x *Redactor) members(v wire.Raw, mirrored map[string]bool) (out wire.Raw, changed bool) {
	switch v.Kind() {
	case wire.KindString:
		if len(mirrored) > 0 {
			if s, _ := v.Str(); mirrored[s] {
				return redactedString, true
			}
		}
	case wire.KindArray:
		out = append(out, '[')
		for e := range v.Elems() {
			if len(out) > 1 {
				out = append(out, ',')
			}
			w, c := x.members(e, mirrored)
			out, changed = append(out, w...), changed || c
		}
		out = append(out, ']')
	case wire.KindObject:
		out = append(out, '{')
		for name, e := range v.Members() {
			if len(out) > 1 {
				out = append(out, ',')
			}
			w, c := e, x.rules.members[name]
			if c {
				if mirrored != nil {
					scalars(e, func(s string) { mirrored[s] = true })
				}
				w = redactedString
			} else {
				w, c = x.members(e, mirrored)
			}
			out = append(append(wire.AppendString(out, name), ':'), w...)
			changed = changed || c
		}
		out = append(out, '}')
	}
	if !changed {
		return v, false
	}
	return out, true
}

// scalars calls fn for what headers may say of a value: its strings, numbers
// and booleans.
func scalars(v wire.Raw, fn func(string)) {
	switch v.Kind() {
	case wire.KindNumber, wire.KindBool:
		fn(v.String())
	case wire.KindObject:
		for _, e := range v.Members() {
			scalars(e, fn)
		}
	default:
		strs(v, fn)
	}
}

func strs(v wire.Raw, fn func(string)) {
	switch v.Kind() {
	case wire.KindString:
		s, _ := v.Str()
		fn(s)
	case wire.KindArray:
		for e := range v.Elems() {
			strs(e, fn)
		}
	case wire.KindObject:
		for _, e := range v.Members() {
			strs(e, fn)
		}
	}
}

// Redact applies rules to a recording that was made before; the argument stays
// as it is. A recording in which nothing is replaced keeps its head.
func Redact(rec *transcript.Recording, rules *Rules) (*transcript.Recording, error) {
	out := &transcript.Recording{Fields: slices.Clone(rec.Fields), Events: make([]transcript.Event, 0, len(rec.Events)), After: rec.After}
	found, messages := false, false
	x := NewRedactor(rules, func(e *transcript.Event) {
		found = found || e.Redacted
		messages = messages || e.Redacted && e.Kind == transcript.KindMessage
		c := *e
		out.Events = append(out.Events, c)
	})
	for i := range rec.Events {
		x.Add(&rec.Events[i])
	}
	x.Close()
	for i := range out.Fields {
		f := &out.Fields[i]
		text := rules.Text(f.Value)
		if f.Name == transcript.FieldTarget {
			text = rules.Target(f.Value)
		}
		if text != f.Value {
			f.Value, found = text, true
		}
	}
	if messages {
		field := rules.Field()
		if before := rec.Get(transcript.FieldRedacted); before != "" && before != field {
			field = before + " " + field
		}
		out.Set(transcript.FieldRedacted, field)
	}
	if err := out.Check(); err != nil {
		return nil, errors.Join(errors.New("a rule makes a line that no recording can hold"), err)
	}
	return out, nil
}
