package check

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/runtime/wire"
)

// Headers that repeat what stands in the body.

// coded is a text in Base64 between its marks.
func coded(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }

// elsewhere is a name that nothing has.
const elsewhere = "goldwire-other"

// named are requests that need Mcp-Name, with what the header repeats. The
// first tool that may be called stands for tools, the first prompt that needs
// no arguments and the first resource for theirs.
func (d *Driver) named() map[string]call {
	out := map[string]call{}
	for _, t := range d.Facts.Tools {
		name := Name(t, "name")
		args, sure := Arguments(t.Get("inputSchema"))
		if sure && name != "" && d.MayCall(name) && !d.slow(name) && len(annotated(t)) == 0 {
			out["tools"] = call{name, `{"name":` + quote(name) + `,"arguments":` + args + `}`}
			break
		}
	}
	for _, p := range d.Facts.Prompts {
		required := false
		for a := range p.Get("arguments").Elems() {
			on, _ := a.Get("required").Bool()
			required = required || on
		}
		if name := Name(p, "name"); name != "" && !required {
			out["prompts"] = call{name, `{"name":` + quote(name) + `}`}
			break
		}
	}
	for _, r := range d.Facts.Resources {
		if uri := Name(r, "uri"); uri != "" {
			out["resources"] = call{uri, `{"uri":` + quote(uri) + `}`}
			break
		}
	}
	return out
}

// namedMethods are the methods that need Mcp-Name, by what they are about.
var namedMethods = []struct{ area, method string }{{"tools", "tools/call"}, {"prompts", "prompts/get"}, {"resources", "resources/read"}}

func headerProbes() []Probe {
	return []Probe{
		{
			Name: "headers that do not fit", Transports: streamable, Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				list := someList(d.Facts)
				d.Step("header/version-other")
				for _, v := range []string{lastLegacy, strangeVersions[1]} {
					d.post(d.request(methodDiscover, ""), [2]string{headVersion, v})
				}
				d.Step("header/version-other-body")
				d.post(RequestText(d.NextID(), methodDiscover, WithMeta("", d.with(metaVersion, quote(strangeVersions[1])))), [2]string{headVersion, d.rev})
				d.Step("header/version-missing")
				d.postWithout(d.request(list, ""), headVersion)
				d.Step("header/method-missing")
				d.postWithout(d.request(list, ""), headMethod)
				d.Step("header/method-other")
				other := "prompts/list"
				if list == other {
					other = "tools/list"
				}
				d.post(d.request(list, ""), [2]string{headMethod, other})
				d.Step("header/method-case")
				d.post(d.request(list, ""), [2]string{headMethod, strings.ToUpper(list)})
				calls := d.named()
				for _, m := range namedMethods {
					one, ok := calls[m.area]
					if !ok {
						continue
					}
					body := func() string { return d.request(m.method, one.params) }
					d.Step("header/name-missing-" + m.area)
					d.postWithout(body(), headName)
					d.Step("header/name-other-" + m.area)
					d.post(body(), [2]string{headName, elsewhere})
					d.Step("header/name-not-base64-" + m.area)
					d.post(body(), [2]string{headName, "=?base64?%%%?="})
					d.Step("header/name-base64-other-" + m.area)
					d.post(body(), [2]string{headName, coded(elsewhere)})
				}
			},
		},
		{
			Name: "headers in other spellings", Transports: streamable, Since: firstModern, Profile: Main,
			Run: func(d *Driver) {
				list := someList(d.Facts)
				d.Step("header-form/plain")
				d.sendRaw(d.request(list, ""))
				d.Step("header-form/names")
				d.sendRaw(d.request(list, ""), "mcp-method: "+list, "mCp-PrOtOcOl-VeRsIoN: "+d.rev)
				d.sendRaw(d.request(list, ""), "MCP-METHOD: "+list, "MCP-PROTOCOL-VERSION: "+d.rev)
				d.Step("header-form/unknown-param")
				d.post(d.request(list, ""), [2]string{"Mcp-Param-Zz", "1"})
				calls := d.named()
				for _, m := range namedMethods {
					one, ok := calls[m.area]
					if !ok {
						continue
					}
					body := func() string { return d.request(m.method, one.params) }
					d.Step("header-form/plain-" + m.area)
					d.post(body())
					d.Step("header-form/base64-" + m.area)
					d.post(body(), [2]string{headName, coded(one.name)})
					if headerText(one.name) != one.name {
						continue
					}
					d.Step("header-form/blanks-" + m.area)
					d.sendRaw(body(), headName+":  "+one.name+"  ", headMethod+": \t"+m.method+" ")
					d.Step("header-form/unknown-param-" + m.area)
					d.post(body(), [2]string{"Mcp-Param-Zz", "1"})
					d.Step("header-form/control-" + m.area)
					d.sendRaw(body(), headName+": "+one.name+"\x01")
					d.Step("header-form/latin-" + m.area)
					d.sendRaw(body(), headName+": "+one.name+"\xe9")
				}
			},
		},
	}
}

// mismatches are the steps in which headers do not fit the body.
const mismatches = "header/"

func headerChecks() []Check {
	refused := func(id, title, requirement string, steps ...string) Check {
		return Check{
			ID: id, Title: title, Layer: Bytes, Requirements: []string{requirement},
			Judge: func(c *Case) {
				for _, step := range steps {
					for _, x := range c.stepExchanges(step) {
						if c.heard(x) && !c.hopeless(x) {
							c.right(x, x.refused(), "a refusal of headers that do not fit the body", x.says())
						}
					}
				}
			},
		}
	}
	name := func(area, what string) Check {
		return refused("header-name-"+area, "a request whose Mcp-Name is not that of "+what+" is refused", "modern/hdr-mcp-name-mismatch-"+area, "header/name-other-"+area)
	}
	return []Check{
		refused("header-version-mismatch", "a request whose version header is not its version is refused", "modern/hdr-version-mismatch-rejected", "header/version-other"),
		{
			ID: "header-version-missing", Title: "a request without a version header is refused", Layer: Bytes,
			Requirements: []string{"modern/hdr-version-missing-rejected"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges("header/version-missing") {
					switch {
					case !c.heard(x):
					case x.refused():
						c.Saw()
					case c.dual():
						c.odd(x, "a refusal, as the body names this revision", x.says())
					default:
						c.wrong(x, "a refusal of a request without MCP-Protocol-Version", x.says())
					}
				}
			},
		},
		refused("header-method-missing", "a request without Mcp-Method is refused", "modern/hdr-mcp-method-missing-rejected", "header/method-missing"),
		refused("header-method-mismatch", "a request whose Mcp-Method is not its method is refused", "modern/hdr-mcp-method-mismatch-rejected", "header/method-other"),
		refused("header-value-case", "upper and lower case differ in the value of a header", "modern/hdr-values-case-sensitive", "header/method-case"),
		refused("header-name-missing", "a request that needs Mcp-Name and has none is refused", "modern/hdr-mcp-name-missing-rejected", "header/name-missing-"),
		name("tools", "the tool"), name("prompts", "the prompt"), name("resources", "the resource"),
		refused("header-name-bad-base64", "an Mcp-Name that does not decode to the name is refused", "modern/hdr-mcp-name-bad-base64-rejected", "header/name-not-base64-", "header/name-base64-other-"),
		refused("header-invalid-characters", "a header with other characters than visible ASCII is refused", "modern/hdr-invalid-characters-rejected", "header-form/control-", "header-form/latin-"),
		{
			ID: "header-error-code", Title: "the status for headers that do not fit is 400 and the error -32020", Layer: Bytes,
			Requirements: []string{"modern/hdr-error-code"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges(mismatches) {
					if !x.refused() || !c.heard(x) || c.hopeless(x) {
						continue
					}
					code, ok := x.code()
					also := code == -32022 && strings.HasPrefix(x.step(), "header/version-other")
					old := ok && c.dual() && (x.step() == "header/version-missing" || x.step() == "header/version-other" && x.Header.Get(headVersion) == lastLegacy)
					switch {
					case x.Status == http.StatusBadRequest && code == -32020:
						c.Saw()
					case x.Status != http.StatusBadRequest && !old, !ok:
						c.wrong(x, "status 400 and the error -32020", x.says())
					case also:
						// The version is not supported, besides: which error
						// comes first is open.
						c.Saw()
					case old:
						// Taken for a request of another era.
						c.odd(x, "status 400 and the error -32020", x.says())
					default:
						c.wrong(x, "status 400 and the error -32020", x.says())
					}
				}
			},
		},
		{
			ID: "header-error-body", Title: "headers that do not fit are answered by a whole JSON-RPC error", Layer: Bytes,
			Requirements: []string{"modern/hdr-error-body-jsonrpc"},
			Judge: func(c *Case) {
				for _, x := range c.stepExchanges(mismatches) {
					if !x.refused() || !c.heard(x) || c.hopeless(x) {
						continue
					}
					a := x.answer()
					switch {
					case a == nil:
						c.wrong(x, "a JSON-RPC error as body", x.says()+", Content-Type "+or(x.media(), "none"))
					case a.Value.Get("jsonrpc") == nil || a.Error.Get("message").Kind() != wire.KindString || a.Error.Get("code").Kind() != wire.KindNumber:
						c.Broken(a, "a JSON-RPC error with a code and a message", text(a.Value))
					case !wire.Equal(a.ID, x.Request.ID) && !(c.dual() && x.step() == "header/version-missing"):
						c.Broken(a, "the id of the request, "+text(x.Request.ID), text(a.ID))
					default:
						c.Saw()
					}
				}
			},
		},
		{
			ID: "header-names-any-case", Title: "upper and lower case are the same in the name of a header", Layer: Bytes,
			Requirements: []string{"modern/hdr-names-case-insensitive"},
			Judge:        func(c *Case) { c.asPlain("header-form/names", "header-form/plain") },
		},
		{
			ID: "header-blanks", Title: "blanks around the value of a header do not belong to it", Layer: Bytes,
			Requirements: []string{"modern/hdr-optional-whitespace"},
			Judge: func(c *Case) {
				for _, m := range namedMethods {
					c.asPlain("header-form/blanks-"+m.area, "header-form/plain-"+m.area)
				}
			},
		},
		{
			ID: "header-name-decoded", Title: "an Mcp-Name in Base64 is decoded", Layer: Bytes,
			Requirements: []string{"modern/hdr-mcp-name-decoded"},
			Judge: func(c *Case) {
				for _, m := range namedMethods {
					c.asPlain("header-form/base64-"+m.area, "header-form/plain-"+m.area)
				}
			},
		},
		{
			ID: "header-param-unknown", Title: "an Mcp-Param header that no tool knows is no reason to refuse", Layer: Bytes,
			Requirements: []string{"modern/xhdr-unrecognised-ignored"},
			Judge: func(c *Case) {
				c.asPlain("header-form/unknown-param", "header-form/plain")
				for _, m := range namedMethods {
					c.asPlain("header-form/unknown-param-"+m.area, "header-form/plain-"+m.area)
				}
			},
		},
		{
			ID: "header-name-elsewhere", Title: "other methods need no Mcp-Name", Layer: Bytes,
			Requirements: []string{"modern/hdr-name-not-required-elsewhere"},
			Judge: func(c *Case) {
				c.requests(func(x *Exchange) {
					method := x.Request.Method
					free := slices.Contains([]string{methodDiscover, "tools/list", "prompts/list", "resources/list", "resources/templates/list", "completion/complete", methodListen}, method)
					odd := false
					for name := range x.Header {
						odd = odd || !slices.Contains([]string{"accept", "content-type", "mcp-protocol-version", "mcp-method", "authorization"}, name)
					}
					if !free || odd || !x.Request.is(method) || strings.HasPrefix(x.step(), "header") || x.Header.Get(headVersion) != c.Revision || x.Header.Get(headMethod) != method {
						return
					}
					code, failed := x.code()
					c.right(x, !failed || code != -32020, "an answer to "+method+" without Mcp-Name", x.says())
				})
			},
		},
	}
}

// hopeless reports whether a request of the kind is refused with proper headers
// as well: nothing can be said then of those that do not fit. A server may
// refuse a call for reasons of its own before it looks at them.
func (c *Case) hopeless(x *Exchange) bool {
	if x.Request == nil {
		return true
	}
	step := "header-form/plain"
	for _, m := range namedMethods {
		if m.method == x.Request.Method {
			step += "-" + m.area
		}
	}
	return c.neverLetIn(step)
}

// neverLetIn settles a check on requests whose usual form, which a step sends,
// keeps the client out, and reports whether it does.
func (c *Case) neverLetIn(step string) bool {
	for _, s := range c.stepsOf(step) {
		if s.Name == step && slices.ContainsFunc(s.Exchanges(), func(x *Exchange) bool { return keepsOut(x.Status) }) {
			c.NotObserved("the request is refused in its usual form, too")
			return true
		}
	}
	return false
}

// asPlain judges that the requests of a step fared as the one of another step
// that does the same in the usual form.
func (c *Case) asPlain(step, plainStep string) {
	if c.neverLetIn(plainStep) {
		return
	}
	var usual *Exchange
	for _, s := range c.stepsOf(plainStep) {
		if s.Name == plainStep {
			for _, x := range s.Exchanges() {
				usual = x
			}
		}
	}
	for _, s := range c.stepsOf(step) {
		if s.Name != step || usual == nil {
			continue
		}
		for _, x := range s.Exchanges() {
			if !c.heard(x) {
				continue
			}
			want, failed := usual.code()
			got, fails := x.code()
			c.right(x, x.Status == usual.Status && failed == fails && want == got, "what the same request gets in the usual form: "+usual.says(), x.says())
		}
	}
	c.NotObserved(step + " was not tried")
}

// annotation is a parameter of a tool that a header repeats.
type annotation struct {
	header string
	path   []string
	kind   string // its type
}

// annotated are the parameters of a tool that headers repeat.
func annotated(tool wire.Raw) []annotation {
	var out []annotation
	var walk func(schema wire.Raw, path []string)
	walk = func(schema wire.Raw, path []string) {
		if len(path) > 8 {
			return
		}
		for name, p := range schema.Get("properties").Members() {
			at := append(slices.Clone(path), name)
			if h, ok := p.Get("x-mcp-header").Str(); ok && h != "" {
				kind, _ := p.Get("type").Str()
				out = append(out, annotation{h, at, kind})
			}
			walk(p, at)
		}
	}
	walk(tool.Get("inputSchema"), nil)
	return out
}

// argument puts a value at the place of a parameter into otherwise minimal
// arguments; ok is false where others are required.
func (a annotation) arguments(tool wire.Raw, value string) (args string, ok bool) {
	base, sure := Arguments(tool.Get("inputSchema"))
	if !sure || base != "{}" && !(len(a.path) == 1) {
		return "", false
	}
	if base != "{}" {
		var members []string
		for k, v := range wire.Raw(base).Members() {
			if k != a.path[0] {
				members = append(members, quote(k)+":"+string(v))
			}
		}
		if value != "" {
			members = append(members, quote(a.path[0])+":"+value)
		}
		return "{" + strings.Join(members, ",") + "}", value != "" || !strings.Contains(base, quote(a.path[0])+":")
	}
	if value == "" {
		return "{}", true
	}
	for _, name := range slices.Backward(a.path) {
		value = `{` + quote(name) + `:` + value + `}`
	}
	return value, true
}

func paramHeaderProbes() []Probe {
	return []Probe{{
		Name: "parameters in headers", Transports: streamable, Since: firstModern, Profile: Main, Needs: []string{"tools"},
		Run: func(d *Driver) {
			done := map[string]bool{}
			for _, t := range d.Facts.Tools {
				name := Name(t, "name")
				if !d.MayCall(name) || d.slow(name) {
					continue
				}
				for _, a := range annotated(t) {
					if done[a.kind] || a.kind != "string" && a.kind != "integer" {
						continue
					}
					value, header := quote("goldwire"), "goldwire"
					if a.kind == "integer" {
						value, header = "42", "42"
					}
					args, ok := a.arguments(t, value)
					if !ok {
						continue
					}
					done[a.kind] = true
					d.paramHeader(name, a, args, header)
					if none, ok := a.arguments(t, ""); ok {
						d.Step("param/absent")
						d.postWithout(d.request("tools/call", `{"name":`+quote(name)+`,"arguments":`+none+`}`), "Mcp-Param-"+a.header)
					}
				}
			}
		},
	}}
}

// paramHeader calls a tool with headers that fit its argument and others that
// do not.
func (d *Driver) paramHeader(tool string, a annotation, args, header string) {
	field := "Mcp-Param-" + a.header
	body := func() string {
		return d.request("tools/call", `{"name":`+quote(tool)+`,"arguments":`+args+`}`)
	}
	d.Step("param/plain-" + a.kind)
	d.post(body(), [2]string{field, header})
	d.Step("param/missing")
	d.postWithout(body(), field)
	d.Step("param/other")
	d.post(body(), [2]string{field, "7" + header})
	if a.kind == "integer" {
		d.Step("param/decimal")
		d.post(body(), [2]string{field, header + ".0"})
		return
	}
	d.Step("param/base64")
	d.post(body(), [2]string{field, coded(header)})
	d.Step("param/invalid")
	d.post(body(), [2]string{field, "=?base64?%%%?="})
	d.sendRaw(body(), field+": "+header+"\x01")
}

func paramHeaderChecks() []Check {
	// served judges steps whose requests have to fare as the plain one did.
	served := func(id, title, requirement, kind, step string) Check {
		return Check{
			ID: id, Title: title, Layer: Bytes, Requirements: []string{requirement}, Needs: []string{"tools"},
			Judge: func(c *Case) { c.asPlain(step, "param/plain-"+kind) },
		}
	}
	refused := func(id, title, requirement string, exact bool, steps ...string) Check {
		return Check{
			ID: id, Title: title, Layer: Bytes, Requirements: []string{requirement}, Needs: []string{"tools"},
			Judge: func(c *Case) {
				for _, step := range steps {
					for _, s := range c.stepsOf(step) {
						for _, x := range s.Exchanges() {
							if !c.heard(x) || c.neverLetIn("param/plain-string") || c.neverLetIn("param/plain-integer") {
								continue
							}
							code, _ := x.code()
							ok := x.refused() && (!exact || x.Status == http.StatusBadRequest && code == -32020)
							c.right(x, ok, "status 400 and the error -32020", x.says())
						}
					}
				}
				c.NotObserved("no tool has a parameter that a header repeats")
			},
		}
	}
	return []Check{
		refused("param-header-mismatch", "an Mcp-Param header that is missing or not the argument is refused", "modern/xhdr-server-rejects-mismatch", true, "param/missing", "param/other"),
		refused("param-header-invalid", "an Mcp-Param header with invalid characters is refused", "modern/xhdr-server-rejects-invalid-chars", false, "param/invalid"),
		served("param-header-decoded", "an Mcp-Param header in Base64 is decoded", "modern/xhdr-server-decodes", "string", "param/base64"),
		served("param-header-number", "an integer in an Mcp-Param header is compared as a number", "modern/xhdr-server-integer-numeric", "integer", "param/decimal"),
		{
			ID: "param-header-absent", Title: "an argument that is not there needs no Mcp-Param header", Layer: Bytes,
			Requirements: []string{"modern/xhdr-server-null-needs-no-header"}, Needs: []string{"tools"},
			Judge: func(c *Case) {
				for _, s := range c.stepsOf("param/absent") {
					for _, x := range s.Exchanges() {
						if c.heard(x) && !c.neverLetIn("param/plain-string") && !c.neverLetIn("param/plain-integer") {
							code, _ := x.code()
							c.right(x, code != -32020, "no demand for a header without its argument", x.says())
						}
					}
				}
				c.NotObserved("no tool has a parameter that a header repeats")
			},
		},
	}
}
