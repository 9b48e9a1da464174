package result_test

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// secrets are texts that a program may be given as one: long enough to be told
// from a word, and in no text of these tests by chance.
var secrets = rapid.StringMatching(`[A-Za-z]{3}[0-9]{2}[A-Za-z0-9._~+/]{3,30}={0,2}`)

// TestRedactorLetsNoSecretThrough holds that a secret which nobody named is
// taken out in each of the forms by which it can be told, in every text.
func TestRedactorLetsNoSecretThrough(t *testing.T) {
	forms := []string{
		"Authorization: Bearer §", "authorization:Basic §", "Proxy-Authorization: DPoP §", "Authorization: §", "it said Bearer §.", `"Authorization":"Bearer §"`, `"text":"{\"authorization\":\"token §\"}"`,
		"Cookie: session=§", "set-cookie: a=§; Path=/", "X-Api-Key: §", "x-api-key=§",
		`{"access_token":"§"}`, `{"refresh_token": "§"}`, `{"id_token":"§"}`, `{"clientSecret":"§"}`, `{"client_secret":"§"}`, `{"apiKey":"§"}`, `{"api_key":"§"}`, `{"password":"§"}`, `"text":"{\"password\":\"§\"}"`,
		"--token §", "--token=§", "run it with --api-key § please", "--password §", "--client-secret §", "--bearer §", "-token §", "--db-password=§", "'--x-access-token §'", "--private_key §", "--passphrase §",
	}
	lines := []string{ // of commands, in which more is known for a secret
		"s --credentials §", "env API_TOKEN=§ s", "s http://me:¶@h/mcp", "s https://h/mcp?a=b&api_key=¶", "sh -c \"TOKEN=§ s --secret '§'\"", `s --token "§ x"`,
	}
	rapid.Check(t, func(t *rapid.T) {
		s := secrets.Draw(t, "secret")
		words := rapid.SampledFrom([]string{"", "a tool said ", "2 of them: ", `{"x":1} `}).Draw(t, "before")
		var none *result.Redactor
		text := words + strings.ReplaceAll(rapid.SampledFrom(forms).Draw(t, "form"), "§", s)
		for name, got := range map[string]string{"text": none.Text(text), "command": none.Command(text)} {
			if strings.Contains(got, s) {
				t.Fatalf("%s: %q becomes %q", name, text, got)
			}
		}
		if got := none.Text(none.Text(text)); got != none.Text(text) {
			t.Fatalf("twice is not the same: %q", got)
		}
		line := strings.NewReplacer("§", s, "¶", url.QueryEscape(s)).Replace(rapid.SampledFrom(lines).Draw(t, "line"))
		if got := none.Command(line); strings.Contains(got, s) || strings.Contains(got, url.QueryEscape(s)) {
			t.Fatalf("%q becomes %q", line, got)
		}
	})
}

// TestRedactorKnowsWhatACommandIsGiven holds that a secret of a command line or a
// variable is taken out wherever the program repeats it: as it is, in JSON, and
// cut short.
func TestRedactorKnowsWhatACommandIsGiven(t *testing.T) {
	any := rapid.StringMatching(`[A-Za-z0-9]{2}[ -~]{4,24}[A-Za-z0-9]{2}`)
	rapid.Check(t, func(t *rapid.T) {
		s := any.Draw(t, "secret")
		args := rapid.SampledFrom([][]string{
			{"srv", "--api-key", s}, {"srv", "--api-key=" + s}, {"env", "API_TOKEN=" + s, "srv"}, {"srv", "-v", "--client-secret", s, "--port", "1"},
		}).Draw(t, "args")
		r := result.NewRedactor(result.ArgSecrets(args))
		q, err := json.Marshal(map[string]string{"said": "no " + s + " here"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"bad key " + s, string(q), "!@1ms stderr got " + strconv.Quote(s), strings.Join(r.Args(args), " "), transcript.CommandLine(args)} {
			if got := r.Text(text); strings.Contains(got, s) {
				t.Fatalf("%q becomes %q", text, got)
			}
		}
		if got := r.Text("it said " + s[:len(s)-2] + "…"); strings.Contains(got, s[:len(s)-2]) {
			t.Fatalf("cut short: %q", got)
		}
	})
	require.ElementsMatch(t, []string{"secret=p1", "secret=q x", "secret='r' s", "secret=t", "secret=u", "secret=w"},
		result.ArgSecrets([]string{"s", "--password", "p1", "--api-key=q x", "--port", "1", "sh", "--token='r' s", "sh -c \"x --secret 't'\"", "http://me:u@h/?token=w&a=b", "--token-file", "f"}))
	require.Empty(t, result.ArgSecrets([]string{"s", "--port", "1", "--max-tokens", "5"}))
}
