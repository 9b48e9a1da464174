package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goldwire/goldwire/gen/build"
	"github.com/goldwire/goldwire/spec"
)

// undecided begins the reason of an overlay entry that a person has to confirm.
const undecided = "DECIDE: "

// scaffold writes the overlay of a new revision, unless it is there.
func (t tree) scaffold(s streams, before string) error {
	name := t.path("spec", t.revision, "overlay.json")
	if _, err := os.Stat(name); err == nil {
		fmt.Fprintf(s.out, "scaffold: spec/%s/overlay.json is there and kept\n", t.revision)
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, decisions, err := build.Draft(os.DirFS(t.path("spec")), t.revision)
	if err != nil {
		return fmt.Errorf("%w\nno rule decides this: write spec/%s/overlay.json, at first with what the message says or with {}, and run this again", err, t.revision)
	}
	var own spec.Overlay
	var end []*spec.Entry
	var left []string
	fmt.Fprintf(s.out, "scaffold: spec/%s/overlay.json\n", t.revision)
	for _, d := range decisions {
		merge(&own, &d.Entries, d)
		left = append(left, d.Left...)
		switch {
		case d.Ended != nil:
			end = append(end, d.Ended)
			fmt.Fprintf(s.out, "  ended with %s: %s: %s\n", before, d.Ended.Place, d.What)
		case d.Sure:
			fmt.Fprintf(s.out, "  carried over: %s%s\n", d.What, at(d.Pointer))
		default:
			fmt.Fprintf(s.out, "  to decide: %s%s\n", d.What, at(d.Pointer))
		}
	}
	if err := t.endEntries(end, before); err != nil {
		return err
	}
	if err := t.endExtensions(left, before); err != nil {
		return err
	}
	if len(own.Entries()) == 0 {
		return nil // nothing is wrong with this revision alone
	}
	return os.WriteFile(name, formatOverlay(&own), 0o644)
}

func at(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " (#" + pointer + ")"
}

// merge adds the entries of a decision to an overlay. Those without a reason get one that asks.
func merge(to, from *spec.Overlay, d *build.Decision) {
	for _, e := range from.Entries() {
		if e.Why == "" {
			e.Why = undecided + d.What
		}
	}
	src, dst := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range src.NumField() {
		if src.Field(i).Kind() == reflect.Slice {
			dst.Field(i).Set(reflect.AppendSlice(dst.Field(i), src.Field(i)))
		}
	}
}

// formatOverlay writes an overlay as people do: a line for each entry, the reason last.
func formatOverlay(o *spec.Overlay) []byte {
	var lists []string
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		l := v.Field(i)
		if l.Kind() != reflect.Slice || l.Len() == 0 {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		var entries []string
		for j := range l.Len() {
			entries = append(entries, "  "+formatEntry(l.Index(j).Interface()))
		}
		lists = append(lists, fmt.Sprintf(" %q: [\n%s\n ]", name, strings.Join(entries, ",\n")))
	}
	return []byte("{\n" + strings.Join(lists, ",\n") + "\n}\n")
}

// formatEntry writes one entry without the revisions, which its file says.
func formatEntry(e any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return "{}" // entries are plain data
	}
	d := json.NewDecoder(&b)
	_, _ = d.Token() // the brace
	var members []string
	var why string
	for d.More() {
		k, _ := d.Token()
		var v json.RawMessage
		if d.Decode(&v) != nil {
			break
		}
		switch m := fmt.Sprintf("%q: %s", k, spaced(v)); k {
		case "from", "to":
		case "why":
			why = m
		default:
			members = append(members, m)
		}
	}
	return "{" + strings.Join(append(members, why), ", ") + "}"
}

// spaced puts a space behind colons and commas.
func spaced(v json.RawMessage) string {
	var b strings.Builder
	inString, escaped := false, false
	for _, c := range v {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = c == '\\', c != '"'
		case c == '"':
			inString = true
		case c == ':' || c == ',':
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// endExtensions writes into spec/extensions.json that extensions end with a
// revision.
func (t tree) endExtensions(names []string, last string) error {
	if len(names) == 0 {
		return nil
	}
	name := t.path("spec", "extensions.json")
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var all []*spec.Extension
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("spec/extensions.json: %w", err)
	}
	for _, e := range all {
		if slices.Contains(names, e.Name) {
			e.To = last
		}
	}
	if data, err = json.MarshalIndent(all, "", "  "); err != nil {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o644)
}

// endEntries writes into spec/common.json, or the overlay of an extension, that
// entries hold up to a revision. Everything else in the files stays as it is
// written.
func (t tree) endEntries(entries []*spec.Entry, last string) error {
	byFile := map[string][]string{} // pointers
	for _, e := range entries {
		file, ptr, _ := strings.Cut(e.Place, "#")
		byFile[file] = append(byFile[file], ptr)
	}
	for _, file := range slices.Sorted(maps.Keys(byFile)) {
		if err := t.endIn(file, byFile[file], last); err != nil {
			return err
		}
	}
	return nil
}

func (t tree) endIn(file string, pointers []string, last string) error {
	name := t.path(file)
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	starts, err := entryStarts(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var offsets []int
	for _, ptr := range pointers {
		at, ok := starts[ptr]
		if !ok {
			return fmt.Errorf("%s#%s is not there", file, ptr)
		}
		offsets = append(offsets, at)
	}
	slices.Sort(offsets)
	for _, at := range slices.Backward(offsets) {
		insert := `"to": "` + last + `", `
		if from := []byte(`"from": "`); bytes.HasPrefix(data[at:], from) { // dates stand together
			at += bytes.Index(data[at:], []byte(`, `)) + 2
		}
		data = slices.Insert(data, at, []byte(insert)...)
	}
	if _, err := spec.ParseOverlay(file, data); err != nil {
		return err // it must not be written broken
	}
	return os.WriteFile(name, data, 0o644)
}

// entryStarts gives, by JSON pointer, the offset behind the opening brace of each entry.
func entryStarts(data []byte) (map[string]int, error) {
	out := map[string]int{}
	d := json.NewDecoder(bytes.NewReader(data))
	list := "" // the open list
	depth, index := 0, 0
	for {
		tok, err := d.Token()
		if err == io.EOF && depth == 0 {
			return out, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		switch tok {
		case json.Delim('{'):
			if depth == 2 {
				out[fmt.Sprintf("/%s/%d", list, index)] = int(d.InputOffset())
				index++
			}
			depth++
		case json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if k, ok := tok.(string); ok && depth == 1 {
				list, index = k, 0
			}
		}
	}
}

// openDecisions lists the entries of a revision's overlay that a person has to confirm.
func openDecisions(fsys fs.FS, revision string) ([]string, error) {
	data, err := fs.ReadFile(fsys, revision+"/overlay.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := spec.ParseOverlay("spec/"+revision+"/overlay.json", data)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range o.Entries() {
		if why, ok := strings.CutPrefix(e.Why, undecided); ok {
			_, ptr, _ := strings.Cut(e.Place, "#")
			out = append(out, ptr+": "+why)
		}
	}
	return out, nil
}
