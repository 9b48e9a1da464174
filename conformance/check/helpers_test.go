package check

import (
	"bufio"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/validate"
	"github.com/goldwire/goldwire/runtime/wire"
)

func TestArgumentsFitTheirSchema(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"nothing required", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{}`},
		{"types", `{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"},"z":{"type":"null"},"l":{"type":"array"},"o":{"type":"object"}},"required":["s","i","n","b","z","l","o"]}`,
			`{"s":"test","i":1,"n":1,"b":false,"z":null,"l":[],"o":{}}`},
		{"named values", `{"type":"object","properties":{"c":{"const":"x"},"e":{"enum":["y","z"]},"d":{"type":"string","default":"w"},"x":{"type":"integer","examples":[7]}},"required":["c","e","d","x"]}`, `{"c":"x","e":"y","d":"w","x":7}`},
		{"bounds", `{"type":"object","properties":{"a":{"type":"integer","minimum":5},"b":{"type":"number","exclusiveMinimum":5},"c":{"type":"integer","maximum":-3},"d":{"type":"integer","multipleOf":4,"minimum":5},"e":{"type":"string","minLength":6},"f":{"type":"string","maxLength":2},"g":{"type":"array","items":{"type":"string"},"minItems":2}},"required":["a","b","c","d","e","f","g"]}`,
			`{"a":5,"b":6,"c":-3,"d":8,"e":"testtt","f":"te","g":["test","test"]}`},
		{"formats", `{"type":"object","properties":{"m":{"type":"string","format":"email"},"u":{"type":"string","format":"uri"},"d":{"type":"string","format":"date"}},"required":["m","u","d"]}`, `{"m":"someone@example.com","u":"https://example.com/","d":"2025-01-01"}`},
		{"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"$defs":{"x":{"type":"object","properties":{"y":{"type":"integer"}},"required":["y"]}}}`, `{"a":{"y":1}}`},
		{"one of many", `{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"null"}]},"b":{"type":["null","string"]}},"required":["a","b"]}`, `{"a":1,"b":"test"}`},
		{"type left out", `{"properties":{"a":{}},"required":["a"]}`, `{"a":""}`},
		{"undescribed member", `{"type":"object","required":["a"]}`, `{"a":""}`},
		{"bounds with fractions", `{"type":"object","properties":{"a":{"type":"integer","maximum":0.5},"b":{"type":"integer","maximum":-1.5},"c":{"type":"integer","minimum":2.5},"d":{"type":"integer","exclusiveMinimum":1.5,"maximum":2.5},"e":{"type":"number","maximum":0.5}},"required":["a","b","c","d","e"]}`,
			`{"a":0,"b":-2,"c":3,"d":2,"e":0.5}`},
		{"no integer", `{"type":"object","properties":{"a":{"type":"integer","minimum":0.2,"maximum":0.8}},"required":["a"]}`, ``},
		{"no number", `{"type":"object","properties":{"a":{"type":"number","minimum":2,"maximum":1}},"required":["a"]}`, ``},
		{"no multiple", `{"type":"object","properties":{"a":{"type":"integer","multipleOf":5,"maximum":4,"minimum":1}},"required":["a"]}`, ``},
		{"no length", `{"type":"object","properties":{"a":{"type":"string","minLength":3,"maxLength":2}},"required":["a"]}`, ``},
		{"short format", `{"type":"object","properties":{"a":{"type":"string","format":"email","maxLength":10}},"required":["a"]}`, ``},
		{"long format", `{"type":"object","properties":{"a":{"type":"string","format":"date","minLength":11}},"required":["a"]}`, ``},
		{"no number of items", `{"type":"object","properties":{"a":{"type":"array","minItems":2,"maxItems":1}},"required":["a"]}`, ``},
		{"pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"^x"}},"required":["a"]}`, ``},
		{"endless", `{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, ``},
		{"multiplying", `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[` + strings.Repeat(`{"$ref":"#/$defs/a"},`, 50) + `{"$ref":"#/$defs/none"}]}}}`, ``},
		{"network", `{"type":"object","properties":{"a":{"$ref":"https://example.invalid/x"}},"required":["a"]}`, ``},
		{"not an object", `{"type":"array"}`, ``},
		{"no schema", `5`, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Arguments(wire.MustRaw(tt.schema))
			require.Equal(t, tt.want != "", ok, got)
			if !ok {
				require.Equal(t, "{}", got)
				return
			}
			require.JSONEq(t, tt.want, got)
			s, err := validate.Compile(wire.MustRaw(tt.schema))
			require.NoError(t, err)
			require.NoError(t, s.Validate(wire.MustRaw(got)))
			if wrong, ok := wrongType(wire.MustRaw(tt.schema), got); ok {
				require.Error(t, s.Validate(wire.MustRaw(wrong)))
			}
		})
	}
}

func TestTemplateFault(t *testing.T) {
	for _, good := range []string{"a:{b}", "users://{id}/profile", "https://a/{?q*}", "https://a/{+path}{#frag}", "a:{x,y:3}", "a:{a.b}", "plain:text", "", "https://a/é/{b}"} {
		require.Empty(t, templateFault(good), good)
	}
	for _, bad := range []string{"a:{", "a:}", "a:{b", "a:{b}}", "a:{}", "a:{b c}", "a:{b:0}", "a b", `a:"{b}"`, "a:{{b}}"} {
		require.NotEmpty(t, templateFault(bad), bad)
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, templateVars("x:{a}/{+b,c*}{?d:3}"))
}

func TestAbsoluteURI(t *testing.T) {
	for _, good := range []string{"a:b", "https://example.com/a?b#c", "file:///a%20b", "urn:x:y", "test://é", "data:image/png;base64,AA=="} {
		require.True(t, absoluteURI(good), good)
	}
	for _, bad := range []string{"", "a", "/a/b", "not a uri", "1a:b", "a:b c", "a:%zz", "a:<b>"} {
		require.False(t, absoluteURI(bad), bad)
	}
}

func TestISOTime(t *testing.T) {
	for _, good := range []string{"2025-01-12T15:00:58Z", "2025-01-12", "2025-01-12T15:00:58.123+02:00", "20250112T150058Z", "2025-W02-7", "2025-01"} {
		require.True(t, isoTime(good), good)
	}
	for _, bad := range []string{"", "yesterday", "12.01.2025", "1736694058", "2025-01-12T"} {
		require.False(t, isoTime(bad), bad)
	}
}

func TestMetaKeySyntax(t *testing.T) {
	for _, good := range []string{"a", "a/b", "com.example/my-key_1.x", "io.modelcontextprotocol/serverInfo", "a.b/", "x1"} {
		require.True(t, metaKey.MatchString(good), good)
	}
	for _, bad := range []string{"/a", "a..b/c", "1a/b", "a-/b", "a/-b", "a/b-", "a b", "a/b/c", "é"} {
		require.False(t, metaKey.MatchString(bad), bad)
	}
	require.True(t, reservedPrefix("dev.mcp/x", true))
	require.False(t, reservedPrefix("tools.mcp.com/x", false) && reservedPrefix("mcp/x", false))
	require.True(t, reservedPrefix("tools.mcp.com/x", false))
	require.False(t, reservedPrefix("com.example/x", true))
}

func TestWithMetaKeepsParams(t *testing.T) {
	for params, want := range map[string]string{
		"":                `{"_meta":{"x":1}}`,
		"{}":              `{"_meta":{"x":1}}`,
		` { "a" : [1] } `: `{"_meta":{"x":1},"a":[1]}`,
	} {
		require.JSONEq(t, want, WithMeta(params, `"x":1`))
	}
	s := &Session{rev: "2026-07-28", clientCaps: "{}"}
	merged := wire.MustRaw(s.withMeta(`{"name":"a","_meta":{"progressToken":5}}`))
	n, ok := merged.Get("_meta").Get("progressToken").Int()
	require.True(t, ok)
	require.EqualValues(t, 5, n)
	require.NotNil(t, merged.Get("_meta").Get("io.modelcontextprotocol/protocolVersion"))
	require.Equal(t, 1, strings.Count(string(merged), "_meta"))
}

func TestMisfitIsRuledOut(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`:                          `{"a":12345}`,
		`{"type":"object","properties":{"a":{"type":"integer"}}}`:                         `{"a":"goldwire"}`,
		`{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"string"}}}`:   `{"a":"goldwire"}`,
		`{"type":"object","properties":{"a":{"enum":["x"]},"b":{"type":"number"}}}`:       `{"b":"goldwire"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`: ``,
		`{"type":"object"}`: ``,
		`5`:                 ``,
	} {
		got, ok := misfit(wire.MustRaw(schema))
		require.Equal(t, want != "", ok, schema)
		require.Equal(t, want, got, schema)
		if ok {
			s, err := validate.Compile(wire.MustRaw(schema))
			require.NoError(t, err)
			require.Error(t, s.Validate(wire.MustRaw(got)))
		}
	}
}

func TestHostileArgumentsAreJSON(t *testing.T) {
	for _, args := range []string{`{}`, `{"a":"x","b":1}`, `{"goldwire":true}`} {
		for _, h := range hostile {
			_, err := wire.ParseRaw([]byte(h.make(wire.MustRaw(args))))
			require.NoError(t, err, "%s of %s", h.name, args)
		}
	}
}

func TestPathsOut(t *testing.T) {
	for _, uri := range []string{"", "test://x", "https://example.com/a", "file:", "%zz"} {
		require.Empty(t, pathsOut(uri), uri)
	}
	for _, uri := range []string{"file:///srv/docs/readme.txt", "file:///readme.txt", "file://host/a/b"} {
		paths := pathsOut(uri)
		require.NotEmpty(t, paths, uri)
		for _, p := range paths {
			require.True(t, strings.HasPrefix(p, "file://"), p)
			require.True(t, strings.HasSuffix(p, "etc/hosts"), p)
			require.Contains(t, strings.NewReplacer("%2e", ".", "%252e", ".").Replace(p), "..")
		}
	}
}

func TestFlipChangesOneCharacter(t *testing.T) {
	for _, s := range []string{"A", "z", "Z", "9", "~", "round=1", "\u00e9", "a.b-c_d=="} {
		for i := range len(s) {
			got := flip(s, i)
			require.NotEqual(t, s, got)
			_, err := wire.ParseRaw([]byte(quote(got)))
			require.NoError(t, err)
		}
	}
}

func TestSecretIn(t *testing.T) {
	for text, want := range map[string]bool{
		`"token AKIAABCDEFGHIJKLMNOP found"`: true, `"Authorization: Bearer abcdefghijklmnop0123"`: true, `{"password":"hunter22"}`: true,
		`"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop"`: true, `"-----BEGIN PRIVATE KEY-----"`: true,
		`"the password is wrong"`: false, `"bearer of bad news"`: false, `{"level":"info"}`: false, `"api_key: ****"`: false, `"password: "`: false,
	} {
		require.Equal(t, want, secretIn(wire.MustRaw(text)) != "", text)
	}
}

func TestReadable(t *testing.T) {
	require.True(t, readable([]byte("café")))
	require.False(t, readable([]byte("caf\xe9")))
	long := strings.Repeat("a", keptText-1) + "é"
	require.True(t, readable([]byte(long[:keptText])), "a character that the recorder cut is no fault")
	require.False(t, readable([]byte("\xff"+long[:keptText-1])))
}

func TestWithoutMeta(t *testing.T) {
	require.JSONEq(t, `{"a":[1],"b":{"_meta":2}}`, string(withoutMeta(wire.MustRaw(`{ "_meta":{"x":1}, "a":[1], "b":{"_meta":2} }`))))
	require.Equal(t, `[1]`, string(withoutMeta(wire.MustRaw(`[1]`))))
	require.Nil(t, withoutMeta(nil))
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`)
	f.Add(`{"required":[1,"a"],"properties":[],"enum":{}}`)
	f.Add(`{"type":"object","properties":{"a":{"type":"integer","multipleOf":1e-300,"minimum":1e300}},"required":["a"]}`)
	f.Fuzz(func(t *testing.T, schema string) {
		s, err := wire.ParseRaw([]byte(schema))
		if err != nil {
			return
		}
		text, _ := Arguments(s)
		_, err = wire.ParseRaw([]byte(text))
		require.NoError(t, err, text)
	})
}

func TestInterimResponsesAreNoAnswers(t *testing.T) {
	const final = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
	const early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
	for text, want := range map[string]int{final: 202, early + final: 202, "HTTP/1.1 100 Continue\r\n\r\n" + early + final: 202, strings.Repeat(early, 11) + final: 0, early: 0} {
		resp, err := finalResponse(bufio.NewReader(strings.NewReader(text)))
		if want == 0 {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
	}
}
