package streamhttp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	old "github.com/goldwire/goldwire/generated/mcp/v20250326"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

// odd spells a call in ways that one reader may take and another may not.
var odd = []struct{ name, old, new string }{
	{"half a surrogate pair as a name", `"id":1`, `"\ud800":1,"id":1`},
	{"the same behind everything else", `}}}`, `}},"\udc00":1}`},
	{"the same in params", `"name":`, `"\ud800":1,"name":`},
	{"the same in _meta", `"_meta":{`, `"_meta":{"\ud800":1,`},
	{"the same in arguments", `{"region"`, `{"\ud800":1,"region"`},
	{"half a surrogate pair in a value", `"id":1`, `"x":"\ud800","id":1`},
	{"half a surrogate pair as the id", `"id":1`, `"id":"\ud800"`},
	{"an escape in a name", `"method"`, `"m\u0065thod"`},
	{"an escape in the method", `tools/call`, `tools\/call`},
	{"an escape in _meta", `"_meta"`, `"_m\u0065ta"`},
	{"an escape in the version", `2026-07-28`, `2026\u002d07-28`},
	{"no UTF-8", `"id":1`, "\"id\":1,\"x\":\"\xff\""},
	{"a byte order mark", `{"jsonrpc"`, "\xef\xbb\xbf" + `{"jsonrpc"`},
	{"method twice", `"id":1`, `"id":1,"method":"tools/list"`},
	{"method twice, with a strange name", `"id":1`, `"id":1,"\ud800":1,"method":"tools/list"`},
	{"params twice", `"id":1`, `"id":1,"params":{}`},
	{"a result as well", `"id":1`, `"id":1,"result":null`},
	{"nested as deep as allowed", `"us"`, `"us","x":` + strings.Repeat("[", 240) + strings.Repeat("]", 240)},
	{"nested deeper than usual", `"us"`, `"us","x":` + strings.Repeat("[", 300) + strings.Repeat("]", 300)},
	{"nested too deep", `"us"`, `"us","x":` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200)},
}

// TestHeadersCannotBePassedBy tries spellings of a request for which the
// headers might not be looked at: a handler runs only when they are right
// (2026-07-28: basic/transports/streamable-http, server validation).
func TestHeadersCannotBePassedBy(t *testing.T) {
	var ran string
	l, m := servers(map[string]tool{"region": func(context.Context, peer) (string, error) { ran = "region"; return "", nil }})
	l.Options.MaxDepth, m.Options.MaxDepth = 1000, 1000
	s := serve(t, bothOf(l, m))
	only := serve(t, m)
	session := s.begin()[:1]
	body, right := call("1", "region", `{"region":"us"}`)
	right = append(right, "Mcp-Param-Region: us")
	wrong := map[string][]string{
		"param":                      append(right[:3:3], "Mcp-Param-Region: eu"),
		"name":                       {modernVersion, "Mcp-Method: tools/call", "Mcp-Name: echo", "Mcp-Param-Region: us"},
		"method":                     {modernVersion, "Mcp-Method: ping"},
		"nothing":                    nil,
		"nothing but the version":    {modernVersion},
		"another version":            {"MCP-Protocol-Version: 1999-01-01"},
		"a session":                  session,
		"no session":                 {"Mcp-Session-Id: x", modernVersion},
		"a session, and the version": append(session[:1:1], modernVersion),
	}
	for _, tt := range odd {
		spelt := strings.Replace(body, tt.old, tt.new, 1)
		require.NotEqual(t, body, spelt, tt.name)
		for name, hs := range wrong {
			for of, s := range map[string]*site{"both": s, "modern": only} {
				ran = ""
				r := s.post(spelt, hs...)
				require.Empty(t, ran, "%s, %s, %s: %d %s", tt.name, name, of, r.StatusCode, r.body)
				require.NotEqual(t, 200, r.StatusCode, "%s, %s, %s", tt.name, name, of)
				require.NotZero(t, r.code(), "%s, %s, %s", tt.name, name, of)
			}
		}
	}
	for _, i := range []int{0, 4, 5, 7, 17, 18} {
		ran = ""
		r := s.post(strings.Replace(body, odd[i].old, odd[i].new, 1), right...)
		require.Equal(t, "region", ran, "%s: %d %s", odd[i].name, r.StatusCode, r.body)
	}
}

// TestBatchesHoldNoStatelessRequest holds that a batch in a session, which is
// where a revision has batches, is no way to a handler of the stateless one.
func TestBatchesHoldNoStatelessRequest(t *testing.T) {
	ran := false
	_, m := servers(map[string]tool{"region": func(context.Context, peer) (string, error) { ran = true; return "", nil }})
	o := old.Server{Options: m.Options, Info: old.Implementation{Name: "t", Version: "1"}}
	s := serve(t, compat.Revisions(o, m))
	hs := s.beginWith(strings.Replace(initialize, "2025-11-25", "2025-03-26", 1), "2025-03-26")
	body, _ := call("1", "region", `{"region":"us"}`)
	r := s.post("["+body+`,{"jsonrpc":"2.0","id":2,"method":"ping"}]`, hs...)
	require.Equal(t, 200, r.StatusCode, r.body)
	require.Contains(t, r.body, `"code":-32601`)
	require.False(t, ran, r.body)
}

// TestListOfToolsIsNobodysToBreak holds that neither a caller who leaves nor a
// list that fails makes the server forget which arguments headers repeat, and
// that many calls at once ask for one list.
func TestListOfToolsIsNobodysToBreak(t *testing.T) {
	var listed atomic.Int32
	fail := atomic.Bool{}
	entered, release := make(chan struct{}, 100), make(chan struct{})
	_, m := servers(map[string]tool{"region": func(_ context.Context, p peer) (string, error) { return string(p.args), nil }})
	inner := m.ListTools
	m.ListTools = func(ctx context.Context, p *modern.ListToolsParams) (*modern.ListToolsResult, error) {
		if fail.Load() && p.Cursor != nil {
			return nil, errors.New("not now")
		}
		if p.Cursor != nil {
			return inner(ctx, p)
		}
		listed.Add(1)
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return &modern.ListToolsResult{TTLMs: 60_000, CacheScope: "public", NextCursor: new("2")}, nil
	}
	s := serve(t, m, streamhttp.HandlerOptions{Logger: slog.New(slog.DiscardHandler)})
	left := make(chan struct{}, 1)
	s.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Leaves") != "" {
			context.AfterFunc(r.Context(), func() { left <- struct{}{} })
		}
		s.h.ServeHTTP(w, r)
	})
	body, hs := call("1", "region", `{"region":"us"}`)
	wrong := append(hs[:len(hs):len(hs)], "Mcp-Param-Region: eu")

	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		res, err := s.http().Do(s.request(ctx, http.MethodPost, body, append(wrong, "X-Leaves: yes")...))
		if err == nil {
			err = errors.Join(errors.New(res.Status), res.Body.Close())
		}
		gone <- err
	}()
	<-entered
	var wg sync.WaitGroup
	failed := make(chan error, 8)
	for range 8 {
		wg.Go(func() {
			res, err := s.http().Do(s.request(t.Context(), http.MethodPost, body, append(hs[:len(hs):len(hs)], "Mcp-Param-Region: us")...))
			if err == nil && res.StatusCode != http.StatusOK {
				err = errors.New(res.Status)
			}
			if res != nil {
				err = errors.Join(err, res.Body.Close())
			}
			failed <- err
		})
	}
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	<-left
	close(release)
	wg.Wait()
	for range 8 {
		require.NoError(t, <-failed)
	}
	require.EqualValues(t, 1, listed.Load())
	require.Equal(t, 400, s.post(body, wrong...).StatusCode)

	fail.Store(true)
	require.Equal(t, 400, s.post(body, wrong...).StatusCode, "the list was made again, and broke off")
	require.Equal(t, 400, s.post(body, wrong...).StatusCode)
	require.Equal(t, 200, s.post(body, append(hs, "Mcp-Param-Region: us")...).StatusCode)
}
