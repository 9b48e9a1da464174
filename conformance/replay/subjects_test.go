package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goldwire/goldwire/conformance/everything"
	v20241105 "github.com/goldwire/goldwire/generated/mcp/v20241105"
	v20250326 "github.com/goldwire/goldwire/generated/mcp/v20250326"
	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/revision"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The implementations. A transcript goes to the servers when its side is
// server or both, and to the clients when it is client or both.
var (
	servers = []subject{
		{name: "everything", revisions: revision.All(), start: func(t *testing.T, _, _ string) Link {
			return peer(t, func(rw io.ReadWriteCloser) error {
				return jsonrpc.Serve(context.Background(), jsonl.Pipe(rw, rw), everything.Server())
			})
		}, again: func(t *testing.T, rev string) Link {
			if rev == revision.V20241105 {
				return overHTTP(t, rev, ssehttp.NewHandler(everything.Server()))
			}
			return overHTTP(t, rev, streamhttp.NewHandler(everything.Server()))
		}},
		// What only a process shows, and one more of each revision.
		{name: "everything as a process", revisions: revision.All(), only: func(g goldenFile) bool {
			return strings.Contains(string(g.text), "\n! exit") || strings.Contains(g.name, "/tools/")
		}, start: func(t *testing.T, _, _ string) Link {
			return child(t, "everything")
		}},
		{name: "everything over Streamable HTTP", transport: "http", revisions: streamable, start: func(t *testing.T, rev, _ string) Link {
			return overHTTP(t, rev, streamhttp.NewHandler(everything.Server(), streamhttp.HandlerOptions{Polling: true}))
		}},
		{name: "everything over HTTP+SSE", transport: "sse", revisions: []string{revision.V20241105}, start: func(t *testing.T, rev, _ string) Link {
			return overHTTP(t, rev, ssehttp.NewHandler(everything.Server()))
		}},
	}
	clients = []subject{
		{name: "generated client", revisions: revision.All(), start: func(t *testing.T, rev, scenario string) Link {
			return peer(t, func(rw io.ReadWriteCloser) error {
				w := &seer{halfCloser{rw, rw.(interface{ CloseWrite() error }).CloseWrite}, []byte(`"count"`), make(chan struct{}, 1)}
				return runClient(jsonl.Pipe(rw, w), w.seen, rev, scenario)
			})
		}},
		{name: "generated client over Streamable HTTP", transport: "http", revisions: streamable, start: func(t *testing.T, rev, scenario string) Link {
			return clientOverHTTP(t, rev, scenario, func(url string) jsonrpc.Dialer { return streamhttp.URL(url) })
		}},
		{name: "generated client over HTTP+SSE", transport: "sse", revisions: []string{revision.V20241105}, start: func(t *testing.T, rev, scenario string) Link {
			return clientOverHTTP(t, rev, scenario, func(url string) jsonrpc.Dialer { return ssehttp.URL(url) })
		}},
	}
	streamable = slices.DeleteFunc(revision.All(), func(rev string) bool { return rev == revision.V20241105 })
)

// overHTTP links to a server over HTTP.
func overHTTP(t *testing.T, rev string, h http.Handler) Link {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	l, err := HTTP(srv.URL+"/mcp", rev, HTTPOptions{})
	require.NoError(t, err)
	return l
}

// seenClient tells when its client has sent a call of the tool count.
type seenClient struct {
	*httpClient
	seen chan struct{}
}

func (s *seenClient) Start(out, errout io.WriteCloser) error {
	return s.httpClient.Start(&seer{out, []byte(`"count"`), s.seen}, errout)
}

// clientOverHTTP links to a client that dials over HTTP. It has to end without
// an error.
func clientOverHTTP(t *testing.T, rev, scenario string, dial func(url string) jsonrpc.Dialer) Link {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	link, err := HTTPClient(l, rev)
	require.NoError(t, err)
	s := &seenClient{link.(*httpClient), make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- runClient(dial("http://"+l.Addr().String()+"/mcp"), s.seen, rev, scenario) }()
	t.Cleanup(func() { require.NoError(t, <-done) })
	return s
}

// peer links to a peer in this process. It has to end without an error.
func peer(t *testing.T, run func(io.ReadWriteCloser) error) Link {
	ours, theirs := Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(theirs)
		_ = theirs.Close()
		done <- err
	}()
	t.Cleanup(func() { require.NoError(t, <-done) })
	return Stream(ours)
}

// serveEverything is the child process of the second server.
func serveEverything() int {
	if err := jsonrpc.Serve(context.Background(), jsonl.Stdio(), everything.Server()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// remote is what the scenarios need of a server, in any revision.
type remote struct {
	ping, list func(context.Context) error
	call       func(ctx context.Context, name, arguments string) (text string, err error)
	close      func() error
}

// answers are what the client under test says to the server's questions.
const (
	answerForm   = `{"action":"accept","content":{"answer":"Ada"}}`
	answerSample = `{"role":"assistant","content":{"type":"text","text":"Hi!"},"model":"fixture","stopReason":"endTurn"}`
	answerRoots  = `{"roots":[{"uri":"file:///work","name":"work"}]}`
	clientName   = "goldwire-everything-client"
)

// fixed answers every request with one result.
func fixed[P, R any](text string) func(context.Context, P) (*R, error) {
	return func(context.Context, P) (*R, error) {
		r := new(R)
		return r, json.Unmarshal([]byte(text), r)
	}
}

func only[T any](_ T, err error) error { return err }

// textOf is the text of the first block of a tool result.
func textOf(result wire.Appender, err error) (string, error) {
	if err != nil {
		return "", err
	}
	for block := range wire.Raw(result.AppendJSON(nil)).Get("content").Elems() {
		s, _ := block.Get("text").Str()
		return s, nil
	}
	return "", errors.New("no content")
}

func connect(ctx context.Context, d jsonrpc.Dialer, rev, scenario string) (*remote, error) {
	switch rev {
	case revision.V20241105:
		s, err := v20241105.Connect(ctx, d, v20241105.Client{Info: v20241105.Implementation{Name: clientName, Version: "1"}})
		if err != nil {
			return nil, err
		}
		return &remote{
			ping: func(ctx context.Context) error { return only(s.Ping(ctx, nil)) },
			list: func(ctx context.Context) error { return only(s.ListTools(ctx, nil)) },
			call: func(ctx context.Context, name, arguments string) (string, error) {
				return textOf(s.CallTool(ctx, &v20241105.CallToolParams{Name: name, Arguments: wire.Raw(arguments)}))
			},
			close: s.Close,
		}, nil
	case revision.V20250326:
		s, err := v20250326.Connect(ctx, d, v20250326.Client{Info: v20250326.Implementation{Name: clientName, Version: "1"}})
		if err != nil {
			return nil, err
		}
		return &remote{
			ping: func(ctx context.Context) error { return only(s.Ping(ctx, nil)) },
			list: func(ctx context.Context) error { return only(s.ListTools(ctx, nil)) },
			call: func(ctx context.Context, name, arguments string) (string, error) {
				return textOf(s.CallTool(ctx, &v20250326.CallToolParams{Name: name, Arguments: wire.Raw(arguments)}))
			},
			close: s.Close,
		}, nil
	case revision.V20250618:
		s, err := v20250618.Connect(ctx, d, v20250618.Client{Info: v20250618.Implementation{Name: clientName, Version: "1"}})
		if err != nil {
			return nil, err
		}
		return &remote{
			ping: func(ctx context.Context) error { return only(s.Ping(ctx, nil)) },
			list: func(ctx context.Context) error { return only(s.ListTools(ctx, nil)) },
			call: func(ctx context.Context, name, arguments string) (string, error) {
				return textOf(s.CallTool(ctx, &v20250618.CallToolParams{Name: name, Arguments: wire.Raw(arguments)}))
			},
			close: s.Close,
		}, nil
	case revision.V20251125:
		c := v20251125.Client{Info: v20251125.Implementation{Name: clientName, Version: "1"}}
		switch scenario {
		case "elicitation":
			c.Elicit = fixed[v20251125.ElicitParams, v20251125.ElicitResult](answerForm)
		case "sampling":
			c.CreateMessage = fixed[*v20251125.CreateMessageParams, v20251125.CreateMessageResult](answerSample)
		case "roots":
			c.ListRoots = fixed[*v20251125.ListRootsParams, v20251125.ListRootsResult](answerRoots)
		}
		s, err := v20251125.Connect(ctx, d, c)
		if err != nil {
			return nil, err
		}
		return &remote{
			ping: func(ctx context.Context) error { return only(s.Ping(ctx, nil)) },
			list: func(ctx context.Context) error { return only(s.ListTools(ctx, nil)) },
			call: func(ctx context.Context, name, arguments string) (string, error) {
				return textOf(s.CallTool(ctx, &v20251125.CallToolParams{Name: name, Arguments: wire.Raw(arguments)}))
			},
			close: s.Close,
		}, nil
	default:
		c := v20260728.Client{Info: v20260728.Implementation{Name: clientName, Version: "1"}}
		switch scenario {
		case "elicitation":
			c.Elicit = fixed[v20260728.ElicitParams, v20260728.ElicitResult](answerForm)
		case "sampling":
			//lint:ignore SA1019 a retired feature still has to work
			c.CreateMessage = fixed[*v20260728.CreateMessageParams, v20260728.CreateMessageResult](answerSample)
		case "roots":
			//lint:ignore SA1019 a retired feature still has to work
			c.ListRoots = fixed[*v20260728.ListRootsParams, v20260728.ListRootsResult](answerRoots)
		}
		s, err := v20260728.Connect(ctx, d, c)
		if err != nil {
			return nil, err
		}
		return &remote{
			list: func(ctx context.Context) error { return only(s.ListTools(ctx, &v20260728.ListToolsParams{})) },
			call: func(ctx context.Context, name, arguments string) (string, error) {
				return textOf(s.CallTool(ctx, &v20260728.CallToolParams{Name: name, Arguments: wire.Raw(arguments)}))
			},
			close: s.Close,
		}, nil
	}
}

// seer tells when bytes that hold a mark have been written.
type seer struct {
	io.WriteCloser
	mark []byte
	seen chan struct{}
}

func (s *seer) Write(p []byte) (int, error) {
	n, err := s.WriteCloser.Write(p)
	if bytes.Contains(p, s.mark) {
		select {
		case s.seen <- struct{}{}:
		default:
		}
	}
	return n, err
}

// runClient does what the scenarios of the transcripts want a client to do.
func runClient(d jsonrpc.Dialer, seen <-chan struct{}, rev, scenario string) error {
	ctx := context.Background()
	s, err := connect(ctx, d, rev, scenario)
	if err != nil {
		return err
	}
	want := func(name, arguments, text string) error {
		got, err := s.call(ctx, name, arguments)
		if err == nil && got != text {
			err = fmt.Errorf("%s: want %q, got %q", name, text, got)
		}
		return err
	}
	switch scenario {
	case "handshake":
		if s.ping != nil {
			err = s.ping(ctx)
		}
	case "tools":
		if err = s.list(ctx); err == nil {
			err = want("echo", `{"message":"hello"}`, "hello")
		}
	case "elicitation":
		err = want("ask", `{"question":"Your name?"}`, "answer: Ada")
	case "sampling":
		err = want("sample", `{"prompt":"Say hi"}`, "Hi!")
	case "roots":
		err = want("roots", `{}`, "file:///work")
	case "cancel":
		call, cancel := context.WithCancel(ctx)
		go func() { <-seen; cancel() }()
		if _, err = s.call(call, "count", `{"steps":2,"delayMs":60000}`); errors.Is(err, context.Canceled) {
			if err = nil; s.ping != nil {
				err = s.ping(ctx)
			} else {
				err = s.list(ctx)
			}
		}
	default:
		err = fmt.Errorf("no scenario is called %q", scenario)
	}
	return errors.Join(err, s.close())
}
