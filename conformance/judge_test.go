package conformance_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/conformance/record"
	"github.com/goldwire/goldwire/conformance/replay"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// goldens calls fn for each golden transcript of one side.
func goldens(t *testing.T, side string, fn func(t *testing.T, rec *transcript.Recording)) {
	t.Helper()
	n := 0
	require.NoError(t, filepath.WalkDir("../testdata/transcripts", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		rec, err := transcript.Parse(text)
		require.NoError(t, err)
		if s := rec.Get(transcript.FieldSide); s == side || s == "both" {
			n++
			t.Run(strings.TrimSuffix(filepath.ToSlash(path), ".wire"), func(t *testing.T) {
				t.Parallel()
				fn(t, rec)
			})
		}
		return nil
	}))
	require.Positive(t, n)
}

// lintClean wants no finding of one side in a recording, and something seen.
func lintClean(t *testing.T, rec *transcript.Recording, side catalogue.Side) {
	t.Helper()
	rep, err := conformance.Lint([]*transcript.Recording{rec}, conformance.LintOptions{Side: side})
	require.NoError(t, err)
	seen := 0
	for _, c := range rep.Results {
		switch c.Verdict {
		case result.Pass:
			seen++
		case result.Fail, result.Warn, result.Error:
			t.Errorf("%s %s: want %s, got %s %s", c.Verdict, c.ID, c.Expected, c.Observed, c.Reason)
		}
	}
	require.Greater(t, seen, 3)
}

// TestLintFindsNothingFalseInAServer judges what our server says to the golden
// clients, recorded between the two, over each transport.
func TestLintFindsNothingFalseInAServer(t *testing.T) {
	goldens(t, "server", func(t *testing.T, golden *transcript.Recording) {
		rev := golden.Get(transcript.FieldRevision)
		if replay.Fits(golden, "stdio") {
			ours, theirs := replay.Pipe()
			done := make(chan error, 1)
			go func() {
				err := jsonrpc.Serve(context.Background(), jsonl.Pipe(theirs, theirs), everything.Server())
				_ = theirs.Close()
				done <- err
			}()
			out, err := replay.Server(t.Context(), golden, replay.Stream(ours))
			require.NoError(t, err)
			require.NoError(t, <-done)
			out.Recording.Set(transcript.FieldRevision, "") // it is to be found
			lintClean(t, out.Recording, catalogue.Server)
		}
		over, handler := "http", streamhttp.NewHandler(everything.Server())
		srv := httptest.NewServer(handler)
		if rev == "2024-11-05" {
			over = "sse"
			srv.Config.Handler = ssehttp.NewHandler(everything.Server())
		}
		defer srv.Close()
		if !replay.Fits(golden, over) {
			return
		}
		var file bytes.Buffer
		log, err := record.NewLog(&file, record.LogOptions{Target: srv.URL + "/mcp", Transport: "http"})
		require.NoError(t, err)
		proxy, err := record.NewProxy(srv.URL+"/mcp", log.Recorder())
		require.NoError(t, err)
		front := httptest.NewServer(proxy)
		defer front.Close()
		link, err := replay.HTTP(front.URL+"/mcp", rev, replay.HTTPOptions{})
		require.NoError(t, err)
		out, err := replay.Server(t.Context(), golden, link)
		require.NoError(t, err)
		require.NoError(t, out.Err())
		front.CloseClientConnections()
		front.Close()
		require.NoError(t, log.Close())
		rec, err := transcript.Parse(file.Bytes())
		require.NoError(t, err)
		for _, s := range conformance.Sessions(rec) {
			require.Equal(t, rev, s.Get(transcript.FieldRevision))
			require.Equal(t, over, s.Get(transcript.FieldTransport))
		}
		lintClean(t, rec, catalogue.Server)
	})
}

func TestSessionsAreSplit(t *testing.T) {
	const (
		initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`
		discover   = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	)
	agreed := func(rev string) string { return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + rev + `"}}` }
	type session struct {
		revision, transport string
		lines               int
	}
	for name, tt := range map[string]struct {
		text string
		want []session
	}{
		"a process": {"> " + initialize + "\n< " + agreed("2025-06-18") + "\n", []session{{"2025-06-18", "stdio", 2}}},
		"two processes": {"! start a\n> " + initialize + "\n< " + agreed("2025-06-18") + "\n! exit 0\n! start a\n> " + discover + "\n< " + agreed("") + "\n",
			[]session{{"2025-06-18", "stdio", 4}, {"2026-07-28", "stdio", 3}}},
		"a probe that failed": {"> " + discover + "\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n> " + initialize + "\n< " + agreed("2025-11-25") + "\n",
			[]session{{"2025-11-25", "stdio", 4}}},
		"a probe of a server that names other versions": {"> " + discover + "\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2025-11-25\"]}}\n> " + initialize + "\n< " + agreed("2025-11-25") + "\n",
			[]session{{"2025-11-25", "stdio", 4}}},
		"two eras": {"> " + discover + "\n< " + agreed("") + "\n> " + initialize + "\n< " + agreed("2025-11-25") + "\n",
			[]session{{"2026-07-28", "stdio", 2}, {"2025-11-25", "stdio", 2}}},
		"nothing said":     {"> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", []session{{"", "stdio", 1}}},
		"nobody answers":   {"> " + initialize + "\n", []session{{"2025-11-25", "stdio", 1}}},
		"the head says it": {"revision: 2025-03-26\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", []session{{"2025-03-26", "stdio", 1}}},
		"two sessions over HTTP, mixed": {">>1 POST /mcp\n>1 " + initialize + "\n>>2 POST /mcp\n>2 " + initialize + "\n<<2 200 mcp-session-id: b\n<2 " + agreed("2025-06-18") +
			"\n<<1 200 mcp-session-id: a\n<1 " + agreed("2025-11-25") + "\n>>3 POST /mcp\n>>3 mcp-session-id: a\n>3 {}\n>>4 GET /mcp\n>>4 mcp-session-id: b\n",
			[]session{{"2025-11-25", "http", 7}, {"2025-06-18", "http", 6}}},
		"clients without sessions": {">>1 POST /mcp\n>1 " + initialize + "\n<<1 200\n<1 " + agreed("2025-11-25") + "\n>>2 POST /mcp\n>2 {}\n>>3 POST /mcp\n>3 " + initialize + "\n<<3 200\n<3 " + agreed("2025-11-25") + "\n",
			[]session{{"2025-11-25", "http", 6}, {"2025-11-25", "http", 4}}},
		"clients without sessions, mixed, at a path each": {">>1 POST /a\n>1 " + initialize + "\n>>2 POST /b\n>2 " + initialize + "\n<<2 200\n<2 " + agreed("2025-06-18") + "\n<<1 200\n<1 " + agreed("2025-11-25") +
			"\n>>3 POST /a?x=1\n>3 {}\n>>4 POST /b\n>4 {}\n>>5 POST /c\n>5 {}\n>>6 POST /c\n>6 {}\n", // who asks elsewhere is taken for the last
			[]session{{"2025-11-25", "http", 6}, {"2025-06-18", "http", 10}}},
		"stateless clients": {">>1 POST /mcp\n>1 " + discover + "\n<<1 200\n<1 " + agreed("") + "\n>>2 POST /mcp\n>2 " + strings.Replace(discover, `"c"`, `"d"`, 1) + "\n<<2 200\n<2 " + agreed("") + "\n",
			[]session{{"2026-07-28", "http", 4}, {"2026-07-28", "http", 4}}},
		"a stateless probe of a stateful server": {">>1 POST /mcp\n>1 " + discover + "\n<<1 400\n>>2 POST /mcp\n>2 " + initialize + "\n<<2 200\n<2 " + agreed("2025-11-25") + "\n",
			[]session{{"2025-11-25", "http", 7}}},
		"HTTP+SSE": {">>1 GET /sse\n<<1 200 content-type: text/event-stream\n<<1 event: endpoint\n<1 /messages?s=1\n>>2 POST /messages?s=1\n>2 " + strings.Replace(initialize, "2025-11-25", "2024-11-05", 1) +
			"\n<<2 202\n<1 " + agreed("2024-11-05") + "\n", []session{{"2024-11-05", "sse", 8}}},
		"a checker's own": {"profile: bare\nrevision: 2025-11-25\n! start a\n! start a\n", []session{{"2025-11-25", "", 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n" + tt.text))
			require.NoError(t, err)
			before := rec.String()
			var got []session
			for _, s := range conformance.Sessions(rec) {
				got = append(got, session{s.Get(transcript.FieldRevision), s.Get(transcript.FieldTransport), len(s.Events)})
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, before, rec.String(), "the argument stays")
		})
	}
}

func TestLintNeedsARevision(t *testing.T) {
	rec, err := transcript.Parse([]byte("goldwire-transcript: 1\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n"))
	require.NoError(t, err)
	recs := func() []*transcript.Recording { return []*transcript.Recording{rec} }
	_, err = conformance.Lint(recs(), conformance.LintOptions{})
	require.ErrorIs(t, err, conformance.ErrNoSession)
	_, err = conformance.Lint(nil, conformance.LintOptions{})
	require.ErrorIs(t, err, conformance.ErrNoSession)
	rep, err := conformance.Lint(recs(), conformance.LintOptions{Options: conformance.Options{Revisions: []string{"2025-11-25"}}})
	require.NoError(t, err)
	require.Equal(t, []string{"2025-11-25"}, rep.Revisions)
	_, err = conformance.Lint(recs(), conformance.LintOptions{Options: conformance.Options{Revisions: []string{"2025-11-25"}, Checks: []string{"no-such-check"}}})
	require.ErrorIs(t, err, conformance.ErrNoCheck)
	require.False(t, slices.ContainsFunc(rep.Results, func(c result.Check) bool { return c.Verdict == result.Blocked }))
}
