// Package spectest gives tests the specification data of the revisions that
// they were written for, whatever was added since: what such a test expects
// stays true when a revision is added.
package spectest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/goldwire/goldwire/spec"
)

// Newest is the newest revision of [Files].
const Newest = "2026-07-28"

// Revisions gives the revisions of [Files], oldest first.
func Revisions() []string {
	return []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", Newest}
}

// Files gives the embedded data, laid out as spec.Files, as it was when Newest was the newest:
// without later revisions, and entries of common.json that a later revision
// ended or began are as before. Texts about what a later revision brought are
// there, and nothing asks for them. The result is the caller's.
func Files() fstest.MapFS {
	out, err := until(spec.Files())
	if err != nil {
		panic(fmt.Sprintf("spectest: %v", err)) // a test holds the embedded data readable
	}
	return out
}

func until(fsys fs.FS) (fstest.MapFS, error) {
	out := fstest.MapFS{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(p, "20") && path.Base(p) > Newest {
				return fs.SkipDir
			}
			return nil
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		switch p {
		case "sources.json":
			data, err = sources(data)
		case "common.json":
			data, err = common(data)
		case "docs.yaml":
			if spec.Latest() > Newest {
				data = append([]byte("until: \""+Newest+"\"\n"), data...)
			}
		}
		out[p] = &fstest.MapFile{Data: data}
		return err
	})
	return out, err
}

func sources(data []byte) ([]byte, error) {
	all, err := spec.ParseSources(data)
	if err != nil || len(all) == 0 || all[len(all)-1].Revision <= Newest {
		return data, err
	}
	for i, s := range all {
		if s.Revision > Newest {
			all = all[:i]
			break
		}
	}
	return spec.FormatSources(all)
}

var bound = regexp.MustCompile(`"(from|to)": "([0-9-]+)", `)

// common undoes what later revisions did to the common facts. The text stays as
// it is where nothing was done.
func common(data []byte) ([]byte, error) {
	later := false
	data = bound.ReplaceAllFunc(data, func(b []byte) []byte {
		m := bound.FindSubmatch(b)
		switch which, revision := string(m[1]), string(m[2]); {
		case which == "from" && revision > Newest:
			later = true
		case which == "to" && revision >= Newest && spec.Latest() > Newest:
			return nil
		}
		return b
	})
	if !later {
		return data, nil
	}
	var lists map[string][]map[string]any
	if err := json.Unmarshal(data, &lists); err != nil {
		return nil, err
	}
	for name, list := range lists {
		lists[name] = slices.DeleteFunc(list, func(e map[string]any) bool {
			from, _ := e["from"].(string)
			return from > Newest
		})
	}
	return json.Marshal(lists)
}
