package streamhttp_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	june "github.com/goldwire/goldwire/generated/mcp/v20250618"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/wire"
)

// cases are failures of servers that their users reported in public, by their
// id in the collection, each with what a server over HTTP does right.
var cases = map[string]func(t *testing.T){
	"id-null-swallowed-as-notification": func(t *testing.T) { badID(t, `null`) },
	"id-null-report-wants-a-result":     func(t *testing.T) { badID(t, `null`) },
	"id-object-dispatched":              func(t *testing.T) { badID(t, `{}`) },
	"id-invalid-echoed-in-error":        func(t *testing.T) { badID(t, `true`) },
	"error-response-without-id-key": func(t *testing.T) {
		l, m := servers(nil)
		s := serve(t, compat.Revisions(june.Server{Info: june.Implementation{Name: "t", Version: "1"}}, l, m))
		for version, want := range map[string]string{"2025-06-18": "null", "2025-11-25": ""} {
			hs := s.beginWith(strings.Replace(initialize, "2025-11-25", version, 1), version)
			for _, body := range []string{`{`, `[]`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`} {
				r := s.post(body, hs...)
				require.Equal(t, want, string(wire.Raw(r.body).Get("id")), "%s %s: %s", version, body, r.body)
			}
			r := s.post(list, hs[0]+"x", hs[1])
			require.Equal(t, 404, r.StatusCode)
		}
	},
	"id-string-coerced-to-int": func(t *testing.T) { echoedID(t, `"1"`) },
	"id-uuid-string-type-error": func(t *testing.T) {
		id := `"6f2d7c1e-0d0b-4b0e-9a55-0c8a5f0c2f11"`
		echoedID(t, id)
		r := serve(t, both()).post(strings.Replace(initialize, `"id":0`, `"id":`+id, 1))
		require.Equal(t, id, wire.Raw(r.body).Get("id").String())
	},
	"id-int-becomes-string-1.0": func(t *testing.T) { echoedID(t, `1`) },
	"id-map-keyed-by-string": func(t *testing.T) {
		meet := make(chan struct{})
		l, _ := servers(map[string]tool{"slow": func(ctx context.Context, _ peer) (string, error) {
			select {
			case meet <- struct{}{}:
			case <-meet:
			}
			return "both run", nil
		}})
		s := serve(t, l)
		hs := s.begin()
		other := make(chan reply)
		go func() { other <- s.post(legacyCall(`"1"`, "slow"), hs...) }()
		r := s.post(legacyCall(`1`, "slow"), hs...)
		require.Equal(t, `1`, wire.Raw(r.body).Get("id").String())
		require.Equal(t, `"1"`, wire.Raw((<-other).body).Get("id").String())
	},
	"ping-or-initialize-without-id-panics": func(t *testing.T) {
		s := serve(t, both())
		hs := s.begin()
		for _, body := range []string{strings.Replace(initialize, `"id":0,`, "", 1), `{"jsonrpc":"2.0","method":"ping"}`} {
			require.Equal(t, 400, s.post(body).StatusCode)
			r := s.post(body, hs...)
			require.Equal(t, 202, r.StatusCode)
			require.Empty(t, r.body)
		}
		require.Equal(t, 200, s.post(list, hs...).StatusCode)
		require.Equal(t, 1, s.h.Stats().Sessions)
	},
	"initialize-without-params-nil-deref": func(t *testing.T) {
		s := serve(t, both())
		require.EqualValues(t, -32602, s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`).code())
		s.begin()
	},
	"sse-heartbeat-as-json-data": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := inMemory(t, both())
			st := s.open("GET", "", s.begin()...)
			for range 6 {
				line, err := st.r.ReadString('\n')
				require.NoError(t, err)
				require.True(t, line == "\n" || strings.HasPrefix(line, ":"), line)
			}
		})
	},
	"batch-executed-in-new-versions": func(t *testing.T) {
		s := serve(t, both())
		hs := s.begin()
		for _, body := range []string{`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]`, `[]`} {
			r := s.post(body, hs...)
			require.Equal(t, 400, r.StatusCode)
			require.EqualValues(t, -32600, r.code())
			require.Nil(t, wire.Raw(r.body).Get("id"))
		}
	},
	"server-replies-after-cancel": TestCancelledRequestIsNotAnswered,
	"server-waits-for-client-reply-holding-lock": func(t *testing.T) {
		s := serve(t, both())
		hs := s.begin()
		st := s.open("POST", legacyCall("1", "ask"), hs...)
		question := wire.Raw(st.message().data)
		require.Equal(t, "1", question.Get("id").String(), "ids of the server are its own")
		for range 3 {
			require.Contains(t, s.post(legacyCall("2", "echo"), hs...).body, "result")
		}
		require.Equal(t, 202, s.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`, hs...).StatusCode)
		require.Contains(t, st.message().data, "decline")
	},
	"session-unknown-wrong-status": func(t *testing.T) {
		s := serve(t, both())
		for method, body := range map[string]string{"POST": list, "GET": "", "DELETE": ""} {
			r := s.do(method, body, "Mcp-Session-Id: nope")
			require.Equal(t, 404, r.StatusCode, method)
			require.Equal(t, "application/json", r.Header.Get("Content-Type"))
			require.Equal(t, 400, s.do(method, body).StatusCode, method)
		}
	},
	"accept-sse-only-406": func(t *testing.T) {
		r := serve(t, both()).post(initialize, "Accept: text/event-stream")
		require.Equal(t, 200, r.StatusCode)
		require.NotEmpty(t, r.Header.Get("Mcp-Session-Id"))
	},
	"accept-order-matters-to-some": func(t *testing.T) {
		s := serve(t, both())
		hs := s.begin()
		for _, accept := range []string{"application/json, text/event-stream", "text/event-stream;q=0.9, application/json", "*/*", "text/*,application/*"} {
			require.Len(t, s.post(legacyCall("1", "steps"), append(hs, "Accept: "+accept)...).frames(), 4, accept)
		}
	},
	"content-type-with-charset": TestContentType,
	"version-header-ignored": func(t *testing.T) {
		s := serve(t, both())
		hs := s.begin()
		require.Equal(t, 400, s.post(list, hs[0], "MCP-Protocol-Version: 1999-01-01-nonsense").StatusCode)
		require.Equal(t, 200, s.post(list, hs[0]).StatusCode)
	},
	"replay-mixes-streams": TestResume,
	"post-events-have-no-id": func(t *testing.T) {
		s := serve(t, both())
		st := s.open("POST", legacyCall("1", "steps"), s.begin()...)
		for range 5 {
			e, ok := st.next()
			require.True(t, ok)
			require.NotEmpty(t, e.id)
		}
	},
	"origin-not-enforced-server-side": TestOrigin,
	"go-sdk-session-leaks": func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := inMemory(t, both())
			for range 100 {
				hs := s.begin()
				require.Equal(t, 200, s.post(legacyCall("1", "echo"), hs...).StatusCode)
				st := s.open("GET", "", hs...)
				st.close()
			}
			require.Equal(t, 100, s.h.Stats().Sessions)
			time.Sleep(2 * time.Hour)
			require.Zero(t, s.h.Stats()) // the bubble fails when goroutines are left
		})
	},
	"initialize-asking-2026-falls-through": func(t *testing.T) { TestVersionsAreNamed(t) },
	"header-sentinel-bad-base64": func(t *testing.T) {
		b, hs := call("1", "echo", `{}`)
		r := serve(t, both()).post(b, hs[0], hs[1], "Mcp-Name: =?base64?@@?=")
		require.Equal(t, 400, r.StatusCode)
		require.EqualValues(t, -32020, r.code())
	},
	"header-sentinel-not-decoded": func(t *testing.T) {
		_, m := servers(nil)
		m.ListResources = func(context.Context, *modern.ListResourcesParams) (*modern.ListResourcesResult, error) {
			return &modern.ListResourcesResult{}, nil
		}
		m.ReadResource = func(_ context.Context, p *modern.ReadResourceParams) (*modern.ReadResourceResult, error) {
			return &modern.ReadResourceResult{Contents: []modern.ResourceContents{&modern.TextResourceContents{URI: p.URI, Text: "A"}}}, nil
		}
		r := serve(t, m).post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///\u00f4.txt",`+meta+`}}`,
			modernVersion, "Mcp-Method: resources/read", "Mcp-Name: =?base64?ZmlsZTovLy/DtC50eHQ=?=")
		require.Equal(t, 200, r.StatusCode, r.body)
		require.Zero(t, r.code())
	},
	"listen-on-server-with-nothing-to-say": func(t *testing.T) {
		_, m := servers(nil)
		m.ToolsListChanged = false
		s := serve(t, m)
		r := s.post(listenBody, listenHeaders...)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, r.frames()[0], `"notifications":{}`)
		require.Len(t, r.frames(), 2, "it does not hold an idle stream")
		r = s.post(listenBody, modernVersion, "Mcp-Method: tools/list")
		require.EqualValues(t, -32020, r.code(), "the headers are held against the body first")
	},
}

// notHTTP are the cases that say nothing about a server over HTTP.
var notHTTP = map[string]string{
	"concurrent-reads-on-stdin":               "stdio",
	"crlf-written-by-python-on-windows":       "stdio",
	"stdout-banner":                           "stdio",
	"stdin-eof-orphans":                       "stdio",
	"stdin-eof-python-sdk":                    "stdio",
	"sse-endpoint-internal-host":              "the transport of 2024-11-05",
	"inputschema-missing-on-placeholder-tool": "the bindings",
	"structured-content-null":                 "the bindings",
	"structured-array-old-era":                "the bindings",
	"elicitation-titled-enum-without-type":    "the bindings",
	"capabilities-tools-array":                "the bindings",
	"cursor-does-not-advance":                 "the bindings",
}

// TestReportedFailures runs the cases.
func TestReportedFailures(t *testing.T) {
	for id, f := range cases {
		t.Run(id, f)
	}
}

// TestReportedFailuresAreAllHere holds the table against the collection, where
// that is at hand.
func TestReportedFailuresAreAllHere(t *testing.T) {
	dir := os.Getenv("GOLDWIRE_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	b, err := os.ReadFile(dir + "/cases/wire-cases.yaml")
	if err != nil {
		t.Skip("the collection of cases is not here:", err)
	}
	var all []struct{ ID, Side string }
	require.NoError(t, yaml.Unmarshal(b, &all))
	known := 0
	for _, c := range all {
		if c.Side != "server" {
			continue
		}
		known++
		_, other := notHTTP[c.ID]
		require.True(t, other != (cases[c.ID] != nil), "case %s", c.ID)
	}
	require.Equal(t, len(cases)+len(notHTTP), known)
}

// badID holds that what has an id that is none is an invalid request, and not
// run.
func badID(t *testing.T, id string) {
	ran := false
	l, _ := servers(map[string]tool{"t": func(context.Context, peer) (string, error) { ran = true; return "", nil }})
	s := serve(t, l)
	hs := s.begin()
	for _, headers := range [][]string{hs, nil} {
		r := s.post(legacyCall(id, "t"), headers...)
		require.Equal(t, 400, r.StatusCode)
		require.EqualValues(t, -32600, r.code())
		require.Nil(t, wire.Raw(r.body).Get("id"))
	}
	require.False(t, ran)
}

// echoedID holds that an id comes back as it was, in both eras.
func echoedID(t *testing.T, id string) {
	s := serve(t, both())
	hs := s.begin()
	require.Equal(t, id, wire.Raw(s.post(strings.Replace(list, `"id":1`, `"id":`+id, 1), hs...).body).Get("id").String())
	require.Equal(t, id, wire.Raw(s.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`, hs...).body).Get("id").String())
	b, headers := call(id, "echo", `{}`)
	require.Equal(t, id, wire.Raw(s.post(b, headers...).body).Get("id").String())
}
