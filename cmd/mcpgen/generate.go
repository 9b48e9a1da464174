package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/gen"
	"github.com/goldwire/goldwire/spec"
)

// mend is what brings generated/ up to date.
const mend = "go run ./cmd/mcpgen generate"

func generateCommand(s streams) *cobra.Command {
	var check bool
	var dir string
	var file fileOptions
	cmd := &cobra.Command{
		Use:   "generate [--schema FILE --revision REVISION --out DIR [--overlay FILE]]",
		Short: "Write generated/ from spec/, or the package of one official schema file",
		Long: `Generate writes the Go package of every revision, and the conversions between
each and the one before it, from the embedded spec/.

It touches only files that it made: it overwrites what differs and deletes what
carries its header and is made no more. With --check it writes nothing, names
what differs, and fails if anything does.

With --schema it makes one package of an official schema file as it comes (- is
standard input) in the folder --out: its descriptions become the comments. The
revision may be one that nobody has seen yet. Then general rules decide what no
file says, with what still fits of the facts of the revision before it, and a
note is printed for each such decision; what no rule decides is refused with
file and JSON pointer. --overlay names a file of entries that decide it, as in
spec/REVISION/overlay.json of the known revisions: each has a reason, and one
that matches nothing is refused. REVISION is a date like 2026-07-28, or draft.
The package compiles in any module that requires this one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file.asked() {
				if cmd.Flags().Changed("dir") {
					return usageError{errors.New("--dir is for all revisions, --out for one file")}
				}
				return generateFile(s, file, check)
			}
			files, err := gen.Generate(spec.Files())
			if err != nil {
				return err
			}
			if check {
				return checkGenerated(s, dir, files)
			}
			return writeGenerated(s, dir, files)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail if the files are not up to date")
	cmd.Flags().StringVar(&dir, "dir", "generated", "the `folder` to write")
	cmd.Flags().StringVar(&file.schema, "schema", "", "official schema `file` to make one package of")
	cmd.Flags().StringVar(&file.revision, "revision", "", "`name` of its revision: a date, or draft")
	cmd.Flags().StringVar(&file.overlay, "overlay", "", "`file` that decides what no rule decides")
	cmd.Flags().StringVar(&file.out, "out", "", "the `folder` to write that package to")
	return cmd
}

// checkGenerated fails if dir is not as it would be generated.
func checkGenerated(s streams, dir string, files map[string][]byte) error {
	drift, err := compare(dir, files)
	if err != nil {
		return err
	}
	if len(drift) == 0 {
		return nil
	}
	for _, d := range drift {
		fmt.Fprintln(s.err, d)
	}
	return fmt.Errorf("%s is not up to date in %d files; mend it with: %s", dir, len(drift), mend)
}

// compare treats a folder that does not exist as an empty one.
func compare(dir string, files map[string][]byte) ([]gen.Drift, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return gen.Compare(embed.FS{}, files)
	}
	return gen.Compare(os.DirFS(dir), files)
}

// writeGenerated brings dir up to date. A file that is in the way and does not
// carry the generator's header is an error, before anything is written.
func writeGenerated(s streams, dir string, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err == nil && !gen.Generated(have) {
			return fmt.Errorf("%s is in the way: it does not carry the generator's header", filepath.Join(dir, name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	drift, err := compare(dir, files)
	if err != nil {
		return err
	}
	for _, d := range drift {
		name := filepath.Join(dir, filepath.FromSlash(d.Path))
		if d.What == "stray" {
			return fmt.Errorf("%s is named like a generated file, and does not carry the generator's header: rename or delete it", name)
		}
		if d.What == "stale" {
			err = os.Remove(name)
		} else {
			err = writeFile(name, files[d.Path])
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%s: %d files, %d changed\n", dir, len(files), len(drift))
	return nil
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if have, err := os.ReadFile(name); err == nil && bytes.Equal(have, data) {
		return nil
	}
	return os.WriteFile(name, data, 0o666)
}
