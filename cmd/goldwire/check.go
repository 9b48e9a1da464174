package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

type checkFlags struct {
	revision, format, output, level, save string
	only, allow, deny                     []string
	list                                  bool
	timeout                               time.Duration
}

func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] [-- CMD ARGS…]",
		Short: "Judge a server that speaks over stdin and stdout",
		Long: `Starts CMD, finds out which revisions of the protocol it speaks, drives it, and
says which rules of each revision it keeps. Without CMD the built-in reference
server is judged.

Nothing has to be prepared in the server. Only tools that it marks read-only
are called, unless --allow-tool names others. A tool that --allow-tool or
--deny-tool names has to be in the server's list: else the command ends with
status 2 before any tool is called.

The report shows each broken rule with the traffic around it, and counts the
others: n/a where the server does not offer what a rule is about, unseen where
nothing happened that could keep or break it, blocked where an earlier fault
of the server kept the checker from looking. Breaking a MUST is a failure;
breaking a SHOULD or a MAY is told as a warning, and so is a MUST whose wording
is open to another reading.

In the traffic of a finding > went to the server, < came from it, and ! is a
remark of the checker (probe NAME, stderr TEXT, sent SIGNAL, exit STATUS); → is
the line that is judged, @12ms its time, an x before it says that its bytes are
quoted, and requests with ids from 7000000 only ask whether the server is still
there.

Where the run comes to no verdicts (status 3 or 5), --format json writes a
report all the same: results is empty, and error has the kind (start, died,
silent, revision, interrupted or internal), the message, the exitCode, and the
last lines of the server's stderr. With --format text nothing is written then,
and FILE is left as it was; so it is with status 2.

Exit status: 0 no MUST was broken; 1 one was; 2 the command line makes no
sense; 3 the server could not be started, stayed silent or ended before it had
answered; 5 nothing could be observed, the checker itself failed, or nothing
was found broken but checks of a MUST were blocked (by a server that ended
between requests, hung, or wrote more than is recorded), so that nobody can
say that the server conforms.`,
		Example: `  goldwire check -- npx -y @modelcontextprotocol/server-everything
  goldwire check --only tools --only legacy/jsonrpc-* -- ./my-server --stdio
  goldwire check --revision all --format json --output report.json -- ./my-server --stdio`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.revision, "revision", "auto", "revisions to judge by: auto (the newest of each era that the server speaks), all (that it speaks), or a comma-separated `LIST`")
	fl.StringVar(&f.format, "format", "text", "`FORMAT` of the report: text or json")
	fl.StringVar(&f.output, "output", "", "write the report to `FILE`, - for stdout")
	fl.StringVar(&f.level, "level", "may", "weakest `LEVEL` of rules to judge: must, should or may (breaking a SHOULD or a MAY is a warning)")
	fl.StringSliceVar(&f.only, "only", nil, "judge only what matches `PATTERN`: ids of checks (tool-*), areas (tools) or requirements (legacy/tools-*); may be repeated")
	fl.BoolVar(&f.list, "list", false, "list the checks that the other flags select, as text or as JSON, instead of running them")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to start and give its first answer; later answers get at most 10s of it")
	fl.StringSliceVar(&f.allow, "allow-tool", nil, "a tool that may be called though it is not marked read-only, * for all; may be repeated")
	fl.StringSliceVar(&f.deny, "deny-tool", nil, "a tool that is never called, * for all; may be repeated")
	fl.StringVar(&f.save, "save", "", "save the transcript of each session in `DIR`")
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	opts, err := f.options(cmd)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
		return &exitError{exitUsage, fmt.Errorf("put -- before the server's command: goldwire check -- %s", strings.Join(args, " "))}
	}
	if f.list {
		out, err := f.open(cmd.OutOrStdout())
		if err != nil {
			return &exitError{exitUsage, err}
		}
		return out.write(func(w io.Writer) error { return f.writeList(w, opts) })
	}
	if len(args) == 0 && cmd.ArgsLenAtDash() >= 0 {
		return &exitError{exitUsage, errors.New("no command stands behind --; without -- the built-in reference server is judged")}
	}
	if len(args) == 0 {
		self, err := os.Executable()
		if err != nil {
			return &exitError{exitNoResult, err}
		}
		args = []string{self, "serve"}
	}
	// An output that cannot be written is said before the work, not after it.
	out, err := f.open(cmd.OutOrStdout())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	line := newStatusLine(cmd.ErrOrStderr())
	opts.Progress = line.progress
	rep, err := conformance.Run(cmd.Context(), conformance.Target{Command: args}, opts)
	line.clear()
	if rep == nil || err != nil {
		failed := startFailure(err, args)
		if f.format != "json" || failed.code == exitUsage {
			failed.err = errors.Join(failed.err, out.leave())
			return failed
		}
		none := &result.Report{Target: result.Target{Side: "server", Command: args}, Error: failure(err, failed)}
		failed.err = errors.Join(failed.err, out.write(func(w io.Writer) error { return report.JSON(w, none) }))
		return failed
	}
	if err := out.write(func(w io.Writer) error { return f.write(w, rep) }); err != nil {
		return &exitError{exitNoResult, err}
	}
	if code := report.ExitCode(rep); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

func (f *checkFlags) options(cmd *cobra.Command) (conformance.Options, error) {
	o := conformance.Options{Checks: f.only, Allow: f.allow, Deny: f.deny}
	for _, list := range []struct {
		flag   string
		values []string
	}{{"only", f.only}, {"allow-tool", f.allow}, {"deny-tool", f.deny}} {
		if cmd.Flags().Changed(list.flag) && (len(list.values) == 0 || slices.Contains(list.values, "")) {
			return o, fmt.Errorf("--%s is given without a value", list.flag)
		}
	}
	switch f.revision {
	case "auto":
	case "all":
		o.Revisions = []string{"all"}
	default:
		o.Revisions = strings.Split(f.revision, ",")
		for _, rev := range o.Revisions {
			if !slices.Contains(check.Revisions(), rev) {
				return o, fmt.Errorf("--revision %s: no such revision; there are auto, all, %s", rev, strings.Join(check.Revisions(), ", "))
			}
		}
	}
	if f.format != "text" && f.format != "json" {
		return o, fmt.Errorf("--format %s: want text or json", f.format)
	}
	switch f.level {
	case "must":
		o.Level = catalogue.Must
	case "should":
		o.Level = catalogue.Should
	case "may":
	default:
		return o, fmt.Errorf("--level %s: want must, should or may", f.level)
	}
	if f.timeout <= 0 {
		return o, fmt.Errorf("--timeout %s: want more than nothing", f.timeout)
	}
	o.Limits.Start, o.Limits.Request = f.timeout, min(f.timeout, 10*time.Second)
	if f.save != "" {
		if err := os.MkdirAll(f.save, 0o777); err != nil {
			return o, fmt.Errorf("--save: %w", err)
		}
		o.Save = func(name string, rec *transcript.Recording) error {
			text, err := rec.MarshalText()
			if err == nil {
				err = os.WriteFile(filepath.Join(f.save, name+".wire"), text, 0o666)
			}
			if err != nil {
				return fmt.Errorf("--save: %w", err)
			}
			return nil
		}
	}
	return o, nil
}

// output is where a report goes. A file keeps what it held until there is
// something to write.
type output struct {
	stdout io.Writer
	file   *os.File // nil for stdout
	made   bool     // the file was not there before
}

// open makes sure that the output can be written.
func (f *checkFlags) open(stdout io.Writer) (*output, error) {
	if f.output == "" || f.output == "-" {
		return &output{stdout: stdout}, nil
	}
	_, before := os.Stat(f.output)
	file, err := os.OpenFile(f.output, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--output: %w", err)
	}
	return &output{file: file, made: errors.Is(before, os.ErrNotExist)}, nil
}

// write writes what fn does, all of it or, where fn fails, nothing to a file.
func (o *output) write(fn func(w io.Writer) error) error {
	if o.file == nil {
		return fn(o.stdout)
	}
	var b bytes.Buffer
	if err := fn(&b); err != nil {
		return errors.Join(err, o.leave())
	}
	var err error
	if info, serr := o.file.Stat(); serr == nil && info.Mode().IsRegular() {
		err = o.file.Truncate(0)
	}
	if err == nil {
		_, err = o.file.Write(b.Bytes())
	}
	if err = errors.Join(err, o.file.Close()); err != nil {
		return &exitError{exitNoResult, fmt.Errorf("--output: %w", err)}
	}
	return nil
}

// leave writes nothing: a file is as it was before.
func (o *output) leave() error {
	if o.file == nil {
		return nil
	}
	name := o.file.Name()
	if err := o.file.Close(); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if o.made {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("--output: %w", err)
		}
	}
	return nil
}

func (f *checkFlags) write(w io.Writer, rep *result.Report) error {
	if f.format == "json" {
		return report.JSON(w, rep)
	}
	o := report.TextOptions{}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == ""
		o.Width, _, _ = term.GetSize(int(file.Fd()))
	}
	return report.Text(w, rep, o)
}

// startFailure gives a failed run its exit code, and a hint where one word of
// the command line was meant for several.
func startFailure(err error, command []string) *exitError {
	var (
		start  *conformance.StartError
		died   *conformance.DiedError
		silent *conformance.SilentError
		tool   *check.ToolError
	)
	switch {
	case errors.As(err, &start) && len(command) == 1 && len(strings.Fields(command[0])) > 1:
		return &exitError{exitTarget, fmt.Errorf("%w\nthe command is one word with spaces in it; without the quotes it is: goldwire check -- %s", err, command[0])}
	case errors.As(err, &start), errors.As(err, &died), errors.As(err, &silent):
		return &exitError{exitTarget, err}
	case errors.Is(err, conformance.ErrNoCheck), errors.As(err, &tool):
		return &exitError{exitUsage, err}
	case errors.Is(err, context.Canceled):
		return &exitError{exitNoResult, errors.New("interrupted")}
	}
	return &exitError{exitNoResult, err}
}

// listed is one check as --list --format json prints it, in an array.
type listed struct {
	Check        string       `json:"check"`
	Title        string       `json:"title"`
	Level        result.Level `json:"level"` // MUST where breaking it is a failure in one of the revisions, else SHOULD or MAY
	Layer        string       `json:"layer"`
	Areas        []string     `json:"areas"`
	Revisions    []string     `json:"revisions"` // of those selected
	Requirements []string     `json:"requirements"`
}

// failure is what a report says of a run that came to no verdicts.
func failure(err error, e *exitError) *result.Failure {
	out := &result.Failure{Kind: result.FailedInternal, ExitCode: e.code, Message: e.Error()}
	var (
		start    *conformance.StartError
		died     *conformance.DiedError
		silent   *conformance.SilentError
		revision *conformance.RevisionError
	)
	switch {
	case errors.As(err, &start):
		out.Kind = result.FailedStart
	case errors.As(err, &died):
		out.Kind, out.Stderr = result.FailedDied, died.Stderr
		out.Message = (&conformance.DiedError{How: died.How}).Error()
	case errors.As(err, &silent):
		out.Kind, out.Stderr = result.FailedSilent, silent.Stderr
		out.Message = (&conformance.SilentError{Heard: silent.Heard}).Error()
	case errors.As(err, &revision):
		out.Kind = result.FailedRevision
	case errors.Is(err, context.Canceled):
		out.Kind = result.FailedInterrupted
	}
	return out
}

// weight orders the levels of checks.
func weight(l result.Level) int {
	return slices.Index([]result.Level{catalogue.May, catalogue.Should, catalogue.Must}, l)
}

// writeList prints the checks that the options select.
func (f *checkFlags) writeList(w io.Writer, o conformance.Options) error {
	checks, err := conformance.Select(o)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	list := []listed{}
	for i := range checks {
		l, err := describe(&checks[i], o)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if len(l.Revisions) > 0 {
			list = append(list, l)
		}
	}
	if f.format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		return e.Encode(list)
	}
	for _, l := range list {
		span := l.Revisions[0]
		if n := len(l.Revisions); n > 1 {
			span += "…" + l.Revisions[n-1]
		}
		if _, err := fmt.Fprintf(w, "%-40s %-6s %-21s  %s\n", l.Check, l.Level, span, l.Title); err != nil {
			return err
		}
	}
	return nil
}

// describe gives a check in the revisions that the options select it in; none
// when they do not.
func describe(k *check.Check, o conformance.Options) (listed, error) {
	l := listed{Check: k.ID, Title: k.Title, Layer: string(k.Layer)}
	for _, rev := range check.Revisions() {
		if len(o.Revisions) > 0 && o.Revisions[0] != "all" && !slices.Contains(o.Revisions, rev) {
			continue
		}
		if ok, err := o.Judges(k, rev); err != nil || !ok {
			if err != nil {
				return l, err
			}
			continue
		}
		l.Revisions = append(l.Revisions, rev)
		if level := k.Level(rev); weight(level) > weight(l.Level) {
			l.Level = level
		}
		for _, r := range k.Bound(rev) {
			if !slices.Contains(l.Requirements, r.ID) {
				l.Requirements = append(l.Requirements, r.ID)
			}
			if !slices.Contains(l.Areas, r.Area()) {
				l.Areas = append(l.Areas, r.Area())
			}
		}
	}
	return l, nil
}

// statusLine says on a terminal what is being done; elsewhere it is silent.
type statusLine struct {
	w     io.Writer
	width int
}

func newStatusLine(w io.Writer) *statusLine {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return &statusLine{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return &statusLine{w: w, width: width}
}

func (s *statusLine) progress(p conformance.Progress) {
	if s.w == nil {
		return
	}
	text := "finding out what the server speaks"
	switch {
	case p.Check != nil:
		text = p.Revision + "  judging  " + p.Check.ID
	case p.Revision != "":
		text = p.Revision + "  probing  " + p.Probe
	}
	if r := []rune(text); len(r) >= s.width {
		text = string(r[:s.width-1])
	}
	fmt.Fprintf(s.w, "\r\x1b[K%s", text)
}

func (s *statusLine) clear() {
	if s.w != nil {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
}
