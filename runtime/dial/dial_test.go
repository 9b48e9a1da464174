package dial_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/runtime/dial"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

func TestDialer(t *testing.T) {
	for _, c := range []struct {
		rule, entry string
		want        jsonrpc.Dialer
		err         string
	}{
		{"no type is stdio", `{"command":"npx","args":["-y","x"],"env":{"A":"$B"},"cwd":"/tmp"}`, &jsonl.Process{Path: "npx", Args: []string{"-y", "x"}, Env: map[string]string{"A": "$B"}, Dir: "/tmp"}, ""},
		{"stdio", `{"type":"stdio","command":"c","inherit":[]}`, &jsonl.Process{Path: "c", Inherit: []string{}}, ""},
		{"an allow-list", `{"command":"c","inherit":["PATH","LC_*"]}`, &jsonl.Process{Path: "c", Inherit: []string{"PATH", "LC_*"}}, ""},
		{"http", `{"type":"http","url":"https://a/mcp","headers":{"x-key":"1"}}`, &streamhttp.Endpoint{URL: "https://a/mcp", Header: http.Header{"X-Key": {"1"}}}, ""},
		{"a url and no type is http", `{"url":"https://a/mcp","headers":{"x-key":"1"}}`, &streamhttp.Endpoint{URL: "https://a/mcp", Header: http.Header{"X-Key": {"1"}}}, ""},
		{"a url that is none", `{"url":"ftp://a/"}`, nil, `URL "ftp://a/": the scheme is neither http nor https`},
		{"stdio with a url", `{"type":"stdio","url":"http://a"}`, nil, `stdio server requires "command" field`},
		{"sse", `{"type":"sse","url":"http://a/sse"}`, &streamhttp.Endpoint{URL: "http://a/sse", Header: http.Header{}, Kind: streamhttp.TwoEndpoints}, ""},
		{"an unknown type", `{"type":"ws","url":"ws://a"}`, nil, "Unknown server type: ws"},
		{"types are exact", `{"type":"HTTP","url":"http://a"}`, nil, "Unknown server type: HTTP"},
		{"no command", `{}`, nil, `stdio server requires "command" field`},
		{"no url", `{"type":"http"}`, nil, `http server requires "url" field`},
		{"no url for sse", `{"type":"sse"}`, nil, `sse server requires "url" field`},
		{"both", `{"command":"c","url":"http://a"}`, nil, `both "command" and "url" are set`},
		{"all that is wrong at once", `{"type":"http","command":"c","args":["x"],"url":"ftp://me:secret@a/","headers":{"a b":"c","d":"e\nf"}}`, nil,
			`"args", "env", "inherit" and "cwd" are those of a stdio server; URL "ftp://a/": the scheme is neither http nor https; both "command" and "url" are set; headers: "a b" cannot be sent; headers: "d" cannot be sent`},
		{"variables", `{"command":"c","env":{"A=B":"x"}}`, nil, `env: "A=B" is no variable`},
		{"headers of a command", `{"command":"c","headers":{"a":"b"}}`, nil, `a stdio server has no "headers"`},
		{"a negative timeout", `{"command":"c","timeout":"-1s"}`, nil, `a timeout is negative`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			var s dial.Server
			require.NoError(t, json.Unmarshal([]byte(c.entry), &s))
			d, err := s.Dialer()
			if c.err != "" {
				var ce *dial.ConfigError
				require.ErrorAs(t, err, &ce)
				require.EqualError(t, err, c.err)
				require.Nil(t, d)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, d)
		})
	}
}

func TestTimeouts(t *testing.T) {
	for in, want := range map[string]time.Duration{`0`: 0, `30000`: 30 * time.Second, `1500.5`: 1500500 * time.Microsecond, `"30s"`: 30 * time.Second, `"2ms"`: 2 * time.Millisecond, `"0"`: 0} {
		var s dial.Server
		require.NoError(t, json.Unmarshal([]byte(`{"timeout":`+in+`,"maxTimeout":`+in+`}`), &s), in)
		require.Equal(t, want, *s.Options().Timeout, in)
		require.Equal(t, want, *s.Options().MaxTimeout, in)
		back, err := json.Marshal(s)
		require.NoError(t, err)
		var again dial.Server
		require.NoError(t, json.Unmarshal(back, &again))
		require.Equal(t, s, again)
	}
	for _, in := range []string{`30`, `999`, `0.5`, `"30"`, `"soon"`, `true`, `1e300`, `{}`, `-1e300`} {
		var s dial.Server
		require.Error(t, json.Unmarshal([]byte(`{"timeout":`+in+`}`), &s), in)
	}
	require.Nil(t, (&dial.Server{}).Options().Timeout)
}
