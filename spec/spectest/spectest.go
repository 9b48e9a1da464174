// Package spectest gives tests the specification data of the revisions that
// they were written for, whatever was added since: what such a test expects
// stays true when a revision is added.
package spectest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
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
// ended or began are as before. The result is the caller's.
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

// common undoes what later revisions did to the common facts, if there are any.
func common(data []byte) ([]byte, error) {
	if spec.Latest() <= Newest {
		return data, nil
	}
	var lists map[string][]map[string]any
	if err := json.Unmarshal(data, &lists); err != nil {
		return nil, err
	}
	for name, list := range lists {
		kept := list[:0]
		for _, e := range list {
			if from, _ := e["from"].(string); from > Newest {
				continue
			}
			if to, _ := e["to"].(string); to >= Newest {
				delete(e, "to")
			}
			kept = append(kept, e)
		}
		lists[name] = kept
	}
	return json.Marshal(lists)
}
