// Command goldwire is this repository in the matrix: a server of all
// revisions, and a client of the one that is asked for.
package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"

	"github.com/goldwire/goldwire/testdata/peers/matrix/script"
)

func main() {
	script.Main(script.Server{
		Stdio: func(revision string) error {
			s, err := server(revision)
			if err != nil {
				return err
			}
			return jsonrpc.Serve(context.Background(), jsonl.Stdio(), s)
		},
		HTTP: func(revision string) (http.Handler, error) {
			s, err := server(revision)
			if err != nil {
				return nil, err
			}
			h := streamhttp.NewHandler(s)
			return h, h.Err()
		},
		SSE: func(revision string) (http.Handler, error) {
			s, err := server(revision)
			if err != nil {
				return nil, err
			}
			h := ssehttp.NewHandler(s)
			return h, h.Err()
		},
	}, dial)
}

var hub jsonrpc.Hub

// server is one of all revisions, or of the one that is asked for: some
// clients only ever offer their newest, and take what is answered.
func server(revision string) (jsonrpc.Binder, error) {
	if revision == "" {
		return compat.Revisions(server20241105(), server20250326(), server20250618(), server20251125(), server20260728()), nil
	}
	s, ok := servers[revision]
	if !ok {
		return nil, fmt.Errorf("no revision %q", revision)
	}
	return compat.Revisions(s()), nil
}

var servers = map[string]func() jsonrpc.Binder{
	"2024-11-05": server20241105,
	"2025-03-26": server20250326,
	"2025-06-18": server20250618,
	"2025-11-25": server20251125,
	"2026-07-28": server20260728,
}

func run(ctx context.Context, tool string) (string, error) {
	peer := jsonrpc.PeerOf(ctx)
	return script.Run(ctx, tool, func(done float64) error {
		return peer.Progress(ctx, done, nil, "")
	}, func() error {
		hub.ResourceUpdated(ctx, script.NoteURI)
		return nil
	})
}

func withProgress(ctx context.Context, f func(float64)) context.Context {
	return jsonrpc.WithCallOptions(ctx, jsonrpc.CallOptions{Progress: func(p jsonrpc.Progress) { f(p.Progress) }})
}

var dialers = map[string]func(context.Context, jsonrpc.Dialer, func(string)) (*script.Client, error){
	"2024-11-05": dial20241105,
	"2025-03-26": dial20250326,
	"2025-06-18": dial20250618,
	"2025-11-25": dial20251125,
	"2026-07-28": dial20260728,
}

func dial(ctx context.Context, t script.Target) (*script.Client, error) {
	connect, ok := dialers[t.Revision]
	if !ok {
		return nil, fmt.Errorf("no revision %q", t.Revision)
	}
	switch t.Carrier {
	case "http", "fallback":
		return connect(ctx, streamhttp.URL(t.URL), t.Updated)
	case "sse":
		return connect(ctx, ssehttp.URL(t.URL), t.Updated)
	}
	return connect(ctx, jsonl.Command(t.Command[0], t.Command[1:]...), t.Updated)
}
