package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/gen/schema"
	"github.com/goldwire/goldwire/spec"
)

func diffCommand(s streams) *cobra.Command {
	var dir string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff OLDER NEWER",
		Short: "Say what changed between two revisions or schema files, and what it means",
		Long: `Diff compares two revisions. Each is the name of a known one or an official
schema file (- is standard input). A file is lowered by the facts of its
revision if it is a known one's, else by what fits of those of the newest
revision and by general rules.

Of each change it says whether Go code written for the older package still
compiles, whether old peers understand the new messages and new peers the old
ones, and what converting values up and down keeps. The lines below what is
printed say how to read it.

With --json it prints one object:

  older, newer    revision, schema (the file), sha256, stateless
  counts          types, messages and changes in numbers
  changes         a list, sorted by group, subject, kind and member:
    group           handshake, methods, notifications, capabilities, types, errors, constants
    kind            what happened: member-added, type-renamed, outcome-removed, …
    subject         Go name of a type, a method, "server tools.listChanged", an error, a constant
    member          what of the subject: a member, a value, a type of a union, …
    older, newer    what stood there and what stands there
    sender          who puts it on the wire: client, server, either
    code            compiles or breaks
    oldReadsNew     yes, ignores, some, no
    newReadsOld     yes, ignores, some, no
    up, down        = or letters of D, L, X; absent when there are no values to convert
    note            what the others do not say
  conversions     a list of the changed types with all that they hold:
    type, older     Go name, and what it was called before
    up, down        as above
    nestedUp, nestedDown   only what the type holds gives it some of its letters

Names and values stay as they are; new members and new kinds may come.`,
		Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			fsys := spec.Files()
			if dir != "" {
				fsys = os.DirFS(dir)
			}
			older, err := model(s, fsys, args[0])
			if err != nil {
				return err
			}
			newer, err := model(s, fsys, args[1])
			if err != nil {
				return err
			}
			d, err := delta.Compare(older, newer)
			if err != nil {
				return err
			}
			if !asJSON {
				_, err = fmt.Fprint(s.out, d.Text())
				return err
			}
			enc := json.NewEncoder(s.out)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().StringVar(&dir, "spec", "", "`folder` of the specification data, in place of the embedded one")
	return cmd
}

// model lowers a known revision or a schema file.
func model(s streams, fsys fs.FS, name string) (*ir.Package, error) {
	set, err := spec.Open(fsys)
	if err != nil {
		return nil, err
	}
	if slices.Contains(set.Revisions(), name) {
		return build.Build(fsys, name)
	}
	data, err := readInput(s, name)
	if err != nil {
		if revisionName.MatchString(name) {
			return nil, fmt.Errorf("%s is neither a known revision (%v) nor a file", name, set.Revisions())
		}
		return nil, err
	}
	pkg, _, err := build.FileDecisions(fsys, filepath.ToSlash(name), data, revisionOf(set, data), nil)
	return pkg, err
}

// revisionOf gives the known revision whose official file, or whose structure, data is, "" if it is none's.
func revisionOf(set *spec.Set, data []byte) string {
	hash := schema.Hash(data)
	for _, r := range set.Revisions() {
		if src, err := set.Source(r); err == nil && (src.Official == hash || src.Structure == hash) {
			return r
		}
	}
	return ""
}
