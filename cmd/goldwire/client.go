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
		Use:   "client URL\n  goldwire client -- CMD ARGS…",
		Short: "Be the reference client of a server",
		Long: `Connects to the server at URL, or starts it as CMD, in the newest revision that
it speaks, counts what it lists and leaves.

In the environment of the official conformance suite it does what the scenario
MCP_CONFORMANCE_SCENARIO asks instead, with MCP_CONFORMANCE_CONTEXT where that
is given; what the server speaks it finds out. The scenarios of authorization
are not among those it knows.`,
		Example: `  goldwire client http://127.0.0.1:8080/mcp
  npx @modelcontextprotocol/conformance client --command "goldwire client" --requirements 2026-07-28`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := targetOf(cmd, args, nil)
			if err == nil && len(rest) > 0 {
				err = errors.New("a server is named by one URL, or by a command behind --")
			}
			if err != nil {
				return &exitError{exitUsage, err}
			}
			s := everything.Scenario{Name: os.Getenv(envScenario)}
			if text := os.Getenv(envContext); text != "" {
				if s.Context, err = wire.ParseRaw([]byte(text)); err != nil {
					return &exitError{exitUsage, errors.New(envContext + ": " + err.Error())}
				}
			}
			err = everything.Run(cmd.Context(), t.dialer(), s, cmd.OutOrStdout())
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
