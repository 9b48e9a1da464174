package client

import (
	"encoding/base64"
	"regexp"
	"strconv"
	"strings"

	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/runtime/wire"
)

// headerChecks are about the headers by which the stateless revisions repeat
// what a body says.
func headerChecks() []check.Check {
	return []check.Check{
		{
			ID: "client-header-version", Title: "each POST names its version", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-version-client"},
			Judge: func(c *check.Case) {
				eachPost(c, func(x *exchange, _ *check.Frame) {
					want(c, x.at(), len(x.Header["mcp-protocol-version"]) == 1, "the header MCP-Protocol-Version, once", headerShown(x.Header, "mcp-protocol-version"))
				})
			},
		},
		{
			ID: "client-header-version-matches", Title: "the version of the header is that of the body", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-version-client-matches"},
			Judge: func(c *check.Case) {
				eachPost(c, func(x *exchange, f *check.Frame) {
					if in := f.Params.Get("_meta").Get(metaVersion); in != nil && x.Header["mcp-protocol-version"] != nil {
						want(c, f, x.Header.Get("mcp-protocol-version") == str(in), "MCP-Protocol-Version "+show(in), headerShown(x.Header, "mcp-protocol-version"))
					}
				})
			},
		},
		{
			ID: "client-header-method", Title: "Mcp-Method is the method of the request", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-mcp-method-client"},
			Judge: func(c *check.Case) {
				eachPost(c, func(x *exchange, f *check.Frame) {
					if f.Kind == check.KindRequest {
						want(c, f, x.Header.Get("mcp-method") == f.Method && len(x.Header["mcp-method"]) == 1, "Mcp-Method "+strconv.Quote(f.Method), headerShown(x.Header, "mcp-method"))
					}
				})
			},
		},
		{
			ID: "client-header-name", Title: "Mcp-Name is the name or URI of the request", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-mcp-name-client"},
			Judge: func(c *check.Case) {
				eachNamed(c, func(x *exchange, f *check.Frame, name string) {
					got, ok := DecodeHeader(x.Header.Get("mcp-name"))
					want(c, f, ok && got == name && len(x.Header["mcp-name"]) == 1, "Mcp-Name for "+strconv.Quote(name), headerShown(x.Header, "mcp-name"))
				})
			},
		},
		{
			ID: "client-header-name-encoded", Title: "names that are no safe header values are encoded", Layer: check.Bytes,
			Requirements: []string{"modern/hdr-mcp-name-client-encodes"},
			Judge: func(c *check.Case) {
				eachNamed(c, func(x *exchange, f *check.Frame, name string) {
					if x.Header["mcp-name"] != nil && !safeValue(name) {
						want(c, f, x.Header.Get("mcp-name") == sentinel(name), "Mcp-Name "+sentinel(name), headerShown(x.Header, "mcp-name"))
					}
				})
			},
		},
		{
			ID: "client-param-mirrored", Title: "parameters that a tool designates come as headers, and no others", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-client-mirrors"},
			Judge: func(c *check.Case) {
				eachToolCall(c, func(x *exchange, f *check.Frame, tool wire.Raw) {
					known := map[string]bool{}
					for _, p := range annotated(tool) {
						known[paramHeader(p.header)] = true
						v := p.value(f.Params.Get("arguments"))
						if len(p.path) > 1 || headerText(v) == "" && v.Kind() != wire.KindString {
							continue // judged by itself
						}
						want(c, f, x.Header[paramHeader(p.header)] != nil, "the header Mcp-Param-"+p.header, "none")
					}
					for name := range x.Header {
						if strings.HasPrefix(name, "mcp-param-") {
							want(c, f, known[name], "headers for designated parameters only", name)
						}
					}
				})
			},
		},
		{
			ID: "client-param-nested", Title: "a nested parameter is taken from its exact place", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-client-nested-path"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					if len(p.path) < 2 {
						return
					}
					got := x.Header[paramHeader(p.header)]
					switch {
					case v == nil || v.Kind() == wire.KindNull:
						want(c, f, got == nil, "no header Mcp-Param-"+p.header, headerShown(x.Header, paramHeader(p.header)))
					default:
						text, _ := DecodeHeader(x.Header.Get(paramHeader(p.header)))
						want(c, f, got != nil && text == headerText(v), "Mcp-Param-"+p.header+" for "+show(v), headerShown(x.Header, paramHeader(p.header)))
					}
				})
			},
		},
		{
			ID: "client-param-null", Title: "a parameter that is null has no header", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-client-omits-null"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					if v.Kind() == wire.KindNull && len(p.path) == 1 {
						want(c, f, x.Header[paramHeader(p.header)] == nil, "no header Mcp-Param-"+p.header, headerShown(x.Header, paramHeader(p.header)))
					}
				})
			},
		},
		{
			ID: "client-param-absent", Title: "a parameter that is not given has no header", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-client-omits-absent"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					if v == nil && len(p.path) == 1 {
						want(c, f, x.Header[paramHeader(p.header)] == nil, "no header Mcp-Param-"+p.header, headerShown(x.Header, paramHeader(p.header)))
					}
				})
			},
		},
		{
			ID: "client-param-scalars", Title: "integers come in decimal and booleans in lower case", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-encode-scalars"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					if (v.Kind() == wire.KindNumber || v.Kind() == wire.KindBool) && x.Header[paramHeader(p.header)] != nil && len(p.path) == 1 {
						want(c, f, x.Header.Get(paramHeader(p.header)) == headerText(v), "Mcp-Param-"+p.header+" "+headerText(v), headerShown(x.Header, paramHeader(p.header)))
					}
				})
			},
		},
		{
			ID: "client-param-encoded", Title: "values that are no safe header values are encoded", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-encode-unsafe"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					s, isString := v.Str()
					if v == nil || !isString || x.Header[paramHeader(p.header)] == nil || isSentinel(s) || len(p.path) != 1 {
						return
					}
					expected := s
					if !safeValue(s) {
						expected = sentinel(s)
					}
					got := x.Header.Get(paramHeader(p.header))
					// Encoding more than has to be is no harm.
					want(c, f, got == expected || got == sentinel(s), "Mcp-Param-"+p.header+" "+strconv.Quote(expected), headerShown(x.Header, paramHeader(p.header)))
				})
			},
		},
		{
			ID: "client-param-lookalike", Title: "a value that looks encoded is encoded", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-encode-sentinel-lookalike"},
			Judge: func(c *check.Case) {
				eachParam(c, func(x *exchange, f *check.Frame, p param, v wire.Raw) {
					if s, ok := v.Str(); ok && v != nil && isSentinel(s) && x.Header[paramHeader(p.header)] != nil {
						want(c, f, x.Header.Get(paramHeader(p.header)) == sentinel(s), "Mcp-Param-"+p.header+" "+sentinel(s), headerShown(x.Header, paramHeader(p.header)))
					}
				})
			},
		},
		rejects("client-param-invalid-tool", "a tool whose designations are wrong is not called", "modern/xhdr-client-rejects-invalid-tool", "name"),
		rejects("client-param-number-tool", "a tool that designates a number is not called", "modern/xhdr-client-rejects-number", "number"),
		rejects("client-param-unreachable-tool", "a tool that designates what cannot be reached is not called", "modern/xhdr-client-rejects-unreachable", "unreachable"),
		{
			ID: "client-param-refreshed", Title: "after a mismatch of headers the tools are listed again", Layer: check.Bytes,
			Requirements: []string{"modern/xhdr-client-refreshes-after-mismatch"}, Soft: true,
			Judge: func(c *check.Case) {
				for _, k := range talks(c, scriptMismatch) {
					var refused *check.Frame
					listed := false
					for _, f := range k.requests("") {
						a := k.answers[f]
						code, _ := a.Code()
						switch {
						case refused == nil && f.Method == callTool && code == -32020:
							refused = f
						case refused != nil && f.Method == "tools/list":
							listed = true
						case refused != nil && f.Method == callTool && sameTarget(f, refused):
							want(c, f, listed, "tools/list before the call is tried again", "the call as it was")
							return
						}
					}
				}
			},
		},
	}
}

// rejects makes the check that tools with one kind of wrong designations are
// not called, though a client calls other tools.
func rejects(id, title, requirement, kind string) check.Check {
	return check.Check{
		ID: id, Title: title, Layer: check.Feature, Requirements: []string{requirement},
		Judge: func(c *check.Case) {
			for _, k := range talks(c) {
				any := false
				for _, t := range k.tools() {
					any = any || designationFault(t) == kind
				}
				if !any {
					continue
				}
				for _, f := range k.requests(callTool) {
					if tool := k.tool(str(f.Params.Get("name")), f.Index); tool != nil {
						want(c, f, designationFault(tool) != kind, "no call of a tool whose x-mcp-header breaks the rules", "a call of "+show(f.Params.Get("name")))
					}
				}
			}
		},
	}
}

// eachPost calls fn for every POST of a stateless revision with its message.
func eachPost(c *check.Case, fn func(x *exchange, f *check.Frame)) {
	eachCall(c, func(x *exchange) {
		if x.Method == "POST" && x.message != nil && x.message.Value.Kind() == wire.KindObject && x.message.Kind != check.KindResponse {
			fn(x, x.message)
		}
	})
}

// eachNamed calls fn for every request that names something in a header.
func eachNamed(c *check.Case, fn func(x *exchange, f *check.Frame, name string)) {
	eachPost(c, func(x *exchange, f *check.Frame) {
		member := ""
		switch f.Method {
		case callTool, "prompts/get":
			member = "name"
		case "resources/read":
			member = "uri"
		}
		if name, ok := f.Params.Get(member).Str(); ok && member != "" && f.Params.Get(member) != nil {
			fn(x, f, name)
		}
	})
}

// eachToolCall calls fn for every call of a tool that was listed before.
func eachToolCall(c *check.Case, fn func(x *exchange, f *check.Frame, tool wire.Raw)) {
	eachPost(c, func(x *exchange, f *check.Frame) {
		if f.Method != callTool {
			return
		}
		for _, k := range x.view.talks {
			if tool := k.tool(str(f.Params.Get("name")), f.Index); tool != nil && designationFault(tool) == "" {
				fn(x, f, tool)
				return
			}
		}
	})
}

// eachParam calls fn for every designated parameter of every call, with its
// value, nil where it was not given.
func eachParam(c *check.Case, fn func(x *exchange, f *check.Frame, p param, v wire.Raw)) {
	eachToolCall(c, func(x *exchange, f *check.Frame, tool wire.Raw) {
		for _, p := range annotated(tool) {
			fn(x, f, p, p.value(f.Params.Get("arguments")))
		}
	})
}

// param is a parameter that a tool designates for a header.
type param struct {
	header string
	path   []string
}

func (p param) value(args wire.Raw) wire.Raw {
	for _, name := range p.path {
		args = args.Get(name)
	}
	return args
}

// annotated are the designated parameters of a tool, those that properties
// alone lead to.
func annotated(tool wire.Raw) []param {
	var out []param
	var walk func(schema wire.Raw, path []string)
	walk = func(schema wire.Raw, path []string) {
		if len(path) > 16 {
			return
		}
		for name, s := range schema.Get("properties").Members() {
			at := append(append([]string(nil), path...), name)
			if h, ok := s.Get("x-mcp-header").Str(); ok && s.Get("x-mcp-header") != nil {
				out = append(out, param{h, at})
			}
			walk(s, at)
		}
	}
	walk(tool.Get("inputSchema"), nil)
	return out
}

var headerToken = regexp.MustCompile("^[!#$%&'*+\\-.^_`|~0-9A-Za-z]+$")

// designationFault says which rule about designated parameters a tool breaks:
// "name", "number", "unreachable", or "" for none.
func designationFault(tool wire.Raw) string {
	fault := ""
	seen := map[string]bool{}
	check.HeaderAnnotations(tool.Get("inputSchema"), func(schema, v wire.Raw, reachable bool) {
		name, ok := v.Str()
		kind := str(schema.Get("type"))
		switch {
		case fault != "":
		case !reachable:
			fault = "unreachable"
		case kind == "number":
			fault = "number"
		case !ok || !headerToken.MatchString(name) || seen[strings.ToLower(name)], kind != "string" && kind != "integer" && kind != "boolean":
			fault = "name"
		}
		seen[strings.ToLower(name)] = true
	})
	return fault
}

func paramHeader(name string) string { return "mcp-param-" + strings.ToLower(name) }

// headerText is the text of a scalar; "" for what is none.
func headerText(v wire.Raw) string {
	switch v.Kind() {
	case wire.KindString:
		return str(v)
	case wire.KindBool:
		return string(v)
	case wire.KindNumber:
		if n, ok := v.Int(); ok {
			return strconv.FormatInt(n, 10)
		}
		return string(v)
	}
	return ""
}

// safeValue reports whether a text can be a header value as it is.
func safeValue(s string) bool {
	if s != strings.Trim(s, " \t") || isSentinel(s) {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func isSentinel(s string) bool {
	return strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?=")
}

func sentinel(s string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}
