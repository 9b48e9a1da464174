package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/jsonl"
	"github.com/goldwire/goldwire/runtime/jsonrpc"
)

func serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Be the reference server, on stdin and stdout",
		Long: `Serves the features that the checker looks at (tools, prompts, resources,
completion, logging, progress, cancellation, subscriptions) to one client on
stdin and stdout, in the revision that the client speaks, until stdin ends.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := jsonrpc.Serve(cmd.Context(), jsonl.Stdio(), everything.Server())
			if err != nil && !errors.Is(err, context.Canceled) {
				return &exitError{exitNoResult, err}
			}
			return nil
		},
	}
}
