package mcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/goldwire/goldwire/runtime/wire"
)

// FuzzDecode feeds any text to any type. What is read can be written, is one
// line of valid JSON without a name that comes twice, and is read again as the
// same; the lenient reading of it is the same too.
func FuzzDecode(f *testing.F) {
	pkgs, err := models()
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range pkgs {
		m := newModel(p)
		for _, x := range m.Types {
			if _, ok := types[m.Revision][x.Name]; ok {
				for i, form := range []form{least, most, empty, strange} {
					f.Add(m.Revision, x.Name, []byte(m.example(x.Name, form, i)))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, revision, name string, text []byte) {
		e, ok := types[revision][name]
		if !ok {
			return
		}
		relaxed, problems, relaxedErr := e.read(text, wire.Options{Lenient: true, Alias: true})
		v, _, err := e.read(text, wire.Options{})
		if err != nil {
			if relaxedErr == nil {
				rewrite(t, e, relaxed)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("read what is no JSON: %q", text)
		}
		if relaxedErr != nil {
			t.Fatalf("strict reading is fine, lenient fails: %v: %q", relaxedErr, text)
		}
		out := rewrite(t, e, v)
		if again := rewrite(t, e, relaxed); len(problems) == 0 && !bytes.Equal(out, again) {
			t.Fatalf("lenient reading differs: %s\n%s", out, again)
		}
		if e.clone != nil {
			if c := e.clone(v).AppendJSON(nil); !bytes.Equal(c, out) {
				t.Fatalf("the clone differs: %s\n%s", out, c)
			}
		}
		_ = v.Validate()
	})
}

// rewrite writes a value, reads that strictly, and writes it again.
func rewrite(t *testing.T, e entry, v value) []byte {
	t.Helper()
	out := v.AppendJSON(nil)
	if !json.Valid(out) || bytes.IndexByte(out, '\n') >= 0 {
		t.Fatalf("wrote what is no line of JSON: %q", out)
	}
	again, _, err := e.read(out, wire.Options{})
	if err != nil {
		t.Fatalf("cannot read what was written: %v: %q", err, out)
	}
	if second := again.AppendJSON(nil); !bytes.Equal(out, second) {
		t.Fatalf("another text the second time:\n%q\n%q", out, second)
	}
	return out
}
