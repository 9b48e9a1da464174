package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

// revisionName is the form of a revision's name. Names sort in time, which
// everything here relies on.
var revisionName = regexp.MustCompile(`^20[0-9]{2}-[0-9]{2}-[0-9]{2}$`)

func importCommand(s streams) *cobra.Command {
	var dir, revision string
	cmd := &cobra.Command{
		Use:   "import FILE --revision REVISION",
		Short: "Take over an official schema file: write its structure to spec/REVISION/schema.json",
		Long: `Import reads an official schema file (- is standard input), leaves out its
description texts, sorts its keys and writes it to spec/REVISION/schema.json.
spec/sources.json then holds the sha256 of the official file and of what was
written, so that verify can prove either.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !dated(revision) {
				return usageError{fmt.Errorf("--revision wants a date like 2025-11-25, got %q", revision)}
			}
			return importSchema(s, dir, revision, args[0])
		},
	}
	cmd.Flags().StringVar(&dir, "spec", "spec", "folder of the specification data")
	cmd.Flags().StringVar(&revision, "revision", "", "revision that the file is of")
	return cmd
}

func importSchema(s streams, dir, revision, file string) error {
	official, err := readInput(s, file)
	if err != nil {
		return err
	}
	structure, err := schema.Structure(file, official)
	if err != nil {
		return err
	}
	sources, err := readSources(dir)
	if err != nil {
		return err
	}
	src := spec.Source{Revision: revision, Official: schema.Hash(official), Structure: schema.Hash(structure)}
	i, found := slices.BinarySearchFunc(sources, revision, func(s spec.Source, r string) int {
		return bytes.Compare([]byte(s.Revision), []byte(r))
	})
	if found {
		sources[i] = src
	} else {
		sources = slices.Insert(sources, i, src)
	}
	list, err := spec.FormatSources(sources)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, revision, "schema.json")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, structure, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "sources.json"), list, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s: structure %s\n", filepath.ToSlash(name), src.Structure)
	return nil
}

// readSources reads sources.json; a folder without one is a new one.
func readSources(dir string) ([]spec.Source, error) {
	data, err := os.ReadFile(filepath.Join(dir, "sources.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return spec.ParseSources(data)
}

func readInput(s streams, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(s.in)
	}
	return os.ReadFile(file)
}

func verifyCommand(s streams) *cobra.Command {
	var dir, revision string
	cmd := &cobra.Command{
		Use:   "verify [FILE] [--revision REVISION]",
		Short: "Prove that spec/REVISION/schema.json has the structure of the official file",
		Long: `Verify with a file compares the structure of that official file (- is standard
input) with spec/REVISION/schema.json and says where they differ, by JSON
pointer and with both values. Without a file it proves each schema.json, or
that of one revision, against the hash in spec/sources.json.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return verifyHashes(s, dir, revision)
			}
			if revision == "" {
				return usageError{errors.New("--revision is missing: which one is the file of?")}
			}
			return verifyFile(s, dir, revision, args[0])
		},
	}
	cmd.Flags().StringVar(&dir, "spec", "spec", "folder of the specification data")
	cmd.Flags().StringVar(&revision, "revision", "", "revision to verify")
	return cmd
}

func verifyHashes(s streams, dir, revision string) error {
	sources, err := readSources(dir)
	if err != nil {
		return err
	}
	if len(sources) == 0 {
		return fmt.Errorf("%s records no schema to verify: run this in the module's folder, or name the folder of the data by --spec", filepath.ToSlash(filepath.Join(dir, "sources.json")))
	}
	if revision != "" {
		if err := recorded(sources, dir, revision); err != nil {
			return err
		}
		sources = slices.DeleteFunc(sources, func(s spec.Source) bool { return s.Revision != revision })
	}
	bad := 0
	for _, src := range sources {
		name := filepath.Join(dir, src.Revision, "schema.json")
		shown := filepath.ToSlash(name)
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		structure, err := schema.Structure(shown, data)
		if err != nil {
			return err
		}
		f, err := schema.Parse(shown, data)
		if err != nil {
			return err
		}
		hash := schema.Hash(structure)
		switch {
		case hash != src.Structure:
			fmt.Fprintf(s.out, "%s: its structure is not what was imported: sha256 %s, sources.json records %s\n", shown, hash, src.Structure)
			bad++
		case !bytes.Equal(structure, data):
			fmt.Fprintf(s.out, "%s: its structure is what was imported, but its text is not as import writes it (order of keys, white space, descriptions)\n", shown)
			bad++
		default:
			fmt.Fprintf(s.out, "%s: ok, %d definitions\n", shown, len(f.Definitions))
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d files are not as they were imported; import the official file again: mcpgen import FILE --revision REVISION", bad, len(sources))
	}
	return nil
}

// maxDifferences bounds what verify prints.
const maxDifferences = 50

// recorded says whether a revision was imported.
func recorded(sources []spec.Source, dir, revision string) error {
	var known []string
	for _, src := range sources {
		if src.Revision == revision {
			return nil
		}
		known = append(known, src.Revision)
	}
	return fmt.Errorf("%s records no revision %s (it has %s)", filepath.ToSlash(filepath.Join(dir, "sources.json")), revision, strings.Join(known, ", "))
}

func verifyFile(s streams, dir, revision, file string) error {
	sources, err := readSources(dir)
	if err != nil {
		return err
	}
	if err := recorded(sources, dir, revision); err != nil {
		return err
	}
	name := filepath.Join(dir, revision, "schema.json")
	shown := filepath.ToSlash(name)
	ours, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	official, err := readInput(s, file)
	if err != nil {
		return err
	}
	diffs, err := schema.Compare(shown, ours, file, official)
	if err != nil {
		return err
	}
	for i, d := range diffs {
		if i == maxDifferences {
			fmt.Fprintf(s.out, "… and %d more\n", len(diffs)-i)
			break
		}
		fmt.Fprintf(s.out, "%s\n  %s: %s\n  %s: %s\n", d.Pointer, shown, orNothing(d.Left), file, orNothing(d.Right))
	}
	if len(diffs) > 0 {
		return fmt.Errorf("%s does not have the structure of %s: they differ at the %d places above", shown, file, len(diffs))
	}
	note := "another text than the imported one"
	for _, src := range sources {
		if src.Revision == revision && src.Official == schema.Hash(official) {
			note = "the very file that was imported"
		}
	}
	fmt.Fprintf(s.out, "%s has the structure of %s (%s)\n", shown, file, note)
	return nil
}

func orNothing(s string) string {
	if s == "" {
		return "(nothing)"
	}
	return s
}
