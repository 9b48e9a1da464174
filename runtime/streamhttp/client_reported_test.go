package streamhttp

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

// reported are failures that were reported of other clients, by the names they
// have in our collection, with what plays them over HTTP. Where another test
// does, its name stands there.
var reported = []struct {
	id   string
	test string // the test that names the case, when it is not play
	play func(t *testing.T, s *script, e *Endpoint)
}{
	{id: "response-for-unknown-id", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(rpcResult([]byte("9999"), `{}`)) + event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		st := r.Conn().Stats()
		require.EqualValues(t, 1, st.Count(jsonrpc.UnknownAnswer), "counted and dropped")
	}},
	{id: "late-reply-after-cancel-closes-transport", play: func(t *testing.T, s *script, e *Endpoint) {
		var late []byte
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n == 0 {
				late = m.ID
				<-r.Context().Done()
				return
			}
			stream(w)(event(rpcError(late, 0, "Request cancelled")) + event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		require.NoError(t, call(r), "the session lives on")
		require.Len(t, s.of("initialize"), 1)
		st := r.Conn().Stats()
		require.EqualValues(t, 1, st.Count(jsonrpc.LateAnswer))
	}},
	{id: "server-cancel-ignored-by-client", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+string(m.ID)+`,"reason":"abort"}}`) + event(rpcResult(m.ID, toolResult)))
		}
		require.NoError(t, call(connect(t, e, legacy.Client{})), "a request of the client's is not the server's to cancel")
	}},
	{id: "progress-unknown-token-closes-transport", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(event(rpcResult(m.ID, toolResult)) + event(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":4,"progress":100,"total":100}}`))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.NoError(t, call(r))
		require.Len(t, s.of("initialize"), 1)
	}},
	{id: "list-changed-handler-deadlock", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			send := stream(w)
			send(event(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
			send(event(rpcResult(m.ID, toolResult)))
		}
		listed := make(chan error, 1)
		var r *legacy.RemoteServer
		r = connect(t, e, legacy.Client{ToolListChanged: func(ctx context.Context, _ *legacy.ToolListChangedParams) error {
			_, err := r.ListTools(ctx, nil)
			listed <- err
			return err
		}})
		require.NoError(t, call(r))
		require.NoError(t, <-listed)
	}},
	{id: "cursor-empty-string-loop", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"tools":[],"nextCursor":""}`)
		}
		r := connect(t, e, legacy.Client{})
		var last error
		for _, err := range r.Tools(t.Context(), nil) {
			last = err
		}
		var ce *jsonrpc.CursorError
		require.ErrorAs(t, last, &ce)
		require.LessOrEqual(t, len(s.of("tools/list")), 3)
	}},
	{id: "unknown-content-block-kills-result", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"content":[{"type":"text","text":"a"},{"type":"x-future","blob":"AA=="},{"type":"resource_link","uri":"file:///a","name":"a"}]}`)
		}
		res, err := connect(t, e, legacy.Client{}).CallTool(t.Context(), &legacy.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		require.Len(t, res.Content, 3)
		require.IsType(t, &legacy.UnknownContentBlock{}, res.Content[1])
	}},
	{id: "draft07-output-schema-refused", play: func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/list"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}}]}`)
		}
		r := connectModern(t, e, modern.Client{})
		res, err := r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, res.Tools, 1)
		require.NoError(t, callModern(r, "t", ""))
	}},
	{id: "parameterless-call-rejected-by-server-schema", test: "TestClientMessagesAreWhole"},
	{id: "concurrent-writes-interleave", test: "TestClientMessagesAreWhole"},
	{id: "tools-null-and-null-item", test: "TestClientToolHeaders"},
	{id: "sse-empty-data-priming-event", test: "TestClientAnswers"},
	{id: "session-404-not-reinitialised", test: "TestClientBeginsALostSessionAgain"},
	{id: "status-202-content-type", test: "TestClientSends202"},
	{id: "sse-ends-without-response", test: "TestClientAnswers"},
	{id: "discover-fallback-only-on-32601", test: "runtime/compat"},
	{id: "discover-error-with-null-id", test: "TestClientAnswers"},
	{id: "discover-legacy-sdk-answers-32602", test: "runtime/compat"},
	// Event streams are read by package sse, whose tests play these.
	{id: "utf8-split-across-chunks", test: "runtime/sse"},
	{id: "sse-event-1MiB-python-v2", test: "runtime/sse"},
	{id: "sse-cap-differs-by-line-and-event", test: "runtime/sse"},
	{id: "sse-crlf-split-across-chunks", test: "runtime/sse"},
	{id: "sse-cr-only-and-mixed", test: "runtime/sse"},
	{id: "sse-event-without-event-field", test: "runtime/sse"},
	{id: "sse-comment-line-is-an-error", test: "runtime/sse"},
	{id: "splitlines-on-jsonl-and-sse", test: "runtime/sse"},
	// Lines are no part of HTTP.
	{id: "garbage-after-message-on-same-line", test: "runtime/jsonl"},
	{id: "undecodable-frame-ends-session", test: "runtime/jsonl"},
	{id: "stdio-line-over-64k-mcp-go", test: "runtime/jsonl"},
	{id: "stdio-reader-flip-flop", test: "runtime/jsonl"},
}

func TestReportedCases(t *testing.T) {
	for _, c := range reported {
		if c.play != nil {
			bubble(t, c.id, c.play)
		}
	}
	t.Run("the tests that are named play the case", func(t *testing.T) {
		for dir, where := range map[string]string{"": "client*_test.go", "runtime/sse": "../sse/*_test.go", "runtime/compat": "../compat/*_test.go"} {
			var text []byte
			files, err := filepath.Glob(where)
			require.NoError(t, err)
			for _, file := range files {
				if strings.HasSuffix(file, "reported_test.go") && dir == "" {
					continue
				}
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				text = append(text, b...)
			}
			for _, c := range reported {
				if c.test == dir && dir != "" || dir == "" && strings.HasPrefix(c.test, "Test") {
					require.Contains(t, string(text), c.id)
					if dir == "" {
						require.Contains(t, string(text), "func "+c.test+"(")
					}
				}
			}
		}
	})
	t.Run("each of the collection has its place", func(t *testing.T) {
		data, err := os.ReadFile("../../../shared/cases/wire-cases.yaml")
		if err != nil {
			t.Skip("the collection is not here")
		}
		known := map[string]bool{}
		for _, c := range reported {
			known[c.id] = true
		}
		for _, m := range regexp.MustCompile(`(?m)^- id: (\S+)$(?s:.*?)^  side: (\S+)$`).FindAllSubmatch(data, -1) {
			if side := string(m[2]); side == "client" || side == "framer" {
				require.True(t, known[string(m[1])], "%s", m[1])
			}
		}
	})
}
