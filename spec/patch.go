package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Patch applies errata to a schema file and gives the corrected file.
func Patch(data []byte, errata []*Erratum, use Use) ([]byte, error) {
	root, err := value(data)
	if err != nil {
		return nil, err
	}
	m, _ := root.(map[string]any)
	p := patcher{container: "$defs"}
	if m["$defs"] == nil {
		p.container = "definitions"
	}
	defs, ok := m[p.container].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the schema has no definitions")
	}
	p.defs = defs
	for _, e := range errata {
		if e.Only != "" && e.Only != use {
			continue
		}
		if err := p.apply(e); err != nil {
			return nil, e.err("%v", err)
		}
	}
	return format(root)
}

// format writes a schema file.
func format(root any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type patcher struct {
	container string
	defs      map[string]any
}

func (p *patcher) apply(e *Erratum) error {
	switch e.Rule {
	case "":
		return p.replace(e)
	case "params-meta":
		return p.paramsMeta(e)
	}
	return fmt.Errorf("there is no rule %q", e.Rule)
}

// value parses JSON and keeps numbers as they are written.
func value(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// literal parses a value of an erratum: references are written for $defs there.
func (p *patcher) literal(raw json.RawMessage) (any, error) {
	return value(bytes.ReplaceAll(raw, []byte(`"#/$defs/`), []byte(`"#/`+p.container+`/`)))
}

func (p *patcher) replace(e *Erratum) error {
	i := strings.LastIndexByte(e.At, '/')
	if i < 0 {
		return fmt.Errorf("%q is no JSON pointer", e.At)
	}
	parent, err := p.find(e.At[:i])
	if err != nil {
		return err
	}
	var was any
	there := false
	key := unescape.Replace(e.At[i+1:])
	var set func(any)
	switch c := parent.(type) {
	case map[string]any:
		was, there = c[key]
		set = func(v any) {
			if v == nil {
				delete(c, key)
			} else {
				c[key] = v
			}
		}
	case []any:
		n, err := strconv.Atoi(key)
		if err != nil || n < 0 || n >= len(c) {
			return fmt.Errorf("%s: no such element", e.At)
		}
		was, there = c[n], true
		set = func(v any) { c[n] = v }
	default:
		return fmt.Errorf("%s: neither an object nor an array holds it", e.At)
	}
	switch {
	case len(e.Was) == 0 && there:
		return fmt.Errorf("%s: expected nothing, found %s", e.At, show(was))
	case len(e.Was) > 0 && !there:
		return fmt.Errorf("%s: expected %s, found nothing", e.At, e.Was)
	case len(e.Was) > 0:
		want, err := p.literal(e.Was)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(want, was) {
			return fmt.Errorf("%s: expected %s, found %s", e.At, e.Was, show(was))
		}
	}
	if len(e.Now) == 0 {
		set(nil)
		return nil
	}
	now, err := p.literal(e.Now)
	if err != nil {
		return err
	}
	set(now)
	return nil
}

func (p *patcher) find(ptr string) (any, error) {
	var v any = p.defs
	if ptr == "" {
		return v, nil
	}
	for _, t := range strings.Split(ptr, "/")[1:] {
		t = unescape.Replace(t)
		switch c := v.(type) {
		case map[string]any:
			v = c[t]
		case []any:
			n, err := strconv.Atoi(t)
			if err != nil || n < 0 || n >= len(c) {
				return nil, fmt.Errorf("%s: nothing stands there", ptr)
			}
			v = c[n]
		default:
			v = nil
		}
		if v == nil {
			return nil, fmt.Errorf("%s: nothing stands there", ptr)
		}
	}
	return v, nil
}

// paramsMeta adds the member "_meta" where the narrowed params of a message lost it.
func (p *patcher) paramsMeta(e *Erratum) error {
	request, err := p.find(e.Requests)
	if err != nil {
		return err
	}
	notification, err := p.find(e.Notifications)
	if err != nil {
		return err
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(p.defs)) {
		method, _ := get(p.defs[name], "properties", "method", "const").(string)
		params, _ := p.deref(get(p.defs[name], "properties", "params")).(map[string]any)
		props, _ := params["properties"].(map[string]any)
		if method == "" || props == nil || props["_meta"] != nil {
			continue
		}
		meta := request
		if strings.HasPrefix(method, "notifications/") {
			meta = notification
		}
		props["_meta"] = clone(meta)
		n++
	}
	if n != e.Count {
		return fmt.Errorf("%d params lack _meta, the entry says %d", n, e.Count)
	}
	return nil
}

func (p *patcher) deref(v any) any {
	for range 8 { // an alias of an alias; a loop ends
		ref, ok := get(v, "$ref").(string)
		if !ok {
			return v
		}
		v = p.defs[strings.TrimPrefix(ref, "#/"+p.container+"/")]
	}
	return nil
}

func get(v any, path ...string) any {
	for _, k := range path {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	return v
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = clone(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = clone(e)
		}
		return out
	}
	return v
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")
