package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/compat"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/ssehttp"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

func serveCommand() *cobra.Command {
	var o serveOptions
	var keyFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be the reference server, on stdin and stdout and over HTTP",
		Long: `Serves the features that the checker looks at (tools, prompts, resources,
completion, logging, progress, cancellation, subscriptions, input), and the
fixtures of the official conformance suite, to one client on stdin and stdout,
in the revision that the client speaks, until stdin ends.

With --http it serves Streamable HTTP to any number of clients as well, at the
path /mcp, until it is interrupted; with --sse the older HTTP+SSE too, at /sse.
The revision is chosen request by request. Stdin is left alone then when it is
a terminal.

Several servers behind a load balancer take up one another's calls that ask for
input when they have the same key, the contents of a file of at least 16 bytes.`,
		Example: `  goldwire serve
  goldwire serve --http :8080
  goldwire serve --http 0.0.0.0:8080 --sse`,
		Args: wants(0, 0, "no argument: goldwire serve is the server itself"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.sse && o.addr == "" {
				return &exitError{exitUsage, errors.New("--sse needs --http")}
			}
			sealer, err := sealerOf(keyFile)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			ctx, server := cmd.Context(), everything.Server(everything.Options{Sealer: sealer})
			if cmd.Flags().Changed("http") {
				if !term.IsTerminal(int(os.Stdin.Fd())) { // a job in the background may not read one
					go func() { _ = jsonrpc.Serve(ctx, jsonl.Stdio(), server) }() // ends with the process
				}
				err = serveHTTP(ctx, server, o, cmd.ErrOrStderr())
			} else {
				err = jsonrpc.Serve(ctx, jsonl.Stdio(), server)
			}
			if _, ok := errors.AsType[*exitError](err); ok {
				return err
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				return &exitError{exitNoResult, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.addr, "http", "", "serve over HTTP at this address, `HOST:PORT`; without a host only this machine is served, port 0 is a free one")
	cmd.Flags().BoolVar(&o.sse, "sse", false, "serve HTTP+SSE there as well")
	cmd.Flags().StringVar(&keyFile, "state-key", "", "the `FILE` with the key that replicas share")
	return cmd
}

// sealerOf makes the sealer of a key in a file, nil for no file.
func sealerOf(file string) (*compat.Sealer, error) {
	if file == "" {
		return nil, nil
	}
	key, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--state-key: %w", err)
	}
	s, err := compat.NewSealer(0, key)
	if err != nil {
		return nil, fmt.Errorf("--state-key %s: %w", file, err)
	}
	return s, nil
}

type serveOptions struct {
	addr string
	sse  bool
}

// sseDrain is how long clients of HTTP+SSE have to get their last answers.
const sseDrain = 10 * time.Second

// serveHTTP serves at an address until ctx ends, and says where.
func serveHTTP(ctx context.Context, server jsonrpc.Binder, o serveOptions, out io.Writer) error {
	l, err := streamhttp.Listen(ctx, o.addr)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--http: %w", err)}
	}
	mux := http.NewServeMux()
	fmt.Fprintf(out, "serving at http://%s/mcp\n", l.Addr())
	if o.sse {
		h := ssehttp.NewHandler(server)
		mux.Handle("/sse", h)
		fmt.Fprintf(out, "serving HTTP+SSE at http://%s/sse\n", l.Addr())
		over := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(over)
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sseDrain)
			defer cancel()
			_ = h.Shutdown(ctx)
		})
		defer func() {
			if !stop() {
				<-over
			}
		}()
	}
	h := streamhttp.NewHandler(server, streamhttp.HandlerOptions{Polling: true})
	return streamhttp.Serve(ctx, l, h, func(h http.Handler) http.Handler {
		mux.Handle("/mcp", h)
		return mux
	})
}
