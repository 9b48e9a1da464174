package streamhttp_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// FuzzPost holds that no body and no headers bring a handler out of step: each
// request is answered, with a status that means something, and with JSON or a
// stream of it.
func FuzzPost(f *testing.F) {
	l, m := servers(nil)
	quiet := slog.New(slog.DiscardHandler)
	l.Options.Logger, m.Options.Logger = quiet, quiet
	h := streamhttp.NewHandler(bothOf(l, m), streamhttp.HandlerOptions{Logger: quiet})
	body, hs := call("1", "echo", `{"a":1}`)
	value := func(i int) string { _, v, _ := strings.Cut(hs[i], ": "); return v }
	f.Add(body, value(0), value(1), value(2), "", acceptBoth)
	f.Add(body, value(0), value(1), "=?base64?ZWNobw==?=", "", "application/x-ndjson")
	f.Add(initialize, "", "", "", "", "*/*;q=0.1, text/event-stream")
	f.Add(listenBody, value(0), "subscriptions/listen", "", "", "")
	f.Add(list, "2025-11-25", "", "", "x", acceptBoth)
	f.Add("["+list+"]", "2025-03-26", "", "", "x", acceptBoth)
	for _, s := range shapes {
		f.Add(s.body, "2026-07-28", "tools/list", "", "", acceptBoth)
	}
	known := []int{200, 202, 400, 404, 413, 415, 503}
	f.Fuzz(func(t *testing.T, body, version, method, name, session, accept string) {
		if strings.Contains(body, "listen") {
			t.Skip() // it is a stream, which would stay open
		}
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		for header, v := range map[string]string{
			"MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": session, "Accept": accept,
		} {
			if v != "" {
				r.Header.Set(header, v)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if !slices.Contains(known, w.Code) {
			t.Fatalf("status %d", w.Code)
		}
		b, _ := io.ReadAll(w.Result().Body)
		for _, frame := range (reply{w.Result(), string(b)}).frames() {
			if !json.Valid([]byte(frame)) {
				t.Fatalf("no JSON: %q", frame)
			}
		}
	})
}
