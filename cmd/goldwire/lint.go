package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

// lintOptions of a judgement of recordings.
type lintOptions struct {
	conformance.LintOptions
	text func(string) string // takes out more of what is shown; may be nil
}

// lint judges recordings, without a process or a network.
func lint(recs []*transcript.Recording, o lintOptions) (*result.Report, error) {
	rep, err := conformance.Lint(recs, o.LintOptions)
	if err != nil || o.text == nil {
		return rep, err
	}
	for i := range rep.Results {
		c := &rep.Results[i]
		c.Expected, c.Observed, c.Reason = o.text(c.Expected), o.text(c.Observed), o.text(c.Reason)
		for j := range c.Frames {
			c.Frames[j].Text = o.text(c.Frames[j].Text)
		}
		for j := range c.More {
			m := &c.More[j]
			m.Expected, m.Observed = o.text(m.Expected), o.text(m.Observed)
			for k := range m.Frames {
				m.Frames[k].Text = o.text(m.Frames[k].Text)
			}
		}
	}
	return rep, nil
}

type lintFlags struct {
	checkFlags
	noSchema bool
}

func lintCommand() *cobra.Command {
	var f lintFlags
	var side string
	cmd := &cobra.Command{
		Use:   "lint [flags] FILE…",
		Short: "Judge recorded traffic: both sides, offline",
		Long: `Judges the traffic in recordings: of goldwire record, of check --save, golden
transcripts, and whatever else is in their format. Nothing is started. - is stdin.

A recording of several sessions is split: over stdio by process, over HTTP by
session, or by client where there are none. The revision of a session is that of
its handshake; --revision says it where there is none, and otherwise selects.
Both sides are judged: what each message is, by the schema of its method and
revision; ids, order, progress, capabilities, framing, and over HTTP headers,
status codes and streams. Rules that only a probe can show are counted as unseen.
Lines in which secrets were replaced break nothing.

A FILE may have 256 MiB and two million lines; about 400 bytes a line are needed
beside its text. One that a killed recorder left is judged up to its last whole line.

The report, its formats, --baseline and --flaky are those of check.

Exit status: 0 no MUST was broken; 1 one was (with --strict: or a SHOULD) that
the baseline does not know; 2 the command line makes no sense, or a FILE is no
recording; 4 nothing else, but an entry of --baseline or --flaky is stale; 5
there was nothing to judge.`,
		Example: `  goldwire lint session.wire
  goldwire lint --side client --format markdown session.wire
  goldwire lint --baseline known.yaml --report junit=junit.xml recordings/*.wire`,
		Args: wants(1, -1, "recordings to judge: goldwire lint FILE…"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.lint(cmd, args, side) },
	}
	fl := cmd.Flags()
	fl.StringVar(&side, "side", "both", "the `SIDE` to judge: server, client or both; of a golden transcript and a saved run only the side under test")
	fl.BoolVar(&f.noSchema, "no-schema", false, "compare no message with its schema: several times as fast")
	fl.StringVar(&f.revision, "revision", "auto", "revisions to judge: auto (those that the handshakes say), or a comma-separated `LIST`, of which the first is taken for sessions without a handshake")
	fl.StringVar(&f.format, "format", "text", "`FORMAT` of the report: "+oneOf(report.Formats()))
	fl.StringVar(&f.output, "output", "", "write the report to `FILE`, - for stdout")
	fl.StringVar(&f.level, "level", "may", "weakest `LEVEL` of rules to judge: must, should or may (breaking a SHOULD or a MAY is a warning)")
	fl.StringSliceVar(&f.only, "only", nil, "judge only what matches `PATTERN`: ids of checks (tool-*), areas (tools) or requirements (legacy/tools-*); may be repeated")
	fl.StringArrayVar(&f.reports, "report", nil, "write a report as `FORMAT=FILE` too; may be repeated")
	fl.StringVar(&f.baseline, "baseline", "", "a YAML `FILE` of findings that are known and do not count")
	fl.BoolVar(&f.update, "update-baseline", false, "write what counts now, with --strict warnings too, into the file of --baseline, with the reasons it has")
	fl.StringVar(&f.flaky, "flaky", "", "a YAML `FILE` of checks that do not count, whether they pass or not")
	fl.BoolVar(&f.strict, "strict", false, "a warning counts as a failure does")
	fl.BoolVar(&f.annotate, "annotate", false, "print the findings on stderr as annotations of GitHub Actions")
	fl.StringVar(&f.source, "source", "", "the source `FILE` that annotations and SARIF show findings at")
	return cmd
}

func (f *lintFlags) lint(cmd *cobra.Command, files []string, side string) error {
	f.timeout, f.probeTimeout, f.parallel, f.transport, f.profile = time.Second, time.Second, 1, "auto", "plain" // nothing is driven
	opts, err := f.options(cmd)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	opts.Redact = result.NewRedactor(nil)
	o := lintOptions{LintOptions: conformance.LintOptions{Options: opts, Side: catalogue.Side(side), NoSchema: f.noSchema}}
	switch side {
	case "both", string(catalogue.Server), string(catalogue.Client):
	default:
		return &exitError{exitUsage, fmt.Errorf("--side %s: want server, client or both", side)}
	}
	recs := make([]*transcript.Recording, len(files))
	if err := interruptible(cmd.Context(), func() error { // stdin may be silent
		for i, name := range files {
			rec, err := readRecording(name)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			recs[i] = rec
		}
		return nil
	}); err != nil {
		return err
	}
	known, flaky, err := f.lists()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	outs, err := f.openAll(cmd.OutOrStdout())
	if err != nil {
		return &exitError{exitUsage, err}
	}
	var rep *result.Report
	if err := interruptible(cmd.Context(), func() (err error) { rep, err = lint(recs, o); return err }); err != nil {
		code := exitUsage
		if errors.Is(err, errInterrupted) || errors.Is(err, conformance.ErrNoSession) {
			code = exitNoResult
		}
		return &exitError{code, errors.Join(likeCheck(err), leaveAll(outs))}
	}
	if err := f.apply(rep, known, flaky); err != nil {
		return &exitError{exitNoResult, errors.Join(err, leaveAll(outs))}
	}
	write := report.Options{Source: f.source, Tool: version()}
	for _, out := range outs {
		err = errors.Join(err, out.write(func(w io.Writer) error { return f.write(w, out.format, rep, write) }))
	}
	if f.annotate {
		err = errors.Join(err, report.Annotations(cmd.ErrOrStderr(), rep, write.Source))
	}
	if err != nil {
		return &exitError{exitNoResult, err}
	}
	if code := report.ExitCode(rep); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}
