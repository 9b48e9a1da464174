package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/record"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

const ruleHelp = `what to replace, as header:NAME, member:NAME (of JSON, at any depth), value:TEXT, env:NAME (the value of that variable), match:REGEXP or secrets (whatever looks like a credential); may be repeated. Credentials in headers, in URLs and in the server's command line are always replaced, unless the ` + "`RULE`" + ` none is given`

type recordFlags struct {
	output, listen string
	rules          []string
	judge, strict  bool
	maxFrame       int
}

func recordCommand() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [flags] -- CMD ARGS…  |  record [flags] --listen ADDR URL",
		Short: "Record what a client and a server say to each other",
		Long: `Stands between a client and a server and writes down what both say, with times,
as a transcript that lint judges, replay plays and diff compares.

Behind -- stands the server's command: it is started, and its standard streams
are those of record, byte by byte. So a client that starts its servers is
recorded by putting goldwire record -- before the command in its configuration.
Signals go on to the server, and its exit status comes back.

With --listen record is an HTTP server, and every request goes on to the server
at URL with the path that the client asks for: the client is given the address
of --listen with the path of URL. Bodies and streams pass through as they come;
Streamable HTTP and HTTP+SSE both work, for many clients at once. It ends with
SIGINT or SIGTERM.

What is recorded is written to the file as it happens, in constant memory. Of a
message longer than --max-frame its start is kept, and its length; it is passed
on whole. A side that goes away ends its part of the recording only.

--judge prints at the end what lint would say of the traffic, before anything is
replaced in it: on stderr behind --, on stdout with --listen.

Exit status: behind -- that of the server, 128 and the number of the signal that
ended it, or 3 when it could not be started; with --listen 0, and with --judge
that of lint; 2 the command line makes no sense; 5 the recording could not be
written.`,
		Example: `  goldwire record --output session.wire -- npx -y @modelcontextprotocol/server-everything
  goldwire record --judge --listen 127.0.0.1:8080 http://localhost:3000/mcp
  goldwire record --redact env:API_TOKEN --redact member:password -- ./my-server --stdio`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.output, "output", "", "write the recording to `FILE`, or under a name of its own into that folder; by default into the current one")
	fl.StringVar(&f.listen, "listen", "", "record clients of an HTTP server: the `ADDR` (host:port, port 0 for a free one) that they are to use in its place")
	fl.StringArrayVar(&f.rules, "redact", nil, ruleHelp)
	fl.BoolVar(&f.judge, "judge", false, "print the verdicts on the traffic at the end")
	fl.BoolVar(&f.strict, "strict", false, "with --judge: a warning counts as a failure does")
	fl.IntVar(&f.maxFrame, "max-frame", 16<<20, "`BYTES` of a message that are recorded at most")
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	usage := func(format string, a ...any) error { return &exitError{exitUsage, fmt.Errorf(format, a...)} }
	dash := cmd.ArgsLenAtDash()
	switch {
	case f.listen == "" && len(args) == 0:
		return usage("want the server's command behind --, or --listen ADDR URL")
	case f.listen == "" && len(args) == 1 && isURL(withScheme(args[0])):
		return usage("clients of an HTTP server are recorded at an address that they use in its place: goldwire record --listen 127.0.0.1:0 %s", withScheme(args[0]))
	case f.listen == "" && dash != 0:
		return usage("put -- before the server's command: goldwire record -- %s", strings.Join(args, " "))
	case f.listen != "" && (dash >= 0 || len(args) != 1):
		return usage("--listen wants the URL of the server and nothing else")
	case f.listen != "" && !isURL(args[0]) && isURL(withScheme(args[0])):
		return usage("want http:// or https:// before the server's address: goldwire record --listen %s %s", f.listen, withScheme(args[0]))
	case f.maxFrame <= 0:
		return usage("--max-frame %d: want more than nothing", f.maxFrame)
	}
	rules, err := record.ParseRules(f.rules, os.LookupEnv)
	if err != nil {
		return usage("--redact: %v", err)
	}
	var l net.Listener
	if f.listen != "" { // before the file is made, which may be a recording of before
		if l, err = net.Listen("tcp", f.listen); err != nil {
			return usage("--listen: %w", err)
		}
		defer l.Close()
	}
	file, err := f.create()
	if err != nil {
		return usage("--output: %v", err)
	}
	defer file.Close()
	o := record.LogOptions{Rules: rules, MaxFrame: f.maxFrame, Keep: f.judge}
	if f.listen == "" {
		o.Transport, o.Target = "stdio", transcript.CommandLine(args)
	} else {
		o.Transport, o.Target = "http", args[0]
	}
	log, err := record.NewLog(file, o)
	if err != nil {
		return &exitError{exitNoResult, fmt.Errorf("--output: %w", err)}
	}
	status := 0
	if f.listen == "" {
		status, err = f.stdio(cmd, log, args)
	} else {
		err = f.http(cmd, log, l, args[0], rules.Target(args[0]), rules)
	}
	if werr := errors.Join(log.Close(), file.Close()); werr != nil {
		err = errors.Join(err, &exitError{exitNoResult, fmt.Errorf("the recording is not complete: %w", werr)})
	}
	if err != nil {
		return err
	}
	if f.judge {
		w := cmd.OutOrStdout()
		if f.listen == "" {
			w = cmd.ErrOrStderr()
		}
		if code, err := f.verdicts(w, log.Recording(), rules); err != nil || f.listen != "" {
			return &exitError{code, err}
		}
	}
	if status != 0 {
		return &exitError{code: status}
	}
	return nil
}

// create makes the file of the recording. Nobody but its owner may read what
// was said.
func (f *recordFlags) create() (*os.File, error) {
	dir := f.output
	if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
		return os.OpenFile(dir, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	name := fmt.Sprintf("goldwire-%s-%d.wire", time.Now().UTC().Format("20060102-150405"), os.Getpid())
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// stdio stands between the standard streams and a command.
func (f *recordFlags) stdio(cmd *cobra.Command, log *record.Log, args []string) (status int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, record.Signals()...)
	defer signal.Stop(signals)
	// A client that reads no more must not end the recording.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	parent := os.Getppid()
	s := record.Stdio{In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), Err: cmd.ErrOrStderr(), Signals: signals}
	if runtime.GOOS != "windows" {
		s.Orphaned = func() bool { return os.Getppid() != parent }
	}
	state, err := s.Run(context.WithoutCancel(cmd.Context()), log.Recorder(), args)
	if err != nil {
		return 0, &exitError{exitTarget, fmt.Errorf("the server could not be started: %w", err)}
	}
	return record.Status(state), nil
}

// http stands between the clients of an address and a URL.
func (f *recordFlags) http(cmd *cobra.Command, log *record.Log, l net.Listener, target, shown string, rules *record.Rules) error {
	proxy, err := record.NewProxy(target, log.Recorder())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "goldwire: at http://%s%s, recording what is said to %s\n", l.Addr(), rules.URL(proxy.Path()), shown)
	if err := proxy.Serve(cmd.Context(), l); err != nil {
		return &exitError{exitNoResult, err}
	}
	return nil
}

// verdicts prints what lint says of a recording, without what the rules
// replace.
func (f *recordFlags) verdicts(w io.Writer, rec *transcript.Recording, rules *record.Rules) (int, error) {
	rep, err := lint([]*transcript.Recording{rec}, lintOptions{LintOptions: conformance.LintOptions{Options: conformance.Options{Redact: result.NewRedactor(nil)}}, text: rules.Text})
	if err != nil {
		return exitNoResult, err
	}
	rep.Strict = f.strict
	if err := report.Write(w, "text", rep, report.Options{Text: textOptions(w), Tool: version()}); err != nil {
		return exitNoResult, err
	}
	return report.ExitCode(rep), nil
}

func redactCommand() *cobra.Command {
	var to string
	var rules []string
	cmd := &cobra.Command{
		Use:   "redact [flags] FILE",
		Short: "Replace secrets in a recording",
		Long: `Writes a recording without what the rules of --redact replace; without one that is
secrets, whatever looks like a credential. Rules that are given stand in its place:
give secrets beside them for both, or none to replace nothing. A line in which
something was replaced is marked (r), its header and its body alike; checks leave
such lines alone, and where one is a message replay refuses the recording unless it
is told not to.

Exit status: 0 done; 2 the command line makes no sense, or FILE is no recording;
5 the output could not be written.`,
		Example: `  goldwire redact --output public.wire session.wire
  goldwire redact --redact secrets --redact member:password --output public.wire session.wire`,
		Args: wants(1, 1, "one recording: goldwire redact FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interruptible(cmd.Context(), func() error { return redact(args[0], to, cmd.OutOrStdout(), rules) })
		},
	}
	cmd.Flags().StringVar(&to, "output", "", "write to `FILE`, which may be the one that is read; - for stdout")
	cmd.Flags().StringArrayVar(&rules, "redact", nil, ruleHelp+"; by default secrets")
	return cmd
}

// redact writes the recording of one file without secrets to another.
func redact(from, to string, stdout io.Writer, words []string) error {
	if len(words) == 0 {
		words = []string{"secrets"}
	}
	rules, err := record.ParseRules(words, os.LookupEnv)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--redact: %w", err)}
	}
	rec, err := readRecording(from)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if rec, err = record.Redact(rec, rules); err != nil {
		return &exitError{exitUsage, err}
	}
	out := &output{flag: "output"}
	if err := out.open(to, stdout); err != nil {
		return &exitError{exitUsage, err}
	}
	if err := out.write(func(w io.Writer) error { _, err := rec.WriteTo(w); return err }); err != nil {
		return &exitError{exitNoResult, err}
	}
	return nil
}

// readBounded reads a file, - is stdin.
func readBounded(name string) ([]byte, error) {
	in := os.Stdin
	size := int64(0)
	if name != "-" {
		var err error
		if in, err = os.Open(name); err != nil {
			return nil, err
		}
		defer in.Close()
		if info, err := in.Stat(); err == nil {
			size = info.Size()
		}
	}
	text := make([]byte, 0, min(max(size, 64<<10), maxRecording)+1)
	for len(text) <= maxRecording {
		if len(text) == cap(text) {
			text = slices.Grow(text, min(len(text), maxRecording+1-len(text)))
		}
		n, err := in.Read(text[len(text):min(cap(text), maxRecording+1)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil, fmt.Errorf("%s: it is longer than the %d MiB that are read", name, maxRecording>>20)
}

// readRecording reads one recording, - from stdin.
func readRecording(name string) (*transcript.Recording, error) {
	text, err := readBounded(name)
	if err != nil {
		return nil, err
	}
	return parseRecording(name, text)
}

// parseRecording parses the text of a file, which the recording keeps.
func parseRecording(name string, text []byte) (*transcript.Recording, error) {
	if n := bytes.Count(text, []byte("\n")); n > maxLines {
		return nil, fmt.Errorf("%s: it has %d lines, more than the %d that are read", name, n, maxLines)
	}
	// A recorder that was killed leaves its last line unfinished.
	cut := false
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 && i < len(text)-1 && bytes.Contains(text[:i+1], []byte("\n"+transcript.FieldRecorded+": ")) {
		text, cut = text[:i+1], true
	}
	rec, err := transcript.ParseOwned(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if cut {
		rec.Events = append(rec.Events, transcript.Event{Dir: transcript.Note, Kind: transcript.KindNote, Data: []byte("the recording ends in the middle of a line")})
	}
	return rec, nil
}

// Bounds of what is read of a file. Of each line about 400 bytes are kept
// beside its text while it is judged, of each byte of text one.
const (
	maxRecording = 256 << 20
	maxLines     = 2_000_000
)
