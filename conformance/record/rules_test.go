package record

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/transcript"
)

func parse(t *testing.T, text string) *transcript.Recording {
	t.Helper()
	rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n" + text))
	require.NoError(t, err)
	return rec
}

func env(name string) (string, bool) {
	return map[string]string{"TOKEN": "abcd&1234"}[name], name == "TOKEN"
}

func TestRedact(t *testing.T) {
	for name, tt := range map[string]struct {
		rules    []string
		in, want string
		field    string
	}{
		"headers with credentials, by default": {
			in:   ">>1 POST /mcp\n>>1 authorization: Bearer x\n>>1 accept: a\n>1 {\"Authorization\":\"x\"}\n<<1 200 set-cookie: a=b\n<1 {}\n",
			want: ">>1 POST /mcp\n>>1r authorization: [redacted]\n>>1 accept: a\n>1 {\"Authorization\":\"x\"}\n<<1r 200 set-cookie: [redacted]\n<1 {}\n",
		},
		"queries that tell of a secret, by default": {
			in:   ">>1 POST /mcp?access_token=abc&a=b&api_key=x\n",
			want: ">>1r POST /mcp?access_token=[redacted]&a=b&api_key=[redacted]\n",
		},
		"the id of a session, also where it begins": {
			rules: []string{"header:Mcp-Session-Id"},
			in:    "<<1 200 mcp-session-id: abc\n!1 session 2025-11-25 abc\n!1 session 2026-07-28\n",
			want:  "<<1r 200 mcp-session-id: [redacted]\n!1r session 2025-11-25 [redacted]\n!1 session 2026-07-28\n",
		},
		"none": {
			rules: []string{"none"}, in: ">>1 POST /mcp\n>>1 authorization: Bearer x\n", want: ">>1 POST /mcp\n>>1 authorization: Bearer x\n",
		},
		"members at any depth": {
			rules: []string{"member:password"}, field: "member:password",
			in:   "> {\"id\": 1.0,\"params\":{\"a\":[{\"password\":{\"x\":1}}],\"b\":\"password\"}}\n> {\"id\": 1.0}\n",
			want: ">r {\"id\":1.0,\"params\":{\"a\":[{\"password\":\"[redacted]\"}],\"b\":\"password\"}}\n> {\"id\": 1.0}\n",
		},
		"what cannot be read may hold the member": {
			rules: []string{"member:password"}, field: "member:password",
			in:   "> {\"password\":\"a\n>~ {\"password\":\"a\"}\n>~70 {\"password\":\n>\n",
			want: ">r [redacted]\n>r~ [redacted]\n>r [redacted]\n>\n",
		},
		"body and header alike": {
			rules: []string{"member:name"}, field: "member:name",
			in: ">>1 POST /mcp\n>>1 mcp-name: get_secret\n>>2 POST /mcp\n>>1 mcp-method: tools/call\n>1 {\"method\":\"tools/call\",\"params\":{\"name\":\"get_secret\"}}\n" +
				">>2 mcp-name: =?base64?Z2V0X3NlY3JldA==?=\n>2 {\"params\":{\"name\":\"get_secret\"}}\n",
			want: ">>1 POST /mcp\n>>1r mcp-name: [redacted]\n>>1 mcp-method: tools/call\n>1r {\"method\":\"tools/call\",\"params\":{\"name\":\"[redacted]\"}}\n" +
				">>2 POST /mcp\n>>2r mcp-name: [redacted]\n>2r {\"params\":{\"name\":\"[redacted]\"}}\n",
		},
		"header and body alike": {
			rules: []string{"header:Mcp-Param-City"}, field: "header:mcp-param-city",
			in:   ">>1 POST /mcp\n>>1 mcp-param-city: Paris\n>1 {\"params\":{\"arguments\":{\"city\":\"Paris\",\"b\":\"Paris!\"}}}\n",
			want: ">>1 POST /mcp\n>>1r mcp-param-city: [redacted]\n>1r {\"params\":{\"arguments\":{\"city\":\"[redacted]\",\"b\":\"Paris!\"}}}\n",
		},
		"a text, as it is and as JSON writes it": {
			rules: []string{"env:TOKEN"}, field: "env:TOKEN",
			in:   "> {\"a\":\"abcd&1234\",\"b\":\"abcd\\u00261234\"}\n! stderr abcd&1234\n! start ./s abcd&1234\n",
			want: ">r {\"a\":\"[redacted]\",\"b\":\"[redacted]\"}\n!r stderr [redacted]\n!r start ./s [redacted]\n",
		},
		"a text in an encoded header": {
			rules: []string{"value:secret"}, field: "value",
			in:   ">>1 POST /mcp?k=secret\n>>1 mcp-name: =?base64?Z2V0X3NlY3JldA==?=\n>1 {\"params\":{\"name\":\"get_secret\"}}\n<<1 200\n<<1 id: secret\n",
			want: ">>1r POST /mcp?k=[redacted]\n>>1r mcp-name: [redacted]\n>1r {\"params\":{\"name\":\"[redacted]\"}}\n<<1 200\n<<1r id: [redacted]\n",
		},
		"an expression": {
			rules: []string{"match:[0-9]{6}"}, field: "match", in: "> {\"a\":\"tel 123456\"}\n", want: ">r {\"a\":\"tel [redacted]\"}\n",
		},
		"what looks like a credential": {
			rules: []string{"secrets"}, field: "secrets", in: "> {\"a\":\"ghp_abcdefghijklmnopqrstuvwxyz\"}\n", want: ">r {\"a\":\"[redacted]\"}\n",
		},
		"a request without a body": {
			rules: []string{"member:a"}, in: ">>1 GET /mcp\n>>1 cookie: a\n<<1 200\n>>2 GET /\n", want: ">>1 GET /mcp\n>>1r cookie: [redacted]\n<<1 200\n>>2 GET /\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules, err := ParseRules(tt.rules, env)
			require.NoError(t, err)
			rec := parse(t, tt.in)
			before := rec.String()
			out, err := Redact(rec, rules)
			require.NoError(t, err)
			require.Equal(t, "http://h/mcp?token=[redacted]&x=1", (&Rules{usual: true}).URL("http://user:pw@h/mcp?token=1&x=1"))
			require.Equal(t, before, rec.String(), "the argument stays")
			require.Equal(t, tt.field, out.Get(transcript.FieldRedacted))
			require.Equal(t, tt.field != "", out.Redacted())
			out.Fields = nil
			require.Equal(t, "goldwire-transcript: 1\n"+tt.want, out.String())

			again, err := Redact(out, rules)
			require.NoError(t, err)
			again.Fields = nil
			require.Equal(t, out.String(), again.String(), "twice is the same as once")
		})
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for rule, want := range map[string]string{
		"":              "is no rule",
		"header":        "is no rule",
		"header:":       "is no rule",
		"body:x":        "is no rule",
		"value:abc":     "at least 4",
		"env:NO":        "no variable NO",
		"match:(":       "missing closing",
		"match:a*":      "empty text",
		"member":        "is no rule",
		"value:":        "is no rule",
		"secrets-or-so": "is no rule",
	} {
		_, err := ParseRules([]string{rule}, env)
		require.ErrorContains(t, err, want, rule)
		require.False(t, strings.Contains(err.Error(), "abc"), "a secret is not said again")
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("> {\"password\":\"topsecret\"}\n>>1 POST /topsecret\n>>1 mcp-name: topsecret\n>1 {\"name\":\"topsecret\"}\n")
	rules, err := ParseRules([]string{"value:topsecret", "member:password", "header:x", "secrets"}, env)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n" + text))
		if err != nil {
			return
		}
		out, err := Redact(rec, rules)
		if err != nil {
			return
		}
		require.Len(t, out.Events, len(rec.Events))
		for i := range out.Events {
			require.NotContains(t, string(out.Events[i].Data), "topsecret")
		}
	})
}
