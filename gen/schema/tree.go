package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// maxDepth bounds the nesting of a schema file. The official ones stay below 20.
const maxDepth = 200

// tree reads one JSON value into maps, slices, strings, json.Numbers, booleans
// and nil. Unlike encoding/json it refuses a member named twice, which would
// hide one of two definitions.
func tree(file string, data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := treeValue(d, file, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &Error{Kind: Syntax, File: file, Msg: "more than one JSON value"}
	}
	return v, nil
}

func treeValue(d *json.Decoder, file, ptr string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, &Error{Kind: Syntax, File: file, Pointer: ptr, Msg: fmt.Sprintf("nested deeper than %d", maxDepth)}
	}
	t, err := d.Token()
	if err != nil {
		return nil, syntax(file, ptr, err)
	}
	switch t {
	case json.Delim('{'):
		m := map[string]any{}
		for d.More() {
			kt, err := d.Token()
			if err != nil {
				return nil, syntax(file, ptr, err)
			}
			k := kt.(string) // the decoder accepts nothing else before a colon
			if _, dup := m[k]; dup {
				return nil, &Error{Kind: Syntax, File: file, Pointer: join(ptr, k), Msg: "this member occurs twice"}
			}
			if m[k], err = treeValue(d, file, join(ptr, k), depth+1); err != nil {
				return nil, err
			}
		}
		if _, err := d.Token(); err != nil {
			return nil, syntax(file, ptr, err)
		}
		return m, nil
	case json.Delim('['):
		a := []any{}
		for d.More() {
			v, err := treeValue(d, file, join(ptr, fmt.Sprint(len(a))), depth+1)
			if err != nil {
				return nil, err
			}
			a = append(a, v)
		}
		if _, err := d.Token(); err != nil {
			return nil, syntax(file, ptr, err)
		}
		return a, nil
	}
	return t, nil
}

func syntax(file, ptr string, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &Error{Kind: Syntax, File: file, Pointer: ptr, Msg: "the file ends too early"}
	}
	return &Error{Kind: Syntax, File: file, Pointer: ptr, Msg: err.Error()}
}

// join appends one reference token to a JSON pointer.
func join(ptr, token string) string {
	return ptr + "/" + escape.Replace(token)
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// print writes a tree with sorted keys, two spaces of indentation and a final newline.
func print(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// text shows a tree in one line for a message.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 200 {
		b = append(b[:200:200], "…"...)
	}
	return string(b)
}
