package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// magic is the first line of every transcript.
const magic = "goldwire-transcript: 1"

// maxExchange bounds exchange numbers, so that a hostile file cannot make a
// reader count far.
const maxExchange = 1 << 30

// noteWords are the words that open a note, by kind.
var noteWords = map[Kind]string{
	KindStart:   "start",
	KindStderr:  "stderr",
	KindEOF:     "eof",
	KindSent:    "sent",
	KindExit:    "exit",
	KindSignal:  "signal",
	KindError:   "error",
	KindDropped: "dropped",
	KindProbe:   "probe",
	KindNote:    "note",
	KindSession: "session",
}

var noteKinds = func() map[string]Kind {
	m := make(map[string]Kind, len(noteWords))
	for k, w := range noteWords {
		m[w] = k
	}
	return m
}()

// Error says where a transcript cannot be read, and why.
type Error struct {
	Line int // from 1
	Msg  string
}

// Error is "line 7: want …".
func (e *Error) Error() string { return "line " + strconv.Itoa(e.Line) + ": " + e.Msg }

// Read parses what r holds, up to max bytes (0: 256 MiB); more is an error.
func Read(r io.Reader, max int64) (*Recording, error) {
	if max <= 0 {
		max = 256 << 20
	}
	b, err := io.ReadAll(io.LimitReader(r, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > max {
		return nil, fmt.Errorf("the transcript is longer than %d bytes", max)
	}
	return ParseOwned(b)
}

// Parse reads a transcript. The recording does not alias b. Errors of the
// text are *Error; nothing is repaired silently.
func Parse(b []byte) (*Recording, error) { return ParseOwned(bytes.Clone(b)) }

// ParseOwned is Parse of a text that the recording keeps: most of its events
// are stretches of b, which nobody may change any more. Of a long recording it
// needs half the memory.
func ParseOwned(b []byte) (*Recording, error) {
	p := parser{rest: b}
	if n := countEvents(b); n > 0 {
		p.rec.Events = make([]Event, 0, n)
	}
	if err := p.parse(); err != nil {
		return nil, &Error{Line: p.line, Msg: err.Error()}
	}
	return &p.rec, nil
}

// countEvents is how many lines begin as an event does.
func countEvents(b []byte) int {
	n := 0
	for len(b) > 0 {
		if c := b[0]; c == byte(ToServer) || c == byte(ToClient) || c == byte(Note) {
			n++
		}
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		b = b[i+1:]
	}
	return n
}

type parser struct {
	rest   []byte
	line   int
	rec    Recording
	before []string
}

// next cuts off one line; the newline of the last one may be missing. own is
// the line where it stands.
func (p *parser) next() (l string, own []byte, ok bool) {
	if len(p.rest) == 0 {
		return "", nil, false
	}
	p.line++
	own, p.rest, _ = bytes.Cut(p.rest, []byte("\n"))
	return string(own), own, true
}

func (p *parser) parse() error {
	l, _, ok := p.next()
	if !ok || l != magic {
		p.line = 1
		return fmt.Errorf("want the line %q first, got %s", magic, show(l))
	}
	for {
		l, own, ok := p.next()
		if !ok {
			p.rec.After = p.before
			return nil
		}
		switch {
		case strings.HasSuffix(l, "\r"):
			return errors.New("the line ends in a carriage return: save the file with plain newlines, and write one that belongs to the data as a quoted escape")
		case l == "" || l[0] == '#':
			if !cleanComment(l) {
				return errors.New("a comment must be one line of clean UTF-8")
			}
			p.before = append(p.before, l)
		case l[0] == '>' || l[0] == '<' || l[0] == '!':
			e, err := parseEvent(l, own)
			if err != nil {
				return err
			}
			e.Before, p.before = p.before, nil
			p.rec.Events = append(p.rec.Events, e)
		default:
			f, err := parseField(l)
			if err != nil {
				return err
			}
			if len(p.rec.Events) > 0 {
				return fmt.Errorf("the field %s stands after the first event: fields come first", f.Name)
			}
			f.Before, p.before = p.before, nil
			p.rec.Fields = append(p.rec.Fields, f)
		}
	}
}

func parseField(l string) (Field, error) {
	name, value, ok := strings.Cut(l, ":")
	if !ok || !fieldName(name) {
		return Field{}, fmt.Errorf("want a mark (> < >> << !), a field (name: value) or a comment (# …), got %s", show(l))
	}
	if value != "" && value[0] != ' ' {
		return Field{}, fmt.Errorf("field %s: want a space after the colon", name)
	}
	value = strings.TrimPrefix(value, " ")
	if strings.HasPrefix(value, `"`) {
		b, err := unquote(value)
		if err != nil {
			return Field{}, fmt.Errorf("field %s: %w", name, err)
		}
		return Field{Name: name, Value: string(b)}, nil
	}
	if !clean(value) {
		return Field{}, fmt.Errorf("field %s: the value holds what must be written as a quoted escape", name)
	}
	return Field{Name: name, Value: value}, nil
}

func fieldName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '-' && (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			return false
		}
	}
	return s != "" && s != "goldwire-transcript"
}

// parseEvent reads the line l, which stands at own.
func parseEvent(l string, own []byte) (Event, error) {
	var e Event
	e.Dir = Dir(l[0])
	rest := l[1:]
	if e.Dir != Note && rest != "" && rest[0] == l[0] {
		e.Carrier, rest = true, rest[1:]
	}
	if n := digits(rest); n > 0 {
		v, err := number(rest[:n], maxExchange)
		if err != nil || v == 0 {
			return e, fmt.Errorf("the exchange number %s is not a number from 1 to %d without leading zeros", show(rest[:n]), maxExchange)
		}
		e.Exchange, rest = int(v), rest[n:]
	}
	if strings.HasPrefix(rest, "r") {
		e.Redacted, rest = true, rest[1:]
	}
	quoted := strings.HasPrefix(rest, "x")
	if quoted {
		rest = rest[1:]
	}
	if strings.HasPrefix(rest, "~") {
		rest = rest[1:]
		if strings.HasPrefix(rest, "~") {
			e.Partial, rest = true, rest[1:]
			if digits(rest) == 0 {
				return e, errors.New("want the length of the whole line after ~~")
			}
		}
		if n := digits(rest); n > 0 {
			v, err := number(rest[:n], 1<<62)
			if err != nil || v == 0 {
				return e, fmt.Errorf("the length %s is not a number from 1 without leading zeros", show(rest[:n]))
			}
			e.Length, rest = v, rest[n:]
		} else {
			e.Partial = true
		}
	}
	if strings.HasPrefix(rest, "@") {
		at, tail, err := parseTime(rest[1:])
		if err != nil {
			return e, err
		}
		e.Timed, e.At, rest = true, at, tail
	}
	if rest != "" {
		if rest[0] != ' ' {
			return e, fmt.Errorf("want a space after the mark, got %s", show(rest))
		}
		rest = rest[1:]
		if rest == "" {
			return e, errors.New("a space at the end of the line")
		}
	}
	if e.Dir == Note {
		w := rest
		if i := strings.IndexByte(rest, ' '); i >= 0 {
			w, rest = rest[:i], rest[i+1:]
			if rest == "" {
				return e, errors.New("a space at the end of the line")
			}
		} else {
			rest = ""
		}
		k, ok := noteKinds[w]
		if !ok {
			return e, fmt.Errorf("no note is called %s", show(w))
		}
		e.Kind = k
	}
	if quoted {
		b, err := unquote(rest)
		if err != nil {
			return e, err
		}
		if len(b) > 0 {
			e.Data = b
		}
	} else {
		if !clean(rest) {
			return e, errors.New("the data holds what must be written as a quoted escape (x): bytes that are not UTF-8, control characters, or white space at an end")
		}
		if rest != "" {
			e.Data = slices.Clip(own[len(l)-len(rest):]) // what is left is the end of the line
		}
	}
	if e.Carrier {
		k, err := carrierKind(e.Dir, string(e.Data))
		if err != nil {
			return e, err
		}
		e.Kind = k
		if k == KindEnd {
			e.Data = nil
		}
	}
	return e, e.check()
}

// check holds what an event must satisfy to be printed and read back.
func (e *Event) check() error {
	switch {
	case e.Dir != ToServer && e.Dir != ToClient && e.Dir != Note:
		return fmt.Errorf("no direction is marked %q", byte(e.Dir))
	case e.Exchange < 0 || e.Exchange > maxExchange:
		return fmt.Errorf("the exchange number %d is out of range", e.Exchange)
	case e.Timed && e.At < 0:
		return errors.New("a time before the recording began")
	case e.Length != 0 && e.Length <= int64(len(e.Data)):
		return fmt.Errorf("the whole line has %d bytes, yet %d of it were kept", e.Length, len(e.Data))
	case e.Carrier && e.Dir == Note:
		return errors.New("a note is not what the carrier said")
	case e.Carrier && e.Exchange == 0:
		return errors.New("what the carrier said needs an exchange number (>>1)")
	case e.Carrier && (e.Partial || e.Length != 0):
		return errors.New("what the carrier said is never cut off")
	}
	switch {
	case e.Dir == Note:
		if noteWords[e.Kind] == "" {
			return fmt.Errorf("kind %d is no note", e.Kind)
		}
		return noteData(e.Kind, string(e.Data))
	case e.Carrier:
		if e.Kind == KindEnd {
			if len(e.Data) != 0 {
				return errors.New("end carries no data")
			}
			return nil
		}
		k, err := carrierKind(e.Dir, string(e.Data))
		if err != nil {
			return err
		}
		if k != e.Kind {
			return fmt.Errorf("the carrier line %s reads as another kind", show(string(e.Data)))
		}
		return nil
	case e.Kind != KindMessage:
		return fmt.Errorf("kind %d needs another mark", e.Kind)
	}
	return nil
}

// noteData checks the data of the notes that programs read.
func noteData(k Kind, s string) error {
	switch k {
	case KindEOF:
		if s != ">" && s != "<" {
			return fmt.Errorf("eof: want > or <, got %s", show(s))
		}
	case KindExit:
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return fmt.Errorf("exit: want a number, got %s", show(s))
		}
	case KindDropped:
		a, b, ok := strings.Cut(s, " ")
		_, e1 := number(a, 1<<62)
		_, e2 := number(b, 1<<62)
		if !ok || e1 != nil || e2 != nil {
			return fmt.Errorf("dropped: want two numbers, events and bytes, got %s", show(s))
		}
	case KindSent, KindSignal, KindProbe, KindSession:
		if s == "" {
			return fmt.Errorf("%s: want a name", noteWords[k])
		}
	}
	return nil
}

// carrierKind tells what a carrier line is from its text.
func carrierKind(d Dir, s string) (Kind, error) {
	if s == "end" {
		return KindEnd, nil
	}
	if d == ToClient {
		if strings.HasPrefix(s, ":") {
			return KindSSE, nil
		}
		if digits(s) == 3 && (len(s) == 3 || s[3] == ' ') {
			if len(s) > 4 {
				if n, _, ok := splitHeader(s[4:]); !ok || sseField(n) {
					return 0, fmt.Errorf("want the first header after the status, as in 200 content-type: application/json, got %s", show(s[4:]))
				}
			}
			return KindStatus, nil
		}
	} else if m, t, ok := strings.Cut(s, " "); ok && methodToken(m) {
		if t == "" || strings.ContainsAny(t, " \t") {
			return 0, fmt.Errorf("want a method and a target, as in POST /mcp, got %s", show(s))
		}
		return KindRequest, nil
	}
	if n, _, ok := splitHeader(s); ok {
		if d == ToClient && sseField(n) {
			return KindSSE, nil
		}
		return KindHeader, nil
	}
	if d == ToClient {
		return 0, fmt.Errorf("want a status, a header (name: value), an SSE field (id, event, retry or a comment) or end, got %s", show(s))
	}
	return 0, fmt.Errorf("want a request line (POST /mcp), a header (name: value) or end, got %s", show(s))
}

// sseField reports whether a name in a carrier line is a field of an SSE
// event. Only the lower-case spelling is: a header of such a name is
// written with a capital.
func sseField(n string) bool { return n == "id" || n == "event" || n == "retry" }

func methodToken(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return s != ""
}

// splitHeader cuts "name: value". The value may be empty ("name:").
func splitHeader(s string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(s, ":")
	if !ok || name == "" {
		return "", "", false
	}
	for i := 0; i < len(name); i++ {
		if !tokenChar(name[i]) {
			return "", "", false
		}
	}
	return name, strings.TrimPrefix(value, " "), true
}

// tokenChar reports whether c may stand in a header name (RFC 9110, 5.6.2).
func tokenChar(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func number(s string, max int64) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v > max || v < 0 || digits(s) != len(s) || len(s) > 1 && s[0] == '0' {
		return 0, errors.New("out of range")
	}
	return v, nil
}

// parseTime reads "12ms" or "12.5ms" and returns what follows.
func parseTime(s string) (time.Duration, string, error) {
	bad := errors.New("want a time in milliseconds after @, as in @12ms or @12.5ms")
	n := digits(s)
	ms, err := number(s[:n], int64(1<<63-1)/int64(time.Millisecond)-1)
	if n == 0 || err != nil {
		return 0, "", bad
	}
	at, s := time.Duration(ms)*time.Millisecond, s[n:]
	if strings.HasPrefix(s, ".") {
		n := digits(s[1:])
		if n == 0 || n > 6 || s[n] == '0' {
			return 0, "", bad
		}
		frac, err := strconv.ParseInt(s[1:1+n], 10, 64)
		if err != nil {
			return 0, "", bad
		}
		for range 6 - n {
			frac *= 10
		}
		at, s = at+time.Duration(frac), s[1+n:]
	}
	if !strings.HasPrefix(s, "ms") {
		return 0, "", bad
	}
	return at, s[2:], nil
}

func appendTime(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Millisecond), 10)
	if frac := d % time.Millisecond; frac != 0 {
		b = append(b, '.')
		for unit := time.Millisecond / 10; frac > 0; unit /= 10 {
			b = append(b, byte('0'+frac/unit))
			frac %= unit
		}
	}
	return append(b, "ms"...)
}

// clean reports whether s can stand unquoted at the end of a line: UTF-8
// without control characters (a tab inside is fine) or line separators, and
// without white space at either end, which editors cut off.
func clean[T string | []byte](s T) bool {
	if len(s) == 0 {
		return true
	}
	if c := s[0]; c == ' ' || c == '\t' {
		return false
	}
	if c := s[len(s)-1]; c == ' ' || c == '\t' {
		return false
	}
	return cleanComment(s)
}

func cleanComment[T string | []byte](s T) bool {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(string(s[i:min(len(s), i+utf8.UTFMax)]))
		if r == utf8.RuneError && n == 1 || lineBreaker(r) {
			return false
		}
		i += n
	}
	return true
}

// lineBreaker reports runes that editors show as a line break or not at all.
func lineBreaker(r rune) bool {
	return r >= 0x80 && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff
}

// appendQuoted writes s as a quoted escape.
func appendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !(r == utf8.RuneError && n == 1) && !lineBreaker(r) {
				b = append(b, s[i:i+n]...)
				i += n
				continue
			}
		}
		i++
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < 0x20 || c >= 0x7f:
			b = append(b, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// unquote reads a whole quoted escape.
func unquote(s string) ([]byte, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return nil, errors.New(`want a quoted escape ("…") to the end of the line`)
	}
	s = s[1 : len(s)-1]
	if !cleanComment(s) {
		return nil, errors.New("a quoted escape holds a byte that must be escaped")
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return nil, errors.New(`a " inside a quoted escape is written \"`)
		}
		if c != '\\' {
			b = append(b, c)
			continue
		}
		i++
		if i == len(s) {
			return nil, errors.New(`a quoted escape ends in \`)
		}
		switch s[i] {
		case '"', '\\':
			b = append(b, s[i])
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'x':
			if i+2 >= len(s) {
				return nil, errors.New(`want two hexadecimal digits after \x`)
			}
			v, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				return nil, errors.New(`want two hexadecimal digits after \x`)
			}
			b = append(b, byte(v))
			i += 2
		default:
			return nil, fmt.Errorf(`no escape is called \%c: use \\ \" \n \r \t \xNN`, s[i])
		}
	}
	return b, nil
}

// show quotes a piece of input for an error, shortened.
func show(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}

// AppendText appends the recording in its canonical form, which Parse reads
// back as the same recording. What no line can hold (a comment of two lines,
// an unknown kind) is an error that names the event, and b is returned as it
// was.
func (r *Recording) AppendText(b []byte) ([]byte, error) {
	start := len(b)
	out, err := r.print(b, func(b []byte) ([]byte, error) { return b, nil })
	if err != nil {
		return b[:start], err
	}
	return out, nil
}

// Check gives the error of AppendText without the text.
func (r *Recording) Check() error {
	_, err := r.print(nil, func(b []byte) ([]byte, error) { return b[:0], nil })
	return err
}

// print appends the text, and hands it to next after each line.
func (r *Recording) print(b []byte, next func([]byte) ([]byte, error)) ([]byte, error) {
	b = append(append(b, magic...), '\n')
	var err error
	for i := range r.Fields {
		f := &r.Fields[i]
		if b, err = appendComments(b, f.Before); err != nil {
			return b, fmt.Errorf("field %s: %w", f.Name, err)
		}
		if !fieldName(f.Name) {
			return b, fmt.Errorf("the field name %s is not made of lower-case letters, digits and hyphens", show(f.Name))
		}
		b = append(append(b, f.Name...), ':')
		if f.Value != "" {
			b = append(b, ' ')
			if clean(f.Value) && f.Value[0] != '"' {
				b = append(b, f.Value...)
			} else {
				b = appendQuoted(b, f.Value)
			}
		}
		if b, err = next(append(b, '\n')); err != nil {
			return b, err
		}
	}
	for i := range r.Events {
		e := &r.Events[i]
		if b, err = appendComments(b, e.Before); err == nil {
			err = e.check()
		}
		if err != nil {
			return b, fmt.Errorf("event %d: %w", i, err)
		}
		if b, err = next(append(e.appendLine(b), '\n')); err != nil {
			return b, err
		}
	}
	if b, err = appendComments(b, r.After); err != nil {
		return b, fmt.Errorf("at the end: %w", err)
	}
	return b, nil
}

func appendComments(b []byte, ls []string) ([]byte, error) {
	for _, l := range ls {
		if l != "" && (l[0] != '#' || !cleanComment(l)) {
			return b, fmt.Errorf("the comment %s is not one line that starts with #", show(l))
		}
		b = append(append(b, l...), '\n')
	}
	return b, nil
}

func (e *Event) appendLine(b []byte) []byte {
	b = append(b, byte(e.Dir))
	if e.Carrier {
		b = append(b, byte(e.Dir))
	}
	if e.Exchange > 0 {
		b = strconv.AppendInt(b, int64(e.Exchange), 10)
	}
	if e.Redacted {
		b = append(b, 'r')
	}
	data := e.Data
	if e.Kind == KindEnd {
		data = endText
	}
	quote := !clean(data)
	if quote {
		b = append(b, 'x')
	}
	if e.Partial {
		b = append(b, '~')
	}
	if e.Length != 0 {
		b = append(b, '~')
		b = strconv.AppendInt(b, e.Length, 10)
	}
	if e.Timed {
		b = appendTime(append(b, '@'), e.At)
	}
	if e.Dir == Note {
		b = append(append(b, ' '), noteWords[e.Kind]...)
	}
	if len(data) == 0 {
		return b
	}
	b = append(b, ' ')
	if quote {
		return appendQuoted(b, string(data))
	}
	return append(b, data...)
}

var endText = []byte("end")

// Line prints one event as its line, without a newline and without the
// comments before it: what a report shows.
func (e *Event) Line() string { return string(e.appendLine(nil)) }

// MarshalText prints the recording in its canonical form; see AppendText.
func (r *Recording) MarshalText() ([]byte, error) { return r.AppendText(nil) }

// String prints the recording in its canonical form. A recording that has none
// gives a text that Parse refuses and that says why; AppendText gives the error.
func (r *Recording) String() string {
	b, err := r.AppendText(nil)
	if err != nil {
		return "no transcript: " + err.Error() + "\n"
	}
	return string(b)
}

// UnmarshalText parses; see Parse.
func (r *Recording) UnmarshalText(b []byte) error {
	rec, err := Parse(b)
	if err != nil {
		return err
	}
	*r = *rec
	return nil
}

// WriteTo writes the recording in its canonical form, with the error of
// AppendText before anything is written.
func (r *Recording) WriteTo(w io.Writer) (int64, error) {
	if err := r.Check(); err != nil {
		return 0, err
	}
	const piece = 64 << 10
	var written int64
	write := func(b []byte) ([]byte, error) {
		n, err := w.Write(b)
		written += int64(n)
		return b[:0], err
	}
	rest, err := r.print(nil, func(b []byte) ([]byte, error) {
		if len(b) < piece {
			return b, nil
		}
		return write(b)
	})
	if err == nil {
		_, err = write(rest)
	}
	return written, err
}
