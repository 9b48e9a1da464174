package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goldwire/goldwire/gen"
	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/spec"
)

// draft is the name of a revision that has no date yet.
const draft = "draft"

// dated says whether a name is a date as revisions have. Names sort in time,
// which everything here relies on.
func dated(name string) bool {
	_, err := time.Parse(time.DateOnly, name)
	return err == nil && revisionName.MatchString(name)
}

// fileOptions are the flags of generate that make a package of one schema file.
type fileOptions struct {
	schema, revision, out, overlay string
}

// asked says whether any of the flags was given.
func (o fileOptions) asked() bool { return o != fileOptions{} }

// generateFile makes the package of one official schema file in a folder of its own.
func generateFile(s streams, o fileOptions, check bool) error {
	switch {
	case o.schema == "":
		return usageError{errors.New("--schema is missing: which file is to be generated from?")}
	case o.out == "":
		return usageError{errors.New("--out is missing: which folder is to be written?")}
	case o.revision != draft && !dated(o.revision):
		return usageError{fmt.Errorf("--revision wants a date like 2026-07-28, or draft, got %q", o.revision)}
	case o.overlay != "" && slices.Contains(spec.Revisions(), o.revision):
		return usageError{fmt.Errorf("--overlay is for revisions that are not known; the facts of %s stand in spec/", o.revision)}
	}
	data, err := readInput(s, o.schema)
	if err != nil {
		return err
	}
	var own *spec.Overlay
	if o.overlay != "" {
		text, err := os.ReadFile(o.overlay)
		if err != nil {
			return err
		}
		if own, err = spec.ParseOverlay(filepath.ToSlash(o.overlay), text); err != nil {
			return err
		}
	}
	// The name goes into the header of what is printed: it must be the same on
	// every machine.
	name := filepath.ToSlash(o.schema)
	switch {
	case o.schema == "-":
		name = "standard input"
	case filepath.IsAbs(o.schema) || !fs.ValidPath(name):
		name = filepath.Base(o.schema)
	}
	files, decisions, err := gen.FileDecisions(name, data, o.revision, own)
	if err != nil {
		if o.overlay == "" {
			return fmt.Errorf("%w\nwhat no rule decides can be decided in a file of entries like those of spec/<revision>/overlay.json: --overlay FILE", err)
		}
		return err
	}
	drift, err := compareFolder(o.out, files)
	if err != nil {
		return err
	}
	if check {
		for _, d := range drift {
			fmt.Fprintln(s.err, d)
		}
		if len(drift) > 0 {
			return fmt.Errorf("%s is not what %s says in %d files", o.out, name, len(drift))
		}
		return nil
	}
	for _, d := range drift {
		file := filepath.Join(o.out, d.Path)
		if d.What == "stale" {
			err = os.Remove(file)
		} else {
			err = writeFile(file, files[d.Path])
		}
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%s: %d files, %d changed\n", filepath.ToSlash(o.out), len(files), len(drift))
	notes(s, name, o.revision, decisions)
	return nil
}

// notes tells what a person should look at.
func notes(s streams, name, revision string, decisions []*build.Decision) {
	for _, d := range decisions {
		if !d.Sure {
			fmt.Fprintf(s.err, "note: %s#%s: %s\n", name, d.Pointer, d.What)
		}
	}
	if !slices.Contains(spec.Revisions(), revision) {
		fmt.Fprintf(s.err, "note: the runtime has no rules for revision %s; add it (make revision), or its connections keep to those of the newest revision that like it has a handshake or has none\n", revision)
	}
}

// compareFolder says how the files of one folder differ from what was made.
// Folders inside of it are nobody's concern. A file that is in the way and does
// not carry the generator's header is an error.
func compareFolder(dir string, files map[string][]byte) ([]gen.Drift, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	have := map[string][]byte{}
	for _, e := range entries {
		if e.IsDir() || filepath.Ext(e.Name()) != ".go" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		have[e.Name()] = data
	}
	var out []gen.Drift
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch data, ok := have[name]; {
		case !ok:
			out = append(out, gen.Drift{Path: name, What: "missing"})
		case !gen.Generated(data):
			return nil, fmt.Errorf("%s is in the way: it does not carry the generator's header", filepath.Join(dir, name))
		case string(data) != string(files[name]):
			out = append(out, gen.Drift{Path: name, What: "differs"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if files[name] == nil && gen.Generated(have[name]) {
			out = append(out, gen.Drift{Path: name, What: "stale"})
		}
	}
	return out, nil
}
