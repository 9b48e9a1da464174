package build

import (
	"regexp"
	"strings"
	"unicode"
)

// initialisms are written in capitals in Go names.
var initialisms = map[string]bool{
	"ID": true, "URI": true, "URL": true, "MIME": true, "JSON": true, "RPC": true, "TTL": true, "HTTP": true, "SSE": true,
}

// camel makes an exported Go name of a member, value or definition name:
// separators and changes of case end a word, initialisms are fixed up.
func camel(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		if up := strings.ToUpper(w); initialisms[up] {
			b.WriteString(up)
			continue
		}
		if s, plural := strings.CutSuffix(w, "s"); plural && initialisms[strings.ToUpper(s)] {
			b.WriteString(strings.ToUpper(s) + "s")
			continue
		}
		r := []rune(w)
		r[0] = unicode.ToUpper(r[0])
		b.WriteString(string(r))
	}
	out := b.String()
	if out == "" || !unicode.IsLetter([]rune(out)[0]) {
		return "X" + out // a Go name starts with a letter
	}
	return out
}

// words cuts a name at what is neither letter nor digit, before a capital that
// follows a small letter or digit, and before the last capital of a run that a
// small letter follows ("URLParams" is URL, Params).
func words(name string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, string(cur))
			cur = nil
		}
	}
	rs := []rune(name)
	for i, r := range rs {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && len(cur) > 0 {
			prev := rs[i-1]
			next := i+1 < len(rs) && unicode.IsLower(rs[i+1])
			if !unicode.IsUpper(prev) || next {
				flush()
			}
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

// fieldName is the Go name of a member: "_meta" is Meta, "$schema" is Schema,
// "io.modelcontextprotocol/clientInfo" is ClientInfo.
func fieldName(member string) string {
	if i := strings.LastIndexByte(member, '/'); i >= 0 && i+1 < len(member) {
		member = member[i+1:]
	}
	return camel(member)
}

// methodNames are the methods that structs are printed with.
var methodNames = map[string]bool{
	"AppendJSON": true, "Bytes": true, "Clone": true, "DecodeJSON": true, "HasMeta": true, "MarshalJSON": true, "SetBytes": true, "SetExtra": true,
	"SetInputs": true, "SetMetadata": true, "UnmarshalJSON": true, "Validate": true,
}

// memberName is the name of a member's field: no field can have the name of a
// method.
func memberName(member string) string {
	name := fieldName(member)
	if methodNames[name] {
		name += "Member"
	}
	return name
}

var paramsName = regexp.MustCompile(`^(.+)(Request|Notification)(|[A-Z].*)Params$`)

// definitionName is the Go name of a definition by the general rules: params
// lose the word in the middle, meta objects the one at the end.
func definitionName(def string) string {
	if m := paramsName.FindStringSubmatch(def); m != nil {
		def = m[1] + m[3] + "Params"
	}
	if s, ok := strings.CutSuffix(def, "MetaObject"); ok && s != "" {
		def = s + "Meta"
	}
	return camel(def)
}

// methodConst is the name of a method's constant: "tools/call" is MethodToolsCall.
func methodConst(method string) string { return "Method" + camel(method) }

// matches says whether an overlay place ("CallToolResult.content[]", "*.ttlMs",
// "*Params._meta") means the member path of the owner.
func matches(at, owner, path string) bool {
	o, p, ok := strings.Cut(at, ".")
	if !ok || p != path {
		return false
	}
	if end, wild := strings.CutPrefix(o, "*"); wild {
		return strings.HasSuffix(owner, end)
	}
	return o == owner
}
