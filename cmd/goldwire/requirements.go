package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/goldwire/goldwire/conformance"
	"github.com/goldwire/goldwire/conformance/catalogue"
	"github.com/goldwire/goldwire/conformance/check"
	"github.com/goldwire/goldwire/conformance/report"
)

type requirementsFlags struct {
	revision, side, transport, level  string
	covered, uncovered, summary, json bool
}

func requirementsCommand() *cobra.Command {
	var f requirementsFlags
	cmd := &cobra.Command{
		Use:   "requirements [flags] [PATTERN…]",
		Short: "List what the specification requires, and what the checks judge of it",
		Long: `Lists the requirements of the protocol: what has to hold, in which revisions, who
has to see to it and where the specification says so; and which checks judge it,
or why none does. Checks of clients are those of check --client.

The state of a requirement is covered (a check judges it), open (it can be
judged from outside, and no check does yet), fixture (to judge it takes
something that a server or client need not have), hidden (it does not show on
the wire), or partly (not the same on both sides or in all revisions).

PATTERN is the id of a requirement, with or without its era, or one with * in
it: legacy/tools-unknown-tool, tools-*.`,
		Example: `  goldwire requirements tools-unknown-tool
  goldwire requirements --revision 2025-11-25 --side server
  goldwire requirements --uncovered --level must
  goldwire requirements --summary --transport stdio`,
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.revision, "revision", "", "only what holds in `REVISION`")
	fl.StringVar(&f.side, "side", "", "only what binds `SIDE`: server or client")
	fl.StringVar(&f.transport, "transport", "", "only what is about traffic over `TRANSPORT`: stdio, http (Streamable HTTP) or sse")
	fl.StringVar(&f.level, "level", "may", "weakest `LEVEL` to list: must, should or may")
	fl.BoolVar(&f.covered, "covered", false, "only what checks judge")
	fl.BoolVar(&f.uncovered, "uncovered", false, "only what no check judges on one side or in one revision, with the reason")
	fl.BoolVar(&f.summary, "summary", false, "count them by revision and side instead of listing them")
	fl.BoolVar(&f.json, "json", false, "write JSON")
	return cmd
}

func (f *requirementsFlags) run(cmd *cobra.Command, patterns []string) error {
	entries, err := f.entries(patterns)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	if err := f.write(cmd.OutOrStdout(), entries); err != nil {
		return &exitError{exitNoResult, err}
	}
	return nil
}

// entries are the requirements that the flags and the patterns select.
func (f *requirementsFlags) entries(patterns []string) ([]check.Entry, error) {
	for _, pat := range patterns {
		matched := false
		for r := range catalogue.All() {
			fits, err := named(r.ID, []string{pat})
			if err != nil {
				return nil, err
			}
			matched = matched || fits
		}
		if !matched {
			return nil, fmt.Errorf("no requirement %q: goldwire requirements lists them", pat)
		}
	}
	if f.covered && f.uncovered {
		return nil, errors.New("--covered and --uncovered leave nothing: want one of them")
	}
	if f.revision != "" && !slices.Contains(check.Revisions(), f.revision) {
		return nil, fmt.Errorf("--revision %s: no such revision; there are %s", f.revision, strings.Join(check.Revisions(), ", "))
	}
	side := catalogue.Side(f.side)
	if side != "" && side != catalogue.Server && side != catalogue.Client {
		return nil, fmt.Errorf("--side %s: want server or client", f.side)
	}
	over := catalogue.Transport(f.transport)
	if !slices.Contains([]catalogue.Transport{"", catalogue.Stdio, catalogue.HTTP, catalogue.SSE}, over) {
		return nil, fmt.Errorf("--transport %s: want stdio, http or sse", f.transport)
	}
	var levels []catalogue.Level
	switch f.level {
	case "may":
		levels = append(levels, catalogue.May)
		fallthrough
	case "should":
		levels = append(levels, catalogue.Should, catalogue.ShouldNot)
		fallthrough
	case "must":
		levels = append(levels, catalogue.Must, catalogue.MustNot)
	default:
		return nil, fmt.Errorf("--level %s: want must, should or may", f.level)
	}
	return slices.DeleteFunc(check.Entries(conformance.Checks(), f.revision, side), func(e check.Entry) bool {
		fits, _ := named(e.ID, patterns) // malformed ones were refused above
		return len(patterns) > 0 && !fits || !e.Carries(over) || !slices.Contains(levels, e.Level) || f.covered && !e.Covered() || f.uncovered && e.Covered()
	}), nil
}

// named reports whether one of the patterns fits an id, with or without its
// era.
func named(id string, patterns []string) (bool, error) {
	_, short, _ := strings.Cut(id, "/")
	for _, pat := range patterns {
		for _, name := range []string{id, short} {
			if ok, err := path.Match(pat, name); err != nil {
				return false, fmt.Errorf("pattern %q: %w", pat, err)
			} else if ok {
				return true, nil
			}
		}
	}
	return false, nil
}

func (f *requirementsFlags) write(w io.Writer, entries []check.Entry) error {
	o := report.TextOptions{}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		o.Color = os.Getenv("NO_COLOR") == ""
		o.Width, _, _ = term.GetSize(int(file.Fd()))
	}
	switch {
	case f.summary && f.json:
		return report.RequirementsSummaryJSON(w, entries)
	case f.summary:
		return report.RequirementsSummary(w, entries, o)
	case f.json:
		return report.RequirementsJSON(w, entries, f.revision)
	}
	return report.Requirements(w, entries, f.revision, o)
}
