// Command mcpgen makes this module's generated code from the specification.
//
// It imports only spec and gen, so a tree whose generated code does not build
// can always be generated again.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // the command did its work and the answer is no, or it could not do it
	exitUsage   = 2 // the command line is wrong
)

// usageError is an error of the command line.
type usageError struct{ error }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	s := streams{stdin, stdout, stderr}
	root := &cobra.Command{
		Use:           "mcpgen",
		Short:         "Make Go bindings of the Model Context Protocol from its specification",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.AddCommand(generateCommand(s), docsCommand(s), diffCommand(s), revisionCommand(s), importCommand(s), verifyCommand(s))
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, c := range append(root.Commands(), root) {
		c.Args = usageArgs(c.Args)
	}
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "mcpgen:", err)
	var u usageError
	if errors.As(err, &u) {
		fmt.Fprintln(stderr, "mcpgen help says how")
		return exitUsage
	}
	return exitFailure
}

// usageArgs marks what a check of the arguments finds as an error of the command line.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
