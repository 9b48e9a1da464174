package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/conformance/report"
	"github.com/goldwire/goldwire/conformance/result"
)

func diffCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "diff [flags] BEFORE AFTER",
		Short: "Compare two reports of check: what got better, what got worse",
		Long: `Compares two reports that goldwire check wrote with --format json (or --report
json=FILE), check by check in each revision that both judge.

Worse is what fails now and did not, or warns now and did not, or was kept and
cannot be judged now; better is the reverse. A finding that is no longer judged
is neither. Reports of runs that came to no verdicts cannot be compared.

Exit status: 0 nothing got worse; 1 something did; 2 the command line makes no
sense, or one of the files is no report.`,
		Example: `  goldwire check --report json=after.json -- ./my-server
  goldwire diff before.json after.json`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return &exitError{exitUsage, fmt.Errorf("--format %s: want text or json", format)}
			}
			var reps [2]*result.Report
			for i, file := range args {
				b, err := os.ReadFile(file)
				if err != nil {
					return &exitError{exitUsage, err}
				}
				if reps[i], err = report.ParseJSON(b); err != nil {
					return &exitError{exitUsage, fmt.Errorf("%s: %w", file, err)}
				}
				if e := reps[i].Error; e != nil {
					return &exitError{exitUsage, fmt.Errorf("%s: the run came to no verdicts: %s", file, e.Message)}
				}
			}
			c := result.Compare(reps[0], reps[1])
			if err := writeDiff(cmd.OutOrStdout(), format, c); err != nil {
				return &exitError{exitNoResult, err}
			}
			if c.Counts[result.Worse] > 0 {
				return &exitError{code: exitBroken}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "`FORMAT` of what is printed: text or json")
	return cmd
}

func writeDiff(w io.Writer, format string, c *result.Comparison) error {
	if format == "json" {
		return report.DiffJSON(w, c)
	}
	return report.Diff(w, c, textOptions(w))
}
