package streamhttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	oldest "github.com/goldwire/goldwire/generated/mcp/v20241105"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	modern "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

func TestClientSession(t *testing.T) {
	bubble(t, "a whole session", func(t *testing.T, s *script, e *Endpoint) {
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		synctest.Wait()
		st := link(r.Conn()).Status()
		require.Equal(t, "2025-11-25", st.Revision)
		require.True(t, st.Session)
		require.Equal(t, StreamRefused, st.Stream, "405 is accepted quietly and visible")
		require.NoError(t, st.StreamErr)
		require.NoError(t, r.Close())
		require.ElementsMatch(t, []string{
			"POST initialize", "POST notifications/initialized session=s1", "GET session=s1", "POST tools/call session=s1", "DELETE session=s1",
		}, s.seen())
		require.Equal(t, LinkClosed, link(r.Conn()).Status().State)
		require.Error(t, call(r))
	})
	bubble(t, "no session id, no DELETE", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"protocolVersion":"2025-11-25",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		synctest.Wait()
		require.NoError(t, r.Close())
		require.Equal(t, []string{"GET", "POST initialize", "POST notifications/initialized", "POST tools/call"}, sorted(s.seen()))
	})
	bubble(t, "only the answer to initialize gives a session id", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Mcp-Session-Id", "other")
			answer(w, m.ID, toolResult)
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.NoError(t, call(r))
		for _, m := range s.of("tools/call") {
			require.Equal(t, "s1", m.Header.Get("Mcp-Session-Id"))
		}
	})
	bubble(t, "a session id that is not visible ASCII is not sent", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Mcp-Session-Id", "a b")
			answer(w, m.ID, `{"protocolVersion":"2025-11-25",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Empty(t, s.of("tools/call")[0].Header.Values("Mcp-Session-Id"))
	})
	bubble(t, "a server that speaks 2024-11-05 here does as later ones do", func(t *testing.T, s *script, e *Endpoint) {
		r, err := oldest.Connect(t.Context(), e, oldest.Client{})
		require.NoError(t, err)
		_, err = r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, r.Close())
		require.Equal(t, []string{"DELETE session=s1", "GET session=s1", "POST initialize", "POST notifications/initialized session=s1", "POST tools/list session=s1"}, sorted(s.seen()))
		for _, m := range s.all() {
			require.Empty(t, m.Header["Mcp-Protocol-Version"])
		}
	})
	bubble(t, "the answer to initialize may be a stream", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Mcp-Session-Id", "s1")
			stream(w)(": hello\n\nid: 0\ndata:\n\n" + event(rpcResult(m.ID, `{"protocolVersion":"2025-11-25",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Equal(t, "s1", s.of("tools/call")[0].Header.Get("Mcp-Session-Id"))
	})
	bubble(t, "a refused DELETE does not matter", func(t *testing.T, s *script, e *Endpoint) {
		s.on["DELETE"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(http.StatusMethodNotAllowed) }
		require.NoError(t, connect(t, e, legacy.Client{}).Close())
	})
	bubble(t, "a DELETE that hangs is not waited for", func(t *testing.T, s *script, e *Endpoint) {
		s.on["DELETE"] = func(w http.ResponseWriter, r *http.Request, m *msg) { <-r.Context().Done() }
		r := connect(t, e, legacy.Client{})
		start := time.Now()
		require.NoError(t, r.Close())
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

func sorted(lines []string) []string {
	out := append([]string(nil), lines...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

// gone answers a session's requests with 404 until it is begun again.
func gone(lost string, f func(w http.ResponseWriter, r *http.Request, m *msg)) func(w http.ResponseWriter, r *http.Request, m *msg) {
	return func(w http.ResponseWriter, r *http.Request, m *msg) {
		if m.Header.Get("Mcp-Session-Id") == lost {
			reply(w, http.StatusNotFound, mediaJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
			return
		}
		f(w, r, m)
	}
}

func TestClientBeginsALostSessionAgain(t *testing.T) {
	bubble(t, "session-404-not-reinitialised", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = gone("s1", goodServer)
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.NoError(t, call(r))
		require.Equal(t, []string{
			"POST initialize", "POST notifications/initialized session=s1", "POST tools/call session=s1",
			"POST initialize", "POST notifications/initialized session=s2", "POST tools/call session=s2", "POST tools/call session=s2",
		}, without(s.seen(), "GET"))
		inits := s.of("initialize")
		require.Empty(t, inits[1].Header.Values("Mcp-Session-Id"))
		require.Empty(t, inits[1].Header.Values("Mcp-Protocol-Version"))
		require.Equal(t, compact(t, inits[0].Body), compact(t, inits[1].Body))
		require.EqualValues(t, 1, link(r.Conn()).Status().Counts[SessionLost])
	})
	bubble(t, "many calls at once begin one", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = gone("s1", goodServer)
		r := connect(t, e, legacy.Client{})
		errs := make(chan error)
		for range 20 {
			go func() { errs <- call(r) }()
		}
		for range 20 {
			require.NoError(t, <-errs)
		}
		require.Len(t, s.of("initialize"), 2)
		require.Len(t, s.of("notifications/initialized"), 2)
	})
	bubble(t, "a notification does it too", func(t *testing.T, s *script, e *Endpoint) {
		s.on["notifications/roots/list_changed"] = gone("s1", goodServer)
		r := connect(t, e, legacy.Client{ListRoots: func(context.Context, *legacy.ListRootsParams) (*legacy.ListRootsResult, error) {
			return &legacy.ListRootsResult{}, nil
		}, RootsListChanged: true})
		require.NoError(t, r.RootsListChanged(t.Context(), nil))
		require.Equal(t, "s2", s.of("notifications/roots/list_changed")[1].Header.Get("Mcp-Session-Id"))
	})
	bubble(t, "the GET stream does it too", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n == 0 {
				stream(w)("")
				return
			}
			gone("s1", goodServer)(w, r, m)
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(time.Minute)
		require.Len(t, s.of("initialize"), 2)
		require.Equal(t, StreamRefused, link(r.Conn()).Status().Stream)
	})
	bubble(t, "a server that forgets each session is no endless loop", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(http.StatusNotFound) }
		r := connect(t, e, legacy.Client{})
		err := call(r)
		var se *StatusError
		require.ErrorAs(t, err, &se)
		require.Equal(t, 404, se.Status)
		require.Len(t, s.of("initialize"), 2)
	})
	bubble(t, "nor does the GET stream make one of it", func(t *testing.T, s *script, e *Endpoint) {
		var came []time.Time
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			came = append(came, time.Now())
			goodServer(w, r, m)
		}
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n%2 == 0 {
				stream(w)("")
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(4 * time.Second)
		require.Less(t, len(s.of("initialize")), 6)
		time.Sleep(time.Hour)
		require.Len(t, s.of("initialize"), 1+maxEarly)
		st := link(r.Conn()).Status()
		require.Equal(t, StreamFailed, st.Stream)
		require.Equal(t, 404, statusOf(st.StreamErr))
		require.Greater(t, came[maxEarly].Sub(came[maxEarly-1]), came[2].Sub(came[1]), "slower and slower")
		require.NoError(t, call(r), "calls are made all the same")
	})
	bubble(t, "a session that lasted is begun again at once, however often", func(t *testing.T, s *script, e *Endpoint) {
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n%2 == 1 {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			stream(w)(": hello\n\n")
			time.Sleep(2 * sessionLasts)
		}
		r := connect(t, e, legacy.Client{})
		time.Sleep(time.Hour)
		require.Greater(t, len(s.of("initialize")), 50)
		require.Equal(t, StreamOpen, link(r.Conn()).Status().Stream)
	})
	bubble(t, "a server that now speaks another revision ends it", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = gone("s1", goodServer)
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n > 0 {
				answer(w, m.ID, `{"protocolVersion":"2025-03-26",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)
				return
			}
			goodServer(w, r, m)
		}
		r := connect(t, e, legacy.Client{})
		var se *SessionError
		require.ErrorAs(t, call(r), &se)
		require.ErrorAs(t, call(r), &se)
	})
	bubble(t, "a server that refuses a new one", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = gone("s1", goodServer)
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.n > 0 {
				reply(w, http.StatusUnauthorized, "", "")
				return
			}
			goodServer(w, r, m)
		}
		r := connect(t, e, legacy.Client{})
		err := call(r)
		var se *SessionError
		require.ErrorAs(t, err, &se)
		require.Equal(t, 401, statusOf(err))
	})
	bubble(t, "without a session 404 is a failure", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			answer(w, m.ID, `{"protocolVersion":"2025-11-25",`+capabilities+`,"serverInfo":{"name":"s","version":"1"}}`)
		}
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(http.StatusNotFound) }
		r := connect(t, e, legacy.Client{})
		require.Equal(t, 404, statusOf(call(r)))
		require.Len(t, s.of("initialize"), 1)
	})
}

// TestReadAll: a body is read whole or not at all, and what is announced takes
// no memory.
func TestReadAll(t *testing.T) {
	const most = 3 * pieceSize
	text := bytes.Repeat([]byte("0123456789abcdef"), most/16+1)
	for _, n := range []int{0, 1, pieceSize - 1, pieceSize, pieceSize + 1, 2 * pieceSize, most} {
		for _, size := range []int64{-1, int64(n)} {
			data, err := readAll(iotest.DataErrReader(bytes.NewReader(text[:n])), size, most)
			require.NoError(t, err)
			require.True(t, bytes.Equal(text[:n], data), "%d of %d", n, size)
		}
		_, err := readAll(bytes.NewReader(text[:n]), int64(n+1), most+1)
		require.Error(t, err, "less than announced")
	}
	_, err := readAll(bytes.NewReader(text), -1, most)
	require.ErrorIs(t, err, jsonrpc.ErrTooLong)
	_, err = readAll(nil, most+1, most)
	require.ErrorIs(t, err, jsonrpc.ErrTooLong, "nothing is read of it")

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = readAll(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(text))), defaultMaxMessage, defaultMaxMessage)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, iotest.ErrTimeout)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(defaultMaxMessage/8))
}

func TestClientIdentity(t *testing.T) {
	for _, c := range [][2]string{
		{"http://u:p@host:1/mcp?tenant=old", "http://host:1/mcp?tenant=old"},
		{"http://host:1/mcp?tenant=new", "http://host:1/mcp?tenant=new"},
		{"https://host/a%2fb", "https://host/a%2fb"},
		{"HTTP://host/", "http://host/"},
		{"ftp://host/", ""},
	} {
		require.Equal(t, c[1], URL(c[0]).Identity())
	}
}

func TestClientHeaders(t *testing.T) {
	own := http.Header{
		"accept": {"text/plain"}, "Content-Type": {"text/plain"}, "MCP-Protocol-Version": {"1999"}, "Mcp-Session-Id": {"mine"}, "Mcp-Method": {"mine"},
		"Mcp-Name": {"mine"}, "Mcp-Param-Region": {"mine"}, "Last-Event-ID": {"mine"}, "Content-Length": {"1"}, "Transfer-Encoding": {"chunked"}, "Host": {"other"},
		"Authorization": {"Bearer token"}, "x-custom": {"a", "b"},
	}
	bubble(t, "stateful", func(t *testing.T, s *script, e *Endpoint) {
		e.Header = own
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		synctest.Wait()
		for _, m := range s.all() {
			require.Equal(t, "server.example", m.Host)
			require.Equal(t, []string{"Bearer token"}, m.Header["Authorization"], m.String())
			require.Equal(t, []string{"a", "b"}, m.Header["X-Custom"])
			for _, name := range []string{"Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Last-Event-Id"} {
				require.Empty(t, m.Header[name], name)
			}
			if m.HTTP == "POST" {
				require.Equal(t, []string{"application/json, text/event-stream"}, m.Header["Accept"])
				require.Equal(t, []string{"application/json"}, m.Header["Content-Type"])
			} else {
				require.Equal(t, []string{"text/event-stream"}, m.Header["Accept"])
				require.Empty(t, m.Header["Content-Type"])
			}
			if m.Method == "initialize" {
				require.Empty(t, m.Header["Mcp-Protocol-Version"])
				require.Empty(t, m.Header["Mcp-Session-Id"])
			} else {
				require.Equal(t, []string{"2025-11-25"}, m.Header["Mcp-Protocol-Version"])
				require.Equal(t, []string{"s1"}, m.Header["Mcp-Session-Id"])
			}
		}
	})
	bubble(t, "stateless", func(t *testing.T, s *script, e *Endpoint) {
		e.Header = own
		r := connectModern(t, e, modern.Client{})
		_, err := r.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, callModern(r, "region", `{"region":"Zürich"}`))
		require.NoError(t, callModern(r, "plain", `{"region":"x"}`))
		_, _ = r.ReadResource(t.Context(), &modern.ReadResourceParams{URI: "file:///ü"})
		_, _ = r.GetPrompt(t.Context(), &modern.GetPromptParams{Name: " p "})
		require.NoError(t, r.Close())
		for _, m := range s.all() {
			require.Equal(t, "POST", m.HTTP, "neither GET nor DELETE")
			require.Equal(t, []string{"2026-07-28"}, m.Header["Mcp-Protocol-Version"])
			require.Equal(t, []string{m.Method}, m.Header["Mcp-Method"])
			require.Empty(t, m.Header["Mcp-Session-Id"])
			require.NoError(t, checkMethodHeaders(m.Header, m.Method, m.Params.Get))
			if m.Method == "server/discover" || m.Method == "tools/list" {
				require.Empty(t, m.Header["Mcp-Name"])
			}
		}
		calls := s.of("tools/call")
		require.Equal(t, []string{EncodeHeaderValue("Zürich")}, calls[0].Header["Mcp-Param-Region"])
		require.Empty(t, calls[1].Header["Mcp-Param-Region"], "no header for what the tool does not mark")
		require.Equal(t, EncodeHeaderValue("file:///ü"), s.of("resources/read")[0].Header.Get("Mcp-Name"))
		require.Equal(t, EncodeHeaderValue(" p "), s.of("prompts/get")[0].Header.Get("Mcp-Name"))
	})
	// What a message lacks is for the server to judge, by the rules of the
	// version that the link is of (basic/transports/streamable-http, 2026-07-28).
	bubble(t, "of what names no version", func(t *testing.T, s *script, e *Endpoint) {
		send := func(c *jsonrpc.Conn, method, params string) {
			_, _ = jsonrpc.CallMessage(t.Context(), c, &jsonrpc.MessageCall{Method: method, Append: func(b []byte, id jsonrpc.ID) []byte {
				return jsonrpc.AppendRequest(b, id, method, rawJSON(params))
			}})
		}
		s.on["completion/complete"] = func(w http.ResponseWriter, _ *http.Request, m *msg) {
			reply(w, http.StatusBadRequest, mediaJSON, rpcError(m.ID, -32022, "unsupported"))
		}
		r := connectModern(t, e, modern.Client{})
		send(r.Conn(), "completion/complete", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"1999-01-01"}}`)
		send(r.Conn(), "tools/list", `{}`)
		send(r.Conn(), "prompts/get", `{"name":"p","_meta":{"io.modelcontextprotocol/protocolVersion":5}}`)
		require.NoError(t, jsonrpc.SendMessage(t.Context(), r.Conn(), jsonrpc.AppendNotification(nil, "notifications/x", nil)))
		send(r.Conn(), "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
		send(r.Conn(), "prompts/get", `{"name":"p"}`)
		said := func(m *msg) []string {
			return []string{m.Header.Get("Mcp-Protocol-Version"), m.Header.Get("Mcp-Method"), m.Header.Get("Mcp-Name"), m.Header.Get("Mcp-Session-Id")}
		}
		require.Equal(t, []string{"2026-07-28", "tools/list", "", ""}, said(s.of("tools/list")[0]), "not the version of a request that was refused")
		require.Equal(t, []string{"2026-07-28", "prompts/get", "p", ""}, said(s.of("prompts/get")[0]))
		require.Equal(t, []string{"2026-07-28", "notifications/x", "", ""}, said(s.of("notifications/x")[0]))
		require.Equal(t, []string{"", "", "", ""}, said(s.of("initialize")[0]))
		require.Equal(t, []string{"2025-11-25", "", "", "s1"}, said(s.of("prompts/get")[1]), "a session has said its version")
	})
	bubble(t, "of one call", func(t *testing.T, s *script, e *Endpoint) {
		r := connect(t, e, legacy.Client{})
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Header: map[string][]string{"x-trace": {"1"}, "Mcp-Session-Id": {"no"}}})
		_, err := r.CallTool(ctx, &legacy.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		h := s.of("tools/call")[0].Header
		require.Equal(t, []string{"1"}, h["X-Trace"])
		require.Equal(t, []string{"s1"}, h["Mcp-Session-Id"])
	})
	bubble(t, "user and password of the URL", func(t *testing.T, s *script, e *Endpoint) {
		e.URL = "http://me:secret@server.example/mcp?x=1"
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		require.Equal(t, "Basic bWU6c2VjcmV0", s.of("tools/call")[0].Header.Get("Authorization"))
	})
	for _, old := range []string{"2025-03-26"} {
		t.Run("no version header in "+old, func(t *testing.T) {
			h := (&session{version: old, rules: rulesOf(t, old), id: "a"}).headers()
			require.Equal(t, http.Header{"Mcp-Session-Id": {"a"}}, h)
		})
	}
}

// rawJSON is a value that is sent as it is.
type rawJSON string

func (r rawJSON) AppendJSON(b []byte) []byte { return append(b, r...) }

func TestClientState(t *testing.T) {
	bubble(t, "of a link", func(t *testing.T, s *script, e *Endpoint) {
		broken := false
		s.on["ping"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if broken {
				panic(http.ErrAbortHandler)
			}
			goodServer(w, r, m)
		}
		l, err := e.Dial(t.Context())
		require.NoError(t, err)
		conn := jsonrpc.NewConn(l, mustBind(t, legacy.Client{Options: quiet}), jsonrpc.ClientSide)
		require.NoError(t, conn.Start())
		state := func() LinkState { st := link(conn).Status(); return st.State }
		require.Equal(t, LinkIdle, state())
		require.NoError(t, conn.Ping(t.Context()))
		require.Equal(t, LinkReady, state())
		s.mu.Lock()
		broken = true
		s.mu.Unlock()
		require.Error(t, conn.Ping(t.Context()))
		require.Equal(t, LinkDegraded, state())
		require.Error(t, link(conn).Status().LastErr)
		s.mu.Lock()
		broken = false
		s.mu.Unlock()
		require.NoError(t, conn.Ping(t.Context()))
		require.Equal(t, LinkReady, state())
		require.NoError(t, conn.Close(t.Context()))
		require.Equal(t, "closed", state().String())
	})
	bubble(t, "while the first answer is out", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) { <-r.Context().Done() }
		l, err := e.Dial(t.Context())
		require.NoError(t, err)
		conn := jsonrpc.NewConn(l, mustBind(t, legacy.Client{Options: quiet}), jsonrpc.ClientSide)
		require.NoError(t, conn.Start())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = jsonrpc.InitializeRaw(t.Context(), conn, wire.Raw(`{}`))
		}()
		synctest.Wait()
		require.Equal(t, LinkConnecting, link(conn).Status().State)
		require.NoError(t, conn.Close(t.Context()))
		<-done
	})
}

func mustBind(t *testing.T, b jsonrpc.Binder) jsonrpc.Chooser {
	ch, err := b.Bind()
	require.NoError(t, err)
	return ch
}

func TestClientURL(t *testing.T) {
	for _, bad := range []string{"", "mcp", "ftp://a/", "http://", "http:///x", "https://a/b#c", "http://a b/", "://", "http://user:se\x00cret@a/"} {
		_, err := URL(bad).Dial(t.Context())
		var ue *URLError
		require.ErrorAs(t, err, &ue, bad)
		require.NotContains(t, err.Error(), "cret")
	}
	for text, shown := range map[string]string{
		"127.0.0.1:1/mcp":          `URL "127.0.0.1:1/mcp": not a URL`,
		"127.0.0.1:1/mcp?k=secret": `URL "127.0.0.1:1/mcp": not a URL`,
		"http://u:se#cret@a:x/":    `URL "…": not a URL`,
		"http://a b/":              `URL "http://a b/": not a URL`,
	} {
		_, err := ParseURL(text)
		require.EqualError(t, err, shown)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := URL("http://a/").Dial(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// TestClientAnswers plays responses to a call and looks at what the caller gets.
func TestClientAnswers(t *testing.T) {
	const id = "$id"
	for _, c := range []struct {
		rule, kind, body string
		status           int
		want             string // part of the error, "" for the result
	}{
		{rule: "JSON", kind: mediaJSON, body: rpcResult([]byte(id), toolResult)},
		{rule: "content-type-with-charset", kind: "Application/JSON; charset=UTF-8", body: rpcResult([]byte(id), toolResult)},
		{rule: "JSON with white space", kind: mediaJSON, body: "\n " + rpcResult([]byte(id), toolResult) + " \r\n"},
		{rule: "the id last", kind: mediaJSON, body: `{"result":` + toolResult + `,"jsonrpc":"2.0","id":$id}`},
		{rule: "a stream", kind: mediaEvents, body: event(rpcResult([]byte(id), toolResult))},
		{rule: "a stream with charset", kind: "text/event-stream;charset=utf-8", body: event(rpcResult([]byte(id), toolResult))},
		{rule: "a stream of CRs", kind: mediaEvents, body: strings.ReplaceAll(event(rpcResult([]byte(id), toolResult)), "\n", "\r")},
		{rule: "a stream with byte order mark", kind: mediaEvents, body: "\xef\xbb\xbf" + event(rpcResult([]byte(id), toolResult))},
		{rule: "sse-comment-line-is-an-error", kind: mediaEvents, body: ": keep-alive\n\n" + event(rpcResult([]byte(id), toolResult))},
		{rule: "sse-empty-data-priming-event", kind: mediaEvents, body: "id: 0\nretry: 3000\ndata:\n\n" + event(rpcResult([]byte(id), toolResult))},
		{rule: "an event of another type is passed over", kind: mediaEvents, body: "event: ping\ndata: x\n\n" + event(rpcResult([]byte(id), toolResult))},
		{rule: "sse-heartbeat-as-json-data is passed over", kind: mediaEvents, body: event(`{"type":"heartbeat"}`) + event(rpcResult([]byte(id), toolResult))},
		{rule: "text that is no JSON is passed over", kind: mediaEvents, body: event(`[DONE]`) + event("nonsense") + event(rpcResult([]byte(id), toolResult))},
		{rule: "an answer over several data lines", kind: mediaEvents, body: "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":$id,\ndata: \"result\":" + toolResult + "}\n\n"},
		{rule: "notifications first", kind: mediaEvents, body: event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`) + event(rpcResult([]byte(id), toolResult))},
		{rule: "a second answer is dropped", kind: mediaEvents, body: event(rpcResult([]byte(id), toolResult)) + event(rpcResult([]byte(id), `{"content":[]}`))},
		{rule: "an answer to another request first", kind: mediaEvents, body: event(rpcResult([]byte("77"), toolResult)) + event(rpcResult([]byte(id), toolResult))},
		{rule: "an error", kind: mediaJSON, body: rpcError([]byte(id), -32602, "bad"), want: "peer answered: bad (-32602)"},
		{rule: "an error without id is this request's", kind: mediaJSON, body: `{"jsonrpc":"2.0","error":{"code":-32600,"message":"what?"}}`, want: "peer answered: what? (-32600)"},
		{rule: "discover-error-with-null-id", kind: mediaJSON, body: rpcError([]byte("null"), -32600, "Missing ID field"), want: "peer answered: Missing ID field (-32600)"},
		{rule: "an error without id on a stream", kind: mediaEvents, body: event(rpcError([]byte("null"), -32600, "what?")), want: "peer answered: what? (-32600)"},
		{rule: "the wrong id", kind: mediaJSON, body: rpcResult([]byte("77"), toolResult), want: "no response received for request ID $id, but one for ID 77"},
		{rule: "the id as a string", kind: mediaJSON, body: rpcResult([]byte(`"$id"`), toolResult), want: `no response received for request ID $id, but one for ID "$id"`},
		{rule: "the wrong id on a stream", kind: mediaEvents, body: event(rpcResult([]byte(`"$id"`), toolResult)), want: `no response received for request ID $id, but one for ID "$id"`},
		{rule: "an error with the wrong id", kind: mediaJSON, body: rpcError([]byte("77"), 1, "x"), want: "but one for ID 77"},
		{rule: "a result without id", kind: mediaJSON, body: `{"jsonrpc":"2.0","result":{}}`, want: "no response received"},
		{rule: "sse-ends-without-response", kind: mediaEvents, body: ": hi\n\n", want: "no response received for request ID $id: EOF"},
		{rule: "a stream that ends within the answer", kind: mediaEvents, body: "data: " + rpcResult([]byte(id), toolResult), want: "unexpected EOF"},
		{rule: "an empty stream", kind: mediaEvents, want: "no response received"},
		{rule: "an empty body", kind: mediaJSON, want: "no response received"},
		{rule: "no JSON", kind: mediaJSON, body: "<html>", want: "no response received for request ID $id: <html>"},
		{rule: "JSON that is cut", kind: mediaJSON, body: `{"jsonrpc":"2.0","id":$id,"result":{"content":[`, want: "decode"},
		{rule: "an error that is cut", kind: mediaJSON, body: `{"jsonrpc":"2.0","id":$id,"error":{"code":1,"mess`, want: "no response received"},
		{rule: "both result and error", kind: mediaJSON, body: `{"jsonrpc":"2.0","id":$id,"result":{},"error":{"code":1,"message":"x"}}`, want: "decode"},
		{rule: "an error that is none", kind: mediaJSON, body: `{"jsonrpc":"2.0","id":$id,"error":"no"}`, want: "decode"},
		{rule: "a batch", kind: mediaJSON, body: `[` + rpcResult([]byte(id), toolResult) + `]`, want: "no response received"},
		{rule: "a scalar", kind: mediaJSON, body: `5`, want: "no response received"},
		{rule: "a result that is null", kind: mediaJSON, body: rpcResult([]byte(id), `null`), want: "decode"},
		{rule: "a page", kind: "text/html", body: "<p>hello", want: `the response is neither application/json nor text/event-stream but "text/html": <p>hello`},
		{rule: "no type", kind: "", body: "", want: "the response to a request is empty"},
		{rule: "accepted", kind: "", status: 202, want: "HTTP 202: the response to a request is empty"},
		{rule: "accepted, as a stream", kind: mediaEvents, status: 202, want: "HTTP 202: the response to a request is empty"},
		{rule: "no content", status: 204, want: "HTTP 204: the response to a request is empty"},
	} {
		bubble(t, c.rule, func(t *testing.T, s *script, e *Endpoint) {
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				if m.n > 0 {
					goodServer(w, r, m)
					return
				}
				if c.kind == "" {
					w.Header()["Content-Type"] = nil
				}
				status := 200
				if c.status != 0 {
					status = c.status
				}
				reply(w, status, c.kind, strings.ReplaceAll(c.body, id, string(m.ID)))
			}
			r := connect(t, e, legacy.Client{})
			start := time.Now()
			err := call(r)
			require.Zero(t, time.Since(start), "the caller does not wait for a timeout")
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, strings.ReplaceAll(c.want, id, string(s.of("tools/call")[0].ID)))
			}
			require.NoError(t, call(r), "the connection lives on")
		})
	}
}

func TestClientDropsTheAnswerOfAnotherStream(t *testing.T) {
	bubble(t, "two calls whose answers are exchanged", func(t *testing.T, s *script, e *Endpoint) {
		ids := make(chan wire.Raw, 2)
		both := make(chan struct{})
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			ids <- m.ID
			if len(ids) == 2 {
				close(both)
			}
			<-both
			other := <-ids
			if string(other) == string(m.ID) {
				ids <- other
				other = <-ids
			}
			answer(w, other, toolResult)
		}
		r := connect(t, e, legacy.Client{})
		errs := make(chan error)
		for range 2 {
			go func() { errs <- call(r) }()
		}
		for range 2 {
			require.ErrorContains(t, <-errs, "but one for ID")
		}
	})
}

func TestClientStatusErrors(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 405, 406, 409, 413, 415, 429, 500, 502, 503, 504} {
		for _, at := range []string{"initialize", "notifications/initialized", "tools/call", "GET", "server/discover"} {
			bubble(t, fmt.Sprintf("%d at %s", status, at), func(t *testing.T, s *script, e *Endpoint) {
				e.Header = http.Header{"Authorization": {"Bearer sesame-open"}, "X-Api-Key": {"k-123456"}}
				s.on[at] = func(w http.ResponseWriter, r *http.Request, m *msg) {
					h := w.Header()
					h.Add("WWW-Authenticate", `Bearer resource_metadata="https://a/.well-known"`)
					h.Set("Mcp-Auth-Server", "https://auth.example")
					h.Set("Retry-After", "7")
					h.Set("X-Correlation-ID", "trace-1")
					reply(w, status, "text/plain", "you sent sesame-open\nand k-123456 and \"access_token\": \"abcdef\""+strings.Repeat("x", 100_000))
				}
				check := func(err error) {
					t.Helper()
					var se *StatusError
					require.ErrorAs(t, err, &se)
					require.Equal(t, status, se.Status)
					require.Equal(t, []string{`Bearer resource_metadata="https://a/.well-known"`}, se.WWWAuthenticate)
					require.Equal(t, "https://auth.example", se.AuthServer)
					require.Equal(t, 7*time.Second, se.RetryAfter)
					require.Equal(t, "trace-1", se.TraceID)
					require.LessOrEqual(t, len(se.Body), 1100)
					require.Contains(t, se.Body, "you sent [redacted] and [redacted]")
					for _, secret := range []string{"sesame", "k-123456", "abcdef"} {
						require.NotContains(t, err.Error(), secret)
					}
					require.Contains(t, err.Error(), fmt.Sprintf("HTTP %d", status))
					require.Contains(t, err.Error(), "Mcp-Auth-Server: https://auth.example")
				}
				switch at {
				case "initialize", "notifications/initialized":
					_, err := legacy.Connect(t.Context(), e, legacy.Client{})
					check(err)
				case "server/discover":
					_, err := modern.Connect(t.Context(), e, modern.Client{})
					check(err)
				case "tools/call":
					check(call(connect(t, e, legacy.Client{})))
				case "GET":
					r := connect(t, e, legacy.Client{})
					synctest.Wait()
					st := link(r.Conn()).Status()
					switch {
					case status == 405:
						require.Equal(t, StreamRefused, st.Stream)
						require.NoError(t, st.StreamErr)
					case status >= 500 || status == 429:
						require.Equal(t, StreamOpening, st.Stream)
						check(st.StreamErr)
						time.Sleep(time.Minute)
						require.Greater(t, len(s.of("GET")), 2)
						require.Less(t, len(s.of("GET")), 10)
					default:
						require.Equal(t, StreamFailed, st.Stream)
						check(st.StreamErr)
						time.Sleep(time.Hour)
						require.LessOrEqual(t, len(s.of("GET")), 2)
					}
					require.NoError(t, call(r))
				}
			})
		}
	}
	bubble(t, "headers too long", func(t *testing.T, s *script, e *Endpoint) {
		s.on["resources/read"] = func(w http.ResponseWriter, _ *http.Request, _ *msg) {
			reply(w, 431, "text/plain", "431 Request Header Fields Too Large")
		}
		_, err := connectModern(t, e, modern.Client{}).ReadResource(t.Context(), &modern.ReadResourceParams{URI: "a:" + strings.Repeat("x", 1000)})
		var se *StatusError
		require.ErrorAs(t, err, &se)
		require.Equal(t, "HTTP 431 Request Header Fields Too Large (the longest is Mcp-Name with 1002 bytes, which repeats the name or URI that the request is about)", se.Error())
		require.Equal(t, "HTTP 404 Not Found", (&StatusError{Status: 404, Body: "Not Found\n"}).Error())
		require.Equal(t, "HTTP 404 Not Found: 404 page not found", (&StatusError{Status: 404, Body: "404 page not found"}).Error())
	})
	bubble(t, "a RoundTripper that leaves out what http.Client does without", func(t *testing.T, s *script, e *Endpoint) {
		pool := e.RoundTripper
		var bare func(*http.Response) *http.Response
		e.RoundTripper = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := pool.RoundTrip(r)
			if err == nil && resp.StatusCode != 200 {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				resp = bare(resp)
			}
			return resp, err
		})
		status := 0
		s.on["resources/read"] = func(w http.ResponseWriter, _ *http.Request, _ *msg) { reply(w, status, "", "") }
		r := connectModern(t, e, modern.Client{})
		read := func(with int) error {
			status = with
			_, err := r.ReadResource(t.Context(), &modern.ReadResourceParams{URI: "a:" + strings.Repeat("x", 1000)})
			return err
		}
		bare = func(resp *http.Response) *http.Response { return &http.Response{StatusCode: resp.StatusCode} }
		var se *StatusError
		require.ErrorAs(t, read(431), &se)
		require.Equal(t, HeaderName, se.TooLong)
		require.ErrorAs(t, read(404), &se)
		require.Equal(t, 404, se.Status)
		require.Error(t, read(202))
		require.Error(t, read(307))
		bare = func(*http.Response) *http.Response { return nil }
		var re *RequestError
		require.ErrorAs(t, read(404), &re)
	})
	bubble(t, "the peer's answer in a failure", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			reply(w, 403, mediaJSON, rpcError(m.ID, -31005, "not for you"))
		}
		err := call(connect(t, e, legacy.Client{}))
		var re *jsonrpc.Error
		require.ErrorAs(t, err, &re)
		require.True(t, re.Remote)
		require.EqualValues(t, -31005, re.Code)
		require.Equal(t, 403, statusOf(err))
	})
	for _, id := range []string{`"id":null,`, ``} {
		bubble(t, "an answer without id in a failure is this request's, "+id, func(t *testing.T, s *script, e *Endpoint) {
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				reply(w, 400, mediaJSON, `{"jsonrpc":"2.0",`+id+`"error":{"code":-32600,"message":"what?"}}`)
			}
			err := call(connect(t, e, legacy.Client{}))
			require.ErrorIs(t, err, &jsonrpc.Error{Code: -32600})
			require.Equal(t, 400, statusOf(err))
		})
	}
	bubble(t, "an answer to another request in a failure is none", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			reply(w, 400, mediaJSON, rpcError([]byte("99"), -31005, "not for you"))
		}
		err := call(connect(t, e, legacy.Client{}))
		require.False(t, errors.As(err, new(*jsonrpc.Error)))
		require.Equal(t, 400, statusOf(err))
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-1": 0, "1.5": 0, "soon": 0, "Mon, 30 Nov 2026 00:00:30 GMT": 30 * time.Second,
		"Sun, 29 Nov 2026 00:00:30 GMT": 0, "4000000000": 24 * time.Hour, "Mon, 30 Nov 2099 00:00:30 GMT": 24 * time.Hour, "99999999999999999999": 0,
	} {
		require.Equal(t, want, retryAfter(in, now), in)
	}
}

func TestClientRefusesEncodedBodies(t *testing.T) {
	bubble(t, "gzip", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			require.Empty(t, r.Header.Get("Accept-Encoding"))
			w.Header().Set("Content-Encoding", "gzip")
			reply(w, 200, mediaJSON, "\x1f\x8b")
		}
		var ce *ContentError
		require.ErrorAs(t, call(connect(t, e, legacy.Client{})), &ce)
		require.Equal(t, "gzip", ce.Encoding)
	})
}

func TestClientRedirects(t *testing.T) {
	for _, c := range []struct {
		rule, to string
		status   int
		want     string // of the error, "" is followed
	}{
		{"307 to the same origin", "/other", 307, ""},
		{"308 to the same origin, with its port", "http://SERVER.example:80/other", 308, ""},
		{"307 to another host", "http://evil.example/mcp", 307, "another origin"},
		{"307 to a host below", "http://x.server.example/mcp", 307, "another origin"},
		{"307 to another port", "http://server.example:8080/mcp", 307, "another origin"},
		{"307 to another scheme", "https://server.example/mcp", 307, "another origin"},
		{"307 to a user", "//me@evil.example/", 307, "another origin"},
		{"302 would be a GET", "/other", 302, "into a GET"},
		{"301 would be a GET", "/other", 301, "into a GET"},
		{"303 would be a GET", "/other", 303, "into a GET"},
		{"a loop", "/mcp", 307, "too many"},
		{"nowhere", "", 307, "where to"},
		{"no URL", "http://%zz/", 307, "no URL"},
	} {
		bubble(t, c.rule, func(t *testing.T, s *script, e *Endpoint) {
			e.Header = http.Header{"Authorization": {"Bearer x"}, "X-Key": {"y"}}
			s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				if m.Path != "/mcp" {
					goodServer(w, r, m)
					return
				}
				if c.to != "" {
					w.Header().Set("Location", c.to)
				}
				w.WriteHeader(c.status)
			}
			err := call(connect(t, e, legacy.Client{}))
			for _, m := range s.all() {
				require.Equal(t, "server.example", strings.ToLower(strings.TrimSuffix(m.Host, ":80")))
			}
			if c.want == "" {
				require.NoError(t, err)
				last := s.of("tools/call")[1]
				require.Equal(t, "/other", last.Path)
				require.Equal(t, "Bearer x", last.Header.Get("Authorization"))
				require.Equal(t, s.of("tools/call")[0].Body, last.Body)
				return
			}
			var re *RedirectError
			require.ErrorAs(t, err, &re)
			require.ErrorContains(t, err, c.want)
			require.LessOrEqual(t, len(s.of("tools/call")), 6)
		})
	}
}

func TestClientBounds(t *testing.T) {
	const limit = 200_000
	fill := strings.Repeat("x", 1000)
	endless := func(w http.ResponseWriter, r *http.Request, start, more string) {
		_, _ = io.WriteString(w, start)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, more); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		rule  string
		serve func(w http.ResponseWriter, r *http.Request, m *msg)
	}{
		{"JSON whose length says so", func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Length", "300000")
			w.Header().Set("Content-Type", mediaJSON)
			endless(w, r, "", fill)
		}},
		{"endless JSON", func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaJSON)
			endless(w, r, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":"`, fill)
		}},
		{"an endless line", func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaEvents)
			endless(w, r, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":"`, fill)
		}},
		{"an endless event", func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaEvents)
			endless(w, r, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":"`+"\n", "data: "+fill+"\n")
		}},
	} {
		bubble(t, c.rule, func(t *testing.T, s *script, e *Endpoint) {
			e.MaxMessage = limit
			s.on["tools/call"] = c.serve
			start := time.Now()
			err := call(connect(t, e, legacy.Client{}))
			require.ErrorIs(t, err, jsonrpc.ErrTooLong)
			require.Zero(t, time.Since(start))
		})
	}
	bubble(t, "a notification that is too long does not end the stream", func(t *testing.T, s *script, e *Endpoint) {
		e.MaxMessage = limit
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.Header().Set("Content-Type", mediaEvents)
			_, _ = io.WriteString(w, event(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"`+strings.Repeat("x", limit)+`"}}`)+event(rpcResult(m.ID, toolResult)))
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, call(r))
		st := r.Conn().Stats()
		require.EqualValues(t, 1, st.Count(jsonrpc.TooLong))
	})
	bubble(t, "an error's body is not read to its end", func(t *testing.T, s *script, e *Endpoint) {
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.WriteHeader(500)
			endless(w, r, "", fill)
		}
		require.Equal(t, 500, statusOf(call(connect(t, e, legacy.Client{}))))
	})
	bubble(t, "a large answer within the bound", func(t *testing.T, s *script, e *Endpoint) {
		text := strings.Repeat("y", 3<<20)
		chunked := false
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			body := rpcResult(m.ID, `{"content":[{"type":"text","text":"`+text+`"}]}`)
			w.Header().Set("Content-Type", mediaJSON)
			if !chunked {
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
			}
			_, _ = io.WriteString(w, body)
		}
		r := connect(t, e, legacy.Client{})
		for range 2 {
			res, err := r.CallTool(t.Context(), &legacy.CallToolParams{Name: "plain"})
			require.NoError(t, err)
			require.Equal(t, text, res.Content[0].(*legacy.TextContent).Text)
			chunked = true
		}
	})
}
