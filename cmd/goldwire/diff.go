package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/replay"
	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
	"github.com/goldwire/goldwire/conformance/transcript"
)

func diffCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER",
		Short: "Compare two reports of check, or two recordings",
		Long: `Compares two reports that goldwire check wrote with --format json (or --report
json=FILE), check by check in each revision that both judge.

Worse is what fails now and did not, or warns now and did not, or was kept and
cannot be judged now; better is the reverse. A finding that is no longer judged
is neither. Reports of runs that came to no verdicts cannot be compared, nor two
that judge nothing in common: another revision, transport, side or choice of checks.

Two recordings (of record, or golden transcripts) are compared message by
message: each request with its answer, and each notification. They are paired by
sender, method and params; ids, progress tokens, times, order and what says only
who speaks do not count. What looks like a credential is not printed.

Exit status: 0 nothing got worse, or the recordings say the same; 1 something
did, or they do not; 2 the command line makes no sense, one of the files is
neither a report nor a recording, or there is nothing to compare: the reports have
no check in common, or the recordings no message.`,
		Example: `  goldwire check --report json=after.json -- ./my-server
  goldwire diff before.json after.json
  goldwire diff yesterday.wire today.wire`,
		Args: wants(2, 2, "two files to compare: goldwire diff BEFORE AFTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return &exitError{exitUsage, fmt.Errorf("--format %s: want text or json", format)}
			}
			return interruptible(cmd.Context(), func() error { return diff(cmd.OutOrStdout(), format, args) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` of what is printed: text or json")
	return cmd
}

// diff compares two files.
func diff(w io.Writer, format string, files []string) error {
	var texts [2][]byte
	var wires [2]bool
	for i, file := range files {
		b, err := readBounded(file)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		texts[i], wires[i] = b, bytes.HasPrefix(b, []byte("goldwire-transcript:"))
	}
	switch {
	case wires[0] && !wires[1]:
		return &exitError{exitUsage, fmt.Errorf("%s is a recording and %s is none", files[0], files[1])}
	case wires[1] && !wires[0]:
		return &exitError{exitUsage, fmt.Errorf("%s is a recording and %s is none", files[1], files[0])}
	case wires[0]:
		return diffRecordings(w, format, files, texts)
	}
	return diffReports(w, format, files, texts)
}

func diffReports(w io.Writer, format string, files []string, texts [2][]byte) error {
	var reps [2]*result.Report
	for i, b := range texts {
		var err error
		if reps[i], err = report.ParseJSON(b); err != nil {
			return &exitError{exitUsage, fmt.Errorf("%s: %w", files[i], err)}
		}
		if e := reps[i].Error; e != nil {
			return &exitError{exitUsage, fmt.Errorf("%s: the run came to no verdicts: %s", files[i], e.Message)}
		}
	}
	c := result.Compare(reps[0], reps[1])
	if c.Paired == 0 {
		return &exitError{exitUsage, fmt.Errorf("the reports judge nothing in common\n  %s judges %s\n  %s judges %s", files[0], judged(reps[0]), files[1], judged(reps[1]))}
	}
	if err := writeDiff(w, format, c); err != nil {
		return &exitError{exitNoResult, err}
	}
	if c.Counts[result.Worse] > 0 {
		return &exitError{code: exitBroken}
	}
	return nil
}

// judged says what a report judges.
func judged(r *result.Report) string {
	side := r.Target.Side
	if side == "" {
		side = "server"
	}
	revisions := "no revision"
	if len(r.Revisions) > 0 {
		revisions = strings.Join(r.Revisions, ", ")
	}
	checks, over := map[string]bool{}, map[string]bool{}
	for i := range r.Results {
		checks[r.Results[i].ID] = true
		over[r.Results[i].Transport] = true
	}
	transports := ""
	if len(over) > 0 {
		transports = " over " + strings.Join(slices.Sorted(maps.Keys(over)), ", ")
	}
	return report.Plain(fmt.Sprintf("a %s by %s%s: %s", side, revisions, transports, count(len(checks), "check")))
}

func writeDiff(w io.Writer, format string, c *result.Comparison) error {
	if format == "json" {
		return report.DiffJSON(w, c)
	}
	return report.Diff(w, c, textOptions(w))
}

func diffRecordings(w io.Writer, format string, files []string, texts [2][]byte) error {
	var recs [2]*transcript.Recording
	for i, b := range texts {
		var err error
		if recs[i], err = parseRecording(files[i], b); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	d := replay.Compare(recs[0], recs[1])
	if d.Same == 0 && len(d.Changes) == 0 {
		return &exitError{exitUsage, errors.New("neither recording has a message to compare")}
	}
	redact := result.NewRedactor(nil)
	for i := range d.Changes {
		c := &d.Changes[i]
		c.Before, c.After = redact.Text(c.Before), redact.Text(c.After)
		for j := range c.Values {
			v := &c.Values[j]
			if v.Want, v.Got = redact.Text(v.Want), redact.Text(v.Got); v.Want == v.Got {
				v.Got += otherSecret
			}
		}
	}
	var err error
	if format == "json" {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", "\t")
		err = e.Encode(d)
	} else {
		err = writeChanges(w, d)
	}
	if err != nil {
		return &exitError{exitNoResult, err}
	}
	if len(d.Changes) > 0 {
		return &exitError{code: exitBroken}
	}
	return nil
}

func writeChanges(w io.Writer, d *replay.Diff) error {
	var b bytes.Buffer
	only := 0
	for _, c := range d.Changes {
		what := c.Method
		if what == "" {
			what = "a line"
		}
		switch {
		case c.After == "":
			only++
			fmt.Fprintf(&b, "only before  %s of the %s\n  %s\n", what, c.Sender, clip(c.Before))
		case c.Before == "":
			only++
			fmt.Fprintf(&b, "only after   %s of the %s\n  %s\n", what, c.Sender, clip(c.After))
		default:
			fmt.Fprintf(&b, "changed      %s of the %s\n  %s\n", what, c.Sender, clip(c.Before))
			for _, v := range c.Values {
				path := v.Path
				if path == "" {
					path = "it"
				}
				fmt.Fprintf(&b, "    %s: %s → %s\n", path, v.Want, v.Got)
			}
			if c.More > 0 {
				fmt.Fprintf(&b, "    and %d more\n", c.More)
			}
		}
	}
	fmt.Fprintf(&b, "%d changed, %d only in one of them, %d the same\n", len(d.Changes)-only, only, d.Same)
	_, err := io.WriteString(w, report.Plain(b.String()))
	return err
}

// clip shortens a line for people.
func clip(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
