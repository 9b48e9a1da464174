package result

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/conformance/transcript"
)

// Redacted stands where a secret stood.
const Redacted = "[redacted]"

// Redactor takes secrets out of what is shown and saved: values that it is
// given, and whatever looks like a credential. The zero value knows the looks
// only. Redacting twice is the same as once.
type Redactor struct {
	values []string // longest first, as they are and as JSON writes them
}

// Values of variables with such names are secrets though they may be short.
var secretName = regexp.MustCompile(`(?i)token|secret|key|passw|credential|auth|cookie|bearer`)

// SecretName reports whether the name of a variable or flag tells that its value
// is a secret.
func SecretName(name string) bool { return secretName.MatchString(name) }

// How long a value has to be before it is taken for a secret: a shorter one
// stands in too many places that have nothing to do with it.
const (
	shortestNamed = 4 // of a name that tells of a secret
	shortestValue = 8
)

// NewRedactor takes the values of variables and headers, each as NAME=value,
// for secrets: of at least 8 bytes, or 4 where the name says that it is one.
func NewRedactor(pairs []string) *Redactor {
	r := &Redactor{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		forms := []string{value}
		if scheme, rest, ok := strings.Cut(value, " "); ok && schemes.MatchString(scheme) {
			forms = append(forms, rest) // of Bearer abc the token alone
		}
		for _, v := range forms {
			if len(v) < shortestValue && (len(v) < shortestNamed || !secretName.MatchString(name)) {
				continue
			}
			r.values = append(r.values, v)
			for _, html := range []bool{true, false} { // JSON may escape <, > and &
				var q strings.Builder
				e := json.NewEncoder(&q)
				e.SetEscapeHTML(html)
				if e.Encode(v) == nil {
					r.values = append(r.values, strings.TrimSuffix(strings.TrimPrefix(q.String(), `"`), "\"\n"))
				}
			}
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.values = slices.Compact(r.values)
	return r
}

var schemes = regexp.MustCompile(`(?i)^(bearer|basic|token|dpop)$`)

// What looks like a credential. The group, where there is one, is kept.
var looks = []*regexp.Regexp{
	// A header or member of that name, whatever its value, quotes of JSON in
	// JSON included.
	regexp.MustCompile(`(?i)(\b(?:proxy-)?authorization\\*["']?\s*[:=]\s*\\*["']?)(?:(?:bearer|basic|token|dpop)\s+)?[^\s"'\\,;{\[][^\s"'\\,;]*`),
	regexp.MustCompile(`(?i)(\b(?:set-)?cookie\\*["']?\s*:\s*\\*["']?)[^"'\\\r\n]+`),
	regexp.MustCompile(`(?i)("(?:access_?token|refresh_?token|id_?token|client_?secret|api_?key|x-api-key|password|passwd)\\*"\s*:\s*\\*")[^"\\]+`),
	regexp.MustCompile(`(?i)((?:^|[^\w-])--?[\w-]*?` + secretNames + `[= ])\S+`),
	regexp.MustCompile(`(?i)(\bx-api-key\s*[:=]\s*)\S+`),
	// Tokens by how they are made.
	regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|sk-[A-Za-z0-9_-]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)`),
}

// A word after bearer is a token when it is long or holds a digit; else it is
// prose, and so is the parameter of a challenge, which names no secret.
var (
	bearer    = regexp.MustCompile(`(?i)\b(bearer\s+)([A-Za-z0-9._~+/-][A-Za-z0-9._~+/_-]*=*)`)
	challenge = regexp.MustCompile(`^(?:realm|scope|error|error_description|error_uri|resource_metadata|resource)=$`)
)

// Text takes the secrets out of a text.
func (r *Redactor) Text(s string) string {
	if s == "" {
		return s
	}
	if r != nil {
		for _, v := range r.values {
			s = strings.ReplaceAll(s, v, Redacted)
		}
		s = r.cutOff(s)
	}
	for _, re := range looks {
		s = re.ReplaceAllString(s, "${1}"+Redacted)
	}
	return bearer.ReplaceAllStringFunc(s, func(m string) string {
		parts := bearer.FindStringSubmatch(m)
		if len(parts[2]) < 16 && !strings.ContainsAny(parts[2], "0123456789") || challenge.MatchString(parts[2]) {
			return m
		}
		return parts[1] + Redacted
	})
}

// cutOff takes out the beginning of a secret that stands where a text was cut
// short, before an ellipsis.
func (r *Redactor) cutOff(s string) string {
	parts := strings.Split(s, "…")
	for i := range parts[:len(parts)-1] {
		for _, v := range r.values {
			n := min(len(v)-1, len(parts[i]))
			for n >= shortestNamed && !strings.HasSuffix(parts[i], v[:n]) {
				n--
			}
			if n >= shortestNamed {
				parts[i] = parts[i][:len(parts[i])-n] + Redacted
				break
			}
		}
	}
	return strings.Join(parts, "…")
}

// startLine is the beginning of a line of a recording that tells a command line.
var startLine = regexp.MustCompile(`^!\S* start `)

// Frames gives frames without secrets; the argument stays as it is.
func (r *Redactor) Frames(fs []Frame) []Frame {
	out := slices.Clone(fs)
	for i := range out {
		if startLine.MatchString(out[i].Text) {
			out[i].Text = r.Command(out[i].Text)
		}
		out[i].Text = r.Text(out[i].Text)
	}
	return out
}

// Check takes the secrets out of a result.
func (r *Redactor) Check(c *Check) {
	c.Expected, c.Observed, c.Reason = r.Text(c.Expected), r.Text(c.Observed), r.Text(c.Reason)
	c.Frames = r.Frames(c.Frames)
	for i := range c.More {
		m := &c.More[i]
		m.Expected, m.Observed, m.Frames = r.Text(m.Expected), r.Text(m.Observed), r.Frames(m.Frames)
	}
}

// Args gives a command line without secrets: the values of flags and variables
// whose names tell of one, also where a flag and its value are two arguments,
// what URL takes out, and what Text does.
func (r *Redactor) Args(args []string) []string {
	out := slices.Clone(args)
	for i := range out {
		if i > 0 && secretFlag.MatchString(args[i-1]) {
			out[i] = Redacted
			continue
		}
		arg := secretArg.ReplaceAllString(out[i], "${1}"+Redacted)
		out[i] = r.Text(URL(secretValue.ReplaceAllString(arg, "${1}"+Redacted)))
	}
	return out
}

// Command is Args for a command line in one text, in which arguments with spaces
// in them are quoted, as transcript.CommandLine makes it.
func (r *Redactor) Command(line string) string {
	line = quotedArg.ReplaceAllString(line, "${1}${2}"+Redacted)
	line = secretValue.ReplaceAllString(line, "${1}"+Redacted)
	return r.Text(URL(line))
}

// ArgSecrets are the values that Args takes out of a command line, each as
// NAME=value for NewRedactor: a program may repeat elsewhere what it was given.
func ArgSecrets(args []string) []string {
	var out []string
	add := func(v string) {
		if n := len(v); n > 2 && v[0] == v[n-1] && (v[0] == '"' || v[0] == '\'') {
			v = v[1 : n-1]
		}
		out = append(out, "secret="+v)
	}
	for i, arg := range args {
		if i > 0 && secretFlag.MatchString(args[i-1]) {
			add(arg)
			continue
		}
		if m := secretArg.FindStringSubmatchIndex(arg); m != nil {
			add(arg[m[3]:])
			continue
		}
		for _, m := range secretValue.FindAllStringSubmatchIndex(arg, -1) {
			add(arg[m[3]:m[1]])
		}
		for _, m := range secretQuery.FindAllStringSubmatchIndex(arg, -1) {
			add(arg[m[3]:m[1]])
		}
		for _, m := range password.FindAllStringSubmatch(arg, -1) {
			add(m[1])
		}
	}
	return out
}

// secretNames end the name of a flag or variable whose value is a secret.
const secretNames = `(?:token|secret|secret[-_]?key|passw(?:or)?d|passphrase|bearer|credentials?|(?:api|access|private)[-_]?key)`

// secretFlag is a flag whose value is the next argument, secretArg an argument
// that holds its value, quotedArg one in quotes in a text, and secretValue either
// in a text, also in one that a shell is given.
var (
	secretFlag  = regexp.MustCompile(`(?i)^--?[\w-]*?` + secretNames + `$`)
	secretArg   = regexp.MustCompile(`(?is)^([\w-]*?` + secretNames + `=).+$`)
	quotedArg   = regexp.MustCompile(`(?i)(^|\s)"([\w-]*?` + secretNames + `=)(?:[^"\\]|\\.)*"`)
	secretValue = regexp.MustCompile(`(?i)((?:^|[\s"'])(?:--?[\w-]*?` + secretNames + `(?:=|\s+)|\w*?` + secretNames + `=))(?:"(?:[^"\\]|\\.)*"|\\"(?:[^"\\]|\\[^"])*\\"|'[^']*'|\S+)`)
)

// secretQuery finds the values in the query of a URL whose names tell of a secret,
// and userInfo the name and password in front of a host.
var (
	secretQuery = regexp.MustCompile(`(?i)([?&][^=&\s#]*(?:token|secret|key|passw|pwd|credential|auth|bearer|sig)[^=&\s#]*=)[^&\s#]+`)
	userInfo    = regexp.MustCompile(`(://)[^/@\s]+@`)
	password    = regexp.MustCompile(`://[^/@\s:]*:([^/@\s]+)@`)
)

// URL takes what stands in front of the host out of URLs, and the values in their
// queries whose names tell of a secret.
func URL(s string) string {
	return secretQuery.ReplaceAllString(userInfo.ReplaceAllString(s, "${1}"), "${1}"+Redacted)
}

// Recording gives a recording without secrets, marked as one that is redacted
// where there were any. The argument stays as it is, and is returned where
// there were none.
func (r *Redactor) Recording(rec *transcript.Recording) *transcript.Recording {
	out := &transcript.Recording{Fields: slices.Clone(rec.Fields), Events: slices.Clone(rec.Events), After: rec.After}
	found := false
	for i := range out.Events {
		e := &out.Events[i]
		without := r.Text
		if e.Kind == transcript.KindStart {
			without = r.Command
		}
		if text := string(e.Data); without(text) != text {
			e.Data, found = []byte(without(text)), true
		}
	}
	for i := range out.Fields {
		f := &out.Fields[i]
		without := r.Text
		if f.Name == transcript.FieldTarget {
			without = r.Command
		}
		if text := without(f.Value); text != f.Value {
			f.Value, found = text, true
		}
	}
	if !found {
		return rec
	}
	out.Set(transcript.FieldRedacted, "secrets")
	return out
}
