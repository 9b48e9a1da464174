package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/everything"
	"github.com/goldwire/goldwire/runtime/wire"
)

// The environment in which the official conformance suite starts a client.
const (
	envScenario = "MCP_CONFORMANCE_SCENARIO"
	envContext  = "MCP_CONFORMANCE_CONTEXT"
)

func clientCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "client URL",
		Short: "Be the reference client of a server over HTTP",
		Long: `Connects to a server in the newest revision that it speaks, counts what it
lists and leaves.

In the environment of the official conformance suite it does what the scenario
MCP_CONFORMANCE_SCENARIO asks instead, with MCP_CONFORMANCE_CONTEXT where that
is given; what the server speaks it finds out. The scenarios of authorization
are not among those it knows.`,
		Example: `  goldwire client http://127.0.0.1:8080/mcp
  npx @modelcontextprotocol/conformance client --command "goldwire client" --requirements 2026-07-28`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s := everything.Scenario{Name: os.Getenv(envScenario)}
			if text := os.Getenv(envContext); text != "" {
				var err error
				if s.Context, err = wire.ParseRaw([]byte(text)); err != nil {
					return &exitError{exitUsage, errors.New(envContext + ": " + err.Error())}
				}
			}
			err := everything.Run(cmd.Context(), args[0], s, cmd.OutOrStdout())
			if unknown, ok := errors.AsType[*everything.UnknownScenarioError](err); ok {
				return &exitError{exitUsage, unknown}
			}
			if err != nil {
				return &exitError{exitTarget, err}
			}
			return nil
		},
	}
}
