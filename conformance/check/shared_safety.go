package check

import (
	"bytes"
	"iter"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/wire"
)

// What servers keep to themselves, and what they do with what means them harm.

// maxHostile is how many tools are called with arguments that mean harm, and
// maxPaths how many places paths lead out of.
const (
	maxHostile = 3
	maxPaths   = 3
)

// outside is a file that most systems have, that everybody may read, and that
// no server has reason to give out; insideIt is a word that stands in it.
const (
	outside  = "/etc/hosts"
	insideIt = "localhost"
)

// hostile makes arguments of those that fit a tool.
var hostile = []struct {
	name string
	make func(args wire.Raw) string
}{
	{"long", func(args wire.Raw) string { return withStrings(args, quote(strings.Repeat("A", 100_000))) }},
	{"control", func(args wire.Raw) string {
		return withStrings(args, quote("\x00\x1b[2J\u202e\u2028\r\n../../;$(id)'\"<>{{7*7}}"))
	}},
	{"deep", func(args wire.Raw) string {
		return withMember(args, "goldwire", strings.Repeat("[", 100)+strings.Repeat("]", 100))
	}},
	{"types", func(args wire.Raw) string { return withStrings(args, `[null,{"a":1e308}]`) }},
}

// withStrings replaces each string among arguments, or adds a member where
// there is none.
func withStrings(args wire.Raw, value string) string {
	var parts []string
	found := false
	for k, v := range args.Members() {
		text := string(v)
		if v.Kind() == wire.KindString {
			text, found = value, true
		}
		parts = append(parts, quote(k)+":"+text)
	}
	if !found {
		parts = append(parts, `"goldwire":`+value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// withMember is an object with another value of a member, or with one more.
func withMember(object wire.Raw, name, value string) string {
	var parts []string
	found := false
	for k, v := range object.Members() {
		text := string(v)
		if k == name {
			text, found = value, true
		}
		parts = append(parts, quote(k)+":"+text)
	}
	if !found {
		parts = append(parts, quote(name)+":"+value)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// pathsOut are URIs that lead from a listed file to one outside of what is
// listed, written in several ways.
func pathsOut(uri string) []string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return nil
	}
	dir := "file://" + u.Host + strings.TrimSuffix(path.Dir(u.Path), "/")
	var out []string
	for _, up := range []string{"../", "%2e%2e/", "..%2f", "%2e%2e%2f", "%252e%252e%252f", "....//"} {
		out = append(out, dir+"/"+strings.Repeat(up, 12)+strings.TrimPrefix(outside, "/"))
	}
	return out
}

func safetyProbes() []Probe {
	return []Probe{
		{
			Name: "paths that lead out", Since: firstModern, Profile: Main, Needs: []string{"resources"},
			Run: func(d *Driver) {
				n := 0
				for _, r := range d.Facts.Resources {
					paths := pathsOut(Name(r, "uri"))
					if paths == nil || n == maxPaths {
						continue
					}
					if n++; n == 1 {
						d.Step("path/plain")
						d.Call("resources/read", `{"uri":"file://`+outside+`"}`)
					}
					d.Step("path/out/" + Name(r, "uri"))
					for _, uri := range paths {
						d.Call("resources/read", `{"uri":`+quote(uri)+`}`)
					}
				}
			},
		},
		{
			Name: "hostile arguments", Until: lastLegacy, Profile: Main, Needs: []string{"tools"}, Rough: true,
			Run: func(d *Driver) {
				n := 0
				for _, t := range d.Facts.Tools {
					name := Name(t, "name")
					args, sure := Arguments(t.Get("inputSchema"))
					if name == "" || !sure || !d.MayCall(name) || d.slow(name) || n == maxHostile {
						continue
					}
					n++
					for _, h := range hostile {
						d.Step("hostile/" + h.name + "/" + name)
						d.Patient(d.Ask("tools/call", `{"name":`+quote(name)+`,"arguments":`+h.make(wire.Raw(args))+`}`))
					}
				}
				d.Fence()
			},
		},
	}
}

func safetyChecks() []Check {
	return []Check{
		{
			ID: "hostile-arguments", Title: "arguments that mean harm are answered, and the server goes on", Layer: Feature, Needs: []string{"tools"},
			Requirements: []string{"legacy/tools-server-security"},
			Judge: func(c *Case) {
				for _, s := range c.StepsOf("hostile/") {
					for _, req := range s.Sent() {
						switch {
						case req.Trace.Answer(req) == nil && req.Trace.fate(req) == fateUnsure && !strings.HasPrefix(s.Name, "hostile/long/"):
							// Only tools that answer other calls at once are called so; of
							// work on a long text it is not known how long it takes.
							c.Broken(req, "an answer to this request", "none, until it was cancelled")
						case c.Answer(req) != nil:
							c.Saw()
						}
					}
				}
			},
		},
		{
			ID: "path-traversal", Title: "no path leads out of the files that are served", Layer: Feature, Needs: []string{"resources"},
			Requirements: []string{"modern/res-path-traversal"},
			Judge: func(c *Case) {
				s := c.Step("path/plain")
				if s == nil {
					return
				}
				for _, req := range s.Sent() {
					if a := s.Trace.Answer(req); shows(a) {
						// It may mean to serve all files that there are.
						c.Tolerated(a, "no file outside of those that are listed", outside)
						return
					}
				}
				for _, s := range c.StepsOf("path/out/") {
					for _, req := range s.Sent() {
						if a := s.Trace.Answer(req); a != nil {
							c.want(a, !shows(a), "no contents for "+text(req.Param("uri")), "those of "+outside)
						}
					}
				}
			},
		},
		{
			ID: "log-no-secrets", Title: "no secrets stand in log messages", Layer: Feature, Soft: true,
			Requirements: []string{"legacy/logging-no-secrets", "modern/log-no-secrets"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if f.Method == methodMessage {
						// The message itself is not shown again.
						what := secretIn(f.Param("data"))
						c.want(nil, what == "", "no secrets in the data of log messages", "what looks like "+what)
					}
				})
			},
		},
		{
			ID: "third-party-secrets-kept", Title: "what a server got by a URL does not go to the client", Layer: Feature, Soft: true,
			Requirements: []string{"modern/elicit-third-party-credentials-hidden"},
			Judge: func(c *Case) {
				asked := map[string]bool{} // tools that sent the user to a URL
				c.inputs(func(req, _ *Frame, _ string, in wire.Raw) {
					if plain(in.Get("method")) == "elicitation/create" && Name(in.Get("params"), "mode") == "url" {
						asked[Name(req.Params, "name")] = true
					}
				})
				for _, r := range c.results("tools/call") {
					if asked[Name(r.req.Params, "name")] {
						what := secretIn(r.answer.Result)
						c.want(nil, what == "", "no secrets in the result of "+text(r.req.Param("name")), "what looks like "+what)
					}
				}
			},
		},
		{
			ID: "stderr-utf8", Title: "free text on standard error is UTF-8", Layer: Bytes,
			Requirements: []string{"legacy/stdio-stderr-logging"},
			Judge: func(c *Case) {
				for _, t := range c.Traces() {
					for _, e := range t.notes(transcript.KindStderr, 0) {
						c.want(nil, readable(e.Data) || t.echoed(e.Data), "text in UTF-8 on standard error", quote(strings.ToValidUTF8(string(e.Data), "\ufffd")))
					}
				}
			},
		},
		{
			ID: "no-oauth", Title: "no OAuth takes place over stdio", Layer: Protocol, Soft: true,
			Requirements: []string{"legacy/stdio-no-oauth"},
			Judge: func(c *Case) {
				c.each(func(f *Frame) {
					if !f.Failed() {
						return
					}
					found := ""
					for _, name := range oauthNames {
						if bytes.Contains(bytes.ToLower(f.Error), []byte(name)) {
							found = name
						}
					}
					c.want(f, found == "", "an error that has nothing to do with OAuth", found)
				})
			},
		},
	}
}

// oauthNames are texts by which servers ask for a token, in lower case.
var oauthNames = []string{"www-authenticate", "resource_metadata", "authorization_endpoint", `"access_token"`, `"refresh_token"`}

// shows reports whether an answer gives what stands in the file outside.
func shows(a *Frame) bool {
	for c := range a.result().Get("contents").Elems() {
		if strings.Contains(Name(c, "text"), insideIt) {
			return true
		}
	}
	return false
}

// readable reports whether text is UTF-8, but for a last character that was
// cut off where a line was too long to be kept.
func readable(text []byte) bool {
	if utf8.Valid(text) {
		return true
	}
	for cut := 1; cut < utf8.UTFMax && cut < len(text); cut++ {
		if len(text) == keptText && utf8.Valid(text[:len(text)-cut]) {
			return true
		}
	}
	return false
}

// echoed reports whether each byte of a text that is not UTF-8 is one that the
// checker sent, as in a server's log of its input.
func (t *Trace) echoed(text []byte) bool {
	type key struct{}
	sent := t.Memo(key{}, func() any {
		var sent [256]bool
		for f := range t.visit(t.sent) {
			for c := range strayBytes(f.Text) {
				sent[c] = true
			}
		}
		return &sent
	}).(*[256]bool)
	for c := range strayBytes(text) {
		if !sent[c] {
			return false
		}
	}
	return true
}

// strayBytes gives the bytes of a text that belong to no character.
func strayBytes(text []byte) iter.Seq[byte] {
	return func(yield func(byte) bool) {
		for len(text) > 0 {
			r, n := utf8.DecodeRune(text)
			if r == utf8.RuneError && n == 1 && !yield(text[0]) {
				return
			}
			text = text[n:]
		}
	}
}

// secrets are the forms of what should not stand where others read it.
var secrets = []struct {
	what string
	form *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----`)},
	{"a key of a known service", regexp.MustCompile(`\b(AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35}|sk-[A-Za-z0-9_-]{20,})`)},
	{"a signed token", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)},
	{"a bearer token", regexp.MustCompile(`(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}`)},
	{"a password or key", regexp.MustCompile(`(?i)\b(password|passwd|client_secret|api_?key|access_token|refresh_token)\\?["']?\s*[:=]\s*\\?["']?[^\s"',*}{\\]{6,}`)},
}

// secretIn says what kind of secret a value seems to hold, "" for none.
func secretIn(v wire.Raw) string {
	for _, s := range secrets {
		if s.form.Match(v) {
			return s.what
		}
	}
	return ""
}
