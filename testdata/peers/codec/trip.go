package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"sort"
)

// differences reads and writes each message, those included that are not
// measured, and says what came out otherwise.
func differences(im *impl) (l []string) {
	for _, m := range append(messages(), telling()...) {
		v, err := im.decode(&m)
		if err != nil {
			l = append(l, fmt.Sprintf("%s: refused: %v", m.name, err))
			continue
		}
		out, err := im.encode(&m, v)
		if err != nil {
			l = append(l, fmt.Sprintf("%s: not written: %v", m.name, err))
			continue
		}
		// The envelope is written with one and the same id.
		for _, d := range compareJSON(bytes.Replace(m.data, []byte(`"id":1,`), []byte(`"id":7654321,`), 1), out) {
			l = append(l, m.name+": "+d)
		}
	}
	return l
}

// compareJSON says where two texts differ as JSON values, numbers taken exactly.
// Of several differences in one list it tells the first.
func compareJSON(want, got []byte) []string {
	w, err := valueOf(want)
	if err != nil {
		return []string{err.Error()}
	}
	g, err := valueOf(got)
	if err != nil {
		return []string{"the output is not JSON: " + err.Error()}
	}
	return compareValues("", w, g)
}

func valueOf(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return v, d.Decode(&v)
}

func compareValues(at string, want, got any) (l []string) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, k := range keys(w, g) {
			p := k
			if at != "" {
				p = at + "." + k
			}
			x, inW := w[k]
			y, inG := g[k]
			switch {
			case !inG:
				l = append(l, fmt.Sprintf("%s is gone (%s)", p, show(x)))
			case !inW:
				l = append(l, fmt.Sprintf("%s is new (%s)", p, show(y)))
			default:
				l = append(l, compareValues(p, x, y)...)
			}
		}
		return l
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			if l := compareValues(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); l != nil {
				return l
			}
		}
		return nil
	case json.Number:
		g, ok := got.(json.Number)
		if !ok {
			break
		}
		a, okA := new(big.Rat).SetString(w.String())
		b, okB := new(big.Rat).SetString(g.String())
		if okA && okB && a.Cmp(b) == 0 {
			return nil
		}
	default:
		if want == got {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s was %s and is %s", at, show(want), show(got))}
}

func keys(a, b map[string]any) (l []string) {
	for k := range a {
		l = append(l, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			l = append(l, k)
		}
	}
	sort.Strings(l)
	return l
}

func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 40 {
		return string(b[:40]) + "…"
	}
	return string(b)
}
