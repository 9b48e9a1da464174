package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/client"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

// clientFlags are those of check --client.
type clientFlags struct {
	on            bool
	listen, drive string
	idle          time.Duration
}

// connectName is the hidden command that stands between a client and a play.
const connectName = "connect-play"

const clientHelp = `
With --client it is a client that is judged: CMD is started anew for each of the
scripts by which a server of ours treats it, and what it sends is judged. In CMD
{url} stands for the address of that server, and {command} for a command line
that starts one over stdio: as an argument of its own it becomes several, inside
another argument it is one text as a shell reads it. {config} is the name of a
file with an mcpServers map that leads to it, over stdio, or over HTTP where
{url} stands in CMD too. Where none of them is there the address becomes the
last argument, and MCP_CONFORMANCE_SCENARIO, MCP_CONFORMANCE_PROTOCOL_VERSION
and MCP_CONFORMANCE_CONTEXT say what the official suite says. Nothing else is
assumed of the client: what it does not do is not seen. --drive is a command
line that makes it do more, run once it has connected; GOLDWIRE_SCRIPT,
GOLDWIRE_REVISION, GOLDWIRE_TRANSPORT and, over HTTP, GOLDWIRE_URL tell it and
CMD what is played. --listen waits for a client that is started by hand, as in
an IDE, judges it by the revision that it asks for (or that of --revision), and
says on stderr what to do: each time the client connects anew the next script is
played to it, at the same address, until all were or Ctrl-C ends the run with a
report of what was seen.
`

// add adds the flags.
func (f *clientFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.BoolVar(&f.on, "client", false, "judge a client: CMD leads it to a server of ours by {url}, {command} or {config}")
	fl.StringVar(&f.listen, "listen", "", "judge a client that is started by hand and led to `ADDR`, as in 127.0.0.1:8080")
	fl.StringVar(&f.drive, "drive", "", "a command `LINE` that makes the client do more, run by a shell in each script once it has connected")
	fl.DurationVar(&f.idle, "idle", 2*time.Second, "how long a client that does not end by itself may be silent before a script is over")
}

// parallelScripts is how many scripts are played at once where --parallel does
// not say.
const parallelScripts = 4

// check holds what does not fit together.
func (f *checkFlags) checkClient(args []string) error {
	c := &f.client
	if c.listen != "" {
		c.on = true
		if len(args) > 0 {
			return errors.New("--listen waits for a client that somebody else starts: there is no command to start then")
		}
		if _, _, err := net.SplitHostPort(c.listen); err != nil {
			return fmt.Errorf("--listen %s: %w", c.listen, err)
		}
	}
	switch {
	case !c.on && c.drive != "":
		return errors.New("--drive is for check --client")
	case !c.on:
		return nil
	case f.config != "" || f.url != "":
		return errors.New("--client judges a client, and a URL or --config names a server")
	case len(f.allow)+len(f.deny) > 0:
		return errors.New("--allow-tool and --deny-tool say what is called of a server, and --client judges a client")
	case f.profile != "plain":
		return errors.New("--profile says what a server is prepared with, and --client judges a client")
	case len(args) == 0 && c.listen == "" && !f.list:
		return errors.New("no client is named: goldwire check --client -- CMD {url}")
	case c.idle <= 0:
		return fmt.Errorf("--idle %s: want more than nothing", c.idle)
	}
	return nil
}

// judge runs the target and judges it.
func (f *checkFlags) judge(cmd *cobra.Command, t conformance.Target, o conformance.Options) (*result.Report, error) {
	if !f.client.on {
		return conformance.Run(cmd.Context(), t, o)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if !cmd.Flags().Changed("parallel") {
		o.Parallel = parallelScripts
	}
	over := []catalogue.Transport(nil)
	if cmd.Flags().Changed("transport") && f.transport != "auto" {
		over = []catalogue.Transport{catalogue.Transport(f.transport)}
	}
	limits := client.Limits{Start: f.timeout, Idle: f.client.idle}
	if cmd.Flags().Changed("probe-timeout") {
		limits.Play = f.probeTimeout
	}
	ctx, stop, hand := cmd.Context(), (<-chan struct{})(nil), byHand{w: cmd.ErrOrStderr(), idle: f.client.idle}
	if f.client.listen != "" {
		// Whoever starts the client by hand ends by hand, and wants the report.
		ctx, stop = context.WithoutCancel(ctx), ctx.Done()
	}
	return conformance.RunClient(ctx, client.Target{
		Command: t.Command, Dir: t.Dir, Env: t.Env, Inherit: t.Inherit,
		Between: []string{self, connectName}, Listen: f.client.listen, Drive: f.client.drive,
	}, conformance.ClientOptions{Options: o, Limits: limits, Transports: over, Waiting: hand.tell, Stop: stop})
}

// byHand tells somebody who starts the client by hand what to do.
type byHand struct {
	w    io.Writer
	idle time.Duration // of silence, after which the client is to connect anew
}

func (h byHand) tell(p client.Waiting) {
	switch next := p.Number + 1; {
	case p.Script == "":
		fmt.Fprintf(h.w, "Lead your client to %s (over the HTTP+SSE of 2024-11-05: %s),\n", p.URL, p.Old)
		fmt.Fprintln(h.w, "let it connect and use it: list its tools, call one. Each time it connects anew,")
		fmt.Fprintf(h.w, "after a silence of %s (--idle), it meets another server: a client without sessions\n", h.idle)
		fmt.Fprintln(h.w, "does so with its next request. Ctrl-C ends this, and judges what was seen until then.")
	case !p.Quiet:
		fmt.Fprintf(h.w, "%d of %d, %s: %s (%s over %s)\n", p.Number, p.Of, p.Script, p.About, p.Revision, p.Transport)
	default:
		fmt.Fprintf(h.w, "    the client is silent: disconnect it and connect it again for %d of %d, or use it further\n", next, p.Of)
	}
}

// reported is the target as a report without verdicts names it.
func (f *checkFlags) reported(t conformance.Target, redact *result.Redactor) result.Target {
	out := t.Reported(redact)
	if f.client.on {
		out.Side = string(catalogue.Client)
	}
	return out
}

// clientFailure tells the errors of a run that judges a client: the exit code
// and what a report says; false for other errors.
func clientFailure(err error) (code int, out result.Failure, ok bool) {
	var (
		start    *client.StartError
		silent   *client.SilentError
		revision *client.RevisionError
	)
	switch {
	case errors.As(err, &start):
		return exitTarget, result.Failure{Kind: result.FailedStart, Message: start.Error()}, true
	case errors.As(err, &silent):
		kind := result.FailedSilent
		if silent.How != "" {
			kind = result.FailedDied
		}
		return exitTarget, result.Failure{Kind: kind, Stderr: silent.Stderr, Message: (&client.SilentError{How: silent.How}).Error()}, true
	case errors.As(err, &revision):
		return exitNoResult, result.Failure{Kind: result.FailedRevision, Message: revision.Error()}, true
	}
	return 0, out, false
}

// connectCommand is what a client starts as its server over stdio.
func connectCommand() *cobra.Command {
	return &cobra.Command{
		Use:    connectName + " ADDRESS",
		Short:  "Stand between a client and the server that check --client plays to it",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := client.Connect(cmd.Context(), args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			if err != nil {
				return &exitError{exitTarget, errors.New(report.Plain(strings.TrimSpace(err.Error())))}
			}
			if code != 0 {
				return &exitError{code: code}
			}
			return nil
		},
	}
}
