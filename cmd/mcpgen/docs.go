package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/gen/build"
)

func docsCommand(s streams) *cobra.Command {
	var dir, revision string
	cmd := &cobra.Command{
		Use:   "docs",
		Short: "List what has no text in spec/docs.yaml",
		Long: `Docs lists the types, members, values, methods, errors and constants of the
generated packages that spec/docs.yaml says nothing of: per line a revision, the
JSON pointer of what it is made from, and what docs.yaml would call it. It
prints nothing when nothing is missing, and fails otherwise. A text that speaks
of something that no revision has is an error too.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if revision != "" && !dated(revision) {
				return usageError{fmt.Errorf("--revision wants a date like 2025-11-25, got %q", revision)}
			}
			return listGaps(s, dir, revision)
		},
	}
	cmd.Flags().StringVar(&dir, "spec", "spec", "`folder` of the specification data")
	cmd.Flags().StringVar(&revision, "revision", "", "list only what this `revision` lacks")
	return cmd
}

func listGaps(s streams, dir, revision string) error {
	gaps, err := build.Gaps(os.DirFS(dir))
	if err != nil {
		return err
	}
	n := 0
	for _, g := range gaps {
		if revision == "" || g.Revision == revision {
			fmt.Fprintln(s.out, g)
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%s has no text for %d declarations", path.Join(filepath.ToSlash(dir), "docs.yaml"), n)
	}
	return nil
}
