package streamhttp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	oldest "github.com/goldwire/goldwire/generated/mcp/v20241105"
	legacy "github.com/goldwire/goldwire/generated/mcp/v20251125"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/wire"
)

// twoEndpoints makes the script an HTTP+SSE server: what the good server would
// answer comes on the stream.
func twoEndpoints(s *script, e *Endpoint) *oldServer {
	o := &oldServer{events: make(chan string, 100), gone: make(chan struct{}, 9)}
	e.Kind = TwoEndpoints
	s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
		send := stream(w)
		send("event: endpoint\ndata: /post\n\n")
		for {
			select {
			case text := <-o.events:
				if text == "" {
					panic(http.ErrAbortHandler)
				}
				send(text)
			case <-r.Context().Done():
				o.gone <- struct{}{}
				return
			}
		}
	}
	post := func(w http.ResponseWriter, r *http.Request, m *msg) {
		w.WriteHeader(http.StatusAccepted)
		if m.ID != nil && m.Method != "" {
			rec := &recorder{}
			goodServer(rec, r, m)
			o.events <- event(rec.b.String())
		}
	}
	s.on["initialize"], s.on["tools/list"], s.on["tools/call"], s.on["ping"] = post, post, post, post
	return o
}

type oldServer struct {
	events chan string // "" breaks the stream
	gone   chan struct{}
}

type recorder struct {
	h http.Header
	b strings.Builder
}

func (r *recorder) Header() http.Header {
	if r.h == nil {
		r.h = http.Header{}
	}
	return r.h
}
func (r *recorder) Write(b []byte) (int, error) { return r.b.Write(b) }
func (r *recorder) WriteHeader(int)             {}

func connectOldest(t *testing.T, e *Endpoint, c oldest.Client) *oldest.RemoteServer {
	t.Helper()
	c.Options.Logger = quiet.Logger
	r, err := oldest.Connect(t.Context(), e, c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func TestClientOfTwoEndpoints(t *testing.T) {
	bubble(t, "a whole session", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		e.Header = http.Header{"Authorization": {"Bearer x"}}
		r := connectOldest(t, e, oldest.Client{})
		_, err := r.CallTool(t.Context(), &oldest.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		require.NoError(t, r.Close())
		<-o.gone
		require.Equal(t, []string{"GET", "POST initialize", "POST notifications/initialized", "POST tools/call"}, s.seen(), "no DELETE, no second stream")
		for _, m := range s.all() {
			require.Equal(t, "Bearer x", m.Header.Get("Authorization"))
			require.Empty(t, m.Header.Get("Mcp-Protocol-Version"))
			if m.HTTP == "POST" {
				require.Equal(t, "/post", m.Path)
			}
		}
	})
	bubble(t, "an endpoint is relative to where the stream was redirected to", func(t *testing.T, s *script, e *Endpoint) {
		twoEndpoints(s, e)
		get := s.on["GET"]
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Path == "/mcp" {
				w.Header().Set("Location", "/v2/sse")
				w.WriteHeader(http.StatusFound)
				return
			}
			get(&replacing{ResponseWriter: w, old: "/post", new: "../post"}, r, m)
		}
		connectOldest(t, e, oldest.Client{})
		require.Equal(t, "/post", s.of("initialize")[0].Path)
	})
	bubble(t, "an endpoint that never comes", func(t *testing.T, s *script, e *Endpoint) {
		e.Kind = TwoEndpoints
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			stream(w)(": hi\n\n")
			<-r.Context().Done()
		}
		start := time.Now()
		_, err := e.Dial(t.Context())
		var ee *EndpointError
		require.ErrorAs(t, err, &ee)
		require.EqualError(t, err, "legacy SSE endpoint timeout after 10000 ms")
		require.Equal(t, 10*time.Second, time.Since(start))
	})
	for name, first := range map[string]string{"an endless endpoint": "event: endpoint\ndata: ", "an endless type": "event: "} {
		bubble(t, name, func(t *testing.T, s *script, e *Endpoint) {
			e.Kind, e.MaxMessage = TwoEndpoints, 100_000
			s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
				w.Header().Set("Content-Type", mediaEvents)
				_, err := io.WriteString(w, first)
				for err == nil {
					_, err = io.WriteString(w, strings.Repeat("x", 1000))
				}
			}
			_, err := e.Dial(t.Context())
			require.ErrorContains(t, err, "event too long")
		})
	}
	bubble(t, "a message that is too long fails its call alone", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		e.MaxMessage = 10_000
		big := true
		s.on["ping"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.WriteHeader(http.StatusAccepted)
			text := `{}`
			if big {
				text = `{"x":"` + strings.Repeat("y", 20_000) + `"}`
			}
			big = false
			o.events <- event(rpcResult(m.ID, text))
		}
		r := connectOldest(t, e, oldest.Client{})
		require.ErrorIs(t, r.Conn().Ping(t.Context()), jsonrpc.ErrTooLong)
		require.NoError(t, r.Conn().Ping(t.Context()))
	})
	bubble(t, "a call whose answer never comes", func(t *testing.T, s *script, e *Endpoint) {
		twoEndpoints(s, e)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(http.StatusAccepted) }
		r := connectOldest(t, e, oldest.Client{})
		_, err := r.CallTool(t.Context(), &oldest.CallToolParams{Name: "plain"})
		require.ErrorIs(t, err, jsonrpc.ErrTimeout)
		synctest.Wait()
		require.Len(t, s.of("notifications/cancelled"), 1)
	})
	bubble(t, "a POST that never ends", func(t *testing.T, s *script, e *Endpoint) {
		twoEndpoints(s, e)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) { <-r.Context().Done() }
		r := connectOldest(t, e, oldest.Client{})
		_, err := r.CallTool(t.Context(), &oldest.CallToolParams{Name: "plain"})
		require.ErrorIs(t, err, jsonrpc.ErrTimeout)
	})
	bubble(t, "a POST that takes longer than messages may", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			time.Sleep(2 * sendTimeout)
			w.WriteHeader(http.StatusAccepted)
			o.events <- event(rpcResult(m.ID, toolResult))
		}
		r := connectOldest(t, e, oldest.Client{})
		ctx := jsonrpc.WithCallOptions(t.Context(), jsonrpc.CallOptions{Timeout: new(3 * sendTimeout)})
		_, err := r.CallTool(ctx, &oldest.CallToolParams{Name: "plain"})
		require.NoError(t, err)
	})
	bubble(t, "answers that overtake, come twice, or are nobody's", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			text := event(rpcResult(m.ID, toolResult))
			o.events <- text + text + event(rpcResult([]byte("99"), "{}")) + "event: other\ndata: x\n\n" + event("")
			time.Sleep(time.Second) // the answer is there before the POST is over
			w.WriteHeader(http.StatusAccepted)
		}
		r := connectOldest(t, e, oldest.Client{})
		_, err := r.CallTool(t.Context(), &oldest.CallToolParams{Name: "plain"})
		require.NoError(t, err)
		st := r.Conn().Stats()
		require.EqualValues(t, 1, st.Count(jsonrpc.DuplicateAnswer))
		require.EqualValues(t, 1, st.Count(jsonrpc.UnknownAnswer))
	})
	bubble(t, "a stream that breaks ends the connection", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		s.on["tools/call"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.WriteHeader(http.StatusAccepted)
			o.events <- ""
		}
		r := connectOldest(t, e, oldest.Client{})
		_, err := r.CallTool(t.Context(), &oldest.CallToolParams{Name: "plain"})
		require.ErrorIs(t, err, jsonrpc.ErrClosed)
		<-r.Conn().Done()
		require.Error(t, link(r.Conn()).Err())
		require.Equal(t, StreamFailed, link(r.Conn()).Status().Stream)
	})
	bubble(t, "requests of the server", func(t *testing.T, s *script, e *Endpoint) {
		o := twoEndpoints(s, e)
		answered := make(chan string, 1)
		s.on["answer"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			w.WriteHeader(http.StatusAccepted)
			answered <- m.Path + string(m.Body)
		}
		connectOldest(t, e, oldest.Client{ListRoots: func(context.Context, *oldest.ListRootsParams) (*oldest.ListRootsResult, error) {
			return &oldest.ListRootsResult{}, nil
		}})
		o.events <- event(`{"jsonrpc":"2.0","id":"a","method":"roots/list"}`)
		require.Equal(t, `/post{"jsonrpc":"2.0","id":"a","result":{"roots":[]}}`, <-answered)
	})
}

// replacing changes what is written.
type replacing struct {
	http.ResponseWriter
	old, new string
}

func (r *replacing) Write(b []byte) (int, error) {
	_, err := io.WriteString(r.ResponseWriter, strings.ReplaceAll(string(b), r.old, r.new))
	return len(b), err
}

func (r *replacing) Flush() { r.ResponseWriter.(http.Flusher).Flush() }

func TestClientFallsBack(t *testing.T) {
	bubble(t, "on the same link", func(t *testing.T, s *script, e *Endpoint) {
		twoEndpoints(s, e)
		e.Kind = Any
		good := s.on["initialize"]
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) {
			if m.Path != "/post" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			good(w, r, m)
		}
		r := connect(t, e, legacy.Client{})
		require.NoError(t, r.Conn().Ping(t.Context()))
		synctest.Wait()
		require.Equal(t, []string{"POST initialize", "GET", "POST initialize", "POST notifications/initialized", "POST ping"}, s.seen())
		require.Equal(t, string(s.of("initialize")[0].Body), string(s.of("initialize")[1].Body))
	})
	bubble(t, "not on a server that gives a stream without an endpoint", func(t *testing.T, s *script, e *Endpoint) {
		s.on["initialize"] = func(w http.ResponseWriter, r *http.Request, m *msg) { w.WriteHeader(http.StatusNotFound) }
		s.on["GET"] = func(w http.ResponseWriter, r *http.Request, m *msg) { stream(w)(event("{}")) }
		_, err := legacy.Connect(t.Context(), e, legacy.Client{Options: quiet})
		require.Equal(t, 404, statusOf(err))
	})
}

func FuzzPeek(f *testing.F) {
	for _, s := range []string{rpcResult([]byte("1"), "{}"), rpcError([]byte(`"a"`), 1, "x"), rpcError([]byte("null"), 1, "x"), `{"result":{},"id":7,"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":"a"}`, `[]`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := peek(data)
		env, err := jsonrpc.ParseEnvelope(data)
		if err != nil {
			return
		}
		if p.answer != env.IsResponse() {
			t.Fatalf("%s: answer %v", data, p.answer)
		}
		if env.ID == jsonrpc.NullID {
			env.ID = jsonrpc.ID{}
		}
		if p.answer && (p.id != env.ID || p.failed != (env.Error != nil) || p.noID != env.ID.IsZero()) {
			t.Fatalf("%s: %+v", data, p)
		}
		if o := readOutgoing(data); !env.IsResponse() && (o.id != env.ID || o.method != env.Method) {
			t.Fatalf("%s: %+v", data, o)
		}
	})
}

func FuzzParamHeaders(f *testing.F) {
	f.Add([]byte(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"properties":{"c":{"type":"integer","x-mcp-header":"B"}}}}}`), []byte(`{"a":"ü","b":{"c":1e2}}`))
	f.Add([]byte(`{"items":[{"x-mcp-header":1}]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, schema, args []byte) {
		if !wire.Valid(schema) || !wire.Valid(args) {
			return
		}
		params, err := ReadParamHeaders(schema)
		if err != nil {
			return
		}
		h := http.Header{}
		if params.Set(h, args) != nil {
			return
		}
		for i := range params {
			if s, ok, err := headerText(params[i].argument(args)); err == nil && ok && strings.ToValidUTF8(s, "") == s {
				if err := params[i].check(h, args); err != nil {
					t.Fatalf("%s %s: %v", schema, args, err)
				}
			}
		}
	})
}
