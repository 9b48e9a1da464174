package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

func serveCommand() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Be the reference server, on stdin and stdout or over HTTP",
		Long: `Serves the features that the checker looks at (tools, prompts, resources,
completion, logging, progress, cancellation, subscriptions) to one client on
stdin and stdout, in the revision that the client speaks, until stdin ends.

With --http it serves Streamable HTTP to any number of clients, at the path
/mcp, until it is interrupted: the revision is chosen request by request.`,
		Example: `  goldwire serve
  goldwire serve --http :8080
  goldwire serve --http 0.0.0.0:8080`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if cmd.Flags().Changed("http") {
				err = serveHTTP(cmd.Context(), addr, cmd.ErrOrStderr())
			} else {
				err = jsonrpc.Serve(cmd.Context(), jsonl.Stdio(), everything.Server())
			}
			if err != nil && !errors.Is(err, context.Canceled) {
				return &exitError{exitNoResult, err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&addr, "http", "", "serve over HTTP at this address, `HOST:PORT`; without a host only this machine is served, port 0 is a free one")
	return cmd
}

// serveHTTP serves at an address until ctx ends, and says where.
func serveHTTP(ctx context.Context, addr string, out io.Writer) error {
	l, err := streamhttp.Listen(ctx, addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "serving at http://%s/mcp\n", l.Addr())
	h := streamhttp.NewHandler(everything.Server(), streamhttp.HandlerOptions{Polling: true})
	return streamhttp.Serve(ctx, l, h, func(h http.Handler) http.Handler {
		mux := http.NewServeMux()
		mux.Handle("/mcp", h)
		return mux
	})
}
