// Package gen is the generator as a function: a folder of specification data
// in, the files of generated/ out.
//
// It is pure. It reads nothing but the folder that it is given, writes
// nothing, asks no clock and no network, and gives the same bytes for the same
// input.
package gen

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/gen/delta"
	"github.com/goldwire/goldwire/gen/emit"
	"github.com/goldwire/goldwire/gen/ir"
	"github.com/goldwire/goldwire/spec"
)

// Generate makes every revision's package, and the conversions between each
// and the one before it, from a folder laid out as
// [github.com/goldwire/goldwire/spec.Files] describes. The result maps paths
// below generated/ ("mcp/v20251125/types_gen.go") to contents.
func Generate(fsys fs.FS) (map[string][]byte, error) {
	pkgs, err := build.All(fsys)
	if err != nil {
		return nil, err
	}
	var steps []*ir.StepPackage
	for i := 1; i < len(pkgs); i++ {
		if err := compare(pkgs[i-1], pkgs[i]); err != nil {
			return nil, err
		}
		s, err := delta.Step(pkgs[i-1], pkgs[i])
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	out := map[string][]byte{}
	for _, p := range pkgs {
		files, err := emit.Package(p)
		if err != nil {
			return nil, err
		}
		add(out, p.Dir, files)
	}
	for _, s := range steps {
		files, err := emit.Step(s)
		if err != nil {
			return nil, err
		}
		add(out, s.Dir, files)
	}
	name, data, err := emit.Registry(pkgs, steps)
	if err != nil {
		return nil, err
	}
	out[name] = data
	return out, nil
}

// add adds the files of a folder.
func add(out map[string][]byte, dir string, files map[string][]byte) {
	for name, data := range files {
		out[path.Join(dir, name)] = data
	}
}

// File makes the package of one schema file as it was published, of a revision
// that may be known or not. The result maps file names to contents.
func File(name string, data []byte, revision string) (map[string][]byte, error) {
	files, _, err := FileDecisions(name, data, revision, nil)
	return files, err
}

// FileDecisions is [File], and says what general rules decided in place of the
// facts that a known revision has. own holds what a person decided; it may be
// nil, and a known revision takes none.
func FileDecisions(name string, data []byte, revision string, own *spec.Overlay) (map[string][]byte, []*build.Decision, error) {
	pkg, decisions, err := build.FileDecisions(spec.Files(), name, data, revision, own)
	if err != nil {
		return nil, nil, err
	}
	if before := before(revision); before != "" {
		older, err := build.Build(spec.Files(), before)
		if err != nil {
			return nil, nil, err
		}
		if err := compare(older, pkg); err != nil {
			return nil, nil, err
		}
	}
	files, err := emit.Package(pkg)
	return files, decisions, err
}

// before gives the newest embedded revision that is older than the named one, "" if there is none.
func before(revision string) string {
	out := ""
	for _, r := range spec.Revisions() {
		if r < revision {
			out = r
		}
	}
	return out
}

// compare notes in newer what came and went since older.
func compare(older, newer *ir.Package) error {
	d, err := delta.Compare(older, newer)
	if err != nil {
		return err
	}
	newer.Changes = d.Summary()
	return nil
}

// Drift is one file that is not as the generator makes it.
type Drift struct {
	Path string // below generated/
	What string // "missing", "differs", "stale", "stray" (named like a generated file, without the header)
}

func (d Drift) String() string { return fmt.Sprintf("%s: %s", d.Path, d.What) }

// Compare says how a generated/ folder differs from what the generator makes,
// sorted by path. Files without the generator's header are nobody's concern,
// unless they are named like generated ones (…_gen.go).
func Compare(generated fs.FS, want map[string][]byte) ([]Drift, error) {
	have := map[string]bool{}
	var out []Drift
	err := fs.WalkDir(generated, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(p) != ".go" {
			return err
		}
		data, err := fs.ReadFile(generated, p)
		if err != nil {
			return err
		}
		made, ours := want[p], Generated(data)
		switch {
		case made == nil && ours:
			out = append(out, Drift{p, "stale"})
		case made == nil && stray(p):
			out = append(out, Drift{p, "stray"})
		case made != nil && !bytes.Equal(made, data):
			out = append(out, Drift{p, "differs"})
		}
		have[p] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Sorted(maps.Keys(want)) {
		if !have[p] {
			out = append(out, Drift{p, "missing"})
		}
	}
	slices.SortFunc(out, func(a, b Drift) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return out, nil
}

// stray says whether a file that the generator does not make is named like one.
func stray(p string) bool {
	name := path.Base(p)
	return strings.HasSuffix(name, "_gen.go") || strings.HasSuffix(name, "_gen_test.go")
}

// Generated says whether a file carries the generator's header.
func Generated(data []byte) bool {
	return bytes.HasPrefix(data, []byte("// "+emit.Header))
}
