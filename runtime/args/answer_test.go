package args_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/args"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// asking is a form of one field, f, as it is sent; answering an answer to it.
func asking(field string) wire.Raw {
	return wire.Raw(`{"message":"?","requestedSchema":{"type":"object","properties":{"f":` + field + `}}}`)
}

func answering(value string) wire.Raw {
	return wire.Raw(`{"action":"accept","content":{"f":` + value + `}}`)
}

// typed are the params and the result as the types of each revision.
func typed(t *testing.T, form, result wire.Raw) map[string][2]wire.Appender {
	t.Helper()
	var (
		oldForm, midForm, newForm = new(v20250618.ElicitFormParams), new(v20251125.ElicitFormParams), new(v20260728.ElicitFormParams)
		oldRes, midRes, newRes    = new(v20250618.ElicitResult), new(v20251125.ElicitResult), new(v20260728.ElicitResult)
	)
	pairs := map[string][2]wire.Appender{"raw": {form, result}, "2025-06-18": {oldForm, oldRes}, "2025-11-25": {midForm, midRes}, "2026-07-28": {newForm, newRes}}
	for name, p := range pairs {
		for i, text := range []wire.Raw{form, result} {
			if d, ok := p[i].(wire.Decoder); ok && name != "raw" {
				require.NoError(t, wire.Decode(text, wire.Options{}, d), "%s: %s", name, text)
			}
		}
	}
	return pairs
}

var fields = []struct {
	field string
	good  []string
	bad   map[string]string // value: error
}{
	{`{"type":"string"}`, []string{`""`, `"x"`, `"\ud83d\ude00"`}, map[string]string{
		`1`: "want a string, got a number", `null`: "want a string, got null", `["x"]`: "want a string, got an array", `true`: "want a string, got a boolean", `{}`: "want a string, got an object",
	}},
	{`{"type":"string","minLength":2,"maxLength":3}`, []string{`"ab"`, `"äöü"`, `"\u00e4\ud83d\ude00"`}, map[string]string{
		`"a"`: "want at least 2 characters, got 1", `"abcd"`: "want at most 3 characters, got 4",
	}},
	{`{"type":"string","pattern":"^[a-z]+$"}`, []string{`"abc"`}, map[string]string{`"a1"`: "want what matches ^[a-z]+$"}},
	{`{"type":"string","format":"email"}`, []string{`"ada@example.com"`, `"a+b@c"`, `"o'x@[127.0.0.1]"`, `"\"a b\"@example.com"`}, map[string]string{
		`"ada"`: "want an email address", `"@example.com"`: "want an email address", `"ada@"`: "want an email address", `"a b@example.com"`: "want an email address", `""`: "want an email address",
	}},
	{`{"type":"string","format":"uri"}`, []string{`"https://example.com/a?b=c#d"`, `"urn:isbn:1"`, `"mailto:a@b"`, `"http://[::1]:80/%20"`}, map[string]string{
		`"example.com/x"`:        "want a URI with its scheme, as in https://example.com/",
		`"https://exa mple.com"`: "want a URI with its scheme, as in https://example.com/",
		`"/x"`:                   "want a URI with its scheme, as in https://example.com/",
		`"http://x/%zz"`:         "want a URI with its scheme, as in https://example.com/",
	}},
	{`{"type":"string","format":"date"}`, []string{`"2026-02-28"`, `"2024-02-29"`}, map[string]string{
		`"2026-02-29"`: "want a date as in 2006-01-02", `"28.02.2026"`: "want a date as in 2006-01-02", `"2026-2-8"`: "want a date as in 2006-01-02", `"2026-02-28T00:00:00Z"`: "want a date as in 2006-01-02",
	}},
	{`{"type":"string","format":"date-time"}`, []string{`"2026-02-28T23:59:00Z"`, `"2026-02-28T23:59:00.123456789123+05:30"`, `"2016-12-31t23:59:60z"`}, map[string]string{
		`"2026-02-28"`:                 "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-28T23:59:00"`:        "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-30T23:59:00Z"`:       "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-28T24:00:00Z"`:       "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-28T23:59:00,5Z"`:     "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-28T23:59:00+25:00"`:  "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"ääääääääääT23:59:00Z"`:       "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
		`"2026-02-28T23:59:00+05:30x"`: "want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)",
	}},
	{`{"type":"integer","minimum":18,"maximum":120}`, []string{`18`, `120`, `30.0`, `3e1`}, map[string]string{
		`17`: "want at least 18", `121`: "want at most 120", `30.5`: "want an integer, got a fraction", `"30"`: "want an integer, got a string",
		`1e400`: "want at most 120", `-1e400`: "want at least 18", `1e-400`: "want an integer, got a fraction",
	}},
	{`{"type":"integer"}`, []string{`0`, `-1`, `-0.0`, `9223372036854775808`, `1e30`, `1e400`, `-123456789012345678901234567890`}, map[string]string{
		`1.0000000000000000000001`: "want an integer, got a fraction", `false`: "want an integer, got a boolean",
	}},
	{`{"type":"number","minimum":-0.5,"maximum":1e6}`, []string{`-0.5`, `95.5`, `1000000`}, map[string]string{
		`-0.51`: "want at least -0.5", `1000000.1`: "want at most 1000000", `"1"`: "want a number, got a string",
	}},
	{`{"type":"boolean"}`, []string{`true`, `false`}, map[string]string{`"true"`: "want a boolean, got a string", `1`: "want a boolean, got a number", `null`: "want a boolean, got null"}},
	{`{"type":"string","enum":["a","bä"]}`, []string{`"a"`, `"b\u00e4"`}, map[string]string{`"A"`: `want one of "a", "bä"`, `""`: `want one of "a", "bä"`, `["a"]`: "want a string, got an array"}},
	{`{"type":"string","enum":["a"],"enumNames":["A"]}`, []string{`"a"`}, map[string]string{`"A"`: `want one of "a"`}},
	{`{"type":"string","oneOf":[{"const":"#F00","title":"Red"},{"const":"#0F0","title":"Green"}]}`, []string{`"#F00"`, `"#0F0"`}, map[string]string{`"Red"`: `want one of "#F00", "#0F0"`}},
	{`{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["a","b","c"]}}`, []string{`["a"]`, `["c","a"]`}, map[string]string{
		`[]`: "want at least 1 elements, got 0", `["a","b","c"]`: "want at most 2 elements, got 3", `"a"`: "want an array, got a string",
	}},
	{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}}`, []string{`[]`, `["b","a"]`}, nil},
}

// TestCheckAnswerHoldsTheForm holds each field of a form, in the types of each
// revision, against values; and that an independent validator of JSON Schema says
// the same.
func TestCheckAnswerHoldsTheForm(t *testing.T) {
	for _, c := range fields {
		t.Run(c.field, func(t *testing.T) {
			compiler := jsonschema.NewCompiler()
			compiler.AssertFormat = true
			require.NoError(t, compiler.AddResource("form.json", strings.NewReader(c.field)))
			schema, err := compiler.Compile("form.json")
			require.NoError(t, err)
			validate := func(value string) error {
				d := json.NewDecoder(strings.NewReader(value))
				d.UseNumber()
				var v any
				require.NoError(t, d.Decode(&v))
				return schema.Validate(v)
			}
			for _, value := range c.good {
				for name, p := range typed(t, asking(c.field), answering(value)) {
					require.NoError(t, args.CheckAnswer(p[0], p[1]), "%s: %s", name, value)
				}
				require.NoError(t, validate(value), value)
			}
			for value, want := range c.bad {
				for name, p := range typed(t, asking(c.field), answering(value)) {
					require.EqualError(t, args.CheckAnswer(p[0], p[1]), "content.f: "+want, "%s: %s", name, value)
				}
				require.Error(t, validate(value), value)
			}
		})
	}
}

// TestCheckAnswerHoldsTheWhole holds what is said of an answer as a whole.
func TestCheckAnswerHoldsTheWhole(t *testing.T) {
	form := wire.Raw(`{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}}`)
	page := wire.Raw(`{"mode":"url","message":"?","url":"https://example.com","elicitationId":"1"}`)
	for _, c := range []struct {
		form         wire.Raw
		result, want string
	}{
		{form, `{"action":"accept","content":{"name":"Ada","age":36}}`, ""},
		{form, `{"action":"accept","content":{"name":"Ada","other":{"deep":[1]}}}`, ""},
		{form, `{"action":"decline"}`, ""},
		{form, `{"action":"cancel","content":{"name":1}}`, ""},
		{form, `{"action":"postpone"}`, ""},
		{form, `{"action":"accept","content":{"age":36}}`, "content.name: missing"},
		{form, `{"action":"accept"}`, "content.name: missing"},
		{form, `{"action":"accept","content":null}`, "content: want an object, got null"},
		{form, `{"action":"accept","content":["Ada"]}`, "content: want an object, got an array"},
		{form, `{"action":"accept","content":{"name":"Ada","name":1}}`, "content.name: duplicate"},
		{form, `{"action":"accept","content":{"name":"Ada"},"content":{"name":1}}`, "content: duplicate"},
		{form, `{"action":"decline","action":"accept"}`, "action: duplicate"},
		{form, `{"action":"accept","content":{"n\u0061me":"Ada"}}`, ""},
		{form, `{"content":{"name":"Ada"}}`, "action: want a string, got nothing"},
		{form, `{"action":1}`, "action: want a string, got a number"},
		{form, `[]`, "want an object, got an array"},
		{form, ``, "want an object, got null"},
		{page, `{"action":"accept"}`, ""},
		{wire.Raw(`{"mode":"new","what":1}`), `{"action":"accept","content":{"name":1}}`, ""},
		{wire.Raw(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`), `{"action":"accept"}`, ""},
		{wire.Raw(`{"message":"?","requestedSchema":{"type":"object","required":["x"]}}`), `{"action":"accept"}`, "content.x: missing"},
		{wire.Raw(`{"message":"?","requestedSchema":{"type":"object","required":[1,"x"]}}`), `{"action":"accept","content":{"x":1}}`, ""},
	} {
		err := args.CheckAnswer(c.form, wire.Raw(c.result))
		if c.want == "" {
			require.NoError(t, err, c.result)
			continue
		}
		require.EqualError(t, err, c.want, c.result)
		e, ok := errors.AsType[*args.Error](err)
		require.True(t, ok)
		require.Contains(t, e.InvalidParams().Message, "answer")
	}
}

// TestCheckAnswerBlamesWhoAsked holds that a form which is none is not the fault
// of who answers.
func TestCheckAnswerBlamesWhoAsked(t *testing.T) {
	schema := &v20260728.ElicitSchema{Properties: map[string]v20260728.PrimitiveSchemaDefinition{"f": &v20260728.StringSchema{}}}
	for name, form := range map[string]wire.Appender{
		"nil": nil, "nil params": (*v20260728.ElicitFormParams)(nil), "schema alone": schema,
		"no JSON": wire.Raw(`{"requestedSchema":`), "null": wire.Raw("null"), "schema is no object": wire.Raw(`{"requestedSchema":[]}`),
	} {
		err := args.CheckAnswer(form, answering(`"x"`))
		require.ErrorContains(t, err, "form: ", name)
		_, wrong := errors.AsType[*args.Error](err)
		_, text := errors.AsType[*wire.Error](err)
		require.False(t, wrong || text, "%s: %v", name, err)
	}
	for name, result := range map[string]wire.Appender{"nil": nil, "nil result": (*v20260728.ElicitResult)(nil)} {
		_, ok := errors.AsType[*args.Error](args.CheckAnswer(asking(`{}`), result))
		require.True(t, ok, name)
	}
}

// TestCheckAnswerPassesWhatItDoesNotKnow holds that nothing is refused for what
// the specification gives a form no word for.
func TestCheckAnswerPassesWhatItDoesNotKnow(t *testing.T) {
	for field, value := range map[string]string{
		`{}`:   `{"a":[null]}`,
		`true`: `1`,
		`7`:    `1`,
		`{"type":"object","properties":{"a":{"type":"string"}}}`:              `{"a":1}`,
		`{"type":"decimal","minimum":"5"}`:                                    `4`,
		`{"type":7}`:                                                          `"x"`,
		`{"type":[]}`:                                                         `"x"`,
		`{"type":["null","string"],"maxLength":1}`:                            `null`,
		`{"type":["integer","decimal"]}`:                                      `"x"`,
		`{"type":"string","format":"uuid"}`:                                   `"x"`,
		`{"type":"string","format":7}`:                                        `"x"`,
		`{"type":"string","minLength":"5","maxLength":-1}`:                    `"x"`,
		`{"type":"string","maxLength":0.5}`:                                   `"x"`,
		`{"type":"string","maxLength":99999999999999999999}`:                  `"x"`,
		`{"type":"string","minimum":5}`:                                       `"x"`,
		`{"type":"number","minLength":5}`:                                     `1`,
		`{"type":"number","exclusiveMinimum":5,"multipleOf":2}`:               `1`,
		`{"type":"string","pattern":"(?!x)"}`:                                 `"x"`,
		`{"type":"string","pattern":"^\\s$"}`:                                 `"\u00a0"`,
		`{"type":"string","pattern":"^[\\S]$"}`:                               `" "`,
		`{"type":"string","pattern":"[[:alpha:]]"}`:                           `"p"`,
		`{"type":"string","pattern":"("}`:                                     `"x"`,
		`{"type":"string","pattern":7}`:                                       `"x"`,
		`{"type":"string","enum":"a"}`:                                        `"x"`,
		`{"type":"string","oneOf":[{"const":"a"},{"minLength":1}]}`:           `"x"`,
		`{"type":"string","oneOf":7,"anyOf":{}}`:                              `"x"`,
		`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`: `[[1]]`,
		`{"type":"array","uniqueItems":true}`:                                 `["a","a",1]`,
		`{"type":"array","items":{"type":"string"},"maxItems":"1"}`:           `["a","a"]`,
	} {
		require.NoError(t, args.CheckAnswer(asking(field), answering(value)), "%s: %s", field, value)
	}
}

// TestCheckAnswerReadsPatternsAsECMAScript holds that a pattern means what it means to
// the form that shows it, and refuses nothing where that is not looked into.
func TestCheckAnswerReadsPatternsAsECMAScript(t *testing.T) {
	for _, c := range []struct {
		pattern   string
		good, bad []string
	}{
		{`^.$`, []string{"x", "\u0085", "😀"}, []string{"\n", "\r", "\u2028", "\u2029", ""}},
		{`^(?:a.|.b)+$`, []string{"axxb"}, []string{"a\r", "\u2028b"}},
		{`^[.]\.$`, []string{".."}, []string{"x.", ".x"}},
		{`^[^.\]]$`, []string{"x", "\r", "["}, []string{".", "]"}},
		{`^[a\-.[]$`, []string{"-", "[", "."}, []string{"b", "\\"}},
		{`^\\s$`, []string{`\s`}, []string{" ", `\ `}},
		{`^[\\s]$`, []string{`\`, "s"}, []string{" "}},
		{`^[:;]$`, []string{":", ";"}, []string{"a"}},
		{`^\d\w\D\W\/\{$`, []string{"1_a-/{"}, []string{"1_1-/{"}},
		{`^\t\n\v\f\r$`, []string{"\t\n\v\f\r"}, []string{"tnvfr"}},
		{`^a\b.\B.$`, []string{"a--"}, []string{"abc", "a-b"}},
		// Not looked into.
		{`^\x{3}$`, []string{"xxx", "\x03"}, nil},
		{`^\x41$`, []string{"A", "x"}, nil},
		{`^\pL$`, []string{"pL", "é"}, nil},
		{`^[\pL]$`, []string{"p"}, nil},
		{`^\PL$`, []string{"PL"}, nil},
		{`^\a$`, []string{"a"}, nil},
		{`^\C$`, []string{"C"}, nil},
		{`^\Q.\E$`, []string{"Q.E"}, nil},
		{`^\cA$`, []string{"\x01"}, nil},
		{`^(.)\1$`, []string{"aa"}, nil},
		{`^\s\S$`, []string{"\u00a0x"}, nil},
		{`^(?i)a$`, []string{"b"}, nil},
		{`^(?s:.)$`, []string{"\n"}, nil},
		{`(?U)a`, []string{"b"}, nil},
		{`^[]a]$`, []string{"]", "b"}, nil},
		{`^[^]$`, []string{"x"}, nil},
		{`^[[:alpha:]]$`, []string{":]"}, nil},
		{`\`, []string{"x"}, nil},
		{`[a\`, []string{"x"}, nil},
		{`[a`, []string{"x"}, nil},
	} {
		form := asking(`{"type":"string","pattern":` + string(wire.Quote(c.pattern)) + `}`)
		for _, text := range c.good {
			require.NoError(t, args.CheckAnswer(form, answering(string(wire.Quote(text)))), "%s: %q", c.pattern, text)
		}
		for _, text := range c.bad {
			require.EqualError(t, args.CheckAnswer(form, answering(string(wire.Quote(text)))), "content.f: want what matches "+c.pattern, "%q", text)
		}
	}
}

// TestCheckAnswerSaysWhere holds the places and words that the table of fields
// has not, and that no error repeats what a user wrote.
func TestCheckAnswerSaysWhere(t *testing.T) {
	for _, c := range []struct{ field, value, want string }{
		{`{"type":"array","items":{"type":"string","enum":["a"]}}`, `["a","hush"]`, `content.f[1]: want one of "a"`},
		{`{"type":"array","items":{"type":"string"}}`, `["a",1]`, "content.f[1]: want a string, got a number"},
		{`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, `["hush"]`, `content.f[0]: want one of "a"`},
		{`{"type":["null","integer"]}`, `"hush"`, "content.f: want null or an integer, got a string"},
		{`{"type":["string","integer"]}`, `1.5`, "content.f: want a string or an integer, got a fraction"},
		{`{"enum":[1,"a"]}`, `true`, `content.f: want one of 1, "a"`},
		{`{"enum":[]}`, `"hush"`, "content.f: want nothing: the form offers no value"},
		{`{"type":"string","pattern":"^b"}`, `"hush"`, "content.f: want what matches ^b"},
		{`{"type":"string","format":"email"}`, `"hush"`, "content.f: want an email address"},
		{`{"type":"number","maximum":1}`, `4711`, "content.f: want at most 1"},
	} {
		require.EqualError(t, args.CheckAnswer(asking(c.field), answering(c.value)), c.want, c.field)
	}
}

// TestCheckAnswerRefusesEveryPrefix feeds each beginning of an answer and of a form.
func TestCheckAnswerRefusesEveryPrefix(t *testing.T) {
	form := asking(`{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1}`)
	result := answering(`["a","b"]`)
	require.NoError(t, args.CheckAnswer(form, result))
	for i := range result {
		_, ok := errors.AsType[*args.Error](args.CheckAnswer(form, result[:i]))
		require.True(t, ok, "%s", result[:i])
		_, err := args.DecodeAnswer[struct{ F []string }](form, result[:i])
		require.Error(t, err)
	}
	for i := range form {
		require.ErrorContains(t, args.CheckAnswer(form[:i], result), "form: ", "%s", form[:i])
	}
}

type contact struct {
	Name   string    `json:"name" maxLength:"5"`
	Age    args.Int  `json:"age,omitempty"`
	Topics []string  `json:"topics,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

// TestDecodeAnswerReadsContent holds what is read, and that what is wrong is
// told with its place in the answer, whoever finds it.
func TestDecodeAnswerReadsContent(t *testing.T) {
	form := &v20251125.ElicitFormParams{RequestedSchema: v20251125.ElicitSchema{Required: []string{"name"}, Properties: map[string]v20251125.PrimitiveSchemaDefinition{
		"name":   &v20251125.StringSchema{},
		"age":    &v20251125.NumberSchema{Type: v20251125.NumberTypeInteger, Maximum: new(120.0)},
		"topics": &v20251125.UntitledMultiSelectEnumSchema{Items: v20251125.UntitledEnumItems{Enum: []string{"go", "c"}}},
		"since":  &v20251125.StringSchema{Format: new(v20251125.StringFormatDateTime)},
	}}}
	accept := func(content map[string]v20251125.ElicitValue) *v20251125.ElicitResult {
		return &v20251125.ElicitResult{Action: v20251125.ElicitActionAccept, Content: content}
	}
	value := func(s string) v20251125.ElicitValue { return v20251125.ElicitValue{Raw: wire.Raw(s)} }

	got, err := args.DecodeAnswer[contact](form, accept(map[string]v20251125.ElicitValue{
		"name": value(`"Ad\u0061"`), "age": value("36.0"), "topics": value(`["c"]`), "since": value(`"2026-01-02T03:04:05Z"`), "unasked": value("true"),
	}))
	require.NoError(t, err)
	require.Equal(t, contact{Name: "Ada", Age: 36, Topics: []string{"c"}, Since: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, got)

	for want, content := range map[string]map[string]v20251125.ElicitValue{
		"content.age: want at most 120":                                             {"name": value(`"Ada"`), "age": value("121")},
		"content.name: missing":                                                     nil,
		`content.topics[0]: want one of "go", "c"`:                                  {"name": value(`"Ada"`), "topics": value(`["b"]`)},
		"content.name: want at most 5 characters, got 6":                            {"name": value(`"Adaaaa"`)},                                        // says the type
		"content.since: want a date and time as in 2006-01-02T15:04:05Z (RFC 3339)": {"name": value(`"Ada"`), "since": value(`"2016-12-31T23:59:60Z"`)}, // has no time.Time
	} {
		got, err := args.DecodeAnswer[contact](form, accept(content))
		require.EqualError(t, err, want)
		require.Zero(t, got)
		require.ErrorIs(t, err, jsonrpc.NewError(jsonrpc.CodeInvalidParams, ""))
		e, _ := errors.AsType[*args.Error](err)
		require.Equal(t, "answer."+want, e.InvalidParams().Message)
	}
	_, err = args.DecodeAnswer[contact](form, &v20251125.ElicitResult{Action: v20251125.ElicitActionDecline})
	require.EqualError(t, err, "action: want accept, the user did not")
	_, err = args.DecodeAnswer[[]string](form, accept(map[string]v20251125.ElicitValue{"name": value(`"Ada"`)}))
	require.EqualError(t, err, "content: want an array, got an object")
	_, err = args.DecodeAnswer[contact](nil, accept(nil))
	require.EqualError(t, err, "form: missing")
	all, err := args.DecodeAnswer[map[string]wire.Raw](form, accept(map[string]v20251125.ElicitValue{"name": value(`"Ada"`), "unasked": value("1")}))
	require.NoError(t, err)
	require.Equal(t, map[string]wire.Raw{"name": wire.Raw(`"Ada"`)}, all)
	all, err = args.DecodeAnswer[map[string]wire.Raw](wire.Raw(`{"requestedSchema":{"required":["x"]}}`), wire.Raw(`{"action":"accept","content":{"x":1,"y":2}}`))
	require.NoError(t, err)
	require.Equal(t, map[string]wire.Raw{"x": wire.Raw("1")}, all)
}

// TestWrongAnswersAreToldAsTheRevisionWants holds what the caller of a tool hears
// of an answer that does not fit, when the handler returns the error as it is.
func TestWrongAnswersAreToldAsTheRevisionWants(t *testing.T) {
	form := asking(`{"type":"integer"}`)
	said := `{"action":"accept","content":{"f":"x"}}`
	t.Run("2025-06-18", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := v20250618.Server{Options: quiet,
				ListTools: func(context.Context, *v20250618.ListToolsParams) (*v20250618.ListToolsResult, error) { return nil, nil },
				CallTool: func(ctx context.Context, _ *v20250618.CallToolParams) (*v20250618.CallToolResult, error) {
					var p v20250618.ElicitFormParams
					require.NoError(t, p.UnmarshalJSON(form))
					answer, err := v20250618.Peer(ctx).Elicit(ctx, &p)
					if err == nil {
						err = args.CheckAnswer(&p, answer)
					}
					return nil, err
				},
			}
			c, stop := serve(t, s, v20250618.Connect, v20250618.Client{Elicit: func(context.Context, v20250618.ElicitParams) (*v20250618.ElicitResult, error) {
				var r v20250618.ElicitResult
				return &r, r.UnmarshalJSON([]byte(said))
			}})
			defer stop()
			_, err := c.CallTool(t.Context(), &v20250618.CallToolParams{Name: "ask"})
			e, ok := errors.AsType[*jsonrpc.Error](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, jsonrpc.CodeInvalidParams, e.Code)
			require.Equal(t, "answer.content.f: want an integer, got a string", e.Message)
		})
	})
	t.Run("2026-07-28", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var p v20260728.ElicitFormParams
			require.NoError(t, p.UnmarshalJSON(form))
			s := v20260728.Server{Options: quiet,
				ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) { return nil, nil },
				CallTool: func(_ context.Context, call *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
					answer, err := call.InputResponses.Elicit("f")
					if err != nil {
						return nil, err
					}
					if answer == nil {
						return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"f": &v20260728.ElicitRequest{Params: &p}}, nil)
					}
					return nil, args.CheckAnswer(&p, answer)
				},
			}
			c, stop := serve(t, s, v20260728.Connect, v20260728.Client{Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
				var r v20260728.ElicitResult
				return &r, r.UnmarshalJSON([]byte(said))
			}})
			defer stop()
			res, err := c.CallTool(t.Context(), &v20260728.CallToolParams{Name: "ask"})
			require.NoError(t, err)
			require.Equal(t, new(true), res.IsError)
			require.Equal(t, "content.f: want an integer, got a string", res.Content[0].(*v20260728.TextContent).Text)
		})
	})
}

// TestAFormOfAType holds that the schema of a type is a form that takes its values.
func TestAFormOfAType(t *testing.T) {
	form := &v20260728.ElicitFormParams{Message: "?"}
	require.NoError(t, form.RequestedSchema.UnmarshalJSON(args.MustSchema[contact]()))
	require.NoError(t, form.Validate())
	raw, err := args.Encode(contact{Name: "Ada", Age: 36, Topics: []string{"c"}, Since: time.Unix(0, 0).UTC()})
	require.NoError(t, err)
	got, err := args.DecodeAnswer[contact](form, wire.Raw(`{"action":"accept","content":`+string(raw)+`}`))
	require.NoError(t, err)
	require.Equal(t, "Ada", got.Name)
	require.EqualError(t, args.CheckAnswer(form, wire.Raw(`{"action":"accept","content":{"name":"Adaaaa"}}`)), "content.name: want at most 5 characters, got 6")
}

// FuzzCheckAnswer feeds any field and any value. It never panics, says of no
// answer that it fits whose text is no JSON, and DecodeAnswer says the same.
func FuzzCheckAnswer(f *testing.F) {
	for _, c := range fields {
		for _, value := range c.good {
			f.Add(c.field, value)
		}
		for value := range c.bad {
			f.Add(c.field, value)
		}
	}
	f.Add(`{"type":["null",{"type":[]}],"items":[{}],"oneOf":[{}]}`, `[[[["x"]]]]`)
	f.Fuzz(func(t *testing.T, field, value string) {
		form, result := asking(field), answering(value)
		checked := args.CheckAnswer(form, result)
		if checked == nil && !json.Valid(result) {
			t.Fatalf("took what is no JSON: %q", result)
		}
		_, decoded := args.DecodeAnswer[map[string]wire.Raw](form, result)
		if checked != nil && (decoded == nil || decoded.Error() != checked.Error()) {
			t.Fatalf("%v, and %v", checked, decoded)
		}
	})
}

// A server asks a user for contact data, and takes the answer only as the form
// has it.
func ExampleDecodeAnswer() {
	type contact struct {
		Name string `json:"name"`
		Age  int    `json:"age,omitempty"`
	}
	form := &v20260728.ElicitFormParams{Message: "Who are you?", RequestedSchema: v20260728.ElicitSchema{
		Properties: map[string]v20260728.PrimitiveSchemaDefinition{
			"name": &v20260728.StringSchema{},
			"age":  &v20260728.NumberSchema{Type: v20260728.NumberTypeInteger, Maximum: new(120.0)},
		},
		Required: []string{"name"},
	}}
	greet := func(_ context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
		answer, err := p.InputResponses.Elicit("who")
		switch {
		case err != nil:
			return nil, err
		case answer == nil:
			return nil, v20260728.NewInputRequiredError(v20260728.InputRequests{"who": &v20260728.ElicitRequest{Params: form}}, nil)
		case answer.Action != v20260728.ElicitActionAccept:
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: "Hello, whoever you are."}}}, nil
		}
		c, err := args.DecodeAnswer[contact](form, answer)
		if err != nil {
			return nil, err // the caller hears what is wrong, and where
		}
		return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: fmt.Sprintf("Hello, %s (%d).", c.Name, c.Age)}}}, nil
	}
	for _, said := range []string{`{"action":"accept","content":{"name":"Ada","age":36}}`, `{"action":"accept","content":{"name":"Ada","age":360}}`, `{"action":"decline"}`} {
		res, err := greet(context.Background(), &v20260728.CallToolParams{Name: "greet", InputResponses: v20260728.InputResponses{"who": {Raw: wire.Raw(said)}}})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Content[0].(*v20260728.TextContent).Text)
	}
	// Output:
	// Hello, Ada (36).
	// content.age: want at most 120
	// Hello, whoever you are.
}

// A client looks at what its user filled in before it sends it.
func ExampleCheckAnswer() {
	ask := func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) { // shows the form
		return &v20260728.ElicitResult{Action: v20260728.ElicitActionAccept, Content: map[string]v20260728.ElicitValue{"mail": v20260728.ElicitValueString("ada")}}, nil
	}
	client := v20260728.Client{Elicit: func(ctx context.Context, p v20260728.ElicitParams) (*v20260728.ElicitResult, error) {
		answer, err := ask(ctx, p)
		if err == nil {
			err = args.CheckAnswer(p, answer)
		}
		return answer, err
	}}
	_, err := client.Elicit(context.Background(), &v20260728.ElicitFormParams{RequestedSchema: v20260728.ElicitSchema{
		Properties: map[string]v20260728.PrimitiveSchemaDefinition{"mail": &v20260728.StringSchema{Format: new(v20260728.StringFormatEmail)}},
	}})
	fmt.Println(err)
	// Output:
	// content.mail: want an email address
}
