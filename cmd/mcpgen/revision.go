package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/gen"
	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/spec"
)

func revisionCommand(s streams) *cobra.Command {
	var root, revision string
	var left, steps bool
	cmd := &cobra.Command{
		Use:   "revision [FILE] --revision REVISION",
		Short: "Add a revision: import its schema, scaffold its overlay, generate, compare, say what is left to write",
		Long: `Revision walks the steps of adding a revision to this module:

  import     FILE, the official schema, becomes spec/REVISION/schema.json (- is
             standard input). Without FILE the one that is there is taken.
  scaffold   What the file does not say and general rules decided is written to
             spec/REVISION/overlay.json; where a person has to confirm it, the
             reason begins with DECIDE. Entries of spec/common.json that match
             nothing any more end with the revision before. An overlay that is
             there is kept as it is.
  generate   generated/ is written from spec/.
  compare    The difference to the revision before is printed.
  left       What only a person can write is listed, with its place.

It may be run again after each edit. With --steps it does not list what is left,
with --left it does nothing else. make revision does all of this, and builds and
tests the result.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !dated(revision) {
				return usageError{fmt.Errorf("--revision wants a date like 2025-11-25, got %q", revision)}
			}
			t := tree{root, revision}
			if left && (steps || len(args) > 0) {
				return usageError{errors.New("--left takes no steps")}
			}
			if !left {
				file := ""
				if len(args) > 0 {
					file = args[0]
				}
				if err := t.walk(s, file); err != nil {
					return err
				}
			}
			if steps {
				return nil
			}
			return t.left(s)
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "`folder` of the module")
	cmd.Flags().StringVar(&revision, "revision", "", "`name` of the new revision, a date")
	cmd.Flags().BoolVar(&left, "left", false, "only list what is left to write")
	cmd.Flags().BoolVar(&steps, "steps", false, "only take the steps")
	return cmd
}

// tree is the module's folder, and the revision that is being added to it.
type tree struct {
	root, revision string
}

func (t tree) path(elem ...string) string { return filepath.Join(append([]string{t.root}, elem...)...) }

// walk takes all steps that need no person.
func (t tree) walk(s streams, file string) error {
	before, err := t.before()
	if err != nil {
		return err
	}
	if file != "" {
		fmt.Fprintf(s.out, "import: %s\n  ", filepath.ToSlash(file))
		if err := importSchema(s, t.path("spec"), t.revision, file); err != nil {
			return err
		}
	} else if err := t.takenIn(); err != nil {
		return err
	}
	if err := t.scaffold(s, before); err != nil {
		return err
	}
	fsys := os.DirFS(t.path("spec"))
	files, err := gen.Generate(fsys)
	if err != nil {
		return fmt.Errorf("%w\nthe place is wrong or not decided yet: mend spec/%s/overlay.json (or spec/common.json), and run this again", err, t.revision)
	}
	fmt.Fprint(s.out, "generate: ")
	if err := writeGenerated(s, t.path("generated"), files); err != nil {
		return err
	}
	older, err := build.Build(fsys, before)
	if err != nil {
		return err
	}
	newer, err := build.Build(fsys, t.revision)
	if err != nil {
		return err
	}
	d, err := delta.Compare(older, newer)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "compare: %s\n", d.Text())
	return nil
}

// takenIn fails before the schema of the revision is there.
func (t tree) takenIn() error {
	if _, err := os.Stat(t.path("spec", t.revision, "schema.json")); err != nil {
		return fmt.Errorf("spec/%s/schema.json is not there yet: name the official file", t.revision)
	}
	return nil
}

// before is the revision that the new one follows. Only the end of the list can
// grow: older revisions are frozen.
func (t tree) before() (string, error) {
	set, err := spec.Open(os.DirFS(t.path("spec")))
	if err != nil {
		return "", err
	}
	before := ""
	for _, r := range set.Revisions() {
		switch {
		case r > t.revision:
			return "", fmt.Errorf("%s is older than %s, which is known already: only newer revisions can be added", t.revision, r)
		case r < t.revision:
			before = r
		}
	}
	if before == "" {
		return "", errors.New("there is no revision before it to start from")
	}
	return before, nil
}
