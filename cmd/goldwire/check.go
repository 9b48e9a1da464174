package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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
	"github.com/goldwire/goldwire/runtime/streamhttp"
)

type checkFlags struct {
	revision, format, output, level, save   string
	baseline, flaky, config, server, source string
	only, allow, deny, reports, env         []string
	url, transport, bearer, profile         string
	headers                                 []string
	list, update, strict, annotate          bool
	timeout, probeTimeout, timeLimit        time.Duration
	parallel                                int
	client                                  clientFlags
}

func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:   "check [flags] [URL | -- CMD ARGS…]",
		Short: "Judge a server, over stdio or HTTP, or a client",
		Long: `Starts CMD, or turns to the server at URL, finds out which revisions of the
protocol it speaks, drives it, and says which rules of each revision it keeps.
Without either the built-in reference server is judged.

At a URL the server is spoken to over Streamable HTTP, or, where it knows nothing
of that, over the HTTP+SSE of 2024-11-05 (--transport). Redirects are not
followed.

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

--report writes further reports from the same run, each to a file: text and json
as --format does, junit and sarif for CI, markdown for the summary of a job
(--report markdown="$GITHUB_STEP_SUMMARY"), html as one page that needs nothing
else. Values of --env, --header and --bearer and of the --config entry, and whatever
looks like a credential, are left out of all of them.

--baseline names a YAML file of findings that are known and do not count:

  - check: unknown-tool
    revisions: [2025-11-25]   # left out: every one
    until: 2027-01-31         # the last day it holds; left out: no end
    reason: Fixed in 2.0.

An entry that is not true any more (the check passes, does not exist, or the
day is past) is stale. --update-baseline writes what counts into the file:
failures, and with --strict warnings too.
--flaky names a file of the same form for checks that now pass, now fail.

Where the run comes to no verdicts (status 3 or 5), every format but text is
written all the same, and so is every --report: in json results is empty, and
error has the kind (start, died, silent, revision, interrupted or internal), the
message, the exitCode, and the last lines of the server's stderr. With --format
text nothing is written then, and FILE is left as it was; so it is with status 2.

Exit status: 0 no MUST was broken; 1 one was (with --strict: or a SHOULD) that
the baseline does not know; 2 the command line makes no sense; 3 the server
could not be started or reached, stayed silent or ended before it had answered; 4 nothing
else, but an entry of --baseline or --flaky is stale; 5 nothing could be observed, the checker itself failed, or nothing
was found broken but checks of a MUST were blocked (by a server that ended
between requests, hung, or wrote more than is recorded), so that nobody can
say that the server conforms.
` + clientHelp,
		Example: `  goldwire check -- npx -y @modelcontextprotocol/server-everything
  goldwire check --only tools --only legacy/jsonrpc-* -- ./my-server --stdio
  goldwire check --revision all --format json --output report.json -- ./my-server --stdio
  goldwire check --baseline known.yaml --report junit=junit.xml --report html=report.html -- ./my-server --stdio
  goldwire check --config mcp.json --server files
  goldwire check http://localhost:3000/mcp
  goldwire check --bearer '${TOKEN}' https://example.com/mcp
  goldwire check --client -- ./my-client --server {url}
  goldwire check --client -- npx @modelcontextprotocol/inspector --cli {command} --method tools/list`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.revision, "revision", "auto", "revisions to judge by: auto (the newest of each era that the server speaks), all (that it speaks), or a comma-separated `LIST`")
	fl.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+oneOf(report.Formats()))
	fl.StringVar(&f.output, "output", "", "write the report to `FILE`, - for stdout")
	fl.StringVar(&f.level, "level", "may", "weakest `LEVEL` of rules to judge: must, should or may (breaking a SHOULD or a MAY is a warning)")
	fl.StringSliceVar(&f.only, "only", nil, "judge only what matches `PATTERN`: ids of checks (tool-*), areas (tools) or requirements (legacy/tools-*), as --list names them; may be repeated")
	fl.BoolVar(&f.list, "list", false, "list the checks that the other flags select, instead of running them: id, level, revisions, areas and title as text, the requirements too as JSON")
	fl.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long the server may take to start and give its first answer; later answers get at most 10s of it")
	fl.StringSliceVar(&f.allow, "allow-tool", nil, "a tool that may be called though it is not marked read-only, * for all; may be repeated")
	fl.StringSliceVar(&f.deny, "deny-tool", nil, "a tool that is never called, * for all; may be repeated")
	fl.StringVar(&f.save, "save", "", "save the transcript of each session in `DIR`")
	fl.StringArrayVar(&f.reports, "report", nil, "write a report as `FORMAT=FILE` too; may be repeated. Formats: "+strings.Join(report.Formats(), ", "))
	fl.StringVar(&f.baseline, "baseline", "", "a YAML `FILE` of findings that are known and do not count")
	fl.BoolVar(&f.update, "update-baseline", false, "write what counts now, with --strict warnings too, into the file of --baseline, with the reasons it has")
	fl.StringVar(&f.flaky, "flaky", "", "a YAML `FILE` of checks that do not count, whether they pass or not")
	fl.BoolVar(&f.strict, "strict", false, "a warning counts as a failure does")
	fl.BoolVar(&f.annotate, "annotate", os.Getenv("GITHUB_ACTIONS") == "true", "print the findings on stderr as annotations of GitHub Actions; by default where GITHUB_ACTIONS is true")
	fl.StringVar(&f.source, "source", "", "the source `FILE` that annotations and SARIF show findings at; by default the first argument of CMD that is a file below this folder")
	fl.StringArrayVar(&f.env, "env", nil, "set a variable for the server, as `NAME=VALUE`, or pass on NAME; may be repeated")
	fl.StringVar(&f.config, "config", "", "judge a server of this JSON `FILE`: the mcpServers that clients are configured with; ${NAME} and ${NAME:-text} in it stand for variables of the environment")
	fl.StringVar(&f.server, "server", "", "the `NAME` of the server in the file of --config, where it has several")
	fl.StringVar(&f.transport, "transport", "auto", "how a server at a URL is spoken to: http (Streamable HTTP), sse (the HTTP+SSE of 2024-11-05), or auto (the first of them that it answers)")
	fl.StringVar(&f.profile, "profile", "plain", "what the server is prepared with: plain (nothing), or official (the fixtures of the official conformance suite, whose tools may be called then)")
	headerFlag(cmd, &f.headers)
	fl.StringVar(&f.bearer, "bearer", "", "the `TOKEN` that requests to URL carry; ${NAME} in it stands for a variable of the environment")
	fl.IntVar(&f.parallel, "parallel", 1, "how many revisions are judged at once, each with processes of its own")
	fl.DurationVar(&f.probeTimeout, "probe-timeout", 5*time.Minute, "how long one probe of the server may take in all; what it would have shown is blocked then")
	fl.DurationVar(&f.timeLimit, "time-limit", 0, "how long all probing may take, 0 for no limit; what was not seen by then is blocked")
	f.client.add(cmd)
	return cmd
}

func (f *checkFlags) run(cmd *cobra.Command, args []string) error {
	opts, err := f.options(cmd)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if dash := cmd.ArgsLenAtDash(); dash < 0 && len(args) == 1 && isURL(args[0]) {
		f.url, args = args[0], nil
	} else if dash < 0 && len(args) == 1 && isURL(withScheme(args[0])) {
		return &exitError{exitUsage, fmt.Errorf("want http:// or https:// before the server's address: goldwire check %s", withScheme(args[0]))}
	} else if len(args) > 0 && dash != 0 {
		return &exitError{exitUsage, fmt.Errorf("put -- before the server's command: goldwire check -- %s", strings.Join(args, " "))}
	}
	if err := f.checkClient(args); err != nil {
		return &exitError{exitUsage, err}
	}
	if f.client.on {
		opts.Side = catalogue.Client
	}
	if f.list {
		out, err := f.open(cmd.OutOrStdout())
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if err := out.write(func(w io.Writer) error { return f.writeList(w, opts) }); err != nil {
			if _, ok := errors.AsType[*exitError](err); !ok {
				err = &exitError{exitNoResult, err}
			}
			return err
		}
		return nil
	}
	if len(args) == 0 && f.url == "" && cmd.ArgsLenAtDash() >= 0 {
		return &exitError{exitUsage, errors.New("no command stands behind --; without -- the built-in reference server is judged")}
	}
	target, secrets, err := f.target(args)
	if err != nil {
		return err
	}
	opts.Redact = result.NewRedactor(append(secrets, result.ArgSecrets(target.Command)...))
	known, flaky, err := f.lists()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	// An output that cannot be written is said before the work, not after it.
	outs, err := f.openAll(cmd.OutOrStdout())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	line := newStatusLine(cmd.ErrOrStderr())
	opts.Progress = line.progress
	began := time.Now()
	rep, err := f.judge(cmd, target, opts)
	line.clear()
	write := report.Options{Source: f.sourceOf(target.Command), Tool: version()}
	var none *exitError
	if rep == nil || err != nil {
		none = startFailure(err, target.Command)
		none.err = errors.New(opts.Redact.Text(none.err.Error()))
		if none.code == exitUsage {
			none.err = errors.Join(none.err, leaveAll(outs))
			return none
		}
		rep = &result.Report{Target: f.reported(target, opts.Redact), Error: failure(err, none)}
	} else {
		rep.Took = time.Since(began)
		if err := f.apply(rep, known, flaky); err != nil {
			return &exitError{exitNoResult, errors.Join(err, leaveAll(outs))}
		}
	}
	for _, out := range outs {
		if rep.Error != nil && out.main && out.format == "text" {
			err = errors.Join(err, out.leave())
			continue
		}
		if werr := out.write(func(w io.Writer) error { return f.write(w, out.format, rep, write) }); werr != nil {
			if none == nil {
				none = &exitError{code: exitNoResult}
			}
			none.err = errors.Join(none.err, werr)
		}
	}
	if f.annotate {
		if err := report.Annotations(cmd.ErrOrStderr(), rep, write.Source); err != nil {
			return &exitError{exitNoResult, err}
		}
	}
	if none != nil {
		return none
	}
	if code := report.ExitCode(rep); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// apply says in a report what counts, by the lists, and updates the baseline
// where that is asked for.
func (f *checkFlags) apply(rep *result.Report, known, flaky *conformance.Baseline) error {
	rep.Strict = f.strict
	if f.update {
		known = conformance.Update(known, rep, flaky, time.Now())
		if err := writeBaseline(known); err != nil {
			return err
		}
	}
	conformance.Apply(rep, known, flaky, time.Now())
	return nil
}

// isURL reports whether an argument is the address of a server.
func isURL(arg string) bool {
	return strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://")
}

// address is that of a server without its scheme: host:port with or without a
// path.
var address = regexp.MustCompile(`^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}(?:[/?].*)?$`)

// withScheme puts http:// before what is meant for the address of a server.
func withScheme(arg string) string {
	if address.MatchString(arg) {
		return "http://" + arg
	}
	return arg
}

// target is what is judged: the command, the entry of a configuration, or the
// built-in reference server; and the variables whose values are secrets, as
// NAME=value.
func (f *checkFlags) target(args []string) (t conformance.Target, secrets []string, err error) {
	switch {
	case f.config != "" && len(args) > 0:
		return t, nil, &exitError{exitUsage, errors.New("--config names the server, and so does the command behind --: want one of them")}
	case f.config == "" && f.server != "":
		return t, nil, &exitError{exitUsage, errors.New("--server names an entry of the file that --config names: there is none")}
	case f.config != "":
		if t, secrets, err = fromConfig(f.config, f.server); err != nil {
			return t, nil, &exitError{exitUsage, err}
		}
	case f.url != "":
		t.Endpoint = &check.Endpoint{URL: f.url}
	case len(args) > 0:
		t.Command = args
	case f.client.on: // one that is started by hand
	default:
		self, err := os.Executable()
		if err != nil {
			return t, nil, &exitError{exitNoResult, err}
		}
		t.Command = []string{self, "serve"}
	}
	if t.Endpoint != nil {
		more, err := f.endpoint(t.Endpoint)
		if err != nil {
			return t, nil, &exitError{exitUsage, err}
		}
		secrets = append(secrets, more...)
	} else if len(f.headers) > 0 || f.bearer != "" || overSet(f.transport) {
		return t, nil, &exitError{exitUsage, errors.New("--header, --transport and --bearer: they are for a server at a URL")}
	}
	if t.Endpoint != nil && len(f.env) > 0 {
		return t, nil, &exitError{exitUsage, errors.New("--env is for a server that is started: the one at a URL runs already")}
	}
	for _, v := range f.env {
		name, _, set := strings.Cut(v, "=")
		if name == "" || strings.Contains(v, "\x00") {
			return t, nil, &exitError{exitUsage, errors.New("--env: want NAME=VALUE or NAME")}
		}
		if !set {
			value, ok := os.LookupEnv(name)
			if !ok {
				return t, nil, &exitError{exitUsage, fmt.Errorf("--env %s: there is no such variable to pass on", name)}
			}
			v = name + "=" + value
		}
		t.Env = append(t.Env, v)
	}
	return t, append(secrets, t.Env...), nil
}

// overSet reports whether --transport says more than its default.
func overSet(transport string) bool { return transport != "auto" }

// endpoint adds to an endpoint what the flags say of it, and gives what is
// secret about it, as NAME=value.
func (f *checkFlags) endpoint(e *check.Endpoint) (secrets []string, err error) {
	u, err := streamhttp.ParseURL(e.URL)
	if err != nil {
		return nil, err
	}
	header, err := headersOf(f.headers)
	if err == nil {
		err = addBearer(header, f.bearer)
	}
	if err != nil {
		return nil, err
	}
	if e.Header == nil {
		e.Header = http.Header{}
	}
	maps.Copy(e.Header, header)
	if len(e.Header.Values("Authorization")) > 1 {
		return nil, errors.New("the header Authorization is set twice, by --header and by --bearer; want one of them")
	}
	if f.transport != "auto" {
		e.Over = catalogue.Transport(f.transport)
	}
	for name, values := range e.Header {
		for _, v := range values {
			secrets = append(secrets, name+"="+v)
		}
	}
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, "password="+password)
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if secretParam.MatchString(name) {
				secrets = append(secrets, name+"="+v, name+"="+url.QueryEscape(v))
			}
		}
	}
	return secrets, nil
}

// secretParam are names of query parameters whose values are no one's business.
var secretParam = regexp.MustCompile(`(?i)token|secret|key|passw|credential|auth|signature|sig$|code$`)

// lists reads the baseline and the list of flaky checks, nil where none is
// named. A baseline that is to be written need not be there.
func (f *checkFlags) lists() (known, flaky *conformance.Baseline, err error) {
	if f.update && f.baseline == "" {
		return nil, nil, errors.New("--update-baseline writes the file that --baseline names: there is none")
	}
	read := func(flag, file string, mayMiss bool) (*conformance.Baseline, error) {
		if file == "" {
			return nil, nil
		}
		text, err := os.ReadFile(file)
		if err != nil && (!mayMiss || !errors.Is(err, os.ErrNotExist)) {
			if flag == "baseline" && errors.Is(err, os.ErrNotExist) {
				err = fmt.Errorf("%w; --update-baseline makes it", err)
			}
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		b, err := conformance.ParseBaseline(file, text)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		return b, nil
	}
	if known, err = read("baseline", f.baseline, f.update); err != nil {
		return nil, nil, err
	}
	flaky, err = read("flaky", f.flaky, false)
	return known, flaky, err
}

func writeBaseline(b *conformance.Baseline) error {
	text, err := b.MarshalText()
	if err == nil {
		err = os.WriteFile(b.File, text, 0o666)
	}
	if err != nil {
		return fmt.Errorf("--update-baseline: %w", err)
	}
	return nil
}

// sourceOf is the file that findings are shown at.
func (f *checkFlags) sourceOf(command []string) string {
	if f.source != "" {
		return f.source
	}
	for i, arg := range command {
		if !filepath.IsLocal(arg) || i == 0 && filepath.Ext(arg) == "" {
			continue
		}
		if info, err := os.Stat(arg); err == nil && info.Mode().IsRegular() {
			return filepath.ToSlash(filepath.Clean(arg))
		}
	}
	return ""
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
	if f.list && f.format != "text" && f.format != "json" {
		return o, fmt.Errorf("--format %s: --list is written as text or json", f.format)
	}
	if !slices.Contains(report.Formats(), f.format) {
		return o, fmt.Errorf("--format %s: want %s", f.format, oneOf(report.Formats()))
	}
	files := []string{f.output}
	for _, r := range f.reports {
		format, file, _ := strings.Cut(r, "=")
		switch {
		case !slices.Contains(report.Formats(), format):
			return o, fmt.Errorf("--report %s: want FORMAT=FILE with a format of %s", r, oneOf(report.Formats()))
		case file == "":
			return o, fmt.Errorf("--report %s: want FORMAT=FILE", r)
		case file != "-" && slices.Contains(files, file):
			return o, fmt.Errorf("--report %s: another report goes to that file", r)
		}
		files = append(files, file)
	}
	if !slices.Contains([]string{"auto", string(catalogue.HTTP), string(catalogue.SSE), string(catalogue.Stdio)}, f.transport) || f.transport == string(catalogue.Stdio) && !f.list {
		return o, fmt.Errorf("--transport %s: want auto, http or sse", f.transport)
	}
	switch f.profile {
	case "plain":
	case "official":
		o.Official = true
	default:
		return o, fmt.Errorf("--profile %s: want plain or official", f.profile)
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
	switch {
	case f.probeTimeout <= 0:
		return o, fmt.Errorf("--probe-timeout %s: want more than nothing", f.probeTimeout)
	case f.timeLimit < 0:
		return o, fmt.Errorf("--time-limit %s: want no less than 0", f.timeLimit)
	case f.parallel < 1:
		return o, fmt.Errorf("--parallel %d: want at least 1", f.parallel)
	}
	o.Limits.Start, o.Limits.Request, o.Limits.Probe = f.timeout, min(f.timeout, 10*time.Second), f.probeTimeout
	o.Time, o.Parallel = f.timeLimit, f.parallel
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

func oneOf(words []string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// output is where a report goes. A file keeps what it held until there is
// something to write.
type output struct {
	flag   string // that names it
	format string
	main   bool // the report that the command prints, not one beside it
	stdout io.Writer
	file   *os.File // nil for stdout
	made   bool     // the file was not there before
}

// open makes sure that the output can be written.
func (f *checkFlags) open(stdout io.Writer) (*output, error) {
	o := &output{flag: "output", format: f.format, main: true}
	return o, o.open(f.output, stdout)
}

// openAll opens the output and the reports beside it; where one of them cannot
// be written all are as they were.
func (f *checkFlags) openAll(stdout io.Writer) ([]*output, error) {
	first, err := f.open(stdout)
	if err != nil {
		return nil, err
	}
	outs := []*output{first}
	for _, r := range f.reports {
		format, file, _ := strings.Cut(r, "=")
		o := &output{flag: "report", format: format}
		if err := o.open(file, stdout); err != nil {
			return nil, errors.Join(err, leaveAll(outs))
		}
		outs = append(outs, o)
	}
	onStdout := map[bool]int{}
	for _, o := range outs {
		onStdout[o.file == nil]++
	}
	if onStdout[true] > 1 && f.output == "-" || onStdout[true] > 2 {
		return nil, errors.Join(errors.New("several reports go to stdout"), leaveAll(outs))
	}
	if onStdout[true] == 2 { // a --report to stdout stands instead of the text
		outs = outs[1:]
	}
	return outs, nil
}

func leaveAll(outs []*output) error {
	var err error
	for _, o := range outs {
		err = errors.Join(err, o.leave())
	}
	return err
}

func (o *output) open(file string, stdout io.Writer) error {
	if file == "" || file == "-" {
		o.stdout = stdout
		return nil
	}
	_, before := os.Stat(file)
	var err error
	if o.file, err = os.OpenFile(file, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return fmt.Errorf("--%s: %w", o.flag, err)
	}
	o.made = errors.Is(before, os.ErrNotExist)
	return nil
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
		return &exitError{exitNoResult, fmt.Errorf("--%s: %w", o.flag, err)}
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
		return fmt.Errorf("--%s: %w", o.flag, err)
	}
	if o.made {
		if err := os.Remove(name); err != nil {
			return fmt.Errorf("--%s: %w", o.flag, err)
		}
	}
	return nil
}

func (f *checkFlags) write(w io.Writer, format string, rep *result.Report, o report.Options) error {
	o.Text = textOptions(w)
	return report.Write(w, format, rep, o)
}

// textOptions suit where a text goes.
func textOptions(w io.Writer) (o report.TextOptions) {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == ""
		o.Width, _, _ = term.GetSize(int(file.Fd()))
	}
	return o
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
	if code, f, ok := clientFailure(err); ok {
		unheard := f.Kind == result.FailedSilent || f.Kind == result.FailedDied
		if unheard && len(command) > 0 && !leads.MatchString(strings.Join(command, " ")) {
			err = fmt.Errorf("%w\nthe address was added to the command as its last argument: {url}, {command} or {config} in the command says where it belongs", err)
		}
		return &exitError{code, err}
	}
	switch {
	case errors.As(err, &silent) && silent.Waited > 0:
		return &exitError{exitTarget, fmt.Errorf("%w\n--timeout gives it longer", err)}
	case errors.As(err, &start) && len(command) == 1 && len(strings.Fields(command[0])) > 1:
		return &exitError{exitTarget, fmt.Errorf("%w\nthe command is one word with spaces in it; without the quotes it is: goldwire check -- %s", err, command[0])}
	case errors.As(err, &start), errors.As(err, &died), errors.As(err, &silent):
		return &exitError{exitTarget, err}
	case errors.Is(err, conformance.ErrNoCheck):
		return &exitError{exitUsage, likeCheck(err)}
	case errors.As(err, &tool):
		return &exitError{exitUsage, err}
	case errors.Is(err, context.Canceled):
		return &exitError{exitNoResult, errInterrupted}
	}
	return &exitError{exitNoResult, err}
}

// leads is what stands in the command of a client where it is led to a server.
var leads = regexp.MustCompile(`\{(?:url|command|config)\}`)

// listed is one check as --list --format json prints it, in an array.
type listed struct {
	Check        string       `json:"check"`
	Title        string       `json:"title"`
	Level        result.Level `json:"level"` // MUST where breaking it is a failure in one of the revisions, else SHOULD or MAY
	Layer        string       `json:"layer"`
	Areas        []string     `json:"areas"`
	Revisions    []string     `json:"revisions"`  // of those selected
	Transports   []string     `json:"transports"` // over which it is judged in one of them: stdio, http (Streamable HTTP), sse
	Requirements []string     `json:"requirements"`
}

// failure is what a report says of a run that came to no verdicts.
func failure(err error, e *exitError) *result.Failure {
	out := &result.Failure{Kind: result.FailedInternal, ExitCode: e.code, Message: e.Error()}
	if code, f, ok := clientFailure(err); ok {
		f.ExitCode = code
		return &f
	}
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
		out.Message = (&conformance.SilentError{Heard: silent.Heard, Waited: silent.Waited}).Error()
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
	t := catalogue.Any
	if overSet(f.transport) {
		t = catalogue.Transport(f.transport)
	}
	checks, err := conformance.Select(o, t)
	if err != nil {
		return &exitError{exitUsage, likeCheck(err)}
	}
	list := []listed{}
	for i := range checks {
		l, err := describe(&checks[i], o, t)
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
	widest := 0
	for _, l := range list {
		widest = max(widest, len(strings.Join(l.Areas, ",")))
	}
	for _, l := range list {
		span := l.Revisions[0]
		if n := len(l.Revisions); n > 1 {
			span += "…" + l.Revisions[n-1]
		}
		if _, err := fmt.Fprintf(w, "%-40s %-6s %-21s  %-*s  %s\n", l.Check, l.Level, span, widest, strings.Join(l.Areas, ","), l.Title); err != nil {
			return err
		}
	}
	return nil
}

// describe gives a check in the revisions that the options select it in; none
// when they do not.
func describe(k *check.Check, o conformance.Options, t catalogue.Transport) (listed, error) {
	l := listed{Check: k.ID, Title: k.Title, Layer: string(k.Layer)}
	for _, rev := range check.Revisions() {
		if len(o.Revisions) > 0 && o.Revisions[0] != "all" && !slices.Contains(o.Revisions, rev) {
			continue
		}
		if ok, err := o.Judges(k, rev, t); err != nil || !ok {
			if err != nil {
				return l, err
			}
			continue
		}
		l.Revisions = append(l.Revisions, rev)
		for _, over := range []catalogue.Transport{catalogue.Stdio, catalogue.HTTP, catalogue.SSE} {
			if k.Applies(rev, over) && (t == catalogue.Any || t == over) && !slices.Contains(l.Transports, string(over)) {
				l.Transports = append(l.Transports, string(over))
			}
		}
		if level := k.Level(rev, t); weight(level) > weight(l.Level) {
			l.Level = level
		}
		for _, r := range k.Bound(rev, t) {
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
