package streamhttp

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goldwire/goldwire/runtime/wire"
)

// The headers of the transport, in the spelling that net/http keeps them in.
// Names are compared without regard to case.
const (
	HeaderProtocolVersion = "Mcp-Protocol-Version" // MCP-Protocol-Version; from 2025-06-18 on
	HeaderSessionID       = "Mcp-Session-Id"       // 2025-03-26 to 2025-11-25
	HeaderLastEventID     = "Last-Event-Id"        // Last-Event-ID; 2025-03-26 to 2025-11-25
	HeaderMethod          = "Mcp-Method"           // from 2026-07-28 on
	HeaderName            = "Mcp-Name"             // from 2026-07-28 on
	HeaderParamPrefix     = "Mcp-Param-"           // from 2026-07-28 on
)

// HeaderError is a header that is missing, malformed, or other than the body
// says: what CodeHeaderMismatch stands for.
type HeaderError struct {
	Header string // "Mcp-Name"
	Reason string // what is wrong with it
}

// Error names the header and what is wrong with it.
func (e *HeaderError) Error() string { return fmt.Sprintf("header %s: %s", e.Header, e.Reason) }

// A value that a header cannot carry as it is stands between these, in Base64.
const (
	encodedStart = "=?base64?"
	encodedEnd   = "?="
)

// EncodeHeaderValue writes a text as the value of Mcp-Name or Mcp-Param-*: as
// it is, or as =?base64?…?= where it holds other than visible ASCII and inner
// blanks, or looks like that form itself. Specification:
// basic/transports/streamable-http#value-encoding (2026-07-28). Mcp-Method, of which
// that says nothing, is written so too.
func EncodeHeaderValue(s string) string {
	if plainValue(s) && !looksEncoded(s) {
		return s
	}
	return encodedStart + base64.StdEncoding.EncodeToString([]byte(s)) + encodedEnd
}

// DecodeHeaderValue is the inverse of EncodeHeaderValue; blanks around the
// value are not part of it. Characters that a value cannot hold, Base64 that is
// not exact, and what is no UTF-8 are errors.
func DecodeHeaderValue(s string) (string, error) {
	s = strings.Trim(s, " \t")
	if !plainValue(s) {
		return "", fmt.Errorf("%q holds characters that have to be encoded", clipValue(s))
	}
	text, ok := strings.CutPrefix(s, encodedStart)
	if !ok {
		return s, nil
	}
	if text, ok = strings.CutSuffix(text, encodedEnd); !ok {
		return s, nil
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("%q is not valid Base64", clipValue(s))
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%q is not UTF-8", clipValue(s))
	}
	return string(b), nil
}

// plainValue reports whether a header can carry a text as it is.
func plainValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == "" || s[0] != ' ' && s[len(s)-1] != ' '
}

func looksEncoded(s string) bool {
	return len(s) >= len(encodedStart)+len(encodedEnd) && strings.EqualFold(s[:len(encodedStart)], encodedStart) && strings.HasSuffix(s, encodedEnd)
}

func clipValue(s string) string { return s[:min(len(s), 200)] }

// nameMember is the member of a method's params that Mcp-Name repeats, "" for a
// method without that header. Specification:
// basic/transports/streamable-http#standard-request-headers (2026-07-28), and for
// the methods of tasks their extension, io.modelcontextprotocol/tasks.
func nameMember(method string) string {
	switch method {
	case "tools/call", "prompts/get":
		return "name"
	case "resources/read":
		return "uri"
	case "tasks/get", "tasks/update", "tasks/cancel":
		return "taskId"
	}
	return ""
}

// checkMethodHeaders holds the headers Mcp-Method and Mcp-Name of a request
// against its body, whose params have the members that get finds. Errors are
// *HeaderError. A body without the member that Mcp-Name repeats is not judged: its
// params are what is wrong.
func checkMethodHeaders(h http.Header, method string, get func(member string) wire.Raw) error {
	got, err := oneValue(h, HeaderMethod)
	if err != nil {
		return err
	}
	// What no header can carry comes encoded, and nothing else does: who routes by the
	// header need not decode it to know a method of the protocol.
	if got != method && got != EncodeHeaderValue(method) {
		return &HeaderError{HeaderMethod, fmt.Sprintf("%q, but the body's method is %q", clipValue(got), clipValue(method))}
	}
	member := nameMember(method)
	if member == "" {
		return nil
	}
	raw := get(member)
	if raw.Kind() != wire.KindString {
		return nil
	}
	want := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(want, '\\') >= 0 {
		s, ok := raw.Str()
		if !ok {
			return nil
		}
		want = []byte(s)
	}
	got, err = oneValue(h, HeaderName)
	if err != nil {
		return err
	}
	if got, err = DecodeHeaderValue(got); err != nil {
		return &HeaderError{HeaderName, err.Error()}
	}
	if got != string(want) {
		return &HeaderError{HeaderName, fmt.Sprintf("%q, but the body's %s is %q", clipValue(got), member, clipValue(string(want)))}
	}
	return nil
}

// oneValue is the value of a header that must be there once.
func oneValue(h http.Header, name string) (string, error) {
	switch v := h[name]; len(v) {
	case 0:
		return "", &HeaderError{name, "missing"}
	case 1:
		return strings.Trim(v[0], " \t"), nil
	}
	return "", &HeaderError{name, "given more than once"}
}

// ParamHeader is one argument of a tool that a header repeats.
type ParamHeader struct {
	Header string   // canonical name, "Mcp-Param-Region"
	Path   []string // of property names, from the arguments down
	Type   string   // "string", "integer" or "boolean"
}

// AnnotationError is a tool whose x-mcp-header annotations break the rules: a
// client leaves it out of its list of tools.
type AnnotationError struct {
	Path   string // of the annotated schema, "/properties/region"
	Reason string // which rule
}

// Error names the place and the rule.
func (e *AnnotationError) Error() string {
	return fmt.Sprintf("x-mcp-header at %s: %s", clipValue(e.Path), e.Reason)
}

const (
	annotation = "x-mcp-header"
	maxSchema  = 64 // levels that are looked through
)

// ParamHeaders are the headers of one tool's calls.
type ParamHeaders []ParamHeader

// ReadParamHeaders reads the x-mcp-header annotations of a tool's input schema, in
// the order they stand. An annotation that breaks a rule is an
// *AnnotationError: it is a token, used once in a schema whatever the case, on
// a string, an integer or a boolean, in a place that properties alone lead to.
// Specification: basic/transports/streamable-http#schema-extension and
// server/tools#x-mcp-header (2026-07-28).
func ReadParamHeaders(schema wire.Raw) (ParamHeaders, error) {
	w := annotationWalk{seen: map[string]bool{}}
	if err := w.schema(schema, "", nil, true); err != nil {
		return nil, err
	}
	return w.found, nil
}

type annotationWalk struct {
	found ParamHeaders
	seen  map[string]bool
	depth int
}

// schema looks through one schema. direct says that only properties led here.
func (w *annotationWalk) schema(s wire.Raw, at string, path []string, direct bool) error {
	if s.Kind() != wire.KindObject {
		return nil
	}
	if w.depth++; w.depth > maxSchema {
		return &AnnotationError{at, "the schema is nested too deeply to be looked through"}
	}
	defer func() { w.depth-- }()
	for name, v := range s.Members() {
		var err error
		switch here := at + "/" + name; name {
		case annotation:
			err = w.annotated(s, v, at, path, direct)
		case "properties":
			for k, sub := range v.Members() {
				if err = w.schema(sub, here+"/"+pointer(k), append(path[:len(path):len(path)], k), direct); err != nil {
					break
				}
			}
		case "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			for k, sub := range v.Members() {
				if err = w.schema(sub, here+"/"+pointer(k), nil, false); err != nil {
					break
				}
			}
		case "items", "prefixItems", "additionalItems", "contains", "additionalProperties", "unevaluatedItems", "unevaluatedProperties",
			"propertyNames", "contentSchema", "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			if err = w.schema(v, here, nil, false); err != nil {
				break
			}
			i := 0
			for sub := range v.Elems() {
				if err = w.schema(sub, here+"/"+strconv.Itoa(i), nil, false); err != nil {
					break
				}
				i++
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pointer(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func (w *annotationWalk) annotated(s, v wire.Raw, at string, path []string, direct bool) error {
	name, ok := v.Str()
	if !ok || !token(name) {
		return &AnnotationError{at, "it is no name of a header"}
	}
	if !direct || len(path) == 0 {
		return &AnnotationError{at, "something other than properties leads there"}
	}
	typ, _ := s.Get("type").Str()
	if typ != "string" && typ != "integer" && typ != "boolean" {
		return &AnnotationError{at, "the type is none of string, integer and boolean"}
	}
	key := strings.ToLower(name)
	if w.seen[key] {
		return &AnnotationError{at, fmt.Sprintf("%q is used twice", name)}
	}
	w.seen[key] = true
	w.found = append(w.found, ParamHeader{Header: http.CanonicalHeaderKey(HeaderParamPrefix + name), Path: path, Type: typ})
	return nil
}

// token reports whether a text is the name of a header field (RFC 9110,
// 5.6.2).
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// argument is the value of a header's argument, nil if it is absent or null.
func (p *ParamHeader) argument(args wire.Raw) wire.Raw {
	for _, name := range p.Path {
		args = args.Get(name)
	}
	if args.Kind() == wire.KindNull {
		return nil
	}
	return args
}

// ambiguous reports whether a member on the way to the argument comes more than
// once: a handler might take another one than the header was held against.
func (p *ParamHeader) ambiguous(args wire.Raw) bool {
	for _, name := range p.Path {
		var first wire.Raw
		n := 0
		for k, v := range args.Members() {
			if k != name {
				continue
			}
			if n++; n > 1 {
				return true
			}
			first = v
		}
		args = first
	}
	return false
}

// maxInteger bounds the integers that a header may carry: every JSON
// implementation can hold them.
const maxInteger = 1<<53 - 1

// headerText is an argument as the text of a header. It is false for what no header
// carries: an object, an array, a number that is no integer.
func headerText(arg wire.Raw) (string, bool, error) {
	switch arg.Kind() {
	case wire.KindString:
		s, ok := arg.Str()
		return s, ok, nil
	case wire.KindBool:
		return string(arg), true, nil
	case wire.KindNumber:
		if n, ok := arg.Int(); ok && -maxInteger <= n && n <= maxInteger {
			return strconv.FormatInt(n, 10), true, nil
		}
		if f, ok := arg.Float(); !ok || f > maxInteger || f < -maxInteger {
			return "", false, fmt.Errorf("%s is beyond the integers that a header carries", clipValue(string(arg)))
		}
	}
	return "", false, nil
}

// Set sets the headers of a call's arguments. Arguments that are
// absent or null get none, and what no header can carry is left for the server
// to judge. An integer beyond ±(2^53-1) is a *HeaderError.
func (ps ParamHeaders) Set(h http.Header, args wire.Raw) error {
	for i := range ps {
		p := &ps[i]
		switch s, ok, err := headerText(p.argument(args)); {
		case err != nil:
			return &HeaderError{p.Header, fmt.Sprintf("argument %s: %v", strings.Join(p.Path, "."), err)}
		case ok:
			h[p.Header] = []string{EncodeHeaderValue(s)}
		}
	}
	return nil
}

// Check holds the headers of a call against its arguments: each
// argument that has a value is in its header, and no header says other than
// the arguments. Integers are compared as numbers. Headers of no argument are
// ignored; an argument that comes more than once is refused, whatever its
// header says. Errors are *HeaderError. Specification:
// basic/transports/streamable-http#server-behavior-for-custom-headers
// (2026-07-28).
func (ps ParamHeaders) Check(h http.Header, args wire.Raw) error {
	for i := range ps {
		if err := ps[i].check(h, args); err != nil {
			return err
		}
	}
	return nil
}

func (p *ParamHeader) check(h http.Header, args wire.Raw) error {
	name := strings.Join(p.Path, ".")
	if p.ambiguous(args) {
		return &HeaderError{p.Header, fmt.Sprintf("argument %s comes more than once", name)}
	}
	arg := p.argument(args)
	values := h[p.Header]
	if arg == nil {
		if len(values) > 0 {
			return &HeaderError{p.Header, fmt.Sprintf("given, but argument %s has no value", name)}
		}
		return nil
	}
	got, err := oneValue(h, p.Header)
	if err == nil {
		if got, err = DecodeHeaderValue(got); err != nil {
			err = &HeaderError{p.Header, err.Error()}
		}
	}
	if err != nil {
		return err
	}
	want, ok, err := headerText(arg)
	switch {
	case err != nil:
		return &HeaderError{p.Header, fmt.Sprintf("argument %s: %v", name, err)}
	case !ok:
		return &HeaderError{p.Header, fmt.Sprintf("argument %s is nothing that a header carries", name)}
	case got == want:
		return nil
	case arg.Kind() == wire.KindNumber:
		if n, err := wire.ParseRaw([]byte(got)); err == nil && wire.Equal(n, wire.Raw(want)) {
			return nil
		}
	}
	return &HeaderError{p.Header, fmt.Sprintf("%q, but argument %s is %q", clipValue(got), name, clipValue(want))}
}
