// Command goldwire is this repository in the matrix: a server of all
// revisions, and a client of the one that is asked for.
package main

//go:generate sh -c "for d in 20241105 20250326 20250618; do sed s/20251125/$DOLLAR{d}/g v20251125.go >v$DOLLAR{d}.go; done"

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

var connects = map[string]func(context.Context, jsonrpc.Dialer, *jsonrpc.Conn, func(string)) (*script.Client, error){
	"2024-11-05": connect20241105,
	"2025-03-26": connect20250326,
	"2025-06-18": connect20250618,
	"2025-11-25": connect20251125,
	"2026-07-28": connect20260728,
}

func dial(ctx context.Context, t script.Target) (*script.Client, error) {
	var d jsonrpc.Dialer
	switch t.Carrier {
	case "http", "fallback":
		d = streamhttp.URL(t.URL)
	case "sse":
		d = ssehttp.URL(t.URL)
	default:
		d = jsonl.Command(t.Command[0], t.Command[1:]...)
	}
	revision := t.Revision
	var conn *jsonrpc.Conn
	if t.Detect {
		var err error
		conn, err = compat.DialRevisions(ctx, d, client20260728(t.Updated), client20251125(t.Updated), client20250618(t.Updated), client20250326(t.Updated), client20241105(t.Updated))
		if err != nil {
			return nil, err
		}
		revision = conn.Session().Revision
	}
	connect, ok := connects[revision]
	if !ok {
		return nil, fmt.Errorf("no revision %q", revision)
	}
	return connect(ctx, d, conn, t.Updated)
}
