package result_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func TestRedactorTakesOutSecrets(t *testing.T) {
	r := result.NewRedactor([]string{"MODE=production1", "API_TOKEN=abcd", "DEBUG=true", "PIN=12", `QUOTED="a"b\c/d`, "header-authorization=Bearer zyxwvuts", "EMPTY=", "none", "ANGLE=a<b>c&d<e"})
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{"it runs in production1.", "it runs in [redacted]."},
		{`{"x":"abcd"}`, `{"x":"[redacted]"}`},
		{"true is no secret, 12 is none", "true is no secret, 12 is none"},
		{`<@1ms {"x":"\"a\"b\\c/d"}`, `<@1ms {"x":"[redacted]"}`},
		{"the token zyxwvuts alone", "the token [redacted] alone"},
		{"cut short: produc…", "cut short: [redacted]…"},
		{"error produc… (and 2 more like it) produ…", "error [redacted]… (and 2 more like it) [redacted]…"},
		{`{"x":"a<b>c&d<e"} {"x":"a\u003cb\u003ec\u0026d\u003ce"}`, `{"x":"[redacted]"} {"x":"[redacted]"}`},
		{"not cut short: produc", "not cut short: produc"},

		{"Authorization: Bearer abc", "Authorization: [redacted]"},
		{`"authorization":"Basic dXNlcjpwYXNz"`, `"authorization":"[redacted]"`},
		{`"text":"{\"Authorization\": \"Bearer abc.def\"}"`, `"text":"{\"Authorization\": \"[redacted]\"}"`},
		{`"authorization":{"type":"oauth"}`, `"authorization":{"type":"oauth"}`},
		{`"authorization_endpoint":"https://as.test/a"`, `"authorization_endpoint":"https://as.test/a"`},
		{"set-cookie: a=b; c", "set-cookie: [redacted]"},
		{"x-api-key: q1", "x-api-key: [redacted]"},
		{`{"access_token":"q","expires":3}`, `{"access_token":"[redacted]","expires":3}`},
		{"start ./server --token=q --verbose", "start ./server --token=[redacted] --verbose"},
		{"a Bearer token, or bearer authentication", "a Bearer token, or bearer authentication"},
		{"Bearer 4fa9", "Bearer [redacted]"},
		{`Bearer resource_metadata="https://h/m", scope="a"`, `Bearer resource_metadata="https://h/m", scope="a"`},
		{"progress-known-token progress-stops", "progress-known-token progress-stops"},
		{"give it --db-password hunter", "give it --db-password [redacted]"},
		{"ghp_" + strings.Repeat("a", 36), "[redacted]"},
		{"key sk-" + strings.Repeat("a", 40) + "!", "key [redacted]!"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "[redacted]"},
	} {
		got := r.Text(tt.in)
		require.Equal(t, tt.want, got)
		require.Equal(t, got, r.Text(got), "twice is the same")
	}
	var none *result.Redactor
	require.Equal(t, "abcd", none.Text("abcd"))
	require.Equal(t, "Bearer [redacted]", none.Text("Bearer 4fa9"))
}

func TestRedactorReachesEveryPlace(t *testing.T) {
	r := result.NewRedactor([]string{"T=topsecret"})
	frames := []result.Frame{{Text: "> topsecret", Here: true}}
	c := result.Check{Expected: "topsecret", Observed: "topsecret", Reason: "topsecret", Frames: frames}
	r.Check(&c)
	require.Equal(t, result.Check{Expected: "[redacted]", Observed: "[redacted]", Reason: "[redacted]", Frames: []result.Frame{{Text: "> [redacted]", Here: true}}}, c)
	require.Equal(t, "> topsecret", frames[0].Text, "what it is made of stays")

	require.Equal(t, []string{"./s", "--password", "[redacted]", "--api-key=[redacted]", "x[redacted]", "--token-file", "f"},
		r.Args([]string{"./s", "--password", "p", "--api-key=q", "xtopsecret", "--token-file", "f"}))

	require.Equal(t, []result.Frame{{Text: "!@1ms start ./s --db_password [redacted]"}}, r.Frames([]result.Frame{{Text: `!@1ms start ./s --db_password "a b"`}}))
	start := &transcript.Recording{Events: []transcript.Event{{Dir: transcript.Note, Kind: transcript.KindStart, Data: []byte("./s --api-key hunter22")}}}
	start.Set("target", "./s --api-key hunter22")
	require.Equal(t, "./s --api-key [redacted]", string(r.Recording(start).Events[0].Data))
	require.Equal(t, "./s --api-key [redacted]", r.Recording(start).Get("target"))

	rec := &transcript.Recording{Events: []transcript.Event{{Dir: transcript.ToServer, Data: []byte("a topsecret b")}, {Dir: transcript.ToClient, Data: []byte("c")}}}
	rec.Set("target", "./s topsecret")
	out := r.Recording(rec)
	require.True(t, out.Redacted())
	require.Equal(t, "a [redacted] b", string(out.Events[0].Data))
	require.Equal(t, "./s [redacted]", out.Get("target"))
	require.False(t, rec.Redacted())
	require.Equal(t, "a topsecret b", string(rec.Events[0].Data))
	clean := &transcript.Recording{Events: []transcript.Event{{Data: []byte("c")}}}
	require.Same(t, clean, r.Recording(clean))
}

// A secret of a command line is taken out of its arguments and of the line that
// they make; what is none stays.
func TestRedactorKnowsCommandLines(t *testing.T) {
	r := result.NewRedactor([]string{"T=topsecret"})
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"python3", "srv.py", "--api-key", "hunter2"}, "python3 srv.py --api-key [redacted]"},
		{[]string{"s", "--api_key", "hunter2 x"}, "s --api_key [redacted]"},
		{[]string{"s", "-apiKey", `hunter2"\`}, "s -apiKey [redacted]"},
		{[]string{"s", "--DB-Password", "hunter2", "--verbose"}, "s --DB-Password [redacted] --verbose"},
		{[]string{"s", "--client-secret=hunter2"}, "s --client-secret=[redacted]"},
		{[]string{"s", "--x-token=hunter2 hunter2"}, "s --x-token=[redacted]"},
		{[]string{"docker", "run", "-e", "API_TOKEN=hunter2", "image"}, "docker run -e API_TOKEN=[redacted] image"},
		{[]string{"env", "AWS_SECRET_ACCESS_KEY=hunter2", "password=hunter2", "s"}, "env AWS_SECRET_ACCESS_KEY=[redacted] password=[redacted] s"},
		{[]string{"s", "http://me:hunter2@h/mcp?api_key=hunter2&a=b"}, "s http://h/mcp?api_key=[redacted]&a=b"},
		{[]string{"s", "--header", "Authorization: Bearer hunter2"}, `s --header "Authorization: [redacted]"`},
		{[]string{"s", "topsecret", ""}, `s [redacted] ""`},
		{[]string{"s", "--token-file", "f", "--max-tokens", "5", "--key", "k.pem", "monkey=1"}, "s --token-file f --max-tokens 5 --key k.pem monkey=1"},
	} {
		require.Equal(t, tt.want, transcript.CommandLine(r.Args(tt.args)))
		got := r.Command(transcript.CommandLine(tt.args))
		require.Equal(t, tt.want, got)
		require.Equal(t, got, r.Command(got), "twice is the same")
	}
	for _, inner := range []string{"s --token hunter2", "s --token 'hunter2 hunter2'; true", `s --token "hunter2 hunter2"`, "TOKEN=hunter2 s"} {
		require.NotContains(t, r.Args([]string{"sh", "-c", inner})[2], "hunter2")
		require.NotContains(t, r.Command(transcript.CommandLine([]string{"sh", "-c", inner})), "hunter2")
	}
}

// TestRedactCheck holds that nothing of a result keeps a secret, the other times
// that its rule was broken among it.
func TestRedactCheck(t *testing.T) {
	const secret = "abcd1234"
	frames := []result.Frame{{Text: "> " + secret}}
	c := result.Check{
		Expected: secret, Observed: secret, Reason: secret, Frames: frames,
		More: []result.Instance{{Expected: secret, Observed: secret, Frames: frames}},
	}
	result.NewRedactor([]string{"TOKEN=" + secret}).Check(&c)
	text, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	require.Contains(t, frames[0].Text, secret, "the argument stays as it is")
}

func FuzzRedact(f *testing.F) {
	r := result.NewRedactor([]string{"TOKEN=abcd1234"})
	f.Add("Authorization: Bearer abcd1234 x…")
	f.Fuzz(func(t *testing.T, s string) {
		got := r.Text(s)
		require.NotContains(t, got, "abcd1234")
		require.Equal(t, got, r.Text(got))
	})
}
