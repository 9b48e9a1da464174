// Command goldwire judges MCP servers and clients by what they put on the wire,
// records, replays and bridges it, and carries the reference server and client
// that it is tried on.
//
//	goldwire check -- CMD ARGS…   judge a server that is started as CMD
//	goldwire check                judge the built-in reference server
//	goldwire record -- CMD ARGS…  record what a client and a server say
//	goldwire lint FILE…           judge recordings, both sides
//	goldwire replay FILE TARGET   play a recording to a server, or be its server
//	goldwire redact FILE          replace secrets in a recording
//	goldwire diff BEFORE AFTER    compare two reports of check, or two recordings
//	goldwire serve                be the reference server, on stdin and stdout
//	goldwire client …             be the reference client of a server
//	goldwire bridge …             put another transport or revision in front of a server
//	goldwire call …               call one method of a server
//	goldwire requirements         list what is required, and what the checks judge of it
//
// Without a command it prints on stderr what commands there are, and ends with
// status 2.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/report"
)

// Exit codes of every command.
const (
	exitOK       = 0 // done; for check: no rule was broken
	exitBroken   = 1 // check: a MUST was broken; diff: something got worse
	exitUsage    = 2 // the command line makes no sense
	exitTarget   = 3 // the target could not be started, stayed silent, or died before it had answered
	exitStale    = 4 // check: nothing is broken, but an entry of the baseline is not true any more
	exitNoResult = 5 // nothing was observed, not all that has to hold could be judged, or the checker itself failed
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// exitError ends the command with a code; its message, if any, goes to stderr.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	root := &cobra.Command{
		Use:           "goldwire",
		Short:         "Judge MCP servers and clients by what they put on the wire; record, replay and bridge it",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(stderr)
			return errors.Join(&exitError{exitUsage, errors.New("no command is given")}, cmd.Help())
		},
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &exitError{exitUsage, likeFlag(cmd, err)} })
	root.AddCommand(checkCommand(), diffCommand(), serveCommand(), clientCommand(), requirementsCommand(), bridgeCommand(), callCommand(), connectCommand(),
		recordCommand(), redactCommand(), lintCommand(), replayCommand())

	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, err} // cobra's own: an unknown command, too many arguments
	}
	if exit.err != nil {
		fmt.Fprintln(stderr, "goldwire:", report.Plain(exit.err.Error())) // it may quote a server
	}
	if exit.code == exitUsage {
		hint := "Run " + cmd.CommandPath() + " --help for what there is"
		if cmd.Name() == "check" {
			hint += ", and goldwire check --list for the checks"
		}
		fmt.Fprintln(stderr, hint+".")
	}
	return exit.code
}

// errInterrupted says that a signal came before there was a result.
var errInterrupted = errors.New("interrupted")

// interruptible does what reads files, and looks at no context, until the context
// ends; what still runs then ends with the process. Nearly all its memory is what
// was read, which stays: so garbage is let grow by a quarter of that only.
func interruptible(ctx context.Context, do func() error) error {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return &exitError{exitNoResult, errInterrupted}
	}
}

// version is what the go command recorded when it built this program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
