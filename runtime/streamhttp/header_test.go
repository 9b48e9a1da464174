package streamhttp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/wire"
)

func TestHeaderValues(t *testing.T) {
	for _, c := range []struct{ rule, text, value string }{
		{"visible ASCII stays as it is", "us-west1", "us-west1"},
		{"inner blanks stay", "a b", "a b"},
		{"an empty text stays", "", ""},
		{"a URI stays", "file:///a%20b?c=d&e=~", "file:///a%20b?c=d&e=~"},
		{"non-ASCII is encoded", "Zürich", "=?base64?WsO8cmljaA==?="},
		{"a leading blank is encoded", " a", "=?base64?IGE=?="},
		{"a trailing blank is encoded", "a ", "=?base64?YSA=?="},
		{"one blank is encoded", " ", "=?base64?IA==?="},
		{"a tab is encoded", "a\tb", "=?base64?YQli?="},
		{"a line end is encoded", "a\r\nX: y", "=?base64?YQ0KWDogeQ==?="},
		{"NUL is encoded", "\x00", "=?base64?AA==?="},
		{"DEL is encoded", "\x7f", "=?base64?fw==?="},
		{"what looks encoded is encoded", "=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="},
		{"what looks encoded in capitals is encoded", "=?BASE64?YQ==?=", "=?base64?PT9CQVNFNjQ/WVE9PT89?="},
		{"the start of it alone stays", "=?base64?YQ==", "=?base64?YQ=="},
		{"its start and end overlapping stay", "=?base64?=", "=?base64?="},
	} {
		t.Run(c.rule, func(t *testing.T) {
			require.Equal(t, c.value, EncodeHeaderValue(c.text))
			got, err := DecodeHeaderValue(" \t" + c.value + " \t")
			require.NoError(t, err)
			require.Equal(t, c.text, got)
		})
	}
	for _, bad := range []string{"ü", "a\x01", "a\tb", "=?base64?YQ=?=", "=?base64?YQ?=", "=?base64?Y Q==?=", "=?base64?YR==?=", "=?base64?_w==?=", "=?base64?/w==?="} {
		_, err := DecodeHeaderValue(bad)
		require.Error(t, err, bad)
	}
	got, err := DecodeHeaderValue("=?BASE64?YQ==?=")
	require.NoError(t, err)
	require.Equal(t, "=?BASE64?YQ==?=", got, "the marks are in small letters")
}

func FuzzHeaderValue(f *testing.F) {
	f.Add("a b")
	f.Add("=?base64?YQ==?=")
	f.Add("é\x00")
	f.Fuzz(func(t *testing.T, s string) {
		v := EncodeHeaderValue(s)
		if !plainValue(v) {
			t.Fatalf("%q is no header value", v)
		}
		got, err := DecodeHeaderValue(v)
		if strings.ToValidUTF8(s, "") != s {
			return // only UTF-8 comes here
		}
		if err != nil || got != s {
			t.Fatalf("%q became %q, %v", s, got, err)
		}
	})
}

func TestCheckMethodHeaders(t *testing.T) {
	for _, c := range []struct {
		rule, method, params string
		h                    http.Header
		want                 string // "" accepts
	}{
		{"both fit", "tools/call", `{"name":"a"}`, http.Header{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"a"}}, ""},
		{"blanks around are no part of it", "tools/call", `{"name":"a"}`, http.Header{"Mcp-Method": {" tools/call\t"}, "Mcp-Name": {"\ta "}}, ""},
		{"an encoded name is decoded", "resources/read", `{"uri":"ü"}`, http.Header{"Mcp-Method": {"resources/read"}, "Mcp-Name": {EncodeHeaderValue("ü")}}, ""},
		{"a method without a name", "tools/list", `{}`, http.Header{"Mcp-Method": {"tools/list"}}, ""},
		{"the method is missing", "tools/list", `{}`, http.Header{}, "Mcp-Method: missing"},
		{"the method comes twice", "tools/list", `{}`, http.Header{"Mcp-Method": {"tools/list", "tools/list"}}, "more than once"},
		{"case counts", "tools/list", `{}`, http.Header{"Mcp-Method": {"Tools/List"}}, "the body's method is"},
		{"a method that no header can carry comes encoded", "x/é\n", `{}`, http.Header{"Mcp-Method": {EncodeHeaderValue("x/é\n")}}, ""},
		{"one that looks encoded comes as it is", "=?base64?YQ==?=", `{}`, http.Header{"Mcp-Method": {"=?base64?YQ==?="}}, ""},
		{"or encoded again", "=?base64?YQ==?=", `{}`, http.Header{"Mcp-Method": {EncodeHeaderValue("=?base64?YQ==?=")}}, ""},
		{"an encoded method is another", "x/é", `{}`, http.Header{"Mcp-Method": {EncodeHeaderValue("x/e")}}, "the body's method is"},
		{"a method is not encoded without need", "tools/list", `{}`, http.Header{"Mcp-Method": {"=?base64?dG9vbHMvbGlzdA==?="}}, "the body's method is"},
		{"the name is missing", "prompts/get", `{"name":"a"}`, http.Header{"Mcp-Method": {"prompts/get"}}, "Mcp-Name: missing"},
		{"the name differs", "prompts/get", `{"name":"a"}`, http.Header{"Mcp-Method": {"prompts/get"}, "Mcp-Name": {"A"}}, "the body's name is"},
		{"the name is badly encoded", "prompts/get", `{"name":"a"}`, http.Header{"Mcp-Method": {"prompts/get"}, "Mcp-Name": {"=?base64?YQ?="}}, "not valid Base64"},
		{"a task's id is its name", "tasks/get", `{"taskId":"t"}`, http.Header{"Mcp-Method": {"tasks/get"}, "Mcp-Name": {"t"}}, ""},
		{"which updating it needs as well", "tasks/update", `{"taskId":"t"}`, http.Header{"Mcp-Method": {"tasks/update"}}, "Mcp-Name: missing"},
		{"and cancelling", "tasks/cancel", `{"taskId":"t"}`, http.Header{"Mcp-Method": {"tasks/cancel"}, "Mcp-Name": {"u"}}, "the body's taskId is"},
		{"a body without name is not judged", "tools/call", `{}`, http.Header{"Mcp-Method": {"tools/call"}}, ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			err := checkMethodHeaders(c.h, c.method, wire.Raw(c.params).Get)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			var he *HeaderError
			require.ErrorAs(t, err, &he)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestParamHeaders(t *testing.T) {
	ok := []struct {
		rule, schema string
		want         ParamHeaders
	}{
		{"no annotation", `{"type":"object","properties":{"a":{"type":"string"}}}`, nil},
		{"no schema", ``, nil},
		{"each type", `{"type":"object","properties":{"s":{"type":"string","x-mcp-header":"Region"},"i":{"x-mcp-header":"count","type":"integer"},"b":{"type":"boolean","x-mcp-header":"X-Y.z"}}}`,
			ParamHeaders{{"Mcp-Param-Region", []string{"s"}, "string"}, {"Mcp-Param-Count", []string{"i"}, "integer"}, {"Mcp-Param-X-Y.z", []string{"b"}, "boolean"}}},
		{"nested properties", `{"properties":{"a":{"type":"object","properties":{"b/c":{"type":"string","x-mcp-header":"N"},"d":{"type":"string","x-mcp-header":"M"}}}}}`,
			ParamHeaders{{"Mcp-Param-N", []string{"a", "b/c"}, "string"}, {"Mcp-Param-M", []string{"a", "d"}, "string"}}},
		{"a property of that name is none", `{"properties":{"x-mcp-header":{"type":"string"}}}`, nil},
		{"values are no schemas", `{"properties":{"a":{"type":"object","default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"const":{"x-mcp-header":""}}}}`, nil},
		{"true and false are schemas", `{"properties":{"a":true,"b":false},"additionalProperties":false,"items":true}`, nil},
	}
	for _, c := range ok {
		t.Run(c.rule, func(t *testing.T) {
			got, err := ReadParamHeaders(wire.Raw(c.schema))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	const leaf = `{"type":"string","x-mcp-header":"A"}`
	bad := map[string]string{
		"empty":             `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		"a blank":           `{"properties":{"a":{"type":"string","x-mcp-header":"My Region"}}}`,
		"a colon":           `{"properties":{"a":{"type":"string","x-mcp-header":"a:b"}}}`,
		"a line end":        `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`,
		"non-ASCII":         `{"properties":{"a":{"type":"string","x-mcp-header":"Ä"}}}`,
		"no string":         `{"properties":{"a":{"type":"string","x-mcp-header":1}}}`,
		"null":              `{"properties":{"a":{"type":"string","x-mcp-header":null}}}`,
		"a number":          `{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`,
		"an object":         `{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}`,
		"an array":          `{"properties":{"a":{"type":"array","x-mcp-header":"A"}}}`,
		"type null":         `{"properties":{"a":{"type":"null","x-mcp-header":"A"}}}`,
		"several types":     `{"properties":{"a":{"type":["string","integer"],"x-mcp-header":"A"}}}`,
		"no type":           `{"properties":{"a":{"x-mcp-header":"A"}}}`,
		"behind a $ref":     `{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":` + leaf + `}}`,
		"twice":             `{"properties":{"a":` + leaf + `,"b":` + leaf + `}}`,
		"twice in case":     `{"properties":{"a":` + leaf + `,"b":{"type":"string","x-mcp-header":"a"}}}`,
		"at the root":       `{"type":"string","x-mcp-header":"A"}`,
		"under items":       `{"properties":{"a":{"type":"array","items":` + leaf + `}}}`,
		"under array items": `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":` + leaf + `}}}}}`,
	}
	for _, k := range []string{"additionalProperties", "unevaluatedProperties", "contains", "not", "if", "then", "else", "propertyNames", "additionalItems", "unevaluatedItems", "contentSchema"} {
		bad["under "+k] = `{"` + k + `":{"properties":{"a":` + leaf + `}}}`
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
		bad["under "+k] = `{"` + k + `":[true,{"properties":{"a":` + leaf + `}}]}`
	}
	for _, k := range []string{"$defs", "definitions", "patternProperties", "dependentSchemas"} {
		bad["under "+k] = `{"` + k + `":{"x":` + leaf + `}}`
	}
	bad["deeply nested"] = strings.Repeat(`{"properties":{"a":`, 100) + leaf + strings.Repeat(`}}`, 100)
	for name, schema := range bad {
		t.Run(name, func(t *testing.T) {
			require.True(t, wire.Valid([]byte(schema)))
			_, err := ReadParamHeaders(wire.Raw(schema))
			var ae *AnnotationError
			require.ErrorAs(t, err, &ae)
			require.NotEmpty(t, err.Error())
		})
	}
}

func TestParamHeadersOfACall(t *testing.T) {
	params, err := ReadParamHeaders(wire.Raw(`{"properties":{"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"},"o":{"type":"object","properties":{"n":{"type":"string","x-mcp-header":"N"}}}}}`))
	require.NoError(t, err)
	for _, c := range []struct {
		rule, args string
		want       http.Header
	}{
		{"each kind", `{"s":"x y","i":42,"b":true,"o":{"n":"ü"}}`, http.Header{"Mcp-Param-S": {"x y"}, "Mcp-Param-I": {"42"}, "Mcp-Param-B": {"true"}, "Mcp-Param-N": {EncodeHeaderValue("ü")}}},
		{"absent and null have none", `{"s":null,"o":{}}`, http.Header{}},
		{"no arguments", ``, http.Header{}},
		{"an integer in another spelling", `{"i":4.2e1}`, http.Header{"Mcp-Param-I": {"42"}}},
		{"the largest integer", `{"i":9007199254740991}`, http.Header{"Mcp-Param-I": {"9007199254740991"}}},
		{"the smallest integer", `{"i":-9007199254740991}`, http.Header{"Mcp-Param-I": {"-9007199254740991"}}},
		{"an escape in a string", `{"s":"\u0041"}`, http.Header{"Mcp-Param-S": {"A"}}},
		{"an empty string", `{"s":""}`, http.Header{"Mcp-Param-S": {""}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			h := http.Header{}
			require.NoError(t, params.Set(h, wire.Raw(c.args)))
			require.Equal(t, c.want, h)
			require.NoError(t, params.Check(h, wire.Raw(c.args)))
			for name := range h {
				other := h.Clone()
				other[name] = []string{"other"}
				require.Error(t, params.Check(other, wire.Raw(c.args)), name)
				other[name] = append([]string{}, h[name][0], h[name][0])
				require.Error(t, params.Check(other, wire.Raw(c.args)), name)
				delete(other, name)
				require.Error(t, params.Check(other, wire.Raw(c.args)), name)
			}
		})
	}
	t.Run("what no header carries gets none", func(t *testing.T) {
		h := http.Header{}
		require.NoError(t, params.Set(h, wire.Raw(`{"s":["a"],"i":1.5,"b":{},"o":[]}`)))
		require.Empty(t, h)
	})
	for _, n := range []string{"9007199254740992", "-9007199254740992", "1e400", "1e300"} {
		err := params.Set(http.Header{}, wire.Raw(`{"i":`+n+`}`))
		var he *HeaderError
		require.ErrorAs(t, err, &he, n)
		require.Error(t, params.Check(http.Header{"Mcp-Param-I": {n}}, wire.Raw(`{"i":`+n+`}`)))
	}
	t.Run("integers are compared as numbers", func(t *testing.T) {
		for _, v := range []string{"42", "42.0", "4.2e1"} {
			require.NoError(t, params.Check(http.Header{"Mcp-Param-I": {v}}, wire.Raw(`{"i":42}`)), v)
		}
		for _, v := range []string{"43", "042", "0x2a", "", "42a"} {
			require.Error(t, params.Check(http.Header{"Mcp-Param-I": {v}}, wire.Raw(`{"i":42}`)), v)
		}
	})
	t.Run("a header of an argument without value", func(t *testing.T) {
		require.Error(t, params.Check(http.Header{"Mcp-Param-S": {"x"}}, wire.Raw(`{"s":null}`)))
	})
	t.Run("a header of no argument is ignored", func(t *testing.T) {
		require.NoError(t, params.Check(http.Header{"Mcp-Param-Zzz": {"\xff"}}, nil))
	})
}
