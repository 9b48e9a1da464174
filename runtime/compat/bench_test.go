package compat_test

//lint:file-ignore SA1019 what is deprecated is converted all the same

import (
	"context"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	v20250618 "github.com/goldwire/goldwire/generated/mcp/v20250618"
	v20251125 "github.com/goldwire/goldwire/generated/mcp/v20251125"
	v20260728 "github.com/goldwire/goldwire/generated/mcp/v20260728"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
	"github.com/goldwire/goldwire/runtime/wire"
)

func echo20250618() v20250618.Server {
	return v20250618.Server{
		Info: v20250618.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20250618.ListToolsParams) (*v20250618.ListToolsResult, error) {
			return &v20250618.ListToolsResult{Tools: []v20250618.Tool{{Name: "echo"}}}, nil
		},
		CallTool: func(_ context.Context, p *v20250618.CallToolParams) (*v20250618.CallToolResult, error) {
			text, _ := p.Arguments.Get("text").Str()
			return &v20250618.CallToolResult{Content: []v20250618.ContentBlock{&v20250618.TextContent{Text: text}}}, nil
		},
	}
}

func echo20251125() v20251125.Server {
	return v20251125.Server{
		Info: v20251125.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20251125.ListToolsParams) (*v20251125.ListToolsResult, error) {
			return &v20251125.ListToolsResult{Tools: []v20251125.Tool{{Name: "echo"}}}, nil
		},
		CallTool: func(_ context.Context, p *v20251125.CallToolParams) (*v20251125.CallToolResult, error) {
			text, _ := p.Arguments.Get("text").Str()
			return &v20251125.CallToolResult{Content: []v20251125.ContentBlock{&v20251125.TextContent{Text: text}}}, nil
		},
	}
}

func echo20260728() v20260728.Server {
	return v20260728.Server{
		Info: v20260728.Implementation{Name: "s", Version: "1"},
		ListTools: func(context.Context, *v20260728.ListToolsParams) (*v20260728.ListToolsResult, error) {
			return &v20260728.ListToolsResult{Tools: []v20260728.Tool{{Name: "echo"}}}, nil
		},
		CallTool: func(_ context.Context, p *v20260728.CallToolParams) (*v20260728.CallToolResult, error) {
			text, _ := p.Arguments.Get("text").Str()
			return &v20260728.CallToolResult{Content: []v20260728.ContentBlock{&v20260728.TextContent{Text: text}}}, nil
		},
	}
}

// asks is a client that may be asked, so that its calls are kept.
var asks = v20260728.Client{
	Elicit: func(context.Context, v20260728.ElicitParams) (*v20260728.ElicitResult, error) { return nil, nil },
}

var benchArguments = wire.Raw(`{"text":"The quick brown fox jumps over the lazy dog."}`)

// BenchmarkCallTool compares a call of a tool whose server is written for the
// client's revision with one whose server, or client, is converted by one step.
// Nothing but memory lies between the two.
func BenchmarkCallTool(b *testing.B) {
	for _, c := range []struct {
		name    string
		server  jsonrpc.Binder
		connect connector
	}{
		{"2025-06-18/native", echo20250618(), call20250618},
		{"2025-06-18/served by 2025-11-25", compat.Server(echo20251125()), call20250618},
		{"2025-11-25/native", echo20251125(), call20251125(v20251125.Connect)},
		{"2025-11-25/served by 2026-07-28", compat.Server(echo20260728()), call20251125(v20251125.Connect)},
		{"2025-11-25/served by 2025-06-18", compat.Server(echo20250618()), call20251125(v20251125.Connect)},
		{"2025-11-25/dials 2026-07-28", echo20260728(), call20251125(compat.Dial[*v20251125.RemoteServer, v20251125.Client])},
		{"2026-07-28/native", echo20260728(), call20260728(v20260728.Connect, v20260728.Client{})},
		{"2026-07-28/served by 2025-11-25", compat.Server(echo20251125()), call20260728(v20260728.Connect, v20260728.Client{})},
		{"2026-07-28/native, asks", echo20260728(), call20260728(v20260728.Connect, asks)},
		{"2026-07-28/served by 2025-11-25, may ask", compat.Server(echo20251125()), call20260728(v20260728.Connect, asks)},
		{"2026-07-28/dials 2025-11-25", echo20251125(), call20260728(compat.Dial[*v20260728.RemoteServer, v20260728.Client], v20260728.Client{})},
	} {
		b.Run(c.name, func(b *testing.B) {
			here, there := jsonl.InMemory()
			done := make(chan error, 1)
			go func() { done <- jsonrpc.Serve(context.Background(), there, c.server) }()
			call, close, err := c.connect(b.Context(), here)
			require.NoError(b, err)
			b.ReportAllocs()
			for b.Loop() {
				if err := call(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, close())
			require.NoError(b, <-done)
		})
	}
}

// connector connects a client.
type connector func(context.Context, jsonrpc.Dialer) (call func(context.Context) error, close func() error, err error)

func call20250618(ctx context.Context, d jsonrpc.Dialer) (func(context.Context) error, func() error, error) {
	r, err := v20250618.Connect(ctx, d, v20250618.Client{})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		_, err := r.CallTool(ctx, &v20250618.CallToolParams{Name: "echo", Arguments: benchArguments})
		return err
	}, r.Close, nil
}

func call20251125(connect func(context.Context, jsonrpc.Dialer, v20251125.Client) (*v20251125.RemoteServer, error)) connector {
	return func(ctx context.Context, d jsonrpc.Dialer) (func(context.Context) error, func() error, error) {
		r, err := connect(ctx, d, v20251125.Client{})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error {
			_, err := r.CallTool(ctx, &v20251125.CallToolParams{Name: "echo", Arguments: benchArguments})
			return err
		}, r.Close, nil
	}
}

func call20260728(connect func(context.Context, jsonrpc.Dialer, v20260728.Client) (*v20260728.RemoteServer, error), c v20260728.Client) connector {
	return func(ctx context.Context, d jsonrpc.Dialer) (func(context.Context) error, func() error, error) {
		r, err := connect(ctx, d, c)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error {
			_, err := r.CallTool(ctx, &v20260728.CallToolParams{Name: "echo", Arguments: benchArguments})
			return err
		}, r.Close, nil
	}
}

// BenchmarkConversion measures what one step costs a call of a tool, as a share
// of a native call over the pipes that stdio has: batches of either kind take
// turns, so that both meet the same machine, and the median of their ratios is
// reported.
func BenchmarkConversion(b *testing.B) {
	modern := v20260728.Client{}
	for _, c := range []struct {
		name              string
		native, converted side
	}{
		{"2025-06-18 served by 2025-11-25", side{echo20250618(), call20250618}, side{compat.Server(echo20251125()), call20250618}},
		{"2025-11-25 served by 2025-06-18", side{echo20251125(), call20251125(v20251125.Connect)}, side{compat.Server(echo20250618()), call20251125(v20251125.Connect)}},
		{"2025-11-25 served by 2026-07-28", side{echo20251125(), call20251125(v20251125.Connect)}, side{compat.Server(echo20260728()), call20251125(v20251125.Connect)}},
		{"2026-07-28 served by 2025-11-25", side{echo20260728(), call20260728(v20260728.Connect, modern)}, side{compat.Server(echo20251125()), call20260728(v20260728.Connect, modern)}},
		{"2025-11-25 dialling 2026-07-28", side{echo20260728(), call20260728(v20260728.Connect, modern)}, side{echo20260728(), call20251125(compat.Dial[*v20251125.RemoteServer, v20251125.Client])}},
		{"2026-07-28 dialling 2025-11-25", side{echo20251125(), call20251125(v20251125.Connect)}, side{echo20251125(), call20260728(compat.Dial[*v20260728.RemoteServer, v20260728.Client], modern)}},
	} {
		b.Run(c.name, func(b *testing.B) { compare(b, overPipes, c.native, c.converted) })
	}
}

// BenchmarkKeptCall measures the same for a handler of 2025-11-25 that might ask
// its client of 2026-07-28 something, and does not: it runs on a goroutine of its
// own, so that it could wait for the client's next request. That is a change of
// goroutines for each call, which a call over pipes notices.
func BenchmarkKeptCall(b *testing.B) {
	native := side{echo20260728(), call20260728(v20260728.Connect, asks)}
	kept := side{compat.Server(echo20251125()), call20260728(v20260728.Connect, asks)}
	b.Run("HTTP", func(b *testing.B) { compare(b, overHTTP, native, kept) })
	b.Run("pipes", func(b *testing.B) { compare(b, overPipes, native, kept) })
}

// side is a server with a client of its own.
type side struct {
	server  jsonrpc.Binder
	connect connector
}

func overPipes(b *testing.B, server jsonrpc.Binder) jsonrpc.Dialer {
	in, toServer, err := os.Pipe()
	require.NoError(b, err)
	fromServer, out, err := os.Pipe()
	require.NoError(b, err)
	done := make(chan error, 1)
	go func() { done <- jsonrpc.Serve(context.Background(), jsonl.Pipe(in, out), server) }()
	b.Cleanup(func() { require.NoError(b, <-done) })
	return jsonl.Pipe(fromServer, toServer)
}

func overHTTP(b *testing.B, server jsonrpc.Binder) jsonrpc.Dialer {
	h := streamhttp.NewHandler(server)
	s := httptest.NewServer(h)
	b.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return streamhttp.URL(s.URL)
}

// compare reports how much longer the calls of one side take than those of the
// other.
func compare(b *testing.B, way func(*testing.B, jsonrpc.Binder) jsonrpc.Dialer, native, other side) {
	const batch = 100
	open := func(s side) func() {
		call, close, err := s.connect(b.Context(), way(b, s.server))
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, close()) })
		return func() {
			for range batch {
				if err := call(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	nativeCalls, otherCalls := open(native), open(other)
	var ratios []float64
	for b.Loop() {
		t0 := time.Now()
		nativeCalls()
		t1 := time.Now()
		otherCalls()
		t2 := time.Now()
		nativeCalls()
		t3 := time.Now()
		ratios = append(ratios, 2*t2.Sub(t1).Seconds()/(t1.Sub(t0)+t3.Sub(t2)).Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(100*(ratios[len(ratios)/2]-1), "%over")
}
