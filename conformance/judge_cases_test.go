package conformance_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/conformance/record"
	"github.com/goldwire/goldwire/conformance/replay"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// recorded runs fn against a server behind a recording proxy and gives what was
// written.
func recorded(t *testing.T, h http.Handler, rules []string, fn func(url string)) *transcript.Recording {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	r, err := record.ParseRules(rules, nil)
	require.NoError(t, err)
	var file bytes.Buffer
	log, err := record.NewLog(&file, record.LogOptions{Target: srv.URL + "/mcp", Transport: "http", Rules: r})
	require.NoError(t, err)
	proxy, err := record.NewProxy(srv.URL, log.Recorder())
	require.NoError(t, err)
	front := httptest.NewServer(proxy)
	fn(front.URL + "/mcp")
	front.CloseClientConnections()
	front.Close()
	proxy.Close()
	require.NoError(t, log.Close())
	rec, err := transcript.Parse(file.Bytes())
	require.NoError(t, err, "%s", file.Bytes())
	return rec
}

func post(t *testing.T, url, body string, header ...string) (int, string) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(b)
}

// findings are what lint tells of a side, by check.
func findings(t *testing.T, rec *transcript.Recording, side catalogue.Side) map[string]string {
	t.Helper()
	rep, err := conformance.Lint([]*transcript.Recording{rec}, conformance.LintOptions{Side: side})
	require.NoError(t, err)
	out := map[string]string{}
	for _, c := range rep.Results {
		if c.Verdict == result.Fail || c.Verdict == result.Warn || c.Verdict == result.Error {
			out[c.ID] = c.Expected + ", got " + c.Observed
		}
	}
	return out
}

// TestRecorderCases are failures of recorders and proxies that users have
// reported in public, by the ids under which the project keeps them.
func TestRecorderCases(t *testing.T) {
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, r.Body)
	})

	t.Run("timestamp-becomes-scientific", func(t *testing.T) {
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"ts":1746600000000000000,"a":1.0,"b":1e3}}}`
		rec := recorded(t, echo, []string{"member:password"}, func(url string) {
			_, got := post(t, url, body)
			require.Equal(t, body, got)
		})
		for x := range rec.Exchanges() {
			require.Equal(t, body, string(x.Body))
			require.Equal(t, body, string(x.Messages[0].Data))
		}
	})

	t.Run("batch-bypasses-inspection", func(t *testing.T) {
		const batch = `[{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"danger","arguments":{"password":"x"}}}]`
		text := strings.Replace(strings.Replace(rightLegacy, "2025-11-25", "2025-03-26", 2), `> {"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "> "+batch, 1)
		text = text[:strings.Index(text, `> {"jsonrpc":"2.0","id":3,`)] + `< {"jsonrpc":"2.0","id":3,"result":{"content":"danger"}}` + "\n"
		rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n" + text))
		require.NoError(t, err)
		require.NotEmpty(t, findings(t, rec, catalogue.Server), "the answer to a member is judged")
		// Rules reach into members, which stay together.
		rules, err := record.ParseRules([]string{"member:password"}, nil)
		require.NoError(t, err)
		out, err := record.Redact(rec, rules)
		require.NoError(t, err)
		require.Contains(t, out.String(), `>r [{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"danger","arguments":{"password":"[redacted]"}}}]`)
		// And the mock answers each of them.
		m, err := replay.NewMock(rec, false)
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, m.Serve(t.Context(), strings.NewReader(batch+"\n"), &got))
		require.Equal(t, `[{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}},{"jsonrpc":"2.0","id":3,"result":{"content":"danger"}}]`+"\n", got.String())
	})

	t.Run("shared-child-broadcasts-replies", func(t *testing.T) {
		const clients = 8
		rec := recorded(t, echo, nil, func(url string) {
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"client":` + string(rune('0'+i)) + `}}`
					if _, got := post(t, url, body); got != body {
						t.Errorf("client %d got %s", i, got)
					}
				})
			}
			wg.Wait()
		})
		n := 0
		for x := range rec.Exchanges() {
			n++
			require.Equal(t, string(x.Body), string(x.Messages[0].Data), "the recording keeps them apart as well")
		}
		require.Equal(t, clients, n)
	})

	t.Run("proxy-drops-version-header", func(t *testing.T) {
		// A recorder passes it on, and a replay of a stdio session over HTTP adds it.
		var mu sync.Mutex
		seen := map[string]string{}
		h := streamhttp.NewHandler(everything.Server())
		rec := recorded(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(b))
			mu.Lock()
			seen[string(b)] = r.Header.Get("Mcp-Protocol-Version")
			mu.Unlock()
			h.ServeHTTP(w, r)
		}), nil, func(url string) {
			golden, err := os.ReadFile(filepath.Join("..", "testdata", "transcripts", "2025-06-18", "lifecycle", "initialize-then-ping.wire"))
			require.NoError(t, err)
			session, err := transcript.Parse(golden)
			require.NoError(t, err)
			link, err := replay.HTTP(url, "2025-06-18", replay.HTTPOptions{})
			require.NoError(t, err)
			out, err := replay.Server(t.Context(), session, link)
			require.NoError(t, err)
			require.NoError(t, out.Err())
		})
		for body, version := range seen {
			if body != "" && !strings.Contains(body, `"initialize"`) {
				require.Equal(t, "2025-06-18", version, "%s", body)
			}
		}
		require.Empty(t, findings(t, rec, catalogue.Client))
	})

	t.Run("stateless-child-crash-invisible", func(t *testing.T) {
		gone := httptest.NewServer(nil)
		gone.Close()
		var file bytes.Buffer
		log, err := record.NewLog(&file, record.LogOptions{Target: gone.URL, Transport: "http"})
		require.NoError(t, err)
		proxy, err := record.NewProxy(gone.URL, log.Recorder())
		require.NoError(t, err)
		front := httptest.NewServer(proxy)
		defer front.Close()
		status, text := post(t, front.URL, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
		require.Equal(t, 502, status)
		require.Contains(t, text, "cannot be reached")
		require.NoError(t, log.Close())
		require.Contains(t, file.String(), "!1@")
		// Over stdio see TestStdio…: the output ends with the child, and its exit
		// status is passed on. A mock whose recording ends there says so.
		rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}\n! stderr no such module\n! eof <\n! exit 1\n"))
		require.NoError(t, err)
		out, err := replay.Options{}.Server(t.Context(), rec, replay.Streams(closer{}, strings.NewReader("")))
		require.NoError(t, err)
		require.NoError(t, out.Err())
	})

	t.Run("redaction-fakes-a-mismatch", func(t *testing.T) {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"message":"x"},` + meta + `}}`
		handler := streamhttp.NewHandler(everything.Server())
		headers := func(name string) []string {
			return []string{"Mcp-Method", "tools/call", "Mcp-Name", name, "Mcp-Protocol-Version", "2026-07-28"}
		}
		for _, rules := range [][]string{{"member:name"}, {"value:echo"}, {"header:mcp-name"}} {
			rec := recorded(t, handler, rules, func(url string) { post(t, url, body, headers("echo")...) })
			require.True(t, rec.Redacted(), "%v", rules)
			require.NotContains(t, rec.String(), "mcp-name: echo")
			require.NotContains(t, rec.String(), `"name":"echo"`)
			require.Empty(t, findings(t, rec, ""), "%v", rules)
		}
		// A mismatch that was on the wire is found before anything is replaced.
		rec := recorded(t, handler, nil, func(url string) { post(t, url, body, headers("other")...) })
		require.NotEmpty(t, findings(t, rec, catalogue.Client))
		rules, err := record.ParseRules([]string{"member:name"}, nil)
		require.NoError(t, err)
		out, err := record.Redact(rec, rules)
		require.NoError(t, err)
		require.Empty(t, findings(t, out, catalogue.Client), "and not guessed afterwards")
	})

	t.Run("http-capture-has-no-meta", func(t *testing.T) {
		const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		rec := recorded(t, streamhttp.NewHandler(everything.Server()), []string{"secrets"}, func(url string) { post(t, url, initialize) })
		require.Contains(t, rec.Get(transcript.FieldTarget), "http://127.0.0.1:")
		require.Equal(t, "http", rec.Get(transcript.FieldTransport))
		require.Equal(t, "secrets", rec.Get(transcript.FieldRedacted))
		require.True(t, slices.ContainsFunc(rec.Events, func(e transcript.Event) bool {
			return e.Kind == transcript.KindSession && strings.HasPrefix(string(e.Data), "2025-11-25 ")
		}), "%s", rec)
		// It can be played, to another transport too.
		sessions := conformance.Sessions(rec)
		require.Len(t, sessions, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		m, err := replay.NewMock(sessions[0], true)
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, m.Serve(ctx, strings.NewReader(strings.Replace(initialize, `"id":1`, `"id":"a"`, 1)+"\n"), &out))
		require.Contains(t, out.String(), `"id":"a"`)
		require.Contains(t, out.String(), `"protocolVersion":"2025-11-25"`)
	})
}

type closer struct{}

func (closer) Write(b []byte) (int, error) { return len(b), nil }
func (closer) Close() error                { return nil }
