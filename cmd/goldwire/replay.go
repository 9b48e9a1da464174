package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/replay"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

type replayFlags struct {
	serve, update, strict, redacted bool
	listen, bearer, save            string
	headers                         []string
	session                         int
	timeout                         time.Duration
}

func replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay [flags] FILE -- CMD ARGS…  |  replay [flags] FILE URL  |  replay --serve [flags] FILE",
		Short: "Play a recording to a server, or be the server of a recording",
		Long: `Plays the client's side of a transcript or recording to a server that is started
as CMD or serves at URL, and says where it answers otherwise. Answers are matched
by their requests, in any order that the protocol allows; ids, progress tokens,
cursors and states that the server chooses are mapped, and members of _meta that
only say who speaks may differ. A recording of one transport plays over another.
--update writes what the server says now into FILE, in the place of what it said;
placeholders stay where they still hold.

With --serve it is the server of the recording, for any client: on stdin and
stdout, or over HTTP with --listen. A request is answered as the recorded one
that is the same; of several the first answers first, and the last one again. A
request that the recording does not have is answered with an error that says how
it differs from the nearest one. An input_required and the request that answers it
count as one. With --strict the client has to say what the recording says, in its
order.

A recording is refused without --redacted when its head has the field redacted
(record writes it for rules that look at messages, redact where one was changed),
or a message is marked (r): what stands there is not what was said. With --redacted
it is played as it stands, [redacted] sent and wanted as such. Where only headers,
URLs or the command line were replaced it plays without: recorded credentials are
never sent, and --header and --bearer give those of now. What looks like a
credential is not printed.

Exit status: 0 all was as recorded; 1 something was not; 2 the command line makes
no sense, or FILE cannot be played; 3 the server could not be started or reached;
5 the file could not be written, or it was interrupted.`,
		Example: `  goldwire replay session.wire -- ./my-server --stdio
  goldwire replay --update session.wire http://localhost:3000/mcp
  goldwire replay --serve --listen 127.0.0.1:8080 session.wire`,
		Args: wants(1, -1, "a recording to play: goldwire replay FILE TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.serve, "serve", false, "be the server of the recording")
	fl.StringVar(&f.listen, "listen", "", "with --serve: over HTTP at this `ADDR` (host:port, port 0 for a free one)")
	fl.BoolVar(&f.strict, "strict", false, "with --serve: the client has to say what the recording says, in its order")
	fl.BoolVar(&f.update, "update", false, "write what the server says now into FILE")
	fl.StringVar(&f.save, "save", "", "write a recording of what happened to `FILE`")
	fl.BoolVar(&f.redacted, "redacted", false, "play a recording although secrets were replaced in its messages")
	fl.IntVar(&f.session, "session", 0, "the `NUMBER` of the session to play, from 1, of a recording that holds several")
	headerFlag(cmd, &f.headers)
	fl.StringVar(&f.bearer, "bearer", "", "the `TOKEN` that requests to URL carry; ${NAME} in it stands for a variable of the environment")
	fl.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long the next line may take")
	return cmd
}

func (f *replayFlags) run(cmd *cobra.Command, args []string) error {
	usage := func(format string, a ...any) error { return &exitError{exitUsage, fmt.Errorf(format, a...)} }
	dash := cmd.ArgsLenAtDash()
	atURL := len(args) == 2 && dash < 0 && isURL(args[1])
	switch {
	case f.serve && len(args) != 1:
		return usage("--serve wants the recording and nothing else")
	case f.serve && f.update:
		return usage("--update writes what a server says: with --serve there is none")
	case !f.serve && (f.listen != "" || f.strict):
		return usage("--listen and --strict belong to --serve")
	case !f.serve && len(args) < 2:
		return usage("want the server to play to: a command behind --, or a URL")
	case !f.serve && dash < 0 && len(args) == 2 && withScheme(args[1]) != args[1]:
		return usage("want http:// or https:// before the server's address: goldwire replay %s %s", args[0], withScheme(args[1]))
	case !f.serve && !atURL && dash != 1:
		return usage("want -- between the recording and the server's command, or a URL")
	case f.timeout <= 0:
		return usage("--timeout %s: want more than nothing", f.timeout)
	}
	var whole *transcript.Recording
	if err := interruptible(cmd.Context(), func() (err error) { // stdin or a pipe may be silent
		if whole, err = readRecording(args[0]); err != nil {
			return &exitError{exitUsage, err}
		}
		return nil
	}); err != nil {
		return err
	}
	rec, err := f.pick(whole)
	if err != nil {
		return usage("%s: %v", args[0], err)
	}
	if !slices.ContainsFunc(rec.Events, func(e transcript.Event) bool { return e.Message() }) {
		return usage("%s: there is no message in it to play", args[0])
	}
	redact := f.redactor()
	if f.update && rec != whole && len(rec.Events) != len(whole.Events) {
		return usage("%s: --update writes recordings of one session only", args[0])
	}
	if f.serve && !f.strict {
		return f.mock(cmd, rec)
	}
	out, err := f.play(cmd, rec, args[1:], atURL)
	if err != nil {
		return err
	}
	if f.save != "" {
		if err := writeRecording(f.save, out.Recording); err != nil {
			return &exitError{exitNoResult, fmt.Errorf("--save: %w", err)}
		}
	}
	w := cmd.OutOrStdout()
	if f.serve && f.listen == "" {
		w = cmd.ErrOrStderr()
	}
	problem := out.Err()
	switch {
	case f.update && out.Updated == nil:
		text := ""
		if problem != nil {
			text = "\n" + conceal(redact, problem.Error())
		}
		return &exitError{exitBroken, fmt.Errorf("the replay did not come to its end, and %s is as it was%s", args[0], text)}
	case f.update && problem != nil:
		out.Updated.Fields = whole.Fields
		if err := writeRecording(args[0], out.Updated); err != nil {
			return &exitError{exitNoResult, fmt.Errorf("--update: %w", err)}
		}
		fmt.Fprintf(w, "%s is updated: %s\n", args[0], count(len(out.Problems)+out.More, "difference"))
		return nil
	case problem != nil:
		fmt.Fprintln(w, report.Plain(conceal(redact, problem.Error())))
		fmt.Fprintf(w, "%s; %s\n", f.tally(out), count(len(out.Problems)+out.More, "difference"))
		return &exitError{code: exitBroken}
	}
	fmt.Fprintln(w, f.tally(out))
	return nil
}

// redactor takes what looks like a credential, and what the flags give, out of
// what is printed.
func (f *replayFlags) redactor() *result.Redactor {
	pairs := []string{"bearer=" + f.bearer}
	for _, h := range f.headers {
		name, value, _ := strings.Cut(h, ":")
		pairs = append(pairs, strings.TrimSpace(name)+"="+strings.TrimSpace(value))
	}
	return result.NewRedactor(pairs)
}

// otherSecret says of a text that it differs from one which looks the same where
// credentials are not printed.
const otherSecret = " (another one)"

// conceal takes secrets out of what tells differences, and says where two texts
// differ in nothing else.
func conceal(r *result.Redactor, text string) string {
	lines := strings.Split(r.Text(text), "\n")
	for i, l := range lines {
		_, values, _ := strings.Cut(l, ": want ")
		if n := (len(values) - len(", got ")) / 2; n > 0 && values == values[:n]+", got "+values[:n] {
			lines[i] += otherSecret
		}
	}
	return strings.Join(lines, "\n")
}

// tally says what went to the peer and came from it.
func (f *replayFlags) tally(out *replay.Outcome) string {
	peer := "server"
	if f.serve {
		peer = "client"
	}
	return fmt.Sprintf("%s sent to the %s, %s of the %s came as recorded", count(out.Sent, "line"), peer, count(out.Matched, "line"), peer)
}

// count says how many there are of what.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// pick is the session to play.
func (f *replayFlags) pick(rec *transcript.Recording) (*transcript.Recording, error) {
	sessions := conformance.Sessions(rec)
	switch {
	case f.session < 0 || f.session > len(sessions):
		return nil, fmt.Errorf("--session %d: there are %d", f.session, len(sessions))
	case f.session > 0:
		return sessions[f.session-1], nil
	case len(sessions) > 1:
		var b strings.Builder
		for i, s := range sessions {
			fmt.Fprintf(&b, "\n  --session %d: %s, %d lines", i+1, s.Get(transcript.FieldRevision), len(s.Events))
		}
		return nil, fmt.Errorf("it holds several sessions; say which one to play%s", b.String())
	}
	one := &transcript.Recording{Fields: slices.Clone(rec.Fields), Events: rec.Events, After: rec.After}
	if rev := sessions[0].Get(transcript.FieldRevision); rev != "" {
		one.Set(transcript.FieldRevision, rev)
	}
	return one, nil
}

// play plays one side of the recording, in its order.
func (f *replayFlags) play(cmd *cobra.Command, rec *transcript.Recording, target []string, atURL bool) (*replay.Outcome, error) {
	o := replay.Options{Timeout: f.timeout, Redacted: f.redacted}
	rev := rec.Get(transcript.FieldRevision)
	var link replay.Link
	var err error
	play := o.Server
	switch {
	case f.serve && f.listen == "":
		play = o.Client
		link = replay.Streams(stdio{cmd.OutOrStdout()}, cmd.InOrStdin())
	case f.serve:
		play = o.Client
		var l net.Listener
		if l, err = f.open(cmd); err != nil {
			return nil, err
		}
		link, err = replay.HTTPClient(l, rev)
	case atURL:
		var header http.Header
		if header, err = headersOf(f.headers); err == nil {
			err = addBearer(header, f.bearer)
		}
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		link, err = replay.HTTP(target[0], rev, replay.HTTPOptions{Header: header})
	default:
		link = replay.Process(exec.Command(target[0], target[1:]...))
	}
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	out, err := play(cmd.Context(), rec, link)
	switch {
	case errors.Is(err, replay.ErrRedacted):
		return nil, &exitError{exitUsage, fmt.Errorf("%w; --redacted plays it all the same", err)}
	case errors.Is(err, replay.ErrTransport):
		return nil, &exitError{exitUsage, err}
	case err != nil && atURL:
		return nil, &exitError{exitTarget, fmt.Errorf("the server could not be reached: %w", err)}
	case err != nil:
		return nil, &exitError{exitTarget, fmt.Errorf("the server could not be started: %w", err)}
	}
	return out, nil
}

// stdio is a standard stream that nobody closes.
type stdio struct{ io.Writer }

func (stdio) Close() error { return nil }

func (f *replayFlags) open(cmd *cobra.Command) (net.Listener, error) {
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("--listen: %w", err)}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "goldwire: serving the recording at http://%s/mcp\n", l.Addr())
	return l, nil
}

// mock is the server of the recording until its clients are done.
func (f *replayFlags) mock(cmd *cobra.Command, rec *transcript.Recording) error {
	m, err := replay.NewMock(rec, f.redacted)
	switch {
	case errors.Is(err, replay.ErrRedacted):
		return &exitError{exitUsage, fmt.Errorf("%w; --redacted plays it all the same", err)}
	case err != nil:
		return &exitError{exitUsage, err}
	}
	if f.listen == "" {
		done := make(chan error, 1)
		go func() { done <- m.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout()) }()
		select {
		case err = <-done:
		case <-cmd.Context().Done(): // a read of stdin ends with the process
		}
	} else {
		var l net.Listener
		if l, err = f.open(cmd); err != nil {
			return err
		}
		err = serveMock(cmd.Context(), l, m.Handler())
	}
	if err != nil {
		return &exitError{exitNoResult, err}
	}
	t := m.Tally()
	w, redact := cmd.ErrOrStderr(), f.redactor()
	for _, miss := range t.Misses {
		fmt.Fprintln(w, report.Plain("goldwire: "+conceal(redact, miss)))
	}
	unused := "every recorded one came"
	if n := len(t.Unused); n > 0 {
		unused = count(n, "recorded one") + " never came"
	}
	fmt.Fprintf(w, "goldwire: %s came: %d answered as recorded, %d not in the recording; %s\n", count(t.Asked, "request"), t.Asked-t.Missed, t.Missed, unused)
	if t.Missed > 0 {
		return &exitError{code: exitBroken}
	}
	return nil
}

// serveMock serves until the context ends.
func serveMock(ctx context.Context, l net.Listener, h http.Handler) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	_ = srv.Close()
	<-done
	return nil
}

// writeRecording writes a file, which only its owner may read where it is new.
func writeRecording(name string, rec *transcript.Recording) error {
	text, err := rec.MarshalText()
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}
